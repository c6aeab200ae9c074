"""Grade answers files: `python -m blackboard.page.grading batching answers.json` prints the verdicts as JSON.

It reads the file alone, never a notebook, so that nothing a notebook did to the course can earn a point.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blackboard.answers import Unreadable
from blackboard.formula_problem import Expression, Function
from blackboard.page.hand_in import HandIn, lab_id, read_hand_in, seed_of
from blackboard.page.lab_worker import list_steps
from blackboard.page.practice import problems
from blackboard.page.run_source import run_source
from blackboard.page.run_step import grade_step
from blackboard.problem import Feedback, Problem, Quantity, Values, shown
from blackboard.reader_code import Verdict

# The verdicts on a lab's step, by the names that those on problems have; a check that fails names a mistake.
KINDS = {"right": "right", "wrong": "misconception", "nothing": "misconception", "unattempted": "unanswered"}


@dataclass(frozen=True)
class Mark:
    """The verdict on one answer, to a problem or a lab's step: a point if it is right."""

    student: str
    lesson: str
    problem: str
    points: int
    kind: str
    message: str


def replay(found: list[float], points: list[Values]) -> Callable[..., float]:
    """A function that has the values found at the points, for `Problem.check` to call."""
    known = {tuple(sorted(point.items())): value for point, value in zip(points, found)}
    return lambda **point: known[tuple(sorted(point.items()))]


def judge(problem: Problem, given: Any, values: Values) -> Feedback:
    """The problem's own verdict; a function's source is run elsewhere first."""
    if not (isinstance(problem, Function) and isinstance(given, str) and given.strip()):
        return problem.check(given, values)
    try:
        return problem.check(replay(run_source(given, problem.points), problem.points), values)
    except Unreadable as error:
        return Feedback("type", str(error))


def judge_step(lesson: str, name: str, given: Any, earlier: Mapping[str, str]) -> Verdict:
    """The verdict on a lab's step; what cannot be run is said."""
    if given is not None and not isinstance(given, str):
        return Verdict("missing", "A step is handed in as the text of its code.")
    try:
        return grade_step(lesson, name, given or "", earlier)
    except Unreadable as error:
        return Verdict("crash", str(error))


def grade_lab(given: Mapping[str, Any], lesson: str) -> dict[str, Feedback]:
    """Feedback on each step of a lesson's lab, by id. A step is tried on top of the earlier ones that were right."""
    right: dict[str, Any] = {}
    told = {}
    for name in (step.name for step in list_steps(lesson)):
        text = given.get(lab_id(name))
        verdict = judge_step(lesson, name, text, right)
        if verdict:
            right[name] = text
        told[lab_id(name)] = Feedback(KINDS.get(verdict.kind, "type"), verdict.message)
    return told


def grade(handed: HandIn, lesson: str) -> list[Mark]:
    """A mark for each problem of a lesson and each step of its lab, those not attempted included."""
    given, seed = handed.answers.get(lesson, {}), seed_of(handed.student)
    told = {
        view.problem.id: judge(view.problem, given.get(view.problem.id), view.problem.values(seed))
        for view in problems(lesson)
    }
    told |= grade_lab(given, lesson)
    return [Mark(handed.student, lesson, name, int(said.ok), said.kind, said.message) for name, said in told.items()]


def expected(problem: Problem, student: str) -> tuple[str, str]:
    """The right answer to a student's problem, and its unit, as an answer key has them."""
    if isinstance(problem, Expression):
        return str(problem.formula.expr), problem.formula.unit
    right = problem.expected(problem.values(seed_of(student)))
    if isinstance(problem, Quantity):
        return shown(float(right) / problem.scale), problem.shown_label
    return str(right), ""


def main(arguments: list[str]) -> int:
    """Print the marks of a lesson from an answers file; status 1 if it cannot be read."""
    try:
        lesson, file = arguments
        print(json.dumps([asdict(mark) for mark in grade(read_hand_in(Path(file)), lesson)]))
    except (ValueError, KeyError) as error:
        print(error.args[0], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
