"""The sentences of every lesson say what the formulas say, at the precision printed."""

import re

import pytest
from lessons import LESSONS, page, room, told, values

from blackboard.page.practice import problems

every = pytest.mark.parametrize("lesson", LESSONS)


def text(lesson):
    """The whole page, as written."""
    return page(lesson).read_text("utf8")


def prose(lesson):
    """The page without its head and its code."""
    return re.sub(r"```\{code-cell\}.*?```", "", text(lesson).split("---", 2)[2], flags=re.S)


def typed_numbers(text: str) -> set[str]:
    """Digits that a person typed: no code, roles, links, mathematics, timestamps or names such as FP8 and H200."""
    for cut in (
        r"\{[\w:]+\}`[^`]*`",
        r"\$[^$]*\$",
        r"\]\([^)]*\)",
        r"\b\d:\d\d(:\d\d)?\b",
        r"\b[A-Za-z]+-?[A-Za-z]*\d+\w*",
        r"^\(\w+\)=$",
        r"^:.*$",
    ):
        text = re.sub(cut, " ", text, flags=re.M)
    return set(re.findall(r"½|\d[\d,.]*\d|\d", text))


@every
def test_no_number_is_typed_into_prose(lesson):
    typed = typed_numbers(prose(lesson)) - set(told(lesson, "QUOTED"))
    assert typed == set(), "compute it in numbers.py and glue it, or say in tests/NAME_page.py where it is quoted from"


def filled(lesson):
    """The page with its values put in, each between marks of where it begins and ends."""
    printed = values(lesson)
    return re.sub(r"\{glue:text\}`(\w+)`", lambda found: f"\x02{printed[found[1]]}\x03", prose(lesson))


@every
def test_no_two_numbers_run_into_each_other(lesson):
    """ "With 64 585 GB": a value begins right after a number, or a number right after a value."""
    beside = re.findall(r".{30}\d\x03?[ \u202f]\x02\d.{12}|.{30}\d\x03[ \u202f]\d.{12}", filled(lesson))
    assert beside == [], "put a word between them"


@every
def test_no_number_is_printed_with_an_exponent(lesson):
    assert re.findall(r".{20}\de[+-]?\d+", filled(lesson)) == [], "say it with a unit, or as a power of ten"


@every
def test_nothing_is_listed_that_no_sentence_quotes(lesson):
    assert set(told(lesson, "QUOTED")) <= typed_numbers(prose(lesson)), "take it out of tests/NAME_page.py"


@every
def test_prose_and_numbers_use_the_same_names(lesson):
    used = set(re.findall(r"\{glue:text\}`(\w+)`", text(lesson)))
    assert used == set(values(lesson)), "a number that no sentence uses, or a sentence without its number"


@every
def test_no_quantity_has_two_limits_at_one_place(lesson):
    """Rows of a table of limits: what goes where, and of which quantity."""
    formulas = vars(room(lesson, "equations"))
    tables = re.findall(r"^limits\(\[(.*?)^\]\)", text(lesson), re.S | re.M)
    rows = re.findall(r"\(eq\.(\w+), (.+?), (\S+), \"", "".join(tables))
    places = [(formulas[name].symbol, variable, to) for name, variable, to in rows]
    assert bool(rows) == bool(tables) and len(set(places)) == len(places)


def boxes(lesson):
    """The ids of the problems that the page shows one by one."""
    return re.findall(r'"([\w-]+)"', " ".join(re.findall(r"^p(?:\[|\.on_page\().*$", text(lesson), re.M)))


@every
def test_every_problem_is_on_the_page_once(lesson):
    """One by one in the text, or all others in the practice at its end."""
    shown, known = boxes(lesson), {view.problem.id for view in problems(lesson)}
    assert len(set(shown)) == len(shown) and set(shown) <= known
    assert set(shown) == known or text(lesson).count("\np.practice()\n") == 1


@every
def test_objectives_are_met_by_problems(lesson):
    """Each thing that the page promises has a problem, and no problem stands apart from all promises."""
    promised = {v.problem.objective for v in problems(lesson)}
    assert promised and all(promised)
