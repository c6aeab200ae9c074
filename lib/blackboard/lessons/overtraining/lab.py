"""The lab of the lesson on overtraining: count what training costs, find the size that is cheapest over a lifetime."""

from __future__ import annotations

import math
import random
from typing import Any

from blackboard.catalogue import measurement, scaling_law
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial, agrees
from blackboard.lab_values import shown
from blackboard.lessons.overtraining import equations as eq

_FIT = scaling_law("Besiroglu")
LAW: dict[str, Any] = {
    "floor": _FIT["loss_floor"],
    "size": (_FIT["loss_size"], _FIT["size_power"]),
    "data": (_FIT["loss_data"], _FIT["data_power"]),
}

# --- count a network --------------------------------------------------------------------------------------------------


def training_flops(widths, tokens):
    """FLOPs to train a network of plain matrices on some tokens, forward and backward.

    widths  numbers in the vector before each matrix and after the last: [8, 32, 4] has an 8 × 32 and a 32 × 4 matrix
    tokens  how many tokens it is trained on

    A token multiplies each matrix going forward. Going backward it multiplies twice: once for the gradient of the
    matrix, and once for the gradient of the vector before it, which the first matrix does not need. A product with a
    matrix of n numbers takes 2n FLOPs for each token.
    """
    sizes = [before * after for before, after in zip(widths, widths[1:])]
    forward = sum(2 * size for size in sizes)
    of_matrices = sum(2 * size for size in sizes)
    of_vectors = sum(2 * size for size in sizes[1:])
    return tokens * (forward + of_matrices + of_vectors)


def _networks(rng: random.Random) -> tuple:
    return [rng.choice([4, 8, 16, 32]) for _ in range(rng.randint(2, 4))], rng.choice([1, 10, 1000])


def _params(widths) -> int:
    return sum(before * after for before, after in zip(widths, widths[1:]))


def _at_most_six(trial: Trial) -> str | None:
    widths, tokens = trial.args
    most = 6 * _params(widths) * tokens
    fine = trial.got < most
    return None if fine else f"6ND would be {most:,}; the first matrix saves you one product, so you must be below."


def _backward(trial: Trial) -> str | None:
    widths, tokens = trial.args
    least = 4 * _params(widths) * tokens
    fine = trial.got >= least
    return None if fine else f"Forward and the gradients of the matrices alone take {least:,} FLOPs."


_products = agrees("Three products for each matrix, but two for the first, at 2 FLOPs a number.")


def _six(widths, tokens):
    return 6 * _params(widths) * tokens


def _forward_only(widths, tokens):
    return 2 * _params(widths) * tokens


def _one_flop(widths, tokens):
    return training_flops(widths, tokens) // 2


def _not_the_last(widths, tokens):
    return tokens * (6 * _params(widths) - 2 * widths[-2] * widths[-1])


def _no_vectors(widths, tokens):
    return 4 * _params(widths) * tokens + (len(widths) > 2) * 2 * tokens


COUNT = Step(
    "Count the FLOPs of training",
    "Count the FLOPs of training from the matrices of a network, and see where the usual factor of 6 comes from.",
    training_flops,
    "training_flops([8, 32, 4], 10)",
    _networks,
    (_at_most_six, _backward, _products),
    {
        _six: _at_most_six,
        _forward_only: _backward,
        _one_flop: _backward,
        _no_vectors: _products,
        _not_the_last: _products,
    },
    (
        "`zip(widths, widths[1:])` gives you the sides of each matrix.",
        "Sum 6 × before × after over all matrices, and take off 2 × before × after of the first.",
    ),
)

# --- a lifetime -------------------------------------------------------------------------------------------------------


def lifetime_flops(n_active, trained, served, eta):
    """FLOPs of a model over its life, at the rate of training: to train it on some tokens, and to generate others.

    n_active  active parameters
    trained   tokens of training, at 6 FLOPs for each parameter
    served    tokens that it generates, at 2 FLOPs for each parameter
    eta       MFU of generating divided by MFU of training: a FLOP of generating takes 1 / eta times as long
    """
    return 6 * n_active * trained + 2 * n_active * served / eta


