"""Formulas of the pricing lesson: what a price reveals about the machine, and where to keep a KV cache.

All inversions rest on two assumptions: prices follow costs by one factor, and batches are large enough for weights to
be shared. They give ranges, not numbers; where they are used, the range of what goes in is carried along.
"""

from __future__ import annotations

from sympy import Add, Le, Mul, Rational, sqrt

import blackboard.lessons.overtraining.equations
from blackboard.formula import DERIVED, Formula, Max, Min, Source, lecture
from blackboard.lessons.batching.equations import (
    attention_flop,
    attention_flops,
    balanced_context,
    bandwidth,
    batch,
    bytes_per_param,
    chips,
    context,
    critical_batch,
    flop_per_param,
    flops,
    hbm,
    kv,
    memory_time,
    n_active,
    n_total,
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
    "tokens of each sequence in one pass: 1 in decode, many in prefill",
    "len_pass",
)
memory_ratio = declare("memory_ratio", "r", "1", "memory time divided by compute time in a decode pass", "5×")
step_context = declare(
    "step_context", r"L_\mathrm{step}", "token/sequence", "context at which a price steps up", "200 k"
)
step_ratio = declare("step_ratio", r"\mu", "1", "price beyond the step divided by the price before it", "1.5×")
kv_layers = declare("kv_layers", r"n_\mathrm{KV}", "1", "layers with a KV cache of their own", "1")
kv_heads = declare("kv_heads", r"h_\mathrm{KV}", "1", "KV heads of a layer", "8")
query_heads = declare("query_heads", r"h_\mathrm{Q}", "1", "query heads of a layer")
head_dim = declare("head_dim", r"d_\mathrm{head}", "1", "values in a head's vector", "128")
kv_value_bytes = declare(
    "kv_value_bytes", r"b_\mathrm{KV}", "byte/token", "bytes of one cached value of a token", "not written: 1"
)
selected = declare(
    "selected", r"k_\mathrm{sel}", "token/sequence", "tokens that sparse attention selects for a new token"
)
blocks_read = declare(
    "blocks_read", r"k_\mathrm{block}", "token/sequence", "blocks whose entries are loaded for a new token"
)
entry_bytes = declare("entry_bytes", r"e_\mathrm{KV}", "byte/token", "bytes of a token's cache entry, in one layer")
index_bytes = declare(
    "index_bytes", r"e_\mathrm{idx}", "byte/token", "bytes of a token's index key, in one layer", zero=True
)
block = declare("block", r"m_\mathrm{block}", "1", "tokens that one summary covers")
tier_capacity = declare("tier_capacity", r"M_\mathrm{tier}", "byte", "capacity of a memory device", "capacity")
tier_bandwidth = declare("tier_bandwidth", r"W_\mathrm{tier}", "byte/s", "bandwidth of a memory device", "bandwidth")
tier_rent = declare("tier_rent", r"p_\mathrm{tier}", "USD/s", "rent of a memory device")
byte_price = declare("byte_price", "p_B", "USD/byte", "what a memory costs to buy")
service_life = declare("service_life", r"T_\mathrm{service}", "s", "time over which a device is paid off")
hold_time = declare("hold_time", r"T_\mathrm{hold}", "s", "time for which a cache is kept", zero=True)
run_time = declare("run_time", r"T_\mathrm{run}", "s", "time from a call's arrival to its answer's last token")
input_price = declare("input_price", r"p_\mathrm{in}", "USD/token", "price of an input token", "$5 per million")
output_price = declare("output_price", r"p_\mathrm{out}", "USD/token", "price of an output token", "$25 per million")
premium = declare(
    "premium", r"p_\mathrm{hold}", "USD/token", "price of keeping a token's KV cache, on top of its input price"
)
write_ratio = declare(
    "write_ratio", r"\omega", "1", "price of writing a token to the cache divided by its input price", "1.25"
)
read_ratio = declare(
    "read_ratio", r"\varrho", "1", "price of a cache hit divided by the input price", "1/10", zero=True
)
hit_rate = declare(
    "hit_rate", r"h_\mathrm{hit}", "1", "share of input tokens found in the prefix cache", zero=True, most=1
)
result("t_pass", r"t_\mathrm{pass}", "s", "time of one forward pass of several tokens per sequence")
result("pass_ratio", r"r_\ell", "1", "time per token of a pass, divided by that of a very long pass", "t/len_pass")
result(
    "kv_implied", r"\kappa_\mathrm{card}", "byte/token", "KV cache of a token that a price step implies", "almost 2 kB"
)
result("context_ratio", "r_L", "1", "cost of a token at a context divided by its cost at a short one, in a large batch")
result("context_covered", r"L_\mathrm{pay}", "token/sequence", "context up to which a price covers the cost")
result("context_implied", r"L_\mathrm{card}", "token/sequence", "mean context of decode that a price ratio implies")
result(
    "context_flop",
    r"L_\mathrm{att}",
    "token/sequence",
    "context at which attention takes as many FLOPs as the weights",
)
result(
    "sparse_read",
    r"V_\mathrm{sparse}",
    "byte/sequence",
    "bytes of one layer that sparse attention loads for a new token",
)
result(
    "sparse_saving", r"z_\mathrm{sparse}", "1", "bytes that dense attention loads divided by those of sparse attention"
)
result("entries_read", r"n_\mathrm{read}", "token/sequence", "cache entries that are loaded for a new token")
result("block_best", r"m^{*}_\mathrm{block}", "1", "block length with the least memory traffic")
result("c_remat", r"c_\mathrm{remat}", "USD/token", "cost of computing a token's KV cache again")
result("c_hold", r"c_\mathrm{hold}", "USD/token", "cost of keeping a token's KV cache")
result("c_retrieve", r"c_\mathrm{get}", "USD/token", "cost of loading a token's KV cache back into HBM")
result("c_cached", r"c_\mathrm{cache}", "USD/token", "cost of keeping a token's KV cache and loading it back once")
result("hold_even", r"T_\mathrm{even}", "s", "time for which keeping costs as much as computing again")
result("call_rate", r"\nu_\mathrm{call}", "sequence/s", "calls that a replica finishes in a second")
result("uses_even", r"n_\mathrm{uses}", "1", "uses of a prompt at which writing it to the cache breaks even")
result("price_blended", r"\bar{p}_\mathrm{in}", "USD/token", "price of an input token, hits and writes taken together")
result("hit_rate_even", r"h_\mathrm{even}", "1", "hit rate from which on writing prompts to a cache pays")
result("byte_rent", "p_{B,s}", "USD/byte/s", "rent of a byte that a price implies")
result("margin", r"z_\mathrm{price}", "1", "price divided by the cost of the compute", "close to 1")


