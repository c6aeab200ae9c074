"""What fitting needs: constants that know their source, least squares, and a measured time as a floor and as a calibrated row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from blackboard.formula import Formula
from blackboard.reality.checks import CALIBRATED, FLOOR, Row
from blackboard.units import factor

US, GB = factor("us"), factor("GB/s")


class Constant(NamedTuple):
    """A fitted or published constant: its symbol, value, the data set and the slice that gave it, and the formula that takes it."""

    name: str
    value: float
    unit: str
    data: str
    slice: str
    formula: str = ""


def fitted(parts: Sequence[Sequence[float]], times: Sequence[float], least: Sequence[float]) -> tuple[float, ...]:
    """Factors of the parts, none below its least, whose sum is nearest to the times, by least squares of the relative error."""
    import numpy
    from scipy.optimize import lsq_linear

    scaled = numpy.array(parts, float) / numpy.array(times, float)[:, None]
    return tuple(map(float, lsq_linear(scaled, numpy.ones(len(times)), (numpy.array(least) - 1e-12, numpy.inf), method="bvls").x.clip(least)))


def pair(data: str, what: str, part: str, measured: float, ideal: float, ours: float, formulas: tuple[Formula, Formula],
         fit: bool, why: str = "", excuse: str = "", rate: bool = False) -> tuple[Row, Row]:  # fmt: skip
    """A measured time, s (or rate, byte/s), against the ideal one and the calibrated one; `excuse` counts where the floor is beaten."""
    floor, real = (formula.name for formula in formulas)
    shared = {"unit": "byte/s" if rate else "s", "published": measured, "rate": rate, "part": part}
    beaten = measured > ideal if rate else measured < ideal
    return (
        Row(FLOOR, data, what, computed=ideal, why=excuse if beaten else "", formulas=(floor,), **shared),
        Row(CALIBRATED, data, what, computed=ours, fitted=fit, ideal=ideal, why=why, formulas=(real,), **shared),
    )
