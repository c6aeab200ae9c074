"""What a summary card says beside its formula."""

import re

from lessons import LESSONS, room

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
