"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

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
SHORT_HOP = 1e-6  # s, a second hop as short as a store into another GPU's memory might be
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
        "idle": f"{known['chips'] - USED:g}",
    }


def layer() -> dict[str, str]:
    """The bytes and the time of one layer in the running case."""
    here = FP8_OUT | {"tokens_per_chip": TOKENS}
    return {
        "tokens": str(TOKENS),
        "layer_bytes": pretty(eq.ep_bytes(RUNNING, **here), "byte"),
        "layer_rack": pretty(eq.ep_time(RUNNING, **here), "s", 3),
        "layer_two": pretty(eq.ep_time(RUNNING, **here) * eq.slowdown_each(RUNNING, racks=2), "s", 2),
    }


def token_bytes() -> float:
    """Bytes that a token of the running model sends in a step, by DeepSeek's count of copies."""
    return eq.ep_bytes(RUNNING, tokens_per_chip=1, **FP8_OUT) * moe_layers()


def link_rates(id: str) -> tuple[float, float]:
    """Byte/s that a GPU's link must carry if the GPU computes at its peak, and those of its datasheet."""
    part = chip(id)
    here = FP8_OUT | {"routed_layers": moe_layers(), "flops": part.flops("fp8"), "chips": 1}
    return eq.link_needed(RUNNING, **here), part.scale_up.bytes_per_s


def running() -> dict[str, str]:
    """The running case: traffic against compute."""
    here, known = FP8_OUT | {"routed_layers": moe_layers()}, RUNNING.symbols()
    card = here | {"scale_up": known["scale_out"]}
    needed, has = link_rates("h800")
    half = token_bytes() / 2  # of the layers
    return {
        "half_bytes": pretty(half, "byte", 2),
        "hop_bytes": pretty(hop_bytes(), "byte", 3),
        "hop_fewer": significant(half / hop_bytes(), 2),
        "token_bytes": pretty(token_bytes(), "byte"),
        "moe_layers": str(moe_layers()),
        "link_needed": pretty(eq.link_needed(RUNNING, **here), "byte/s"),
        "keep_up": f"{reached()['scale_up'] / eq.comm_ratio(RUNNING, **here):.0%}",
        "token_rate": f"{significant(known['flops'] / known['chips'] / (2 * known['n_active']), 3)}",
        "scale_up": pretty(known["scale_up"], "byte/s"),
        "scale_out": pretty(known["scale_out"], "byte/s", 2),
        "ratio_out": significant(eq.comm_ratio(RUNNING, **card), 2),
        "h800_needed": pretty(needed, "byte/s"),
        "h800_link": pretty(has, "byte/s"),
    }


def hop_bytes() -> float:
    """Bytes of a token's vector between two stages of a pipeline, in BF16."""
    return 2 * RUNNING.symbols()["width"]


def card_rate() -> float:
    """Byte/s that DeepEP sends over a network card at least: among 256 GPUs in boxes of eight, latency included."""
    [row] = measurement("deepep_v1_low_latency").records(expert_parallel=256)
    leave = 1 - chip("h800").scale_up.domain_chips / row["expert_parallel"]
    return row["dispatch_GB_per_s"] * factor("GB/s") * leave


def bare_card() -> dict[str, str]:
    """The card's rate if its dispatch's latency is taken out, and what that changes."""
    [row] = measurement("deepep_v1_low_latency").records(expert_parallel=256)
    took, known = row["dispatch_us"] * factor("us"), RUNNING.symbols()
    rate = card_rate() * took / (took - start_time())
    shares = reached() | {"scale_out": rate / known["scale_out"]}
    one, two, once = on(1), on(2, shares=shares), on(2, once=True, shares=shares)
    half, near = ({**reached(), "scale_up": each / known["scale_up"]} for each in (HALF_RACK, EIGHTH))
    everywhere = (known["experts"] / known["chips"]) * moe_layers() * expert_bytes() / bandwidth()
    return {
        "card_took": f"{row['dispatch_us']:g}",
        "card_bare": pretty(rate, "byte/s", 2),
        "bare_two": f"{two.in_turn / one.in_turn:.2f}",
        "bare_tie": pretty((one.in_turn - once.in_turn) / exchanges(), "s", 2),
        "half_more": in_ms(on(1, shares=half).sending - on(1, shares=near).sending),
        "shared_saved": in_ms(everywhere / 2),
        "combine_1": f"{measurement('h200_deepep_ll_intranode').column('combine_us')[0]:.1f}",
    }


