"""The lab of the batching lesson: from the time of one step to the batches behind a price card."""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

from blackboard.catalogue import chip, measurement, model, price
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial, agrees
from blackboard.lab_values import count, same, shown
from blackboard.lessons.batching import equations as eq


class Server(NamedTuple):
    """A model on a machine: a sequence's cache has `kv_bytes` bytes; `flops` and `bandwidth` are of all chips."""

    n_active: float  # parameters that one token uses
    weight_bytes: float
    kv_bytes: float
    flops: float  # FLOP/s
    bandwidth: float  # byte/s

    def __repr__(self) -> str:
        short = lambda value: f"{value:g}".replace("e+0", "e").replace("e+", "e")
        return f"Server({', '.join(f'{name}={short(value)}' for name, value in self._asdict().items())})"


def _servers(rng: random.Random) -> Server:
    return Server(
        rng.choice([1e9, 2e9, 5e9]),
        rng.choice([2e9, 10e9, 20e9]),
        rng.choice([1e6, 2e6, 10e6, 50e6]),
        rng.choice([1e14, 2e14, 1e15]),
        rng.choice([1e12, 2e12, 4e12]),
    )


# --- a step -----------------------------------------------------------------------------------------------------------


def step_time(batch, server):
    """The roofline time of one decode step, in seconds: computing and loading overlap, and the slower one decides.

    Each sequence gets one new token, which costs a multiply and an add for each active parameter.

    batch   how many sequences
    server  has n_active (parameters), weight_bytes, kv_bytes (of one sequence), flops (FLOP/s), bandwidth (byte/s)
    """
    compute = 2 * batch * server.n_active / server.flops
    memory = (server.weight_bytes + batch * server.kv_bytes) / server.bandwidth
    return max(compute, memory)


def _steps(rng: random.Random) -> tuple:
    return rng.choice([1, 2, 10, 100, 1000]), _servers(rng)


def _loaded(trial: Trial) -> str | None:
    batch, server = trial.args
    loading = (server.weight_bytes + batch * server.kv_bytes) / server.bandwidth
    fine = trial.got >= loading * (1 - 1e-9)
    return None if fine else f"Loading the weights once and {count(batch, 'cache')} takes {shown(loading)} s alone."


def _computed(trial: Trial) -> str | None:
    batch, server = trial.args
    compute = 2 * batch * server.n_active / server.flops
    fine = trial.got >= compute * (1 - 1e-9)
    return (
        None if fine else f"Two FLOPs per active parameter, for {count(batch, 'token')}, take {shown(compute)} s alone."
    )


def _no_longer(trial: Trial) -> str | None:
    if same(trial.got, trial.want):
        return None
    batch, server = trial.args
    compute, weights = 2 * batch * server.n_active / server.flops, server.weight_bytes / server.bandwidth
    caches = batch * server.kv_bytes / server.bandwidth
    return (
        f"Loading takes {shown(weights)} s for the weights, once, and {shown(caches)} s for the caches. Compute takes"
        f" {shown(compute)} s meanwhile. The step takes as long as the slower of the two, {shown(trial.want)} s."
    )


def _sum_of_both(batch, server):
    return (
        2 * batch * server.n_active / server.flops + (server.weight_bytes + batch * server.kv_bytes) / server.bandwidth
    )


def _one_flop(batch, server):
    compute = batch * server.n_active / server.flops
    return max(compute, (server.weight_bytes + batch * server.kv_bytes) / server.bandwidth)


def _one_cache(batch, server):
    compute = 2 * batch * server.n_active / server.flops
    return max(compute, (server.weight_bytes + server.kv_bytes) / server.bandwidth)


def _weights_for_each(batch, server):
    compute = 2 * batch * server.n_active / server.flops
    return max(compute, batch * (server.weight_bytes + server.kv_bytes) / server.bandwidth)