def _lives(rng: random.Random) -> tuple:
    tokens = rng.choice([0, 2e12, 15e12]), rng.choice([0, 15e12, 100e12])
    return (rng.choice([8e9, 37e9, 70e9]), *tokens, rng.choice([0.2, 0.25, 0.5]))


def _training_only(trial: Trial) -> str | None:
    n_active, trained, served, _ = trial.args
    fine = served or abs(trial.got - 6 * n_active * trained) <= 1e-9 * trial.want
    return None if fine else f"A model that nobody uses costs its training, 6ND = {6 * n_active * trained:.3g}."


def _serving_only(trial: Trial) -> str | None:
    n_active, trained, served, eta = trial.args
    want = 2 * n_active * served / eta
    if trained or abs(trial.got - want) <= 1e-9 * trial.want:
        return None
    if trial.got < want:
        return (
            f"With training left out, generating takes 2 FLOPs for each parameter and token, which count {1 / eta:g}"
            " times each."
        )
    return f"With training left out, {served:.3g} tokens take 2 FLOPs for each parameter and token, divided by eta."


_both = agrees("Add 6 × parameters × trained tokens and 2 × parameters × served tokens ÷ eta.")


def _all_six(n_active, trained, served, eta):
    return 6 * n_active * (trained + served / eta)


def _all_two(n_active, trained, served, eta):
    return 2 * n_active * (trained + served / eta)


def _larger_one(n_active, trained, served, eta):
    return max(6 * n_active * trained, 2 * n_active * served / eta)


def _training_alone(n_active, trained, served, eta):
    return 6 * n_active * trained


def _multiplied(n_active, trained, served, eta):
    return 6 * n_active * trained + 2 * n_active * served * eta


def _no_eta(n_active, trained, served, eta):
    return 6 * n_active * trained + 2 * n_active * served


LIFE = Step(
    "What a model costs over its life",
    "Add what a model costs in training and what it costs in serving, in FLOPs of one kind.",
    lifetime_flops,
    "lifetime_flops(8e9, 15e12, 100e12, 0.25)",
    _lives,
    (_training_only, _serving_only, _both),
    {
        _all_six: _serving_only,
        _all_two: _training_only,
        _larger_one: _both,
        _training_alone: _serving_only,
        _multiplied: _serving_only,
        _no_eta: _serving_only,
    },
    (
        "Training and serving add up. Slow chips make a token dearer.",
        "6 × n_active × trained + 2 × n_active × served / eta.",
    ),
    extreme=lambda n_active, trained, served, eta: not (trained or served),
)

# --- tokens for a loss ------------------------------------------------------------------------------------------------


def tokens_needed(n_active, loss):
    """Training tokens with which a model of this size reaches a loss; `math.inf` where no amount of data suffices.

    `LAW` is given: the loss is LAW["floor"] + A / n_active ** a + B / tokens ** b, where A, a = LAW["size"] and
    B, b = LAW["data"].
    """
    A, a = LAW["size"]
    B, b = LAW["data"]
    left = loss - LAW["floor"] - A / n_active**a
    return (B / left) ** (1 / b) if left > 0 else math.inf


def _sizes(rng: random.Random) -> tuple:
    return rng.choice([1e8, 1e9, 8e9, 70e9, 400e9]), rng.choice([1.9, 2.0, 2.1, 2.5])


def _reached(n_active: float, tokens: float) -> float:
    (A, a), (B, b) = LAW["size"], LAW["data"]
    return LAW["floor"] + A / n_active**a + B / tokens**b


def _too_small(trial: Trial) -> str | None:
    fine = not math.isinf(trial.want) or (isinstance(trial.got, float) and math.isinf(trial.got))
    n_active, loss = trial.args
    (A, a) = LAW["size"]
    floor = LAW["floor"] + A / n_active**a
    return (
        None if fine else f"With all data of the world this size comes to {floor:.4g}, not to {loss}: return math.inf."
    )


