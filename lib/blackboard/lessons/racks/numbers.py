"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from typing import NamedTuple

from blackboard.catalogue import System, chip, chips, measurement, model, system
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.racks import equations as eq
from blackboard.lessons.racks import simulation
from blackboard.lessons.racks.equations import FP8_OUT
from blackboard.units import factor, pretty, significant

USED = 64  # of the rack's GPUs, for divisibility: lecture 0:34:20
LECTURE_RATIO = 8  # scale-up over scale-out, 0:38:47
# DeepSeek's example: 32 tokens, 8 routed and 1 shared expert, a width rounded to 7,000, all 61 layers, two
# micro-batches
EXAMPLE = FP8_OUT | {"tokens_per_chip": 32, "copies": 9, "width": 7_000}
WHOLE = {"layers": 61, "micro_batches": 2}
INFINIBAND, NVLINK = 50e9, 900e9  # byte/s per chip and direction
WIRING = {"links": 18, "pairs": 4}  # NVLink 5 of one chip; a link has two pairs in each direction
BATCH = 2_000  # the lecture's
COPY = {"dispatch": 7_408, "combine": 14_336}  # bytes of one copy in DeepEP: FP8 with its scales, BF16


def moe_layers() -> int:
    """Routed layers of the running model: its first layers are dense."""
    return model(RUNNING.model).moe.layers


def placing() -> dict[str, str]:
    """Experts on chips, and how many chips a token's experts are on."""
    known = RUNNING.symbols()
    sizes = {name: known[name] for name in ("experts", "top_k")}
    hit = eq.distinct_chips(expert_parallel=USED, **sizes)
    exact = float(
        sum(
            n * chance
            for n, chance in enumerate(simulation.places_exactly(int(known["experts"]), USED, int(known["top_k"])))
        )
    )
    return {
        "experts": f"{known['experts']:g}",
        "top_k": f"{known['top_k']:g}",
        "copies": f"{known['copies']:g}",
        "each": f"{eq.experts_per_chip(experts=known['experts'], expert_parallel=USED):g}",
        "used": str(USED),
        "idle": f"{known['chips'] - USED:g}",
        "all_gpus": significant(USED / hit, 2),
        "hit": significant(hit, 3),
        "hit_exact": significant(exact, 3),
    }


def example() -> dict[str, str]:
    """DeepSeek's own arithmetic, on InfiniBand and on the rack's links."""
    one, whole = (
        (lambda rate: eq.ep_time(scale_up=rate, **EXAMPLE)),
        (lambda rate: eq.comm_time(scale_up=rate, **EXAMPLE, **WHOLE)),
    )
    return {
        "example_bytes": pretty(eq.ep_bytes(**EXAMPLE), "byte"),
        "ib_us": f"{one(INFINIBAND) * 1e6:.2f} µs",
        "ib_step": f"{whole(INFINIBAND) * 1e3:.2f} ms",
        "ib_rate": f"{1 / whole(INFINIBAND):.0f}",
        "nv_rate": f"{1 / whole(NVLINK):,.0f}",
        "faster": f"{NVLINK / INFINIBAND:g}",
    }


def token_bytes() -> float:
    """Bytes that a token of the running model sends in a step, by DeepSeek's count of copies."""
    return eq.ep_bytes(RUNNING, tokens_per_chip=1, **FP8_OUT) * moe_layers()


def ratio_up() -> float:
    """The experts' traffic over compute, in the rack and in FP8."""
    return eq.comm_ratio(RUNNING, routed_layers=moe_layers(), **FP8_OUT)


