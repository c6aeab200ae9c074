"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cache

from blackboard.catalogue import MemoryTier, measurement, model, price, prices, system, tier
from blackboard.catalogue.prices import BytePrice
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing.implied import SIZES, alike, implied, machine, rent
from blackboard.units import factor, pretty, significant

BOARD = {
    "n_active": 100e9,
    "step_context": 200e3,
    "flops": 600.0,
    "bandwidth": 1.0,
}  # FP8: 300 multiply-adds a byte, 1:38:22
HEADS = {"kv_layers": 1, "kv_heads": 8, "head_dim": 128, "kv_value_bytes": 1}  # the board's check, 1:40:08
RATIO = 5  # price of output over input, 1:45:11
CARD, STEPPED = "claude-opus-4.6@2026-03-13", "gemini-3.1-pro-preview@2026-02-19"  # the cards that the lecture reads
OPEN = "deepseek-r1@2025-01-20"  # the card that DeepSeek's own accounts use
FIVE, HOUR, LIFE = (
    5 * factor("min"),
    factor("h"),
    5 * 365 * factor("day"),
)  # what cards sell; over how long we pay off a device
MTOK = factor("USD/megatoken")
KEEP = ("ddr5-3tb-pcie", "ssd-9650-30t", "hdd-exos30")  # devices to which KV may go, nearest first
SMALL = "ssd-9650-7t"  # the same drive with a quarter of the capacity
KINDS = dict(zip(("ddr", "ssd", "hdd"), KEEP))
CALL = {"cached_read": 45_000, "cache_write_5min": 5_000, "output": 1_000}  # tokens of one call, an example
FAR, MONTH = 131_072, 100e6  # tokens: a context of DeepSeek-V3.2's tables; a month of work, 1:51:19
VLLM = "fp8_ds_mla"  # vLLM's layout of a latent: values in FP8, with scales
BLOCKS = 64  # chosen of all, in the example of the root


# --- from the step to the cache ---------------------------------------------------------------------------------------


def balanced_with_attention(precision: str) -> float:
    """The running case's balanced context, tokens, with attention's own compute in this format beside the weights'."""
    net, rack = model(RUNNING.model), system(RUNNING.system)
    weights, attend = 2 * net.n_active / rack.flops("fp8"), net.attention_flop(1) / rack.flops(precision)
    return weights / (net.kv_bytes_per_token() / rack.bandwidth - attend)


def step_of_price() -> dict[str, str]:
    """The KV cache that the board reads off a step, by number format, and what models really keep."""
    kv = lambda flops: significant(eq.kv_implied(BOARD, flops=flops), 4)
    net = lambda id: model(id).kv_bytes_per_token()
    balanced = lambda id: significant(step.balanced_context(RUNNING._replace(model=id)), 2)
    found = implied(price(STEPPED))
    own = lambda id: eq.kv_implied(BOARD, n_active=model(id).n_active)  # for each model's own active parameters
    times = lambda id: f"{net(id) / own(id):,.0f}"
    flash, rack = model("deepseek-v4-flash"), system(RUNNING.system)
    return {
        "kv_fp8": kv(BOARD["flops"]),
        "kv_fp4": kv(2 * BOARD["flops"]),
        "kv_bf16": kv(BOARD["flops"] / 2),
        "heads": f"{eq.kv_of_heads(HEADS):,.0f}",
        "kv_v3": f"{net('deepseek-v3'):,.0f}",
        "kv_405": f"{net('llama-3.1-405b'):,.0f}",
        "kv_72": f"{net('qwen2.5-72b'):,.0f}",
        "more_least": times("deepseek-v3"),
        "more_72": times("qwen2.5-72b"),
        "more_most": times("llama-3.1-405b"),
        "own_v3": f"{own('deepseek-v3'):,.0f}",
        "own_72": f"{own('qwen2.5-72b'):,.0f}",
        "own_405": f"{own('llama-3.1-405b'):,.0f}",
        "kv_rack": significant(found.kv.mid, 2),
        "rack_ratio": f"{rack.flops('fp8') / rack.bandwidth / 2:g}",
        "flash_needs": significant(flash.kv_bytes_per_token() / (found.kv.high / SIZES.high) / 1e9, 2),
        "flash_active": significant(flash.n_active / 1e9, 2),
        "balanced_v3": balanced("deepseek-v3"),
        "balanced_bf16": significant(balanced_with_attention("bf16"), 2),
        "balanced_405": balanced("llama-3.1-405b"),
        "balanced_72": balanced("qwen2.5-72b"),
        "kv_flash": f"{net('deepseek-v4-flash'):,.0f}",
        "needed": significant(5 / price(STEPPED).above.output_multiplier, 2),
        "card_kv_low": significant(found.kv.low, 2),
        "card_kv_high": significant(found.kv.high, 2),
        "covered": f"{found.covered:,.0f}",
        "million": f"{eq.context_ratio(context=1e6, context_balanced=BOARD['step_context']):g}",
    }


