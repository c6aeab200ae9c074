"""The sparsity lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations` or a run of `simulation`, every number in a label or an alt text comes from them
or from the catalogue.
"""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from blackboard import catalogue, units
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, name_ends, point, thousands
from blackboard.charts.style import COLOURS
from blackboard.lessons.batching import equations as step
from blackboard.lessons.sparsity import numbers, results, simulation
from blackboard.units import significant

US, GB = units.factor("us"), units.factor("GB")
BASE, EXPERTS = results.FIGURE["base_size"], results.FIGURE["experts"]  # what the lecture reads off B4
SIZES = (15e6, 55e6, 130e6, BASE, 870e6, numbers.LARGEST_DENSE)  # dense models of the paper's figure
TEAM, BATCH = results.TEAM, results.TEAM_BATCH
ROUTED = 3  # seed of the drawn tokens


def _counted(value: float) -> str:
    """Parameters in few letters: 15M, 1.3B."""
    return f"{value / 1e9:g}B" if value >= 1e9 else f"{value / 1e6:g}M"


# --- the question -----------------------------------------------------------------------------------------------------


def opening() -> Drawing:
    """What two models store, and what a token uses of it."""
    fig, axes = drawing.axes(5.0, 1.7)
    known = TEAM.symbols()
    of = {name: known[name] / 1e9 for name in ("n_total", "n_active")}
    dense = results.LOW * of["n_active"]
    rows = [("DeepSeek-V3", of["n_total"], of["n_active"]), (numbers.DENSE, dense, dense)]
    for line, (_, stored, used) in enumerate(rows):
        axes.barh(line, stored, 0.6, color=COLOURS["weights"], alpha=0.3, lw=0)
        axes.barh(line, used, 0.6, color=COLOURS["weights"], lw=0)
    beside(axes, f"stores {rows[0][1]:.0f} billion", (rows[0][1], 0), (-6, 0), ha="right", va="center")
    beside(axes, f"a token uses {rows[0][2]:.1f}", (rows[0][2], 0), (6, 0), va="center")
    beside(axes, f"a token uses all {dense:.0f}", (dense, 1), (6, 0), va="center")
    axes.set(xlim=(0, 700), ylim=(1.5, -0.5), xlabel="parameters (billions)")
    drawing.name_rows(axes, range(2), [name for name, *_ in rows])
    return done(
        fig,
        "fig-stored-used",
        "A token uses less of DeepSeek-V3 than of a dense model with a seventh of its parameters.",
        f"Two bars of parameters in billions. DeepSeek-V3 stores {rows[0][1]:.0f}, of which a token uses"
        f" {rows[0][2]:.1f}. {numbers.DENSE} stores {dense:.0f}, and a token uses all of them.",
    )


# --- what experts are worth -------------------------------------------------------------------------------------------


def _experts_axis(axes) -> None:
    """Experts as powers of eight, up to 512; the lecture's 64 is one."""
    axes.set(xscale="log", xlim=(1, 512), xticks=[8**power for power in range(4)])
    axes.set(xlabel="experts of a routed layer (log scale)")
    thousands(axes, "x")


def routed_law() -> Drawing:
    """B4: loss against experts for six base sizes, and the dense model that is as good as 370M with 64 experts."""
    fig, axes = drawing.axes(5.0, 4.2)
    experts = np.geomspace(1, 512, 200)
    looks = {size: ("first", 3) if size == BASE else ("muted", 1.5) for size in SIZES}
    for size, (colour, width) in looks.items():
        axes.plot(experts, results.loss(size, experts), color=COLOURS[colour], lw=width)
    same, reached = results.effective(BASE, EXPERTS), results.loss(BASE, EXPERTS)
    levels = results.loss(same, 1), reached
    axes.plot([1, EXPERTS], levels, "o--", color=COLOURS["second"], lw=1.5, ms=8, clip_on=False, zorder=4)
    _experts_axis(axes)
    axes.set_ylim(bottom=1.85)
    name_ends(axes, [(results.loss(size, 512), _counted(size), colour) for size, (colour, _) in looks.items()])
    words = f"dense {same / 1e9:.2f}B: as good\nas {_counted(BASE)} with {EXPERTS} experts"
    point(axes, (1, reached), words, (0.27, 0.07), "second")
    axes.set(ylabel="validation loss, by the fit")
    return done(
        fig,
        "fig-routed-law",
        "With 64 experts, a small model reaches the loss of a dense model about four times its size.",
        f"Validation loss against experts from 1 to 512 by the fit, for {len(SIZES)} base sizes from"
        f" {_counted(SIZES[0])} to {_counted(SIZES[-1])}; all fall. A level line at {reached:.2f} connects the dense"
        f" model of {same / 1e9:.2f} billion with that of {_counted(BASE)} and {EXPERTS} experts.",
    )


