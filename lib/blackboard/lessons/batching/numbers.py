"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from typing import Any, NamedTuple

from blackboard.catalogue import Chip, chip, chips, measurement, model, price, prices, system
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as eq
from blackboard.page.summary import Page, table
from blackboard.units import factor, pretty, significant

SLOW, BUSY = 256, 2_000  # batches: the example of the text, and the lecture's
LECTURE_RENT = 2.0  # USD per chip-hour, lecture 0:12:49
HOUR, MILLION = factor("hour"), 1e6  # prices are per million tokens
INTERVAL = 0.020  # s between departures, lecture 0:22:13
RUBIN = {"hbm": 288e9, "bandwidth": 20e12}  # as the lecture has it, 0:24:13
LECTURE_DAY, LATER_CARD = "2026-04-29", "claude-opus-4.8@2026-05-28"


def drains() -> list[float]:
    """Drain times of the catalogue's confirmed chips, ascending."""
    return sorted(row.drain_time() for row in chips() if row.confirmed)


def hardware() -> dict[str, str]:
    """Floor, critical batch and what they are made of."""
    known = RUNNING.symbols()
    each = eq.compute_time(RUNNING, batch=1), eq.kv_time(RUNNING, batch=1)
    return {
        "floor": pretty(eq.latency_floor(RUNNING), "s"),
        "fastest": f"{1 / eq.latency_floor(RUNNING):,.0f}",
        "first_bytes": pretty(known["n_active"] * known["bytes_per_param"], "byte"),
        "first_floor": pretty(eq.first_floor(RUNNING), "s", 2),
        "weight_bytes": pretty(known["n_total"] * known["bytes_per_param"], "byte"),
        "bandwidth": pretty(known["bandwidth"], "byte/s"),
        "flops": pretty(known["flops"], "FLOP/s"),
        "compute_one": pretty(each[0], "s"),
        "kv_one": pretty(each[1], "s"),
        "sequence_kv": pretty(RUNNING.context * known["kv_bytes_per_token"], "byte"),
        "intensity": significant(eq.hardware_constant(RUNNING), 4),
        "sparsity": significant(known["n_total"] / known["n_active"], 3),
        "critical": significant(eq.critical_batch(RUNNING), 2),
        "gain": significant(eq.batching_gain(RUNNING), 2),
        "gain_dense": significant(eq.batching_gain(RUNNING, n_total=known["n_active"]), 4),
        "n_active": f"{known['n_active'] / 1e9:.1f} billion",
        "n_total": f"{known['n_total'] / 1e9:.0f} billion",
        "n_total_off": f"{model('lecture-moe').n_total / known['n_total'] - 1:.0%}",
    }


def balanced_with_attention(slower: float) -> float:
    """The balanced context when attention multiplies too, `slower` times slower than the weights' format."""
    known = RUNNING.symbols()
    per_token = (
        known["kv_bytes_per_token"] / known["bandwidth"]
        - slower * model(RUNNING.model).attention_flop(1) / known["flops"]
    )
    return 2 * known["n_active"] / known["flops"] / per_token


def workload() -> dict[str, str]:
    """Context, KV and what a slow mode can save."""
    board, attention = model("lecture-moe").kv_bytes_per_token(), model(RUNNING.model).attention_flop(1)
    twice = eq.mfu_limit(RUNNING, context=2 * eq.balanced_context(RUNNING))
    floor = eq.cost_floor(RUNNING, rent=LECTURE_RENT / HOUR) * MILLION
    return {
        "kv_bytes": pretty(RUNNING.symbols()["kv_bytes_per_token"], "byte"),
        "balanced": f"{significant(eq.balanced_context(RUNNING), 2)} tokens",
        "balanced_board": f"{significant(eq.balanced_context(RUNNING, kv_bytes_per_token=board), 2)} tokens",
        "mfu_twice": f"{twice:.0%}",
        "kink": significant(eq.crossing(RUNNING), 4),
        "attention": f"{attention / 1e6:.0f} MFLOP",
        "attention_equal": f"{significant(2 * RUNNING.symbols()['n_active'] / attention, 2)} tokens",
        "balanced_fp8": f"{significant(balanced_with_attention(1), 2)} tokens",
        "balanced_bf16": f"{significant(balanced_with_attention(2), 2)} tokens",
        "slow_batch": str(SLOW),
        "slow_context": f"{RUNNING.context:,} tokens",
        "slow_step": pretty(eq.step_time(RUNNING, batch=SLOW), "s", 4),
        "busy": f"{BUSY:,}",
        "slow_cost": f"${eq.cost_per_token(RUNNING, batch=SLOW, rent=LECTURE_RENT / HOUR) * MILLION:.3f}",
        "slow_saving": significant(eq.slow_mode_limit(RUNNING, batch=SLOW), 2),
        "busy_saving": significant(eq.slow_mode_limit(RUNNING, batch=BUSY), 2),
        "cheapest": f"${significant(floor, 2)}",
    }


