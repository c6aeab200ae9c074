"""The pricing lesson by other means: caches that are really kept and dropped, tokens that really attend, and blocks
tried one by one.

Nothing here uses the formulas. Each function counts resources as they are used, event by event, with plain arithmetic,
so that agreement with the formulas means something. Names of arguments are those of the notation, in base SI units.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

# --- a cache over time ------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A device that can hold KV: USD/s of renting all of it, bytes it holds, and bytes/s that it reads (infinite: it
    need not).
    """

    rent: float
    capacity: float
    bandwidth: float


class Bill(NamedTuple):
    """What a run cost, in USD: keeping KV, bringing it back, computing it again; and how often it was still there."""

    hold: float
    retrieve: float
    recompute: float
    hits: int
    misses: int

    @property
    def total(self) -> float:
        return self.hold + self.retrieve + self.recompute


def serve(gaps: Iterable[float], keep: float, place: Place, kv_bytes: float, recompute: float) -> Bill:
    """The bill of a prefix that is asked for again after each of the gaps, s, and kept for up to `keep` s after each
    use.

    `kv_bytes` is what the prefix takes, `recompute` the USD of computing it afresh. The use before the first gap is not
    billed.
    """
    byte_seconds, busy, paid, hits, misses = 0.0, 0.0, 0.0, 0, 0
    for gap in gaps:
        byte_seconds += kv_bytes * min(gap, keep)  # it lies there until it is asked for or thrown out
        if gap <= keep:
            busy, hits = busy + kv_bytes / place.bandwidth, hits + 1
        else:
            paid, misses = paid + recompute, misses + 1
    return Bill(place.rent * byte_seconds / place.capacity, place.rent * busy, paid, hits, misses)


def foreseen(gaps: Iterable[float], place: Place, kv_bytes: float, recompute: float) -> float:
    """USD of one who knows every gap, s, beforehand, and keeps or drops as suits it."""
    choices = ([serve([gap], keep, place, kv_bytes, recompute).total for keep in (0.0, gap)] for gap in gaps)
    return sum(min(each) for each in choices)


def cheapest(gap: float, places: Mapping[str, Place], kv_bytes: float, recompute: float) -> str:
    """The place in which to keep a prefix that is asked for every `gap` s, by trying all; "recompute" where none is
    worth it.
    """
    bills = {name: serve([gap], gap, place, kv_bytes, recompute).total for name, place in places.items()}
    return min([*bills, "recompute"], key=lambda name: bills.get(name, recompute))


def poisson(mean: float, requests: int, seed: int = 0) -> list[float]:
    """Gaps, s, between requests that come at random with this mean."""
    draw = random.Random(seed)
    return [draw.expovariate(1 / mean) for _ in range(requests)]


def workday(seed: int = 0, turns: int = 40, steps: int = 12) -> list[float]:
    """Gaps, s, of someone at work with an agent, made up: seconds from tool to tool, minutes from turn to turn, a
    night at the end.
    """
    draw = random.Random(seed)
    gaps = []
    for _ in range(turns):
        gaps += [draw.uniform(1, 30) for _ in range(draw.randrange(steps))]
        gaps.append(draw.lognormvariate(math.log(180), 1.2))
    return [*gaps, 14 * 3600.0]


# --- a rack of conversations ------------------------------------------------------------------------------------------


def calls_done(
    places: int,
    pause: float,
    seconds: float,
    *,
    prefill: float,
    passes: int,
    weights: float,
    cache: float,
    seed: int = 0,
) -> int:
    """Calls that a rack finishes in so many seconds, after a run-in, if so many conversations take all of its places,
    each pausing at random, `pause` s on average, between its calls.

    A call is prefilled alone, then takes part in so many passes. A pass takes `weights` s, and `cache` s more for each
    call in it.
    """
    draw = random.Random(seed)
    back = [draw.expovariate(1 / pause) for _ in range(places)]  # when conversations come back
    heapq.heapify(back)
    last: list[int] = []  # of each running call, its last pass
    now, number, done, run_in = 0.0, 0, 0, 2 * pause
    while now < run_in + seconds:
        if back and back[0] <= now:
            heapq.heappop(back)
            now += prefill
            heapq.heappush(last, number + passes)
        elif not last:
            now = back[0]
        else:
            now, number = now + weights + cache * len(last), number + 1
            while last and last[0] <= number:
                heapq.heappop(last)
                heapq.heappush(back, now + draw.expovariate(1 / pause))
                done += now > run_in
    return done


# --- attention --------------------------------------------------------------------------------------------------------


def prefill_flop(tokens: int, layers: int, query_heads: int, head_dim: int, n_active: float) -> tuple[float, float]:
    """FLOPs of a causal prefill of so many tokens, by weights and by attention, counted token by token."""
    weights = attention = 0.0
    for position in range(1, tokens + 1):
        weights += 2 * n_active
        for _ in range(layers):
            scores = (
                position * 2 * head_dim
            )  # a product and an addition for each value of each key before it, its own too
            mixing = position * 2 * head_dim  # and again for the values
            attention += query_heads * (scores + mixing)
    return weights, attention


def sparse_bytes(
    context: int, layers: int, index_bytes: float, entry_bytes: float, selected: int, seed: int = 0
) -> float:
    """Bytes of cache that a new token reads when in every layer it scans all index keys and fetches the best
    entries.
    """
    draw, total = random.Random(seed), 0.0
    for _ in range(layers):
        scores = []
        for token in range(context):
            total += index_bytes
            scores.append((draw.random(), token))
        for _, _token in sorted(scores, reverse=True)[:selected]:
            total += entry_bytes
    return total


def best_block(context: int, selected: int) -> tuple[int, int]:
    """The block length that reads the fewest entries, summaries and chosen blocks together, and how many; every length
    is tried.
    """
    read = {block: math.ceil(context / block) + selected * block for block in range(1, context + 1)}
    best = min(read, key=read.__getitem__)
    return best, read[best]


# --- a pass -----------------------------------------------------------------------------------------------------------


class Done(NamedTuple):
    """What passes did: FLOPs, bytes read, and seconds when the slower of the two is waited for in each."""

    flop: float
    read: float
    seconds: float


def passes(
    lengths: Sequence[int],
    *,
    batch: int,
    n_active: float,
    n_total: float,
    bytes_per_param: float,
    kv_bytes_per_token: float,
    context: float,
    flops: float,
    bandwidth: float,
) -> Done:
    """Passes of so many tokens per sequence, one after the other; each reads weights and cache once, for all its
    tokens.
    """
    flop = read = seconds = 0.0
    for length in lengths:
        multiplied = sum(2 * n_active * length for _ in range(batch))
        fetched = n_total * bytes_per_param + sum(context * kv_bytes_per_token for _ in range(batch))
        flop, read = flop + multiplied, read + fetched
        seconds += max(multiplied / flops, fetched / bandwidth)
    return Done(flop, read, seconds)


def uses_until_cheaper(write: float, hit: float, most: int = 1000) -> int | None:
    """Uses of a prompt from which on caching is cheaper, by adding up both bills use by use; None if it never is."""
    cached = afresh = 0.0
    for use in range(1, most + 1):
        cached, afresh = cached + (write if use == 1 else hit), afresh + 1.0
        if cached < afresh:
            return use
    return None
