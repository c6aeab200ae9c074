"""The overheads lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations`, a run of `simulation` or a count of `kernels`; published points come from the
catalogue.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from blackboard import catalogue, units
from blackboard.catalogue import measurement
from blackboard.catalogue.running_case import plain
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, listed, note
from blackboard.charts.style import COLOURS
from blackboard.lessons.batching import equations as step
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import implied, simulation
from blackboard.lessons.overheads.implied import left_over, rack, sglang
from blackboard.lessons.overheads.simulation import Timeline
from blackboard.lessons.racks import equations as racks
from blackboard.units import significant

MS, US, GB = units.factor("ms"), units.factor("us"), units.factor("GB")
SMALL = 10  # points: the least that a phone shows well


def _ms(seconds: float, digits: int = 3) -> str:
    return f"{significant(seconds / MS, digits)} ms"


# --- timelines --------------------------------------------------------------------------------------------------------

KERNELS = (0.25, 0.65, 0.2, 0.15, 0.8, 0.2, 0.15, 0.4)  # times of a step's kernels, in those of a launch: an example
LARGER, GAP = 5, 0.1  # the same kernels with more to do; the gap before each, from a stream and in a graph


def _bars(
    axes, run: Timeline, rows: dict[str, tuple[str, str]], colours: dict[str, str] | None = None, names: bool = False
) -> None:
    """The boxes of a timeline: `rows` gives each row's name and colour, `colours` one by a box's last letter; names
    where wanted.
    """
    for line, (row, (_, colour)) in enumerate(rows.items()):
        for box in run.of(row):
            face = COLOURS[(colours or {}).get(box.name[-1], colour)]
            axes.add_patch(Rectangle((box.start, line - 0.4), box.time, 0.8, color=face, alpha=0.55, lw=0))
            axes.add_patch(Rectangle((box.start, line - 0.4), box.time, 0.8, fill=False, ec="white", lw=0.8))
            if names:
                axes.text(box.start + box.time / 2, line, box.name, ha="center", va="center", fontsize=SMALL)
    axes.set(ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), [name for name, _ in rows.values()])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)


def _with_gaps(kernels: list[float]) -> Timeline:
    """A launched run whose device needs a gap before each kernel: the gap goes with the kernel through the queue, and
    is then cut off its box.
    """
    run = simulation.launched([GAP + time for time in kernels], 1.0)
    return Timeline(tuple(box._replace(start=box.start + GAP) if box.row == "device" else box for box in run.boxes))


def launch_timeline() -> Drawing:
    """Host and device over one step: small kernels that wait for their launches, larger ones that hide them, and a
    graph.
    """
    larger = [LARGER * time for time in KERNELS]
    runs = {
        "small kernels": _with_gaps(list(KERNELS)),
        "the same, as one graph": simulation.replayed(KERNELS, 1.0, GAP),
        f"kernels {LARGER:g} times as long": _with_gaps(larger),
    }
    fig, axes = drawing.axes(5.0, 4.6, len(runs), 1, sharex=True)
    said = []
    for at, (name, run) in zip(axes, runs.items()):
        _bars(at, run, {"host": ("host", "launch"), "device": ("chip", "compute")})
        at.axvline(run.time, color=COLOURS["total"], lw=1.2, ls=":")
        at.set_title(f"{name}: {run.time:.1f}, chip busy {run.busy('device'):.0%}", loc="left")
        said.append(f"{name} take {run.time:.1f}, with the chip busy {run.busy('device'):.0%} of the time")
    axes[-1].set(xlabel="time (launches)", xlim=(0, max(run.time for run in runs.values()) + 0.2))
    return done(
        fig,
        "fig-launch-timeline",
        "Short kernels finish before the next launch arrives, so the chip waits. A graph removes the launches, and long"
        " kernels hide them.",
        f"Three timelines of {len(KERNELS)} uneven kernels, each with a row for the host and one for the chip, over 0"
        f" to {max(run.time for run in runs.values()):.0f} times of a launch: {listed(said)}. Where kernels are shorter"
        " than launches the chip waits; where they are longer the host runs ahead and does not show. A gap stands"
        " before every kernel, in a graph too.",
    )


# --- step time --------------------------------------------------------------------------------------------------------


@cache
def what_is_left() -> Drawing:
    """Captured steps on 1 to 8 chips against one over chips: straight lines that do not go through the origin."""
    lines = left_over()
    fig, rows = drawing.axes(5.0, 5.0, len(lines), 1, sharex=True)
    for axes, line, colour in zip(rows, lines, ("first", "second")):
        _draw_line(axes, line, colour)
    rows[-1].set_xticks([0, 1 / 8, 1 / 4, 1 / 2, 1], ["0", "1/8", "1/4", "1/2", "1"])
    rows[-1].set(xlabel="1 / chips")
    said = "; ".join(
        f"{line.model} {_ms(line.shared)} over the chips plus {_ms(line.left)}, off by at most {line.off:.1%}"
        for line in lines
    )
    return done(
        fig,
        "fig-what-is-left",
        "More chips shorten only the shared part of a step. Some microseconds per kernel remain, however many chips"
        " there are.",
        "Measured time per token of gpt-fast, captured as a graph, at batch 1 on up to 8 A100, against one over the"
        f" number of chips, 0 to 1. The points lie on straight lines: {said}. The lines do not go through zero:"
        f" {listed([f'{line.each / US:.1f} µs' for line in lines])} for each of"
        f" {listed([f'{line.kernels}' for line in lines])} kernels stay, however many chips share the loading."
        " All-reduces are among them; one chip alone has none, and launches"
        f" {listed([f'{line.alone}' for line in lines])}.",
    )


def _draw_line(axes, line: implied.Line, colour: str) -> None:
    """One model's measured steps, the line through them, and what that leaves where it meets the axis."""
    share = np.array([0, 1 / line.points[0][0]])
    axes.plot(share, (line.shared * share + line.left) / MS, color=COLOURS[colour])
    for chips, time in line.points:
        axes.plot(1 / chips, time / MS, "o", color=COLOURS[colour], ms=7)
        beside(axes, f"{chips} chip{'s' * (chips > 1)}", (1 / chips, time / MS), (8, -4), "bound", va="top")
    axes.plot(0, line.left / MS, "D", color=COLOURS["launch"], ms=8, clip_on=False, zorder=5)
    left = f"{line.left / MS:.1f} ms"
    beside(axes, f"left: {left}, {line.each / US:.1f} µs a kernel, all-reduces included", (0, 0), (9, 6), "launch")
    axes.set(xlim=(0, 1.19), ylim=(0, 1.15 * line.points[0][1] / MS), ylabel="ms a token")
    name = plain(catalogue.model(implied.CALLED[line.model]).name)
    axes.set_title(f"{name}, 16 bits: {line.shared / MS:.1f} ms / chips + {left}", loc="left")