DEEPSEEK_SPARSE = Source("deepseekv32")
large = ("the batch is large enough to share the weights", "prices follow costs by one factor")

# --- from the context step to the KV cache ---------------------------------------------------------------------------

kv_implied = Formula(
    "pricing.kv_implied",
    "kv_implied",
    flop_per_param * new_token * n_active * bandwidth / (flops * step_context),
    "byte/token",
    "if a price steps up where loading the KV cache begins to take longer than compute, the step reveals the KV cache"
    " of a token",
    (*large, "the step is at the balanced context", "dense attention"),
    lecture("1:38:22"),
    typeset=Mul(2 * bandwidth / flops, n_active / step_context, evaluate=False),
)
kv_of_heads = Formula(
    "pricing.kv_of_heads",
    "kv_bytes_per_token",
    2 * kv_layers * kv_heads * head_dim * kv_value_bytes,
    "byte/token",
    "each layer with its own cache keeps a key and a value for every KV head",
    ("keys and values are as wide",),
    lecture("1:40:08"),
    typeset=Mul(2, kv_layers, kv_heads, head_dim, kv_value_bytes, evaluate=False),
)
context_ratio = Formula(
    "pricing.context_ratio",
    "context_ratio",
    Max(1, context / context_balanced),
    "1",
    "in a large batch an output token costs the same up to the balanced context; beyond it, cost grows in proportion"
    " to the context",
    ("the batch is large enough to share the weights", "dense attention"),
    lecture("1:34:13"),
)
context_covered = Formula(
    "pricing.context_covered",
    "context_covered",
    step_ratio * step_context,
    "token/sequence",
    "beyond the step, a price that is higher by some factor covers a context that is longer by the same factor",
    ("the price before the step just covers the cost at the step", "no margin"),
    DERIVED,
    conditions=(Le(1, step_ratio),),
    typeset=Mul(step_ratio, step_context, evaluate=False),
)

