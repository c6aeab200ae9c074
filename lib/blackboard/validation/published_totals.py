"""The closings: what each data set's numbers must add up to. See `closure` for their rows, and for what does not
close.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from blackboard.catalogue import chip, model, price
from blackboard.catalogue.architecture import VLLM_FP8, bytes_per_param
from blackboard.formula import Formula
from blackboard.lessons.batching import equations as batching
from blackboard.lessons.corpus import equations as corpus
from blackboard.lessons.overtraining import equations as overtraining
from blackboard.lessons.paging import equations as paging
from blackboard.lessons.pipelining import equations as pipelining
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.reversibility import equations as reversibility
from blackboard.lessons.sparsity import equations as sparsity
from blackboard.lessons.speculation import equations as speculation
from blackboard.prediction.rows import LIMIT
from blackboard.units import factor
from blackboard.validation import records, sums
from blackboard.validation.records import Record, listed, net, noted, only

EXACT = 0.0


class Closing(NamedTuple):
    """One sum that the records of a data set must satisfy, those whose cells are as `where` says."""

    data: str
    part: str
    unit: str
    why: str  # what is computed, in words
    make: Callable[..., Any]  # the Pair of a record, or something false where it says nothing
    formulas: tuple[Formula, ...] = ()
    limit: float = LIMIT
    where: dict[str, Any] = {}
    by: tuple[
        str, ...
        # columns that name a record, of which only the first is taken; without them the first columns that tell all
        # apart
    ] = ()


DAY, RUN, COST, NETWORKS = (
    "deepseek_day6_production",
    "deepseek_v3_training",
    "deepseek_v3_training_cost",
    "deepseek_isca25_training",
)
EP, UNITS, STEP, COMPUTE = (
    "deepseek_isca25_ep_latency",
    "deepseek_v3_deployment_units",
    "deepseek_isca25_step",
    "deepseek_isca25_training_compute",
)


def of_peak(rate: float, id: str) -> float:
    """Share of a chip's dense BF16 peak, of a rate in TFLOP/s."""
    return rate * 1e12 / chip(id).flops("bf16")


def compute(r: Record) -> float:
    """FLOP of training, six a parameter and token."""
    return overtraining.pretrain_compute(n_active=r["n_total"], pretrain_tokens=r["pretraining_tokens"])


def mtp(r: Record) -> tuple[float, float]:
    """Gain by one token drafted for nothing, at the lower acceptance."""
    return r["speedup"], speculation.tokens_per_round(acceptance=r["acceptance_low"], drafted=1)