NEAR = 0.02  # how far off the tokens of a search are that could be finer


def _reaches(trial: Trial) -> str | None:
    if math.isinf(trial.want):
        return None
    n_active, loss = trial.args
    if isinstance(trial.got, complex) or not trial.got > 0:
        return "Tokens are a positive number."
    found = _reached(n_active, trial.got)
    if abs(trial.got / trial.want - 1) < NEAR:
        return None
    return f"With {trial.got:.3g} tokens the law gives a loss of {found:.4g}, not {loss}."


def _close(trial: Trial) -> str | None:
    off = 0 if math.isinf(trial.want) else trial.got / trial.want - 1
    if abs(off) < 1e-3:
        return None
    way = "many" if off > 0 else "few"
    return f"Close: {abs(off):.1%} too {way} tokens. Solve the law for tokens, which gives them exactly."


def _forgot_floor(n_active, loss):
    (A, a), (B, b) = LAW["size"], LAW["data"]
    left = loss - A / n_active**a
    return (B / left) ** (1 / b) if tokens_needed(n_active, loss) < math.inf else math.inf


def _no_limit(n_active, loss):
    (A, a), (B, b) = LAW["size"], LAW["data"]
    return (B / abs(loss - LAW["floor"] - A / n_active**a)) ** (1 / b)


def _wrong_power(n_active, loss):
    (A, a), (B, b) = LAW["size"], LAW["data"]
    left = loss - LAW["floor"] - A / n_active**a
    return (B / left) ** b if left > 0 else math.inf


def _doubles(n_active, loss):
    if tokens_needed(n_active, loss) == math.inf:
        return math.inf
    tokens = 1e6
    while _reached(n_active, tokens) > loss:
        tokens *= 1.005
    return tokens


def _size_alone(n_active, loss):
    B, b = LAW["data"]
    return (B / (loss - LAW["floor"])) ** (1 / b) if tokens_needed(n_active, loss) < math.inf else math.inf


TOKENS = Step(
    "How many tokens reach a loss",
    "Solve a scaling law for the tokens that a model of a given size needs to reach a given loss.",
    tokens_needed,
    "tokens_needed(8e9, 2.1)",
    _sizes,
    (_too_small, _reaches, _close),
    {_forgot_floor: _reaches, _no_limit: _too_small, _wrong_power: _reaches, _size_alone: _reaches, _doubles: _close},
    (
        "Bring everything but the data's part to the other side: B / tokens ** b = loss - floor - A / n_active ** a.",
        "If what is left is not positive, no data suffices. Else tokens = (B / left) ** (1 / b).",
    ),
    extreme=lambda n_active, loss: tokens_needed(n_active, loss) == math.inf,
)

# --- the cheapest size ------------------------------------------------------------------------------------------------


def cheapest_size(loss, served, eta, sizes):
    """The size, of a list of sizes, that reaches a loss and costs the fewest FLOPs over its life.

    loss    loss to reach
    served  tokens that the model will generate
    eta     MFU of generating divided by MFU of training
    sizes   candidates, active parameters; at least one of them reaches the loss
    """
    return min(sizes, key=lambda size: lifetime_flops(size, tokens_needed(size, loss), served, eta))


def _searches(rng: random.Random) -> tuple:
    sizes = sorted(rng.sample([4e9, 8e9, 15e9, 30e9, 70e9, 140e9, 400e9], rng.randint(2, 5)))
    return rng.choice([2.1, 2.2, 2.5]), rng.choice([0, 1e12, 100e12, 1e16]), rng.choice([0.25, 0.5, 1]), sizes


def _candidate(trial: Trial) -> str | None:
    return None if trial.got in trial.args[3] else "Return one of the sizes."


