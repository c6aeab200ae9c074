"""A class: numbers of one's own, the answers file, grading outside the notebook, and the commands."""

from __future__ import annotations

import ast
import csv
import json
import math
import os
import random
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import types
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from cases import cases
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

from blackboard.answers import Unreadable
from blackboard.page import lab_view
from blackboard.page.grading import expected, grade, grade_lab
from blackboard.page.hand_in import HandInError, lab_id, read_hand_in, seed_of, write_source
from blackboard.page.lab_worker import find_lab, list_steps
from blackboard.page.practice import lessons, problems
from blackboard.page.run_source import run_source
from blackboard.page.run_step import decode, encode, grade_step, judge_results, try_step
from blackboard.problem import Choice
from blackboard.reference import teaching

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import classroom
from simulated_students import choose_answers, write_mistake

ROOT = Path(__file__).resolve().parent.parent
STEPS = [pytest.param(lesson, step, id=f"{lesson}-{step.name}") for lesson in lessons() for step in list_steps(lesson)]
STEP = """def step(batch, context, n_active, n_total, bytes_per_param, kv_bytes_per_token, flops, bandwidth):
    loaded = n_total * bytes_per_param + batch * context * kv_bytes_per_token
    return max(2 * batch * n_active / flops, loaded / bandwidth)
"""


def right(view):
    """The right answer to a number's problem, as a student types it."""
    return float(view.problem.expected(view._values)) / view.problem.scale


# --- Numbers of one's own --------------------------------------------------------------------------------------------


def test_a_student_keeps_the_same_numbers_everywhere():
    assert seed_of("alice") == 1 + int("2bd806c97f0e", 16)  # the first 12 digits that `sha256sum` prints for alice
    first, second = (problems("batching").of("alice") for _ in range(2))
    assert [view.statement for view in first] == [view.statement for view in second]


def test_two_students_differ():
    statements = [[view.statement for view in problems("batching").of(name)] for name in ("alice", "bob")]
    assert sum(a != b for a, b in zip(*statements)) >= 8


def test_the_numbers_are_the_problems_own_draws():
    for view in problems("batching").of("alice"):
        assert view._values == view.problem.values(seed_of("alice"))
        for name, options in view.problem.parameters.items():
            assert view._values[name] in options


def test_numbers_stay_and_solutions_are_kept_back():
    view = problems("batching").of("alice", solutions=False)["floor"]
    before = view.statement
    assert "instructor" in view.solution() and "Hint 1" in view.hint()
    assert "stay" in str(view.again()) and view.reset().statement == before
    assert "instructor" not in problems("batching").of("alice")["floor"].solution()


@pytest.mark.parametrize("nobody", ["", "  ", None, 7])
def test_an_id_is_a_text(nobody):
    with pytest.raises(ValueError, match="id"):
        problems("batching").of(nobody)


# --- The answers file ------------------------------------------------------------------------------------------------


def test_answers_are_saved_and_graded(tmp_path):
    p, file = problems("batching").of("alice"), tmp_path / "answers.json"
    p["floor"].check(right(p["floor"]))
    p["compute"].check(p["compute"].problem.formula.expr)  # SymPy
    p["roofline"].check("a")
    p["roofline"].check(...)  # a blank replaces no answer
    assert str(p.save(file)) == f"Saved 3 of {len(p)} answers of alice to {file}."
    held = json.loads(file.read_text())
    assert held["student"] == "alice" and type(held["answers"]["batching"]["floor"]) is float
    kinds = {mark.problem: mark.kind for mark in grade(read_hand_in(file), "batching")}
    assert (kinds["floor"], kinds["compute"], kinds["roofline"]) == ("right", "right", "misconception")
    assert kinds["cost"] == "unanswered"


def test_a_second_session_adds_to_the_first(tmp_path):
    file = tmp_path / "answers.json"
    for name, answer in (("roofline", "b"), ("batch-of", "b")):
        p = problems("batching").of("alice")
        p[name].check(answer)
        p.save(file)
    assert read_hand_in(file).answers["batching"] == {"roofline": "b", "batch-of": "b"}
    with pytest.raises(HandInError, match="alice"):
        problems("batching").of("bob").save(file)


def helper(x):
    return x


def leans_outside(batch):
    return helper(batch)


def imports_outside(batch):
    return math.sqrt(batch) + deepcopy(batch)


