"""The panel of buttons does what the calls do."""

import ipywidgets

from blackboard.page.practice import View, problems
from blackboard.page.problem_panel import panel


def parts(view):
    """The panel's statement, answer box, buttons by name and place for feedback."""
    statement, row, out = panel(view).children
    box, *buttons = row.children
    return statement, box, {b.description: b for b in buttons}, out


def test_check_hint_solution_and_again():
    view = View(problems("batching")["fast"].problem)
    statement, box, buttons, out = parts(view)
    first = statement.value
    for typed, kind in [("2.4", "misconception"), ("1/15", "misconception"), ("one", "type"), ("15", "right")]:
        box.value = typed
        assert f"feedback {kind}" in out.value
    box.value = ""
    buttons["Check"].click()
    assert "unanswered" in out.value
    buttons["Hint"].click()
    assert "Hint 1 of 2" in out.value
    buttons["Solution"].click()
    assert "15" in out.value
    buttons["Again"].click()
    assert statement.value != first and out.value == ""


def test_what_has_nothing_to_draw_or_to_type_says_so():
    *_, buttons, out = parts(View(problems("batching")["money"].problem))
    buttons["Again"].click()
    assert "no numbers" in out.value
    statement, said = panel(View(problems("batching")["step"].problem)).children
    assert isinstance(said, ipywidgets.Label) and ".check(" in said.value
