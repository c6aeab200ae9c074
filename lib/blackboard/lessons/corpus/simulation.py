"""The corpus lesson by other means: curves fitted to published scores, losses of published runs, repetition tried on a
small network.

A curve through few points is not one curve but a set of them. So a fit here keeps every curve that the points allow, at
95%, and says of each quantity from where to where these curves put it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from blackboard.catalogue import measurement
from blackboard.catalogue.datafile import DATA
from blackboard.lessons.corpus import equations as eq
from blackboard.search import find_minimum

if TYPE_CHECKING:
    import numpy as np

SCALE = 1e12  # tokens: the reference number of every fit
LEVEL = 0.95
CURVES = "llammlein_checkpoints"

# --- published learning curves ----------------------------------------------------------------------------------------


class Points(NamedTuple):
    """Scores of a model's checkpoints, fractions, by tokens of training."""

    tokens: tuple[float, ...]
    scores: tuple[float, ...]


def tasks(model: str) -> tuple[str, ...]:
    """The tasks that a model's checkpoints were tried on."""
    return tuple(dict.fromkeys(row["task"] for row in measurement(CURVES).records(model=model)))


@cache
def checkpoints(model: str, task: str | None = None) -> Points:
    """A model's published scores on one task; without one, the mean over all."""
    by: dict[float, list[float]] = {}
    for row in measurement(CURVES).records(model=model, **({"task": task} if task else {})):
        by.setdefault(float(row["pretraining_tokens"]), []).append(row["score"])
    return Points(tuple(by), tuple(math.fsum(scores) / len(scores) for scores in by.values()))


# --- every curve that the points allow --------------------------------------------------------------------------------


class Range(NamedTuple):
    """Where the best curve puts a quantity, and the least and the most among all curves that the points allow."""

    low: float
    best: float
    high: float

    def __repr__(self) -> str:
        return f"{self.best:.4g} ({self.low:.4g} to {self.high:.4g})"


BENDS = {"power": (0.0, 6.0, 601), "line": (0.0, 0.0, 1)}  # least, most, and how many are tried


