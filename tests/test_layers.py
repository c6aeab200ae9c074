"""Imports run one way, the core needs no NumPy, and a lesson is four things of one name."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from cases import cases
from lessons import LESSONS, LIB, LISTED, ROOT, listed, missing

from blackboard.page import practice

PACKAGES = sorted(path.parent.name for path in LIB.glob("lessons/*/equations.py"))  # lessons, whole or not


def imported(path: Path) -> set[str]:
    """Dotted names that a module imports from blackboard, wherever in the file."""
    out = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("blackboard"):
            out |= {f"{node.module}.{a.name}".removeprefix("blackboard.") for a in node.names}
        elif isinstance(node, ast.Import):
            out |= {a.name.removeprefix("blackboard.") for a in node.names if a.name.startswith("blackboard.")}
    return out


def test_imports_run_one_way():
    """As pyproject.toml says: rooms of the library, and the parts of a lesson, in their order."""
    done = subprocess.run([sys.executable, "-c", LINT], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout


LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"


@cases("path", sorted(LIB.glob("lessons/*/*.py")), ids=lambda p: f"{p.parent.name}.{p.stem}")
def test_a_lesson_takes_only_equations_of_another(path):
    for name in imported(path):
        room, lesson, part = [*name.split("."), "", ""][:3]
        if room == "lessons" and lesson not in ("", path.parent.name):
            assert part == "equations", f"{path} imports {name}"


@pytest.mark.parametrize("lesson", LISTED)
def test_a_lesson_is_four_things_of_one_name(lesson):
    """No lesson of the contents escapes the tests over all lessons because it lacks a part."""
    assert missing(lesson) == [], f"{lesson} stands in _toc.yml and lacks {', '.join(missing(lesson))}"
    assert list((ROOT / "tests").glob(f"test_{lesson}*.py")), f"tests/test_{lesson}_*.py is missing"


def test_every_lesson_of_the_library_stands_in_the_contents():
    assert sorted(practice.lessons()) == sorted(LISTED), "a lesson without a line in _toc.yml, or without problems"


def test_a_part_that_a_lesson_lacks_is_named(tmp_path):
    for file in missing("fresh", tmp_path):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert missing("fresh", tmp_path) == []
    (tmp_path / "lib" / "blackboard" / "lessons" / "fresh" / "figures.py").unlink()
    assert missing("fresh", tmp_path) == ["lib/blackboard/lessons/fresh/figures.py"]


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
