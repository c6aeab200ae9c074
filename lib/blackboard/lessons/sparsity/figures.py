"""The sparsity lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations` or a run of `simulation`, every number in a label or an alt text comes from them
or from the catalogue.
"""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from blackboard import catalogue, units
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, name_ends, point, thousands
from blackboard.charts.style import COLOURS
from blackboard.lessons.batching import equations as step
from blackboard.lessons.sparsity import numbers, simulation

US, GB = units.factor("us"), units.factor("GB")
BASE, EXPERTS = numbers.FIGURE["base_size"], numbers.FIGURE["experts"]  # what the lecture reads off B4
SIZES = (15e6, 55e6, 130e6, BASE, 870e6, numbers.LARGEST_DENSE)  # dense models of the paper's figure
TEAM, BATCH = numbers.TEAM, numbers.TEAM_BATCH
ROUTED = 3  # seed of the drawn tokens


def _counted(value: float) -> str:
    """Parameters in few letters: 15 M, 1.3 B."""
    return f"{value / 1e9:g} B" if value >= 1e9 else f"{value / 1e6:g} M"


# --- what experts are worth -------------------------------------------------------------------------------------------


def _experts_axis(axes) -> None:
    """Experts as powers of two, up to 512."""
    axes.set(xscale="log", xlim=(1, 512), xticks=[1, 4, 16, EXPERTS, 128, 512])
    axes.set(xlabel="experts of a routed layer (log scale)")
    thousands(axes, "x")


def routed_law() -> Drawing:
    """B4: loss against experts for six base sizes, and the dense model that is as good as 370 M with 64 experts."""
    fig, axes = drawing.axes(5.0, 4.2)
    experts = np.geomspace(1, 512, 200)
    looks = {size: ("first", 3) if size == BASE else ("muted", 1.5) for size in SIZES}
    for size, (colour, width) in looks.items():
        axes.plot(experts, numbers.loss(size, experts), color=COLOURS[colour], lw=width)
    same, reached = numbers.effective(BASE, EXPERTS), numbers.loss(BASE, EXPERTS)
    levels = numbers.loss(same, 1), reached
    axes.plot([1, EXPERTS], levels, "o--", color=COLOURS["second"], lw=1.5, ms=8, clip_on=False, zorder=4)
    _experts_axis(axes)
    axes.set_ylim(bottom=1.85)
    name_ends(axes, [(numbers.loss(size, 512), _counted(size), colour) for size, (colour, _) in looks.items()])
    words = f"dense {same / 1e9:.2f} B: as good\nas {_counted(BASE)} with {EXPERTS} experts"
    point(axes, (1, reached), words, (0.27, 0.07), "second")
    axes.set(ylabel="validation loss, by the fit")
    return done(
        fig,
        "fig-routed-law",
        "With 64 experts, a small model reaches the loss of a dense model about four times its size. The fit "
        "of Clark and others, S-BASE routing.",
        "Validation loss against experts from 1 to 512 (log scale) by the published fit of S-BASE routing, a curve for"
        f" each of {len(SIZES)} base sizes from {_counted(SIZES[0])} to {_counted(SIZES[-1])} parameters; all fall. A"
        f" level line from the dense model of {same / 1e9:.2f} billion parameters, at a loss of {reached:.2f}, meets"
        f" the curve of {_counted(BASE)} at {EXPERTS} experts: {EXPERTS} times the experts for {same / BASE:.1f} times"
        " the size.",
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
        f"Four rows of {experts} squares, one for each token, with the {top_k} experts that it chose filled. Below, a"
        f" row of what the step loads: {len(loaded)} of the {experts}, although {tokens} tokens made"
        f" {tokens * top_k} choices.",
    )


# --- what a request costs ---------------------------------------------------------------------------------------------


def bill() -> Drawing:
    """Microseconds of the machine for each token of a request, against its tokens, so that areas are time: DeepSeek-V3,
    and the dense model at the low gain.
    """
    fig, axes = drawing.axes(5.0, 3.8)
    prompt, answer, low = numbers.PROMPT, numbers.ANSWER, numbers.LOW
    pair = numbers.team_steps(BATCH, low)
    read, made, dense = step.compute_time(TEAM, batch=1) / US, pair.sparse / BATCH / US, pair.dense / BATCH / US
    ends, ms = (prompt, prompt + answer), lambda tokens, each: f"{tokens * each / 1e3:.1f} ms"
    mean = (prompt * read + answer * made) / ends[1]
    for start, width, height in ((0, prompt, read), (prompt, answer, made)):
        axes.add_patch(Rectangle((start, 0), width, height, fc=COLOURS["weights"], alpha=0.35, lw=0))
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
        "An area is time on the GPUs. DeepSeek-V3 is cheap for a prompt's many tokens and expensive for an answer's"
        " few.",
        f"Microseconds of the eight GPUs per token, from 0 to 68, against the {ends[1]:,} tokens of a request,"
        f" for {TEAM._replace(context=0)} with {BATCH} sequences. DeepSeek-V3 takes {read:.3g} for each of {prompt:,}"
        f" prompt tokens, an area of {ms(prompt, read)}, and {made:.3g} for each of {answer} answer tokens, an area of"
        f" {ms(answer, made)}. {numbers.DENSE} takes {dense:.3g} for every token,"
        f" {ms(ends[1], dense)} in all. A dashed line at {mean:.3g} has the same area as DeepSeek-V3.",
    )


def turning_points() -> Drawing:
    """Turning points of one team and of two on an axis of g: by the datasheet, by every count, and by the run of a
    server that strayed furthest; and the published values of g.
    """
    fig, axes = drawing.axes(5.0, 2.7)
    worst, said = max(numbers.paired().values()), []
    teams = {"one team": BATCH, "two teams\non one copy": 2 * BATCH}
    for row, (name, batch) in enumerate(teams.items()):
        plain = numbers.turning(numbers.PROMPT, numbers.ANSWER, batch)
        low, high = (plain * times for times in numbers.stray(batch))
        axes.barh(row, worst * plain - low, 0.16, low, color=COLOURS["muted"], alpha=0.5)
        axes.barh(row, high - low, 0.42, low, color=COLOURS["weights"], alpha=0.35)
        axes.plot([plain], [row], "o", color=COLOURS["weights"], ms=8)
        beside(axes, f"{plain:.1f}", (plain, row), (3, 17), "weights", ha="right")
        said.append(
            f"for {name.split(chr(10))[0]} the datasheet says {plain:.1f}, the counts {low:.1f} to {high:.1f}, and the"
            f" highest run would make it {worst * plain:.1f}"
        )
    for gain in numbers.GAINS:
        axes.axvline(gain, color=COLOURS["second"], lw=1.5, ls="--")
        beside(axes, f"g = {gain:g}", (gain, -0.6), (0, 3), "second", ha="center", annotation_clip=False)
    axes.set(xlim=(0, 10.5), ylim=(1.45, -0.6), xlabel="g from which on DeepSeek-V3 has the lower bill")
    axes.set_yticks(range(len(teams)), list(teams))
    axes.grid(visible=False)
    return done(
        fig,
        "fig-turning-points",
        "For one team each published g (dashed) is within the range of the turning point. The dot is the datasheet's,"
        " the wide bar covers our counts, and the thin bar ends at the most by NVIDIA's runs, "
        f"{worst:.1f} times the datasheet's.",
        "Turning points on an axis of g from 0 to 10.5, with the published values "
        f"{', '.join(f'{gain:g}' for gain in sorted(numbers.GAINS))} marked: {'; '.join(said)}.",
    )
