"""The overtraining lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it
shows.

Every curve is a formula of `equations` or a run of `simulation`, every number in a label or an alt text comes from them
or from the catalogue. What training costs has the first color, what serving costs the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from blackboard import catalogue
from blackboard.catalogue.running_case import plain
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, name_ends, percent, point, thousands
from blackboard.charts.style import CATEGORIES, COLOURS
from blackboard.lessons.batching.equations import balanced_context
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import numbers
from blackboard.lessons.overtraining.numbers import FACTOR, FIT, PRESCRIBED
from blackboard.text import listed
from blackboard.units import significant

BILLION, TRILLION = 1e9, 1e12
SMALL = 10  # points: the least that a phone shows well


def _counted(value: float, digits: int = 2) -> str:
    """Parameters or tokens in words."""
    scale, word = (TRILLION, "trillion") if value >= TRILLION else (BILLION, "billion")
    return f"{significant(value / scale, digits)} {word}"


# --- the puzzle -------------------------------------------------------------------------------------------------------

WELL_KNOWN = (
    *("GPT-3 175B", "Chinchilla 70B", "Llama 2 70B", "Llama 3.1 405B", "Llama 3.1 70B"),
    *("DeepSeek-V3", "Gemma 3 27B", "Llama 3.1 8B", "Qwen3-8B", "Qwen3-1.7B"),
)


def opening() -> Drawing:
    """Some well-known models by tokens of training per active parameter, against Chinchilla's 20."""
    rows = [p for p in numbers.placed() if p.name in WELL_KNOWN]
    fig, axes = drawing.axes(5.0, 3.5)
    axes.axvline(PRESCRIBED, color=COLOURS["muted"], lw=1.5, zorder=0)
    beside(axes, f"Chinchilla's {PRESCRIBED}", (PRESCRIBED, 1), (0, 3), xycoords=("data", "axes fraction"), ha="center")
    for row, p in enumerate(rows):
        axes.plot([PRESCRIBED, p.per_active], [row, row], color=COLOURS["first"], lw=1.5, zorder=1)
        axes.plot(p.per_active, row, "o", color=COLOURS["first"], ms=7, zorder=2)
        right = p.per_active >= 0.9 * PRESCRIBED
        shift, side = ((8, 0), "left") if right else ((-8, 0), "right")
        beside(axes, significant(p.per_active, 2), (p.per_active, row), shift, ha=side, va="center")
    axes.set(xscale="log", xlim=(0.3, 1e5), ylim=(-0.7, len(rows) - 0.3))
    axes.set_xlabel("tokens of training per active parameter (log scale)")
    axes.set_yticks(range(len(rows)), [plain(p.name) for p in rows])
    axes.grid(visible=False, axis="y")
    axes.set_xticks([1, 10, 100, 1_000, 10_000])
    thousands(axes, "x")
    each = listed([f"{p.name} {significant(p.per_active, 2)}" for p in rows])
    return done(
        fig,
        "fig-overtraining-opening",
        "Most models are trained on far more tokens than Chinchilla's rule gives them, and the smallest go furthest.",
        f"Ten well-known models by tokens of training per active parameter, from 0.3 to 100,000 on a log scale: {each}."
        f" A line marks Chinchilla's {PRESCRIBED}.",
    )


# --- where the rule comes from ----------------------------------------------------------------------------------------

BUDGETS = {"a tenth": 0.1, "Chinchilla's": 1, "ten times": 10}  # of the budget of Chinchilla itself


def valleys() -> Drawing:
    """Loss against size at three budgets of training, by the repaired fit: too small, just right, too large."""
    fig, axes = drawing.axes(5.4, 3.8)
    known = numbers.law(FIT)
    sizes, each = np.geomspace(1e9, 2e12, 301), []
    for (name, times), colour in zip(BUDGETS.items(), CATEGORIES):
        budget = times * numbers.chinchilla_budget()
        tokens = lambda n, budget=budget: numbers.tokens_of(c_pretrain=budget, n_active=n)
        at_size = lambda n, tokens=tokens: eq.law_loss(known, n_active=n, pretrain_tokens=tokens(n))
        best = eq.best_size(known, compute_budget=budget)
        ratio = f"{tokens(best) / best:.0f}"
        each.append(f"{name} {ratio}, at {_counted(best)}")
        axes.plot(sizes, at_size(sizes), color=COLOURS[colour])
        axes.plot(best, at_size(best), "o", color=COLOURS[colour], ms=8)
        beside(axes, f"{ratio} each", (best, at_size(best)), (0, 8), colour, ha="center")
        beside(axes, name, (sizes[-1], at_size(sizes[-1])), (4, 0), colour, va="center")
    axes.set(xscale="log", xlim=(1e9, 2e12), xlabel="parameters (log scale)", ylabel="loss")
    axes.set_ylim(axes.get_ylim()[0] - 0.05, None)
    axes.set_xticks([1e9, 1e10, 1e11, 1e12], ["1 B", "10 B", "100 B", "1,000 B"])
    axes.set_title("one curve for each budget of training;\nat the dots, tokens per parameter", loc="left")
    return done(
        fig,
        "fig-valleys",
        "For each budget one size is best. Smaller models hold too little, larger ones see too little text. The valley"
        " is flat.",
        "Loss against parameters, from 1 billion to 2 trillion (log scale), for three budgets of training, by the"
        f" repaired fit: three valleys. The lowest points have these tokens per parameter: {listed(each)}.",
    )


