"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from collections.abc import Callable

from blackboard.catalogue import chip, measurement, model
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.racks import equations as eq
from blackboard.lessons.racks import results, simulation
from blackboard.lessons.racks.equations import FP8_OUT
from blackboard.lessons.racks.results import COPY, FULL, IDLE, TOKENS, USED
from blackboard.text import merge
from blackboard.units import factor, pretty, significant

LECTURE_RATIO = 8  # scale-up over scale-out, 0:38:47
# DeepSeek's example: 32 tokens, 8 routed and 1 shared expert, a width rounded to 7,000, all 61 layers, two
# micro-batches
EXAMPLE = FP8_OUT | {"tokens_per_chip": 32, "copies": 9, "width": 7_000}
WHOLE = {"layers": 61, "micro_batches": 2}
WIRING = {"links": 18, "pairs": 4}  # NVLink 5 of one chip; a link has two pairs in each direction
FEWER = (1, 2, 4)  # of a GPU: results.exchanges that take longer than those of IDLE among 64 GPUs
MOST = 2_048  # of a GPU, the most with which NVIDIA results.timed results.exchanges
SLOWER = 0.85  # share of its datasheet's rate that memory is assumed to reach, where the page asks what if
FEW = 4  # of a GPU in a very small batch


def placing() -> dict[str, str]:
    """Experts on chips."""
    known = RUNNING.symbols()
    return {
        "experts": f"{known['experts']:g}",
        "top_k": f"{known['top_k']:g}",
        "each": f"{eq.experts_per_chip(experts=known['experts'], expert_parallel=USED):g}",
    }


def layer() -> dict[str, str]:
    """The bytes and the time of one layer in the running case."""
    here = FP8_OUT | {"tokens_per_chip": TOKENS, "copies": results.routed_copies()}
    us = lambda tokens: f"{results.timed(USED, tokens) / factor('us'):.1f} µs"
    return {
        "tokens": str(TOKENS),
        "layer_bytes": pretty(eq.ep_bytes(RUNNING, **here), "byte", 2),
        "layer_rack": pretty(eq.ep_time(RUNNING, **here), "s", 2),
        "layer_timed": us(TOKENS),
        "layer_wait": us(IDLE),
        "layer_rest": f"{(results.timed(USED, TOKENS) - results.timed(USED, IDLE)) / factor('us'):.1f} µs",
    }


def timings() -> dict[str, str]:
    """Some rows of NVIDIA's, and what more copies explain of them."""
    link = RUNNING.symbols()["scale_up"]
    rows = {count: results.timed_row(USED, count) for count in (IDLE, TOKENS, FULL, MOST)}
    told = {
        f"timed_{name}_{count}": value
        for count, row in rows.items()
        for name, value in {
            "out": f"{row['dispatch_us']:.1f}",
            "back": f"{row['combine_us']:.1f}",
        }.items()
    }
    few = chip("b200").scale_up.domain_chips
    whole = 2 * TOKENS * results.copies_leaving(USED) * COPY["combine"] / link
    more = 2 * TOKENS * (results.copies_leaving(USED) - results.copies_leaving(few)) * COPY["combine"] / link
    told |= {
        f"both_{count}": f"{results._both_ways(results.timed_row(USED, count)):.1f}" for count in (*FEWER, IDLE, TOKENS)
    }
    return told | {
        **nearer(),
        "timed_near": f"{results.timed_row(few, MOST)['dispatch_us']:.1f}",
        "kernel_bytes": f"{whole / factor('us'):.1f} µs",
        "leave_near": f"{results.copies_leaving(few):.1f}",
        "leave_far": f"{results.copies_leaving(USED):.1f}",
        "more_bytes": f"{more / factor('us'):.0f} µs",
        "more_took": f"{(results.timed(USED, TOKENS) - results.timed(few, TOKENS)) / factor('us'):.1f} µs",
        "idle_tokens": str(IDLE),
        "most_tokens": f"{MOST:,}",
    }


def nearer() -> dict[str, str]:
    """Waits of the exchanges among fewer of the rack's GPUs, and their times in the running case."""
    told: dict[str, str] = {}
    for place, share in enumerate(share for share in results.SHARES if share <= 1):
        gpus = round(share * USED)
        times = {"wait": results.timed(gpus, IDLE), "both": results.timed(gpus, TOKENS)}
        told |= {f"near_{place}": str(gpus)}
        told |= {f"near_{place}_{name}": f"{time / factor('us'):.1f}" for name, time in times.items()}
    return told


