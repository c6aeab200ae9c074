"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

import math

from blackboard.catalogue import MemoryTier, measurement, model, price, prices, system, tier
from blackboard.catalogue.prices import TokenPrices
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing import results
from blackboard.lessons.pricing.implied import alike, implied, machine, rent
from blackboard.lessons.pricing.results import BILLED, CALL, HOUR, KINDS, LIFE, MTOK, PAUSE, PROMPT, SERVER
from blackboard.text import merge
from blackboard.units import factor, pretty, significant

BOARD = {
    "n_active": 100e9,
    "step_context": 200e3,
    "flops": 600.0,
    "bandwidth": 1.0,
}  # FP8: 300 multiply-adds a byte, 1:38:22
STEP = 200_000  # tokens, of the page's price list and of the lecture's
HEADS = {"kv_layers": 1, "kv_heads": 8, "head_dim": 128, "kv_value_bytes": 1}  # the board's check, 1:40:08
CARD, STEPPED = "claude-opus-4.6@2026-03-13", "gemini-3.1-pro-preview@2026-02-19"  # the cards that the lecture reads
FIRST = "deepseek-v3@2025-02-08"  # the first regular list of the machine whose accounts are known
OPEN = "deepseek-r1@2025-01-20"  # the card that DeepSeek's own accounts use
READ_ONCE = {"ddr": "second", "ssd": "minute", "hdd": "hour"}  # the unit of how long it takes to read each
LATER = 5  # calls later the prompt is beyond the step; each call adds the new input of the first
DROPPED = 10_000  # tokens at the start of a prompt that an agent drops, an example
SMALLER = 10  # an agent of steps so many times smaller, in so many more calls, an example
FAR = 131_072  # tokens: a context of DeepSeek-V3.2's tables
VLLM = "fp8_ds_mla"  # vLLM's layout of a latent: values in FP8, with scales
FEWER = 100  # answers made at once, for speed, instead of as many as fit, an example
BLOCKS = 64  # chosen of all, in the example of the root


# --- from the step to the cache ---------------------------------------------------------------------------------------


def step_of_price() -> dict[str, str]:
    """The KV cache that a step implies on the running case's rack, and what models really keep."""
    rack, kept = system(RUNNING.system), RUNNING.symbols()["kv_bytes_per_token"]
    kv = lambda n_active: eq.kv_implied(rack, precision="fp8", n_active=n_active, step_context=STEP)
    own, board = kv(model(RUNNING.model).n_active), f"{BOARD['flops'] / BOARD['bandwidth'] / 2:.0f}"
    return {
        "own_v3": f"{own:,.0f}",
        "own_step_sum": f"{model(RUNNING.model).n_active / 1e9:.2f} billion ÷ {board} ÷ {kept:,.0f} ="
        f" {significant(model(RUNNING.model).n_active / float(board) / kept, 2)} tokens",
        "step_active": f"{significant(model(RUNNING.model).n_active * kept / own / 1e12, 2)} trillion",
        "own_sum": f"{model(RUNNING.model).n_active / 1e9:.2f} × 10⁹ ÷ {results.c_of_rack():g} ÷ {STEP:,}",
        "kv_real": f"{kept:,.0f}",
        "board_ratio": board,
        "board_loaded": f"{BOARD['n_active'] / float(board) / 1e6:.0f} million",
        "board_sum": f"{BOARD['n_active'] / 1e9:.0f} billion ÷ {board} ÷ {STEP:,} ="
        f" {significant(eq.kv_implied(BOARD), 2)} bytes",
        "rack_ratio": f"{results.c_of_rack():g}",
    }


def added_up() -> dict[str, str]:
    """What the call is charged, what its lines cost, in cents, the quotients, and the sums."""
    paid, least, said = results.three_lines(), results.least_lines("hbm"), {}
    for line in ("input", "output"):
        said[f"cost_{line}"] = cents(least[line])
    again = CALL["cached_read"] * results.prompt_again(CALL["cached_read"])
    return merge(
        said,
        waiting(),
        waiting_slower(),
        per_token(),
        {
            "paid_all": cents(sum(paid.values()), 3),
            "hits_again": cents(again, 3),
            "hits_hbm": cents(results.hits_in()["hbm"]),
            "hits_ddr": cents(results.hits_in()["ddr"]),
            "x_output": significant(paid["output"] / least["output"], 2),
            "x_hits": significant(paid["cached_read"] / results.kept_in_hbm(), 2),
        },
        booked(),
    )


