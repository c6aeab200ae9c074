"""Fitting by hand: measured over predicted for every dense row of TensorRT-LLM, with the constants to move.

The browser has each row's ideal seconds by resource, and makes the predicted time of them with equations.step_time.
"""

from __future__ import annotations

import re
import statistics
from functools import cache
from typing import Any

from blackboard import units
from blackboard.charts import marks
from blackboard.charts.interactive import InteractiveChart, derived, menu, slider
from blackboard.formula import IDEAL, Calibration
from blackboard.prediction import equations as eq
from blackboard.prediction import serving_runs as serving
from blackboard.prediction.calibration import KNOWN, TENSOR_RT, Recipe, busy, calibration_by_id
from blackboard.prediction.serving_runs import Case
from blackboard.validation import serving as runs
from blackboard.validation.figures import NEAR, short

US = units.factor("us")
FAMILIES = {"Hopper": "trtllm-h200", "Blackwell": "trtllm-b200"}  # chips, and the constants that were fitted for them
FORMATS = {"Hopper": "H100 and H200, FP8", "Blackwell": "B200 and GB200, FP4"}
MINE = "sliders"
START = {
    "compute_efficiency": 1,
    "memory_efficiency": 1,
    "serial_share": 0,
    "link_efficiency": 1,
    "link_latency": 0,
}  # the ideal machine
BUSY = {  # the seconds of each resource, as the browser has them
    "t_compute": "datum.compute / compute_efficiency",
    "t_memory": "datum.memory / memory_efficiency",
    "t_links": "datum.links / link_efficiency + datum.starts * link_latency",
}
LOW, HIGH = 0.2, 12  # no setting of the sliders brings a row beyond; at the right the errors stand
LEAST = 0.2  # the lowest efficiency that can be set
SIDE = 92  # pixels left of the plot, for the names of the slices


def recipe(family: str) -> Recipe:
    """The constants fitted for a family of chips."""
    return KNOWN[FAMILIES[family]]


def cases(family: str) -> list[Case]:
    """Its dense rows."""
    return [case for case in serving.trtllm() if case.data == TENSOR_RT and recipe(family).takes(case)]


def row(family: str, case: Case) -> dict[str, Any]:
    """What the browser knows of a run: ideal seconds by resource, latencies to wait for, and the measured time."""
    ideal, late = busy(case, IDEAL), busy(case, Calibration("one second a message", "", {"link_latency": 1.0}))
    fitted = recipe(family).slice(case)
    digits = lambda value: float(f"{value:.6g}")  # a thousandth of a pixel; all of them weigh 2 kB on the page
    return {
        "family": family,
        "slice": short(case.part) + " *" * fitted,
        "what": case.what,
        "fitted": fitted,
        "compute": digits(ideal["compute"]),
        "memory": digits(ideal["memory"]),
        "links": digits(ideal["links"]),
        "starts": digits(late["links"] - ideal["links"]),
        "measured": digits(case.measured),
    }


@cache
def rows() -> tuple[dict[str, Any], ...]:
    """All dense rows."""
    return tuple(row(family, case) for family in FAMILIES for case in cases(family))


def predicted() -> str:
    """The browser's expression of the predicted time, s."""
    return eq.step_time.vega(calibrated=True, **BUSY, layers=0, layer_overhead=0, overhead=0)


def mean_error(family: str) -> str:
    """The browser's expression of a family's mean error, run by run: what is said above a picture knows no data."""
    mine = [each for each in rows() if each["family"] == family]
    of_run = lambda each: re.sub(r"datum\.(\w+)", lambda name: f"{each[name[1]]:.4g}", predicted())
    errors = " + ".join(f"abs(({of_run(each)}) / {each['measured']:.4g} - 1)" for each in mine)
    return f"({errors}) / {len(mine)}"


def sending_hides(family: str) -> str:
    """The browser's expression of whether sending is behind something longer in every run of a family: then the links
    count for nothing.
    """
    waits = f"{BUSY['t_links']} - max({BUSY['t_compute']}, {BUSY['t_memory']})"
    of_run = lambda each: re.sub(r"datum\.(\w+)", lambda name: f"{each[name[1]]:.3g}", waits)
    longest = ", ".join(dict.fromkeys(of_run(each) for each in rows() if each["family"] == family))
    return f"serial_share == 0 && max({longest}) <= 0"


def constants(family: str) -> dict[str, float]:
    """The constants fitted for a family, by the names of the sliders' signals; what is not fitted is ideal."""
    return {name: calibration_by_id(FAMILIES[family]).values.get(name, ideal) for name, ideal in START.items()}


