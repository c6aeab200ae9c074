"""Formulas of the sparsity lesson: the batch that a mixture of experts needs, what a batch touches, what experts are
worth.

Sparsity is stored divided by active parameters, as in the lecture (8, not 1/8). The lecture counts experts instead,
which is the same only in a model that has nothing but experts.
"""

from __future__ import annotations

from sympy import Le, Mul, expand, log, together

from blackboard.formula import DERIVED, Formula, Max, Source, lecture
from blackboard.lessons.batching.equations import (
    balanced_context,
    bandwidth,
    batch,
    bytes_per_param,
    chips,
    compute_time,
    context,
    critical_batch,
    flop_per_param,
    flops,
    hardware_constant,
    hbm,
    kv,
    kv_time,
    n_active,
    n_total,
    new_token,
    one_entry,
    one_sequence,
    real_bandwidth,
    real_flops,
    throughput,
    weight_time,
)
from blackboard.notation import declare, result, symbol

# --- symbols ----------------------------------------------------------------------------------------------------------

experts = declare("experts", r"n_\mathrm{exp}", "1", "routed experts of a layer", "256")
top_k = declare("top_k", "k", "1", "experts that one token is routed to", "32 (of 256)")
base_size = declare("base_size", "N", "parameter", "size of the dense model to which experts are added")
experts_offset = declare("experts_offset", "n_0", "1", "fitted: sets how much the first experts help")
experts_most = declare(
    "experts_most", r"n_\infty", "1", "fitted: limit of the number that experts count as, however many there are"
)
one_expert = declare("experts_one", r"\hat{n}_1", "1", "what the fit counts for a single expert, the dense model")
law_size = declare("law_size", "a_N", "1", "fitted: how the loss falls with size", most=1)
law_experts = declare("law_experts", "a_E", "1", "fitted: how the loss falls with experts", most=1)
law_both = declare("law_both", "a_{NE}", "1", "fitted: how much less experts help a larger model", most=1)
law_level = declare("law_level", "A", "1", "fitted: level of the loss")
routed_share = declare(
    "routed_share", "f", "1", "share of the dense model's parameters that each expert repeats", most=1
)
world_rate = declare("world_rate", r"R_\mathrm{world}", "token/s", "tokens per second of a whole service")
result(
    "batch_experts",
    r"B^{*}_\mathrm{exp}",
    "sequence",
    "batch at which computing with an average expert takes as long as loading it",
)
result(
    "batch_even",
    r"B_\mathrm{even}",
    "sequence",
    "batch from which on a sparse model is faster than the dense one that is as good",
)
result("sparsity", "s", "1", "sparsity: stored parameters divided by active ones", "sparsity")
result("expert_sparsity", r"s_\mathrm{exp}", "1", "experts divided by the experts that one token uses", "256/32")
n_routed = result("n_routed", r"N_\mathrm{routed}", "parameter", "parameters of all routed experts")
result("t_dense", r"t_\mathrm{dense}", "s", "time of a step's dense parts")
result("t_experts", r"t_\mathrm{experts}", "s", "time of a step's routed experts")
result("tokens_per_expert", r"B_\mathrm{exp}", "token", "tokens that an expert sees in a step, on average")
result("coverage", r"\phi", "1", "share of the routed experts that a step touches, on average")
result("bytes_touched", r"V_\mathrm{weights}", "byte", "bytes of weights that a step loads, on average")
result("racks_needed", r"n_\mathrm{service}", "1", "racks that a whole service would keep busy")
result("chip_rate", r"R_\mathrm{chip}", "token/s/chip", "tokens per second of one chip")
saturated = result("experts_saturated", r"\hat{n}_\mathrm{exp}", "1", "experts as the fit counts them, which saturates")
result("loss", r"\mathcal{L}", "1", "validation loss")
result("n_effective", r"\bar{N}", "parameter", "size of the dense model that is as good", "1.3B")
result(
    "quality_gain",
    "g",
    "1",
    "size of the dense model that is as good, divided by the active parameters of the sparse one",
    "64x for 4x",
)
result("stored_growth", "h", "1", "stored parameters, divided by those of the dense model it started from")
result("free_sparsity", r"s_\mathrm{free}", "1", "the sparsity up to which unused weights cost no time")
result("batch_fits", r"B_\mathrm{fit}", "sequence", "sequences whose KV cache fits beside the weights")
result(
    "largest_model", r"N_\mathrm{fit}", "parameter", "parameters that fit together with the KV of the critical batch"
)


