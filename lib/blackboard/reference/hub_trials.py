"""Trials of a class on a JupyterHub: what was measured, and what that means for a class of another size.

`tools/hub_trial.py` writes the rows. Memory is proportional (PSS): a page that several processes share counts in equal
parts for each of them, so the sum over all processes is what they occupy.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from blackboard.catalogue.datafile import DATA, Count, Date, Positive, read
from blackboard.page.summary import Page, table
from blackboard.units import pretty

PLANNED = 30  # students of the class to plan for


class Trial(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One trial, all students at once. Memory in bytes, for each process of a kind on average; time in seconds."""

    id: str
    date: Date
    machine: str
    cores: Count
    load_before: float  # processes running or waiting for a core, on average over the minute before
    software: str
    how: str
    lesson: str
    students: Count
    cells: Count  # run by each student
    start_median: Positive  # from asking the hub for a server until it is ready
    start_worst: Positive
    start_cpu: Positive  # CPU time of one server until it is ready
    first_median: Positive  # from asking for a kernel until the first cell's result
    first_worst: Positive
    work_median: Positive  # from asking for a kernel until the last cell's result
    work_worst: Positive
    work_cpu: Positive  # CPU time of one kernel, all cells run
    server_rss: Positive
    server_pss: Positive
    kernel_rss: Positive
    kernel_pss: Positive
    hub_pss: Positive  # hub and proxy together
    grading: Positive  # of the whole class, by `classroom --grade`
    otter: Positive | None  # the same by otter-grader; None where it was not installed


@cache
def trials() -> tuple[Trial, ...]:
    """The trials that come with the course, by number of students."""
    return tuple(sorted(read(DATA / "hub_trials.yaml", Trial).values(), key=lambda trial: trial.students))


def largest() -> Trial:
    """The trial with the most students."""
    return trials()[-1]


def memory_needed(trial: Trial, students: int) -> float:
    """Bytes for a class of another size: each student adds a server and a kernel; hub and proxy are there once."""
    return trial.hub_pss + students * (trial.server_pss + trial.kernel_pss)


def start_bound(trial: Trial, students: int, cores: int) -> float:
    """The least seconds in which so many servers start at once: their CPU time, divided by the cores."""
    return students * trial.start_cpu / cores


def numbers() -> dict[str, str]:
    """What the page for teachers says of the largest trial, and of the class to plan for."""
    trial = largest()
    return {
        "hub_students": f"{trial.students}",
        "hub_date": trial.date,
        "hub_machine": f"{trial.machine}, {trial.cores} cores",
        "hub_memory": pretty(trial.server_pss + trial.kernel_pss, "byte", 3),
        "hub_planned": f"{PLANNED}",
        "hub_planned_memory": pretty(memory_needed(trial, PLANNED), "byte", 2),
        "hub_start_cpu": pretty(trial.start_cpu, "s", 2),
        "hub_start_few": pretty(start_bound(trial, PLANNED, cores=2), "s", 2),
        "hub_start_many": pretty(start_bound(trial, PLANNED, cores=8), "s", 2),
    }


def list_measurements(trial: Trial) -> dict[str, str]:
    """What was measured, in words and with units."""
    bytes_ = lambda value: pretty(value, "byte", 3)
    return {
        "Processes that ran or waited before": f"{trial.load_before:.1f}",
        "Start of a server, median": _seconds(trial.start_median),
        "Start of a server, worst": _seconds(trial.start_worst),
        "CPU time of one start": _seconds(trial.start_cpu),
        "Kernel and first result, median": _seconds(trial.first_median),
        "Kernel and first result, worst": _seconds(trial.first_worst),
        "Whole notebook, median": _seconds(trial.work_median),
        "CPU time of one notebook": _seconds(trial.work_cpu),
        "Memory of a server (PSS)": bytes_(trial.server_pss),
        "Memory of a server (RSS)": bytes_(trial.server_rss),
        "Memory of a kernel (PSS)": bytes_(trial.kernel_pss),
        "Memory of a kernel (RSS)": bytes_(trial.kernel_rss),
        "Memory of hub and proxy (PSS)": bytes_(trial.hub_pss),
        "Grading the class": _seconds(trial.grading),
        "Grading the class with otter": "not run" if trial.otter is None else _seconds(trial.otter),
    }


def _seconds(value: float) -> str:
    """Seconds, also where minutes would be shorter, so that a row can be compared."""
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def trial_table() -> Page:
    """The trials side by side."""
    found = [list_measurements(trial) for trial in trials()]
    heads = ("Measured", *(f"{trial.students} student{'s' * (trial.students > 1)}" for trial in trials()))
    rows = [(name, *(each[name] for each in found)) for name in found[0]]
    return table("A class on a JupyterHub, all students at once", heads, rows)
