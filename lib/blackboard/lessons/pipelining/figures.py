"""The pipelining lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations` or a run of `simulation`, every number in a label or an alt text comes from them
or from the catalogue. Forward passes, gradients of inputs and gradients of weights have a color each; idle time is
white.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Circle, Rectangle

from blackboard import catalogue, units
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, arrow, bare, beside, done, listed, percent
from blackboard.charts.style import COLOURS
from blackboard.lessons.pipelining import equations as eq
from blackboard.lessons.pipelining import numbers, simulation
from blackboard.lessons.pipelining.timeline import Box, Costs, Schedule, Timeline
from blackboard.units import pretty, significant

MS, US, GB = units.factor("ms"), units.factor("us"), units.factor("GB")
RACKS = 4  # of the lecture's pipelines
KINDS = {"F": "first", "B": "second", "W": "third"}
EQUAL = Costs(1, 1, 1)  # F, B and W take equally long
SMALL = 10  # points: the least that a phone shows well


# --- timelines --------------------------------------------------------------------------------------------------------


def _parts(box: Box, costs: Costs, split: bool) -> list[tuple[str, float]]:
    """Kinds of what a box does at once, with their times; a backward that is not split does both gradients."""
    kinds = [kind for kind, _, _ in box.keys]
    kinds += ["W"] * (not split and "B" in kinds)
    times = [(kind, float(costs.of(kind, box.stage))) for kind in kinds]
    return [(kind, time) for kind, time in times if time]


def _number(box: Box, inches: float) -> str:
    """Micro-batches of a box where so many inches hold them, else nothing."""
    text = "&".join(str(batch) for _, batch, _ in box.keys)
    return text if inches >= 0.1 * len(text) + 0.02 else ""


def _draw(axes, run: Timeline, costs: Costs, inches: float = 0.0) -> None:
    """The boxes of a run, a row per rack, rack 0 on top; with `inches` for the whole time, numbers where they fit.

    What a device does at once shares the height of its box by time, so that equal work has equal area.
    """
    weights = {key for box in run.boxes for key in box.keys if key[0] == "W"}
    for box in run.boxes:
        low, width = box.device - 0.46, float(box.end - box.start)
        split = all(("W", batch, stage) in weights for kind, batch, stage in box.keys if kind == "B")
        parts = _parts(box, costs, split)
        whole = sum(time for _, time in parts)
        for kind, time in parts:
            later = run.chunks > 1 and box.stage >= run.devices  # chunks behind the first are lighter
            axes.add_patch(
                Rectangle(
                    (box.start, low),
                    width,
                    0.92 * time / whole,
                    color=COLOURS[KINDS[kind]],
                    alpha=0.32 if later else 0.6,
                    lw=0,
                )
            )
            low += 0.92 * time / whole
        axes.add_patch(Rectangle((box.start, box.device - 0.46), width, 0.92, fill=False, ec="white", lw=0.6))
        if inches and (text := _number(box, inches * width / float(run.makespan))):
            axes.text(
                box.start + width / 2, box.device, text, ha="center", va="center_baseline", fontsize=SMALL, clip_on=True
            )
    _racks(axes, run.devices)
    axes.set_xlim(0, float(run.makespan))


def _racks(axes, devices: int, names: bool = True) -> None:
    """Rows for racks 0, 1, … from top to bottom."""
    axes.set(ylim=(devices - 0.5, -0.5))
    axes.set_yticks(range(devices), [f"rack {d}" for d in range(devices)] if names else [""] * devices)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)


def _key(fig: Drawing, height: float) -> None:
    """What the colours mean, in words on their colours, at a height of the figure."""
    words = {"F": "F: forward", "B": "B: gradient of inputs", "W": "W: gradient of weights"}
    for x, kind in zip((0.13, 0.43, 0.8), KINDS):
        face = {"boxstyle": "square,pad=0.2", "facecolor": COLOURS[KINDS[kind]], "alpha": 0.6, "edgecolor": "none"}
        fig.text(x, height, words[kind], ha="center", va="center", fontsize=SMALL, bbox=face)


def _peak(run: Timeline) -> float:
    """Activations on the rack that holds most, in those of a micro-batch on a stage; W keeps all that B had."""
    return max(run.peak(device, kept=1) for device in range(run.devices))


def _time(cost: Any) -> str:
    return "uneven" if isinstance(cost, Sequence) else f"{float(cost):g}"


def gantt(schedule: Schedule | None = None, costs: Costs = EQUAL, name: str = "") -> Drawing:
    """A schedule as it runs: time across, a row per rack; by default 1F1B on four racks with eight micro-batches."""
    name = name or ("" if schedule else "1F1B")
    run = simulation.simulate(schedule or simulation.one_f_one_b(RACKS, 2 * RACKS), costs)
    fig, axes = drawing.axes(5.0, 1.35 + 0.3 * run.devices)
    _draw(axes, run, costs, inches=4.2)
    times = zip("FBW", (costs.forward, costs.backward, costs.weight))
    axes.set_xlabel(f"time ({', '.join(f'{name} = {_time(cost)}' for name, cost in times)})")
    fig.set_layout_engine("constrained", rect=(0, 0, 1, 1 - 0.33 / fig.get_figheight()))
    _key(fig, 1 - 0.17 / fig.get_figheight())
    kinds = {kind for box in run.boxes for kind in box.kind}
    wait = f" ({percent(run.bubble, 1)} if all wait for the last)" if run.bubble - run.period_bubble > 1e-9 else ""
    said = (
        f"bubble {percent(run.period_bubble, 1)}{wait},"
        + ("\n" if wait else " ")
        + f"at most {_peak(run):g} micro-batches held"
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
        f" {_peak(run):g} micro-batches' activations.",
    )


# --- the board's figures ----------------------------------------------------------------------------------------------

CHOSEN, EXPERTS, LAYERS = (1, 2, 5), 7, 2  # of B8: experts that a token goes to, those drawn, layers on a rack
RISE, GAP = 1.75, 0.75  # from layer to layer, and what a cut adds


def stack() -> Drawing:
    """B8: a stack of routed layers, cut by changes of rack: many arrows inside a stage, one across a cut."""
    fig, axes = drawing.axes(5.0, 5.3)
    stages, mid = 2, (EXPERTS - 1) / 2
    for layer in range(stages * LAYERS):
        _layer(axes, layer * RISE + layer // LAYERS * GAP, mid)
    top = stages * LAYERS * RISE + (stages - 1) * GAP
    cut = LAYERS * RISE + GAP / 2
    axes.plot([-0.9, EXPERTS + 2.3], [cut, cut], color=COLOURS["scale_out"], ls="--", lw=1.8)
    arrow(axes, (mid, cut - GAP / 2), (mid, cut + GAP / 2 - 0.14), "scale_out", lw=3, mutation_scale=16)
    axes.text(-0.8, cut + 0.12, "change rack", color=COLOURS["scale_out"], va="bottom")
    inside = 2 * len(CHOSEN) * LAYERS
    axes.text(EXPERTS + 2.3, cut + 0.12, "1 arrow", color=COLOURS["scale_out"], va="bottom", ha="right")
    for stage in range(stages):
        base = stage * (LAYERS * RISE + GAP) + LAYERS * RISE / 2
        axes.text(
            EXPERTS + 2.3, base, f"rack {stage}\n{inside} arrows", ha="right", va="center", color=COLOURS["network"]
        )
    axes.text(mid, -0.35, "a token", ha="center", va="top")
    axes.add_patch(Circle((mid, top), 0.13, color=COLOURS["bound"]))
    arrow(axes, (mid, top), (mid, top + 0.6), "muted")
    axes.text(mid + 0.3, top + 0.3, "next rack", va="center", color=COLOURS["muted"])
    bare(axes, (-1.0, EXPERTS + 2.4), (-0.95, top + 0.7))
    ratio = eq.scale_ratio(copies=len(CHOSEN), layers_per_stage=LAYERS, scale_up=1, scale_out=1)
    return done(
        fig,
        "fig-stack",
        "Layers split into stages. A token is sent many times inside a rack, but only once to the next one.",
        f"A stack of {stages * LAYERS} routed layers, bottom to top, with {EXPERTS} experts each; a dashed line cuts it"
        f" into {stages} racks of {LAYERS} layers. In every layer the token fans out to {len(CHOSEN)} experts and comes"
        f" back from them: {inside} arrows inside a rack. Across the cut goes one arrow, {ratio:g} times less traffic.",
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
    """B9: decoding on four racks, with one batch and with as many micro-batches as racks."""
    fig, axes = drawing.axes(5.0, 4.7, 2, 1, sharex=True)
    end = 3 * RACKS
    alone = simulation.simulate(simulation.naive(RACKS, 3), Costs())
    packed = simulation.simulate(simulation.serve(RACKS, RACKS, 4), Costs())
    for at, run in zip(axes, (alone, packed)):
        _served(at, run, end)
    idle, waits = alone.idle(0, end), packed.idle(RACKS - 1, end)
    axes[0].set_title(f"one batch: every rack idle {percent(idle)} of the time", loc="left")
    axes[1].set_title(f"{RACKS} micro-batches: idle {percent(waits)}, once all are under way", loc="left")
    axes[1].set_xlabel("time (passes through one rack)")
    for turn in range(RACKS, end, RACKS):  # the decode loop closes: from the last rack back to the first
        arrow(axes[0], (turn - 0.2, RACKS - 1.5), (turn + 0.2, 0.5), "bound")
    axes[0].text(RACKS + 0.2, RACKS - 1, "next token", va="center")
    return done(
        fig,
        "fig-serving",
        "With one batch, three of four racks wait. With four micro-batches in a loop, none does.",
        f"Time across, 0 to {end} passes, racks 0 to {RACKS - 1} down, boxes numbered by micro-batch; twice. Above, one"
        f" batch goes down the racks as a staircase and enters rack 0 again right after rack {RACKS - 1}: each rack is"
        f" idle {percent(idle)} of the time. Below, micro-batches 0 to {RACKS - 1} follow each other without a gap and"
        f" each enters rack 0 again when it leaves rack {RACKS - 1}: idle {percent(waits)} from time {RACKS - 1} on.",
    )


def _served(axes, run: Timeline, end: float) -> None:
    """The boxes of a decoding run up to a time; micro-batch 0 stands out."""
    for box in run.boxes:
        if box.start < end:
            mine = box.micro_batch == 0
            looks: dict[str, Any] = {
                "fc": COLOURS["compute" if mine else "muted"],
                "alpha": 0.85 if mine else 0.25,
                "ec": "white",
                "lw": 1,
            }
            axes.add_patch(Rectangle((box.start, box.device - 0.46), 1, 0.92, **looks))
            axes.text(
                box.start + 0.5,
                box.device,
                str(box.micro_batch),
                ha="center",
                va="center_baseline",
            )
    _racks(axes, run.devices)
    axes.set(xlim=(0, end), xticks=np.arange(0, end + 1, RACKS))


def training() -> Drawing:
    """B10: GPipe on four racks with four micro-batches: forward, hard stop, backward, and the idle triangles."""
    fig, axes = drawing.axes(5.0, 3.1)
    run = simulation.simulate(simulation.gpipe(RACKS, RACKS), Costs())
    stop, end, last = max(box.end for box in run.boxes if box.kind == "F"), run.makespan, RACKS - 1
    for rack, row in enumerate(run.rows):
        ends, starts = [0, *(box.end for box in row)], [*(box.start for box in row), end]
        idle = [b - a for a, b in zip(ends, starts)]
        axes.barh([rack] * len(ends), idle, 0.92, ends, color=COLOURS["muted"], alpha=0.15, lw=0)
    _draw(axes, run, Costs(), inches=4.2)
    words = (1.1, last, "fill"), (stop - 1.3, 0, "drain"), (stop + 1.3, 0, "fill"), (end - 1.15, last, "drain")
    for x, level, word in words:
        axes.text(x, level, word, ha="center", va="center", color=COLOURS["bound"], style="italic")
    axes.axvline(stop, color=COLOURS["bound"], lw=2.2)
    for x, word in ((stop / 2, "forward"), ((stop + end) / 2, "backward")):
        axes.text(x, -0.6, word, ha="center", va="bottom")
    axes.text(stop, -0.6, "turn", ha="center", va="bottom", weight="bold")
    axes.set(xlabel="time (slots)", xticks=np.arange(0, end + 1, 2))
    share = eq.bubble(stages=RACKS, micro_batches=RACKS)
    top, bottom = RACKS - 1, RACKS + RACKS - 1
    axes.set_title(f"bubble = $(P-1)/(n_{{mb}}+P-1)$ = {top}/{bottom} = {percent(share, 1)}", loc="left", pad=22)
    return done(
        fig,
        "fig-training",
        "Training must drain the pipeline before the weights change, so racks wait at the start, at the turn and at the"
        " end.",
        f"GPipe on {RACKS} racks with {RACKS} micro-batches: time across in {end} slots, racks 0 to {last} down. A"
        f" slanted block of forward passes, a hard stop at slot {stop}, a mirrored block of backward passes. The"
        f" triangles before and after each block are idle, named fill and drain: each rack works {run.busy(0)} of {end}"
        f" slots, so the bubble is {top}/{bottom}, {percent(run.bubble, 1)}.",
    )


# --- schedules for training -------------------------------------------------------------------------------------------


def _known(devices: int, batches: int) -> dict[str, Schedule]:
    """The lesson's schedules by name."""
    return {
        "GPipe": simulation.gpipe(devices, batches),
        "1F1B": simulation.one_f_one_b(devices, batches),
        "interleaved": simulation.interleaved(devices, batches, 2),
        "ZB-H1": simulation.zero_bubble_h1(devices, batches),
        "ZB-H2": simulation.zero_bubble_h2(devices, batches),
        "DualPipe": simulation.dualpipe(devices, batches),
    }