# --- what a small batch touches ---------------------------------------------------------------------------------------


def routing() -> Drawing:
    """Which experts a few tokens choose in a small layer, and which of them the step loads."""
    router, tokens = catalogue.model("mixtral-8x7b"), 4
    experts, top_k = (int(router.symbols("bf16")[name]) for name in ("experts", "top_k"))
    chosen = simulation.choose(tokens, experts, top_k, seed=ROUTED)
    loaded = set(chosen.ravel())
    fig, axes = drawing.axes(5.0, 2.8)
    drawing.bare(axes, (-2, experts), (-1.6, tokens + 0.7))
    rows = [
        *((tokens - 1 - at, f"token {at + 1}", set(mine)) for at, mine in enumerate(chosen)),
        (-1.5, "loaded", loaded),
    ]
    for y, name, mine in rows:
        axes.text(-0.2, y + 0.4, name, ha="right", va="center")
        for expert in range(experts):
            tint = COLOURS["weights"] if expert in mine else "none"
            axes.add_patch(Rectangle((expert + 0.1, y), 0.8, 0.8, fc=tint, ec=COLOURS["muted"], lw=1))
    axes.text(experts / 2, tokens + 0.35, f"the {experts} experts of a layer", ha="center", va="center")
    return done(
        fig,
        "fig-routing",
        f"Each token goes to {top_k} of {experts} experts. The step loads every expert that some token chose.",
        f"A row of {experts} squares for each of {tokens} tokens, with the {top_k} experts that it chose filled. Below,"
        f" what the step loads: {len(loaded)} of the {experts}.",
    )


# --- what a request costs ---------------------------------------------------------------------------------------------


def bill() -> Drawing:
    """Microseconds of the machine for each token of a request, against its tokens, so that areas are time: DeepSeek-V3,
    and the dense model at the low gain.
    """
    fig, axes = drawing.axes(5.0, 3.8)
    prompt, answer, low = results.PROMPT, results.ANSWER, results.LOW
    pair = results.team_steps(BATCH, low)
    read, made, dense = step.compute_time(TEAM, batch=1) / US, pair.sparse / BATCH / US, pair.dense / BATCH / US
    ends, ms = (prompt, prompt + answer), lambda tokens, each: f"{tokens * each / 1e3:.1f} ms"
    mean = (prompt * read + answer * made) / ends[1]
    for start, width, height in ((0, prompt, read), (prompt, answer, made)):
        axes.add_patch(Rectangle((start, 0), width, height, fc=COLOURS["weights"], alpha=0.25, lw=0))
    axes.plot([0, prompt, prompt, ends[1]], [read, read, made, made], color=COLOURS["weights"], lw=2.5)
    axes.plot([0, ends[1]], [dense, dense], color=COLOURS["second"], lw=2.5)
    axes.plot([0, ends[1]], [mean, mean], color=COLOURS["bound"], ls="--", lw=1.5)
    beside(axes, f"DeepSeek-V3 spread evenly: {mean:.3g} µs", (30, mean), (0, 4))
    beside(axes, f"{numbers.DENSE}: {dense:.3g} µs for every token", (30, dense), (0, -4), "second", va="top")
    beside(axes, f"DeepSeek-V3 reads: {ms(prompt, read)}", (30, 0), (0, 3), "weights")
    beside(axes, f"DeepSeek-V3\ngenerates: {ms(answer, made)}", (prompt, 0.8 * made), (-16, 0), "weights", ha="right")
    axes.set(xlim=(0, ends[1]), ylim=(0, 68), xlabel="tokens of a request", ylabel="µs of the eight GPUs per token")
    axes.set_xticks([0, prompt, ends[1]])
    thousands(axes, "x")
    axes.set_title(f"{prompt:,} tokens are read, {answer} generated", loc="left")
    axes.grid(visible=False)
    return done(
        fig,
        "fig-bill-areas",
        "DeepSeek-V3 is cheap for a prompt's many tokens and expensive for an answer's few.",
        f"µs of the GPUs per token, 0 to 68, against the {ends[1]:,} tokens of a request. DeepSeek-V3 takes {read:.3g}"
        f" for a prompt token, in all {ms(prompt, read)}, and {made:.3g} for an answer token, {ms(answer, made)}."
        f" {numbers.DENSE} takes {dense:.3g}, {ms(ends[1], dense)}.",
    )


