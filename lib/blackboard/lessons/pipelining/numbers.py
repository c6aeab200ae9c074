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
from blackboard.lessons.racks.equations import FP8_OUT
from blackboard.units import factor, pretty, significant

LECTURE_RATIO = 8  # scale-up over scale-out, 0:38:47
# the lecture's memory: 64 GPUs a stage, a trillion parameters of one byte, and round numbers for the rest (1:05:42)
BOARD = {
    "expert_parallel": 64,
    "n_total": 1e12,
    "bytes_per_param": 1,
    "micro_batch": 2_400,
    "context": 200_000,
    "kv_bytes_per_token": 2_000,
}
LECTURE_STEP, LECTURE_HOP = 0.020, 0.0025  # s; "a few ms" a hop, ten more for four stages, 1:15:28
SENT = {
    "micro_batch": 2_400,
    "bytes_per_value": 2,
    "expert_parallel": 64,
    "scale_out": 50e9,
}  # BF16 vectors over one network card per GPU
LSTM_GPUS, LSTM_SPEED = 8, 3.5  # Sutskever, Vinyals and Le, 2014, as told in the talk of 2024
EIGHT, RACK = "h100-8", RUNNING.system
HUNDREDS = 700e9  # bytes of weights that the lecture reads


def board(formula, **more) -> Any:
    """A formula with the lecture's numbers."""
    return formula(BOARD, **more)


def hops() -> dict[str, str]:
    """The hop against the experts' traffic, and how long it takes."""
    ratio = eq.scale_ratio(copies=8, layers_per_stage=1, scale_up=LECTURE_RATIO, scale_out=1)
    took = eq.hop(width=model(RUNNING.model).d_model, **SENT)
    latencies = measurement("deepseek_isca25_link_latency").column("latency_us")
    whole = took + max(latencies) * factor("us")
    filled = lambda hop: eq.in_flight(stages=4, hops=4, hop_time=hop, t_step=LECTURE_STEP)
    token = eq.token_time(t_step=LECTURE_STEP, hops=4, hop_time=LECTURE_HOP)
    routed, links = RUNNING.symbols()["top_k"], {n: RUNNING.symbols()[n] for n in ("scale_up", "scale_out")}
    needed = eq.layers_needed.bind(links)
    bytes_more = 2 * SENT["bytes_per_value"] / sum(FP8_OUT.values())  # of the hop, against the mean of out and back
    return {
        "ratio_1": f"{ratio:g}",
        "needed_here": significant(needed(copies=routed), 2),
        "needed_bytes": significant(needed(copies=routed) * bytes_more, 2),
        "needed_nine": significant(needed(copies=routed + 1) * bytes_more, 2),
        "ratio_here": f"{RUNNING.symbols()['scale_up'] / RUNNING.symbols()['scale_out']:g}",
        "copies_here": f"{RUNNING.symbols()['top_k']:g}",
        "hop_us": pretty(took, "s", 2),
        "token_ms": f"{token * 1e3:.0f} ms",
        "alpha_most": f"{max(latencies):g}",
        "hop_bytes": pretty(SENT["micro_batch"] * model(RUNNING.model).d_model * SENT["bytes_per_value"], "byte", 2),
        "hop_factor": significant(LECTURE_HOP / whole, 2),
        "hop_share": f"{4 * whole / LECTURE_STEP:.1%}",
        "hop_share_rack": f"{4 * whole / step.weight_time(RUNNING):.0%}",
        "filled": f"{filled(LECTURE_HOP):g}",
        "filled_measured": significant(filled(whole), 3),
    }


def idling() -> dict[str, str]:
    """Bubbles."""
    bubble = lambda stages, batches: f"{eq.bubble(stages=stages, micro_batches=batches):.1%}"
    lost = 1 - LSTM_SPEED / LSTM_GPUS
    times = {"forward_time": 1, "input_grad_time": 1, "weight_grad_time": 1}
    share = lambda formula, **more: (
        f"{eq.bubble_of_idle(idle=formula(stages=4, **times, **more), micro_batches=8, **times):.1%}"
    )
    return {
        "idle_4": f"{1 - eq.naive_utilisation(stages=4):.0%}",
        "bubble_4_4": bubble(4, 4),
        "bubble_4_8": bubble(4, 8),
        "bubble_4_16": bubble(4, 16),
        "tenth": f"{eq.bubble.solve('micro_batches')(stages=4, bubble=0.1):.0f}",
        "interleaved": f"{eq.interleaved_bubble(stages=4, micro_batches=8, chunks=2):.1%}",
        "zb": share(eq.idle_zero_bubble),
        "lstm": f"{LSTM_SPEED / LSTM_GPUS:.0%}",
        "lstm_batches": significant(eq.bubble.solve("micro_batches")(stages=LSTM_GPUS, bubble=lost), 2),
    }


