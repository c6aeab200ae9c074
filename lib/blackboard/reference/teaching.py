"""What an instructor wants to know of the problems: how many have a student's own numbers, which mistakes are named."""

from __future__ import annotations

from collections import Counter
from functools import cache

from blackboard.page.hand_in import seed_of
from blackboard.page.lab_worker import list_steps
from blackboard.page.practice import lessons, problems
from blackboard.page.summary import Page, table
from blackboard.problem import Choice, Estimate, Problem, Quantity
from blackboard.text import markup

CLASS = [f"student-{number}" for number in range(1, 6)]  # a small simulated class: draws differ where they can
SHOWN = 3  # misconceptions listed for each lesson
SLIPS = {
    "a prefix: thousand times too large": 1e3,
    "a prefix: thousand times too small": 1e-3,
    "bits for bytes": 8.0,
    "bytes for bits": 1 / 8,
    "a factor of two too many": 2.0,
    "a factor of two left out": 0.5,
}
NAMED = ("misconception", "prefix", "unit")


def has_own_numbers(problem: Problem) -> bool:
    """Whether students of the simulated class get different statements."""
    return len({problem.fill(problem.statement, problem.values(seed_of(student))) for student in CLASS}) > 1


def count_misconceptions(problem: Problem) -> int:
    """How many wrong answers have feedback of their own."""
    if isinstance(problem, Choice):
        return sum(not option.is_right for option in problem.options)
    return len(problem.misconceptions)


@cache
def counts() -> dict[str, tuple[int, int, int]]:
    """For each lesson: problems, those with a student's own numbers, named misconceptions."""
    listed = {lesson: [view.problem for view in problems(lesson)] for lesson in lessons()}
    return {
        lesson: (len(found), sum(map(has_own_numbers, found)), sum(map(count_misconceptions, found)))
        for lesson, found in listed.items()
    }


@cache
def slips() -> dict[str, Counter[str]]:
    """How one student's numeric problems judge each slip, made on the right answer: counts by kind of verdict."""
    found: dict[str, Counter[str]] = {name: Counter() for name in SLIPS}
    for problem in (view.problem for lesson in lessons() for view in problems(lesson)):
        if isinstance(problem, Quantity) and not isinstance(problem, Estimate):
            values = problem.values(seed_of(CLASS[0]))
            right = float(problem.expected(values)) / problem.scale
            for name, factor in SLIPS.items():
                found[name][problem.check(right * factor, values).kind] += 1
    return found


def numbers() -> dict[str, str]:
    """The page's numbers."""
    every, own, named = map(sum, zip(*counts().values()))
    tried = sum(sum(found.values()) for found in slips().values())
    caught = sum(found[kind] for found in slips().values() for kind in NAMED)
    return {
        "problems": f"{every}",
        "own": f"{own}",
        "steps": f"{sum(len(list_steps(lesson)) for lesson in lessons())}",
        "misconceptions": f"{named:,}",
        "tried": f"{tried:,}",
        "caught": f"{100 * caught / tried:.0f}%",
        "missed": f"{100 - 100 * caught / tried:.0f}%",
    }


def lesson_table() -> Page:
    """What each lesson has to assign."""
    rows = [(lesson, *map(str, found)) for lesson, found in counts().items()]
    return table("What each lesson has to assign", ("Lesson", "Problems", "With own numbers", "Named mistakes"), rows)


def slip_table() -> Page:
    """How often a slip gets a verdict that names it."""
    rows = [
        (name, str(sum(found.values())), str(sum(found[kind] for kind in NAMED)), str(found["wrong"] + found["close"]))
        for name, found in slips().items()
    ]
    heads = ("Slip", "Answers tried", "Named", "Only close, too small or too large")
    return table("Six slips, made once in every numeric problem", heads, rows)


def misconceptions(lesson: str) -> list[tuple[str, str]]:
    """The first misconception of a lesson's first problems that are not easy, with a student's numbers."""
    found = [view.problem for view in problems(lesson) if view.problem.level != "easy"]
    drawn = [(each, each.values(seed_of(CLASS[0]))) for each in found if each.misconceptions]
    return [(each.title, each.fill(next(iter(each.misconceptions.values())), values)) for each, values in drawn[:SHOWN]]


def misconception_table() -> Page:
    """What to expect in each lesson, without counts."""
    rows = [(lesson, title, markup(told)) for lesson in lessons() for title, told in misconceptions(lesson)]
    return table("Misconceptions to expect, by lesson", ("Lesson", "Problem", "What the student is told"), rows)
