"""Consistency of what is published on KV caches, blocks and prefix hits."""

from __future__ import annotations

import re

from blackboard.catalogue import model
from blackboard.catalogue.architecture import VLLM_FP8, bytes_per_param
from blackboard.lessons.paging import equations as paging
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.sparsity import equations as sparsity
from blackboard.units import factor
from blackboard.validation import records
from blackboard.validation.consistency import arithmetic
from blackboard.validation.consistency.check import EXACT, Check
from blackboard.validation.records import listed, net, noted

VLLM, BLOCK, COPILOT, HYBRID, AGENT = (
    "vllm_paper",
    "vllm_block_bytes",
    "copilot_agents_2026",
    "hybrid_cache_blocks",
    "agent_traces",
)
TWICE, NEEDED = "prefix_cache_duplicates", "hybrid_prefix_hits"

CACHES = (
    Check(
        VLLM,
        "slots",
        "token",
        "room for the cache over the bytes of a token",
        lambda r: (r["kv_tokens"], arithmetic.slots(r)),
        (sparsity.batch_fits, pricing.kv_of_heads),
    ),
    Check(
        VLLM,
        "weights",
        "GB",
        "two bytes a parameter",
        lambda r: (r["weights_GB"], bytes_per_param("fp16") * float(re.findall(r"\d+", r["model"])[0])),
    ),
    Check(
        "vllm_kv_use",
        "shares",
        "1",
        "all that the cache is used for",
        lambda r: (
            r["system"] != "vLLM"
            and (sum(each["share"] for each in records.records("vllm_kv_use", system=r["system"])), 1)
        ),
        where={"use": "tokens"},
    ),
    Check(
        "vllm_kv_use",
        "paged",
        "1",
        "tokens of a mean sequence over its blocks, half of the last one empty; what else vLLM loses is not said",
        lambda r: (r["share"], arithmetic.paged_share()),
        (paging.use_paged,),
        0.03,
        {"system": "vLLM"},
    ),
    Check(
        "vllm_batched_requests",
        "batch, reserved",
        "1",
        "slots over the longest sequence, whole ones",
        lambda r: (r["batch"], arithmetic.reserved_batch()),
        (sparsity.batch_fits,),
        EXACT,
        {"system": "Orca (Max)"},
    ),
    Check(
        BLOCK,
        "block of all layers",
        "MiB",
        "tokens times bytes over the chips",
        lambda r: net(r["model"]) and (r["new_block_MiB"], arithmetic.block(r) / factor("MiB")),
        (pricing.kv_of_heads,),
        EXACT,
    ),
    Check(
        BLOCK,
        "block of a layer",
        "KiB",
        "keys or values of one layer",
        lambda r: (
            (found := net(r["model"]))
            and (r["old_block_KiB"], arithmetic.block(r) / (2 * found.layers) / factor("KiB"))
        ),
        (pricing.kv_of_heads,),
        EXACT,
    ),
    Check(
        AGENT,
        "context late in a trace",
        "token",
        "start, and so many times the growth",
        lambda r: (r["end_tokens"], r["start_tokens"] + r["growth_tokens"] * noted(AGENT, r"by turn (\d+)")),
    ),
    Check(
        "prefix_cache_hit_rates",
        "hit rate of an agent",
        "1",
        "what the turn before had, by turns, start and growth",
        lambda r: (r["hit_rate"], arithmetic.agent_hits()),
        (paging.hit_rate_turns,),
        where={"workload": "Codex on SWE-bench Pro, what the traces allow"},
    ),
    Check(
        "prefix_cache_gains",
        "cost of looking",
        "1",
        "time spent over time of the run",
        lambda r: (r["ratio"], records.quotient(r["what"], r"[\d.]+")),
        where={"setting": "ShareGPT, nothing to reuse"},
    ),
    Check(
        "kimi_cache_size",
        "cache",
        "GB",
        "in vLLM's FP8 layout; the post does not say which it means, and a byte a value gives 3.5 GB",
        lambda r: (r["kv_GB"], model("kimi-k2").kv_bytes(r["context_tokens"], VLLM_FP8) / 1e9),
        limit=0.055,
    ),
    Check(
        "cuda_graph_cache_lost",
        "cache",
        "GB",
        "tokens times bytes, FP8",
        lambda r: (r["kv_GB"], r["kv_tokens"] * arithmetic.cached(net(r["model"]), "fp8") / 1e9),
    ),
    Check(
        "prefix_cache_example",
        "blocks",
        "1",
        "tokens over those of a block, rounded up",
        arithmetic.example_blocks,
        (paging.page_blocks,),
        EXACT,
    ),
    Check(
        "prefix_cache_example",
        "blocks found",
        "1",
        "whole blocks of what is common",
        arithmetic.example_hits,
        (paging.hit_tokens,),
        EXACT,
    ),
    Check(
        TWICE,
        "blocks",
        "1",
        "tokens over those of a block, rounded up",
        lambda r: (
            listed(r, "block_table"),
            paging.page_blocks(context=r["tokens"], page_tokens=arithmetic.page(TWICE)),
        ),
        (paging.page_blocks,),
        EXACT,
    ),
    Check(
        "hybrid_cache_groups",
        "groups",
        "1",
        "as many layers each as the rarer kind has",
        lambda r: (r["groups"], len(arithmetic.groups(r))),
        limit=EXACT,
    ),
    Check(
        "hybrid_cache_groups",
        "layers and padding",
        "1",
        "groups times layers",
        lambda r: (r["full_layers"] + r["window_layers"] + r["padding_layers"], r["groups"] * r["group_layers"]),
        limit=EXACT,
    ),
    Check(
        HYBRID,
        "blocks",
        "1",
        "tokens, or the window, over those of a block, rounded up",
        lambda r: (listed(r, "block_ids"), arithmetic.hybrid_blocks(r)),
        (paging.page_blocks,),
        EXACT,
    ),
    Check(
        HYBRID,
        "all blocks",
        "1",
        "of a full group and those with a window",
        lambda r: (noted(HYBRID, r"(\d+) in all"), arithmetic.hybrid_blocks()),
        (paging.hybrid_blocks,),
        EXACT,
        {"group": "full"},
    ),
    Check(
        NEEDED,
        "tokens needed",
        "1",
        "those before the first computed that its window sees",
        lambda r: (listed(r, "needed_tokens"), noted(NEEDED, r"window of (\d+)") - 1),
        limit=EXACT,
    ),
    *(
        Check(
            COPILOT,
            f"{what} of a {whole}",
            "1",
            "totals over totals; the source prints these means too",
            lambda r, what=what, whole=whole: (noted(COPILOT, rf"([\d.]+) {what} a {whole}"), r[what] / r[f"{whole}s"]),
        )
        for what, whole in (("turns", "session"), ("calls", "turn"))
    ),
)
