"""What a reader sees: colours that can be read, icons that are there, answers on paper."""

import importlib
import io
import itertools
import re

import matplotlib.pyplot as plt
import pytest
from cases import cases
from conftest import ROOT, toc_pages
from lessons import functions
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from pictures import LEAST, contrast, drawn_texts, faint, painted, picture
from pypdf import PdfReader

from blackboard.charts.marks import TICK
from blackboard.charts.page_chart import pretty, read_lines
from blackboard.charts.style import COLOURS, GROUNDS, INKS, QUANTITIES

PAGES = toc_pages()
DRAWERS = [
    "validation.figures",
    "validation.serving_figures",
    "validation.gpu_figures",
    "reference.cost_charts",
]  # the lessons' are in test_figures.py


def source(name):
    """The source of a page, as text."""
    return next(path for end in ("md", "ipynb") if (path := ROOT / f"{name}.{end}").exists()).read_text("utf8")


# --- colours ----------------------------------------------------------------------------------------------------------


def test_contrast_is_as_the_standard_has_it():
    """Black on white is 21; the grey that just passes on white is #767676."""
    white = to_rgb("white")
    assert contrast(to_rgb("black"), white) == pytest.approx(21)
    assert contrast(to_rgb("#777777"), white) < LEAST <= contrast(to_rgb("#767676"), white)


@cases("theme", GROUNDS)
@cases("colour", COLOURS)
def test_every_ink_can_be_read(theme, colour):
    """Each colour of the palette has an ink for texts in each theme."""
    assert contrast(to_rgb(INKS[theme][colour]), to_rgb(GROUNDS[theme])) >= LEAST


@pytest.mark.parametrize("name", DRAWERS)
@pytest.mark.slow
def test_texts_of_figures_can_be_read(name):
    """Every text of every figure has contrast against what is painted behind it."""
    module, found = importlib.import_module(f"blackboard.{name}"), []
    for each in functions(module):
        if isinstance(picture(module, each), Figure):
            found += [(each, *row) for row in faint(painted(module, each))]
    assert found == []


def figures_of(name):
    """(module, name of the function, figure) of each figure of a module."""
    module = importlib.import_module(f"blackboard.{name}")
    found = [(module, each, picture(module, each)) for each in functions(module)]
    return [row for row in found if isinstance(row[2], Figure)]


@pytest.mark.parametrize("name", DRAWERS)
def test_letters_are_readable_on_a_phone(name):
    """On a screen of 390 CSS pixels, of which the page leaves 358 to a figure, no letter is below 9 pixels."""
    for _, each, figure in figures_of(name):
        letters = min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text())
        assert letters * 358 / (figure.get_figwidth() * 72) >= 9, each


@pytest.mark.parametrize("name", DRAWERS)
@pytest.mark.slow
def test_no_texts_overlap(name):
    """No text covers another, and none leaves the picture."""
    for module, each, figure in figures_of(name):
        texts = drawn_texts(module, each)
        for (one, a), (two, b) in itertools.combinations(texts, 2):
            width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert width <= 1 or height <= 1, (each, one, two)
        for text, box in texts:
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
            assert inside, (each, text)


TINTS = {  # of the verdicts: words and marks tell the last ones apart
    "holds": "fourth",
    "part": "second",
    "near": "first",
    "fails": "third",
    "against": "sixth",
    "more": "fifth",
    "mended": "bound",
    "nosource": "muted",
    "open": "muted",
}


@pytest.mark.parametrize("theme", GROUNDS)
def test_verdicts_have_colors_of_the_palette(theme):
    """None a quantity's, and seen on the ground of their theme."""
    style = (ROOT / "book" / "_scripts" / "claims.css").read_text("utf8")
    tints, before = (COLOURS, r"(?<!\] )") if theme == "light" else (INKS["dark"], r'html\[data-theme="dark"\] ')
    told = dict(re.findall(before + r"\.claim-(\w+) \{ --claim: (#\w+); \}", style))
    assert told == {verdict: tints[name] for verdict, name in TINTS.items()}
    assert not {*TINTS.values()} & {*QUANTITIES}
    assert all(contrast(to_rgb(color), to_rgb(GROUNDS[theme])) >= 3 for color in told.values())


def test_numbers_beside_axes_are_written_as_beside_sliders():
    values = 0.01, 0.5, 1, 1000, 1e5, 1e6, 2e9, 5e12
    told = ", ".join(f"({TICK.replace('datum.value', repr(value))})" for value in values)
    assert read_lines({"params": [{"name": "title_lines", "expr": f"[{told}]"}]}) == [pretty(each) for each in values]


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