def _served_matters(trial: Trial) -> str | None:
    loss, served, _, sizes = trial.args
    alone = min(sizes, key=lambda size: 6 * size * tokens_needed(size, loss))
    fine = trial.got == trial.want or trial.got != alone
    return (
        None
        if fine
        else f"That size is the cheapest to train. With {served:.3g} tokens served, {trial.want:.3g} costs less."
    )


def _fewest(trial: Trial) -> str | None:
    loss, served, eta, _ = trial.args
    costs = lambda size: shown(lifetime_flops(size, tokens_needed(size, loss), served, eta))
    if trial.got == trial.want:
        return None
    return (
        f"With the tokens that it needs, {trial.got:.3g} parameters take {costs(trial.got)} FLOPs over their life, but"
        f" {trial.want:.3g} take {costs(trial.want)}."
    )


def _train_only(loss, served, eta, sizes):
    return min(sizes, key=lambda size: 6 * size * tokens_needed(size, loss))


def _smallest(loss, served, eta, sizes):
    return min(size for size in sizes if tokens_needed(size, loss) < math.inf)


def _the_cost(loss, served, eta, sizes):
    return min(lifetime_flops(size, tokens_needed(size, loss), served, eta) for size in sizes)


def _loss_of_the_example(loss, served, eta, sizes):
    return cheapest_size(2.1, served, eta, sizes)


def _same_tokens(loss, served, eta, sizes):
    return min(sizes, key=lambda size: lifetime_flops(size, 20 * size, served, eta))


SEARCH = Step(
    "Search for the cheapest size",
    "Search for the size of model that reaches a loss at the lowest cost of training and serving together.",
    cheapest_size,
    "cheapest_size(2.1, 10e12, 0.25, [3e9, 4e9, 8e9, 30e9])",
    _searches,
    (_candidate, _served_matters, _fewest),
    {
        _train_only: _served_matters,
        _smallest: _fewest,
        _the_cost: _candidate,
        _same_tokens: _fewest,
        _loss_of_the_example: _served_matters,
    },
    (
        "For one size: tokens_needed, then lifetime_flops.",
        "`min(sizes, key=lambda size: …)` returns the size, not its cost.",
    ),
)

# --- the rule of equal costs ------------------------------------------------------------------------------------------


def equal_cost_tokens(served, eta):
    """The training tokens at which training costs as much as serving: 6 FLOPs against 2, of which each takes 1 / eta
    times as long.
    """
    return served / (3 * eta)


def _traffic(rng: random.Random) -> tuple:
    return rng.choice([1e12, 15e12, 90e12, 300e12]), rng.choice([0.2, 0.25, 0.5])


def _equal(trial: Trial) -> str | None:
    served, eta = trial.args
    train, serve = 6 * trial.got, 2 * served / eta
    fine = abs(train - serve) < 1e-9 * serve
    return (
        None if fine else f"Training takes {train:.3g} FLOPs for each parameter, serving {serve:.3g}: make them equal."
    )


def _as_many(served, eta):
    return served


def _three_times(served, eta):
    return 3 * served / eta


def _a_third(served, eta):
    return served / 3


def _upside_down(served, eta):
    return served * eta / 3


EQUAL = Step(
    "The lecture's rule",
    "In the lecture that this course follows, Reiner Pope lets training and serving cost the same. Write this"
    " shortcut, to compare it with your search.",
    equal_cost_tokens,
    "equal_cost_tokens(90e12, 0.25)",
    _traffic,
    (_equal,),
    {_as_many: _equal, _three_times: _equal, _a_third: _equal, _upside_down: _equal},
    ("Solve 6 × N × trained = 2 × N × served / eta for trained.",),
    count=20,
)

# --- the chart --------------------------------------------------------------------------------------------------------

ETA, SERVED = 1 / 3, 63e12  # the page's running case
LLAMA = {"n_active": 8.03e9, "pretrain_tokens": 15e12}  # whose loss the chart keeps
LOSS = eq.law_loss(_FIT, **LLAMA)
SIZES = [10 ** (9.7 + n / 20) for n in range(50)]
FINE = [10 ** (9.7 + n / 400) for n in range(400)]
LAYERS = 32  # of the network whose training is counted in the title


