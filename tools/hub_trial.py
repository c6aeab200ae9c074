"""Try a class on a local JupyterHub: students start at once, work, hand in, and get the points that they should.

    python tools/hub_trial.py --students 20

Whoever wrote a class with `course.py classroom` can name its folder, and its first students take part. The hub runs on
this machine alone, in a temporary folder, with one password for all. The last lines are the measurements, as a row of
`hub_trials.yaml`. The status is 0 if everybody got the right verdict on every problem.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import classroom
import msgspec
import yaml
from local_hub import Client, TrialError, find_hub, measure, running_hub
from simulated_students import simulate_class

from blackboard.reference.hub_trials import Trial

STUDENTS = 20
LESSON = "batching"
INSTALL = (
    "python -m venv HUB",
    'HUB/bin/pip install ".[draw]" jupyterhub jupyterlab otter-grader==7.0.0',
    "npm install --prefix HUB configurable-http-proxy",
    "export BLACKBOARD_HUB=$PWD/HUB/bin:$PWD/HUB/node_modules/.bin",
)


# --- The trial ------------------------------------------------------------------------------------------------------


def hold_class(folder, lesson, students):
    """All students at once: log in, start, work, hand in. The measurements by their names in `Trial`."""
    notebook = lambda student: json.loads((folder / "notebooks" / f"{student.id}.ipynb").read_text("utf8"))
    file = lambda student: folder / "answers" / f"{student.id}.json"
    work = lambda client, student: client.work(student, notebook(student), f"{lesson}.ipynb", file(student))
    password, count = secrets.token_hex(8), len(students)
    with (
        tempfile.TemporaryDirectory() as scratch,
        ThreadPoolExecutor(count) as pool,
        running_hub(Path(scratch), password) as (hub, address),
    ):
        clients = list(pool.map(lambda student: Client(address, student.id, password), students))
        print(f"{count} students are logged in and start their servers", flush=True)
        started = list(pool.map(Client.start_server, clients))
        idle = measure(hub, count)
        print("all servers are ready; the students work", flush=True)
        first, last, cells = zip(*pool.map(work, clients, students))
        full = measure(hub, count)
    seconds = {"start": started, "first": first, "work": last}
    found = {f"{name}_median": statistics.median(each) for name, each in seconds.items()}
    found |= {f"{name}_worst": max(each) for name, each in seconds.items()}
    found |= {f"{kind}_{name}": full[kind][name] for kind in ("server", "kernel") for name in ("rss", "pss")}
    cpu = {"start_cpu": idle["server"]["cpu"], "work_cpu": full["kernel"]["cpu"]}
    return found | cpu | {"hub_pss": full["hub"]["pss"] * full["hub"]["processes"], "cells": min(cells)}


def read_points(folder):
    """Verdict and points by student and problem, from `points.csv`."""
    with (folder / "points.csv").open(encoding="utf8", newline="") as file:
        return {(row["student"], row["problem"]): (row["verdict"], int(row["points"])) for row in csv.DictReader(file)}


def compare(given, should, grader):
    """A sentence for each student and problem where a grader gave something else than it should."""
    return [
        f"{grader}: {' '.join(key)}: {given.get(key)} instead of {right}"
        for key, right in should.items()
        if given.get(key) != right
    ]


def grade_with_otter(folder, lesson, students):
    """Points by student and problem from otter-grader, as many files at once as there are cores."""
    if not (folder / "otter" / "autograder.zip").exists():
        classroom.write_assignment(folder / "otter", lesson)

    def grade(student):
        command = [
            "otter",
            "run",
            "-a",
            "autograder.zip",
            "-o",
            f"../otter-{student.id}",
            f"../answers/{student.id}.json",
        ]
        (folder / f"otter-{student.id}").mkdir(exist_ok=True)
        subprocess.run(command, cwd=folder / "otter", check=True, capture_output=True)
        tests = json.loads((folder / f"otter-{student.id}" / "results.json").read_text("utf8"))["tests"]
        return {(student.id, test["name"]): int(test["score"]) for test in tests if "score" in test}

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return {key: points for found in pool.map(grade, students) for key, points in found.items()}


def timed(action, *arguments):
    """What an action returns, and the seconds that it took."""
    begin = time.perf_counter()
    return action(*arguments), time.perf_counter() - begin


def describe_machine():
    """The processor's name, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def describe_trial(lesson, students):
    """What a row says beside the measurements; the load is taken before the trial adds its own."""
    told = subprocess.run(["jupyterhub", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "id": f"students-{len(students)}",
        "date": f"{date.today()}",
        "machine": describe_machine(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 1),
        "software": f"JupyterHub {told}, Python {platform.python_version()}",
        "how": f"python tools/hub_trial.py --students {len(students)}",
        "lesson": lesson,
        "students": len(students),
    }


def run_trial(folder, count):
    """The trial with a class's first students: what was measured, and every verdict that is not as it should be."""
    lesson, ids = classroom.read_plan(folder)
    students = simulate_class(lesson, ids[:count])
    about, found = describe_trial(lesson, students), hold_class(folder, lesson, students)
    kinds = {(student.id, name): kind for student in students for name, kind in student.verdicts.items()}
    points = {key: int(kind == "right") for key, kind in kinds.items()}
    _, found["grading"] = timed(classroom.grade_lesson, folder)
    failures = compare(read_points(folder), {key: (kinds[key], points[key]) for key in kinds}, "classroom")
    found["otter"] = None
    if shutil.which("otter"):
        given, found["otter"] = timed(grade_with_otter, folder, lesson, students)
        failures += compare(given, points, "otter")
    rounded = {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in found.items()}
    return Trial(**about, **rounded), failures


def try_class(count=STUDENTS, folder=None):
    """The trial with a class written before, or with one written for it."""
    if folder:
        return run_trial(folder.resolve(), count)
    with tempfile.TemporaryDirectory() as scratch:
        ids = [f"student-{number:02}" for number in range(1, count + 1)]
        classroom.write_lesson(ids, LESSON, Path(scratch) / "class")
        return run_trial(Path(scratch) / "class", count)


def main(arguments):
    """Hold the trial, name each wrong verdict, and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="written by `course.py classroom`; else one is written")
    parser.add_argument("--students", type=int, default=STUDENTS)
    given = parser.parse_args(arguments)
    if missing := find_hub():
        print(f"Not found: {', '.join(missing)}. In the course's folder, run", *INSTALL, sep="\n", file=sys.stderr)
        return 2
    try:
        trial, failures = try_class(given.students, given.folder)
    except (TrialError, classroom.ClassroomError) as error:
        print(error, file=sys.stderr)
        return 1
    print(*failures or ["Every student got the verdicts that the answers deserve."], sep="\n")
    print(yaml.safe_dump([msgspec.to_builtins(trial)], sort_keys=False, width=120))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
