"""The most users that chips serve at a promised speed, over all shardings: a second route to the page's own search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from blackboard import catalogue
from blackboard.catalogue import Chip
from blackboard.prediction.serving import MOST_USERS, ServingPrediction, predict_serving

COUNTS = (1, 2, 4, 8)


class Promise(NamedTuple):
    """Tokens per second that each user gets at least, and seconds to the first token at most."""

    user: float
    first: float

    def is_kept(self, found: ServingPrediction) -> bool:
        fitting = found.server.users <= found.fits and not found.queued
        return fitting and found.tokens_per_s_per_user >= self.user and found.first_token <= self.first


def find_shardings(model: Any, chips: int) -> Iterator[tuple[int, int]]:
    """Tensor and expert parallelism: heads are cut evenly, experts dealt out over all chips or not at all."""
    experts = (1, chips) if model.moe and 1 < chips <= model.moe.experts else (1,)
    for tensor in range(1, chips + 1):
        if chips % tensor == 0 and not any(group.heads % tensor for group in model.attention):
            yield from ((tensor, expert) for expert in experts)


def most_promised(promise: Promise, **asked: Any) -> ServingPrediction | None:
    """The prediction with the most users that keeps the promise; None where not even one user has it."""
    serve = lambda users: predict_serving(**asked, concurrency=users)
    low, high = 1, 2
    if not promise.is_kept(serve(1)):
        return None
    while high <= MOST_USERS and promise.is_kept(serve(high)):
        low, high = high, 2 * high
    while high - low > max(1, low / 64):
        middle = (low + high) // 2
        low, high = (middle, high) if promise.is_kept(serve(middle)) else (low, middle)
    return serve(low)


def best_sharding(promise: Promise, **asked: Any) -> ServingPrediction | None:
    """The one with the highest throughput of a chip."""
    shardings = find_shardings(catalogue.model(asked["model"]), asked["chips"])
    found = (most_promised(promise, **asked, tensor=tensor, expert=expert) for tensor, expert in shardings)
    return max(filter(None, found), key=lambda each: each.tokens_per_s_per_chip, default=None)


def fewest_chips(promise: Promise, counts: Iterable[int], **asked: Any) -> ServingPrediction | None:
    """The fewest of some counts that carry the load as promised, with the sharding of the highest throughput."""
    model = catalogue.model(asked["model"])
    for count in counts:
        tried = (_answered(**asked, chips=count, tensor=t, expert=e) for t, e in find_shardings(model, count))
        kept = (each for each in tried if each and promise.is_kept(each))
        found = max(kept, key=lambda each: each.tokens_per_s_per_chip, default=None)
        if found is not None:
            return found
    return None


def _answered(**asked: Any) -> ServingPrediction | None:
    """None where more requests per second are asked for than can be answered."""
    try:
        return predict_serving(**asked)
    except ValueError:
        return None


def compare_chips(promise: Promise, chips: Iterable[Chip], **asked: Any) -> list[ServingPrediction]:
    """The best sharding of each chip and count, the cheapest million tokens first."""
    tried = (best_sharding(promise, chip=chip.id, chips=count, **asked) for chip in chips for count in COUNTS)
    return sorted(filter(None, tried), key=lambda each: each.usd_per_mtok or 0)