DEEPSEEK = (
    Closing(
        DAY,
        "cost of a day",
        "USD",
        "nodes times chips times rent times 24 hours",
        lambda r: (
            r["cost_USD_per_day"],
            r["average_nodes"] * r["gpus_per_node"] * r["rent_USD_per_GPU_per_hour"] * factor("day") / factor("hour"),
        ),
        limit=EXACT,
    ),
    Closing(
        DAY,
        "nodes",
        "1",
        "tokens a second over a node's rate, of prefill and of decode",
        lambda r: (r["average_nodes"], sums.nodes(r)),
        (sparsity.racks_needed,),
    ),
    Closing(
        DAY,
        "hit rate",
        "1",
        "input found in the cache over all input",
        lambda r: (r["hit_rate"], r["cached_input_token_per_day"] / r["input_token_per_day"]),
    ),
    Closing(
        DAY,
        "revenue of a day",
        "USD",
        "hits, misses and output at their prices",
        lambda r: (r["revenue_USD_per_day"], sums.revenue(r)),
        (paging.price_blended,),
    ),
    Closing(
        DAY,
        "profit over cost",
        "1",
        "revenue over cost, less 1",
        lambda r: (r["profit_ratio"], r["revenue_USD_per_day"] / r["cost_USD_per_day"] - 1),
    ),
    *(
        Closing(
            DAY,
            f"price of {what}",
            "USD/megatoken",
            "as DeepSeek's price card has it",
            lambda r, what=what, name=name: (
                r[f"{what}_price_USD_per_Mtoken"],
                getattr(price("deepseek-r1@2025-01-20").usd_per_Mtok, name),
            ),
            limit=EXACT,
        )
        for what, name in (("cached", "cached_read"), ("input", "input"), ("output", "output"))
    ),
    Closing(
        UNITS,
        "chips",
        "GPU",
        "nodes times chips of a node",
        lambda r: (r["gpus"], r["nodes"] * chip("h800").scale_up.domain_chips),
        limit=EXACT,
    ),
    Closing(
        UNITS,
        "attention",
        "GPU",
        "tensor times data parallelism",
        lambda r: (r["gpus"], r["attention_tensor_parallel"] * r["attention_data_parallel"]),
        limit=EXACT,
    ),
    Closing(
        UNITS,
        "experts of a chip",
        "1/GPU",
        "experts and their copies over the chips",
        lambda r: (
            r["routed_experts_per_gpu"],
            racks.experts_per_chip(
                experts=model("deepseek-v3").moe.experts + r["redundant_experts"], expert_parallel=r["expert_parallel"]
            ),
        ),
        (racks.experts_per_chip,),
        EXACT,
    ),
    Closing(
        EP,
        "one exchange",
        "us",
        "bytes out and back over the link",
        lambda r: (r["exchange_us"], sums.exchange(r)[0] / factor("us")),
        (racks.ep_time,),
        EXACT,
    ),
    Closing(
        EP,
        "time of a token",
        "ms",
        "two exchanges in each of 61 layers",
        lambda r: (r["output_token_ms"], sums.exchange(r)[1] / factor("ms")),
        (racks.comm_time,),
    ),
    Closing(
        EP,
        "tokens a second",
        "token/s",
        "the inverse of a token's time; the paper rounds down",
        lambda r: (r["output_token_per_s"], 1 / sums.exchange(r)[1]),
        (racks.comm_time,),
    ),
    Closing(
        "deepseek_isca25_kv",
        "cache of a token",
        "byte",
        "keys and values, or latents, of all layers",
        lambda r: (r["kv_byte_per_token"], sums.cached(net(r["model"]))),
        (pricing.kv_of_heads,),
        EXACT,
    ),
    Closing(
        COMPUTE,
        "compute of a token",
        "GFLOP",
        "six FLOP a parameter that multiplies, and causal attention forward and twice back",
        sums.token_compute,
        (overtraining.pretrain_compute, pricing.flop_per_token, pricing.attention_of_heads),
    ),
    Closing(
        NETWORKS,
        "share of peak",
        "1",
        "compute of a token times tokens a second over the chips' peak",
        lambda r: (r["mfu"], sums.isca_mfu(r)),
        (corpus.mfu_reached, overtraining.pretrain_compute),
    ),
    Closing(
        NETWORKS,
        "batch",
        "token",
        "rate times step, as on the other network",
        lambda r: tuple(
            each["throughput_token_per_day"] / factor("day") * each["step_s"]
            for each in (r, only(NETWORKS, network="multi-plane fat tree"))
        ),
        where={"network": "multi-rail fat tree"},
    ),
    Closing(
        STEP,
        "parts of a step",
        "s",
        "forward, backward, weight gradients, overlapped, bubble, optimizer",
        lambda r: (
            only(NETWORKS, network="multi-plane fat tree")["step_s"],
            sum(
                r[f"{part}_s"]
                for part in ("forward", "backward", "weight_gradient", "overlapped", "bubble", "optimizer")
            ),
        ),
    ),
    *(
        Closing(
            STEP,
            f"share of peak, {way}",
            "1",
            "rate over the chip's BF16 peak",
            lambda r, way=way: (r[f"{way}_mfu"], of_peak(r[f"{way}_TFLOP_per_s"], "h800")),
        )
        for way in ("causal", "full")
    ),
    Closing(
        COST,
        "cost",
        "USD",
        "hours times rent",
        lambda r: (r["cost_USD"], r["training_GPU_hours"] * only(RUN)["rent_USD_per_GPU_per_hour"]),
        limit=EXACT,
    ),
    Closing(
        COST,
        "all hours",
        "GPU*hour",
        "the sum of the stages",
        lambda r: (
            r["training_GPU_hours"],
            sum(each["training_GPU_hours"] for each in records.records(COST) if each["stage"] != "all"),
        ),
        limit=EXACT,
        where={"stage": "all"},
    ),
    Closing(
        COST,
        "hours of pre-training",
        "GPU*hour",
        "hours a trillion times trillions",
        lambda r: (
            r["training_GPU_hours"],
            only(RUN)["training_GPU_hour_per_Ttoken"] * only(RUN)["pretraining_tokens"] / 1e12,
        ),
        limit=EXACT,
        where={"stage": "pre-training"},
    ),
    Closing(
        RUN,
        "days a trillion tokens",
        "day",
        "hours over chips and 24",
        lambda r: (
            r["training_day_per_Ttoken"],
            r["training_GPU_hour_per_Ttoken"] / r["gpus"] * factor("hour") / factor("day"),
        ),
    ),
    Closing(
        "deepseek_isca25_mtp",
        "gain of a second token",
        "1",
        "tokens of a round at the lower acceptance, drafted for nothing",
        mtp,
        (speculation.tokens_per_round,),
    ),
    Closing(
        "deepseek_v3_mtp",
        "gain of a second token",
        "1",
        "tokens of a round at the lower acceptance; drafting is not quite free",
        mtp,
        (speculation.tokens_per_round,),
        0.03,
    ),
)

