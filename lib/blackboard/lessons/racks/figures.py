"""The racks lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations`, a run of `moe` or `simulation`, or a measurement; every number in a label or an
alt text comes from them or from the catalogue. The two networks have a color each.
"""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Arc, Circle

from blackboard import catalogue, units
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, arrow, bare, done
from blackboard.charts.style import COLOURS
from blackboard.lessons.racks import numbers
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
        "A token goes from its own GPU to a few experts on other GPUs, and their results come back to be added up."
        f" Each dashed box is a GPU, here with {EACH} experts.",
        f"Bottom to top: tokens, routers, {GPUS * EACH} experts and sums, on {GPUS} GPUs with {EACH} experts each, all"
        f" in one rack. The token of GPU {HOME + 1} passes its router and fans out to {len(CHOSEN)} of the"
        f" {GPUS * EACH} experts, on {len({which // EACH for which in CHOSEN})} GPUs; their results come back to GPU"
        f" {HOME + 1} and are added up, with the token itself, which goes past the experts as the residual. Both ways"
        " cross from GPU to GPU.",
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
        "Inside a rack, every GPU reaches every other through fast switches (scale-up). To leave the rack it has only a"
        f" network card (scale-out), which is {fast / slow:g} times slower.",
        "Two racks side by side, each with GPU trays above and below and switch trays in the middle. Inside a rack,"
        f" lines run from every tray to every switch: the scale-up network, {_rate(fast)} per GPU and direction. From"
        " each tray one thin line runs up to a data-center switch that joins the racks: the scale-out network,"
        f" {_rate(slow)}, {fast / slow:g} times slower ({plain(chip.name)}).",
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
    (("experts", "memory", 0.85), ("other memory", "memory", 0.3), ("latency", "launch", 0.5)),
    (("bytes over NVLink", UP, 0.45), ("bytes over network cards", OUT, 0.75)),
)


def step_parts() -> Drawing:
    """What a step of the running case is made of, the more GPUs share each layer: up to a rack, and on two racks."""
    fig, axes = drawing.axes(5.0, 6.1)
    size, known = catalogue.system(RUNNING.system).chip.scale_up.domain_chips, numbers.doublings()
    place = {size: " (one rack)", 2 * size: ", every copy crosses"}
    experts = {gpus: RUNNING.symbols()["experts"] * size / numbers.USED / gpus for gpus in known}
    bars = [
        (f"{gpus} GPUs{place.get(gpus, '')}, {experts[gpus]:g} experts on each", part, numbers.expert_time(part))
        for gpus, part in known.items()
    ]
    once = numbers.again()
    bars += [(f"{2 * size} GPUs, one crossing, {experts[2 * size]:g} experts on each", once, numbers.expert_time(once))]
    phrases = _bars(axes, bars, [*known].index(size), "the rack ends here", 2)
    return done(
        fig,
        "fig-step-parts",
        "Inside the rack, each doubling halves the loading of experts. Beyond it there is little left to halve, and if"
        " every copy crosses, sending takes several times as long.",
        f"Six stacked bars in milliseconds per step, by how many GPUs share each layer. {'; '.join(phrases)}. A line"
        " before the last two bars, on two racks, marks the end of the rack.",
    )


def box_parts() -> Drawing:
    """The same on boxes of eight H200: one, two, four, and as many as at DeepSeek."""
    fig, axes = drawing.axes(5.0, 4.7)
    size, unit = catalogue.chip("h200").scale_up.domain_chips, numbers.deployment()
    place = lambda gpus: "one box" if gpus == size else f"{gpus // size} boxes"
    held = lambda gpus: unit["routed_experts_per_gpu"] if gpus == unit["gpus"] else numbers.box_experts() * size / gpus
    bars = [
        (f"{gpus} GPUs ({place(gpus)}), {held(gpus):g} experts on each", part, numbers.box_expert_time(part))
        for gpus, part in numbers.box_doublings().items()
    ]
    phrases = _bars(axes, bars, 0, "the box ends here", 1)
    return done(
        fig,
        "fig-box-parts",
        "If every copy crosses, the step gets shorter over more boxes, although at least half of the copies then cross"
        " network cards. (Other memory here includes the shared expert.)",
        "Four stacked bars in milliseconds per step, by how many GPUs share each layer, on boxes of eight H200s."
        f" {'; '.join(phrases)}. A line after the first bar marks the end of the box.",
    )


