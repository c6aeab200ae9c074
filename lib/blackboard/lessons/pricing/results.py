"""What the lesson computes of a call on the running case, GPU seconds and dollars; numbers.py words it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from blackboard.catalogue import Chip, MemoryTier, measurement, model, price, system, tier
from blackboard.catalogue.prices import BytePrice, TokenPrices
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing.implied import rent
from blackboard.lessons.sparsity.equations import batch_fits
from blackboard.search import find_root
from blackboard.units import factor

BILLED = "claude-opus-4.6@2026-02-05"  # the same model five weeks earlier: the list of the page's bill
HOUR = factor("h")
LIFE = 5 * 365 * factor("day")  # over how long we pay off a device
MTOK = factor("USD/megatoken")
KEEP = ("ddr5-3tb-pcie", "ssd-9650-30t", "hdd-exos30")  # devices to which KV may go, nearest first
KINDS = dict(zip(("ddr", "ssd", "hdd"), KEEP))
CALL = {"cached_read": 175_000, "input": 5_000, "output": 1_000}  # tokens of one call, an example
PROMPT = CALL["cached_read"] + CALL["input"]
PAUSE = 2 * factor("min")  # since the call before, an example
LINE_UP = ("llama-3.1-405b", "llama-3.1-70b", "qwen3-235b-a22b", "deepseek-v3")
SERVER = 10  # times the bare price of a drive, for its server and power: more than they cost, a guess


def c_of_rack() -> float:
    """Multiply-adds that the running case's rack does in FP8 while it loads a byte."""
    rack = system(RUNNING.system)
    return rack.flops("fp8") / rack.bandwidth / 2


def lines(p: TokenPrices, later: int = 0) -> dict[str, float]:
    """The lines of the call at such prices, USD, or of one so many calls later. The list has one price for new input
    that is written to the cache; its part beyond plain input is a line of its own.
    """
    usd = {
        "cached_read": (CALL["cached_read"] + later * CALL["input"]) * p.cached_read,
        "input": CALL["input"] * p.input,
        "output": CALL["output"] * p.output,
        "write": CALL["input"] * (p.cache_write_5min - p.input),
    }
    return {name: each / 1e6 for name, each in usd.items()}


def charged(later: int = 0) -> dict[str, float]:
    """The lines of the bill by the page's price list, USD."""
    return lines(price(BILLED).rates(PROMPT + later * CALL["input"]), later)


def three_lines() -> dict[str, float]:
    """The same, USD, with all of the new input in one line."""
    paid = charged()
    paid["input"] += paid.pop("write")
    return paid


def least_lines(place: str, prompt: float = PROMPT) -> dict[str, float]:
    """What the lines cost on the running case at least, USD, of a call with such a prompt, its hits kept in such a
    place. Writing new input there is left out: a transfer of milliseconds.
    """
    return {
        "cached_read": (prompt - CALL["input"]) / CALL["cached_read"] * hits_in()[place],
        "input": CALL["input"] * least_input(prompt),
        "output": CALL["output"] * least_output(prompt),
    }


def causes(place: str) -> dict[str, float]:
    """The call's cost by what causes it, USD, its hits kept in such a place: what each line costs more than in the same
    call without its history, and that call.
    """
    cost, alone = least_lines(place), least_lines(place, CALL["input"])
    return {line: cost[line] - alone[line] for line in cost} | {"alone": sum(alone.values())}


def bookings() -> tuple[dict[str, float], dict[str, float]]:
    """The GPU time of the call, USD by line, booked to the tokens that look back, and with all that the history causes
    booked to its hits. What hits cost while they wait is in neither.
    """
    cost, alone = least_lines("hbm"), least_lines("hbm", CALL["input"])
    looks = cost | {"cached_read": 0.0}
    return looks, alone | {"cached_read": sum(looks.values()) - sum(alone.values())}


def hits_in() -> dict[str, float]:
    """USD of the call's hits by where they are kept: in HBM that is full of waiting caches (their share of its rent),
    and in slower memory.
    """
    each = {"hbm": eq.hbm_hold(rack(), hold_time=PAUSE)} | {kind: kept_in(kind, PAUSE) for kind in KINDS}
    return {place: CALL["cached_read"] * usd for place, usd in each.items()}