# --- overlapping ------------------------------------------------------------------------------------------------------

ATTEND, SEND, MULTIPLY = 1.0, 0.75, 1.0  # a whole batch's times in a layer of the picture
DRAWN = 2  # layers


def overlap_timeline() -> Drawing:
    """Device and network over two layers: a whole batch in turn, two halves that take half as long, and two that do
    not.
    """
    phases = lambda compute, send: [
        ("device", compute * ATTEND),
        ("link", send * SEND),
        ("device", compute * MULTIPLY),
        ("link", send * SEND),
    ]
    runs = {
        "one batch": simulation.alternated(DRAWN, phases(1, 1), 1),
        "halves, waiting for compute": simulation.alternated(DRAWN, phases(0.5, 0.5)),
        "halves, waiting for memory": simulation.alternated(DRAWN, phases(1, 0.5)),
    }
    fig, axes = drawing.axes(5.0, 4.7, len(runs), 1, sharex=True)
    last = max(run.time for run in runs.values())
    for at, (name, run) in zip(axes, runs.items()):
        _bars(at, run, {"device": ("chip", "compute"), "link": ("network", "network")}, {"a": "first", "b": "second"})
        at.axvline(run.time, color=COLOURS["total"], lw=1.2, ls=":")
        at.set_title(f"{name}: {run.time:.1f}, chip busy {run.busy('device'):.0%}", loc="left")
    note(axes[1], 0.99, 0.5, "■ half a", "first", ha="right", va="bottom")
    note(axes[1], 0.99, 0.42, "■ half b", "second", ha="right", va="top")
    axes[-1].set(xlabel=f"time of {DRAWN} layers", xlim=(0, last + 0.15))
    said = [f"{name} {run.time:.1f}, chip busy {run.busy('device'):.0%}" for name, run in runs.items()]
    return done(
        fig,
        "fig-overlap-timeline",
        "While one half computes, the other sends. But each half loads all the weights.",
        f"Three timelines of {DRAWN} layers, each attention, dispatch, experts and combine, with a row for the chip and"
        f" one for the network, over 0 to {last:.1f}: {'; '.join(said)}. Halves that take half as long fill each"
        " other's gaps. Where a half reads as many weights as the whole it takes as long, and the chip is busy all the"
        " time without being faster.",
    )


