"""Shapes that several of the racks lesson's figures draw: boxes, spans of time, a rack of GPUs."""

from __future__ import annotations

from typing import Any

from matplotlib.patches import Rectangle

from blackboard import units
from blackboard.charts.style import COLOURS
from blackboard.lessons.racks import numbers

US, MS = units.factor("us"), units.factor("ms")
UP = "network"  # colour of the scale-up network
NODE = 1.15  # side of a GPU's box


def box(
    axes, x: float, y: float, width: float, height: float, colour: str, text: str = "", fill: float = 0.0, **more: Any
) -> None:
    """A box around its centre, filled with its colour to a share, with a word in it."""
    corner = x - width / 2, y - height / 2
    if fill:
        axes.add_patch(Rectangle(corner, width, height, color=COLOURS[colour], alpha=fill, lw=0))
    axes.add_patch(Rectangle(corner, width, height, fill=False, ec=COLOURS[colour], **{"lw": 1.3} | more))
    if text:
        axes.text(x, y, text, color=COLOURS[colour], ha="center", va="center")


def stack(axes, y: float, spans: list[tuple[float, str]]) -> None:
    """A bar of times, s, each in its colour, with their lengths and their sum in ms."""
    start = 0.0
    for time, colour in spans:
        axes.barh(y, time / MS, 0.42, start / MS, color=COLOURS[colour], alpha=0.3)
        axes.barh(y, time / MS, 0.42, start / MS, fill=False, ec=COLOURS[colour], lw=1.3)
        if time / MS > 1:
            axes.text((start + time / 2) / MS, y, f"{time / MS:.1f}", ha="center", va="center")
        start += time
    axes.text(start / MS + 0.12, y, f"{start / MS:.1f} ms", va="center")


def loads(axes, run: numbers.Parts, start: float, word: str) -> None:
    """The memory traffic of a layer, from a time on; its weights are pale."""
    span(axes, 1, start, run.weights, run.work, "memory", word)


def sends(axes, run: numbers.Parts, start: float, word: str) -> None:
    """The exchanges of a layer, from a time on; their latency is pale."""
    span(axes, 0, start, run.latency, run.exchanges, "network", word)


def span(axes, row: int, start: float, fixed: float, time: float, colour: str, word: str) -> None:
    """A box of a timeline, pale up to its fixed part, with its length in it."""
    start, fixed, time, ink = start / US, fixed / US, time / US, COLOURS[colour]
    axes.add_patch(Rectangle((start, row - 0.36), fixed, 0.72, color=ink, alpha=0.2, lw=0))
    axes.add_patch(Rectangle((start + fixed, row - 0.36), time - fixed, 0.72, color=ink, alpha=0.75, lw=0))
    axes.add_patch(Rectangle((start, row - 0.36), time, 0.72, fill=False, ec=ink, lw=1.1))
    axes.text(start + fixed / 2, row, f"{time:.0f}{word}", ha="center", va="center")


def half_of_layers(axes, x: float, which: str) -> None:
    """A rack around x with four GPUs, each joined to the others."""
    box(axes, x, 2.3, 3.9, 4.9, "bound", lw=1.8)
    axes.text(x, 4.95, f"rack with the\n{which} half of the layers", ha="center", va="bottom", fontsize=10)
    at = [(x + 0.95 * right, 2.3 + 1.35 * up) for right in (-1, 1) for up in (-1, 1)]
    for n, here in enumerate(at):
        for there in at[:n]:
            axes.plot(*zip(here, there), color=COLOURS[UP], lw=2.0, zorder=0.5)
    for across, up in at:  # white, so that no line is seen through the box
        axes.add_patch(Rectangle((across - NODE / 2, up - NODE / 2), NODE, NODE, color="white", lw=0))
        box(axes, across, up, NODE, NODE, "memory", "GPU", 0.15)
