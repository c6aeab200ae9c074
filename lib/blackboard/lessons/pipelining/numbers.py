"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from blackboard.catalogue import measurement, model, system
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.pipelining import equations as eq
from blackboard.lessons.pipelining import simulation
from blackboard.lessons.racks import equations as racks
from blackboard.search import find_root
from blackboard.text import merge
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
# the running model on one rack a stage, at a context that nearly fills its memory
_KNOWN = RUNNING.symbols()
CASE = {
    **{name: _KNOWN[name] for name in ("n_total", "bytes_per_param", "kv_bytes_per_token", "chip_bandwidth")},
    "expert_parallel": _KNOWN["chips"],
    "chip_hbm": _KNOWN["hbm"] / _KNOWN["chips"],
    "micro_batch": 2_400,
    "context": 75_000,
}
STAGES = 4  # racks of the pipeline
TRAINERS, TRAINED = 4, 8  # boxes of the pipeline that trains, and micro-batches of its schedules
LECTURE_HOP = 0.0025  # s, "a few ms" a hop, 1:15:28
LONG_HOP = 0.010  # s, for which a third micro-batch pays
SENT = {
    "micro_batch": CASE["micro_batch"],
    "bytes_per_value": 2,
    "expert_parallel": CASE["expert_parallel"],
    "scale_out": _KNOWN["scale_out"],
}  # BF16 vectors over one network card per GPU
LSTM_GPUS, LSTM_SPEED = 8, 3.5  # Sutskever, Vinyals and Le, 2014, as told in the talk of 2024
RACK, BOX = RUNNING.system, "h200-8"
APART = {"dispatch_bytes": 1, "combine_bytes": 2}  # of a value on its way to an expert, FP8, and back, BF16
MEASURED_TOKENS = 128  # on each GPU in DeepEP's measurement between boxes
TENSOR = 8  # GPUs that share each matrix, for comparison
SHOWN = ("28.3B", 96)  # model and micro-batches of the measured runs that the page prints
SCHEDULES = {"plain": "1F1B", "interleaved": "1F1B-I", "one": "ZB-1p", "two": "ZB-2p"}  # of those runs


def board(formula, **more) -> Any:
    """A formula with the lecture's numbers."""
    return formula(BOARD, **more)


def case(formula, **more) -> Any:
    """A formula with the page's own numbers."""
    return formula(CASE, **more)


def token_bytes(copies: float = _KNOWN["copies"]) -> float:
    """Bytes that one token sends to experts and gets back, in all routed layers."""
    net = model(RUNNING.model)
    return racks.ep_bytes(tokens_per_chip=1, copies=copies, width=net.d_model, **APART) * net.moe.layers


def experts_bytes(count: float) -> float:
    """Bytes of so many experts in every layer that has experts."""
    net = model(RUNNING.model)
    return net.moe.layers * count * net.moe.matrices * net.d_model * net.moe.d_ff * CASE["bytes_per_param"]


def rest_bytes() -> float:
    """Bytes of all weights but the experts."""
    moe = model(RUNNING.model).moe
    return CASE["n_total"] * CASE["bytes_per_param"] - experts_bytes(moe.experts + moe.shared)


def whole_part(stages: int) -> float:
    """The part of the layers on the fullest of so many stages, if layers stay whole."""
    layers = model(RUNNING.model).layers
    return math.ceil(layers / stages) / layers


def turn(t_step: float, count: int, stages: int, hop: float) -> float:
    """Time from one token of a user to the next: all stages and hops, or, if more micro-batches than fill the pipeline
    queue, what a stage takes for all of them.
    """
    path = {"t_step": t_step, "hops": stages if stages > 1 else 0, "hop_time": hop}
    if count <= eq.in_flight(path, stages=stages):
        return eq.token_time(path)
    return count * t_step / stages