LLAMA, MEGATRON, KEPT, FIT = (
    "llama3_405b_parallelism",
    "megatron_2021_table1",
    "korthikanti_activation_formula",
    "scaling_law_constants",
)
GERMAN, TINY, PLATEAU, REPEATED = (
    "llammlein_training",
    "tinyllama_checkpoints",
    "moderngbert_plateaus",
    "repeated_data_runs",
)

TRAINING = (
    *(
        Closing(
            id,
            "parameters",
            "parameter",
            "counted from the architecture",
            lambda r: (found := net(r["model"])) and (r["n_total"], found.n_total),
        )
        for id in ("training_gpu_hours", "training_tokens", COMPUTE)
    ),
    *(
        Closing(
            "training_gpu_hours",
            "active parameters",
            "parameter",
            "those that one token uses, counted",
            lambda r: (r["n_active"], net(r["model"]).n_active),
            where={"model": name},
        )
        for name in ("DeepSeek-V3", "Llama 4 Maverick")
    ),
    Closing(
        LLAMA,
        "chips",
        "GPU",
        "tensor times context times pipeline times data parallelism",
        lambda r: (r["gpus"], math.prod(r[f"{way}_parallel"] for way in ("tensor", "context", "pipeline", "data"))),
        limit=EXACT,
    ),
    Closing(
        LLAMA,
        "tokens of a step",
        "token",
        "replicas times sequences times length, as on fewest chips",
        lambda r: tuple(
            corpus.step_tokens(batch=each["data_parallel"] * each["batch_per_replica"], context=each["sequence_tokens"])
            for each in (r, only(LLAMA, gpus=8192))
        ),
        (corpus.step_tokens,),
        EXACT,
        {"gpus": 16384},
    ),
    Closing(
        LLAMA,
        "share of peak",
        "1",
        "rate over the chip's BF16 peak",
        lambda r: (r["mfu"], of_peak(r["compute_TFLOP_per_GPU_per_s"], "h100-sxm")),
    ),
    Closing(
        MEGATRON,
        "parameters",
        "parameter",
        "matrices, norms and biases, words and places",
        lambda r: (r["n_total"], sums.megatron_params(r)),
    ),
    Closing(
        MEGATRON,
        "rate of all chips",
        "PFLOP/s",
        "a chip's rate times chips",
        lambda r: (r["compute_PFLOP_per_s"], r["compute_TFLOP_per_GPU_per_s"] * r["gpus"] / 1e3),
    ),
    Closing(
        MEGATRON,
        "share of peak",
        "1",
        "rate over the chip's BF16 peak",
        lambda r: (r["peak_share"], of_peak(r["compute_TFLOP_per_GPU_per_s"], "a100-80gb")),
    ),
    Closing(
        "megatron_2021_table2_zero3",
        "batch",
        "sequence",
        "one micro-batch on every chip",
        lambda r: (r["batch"], r["microbatch_size"] * r["gpus"]),
        limit=EXACT,
        where={"scheme": "ZeRO-3"},
    ),
    Closing(
        "korthikanti_iteration_times",
        "chips",
        "GPU",
        "tensor times pipeline parallelism: one replica",
        lambda r: (r["gpus"], r["tensor_parallel"] * r["pipeline_parallel"]),
        limit=EXACT,
    ),
    Closing(
        KEPT,
        "weights and optimizer",
        "GiB",
        "18 bytes a parameter",
        lambda r: (r["state_GiB"], sums.state(r) / factor("GiB")),
        (pipelining.chip_weights,),
        EXACT,
    ),
    *(
        Closing(
            KEPT,
            part,
            "GiB",
            "bytes of a layer times the layers under way",
            lambda r, column=column, measure=measure: (r[column], sums.kept(r, measure) / factor("GiB")),
            (reversibility.layer_kept, reversibility.stored),
            EXACT,
        )
        for part, column, measure in (
            ("activations", "activations_GiB", "all"),
            ("what is left of them", "remaining_GiB", "both"),
        )
    ),
    *(
        Closing(
            KEPT,
            f"share left, {measure}",
            "1",
            "bytes of a layer with the measure over those without, embeddings left out",
            lambda r, measure=measure: (r[f"{measure}_share"], sums.kept(r, measure) / sums.kept(r, "all")),
            (reversibility.layer_kept,),
        )
        for measure in ("sequence", "selective", "both", "full")
    ),
    Closing(
        "zero_bubble_pipeline",
        "bubble, 1F1B",
        "1",
        "simulated from the stage times",
        sums.bubble,
        where={"schedule": "1F1B"},
    ),
    Closing(
        "zero_bubble_pipeline",
        "bubble, 1F1B-I",
        "1",
        "simulated, less one transfer a stage: without it the paper's bubbles are 2 to 4 % smaller",
        lambda r: sums.bubble(r, r["stages"]),
        where={"schedule": "1F1B-I"},
    ),
    Closing(
        "dualpipe_bubble_formulas",
        "idle time",
        "ms",
        "the printed formula against the lesson's, at stage times of the zero-bubble paper",
        sums.printed_idle,
        (pipelining.idle_1f1b, pipelining.idle_zero_bubble, pipelining.idle_dualpipe),
        EXACT,
    ),
    Closing(
        "chinchilla_table3",
        "compute",
        "FLOP",
        "six FLOP a parameter and token",
        lambda r: (r["compute_FLOP"], compute(r)),
        (overtraining.pretrain_compute,),
    ),
    *(
        Closing(
            FIT,
            f"exponent {name}",
            "1",
            "the TeX source's, rounded",
            lambda r, name=name: (r[name], only(FIT, law="Hoffmann, TeX source")[name]),
            where={"law": "Hoffmann, as printed"},
        )
        for name in ("alpha", "beta")
    ),
    Closing(
        "routed_scaling_law",
        "constant c",
        "1",
        "b over the size beyond which routing no longer helps; three decimals allow 4.2 %",
        lambda r: (r["c"], -r["b"] / math.log10(r["n_cutoff"])),
        limit=0.042,
    ),
    Closing(
        "revnet_paper",
        "extra compute",
        "1",
        "one more forward pass to a forward and a backward one",
        lambda r: (r["extra_compute"], reversibility.work_ratio(recomputed=1) - 1),
        (reversibility.work_ratio,),
    ),
    Closing(
        GERMAN,
        "tokens",
        "token",
        "steps times sequences times length",
        lambda r: (
            r["pretraining_tokens"],
            r["steps"] * corpus.step_tokens(batch=r["batch"], context=r["context_tokens"]),
        ),
        (corpus.step_tokens,),
    ),
    Closing(
        GERMAN,
        "hours",
        "GPU*hour",
        "chips times days, as the note has them",
        lambda r: (
            r["training_GPU_hours"],
            r["chips"] * noted(GERMAN, r"took (\d+) days") * factor("day") / factor("hour"),
        ),
        where={"model": "LLäMmlein 1B"},
    ),
    *(
        Closing(
            id,
            "tokens so far",
            "token",
            "steps times a step's tokens",
            lambda r: (r["pretraining_tokens"], sums.llammlein_tokens(r["steps"])),
            (corpus.step_tokens,),
            EXACT,
            by=("model", "steps"),
        )
        for id in ("llammlein_checkpoints", "llammlein_saturated", "llammlein_generative")
    ),
    Closing(
        TINY,
        "tokens so far",
        "token",
        "steps times the last checkpoint's tokens a step",
        lambda r: (r["pretraining_tokens"], r["steps"] * sums.last_rate(TINY, r["model"])),
        by=("model", "steps"),
        where={"model": "TinyLlama 1.1B"},
    ),
    Closing(
        REPEATED,
        "compute",
        "FLOP",
        "the 8.7B's, for which the law chose this size",
        lambda r: (compute(r), compute(records.records(REPEATED, run="8.7B")[0])),
        (overtraining.pretrain_compute,),
        where={"run": "6.3B"},
    ),
    Closing(
        "filtering_kept",
        "tokens kept",
        "token",
        "as another model on the same text counts them",
        lambda r: (r["kept_tokens"], only(PLATEAU, model="ModernGBERT 1B")["pretraining_tokens"]),
        limit=EXACT,
        where={"kept": "LLäMmlein"},
    ),
    Closing(
        "filtering_kept",
        "share removed",
        "1",
        "one less what is kept of the pool",
        lambda r: (noted("filtering_kept", r"(\d+) per cent removed") / 100, 1 - r["kept_tokens"] / r["pool_tokens"]),
        where={"kept": "FineWeb-Edu"},
    ),
    *(
        Closing(
            PLATEAU,
            "share of the text",
            "1",
            "tokens at the plateau over all",
            lambda r, said=said: (noted(PLATEAU, said) / 100, r["plateau_tokens"] / r["pretraining_tokens"]),
            where={"model": name},
        )
        for name, said in (("ModernGBERT 134M", r"(\d+) and \d+ per cent"), ("ModernGBERT 1B", r"and (\d+) per cent"))
    ),
)

