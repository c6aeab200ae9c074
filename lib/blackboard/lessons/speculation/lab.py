"""The lab of the speculation lesson: a rule that leaves the text as it was, its yield, and how many guesses pay."""

from __future__ import annotations

import random
from typing import Any

from blackboard.catalogue import chip, measurement, model
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial
from blackboard.lab_values import count, same, shown
from blackboard.lessons.pricing.equations import memory_ratio_of
from blackboard.lessons.speculation import equations as eq
from blackboard.lessons.speculation.lab_steps import KEEP, OUTCOME, REPLACE, largest_gap

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
    off = largest_gap(outcome, TARGET)
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
