"""The overtraining lesson's explorables: who takes which share of a model's lifetime compute, and the size that costs least.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard import marks
from blackboard.explorable import Explorable, curve, derived, inside, menu, percent, slider, sweep
from blackboard.formula import Formula, take
from blackboard.overtraining import equations as eq, numbers, simulation
from blackboard.overtraining.numbers import BOARD, PRESCRIBED, ROUNDED
from blackboard.style import COLOURS
from blackboard.units import significant

DOT = {"type": "point", "filled": True, "opacity": 1, "size": 110}
BILLION, TRILLION = 1e9, 1e12


def _counted(value: str) -> str:
    """Browser expression, in words: tokens or parameters as millions, billions, trillions or quadrillions."""
    words = f"format({value}, '.3s')"
    for letter, word in {"M": "million", "G": "billion", "T": "trillion", "P": "quadrillion"}.items():
        words = f"replace({words}, '{letter}', ' {word}')"
    return words


def _around(name: str, value: float, down: float, up: float, label: str) -> list[dict]:
    """A slider over powers of ten that starts at a value, in steps of a tenth."""
    start = round(math.log10(value), 3)
    return slider(name, start - down, start + up, 0.1, start, label, base=10)


# --- shares ------------------------------------------------------------------------------------------------------------

PARTS = {"pre-training": ("pretraining", "compute"), "RL": ("rl", "accent"), "inference": ("inference", "kv")}  # field and colour
SHARES = {field: eq.SHARES[name] for name, (field, _) in PARTS.items()}
SPENT = BOARD | {"rl_flop": numbers.CARD["rl_flop"], "pretrain_tokens": ROUNDED}
SPENT |= {"rl_tokens": ROUNDED / take(eq.rl_coefficient, SPENT)}  # RL costs what pre-training costs
SPENT |= {"inference_tokens": take(eq.tokens_served, SPENT)}


def _spent() -> list[dict]:
    """Sliders for tokens, efficiencies and traffic, and what follows: tokens served, shares there, and over-training."""
    return [
        *_around("pretrain_tokens", SPENT["pretrain_tokens"], 2.3, 1.3, "tokens of pre-training"),
        *_around("rl_tokens", SPENT["rl_tokens"], 3.0, 1.5, "tokens of RL"),
        *slider("rl_flop", 2, 6, 0.5, SPENT["rl_flop"], "FLOPs of RL per parameter and token"),
        *slider("decode_efficiency", 0.05, 1, 0.05, SPENT["decode_efficiency"], "efficiency of generating η"),
        *_around("world_rate", SPENT["world_rate"], 2.0, 2.0, "traffic (tokens/s)"),
        *slider("days", 10, 360, 10, SPENT["lifetime"] / numbers.DAY, "lifetime (days)"),
        *slider("family", 1, 20, 1, SPENT["family"], "models that share the traffic"),
        *_around("n_active", SPENT["n_active"], 2.0, 1.0, "active parameters"),
        *derived("lifetime", f"days * {numbers.DAY!r}"), *derived("prescribed", repr(float(PRESCRIBED))),
        *derived("inference_tokens", inside(eq.tokens_served, "token")), *derived("overtraining", inside(eq.overtraining, "1")),
        *(row for field, formula in SHARES.items() for row in derived(f"share_{field}", f"100 * ({inside(formula, '1')})")),
        *(row for field, at in NAMED.items() for row in derived(f"end_{field}", f"100 * ({inside(SHARES[field], '1', inference_tokens=at)})")),
    ]  # fmt: skip


NAMED = {"pretraining": 1.5e11, "rl": 1.5e11, "inference": 8e16}  # tokens served where the lines bear their names


def _named(encoding: dict, name: str) -> list[dict]:
    """A share's curve, a dot at the tokens served, and its name at an end, inside the chart and off its like."""
    field, colour = PARTS[name]
    if name == "inference":
        called = marks.name(encoding, "'serving'", colour, repr(NAMED[field]), "end_inference", "true", dy={"expr": "end_inference > 98 ? 36 : -12"})
    else:
        over = {"pretraining": "end_pretraining >= end_rl", "rl": "end_rl > end_pretraining"}[field]
        place = {"expr": f"end_{field} > 85 ? 17 : end_{field} < 15 || {over} ? -14 : 14"}
        called = marks.name(encoding, f"'{name}'", colour, repr(NAMED[field]), f"end_{field}", dy=place)
    dot = marks.at(encoding, {**DOT, "color": COLOURS[colour]}, x="inference_tokens", y=f"share_{field}")
    wide = {"strokeWidth": 6, "opacity": 0.6} if field == "pretraining" else {"strokeWidth": 3}  # RL may lie on it
    return [marks.line(field, colour, encoding, **wide), dot, *called]


