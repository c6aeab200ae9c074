"""Formulas of the NAME lesson: how long it takes to read a memory several times."""

from __future__ import annotations

from blackboard.formula import Formula
from blackboard.lessons.batching.equations import bandwidth, hbm
from blackboard.notation import declare, result

NAME_passes = declare("NAME_passes", r"n_\mathrm{NAME}", "1", "passes over all of a memory")
result("NAME_time", r"t_\mathrm{NAME}", "s", "time that several passes over a memory take")

passes_time = Formula(
    "NAME.passes_time",
    "NAME_time",
    NAME_passes * hbm / bandwidth,
    "s",
    "each pass reads every byte at full bandwidth",
    ("nothing stays in a cache from one pass to the next",),
)