def paid_by_kind() -> dict[str, float]:
    """What each kind of token costs in one call of a coding agent, USD."""
    p = price(CARD).usd_per_Mtok
    return {kind: tokens * getattr(p, kind) / 1e6 for kind, tokens in CALL.items()}


def bill() -> dict[str, str]:
    """One call of a coding agent, with its prompt cached and without."""
    p, paid = price(CARD).usd_per_Mtok, paid_by_kind()
    prompt = CALL["cached_read"] + CALL["cache_write_5min"]
    fresh = (prompt * p.input + CALL["output"] * p.output) / 1e6
    return {
        "bill_fresh": f"${fresh:.3f}",
        "bill_times": significant(fresh / sum(paid.values()), 2),
        "bill_paid": f"${sum(paid.values()):.3f}",
        "bill_out": f"{paid['output'] / sum(paid.values()):.0%}",
        "tokens_out": f"{CALL['output'] / sum(CALL.values()):.0%}",
        "dearest": f"{p.output / p.cached_read:.0f}",
        "c_hit": f"${p.cached_read:.2f}",
    }


def cards() -> dict[str, str]:
    """The cards that the lecture reads, and what became of steps."""
    stepped, card, kept = price(STEPPED), price(CARD), price("claude-opus-4.6@2026-02-05")
    p, beyond, c, out = stepped.usd_per_Mtok, stepped.rates(1e6), card.usd_per_Mtok, implied(stepped)
    usd = lambda value: f"${value:g}"
    return {
        "g_in": usd(p.input),
        "g_out": usd(p.output),
        "g_in_far": usd(beyond.input),
        "g_out_far": usd(beyond.output),
        "g_seen": stepped.valid_from,
        "g_ratio": f"{out.out_in:g}",
        "g_ratio_far": f"{out.out_in_beyond:g}",
        "c_in": usd(c.input),
        "c_out": usd(c.output),
        "c_seen": card.valid_from,
        "c_ratio": f"{c.output / c.input:g}",
        "dropped": card.valid_from,
        "dropped_had": kept.valid_from,
        "dropped_days": str((date.fromisoformat(card.valid_from) - date.fromisoformat(kept.valid_from)).days),
        "c_step": f"{kept.above.tokens:,}",
    }


# --- from output over input -------------------------------------------------------------------------------------------


