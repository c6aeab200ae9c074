"""The page's answer boxes and `check` give the same verdicts to the same answers."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from cases import cases

from blackboard import answers, notation
from blackboard.formula_problem import Expression, Function
from blackboard.page.practice import ProblemSet, lessons, problems
from blackboard.page.problem_panel import script
from blackboard.page.written import values_of
from blackboard.problem import Choice, Quantity
from blackboard.text import markup

SCRIPT = Path(__file__).resolve().parent.parent / "book" / "_static" / "practice.js"
ALL = [pytest.param(lesson, v.problem, id=f"{lesson}-{v.problem.id}") for lesson in lessons() for v in problems(lesson)]
JUDGED = [each for each in ALL if not isinstance(each.values[1], Function)]
ODD = [
    "",
    "  ",
    "abc",
    "12 furlong",
    "1e999",
    "-3",
    "0",
    "1e-300",
    "x" * 5000,
    "½",
    "١٢",
    "nan",
    "inf",
    "1,2,3",
    "12 ms or so",
    "1 000",
    "128'000",
    "671/576",
    "1.165.0",
    "15:1",
    "10^3",
    "5.6k",
    "12 ktoken/s",
    "κ",
    "N",
    "Nact*2",
    "2BN",
    "<b>7</b>",
    "1__2",
    "=",
    "()",
    "B +",
    "sqrt(-1)",
    "1/0",
    "B B",
    "α",
    "alpha",
    "1 - α^γ",
    "2.167 steps",
    "4 guesses",
    "80 users",
    "2.773 tokens per round",
    "max(B)",
    "log(0)",
    "B = B",
    "((((((((((B))))))))))",
    "(" * 60 + "B" + ")" * 60,
    "1 " + "-" * 60 + "B",
    "-" * 30 + "B",
    "\t" * 299 + "x",
    " " * 150 + "$" + " " * 148 + "x",
    " \t~ \t$ \t12",
    "≈$12",
    "$~12",
    "2^2^2^2^2^2",
    "B**2",
    "eval(1)",
    "a",
    "b)",
    "(c)",
    " D ",
    "z",
    "abcd",
    "d c b a",
    "a>b>c>d",
    "aabb",
]


@pytest.fixture(scope="module")
def judge(browser):
    """Call the page's judge on a problem that its lesson's script has registered, and a list of answers."""
    page = browser.new_page()
    page.set_content("<!DOCTYPE html><title>t</title>")
    page.add_script_tag(path=str(SCRIPT))
    for lesson in lessons():
        page.add_script_tag(content=script(problems(lesson)))
    code = """([lesson, id, draw, answers]) =>
      answers.map((text) => customElements.get("practice-box").check(text, lesson, id, draw))"""
    yield lambda lesson, problem, draw, answers: page.evaluate(code, [lesson, problem.id, draw, answers])
    page.close()


def answers_for(problem, values):
    """Right, wrong and silly answers as one would type them."""
    rng = random.Random(problem.id)
    if isinstance(problem, Quantity):
        right = problem.expected(values)
        wrong = list(problem.wrong_answers(values))
        scales = [
            1,
            1.01,
            1.019,
            1.03,
            0.9,
            1.2,
            8,
            1 / 8,
            1e3,
            1e-3,
            1e6,
            1.024**2,
            1.024**3,
            *(10 ** rng.uniform(-3, 3) for _ in range(20)),
        ]
        numbers = [right * s for s in scales] + wrong
        spelt = [(n, x) for n, x in sorted(answers.spellings(problem.unit).items())][::6]
        out = [f"{x / problem.scale:.9g}" for x in numbers]
        return (
            out
            + [f"{x / s:.9g} {n}" for x in (right, *wrong) for n, s in spelt]
            + [f"{right / problem.scale:,.3f}", f"about {right:.6e} "]
        )
    if isinstance(problem, Expression):
        wrong = [str(rule) for rule in problem.misconceptions]
        letters = {n: notation.letter(n) for n in problem.names}
        board = lambda text: re.sub(r"[a-z_]+", lambda m: letters.get(m[0], m[0]), text.replace("Max", "max"))
        right = str(problem.formula.expr)
        made = [
            "*".join(rng.choices(list(letters.values()), k=rng.randint(1, 5)))
            + rng.choice(["", "/", "+", "-"])
            + rng.choice(list(letters.values()))
            for _ in range(60)
        ]
        return [
            right,
            board(right),
            f"3*({right})",
            f"1000*({right})",
            f"({right})^2",
            f"x = {right}",
            *map(board, wrong),
            *wrong,
            *made,
        ]
    return (
        list(problem.lettered)
        if isinstance(problem, Choice)
        else ["".join(rng.sample(problem.letters, len(problem.letters))) for _ in range(40)]
    )


@pytest.mark.parametrize("lesson, problem", JUDGED)
def test_page_and_library_agree(lesson, problem, judge):
    for draw, values in enumerate(problem.draws(problem.on_page)):
        typed = answers_for(problem, values) + ODD
        for text, told in zip(typed, judge(lesson, problem, draw, typed), strict=True):
            mine = problem.check(text, values)
            assert told["kind"] == mine.kind, (text[:80], told, mine)


FUNCTIONS = [each for each in ALL if isinstance(each.values[1], Function)]


@pytest.fixture(scope="module")
def judge_values(browser):
    """Call the page's judge of the values that a function has at a problem's points."""
    page = browser.new_page()
    page.set_content("<!DOCTYPE html><title>t</title>")
    page.add_script_tag(path=str(SCRIPT))
    for lesson in sorted({each.values[0] for each in FUNCTIONS}):
        page.add_script_tag(content=script(problems(lesson)))
    code = """([lesson, id, several]) =>
      several.map((values) => customElements.get("practice-box").judge(values, lesson, id, 0))"""
    yield lambda lesson, problem, several: page.evaluate(code, [lesson, problem.id, several])
    page.close()


@pytest.mark.parametrize("lesson, problem", FUNCTIONS)
def test_page_and_library_agree_on_functions(lesson, problem, judge_values):
    """The right values, each mistake's, scaled ones, and ones that are no numbers."""
    right = problem.at_points(problem.formula.expr)
    scaled = [[factor * value for value in right] for factor in (1 + 1e-9, 1.001, 2, 8, 1e3, 0, -1)]
    rows = [right, *map(problem.at_points, problem.misconceptions), *scaled]
    rows += [[math.nan] * len(right), [math.nan, *right[1:]]]
    told = judge_values(lesson, problem, [[None if math.isnan(x) else x for x in row] for row in rows])
    for row, said in zip(rows, told, strict=True):
        mine = problem.verdict(row)
        assert (said["kind"], said["message"]) == (mine.kind, markup(mine.message)), row