CLARK = Source("clark2022")
routed = Le(top_k, experts)  # a token cannot go to more experts than there are

# --- the batch that a sparse model needs -----------------------------------------------------------------------------

sparsity = Formula(
    "sparsity.sparsity",
    "sparsity",
    n_total / n_active,
    "1",
    "how many parameters are stored for each one that a token uses",
    (),
    lecture("0:19:13"),
)
expert_sparsity = Formula(
    "sparsity.expert_sparsity",
    "expert_sparsity",
    experts / top_k,
    "1",
    "how many experts are stored for each one that a token uses",
    ("attention, embeddings and shared experts are not counted",),
    lecture("0:19:16"),
    conditions=(routed,),
)
tokens_per_expert = Formula(
    "sparsity.tokens_per_expert",
    "tokens_per_expert",
    batch * new_token * top_k / experts,
    "token",
    "an expert sees only its share of the batch",
    ("tokens are spread evenly over the experts",),
    DERIVED,
    conditions=(routed,),
)
expert_batch = Formula(
    "sparsity.expert_batch",
    "batch_experts",
    hardware_constant.typed * experts / (top_k * new_token),
    "sequence",
    "from this batch on, an average expert sees as many tokens as the hardware constant",
    ("KV is left out", "tokens are spread evenly over the experts"),
    lecture("0:19:16"),
    conditions=(routed,),
)
free_sparsity = Formula(
    "sparsity.free_sparsity",
    "free_sparsity",
    batch * new_token / hardware_constant.typed,
    "1",
    "up to this sparsity a batch computes longer than it loads weights, and more experts cost no time",
    critical_batch.assumes,
    lecture("0:30:42"),
)

routed_params = Formula(
    "sparsity.routed_params",
    "n_routed",
    (n_total - n_active) / (1 - top_k / experts),
    "parameter",
    "the parameters that a token does not use are those of the experts it is not sent to",
    (),
    DERIVED,
    conditions=(routed, Le(n_active, n_total)),
)
dense_time = Formula(
    "sparsity.dense_time",
    "t_dense",
    Max(
        flop_per_param * new_token * batch * (n_total - n_routed) / real_flops,
        (n_total - n_routed) * bytes_per_param / real_bandwidth,
    ),
    "s",
    "what every token uses, attention among it: from a batch of C on, compute takes longer",
    ("KV is left out",),
    DERIVED,
    conditions=(Le(n_routed, n_total),),
)
experts_time = Formula(
    "sparsity.experts_time",
    "t_experts",
    Max(
        flop_per_param * new_token * batch * n_routed * top_k / (experts * real_flops),
        n_routed * bytes_per_param / real_bandwidth,
    ),
    "s",
    "the experts wait for memory until each of them sees C tokens",
    ("KV is left out", "tokens are spread evenly over the experts"),
    DERIVED,
    conditions=(routed,),
)
layered_time = Formula(
    "sparsity.layered_time",
    "t_step",
    dense_time.typed + experts_time.typed,
    "s",
    "layers run one after another: if one cannot compute while the next one loads, their times add",
    experts_time.assumes,
    DERIVED,
    {"dense": dense_time, "experts": experts_time},
    conditions=(routed, Le(n_routed, n_total)),
)

# --- throughput ------------------------------------------------------------------------------------------------------

chip_rate = Formula(
    "sparsity.chip_rate",
    "chip_rate",
    throughput.typed / chips,
    "token/s/chip",
    "the throughput of the rack, divided by its chips",
    throughput.assumes,
    DERIVED,
)
racks_needed = Formula(
    "sparsity.racks_needed",
    "racks_needed",
    world_rate / throughput.typed,
    "1",
    "how many such racks a service's traffic would keep busy",
    ("every token of the service costs what a generated one does",),
    lecture("0:27:28"),
)

# --- what a small batch touches --------------------------------------------------------------------------------------