def running() -> dict[str, str]:
    """The running case: traffic against compute."""
    here, known = (
        FP8_OUT | {"routed_layers": results.moe_layers(), "copies": results.routed_copies()},
        RUNNING.symbols(),
    )
    large = results.timed_row(USED, MOST)["dispatch_GB_per_s"] * factor("GB/s")
    card = here | {"scale_up": known["scale_out"]}
    needed, has = results.link_rates("h800")
    return {
        "token_bytes": pretty(results.token_bytes(), "byte"),
        "moe_layers": str(results.moe_layers()),
        "link_needed": pretty(eq.link_needed(RUNNING, **here), "byte/s"),
        "keep_up": f"{large / eq.link_needed(RUNNING, **here):.0%}",
        "large_rate": pretty(large, "byte/s", 3),
        "token_rate": f"{significant(known['flops'] / known['chips'] / (2 * known['n_active']), 3)}",
        "scale_up": pretty(known["scale_up"], "byte/s"),
        "scale_out": pretty(known["scale_out"], "byte/s", 2),
        "ratio_out": significant(eq.comm_ratio(RUNNING, **card), 2),
        "h800_needed": pretty(needed, "byte/s"),
        "h800_link": pretty(has, "byte/s"),
    }


def slower_memory(part: results.Parts) -> results.Parts:
    """A step whose memory reaches only the assumed share of its datasheet's rate."""
    return part._replace(weights=part.weights / SLOWER, kv=part.kv / SLOWER)


def cards() -> dict[str, str]:
    """The card's rate with the wait of DeepEP's dispatch, and what it would change."""
    told = round(results.card_told() / factor("GB/s")) * factor("GB/s")
    one, two, late = results.on(1), results.on(2), results.on(2, card=told)
    return {
        "as_rough": f"{two.in_turn / one.in_turn:.1f}",
        "card_took": f"{results.card_row()['dispatch_us']:g}",
        "card_told": pretty(told, "byte/s", 2),
        "late_two": f"{late.in_turn / one.in_turn:.2f}",
        "combine_1": f"{measurement('h200_deepep_ll_intranode').column('combine_us')[0]:.1f}",
    }


def filling() -> dict[str, str]:
    """The smallest batch, of those that NVIDIA timed, in which a part of the rack is faster; both steps."""
    counts = sorted({*measurement("gb200_one_sided_alltoall").column("tokens_per_gpu")})
    most = next(count for count in counts if count > IDLE and results.fastest(count) < USED)
    best = results.fastest(most)
    return {
        "fill_more": f"{most:,}",
        "fill_best": str(best),
        "fill_part": in_tenths(results.on(best / USED, most).in_turn),
        "fill_rack": in_tenths(results.on(1, most).in_turn),
    }


def in_ms(seconds: float) -> str:
    """A time in milliseconds, as the step's table prints it."""
    return f"{seconds * 1e3:.2f} ms"


def in_tenths(seconds: float) -> str:
    """A time in milliseconds with one decimal, without its unit."""
    return f"{seconds * 1e3:.1f}"


def worked() -> dict[str, str]:
    """The step on one rack and on two, and where its times come from."""
    known, (one, two, once) = RUNNING.symbols(), results.parts().values()
    return {
        "context_tokens": f"{known['context']:,.0f}",
        "expert_bytes": pretty(results.expert_bytes(), "byte", 4),
        "rest_bytes": pretty(results.rest_bytes(), "byte", 4),
        "rest_time": in_ms(results.rest_bytes() / results.bandwidth()),
        "shared_time": in_ms((results.box_weights(0) - results.rest_bytes()) / results.bandwidth()),
        "kv_time": in_ms(one.kv),
        "other_time": in_ms(one.work - results.expert_time(one)),
        "experts_one": in_ms(results.expert_time(one)),
        "experts_two": in_ms(results.expert_time(two)),
        "token_kv": pretty(known["kv_bytes_per_token"], "byte"),
        "active": f"{known['n_active'] / 1e9:.2f} billion",
        "bandwidth": pretty(results.bandwidth(), "byte/s", 1),
        "flops": pretty(known["flops"] / known["chips"], "FLOP/s", 1),
        "memory_one": in_ms(one.work),
        "memory_two": in_ms(two.work),
        "compute_one": in_ms(one.compute),
        "weights_one": in_ms(one.weights),
        "freed": pretty((one.weights - two.weights) * results.bandwidth(), "byte", 2),
        "rack_memory": pretty(chip(RUNNING.system).hbm_bytes, "byte", 3),
        "step_latency": in_ms(one.latency),
        "bytes_one": f"{in_tenths(one.sending)} ms",
        "bytes_two": f"{in_tenths(two.sending)} ms",
        "sending_one": in_ms(one.sending),
        "sending_two": in_ms(two.sending),
        "sending_once": in_ms(once.sending),
        "step_one": pretty(one.in_turn, "s", 2),
        "step_two": pretty(two.in_turn, "s", 3),
        "saved": in_ms(one.weights - two.weights),
        "larger_step": in_tenths(results.larger_step()),
        "hops": in_ms(once.hop),
    }


