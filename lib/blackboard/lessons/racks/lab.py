"""The lab of the racks lesson: place experts on GPUs, count what they send, and leave the rack."""

from __future__ import annotations

import itertools
import random
from typing import Any, NamedTuple

from blackboard.catalogue import chip, measurement, model
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial
from blackboard.lab_values import count, same, shown
from blackboard.lessons.racks import equations as eq


class Network(NamedTuple):
    """GPUs in racks of equal size, numbered rack by rack; a GPU sends at `scale_up` in its rack, `scale_out` beyond."""

    gpus: int
    gpus_per_rack: int
    scale_up: float  # byte/s of one GPU
    scale_out: float

    def __repr__(self) -> str:
        return f"Network({', '.join(f'{name}={value:g}' for name, value in self._asdict().items())})"


# --- place ------------------------------------------------------------------------------------------------------------


def place_experts(experts, gpus):
    """Where each expert is: a list with the number of a GPU, 0 to gpus - 1, for each expert.

    Spread them as evenly as possible: no GPU holds two more than another. Any such placement passes.
    """
    return [expert % gpus for expert in range(experts)]


def _sizes(rng: random.Random) -> tuple:
    gpus = rng.randint(1, 6)
    return rng.choice([gpus, 2 * gpus, rng.randint(1, 20)]), gpus


A_LIST = "Return one list, with the number of a GPU for each expert: entry 0 is the GPU of expert 0, and so on."


def _one_each(trial: Trial) -> str | None:
    experts = trial.args[0]
    return (
        None
        if len(trial.got) == experts
        else f"Experts: {experts}. Entries of your list: {len(trial.got)}. Each expert needs one."
    )


def _one_list(trial: Trial) -> str | None:
    if isinstance(trial.got, (list, tuple, range)):
        return None
    return f"You returned a value of the type {type(trial.got).__name__}. {A_LIST}"


def _real_gpus(trial: Trial) -> str | None:
    gpus = trial.args[1]
    for expert, gpu in enumerate(trial.got):
        if isinstance(gpu, (list, tuple)):
            return f"Entry {expert} is {shown(gpu)}, and must be a number. {A_LIST}"
        if gpu not in range(gpus):
            return f"Expert {expert} is on GPU {gpu!r}; " + (
                f"there are 0 to {gpus - 1}." if gpus > 1 else "there is only GPU 0."
            )
    return None


def _even(trial: Trial) -> str | None:
    held = [trial.got.count(gpu) for gpu in range(trial.args[1])]
    most, least = held.index(max(held)), held.index(min(held))
    if held[most] - held[least] <= 1:
        return None
    return f"GPU {most} holds {count(held[most], 'expert')} and GPU {least} only {held[least]}: move one."


def _by_expert(experts, gpus):
    return {expert: expert % gpus for expert in range(experts)}


def _all_on_one(experts, gpus):
    return [0] * experts


