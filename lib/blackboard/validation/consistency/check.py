"""What a consistency check is: a sum that the records of a data set must satisfy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from blackboard.formula import Formula
from blackboard.prediction.rows import LIMIT

EXACT = 0.0


class Check(NamedTuple):
    """One sum that the records of a data set must satisfy, those whose cells are as `where` says."""

    data: str
    part: str
    unit: str
    why: str  # what is computed, in words
    make: Callable[..., Any]  # the Pair of a record, or something false where it says nothing
    formulas: tuple[Formula, ...] = ()
    limit: float = LIMIT
    where: dict[str, Any] = {}
    by: tuple[
        str, ...
        # columns that name a record, of which only the first is taken; without them the first columns that tell all
        # apart
    ] = ()