def _faster_part(batch, server):
    compute = 2 * batch * server.n_active / server.flops
    return min(compute, (server.weight_bytes + batch * server.kv_bytes) / server.bandwidth)


def _milliseconds(batch, server):
    return 1000 * step_time(batch, server)


EXAMPLE = "server = Server(n_active=2e9, weight_bytes=10e9, kv_bytes=1e6, flops=1e15, bandwidth=2e12); "

STEP = Step(
    "The time of a step",
    "Write the time of one decode step by the roofline, on which everything else in this lab is built.",
    step_time,
    f"{EXAMPLE}step_time(100, server)",
    _steps,
    (_loaded, _computed, _no_longer),
    {
        _sum_of_both: _no_longer,
        _one_flop: _computed,
        _one_cache: _loaded,
        _weights_for_each: _no_longer,
        _faster_part: _loaded,
        _milliseconds: _no_longer,
    },
    (
        "Compute the two times apart: FLOPs divided by FLOP/s, and bytes divided by byte/s.",
        "Bytes: the weights once, and a cache for each sequence. The result is the `max` of the two times.",
    ),
)

# --- a latency target -------------------------------------------------------------------------------------------------


def largest_batch(target, server):
    """The largest batch whose step takes no longer than a target; 0 if not even a batch of 1 is fast enough.

    target  the longest step allowed, in seconds
    server  as in `step_time`
    """
    batch = 0
    while step_time(batch + 1, server) <= target:
        batch += 1
    return batch


def _targets(rng: random.Random) -> tuple:
    server = _servers(rng)._replace(kv_bytes=rng.choice([5e8, 1e9]), flops=rng.choice([5e12, 1e14]))
    return round(rng.uniform(0.8, 2) * server.weight_bytes / server.bandwidth, 5), server


_EXACT = Server(2.0**30, 2.0**38, 2.0**36, 2.0**40, 2.0**40)  # whose times have no rounding, for targets met exactly


def _whole(trial: Trial) -> str | None:
    fine = isinstance(trial.got, int) and trial.got >= 0
    return None if fine else f"A batch is a whole number of sequences: return an int of at least 0, not {trial.got!r}."


def _in_time(trial: Trial) -> str | None:
    (target, server), batch = trial.args, trial.got
    takes = step_time(batch, server) if batch else 0
    if takes <= target * (1 + 1e-9):
        return None
    compute = 2 * batch * server.n_active / server.flops
    slower = "compute" if same(takes, compute) else "loading"
    return f"A batch of {batch} takes {shown(takes)} s, the time of its {slower}, which is longer than the target."


def _no_larger_one(trial: Trial) -> str | None:
    (target, server), batch = trial.args, trial.got
    takes = step_time(batch + 1, server)
    if takes == target:
        return f"A batch of {batch + 1} takes {shown(takes)} s, exactly the target. That is no longer than the target."
    fine = takes > target * (1 - 1e-9)
    return None if fine else f"A batch of {batch + 1} takes {shown(takes)} s, so it meets the target too."


def _below_the_target(target, server):
    batch = 0
    while step_time(batch + 1, server) < target:
        batch += 1
    return batch


def _one_too_many(target, server):
    batch = 0
    while step_time(batch, server) <= target:
        batch += 1
    return batch


def _by_compute(target, server):
    return int(target * server.flops / (2 * server.n_active))


def _in_powers(target, server):
    batch = 1
    while step_time(2 * batch, server) <= target:
        batch *= 2
    return batch if step_time(batch, server) <= target else 0


def _not_rounded(target, server):
    by_memory = (target * server.bandwidth - server.weight_bytes) / server.kv_bytes
    return max(0, min(target * server.flops / (2 * server.n_active), by_memory))


