"""The overtraining lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it
shows.

Every curve is a formula of `equations` or a run of `simulation`, every number in a label or an alt text comes from them
or from the catalogue. What training costs has the first color, what serving costs the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blackboard.catalogue.running_case import plain
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, name_ends, percent, thousands
from blackboard.charts.style import CATEGORIES, COLOURS
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import numbers, results
from blackboard.lessons.overtraining.numbers import PRESCRIBED
from blackboard.lessons.overtraining.results import FIT
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
    rows = [p for p in results.placed() if p.name in WELL_KNOWN]
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
    axes.set_xlabel("tokens of training per parameter in use (log scale)")
    axes.set_yticks(range(len(rows)), [plain(p.name) for p in rows])
    axes.grid(visible=False, axis="y")
    axes.set_xticks([1, 10, 100, 1_000, 10_000])
    thousands(axes, "x")
    each = listed([f"{p.name} {significant(p.per_active, 2)}" for p in rows])
    return done(
        fig,
        "fig-overtraining-opening",
        "Six of the ten read more than ten times as many tokens per parameter as the rule says, most of all the"
        " smallest model.",
        f"Ten well-known models by tokens of training per active parameter, from 0.3 to 100,000 on a log scale: {each}."
        f" A line marks Chinchilla's {PRESCRIBED}.",
    )


# --- where the rule comes from ----------------------------------------------------------------------------------------

BUDGETS = {"$0.1 million": 0.1, "$1 million": 1, "$10 million": 10}  # of the page's budget
LARGEST_RUN = 16e9  # parameters of the largest model behind the fit


def valleys() -> Drawing:
    """Loss against size at three budgets of training, by the repaired fit: too small, just right, too large."""
    fig, axes = drawing.axes(5.4, 3.9)
    known = results.law(FIT)
    sizes, each = np.geomspace(1e9, 2e12, 301), []
    at_size = lambda n, spent: eq.law_loss(
        known, n_active=n, pretrain_tokens=numbers.tokens_of(c_pretrain=spent, n_active=n)
    )
    axes.axvspan(LARGEST_RUN, sizes[-1], color=COLOURS["muted"], alpha=0.12, lw=0, zorder=0)
    axes.text(1.3 * LARGEST_RUN, 2.4, f"no runs above {_counted(LARGEST_RUN)}", color=COLOURS["muted"])
    for (name, times), colour in zip(BUDGETS.items(), CATEGORIES):
        budget = times * results.budget()
        best = eq.best_size(known, compute_budget=budget)
        ratio = f"{numbers.tokens_of(c_pretrain=budget, n_active=best) / best:.0f}"
        each.append(f"{name} {ratio}, at {_counted(best)}")
        axes.plot(sizes, at_size(sizes, budget), color=COLOURS[colour])
        axes.plot(best, at_size(best, budget), "o", color=COLOURS[colour], ms=8)
        beside(axes, f"{ratio} each", (best, at_size(best, budget)), (0, -18 if times > 1 else 8), colour, ha="center")
        beside(axes, name, (sizes[-1], at_size(sizes[-1], budget)), (4, 0), colour, va="center")
    axes.set(xscale="log", xlim=(1e9, 2e12), xlabel="parameters (log scale)", ylabel="loss")
    axes.set_ylim(axes.get_ylim()[0] - 0.05, None)
    axes.set_xticks([1e9, 1e10, 1e11, 1e12], ["1B", "10B", "100B", "1T"])
    axes.set_title("one curve for each budget of training;\nat the dots, tokens per parameter", loc="left")
    return done(
        fig,
        "fig-valleys",
        "For each budget one size is best. Larger models read too little, and smaller ones have too little room.",
        "Loss against parameters for three budgets of training: each curve falls and then rises. Tokens per parameter"
        f" at the lowest points: {listed(each)}. No run behind the fit had more than {_counted(LARGEST_RUN)}.",
    )


def parts() -> Drawing:
    """The size part and the data part of three equally good models, as stacked bars: the twin, Llama, and the wall."""
    fig, axes = drawing.axes(5.0, 3.2)
    small, large = results.llama()
    whole, least = sum(results.parts_of(large)), results.smallest()
    named = {
        f"the wall\n{_counted(least)}": (whole, 0.0),
        f"Llama\n{_counted(small.n_active)}": results.parts_of(small),
        f"the twin\n{_counted(large.n_active)}": results.parts_of(large),
    }
    for row, (of_size, of_data) in enumerate(named.values()):
        axes.barh(row, of_size, 0.6, color=COLOURS["first"], alpha=0.9)
        axes.barh(row, of_data, 0.6, left=of_size, color=COLOURS["third"], alpha=0.9)
        axes.text(of_size / 2, row, f"size {of_size:.3f}", color="white", ha="center", va="center")
        if of_data:
            inside = of_data > 0.05
            place = of_size + of_data / 2 if inside else whole + 0.003
            words = f"data {of_data:.3f}" if inside else f"data\n{of_data:.3f}"
            axes.text(
                place,
                row,
                words,
                color="white" if inside else COLOURS["third"],
                va="center",
                ha="center" if inside else "left",
            )
    axes.text(whole + 0.003, 0, "nothing\nis left", color=COLOURS["third"], va="center")
    axes.axvline(whole, color=COLOURS["muted"], ls=":", lw=1.5)
    axes.set(xlim=(0, 1.25 * whole), xlabel=f"loss above the floor of {results.law(FIT)['loss_floor']:.2f}")
    axes.set_yticks(range(len(named)), list(named))
    axes.grid(visible=False, axis="y")
    (twin_size, twin_data), (own_size, own_data) = results.parts_of(large), results.parts_of(small)
    return done(
        fig,
        "fig-parts",
        "Equally good models have bars of the same length. The smaller the model, the less is left for the data part.",
        f"Three stacked bars of the same length, {whole:.3f}: the loss above its floor. The twin's is"
        f" {twin_size:.3f} for size and {twin_data:.3f} for data, Llama's {own_size:.3f} and {own_data:.3f}. At the"
        f" wall, {_counted(least)} parameters, size takes up the whole bar.",
    )


def smaller() -> Drawing:
    """Training against size at equal quality, both in units of the best-trained model's: flat, then a wall."""
    fig, axes = drawing.axes(5.0, 3.6)
    wall, (small, large) = results.wall(), results.llama()
    times = lambda size: size * results.needed(size)
    sizes = wall + np.geomspace(1e-4, 1.1 - wall, 400)
    axes.axvspan(0, wall, color=COLOURS["muted"], alpha=0.12, lw=0, zorder=0)
    axes.plot(sizes, times(sizes), color=COLOURS["first"], lw=2.5)
    share = small.n_active / large.n_active
    for size, name, colour, shift in (
        (1, "the twin", "bound", (0, 10)),
        (0.5, f"half: {times(0.5):.2f} times", "bound", (8, 10)),
        (share, f"Llama: {times(share):.1f} times", "first", (10, 4)),
    ):
        axes.plot(size, times(size), "o", color=COLOURS[colour], ms=7, zorder=4)
        beside(axes, name, (size, times(size)), shift, colour, ha="center" if size == 1 else "left")
    axes.text(wall + 0.06, 40, "to the left, no amount\nof text is enough", color=COLOURS["muted"], va="center")
    axes.set(yscale="log", xlim=(0, 1.2), ylim=(0.7, 100))
    axes.set(xlabel="size (1: the twin)", ylabel="training (1: the twin, log scale)")
    thousands(axes, "y")
    return done(
        fig,
        "fig-smaller",
        "Half the size takes little more training for the same quality. Much smaller models take many times as much.",
        "Training compute against size at equal quality, in units of the twin:"
        f" level near the twin's size, {times(0.5):.2f} times at half of it, {times(share):.1f} times at"
        f" Llama's {percent(share)}, and without end at {percent(wall)}.",
    )