def reached() -> dict[str, float]:
    """Shares of both networks' rates that the worked example counts on, from measured rates in whole GB/s."""
    part, whole = chip("h200"), lambda rate: round(rate / factor("GB/s")) * factor("GB/s")
    up, out = part.scale_up.bytes_per_s, part.scale_out.bytes_per_s
    return {"scale_up": whole(dispatch_line()[1] * up) / up, "scale_out": whole(card_rate()) / out}


IDEAL = {"scale_up": 1.0, "scale_out": 1.0}  # the datasheet's rates
EIGHTH = 714 * factor("GB/s")  # the same among eight
HALF_RACK = 489 * factor("GB/s")  # of a GPU's NVLink, in a dispatch among 36 GB200s: DeepEP's document on Hybrid-EP
LAUNCHED = 361 * factor("GB/s")  # the same with its launch


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


def doublings() -> dict[int, Parts]:
    """A step of the running case by the GPUs that share each layer: doubled up to two racks, to which every copy
    crosses.
    """
    return {round(share * RUNNING.symbols()["chips"]): on(share) for share in SHARES}


def parts() -> dict[str, Parts]:
    """A step of the running case on one rack; on two to which every copy crosses, or each token once."""
    return {"one": on(1), "two": on(2), "once": on(2, once=True, hop=bare_hop())}


def on(
    racks: float, tokens: float = TOKENS, once: bool = False, hop: float = 0.0, shares: dict[str, float] | None = None
) -> Parts:
    """The step's parts on a GPU with so many sequences, when so many racks, or a part of one, share each layer's routed
    experts: of nine GPUs eight, and the ninth has the shared expert.

    Each rack has copies of the shared expert. A routed copy crosses on its own, and then of all that arrive at a GPU
    with routed experts one rack's share comes over NVLink and the rest over its card. Or each token crosses `once` to
    a rack and is passed on inside. Either way some GPU's NVLink carries as much as in one rack. Each exchange also
    waits for a second hop. Networks reach these shares of their rates.
    """
    known, here = RUNNING.symbols(), FP8_OUT | {"tokens_per_chip": tokens}
    held = eq.experts_per_chip(experts=known["experts"], expert_parallel=racks * USED)
    bandwidth, flops = (known[name] / known["chips"] for name in ("bandwidth", "flops"))
    away = known["copies"] * eq.leaving(racks=max(racks, 1))
    outside = eq.domains_visited(racks=racks, top_k=known["top_k"]) if once else away
    shares = shares or reached()
    sent = lambda copies, link: eq.ep_time(RUNNING, **here | {"copies": copies, "scale_up": known[link] * shares[link]})
    return Parts(
        weights=(held * moe_layers() * expert_bytes() + rest_bytes()) / bandwidth,
        kv=tokens * known["context"] * known["kv_bytes_per_token"] / bandwidth,
        compute=tokens * 2 * known["n_active"] / flops,
        sending=moe_layers() * max(sent(known["copies"], "scale_up"), sent(outside, "scale_out") if outside else 0),
        latency=2 * moe_layers() * start_time(),
        hop=2 * moe_layers() * hop,
    )


def break_even(once: bool, hop: float = 0.0) -> float:
    """Tokens per GPU at which a second rack saves as much loading as it adds time on the links, of which a second hop
    takes some in each exchange.
    """
    slower = on(2, 1, once).sending - on(1, 1).sending
    return (on(1).weights - on(2).weights - 2 * moe_layers() * hop) / slower


def bare(**link: str) -> list[float]:
    """Latencies of a bare message on such a link, s, shortest first."""
    rows = measurement("deepseek_isca25_link_latency").records(**link)
    return sorted(row["latency_us"] * factor("us") for row in rows)


def bare_hop() -> float:
    """Latency of a bare message inside a rack, where the second hop is, s; rounded as the page prints it."""
    return round(bare(link="NVLink")[0], 7)


def expert_time(part: Parts) -> float:
    """Time in which a GPU of the running case loads its routed experts, s."""
    return part.weights - rest_bytes() / bandwidth()


def bandwidth() -> float:
    """Byte/s that a GPU reads from its memory."""
    known = RUNNING.symbols()
    return known["bandwidth"] / known["chips"]


def in_ms(seconds: float) -> str:
    """A time in milliseconds, as the step's table prints it."""
    return f"{seconds * 1e3:.2f} ms"


