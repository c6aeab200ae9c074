"""Tables to look things up in, and the notation page: what they hold, and what their script does."""

import math
import random
import re
import sys

import pytest
from conftest import ROOT
from test_formula import point

sys.path.insert(0, str(ROOT / "tools"))
from number_columns import align_numbers, is_number
from section_heights import ARTICLE, mark_sections

from blackboard import notation
from blackboard.formula import formulas
from blackboard.page import formula_questions, notation_tables, summary
from blackboard.page.data_table import Record, data_table, plain

ASKED = [formula_questions.SPEED, formula_questions.MEMORY, formula_questions.MONEY, formula_questions.TRAINING]


NUMBERS = ["1,234.5", "−3", "671 × 10<sup>9</sup>", '312<sup><a href="#x">?1</a></sup>', "12%", "$5.33 million"]
NUMBERS += [
    "39.2 ms",
    "1.9&nbsp;kB/token",
    "× 0.5",
    "0.70 to 0.78 µs",
    "<p><span>13,450</span></p>",
    "10⁻¹⁴",
    "+3.9 %",
    "(fitted) 6%",
    "671 billion tokens",
    "1 byte/parameter",
    "5 times in 7",
    "1.25 + 2 × 0.1 = 1.45",
    "$0.00033 + $0.010",
    "$0.10<br><small>390 ×</small>",
]


def test_numbers_are_told_from_words():
    assert list(filter(lambda cell: not is_number(cell), NUMBERS)) == []
    words = [
        "2026-04-29",
        "H100",
        "",
        "–",
        "100% (at its bound)",
        "72 GB each",
        "1 of 1",
        "8 + 1 of 256",
        "9 sequences",
        "671 billion parameters",  # too long for a phone to keep on one line
    ]
    assert list(filter(is_number, words)) == []


def test_a_column_of_numbers_is_aligned_and_each_cell_bears_its_head():
    rows = [["1", "1", "x", "–", "39 ms"], ["2", "–", "2", "–", "1.2 min"]]
    page = data_table("Rates", ["Chip", "rate (10<sup>12</sup>)", "note", "none", "takes"], rows)
    assert page.count('data-head="rate (10¹²)"') == 2 and plain("a<br>b") == "ab"
    aligned = align_numbers(page)
    assert aligned.count('class="number"') == 2 * 3
    for cell in ('<th scope="col" class="number">takes', 'class="number"><div>1<', 'class="number"><div>–<'):
        assert cell in aligned, cell
    assert align_numbers(page.replace(">x<", ">less<")).count('class="number"') == 3 * 3
    assert align_numbers(page.replace("<td", '<td colspan="2"', 1)).count("number") == 0
    assert 'class="text-right"' in align_numbers(
        '<table><tbody><tr><td>a<td class="text-right">1</td></tr></tbody></table>'
    )


def test_a_short_name_of_a_row_is_told_from_a_phrase():
    table = "<table><tbody><tr><td>{}</td><td>5</td></tr></tbody></table>"
    assert '<td class="name">half of the layers</td>' in align_numbers(table.format("half of the layers"))
    assert "name" not in align_numbers(table.format("half of the layers, in order"))


def test_a_column_of_sums_is_read_from_the_right_and_may_be_broken():
    table = "<table><tbody><tr><td>x</td><td>1 + 2 = 3</td><td>4</td></tr></tbody></table>"
    assert '<td class="text-right">1 + 2 = 3</td><td class="number">4</td>' in align_numbers(table)


def test_a_number_that_is_all_of_a_formula_has_the_digits_of_its_table():
    table = "<table><tbody><tr><td>x</td><td><math><mn>5</mn></math></td></tr></tbody></table>"
    assert '<td class="number">5</td>' in align_numbers(table)
    assert align_numbers("<p><math><mn>5</mn></math></p>") == "<p><math><mn>5</mn></math></p>"


def test_a_first_column_of_letters_is_told_from_one_of_words():
    letter, word = "<math><mi>x</mi></math>", "the <math><mi>x</mi></math>"
    table = "<table><tbody><tr><th>{}</th><td>a word</td></tr><tr><th>{}</th><td>two</td></tr></tbody></table>"
    assert align_numbers(table.format(letter, letter)).count('<th class="letter">') == 2
    assert "letter" not in align_numbers(table.format(letter, word))