def shares_explorer() -> Explorable:
    """Shares of pre-training, RL and serving against tokens served, with tokens, efficiencies and traffic to choose."""
    encoding = {"x": marks.log_axis("inference_tokens", "tokens served over a life (trillions)", 1e11, 1e17),
                "y": marks.axis("share", "share of lifetime compute (%)", 0, 100, [0, 25, 50, 75, 100])}  # fmt: skip
    encoding["x"]["axis"]["labelExpr"] = f"format(datum.value / {TRILLION!r}, ',~r')"
    base = sweep("inference_tokens", 11, 17, points=97)
    base["transform"] += [percent(formula, "inference_tokens", field) for field, formula in SHARES.items()]
    tips = {"pretraining": "pre-training (%)", "rl": "RL (%)", "inference": "serving (%)"}
    layers = [
        marks.rule(encoding, None, x="inference_tokens"), *(layer for name in PARTS for layer in _named(encoding, name)),
        marks.hover(encoding, "inference", tips, ".1f", ".3s"),
    ]  # fmt: skip
    share = lambda field: f"{marks.said(f'share_{field}', '.0f')} + ' %'"
    served = f"'served: ' + {_counted('inference_tokens')} + ' tokens (dashed)'"
    parts = f"'pre-training ' + {share('pretraining')} + ', RL ' + {share('rl')} + ', serving ' + {share('inference')}"
    each = f"{_counted('pretrain_tokens')} + ' of pre-training on ' + {_counted('n_active')} + ':'"
    times = f"{marks.said('overtraining', ',.3r')} + ' × Chinchilla’s {PRESCRIBED}'"
    over = f"{marks.said('pretrain_tokens / n_active', ',.3r')} + ' per parameter, ' + {times}"
    at = {name: f"{100 * take(eq.SHARES[name], SPENT):.0f} %" for name in PARTS}
    return Explorable(
        {**base, "params": _spent(), "layer": layers, "title": marks.title(served, parts, each, over)},
        "Shares of lifetime compute against tokens served",
        f"Shares of lifetime compute, 0 to 100 %, against tokens served from 100 billion to 100 quadrillion (log scale), with sliders for tokens of "
        f"pre-training and RL, FLOPs of RL, efficiency of generating, traffic, lifetime, models of a family and size. With "
        f"{SPENT['pretrain_tokens'] / TRILLION:.0f} trillion tokens of pre-training and {SPENT['inference_tokens'] / TRILLION:.0f} trillion served, "
        f"pre-training takes {at['pre-training']}, RL {at['RL']}, serving {at['inference']}. The first two fall with traffic and serving rises.",
        "The model’s size does not move the shares, only how far past Chinchilla’s rule its training goes. Halve η: RL and serving cost twice "
        "as much. Divide the traffic among ten models: serving is then the least part.",
    )  # fmt: skip


# --- the best size at a loss -------------------------------------------------------------------------------------------