def worked() -> dict[str, str]:
    """The step on one rack and on two, and where its times come from."""
    known, (one, two, once) = RUNNING.symbols(), parts().values()
    return {
        "context": RUNNING.tokens,
        "context_tokens": f"{known['context']:,.0f}",
        "expert_bytes": pretty(expert_bytes(), "byte", 4),
        "rest_bytes": pretty(rest_bytes(), "byte", 4),
        "rest_time": in_ms(one.weights - expert_time(one)),
        "kv_time": in_ms(one.kv),
        "other_time": in_ms(one.work - expert_time(one)),
        "experts_18": in_ms(expert_time(doublings()[18])),
        "step_nine": in_ms(doublings()[9].in_turn),
        "experts_one": in_ms(expert_time(one)),
        "experts_two": in_ms(expert_time(two)),
        "token_kv": pretty(known["kv_bytes_per_token"], "byte"),
        "active": f"{known['n_active'] / 1e9:.2f} billion",
        "bandwidth": pretty(bandwidth(), "byte/s", 1),
        "flops": pretty(known["flops"] / known["chips"], "FLOP/s", 1),
        "memory_one": in_ms(one.work),
        "memory_two": in_ms(two.work),
        "compute_one": in_ms(one.compute),
        "weights_again": in_ms(one.weights),
        "exchanges_one": in_ms(one.exchanges),
        "freed": pretty((one.weights - two.weights) * bandwidth(), "byte", 2),
        "rack_memory": pretty(chip(RUNNING.system).hbm_bytes, "byte", 3),
        "step_latency": in_ms(one.latency),
        "step_hop": in_ms(once.hop),
        "sending_one": in_ms(one.sending),
        "sending_two": in_ms(two.sending),
        "sending_once": in_ms(once.sending),
        "step_one": in_ms(one.in_turn),
        "user_rate": significant(1 / one.in_turn, 3),
        "step_two": in_ms(two.in_turn),
        "user_rate_two": significant(1 / two.in_turn, 3),
        "saved": in_ms(one.weights - two.weights),
        "every_added": pretty(two.sending - one.sending, "s", 2),
        "ceiling": f"{(one.weights - two.weights) / one.in_turn:.0%}",
        "wait_margin": f"{(doublings()[36].in_turn - one.in_turn) / exchanges() * 1e6:.0f} µs",
    }


def exchanges() -> int:
    """Exchanges of a step, dispatch and combine in each layer with experts."""
    return 2 * moe_layers()


def again() -> Parts:
    """The step on two racks with one crossing, if the second hop waits as long as a whole exchange."""
    return on(2, once=True, hop=start_time())


def spread_or_stop() -> dict[str, str]:
    """Up to where a second rack pays, and what overlap would do in one."""
    one, two, once = parts().values()
    ahead = one.weights - two.weights - (once.sending - one.sending)
    return {
        "once_added": in_ms(once.sending - one.sending),
        "hop_tie": pretty(ahead / exchanges(), "s", 2),
        "even_every": f"{break_even(False):.0f}",
        "even_hop": f"{break_even(True, bare_hop()):.0f}",
        "few": str(FEW),
        "few_gain": f"{1 - on(2, FEW, once=True, hop=bare_hop()).in_turn / on(1, FEW).in_turn:.0%}",
        "halves_full": f"{on(1, FULL).overlapped / on(1, FULL).in_turn:.2f}",
        "hop_limit": pretty((one.weights - two.weights) / (2 * moe_layers()), "s", 2),
        "halves_one": in_ms(one.overlapped),
        "halves_two": in_ms(once.overlapped),
    }