# --- which model to take ----------------------------------------------------------------------------------------------


def verdicts() -> Drawing:
    """Which model to take by sequences and length of an answer, with the margin, at two gains."""
    fig, panels = drawing.axes(5.0, 3.2, 1, 2, sharey=True)
    fig.set_layout_engine("constrained", wspace=0.08)  # the last number of a panel and the first of the next
    batches, answers = np.linspace(100, 1_500, 71), np.geomspace(100, 3_200, 61)
    turns = np.array([[results.turning(results.PROMPT, answer, batch) for batch in batches] for answer in answers])
    levels = [0, numbers.LUCK, round(results.paired()[numbers.READ], 1), np.inf]
    tints = [to_rgba(COLOURS[name], alpha) for name, alpha in (("second", 0.35), ("muted", 0.12), ("weights", 0.35))]
    test = "test both", 950, 2_000, 0
    names = {  # each within its region, along it where it is narrow
        results.LOW: (("dense", 340, 2_500, 0), test),
        results.HIGH: (("dense", 170, 2_150, 90), test, ("mixture", 1_000, 180, 0)),
    }
    for at, (gain, said), up in zip(panels, names.items(), (-6, 6)):
        at.contourf(batches, answers, gain / turns, levels, colors=tints)
        for text, x, y, turn in said:
            at.text(x, y, text, color=COLOURS["bound"], ha="center", va="center", weight="bold", rotation=turn)
        for teams in (1, 2):
            at.plot(teams * BATCH, results.ANSWER, "o", color=COLOURS["bound"], ms=5)
        side = "bottom" if up > 0 else "top"  # where no border is
        beside(at, "one\nteam", (BATCH, results.ANSWER), (0, up), ha="center", va=side)
        beside(at, "two teams", (2 * BATCH, results.ANSWER), (7, 0), va="center")
        at.set_title(f"$g$ = {gain:g}", loc="left")
        at.set(yscale="log", xlabel="sequences", xlim=(100, 1_500), xticks=[100, 500, 1_000, 1_500])
        at.grid(visible=False)
        thousands(at, "x")
    panels[0].set(ylabel="tokens of an answer", ylim=(100, 3_200), yticks=[100, 200, 400, 800, 1_600, 3_200])
    thousands(panels[0], "y")
    return done(
        fig,
        "fig-verdicts",
        "With this margin, the mixture wins only where $g$ is high, sequences are many and answers short.",
        f"Two maps of sequences, 100 to 1,500, against tokens of an answer, 100 to 3,200. At g = {results.LOW:g}, dense"
        " where sequences are few and answers long, else test both. At g ="
        f" {results.HIGH:g}, the mixture where sequences are many and answers short, as for two teams.",
    )


# --- sparse attention -------------------------------------------------------------------------------------------------


def sparse_attention() -> Drawing:
    """Bytes of KV cache that a step loads for one sequence against its context, with and without an indexer."""
    fig, axes = drawing.axes(5.0, 3.2)
    most, even = numbers.LONG_CONTEXT, results.sparse_from()
    tie = significant(even, 2)
    context = np.linspace(0, most, 257)
    found, last = results.cached(context), results.cached(most)
    for sizes, colour in ((found.dense, "second"), (found.sparse, "weights")):
        axes.plot(context, sizes / GB, color=COLOURS[colour], lw=2.5)
    axes.set(xlim=(0, most), ylim=(0, None), xticks=[0, 8_000, 16_000, 24_000, most])
    thousands(axes, "x")
    name_ends(
        axes,
        [
            (last.dense / GB, f"the whole\ncache: {last.dense / GB:.2f}", "second"),
            (last.sparse / GB, f"with an\nindexer: {last.sparse / GB:.2f}", "weights"),
        ],
    )
    point(axes, (even, results.cached(even).dense / GB), f"equal at {tie} tokens", (0.27, 0.55))
    axes.set(xlabel="tokens of context", ylabel="GB loaded for an answer token")
    return done(
        fig,
        "fig-sparse-attention",
        "Sparse attention saves only in long contexts.",
        f"GB of KV cache that a step loads for a sequence, against its context up to {most:,} tokens: the whole cache"
        f" grows in proportion, to {last.dense / GB:.2f}; with an indexer, from {tie} tokens on less, at the end"
        f" {last.sparse / GB:.2f}.",
    )
