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
from blackboard.charts.drawing import Drawing, arrow, bare, beside, done, name_ends
from blackboard.charts.style import COLOURS
from blackboard.lessons.racks import numbers
from blackboard.lessons.racks.drawing import box, half_of_layers
from blackboard.units import significant

US, GBS, KB = units.factor("us"), units.factor("GB/s"), units.factor("kB")
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
    fig, axes = drawing.axes(5.0, 4.5)
    chip = catalogue.system(RUNNING.system).chip
    for side in (-1, 1):
        _cabinet(axes, side)
    box(axes, 0, 7.45, 4.4, 0.7, OUT, "data-center switch", 0.12)
    fast, slow = chip.scale_up.bytes_per_s, chip.scale_out.bytes_per_s
    axes.text(0, 3.0, f"scale-up\n{_rate(fast)}", color=COLOURS[UP], ha="center", va="center")
    axes.text(
        0, 6.62, f"scale-out {_rate(slow)}: {fast / slow:g} times slower", color=COLOURS[OUT], ha="center", va="center"
    )
    axes.text(0, -1.15, "rates: per GPU, in one direction", color=COLOURS["muted"], ha="center", va="center")
    bare(axes, (-5.1, 5.1), (-1.45, 7.95))
    return done(
        fig,
        "fig-rack",
        "Inside a rack, every GPU reaches every other through fast switches. To leave the rack it has only a network"
        f" card, which is {fast / slow:g} times slower.",
        "Two racks side by side, each with GPU trays above and below and switch trays in the middle. Inside a rack,"
        f" lines run from every tray to every switch: the scale-up network, {_rate(fast)} per GPU and direction. From"
        " each tray one thin line runs up to a data-center switch that joins the racks: the scale-out network,"
        f" {_rate(slow)}, {fast / slow:g} times slower ({plain(chip.name)}).",
    )


TRAYS, SWITCHES = (0.4, 1.1, 1.8, 4.2, 4.9, 5.6), (2.7, 3.3)  # heights of B6


def _cabinet(axes, side: int) -> None:
    """One rack of B6, left (-1) or right (1): trays, switches, arcs between them on the inner side, lines out on the
    outer.
    """
    x, trunk, inner, outer = 3.0 * side, 4.85 * side, 2.1 * side, 3.9 * side
    box(axes, 2.75 * side, 3.0, 3.5, 6.4, "bound", lw=1.8)
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
    axes.plot([trunk, trunk, 2.2 * side], [TRAYS[0], 7.45, 7.45], color=COLOURS[OUT], lw=1.2)
    axes.text(2.75 * side, -0.52, f"rack {1 if side < 0 else 2}", ha="center", va="center")


# --- time -------------------------------------------------------------------------------------------------------------


MS = units.factor("ms")
PARTS = {"memory": "memory", "latency": "launch", "bytes": "network"}  # of a step, and their colours


def step_parts() -> Drawing:
    """What a step of the running case is made of, with two replicas and with experts spread over both racks."""
    fig, axes = drawing.axes(5.0, 4.6)
    once = lambda hop: f"spread, one crossing, second hop of {hop / US:.1f} µs"
    names = {
        "one": "two replicas, one in each rack",
        "two": "experts spread over both racks, every copy crosses",
        "once": once(numbers.bare_hop()),
        "again": once(numbers.start_time()),
    }
    phrases = []
    for row, (key, part) in enumerate((numbers.parts() | {"again": numbers.again()}).items()):
        sizes = dict(zip(PARTS, (part.work / MS, (part.latency + part.hop) / MS, part.sending / MS)))
        inside = {name: f"{size:.2f}" for name, size in sizes.items()}
        if part.hop:
            inside["latency"] = f"{part.latency / MS:.2f} + {part.hop / MS:.2f}"
        start, whole, experts = 0.0, sum(sizes.values()), numbers.expert_time(part) / MS
        axes.barh(row, whole, 0.5, color="white")  # hides the grid
        axes.barh(row, experts, 0.5, color=COLOURS[PARTS["memory"]], alpha=0.4)
        axes.text(0, row - 0.44, f"{names[key]}: {whole:.2f} ms", va="center")
        for name, size in sizes.items():
            axes.barh(row, size, 0.5, start, color=COLOURS[PARTS[name]], alpha=0.45)
            least = experts if name == "memory" else start  # beside the darker part
            middle, side = ((least + start + size) / 2, "center") if size > 1 else (start + size + 0.1, "left")
            axes.text(middle, row, f"{name}\n{inside[name]}", color=COLOURS["bound"], ha=side, va="center", fontsize=10)
            start += size
        each = ", ".join(f"{name} {size}" for name, size in inside.items()) + f"; experts {experts:.2f} of the memory"
        phrases.append(f"{names[key]}, {whole:.2f} in all: {each}")
    axes.set(xlim=(0, 8.6), ylim=(3.5, -0.7), xlabel="ms per step", yticks=[])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
    return done(
        fig,
        "fig-step-parts",
        f"With {numbers.TOKENS} tokens on every GPU, none of these ways to spread shortens the step. Spreading halves"
        " only the loading of experts (the darker part) and adds bytes on the network cards. With one crossing it adds"
        " fewer bytes, but also the wait of a second hop.",
        f"Four stacked bars in milliseconds per step. {'; '.join(phrases)}.",
    )


