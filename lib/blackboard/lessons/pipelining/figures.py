"""The pipelining lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations` or a run of `simulation`, every number in a label or an alt text comes from them
or from the catalogue. Forward passes, gradients of inputs and gradients of weights have a color each; idle time is
white.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Circle, Rectangle

from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, arrow, bare, done, percent, thousands
from blackboard.charts.style import COLOURS
from blackboard.lessons.pipelining import equations as eq
from blackboard.lessons.pipelining import numbers, simulation
from blackboard.lessons.pipelining.drawing import KINDS, PLAIN, SMALL, draw_key, draw_plain, draw_run, draw_served
from blackboard.lessons.pipelining.timeline import Costs, Schedule
from blackboard.text import listed
from blackboard.units import pretty

BOXES = numbers.TRAINERS  # boxes of the pipeline that trains
EQUAL = Costs(1, 1, 1)  # F, B and W take equally long


# --- timelines --------------------------------------------------------------------------------------------------------


def _time(cost: Any) -> str:
    return "uneven" if isinstance(cost, Sequence) else f"{float(cost):g}"


def gantt(schedule: Schedule | None = None, costs: Costs = EQUAL, name: str = "") -> Drawing:
    """A schedule as it runs: time across, a row per rack; by default 1F1B on four racks with eight micro-batches."""
    name = name or ("" if schedule else "1F1B")
    run = simulation.simulate(schedule or simulation.one_f_one_b(BOXES, 2 * BOXES), costs)
    fig, axes = drawing.axes(5.0, 1.35 + 0.3 * run.devices)
    draw_run(axes, run, costs, inches=4.2, name="rack")
    times = zip("FBW", (costs.forward, costs.backward, costs.weight))
    axes.set_xlabel(f"time ({', '.join(f'{name} = {_time(cost)}' for name, cost in times)})")
    fig.set_layout_engine("constrained", rect=(0, 0, 1, 1 - 0.33 / fig.get_figheight()))
    draw_key(fig, 1 - 0.17 / fig.get_figheight())
    kinds = {kind for box in run.boxes for kind in box.kind}
    wait = f" ({percent(run.bubble, 1)} if all wait for the last)" if run.bubble - run.period_bubble > 1e-9 else ""
    said = (
        f"bubble {percent(run.period_bubble, 1)}{wait},"
        + ("\n" if wait else " ")
        + f"at most {run.most_held:g} micro-batches held"
    )
    axes.set_title(f"{name}: {said}" if name else said, loc="left")
    batches = len({batch for box in run.boxes for _, batch, _ in box.keys})
    apart = (
        "forward passes, gradients of inputs and gradients of weights"
        if "W" in kinds
        else "forward and whole backward passes"
    )
    return done(
        fig,
        "fig-gantt",
        "A schedule as it runs.",
        f"{name or 'A schedule'} on {run.devices} racks with {batches} micro-batches: time from 0 to"
        f" {float(run.makespan):g} across, a row per rack, boxes for {apart}, numbered by micro-batch where they fit."
        f" Racks are idle {percent(run.period_bubble, 1)} of their time{wait}; the rack that holds most keeps"
        f" {run.most_held:g} micro-batches' activations.",
    )


# --- the board's figures ----------------------------------------------------------------------------------------------

CHOSEN, EXPERTS, LAYERS = (1, 2, 5), 7, 2  # of B8: experts that a token goes to, those drawn, layers in a box
RISE, GAP = 1.75, 0.75  # from layer to layer, and what a cut adds


def stack() -> Drawing:
    """B8: a stack of routed layers, cut by changes of box: many arrows inside a stage, one across a cut."""
    fig, axes = drawing.axes(5.0, 5.3)
    stages, mid = 2, (EXPERTS - 1) / 2
    for layer in range(stages * LAYERS):
        _layer(axes, layer * RISE + layer // LAYERS * GAP, mid)
    top = stages * LAYERS * RISE + (stages - 1) * GAP
    cut = LAYERS * RISE + GAP / 2
    axes.plot([-0.9, EXPERTS + 2.3], [cut, cut], color=COLOURS["scale_out"], ls="--", lw=1.8)
    arrow(axes, (mid, cut - GAP / 2), (mid, cut + GAP / 2 - 0.14), "scale_out", lw=3, mutation_scale=16)
    axes.text(-0.8, cut + 0.12, "change box", color=COLOURS["scale_out"], va="bottom")
    inside = 2 * len(CHOSEN) * LAYERS
    axes.text(EXPERTS + 2.3, cut + 0.12, "1 arrow", color=COLOURS["scale_out"], va="bottom", ha="right")
    for stage in range(stages):
        base = stage * (LAYERS * RISE + GAP) + LAYERS * RISE / 2
        axes.text(
            EXPERTS + 2.3, base, f"box {stage}\n{inside} arrows", ha="right", va="center", color=COLOURS["network"]
        )
    axes.text(mid, -0.35, "a token", ha="center", va="top")
    axes.add_patch(Circle((mid, top), 0.13, color=COLOURS["bound"]))
    arrow(axes, (mid, top), (mid, top + 0.6), "muted")
    axes.text(mid + 0.3, top + 0.3, "next token", va="center", color=COLOURS["muted"])
    bare(axes, (-1.0, EXPERTS + 2.4), (-0.95, top + 0.7))
    ratio = eq.scale_ratio(copies=len(CHOSEN), layers_per_stage=LAYERS, scale_up=1, scale_out=1)
    return done(
        fig,
        "fig-stack",
        "A token is sent many times inside a box, but only once to the next one.",
        f"A stack of {stages * LAYERS} layers with {EXPERTS} experts each, cut into {stages} boxes. In every layer"
        f" the token fans out to {len(CHOSEN)} experts and comes back: {inside} arrows inside a box. Across the cut"
        f" goes one arrow, {ratio:g} times less traffic.",
    )


def _layer(axes, base: float, mid: float) -> None:
    """A routed layer above a height: a token fans out to its experts, their results come together."""
    axes.add_patch(Circle((mid, base), 0.13, color=COLOURS["bound"]))
    for expert in range(EXPERTS):
        chosen = expert in CHOSEN
        looks: dict[str, Any] = (
            {"fc": COLOURS["compute"], "alpha": 0.3, "lw": 0}
            if chosen
            else {"fill": False, "ec": COLOURS["muted"], "lw": 1}
        )
        axes.add_patch(Rectangle((expert - 0.36, base + RISE / 2 - 0.24), 0.72, 0.48, **looks))
        if chosen:
            side = 0.12 * np.sign(expert - mid)
            arrow(axes, (mid, base), (expert, base + RISE / 2 - 0.26), "network", zorder=0)
            arrow(axes, (expert, base + RISE / 2 + 0.26), (mid + side, base + RISE - 0.1), "network")
    axes.add_patch(Circle((mid, base + RISE), 0.13, color=COLOURS["bound"]))


def serving() -> Drawing:
    """B9: decoding on two boxes, with one batch and with as many micro-batches as boxes."""
    boxes = numbers.LAYOUTS["two"].boxes
    fig, axes = drawing.axes(5.0, 3.2, 2, 1, sharex=True)
    end = 4 * boxes
    alone = simulation.simulate(simulation.naive(boxes, 4), Costs())
    packed = simulation.simulate(simulation.serve(boxes, boxes, 5), Costs())
    for at, run in zip(axes, (alone, packed)):
        draw_served(at, run, end)
    idle, waits = alone.idle(0, end), packed.idle(boxes - 1, end)
    axes[0].set_title(f"one batch: each box idle {percent(idle)} of the time", loc="left")
    axes[1].set_title(f"{boxes} micro-batches: idle {percent(waits)}, once both are under way", loc="left")
    axes[1].set_xlabel("time (passes through one box)")
    for turn in range(boxes, end, boxes):  # the decode loop closes: from the last box back to the first
        arrow(axes[0], (turn - 0.2, boxes - 1.5), (turn + 0.2, 0.5), "bound")
    axes[0].text(boxes + 0.5, boxes - 1, "next\ntoken", ha="center", va="center")
    return done(
        fig,
        "fig-serving",
        "With two micro-batches, each of two boxes always has one to work on.",
        f"Time across, 0 to {end} passes, boxes 0 and 1 down. Above, one batch goes from box 0 to box 1 and back: each"
        f" box is idle {percent(idle)} of the time. Below, micro-batches 0 and 1 take turns in each: idle"
        f" {percent(waits)} from time {boxes - 1} on.",
    )


def training() -> Drawing:
    """B10: GPipe on four boxes with four micro-batches: forward, hard stop, backward, and the idle triangles."""
    fig, axes = drawing.axes(5.0, 3.1)
    forward, backward = 1, 2  # a backward pass computes two gradients
    costs = Costs(forward, backward)
    run = simulation.simulate(simulation.gpipe(BOXES, BOXES), costs)
    stop, end, last = max(box.end for box in run.boxes if box.kind == "F"), run.makespan, BOXES - 1
    for box, row in enumerate(run.rows):
        ends, starts = [0, *(each.end for each in row)], [*(each.start for each in row), end]
        idle = [b - a for a, b in zip(ends, starts)]
        axes.barh([box] * len(ends), idle, 0.92, ends, color=COLOURS["muted"], alpha=0.15, lw=0)
    draw_run(axes, run, costs, inches=4.2)
    before, after = last * forward, last * backward
    words = (
        (before / 2 - 0.4, last, "fill"),
        (stop - before / 2, 0, f"idle {before}"),
        (stop + after / 2, 0, f"idle {after}"),
        (end - after / 2 + 0.4, last, "drain"),
    )
    for x, level, word in words:
        axes.text(x, level, word, ha="center", va="center", color=COLOURS["bound"], style="italic")
    axes.axvline(stop, color=COLOURS["bound"], lw=2.2)
    for x, word in ((stop / 2, "forward"), ((stop + end) / 2, "backward")):
        axes.text(x, -0.6, word, ha="center", va="bottom")
    axes.text(stop, -0.6, "turn", ha="center", va="bottom", weight="bold")
    axes.set(xlabel="time (slots)", xticks=np.arange(0, end + 1, 3))
    share = eq.bubble(stages=BOXES, micro_batches=BOXES)
    top, bottom = BOXES - 1, BOXES + BOXES - 1
    axes.set_title(f"bubble = $(P-1)/(n_\\mathrm{{mb}}+P-1)$ = {top}/{bottom} = {percent(share)}", loc="left", pad=22)
    return done(
        fig,
        "fig-training",
        "Box 0 is idle until a gradient comes back, for nine slots, and box 3 is idle as long.",
        f"GPipe on {BOXES} boxes with {BOXES} micro-batches: forward passes up to slot {stop}, then backward passes up"
        f" to slot {end}. Box 0 waits {before} slots before the turn and {after} after it, box {last} at the start"
        " (fill) and at the end (drain).",
    )


# --- schedules for training -------------------------------------------------------------------------------------------


ORDERS = {  # what each moves, and where that is seen: a box, its slots from and to
    "1F1B": ("Box 0 waits for its first gradient to come back.", (0, 4, 10)),
    "split 1F1B": ("Each box passes B on before it does W.", (0, 7, 8)),
    "ZB-H1": ("The later boxes put W off until after more B.", (3, 23, 27)),
    "ZB-H2": ("More F and W fill the rest. Faint: the steps around it.", (0, 4, 7)),
}


def orders() -> Drawing:
    """Four schedules of the same work, one below the other, with what each moves."""
    runs = simulation.equal_runs(BOXES, numbers.TRAINED)
    head, each, bars, foot = 0.34, 1.12, 0.56, 0.02  # inches: the key, a schedule, its boxes, and below the last
    height = head + each * len(ORDERS) + foot
    fig, axes = drawing.axes(4.4, height, len(ORDERS), 1, sharex=True)  # narrow: its sentences are read on a phone
    fig.set_layout_engine("none")
    draw_key(fig, 1 - 0.14 / height, dict.fromkeys(KINDS, PLAIN))
    width, said = max(runs[name].makespan for name in ORDERS), []
    for index, (at, (name, (words, new))) in enumerate(zip(axes, ORDERS.items())):
        run = runs[name]
        idle = f"box 0 is idle for {float(run.span(0) - run.busy(0)):g} slots"
        top = height - head - each * index - 0.24
        at.set_position((0.13, (top - bars) / height, 0.86, bars / height))
        draw_plain(at, run, width)
        at.spines["bottom"].set_visible(False)
        at.tick_params(axis="x", length=0, labelbottom=False)
        at.tick_params(axis="y", pad=0.12 * 4.4 * 72)
        for label in at.get_yticklabels():
            label.set_ha("left")
        fig.text(0.01, (top + 0.05) / height, f"{name}: {idle}", weight="bold")
        fig.text(0.01, (top - bars - 0.06) / height, words, va="top", fontsize=SMALL, color=COLOURS["muted"])
        box, start, end = new
        looks: dict[str, Any] = {"fill": False, "ec": COLOURS["bound"], "lw": 1.8, "zorder": 5, "clip_on": False}
        at.add_patch(Rectangle((start, box - 0.48), end - start, 0.96, **looks))
        said.append(f"{name}: {idle}. {words}")
    return done(
        fig,
        "fig-orders",
        "Three moves take the idle time (gray) of box 0 from nine slots to none. Only the last move needs more memory."
        " A frame marks what the words below its schedule describe.",
        f"Four schedules of {numbers.TRAINED} micro-batches on {BOXES} boxes. {' '.join(said)}",
    )


def opening() -> Drawing:
    """A box's memory with all layers and with half of them: weights, and the caches for which there is room."""
    memory, weights, cache = numbers.box_room()
    fig, axes = drawing.axes(5.0, 2.1)
    said = []
    for line, (layers, share) in enumerate((("all layers", 1), ("half of\nthe layers", 2))):
        stored, each = weights / share / 1e9, cache / share / 1e9
        left = memory / 1e9 - stored
        users = int(left / each)
        axes.barh(line, stored, 0.62, color=COLOURS["weights"], alpha=0.85)
        axes.barh(line, left, 0.62, stored, color=COLOURS["kv"], alpha=0.85)
        axes.text(stored / 2, line - 0.34, f"weights {stored:,.0f}", ha="center", va="bottom", color=COLOURS["weights"])
        words = f"caches {left:,.0f} / {each:.2f} = {users} users"
        axes.text(memory / 1e9, line - 0.34, words, ha="right", va="bottom", color=COLOURS["kv"])
        said.append(
            f"with {layers.replace(chr(10), ' ')} weights fill {stored:,.0f} GB, and the other {left:,.0f} GB"
            f" have room for {users} caches of {each:.2f} GB"
        )
    axes.set(xlim=(0, memory / 1e9), ylim=(1.4, -0.8), xlabel="memory of a box (GB)")
    drawing.name_rows(axes, range(2), ["all layers", "half of\nthe layers"])
    thousands(axes, "x")
    return done(
        fig,
        "fig-room",
        "With half of the layers, a box has more room, and each cache is half as large.",
        f"Two bars of a box's memory of {memory / 1e9:,.0f} GB: {'; '.join(said)}.",
    )


