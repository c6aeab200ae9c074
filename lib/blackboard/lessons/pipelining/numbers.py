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
from blackboard.lessons.pipelining.timeline import Costs
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
# the page's own case: the running model on one rack a stage, at a context that nearly fills its memory
_KNOWN = RUNNING.symbols()
CASE = {
    **{name: _KNOWN[name] for name in ("n_total", "bytes_per_param", "kv_bytes_per_token", "chip_bandwidth")},
    "expert_parallel": _KNOWN["chips"],
    "chip_hbm": _KNOWN["hbm"] / _KNOWN["chips"],
    "micro_batch": 2_400,
    "context": 75_000,
}
STAGES, TRAINED = 4, 8  # racks of the pipeline, and micro-batches of its schedules
LECTURE_HOP, UNSURE = 0.0025, 10  # s, "a few ms" a hop, and "off by an order of magnitude", 1:15:28
SENT = {
    "micro_batch": CASE["micro_batch"],
    "bytes_per_value": 2,
    "expert_parallel": CASE["expert_parallel"],
    "scale_out": _KNOWN["scale_out"],
}  # BF16 vectors over one network card per GPU
LSTM_GPUS, LSTM_SPEED = 8, 3.5  # Sutskever, Vinyals and Le, 2014, as told in the talk of 2024
RACK, BOX = RUNNING.system, "h200-8"
PARTS = 9  # domains into which the rack is cut, for comparison
TENSOR = 8  # GPUs that share each matrix, for comparison
SHOWN = ("28.3B", 96)  # model and micro-batches of the measured runs that the page prints


def board(formula, **more) -> Any:
    """A formula with the lecture's numbers."""
    return formula(BOARD, **more)


def case(formula, **more) -> Any:
    """A formula with the page's own numbers."""
    return formula(CASE, **more)


def case_step(users: float = CASE["micro_batch"]) -> float:
    """Time in which the GPUs of one rack load the weights, and the KV of so many users, once."""
    rate = CASE["expert_parallel"] * CASE["chip_bandwidth"]
    return step.memory_time(CASE, batch=users, bandwidth=rate)


def turn(t_step: float, count: int, stages: int, hop: float) -> float:
    """Time from one token of a user to the next: all stages and hops, or, if more micro-batches than fill the pipeline
    queue, what a stage takes for all of them.
    """
    path = {"t_step": t_step, "hops": stages if stages > 1 else 0, "hop_time": hop}
    if count <= eq.in_flight(path, stages=stages):
        return eq.token_time(path)
    return count * t_step / stages


def best_cut(hop: float) -> tuple[float, int]:
    """The least time of a token if the users of all racks are cut into more micro-batches, and into how many."""
    users = case(eq.whole_batch, stages=STAGES)
    return min((turn(case_step(users / count), count, STAGES, hop), count) for count in range(STAGES, 10 * STAGES))


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


def hop_time() -> float:
    """Sending, and the longest latency that was measured."""
    latencies = measurement("deepseek_isca25_link_latency").column("latency_us")
    return eq.hop(width=model(RUNNING.model).d_model, **SENT) + max(latencies) * factor("us")


def hops() -> dict[str, str]:
    """The hop against the experts' traffic, and how long it takes."""
    width, known = model(RUNNING.model).d_model, _KNOWN
    took, whole = eq.hop(width=width, **SENT), hop_time()
    links = {name: known[name] for name in ("scale_up", "scale_out")}
    return {
        "needed_here": significant(eq.layers_needed(copies=known["top_k"], **links), 2),
        "ratio_here": f"{known['scale_up'] / known['scale_out']:g}",
        "copies_here": f"{known['top_k']:g}",
        "sent_up": pretty(known["scale_up"], "byte/s", 2),
        "sent_out": pretty(known["scale_out"], "byte/s", 2),
        "hop_us": pretty(took, "s", 2),
        "hop_whole": pretty(whole, "s", 2),
        "alpha_most": pretty(whole - took, "s", 2),
        "hop_bytes": pretty(SENT["micro_batch"] * width * SENT["bytes_per_value"], "byte", 2),
    }