VLLM, BLOCK, COPILOT, HYBRID, AGENT = (
    "vllm_paper",
    "vllm_block_bytes",
    "copilot_agents_2026",
    "hybrid_cache_blocks",
    "agent_traces",
)
TWICE, NEEDED = "prefix_cache_duplicates", "hybrid_prefix_hits"

CACHES = (
    Closing(
        VLLM,
        "slots",
        "token",
        "room for the cache over the bytes of a token",
        lambda r: (r["kv_tokens"], sums.slots(r)),
        (sparsity.batch_fits, pricing.kv_of_heads),
    ),
    Closing(
        VLLM,
        "weights",
        "GB",
        "two bytes a parameter",
        lambda r: (r["weights_GB"], bytes_per_param("fp16") * float(re.findall(r"\d+", r["model"])[0])),
    ),
    Closing(
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
    Closing(
        "vllm_kv_use",
        "paged",
        "1",
        "tokens of a mean sequence over its blocks, half of the last one empty; what else vLLM loses is not said",
        lambda r: (r["share"], sums.paged_share()),
        (paging.use_paged,),
        0.03,
        {"system": "vLLM"},
    ),
    Closing(
        "vllm_batched_requests",
        "batch, reserved",
        "1",
        "slots over the longest sequence, whole ones",
        lambda r: (r["batch"], sums.reserved_batch()),
        (sparsity.batch_fits,),
        EXACT,
        {"system": "Orca (Max)"},
    ),
    Closing(
        BLOCK,
        "block of all layers",
        "MiB",
        "tokens times bytes over the chips",
        lambda r: net(r["model"]) and (r["new_block_MiB"], sums.block(r) / factor("MiB")),
        (pricing.kv_of_heads,),
        EXACT,
    ),
    Closing(
        BLOCK,
        "block of a layer",
        "KiB",
        "keys or values of one layer",
        lambda r: (
            (found := net(r["model"])) and (r["old_block_KiB"], sums.block(r) / (2 * found.layers) / factor("KiB"))
        ),
        (pricing.kv_of_heads,),
        EXACT,
    ),
    Closing(
        AGENT,
        "context late in a trace",
        "token",
        "start, and so many times the growth",
        lambda r: (r["end_tokens"], r["start_tokens"] + r["growth_tokens"] * noted(AGENT, r"by turn (\d+)")),
    ),
    Closing(
        "prefix_cache_hit_rates",
        "hit rate of an agent",
        "1",
        "what the turn before had, by turns, start and growth",
        lambda r: (r["hit_rate"], sums.agent_hits()),
        (paging.hit_rate_turns,),
        where={"workload": "Codex on SWE-bench Pro, what the traces allow"},
    ),
    Closing(
        "prefix_cache_gains",
        "cost of looking",
        "1",
        "time spent over time of the run",
        lambda r: (r["ratio"], records.quotient(r["what"], r"[\d.]+")),
        where={"setting": "ShareGPT, nothing to reuse"},
    ),
    Closing(
        "kimi_cache_size",
        "cache",
        "GB",
        "in vLLM's FP8 layout; the post does not say which it means, and a byte a value gives 3.5 GB",
        lambda r: (r["kv_GB"], model("kimi-k2").kv_bytes(r["context_tokens"], VLLM_FP8) / 1e9),
        limit=0.055,
    ),
    Closing(
        "cuda_graph_cache_lost",
        "cache",
        "GB",
        "tokens times bytes, FP8",
        lambda r: (r["kv_GB"], r["kv_tokens"] * sums.cached(net(r["model"]), "fp8") / 1e9),
    ),
    Closing(
        "prefix_cache_example",
        "blocks",
        "1",
        "tokens over those of a block, rounded up",
        sums.example_blocks,
        (paging.page_blocks,),
        EXACT,
    ),
    Closing(
        "prefix_cache_example",
        "blocks found",
        "1",
        "whole blocks of what is common",
        sums.example_hits,
        (paging.hit_tokens,),
        EXACT,
    ),
    Closing(
        TWICE,
        "blocks",
        "1",
        "tokens over those of a block, rounded up",
        lambda r: (listed(r, "block_table"), paging.page_blocks(context=r["tokens"], page_tokens=sums.page(TWICE))),
        (paging.page_blocks,),
        EXACT,
    ),
    Closing(
        "hybrid_cache_groups",
        "groups",
        "1",
        "as many layers each as the rarer kind has",
        lambda r: (r["groups"], len(sums.groups(r))),
        limit=EXACT,
    ),
    Closing(
        "hybrid_cache_groups",
        "layers and padding",
        "1",
        "groups times layers",
        lambda r: (r["full_layers"] + r["window_layers"] + r["padding_layers"], r["groups"] * r["group_layers"]),
        limit=EXACT,
    ),
    Closing(
        HYBRID,
        "blocks",
        "1",
        "tokens, or the window, over those of a block, rounded up",
        lambda r: (listed(r, "block_ids"), sums.hybrid_blocks(r)),
        (paging.page_blocks,),
        EXACT,
    ),
    Closing(
        HYBRID,
        "all blocks",
        "1",
        "of a full group and those with a window",
        lambda r: (noted(HYBRID, r"(\d+) in all"), sums.hybrid_blocks()),
        (paging.hybrid_blocks,),
        EXACT,
        {"group": "full"},
    ),
    Closing(
        NEEDED,
        "tokens needed",
        "1",
        "those before the first computed that its window sees",
        lambda r: (listed(r, "needed_tokens"), noted(NEEDED, r"window of (\d+)") - 1),
        limit=EXACT,
    ),
    *(
        Closing(
            COPILOT,
            f"{what} of a {whole}",
            "1",
            "totals over totals; the source prints these means too",
            lambda r, what=what, whole=whole: (noted(COPILOT, rf"([\d.]+) {what} a {whole}"), r[what] / r[f"{whole}s"]),
        )
        for what, whole in (("turns", "session"), ("calls", "turn"))
    ),
)

POPE, FAST, STEPS, SPED, LINKS = (
    "pope_table2_palm540b",
    "gpt_fast_readme",
    "gpt_fast_steps",
    "spec_decoding_others",
    "links_and_achievable",
)
SHEET = "as the chip's data sheet has it, in one direction"

SERVING = (
    Closing(
        POPE,
        "share of peak",
        "1",
        "two FLOP a parameter and token over chips, peak and time",
        lambda r: (r["mfu"], sums.pope_time(r) / r["latency_s"]),
        (batching.compute_time,),
    ),
    Closing(
        "pope_decode_latency",
        "one step",
        "ms",
        "time of decoding over its tokens",
        lambda r: (r["step_ms"], sums.pope_step()),
        where={"weights": "int8"},
    ),
    Closing(
        "pope_text_numbers",
        "cache of every head",
        "TB",
        "batch times context times keys and values of heads half as wide",
        lambda r: (r["multihead_kv_TB"], sums.multihead() / 1e12),
        (pricing.kv_of_heads,),
    ),
    Closing(
        "sglang_large_ep_decode",
        "chips",
        "GPU",
        "nodes times chips of a node",
        lambda r: (r["expert_parallel"], r["nodes"] * chip("h100-sxm").scale_up.domain_chips),
        limit=EXACT,
    ),
    Closing(
        "two_batch_overlap",
        "gain",
        "1",
        "rate with overlap over that without",
        lambda r: (1 + r["low_gain"], sums.overlap_gain()),
        where={"setting": "simulated MTP"},
    ),
    Closing(
        "h200_deepep_ll_intranode",
        "bytes",
        "byte",
        "a copy for each of eight experts, out in FP8 with scales and back in BF16",
        sums.low_latency_bytes,
        (racks.ep_bytes,),
    ),
    *(
        Closing(
            LINKS,
            "link",
            "GB/s",
            SHEET,
            lambda r, id=id: (r["rate_GB_per_s"], chip(id).scale_up.bytes_per_s / 1e9),
            limit=EXACT,
            where={"chips": name, "what": "peak"},
        )
        for name, id in {
            "A100": "a100-80gb",
            "H100 and H200": "h100-sxm",
            "B200 and GB200": "b200",
            "Rubin": "vr200-nvl72",
        }.items()
    ),
    Closing(
        LINKS,
        "link",
        "GB/s",
        SHEET,
        lambda r: (r["rate_GB_per_s"], chip("h200").scale_out.bytes_per_s / 1e9),
        limit=EXACT,
        where={"chips": "any"},
    ),
    Closing(
        "gb200_rack",
        "cables",
        "1",
        "chips times links times pairs; said to be more than 5,000",
        lambda r: (r["cables"], sums.cables()),
        (racks.cables,),
        0.04,
    ),
    Closing(
        "kipply_13b",
        "prefill and ten tokens",
        "ms",
        "prefill, and ten times a token",
        lambda r: (r["ten_tokens_ms"], r["prefill_ms"] + 10 * r["output_token_ms"]),
    ),
    Closing(
        "batch1_weights",
        "weights",
        "GB",
        "two bytes a parameter",
        lambda r: (found := net(r["model"])) and (r["weights_GB"], bytes_per_param("bf16") * found.n_total / 1e9),
    ),
    Closing(
        FAST,
        "bandwidth",
        "GB/s",
        "bytes on one chip times tokens a second; all words are counted, of which a step reads one row",
        lambda r: (r["bandwidth_GB_per_s"], sums.gpt_fast_rate(r, r["model"], r["gpus"])),
        (pipelining.chip_weights,),
    ),
    Closing(
        STEPS,
        "share of bandwidth",
        "1",
        "bytes times tokens a second over 2 TB/s",
        lambda r: (
            noted(STEPS, r"(\d+) % of") / 100,
            sums.gpt_fast_rate(r, "Llama-2-7B", 1) / 1e3 / noted(STEPS, r"% of (\d+) TB/s"),
        ),
        (pipelining.chip_weights,),
        where={"step": "torch.compile and CUDA graphs, cache of fixed size"},
    ),
    Closing(
        "cuda_graph_gains",
        "speedup",
        "1",
        "time before over time after; printed to one digit",
        lambda r: (r["speedup"], records.quotient(r["setting"], r"(\d+) ms")),
        limit=0.04,
        where={"what": "Mask R-CNN, the part in the graph"},
    ),
    Closing(
        "cuda_graph_capture",
        "graphs",
        "1",
        "batch sizes captured, counted",
        lambda r: (r["graphs"], sums.graphs(r)),
        limit=EXACT,
    ),
    Closing(
        "overlap_thresholds",
        "tokens",
        "token",
        "sequences times tokens of each",
        lambda r: (
            r["low_tokens"],
            math.prod(float(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:seq|tok)", r["setting"])),
        ),
        limit=EXACT,
        where={"engine": "ATOM"},
    ),
    Closing(
        "mtp_by_depth",
        "speedup",
        "1",
        "tokens a second over those without drafts",
        lambda r: (
            r["drafted_tokens"] > 0
            and (
                r["speedup"],
                r["throughput_token_per_s"] / only("mtp_by_depth", drafted_tokens=0)["throughput_token_per_s"],
            )
        ),
    ),
    Closing(
        "chen2023",
        "speedup",
        "1",
        "time of a token without drafts over time with them",
        lambda r: (r["speedup"], r["plain_ms"] / r["speculative_ms"]),
    ),
    Closing(
        SPED,
        "speedup",
        "1",
        "as the paper's text has it, rounded",
        lambda r: (r["factor"], only("spire_long", method="SPIRe")["speedup"]),
        where={"method": "SPIRe"},
    ),
)

CLOSINGS = (*DEEPSEEK, *TRAINING, *CACHES, *SERVING)
