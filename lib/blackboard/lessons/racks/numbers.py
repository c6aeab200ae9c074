"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from typing import NamedTuple

from blackboard.catalogue import chip, chips, measurement, model, system
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
        "chips": f"{known['chips']:g}",
        "each": f"{eq.experts_per_chip(experts=known['experts'], expert_parallel=USED):g}",
        "used": str(USED),
        "idle": f"{known['chips'] - USED:g}",
        "broadcast": f"{eq.broadcast_waste(**sizes):g}",
        "hit": significant(eq.distinct_chips(expert_parallel=USED, **sizes), 3),
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


def running() -> dict[str, str]:
    """The running case: traffic against compute, and what its links would have to do."""
    here = FP8_OUT | {"layers": moe_layers()}
    known = RUNNING.symbols()
    token = eq.ep_bytes(RUNNING, tokens_per_chip=1, **FP8_OUT) * moe_layers()
    card = here | {"scale_up": known["scale_out"]}
    same = step.weight_time(RUNNING) / eq.comm_time(RUNNING, tokens_per_chip=1, micro_batches=1, **card)
    return {
        "token_bytes": pretty(token, "byte"),
        "moe_layers": str(moe_layers()),
        "link_needed": pretty(eq.link_needed(RUNNING, **here), "byte/s"),
        "scale_up": pretty(known["scale_up"], "byte/s"),
        "scale_out": pretty(known["scale_out"], "byte/s", 2),
        "ratio_up": significant(eq.comm_ratio(RUNNING, **here), 2),
        "ratio_out": significant(eq.comm_ratio(RUNNING, **card), 2),
        "idle_out": f"{1 - 1 / eq.comm_ratio(RUNNING, **card):.0%}",
        "card_each": significant(same, 1),
        "card_batch": significant(same * known["chips"], 2),
        "ratio_fp4": significant(eq.comm_ratio(RUNNING, **here, flops=known["flops"] * 2), 2),
    }


def start_time() -> float:
    """Latency of an exchange, s: DeepEP's smallest dispatch on eight H200."""
    return measurement("h200_deepep_ll_intranode").column("dispatch_us")[0] * factor("us")


def worked() -> dict[str, str]:
    """One step of the running model on the rack, and on as many GPUs in boxes of eight."""
    net, box, known = model(RUNNING.model), system("h200-8"), RUNNING.symbols()
    boxes = known["chips"] / box.chips
    sent = FP8_OUT | {"layers": moe_layers(), "micro_batches": 1, "tokens_per_chip": BATCH / known["chips"]}
    card = box.chip.scale_out.bytes_per_s
    here = {"batch": BATCH, "context": known["context"]}
    inside = eq.comm_time(RUNNING, **sent)
    outside = eq.leaving(racks=boxes) * eq.comm_time(RUNNING, **sent | {"scale_up": card})
    latency, ms = 2 * moe_layers() * start_time(), lambda seconds, digits=2: f"{seconds * 1e3:.{digits}f} ms"
    return {
        "batch": f"{BATCH:,}",
        "context": RUNNING.tokens,
        "tokens_per_chip": significant(BATCH / known["chips"], 3),
        "weight_bytes": pretty(known["n_total"] * known["bytes_per_param"], "byte"),
        "sequence_kv": pretty(known["context"] * known["kv_bytes_per_token"], "byte"),
        "active": f"{known['n_active'] / 1e9:.2f} billion",
        "load_rack": pretty(known["bandwidth"] / known["chips"], "byte/s", 1),
        "flops_rack": pretty(known["flops"] / known["chips"], "FLOP/s", 1),
        "load_box": pretty(box.chip.bandwidth, "byte/s", 2),
        "flops_box": pretty(box.chip.flops("fp8"), "FLOP/s", 3),
        "floor": ms(step.latency_floor(RUNNING), 3),
        "step_batch": ms(step.memory_time(RUNNING, batch=BATCH)),
        "memory_box": ms(step.memory_time(net, box, **here) / boxes),
        "compute_rack": ms(step.compute_time(RUNNING, batch=BATCH)),
        "compute_box": ms(step.compute_time(net, box, batch=BATCH) / boxes),
        "comm_batch": ms(inside),
        "comm_box": ms(outside, 1),
        "step_latency": ms(latency),
        "exchange_rack": ms(inside + latency),
        "exchange_box": ms(outside + latency, 1),
        "exchange_two": ms(inside + 2 * latency),
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
        }.items()
    }
    spread["slower_18"] = spread.pop("slower_18_2")
    return spread | {
        "fixed_18_even": str(next(racks for racks in range(2, 99) if fixed(racks) <= 1)),
        "slower": f"{slow(2, LECTURE_RATIO):g}",
        "h100_ratio": f"{ratio('h100-sxm'):g}",
        "gb200_ratio": f"{here:g}",
        "gb300_ratio": f"{ratio('gb300-nvl72'):g}",
        "h800_ratio": f"{ratio('h800'):g}",
    }


