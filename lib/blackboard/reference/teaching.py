"""What an instructor wants to know of the problems: how many have a student's own numbers, which mistakes are named."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

from blackboard.formula_problem import Expression
from blackboard.page.hand_in import seed_of
from blackboard.page.lab_worker import list_steps
from blackboard.page.practice import lessons, problems
from blackboard.page.summary import Page, table
from blackboard.problem import Choice, Estimate, Ordering, Problem, Quantity, evaluate
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
UPSIDE_DOWN, TWO, FIXED = "the answer upside down", "a factor of two", "another fixed factor, such as a unit"
OTHER = "a factor that depends on the numbers: a term left out, or one quantity for another"
OPTION, ORDER = "a wrong option", "a wrong order"
RECURRING = (UPSIDE_DOWN, TWO, FIXED, OTHER, OPTION, ORDER)
OPTIONS = 4  # of every choice
SEATS = 30  # students of the class whose guesses are counted
RARE = 0.05  # a count that guessing reaches less often than this points to a misconception


def has_own_numbers(problem: Problem) -> bool:
    """Whether students of the simulated class get different statements."""
    return len({problem.fill(problem.statement, problem.values(seed_of(student))) for student in CLASS}) > 1


def count_misconceptions(problem: Problem) -> int:
    """How many wrong answers have feedback of their own."""
    if isinstance(problem, Choice):
        return sum(not option.is_right for option in problem.options)
    return len(problem.misconceptions)


def classify(right: Sequence[float], wrong: Sequence[float]) -> str:
    """Which of the recurring mistakes leads from the right answers to the wrong ones, over several draws."""
    quotients = [w / r if r else math.inf for r, w in zip(right, wrong)]
    first = quotients[0]
    if all(math.isclose(each, first, rel_tol=1e-6) for each in quotients):
        return TWO if any(math.isclose(first, factor) for factor in (2, 0.5)) else FIXED
    return UPSIDE_DOWN if all(math.isclose(r * w, 1, rel_tol=1e-6) for r, w in zip(right, wrong)) else OTHER


def name_mistakes(problem: Problem) -> list[str]:
    """The kind of each wrong answer that a problem names."""
    if isinstance(problem, (Choice, Ordering)):
        return [OPTION if isinstance(problem, Choice) else ORDER] * count_misconceptions(problem)
    if isinstance(problem, Expression):
        at = problem.at_points
        return [classify(at(problem.formula.expr), at(rule)) for rule in problem.misconceptions]
    drawn = [problem.values(seed_of(student)) for student in CLASS]
    right = [float(problem.expected(values)) for values in drawn]
    return [classify(right, [float(evaluate(rule, each)) for each in drawn]) for rule in problem.misconceptions]


def chance_table() -> Page:
    """How many problems give a student the chance to make each recurring mistake, and are able to name it."""
    found = [name_mistakes(view.problem) for lesson in lessons() for view in problems(lesson)]
    rows = [
        (kind, str(sum(kind in each for each in found)), str(sum(each.count(kind) for each in found)))
        for kind in RECURRING
    ]
    return table("Chances to make a mistake", ("Mistake", "Problems that name it", "Named answers"), rows)


def at_least(count: int) -> float:
    """The chance that so many of a class or more take one option of a choice, if all of them guess."""
    share = 1 / OPTIONS
    return sum(math.comb(SEATS, n) * share**n * (1 - share) ** (SEATS - n) for n in range(count, SEATS + 1))


def telling_count() -> int:
    """The smallest count of one wrong option that guessing hardly reaches."""
    return next(count for count in range(SEATS + 1) if at_least(count) < RARE)


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
        "seats": f"{SEATS}",
        "guessed": f"{SEATS / OPTIONS:g}",
        "telling": f"{telling_count()}",
        "rare": f"{100 * RARE:.0f}%",
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
