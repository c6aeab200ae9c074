"""Shapes that several of the racks lesson's figures draw: boxes."""

from __future__ import annotations

from typing import Any

from matplotlib.patches import Rectangle

from blackboard.charts.style import COLOURS


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
