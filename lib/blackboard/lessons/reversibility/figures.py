"""The reversibility lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it
shows.

Every curve is a formula of `equations` or a run of `network` or `simulation`, every number in a label or an alt text
comes from them, from the catalogue or from a measurement. Each way of keeping activations has one color.
"""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Circle, Rectangle

from blackboard import catalogue
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, arrow, bare, beside, done, note, thousands
from blackboard.charts.style import COLOURS
from blackboard.lessons.reversibility import equations as eq
from blackboard.lessons.reversibility import numbers
from blackboard.units import pretty, significant

INKS = {"stored": "activations", "checkpointed": "first", "reversible": "second"}


def _box(
    axes,
    x: float,
    y: float,
    text: str,
    colour: str = "bound",
    width: float = 0.9,
    height: float = 0.7,
    fill: float = 0.12,
) -> None:
    """A box around its centre with a word in it."""
    corner = x - width / 2, y - height / 2
    axes.add_patch(Rectangle(corner, width, height, color=COLOURS[colour], alpha=fill, lw=0))
    axes.add_patch(Rectangle(corner, width, height, fill=False, ec=COLOURS[colour], lw=1.5))
    axes.text(x, y, text, ha="center", va="center", color=COLOURS[colour])


def _node(axes, x: float, y: float, sign: str) -> None:
    """A circle with the sign of what is done in it."""
    axes.add_patch(Circle((x, y), 0.26, fc="white", ec=COLOURS["bound"], lw=1.5, zorder=3))
    axes.text(x, y - 0.02, sign, ha="center", va="center", zorder=4)


def _line(axes, points: list[tuple[float, float]], colour: str) -> None:
    """A bent line with an arrow at its end. The line goes on into the arrow, so that no end shows at the corner."""
    (x, y), (to_x, to_y) = points[-2:]
    inside = (x + to_x) / 2, (y + to_y) / 2
    axes.plot(*zip(*points[:-1], inside), color=COLOURS[colour], lw=1.6, solid_joinstyle="miter")
    arrow(axes, inside, points[-1], colour)


# --- the board's figures ----------------------------------------------------------------------------------------------

X, Y = "first", "second"  # colours of the two halves


def coupling() -> Drawing:
    """B20: f of one half is added to the other; the first half is kept, so that the same f can be taken off again."""
    fig, axes = drawing.axes(5.0, 3.9, 2, 1)
    ways = (
        ("there:  $(x, y) \\;→\\; (x, y + f\\,(x))$", "$y$", "$z = y + f\\,(x)$", "+"),
        ("back:  $(x, z) \\;→\\; (x, z - f\\,(x))$", "$z$", "$y = z - f\\,(x)$", "−"),
    )
    for at, (title, given, result, sign) in zip(axes, ways):
        arrow(at, (0, 2.2), (6, 2.2), X)
        at.add_patch(Circle((2.6, 2.2), 0.09, color=COLOURS[X], zorder=3))
        arrow(at, (2.6, 2.2), (2.6, 1.57), X)
        _box(at, 2.6, 1.2, "$f$")
        arrow(at, (2.6, 0.85), (2.6, 0.28), "bound")
        arrow(at, (0, 0), (2.34, 0), Y)
        arrow(at, (2.86, 0), (6, 0), Y)
        _node(at, 2.6, 0, sign)
        for x, words, side in ((-0.15, ("$x$", given), "right"), (6.15, ("$x$", result), "left")):
            for y, word, colour in zip((2.2, 0), words, (X, Y)):
                at.text(x, y, word, color=COLOURS[colour], ha=side, va="center", fontsize=12)
        at.set_title(title, loc="left", fontsize=12)
        bare(at, (-0.7, 8.6), (-0.4, 2.5))
    return done(
        fig,
        "fig-coupling",
        "The way back runs the same {math}`f` forward on the half that passed through unchanged, so {math}`f` needs no"
        " inverse.",
        "The coupling of a Feistel network, twice. Above, the way there: x goes straight through; a branch of it passes"
        " a box f, whose result is added to y, so that (x, y) becomes (x, z) with z = y + f(x). Below, the way back:"
        " the same f is computed forwards from x, which is still there, and taken off z, which leaves y.",
    )


