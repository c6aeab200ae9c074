"""The overtraining lesson by other means: a network whose FLOPs are counted, searches for the least cost, draws from
ranges.

Nothing here uses the formulas, but for the draws from ranges, which are put into them. Names of arguments are those of
the notation, in base SI units; a `law` holds the fitted constants loss_floor, loss_size, loss_data, size_power and
data_power by name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from blackboard.formula import Formula
from blackboard.lessons.overtraining import equations as eq

if TYPE_CHECKING:
    import numpy as np

Law = Mapping[str, float]
PASSES = ("forward", "input gradient", "weight gradient")

# --- FLOPs, counted ---------------------------------------------------------------------------------------------------


class Network:
    """A small language model that trains: a token looks up its vector, then come matrices with tanh between them; the
    last scores the next token.

    `work[layer, kind]` counts the FLOPs of every matrix product, two for a multiply-add; kinds are PASSES. Other work,
    a share of one over the width, is not counted.
    """

    def __init__(self, vocab: int = 17, widths: Sequence[int] = (8, 12, 20), seed: int = 0):
        import numpy as np

        rng, sizes = np.random.default_rng(seed), [*widths, vocab]
        self.embedding = rng.normal(size=(vocab, widths[0]))
        self.matrices = [rng.normal(size=shape) / math.sqrt(shape[0]) for shape in zip(sizes, sizes[1:])]
        self.work: Counter[tuple[int, str]] = Counter()

    def _product(self, layer: int, kind: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """left @ right, counted."""
        self.work[layer, kind] += 2 * left.shape[0] * left.shape[1] * right.shape[1]
        return left @ right

    def forward(self, tokens: np.ndarray) -> list[np.ndarray]:
        """Inputs of every matrix [tokens, width], and at the end the scores [tokens, vocab]."""
        import numpy as np

        states = [self.embedding[tokens]]  # a lookup: nothing is multiplied
        for layer, matrix in enumerate(self.matrices):
            out = self._product(layer, "forward", states[-1], matrix)
            states.append(np.tanh(out) if layer + 1 < len(self.matrices) else out)
        return states

    def loss(self, tokens: np.ndarray, following: np.ndarray) -> float:
        """Mean loss of the tokens that follow, in nats."""
        import numpy as np

        scores = self.forward(tokens)[-1]
        return float(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(tokens)), following]))

    def gradients(
        self, tokens: np.ndarray, following: np.ndarray, learn_embedding: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """Gradients of the loss: of the embedding, or None where it is not learnt, and of every matrix."""
        import numpy as np

        states = self.forward(tokens)
        odds = np.exp(states[-1])
        back = (odds / odds.sum(axis=1, keepdims=True) - np.eye(odds.shape[1])[following]) / len(tokens)
        found: list[np.ndarray] = []
        for layer in reversed(range(len(self.matrices))):
            found.insert(0, self._product(layer, "weight gradient", states[layer].T, back))
            if layer or learn_embedding:  # else nothing below needs it
                back = self._product(layer, "input gradient", back, self.matrices[layer].T)
                back = back * (1 - states[layer] ** 2) if layer else back
        return (self._scattered(tokens, back) if learn_embedding else None), found

    def _scattered(self, tokens: np.ndarray, back: np.ndarray) -> np.ndarray:
        """Gradient of the embedding: each token's vector gets its own; additions only."""
        import numpy as np

        out = np.zeros_like(self.embedding)
        np.add.at(out, tokens, back)
        return out


def counted(tokens: int = 64, learn_embedding: bool = False, **shape) -> list[dict[str, float]]:
    """FLOPs per parameter and token of a training step, by kind, for every matrix of a Network of this shape."""
    import numpy as np

    net, rng = Network(**shape), np.random.default_rng(1)
    read, following = rng.integers(len(net.embedding), size=(2, tokens))
    net.gradients(read, following, learn_embedding)
    return [
        {kind: net.work[layer, kind] / (matrix.size * tokens) for kind in PASSES}
        for layer, matrix in enumerate(net.matrices)
    ]


# --- the least cost ---------------------------------------------------------------------------------------------------


def lowest(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where a cost with one valley is least between two positive ends, searched on a log scale."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda x: cost(math.exp(x)), bounds=(math.log(low), math.log(high)), method="bounded", options={"xatol": 1e-10}
    )
    return math.exp(found.x)


def loss_of(n_active: float, tokens: float, law: Law) -> float:
    """Loss by size and tokens of training."""
    return (
        law["loss_floor"]
        + law["loss_size"] / n_active ** law["size_power"]
        + law["loss_data"] / tokens ** law["data_power"]
    )