def test_a_function_brings_what_it_imports():
    text = write_source(imports_outside)
    assert text.startswith("from copy import deepcopy as deepcopy\nimport math as math\ndef imports_outside(batch):")
    assert run_source(text, [{"batch": 4.0}]) == [6.0]


@pytest.mark.parametrize("answer, why", [(leans_outside, "helper"), (lambda batch: 1.0, "def"), (max, "def")])
def test_a_function_that_cannot_run_alone_is_refused(tmp_path, answer, why):
    p = problems("batching").of("alice")
    p["step"].check(answer)
    told = str(p.save(tmp_path / "answers.json"))
    assert "Not saved: step" in told and why in told


def test_nobodys_answers_are_not_saved(tmp_path):
    with pytest.raises(ValueError, match="Whose"):
        problems("batching").save(tmp_path / "answers.json")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"student": "a"}', '{"student": "a", "answers": []}', "[" * 9999, '{"student": NaN}']
)
def test_a_file_that_is_no_answers_file_is_refused(tmp_path, text):
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(HandInError, match="a.json"):
        read_hand_in(file)


# --- Grading outside the notebook ------------------------------------------------------------------------------------

CHEAT = """
from blackboard.problem import Feedback, Problem, Quantity
Problem.check = Quantity.check = lambda *_: Feedback("right", "")
from blackboard.page import grading
grading.judge = lambda *_: Feedback("right", "")
from blackboard.page.practice import problems
p = problems("batching").of("alice")
assert p["floor"].check(1e9).ok
p.save("answers.json")
"""


def python(*arguments, cwd):
    """A process of this Python; a class grades where the course is installed."""
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, env=os.environ)


def test_overwriting_the_check_earns_nothing(tmp_path):
    assert python("-c", CHEAT, cwd=tmp_path).returncode == 0
    done = python("-m", "blackboard.page.grading", "batching", "answers.json", cwd=tmp_path)
    assert [mark["points"] for mark in json.loads(done.stdout) if mark["problem"] == "floor"] == [0]


def test_a_functions_source_is_graded():
    problem = problems("batching")["step"].problem
    values = run_source(STEP, problem.points)
    assert values == pytest.approx(problem.at_points(problem.formula.expr))


@pytest.mark.parametrize(
    "source, why",
    [
        ("def f(x):\n    return 'one'", "failed"),
        ("def f(x):\n    return 1 / 0", "ZeroDivisionError"),
        ("x = 1", "failed"),
        ("def f(x:", "SyntaxError"),
        ("import os\ndef f(x):\n    os._exit(0)", "ended its process"),
        ("def f(x):\n    return open('/dev/null').missing", "AttributeError"),
    ],
)
def test_a_function_that_fails_says_why(source, why):
    with pytest.raises(Unreadable, match=why):
        run_source(source, [{"x": 1.0}])


def test_what_a_function_prints_is_no_result():
    source = "def f(x):\n    print('{\"values\": [7.0]}')\n    return x"
    assert run_source(source, [{"x": 1.5}]) == [1.5]


def test_a_function_sees_an_empty_environment_and_an_empty_folder(monkeypatch):
    monkeypatch.setenv("GRADES", "secret")
    source = "import os\ndef f(x):\n    return float('GRADES' in os.environ) + len(os.listdir('.'))"
    assert run_source(source, [{"x": 1.0}]) == [0.0]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limits")
@pytest.mark.parametrize("body", ["while True: pass", "x = ' ' * (8 << 30)", "open('big', 'wb').write(bytes(8 << 20))"])
def test_time_memory_and_files_are_limited(body, monkeypatch):
    monkeypatch.setattr("blackboard.page.run_source.SECONDS", 1)
    with pytest.raises(Unreadable):
        run_source(f"def f(x):\n    {body}\n    return x", [{"x": 1.0}])


# --- Steps of a lab --------------------------------------------------------------------------------------------------


@cases("lesson, step", STEPS)
def test_results_alone_earn_a_step_its_point(lesson, step):
    """What the limited process hands over is all that the step's checks need, for right results and for wrong ones."""
    told = json.loads(json.dumps(try_step(lesson, step.name, step.source, {})))
    assert told["kind"] == "right" and judge_results(step, told["results"]).ok
    spoiled = [[None, after] for _, after in told["results"]]
    assert not judge_results(step, spoiled).ok and not judge_results(step, told["results"][1:]).ok
    assert lab_id(step.name) not in {view.problem.id for view in problems(lesson)}


