"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from blackboard.catalogue import Chip, chip, chips, measurement, model, price, prices, system
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.catalogue.running_case import RUNNING, Case
from blackboard.lessons.batching import equations as eq
from blackboard.lessons.sparsity import equations as sparsity
from blackboard.page.summary import Page, table
from blackboard.units import factor, pretty, significant

LEAST = 100  # sequences: from about here on a batch touches nearly every expert, so that all weights are loaded
SLOW, BUSY, LARGE = 256, 2_000, 10_000  # batches: the example of the text, the lecture's, and one near the kink
PAST = 28_000  # one past the kink, whose row can be redone to the last digit from the rounded inputs
LECTURE_RENT = 2.0  # USD per chip-hour, lecture 0:12:49
HOUR, MILLION = factor("hour"), 1e6  # prices are per million tokens
LONG = 10_000  # tokens: a context at which memory fills before compute is busy
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
        "floor": pretty(eq.latency_floor(RUNNING), "s", 4),
        "fastest": f"{1 / eq.latency_floor(RUNNING):,.0f}",
        "chip_flops": pretty(known["flops"] / known["chips"], "FLOP/s", 1),
        "chip_bandwidth": pretty(known["bandwidth"] / known["chips"], "byte/s", 1),
        "weight_bytes": pretty(known["n_total"] * known["bytes_per_param"], "byte"),
        "bandwidth": pretty(known["bandwidth"], "byte/s"),
        "flops": pretty(known["flops"], "FLOP/s"),
        "compute_one": pretty(each[0], "s", 4),
        "kv_one": pretty(each[1], "s"),
        "kv_ten": pretty(eq.kv_time(RUNNING, batch=1, context=LONG), "s"),
        "gap": pretty(each[0] - each[1], "s"),
        "sequence_kv": pretty(RUNNING.context * known["kv_bytes_per_token"], "byte"),
        "intensity": significant(eq.hardware_constant(RUNNING), 4),
        "sparsity": significant(known["n_total"] / known["n_active"], 3),
        "critical": significant(eq.critical_batch(RUNNING), 2),
        "gain": significant(eq.batching_gain(RUNNING), 2),
        "gain_dense": significant(eq.batching_gain(RUNNING, n_total=known["n_active"]), 4),
        "n_active": f"{known['n_active'] / 1e9:.2f} billion",
        "n_total": f"{known['n_total'] / 1e9:.0f} billion",
        "n_total_off": f"{model('lecture-moe').n_total / known['n_total'] - 1:.0%}",
    }


def cheapest(moved: eq.WithAttention) -> float:
    """USD of a token in the largest batch, at the lecture's rent."""
    return max(moved.token, moved.kv) * RUNNING.symbols()["chips"] * LECTURE_RENT / HOUR


def attention() -> dict[str, str]:
    """What attention's own compute moves, if it computes at the rate of FP8 or at half of that."""
    told: dict[str, str] = {}
    for name, slower in {"fp8": 1, "bf16": 2}.items():
        moved = eq.with_attention(RUNNING, slower)
        told |= {
            f"attend_{name}": pretty(moved.token - eq.compute_time(RUNNING, batch=1), "s"),
            f"token_{name}": pretty(moved.token, "s"),
            f"kink_{name}": significant(moved.kink, 2),
            f"cheapest_{name}": f"${significant(cheapest(moved) * MILLION, 3)}",
            f"balanced_{name}": f"{significant(moved.balanced, 2)} tokens",
        }
    return told


def looseness() -> dict[str, str]:
    """What the roofline overstates, and what it leaves out: embeddings, and weights that each GPU holds in full."""
    net, known = model(RUNNING.model), RUNNING.symbols()
    looked_up = net.vocab * net.d_model  # the table from which a step takes a row for each sequence
    routed = (net.n_total - net.n_active) / (1 - net.moe.active / net.moe.experts)
    spread, copied = (
        known["bytes_per_param"] * each
        for each in (net.n_total / known["chips"], net.n_total - routed + routed / known["chips"])
    )
    return {
        "embed_active": f"{looked_up / net.n_active:.1%}",
        "spread_bytes": pretty(spread, "byte", 2),
        "copied_bytes": pretty(copied, "byte", 2),
        "copied_floor": pretty(copied / system(RUNNING.system).chip.bandwidth, "s", 2),
    }


