"""Marks of an interactive chart: axes, lines, and names beside them, as parts of a Vega-Lite spec.

`encoding` is the chart's {"x": …, "y": …}. Places and texts are browser expressions: a signal's name, a formula's
`vega()`, or a quoted text. A colour is a name of the palette.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard.charts.style import COLOURS

INK = "currentColor"  # dark on light, light on dark
PAINTS = {name: INK if colour == COLOURS["bound"] else colour for name, colour in COLOURS.items()}
DOT = {"type": "point", "filled": True, "opacity": 1, "size": 110}
NAME, WORD = 85, 58  # pixels that "memory full" and "memory" take, with room on both sides


def said(value: str, form: str = ",.0f") -> str:
    """The browser expression of a value as text, in a d3 format."""
    return f"format({value}, '{form}')"


def counted(value: str) -> str:
    """Browser expression, in words: tokens or parameters as millions, billions or trillions, the largest name that a
    slider has.
    """
    words = said(value, ".3~s")
    for letter, word in {"M": "million", "G": "billion", "T": "trillion"}.items():
        words = f"replace({words}, '{letter}', ' {word}')"
    trillions = said(f"{value} / 1e12", ",.3~r") + " + ' trillion'"
    return f"({value} < 9.995e14 ? {words} : {trillions})"


def prefixed(value: str, unit: str, digits: int = 3) -> str:
    """Browser expression of a value with its unit, to two digits or three: 671 GB, 70.3 kB, 512 B."""
    words = said(value, f".{digits}s")
    for letter in "kMGTP":
        words = f"replace({words}, '{letter}', ' {letter}')"
    return f"({value} < 999.5 ? {said(value, '.3~r')} + ' ' : {words}) + '{unit}'"


def title(*lines: str) -> dict:
    """A chart's title: lines that are browser expressions."""
    return {"text": {"expr": f"[{', '.join(lines)}]"}}


# --- axes -------------------------------------------------------------------------------------------------------------


def tick(full: str) -> str:
    """A number beside an axis, as a browser expression: in full below such a value, then shortened by a letter."""
    return f"datum.value < {full} ? format(datum.value, ',~r') : replace(format(datum.value, '~s'), 'G', 'B')"


TICK = tick("1e6")  # as beside a slider: 10,000 or 1M


def axis(field: str, name: str, low: float, high: float, ticks: list[float]) -> dict:
    """A linear axis with its ticks."""
    return {
        "field": field,
        "type": "quantitative",
        "title": name,
        "scale": {"domain": [low, high]},
        "axis": {"values": ticks, "labelExpr": TICK, "labelFlush": False},
    }


def log_axis(field: str, name: str, low: float, high: float) -> dict:
    """A log axis with a tick at every power of ten."""
    ticks = [10.0**n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    return {
        "field": field,
        "type": "quantitative",
        "title": name,
        "axis": {"values": ticks, "labelExpr": TICK, "labelFlush": False},
        "scale": {"type": "log", "domain": [low, high]},
    }


# --- layers -----------------------------------------------------------------------------------------------------------


def line(field: str, colour: str, encoding: dict, **mark: Any) -> dict:
    """The curve of a field over the chart's x."""
    y = {**encoding["y"], "field": field}
    return {
        "mark": {"type": "line", "clip": True, "color": PAINTS[colour], **mark},
        "encoding": {**encoding, "y": y},
    }


def at(encoding: dict, mark: dict, **where: str) -> dict:
    """One mark at browser expressions x, y, or one of them for a rule across the chart."""
    place = {axis: {**encoding[axis], "field": f"at_{axis}"} for axis in where}
    found = [{"calculate": value, "as": f"at_{axis}"} for axis, value in where.items()]
    return {"data": {"values": [{}]}, "transform": found, "mark": {"clip": True, **mark}, "encoding": place}


def text(encoding: dict, words: str, x: str, y: str, **mark: Any) -> dict:
    """Words, a browser expression, at a point."""
    return at(encoding, {"type": "text", "text": {"expr": words}, **mark}, x=x, y=y)


def side(left: str) -> dict:
    """A text's place left or right of its point, by a browser condition."""
    return {"align": {"expr": f"{left} ? 'right' : 'left'"}, "dx": {"expr": f"{left} ? -8 : 8"}}


def name(encoding: dict, words: str, colour: str, x: str, y: str, left: str = "false", dy: Any = -9) -> list[dict]:
    """What a line is called, in its colour; left of the point where the condition holds, else right. It has no stroke
    beside it, which would be taken for data.

    Where the point is above or below the plot an arrow says so.
    """
    domain = encoding["y"]["scale"]["domain"]
    if not any(isinstance(end, dict) for end in domain):  # an end that moves moves with its lines
        words = f"({words}) + (datum.at_y > {domain[1]!r} ? ' ↑' : datum.at_y < {domain[0]!r} ? ' ↓' : '')"
    return [text(encoding, words, x, y, **side(left), dy=dy, color=PAINTS[colour])]


def rule(encoding: dict, colour: str | None, **where: str) -> dict:
    """A dashed line across the chart at `x` or at `y`; None for the colour of the page's rules."""
    tint = {"color": PAINTS[colour]} if colour else {}
    return at(encoding, {"type": "rule", **tint, "strokeDash": [4, 3], "strokeWidth": 1.5}, **where)


def full(encoding: dict, fits: str, y: str) -> list[dict]:
    """A light ground where memory has no room, beyond what `fits` on a log x axis, and its name in it, at a
    height; where it is too narrow for the name it takes two lines, or goes before it.
    """
    low, high = encoding["x"]["scale"]["domain"]
    ground = {"type": "rect", "aria": False, "color": PAINTS["muted"], "opacity": 0.13, "x2": {"expr": "width"}}
    seen, here = f"{fits} < {0.8 * high!r}", f"clamp({fits}, {low!r}, {high!r})"
    less = lambda pixels: f"width * log({high!r} / {here}) < {pixels * math.log(high / low)!r}"
    narrow, two = less(WORD), f"!({less(WORD)}) && {less(NAME)}"
    words = f"{fits} <= 1 ? 'no room in memory' : !({seen}) ? '' : {two} ? ['memory', 'full'] : 'memory full'"
    looks = {**side(narrow), "dy": {"expr": f"{two} ? -12 : 0"}}
    return [at(encoding, ground, x=f"{seen} ? {here} : null"), text(encoding, words, here, y, **looks)]


def hover(encoding: dict, field: str, fields: dict[str, str], form: str, x_form: str = ",.0f") -> dict:
    """Points along `field` that nobody sees, which tell x and the named fields under the pointer."""
    tip = lambda name, title, form: {"field": name, "type": "quantitative", "title": title, "format": form}
    x = encoding["x"]
    tips = [tip(x["field"], x["title"], x_form), *(tip(name, title, form) for name, title in fields.items())]
    mark = {"type": "point", "opacity": 0, "size": 300, "clip": True}
    return {"mark": mark, "encoding": {**encoding, "y": {**encoding["y"], "field": field}, "tooltip": tips}}
