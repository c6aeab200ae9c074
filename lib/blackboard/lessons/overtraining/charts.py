"""The overtraining lesson's chart: the size that costs least over a model's life.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

from typing import Any

from blackboard.catalogue import LETTERS, measurement
from blackboard.charts import marks
from blackboard.charts.interactive import InteractiveChart, curve, decades, derived, inside, menu, slider, sweep
from blackboard.formula import Formula
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import results, simulation
from blackboard.lessons.overtraining.results import SERVED as WRITTEN
from blackboard.units import significant

BILLION, TRILLION = 1e9, 1e12


EFFICIENCY = [  # in steps that a third is one of
    *slider("worse", 1, 20, 0.5, round(1 / results.ETA), "inefficiency 1/η"),
    *derived("decode_efficiency", "1 / worse"),
]

# --- the best size at a loss ------------------------------------------------------------------------------------------


def _at_loss(name: str, cost: Any) -> Formula:
    """A cost, as an expression, of a model that reaches the loss, over the compute of the run that is best for
    training alone.
    """
    reaching = cost.xreplace({eq.pretrain_tokens: eq.tokens_for_loss.typed}) / eq.compute_budget
    where = eq.tokens_for_loss.conditions if cost.has(eq.pretrain_tokens) else ()
    return Formula(
        f"overtraining.{name}_at_loss",
        "cost_share",
        reaching,
        "1",
        f"{name} at a loss, over training alone",
        eq.law_loss.assumes,
        eq.CHINCHILLA,
        register=False,
        conditions=where,
    )


TRAINED, SERVED = eq.pretrain_compute.typed, eq.inference_compute.typed
CURVES = {
    "training": _at_loss("training", TRAINED),
    "serving": _at_loss("serving", SERVED),
    "sum": _at_loss("sum", TRAINED + SERVED),
}
DATALESS = Formula(
    "overtraining.dataless_loss",
    "loss",
    eq.loss_floor + eq.from_size,
    "1",
    "the loss of a size with data without end",
    eq.law_loss.assumes,
    eq.CHINCHILLA,
    register=False,
)
WANTED = Formula(  # at the least cost
    "overtraining.wanted_ratio",
    "inference_over_training",
    eq.inference_over_training.typed.xreplace({eq.pretrain_tokens: eq.tokens_for_loss.typed}),
    "1",
    eq.inference_over_training.description,
    eq.inference_over_training.assumes,
    register=False,
)
LAWS = {name: name for name in measurement("scaling_law_constants").column("law")}  # as in the page's table
SHORT = Formula(  # of the loss, with a model without end
    "overtraining.sizeless_loss",
    "loss",
    eq.loss_floor + eq.from_data,
    "1",
    "the loss of some data with parameters without end",
    eq.law_loss.assumes,
    eq.CHINCHILLA,
    register=False,
)
SIZED = Formula(
    "overtraining.size_for_loss",
    "n_active",
    eq.one_entry * (eq.loss_size / (eq.loss - eq.loss_floor - eq.from_data)) ** (1 / eq.size_power),
    "parameter",
    "the size that reaches the loss with some data",
    eq.law_loss.assumes,
    eq.CHINCHILLA,
    register=False,
)
WALL = Formula(
    "overtraining.wall",
    "n_active",
    eq.one_entry * (eq.loss_size / (eq.loss - eq.loss_floor)) ** (1 / eq.size_power),
    "parameter",
    "the size that no data brings to the loss",
    eq.law_loss.assumes,
    eq.CHINCHILLA,
    register=False,
)
END = 1e13  # parameters, of the chart
STEPS = 16  # of the search: each halves the last, the first is half a power of ten


def _searched() -> list[dict]:
    """Signals that halve an interval of two powers of ten below Chinchilla's size until the least cost is met: last
    `best`.

    A size is too small if no data suffices, or if serving over training is less than the least cost has it.
    """
    rows = derived("try_0", "log(optimal) / LN10 - 1")
    for n in range(STEPS):
        here = f"pow(10, try_{n})"
        ratio = f"({CURVES['serving'].vega(n_active=here)}) / ({CURVES['training'].vega(n_active=here)})"
        small = f"({DATALESS.vega(n_active=here)}) >= loss || ({ratio}) < ({WANTED.vega(n_active=here)})"
        rows += derived(f"try_{n + 1}", f"try_{n} + (({small}) ? {0.5 ** (n + 1)!r} : {-(0.5 ** (n + 1))!r})")
    return [*rows, *derived("best", f"pow(10, try_{STEPS})")]


def _wished() -> list[dict]:
    """A menu of fits, sliders for the loss, as a size, for tokens served and efficiency, and what follows, the best
    size too.
    """
    table = {name: results.law(name) for name in LAWS}
    at_best = lambda formula, unit="1": inside(formula, unit, n_active="best")
    return [
        {"name": "laws", "value": table},
        *menu("law", LAWS, results.FIT, "fit"),
        *decades("optimal", results.best(served=0).n_active, 1, 1.5, "size of the twin"),
        *decades("inference_tokens", WRITTEN, 2.8, 2.2, "tokens written"),
        *EFFICIENCY,
        *(row for name in LETTERS for row in derived(name, f"laws[law].{name}")),
        *derived("optimal_tokens", inside(eq.best_tokens, "token", n_active="optimal")),
        *derived("loss", inside(eq.law_loss, "1", n_active="optimal", pretrain_tokens="optimal_tokens")),
        *derived(
            "compute_budget", inside(eq.pretrain_compute, "FLOP", n_active="optimal", pretrain_tokens="optimal_tokens")
        ),
        *_searched(),
        *derived("best_tokens", at_best(eq.tokens_for_loss, "token")),
        *derived("best_sum", at_best(CURVES["sum"])),
        *derived("plain_sum", inside(CURVES["sum"], "1", n_active="optimal")),
        *_crossed(),
        *derived("top", "max(1e4, pow(10, ceil(log(3 * max(plain_sum, best_sum)) / LN10)))"),  # of the axis
        *derived("wall", inside(WALL, "parameter")),
        *_places(),
    ]


def _crossed() -> list[dict]:
    """Where both costs are equal: `equal_tokens` of training, and the size `equal` that they bring to the loss; 0
    where none is on the chart.
    """
    reached = inside(SIZED, "parameter", pretrain_tokens="equal_tokens")
    return [
        *derived("equal_tokens", f"({inside(eq.inference_coefficient, '1')}) * inference_tokens"),
        *derived("equal_size", f"({SHORT.vega(pretrain_tokens='equal_tokens')}) < loss ? {reached} : 0"),
        *derived("equal", f"equal_size > {END!r} ? 0 : equal_size"),
        *derived(
            "equal_training", f"equal ? {CURVES['training'].vega(n_active='max(equal, 1e9)')} : 1"
        ),  # a size, even where unused
    ]


def _places() -> list[dict]:
    """Where sum and serving bear their names: the sum left of its line's end, serving below its line, near the wall or
    at the right.
    """
    ends, per = (
        inside(CURVES["sum"], "1", n_active=repr(END)),
        inside(CURVES["serving"], "1", n_active="1e9") + " / 1e9",
    )
    return [
        *derived("end_sum", ends),
        *derived("sum_at", f"{END!r} * min(1, top / 1.6 / end_sum)"),
        *derived("sum_top", "min(end_sum, top / 1.6)"),
        *derived("per_size", per),
        *derived("low", "per_size * wall < 0.65"),
        *derived("far", "per_size * 1.2e12 < 0.4"),
        *derived("right", "max(1.05 * optimal, min(1.1e12, top / 10 / per_size))"),
        *derived("serving_at", "far ? min(0.2 / per_size, 9e12) : low ? max(1.05 * wall, 0.4 / per_size) : right"),
    ]


def _ended(encoding: dict) -> list[dict]:
    """Names of the lines, close to them; training's below its least, which is 1, on the side where serving is not."""
    served, level = "serving_at * per_size < 0.12 ? null : serving_at", "serving_at * per_size"
    named = lambda name, colour, x, y, left, dy: marks.text(
        encoding, f"'{name}'", x, y, **marks.side(left), dy=dy, color=marks.PAINTS[colour]
    )
    return [
        named("training", "first", "optimal", "1", "plain_sum < 1.6", 14),
        named("serving", "second", served, level, "far", {"expr": "far ? -12 : 12"}),
        named("sum", "total", "sum_at", "sum_top", "true", {"expr": "sum_at < 9.9e12 ? 0 : -10"}),
    ]


