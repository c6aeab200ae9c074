"""Formulas of the batching lesson: the roofline of one decode step, the cost of a token, and the train that leaves
every 20 ms.

Convention: F is the datasheet's dense FLOP/s, where a multiply and an add count as two; the board counts one
multiply-add as one "FLOP", so its t_compute has no 2 and its F is half of ours. Weights take b_w bytes each; the board
lets a parameter be a byte.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from sympy import Add, Le, Mul, Rational, expand, limit, together

from blackboard.formula import DERIVED, Formula, Max, Min, lecture
from blackboard.notation import Quotient, calibration, constant, declare, result

if TYPE_CHECKING:
    from blackboard.catalogue.running_case import Case

# --- symbols ----------------------------------------------------------------------------------------------------------

batch = declare("batch", "B", "sequence", "sequences in one forward pass, each getting one new token", "B")
context = declare("context", "L", "token/sequence", "tokens already in each sequence", "len_ctx", zero=True)
n_active = declare(
    "n_active", r"N_\mathrm{act}", "parameter", "active parameters: those that one token uses", "N_active"
)
n_total = declare("n_total", r"N_\mathrm{tot}", "parameter", "parameters stored", "N_total")
bytes_per_param = declare("bytes_per_param", "b_w", "byte/parameter", "bytes per stored parameter", "not written: 1")
kv = declare(
    "kv_bytes_per_token", r"\kappa", "byte/token", "KV cache of one token, over all layers", "bytes/token", zero=True
)
flops = declare(
    "flops",
    "F",
    "FLOP/s",
    "peak compute of the replica, dense, in the format of the weights",
    "FLOPs (multiplies only: F/2)",
)
bandwidth = declare("bandwidth", "W", "byte/s", "memory bandwidth of the replica", "mem bw")
hbm = declare("hbm", "M", "byte", "memory (HBM) of the replica", "capacity")
chips = declare("chips", "n", "chip", "chips in the replica", "GPUs")
rent = declare("rent", r"p_\mathrm{chip}", "USD/chip/s", "rent of one chip", "$2 per GPU-hour")
attention_flop = declare(
    "attention_flop",
    r"a_\mathrm{att}",
    "FLOP*sequence/token**2",
    "FLOPs that a new token spends on attending to one earlier token",
)
attention_flops = declare(
    "attention_flops",
    r"F_\mathrm{att}",
    "FLOP/s",
    "peak compute of the replica, dense, in the format in which it attends",
)
rows = declare(
    "rows", r"m_\mathrm{rows}", "token", "rows of the activation matrix: tokens that go through the product together"
)
weight_rows = declare("weight_rows", r"d_\mathrm{in}", "1", "inner dimension of a matrix product")
weight_columns = declare("weight_columns", r"d_\mathrm{out}", "1", "columns of the weight matrix")
bytes_per_value = declare("bytes_per_value", "b_a", "byte/token", "bytes of one activation value, per token")
price_ratio = declare("price_ratio", r"\pi", "1", "price per token in fast mode, divided by the standard price", "6×")
speed_ratio = declare(
    "speed_ratio", r"\sigma", "1", "tokens per second of one user in fast mode, divided by the standard speed", "2.5×"
)
result("t_compute", r"t_\mathrm{compute}", "s", "compute time of a step", "t_compute")
result("t_weights", r"t_\mathrm{weights}", "s", "time to load all weights once")
result("t_kv", r"t_\mathrm{KV}", "s", "time to load the KV cache of every sequence once")
result("t_memory", r"t_\mathrm{memory}", "s", "memory time of a step: everything it loads", "t_mem")
result("t_step", r"t_\mathrm{step}", "s", "time of one forward pass (one new token per sequence)", "t")
result("t_floor", r"t_\mathrm{min}", "s", "latency floor: the time to load all weights")
result("t_first", "t_1", "s", "time to load the weights that a single token needs")
result("t_gemm", r"t_\mathrm{GEMM}", "s", "time of one matrix product")
result("cost", "c", "USD/token", "rent paid per generated token", "t/B")
result("cost_min", r"c_\mathrm{min}", "USD/token", "cost per token that no batch can undercut")
result(
    "context_balanced",
    "L^{*}",
    "token/sequence",
    "balanced context: a sequence needs as much memory time as compute time",
)
result("mfu", r"\mathrm{MFU}", "1", "share of peak FLOPs used (model FLOPs utilisation)", "MFU")
result("mfu_limit", r"\mathrm{MFU}_\infty", "1", "MFU as the batch grows without bound")
result(
    "intensity",
    "C",
    "token",
    "hardware constant: tokens that must share a weight before computing takes as long as loading it",
    "≈ 300",
)
result(
    "batch_critical",
    "B^{*}",
    "sequence",
    "critical batch: computing takes as long as loading the weights",
    "300 × sparsity",
)
result("batch_with_kv", r"B^{*}_\mathrm{KV}", "sequence", "the critical batch with the KV cache counted")
result("gain", "G", "1", "cost of a token at batch 1, divided by its cost in an unlimited batch", "1000×")
result("batch_ratio", r"\rho", "1", "standard batch divided by fast-mode batch")
result("discount_limit", "d", "1", "cost at this batch divided by the cost floor: the most a slow mode can save")
result("ceiling", r"R_\mathrm{max}", "token/s", "tokens per second if nothing but compute took time")
result("drain", r"T_\mathrm{drain}", "s", "drain time: loading everything in memory once", "20 ms")
result("latency_worst", r"T_\mathrm{worst}", "s", "wait and ride of a request that just missed a departure", "40 ms")
result("latency_mean", r"T_\mathrm{mean}", "s", "mean wait and ride, if requests arrive at random moments")
result("throughput", "R", "token/s", "tokens per second of the replica", "B × 64")
result("rate_user", r"R_\mathrm{user}", "token/sequence/s", "tokens per second that one user sees")
interval = declare("interval", "T", "s", "time between departures", "20 ms")
flop_per_param = constant(
    "flop_per_param", "2", "FLOP/parameter/token", "one multiply and one add per parameter and token", value=2
)
new_token = constant("new_token", "1", "token/sequence", "a decode step makes one token per sequence", value=1)
one_entry = constant("one_entry", "1", "parameter", "an entry of a weight matrix is one parameter", value=1)
one_sequence = constant("one_sequence", "1", "sequence", "a batch of one", value=1)
compute_efficiency = calibration("compute_efficiency", r"\eta_c", "1", "share of peak FLOP/s reached", most=1, value=1)
memory_efficiency = calibration("memory_efficiency", r"\eta_m", "1", "share of peak bandwidth reached", most=1, value=1)
overhead = calibration("overhead", "t_0", "s", "time per step that no batch hides", zero=True, value=0)


real_flops = compute_efficiency * flops
real_bandwidth = memory_efficiency * bandwidth

# --- one decode step -----------------------------------------------------------------------------------------------

compute_time = Formula(
    "batching.compute_time",
    "t_compute",
    flop_per_param * new_token * batch * n_active / real_flops,
    "s",
    "each of B new tokens needs one multiply and one add per active parameter",
    ("attention's own FLOPs are left out", "the arithmetic units never wait"),
    lecture("0:03:12"),
)
weight_time = Formula(
    "batching.weight_time",
    "t_weights",
    n_total * bytes_per_param / real_bandwidth,
    "s",
    "a step loads all weights once, however many sequences share them",
    ("the batch is large enough to touch every expert", "each weight is loaded once"),
    lecture("0:05:05"),
)
kv_time = Formula(
    "batching.kv_time",
    "t_kv",
    batch * context * kv / real_bandwidth,
    "s",
    "each sequence loads its own KV cache, so this time grows with the batch",
    ("dense attention: every earlier token is loaded", "all sequences have the same context"),
    lecture("0:05:30"),
)
memory_time = Formula(
    "batching.memory_time",
    "t_memory",
    weight_time.typed + kv_time.typed,
    "s",
    "weights and KV caches come from the same memory, so their times add",
    (),
    lecture("0:05:46"),
    {"weights": weight_time, "kv": kv_time},
    typeset=Add(weight_time, kv_time, evaluate=False),
)
step_time = Formula(
    "batching.step_time",
    "t_step",
    Max(compute_time.typed, memory_time.typed) + overhead,
    "s",
    "a step takes at least as long as the slower of compute and memory traffic",
    (
        "compute and memory traffic overlap perfectly",
        "communication between chips is free",
        "attention's own FLOPs are left out",
    ),
    lecture("0:03:07"),
    {"compute": compute_time, "memory": memory_time},
)
latency_floor = Formula(
    "batching.latency_floor",
    "t_floor",
    limit(memory_time.typed, batch, 0, "+"),
    "s",
    "a step cannot end before all weights are loaded, whatever the price",
    weight_time.assumes,
    lecture("0:10:20"),
)
first_floor = Formula(
    "batching.first_floor",
    "t_first",
    n_active * bytes_per_param / real_bandwidth,
    "s",
    "a single token loads only the parameters that it is routed to",
    ("KV is left out", "the kernels skip experts that no token chose"),
    DERIVED,
)

# --- cost ----------------------------------------------------------------------------------------------------------

cost_per_token = Formula(
    "batching.cost_per_token",
    "cost",
    rent * chips * step_time.typed / (batch * new_token),
    "USD/token",
    "the rent of the replica for one step, shared by the tokens that the step makes",
    ("every step is full", "nothing but rent is paid"),
    lecture("0:12:49"),
    typeset=Mul(
        rent * chips / batch, step_time.expr.replace(memory_time.expr, together(memory_time.expr)), evaluate=False
    ),
)
cost_floor = Formula(
    "batching.cost_floor",
    "cost_min",
    rent * chips * Max(flop_per_param * n_active / real_flops, context * kv / (new_token * real_bandwidth)),
    "USD/token",
    "compute and KV cache are each sequence's own, so no batch shares their cost",
    (*cost_per_token.assumes, "the memory has room for a very large batch"),
    lecture("0:15:18"),
)
slow_mode_limit = Formula(
    "batching.slow_mode_limit",
    "discount_limit",
    step_time.typed / (batch * Max(flop_per_param * new_token * n_active / real_flops, context * kv / real_bandwidth)),
    "1",
    "the most that a slow mode can save: today's cost divided by the floor",
    cost_per_token.assumes,
    lecture("0:15:18"),
)
hardware_constant = Formula(
    "batching.hardware_constant",
    "intensity",
    flops * bytes_per_param / (flop_per_param * bandwidth),
    "token",
    "how many tokens must share a weight before computing with it takes as long as loading it",
    (),
    lecture("0:18:09"),
)
critical_batch = Formula(
    "batching.critical_batch",
    "batch_critical",
    hardware_constant.typed * n_total / (n_active * new_token),
    "sequence",
    "without KV caches, compute catches up with loading the weights at this batch",
    ("KV is left out", "any loading hides behind any computing"),
    lecture("0:16:58"),
    typeset=Mul(hardware_constant, n_total / n_active, evaluate=False),
)
crossing = Formula(
    "batching.crossing",
    "batch_with_kv",
    together(weight_time.typed / expand((compute_time.typed - kv_time.typed) / batch)),
    "sequence",
    "the critical batch with KV caches counted: they push it out",
    (
        "any loading hides behind any computing",
        "the context is shorter than the balanced one; from there on no batch is large enough",
    ),
    lecture("0:19:49"),
)
batching_gain = Formula(
    "batching.batching_gain",
    "gain",
    critical_batch.typed / one_sequence,
    "1",
    "what batching saves: the cost of a token alone, divided by its cost in an unlimited batch",
    ("KV is left out", "a batch of one loads all weights, as in a dense model"),
    lecture("0:04:23"),
)
ceiling = Formula(
    "batching.ceiling",
    "ceiling",
    real_flops / (flop_per_param * n_active),
    "token/s",
    "tokens per second if nothing but compute took time",
    compute_time.assumes,
    DERIVED,
)

STEP_TERMS = {"compute": compute_time, "KV": kv_time, "weights": weight_time, "weights + KV": memory_time}

# --- context -------------------------------------------------------------------------------------------------------

balanced_context = Formula(
    "batching.balanced_context",
    "context_balanced",
    flop_per_param * new_token * n_active * bandwidth / (flops * kv),
    "token/sequence",
    "past this context, one more sequence adds more memory time than compute time",
    ("dense attention", "attention's own FLOPs are left out"),
    lecture("0:11:02"),
)
_attends = new_token * attention_flop / attention_flops  # seconds for a token of context
balanced_with_attention = Formula(
    "batching.balanced_with_attention",
    "context_balanced",
    flop_per_param * new_token * n_active / flops / (kv / bandwidth - _attends),
    "token/sequence",
    "past this context, one more sequence adds more memory time than compute time, attention's included",
    ("dense attention", "comparing with a cached token takes less time than loading it; else there is no such context"),
    DERIVED,
    conditions=(Le(_attends * bandwidth / kv, Rational(999, 1000)),),
    typeset=Quotient(
        2 * n_active / flops, Add(kv / bandwidth, -attention_flop / attention_flops, evaluate=False), evaluate=False
    ),
)
# With attention's arithmetic, as a chart draws them.
compute_with_attention = Formula(
    "batching.compute_with_attention",
    "t_compute",
    compute_time.typed + batch * context * _attends,
    "s",
    "compute time of a step in which each new token also attends to its context",
    ("dense attention", "the arithmetic units never wait"),
    DERIVED,
    register=False,
)
step_with_attention = Formula(
    "batching.step_with_attention",
    "t_step",
    Max(compute_with_attention.typed, memory_time.typed) + overhead,
    "s",
    "a step takes at least as long as the slower of compute, attention's included, and memory traffic",
    ("compute and memory traffic overlap perfectly", "communication between chips is free"),
    DERIVED,
    register=False,
)
crossing_with_attention = Formula(
    "batching.crossing_with_attention",
    "batch_with_kv",
    together(weight_time.typed / expand((compute_with_attention.typed - kv_time.typed) / batch)),
    "sequence",
    "the kink with attention's arithmetic counted",
    crossing.assumes,
    DERIVED,
    register=False,
)
mfu = Formula(
    "batching.mfu",
    "mfu",
    flop_per_param * new_token * batch * n_active / flops / step_time.typed,
    "1",
    "the share of the step during which the arithmetic units have work",
    compute_time.assumes,
    lecture("0:11:40"),
)
mfu_limit = Formula(
    "batching.mfu_limit",
    "mfu_limit",
    Min(1, balanced_context.typed / context),
    "1",
    "past the balanced context no batch keeps the arithmetic units busy",
    (*balanced_context.assumes, "the memory has room for a very large batch"),
    lecture("0:11:40"),
)

# --- fast mode, and the train ---------------------------------------------------------------------------------------

fast_mode_batch_ratio = Formula(
    "batching.fast_mode_batch_ratio",
    "batch_ratio",
    price_ratio * speed_ratio,
    "1",
    "a price and a speed together reveal how much smaller the batch is",
    ("price follows cost", "same chips, same model"),
    DERIVED,
)
drain_time = Formula(
    "batching.drain_time",
    "drain",
    hbm / bandwidth,
    "s",
    "loading everything that the memory holds takes this long",
    (),
    lecture("0:23:28"),
)
worst_latency = Formula(
    "batching.worst_latency",
    "latency_worst",
    2 * interval,
    "s",
    "just missed the departure: wait one interval, ride one interval",
    ("a step takes one interval", "there is always a seat on the next train"),
    lecture("0:23:00"),
)
mean_latency = Formula(
    "batching.mean_latency",
    "latency_mean",
    interval * 3 / 2,
    "s",
    "arrivals spread evenly wait half an interval, then ride one",
    worst_latency.assumes,
    DERIVED,
)
throughput = Formula(
    "batching.throughput",
    "throughput",
    batch * new_token / interval,
    "token/s",
    "one batch of tokens per departure",
    ("every departure is full",),
    lecture("0:26:32"),
)
user_speed = Formula(
    "batching.user_speed",
    "rate_user",
    new_token / step_time.typed,
    "token/sequence/s",
    "each user gets one token per step",
    step_time.assumes,
    DERIVED,
)
user_rate = Formula(
    "batching.user_rate",
    "rate_user",
    new_token / interval,
    "token/sequence/s",
    "one token per departure for each user",
    (),
    lecture("0:26:32"),
)

# --- the same roofline for one matrix product: what a GEMM benchmark measures ----------------------------------------

gemm_time = Formula(
    "batching.gemm_time",
    "t_gemm",
    Max(
        flop_per_param * one_entry * rows * weight_rows * weight_columns / real_flops,
        (
            weight_rows * weight_columns * one_entry * bytes_per_param
            + rows * (weight_rows + weight_columns) * bytes_per_value
        )
        / real_bandwidth,
    ),
    "s",
    "the roofline of one matrix product: each weight is loaded once and used for every row",
    ("weights come from memory, not from cache", "inputs and outputs cross memory once"),
    DERIVED,
)


# --- a case in which attention computes too ---------------------------------------------------------------------------


class WithAttention(NamedTuple):
    """Seconds that a sequence of a batch computes and loads its KV cache, and what follows from them: the kink, and the
    balanced context, infinite where there is none.
    """

    token: float
    kv: float
    kink: float
    balanced: float


def with_attention(case: Case, slower: float) -> WithAttention:
    """A case with attention `slower` times slower than the weights' format; 0 leaves it out."""
    compute, attend = compute_time(case, batch=1), case.attention_time(slower)
    token, kv = compute + case.context * attend, kv_time(case, batch=1)
    meet = lambda first, gain: first / gain if gain > 0 else math.inf
    return WithAttention(token, kv, meet(weight_time(case), token - kv), meet(compute, kv / case.context - attend))