# --- from the price of output to what decoding waits for --------------------------------------------------------------

pass_compute = Formula(
    "pricing.pass_compute",
    "t_compute",
    flop_per_param * batch * pass_tokens * n_active / real_flops,
    "s",
    "every token of the pass takes two FLOPs per active parameter",
    ("attention's own FLOPs are left out",),
    lecture("1:42:28"),
)
pass_time = Formula(
    "pricing.pass_time",
    "t_pass",
    Max(pass_compute.typed, memory_time.typed),
    "s",
    "a pass loads the weights and the KV cache once for all of its tokens",
    ("scores of the pass stay on the chip",),
    lecture("1:42:28"),
    {"compute": pass_compute, "memory": memory_time},
)
pass_ratio = Formula(
    "pricing.pass_ratio",
    "pass_ratio",
    Max(1, memory_ratio * new_token / pass_tokens),
    "1",
    "the tokens of a pass share its memory traffic, but each needs its own compute",
    ("batch and context stay the same",),
    lecture("1:45:11"),
)
memory_ratio_of = Formula(
    "pricing.memory_ratio_of",
    "memory_ratio",
    critical_batch.typed / batch + context / balanced_context.typed,
    "1",
    "memory time divided by compute time in decode: the weights' part falls with the batch, the KV cache's part grows"
    " with the context",
    ("dense attention",),
    DERIVED,
    typeset=Mul(
        flops / (2 * bandwidth * n_active),
        Add(bytes_per_param * n_total / batch, kv * context, evaluate=False),
        evaluate=False,
    ),
)
context_implied = Formula(
    "pricing.context_implied",
    "context_implied",
    context_balanced * (output_price / input_price - symbol("batch_critical") / batch),
    "token/sequence",
    "if input is priced by compute and output by memory traffic, their ratio reveals the mean context of decode",
    (
        "prices follow costs by one factor",
        "prefill is bound by compute, decode by memory",
        "attention's own FLOPs are left out",
    ),
    DERIVED,
    conditions=(Le(symbol("batch_critical") / batch, output_price / input_price),),
)
decode_mfu = Formula(
    "pricing.decode_mfu",
    "mfu",
    Min(1, input_price / output_price),
    "1",
    "if output costs five times as much as input, decode uses a fifth of the compute",
    (
        "prices follow costs by one factor",
        "prefill reaches the peak",
        "a token takes as much compute as output as it takes as input",
    ),
    lecture("1:45:11"),
)

# --- long contexts ----------------------------------------------------------------------------------------------------