def waits() -> dict[str, str]:
    """What a user waits for in decoding, and how much of their time racks idle, by how long a hop takes."""
    alone, path = case_step(), {"t_step": case_step(), "hops": STAGES}
    times = {
        "bound": hop_time(),
        "said": LECTURE_HOP,
        "high": LECTURE_HOP * UNSURE,
    }
    token = {name: eq.token_time(path, hop_time=hop) for name, hop in times.items()}
    fewer = lambda time, digits=2: f"{significant(100 * (1 - alone / time), digits)}%"
    best, count = best_cut(LECTURE_HOP)
    return {
        "step_ms": pretty(alone, "s", 3),
        **{f"token_{name}": pretty(time, "s", 3) for name, time in token.items()},
        **{f"fewer_{name}": fewer(time) for name, time in token.items()},
        "lecture_hop": pretty(LECTURE_HOP, "s", 2),
        "high_hop": pretty(times["high"], "s", 2),
        "slow_exact": significant(eq.in_flight(path, stages=STAGES, hop_time=LECTURE_HOP), 2),
        "cut_users": f"{case(eq.whole_batch, stages=STAGES) / count:,.0f}",
        "cut_said": fewer(best, 1),
        "hops_high": pretty(STAGES * times["high"], "s", 3),
    }


def idling() -> dict[str, str]:
    """Bubbles."""
    bubble = lambda stages, batches: f"{eq.bubble(stages=stages, micro_batches=batches):.1%}"
    return {
        "idle_4": f"{1 - eq.naive_utilisation(stages=4):.0%}",
        "bubble_4_4": bubble(4, 4),
        "bubble_4_8": bubble(4, 8),
        "tenth": f"{eq.bubble.solve('micro_batches')(stages=4, bubble=0.1):.0f}",
        "lstm": f"{LSTM_SPEED / LSTM_GPUS:.0%}",
    }


def orders() -> dict[str, str]:
    """What rack 0 waits, the bubble and the held micro-batches of each schedule, with F, B and W equally long."""
    found = {}
    for name, run in simulation.equal_runs(STAGES, TRAINED).items():
        key = name.lower().replace("-", "_")
        found[f"slots_{key}"] = f"{float(run.span(0) - run.busy(0)):g} of {float(run.span(0)):g}"
        found[f"idle_{key}"] = f"{run.period_bubble:.1%}" if run.period_bubble else "0%"
        found[f"held_{key}"] = f"{run.most_held:g}"
    return found


def board_memory() -> dict[str, str]:
    """Memory of a chip with the lecture's numbers, and a bubble: for its flashcards."""
    gb = lambda formula, **more: f"{board(formula, **more) / 1e9:.1f} GB"
    return {
        "kv_chip": gb(eq.chip_kv),
        "weights_1": gb(eq.chip_weights, stages=1),
        "weights_4": gb(eq.chip_weights, stages=4),
        "bubble_4_16": f"{eq.bubble(stages=4, micro_batches=16):.1%}",
        "kv_board": pretty(BOARD["kv_bytes_per_token"], "byte", 1),
    }


def memory() -> dict[str, str]:
    """Memory of a chip in the page's own case."""
    gb = lambda formula, **more: f"{case(formula, **more) / 1e9:.1f} GB"
    fits = lambda stages: case(eq.context_fits, stages=stages)
    tokens = lambda stages: f"{significant(fits(stages), 3)} tokens"
    return {
        "context": f"{CASE['context']:,} tokens",
        "gpu_weights_1": gb(eq.chip_weights, stages=1),
        "gpu_weights_4": gb(eq.chip_weights, stages=STAGES),
        "gpu_kv": gb(eq.chip_kv),
        "gpu_all": gb(eq.stage_memory, stages=1),
        "gpu_memory": pretty(CASE["chip_hbm"], "byte", 3),
        "gpu_rate": pretty(CASE["chip_bandwidth"], "byte/s", 1),
        "kv_token": pretty(CASE["kv_bytes_per_token"], "byte", 4),
        "in_flight": f"{case(eq.whole_batch, stages=STAGES):,.0f}",
        "weights_share": f"{case(eq.chip_weights, stages=1) / CASE['chip_hbm']:.0%}",
        "fits_1": tokens(1),
        "fits_4": tokens(STAGES),
        "fits_gain": f"{fits(STAGES) / fits(1) - 1:.0%}",
    }


def filled(stages: int) -> tuple[int, float]:
    """Users of the page's context for whom each of so many boxes has room, and the seconds of their tokens with hops as
    long as the lecture guesses and the best number of micro-batches.
    """
    row = system(BOX)
    memory = {"expert_parallel": row.chips, "chip_hbm": row.hbm_bytes / row.chips, "context_fits": CASE["context"]}
    users = math.floor(eq.context_fits.solve("micro_batch")(CASE, memory, stages=stages))
    load = lambda count: step.memory_time(CASE, batch=stages * users / count, bandwidth=row.bandwidth)
    return users, min(turn(load(count), count, stages, LECTURE_HOP) for count in range(stages, 2 * stages + 1))


def pays() -> dict[str, str]:
    """One box that the weights nearly fill, and two."""
    (alone, single), (more, double) = map(filled, (1, 2))
    return {
        "pays_users_1": str(alone),
        "pays_users_2": str(more),
        "pays_gain": f"{more / double / (alone / single) - 1:.0%}",
    }