def split() -> dict[str, str]:
    """The step on two racks in times of one rack's, if more or less of the timed exchanges were waiting."""
    one, ways = results.on(1), {"two": results.on(2), "once": results.on(2, once=True)}
    return {
        f"split_{name}_{way}": f"{(part.in_turn + (1 - share) * one.sending) / one.in_turn:.2f}"
        for way, part in ways.items()
        for name, share in {"none": 0, "told": 1, "twice": 2}.items()
        if (name, way) != ("told", "two")
    }


def margins() -> dict[str, str]:
    """How much longer each exchange may wait on two racks."""
    us = lambda seconds: f"{seconds / factor('us'):.1f} µs"
    return {
        "margin_day": us(results.margin_day()),
        "even_once": str(results.even_once()),
    }


def spread_or_stop() -> dict[str, str]:
    """Up to where a second rack pays."""
    one, two, once = results.parts().values()
    saved = one.weights - two.weights
    return {
        "once_added": in_ms(once.sending - one.sending),
        "even_rack": f"{results.spread_pays(saved, two.sending):.1f}",
        "even_four_bit": f"{results.spread_pays(saved / 2, two.sending):.1f}",
        "even_rack_late": f"{results.spread_pays(saved - results.later(), two.sending):.1f}",
        "saved_layer": f"{saved / results.moe_layers() / factor('us'):.1f} µs",
        "token_layer": f"{two.sending / results.moe_layers() / TOKENS / factor('us'):.2f} µs",
        "few": str(FEW),
        "full": str(FULL),
        "hop_limit": pretty(saved / results.exchanges(), "s", 2),
    }


def crossing_once() -> dict[str, str]:
    """Two racks with one crossing against two replicas, in our batch, with DeepSeek's contexts, and with its users,
    too: second hops take no time, or as long as a bare message.
    """
    long = results.day()["context_tokens"]
    loads = {"": (TOKENS, None), "_long": (TOKENS, long), "_day": (results.day_users(), long)}
    replicas_day = results.shortest(results.on(1, results.day_users(), context=long))
    spread_day = results.shortest(results.on(2, results.day_users(), True, results.start_time(), context=long))
    told: dict[str, str] = {}
    for name, load in loads.items():
        told |= columns(f"plain{name}", lambda part: part.in_turn, *load)
        told |= columns(f"lapped{name}", lambda part: part.overlapped, *load)
    ratios = [
        results.shortest(results.on(2, users, True, context=long))
        / results.shortest(results.on(1, users, context=long))
        for users, _ in loads.values()
    ]
    slow_hop = results.shortest(results.on(2, once=True, hop=results.bare_hop(), context=long))
    return (
        told
        | halves(long)
        | {
            "day_long": f"{spread_day / replicas_day - 1:.0%}",
            "win_best": f"{1 - min(ratios):.0%}",
            "win_least": f"{100 * (1 - slow_hop / results.shortest(results.on(1, context=long))):.0f}",
        }
    )


def columns(name: str, took: Callable[[results.Parts], float], users: int, context: float | None) -> dict[str, str]:
    """A step under a load: two replicas, and two racks to which every copy crosses or each token once."""
    step = lambda racks, **way: in_tenths(took(results.on(racks, users, context=context, **way)))
    once = [step(2, once=True, hop=hop) for hop in (0, results.bare_hop())]
    return {f"{name}_one": step(1), f"{name}_two": step(2), f"{name}_once": " to ".join(once)}