NOTES = {"interleaved": "pale: second chunk", "ZB-H2": "the next step joins on", "DualPipe": "weights kept twice"}


def schedules() -> Drawing:
    """Six schedules with the same work on four racks: bubble and peak memory."""
    batches = 2 * RACKS
    runs = {name: simulation.simulate(schedule, EQUAL) for name, schedule in _known(RACKS, batches).items()}
    fig, axes = drawing.axes(5.0, 6.6, len(runs), 1, sharex=True)
    for at, (name, run) in zip(axes, runs.items()):
        _draw(at, run, EQUAL)
        _racks(at, RACKS, names=False)
        at.set_ylabel("racks", fontsize=SMALL, labelpad=0)
        held = f"holds {_peak(run):g}" + " micro-batches" * (at is axes[0])
        at.set_title(f"{name}: bubble {percent(run.period_bubble)}, {held}", loc="left", pad=3)
        at.set_title(NOTES.get(name, ""), loc="right", pad=3, fontsize=SMALL, style="italic")
    axes[-1].set(xlabel="time (passes F = B = W = 1)", xlim=(0, max(float(run.makespan) for run in runs.values())))
    fig.set_layout_engine("constrained", rect=(0, 0, 1, 0.955), h_pad=0.02)
    _key(fig, 0.977)
    said = "; ".join(f"{name} {percent(run.period_bubble)} and {_peak(run):g}" for name, run in runs.items())
    return done(
        fig,
        "fig-schedules",
        "Six schedules of the same work. Splitting the backward pass and reordering removes most of the idle time."
        " Simulated, with F, B and W equally long.",
        f"Six Gantt charts on one time scale, for {RACKS} racks and {batches} micro-batches, with F, B and W equally"
        " long; boxes that do two things at once are striped. Bubble, and micro-batches' activations on the rack that"
        f" holds most: {said}. Bubbles count a rack from its own first pass to its last.",
    )


