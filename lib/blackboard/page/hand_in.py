"""What a student hands in: the answers file, and the seed from which the student's numbers are drawn."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import linecache
import sys
import textwrap
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from blackboard import answers
from blackboard.answers import Unreadable
from blackboard.formula_problem import Expression, Function
from blackboard.problem import Problem, Quantity

LARGEST = 1_000_000  # bytes of an answers file
LARGEST_NOTEBOOK = 20_000_000  # with the pictures of its outputs
MEDIA = "application/vnd.blackboard.answers+json"  # the kind of output in which a notebook holds an answers file
NO_CELL = "a step is handed in as the text of its cell, so write it there with def or class"
Answers = dict[str, dict[str, Any]]  # by lesson and problem


class HandInError(ValueError):
    """An answers file that cannot be read or written; the message says why."""


class HandIn(NamedTuple):
    """One student's answers."""

    student: str
    answers: Answers


def seed_of(student: str) -> int:
    """The seed of a student's numbers: the same on every machine, and never 0, which draws the printed ones."""
    return 1 + int.from_bytes(hashlib.sha256(student.strip().encode()).digest()[:6], "big")


def check_id(student: str) -> str:
    """A student's id, without spaces around it."""
    if not isinstance(student, str) or not student.strip():
        raise ValueError('Give the student\'s id as a text, such as problems("batching").of("alice").')
    return student.strip()


def write_source(given: Any) -> str:
    """A function's source text, as the grader runs it: alone, in a process of its own."""
    try:
        text = textwrap.dedent(inspect.getsource(given))
    except (OSError, TypeError):
        text = ""
    if not text.startswith("def "):
        raise Unreadable("a function is handed in as source text, so write it with def in a cell")
    outside = inspect.getclosurevars(given)
    used = {name: value for name, value in {**outside.globals, **outside.nonlocals}.items() if name != given.__name__}
    imports = {name: _write_import(name, value, given.__module__) for name, value in sorted(used.items())}
    if missing := [name for name, line in imports.items() if not line]:
        raise Unreadable(f"it uses {', '.join(missing)} from outside; define or import that inside the function")
    return "".join(imports.values()) + text


def _write_import(name: str, value: Any, here: str) -> str:
    """The line that imports a value under its name, nothing for one that was made here, in the notebook."""
    if inspect.ismodule(value):
        return f"import {value.__name__} as {name}\n"
    home, own = getattr(value, "__module__", None), getattr(value, "__name__", "")
    found = isinstance(home, str) and home != here and getattr(sys.modules.get(home), own, None) is value
    return f"from {home} import {own} as {name}\n" if found else ""


def say_refused(name: str, error: Exception) -> str:
    """A sentence on an answer that the file cannot hold."""
    why = str(error).rstrip(".")
    return f"Not saved: {name}. {why[:1].upper()}{why[1:]}."


def lab_id(name: str) -> str:
    """What a lab's step is called among the problems of its lesson."""
    return f"lab-{name}"


def write_cell(made: Any) -> str:
    """The text of the cell that a lab's step was written in, helpers and imports included; what it only shows or checks
    is left out.
    """
    if not isinstance(made, (type, types.FunctionType)):
        raise Unreadable(NO_CELL)
    written = vars(made).values() if inspect.isclass(made) else [made]
    files = [each.__code__.co_filename for each in written if isinstance(each, types.FunctionType)]
    lines = linecache.getlines(files[0]) if files else []
    body = ast.parse("".join(lines)).body
    if made.__name__ not in {getattr(node, "name", "") for node in body}:
        raise Unreadable(NO_CELL)
    for node in body:
        if isinstance(node, ast.Expr):
            lines[node.lineno - 1 : node.end_lineno] = ["\n"] * len(lines[node.lineno - 1 : node.end_lineno])
    return "".join(lines).strip() + "\n"


def write_answer(problem: Problem, given: Any) -> str | float:
    """An answer as the file holds it: a number in the problem's unit, a text, or a function's source."""
    if type(given) is str:
        return given
    if isinstance(problem, Function):
        return write_source(given)
    if isinstance(problem, Quantity):
        return answers.quantity(given, problem.unit, problem.shown_label, problem.scale) / problem.scale
    if isinstance(problem, Expression):
        answers.expression(given, problem.table["letters"])  # refuses what is no formula
        return str(given)
    if type(given) in (list, tuple) and all(type(each) is str for each in given):
        return " ".join(given)
    raise Unreadable("that is no answer to this problem")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def read_hand_in(path: Path) -> HandIn:
    """An answers file, or a notebook in whose outputs one was saved, which is read and not run; HandInError where it is
    neither.
    """
    notebook = path.suffix == ".ipynb"
    kind, most = ("notebook", LARGEST_NOTEBOOK) if notebook else ("answers file", LARGEST)
    try:
        if path.stat().st_size > most:
            raise HandInError(f"{path.name} is larger than {most:,} bytes, so it is no {kind}.")
        held = json.loads(path.read_text("utf8"), parse_constant=_refuse_constant)
        held = _find_saved(held, path.name) if notebook else held
    except HandInError:
        raise
    except OSError as error:
        raise HandInError(f"{path.name} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise HandInError(f"{path.name} is not JSON ({error}). Run the notebook's last cell again.") from None
    return _as_hand_in(held, path.name)


def _find_saved(notebook: Any, name: str) -> Any:
    """The answers that a notebook saved last."""
    try:
        outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
        return [output["data"][MEDIA] for output in outputs if MEDIA in output.get("data", ())][-1]
    except (LookupError, TypeError, AttributeError):
        raise HandInError(f"{name} holds no saved answers. Run its last two cells and save the notebook.") from None


def _as_hand_in(held: Any, name: str) -> HandIn:
    match held:
        case {"student": str(student), "answers": dict(lessons)} if student.strip():
            if all(isinstance(given, dict) for given in lessons.values()):
                return HandIn(student, lessons)
    raise HandInError(f'{name} is JSON, but no answers file: it needs "student" and "answers" by lesson and problem.')


def save_answers(path: Path, student: str, lesson: str, given: Mapping[str, str | float]) -> dict[str, Any]:
    """Put a student's answers into a file, beside those that it has from the same student; what it then says."""
    before = read_hand_in(path) if path.exists() else HandIn(student, {})
    if before.student != student:
        raise HandInError(
            f"{path.name} has the answers of {before.student}, not of {student}. Save under another name."
        )
    answers = before.answers | {lesson: before.answers.get(lesson, {}) | dict(given)}
    held = {"student": student, "answers": answers}
    new = path.with_name(path.name + ".part")
    new.write_text(json.dumps(held, indent=1, ensure_ascii=False), "utf8")
    new.replace(path)  # whole or not at all
    return held
