"""What the lesson computes of a mixture and a dense model: bills, turning points, tests; numbers.py words it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from blackboard.catalogue import Chip, Model, chip, chips, measurement, model, system
from blackboard.catalogue.running_case import RUNNING, Case
from blackboard.lessons.batching import equations as step
from blackboard.lessons.sparsity import equations as eq
from blackboard.search import find_root
from blackboard.units import factor, significant

FIGURE = {"base_size": 370e6, "experts": 64}  # the point that the lecture reads off a figure, 0:29:24
PRECISIONS = ("bf16", "fp8", "fp4")
# how many times a sparse model's active size the dense models have that are as good, by three makers' comparisons
GAINS = tuple(float(significant(1 / row["share"], 2)) for row in measurement("sparse_dense_pairs").records())
LOW, HIGH, FAR = sorted(GAINS)
PROMPT, ANSWER = 1_800, 400  # tokens of a request of the worked decision
TEAM = Case("deepseek-v3", "h200-8", "fp8", PROMPT + ANSWER / 2)
TEAM_BATCH = 300  # sequences
PAIR = model("qwen3-235b-a22b"), model("llama-3.1-70b")  # a sparse and a dense model, measured with one engine
SPARSE = "deepseek-v3.2"  # the same model with sparse attention


# --- chips -----------------------------------------------------------------------------------------------------------


class Constant(NamedTuple):
    """A chip's hardware constant at one precision."""

    chip: Chip
    precision: str
    value: float


def constants() -> Iterator[Constant]:
    """The hardware constant of every chip of the catalogue at every precision that weights are stored in."""
    for row in chips():
        for precision in PRECISIONS:
            if getattr(row.flops_dense_per_s, precision):
                yield Constant(
                    row,
                    precision,
                    step.hardware_constant(row, precision=precision, bytes_per_param=width(precision)),
                )


def width(precision: str) -> float:
    """Bytes of a parameter in this format."""
    return model(RUNNING.model).symbols(precision)["bytes_per_param"]


def almost() -> int:
    """The batch that touches 99% of the experts."""
    return math.ceil(eq.coverage.solve("batch")(RUNNING, coverage=0.99))


# --- throughput ------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """Seconds of a step of the sparse model, and of a dense model some times its active size; or another measure."""

    sparse: float
    dense: float

    @property
    def ratio(self) -> float:
        """How many times as long the sparse model takes."""
        return self.sparse / self.dense


def race(batch, context, case: Case = TEAM, gain: float = LOW) -> Pair:
    """Steps of DeepSeek-V3, which loads the experts that it touches, and of the dense model; numbers or arrays."""
    import numpy as np

    at = case._replace(context=1)
    compute, kv = step.compute_time(at, batch=batch), step.kv_time(at, batch=batch) * context
    sparse, alone = eq.touched_time(at, batch=batch), eq.touched_time(at, batch=1)
    return Pair(np.maximum(compute, sparse + kv), np.maximum(gain * compute, gain * alone + kv))


def layered_pair(
    batch: float, context: float, case: Case = TEAM, gain: float = LOW, tokens: float | None = None, **rates: float
) -> Pair:
    """Steps of both models layer by layer: no part is loaded while another computes, and KV caches while none does. So
    many tokens are computed, by default one for each sequence.
    """
    kv = step.kv_time(case._replace(context=1), batch=batch, **rates) * context
    computed, dense = tokens or batch, gain * case.symbols()["n_active"]
    sparse = eq.layered_time(case, batch=computed, n_routed=eq.routed_params(case), **rates)
    alone = step.step_time(case, batch=computed, n_active=dense, n_total=dense, context=0, **rates)
    return Pair(sparse + kv, alone + kv)


# --- one decision ----------------------------------------------------------------------------------------------------