def sent() -> dict[str, str]:
    """What one token sends in a forward pass of the running model, by how the model is split."""
    net = model(RUNNING.model)
    vector = net.d_model * SENT["bytes_per_value"]
    moved = racks.exchange_time(message=1, chips=TENSOR, scale_up=1, start_time=0)  # of a vector, by each GPU
    vectors = net.layers * 2 * TENSOR * 2 * moved  # two all-reduces a layer, of two exchanges each
    return {
        "layers": str(net.layers),
        "routed_layers": str(net.moe.layers),
        "vector": pretty(vector, "byte", 3),
        "sent_tensor": pretty(vectors * vector, "byte", 3),
        "sent_expert": pretty(token_bytes(), "byte", 3),
        "sent_ratio": significant(token_bytes() / LAYOUTS["two"].boxes / vector, 2),
    }


def least_latency() -> float:
    """The shortest latency of a small message that was measured, s."""
    return min(measurement("deepseek_isca25_link_latency").column("latency_us")) * factor("us")


def hop_time() -> float:
    """From rack to rack: sending, and the shortest latency that was measured."""
    return eq.hop(width=model(RUNNING.model).d_model, **SENT) + least_latency()


def hops() -> dict[str, str]:
    """How long a hop takes, at least."""
    box, two = system(BOX).symbols(), LAYOUTS["two"]
    sent = {**SENT, "micro_batch": box_users(two), "expert_parallel": box["chips"], "scale_out": box["scale_out"]}
    moved = sent["micro_batch"] * model(RUNNING.model).d_model * sent["bytes_per_value"]
    took = eq.hop(width=model(RUNNING.model).d_model, **sent)
    return {
        "ratio_here": f"{box['scale_up'] / box['scale_out']:g}",
        "hop_us": pretty(took, "s", 2),
        "hop_whole": pretty(took + least_latency(), "s", 2),
        "users_group": str(box_users(two)),
        "alpha_least": pretty(least_latency(), "s", 2),
        "hop_bytes": pretty(moved, "byte", 2),
        "lecture_hop": pretty(LECTURE_HOP, "s", 2),
        "hop_trained": pretty(trained_bytes(), "byte", 3),
        "hop_times": significant(trained_bytes() / (moved / sent["expert_parallel"]), 2),
    }


def trained_bytes() -> float:
    """Bytes that a GPU sends in a hop of the measured training runs: a sequence of 1,024 tokens, in BF16."""
    return 1024 * simulation.SETUPS[SHOWN[0]].width * 2


def waits() -> dict[str, str]:
    """What a user waits for on two boxes whose hops take as long as the lecture guesses."""
    two = LAYOUTS["two"]
    late, count = best_cut(two, LECTURE_HOP)
    users = two.boxes * box_users(two)
    step = late - two.boxes * LECTURE_HOP
    return {
        "late_idle": f"{1 - count * step / two.boxes / late:.0%}",
        "hop_third": pretty(find_root(lambda hop: best_cut(two, hop)[1] - count - 0.5, LECTURE_HOP, LONG_HOP), "s", 2),
        "uncut": f"{cut_token(two, users, 1, box_hop()) / factor('ms'):.1f}",
        "third_costs": f"{1 - cut_rate(two, 3, LECTURE_HOP) / cut_rate(two, 2, LECTURE_HOP):.0%}",
    }


def idling() -> dict[str, str]:
    """Bubbles."""
    return {
        "bubble_4_4": f"{eq.bubble(stages=4, micro_batches=4):.0%}",
        "tenth": f"{eq.bubble.solve('micro_batches')(stages=4, bubble=0.1):.0f}",
    }


def orders() -> dict[str, str]:
    """What rack 0 waits, the bubble and the held micro-batches of each schedule, with F, B and W equally long."""
    found = {}
    for name, run in simulation.equal_runs(TRAINERS, TRAINED).items():
        key = name.lower().replace("-", "_").replace(" ", "_")
        found[f"slots_{key}"] = f"{float(run.span(0) - run.busy(0)):g} of {float(run.span(0)):g}"
        if name == "split 1F1B":
            found[f"idle_{key}"] = f"{run.period_bubble:.1%}"
        found[f"held_{key}"] = f"{run.most_held:g}"
    return found


