"""The overheads lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations`, a run of `simulation` or a count of `kernels`; published points come from the
catalogue.
"""

from __future__ import annotations

from matplotlib.patches import Rectangle

from blackboard import units
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, done
from blackboard.charts.style import COLOURS
from blackboard.lessons.overheads import implied, numbers, simulation
from blackboard.lessons.overheads.simulation import Timeline

MS = units.factor("ms")
FILLED = 0.55  # how opaque the boxes of a timeline are
SMALL = 10  # points: the least that a phone shows well


# --- the question -----------------------------------------------------------------------------------------------------


def opening() -> Drawing:
    """A token on two GPUs: the time that the roofline allows, and the time that nobody has explained yet."""
    found, (eager, floor) = implied.gpt_fast(), numbers.on_h200()
    fig, axes = drawing.axes(5.0, 1.75)
    rows = [("Llama 2 7B\non an A100", found.eager, found.floor), ("a similar model\non an H200", eager, floor)]
    said = []
    for line, (name, whole, least) in enumerate(rows):
        whole, least = whole / MS, least / MS
        axes.barh(line, least, 0.62, color=COLOURS["weights"])
        axes.barh(line, whole - least, 0.62, least, color=COLOURS["muted"], alpha=0.25, lw=0)
        axes.text((least + whole) / 2, line, f"{whole - least:.1f} ms: what for?", ha="center", va="center")
        words = f"{'roofline: ' if line == 0 else ''}loading the weights, {least:.1f} ms"
        axes.text(0, line - 0.36, words, va="bottom", color=COLOURS["weights"])
        said.append(f"{name.replace(chr(10), ' ')}: {least:.1f} of {whole:.1f} ms")
    axes.set(xlim=(0, max(whole for _, whole, _ in rows) / MS + 0.3), ylim=(1.45, -0.85), xlabel="ms of a token")
    drawing.name_rows(axes, range(2), [name for name, *_ in rows])
    return done(
        fig,
        "fig-missing",
        "The faster GPU loads in less than half of the time, and a token takes hardly less.",
        "Two bars of a token's time, with the part that loading the weights takes at full rate. The rest is grey and"
        f" asks what for. {'; '.join(said)}.",
    )


# --- timelines --------------------------------------------------------------------------------------------------------

LAUNCH, GAP, REPLAY = 25.0, 5.0, 5.0  # µs of a launch, of the gap before each kernel, and of starting a graph
KERNELS = (6.0, 16.0, 5.0, 4.0, 20.0, 5.0, 4.0, 10.0)  # µs of a step's kernels: an example
LARGER = 5  # the same kernels with more to do


def _bars(
    axes, run: Timeline, rows: dict[str, tuple[str, str]], colours: dict[str, str] | None = None, names: bool = False
) -> None:
    """The boxes of a timeline: `rows` gives each row's name and colour, `colours` one by a box's last letter; names
    where wanted.
    """
    for line, (row, (_, colour)) in enumerate(rows.items()):
        for box in run.of(row):
            face = COLOURS[(colours or {}).get(box.name[-1], colour)]
            axes.add_patch(Rectangle((box.start, line - 0.4), box.time, 0.8, color=face, alpha=FILLED, lw=0))
            axes.add_patch(Rectangle((box.start, line - 0.4), box.time, 0.8, fill=False, ec=face, lw=1.2))
            if names:
                axes.text(box.start + box.time / 2, line, box.name, ha="center", va="center", fontsize=SMALL)
    axes.set(ylim=(len(rows) - 0.5, -0.5))
    drawing.name_rows(axes, range(len(rows)), [name for name, _ in rows.values()])
    axes.grid(visible=False)


def _with_gaps(kernels: list[float]) -> Timeline:
    """A launched run whose device needs a gap before each kernel: the gap goes with the kernel through the queue, and
    is then cut off its box.
    """
    run = simulation.launched([GAP + time for time in kernels], LAUNCH)
    return Timeline(tuple(box._replace(start=box.start + GAP) if box.row == "device" else box for box in run.boxes))


