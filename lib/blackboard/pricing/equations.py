"""Formulas of the pricing lesson: what a price says of the machine, and where a KV cache should lie.

All inversions rest on two assumptions: prices follow costs by one factor, and batches are large enough for weights to
be shared. They give ranges, not numbers; where they are used, the range of what goes in is carried along.
"""

from __future__ import annotations

from sympy import Le, Max, Min, Rational, sqrt

from blackboard.batching.equations import (
    balanced_context,
    bandwidth,
    batch,
    chips,
    context,
    critical_batch,
    flop_per_param,
    flops,
    hbm,
    kv,
    memory_time,
    n_active,
    new_token,
    real_flops,
    rent,
)
from blackboard.formula import DERIVED, Formula, Source, lecture
from blackboard.notation import symbol, symbols

pass_tokens, memory_ratio, step_context, step_ratio, context_balanced = symbols(
    "pass_tokens memory_ratio step_context step_ratio context_balanced"
)
kv_layers, kv_heads, query_heads, head_dim, kv_value_bytes = symbols(
    "kv_layers kv_heads query_heads head_dim kv_value_bytes"
)
attention_flop, selected, entry_bytes, index_bytes, block = symbols(
    "attention_flop selected entry_bytes index_bytes block"
)
tier_capacity, tier_bandwidth, tier_rent, byte_price, service_life = symbols(
    "tier_capacity tier_bandwidth tier_rent byte_price service_life"
)
hold_time, input_price, output_price, premium, write_ratio, read_ratio = symbols(
    "hold_time input_price output_price premium write_ratio read_ratio"
)
layers, one_entry = symbols("layers one_entry")

DEEPSEEK_SPARSE = Source("deepseekv32")
large = ("the batch is large enough to share the weights", "prices follow costs by one factor")

# --- from the context step to the KV cache ---------------------------------------------------------------------------

kv_implied = Formula(
    "pricing.kv_implied",
    "kv_implied",
    flop_per_param * new_token * n_active * bandwidth / (flops * step_context),
    "byte/token",
    "if a card's step stands where reading KV begins to take longer than multiplying, it gives away the KV cache of a"
    " token",
    (*large, "the step stands at the balanced context", "dense attention"),
    lecture("1:38:22"),
)
kv_of_heads = Formula(
    "pricing.kv_of_heads",
    "kv_bytes_per_token",
    2 * kv_layers * kv_heads * head_dim * kv_value_bytes,
    "byte/token",
    "a key and a value for each KV head of each layer that keeps a cache of its own",
    ("keys and values are as wide",),
    lecture("1:40:08"),
)
context_ratio = Formula(
    "pricing.context_ratio",
    "context_ratio",
    Max(1, context / context_balanced),
    "1",
    "in a large batch a token costs the same up to the balanced context, and then in proportion to its context",
    ("the batch is large enough to share the weights", "dense attention"),
    lecture("1:34:13"),
)
context_covered = Formula(
    "pricing.context_covered",
    "context_covered",
    step_ratio * step_context,
    "token/sequence",
    "a level price beyond the step covers the cost only so far",
    ("the price before the step just covers the cost at the step", "no margin"),
    DERIVED,
    where=(Le(1, step_ratio),),
)

# --- from the price of output to what decoding waits for --------------------------------------------------------------

pass_compute = Formula(
    "pricing.pass_compute",
    "t_compute",
    flop_per_param * batch * pass_tokens * n_active / real_flops,
    "s",
    "every token of the pass is multiplied by every active parameter",
    ("attention's own FLOPs are left out",),
    lecture("1:42:28"),
)
pass_time = Formula(
    "pricing.pass_time",
    "t_pass",
    Max(pass_compute.typed, memory_time.typed),
    "s",
    "weights and KV are read once for all tokens of a pass",
    ("scores of the pass stay on the chip",),
    lecture("1:42:28"),
    {"compute": pass_compute, "memory": memory_time},
)
pass_ratio = Formula(
    "pricing.pass_ratio",
    "pass_ratio",
    Max(1, memory_ratio * new_token / pass_tokens),
    "1",
    "reading is shared by the tokens of a pass, multiplying is not",
    ("batch and context stay the same",),
    lecture("1:45:11"),
)
memory_ratio_of = Formula(
    "pricing.memory_ratio_of",
    "memory_ratio",
    critical_batch.typed / batch + context / balanced_context.typed,
    "1",
    "reading over multiplying in a decode step: the weights' part falls with the batch, the KV's part grows with the"
    " context",
    ("dense attention",),
    DERIVED,
)
context_implied = Formula(
    "pricing.context_implied",
    "context_implied",
    context_balanced * (output_price / input_price - symbol("batch_critical") / batch),
    "token/sequence",
    "if input is priced by multiplying and output by reading, their ratio gives away the context of decoding",
    ("prices follow costs by one factor", "prefill waits for multipliers, decoding for memory"),
    DERIVED,
    where=(Le(symbol("batch_critical") / batch, output_price / input_price),),
)
decode_mfu = Formula(
    "pricing.decode_mfu",
    "mfu",
    Min(1, input_price / output_price),
    "1",
    "decoding uses the multipliers as much less as it costs more",
    ("prices follow costs by one factor", "prefill reaches the peak"),
    lecture("1:45:11"),
)

# --- long contexts ----------------------------------------------------------------------------------------------------

