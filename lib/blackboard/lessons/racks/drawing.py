"""Shapes that several of the racks lesson's figures draw: boxes, a rack of GPUs."""

from __future__ import annotations

from typing import Any

from matplotlib.patches import Rectangle

from blackboard.charts.style import COLOURS

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