@pytest.mark.parametrize("width", [992, 1000, 1199])
def test_notes_in_the_margin_have_room(browser, server, width):
    """Where the window is too narrow for a margin they stand in the text."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(f"{server}/book/pipelining.html")
    assert page.evaluate(
        "[document.documentElement.scrollWidth, document.querySelectorAll('aside.margin').length > 0]"
    ) == [
        width,
        True,
    ]
    page.close()


# --- the bar and the menu ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "told"), [(1280, "Batching: why speed and price pull apart"), (360, "Batching")])
def test_the_bar_tells_the_title_of_a_heading_that_is_gone(visit, server, width, told):
    page = visit(f"{server}/book/batching.html", width=width).page
    assert not page.is_visible(".bar-title")
    page.evaluate("scrollTo(0, 2000)")
    page.wait_for_selector(".bar-title", state="visible")
    assert page.inner_text(".bar-title") == told
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.click(".bar-title")
    page.wait_for_selector(".bar-title", state="hidden")


ROWS = """() => {
  const place = (element) => element.getBoundingClientRect(), side = document.querySelector(".bd-sidebar-primary");
  const sticks = (item) => getComputedStyle(item).position === "sticky";
  const stays = [...side.querySelectorAll(".sidebar-primary-item")].filter(sticks);
  const edge = Math.max(...stays.map((item) => place(item).bottom));
  const rows = [...side.querySelectorAll(".bd-links a")].filter((row) => row.checkVisibility());
  const open = rows.findLast((row) => row.matches("li.active > a"));
  return {
    open: place(open).top >= edge && place(open).bottom <= innerHeight,
    cut: rows.some((row) => place(row).top < edge - 1 && place(row).bottom > edge + 1),
    scrolled: side.scrollTop,
  };
}"""


@pytest.mark.parametrize(("width", "height"), [(1366, 650), (390, 844)])
def test_the_menu_shows_the_open_page(visit, server, width, height):
    """It is scrolled only where the page would be out of sight, and then no row is cut."""

    def menu(name):
        page.goto(f"{server}/book/{name}.html")
        if width < 992:
            page.click(".primary-toggle")
        return page.evaluate(ROWS)

    page = visit(f"{server}/book/sparsity.html", width=width, height=height).page
    for name in ("batching", "bibliography", "sparsity"):  # from the far end back
        seen = menu(name)
        assert seen["open"] and not seen["cut"], name
        assert name != "batching" or seen["scrolled"] == 0


def test_a_phones_menu_begins_with_title_and_search(visit, server):
    """The search opens in place of the menu; the sign of a fold stands in the middle of its row."""
    page = visit(f"{server}/book/batching.html", width=390).page
    page.click(".primary-toggle")
    page.wait_for_function("document.querySelector('.bd-sidebar-primary').getBoundingClientRect().left === 0")
    assert page.locator(".bd-sidebar-primary .logo__title").bounding_box()["y"] < 24
    row, sign = (
        page.locator(f".bd-links li.has-children {part}").first.bounding_box() for part in ("> a", ".toctree-toggle")
    )
    assert abs(row["y"] + row["height"] / 2 - sign["y"] - sign["height"] / 2) < 1
    page.click(".bd-sidebar-primary .search-button-field")
    assert page.is_visible("#search-input") and not page.is_checked("#pst-primary-sidebar-checkbox")


def test_what_is_cut_fades_but_not_a_field(visit, server):
    """A formula in a line of text, too; the frame of a field that holds a long answer stays whole."""
    page = visit(f"{server}/book/sparsity.html", width=390).page
    page.evaluate("document.querySelectorAll('#practice details').forEach((fold) => { fold.open = true; })")
    page.locator(".unbroken.cut[tabindex='0']").first.wait_for()
    field = page.locator(".practice-input").first
    field.press_sequentially("1234567890" * 6)
    page.evaluate("new Promise(requestAnimationFrame)")
    assert field.evaluate("field => field.scrollLeft > 0 && !field.matches('.cut')")


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


def lowest(page):
    """How far down the texts of a printed page reach, as a share of its height, above the page's number."""
    high, ends = float(page.mediabox.height), []

    def see(text, matrix, at, *_):
        if text.strip():
            ends.append((at[4] * matrix[1] + at[5] * matrix[3] + matrix[5]) / high)

    page.extract_text(visitor_text=see)
    return 1 - min(end for end in ends if end > 0.06)


def test_paper_is_filled_and_numbered(visit, server):
    """Code and tables go on overleaf; cards, problems and figures do not, but no page is half empty."""
    printed = visit(f"{server}/book/batching.html").page.pdf(format="A4", print_background=True)
    pages = PdfReader(io.BytesIO(printed)).pages
    assert [(n, end) for n, end in enumerate(map(lowest, pages[:-1]), 1) if end < 0.5] == []
    assert all(re.search(rf"^{n}$", page.extract_text(), re.M) for n, page in enumerate(pages, 1))


CUT = """() => [...document.querySelectorAll("article details > summary")].filter((title) => {
  const top = (part) => part.getBoundingClientRect().top, cuts = (box) => getComputedStyle(box).overflowY !== "visible";
  for (let box = title.parentElement; title.checkVisibility() && !box.matches("article"); box = box.parentElement)
    if (cuts(box) && top(box) > top(title) + 1) return true;
  return false;
}).map((title) => title.textContent)"""


@pytest.mark.parametrize("lesson", ["pricing", "sparsity", "speculation"])
def test_no_title_of_a_fold_is_cut(visit, server, lesson):
    """A fold that a cell prints below another stands higher than the box around it."""
    assert visit(f"{server}/book/{lesson}.html").page.evaluate(CUT) == []


@cases("name", PAGES)
def test_no_lead_in_stands_alone(name):
    """Bold words that open a paragraph, such as "Limits.", are followed by a sentence."""
    assert re.findall(r"^\*\*[^*\n]+\.\*\*\s*$", source(name), re.M) == []