def blocks() -> Drawing:
    """B21: a residual block, and the block of two streams: x through f is added to y and becomes the new x, the old x
    the new y.
    """
    fig, (one, two) = drawing.axes(5.0, 4.3, 1, 2)
    arrow(one, (0, 0), (0, 3.64), X)
    arrow(one, (0, 4.16), (0, 5.6), X)
    one.add_patch(Circle((0, 1), 0.09, color=COLOURS[X], zorder=3))
    _line(one, [(0, 1), (1.5, 1), (1.5, 2.1)], X)
    _box(one, 1.5, 2.45, "$f$")
    _line(one, [(1.5, 2.8), (1.5, 3.9), (0.28, 3.9)], "bound")
    _node(one, 0, 3.9, "+")
    one.text(0, -0.15, "$x$", ha="center", va="top", color=COLOURS[X])
    one.text(0, 5.75, "$x + f\\,(x)$", ha="center", va="bottom", color=COLOURS[X])
    one.set_title("residual", pad=14)
    _streams(two)
    for at in (one, two):
        bare(at, (-1.6, 3.4) if at is one else (-1.0, 4.0), (-0.75, 6.3))
    return done(
        fig,
        "fig-blocks",
        "A residual block overwrites its input. A block of two streams keeps enough to recompute its input.",
        "Two blocks, from the bottom up. Left, a residual block: x goes straight up, a branch of it through f, and the"
        " two are added to x + f(x); x itself is gone. Right, a block of two streams x and y: a branch of x goes"
        " through f and is added to y. Then the streams change places: y + f(x) becomes the new x, and the old x"
        " the new y, unchanged.",
    )


def _streams(axes) -> None:
    """The block of two streams of B21."""
    axes.add_patch(Circle((0, 1), 0.09, color=COLOURS[X], zorder=3))
    _line(axes, [(0, 0), (0, 3.9), (3, 5.2), (3, 5.6)], X)
    _line(axes, [(0, 1), (1.5, 1), (1.5, 2.1)], X)
    _box(axes, 1.5, 2.45, "$f$")
    _line(axes, [(1.5, 2.8), (1.5, 3.5), (2.72, 3.5)], "bound")
    arrow(axes, (3, 0), (3, 3.24), Y)
    _line(axes, [(3, 3.76), (3, 3.9), (0, 5.2), (0, 5.6)], Y)
    _node(axes, 3, 3.5, "+")
    for x, low, high, below, above in ((0, X, Y, "$x$", "new $x$:\n$y + f\\,(x)$"), (3, Y, X, "$y$", "new $y$:\n$x$")):
        axes.text(x, -0.15, below, ha="center", va="top", color=COLOURS[low])
        axes.text(x, 5.7, above, ha="center", va="bottom", color=COLOURS[high])
    axes.set_title("reversible", pad=14)


LAYERS, UP, HELD, DOWN = 4, 0.0, 1.55, 3.1  # layers of B22, and its three columns
APART = 0.12  # of two streams, to either side


def layers() -> Drawing:
    """B22: what four layers write on the way up is read in reverse on the way down; a reversible network works it out
    instead.
    """
    fig, panels = drawing.axes(5.0, 4.4, 1, 2)
    for at, stores in zip(panels, (True, False)):
        for n in range(LAYERS):
            _box(at, UP, n, str(n), X, 0.8, 0.6)
            _box(at, DOWN, n, str(n), "bound", 0.8, 0.6)
            if stores:
                _box(at, HELD, n, "", INKS["stored"], 0.75, 0.6, 0.3)
                arrow(at, (UP + 0.45, n), (HELD - 0.42, n), INKS["stored"])
                arrow(at, (HELD + 0.42, n), (DOWN - 0.45, n), INKS["stored"])
            for shift in (0.0,) if stores else (-APART, APART):
                if n:
                    back = "bound" if stores else INKS["reversible"]
                    arrow(at, (UP + shift, n - 0.7), (UP + shift, n - 0.32), X)
                    arrow(at, (DOWN + shift, n - 0.3), (DOWN + shift, n - 0.68), back)
        _turn(at, stores)
        bare(at, (UP - 0.75, DOWN + 0.75), (-1.15, LAYERS + 0.85))
    return done(
        fig,
        "fig-layers",
        "An ordinary network keeps every layer's activations until the backward pass returns. A reversible one"
        " keeps only two streams of numbers at the top and recomputes the rest.",
        f"Layers 0 to {LAYERS - 1}, twice, each time a column of the forward pass, bottom to top, and one of the"
        " backward pass, top to bottom. Left, as usual: on the way up every layer writes its activations to memory,"
        f" {LAYERS} cells, and on the way down they are read in reverse, the last first. Right, a reversible network:"
        " no cell. Two streams pass from layer to layer, and those at the top are all that is kept;"
        " on the way down each layer's inputs are recomputed"
        " from its outputs, in lock-step with the gradients.",
    )