def _at_loss(name: str, cost: Any) -> Formula:
    """A cost, as an expression, of a model that reaches the loss, over the compute of the run that is best for training alone."""
    reaching = cost.xreplace({eq.pretrain_tokens: eq.tokens_for_loss.typed}) / eq.compute_budget
    where = eq.tokens_for_loss._where if cost.has(eq.pretrain_tokens) else ()
    return Formula(f"overtraining.{name}_at_loss", "cost_share", reaching, "1", f"{name} at a loss, over training alone", eq.law_loss.assumes,
                   eq.CHINCHILLA, register=False, where=where)  # fmt: skip


TRAINED, SERVED = eq.pretrain_compute.typed, eq.inference_compute.typed
CURVES = {"training": _at_loss("training", TRAINED), "serving": _at_loss("serving", SERVED), "sum": _at_loss("sum", TRAINED + SERVED)}
DATALESS = Formula(
    "overtraining.dataless_loss", "loss", eq.loss_floor + eq.from_size, "1", "the loss of a size with data without end", eq.law_loss.assumes,
    eq.CHINCHILLA, register=False,
)  # fmt: skip
WANTED = Formula(  # at the least cost
    "overtraining.wanted_ratio", "inference_over_training",
    eq.inference_over_training.typed.xreplace({eq.pretrain_tokens: eq.tokens_for_loss.typed}), "1",
    eq.inference_over_training.says, eq.inference_over_training.assumes, register=False,
)  # fmt: skip
LAWS = {name: said for name, said in (("Hoffmann, as printed", "Hoffmann, as printed"), ("Hoffmann, TeX source", "Hoffmann, digits of the source"),
                                      ("Sardana", "Sardana"), ("Besiroglu", "Besiroglu"))}  # fmt: skip
STEPS = 16  # of the search: each halves the last, the first is half a power of ten


