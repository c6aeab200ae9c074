"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np

from blackboard.catalogue import chip, measurement, model
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.racks import equations as eq
from blackboard.lessons.racks import simulation
from blackboard.lessons.racks.equations import FP8_OUT
from blackboard.text import merge
from blackboard.units import factor, pretty, significant

USED = 64  # of the rack's GPUs, for divisibility: lecture 0:34:20
LECTURE_RATIO = 8  # scale-up over scale-out, 0:38:47
# DeepSeek's example: 32 tokens, 8 routed and 1 shared expert, a width rounded to 7,000, all 61 layers, two
# micro-batches
EXAMPLE = FP8_OUT | {"tokens_per_chip": 32, "copies": 9, "width": 7_000}
WHOLE = {"layers": 61, "micro_batches": 2}
WIRING = {"links": 18, "pairs": 4}  # NVLink 5 of one chip; a link has two pairs in each direction
TOKENS = 32  # of a GPU in a step of the running case: its sequences, as in DeepSeek's example
IDLE = 8  # of a GPU with which an exchange nearly only waits: with fewer it takes no less
FEWER = (1, 2, 4)  # of a GPU: exchanges that take longer than those of IDLE among 64 GPUs
MOST = 2_048  # of a GPU, the most with which NVIDIA timed exchanges
FULL = 256  # of a GPU in a large batch
SLOWER = 0.85  # share of its datasheet's rate that memory is assumed to reach, where the page asks what if
FEW = 4  # of a GPU in a very small batch
COPY = {"dispatch": 7_408, "combine": 14_336}  # bytes of one copy in DeepEP: FP8 with its scales, BF16


def moe_layers() -> int:
    """Routed layers of the running model: its first layers are dense."""
    return model(RUNNING.model).moe.layers


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
    here = FP8_OUT | {"tokens_per_chip": TOKENS, "copies": routed_copies()}
    us = lambda tokens: f"{timed(USED, tokens) / factor('us'):.1f} µs"
    return {
        "tokens": str(TOKENS),
        "cut_copies": f"{USED / routed_copies():g}",
        "layer_bytes": pretty(eq.ep_bytes(RUNNING, **here), "byte"),
        "layer_rack": pretty(eq.ep_time(RUNNING, **here), "s", 3),
        "layer_timed": us(TOKENS),
        "layer_wait": us(IDLE),
        "layer_rest": f"{(timed(USED, TOKENS) - timed(USED, IDLE)) / factor('us'):.1f} µs",
    }


def routed_copies() -> float:
    """Copies of a token that travel: one for each routed expert. Every GPU has the shared one."""
    return RUNNING.symbols()["top_k"]


def timed_row(gpus: float, tokens: int) -> dict[str, float]:
    """What NVIDIA measured among so many GPUs of a GB200 NVL72, with so many tokens on each."""
    [row] = measurement("gb200_one_sided_alltoall").records(expert_parallel=gpus, tokens_per_gpu=tokens)
    return row


def _both_ways(row: dict[str, float]) -> float:
    """Microseconds of dispatch and combine in a row of NVIDIA's."""
    return row["dispatch_us"] + row["combine_us"]


def timed(gpus: float, tokens: float) -> float:
    """Time of dispatch and combine of a layer, s, as NVIDIA measured it: along straight lines between its rows, and no
    shorter than with few tokens.
    """
    rows = measurement("gb200_one_sided_alltoall").records(expert_parallel=gpus)
    used = [row for row in rows if row["tokens_per_gpu"] >= IDLE]
    counts, times = zip(*((row["tokens_per_gpu"], _both_ways(row)) for row in used))
    return float(np.interp(tokens, counts, times)) * factor("us")


