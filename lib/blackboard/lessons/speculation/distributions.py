"""Drafting and verifying on real distributions: one round, everything that it can lead to, and models of Shakespeare's
sonnets.

A distribution is a dictionary from tokens to probabilities that add up to 1, a model a function from the text so far to
a distribution of what comes next. Tokens are single characters. With fractions as probabilities all results are exact.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from blackboard.catalogue.datafile import DATA

Distribution = Mapping[str, Any]
Model = Callable[[str], Distribution]


def draw(rng: random.Random, distribution: Distribution) -> str:
    """One token of the distribution."""
    left = rng.random()
    for token, chance in distribution.items():
        left -= chance
        if left < 0:
            return token
    return max(distribution, key=distribution.__getitem__)  # what rounding left over


# --- two distributions ------------------------------------------------------------------------------------------------


def overlap(target: Distribution, draft: Distribution) -> Any:
    """The mass that both have, 0 to 1: the chance that a drafted token is accepted."""
    return sum(min(chance, draft.get(token, 0)) for token, chance in target.items())


def distance(target: Distribution, draft: Distribution) -> Any:
    """Total variation between the two, 0 to 1: half of what they differ by, added up over all tokens."""
    return sum(abs(target.get(token, 0) - draft.get(token, 0)) for token in {**target, **draft}) / 2


def residual(target: Distribution, draft: Distribution) -> dict[str, Any]:
    """What the target has more of than the draft, scaled to 1: what replaces a refused token."""
    more = {token: max(0, chance - draft.get(token, 0)) for token, chance in target.items()}
    whole = sum(more.values())
    return {token: chance / whole for token, chance in more.items() if chance}


class Rule(NamedTuple):
    """How a drafted token is judged: the chance to keep it, and the distribution that replaces a refused one."""

    keep: Callable[[Distribution, Distribution, str], Any]
    instead: Callable[[Distribution, Distribution], Distribution]


def _keep(target: Distribution, draft: Distribution, token: str) -> Any:
    return min(1, target.get(token, 0) / draft[token])


RIGHT = Rule(_keep, residual)
WRONG = {  # mistakes that are easily made; each yields another distribution than the target's
    "replaced from the target": Rule(_keep, lambda target, draft: target),
    "kept by the target alone": Rule(
        lambda target, draft, token: target.get(token, 0), lambda target, draft: residual(target, draft) or target
    ),
    "all kept": Rule(lambda target, draft, token: 1, residual),
}


# --- one round --------------------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """What a round adds to the text, and how many of its drafted tokens are accepted."""

    text: str
    passed: int


def speculate(rng: random.Random, draft: Model, target: Model, prefix: str, drafted: int, rule: Rule = RIGHT) -> Round:
    """One round: the draft guesses `drafted` tokens one after the other, the target judges them and adds one of its
    own.
    """
    guess = ""
    for _ in range(drafted):
        guess += draw(rng, draft(prefix + guess))
    for place, token in enumerate(guess):  # one pass of a real target gives the distributions at all places
        before = prefix + guess[:place]
        p, q = target(before), draft(before)
        if rng.random() >= rule.keep(p, q, token):
            return Round(guess[:place] + draw(rng, rule.instead(p, q)), place)
    return Round(guess + draw(rng, target(prefix + guess)), drafted)


def write(
    rng: random.Random, draft: Model, target: Model, prefix: str, length: int, drafted: int, rule: Rule = RIGHT
) -> str:
    """The next `length` tokens after the prefix, round by round."""
    made = ""
    while len(made) < length:
        made += speculate(rng, draft, target, prefix + made, drafted, rule).text
    return made[:length]


# --- all that can happen ----------------------------------------------------------------------------------------------


def plain(target: Model, prefix: str, length: int) -> dict[str, Any]:
    """The chance of every text of `length` tokens after the prefix, when the target writes alone."""
    texts: dict[str, Any] = {"": 1}
    for _ in range(length):
        texts = {
            text + token: chance * more
            for text, chance in texts.items()
            for token, more in target(prefix + text).items()
        }
    return texts


def outcome(draft: Model, target: Model, prefix: str, length: int, drafted: int, rule: Rule = RIGHT) -> dict[str, Any]:
    """The chance of every text of `length` tokens after the prefix, written in rounds: every branch is followed,
    nothing is sampled.
    """
    found: dict[str, Any] = defaultdict(int)

    def follow(made: str, left: int, chance: Any) -> None:
        """`left` drafted tokens of this round are still to be judged."""
        if not chance or len(made) == length:
            found[made] += chance
            return
        p, q = target(prefix + made), draft(prefix + made)
        if not left:
            for token, more in p.items():
                follow(made + token, drafted, chance * more)
            return
        refused = 0
        for token, guessed in q.items():
            kept = rule.keep(p, q, token)
            follow(made + token, left - 1, chance * guessed * kept)
            refused += guessed * (1 - kept)
        if refused:
            for token, more in rule.instead(p, q).items():
                follow(made + token, drafted, chance * refused * more)

    follow("", drafted, 1)
    return {text: chance for text, chance in found.items() if len(text) == length}


# --- telling two samplers apart ---------------------------------------------------------------------------------------


def pooled(expected: Mapping[str, float], least: float) -> dict[str, str]:
    """Each text's cell of a chi-square test: its own if at least so many are expected, else one for all rare texts."""
    return {text: text if count >= least else "rare" for text, count in expected.items()}


