"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Any, NamedTuple

from blackboard.catalogue import Chip, chip, measurement, model, price, prices, system
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.catalogue.running_case import LECTURE_RENT, RUNNING
from blackboard.lessons.batching import equations as eq
from blackboard.lessons.sparsity import equations as sparsity
from blackboard.page.summary import Page, fold, table
from blackboard.text import merge
from blackboard.units import factor, pretty, significant

LEAST = 100  # sequences: from about here on a batch touches nearly every expert, so that all weights are loaded
SLOW, BUSY = 256, 2_000  # batches: the example of the text, and the lecture's
PAST = 28_000  # one past the kink, and so is half of it
HOUR, MILLION = factor("hour"), 1e6  # prices are per million tokens
LONG = 10_000  # tokens: a context at which memory fills before compute is busy
ON_LONG = RUNNING._replace(context=LONG)
SLOWER = (0, 2)  # attention left out, and at the rate of BF16, half of that of FP8
REACHED = 0.9  # of that rate, for a border that moves much if attention is a little slower
GUESSED = 4 / 3  # tokens per step of a fast mode that speculation makes a third faster
MEAN_LENGTH = 0.9  # of the nominal prompt and answer: the public runs draw 0.8 to 1.0 of them
DENSE = "llama-3.1-70b"  # as Llama 3.3 70B, which the public runs have
SOME = 16  # users of a measured server that has four times as many as its smallest run
SENT, SLOWER_NETWORK = 32, "InfiniBand 400 Gb/s"  # sequences on a GPU in the estimate of an exchange, and its network
SENT_TO = 9  # experts of a token in that estimate, one of them the shared one, of which our GPUs have copies
HANDFUL, DOZEN = 4, 16  # users of a measured server whose steps are shorter than its latency floor, and longer
INTERVAL = 0.020  # s between departures, lecture 0:22:13
RUBIN = {"hbm": 288e9, "bandwidth": 20e12}  # as the lecture has it, 0:24:13
LECTURE_DAY, LATER_CARD = "2026-04-29", "claude-opus-4.8@2026-05-28"


def hardware() -> dict[str, str]:
    """Floor, critical batch and what they are made of."""
    known = RUNNING.symbols()
    each = eq.compute_time(RUNNING, batch=1), eq.kv_time(RUNNING, batch=1)
    return {
        "floor": pretty(eq.latency_floor(RUNNING), "s", 4),
        "fastest": significant(1 / eq.latency_floor(RUNNING), 3),
        "weight_bytes": pretty(known["n_total"] * known["bytes_per_param"], "byte"),
        "bandwidth": pretty(known["bandwidth"], "byte/s"),
        "flops": pretty(known["flops"], "FLOP/s"),
        "compute_one": pretty(each[0], "s"),
        "kv_one": pretty(each[1], "s"),
        "gain_one": pretty(each[0] - each[1], "s", 2),
        "kv_ten": pretty(eq.kv_time(RUNNING, batch=1, context=LONG), "s"),
        "intensity": significant(eq.hardware_constant(RUNNING), 2),
        "sparsity": significant(known["n_total"] / known["n_active"], 2),
        "critical": significant(eq.critical_batch(RUNNING), 2),
        "n_active": f"{known['n_active'] / 1e9:.1f} billion",
        "n_total": f"{known['n_total'] / 1e9:.0f} billion",
    }


