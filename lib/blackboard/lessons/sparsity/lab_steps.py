"""The first steps of the sparsity lab: choose experts, and count those that a batch touches."""

from __future__ import annotations

import random

from blackboard.lab import Step, Trial, agrees
from blackboard.lab_values import count

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


def _largest_first(trial: Trial) -> str | None:
    fine = list(trial.got) == trial.want
    return None if fine else "These are the right experts in another order: the one with the largest score comes first."


def _largest(trial: Trial) -> str | None:
    scores = trial.args[0]
    if sorted(trial.got) == sorted(trial.want):
        return None
    wrong = next(expert for expert in trial.got if expert not in trial.want)
    better = next(expert for expert in trial.want if expert not in trial.got)
    return (
        f"You chose expert {wrong} with the score {scores[wrong]:g}, but expert {better} has a larger one,"
        f" {scores[better]:g}. Expected {trial.want}."
    )


def _scores_not_positions(scores, k):
    return sorted(scores, reverse=True)[:k]


def _smallest(scores, k):
    return sorted(range(len(scores)), key=lambda expert: scores[expert])[:k]


def _right_but_ascending(scores, k):
    return choose_experts(scores, k)[::-1]


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
    "Write the router itself: from a token's scores to the experts that it is sent to.",
    choose_experts,
    "choose_experts([0.1, 0.7, 0.4, 0.2], 2)",
    _tokens,
    (_untouched, _as_many, _positions, _different, _largest, _largest_first),
    {
        _scores_not_positions: _positions,
        _smallest: _largest,
        _right_but_ascending: _largest_first,
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
    return (
        None if got <= experts else f"There are only {experts} experts: count each once, however many tokens chose it."
    )


def _chosen(trial: Trial) -> str:
    """What each token chooses, in words."""
    tokens, k = trial.args
    each = ", ".join(str(choose_experts(scores, k)) for scores in tokens)
    return f"The tokens choose {each}" if len(tokens) > 1 else f"The token chooses {each}"


def _all_tokens(trial: Trial) -> str | None:
    k = trial.args[1]
    if trial.got == trial.want:
        return None
    return (
        f"{_chosen(trial)}: together {trial.want} different experts. {k} is what one token chooses: fill one set with"
        " the experts of all tokens, and make it before the loop."
    )


def _distinct(trial: Trial) -> str | None:
    fine = trial.got in (trial.want, trial.args[1])  # the same number for every batch is left to the last rule
    return None if fine else f"{_chosen(trial)}: {count(trial.want, 'different expert')}, not {trial.got}."


def _visits(tokens, k):
    return sum(len(choose_experts(scores, k)) for scores in tokens)


def _per_token(tokens, k):
    return len(choose_experts(tokens[0], k))


def _new_set_each(tokens, k):
    for scores in tokens:
        touched = set()
        touched.update(choose_experts(scores, k))
    return len(touched)


def _without_the_first(tokens, k):
    return len({expert for scores in tokens[1:] for expert in choose_experts(scores, k)})


def _chosen_by_all(tokens, k):
    return len(set.intersection(*(set(choose_experts(scores, k)) for scores in tokens)))


def _only_best(tokens, k):
    return len({choose_experts(scores, k)[0] for scores in tokens})


COUNT = Step(
    "Count the experts that a batch touches",
    "Count the experts whose weights a batch makes the GPU load.",
    count_touched,
    "count_touched([[0.1, 0.7, 0.4, 0.2], [0.3, 0.9, 0.2, 0.1]], 2)",
    _batches,
    (_within, _distinct, _all_tokens),
    {
        _visits: _within,
        _per_token: _all_tokens,
        _new_set_each: _all_tokens,
        _without_the_first: _distinct,
        _chosen_by_all: _distinct,
        _only_best: _distinct,
    },
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
    "Predict that count by a formula, without routing a single token.",
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
