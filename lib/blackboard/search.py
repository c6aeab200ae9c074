"""Roots and minima by search, the second route to what algebra gives."""

import math
from collections.abc import Callable


def find_root(rises: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises through zero crosses it, both ends positive, by halving the interval on a log
    scale.
    """
    for _ in range(100):
        middle, before = math.sqrt(low) * math.sqrt(high), (low, high)
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
        if (low, high) == before:  # no double lies between
            break
    return math.sqrt(low) * math.sqrt(high)


def find_minimum(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where a cost with one valley is least, both ends positive, by thirds of the interval on a log scale."""
    for _ in range(120):
        step = (high / low) ** (1 / 3)
        low, high = (low, high / step) if cost(low * step) < cost(high / step) else (low * step, high)
    return math.sqrt(low * high)