def boundary() -> dict[str, str]:
    """Leaving the rack."""
    known, ratio = RUNNING.symbols(), lambda id: chip(id).scale_up.bytes_per_s / chip(id).scale_out.bytes_per_s
    here = known["scale_up"] / known["scale_out"]
    shares = reached()
    left = here * shares["scale_up"] / shares["scale_out"]
    return {
        "far_4": f"{eq.domains_visited(racks=4, top_k=known['top_k']):.1f}",
        "slower_every_2": f"{eq.slowdown_each(RUNNING, racks=2):g}",
        "up_share": f"{shares['scale_up']:.0%}",
        "card_share": f"{shares['scale_out']:.0%}",
        "up_left": pretty(known["scale_up"] * shares["scale_up"], "byte/s", 3),
        "card_left": pretty(known["scale_out"] * shares["scale_out"], "byte/s", 2),
        "ratio_left": significant(left, 2),
        "left_every": significant(left * eq.leaving(racks=2), 2),
        "slower": f"{eq.slowdown(racks=2, scale_up=LECTURE_RATIO, scale_out=1):g}",
        "h100_ratio": f"{ratio('h100-sxm'):g}",
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
    }
    ideal = on(1, shares=IDEAL).in_turn
    half = reached() | {"scale_up": HALF_RACK / RUNNING.symbols()["scale_up"]}
    half_one = on(1, shares=half).in_turn
    found = parts()
    one = found["one"].in_turn
    ratios = {
        f"{change}_{name}": made(found[name]).in_turn / made(found["one"]).in_turn
        for change, made in changes.items()
        for name in ("two", "once")
    } | {
        "ideal_two": on(2, shares=IDEAL).in_turn / ideal,
        "ideal_once": on(2, once=True, hop=bare_hop(), shares=IDEAL).in_turn / ideal,
        "half_two": on(2, shares=half).in_turn / half_one,
        "half_once": on(2, once=True, hop=bare_hop(), shares=half).in_turn / half_one,
        "full_two": on(2, FULL).in_turn / on(1, FULL).in_turn,
        "full_once": on(2, FULL, once=True, hop=bare_hop()).in_turn / on(1, FULL).in_turn,
        "shared_two": on(2, TOKENS / 2).in_turn / on(1, TOKENS / 2).in_turn,
        "shared_once": on(2, TOKENS / 2, once=True, hop=bare_hop()).in_turn / on(1, TOKENS / 2).in_turn,
    }
    told = {f"as_{name}": f"{value:.2f}" for name, value in ratios.items()}
    slow, short = changes["memory"], on(2, once=True, hop=SHORT_HOP)
    launched = reached() | {"scale_up": LAUNCHED / RUNNING.symbols()["scale_up"]}
    quick = on(2, once=True, hop=SHORT_HOP, shares=launched).in_turn / on(1, shares=launched).in_turn
    return told | {
        "memory_shorter": f"{1 - slow(short).in_turn / slow(found['one']).in_turn:.0%}",
        "launch_shorter": f"{1 - quick:.0%}",
        "once_shorter": f"{1 - on(2, once=True, hop=SHORT_HOP).in_turn / one:.0%}",
        "full": str(FULL),
        "memory_share": f"{SLOWER:.0%}",
    }


def measured() -> dict[str, str]:
    """Latency and rate of measured dispatches, and the tokens that wait as long as they travel."""
    beta, (latency, efficiency) = chip("h200").scale_up.bytes_per_s, dispatch_line()
    known, size = RUNNING.symbols(), RUNNING.symbols()["top_k"] * COPY["dispatch"]
    half = eq.half_message(start_time=latency, scale_up=efficiency * known["scale_up"], chips=known["chips"])
    found = {row.bytes_per_chip / size: row for row in by_kind()["DeepEP dispatch"]}
    us = lambda seconds: f"{seconds * 1e6:.1f}"
    return {
        "took_more": f"{us(found[1_024].measured - found[512].measured)} µs",
        "lone_bytes": f"{us(size * 7 / 8 / (efficiency * beta))} µs",
        "latency": pretty(start_time(), "s", 3),
        "h200_rate": pretty(beta, "byte/s"),
        "reached_rate": pretty(efficiency * beta, "byte/s", 3),
        "copy_bytes": f"{COPY['dispatch']:,} bytes",
        "half_rack": significant(half / known["copies"] / COPY["dispatch"], 2),
        "hop_least": f"{bare_hop() * 1e6:.1f}",
        "hop_near": f"{bare(link='InfiniBand')[0] * 1e6:.1f}",
        "hop_cards": f"{bare(link='InfiniBand')[-1] * 1e6:.1f}",
    }


# --- against services -------------------------------------------------------------------------------------------------


def routed_bytes() -> float:
    """Bytes that a token sends where every GPU keeps the shared expert."""
    known = RUNNING.symbols()
    return token_bytes() * known["top_k"] / known["copies"]


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
    hop: float | None = None,
) -> Parts:
    """A step where so many boxes share each layer, and a GPU holds so many routed experts of it, by default its share
    of all. Over cards every copy crosses on its own; or, if a second hop is given, each token crosses once to a box and
    is passed on inside, which takes the links inside as long as one box's traffic.
    """
    known, part, shares = RUNNING.symbols(), chip(id), reached()
    held = held or box_experts() / boxes
    kv = tokens * (context or known["context"]) * known["kv_bytes_per_token"] / part.hbm_bytes_per_s
    load = box_weights(held) / part.hbm_bytes_per_s
    send = lambda link, leave: tokens * routed_bytes() * leave / shares[link] / getattr(part, link).bytes_per_s
    compute = tokens * 2 * known["n_active"] / part.flops("fp8")
    wait, gpus = exchanges() * start_time(), part.scale_up.domain_chips
    if hop is None:
        inside, outside = (1 - 1 / gpus) / boxes, 1 - 1 / boxes
    else:
        inside, outside = 1 - 1 / gpus, eq.domains_visited(racks=boxes, top_k=known["top_k"]) / known["top_k"]
    sending = max(send("scale_up", inside), send("scale_out", outside))
    return Parts(load, kv, compute, sending, wait, exchanges() * (hop or 0))


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


