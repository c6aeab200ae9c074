"""What Python answers in a page: `answer` takes and returns JSON, for book/_labs/worker.js."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from blackboard.charts.interactive import InteractiveChart
from blackboard.lab import HEADS, Lab, Verdict, stopped
from blackboard.text import markup

LONGEST = 600  # characters of what a reader's code prints


def find_lab(lesson: str) -> Lab:
    """A lesson's lab; by name, as a page's parts know no lesson."""
    return importlib.import_module(f"blackboard.lessons.{lesson}.lab").LAB


def feedback(verdict: Verdict, printed: str = "") -> dict[str, Any]:
    """A verdict as a page shows it."""
    return {
        "kind": verdict.kind,
        "head": HEADS[verdict.kind],
        "message": markup(verdict.message),
        "call": verdict.call,
        "printed": printed[:LONGEST] + " …" * (len(printed) > LONGEST),
    }


class _Printed(io.StringIO):
    """What is printed, up to a length: a loop that prints would fill the memory."""

    def write(self, text: str) -> int:
        return super().write(text) if self.tell() <= LONGEST else len(text)


def check(lesson: str, step: str, text: str, earlier: Mapping[str, str]) -> dict[str, Any]:
    """The verdict on a step's text, and what it printed."""
    printed = _Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        verdict = find_lab(lesson).grade(step, text, earlier)
    return feedback(verdict, printed.getvalue())


def chart(lab: Lab, spec: dict[str, Any]) -> InteractiveChart:
    """The last chart, from its spec."""
    return InteractiveChart(spec, lab.title, lab.ending, "")


def draw(lesson: str, sources: Mapping[str, str]) -> dict[str, Any]:
    """The last chart's spec, or a verdict on what kept it from being drawn."""
    lab = find_lab(lesson)
    with contextlib.redirect_stdout(_Printed()):
        try:
            return {"spec": chart(lab, lab.finished(sources)).spec}
        except BaseException as error:
            return feedback(stopped(error))


ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {"check": check, "draw": draw}


def answer(question: str) -> str:
    """The answer to one question: {"ask": "check", "lesson": ..., ...}."""
    given = json.loads(question)
    return json.dumps(ANSWERS[given.pop("ask")](**given))