def call_work() -> tuple[float, float]:
    """Seconds of the rack for one call: its own, computing its new input and loading its cache for each token of the
    answer; and those in which its passes load the weights, which the calls that run together share.
    """
    chips, out = system(RUNNING.system).chips, output_time(PROMPT, 1)
    own = CALL["input"] * sum(input_time(PROMPT).values()) + CALL["output"] * out["cache"]
    return own / chips, CALL["output"] * out["weights"] / chips


def crowded(pause: float, work: tuple[float, float] | None = None) -> tuple[float, float]:
    """The running time of a call, s, and the calls of a second, on a rack where all calls are like ours and all caches
    wait in HBM for such a pause. Running and waiting conversations together take all places, and so many calls run at
    once that the rack is busy: running = rate × run time, and run time = own work × running + shared work.
    """
    (own, shared), places = work or call_work(), fitting(PROMPT)
    spare = places * own - shared - pause
    running = (spare + math.sqrt(spare**2 + 4 * own * places * shared)) / (2 * own)
    time = own * running + shared
    return time, eq.call_rate(batch=places, hold_time=pause, run_time=time)


def kept_in_hbm(pause: float = PAUSE, work: tuple[float, float] | None = None) -> float:
    """USD of the call's hits after such a pause in HBM: what a call then costs more than its two other lines, because
    waiting caches take the places of calls that could run.
    """
    own, shared = work or call_work()
    return rack_rent() * (1 / crowded(pause, (own, shared))[1] - own - shared / fitting(PROMPT))


def receipt() -> dict[str, float]:
    """What the lines of the call cost, USD, with its hits kept in HBM."""
    return least_lines("hbm") | {"cached_read": kept_in_hbm()}


def rack_rent() -> float:
    """USD of the rack for a second."""
    return rack()["rent"] * system(RUNNING.system).chips


def kept_in(kind: str, time: float) -> float:
    """USD of a token's cache in slower memory for a time, and of its way back."""
    return eq.tier_cost(rack() | rented(tier(KINDS[kind])), hold_time=time)


def ten_times() -> float:
    """Seconds of a pause in HBM after which new input costs as many times as much as a hit as on the price list."""
    p = price(BILLED).usd_per_Mtok
    return find_root(lambda pause: p.input / p.cached_read - per_hit("input", kept_in_hbm(pause)), 1, HOUR)


def per_hit(line: str, hits: float) -> float:
    """A token of new input or of output divided by a hit, in cost, if the call's hits cost so much."""
    return least_lines("hbm")[line] / CALL[line] / (hits / CALL["cached_read"])


def factors() -> dict[str, float]:
    """A token of the answer divided by a hit, in cost: on the receipt, and if one thing on it is changed."""
    minute = factor("min")
    alone = bookings()[1]
    hit = (alone["cached_read"] + kept_in_hbm()) / CALL["cached_read"]
    return {
        "receipt": per_hit("output", kept_in_hbm()),
        "5 min": per_hit("output", kept_in_hbm(5 * minute)),
        "1 min": per_hit("output", kept_in_hbm(minute)),
        "half": per_hit("output", kept_in_hbm(minute / 2)),
        "flash": per_hit("output", SERVER * hits_in()["ssd"]),
        "booked": alone["output"] / CALL["output"] / hit,
    }


def out_in() -> float:
    """A token of output divided by one of new input, in cost."""
    return least_output(PROMPT) / least_input(PROMPT)


def losing() -> int:
    """How many of four models would cost more than the call's output is priced at, if each of its tokens loaded the
    prompt's cache on the running case's GPUs, as far below their peak as on DeepSeek's own day.
    """
    cost = day_slower()[1] * rack()["rent"] / system(RUNNING.system).chip.bandwidth  # USD for loading a byte
    loaded = [PROMPT * model(name).kv_bytes_per_token() for name in LINE_UP]
    return sum(each * cost * CALL["output"] > charged()["output"] for each in loaded)


def slow_work() -> tuple[float, float]:
    """`call_work`, if GPUs ran as far below their peak as on DeepSeek's own day."""
    own, shared = call_work()
    new = CALL["input"] * sum(input_time(PROMPT).values()) / system(RUNNING.system).chips
    slow_in, slow_out = day_slower()
    return new * slow_in + (own - new) * slow_out, shared * slow_out


def day_slower() -> tuple[float, ...]:
    """How many times the computed cost the rent was on DeepSeek's own day: of input, and of output."""
    day = day_costs()
    return tuple(real / floor for floor, real in zip(day["floor"], day["real"]))