def launch_timeline() -> Drawing:
    """Host and device over one step: small kernels that wait for their launches, larger ones that hide them, and a
    graph.
    """
    larger = [LARGER * time for time in KERNELS]
    runs = {
        "small kernels": _with_gaps(list(KERNELS)),
        "the same, as one graph": simulation.replayed(KERNELS, REPLAY, GAP),
        f"kernels {LARGER:g} times as long": _with_gaps(larger),
    }
    fig, axes = drawing.axes(5.0, 4.6, len(runs), 1, sharex=True)
    said = []
    for at, (name, run) in zip(axes, runs.items()):
        _bars(at, run, {"host": ("host", "launch"), "device": ("chip", "compute")})
        at.axvline(run.time, color=COLOURS["total"], lw=1.2, ls=":")
        at.set_title(f"{name}: {run.time:.0f} µs, chip busy {run.busy('device'):.0%}", loc="left")
        said.append(f"{name} take {run.time:.0f} µs, chip busy {run.busy('device'):.0%}")
    rows = ("device", "device", "host")
    for at, run, row, words in zip(
        axes, runs.values(), rows, ("pauses: waits for the host", "pauses: only gaps", "runs ahead")
    ):
        end = max(box.end for box in run.of(row))
        at.text(end + 6, row == "device", words, va="center", fontsize=SMALL)
    axes[-1].set(xlabel="time (µs)", xlim=(0, max(run.time for run in runs.values()) + 5))
    return done(
        fig,
        "fig-launch-timeline",
        "Short kernels finish before the next launch arrives, so the chip waits. A graph needs a single start, so only"
        " the gaps are left. Long kernels hide all launches but the first. (Made-up times.)",
        f"Three timelines of {len(KERNELS)} uneven kernels on the host and the chip, with launches of {LAUNCH:g} µs:"
        f" {'; '.join(said)}. There is a gap before every kernel, in a graph too.",
    )


# --- where a token goes -----------------------------------------------------------------------------------------------


def verdict() -> Drawing:
    """The opening's token as one bar: loading, what may be gaps or a loss per step, and what is left for the host."""
    found, line, fixed = implied.gpt_fast(), implied.left_over()[0], implied.fixed_cost()
    gaps = found.kernels * line.each
    ends = [found.floor, line.shared, fixed.time(1), line.shared + gaps, found.eager]
    floor, loaded, least, most, eager = (end / MS for end in ends)
    losses = f"{fixed.each / MS:.0f} to {gaps / MS:.0f} ms"
    waits = f"{eager - most:.0f} to {(found.eager - fixed.time(1)) / MS:.0f} ms"
    fig, axes = drawing.axes(5.0, 2.3)
    parts = (
        (0, floor, "weights", 0.8),
        (floor, loaded, "weights", 0.4),
        (loaded, least, "launch", 0.35),
        (most, eager, "launch", 0.8),
    )
    for start, end, colour, alpha in parts:
        axes.barh(0, end - start, 0.6, start, color=COLOURS[colour], alpha=alpha, lw=0)
    axes.barh(0, most - least, 0.6, least, color="white", edgecolor=COLOURS["launch"], hatch="////", lw=0)
    for y, sure, unsure in ((0.5, (most, eager), (least, most)), (-0.5, (loaded, least), (least, most))):
        axes.plot(sure, (y, y), color=COLOURS["launch"], lw=2.5, solid_capstyle="butt")
        axes.plot(unsure, (y, y), color=COLOURS["launch"], lw=2.5, ls=(0, (1.5, 1)))
    axes.text(0, 0.42, f"loading\n{floor:.1f} ms", va="bottom", linespacing=0.95, color=COLOURS["weights"])
    axes.text((least + eager) / 2, 0.6, f"waiting for the host: {waits}", ha="center", va="bottom")
    axes.text(loaded, -0.6, f"gaps, or a loss once per step: {losses}", va="top")
    axes.plot([(floor + loaded) / 2] * 2, (-0.3, -1.05), color=COLOURS["weights"], lw=1.2)
    axes.text(floor, -1.08, f"memory below its full rate: {loaded - floor:.0f} ms", va="top", color=COLOURS["weights"])
    axes.set(xlim=(0, eager + 0.3), ylim=(-1.5, 1.15), xlabel="ms of a token")
    axes.set_yticks([])
    axes.set_xticks([0, 10, 20, 30, eager], ["0", "10", "20", "30", f"{eager:.1f}"])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    return done(
        fig,
        "fig-verdict",
        "The chip spent most of the token waiting for its host. (The hatched part is gaps if every kernel has one, and"
        " waiting if none has.)",
        f"One bar of {eager:.1f} ms, a token: loading at full rate {floor:.1f} ms; memory below its full rate"
        f" {loaded - floor:.0f} ms; gaps, or a loss once per step, {losses}; waiting for the host {waits}. A hatched"
        " part may be either.",
    )


