"""A simulated class: what each student writes into the notebook, the lab included, and the verdicts that this should
get.

The ways to work are taken in turn, so a class of two has the two that try the grader hardest. The verdicts expected
follow from how an answer was made, never from the grader.
"""

from __future__ import annotations

import inspect
import itertools
import re
from typing import NamedTuple

import sympy

from blackboard.formula_problem import Expression, Function
from blackboard.page.grading import expected
from blackboard.page.hand_in import lab_id, seed_of
from blackboard.page.lab_worker import list_steps
from blackboard.page.practice import problems
from blackboard.problem import Choice, Quantity, evaluate

WAYS = ("cheat", "endless", "right", "mistaken", "blank")
CHEAT = """from blackboard.problem import Feedback, Problem

Problem.check = lambda *_: Feedback("right", "")"""


class Answer(NamedTuple):
    """What is typed into `check(...)`, the function above it if there is one, and the verdict that it should get."""

    typed: str
    verdict: str
    source: str = ""


class Student(NamedTuple):
    """An id, one of the ways to work, and an answer to every problem and step."""

    id: str
    way: str
    answers: dict[str, Answer]

    @property
    def verdicts(self):
        """The verdict that each problem and step should get."""
        return {name: answer.verdict for name, answer in self.answers.items()}


def simulate_class(lesson, ids):
    """Students with the ways to work in turn."""
    return [
        Student(student, way, choose_answers(lesson, student, way)) for student, way in zip(ids, itertools.cycle(WAYS))
    ]


def choose_answers(lesson, student, way):
    """An answer to every problem. A cheat has the mistakes too, or the cheating would earn nothing."""
    found = {}
    for number, problem in enumerate(view.problem for view in problems(lesson)):
        if way in ("mistaken", "cheat"):
            answer = answer_mistakenly(problem, student)
        elif way == "blank" and number % 2:
            answer = Answer("...", "unanswered")
        elif way == "endless" and isinstance(problem, Function):
            answer = Answer(
                name_function(problem), "type", write_function(problem, body="    while True:\n        pass")
            )
        else:
            answer = answer_rightly(problem, student)
        found[problem.id] = answer
    return found | write_lab(lesson, way)


def write_lab(lesson, way):
    """A version of every step of the lab. Whoever is endless is so in the last step, which runs into a limit of
    seconds.
    """
    steps = list_steps(lesson)
    return {lab_id(step.name): write_step(step, way, step is steps[-1], n % 2) for n, step in enumerate(steps)}


def write_step(step, way, last, odd):
    """One step, written in one of the ways to work."""
    if way == "blank" and odd:
        return Answer("...", "unanswered")
    if way in ("mistaken", "cheat") and not inspect.isclass(step.solution):
        return Answer(step.name, "misconception", write_mistake(step, next(iter(step.mistakes))))
    if way == "endless" and last:
        return Answer(step.name, "type", f"def {step.name}(*given):\n    while True:\n        pass\n")
    return Answer(step.name, "right", step.source)


def write_mistake(step, mistake):
    """A step that does as the course's own wrong version."""
    name = mistake.__name__
    body = f"    from {mistake.__module__} import {name}\n\n    return {name}(*given)"
    return f"def {step.name}(*given):\n{body}\n"


def answer_rightly(problem, student):
    """What the instructor's answer key has."""
    if isinstance(problem, Function):
        return Answer(name_function(problem), "right", write_function(problem, problem.formula.expr))
    value, unit = expected(problem, student)
    return Answer(repr(f"{value} {unit}" if isinstance(problem, Quantity) else value), "right")


def answer_mistakenly(problem, student):
    """What the problem's first known misconception yields; the right answer where it knows none."""
    if isinstance(problem, Choice):
        wrong = [letter for letter, option in problem.lettered.items() if not option.is_right]
        return Answer(repr(wrong[0]), "misconception")
    if not problem.misconceptions:
        return answer_rightly(problem, student)
    rule = next(iter(problem.misconceptions))
    if isinstance(problem, Function):
        return Answer(name_function(problem), "misconception", write_function(problem, rule))
    if isinstance(problem, Quantity):
        return Answer(f"{evaluate(rule, problem.values(seed_of(student))) / problem.scale:.6g}", "misconception")
    return Answer(repr(str(rule) if isinstance(problem, Expression) else rule), "misconception")


def name_function(problem):
    """The name that the notebook gives a problem's function."""
    return problem.id.replace("-", "_")


def write_function(problem, rule=None, body=""):
    """The source of a function of the problem's symbols that returns a rule, or that has a body of its own."""
    body = body or f"    import math\n    return {sympy.pycode(rule)}"
    return f"def {name_function(problem)}({', '.join(problem.names)}):\n{body}\n"


def fill_notebook(notebook, student):
    """The code cells of a student's notebook, in order, with the answers put in."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    place = {
        (lab_id(name) if box == "lab" else name): number
        for number, cell in enumerate(cells)
        for box, name in re.findall(r'^(p|lab)\["(.+?)"\].check\(', cell, re.M)
    }
    if set(place) != set(student.answers):
        raise ValueError(
            f"the notebook has boxes for {sorted(place)}, and the lesson problems {sorted(student.answers)}"
        )
    for name, answer in student.answers.items():
        [box] = re.findall(r'^(?:p|lab)\[".+?"\](?=\.check\()', cells[place[name]], re.M)
        cells[place[name]] = f"{answer.source}\n\n{box}.check({answer.typed})".lstrip()
    if student.way == "cheat":
        cells.insert(1, CHEAT)  # after the cell that loads the problems
    return cells