def timings() -> dict[str, str]:
    """Some rows of NVIDIA's, and what more copies explain of them."""
    link = RUNNING.symbols()["scale_up"]
    rows = {count: timed_row(USED, count) for count in (IDLE, TOKENS, FULL, MOST)}
    told = {
        f"timed_{name}_{count}": value
        for count, row in rows.items()
        for name, value in {
            "out": f"{row['dispatch_us']:.1f}",
            "back": f"{row['combine_us']:.1f}",
        }.items()
    }
    few = chip("b200").scale_up.domain_chips
    whole = 2 * TOKENS * copies_leaving(USED) * COPY["combine"] / link
    more = 2 * TOKENS * (copies_leaving(USED) - copies_leaving(few)) * COPY["combine"] / link
    told |= {f"both_{count}": f"{_both_ways(timed_row(USED, count)):.1f}" for count in (*FEWER, IDLE, TOKENS)}
    return told | {
        "timed_near": f"{timed_row(few, MOST)['dispatch_us']:.1f}",
        "kernel_bytes": f"{whole / factor('us'):.1f} µs",
        "leave_near": f"{copies_leaving(few):.1f}",
        "leave_far": f"{copies_leaving(USED):.1f}",
        "more_bytes": f"{more / factor('us'):.0f} µs",
        "more_took": f"{(timed(USED, TOKENS) - timed(few, TOKENS)) / factor('us'):.1f} µs",
        "idle_tokens": str(IDLE),
        "most_tokens": f"{MOST:,}",
    }


