"""Every number that the lesson's prose prints, computed. The page glues them in."""

from __future__ import annotations

from blackboard.catalogue import system
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.lessons.NAME import equations as eq
from blackboard.units import pretty

PASSES = 3


def all() -> dict[str, str]:
    """The text of each number by its name on the page."""
    time = eq.passes_time(RUNNING, NAME_passes=PASSES)
    return {"machine": plain(system(RUNNING.system).name), "passes": str(PASSES), "time": pretty(time, "s")}
