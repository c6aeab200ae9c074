"""Interactive charts: Vega-Lite charts whose curves are formulas, printed for the browser and moved by native inputs.

The browser evaluates the formulas itself; no data and nothing from outside is loaded. Signals bear the notation's
names, so that `formula.vega()` finds its symbols among them. vl-convert is not imported before a chart is
drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from blackboard import units
from blackboard.charts import page_chart, style
from blackboard.charts.stills import draw_still
from blackboard.text import curl, on_page

VEGALITE = "5.20"  # the grammar that the specs are written in
MIME = "application/vnd.vegalite.v5+json"
STILL_WIDTH = 620
PRIMARY = 3  # controls that the page shows at once; the others are under "More"
_FRAME: dict[str, Any] = {
    "width": "container",
    "height": 340,
    "background": "white",
    "autosize": {"type": "fit-x", "contains": "padding", "resize": True},  # axis labels grow and shrink with a slider
    "usermeta": {"embedOptions": {"actions": False, "renderer": "svg"}},
    "config": {
        "font": style.FONT,
        "view": {"stroke": None},
        "text": {"fontSize": 12},
        "title": {"anchor": "start", "fontSize": 12, "fontWeight": "normal", "lineHeight": 16, "frame": "bounds"},
        "axis": {
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridOpacity": 0.5,
            "labelSeparation": 4,
        },
    },
}


class InteractiveChart:
    """A chart with sliders, by its Vega-Lite spec. `alt` says what it shows, its range and its point.

    `primary` names the two or three controls that the page shows at once, by their signals; without it these are the
    first three. `result` says which of the title's lines state the result, in large letters; the others are the facts
    below it, two at most. `hint` tells what to do with the controls: it follows the caption, but not on paper.
    """

    def __init__(
        self,
        chart: Mapping[str, Any],
        title: str,
        alt: str,
        caption: str,
        primary: Sequence[str] = (),
        result: Sequence[int] = (-1,),
        hint: str = "",
    ):
        if not (title.strip() and alt.strip()):
            raise ValueError("an interactive chart needs a title and an alt text")
        self.spec = {**_FRAME, **chart, "description": alt, "config": {**_FRAME["config"], **chart.get("config", {})}}
        bound = {row["name"].removesuffix("_exponent"): row for row in chart.get("params", ()) if "bind" in row}
        if bound:  # Vega-Lite knows no digits
            self.spec["params"] = [{k: v for k, v in row.items() if k != "digits"} for row in chart["params"]]
        controls = list(bound)
        if unknown := set(primary) - set(controls):
            raise ValueError(f"{title}: no control moves {', '.join(sorted(unknown))}; there are {', '.join(controls)}")
        digits = {name: row["digits"] for name, row in bound.items() if "digits" in row}
        shown = {"primary": list(primary or controls[:PRIMARY]), "result": list(result), "digits": digits}
        self.spec["usermeta"] = {**_FRAME["usermeta"], **shown}
        if "layer" in self.spec:
            self.spec["layer"] = [_inked(layer) for layer in self.spec["layer"]]
        self.title, self.alt, self.caption, self.hint = title, alt, curl(caption), curl(hint)

    @cached_property
    def still(self) -> str:
        """The chart as SVG, with every slider where it starts."""
        return draw_still(self.spec, STILL_WIDTH, VEGALITE)

    def html(self) -> str:
        """The figure of the static page."""
        return page_chart.page_html(self)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        if on_page():
            return {"text/html": self.html(), "text/plain": self.alt}
        return {
            MIME: {**self.spec, "width": STILL_WIDTH},
            "text/plain": self.alt,
        }  # a notebook's cell has no width to fill


def _inked(layer: dict) -> dict:
    """A layer whose texts are dark enough to be read on white."""
    mark = layer.get("mark")
    if not isinstance(mark, dict) or mark["type"] != "text" or "color" not in mark:
        return layer
    return {**layer, "mark": {**mark, "color": style.ink(mark["color"])}}


# --- controls: each is a list of params, to be added up ---------------------------------------------------------------


def derived(name: str, expression: str) -> list[dict]:
    """A value that follows from others."""
    return [{"name": name, "expr": expression}]


def slider(
    name: str,
    low: float,
    high: float,
    step: float,
    value: float,
    label: str,
    base: float | None = None,
    digits: int = 2,
) -> list[dict]:
    """A range input for the signal `name`. With a `base` it moves the exponent, and the signal is base ** exponent to
    so many digits, 0 for whole numbers of two: 32,000, not 31,623. Where it starts it is what was given.
    """
    if not low <= value <= high:
        raise ValueError(f"{name}: {value} is not between {low} and {high}")
    bind = {
        "input": "range",
        "min": low,
        "max": high,
        "step": step,
        "name": label if base is None else f"{label} = {base}^",
    }
    if base is None:
        return [{"name": name, "value": value, "bind": bind}]
    start, round_ = float(f"{base**value:.6g}"), f"toNumber(format(pow({base}, {name}_exponent), '.{digits or 2}r'))"
    stop = f"{name}_exponent == {value!r} ? {start!r} : {round_}"
    return [
        {"name": f"{name}_exponent", "value": value, "bind": bind, "digits": digits},
        *derived(name, stop if digits else f"round({stop})"),
    ]


def decades(name: str, value: float, below: float, above: float, label: str, digits: int = 2) -> list[dict]:
    """A slider in tenths of a decade that starts at a value and goes so many decades below and above it."""
    start = round(math.log10(value), 6)
    return slider(name, round(start - below, 6), round(start + above, 6), 0.1, start, label, base=10, digits=digits)


def menu(name: str, options: Mapping[str, str], value: str, label: str) -> list[dict]:
    """A drop-down for the signal `name`: `options` maps its values to what the reader sees."""
    if value not in options:
        raise ValueError(f"{name}: {value!r} is none of {', '.join(options)}")
    bind = {"input": "select", "options": list(options), "labels": list(options.values()), "name": label}
    return [{"name": name, "value": value, "bind": bind}]


# --- curves -----------------------------------------------------------------------------------------------------------


def sweep(x: str, low: float, high: float, points: int = 61, log: bool = True) -> dict:
    """`data` and `transform` of a chart over field `x`; on a log axis low and high are powers of ten."""
    last, step = points - 1, (high - low) / (points - 1)
    value = f"{low!r} + {step!r} * datum.index"
    where = {"calculate": f"pow(10, {value})" if log else value, "as": x}
    return {"data": {"sequence": {"start": 0, "stop": last + 0.5, "step": 1, "as": "index"}}, "transform": [where]}


def inside(formula: Any, unit: str, **fields: str | float) -> str:
    """The formula's browser expression, in `unit`; UnitError if the formula is of another dimension."""
    if units.dimension(unit) != units.dimension(formula.unit):
        raise units.UnitError(
            f"{formula.name}: expected {units.write_unit(formula.unit)}, got {units.write_unit(unit)}"
        )
    scale = units.factor(unit)
    return formula.vega(**fields) if scale == 1 else f"({formula.vega(**fields)}) / {scale!r}"


def percent(formula: Any, x: str, field: str, **fields: str | float) -> dict:
    """The transform that evaluates a formula that is a share along `datum.x` as `field`, in percent."""
    return {"calculate": f"100 * ({inside(formula, '1', **{x: f'datum.{x}'}, **fields)})", "as": field}


def curve(formula: Any, x: str, field: str, unit: str, **fields: str | float) -> dict:
    """The transform that evaluates `formula` (or a term, or a Given) along `datum.x` as `field`, in `unit`, in the
    browser.
    """
    along = {x: f"datum.{x}"} if x in formula.free else {}
    return {"calculate": inside(formula, unit, **along, **fields), "as": field}
