"""The racks lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations`, a run of `moe` or `simulation`, or a measurement; every number in a label or an
alt text comes from them or from the catalogue. The two networks have a color each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.patches import Arc, Circle

from blackboard import catalogue, units
from blackboard.catalogue.running_case import RUNNING
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, arrow, bare, done
from blackboard.charts.style import COLOURS
from blackboard.lessons.racks import results
from blackboard.lessons.racks.drawing import box

GBS = units.factor("GB/s")
UP, OUT = "network", "scale_out"  # colours of the two networks


def _rate(value: float) -> str:
    return f"{value / GBS:g} GB/s"


# --- the lecture's figures --------------------------------------------------------------------------------------------

GPUS, EACH, CHOSEN, HOME = 4, 2, (1, 3, 6), 1  # of B5: GPUs, experts on each, those chosen, and the GPU of the token
PITCH, AWAY = 2.6, 0.5  # from GPU to GPU, and from a GPU's centre to its experts


def _expert_x(which: int) -> float:
    return which // EACH * PITCH + (AWAY if which % EACH else -AWAY)


def layer() -> Drawing:
    """B5: a token goes through the router to a few experts on several GPUs; their results are added up at home."""
    fig, axes = drawing.axes(5.0, 4.3)
    for gpu in range(GPUS):
        _gpu(axes, gpu)
    home = HOME * PITCH
    arrow(axes, (home, 0.83), (home, 1.36), "bound")
    for which in CHOSEN:
        x = _expert_x(which)
        box(axes, x, 4.1, 0.8, 0.8, "compute", str(which + 1), 0.25, lw=1.8)
        arrow(axes, (home, 2.05), (x, 3.65), "network")
        arrow(axes, (x, 4.55), (home + 0.12 * np.sign(x - home), 6.08), "network")
    bypass = home - 1.08
    axes.plot([home - 0.65, bypass, bypass], [0.4, 0.4, 6.4], color=COLOURS["second"], lw=1.8)
    arrow(axes, (bypass, 6.4), (home - 0.34, 6.4), "second")
    axes.text(bypass + 0.12, 4.85, "residual", color=COLOURS["second"], va="center", fontsize=10)
    axes.text(home, 7.0, "sum", ha="center", va="center")
    axes.text(home + PITCH, 4.85, "experts", color=COLOURS["muted"], ha="center", va="center")
    edges = -PITCH / 2 - 0.25, (GPUS - 0.5) * PITCH + 0.25
    box(axes, sum(edges) / 2, 3.4, edges[1] - edges[0], 8.3, UP, lw=2.2)
    axes.text(edges[0], 7.65, "one rack", color=COLOURS[UP], va="bottom")
    bare(axes, (edges[0] - 0.1, edges[1] + 0.1), (-0.9, 8.2))
    return done(
        fig,
        "fig-layer",
        "A token goes to a few experts on other GPUs, and their results come back to be added up."
        " Each dashed box is a GPU.",
        f"Bottom to top: tokens, routers, experts and sums on {GPUS} GPUs. The token of GPU {HOME + 1} passes its"
        f" router and fans out to {len(CHOSEN)} experts, two of them on other GPUs. Their results come back and are"
        " added up, with the token itself, the residual.",
    )


def _gpu(axes, gpu: int) -> None:
    """A GPU of B5 with all that every GPU has: tokens, a router, experts, a sum; those of the drawn token stand out."""
    x, mine = gpu * PITCH, gpu == HOME
    ink, fill = ("bound", 0.08) if mine else ("muted", 0.0)
    box(axes, x, 3.4, PITCH - 0.12, 7.8, "muted", ls=(0, (4, 3)), lw=1.1)
    axes.text(x, -0.3, f"GPU {gpu + 1}", color=COLOURS["muted"], ha="center", va="bottom", fontsize=10.5)
    box(axes, x, 0.55, 1.3, 0.55, ink, "token", fill)
    box(axes, x, 1.7, 1.3, 0.65, ink, "router", fill)
    for which in range(gpu * EACH, (gpu + 1) * EACH):
        if which not in CHOSEN:
            box(axes, _expert_x(which), 4.1, 0.8, 0.8, "muted", str(which + 1))
    axes.add_patch(Circle((x, 6.4), 0.33, fill=False, ec=COLOURS[ink], lw=1.3))
    axes.text(x, 6.38, "+", color=COLOURS[ink], ha="center", va="center", fontsize=13)


def rack() -> Drawing:
    """B6: in a rack every tray reaches every switch; out of it each GPU has its own, slower line."""
    fig, axes = drawing.axes(5.0, 4.7)
    chip = catalogue.system(RUNNING.system).chip
    fast, slow = chip.scale_up.bytes_per_s, chip.scale_out.bytes_per_s
    for side in (-1, 1):
        _cabinet(axes, side)
        axes.text(2.75 * side, 6.3, f"scale-up {_rate(fast)}", color=COLOURS[UP], ha="center", va="center")
    box(axes, 0, SWITCH, 4.4, 0.7, OUT, "data-center switch", 0.12)
    axes.text(
        0, 7.2, f"scale-out {_rate(slow)}: {fast / slow:g} times slower", color=COLOURS[OUT], ha="center", va="center"
    )
    axes.text(0, -1.15, "rates: per GPU, in one direction", color=COLOURS["muted"], ha="center", va="center")
    bare(axes, (-5.1, 5.1), (-1.45, SWITCH + 0.5))
    return done(
        fig,
        "fig-rack",
        "Inside a rack, every GPU reaches every other through fast switches (scale-up). The way out leads through a"
        f" network card (scale-out) and is {fast / slow:g} times slower.",
        "Two racks of GPU trays and switch trays. Inside a rack, lines run from every tray to every switch: scale-up,"
        f" {_rate(fast)} per GPU. From each tray one thin line runs to a data-center switch that joins the racks:"
        f" scale-out, {_rate(slow)}.",
    )


TRAYS, SWITCHES, SWITCH = (0.4, 1.1, 1.8, 4.2, 4.9, 5.6), (2.7, 3.3), 8.05  # heights of B6, the last outside


def _cabinet(axes, side: int) -> None:
    """One rack of B6, left (-1) or right (1): trays, switches, arcs between them on the inner side, lines out on the
    outer.
    """
    x, trunk, inner, outer = 3.0 * side, 4.85 * side, 2.1 * side, 3.9 * side
    box(axes, 2.75 * side, 3.2, 3.5, 6.8, "bound", lw=1.8)
    for y in TRAYS:
        box(axes, x, y, 1.8, 0.5, "compute", "GPUs", 0.15)
        axes.plot([outer, trunk], [y, y], color=COLOURS[OUT], lw=1.2)
        for switch in SWITCHES:
            axes.add_patch(
                Arc(
                    (inner, (y + switch) / 2),
                    1.5 * abs(y - switch) / 3,
                    abs(y - switch),
                    theta1=90 if side > 0 else -90,
                    theta2=270 if side > 0 else 90,
                    color=COLOURS[UP],
                    lw=1.5,
                )
            )
    for y in SWITCHES:
        box(axes, x, y, 1.8, 0.45, UP, "switch", 0.2)
    axes.plot([trunk, trunk, 2.2 * side], [TRAYS[0], SWITCH, SWITCH], color=COLOURS[OUT], lw=1.2)
    axes.text(2.75 * side, -0.52, f"rack {1 if side < 0 else 2}", ha="center", va="center")


# --- time -------------------------------------------------------------------------------------------------------------


MS = units.factor("ms")
Key = tuple[str, str, float]
KEYS: tuple[tuple[Key, ...], ...] = (  # of a step's parts, in rows: what it is, its colour and how dark it is
    (("experts", "memory", 1), ("other memory", "memory", 0.5), ("waits", "launch", 0.7)),
    (("bytes over NVLink", UP, 0.7), ("bytes over network cards", OUT, 0.85)),
)


def step_parts() -> Drawing:
    """What a step of the running case is made of, the more GPUs share each layer: up to a rack, and on two racks."""
    fig, axes = drawing.axes(5.0, 5.2)
    known = results.doublings()
    place = {results.USED: " (one rack)", 2 * results.USED: " (two racks)"}
    longest, phrases = 1.02 * max(part.in_turn for part in known.values()) / MS, []
    for y, keys in zip((-1.6, -1.15), KEYS):
        _key(axes, keys, y, longest)
    for row, (gpus, part) in enumerate(known.items()):
        far, load = gpus > results.USED, results.expert_time(part)
        sizes = [time / MS for time in (load, part.work - load, part.latency, part.sending)]
        used = [*KEYS[0], KEYS[1][far]]
        y = row + 0.45 * far
        _stack(axes, y, [(size, colour, dark) for (_, colour, dark), size in zip(used, sizes)])
        name = f"{gpus} GPUs{place.get(gpus, '')}, {RUNNING.symbols()['experts'] / gpus:g} experts on each"
        axes.text(0, y - 0.4, f"{name}: {sum(sizes):.1f} ms", va="center", fontsize=10.5)
        told = ", ".join(f"{key} {size:.1f}" for n, ((key, *_), size) in enumerate(zip(used, sizes)) if n != 1)
        phrases.append(f"{gpus} GPUs{place.get(gpus, '')}, {sum(sizes):.1f}" + (f": {told}" if gpus in place else ""))
        other = sizes[1]
    last = [*known].index(results.USED)
    axes.axhline(last + 0.45, color=COLOURS["bound"], lw=1.2, ls=(0, (4, 3)))
    axes.text(longest, last + 0.62, "the rack ends here", color=COLOURS["muted"], ha="right", va="center", fontsize=10)
    _milliseconds(axes, longest, len(known) - 0.2)
    return done(
        fig,
        "fig-step-parts",
        "Inside the rack, each doubling halves the loading of experts. Beyond it (our estimate), little is left to"
        " halve, and bytes become the longest part.",
        f"Five stacked bars in milliseconds per step, by how many GPUs share each layer. {'; '.join(phrases)}. Other"
        f" memory takes {other:.1f} in each.",
    )


TURNS = 4  # of the halves: each works for a unit of time, and then its exchange takes nearly as long


def taking_turns() -> Drawing:
    """Two halves of a batch: one works while the other's exchange is under way."""
    fig, axes = drawing.axes(5.0, 2.0)
    for turn in range(TURNS):
        half, dark = ("half A", 0.55) if turn % 2 == 0 else ("half B", 0.2)
        for y, start, length, colour in ((1.0, turn, 0.96, "memory"), (0.0, turn + 1, 0.8, OUT)):
            box(axes, start + length / 2, y, length, 0.62, colour, fill=dark)
            axes.text(start + length / 2, y, half, ha="center", va="center", fontsize=10)
    for y, name in ((1.0, "the GPU works on"), (0.0, "exchanging")):
        axes.text(0.0, y + 0.47, name, color=COLOURS["muted"], va="center", fontsize=10)
    arrow(axes, (0, -0.6), (TURNS + 1, -0.6), "bound")
    axes.text(TURNS + 1, -0.86, "time", color=COLOURS["muted"], ha="right", va="center", fontsize=10)
    bare(axes, (-0.05, TURNS + 1.1), (-1.05, 1.7))
    return done(
        fig,
        "fig-taking-turns",
        "With overlap, exchanges cost no time as long as they are over before the GPU is done with the other half.",
        "Two rows of boxes against time. Above, the GPU works on half A and half B in turn, without a pause. Below,"
        " each half exchanges while the GPU works on the other.",
    )