# --- a gap ------------------------------------------------------------------------------------------------------------

UNITS, LAST = 4, 2  # of a chip, and those that a kernel's last blocks keep busy
DONE, ENDED, STARTED, FED, OVER = 3.0, 4.5, 6.0, 7.7, 10.7  # when its full rounds end, then its last; the next kernel


def gap() -> Drawing:
    """The units of a chip from one kernel to the next: what the last blocks, the start and the first bytes take."""
    fig, axes = drawing.axes(5.0, 2.5)
    boxes = [(start, unit, 1.5, "first") for unit in range(UNITS) for start in (0.0, 1.5)]
    boxes += [(DONE, unit, ENDED - DONE, "first") for unit in range(LAST)]
    boxes += [(start, unit, 1.5, "second") for unit in range(UNITS) for start in (FED, FED + 1.5)]
    for start, unit, time, name in boxes:
        face = COLOURS[name]
        axes.add_patch(Rectangle((start, unit - 0.38), time, 0.76, color=face, alpha=FILLED, lw=0))
        axes.add_patch(Rectangle((start, unit - 0.38), time, 0.76, fill=False, ec=face, lw=1.2))
    for end in (DONE, ENDED, STARTED, FED):
        axes.plot((end, end), (-0.85, UNITS - 0.5), color=COLOURS["total"], lw=1.2, ls=":")
    for start, end, words in ((DONE, ENDED, "last\nblocks"), (ENDED, STARTED, "start"), (STARTED, FED, "first\nbytes")):
        axes.text((start + end) / 2, -0.6, words, ha="center", va="bottom", linespacing=0.95)
    axes.text(DONE / 2, -0.6, "a kernel", ha="center", va="bottom")
    axes.text((FED + OVER) / 2, -0.6, "the next", ha="center", va="bottom")
    axes.set(xlim=(-0.05, OVER + 0.05), ylim=(UNITS - 0.5, -1.75), xlabel="time")
    axes.set_xticks([])
    axes.set_yticks(range(UNITS), [f"unit {unit + 1}" for unit in range(UNITS)])
    axes.tick_params(axis="y", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.grid(visible=False)
    return done(
        fig,
        "fig-between-kernels",
        "In a gap, the chip waits three times: for the last blocks of a kernel, for the start of the next one, and for"
        " its first bytes. A graph removes none of the three. (Not to scale.)",
        f"{UNITS} units of a chip over time. A kernel's blocks fill all units twice, and its last"
        f" blocks only {LAST} of them. Then all units are idle while the next kernel starts, and while its first bytes"
        " come. Then its blocks fill all units.",
    )


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
        at.set_title(f"{name}: {run.time:.1f}", loc="left")
    for height, half, colour in ((0.58, "half a", "first"), (0.34, "half b", "second")):
        drawing.key(axes[1], 0.88, height, half, colour, box=FILLED)
    axes[-1].set(xlabel="time (a block of the whole batch takes 1)", xlim=(0, last + 0.15))
    said = [f"{name} {run.time:.1f}, chip busy {run.busy('device'):.0%}" for name, run in runs.items()]
    return done(
        fig,
        "fig-overlap-timeline",
        "While one half computes, the other sends. But where memory is the bottleneck, half a batch takes as long as"
        " all of it. (Two layers, without caches.)",
        f"Three timelines of chip and network over {DRAWN} layers, each attention, dispatch, experts and combine:"
        f" {'; '.join(said)}.",
    )
