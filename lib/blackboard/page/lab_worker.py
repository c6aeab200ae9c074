"""What Python answers in a page: `answer` takes and returns JSON, for book/_labs/worker.js."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blackboard.charts.interactive import InteractiveChart
from blackboard.charts.page_chart import page_spec
from blackboard.lab import Lab, Step
from blackboard.limits import READER, Limit, nobody
from blackboard.page import live_cells
from blackboard.page.written import values_of
from blackboard.reader_code import HEADS, LONGEST, SECONDS, Printed, Verdict, stopped
from blackboard.text import markup

CELL_LONGEST = 20_000  # of a cell, whose purpose may be to print


class Nobody(io.TextIOBase):
    """Where a page's code would read what is typed."""

    read = readline = nobody


def find_lab(lesson: str) -> Lab:
    """A lesson's lab; by name, as a page's parts know no lesson."""
    return importlib.import_module(f"blackboard.lessons.{lesson}.lab").LAB


def list_steps(lesson: str) -> Sequence[Step]:
    """The steps of a lesson's lab; none where it has no lab."""
    has_lab = importlib.util.find_spec(f"blackboard.lessons.{lesson}.lab")
    return find_lab(lesson).steps if has_lab else ()


def feedback(verdict: Verdict, printed: str = "", asked: bool = True) -> dict[str, Any]:
    """A verdict as a page shows it. Where nothing was `asked` and code just runs, an error is no wrong answer."""
    return {
        "kind": verdict.kind,
        "head": HEADS[verdict.kind] if asked or verdict.kind != "crash" else "Error.",
        "message": markup(verdict.message),
        "call": verdict.call,
        "printed": printed[:LONGEST] + " …" * (len(printed) > LONGEST),
    }


def check(lesson: str, step: str, text: str, earlier: Mapping[str, str]) -> dict[str, Any]:
    """The verdict on a step's text, with what that printed as it was read and in the case that is shown."""
    printed = Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        verdict = find_lab(lesson).grade(step, text, earlier)
    return feedback(verdict, printed.getvalue() + verdict.printed)


def run(lesson: str, step: str, text: str, earlier: Mapping[str, str]) -> dict[str, Any]:
    """What a step's text prints and returns as it stands; where its last line returns nothing, the step's example."""
    lab, printed = find_lab(lesson), Printed(CELL_LONGEST)
    space = lab.space(earlier)
    del space[step]  # the course's
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            with Limit({READER}, SECONDS):
                shown = live_cells.show_value(live_cells.run_cell([], text, space))
                if not shown.get("text") and "html" not in shown and not printed.getvalue():
                    shown = {"text": lab.try_example(lab[step], space)}
        except BaseException as error:
            return feedback(stopped(error), printed.getvalue(), asked=False)
    return {"printed": printed.getvalue(), **shown}


def chart(lab: Lab, spec: dict[str, Any]) -> InteractiveChart:
    """The last chart, from its spec; the first line of its title is what it shows."""
    return InteractiveChart(spec, lab.title, lab.ending, "", result=(0,))


def draw(lesson: str, sources: Mapping[str, str]) -> dict[str, Any]:
    """The last chart's spec, or a verdict on what kept it from being drawn."""
    lab = find_lab(lesson)
    with contextlib.redirect_stdout(Printed()):
        try:
            return {"spec": page_spec(chart(lab, lab.finished(sources)))}
        except BaseException as error:
            return feedback(stopped(error))


def function(text: str, points: str) -> dict[str, Any]:
    """The values of a reader's function at the points of a problem, which the page's script judges, or a verdict."""
    printed = Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        found = values_of(text, json.loads(points))
    return feedback(found, printed.getvalue()) if isinstance(found, Verdict) else {"values": found}


def cell(lesson: str, number: int, texts: Mapping[str, str]) -> dict[str, Any]:
    """What a lesson's cell prints and returns, after those before it; `texts` are the cells that the reader changed."""
    cells = live_cells.read_cells(lesson, texts)
    printed = Printed(CELL_LONGEST)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            shown = live_cells.show_value(live_cells.run_cell(cells[:number], cells[number]))
        except BaseException as error:
            return feedback(stopped(error), printed.getvalue(), asked=False)
    return {"printed": printed.getvalue(), **shown}


def prepare(what: str, lesson: str = "", number: int = 0, texts: Mapping[str, str] | None = None, **_: Any) -> dict:
    """Import what a question needs. What keeps it from being imported is told when the question is asked."""
    with contextlib.suppress(Exception):
        if what == "cell":
            cells = live_cells.read_cells(lesson, texts or {})
            live_cells.prepare(cells[:number], cells[number])
        elif what in ("check", "run", "draw"):
            find_lab(lesson)
    return {}


ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each for each in (check, run, draw, function, cell, prepare)
}


def answer(question: str) -> str:
    """The answer to a question, {"ask": "check", "lesson": ...}; whatever a reader's code raises, there is one."""
    given, deepest, typed = json.loads(question), sys.getrecursionlimit(), sys.stdin
    sys.stdin = Nobody()
    try:
        return json.dumps(ANSWERS[given.pop("ask")](**given))
    except BaseException as error:
        sys.setrecursionlimit(deepest)  # which a reader's code may have changed
        return json.dumps(feedback(Verdict("crash", f"Your code stopped with {type(error).__name__}.")))
    finally:
        sys.setrecursionlimit(deepest)
        sys.stdin = typed
