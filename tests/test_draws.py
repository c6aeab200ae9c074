"""A class of thirty gets thirty different sets of numbers in every problem that asks for one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import cases
from lessons import LESSONS

from blackboard.page.practice import problems
from blackboard.problem import Quantity

STUDENTS = 30
DRAWN = [
    pytest.param(view.problem, id=f"{lesson}-{view.problem.id}")
    for lesson in LESSONS
    for view in problems(lesson)
    if isinstance(view.problem, Quantity)
]


@pytest.mark.slow
@cases("problem", DRAWN)
def test_every_student_of_a_class_gets_other_numbers(problem):
    statements = {problem.page_draw(values)["ask"] for values in problem.draws(2 * STUDENTS)}
    assert len(statements) >= STUDENTS, sorted(statements)


@cases("problem", DRAWN)
def test_the_first_numbers_are_the_first_of_each_list(problem):
    first = {name: options[0] for name, options in problem.parameters.items()}
    assert problem.values() == first | problem.derive(first)


def test_a_draw_meets_the_condition():
    problem = Quantity(
        title="Half",
        level="easy",
        statement="What is half of {count}?",
        hints=("Divide.",),
        solution=("Half of it:",),
        objective="Halve.",
        parameters={"count": tuple(range(2, 12))},
        answer=lambda v: v["count"] / 2,
        id="half",
    )
    even = replace(problem, condition=lambda v: v["count"] % 2 == 0)
    assert {values["count"] for values in problem.draws(20)} == set(range(2, 12))
    assert {values["count"] for values in even.draws(20)} == {2, 4, 6, 8, 10}