def booked() -> dict[str, str]:
    """What the call's GPU time costs, which part of it the history causes, and output over hits if it is booked to
    these.
    """
    looks, looked = results.bookings()
    both = sum(looks.values())
    hits = looked["cached_read"] + results.kept_in_hbm()
    return {
        **{f"alone_{line}": f"{each_million(looked[line], line)} ¢" for line in ("input", "output")},
        "booked_hit": f"{each_million(hits, 'cached_read')} ¢",
        "two_lines": cents(both, 3),
        "out_hit_booked": f"{results.factors()['booked']:.1f}",
    }


def each_million(usd: float, line: str) -> str:
    """Cents of a million tokens of one of the call's lines, given what the line costs."""
    return f"{100 * usd / (CALL[line] * MTOK):.1f}"


def waiting() -> dict[str, str]:
    """What keeping the call's hits in HBM costs at full speed, with the sums that a reader can redo."""
    minute, places, work = factor("min"), results.fitting(PROMPT), sum(results.bookings()[0].values())
    (own, shared), (run, rate) = results.call_work(), results.crowded(PAUSE)
    needs, rent = own + shared / places, results.rack_rent()
    return {
        "work_call": pretty(needs, "s", 2),
        "work_from": f"{cents(work, 3)} ÷ {100 * rent:.2f} ¢/s",
        "run_time": f"{run:.2f} s",
        "rate_sum": f"{places:,.0f} ÷ ({PAUSE:.0f} s + {run:.2f} s)",
        "running_2": significant(rate * run, 3),
        "running_few": significant(rate * run, 2),
        "turn_2": f"{PAUSE + run:.0f} s",
        "place_sum": f"{100 * rent:.2f} ¢/s × {PAUSE + run:.0f} s ÷ {places:,.0f}",
        "run_sum": f"{significant(rate * run, 3)} × {pretty(own, 's', 3)} + {shared:.2f} s",
        "work_sum": f"{pretty(own, 's', 3)} + {shared:.2f} s ÷ {places:,.0f}",
        "ten_pause": f"{results.ten_times() / minute:.1f} minutes",
        "rack_rent": f"{100 * rent:.2f} ¢",
        "rack_sum": f"{system(RUNNING.system).chips} × {100 * results.rack()['rent']:.4f} ¢ = {100 * rent:.2f} ¢",
        "free_sum": f"{places:,.0f} × {pretty(needs, 's', 2)}",
        "free_pause": pretty(needs * places, "s", 2),
        "own_call": pretty(own, "s", 3),
        "shared_call": f"{shared:.2f} s",
        "rate_2": significant(rate, 3),
        "call_2": cents(rent / rate),
        "keep_2": cents(results.kept_in_hbm()),
    }


def waiting_slower() -> dict[str, str]:
    """The same at a measured speed, and in flash at ten times its bare price."""
    own, shared = work = results.slow_work()
    kept, flash = results.kept_in_hbm(PAUSE, work), SERVER * results.hits_in()["ssd"]
    return {
        "free_slow": f"{significant((own * results.fitting(PROMPT) + shared) / factor('min'), 2)} minutes",
        "keep_slow": cents(kept),
        "hits_ssd_10": cents(flash),
    }


def _places(cache: float) -> str:
    """The rack's memory beside the weights, divided by the cache of one conversation, as a sum."""
    known = RUNNING.symbols()
    memory, weights = (f"{size / 1e12:.2f}" for size in (known["hbm"], known["n_total"] * known["bytes_per_param"]))
    return f"({memory} − {weights}) TB ÷ {pretty(cache, 'byte')}"


def per_token() -> dict[str, str]:
    """What a million tokens of each line cost, and a token of output divided by a hit, by the pause."""
    spent = results.receipt()
    lines = {"input": "input", "output": "output", "hit": "cached_read"}
    each = {name: each_million(spent[line], line) for name, line in lines.items()}
    over = {name: significant(value, 2) for name, value in results.factors().items()}
    return {
        **{f"each_{name}": f"{value} ¢" for name, value in each.items()},
        "fifty_sum": f"{each['output']} ÷ {each['hit']} = {over['receipt']}",
        "out_hit_5": over["5 min"],
        "out_hit_half": over["half"],
    }