LOOKS = {"1F1B": ("first", "o"), "1F1B-I": ("second", "s"), "ZB-1p": ("third", "^"), "ZB-2p": ("fourth", "D")}


def measured() -> Drawing:
    """The zero-bubble paper's throughputs against their simulation, and how far the ideal is above each."""
    rows = numbers.compared()
    fig, (axes, gaps) = drawing.axes(5.0, 5.9, 2, 1, height_ratios=(3.0, 2.0))
    above = {
        name: [100 * (row.throughput / row.measured_throughput - 1) for row in rows if row.schedule == name]
        for name in LOOKS
    }
    _draw_throughputs(axes, rows)
    for line, (name, (colour, marker)) in enumerate(LOOKS.items()):
        gaps.plot(above[name], [line] * len(above[name]), marker, color=COLOURS[colour], ms=5.5, mfc="none", mew=1.4)
        gaps.text(-0.4, line, name, color=COLOURS[colour], ha="right", va="center")
    gaps.set(xlim=(0, 20), ylim=(len(LOOKS) - 0.5, -0.5), yticks=[], xticks=range(0, 21, 5))
    gaps.set(xlabel="simulated above measured (%)")
    gaps.axvline(0, color=COLOURS["bound"], lw=2.5)
    least, most = min(map(min, above.values())), max(map(max, above.values()))
    said = ", ".join(f"{name} {np.mean(values):.0f}%" for name, values in above.items())
    return done(
        fig,
        "fig-measured",
        "The simulation predicts slightly more throughput than was measured, for every run and every schedule.",
        f"Above, {len(rows)} measured training throughputs of four schedules and four models,"
        f" {min(row.measured_throughput for row in rows):g} to {max(row.measured_throughput for row in rows):g} samples"
        " per second and GPU, against the simulation (both log): all lie just below the line of equality. Below, how"
        f" far the simulation is above each, {least:.1f} to {most:.1f}%; on average {said}. No measurement beats the"
        " ideal.",
    )


