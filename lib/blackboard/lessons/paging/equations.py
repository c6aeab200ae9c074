"""Formulas of the paging lesson: what a cache in blocks wastes, holds and is worth, and what a shared prefix saves.

A block holds the KV of `page_tokens` tokens of one sequence, for all layers that share a block table.
"""

from __future__ import annotations

from sympy import Le, ceiling, floor

from blackboard.formula import DERIVED, Formula, Max, Min, Source
from blackboard.lessons.batching.equations import (
    batch,
    chips,
    compute_time,
    context,
    cost_per_token,
    kv,
    kv_time,
    new_token,
    rent,
    weight_time,
)
from blackboard.lessons.pricing.equations import (  # some only for this lesson's page and problems
    entry_bytes,
    hit_rate,
)
from blackboard.lessons.pricing.equations import hit_rate_even as hit_rate_even
from blackboard.lessons.pricing.equations import price_blended as price_blended
from blackboard.lessons.pricing.equations import read_ratio as read_ratio
from blackboard.lessons.pricing.equations import write_ratio as write_ratio
from blackboard.lessons.sparsity.equations import batch_fits
from blackboard.notation import declare, result

# --- symbols ----------------------------------------------------------------------------------------------------------

page_tokens = declare("page_tokens", r"m_\mathrm{page}", "token/sequence", "tokens of one block of the KV cache")
reserved_context = declare(
    "reserved_context", r"L_\mathrm{max}", "token/sequence", "tokens for which room is set aside for each sequence"
)
kv_use = declare("kv_use", r"u_\mathrm{KV}", "1", "share of the cache's memory that holds tokens", most=1)
paging_overhead = declare(
    "paging_overhead",
    r"o_\mathrm{page}",
    "1",
    "share by which following a block table lengthens the loading of the cache",
    zero=True,
)
common_context = declare(
    "common_context",
    r"L_\mathrm{same}",
    "token/sequence",
    "tokens at the head of two requests that are the same",
    zero=True,
)
turns = declare("turns", r"n_\mathrm{turn}", "1", "requests of one conversation")
start_context = declare("start_context", "L_0", "token/sequence", "context of a conversation's first request")
turn_growth = declare(
    "turn_growth", r"g_\mathrm{turn}", "token/sequence", "tokens that each turn adds to the context", zero=True
)
cache_bytes = declare("cache_bytes", r"M_\mathrm{cache}", "byte", "memory that keeps the KV of prefixes")
working_set = declare("working_set", r"D_\mathrm{set}", "token", "tokens of all conversations in progress")
servers = declare(
    "servers", r"n_\mathrm{server}", "1", "servers to which requests are sent, each with a prefix cache of its own"
)
full_layers = declare("full_layers", r"n_\mathrm{full}", "1", "layers with full attention")
window_layers = declare("window_layers", r"n_\mathrm{win}", "1", "layers with a sliding window", zero=True)
window = declare("window", r"L_\mathrm{win}", "token/sequence", "tokens that a sliding window keeps")
full_groups = declare("full_groups", r"g_\mathrm{full}", "1", "groups of full-attention layers that share block tables")
window_groups = declare(
    "window_groups", r"g_\mathrm{win}", "1", "groups of sliding-window layers that share block tables", zero=True
)
result("page_blocks", r"n_\mathrm{page}", "1", "blocks that hold one sequence's cache, in one group of layers")
result(
    "page_waste",
    r"L_\mathrm{waste}",
    "token/sequence",
    "room for tokens that a sequence's last block leaves empty, on average",
)
result("batch_held", r"B_\mathrm{held}", "sequence", "sequences that memory holds at once")
result("hit_rate_room", r"h_\mathrm{room}", "1", "share of input tokens found in a prefix cache that may be too small")
result("hit_tokens", r"L_\mathrm{hit}", "token/sequence", "tokens of a request whose KV is found in whole blocks")
result(
    "hybrid_saving",
    r"z_\mathrm{win}",
    "1",
    "cache with full attention in all layers, divided by that of full and window layers",
)


VLLM, VLLM_PREFIX, VLLM_HYBRID = Source("kwon2023"), Source("vllm_prefix_caching"), Source("vllm_hybrid")
any_rest = "every filling of the last block is equally likely, and a sequence has more than one token"