def workload() -> dict[str, str]:
    """Context, KV and what a slow mode can save."""
    board, attention = model("lecture-moe").kv_bytes_per_token(), model(RUNNING.model).attention_flop(1)
    (latent,) = model(RUNNING.model).attention
    twice = eq.mfu_limit(RUNNING, context=2 * eq.balanced_context(RUNNING))
    floor = eq.cost_floor(RUNNING, rent=LECTURE_RENT / HOUR) * MILLION
    return {
        "kv_bytes": pretty(RUNNING.symbols()["kv_bytes_per_token"], "byte"),
        "balanced": f"{significant(eq.balanced_context(RUNNING), 3)} tokens",
        "balanced_board": f"{significant(eq.balanced_context(RUNNING, kv_bytes_per_token=board), 2)} tokens",
        "mfu_twice": f"{twice:.0%}",
        "kink": significant(eq.crossing(RUNNING), 4),
        "attention": f"{attention / 1e6:.0f} MFLOP",
        "attention_parts": f"2 × {latent.heads} heads × ({latent.kv_rank + latent.rope_dim} + {latent.kv_rank}) values"
        f" × {latent.layers} layers",
        "attention_more": f"{RUNNING.context * attention / (2 * RUNNING.symbols()['n_active']):.0%}",
        "attention_equal": f"{significant(2 * RUNNING.symbols()['n_active'] / attention, 2)} tokens",
        "slow_batch": str(SLOW),
        "slow_context": f"{RUNNING.context:,} tokens",
        "slow_step": pretty(eq.step_time(RUNNING, batch=SLOW), "s", 4),
        "busy": f"{BUSY:,}",
        "slow_cost": f"${eq.cost_per_token(RUNNING, batch=SLOW, rent=LECTURE_RENT / HOUR) * MILLION:.3f}",
        "slow_saving": significant(eq.slow_mode_limit(RUNNING, batch=SLOW), 2),
        "large": f"{LARGE:,}",
        "large_saving": f"{eq.slow_mode_limit(RUNNING, batch=LARGE) - 1:.0%}",
        "busy_saving": significant(eq.slow_mode_limit(RUNNING, batch=BUSY), 2),
        "cheapest": f"${significant(floor, 3)}",
        "least": str(LEAST),
        "least_saving": significant(eq.slow_mode_limit(RUNNING, batch=LEAST), 2),
    }


def step_table() -> Page:
    """Step, speed and price of the running case at a few batches."""
    rows = []
    for batch in (SLOW, BUSY, LARGE, PAST):
        step = eq.step_time(RUNNING, batch=batch)
        cost = MILLION * eq.cost_per_token(RUNNING, batch=batch, rent=LECTURE_RENT / HOUR)
        saved = significant(eq.slow_mode_limit(RUNNING, batch=batch), 2)
        rows.append([f"{batch:,}", f"{step * 1e3:.3f}", f"{1 / step:,.0f}", f"${cost:.4f}", saved])
    heads = ("Batch", "Step, ms", "Tokens/s per user", "Per million tokens", "Times the cost floor")
    return table(f"{RUNNING}, {RUNNING.tokens}, at ${LECTURE_RENT:g} per GPU-hour", heads, rows)


def fast_mode() -> dict[str, str]:
    """Fast mode at the lecture's date and later, inverted to a batch."""
    day, night = price("deepseek-r1", on="2025-02-26"), price("deepseek-r1-night@2025-02-26")
    then, later = price("claude-opus-4.6", on=LECTURE_DAY), price(LATER_CARD)
    ratio = lambda card: eq.fast_mode_batch_ratio(
        price_ratio=card.fast.price_multiplier, speed_ratio=card.fast.speed_multiplier
    )
    fast_now = _standard_batch(RUNNING, later.fast.speed_multiplier, ratio(later)) / ratio(later)
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
        "fast_now_above": f"{eq.step_time(RUNNING, batch=fast_now) / eq.latency_floor(RUNNING) - 1:.0%}",
        "fast_now_price": significant(later.fast.price_multiplier, 1),
        "fast_now_ratio": significant(ratio(later), 1),
    }