def board_memory() -> dict[str, str]:
    """Memory of a chip with the lecture's numbers, and a bubble: for its flashcards."""
    gb = lambda formula, **more: f"{board(formula, **more) / 1e9:.1f} GB"
    return {
        "kv_chip": gb(eq.chip_kv),
        "weights_1": gb(eq.chip_weights, stages=1),
        "weights_4": gb(eq.chip_weights, stages=4),
        "bubble_4_4": f"{eq.bubble(stages=4, micro_batches=4):.1%}",
        "bubble_4_16": f"{eq.bubble(stages=4, micro_batches=16):.1%}",
        "kv_board": pretty(BOARD["kv_bytes_per_token"], "byte", 1),
    }


def boxed(formula, **more) -> Any:
    """A formula with the page's two boxes, each a stage."""
    box = system(BOX)
    held = {"expert_parallel": box.chips, "micro_batch": box_users(LAYOUTS["two"]), "stages": LAYOUTS["two"].boxes}
    return case(formula, **(held | more))


def memory() -> dict[str, str]:
    """Memory of a chip of the two boxes, and of boxes whose layers stay whole."""
    return {
        "context": f"{CASE['context']:,} tokens",
        "gpu_weights": f"{boxed(eq.chip_weights) / 1e9:.1f} GB",
        "gpu_kv": f"{boxed(eq.chip_kv) / 1e9:.1f} GB",
        "gpu_memory": pretty(system(BOX).chip.hbm_bytes, "byte", 3),
        "whole_half": f"{whole_part(LAYOUTS['two'].boxes) * model(RUNNING.model).layers:.0f}",
        "whole_boxes": str(math.floor(whole_users(BOX, LAYOUTS["two"].boxes))),
    }


def weights_share(machine: str) -> float:
    """The part of a machine's memory that all weights fill."""
    return CASE["n_total"] * CASE["bytes_per_param"] / system(machine).hbm_bytes


def whole_users(machine: str, stages: int) -> float:
    """Users for whom the fullest of so many machines has room, if layers stay whole."""
    part, user = whole_part(stages), CASE["context"] * CASE["kv_bytes_per_token"]
    return (system(machine).hbm_bytes - part * CASE["n_total"] * CASE["bytes_per_param"]) / (part * user)


# --- boxes, which the weights nearly fill -----------------------------------------------------------------------------


class Shared(NamedTuple):
    """How many boxes share a model, by layers or with the experts of every layer spread over them."""

    boxes: int
    spread: bool = False


def box_users(shared: Shared, context: float = CASE["context"]) -> int:
    """Users of a context for whom each box has room."""
    return room(BOX, shared.boxes, 1, context)[1] // shared.boxes


def room(machine: str, count: int, copies: int, context: float = CASE["context"]) -> tuple[float, int]:
    """What so many machines with so many copies of the weights have left for caches, bytes, and for how many users."""
    left = count * system(machine).hbm_bytes - copies * CASE["n_total"] * CASE["bytes_per_param"]
    return left, copies * math.floor(left / copies / (context * CASE["kv_bytes_per_token"]))


class Turn(NamedTuple):
    """What a step of a box waits for, one after another, s."""

    load: float
    start: float  # its exchanges
    send: float  # copies to experts, and results