def boxes() -> dict[str, str]:
    """What a second stage makes room for, on a machine that the weights nearly fill and on the rack, and the open
    question's boxes.
    """
    weights = CASE["n_total"] * CASE["bytes_per_param"]
    room = lambda memory: (memory - weights / 2) / (memory - weights)
    box, rack = (system(id).hbm_bytes for id in (BOX, RACK))
    count = math.ceil(3e12 / box)
    return {
        "box": pretty(box, "byte", 4),
        "box_share": f"{weights / box:.0%}",
        "box_more": significant(room(box), 2),
        "rack_more": significant(room(rack), 3),
        "boxes": str(count),
        "boxes_left": pretty(count * box - 3e12, "byte", 3),
    }


def scale_up() -> dict[str, str]:
    """What a larger domain buys: the rack, and the same GPUs in smaller domains, each with as large a part of the model
    and of the users.
    """
    small = {"expert_parallel": CASE["expert_parallel"] / PARTS}
    rate = small["expert_parallel"] * CASE["chip_bandwidth"]
    few, alone = case(eq.parallel_weight_time, **small), case(eq.parallel_weight_time)
    full = step.memory_time(CASE, batch=CASE["micro_batch"] / PARTS, bandwidth=rate)
    weights = CASE["n_total"] * CASE["bytes_per_param"]
    return {
        "by_size": f"{PARTS}",
        "room": pretty(CASE["chip_hbm"] * CASE["expert_parallel"] - weights, "byte", 3),
        "eight": pretty(few, "s"),
        "rack": pretty(alone, "s"),
        "together": f"{few / alone:.3g}",
        "full_eight": pretty(full, "s", 3),
        "by_full": significant(full / case_step(), 2),
        "weights_read": pretty(weights, "byte", 3),
    }


# --- against measurements ---------------------------------------------------------------------------------------------


@cache
def compared() -> tuple[simulation.Comparison, ...]:
    """The zero-bubble paper's rows beside the simulation, run once: it takes seconds."""
    return tuple(simulation.against_measurements())


def without_hops(names: tuple[str, ...]) -> tuple[dict[str, float], Costs]:
    """The bubbles of the shown runs, simulated with hops of no length; and the times of passes and hop in ms."""
    table = measurement("zero_bubble_pipeline").records()
    row = next(row for row in table if (row["model"], row["microbatches"]) == SHOWN)
    passes = row["forward_ms"], row["input_gradient_ms"], row["weight_gradient_ms"]
    shape = row["stages"], SHOWN[1], Costs(*passes), simulation.SETUPS[SHOWN[0]]
    return {name: simulation.published(name, *shape).period_bubble for name in names}, Costs(
        *passes, row["transfer_ms"]
    )


def schedules() -> dict[str, str]:
    """The zero-bubble paper's rows beside the simulation, one set of runs in full."""
    rows = compared()
    above = [row.throughput / row.measured_throughput - 1 for row in rows]
    shown = {row.schedule: row for row in rows if (row.model, row.micro_batches) == SHOWN}
    keys = {"plain": "1F1B", "interleaved": "1F1B-I", "one": "ZB-1p", "two": "ZB-2p"}
    runs = {key: shown[name] for key, name in keys.items()}
    free, costs = without_hops(tuple(keys.values()))
    return {
        "zb_rows": str(len(rows)),
        "zb_least": f"{min(above):.0%}",
        "zb_most": f"{max(above):.0%}",
        "zb_model": SHOWN[0].replace("B", " billion"),
        "zb_batches": str(SHOWN[1]),
        "zb_devices": str(runs["plain"].devices),
        "zb_times": f"{costs.forward:.1f}, {costs.backward:.1f} and {costs.weight:.1f} ms",
        "zb_hop": f"{costs.hop:.2f} ms",
        **{f"zb_free_{key}": f"{free[name]:.1%}" for key, name in keys.items()},
        **{f"zb_said_{key}": f"{row.throughput:.2f}" for key, row in runs.items()},
        **{f"zb_real_{key}": f"{row.measured_throughput:.2f}" for key, row in runs.items()},
        **{f"zb_memory_{key}": f"{row.measured_memory / 1e9:.0f} GB" for key, row in runs.items()},
        "zb_gain": f"{runs['two'].measured_throughput / runs['plain'].measured_throughput - 1:.0%}",
        "zb_hoped": f"{runs['interleaved'].throughput / runs['plain'].throughput - 1:.0%}",
        "zb_got": f"{runs['interleaved'].measured_throughput / runs['plain'].measured_throughput - 1:.0%}",
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    parts = sent, hops, waits, idling, orders, memory, pays, boxes, scale_up, schedules
    return {name: text for part in parts for name, text in part().items()}