def attention() -> dict[str, str]:
    """What attention's own compute adds, in BF16."""
    plain, bf16, far = (eq.with_attention(*at) for at in ((RUNNING, 0), (RUNNING, SLOWER[-1]), (ON_LONG, SLOWER[-1])))
    slower = eq.with_attention(RUNNING, SLOWER[-1] / REACHED)
    (latent,) = model(RUNNING.model).attention
    return {
        "attention": f"{model(RUNNING.model).attention_flop(1) / 1e6:.0f} MFLOP",
        "attention_parts": f"{latent.heads} heads × ({latent.kv_rank + latent.rope_dim} + {latent.kv_rank}) values"
        f" × {latent.layers} layers",
        "attention_long": pretty(far.token - plain.token, "s", 3),
        "attention_share": f"{(bf16.token / plain.token - 1) / SLOWER[-1]:.1%}",
        "attention_most": f"{bf16.token / plain.token - 1:.0%}",
        "cached_load": pretty(bf16.kv / RUNNING.context, "s", 3),
        "cached_compare": pretty(RUNNING.attention_time(SLOWER[-1]), "s", 3),
        "cached_gain": pretty(bf16.kv / RUNNING.context - RUNNING.attention_time(SLOWER[-1]), "s", 3),
        "mfu_long": f"{eq.mfu_limit(ON_LONG):.0%}",
        "busy_long": f"{far.token / far.kv:.0%}",
        "balanced_attention": f"{significant(bf16.balanced, 2)} tokens",
        "balanced_slower": f"{significant(slower.balanced, 2)} tokens",
        "balanced_llama": f"{_moved(DENSE):.0%}",
        "attention_reached": f"{REACHED:.0%}",
    }


def _moved(other: str) -> float:
    """By which share attention's arithmetic moves the balanced context of another model on the same rack."""
    case = RUNNING._replace(model=other)
    return eq.with_attention(case, SLOWER[-1]).balanced / eq.balanced_context(case) - 1


def _rented(batch: float) -> float:
    """USD of a token at a batch, at the lecture's rent."""
    return eq.cost_per_token(RUNNING, batch=batch, rent=LECTURE_RENT / HOUR)


def copied_bytes() -> tuple[float, float]:
    """Bytes of routed experts and of all other weights that a GPU loads, where each has a full copy of the others."""
    net, known = model(RUNNING.model), RUNNING.symbols()
    routed = (net.n_total - net.n_active) / (1 - net.moe.active / net.moe.experts)
    return known["bytes_per_param"] * routed / known["chips"], known["bytes_per_param"] * (net.n_total - routed)


def copied_floor() -> float:
    """Seconds that this loading takes."""
    return sum(copied_bytes()) / system(RUNNING.system).chip.bandwidth


def _kept_values() -> str:
    """What attention keeps of a token, as a product that gives the bytes."""
    (latent,) = model(RUNNING.model).attention
    return f"{latent.layers} layers × {latent.kv_rank + latent.rope_dim} values × 2 bytes"


class Corrected(NamedTuple):
    """Seconds of the running case with one thing counted that the roofline leaves out: loading the weights, what a
    sequence computes and loads, and what it takes on its own before the rest of the step (0 where nothing does).
    """

    weights: float
    token: float
    kv: float
    before: float = 0.0

    def step(self, batch: float) -> float:
        return batch * self.before + max(batch * self.token, self.weights + batch * self.kv)

    @property
    def own(self) -> float:
        """What no batch shares."""
        return self.before + max(self.token, self.kv)


def corrected(context: float) -> dict[str, Corrected]:
    """The text's own case at a context, and with each correction, by what it is called."""
    case = RUNNING._replace(context=context)
    floor, plain, bf16 = eq.latency_floor(case), eq.with_attention(case, 0), eq.with_attention(case, SLOWER[-1])
    attend = max(bf16.kv, bf16.token - plain.token)
    return {
        "In the text": Corrected(floor, plain.token, plain.kv),
        "With attention's arithmetic": Corrected(floor, bf16.token, bf16.kv),
        "Taking turns": Corrected(floor, plain.token, 0, attend),
        "Messages in turn": Corrected(floor, plain.token, plain.kv, exchanged()),
        "With copies": Corrected(copied_floor(), plain.token, plain.kv),
        "All together, in turn": Corrected(copied_floor(), 0, bf16.kv, bf16.token + exchanged()),
    }


def exchange(network: str) -> float:
    """Seconds in which the bytes of all layers travel to the routed experts and back, for 32 sequences on a GPU."""
    return model(RUNNING.model).moe.layers * _layer(network)["exchange_us"] / 1e6


def _layer(network: str) -> dict[str, Any]:
    """The estimate for one layer, without the copies that it sends to the shared expert."""
    (row,) = measurement("deepseek_isca25_ep_latency").records(network=network)
    return row | {"exchange_us": row["exchange_us"] * model(RUNNING.model).moe.active / SENT_TO}