def memory() -> dict[str, str]:
    """Memory of a chip, in the lecture's example and in the running case."""
    gb = lambda formula, **more: f"{board(formula, **more) / 1e9:.1f} GB"
    known, chips = RUNNING.symbols(), RUNNING.symbols()["chips"]
    here = {"expert_parallel": chips, "micro_batch": step.critical_batch(RUNNING), "chip_hbm": known["hbm"] / chips}
    fits = lambda stages: eq.context_fits(RUNNING, stages=stages, **here)
    whole, box = board(eq.whole_batch, stages=4), system("h200-8").hbm_bytes
    freed = board(eq.chip_weights, stages=1) - board(eq.chip_weights, stages=4)
    longer = lambda hbm: freed / (hbm - board(eq.chip_weights, stages=1))
    boxes = math.ceil(3e12 / box)
    return {
        "kv_chip": gb(eq.chip_kv),
        "weights_1": gb(eq.chip_weights, stages=1),
        "weights_2": gb(eq.chip_weights, stages=2),
        "weights_4": gb(eq.chip_weights, stages=4),
        "freed": f"{freed / 1e9:.1f} GB",
        "freed_share": f"{freed / board(eq.chip_kv):.0%}",
        "freed_roomy": f"{longer(known['hbm'] / chips):.0%}",
        "chip_hbm": pretty(known["hbm"] / chips, "byte", 3),
        "fits_batch": f"{here['micro_batch']:,.0f}",
        "kv_wrong": f"{board(eq.chip_kv) / 4e9:.2f} GB",
        "in_flight": f"{whole:,.0f}",
        "weights_share": f"{known['n_total'] / known['hbm']:.0%}",
        "fits_1": f"{significant(fits(1), 3)} tokens",
        "fits_8": f"{significant(fits(8), 3)} tokens",
        "fits_gain": f"{fits(8) / fits(1) - 1:.1%}",
        "box": pretty(box, "byte", 3),
        "box_share": f"{known['n_total'] / box:.0%}",
        "box_more": significant((box - known["n_total"] / 2) / (box - known["n_total"]), 2),
        "boxes": str(boxes),
        "boxes_left": pretty(boxes * box - 3e12, "byte", 2),
        "trillion": f"{1e12 / known['hbm']:.0%}",
    }


def scale_up() -> dict[str, str]:
    """What a larger domain buys."""
    rates = {id: {name: system(id).symbols()[name] for name in ("domain", "chip_bandwidth")} for id in (EIGHT, RACK)}
    time = lambda id, **more: eq.parallel_weight_time(n_total=HUNDREDS, bytes_per_param=1, **rates[id] | more)
    return {
        "eight": pretty(time(EIGHT), "s"),
        "rack": pretty(time(RACK), "s"),
        "together": significant(time(EIGHT) / time(RACK), 3),
        "by_size": f"{rates[RACK]['domain'] / rates[EIGHT]['domain']:g}",
        "by_chip": significant(rates[RACK]["chip_bandwidth"] / rates[EIGHT]["chip_bandwidth"], 2),
        "weights_read": pretty(HUNDREDS, "byte"),
        "rate_eight": pretty(rates[EIGHT]["chip_bandwidth"], "byte/s"),
        "rate_rack": pretty(rates[RACK]["chip_bandwidth"], "byte/s", 1),
    }


# --- against measurements ---------------------------------------------------------------------------------------------


@cache
def compared() -> tuple[simulation.Comparison, ...]:
    """The zero-bubble paper's rows beside the simulation, run once: it takes seconds."""
    return tuple(simulation.against_measurements())


def schedules() -> dict[str, str]:
    """How the simulation does on the zero-bubble paper's rows."""
    rows, percent = compared(), lambda values: f"{100 * sum(values) / len(values):.0f}%"
    names = list(dict.fromkeys(row.schedule for row in rows))
    fast = {
        name: [row.throughput / row.measured_throughput - 1 for row in rows if row.schedule == name] for name in names
    }
    bubbles = [abs(row.run.period_bubble - row.paper_bubble) * 100 for row in rows]
    base = lambda row: next(
        other
        for other in rows
        if other.schedule == "1F1B" and (other.model, other.micro_batches) == (row.model, row.micro_batches)
    )
    best = lambda name: max(
        row.measured_throughput / base(row).measured_throughput - 1 for row in rows if row.schedule == name
    )
    return {
        "zb_rows": str(len(rows)),
        "zb_bubble_mean": f"{sum(bubbles) / len(bubbles):.2f}",
        "zb_bubble_worst": f"{max(bubbles):.2f}",
        **{
            f"zb_{key}": percent(fast[name])
            for key, name in {"plain": "1F1B", "interleaved": "1F1B-I", "one": "ZB-1p", "two": "ZB-2p"}.items()
        },
        "zb_violations": str(sum(row.throughput < row.measured_throughput for row in rows)),
        "zb_gain_one": f"{best('ZB-1p'):.0%}",
        "zb_gain_two": f"{best('ZB-2p'):.0%}",
    }


def gpipe() -> dict[str, str]:
    """GPipe's Transformer on eight stages with 32 micro-batches, against the bubble formula; the row with 2 stages and
    1 micro-batch counts 1.
    """
    rate = lambda stages, batches: stages * (1 - eq.bubble(stages=stages, micro_batches=batches))
    rows = measurement("gpipe_table2").records(model="Transformer", microbatches=32)
    [told] = (row["throughput_ratio"] for row in rows if row["stages"] == 8)
    return {"gpipe_8": f"{told:g}", "gpipe_8_said": significant(rate(8, 32) / rate(2, 1), 3)}


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    return hops() | idling() | memory() | scale_up() | schedules() | gpipe()