def test_a_wide_table_has_what_its_cards_on_a_phone_need():
    """Each cell bears its column's head; four columns of numbers fit as they are."""
    top = "<thead><tr><th>Chip</th><th>B &amp; W</th><th>note</th><th>cost</th></tr></thead>"
    row = '<tr><th scope="row">a</th><td>1</td><td>{}</td><td>2 ms</td></tr>'
    table = '<table class="table">' + top + "<tbody>" + row + "</tbody></table>"
    cards = align_numbers(table.format("a word " * 12))
    assert '<table class="table cards">' in cards
    assert re.findall(r'data-head="([^"]*)"', cards) == ["Chip", "B &amp; W", "note", "cost"]
    assert "cards" not in align_numbers(table.format("3"))


def test_a_head_with_a_subscript_is_an_element_of_its_cells():
    """No attribute can hold it."""
    part = "<math><msub><mi>η</mi><mi>c</mi></msub></math>"
    top = f"<thead><tr><th><p>Chip</p></th><th><p>at {part}</p></th><th>note</th><th>cost</th></tr></thead>"
    row = f'<tr><th scope="row">a</th><td>1</td><td>{"a word " * 12}</td><td>2 ms</td></tr>'
    cards = align_numbers(f'<table class="table">{top}<tbody>{row}</tbody></table>')
    assert re.findall(r'data-head="([^"]*)"', cards) == ["Chip", "", "note", "cost"]
    assert f'<span class="card-head">at {part}</span>1</td>' in cards


def test_four_short_columns_stay_a_table_on_a_phone():
    """Unless a number, which is not broken, or many words make them too wide."""
    top = (
        "<table><thead><tr><th>Passes</th><th>Measured</th><th>Error, H200</th><th>What it is</th></tr></thead><tbody>"
    )
    row = top + "<tr><th>decodes</th><td>{}</td><td>(fitted) 6%</td><td>{}</td></tr></tbody></table>"
    assert "cards" not in align_numbers(row.format("1.3 to 2.6", "how fast a pass is"))
    assert "cards" in align_numbers(row.format("1.3 billion to 2.6 billion", "how fast"))
    assert "cards" in align_numbers(row.format("1.3 to 2.6", "how fast a whole pass multiplies, " * 3))


def test_three_columns_of_sentences_are_cards_on_a_phone():
    top = "<table><thead><tr><th>If</th><th>then</th><th>because</th></tr></thead><tbody>"
    row = top + "<tr><td>{}</td><td>{}</td><td>{}</td></tr></tbody></table>"
    assert "cards" in align_numbers(row.format("a wait is long", "share less", "nothing hides it, " * 8))
    assert "cards" not in align_numbers(row.format("a wait is long", "share less", "nothing hides it"))


def test_a_section_tells_a_phone_how_tall_it_is():
    """What is folded adds its name alone, a record one line; sections within it tell nothing."""
    inner = "<section><h3>b</h3>{}</section>"
    page = '<article class="bd-article"><section id="a"><h1>a</h1><section id="b">{}</section></section></article>'
    tall = lambda inside: int(re.findall(r"--tall: (\d+)px", mark_sections(page.format(inside)))[0])
    assert mark_sections(page.format(inner)).count(' id="b" style="--tall: ') == 1
    text, fold = "<p>" + 100 * "letters " + "</p>", "<details><summary>Why</summary>{}</details>"
    assert tall(text) > 500 and tall(inner.format(text)) > tall(text)
    assert tall(fold.format(fold.format(text))) == tall(fold.format("")) < 50
    assert tall(fold.format(text).replace("<details", "<details open")) > 500
    rows = data_table("Chips", ["Chip", "a", "b", "c"], [[Record("x", "X"), "1", "2", text]], brief=(1, 2, 3))
    assert tall(rows) == 100 and mark_sections("no article".join(["<section>", ARTICLE])).count("--tall") == 0


def test_every_symbol_and_formula_is_on_the_page_once():
    symbols = [row.name for group in notation_tables.ORDER for row in notation_tables.symbols_of(group)]
    assert sorted(symbols) == sorted(notation.table())
    assert sum(len(notation_tables.formulas_of(group)) for group in notation_tables.ORDER) == len(formulas)


def test_a_symbol_is_where_a_formula_uses_it_first():
    first = notation_tables.first_uses()
    assert first["batch"] == first["context"] == "batching" and first["drafted"] == "speculation"