def _controls() -> list[dict]:
    """Menus for the chips and for whole sets of constants, and a slider for each constant, all ideal at the start."""
    sets = {family: f"fitted on {family}" for family in FAMILIES} | {"ideal": "the ideal machine"}
    part = lambda name, low, label, step=0.01: slider(f"my_{name}", low, 1, step, START[name], label)
    known = {name: f"constants === '{MINE}' ? my_{name} : sets[constants].{name}" for name in START}
    return [
        {"name": "sets", "value": {family: constants(family) for family in FAMILIES} | {"ideal": START}},
        *menu("family", {name: name for name in FORMATS}, "Hopper", "chips"),
        *menu("constants", {MINE: "as the sliders say"} | sets, MINE, "constants"),
        *part("compute_efficiency", LEAST, "compute efficiency", 0.001),
        *part("memory_efficiency", LEAST, "memory efficiency", 0.001),
        *part("serial_share", 0, "share added σ"),
        *part("link_efficiency", LEAST, "link efficiency"),
        *slider("latency_us", 0, 50, 0.1, START["link_latency"], "link latency (µs)"),
        *derived("my_link_latency", f"latency_us * {US!r}"),
        *(row for name, value in known.items() for row in derived(name, value)),
        *(row for family in FAMILIES for row in derived(f"off_{family}", mean_error(family))),
        *(row for family in FAMILIES for row in derived(f"hides_{family}", sending_hides(family))),
    ]


def _computed() -> list[dict]:
    """Predicted time, measured over it, and the error of every row."""
    calculated = {
        "predicted": predicted(),
        "slow": "datum.measured / datum.predicted",
        "error": "abs(datum.predicted / datum.measured - 1)",
    }
    return [{"calculate": value, "as": name} for name, value in calculated.items()]


CHOSEN = "datum.family === family"
MEANS = {  # errors that the head tells, of the rows that are meant: a mean passes over null
    name: f"{CHOSEN} && {test} ? datum.error : null"
    for name, test in (("on", "datum.fitted"), ("other", "!datum.fitted"))
}
# of the tested and of the fitted: size in square pixels, and colours that can be seen on a light and on a dark ground
DOTS = {
    False: {"size": 36, "color": marks.PAINTS["first"], "filled": True},
    True: {"size": 64, "color": marks.PAINTS["bound"], "filled": False, "strokeWidth": 1.5},
}
SILENT = {"aria": False}  # what a row is, the points under the pointer say


def _dots(encoding: dict, fitted: bool) -> dict:
    """The tested rows filled, the fitted ones hollow."""
    chosen = [{"filter": f"{CHOSEN} && datum.fitted === {str(fitted).lower()}"}]
    return {
        "transform": chosen,
        "mark": {"type": "point", "opacity": 1, **DOTS[fitted], **SILENT},
        "encoding": encoding,
    }


def _percent(error: str) -> str:
    """Browser expression: a mean error as the report's table prints it (validation.share)."""
    return f"format(100 * {error}, {error} < 0.1 ? '.1f' : '.0f') + '%'"


def _mean(transform: list[Any], words: str, encoding: dict, **mark: Any) -> dict:
    """Means of errors in words."""
    return {
        "transform": transform,
        "mark": {"type": "text", "text": {"expr": words}, **SILENT, **mark},
        "encoding": encoding,
    }


def _of_slices(y: dict) -> dict:
    """The mean error of each slice, at the right within its row."""
    average = [{"filter": CHOSEN}, {"aggregate": [{"op": "mean", "field": "error", "as": "off"}], "groupby": ["slice"]}]
    return _mean(average, _percent("datum.off"), {"x": {"value": "width"}, "y": y}, align="right", dx=-1)


def _head() -> dict:
    """The mean errors of the fitted and of the other rows, above the plot."""
    average = [
        *({"calculate": value, "as": name} for name, value in MEANS.items()),
        {"aggregate": [{"op": "mean", "field": name, "as": name} for name in MEANS]},
    ]
    line = f"{_percent('datum.on')} + ' on rows with *, ' + {_percent('datum.other')} + ' elsewhere'"
    return _mean(average, line, {"x": {"value": 0}, "y": {"value": -10}}, align="left")


def _hover(encoding: dict) -> dict:
    """What a row is, under the pointer and for who listens."""
    tip = lambda name, title, form: {"field": name, "type": "quantitative", "title": title, "format": form}
    steps = [tip(name, f"{name} step (s)", ".3r") for name in ("measured", "predicted")]
    tips = [{"field": "what", "type": "nominal", "title": "run"}, *steps, tip("slow", "measured over predicted", ".2f")]
    told = [
        {"filter": CHOSEN},
        {"calculate": "datum.what + ': ' + format(datum.slow, '.2f') + ' times the predicted time'", "as": "told"},
    ]
    found = {**encoding, "tooltip": tips, "description": {"field": "told", "type": "nominal"}}
    return {"transform": told, "mark": {"type": "point", "opacity": 0, "size": 300, "clip": True}, "encoding": found}