def crowded() -> dict[str, str]:
    """That day's users: how many, and a step with them on boxes of H200s and on racks."""
    context, held = day()["context_tokens"], deployment()["routed_experts_per_gpu"]
    [unit] = measurement("sglang_large_ep_decode").records(system="DeepSeek production")
    most = int(deployment()["nodes"])
    here = lambda boxes, each: on_boxes(boxes, each, tokens=day_users())  # H200s, contexts of the running case
    then = lambda boxes, each: on_boxes(boxes, each, tokens=day_users(), context=context)
    gains = measurement("two_batch_overlap").records(phase="decode", setting="plain")
    gain = {row["tokens_per_gpu"]: row["low_gain"] for row in gains}
    return {
        "day_one": in_whole_ms(here(1, box_experts()).in_turn),
        "day_many": in_whole_ms(here(most, held).in_turn),
        "plain_h200_1": in_whole_ms(then(1, box_experts()).in_turn),
        "lapped_h200_4": in_whole_ms(then(4, box_experts() / 4).overlapped),
        f"lapped_h200_{most}": in_whole_ms(then(most, held).overlapped),
        "lap_more": f"{gain[FULL]:.1%}",
        "lap_less": f"{-gain[TOKENS]:.0%}",
        "overlap_gain": overlap_gain(RUNNING.symbols()["context"]),
        "overlap_gain_long": overlap_gain(context),
        "users": str(day_users()),
        "day_box": f"{day()['node_decode_token_per_s']:,}",
        "day_step": f"{in_whole_ms(1 / day_speed())} ms",
        "day_slow": str(day()["low_speed_token_per_s"]),
        "day_fast": str(day()["high_speed_token_per_s"]),
        "day_context": f"{context:,}",
        "day_batch": str(unit["batch_per_gpu"]),
    }


def in_whole_ms(seconds: float) -> str:
    """A time in whole milliseconds, without its unit."""
    return f"{seconds * 1e3:.0f}"


def overlap_gain(context: float) -> str:
    """How much shorter a step with that day's users, of such contexts, is on two racks with one crossing and perfect
    overlap than on one, with or without it.
    """
    longer = lambda part: part._replace(kv=part.kv * context / RUNNING.symbols()["context"])
    one, once = longer(on(1, day_users())), longer(on(2, day_users(), once=True, hop=bare_hop()))
    return f"{1 - once.overlapped / min(one.in_turn, one.overlapped):.0%}"


def overlap_most() -> dict[str, str]:
    """The same with a second hop as short as may be: the largest gain, at how many tokens, and from where on it is a
    loss.
    """
    ratios = {}
    for tokens in range(1, FULL):
        one, once = on(1, tokens), on(2, tokens, once=True, hop=SHORT_HOP)
        ratios[tokens] = min(once.in_turn, once.overlapped) / min(one.in_turn, one.overlapped)
    best = min(ratios, key=lambda tokens: ratios[tokens])
    end = max(tokens for tokens, ratio in ratios.items() if ratio < 1)
    tens = lambda tokens: str(round(tokens, -1))
    return {"overlap_most": f"{1 - ratios[best]:.0%}", "overlap_at": tens(best), "overlap_end": tens(end)}


def box_weights(held: float) -> float:
    """Bytes of weights on a GPU with so many routed experts of each layer and all that every GPU has."""
    return (held + 1) * moe_layers() * expert_bytes() + rest_bytes()


def box_even(waits: float = 1.0, few: Parts | None = None) -> float:
    """Tokens per GPU below which a step on many boxes is shorter than on one or a `few`, if an exchange over cards
    waits so many times as long as one in a box.
    """
    one, many = box_steps().values()
    few = few or one
    later = waits * many.latency - few.latency
    return TOKENS * (few.weights - many.weights - later) / (many.sending - few.sending)


SPREAD = (2, 4)  # boxes, between one and as many as at DeepSeek