class Fit:
    """Curves s = a + b c(D) through a model's scores, where c bends more or less and b is not negative.

    power: c = (1 - u^-bend)/bend with u = D/SCALE; bend 0 is the straight line in ln D, which has no limit. line: bend
    0 alone. For each bend the best a and b follow by least squares; the points allow what leaves a sum of squares
    below the F bound for one constant.
    """

    def __init__(self, points: Points, form: str = "power", level: float = LEVEL):
        import numpy as np

        self.points, self.form, self.level = points, form, level
        self.u, self.s = np.array(points.tokens) / SCALE, np.array(points.scores)
        self.bends = np.linspace(*BENDS[form])
        self.constants = 2 if form == "line" else 3
        if len(self.s) <= self.constants:
            raise ValueError(f"{len(self.s)} points leave nothing over to judge {self.constants} constants by")
        self._regress()

    def __repr__(self) -> str:
        return f"<{self.form} through {len(self.s)} points: bend {self.bend:.3g}, limit {self.limit!r}>"

    def shape(self, u: float | np.ndarray, bends: np.ndarray) -> np.ndarray:
        """c for each bend (rows) and each u (columns)."""
        import numpy as np

        u, bends = np.atleast_1d(np.asarray(u, float))[None, :], np.atleast_1d(bends)[:, None]
        some = np.where(bends > 0, bends, 1.0)
        return np.where(bends > 0, -np.expm1(-some * np.log(u)) / some, np.log(u) + 0 * bends)

    def _regress(self) -> None:
        """Least squares of a and b for each bend."""
        import numpy as np

        c = self.shape(self.u, self.bends)
        self.mean_c, self.mean_s = c.mean(axis=1), self.s.mean()
        self.spread = ((c - self.mean_c[:, None]) ** 2).sum(axis=1)
        self.slopes = np.maximum(0, ((c - self.mean_c[:, None]) * (self.s - self.mean_s)).sum(axis=1) / self.spread)
        left = self.s - self.mean_s - self.slopes[:, None] * (c - self.mean_c[:, None])
        self.squares = (left**2).sum(axis=1)
        self.at = int(self.squares.argmin())

    @property
    def bend(self) -> float:
        """The bend of the best curve: the power, or the rate per reference number of tokens."""
        return float(self.bends[self.at])

    @property
    def least(self) -> float:
        """The least sum of squares."""
        return float(self.squares[self.at])

    @cached_property
    def bound(self) -> float:
        """The sum of squares up to which the points allow a curve."""
        left = len(self.s) - self.constants
        return self.least * (1 + quantile(self.level, 1, left) / left)

    def allows(self, bend: float) -> bool:
        """Whether the points allow a curve of this bend; of 0: whether they allow that there is no limit."""
        import numpy as np

        return bool(np.interp(bend, self.bends, self.squares) <= self.bound)

    def score(self, tokens: float) -> Range:
        """The score after so many tokens."""
        import numpy as np

        c = self.shape(tokens / SCALE, self.bends)[:, 0]
        value = self.mean_s + (c - self.mean_c) * self.slopes
        per = 1 / len(self.s) + (c - self.mean_c) ** 2 / self.spread
        room = np.sqrt(np.maximum(0, self.bound - self.squares) * per)
        low, high = (value - room)[self.squares <= self.bound], (value + room)[self.squares <= self.bound]
        return Range(float(low.min()), float(value[self.at]), float(high.max()))

    def _curves_to(self, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the curves with each limit (rows) and bend (columns): their bends, best gaps and sums of squares."""
        import numpy as np

        bends = self.bends[self.bends > 0]
        left = np.exp(-bends[:, None] * np.log(self.u))  # of the gap
        along, power = limits[:, None] * left.sum(axis=1) - left @ self.s, (left**2).sum(axis=1)
        gap = np.maximum(0, along / power)
        above = ((limits[:, None] - self.s) ** 2).sum(axis=1)
        return bends, gap, above[:, None] + gap * (gap * power - 2 * along)  # multiplied out: no array of points

    @cached_property
    def limit(self) -> Range:
        """The score that the curves near; 1 where nothing below the most that a score can be is ruled out."""
        import numpy as np

        limits = np.linspace(0, 1, 2001)
        limits = limits[limits > self.s.mean()]
        if self.form == "line":
            return Range(1.0, 1.0, 1.0)
        *_, squares = self._curves_to(limits)
        allowed = limits[squares.min(axis=1) <= self.bound]
        best = (
            self.mean_s - self.slopes[self.at] * self.mean_c[self.at] + self.slopes[self.at] / self.bend
            if self.bend
            else 1.0
        )
        return Range(float(allowed[0]), float(min(1.0, best)), 1.0 if self.allows(0) else float(allowed[-1]))

    @property
    def lowest(self) -> dict[str, float]:
        """Constants for `corpus.score` of the curve with the lowest limit that the points allow."""
        import numpy as np

        bends, [gaps], [squares] = self._curves_to(np.array([self.limit.low]))
        at = squares.argmin()
        return {
            "score_limit": self.limit.low,
            "score_gap": float(gaps[at]),
            "score_power": float(bends[at]),
            "token_scale": SCALE,
        }

    @property
    def known(self) -> dict[str, float]:
        """The best curve's constants for `corpus.score`; ValueError where it has no limit."""
        if self.form != "power" or not self.bend:
            raise ValueError("the best curve is a straight line in ln D, or no power: it has no place in this formula")
        slope = float(self.slopes[self.at])
        at = float(self.mean_s - slope * self.mean_c[self.at])
        return {
            "score_limit": at + slope / self.bend,
            "score_gap": slope / self.bend,
            "score_power": self.bend,
            "token_scale": SCALE,
        }


def quantile(level: float, over: int, under: int) -> float:
    """The value that F with so many degrees of freedom stays below with this chance."""
    from scipy.special import fdtri

    return float(fdtri(over, under, level))


@cache
def fit(model: str, task: str | None = None, form: str = "power") -> Fit:
    """The curves that a model's published scores allow."""
    return Fit(checkpoints(model, task), form)


# --- what a benchmark and a test can see ------------------------------------------------------------------------------


class Spreads(NamedTuple):
    """Standard deviations over tasks: of their scores, and of their changes between two checkpoints."""

    scores: float
    changes: float
    gain: float


@cache
def spreads(model: str, first: int, last: int) -> Spreads:
    """How the scores of a model's tasks at checkpoint `last` spread, and their changes since `first` (places in the
    list); and the mean change.
    """
    from statistics import fmean, stdev

    before, after = ([checkpoints(model, task).scores[place] for task in tasks(model)] for place in (first, last))
    changes = [b - a for a, b in zip(before, after)]
    return Spreads(stdev(after), stdev(changes), fmean(changes))


def seen(gain: float, spread: float, count: int = 29, paired: bool = False, level: float = LEVEL) -> float:
    """The chance that an analysis of variance over so many tasks, or runs, finds a gain between two checkpoints.

    Not paired, it sees two groups of scores, and `spread` is the standard deviation of a group. Paired, it compares
    task by task, and `spread` is that of the changes.
    """
    from scipy.special import ncfdtr

    under, far = (
        (count - 1, count * (gain / spread) ** 2) if paired else (2 * count - 2, count / 2 * (gain / spread) ** 2)
    )
    return 1 - float(ncfdtr(1, under, far, quantile(level, 1, under)))


# --- repeated data ----------------------------------------------------------------------------------------------------


def worth_summed(tokens: float, unique: float, reuse: float, parts: int = 1000) -> float:
    """Fresh tokens that a run is worth, part of an epoch by part of an epoch: each one is worth a little less than the
    one before.
    """
    total, done = 0.0, 0.0
    while done < tokens - 1e-9 * unique:
        part = min(unique / parts, tokens - done)
        again = max(0.0, (done + part / 2) / unique - 1)  # repetitions so far
        total, done = total + part * math.exp(-again / reuse), done + part
    return total


def worth_by_epoch(passes: int, reuse: float) -> float:
    """Worth of so many whole passes in texts read once, when each repetition loses the same share: what the law rounds
    to an exponential.
    """
    keeps = reuse / (1 + reuse)
    return math.fsum(keeps**again for again in range(passes))


class Repeated(NamedTuple):
    """Muennighoff's whole law: parameters lose worth too where there are too many for the data."""

    floor: float
    size: float
    data: float
    power: float
    reuse: float
    spare: float

    def best_size(self, unique: float) -> float:
        """The size that is best for data read once."""
        return unique * (self.size / self.data) ** (1 / self.power)

    def loss(self, n_active: float, tokens: float, unique: float) -> float:
        """Nats a token."""
        useful = min(n_active, self.best_size(unique))
        excess = n_active / useful - 1
        sized = useful * (1 + self.spare * -math.expm1(-excess / self.spare))
        worth = eq.data_worth(pretrain_tokens=tokens, unique_tokens=unique, reuse=self.reuse)
        return self.floor + self.size * sized**-self.power + self.data * worth**-self.power


@cache
def repeated_law() -> Repeated:
    """The law with its published constants."""
    [row] = measurement("repeated_data_law").records()
    if row["alpha"] != row["beta"]:
        raise ValueError("the best size is taken as proportional to the data, which needs equal powers")
    return Repeated(
        math.exp(row["E_log"]), math.exp(row["A_log"]), math.exp(row["B_log"]), row["alpha"], row["R_D"], row["R_N"]
    )


class Run(NamedTuple):
    """A published run over and over the same text: epochs, mean loss over its seeds, the least and the most; and the
    law's loss.
    """

    epochs: float
    loss: float
    least: float
    most: float
    law: float


@cache
def published(run: str) -> tuple[Run, ...]:
    """The published runs of one size, by epochs; the law is shifted to agree at one epoch, for it is meant for
    differences.
    """
    rows: dict[float, list[dict]] = {}
    for row in measurement("repeated_data_runs").records(run=run):
        rows.setdefault(row["unique_tokens"], []).append(row)
    found = []
    for unique, same in sorted(rows.items(), reverse=True):
        losses, size, tokens = [row["loss"] for row in same], same[0]["n_total"], same[0]["pretraining_tokens"]
        found.append(
            Run(
                tokens / unique,
                math.fsum(losses) / len(losses),
                min(losses),
                max(losses),
                repeated_law().loss(size, tokens, unique),
            )
        )
    shift = found[0].loss - found[0].law
    return tuple(each._replace(law=each.law + shift) for each in found)


def reuse_if_only_text_wears(passes: float) -> float:
    """The law's constant of repetition if parameters never lost worth, by least squares on the published runs up to so
    many passes: all that repeating cost them is put down to the text.
    """
    law, found = repeated_law(), []
    for name in ("2.8B", "4.2B", "8.7B"):
        [row, *_] = measurement("repeated_data_runs").records(run=name)
        first, *rest = published(name)
        at = row["n_total"], row["pretraining_tokens"]
        found += [(*at, at[1] / each.epochs, each.loss - first.loss) for each in rest if each.epochs <= passes]

    def squares(reuse: float) -> float:
        only = law._replace(reuse=reuse, spare=1e12)
        above = lambda size, tokens, text: only.loss(size, tokens, text) - only.loss(size, tokens, tokens)
        return math.fsum((above(size, tokens, text) - lost) ** 2 for size, tokens, text, lost in found)

    return find_minimum(squares, 0.1, 100)


# --- repetition, tried ------------------------------------------------------------------------------------------------

BEFORE = 6  # characters that the network sees


class Network:
    """Predicts a character from the few before it: a vector for each, one hidden layer; trained by SGD with momentum.

    Several networks side by side [network, ...], each with a start of its own. Small, so that no product is worth a
    second thread.
    """

    def __init__(self, vocab: int, count: int, width: int = 12, hidden: int = 96, seed: int = 0):
        import numpy as np

        rng = np.random.default_rng(seed)
        draw = lambda scale, *shape: (scale * rng.normal(size=(count, *shape))).astype("f4")
        self.weights = [
            draw(0.3, vocab, width),
            draw((BEFORE * width) ** -0.5, BEFORE * width, hidden),
            draw(hidden**-0.5 / 3, hidden, vocab),
        ]
        self.speeds = [np.zeros_like(weights) for weights in self.weights]

    def _forward(self, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inputs, hidden values and chances [network, example, ...] for characters seen [network, example, BEFORE]."""
        import numpy as np

        vectors, first, second = self.weights
        inputs = vectors[np.arange(len(seen))[:, None, None], seen].reshape(*seen.shape[:2], -1)
        hidden = np.tanh(inputs @ first)
        scores = hidden @ second
        chances = np.exp(scores - scores.max(axis=2, keepdims=True))
        return inputs, hidden, chances / chances.sum(axis=2, keepdims=True)

    def loss(self, seen: np.ndarray, following: np.ndarray) -> np.ndarray:
        """Mean loss of each network, nats a character."""
        import numpy as np

        *_, chances = self._forward(seen)
        return -np.log(np.take_along_axis(chances, following[..., None], 2) + 1e-12).mean(axis=(1, 2))

    def grads(self, seen: np.ndarray, following: np.ndarray) -> list[np.ndarray]:
        """Gradients of the mean loss, in the order of the weights, for examples [network, example]."""
        import numpy as np

        (vectors, first, second), (inputs, hidden, wrong) = self.weights, self._forward(seen)
        np.put_along_axis(wrong, following[..., None], np.take_along_axis(wrong, following[..., None], 2) - 1, 2)
        wrong /= seen.shape[1]
        back = (wrong @ second.transpose(0, 2, 1)) * (1 - hidden**2)
        into = (back @ first.transpose(0, 2, 1)).reshape(-1, vectors.shape[2])
        where = (np.arange(len(seen))[:, None, None] * vectors.shape[1] + seen).ravel()
        order = where.argsort(
            kind="stable"
        )  # the same character again and again: added up in a row, which is faster than one by one
        found, starts = np.unique(where[order], return_index=True)
        added = np.zeros((len(seen) * vectors.shape[1], vectors.shape[2]), "f4")
        added[found] = np.add.reduceat(into[order], starts)
        return [added.reshape(vectors.shape), inputs.transpose(0, 2, 1) @ back, hidden.transpose(0, 2, 1) @ wrong]

    def step(self, seen: np.ndarray, following: np.ndarray, rate: float, keep: float = 0.9) -> None:
        """One step of SGD on examples [network, example]."""
        for weights, speed, grad in zip(self.weights, self.speeds, self.grads(seen, following)):
            speed *= keep
            speed += grad
            weights -= rate * speed


@cache
def _sonnets() -> tuple[str, tuple[int, ...]]:
    """The alphabet of the sonnets, and their characters as places in it."""
    text = (DATA / "shakespeare.txt").read_text("utf8")
    alphabet = "".join(sorted(set(text)))
    return alphabet, tuple(map({letter: place for place, letter in enumerate(alphabet)}.__getitem__, text))


def _examples(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every character the ones before it, and itself."""
    import numpy as np

    windows = np.lib.stride_tricks.sliding_window_view(places, BEFORE + 1)
    return windows[:, :BEFORE], windows[:, BEFORE]


@dataclass(frozen=True)
class Tried:
    """Losses on text held out, nats a character [pass, network]: of networks that met the same text again, and of such
    that met fresh text.
    """

    unique: int
    passes: tuple[int, ...]
    again: np.ndarray
    fresh: np.ndarray

    def __repr__(self) -> str:
        found = ", ".join(f"{n}: {self.worth(n)[0]:.0%}" for n in self.passes)
        return f"<{self.unique:,} characters, worth by passes: {found}; best after {self.best}>"

    def worth(self, passes: int) -> tuple[float, float]:
        """Fresh text that so many passes were worth, over what was read: mean over the networks, and its standard
        error.
        """
        import numpy as np

        place = self.passes.index(passes)
        reached = [
            np.interp(-self.again[place, n], -np.minimum.accumulate(self.fresh[:, n]), self.passes)
            for n in range(self.again.shape[1])
        ]
        shares = np.array(reached) / passes
        return float(shares.mean()), float(shares.std(ddof=1) / math.sqrt(len(shares)))

    @cached_property
    def reuse(self) -> float:
        """The law's constant by least squares, up to the best number of passes: repetitions after which a token has
        lost 63% of its worth.
        """
        tries = [0.1 * n for n in range(1, 500)]
        far = [n for n in self.passes if n <= max(3, self.best)]
        off = lambda reuse: sum(
            (self.worth(n)[0] - eq.data_worth(pretrain_tokens=n, unique_tokens=1, reuse=reuse) / n) ** 2 for n in far
        )
        return min(tries, key=off)

    @property
    def best(self) -> int:
        """Passes after which the loss on text held out was lowest."""
        return self.passes[int(self.again.mean(axis=1).argmin())]


@cache
def repetition(
    unique: int = 4096, passes: int = 10, networks: int = 4, batch: int = 64, rate: float = 0.1, seed: int = 0
) -> Tried:
    """Small networks that learn to predict Shakespeare's sonnets: `unique` characters passed over again and again, or
    as many fresh ones.

    Each network has a start and a stretch of text of its own; the last eighth of the text is held out.
    """
    import numpy as np

    alphabet, letters = _sonnets()
    seen, following = _examples(np.array(letters))
    held = len(seen) // 8
    pool, rng = len(seen) - held, np.random.default_rng(seed)
    if unique * passes > pool:
        raise ValueError(f"{passes} times {unique:,} characters are more than the {pool:,} there are")
    starts = rng.integers(0, pool, networks)
    fresh = np.array([(start + rng.permutation(unique * passes)) % pool for start in starts])  # in any order, each once
    same = np.array([np.concatenate([rng.permutation(row[:unique]) for _ in range(passes)]) for row in fresh])
    tests = np.broadcast_to(np.arange(pool, len(seen), 6), (networks, len(range(pool, len(seen), 6))))
    losses = []
    for order in (same, fresh):
        network, found = Network(len(alphabet), networks, seed=seed), []
        for start in range(0, unique * passes, batch):
            network.step(seen[order[:, start : start + batch]], following[order[:, start : start + batch]], rate)
            if (start + batch) % unique == 0:
                found.append(network.loss(seen[tests], following[tests]))
        losses.append(np.array(found))
    return Tried(unique, tuple(range(1, passes + 1)), *losses)


# --- filtered data ----------------------------------------------------------------------------------------------------


def power_of(times: float, share: float = 0.1) -> float:
    """The power with which quality rises, when the best `share` of the pool teaches so many times as much as an
    average token.
    """
    return math.log(times) / -math.log(share)


def filtered(tokens: float, pool: float, kept: float, reuse: float, quality_power: float, parts: int = 2000) -> float:
    """Average tokens of the pool that a run over its best `kept` share is worth, part by part.

    The pool lies sorted; the part at rank r of 0 to 1 teaches (1 - power) r^-power times an average token, so that the
    mean over the best share x is x^-power. The best parts are read, pass after pass, each pass worth less.
    """
    edge = lambda rank: rank ** (1 - quality_power)  # what lies before the rank teaches, over the whole pool
    taught = [pool * (edge(kept * (n + 1) / parts) - edge(kept * n / parts)) for n in range(parts)]
    size, total, done, again = kept * pool, 0.0, 0.0, 0.0
    whole = math.fsum(taught)
    steps = 200  # of a pass, for its worth falls within it
    while done < tokens - 1e-9 * size:
        part = min(size / steps, tokens - done)
        again = max(0.0, (done + part / 2) / size - 1)
        total, done = total + whole * part / size * math.exp(-again / reuse), done + part
    return total


class Kept(NamedTuple):
    """The share of a pool that is best to keep, how often it is then read, and the average tokens that the run is
    worth.
    """

    share: float
    epochs: float
    worth: float


@cache
def best_share(tokens: float, pool: float, reuse: float, quality_power: float, tries: int = 4000) -> Kept:
    """The best share of a pool, found by trying."""
    found = []
    for n in range(tries + 1):
        share = 10 ** (-4 * n / tries)
        worth = eq.filtered_worth(
            pretrain_tokens=tokens, pool_tokens=pool, kept_share=share, reuse=reuse, quality_power=quality_power
        )
        found.append(Kept(share, tokens / (share * pool), worth))
    return max(found, key=lambda kept: kept.worth)
