"""Formulas of the sparsity lesson: the batch that a mixture of experts needs, what a batch touches, what experts are
worth.

Sparsity is stored over active parameters, as on the board (8, not 1/8). The board counts experts instead, which is the
same only in a model that has nothing but experts.
"""

from __future__ import annotations

from sympy import Le, Max, log

from blackboard.batching.equations import (
    balanced_context,
    bandwidth,
    batch,
    bytes_per_param,
    chips,
    context,
    critical_batch,
    flop_per_param,
    flops,
    hardware_constant,
    hbm,
    kv,
    n_active,
    n_total,
    new_token,
    one_sequence,
    real_bandwidth,
    real_flops,
    throughput,
)
from blackboard.formula import DERIVED, Formula, Source, lecture
from blackboard.notation import symbol, symbols

experts, top_k, world_rate = symbols("experts top_k world_rate")
base_size, experts_offset, experts_most, one_entry = symbols("base_size experts_offset experts_most one_entry")
law_size, law_experts, law_both, law_level, routed_share = symbols(
    "law_size law_experts law_both law_level routed_share"
)

CLARK = Source("clark2022")
routed = Le(top_k, experts)  # a token cannot go to more experts than there are

# --- the batch that a sparse model needs -----------------------------------------------------------------------------

sparsity = Formula(
    "sparsity.sparsity",
    "sparsity",
    n_total / n_active,
    "1",
    "parameters that are stored for each one that a token uses",
    (),
    lecture("0:19:13"),
)
expert_sparsity = Formula(
    "sparsity.expert_sparsity",
    "expert_sparsity",
    experts / top_k,
    "1",
    "experts that are stored for each one that a token uses",
    ("attention, embeddings and shared experts are not counted",),
    lecture("0:19:16"),
    where=(routed,),
)
tokens_per_expert = Formula(
    "sparsity.tokens_per_expert",
    "tokens_per_expert",
    batch * new_token * top_k / experts,
    "token",
    "an expert sees only its share of the batch",
    ("tokens are spread evenly over the experts",),
    DERIVED,
    where=(routed,),
)
expert_batch = Formula(
    "sparsity.expert_batch",
    "batch_experts",
    hardware_constant.typed * experts / (top_k * new_token),
    "sequence",
    "the batch at which an average expert sees as many tokens as the hardware constant asks for",
    ("KV is left out", "tokens are spread evenly over the experts"),
    lecture("0:19:16"),
    where=(routed,),
)
free_sparsity = Formula(
    "sparsity.free_sparsity",
    "free_sparsity",
    batch * new_token / hardware_constant.typed,
    "1",
    "up to this sparsity a batch multiplies longer than it reads weights, and more experts cost no time",
    critical_batch.assumes,
    lecture("0:30:42"),
)

n_routed = symbol("n_routed")
routed_params = Formula(
    "sparsity.routed_params",
    "n_routed",
    (n_total - n_active) / (1 - top_k / experts),
    "parameter",
    "what a token leaves out is its missed share of all experts",
    (),
    DERIVED,
    where=(routed, Le(n_active, n_total)),
)
dense_time = Formula(
    "sparsity.dense_time",
    "t_dense",
    Max(
        flop_per_param * new_token * batch * (n_total - n_routed) / real_flops,
        (n_total - n_routed) * bytes_per_param / real_bandwidth,
    ),
    "s",
    "attention and all that every token uses: multiplying takes longer from a batch of C on",
    ("KV is left out",),
    DERIVED,
    where=(Le(n_routed, n_total),),
)
experts_time = Formula(
    "sparsity.experts_time",
    "t_experts",
    Max(
        flop_per_param * new_token * batch * n_routed * top_k / (experts * real_flops),
        n_routed * bytes_per_param / real_bandwidth,
    ),
    "s",
    "the experts: waiting for memory until each of them sees C tokens",
    ("KV is left out", "tokens are spread evenly over the experts"),
    DERIVED,
    where=(routed,),
)
layered_time = Formula(
    "sparsity.layered_time",
    "t_step",
    dense_time.typed + experts_time.typed,
    "s",
    "layers follow each other: if one cannot multiply while the next one reads, their times add",
    experts_time.assumes,
    DERIVED,
    {"dense": dense_time, "experts": experts_time},
    where=(routed, Le(n_routed, n_total)),
)