def day_times() -> dict[str, float]:
    """GPU seconds of a token on DeepSeek's own day at the peak of its H800: input after half of the mean context of
    output; and of output its compute, its cache, and its share of the weights in the batch of all GPUs of a unit.
    """
    [day] = measurement("deepseek_day6_production").records()
    gpu, context, net = system("h800-8").chip, day["context_tokens"], model("deepseek-r1")
    return {
        "input": compute_time(context / 2, "prefill", gpu),
        "compute": compute_time(context, "decode", gpu),
        "cache": net.kv_bytes_per_token() * context / gpu.bandwidth,
        "weights": net.n_total / day_batch() / gpu.bandwidth,
    }


def day_batch() -> int:
    """Sequences that share a pass in DeepSeek's decode."""
    [unit] = measurement("sglang_large_ep_decode").records(system="DeepSeek production")
    return unit["expert_parallel"] * unit["batch_per_gpu"]


def day_costs() -> dict[str, tuple[float, float]]:
    """USD of a token of input and of output on DeepSeek's own day: the least, what its nodes reached, and the list's
    price. Hits are free.
    """
    [day], time = measurement("deepseek_day6_production").records(), day_times()
    second = day["rent_USD_per_GPU_per_hour"] / HOUR
    node, misses = day["gpus_per_node"] * second, day["node_prefill_token_per_s"] * (1 - day["hit_rate"])
    return {
        "floor": (time["input"] * second, max(time["compute"], time["cache"] + time["weights"]) * second),
        "real": (node / misses, node / day["node_decode_token_per_s"]),
        "list": (day["input_price_USD_per_Mtoken"] * MTOK, day["output_price_USD_per_Mtoken"] * MTOK),
    }


# --- where a cache lies -----------------------------------------------------------------------------------------------


def paid(row: MemoryTier, by: str = "9999") -> BytePrice:
    """The newest confirmed price of a device's bytes, by the end of a year."""
    return max((p for p in row.prices if p.confirmed and p.date[:4] <= by), key=lambda p: p.date)


def rented(row: MemoryTier) -> dict[str, float]:
    """A device's symbols: what it holds and reads, and its rent from the newest confirmed price, paid off over LIFE."""
    known = {"tier_capacity": row.capacity_bytes, "tier_bandwidth": row.read_bytes_per_s}
    return known | {"tier_rent": eq.rent_of_price(known, byte_price=paid(row).usd_per_GB / 1e9, service_life=LIFE)}


def rack() -> dict[str, float]:
    """The running case's symbols, and the rent of its chips."""
    return RUNNING.symbols() | {"rent": rent().usd_per_chip_second}


def memories() -> dict[str, dict[str, float]]:
    """The running case's symbols with those of each device that a cache may be kept in."""
    return {name: rack() | rented(tier(id)) for name, id in KINDS.items()}


@cache
def cheapest(again: float, arriving: int = 0) -> dict[str, float]:
    """How long each place is the cheapest for DeepSeek-V3's KV, in turn, s, by bisection; after the last it is
    computed again, at so many USD per token. A cache of so many `arriving` tokens takes room in HBM while it comes.
    """
    known = rack()
    room = lambda at: eq.hbm_hold(known, hold_time=arriving * known["kv_bytes_per_token"] / at["tier_bandwidth"])
    cost: dict[str, Callable[..., float]] = {"hbm": lambda t: eq.hbm_hold(known, hold_time=t)}
    cost |= {name: lambda t, at=at: eq.tier_cost(at, hold_time=t) + room(at) for name, at in memories().items()}
    cost["again"] = lambda t: again
    least = lambda t: min(cost, key=lambda name: cost[name](t))
    until, now = {}, 1e-3
    while (place := least(now)) != "again":
        low, high = now, 1e9
        while high > low * (1 + 1e-9):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if least(middle) == place else (low, middle)
        until[place] = now = high
    return until


# --- GPU time of a token ----------------------------------------------------------------------------------------------


def decompressed() -> float:
    """The numbers of a key or a value of DeepSeek-V3, on average, as prefill decompresses them."""
    [group] = model(RUNNING.model).attention
    return (group.nope_dim + group.rope_dim + group.v_dim) / 2