def exchanged() -> float:
    """Seconds of it for each sequence of the running rack."""
    return exchange("GB200 NVL72") / (SENT * RUNNING.symbols()["chips"])


def corrections() -> Page:
    """Which correction moves which number of the running case."""
    short, long = corrected(RUNNING.context), corrected(LONG)
    rows = [
        [
            name,
            pretty(each.weights, "s", 2),
            significant(_priced(each.own), 2),
            significant(_fitting(long[name]), 3),
            f"{_saving(long[name]):.0%}",
        ]
        for name, each in short.items()
    ]
    heads = (
        "Counted",
        "Latency floor",
        f"Cost floor at {RUNNING.context:,} tokens, $ per million",
        f"Standard batch at {LONG:,} tokens",
        f"Patience saves at most, at {LONG:,} tokens",
    )
    return table("Results on our rack, with one correction at a time, and with all", heads, rows)


def _priced(seconds: float) -> float:
    """USD per million tokens that take so much of the rack's time each, at the lecture's rent."""
    return MILLION * seconds * RUNNING.symbols()["chips"] * LECTURE_RENT / HOUR


def _fitting(each: Corrected) -> float:
    """The standard batch of the lecture's card."""
    card = _fast_card()
    return _standard_batch(each.step, card.speed_multiplier, card.price_multiplier * card.speed_multiplier)


def _saving(each: Corrected) -> float:
    """The most that a larger batch saves of its cost."""
    return 1 - each.own * _fitting(each) / each.step(_fitting(each))


def workload() -> dict[str, str]:
    """Context, KV and what a slow mode can save."""
    each, known = eq.with_attention(RUNNING, 0), RUNNING.symbols()
    kept = known["kv_bytes_per_token"]
    return {
        "kv_bytes": pretty(kept, "byte"),
        "kv_parts": _kept_values(),
        "balanced": f"{significant(eq.balanced_context(RUNNING), 2)} tokens",
        "kink": significant(eq.crossing(RUNNING), 2),
        "kink_attention": significant(eq.with_attention(RUNNING, SLOWER[-1]).kink, 2),
        "slow_batch": str(SLOW),
        "slow_context": f"{RUNNING.context:,} tokens",
        "busy": f"{BUSY:,}",
        "tenfold": significant(eq.latency_floor(RUNNING) / (9 * each.token), 2),
        "even": significant(eq.latency_floor(RUNNING) / eq.kv_time(RUNNING, batch=1), 2),
        "even_long": significant(eq.latency_floor(RUNNING) / eq.kv_time(ON_LONG, batch=1), 2),
        "tenfold_long": significant(eq.latency_floor(RUNNING) / (9 * eq.kv_time(ON_LONG, batch=1)), 3),
        "least": str(LEAST),
        "ahead": pretty(
            PAST / known["chips"] * RUNNING.context * kept / model(RUNNING.model).attention[0].layers, "byte", 2
        ),
    }


def changed_batches() -> dict[str, str]:
    """What another batch does to the time of a step, and to the price of a token."""
    step, paid = (lambda batch: eq.step_time(RUNNING, batch=batch)), _rented
    together = corrected(RUNNING.context)["All together, in turn"]
    parts = {
        f"{name}_{part}": f"{significant(formula(RUNNING, batch=batch) / factor('ms'), 2)} ms"
        for name, batch in (("busy", BUSY), ("past", PAST))
        for part, formula in (("loads", eq.memory_time), ("computes", eq.compute_time))
    }
    return parts | {
        "past": f"{PAST:,}",
        "busy_halved": f"{1 - step(BUSY / 2) / step(BUSY):.0%}",
        "busy_together": f"{significant(together.step(BUSY) / factor('ms'), 2)} ms",
        "busy_weights": f"{significant(together.weights / factor('ms'), 2)} ms",
        "night": significant(paid(SLOW) / paid(BUSY), 2),
    }


def _fast_card(later: bool = False) -> Any:
    """Fast mode's price and speed at the lecture's date, or later."""
    return (price(LATER_CARD) if later else price("claude-opus-4.6", on=LECTURE_DAY)).fast