def _bars(axes, bars: list[tuple[str, numbers.Parts, float]], last: int, edge: str, digits: int) -> list[str]:
    """Bars of steps, each with its name and the experts' share of its time; a line after the `last` one that uses the
    fast network alone. What each says, in words.
    """
    longest, phrases = 1.02 * max(part.in_turn for _, part, _ in bars) / MS, []
    for y, keys in zip((-1.6, -1.15), KEYS):
        for n, (word, colour, dark) in enumerate(keys):
            x = n * longest * (0.33 if len(keys) > 2 else 0.45)
            axes.barh(y, 0.035 * longest, 0.3, x, color=COLOURS[colour], alpha=dark)
            axes.text(x + 0.05 * longest, y, word, va="center", fontsize=10)
    for row, (name, part, load) in enumerate(bars):
        y, start = row + 0.45 * (row > last), 0.0
        sizes = [time / MS for time in (load, part.work - load, part.latency, part.sending)]
        used = [*KEYS[0], KEYS[1][row > last]]
        axes.barh(y, sum(sizes), 0.4, color="white")  # hides the grid
        for (_, colour, dark), size in zip(used, sizes):
            axes.barh(y, size, 0.4, start, color=COLOURS[colour], alpha=dark)
            start += size
        whole = f"{start:.{digits}f}"
        told = ", ".join(f"{key} {size:.{digits}f}" for (key, *_), size in zip(used, sizes))
        if part.hop:
            hop, end = part.hop / MS, start + part.hop / MS
            axes.barh(y, hop, 0.4, start, fc="white", ec=COLOURS["launch"], hatch="////", lw=0.8)
            axes.text(end + 0.2, y, f"second hop: 0 to {hop:.{digits}f}", va="center", fontsize=10)
            whole, told = f"{whole} to {end:.{digits}f}", f"{told}, second hop 0 to {hop:.{digits}f} (hatched)"
        axes.text(0, y - 0.4, f"{name}: {whole} ms", va="center", fontsize=10.5)
        phrases.append(f"{name}, {whole} in all: {told}")
    axes.axhline(last + 0.45, color=COLOURS["bound"], lw=1.2, ls=(0, (4, 3)))
    axes.text(longest, last + 0.62, edge, color=COLOURS["muted"], ha="right", va="center", fontsize=10)
    axes.set(xlim=(0, longest), ylim=(len(bars) - 0.2, -1.85), xlabel="ms per step", yticks=[])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
    return phrases


MOST = 128  # tokens per GPU; from as few as use all experts


def pays() -> Drawing:
    """A step with experts spread over two racks, divided by one with two replicas, against tokens per GPU."""
    fig, axes = drawing.axes(5.0, 3.7)
    tokens, at = np.geomspace(numbers.FEW, MOST, 81), numbers.TOKENS
    waits = numbers.SHORT_HOP, numbers.start_time()
    ratio = lambda count, **way: numbers.on(2, count, **way).in_turn / numbers.on(1, count).in_turn
    every = [ratio(count) for count in tokens]
    low, high = ([ratio(count, once=True, hop=wait) for count in tokens] for wait in waits)
    axes.axhline(1, color=COLOURS["muted"], lw=1.2)
    axes.axvline(at, color=COLOURS["muted"], lw=1.2, ls=(0, (4, 3)))
    axes.fill_between(tokens, low, high, color=COLOURS["second"], alpha=0.35, lw=0)
    axes.plot(tokens, every, color=COLOURS["total"], lw=2.4)
    shortest, longest = (f"{wait * 1e6:.3g}" for wait in waits)
    axes.text(at * 0.86, 1.85, "every copy\ncrosses", color=COLOURS["total"], ha="right", va="center")
    axes.text(
        4.2, 1.36, f"one crossing: second hop\nwaits {shortest} to {longest} µs", color=COLOURS["second"], va="center"
    )
    axes.text(MOST * 0.96, 0.87, "two replicas", color=COLOURS["muted"], ha="right", va="center")
    axes.text(at * 1.06, 2.62, "our case", color=COLOURS["muted"], va="center")
    ticks = [numbers.FEW * 2**n for n in range(6)]
    axes.set(xscale="log", xlim=(ticks[0], MOST), ylim=(0.8, 2.75), xlabel="tokens per GPU (log scale)")
    axes.set(ylabel="step on two racks ÷ with two replicas")
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    said = lambda name, **way: (
        f"{name} {ratio(ticks[0], **way):.2f}, {ratio(at, **way):.2f} and {ratio(MOST, **way):.2f}"
    )
    return done(
        fig,
        "fig-spread-pays",
        "If every copy crosses, spreading over two racks pays only in tiny batches. With one crossing, it depends on"
        " the second hop.",
        f"A step with experts spread over two racks, divided by a step with two replicas, against {ticks[0]} to {MOST}"
        f" tokens per GPU on a log scale. At {ticks[0]}, {at} and {MOST} tokens,"
        f" {said('the line for every copy is at')}. The band for one crossing reaches from a hop of {shortest} µs,"
        f" {said('at', once=True, hop=waits[0])}, to one of {longest} µs, {said('at', once=True, hop=waits[1])}."
        " A level line at one marks two replicas.",
    )


