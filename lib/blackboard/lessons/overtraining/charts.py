"""The overtraining lesson's charts: who takes which share of a model's lifetime compute, and the size that costs
least.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard.catalogue import measurement
from blackboard.charts import marks
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, menu, percent, slider, sweep
from blackboard.formula import Formula
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import numbers, simulation
from blackboard.lessons.overtraining.numbers import BOARD, PRESCRIBED, ROUNDED
from blackboard.units import significant

BILLION, TRILLION = 1e9, 1e12


def _around(name: str, value: float, down: float, up: float, label: str) -> list[dict]:
    """A slider over powers of ten that starts at a value, in steps of a tenth."""
    start = round(math.log10(value), 3)
    return slider(name, start - down, start + up, 0.1, start, label, base=10)


# --- shares -----------------------------------------------------------------------------------------------------------

PARTS = {
    "pre-training": ("pretraining", "first"),
    "RL": ("rl", "third"),
    "inference": ("inference", "second"),
}  # field and colour
SHARES = {field: eq.SHARES[name] for name, (field, _) in PARTS.items()}
SPENT = BOARD | numbers.CARD | {"pretrain_tokens": ROUNDED, "inference_tokens": ROUNDED}
SPENT |= {"rl_tokens": ROUNDED / eq.rl_coefficient(SPENT)}  # each costs a third
EFFICIENCY = [  # in steps that a third is one of
    *slider("worse", 1, 20, 0.5, round(1 / SPENT["decode_efficiency"]), "efficiency of generating, as 1/η"),
    *derived("decode_efficiency", "1 / worse"),
]


def _spent() -> list[dict]:
    """Sliders for tokens, efficiency and size, and what follows: shares, and over-training."""
    return [
        *_around("pretrain_tokens", SPENT["pretrain_tokens"], 2.3, 1.3, "tokens of pre-training"),
        *_around("rl_tokens", SPENT["rl_tokens"], 3.0, 1.5, "tokens of RL"),
        *slider("rl_flop", 2, 8, 0.5, SPENT["rl_flop"], "FLOPs of RL per parameter and token"),
        *EFFICIENCY,
        *_around("inference_tokens", SPENT["inference_tokens"], 2.3, 1.3, "tokens served"),
        *_around("n_active", SPENT["n_active"], 2.0, 1.0, "active parameters"),
        *derived("prescribed", repr(float(PRESCRIBED))),
        *derived("overtraining", inside(eq.overtraining, "1")),
        *(
            row
            for field, formula in SHARES.items()
            for row in derived(f"share_{field}", f"100 * ({inside(formula, '1')})")
        ),
        *_rounded(),
        *(
            row
            for field, at in NAMED.items()
            for row in derived(f"end_{field}", f"100 * ({inside(SHARES[field], '1', inference_tokens=at)})")
        ),
    ]


def _rounded() -> list[dict]:
    """Whole per cents of the shares, as `whole_…`, that add up to 100: what is short or over goes where rounding hurts
    least.

    Pre-training and RL stay equal where they nearly are.
    """
    off = lambda field: f"short * (share_{field} - round(share_{field}))"
    serving = f"abs(share_pretraining - share_rl) < 0.5 || {off('inference')} >= max({off('pretraining')}, {off('rl')})"
    return [
        *derived("short", f"100 - {' - '.join(f'round(share_{field})' for field in SHARES)}"),
        *derived("whole_inference", f"round(share_inference) + ({serving} ? short : 0)"),
        *derived(
            "whole_pretraining",
            f"round(share_pretraining) + (!({serving}) && {off('pretraining')} >= {off('rl')} ? short : 0)",
        ),
        *derived("whole_rl", "100 - whole_inference - whole_pretraining"),
    ]


NAMED = {"pretraining": 1.5e11, "rl": 1.5e11, "inference": 8e16}  # tokens served where the lines bear their names


def _named(encoding: dict, name: str) -> list[dict]:
    """A share's curve, a dot at the tokens served, and its name at an end, inside the chart and off its like."""
    field, colour = PARTS[name]
    if name == "inference":
        place = {"expr": "end_inference > 98 ? 36 : end_inference > 80 ? 2 : -12"}
        called = marks.name(encoding, "'serving'", colour, repr(NAMED[field]), "end_inference", "true", dy=place)
    else:
        over = {"pretraining": "end_pretraining >= end_rl", "rl": "end_rl > end_pretraining"}[field]
        place = {"expr": f"end_{field} > 85 ? 17 : end_{field} < 3 ? -26 : end_{field} < 15 || {over} ? -14 : 14"}
        called = marks.name(encoding, f"'{name}'", colour, repr(NAMED[field]), f"end_{field}", dy=place)
    dot = marks.at(encoding, {**marks.DOT, "color": marks.PAINTS[colour]}, x="inference_tokens", y=f"share_{field}")
    wide = {"strokeWidth": 6, "opacity": 0.6} if field == "pretraining" else {"strokeWidth": 3}  # RL may lie on it
    return [marks.line(field, colour, encoding, **wide), dot, *called]


