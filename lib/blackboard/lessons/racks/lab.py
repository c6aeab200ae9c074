"""The lab of the racks lesson: place experts on GPUs, count what they send, and leave the rack."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from blackboard.catalogue import chip, measurement, model
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial
from blackboard.lab_values import same
from blackboard.lessons.racks import equations as eq
from blackboard.lessons.racks.lab_steps import COMBINE, DISPATCH, PLACE, combine, dispatch


class Network(NamedTuple):
    """GPUs in racks of equal size, numbered rack by rack; a GPU sends at `scale_up` in its rack, `scale_out` beyond."""

    gpus: int
    gpus_per_rack: int
    scale_up: float  # byte/s of one GPU
    scale_out: float

    def __repr__(self) -> str:
        return f"Network({', '.join(f'{name}={value:g}' for name, value in self._asdict().items())})"


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