# --- one token -----------------------------------------------------------------------------------------------------

PANEL, ROWS = 6.0, (1.2, 0.4, -0.4, -1.2)  # height of a panel, and where its experts are above and below its middle


def crossings() -> Drawing:
    """A token's copies for four experts at home and four in the other rack: each crosses, or one for all four."""
    fig, axes = drawing.axes(5.0, 5.6)
    for y, once in ((0, False), (-PANEL, True)):
        _racks(axes, y, once)
    low = -PANEL - 2.75
    axes.text(-4.9, low, "over NVLink, inside a rack", color=COLOURS[UP], va="center", fontsize=10)
    axes.text(4.9, low, "over a network card", color=COLOURS[OUT], ha="right", va="center", fontsize=10)
    bare(axes, (-5.2, 5.2), (low - 0.4, 3.2))
    return done(
        fig,
        "fig-crossings",
        "Four of a token's eight routed copies are for the other rack. Each of them can cross (above), or one crosses"
        " for all four and is passed on inside the other rack, which takes a second hop (below).",
        "Two panels, each with two racks. In the first rack is the token's GPU, with arrows over NVLink to four experts"
        " in the same rack. Every copy crosses: four arrows over the network card lead from the token's GPU to four"
        " experts in the second rack. One crossing: a single arrow over the network card leads to a GPU in the second"
        " rack, from which four arrows over NVLink lead to the four experts.",
    )


def _racks(axes, y: float, once: bool) -> None:
    """Both racks around the height y, and how the copies get to the experts of each."""
    axes.text(0, y + 2.7, "one crossing" if once else "every copy crosses", ha="center", va="center")
    for side, name in ((-1, "first rack"), (1, "second rack")):
        box(axes, 2.95 * side, y, 4.1, 4.5, "bound", lw=1.6)
        axes.text(2.2 * side, y + 1.85, name, color=COLOURS["muted"], ha="center", va="center", fontsize=10)
        axes.text(4.25 * side, y - 1.9, "experts", color=COLOURS["muted"], ha="center", va="center", fontsize=10)
        for row in ROWS:
            box(axes, 4.4 * side, y + row, 0.6, 0.6, "compute", fill=0.2)
    box(axes, -1.85, y, 1.5, 0.9, "bound", "token", 0.08)
    for row in ROWS:
        arrow(axes, (-2.65, y + row / 3), (-4.05, y + row), UP)
        if once:
            arrow(axes, (2.75, y + row / 3), (4.05, y + row), UP)
        else:
            arrow(axes, (-1.05, y + row / 4), (4.05, y + row), OUT)
    if once:
        box(axes, 1.95, y, 1.5, 0.9, "bound", "GPU", 0.08)
        arrow(axes, (-1.05, y), (1.15, y), OUT, lw=2.4)
    axes.text(0, y + 1.0, "1 copy" if once else "4 copies", color=COLOURS[OUT], ha="center", va="center", fontsize=10)