def step_table() -> Page:
    """A decode step of the running case at a few batches, column by column as one reckons it on paper."""
    ms = lambda seconds: f"{seconds * 1e3:.2f}"
    rows = []
    for batch in (SLOW, BUSY, 10_000, 30_000):
        parts = [eq.weight_time(RUNNING), eq.kv_time(RUNNING, batch=batch), eq.compute_time(RUNNING, batch=batch)]
        step, cost = (
            eq.step_time(RUNNING, batch=batch),
            eq.cost_per_token(RUNNING, batch=batch, rent=LECTURE_RENT / HOUR),
        )
        rows.append([f"{batch:,}", *map(ms, parts), ms(step), f"{1 / step:,.0f}", f"${cost * MILLION:.4f}"])
    heads = (
        "Batch",
        "Weights, ms",
        "KV caches, ms",
        "Compute, ms",
        "Step, ms",
        "Tokens/s per reader",
        "Per million tokens",
    )
    return table(f"One step of {RUNNING}, {RUNNING.tokens}, at ${LECTURE_RENT:g} per GPU-hour", heads, rows)


def fast_mode() -> dict[str, str]:
    """Fast mode at the lecture's date and later, inverted to a batch."""
    day, night = price("deepseek-r1", on="2025-02-26"), price("deepseek-r1-night@2025-02-26")
    then, later = price("claude-opus-4.6", on=LECTURE_DAY), price(LATER_CARD)
    ratio = lambda card: eq.fast_mode_batch_ratio(
        price_ratio=card.fast.price_multiplier, speed_ratio=card.fast.speed_multiplier
    )
    return {
        "fast_price": significant(then.fast.price_multiplier, 1),
        "fast_speed": significant(then.fast.speed_multiplier, 2),
        "fast_ratio": significant(ratio(then), 2),
        "fast_now": later.model_name,
        "fast_now_date": later.valid_from,
        "night_price": f"{night.usd_per_Mtok.output / day.usd_per_Mtok.output:.0%}",
        "night_date": night.valid_from[:4],
        "batch_price": " or ".join(
            sorted({f"{card.batch_multiplier:.0%}" for card in prices() if card.confirmed and card.batch_multiplier})
        ),
        "fast_now_price": significant(later.fast.price_multiplier, 1),
        "fast_now_ratio": significant(ratio(later), 1),
    }


def train() -> dict[str, str]:
    """The departure schedule."""
    ms = lambda seconds: f"{seconds * 1e3:.0f} ms"
    rents = [rent.usd_per_chip_hour for rent in system(RUNNING.system).chip.rents if rent.confirmed]
    return {
        "drain_least": ms(drains()[0]),
        "drain_most": ms(drains()[-1]),
        "worst": ms(eq.worst_latency(interval=INTERVAL)),
        "mean": ms(eq.mean_latency(interval=INTERVAL)),
        "throughput": f"{eq.throughput(batch=BUSY, interval=1 / 64):,.0f} tokens/s",
        "throughput_20": f"{eq.throughput(batch=BUSY, interval=INTERVAL):,.0f} tokens/s",
        "interval_64": f"{1e3 / 64:.1f} ms",
        "step_h200": pretty(eq.step_time(RUNNING._replace(system="h200-8"), batch=BUSY), "s"),
        "step_rack": pretty(eq.step_time(RUNNING, batch=BUSY), "s"),
        "rent_least": f"${min(rents):.2f}",
        "rent_most": f"${max(rents):.2f}",
        "idle_20ms": f"{eq.compute_time(RUNNING, batch=BUSY) / INTERVAL:.1%}",
    }


class GemmRow(NamedTuple):
    """One measured matrix product, and the floor that the roofline of its chip sets; times in microseconds."""

    library: str
    dtype: str
    m: int
    n: int
    k: int
    measured: float
    ideal: float

    @property
    def precision(self) -> str:
        return _precision(self.dtype)


def gemm_ideal(rows: Any, n: int, k: int, precision: str, chip: Chip) -> Any:
    """Ideal microseconds of a matrix product of `rows` rows with a k × n weight, everything at one precision."""
    shape: dict[str, Any] = {"weight_rows": k, "weight_columns": n}
    sizes: dict[str, Any] = dict.fromkeys(("bytes_per_param", "bytes_per_value"), bytes_per_param(precision))
    return eq.gemm_time(chip, precision=precision, **shape, **sizes, rows=rows) / factor("us")


def gemm_rows() -> list[GemmRow]:
    """The catalogue's H200 measurements beside their ideal times."""
    table = measurement("h200_gemm")
    columns = [table.column(name) for name in ("library", "dtype", "m", "n", "k", "latency_us")]
    rows: list[Any] = list(zip(*columns))
    ideal = lambda dtype, m, n, k: gemm_ideal(m, n, k, _precision(dtype), chip(table.chip_id))
    return [GemmRow._make((*row, ideal(*row[1:5]))) for row in rows]


def _precision(dtype: str) -> str:
    return {"bfloat16": "bf16"}.get(dtype, dtype)


def gemm() -> dict[str, str]:
    """How far above the roofline the measured products lie."""
    rows = gemm_rows()
    span = lambda low, high: [row.measured / row.ideal for row in rows if low <= row.m <= high]
    told = lambda ratios: f"{min(ratios):.1f} to {max(ratios):.1f} times"
    return {"gemm_small": told(span(1, 64)), "gemm_knee": told(span(65, 1024)), "gemm_large": told(span(1025, 10**9))}


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    return hardware() | workload() | fast_mode() | train() | gemm()