def tokens_to(loss: float, n_active: float, law: Law) -> float:
    """Tokens with which a size reaches a loss; infinite where none suffices."""
    left = loss - law["loss_floor"] - law["loss_size"] / n_active ** law["size_power"]
    return (law["loss_data"] / left) ** (1 / law["data_power"]) if left > 0 else math.inf


class Trained(NamedTuple):
    """A model by its size and tokens, and the compute that training and serving it take, in FLOPs at the rate of
    training.
    """

    n_active: float
    tokens: float
    training: float
    inference: float

    @property
    def total(self) -> float:
        """FLOPs over its life."""
        return self.training + self.inference

    @property
    def training_share(self) -> float:
        """Training's part of the total."""
        return self.training / self.total

    @property
    def tokens_per_param(self) -> float:
        """Tokens of training for each parameter."""
        return self.tokens / self.n_active


def trained(n_active: float, loss: float, served: float, law: Law, decode_efficiency: float = 1.0) -> Trained:
    """The model of this size at this loss, and what it costs to train it and to serve so many tokens with it."""
    tokens = tokens_to(loss, n_active, law)
    return Trained(n_active, tokens, 6 * n_active * tokens, 2 * n_active * served / decode_efficiency)


def best(loss: float, served: float, law: Law, decode_efficiency: float = 1.0) -> Trained:
    """The model with the least lifetime cost at this loss; with nothing served, Chinchilla's."""
    least = (law["loss_size"] / (loss - law["loss_floor"])) ** (
        1 / law["size_power"]
    )  # smaller ones never reach the loss
    cost = lambda n: trained(n, loss, served, law, decode_efficiency).total
    return trained(lowest(cost, least * (1 + 1e-6), least * 1e4), loss, served, law, decode_efficiency)


def saving(loss: float, served: float, law: Law, decode_efficiency: float = 1.0) -> float:
    """Share of the lifetime cost that the best model saves against the one that is best for training alone."""
    plain = trained(best(loss, 0, law).n_active, loss, served, law, decode_efficiency)
    return 1 - best(loss, served, law, decode_efficiency).total / plain.total


def best_at(compute: float, law: Law) -> Trained:
    """The model with the lowest loss for a compute of training."""
    root = math.sqrt(compute)
    size = lowest(lambda n: loss_of(n, compute / (6 * n), law), root / 1e6, root * 1e3)
    return Trained(size, compute / (6 * size), compute, 0.0)


# --- how far guesses reach --------------------------------------------------------------------------------------------

DAY = 86_400.0
RANGES = {  # the lecture's guesses, halved and doubled; of the family, its own range
    "world_rate": (250e6, 1e9),
    "lifetime": (30 * DAY, 120 * DAY),
    "family": (5, 10),
    "decode_efficiency": (0.15, 0.6),
    "n_active": (50e9, 200e9),
}


class Spread(NamedTuple):
    """Over-training factors that were drawn, in order."""

    factors: np.ndarray

    def quantile(self, share: float) -> float:
        """The factor that this share of the draws stays below."""
        import numpy as np

        return float(np.quantile(self.factors, share))

    def below(self, factor: float) -> float:
        """Share of the draws below a factor."""
        import numpy as np

        return float(np.searchsorted(self.factors, factor) / len(self.factors))


FACTOR = Formula(
    "overtraining.balanced_overtraining",
    "overtraining",
    eq.overtraining.typed.xreplace({eq.pretrain_tokens: eq.balanced_tokens.typed}),
    "1",
    "how far past Chinchilla a model is trained whose training costs what its serving costs",
    eq.balanced_tokens.assumes + eq.overtraining.assumes,
    register=False,
)


def factor(**guesses: float | np.ndarray) -> Any:
    """Tokens of training over Chinchilla's, where training costs what serving costs: numbers or arrays, by the names
    of RANGES.
    """
    return FACTOR({"prescribed": eq.PRESCRIBED, **guesses})


def spread(ranges: Mapping[str, tuple[float, float]] | None = None, draws: int = 20_000, seed: int = 0) -> Spread:
    """Over-training where every input lies anywhere in its range, evenly on a log scale and independently of the
    others.
    """
    import numpy as np

    ranges, rng = dict(RANGES if ranges is None else ranges), np.random.default_rng(seed)
    drawn = {name: np.exp(rng.uniform(math.log(low), math.log(high), draws)) for name, (low, high) in ranges.items()}
    return Spread(np.sort(factor(**drawn)))
