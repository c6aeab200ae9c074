"""The lab of the speculation lesson: a rule that leaves the text as it was, its yield, and how many guesses pay."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

from blackboard.catalogue import chip, measurement, model
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial
from blackboard.lab_values import count, same, shown
from blackboard.lessons.pricing.equations import memory_ratio_of
from blackboard.lessons.speculation import equations as eq
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


def _largest_gap(outcome: dict, target: dict) -> float:
    return max(abs(outcome.get(token, 0) - chance) for token, chance in target.items())


def _what_is_proved(trials: Sequence[Trial]) -> str:
    """The result of the proof, over all cases."""
    proofs = [trial for trial in trials if _by_the_rules(trial)]
    others = [trial for trial in trials if not _by_the_rules(trial)]
    off = max(sys.float_info.epsilon, *(_largest_gap(trial.got, trial.args[1]) for trial in proofs))
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

# --- tokens of a round ------------------------------------------------------------------------------------------------


def tokens_per_round(acceptance, drafted):
    """How many tokens a round yields on average: the guesses before the first refusal, and one of the target's own.

    acceptance  chance that a guess is accepted, given that all before it were
    drafted     how many tokens are guessed in a round
    """
    return sum(acceptance**place for place in range(drafted + 1))


def _drafts(rng: random.Random) -> tuple:
    return rng.choice([0.0, 0.5, 0.6, 0.8, 0.9, 1.0]), rng.randint(0, 6)


def _no_division(trial: Trial) -> str | None:
    acceptance, drafted = trial.args
    if not trial.error:
        return None
    if acceptance != 1:
        return f"Your code divides by zero. Expected {shown(trial.want)}."
    return (
        "Your formula divides by 1 - acceptance, which is 0 here. Where every guess is accepted, a round yields all its"
        f" guesses and one token more: {drafted + 1}."
    )


def _one_at_least(trial: Trial) -> str | None:
    drafted = trial.args[1]
    fine = trial.error or 1 - 1e-9 <= trial.got <= drafted + 1 + 1e-9
    most = f"up to {count(drafted, 'guess', 'es')} more" if drafted else "without guesses nothing more"
    return None if fine else f"A round yields one token of the target's own in any case, and {most}."


def _one_guess(trial: Trial) -> str | None:
    acceptance, drafted = trial.args
    fine = trial.error or drafted != 1 or abs(trial.got - 1 - acceptance) < 1e-9
    return (
        None if fine else f"One guess yields a second token with the chance {acceptance:g}: {1 + acceptance:g} in all."
    )


def _all_before(trial: Trial) -> str | None:
    acceptance, drafted = trial.args
    if trial.error or same(trial.got, trial.want):
        return None
    chances = " + ".join(["1", *(f"{acceptance**place:.4g}" for place in range(1, drafted + 1))])
    return f"A guess counts only if it and all before it are accepted: {chances} = {shown(trial.want)}."


def _each_for_itself(acceptance, drafted):
    return 1 + acceptance * drafted


def _guesses_only(acceptance, drafted):
    return sum(acceptance**place for place in range(1, drafted + 1))


def _all_pass(acceptance, drafted):
    return 1 + drafted * acceptance**drafted


def _endless(acceptance, drafted):
    return 1 / (1 - acceptance)


def _closed_form(acceptance, drafted):
    return (1 - acceptance ** (drafted + 1)) / (1 - acceptance)


TOKENS = Step(
    "Tokens of a round",
    "Work out how many tokens a round of guesses yields on average.",
    tokens_per_round,
    "tokens_per_round(0.8, 4)",
    _drafts,
    (_one_at_least, _one_guess, _all_before, _no_division),
    {
        _each_for_itself: _all_before,
        _guesses_only: _one_at_least,
        _all_pass: _all_before,
        _endless: _one_at_least,
        _closed_form: _no_division,
    },
    (
        "The round has a second token with the chance a, a third one with a × a, and so on.",
        "Add `acceptance**place` for the places 0 to `drafted`.",
    ),
    raises=(ZeroDivisionError,),
    extreme=lambda acceptance, drafted: acceptance in (0, 1) or drafted == 0,
)

# --- speed-up ---------------------------------------------------------------------------------------------------------


def speedup(drafted, acceptance, draft_ratio, memory_ratio):
    """Tokens per second with guesses, divided by those without: tokens of a round / time of a round in plain steps.

    A round is `drafted` steps of the draft and one pass that computes drafted + 1 tokens per sequence, but loads memory
    once. A step or pass takes as long as the slower of compute and memory. Let compute of one token take 1: with a
    memory_ratio of 3, a plain step takes max(1, 3) = 3, and a pass of 5 tokens max(5, 3) = 5.

    draft_ratio   time of one draft step / time of a plain step
    memory_ratio  memory time of a plain step / its compute time
    """
    check = max(drafted + 1, memory_ratio) / max(1, memory_ratio)
    return tokens_per_round(acceptance, drafted) / (drafted * draft_ratio + check)


def _loads(rng: random.Random) -> tuple:
    return (
        rng.randint(0, 6),
        rng.choice([0.5, 0.6, 0.8, 0.9]),
        rng.choice([0, 0.05, 0.1]),
        rng.choice([0.5, 1, 2, 4, 20]),
    )


def _no_guess(trial: Trial) -> str | None:
    fine = trial.args[0] or abs(trial.got - 1) < 1e-9
    return None if fine else "Without guesses a round is a plain step, so the speed-up is 1."


def _busy_loses(trial: Trial) -> str | None:
    fine = trial.args[3] > 1 or trial.got <= 1 + 1e-9
    return None if fine else "If a plain step waits for compute (memory_ratio up to 1), guesses can only slow it down."


def _at_most_tokens(trial: Trial) -> str | None:
    drafted, acceptance, *_ = trial.args
    most = tokens_per_round(acceptance, drafted)
    return None if trial.got <= most + 1e-9 else f"A round yields {most:.4g} tokens and takes a plain step or longer."


def _round_time(trial: Trial) -> str | None:
    drafted, acceptance, draft_ratio, ratio = trial.args
    if same(trial.got, trial.want):
        return None
    check = max(drafted + 1, ratio) / max(1, ratio)
    return (
        f"The draft takes {drafted} × {draft_ratio} = {drafted * draft_ratio:.4g} plain steps, and the pass"
        f" {max(drafted + 1, ratio)} / {max(1, ratio)} = {check:.4g}. A round yields"
        f" {tokens_per_round(acceptance, drafted):.4g} tokens. Expected {shown(trial.want)}."
    )


def _check_is_free(drafted, acceptance, draft_ratio, memory_ratio):
    return tokens_per_round(acceptance, drafted) / (drafted * draft_ratio + 1)


def _draft_is_free(drafted, acceptance, draft_ratio, memory_ratio):
    return tokens_per_round(acceptance, drafted) * max(1, memory_ratio) / max(drafted + 1, memory_ratio)


def _guesses_without_last(drafted, acceptance, draft_ratio, memory_ratio):
    check = max(drafted, memory_ratio, 1) / max(1, memory_ratio)
    return tokens_per_round(acceptance, drafted) / (drafted * draft_ratio + check)


def _adds_memory(drafted, acceptance, draft_ratio, memory_ratio):
    check = (drafted + 1 + memory_ratio) / (1 + memory_ratio)
    return tokens_per_round(acceptance, drafted) / (drafted * draft_ratio + check)


def _adds_memory_to_pass(drafted, acceptance, draft_ratio, memory_ratio):
    check = (drafted + 1 + memory_ratio) / max(1, memory_ratio)
    return tokens_per_round(acceptance, drafted) / (drafted * draft_ratio + check)


def _check_not_in_steps(drafted, acceptance, draft_ratio, memory_ratio):
    return tokens_per_round(acceptance, drafted) / (drafted * draft_ratio + max(drafted + 1, memory_ratio))


SLOWER = "You add compute and memory time. Both run at once, so a step or pass takes as long as the slower: `max`."

SPEEDUP = Step(
    "What a round gains under load",
    "Work out whether a round is worth its time, when a larger batch makes the extra tokens cost more.",
    speedup,
    "speedup(4, 0.8, 0.05, 3)",
    _loads,
    (_no_guess, _busy_loses, _at_most_tokens, _round_time),
    {
        _check_is_free: _busy_loses,
        _draft_is_free: _round_time,
        _guesses_without_last: _busy_loses,
        _check_not_in_steps: _no_guess,
        _adds_memory: SLOWER,
        _adds_memory_to_pass: SLOWER,
    },
    (
        "With compute of one token as 1, a plain step takes max(1, memory_ratio). How long does the pass take?",
        "The round takes drafted × draft_ratio + max(drafted + 1, memory_ratio) / max(1, memory_ratio) plain steps.",
    ),
)

# --- the best number of guesses ---------------------------------------------------------------------------------------


def best_drafted(acceptance, draft_ratio, memory_ratio, most):
    """The number of guesses, from 0 to `most`, with the largest speed-up at this load; 0 where guessing does not pay.

    The other arguments are those of `speedup`.
    """
    return max(range(most + 1), key=lambda drafted: speedup(drafted, acceptance, draft_ratio, memory_ratio))


def _choices(rng: random.Random) -> tuple:
    acceptance, draft_ratio = rng.choice([0.5, 0.6, 0.8, 0.9]), rng.choice([0.05, 0.1, 0.3])
    return acceptance, draft_ratio, rng.choice([0.5, 1.5, 3, 20]), rng.randint(0, 8)


def _in_range(trial: Trial) -> str | None:
    most = trial.args[3]
    return None if trial.got in range(most + 1) else f"Return a whole number of guesses from 0 to {most}."


def _none_better(trial: Trial) -> str | None:
    *load, most = trial.args
    gains = [speedup(drafted, *load) for drafted in range(most + 1)]
    best = gains.index(max(gains))
    if gains[trial.got] >= gains[best] - 1e-9:
        return None
    return f"The speed-up with {trial.got} is {gains[trial.got]:.4g}, but with {best} it is {gains[best]:.4g}."


def _most_tokens(acceptance, draft_ratio, memory_ratio, most):
    return most


def _one_or_more(acceptance, draft_ratio, memory_ratio, most):
    some = range(1, max(most, 1) + 1)
    return max(some, key=lambda drafted: speedup(drafted, acceptance, draft_ratio, memory_ratio))


def _never_most(acceptance, draft_ratio, memory_ratio, most):
    return best_drafted(acceptance, draft_ratio, memory_ratio, max(most - 1, 0))


def _the_gain(acceptance, draft_ratio, memory_ratio, most):
    return max(speedup(drafted, acceptance, draft_ratio, memory_ratio) for drafted in range(most + 1))


def _as_if_idle(acceptance, draft_ratio, memory_ratio, most):
    return max(range(most + 1), key=lambda drafted: speedup(drafted, acceptance, draft_ratio, 1000))


BEST = Step(
    "The best number of guesses",
    "Choose how many tokens to guess at a given load, and when not to guess at all.",
    best_drafted,
    "best_drafted(0.8, 0.05, 3, 8)",
    _choices,
    (_in_range, _none_better),
    {
        _most_tokens: _none_better,
        _one_or_more: _none_better,
        _never_most: _none_better,
        _the_gain: _in_range,
        _as_if_idle: _none_better,
    },
    (
        "Try every number from 0 to `most`, and compare their speed-ups.",
        "`max(range(most + 1), key=...)` returns the number for which the key is largest.",
    ),
    extreme=lambda acceptance, draft_ratio, memory_ratio, most: most == 0,
)

# --- the chart --------------------------------------------------------------------------------------------------------

DRAFT, TARGET = {"a": 0.4, "b": 0.2, "c": 0.4}, {"a": 0.5, "b": 0.3, "c": 0.2}
DRAFT_RATIO, CONTEXT, MOST = 0.05, 1000, 8
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def _memory_ratio(batch: float) -> float:
    case = model("llama-3.1-8b").symbols("bf16") | chip("h100-sxm").symbols("bf16")
    return float(memory_ratio_of(case, batch=batch, context=CONTEXT))


def finish(own: Any) -> dict[str, Any]:
    """Speed-up by batch: the reader's, with as many guesses as pay and with three; the lesson's; and a measured one."""
    acceptance = sum(chance * own.keep_chance(guess, DRAFT, TARGET) for guess, chance in DRAFT.items())
    outcome = own.round_outcome(DRAFT, TARGET, own.keep_chance, own.replacement)
    off = _largest_gap(outcome, TARGET)
    proved = "keep the text's distribution" if off < 1e-9 else f"change the text's chances by up to {off:.2g}"
    ratios = [(batch, _memory_ratio(batch)) for batch in BATCHES]
    gain = lambda drafted, r: own.speedup(drafted, acceptance, DRAFT_RATIO, r)
    best = [(batch, own.best_drafted(acceptance, DRAFT_RATIO, r, MOST), r) for batch, r in ratios]
    course = [
        (batch, eq.speedup(drafted=3, acceptance=0.8, draft_ratio=DRAFT_RATIO, memory_ratio=r)) for batch, r in ratios
    ]
    alone = gain(best[0][1], ratios[0][1])
    runs = measurement("speculation_by_batch").records(engine="SGLang", draft="EAGLE-3")
    return lab_chart(
        f"With your best number of guesses, one user of Llama 3.1 8B on an H100 gets tokens {alone:.1f} times as fast"
        f"\nYour rules {proved}",
        "batch (sequences)",
        "tokens per second, with guesses / without",
        {
            f"your best number of guesses, {MOST} at most (on the line)": Series(
                [(batch, gain(drafted, r)) for batch, drafted, r in best],
                labels=[str(drafted) for _, drafted, _ in best],
            ),
            "your 3 guesses": Series([(batch, gain(3, r)) for batch, r in ratios]),
            "the lesson's formula, 3 guesses": Series(course, "point"),
            "measured with EAGLE-3, 3 guesses": Series([(run["batch"], run["speedup"]) for run in runs], "point"),
            "no gain": Series([(batch, 1) for batch in (BATCHES[0], BATCHES[-1])], "limit"),
        },
        log_x=True,
    )


LAB = Lab(
    "Build speculative decoding",
    "You write the rule that keeps or replaces a guess, prove by enumeration that it leaves the text's distribution as"
    " it was, and find how many guesses pay at each load.",
    (KEEP, REPLACE, OUTCOME, TOKENS, SPEEDUP, BEST),
    finish,
    "Your best number of guesses falls as the batch grows, and the gain with it. It is never more than 8, because you"
    " try no more. The measured gain is smaller and falls sooner: late guesses of a real draft are accepted less often,"
    " and compute and memory traffic do not overlap perfectly.",
)
