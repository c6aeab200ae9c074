"""What the lesson computes of steps and exchanges: on the running case, on boxes, in services; numbers.py words it."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from blackboard.catalogue import chip, measurement, model
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.racks import equations as eq
from blackboard.lessons.racks.equations import FP8_OUT
from blackboard.units import factor

USED = 64  # of the rack's GPUs, for divisibility: lecture 0:34:20
TOKENS = 32  # of a GPU in a step of the running case: its sequences, as in DeepSeek's example
IDLE = 8  # of a GPU with which an exchange nearly only waits: with fewer it takes no less
FULL = 256  # of a GPU in a large batch
COPY = {"dispatch": 7_408, "combine": 14_336}  # bytes of one copy in DeepEP: FP8 with its scales, BF16


def moe_layers() -> int:
    """Routed layers of the running model: its first layers are dense."""
    return model(RUNNING.model).moe.layers


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


def card_row() -> dict[str, float]:
    """DeepEP's exchanges among 256 GPUs in boxes of eight."""
    [row] = measurement("deepep_v1_low_latency").records(expert_parallel=256)
    return row


def card_told() -> float:
    """Byte/s that leave over a network card in DeepEP's dispatch, its wait included."""
    leave = 1 - chip("h800").scale_up.domain_chips / card_row()["expert_parallel"]
    return card_row()["dispatch_GB_per_s"] * factor("GB/s") * leave


def card_rate() -> float:
    """The same once a wait as long as that of NVIDIA's dispatch is over: a step counts its waits apart."""
    took = card_row()["dispatch_us"]
    return card_told() * took / (took - timed_row(USED, IDLE)["dispatch_us"])


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


def larger_step() -> float:
    """A step of a rack twice as large with overlap and long contexts, s, if its exchanges took no longer."""
    one, two = (on(racks, context=day()["context_tokens"]) for racks in (1, 2))
    return one._replace(weights=two.weights).overlapped


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


def quick_wait() -> float:
    """Time of DeepEP's dispatch and combine of a single token on each of eight H200, s."""
    first = measurement("h200_deepep_ll_intranode").records()[0]
    return (first["dispatch_us"] + first["combine_us"]) * factor("us")


# --- against services -------------------------------------------------------------------------------------------------


def box_experts() -> float:
    """Experts of a layer on each GPU, if one box of eight holds the layer."""
    known = RUNNING.symbols()
    return eq.experts_per_chip(experts=known["experts"], expert_parallel=chip("h200").scale_up.domain_chips)


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