# --- two strips, of which the longer decides -------------------------------------------------------------------------


class Pair(NamedTuple):
    """A step with overlap, both halves together: what it is, its parts, and whether its bytes go over cards."""

    name: str
    parts: results.Parts
    far: bool
    hop: float = 0.0


PARTS: tuple[tuple[Key, ...], ...] = (
    (("weights, twice", "memory", 1), ("caches", "memory", 0.5), ("waits, twice", "launch", 0.7)),
    (("bytes over NVLink", UP, 0.7), ("bytes over network cards", OUT, 0.85)),
)


def overlap() -> Drawing:
    """Both tricks: the two strips of a step with two replicas and on two racks, with long contexts."""
    fig, axes = drawing.axes(5.0, 3.6)
    context = results.day()["context_tokens"]
    spread = results.on(2, once=True, context=context)
    pairs = (
        Pair("two replicas", results.on(1, context=context), False),
        Pair("spread over two racks, each token crossing once", spread, True, results.bare_hop()),
    )
    told, longest = [_pair(axes, 1.65 * row, pair) for row, pair in enumerate(pairs)], 9.4
    for y, keys in zip((-1.85, -1.3), PARTS):
        _key(axes, keys, y, longest)
    _milliseconds(axes, longest, 2.95, -2.2)
    return done(
        fig,
        "fig-overlap",
        "Both tricks with long contexts. The longer strip of each pair is the step (bold): the loading with two"
        " replicas, the exchanges with experts spread. Dashed: what the second hops may add.",
        f"Pairs of strips in milliseconds per step with contexts of {context:,.0f} tokens, loading above and exchanges"
        f" below. {'; '.join(told)}.",
    )