def parts(batch: float, shared: Shared, hop: float, context: float = CASE["context"]) -> Turn:
    """A step of so many users with a context, on one box or, if it spreads the experts, on all of them: loading the
    weights and caches, starting a dispatch and a combine in each layer, and sending what crosses the slower way.
    """
    net, row = model(RUNNING.model), system(BOX)
    known, boxes = row.symbols(), shared.boxes if shared.spread else 1
    load = case(eq.capacity, batch=batch, context=context) / (boxes * row.bandwidth)
    here = {**APART, "tokens_per_chip": batch / boxes / known["chips"], "width": net.d_model}
    away = net.moe.active * racks.leaving(racks=shared.boxes) if shared.spread else 0  # copies to the other box
    ways = [(exchange(), racks.ep_time(here, copies=_KNOWN["copies"] - away, scale_up=known["scale_up"]))]
    if away:
        ways.append((hop, racks.ep_time(here, copies=away, scale_up=known["scale_out"])))
    start, send = max(ways, key=lambda way: 2 * way[0] + way[1])
    return Turn(load, net.moe.layers * 2 * start, net.moe.layers * send)


def exchange() -> float:
    """Latency of an exchange inside a box, s: DeepEP's smallest dispatch on eight H200, as in the lesson on racks."""
    return measurement("h200_deepep_ll_intranode").column("dispatch_us")[0] * factor("us")


def box_hop() -> float:
    """Time of a hop between two boxes, s: DeepEP's exchanges among 16 GPUs, less the time in which the copies that
    leave a box pass its network cards; the mean of dispatch and combine, in whole microseconds.
    """
    return round(sum(took - passing for took, passing in box_hop_parts()) / 2 / factor("us")) * factor("us")


def box_hop_parts() -> list[tuple[float, float]]:
    """Of that dispatch and combine: the whole time, and the time in which copies pass the network cards, s."""
    [row] = measurement("deepep_v1_low_latency").records(expert_parallel=16)
    net = model(RUNNING.model)
    sent = MEASURED_TOKENS * net.moe.active * racks.leaving(racks=2) * net.d_model  # values
    times = row["dispatch_us"], row["combine_us"]
    return [(took * factor("us"), sent * size / _KNOWN["scale_out"]) for took, size in zip(times, APART.values())]


def attended(batch: float, shared: Shared) -> float:
    """Attention's arithmetic in a step of so many users, in BF16, as the page's table leaves out, s."""
    boxes = shared.boxes if shared.spread else 1
    return batch * model(RUNNING.model).attention_flop(CASE["context"]) / (boxes * system(BOX).symbols("bf16")["flops"])


def best_cut(shared: Shared, hop: float, counted: bool = False) -> tuple[float, int]:
    """The least time of a token if the users of all boxes are cut into micro-batches, and into how many. With
    attention's arithmetic, if it is counted, after everything else.
    """
    users = box_users(shared) * shared.boxes
    step = lambda batch: sum(parts(batch, shared, hop)) + (attended(batch, shared) if counted else 0)
    if shared.spread:
        return step(users), 1
    counts = range(shared.boxes, 40 * shared.boxes) if shared.boxes > 1 else (1,)
    return min((turn(step(users / count), count, shared.boxes, hop), count) for count in counts)


def cut_token(shared: Shared, users: float, count: int, hop: float, context: float = CASE["context"]) -> float:
    """Time of a token of a pipeline whose users, with a context, are cut into so many micro-batches, s."""
    return turn(sum(parts(users / count, shared, hop, context)), count, shared.boxes, hop)


def cut_rate(shared: Shared, count: int, hop: float) -> float:
    """Tokens per second of each box of a full pipeline whose users are cut into so many micro-batches."""
    users = box_users(shared)
    return users / cut_token(shared, users * shared.boxes, count, hop)


def box_token(shared: Shared, hop: float, counted: bool = False) -> float:
    """Time from one token of a user to the next, s; in a pipeline with the best number of micro-batches."""
    return best_cut(shared, hop, counted)[0]


def box_rate(shared: Shared, hop: float, counted: bool = False) -> float:
    """Tokens per second of each box."""
    return box_users(shared) / box_token(shared, hop, counted)


def unchosen(tokens: float) -> float:
    """The part of the routed experts that none of so many tokens chooses, if each chooses at random."""
    moe = model(RUNNING.model).moe
    return (1 - moe.active / moe.experts) ** tokens


