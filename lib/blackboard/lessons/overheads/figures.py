"""The overheads lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations`, a run of `simulation` or a count of `kernels`; published points come from the
catalogue.
"""

from __future__ import annotations

from matplotlib.patches import Rectangle

from blackboard import catalogue, units
from blackboard.catalogue.running_case import plain
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, note
from blackboard.charts.style import COLOURS
from blackboard.lessons.overheads import implied, simulation
from blackboard.lessons.overheads.simulation import Timeline
from blackboard.text import listed
from blackboard.units import significant

MS, US, GB = units.factor("ms"), units.factor("us"), units.factor("GB")
SMALL = 10  # points: the least that a phone shows well


def _ms(seconds: float, digits: int = 3) -> str:
    return f"{significant(seconds / MS, digits)} ms"


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
            axes.add_patch(Rectangle((box.start, line - 0.4), box.time, 0.8, color=face, alpha=0.55, lw=0))
            axes.add_patch(Rectangle((box.start, line - 0.4), box.time, 0.8, fill=False, ec=face, lw=1.2))
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
        said.append(f"{name} take {run.time:.0f} µs, with the chip busy {run.busy('device'):.0%} of the time")
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
        f"Three timelines of {len(KERNELS)} uneven kernels, each with a row for the host and one for the chip, over 0"
        f" to {max(run.time for run in runs.values()):.0f} µs. A launch takes {LAUNCH:g} µs. {listed(said)}. A gap"
        " stands before every kernel, in a graph too.",
    )


# --- step time --------------------------------------------------------------------------------------------------------


def what_is_left() -> Drawing:
    """A captured step on 1 to 8 chips, as loading and the rest, with the measured times."""
    line = implied.left_over()[0]
    fig, axes = drawing.axes(5.0, 3.6)
    for place, (chips, measured) in enumerate(line.points):
        load, lost = line.shared / chips / MS, line.left(chips) / MS
        axes.bar(place, lost, 0.62, color=COLOURS["launch"], alpha=0.75)
        axes.bar(place, load, 0.62, lost, color=COLOURS["weights"], alpha=0.75)
        axes.plot(place, measured / MS, "D", color=COLOURS["measured"], mfc="white", mew=1.8, ms=8, zorder=5)
        beside(axes, f"{measured / MS:.2f}", (place, measured / MS), (0, 9), "measured", ha="center")
    legend = (("◇ measured", "measured"), ("■ loading", "weights"), ("■ the rest", "launch"))
    for row, (text, colour) in enumerate(legend):
        mark, words = text.split(" ", 1)
        axes.text(1.98, 10.2 - 0.95 * row, mark, color=COLOURS[colour], alpha=1 if row == 0 else 0.75, fontsize=14)
        axes.text(2.2, 10.2 - 0.95 * row, words)
    names = [f"{chips} A100" for chips, _ in line.points]
    axes.set(ylim=(0, 11), ylabel="ms a step")
    axes.set_xticks(range(len(names)), names)
    axes.grid(visible=False, axis="x")
    axes.set_title(f"{plain(catalogue.model('llama-2-7b').name)}, 16 bits, from a graph", loc="left")
    said = [
        f"{chips} A100: loading {_ms(line.shared / chips, 2)}, the rest {_ms(line.left(chips), 2)}"
        for chips, _ in line.points
    ]
    return done(
        fig,
        "fig-what-is-left",
        "In our fit, more chips shorten only the loading. The rest does not shrink, and on eight chips it is most of"
        " the step.",
        "Stacked bars of our fit to the time per step of gpt-fast, captured as a graph, at batch 1, with the measured"
        f" times as diamonds at their tops. {'; '.join(said)}.",
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
    note(axes[1], 0.99, 0.5, "■ half a", "first", ha="right", va="bottom")
    note(axes[1], 0.99, 0.42, "■ half b", "second", ha="right", va="top")
    axes[-1].set(xlabel="time (a block of the whole batch takes 1)", xlim=(0, last + 0.15))
    said = [f"{name} {run.time:.1f}, chip busy {run.busy('device'):.0%}" for name, run in runs.items()]
    return done(
        fig,
        "fig-overlap-timeline",
        "While one half computes, the other sends. But where memory is the bottleneck, half a batch takes as long to"
        " compute as all of it, because it loads the same weights. (Two layers, without caches.)",
        f"Three timelines of {DRAWN} layers, each attention, dispatch, experts and combine, with a row for the chip and"
        f" one for the network, over 0 to {last:.1f}: {'; '.join(said)}.",
    )
