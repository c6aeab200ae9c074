"""Consistency of what DeepSeek publishes: production, training, deployment."""

from __future__ import annotations

from blackboard.catalogue import chip, model, price
from blackboard.lessons.corpus import equations as corpus
from blackboard.lessons.overtraining import equations as overtraining
from blackboard.lessons.paging import equations as paging
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.sparsity import equations as sparsity
from blackboard.lessons.speculation import equations as speculation
from blackboard.units import factor
from blackboard.validation import records
from blackboard.validation.consistency import arithmetic
from blackboard.validation.consistency.arithmetic import mtp, of_peak
from blackboard.validation.consistency.check import EXACT, Check
from blackboard.validation.records import net, only

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


DEEPSEEK = (
    Check(
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
    Check(
        DAY,
        "nodes",
        "1",
        "tokens a second over a node's rate, of prefill and of decode",
        lambda r: (r["average_nodes"], arithmetic.nodes(r)),
        (sparsity.racks_needed,),
    ),
    Check(
        DAY,
        "hit rate",
        "1",
        "input found in the cache over all input",
        lambda r: (r["hit_rate"], r["cached_input_token_per_day"] / r["input_token_per_day"]),
    ),
    Check(
        DAY,
        "revenue of a day",
        "USD",
        "hits, misses and output at their prices",
        lambda r: (r["revenue_USD_per_day"], arithmetic.revenue(r)),
        (paging.price_blended,),
    ),
    Check(
        DAY,
        "profit over cost",
        "1",
        "revenue over cost, less 1",
        lambda r: (r["profit_ratio"], r["revenue_USD_per_day"] / r["cost_USD_per_day"] - 1),
    ),
    *(
        Check(
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
    Check(
        UNITS,
        "chips",
        "GPU",
        "nodes times chips of a node",
        lambda r: (r["gpus"], r["nodes"] * chip("h800").scale_up.domain_chips),
        limit=EXACT,
    ),
    Check(
        UNITS,
        "attention",
        "GPU",
        "tensor times data parallelism",
        lambda r: (r["gpus"], r["attention_tensor_parallel"] * r["attention_data_parallel"]),
        limit=EXACT,
    ),
    Check(
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
    Check(
        EP,
        "one exchange",
        "us",
        "bytes out and back over the link",
        lambda r: (r["exchange_us"], arithmetic.exchange(r)[0] / factor("us")),
        (racks.ep_time,),
        EXACT,
    ),
    Check(
        EP,
        "time of a token",
        "ms",
        "two exchanges in each of 61 layers",
        lambda r: (r["output_token_ms"], arithmetic.exchange(r)[1] / factor("ms")),
        (racks.comm_time,),
    ),
    Check(
        EP,
        "tokens a second",
        "token/s",
        "the inverse of a token's time; the paper rounds down",
        lambda r: (r["output_token_per_s"], 1 / arithmetic.exchange(r)[1]),
        (racks.comm_time,),
    ),
    Check(
        "deepseek_isca25_kv",
        "cache of a token",
        "byte",
        "keys and values, or latents, of all layers",
        lambda r: (r["kv_byte_per_token"], arithmetic.cached(net(r["model"]))),
        (pricing.kv_of_heads,),
        EXACT,
    ),
    Check(
        COMPUTE,
        "compute of a token",
        "GFLOP",
        "six FLOP a parameter that multiplies, and causal attention forward and twice back",
        arithmetic.token_compute,
        (overtraining.pretrain_compute, pricing.flop_per_token, pricing.attention_of_heads),
    ),
    Check(
        NETWORKS,
        "share of peak",
        "1",
        "compute of a token times tokens a second over the chips' peak",
        lambda r: (r["mfu"], arithmetic.isca_mfu(r)),
        (corpus.mfu_reached, overtraining.pretrain_compute),
    ),
    Check(
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
    Check(
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
        Check(
            STEP,
            f"share of peak, {way}",
            "1",
            "rate over the chip's BF16 peak",
            lambda r, way=way: (r[f"{way}_mfu"], of_peak(r[f"{way}_TFLOP_per_s"], "h800")),
        )
        for way in ("causal", "full")
    ),
    Check(
        COST,
        "cost",
        "USD",
        "hours times rent",
        lambda r: (r["cost_USD"], r["training_GPU_hours"] * only(RUN)["rent_USD_per_GPU_per_hour"]),
        limit=EXACT,
    ),
    Check(
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
    Check(
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
    Check(
        RUN,
        "days a trillion tokens",
        "day",
        "hours over chips and 24",
        lambda r: (
            r["training_day_per_Ttoken"],
            r["training_GPU_hour_per_Ttoken"] / r["gpus"] * factor("hour") / factor("day"),
        ),
    ),
    Check(
        "deepseek_isca25_mtp",
        "gain of a second token",
        "1",
        "tokens of a round at the lower acceptance, drafted for nothing",
        mtp,
        (speculation.tokens_per_round,),
    ),
    Check(
        "deepseek_v3_mtp",
        "gain of a second token",
        "1",
        "tokens of a round at the lower acceptance; drafting is not quite free",
        mtp,
        (speculation.tokens_per_round,),
        0.03,
    ),
)