def spared(name: str) -> float:
    """What a step of a full layout saves if experts that none of its tokens chose are not loaded, s."""
    layout = LAYOUTS[name]
    together = layout.boxes if layout.spread else 1  # boxes that work on a layer
    part = unchosen(together * box_users(layout))
    return part * experts_bytes(model(RUNNING.model).moe.experts) / (together * system(BOX).bandwidth)


LAYOUTS = {"one": Shared(1), "two": Shared(2), "spread": Shared(2, spread=True)}


def even(first: str, second: str, low: float, high: float) -> float:
    """The hop, between two others, at which two layouts write as many tokens per second."""
    return find_root(lambda hop: box_rate(LAYOUTS[second], hop) - box_rate(LAYOUTS[first], hop), low, high)


def pays() -> dict[str, str]:
    """Two boxes that the weights nearly fill, used in three ways."""
    short = box_hop()
    ms = lambda time: f"{time / factor('ms'):.1f}"
    at_once = {"one": 1, "two": 1, "spread": 2}  # boxes whose users are in a step
    steps = {name: parts(at_once[name] * box_users(layout), layout, short) for name, layout in LAYOUTS.items()}
    box = system(BOX)  # which holds half of the weights, and loads them in
    half = case(eq.parallel_weight_time, expert_parallel=2 * box.chips, chip_bandwidth=box.bandwidth / box.chips)
    return _leads() | {
        **{f"users_{name}": str(box_users(LAYOUTS[name]) * 2) for name in ("one", "two")},
        "weights_one": ms(2 * half),
        "weights_spread": ms(half),
        **{f"caches_{name}": ms(steps[name].load - 2 * half) for name in ("one", "two")},
        **{f"sent_{name}": ms(step.start + step.send) for name, step in steps.items()},
        "hops_two": ms(2 * short),
        **{f"token_{name}": ms(box_token(layout, short)) for name, layout in LAYOUTS.items()},
        **{f"short_{name}": significant(box_rate(layout, short), 3) for name, layout in LAYOUTS.items()},
        **{f"attend_{name}": ms(attended(box_users(LAYOUTS[name]), LAYOUTS[name])) for name in ("one", "two")},
        "box_one": str(box_users(LAYOUTS["one"])),
        "bytes_spread": ms(steps["spread"].send),
        "said_cache": pretty(CASE["context"] * CASE["kv_bytes_per_token"], "byte", 3),
        "box_hop": pretty(short, "s", 2),
        "all_load": pretty(2 * half, "s", 3),
        "half_load": pretty(half, "s", 2),
        "half_starts": f"{ms(steps['two'].start / 2)} ms",
        "inside_rate": pretty(system(BOX).symbols()["scale_up"], "byte/s", 3),
        "exchange": pretty(exchange(), "s", 3),
        "card_rate": pretty(_KNOWN["scale_out"], "byte/s", 2),
        **{
            f"{way}_{name}": pretty(time, "s", 3)
            for way, times in zip(("dispatch", "combine"), box_hop_parts())
            for name, time in zip(("whole", "passing"), times)
        },
    }


def _leads() -> dict[str, str]:
    """Which use of the two boxes is ahead, by how much, and from which hop on."""
    short = box_hop()
    rates = lambda name: box_rate(LAYOUTS[name], short)
    fewer = lambda name, counted=False: (
        box_users(LAYOUTS[name]) / (box_token(LAYOUTS[name], short, counted) - spared(name))
    )
    return {
        "hop_even": pretty(even("spread", "two", exchange(), LECTURE_HOP), "s", 2),
        "hop_alone": pretty(even("two", "one", exchange(), 1), "s", 3),
        "lead_two": f"{rates('two') / rates('one') - 1:.0%}",
        "lead_worst": f"{fewer('two', True) / fewer('one', True) - 1:.0%}",
        "lead_spread": f"{rates('spread') / rates('two') - 1:.0%}",
        "lead_spread_worst": f"{fewer('spread', True) / fewer('two', True) - 1:.0%}",
        "unchosen": f"{unchosen(box_users(LAYOUTS['one'])):.1%}",
    }