def _best_trained(encoding: dict) -> list[dict]:
    """The model that is best for training alone: diamonds on training and on the sum, dashed between them."""
    x, y = ({**encoding[axis], "field": f"at_{axis}"} for axis in "xy")
    found = [
        {"calculate": value, "as": f"at_{key}"} for key, value in (("x", "optimal"), ("y", "1"), ("y2", "plain_sum"))
    ]
    dashed = {
        "data": {"values": [{}]},
        "transform": found,
        "mark": {"type": "rule", "clip": True, "strokeDash": [4, 3], "strokeWidth": 1.5},
        "encoding": {"x": x, "y": y, "y2": {"field": "at_y2"}},
    }
    diamond = {**marks.DOT, "size": 150, "shape": "diamond", "color": marks.PAINTS["third"]}
    return [dashed, *(marks.at(encoding, diamond, x="optimal", y=y) for y in ("1", "plain_sum"))]


def _size_lines() -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    found = f"{marks.counted('best')} + ' on ' + {marks.counted('best_tokens')} + ' tokens costs least and saves ' +"
    found += f" {marks.said('100 * (1 - best_sum / plain_sum)', '.0f')} + '%'"
    what = f"{marks.said('best_tokens / best', ',.2r')} + ' tokens per parameter'"
    above = f"{marks.said('max(0, 100 * (2 * equal_training / best_sum - 1))', '.1f')}"
    rule = f"equal ? {marks.counted('equal')} + ' (ring: equal bills) costs ' + {above} + '% more' : ''"
    return found, what, rule


