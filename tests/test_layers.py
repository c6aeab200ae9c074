"""Imports run one way, the core needs no NumPy, and a lesson is four things of one name."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from lessons import LESSONS, LIB, LISTED, ROOT, listed, missing

from blackboard.page import practice

PACKAGES = sorted(
    p.parent.name for p in LIB.glob("*/equations.py") if p.parent.name != "reality"
)  # lessons, whole or not
CORE = [  # each may import those before it
    "text",
    "units",
    "notation",
    "formula",
    "style",
    "datafile",
    "architecture",
    "prices",
    "catalogue",
    "case",
    "derivation",
    "answers",
    "panel",
    "problem",
    "practice",
    "explorable",
    "marks",
    "menus",
    "drawing",
    "summary",
    "tables",
]
ROOMS = [
    "equations",
    "transformer",
    "moe",
    "network",
    "distributions",
    "allocator",
    "hybrid",
    "kernels",
    "simulation",
    "lab",
    "implied",
    "numbers",
    "figures",
    "explorables",
    "problems",
]


REALITY = [  # the equations against published measurements: above the lessons, below the reference pages
    "checks",
    "equations",
    "layout",
    "prediction",
    "fits",
    "exchanges",
    "kernels",
    "serving",
    "calibration",
    "runs",
    "bends",
    "entry",
    "cells",
    "sums",
    "closings",
    "closure",
    "steps",
    "training",
    "savings",
    "validation",
    "losses",
    "numbers",
    "figures",
    "explorables",
    "__main__",
]
REFERENCE = [
    "equations",
    "costs",
    "cost_charts",
    "ledger",
    "points",
    "repeated",
    "claims",
    "flashcards",
]  # pages that look back on all lessons: they import them, nothing imports these


def imported(path: Path) -> set[str]:
    """Dotted names that a module imports from blackboard, wherever in the file."""
    out = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("blackboard"):
            out |= {f"{node.module}.{a.name}".removeprefix("blackboard.") for a in node.names}
        elif isinstance(node, ast.Import):
            out |= {a.name.removeprefix("blackboard.") for a in node.names if a.name.startswith("blackboard.")}
    return out


@pytest.mark.parametrize("path", sorted(LIB.glob("*.py")), ids=lambda p: p.stem)
def test_the_core_imports_one_way_and_knows_no_lesson(path):
    if path.stem == "__init__":
        return
    assert path.stem in CORE, f"{path.name} has no place in the order of layers"
    for name in imported(path):
        head = name.split(".")[0]
        assert head not in [*PACKAGES, "reference", "reality"], f"{path.name} imports {head}, which stands above it"
        assert head not in CORE or CORE.index(head) < CORE.index(path.stem), f"{path.name} imports {name}"


@pytest.mark.parametrize("path", sorted(LIB.glob("*/*.py")), ids=lambda p: f"{p.parent.name}.{p.stem}")
def test_a_lesson_takes_only_equations_of_another(path):
    if path.stem == "__init__" or path.parent.name in ("data", "reference", "reality"):
        return
    assert path.stem in ROOMS, f"{path} has no place in the order of rooms: {', '.join(ROOMS)}"
    for name in imported(path):
        head, *rest = name.split(".")
        assert head not in ("reference", "reality"), f"{path} imports what looks back on it"
        if head in PACKAGES and head != path.parent.name:
            assert rest[:1] == ["equations"], f"{path} imports {name}"
        elif head == path.parent.name and rest and rest[0] in ROOMS:
            assert ROOMS.index(rest[0]) < ROOMS.index(path.stem), f"{path.stem} imports {rest[0]}, a later room"


@pytest.mark.parametrize("path", sorted((LIB / "reference").glob("[!_]*.py")), ids=lambda p: p.stem)
def test_a_reference_page_imports_only_those_before_it(path):
    assert path.stem in REFERENCE, f"{path} has no place in the order of reference pages: {', '.join(REFERENCE)}"
    for name in imported(path):
        head, *rest = name.split(".")
        assert head != "reference" or REFERENCE.index(rest[0]) < REFERENCE.index(path.stem), (
            f"{path.stem} imports {name}"
        )


@pytest.mark.parametrize(
    "path", sorted(p for p in (LIB / "reality").glob("*.py") if p.stem != "__init__"), ids=lambda p: p.stem
)
def test_reality_imports_lessons_and_only_its_earlier_modules(path):
    assert path.stem in REALITY, f"{path} has no place in the order of modules: {', '.join(REALITY)}"
    for name in imported(path):
        head, *rest = name.split(".")
        assert head != "reference", f"{path.stem} imports {name}"
        assert head != "reality" or rest[0] not in REALITY or REALITY.index(rest[0]) < REALITY.index(path.stem), (
            f"{path.stem} imports {name}"
        )


@pytest.mark.parametrize("lesson", LISTED)
def test_a_lesson_is_four_things_of_one_name(lesson):
    """No lesson of the contents escapes the tests over all lessons because it lacks a part."""
    assert missing(lesson) == [], f"{lesson} stands in _toc.yml and lacks {', '.join(missing(lesson))}"
    assert list((ROOT / "tests").glob(f"test_{lesson}*.py")), f"tests/test_{lesson}_*.py is missing"


def test_every_lesson_of_the_library_stands_in_the_contents():
    assert sorted(practice.lessons()) == sorted(LISTED), "a lesson without a line in _toc.yml, or without problems"


def test_a_part_that_a_lesson_lacks_is_named(tmp_path):
    """Also where it is the interactive charts alone."""
    for file in missing("fresh", tmp_path):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert missing("fresh", tmp_path) == []
    (tmp_path / "lib" / "blackboard" / "fresh" / "explorables.py").unlink()
    assert missing("fresh", tmp_path) == ["lib/blackboard/fresh/explorables.py"]


def test_lessons_are_the_pages_of_the_contents_but_for_reference():
    parts = [("One", ["book/a", "exercises/a"]), ("Two", ["book/b"]), ("Reference", ["book/glossary"])]
    contents = [{"caption": name, "chapters": [{"file": file} for file in files]} for name, files in parts]
    assert listed({"parts": contents}) == ["a", "b"]


NEEDLESS = ("numpy", "scipy", "matplotlib", "altair", "ipywidgets", "IPython", "pandas", "vl_convert")
BARE = """
import sys
class Refuse:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in %r:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
import blackboard.units, blackboard.notation, blackboard.formula, blackboard.catalogue, blackboard.page.practice
from blackboard.catalogue.running_case import RUNNING
assert 0 < blackboard.formula.formulas["batching.step_time"](RUNNING, batch=100) < 1
for lesson in %r:
    problems = blackboard.page.practice.problems(lesson)
    for view in problems:
        values = view.problem.values()
        assert view.check().kind == "unanswered"
        if view.problem.kind in ("quantity", "estimate"):
            assert view.problem.check(view.problem.expected(values) / view.problem.scale, values).ok
        if view.problem.kind == "expression":
            assert view.problem.check(str(view.problem.formula.expr), values).ok
print("checked")
"""


@pytest.mark.slow
def test_core_and_problems_work_without_numpy_matplotlib_and_altair():
    done = subprocess.run([sys.executable, "-c", BARE % (NEEDLESS, LESSONS)], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "checked", done.stderr[-2000:]