def boxes() -> Drawing:
    """DeepSeek's boxes: the two strips of a step by the boxes that share a layer, and how long users really wait."""
    fig, axes = drawing.axes(5.0, 4.9)
    told = []
    for row, (count, part) in enumerate(results.lapped().items()):
        held = results.held_on(count)
        pair = Pair(f"{count} boxes, {held:g} routed experts on each GPU", part, True)
        told.append(_pair(axes, 1.65 * row, pair))
    plain = max(part.in_turn for part in results.lapped().values()) / MS
    real, bottom, longest = 1 / results.day_speed() / MS, 4.75, 52.0
    for x, ink, words in ((plain, "muted", "no\noverlap"), (real, "bound", "in\nreality")):
        axes.plot([x, x], [-0.65, bottom], color=COLOURS[ink], lw=1.4, ls=(0, (4, 3)))
        axes.text(x, -1.0, words, ha="center", va="center", color=COLOURS[ink], fontsize=10)
    for y, keys in zip((-2.35, -1.8), (PARTS[0], PARTS[1][1:])):
        _key(axes, keys, y, longest)
    _milliseconds(axes, longest, bottom, -2.75)
    return done(
        fig,
        "fig-boxes",
        "With more boxes, loading shrinks and exchanges grow, until both take equally long. Without overlap, all"
        " three steps would take equally long (first dashed line), and real users wait even longer (second).",
        "Pairs of strips in milliseconds per step, loading above and exchanges below. "
        + "; ".join(told)
        + f". Dashed lines: without overlap {plain:.0f} for all three, in reality {real:.0f}.",
    )


