"""What a lab's solutions return is what the course's own formulas, simulations and allocator say, on 200 cases each."""

import copy
import itertools
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from cases import cases
from lessons import LESSONS, LIB, room

from blackboard.lab_values import same

CASES = 200


def lab(lesson):
    """A lesson's lab module."""
    return room(lesson, "lab")


def eq(lesson):
    """A lesson's formulas."""
    return room(lesson, "equations")


STEPS = {
    (name, step.name)
    for name in LESSONS
    if (LIB / "lessons" / name / "lab.py").exists()
    for step in lab(name).LAB.steps
}


class Pair(NamedTuple):
    """A step's counterpart in the library: from the arguments of a trial to what it says; `view` takes of the step's
    result what can be compared, and `cases` makes arguments that the counterpart takes too.
    """

    library: Callable[..., Any]
    view: Callable[..., Any] = lambda got, *args: got
    cases: Callable[[random.Random], tuple] | None = None
    tolerance: float = 1e-9


# --- batching ---------------------------------------------------------------------------------------------------------

WHOLE = 1e12  # parameters of a model whose weights have a server's bytes


def served(server):
    """A lab's server in the notation's names; a context of one token has all of a sequence's cache."""
    return {
        "n_active": server.n_active,
        "n_total": WHOLE,
        "bytes_per_param": server.weight_bytes / WHOLE,
        "flops": server.flops,
        "bandwidth": server.bandwidth,
        "kv_bytes_per_token": server.kv_bytes,
        "context": 1,
    }


def largest(target, server):
    """The last batch in time, by the library's search step."""
    takes = lambda batch: max(room("batching", "simulation").step(batch, **served(server)))
    return next(batch for batch in itertools.count() if takes(batch + 1) > target)


def ratios(modes, price_ratio, speed_ratio, server):
    """How much dearer and faster the second of two batches is, by the formulas."""
    batching, case = eq("batching"), served(server)
    cost, time = (
        [of(case, batch=batch, **more) for batch in modes]
        for of, more in ((batching.cost_per_token, {"rent": 1, "chips": 1}), (batching.step_time, {}))
    )
    return cost[1] / cost[0], time[0] / time[1]


BATCHING = {
    "step_time": Pair(lambda batch, server: eq("batching").step_time(served(server), batch=batch)),
    "largest_batch": Pair(largest),
    "cost_per_million": Pair(
        lambda batch, rent, server: (
            1e6 * eq("batching").cost_per_token(served(server), batch=batch, rent=rent / 3600, chips=1)
        )
    ),
    "fast_batches": Pair(lambda price, speed, server: (price, speed), ratios, tolerance=1e-6),
}

# --- sparsity ---------------------------------------------------------------------------------------------------------


def top(scores, k):
    """The experts of tokens, by the library's router."""
    return room("racks", "moe").top(np.array(scores), k)


SPARSITY = {
    "choose_experts": Pair(lambda scores, k: sorted(top([scores], k)[0].tolist()), lambda got, *_: sorted(got)),
    "count_touched": Pair(lambda tokens, k: np.unique(top(tokens, k)).size),
    "touched_share": Pair(lambda batch, experts, k: eq("sparsity").coverage(batch=batch, experts=experts, top_k=k)),
    "effective_size": Pair(lambda size, experts: float(room("sparsity", "results").effective(size, experts))),
    "expert_batch": Pair(
        lambda constant, experts, k: eq("sparsity").expert_batch(
            flops=2 * constant, bandwidth=1, bytes_per_param=1, experts=experts, top_k=k
        )
    ),
}

# --- racks ------------------------------------------------------------------------------------------------------------


def held(got, experts, gpus):
    """How many experts each GPU has."""
    return [list(got).count(gpu) for gpu in range(gpus)]


def divided(rng):
    """Experts that divide over GPUs, as the library asks for."""
    gpus = rng.randint(1, 6)
    return gpus * rng.randint(1, 4), gpus


