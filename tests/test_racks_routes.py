"""The second routes of the racks lesson: run the layer in one place and spread out, count copies, count subsets."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blackboard.lessons.racks import equations as eq
from blackboard.lessons.racks import moe, simulation
from blackboard.lessons.racks.moe import Layer, Traffic, parallel, place

FP8, BF16 = 1, 2
SIGMAS = 4.5  # a true claim is refused once in 150,000 runs; seeds are fixed, so a test that passes goes on passing


def tokens(n: int, d_model: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d_model))


def agrees(samples: np.ndarray, expected: float, rival: float) -> bool:
    """The mean is within its statistical error of what is expected, and that error is small enough to refuse the
    rival.

    A rival at twice the error that is allowed would be let through less than once in 150,000 runs: that is the test's
    power.
    """
    error = SIGMAS * samples.std(ddof=1) / math.sqrt(len(samples))
    assert abs(rival - expected) > 2 * error, "too few samples to tell the two apart"
    return abs(samples.mean() - expected) < error


# --- the layer works -------------------------------------------------------------------------------------------------


def written_out(layer: Layer, x: np.ndarray) -> np.ndarray:
    """All experts [tokens, experts + shared, d_model] of all tokens, as one Einstein sum each."""
    gate, up = (np.einsum("td,edf->tef", x, matrix) for matrix in (layer.gate, layer.up))
    return np.einsum("tef,efd->ted", gate * (1 + np.tanh(gate / 2)) / 2 * up, layer.down)


@pytest.mark.parametrize("shared", [0, 1, 2])
def test_all_experts_chosen_is_the_dense_mixture(shared):
    layer, x = Layer.random(12, 7, 6, 6, shared), tokens(20, 12)
    score = (1 + np.tanh(x @ layer.router / 2)) / 2
    weight = np.hstack([score / score.sum(axis=1, keepdims=True), np.ones((20, shared))])
    dense = x + np.einsum("te,ted->td", weight, written_out(layer, x))
    assert np.abs(dense).max() > 1 and np.abs(layer(x) - dense).max() < 1e-12


@pytest.mark.parametrize("top_k", [1, 3, 8])
def test_equal_experts_are_one_network_whatever_the_router_says(top_k):
    """The weights of those chosen add up to one."""
    layer, x = Layer.random(10, 5, 8, top_k), tokens(9, 10)
    for matrices in (layer.gate, layer.up, layer.down):
        matrices[:] = matrices[0]
    assert np.abs(layer(x) - x - layer.expert(0, x)).max() < 1e-12


def test_outputs_are_summed_and_not_put_side_by_side():
    for top_k in (1, 2, 4):
        layer, x = Layer.random(16, 8, 4, top_k, shared=1), tokens(5, 16)
        assert layer(x).shape == x.shape and parallel(layer, x[:4], place(4, 2, 1)).output.shape == (4, 16)
    silent = Layer(layer.router, layer.gate, layer.up, layer.down * 0, 4)
    assert (silent(x) == x).all()  # nothing added: the residual is left
    doubled = Layer(layer.router, layer.gate, layer.up, layer.down * 2, 4)
    assert np.abs((doubled(x) - x) - 2 * (layer(x) - x)).max() < 1e-12


def test_only_the_best_scored_experts_matter():
    layer, x = Layer.random(16, 8, 6, 2), tokens(1, 16)
    best = set(np.argsort(x[0] @ layer.router)[-2:])
    for which in range(6):
        down = layer.down.copy()
        down[which] = 0
        changed = np.abs(Layer(layer.router, layer.gate, layer.up, down, 2)(x) - layer(x)).max() > 1e-6
        assert changed == (which in best)


# --- the layer, spread out -------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.sampled_from([1, 2, 3, 4]), st.integers(1, 4), st.data())
def test_the_spread_layer_equals_the_layer(gpus, each, data):
    experts = gpus * each
    top_k, shared, apart = (
        data.draw(st.integers(1, experts)),
        data.draw(st.integers(0, 2)),
        data.draw(st.integers(0, 2)),
    )
    placement = place(experts, gpus, shared, apart)
    layer, x = Layer.random(11, 6, experts, top_k, shared, seed=experts), tokens(3 * placement.gpus, 11)
    for per in ("expert", "gpu"):
        step = parallel(layer, x, placement, per)
        assert np.abs(step.output - layer(x)).max() < 1e-12
        wide = simulation.traffic(layer.route(x).experts, placement, 11 * FP8, per)  # counted by choices, not messages
        assert (step.dispatch.matrix == wide.matrix).all()
        assert (step.combine.matrix == simulation.back(wide, BF16 / FP8).matrix).all()


def test_at_the_lecture_s_sizes():
    """256 experts on 64 GPUs, 8 and one shared per token: DeepSeek-V3 but for the widths."""
    layer, placement, x = Layer.random(32, 16, 256, 8, 1), place(256, 64, 1), tokens(256, 32)
    assert np.abs(parallel(layer, x, placement).output - layer(x)).max() < 1e-12
    each = np.bincount(placement.hosts[0, :256], minlength=64)
    assert len(each) == 64 and (each == 4).all() and eq.experts_per_chip(experts=256, expert_parallel=64) == 4


def test_an_expert_in_the_wrong_place_would_be_noticed():
    """The comparison can fail: with one expert's weights lost on the way the outputs differ."""
    layer, x = Layer.random(16, 8, 8, 3), tokens(8, 16)
    lost = Layer(layer.router, layer.gate, layer.up, layer.down * (np.arange(8) != 5)[:, None, None], 3)
    assert np.abs(parallel(lost, x, place(8, 4)).output - layer(x)).max() > 1e-3


