"""The lab of the sparsity lesson: build a router, count what it touches, and find what experts are worth."""

from __future__ import annotations

import random
from typing import Any

from blackboard.catalogue import chip, measurement, model
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial
from blackboard.lessons.batching.equations import hardware_constant
from blackboard.lessons.sparsity import equations as eq
from blackboard.lessons.sparsity.lab_steps import CHOOSE, COUNT, EXPECT
from blackboard.lessons.sparsity.simulation import routed_loss

# --- what experts are worth -------------------------------------------------------------------------------------------

[_FIT] = measurement("routed_scaling_law").records(router="S-BASE")


def loss_of(size, experts):
    """The validation loss of a model of so many parameters and so many experts; a dense model has 1 expert.

    By a published fit. `size` are the parameters without experts, and with those that one token uses.
    """
    if experts < 1:
        raise ValueError("a dense model has 1 expert, not fewer")
    return routed_loss(size, experts, _FIT)


def effective_size(size, experts):
    """How large a dense model must be to have the same loss as a model with experts: its size, in parameters.

    size     parameters of the model to which the experts are added, as many as a token uses
    experts  experts of a routed layer, of which a token uses one

    `loss_of(size, experts)` is given; it falls as a model grows. A dense model has 1 expert. The result is between size
    and 1000 * size. A search is right if it comes within a thousandth of the exact size.
    """
    wanted, low, high = loss_of(size, experts), size, 1000 * size
    for _ in range(50):
        middle = (low * high) ** 0.5
        if loss_of(middle, 1) > wanted:
            low = middle
        else:
            high = middle
    return high


def _routed(rng: random.Random) -> tuple:
    return rng.choice([15e6, 55e6, 130e6, 370e6, 870e6, 1.3e9]), rng.choice([1, 2, 4, 8, 16, 64, 128, 512])


EXACT, NEAR = 1e-3, 0.2  # how far a size may be off, and how far a search is that stops too early
SAME_LOSS = 1e-6  # how far a loss may be off that a search has found
LARGEST = 1000  # the end of the range in which a size is, in sizes


def _off(trial: Trial) -> float:
    """By what share of the right size a size is off."""
    return trial.got / trial.want - 1


def _a_loss(trial: Trial) -> str | None:
    loss = loss_of(*trial.args)
    if abs(trial.got - loss) > SAME_LOSS * loss:
        return None
    return f"{trial.got:.4g} is the loss of the routed model: return the size of the dense model that has the same."


def _a_size(trial: Trial) -> str | None:
    factor = trial.want / trial.args[0]
    if trial.args[1] == 1 or abs(trial.got - factor) > NEAR * factor:
        return None
    return f"{trial.got:.4g} is by what factor the size grows: return the size itself, in parameters."


def _no_worse(trial: Trial) -> str | None:
    size = trial.args[0]
    fine = trial.got >= size * (1 - NEAR)
    return None if fine else f"Experts make a model better, so the dense one has at least {size:.3g} parameters."


def _right_half(trial: Trial) -> str | None:
    size, (found, wanted) = trial.args[0], _losses(trial)
    if abs(trial.got / (LARGEST * size) - 1) > NEAR:
        return None
    return (
        f"That is the upper end of the range: your search keeps the wrong half. A dense model of {trial.got:.4g}"
        f" parameters has a loss of {found:.5g}, the routed one {wanted:.5g}: where the dense one's is lower, it is too"
        " large, so keep the lower half."
    )


def _losses(trial: Trial) -> tuple[float, float]:
    """The loss of the dense model that a reader found, and of the routed one."""
    return loss_of(trial.got, 1), loss_of(*trial.args)


def _same_loss(trial: Trial) -> str | None:
    if abs(_off(trial)) < NEAR:
        return None
    (found, wanted), way = _losses(trial), "large" if _off(trial) > 0 else "small"
    return (
        f"A dense model of {trial.got:.4g} parameters has a loss of {found:.5g}, the routed one {wanted:.5g}: your size"
        f" is too {way}."
    )