def cents(usd: float, digits: int = 2) -> str:
    return f"{significant(100 * usd, digits)} ¢"


def bill() -> dict[str, str]:
    """One call of a coding agent, with and without its cache, and the same agent's call beyond the step."""
    p = price(BILLED).rates(PROMPT)
    paid, later = sum(results.charged().values()), sum(results.charged(LATER).values())
    fresh = (PROMPT * p.input + CALL["output"] * p.output) / 1e6
    rewritten = (PROMPT * p.cache_write_5min + CALL["output"] * p.output) / 1e6
    return {
        "bill_paid": f"{100 * paid:.1f} cents",
        "bill_fresh": f"{100 * fresh:.1f} cents",
        "bill_rewritten": f"{100 * rewritten:.0f} cents",
        "dearest": f"{p.output / p.cached_read:g}",
        "bill_last": f"{100 * sum(results.charged(LATER - 1).values()):.1f} cents",
        "bill_far": f"{100 * later:.1f} cents",
    }


def session() -> dict[str, str]:
    """A conversation of calls that add the call's new input each, until the prompt is the call's: its bill, the hits'
    share of it, and what a break of more than five minutes costs beside the hour's cache; and what share of their
    input a week of real agents hit.
    """
    p, new, count = price(BILLED).usd_per_Mtok, CALL["input"], PROMPT // CALL["input"]
    hits = new * count * (count - 1) // 2
    usd = {"hit": hits * p.cached_read, "write": PROMPT * p.cache_write_5min, "out": count * CALL["output"] * p.output}
    total = sum(usd.values())
    tiny = PROMPT * (count * SMALLER - 1) / 2 * p.cached_read  # of steps so much smaller
    small = total - usd["hit"] + tiny
    again, hour = p.cache_write_5min - p.cached_read, p.cache_write_1h - p.cache_write_5min
    first = sum(results.charged(1 - count).values())
    [seen] = measurement("copilot_agents_2026").records()
    [exe] = measurement("exe_dev_conversation").records()
    week = {"hit": seen["cached_tokens"] * p.cached_read, "out": seen["output_tokens"] * p.output}
    week["write"] = (seen["input_tokens"] - seen["cached_tokens"]) * p.cache_write_5min
    return {
        "exe_share": f"{exe['hits_share']:.0%}",
        "copilot_share": f"{week['hit'] / sum(week.values()):.0%}",
        "hits_copilot": f"{seen['cached_tokens'] / seen['input_tokens']:.0%}",
        "s_calls": f"{count}",
        "s_usd": f"${total / 1e6:.2f}",
        "s_past": f"{usd['hit'] / total:.0%}",
        "t_past": f"{tiny / small:.0%}",
        "s_break": f"${CALL['cached_read'] * again / 1e6:.2f}",
        "s_hour": f"${PROMPT * hour / 1e6:.2f}",
        "s_break_after": f"{math.ceil(count * hour / again)}",
        "first_paid_times": significant(sum(results.charged().values()) / first, 2),
    }


def listed(p: TokenPrices) -> dict[str, str]:
    """The price list, USD per million tokens."""
    kinds = {"hit": p.cached_read, "in": p.input, "write": p.cache_write_5min, "hour": p.cache_write_1h}
    shown = (kinds | {"out": p.output}).items()
    return {f"c_{kind}": f"${value:g}" if value % 1 == 0 else f"${value:.2f}" for kind, value in shown}


def cards() -> dict[str, str]:
    """The price lists that the page reads, and what became of a step."""
    card, kept = price(CARD), price(BILLED)
    return listed(kept.usd_per_Mtok) | {
        "c_old": kept.valid_from,
        "c_new": card.valid_from,
        "c_step": f"{kept.above.tokens:,}",
    }


