"""Formulas of the pricing lesson: what a price says of the machine, and where a KV cache should lie.

All inversions rest on two assumptions: prices follow costs by one factor, and batches are large enough for weights to
be shared. They give ranges, not numbers; where they are used, the range of what goes in is carried along.
"""

from __future__ import annotations

from sympy import Le, Max, Min, Rational, sqrt

import blackboard.lessons.overtraining.equations
from blackboard.formula import DERIVED, Formula, Source, lecture
from blackboard.lessons.batching.equations import (
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
    one_entry,
    real_flops,
    rent,
)
from blackboard.lessons.racks.equations import layers
from blackboard.notation import declare, result, symbol

# --- symbols ----------------------------------------------------------------------------------------------------------

context_balanced = symbol("context_balanced")
pass_tokens = declare(
    "pass_tokens",
    r"\ell_\mathrm{pass}",
    "token/sequence",
    "tokens of each sequence in one pass: 1 decodes, many prefill",
    "len_pass",
)
memory_ratio = declare("memory_ratio", "r", "1", "time to read over time to multiply, in a pass of one token", "5×")
step_context = declare(
    "step_context", r"L_\mathrm{step}", "token/sequence", "context at which a price card has its step", "200 k"
)
step_ratio = declare("step_ratio", r"\mu", "1", "price beyond the step over price before it", "1.5×")
kv_layers = declare("kv_layers", r"n_\mathrm{KV}", "1", "layers that keep a KV cache of their own", "1")
kv_heads = declare("kv_heads", r"h_\mathrm{KV}", "1", "KV heads of a layer", "8")
query_heads = declare("query_heads", r"h_\mathrm{Q}", "1", "query heads of a layer")
head_dim = declare("head_dim", r"d_\mathrm{head}", "1", "values in a head's vector", "128")
kv_value_bytes = declare(
    "kv_value_bytes", r"b_\mathrm{KV}", "byte/token", "bytes of one cached value of a token", "not written: 1"
)
attention_flop = declare(
    "attention_flop",
    r"a_\mathrm{att}",
    "FLOP*sequence/token**2",
    "FLOPs with which a new token attends to each earlier one",
)
selected = declare("selected", r"k_\mathrm{sel}", "token/sequence", "tokens that sparse attention picks for a new one")
blocks_read = declare("blocks_read", r"k_\mathrm{block}", "token/sequence", "blocks whose entries a new token reads")
entry_bytes = declare("entry_bytes", r"e_\mathrm{KV}", "byte/token", "bytes of a token's cache entry, in one layer")
index_bytes = declare(
    "index_bytes", r"e_\mathrm{idx}", "byte/token", "bytes of a token's index key, in one layer", zero=True
)
block = declare("block", r"m_\mathrm{block}", "1", "tokens that one summary stands for")
tier_capacity = declare("tier_capacity", r"M_\mathrm{tier}", "byte", "what a memory device holds", "capacity")
tier_bandwidth = declare("tier_bandwidth", r"W_\mathrm{tier}", "byte/s", "what a memory device reads", "bandwidth")
tier_rent = declare("tier_rent", r"p_\mathrm{tier}", "USD/s", "rent of a memory device")
byte_price = declare("byte_price", "p_B", "USD/byte", "what a memory costs to buy")
service_life = declare("service_life", r"T_\mathrm{service}", "s", "time over which a device is paid off")
hold_time = declare("hold_time", r"T_\mathrm{hold}", "s", "time for which a cache is kept", zero=True)
input_price = declare("input_price", r"p_\mathrm{in}", "USD/token", "price of a token read", "$5 per million")
output_price = declare("output_price", r"p_\mathrm{out}", "USD/token", "price of a token generated", "$25 per million")
premium = declare(
    "premium", r"p_\mathrm{hold}", "USD/token", "what a card asks for keeping a token's KV, over its input price"
)
write_ratio = declare(
    "write_ratio", r"\omega", "1", "price of writing a token into the cache over reading it afresh", "1.25"
)
read_ratio = declare("read_ratio", r"\varrho", "1", "price of a cache hit over reading afresh", "1/10", zero=True)
result("t_pass", r"t_\mathrm{pass}", "s", "time of one forward pass of several tokens per sequence")
result("pass_ratio", r"r_\ell", "1", "time per token of a pass, over that of a very long one", "t/len_pass")
result("kv_implied", r"\kappa_\mathrm{card}", "byte/token", "KV cache of a token, as a price implies it", "almost 2 kB")
result("context_ratio", "r_L", "1", "cost of a token at a context over that at a short one, in large batches")
result("context_covered", r"L_\mathrm{pay}", "token/sequence", "context up to which a price covers the cost")
result("context_implied", r"L_\mathrm{card}", "token/sequence", "mean context of decoding, as a price ratio implies it")
result(
    "context_flop",
    r"L_\mathrm{att}",
    "token/sequence",
    "context at which attention multiplies as much as the weights do",
)
result(
    "sparse_read",
    r"V_\mathrm{sparse}",
    "byte/sequence",
    "bytes of one layer that sparse attention reads for a new token",
)
result("sparse_saving", r"z_\mathrm{sparse}", "1", "bytes that dense attention reads over those of sparse attention")
result("entries_read", r"n_\mathrm{read}", "token/sequence", "cache entries that a new token reads")
result("block_best", r"m^{*}_\mathrm{block}", "1", "block length that reads the fewest entries")
result("c_remat", r"c_\mathrm{remat}", "USD/token", "rent for computing a token's KV again")
result("c_hold", r"c_\mathrm{hold}", "USD/token", "rent for keeping a token's KV")
result("c_retrieve", r"c_\mathrm{get}", "USD/token", "rent for bringing a token's KV back into HBM")
result("c_cached", r"c_\mathrm{cache}", "USD/token", "rent for keeping a token's KV and bringing it back once")
result("hold_even", r"T_\mathrm{even}", "s", "time for which keeping costs as much as computing again")
result("uses_even", r"n_\mathrm{uses}", "1", "uses of a prompt from which on writing it to a cache pays")
result("byte_rent", "p_{B,s}", "USD/byte/s", "rent of a byte, as a price implies it")
result("margin", r"z_\mathrm{price}", "1", "price over the model's cost", "close to 1")


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
    conditions=(Le(1, step_ratio),),
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
    conditions=(Le(symbol("batch_critical") / batch, output_price / input_price),),
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
    context / block + blocks_read * block,
    "token/sequence",
    "a summary of every block, and all entries of the chosen blocks",
    ("a summary is as large as an entry",),
    DERIVED,
    conditions=(Le(1, block),),
)
block_best = Formula(
    "pricing.block_best",
    "block_best",
    sqrt(context / blocks_read),
    "1",
    "longer blocks make the summaries fewer and the chosen blocks longer",
    block_read.assumes,
    DERIVED,
    conditions=(Le(blocks_read, context),),
)
block_read_best = Formula(
    "pricing.block_read_best",
    "entries_read",
    2 * sqrt(blocks_read * context),
    "token/sequence",
    "with blocks of the best length, reading grows with the root of the context",
    block_read.assumes,
    lecture("1:51:19"),
    conditions=(Le(blocks_read, context),),
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
    conditions=(Le(read_ratio, Rational(999, 1000)), Le(1, write_ratio)),
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