# --- what Meta bought -------------------------------------------------------------------------------------------------


def meta() -> Drawing:
    """Both bills against tokens served: Llama 3.1 8B and the model that is as good and best for its training."""
    fig, axes = drawing.axes(5.0, 3.6)
    small, large = results.llama()
    even, served = results.breaks_even(small, large), np.linspace(0, 10e12, 3)
    spent = lambda row, tokens: (
        row.training
        + eq.inference_compute(n_active=row.n_active, inference_tokens=tokens, decode_efficiency=results.ETA)
    )
    names = {"Llama": small, "the twin": large}
    millions: Any = lambda flop: results.dollars(flop) / 1e6
    ends = []
    for (name, row), colour in zip(names.items(), ("first", "third")):
        bill = millions(spent(row, served))
        axes.plot(served / TRILLION, bill, color=COLOURS[colour], lw=2.5)
        axes.plot(0, bill[0], "o", color=COLOURS[colour], ms=7, clip_on=False, zorder=4)
        said, up = f"training {bill[0]:.2f}", 24 if row is small else -3
        beside(axes, said, (0, bill[0]), (8, up), colour, va="center")
        ends.append((bill[-1], name, colour))
    met = even / TRILLION, millions(spent(small, even))
    axes.plot(*met, "o", color=COLOURS["bound"], mfc="none", ms=11, mew=1.5)
    beside(axes, f"equal at\n{_counted(even)}", met, (8, -6), ha="left", va="top")
    axes.set(xlim=(0, 10), ylim=(0, 3.8), xlabel="tokens written (trillions)", ylabel="training + serving ($ million)")
    name_ends(axes, ends)
    starts = [f"{millions(row.training):.2f} million dollars for {name}" for name, row in names.items()]
    return done(
        fig,
        "fig-meta",
        "Llama starts with the larger bill and catches up, because each of its tokens is cheaper than its twin's.",
        f"Both bills together against tokens written: two straight lines. They start at what training costs,"
        f" {listed(starts)}, and cross at {_counted(even)} tokens.",
    )