def of_flashcards() -> dict[str, str]:
    """What only the lecture's flashcards print: the list that it reads, how far its step covers the cost, and what a
    million tokens cost from flash and computed again.
    """
    stepped, usd_ = price(STEPPED), lambda value: f"${value:g}"
    p, beyond = stepped.usd_per_Mtok, stepped.rates(1e6)
    return {
        "g_in": usd_(p.input),
        "g_out": usd_(p.output),
        "g_in_far": usd_(beyond.input),
        "g_out_far": usd_(beyond.output),
        "covered": f"{eq.context_covered(step_ratio=stepped.above.output_multiplier, step_context=STEP):,.0f}",
        "fetch": usd(eq.tier_retrieve(results.memories()["ssd"])),
        "remat_v3": f"${significant(eq.remat_cost(results.rack()) / MTOK, 3)}",
    }


# --- from output over input -------------------------------------------------------------------------------------------


def ratios() -> dict[str, str]:
    """What output over input says of decode, held against one maker's accounts."""
    found, net = implied(price(OPEN)), model("deepseek-r1")
    others = (one for one in map(implied, prices()) if alike(one.net, net) and one is not found)
    same = sorted(one.out_in for one in others)
    return {
        **measured(),
        "same_least": f"{same[0]:.1f}",
        "same_most": f"{same[-1]:.1f}",
        "slow_losers": ("none", "one", "two", "three", "all")[results.losing()],
    }


def measured() -> dict[str, str]:
    """USD of a million tokens on DeepSeek's own day, as costs and as R1's list price."""
    [day], time, costs = measurement("deepseek_day6_production").records(), results.day_times(), results.day_costs()
    cheap, kept = price(FIRST).usd_per_Mtok, results.kept_in("hdd", factor("day"))
    _, rent_ = machine(price(FIRST))
    said = {
        "day_context": f"{day['context_tokens']:,}",
        "day_in_sum": f"{day['node_prefill_token_per_s']:,} × (1 − {day['hit_rate']:g}) ="
        f" {significant(day['node_prefill_token_per_s'] * (1 - day['hit_rate']), 3)}",
        "day_out_sum": f"{day['node_decode_token_per_s']:,}",
        "day_batch": f"{results.day_batch():,}",
        "day_compute": microseconds(time["compute"]),
        "day_load": microseconds(time["cache"] + time["weights"]),
        "day_floor_sum": f"{microseconds(time['compute'])} × ${rent_ * HOUR:g} per hour",
        "ds_rent": f"${rent_ * HOUR:g}",
        "r1_date": price(OPEN).valid_from,
        "v3_date": price(FIRST).valid_from,
        "day_in_v3": f"${cheap.input:#.3g}",
        "day_out_v3": f"${cheap.output:#.3g}",
        "day_hit_v3": f"${cheap.cached_read:#.3g}",
        "day_hit_list": usd(day["cached_price_USD_per_Mtoken"] * MTOK, 3),
        "day_hit_floor": usd(kept),
        "day_hit_over": significant(day["cached_price_USD_per_Mtoken"] * MTOK / kept, 2),
    }
    for name, (one, out) in costs.items():
        said |= {f"day_in_{name}": usd(one, 3), f"day_out_{name}": usd(out, 3), f"day_ratio_{name}": f"{out / one:.1f}"}
    said["day_ratio_v3"] = f"{cheap.output / cheap.input:.1f}"
    for kind, (floor, real, asked) in zip(("in", "out"), zip(*costs.values())):
        said |= {f"day_over_{kind}": f"{real / floor:.1f}", f"day_margin_{kind}": f"{asked / real:.1f}"}
    return said