def cut() -> Drawing:
    """The KV cache as a square of layers and users, cut by users among separate boxes, and by layers in a pipeline."""
    boxes = numbers.LAYOUTS["two"].boxes
    fig, axes = drawing.axes(5.0, 2.6, 1, 2)
    names = "separate boxes:\ncut by users", "a pipeline:\ncut by layers"
    for at, name, by_users in zip(axes, names, (True, False)):
        for layers in range(boxes):
            for group in range(boxes):
                box = group if by_users else layers
                looks: dict[str, Any] = {
                    "fc": COLOURS["kv" if box == 0 else "muted"],
                    "alpha": 0.65 if box == 0 else 0.2,
                }
                at.add_patch(Rectangle((group + 0.02, layers + 0.02), 0.96, 0.96, lw=0, **looks))
                at.text(group + 0.5, layers + 0.5, f"in box {box}", ha="center", va="center")
        at.set_title(name)
        at.set(xlim=(0, boxes), ylim=(boxes, 0), xticks=(0.5, 1.5), yticks=(0.5, 1.5))
        at.set_xticklabels(["half of\nthe users", "the other\nhalf"])
        at.set_yticklabels(["first\nlayers", "last\nlayers"] if by_users else [])
        at.tick_params(length=0)
        at.grid(visible=False)
        for spine in at.spines.values():
            spine.set_visible(False)
    return done(
        fig,
        "fig-cut",
        "The KV cache of all users, cut in two ways. Either way, box 0 holds two of four cells.",
        f"Two squares of {boxes} by {boxes}: halves of the layers down, halves of the users across. Left, a separate"
        " box holds a column. Right, a box of a pipeline holds a row.",
    )


