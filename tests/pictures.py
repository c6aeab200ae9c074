"""The lessons' figures, each drawn and painted once for all tests of a process, and how well their texts are read."""

import functools

import matplotlib.pyplot as plt
import numpy as np
from lessons import functions, room
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from blackboard.batching.figures import WORKED
from blackboard.case import RUNNING

LEAST = 4.5  # contrast of a text, WCAG 2.2, 1.4.3
LONG = RUNNING._replace(context=20_000)  # beyond batching's balanced context: no kink
MORE = {
    "batching": [(name, (case,)) for name in ("latency", "cost") for case in (WORKED, LONG)]
}  # figures drawn for other cases too


def drawings(lesson):
    """(figures module, name, arguments) of each drawing of a lesson."""
    figures = room(lesson, "figures")
    return [
        (figures, name, args)
        for name, args in [*((name, ()) for name in functions(figures) if name != "alt"), *MORE.get(lesson, ())]
    ]


@functools.cache
def picture(figures, name, args):
    """A drawing; nothing may change it."""
    figure = getattr(figures, name)(*args)
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


def seen_texts(figure):
    """(text, its box in pixels) of every text that is seen, by painting the figure."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    _, beyond = tick_labels(figure)
    return [
        (text, Text.get_window_extent(text, canvas.get_renderer()))  # an annotation's own box has its arrow in it
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in beyond
    ]


def behind(figure, texts):
    """(text, colour of the text, the commonest colour that is painted behind it), by painting without the texts."""
    layout, letters = figure.get_layout_engine(), [(text, text.get_alpha()) for text, _ in texts]
    figure.set_layout_engine("none")  # nothing moves when the texts go
    for text, _ in texts:
        text.set_alpha(0)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    shades = np.asarray(canvas.buffer_rgba())[..., :3] @ [1 << 16, 1 << 8, 1]  # a colour in one number
    for text, alpha in letters:
        text.set_alpha(alpha)
    figure.set_layout_engine(layout or "none")
    for text, box in texts:
        left, right = max(0, int(box.x0)), int(np.ceil(box.x1))
        top, bottom = max(0, int(shades.shape[0] - box.y1)), int(np.ceil(shades.shape[0] - box.y0))
        grounds, counts = np.unique(shades[top:bottom, left:right], return_counts=True)
        if len(grounds):
            yield text.get_text(), to_rgb(text.get_color()), to_rgb(f"#{grounds[counts.argmax()]:06x}")


def faint(figure, texts):
    """The texts of a figure that lack contrast against what is painted behind them."""
    return [row for row in behind(figure, texts) if contrast(row[1], row[2]) < LEAST]


@functools.cache
def texts_of(figures, name, args):
    """The texts of a drawing with their boxes."""
    return seen_texts(picture(figures, name, args))
