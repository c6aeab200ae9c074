"""Figures of the NAME lesson. Each function returns a Drawing with its label, its caption and its alt text."""

from __future__ import annotations

import numpy as np

from blackboard.catalogue import system
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, done
from blackboard.charts.style import COLOURS
from blackboard.lessons.NAME import equations as eq
from blackboard.units import factor

MOST = 10  # passes


def passes() -> Drawing:
    """Time against the number of passes, on the running system."""
    counts = np.arange(1, MOST + 1)
    times = eq.passes_time(RUNNING, NAME_passes=counts) / factor("ms")
    figure, axes = drawing.axes()
    axes.plot(counts, times, "o-", color=COLOURS["weights"])
    axes.set(xlabel="passes over all of memory", ylabel="time in ms", xlim=(0, MOST + 0.5), ylim=(0, None))
    machine = plain(system(RUNNING.system).name)
    return done(
        figure,
        "fig-NAME-passes",
        "Each pass over memory takes as long as the one before it.",
        f"A straight line through the origin: the time of 1 to {MOST} passes over all of the memory of {machine}, from"
        f" {times[0]:.0f} to {times[-1]:.0f} ms.",
    )
