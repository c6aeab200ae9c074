"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from blackboard.catalogue import measurement, model, system
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pipelining import equations as eq
from blackboard.lessons.pipelining import simulation
from blackboard.lessons.racks import equations as racks
from blackboard.units import factor, pretty, significant

# the lecture's memory: 64 GPUs a stage, a trillion parameters of one byte, and round numbers for the rest (1:05:42)
BOARD = {
    "expert_parallel": 64,
    "n_total": 1e12,
    "bytes_per_param": 1,
    "micro_batch": 2_400,
    "context": 200_000,
    "kv_bytes_per_token": 2_000,
}
LECTURE_HOP = 0.0025  # s; "a few ms" a hop, ten more for four stages, 1:15:28
SENT = {
    "micro_batch": 2_400,
    "bytes_per_value": 2,
    "expert_parallel": 64,
    "scale_out": 50e9,
}  # BF16 vectors over one network card per GPU
LSTM_GPUS, LSTM_SPEED = 8, 3.5  # Sutskever, Vinyals and Le, 2014, as told in the talk of 2024
EIGHT, RACK = "h100-8", RUNNING.system
TENSOR = 8  # GPUs that share each matrix, for comparison
SHOWN = ("28.3B", 96)  # model and micro-batches of the measured runs that the page prints


def board(formula, **more) -> Any:
    """A formula with the lecture's numbers."""
    return formula(BOARD, **more)


def board_step() -> float:
    """Time in which the GPUs of the lecture's example load weights and KV once, at the bandwidth of the rack's."""
    rate = BOARD["expert_parallel"] * RUNNING.symbols()["chip_bandwidth"]
    return step.memory_time(BOARD, batch=BOARD["micro_batch"], bandwidth=rate)


def sent() -> dict[str, str]:
    """Vectors that one token sends in a forward pass of the running model, by how the model is split."""
    net = model(RUNNING.model)
    moved = racks.exchange_time(message=1, chips=TENSOR, scale_up=1, start_time=0)  # of a vector, by each GPU
    routed = eq.scale_ratio(copies=net.moe.active, layers_per_stage=net.moe.layers, scale_up=1, scale_out=1)
    return {
        "layers": str(net.layers),
        "routed_layers": str(net.moe.layers),
        "sent_tensor": f"{net.layers * 2 * TENSOR * 2 * moved:,.0f}",  # two all-reduces a layer, of two exchanges each
        "sent_expert": f"{routed:,.0f}",
    }


def hops() -> dict[str, str]:
    """The hop against the experts' traffic, and how long it takes."""
    took = eq.hop(width=model(RUNNING.model).d_model, **SENT)
    latencies = measurement("deepseek_isca25_link_latency").column("latency_us")
    whole, alone = took + max(latencies) * factor("us"), board_step()
    known = RUNNING.symbols()
    links = {name: known[name] for name in ("scale_up", "scale_out")}
    return {
        "needed_here": significant(eq.layers_needed(copies=known["top_k"], **links), 2),
        "ratio_here": f"{known['scale_up'] / known['scale_out']:g}",
        "copies_here": f"{known['top_k']:g}",
        "hop_us": pretty(took, "s", 2),
        "hop_whole": pretty(whole, "s", 2),
        "alpha_most": f"{max(latencies):g}",
        "hop_bytes": pretty(SENT["micro_batch"] * model(RUNNING.model).d_model * SENT["bytes_per_value"], "byte", 2),
        "hop_factor": significant(LECTURE_HOP / whole, 2),
        "hop_share": f"{4 * whole / alone:.1%}",
        "step_ms": pretty(alone, "s", 3),
        "token_ms": pretty(eq.token_time(t_step=alone, hops=4, hop_time=whole), "s", 3),
        "filled": significant(eq.in_flight(stages=4, hops=4, hop_time=whole, t_step=alone), 3),
    }


def idling() -> dict[str, str]:
    """Bubbles."""
    bubble = lambda stages, batches: f"{eq.bubble(stages=stages, micro_batches=batches):.1%}"
    lost = 1 - LSTM_SPEED / LSTM_GPUS
    return {
        "idle_4": f"{1 - eq.naive_utilisation(stages=4):.0%}",
        "bubble_4_4": bubble(4, 4),
        "bubble_4_8": bubble(4, 8),
        "bubble_4_16": bubble(4, 16),
        "tenth": f"{eq.bubble.solve('micro_batches')(stages=4, bubble=0.1):.0f}",
        "lstm": f"{LSTM_SPEED / LSTM_GPUS:.0%}",
        "lstm_batches": significant(eq.bubble.solve("micro_batches")(stages=LSTM_GPUS, bubble=lost), 2),
    }


