"""How a run of a pipeline is drawn: a row per box, a rectangle per pass, a color per kind of pass, idle time white."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from blackboard.charts.drawing import Drawing
from blackboard.charts.style import COLOURS
from blackboard.lessons.pipelining.timeline import Box, Costs, Timeline

KINDS = {"F": "first", "B": "second", "W": "third"}
TINTS = {"F": 0.4, "B": 0.6, "W": 0.5}  # how opaque: numbers on them can be read on paper and in the dark
SMALL = 10  # points: the least that a phone shows well


def _weights(run: Timeline) -> set[tuple]:
    """The passes of a run that make gradients of weights alone."""
    return {key for box in run.boxes for key in box.keys if key[0] == "W"}


def _kinds(box: Box, weights: set[tuple]) -> list[str]:
    """Kinds of what a box does; a backward that is not split does both gradients."""
    whole = any(kind == "B" and ("W", batch, stage) not in weights for kind, batch, stage in box.keys)
    return [kind for kind, _, _ in box.keys] + ["W"] * whole


def _parts(box: Box, weights: set[tuple], costs: Costs) -> list[tuple[str, float]]:
    """Kinds of what a box does at once, with their times."""
    times = [(kind, float(costs.of(kind, box.stage))) for kind in _kinds(box, weights)]
    return [(kind, time) for kind, time in times if time]


def _number(box: Box, inches: float) -> str:
    """Micro-batches of a box where so many inches hold them, else nothing."""
    text = "&".join(str(batch) for _, batch, _ in box.keys)
    return text if inches >= 0.1 * len(text) + 0.02 else ""


def draw_run(axes, run: Timeline, costs: Costs, inches: float = 0.0, name: str = "box") -> None:
    """The passes of a run, a row per box, box 0 on top; with `inches` for the whole time, numbers where they fit.

    What a device does at once shares the height of its box by time, so that equal work has equal area.
    """
    weights = _weights(run)
    for box in run.boxes:
        low, width = box.device - 0.46, float(box.end - box.start)
        parts = _parts(box, weights, costs)
        whole = sum(time for _, time in parts)
        for kind, time in parts:
            later = run.chunks > 1 and box.stage >= run.devices  # chunks behind the first are lighter
            axes.add_patch(
                Rectangle(
                    (box.start, low),
                    width,
                    0.92 * time / whole,
                    color=COLOURS[KINDS[kind]],
                    alpha=TINTS[kind] / (2 if later else 1),
                    lw=0,
                )
            )
            low += 0.92 * time / whole
        axes.add_patch(Rectangle((box.start, box.device - 0.46), width, 0.92, fill=False, ec="white", lw=0.6))
        if inches and (text := _number(box, inches * width / float(run.makespan))):
            axes.text(
                box.start + width / 2, box.device, text, ha="center", va="center_baseline", fontsize=SMALL, clip_on=True
            )
    label_boxes(axes, run.devices, name)
    axes.set_xlim(0, float(run.makespan))


def label_boxes(axes, devices: int, name: str = "box") -> None:
    """Rows for boxes 0, 1, … from top to bottom, or for other machines."""
    axes.set(ylim=(devices - 0.5, -0.5))
    axes.set_yticks(range(devices), [f"{name} {d}" for d in range(devices)])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)


def draw_key(fig: Drawing, height: float, tints: dict[str, float] = TINTS) -> None:
    """What the colours mean, in words beside squares of them, at a height of the figure."""
    words = {"F": "F: forward", "B": "B: gradient of inputs", "W": "W: gradient of weights"}
    wide, high = 0.13 / fig.get_figwidth(), 0.13 / fig.get_figheight()
    for x, kind in zip((0.01, 0.23, 0.61), KINDS):
        looks: dict[str, Any] = {"fc": COLOURS[KINDS[kind]], "alpha": tints[kind], "lw": 0}
        fig.add_artist(Rectangle((x, height - high / 2), wide, high, transform=fig.transFigure, **looks))
        fig.text(x + 1.35 * wide, height, words[kind], va="center", fontsize=SMALL)


def draw_served(axes, run: Timeline, end: float) -> None:
    """The passes of a decoding run up to a time; micro-batch 0 stands out."""
    for box in run.boxes:
        if box.start < 0.98 * end:  # of a later one no more than a splinter is seen
            mine, width = box.micro_batch == 0, box.end - box.start
            looks: dict[str, Any] = {
                "fc": COLOURS["compute" if mine else "muted"],
                "alpha": 0.6 if mine else 0.25,
                "ec": "white",
                "lw": 1,
            }
            axes.add_patch(Rectangle((box.start, box.device - 0.46), width, 0.92, **looks))
            if (middle := box.start + width / 2) < 0.98 * end:  # else the edge would cut the number
                axes.text(middle, box.device, str(box.micro_batch), ha="center", va="center_baseline")
    label_boxes(axes, run.devices)
    axes.set(xlim=(0, end), xticks=np.arange(0, end + 1, run.devices))


PLAIN, FAINT = 0.7, 0.2  # how opaque passes without numbers are: those of a step, and of the steps around it


def draw_plain(axes, run: Timeline, width: float) -> None:
    """A run of equal passes on an axis of `width` slots, without numbers: a whole backward pass is B and then W, and
    what runs side by side shares the height of its box. Idle time is gray. Where boxes begin the next step one after
    another, they do not wait for each other: the steps before and after fill their ends, and are faint.
    """
    weights, period, end = _weights(run), run.period, run.makespan
    for device, row in enumerate(run.rows):
        low = device - 0.42
        axes.add_patch(Rectangle((0, low), end, 0.84, fc=COLOURS["muted"], alpha=0.22, lw=0))
        for shift, opaque in ((-period, FAINT), (period, FAINT), (0, PLAIN)):
            for box in row:
                if box.start + shift >= 0 and box.end + shift <= end:
                    _draw_pass(axes, box, box.start + shift, low, _kinds(box, weights), opaque, run.devices)
    label_boxes(axes, run.devices)
    axes.set(xlim=(0, width), yticks=[0, run.devices - 1])
    axes.set_yticklabels([f"box {device}" for device in (0, run.devices - 1)])


def _draw_pass(axes, box: Box, start: Any, low: float, kinds: list[str], opaque: float, devices: int) -> None:
    """What a box does from a start on, a part for each kind."""
    whole, part = box.end - box.start, 1 / len(kinds)
    axes.add_patch(Rectangle((start, low), whole, 0.84, fc="white", lw=0))
    face: dict[str, Any] = {"alpha": opaque / 2 if box.stage >= devices else opaque, "lw": 0}
    for place, kind in enumerate(kinds):
        aside, up = (0, place * part) if box.beside else (place * part, 0)
        wide, high = (1, part) if box.beside else (part, 1)
        corner = start + aside * whole, low + 0.84 * up
        axes.add_patch(Rectangle(corner, wide * whole, 0.84 * high, fc=COLOURS[KINDS[kind]], **face))
    axes.add_patch(Rectangle((start, low), whole, 0.84, fill=False, ec="white", lw=0.5))
