"""Tables to look things up in, and the notation page: what they hold, and what their script does."""

import math
import random

import pytest
from test_formula import point

from blackboard import notation
from blackboard.formula import formulas
from blackboard.page import formula_questions, notation_tables, summary
from blackboard.page.data_table import data_table, is_number, plain

ASKED = [formula_questions.SPEED, formula_questions.MEMORY, formula_questions.MONEY, formula_questions.TRAINING]


@pytest.mark.parametrize(
    "cell", ["1,234.5", "−3", "–", "671 × 10<sup>9</sup>", '312<sup><a href="#x">?1</a></sup>', "12%"]
)
def test_numbers_are_told_from_words(cell):
    assert is_number(cell)
    assert not is_number("2026-04-29") and not is_number("H100") and not is_number("")


def test_a_column_of_numbers_is_aligned_and_each_cell_bears_its_head():
    page = data_table("Rates", ["Chip", "rate (10<sup>12</sup>)", "note"], [["A", "1", "x"], ["B", "–", "2"]])
    assert page.count('class="number"') == 3 and page.count('data-head="rate (10¹²)"') == 2
    assert plain("a<br>b") == "ab"


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


def test_the_filter_leaves_the_rows_with_all_words(chips):
    rows = chips.locator("tbody tr:not([hidden])")
    every = rows.count()
    chips.locator("input[type=search]").fill("nvidia h200")
    assert 1 <= rows.count() < every and "H200" in rows.first.inner_text()
    assert chips.locator(".table-count").inner_text() == f"{rows.count()} of {every} rows"