def _turn(axes, stores: bool) -> None:
    """The words of B22, and the way over the top."""
    top = LAYERS - 0.3
    colour = "bound" if stores else INKS["reversible"]
    if stores:
        arrow(axes, (UP, top - 0.38), (UP, top + 0.08), X)
    for shift in (0.0,) if stores else (-APART, APART):
        height, start = top + 0.1 + shift, UP if stores else UP - shift  # the one within the other
        rise = [] if stores else [(start, top - 0.38)]
        _line(axes, [*rise, (start, height), (DOWN + shift, height), (DOWN + shift, top - 0.4)], colour)
    axes.text(
        (UP + DOWN) / 2,
        top + 0.32,
        "loss" if stores else "two streams kept",
        ha="center",
        va="bottom",
        color=COLOURS[colour],
    )
    for x, word, tint in ((UP, "forward", X), (DOWN, "backward", "bound")):
        axes.text(x, -0.55, word, ha="center", va="top", color=COLOURS[tint], fontsize=10)
    if stores:
        words = {"ha": "center", "va": "top", "color": COLOURS[INKS["stored"]]}
        axes.text(HELD, -0.45, "memory:\nwrite, read", fontsize=10, **words)
    else:  # beside two of the arrows that it names
        axes.plot([DOWN - 0.55, DOWN - 0.25], [1.5, 1.5], color=COLOURS[colour], lw=1)
        axes.text(DOWN - 0.6, 1.5, "recomputed", ha="right", va="center", color=COLOURS[colour], fontsize=10)
    axes.set_title("stored" if stores else "reversible", pad=2)


# --- training ---------------------------------------------------------------------------------------------------------

ROW, SEGMENT, AGAIN = 12, numbers.SEGMENT, 2  # layers drawn; layers of a segment; the segment that is rerun


def segments() -> Drawing:
    """Checkpointing: on the way forward a stream is kept before each segment; on the way back one segment is rerun
    and held.
    """
    fig, panels = drawing.axes(5.0, 2.7, 2, 1)
    first = AGAIN * SEGMENT
    for at, back in zip(panels, (False, True)):
        for n in range(ROW):
            held, over = back and first <= n < first + SEGMENT, back and n >= first + SEGMENT
            colour = INKS["stored"] if held else "muted" if over else "bound"
            _box(at, n, 0, str(n + 1), colour, 0.62, 0.8, 0.25 if held else 0.05)
        starts = [n for n in range(0, ROW, SEGMENT) if not back or n <= first]
        at.plot([n - 0.5 for n in starts], [0] * len(starts), "o", color=COLOURS[INKS["checkpointed"]], ms=7)
        bare(at, (-0.9, ROW - 0.5), (-0.6, 0.6))
    panels[0].set_title(f"forward: keep the stream once in {SEGMENT} layers", loc="left", fontsize=11)
    panels[0].set_title("● kept", loc="right", fontsize=11, color=COLOURS[INKS["checkpointed"]])
    panels[1].set_title("backward: rerun one segment, and hold it (filled)", loc="left", fontsize=11)
    return done(
        fig,
        "fig-segments",
        "Checkpointing keeps a few streams and, at any time, the activations of only one segment.",
        f"{ROW} layers in a row, twice. Above, on the way forward, a dot before every {SEGMENT}rd layer marks a stream"
        f" that is kept; the layers keep nothing. Below, on the way back, layers {first + SEGMENT + 1} to {ROW} are"
        f" done and their stream is gone. Layers {first + 1} to {first + SEGMENT} have been rerun from the stream"
        " before them, and are filled: their activations are held until the backward pass has gone through them.",
    )


SHARED, GROUPS = (
    numbers.DIVIDED,
    numbers.groups(),
)  # GPUs of a group that share each layer, and groups that share the layers


def slices() -> Drawing:
    """A copy of the dense model in training: groups of GPUs share the layers, and those of a group each layer."""
    fig, axes = drawing.axes(5.0, 2.9)
    for group in range(GROUPS):
        for gpu in range(SHARED):
            mine = (group, gpu) == (5, 4)
            _box(axes, group, gpu, "", INKS["stored"] if mine else "muted", 0.8, 0.8, 1 if mine else 0.08)
    for group, words in ((1, "bottom layers"), (GROUPS - 2, "top layers")):
        axes.text(group, SHARED - 0.4, words, ha="center", va="bottom", fontsize=10)
    axes.text((GROUPS - 1) / 2, -0.75, f"{GROUPS} groups share the layers", ha="center", va="top")
    axes.text(-0.75, (SHARED - 1) / 2, f"{SHARED} GPUs share each layer", rotation=90, ha="right", va="center")
    bare(axes, (-2.2, GROUPS - 0.4), (-2.1, SHARED + 0.5))
    return done(
        fig,
        "fig-slices",
        f"A copy of Llama on {GROUPS * SHARED} GPUs. Each GPU (one is filled) holds one slice of every token's"
        " activations.",
        f"A grid of boxes, {GROUPS} columns of {SHARED}, each box a GPU. The columns are groups that share the layers,"
        " from the bottom layers on the left to the top ones on the right, and the GPUs of a column share each of its"
        " layers. One box is filled: it holds its slice of every token.",
    )


