"""A class: numbers of one's own, the answers file, grading outside the notebook, and the commands."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from blackboard.answers import Unreadable
from blackboard.page.grading import expected, grade
from blackboard.page.hand_in import HandInError, read_hand_in, seed_of
from blackboard.page.practice import problems
from blackboard.page.run_source import run_source
from blackboard.reference import teaching

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import classroom

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


# --- The commands ----------------------------------------------------------------------------------------------------


def write(folder, text="id,name\nalice,A\nbob,B\n"):
    """A roster, and what the command says of it."""
    roster = folder / "roster.csv"
    roster.write_text(text)
    return classroom.main(["--students", str(roster), "--lesson", "batching", "--out", str(folder / "out")])


def rows(file):
    """A CSV file's rows by column."""
    return list(csv.DictReader(file.open(encoding="utf8")))


def test_a_class_is_written_and_graded(tmp_path, capsys):
    assert write(tmp_path) == 0
    out = tmp_path / "out"
    notebook = nbformat.read(out / "notebooks" / "alice.ipynb", as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert '.of("alice", solutions=False)' in code[0].source and code[-1].source == 'p.save("answers.json")'
    assert not any(cell.outputs for cell in code)
    key = {row["problem"]: row for row in rows(out / "key.csv") if row["student"] == "alice"}
    floor = problems("batching").of("alice")["floor"]
    assert float(key["floor"]["expected"]) == pytest.approx(right(floor), rel=1e-3) and key["floor"]["unit"] == "ms"

    answers = {"floor": f"{key['floor']['expected']} ms", "roofline": "a", "step": STEP}
    (out / "answers" / "alice.json").write_text(json.dumps({"student": "alice", "answers": {"batching": answers}}))
    assert classroom.main(["--grade", str(out)]) == 0
    points = {row["problem"]: row for row in rows(out / "points.csv") if row["student"] == "alice"}
    assert [points[name]["points"] for name in answers] == ["1", "0", "1"]
    assert points["roofline"]["misconception"].startswith("The sum holds only")
    assert [(row["problem"], row["students"]) for row in rows(out / "misconceptions.csv")] == [("roofline", "1")]
    assert "2 of 2: bob 0 of" in capsys.readouterr().out


def test_files_that_cannot_be_graded_are_named(tmp_path, capsys):
    write(tmp_path)
    answers = tmp_path / "out" / "answers"
    (answers / "alice.json").write_text("no JSON")
    (answers / "bob.json").write_text('{"student": "alice", "answers": {}}')
    (answers / "carol.json").write_text("{}")
    assert classroom.main(["--grade", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().err
    assert "alice.json is not JSON" in told and "answers of 'alice'" in told and "carol.json belongs to nobody" in told
    assert not any(int(row["points"]) for row in rows(tmp_path / "out" / "points.csv"))


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


def test_expected_answers_are_right_for_every_kind():
    for view in problems("sparsity").of("alice"):
        answer, unit = expected(view.problem, "alice")
        assert answer and (unit or not getattr(view.problem, "shown_label", ""))


# --- The instructor's page -------------------------------------------------------------------------------------------


def test_every_slip_is_counted_once_in_every_numeric_problem():
    sums = {sum(found.values()) for found in teaching.slips().values()}
    assert len(sums) == 1 and not any(found["right"] for found in teaching.slips().values())
