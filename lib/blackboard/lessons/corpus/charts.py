"""The corpus lesson's interactive charts: what repeated tokens are worth, and how much of a pool a filter should keep.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard.catalogue import measurement
from blackboard.charts import marks
from blackboard.charts.interactive import InteractiveChart, curve, decades, derived, inside, slider, sweep
from blackboard.formula import Formula
from blackboard.lessons.corpus import equations as eq
from blackboard.lessons.corpus import numbers, simulation
from blackboard.units import significant

TRILLION = 1e12
LARGE = numbers.run(numbers.LARGE)
REUSE = round(numbers.reuse(), 1)


def _percent(value: str) -> str:
    """Browser expression of a share as per cent, two digits below ten."""
    return f"({value} < 0.0995 ? format(100 * {value}, '.2~r') : format(100 * {value}, '.0f')) + '%'"


def _passes(form: str) -> str:
    """Browser expression of the passes over the tokens."""
    told = marks.said("epochs", form)
    return f"{told} + ({told} == '1' ? ' pass' : ' passes')"


# --- repetition -------------------------------------------------------------------------------------------------------

START = {"unique_tokens": float(LARGE["unique_tokens"]), "pretrain_tokens": LARGE["tokens"], "reuse": REUSE}
LOW, HIGH = 1e10, 1e15  # tokens, of both axes


def _read() -> list[dict]:
    """Sliders for the text, the training and the law's constant, and what follows."""
    return [
        *decades("unique_tokens", START["unique_tokens"], 1.5, 1.0, "different tokens"),
        *decades("pretrain_tokens", START["pretrain_tokens"], 2.0, 1.5, "tokens of training"),
        *slider("reuse", 1, 30, 0.1, REUSE, "passes until 37%"),
        *derived("epochs", "max(1, pretrain_tokens / unique_tokens)"),
        *derived("data_worth", inside(eq.data_worth, "token")),
        *derived("repeat_worth", inside(eq.repeat_worth, "1")),
        *derived("worth_limit", inside(eq.worth_limit, "token")),
    ]


def _repeat_layers(encoding: dict) -> list[dict]:
    """The worth between fresh tokens and its limit, with the marked run."""
    fresh = marks.line("pretrain_tokens", "muted", encoding, strokeDash=[5, 4], strokeWidth=1.5)
    return [
        fresh,
        marks.rule(encoding, "second", y="worth_limit"),
        marks.line("worth", "first", encoding, strokeWidth=3),
        marks.rule(encoding, None, x="unique_tokens"),
        marks.at(encoding, {**marks.DOT, "color": marks.PAINTS["chosen"]}, x="pretrain_tokens", y="data_worth"),
        marks.text(encoding, "'fresh'", "4e14", "4e14", align="right", dx=-8, dy=-4, color=marks.PAINTS["muted"]),
        marks.text(
            encoding, "'never more'", repr(LOW), "worth_limit", align="left", dx=4, dy=-9, color=marks.PAINTS["second"]
        ),
        marks.text(
            encoding,
            "'read once'",
            "unique_tokens",
            repr(LOW),
            align="left",
            dx=5,
            dy=-9,
            color=marks.PAINTS["bound"],
        ),
        marks.hover(encoding, "worth", {"worth": "worth (tokens)"}, ".3s", ".3s"),
    ]


def repeat_chart() -> InteractiveChart:
    """Worth of a run's tokens against how many it reads, with the text, the training and the law's constant to
    choose.
    """
    axis = lambda field, name: marks.log_axis(field, name, LOW, HIGH)
    encoding = {
        "x": axis("pretrain_tokens", "tokens read (trillions)"),
        "y": axis("worth", "worth in fresh tokens (trillions)"),
    }
    for channel in encoding.values():
        channel["axis"]["labelExpr"] = f"format(datum.value / {TRILLION!r}, ',~r')"
    encoding["x"]["axis"]["labelPadding"] = 5  # its first number would touch the lowest of the other axis
    base = sweep("pretrain_tokens", math.log10(LOW), math.log10(HIGH), points=81)
    base["transform"] += [curve(eq.data_worth, "pretrain_tokens", "worth", "token")]
    layers = _repeat_layers(encoding)
    passes = f"pretrain_tokens < unique_tokens ? 'less than a pass: all of it fresh' : {_passes(',.3~r')}"
    worth = f"'worth ' + {marks.counted('data_worth')} + ' fresh ones: ' + {_percent('data_worth / pretrain_tokens')}"
    more = f"'the next token: ' + (repeat_worth < 5e-5 ? 'nothing' : {_percent('repeat_worth')} + ' of a fresh one')"
    share = eq.data_worth(START) / START["pretrain_tokens"]
    epochs = START["pretrain_tokens"] / START["unique_tokens"]
    return InteractiveChart(
        {**base, "params": _read(), "layer": layers, "title": marks.title(passes, worth, more)},
        "Worth of repeated tokens",
        "What a run's tokens are worth in fresh ones against the tokens it reads, 10 billion to a quadrillion, both on"
        " log scales, with sliders for the different tokens there are, the tokens of training, and the fitted number"
        f" of repetitions. With {START['unique_tokens'] / TRILLION:.2f} trillion different tokens,"
        f" {START['pretrain_tokens'] / TRILLION:.1f} trillion read are {epochs:.2f} passes and worth {100 * share:.0f}"
        "% of as many fresh ones. The curve follows the line of fresh tokens for a few passes and ends at a level of"
        f" {significant(1 + START['reuse'], 3)} times the text.",
        "The chart starts with LLäMmlein 1B. The law's constant is the number of further passes after which a token is"
        " worth 37% of a fresh one.",
        result=(1,),
    )