missed = 1 - top_k / experts  # the chance that one token leaves a given expert alone
_touching = (routed, Le(n_active, n_total), Le(one_sequence, batch))
coverage = Formula(
    "sparsity.coverage",
    "coverage",
    1 - missed ** (batch / one_sequence),
    "1",
    "a batch misses an expert only if every token of the batch misses it",
    ("tokens choose their experts independently", "all experts are equally likely"),
    DERIVED,
    conditions=(routed,),
)
bytes_touched = Formula(
    "sparsity.bytes_touched",
    "bytes_touched",
    bytes_per_param * (n_active + (n_total - n_active) * (1 - missed ** (batch / one_sequence - 1))),
    "byte",
    "a step loads what every token uses, and the experts that some token chose",
    coverage.assumes,
    DERIVED,
    conditions=_touching,
)
touched_time = Formula(
    "sparsity.touched_time",
    "t_weights",
    bytes_touched.typed / real_bandwidth,
    "s",
    "the time to load only the weights that a batch touches",
    (*coverage.assumes, "the kernels skip experts that no token chose"),
    DERIVED,
    conditions=_touching,
)

# --- what experts are worth: the scaling law of routed models ---------------------------------------------------------

size = base_size / one_entry
slope = lambda count: law_size - law_both * log(count)  # how fast the loss falls with size, at so many experts

experts_saturated = Formula(
    "sparsity.experts_saturated",
    "experts_saturated",
    experts_most * (experts - 1 + experts_offset) / (experts - 1 + experts_offset + experts_most),
    "1",
    "experts as the fit counts them: beyond a few hundred, more of them add little",
    ("one expert of each routed layer is active",),
    CLARK,
    conditions=(Le(1, experts),),
)
loss = Formula(
    "sparsity.loss",
    "loss",
    law_level * size ** -slope(saturated) * saturated**-law_experts,
    "1",
    "the loss falls with size and with experts, and experts help a large model a little less",
    ("trained on 130 billion tokens", "within the range of the fit"),
    CLARK,
    typeset=Mul(law_level, base_size ** -slope(saturated), saturated**-law_experts, evaluate=False),
)
n_effective = Formula(
    "sparsity.n_effective",
    "n_effective",
    one_entry
    * size ** (slope(saturated) / slope(one_expert))
    * (saturated / one_expert) ** (law_experts / slope(one_expert)),
    "parameter",
    "a dense model of this size has the same loss",
    loss.assumes,
    lecture("0:29:24"),
    conditions=(Le(law_both * log(one_expert), law_size), Le(law_both * log(saturated), law_size)),
    typeset=Mul(
        (saturated / one_expert) ** (law_experts / slope(one_expert)),
        base_size ** (slope(saturated) / slope(one_expert)),
        evaluate=False,
    ),
)
quality_gain = Formula(
    "sparsity.quality_gain",
    "quality_gain",
    symbol("n_effective") / base_size,
    "1",
    "how many times as large a dense model must be to be as good",
    loss.assumes,
    lecture("0:29:24"),
)
stored_growth = Formula(
    "sparsity.stored_growth",
    "stored_growth",
    1 + routed_share * (experts - 1),
    "1",
    "how many times the parameters of the dense model the routed one stores",
    ("only the routed share is repeated for each expert",),
    CLARK,
    conditions=(Le(1, experts),),
)

# --- when it stops being free ----------------------------------------------------------------------------------------

batch_fits = Formula(
    "sparsity.batch_fits",
    "batch_fits",
    (hbm - n_total * bytes_per_param) / (context * kv),
    "sequence",
    "the memory beside the weights holds the KV caches of this many sequences",
    ("nothing else takes memory",),
    DERIVED,
    conditions=(Le(n_total * bytes_per_param, hbm),),
)
largest_model = Formula(
    "sparsity.largest_model",
    "largest_model",
    hbm / bytes_per_param * (1 - context / balanced_context.typed),
    "parameter",
    "the largest model that fits into memory, together with the KV caches of the batch that pays for it",
    (*batch_fits.assumes, "dense attention"),
    DERIVED,
    conditions=(Le(context, balanced_context.typed),),
)
break_even = Formula(
    "sparsity.break_even",
    "batch_even",
    together(weight_time.typed / expand((symbol("quality_gain") * compute_time.typed - kv_time.typed) / batch)),
    "sequence",
    "with more sequences than this, a sparse model generates faster than an equally good dense one",
    (
        "all loading happens at the same time as all computing",
        "both models keep the same KV cache",
        "all weights are loaded",
        "the dense model is limited by computing",
        "attention's own arithmetic is left out",
    ),
    DERIVED,
    conditions=(Le(context / balanced_context.typed, symbol("quality_gain")),),
    typeset=symbol("intensity") * symbol("sparsity") / (symbol("quality_gain") - context / symbol("context_balanced")),
)