def _rest_on_the_last(experts, gpus):
    each = max(1, experts // gpus)
    return [min(expert // each, gpus - 1) for expert in range(experts)]


def _from_one(experts, gpus):
    return [expert % gpus + 1 for expert in range(experts)]


def _by_gpu(experts, gpus):
    return [[expert for expert in range(experts) if expert % gpus == gpu] for gpu in range(gpus)]


PLACE = Step(
    "Place the experts",
    "Distribute the experts of a layer over GPUs, so that each GPU has about as much to do.",
    place_experts,
    "place_experts(8, 4)",
    _sizes,
    (_one_list, _real_gpus, _one_each, _even),
    {
        _by_expert: _one_list,
        _all_on_one: _even,
        _rest_on_the_last: _even,
        _from_one: _real_gpus,
        _by_gpu: _real_gpus,
    },
    ("Deal them out like cards.", "`expert % gpus` goes 0, 1, 2, ... and begins again when each GPU has had one."),
    extreme=lambda experts, gpus: gpus == 1 or experts < gpus,
    returns="a list with the number of a GPU for each expert",
    many=True,
)

# --- dispatch ---------------------------------------------------------------------------------------------------------


def dispatch(tokens, placement, gpus, copy_bytes):
    """The bytes that each GPU sends to each other: a list of rows, sent[source][target].

    A token sends one copy of its vector to each of its experts. A copy for an expert on its own GPU is not sent.

    tokens      pairs (GPU that the token is on, list of its experts)
    placement   the GPU of each expert
    copy_bytes  bytes of one copy
    """
    sent = [[0] * gpus for _ in range(gpus)]
    for home, experts in tokens:
        for expert in experts:
            if placement[expert] != home:
                sent[home][placement[expert]] += copy_bytes
    return sent


def _routed(rng: random.Random) -> tuple:
    gpus = rng.randint(2, 3)
    experts = gpus * rng.randint(1, 2)
    k = rng.randint(1, min(3, experts))
    tokens = [(rng.randrange(gpus), rng.sample(range(experts), k)) for _ in range(rng.randint(1, 3))]
    return tokens, [rng.randrange(gpus) for _ in range(experts)], gpus, rng.choice([1, 10])


def _square(trial: Trial) -> str | None:
    gpus = trial.args[2]
    fine = len(trial.got) == gpus and all(len(row) == gpus for row in trial.got)
    return None if fine else f"Return {gpus} rows of {gpus} numbers: sent[source][target]."


def _own_rows(trial: Trial) -> str | None:
    for one, two in itertools.combinations(range(len(trial.got)), 2):
        if isinstance(trial.got[one], list) and trial.got[one] is trial.got[two] and trial.got != trial.want:
            return (
                f"Rows {one} and {two} of your result are one and the same list, so what you add to one is in both."
                " Make each row anew: `[[0] * gpus for _ in range(gpus)]`."
            )
    return None


def _rows_send(trial: Trial) -> str | None:
    if same(trial.got, trial.want) or not same([list(column) for column in zip(*trial.got)], trial.want):
        return None
    return "Rows and columns are the wrong way round: a row is a GPU that sends, a column one that receives."


def _not_to_itself(trial: Trial) -> str | None:
    for gpu, row in enumerate(trial.got):
        if row[gpu]:
            return f"GPU {gpu} sends {count(row[gpu], 'byte')} to itself; what stays on a GPU is not sent."
    return None


def _nothing_lost(trial: Trial) -> str | None:
    tokens, placement, _, copy_bytes = trial.args
    for gpu, row in enumerate(trial.got):
        copies = sum(placement[expert] != gpu for home, experts in tokens if home == gpu for expert in experts)
        if abs(sum(row) - copies * copy_bytes) > 1e-9 and not _rows_send(trial):
            return (
                f"The tokens on GPU {gpu} have {count(copies, 'expert')} on other GPUs, so it sends"
                f" {copies} × {copy_bytes} = {count(copies * copy_bytes, 'byte')}, not {sum(row):g}."
            )
    return None


def _to_the_right_gpu(trial: Trial) -> str | None:
    if same(trial.got, trial.want) or _rows_send(trial):
        return None
    return f"Expected {shown(trial.want)}. Row: the token's GPU. Column: the expert's GPU, `placement[expert]`."


def _sends_all(tokens, placement, gpus, copy_bytes):
    sent = [[0] * gpus for _ in range(gpus)]
    for home, experts in tokens:
        for expert in experts:
            sent[home][placement[expert]] += copy_bytes
    return sent


def _once_per_gpu(tokens, placement, gpus, copy_bytes):
    sent = [[0] * gpus for _ in range(gpus)]
    for home, experts in tokens:
        for target in {placement[expert] for expert in experts} - {home}:
            sent[home][target] += copy_bytes
    return sent


def _one_row_for_all(tokens, placement, gpus, copy_bytes):
    sent = [[0] * gpus] * gpus
    for home, experts in tokens:
        for expert in experts:
            if placement[expert] != home:
                sent[home][placement[expert]] += copy_bytes
    return sent


def _turned(tokens, placement, gpus, copy_bytes):
    return [list(column) for column in zip(*dispatch(tokens, placement, gpus, copy_bytes))]


def _overwrites(tokens, placement, gpus, copy_bytes):
    return [[min(each, copy_bytes) for each in row] for row in dispatch(tokens, placement, gpus, copy_bytes)]


def _experts_in_turn(tokens, placement, gpus, copy_bytes):
    return dispatch(tokens, [expert % gpus for expert in range(len(placement))], gpus, copy_bytes)


def _columns_in_turn(tokens, placement, gpus, copy_bytes):
    sent = [[0] * gpus for _ in range(gpus)]
    for home, experts in tokens:
        for expert in experts:
            if placement[expert] != home:
                sent[home][expert % gpus] += copy_bytes
    return sent


def _next_gpu(tokens, placement, gpus, copy_bytes):
    sent = dispatch(tokens, placement, gpus, copy_bytes)
    return [[sum(row) if target == (n + 1) % gpus else 0 for target in range(gpus)] for n, row in enumerate(sent)]


EXPERT_IS_NO_GPU = "You use an expert's number as that of a GPU. Expert e is on the GPU `placement[e]`."

DISPATCH = Step(
    "Dispatch",
    "Count the bytes that each GPU sends to each other GPU when the tokens go out to their experts.",
    dispatch,
    "dispatch([(0, [1, 3]), (1, [0, 1])], [0, 1, 0, 1], 2, 7168)",
    _routed,
    (_square, _own_rows, _not_to_itself, _nothing_lost, _to_the_right_gpu, _rows_send),
    {
        _sends_all: _not_to_itself,
        _once_per_gpu: _nothing_lost,
        _turned: _rows_send,
        _one_row_for_all: _own_rows,
        _overwrites: _nothing_lost,
        _experts_in_turn: EXPERT_IS_NO_GPU,
        _columns_in_turn: EXPERT_IS_NO_GPU,
        _next_gpu: _to_the_right_gpu,
    },
    (
        "Begin with rows of zeros: `[[0] * gpus for _ in range(gpus)]`.",
        "For each expert of each token, add `copy_bytes` in the row of the token's GPU and the column of the expert's,"
        " `placement[expert]`, unless the two are the same.",
    ),
)

# --- combine ----------------------------------------------------------------------------------------------------------


def combine(sent):
    """The bytes of the way back, as rows like those of `dispatch`: every copy's result returns to where it came from.

    A token's values take one byte each on the way out (FP8), and a result's take two on the way back (BF16).
    """
    return [[2 * row[gpu] for row in sent] for gpu in range(len(sent))]


def _sent(rng: random.Random) -> tuple:
    gpus = rng.randint(2, 3)
    return ([[rng.choice([0, 10, 20]) if a != b else 0 for a in range(gpus)] for b in range(gpus)],)


def _as_large(trial: Trial) -> str | None:
    gpus = len(trial.args[0])
    fine = len(trial.got) == gpus and all(len(row) == gpus for row in trial.got)
    return None if fine else f"Return {gpus} rows of {gpus} numbers, as those that came in."


def _twice_in_all(trial: Trial) -> str | None:
    out, back = sum(map(sum, trial.args[0])), sum(map(sum, trial.got))
    return None if back == 2 * out else f"{count(out, 'byte')} went out, so {2 * out} come back, not {back:g}."


def _turned_round(trial: Trial) -> str | None:
    (sent,) = trial.args
    for source, row in enumerate(trial.got):
        for target, back in enumerate(row):
            if back != 2 * sent[target][source]:
                there = f"GPU {target} sent {count(sent[target][source], 'byte')} to GPU {source}"
                back_bytes = count(2 * sent[target][source], "byte")
                return f"{there}, so {back_bytes} go back from GPU {source} to GPU {target}, not {back:g} bytes."
    return None


def _same_way(sent):
    return [[2 * each for each in row] for row in sent]


def _as_many_bytes(sent):
    return [list(column) for column in zip(*sent)]


def _both_ways(sent):
    return [[each + back for each, back in zip(*rows)] for rows in zip(sent, combine(sent))]


def _overwrites_what_it_reads(sent):
    rows = [list(row) for row in sent]
    for source, row in enumerate(rows):
        for target in range(len(row)):
            row[target] = 2 * rows[target][source]
    return rows


def _half(sent):
    return [[each / 2 for each in column] for column in zip(*sent)]


COMBINE = Step(
    "Combine",
    "Count the bytes of the way back, when the experts' results return to the tokens.",
    combine,
    "combine([[0, 10], [20, 0]])",
    _sent,
    (_as_large, _twice_in_all, _turned_round),
    {
        _same_way: _turned_round,
        _as_many_bytes: _twice_in_all,
        _both_ways: _twice_in_all,
        _half: _twice_in_all,
        _overwrites_what_it_reads: "You write into rows that you still read, so some bytes are doubled twice. Make new"
        " rows.",
    },
    ("Source and target change places.", "Row `gpu` of the result is column `gpu` of `sent`, times two."),
    extreme=lambda sent: not any(map(any, sent)),
)

# --- time of an exchange ----------------------------------------------------------------------------------------------


def exchange_time(sent, network):
    """The time of one exchange, in seconds: all GPUs send at once, and the last one to finish decides.

    A GPU sends to its own rack and to other racks at the same time, over two links of its own.
    What it receives takes no time of its own.

    sent     bytes, sent[source][target]
    network  has gpus, gpus_per_rack, scale_up and scale_out (byte/s of one GPU); GPU n is in rack n // gpus_per_rack
    """
    longest = 0
    for source, row in enumerate(sent):
        rack = source // network.gpus_per_rack
        inside = sum(row[rack * network.gpus_per_rack : (rack + 1) * network.gpus_per_rack])
        outside = sum(row) - inside
        longest = max(longest, inside / network.scale_up, outside / network.scale_out)
    return longest


def _exchanges(rng: random.Random) -> tuple:
    racks, size = rng.choice([(1, 2), (1, 3), (2, 1), (2, 2)])
    gpus = racks * size
    sent = [[rng.choice([0, 90, 180]) if a != b else 0 for a in range(gpus)] for b in range(gpus)]
    return sent, Network(gpus, size, rng.choice([90, 180]), rng.choice([10, 30]))


def _links(sent, network) -> list[tuple[float, float]]:
    """For each GPU the time of what it sends inside its rack, and of what it sends to others."""
    size, times = network.gpus_per_rack, []
    for n, row in enumerate(sent):
        inside = sum(row[n // size * size : (n // size + 1) * size])
        times.append((inside / network.scale_up, (sum(row) - inside) / network.scale_out))
    return times


def _inside_takes(trial: Trial) -> str | None:
    for source, (took, _) in enumerate(_links(*trial.args)):
        if trial.got < took * (1 - 1e-9):
            return f"GPU {source} alone needs {took:g} s for what it sends inside its rack."
    return None


def _outside_takes(trial: Trial) -> str | None:
    for source, (_, took) in enumerate(_links(*trial.args)):
        if trial.got < took * (1 - 1e-9):
            return f"GPU {source} alone needs {took:g} s for what it sends to other racks."
    return None


def _sums_anew(trial: Trial) -> str | None:
    if same(trial.got, trial.want) or not same(trial.got, max(map(sum, zip(*_links(*trial.args))))):
        return None
    return (
        "That is the time for what all GPUs send together over one link. Each GPU has links of its own: begin its sums"
        " at 0, and take the slowest GPU."
    )


def _last_one(trial: Trial) -> str | None:
    if same(trial.got, trial.want) or _sums_anew(trial):
        return None
    slowest, (inside, outside) = max(enumerate(_links(*trial.args)), key=lambda each: max(each[1]))
    return (
        f"The slowest is GPU {slowest}, which sends inside its rack for {inside:g} s and to other racks for"
        f" {outside:g} s, both at once: {max(inside, outside):g} s in all, not {trial.got:g}."
    )


def _one_link_after_the_other(sent, network):
    return max(map(sum, _links(sent, network)))


def _all_inside(sent, network):
    return max(map(sum, sent)) / network.scale_up


def _on_average(sent, network):
    return sum(map(max, _links(sent, network))) / len(sent)


def _one_link_for_all(sent, network):
    return max(map(sum, zip(*_links(sent, network))))


def _sums_go_on(sent, network):
    size, inside, outside, longest = network.gpus_per_rack, 0, 0, 0
    for source, row in enumerate(sent):
        for target, each in enumerate(row):
            if source // size == target // size:
                inside += each
            else:
                outside += each
        longest = max(longest, inside / network.scale_up, outside / network.scale_out)
    return longest


def _one_gpu_after_the_other(sent, network):
    return sum(max(each) for each in _links(sent, network))


def _counted_within_a_rack(sent, network):
    longest = 0
    for source, row in enumerate(sent):
        links = [0, 0]
        for target, each in enumerate(row):
            links[source % network.gpus_per_rack == target % network.gpus_per_rack] += each
        longest = max(longest, links[1] / network.scale_up, links[0] / network.scale_out)
    return longest


def _rates_swapped(sent, network):
    return exchange_time(sent, network._replace(scale_up=network.scale_out, scale_out=network.scale_up))


def _received(sent, network):
    return exchange_time([list(column) for column in zip(*sent)], network)


def _inside_only(sent, network):
    return max(inside for inside, _ in _links(sent, network))


TIME = Step(
    "The time of an exchange",
    "Turn a table of bytes into a time, on GPUs that are connected fast inside a rack and slowly between racks.",
    exchange_time,
    "network = Network(gpus=4, gpus_per_rack=2, scale_up=90, scale_out=10);"
    " exchange_time([[0, 270, 20, 0], [0, 0, 0, 20], [0] * 4, [0] * 4], network)",
    _exchanges,
    (_inside_takes, _outside_takes, _last_one, _sums_anew),
    {
        _one_link_after_the_other: _last_one,
        _all_inside: _outside_takes,
        _on_average: _inside_takes,
        _one_link_for_all: _sums_anew,
        _sums_go_on: _sums_anew,
        _one_gpu_after_the_other: _last_one,
        _inside_only: _outside_takes,
        _counted_within_a_rack: "`source % network.gpus_per_rack` is the place of a GPU in its rack. The rack is"
        " `source // network.gpus_per_rack`.",
        _rates_swapped: "The rates have changed places: inside a rack it is `scale_up`, to other racks `scale_out`.",
        _received: "That is the time of what each GPU receives, a column. Add what each GPU sends, a row.",
    },
    (
        "Split each row in two: what goes to GPUs of the same rack, and the rest.",
        "`source // network.gpus_per_rack` is the rack of a GPU. Divide each part by the rate of its link.",
    ),
    extreme=lambda sent, network: not any(map(any, sent)),
)

# --- a layer ----------------------------------------------------------------------------------------------------------


def layer_time(tokens, placement, copy_bytes, network):
    """The time of one layer's traffic, in seconds: the results go back when the whole dispatch is over.

    The arguments are those of `dispatch` and `exchange_time`.
    """
    sent = dispatch(tokens, placement, network.gpus, copy_bytes)
    return exchange_time(sent, network) + exchange_time(combine(sent), network)


def _layers(rng: random.Random) -> tuple:
    size, racks = rng.randint(1, 2), rng.randint(1, 2)
    network = Network(size * racks, size, rng.choice([90, 180]), rng.choice([10, 30]))
    experts = network.gpus * 2
    tokens = [(rng.randrange(network.gpus), rng.sample(range(experts), 2)) for _ in range(rng.randint(1, 3))]
    placement = [rng.randrange(network.gpus) for _ in range(experts)]
    return tokens, placement, rng.choice([30, 90, 180]), network


def _home_is_free(trial: Trial) -> str | None:
    tokens, placement, *_ = trial.args
    away = any(placement[expert] != home for home, experts in tokens for expert in experts)
    fine = away or trial.got == 0
    return None if fine else "Every token's experts are on its own GPU, so nothing is sent and no time passes."


def _way_back(trial: Trial) -> str | None:
    if same(trial.got, trial.want) or not same(trial.got, 3 * _only_out(*trial.args)):
        return None
    return (
        "Twice the bytes come back, but other GPUs send them, each over links of its own. So the way back need not take"
        " twice as long as the way out: time `combine(sent)` too."
    )


def _both(trial: Trial) -> str | None:
    if same(trial.got, trial.want) or _way_back(trial):
        return None
    out = _only_out(*trial.args)
    return (
        f"The dispatch takes {out:g} s, and the combine, which begins when it is over, {trial.want - out:g} s:"
        f" {trial.want:g} s in all."
    )


def _only_out(tokens, placement, copy_bytes, network):
    return exchange_time(dispatch(tokens, placement, network.gpus, copy_bytes), network)


def _three_times_out(tokens, placement, copy_bytes, network):
    return 3 * _only_out(tokens, placement, copy_bytes, network)


def _at_the_same_time(tokens, placement, copy_bytes, network):
    sent = dispatch(tokens, placement, network.gpus, copy_bytes)
    return max(exchange_time(sent, network), exchange_time(combine(sent), network))


def _copy_of_the_example(tokens, placement, copy_bytes, network):
    return layer_time(tokens, placement, 90, network)


def _in_turn(tokens, placement, copy_bytes, network):
    return layer_time(tokens, [expert % network.gpus for expert in range(len(placement))], copy_bytes, network)


def _without_placement(tokens, placement, copy_bytes, network):
    elsewhere = [(gpu + 1) % network.gpus for gpu in placement]
    return layer_time(tokens, elsewhere, copy_bytes, network)


LAYER = Step(
    "A layer's traffic",
    "Put the pieces together: the time that one layer spends on sending, out and back.",
    layer_time,
    "layer_time([(0, [2]), (1, [2])], [0, 1, 2], 90, Network(3, 1, 90, 10))",
    _layers,
    (_home_is_free, _both, _way_back),
    {
        _only_out: _both,
        _three_times_out: _way_back,
        _at_the_same_time: _both,
        _copy_of_the_example: _both,
        _in_turn: _home_is_free,
        _without_placement: _home_is_free,
    },
    (
        "Three of your functions do the work: `dispatch`, `combine` and `exchange_time`.",
        "The way out takes `exchange_time(sent, network)`. What does the way back send, and how long does that take?",
    ),
    extreme=lambda tokens, placement, copy_bytes, network: network.gpus == 1,
)

# --- the chart --------------------------------------------------------------------------------------------------------

NODE, COUNTS = 8, (1, 2, 4, 8, 16, 32, 64, 128)  # GPUs of a node, tokens on each GPU


def _network(nodes: int) -> Network:
    rates = chip("h200")
    return Network(nodes * NODE, NODE, rates.scale_up.bytes_per_s, rates.scale_out.bytes_per_s or 0)


def _formula(nodes: int, tokens: int) -> float:
    """Microseconds of a layer with the lesson's formulas, without a shared expert, which the lab has not either; in one
    node, a GPU's own part does not travel.
    """
    network, moe = _network(nodes), model("deepseek-v3")
    sizes = {"tokens_per_chip": tokens, "copies": moe.moe.active, "width": moe.d_model}  # type: ignore[union-attr]
    total, rate = eq.ep_bytes(**sizes, **eq.FP8_OUT), network.scale_up
    if nodes == 1:
        return eq.exchange_time(start_time=0, message=total, chips=NODE, scale_up=rate) * 1e6
    return eq.spread_time(ep_bytes=total, racks=nodes, scale_up=rate, scale_out=network.scale_out) * 1e6


def finish(own: Any) -> dict[str, Any]:
    """Time of a layer by tokens on a GPU: the reader's on one node and on two, the lesson's, and DeepEP's on one."""
    deepseek = model("deepseek-v3")
    moe, rng = deepseek.moe, random.Random(0)
    assert moe

    def played(nodes: int, count: int) -> float:
        gpus = nodes * NODE
        tokens = [(gpu, rng.sample(range(moe.experts), moe.active)) for gpu in range(gpus) for _ in range(count)]
        placement = own.place_experts(moe.experts, gpus)
        return own.layer_time(tokens, placement, deepseek.d_model, _network(nodes)) * 1e6

    ours = {nodes: [(tokens, played(nodes, tokens)) for tokens in COUNTS] for nodes in (1, 2)}
    slower = ours[2][-1][1] / ours[1][-1][1]
    measured = measurement("h200_deepep_ll_intranode").records()
    taken = [(row["tokens_per_gpu"], row["dispatch_us"] + row["combine_us"]) for row in measured]
    return lab_chart(
        f"With {COUNTS[-1]} tokens on each GPU, your traffic of a DeepSeek-V3 layer on H200 takes {slower:.1f} times as"
        " long over two nodes as in one",
        "tokens on each GPU",
        "dispatch and combine (µs)",
        {
            "yours, in one node of 8": Series(ours[1], "point"),
            "yours, over two nodes": Series(ours[2], "point"),
            "the lesson's formula, one node, 8 copies a token": Series([(n, _formula(1, n)) for n in COUNTS]),
            "the lesson's formula, two nodes": Series([(n, _formula(2, n)) for n in COUNTS]),
            "measured with DeepEP, one node": Series([pair for pair in taken if pair[0] <= COUNTS[-1]], "point"),
        },
        log_x=True,
        log_y=True,
    )


LAB = Lab(
    "Build an expert exchange",
    "You place experts on GPUs, count the bytes that each GPU sends to each other, out and back, and time the exchange"
    " in one rack and over two.",
    (PLACE, DISPATCH, COMBINE, TIME, LAYER),
    finish,
    "Once all your functions pass, a chart shows your own times beside the lesson's formula, for eight copies a token,"
    " and beside measured times. In this chart a node of eight GPUs is what the steps call a rack. Two nodes"
    " take several times as long as one, because half of the bytes cross the slower network. With few tokens, your"
    " times are above the formula, because the busiest GPU sends more than the average. The measured times include a"
    " latency that neither your code nor the formula counts. With many tokens they are still above yours, because"
    " DeepEP reaches only part of the datasheet's rate.",
    {"Network": Network},
)
