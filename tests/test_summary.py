"""What a summary card says beside its formula."""

import re

import pytest
from lessons import LESSONS, page, room

from blackboard.formula import formulas
from blackboard.page import summary


def test_a_card_says_where_its_formula_comes_from():
    """The lecture's time, a paper by its title or key, or that it was derived: each is the source of some."""
    assert all(room(lesson, "equations") for lesson in LESSONS)  # they fill the list of formulas
    kinds = set()
    for name, formula in formulas.items():
        key, at = formula.source.key, formula.source.at
        said = re.sub(r"<[^>]+>", "", re.search(r"Source: (.+?)</p>", summary.card(formula))[1])
        kind = "lecture" if at else "derived" if key == "derived" else "paper"
        kinds.add(kind)
        assert (said == f"lecture {at}.") == (kind == "lecture"), (name, said)
        assert (said == "derived here.") == (kind == "derived"), (name, said)
    assert kinds == {"lecture", "derived", "paper"}


@pytest.mark.parametrize("lesson", LESSONS)
def test_cards_have_the_number_of_their_lesson(lesson):
    """Card 3.2 is the second of lesson 3, on its page and in what links to it."""
    [listed] = re.findall(r"^cards\((.*?)\)$", page(lesson).read_text("utf8"), re.M | re.S)
    first = getattr(room(lesson, "equations"), listed.split(",")[0].strip().partition(".")[2])
    shown = summary.cards(first, first)
    number = LESSONS.index(lesson) + 1
    assert re.findall(r">Card ([\d.]+)<", shown) == [f"{number}.{n}" for n in (1, 2)]
    assert re.findall(r' id="card-([\d-]+)"', shown) == [f"{number}-{n}" for n in (1, 2)]