# --- room -------------------------------------------------------------------------------------------------------------

use_reserved = Formula(
    "paging.use_reserved",
    "kv_use",
    context / reserved_context,
    "1",
    "a reservation is as long as the longest sequence and holds one of mean length",
    ("no two reservations overlap",),
    VLLM,
    conditions=(Le(context, reserved_context),),
)
page_blocks = Formula(
    "paging.page_blocks",
    "page_blocks",
    ceiling(context / page_tokens),
    "1",
    "a sequence takes whole blocks, the last of them partly empty",
    (),
    VLLM,
)
page_waste = Formula(
    "paging.page_waste",
    "page_waste",
    (page_tokens - new_token) / 2,
    "token/sequence",
    "between none and all but one of the last block's slots are empty: on average half a block, less half a slot",
    (any_rest,),
    DERIVED,
    conditions=(Le(new_token, page_tokens),),
)
use_paged = Formula(
    "paging.use_paged",
    "kv_use",
    context / (context + page_waste.typed),
    "1",
    "only the last block is partly empty, so long sequences waste almost nothing",
    (any_rest,),
    DERIVED,
    conditions=page_waste.conditions,
)
batch_held = Formula(
    "paging.batch_held",
    "batch_held",
    kv_use * batch_fits.typed,
    "sequence",
    "the memory that the weights leave, times the share that holds tokens",
    ("what activations take is first taken off the memory",),
    DERIVED,
    conditions=batch_fits.conditions,
)
paged_cost = Formula(
    "paging.paged_cost",
    "cost",
    rent
    * chips
    * Max(compute_time.typed, weight_time.typed + (1 + paging_overhead) * kv_time.typed)
    / (batch * new_token),
    "USD/token",
    "following the block table makes loading the cache a little slower",
    cost_per_token.assumes,
    DERIVED,
)

# --- a prefix that is there already -----------------------------------------------------------------------------------

hit_tokens = Formula(
    "paging.hit_tokens",
    "hit_tokens",
    page_tokens * floor(common_context / page_tokens),
    "token/sequence",
    "only whole blocks are found again",
    ("the blocks are still there", "the second request goes on beyond what is common"),
    VLLM_PREFIX,
)
hit_rate_turns = Formula(
    "paging.hit_rate_turns",
    "hit_rate",
    1 - (start_context + turn_growth * (turns - 1)) / (turns * start_context + turn_growth * turns * (turns - 1) / 2),
    "1",
    "each turn sends the whole context again, and only what the last turn added is new",
    (
        "nothing is thrown out between turns",
        "every turn adds as much",
        "all that a turn adds is new, the answer before it too",
        "blocks are short",
    ),
    DERIVED,
    conditions=(Le(1, turns),),
)
hit_rate_room = Formula(
    "paging.hit_rate_room",
    "hit_rate_room",
    hit_rate * Min(1, cache_bytes / (kv * working_set)),
    "1",
    "with turns at random, room for half of the working set finds half of the hits",
    ("turns come at random", "every conversation is as long", "none has ended"),
    DERIVED,
)

# --- layers that keep only a window -----------------------------------------------------------------------------------

hybrid_blocks = Formula(
    "paging.hybrid_blocks",
    "page_blocks",
    full_groups * ceiling(context / page_tokens)
    + window_groups * (ceiling(context / page_tokens) - floor(Max(0, context - window + new_token) / page_tokens)),
    "1",
    "groups of full layers keep every block, groups of window layers those that the next token's window still reaches",
    ("the next token's window holds that token itself",),
    VLLM_HYBRID,
)
hybrid_kv = Formula(
    "paging.hybrid_kv",
    "kv_bytes_per_token",
    entry_bytes * (full_layers + window_layers * Min(1, window / context)),
    "byte/token",
    "past the window, a longer context adds only to the full layers",
    ("all layers' entries are as large",),
    DERIVED,
)
hybrid_saving = Formula(
    "paging.hybrid_saving",
    "hybrid_saving",
    (full_layers + window_layers) / (full_layers + window_layers * Min(1, window / context)),
    "1",
    "the saving grows with the context, up to all layers divided by full layers",
    hybrid_kv.assumes,
    DERIVED,
)