def test_one_gpu_sends_nothing():
    layer, x = Layer.random(16, 8, 8, 3, 1), tokens(6, 16)
    step = parallel(layer, x, place(8, 1, 1))
    assert step.dispatch.staying == step.combine.staying == 1 and step.time(1, 1) == 0
    assert step.dispatch.leaving(1) == 0 == step.dispatch.busiest[2]


def test_copies_are_bytes():
    """One copy per chosen expert: tokens × (k + shared) × width × bytes, whoever they go to; per GPU never more."""
    layer, x, placement = Layer.random(16, 8, 8, 3, 1), tokens(12, 16), place(8, 4, 1)
    every, once = (parallel(layer, x, placement, per, FP8, BF16) for per in ("expert", "gpu"))
    assert every.dispatch.matrix.sum() == 12 * 4 * 16 and every.combine.matrix.sum() == 2 * 12 * 4 * 16
    assert (
        once.dispatch.matrix <= every.dispatch.matrix
    ).all() and once.dispatch.matrix.sum() < every.dispatch.matrix.sum()
    assert parallel(layer, x, placement, "expert", 2, 2).dispatch.matrix.sum() == 2 * every.dispatch.matrix.sum()


def test_a_shared_expert_at_home_travels_nowhere_and_apart_it_does():
    layer, x = Layer.random(16, 8, 8, 3, 1), tokens(24, 16)
    home, apart = (
        parallel(layer, x[: 4 * n], place(8, 4, 1, further), "expert").dispatch for n, further in ((4, 0), (6, 2))
    )
    assert home.matrix.shape == (4, 4) and apart.matrix.shape == (6, 6)
    assert np.trace(home.matrix) >= 16 * 16 and (apart.matrix[:4, 4:].sum(axis=1) == 4 * 16).all()


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, description",
    [
        (lambda: Layer.random(8, 4, 4, 5), "1 to 4 of 4"),
        (lambda: Layer.random(8, 4, 4, 0), "1 to 4 of 4"),
        (
            lambda: Layer(np.ones((8, 2)), np.ones((2, 8, 4)), np.ones((2, 8, 4)), np.ones((2, 8, 4)), 1),
            "shapes do not fit",
        ),
        (lambda: Layer.random(8, 4, 4, 2)(np.ones(8)), r"give \[tokens, 8\]"),
        (lambda: Layer.random(8, 4, 4, 2).route(np.ones((3, 7))), r"give \[tokens, 8\]"),
        (lambda: place(256, 72), r"take 64 \(4 each\) or 128 \(2 each\)"),
        (lambda: place(256, 0), "take 1"),
        (lambda: place(8, 4).sources(9), "multiple of 4"),
        (lambda: parallel(Layer.random(8, 4, 4, 2), np.ones((4, 8)), place(8, 2)), "the placement has 8 experts"),
        (lambda: parallel(Layer.random(8, 4, 4, 2), np.ones((4, 8)), place(4, 2), "rack"), "per is 'rack'"),
        (lambda: simulation.traffic(np.zeros((4, 1), int), place(4, 2), 1, "rack"), "per is 'rack'"),
        (lambda: Traffic(np.ones((6, 6))).leaving(4), "4 equal racks"),
        (lambda: simulation.blocks(256, 72), "divisor of 256"),
        (lambda: moe.top(np.ones((2, 4)), 5), "there are 4"),
        (lambda: moe.top(np.ones((2, 6)), 2, 4, 2), "4 equal groups"),
        (lambda: moe.top(np.ones((2, 8)), 5, 4, 2), "cannot give 5"),
    ],
)
def test_what_does_not_fit_is_refused(call, description):
    with pytest.raises(ValueError, match=description):
        call()