def _month(day: str) -> str:
    """Month and year of a day."""
    return f"{date.fromisoformat(day):%B %Y}"


def fast_mode() -> dict[str, str]:
    """Fast mode at the lecture's date and later, inverted to a batch."""
    then, later = _fast_card(), _fast_card(later=True)
    ratio = lambda card: eq.fast_mode_batch_ratio(price_ratio=card.price_multiplier, speed_ratio=card.speed_multiplier)
    return {
        "fast_price": significant(then.price_multiplier, 1),
        "fast_speed": significant(then.speed_multiplier, 2),
        "fast_ratio": significant(ratio(then), 2),
        "batch_price": " or ".join(
            sorted({f"{card.batch_multiplier:.0%}" for card in prices() if card.confirmed and card.batch_multiplier})
        ),
        "fast_then": price("claude-opus-4.6", on=LECTURE_DAY).model_name,
        "fast_then_when": _month(LECTURE_DAY),
        "fast_now": price(LATER_CARD).model_name,
        "fast_now_price": significant(later.price_multiplier, 1),
        "fast_now_ratio": significant(ratio(later), 1),
        "fast_now_caches": significant(_caches(later), 2),
        "fast_now_speedup": significant(1 + _caches(later), 2),
        "fast_now_saving": f"{1 / (1 + _caches(later)):.0%}",
        "list_price": f"${price('claude-opus-4.6', on=LECTURE_DAY).usd_per_Mtok.output:.0f}",
    }


def _caches(card: Any, drafted: float = 1.0) -> float:
    """Loading the caches of a card's standard batch, in units of loading the weights, where steps wait for memory."""
    slower = card.speed_multiplier / drafted  # what is left to the batch
    ratio = eq.fast_mode_batch_ratio(price_ratio=card.price_multiplier, speed_ratio=card.speed_multiplier)
    return (slower - 1) / (1 - slower / ratio)  # from 1 + x = slower * (1 + x / ratio)


def _standard_batch(step: Callable[[float], float], speed: float, ratio: float) -> float:
    """The batch whose step is `speed` times as long as that of a batch `ratio` times smaller."""
    from scipy.optimize import brentq

    return brentq(lambda batch: step(batch) / step(batch / ratio) - speed, 1, 10 * eq.critical_batch(RUNNING))


class Inferred(NamedTuple):
    """What a card means at a context: both batches, and the fast step divided by the latency floor."""

    standard: float
    fast: float
    above: float


@cache
def inferred(context: int) -> Inferred:
    """A card read backwards, with all weights loaded in each step."""
    card, case = _fast_card(), RUNNING._replace(context=context)
    ratio = eq.fast_mode_batch_ratio(price_ratio=card.price_multiplier, speed_ratio=card.speed_multiplier)
    step = lambda batch: eq.step_time(case, batch=batch)
    standard = _standard_batch(step, card.speed_multiplier, ratio)
    return Inferred(standard, standard / ratio, step(standard / ratio) / eq.latency_floor(case))


def fast_batches() -> dict[str, str]:
    """The lecture's card at a long context: both batches, and what no larger one can save."""
    found, card = inferred(LONG), _fast_card()
    share, guessed = _caches(card), _caches(card, GUESSED)
    paid = eq.cost_per_token(ON_LONG, batch=found.standard, rent=LECTURE_RENT / HOUR)
    return {
        "long_standard": significant(found.standard, 3),
        "long_fast": significant(found.fast, 3),
        "card_caches": significant(share, 2),
        "card_saving": f"{1 / (1 + share):.0%}",
        "card_cost": f"${MILLION * paid:.2g}",
        "guessed_slower": significant(card.speed_multiplier / GUESSED, 4),
        "guessed_caches": significant(guessed, 2),
        "guessed_saving": f"{1 / (1 + guessed):.0%}",
        "guessed_speedup": significant(GUESSED * (1 + guessed), 2),
        "card_speedup": significant(1 + share, 2),
    }


def _room(known: dict[str, float]) -> float:
    """Sequences of a long context that memory holds beside the weights."""
    return (known["hbm"] - known["n_total"] * known["bytes_per_param"]) / (LONG * known["kv_bytes_per_token"])


