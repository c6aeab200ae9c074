"""Cells that run in a page: what one needs of those before it, and that the page's own Python runs every one."""

import contextlib
import functools
import inspect
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lessons import LESSONS
from test_labs import WITH_LAB

from blackboard.charts.page_chart import page_spec
from blackboard.page.lab_worker import chart, find_lab, list_steps
from blackboard.page.live_cells import find_needed, read_statements, run_cell, show_value
from blackboard.page.practice import lessons, problems
from blackboard.text import markup

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import live_cells  # noqa: E402
import page_python  # noqa: E402

# Pyodide in Node.js answers questions as a page's worker does, and runs texts whose last line is JSON.
NODE = """
import { readFileSync } from "node:fs";
const [index, archive, asked] = process.argv.slice(2);
const { loadPyodide } = await import(index + "/pyodide.js");
const python = await loadPyodide({ indexURL: index + "/" });
const extractDir = python.runPython("import sysconfig; sysconfig.get_paths()['purelib']");
for (const name of [index + "/libraries.zip", archive]) {
  python.unpackArchive(new Uint8Array(readFileSync(name)), "zip", { extractDir });
}
const worker = python.pyimport("blackboard.page.lab_worker");
const answer = (asked) => typeof asked === "string" ? python.runPython(asked) : worker.answer(JSON.stringify(asked));
process.on("uncaughtException", (error) => { console.error(error.message); process.exit(1); });
const answers = JSON.parse(readFileSync(asked)).map((question) => JSON.parse(answer(question)));
console.log(JSON.stringify(answers));
"""


def needed(*cells):
    """What the last of some cells needs of the others, as lines."""
    import ast

    return [ast.unparse(each.tree) for each in find_needed(cells[:-1], cells[-1])]


def test_a_cell_takes_the_names_it_uses_and_no_others():
    assert needed("import numpy\nimport math", "a = math.pi\nb = numpy.e", "print(a)") == ["import math", "a = math.pi"]


def test_an_import_of_several_names_is_taken_apart():
    assert needed("from math import pi, e", "pi") == ["from math import pi"]


def test_what_changes_a_value_is_taken_too():
    cells = ["kept = []\nother = []", "kept.append(1)\nother.append(2)\nprint(kept)", "kept"]
    assert needed(*cells) == ["kept = []", "kept.append(1)"]
    assert run_cell(cells[:2], cells[2]) == [1]


def test_calls_in_a_module_change_nothing():
    assert needed("import math", "math.sqrt(2)", "math.pi") == ["import math"]


def test_only_the_last_meaning_of_a_name_counts():
    assert needed("x = 1", "x = 2", "x") == ["x = 2"]
    assert needed("x = 1", "x += 1", "x") == ["x = 1", "x += 1"]
    assert needed("x = 1", "for x in []:\n    pass", "x") == ["x = 1", "for x in []:\n    pass"]


def test_a_name_that_the_cell_makes_itself_is_not_asked_for():
    assert needed("n = 1\nhere = 2", "for n in (1, 2):\n    here = n\n    print(here, [n for n in (3,)])") == []
    assert needed("f = 1", "def f(x):\n    return f(x)") == []


def test_what_a_function_uses_is_needed_where_it_is_called():
    assert needed("k = 3", "f = lambda x: k * x", "f(2)") == ["k = 3", "f = lambda x: k * x"]
    assert run_cell(["k = 3", "f = lambda x: k * x"], "f(2)") == 6


def test_earlier_cells_say_nothing():
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert run_cell(["a = print('early') or 7"], "print('late')\na") == 7
    assert said.getvalue() == "late\n"


@pytest.mark.parametrize("cell", ["", "# nothing", "x = 1", "\n\n"])
def test_a_cell_may_return_nothing(cell):
    assert run_cell([], cell) is None
    assert show_value(None) == {"text": ""}


def test_only_the_courses_own_objects_write_html():
    class Sly:
        def _repr_html_(self):
            return "<script>1</script>"

        def __repr__(self):
            return "<sly>"

    assert show_value(Sly()) == {"text": "<sly>"}


# --- the lessons' cells -----------------------------------------------------------------------------------------------


@functools.cache
def faults():
    """What keeps shown cells from running without NumPy, of all lessons."""
    return live_cells.find_faults(tuple(LESSONS))


def test_cells_are_read_as_the_book_reads_them():
    from notebooks import read_notebook

    for lesson in LESSONS:
        cells = [each.source.strip() for each in read_notebook(ROOT / "book" / f"{lesson}.md").cells]
        assert [each for each in live_cells.read_cells(lesson) if each not in cells] == []


def test_whatever_does_not_run_lacks_numpy_and_nothing_else():
    told = {fault for found in faults().values() for fault in found.values() if fault}
    assert told <= {f"ModuleNotFoundError: import of {name} halted; None in sys.modules" for name in ("numpy", "scipy")}


def test_most_cells_run_in_the_page():
    told = [fault for found in faults().values() for fault in found.values()]
    assert told.count(None) > 0.9 * len(told)


def test_each_lesson_shows_at_least_four_programs():
    assert {lesson for lesson, found in faults().items() if len(found) < 4} == set()


def live(lesson):
    """The numbers of a lesson's cells that run."""
    return [int(number) for number, fault in faults()[lesson].items() if fault is None]


