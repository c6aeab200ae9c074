"""The chart at the end of a lab: the reader's own curve beside the course's and published points. No NumPy, as it is
drawn in a web page too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from blackboard.charts.marks import tick
from blackboard.charts.style import CATEGORIES, COLOURS

_COLOURS = tuple(CATEGORIES.values())
LIMIT = COLOURS["muted"]
SYMBOLS = {  # of a series in the legend, by its mark, as the areas that are filled
    "line": "M-1,-0.2H1V0.2H-1Z",
    "limit": "M-1,-0.2H-0.2V0.2H-1ZM0.2,-0.2H1V0.2H0.2Z",
    "point": "circle",
    "bar": "square",
}
TICK = tick("1e4")  # 10k is short enough for six of them on a phone
WIDTH = 48  # letters of a title's line on a narrow screen


class Series(NamedTuple):
    """Points (x, y) under a name, joined by straight lines or standing alone; `labels` stand above them. Of a "limit"
    the line is dashed, and gray.
    """

    points: Iterable[tuple[float, float]]
    mark: str = "line"  # or "limit", "point" or "bar"
    labels: Sequence[str] = ()


def _labels(each: Series, axes: dict[str, Any]) -> dict[str, Any]:
    """What stands above the points of a series; what is clipped to the plot is also kept apart (charts/names.py)."""
    points = zip(each.points, each.labels)
    return {
        "data": {"values": [{"x": at, "y": value, "label": text} for (at, value), text in points]},
        "mark": {"type": "text", "dy": -9, "color": "currentColor", "clip": True},
        "encoding": {**axes, "text": {"field": "label"}},
    }


def _ticks(series: Mapping[str, Series], axis: int) -> list[float]:
    """Powers of ten about the points on a log axis, and three times each where they are few."""
    logs = [math.log10(point[axis]) for each in series.values() for point in each.points if point[axis] > 0]
    low, high = (math.floor(min(logs)), math.ceil(max(logs))) if logs else (0, 1)
    return [digit * 10.0**n for n in range(low, high + 1) for digit in ((1, 3) if high - low <= 3 else (1,))]


def wrap_title(spec: dict[str, Any]) -> dict[str, Any]:
    """A lab's chart for a notebook, where Vega breaks no line; a page writes the title itself."""
    lines = [part for line in spec["title"]["text"] for part in wrap(line, WIDTH)]
    return {**spec, "title": {**spec["title"], "text": lines}}


def _named(names: Sequence[str], range: Sequence[str]) -> dict[str, Any]:
    """What tells series apart, by name, with the one legend of all."""
    legend = {"title": None, "orient": "top", "labelLimit": 320, "labelFontSize": 12, "columns": 1}
    return {"field": "name", "type": "nominal", "scale": {"domain": names, "range": range}, "legend": legend}


def _axis(name: str, title: str, log: bool, series: Mapping[str, Series]) -> dict[str, Any]:
    """An axis, with room for labels above the points."""
    labelled = any(each.labels for each in series.values())
    room = {"nice": False, "padding": 12} if name == "x" else {"padding": 14} if labelled else {}
    return {
        "field": name,
        "type": "quantitative",
        "title": title,
        "scale": ({"type": "log"} if log else {"zero": False}) | room,
        "axis": {"values": _ticks(series, "xy".index(name)), "labelExpr": TICK} if log else {"tickCount": 6},
    }


def _mark(mark: str) -> dict[str, Any]:
    """How a series is drawn."""
    looks: dict[str, dict[str, Any]] = {
        "limit": {"strokeDash": [5, 4], "strokeWidth": 1.5},
        "point": {"filled": True, "size": 60},
    }
    return {"type": "line" if mark == "limit" else mark, "tooltip": True, "opacity": 1, **looks.get(mark, {})}


def lab_chart(
    title: str, x: str, y: str, series: Mapping[str, Series], log_x: bool = False, log_y: bool = False
) -> dict[str, Any]:
    """A Vega-Lite chart of several series; `x` and `y` are the axes' titles, with their units."""
    series = {name: each._replace(points=list(each.points)) for name, each in series.items()}
    names, colours = [*series], itertools.cycle(_COLOURS)
    colour = _named(names, [LIMIT if each.mark == "limit" else next(colours) for each in series.values()])
    shape = {"shape": _named(names, [SYMBOLS[each.mark] for each in series.values()])}
    axes = {"x": _axis("x", x, log_x, series), "y": _axis("y", y, log_y, series)}
    layers = [
        {
            "data": {"values": [{"name": name, "x": at, "y": value} for at, value in each.points]},
            "mark": _mark(each.mark),
            "encoding": {**axes, "color": colour, **(shape if each.mark == "point" else {})},
        }
        for name, each in series.items()
    ]
    layers += [_labels(each, axes) for each in series.values() if each.labels]
    return {
        "title": {"text": title.split("\n"), "anchor": "start", "fontSize": 13},
        "width": "container",
        "height": 280,
        "layer": layers,
    }