BATCH = Step(
    "The batch that meets a latency target",
    "Find how many users a server can take before its steps get too slow for them.",
    largest_batch,
    f"{EXAMPLE}largest_batch(0.006, server)",
    _targets,
    (_whole, _in_time, _no_larger_one),
    {_one_too_many: _in_time, _by_compute: _in_time, _in_powers: _no_larger_one, _not_rounded: _whole}
    | {_below_the_target: _no_larger_one},
    (
        "A step never gets shorter as the batch grows, so you can go up from 0 until the next batch is too slow.",
        "Begin with `batch = 0`. While `step_time(batch + 1, server)` meets the target, the batch may be one larger.",
    ),
    also=[(0.25, _EXACT), (0.5, _EXACT), (1.0, _EXACT), (0.125, _EXACT)],
)

# --- cost -------------------------------------------------------------------------------------------------------------


def cost_per_million(batch, rent, server):
    """The rent paid for a million generated tokens, in USD.

    batch   how many sequences; each gets one token per step
    rent    of the whole server, in USD per hour
    server  as in `step_time`
    """
    rent_of_step = rent / 3600 * step_time(batch, server)
    return rent_of_step / batch * 1e6


def _rents(rng: random.Random) -> tuple:
    return rng.choice([1, 2, 10, 100, 1000]), rng.choice([18, 36, 72]), _servers(rng)


def _alone(trial: Trial) -> str | None:
    batch, rent, server = trial.args
    alone = rent / 3600 * step_time(1, server) * 1e6
    fine = trial.got <= alone * (1 + 1e-9)
    return None if fine else f"Even alone, at a batch of 1, a million tokens cost only {shown(alone)} USD."


def _floor(trial: Trial) -> str | None:
    _, rent, server = trial.args
    least = rent / 3600 * max(2 * server.n_active / server.flops, server.kv_bytes / server.bandwidth) * 1e6
    fine = trial.got >= least * (1 - 1e-9)
    return None if fine else f"Compute and cache of each token's own cost {shown(least)} USD: no batch gets below that."


_shared = agrees("The tokens of a step share its rent: USD per hour / 3600 × step time / batch × a million.")


def _per_step(batch, rent, server):
    return rent / 3600 * step_time(batch, server) * 1e6


def _rent_per_second(batch, rent, server):
    return rent * step_time(batch, server) / batch * 1e6


def _one_token(batch, rent, server):
    return rent / 3600 * step_time(batch, server) / batch


def _step_of_one(batch, rent, server):
    return rent / 3600 * step_time(1, server) / batch * 1e6


def _times_batch(batch, rent, server):
    return rent / 3600 * step_time(batch, server) * batch * 1e6


def _neither_unit(batch, rent, server):
    return rent * step_time(batch, server) / batch


def _rent_per_minute(batch, rent, server):
    return rent / 60 * step_time(batch, server) / batch * 1e6


COST = Step(
    "The cost curve",
    "Turn the time of a step into money: what a million generated tokens cost at any batch.",
    cost_per_million,
    f"{EXAMPLE}cost_per_million(100, 36, server)",
    _rents,
    (_alone, _floor, _shared),
    {
        _per_step: "A step makes a token for each sequence of the batch, and they share its rent: divide by the batch.",
        _rent_per_second: "The rent is for an hour, and a step takes seconds: divide the rent by 3,600.",
        _one_token: "That is the cost of one token. The result is the cost of a million of them.",
        _rent_per_minute: "An hour has 3,600 seconds, not 60.",
        _neither_unit: "Two units are missing: an hour has 3,600 seconds, and the result is for a million tokens.",
        _times_batch: _alone,
        _step_of_one: _floor,
    },
    (
        "What does the server cost in one second? And during one step?",
        "A step makes as many tokens as the batch has sequences. Divide by it, then multiply by a million.",
    ),
)

# --- a price card -----------------------------------------------------------------------------------------------------


