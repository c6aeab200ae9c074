"""Which lessons are whole, and where their things stand: what the tests over all lessons are parametrised by."""

import importlib
import inspect
from pathlib import Path

from blackboard import practice

ROOT = Path(__file__).resolve().parent.parent
LIB = ROOT / "lib" / "blackboard"
NEEDS = (
    "equations",
    "numbers",
    "figures",
    "explorables",
    "problems",
)  # a lesson without one of these is still being written


def page(lesson):
    """The file of a lesson's text."""
    return ROOT / "book" / f"{lesson}.md"


LESSONS = [
    name
    for name in practice.lessons()
    if page(name).exists() and all((LIB / name / f"{room}.py").exists() for room in NEEDS)
]


def room(lesson, name):
    """A module of a lesson: room("batching", "figures")."""
    return importlib.import_module(f"blackboard.{lesson}.{name}")


def functions(module):
    """Public functions that the module itself defines, and that need no argument."""
    own = [
        (n, f)
        for n, f in vars(module).items()
        if inspect.isfunction(f) and f.__module__ == module.__name__ and not n.startswith("_")
    ]
    empty = inspect.Parameter.empty
    return [
        name
        for name, function in own
        if all(p.default is not empty for p in inspect.signature(function).parameters.values())
    ]


def explorers(lesson):
    """Names of a lesson's explorables."""
    return [name for name in functions(room(lesson, "explorables")) if name.endswith("_explorer")]


def sig(value, digits=2):
    """A number to so many digits, with thousands separators, by another way than the library's."""
    rounded = float(f"{value:.{digits - 1}e}")
    return f"{rounded:,.0f}" if rounded >= 10 ** (digits - 1) else f"{rounded:g}"