def test_every_question_leads_to_formulas_of_the_page():
    page = "".join(map(notation_tables.symbols_and_formulas, notation_tables.ORDER))
    for asked in ASKED:
        assert all(question.endswith("?") for question in asked)
        names = {name for answers in asked.values() for name in answers}
        assert [name for name in names if f'id="{notation_tables.anchor(name)}"' not in page] == []
    with pytest.raises(KeyError):
        notation_tables.questions({"Which?": ["batching.no_such"]})


def test_the_python_of_a_formula_gives_its_value():
    """Run as it is copied, at a random point; a third of all formulas, each by the same rule."""
    rng = random.Random(7)
    for formula in list(formulas.values())[::3]:
        at = point(formula, rng)
        space = {"math": math, **{name: float(value) for name, value in at.items()}}
        exec(summary.python(formula), space)
        assert space[formula.name.partition(".")[2]] == pytest.approx(formula(**at), rel=1e-9), formula.name


def test_the_notation_is_as_wide_as_a_lesson(visit, server):
    width = "document.querySelector('.bd-article-container').offsetWidth"
    pages = (visit(f"{server}/book/{name}.html", width=1366).page for name in ("notation", "batching"))
    assert {page.evaluate(width) for page in pages} == {768}


def test_a_question_s_link_opens_the_fold_of_its_formula(visit, server):
    page = visit(f"{server}/book/notation.html").page
    assert page.locator(".formulas-of[open]").count() == 0
    page.locator(".formula-question > summary").last.click()
    page.locator(".formula-question[open] .formula").first.wait_for()
    page.locator(".formula-question a").last.click()
    page.locator(":target .formula").wait_for()


@pytest.fixture
def chips(visit, server):
    return visit(f"{server}/book/catalogue.html").page.locator("#chips .data-table").first


def test_a_head_sorts_and_what_is_lacking_comes_last(chips):
    fp4 = chips.locator("thead th").nth(3)
    for way in ("ascending", "descending"):
        fp4.locator("button").click()
        assert fp4.get_attribute("aria-sort") == way
        shown = [cell.inner_text().partition("?")[0] for cell in chips.locator("tbody tr td:nth-child(4)").all()]
        known = [float(cell.replace(",", "")) for cell in shown if cell != "–"]
        assert known == sorted(known, reverse=way == "descending") and set(shown[len(known) :]) == {"–"}


SORTED = {  # columns as they must come out, upwards
    "numbers": ["−3", "0.5", "12", "1,234.5", "9 × 10<sup>9</sup>", "–"],
    "dates": ["2025", "2025-06", "2025-11-18", "2026-02-19", "2026-09", "–"],
    "durations": ["13.1 ms", "39.2 ms ?1", "1.25 s", "18.3 min", "3 h", "2 days"],
    "sizes": ["512 B", "2 kB", "1.5 MB", "3 GB", "3 GiB", "4 TB", "4 TiB"],
    "rates": ["275 MB/s", "8.00 TB/s", "360 PFLOP/s"],
    "prices": ["$0.077", "$0.15", "$42.50", "$1,000", "–"],
    "factors": ["× 0.5", "× 1.25", "× 6 for speed"],
    "numbered": ["1. A list", "6. G. Names", "7. M. Names", "17. Kinds", "214. Others"],
    "words": ["2,000", "9 million", "4 billion", "2 trillion"],
}


@pytest.mark.parametrize("kind", SORTED)
def test_each_kind_of_column_sorts_by_its_value(browser, kind):
    rows = [["x", cell] for cell in SORTED[kind]]
    random.Random(7).shuffle(rows)
    page = browser.new_page()
    page.set_content(data_table("Kinds", ["Row", kind], rows))
    page.add_script_tag(path=ROOT / "book" / "_scripts" / "tables.js")
    page.locator("thead th button").nth(1).click()
    order = page.locator("tbody td").evaluate_all("cells => cells.map(cell => cell.textContent)")
    page.close()
    assert order == [plain(cell).replace("10⁹", "109") for cell in SORTED[kind]]


CARDS = """() => [...document.querySelectorAll("article table")].filter((each) => each.tBodies[0].rows.length > 40)
  .map((each) => [each.caption.innerText, each.closest(".data-table") !== null])"""