def train() -> dict[str, str]:
    """The departure schedule."""
    known, drain = RUNNING.symbols(), eq.drain_time(RUNNING)
    full = _room(known)
    return {
        "drain_rack": pretty(drain, "s", 2),
        "chip_hbm": pretty(known["hbm"] / known["chips"], "byte"),
        "long": f"{LONG:,}",
        "full": significant(full, 2),
        "throughput": f"{significant(eq.throughput(batch=full, interval=drain), 2)} tokens",
    }


class Served(NamedTuple):
    """A decode step of a whole engine as measured, and the roofline of the same load, in seconds."""

    name: str
    batch: int
    context: float
    measured: float
    ideal: float


class Step(NamedTuple):
    """A decode step of a whole engine: its load in the notation's names, and the seconds measured."""

    name: str
    load: dict[str, float]
    measured: float
    gpus: int

    @property
    def loads(self) -> float:
        """Seconds to load the weights and caches, where each GPU has a full copy of all weights but the experts."""
        _, others = copied_bytes()
        return eq.memory_time(self.load) + (self.gpus - 1) * others / self.load["bandwidth"]

    @property
    def sends(self) -> float:
        """Seconds in which the bytes of its messages travel, on the network of the estimate."""
        return exchange(SLOWER_NETWORK) * self.load["batch"] / self.gpus / SENT

    @property
    def added(self) -> float:
        """Seconds of loading, of computing with attention, and of these messages, one after the other."""
        return self.loads + computing(self.load) + self.sends


@cache
def served() -> list[Step]:
    """DeepSeek-V3 on many H800 and H100, before any token is drafted."""
    rows = []
    for row in measurement("sglang_large_ep_decode").records():
        if row["system"] in ("DeepSeek profile", "SGLang"):
            per_gpu, gpus = row["batch_per_gpu"], 8 * row["nodes"]
            load = _replica(row["chip"].lower(), gpus) | {"batch": per_gpu * gpus, "context": row["context_tokens"]}
            name = f"{row['system']}, {gpus} {row['chip']}"
            rows.append(Step(name, load, 8 * per_gpu / row["node_token_per_s"], gpus))
    return rows


def computing(load: dict[str, float]) -> float:
    """Compute time of a decode step of the running model with attention's, at the BF16 rate of Hopper."""
    attend = load["batch"] * load["context"] * model(RUNNING.model).attention_flop(1) / (load["flops"] / 2)
    return eq.compute_time(load) + attend


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
            f"{row.load['batch']:,}",
            f"{row.load['context']:,}",
            pretty(row.loads, "s", 3),
            pretty(computing(row.load), "s", 3),
            pretty(row.sends, "s", 3),
            pretty(row.added, "s", 3),
            pretty(row.measured, "s", 3),
        ]
        for row in served()
    ]
    parts = ("Loading", "Computing", "Messages", "All three", "Measured")
    heads = ("Engine and GPUs", "Batch", "Context, tokens", *parts)
    return table("Decode steps of DeepSeek-V3 in real engines", heads, rows)


def reality() -> Page:
    """What two measured steps consist of, and what counting all of it moves on the running rack."""
    return fold(
        "What does a measured step consist of, and what does this change on our rack?", served_table() + corrections()
    )