def _course_cost(size: float, trained: float) -> float:
    """FLOPs over a model's life by the lesson's formulas."""
    return eq.pretrain_compute(n_active=size, pretrain_tokens=trained) + eq.inference_compute(
        n_active=size, inference_tokens=SERVED, decode_efficiency=ETA
    )


def _published() -> list[tuple[float, float, str]]:
    """Size and tokens of Llama 3.1's models, as published, with a short name."""
    rows = [row for row in measurement("training_gpu_hours").records() if row["model"].startswith("Llama 3.1")]
    return [(row["n_active"], row["pretraining_tokens"], row["model"].split()[-1]) for row in rows]


def finish(own: Any) -> dict[str, Any]:
    """Lifetime cost by size at one loss: the reader's curve, the lesson's formulas, the reader's cheapest size beside
    the one of equal costs, and models that were published. The title holds what training takes in a counted network.
    """
    tokens = {size: own.tokens_needed(size, LOSS) for size in SIZES}
    cost = {size: own.lifetime_flops(size, trained, SERVED, ETA) for size, trained in tokens.items()}
    sizes = [size for size in SIZES if math.isfinite(cost[size]) and cost[size] < 1e27]
    trained = lambda size: eq.tokens_for_loss(_FIT, n_active=size, loss=LOSS)
    equal = own.equal_cost_tokens(SERVED, ETA)
    best = own.cheapest_size(LOSS, SERVED, ETA, sizes)
    even = min(FINE, key=lambda size: abs(own.tokens_needed(size, LOSS) - equal))
    at_even = own.lifetime_flops(even, equal, SERVED, ETA)
    counted = own.training_flops([64] * (LAYERS + 1), 1) / (LAYERS * 64**2)
    at = lambda size, flops: (size / 1e9, flops / 1e24)
    released = [(at(size, _course_cost(size, tokens)), name) for size, tokens, name in _published()]
    return lab_chart(
        f"Your cheapest model that is as good as Llama 3.1 8B and generates 63 trillion tokens has {best / 1e9:.0f}"
        " billion parameters\n"
        f"You count {counted:.2f} FLOPs of training for each parameter and token in {LAYERS} layers; the lesson says 6",
        "active parameters (billions)",
        "FLOPs over its life (10²⁴)",
        {
            "your cost": Series([at(size, cost[size]) for size in sizes]),
            "the lesson's formulas": Series(
                [at(size, _course_cost(size, trained(size))) for size in sizes[::4]], "point"
            ),
            "your cheapest size": Series([at(best, cost[best])], "point"),
            f"your size of equal costs, {at_even / cost[best] - 1:.0%} above that": Series(
                [at(even, at_even)], "point"
            ),
            "published: Llama 3.1, if it generated as many": Series(
                [place for place, _ in released], "point", [name for _, name in released]
            ),
        },
        log_x=True,
        log_y=True,
    )


LAB = Lab(
    "Find the cheapest model",
    "You count the FLOPs of training, add what serving costs, and find by search which size of model reaches a given"
    " loss most cheaply over its life. Then you compare it with a shortcut: equal costs for training and serving.",
    (COUNT, LIFE, TOKENS, SEARCH, EQUAL),
    finish,
    "Left of the lowest point the cost shoots up, because a model that is too small needs endless data for the loss."
    " To the right it rises slowly. The more tokens are served, the further left the lowest point lies. The lecture's"
    " rule of equal costs needs no law of the loss, but by the law used here it costs about a third more, and trains"
    " on 63 trillion tokens where 15 trillion would do. Llama 3.1 8B is on the curve, because the loss is its own. Its"
    " larger sisters, with 70 and 405 billion parameters, cost more and reach a lower loss.",
    {"math": math, "LAW": LAW},
)