def test_all_cards_of_a_workload_are_sorted_and_filtered_as_the_catalogue_is(visit, server):
    """And so are the other tables of all price cards; the fold that they are in is opened first."""
    page = visit(f"{server}/book/costs.html").page
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    told = page.evaluate(CARDS)
    assert len(told) == 6 and all(wakes for _, wakes in told)
    for number, (caption, _) in enumerate(told[:4]):
        box = page.locator(".data-table").nth(number)
        rows, costs = box.locator("tbody tr:visible"), box.locator("tbody tr:visible td:nth-child(2)")
        box.locator("input[type=search]").fill("claude")
        assert 0 < rows.count() < 20 and all("claude" in each for each in rows.all_inner_texts()), caption
        box.locator("thead th button").nth(1).click()
        found = [float(each.lstrip("$").replace(",", "")) for each in costs.all_inner_texts()]
        assert found == sorted(found) and found[0] < found[-1], caption


def test_columns_of_numbers_are_set_to_the_right(visit, server):
    """In tables of Markdown, of a lesson's cells and to look things up in; no column of dates or words."""
    page = visit(f"{server}/book/costs.html").page
    looks = """tables => tables.map(table => [...table.tBodies[0].rows[0].cells].map(cell =>
      [cell.textContent.trim(), getComputedStyle(cell).textAlign]))"""
    cells = [cell for row in page.locator("article table").evaluate_all(looks) for cell in row[1:]]
    assert {align for words, align in cells if words in ("$0.15", "$42.50", "43%", "71%")} == {"right"}
    assert {align for words, align in cells if words[:4] in ("2024", "2025", "Anth")} == {"left"}


def test_names_stay_in_sight_while_a_table_is_pushed_aside(chips):
    first, second = chips.locator("tbody tr").first.locator("th"), chips.locator("tbody tr").first.locator("td").first
    before = first.bounding_box()["x"], second.bounding_box()["x"]
    chips.locator(".table-box").evaluate("box => { box.scrollLeft = 200; }")
    after = first.bounding_box()["x"], second.bounding_box()["x"]
    assert after[0] == before[0] and after[1] < before[1] - 50
    names, cells = first.bounding_box(), chips.locator("tbody tr").first.locator("td")
    begin = [cells.nth(n).bounding_box()["x"] for n in range(cells.count())]
    assert min(abs(x - names["x"] - names["width"]) for x in begin) < 1  # no column stops half below the names


def test_the_filter_leaves_the_rows_with_all_words(chips):
    rows = chips.locator("tbody tr:not([hidden])")
    every = rows.count()
    chips.locator("input[type=search]").fill("nvidia h200")
    assert 1 <= rows.count() < every and "H200" in rows.first.inner_text()
    assert chips.locator(".table-count").inner_text() == f"{rows.count()} of {every} rows"


BROKEN = r"""cells => cells.flatMap((cell) => {
  const range = document.createRange(), walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  for (let text = walk.nextNode(); text; text = walk.nextNode())
    for (const { 0: word, index } of text.data.matchAll(/\p{L}+/gu)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(word);
    }
  return found;
})"""


def test_no_word_of_a_record_is_broken_on_a_phone(visit, server):
    page = visit(f"{server}/book/catalogue.html", width=390, height=844).page
    assert page.locator(".records tr > .brief").evaluate_all(BROKEN) == []


def test_a_record_is_a_name_and_three_numbers_on_a_phone_and_opens(visit, server):
    """By a tap, after which another closes it, and by its address."""
    page = visit(f"{server}/book/catalogue.html", width=390, height=844).page
    cells = "tables => tables.map(table => [...table.tBodies[0].rows[0].cells].filter(each => each.offsetWidth).length)"
    assert page.locator(".records table").evaluate_all(cells) == [4] * 8
    row = page.locator("#chips-h100-sxm")
    power = row.locator('td[data-head="Power (W)"]')
    for shown in (True, False):
        row.locator(".record").click()
        assert power.is_visible() == shown
    page.goto(f"{server}/book/catalogue.html#chips-h100-sxm")
    power.wait_for()


def test_a_card_says_its_heads_letters_slanted_and_leaves_out_what_is_empty():
    head = "<tr><th>a</th><th>$s$</th><th>b</th><th>c</th><th>d</th></tr>".replace("$s$", "<math><mi>s</mi></math>")
    row = "<tr><td>x</td><td>1</td><td>2</td><td>3</td><td><p></p></td></tr>"
    cards = align_numbers(f"<table><thead>{head}</thead><tbody>{row}</tbody></table>")
    assert 'data-head="𝑠">1<' in cards and 'data-head="d"></td>' in cards