# --- where costs balance ----------------------------------------------------------------------------------------------

BALANCED: tuple[dict[str, float], ...] = ({"rise_power": 1, "fall_power": 1}, {"rise_power": 2, "fall_power": 1})


def _drawn(powers: dict[str, float], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rising and the falling cost of the formulas at x, both one where x is one."""
    known = {
        eq.rise_level: 1,
        eq.fall_level: 1,
        eq.rise_power: powers["rise_power"],
        eq.fall_power: powers["fall_power"],
    }
    return tuple(sympy.lambdify(eq.scale, cost.subs(known))(x) for cost in (eq.rising, eq.falling))


def balance() -> Drawing:
    """B12: a rising and a falling cost and their sum; its least lies where both are equal for equal powers, and beside
    it for others.
    """
    fig, panels = drawing.axes(5.0, 3.9, columns=2, sharey=True)
    phrases = [_balance(axes, powers) for axes, powers in zip(panels, BALANCED)]
    panels[0].set_ylabel("cost")
    return done(
        fig,
        "fig-balance",
        "With equal exponents (left) the sum is least where the costs are equal. With unequal ones (right) the steeper"
        " cost should be the smaller one.",
        "Two panels of cost from 0 to 5 against a scale x from 0 to 2.5, each with a rising cost, a falling one, and"
        f" their sum; dots mark the least sum, rings where both costs are equal. {' '.join(phrases)}",
    )


def _balance(axes, powers: dict[str, float]) -> str:
    """One panel; what it shows, in words."""
    x, squared = np.linspace(0.15, 2.5, 300), powers["rise_power"] > 1
    rising, falling = _drawn(powers, x)
    for y, colour, width in ((rising, "second", 1.8), (falling, "first", 1.8), (rising + falling, "total", 3)):
        axes.plot(x, y, color=COLOURS[colour], lw=width)
    best, share, penalty = (
        eq.scale_best(rise_level=1, fall_level=1, **powers),
        eq.rising_share(**powers),
        eq.equal_penalty(**powers) - 1,
    )
    up, down = (float(y[0]) for y in _drawn(powers, np.array([best])))
    for colour, height in (("second", up), ("first", down), ("total", up + down)):
        axes.plot(best, height, "o", color=COLOURS[colour], ms=7, zorder=4)
    axes.plot([best, best], [0, up + down], color=COLOURS["muted"], ls=":", lw=1.5, zorder=0)
    axes.plot(
        [1, 1], [1, 2], "o", color=COLOURS["bound"], mfc="none", ms=11, mew=1.5, zorder=5
    )  # both costs are one at one
    rise, beside_rise, beside_sum = ("x²", (2.3, 3.2), (1.75, 4.3)) if squared else ("x", (2.1, 1.7), (1.8, 3.1))
    for text, colour, place in (
        (rise, "second", beside_rise),
        ("1/x", "first", (2.25, 0.6)),
        ("sum", "total", beside_sum),
    ):
        axes.text(*place, text, color=COLOURS[colour], ha="right")
    more = f"equal:\n+{100 * penalty:.1f}%" if squared else "equal\nand least"
    point(axes, (1, 2.1), more, (0.43, 0.68) if squared else (0.52, 0.78))
    said = f"least at x = {significant(best, 2, exact=True)}:\n{percent(share)} {rise}, {percent(1 - share)} 1/x"
    axes.set(xlim=(0, 2.5), ylim=(0, 5), xticks=[0, 1, 2], xlabel="x")
    axes.set_title(said, loc="left")
    extra = (
        f"where both are equal, at x = 1, the sum is {100 * penalty:.1f}% higher"
        if squared
        else "just where both are equal"
    )
    return (
        f"{rise} + 1/x is least at x = {significant(best, 2, exact=True)}, with {percent(share)} of it {rise}: {extra}."
    )


# --- what Meta bought -------------------------------------------------------------------------------------------------


def meta() -> Drawing:
    """Both bills against tokens served: Llama 3.1 8B and the model that is as good and best for its training."""
    fig, axes = drawing.axes(5.0, 3.6)
    small, large = numbers.llama()
    even, served = numbers.breaks_even(small, large), np.linspace(0, 10e12, 3)
    spent = lambda row, tokens: (
        row.training
        + eq.inference_compute(n_active=row.n_active, inference_tokens=tokens, decode_efficiency=numbers.ETA)
    )
    names = {"Llama": small, "the twin": large}
    millions: Any = lambda flop: numbers.dollars(flop) / 1e6
    ends = []
    for (name, row), colour in zip(names.items(), ("first", "third")):
        bill = millions(spent(row, served))
        axes.plot(served / TRILLION, bill, color=COLOURS[colour], lw=2.5)
        axes.plot(0, bill[0], "o", color=COLOURS[colour], ms=7, clip_on=False, zorder=4)
        said, up = f"training {bill[0]:.2f}", 24 if row is small else -3
        beside(axes, said, (0, bill[0]), (8, up), colour, va="center")
        ends.append((bill[-1], name, colour))
    axes.plot(even / TRILLION, millions(spent(small, even)), "o", color=COLOURS["bound"], mfc="none", ms=11, mew=1.5)
    point(axes, (even / TRILLION, millions(spent(small, even))), f"equal at\n{_counted(even)}", (0.45, 0.8))
    axes.set(xlim=(0, 10), ylim=(0, 3.8), xlabel="tokens written (trillions)", ylabel="training + serving ($ million)")
    name_ends(axes, ends)
    starts = [f"{millions(row.training):.2f} million dollars for {name}" for name, row in names.items()]
    return done(
        fig,
        "fig-meta",
        "Two models that are equally good by our fit. If a token written costs as much as a token of training, the"
        f" small one pays off after {_counted(even)}.",
        "Both bills together against tokens written, from 0 to 10 trillion: two straight lines, for Llama 3.1 8B and"
        f" for its twin, the best-trained model of {_counted(large.n_active)} that is as good by our fit. They start at"
        f" what training costs, {listed(starts)}. Llama's line rises more slowly, and they cross at {_counted(even)}"
        " tokens.",
    )


# --- public models ----------------------------------------------------------------------------------------------------


SMALL_MODEL = 10e9  # active parameters


def overtrained() -> Drawing:
    """Public models by tokens of training per active and per stored parameter, against Chinchilla's 20 and the
    lecture's 2,000.
    """
    rows = numbers.placed()
    fig, axes = drawing.axes(5.0, 1.1 + 0.215 * len(rows))
    past = PRESCRIBED * FACTOR
    for x, text, colour, low in (
        (PRESCRIBED, f"Chinchilla's {PRESCRIBED}", "muted", -0.7),
        (past, f"the lecture's {past:,.0f}", "claimed", 4.7),  # ends above the key
    ):
        axes.plot([x, x], [low, len(rows)], color=COLOURS[colour], lw=1.5, zorder=0)
        beside(axes, text, (x, 1), (0, 3), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=SMALL)
    _draw_models(axes, rows)
    axes.set(
        xscale="log", xlim=(1, 1e5), ylim=(-0.7, len(rows) - 0.3), xlabel="tokens of training per parameter (log scale)"
    )
    axes.set_yticks(range(len(rows)), [plain(p.name) for p in rows], fontsize=SMALL)
    small = [p for p in rows if p.n_active < SMALL_MODEL]
    passed = sum(p.per_active > past for p in small)
    beyond, mixed = [p.n_active for p in rows if p.per_active > past], next(p for p in rows if p.name == "DeepSeek-V3")
    past_it, most = len(beyond), _counted(max(beyond))
    return done(
        fig,
        "fig-overtrained",
        f"Of {len(small)} models with fewer than {_counted(SMALL_MODEL)} active parameters, {passed} are past a"
        f" hundred times Chinchilla's rule ({past:,.0f}), and of {len(rows) - len(small)} larger ones"
        f" {len(beyond) - passed}. Mixtures of experts are much nearer to it by what they store (squares).",
        f"{len(rows)} public models, a row each, by tokens of training per parameter from 1 to 100,000 (log scale):"
        f" from {rows[0].name} with {significant(rows[0].per_active, 2)} to {rows[-1].name} with"
        f" {significant(rows[-1].per_active, 2)}; {past_it} lie past the lecture's {past:,.0f}, all with at most {most}"
        f" active parameters. Mixtures of experts have a second mark, per stored parameter: {mixed.name} has"
        f" {mixed.per_active:.0f} per active and {mixed.per_total:.0f} per stored one, next to Chinchilla's"
        f" {PRESCRIBED}. Hollow: tokens not exact at their source.",
    )


def _draw_models(axes, rows: tuple[numbers.Placed, ...]) -> None:
    """A row for each model: a mark per active parameter and, for mixtures of experts, one per stored; and a key."""
    for row, p in enumerate(rows):
        face = {"mfc": None if p.confirmed else "white"}
        axes.plot([p.per_total, p.per_active], [row, row], color=COLOURS["first"], lw=1.2)
        if p.n_total > 1.05 * p.n_active:
            axes.plot(p.per_total, row, "s", color=COLOURS["second"], ms=5.5, **face)
        axes.plot(p.per_active, row, "o", color=COLOURS["first"], ms=6.5, **face)
    key = [
        ("per active parameter", "first"),
        ("per stored parameter,", "second"),
        ("of mixtures of experts", "second"),
        ("hollow: tokens not exact", "muted"),
        ("at their source", "muted"),
    ]
    for line, (text, colour) in enumerate(key):
        axes.text(30, 4 - line, text, color=COLOURS[colour], fontsize=SMALL, va="center")


# --- with the KV cache ------------------------------------------------------------------------------------------------

WITH_KV = {"llama-3.1-8b": "first", "qwen3-32b": "second"}


def _on_example(id: str) -> dict[str, float]:
    """Symbols of a model on the example's chip, weights and cache in FP8."""
    return catalogue.chip(numbers.GPU).symbols("fp8") | catalogue.model(id).symbols("fp8", kv="fp8")


def _over_multiplying(id: str, context: Any) -> Any:
    """Cost of a generated token over that of multiplying alone, on the example's chip with a cache in FP8."""
    known = _on_example(id)
    return eq.decode_flop(known, context=context) / eq.decode_flop(known, context=0)


def with_kv() -> Drawing:
    """Cost of a generated token over multiplying alone, against context: KV makes small models' tokens dear first."""
    fig, axes = drawing.axes(5.0, 4.0)
    context, here = np.geomspace(100, 131_072, 300), numbers.EXAMPLE["context"]
    axes.set(xscale="log", yscale="log", xlim=(100, 131_072), ylim=(0.6, 500), xlabel="context (tokens, log scale)")
    called = lambda id: plain(catalogue.model(id).name)
    ends, times = [], {id: _over_multiplying(id, here) for id in WITH_KV}
    for id, colour in WITH_KV.items():
        cost = _over_multiplying(id, context)
        axes.plot(context, cost, color=COLOURS[colour], lw=2.5)
        axes.plot(here, times[id], "o", color=COLOURS[colour], ms=7, zorder=4)
        ends.append((cost[-1], called(id).replace("Llama 3.1 ", "Llama\n"), colour))
    axes.axvline(here, color=COLOURS["muted"], ls=":", lw=1.5, zorder=0)
    axes.text(here * 0.9, 300, f"{here:,} tokens", ha="right", va="center")
    axes.text(110, 0.93, "compute alone", va="top")
    for id, shift, align in (("llama-3.1-8b", (-8, 4), "right"), ("qwen3-32b", (8, -6), "left")):
        beside(axes, f"{significant(times[id], 2)}×", (here, times[id]), shift, WITH_KV[id], ha=align, va="center")
    name_ends(axes, ends, apart=0.12)
    axes.set(ylabel="cost ÷ compute alone (log scale)")
    thousands(axes, "x")
    axes.yaxis.set_major_formatter("{x:g}")
    chip = plain(catalogue.chip(numbers.GPU).name)
    said = f"a generated token on {' '.join(chip.split()[1:3])},\nweights and KV in FP8, large batch"
    axes.set_title(said, loc="left")
    phrases = [f"{significant(at, 2)} for {called(id)}" for id, at in times.items()]
    bends = {id: balanced_context(_on_example(id)) for id in WITH_KV}
    first, last = min(bends, key=bends.__getitem__), max(bends, key=bends.__getitem__)
    return done(
        fig,
        "fig-with-kv",
        "Only up to some hundred tokens of context does a token cost its compute alone. Then the KV cache sets the"
        " cost, in the smaller model first.",
        "Cost of a generated token over that of multiplying alone, from 0.6 to 500, against context from 100 to"
        f" 131,072 tokens, both on log scales, on {chip} in FP8. Every curve is level at 1 and then rises"
        f" with context: {called(first)} from {significant(bends[first], 2)} tokens on, {called(last)} from"
        f" {significant(bends[last], 2)}. At {here:,} tokens it is {listed(phrases)}.",
    )