def _searched() -> list[dict]:
    """Signals that halve an interval of two powers of ten below Chinchilla's size until the least cost is met: last `best`.

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
    """A menu of fits, sliders for the loss, as a size, for tokens served and efficiency, and what follows, the best size too."""
    table = {name: numbers.law(name) for name in LAWS}
    at_best = lambda formula, unit="1": inside(formula, unit, n_active="best")
    return [
        {"name": "laws", "value": table}, *menu("law", LAWS, numbers.FITS["hoffmann"], "fit"),
        *slider("optimal", 10, 12, 0.1, 11, "as good as this size, trained best", base=10),
        *_around("inference_tokens", ROUNDED, 3.3, 1.7, "tokens served"),
        *slider("decode_efficiency", 0.1, 1, 0.05, 1, "efficiency of generating η"),
        *(row for name in numbers.LETTERS for row in derived(name, f"laws[law].{name}")),
        *derived("optimal_tokens", inside(eq.best_tokens, "token", n_active="optimal")),
        *derived("loss", inside(eq.law_loss, "1", n_active="optimal", pretrain_tokens="optimal_tokens")),
        *derived("compute_budget", inside(eq.pretrain_compute, "FLOP", n_active="optimal", pretrain_tokens="optimal_tokens")),
        *_searched(), *derived("best_tokens", at_best(eq.tokens_for_loss, "token")),
        *(row for name, formula in CURVES.items() for row in derived(f"best_{name}", at_best(formula))),
        *derived("plain_sum", inside(CURVES["sum"], "1", n_active="optimal")),
    ]  # fmt: skip


END, TOP = 2.8e12, 3e3  # parameters where the lines bear their names, and the highest place of a name


def _ended(encoding: dict) -> list[dict]:
    """Names: training below its least, which is 1; serving at the right, above its line where it is the dearer, or where it leaves the chart."""
    training, serving = (f"({CURVES[name].vega(n_active=END)})" for name in ("training", "serving"))
    off, seen = f"{serving} > {TOP!r}", f"{serving} < 0.25 ? null : {serving}"
    return [
        *marks.name(encoding, "'training'", "compute", "optimal", "1", "optimal > 3e11", dy=14),
        *marks.name(encoding, "'serving'", "kv", f"{off} ? max(1.5e9, {END!r} * {TOP!r} / {serving}) : {END!r}", f"{off} ? {TOP!r} : {seen}",
                    f"!({off})", dy={"expr": f"{off} ? 4 : {serving} > {training} ? -14 : 24"}),
    ]  # fmt: skip


def size_explorer() -> Explorable:
    """Lifetime cost at equal loss against size, with the loss, tokens served, efficiency and fit to choose."""
    cost = marks.log_axis("cost", "cost (1: best for training alone)", 0.1, 1e4)
    encoding = {"x": marks.log_axis("n_active", "parameters (billions)", 1e9, 3e12), "y": cost}
    encoding["x"]["axis"]["labelExpr"] = f"format(datum.value / {BILLION!r}, ',~r')"
    base = sweep("n_active", 9, math.log10(3e12), points=181)
    base["transform"] += [{"filter": f"({DATALESS.vega(n_active='datum.n_active')}) < loss"}]
    base["transform"] += [curve(formula, "n_active", field, "1") for field, formula in CURVES.items()]
    layers = [
        marks.line("sum", marks.INK, encoding, strokeWidth=5), marks.line("serving", "kv", encoding), marks.line("training", "compute", encoding),
        marks.rule(encoding, None, x="optimal"), *_ended(encoding),
        marks.at(encoding, {**DOT, "size": 150, "shape": "diamond", "color": COLOURS["muted"]}, x="optimal", y="plain_sum"),
        marks.at(encoding, {**DOT, "size": 150, "color": COLOURS["accent"]}, x="best", y="best_sum"),
        marks.hover(encoding, "sum", {"training": "training", "serving": "serving", "sum": "sum"}, ",.3r", ".3s"),
    ]  # fmt: skip
    good = f"'as good as ' + {_counted('optimal')} + ' on ' + {_counted('optimal_tokens')} + ','"
    asked = f"'serving ' + {_counted('inference_tokens')} + ' tokens at η = ' + {marks.said('decode_efficiency', '.2f')} + ':'"
    found = f"'least (green): ' + {_counted('best')} + ' on ' + {_counted('best_tokens')} + ','"
    percent_of = lambda share: f"{marks.said(f'100 * ({share})', '.0f')} + ' %'"
    what = f"{marks.said('best_tokens / best', ',.3r')} + ' each; ' + {percent_of('best_training / best_sum')} + ' training'"
    what += f" + '; saves ' + {percent_of('1 - best_sum / plain_sum')}"
    best, refit, size = numbers.best(numbers.FITS["hoffmann"]), numbers.best(numbers.FITS["besiroglu"]), BOARD["n_active"]
    saved = simulation.saving(numbers.as_good(numbers.FITS["hoffmann"]), ROUNDED, numbers.law())
    return Explorable(
        {**base, "params": _wished(), "layer": layers, "title": marks.title(good, asked, found, what)}, "Lifetime cost at equal loss against size",
        f"Lifetime compute at equal loss against size from a billion to 3 trillion parameters, both on log scales, in units of the training that is "
        f"cheapest, with controls for fit, loss, tokens served and efficiency of generating. By Hoffmann’s fit, as good as {size / BILLION:.0f} "
        f"billion trained best, with {ROUNDED / TRILLION:.0f} trillion tokens served, the least is at {best.n_active / BILLION:.0f} billion "
        f"parameters on {best.tokens / TRILLION:.0f} trillion tokens, {significant(best.tokens_per_param, 2)} for each parameter, and "
        f"saves {100 * saved:.0f} %.",
        "Diamond: the model that is best for training alone. Serve more, and the least moves left, towards the wall where no data suffices. "
        f"By Besiroglu’s fit it is at {refit.n_active / BILLION:.0f} billion instead of {best.n_active / BILLION:.0f}.",
    )  # fmt: skip
