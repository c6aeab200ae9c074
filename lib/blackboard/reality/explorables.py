"""Fitting by hand: measured over predicted for every dense row of TensorRT-LLM, with the constants to move.

The browser has each row's ideal seconds by resource, and makes the predicted time of them with equations.step_time.
"""

from __future__ import annotations

import statistics
from functools import cache
from typing import Any

from blackboard import marks, units
from blackboard.explorable import Explorable, derived, menu, slider
from blackboard.formula import IDEAL, Calibration
from blackboard.reality import equations as eq, runs, serving
from blackboard.reality.calibration import RECIPES, TENSOR_RT, Recipe, busy, named
from blackboard.reality.checks import mape
from blackboard.reality.figures import NEAR, short
from blackboard.reality.serving import Case
from blackboard.style import COLOURS

US = units.factor("us")
FAMILIES = {"Hopper": "trtllm-h200", "Blackwell": "trtllm-b200"}  # chips, and the constants that were fitted for them
FORMATS = {"Hopper": "H100 and H200, FP8", "Blackwell": "B200 and GB200, FP4"}
START = {"compute_efficiency": 1, "memory_efficiency": 1, "serial_share": 0, "link_efficiency": 1, "link_latency": 0}  # the ideal machine
BUSY = {  # the seconds of each resource, as the browser has them
    "t_compute": "datum.compute / compute_efficiency", "t_memory": "datum.memory / memory_efficiency", "t_links": "datum.links / link_efficiency + datum.starts * link_latency",
}  # fmt: skip
LOW, HIGH = 0.5, 8  # a dot beyond stays at the edge


def recipe(family: str) -> Recipe:
    """The constants fitted for a family of chips."""
    return next(recipe for recipe in RECIPES if recipe.id == FAMILIES[family])


def cases(family: str) -> list[Case]:
    """Its dense rows."""
    suits = recipe(family).suits
    return [case for case in serving.trtllm() if case.data == TENSOR_RT and suits(case.layout.chip, case.compute, case.layout.model)]


def row(family: str, case: Case) -> dict[str, Any]:
    """What the browser knows of a run: ideal seconds by resource, latencies to wait for, and the measured time."""
    ideal, late = busy(case, IDEAL), busy(case, Calibration("one second a message", "", {"link_latency": 1.0}))
    fitted = recipe(family).slice(case)
    return {
        "family": family, "slice": short(case.part) + " *" * fitted, "what": case.what, "fitted": fitted, "compute": ideal["compute"], "memory": ideal["memory"],
        "links": ideal["links"], "starts": late["links"] - ideal["links"], "measured": case.measured,
    }  # fmt: skip


@cache
def rows() -> tuple[dict[str, Any], ...]:
    """All dense rows."""
    return tuple(row(family, case) for family in FAMILIES for case in cases(family))


def predicted() -> str:
    """The browser's expression of the predicted time, s."""
    return eq.step_time.open.vega(**BUSY, layers=0, layer_overhead=0, overhead=0)


def _controls() -> list[dict]:
    """A menu for the chips, and a slider for each constant, all ideal at the start."""
    share = lambda name, low, label: slider(name, low, 1, 0.01, START[name], label)
    return [
        *menu("family", {name: f"{name}: {words}" for name, words in FORMATS.items()}, "Hopper", "chips"),
        *share("compute_efficiency", 0.1, "compute efficiency"), *share("memory_efficiency", 0.1, "memory efficiency"), *share("serial_share", 0, "share that nothing hides"),
        *share("link_efficiency", 0.1, "link efficiency"), *slider("latency_us", 0, 50, 0.1, START["link_latency"], "link latency (µs)"), *derived("link_latency", f"latency_us * {US!r}"),
    ]  # fmt: skip


def _computed() -> list[dict]:
    """The rows of the chosen chips, with the predicted time, measured over it, and the error."""
    calculated = {"predicted": predicted(), "slow": "datum.measured / datum.predicted", "error": "abs(datum.predicted / datum.measured - 1)"}
    return [{"filter": "datum.family === family"}, *({"calculate": value, "as": name} for name, value in calculated.items())]


KINDS = {"on": "datum.fitted ? datum.error : null", "other": "datum.fitted ? null : datum.error"}  # a mean passes over null
DOT = {True: 64, False: 36}  # square pixels, of the fitted and the tested


def _dots(encoding: dict, fitted: bool, colour: str) -> dict:
    """The tested rows filled, the fitted ones hollow."""
    mark = {"type": "point", "size": DOT[fitted], "color": COLOURS[colour], "filled": not fitted, "opacity": 1, "strokeWidth": 1.5 if fitted else 1}
    return {"transform": [{"filter": f"datum.fitted === {str(fitted).lower()}"}], "mark": mark, "encoding": encoding}


def _mean(fields: dict[str, str], words: str, encoding: dict, by: tuple[str, ...] = (), **mark: Any) -> dict:
    """Means of the errors in words: of each field of `fields`, by what its rows are."""
    parts = [{"calculate": value, "as": name} for name, value in fields.items()]
    average = {"aggregate": [{"op": "mean", "field": name, "as": name} for name in fields], "groupby": list(by)}
    return {"transform": [*parts, average], "mark": {"type": "text", "align": "left", "text": {"expr": words}, **mark}, "encoding": encoding}