def _close(trial: Trial) -> str | None:
    off = _off(trial)
    if abs(off) <= EXACT:
        return None
    way = "large" if off > 0 else "small"
    return f"Close: your size is {abs(off):.1%} too {way}. Within 0.1% is right: search in finer steps."


def _as_many_as_stored(size, experts):
    return size * experts


def _only_active(size, experts):
    return size


def _root_of_experts(size, experts):
    return size * experts**0.5


def _up_to_twice(size, experts):
    return min(effective_size(size, experts), 2 * size)


def _mean(low, high):
    return (low + high) / 2


def _ratio_mean(low, high):
    return (low * high) ** 0.5


def _searched(size, experts, halvings, middle_of, turned=False):
    """The upper end of a range after so many halvings, each of which keeps the right half or, turned round, the wrong
    one.
    """
    wanted, low, high = loss_of(size, experts), size, 1000 * size
    for _ in range(halvings):
        middle = middle_of(low, high)
        low, high = (middle, high) if (loss_of(middle, 1) > wanted) != turned else (low, middle)
    return high


def _turned_round(size, experts):
    return _searched(size, experts, 50, _mean, turned=True)


def _turned_round_alone_apart(size, experts):
    return size if experts == 1 else _turned_round(size, experts)


def _ten_halvings(size, experts):
    return _searched(size, experts, 10, _mean)


def _the_loss(size, experts):
    return loss_of(size, experts)


def _loss_of_the_dense_one(size, experts):
    return loss_of(effective_size(size, experts), 1)


def _experts_on_the_other_side(size, experts):
    return size * size / effective_size(size, experts)


def _factor(size, experts):
    return effective_size(size, experts) / size


def _stops_early(size, experts):
    return _searched(size, experts, 9, _ratio_mean)


def _stops_at_equal_losses(size, experts):
    halvings = range(1, 50)
    near = lambda n: abs(loss_of(_searched(size, experts, n, _ratio_mean), 1) - loss_of(size, experts)) < 1e-3
    return _searched(size, experts, next(filter(near, halvings)), _ratio_mean)


EFFECTIVE = Step(
    "The dense model that experts are worth",
    "Find how large a dense model would have to be to match a model with experts, by searching for the size with"
    " the same loss.",
    effective_size,
    "effective_size(370e6, 64)",
    _routed,
    (_a_loss, _a_size, _no_worse, _right_half, _same_loss, _close),
    {
        _as_many_as_stored: _same_loss,
        _only_active: _same_loss,
        _root_of_experts: _same_loss,
        _up_to_twice: _same_loss,
        _turned_round: _right_half,
        _turned_round_alone_apart: _right_half,
        _ten_halvings: _same_loss,
        _the_loss: _a_loss,
        _loss_of_the_dense_one: _a_loss,
        _experts_on_the_other_side: _no_worse,
        _factor: _a_size,
        _stops_early: _close,
        _stops_at_equal_losses: _close,
    },
    (
        "First find the loss of the routed model. Then look for the size whose dense model, with one expert, has it.",
        "Halve the range again and again: while the dense model in the middle has the higher loss, it is too small.",
        "`middle = (low * high) ** 0.5` halves a range of 1 to 1000 faster than the mean of both ends.",
    ),
)

# --- weigh ------------------------------------------------------------------------------------------------------------