def freed() -> Drawing:
    """What fills the memory of a box and of a rack, alone and as a stage of a pipeline, in shares."""
    box, rack = (numbers.weights_share(machine) for machine in (numbers.BOX, numbers.RACK))
    rows = [
        ("a box alone", box, 1),
        ("one of 2 boxes", box, numbers.LAYOUTS["two"].boxes),
        ("a rack alone", rack, 1),
        ("one of 4 racks", rack, numbers.STAGES),
    ]
    fig, axes = drawing.axes(5.0, 2.5)
    places, said = (0, 1, 2.4, 3.4), []
    for line, (name, share, stages) in zip(places, rows):
        stored = share / stages
        axes.barh(line, stored, 0.7, color=COLOURS["weights"])
        axes.barh(line, 1 - stored, 0.7, stored, color=COLOURS["kv"])
        axes.text(1.02, line, f"{1 - stored:.1%}", va="center")
        said.append(f"{stored:.1%} of {name}")
    axes.set_yticks(places, [name for name, _, _ in rows])
    axes.text(0, -0.45, "weights", color=COLOURS["weights"], va="bottom")
    axes.text(1, -0.45, "caches", color=COLOURS["kv"], va="bottom", ha="right")
    axes.set(xlim=(0, 1), ylim=(places[-1] + 0.5, -1.1), xlabel="share of the memory")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    return done(
        fig,
        "fig-freed",
        "A pipeline frees a part of what the weights fill: much in a box, next to nothing in a rack.",
        f"Four bars of memory. Weights fill {listed(said)}, and caches the rest.",
    )