def _layers() -> list[dict]:
    x = {
        **marks.log_axis("slow", "measured ÷ predicted (log scale)", LOW, HIGH),
        "axis": {"values": [0.25, 0.5, 1, 2, 4, 8], "format": "~r"},
    }
    order = list(dict.fromkeys(each["slice"] for each in rows()))
    looks = {
        "labelLimit": SIDE,
        "labelFontSize": 12,
        "grid": False,
        "ticks": False,
        "labelPadding": 6,
        "minExtent": SIDE,
        "maxExtent": SIDE,
    }
    y = {"field": "slice", "type": "nominal", "sort": order, "title": None, "axis": looks}
    band = {
        "data": {"values": [{"low": 1 / (1 + NEAR), "high": 1 / (1 - NEAR)}]},
        "mark": {"type": "rect", "color": marks.PAINTS["muted"], "opacity": 0.18, **SILENT},
    }
    band["encoding"] = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    one = {
        "data": {"values": [{"one": 1}]},
        "mark": {"type": "rule", "strokeWidth": 1.5, "color": marks.PAINTS["bound"], **SILENT},
        "encoding": {"x": {**x, "field": "one"}},
    }
    encoding = {"x": x, "y": y}
    return [band, one, _dots(encoding, False), _dots(encoding, True), _of_slices(y), _head(), _hover(encoding)]


def _title() -> dict:
    """The chips and the format, the constants that count, and how far off they are."""
    first, second = FORMATS
    chips = f"'TensorRT-LLM on ' + (family === '{first}' ? '{FORMATS[first]}' : '{FORMATS[second]}')"
    told = {
        "compute": "compute_efficiency",
        "memory": "memory_efficiency",
        "σ": "serial_share",
        "links": "link_efficiency",
    }
    values = " + ', ".join(f"{word} ' + {marks.said(name, '.3~r')}" for word, name in told.items())
    hides = f"(family === '{first}' ? hides_{first} : hides_{second})"
    links = f"{marks.said(f'link_latency / {US!r}', '.1~f')} + ' µs' + ({hides} ? ' (hidden)' : '')"
    here, there = (f"{_percent(f'off_{name}')} + ' on {name}'" for name in FORMATS)
    found = f"'mean error ' + (family === '{first}' ? {here} + ', ' + {there} : {there} + ', ' + {here})"
    return marks.title(chips, f"'{values} + ' and ' + {links}", found)


def fit_chart() -> InteractiveChart:
    """Measured over predicted of TensorRT-LLM's dense rows, with the constants of the prediction to move."""
    spec = {
        "data": {"values": list(rows())},
        "transform": _computed(),
        "params": _controls(),
        "layer": _layers(),
        "title": _title(),
    }
    return InteractiveChart(
        spec,
        "Fit the constants by hand",
        _says(),
        _fitted_says(),
        primary=("family", "constants", "my_memory_efficiency"),
        hint="Choose fitted constants or set your own: does any setting suit both families? At σ = 0 only the longest"
        " of computing, loading and sending counts. While sending is the longest in no run, the links are marked as"
        " hidden, and how fast they are makes no difference.",
    )


def errors(family: str, calibration: Calibration) -> list[tuple[bool, float]]:
    """(fitted, error) of each row of a family."""
    inside = recipe(family).slice
    return [(inside(case), runs.seconds(case, calibration) / case.measured - 1) for case in cases(family)]


def in_band(family: str, fitted_on: str) -> int:
    """How many rows of a family the constants that were fitted on it, or on the other, bring into the band."""
    return sum(abs(error) <= NEAR for _, error in errors(family, calibration_by_id(FAMILIES[fitted_on])))


def _fitted_says() -> str:
    """What the constants of each family do to its own rows, and to the other's."""
    told = []
    for family, other in (tuple(FAMILIES), tuple(FAMILIES)[::-1]):
        own, others = in_band(family, family), in_band(other, family)
        told.append(
            f"fitted on {family} bring {own} of its {len(cases(family))} dots into the gray band, and"
            f" {others or 'none'} of {other}'s {len(cases(other))}"
        )
    return (
        f"Constants {told[0]}; those {told[1]}. In the band, predictions are less than {100 * NEAR:.0f}% off. Rows with"
        " a star, whose dots are hollow, are those of the fit."
    )


def _says() -> str:
    """What the chart shows with every slider at the ideal."""
    mine = rows()
    slows = [case.measured / runs.seconds(case) for case in cases("Hopper")]
    slices = {each["slice"] for each in mine if each["family"] == "Hopper"}
    return (
        f"Measured over predicted time of a step, on a log scale from {LOW} to {HIGH}, for {len(slows)} published runs"
        f" of TensorRT-LLM on Hopper in {len(slices)} slices, a line each, with menus for the {len(mine) - len(slows)}"
        " on Blackwell and for fitted constants, sliders for five constants, and each slice's mean absolute error at"
        f" its right. With the ideal machine, where the sliders start, runs took {min(slows):.1f} to {max(slows):.1f}"
        f" times as long as predicted, the median {statistics.median(slows):.1f}; a band of {100 * NEAR:.0f}% about 1"
        " is where the constants should bring them."
    )