def _standard_batch(case: Case, speed: float, ratio: float) -> float:
    """The batch whose step is `speed` times as long as that of a batch `ratio` times smaller."""
    from scipy.optimize import brentq

    step = lambda batch: eq.step_time(case, batch=batch)
    return brentq(lambda batch: step(batch) / step(batch / ratio) - speed, 1, 10 * eq.critical_batch(case))


@cache
def fast_rows() -> list[tuple[float, float, float, float, float]]:
    """Context, standard batch, fast batch, the fast step divided by the floor, and the most a slow mode could save."""
    found: list[tuple[float, float, float, float, float]] = []
    card = price("claude-opus-4.6", on=LECTURE_DAY).fast
    speed = card.speed_multiplier
    ratio = eq.fast_mode_batch_ratio(price_ratio=card.price_multiplier, speed_ratio=speed)
    for context in (100, 1_000, 4_000, 10_000):
        case = RUNNING._replace(context=context)
        standard = _standard_batch(case, speed, ratio)
        fast = standard / ratio
        above = eq.step_time(case, batch=fast) / eq.latency_floor(case)
        found.append((context, standard, fast, above, eq.slow_mode_limit(case, batch=standard)))
    return found


def fast_worst() -> dict[str, str]:
    """How far from the two walls that card can be at any context of the table, and its last row step by step."""
    *_, above, saving = zip(*fast_rows())
    context, *batches = fast_rows()[-1][:3]
    steps = [eq.step_time(RUNNING, context=context, batch=batch) for batch in batches]
    return {
        "fast_above": f"{max(above) - 1:.0%}",
        "fast_saving": f"{max(saving):.1f}",
        "long_standard": significant(batches[0], 3),
        "long_fast": significant(batches[1], 3),
        "long_slow": pretty(steps[0], "s", 2),
        "long_quick": pretty(steps[1], "s", 2),
    }


def fast_table() -> Page:
    """What the lecture's card would mean for the running case, by context."""
    rows = [
        [f"{context:,}", significant(standard, 3), significant(fast, 3), f"{above:.2f}", f"{saving:.2f}"]
        for context, standard, fast, above, saving in fast_rows()
    ]
    heads = (
        "Context, tokens",
        "Standard batch",
        "Fast batch",
        "Fast step, divided by the latency floor",
        "Standard cost, divided by the cost floor",
    )
    return table(f"The card read backwards, for {RUNNING}", heads, rows)


def train() -> dict[str, str]:
    """The departure schedule."""
    ms = lambda seconds: f"{seconds * 1e3:.0f} ms"
    rents = [rent.usd_per_chip_hour for rent in system(RUNNING.system).chip.rents if rent.confirmed]
    known, step = RUNNING.symbols(), eq.step_time(RUNNING, batch=BUSY)
    full = (known["hbm"] - known["n_total"] * known["bytes_per_param"]) / (LONG * known["kv_bytes_per_token"])
    [standard] = [row[1] for row in fast_rows() if row[0] == LONG]
    full_step, card_step = (eq.step_time(RUNNING, context=LONG, batch=batch) for batch in (full, standard))
    return {
        "drain_least": ms(drains()[0]),
        "drain_most": ms(drains()[-1]),
        "drain_rack": pretty(eq.drain_time(RUNNING), "s", 4),
        "hbm": pretty(known["hbm"], "byte", 4),
        "long": f"{LONG:,}",
        "long_kv": pretty(LONG * known["kv_bytes_per_token"], "byte"),
        "full": significant(full, 3),
        "full_compute": pretty(eq.compute_time(RUNNING, batch=full) + full * LONG * RUNNING.attention_time(), "s", 2),
        "full_slower": significant(full_step / card_step, 1),
        "full_cheaper": f"{1 - (full_step / full) / (card_step / standard):.0%}",
        "worst": ms(eq.worst_latency(interval=INTERVAL)),
        "mean": ms(eq.mean_latency(interval=INTERVAL)),
        "step_rack": pretty(step, "s"),
        "throughput": f"{eq.throughput(batch=BUSY, interval=step) / 1e6:.2f} million tokens",
        "rent_least": f"${min(rents):.2f}",
        "rent_most": f"${max(rents):.2f}",
    }


