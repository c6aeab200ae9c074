"""The batching lesson by other means: trains that really leave, and searches that try every batch.

Nothing here uses the formulas. Each function gets its answer by running the thing or by trying integers, with plain
arithmetic, so that agreement with the formulas means something. Names of arguments are those of the notation, in
base SI units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

# --- trains --------------------------------------------------------------------------------------------------------


def trains(interval: float, rate: float, seats: int, steps: int = 1, seed: int = 0, n: int = 10_000) -> np.ndarray:
    """Latencies [n], s, of n requests that arrive at random (Poisson, `rate` per s), in order of arrival.

    A train leaves every `interval` s, full or not.
    """
    import numpy as np  # here, so that the searches below need no NumPy

    arrivals = np.random.default_rng(seed).exponential(1 / rate, n).cumsum()
    return np.array(ride(arrivals.tolist(), interval, seats, steps))


def ride(arrivals: Iterable[float], interval: float, seats: int, steps: int = 1) -> list[float]:
    """Seconds to the end of the first step of requests with these arrival times (s, ascending).

    Each takes the first train with a free seat, in order of arrival, and keeps the seat for `steps` intervals. So the
    seat that becomes free for a request is that of the one who came `seats` requests before.
    """
    latencies: list[float] = []
    boarded: list[int] = []
    for number, arrival in enumerate(arrivals):
        train = math.ceil(arrival / interval)
        if number >= seats:
            train = max(train, boarded[number - seats] + steps)
        boarded.append(train)
        latencies.append((train + 1) * interval - arrival)
    return latencies


# --- searches ------------------------------------------------------------------------------------------------------


def step(
    batch: int,
    *,
    n_active: float,
    n_total: float,
    bytes_per_param: float,
    flops: float,
    bandwidth: float,
    context: float = 0,
    kv_bytes_per_token: float = 0,
) -> tuple[float, float]:
    """Seconds to multiply and seconds to read, of one step."""
    multiply = batch * n_active * 2 / flops
    read = (n_total * bytes_per_param + batch * context * kv_bytes_per_token) / bandwidth
    return multiply, read


def crossing(limit: int = 200_000, **case: float) -> int | None:
    """The first batch whose multiplying takes as long as its reading: try 1, 2, 3, …; None if none does up to `limit`.

    `case` holds the arguments of `step`.
    """
    for batch in range(1, limit + 1):
        multiply, read = step(batch, **case)
        if multiply >= read * (1 - 1e-12):  # equal but for rounding is equal
            return batch
    return None


def cost(batch: int, *, rent: float = 1.0, chips: float = 1.0, **case: float) -> float:
    """USD per token at a batch (in units of chip-seconds where no rent is given)."""
    return rent * chips * max(step(batch, **case)) / batch


def batches(limit: int) -> Iterator[int]:
    """Every batch up to 1,000, from there on steps of 1%, and the limit itself."""
    batch = 1
    while batch < limit:
        yield batch
        batch += max(1, batch // 100)
    yield limit


def best_discount(batch: int, limit: int = 10**9, **case: float) -> tuple[float, int]:
    """Slow mode: today's cost per token over the lowest of any batch up to `limit`, and the batch that reaches it."""
    slow = min(batches(limit), key=lambda b: cost(b, **case))
    return cost(batch, **case) / cost(slow, **case), slow


class FastMode(NamedTuple):
    """A smaller batch, and what it does to the batch, the price and the speed, each as fast over standard."""

    batch: int
    batch_ratio: float  # standard over fast: how much the batch shrank
    price_ratio: float
    speed_ratio: float


def fast_mode(standard: int, price_ratio: float, **case: float) -> FastMode | None:
    """Shrink the batch, one sequence at a time, until a token costs `price_ratio` times as much.

    None if even a batch of one costs less than that.
    """
    paid, slow = cost(standard, **case), max(step(standard, **case))
    for batch in range(standard, 0, -1):
        ratio = cost(batch, **case) / paid
        if ratio >= price_ratio:
            return FastMode(batch, standard / batch, ratio, slow / max(step(batch, **case)))
    return None