def rack() -> dict[str, str]:
    """The rack itself, and how scale-up domains grew."""
    power, kilowatt = chip("gb200-nvl72").power_w, lambda watts: f"{significant(watts / 1e3, 2, exact=True)} kW"
    [built] = measurement("gb200_rack").records()
    count = int(RUNNING.symbols()["chips"])
    ultra = chip("rubin-ultra-kyber").scale_up.domain_chips
    pods = max((row for row in chips() if row.confirmed), key=lambda row: row.scale_up.domain_chips)
    return {
        "chip_power": kilowatt(power),
        "chips_power": kilowatt(eq.rack_power(chips=count, chip_power=power, other_power=0)),
        "rack_power": kilowatt(built["power_W"]),
        "cables": f"{eq.cables(chips=count, **WIRING):,.0f}",
        "cables_told": f"{built['cables']:,}",
        "rack_mass": f"{built['mass_kg']:,} kg",
        "copper": f"{built['copper_m'] / 1e3:.1f} km",
        "ultra": str(ultra),
        "ultra_dies": str(4 * ultra),
        "blackwell_dies": str(2 * count),
        "ultra_growth": f"{ultra / count:g}",
        "dies_growth": f"{4 * ultra / (2 * count):g}",
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
    dispatch = {int(row.bytes_per_chip / COPY["dispatch"] / 8): row for row in of["DeepEP dispatch"]}
    half = eq.half_message(start_time=dispatch[1].measured, scale_up=chip("h200").scale_up.bytes_per_s, chips=8)
    latencies = measurement("deepseek_isca25_link_latency").column("latency_us")
    return {
        "above_least": significant(min(r.measured / r.ideal for r in rows), 3),
        "above_32": significant(dispatch[32].measured / dispatch[32].ideal, 2),
        "above_1024": significant(dispatch[1024].measured / dispatch[1024].ideal, 2),
        "latency": pretty(start_time(), "s", 3),
        "exchange_rows": str(len(rows)),
        "line_error": f"{100 * sum(map(abs, off)) / len(off):.0f}%",
        "line_rows": str(len(inner)),
        "line_worst": f"{100 * max(map(abs, off)):.0f}%",
        "h200_rate": pretty(chip("h200").scale_up.bytes_per_s, "byte/s"),
        "half_message": pretty(half, "byte", 2),
        "half_tokens": f"{half / 8 / COPY['dispatch']:.0f}",
        "half_real": significant(
            next(tokens for tokens in sorted(dispatch) if dispatch[tokens].measured <= 2 * dispatch[tokens].ideal), 3
        ),
        "hop_least": f"{min(latencies):g}",
        "hop_most": f"{max(latencies):g}",
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
    return placing() | example() | running() | worked() | boundary() | rack() | measured() | deployed()
