"""The sparsity lesson by other means: tokens that really choose experts, and a search for the size that is as good.

Nothing here uses the formulas. Names of arguments are those of the notation, in base SI units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def choose(tokens: int, experts: int, top_k: int, skew: float = 0.0, seed: int = 0) -> np.ndarray:
    """Experts [tokens, top_k] that tokens choose at random, each expert at most once per token.

    With `skew` the n-th most popular expert is chosen in proportion to n to the power of minus skew; 0 is even routing.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    if not 0 < top_k <= experts:
        raise ValueError(f"a token cannot choose {top_k} of {experts} experts")
    popular = -skew * np.log(
        np.arange(1, experts + 1)
    )  # the k largest of these, with Gumbel noise, are k draws without return
    # without skew any noise will do that comes in the same order, which the uniform numbers behind Gumbel's do
    keys = popular + rng.gumbel(size=(tokens, experts)) if skew else -rng.random((tokens, experts))
    return (
        np.argpartition(-keys, top_k - 1, axis=1)[:, :top_k]
        if top_k < experts
        else np.tile(np.arange(experts), (tokens, 1))
    )


def touched(
    batches: Sequence[int], experts: int, top_k: int, skew: float = 0.0, trials: int = 40, seed: int = 0
) -> np.ndarray:
    """Share of the experts that batches of these sizes touch [batches], as a mean over trials."""
    import numpy as np

    shares = np.zeros((trials, len(batches)))
    for trial in range(trials):
        chosen = choose(max(batches), experts, top_k, skew, seed * trials + trial)
        first = np.full(experts, max(batches))  # the first token that chose each expert
        np.minimum.at(first, chosen.ravel(), np.repeat(np.arange(len(chosen)), top_k))
        shares[trial] = [(first < batch).mean() for batch in batches]
    return shares.mean(axis=0)


def loads(tokens: int, experts: int, top_k: int, skew: float = 0.0, seed: int = 0) -> np.ndarray:
    """Tokens that each expert gets [experts]."""
    import numpy as np

    return np.bincount(choose(tokens, experts, top_k, skew, seed).ravel(), minlength=experts)


def routed_loss(size: float, experts: float, fit: dict[str, float]) -> float:
    """Loss by the law as it is published, in base 10; `fit` has a, b, c, d, E_start and E_max."""
    saturated = 1 / (1 / (experts - 1 + 1 / (1 / fit["E_start"] - 1 / fit["E_max"])) + 1 / fit["E_max"])
    n, e = math.log10(size), math.log10(saturated)
    return 10 ** (fit["a"] * n + fit["b"] * e + fit["c"] * n * e + fit["d"])


def dense_as_good(size: float, experts: float, fit: dict[str, float]) -> float:
    """Parameters of the dense model with the same loss, found by halving an interval."""
    wanted, low, high = routed_loss(size, experts, fit), size / 10, size * 1000
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if routed_loss(middle, 1, fit) > wanted else (low, middle)
    return low


def step(
    batch: int, parts: Sequence[tuple[float, float]], flops: float, bandwidth: float, bytes_per_param: float
) -> float:
    """Seconds of a step that works on parts one after the other: (parameters, share of them that a token uses)."""
    return sum(max(2 * batch * n * used / flops, n * bytes_per_param / bandwidth) for n, used in parts)