def engines() -> dict[str, str]:
    """What whole engines and exchanges between GPUs add."""
    ms, (step, *_) = (lambda seconds: f"{seconds * 1e3:.1f} ms"), served()
    profile = step.load
    loaded_each = f"{profile['context']:,} × {pretty(profile['kv_bytes_per_token'], 'byte')}"
    moe = model(RUNNING.model).moe
    slow = _layer(SLOWER_NETWORK)
    known = RUNNING.symbols()
    stored, touched = known["n_total"] * known["bytes_per_param"], sparsity.bytes_touched(RUNNING, batch=LEAST)
    return {
        "profile_gpus": str(step.gpus),
        "profile_measured": ms(step.measured),
        "profile_simple": ms(eq.step_time(profile)),
        "profile_sum": ms(step.added),
        "exchange_each": pretty(exchanged(), "s", 3),
        "exchange_slow": f"{SENT} × {moe.active} experts × 7,000 values × 3 bytes / {slow['link_GB_per_s']} GB/s"
        f" = {slow['exchange_us']:.0f} µs",
        "copied_rest": pretty(copied_bytes()[1], "byte", 3),
        "exchange_layers": str(moe.layers),
        "covered": f"{sparsity.coverage(RUNNING, batch=LEAST):.0%}",
        "overstated": f"{stored / touched - 1:.0%}",
        "served_bandwidth": pretty(chip("h800").bandwidth, "byte/s"),
        "served_copies": f"{served()[0].gpus - 1} × {pretty(copied_bytes()[1], 'byte', 3)}",
        "served_load": f"{profile['batch']:,} × {loaded_each}",
        "served_flops": pretty(chip("h800").flops("fp8"), "FLOP/s", 4),
        "eight_floor": f"{eq.latency_floor(_replica('b200', 8)) * 1e3:.1f} ms",
        "handful_step": f"{_small(HANDFUL) * 1e3:.1f} ms",
        "dozen_step": f"{_small(DOZEN) * 1e3:.1f} ms",
    }


def _small(users: int) -> float:
    """The shortest time per token of a model of the same shape for so few users, on eight B200, in seconds."""
    rows = measurement("serving_deepseek_r1").records(engine="sglang", chip="B200", concurrency=users)
    return min(row["output_token_ms"] for row in rows) / 1e3


def dense(gpus: int) -> dict[str, float]:
    """Llama 70B in FP8, cache too, on so many H200, at the mean context of the public runs."""
    rates = {name: gpus * chip("h200").symbols("fp8")[name] for name in ("flops", "bandwidth")}
    return (
        model(DENSE).symbols("fp8")
        | rates
        | {
            "kv_bytes_per_token": model(DENSE).kv_bytes_per_token("fp8"),
            "context": MEAN_LENGTH * (1_024 + 1_024 / 2),  # the prompt and half of the answer
        }
    )


@cache
def loaded(gpus: int) -> list[Served]:
    """The public runs of that model in TensorRT-LLM on so many H200: time per token by requests in flight."""
    case = dense(gpus)
    return [
        Served(f"{gpus} GPU", batch, case["context"], row["output_token_ms"] / 1e3, eq.step_time(case, batch=batch))
        for row in measurement("serving_llama70b").records(engine="trtllm", chip="H200", tensor_parallel=gpus)
        for batch in [row["concurrency"]]
    ]


class Swept(NamedTuple):
    """A measured step of one GPU, and what it loads and computes at ideal rates, in milliseconds."""

    users: int
    loads: float
    computes: float
    measured: float

    @property
    def rest(self) -> float:
        return self.measured - self.loads - self.computes


@cache
def swept() -> list[Swept]:
    """The public runs of a dense model on one GPU. Prompts are as long as answers, so a step computes two tokens for
    each user: one of the answer and, on average, one of a prompt.
    """
    ms, case = factor("ms"), dense(1)
    return [
        Swept(
            row.batch,
            eq.memory_time(case, batch=row.batch) / ms,
            eq.compute_time(case, batch=2 * row.batch) / ms,
            row.measured / ms,
        )
        for row in loaded(1)
    ]


def dense_case() -> dict[str, str]:
    """How far a real engine is from the roofline of a dense model, on one GPU and on eight."""
    rows, rest = swept(), [row.rest for row in swept()]
    (some,) = [row for row in rows if row.users == SOME]
    return {
        "sweep_few": str(rows[0].users),
        "sweep_some": str(some.users),
        "sweep_grown": f"{some.measured / rows[0].measured - 1:.0%}",
        "sweep_rest_low": f"{min(rest):.1f}",
        "sweep_rest_high": f"{max(rest):.1f} ms",
        "sweep_length": f"{MEAN_LENGTH * 1_024:,.0f}",
        "eight_many": f"{max(row.measured / row.ideal for row in loaded(8)):.1f}",
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


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    own = (hardware, attention, workload, changed_batches, fast_mode, fast_batches, train)
    parts = (*own, engines, dense_case)
    return merge(*(part() for part in parts))