def team_steps(batch: float, gain: float, tokens: float | None = None, attention: float = 0.0, **rates: float) -> Pair:
    """Steps of both models by the roofline, in which as many tokens are computed: by default one for each sequence.
    Computing takes so many seconds more for attention.
    """
    dense = gain * TEAM.symbols()["n_active"]
    return Pair(
        *(
            max(
                step.compute_time(TEAM, batch=tokens or batch, **size) + attention,
                step.memory_time(TEAM, batch=batch, **size),
            )
            for size in (rates, rates | {"n_active": dense, "n_total": dense})
        )
    )


def token_times(
    batch: float, gain: float, mixed: bool, layered: bool = False, attends: bool = False, **rates: float
) -> Pair:
    """Seconds for a token of an answer and the prompt tokens that come with it, read in the same steps or in others; by
    the roofline, attention's arithmetic can count.
    """
    prompts, one = PROMPT / ANSWER, step.compute_time(TEAM, batch=1)
    computed = batch * (1 + prompts) if mixed else None
    if layered:
        pair = layered_pair(batch, TEAM.context, TEAM, gain, computed, **rates)
    else:
        pair = team_steps(batch, gain, computed, attention=batch * attention(mixed) if attends else 0.0, **rates)
    return Pair(*(time / batch + (0 if mixed else prompts * one * times) for time, times in zip(pair, (1, gain))))


def gain_even(
    batch: float, mixed: bool, layered: bool = False, later: float = 0.0, attends: bool = False, **rates: float
) -> float:
    """Times DeepSeek-V3's active size from which on the dense model costs the team more; it is later by so many seconds
    for a token of an answer and the prompt tokens that come with it.
    """
    late = lambda gain: (pair := token_times(batch, gain, mixed, layered, attends, **rates)).dense + later - pair.sparse
    return find_root(late, 0.5, 50)


def attending() -> float:
    """Seconds in which the team's GPUs attend to one sequence's context, in BF16."""
    return model(RUNNING.model).attention_flop(TEAM.context) / system("h200-8").symbols("bf16")["flops"]


def reads() -> float:
    """Seconds in which the team's GPUs attend, in BF16, to what is before a prompt's token, half the prompt on average.
    A prompt's keys and values are unpacked first, so a head works with fewer values than an answer's does.
    """
    net = model(RUNNING.model)
    [group] = net.attention
    values = group.nope_dim + group.rope_dim + group.v_dim
    flop = 2 * group.layers * group.heads * values * PROMPT / 2
    return flop / system("h200-8").symbols("bf16")["flops"]


def attention(mixed: bool) -> float:
    """Seconds of attention's arithmetic for an answer's token and, in shared steps, the prompt tokens that come with
    it.
    """
    return attending() + (PROMPT / ANSWER * reads() if mixed else 0.0)


def even_attended(gain: float) -> float:
    """The break-even batch if a dense model has the same attention, and its arithmetic counts."""
    late = gain * step.compute_time(TEAM, batch=1) + attending() - step.kv_time(TEAM, batch=1)
    return step.weight_time(TEAM) / late


def gain_travelled(mixed: bool, layered: bool = False, batch: float = TEAM_BATCH, **rates: float) -> float:
    """The gain that turns the decision if DeepSeek-V3's tokens travel to their experts while nothing else is done."""
    return gain_even(batch, mixed, layered, -(1 + PROMPT / ANSWER) * travelling(), False, **rates)


def gain_measured(rows: float, batch: float = TEAM_BATCH, overlap: bool = True) -> float:
    """The gain that turns the decision with shared steps, if a GPU computes with so many tokens in the time of loading,
    not with the datasheet's. Attention's arithmetic counts; without overlap it delays both models alike, and parts of
    a layer and travel wait for each other.
    """
    width = TEAM.symbols()["bandwidth"] * step.hardware_constant(TEAM) / rows
    if overlap:
        return gain_even(batch, mixed=True, attends=True, bandwidth=width)
    return gain_travelled(mixed=True, layered=True, batch=batch, bandwidth=width)