def halves(context: float) -> dict[str, str]:
    """A step with such contexts and overlap, both halves together: what it loads and exchanges on two racks to which
    each token crosses once, and what two replicas exchange. (Exchanges know no context.)
    """
    twice = lambda part, what: in_tenths(2 * getattr(part.half(), what))
    way = lambda hop=0.0: results.on(2, once=True, hop=hop, context=context)
    exchanges = " to ".join(twice(way(hop), "exchanges") for hop in (0, results.bare_hop()))
    return {
        "loading_long_once": twice(way(), "work"),
        "exchanges_once": exchanges,
        "exchanges_one": twice(results.on(1, context=context), "exchanges"),
    }


def boundary() -> dict[str, str]:
    """Leaving the rack."""
    known = RUNNING.symbols()
    here = known["scale_up"] / known["scale_out"]
    shares = results.reached()
    return {
        "far_4": f"{eq.domains_visited(racks=4, top_k=known['top_k']):.1f}",
        "slower_every_2": f"{eq.slowdown(RUNNING, racks=2):g}",
        "card_left": pretty(known["scale_out"] * shares["scale_out"], "byte/s", 2),
        "slower": f"{eq.slowdown(racks=2, scale_up=LECTURE_RATIO, scale_out=1):g}",
        "gb200_ratio": f"{here:g}",
    }


def rack() -> dict[str, str]:
    """The rack itself, and how scale-up domains grew."""
    power, kilowatt = chip("gb200-nvl72").power_w, lambda watts: f"{significant(watts / 1e3, 2, exact=True)} kW"
    [built] = measurement("gb200_rack").records()
    count = int(RUNNING.symbols()["chips"])
    ultra = chip("rubin-ultra-kyber").scale_up.domain_chips
    return {
        "chips_power": kilowatt(eq.rack_power(chips=count, chip_power=power, other_power=0)),
        "rack_power": kilowatt(built["power_W"]),
        "cables": f"{eq.cables(chips=count, **WIRING):,.0f}",
        "cables_told": f"{built['cables']:,}",
        "rack_mass": f"{built['mass_kg']:,} kg",
        "copper": f"{built['copper_m'] / 1e3:.1f} km",
        "ultra": str(ultra),
        "blackwell_dies": str(2 * count),
    }


def corrected() -> dict[str, str]:
    """The step on two racks in times of one rack's, with one assumption changed at a time."""
    changes: dict[str, Callable[[results.Parts], results.Parts]] = {
        "told": lambda part: part,
        "memory": slower_memory,
        "quick": lambda part: part._replace(latency=results.moe_layers() * results.quick_wait()),
    }
    found, sheet = results.parts(), RUNNING.symbols()["scale_out"]
    ratios = {
        f"{change}_{name}": made(found[name]).in_turn / made(found["one"]).in_turn
        for change, made in changes.items()
        for name in ("two", "once")
    } | {
        "ideal_two": results.on(2, card=sheet).in_turn / found["one"].in_turn,
        "ideal_once": results.on(2, once=True, hop=results.bare_hop(), card=sheet).in_turn / found["one"].in_turn,
        "full_two": results.on(2, FULL).in_turn / results.on(1, FULL).in_turn,
        "full_once": results.on(2, FULL, once=True, hop=results.bare_hop()).in_turn / results.on(1, FULL).in_turn,
        "few_two": results.on(2, FEW).in_turn / results.on(1, FEW).in_turn,
        "few_once": results.on(2, FEW, once=True, hop=results.bare_hop()).in_turn / results.on(1, FEW).in_turn,
    }
    return {f"as_{name}": f"{value:.2f}" for name, value in ratios.items()} | {"memory_share": f"{SLOWER:.0%}"}


def measured() -> dict[str, str]:
    """Latency and rate of measured dispatches, and latencies of messages."""
    return {
        "latency": pretty(results.start_time(), "s", 3),
        "hop_least": f"{results.bare_hop() * 1e6:.1f}",
        "hop_near": f"{results.bare(link='InfiniBand')[0] * 1e6:.1f}",
        "hop_cards": f"{results.bare(link='InfiniBand')[-1] * 1e6:.1f}",
    }


