"""The lab of the sparsity lesson: build a router, count what it touches, and find what experts are worth."""

from __future__ import annotations

import random
from typing import Any

from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial, agrees
from blackboard.lessons.sparsity import equations as eq

# --- choose -----------------------------------------------------------------------------------------------------------


def choose_experts(scores, k):
    """The k experts that a token is sent to: the positions of its k largest scores, the largest first.

    scores  a list of numbers, one for each expert; all are different
    k       how many experts a token uses
    """
    order = sorted(range(len(scores)), key=lambda expert: scores[expert], reverse=True)
    return order[:k]


def _as_many(trial: Trial) -> str | None:
    k = trial.args[1]
    got = trial.got if isinstance(trial.got, (list, tuple)) else None
    if got is None:
        return "Return a list of positions."
    return None if len(got) == k else f"A token uses {k} experts; you chose {len(got)}."


def _different(trial: Trial) -> str | None:
    return None if len(set(trial.got)) == len(trial.got) else "A token goes to each expert at most once."


def _positions(trial: Trial) -> str | None:
    experts = range(len(trial.args[0]))
    wrong = [each for each in trial.got if each not in experts]
    return f"{wrong[0]!r} is no position in the list: return positions, not scores." if wrong else None


def _untouched(trial: Trial) -> str | None:
    return None if trial.after == trial.args else "Your version changed the list of scores: sort a copy."


_largest = agrees("Those are the positions of the largest scores, the largest first.")


def _scores_not_positions(scores, k):
    return sorted(scores, reverse=True)[:k]


def _smallest(scores, k):
    return sorted(range(len(scores)), key=lambda expert: scores[expert])[:k]


def _one_short(scores, k):
    return sorted(range(len(scores)), key=lambda expert: -scores[expert])[: k - 1]


def _best_again(scores, k):
    return [scores.index(max(scores))] * k


def _sorts_in_place(scores, k):
    before = list(scores)
    scores.sort(reverse=True)
    return [before.index(score) for score in scores[:k]]


def _tokens(rng: random.Random) -> tuple:
    experts = rng.randint(2, 8)
    return [round(rng.uniform(-2, 2), 2) + 0.0001 * n for n in range(experts)], rng.randint(1, experts)


CHOOSE = Step(
    "Choose the experts of a token",
    choose_experts,
    "choose_experts([0.1, 0.7, 0.4, 0.2], 2)",
    _tokens,
    (_untouched, _as_many, _positions, _different, _largest),
    {
        _scores_not_positions: _positions,
        _smallest: _largest,
        _one_short: _as_many,
        _best_again: _different,
        _sorts_in_place: _untouched,
    },
    (
        "You need positions, so sort `range(len(scores))` rather than the scores.",
        "`sorted(range(len(scores)), key=lambda expert: scores[expert], reverse=True)` puts the best first.",
    ),
)

# --- count ------------------------------------------------------------------------------------------------------------


def count_touched(tokens, k):
    """How many different experts a batch touches: those that at least one of its tokens chose.

    tokens  a list of score lists, one for each token of the batch
    k       how many experts a token uses
    """
    return len({expert for scores in tokens for expert in choose_experts(scores, k)})


def _batches(rng: random.Random) -> tuple:
    experts = rng.randint(2, 6)
    tokens = [[round(rng.random(), 3) + 0.0001 * n for n in range(experts)] for _ in range(rng.randint(1, 5))]
    return tokens, rng.randint(1, experts)


def _within(trial: Trial) -> str | None:
    experts = len(trial.args[0][0])
    got = trial.got
    return None if got <= experts else f"There are only {experts} experts: count each of them once."


_distinct = agrees("That many different experts were chosen by some token.")


def _visits(tokens, k):
    return sum(len(choose_experts(scores, k)) for scores in tokens)


def _per_token(tokens, k):
    return len(choose_experts(tokens[0], k))


def _chosen_by_all(tokens, k):
    return len(set.intersection(*(set(choose_experts(scores, k)) for scores in tokens)))


def _only_best(tokens, k):
    return len({choose_experts(scores, k)[0] for scores in tokens})


COUNT = Step(
    "Count the experts that a batch touches",
    count_touched,
    "count_touched([[0.1, 0.7, 0.4], [0.3, 0.9, 0.2]], 2)",
    _batches,
    (_within, _distinct),
    {_visits: _within, _per_token: _distinct, _chosen_by_all: _distinct, _only_best: _distinct},
    (
        "A `set` keeps each expert once.",
        "Add `choose_experts(scores, k)` of every token to one set, then take its `len`.",
    ),
)

# --- expect -----------------------------------------------------------------------------------------------------------


def touched_share(batch, experts, k):
    """The share of the experts that a batch touches on average, between 0 and 1.

    Tokens choose independently of each other, and all experts are equally likely. An expert is left alone only if every
    token of the batch leaves it alone.
    """
    return 1 - (1 - k / experts) ** batch