def turning(prompt: float, answer: float, batch: float = TEAM_BATCH) -> float:
    """The gain that turns the decision in shared steps by the datasheet, with requests of other lengths: the time of
    DeepSeek-V3's step over the time that it computes; at most its sparsity, as a dense model so large loads as long.
    """
    case = TEAM._replace(context=prompt + answer / 2)
    ratio = step.memory_time(case, batch=batch) / step.compute_time(case, batch=batch * (1 + prompt / answer))
    return min(max(1, ratio), eq.sparsity(TEAM))


def travelling() -> float:
    """Seconds in which a token travels to its experts and back inside the box: a byte for each value on the way out,
    two on the way back, over the links of all GPUs.
    """
    net, known = model(RUNNING.model), TEAM.symbols()
    copies = net.moe.active * (1 - 1 / known["chips"])
    return net.moe.layers * copies * net.d_model * 3 / (known["chips"] * known["scale_up"])


def shared_tokens(batch: float = TEAM_BATCH) -> float:
    """Tokens of a step that makes an answer token for each sequence and reads the prompt tokens that come with them."""
    return batch * (1 + PROMPT / ANSWER)


def request(gain: float, mixed: bool = False, batch: float = TEAM_BATCH) -> float:
    """Seconds of the team's machine for a request, by the dense model; by DeepSeek-V3 at a gain of 1."""
    sparse, dense = token_times(batch, gain, mixed)
    return ANSWER * (sparse if gain == 1 else dense)


# --- against reality -------------------------------------------------------------------------------------------------


def monthly(tokens: float, per: str) -> float:
    """Tokens per second of a published count; a month has 30 days."""
    return tokens / {"month": 30 * factor("day"), "minute": factor("min")}[per]


def paired_rates() -> dict[tuple[int, int], Pair]:
    """By tokens of prompt and answer: tokens per second of a GPU with either model of the measured pair."""
    runs = measurement("trtllm_v1_0_throughput").records
    rate = lambda row: row["throughput_token_per_s"] / row["gpus"]
    lengths = lambda row: (row["input_tokens"], row["output_tokens"])
    known = {lengths(row): rate(row) for row in runs(model="Llama-3.3-70B", chip="H200", weights="fp8", gpus=1)}
    return {
        lengths(row): Pair(rate(row), known[lengths(row)])
        for row in runs(model="Qwen3-235B-A22B", chip="H200", weights="fp8")
    }


def paired() -> dict[tuple[int, int], float]:
    """By tokens of prompt and answer: the turning point of the measured pair, if a dense model's bill grows as its
    size.
    """
    sparse, dense = PAIR
    return {at: dense.n_active / sparse.n_active / rates.ratio for at, rates in paired_rates().items()}


def full_rate(net: Model, gpus: int, prompt: int, answer: int, cache: str) -> float:
    """Answer tokens per second of an H200 by the roofline, where KV caches in such a format fill the memory."""
    card = chip("h200")
    batch = (gpus * card.hbm_bytes - net.n_total) / net.kv_bytes_per_token(cache) / (prompt + answer / 2)
    computes = batch * (1 + prompt / answer) * 2 * net.n_active / (gpus * card.flops("fp8"))
    return batch / max(computes, card.drain_time()) / gpus


def paired_by_datasheet(cache: str) -> dict[tuple[int, int], float]:
    """By tokens of prompt and answer: the turning point of the pair that the datasheet says."""
    (sparse, dense), size = PAIR, PAIR[1].n_active / PAIR[0].n_active
    return {at: size * full_rate(dense, 1, *at, cache) / full_rate(sparse, 8, *at, cache) for at in paired_rates()}


def flattered(cache: str) -> dict[tuple[int, int], float]:
    """By tokens of prompt and answer: the factor by which the datasheet puts the pair's turning point too low."""
    told = paired_by_datasheet(cache)
    return {at: turn / told[at] for at, turn in paired().items()}