def running() -> dict[str, str]:
    """The running case: traffic against compute, and what its links would have to do."""
    here, known = FP8_OUT | {"routed_layers": moe_layers()}, RUNNING.symbols()
    card = here | {"scale_up": known["scale_out"]}
    same = step.weight_time(RUNNING) * known["scale_out"] / token_bytes()  # tokens per chip
    return {
        "token_bytes": pretty(token_bytes(), "byte"),
        "moe_layers": str(moe_layers()),
        "link_needed": pretty(eq.link_needed(RUNNING, **here), "byte/s"),
        "scale_up": pretty(known["scale_up"], "byte/s"),
        "scale_out": pretty(known["scale_out"], "byte/s", 2),
        "ratio_up": significant(ratio_up(), 2),
        "ratio_out": significant(eq.comm_ratio(RUNNING, **card), 2),
        "idle_out": f"{1 - 1 / eq.comm_ratio(RUNNING, **card):.0%}",
        "card_each": significant(same, 1),
        "card_batch": significant(same * known["chips"], 2),
        "ratio_fp4": significant(eq.comm_ratio(RUNNING, **here, flops=known["flops"] * 2), 2),
    }


def start_time() -> float:
    """Latency of an exchange, s: DeepEP's smallest dispatch on eight H200."""
    return measurement("h200_deepep_ll_intranode").column("dispatch_us")[0] * factor("us")


class Parts(NamedTuple):
    """Times of a step's parts on one machine, s; the latency is that of all its exchanges."""

    weights: float
    kv: float
    compute: float
    sending: float
    latency: float

    @property
    def work(self) -> float:
        """Memory traffic and compute at the same time: the longer one."""
        return max(self.weights + self.kv, self.compute)

    @property
    def exchanges(self) -> float:
        """Latency, then bytes."""
        return self.latency + self.sending

    def half(self) -> Parts:
        """Those of half of the batch: it loads all weights and pays every latency."""
        return Parts(self.weights, self.kv / 2, self.compute / 2, self.sending / 2, self.latency)

    def layer(self) -> Parts:
        """Those of a layer with experts, which all have an even share."""
        return Parts._make(part / moe_layers() for part in self)

    @property
    def in_turn(self) -> float:
        """Work and exchanges one after the other."""
        return self.work + self.exchanges

    @property
    def overlapped(self) -> float:
        """Two halves of the batch, each working while the other is on the links."""
        return 2 * max(self.half().work, self.half().exchanges)


def parts() -> dict[str, Parts]:
    """A step of the running model on the rack, and on as many GPUs in boxes of eight."""
    rack, box = system(RUNNING.system), system("h200-8")
    boxes = rack.chips / box.chips
    sent = FP8_OUT | {"layers": moe_layers(), "micro_batches": 1, "tokens_per_chip": BATCH / rack.chips}
    outside = eq.comm_time(RUNNING, **sent | {"scale_up": box.chip.scale_out.bytes_per_s})
    return {
        "rack": on(rack, 1, eq.comm_time(RUNNING, **sent)),
        "box": on(box, boxes, eq.leaving(racks=boxes) * outside),
    }


def on(machine: System, count: float, sending: float) -> Parts:
    """The step's parts on a number of like machines that share it."""
    net, here = model(RUNNING.model), {"batch": BATCH, "context": RUNNING.symbols()["context"]}
    time = lambda formula: formula(net, machine, **{name: here[name] for name in here if name in formula.free}) / count
    weights, kv, compute = map(time, (step.weight_time, step.kv_time, step.compute_time))
    return Parts(weights, kv, compute, sending, latency=2 * moe_layers() * start_time())