# --- filters ----------------------------------------------------------------------------------------------------------

[GERMAN] = measurement("filtering_kept").records(kept="LLäMmlein")
GAIN = Formula(
    "corpus.filtered_gain",
    "quality_even",
    eq.filtered_worth.typed / eq.pretrain_tokens,
    "1",
    "worth of a token that is read, over an average one of the pool",
    eq.filtered_worth.assumes,
    register=False,
)
QUALITY = Formula(
    "corpus.quality_of_share",
    "quality_even",
    eq.kept_share**-eq.quality_power,
    "1",
    "worth of the best share's tokens over an average one, read once",
    eq.filtered_worth.assumes[-1:],
    register=False,
)
TIMES = 2.0  # the best tenth's worth at the start
POOL = {
    "pool_tokens": float(GERMAN["pool_tokens"]),
    "pretrain_tokens": LARGE["tokens"],
    "reuse": REUSE,
    "quality_power": simulation.power_of(TIMES),
}
KEPT = round(math.log10(round(100 * GERMAN["kept_tokens"] / GERMAN["pool_tokens"])), 6)  # of the percentage
NOTCH = round((2 - KEPT) / 8, 6)  # of the slider, which has to end at all of the pool
STEPS = 18  # of the search for the best number of epochs, between 1 and 1,000


def _searched() -> list[dict]:
    """Signals that halve the interval of passes until one more pass adds just what the better text would lose: last
    `epochs_best`.
    """
    rows = derived("try_0", "1.5")
    for n in range(STEPS):
        here = f"pow(10, try_{n})"
        adds = f"{here} * ({inside(eq.repeat_worth, '1', epochs=here)})"
        whole = inside(eq.data_worth, "token", unique_tokens=1, pretrain_tokens=here)
        step = 1.5 * 0.5 ** (n + 1)
        rows += derived(
            f"try_{n + 1}", f"try_{n} + (({adds}) > (1 - quality_power) * ({whole}) ? {step!r} : {-step!r})"
        )
    return [*rows, *derived("epochs_best", f"pow(10, try_{STEPS})")]


def _pooled() -> list[dict]:
    """Sliders for pool, training and quality, and what follows."""
    at = lambda share: {"kept_share": share}
    return [
        *decades("pool_tokens", POOL["pool_tokens"], 0.7, 2.0, "tokens of the pool"),
        *decades("pretrain_tokens", POOL["pretrain_tokens"], 1.5, 1.0, "tokens of training"),
        *slider("times", 1.1, 4, 0.1, TIMES, "best tenth: worth ×"),
        *slider("reuse", 1, 30, 0.1, REUSE, "passes until 37%"),
        *slider("kept_percent", KEPT - 65 * NOTCH, KEPT + 8 * NOTCH, NOTCH, KEPT, "share kept (%)", base=10),
        *derived("kept_share", "kept_percent / 100"),
        *derived("quality_power", "log(times) / LN10"),
        *_searched(),
        *derived("best", "min(1, pretrain_tokens / (pool_tokens * epochs_best))"),
        *derived("best_gain", inside(GAIN, "1", **at("best"))),
        *derived("gain_here", inside(GAIN, "1")),
        *derived("epochs", "max(1, pretrain_tokens / (kept_share * pool_tokens))"),
        *derived("all_gain", inside(GAIN, "1", **at("1"))),
        *derived("five", f"min(1, pretrain_tokens / ({numbers.PASSES} * pool_tokens))"),
        *derived("five_gain", inside(GAIN, "1", **at("five"))),
        *derived("strict_gain", inside(GAIN, "1", **at(repr(LEFT)))),
        *derived("low", f"min({LOW_END}, 0.6 * min(strict_gain, all_gain))"),  # the curve is lowest at an end
        *derived("top", f"max({TOP_END}, 1.6 * pow({LEFT}, -quality_power))"),
    ]


LEFT = 0.001  # of the share axis
LOW_END, TOP_END = 0.05, 20  # of the worth axis, which grows with its lines