def printed_here(lesson, number):
    """What a cell prints and returns in this Python."""
    cells, said = live_cells.read_cells(lesson), io.StringIO()
    with contextlib.redirect_stdout(said):
        value = run_cell(cells[:number], cells[number])
    return {"printed": said.getvalue(), **show_value(value)}


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Ask the page's own Python, in Node.js."""
    if not page_python.HERE.exists() or not shutil.which("node"):
        pytest.skip("Python for the book's pages was not fetched: npm or Node.js is missing")
    folder = tmp_path_factory.mktemp("page")
    (folder / "course.zip").write_bytes(page_python.archive_own())
    (folder / "ask.mjs").write_text(NODE)
    shutil.copytree(page_python.HERE, folder / "python")
    (folder / "python" / "package.json").write_text('{"type": "module"}')

    def ask(questions):
        (folder / "asked.json").write_text(json.dumps(questions))
        command = ["node", "ask.mjs", f"{folder}/python", "course.zip", "asked.json"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr[-2000:]
        return json.loads(ran.stdout.splitlines()[-1])

    return ask


def without_noise(said):
    """An answer without numbers that are only rounding, which no two machines share."""
    return {name: re.sub(r"\de-1[5-9]", "0", text) for name, text in said.items()}


def test_the_pages_own_python_runs_every_live_cell_to_the_same_end(ask):
    cells = [(lesson, number) for lesson in LESSONS for number in live(lesson)]
    told = ask([{"ask": "cell", "lesson": lesson, "number": number, "texts": {}} for lesson, number in cells])
    for cell, said in zip(cells, told, strict=True):
        assert without_noise(said) == without_noise(printed_here(*cell)), cell


def grade_here(lesson, step, text):
    """A verdict of this Python on a step's text, without the case that it shows."""
    verdict = find_lab(lesson).grade(step.name, text)
    return verdict.kind, markup(verdict.message)


def versions(step):
    """Texts of a step: the course's, the starter, and a wrong one."""
    wrong = next(iter(step.mistakes))
    return step.source, step.starter, re.sub(rf"\b{wrong.__name__}\b", step.name, inspect.getsource(wrong))


def test_the_pages_own_python_grades_every_step_of_every_lab_alike(ask):
    asked = [(lesson, step, text) for lesson in LESSONS for step in list_steps(lesson) for text in versions(step)]
    ask_for = lambda lesson, step, text: dict(ask="check", lesson=lesson, step=step.name, text=text, earlier={})
    told = ask([ask_for(*each) for each in asked])
    for each, said in zip(asked, told, strict=True):
        kind, message = grade_here(*each)
        assert said["kind"] == kind, (each, said)
        if kind != "crash":  # how deep calls may be, and in which words that is told, depends on the version
            assert without_noise(said)["message"] == without_noise({"message": message})["message"], each
    kinds = [said["kind"] for said in told]
    assert kinds[0::3] == ["right"] * (len(kinds) // 3) and kinds[1::3] == ["unattempted"] * (len(kinds) // 3)
    assert not {"right", "unattempted"} & set(kinds[2::3])


def test_the_pages_own_python_draws_every_lab_and_runs_every_example(ask):
    examples = [(lesson, step) for lesson in LESSONS for step in list_steps(lesson)]
    told = ask(
        [{"ask": "draw", "lesson": lesson, "sources": {}} for lesson in WITH_LAB]
        + [dict(ask="run", lesson=each, step=step.name, text=step.source, earlier={}) for each, step in examples]
    )
    for lesson, said in zip(WITH_LAB, told, strict=False):
        own = find_lab(lesson)
        assert said["spec"].keys() == page_spec(chart(own, own.finished())).keys(), lesson
    for (lesson, step), said in zip(examples, told[len(WITH_LAB) :], strict=True):
        own = find_lab(lesson)
        assert said == {"printed": "", "text": f"{step.example} returned {own.example_result(step)}"}, (lesson, step)


# In the page's own Python: each problem's right answer, and what the library says of it.
ALL_PROBLEMS = """
import json
from blackboard.page.practice import lessons, problems

def right(problem):
    if problem.kind in ("function", "expression"):
        return problem.formula if problem.kind == "function" else str(problem.formula.expr)
    return problem.expected(problem.values(0)) / getattr(problem, "scale", 1)

def letters(problem):
    return problem.expected(problem.values(0))

told = {}
for lesson in lessons():
    for view in problems(lesson):
        answer = letters if view.problem.kind in ("choice", "ordering") else right
        told[f"{lesson} {view.problem.id}"] = [view.check("").kind, view.check(answer(view.problem)).kind]
json.dumps(told)
"""


def test_the_pages_own_python_checks_every_problem(ask):
    [told] = ask([ALL_PROBLEMS])
    assert len(told) == sum(len(problems(lesson)) for lesson in lessons())
    assert [each for each in told.items() if each[1] != ["unanswered", "right"]] == []


def test_the_pages_own_python_runs_a_function_and_stops_what_does_not_end(ask):
    told = ask(
        [
            {"ask": "function", "text": "def f(a, b):\n    return a * b\n", "points": '[{"a": 2, "b": 0.5}]'},
            {"ask": "function", "text": "def f(a):\n    while True: pass\n", "points": '[{"a": 2}]'},
            {"ask": "cell", "lesson": "paging", "number": 11, "texts": {"11": "1 +"}},
            {"ask": "cell", "lesson": "paging", "number": 11, "texts": {"11": "1 / 0"}},
            {"ask": "cell", "lesson": "paging", "number": 11, "texts": {"11": "import numpy"}},
            {"ask": "prepare", "what": "cell", "lesson": "paging", "number": 11, "texts": {"11": "1 +"}},
        ]
    )
    assert told[0] == {"values": [1.0]}
    assert [each.get("kind") for each in told[1:]] == ["slow", "syntax", "crash", "crash", None]
    assert "ZeroDivisionError" in told[3]["message"] and "numpy" in told[4]["message"]


def test_statements_keep_their_cell_whole():
    assert len(read_statements(["from math import pi, e\nx = 1"])) == 3