def worked() -> dict[str, str]:
    """The step in words: both machines, in turn and with two halves that overlap."""
    box, known, found = system("h200-8"), RUNNING.symbols(), parts()
    ms = lambda seconds, digits=2: f"{seconds * 1e3:.{digits}f} ms"
    half, rack, boxes = found["rack"].half(), found["rack"], found["box"]
    return {
        "batch": f"{BATCH:,}",
        "context": RUNNING.tokens,
        "context_tokens": f"{known['context']:,.0f}",
        "tokens_per_chip": significant(BATCH / known["chips"], 3),
        "weight_bytes": pretty(known["n_total"] * known["bytes_per_param"], "byte"),
        "token_kv": pretty(known["kv_bytes_per_token"], "byte"),
        "active": f"{known['n_active'] / 1e9:.2f} billion",
        "load_rack": pretty(known["bandwidth"] / known["chips"], "byte/s", 1),
        "flops_rack": pretty(known["flops"] / known["chips"], "FLOP/s", 1),
        "load_box": pretty(box.chip.bandwidth, "byte/s", 2),
        "flops_box": pretty(box.chip.flops("fp8"), "FLOP/s", 3),
        "floor": ms(step.latency_floor(RUNNING), 3),
        "step_batch": ms(rack.weights + rack.kv),
        "memory_box": ms(boxes.weights + boxes.kv),
        "compute_rack": ms(rack.compute),
        "compute_box": ms(boxes.compute),
        "comm_batch": ms(rack.sending),
        "comm_box": ms(boxes.sending),
        "step_latency": ms(rack.latency),
        "exchange_rack": ms(rack.exchanges),
        "exchange_box": ms(boxes.exchanges),
        "in_turn_rack": ms(rack.in_turn),
        "in_turn_box": ms(boxes.in_turn),
        "halves_rack": ms(rack.overlapped),
        "halves_box": ms(boxes.overlapped),
        "half_chain": ms(half.in_turn),
    }


def boundary() -> dict[str, str]:
    """Leaving the rack."""
    slow = lambda racks, ratio: eq.slowdown(racks=racks, scale_up=ratio, scale_out=1)
    ratio = lambda id: chip(id).scale_up.bytes_per_s / chip(id).scale_out.bytes_per_s
    known = RUNNING.symbols()
    here = known["scale_up"] / known["scale_out"]
    fixed = lambda racks: eq.fixed_slowdown(racks=racks, scale_up=here, scale_out=1)
    spread = {
        f"{name}_{racks}": value
        for racks in (2, 4, 8)
        for name, value in {
            "leaves": f"{100 * eq.leaving(racks=racks):g}%",
            "slower_18": f"{slow(racks, here):g}",
            "fixed_18": f"{round(fixed(racks), 2):g}",
            "free": f"{round(eq.ratio_hurts(racks=racks), 2):g}",
            "fixed_free": f"{round(racks * eq.ratio_hurts(racks=racks), 2):g}",
        }.items()
    }
    spread["slower_18"] = spread.pop("slower_18_2")
    return spread | {
        "fixed_18_even": str(next(racks for racks in range(2, 99) if fixed(racks) <= 1)),
        "slower": f"{slow(2, LECTURE_RATIO):g}",
        "h100_ratio": f"{ratio('h100-sxm'):g}",
        "gb200_ratio": f"{here:g}",
        "h800_ratio": f"{ratio('h800'):g}",
        "h800_rate": pretty(chip("h800").scale_up.bytes_per_s, "byte/s"),
    }