def _pair(axes, y: float, pair: Pair) -> str:
    """A step's two strips under their name, the longer one's length in bold; returns what they show in words."""
    half = pair.parts.half()
    loading = [(2 * time / MS, colour, dark) for time, (_, colour, dark) in zip((half.weights, half.kv), PARTS[0])]
    parts = zip((half.latency, half.sending), (PARTS[0][2], PARTS[1][pair.far]))
    sent = [(2 * time / MS, colour, dark) for time, (_, colour, dark) in parts]
    load, least = (sum(size for size, *_ in strip) for strip in (loading, sent))
    hop = 2 * results.exchanges() * pair.hop / MS
    axes.text(0, y - 0.42, pair.name, va="center", fontsize=10)
    for at, strip in ((y, loading), (y + 0.45, sent)):
        _stack(axes, at, strip, 0.36)
    if hop:
        axes.barh(y + 0.45, hop, 0.36, least, fc="none", ec=COLOURS["muted"], lw=1, ls=(0, (2, 1.5)))
    spans = f"{load:.1f}", f"{least:.1f}" + (f" to {least + hop:.1f}" if hop else "")
    for at, end, span, first in ((y, load, spans[0], load > least), (y + 0.45, least + hop, spans[1], load <= least)):
        looks = {"weight": "bold"} if first else {"color": COLOURS["muted"]}
        axes.annotate(span, (end, at), (4, 0), textcoords="offset points", va="center", fontsize=10, **looks)
    return f"{pair.name}, {spans[0]} and {spans[1]}"


def _key(axes, keys: tuple[Key, ...], y: float, longest: float) -> None:
    """A row of colours and what they stand for."""
    for n, (word, colour, dark) in enumerate(keys):
        x = n * longest * (0.33 if len(keys) > 2 else 0.45)
        axes.barh(y, 0.035 * longest, 0.3, x, color=COLOURS[colour], alpha=dark)
        axes.text(x + 0.05 * longest, y, word, va="center", fontsize=10)


def _stack(axes, y: float, pieces: list[tuple[float, str, float]], high: float = 0.4) -> None:
    """A bar of pieces, each with its length, colour and how dark it is."""
    axes.barh(y, sum(size for size, *_ in pieces), high, color="white")  # hides the grid
    start = 0.0
    for size, colour, dark in pieces:
        axes.barh(y, size, high, start, color=COLOURS[colour], alpha=dark)
        start += size


def _milliseconds(axes, longest: float, bottom: float, top: float = -1.85) -> None:
    axes.set(xlim=(0, longest), ylim=(bottom, top), xlabel="ms per step", yticks=[])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