# --- traffic and racks -----------------------------------------------------------------------------------------------


def even(gpus: int, each: int = 1) -> Traffic:
    """A layer whose tokens take all experts: everybody sends everybody the same."""
    everything = np.tile(np.arange(gpus * each), (gpus, 1))
    return simulation.traffic(everything, place(gpus * each, gpus), 1.0)


@pytest.mark.parametrize("racks", [1, 2, 4, 8, 64])
def test_of_even_traffic_all_leaves_but_the_own_rack_s_share(racks):
    """By listing pairs of GPUs. Of the bytes that move at all it is a little more: the own GPU's stay."""
    pairs = list(itertools.product(range(64), repeat=2))
    left = Fraction(sum(a * racks // 64 != b * racks // 64 for a, b in pairs), len(pairs))
    traffic = even(64, 4)
    assert traffic.leaving(racks) == left == pytest.approx(eq.leaving(racks=racks)) and traffic.staying == 1 / 64
    moved = traffic.leaving(racks) / (1 - traffic.staying)
    assert moved == pytest.approx((racks - 1) / racks * 64 / 63)


@pytest.mark.parametrize("per", ["expert", "gpu"])
@pytest.mark.parametrize("racks", [2, 4])
def test_of_random_traffic_as_much_leaves(racks, per):
    """Each token's fraction is a sample; the rival is a rack more or less."""
    placement, chosen = place(256, 64), simulation.route(64 * 300, 256, 8)
    here, there = placement.sources(len(chosen)) * racks // 64, placement.targets(chosen) * racks // 64
    out = (here[:, None] != there).mean(axis=1)
    assert agrees(out, (racks - 1) / racks, racks / (racks + 1))
    counted = simulation.traffic(chosen, placement, 1.0, per).leaving(racks)
    assert counted == pytest.approx(out.mean(), abs=1e-12 if per == "expert" else 2e-3)


def test_two_racks_at_an_eighth_of_the_bandwidth_take_four_times_as_long():
    """64/63 of it, since in one rack the own GPU's share takes no time."""
    ratios = [0.5, 1, 4, 8, 9, 18]
    found = simulation.slowdowns(even(64), ratios) * 63 / 64
    assert found[3] == pytest.approx(4)
    for ratio, factor in zip(ratios, found):
        by_hand = max(31 / 64, ratio * 32 / 64)  # 31 others in the rack, 32 GPUs outside
        assert factor == pytest.approx(by_hand) and factor == pytest.approx(
            eq.slowdown(racks=2, scale_up=ratio, scale_out=1), abs=0.02
        )
    random = simulation.traffic(simulation.route(64 * 64, 256, 8), place(256, 64), 1.0)
    assert simulation.slowdowns(random, [8])[0] == pytest.approx(4, rel=0.1)


def forwarded(chosen: np.ndarray, gpus: int, racks: int) -> Traffic:
    """Traffic copy by copy: a token crosses once to the GPU of its own number in another rack, which passes it on."""
    each, matrix = gpus // racks, np.zeros((gpus, gpus))
    for source, targets in zip(np.arange(gpus).repeat(len(chosen) // gpus), chosen * gpus // 256):
        for rack in {int(target) // each for target in targets}:
            near = rack * each + source % each  # the source itself, in its own rack
            matrix[source, near] += near != source
            for target in targets[targets // each == rack]:
                matrix[near, target] += 1
    return Traffic(matrix)


@pytest.mark.parametrize("racks", [2, 4])
def test_crossing_once_is_a_few_times_faster_than_copy_by_copy(racks):
    """Mean bytes of a GPU's card and of its links inside, both ways of crossing, against one rack's eight copies."""
    gpus, tokens = 64, 60
    chosen = simulation.route(gpus * tokens, 256, 8)
    every = simulation.traffic(chosen, place(256, gpus), 1.0)
    for traffic, copies in (
        (every, 8 * eq.leaving(racks=racks)),
        (forwarded(chosen, gpus, racks), eq.domains_visited(racks=racks, top_k=8)),
    ):
        out = traffic.crosses(racks)
        outside, inside = traffic.matrix[out].sum() / (gpus * tokens), traffic.matrix[~out].sum() / (gpus * tokens)
        assert outside == pytest.approx(copies, rel=0.02)
        assert inside == pytest.approx(8 if traffic is not every else 8 - copies, rel=0.02)
        if traffic is every:
            slower = eq.slowdown(racks=racks, scale_up=18, scale_out=1)
            assert max(outside * 18, inside) / 8 == pytest.approx(slower, rel=0.02)


def test_the_busiest_gpu_decides_in_either_direction():
    """One byte everywhere, 10 more from GPU 1 to GPU 2: in one rack of four, in two of two, and turned round."""
    matrix = np.ones((4, 4))
    matrix[1, 2] += 10
    for traffic in (Traffic(matrix), Traffic(matrix.T)):
        assert traffic.time(2, 1) == 13 / 2 and traffic.time(2, 1, latency=3) == 3 + 13 / 2
        assert traffic.time(2, 1, racks=2) == 12 and traffic.time(100, 1000, racks=2) == 12 / 1000
        assert traffic.time(1, 1000, racks=2) == 1 and traffic.time(1, 13, racks=4) == 1
    assert Traffic(matrix).busiest == (1, 2, 11)


def circulant(gpus: int, per_gpu: int, copies: int) -> np.ndarray:
    """Choices that no chance disturbs: one expert per GPU, every copy leaves, all GPUs receive as much as they send."""
    start = np.arange(gpus).repeat(per_gpu)[:, None]
    order = np.arange(gpus * per_gpu)[:, None] % per_gpu * copies + np.arange(copies)
    return (start + 1 + order % (gpus - 1)) % gpus


@pytest.mark.parametrize("bandwidth, microseconds", [(50e9, 120.96), (900e9, 6.72)])
@pytest.mark.parametrize("gpus", [144, 256, 320])
def test_deepseek_s_time_of_a_layer(gpus, bandwidth, microseconds):
    """arXiv 2505.09343, section 2.3.2: 32 tokens on a GPU, 9 copies each, 7,000 wide, out in FP8 and back in BF16."""
    out = simulation.traffic(circulant(gpus, 32, 9), place(gpus, gpus), 7_000 * FP8)
    back = simulation.back(out, BF16 / FP8)
    assert out.staying == 0
    counted = sum(way.time(scale_up=bandwidth, scale_out=bandwidth) for way in (out, back))
    assert counted * 1e6 == pytest.approx(microseconds, rel=1e-12)
    sizes = dict(tokens_per_chip=32, copies=9, width=7_000, dispatch_bytes=FP8, combine_bytes=BF16)
    assert counted == pytest.approx(eq.ep_time(**sizes, scale_up=bandwidth), rel=1e-12)


def test_no_routing_beats_deepseek_s_time_and_chance_makes_it_longer():
    """Its decoding unit: 256 GPUs with an expert each, 64 with the shared one, 32 tokens on all 320."""
    placement = place(256, 256, shared=1, shared_gpus=64)
    always = np.full((320 * 32, 1), 256)
    out = simulation.traffic(np.hstack([simulation.route(320 * 32, 256, 8), always]), placement, 7_000 * FP8)
    sent, received = out.matrix.sum(axis=1), out.matrix.sum(axis=0)
    assert (sent == 32 * 9 * 7_000).all() and sent.sum() == received.sum()
    assert received[:256].mean() == pytest.approx(320 * 7_000)  # 320 GPUs send, 256 have routed experts
    counted = out.time(50e9, 50e9) + simulation.back(out).time(50e9, 50e9)
    assert 120.96 < 320 / 288 * 120.96 < counted * 1e6 < 1.5 * 120.96


def test_to_send_every_token_to_all_experts_is_32_times_as_much():
    chosen, every = simulation.route(128, 256, 8), np.tile(np.arange(256), (128, 1))
    few, all_ = (simulation.traffic(c, place(256, 64), 1.0).matrix.sum() for c in (chosen, every))
    assert all_ / few == 32 == eq.broadcast_waste(experts=256, top_k=8)


# --- where tokens go -------------------------------------------------------------------------------------------------


@functools.cache
def chosen():
    """The experts that 50,000 tokens choose; nothing may change them."""
    return simulation.route(50_000, 256, 8)


def mean(chances: list[Fraction]) -> Fraction:
    return sum(n * chance for n, chance in enumerate(chances))


@pytest.mark.parametrize("experts, places, top_k", [(6, 3, 2), (8, 4, 3), (9, 3, 4), (8, 8, 3), (6, 1, 4)])
def test_counting_subsets_agrees_with_listing_them(experts, places, top_k):
    size = experts // places
    hits = [len({e // size for e in subset}) for subset in itertools.combinations(range(experts), top_k)]
    assert simulation.places_exactly(experts, places, top_k) == [
        Fraction(hits.count(n), len(hits)) for n in range(places + 1)
    ]


@pytest.mark.parametrize("places", [8, 32, 64, 128])
def test_how_many_gpus_hold_a_token_s_eight_experts(places):
    """Two ways to count, and the draw; the rival puts experts back, so that one may be chosen twice."""
    chances, size = simulation.places_exactly(256, places, 8), 256 // places
    missed = Fraction(math.comb(256 - size, 8), math.comb(256, 8))
    assert sum(chances) == 1 and mean(chances) == places * (1 - missed)
    hit = simulation.places_hit(chosen(), simulation.blocks(256, places))
    assert agrees(hit, float(mean(chances)), places * (1 - (1 - 1 / places) ** 8))
    assert np.abs(np.bincount(hit, minlength=places + 1) / len(hit) - np.array(chances, float)).max() < 0.01


def test_on_the_lecture_s_64_gpus_they_are_7_68_and_with_an_expert_on_each_gpu_8():
    assert round(float(mean(simulation.places_exactly(256, 64, 8))), 2) == 7.68
    assert mean(simulation.places_exactly(256, 256, 8)) == 8
    assert (simulation.places_hit(chosen(), simulation.blocks(256, 256)) == 8).all()


def test_the_formula_for_distinct_gpus_is_near_the_count():
    """It takes a GPU's experts for independent."""
    exact = float(mean(simulation.places_exactly(256, 64, 8)))
    assert eq.distinct_chips(experts=256, top_k=8, expert_parallel=64) == pytest.approx(exact, rel=0.01)


def test_the_layer_s_own_router_hits_as_many():
    """Random weights and tokens have no favourites in the long run: over many routers the mean is the count."""
    hits = []
    for seed in range(60):
        layer, x = Layer.random(128, 1, 64, 8, seed=seed), tokens(20, 128, 1_000 + seed)
        hits.append(simulation.places_hit(layer.route(x).experts, simulation.blocks(64, 16)).mean())
    assert agrees(np.array(hits), float(mean(simulation.places_exactly(64, 16, 8))), 16 * (1 - (15 / 16) ** 8))


def test_skewed_choices_follow_their_popularity():
    """Two of five, drawn one after the other: the chance of each pair by listing both orders."""
    chance = simulation.popularity(5, 1.0)
    assert sorted(chance / chance.max()) == pytest.approx([1 / 5, 1 / 4, 1 / 3, 1 / 2, 1])
    chosen = np.sort(simulation.route(500_000, 5, 2, skew=1.0), axis=1)
    for a, b in itertools.combinations(range(5), 2):
        exact = chance[a] * chance[b] / (1 - chance[a]) + chance[b] * chance[a] / (1 - chance[b])
        pair = (chosen == [a, b]).all(axis=1)
        assert agrees(
            pair.astype(float), exact, 2 * chance[a] * chance[b]
        )  # the rival forgets that none is taken twice


def expected_maximum(n: int, chance: float, of: int) -> float:
    """Mean of the largest of `of` binomial loads, taken for independent: the sum of P(max > m)."""
    below, total = 0.0, 0.0
    for load in range(n + 1):
        ways = math.lgamma(n + 1) - math.lgamma(load + 1) - math.lgamma(n - load + 1)  # logarithm of C(n, load)
        below += math.exp(ways + load * math.log(chance) + (n - load) * math.log1p(-chance))
        total += 1 - min(below, 1) ** of
    return total


@pytest.mark.parametrize("batch", [512, 2_048, 8_192])
def test_even_chances_do_not_make_even_loads(batch):
    """Experts are drawn like lots: their loads are binomial, and the fullest of 256 is as full as the largest of 256
    such.
    """
    loads = [simulation.expert_loads(simulation.route(batch, 256, 8, seed=seed), 256) for seed in range(12)]
    assert all(load.sum() == batch * 8 for load in loads)
    assert np.mean([load.var() for load in loads]) == pytest.approx(batch * 8 / 256 * (1 - 8 / 256), rel=0.1)
    found = np.mean([simulation.imbalance(load) for load in loads])
    assert found - 1 == pytest.approx(expected_maximum(batch, 8 / 256, 256) / (batch * 8 / 256) - 1, rel=0.1)


def test_imbalance_shrinks_with_batch_and_with_experts_per_gpu_and_grows_with_skew():
    placement = place(256, 64)
    small, large, skewed = (simulation.route(n, 256, 8, skew) for n, skew in ((640, 0), (6_400, 0), (6_400, 0.5)))
    expert = [simulation.imbalance(simulation.expert_loads(c, 256)) for c in (large, small, skewed)]
    gpu = [simulation.imbalance(simulation.gpu_loads(c, placement)) for c in (large, small, skewed)]
    assert expert == sorted(expert) and gpu == sorted(gpu) and all(g < e for g, e in zip(gpu, expert))
    assert simulation.imbalance(simulation.gpu_loads(large, place(256, 1))) == 1


# --- at most so many nodes -------------------------------------------------------------------------------------------


def limited(scores: list[float], top_k: int, groups: int, limit: int) -> set[int]:
    """The same choice by lists: groups by the sum of their two best, then experts."""
    size = len(scores) // groups
    group = [sorted(scores[g * size : (g + 1) * size])[-2:] for g in range(groups)]
    kept = sorted(range(groups), key=lambda g: sum(group[g]))[-limit:]
    return set(sorted((e for e in range(len(scores)) if e // size in kept), key=scores.__getitem__)[-top_k:])


@pytest.mark.parametrize(
    "experts, top_k, groups, limit", [(256, 8, 8, 4), (256, 8, 8, 1), (64, 6, 8, 3), (16, 4, 4, 2)]
)
def test_the_limited_choice_is_that_of_plain_lists(experts, top_k, groups, limit):
    scores = simulation.affinities(150, experts)
    chosen = moe.top(scores, top_k, groups, limit)
    assert [set(row) for row in chosen] == [limited(list(row), top_k, groups, limit) for row in scores]


def test_a_limit_of_all_groups_is_none():
    scores = simulation.affinities(200, 256)
    assert (np.sort(moe.top(scores, 8, 8, 8), axis=1) == np.sort(moe.top(scores, 8), axis=1)).all()


def test_deepseek_s_limit_saves_nodes():
    free, bound = (simulation.nodes_hit(5_000, 256, 8, 8, limit) for limit in (None, 4))
    assert agrees(
        free, float(mean(simulation.places_exactly(256, 8, 8))), 5
    )  # the rival: one node fewer for three tokens in ten
    assert free.max() > 4 == bound.max() and 3.9 < bound.mean() < 4


def test_why_the_counted_slowdown_is_above_four():
    """One run: the busiest GPU stretches both times alike; what stays on its GPU shortens one rack's."""
    layer, x = Layer.random(32, 16, 64, 8, seed=2), tokens(1024, 32)
    step = parallel(layer, x, place(64, 16), "expert")
    sent, staying, leaves = step.dispatch.matrix.sum() / 16, step.dispatch.staying, step.dispatch.leaving(2)
    one = step.dispatch.time(900e9, 900e9 / 8) / (sent * (1 - staying) / 900e9)
    two = step.dispatch.time(900e9, 900e9 / 8, racks=2) / (sent * leaves / (900e9 / 8))
    assert [one, two, 1.2] == pytest.approx(3 * [step.dispatch.fullest], rel=0.02)
    assert [8 * leaves / (1 - staying), 8 * 0.4988 / (1 - 0.0647)] == pytest.approx([4.27, 4.27], abs=0.005)
    assert step.time(900e9, 900e9 / 8, racks=2) / step.time(900e9, 900e9 / 8) == pytest.approx(4.268, abs=5e-4)


def test_what_stays_on_its_gpu_is_not_sent():
    """The page's first run: about an eighth of the copies stay."""
    layer, x = Layer.random(64, 32, 32, 4, seed=1), np.random.default_rng(0).standard_normal((64, 64))
    step = parallel(layer, x, place(32, 8), "expert")
    routed = simulation.traffic(layer.route(x).experts, place(32, 8), 64.0)
    assert step.dispatch.sent == 14_272 == routed.matrix.sum() - np.trace(routed.matrix)
    assert step.combine.sent == 2 * step.dispatch.sent and routed.matrix.sum() == 16_384
    assert routed.staying == pytest.approx(1 / 8, abs=0.01)


def test_shared_experts_on_gpus_of_their_own_get_as_much_as_the_others():
    """A rack: 64 GPUs with four of 256 experts each, 8 with the shared one; 32 tokens on each of the 72."""
    placement = place(256, 64, shared=1, shared_gpus=8)
    chosen = np.hstack([simulation.route(72 * 32, 256, 8), np.full((72 * 32, 1), 256)])
    received = simulation.traffic(chosen, placement, 1.0).matrix.sum(axis=0)
    assert received[64:] == pytest.approx([288] * 8) and received[:64].mean() == 288 == 8 * 72 * 32 / 64


def test_over_two_racks_a_card_brings_as_many_copies_as_it_sends():
    """128 GPUs with two of 256 experts each, the shared one on every GPU: four copies for a token of a GPU."""
    rack = np.arange(128) // 64
    matrix = simulation.traffic(simulation.route(128 * 32, 256, 8), place(256, 128), 1.0).matrix
    over = matrix * (rack[:, None] != rack)
    for way in (0, 1):
        assert over.sum(axis=way).mean() == pytest.approx(128, rel=0.01)
        assert matrix.sum(axis=way).mean() == 256
    assert eq.slowdown(racks=2, scale_up=18, scale_out=1) == 128 / 256 * 18


# --- the table -------------------------------------------------------------------------------------------------------


def test_the_page_s_table_counts_what_the_matrices_say():
    layer, x = Layer.random(16, 8, 16, 4), tokens(64, 16)
    step = parallel(layer, x, place(16, 8), "expert")
    rows = {row.name: row for row in moe.compared(step, 2, 8.0, 1.0, leaving=0.5)}
    assert rows["dispatched"].counted == 8 * 4 * 16 and rows["combined"].counted == 2 * 8 * 4 * 16
    assert rows["leaving"].formula == 0.5 and rows["staying"].formula is None
    assert rows["slowdown"].counted == pytest.approx(step.time(8, 1, racks=2) / step.time(8, 1))
    page = moe.compare(step, 2, 8.0, 1.0, leaving=0.5)
    assert page.count("<tr>") == 2 and "0.5000" in page  # the one formula that was given
    with pytest.raises(ValueError, match="the rows are dispatched"):
        moe.compare(step, 2, 8.0, 1.0, left=0.5)
