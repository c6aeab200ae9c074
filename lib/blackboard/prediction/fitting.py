"""What fitting needs: constants that know their source, least squares, and a measured time as a floor and as a
calibrated row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from blackboard.formula import Formula
from blackboard.prediction.rows import CALIBRATED, FLOOR, Row
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


def names(*formulas: Formula) -> tuple[str, ...]:
    """Of formulas."""
    return tuple(each.name for each in formulas)


def both(
    data: str,
    what: str,
    unit: str,
    published: float,
    ideal: float,
    computed: float,
    fitted: bool = False,
    why: str = "",
    excuse: str = "",
    floor: tuple[str, ...] = (),
    formulas: tuple[str, ...] = (),
    rate: bool = False,
    part: str = "",
) -> list[Row]:
    """A floor and a calibrated row of one number; `excuse` counts where the floor is beaten, `floor` names its
    formulas if they are others.
    """
    head, beaten = (data, what, unit, published), published > ideal if rate else published < ideal
    more: dict[str, Any] = {"rate": rate, "part": part}
    return [
        Row(FLOOR, *head, ideal, why=excuse if beaten else "", formulas=floor or formulas, **more),
        Row(CALIBRATED, *head, computed, ideal=ideal, fitted=fitted, why=why, formulas=formulas, **more),
    ]


def pair(
    data: str,
    what: str,
    part: str,
    measured: float,
    ideal: float,
    ours: float,
    formulas: tuple[Formula, Formula],
    fit: bool,
    why: str = "",
    excuse: str = "",
    rate: bool = False,
) -> list[Row]:
    """The rows of a measured time, s (or rate, byte/s), whose floor and prediction are of two formulas."""
    floor, real = formulas
    return both(
        data,
        what,
        "byte/s" if rate else "s",
        measured,
        ideal,
        ours,
        fit,
        why,
        excuse,
        names(floor),
        names(real),
        rate,
        part,
    )