def places() -> dict[str, str]:
    """What it costs to keep a million tokens' KV, or to compute them again."""
    known, chip, call = results.rack(), system(RUNNING.system).chip, CALL["cached_read"]
    kept = results.memories()
    held, host = call * known["kv_bytes_per_token"], kept["ddr"]
    return {
        **{f"until_{name}": long_time(time) for name, time in results.cheapest(results.prompt_again(call)).items()},
        **{
            f"with_room_{name}": long_time(results.cheapest(results.prompt_again(call), call)[name])
            for name in ("ddr", "ssd")
        },
        "rent": f"${rent().usd_per_chip_hour:.2f}",
        "rent_date": rent().date,
        "in_bare": cents(eq.remat_cost(known) / MTOK, 2),
        "in_over": significant(price(BILLED).usd_per_Mtok.input * MTOK / eq.remat_cost(known), 2),
        "life": f"{LIFE / 365 / factor('day'):g} years",
        "hour_hbm": cents(call * eq.hbm_hold(known, hold_time=HOUR), 3),
        **{f"hour_{name}": cents(call * (results.kept_in(name, HOUR) - results.kept_in(name, 0)), 3) for name in kept},
        **{f"back_{name}": cents(call * results.kept_in(name, 0), 3) for name in kept},
        **{f"wait_{name}": pretty(call * eq.tier_retrieve(at, tier_rent=1), "s", 2) for name, at in kept.items()},
        "even_sum": f"{cents(call * results.prompt_again(call), 3)} ÷"
        f" {cents(call * eq.hbm_hold(known, hold_time=factor('min')), 3)} per minute",
        "even_call": f"{results.prompt_again(call) / eq.hbm_hold(known, hold_time=1) / 60:.1f} minutes",
        "cache_sum": f"{call:,} × {known['kv_bytes_per_token']:,.0f} B",
        "ddr_sum": f"({pretty(held, 'byte')} ÷ {pretty(host['tier_capacity'], 'byte')} × {PAUSE:.0f} s +"
        f" {pretty(held / host['tier_bandwidth'], 's', 2)}) × {significant(100 * host['tier_rent'], 3)} ¢/s",
        "cache_size": pretty(held, "byte"),
        "load_rate": f"{chip.bandwidth / 1e12:g} TB",
        "flop_rate": f"{chip.flops(RUNNING.precision) / 1e15:g} PFLOP/s",
        "dev_hbm": f"{pretty(chip.hbm_bytes, 'byte')}, {pretty(chip.bandwidth, 'byte/s')}",
        **{f"dev_{name}": device(tier(id)) for name, id in KINDS.items()},
        **{
            f"drain_{name}": f"{eq.tier_drain(kept[name]) / factor(unit):.0f} {unit}s"
            for name, unit in READ_ONCE.items()
        },
    }


def usd(value: float, digits: int = 2) -> str:
    """USD per million tokens, from USD per token."""
    return f"${significant(value / MTOK, digits)}"


def long_time(s: float) -> str:
    """Seconds as one says them: 0.11 s, 2.8 hours, 9 days."""
    if s < 60:
        return pretty(s, "s", 2)
    return f"{s / HOUR:.1f} hours" if s < 48 * HOUR else f"{s / factor('day'):.0f} days"


def device(row: MemoryTier) -> str:
    """What a device holds, reads and costs."""
    holds, reads = pretty(row.capacity_bytes, "byte"), pretty(row.read_bytes_per_s, "byte/s")
    return f"{holds}, {reads}, ${results.paid(row).usd_per_GB:g} per GB"


def microseconds(s: float) -> str:
    return f"{significant(s * 1e6, 4 if s > 1e-3 else 3)} µs"


def input_times() -> dict[str, str]:
    """GPU time of a token of the call's new input, with the sums that a reader can redo."""
    net, gpu, us = model(RUNNING.model), system(RUNNING.system).chip, microseconds
    each = results.attend_flop()["prefill"]
    [group], new, before = net.attention, results.input_time(PROMPT), PROMPT - CALL["input"] / 2
    return {
        "gpu_second": f"{rent().usd_per_chip_second * 100:.4f} ¢",
        "kv_sum": f"{group.layers} × {group.kv_rank + group.rope_dim} × 2 B = {net.kv_bytes_per_token():,.0f} B",
        "t_new": us(new["weights"]),
        "t_new_sum": f"2 × {net.n_active / 1e9:.2f} × 10⁹ FLOP ÷ {pretty(gpu.flops('fp8'), 'FLOP/s')}",
        "before": f"{before:,.0f}",
        "t_attend": f"{new['attend'] * 1e6:.1f} µs",
        "t_attend_sum": f"{before:,.0f} × {each / 1e6:.3f} MFLOP ÷ {pretty(gpu.flops('bf16'), 'FLOP/s')}",
        "att_flop_sum": f"4 × {group.layers} × {group.heads} × {results.decompressed():g}",
        "att_flop": f"{each / 1e6:.1f} million",
        "att_each_sum": f"{each / 1e6:.1f} million FLOP ÷ {pretty(gpu.flops('bf16'), 'FLOP/s')}",
        "att_each": pretty(each / gpu.flops("bf16"), "s", 2),
        "short_in": us(sum(results.input_time(CALL["input"]).values())),
        "att_key": f"{group.nope_dim + group.rope_dim}",
        "att_value": f"{group.v_dim}",
        "att_wide": f"{results.decompressed():g}",
        "att_even": significant(new["weights"] / new["attend"] * before, 2),
        "t_in": us(sum(new.values())),
    }


