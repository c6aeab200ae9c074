"""Fitting by least squares, and constants that know the data they were fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from blackboard.units import factor

US, GB = factor("us"), factor("GB/s")


class Constant(NamedTuple):
    """A fitted or published constant: its symbol, value, the data set and the slice that gave it, and the formula that
    takes it.
    """

    name: str
    value: float
    unit: str
    data: str
    slice: str
    formula: str = ""


def fitted(
    parts: Sequence[Sequence[float]],
    times: Sequence[float],
    least: Sequence[float],
    rest: Sequence[float] | float = 0.0,
) -> tuple[float, ...]:
    """Factors of the parts, none below its least, whose sum with the rest is nearest to the times, by least squares of
    the relative error.
    """
    import numpy
    from scipy.optimize import lsq_linear

    measured = numpy.array(times, float)
    scaled, left = numpy.array(parts, float) / measured[:, None], 1 - numpy.array(rest) / measured
    return tuple(
        map(float, lsq_linear(scaled, left, (numpy.array(least) - 1e-12, numpy.inf), method="bvls").x.clip(least))
    )