def ratios() -> dict[str, str]:
    """What output over input says of decoding, held against one maker's accounts."""
    [day] = measurement("deepseek_day6_production").records()
    found = implied(price(OPEN))
    net, box = model("deepseek-r1"), system("h800-8")
    # one token: computing with the weights in FP8, attending in BF16
    compute = 2 * net.n_active / box.flops("fp8")
    attend = net.attention_flop(day["context_tokens"]) / box.flops("bf16")
    misses = day["node_prefill_token_per_s"] * (1 - day["hit_rate"])
    balanced = step.balanced_context(net, box, precision="fp8")
    at = {"batch": 2 * step.critical_batch(net, box, precision="fp8"), "context": day["context_tokens"]}
    at["precision"] = "fp8"
    others = (one for one in map(implied, prices()) if alike(one.net, net) and one is not found)
    same = sorted(one.out_in for one in others)
    return {
        "mfu": f"{eq.decode_mfu(input_price=1, output_price=RATIO):.0%}",
        "ds_balanced": significant(balanced, 3),
        "card_context": significant(found.context.mid, 2),
        "card_context_low": significant(found.context.low, 2),
        "card_context_high": significant(found.context.high, 2),
        "ds_ratio": significant(found.out_in, 3),
        "ds_context": f"{day['context_tokens']:,}",
        "ds_over": f"{found.context.mid / day['context_tokens'] - 1:.0%}",
        "ds_memory": significant(eq.memory_ratio_of(net, box, **at), 3),
        "ds_attend": significant((compute + attend) / compute, 3),
        "ds_prefill": f"{day['node_prefill_token_per_s']:,}",
        "ds_decode": f"{day['node_decode_token_per_s']:,}",
        "ds_rates": significant(day["node_prefill_token_per_s"] / day["node_decode_token_per_s"], 2),
        "ds_hits": f"{day['hit_rate']:.0%}",
        "ds_miss_rate": significant(misses / day["node_decode_token_per_s"], 2),
        "ds_prefill_mfu": f"{2 * net.n_active * misses / box.flops('fp8'):.0%}",
        "ds_memory_sum": f"0.5 + {day['context_tokens']:,} ÷ {significant(balanced, 3)}",
        "ds_peak": f"{box.chips} × {pretty(box.chip.flops('fp8'), 'FLOP/s', 4)}",
        "ds_decode_mfu": f"{2 * net.n_active * day['node_decode_token_per_s'] / box.flops('fp8'):.0%}",
        "same_least": f"{same[0]:.1f}",
        "same_most": f"{same[-1]:.1f}",
        "same_cards": str(len(same)),
        "stepped_context": f"{implied(price(STEPPED)).out_in * price(STEPPED).above.tokens / 1e6:.1f} million",
    }


# --- long contexts ----------------------------------------------------------------------------------------------------


def attention_equal(id: str) -> float:
    """The context at which a model's attention multiplies as much as its weights do, by bisection; windows are
    bounded.
    """
    net, low, high = model(id), 1.0, 1e9
    for _ in range(100):
        low, high = (mid, high) if net.attention_flop(mid := (low + high) / 2) < 2 * net.n_active else (low, mid)
    return low


