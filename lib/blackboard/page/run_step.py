"""Grade a lab's step that a student handed in: its code runs in a limited process, its results are judged in this one.

The process says what a failing version is told. What it calls right is believed only for its results: they are played
back here to the step's own checks, so nothing that a student's code did to the course over there earns a point.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

from blackboard.answers import Unreadable
from blackboard.lab import Lab, Step
from blackboard.page.lab_worker import find_lab
from blackboard.page.run_source import LONGEST, run_limited
from blackboard.reader_code import HEADS, SECONDS, Verdict

START = 60.0  # seconds on the clock for a step, most of them for a busy machine to import the course
STEP = """
    sys.path[:] = asked.pop("path")
    from blackboard.page.run_step import try_step
    limit()
    told = try_step(**asked)
"""


# --- results as JSON --------------------------------------------------------------------------------------------------


def encode(value: Any) -> Any:
    """A result as JSON can hold it, with lists told from tuples, and keys of any kind."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, list):
        return [encode(each) for each in value]
    for kind in (tuple, set, frozenset):
        if isinstance(value, kind):
            return {kind.__name__: [encode(each) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(each)] for key, each in value.items()]}
    raise TypeError(f"a {type(value).__name__} cannot be graded; return a number, a text, a list, a tuple or a dict")


def decode(held: Any) -> Any:
    """What `encode` was given."""
    if isinstance(held, list):
        return [decode(each) for each in held]
    if not isinstance(held, dict):
        return held
    [(kind, inside)] = held.items()
    return {"tuple": tuple, "set": set, "frozenset": frozenset, "dict": dict}[kind](decode(inside))


def encode_argument(value: Any) -> Any:
    """An argument after the call, as far as code can have changed it: a list, a dict, or an object's attributes."""
    try:
        return encode(vars(value) if hasattr(value, "__dict__") else value)
    except TypeError:
        return None


def change_argument(value: Any, after: Any) -> None:
    """Change an argument as it was changed over there."""
    if isinstance(value, list):
        value[:] = decode(after)
    elif isinstance(value, dict) and after is not None:
        value.clear()
        value.update(decode(after))
    elif hasattr(value, "__dict__") and after is not None:
        vars(value).update(decode(after))


# --- over there -------------------------------------------------------------------------------------------------------


def try_step(lesson: str, name: str, text: str, earlier: Mapping[str, str]) -> dict[str, Any]:
    """The verdict on a step's text, and what each case returned and changed."""
    lab, results = find_lab(lesson), []
    step = lab[name]

    def play(made: Any, *args: Any) -> Any:
        got = step.play(made, *args)
        if made is not step.solution:
            results.append([encode(got), [encode_argument(each) for each in args]])
        return got

    verdict = with_play(lab, step, play).grade(name, text, earlier)
    return {"kind": verdict.kind, "message": verdict.message, "check": verdict.check, "results": results}


def with_play(lab: Lab, step: Step, play: Callable[..., Any]) -> Lab:
    """The lab with another way to try one step."""
    return replace(lab, steps=[replace(each, play=play) if each is step else each for each in lab.steps])


# --- here -------------------------------------------------------------------------------------------------------------


def stand_in(solution: Callable[..., Any]) -> Callable[..., Any]:
    """What has a solution's signature, is another object, and has no code of its own to be timed."""
    return type(solution.__name__, (solution,), {}) if inspect.isclass(solution) else functools.partial(solution)


def judge_results(step: Step, results: Any) -> Verdict:
    """The step's own verdict on results from elsewhere."""
    left = iter(results)

    def play(made: Any, *args: Any) -> Any:
        if made is step.solution:
            return step.play(made, *args)
        got, after = next(left)
        for mine, theirs in zip(args, after):
            change_argument(mine, theirs)
        return decode(got)

    return replace(step, play=play, mistakes={}).check(stand_in(step.solution))


def grade_step(lesson: str, name: str, text: str, earlier: Mapping[str, str]) -> Verdict:
    """The verdict on a step's text, on top of earlier steps' texts; the course's versions stand in for missing ones."""
    step = find_lab(lesson)[name]
    if not text.strip():
        return step.unattempted
    if len(text) > LONGEST:
        raise Unreadable(f"The step is longer than {LONGEST:,} characters.")
    asked = {"path": sys.path, "lesson": lesson, "name": name, "text": text, "earlier": dict(earlier)}
    told = run_limited(STEP, asked, 2 * int(SECONDS) + 1, START)
    kind, message, check = (str(told.get(key)) for key in ("kind", "message", "check"))
    if kind == "right":
        return judge_results(step, told.get("results"))
    if kind not in HEADS:
        raise Unreadable("The step gave no verdict.")
    return Verdict(kind, message, check=check)
