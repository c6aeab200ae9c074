"""A function that a reader writes in the page, run at a problem's points: its values, or what keeps it from having any.

The page's script judges the values, as it judges a formula's.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from blackboard.lab_values import shown
from blackboard.limits import READER, Limit, keep_lines
from blackboard.reader_code import SECONDS, Verdict, stopped

Point = Mapping[str, float]


class Refused(Exception):
    """Carries the verdict on code that has no values."""

    def __init__(self, *said: str):
        super().__init__(*said)
        self.verdict = Verdict(*said)


def values_of(text: str, points: Sequence[Point], seconds: float = SECONDS) -> list[float | None] | Verdict:
    """The values of the last function in a text; None for one that is no finite number."""
    space: dict[str, Any] = {"__name__": "answer"}
    try:
        with Limit({READER}, seconds):
            keep_lines(text)
            exec(compile(text, READER, "exec"), space)
            made = find_function(space, points[0])
            return [read_number(made(**point), point) for point in points]
    except Refused as refused:
        return refused.verdict
    except BaseException as error:
        return stopped(error)


def find_function(space: Mapping[str, Any], point: Point) -> Callable[..., Any]:
    """The last function that was written, if it takes a problem's symbols by name."""
    written = [each for each in space.values() if isinstance(each, types.FunctionType)]
    if not written:
        raise Refused("missing", "There is no function in your code. Start it with `def`.")
    try:
        inspect.signature(written[-1]).bind(**point)
    except TypeError:
        own = ", ".join(inspect.signature(written[-1]).parameters)
        said = f"It is called by name, so it must take ({', '.join(point)}); yours takes ({own})."
        raise Refused("signature", said) from None
    return written[-1]


def read_number(value: Any, point: Point) -> float | None:
    """A result as a number; the call with it where it is none."""
    asked = ", ".join(f"{name}={shown(given)}" for name, given in point.items())
    if value is None:
        raise Refused("nothing", "Your function returns nothing. Is there a `return`?", f"Called with {asked}")
    exact = isinstance(value, (int, float, Fraction, Decimal)) or type(value).__module__.startswith("sympy.core")
    try:
        number = float(value) if exact else None
    except OverflowError:
        return None
    except TypeError:  # a SymPy expression with symbols left
        number = None
    if number is None:
        raise Refused("wrong", f"It must return one number; it returned {shown(value)}.", f"Called with {asked}")
    return number if math.isfinite(number) else None
