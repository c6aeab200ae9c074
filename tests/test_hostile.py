"""Hostile texts, given to every answer box, of a notebook and of the page, and to the page's Python, with all labs.

Each gets an answer, and none takes long.

HOSTILE names how many; `HOSTILE=100000 pytest -n0 tests/test_hostile.py` is the whole trial, of minutes.
"""

import json
import os
import random
import time
from pathlib import Path

import pytest

from blackboard.feedback import HEADS
from blackboard.formula_problem import Expression, Function
from blackboard.page.lab_worker import answer, find_lab, list_steps
from blackboard.page.practice import lessons, problems
from blackboard.page.problem_panel import card, script
from blackboard.problem import Choice
from blackboard.reader_code import HEADS as SAID

SCRIPT = Path(__file__).resolve().parent.parent / "book" / "_static" / "practice.js"
COUNT = int(os.environ.get("HOSTILE", "2000"))
SHARE = 1 + COUNT // 3  # of a notebook's boxes, the page's boxes and the page's Python
LONGEST = 10.0  # seconds that an answer may take
PIECES = (
    *("0", "1", "9" * 30, ".", "e", "1e308", "-", "--", "+", "*", "**", "^", "/", "//", "(", ")", "((", "=", "==", ","),
    *(" ", "\t", "\n", "\r", "\x00", "\u2028", "\u200b", "\ud800", "\U0001d54f", "½", "²", "١", "∞", "µ", "é", "ǅ"),
    *(
        "nan",
        "inf",
        "None",
        "ms",
        "GB",
        "GiB",
        "$",
        "%",
        "per",
        "token",
        "N_act",
        "κ",
        "B",
        "max(",
        "sqrt(",
        "exp(",
        "log(",
    ),
    *("<script>", "</script>", "&lt;", "'", '"', '"""', "`", "\\", "{}", "{0}", "%s", "$(x)", "__class__", "lambda x:"),
    *(
        "def ",
        "class ",
        "return ",
        "yield ",
        "await ",
        "async ",
        ":",
        "\n    ",
        "\n\t",
        "#",
        "@",
        "import ",
        "del ",
        "...",
    ),
    *(
        "global x",
        "x",
        "f(",
        "[",
        "]",
        "{",
        "}",
        "~",
        "!",
        "?",
        "raise ",
        "try:",
        "except:",
        "pass",
        "[0] * 9",
        "1 // 0",
    ),
)


def make_text(rng, seeds):
    """A text of hostile pieces, or a good one that was cut, doubled or changed."""
    pieces = "".join(rng.choices(PIECES, k=rng.randint(0, 12)))
    if rng.random() < 0.02:
        return pieces * rng.choice((100, 3000))
    if not seeds or rng.random() < 0.5:
        return pieces
    good = rng.choice(seeds)
    at, end = sorted(rng.choices(range(len(good) + 1), k=2))
    return rng.choice((good[:at] + pieces + good[end:], good[:at] + good[end:], good[:end] + good[at:], pieces + good))


def answers_of(view):
    """Good answers to a problem, to be spoiled."""
    problem = view.problem
    given = problem.misconceptions if isinstance(problem, Expression) else problem.wrong_answers(view._values)
    return [*map(str, given), str(problem.expected(view._values)), problem.wants]


def timed(asked, *given):
    """What comes back, and that it came in time; the processor's, as a busy machine's clock counts what others do."""
    start = time.process_time()
    told = asked(*given)
    took = time.process_time() - start
    assert took < LONGEST, (took, given)
    return told


def list_boxes():
    """The problems that are answered in a line; a function's code goes to Python."""
    return [view for lesson in lessons() for view in problems(lesson) if not isinstance(view.problem, Function)]


def test_answer_boxes_answer_whatever_is_typed():
    rng, boxes = random.Random(1), list_boxes()
    seeds = {view: answers_of(view) for view in boxes}
    for _ in range(SHARE):
        view = rng.choice(boxes)
        said = timed(view.problem.check, make_text(rng, seeds[view]), view._values)
        assert said.kind in HEADS and isinstance(said.message, str)


TYPE = """(asked) => JSON.stringify(JSON.parse(asked).map(([lesson, id, text]) => {
  const box = document.querySelector(`practice-box[data-lesson="${lesson}"][data-problem="${id}"]`);
  const start = performance.now();
  box.tried(text);
  const kind = box.dataset.verdict, shown = box.out.textContent;
  if (box.input) { box.input.value = text; box.querySelector("form").requestSubmit(); }
  const strays = box.out.querySelectorAll("script, img, iframe, style, [onerror]").length;
  return { kind, shown, strays, typed: box.out.textContent, took: (performance.now() - start) / 1000 };
}))"""


