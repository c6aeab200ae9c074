"""Practice problems of the NAME lesson, in their order; each problem's name is its id."""

from __future__ import annotations

from blackboard.lessons.NAME import equations as eq
from blackboard.problem import Quantity, Step

passes = Quantity(
    "Passes over a memory",
    level="easy",
    objective="compute how long it takes to read a memory several times",
    unit="s",
    display_unit="ms",
    statement="A chip has {hbm} of memory and reads it at {bandwidth}. How long do {NAME_passes} passes take, in ms?",
    parameters={"hbm": (80e9, 141e9, 192e9), "bandwidth": (3.35e12, 4.8e12, 8e12), "NAME_passes": (3, 5, 12)},
    answer=eq.passes_time,
    independent_check=lambda v: sum(v["hbm"] / v["bandwidth"] for _ in range(v["NAME_passes"])),
    misconceptions={
        eq.passes_time.at(NAME_passes=1): "That is the time of one pass.",
        8 * eq.passes_time: "Eight times too long: the bandwidth is in bytes, not in bits.",
    },
    explanation="Bandwidth sets the time of a pass, and passes follow one another.",
    hints=("How long does one pass take?",),
    solution=(
        Step("One pass:", eq.passes_time.at(NAME_passes=1), "s"),
        f"${eq.passes_time.latex}$ =",
    ),
)