# --- any traffic ------------------------------------------------------------------------------------------------------

RATIOS = (1, 3, 10, 30, 100)


def ratios() -> Drawing:
    """The cheapest size, its tokens and what it saves, against the twin's ratio, in units of the twin."""
    fig, axes = drawing.axes(5.0, 3.9)
    along = np.geomspace(1, 100, 61)
    found = np.array([results.by_power(1, ratio) for ratio in along])
    for column, colour in ((0, "first"), (1, "second")):
        axes.plot(along, 100 * found[:, column], color=COLOURS[colour], lw=2.5)
    said = []
    for ratio in RATIOS:
        size, saved = results.by_power(1, ratio)
        times = f"{significant(results.needed(size), 2)}×"
        for value, colour, words, below in (
            (size, "first", f"{percent(size)}\n{times}", size < saved),
            (saved, "second", percent(saved), saved < size),
        ):
            axes.plot(ratio, 100 * value, "o", color=COLOURS[colour], ms=7, zorder=4)
            shift, side = ((0, -9), "top") if below else ((0, 8), "bottom")
            beside(axes, words, (ratio, 100 * value), shift, colour, ha="center", va=side)
        said.append(f"{ratio}: size {percent(size)}, {times} the tokens, {percent(saved)} saved")
    axes.set(xscale="log", xlim=(0.7, 150), ylim=(0, 100), ylabel="percent of the twin")
    axes.set_xlabel("the twin's ratio: serving bill ÷ training bill (log scale)")
    axes.set_xticks(RATIOS, [f"{ratio}" for ratio in RATIOS])
    axes.text(0.8, 88, "size (and ×: tokens of training)", color=COLOURS["first"])
    axes.text(145, 88, "saved", color=COLOURS["second"], ha="right")
    return done(
        fig,
        "fig-ratios",
        "The more you serve, the smaller the cheapest model, the more text it reads, and the more it saves.",
        "The cheapest size and the saving, in percent of the twin, against the twin's ratio. At a ratio of"
        f" {'; of '.join(said)}.",
    )


# --- with the KV cache ------------------------------------------------------------------------------------------------


def with_kv() -> Drawing:
    """Cost of a written token against context, of both models: far apart while only the sizes count, less far apart
    where only the caches do.
    """
    fig, axes = drawing.axes(5.0, 3.8)
    context, here = np.geomspace(100, 131_072, 300), results.LONG["context"]
    pair = dict(zip(("Llama", "the twin"), zip(results.llama(), results.caches())))
    unit, ends, ended = results.llama()[0].n_active, [], []
    costs = {}
    for (name, (row, cache)), colour in zip(pair.items(), ("first", "third")):
        at = results.bend(row, cache, results.write_rate(), results.loading_rate())
        costs[name] = lambda tokens, level=row.n_active / unit, bend=at: level * np.maximum(1, tokens / bend)
        axes.plot(context, costs[name](context), color=COLOURS[colour], lw=2.5)
        ends.append((costs[name](context[-1]), name, colour))
        ended.append(f"{name} up to {_rounded(at)} tokens")
    said = []
    for tokens in (1_000, here):
        low, high = costs["Llama"](tokens), costs["the twin"](tokens)
        axes.annotate("", (tokens, low), (tokens, high), arrowprops={"arrowstyle": "<->", "color": COLOURS["muted"]})
        beside(axes, f"Llama: {percent(low / high)}\nof its twin", (tokens, high), (-4, 6), ha="right", va="bottom")
        said.append(f"{percent(low / high)} at {tokens:,} tokens")
    axes.set(xscale="log", yscale="log", xlim=(100, 131_072), ylim=(0.6, 120), xlabel="context (tokens, log scale)")
    axes.set_ylabel("cost of a written token\n(1: Llama, short context; log scale)")
    name_ends(axes, ends, apart=0.09)
    thousands(axes, "x")
    axes.yaxis.set_major_formatter("{x:g}")
    return done(
        fig,
        "fig-with-kv",
        "Llama's tokens cost a quarter as much as its twin's in short contexts and half as much in long ones, where"
        " only the KV caches count.",
        f"Cost of a written token against context. Both curves are level at first, {listed(ended)}, and then rise with"
        f" context. Llama's cost divided by its twin's is {listed(said)}.",
    )


def _rounded(tokens: float) -> str:
    """Tokens of context to the next hundred."""
    return f"{round(tokens, -2):,.0f}"
