"""The curves of every explorable, by lesson: the formulas that they must be, in which unit, along what, and what moves
them.
"""

from typing import Any, NamedTuple

from blackboard import units
from blackboard.lessons.batching import equations as batching
from blackboard.lessons.corpus import equations as corpus
from blackboard.lessons.corpus.charts import GAIN as FILTERED
from blackboard.lessons.corpus.charts import QUALITY as KEPT_QUALITY
from blackboard.lessons.overheads import equations as overheads
from blackboard.lessons.overheads.charts import HALVES
from blackboard.lessons.overtraining.charts import CURVES as AT_LOSS
from blackboard.lessons.overtraining.charts import SHARES
from blackboard.lessons.paging.charts import ENDLESS, PAGED, RESERVED, TURNED
from blackboard.lessons.pipelining import equations as pipelining
from blackboard.lessons.pipelining.charts import CURVES
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.pricing.charts import DECODE
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.reversibility import equations as reversibility
from blackboard.lessons.sparsity.charts import ROUTED_GAIN
from blackboard.lessons.speculation import equations as speculation
from blackboard.lessons.speculation.charts import SPEEDUP


class Explored(NamedTuple):
    """Curves by field of the chart, in `unit`, along the symbol `swept`; `moves` are settings of its controls to try
    in the browser.
    """

    unit: str
    swept: str
    curves: dict[str, Any]
    moves: tuple[dict[str, Any], ...] = ()

    @property
    def scale(self):
        """One of the unit, in base SI."""
        return 0.01 if self.unit == "percent" else units.factor(self.unit)


_TERMS = ("compute", "KV", "weights")
_LOADS = (
    {"context_exponent": 4.5},
    {"stored_exponent": -2},
    {"system": "h200-8", "precision": "bf16"},
    {"model": "llama-3.1-70b", "context_exponent": 2.5},
    {"system": "a100-80gb-8", "precision": "fp4"},
)