class Served(NamedTuple):
    """A decode step of a whole engine as measured, and the roofline of the same load, in seconds."""

    name: str
    batch: int
    context: int
    measured: float
    ideal: float


@cache
def served() -> list[Served]:
    """DeepSeek-V3 on many H800 and H100, before any token is drafted."""
    rows = []
    for row in measurement("sglang_large_ep_decode").records():
        if row["system"] in ("DeepSeek profile", "SGLang"):
            per_gpu, gpus = row["batch_per_gpu"], 8 * row["nodes"]
            batch, context = per_gpu * gpus, row["context_tokens"]
            ideal = eq.step_time(_replica(row["chip"].lower(), gpus) | {"batch": batch, "context": context})
            name = f"{row['system']}, {gpus} {row['chip']}"
            rows.append(Served(name, batch, context, 8 * per_gpu / row["node_token_per_s"], ideal))
    return rows


def _replica(chip_id: str, gpus: int) -> dict[str, float]:
    """The running model on so many chips, in the notation's names."""
    one = chip({"h100": "h100-sxm"}.get(chip_id, chip_id)).symbols(RUNNING.precision)
    many = {name: gpus * one[name] for name in ("flops", "bandwidth")}
    return model(RUNNING.model).symbols(RUNNING.precision) | many


def served_table() -> Page:
    """Measured steps beside the roofline."""
    rows = [
        [
            row.name,
            f"{row.batch:,}",
            f"{row.context:,}",
            pretty(row.measured, "s", 3),
            pretty(row.ideal, "s", 3),
            f"{row.measured / row.ideal:.1f}",
        ]
        for row in served()
    ]
    heads = ("Who", "Batch", "Context, tokens", "Measured step", "Roofline", "Measured / roofline")
    return table("Decode steps of DeepSeek-V3 in real engines", heads, rows)


def engines() -> dict[str, str]:
    """What whole engines and exchanges between GPUs add."""
    slower = [row.measured / row.ideal for row in served()]
    (rack,) = measurement("deepseek_isca25_ep_latency").records(network="GB200 NVL72")
    lone = measurement("trtllm_r1_latency_steps").records()[4]  # the last one before drafting
    alone, moe = eq.first_floor(_replica("b200", 8)), model(RUNNING.model).moe
    known = RUNNING.symbols()
    stored, loaded = known["n_total"] * known["bytes_per_param"], sparsity.bytes_touched(RUNNING, batch=LEAST)
    return {
        "engine_least": f"{min(slower):.1f}",
        "engine_most": f"{max(slower):.1f}",
        "exchange": f"{moe.layers * 2 * rack['exchange_us'] / 1e3:.2f} ms",
        "exchange_parts": f"{moe.layers} layers × 2 × {rack['exchange_us']:.2f} µs",
        "covered": f"{sparsity.coverage(RUNNING, batch=LEAST):.0%}",
        "overstated": f"{stored / loaded - 1:.0%}",
        "served_bandwidth": pretty(chip("h800").bandwidth, "byte/s", 3),
        "lone": f"{lone['throughput_token_per_s']:.0f}",
        "lone_bound": f"{significant(1 / alone, 2)}",
        "lone_bandwidth": pretty(chip("b200").bandwidth, "byte/s", 1),
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
    return (
        hardware() | looseness() | attention() | workload() | fast_mode() | fast_worst() | train() | engines() | gemm()
    )