def _draw_throughputs(axes, rows: Sequence[simulation.Comparison]) -> None:
    """Measured against simulated throughput of each run, by schedule, with the names of the models below."""
    span = [0.8 * min(row.measured_throughput for row in rows), 1.3 * max(row.throughput for row in rows)]
    axes.plot(span, span, color=COLOURS["bound"], lw=1.5)
    axes.text(2.05, 2.6, "measured = simulated", rotation=38, rotation_mode="anchor", ha="center", va="bottom")
    for name, (colour, marker) in LOOKS.items():
        points = [(row.throughput, row.measured_throughput) for row in rows if row.schedule == name]
        axes.plot(*zip(*points), marker, color=COLOURS[colour], ms=5.5, mfc="none", mew=1.4)
    axes.set(xscale="log", yscale="log", xlim=span, ylim=span, xticks=(1, 2, 5, 10), yticks=(1, 2, 5, 10))
    axes.set(xlabel="simulated (samples per second per GPU, log)", ylabel="measured (the same, log)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    for model in simulation.SETUPS:
        mine = [row for row in rows if row.model == model]
        corner = max(row.throughput for row in mine), min(row.measured_throughput for row in mine)
        axes.annotate(model, corner, (9, -3), textcoords="offset points", va="top", ha="center")


def stage_memory() -> Drawing:
    """Memory of a GPU against stages, for the board's numbers: KV stays, weights shrink."""
    stages = np.array([1, 2, 4, 8])
    kv = np.broadcast_to(numbers.board(eq.chip_kv) / GB, stages.shape)
    weights = numbers.board(eq.chip_weights, stages=stages) / GB
    fig, axes = drawing.axes(5.0, 3.7)
    places = range(len(stages))
    axes.bar(places, kv, 0.62, color=COLOURS["kv"], alpha=0.75)
    axes.bar(places, weights, 0.62, kv, color=COLOURS["weights"], alpha=0.75)
    for x, held, more in zip(places, kv, weights):
        axes.text(x, held / 2, f"{significant(held)}", ha="center", va="center")
        axes.text(x, held + more + 0.3, f"+ {significant(more)}", ha="center", va="bottom", color=COLOURS["weights"])
    axes.set_xticks(places, [f"{p}" for p in stages])
    beside(axes, "KV", (places[-1] + 0.31, kv[-1] / 2), (7, 0), "kv", va="center")
    beside(axes, "weights", (places[-1] + 0.31, kv[-1] + weights[-1] / 2), (7, 0), "weights", va="center")
    axes.set(xlabel="pipeline stages P", ylabel="GB per GPU", xlim=(-0.5, len(stages) + 0.2))
    axes.set(ylim=(0, max(kv + weights) * 1.12))
    axes.grid(axis="x", visible=False)
    board = numbers.BOARD
    axes.set_title(
        f"{board['expert_parallel']} GPUs a stage, {pretty(board['n_total'], 'byte', exact=True)} of weights,\n"
        f"b = {board['micro_batch']:,}, L = {board['context']:,}, {board['kv_bytes_per_token']:,} B per token",
        loc="left",
    )
    shown = listed([significant(value) for value in weights])
    return done(
        fig,
        "fig-stage-memory",
        "More stages shrink the weights on a GPU. The KV cache stays as large as it was.",
        f"Stacked bars of memory per GPU, 0 to {max(kv + weights):.0f} GB, for {listed([str(p) for p in stages])}"
        f" pipeline stages of {board['expert_parallel']} GPUs. The KV part is {significant(kv[0])} GB in every bar; the"
        f" weights on top shrink: {shown} GB. Each stage holds fewer layers of the KV cache, of as many times more"
        " sequences.",
    )


# --- the hop, and what scale-up buys ----------------------------------------------------------------------------------

UNSURE = 10  # "could be off by an order of magnitude", 1:15:28


def _draw_ranges(times, lines: list[tuple[float, float, str, str]]) -> None:
    """A bar from the least to the most of each time, with its name."""
    for row, (low, high, colour, text) in enumerate(lines):
        times.plot(
            [low, high],
            [row, row],
            color=COLOURS[colour],
            lw=6,
            marker="o",
            ms=7,
            alpha=0.35 if colour == "claimed" else 1,
        )
        left = high > MS
        times.annotate(
            text,
            (low if left else high, row),
            (-10 if left else 10, 0),
            textcoords="offset points",
            va="center",
            ha="right" if left else "left",
        )


def hops() -> Drawing:
    """B11: the way from a GPU to the next rack's, and how long a hop takes by the lecture and by measurement."""
    fig, (axes, times) = drawing.axes(5.0, 5.2, 2, 1, height_ratios=(3.0, 2.3))
    _path(axes)
    switched = [
        row["latency_us"] * US
        for row in catalogue.measurement("deepseek_isca25_link_latency").records()
        if "leaf" in row["path"]
    ]
    sent, said = eq.hop(width=catalogue.model(RUNNING.model).d_model, **numbers.SENT), numbers.LECTURE_HOP
    step = numbers.board_step()
    lines = [
        (
            min(switched),
            max(switched),
            "measured",
            f"measured latency: {min(switched) / US:g} – {max(switched) / US:g} µs",
        ),
        (sent, sent, "scale_out", f"sending {numbers.SENT['micro_batch']:,} vectors: {sent / US:.0f} µs"),
        (said / UNSURE, said * UNSURE, "claimed", f"lecture, unsure: {said / MS:g} ms"),
        (step, step, "total", f"a decode step: {step / MS:.1f} ms"),
    ]
    _draw_ranges(times, lines)
    times.plot(said, 2, "o", color=COLOURS["claimed"], ms=9)
    times.set(xscale="log", xlim=(1e-6, 0.1), ylim=(len(lines) - 0.5, -0.5), yticks=[], xlabel="time (log scale)")
    times.set_xticks(10.0 ** np.arange(-6, 0), [pretty(10.0**n, "s", 1) for n in range(-6, 0)])
    times.spines["left"].set_visible(False)
    return done(
        fig,
        "fig-hops",
        "By bytes and latency, a hop is more than a hundred times shorter than the lecture's guess, and than a step.",
        "A sketch of the way from a GPU to one of the next rack: GPU, NIC, top-of-rack switch, data-center switch,"
        " top-of-rack switch, NIC, GPU. Below, times from 1 µs to 100 ms (log scale): measured latencies through"
        f" switches {min(switched) / US:g} to {max(switched) / US:g} µs; sending {numbers.SENT['micro_batch']:,}"
        f" vectors {sent / US:.0f} µs; the lecture's {said / MS:g} ms, unsure by a factor of {UNSURE}; a decode step"
        f" {step / MS:.1f} ms. Latency and sending together are {said / (max(switched) + sent):.0f} times"
        " shorter than the lecture's hop.",
    )


def _path(axes) -> None:
    """Two racks with GPU, NIC and switch each, and the data-center switch between them."""
    for rack, x in enumerate((1.2, 8.8)):
        axes.add_patch(Rectangle((x - 1.35, -0.6), 2.7, 3.95, fill=False, ec=COLOURS["muted"], ls="--", lw=1.2))
        axes.text(x, -0.75, f"rack {rack}", ha="center", va="top", color=COLOURS["muted"])
        for y, word, colour in ((0.0, "GPU", "compute"), (1.35, "NIC", "scale_out"), (2.7, "ToR switch", "scale_out")):
            _device(axes, x, y, word, colour)
    _device(axes, 5.0, 4.1, "data-center switch", "scale_out", 4.0)
    for x, up in ((1.2, True), (8.8, False)):
        for y in (0.4, 1.75):
            ends = (x, y), (x, y + 0.55)
            arrow(axes, *(ends if up else ends[::-1]), "bound")
    arrow(axes, (1.2, 3.1), (2.95, 4.1), "bound", connectionstyle="angle,angleA=90,angleB=180,rad=4")
    arrow(axes, (7.05, 4.1), (8.8, 3.1), "bound", connectionstyle="angle,angleA=0,angleB=90,rad=4")
    axes.text(5.0, 1.35, "one hop\n= the whole way;\nhops add up", ha="center", va="center", color=COLOURS["muted"])
    bare(axes, (-0.3, 10.3), (-1.35, 4.6))


def _device(axes, x: float, y: float, word: str, colour: str, width: float = 2.3) -> None:
    corner = x - width / 2, y - 0.38
    axes.add_patch(Rectangle(corner, width, 0.76, fc=COLOURS[colour], alpha=0.2, lw=0))
    axes.add_patch(Rectangle(corner, width, 0.76, fill=False, ec=COLOURS[colour], lw=1.3))
    axes.text(x, y, word, ha="center", va="center")


DOMAINS = ("a100-80gb-8", "h100-8", "h200-8", "b200-8", "gb200-nvl72", "vr200-nvl72")


def weights_in_parallel() -> Drawing:
    """Time to read the weights once on a whole scale-up domain: the domain did more than the chip."""
    systems = [catalogue.system(id) for id in DOMAINS]
    known = RUNNING.symbols()
    weights = known["n_total"] * known["bytes_per_param"]
    read = eq.parallel_weight_time.bind({name: known[name] for name in ("n_total", "bytes_per_param")})
    time = {row.id: read(row) / MS for row in systems}
    fig, axes = drawing.axes(5.0, 3.9)
    for line, row in enumerate(systems):
        fits = row.hbm_bytes >= weights
        axes.barh(line, time[row.id], 0.6, color=COLOURS["weights"], alpha=0.8 if fits else 0.3)
        axes.annotate(
            f"{significant(time[row.id])}", (time[row.id], line), (5, 0), textcoords="offset points", va="center"
        )
        if not fits:
            axes.text(time[row.id] / 2, line, "takes two", ha="center", va="center")
    axes.set_yticks(range(len(systems)), [_domain(row) for row in systems])
    before, between, after = "h100-8", "b200-8", "gb200-nvl72"
    chip, domain = time[before] / time[between], time[between] / time[after]
    for start, end, word in ((before, between, f"chips: {chip:.1f}×"), (between, after, f"domain: {domain:.0f}×")):
        _gain(axes, (time[start], DOMAINS.index(start)), (time[end], DOMAINS.index(end)), 1.35 * time[before], word)
    axes.set(xlim=(0, 2 * time[before]), ylim=(len(systems) - 0.5, -0.5))
    axes.set(xlabel=f"ms to load {pretty(weights, 'byte', 3)} of weights once")
    axes.grid(axis="y", visible=False)
    said = "; ".join(f"{_domain(row)} {significant(time[row.id])} ms" for row in systems)
    small = listed([_domain(row) for row in systems if row.hbm_bytes < weights])
    return done(
        fig,
        "fig-weights-in-parallel",
        "A larger domain loads the same weights faster, mostly because more GPUs load at the same time. Pale: one"
        " domain cannot hold them, so two load half each, one after the other.",
        f"Bars of the time to load {pretty(weights, 'byte', 3)} of weights once by all chips of a scale-up"
        f" domain: {said}. From H100 to B200 the chip makes it {chip:.1f} times shorter, from 8 to 72 chips the domain"
        f" {domain:.0f} times. Of {small} it takes two, one after the other.",
    )


def _domain(row: catalogue.System) -> str:
    """A domain's name without the form of its chips."""
    return re.sub(r" SXM| \(.*", "", plain(row.name))


def _gain(axes, start: tuple[float, float], end: tuple[float, float], x: float, text: str) -> None:
    """A bracket at x from one bar to another, with what the step gained."""
    low, high = start[1] + 0.08, end[1] - 0.08
    axes.plot([x - 1, x, x, x - 1], [low, low, high, high], color=COLOURS["bound"], lw=1.5)
    axes.annotate(text, (x, (low + high) / 2), (6, 0), textcoords="offset points", va="center")