@pytest.fixture
def page_of_boxes(browser):
    """One page with the answer boxes of all lessons, and the exceptions that leave it."""
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content("<!DOCTYPE html><title>t</title>" + "".join(card(view, live=True) for view in list_boxes()))
    page.add_script_tag(path=str(SCRIPT))
    for lesson in lessons():
        page.add_script_tag(content=script(problems(lesson)))
    page.wait_for_function("[...document.querySelectorAll('practice-box')].every((box) => box.out)")
    yield page, errors
    page.close()


def test_the_pages_boxes_answer_whatever_is_typed_as_the_library_does(page_of_boxes):
    """Each text is handed to a box, and typed into its field and sent, which leaves line breaks out."""
    (page, errors), rng, boxes = page_of_boxes, random.Random(3), list_boxes()
    values = {view: view.problem.draws(view.problem.on_page)[0] for view in boxes}
    seeds = {view: answers_of(view) for view in boxes}
    for start in range(0, SHARE, 500):
        typed = [(view := rng.choice(boxes), make_text(rng, seeds[view])) for _ in range(min(500, SHARE - start))]
        asked = json.dumps([(view.lesson, view.problem.id, text) for view, text in typed])
        for (view, text), told in zip(typed, json.loads(page.evaluate(TYPE, asked)), strict=True):
            assert told["took"] < LONGEST and told["kind"] in HEADS and not told["strays"], (text, told)
            assert told["shown"] and told["typed"], (text, told)
            words = isinstance(view.problem, Choice) and len(text) > 3  # a notebook takes an option's words as well
            assert words or told["kind"] == view.problem.check(text, values[view]).kind, (
                view.lesson,
                view.problem.id,
                text,
                told,
            )
    assert not errors


def ask(question):
    """What the page's Python says: JSON that a browser can read."""
    return json.loads(answer(json.dumps(question)), parse_constant=pytest.fail)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning", "ignore:coroutine")
def test_the_pages_python_answers_whatever_is_written():
    """Steps of labs, functions and cells. What a text prints or raises stays inside; each answer is one that a page can
    show.
    """
    rng, points = random.Random(2), json.dumps([{"batch": 2.0, "n_active": 3}] * 4)
    steps = [(lesson, step) for lesson in lessons() for step in list_steps(lesson)]
    good = "def f(batch, n_active):\n    return batch * n_active\n"
    for _ in range(SHARE):
        lesson, step = rng.choice(steps)
        text = make_text(rng, [step.source, step.starter, good])
        check = {"ask": "check", "lesson": lesson, "step": step.name, "text": text, "earlier": {}}
        said = timed(ask, rng.choice((check, {"ask": "function", "text": text, "points": points})))
        assert "values" in said or (said["kind"] in SAID and "<script" not in said["message"]), (text, said)


# What a text may do to the Python that runs it, rather than to its reader.
SLY = {
    "exit": "import sys\nsys.exit(3)",
    "interrupt": "raise KeyboardInterrupt",
    "generator": "raise GeneratorExit",
    "swallows": "while True:\n    try:\n        raise ValueError\n    except Exception:\n        pass",
    "deep": "f = lambda: f()\nf()",
    "brackets": "(" * 10_000,
    "minus": "-" * 10_000 + "1",
    "long line": "x = " + "1 + " * 20_000 + "1",
    "printed": "while True: print('x' * 1000)",
    "class": "class E(Exception):\n    def __str__(self): raise E\nraise E",
    "surrogate": "x = '\ud800'\nprint(x)\nraise ValueError(x)",
    "null": "x = 1\x00",
    "huge": "x = 10 ** 10_000\nraise ValueError(10 ** 5000)",
    "tracing": "import sys\nsys.settrace(None)",
    "stdout": "import sys\nsys.stdout = None",
    "closes": "import sys\nsys.stdout.close()",
    "recursion": "import sys\nsys.setrecursionlimit(10)",
}


@pytest.mark.parametrize("name", SLY)
@pytest.mark.parametrize("kind", ["check", "function"])
def test_sly_texts_get_an_answer_and_do_no_harm(name, kind):
    import sys

    limit, out = sys.getrecursionlimit(), sys.stdout
    step = find_lab("paging").steps[-1]
    check = {"ask": "check", "lesson": "paging", "step": step.name, "earlier": {}, "text": SLY[name]}
    question = check if kind == "check" else {"ask": "function", "points": '[{"a": 1}]', "text": SLY[name]}
    try:
        assert timed(ask, question)["kind"] in SAID
        assert sys.getrecursionlimit() == limit
        assert ask(check | {"text": step.source})["kind"] == "right"
        assert sys.stdout is out
    finally:
        sys.setrecursionlimit(limit)