FEW, MANY = numbers.FEW, numbers.FULL  # tokens per GPU, the ends of the figure


def steps() -> Drawing:
    """A step with experts spread over two racks, divided by a replica's, against tokens per GPU."""
    fig, axes = drawing.axes(5.0, 3.8)
    count = np.geomspace(FEW, MANY, 60)
    least, most = numbers.bare_hop(), numbers.start_time()
    curves = {  # whether each token crosses once, the latency of a second hop, colour
        "every copy\ncrosses": (False, 0.0, OUT),
        f"one crossing,\nhop of {most / US:.1f} µs": (True, most, "third"),
        f"one crossing,\nhop of {least / US:.1f} µs": (True, least, "second"),
    }
    phrases, names = [], []
    for name, (once, hop, colour) in curves.items():
        longer = lambda n, once=once, hop=hop: numbers.on(2, n, once, hop).in_turn / numbers.on(1, n).in_turn
        axes.plot(count, [longer(n) for n in count], color=COLOURS[colour])
        names.append((longer(MANY), name, colour))
        phrases.append(f"{' '.join(name.split())} {longer(FEW):.2f} to {longer(MANY):.2f}")
    axes.axhline(1, color=COLOURS[UP], lw=1.5)
    beside(axes, "two replicas", (MANY, 1), (0, -6), UP, ha="right", va="top")
    even = [numbers.break_even(False), numbers.break_even(True, least)]
    for tokens in even:
        axes.plot(tokens, 1, "o", color=COLOURS["bound"], zorder=4)
        beside(axes, f"{tokens:.0f}", (tokens, 1), (0, -6), ha="center", va="top")
    axes.set(xscale="log", xlim=(FEW, MANY), ylim=(0.5, 3.4))
    axes.set(xlabel="tokens per GPU (log scale)", ylabel="step ÷ a replica's step")
    axes.set_xticks([4, 16, 64, 256], ["4", "16", "64", "256"])
    axes.minorticks_off()
    name_ends(axes, names, 0.14)
    return done(
        fig,
        "fig-steps",
        "Spreading shortens the step only to the left of a dot, in small batches. With one crossing the border depends"
        f" on the wait of the second hop: spreading pays below {even[1]:.0f} tokens per GPU if the hop takes"
        f" {least / US:.1f} µs, and never if it takes {most / US:.1f} µs.",
        "Time of a step with experts spread over two racks, divided by a replica's, 0.5 to 3.4, against"
        f" {FEW} to {MANY} tokens per GPU (log scale). {'; '.join(phrases)}. With every copy crossing it passes 1 just"
        f" below {even[0]:.0f} tokens, with one crossing and the shorter second hop just below {even[1]:.0f}.",
    )


# --- one token, and what its GPU does meanwhile -----------------------------------------------------------------------

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


LONG, DOWN = 2.15, 3.9  # layers that a panel of the whole batch shows, and how far below it the two halves are