flop_per_token = Formula(
    "pricing.flop_per_token",
    "flop_per_token",
    flop_per_param * n_active + attention_flop * context,
    "FLOP/token",
    "a new token takes two FLOPs per active parameter, and attends to every earlier token",
    ("dense attention",),
    lecture("1:51:42"),
)
attention_of_heads = Formula(
    "pricing.attention_of_heads",
    "attention_flop",
    2 * flop_per_param * one_entry * layers * query_heads * head_dim / new_token,
    "FLOP*sequence/token**2",
    "for each earlier token, every query head computes a score and adds a weighted value",
    ("keys and values are as wide",),
    DERIVED,
    typeset=Mul(4, layers, query_heads, head_dim, evaluate=False),
)
context_flop = Formula(
    "pricing.context_flop",
    "context_flop",
    flop_per_param * n_active / attention_flop,
    "token/sequence",
    "beyond this context attention takes more FLOPs than the weights",
    ("dense attention",),
    DERIVED,
)
sparse_read = Formula(
    "pricing.sparse_read",
    "sparse_read",
    context * index_bytes + Min(selected, context) * entry_bytes,
    "byte/sequence",
    "sparse attention loads an index key of every token, and the full entries of those that it selects",
    (),
    DEEPSEEK_SPARSE,
    typeset=Add(Mul(context, index_bytes), Mul(Min(selected, context), entry_bytes), evaluate=False),
)
sparse_saving = Formula(
    "pricing.sparse_saving",
    "sparse_saving",
    context * entry_bytes / sparse_read.typed,
    "1",
    "every token's index key is loaded, so the saving is less than entry size divided by key size",
    (),
    DERIVED,
)
block_read = Formula(
    "pricing.block_read",
    "entries_read",
    context / block + blocks_read * block,
    "token/sequence",
    "block attention loads a summary of every block, and all entries of the selected blocks",
    ("a summary is as large as an entry",),
    DERIVED,
    conditions=(Le(1, block),),
)
block_best = Formula(
    "pricing.block_best",
    "block_best",
    sqrt(context / blocks_read),
    "1",
    "longer blocks mean fewer summaries but more entries in the selected blocks",
    block_read.assumes,
    DERIVED,
    conditions=(Le(blocks_read, context),),
)
block_read_best = Formula(
    "pricing.block_read_best",
    "entries_read",
    2 * sqrt(blocks_read * context),
    "token/sequence",
    "with blocks of the best length, memory traffic grows with the square root of the context",
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
    "after a short prompt, a token whose KV cache was not kept is computed again at this rent of the chips",
    ("prefill is bound by compute", "attention's own FLOPs are left out"),
    lecture("1:55:13"),
    typeset=Mul(2 * n_active / flops, chips, rent, evaluate=False),
)
hbm_hold = Formula(
    "pricing.hbm_hold",
    "c_hold",
    rent * chips * kv * hold_time / hbm,
    "USD/token",
    "a token's KV cache takes a share of the memory, and pays that share of the rent while it is kept",
    ("waiting caches fill the memory, so it carries all of the rent",),
    lecture("1:55:13"),
    typeset=Mul(kv / hbm, hold_time, chips, rent, evaluate=False),
)
hbm_even = Formula(
    "pricing.hbm_even",
    "hold_even",
    flop_per_param * n_active * hbm / (kv * real_flops),
    "s",
    "after a short prompt, keeping a KV cache in HBM is cheaper up to this time than computing it again; the rent"
    " cancels",
    (*remat_cost.assumes, *hbm_hold.assumes),
    DERIVED,
    typeset=Mul(2 * n_active / flops, hbm / kv, evaluate=False),
)
_again = flop_per_param * n_active / real_flops + attention_flop * context / attention_flops  # seconds of a replica
_again_typeset = Add(2 * n_active / flops, attention_flop * context / attention_flops, evaluate=False)
again_cost = Formula(
    "pricing.again_cost",
    "c_remat",
    rent * chips * _again,
    "USD/token",
    "a new token is computed with the active parameters, and attends to every token before it",
    ("prefill is bound by compute", "unpacking is left out"),
    DERIVED,
    typeset=Mul(_again_typeset, chips, rent, evaluate=False),
)
again_even = Formula(
    "pricing.again_even",
    "hold_even",
    _again * hbm / kv,
    "s",
    "up to this time, keeping a token's KV cache in HBM at its full rent is cheaper than computing it again; the rent"
    " cancels",
    (*again_cost.assumes, *hbm_hold.assumes),
    DERIVED,
    typeset=Mul(_again_typeset, hbm / kv, evaluate=False),
)
call_rate = Formula(
    "pricing.call_rate",
    "call_rate",
    batch / (hold_time + run_time),
    "sequence/s",
    "each conversation takes a place in memory while its call runs and while its cache waits for the next",
    ("conversations take all of the room beside the weights", "caches wait in HBM"),
    DERIVED,
    typeset=Mul(batch, 1 / Add(hold_time, run_time, evaluate=False), evaluate=False),
)
tier_hold = Formula(
    "pricing.tier_hold",
    "c_hold",
    tier_rent * kv * hold_time / tier_capacity,
    "USD/token",
    "a cache rents its share of the device for as long as it is kept",
    ("the device is full",),
    lecture("1:55:13"),
    typeset=Mul(kv / tier_capacity, hold_time, tier_rent, evaluate=False),
)
tier_retrieve = Formula(
    "pricing.tier_retrieve",
    "c_retrieve",
    tier_rent * kv / tier_bandwidth,
    "USD/token",
    "loading a cache keeps the whole device busy for the time of the transfer",
    ("the transfer keeps nothing else busy",),
    lecture("1:55:13"),
    typeset=Mul(kv / tier_bandwidth, tier_rent, evaluate=False),
)
tier_cost = Formula(
    "pricing.tier_cost",
    "c_cached",
    tier_hold.typed + tier_retrieve.typed,
    "USD/token",
    "a cache outside HBM costs rent while it is kept, and a transfer when it is needed",
    (*tier_hold.assumes, *tier_retrieve.assumes),
    lecture("1:59:29"),
    {"hold": tier_hold, "retrieve": tier_retrieve},
    typeset=Mul(Add(hold_time / tier_capacity, 1 / tier_bandwidth, evaluate=False), kv, tier_rent, evaluate=False),
)
tier_drain = Formula(
    "pricing.tier_drain",
    "drain",
    tier_capacity / tier_bandwidth,
    "s",
    "a cache kept for one drain time costs as much to hold as to load back",
    tier_cost.assumes,
    lecture("2:02:02"),
)
rent_of_price = Formula(
    "pricing.rent_of_price",
    "tier_rent",
    byte_price * tier_capacity / service_life,
    "USD/s",
    "a device that was bought, paid off evenly over its life",
    ("power, servers and interest are left out",),
    DERIVED,
)

