"""What the lessons' figures are drawn with: a figure that carries its caption and its alt text, and names beside
curves, not in legends.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, NullLocator
from matplotlib.transforms import ScaledTranslation
from scipy.optimize import isotonic_regression

from blackboard.charts import style
from blackboard.charts.style import COLOURS
from blackboard.text import curl, on_page
from blackboard.units import percent as percent


class Drawing(Figure):
    """A figure that a notebook shows once, whether it is returned or left open; `alt` says what it shows, and `name` is
    its label on the page.
    """

    name = caption = alt = ""

    def _repr_mimebundle_(self, include=None, exclude=None) -> Any:
        plt.close(self)  # shown now, so not again at the end of the cell
        if not on_page():
            return {"text/plain": self.alt}
        options = {"image": {"alt": self.alt}, "figure": {"caption": self.caption, "name": self.name}}
        return {"text/plain": self.alt, "image/svg+xml": style.svg(self)}, {"mystnb": options}


def axes(width: float = 5.0, height: float = 3.6, rows: int = 1, columns: int = 1, **more: Any) -> tuple[Drawing, Any]:
    """An empty figure in the course's style, in inches, and its axes: one, or an array of rows and columns."""
    style.use()
    return plt.subplots(rows, columns, figsize=(width, height), FigureClass=Drawing, **more)


def done(fig: Drawing, name: str, caption: str, alt: str) -> Drawing:
    """The figure with its label, its caption (which may have roles, as a page) and its alt text; ValueError where one
    is missing.
    """
    if not (name and caption.strip() and alt.strip()):
        raise ValueError("a figure needs a label, a caption and an alt text that says what it shows, with its range")
    fig.name, fig.caption, fig.alt = name, caption, alt
    quiet = style.PAGE["light"]
    for at in fig.axes:  # as interactive charts have them
        at.set_axisbelow(True)
        at.spines[:].set_color(quiet["line"])
        at.tick_params(which="both", color=quiet["line"], grid_color=quiet["grid"], grid_alpha=1)
        for axis in (at.xaxis, at.yaxis):
            if isinstance(axis.get_major_locator(), FixedLocator):  # 60 and 70 beside 64 would be taken for its parts
                axis.set_minor_locator(NullLocator())
    for text in fig.findobj(Text):
        text.set_text(curl(text.get_text()))
        text.set_color(style.ink(to_hex(text.get_color()).upper()))
    return fig


def filled(text: Any, width: int = 46) -> str:
    """A case, or any text, in lines of `width` characters that fit the picture."""
    return textwrap.fill(str(text), width)


def name_ends(at: Any, names: list[tuple[float, str, str]], apart: float = 0.075) -> None:
    """Name curves at the right edge of the axes `at`, where they end: (y, text, colour), pushed apart, up and down, by
    a share of the height.
    """
    height, names = at.transData + at.transAxes.inverted(), sorted(names)
    steps = apart * np.arange(len(names))
    ends = [height.transform((at.get_xlim()[1], y))[1] for y, *_ in names]
    places = steps + np.clip(isotonic_regression(ends - steps).x, 0, 1 - steps[-1])
    for place, (_, text, colour) in zip(places, names):
        at.annotate(
            text,
            (1, place),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            color=COLOURS[colour],
            va="center",
        )


def point(at: Any, end: tuple[float, float], text: str, place: tuple[float, float], colour: str = "bound") -> None:
    """An arrow to the point `end` of the axes `at`, from a text placed in shares of the axes."""
    at.annotate(
        text,
        end,
        place,
        textcoords="axes fraction",
        ha="center",
        va="center",
        color=COLOURS[colour],
        arrowprops={"arrowstyle": "->", "color": COLOURS[colour]},
    )


def arrow(
    at: Any, start: tuple[float, float], end: tuple[float, float], colour: str, style: str = "-|>", **more: Any
) -> None:
    """A bare arrow on the axes `at`, in their own coordinates; `more` goes to matplotlib's arrow."""
    looks = {"arrowstyle": style, "color": COLOURS[colour], "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
    at.annotate("", end, start, arrowprops=looks | more)


def bare(at: Any, xlim: tuple[float, float], ylim: tuple[float, float]) -> None:
    """A drawing without axes, as high as it is wide."""
    at.set(xlim=xlim, ylim=ylim, aspect="equal")
    at.axis("off")


def beside(at: Any, text: str, end: tuple, shift: tuple[float, float], colour: str = "bound", **more: Any) -> None:
    """A text beside the point `end` of the axes `at`, so many points across and up from it."""
    at.annotate(text, end, shift, textcoords="offset points", color=COLOURS[colour], **more)


def note(at: Any, x: float, y: float, text: str, colour: str = "", **more: Any) -> None:
    """A text at a place in shares of the axes `at`, in a colour of the palette where one is named."""
    looks = {"va": "center"} | ({"color": COLOURS[colour]} if colour else {}) | more
    at.text(x, y, text, transform=at.transAxes, **looks)


def name_rows(at: Any, places: Sequence[float], names: Sequence[str]) -> None:
    """Name rows of bars at the left of the axes `at`, which need no line, ticks or grid there."""
    at.set_yticks(places, names)
    at.tick_params(axis="y", length=0)
    at.spines["left"].set_visible(False)
    at.grid(axis="y", visible=False)


def key(
    at: Any,
    x: float,
    y: float,
    text: str,
    colour: str,
    up: float = 0.0,
    within: Any = None,
    box: float | None = None,
    **more: Any,
) -> Text:
    """A word of a key beside a square in the very color of what is drawn: words themselves are written in a darker one.
    The place is in shares of the axes `at`, or in another transform, and so many points up. What is drawn as boxes with
    an edge, filled so opaque (`box`), has such a box here.
    """
    where = within or at.transAxes
    higher = where + ScaledTranslation(0, up / 72, at.figure.dpi_scale_trans)
    looks = {"ms": 7, "mew": 0} if box is None else {"ms": 10, "mew": 1.2, "mfc": to_rgba(COLOURS[colour], box)}
    (square,) = at.plot(x, y, "s", color=COLOURS[colour], transform=higher, clip_on=False, **looks)
    square.set_in_layout(False)
    return at.annotate(text, (x, y), (8, up), xycoords=where, textcoords="offset points", va="center", **more)


def thousands(at: Any, *names: str) -> None:
    """Plain numbers on these log axes ("x", "y") instead of powers of ten, as the live charts have them: 0.01, 1,000
    or 10M.
    """
    for name in names:
        axis = getattr(at, f"{name}axis")
        axis.set_major_formatter(lambda value, _: f"{value:,g}" if value < 1e6 else f"{value / 1e6:g}M")
        axis.set_minor_formatter("")