def rack() -> dict[str, str]:
    """The rack itself, and how scale-up domains grew."""
    power, kilowatt = chip("gb200-nvl72").power_w, lambda watts: f"{significant(watts / 1e3, 2, exact=True)} kW"
    [built] = measurement("gb200_rack").records()
    count = int(RUNNING.symbols()["chips"])
    ultra = chip("rubin-ultra-kyber").scale_up.domain_chips
    pods = max((row for row in chips() if row.confirmed), key=lambda row: row.scale_up.domain_chips)
    return {
        "chips_power": kilowatt(eq.rack_power(chips=count, chip_power=power, other_power=0)),
        "rack_power": kilowatt(built["power_W"]),
        "cables": f"{eq.cables(chips=count, **WIRING):,.0f}",
        "cables_told": f"{built['cables']:,}",
        "rack_mass": f"{built['mass_kg']:,} kg",
        "copper": f"{built['copper_m'] / 1e3:.1f} km",
        "ultra": str(ultra),
        "ultra_dies": str(4 * ultra),
        "blackwell_dies": str(2 * count),
        "hopper": str(chip("h100-sxm").scale_up.domain_chips),
        "pod": f"{pods.scale_up.domain_chips:,}",
        "pod_name": pods.name,
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


def measured() -> dict[str, str]:
    """How far measured exchanges lie above the formula, and what latency and efficiency explain."""
    rows = measured_exchanges()
    names = list(dict.fromkeys(row.name for row in rows))
    of = {name: [row for row in rows if row.name == name] for name in names}
    inner = [row for name in names for row in of[name][1:-2]]  # the rows that fixed neither latency nor efficiency
    off = [row.modelled / row.measured - 1 for row in inner]
    beta, short = chip("h200").scale_up.bytes_per_s, [of[name][0].measured for name in names]
    latency, efficiency = line([(row.bytes_per_chip, row.measured) for row in of["DeepEP dispatch"]], 7 / 8, beta)
    half = eq.half_message(start_time=latency, scale_up=efficiency * beta, chips=8)
    least = min(r.measured / r.ideal for r in rows)
    exchanges = 2 * moe_layers()
    latencies = measurement("deepseek_isca25_link_latency").column("latency_us")
    return {
        "above_least": significant(least, 3),
        "ratio_reached": significant(least * ratio_up(), 2),
        "latency": pretty(start_time(), "s", 3),
        "line_error": f"{100 * sum(map(abs, off)) / len(off):.0f}%",
        "line_worst": f"{100 * max(map(abs, off)):.0f}%",
        "h200_rate": pretty(beta, "byte/s"),
        "reached_rate": pretty(efficiency * beta, "byte/s", 3),
        "short_range": f"{min(short) * 1e6:.1f} to {max(short) * 1e6:.1f} µs",
        "waits_range": f"{exchanges * min(short) * 1e3:.2f} to {exchanges * max(short) * 1e3:.2f} ms",
        "half_message": pretty(half, "byte", 2),
        "half_tokens": f"{half / 8 / COPY['dispatch']:.0f}",
        "hop_least": f"{min(latencies):g}",
        "hop_most": f"{max(latencies):g}",
    }


SERVED = {"deepseek": "H800", "vllm": "H200"}  # the names of the rows of decode_per_gpu by their GPU


def served() -> dict[str, str]:
    """Tokens per second and GPU: what a link lets through, and what was measured over it."""
    known, rate = RUNNING.symbols(), lambda value: f"{significant(value, 3)}"
    through = {name: known[name] / token_bytes() for name in ("scale_out", "scale_up")}
    real = measurement("decode_per_gpu").records()
    [sglang] = measurement("sglang_large_ep_decode").records(system="SGLang")
    [vllm] = measurement("vllm_wide_ep").records(chip="GB200", phase="decode")
    [gains] = measurement("sglang_large_ep_gains").records()
    return {
        "card_through": rate(through["scale_out"]),
        "link_through": rate(through["scale_up"]),
        "served_rack": f"{vllm['throughput_token_per_GPU_per_s']:,}",
        "served_sglang": rate(sglang["node_token_per_s"] / 8),
        "balance": significant(gains["decode_balance_speedup"], 2),
    } | {
        f"served_{name}": f"{row['throughput_token_per_GPU_per_s']:,}"
        for name, where in SERVED.items()
        for row in real
        if row["chips"] == where
    }


def deployed() -> dict[str, str]:
    """How DeepSeek spreads its experts, and what limiting the nodes does."""
    report, service = measurement("deepseek_v3_deployment_units").records(phase="decode")
    free, limited = (simulation.nodes_hit(4_000, 256, 8, 8, limit).mean() for limit in (None, 4))
    return {
        "report_gpus": str(report["gpus"]),
        "report_nodes": str(report["nodes"]),
        "service_gpus": str(service["gpus"]),
        "service_nodes": str(service["nodes"]),
        "nodes_free": significant(float(free), 2),
        "nodes_limited": significant(float(limited), 2),
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    return placing() | example() | running() | worked() | boundary() | rack() | measured() | served() | deployed()