def ordinary_times() -> dict[str, str]:
    """What the prose says of Llama 3.1 70B, and the same ratio of two more models."""
    net, gpu, us = model("llama-3.1-70b"), system(RUNNING.system).chip, microseconds
    time = results.ordinary("llama-3.1-70b")
    ratio = lambda id: significant((at := results.ordinary(id))["load"] / at["input"], 2)
    return {
        "ll_ratio": ratio("llama-3.1-70b"),
        "ll_load_sum": f"{PROMPT:,} × {net.kv_bytes_per_token():,.0f} B ÷ {pretty(gpu.bandwidth, 'byte/s')}",
        "ll_load_us": us(time["load"]),
        "ll_in_us": us(time["input"]),
        "ll_out_us": us(time["output"]),
        "ll_weights": us(time["weights"]),
        "ratio_405": ratio("llama-3.1-405b"),
        "ratio_qwen": ratio("qwen3-235b-a22b"),
    }


def output_times() -> dict[str, str]:
    """GPU time of a token of output at the end of the call's prompt, beside that of a token of input."""
    net, gpu, us = model(RUNNING.model), system(RUNNING.system).chip, microseconds
    out, load = results.output_time(PROMPT, results.fitting(PROMPT)), pretty(gpu.bandwidth, "byte/s")
    weights = pretty(net.n_total, "byte")
    memory, compute, new = out["weights"] + out["cache"], out["compute"], sum(results.input_time(PROMPT).values())
    return _attending() | {
        "out_batch": f"{results.fitting(PROMPT):,.0f}",
        "places_sum": _places(PROMPT * net.kv_bytes_per_token()),
        "t_weights": us(out["weights"]),
        "t_weights_sum": f"{weights} ÷ {load} ÷ {results.fitting(PROMPT):,.0f}",
        "t_cache": us(out["cache"]),
        "t_cache_sum": f"{PROMPT:,} × {net.kv_bytes_per_token():,.0f} B ÷ {load}",
        "in_weights": us(net.n_total / gpu.bandwidth / CALL["input"]),
        "in_weights_sum": f"{weights} ÷ {load} ÷ {CALL['input']:,}",
        "in_cache": f"{out['cache'] / CALL['input'] * 1e6:.1f} µs",
        "in_load": us((net.n_total / gpu.bandwidth + out["cache"]) / CALL["input"]),
        "out_bytes": pretty(PROMPT * net.kv_bytes_per_token(), "byte"),
        "load_each": pretty(memory / PROMPT, "s", 3),
        "t_compute": us(compute),
        "compute_ratio": significant(compute / new, 2),
        "t_out": us(memory),
        "short_out": us(results.output_time(CALL["input"], results.fitting(CALL["input"]))["compute"]),
        "out_in_2": significant(results.out_in(), 2),
        "out_in_short": significant(results.least_output(CALL["input"]) / results.least_input(CALL["input"]), 2),
        "t_in_small": us(sum(results.input_time(PROMPT, CALL["input"] / SMALLER).values())),
        "out_in_sum": f"{significant(memory * 1e6, 4)} ÷ {significant(new * 1e6, 3)}",
        "out_fast": significant((net.n_total / FEWER / gpu.bandwidth + out["cache"]) / memory, 3),
        "bend": significant(results.bend(), 2),
    }


