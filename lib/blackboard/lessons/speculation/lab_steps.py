"""The first steps of the speculation lab: keep or replace a guess, and every way a round can end."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

from blackboard.lab import Step, Trial
from blackboard.lab_values import same, shown
from blackboard.text import superscript

# --- keep -------------------------------------------------------------------------------------------------------------


def keep_chance(guess, draft, target):
    """The chance to keep a guess, so that no token comes more often than the target would write it.

    guess   the token that was drawn from the draft's distribution
    draft   probabilities by token, a dictionary
    target  the same of the target
    """
    return min(1, target[guess] / draft[guess])


def _probabilities(rng: random.Random, tokens: str, least: int) -> dict[str, float]:
    """Tenths that add up to 1."""
    tenths = [least] * len(tokens)
    for _ in range(10 - sum(tenths)):
        tenths[rng.randrange(len(tokens))] += 1
    return {token: part / 10 for token, part in zip(tokens, tenths)}


def _two(rng: random.Random, least: int = 0) -> tuple:
    """Draft and target, which differ; no token of the target has less than `least` tenths."""
    tokens = rng.choice(["ab", "abc"])
    draft = _probabilities(rng, tokens, 1)
    target = _probabilities(rng, tokens, least)
    while target == draft:
        target = _probabilities(rng, tokens, least)
    return draft, target


def _guesses(rng: random.Random) -> tuple:
    draft, target = _two(rng, 1)  # a ratio turned round is to meet a check, and not a division by zero
    return rng.choice(sorted(draft)), draft, target


def _not_drawn(trial: Trial) -> str | None:
    if not isinstance(trial.got, bool):
        return None
    return f"You returned {trial.got}: draw nothing. Return the chance itself, here {shown(trial.want)}."


def _a_chance(trial: Trial) -> str | None:
    return None if 0 <= trial.got <= 1 else "A chance lies between 0 and 1."


def _kept_if_rare(trial: Trial) -> str | None:
    guess, draft, target = trial.args
    if target[guess] < draft[guess] or abs(trial.got - 1) < 1e-9:
        return None
    return f"The draft proposes {guess!r} no more often than the target writes it, so always keep it."


def _thinned(trial: Trial) -> str | None:
    guess, draft, target = trial.args
    comes = draft[guess] * trial.got
    if same(trial.got, trial.want):
        return None
    return (
        f"{guess!r} is drawn with the chance {draft[guess]:g} and kept with {trial.got:.4g}, so it comes with"
        f" {comes:.4g}, but the target writes it with {target[guess]:g}. Expected {shown(trial.want)}."
    )


def _draws(guess, draft, target):
    return random.random() < target[guess] / draft[guess]


def _uncapped(guess, draft, target):
    return target[guess] / draft[guess]


def _other_way(guess, draft, target):
    return min(1, draft[guess] / target[guess])


def _target_alone(guess, draft, target):
    return target[guess]


def _all_or_nothing(guess, draft, target):
    return 1 if target[guess] >= draft[guess] else 0


def _always(guess, draft, target):
    return 1


KEEP = Step(
    "How often to keep a guess",
    "Write the first half of speculative decoding's rule: the chance with which a guess of the draft model is kept.",
    keep_chance,
    'keep_chance("a", {"a": 0.5, "b": 0.5}, {"a": 0.3, "b": 0.7})',
    _guesses,
    (_not_drawn, _a_chance, _kept_if_rare, _thinned),
    {
        _uncapped: _a_chance,
        _other_way: _kept_if_rare,
        _target_alone: _kept_if_rare,
        _all_or_nothing: _thinned,
        _always: _thinned,
        _draws: _not_drawn,
    },
    (
        "If the draft proposes a token twice as often as the target writes it, keep every second one.",
        "The chance is target / draft of that token, but never more than 1.",
    ),
)

# --- replace ----------------------------------------------------------------------------------------------------------


def replacement(draft, target):
    """The distribution that replaces a refused guess: what the draft proposes too rarely, scaled to a sum of 1.

    draft, target  probabilities by token, as in `keep_chance`; they differ
    """
    missing = {token: max(0, target[token] - draft[token]) for token in target}
    total = sum(missing.values())
    return {token: chance / total for token, chance in missing.items()}


def _sums_to_one(trial: Trial) -> str | None:
    total = sum(trial.got.values())
    return None if abs(total - 1) < 1e-9 else f"The chances must add up to 1; yours add up to {total:.4g}."


def _only_rare(trial: Trial) -> str | None:
    draft, target = trial.args
    for token, chance in trial.got.items():
        if chance > 1e-9 and draft[token] >= target[token]:
            return f"{token!r} comes often enough already as a kept guess, so it must not be a replacement."
    return None


def _same_chances(one: dict, two: dict) -> bool:
    """True where two distributions agree; a token that is left out has no chance."""
    return all(abs(one.get(token, 0) - two.get(token, 0)) < 1e-9 for token in {**one, **two})


def _by_gap(trial: Trial) -> str | None:
    if _same_chances(trial.got, trial.want):
        return None
    return f"Expected {shown(trial.want)}: each token in proportion to target minus draft."


def _unscaled(draft, target):
    return {token: max(0, target[token] - draft[token]) for token in target}


def _from_target(draft, target):
    return target


def _all_gaps(draft, target):
    gaps = {token: abs(target[token] - draft[token]) for token in target}
    return {token: gap / sum(gaps.values()) for token, gap in gaps.items()}


def _rare_by_target(draft, target):
    rare = {token: chance for token, chance in target.items() if chance > draft[token]}
    return {token: chance / sum(rare.values()) for token, chance in rare.items()}


REPLACE = Step(
    "What replaces a refused guess",
    "Write the second half of the rule: what is drawn in place of a guess that was refused.",
    replacement,
    'replacement({"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.2, "b": 0.4, "c": 0.4})',
    _two,
    (_sums_to_one, _only_rare, _by_gap),
    {_unscaled: _sums_to_one, _from_target: _only_rare, _all_gaps: _only_rare, _rare_by_target: _by_gap},
    (
        "A kept guess brings token x with the chance min(draft, target). How far is that below the target's chance?",
        "Take `max(0, target - draft)` of each token, then divide by the sum of them all.",
    ),
)

# --- enumerate --------------------------------------------------------------------------------------------------------


def round_outcome(draft, target, keep, replace):
    """The chance of each token to be written after one guess, under any rule, by adding up all that can happen.

    draft, target  probabilities by token
    keep           a function as `keep_chance`: keep(guess, draft, target)
    replace        a function as `replacement`: replace(draft, target)
    """
    outcome = dict.fromkeys(target, 0)
    for guess, chance in draft.items():
        kept = chance * keep(guess, draft, target)
        outcome[guess] += kept
        for token, share in replace(draft, target).items():
            outcome[token] += (chance - kept) * share
    return outcome


class _Rule:
    """A function that is shown by its name."""

    def __init__(self, name: str, rule: Callable):
        self.name, self.rule = name, rule

    def __call__(self, *args: Any) -> Any:
        return self.rule(*args)

    def __repr__(self) -> str:
        return self.name


KEEPS = [_Rule("keep_chance", keep_chance), _Rule("keep_always", _always), _Rule("keep_by_target", _target_alone)]
REPLACES = [_Rule("replacement", replacement), _Rule("replace_from_target", _from_target)]


def _rules(rng: random.Random) -> tuple:
    right = rng.random() < 0.5
    return *_two(rng), *((KEEPS[0], REPLACES[0]) if right else (rng.choice(KEEPS), rng.choice(REPLACES)))


def _by_the_rules(trial: Trial) -> bool:
    """True for a trial with the rules of the first two steps."""
    return trial.args[2:] == (KEEPS[0], REPLACES[0])


def _kept_or_replaced(trial: Trial) -> str | None:
    draft, target, keep, _ = trial.args
    said = _sums_to_one(trial)
    refused = sum(chance * (1 - keep(guess, draft, target)) for guess, chance in draft.items())
    if said and abs(sum(trial.got.values()) + refused - 1) < 1e-9:
        return f"{said} The missing {refused:.4g} is the chance of a refusal, and a replacement is written then."
    return said and f"{said} A guess is kept, or refused with the chance {refused:.4g} in all, and then replaced."


def _target_exactly(trial: Trial) -> str | None:
    target = trial.args[1]
    fine = not _by_the_rules(trial) or _same_chances(trial.got, target)
    return None if fine else f"With these rules every token must come as often as from the target: {shown(target)}."


def _every_branch(trial: Trial) -> str | None:
    if _same_chances(trial.got, trial.want):
        return None
    return f"Expected {shown(trial.want)}. Add up each guess, kept and refused, under the rules that are given."


def largest_gap(outcome: dict, target: dict) -> float:
    return max(abs(outcome.get(token, 0) - chance) for token, chance in target.items())


def _what_is_proved(trials: Sequence[Trial]) -> str:
    """The result of the proof, over all cases."""
    proofs = [trial for trial in trials if _by_the_rules(trial)]
    others = [trial for trial in trials if not _by_the_rules(trial)]
    off = max(sys.float_info.epsilon, *(largest_gap(trial.got, trial.args[1]) for trial in proofs))
    changed = sum(not _same_chances(trial.got, trial.args[1]) for trial in others)
    return (
        f"With `keep_chance` and `replacement`, {len(proofs)} pairs of distributions all gave the target's, with"
        f" differences below 10{superscript(math.ceil(math.log10(off)))}, which is rounding. With other rules,"
        f" {changed} of {len(others)} did not."
    )


def _kept_only(draft, target, keep, replace):
    return {token: chance * keep(token, draft, target) for token, chance in draft.items()}


def _own_rules(draft, target, keep, replace):
    return round_outcome(draft, target, keep_chance, replacement)


def _own_keep(draft, target, keep, replace):
    return round_outcome(draft, target, keep_chance, replace)


def _own_replace(draft, target, keep, replace):
    return round_outcome(draft, target, keep, replacement)


def _replaced_by_itself(draft, target, keep, replace):
    outcome = {}
    for guess, chance in draft.items():
        kept = chance * keep(guess, draft, target)
        outcome[guess] = kept + (chance - kept) * replace(draft, target).get(guess, 0)
    return outcome


def _refused_twice(draft, target, keep, replace):
    outcome = _kept_only(draft, target, keep, replace)
    return {token: outcome[token] + replace(draft, target).get(token, 0) for token in outcome}


def _not_kept_by_guess(draft, target, keep, replace):
    outcome = {token: keep(token, draft, target) / len(draft) for token in draft}
    left = 1 - sum(outcome.values())
    return {token: outcome[token] + left * replace(draft, target).get(token, 0) for token in outcome}


OUTCOME = Step(
    "Prove it by enumeration",
    "Show that the two halves together write exactly the target's distribution, by adding up every case.",
    round_outcome,
    'round_outcome({"a": 0.5, "b": 0.5}, {"a": 0.3, "b": 0.7}, keep_chance, replacement)',
    _rules,
    (_kept_or_replaced, _target_exactly, _every_branch),
    {
        _kept_only: _kept_or_replaced,
        _own_rules: "Not every rule gives the target. Call the `keep` and `replace` that you are given, whatever they"
        " are.",
        _own_keep: "All your results are those of `keep_chance`. Call the `keep` that you are given, whatever it is.",
        _own_replace: "All your results are those of `replacement`. Call the `replace` that you are given, whatever it"
        " is.",
        _replaced_by_itself: "A refused guess may be replaced by any token, so its chance spreads over all tokens of"
        " `replace(draft, target)`, and not over the guess alone.",
        _refused_twice: _kept_or_replaced,
        _not_kept_by_guess: _target_exactly,
    },
    (
        "Go through all guesses. Each one comes with the draft's chance, and is then kept or refused.",
        "A refused guess spreads its chance over the tokens of `replace(draft, target)`.",
    ),
    proves=_what_is_proved,
)