@cases("lesson, step", [each for each in STEPS if not each.values[1].name[0].isupper()])
def test_a_named_mistake_is_named(lesson, step):
    mistake, check = next(iter(step.mistakes.items()))
    told = try_step(lesson, step.name, write_mistake(step, mistake), {})
    caught = mistake if isinstance(check, str) else check
    assert (told["kind"], told["check"]) == ("wrong", caught.__name__)


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, float("inf"), "é", [1, (2, [3.5])], {(1, "a"): {2}, None: frozenset("b")}, ()]
)
def test_a_result_comes_over_whole(value):
    assert repr(decode(json.loads(json.dumps(encode(value))))) == repr(value)


def test_a_lab_is_graded_in_the_limited_process():
    """Right, a named mistake, a blank and a step that its process does not survive; each stands alone."""
    right = {step.name: step.source for step in find_lab("paging").steps}
    ends = "import os\ndef block_names(*given):\n    os._exit(0)\n"
    given = right | {"append_token": "def append_token(blocks, table, tokens, page_tokens):\n    return table[-1]\n"}
    given |= {"block_names": ends, "PrefixCache": ""}
    told = grade_lab({lab_id(name): text for name, text in given.items()}, "paging")
    kinds = {name.removeprefix("lab-"): each.kind for name, each in told.items()}
    assert kinds == {
        "Blocks": "right",
        "append_token": "misconception",
        "block_names": "type",
        "PrefixCache": "unanswered",
        "hit_rate": "right",
    }
    assert (
        "more than one holder" in told["lab-append_token"].message
        and "ended its process" in told["lab-block_names"].message
    )


FORGED = """
from blackboard.lab import Step
from blackboard.reader_code import Verdict
Step._judge = Step.check = lambda *given, **named: Verdict("right", "")
def step_time(*given):
    return 1.0
"""
NOBODYS = """
def step_time(*given):
    import os
    return float(os.path.exists("README.md") or len(os.environ) > 1 or len(os.listdir(".")) > 0)
"""


@pytest.mark.parametrize("text", [FORGED, NOBODYS, "from blackboard.lessons.batching.lab import step_time"])
def test_a_step_that_forges_its_verdict_earns_nothing(text):
    assert not grade_step("batching", "step_time", text, {})


def test_a_steps_message_is_its_checks():
    step = find_lab("sparsity")["touched_share"]
    mistake = next(iter(step.mistakes))
    text = write_mistake(step, mistake)
    [mark] = [each for each in grade_lab({lab_id(step.name): text}, "sparsity").values() if each.kind != "unanswered"]
    assert mark.kind == "misconception" and mark.message == find_lab("sparsity").grade(step.name, text).message


@pytest.mark.parametrize("given", [7, ["def"], {"a": 1}, "x" * 30_000, "def step_time(", "\x00", "\ud800"])
def test_what_is_no_code_is_graded_as_nothing(given):
    told = grade_lab({"lab-step_time": given}, "batching")["lab-step_time"]
    assert told.kind == "type" and told.message


@pytest.fixture
def run_cell(monkeypatch):
    """Run a cell in an IPython of its own, which keeps cells as a notebook does; what its last line shows."""
    module = types.ModuleType("students_cells")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    shell = InteractiveShell(user_module=module)

    def run(text):
        done = shell.run_cell(text, store_history=False)
        done.raise_error()
        return done.result

    return run


START = 'from blackboard.page import lab_view\nlab = lab_view.lab("{}").of("alice", solutions=False)\nlab'


def test_a_labs_code_is_saved_and_graded(tmp_path, run_cell):
    lab, file = run_cell(START.format("paging")), tmp_path / "answers.json"
    assert "instructor" in lab["Blocks"].solution() and "Hint 1" in lab["Blocks"].hint()
    assert "class" in lab_view.lab("paging")["Blocks"].solution()
    for name in ("Blocks", "append_token"):
        code = find_lab("paging")[name].source
        assert run_cell(f'import math\n\n\n{code}\nlab["{name}"].check({name})').ok
    run_cell('def block_names(*given):\n    return []\nlab["block_names"].check(block_names)')
    assert lab["hit_rate"].check(...).kind == "unattempted"
    assert str(lab.save(file)) == f"Saved 3 of 5 lab steps of alice to {file}."
    handed = read_hand_in(file)
    assert "import math" in handed.answers["paging"]["lab-Blocks"]
    assert ".check(" not in "".join(handed.answers["paging"].values())
    p = problems("paging").of("alice")
    p["guess"].check(1)
    p.save(file)
    marks = {mark.problem: mark for mark in grade(read_hand_in(file), "paging")}
    assert [marks[lab_id(step.name)].points for step in find_lab("paging").steps] == [1, 1, 0, 0, 0]
    assert marks["lab-block_names"].kind == "misconception" and marks["guess"].kind != "unanswered"