def fast_batches(price_ratio, speed_ratio, server):
    """The batches of standard and fast mode behind a price card, as a pair of numbers, if prices follow cost.

    Both modes use the same server. The batches need not be whole; a search is right if it comes within a thousandth.

    price_ratio  price per token in fast mode divided by the standard price, for instance 6
    speed_ratio  how many times shorter a fast step is, for instance 2.5
    server       as in `step_time`
    """
    ratio = price_ratio * speed_ratio
    low, high = 0, 1e9
    for _ in range(60):
        fast = (low + high) / 2
        if step_time(ratio * fast, server) < speed_ratio * step_time(fast, server):
            low = fast
        else:
            high = fast
    return ratio * fast, fast


def _cards(rng: random.Random) -> tuple:
    return rng.choice([2, 3, 4, 6]), rng.choice([1.5, 2, 2.5]), _servers(rng)


def _pair(trial: Trial) -> str | None:
    if len(trial.got) != 2:
        return "Return a pair: the batch of standard mode, then the batch of fast mode."
    fine = trial.got[0] > 0 and trial.got[1] > 0
    return None if fine else "Both batches are above 0, and they need not be whole: do not round them."


def _standard_first(trial: Trial) -> str | None:
    fine = trial.got[0] >= trial.got[1]
    return None if fine else "A step of standard mode has more sequences: its batch is the larger one, and comes first."


def _priced(trial: Trial) -> str | None:
    price_ratio, speed_ratio, _ = trial.args
    standard, fast = trial.got
    dearer = standard / fast / speed_ratio
    if abs(dearer - price_ratio) < 1e-6 * price_ratio:
        return None
    return (
        f"A fast step costs {speed_ratio:g} times less rent, which {standard / fast:.4g} times fewer tokens share,"
        f" so a fast token costs {dearer:.4g} times as much; the card says {price_ratio:g}."
    )


def _as_fast(trial: Trial) -> str | None:
    _, speed_ratio, server = trial.args
    standard, fast = (step_time(batch, server) for batch in trial.got)
    fine = abs(standard / fast - speed_ratio) < 0.01 * speed_ratio
    return None if fine else f"These batches make a fast step {standard / fast:.4g} times shorter, not {speed_ratio:g}."


def _close(trial: Trial) -> str | None:
    off = trial.got[1] / trial.want[1] - 1
    if abs(off) <= 1e-3:
        return None
    way = "large" if off > 0 else "small"
    return f"Close: your batches are {abs(off):.1%} too {way}. Within 0.1% is right: search in finer steps."


def _price_alone(price_ratio, speed_ratio, server):
    return fast_batches(price_ratio / speed_ratio, speed_ratio, server)


def _swapped(price_ratio, speed_ratio, server):
    return fast_batches(price_ratio, speed_ratio, server)[::-1]


def _at_the_floor(price_ratio, speed_ratio, server):
    standard = speed_ratio * server.weight_bytes / server.bandwidth * server.flops / (2 * server.n_active)
    return standard, standard / (price_ratio * speed_ratio)


def _in_coarse_steps(price_ratio, speed_ratio, server):
    ratio, fast = price_ratio * speed_ratio, 0.1
    while step_time(ratio * fast, server) < speed_ratio * step_time(fast, server):
        fast *= 1.005
    return ratio * fast, fast


def _only_fast(price_ratio, speed_ratio, server):
    return (fast_batches(price_ratio, speed_ratio, server)[1],)


def _rounded_down(price_ratio, speed_ratio, server):
    return tuple(int(batch / 10) for batch in fast_batches(price_ratio, speed_ratio, server))


def _any_pair(price_ratio, speed_ratio, server):
    return price_ratio * speed_ratio, 1


CARD = Step(
    "Read the batches out of a price card",
    "Work backward from a provider's two prices to the two batches that would explain them.",
    fast_batches,
    f"{EXAMPLE}fast_batches(6, 2.5, server)",
    _cards,
    (_pair, _standard_first, _priced, _as_fast, _close),
    {
        _price_alone: _priced,
        _swapped: _standard_first,
        _at_the_floor: _as_fast,
        _only_fast: _pair,
        _rounded_down: _pair,
        _any_pair: _as_fast,
        _in_coarse_steps: _close,
    },
    (
        "A token costs rent × step time / batch. Divide that of fast mode by that of standard mode: what is the ratio"
        " of the batches?",
        "The batches are price_ratio × speed_ratio apart. The larger both are, the larger is the ratio of their steps.",
        "Bisect: if the standard step is less than speed_ratio times the fast step, both batches must be larger.",
    ),
    count=30,
)