def _percent(field: str) -> str:
    return f"format(100 * datum.{field}, '.0f') + ' %'"


def _hover(encoding: dict) -> dict:
    """What a row is, under the pointer."""
    tip = lambda name, title, form: {"field": name, "type": "quantitative", "title": title, "format": form}
    steps = [tip(name, f"{name} step (s)", ".3r") for name in ("measured", "predicted")]
    tips = [{"field": "what", "type": "nominal", "title": "run"}, *steps, tip("slow", "measured over predicted", ".2f")]
    return {"mark": {"type": "point", "opacity": 0, "size": 300, "clip": True}, "encoding": {**encoding, "tooltip": tips}}


def _layers() -> list[dict]:
    x = {**marks.log_axis("slow", "measured over predicted", LOW, HIGH), "axis": {"values": [0.5, 1, 2, 4, 8], "format": "~r"}}
    x["scale"] = {**x["scale"], "clamp": True}
    order = list(dict.fromkeys(each["slice"] for each in rows()))
    y = {"field": "slice", "type": "nominal", "sort": order, "title": None, "axis": {"labelLimit": 140, "labelFontSize": 12, "grid": False}}
    band = {"data": {"values": [{"low": 1 / (1 + NEAR), "high": 1 / (1 - NEAR)}]}, "mark": {"type": "rect", "color": COLOURS["accent"], "opacity": 0.18}}
    band["encoding"] = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    encoding = {"x": x, "y": y}
    return [
        band, {"data": {"values": [{"one": 1}]}, "mark": {"type": "rule", "strokeWidth": 1.5, "color": marks.INK}, "encoding": {"x": {**x, "field": "one"}}},
        _dots(encoding, False, "compute"), _dots(encoding, True, "kv"),
        _mean({"off": "datum.error"}, f"{_percent('off')} + ' off'", {"x": {"value": "width"}, "y": y}, ("slice",), dx=6),
        _mean(KINDS, f"'mean error: ' + {_percent('on')} + ' on * rows, ' + {_percent('other')} + ' elsewhere'", {"x": {"value": 0}, "y": {"value": -10}}, dx=-84),
        _hover(encoding),
    ]  # fmt: skip


def _formats() -> str:
    """Browser expression: the chips and the format of the chosen family."""
    first, second = FORMATS
    return f"family === '{first}' ? '{FORMATS[first]}' : '{FORMATS[second]}'"


def fit_explorer() -> Explorable:
    """Measured over predicted of TensorRT-LLM's dense rows, with the constants of the prediction to move."""
    spec = {
        "data": {"values": list(rows())}, "transform": _computed(), "params": _controls(), "layer": _layers(), "title": marks.title(f"'TensorRT-LLM on ' + ({_formats()})"),
        "padding": {"right": 60, "left": 5, "top": 5, "bottom": 5},
    }  # fmt: skip
    return Explorable(spec, "Fit the constants by hand", _says(), f"{_fitted_says()} Try your own: is there a setting that suits both families of chips?")


def errors(family: str, calibration: Calibration) -> list[tuple[bool, float]]:
    """(fitted, error) of each row of a family."""
    inside = recipe(family).slice
    return [(inside(case), runs.seconds(case, calibration) / case.measured - 1) for case in cases(family)]


def _fitted_says() -> str:
    """The constants of each family in words, with their errors."""
    told = []
    for family, id in FAMILIES.items():
        values, off = named(id).values, errors(family, named(id))
        on, other = (mape(error for fitted, error in off if fitted is way) for way in (True, False))
        told.append(f"{family}: compute {values['compute_efficiency']:.2f}, memory {values['memory_efficiency']:.2f}, {on:.0%} off where they were fitted and {other:.0%} elsewhere")
    links = named(FAMILIES["Hopper"]).values
    words = f"Fitted on the rows with a star (hollow), with nothing hidden (1), links at {links['link_efficiency']:.2f} and {links['link_latency'] / US:.1f} µs a message. {'; '.join(told)}."
    return words.replace("%", " %")


def _says() -> str:
    """What the chart shows with every slider at the ideal."""
    mine = rows()
    slows = [case.measured / runs.seconds(case) for case in cases("Hopper")]
    slices = {each["slice"] for each in mine if each["family"] == "Hopper"}
    return (
        f"Measured over predicted time of a step, on a log scale from {LOW} to {HIGH}, for {len(slows)} published runs of TensorRT-LLM on Hopper in {len(slices)} slices, a line each, with a menu for the "
        f"{len(mine) - len(slows)} on Blackwell, sliders for five constants and each slice's mean absolute error at its right. With the ideal machine, where the sliders start, runs took "
        f"{min(slows):.1f} to {max(slows):.1f} times as long as predicted, the median {statistics.median(slows):.1f}; a band of {100 * NEAR:.0f} % about 1 is where the constants should bring them."
    )