def test_a_step_that_leans_on_another_cell_is_told(tmp_path, run_cell):
    lab = run_cell(START.format("batching"))
    code = find_lab("batching")["step_time"].source
    run_cell(code.replace("step_time", "elsewhere"))
    leans = 'def step_time(*given):\n    return elsewhere(*given)\nlab["step_time"].check(step_time)'
    assert run_cell(leans).ok
    run_cell('lab["largest_batch"].check(len)')
    run_cell('lab["cost_per_million"].check(3)')
    told = str(lab.save(tmp_path / "answers.json"))
    assert "step_time passes here but not alone" in told
    for name in ("largest_batch", "cost_per_million"):
        assert f"Not saved: {name}. A step is handed in as the text of its cell" in told


def test_nobodys_lab_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="Whose"):
        lab_view.lab("paging").save(tmp_path / "answers.json")


# --- The commands ----------------------------------------------------------------------------------------------------


def write(folder, text="id,name\nalice,A\nbob,B\n"):
    """A roster, and what the command says of it."""
    roster = folder / "roster.csv"
    roster.write_text(text)
    return classroom.main(["--students", str(roster), "--lesson", "batching", "--out", str(folder)])


def rows(file):
    """A CSV file's rows by column."""
    return list(csv.DictReader(file.open(encoding="utf8")))