def attend_flop() -> dict[str, float]:
    """FLOPs that a new token spends on each earlier one: prefill with keys and values decompressed, decode on the
    latent itself.
    """
    [group] = model(RUNNING.model).attention
    each = eq.attention_of_heads(layers=group.layers, query_heads=group.heads, head_dim=decompressed())
    return {"prefill": each, "decode": model(RUNNING.model).attention_flop(1)}


def compute_time(context: float, kind: str, gpu: Chip | None = None) -> float:
    """GPU seconds of a token's compute in prefill or decode after so many others: weights in FP8, attention in BF16."""
    gpu = gpu or system(RUNNING.system).chip
    return 2 * model(RUNNING.model).n_active / gpu.flops("fp8") + attend_flop()[kind] * context / gpu.flops("bf16")


def expanding(prompt: float, new: float) -> float:
    """FLOPs for each new token of a call in which prefill expands the cached latents into keys and values."""
    [group] = model(RUNNING.model).attention
    each = 2 * group.layers * group.kv_rank * group.heads * (group.nope_dim + group.v_dim)
    return each * (prompt - new) / new


def input_time(prompt: float, new: float = CALL["input"]) -> dict[str, float]:
    """GPU seconds of a token of so much new input at the end of such a prompt, whose other tokens hit: the mean of all
    new tokens, weights in FP8, attention in BF16.
    """
    net, gpu = model(RUNNING.model), system(RUNNING.system).chip
    return {
        "weights": 2 * net.n_active / gpu.flops("fp8"),
        "expand": expanding(prompt, new) / gpu.flops("bf16"),
        "attend": attend_flop()["prefill"] * (prompt - new / 2) / gpu.flops("bf16"),
    }


def fitting(context: float) -> float:
    """Sequences of such a context that fit into the running case's rack."""
    return batch_fits(RUNNING, context=context)


def output_time(context: float, batch: float) -> dict[str, float]:
    """GPU seconds of a token of output: its share of loading the weights, its cache, and its compute."""
    net, gpu = model(RUNNING.model), system(RUNNING.system).chip
    return {
        "weights": net.n_total / batch / gpu.bandwidth,
        "cache": net.kv_bytes_per_token() * context / gpu.bandwidth,
        "compute": compute_time(context, "decode"),
    }


def bend() -> float:
    """The context from which on a token of output waits for memory: both its loading and its looking back grow in
    proportion to the context, the compute of its weights does not.
    """
    at, more = (output_time(context, fitting(context)) for context in (PROMPT, 2 * PROMPT))
    loading = (at["weights"] + at["cache"]) / PROMPT
    looking = (more["compute"] - at["compute"]) / PROMPT
    return (at["compute"] - looking * PROMPT) / (loading - looking)


def least_input(prompt: float) -> float:
    """USD of a token of the call's new input at the end of such a prompt, at the peak rate."""
    return sum(input_time(prompt).values()) * rent().usd_per_chip_second


def least_output(context: float) -> float:
    """USD of a token of output in the batch that fits: the slower of memory and compute."""
    time = output_time(context, fitting(context))
    return max(time["weights"] + time["cache"], time["compute"]) * rent().usd_per_chip_second


def prompt_again(tokens: float) -> float:
    """USD of a token of a prompt that is computed again from its start: it attends to half of it on average."""
    return compute_time(tokens / 2, "prefill") * rent().usd_per_chip_second


def ordinary(id: str) -> dict[str, float]:
    """GPU seconds of a token of the call on a model whose cache is not packed: computing one of input and one of
    output, loading the cache for one of output, and its share of the weights' loading in the batch that fills the rack.
    """
    net, gpu, case = model(id), system(RUNNING.system).chip, system(RUNNING.system)
    compute = lambda at: 2 * net.n_active / gpu.flops("fp8") + net.attention_flop(at) / gpu.flops("bf16")
    cache = net.kv_bytes_per_token() * PROMPT
    fits = (case.chips * gpu.hbm_bytes - net.n_total) / cache
    return {
        "input": compute(PROMPT - CALL["input"] / 2),
        "output": compute(PROMPT),
        "load": cache / gpu.bandwidth,
        "weights": net.n_total / fits / gpu.bandwidth,
    }


def misses_even() -> float:
    """The misses of the hour's cache divided by those of the five minutes' at which both cost the same: a miss costs
    the write less the hit that it replaces.
    """
    p = price(BILLED).usd_per_Mtok
    return (p.cache_write_5min - p.cached_read) / (p.cache_write_1h - p.cached_read)