def _size_layers(encoding: dict) -> list[dict]:
    """Both costs and their sum, with the sizes that stand out."""
    return [
        marks.line("sum", "total", encoding, strokeWidth=7, opacity=0.35),  # behind its parts
        marks.line("serving", "second", encoding),
        marks.line("training", "first", encoding),
        *_best_trained(encoding),
        *_ended(encoding),
        marks.at(encoding, {**marks.DOT, "size": 150, "color": marks.PAINTS["chosen"]}, x="best", y="best_sum"),
        marks.at(
            encoding,
            {**marks.DOT, "filled": False, "strokeWidth": 2.5, "color": marks.PAINTS["total"]},
            x="equal ? equal : null",
            y="equal_training",
        ),
        marks.hover(encoding, "sum", {"training": "training", "serving": "serving", "sum": "sum"}, ",.3r", ".3s"),
    ]


def size_chart() -> InteractiveChart:
    """Lifetime cost at equal loss against size, with the loss, tokens served, efficiency and fit to choose."""
    cost = marks.log_axis("cost", "cost (1: best for training alone)", 0.1, 1e7)
    cost["scale"] = {"type": "log", "domain": [0.1, {"expr": "top"}]}
    encoding = {"x": marks.log_axis("n_active", "parameters (billions)", 1e9, END), "y": cost}
    encoding["x"]["axis"]["labelExpr"] = f"format(datum.value / {BILLION!r}, ',~r')"
    base = sweep("along", 0, 1, points=91, log=False)
    base["transform"] += [
        {"calculate": f"wall * 1.001 * pow({END!r} / wall, datum.along * datum.along)", "as": "n_active"}
    ]  # dense at the wall
    base["transform"] += [curve(formula, "n_active", field, "1") for field, formula in CURVES.items()]
    layers = _size_layers(encoding)
    best, size = results.best(), results.best(served=0).n_active
    saved = simulation.saving(results.as_good(), WRITTEN, results.law(results.FIT), results.ETA)
    return InteractiveChart(
        {**base, "params": _wished(), "layer": layers, "title": marks.title(*_size_lines())},
        "Lifetime cost at equal loss against size",
        f"Lifetime compute at equal loss against size from a billion to {END / TRILLION:.0f} trillion parameters, both"
        " on log scales, in units of the training that is cheapest, with controls. By Besiroglu’s fit, at the quality"
        f" of a twin of {size / BILLION:.0f} billion, with {WRITTEN / TRILLION:.0f} trillion tokens written, the"
        f" least is at {best.n_active / BILLION:.0f} billion parameters on {best.tokens / TRILLION:.0f} trillion"
        f" tokens, {significant(best.tokens_per_param, 2)} for each parameter, and saves {100 * saved:.0f}%.",
        "The more tokens you write, the further left the cheapest size (dot) is, towards the wall. Diamonds: the"
        " twin. Ring, if the lines of training and serving cross: both cost the same.",
        primary=("inference_tokens", "optimal", "law"),
        result=(0,),
    )
