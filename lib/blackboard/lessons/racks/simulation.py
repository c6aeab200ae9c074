"""The racks lesson by other means: tokens that really choose, and bytes that are counted one copy at a time.

Nothing here uses the formulas. Routing is drawn at random or worked out by counting subsets; traffic is a matrix of
bytes from GPU to GPU, filled copy by copy. The layer itself runs in `moe`; here only its choices matter, so that full
sizes (256 experts, a width of thousands) take no longer than small ones.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from blackboard.lessons.racks.moe import Placement, Traffic, check_per, sigmoid, top

# --- routing ---------------------------------------------------------------------------------------------------------


def popularity(experts: int, skew: float = 0, seed: int = 0) -> np.ndarray:
    """Chances [experts], adding up to one: those of rank r as 1 / r^skew (Zipf), ranks dealt at random; 0 is
    uniform.
    """
    chance = np.arange(1.0, experts + 1) ** -skew
    return np.random.default_rng(seed).permutation(chance / chance.sum())


def route(tokens: int, experts: int, top_k: int, skew: float = 0, seed: int = 0) -> np.ndarray:
    """Choices [tokens, top_k] of different experts, drawn one after the other by popularity from those that are left.

    The top_k of log chance + Gumbel noise is such a draw (Kool and others 2019, arXiv 1903.06059).
    """
    draw = np.random.default_rng([seed, 1])  # not the numbers that dealt the ranks
    if not skew:  # any noise will do that comes in the same order, which the uniform numbers behind Gumbel's do
        return top(-draw.random((tokens, experts)), top_k)
    chance = popularity(experts, skew, seed)
    return top(np.log(chance) + draw.gumbel(size=(tokens, experts)), top_k)


def affinities(tokens: int, experts: int, seed: int = 0) -> np.ndarray:
    """Scores [tokens, experts] of a router without preferences: the sigmoid of independent normal numbers."""
    return sigmoid(np.random.default_rng(seed).standard_normal((tokens, experts)))


# --- loads -----------------------------------------------------------------------------------------------------------


def expert_loads(chosen: np.ndarray, experts: int) -> np.ndarray:
    """Tokens per expert [experts] for choices [tokens, top_k]."""
    return np.bincount(chosen.ravel(), minlength=experts)


def gpu_loads(chosen: np.ndarray, placement: Placement) -> np.ndarray:
    """Expert rows that each GPU computes [gpus] for choices [tokens, top_k]."""
    return np.bincount(placement.targets(chosen).ravel(), minlength=placement.gpus)


def imbalance(loads: np.ndarray) -> float:
    """The largest load over the mean: as much longer everybody waits than with even loads."""
    return float(loads.max() / loads.mean())


# --- how many places one token goes to -------------------------------------------------------------------------------


def places_hit(chosen: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Distinct places [tokens] of each token's choices [tokens, top_k], where `places` [experts] is an expert's GPU,
    node or rack.
    """
    hit = np.sort(places[chosen], axis=1)
    return 1 + (np.diff(hit, axis=1) != 0).sum(axis=1)


def blocks(experts: int, places: int) -> np.ndarray:
    """The place [experts] of each expert when neighbours share one and all places have as many."""
    if places < 1 or experts % places:
        raise ValueError(f"{experts} experts do not divide over {places} places: take a divisor of {experts}")
    return np.arange(places).repeat(experts // places)


def places_exactly(experts: int, places: int, top_k: int) -> list[Fraction]:
    """Chances [0 to places] that a uniform choice of top_k experts hits just so many of the places, by counting
    subsets.

    A set of n places holds C(n · size, top_k) choices; those that miss one or more of the n are taken off again.
    """
    size, all_choices = len(blocks(experts, places)) // places, math.comb(experts, top_k)

    def onto(n: int) -> int:
        return sum((-1) ** (n - kept) * math.comb(n, kept) * math.comb(kept * size, top_k) for kept in range(n + 1))

    return [Fraction(math.comb(places, n) * onto(n), all_choices) for n in range(places + 1)]


def nodes_hit(tokens: int, experts: int, top_k: int, nodes: int, limit: int | None = None, seed: int = 0) -> np.ndarray:
    """Distinct nodes [tokens] that tokens with `affinities` go to, at most `limit` of them (DeepSeek-V3: 4 of 8)."""
    chosen = top(affinities(tokens, experts, seed), top_k, nodes, limit)
    return places_hit(chosen, blocks(experts, nodes))


# --- traffic ---------------------------------------------------------------------------------------------------------


def traffic(chosen: np.ndarray, placement: Placement, row_bytes: float, per: str = "expert") -> Traffic:
    """What dispatch sends for choices [tokens, choices], copies of `row_bytes` each, one per "expert" or per distinct
    "gpu".
    """
    check_per(per)
    sources, targets = placement.sources(len(chosen)), placement.targets(chosen)
    matrix = np.zeros((placement.gpus, placement.gpus))
    for source, target in zip(sources, targets):
        for gpu in target if per == "expert" else set(target):
            matrix[source, gpu] += row_bytes
    return Traffic(matrix)


def back(dispatch: Traffic, bytes_ratio: float = 2) -> Traffic:
    """What combine sends when dispatch sent that: as many copies the other way, `bytes_ratio` times as wide."""
    return Traffic(dispatch.matrix.T * bytes_ratio)


def slowdowns(dispatch: Traffic, ratios, racks: int = 2) -> np.ndarray:
    """Time over `racks` racks against one rack, for each ratio of the bandwidth inside to that outside."""
    one = dispatch.time(scale_up=1, scale_out=1)
    return np.array([dispatch.time(scale_up=1, scale_out=1 / ratio, racks=racks) / one for ratio in ratios])