def expert_batch(hardware_constant, experts, k):
    """The batch at which an average expert has as many tokens as the hardware constant. It need not be a whole number.

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


def _spread(trial: Trial) -> str | None:
    constant, experts, k = trial.args
    sees = trial.got * k / experts
    if abs(sees - constant) < 1e-9 * constant:
        return None
    return (
        f"Of a batch of {trial.got:.4g} tokens an average expert sees the share {k} / {experts}, so {sees:.4g} tokens;"
        f" it must see {constant}."
    )


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
    "Find the batch at which an average expert has enough tokens to be limited by compute rather than by memory.",
    expert_batch,
    "expert_batch(295, 256, 8)",
    _machines,
    (_larger, _dense, _spread),
    {_other_way: _larger, _ignores_k: _dense, _ignores_experts: _dense, _unused: _spread},
    (
        "How many tokens does one expert see on average, if a batch has B of them?",
        "Solve B × k / experts = constant for B.",
    ),
)

# --- the chart --------------------------------------------------------------------------------------------------------

CHIPS, BATCHES = 8, [2**n for n in range(14)]
SMALL = 64  # a batch of which the lesson says how many experts it touches
ROUTED = [batch for batch in BATCHES[1::2] if batch <= 256]  # whose tokens are really routed; the lesson has others


def _case() -> dict[str, float]:
    """DeepSeek-V3 on eight B200, in the notation's names."""
    net, one = model("deepseek-v3"), chip("b200").symbols("fp8")
    assert net.moe
    many = {name: CHIPS * one[name] for name in ("flops", "bandwidth")}
    return net.symbols("fp8") | many | {"experts": net.moe.experts, "top_k": net.moe.active}


def finish(own: Any) -> dict[str, Any]:
    """Time to load what a batch touches: by the reader's router and formula, by the lesson's, and as measured."""
    # Here, so that a page's first check need not wait for these.
    from blackboard.lessons.sparsity.results import FIGURE, almost, effective

    case, rng = _case(), random.Random(0)
    experts, k = int(case["experts"]), int(case["top_k"])
    routed = eq.routed_params(case)
    load = lambda share: 1e3 * (case["n_total"] - routed + routed * share) * case["bytes_per_param"] / case["bandwidth"]
    token = lambda: [rng.random() for _ in range(experts)]
    counted = [(batch, own.count_touched([token() for _ in range(batch)], k) / experts) for batch in ROUTED]
    bound = own.expert_batch(hardware_constant(case), experts, k)
    runs = measurement("serving_deepseek_r1").records(engine="sglang", chip="B200", expert_parallel=1)
    base, many = FIGURE["base_size"], FIGURE["experts"]
    share = lambda batch: f"{own.touched_share(batch, experts, k):.0%}"
    said = [f"{size / 1e9:.2f} billion" for size in (own.effective_size(base, many), effective(base, many))]
    return lab_chart(
        f"DeepSeek-V3 on eight B200 loads {share(SMALL)} of its experts at a batch of {SMALL}, {share(almost())} from"
        f" {almost()} on\n"
        f"With {many} experts, {base / 1e6:.0f} million parameters are as good as {said[0]} (the lesson: {said[1]})",
        "batch (sequences)",
        "time (ms)",
        {
            "your formula, loading": Series([(n, load(own.touched_share(n, experts, k))) for n in BATCHES]),
            "your router, counted": Series([(batch, load(share)) for batch, share in counted], "point"),
            "the lesson's formula": Series([(n, 1e3 * eq.touched_time(case, batch=n)) for n in BATCHES[::2]], "point"),
            "your batch at which its experts have enough tokens": Series(
                [(bound, load(own.touched_share(bound, experts, k)))], "point"
            ),
            "measured with SGLang, a token of DeepSeek-R1": Series(
                [(run["concurrency"], run["output_token_ms"]) for run in runs], "point"
            ),
        },
        log_x=True,
        log_y=True,
    )


LAB = Lab(
    "Build a router",
    "You write the router of a mixture-of-experts layer, count which experts a batch touches, and predict the count"
    " without routing a single token. Then you find what experts are worth, and the batch that they need.",
    (CHOOSE, COUNT, EXPECT, EFFECTIVE, WEIGH),
    finish,
    "Your router's points are on the line of your formula: over many tokens and experts chance averages out. Once a"
    " batch touches nearly every expert, loading takes the same time at any larger batch. The points measured with"
    " SGLang are not those of a single layer but of a whole server. Their time is several times as long and goes on"
    " rising, because it also includes the cache, what the GPUs send each other, and other users' prompts.",
    {"loss_of": loss_of},
)