# --- what to keep -----------------------------------------------------------------------------------------------------


def worth() -> Drawing:
    """FLOPs behind a kept byte against the time until it is used: KV lies far below the line, scores far above it."""
    fig, axes = drawing.axes(5.0, 4.2)
    spent = np.geomspace(10, 1e7, 61)
    gpu = catalogue.chip(numbers.GPU)
    axes.plot(spent, eq.keep_even(flop_spent=spent, hbm=gpu.hbm_bytes, flops=numbers.rate()), color=COLOURS["bound"])
    kept = numbers.kept_bytes()
    names = ("KV cache", "a layer's\nactivations", "attention's\nscores")
    places = ((0, -11, "center", "top"), (-11, 0, "right", "center"), (0, -11, "center", "top"))
    for one, name, ink, marker, (right, up, ha, va) in zip(kept, names, ("kv", "activations", "second"), "os^", places):
        axes.plot([one.flop_spent], [one.wait], marker, color=COLOURS[ink], ms=9)
        beside(axes, name, (one.flop_spent, one.wait), (right, up), ink, ha=ha, va=va)
    axes.set(xscale="log", yscale="log", xlim=(10, 1e7), ylim=(1e-3, 1e3))
    axes.set(xlabel="FLOPs to recompute a byte (log scale)", ylabel="longest wait in seconds (log scale)")
    thousands(axes, "x", "y")
    note(axes, 0.03, 0.96, "above the line: recompute", va="top", weight="bold")
    note(axes, 0.97, 0.04, "below: keep", ha="right", weight="bold", va="baseline")
    told = "; ".join(
        f"{name.replace(chr(10), ' ')}: {significant(one.flop_spent, 3)} FLOPs, {pretty(one.wait, 's', 2)}"
        for one, name in zip(kept, names)
    )
    return done(
        fig,
        "fig-worth",
        "The KV cache waits far less than it is worth keeping, attention's scores far longer, and a layer's"
        " activations are close to the line.",
        "Seconds for which a kept byte waits at most, 0.001 to 1,000, against FLOPs to recompute it, 10 to 10"
        " million, both log, with a rising line of break-even: above it recomputing is cheaper, below it keeping."
        f" Three bytes of Llama on H100s. {told}.",
    )


# --- tokens per GPU ---------------------------------------------------------------------------------------------------

WAYS = {"all": "keep every layer", "checkpointed": "checkpoints", "reversible": "two streams"}
LEAST, MOST = 100, 1e6  # tokens per GPU, the ends of the line


def line() -> Drawing:
    """The number line of tokens per GPU, with the memory that was free in the largest training run."""
    case = numbers.trained()
    fig, axes = drawing.axes(5.0, 2.1)
    axes.set(xscale="log", xlim=(LEAST, MOST), ylim=(-0.5, 0.9), yticks=[])
    axes.set(xlabel="tokens per GPU (log scale)")
    thousands(axes, "x")
    axes.grid(False)
    axes.spines[["left", "right", "top"]].set_visible(False)
    start: float = LEAST
    for name, most in case.limits.items():
        axes.hlines(0, start, most, lw=20, color=COLOURS[INKS[name if name != "all" else "stored"]])
        axes.text(most, -0.22, significant(most, 2), ha="center", va="top")
        ink = INKS[name if name != "all" else "stored"]
        axes.text((start * most) ** 0.5, 0.75, WAYS[name], ha="center", va="center", color=COLOURS[ink])
        start = most
    axes.hlines(0, start, MOST, lw=20, color=COLOURS["muted"], alpha=0.25)
    axes.plot([case.tokens], [0], "o", color="white", mec=COLOURS["bound"], mew=2, ms=10, zorder=4)
    axes.text((start * MOST) ** 0.5, 0.75, "too many", ha="center", va="center", color=COLOURS["bound"])
    axes.plot([case.tokens] * 2, [0, 0.3], color=COLOURS["bound"], lw=1.2, zorder=3)
    axes.text(case.tokens, 0.32, "Meta", ha="center", va="bottom")
    everything, checkpointed, reversible = (significant(most, 2) for most in case.limits.values())
    free = pretty(case.free, "byte", 2)
    return done(
        fig,
        "fig-line",
        f"With {free} free on a GPU, as at Meta, checkpoints are enough up to {checkpointed} tokens."
        " Work space, not counted, lowers all limits.",
        f"A line of tokens per GPU, {LEAST} to {MOST:,.0f} (log scale): keep every layer up to {everything} (Meta"
        f" has {case.tokens:,.0f}); checkpoints up to {checkpointed}; two streams up to {reversible}; too many.",
    )