def crowded() -> dict[str, str]:
    """That day's users: how many, and a step with them on boxes."""
    context, most = results.day()["context_tokens"], int(results.deployment()["nodes"])
    [unit] = measurement("sglang_large_ep_decode").records(system="DeepSeek production")
    then = results.lapped()
    gains = measurement("two_batch_overlap").records(phase="decode", setting="plain")
    gain = {row["tokens_per_gpu"]: row["low_gain"] for row in gains}
    [plain] = {f"{part.in_turn * 1e3:.0f}" for part in then.values()}
    travel = {f"travel_{count}": in_tenths(2 * part.half().exchanges) for count, part in then.items()}
    twice = {f"twice_{count}": in_tenths(2 * part.half().work) for count, part in then.items()}
    deep_step = lambda count, gpus: max(2 * then[count].half().work, results.deep_exchanges(gpus))
    return {
        **travel,
        **twice,
        "deep_128": in_tenths(results.deep_exchanges(128)),
        "plain_boxes": plain,
        "deep_gain": f"{1 - deep_step(most, 128) / deep_step(8, 64):.0%}",
        "lapped_gain": f"{1 - then[most].overlapped / then[8].overlapped:.0%}",
        f"late_{most}": in_tenths(then[most]._replace(latency=results.on(1).latency).overlapped),
        f"lapped_{most}": in_tenths(then[most].overlapped),
        "lap_more": f"{gain[FULL]:.1%}",
        "lap_less": f"{-gain[TOKENS]:.0%}",
        "users": str(results.day_users()),
        "day_box": f"{results.day()['node_decode_token_per_s']:,}",
        "day_step": f"{1e3 / results.day_speed():.0f} ms",
        "day_slow": str(results.day()["low_speed_token_per_s"]),
        "day_fast": str(results.day()["high_speed_token_per_s"]),
        "day_context": f"{context:,}",
        "day_batch": str(unit["batch_per_gpu"]),
    }


def deployed() -> dict[str, str]:
    """How services spread their experts, and what limiting the nodes does."""
    report, service = measurement("deepseek_v3_deployment_units").records(phase="decode")
    free, limited = (simulation.nodes_hit(4_000, 256, 8, 8, limit).mean() for limit in (None, 4))
    [gains] = measurement("sglang_large_ep_gains").records()
    shared = results.box_weights(service["routed_experts_per_gpu"])
    weights = {name: results.box_weights(results.held_on(boxes)) for name, boxes in (("two", 2), ("four", 4))}
    each = results.day()["context_tokens"] * model(RUNNING.model).kv_bytes_per_token()
    caches, spread = results.day_users() * each, {"four": weights["four"], "most": shared}
    return _boxes() | {
        "day_caches": pretty(caches, "byte", 2),
        **{f"fit_{name}": f"{(chip('h800').hbm_bytes - size) / each:.0f}" for name, size in spread.items()},
        **{f"weights_{boxes}": pretty(size, "byte", 2) for boxes, size in weights.items()},
        **{f"room_{boxes}": pretty(chip("h800").hbm_bytes - size, "byte", 2) for boxes, size in weights.items()},
        "box_bytes": pretty(results.box_experts() * results.moe_layers() * results.expert_bytes(), "byte", 3),
        "h800_memory": pretty(chip("h800").hbm_bytes, "byte", 2),
        "spare_experts": str(service["redundant_experts"]),
        "balance": significant(gains["decode_balance_speedup"], 2),
        "report_gpus": str(report["gpus"]),
        "report_nodes": str(report["nodes"]),
        "service_gpus": str(service["gpus"]),
        "service_nodes": str(service["nodes"]),
        "nodes_free": significant(float(free), 2),
        "nodes_limited": significant(float(limited), 2),
    }


def _boxes() -> dict[str, str]:
    """Up to where a second box pays."""
    one, pair = results.on_boxes(1), results.on_boxes(2)
    alone, shared = results.on_boxes(1, id="h800"), results.on_boxes(2, id="h800")
    return {
        "saved_pair": pretty(one.weights - pair.weights, "s", 2),
        "even_pair": f"{results.spread_pays(one.weights - pair.weights, pair.sending):.0f}",
        "even_h800": f"{results.spread_pays(alone.weights - shared.weights, shared.sending):.0f}",
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    counts = merge(
        placing(), layer(), timings(), filling(), running(), worked(), split(), spread_or_stop(), boundary(), rack()
    )
    against = merge(measured(), corrected(), deployed(), crowded(), cards(), crossing_once(), margins())
    return merge(counts, against)