def test_a_class_is_written_and_graded(tmp_path, capsys):
    assert write(tmp_path) == 0
    out = tmp_path / "batching"
    notebook = nbformat.read(out / "notebooks" / "alice.ipynb", as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert '.of("alice", solutions=False)' in code[0].source
    assert [cell.source for cell in code[-2:]] == ['p.save("answers.json")', 'lab.save("answers.json")']
    assert 'lab_view.lab("batching").of("alice", solutions=False)' in "".join(cell.source for cell in code)
    assert not any(cell.outputs for cell in code)
    key = {row["problem"]: row for row in rows(out / "key.csv") if row["student"] == "alice"}
    floor = problems("batching").of("alice")["floor"]
    assert float(key["floor"]["expected"]) == pytest.approx(right(floor), rel=1e-3) and key["floor"]["unit"] == "ms"
    assert len(key) == len(problems("batching")) + len(find_lab("batching").steps)

    answers = {"floor": f"{key['floor']['expected']} ms", "roofline": "a", "step": STEP}
    answers |= {"lab-step_time": key["lab-step_time"]["expected"], "floor-why": "seventy"}
    (out / "answers" / "alice.json").write_text(json.dumps({"student": "alice", "answers": {"batching": answers}}))
    assert classroom.main(["--grade", str(out)]) == 0
    points = {row["problem"]: row for row in rows(out / "points.csv") if row["student"] == "alice"}
    assert [points[name]["points"] for name in answers] == ["1", "0", "1", "1", "0"]
    assert points["roofline"]["misconception"].startswith("The sum holds only") and not points["roofline"]["not read"]
    assert points["floor-why"]["not read"].startswith("Answer with one of")
    assert [tuple(row.values())[:2] for row in rows(out / "totals.csv")] == [("alice", "3"), ("bob", "0")]
    assert [(row["problem"], row["students"]) for row in rows(out / "misconceptions.csv")] == [("roofline", "1")]
    assert "2 of 2: bob handed in nothing" in capsys.readouterr().out


HANDED_IN = """from blackboard.page import lab_view
from blackboard.page.practice import problems
p = problems("batching").of("alice", solutions=False)
lab = lab_view.lab("batching").of("alice", solutions=False)
p["roofline"].check("b")
"""


def test_a_notebook_is_graded_by_what_it_saved_and_never_run(tmp_path, capsys):
    """The cells run in a kernel of their own; a cell that would fail the grader is added afterwards."""
    write(tmp_path)
    out = tmp_path / "batching"
    step = f'{find_lab("batching")["step_time"].source}\nlab["step_time"].check(step_time)'
    cells = [HANDED_IN, step, *classroom.SAVES]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    notebook.cells.append(nbformat.v4.new_code_cell("raise SystemExit('run')"))
    nbformat.write(notebook, out / "answers" / "alice.ipynb")
    (out / "answers" / "bob.ipynb").write_text('{"cells": [{"outputs": [{}]}]}')
    (out / "answers" / "carol.ipynb").write_text("{}")
    assert classroom.main(["--grade", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "bob.ipynb holds no saved answers" in told and "carol.ipynb belongs to nobody" in told
    points = {row["problem"]: row["points"] for row in rows(out / "points.csv") if row["student"] == "alice"}
    assert points["roofline"] == "1" and points["lab-step_time"] == "1" and sum(map(int, points.values())) == 2
    (out / "answers" / "alice.json").write_text('{"student": "alice", "answers": {}}')  # which counts before a notebook
    classroom.main(["--grade", str(out)])
    assert "alice handed in nothing" in capsys.readouterr().out


def test_files_that_cannot_be_graded_are_named(tmp_path, capsys):
    write(tmp_path)
    answers = tmp_path / "batching" / "answers"
    (answers / "alice.json").write_text("no JSON")
    (answers / "bob.json").write_text('{"student": "alice", "answers": {}}')
    (answers / "carol.json").write_text("{}")
    assert classroom.main(["--grade", str(tmp_path / "batching")]) == 1
    told = capsys.readouterr().err
    assert "alice.json is not JSON" in told and "answers of 'alice'" in told and "carol.json belongs to nobody" in told
    assert not any(int(row["points"]) for row in rows(tmp_path / "batching" / "points.csv"))


@pytest.mark.parametrize(
    "text, why",
    [
        ("name\nalice\n", "no column 'id'"),
        ("id\nalice\nAlice\n", "there twice, in lines 2 and 3"),
        ("id\n../alice\n", "line 2"),
        ("id\n", "no student"),
        ("", "no column 'id'"),
    ],
)
def test_a_roster_that_will_not_do_is_refused(tmp_path, capsys, text, why):
    assert write(tmp_path, text) == 1
    assert why in capsys.readouterr().err


def readmes_command():
    """The classroom command in README's own words, without `python tools/course.py`."""
    [command] = re.findall(
        r"`python tools/course\.py (classroom --students .*?)`", (ROOT / "README.md").read_text("utf8")
    )
    return shlex.split(command)


def test_the_command_works_in_readmes_words(tmp_path, monkeypatch, capsys):
    """All lessons, in a folder that git ignores, and what was written where."""
    monkeypatch.chdir(tmp_path)
    words = readmes_command()
    Path(words[-1]).write_text("id\nalice\n")
    assert words[:2] == ["classroom", "--students"] and classroom.main(words[1:]) == 0
    told = capsys.readouterr().out
    assert "11 of 11" in told and all(f"class/LESSON/{part}" in told for part in ("notebooks", "answers", "key.csv"))
    for lesson in lessons():
        folder = Path("class") / lesson
        assert (folder / "notebooks" / "alice.ipynb").exists() and rows(folder / "key.csv")
        notebook = nbformat.read(folder / "notebooks" / "alice.ipynb", as_version=4)
        boxes = re.findall(r'^(?:p|lab)\[".+?"\]\.check\(', "\n".join(cell.source for cell in notebook.cells), re.M)
        assert len(set(boxes)) == len(problems(lesson)) + len(list_steps(lesson)) == len(rows(folder / "key.csv"))
    assert "/class/" in (ROOT / ".gitignore").read_text().split()


def test_a_class_is_graded_lesson_by_lesson(tmp_path, capsys):
    write(tmp_path)
    assert classroom.main(["--grade", str(tmp_path)]) == 1 and "nothing is handed in" in capsys.readouterr().err
    answers = tmp_path / "batching" / "answers" / "alice.json"
    answers.write_text('{"student": "alice", "answers": {}}')
    assert classroom.main(["--grade", str(tmp_path)]) == 0
    assert (tmp_path / "batching" / "points.csv").exists()
    assert classroom.main(["--grade", str(tmp_path / "answers")]) == 1
    assert "no readable classroom.json" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--students", "a.csv", "--grade", "class"]])
def test_a_class_is_written_or_graded(words, capsys):
    with pytest.raises(SystemExit):
        classroom.main(words)
    assert "--students" in capsys.readouterr().err


def test_the_pages_commands_are_the_programs():
    """README and the instructor's page show commands of one form, which the program takes."""
    text = (ROOT / "book" / "teaching.md").read_text("utf8")
    commands = [
        shlex.split(each)[1:] for each in re.findall(r"python tools/course\.py (classroom .*?)(?=`|$)", text, re.M)
    ]
    assert readmes_command()[1:] in commands and len(commands) >= 3
    for command in commands:
        classroom.read_arguments(command)


# --- Otter-grader's assignment ---------------------------------------------------------------------------------------


def run_assignment(folder, answers):
    """What each of an assignment's tests says of an answers file: the message of a failing one, else nothing.

    Otter-grader itself finds the tests, runs the notebook and adds the points up; tests/test_hub.py tries that where
    it is installed.
    """
    shutil.copy(answers, folder / "answers.json")
    [cell] = nbformat.read(folder / "grading.ipynb", as_version=4).cells
    done = subprocess.run(
        [sys.executable, "-c", f"{cell.source}\nprint(json.dumps(marks))"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    marks, said = json.loads(done.stdout), {}
    for file in (folder / "tests").glob("*.py"):
        made = runpy.run_path(str(file))
        assert made["OK_FORMAT"] is False and made["points"] == 1 and made["name"] == file.stem
        try:
            said[file.stem] = made["test_answer"](marks)
        except AssertionError as error:
            said[file.stem] = str(error)
    return said


def test_the_otter_assignment_grades_without_otter(tmp_path, monkeypatch):
    """Every test file is read as otter reads it, over a right and a mistaken answers file."""
    stand_in = types.ModuleType("otter.test_files")
    stand_in.test_case = lambda points: lambda function: function
    monkeypatch.setitem(sys.modules, "otter", types.ModuleType("otter"))
    monkeypatch.setitem(sys.modules, "otter.test_files", stand_in)
    monkeypatch.setattr(classroom.shutil, "which", lambda name: None)
    classroom.write_assignment(tmp_path / "otter", "batching")
    for way in ("right", "mistaken"):
        written = choose_answers("batching", "alice", way)
        given = {name: each.source or ast.literal_eval(each.typed) for name, each in written.items()}
        answers = tmp_path / "alice.json"
        answers.write_text(json.dumps({"student": "alice", "answers": {"batching": given}}))
        said = run_assignment(tmp_path / "otter", answers)
        right = {name for name, each in written.items() if each.verdict == "right"}
        assert {name for name, message in said.items() if message is None} == right
        assert said.keys() == written.keys() and all(said[name] for name in said.keys() - right)


def test_expected_answers_are_right_for_every_kind():
    for view in problems("sparsity").of("alice"):
        answer, unit = expected(view.problem, "alice")
        assert answer and (unit or not getattr(view.problem, "shown_label", ""))


# --- The instructor's page -------------------------------------------------------------------------------------------


def test_every_slip_is_counted_once_in_every_numeric_problem():
    sums = {sum(found.values()) for found in teaching.slips().values()}
    assert len(sums) == 1 and not any(found["right"] for found in teaching.slips().values())


@pytest.mark.parametrize(
    "right, wrong, kind",
    [
        ([2.0, 5.0], [0.5, 0.2], teaching.UPSIDE_DOWN),
        ([2.0, 5.0], [4.0, 10.0], teaching.TWO),
        ([2.0, 5.0], [1.0, 2.5], teaching.TWO),
        ([2.0, 5.0], [2000.0, 5000.0], teaching.FIXED),
        ([2.0, 5.0], [3.0, 6.0], teaching.OTHER),
        ([0.0, 5.0], [3.0, 6.0], teaching.OTHER),
    ],
)
def test_a_recurring_mistake_is_known_by_its_quotients(right, wrong, kind):
    assert teaching.classify(right, wrong) == kind


def test_a_message_about_an_upside_down_answer_is_counted_as_one():
    """The words that the authors chose, and the numbers, agree where the words are plain."""
    for view in problems("overheads"):
        told = view.problem.misconceptions.values() if hasattr(view.problem, "unit") else ()
        for message, kind in zip(told, teaching.name_mistakes(view.problem)):
            assert kind == teaching.UPSIDE_DOWN or not message.startswith("Upside down: "), message


def test_more_than_guessing():
    """By guessing in ten thousand classes."""
    choices = [view.problem for name in lessons() for view in problems(name) if isinstance(view.problem, Choice)]
    assert {len(each.options) for each in choices} == {teaching.OPTIONS}
    rng, seats = random.Random(0), range(teaching.SEATS)
    taken = [sum(rng.random() < 1 / 4 for _ in seats) for _ in range(10_000)]
    few, telling = (sum(count >= least for count in taken) / 10_000 for least in (11, teaching.telling_count()))
    assert telling < teaching.RARE < few