def copies_leaving(gpus: int) -> float:
    """Copies of a token that leave its GPU, on average, if a GPU gets a token once however many experts it has."""
    known = RUNNING.symbols()
    count, top_k = int(known["experts"]), int(known["top_k"])
    return (gpus - 1) * (1 - comb(count - count // gpus, top_k) / comb(count, top_k))


def token_bytes() -> float:
    """Bytes that a token of the running model sends in a step."""
    return eq.ep_bytes(RUNNING, tokens_per_chip=1, copies=routed_copies(), **FP8_OUT) * moe_layers()


def link_rates(id: str) -> tuple[float, float]:
    """Byte/s that a GPU's link must carry if the GPU computes at its peak, and those of its datasheet."""
    part = chip(id)
    here = FP8_OUT | {"routed_layers": moe_layers(), "copies": routed_copies()}
    here |= {"flops": part.flops("fp8"), "chips": 1}
    return eq.link_needed(RUNNING, **here), part.scale_up.bytes_per_s


def running() -> dict[str, str]:
    """The running case: traffic against compute."""
    here, known = FP8_OUT | {"routed_layers": moe_layers(), "copies": routed_copies()}, RUNNING.symbols()
    large = timed_row(USED, MOST)["dispatch_GB_per_s"] * factor("GB/s")
    card = here | {"scale_up": known["scale_out"]}
    needed, has = link_rates("h800")
    return {
        "token_bytes": pretty(token_bytes(), "byte"),
        "moe_layers": str(moe_layers()),
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


def card_rate() -> float:
    """Byte/s that DeepEP sends over a network card at least: among 256 GPUs in boxes of eight, latency included."""
    [row] = measurement("deepep_v1_low_latency").records(expert_parallel=256)
    leave = 1 - chip("h800").scale_up.domain_chips / row["expert_parallel"]
    return row["dispatch_GB_per_s"] * factor("GB/s") * leave


def bare_card() -> dict[str, str]:
    """The card's rate if the wait of NVIDIA's dispatch is taken out of DeepEP's, and what that changes."""
    [row] = measurement("deepep_v1_low_latency").records(expert_parallel=256)
    took = row["dispatch_us"]
    rate = card_rate() * took / (took - timed_row(USED, IDLE)["dispatch_us"])
    return {
        "card_took": f"{took:g}",
        "card_bare": pretty(rate, "byte/s", 2),
        "bare_two": f"{on(2, card=rate).in_turn / on(1).in_turn:.2f}",
        "combine_1": f"{measurement('h200_deepep_ll_intranode').column('combine_us')[0]:.1f}",
    }


def reached() -> dict[str, float]:
    """Shares of both networks' rates that the worked example counts on, from measured rates in whole GB/s."""
    part, whole = chip("h200"), lambda rate: round(rate / factor("GB/s")) * factor("GB/s")
    up, out = part.scale_up.bytes_per_s, part.scale_out.bytes_per_s
    return {"scale_up": whole(dispatch_line()[1] * up) / up, "scale_out": whole(card_rate()) / out}


def start_time() -> float:
    """Latency of an exchange, s: DeepEP's smallest dispatch on eight H200."""
    return measurement("h200_deepep_ll_intranode").column("dispatch_us")[0] * factor("us")


class Parts(NamedTuple):
    """Times of a step's parts on one machine, s; latency and second hops are those of all its exchanges."""

    weights: float
    kv: float
    compute: float
    sending: float
    latency: float
    hop: float = 0.0

    @property
    def work(self) -> float:
        """Memory traffic and compute at the same time: the longer one."""
        return max(self.weights + self.kv, self.compute)

    @property
    def exchanges(self) -> float:
        """Latency and second hop, then bytes."""
        return self.latency + self.hop + self.sending

    def half(self) -> Parts:
        """Those of half of the batch: it loads all weights and pays every latency."""
        return self._replace(kv=self.kv / 2, compute=self.compute / 2, sending=self.sending / 2)

    @property
    def in_turn(self) -> float:
        """Work and exchanges one after the other."""
        return self.work + self.exchanges

    @property
    def overlapped(self) -> float:
        """Two halves of the batch, each working while the other is on the links."""
        return 2 * max(self.half().work, self.half().exchanges)


def expert_bytes() -> float:
    """Bytes of one expert of one layer."""
    net = model(RUNNING.model)
    return net.moe.matrices * net.d_model * net.moe.d_ff * RUNNING.symbols()["bytes_per_param"]


def rest_bytes() -> float:
    """Bytes of what every GPU holds in full: all weights but the experts, routed or shared."""
    known, moe = RUNNING.symbols(), model(RUNNING.model).moe
    return known["n_total"] * known["bytes_per_param"] - moe.layers * (moe.experts + moe.shared) * expert_bytes()


SHARES = (1 / 8, 1 / 4, 1 / 2, 1, 2)  # of a rack, the GPUs that share each layer in the page's first step


def fastest(tokens: float) -> int:
    """GPUs of a rack that share each layer in the shortest step with so many tokens on each, without overlap."""
    return min(
        (round(share * USED) for share in SHARES if share <= 1), key=lambda count: on(count / USED, tokens).in_turn
    )


def filling() -> dict[str, str]:
    """The smallest batch, of those that NVIDIA timed, in which a part of the rack is faster."""
    counts = sorted({*measurement("gb200_one_sided_alltoall").column("tokens_per_gpu")})
    return {"fill_more": f"{next(count for count in counts if count > IDLE and fastest(count) < USED):,}"}


def doublings() -> dict[int, Parts]:
    """A step of the running case by the GPUs that share each layer: doubled up to two racks, to which every copy
    crosses.
    """
    return {round(share * USED): on(share) for share in SHARES}


def parts() -> dict[str, Parts]:
    """A step of the running case on one rack; on two to which every copy crosses, or each token once."""
    return {"one": on(1), "two": on(2), "once": on(2, once=True, hop=bare_hop())}


def on(
    racks: float,
    tokens: float = TOKENS,
    once: bool = False,
    hop: float = 0.0,
    card: float | None = None,
    context: float | None = None,
) -> Parts:
    """The step's parts on a GPU with so many sequences, when so many racks, or a part of one, share each layer's routed
    experts. Every GPU has the shared one.

    Inside a rack, exchanges take as long as NVIDIA measured; what they take with few tokens is waiting, the rest bytes.
    On several racks they wait as long, and copies go over cards of such a rate: each on its own, or each token crosses
    `once` to a rack and is passed on inside. Then each exchange also waits for a second hop.
    """
    known, here = RUNNING.symbols(), FP8_OUT | {"tokens_per_chip": tokens}
    held = eq.experts_per_chip(experts=known["experts"], expert_parallel=racks * USED)
    flops, near = known["flops"] / known["chips"], min(racks, 1) * USED
    away = routed_copies() * eq.leaving(racks=max(racks, 1))
    outside = eq.domains_visited(racks=racks, top_k=known["top_k"]) if once else away
    rate = card or reached()["scale_out"] * known["scale_out"]
    over = eq.ep_time(RUNNING, **here | {"copies": outside, "scale_up": rate}) if outside else 0
    wait = timed(near, IDLE)
    return Parts(
        weights=box_weights(held) / bandwidth(),
        kv=tokens * (context or known["context"]) * known["kv_bytes_per_token"] / bandwidth(),
        compute=tokens * 2 * known["n_active"] / flops,
        sending=moe_layers() * max(timed(near, tokens) - wait, over),
        latency=moe_layers() * wait,
        hop=2 * moe_layers() * hop,
    )


def bare(**link: str) -> list[float]:
    """Latencies of a bare message on such a link, s, shortest first."""
    rows = measurement("deepseek_isca25_link_latency").records(**link)
    return sorted(row["latency_us"] * factor("us") for row in rows)


def bare_hop() -> float:
    """Latency of a bare message inside a rack, where the second hop is, s; rounded as the page prints it."""
    return round(bare(link="NVLink")[0], 7)


def expert_time(part: Parts) -> float:
    """Time in which a GPU of the running case loads its routed experts, s."""
    return part.weights - box_weights(0) / bandwidth()


def bandwidth() -> float:
    """Byte/s that a GPU reads from its memory."""
    known = RUNNING.symbols()
    return known["bandwidth"] / known["chips"]


def in_ms(seconds: float) -> str:
    """A time in milliseconds, as the step's table prints it."""
    return f"{seconds * 1e3:.2f} ms"


def in_tenths(seconds: float) -> str:
    """A time in milliseconds with one decimal, without its unit."""
    return f"{seconds * 1e3:.1f}"


def worked() -> dict[str, str]:
    """The step on one rack and on two, and where its times come from."""
    known, (one, two, once) = RUNNING.symbols(), parts().values()
    return {
        "context_tokens": f"{known['context']:,.0f}",
        "expert_bytes": pretty(expert_bytes(), "byte", 4),
        "rest_bytes": pretty(rest_bytes(), "byte", 4),
        "rest_time": in_ms(rest_bytes() / bandwidth()),
        "shared_time": in_ms((box_weights(0) - rest_bytes()) / bandwidth()),
        "kv_time": in_ms(one.kv),
        "other_time": in_ms(one.work - expert_time(one)),
        "experts_16": in_ms(expert_time(doublings()[16])),
        "experts_one": in_ms(expert_time(one)),
        "experts_two": in_ms(expert_time(two)),
        "token_kv": pretty(known["kv_bytes_per_token"], "byte"),
        "active": f"{known['n_active'] / 1e9:.2f} billion",
        "bandwidth": pretty(bandwidth(), "byte/s", 1),
        "flops": pretty(known["flops"] / known["chips"], "FLOP/s", 1),
        "memory_one": in_ms(one.work),
        "memory_two": in_ms(two.work),
        "compute_one": in_ms(one.compute),
        "weights_one": in_ms(one.weights),
        "exchanges_lapped": in_tenths(2 * one.half().exchanges),
        "bytes_longer": f"{two.sending / one.sending:.0f}",
        "freed": pretty((one.weights - two.weights) * bandwidth(), "byte", 2),
        "rack_memory": pretty(chip(RUNNING.system).hbm_bytes, "byte", 3),
        "step_latency": in_ms(one.latency),
        "sending_one": in_ms(one.sending),
        "sending_two": in_ms(two.sending),
        "sending_once": in_ms(once.sending),
        "step_one": pretty(one.in_turn, "s", 2),
        "user_rate": significant(1 / one.in_turn, 3),
        "step_two": pretty(two.in_turn, "s", 3),
        "user_rate_two": significant(1 / two.in_turn, 2),
        "saved": in_ms(one.weights - two.weights),
        "larger_lapped": f"{larger_lapped():.0%}",
        "hops": in_ms(once.hop),
    }


def larger_lapped() -> float:
    """Tokens per second that a rack twice as large would gain with overlap and long contexts, if its exchanges took no
    longer.
    """
    one, two = (on(racks, context=day()["context_tokens"]) for racks in (1, 2))
    return one.overlapped / one._replace(weights=two.weights).overlapped - 1


def split() -> dict[str, str]:
    """The step on two racks in times of one rack's, if more or less of the timed exchanges were waiting."""
    one, ways = on(1), {"two": on(2), "once": on(2, once=True)}
    return {
        f"split_{name}_{way}": f"{(part.in_turn + (1 - share) * one.sending) / one.in_turn:.2f}"
        for way, part in ways.items()
        for name, share in {"none": 0, "told": 1, "twice": 2}.items()
        if (name, way) != ("told", "two")
    }


def exchanges() -> int:
    """Exchanges of a step, dispatch and combine in each layer with experts."""
    return 2 * moe_layers()


def margin_day() -> float:
    """How much longer each exchange may wait on two racks than on one, second hop included, before spreading loses, s:
    under DeepSeek's load, with perfect overlap and one crossing.
    """
    one, two = (on(racks, day_users(), True, context=day()["context_tokens"]) for racks in (1, 2))
    return (one.overlapped / 2 - two.half().exchanges) / exchanges()


def even_once() -> int:
    """Users of a GPU from which on a second rack makes a step longer, though each token crosses once and exchanges wait
    no longer there.
    """
    return next(count for count in range(1, FULL) if on(2, count, True).in_turn > on(1, count).in_turn)


def margins() -> dict[str, str]:
    """How much longer each exchange may wait on two racks."""
    us = lambda seconds: f"{seconds / factor('us'):.1f} µs"
    return {
        "margin_day": us(margin_day()),
        "even_once": str(even_once()),
    }


def spread_or_stop() -> dict[str, str]:
    """Up to where a second rack pays."""
    one, two, once = parts().values()
    saved = one.weights - two.weights
    return {
        "once_added": in_ms(once.sending - one.sending),
        "even_rack": f"{spread_pays(saved, two.sending):.1f}",
        "even_rack_late": f"{spread_pays(saved - later(), two.sending):.1f}",
        "saved_layer": f"{saved / moe_layers() / factor('us'):.1f} µs",
        "token_layer": f"{two.sending / moe_layers() / TOKENS / factor('us'):.2f} µs",
        "few": str(FEW),
        "full": str(FULL),
        "hop_limit": pretty(saved / exchanges(), "s", 2),
    }


def later() -> float:
    """What a step waits longer if each exchange waits longer by a bare message, s."""
    return exchanges() * bare_hop()


def spread_pays(saved: float, sending: float) -> float:
    """Tokens of a GPU up to which bytes take no longer than the loading saved, from the times with those of the running
    case, s.
    """
    return TOKENS * saved / sending


def shortest(part: Parts) -> float:
    """With overlap or without, s."""
    return min(part.in_turn, part.overlapped)


def crossing_once() -> dict[str, str]:
    """Two racks with one crossing against two replicas, in our batch, with DeepSeek's contexts, and with its users,
    too: second hops take no time, or as long as a bare message.
    """
    long = day()["context_tokens"]
    loads = {"": (TOKENS, None), "_long": (TOKENS, long), "_day": (day_users(), long)}
    replicas_day = shortest(on(1, day_users(), context=long))
    spread_day = shortest(on(2, day_users(), True, start_time(), context=long))
    told: dict[str, str] = {}
    for name, load in loads.items():
        told |= columns(f"plain{name}", lambda part: part.in_turn, *load)
        told |= columns(f"lapped{name}", lambda part: part.overlapped, *load)
    ratios = [
        shortest(on(2, users, True, context=long)) / shortest(on(1, users, context=long)) for users, _ in loads.values()
    ]
    return told | {
        "day_long": f"{spread_day / replicas_day - 1:.0%}",
        "win_best": f"{1 - min(ratios):.0%}",
    }


def columns(name: str, took: Callable[[Parts], float], users: int, context: float | None) -> dict[str, str]:
    """A step under a load: two replicas, and two racks to which every copy crosses or each token once."""
    step = lambda racks, **way: in_tenths(took(on(racks, users, context=context, **way)))
    once = [step(2, once=True, hop=hop) for hop in (0, bare_hop())]
    return {f"{name}_one": step(1), f"{name}_two": step(2), f"{name}_once": " to ".join(once)}


def boundary() -> dict[str, str]:
    """Leaving the rack."""
    known = RUNNING.symbols()
    here = known["scale_up"] / known["scale_out"]
    shares = reached()
    return {
        "far_4": f"{eq.domains_visited(racks=4, top_k=known['top_k']):.1f}",
        "slower_every_2": f"{eq.slowdown(RUNNING, racks=2):g}",
        "up_share": f"{shares['scale_up']:.0%}",
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


# --- against measurements ---------------------------------------------------------------------------------------------


class Exchange(NamedTuple):
    """A measured exchange, its ideal time, and its time with latency and link efficiency; seconds."""

    name: str
    bytes_per_chip: float
    measured: float
    ideal: float
    modelled: float


def line(rows: list[tuple[float, float]], share: float, rate: float) -> tuple[float, float]:
    """Latency (s) and link efficiency from the ends of rows (bytes per chip, seconds), of which `share` travels at
    `rate`.
    """
    (_, first), (m0, t0), (m1, t1) = rows[0], rows[-2], rows[-1]
    return first, (m1 - m0) * share / (t1 - t0) / rate


def measured_exchanges() -> list[Exchange]:
    """NCCL's all-to-all and all-gather and DeepEP's dispatch and combine on one node of 8 H200."""
    node, nccl, deep = chip("h200"), measurement("h200_nccl"), measurement("h200_deepep_ll_intranode")
    us, sets = factor("us"), {}
    for op in ("all_to_all", "all_gather"):
        sets[f"NCCL {op.replace('_', '-')}"] = [
            (row["message_bytes"], row["latency_us"] * us) for row in nccl.records(operation=op, gpus=8)
        ]
    for way, copy in COPY.items():
        sets[f"DeepEP {way}"] = [
            (row["tokens_per_gpu"] * RUNNING.symbols()["top_k"] * copy, row[f"{way}_us"] * us) for row in deep.records()
        ]
    return [row for name, rows in sets.items() for row in modelled(name, rows, node.scale_up.bytes_per_s, 8)]


def modelled(name: str, rows: list[tuple[float, float]], rate: float, count: int) -> list[Exchange]:
    """Measured rows (bytes per chip, seconds) beside the formula, ideal and with latency and efficiency from the ends
    of the rows.
    """
    latency, share = line(rows, 1 - 1 / count, rate)
    ideal = lambda size: eq.exchange_time(message=size, chips=count, scale_up=rate, start_time=0)
    real = eq.exchange_time.bind(chips=count, scale_up=rate, start_time=latency, link_efficiency=share)
    return [Exchange(name, size, time, ideal(size), real(message=size)) for size, time in rows]


def by_kind() -> dict[str, list]:
    """The measured exchanges of each kind."""
    rows = measured_exchanges()
    return {name: [row for row in rows if row.name == name] for name in dict.fromkeys(row.name for row in rows)}


def dispatch_line() -> tuple[float, float]:
    """Latency of DeepEP's dispatch, s, and the share of a link's rate that it reaches."""
    sizes = [(row.bytes_per_chip, row.measured) for row in by_kind()["DeepEP dispatch"]]
    return line(sizes, 7 / 8, chip("h200").scale_up.bytes_per_s)


def corrected() -> dict[str, str]:
    """The step on two racks in times of one rack's, with one assumption changed at a time."""
    changes: dict[str, Callable[[Parts], Parts]] = {
        "told": lambda part: part,
        "memory": lambda part: part._replace(weights=part.weights / SLOWER, kv=part.kv / SLOWER),
        "quick": lambda part: part._replace(latency=moe_layers() * quick_wait()),
    }
    found, sheet = parts(), RUNNING.symbols()["scale_out"]
    ratios = {
        f"{change}_{name}": made(found[name]).in_turn / made(found["one"]).in_turn
        for change, made in changes.items()
        for name in ("two", "once")
    } | {
        "ideal_two": on(2, card=sheet).in_turn / found["one"].in_turn,
        "ideal_once": on(2, once=True, hop=bare_hop(), card=sheet).in_turn / found["one"].in_turn,
        "full_two": on(2, FULL).in_turn / on(1, FULL).in_turn,
        "full_once": on(2, FULL, once=True, hop=bare_hop()).in_turn / on(1, FULL).in_turn,
        "few_two": on(2, FEW).in_turn / on(1, FEW).in_turn,
        "few_once": on(2, FEW, once=True, hop=bare_hop()).in_turn / on(1, FEW).in_turn,
    }
    return {f"as_{name}": f"{value:.2f}" for name, value in ratios.items()} | {"memory_share": f"{SLOWER:.0%}"}


def quick_wait() -> float:
    """Time of DeepEP's dispatch and combine of a single token on each of eight H200, s."""
    first = measurement("h200_deepep_ll_intranode").records()[0]
    return (first["dispatch_us"] + first["combine_us"]) * factor("us")


def measured() -> dict[str, str]:
    """Latency and rate of measured dispatches, and latencies of messages."""
    beta, (_, efficiency) = chip("h200").scale_up.bytes_per_s, dispatch_line()
    size = RUNNING.symbols()["top_k"] * COPY["dispatch"]
    found = {row.bytes_per_chip / size: row for row in by_kind()["DeepEP dispatch"]}
    return {
        "took_more": f"{(found[1_024].measured - found[512].measured) * 1e6:.1f} µs",
        "latency": pretty(start_time(), "s", 3),
        "reached_rate": pretty(efficiency * beta, "byte/s", 3),
        "hop_least": f"{bare_hop() * 1e6:.1f}",
        "hop_near": f"{bare(link='InfiniBand')[0] * 1e6:.1f}",
        "hop_cards": f"{bare(link='InfiniBand')[-1] * 1e6:.1f}",
    }


# --- against services -------------------------------------------------------------------------------------------------


def box_experts() -> float:
    """Experts of a layer on each GPU, if one box of eight holds the layer."""
    known = RUNNING.symbols()
    return eq.experts_per_chip(experts=known["experts"], expert_parallel=chip("h200").scale_up.domain_chips)


def box_steps() -> dict[str, Parts]:
    """A step of H200s in boxes of eight that hold the shared expert everywhere: each box its own copy of the model, or
    as many boxes as at DeepSeek share each layer, with spare copies of popular experts.
    """
    return {"box": on_boxes(1), "boxes": on_boxes(deployment()["nodes"], deployment()["routed_experts_per_gpu"])}


def on_boxes(
    boxes: float,
    held: float | None = None,
    id: str = "h200",
    tokens: float = TOKENS,
    context: float | None = None,
) -> Parts:
    """A step where so many boxes share each layer, and a GPU holds so many routed experts of it, by default its share
    of all. Every copy crosses on its own.
    """
    known, part, shares = RUNNING.symbols(), chip(id), reached()
    held = held or box_experts() / boxes
    kv = tokens * (context or known["context"]) * known["kv_bytes_per_token"] / part.hbm_bytes_per_s
    load = box_weights(held) / part.hbm_bytes_per_s
    send = lambda link, leave: tokens * token_bytes() * leave / shares[link] / getattr(part, link).bytes_per_s
    compute = tokens * 2 * known["n_active"] / part.flops("fp8")
    wait, gpus = exchanges() * start_time(), part.scale_up.domain_chips
    sending = max(send("scale_up", (1 - 1 / gpus) / boxes), send("scale_out", 1 - 1 / boxes))
    return Parts(load, kv, compute, sending, wait)


def day() -> dict[str, float]:
    """A day of DeepSeek's service."""
    [found] = measurement("deepseek_day6_production").records()
    return found


def day_speed() -> float:
    """Tokens per second of a user on that day."""
    return (day()["low_speed_token_per_s"] + day()["high_speed_token_per_s"]) / 2


def day_users() -> int:
    """Users of a GPU that decodes on that day: its tokens per second divided by those of a user."""
    return round(day()["node_decode_token_per_s"] / day()["gpus_per_node"] / day_speed())


def deep_exchanges(gpus: int) -> float:
    """Time of that day's exchanges, s, in proportion to DeepEP's with 128 tokens on each of so many H800."""
    [row] = measurement("deepep_v1_low_latency").records(expert_parallel=gpus)
    return moe_layers() * (row["dispatch_us"] + row["combine_us"]) * factor("us") * day_users() / 128


def crowded() -> dict[str, str]:
    """That day's users: how many, and a step with them on boxes."""
    context, most = day()["context_tokens"], int(deployment()["nodes"])
    [unit] = measurement("sglang_large_ep_decode").records(system="DeepSeek production")
    then = lapped()
    gains = measurement("two_batch_overlap").records(phase="decode", setting="plain")
    gain = {row["tokens_per_gpu"]: row["low_gain"] for row in gains}
    [plain] = {f"{part.in_turn * 1e3:.0f}" for part in then.values()}
    travel = {f"travel_{count}": in_tenths(2 * part.half().exchanges) for count, part in then.items()}
    twice = {f"twice_{count}": in_tenths(2 * part.half().work) for count, part in then.items()}
    deep_step = lambda count, gpus: max(2 * then[count].half().work, deep_exchanges(gpus))
    return {
        **travel,
        **twice,
        "deep_128": in_tenths(deep_exchanges(128)),
        "plain_boxes": plain,
        "deep_gain": f"{1 - deep_step(most, 128) / deep_step(8, 64):.0%}",
        f"lapped_{most}": in_tenths(then[most].overlapped),
        "lap_more": f"{gain[FULL]:.1%}",
        "lap_less": f"{-gain[TOKENS]:.0%}",
        "users": str(day_users()),
        "day_box": f"{day()['node_decode_token_per_s']:,}",
        "day_step": f"{1e3 / day_speed():.0f} ms",
        "day_slow": str(day()["low_speed_token_per_s"]),
        "day_fast": str(day()["high_speed_token_per_s"]),
        "day_context": f"{context:,}",
        "day_batch": str(unit["batch_per_gpu"]),
    }


LAPPED = (4, 8, 18)  # boxes of the table


def held_on(boxes: int) -> float:
    """Routed experts of a layer on each GPU of so many boxes: as many as at DeepSeek on as many boxes."""
    unit = deployment()
    return unit["routed_experts_per_gpu"] if boxes == unit["nodes"] else box_experts() / boxes


def lapped() -> dict[int, Parts]:
    """A step of H800s under DeepSeek's load by the boxes that share each layer, if every copy crosses."""
    context = day()["context_tokens"]
    return {count: on_boxes(count, held_on(count), "h800", day_users(), context) for count in LAPPED}


def box_weights(held: float) -> float:
    """Bytes of weights on a GPU with so many routed experts of each layer and all that every GPU has."""
    return (held + 1) * moe_layers() * expert_bytes() + rest_bytes()


def deployment() -> dict[str, float]:
    """The unit in which DeepSeek's service decodes."""
    _, service = measurement("deepseek_v3_deployment_units").records(phase="decode")
    return service


def deployed() -> dict[str, str]:
    """How services spread their experts, and what limiting the nodes does."""
    report, service = measurement("deepseek_v3_deployment_units").records(phase="decode")
    free, limited = (simulation.nodes_hit(4_000, 256, 8, 8, limit).mean() for limit in (None, 4))
    [gains] = measurement("sglang_large_ep_gains").records()
    memory, alone = chip("h200").hbm_bytes, box_weights(box_experts())
    shared = box_weights(service["routed_experts_per_gpu"])
    return _boxes() | {
        "box_held": f"{box_experts():g}",
        "box_bytes": pretty(box_experts() * moe_layers() * expert_bytes(), "byte", 3),
        "h200_bandwidth": pretty(chip("h200").hbm_bytes_per_s, "byte/s", 2),
        "h800_memory": pretty(chip("h800").hbm_bytes, "byte", 2),
        "weights_box": pretty(alone, "byte", 2),
        "weights_boxes": pretty(shared, "byte", 2),
        "h200_memory": pretty(memory, "byte", 3),
        "service_room": significant((memory - shared) / (memory - alone), 2),
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
    """What a step on boxes loads and sends, on one, on two, and on more."""
    found = box_steps()
    one, pair = found["box"], on_boxes(2)
    alone, shared = on_boxes(1, id="h800"), on_boxes(2, id="h800")
    return {
        "loads_2": in_tenths(pair.work),
        "sends_2": in_tenths(pair.sending),
        "spread_2": in_tenths(pair.in_turn),
        **{
            f"{what}_{name}": in_tenths(value)
            for name, part in found.items()
            for what, value in {
                "load": part.weights + part.kv,
                "carry": part.sending,
                "took": part.in_turn,
            }.items()
        },
        "saved_pair": pretty(one.weights - pair.weights, "s", 2),
        "sending_pair": in_ms(pair.sending),
        "even_pair": f"{spread_pays(one.weights - pair.weights, pair.sending):.0f}",
        "even_pair_whole": f"{spread_pays(one.weights - pair.weights, pair.sending - one.sending):.0f}",
        "wait_box": in_tenths(one.latency),
        "even_h800": f"{spread_pays(alone.weights - shared.weights, shared.sending):.0f}",
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    counts = merge(
        placing(), layer(), timings(), filling(), running(), worked(), split(), spread_or_stop(), boundary(), rack()
    )
    against = merge(measured(), corrected(), deployed(), crowded(), bare_card(), crossing_once(), margins())
    return merge(counts, against)