@pytest.mark.parametrize("lesson, problem", FUNCTIONS)
def test_the_page_runs_a_function_at_the_very_points(lesson, problem):
    """Whole numbers stay whole, and no digit is lost on the way; the starter is a function of the right names."""
    page = problem.page()
    points = json.loads(page["points"])
    assert repr(points) == repr(problem.points)
    assert values_of(page["starter"], points).kind == "nothing"
    known = list(zip(points, problem.at_points(problem.formula.expr)))
    text = f"known = {known!r}\ndef f(**given):\n    return [v for point, v in known if point == given][0]\n"
    assert problem.verdict(values_of(text, points)).ok


@cases("lesson, problem", ALL)
def test_sharing_between_draws_loses_nothing(lesson, problem):
    """What all draws share, with what each has of its own, is each draw whole; and nothing that is shared stands
    twice.
    """
    page, values = problem.page(), problem.draws(problem.on_page)
    about = {key: page.pop(key) for key in ("kind", "wants")}
    draws = page.pop("draws")
    whole = [problem.page_draw(each) for each in values]
    assert [page | own for own in draws] == whole
    assert not any(about.keys() & each.keys() for each in whole)
    assert not any(len({repr(own[key]) for own in draws}) == 1 for key in draws[0])


def test_a_script_cannot_end_the_element_it_stands_in():
    """A message with a closing tag reaches the page as it was written."""
    sly = replace(
        next(iter(problems(lessons()[0]))).problem, hints=("`</script><script>alert(1)</script>` \u2028 is no hint",)
    )
    text = script(ProblemSet("sly", [sly]))
    assert "</" not in text
    data = json.loads(re.search(r'register\("sly",(.*)\)\);$', text)[1])
    assert data[sly.id]["hints"] == sly.page()["hints"]


@cases(
    "view",
    [view for lesson in lessons() for view in problems(lesson)],
    ids=lambda v: f"{v.lesson}-{v.problem.id}" if hasattr(v, "lesson") else v.problem.id,
)
def test_no_name_in_braces_is_left_for_the_reader(view):
    """Hints, too, have their numbers filled in for each draw; braces are left to mathematics."""
    assert not re.findall(
        r"(?<![\\\w^}])\{[a-z_]+\}", json.dumps(view.problem.page(), ensure_ascii=False).replace("\\\\", "\\")
    )