def copied_weights(gpus: int) -> float:
    """Bytes on all of so many GPUs that deal out the routed experts and have a copy each of everything else."""
    moe = model(RUNNING.model).moe
    return gpus * (rest_bytes() + experts_bytes(moe.shared + moe.experts / gpus))


def copied_boxes() -> dict[str, str]:
    """Users on two boxes where every GPU has its own copy of all but the routed experts."""
    chips, memory, cache = system(BOX).chips, system(BOX).hbm_bytes, CASE["context"] * CASE["kv_bytes_per_token"]
    fits = lambda stored: math.floor((2 * memory - stored) / cache)
    alone = 2 * math.floor((memory - copied_weights(chips)) / cache)
    stages = fits(copied_weights(chips))
    return {
        "copied_alone": str(alone),
        "copied_stages": str(stages),
        "copied_gain": significant(stages / alone, 2),
    }


def shared_lead(context: float, hop: float, copied: bool = False) -> float:
    """By which part two full boxes that share layers write more tokens per second than a pipeline of two micro-batches:
    with weights spread evenly, or with a copy of all but the routed experts on every GPU.
    """
    box, rates = system(BOX), []
    evenly = CASE["n_total"] * CASE["bytes_per_param"]
    for layout in (LAYOUTS["two"], LAYOUTS["spread"]):
        together = layout.boxes if layout.spread else 1  # boxes that work on a layer
        stored = copied_weights(together * box.chips) if copied else evenly
        users = (layout.boxes * box.hbm_bytes - stored) / (context * CASE["kv_bytes_per_token"])
        batch = users if layout.spread else users / layout.boxes
        step = sum(parts(batch, layout, hop, context)) + (stored - evenly) / (together * box.bandwidth)
        rates.append(users / (step if layout.spread else step + layout.boxes * hop))
    return rates[1] / rates[0] - 1


def borders() -> dict[str, str]:
    """Where shared layers and a pipeline write alike: a wait at the long context, with copies of attention's weights,
    and a context at the measured wait.
    """
    wait = find_root(lambda hop: -shared_lead(CASE["context"], hop, copied=True), exchange(), LECTURE_HOP)
    context = find_root(lambda tokens: shared_lead(tokens, box_hop()), CASE["context"] / 15, CASE["context"])
    return {"wait_copied": pretty(wait, "s", 2), "context_plain": significant(context, 2)}


def fetching() -> dict[str, str]:
    """Tokens of a box for which computing a pass of a dense layer takes as long as fetching its weights, in BF16."""
    box = system(BOX).symbols("bf16")
    return {"fetch_tokens": significant(2 * box["flops"] / 2 / (box["chips"] * box["scale_out"]), 2)}


def boxes() -> dict[str, str]:
    """What further stages make room for, on a machine that the weights nearly fill and on the rack, and the open
    question's boxes.
    """
    weights = CASE["n_total"] * CASE["bytes_per_param"]
    more = lambda memory, stages: (memory - weights / stages) / (memory - weights)
    box = system(BOX).hbm_bytes
    count = math.ceil(3e12 / box)
    return {
        "box": pretty(box, "byte", 4),
        "box_rate": pretty(system(BOX).bandwidth, "byte/s", 3),
        "reserve_gain": significant(more(0.9 * box, 2), 2),  # a tenth of the memory kept back
        "filled_box": f"{weights_share(BOX):.1%}",
        "filled_rack": f"{weights_share(RACK):.1%}",
        "boxes": str(count),
        "boxes_left": pretty(count * box - 3e12, "byte", 3),
    }


def box_room() -> tuple[float, float, float]:
    """Bytes of a box's memory, of all weights, and of one user's cache."""
    weights, cache = CASE["n_total"] * CASE["bytes_per_param"], CASE["context"] * CASE["kv_bytes_per_token"]
    return system(BOX).hbm_bytes, weights, cache


