"""What a check of the course against published numbers is: three kinds of rows, and how a set of them is summed up.

consistency a published number against the same number computed from others that the same source publishes;
bound       a measured time against the ideal one, every efficiency 1 and every overhead 0, which nothing may beat;
calibrated  a measured time against one predicted with a few constants, which other rows gave.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from blackboard.catalogue import measurement
from blackboard.catalogue.datafile import DataError
from blackboard.formula import Formula

CONSISTENCY, BOUND, CALIBRATED = KINDS = ("consistency", "bound", "calibrated")
LIMIT = 0.02  # how far a number may be from what the source's own others give


@dataclass(frozen=True)
class Row:
    """One published number and ours. `published` and `computed` are in `unit`; a `rate` is inverse to a time.

    `what` says which row of the data set, in a few words; `part` which slice of the set its error is summed up with.
    DataError where a number is not positive, or the kind is none of KINDS.
    """

    kind: str
    data: str  # id of the data set
    what: str
    unit: str
    published: float
    computed: float  # consistency: from the source's other numbers; bound: ideal; calibrated: with the constants
    rate: bool = False
    part: str = ""
    fitted: bool = False  # calibrated: the constants were fitted on this row
    ideal: float | None = None  # calibrated: what the roofline alone says, where it says anything
    limit: float = LIMIT  # consistency: allowed relative deviation, 0 for exact
    why: str = ""  # bound: the physical reason of an exception; consistency and calibrated: what is computed, in words
    formulas: tuple[str, ...] = field(default=())  # names of the formulas that computed it

    def __post_init__(self) -> None:
        measurement(self.data)
        if self.kind not in KINDS or not (0 < self.published < float("inf") and 0 < self.computed < float("inf")):
            raise DataError(f"{self.data}, {self.what}: {self.kind}, {self.published!r} against {self.computed!r}")

    @property
    def slow(self) -> float:
        """Measured time over computed time; of a rate the inverse. A consistency row's published over computed."""
        return self._slow(self.computed)

    @property
    def ideal_slow(self) -> float | None:
        """Measured time over the ideal time."""
        return None if self.ideal is None else self._slow(self.ideal)

    def _slow(self, computed: float) -> float:
        return computed / self.published if self.rate else self.published / computed

    @property
    def error(self) -> float:
        """Predicted over measured time, less one: negative where we are too fast. Of a consistency row published over
        computed, less one.
        """
        return self.slow - 1 if self.kind == CONSISTENCY else 1 / self.slow - 1

    @property
    def holds(self) -> bool:
        """A consistency row agrees; a bound is not beaten, or the row says why; a calibrated row is never"
        " wrong, only off."""
        if self.kind == CONSISTENCY:
            return abs(self.error) <= self.limit + 1e-12
        return self.kind == CALIBRATED or self.slow >= 1 - 1e-9 or bool(self.why)

    @property
    def excepted(self) -> bool:
        """A bound that is beaten for a reason that is listed."""
        return self.kind == BOUND and self.slow < 1 - 1e-9 and bool(self.why)


class Sum(NamedTuple):
    """Rows of one kind, data set and slice, summed up; shares are of the measured time."""

    kind: str
    data: str
    part: str
    fitted: bool
    count: int  # type: ignore[assignment]  # of rows; a tuple's own count is not needed
    held: int
    clear: int  # bounds that are not beaten
    mape: float  # mean absolute relative error
    bias: float  # mean relative error
    worst: float  # greatest absolute relative error; of bounds the smallest measured over ideal
    ideal_mape: float | None
    ideal_slow: float | None  # median of measured over ideal


def summed(rows: Iterable[Row]) -> list[Sum]:
    """A line for each kind, data set, slice, and whether it was fitted."""
    key = lambda row: (KINDS.index(row.kind), row.data, row.part, not row.fitted)
    return [_sum(list(group)) for _, group in groupby(sorted(rows, key=key), key)]


def _sum(rows: list[Row]) -> Sum:
    first, errors = rows[0], [row.error for row in rows]
    ideals = (
        [row.ideal_slow for row in rows if row.ideal_slow]
        if first.kind == CALIBRATED
        else [row.slow for row in rows if first.kind == BOUND]
    )
    worst = (
        min(row.slow for row in rows if not row.excepted)
        if first.kind == BOUND and any(not row.excepted for row in rows)
        else max(map(abs, errors))
    )
    return Sum(
        first.kind,
        first.data,
        first.part,
        first.fitted,
        len(rows),
        sum(row.holds for row in rows),
        sum(not row.excepted for row in rows),
        mape(errors),
        statistics.mean(errors),
        worst,
        mape([1 / each - 1 for each in ideals]) if ideals else None,
        statistics.median(ideals) if ideals else None,
    )


def mape(errors: Iterable[float]) -> float:
    """Mean of the absolute errors."""
    return statistics.mean(map(abs, errors))


# --- rows from a measured number ------------------------------------------------------------------------------------


def formula_names(*formulas: Formula) -> tuple[str, ...]:
    """Of formulas."""
    return tuple(each.name for each in formulas)


def bound_and_calibrated(
    data: str,
    what: str,
    unit: str,
    published: float,
    ideal: float,
    computed: float,
    fitted: bool = False,
    why: str = "",
    excuse: str = "",
    bound: tuple[str, ...] = (),
    formulas: tuple[str, ...] = (),
    rate: bool = False,
    part: str = "",
) -> list[Row]:
    """A bound and a calibrated row of one number; `excuse` counts where the bound is beaten, `bound` names its
    formulas if they are others.
    """
    head, beaten = (data, what, unit, published), published > ideal if rate else published < ideal
    more: dict[str, Any] = {"rate": rate, "part": part}
    return [
        Row(BOUND, *head, ideal, why=excuse if beaten else "", formulas=bound or formulas, **more),
        Row(CALIBRATED, *head, computed, ideal=ideal, fitted=fitted, why=why, formulas=formulas, **more),
    ]


def measured_time(
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
    """The rows of a measured time, s (or rate, byte/s), whose bound and prediction are of two formulas."""
    bound, real = formulas
    return bound_and_calibrated(
        data,
        what,
        "byte/s" if rate else "s",
        measured,
        ideal,
        ours,
        fit,
        why,
        excuse,
        formula_names(bound),
        formula_names(real),
        rate,
        part,
    )
