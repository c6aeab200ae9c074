"""What a reader sees: texts that neither overlap nor are cut off, on screen, phone and paper, in colours to be read."""

import importlib
import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import ROOT, toc_pages
from lessons import functions
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from pictures import LEAST, contrast, faint, painted, picture

from blackboard.style import COLOURS, GROUNDS, INKS

PAGES = toc_pages()
DRAWERS = ["reality.figures", "reference.cost_charts", "reference.claims"]  # the lessons' are in test_figures.py


def source(name):
    """The source of a page, as text."""
    return next(path for end in ("md", "ipynb") if (path := ROOT / f"{name}.{end}").exists()).read_text("utf8")


CHARTED = [name for name in PAGES if re.search(r"\w_explorer\(", source(name))]


# --- colours ----------------------------------------------------------------------------------------------------------


def test_contrast_is_as_the_standard_has_it():
    """Black on white is 21; the grey that just passes on white is #767676."""
    white = to_rgb("white")
    assert contrast(to_rgb("black"), white) == pytest.approx(21)
    assert contrast(to_rgb("#777777"), white) < LEAST <= contrast(to_rgb("#767676"), white)


@pytest.mark.parametrize("theme", GROUNDS)
@pytest.mark.parametrize("colour", COLOURS)
def test_every_ink_can_be_read(theme, colour):
    """Each colour of the palette has an ink for texts in each theme."""
    assert contrast(to_rgb(INKS[theme][colour]), to_rgb(GROUNDS[theme])) >= LEAST


@pytest.mark.parametrize("name", DRAWERS)
def test_texts_of_figures_can_be_read(name):
    """Every text of every figure has contrast against what is painted behind it."""
    module, found = importlib.import_module(f"blackboard.{name}"), []
    for each in functions(module):
        if each != "alt" and isinstance(picture(module, each), Figure):
            found += [(each, *row) for row in faint(painted(module, each))]
    assert found == []


TEXT_COLOURS = r"""() => [...document.querySelectorAll('.explorable-live svg text')]
  .filter(text => text.textContent.trim() && text.checkVisibility())
  .map(text => [text.textContent, getComputedStyle(text).fill.match(/[\d.]+/g).slice(0, 3).map(Number)])"""


@pytest.mark.parametrize("theme", GROUNDS)
@pytest.mark.parametrize("name", CHARTED)
def test_texts_of_charts_can_be_read(visit, server, name, theme):
    """So do all texts of the interactive charts, against the page, which is the ground that the palette knows."""
    page = visit(f"{server}/{name}.html", mode=theme).page
    ground = [
        int(part) for part in re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))
    ]
    assert np.allclose(np.array(ground[:3]) / 255, to_rgb(GROUNDS[theme]))
    texts = page.evaluate(TEXT_COLOURS)
    shares = [(said, contrast([part / 255 for part in fill], to_rgb(GROUNDS[theme]))) for said, fill in texts]
    assert texts and [row for row in shares if row[1] < LEAST] == []


# --- interactive charts at the ends of their controls -----------------------------------------------------------------

# Each control alone at each end (a menu at each of its choices), and all of them together at either; then every text of
# the chart must be whole: inside the figure, inside what clips it, and on no other text. Two pixels of a line's height
# are free above and below its letters.
EXTREMES = r"""async (figure) => {
  const bound = JSON.parse(figure.querySelector('.explorable-spec').textContent).params.filter(each => each.bind);
  const ends = ({ bind }) => bind.options ?? [bind.min, bind.max];
  const alone = bound.flatMap(each => ends(each).map(value => ({ [each.name]: value })));
  const together = [0, -1].map(end => Object.fromEntries(bound.map(each => [each.name, ends(each).at(end)])));
  const live = figure.querySelector('.explorable-live'), view = figure.vegaView, found = [];
  const clip = (text) => {
    const group = text.closest('[clip-path]');
    if (!group) return null;
    const path = document.getElementById(group.getAttribute('clip-path').match(/#([^)"]+)/)[1]).firstElementChild;
    const box = path.getBBox(), { a, d, e, f } = group.getScreenCTM();
    const [x, y] = [[box.x, box.x + box.width], [box.y, box.y + box.height]];
    return { left: a * x[0] + e, right: a * x[1] + e, top: d * y[0] + f, bottom: d * y[1] + f };
  };
  const outside = (box, frame, free) => box.left < frame.left - 1 || box.right > frame.right + 1
    || box.top < frame.top - 1 - free || box.bottom > frame.bottom + 1 + free;
  for (const state of [{}, ...alone, ...together]) {
    for (const each of bound) view.signal(each.name, state[each.name] ?? each.value);
    await view.runAsync();
    await new Promise(requestAnimationFrame);
    const frame = live.querySelector('svg').getBoundingClientRect();
    const texts = [...live.querySelectorAll('svg text')]
      .filter(text => text.textContent.trim() && text.checkVisibility({ opacityProperty: true }));
    const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect(), clip(text)]);
    const tell = (...what) => found.push([JSON.stringify(state), ...what]);
    if (frame.right > live.getBoundingClientRect().right + 1) tell('wider than its box');
    boxes.forEach(([said, box, clipped], number) => {
      if (outside(box, frame, 0)) tell('leaves the figure', said);
      if (clipped && outside(box, clipped, 2)) tell('is cut off', said);
      for (const [other, there] of boxes.slice(number + 1)) {
        const across = Math.min(box.right, there.right) - Math.max(box.left, there.left);
        const down = Math.min(box.bottom, there.bottom) - Math.max(box.top, there.top);
        if (across > 1 && down > 1) tell('overlap', said, other);
      }
    });
  }
  return { states: 1 + alone.length + together.length, texts: figure.querySelectorAll('svg text').length, found };
}"""


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("name", CHARTED)
def test_charts_are_whole_at_the_ends_of_their_controls(visit, server, name, width):
    """No text is lost wherever a control is moved, and the console stays silent."""
    seen = visit(f"{server}/{name}.html", width=width)
    figures = seen.page.query_selector_all("figure.explorable")
    assert figures
    for figure in figures:
        told = figure.evaluate(EXTREMES)
        assert told["states"] >= 7 and told["texts"] > 5
        assert told["found"] == [], figure.get_attribute("aria-label")
    assert seen.complaints == []