def _shares(rng: random.Random) -> tuple:
    experts = rng.choice([8, 16, 64, 128, 256])
    return rng.choice([1, 2, 4, 16, 64, 256, 1024]), experts, rng.randint(1, experts // 2)


def _a_share(trial: Trial) -> str | None:
    return None if 0 <= trial.got <= 1 else "A share lies between 0 and 1."


def _one_token(trial: Trial) -> str | None:
    batch, experts, k = trial.args
    fine = batch > 1 or abs(trial.got - k / experts) < 1e-9
    return None if fine else f"One token touches {k} of {experts} experts: the share is {k / experts:.4g}."


_left_alone = agrees("Ask how likely it is that all tokens leave an expert alone; the rest is the share.")


def _as_if_apart(batch, experts, k):
    return batch * k / experts


def _capped(batch, experts, k):
    return min(1, batch * k / experts)


def _left(batch, experts, k):
    return (1 - k / experts) ** batch


def _one_choice(batch, experts, k):
    return 1 - (1 - 1 / experts) ** (batch + k - 1)


EXPECT = Step(
    "Expect it without counting",
    touched_share,
    "touched_share(32, 256, 8)",
    _shares,
    (_a_share, _one_token, _left_alone),
    {_as_if_apart: _a_share, _capped: _left_alone, _left: _one_token, _one_choice: _one_token},
    (
        "One token leaves a given expert alone with probability 1 - k/experts.",
        "A batch of tokens leaves it alone with that probability to the power of the batch.",
    ),
)

# --- weigh ------------------------------------------------------------------------------------------------------------


def expert_batch(hardware_constant, experts, k):
    """The batch from which on an average expert has as many tokens as the hardware constant.

    hardware_constant  multiply-adds that a chip does while it reads one parameter, for instance 300
    """
    return hardware_constant * experts / k


def _machines(rng: random.Random) -> tuple:
    experts = rng.choice([8, 64, 128, 256, 384])
    return rng.choice([150, 200, 295, 300, 562]), experts, rng.randint(1, min(8, experts))


def _dense(trial: Trial) -> str | None:
    constant, experts, k = trial.args
    fine = experts != k or abs(trial.got - constant) < 1e-9 * constant
    return None if fine else f"Where every token uses every expert the batch is the hardware constant, {constant}."


def _larger(trial: Trial) -> str | None:
    constant, experts, k = trial.args
    fine = trial.got >= constant * (1 - 1e-9)
    return None if fine else "An expert sees only part of the batch, so the batch must be larger than the constant."


_spread = agrees("An expert sees k of every `experts` tokens.")


def _other_way(hardware_constant, experts, k):
    return hardware_constant * k / experts


def _ignores_k(hardware_constant, experts, k):
    return hardware_constant * experts


def _ignores_experts(hardware_constant, experts, k):
    return hardware_constant * k


def _unused(hardware_constant, experts, k):
    return hardware_constant * (experts - k + 1)


WEIGH = Step(
    "The batch that a mixture needs",
    expert_batch,
    "expert_batch(300, 256, 8)",
    _machines,
    (_larger, _dense, _spread),
    {_other_way: _larger, _ignores_k: _dense, _ignores_experts: _dense, _unused: _spread},
    (
        "How many tokens does one expert see on average, if a batch has B of them?",
        "Solve B × k / experts = constant for B.",
    ),
)

# --- the chart --------------------------------------------------------------------------------------------------------

EXPERTS, TOP_K, BATCHES = 256, 8, (1, 2, 4, 8, 16, 32, 64, 128, 256)


def finish(own: Any) -> dict[str, Any]:
    """Touched experts by batch: counted with the reader's router, and by the reader's and the course's formula."""
    rng = random.Random(0)
    token = lambda: [rng.random() for _ in range(EXPERTS)]
    counted = [(batch, own.count_touched([token() for _ in range(batch)], TOP_K) / EXPERTS) for batch in BATCHES]
    course = [(batch, eq.coverage(batch=batch, experts=EXPERTS, top_k=TOP_K)) for batch in BATCHES]
    return lab_chart(
        "Share of 256 experts that a batch touches",
        "batch (sequences)",
        "share touched",
        {
            "your formula": Series([(batch, own.touched_share(batch, EXPERTS, TOP_K)) for batch in BATCHES]),
            "your router, counted": Series(counted, "point"),
            "the lesson's formula": Series(course, "point"),
        },
        log_x=True,
    )


LAB = Lab(
    "Build a router",
    "You write the router of a mixture-of-experts layer, count which experts a batch touches, and predict the count"
    " without routing a single token.",
    (CHOOSE, COUNT, EXPECT, WEIGH),
    finish,
    "Your router's points scatter around your formula. A batch of 64 already touches nearly every expert, which is why"
    " a step of a busy server reads all of them.",
)
