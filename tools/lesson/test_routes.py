"""The NAME lesson's formulas by other routes, and the numbers that it prints by plain arithmetic."""

from __future__ import annotations

import pytest

from blackboard.catalogue import system
from blackboard.lessons.NAME import equations as eq
from blackboard.lessons.NAME import numbers


@pytest.mark.parametrize("passes", [1, 2, 7])
def test_passes_are_added_up_chunk_by_chunk(passes):
    """A memory of 64 chunks, each read in its own time, one pass after the other."""
    chunk, bandwidth, clock = 2**30, 3.35e12, 0.0
    for _ in range(64 * passes):
        clock += chunk / bandwidth
    assert eq.passes_time(NAME_passes=passes, hbm=64 * chunk, bandwidth=bandwidth) == pytest.approx(clock, rel=1e-12)


def test_the_printed_time_is_that_of_one_chip():
    """All chips of a rack read at once, so the rack takes as long as one of its chips."""
    chip = system("gb200-nvl72").chip
    milliseconds = 1e3 * numbers.PASSES * chip.hbm_bytes / chip.hbm_bytes_per_s
    assert numbers.all()["time"] == f"{milliseconds:.1f} ms"