# --- from cache prices to times and bytes -----------------------------------------------------------------------------

uses_even = Formula(
    "pricing.uses_even",
    "uses_even",
    (write_ratio - read_ratio) / (1 - read_ratio),
    "1",
    "one write and hits ever after cost as much as paying for input each time",
    ("every later use comes in time to hit",),
    DERIVED,
    conditions=(Le(read_ratio, Rational(999, 1000)), Le(1, write_ratio)),
)
price_blended = Formula(
    "pricing.price_blended",
    "price_blended",
    input_price * (hit_rate * read_ratio + (1 - hit_rate) * write_ratio),
    "USD/token",
    "hits at the price of a hit, the rest at the price of a write",
    ("all that misses is written",),
    DERIVED,
)
hit_rate_even = Formula(
    "pricing.hit_rate_even",
    "hit_rate_even",
    (write_ratio - 1) / (write_ratio - read_ratio),
    "1",
    "below this hit rate the surcharge for writing costs more than hits save",
    price_blended.assumes,
    DERIVED,
    conditions=(Le(1, write_ratio), Le(read_ratio, 1)),
)
byte_rent = Formula(
    "pricing.byte_rent",
    "byte_rent",
    premium / (kv * hold_time),
    "USD/byte/s",
    "what a customer pays per byte and second, if the whole premium pays for keeping",
    ("nothing but the KV cache is held",),
    DERIVED,
)
input_margin = Formula(
    "pricing.input_margin",
    "margin",
    input_price / remat_cost.typed,
    "1",
    "the input price divided by the rent of the chips that compute it",
    remat_cost.assumes,
    DERIVED,
)