flop_per_token = Formula(
    "pricing.flop_per_token",
    "flop_per_token",
    flop_per_param * n_active + attention_flop * context,
    "FLOP/token",
    "weights are multiplied once, and every earlier token is attended to",
    ("dense attention",),
    lecture("1:51:42"),
)
attention_of_heads = Formula(
    "pricing.attention_of_heads",
    "attention_flop",
    2 * flop_per_param * one_entry * layers * query_heads * head_dim / new_token,
    "FLOP*sequence/token**2",
    "a score and a weighted value, two FLOPs each, for every value of every query head",
    ("keys and values are as wide",),
    DERIVED,
)
context_flop = Formula(
    "pricing.context_flop",
    "context_flop",
    flop_per_param * n_active / attention_flop,
    "token/sequence",
    "from here on attention multiplies more than the weights do",
    ("dense attention",),
    DERIVED,
)
sparse_read = Formula(
    "pricing.sparse_read",
    "sparse_read",
    context * index_bytes + Min(selected, context) * entry_bytes,
    "byte/sequence",
    "an index key of every token is read, and the entries of those that it picks",
    (),
    DEEPSEEK_SPARSE,
)
sparse_saving = Formula(
    "pricing.sparse_saving",
    "sparse_saving",
    context * entry_bytes / sparse_read.typed,
    "1",
    "the index is read for every token, so the saving has a ceiling: entry over index key",
    (),
    DERIVED,
)
block_read = Formula(
    "pricing.block_read",
    "entries_read",
    context / block + selected * block,
    "token/sequence",
    "a summary of every block, and all entries of the chosen blocks",
    ("a summary is as large as an entry", "`selected` counts blocks"),
    DERIVED,
    where=(Le(1, block),),
)
block_best = Formula(
    "pricing.block_best",
    "block_best",
    sqrt(context / selected),
    "1",
    "longer blocks make the summaries fewer and the chosen blocks longer",
    block_read.assumes,
    DERIVED,
    where=(Le(selected, context),),
)
block_read_best = Formula(
    "pricing.block_read_best",
    "entries_read",
    2 * sqrt(selected * context),
    "token/sequence",
    "with blocks of the best length, reading grows with the root of the context",
    block_read.assumes,
    lecture("1:51:19"),
    where=(Le(selected, context),),
)

# --- where a KV cache lies --------------------------------------------------------------------------------------------

remat_cost = Formula(
    "pricing.remat_cost",
    "c_remat",
    rent * chips * flop_per_param * n_active / real_flops,
    "USD/token",
    "a token whose KV was not kept is multiplied again",
    ("prefill waits for multipliers", "attention's own FLOPs are left out"),
    lecture("1:55:13"),
)
hbm_hold = Formula(
    "pricing.hbm_hold",
    "c_hold",
    rent * chips * kv * hold_time / hbm,
    "USD/token",
    "a token's KV takes a share of the memory, and the memory's share of the rent is all of it",
    ("memory is what limits the batch",),
    lecture("1:55:13"),
)
hbm_even = Formula(
    "pricing.hbm_even",
    "hold_even",
    flop_per_param * n_active * hbm / (kv * real_flops),
    "s",
    "for so long keeping KV in HBM is cheaper than computing it again; rent cancels",
    (*remat_cost.assumes, *hbm_hold.assumes),
    DERIVED,
)
tier_hold = Formula(
    "pricing.tier_hold",
    "c_hold",
    tier_rent * kv * hold_time / tier_capacity,
    "USD/token",
    "a share of the device for some time",
    ("the device is full",),
    lecture("1:55:13"),
)
tier_retrieve = Formula(
    "pricing.tier_retrieve",
    "c_retrieve",
    tier_rent * kv / tier_bandwidth,
    "USD/token",
    "the whole device for the time of the transfer",
    ("the device is all that the transfer keeps busy",),
    lecture("1:55:13"),
)
tier_cost = Formula(
    "pricing.tier_cost",
    "c_cached",
    tier_hold.typed + tier_retrieve.typed,
    "USD/token",
    "keeping a token and bringing it back once",
    (*tier_hold.assumes, *tier_retrieve.assumes),
    lecture("1:59:29"),
    {"hold": tier_hold, "retrieve": tier_retrieve},
)
tier_drain = Formula(
    "pricing.tier_drain",
    "drain",
    tier_capacity / tier_bandwidth,
    "s",
    "held for as long as the device takes to read once, a cache costs as much to hold as to bring back",
    tier_cost.assumes,
    lecture("2:02:02"),
)
rent_of_price = Formula(
    "pricing.rent_of_price",
    "tier_rent",
    byte_price * tier_capacity / service_life,
    "USD/s",
    "a device that is bought, paid off evenly over its life",
    ("power, servers and interest are left out",),
    DERIVED,
)

# --- from cache prices to times and bytes -----------------------------------------------------------------------------

uses_even = Formula(
    "pricing.uses_even",
    "uses_even",
    (write_ratio - read_ratio) / (1 - read_ratio),
    "1",
    "written once and hit ever after, against read afresh each time",
    ("every later use comes in time to hit",),
    DERIVED,
    where=(Le(read_ratio, Rational(999, 1000)), Le(1, write_ratio)),
)
byte_rent = Formula(
    "pricing.byte_rent",
    "byte_rent",
    premium / (kv * hold_time),
    "USD/byte/s",
    "what the buyer pays for a byte of memory and second, if all of the premium is for holding",
    ("nothing but the KV is held",),
    DERIVED,
)
input_margin = Formula(
    "pricing.input_margin",
    "margin",
    input_price / remat_cost.typed,
    "1",
    "a price of input over the rent of the chips that multiply it",
    remat_cost.assumes,
    DERIVED,
)