def pays() -> Drawing:
    """Tokens per second of a box against the wait of a hop or crossing, for the three layouts of two boxes."""
    fig, axes = drawing.axes(5.0, 4.0)
    hops = np.geomspace(1e-5, 0.03, 49)
    looks = {
        "one": ("separate", "muted", "--"),
        "two": ("pipeline", "first", "-"),
        "spread": ("shared layers", "network", "-"),
    }
    ends, said = [], []
    for key, (name, colour, style) in looks.items():
        rates = [numbers.box_rate(numbers.LAYOUTS[key], hop) for hop in hops]
        axes.plot(hops, rates, style, color=COLOURS[colour], lw=2.5)
        ends.append((rates[-1], name, colour))
        said.append(f"{name} {rates[0]:,.0f} to {rates[-1]:,.0f}")
    for name, hop in {"our\nestimate": numbers.box_hop(), "lecture's\nguess": numbers.LECTURE_HOP}.items():
        axes.axvline(hop, color=COLOURS["bound"], lw=1, ls=":")
        axes.text(hop * 1.08, 5450, name, va="top")
    axes.set(xscale="log", xlim=(hops[0], hops[-1]), ylim=(0, 5500))
    axes.set(xlabel="wait of a hop or crossing (log scale)", ylabel="tokens per second of each box")
    axes.set_xticks(10.0 ** np.arange(-5, -1), [pretty(10.0**n, "s", 1) for n in range(-5, -1)])
    drawing.thousands(axes, "y")
    drawing.name_ends(axes, ends)
    told = numbers.pays()
    even, alone = told["hop_even"], told["hop_alone"]
    return done(
        fig,
        "fig-pays",
        f"Up to a wait of {even}, shared layers write the most tokens. From there to {alone}, a pipeline does, with the"
        " best number of micro-batches. Beyond that, separate boxes do.",
        "Tokens per second of a box against the wait of a hop or crossing, 10 µs to 30 ms, for two boxes:"
        f" {listed(said)}.",
    )