def ran(experts, gpus, seed):
    """A pass of the library's layer: its tokens and placement as the lab has them, and the pass."""
    moe, width = room("racks", "moe"), 3
    layer, place = moe.Layer.random(width, 2, experts, min(2, experts), seed=seed), moe.place(experts, gpus)
    x = np.random.default_rng(seed).standard_normal((2 * gpus, width))
    tokens = [(n // 2, chosen.tolist()) for n, chosen in enumerate(layer.route(x).experts)]
    return (tokens, place.hosts[0].tolist(), gpus, width), moe.parallel(layer, x, place, "expert")


def passes(rng):
    return *divided(rng), rng.randint(0, 999)


def sent(traffic):
    """The bytes that leave their GPU."""
    return (traffic.matrix * ~np.eye(len(traffic.matrix), dtype=bool)).tolist()


def both_ways(got, bytes_sent, network):
    """The lab's time of sending or of receiving, whichever is longer: the library counts both."""
    turned = [list(column) for column in zip(*bytes_sent)]
    return max(lab("racks").exchange_time(each, network) for each in (bytes_sent, turned))


def sending(traffic, network):
    """The time of the GPU that sends longest, with the library's count of what leaves a rack."""
    bytes_sent, out = np.array(sent(traffic)), traffic.crosses(network.gpus // network.gpus_per_rack)
    return max((bytes_sent * ~out).sum(1).max() / network.scale_up, (bytes_sent * out).sum(1).max() / network.scale_out)


def both_exchanges(tokens, placement, copy_bytes, network):
    """Seconds of the way out and the way back, from the bytes that the lab's dispatch counts."""
    traffic, out = (
        room("racks", "moe").Traffic,
        np.array(lab("racks").dispatch(tokens, placement, network.gpus, copy_bytes)),
    )
    return sending(traffic(out), network) + sending(traffic(2 * out.T), network)


def traffic_time(bytes_sent, network):
    traffic = room("racks", "moe").Traffic(np.array(bytes_sent))
    return traffic.time(network.scale_up, network.scale_out, racks=network.gpus // network.gpus_per_rack)


RACKS = {
    "place_experts": Pair(
        lambda experts, gpus: held(room("racks", "moe").place(experts, gpus).hosts[0].tolist(), experts, gpus),
        held,
        divided,
    ),
    "dispatch": Pair(
        lambda tokens, placement, gpus, width, seed: sent(ran(len(placement), gpus, seed)[1].dispatch),
        lambda got, *_: got,
        lambda rng: (lambda case: (*ran(*case)[0], case[2]))(passes(rng)),
    ),
    "combine": Pair(
        lambda out, case: sent(ran(*case)[1].combine),
        lambda got, *_: got,
        lambda rng: (lambda case: (sent(ran(*case)[1].dispatch), case))(passes(rng)),
    ),
    "exchange_time": Pair(traffic_time, both_ways),
    "layer_time": Pair(both_exchanges),
}

# --- pipelining -------------------------------------------------------------------------------------------------------


def timed(schedule, costs):
    """The library's run of a lab's schedule; None where it gets stuck."""
    timeline = room("pipelining", "timeline")
    rows = [[timeline.Pass(name[0], int(name[1:]), stage) for name in row] for stage, row in enumerate(schedule)]
    split = any(name[0] == "W" for row in schedule for name in row)  # else the library adds W's time to B's
    try:
        return timeline.simulate(timeline.Schedule(rows), timeline.Costs(costs["F"], costs["B"], split * costs["W"]))
    except timeline.Deadlock:
        return None


def ends(schedule, costs):
    run = timed(schedule, costs)
    return run and {(f"{box.kind}{box.micro_batch}", box.device): box.end for box in run.boxes}


def names(schedule):
    """The library's schedule in the lab's names."""
    return [[f"{each.kind}{each.micro_batch}" for each in row] for row in schedule.passes]


def waits(name, stage, stages):
    found = room("pipelining", "timeline").needs((name[0], int(name[1:]), stage), stages - 1)
    return sorted((f"{kind}{number}", at) for kind, number, at in found)


def ranked(schedule, costs):
    run = timed(schedule, costs)
    return run.period_bubble, run.most_held


PIPELINING = {
    "needs": Pair(waits, lambda got, *_: sorted(got)),
    "end_times": Pair(ends),
    "gpipe": Pair(lambda *sizes: names(room("pipelining", "simulation").gpipe(*sizes))),
    "one_f_one_b": Pair(lambda *sizes: names(room("pipelining", "simulation").one_f_one_b(*sizes))),
    "score": Pair(ranked),
}

# --- overtraining -----------------------------------------------------------------------------------------------------


def counted(widths, tokens):
    """FLOPs of the library's network of these matrices, whose embedding does not learn."""
    net, read = room("overtraining", "simulation").Network(widths[-1], widths[:-1]), np.zeros(tokens, int)
    net.gradients(read, read, learn_embedding=False)
    return sum(net.work.values())


def life(n_active, trained, served_tokens, eta):
    formulas = eq("overtraining")
    train = formulas.pretrain_compute(n_active=n_active, pretrain_tokens=trained) if trained else 0
    serve = {"n_active": n_active, "inference_tokens": served_tokens, "decode_efficiency": eta}
    return train + (formulas.inference_compute(serve) if served_tokens else 0)


def law():
    return lab("overtraining")._FIT


def cheapest_size(loss, served_tokens, eta, sizes):
    trained = room("overtraining", "simulation").trained
    return min(sizes, key=lambda size: trained(size, loss, served_tokens, law(), eta).total)


OVERTRAINING = {
    "training_flops": Pair(counted),
    "lifetime_flops": Pair(life),
    "tokens_needed": Pair(lambda n, loss: room("overtraining", "simulation").tokens_to(loss, n, law())),
    "cheapest_size": Pair(cheapest_size),
    "equal_cost_tokens": Pair(lambda n, eta: n * eq("overtraining").inference_coefficient(decode_efficiency=eta)),
}

# --- pricing ----------------------------------------------------------------------------------------------------------


def kept(kv, hold_time, device):
    found = {f"tier_{name}": value for name, value in device.items()}
    return eq("pricing").tier_cost(found, kv_bytes_per_token=kv, hold_time=hold_time)


def cheapest_place(kv, hold_time, devices, again):
    simulation = room("pricing", "simulation")
    places = {name: simulation.Place(**device) for name, device in devices.items()}
    return simulation.cheapest(hold_time, places, kv, again).replace("recompute", "again")


PRICING = {
    "implied_kv": Pair(
        lambda n, flops, bandwidth, step: eq("pricing").kv_implied(
            n_active=n, flops=flops, bandwidth=bandwidth, step_context=step
        )
    ),
    "uses_to_pay": Pair(lambda write, read: eq("pricing").uses_even(write_ratio=write, read_ratio=read)),
    "keep_cost": Pair(kept),
    "cheapest": Pair(cheapest_place),
}

# --- reversibility ----------------------------------------------------------------------------------------------------


def rounds(keys):
    """The lab's rounds as the library's functions of one half."""
    return [lambda half, key=key: lab("reversibility").mix(half, key) for key in keys]


def encrypted(left, right, keys):
    """The library writes a block as (new half, old half), the lab as (old half, new half)."""
    x, y = room("reversibility", "simulation").couple(right, left, rounds(keys), lambda a, b: a ^ b)
    return y, x


def decrypted(left, right, keys):
    x, y = room("reversibility", "simulation").uncouple(right, left, rounds(keys), lambda a, b: a ^ b)
    return y, x


def uncoupled(y1, y2, f, g):
    """The block is two rounds, with f of the second stream first."""
    return room("reversibility", "simulation").uncouple(y2, y1, [f, g], lambda a, b: a - b)[::-1]


def checkpointed(depth, segment, stream, layer):
    return eq("reversibility").checkpointed(depth=depth, segment=segment, stream_bytes=stream, layer_bytes=layer)


def best_distance(depth, stream, layer):
    lengths = [n for n in range(1, depth + 1) if depth % n == 0]
    return min(lengths, key=lambda segment: round(checkpointed(depth, segment, stream, layer), 6))


REVERSIBILITY = {
    "encrypt": Pair(encrypted),
    "decrypt": Pair(decrypted),
    "undo_block": Pair(uncoupled),
    "checkpoint": Pair(checkpointed, lambda got, *_: got[0]),
    "best_segment": Pair(best_distance),
}

# --- speculation ------------------------------------------------------------------------------------------------------


def some(chances, *_):
    """A distribution without what never comes."""
    return {token: chance for token, chance in chances.items() if chance > 1e-12}


def one_round(draft, target, keep, replace):
    """The library's enumeration of one guess, under the lab's rule."""
    found = room("speculation", "distributions")
    rule = found.Rule(lambda p, q, token: keep(token, q, p), lambda p, q: replace(q, p))
    return some(found.outcome(lambda _: draft, lambda _: target, "", 1, 1, rule))


def gained(drafted, acceptance, draft_ratio, memory_ratio):
    return room("speculation", "simulation").gain(acceptance, drafted, draft_ratio, memory_ratio)


def per_round(acceptance, drafted):
    """Where no guess takes time and reading takes endlessly long, the gain is the tokens of a round."""
    return room("speculation", "simulation").gain(acceptance, drafted, 0)


SPECULATION = {
    "keep_chance": Pair(
        lambda guess, draft, target: room("speculation", "distributions").RIGHT.keep(target, draft, guess)
    ),
    "replacement": Pair(lambda draft, target: room("speculation", "distributions").residual(target, draft), some),
    "round_outcome": Pair(one_round, some),
    "tokens_per_round": Pair(per_round),
    "speedup": Pair(gained),
    "best_drafted": Pair(lambda *load: room("speculation", "simulation").best_drafted(*load).drafted),
}

# --- paging -----------------------------------------------------------------------------------------------------------


class Pool:
    """The library's pool of blocks under the lab's names."""

    def __init__(self, count):
        self.pool = room("paging", "allocator").BlockPool(count)

    def take(self):
        try:
            return self.pool.take()
        except room("paging", "allocator").OutOfRoom:
            return None

    def share(self, block):
        self.pool.share(block)

    def release(self, block):
        self.pool.release([block])

    def holders(self, block):
        return self.pool.references[block]


def counts(seen, *_):
    """Which moves were refused, and how many held the block of the others; blocks may have other numbers."""
    return [each and each.holders for each in seen]


def after_append(made):
    """What a token more leaves: refused or not, the table but for a new block's number, all counts of holders."""

    def left(blocks, table, tokens, page_tokens):
        before = list(table)
        got = made(blocks, table, tokens, page_tokens)
        held = blocks.counts if hasattr(blocks, "counts") else blocks.pool.references
        return got is None, [block for block in table if block in before], len(table), sorted(held)

    return left


def appended(blocks, table, tokens, page_tokens):
    """The same with the library's allocator, brought to the same state."""
    paging = room("paging", "allocator")
    allocator = paging.Allocator(len(blocks.counts), page_tokens, caching=False)
    allocator.pool.references = list(blocks.counts)
    allocator.pool.queue = type(allocator.pool.queue).fromkeys(blocks.free)
    allocator.tables, allocator.tokens, allocator.salts = {"it": list(table)}, {"it": [0] * tokens}, {"it": ""}

    def write(_, its_table, *__):
        try:
            allocator.append("it", 0)
        except paging.OutOfRoom:
            return None
        its_table[:] = allocator.tables["it"]
        return its_table[-1]

    return after_append(write)(allocator, table, tokens, page_tokens)


def alike(named, *_):
    """Which blocks of two prompts have the same name as which."""
    every = [name for each in named for name in each]
    return [every.index(name) for name in every]


def chained(tokens, page_tokens, other):
    """The names of both prompts by the library's hash."""
    named = []
    for prompt in (tokens, other):
        digest, found = "", []
        for start in range(0, len(prompt) - page_tokens + 1, page_tokens):
            digest = room("paging", "allocator").chained(digest, prompt[start : start + page_tokens])
            found.append(digest)
        named.append(found)
    return alike(named)


def grown(rng):
    """Visits of conversations that only grow, as the library's cache takes them."""
    lengths, visits = [0, 0, 0], []
    for _ in range(rng.randint(2, 9)):
        talk = rng.randrange(3)
        lengths[talk] += rng.randint(1, 3)
        visits.append([(talk, n) for n in range(lengths[talk])])
    return rng.randint(0, 9), visits


def least_recent(blocks, visits):
    cache = room("paging", "simulation").LRU(blocks)
    return [cache.request(names[0][0], len(names)) for names in visits]


def replayed(prompts, page_tokens, blocks):
    cache = room("paging", "simulation").LRU(blocks)
    found = sum(page_tokens * cache.request(prompt[0], len(prompt) // page_tokens) for prompt in prompts)
    return found / sum(map(len, prompts))


PAGING = {
    "Blocks": Pair(lambda count, moves: counts(room("paging", "lab_steps")._play_moves(Pool, count, moves)), counts),
    "append_token": Pair(appended, lambda got, *args: after_append(room("paging", "lab_steps").append_token)(*args)),
    "block_names": Pair(chained, alike),
    "PrefixCache": Pair(least_recent, cases=grown),
    "hit_rate": Pair(replayed),
}

# --- overheads --------------------------------------------------------------------------------------------------------


def vectors(groups, vector_bytes):
    """Traffic by the chain's time, at a byte a second and without gaps."""
    chains = sum(group != ["matmul"] for group in groups)
    at = {"vector_bytes": vector_bytes, "chip_bandwidth": 1, "kernel_gap": 0}
    return eq("overheads").chain_time(at, fused_ops=chains) if chains else 0


def launched(device_time, kernels, launch, gap):
    """A step that only reads weights, for the device's time."""
    reads = {"batch": 1, "n_active": 1, "flops": 1e9, "n_total": device_time, "bytes_per_param": 1, "bandwidth": 1}
    none = {"context": 0, "kv_bytes_per_token": 1}
    return eq("overheads").eager_time(reads | none, kernels=kernels, launch_time=launch, kernel_gap=gap)


def overlapped(compute, load, send):
    multiplies = {"batch": 1, "n_active": compute / 2, "flops": 1}
    reads = {"n_total": 1000, "bytes_per_param": load / 1000, "bandwidth": 1, "context": 0, "kv_bytes_per_token": 1}
    return eq("overheads").overlap_time(
        multiplies | reads, t_comm=send or 1e-300
    )  # nothing sent is no time that a formula takes


OVERHEADS = {
    "vector_traffic": Pair(vectors),
    "eager_time": Pair(launched),
    "overlap_time": Pair(overlapped),
}

# --- corpus -----------------------------------------------------------------------------------------------------------


def last_pass(least, reuse):
    worth = lambda passes: eq("corpus").repeat_worth(epochs=passes, reuse=reuse)
    return next(passes for passes in itertools.count(1) if worth(passes + 1) < least)


CORPUS = {
    "data_worth": Pair(
        lambda tokens, unique, reuse: eq("corpus").data_worth(pretrain_tokens=tokens, unique_tokens=unique, reuse=reuse)
    ),
    "last_useful_pass": Pair(last_pass),
}

AGREE = {
    (name, step): pair
    for name, pairs in {
        "batching": BATCHING,
        "sparsity": SPARSITY,
        "racks": RACKS,
        "pipelining": PIPELINING,
        "overtraining": OVERTRAINING,
        "pricing": PRICING,
        "reversibility": REVERSIBILITY,
        "speculation": SPECULATION,
        "paging": PAGING,
        "overheads": OVERHEADS,
        "corpus": CORPUS,
    }.items()
    for step, pair in pairs.items()
}
ALONE = {
    ("pipelining", "own_schedule"): "a schedule of one's own has no other version; that it beats 1F1B is checked",
    ("pricing", "pay"): "no formula adds up a bill; the last chart sets it beside a published day",
    ("overheads", "fuse"): "the library's compiler fuses tensors of a whole step, and no list of names",
    ("corpus", "fit_line"): "the library fits curves that bend, and no line; NumPy's line is compared below",
    ("corpus", "resample"): "the library finds ranges by what the points allow, and draws nothing",
    ("corpus", "interval"): "as for resample",
}


def test_each_step_has_a_counterpart_or_a_reason():
    assert set(AGREE) | set(ALONE) == STEPS and not set(AGREE) & set(ALONE)


@cases(("lesson", "name"), AGREE, ids=[f"{lesson}-{name}" for lesson, name in AGREE])
def test_the_solution_agrees_with_the_library(lesson, name):
    step, pair, rng = lab(lesson).LAB[name], AGREE[lesson, name], random.Random(20)
    for _ in range(CASES):
        args = (pair.cases or step.cases)(rng)
        taken = args[: len(args) if pair.cases is None else number_of_arguments(step)]
        got = step.play(step.solution, *copy.deepcopy(taken))
        view, wanted = pair.view(got, *copy.deepcopy(args)), pair.library(*copy.deepcopy(args))
        assert same(view, wanted, pair.tolerance), (args, view, wanted)


def number_of_arguments(step):
    """How many arguments a trial of a step has; cases for a counterpart may have more."""
    return len(step.cases(random.Random(0)))


def test_the_line_is_numpys():
    step, rng = lab("corpus").LAB["fit_line"], random.Random(20)
    for _ in range(CASES):
        [points] = step.cases(rng)
        assert np.allclose(step.solution(points), np.polyfit(*zip(*points), 1), atol=1e-9)