def _ours(tokens: np.ndarray, case: dict[str, float]) -> np.ndarray:
    return np.array([implied.overlap(float(n), case=case) for n in tokens])


def overlap_gain() -> Drawing:
    """Gain of two halves against tokens a GPU: SGLang's machine by the formula and as measured, and the running
    case.
    """
    fig, axes = drawing.axes(5.0, 4.1)
    tokens, slow, ours = np.geomspace(8, 2048, 120), sglang(), rack()
    curves = {
        "72 H100, 9 nodes": (_ours(tokens, slow), "first", slow),
        "GB200 NVL72": (_ours(tokens, ours), "second", ours),
    }
    for curve, colour, _ in curves.values():
        axes.plot(tokens, curve, color=COLOURS[colour])
    turn = {name: eq.batch_overlap(case) / case["chips"] for name, (_, _, case) in curves.items()}
    for name, (_, colour, _) in curves.items():
        axes.plot(turn[name], 1, "o", color=COLOURS[colour], ms=7, zorder=5)
    (low, high), measured = _turned(), implied.sglang_measured()
    _draw_measured(axes, measured, low, high)
    by_h100, by_gb200 = turn.values()
    beside(axes, f"by formula\nfrom {by_h100:.0f}", (by_h100, 1), (-10, 14), "first", ha="right")
    beside(axes, f"from {by_gb200:.0f}", (by_gb200, 1), (6, -15), "second")
    peak = max(curves["72 H100, 9 nodes"][0])
    beside(axes, "72 H100, 9 nodes", (88, peak), (-8, 4), "first", ha="right")
    beside(axes, "GB200 NVL72", (330, 1.78), (-8, 0), "second", ha="right")
    axes.set(xscale="log", xlim=(8, 2048), ylim=(0.5, 2.05))
    axes.set(xlabel="tokens a GPU (log scale)", ylabel="times faster in two halves")
    axes.set_xticks([8, 32, 128, 512, 2048], ["8", "32", "128", "512", "2,048"])
    axes.xaxis.set_minor_formatter("")
    axes.set_title(f"DeepSeek-V3, FP8; context {slow['context']:,.0f} and {ours['context']:,.0f} tokens", loc="left")
    return done(
        fig,
        "fig-overlap-gain",
        "In small batches two halves lose, in large ones they win. The faster the network, the larger the batch must"
        " be.",
        "How many times faster DeepSeek-V3 decodes as two overlapping halves, 0.5 to 2.05, against tokens a GPU from 8"
        f" to 2,048 on a log scale. By the formula 72 H100 in nine nodes gain from {by_h100:.0f} tokens a GPU on, at"
        f" most {peak:.2f} times, and a GB200 NVL72 from {by_gb200:.0f} on. SGLang measured, on the H100,"
        f" {listed([f'{gain:g} at {place}' for place, gain in measured.items()])}, and the turn between {low} and"
        f" {high}: {low / by_h100:.1f} to {high / by_h100:.1f} times later than the formula has it.",
    )


def _draw_measured(axes, measured: dict[int, float], low: int, high: int) -> None:
    """What SGLang measured: gains by tokens a GPU, and the turn between `low` and `high`; a level line divides gain
    from loss.
    """
    axes.fill_between([low, high], 0.5, 2.05, color=COLOURS["measured"], alpha=0.12, lw=0)
    axes.text(np.sqrt(low * high), 2.03, "measured\nturn", ha="center", va="top", color=COLOURS["measured"])
    axes.plot(
        list(measured), list(measured.values()), "D", color=COLOURS["measured"], mfc="white", mew=1.8, ms=8, zorder=5
    )
    axes.axhline(1, color=COLOURS["muted"], lw=1)
    for place, gain in measured.items():
        beside(axes, f"measured {gain:g}", (place, gain), (8, -5) if gain < 1 else (-2, -18), "measured")


def _turned() -> tuple[int, int]:
    """Tokens a GPU between which SGLang saw the gain turn."""
    (row,) = measurement("overlap_thresholds").records(engine="SGLang")
    return row["low_tokens"], row["high_tokens"]