free_with_kv = Formula(
    "sparsity.free_with_kv",
    "free_sparsity",
    free_sparsity.typed * (1 - context / balanced_context.typed),
    "1",
    "with KV counted a batch pays for less, and from the balanced context on for nothing",
    ("dense attention",),
    DERIVED,
    where=(Le(context, balanced_context.typed),),
)

# --- throughput ------------------------------------------------------------------------------------------------------

chip_rate = Formula(
    "sparsity.chip_rate",
    "chip_rate",
    throughput.typed / chips,
    "token/s/chip",
    "tokens per second that one chip accounts for",
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
    "a batch misses an expert only if every one of its tokens does",
    ("tokens choose their experts independently", "all experts are equally likely"),
    DERIVED,
    where=(routed,),
)
bytes_touched = Formula(
    "sparsity.bytes_touched",
    "bytes_touched",
    bytes_per_param * (n_active + (n_total - n_active) * (1 - missed ** (batch / one_sequence - 1))),
    "byte",
    "the weights of the experts that somebody in the batch chose, and of all that is not routed",
    coverage.assumes,
    DERIVED,
    where=_touching,
)
touched_time = Formula(
    "sparsity.touched_time",
    "t_weights",
    bytes_touched.typed / real_bandwidth,
    "s",
    "time to read only the weights that a batch touches",
    (*coverage.assumes, "the kernels skip experts that no token chose"),
    DERIVED,
    where=_touching,
)

# --- what experts are worth: the scaling law of routed models ---------------------------------------------------------

saturated, one_expert = symbols("experts_saturated experts_one")
size = base_size / one_entry
slope = lambda count: law_size - law_both * log(count)  # how fast the loss falls with size, at so many experts

experts_saturated = Formula(
    "sparsity.experts_saturated",
    "experts_saturated",
    experts_most * (experts - 1 + experts_offset) / (experts - 1 + experts_offset + experts_most),
    "1",
    "experts as the fit counts them: the first few add little, and so do the last",
    ("one expert of each routed layer is active",),
    CLARK,
    where=(Le(1, experts),),
)
loss = Formula(
    "sparsity.loss",
    "loss",
    law_level * size ** -slope(saturated) * saturated**-law_experts,
    "1",
    "loss falls as a power of size and as a power of experts, and experts help large models a little less",
    ("trained on 130 billion tokens", "within the range of the fit"),
    CLARK,
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
    where=(Le(law_both * log(one_expert), law_size), Le(law_both * log(saturated), law_size)),
)
quality_gain = Formula(
    "sparsity.quality_gain",
    "quality_gain",
    symbol("n_effective") / base_size,
    "1",
    "how much larger a dense model as good would be",
    loss.assumes,
    lecture("0:29:24"),
)
stored_growth = Formula(
    "sparsity.stored_growth",
    "stored_growth",
    1 + routed_share * (experts - 1),
    "1",
    "how many times the parameters of the dense model are stored",
    ("only the routed share is repeated for each expert",),
    CLARK,
    where=(Le(1, experts),),
)

# --- when it stops being free ----------------------------------------------------------------------------------------

batch_fits = Formula(
    "sparsity.batch_fits",
    "batch_fits",
    (hbm - n_total * bytes_per_param) / (context * kv),
    "sequence",
    "memory that weights do not take holds the KV of this many sequences",
    ("nothing else takes memory",),
    DERIVED,
    where=(Le(n_total * bytes_per_param, hbm),),
)
largest_model = Formula(
    "sparsity.largest_model",
    "largest_model",
    hbm / bytes_per_param * (1 - context / balanced_context.typed),
    "parameter",
    "the most parameters that fit into memory together with the KV of the batch they ask for",
    (*batch_fits.assumes, "dense attention"),
    DERIVED,
    where=(Le(context, balanced_context.typed),),
)
long_throughput = Formula(
    "sparsity.long_throughput",
    "throughput",
    real_bandwidth * (1 - n_total * bytes_per_param / hbm) * new_token / (context * kv),
    "token/s",
    "past the balanced context, with memory full of KV, weights cost the share of memory that they take",
    ("every step reads the whole memory once", "the context is longer than the balanced one"),
    DERIVED,
    where=(Le(n_total * bytes_per_param, hbm),),
)
break_even = Formula(
    "sparsity.break_even",
    "batch_even",
    hardware_constant.typed * symbol("stored_growth") / (symbol("quality_gain") * new_token),
    "sequence",
    "a routed model costs its weights, the dense one as good its multiplications: from this batch on the first is less",
    ("KV is left out", "all weights are read", "the batch is larger than the hardware constant"),
    DERIVED,
)