def _attending() -> dict[str, str]:
    """Attention of a token to the call's prompt, packed as in decoding and unpacked as in prefill."""
    net, gpu, us = model(RUNNING.model), system(RUNNING.system).chip, microseconds
    each = results.attend_flop()["decode"]
    [group] = net.attention
    latents = (group.kv_rank + group.rope_dim, group.kv_rank)
    return {
        "lat_key": f"{latents[0]}",
        "lat_value": f"{latents[1]}",
        "lat_more": significant(each / results.attend_flop()["prefill"], 2),
        "lat_more_sum": f"({latents[0]} + {latents[1]}) ÷ ({group.nope_dim + group.rope_dim} + {group.v_dim})",
        "expand": us(results.input_time(PROMPT)["expand"]),
        "expand_sum": f"2 × {group.layers} × {group.heads} × {group.kv_rank} × {group.nope_dim + group.v_dim} ×"
        f" {CALL['cached_read']:,} ÷ {CALL['input']:,} FLOP ÷ {pretty(gpu.flops('bf16'), 'FLOP/s')}",
        "unpack_each": f"{results.expanding(PROMPT, 1) / (PROMPT - 1) / gpu.flops('bf16') * 1e6:.2f} µs",
        "latent_each": pretty(each / gpu.flops("bf16"), "s", 2),
        "t_latent": us(each * PROMPT / gpu.flops("bf16")),
        "t_latent_sum": f"{PROMPT:,} × {each / 1e6:.2f} MFLOP ÷ {pretty(gpu.flops('bf16'), 'FLOP/s')}",
        "unpack_from": significant(
            results.expanding(PROMPT, 1) / (PROMPT - 1) / (each - results.attend_flop()["prefill"]), 2
        ),
    }


# --- cache prices -----------------------------------------------------------------------------------------------------


def writes() -> dict[str, str]:
    """When a cache write pays, by the share that hits; an hour against five minutes."""
    p = price(BILLED).usd_per_Mtok
    read, ratios = p.cached_read / p.input, {"5": p.cache_write_5min / p.input, "1h": p.cache_write_1h / p.input}
    five = ratios["5"]
    hits, written = 100 * (five - 1), 100 * (1 - read)  # of which hits save what writes lose
    return {
        "write_1h": f"{ratios['1h']:g}",
        "twice_1h": f"{ratios['1h']:g} + {read:g} = {ratios['1h'] + read:g}",
        "thrice_1h": f"{ratios['1h']:g} + 2 × {read:g} = {ratios['1h'] + 2 * read:g}",
        "share_5": f"{eq.hit_rate_even(write_ratio=five, read_ratio=read):.0%}",
        "even_hits": f"{hits:g}",
        "even_writes": f"{written:g}",
        "even_saved": f"{hits:g} × {1 - read:g} = {hits * (1 - read):g}",
        "even_lost": f"{written:g} × {five - 1:g} = {written * (five - 1):g}",
        "share_sum_5": f"{hits:g} ÷ ({hits:g} + {written:g})",
        "write_more": f"{five - 1:g}",
        "hit_less": f"{1 - read:g}",
        "hour_more": f"${p.cache_write_1h - p.cache_write_5min:.2f}",
        **_pings(p.cache_write_1h - p.cache_write_5min, p.cached_read),
        **{f"miss_{kept}": f"{w - read:g}" for kept, w in ratios.items()},
        "read": f"{read:g}",
        "misses_saved": up(1 - results.misses_even()),
        **drops(),
    }


def _pings(more: float, hit: float) -> dict[str, str]:
    """Pings that cost as much as the hour: a conversation is written in full, and a ping hits half of it on average."""
    return {"pings_even": f"{more / (hit / 2):g}", "pings_sum": f"${more:.2f} ÷ (${hit:.2f} ÷ 2)"}


def drops() -> dict[str, str]:
    """When it pays to drop tokens from a prompt: what follows them is written anew once, and every call saves hits."""
    p, behind = price(BILLED).usd_per_Mtok, PROMPT - DROPPED
    write, read = p.cache_write_5min / p.input, p.cached_read / p.input
    return {
        "drop_sum": f"({write:g} − {read:g}) ÷ {read:g}",
        "drop_factor": f"{(write - read) / read:g}",
        "behind_times": f"{behind / DROPPED:g}",
        "drop_calls": str(math.ceil((write - read) / read * behind / DROPPED)),
    }


def up(share: float) -> str:
    """Percent, rounded up to a tenth, because it is a least."""
    return f"{math.ceil(1000 * share) / 10:.1f}%"


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    bills = merge(bill(), session(), added_up(), cards(), writes())
    times = merge(input_times(), output_times(), ordinary_times())
    return merge(bills, step_of_price(), ratios(), places(), times)