def memory() -> dict[str, str]:
    """Memory of a chip, in the lecture's example and in the running case."""
    gb = lambda formula, **more: f"{board(formula, **more) / 1e9:.1f} GB"
    known, chips = RUNNING.symbols(), RUNNING.symbols()["chips"]
    here = {"expert_parallel": chips, "micro_batch": BOARD["micro_batch"], "chip_hbm": known["hbm"] / chips}
    fits = lambda stages: eq.context_fits(RUNNING, stages=stages, **here)
    whole, box = board(eq.whole_batch, stages=4), system("h200-8").hbm_bytes
    freed = board(eq.chip_weights, stages=1) - board(eq.chip_weights, stages=4)
    longer = lambda hbm: freed / (hbm - board(eq.chip_weights, stages=1))
    boxes, kept = math.ceil(3e12 / box), known["kv_bytes_per_token"]
    return {
        "kv_chip": gb(eq.chip_kv),
        "weights_1": gb(eq.chip_weights, stages=1),
        "weights_2": gb(eq.chip_weights, stages=2),
        "weights_4": gb(eq.chip_weights, stages=4),
        "freed": f"{freed / 1e9:.1f} GB",
        "freed_share": f"{freed / board(eq.chip_kv):.0%}",
        "freed_roomy": f"{longer(known['hbm'] / chips):.0%}",
        "chip_hbm": pretty(known["hbm"] / chips, "byte", 3),
        "kv_real": pretty(kept, "byte", 2),
        "kv_chip_real": gb(eq.chip_kv, kv_bytes_per_token=kept).replace(".0", ""),
        "context_real": significant(BOARD["context"] * BOARD["kv_bytes_per_token"] / kept, 2),
        "kv_wrong": f"{board(eq.chip_kv) / 4e9:.2f} GB",
        "in_flight": f"{whole:,.0f}",
        "weights_share": f"{known['n_total'] / known['hbm']:.0%}",
        "fits_1": f"{significant(fits(1), 3)} tokens",
        "fits_8": f"{significant(fits(8), 3)} tokens",
        "fits_gain": f"{fits(8) / fits(1) - 1:.1%}",
        "box": pretty(box, "byte", 4),
        "box_share": f"{known['n_total'] / box:.0%}",
        "box_more": significant((box - known["n_total"] / 2) / (box - known["n_total"]), 2),
        "boxes": str(boxes),
        "boxes_left": pretty(boxes * box - 3e12, "byte", 3),
        "trillion": f"{1e12 / known['hbm']:.0%}",
    }


def scale_up() -> dict[str, str]:
    """What a larger domain buys."""
    rates = {id: {name: system(id).symbols()[name] for name in ("domain", "chip_bandwidth")} for id in (EIGHT, RACK)}
    known = {name: RUNNING.symbols()[name] for name in ("n_total", "bytes_per_param")}
    time = lambda id: eq.parallel_weight_time(known, rates[id])
    return {
        "eight": pretty(time(EIGHT), "s"),
        "rack": pretty(time(RACK), "s"),
        "together": significant(time(EIGHT) / time(RACK), 3),
        "by_size": f"{rates[RACK]['domain'] / rates[EIGHT]['domain']:g}",
        "by_chip": significant(rates[RACK]["chip_bandwidth"] / rates[EIGHT]["chip_bandwidth"], 2),
        "weights_read": pretty(known["n_total"] * known["bytes_per_param"], "byte", 3),
        "hbm_eight": pretty(system(EIGHT).hbm_bytes, "byte", 3),
        "rate_eight": pretty(rates[EIGHT]["chip_bandwidth"], "byte/s"),
        "rate_rack": pretty(rates[RACK]["chip_bandwidth"], "byte/s", 1),
    }


# --- against measurements ---------------------------------------------------------------------------------------------


@cache
def compared() -> tuple[simulation.Comparison, ...]:
    """The zero-bubble paper's rows beside the simulation, run once: it takes seconds."""
    return tuple(simulation.against_measurements())


def schedules() -> dict[str, str]:
    """The zero-bubble paper's rows beside the simulation, one set of runs in full."""
    rows = compared()
    above = [row.throughput / row.measured_throughput - 1 for row in rows]
    shown = {row.schedule: row for row in rows if (row.model, row.micro_batches) == SHOWN}
    keys = {"plain": "1F1B", "interleaved": "1F1B-I", "one": "ZB-1p", "two": "ZB-2p"}
    runs = {key: shown[name] for key, name in keys.items()}
    return {
        "zb_rows": str(len(rows)),
        "zb_least": f"{min(above):.0%}",
        "zb_most": f"{max(above):.0%}",
        "zb_model": SHOWN[0].replace("B", " billion"),
        "zb_batches": str(SHOWN[1]),
        "zb_devices": str(runs["plain"].devices),
        **{f"zb_idle_{key}": f"{row.run.period_bubble:.1%}" for key, row in runs.items()},
        **{f"zb_said_{key}": f"{row.throughput:.2f}" for key, row in runs.items()},
        **{f"zb_real_{key}": f"{row.measured_throughput:.2f}" for key, row in runs.items()},
        **{f"zb_memory_{key}": f"{row.measured_memory / 1e9:.0f} GB" for key, row in runs.items()},
        "zb_gain": f"{runs['two'].measured_throughput / runs['plain'].measured_throughput - 1:.0%}",
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    return sent() | hops() | idling() | memory() | scale_up() | schedules()
