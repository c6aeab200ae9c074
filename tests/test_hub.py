"""A class on a JupyterHub: simulated students, the plan for a class, and the trial where a hub is there."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import nbformat
import pytest

from blackboard.formula_problem import Function
from blackboard.page.grading import grade, judge
from blackboard.page.hand_in import HandIn, seed_of
from blackboard.page.lab_worker import find_lab
from blackboard.page.practice import lessons, problems
from blackboard.problem import Problem
from blackboard.reference import hub_trials

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import classroom
import hub_trial
import local_hub
from simulated_students import CHEAT, WAYS, choose_answers, fill_notebook, simulate_class

EXERCISES = Path(__file__).resolve().parent.parent / "exercises"


def given(answer):
    """An answer as an answers file has it."""
    return answer.source or ("" if answer.typed == "..." else ast.literal_eval(answer.typed))


def box(name):
    """What a problem or a step is called in the notebook."""
    return f'lab["{name.removeprefix("lab-")}"]' if name.startswith("lab-") else f'p["{name}"]'


# --- The simulated students ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_work_gets_the_verdicts_that_it_should(way):
    answers = choose_answers("batching", "alice", way)
    handed = HandIn("alice", {"batching": {name: given(answer) for name, answer in answers.items()}})
    found = {mark.problem: mark.kind for mark in grade(handed, "batching")}
    assert found == {name: answer.verdict for name, answer in answers.items()}


@pytest.mark.parametrize("lesson", lessons())
def test_right_and_mistaken_answers_of_every_lesson(lesson):
    for way in ("right", "mistaken"):
        answers = choose_answers(lesson, "alice", way)
        for problem in (view.problem for view in problems(lesson)):
            if not isinstance(problem, Function):  # these take a process each
                answer = answers[problem.id]
                told = judge(problem, given(answer), problem.values(seed_of("alice")))
                assert told.kind == answer.verdict, (problem.id, answer, told)


def test_a_class_has_every_way_and_each_earns_what_it_should():
    earned = {
        student.way: sum(verdict == "right" for verdict in student.verdicts.values())
        for student in simulate_class("batching", [f"s{number}" for number in range(20)])
    }
    count, steps = len(problems("batching")), len(find_lab("batching").steps)
    assert set(earned) == set(WAYS)
    assert earned["right"] == count + steps and earned["endless"] == count + steps - 2  # one problem, one step
    assert earned["blank"] == (count + 1) // 2 + (steps + 1) // 2
    assert earned["cheat"] == earned["mistaken"] < count / 4


@pytest.mark.parametrize("way", WAYS)
def test_the_notebook_holds_the_answers(way):
    notebook = classroom.write_notebook(EXERCISES / "batching.ipynb", "batching", "alice")
    [student] = [each for each in simulate_class("batching", ["alice"] * 5) if each.way == way]
    cells = fill_notebook(notebook, student)
    assert sum(cell.startswith('p["floor"].check(') for cell in cells) == 1
    assert all(f"{box(name)}.check({answer.typed})" in "\n".join(cells) for name, answer in student.answers.items())
    assert (cells[1] == CHEAT) == (way == "cheat") and cells[-2:] == list(classroom.SAVES)
    for cell in cells:
        ast.parse(cell)


def test_a_notebook_without_a_box_is_refused():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell('p["floor"].check(...)')])
    [student] = simulate_class("batching", ["alice"])
    with pytest.raises(ValueError, match="floor"):
        fill_notebook(notebook, student)


def test_the_cheat_deceives_the_notebook(monkeypatch):
    monkeypatch.setattr(Problem, "check", Problem.check)  # put back afterwards
    exec(CHEAT, {})
    assert problems("batching").of("alice")["floor"].check(1e9).ok


def test_a_wrong_verdict_is_named():
    should = {("a", "floor"): 1, ("a", "step"): 0, ("b", "floor"): 1}
    told = hub_trial.compare({("a", "floor"): 1, ("a", "step"): 1}, should, "otter")
    assert told == ["otter: a step: 1 instead of 0", "otter: b floor: None instead of 1"]


# --- The rows, and the class to plan for -----------------------------------------------------------------------------


def test_a_trial_keeps_within_what_is_possible():
    for trial in hub_trials.trials():
        assert trial.start_worst >= hub_trials.start_bound(trial, trial.students, trial.cores)  # cores are no faster
        assert trial.work_worst >= trial.students * trial.work_cpu / trial.cores
        assert trial.start_median <= trial.start_worst and trial.first_median <= trial.work_median
        assert trial.server_pss <= trial.server_rss and trial.kernel_pss <= trial.kernel_rss
    assert hub_trials.largest().students >= 20


def test_memory_of_one_class_follows_from_another():
    """Per student, a small class takes as much as a large one, but for the pages that a few more share."""
    small, large = hub_trials.trials()[0], hub_trials.largest()
    predicted = hub_trials.memory_needed(large, small.students)
    assert predicted == pytest.approx(hub_trials.memory_needed(small, small.students), rel=0.1)
    more = hub_trials.memory_needed(large, large.students + 1) - hub_trials.memory_needed(large, large.students)
    assert more == pytest.approx(large.server_pss + large.kernel_pss)


# --- The hub ---------------------------------------------------------------------------------------------------------


def test_without_a_hub_the_trial_says_how_to_install_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BLACKBOARD_HUB", raising=False)
    assert hub_trial.main([]) == 2
    told = capsys.readouterr().err
    assert "configurable-http-proxy" in told and "pip install" in told


def test_the_hubs_folders_come_before_the_path(monkeypatch, tmp_path):
    for name in local_hub.PROGRAMS:
        for ending in ("", ".exe"):
            (tmp_path / (name + ending)).touch(0o755)
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv("BLACKBOARD_HUB", str(tmp_path))
    assert local_hub.find_hub() == [] and os.environ["PATH"].startswith(str(tmp_path))


@pytest.mark.slow
def test_two_students_on_a_hub(monkeypatch, capsys):
    """The two that try the grader hardest: one overwrites the check, one loops for ever."""
    monkeypatch.setenv("PATH", os.environ["PATH"])
    if missing := local_hub.find_hub():
        pytest.skip(f"no {', '.join(missing)}; `python tools/hub_trial.py` says how to install what the trial needs")
    trial, failures = hub_trial.try_class(2)
    assert failures == [] and trial.students == 2 and trial.kernel_pss > 10e6
