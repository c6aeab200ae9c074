"""The lessons' figures, each drawn and painted once for all tests of a process, and how well their texts are read."""

import functools
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from lessons import functions, room, told
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

LEAST = 4.5  # contrast of a text, WCAG 2.2, 1.4.3


def drawings(lesson):
    """(figures module, name, arguments) of each drawing of a lesson."""
    figures = room(lesson, "figures")
    return [
        (figures, name, args) for name, args in [*((name, ()) for name in functions(figures)), *told(lesson, "MORE")]
    ]


@functools.cache
def picture(figures, name, args=()):
    """A drawing; nothing may change it."""
    figure = getattr(figures, name)(*args)
    if isinstance(figure, Figure):
        plt.close(figure)
    return figure


def luminance(rgb):
    """Relative luminance of a colour, its parts from 0 to 1 (WCAG 2.2)."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    """Contrast of two colours, from 1 to 21 (WCAG 2.2)."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def tick_labels(figure):
    """The labels of all ticks: those that are drawn, and those beyond the limits of an axis, which are not."""
    drawn, beyond = set(), set()
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                seen = tick.get_visible() and axes.axison and min(limits) <= tick.get_loc() <= max(limits)
                for label in (tick.label1, tick.label2):
                    (drawn if seen and label.get_visible() else beyond).add(label)
    return drawn, beyond


class Painted(NamedTuple):
    """What is seen of a figure: each text with its box in pixels, and the colours that are painted without texts, each
    in one number.
    """

    texts: list
    ground: Any


def paint(figure):
    """Paint a figure, all but its letters, and find where these would stand."""
    canvas = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    renderer.draw_text = lambda *_, **__: None  # measured, not painted
    canvas.draw()
    _, beyond = tick_labels(figure)
    texts = [
        (text, Text.get_window_extent(text, renderer))  # an annotation's own box has its arrow in it
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in beyond
    ]
    return Painted(texts, np.asarray(canvas.buffer_rgba())[..., :3] @ [1 << 16, 1 << 8, 1])


@functools.cache
def painted(figures, name, *args):
    """A drawing, painted once for all tests of a process."""
    return paint(picture(figures, name, args))


def drawn_texts(figures, name, *args):
    """Every text of a drawing that is seen, with its box in pixels."""
    return [(text.get_text(), box) for text, box in painted(figures, name, *args).texts]


def behind(seen):
    """(text, colour of the text, the commonest colour that is painted behind it) of a painted figure."""
    height = seen.ground.shape[0]
    for text, box in seen.texts:
        left, right = max(0, int(box.x0)), int(np.ceil(box.x1))
        top, bottom = max(0, int(height - box.y1)), int(np.ceil(height - box.y0))
        grounds, counts = np.unique(seen.ground[top:bottom, left:right], return_counts=True)
        if len(grounds):
            yield text.get_text(), to_rgb(text.get_color()), to_rgb(f"#{grounds[counts.argmax()]:06x}")


def faint(seen):
    """The texts of a painted figure that lack contrast against what is painted behind them."""
    return [row for row in behind(seen) if contrast(row[1], row[2]) < LEAST]