def rooms() -> dict[str, str]:
    """What one box and one stage of two hold, in GB."""
    memory, weights, _ = box_room()
    gb = lambda size: f"{size / 1e9:,.0f}"
    return {
        "memory_box": gb(memory),
        "stored_box": gb(weights),
    }


def combined() -> dict[str, str]:
    """Megatron's run with a trillion parameters: tensor parallelism in a box, stages across, copies of the pipeline."""
    row = max(measurement("megatron_2021_table1").records(), key=lambda row: row["n_total"])
    stages, batch = row["pipeline_parallel"], row["batch"]
    copies = row["gpus"] // (row["tensor_parallel"] * stages)
    each = batch // copies  # micro-batches of a copy at most, if each is one sequence
    return {
        "mt_stages": str(stages),
        "mt_copies": str(copies),
        "mt_batch": f"{batch:,}",
        "mt_each": str(each),
        "mt_bubble": f"{eq.bubble(stages=stages, micro_batches=each):.0%}",
    }


def scale_up() -> dict[str, str]:
    """What a larger domain buys."""
    return {"rack": pretty(case(eq.parallel_weight_time), "s")}


# --- against measurements ---------------------------------------------------------------------------------------------


@cache
def compared() -> tuple[simulation.Comparison, ...]:
    """The zero-bubble paper's rows beside the simulation, run once: it takes seconds."""
    return tuple(simulation.against_measurements())


def ranked(setting: tuple[str, int], rate: str) -> list[str]:
    """The schedules of one model and number of micro-batches, the slowest first, by a rate of the comparison."""
    rows = [row for row in compared() if (row.model, row.micro_batches) == setting]
    return [row.schedule for row in sorted(rows, key=lambda row: getattr(row, rate))]


def schedules() -> dict[str, str]:
    """The zero-bubble paper's rows beside the simulation, one set of runs in full."""
    rows = compared()
    above = [row.throughput / row.measured_throughput - 1 for row in rows]
    shown = {row.schedule: row for row in rows if (row.model, row.micro_batches) == SHOWN}
    runs = {key: shown[name] for key, name in SCHEDULES.items()}
    table = measurement("zero_bubble_pipeline").records()
    row = next(row for row in table if (row["model"], row["microbatches"]) == SHOWN)
    passes = row["forward_ms"], row["input_gradient_ms"], row["weight_gradient_ms"]
    timed = dict(zip(("forward_time", "input_grad_time", "weight_grad_time"), passes), stages=runs["plain"].devices)
    settings = {(row.model, row.micro_batches) for row in rows}
    return {
        "zb_rows": str(len(rows)),
        "zb_least": f"{min(above):.0%}",
        "zb_most": f"{max(above):.0%}",
        "zb_settings": str(len(settings)),
        "zb_swapped": str(
            sum(ranked(setting, "throughput") != ranked(setting, "measured_throughput") for setting in settings)
        ),
        "zb_model": SHOWN[0].replace("B", " billion"),
        "zb_batches": str(SHOWN[1]),
        "zb_devices": str(runs["plain"].devices),
        "zb_h1_left": f"{eq.idle_zero_bubble(**timed) / eq.idle_1f1b(**timed):.0%}",
        "zb_times": f"{passes[0]:.1f}, {passes[1]:.1f} and {passes[2]:.1f} ms",
        "zb_hop": f"{row['transfer_ms']:.2f} ms",
        **{f"zb_said_{key}": f"{run.throughput:.2f}" for key, run in runs.items()},
        **{f"zb_real_{key}": f"{run.measured_throughput:.2f}" for key, run in runs.items()},
        **{f"zb_memory_{key}": f"{run.measured_memory / 1e9:.0f} GB" for key, run in runs.items()},
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    memories = sent, hops, waits, idling, orders, memory, pays, copied_boxes, boxes, rooms
    others = borders, fetching, combined, scale_up, schedules
    return merge(*(part() for part in (*memories, *others)))