def long() -> dict[str, str]:
    """Attention's FLOPs and bytes at long contexts."""
    equal = lambda id: significant(attention_equal(id), 2)
    sparse, dense = (model(id).kv_read_bytes(FAR, VLLM) for id in ("deepseek-v3.2", "deepseek-v3"))
    group = model("deepseek-v3.2").attention[0]
    entry, key = group.entry(VLLM), group.key(VLLM)
    held = lambda context: group.held(context, VLLM) / group.read(context, VLLM)
    net = model("llama-3.1-405b")
    again = net.attention_flop(1) / net.kv_bytes_per_token()
    latent = model(RUNNING.model).attention[0]
    absorbed = latent.kv_rank + latent.rope_dim / 2  # of the latent as key and as value, on average
    return {
        "att_405": equal("llama-3.1-405b"),
        "att_v3": equal(RUNNING.model),
        "att_v3_wide": f"{absorbed:g}",
        "att_v3_sum": attention_sum(absorbed),
        "double_405": significant(2 * attention_equal("llama-3.1-405b"), 2),
        "intensity_405": f"{again:g}",
        "chip_bf16": f"{system(RUNNING.system).flops('bf16') / system(RUNNING.system).bandwidth:g}",
        "far": f"{FAR:,}",
        "dense_read": pretty(dense, "byte"),
        "sparse_read": pretty(sparse, "byte"),
        "held_times": significant(held(FAR), 2),
        "held_million": significant(held(1e6), 2),
        "sparse_most": significant(entry / key, 3),
        "sparse_more": f"{key / entry:.0%}",
        "entry": f"{entry:g}",
        "key": f"{key:g}",
        "picked": f"{group.top_k:,}",
        "root": f"{eq.block_read_best(context=1e6, blocks_read=BLOCKS):,.0f}",
        "block": f"{eq.block_best(context=1e6, blocks_read=BLOCKS):,.0f}",
        "blocks": str(BLOCKS),
        "month_v3": pretty(MONTH * model("deepseek-v3").kv_bytes_per_token(), "byte", 2),
        "month_share": f"{MONTH * model('deepseek-v3').kv_bytes_per_token() / RUNNING.symbols()['hbm']:.0%}",
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


@cache
def cheapest() -> dict[str, float]:
    """How long each place is the cheapest for DeepSeek-V3's KV, in turn, s, by bisection; after the last it is
    computed again.
    """
    known = rack()
    cost: dict[str, Callable[..., float]] = {"hbm": lambda t: eq.hbm_hold(known, hold_time=t)}
    cost |= {name: lambda t, at=known | rented(tier(id)): eq.tier_cost(at, hold_time=t) for name, id in KINDS.items()}
    cost["again"] = lambda t: eq.remat_cost(known)
    least = lambda t: min(cost, key=lambda name: cost[name](t))
    until, now = {}, 1e-3
    while (place := least(now)) != "again":
        low, high = now, 1e9
        while high > low * (1 + 1e-9):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if least(middle) == place else (low, middle)
        until[place] = now = high
    return until


def places() -> dict[str, str]:
    """What it costs to keep a million tokens' KV, or to compute them again."""
    usd = lambda value: f"${significant(value / MTOK, 2)}"
    known = rack()
    board = {"n_active": BOARD["n_active"], "kv_bytes_per_token": model("lecture-moe").kv_bytes_per_token()}
    kept = {id: known | rented(tier(id)) for id in KEEP}
    hold = lambda id, time: usd(eq.tier_cost(kept[id], hold_time=time))
    even = lambda **more: pretty(eq.hbm_even(known, **more), "s", 2)
    return {
        **{
            f"until_{name}": (
                pretty(time, "s", 2)
                if time < 60
                else f"{time / HOUR:.1f} hours"
                if time < 48 * HOUR
                else f"{time / factor('day'):.0f} days"
            )
            for name, time in cheapest().items()
        },
        "fetch": usd(eq.tier_retrieve(kept[KEEP[1]])),
        "drain_flash": f"{tier(KEEP[1]).drain_time() / 60:.0f} minutes",
        "rent": f"${rent().usd_per_chip_hour:.2f}",
        "rent_date": rent().date,
        "remat_v3": f"${significant(eq.remat_cost(known) / MTOK, 3)}",
        "even_board": f"{eq.hbm_even(known, **board) / 60:.0f} minutes",
        "even_v3": even(),
        "life": f"{LIFE / 365 / factor('day'):g} years",
        **{f"{name}_{end}": hold(id, time) for name, id in KINDS.items() for end, time in (("5", FIVE), ("1h", HOUR))},
        "hbm_5": usd(eq.hbm_hold(known, hold_time=FIVE)),
        "hbm_1h": usd(eq.hbm_hold(known, hold_time=HOUR)),
    }


def decompressed() -> float:
    """The numbers of a key or a value of DeepSeek-V3, on average, as prefill decompresses them."""
    [group] = model(RUNNING.model).attention
    return (group.nope_dim + group.rope_dim + group.v_dim) / 2


def attention_sum(wide: float) -> str:
    """The calculation of the context at which the running model's attention takes as many FLOPs as the weights."""
    net = model(RUNNING.model)
    [group] = net.attention
    return f"2 × {net.n_active / 1e9:.2f} × 10⁹ ÷ (4 × {group.layers} × {group.heads} × {wide:g})"


def prefill_attention() -> float:
    """The context at which DeepSeek-V3's prefill takes as many FLOPs for attention as for the weights: with keys and
    values decompressed, as prefill computes them.
    """
    net = model(RUNNING.model)
    [group] = net.attention
    each = eq.attention_of_heads(layers=group.layers, query_heads=group.heads, head_dim=decompressed())
    return eq.context_flop(n_active=net.n_active, attention_flop=each)


def slower(tokens: float) -> float:
    """Computing a prompt divided by its weights' time: a token attends to half of the prompt on average, in BF16."""
    rack = system(RUNNING.system)
    return 1 + tokens / 2 / prefill_attention() * rack.flops("fp8") / rack.flops("bf16")


def again() -> dict[str, str]:
    """What attention adds to computing a prompt again, and the floors under a provider's prices."""
    known, named = rack(), {"short": 2_000, "agent": CALL["cached_read"] + CALL["cache_write_5min"], "long": 200_000}
    time = lambda s: f"{significant(s, 2)} s" if s < 600 else f"{s / 60:.0f} minutes"
    r = eq.memory_ratio_of(RUNNING, batch=10_000, context=5_000)
    balanced = significant(step.balanced_context(RUNNING), 3)
    device = lambda row: (
        f"{pretty(row.capacity_bytes, 'byte')}, {pretty(row.read_bytes_per_s, 'byte/s')},"
        f" ${paid(row).usd_per_GB:g} per GB"
    )
    chip, sold = system(RUNNING.system).chip, price("deepseek-v3@2025-02-08")
    return {
        "att_prefill_wide": f"{decompressed():g}",
        "att_prefill_sum": attention_sum(decompressed()),
        "att_prefill": f"{float(significant(prefill_attention(), 3).replace(',', '')):,.0f}",
        **{f"slower_{name}": significant(slower(tokens), 3) for name, tokens in named.items()},
        **{f"even_{name}": time(eq.hbm_even(known) * slower(tokens)) for name, tokens in named.items()},
        "remat_agent": f"${significant(eq.remat_cost(known) * slower(named['agent']) / MTOK, 2)}",
        "r_5000": significant(r, 3),
        "r_sum": f"{significant(eq.memory_ratio_of(RUNNING, batch=1, context=0), 3)} ÷ 10,000 + 5,000 ÷ {balanced}",
        "out_5000": f"${significant(eq.remat_cost(known) * r / MTOK, 2)}",
        "dev_hbm": f"{pretty(chip.hbm_bytes, 'byte')}, {pretty(chip.bandwidth, 'byte/s')}",
        "ddr_own": pretty(tier("ddr5-3tb").read_bytes_per_s, "byte/s"),
        **{f"dev_{name}": device(tier(id)) for name, id in KINDS.items()},
        "ds_in": f"${sold.usd_per_Mtok.input:.2f}",
        "ds_rent": f"${machine(sold)[1] * HOUR:g}",
    }


def sums() -> dict[str, str]:
    """The calculations that a reader can redo, per GPU, with their units."""
    case, gpu = RUNNING.symbols(), system(RUNNING.system).chip
    active, cache = f"2 × {case['n_active'] / 1e9:.2f} × 10⁹", f"{case['kv_bytes_per_token']:,.0f}"
    rate, load = pretty(gpu.flops("fp8"), "FLOP/s"), pretty(gpu.bandwidth, "byte/s")
    room = pretty(gpu.hbm_bytes, "byte")
    flash = tier(KEEP[1])
    return {
        "balanced_exact": significant(step.balanced_context(RUNNING), 3),
        "flash_sum": (
            f"{pretty(1e6 * case['kv_bytes_per_token'], 'byte')} × ${paid(flash).usd_per_GB:g} per GB"
            f" × (300 + {flash.drain_time():,.0f} s) ÷ {LIFE / 365 / factor('day'):g} years"
        ),
        "balanced_sum": f"{active} FLOP × {load} ÷ ({rate} × {cache} B)",
        "remat_sum": f"10⁶ × {active} FLOP ÷ {rate} × ${rent().usd_per_chip_hour:.2f} ÷ 3,600 s",
        "hold_sum": f"10⁶ × {cache} B ÷ {room} × ${rent().usd_per_chip_hour:.2f} × 300 ÷ 3,600",
        "busy_sum": f"{active} FLOP ÷ {rate} = {pretty(2 * case['n_active'] / gpu.flops('fp8'), 's', 2)}",
        "share_sum": f"{cache} B ÷ {room}",
        "drain_sum": f"{pretty(flash.capacity_bytes, 'byte')} ÷ {pretty(flash.read_bytes_per_s, 'byte/s')}",
    }


def drains() -> dict[str, str]:
    """How long devices take to read once, and what a card's times would be in them."""
    hours = lambda id: f"{tier(id).drain_time() / HOUR:.0f} hours"
    return {
        "drain_hdd": hours("hdd-exos30"),
        "small_flash": pretty(tier(SMALL).capacity_bytes, "byte"),
        "small_drain": f"{tier(SMALL).drain_time() / 60:.0f} minutes",
        "hdd_size": pretty(tier("hdd-exos30").capacity_bytes, "byte"),
    }


# --- cache prices -----------------------------------------------------------------------------------------------------


def caching() -> dict[str, str]:
    """Break-even uses, what holding is charged, and how far prices are from the model's cost."""
    found, stored, p = implied(price(CARD)), implied(price(STEPPED)), price(CARD).usd_per_Mtok
    hbm = rent().usd_per_chip_hour / (system(RUNNING.system).chip.hbm_bytes / 1e9)
    v3, ds = implied(price("deepseek-v3@2025-02-08")), measurement("deepseek_day6_production").records()[0]
    asked = {kept: found.byte_rents[kept].mid / factor("USD/GB/h") for kept in found.byte_rents}
    return {
        "uses_5": f"{found.uses['5 min']:.2f}",
        "uses_1h": f"{found.uses['1 h']:.2f}",
        "least_5": str(int(found.uses["5 min"]) + 1),
        "least_1h": str(int(found.uses["1 h"]) + 1),
        "write_5": f"{p.cache_write_5min / p.input:g}",
        "write_1h": f"{p.cache_write_1h / p.input:g}",
        "read": f"{p.cached_read / p.input:.0%}",
        "premium_5": f"${p.cache_write_5min - p.input:g}",
        "premium_1h": f"${p.cache_write_1h - p.input:g}",
        "over_1h": significant(asked["1 h"] / hbm, 2),
        "over_storage": significant(stored.byte_rents["storage"].mid / factor("USD/GB/h") / hbm, 2),
        "over_large": significant(stored.byte_rents["storage"].low / factor("USD/GB/h") / hbm, 1),
        "storage_usd": f"${price(STEPPED).cache_storage_usd_per_Mtok_hour:.2f}",
        "hit_over": significant(p.cached_read * MTOK / eq.tier_retrieve(RUNNING.symbols() | rented(tier(KEEP[1]))), 2),
        "margin_real": significant(found.margin.mid * 0.15, 2),
        "asked_5": f"${asked['5 min']:.2f}",
        "asked_1h": f"${asked['1 h']:.3f}",
        "asked_storage": f"${stored.byte_rents['storage'].mid / factor('USD/GB/h'):.3f}",
        "hbm_rent": f"${hbm:.4f}",
        "asked_over": significant(asked["5 min"] / hbm, 2),
        "margin": significant(found.margin.mid, 3),
        "margin_low": significant(found.margin.low, 2),
        "margin_high": significant(found.margin.high, 2),
        "margin_ds": significant(v3.margin.mid, 2),
        "day_ratio": significant(ds["revenue_USD_per_day"] / ds["cost_USD_per_day"], 3),
        "day_cost": f"${ds['cost_USD_per_day']:,}",
        "day_revenue": f"${ds['revenue_USD_per_day']:,}",
        "hits": significant(ds["cached_input_token_per_day"] / 1e9, 3),
        "inputs": significant(ds["input_token_per_day"] / 1e9, 3),
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    return step_of_price() | bill() | cards() | ratios() | long() | places() | again() | sums() | drains() | caching()