def overlap() -> Drawing:
    """What a GPU and its links do in a layer: a whole batch at once, and two halves in turn."""
    fig, panels = drawing.axes(5.0, 6.4, rows=2)
    phrases = []
    for axes, tokens, size in zip(panels, (MANY, numbers.TOKENS), ("large", "small")):
        whole = numbers.on(1, tokens)
        end = LONG * whole.in_turn
        axes.set(xlim=(0, end), ylim=(DOWN + 2.5, -1.2), xticks=[], title=f"{size} batch")
        took = [_turns(axes, 0, {"": whole}), _turns(axes, DOWN, dict.fromkeys("AB", whole.half()))]
        for y, words in ((0, "the whole batch at once"), (DOWN, "two halves, A and B, in turn")):
            axes.text(0, y - 0.72, words, va="center", fontsize=10)
        places = [y + row for y in (0, DOWN) for row in (0, 1)]
        axes.set_yticks(places, ["GPU", "links"] * 2)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        phrases.append(f"in a {size} batch of {tokens} tokens per GPU, {took[1] / took[0]:.2f} of the time")
    return done(
        fig,
        "fig-halves",
        "If two halves of the batch take turns, the GPU works on one while the copies of the other travel, but it loads"
        f" the weights twice. With {MANY} tokens per GPU (above) a layer gets shorter, with {numbers.TOKENS} (below)"
        " longer. Dispatch and combine are drawn as one block.",
        "Two panels of timelines for a GPU and its links, on one rack. With the whole batch at once, the GPU waits"
        " while the copies travel, and the links wait while the GPU works. With two halves in turn, the GPU works all"
        f" the time. A layer then takes, {'; '.join(phrases)}.",
    )


def _turns(axes, y: float, parts: dict[str, numbers.Parts]) -> float:
    """Timelines of a GPU (at height y) and its links (below) as far as the axes reach, for parts of a batch that take
    turns; the time of a layer.
    """
    worker = link = 0.0
    back, began = dict.fromkeys(parts, 0.0), []  # when each part's last results were there; when the first part began
    for _ in range(4):
        for n, (name, part) in enumerate(parts.items()):
            start = max(worker, back[name])
            worker, sent = start + part.work, max(link, start + part.work)
            link = back[name] = sent + part.exchanges
            began += [start] * (n == 0)
            for row, left, right, colour in ((0, start, worker, "memory"), (1, sent, link, UP)):
                axes.barh(y + row, right - left, 0.8, left, color=COLOURS[colour], alpha=0.25 if n else 0.45)
                if right < axes.get_xlim()[1]:
                    axes.text((left + right) / 2, y + row, name, ha="center", va="center", fontsize=10)
    arrow(axes, (0, y + 1.75), (began[1], y + 1.75), "bound", "<->")
    axes.text(began[1] / 2, y + 2.15, "one layer", ha="center", va="center", fontsize=10)
    return began[1]


# --- which links carry what -------------------------------------------------------------------------------------------


def links() -> Drawing:
    """Two racks with half of the layers each: experts' traffic inside, one vector per token between them."""
    fig, axes = drawing.axes(5.0, 4.6)
    sent, hop = numbers.token_bytes() / 2, numbers.hop_bytes()
    deep, speeds = numbers.moe_layers() // 2, catalogue.system(RUNNING.system).chip
    copies = RUNNING.symbols()["copies"]
    up, out = speeds.scale_up.bytes_per_s, speeds.scale_out.bytes_per_s
    inside = (
        f"{copies:g} copies and results\nin each of {deep} layers:\n{sent / units.factor('MB'):.1f} MB a token,"
        f"\nat {_rate(up)}"
    )
    for side, half in ((-1, "first"), (1, "second")):
        half_of_layers(axes, 3.1 * side, half)
        axes.text(3.1 * side, -0.4, inside, color=COLOURS[UP], ha="center", va="top")
    arrow(axes, (-1.15, 2.3), (1.15, 2.3), OUT, lw=2.4, mutation_scale=16)
    axes.text(0, 2.5, f"1 vector:\n{hop / KB:.1f} kB\na token,", color=COLOURS[OUT], ha="center", va="bottom")
    axes.text(0, 2.05, f"at {_rate(out)}", color=COLOURS[OUT], ha="center", va="top")
    stays = "weights and KV cache never leave their GPU"
    axes.text(0, -3.35, stays, color=COLOURS["memory"], ha="center", va="center")
    bare(axes, (-5.4, 5.4), (-3.7, 5.85))
    return done(
        fig,
        "fig-links",
        f"If each rack has half of the layers, the network between the racks is {up / out:g} times slower but has to"
        f" carry {significant(sent / hop, 2)} times fewer bytes than the one inside.",
        f"Two racks of four drawn GPUs each, one with the first half of the layers, one with the second. Inside a rack,"
        f" lines join every GPU to every other: the scale-up network, {_rate(up)}, carries {copies:g} copies and"
        f" results in each of {deep} layers, {sent / units.factor('MB'):.1f} MB for each token. One arrow leads from"
        f" the first rack to the second: the scale-out network, {_rate(out)}, carries one vector of {hop / KB:.1f} kB"
        " for each token. Weights and KV cache stay in the memory of their GPU.",
    )
