"""Figures of every lesson: they draw, say in words what they show, and no two texts stand on each other."""

import itertools

import matplotlib.pyplot as plt
import pytest
from cases import cases
from lessons import LESSONS
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text
from pictures import drawings, drawn_texts, faint, painted, picture

from blackboard.charts import drawing
from blackboard.charts.style import COLOURS, INKS

DRAWN = [
    pytest.param(*row, id=f"{lesson}-{row[1]}-{'-'.join(map(str, row[2]))}".rstrip("-"))
    for lesson in LESSONS
    for row in drawings(lesson)
]
drawn = cases(("figures", "name", "args"), DRAWN)


@pytest.fixture(autouse=True)
def closed():
    """Leave no figure open."""
    yield
    plt.close("all")


def test_a_notebook_shows_a_figure_once():
    """A figure that was returned and shown is closed, so that the end of the cell does not show it again."""
    figure = drawing.done(drawing.axes()[0], "fig-empty", "Nothing.", "An empty figure.")
    assert plt.fignum_exists(figure.number)
    assert figure._repr_mimebundle_() == {"text/plain": figure.alt}
    assert not plt.fignum_exists(figure.number)


@pytest.mark.parametrize("words", [("", "A caption.", "A text."), ("fig", " ", "A text."), ("fig", "A caption.", " ")])
def test_a_figure_without_words_is_refused(words):
    with pytest.raises(ValueError, match="alt text"):
        drawing.done(drawing.axes()[0], *words)


@drawn
def test_figure_has_alt_text(figures, name, args):
    """A Figure with a plain sentence or more."""
    figure = picture(figures, name, args)
    assert isinstance(figure, Figure)
    assert len(figure.alt) > 100 and figure.alt.endswith(".") and "\n" not in figure.alt and "nan" not in figure.alt


@drawn
def test_lines_and_words_have_colours_of_the_palette(figures, name, args):
    """Colour-blind safe: every curve has a colour of the palette, and every text too, or black."""
    figure = picture(figures, name, args)
    known, inks = ({to_hex(colour) for colour in palette.values()} for palette in (COLOURS, INKS["light"]))
    lines = {
        to_hex(line.get_color()) for axes in figure.axes for line in axes.get_lines() if line.get_linestyle() != "None"
    }
    texts = {to_hex(text.get_color()) for text in figure.findobj(Text) if text.get_text()}
    assert lines <= known and texts <= inks | {"#000000", "#ffffff"}


@drawn
@pytest.mark.slow
def test_no_texts_overlap(figures, name, args):
    """No text covers another, and none leaves the picture."""
    figure = picture(figures, name, args)
    texts = drawn_texts(figures, name, *args)
    assert len(texts) >= 4
    for (one, a), (two, b) in itertools.combinations(texts, 2):
        width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert width <= 1 or height <= 1, f"{one!r} and {two!r} overlap by {width:.0f} × {height:.0f} pixels"
    for text, box in texts:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        assert inside, f"{text!r} leaves the picture: {box.bounds}"


@drawn
def test_letters_are_readable_on_a_phone(figures, name, args):
    """At 330 CSS pixels across, no letter is smaller than 9 pixels."""
    figure = picture(figures, name, args)
    shrunk = 330 / (figure.get_figwidth() * 72)
    assert min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text()) * shrunk >= 9


@drawn
@pytest.mark.slow
def test_texts_can_be_read(figures, name, args):
    """Every text has contrast against what is painted behind it."""
    assert faint(painted(figures, name, *args)) == []


@drawn
def test_bars_have_linear_axes(figures, name, args):
    """The length of a bar says nothing on a log axis."""
    for axes in picture(figures, name, args).axes:
        for bars in (each for each in axes.containers if isinstance(each, BarContainer)):
            along = axes.get_xscale() if bars.orientation == "horizontal" else axes.get_yscale()
            assert along == "linear"