def box_doublings() -> dict[int, Parts]:
    """A step of boxes of H200s by the GPUs that share each layer."""
    steps, gpus = box_steps(), chip("h200").scale_up.domain_chips
    between = {count * gpus: on_boxes(count) for count in SPREAD}
    return {gpus: steps["box"]} | between | {int(deployment()["gpus"]): steps["boxes"]}


def box_expert_time(part: Parts) -> float:
    """Time in which a GPU of these boxes loads its routed experts, s."""
    return part.weights - box_weights(0) / chip("h200").hbm_bytes_per_s


def once_boxes() -> dict[int, Parts]:
    """A step of a few boxes of H200s, and of as many as at DeepSeek, with one crossing and a second hop."""
    most = deployment()
    counts = {SPREAD[-1]: None, int(most["nodes"]): most["routed_experts_per_gpu"]}
    return {count: on_boxes(count, held, hop=bare_hop()) for count, held in counts.items()}


def deployment() -> dict[str, float]:
    """The unit in which DeepSeek's service decodes."""
    _, service = measurement("deepseek_v3_deployment_units").records(phase="decode")
    return service


def deployed() -> dict[str, str]:
    """How services spread their experts, and what limiting the nodes does."""
    report, service = measurement("deepseek_v3_deployment_units").records(phase="decode")
    free, limited = (simulation.nodes_hit(4_000, 256, 8, 8, limit).mean() for limit in (None, 4))
    [gains] = measurement("sglang_large_ep_gains").records()
    [wide] = measurement("sglang_large_ep_decode").records(system="SGLang")
    memory, alone = chip("h200").hbm_bytes, box_weights(box_experts())
    shared = box_weights(service["routed_experts_per_gpu"])
    spread = {
        f"{what}_{count}": f"{value * 1e3:.1f}"
        for count, part in ((count, on_boxes(count)) for count in SPREAD)
        for what, value in {"loads": part.work, "sends": part.sending, "spread": part.in_turn}.items()
    }
    spread |= {f"once_{count}": f"{step.in_turn * 1e3:.1f}" for count, step in once_boxes().items()}
    found = box_steps()
    one, pair = found["box"], on_boxes(2)
    boxes = {
        f"{what}_{name}": f"{value * 1e3:.1f}"
        for name, part in found.items()
        for what, value in {
            "load": part.weights + part.kv,
            "carry": part.sending,
            "took": part.in_turn,
        }.items()
    }
    return {
        "box_experts": f"{box_experts():g}",
        "box_bytes": pretty(box_experts() * moe_layers() * expert_bytes(), "byte", 3),
        "h200_bandwidth": pretty(chip("h200").hbm_bytes_per_s, "byte/s", 2),
        "h100_memory": pretty(chip("h100-sxm").hbm_bytes, "byte", 2),
        "h800_memory": pretty(chip("h800").hbm_bytes, "byte", 2),
        **boxes,
        "saved_pair": pretty(one.weights - pair.weights, "s", 2),
        "ceiling_pair": f"{(one.weights - pair.weights) / one.in_turn:.0%}",
        "even_pair": f"{TOKENS * (one.weights - pair.weights) / (pair.sending - one.sending):.0f}",
        "added_pair": pretty(pair.sending - one.sending, "s", 2),
        "box_even_four": f"{box_even(few=on_boxes(4)):.0f}",
        "wait_box": f"{found['box'].latency * 1e3:.1f}",
        "box_even": f"{box_even():.0f}",
        **spread,
        "sglang_tokens": str(wide["batch_per_gpu"]),
        "weights_box": pretty(alone, "byte", 2),
        "weights_boxes": pretty(shared, "byte", 2),
        "h200_memory": pretty(memory, "byte", 3),
        "service_room": significant((memory - shared) / (memory - alone), 2),
        "box_even_waits": f"{box_even(2):.0f}",
        "spare_experts": str(service["redundant_experts"]),
        "balance": significant(gains["decode_balance_speedup"], 2),
        "report_gpus": str(report["gpus"]),
        "report_nodes": str(report["nodes"]),
        "service_gpus": str(service["gpus"]),
        "service_nodes": str(service["nodes"]),
        "nodes_free": significant(float(free), 2),
        "nodes_limited": significant(float(limited), 2),
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    counts = merge(placing(), layer(), running(), worked(), spread_or_stop(), boundary(), rack())
    against = merge(measured(), corrected(), deployed(), crowded(), bare_card(), overlap_most())
    return merge(counts, against)