# --- all of it --------------------------------------------------------------------------------------------------------


LEAST, MOST = 256, 100_000  # sequences: from where all experts are touched, to beyond a full rack


CURVE_NAMES = {  # at which batch each stands, how many points across and up from its curve, and on which side
    "launching": (290, (0, -14), "left"),
    "gaps": (40_000, (0, 5), "left"),
    "memory": (400, (0, -13), "left"),
    "compute": (1_000, (-2, 7), "right"),
    "sending": (1_000, (6, -13), "left"),
    "one by one, sending in turn": (290, (0, 6), "left"),
    "from a graph": (290, (0, -15), "left"),
}


def _step_times(known: dict[str, float], batch: np.ndarray) -> dict[str, tuple[np.ndarray, str, dict[str, Any]]]:
    """By name, seconds of every term of a step and of the whole step at each batch, and how the curve is drawn."""
    level = lambda each: np.full_like(batch, known["kernels"] * known[each])
    sending = racks.comm_time(known, tokens_per_chip=batch / known["chips"], micro_batches=1)
    eager, captured = (np.array(times) for times in zip(*(implied.in_turn(known, float(n)) for n in batch)))
    thin, thick = {"lw": 1.6, "ls": "-"}, {"lw": 2.6}
    return {
        "launching": (level("launch_time"), "launch", thin),
        "gaps": (level("kernel_gap"), "launch", thin | {"ls": ":"}),
        "memory": (step.memory_time(known, batch=batch), "memory", thin),
        "compute": (step.compute_time(known, batch=batch), "compute", thin),
        "sending": (sending, "network", thin),
        "one by one, sending in turn": (eager, "total", thick),
        "from a graph": (captured, "total", thick | {"ls": (0, (4, 2))}),
    }


def all_terms() -> Drawing:
    """Every term of a step against batch, for the running case, with the batches at which one gives way to the next."""
    fig, axes = drawing.axes(5.0, 4.6)
    known, batch = rack(), np.geomspace(LEAST, MOST, 400)
    curves = _step_times(known, batch)
    for curve, colour, looks in curves.values():
        axes.plot(batch, curve / MS, color=COLOURS[colour], **looks)
    halves, leaves = eq.batch_overlap(known), implied.hidden_from(known)
    axes.set(xscale="log", yscale="log", xlim=(LEAST, MOST), ylim=(0.09, 90))
    axes.set(xlabel="batch (sequences, log scale)", ylabel="ms (log scale)")
    axes.set_xticks([300, 1_000, 3_000, 10_000, 30_000, MOST], ["300", "1,000", "3,000", "10,000", "30,000", "100,000"])
    axes.xaxis.set_minor_formatter("")
    axes.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    for name, (at, shift, side) in CURVE_NAMES.items():
        curve, colour, _ = curves[name]
        beside(axes, name, (at, np.interp(at, batch, curve) / MS), shift, colour, ha=side)
    axes.axvline(leaves, ymax=0.93, color=COLOURS["launch"], lw=1, ls=":")
    axes.axvline(halves, ymax=0.84, color=COLOURS["network"], lw=1, ls=":")
    beside(axes, f"two halves from {halves:,.0f}", (halves, 25), (-5, 0), "network", ha="right")
    beside(axes, f"launches hidden from {leaves:,.0f}", (leaves, 50), (-5, 0), "launch", ha="right")
    axes.set_title("DeepSeek-V3, FP8, on GB200 NVL72, compiled", loc="left")
    said = lambda name: _ms(curves[name][0][0], 2)
    return done(
        fig,
        "fig-all-terms",
        "Launches dominate the small batches of a rack. With bare gaps, as drawn, a graph removes most of that time."
        " Compute takes over at the end.",
        f"Times of one step of DeepSeek-V3 on a GB200 NVL72 against batch from {LEAST} to {MOST:,} sequences, both log"
        f" scales. Launching {known['kernels']:,} kernels one by one takes {said('launching')} whatever the batch, the"
        f" gaps {said('gaps')}; memory traffic starts at {said('memory')}, and compute and sending rise in proportion."
        " The step one by one takes the greater of launching and of gaps, memory traffic or compute, and sending: it is"
        f" launch-bound up to {leaves:,.0f} sequences. From a graph it starts at {said('from a graph')}. Sending takes"
        f" longer than loading the weights once more from {halves:,.0f} sequences on.",
    )