def chi_square(texts: Mapping[str, int], right: Mapping[str, float], least: float = 10) -> tuple[float, int]:
    """Pearson's statistic of counted texts against their probabilities, and its degrees of freedom."""
    total = sum(texts.values())
    cell = pooled({text: total * chance for text, chance in right.items()}, least)
    expected: defaultdict[str, float] = defaultdict(float)
    counted: Counter[str] = Counter()
    for text, chance in right.items():
        expected[cell[text]] += total * chance
        counted[cell[text]] += texts.get(text, 0)
    return sum((counted[name] - count) ** 2 / count for name, count in expected.items()), len(expected) - 1


def power(
    wrong: Mapping[str, float], right: Mapping[str, float], samples: int, level: float = 0.001, least: float = 10
) -> float:
    """The chance that the test refuses, at this level, so many texts that come from a wrong distribution."""
    from scipy.stats import chi2, ncx2

    cell = pooled({text: samples * chance for text, chance in right.items()}, least)
    off: defaultdict[str, float] = defaultdict(float)
    mass: defaultdict[str, float] = defaultdict(float)
    for text, chance in right.items():
        off[cell[text]] += wrong.get(text, 0) - chance
        mass[cell[text]] += chance
    apart = samples * sum(off[name] ** 2 / mass[name] for name in mass)  # the statistic's noncentrality
    return float(ncx2.sf(chi2.isf(level, len(mass) - 1), len(mass) - 1, apart))


# --- models of a text -------------------------------------------------------------------------------------------------


@cache
def sonnets() -> str:
    """Shakespeare's 154 sonnets, an empty line between two."""
    return (DATA / "shakespeare.txt").read_text("utf8")


class Ngrams:
    """A model of characters: what followed the last `order` ones in a text, mixed with what followed fewer of them.

    A context weighs as much as it was seen, shorter ones as much as different characters followed it (Witten and Bell).
    """

    def __init__(self, text: str, order: int):
        self.order, self.characters = order, len(text)
        self.counts: dict[str, Counter] = defaultdict(Counter)
        for length in range(1, order + 2):
            for seen, times in Counter(text[n : n + length] for n in range(len(text) - length + 1)).items():
                self.counts[seen[:-1]][seen[-1]] = times
        self._known: dict[str, dict[str, float]] = {}

    def __call__(self, prefix: str) -> dict[str, float]:
        """The distribution of the next character, the likeliest first."""
        context = prefix[max(0, len(prefix) - self.order) :]
        while context not in self.counts:
            context = context[1:]
        if context not in self._known:
            self._known[context] = dict(sorted(self._mixed(context).items(), key=lambda row: -row[1]))
        return self._known[context]

    def _mixed(self, context: str) -> dict[str, float]:
        seen = self.counts[context]
        shorter = self(context[1:]) if context else dict.fromkeys(self.counts[""], 1 / len(self.counts[""]))
        weight, whole = len(seen), seen.total() + len(seen)
        return {token: (seen[token] + weight * chance) / whole for token, chance in shorter.items()}

    def __repr__(self) -> str:
        return f"<a model of {self.characters:,} characters that looks at the last {self.order}>"


@cache
def ngrams(order: int) -> Ngrams:
    """The model of the sonnets that looks at the last `order` characters."""
    return Ngrams(sonnets(), order)