# --- the chart --------------------------------------------------------------------------------------------------------

CHIPS, CONTEXT = 8, 1536  # prompts of 1,024 tokens, and half of answers as long
RENT = 2.0  # USD/chip/hour, the lecture's
BATCHES = (50, 100, 200, 400, 800, 1600, 3200, 6400)
FINER = 4  # points of the curve for each doubling of the batch
TARGET = 0.020  # s


def _case() -> dict[str, float]:
    """DeepSeek-V3 on eight B200, in the notation's names."""
    one = chip("b200").symbols("fp8")
    many = {name: CHIPS * one[name] for name in ("flops", "bandwidth")}
    return model("deepseek-v3").symbols("fp8") | many | {"context": CONTEXT, "chips": CHIPS, "rent": RENT / 3600}


def _server() -> Server:
    case = _case()
    weights = case["n_total"] * case["bytes_per_param"]
    return Server(case["n_active"], weights, CONTEXT * case["kv_bytes_per_token"], case["flops"], case["bandwidth"])


def _measured() -> list[tuple[float, float]]:
    """Speed and cost of published runs with enough requests to use nearly all experts."""
    runs = measurement("serving_deepseek_r1").records(engine="sglang", chip="B200", expert_parallel=1)
    steps = [(run["concurrency"], run["output_token_ms"] / 1e3) for run in runs if run["concurrency"] >= 64]
    return [(1 / step, CHIPS * RENT / 3600 * step / batch * 1e6) for batch, step in steps]


def finish(own: Any) -> dict[str, Any]:
    """Cost against speed: the reader's curve, a target and a price card on it, the lesson's, and what was served."""
    case, server, card = _case(), _server(), price("claude-opus-4.6@2026-03-13").fast
    assert card
    at = lambda batch: (1 / own.step_time(batch, server), own.cost_per_million(batch, CHIPS * RENT, server))
    lesson = [(eq.user_speed(case, batch=batch), eq.cost_per_token(case, batch=batch) * 1e6) for batch in BATCHES[::2]]
    largest = own.largest_batch(TARGET, server)
    modes = own.fast_batches(card.price_multiplier, card.speed_multiplier, server)
    doublings = math.log2(max(BATCHES[-1], *modes) / BATCHES[0])
    curve = [BATCHES[0] * 2 ** (n / FINER) for n in range(math.ceil(FINER * doublings) + 1)]
    return lab_chart(
        f"A million tokens of DeepSeek-V3 on eight B200, in steps of 20 ms, cost you {at(largest)[1]:.3f} USD",
        "tokens per second of one user (larger batches are further left)",
        "USD per million tokens",
        {
            "your cost curve": Series(sorted(map(at, curve))),
            "the lesson's formula": Series(lesson, "point"),
            "your largest batch for a step of 20 ms": Series([at(largest)], "point"),
            "your standard and fast mode, from a price card": Series(map(at, modes), "point", ("standard", "fast")),
            "measured with SGLang, DeepSeek-R1": Series(_measured(), "point"),
        },
        log_y=True,
    )


LAB = Lab(
    "Build the roofline of a server",
    "You write the time of one decode step, and from it the batch for a latency target, the cost of a token, and the"
    " batches behind the price card of a fast mode.",
    (STEP, BATCH, COST, CARD),
    finish,
    "All that you computed follows from one function, the time of a step. At the same batch, a measured step takes"
    " several times as long: GPUs hold copies of some weights, attention computes too, and messages between GPUs take"
    " time.",
    {"Server": Server},
)