def shares_chart() -> InteractiveChart:
    """Shares of pre-training, RL and serving against tokens served, with tokens, efficiencies and traffic to choose."""
    encoding = {
        "x": marks.log_axis("inference_tokens", "tokens served over a life (trillions)", 1e11, 2e17),
        "y": marks.axis("share", "share of lifetime compute (%)", 0, 100, [0, 25, 50, 75, 100]),
    }
    encoding["x"]["axis"]["labelExpr"] = f"format(datum.value / {TRILLION!r}, '~s')"
    base = sweep("inference_tokens", 11, math.log10(2e17), points=97)
    base["transform"] += [percent(formula, "inference_tokens", field) for field, formula in SHARES.items()]
    tips = {"pretraining": "pre-training (%)", "rl": "RL (%)", "inference": "serving (%)"}
    layers = [
        marks.rule(encoding, None, x="inference_tokens"),
        *(layer for name in PARTS for layer in _named(encoding, name)),
        marks.hover(encoding, "inference", tips, ".1f", ".3s"),
    ]
    share = lambda field: f"{marks.said(f'whole_{field}')} + '%'"
    served = f"'served: ' + {marks.counted('inference_tokens')} + ' tokens (dashed)'"
    parts = f"'pre-training ' + {share('pretraining')} + ', RL ' + {share('rl')} + ', serving ' + {share('inference')}"
    each = f"{marks.counted('pretrain_tokens')} + ' of pre-training on ' + {marks.counted('n_active')} + ':'"
    times = f"{marks.said('overtraining', ',.2r')} + ' × Chinchilla’s {PRESCRIBED}'"
    over = f"{marks.said('pretrain_tokens / n_active', ',.2r')} + ' per parameter, ' + {times}"
    at = {name: f"{100 * eq.SHARES[name](SPENT):.0f}%" for name in PARTS}
    more = 100 * eq.SHARES["inference"](SPENT, inference_tokens=10 * ROUNDED)
    return InteractiveChart(
        {**base, "params": _spent(), "layer": layers, "title": marks.title(served, parts, each, over)},
        "Shares of lifetime compute against tokens served",
        "Shares of lifetime compute, 0 to 100%, against tokens served from 100 billion to 200 quadrillion (log"
        " scale), with sliders for tokens of pre-training, RL and serving, FLOPs of RL, efficiency of generating and"
        f" size. With {SPENT['pretrain_tokens'] / TRILLION:.0f} trillion tokens of pre-training,"
        f" {SPENT['rl_tokens'] / TRILLION:.0f} trillion of RL and"
        f" {SPENT['inference_tokens'] / TRILLION:.0f} trillion served, pre-training takes"
        f" {at['pre-training']}, RL {at['RL']}, serving {at['inference']}. The first two fall with traffic and serving"
        " rises.",
        "The model’s size does not move the shares, only how far past Chinchilla’s rule its training goes. Halve η: RL"
        f" and serving cost twice as much. Serve ten times as much: serving then takes {more:.0f}%.",
        primary=("pretrain_tokens", "rl_tokens", "worse"),
        result=(1,),
    )


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
    table = {name: numbers.law(name) for name in LAWS}
    at_best = lambda formula, unit="1": inside(formula, unit, n_active="best")
    return [
        {"name": "laws", "value": table},
        *menu("law", LAWS, numbers.FIT, "fit"),
        *slider("optimal", 10, 12, 0.1, 11, "quality of a best-trained model of this size", base=10),
        *_around("inference_tokens", ROUNDED, 3.3, 1.7, "tokens served"),
        *EFFICIENCY,
        *(row for name in numbers.LETTERS for row in derived(name, f"laws[law].{name}")),
        *derived("optimal_tokens", inside(eq.best_tokens, "token", n_active="optimal")),
        *derived("loss", inside(eq.law_loss, "1", n_active="optimal", pretrain_tokens="optimal_tokens")),
        *derived(
            "compute_budget", inside(eq.pretrain_compute, "FLOP", n_active="optimal", pretrain_tokens="optimal_tokens")
        ),
        *_searched(),
        *derived("best_tokens", at_best(eq.tokens_for_loss, "token")),
        *(row for name, formula in CURVES.items() for row in derived(f"best_{name}", at_best(formula))),
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
    """Names of the lines; training's below its least, which is 1, on the side where serving is not."""
    dot, called = marks.name(
        encoding, "'sum'", "total", "sum_at", "sum_top", "true", dy={"expr": "sum_at < 9.9e12 ? 0 : -10"}
    )
    served, level = "serving_at * per_size < 0.12 ? null : serving_at", "serving_at * per_size"
    return [
        *marks.name(encoding, "'training'", "first", "optimal", "1", "plain_sum < 1.6", dy=14),
        *marks.name(encoding, "'serving'", "second", served, level, "far", dy={"expr": "far ? -14 : 14"}),
        dot,
        called,
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
    good = f"'quality of ' + {marks.counted('optimal')} + ' on ' + {marks.counted('optimal_tokens')} + ','"
    asked = (
        f"'serving ' + {marks.counted('inference_tokens')} + ' tokens at η = ' +"
        f" {marks.said('decode_efficiency', '.2f')} + ':'"
    )
    found = f"'least (dot): ' + {marks.counted('best')} + ' on ' + {marks.counted('best_tokens')}"
    percent_of = lambda share: f"{marks.said(f'100 * ({share})', '.0f')} + '%'"
    what = (
        f"{marks.said('best_tokens / best', ',.2r')} + ' each; ' + {percent_of('best_training / best_sum')} + '"
        " training'"
    )
    what += f" + '; saves ' + {percent_of('1 - best_sum / plain_sum')}"
    above = f"{marks.said('max(0, 100 * (2 * equal_training / best_sum - 1))', '.1f')}"
    rule = (
        f"equal ? 'equal (ring): ' + {marks.counted('equal')} + ', sum ' + {above} + '% higher' : 'equal: at no size"
        " shown'"
    )
    return good, asked, found, what, rule


def _size_layers(encoding: dict) -> list[dict]:
    """Both costs and their sum, with the sizes that stand out."""
    return [
        marks.line("sum", "total", encoding, strokeWidth=5),
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
    best, other, size = numbers.best(), numbers.best(numbers.FITS["hoffmann"]), BOARD["n_active"]
    saved = simulation.saving(numbers.as_good(), ROUNDED, numbers.law(numbers.FIT), numbers.ETA)
    return InteractiveChart(
        {**base, "params": _wished(), "layer": layers, "title": marks.title(*_size_lines())},
        "Lifetime cost at equal loss against size",
        f"Lifetime compute at equal loss against size from a billion to {END / TRILLION:.0f} trillion parameters, both"
        " on log scales, in units of the training that is cheapest, with controls for fit, loss, tokens served and"
        f" efficiency of generating. By Besiroglu’s fit, at the quality of a best-trained {size / BILLION:.0f} billion,"
        f" with {ROUNDED / TRILLION:.0f} trillion tokens served, the least is at {best.n_active / BILLION:.0f} billion"
        f" parameters on {best.tokens / TRILLION:.0f} trillion tokens, {significant(best.tokens_per_param, 2)} for each"
        f" parameter, and saves {100 * saved:.0f}%.",
        "Diamonds: the model that is best for training alone. Dot: the least sum; ring: both costs are equal. Serve"
        " more, and the least moves left, towards the wall where no data suffices. Hoffmann’s fit, as printed, has it"
        f" at {other.n_active / BILLION:.0f} billion instead of {best.n_active / BILLION:.0f}.",
        primary=("inference_tokens", "optimal", "law"),
        result=(2, 3),
    )