# --- tables -----------------------------------------------------------------------------------------------------------

# Where the letters of a cell end, and where those of the next begin.
CELLS = r"""() => {
  const found = [], range = document.createRange();
  const letters = (cell) => {
    const boxes = [...cell.querySelectorAll('mjx-container')].map(each => each.getBoundingClientRect());
    const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      if (!walk.currentNode.data.trim() || walk.currentNode.parentElement.closest('mjx-container')) continue;
      range.selectNodeContents(walk.currentNode);
      boxes.push(...range.getClientRects());
    }
    const seen = boxes.filter(box => box.width > 1);
    const ends = (side) => seen.map(box => box[side]);
    return seen.length && { left: Math.min(...ends('left')), right: Math.max(...ends('right')) };
  };
  for (const row of document.querySelectorAll('article tr')) {
    if (!row.checkVisibility()) continue;
    const cells = [...row.cells], boxes = cells.map(letters);
    cells.forEach((cell, number) => {
      const box = boxes[number], next = boxes[number + 1], own = cell.getBoundingClientRect();
      const tell = (what) => found.push([what, cell.innerText]);
      if (box && (box.right > own.right + 1 || box.left < own.left - 1)) tell('leaves its cell');
      if (box && next && box.right > next.left + 1) tell('overlaps the next');
    });
  }
  return found;
}"""


@pytest.mark.parametrize("name", PAGES)
def test_no_cell_runs_over_the_next(visit, server, name):
    """No text of a table leaves its cell: on a screen, on a phone, on paper."""
    page = visit(f"{server}/{name}.html").page
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate(CELLS) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate(CELLS) == []
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 less its margins
    page.emulate_media(media="print")
    assert page.evaluate(CELLS) == []


# --- search -----------------------------------------------------------------------------------------------------------

# Letters that only an icon font has: the private use areas of Unicode.
FONT_ICONS = r"""() => {
  const lacking = (words) => /[\uE000-\uF8FF]/.test(words), found = lacking(document.body.innerText) ? ['text'] : [];
  for (const each of document.querySelectorAll('body *')) {
    for (const part of ['::before', '::after']) {
      if (lacking(getComputedStyle(each, part).content)) found.push(`${each.tagName} ${each.className} ${part}`);
    }
  }
  return found;
}"""


def test_no_icon_needs_a_font_that_is_not_there(visit, server):
    """Neither the search nor a page that it opened shows a box for a missing letter."""
    page = visit(f"{server}/search.html?q=batching").page
    page.wait_for_selector("#search-results li a")
    assert page.evaluate(FONT_ICONS) == []
    page = visit(f"{server}/{PAGES[1]}.html?highlight=batch").page
    page.wait_for_selector("#searchbox a")
    assert page.evaluate(FONT_ICONS) == []


MAGNIFIER = """(form) => {
  const input = form.querySelector('input'), looks = getComputedStyle(input);
  const words = input.getBoundingClientRect().left + parseFloat(looks.borderLeftWidth) + parseFloat(looks.paddingLeft);
  return words - form.querySelector('.fa-magnifying-glass').getBoundingClientRect().right;
}"""


def test_the_magnifier_stands_before_the_words(visit, server):
    """On the page of the search and in the field that opens over a page."""
    page = visit(f"{server}/search.html?q=batching").page
    assert page.eval_on_selector(".bd-search-container form", MAGNIFIER) >= 2
    page.keyboard.press("Control+k")
    assert page.eval_on_selector(".search-button__search-container form", MAGNIFIER) >= 2


# --- paper ------------------------------------------------------------------------------------------------------------


def shade(element):
    """The brightness, 0 to 1, in the middle of what the browser paints of an element."""
    picture = plt.imread(io.BytesIO(element.screenshot()))
    return picture[picture.shape[0] // 2, picture.shape[1] // 2, :3].mean()


@pytest.mark.parametrize("theme", GROUNDS)
def test_paper_shows_which_answer_is_chosen(visit, server, theme):
    """Printed from either theme, the chosen answer has a dark dot and the others have none."""
    page = visit(f"{server}/book/batching.html", mode=theme).page
    first, second = page.query_selector_all(".practice fieldset:first-of-type input[type=radio]")[:2]
    first.check()
    page.emulate_media(media="print")
    assert shade(second) > 0.9 > 0.6 > shade(first)


@pytest.mark.parametrize("name", PAGES)
def test_no_lead_in_stands_alone(name):
    """Bold words that open a paragraph, such as "Limits.", are followed by a sentence."""
    assert re.findall(r"^\*\*[^*\n]+\.\*\*\s*$", source(name), re.M) == []