EXPLORED = {
    "reversibility": {
        "memory_explorer": Explored(
            "GB",
            "depth",
            {
                "stored": reversibility.stored,
                "checkpointed": reversibility.checkpointed,
                "least": reversibility.checkpointed_least,
                "reversible": reversibility.reversible,
            },
            (
                {"depth": 128},
                {"tokens_exponent": 15, "value_bytes": 1},
                {"segment": 16, "values_kept": 8},
                {"d_model": 1024},
            ),
        ),
        "error_explorer": Explored(
            "1",
            "depth",
            {"difference": reversibility.difference},
            ({"format": "bf16"}, {"widens_exponent": 0}, {"widens_exponent": -3, "format": "fp64"}, {"depth": 200}),
        ),
    },
    "overtraining": {
        "shares_explorer": Explored(
            "percent",
            "inference_tokens",
            SHARES,
            (
                {"decode_efficiency": 0.05, "rl_flop": 6},
                {"world_rate_exponent": 9.699},
                {"pretrain_tokens_exponent": 12.001, "family": 20},
            ),
        ),
        "size_explorer": Explored(
            "1",
            "n_active",
            AT_LOSS,
            (
                {"law": "Besiroglu"},
                {"optimal_exponent": 10, "inference_tokens_exponent": 16.001, "decode_efficiency": 0.1},
                {"optimal_exponent": 12, "inference_tokens_exponent": 11.001},
            ),
        ),
    },
    "pricing": {
        "card_explorer": Explored(
            "1",
            "context",
            {"cost": DECODE, "memory": pricing.memory_ratio_of},
            (
                {"kv_bytes_per_token_exponent": 4.822},
                {"fill_exponent": -2},
                {"system": "h200-8", "precision": "bf16"},
                {"step_context_exponent": 4.001, "step_ratio": 3},
            ),
        ),
        "hold_explorer": Explored(
            "USD/megatoken",
            "hold_time",
            {"HBM": pricing.hbm_hold, "flash": pricing.tier_cost, "again": pricing.remat_cost},
            (
                {"kv_bytes_per_token_exponent": 2.947},
                {"year": "2025"},
                {"n_active_exponent": 12.075, "rent_per_hour": 12},
                {"faster_exponent": -3, "years": 1},
            ),
        ),
    },
    "paging": {
        "room_explorer": Explored(
            "sequence",
            "context",
            {"blocks": PAGED, "set_aside": RESERVED},
            (
                {"model": "deepseek-v3", "system": "gb200-nvl72", "precision": "fp8"},
                {"reserved_context_exponent": 20, "context_exponent": 2},
                {"model": "llama-3.1-405b", "precision": "fp8"},
                {
                    "page_tokens_exponent": 6,
                    "model": "llama-3.1-8b",
                    "precision": "fp4",
                    "reserved_context_exponent": 9,
                },
            ),
        ),
        "prefix_explorer": Explored(
            "USD/megatoken",
            "turns",
            {"price": TURNED, "endless": ENDLESS},
            (
                {"cache_bytes": 0.5},
                {"cache_bytes": 0.05, "write": "1h"},
                {"read_ratio": 0.9, "turns": 1, "write": "free"},
                {"usd": 20, "start_context_exponent": 5.079181, "turn_growth_exponent": 1.350636},
            ),
        ),
    },
    "speculation": {
        "speedup_explorer": Explored(
            "1",
            "batch",
            {"speedup": SPEEDUP},
            (
                {"context_exponent": 4},
                {"acceptance": 0.3, "drafted": 7, "draft_ratio": 0.3},
                {"system": "h100-8", "model": "llama-3.1-70b", "precision": "bf16"},
                {"acceptance": 0.9, "drafted": 7, "draft_ratio": 0},
            ),
        ),
        "drafted_explorer": Explored(
            "1",
            "drafted",
            {"speedup": speculation.speedup},
            (
                {"memory_ratio_exponent": 0},
                {"memory_ratio_exponent": 6, "acceptance": 0.9, "draft_ratio": 0},
                {"acceptance": 0, "draft_ratio": 0.3},
            ),
        ),
    },
    "overheads": {
        "launch_explorer": Explored(
            "ms",
            "batch",
            {"eager": overheads.eager_time, "graph": overheads.graph_time, "roofline": batching.step_time},
            (
                {"launch_us": 2.1},
                {"model": "llama-3.1-8b", "launch_us": 2.1},
                {"system": "gb200-nvl72", "model": "deepseek-v3", "precision": "fp8", "layer_kernels": 24},
                {"layer_kernels": 60, "launch_us": 40, "gap_us": 3, "context_exponent": 5},
                {"gap_us": 0, "layer_kernels": 1, "launch_us": 0.5},
            ),
        ),
        "overlap_explorer": Explored(
            "1",
            "batch",
            {"gain": HALVES},
            (
                {"slower_exponent": -5},
                {"system": "h100-8", "model": "gpt-oss-120b", "slower_exponent": 2},
                {"context_exponent": 5},
                {"context_exponent": 2, "back_bytes": 1},
            ),
        ),
    },
    "corpus": {
        "repeat_explorer": Explored(
            "token",
            "pretrain_tokens",
            {"worth": corpus.data_worth},
            (
                {"unique_tokens_exponent": 10.614},
                {"pretrain_tokens_exponent": 13.977},
                {"reuse": 2},
                {"pretrain_tokens_exponent": 10.477, "unique_tokens_exponent": 13.114},
            ),
        ),
        "filter_explorer": Explored(
            "1",
            "kept_share",
            {"gain": FILTERED, "quality": KEPT_QUALITY},
            (
                {"pool_tokens_exponent": 14.431},
                {"pretrain_tokens_exponent": 13.477, "pool_tokens_exponent": 11.731},
                {"times": 1.1},
                {"times": 4, "reuse": 30},
                {"kept_percent_exponent": -0.993},
                {"kept_percent_exponent": 2, "reuse": 1},
            ),
        ),
    },
    "pipelining": {
        "memory_explorer": Explored(
            "GB/chip",
            "stages",
            {"memory": pipelining.stage_memory, "weights": pipelining.chip_weights, "KV": pipelining.chip_kv},
            ({"context_exponent": 4.6}, {"expert_parallel": 8}, {"times_n_total_exponent": 2}),
        ),
        "bubble_explorer": Explored("percent", "micro_batches", CURVES, ({"stages": 16, "chunks": 4}, {"stages": 2})),
    },
    "racks": {
        "boundary_explorer": Explored(
            "1", "scale_up", {"slowdown": racks.slowdown}, ({"racks": 8}, {"system": "h800-8"}, {"faster_exponent": 3})
        ),
    },
    "sparsity": {
        "critical_explorer": Explored(
            "sequence",
            "context",
            {"batch_critical": batching.crossing},
            (
                {"context_exponent": 2.5},
                {"stored_exponent": -2},
                {"system": "h200-8", "model": "lecture-moe"},
                {"system": "tpu-v6e-256", "precision": "fp4"},
            ),
        ),
        "routed_explorer": Explored(
            "1",
            "experts",
            {"gain": ROUTED_GAIN},
            ({"router": "HASH"}, {"base_size_exponent": 7.168, "experts_exponent": 9}),
        ),
    },
    "batching": {
        "latency_explorer": Explored(
            "ms", "batch", {"step": batching.step_time, **{t: batching.STEP_TERMS[t] for t in _TERMS}}, _LOADS
        ),
        "tradeoff_explorer": Explored(
            "USD/megatoken",
            "batch",
            {"cost": batching.cost_per_token},
            (
                {"chosen_exponent": 4},
                {"context_exponent": 4.5},
                {"system": "h200-8", "precision": "bf16"},
                {"model": "llama-3.1-70b", "context_exponent": 2.5},
            ),
        ),
        "context_explorer": Explored("percent", "context", {"limit": batching.mfu_limit, "here": batching.mfu}),
    },
}