# --- sparse attention ------------------------------------------------------------------------------------------------


def cached(context) -> Pair:
    """Bytes of KV cache that a step loads for a sequence of DeepSeek-V3.2, in BF16, and those without an indexer, of
    DeepSeek-V3; numbers or arrays.
    """
    return Pair(model(SPARSE).kv_read_bytes(context), model(RUNNING.model).kv_read_bytes(context))


def sparse_from() -> float:
    """The context from which on sparse attention loads less."""
    [group] = model(SPARSE).attention
    return find_root(lambda context: (pair := cached(context)).dense - pair.sparse, group.top_k, 1e5)


# --- what experts are worth ------------------------------------------------------------------------------------------


def fit(router: str = "S-BASE") -> dict[str, float]:
    """The fitted constants of a router by notation name, from the published row in base 10."""
    [row] = measurement("routed_scaling_law").records(router=router)
    return {
        "law_size": -row["a"],
        "law_experts": -row["b"],
        "law_both": row["c"] / math.log(10),
        "law_level": 10 ** row["d"],
        "experts_most": row["E_max"],
        "experts_offset": 1 / (1 / row["E_start"] - 1 / row["E_max"]),
    }


def saturated(experts, known: dict[str, float]):
    """Experts, a number or an array, as the fit counts them."""
    return eq.experts_saturated(known, experts=experts)


def effective(base_size, experts, router: str = "S-BASE"):
    """Parameters of the dense model that is as good as a routed one; numbers or arrays."""
    known = fit(router)
    return eq.n_effective(
        known, base_size=base_size, experts_saturated=saturated(experts, known), experts_one=saturated(1, known)
    )


def loss(base_size, experts, router: str = "S-BASE"):
    """Validation loss of a routed model by the fit; numbers or arrays."""
    known = fit(router)
    return eq.loss(known, base_size=base_size, experts_saturated=saturated(experts, known))


def closed_form(experts: int) -> tuple[float, float]:
    """Factor and power of N in the size of the dense model that is as good, read off two sizes."""
    small, large = 1e8, 1e10
    power = math.log(effective(large, experts) / effective(small, experts)) / math.log(large / small)
    return effective(small, experts) / small**power, power


def gained(experts: float, router: str = "S-BASE") -> float:
    """Size of the dense model that is as good as the lecture's with so many experts, over the base size."""
    size = FIGURE["base_size"]
    return eq.quality_gain(n_effective=effective(size, experts, router), base_size=size)


def fitted_gain(id: str) -> float:
    """The gain of a catalogue's mixture by the fit, far outside of it: its active size as the base, all its experts."""
    net = model(id)
    return effective(net.n_active, net.moe.experts) / net.n_active


# --- the measured knee -----------------------------------------------------------------------------------------------


def knees() -> dict[tuple[str, str, int, int], tuple[float, float]]:
    """By library, number format and shape of the weights: rows at which a measured product's slope meets its level,
    and the ideal C.

    The level is the time of one row, the slope that between the two largest measured products.
    """
    products, out = measurement("h200_gemm"), {}
    cells = products.records()
    for library, dtype, n, k in sorted({(c["library"], c["dtype"], c["n"], c["k"]) for c in cells}):
        times = sorted(
            (c["m"], c["latency_us"])
            for c in cells
            if (c["library"], c["dtype"], c["n"], c["k"]) == (library, dtype, n, k)
        )
        (m0, t0), (m1, t1) = times[-2:]
        out[library, dtype, n, k] = (
            times[0][1] * (m1 - m0) / (t1 - t0),
            chip(products.chip_id).hardware_constant({"bfloat16": "bf16"}.get(dtype, dtype)),
        )
    return out


def ends() -> tuple[float, float]:
    """The fewest and the most rows of those found."""
    found = [knee for knee, _ in knees().values()]
    return min(found), max(found)