def _filter_lines() -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    return (
        (
            f"'keep ' + {_percent('kept_share')} + ': ' + (pretrain_tokens < kept_share * pool_tokens ? 'nothing"
            f" repeats' : {_passes(',.2~r')}) + ', worth ' + {marks.said('gain_here', '.2~r')}"
        ),
        f"'five passes: keep ' + {_percent('five')} + ', worth ' + {marks.said('five_gain', '.2~r')}",
        (
            f"'best by the law: keep ' + {_percent('best')} + ', worth ' + {marks.said('best_gain', '.2~r')} +"
            f" ' (no filter ' + {marks.said('all_gain', '.2~r')} + ')'"
        ),
    )


def _named_dot(
    encoding: dict, share: str, paint: str, names: tuple[str, str], size: Any = marks.DOT["size"], **looks: Any
) -> tuple[dict, dict]:
    """A share and its gain as a dot with its name; two names, the second if the share is off the axis."""
    x, gone = f"max({LEFT}, {share})", f"{share} < {LEFT}"
    colour, (name, off) = marks.PAINTS[paint], names
    return (
        marks.at(encoding, {**marks.DOT, "size": size, "color": colour}, x=x, y=f"{gone} ? null : {share}_gain"),
        marks.text(
            encoding,
            f"{gone} ? '{off}' : '{name}'",
            x,
            f"{gone} ? strict_gain : {share}_gain",
            color=colour,
            **looks,
        ),
    )


def _filter_layers(encoding: dict) -> list[dict]:
    """The gain with its best share and the marked one, and what it would be if nothing repeated."""
    return [
        marks.line("quality", "muted", encoding, strokeDash=[5, 4], strokeWidth=1.5),
        marks.line("gain", "first", encoding, strokeWidth=3),
        marks.rule(encoding, None, x="kept_share"),
        marks.rule(encoding, None, y="1"),
        marks.at(encoding, {**marks.DOT, "color": marks.PAINTS["chosen"]}, x="kept_share", y="gain_here"),
        *_named_dot(
            encoding,
            "best",
            "second",
            ("best", "← best"),
            dy={"expr": "best > 0.3 ? 24 : 16"},  # the curve may rise to it there
            align={"expr": "best > 0.3 ? 'right' : best < 0.003 ? 'left' : 'center'"},
        ),
        *_named_dot(encoding, "five", "bound", ("five passes", ""), size=50, dy=-14, align="left"),
        marks.text(
            encoding,
            "'if nothing had to repeat'",
            repr(LEFT),
            f"pow({LEFT}, -quality_power)",
            align="left",
            dx=4,
            dy=-12,
            color=marks.PAINTS["muted"],
        ),
        marks.hover(encoding, "gain", {"gain": "worth ÷ average", "quality": "if nothing repeated"}, ".3r", ".3~r"),
    ]


def filter_chart() -> InteractiveChart:
    """Worth of a token that is read against the share that a filter keeps, with pool, training and quality to
    choose.
    """
    encoding = {
        "x": marks.log_axis("kept_share", "share of the pool that is kept (%)", LEFT, 1),
        "y": marks.log_axis("gain", "worth of a token read ÷ average", 1e-4, 1e3),
    }
    encoding["y"]["scale"] = {"type": "log", "domain": [{"expr": "low"}, {"expr": "top"}], "nice": False}
    encoding["x"]["axis"]["labelExpr"] = "format(100 * datum.value, '~r')"
    base = sweep("kept_share", -3, 0, points=91)
    base["transform"] += [curve(GAIN, "kept_share", "gain", "1"), curve(QUALITY, "kept_share", "quality", "1")]
    layers = _filter_layers(encoding)
    best = simulation.best_share(POOL["pretrain_tokens"], POOL["pool_tokens"], REUSE, POOL["quality_power"])
    return InteractiveChart(
        {**base, "params": _pooled(), "layer": layers, "title": marks.title(*_filter_lines())},
        "How much of a pool to keep",
        f"Worth of a token that is read, over an average one of the pool, {LOW_END} to {TOP_END}, against the share"
        " that a filter keeps, 0.1 to 100%, both on log scales, with sliders for the pool, the tokens of training, how"
        " much better the best tenth is, the law's repetitions, and a marked share. With"
        f" {POOL['pool_tokens'] / TRILLION:.1f} trillion tokens in the pool, {POOL['pretrain_tokens'] / TRILLION:.1f}"
        f" trillion read, and a best tenth that teaches {TIMES:g} times as much, it is best to keep"
        f" {100 * best.share:.0f}%, read {best.epochs:.0f} times by the law; a second dot marks five passes. Dashed:"
        " what the kept text would be worth if nothing had to repeat; it rises all the way to the strictest filter.",
        "The chart starts with LLäMmlein 1B's pool and training. How much better the best tenth is, is assumed.",
        primary=("pretrain_tokens", "kept_percent", "times"),
    )
