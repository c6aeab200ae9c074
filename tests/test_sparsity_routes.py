"""The sparsity lesson's formulas against other routes: plain arithmetic, search, tokens that choose, and the lecture's
numbers.
"""

from __future__ import annotations

import contextlib
import io
import math
import re

import numpy as np
import pytest
from lessons import find_cell, run_cell

from blackboard.catalogue import chip, measurement, model, system
from blackboard.catalogue.gpu_lab import rows
from blackboard.catalogue.running_case import RUNNING
from blackboard.formula import FormulaError
from blackboard.lessons.batching import equations as step
from blackboard.lessons.batching.simulation import crossing
from blackboard.lessons.sparsity import equations as eq
from blackboard.lessons.sparsity import numbers, results, simulation
from blackboard.units import significant

FITS = {row["router"]: row for row in measurement("routed_scaling_law").records()}


# --- the lecture's numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "id, precision, expected",
    [
        ("h100-sxm", "fp8", 295.4),
        ("b200", "fp4", 281.25),
        ("a100-80gb", "bf16", 153.0),
        ("gb200-nvl72", "fp8", 312.5),
        ("gb300-nvl72", "fp4", 468.75),
        ("h200", "bf16", 206.1),
    ],
)
def test_hardware_constants(id, precision, expected):
    assert {(row.chip.id, row.precision): row.value for row in results.constants()}[id, precision] == pytest.approx(
        expected, rel=5e-4
    )


def test_the_lectures_batches():
    """300 times 8; by published parameters 5,440.5; by experts 9,600."""
    on = dict(flops=600.0, bandwidth=1.0, bytes_per_param=1)  # C = 300
    assert eq.expert_batch(experts=256, top_k=32, **on) == 2_400
    assert eq.expert_batch(experts=256, top_k=8, **on) == 9_600
    assert step.critical_batch(n_total=671e9, n_active=37e9, **on) == pytest.approx(5_440.5, abs=0.1)
    assert eq.racks_needed(world_rate=1e8, batch=2_000, interval=1 / 64) == pytest.approx(781, abs=0.5)
    assert eq.racks_needed(world_rate=5e8, batch=2_000, interval=1 / 64) == pytest.approx(3_906, abs=0.5)
    assert eq.chip_rate(batch=2_000, interval=1 / 64, chips=64) == 2_000


@pytest.mark.slow
def test_with_kv_the_batch_doubles_at_half_the_balanced_context():
    half = step.balanced_context(RUNNING) / 2
    assert step.crossing(RUNNING, context=half) == pytest.approx(2 * step.critical_batch(RUNNING), rel=1e-12)
    names = ("n_active", "n_total", "bytes_per_param", "flops", "bandwidth", "kv_bytes_per_token")
    known = {name: RUNNING.symbols()[name] for name in names}
    assert crossing(context=half, **known) == math.ceil(step.crossing(RUNNING, context=half))
    assert crossing(context=2 * half, limit=2_000_000, **known) is None


def test_neither_size_nor_chips_matter():
    scaled = {name: RUNNING.symbols()[name] * 7 for name in ("n_active", "n_total", "flops", "bandwidth")}
    assert step.critical_batch(RUNNING, **scaled) == pytest.approx(step.critical_batch(RUNNING), rel=1e-12)


# --- as an expert sees it --------------------------------------------------------------------------------------------


def test_tokens_per_expert_are_counted():
    loads = simulation.loads(5_000, 256, 8, seed=3)
    assert loads.sum() == 5_000 * 8
    assert loads.mean() == pytest.approx(eq.tokens_per_expert(batch=5_000, experts=256, top_k=8), rel=1e-12)


def test_the_layered_step_is_the_sum_of_its_parts():
    net = model("deepseek-v3")
    experts = net.moe.layers * net.moe.experts * 3 * net.d_model * net.moe.d_ff  # counted, not inverted from the totals
    assert eq.routed_params(RUNNING) == pytest.approx(experts, rel=1e-12)
    rest = RUNNING.symbols()["n_total"] - experts
    rates = {name: RUNNING.symbols()[name] for name in ("flops", "bandwidth", "bytes_per_param")}
    for batch in (1, 300, 5_584, 20_000):
        ran = simulation.step(batch, [(rest, 1.0), (experts, 8 / 256)], **rates)
        assert eq.layered_time(RUNNING, batch=batch, n_routed=experts) == pytest.approx(ran, rel=1e-9)
        assert ran >= step.step_time(RUNNING, batch=batch, context=0) * (1 - 1e-12), (
            "the roofline of the whole is a floor"
        )


# --- what a batch touches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("experts, top_k", [(256, 8), (128, 4), (384, 8), (256, 32), (16, 16), (8, 1)])
def test_coverage_is_what_tokens_touch(experts, top_k):
    batches, trials = [1, 4, 16, 64], 200
    counted = simulation.touched(batches, experts, top_k, trials=trials, seed=1)
    for batch, share in zip(batches, counted):
        said = eq.coverage(batch=batch, experts=experts, top_k=top_k)
        error = math.sqrt(
            said * (1 - said) / experts / trials
        )  # an upper bound: touched experts exclude each other a little
        assert abs(share - said) <= 4.5 * error + 1e-12


def test_a_straight_line_would_be_seen():
    """The rival B·k/E is outside what the test above allows."""
    counted = simulation.touched([16], 256, 8, trials=200, seed=1)[0]
    assert abs(counted - 16 * 8 / 256) > 10 * math.sqrt(0.25 / 256 / 200)


def test_bytes_touched_count_the_touched_experts():
    net, known = model("deepseek-v3"), RUNNING.symbols()
    expert = net.moe.layers * 3 * net.d_model * net.moe.d_ff  # one expert of each layer
    rest = known["n_total"] - expert * net.moe.experts
    for batch in (1, 5, 64, 500):
        expected = rest + expert * net.moe.experts * (1 - (1 - 8 / 256) ** batch)
        assert eq.bytes_touched(RUNNING, batch=batch) == pytest.approx(expected, rel=1e-9)
    assert eq.bytes_touched(RUNNING, batch=1) == pytest.approx(known["n_active"], rel=1e-12)


def test_skewed_routing_touches_fewer_and_overloads_some():
    even, skewed = (simulation.touched([64], 256, 8, skew=s, trials=100)[0] for s in (0, 0.7))
    assert skewed < even - 0.05
    assert simulation.loads(4_000, 256, 8, skew=0.7).max() > 2 * simulation.loads(4_000, 256, 8).max()


@pytest.mark.parametrize("tokens, experts, top_k", [(3, 4, 4), (5, 6, 2)])
def test_a_token_never_chooses_an_expert_twice(tokens, experts, top_k):
    chosen = simulation.choose(tokens, experts, top_k)
    assert chosen.shape == (tokens, top_k) and all(len(set(row)) == top_k for row in chosen.tolist())
    with pytest.raises(ValueError, match="cannot choose"):
        simulation.choose(1, 4, 5)


# --- what experts are worth -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size, experts, expected",
    [
        (370e6, 64, 1.3686e9),
        (370e6, 16, 2.31 * 370e6),
        (370e6, 128, 4.54 * 370e6),
        (370e6, 512, 6.10 * 370e6),
        (5e6, 128, 51.8e6),
    ],
)
def test_effective_sizes_of_the_sheet(size, experts, expected):
    assert results.effective(size, experts) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("router", FITS)
def test_the_effective_size_is_found_by_search(router):
    for size in (15e6, 370e6, 1.3e9):
        for experts in (2, 64, 512):
            assert results.effective(size, experts, router) == pytest.approx(
                simulation.dense_as_good(size, experts, FITS[router]), rel=1e-9
            )
            assert results.loss(size, experts, router) == pytest.approx(
                simulation.routed_loss(size, experts, FITS[router]), rel=1e-12
            )


def test_the_gain_ends_where_the_fit_says():
    """Above the published cut-off more experts no longer help: the loss rises with them."""
    cutoff = FITS["S-BASE"]["n_cutoff"]
    assert results.loss(cutoff / 30, 512) < results.loss(cutoff / 30, 8)
    assert results.loss(cutoff * 30, 512) > results.loss(cutoff * 30, 8)


def test_the_fit_far_outside_gives_less_than_the_published_comparison():
    """DeepSeek-V3's and Qwen3's dense equals, by halving an interval until the losses agree; at that gain, no draw."""
    told = numbers.as_good()
    for size, experts, said in ((37.55e9, 256, told["g_fit"]), (22.19e9, 128, "2.1")):
        low, high = 1.0, 10.0
        for _ in range(50):
            gain = (low + high) / 2
            larger = results.loss(gain * size, 1) > results.loss(size, experts)
            low, high = (gain, high) if larger else (low, gain)
        assert said == f"{low:.1f}"
    assert float(told["g_fit"]) < float(numbers.team()["team_gain_mixed"]), "the draw would be lost"


def test_one_expert_is_the_dense_model():
    assert results.effective(370e6, 1) == pytest.approx(370e6, rel=1e-12)
    known = results.fit()
    assert results.saturated(1, known) == pytest.approx(FITS["S-BASE"]["E_start"], rel=1e-12)


# --- when it stops being free -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [200, 1_000, 1_600])
def test_the_largest_model_is_found_by_filling_memory(context):
    """Halve an interval: the weights, and the KV of the batch at which multiplying takes as long as all reading."""
    known = RUNNING.symbols()
    cache = context * known["kv_bytes_per_token"]
    batch = lambda n: n / known["bandwidth"] / (2 * known["n_active"] / known["flops"] - cache / known["bandwidth"])
    low, high = 1.0, 1e15
    for _ in range(200):
        middle = low + (high - low) / 2
        low, high = (middle, high) if middle + batch(middle) * cache <= known["hbm"] else (low, middle)
    assert eq.largest_model(RUNNING, context=context) == pytest.approx(low, rel=1e-9)


def test_the_break_even_batch_is_found_by_trying():
    """Cost per token of a sparse model and of the dense one as good, batch by batch, without KV."""
    known, base, h, g = RUNNING.symbols(), 370e6, 22.0, 3.7
    cost = lambda batch, active, stored: max(2 * batch * active / known["flops"], stored / known["bandwidth"]) / batch
    cheaper = next(b for b in range(1, 20_000) if cost(b, base, h * base) <= cost(b, g * base, g * base))
    even = eq.break_even(RUNNING, n_active=base, n_total=h * base, context=0, quality_gain=g)
    assert cheaper == math.ceil(even)
    assert cost(50_000, g * base, g * base) / cost(50_000, base, h * base) == pytest.approx(g)


def test_the_race_is_what_counted_steps_say():
    """Count the experts that tokens choose, and take the longer of loading and computing."""
    known, kv = RUNNING.symbols(), 61 * 576 * 2
    active, stored = known["n_active"], known["n_total"]
    for case, flops, bandwidth in ((RUNNING, 3.6e17, 5.76e14), (results.TEAM, 8 * 1.9789e15, 8 * 4.8e12)):
        counted_steps(case, flops, bandwidth, active, stored, kv)


def counted_steps(case, flops, bandwidth, active, stored, kv):
    """Steps of the two models on a machine, at several batches, contexts and gains, beside those of the lesson."""
    for batch, context, gain in ((1, 1_000, 2), (3, 1_000, 2.5), (40, 5_000, 2), (300, 100, 5), (8_000, 1_000, 5)):
        other = 1 - (31 / 32) ** (batch - 1)  # that somebody else brings an expert that a token leaves out
        loads = active + (stored - active) * other, gain * active
        computed = batch * 2 * active / flops
        times = [max(computed * n, (load + batch * context * kv) / bandwidth) for n, load in zip((1, gain), loads)]
        assert tuple(results.race(batch, context, case, gain)) == pytest.approx(times, rel=1e-9)


def test_where_the_dense_model_waits_for_compute():
    """From the team's sequences on, at either published gain and at the team's context; C needs no format alone."""
    known, kv = results.TEAM.symbols(), 2_000 * 61 * 576 * 2
    for gain in results.GAINS:
        size = gain * known["n_active"]
        computes = lambda b: 2 * b * size / known["flops"] > (size + b * kv) / known["bandwidth"]
        assert next(b for b in range(1, 10_000) if computes(b)) in range(200, results.TEAM_BATCH + 1)
    gb300 = chip("gb300-nvl72")
    assert gb300.flops("fp4") / gb300.flops("fp8") == pytest.approx(3)
    assert gb300.hardware_constant("fp4") / gb300.hardware_constant("fp8") == pytest.approx(1.5)
    ours, theirs = model("deepseek-v3"), [model(name) for name in ("qwen3-30b-a3b", "qwen3-235b-a22b")]
    stored = lambda net: net.symbols("fp8")["n_total"] / net.symbols("fp8")["n_active"]
    assert all(stored(net) < stored(ours) for net in theirs) and stored(ours) > 16.4 / 2.8


def test_the_gains_are_those_of_the_published_comparisons():
    """DeepSeekMoE 16B needs 40.5% of the dense model's compute, the Qwen3 mixtures a fifth of the active parameters,
    and Ling-mini-beta 0.85 billion in place of 6.1 billion.
    """
    shares = 0.405, 1 / 5, 0.85 / 6.1
    assert [round(1 / share, 1) for share in shares] == [results.LOW, results.HIGH, results.FAR]


@pytest.mark.parametrize("gain, name", [(2.5, "low"), (5, "high")])
def test_the_dense_model_wins_between_two_batches(gain, name):
    """At the team's context the sparse model is faster for a few sequences, and faster again past the border."""
    team = results.TEAM
    slower = [batch for batch in range(1, 8_000) if results.race(batch, team.context, gain=gain).ratio > 1]
    assert slower[0] == {"low": 4, "high": 10}[name]
    assert slower[-1] == math.floor(eq.break_even(team, quality_gain=gain))
    assert name == "high" or significant(slower[-1], 2) == numbers.as_good()["even_low"]
    assert results.TEAM_BATCH in slower, "the team's sequences are on the dense model's side"
    assert len(slower) == slower[-1] - slower[0] + 1
    assert results.race(1e6, team.context, gain=gain).ratio == pytest.approx(
        max(1, team.context / step.balanced_context(team)) / gain, rel=0.01
    )


@pytest.mark.parametrize("gain, context", [(2, 1), (2, 500), (2.5, 1_000), (5, 1_000), (2, 3_000)])
def test_with_kv_the_break_even_batch_is_found_by_trying(gain, context):
    """DeepSeek-V3 beside a dense model as good and with the same cache: step times, batch by batch."""
    known = RUNNING.symbols()
    kv = context * known["kv_bytes_per_token"]
    active, stored = known["n_active"], known["n_total"]
    time = lambda b, active, stored: max(2 * b * active / known["flops"], (stored + b * kv) / known["bandwidth"])
    low, high = 500, 200_000
    while high - low > 1:
        b = (low + high) // 2
        low, high = (low, b) if time(b, active, stored) <= time(b, gain * active, gain * active) else (b, high)
    assert high == math.ceil(eq.break_even(RUNNING, context=context, quality_gain=gain))


def request_time(batch, active, stored, mixed):
    """Seconds of eight H200s for a request of 1,800 tokens in and 400 out, one step after another."""
    flops, bandwidth, kv = 8 * 1.979e15, 8 * 4.8e12, 61 * 576 * 2
    one, tokens = 2 * active / flops, 5.5 if mixed else 1  # a step reads 4.5 prompt tokens for each that it makes
    step_time = max(batch * tokens * one, (stored + batch * 2_000 * kv) / bandwidth)
    return (0 if mixed else 1_800 * one) + sum(step_time / batch for _ in range(400))


@pytest.mark.parametrize("name, mixed", [("", False), ("_mixed", True)])
def test_the_teams_decision_turns_where_whole_requests_cost_the_same(name, mixed):
    """Below that traffic, and against a smaller dense model, the dense model costs less for a request."""
    known, told = RUNNING.symbols(), numbers.team()
    active, stored = known["n_active"], known["n_total"]
    wins = lambda batch, gain: (
        request_time(batch, active, stored, mixed) < request_time(batch, gain * active, gain * active, mixed)
    )
    gain = float(told[f"team_gain{name}"])
    assert [wins(300, times) for times in (gain - 0.06, gain + 0.06)] == [False, True]
    if not mixed:
        assert [wins(300, times) for times in (2.5, 5)] == [False, True], "in steps of their own the dense model wins"
    else:
        assert [wins(300, times) for times in (2, 2.5, 5)] == [False, True, True], "and in shared steps DeepSeek-V3"


def test_the_teams_numbers_are_those_of_plain_arithmetic():
    known, told = RUNNING.symbols(), numbers.all()
    active, stored, kv = known["n_active"], known["n_total"], 61 * 576 * 2
    one, sparse = 2 * active / 15.832e15, (stored + 300 * 2_000 * kv) / 38.4e12
    attended = 61 * 128 * (576 + 512) * 2 * 2_000 / 7.916e15  # an answer's token, in BF16
    whole = 400 * sparse / 300 + 1_800 * one
    assert 1_650 * one < sparse, "a shared step of DeepSeek-V3 takes no longer"
    expected = {
        "team_rent_sparse": f"${whole * 1e6 / 3_600 * 16:,.0f}",
        "team_computes": f"{300 * one * 1e3:.1f} ms",
        "team_shared_prompts": f"{300 * 1_800 / 400:,.0f}",
        "team_shared_tokens": "1,650",
        "team_shared_computes": f"{1_650 * one * 1e3:.1f} ms",
        "team_shared_rent_sparse": f"${400 * sparse / 300 * 1e6 / 3_600 * 16:,.0f}",
        "team_dense": f"{750 * one * 1e3:.1f} ms",
        "dense_bare": f"{2.5 * active / 38.4e12 * 1e3:.1f} ms",
        "dense_size": f"{2.5 * active / 1e9:.0f} billion",
        "three_prompts": "5,400",
        "prompts_each": "4.5",
        "dense_token": f"{2.5 * one * 1e6:.1f} µs",
        "dense_shared": f"{1_650 * 2.5 * one * 1e3:.1f} ms",
        "twice": f"{(stored + 600 * 2_000 * kv) / 38.4e12 * 1e3:.1f} ms",
    }
    tied = stored / 38.4e12 / (2.5 * one + attended - 2_000 * kv / 38.4e12)
    assert results.even_attended(2.5) == pytest.approx(tied, rel=2e-3), "with attention's arithmetic"
    assert f"{expected['dense_size'].split()[0]}B" == numbers.DENSE.removeprefix("Dense-")
    assert 1.25 < whole / (2_200 * 2.5 * one) < 1.3, "the page says a bit more than a quarter longer"
    for gain in (2.5, 5):
        dense = 300 * gain * one  # it computes for longer than it loads
        assert dense > (gain * active + 300 * 2_000 * kv) / 38.4e12
        assert gain == 5 or (gain * active + 300 * 2_000 * kv) / 38.4e12 > 0.99 * dense, "hardly longer"
    expected |= {
        "team_rent_low": f"${2_200 * 2.5 * one * 1e6 / 3_600 * 16:,.0f}",
        "team_rent_high": f"${2_200 * 5 * one * 1e6 / 3_600 * 16:,.0f}",
        "user_speed": significant(1 / (1_650 * 2.5 * one), 1),
        "read_sparse": f"{7_200 * one * 1e3:.1f} ms",
        "read_dense": f"{7_200 * 2.5 * one * 1e3:.1f} ms",
        "team_fits": f"{(8 * 141e9 - stored) // (2_000 * kv * 10) * 10:,.0f}",
        "team_sparse": f"{sparse * 1e3:.1f} ms",
        "attends": f"{attended * 1e6:.2f} µs",
        "g_far": f"{6.1 / 0.85:.1f}",
        "attended_critical": f"{round(stored / 38.4e12 / (one + attended - 2_000 * kv / 38.4e12), -1):,.0f}",
        "travels": f"{(travelled := 58 * 7 * 7_168 * 3 / (8 * 450e9)) * 1e6:.1f} µs",
    }
    assert {name: told[name] for name in expected} == expected
    assert round(float(told["with_kv"].replace(",", "")) / float(told["team_fits"].replace(",", ""))) == 5
    assert 4 * 1_800 > 1979 / 2 / 4.8 * 32, "four prompts have more tokens than the experts' batch"
    assert significant(whole / 2_200 / one, 2) == told["team_gain"], "an average token, in times of computing it"
    assert 1.5 < 2.5 * one / (one + travelled) < 2, "where nothing hides travel, less than twice as fast"
    assert f"{5 * active / 1e9:.0f}" == "188", "what the page calls the dense model of the high gain"
    assert 1_400 * (one + attended) < (stored + 1_400 * 2_000 * kv) / 38.4e12, "and DeepSeek-V3 still waits for memory"
    for mixed in (False, True):  # the high gain's bill is the same in every row, and above all of DeepSeek-V3's
        assert request_time(300, 5 * active, 5 * active, mixed) == pytest.approx(2_200 * 5 * one)
    assert request_time(600, 5 * active, 5 * active, True) == pytest.approx(2_200 * 5 * one) and 2_200 * 5 * one > whole
    for bill, turn in (("team_rent_sparse", "team_gain"), ("team_shared_rent_sparse", "team_gain_mixed")):
        even = 2.5 * float(told[bill][1:]) / float(told["team_rent_low"][1:])
        assert f"{even:.1f}" == told[turn], "the bills as printed give the turning point"
    assert 7_200 * one > stored / 38.4e12, "four prompts compute for longer than they load"
    assert round(sparse / (750 * one)) == 5, "the opening question says about five times"


def test_what_favors_the_dense_model_changes_no_winner():
    """Attention's arithmetic, or a cache of 80 layers of 8 heads of 128: in steps of their own and in shared steps."""
    told, active, stored = numbers.team(), RUNNING.symbols()["n_active"], RUNNING.symbols()["n_total"]
    one, small, large = 2 * active / 15.832e15, 61 * 576 * 2, 80 * 2 * 8 * 128 * 2
    load = lambda size, kv: (size + 300 * 2_000 * kv) / 38.4e12
    attends, reads = 61 * 128 * 1_088 * 2 * 2_000 / 7.916e15, 61 * 128 * 320 * 2 * 900 / 7.916e15
    own = lambda g, size, kv, a, r: 400 * max(g * one + a, load(size, kv) / 300) + 1_800 * (g * one + r)
    shared = lambda g, size, kv, a, r: 400 * max(5.5 * g * one + a + 4.5 * r, load(size, kv) / 300)
    for kv, a, r in ((small, 0, 0), (small, attends, reads), (large, 0, 0)):
        assert own(2.5, 2.5 * active, kv, a, r) < own(1, stored, small, a, r)
        assert shared(2.5, 2.5 * active, kv, a, r) > shared(1, stored, small, a, r)
    sparse = load(stored, small)
    assert 2 < sparse / load(2.5 * active, large) < 3, "about half of five"
    assert float(told["team_rent_low"][1:]) - float(told["team_shared_rent_sparse"][1:]) == 6, "six dollars"


def test_pooling_and_traffic_move_the_bill():
    """Two teams on one copy, other lengths of requests, and the closing rule on traffic of many kinds."""
    known, told = RUNNING.symbols(), numbers.all()
    active, stored, kv = known["n_active"], known["n_total"], 61 * 576 * 2
    one = 2 * active / 15.832e15

    def turns(prompt, answer, batch=300):
        loads = (stored + batch * (prompt + answer / 2) * kv) / 38.4e12
        computes = batch * (1 + prompt / answer) * one
        return max(1, loads / computes)

    pooled = 400 * (stored + 600 * 2_000 * kv) / 38.4e12 / 600
    dense = 2_200 * 2.5 * one
    assert told["twice_rent_sparse"] == f"${pooled * 1e6 / 3_600 * 16:,.0f}"
    assert dense / pooled == pytest.approx(2, abs=0.02), "the short answer: half as much as the dense model"
    assert 600 * 5.5 * one < (stored + 600 * 2_000 * kv) / 38.4e12, "two teams' step still takes as long as its loading"
    assert told["twice_gain"] == f"{turns(1_800, 400, 600):.1f}"
    assert turns(1_800, 400) < min(turns(900, 400), turns(1_800, 800), turns(1_800, 400, 150)), "whom the rule favors"


@pytest.mark.parametrize("prompt, answer", [(200, 100), (400, 1_800), (1_100, 1_100), (1_800, 50), (8_000, 400)])
def test_three_times_the_turning_point_decides_by_the_worst_count(prompt, answer, monkeypatch):
    """What the closing rule's factor must hold: least overlap, travel and the largest constant move it by less."""
    for name, value in (("PROMPT", prompt), ("ANSWER", answer)):
        monkeypatch.setattr(results, name, value)
    plain = {batch: results.turning(prompt, answer, batch) for batch in (100, 300, 600)}
    monkeypatch.setattr(results, "TEAM", results.TEAM._replace(context=prompt + answer / 2))
    for batch, by_datasheet in plain.items():
        assert results.gain_measured(371, batch, overlap=False) < 3 * by_datasheet


def test_the_pages_router_loads_what_the_formula_says():
    """Tokens that choose at random: the counts are near those of the formula, and popular experts change little."""
    printed, space = run_cell("sparsity", "def route")
    counts = [[int(number) for number in re.findall(r"\d+", line)] for line in printed.splitlines()]
    assert [tokens for tokens, _, _ in counts] == [1, int(numbers.loaded()["few"]), 64, results.TEAM_BATCH]
    for tokens, loaded, experts in counts:
        assert abs(loaded - 256 * eq.coverage(batch=tokens, experts=256, top_k=8)) < 12 and experts == 256
    assert counts[-1][1] == 256, "the team's step loads every expert"
    popular = find_cell("sparsity", "def route").replace(
        "tickets = range(256)", "tickets = [*range(256)] + 4 * [*range(0, 256, 8)]"
    )
    exec(popular, skewed := {})
    for tokens, fewest in ((64, 180), (results.TEAM_BATCH, 254)):
        loaded = sum(count > 0 for count in skewed["route"](tokens))
        assert fewest <= loaded, "the team still loads nearly all"
        assert loaded <= (210 if tokens == 64 else 256)
    read, _ = run_cell("sparsity", "busy_from", **{name: space[name] for name in ("random", "route")})
    busy = [int(re.search(r"(\d+) of 256", line)[1]) for line in read.splitlines()]
    assert busy[:3] == [0, 0, 0] and 225 < busy[3] < 240 and busy[4] == 256, (
        "none with three prompts, nine in ten with four"
    )
    assert f"from = {numbers.hardware()['c_h200']} " in find_cell("sparsity", "busy_from")
    assert round(float(numbers.batches()["team_critical"].replace(",", "")) / results.PROMPT) == 2, "two prompts"


def typed(cell, *values):
    """That a cell of the page has these values, as it types them."""
    source = find_cell("sparsity", cell)
    return all(value in source for value in values)


def test_the_pages_turning_points_are_those_of_the_formulas():
    """For one team and for two; and the page types the rates of the machine."""
    _, space = run_cell("sparsity", "def turning_point")
    told = numbers.team()
    for batch, name in ((300, "team_gain_mixed"), (600, "twice_gain")):
        assert f"{space['turning_point'](batch):.1f}" == told[name]
    known, each = results.TEAM.symbols(), step.compute_time(results.TEAM, batch=1) * 1e3
    millis = lambda size: size / known["bandwidth"] * 1e3
    assert typed("def turning_point", f"{millis(known['n_total']):.1f}", f"{each:.5f}")
    assert typed("def turning_point", f"{millis(known['kv_bytes_per_token']):.2e}".replace("e-0", "e-"))
    assert typed(
        "def turning_point", numbers.contexts()["kv"], numbers.contexts()["team_width"], f"{each * 1e3:.2f} µs"
    )


def test_the_pages_turning_points_are_those_of_whole_steps():
    """Every number of the table; and the verdicts that the figure draws, at both gains, one team's and two teams'."""
    printed, _ = run_cell("sparsity", "def turning_point")
    lines = [line.replace(",", "").split() for line in printed.splitlines()[1:]]
    rows = {int(answer): turns for answer, *turns in lines}
    for answer, turns in rows.items():
        found = [results.turning(1_800, answer, batch) for batch in (150, 300, 600, 1_200)]
        assert [float(turn) for turn in turns] == pytest.approx(found, abs=0.1)
        assert all(turn < eq.sparsity(results.TEAM) for turn in found), "so no dense model loads for longer"
    assert list(rows) == [100, 200, 400, 800, 1_600, 3_200]
    low, high = numbers.LUCK, float(numbers.pair()["pair_read"])
    turns = {
        (answer, batch): results.turning(1_800, answer, batch) for answer in rows for batch in range(100, 1_501, 100)
    }
    assert min(turns.values()) == 1 and high > results.LOW, "at the low gain, the mixture is not shown to win with any"
    assert results.LOW > low * turns[400, 300] > low * turns[400, 600], "one team and two: a test at the low gain"
    assert low * turns[400, 300] < results.HIGH < high * turns[400, 300], "and one team at the high one"
    assert high * turns[400, 600] < results.HIGH, "two teams take the mixture"
    for gain, corner in ((results.LOW, 5), (results.HIGH, 3)):
        dense = [[batch for batch in range(100, 1_501, 100) if gain < low * turns[answer, batch]] for answer in rows]
        assert dense == sorted(dense, key=len) and sum(map(bool, dense)) == corner, "few sequences and long answers"
    assert results.turning(1_800, 3_200, 100) == eq.sparsity(results.TEAM), "where a dense model would load for longer"


@pytest.mark.parametrize("answer, batch", [(400, 300), (3_200, 100), (100, 1_500)])
def test_at_the_turning_point_both_steps_take_as_long(answer, batch):
    """Also where the dense model waits for its own loading."""
    active, stored = (RUNNING.symbols()[name] for name in ("n_active", "n_total"))
    caches, tokens = batch * (1_800 + answer / 2) * 61 * 576 * 2, batch * (1 + 1_800 / answer)
    took = lambda used, kept: max(2 * tokens * used / 15.832e15, (kept + caches) / 38.4e12)
    gain = results.turning(1_800, answer, batch)
    assert took(gain * active, gain * active) == pytest.approx(took(active, stored), rel=1e-4)


def test_sparse_attention_loads_what_its_parts_say():
    """576 values of a cache entry and 128 of an index key, two bytes each, in 61 layers; 2,048 entries are chosen."""
    told, entry, key = numbers.sparse_attention(), 61 * 576 * 2 / 1e3, 61 * 128 * 2 / 1e3
    even = 2_048 * 576 / (576 - 128)
    sparse, full = 2.048 * entry + 32 * key, 32 * entry  # MB of a sequence of 32,000 tokens
    assert tuple(size / 1e6 for size in results.cached(32_000)) == (pytest.approx(sparse), pytest.approx(full))
    weights = RUNNING.symbols()["n_total"] / 38.4e9
    caches = [150 * size * 1e6 / 38.4e9 for size in (sparse, full)]
    kept = {"entry_values": "576", "key_values": "128", "long_batch": "150", "long_context": "32,000"}
    kept |= {"long_sparse": f"{caches[0]:.1f} ms", "long_whole": f"{caches[1]:.1f} ms"}
    kept |= {"long_saves": f"{1 - (weights + caches[0]) / (weights + caches[1]):.0%}", "chosen": "2,048"}
    free = 8 * 141 - RUNNING.symbols()["n_total"] / 1e9 - 150 * 32 * (entry + key) / 1e3
    kept |= {"long_free": f"{free:.0f} GB", "sparse_from": f"{round(even, -2):,.0f}"}
    assert told == kept and results.TEAM.context < even
    room, kept = 8 * 141e9 - RUNNING.symbols()["n_total"], 32 * (entry + key) * 1e6
    assert 160 < room / kept < 170, "caches and keys of 150 sequences fit beside the weights, and of 200 they do not"
    attends = 150 * 61 * 128 * (576 + 512) * 2 * 32_000 / 7.916e12
    computes = attends + 150 * 2 * RUNNING.symbols()["n_active"] / 15.832e12
    assert computes < weights + caches[0], "even with all of attention's arithmetic, both steps wait for memory"


def test_measured_servers_beside_the_formulas():
    """A server's step, and the turning points of a sparse and a dense model in one engine, from the published rows."""
    told = numbers.all()
    took = {
        row["output_token_ms"]
        for row in measurement("serving_deepseek_r1").records(engine="trtllm", chip="H200", concurrency=256)
    }
    floor = (RUNNING.symbols()["n_total"] + 256 * 1_024 * 0.9 * 1.5 * 2 * 61 * 576) / 38.4e9
    assert [told["served_took"], told["served_floor"]] == [f"{took.pop():.0f} ms", f"{floor:.0f} ms"] and not took
    assert 1.9 < 37 / floor < 2.2, "half as long"
    per_gpu = {2048: (3331 / 8, 442), 5000: (3623 / 8, 566), 128: (42821 / 8, 4336)}
    size = model("llama-3.1-70b").n_active / model("qwen3-235b-a22b").n_active
    turns = {prompt: size * dense / sparse for prompt, (sparse, dense) in per_gpu.items()}
    assert told["pair_read"] == f"{turns[2048]:.1f}" and results.paired()[2048, 128] == pytest.approx(turns[2048])
    assert all(results.paired()[lengths] == pytest.approx(turns[lengths[0]]) for lengths in ((5000, 500), (128, 2048)))
    assert told["pair_stored"] == "235 billion" and 3331 / 8 < 442, "and slightly slower than Llama"
    assert 0.3 < 1 - turns[2048] / 5 < 0.36, "a third less than its equal"
    assert [told["pair_dense_rate"], told["pair_sparse_rate"]] == ["442", f"{3331 / 8:.0f}"]
    assert len(results.paired()) == 10 and told["pair_size"] == f"{size:.1f}"
    assert [told["pair_dense"], told["pair_active"]] == ["71 billion", "22 billion"] and round(
        3.2 * 442 / 416, 1
    ) == 3.4
    assert told["balanced_speed"] == "2.54", "the published speedup of decode, more than twice"
    plain = {batch: results.turning(1_800, 400, batch) for batch in (100, 300, 600)}
    worst = max(results.gain_measured(371, batch, overlap=False) / plain[batch] for batch in plain)
    assert 1.8 < worst < 2.4 < turns[2048], "the counts explain a factor of about two"
    assert round(float(told["team_gain_real_most"]) / float(told["team_gain_mixed"]), 1) == 2, "the team's doubles"
    assert min(results.gain_measured(168, batch) / plain[batch] for batch in plain) > numbers.LUCK
    low, high = ({batch: plain[batch] * by for batch in plain} for by in (numbers.LUCK, turns[2048]))
    assert all(low[300] < gain < high[300] for gain in results.GAINS), "one team is in between: time both"
    assert turns[2048] > results.LOW, "no turning point is below 1, so the low gain decides for no mixture"
    assert results.LOW < low[100] < results.HIGH and results.LOW < high[600] < results.HIGH, "what the others can say"
    experts, tokens, flops = eq.routed_params(RUNNING), 512, 8 * 1.979e15
    parts = [(RUNNING.symbols()["n_total"] - experts, 1.0), (experts, 1 / 32)]
    apart = simulation.step(tokens, parts, flops, 38.4e12, 1.0) + 256 * 1_024 * 0.9 * 1.5 * 2 * 61 * 576 / 38.4e12
    assert told["served_real"] == f"{(apart + tokens * 58 * 7 * 7_168 * 3 / (8 * 450e9)) * 1e3:.0f} ms"
    assert eq.bytes_touched(RUNNING, batch=2) < results.LOW * eq.bytes_touched(RUNNING, batch=1), "whom it leaves out"
    net, tokens = model("qwen3-235b-a22b"), (2_048 + 128) / 128
    room = 8 * 141e9 - net.n_total
    texts = room / (net.kv_bytes_per_token() * 2_112)
    computes = texts * tokens * 2 * net.n_active / (8 * 1.979e15)
    assert computes > (net.n_total + room) / 38.4e12, (
        "where it mostly reads, full memory computes for longer than it loads"
    )


@pytest.mark.parametrize("width", [2, 1])
def test_the_pairs_turning_points_by_the_datasheet(width):
    """Memory full of caches, in BF16 or FP8: each step loads all memory, or computes for longer."""
    heads = {8: 94 * 4 * 128 * 2, 1: 80 * 8 * 128 * 2}  # values of a token's cache, by GPUs
    nets, told = {8: model("qwen3-235b-a22b"), 1: model("llama-3.1-70b")}, numbers.pair()

    def each(gpus, prompt, answer):  # seconds of a GPU for an answer token
        net = nets[gpus]
        texts = (gpus * 141e9 - net.n_total) / (heads[gpus] * width * (prompt + answer / 2))
        computes = texts * (prompt + answer) / answer * 2 * net.n_active / (gpus * 1.979e15)
        return max(computes, 141 / 4_800) * gpus / texts

    said = {at: nets[1].n_active / nets[8].n_active * each(8, *at) / each(1, *at) for at in results.paired()}
    assert results.paired_by_datasheet({2: "bf16", 1: "fp8"}[width]) == pytest.approx(said, rel=2e-3)
    assert said[2048, 128] == pytest.approx(1)
    off = sorted(turn / said[at] for at, turn in results.paired().items())
    assert off[-2] < float(told["pair_read"]) < off[-1], "nine of ten runs were off by no more"
    assert told["pair_least"] == f"{off[0]:.1f}" and off[-1] < float(told["pair_most"])
    assert width == 2 or told["pair_most"] == f"{off[-1]:.1f}", "the most is that of caches in FP8"


def turn(batch, mixed, layered, travels, constant=1979 / 2 / 4.8, attends=False):
    """Times the active size from which on a dense model costs more than DeepSeek-V3, by halving an interval."""
    known, experts, kv = RUNNING.symbols(), eq.routed_params(RUNNING), 2 * 61 * 576
    active, rest, stored = known["n_active"], known["n_total"] - experts, known["n_total"]
    flops, tokens = 8 * 1.979e15, batch * (5.5 if mixed else 1)
    bandwidth = flops / 2 / constant
    caches = batch * 2_000 * kv / bandwidth
    prompts = 0 if mixed else batch * 4.5 * 2 * active / flops
    prompt = 4.5 * 61 * 128 * (128 + 64 + 128) * 2 * 900 if mixed else 0  # read with unpacked keys and values
    attention = batch * (61 * 128 * (576 + 512) * 2 * 2_000 + prompt) / (flops / 2) if attends else 0
    travel = batch * 5.5 * 58 * 7 * 7_168 * 3 / (8 * 450e9) if travels else 0

    def took(parts):
        if layered:
            return simulation.step(tokens, parts, flops, bandwidth, 1.0) + caches
        computes = 2 * tokens * sum(size * share for size, share in parts) / flops + attention
        return max(computes, sum(size for size, _ in parts) / bandwidth + caches)

    assert rest + experts == pytest.approx(stored)
    sparse, low, high = took([(rest, 1.0), (experts, 1 / 32)]) + prompts + travel, 1.0, 50.0
    for _ in range(60):
        gain = (low + high) / 2
        low, high = (low, gain) if took([(gain * active, 1.0)]) + gain * prompts > sparse else (gain, high)
    return low


def test_the_turning_points_are_found_by_trying():
    """The table of the decision, and what the page says of it: shared steps always help, and twice the traffic does."""
    told, ways = numbers.team(), ((False, ""), (True, "mixed_"))
    counts = ((True, False), (False, True), (True, True))
    for mixed, way in ways:
        assert told[f"team_gain_{way}".removesuffix("_")] == f"{turn(300, mixed, False, False):.1f}"
    for counted in ((False, False), *counts):
        assert turn(300, True, *counted) < turn(300, False, *counted) < 5
        assert turn(600, True, *counted) < 2.5
        assert turn(300, True, *counted) < float(told["team_gain"]), "the short answer: from there on DeepSeek-V3"
    assert turn(300, True, False, False) < 2.5 < turn(300, True, True, False), "a tie within the error of the count"
    for end, constant in (("least", 168), ("most", 371)):
        assert numbers.measured()[f"knee_{end}"] == f"{constant}"
    assert told["twice_least"] == f"{turn(600, True, False, False, 168, attends=True):.1f}"
    assert told["twice_most"] == f"{turn(600, True, True, True, 371):.1f}"
    assert told["team_gain_mixed_least"] == f"{turn(300, True, False, False, 168, attends=True):.1f}"
    assert told["team_gain_real_most"] == f"{turn(300, True, True, True, 371):.1f}"
    assert turn(300, True, True, True, 371) < 5, "the higher gain decides by the worst of everything counted"
    assert float(told["team_gain_mixed_least"]) < 2.5 < float(told["team_gain_real_most"]), "the range holds the lower"


def test_a_measured_layer_takes_the_time_of_the_experts_that_it_touches():
    told = numbers.loaded()
    few, every = (next(row for row in rows("h200", "experts") if row["tokens"] == tokens) for tokens in (16, 256))
    assert (few["touched"], every["touched"], told["few"]) == (100, 256, "16")
    assert told["few_touched"] == f"{100 / 256:.0%}"
    assert told["few_took"] == f"{few['seconds'] / every['seconds']:.0%}"


def test_past_twice_the_balanced_context_no_batch_helps_the_sparse_model():
    """From three sequences on, at every batch that fits; with one or two it touches less than twice its active size."""
    known, context = RUNNING.symbols(), 2 * step.balanced_context(RUNNING)
    active, kv = known["n_active"], context * known["kv_bytes_per_token"]
    for batch in (1, 2, 3, 10, 1_000, 100_000):
        loaded = eq.bytes_touched(RUNNING, batch=batch) + batch * kv
        sparse = max(2 * batch * active / known["flops"], loaded / known["bandwidth"])
        dense = max(4 * batch * active / known["flops"], (2 * active + batch * kv) / known["bandwidth"])
        assert (sparse < dense) == (batch < 3)
    with pytest.raises(FormulaError, match="holds only where"):
        eq.break_even(RUNNING, context=1.01 * context, quality_gain=2)


def test_a_batch_pays_for_its_sparsity():
    """Up to B/C more stored parameters cost no time; beyond, they do."""
    known, batch = RUNNING.symbols(), 2_000
    limit = eq.free_sparsity(RUNNING, batch=batch)
    time = lambda s: step.step_time(RUNNING, batch=batch, context=0, n_total=s * known["n_active"])
    assert time(limit * 0.99) == time(1.0) and time(limit * 1.01) > time(1.0)


# --- what is refused --------------------------------------------------------------------------------------------------


def test_formulas_hold_only_where_they_hold():
    with pytest.raises(FormulaError, match="holds only where top_k <= experts"):
        eq.coverage(batch=4, experts=8, top_k=9)
    with pytest.raises(FormulaError, match="holds only where"):
        eq.coverage(batch=np.arange(1, 4), experts=8, top_k=np.array([1, 8, 9]))
    with pytest.raises(FormulaError, match="holds only where"):
        eq.coverage.bind(experts=8, top_k=9)
    with pytest.raises(FormulaError, match="at most 1"):
        eq.stored_growth(routed_share=1.5, experts=4)
    with pytest.raises(FormulaError, match="holds only where"):
        eq.batch_fits.bind(model("deepseek-v3"), system("h100-8"))(context=100)


def test_printed_numbers_agree_with_an_independent_reckoning():
    """Plain arithmetic from the architecture, the datasheets and the fit, rounded as printed."""
    told = numbers.all()
    experts = 58 * 256 * 3 * 7168 * 2048
    attention = 61 * (7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168)
    rest = 2 * 129_280 * 7168 + 58 * (3 * 7168 * 2048 + 256 * 7168) + 3 * 3 * 7168 * 18_432 + attention
    total, active = experts + rest, experts * 8 / 256 + rest
    c, kv, width = 1979 / 2 / 4.8, 61 * 576 * 2, 38.4e12
    star, balanced = c * total / active, active / c / kv
    rate = 2 * c * width
    time = lambda b: max(2 * b * rest / rate, rest / width) + max(2 * b * experts / 32 / rate, experts / width)
    expected = {
        "g_low": "2.5",
        "g_high": "5",
        "even_low": significant(star / (2.5 - 2_000 / balanced), 2),
        "more_memory_low": f"{total / 2.5 / active:.1f}",
        "kv": f"{kv / 1e3:.2f} kB",
        "kv_cache": f"{2 * kv / 1e3:.1f} MB",
        "team_rate": "15.83 PFLOP/s",
        "team_width": "38.4 TB/s",
        "c_gb200": f"{5e15 / 2 / 8e12:.1f}",
        "sparsity": f"{total / active:.1f}",
        "critical": f"{5e15 / 2 / 8e12 * total / active:,.0f}",
        "team_critical": significant(star, 2),
        "team_experts": significant(c * 32, 2),
        "board_batch": "2,400",
        "board_sparsity": "8",
        "balanced": f"{round(balanced, -1):,.0f}",
        "with_kv": significant(star / (1 - 2_000 / balanced), 2),
        "layered": f"{time(star) * 1e3:.1f} ms",
        "dense_loads": f"{rest / width * 1e3:.1f} ms",
        "experts_compute": f"{2 * star * experts / 32 / rate * 1e3:.1f} ms",
        "layered_dense": f"{2 * star * rest / rate * 1e3:.1f} ms",
        "layered_experts": f"{experts / width * 1e3:.1f} ms",
        "roofline": f"{total / width * 1e3:.1f} ms",
        "per_rack": "128,000",
        "chip_rate": "2,000",
        "world_first": f"{480e12 / 30 / 86_400 / 1e6:.0f} million",
        "world_first_racks": f"{round(480e12 / 30 / 86_400 / 128_000, -1):,.0f}",
        "effective": "1.37 billion",
        "gain": "3.7",
        "free_300": f"{300 / (1979 / 2 / 4.8):.1f}",
        "n_active": f"{active / 1e9:.1f} billion",
        "touched_1": f"{active / 1e9:.1f} GB",
        "touched_64": f"{(rest + experts * (1 - (31 / 32) ** 64)) / 1e9:.0f} GB",
        "covered_64": f"{1 - (31 / 32) ** 64:.0%}",
        "left_out": f"{(total - active) / 1e9:.0f} GB",
        "c_least": f"{312e12 / 2.039e12:.0f}",
        "c_h100": f"{1978.9 / 2 / 3.35:.0f}",
        "c_gb300": f"{15e15 / 2 / 8e12 * 0.5:.0f}",
        "c_h200": f"{1979 / 2 / 4.8:.0f}",
        "token_computes": f"{2 * active / rate * 1e6:.2f} µs",
        "kv_loads": f"{2_000 * kv / width * 1e6:.2f} µs",
        "left_to_load": f"{(2 * active / rate - 2_000 * kv / width) * 1e6:.2f} µs",
    }
    assert {name: told[name] for name in expected} == expected
    assert (31 / 32) ** 300 < 1e-4, "the team's batch misses fewer than one expert in ten thousand"
    assert round((32 / 31) ** 64, 0) == 8, "and 64 tokens miss one in eight"
    assert results.almost() == next(b for b in range(1, 999) if 1 - (31 / 32) ** b >= 0.99)
    assert round(15e15 / 4 / 8e12 / (312e12 / 2.039e12), 1) == 3.1, (
        "the largest constant told is three times the smallest"
    )


def test_the_case_is_the_batching_lessons():
    assert step.critical_batch(RUNNING) == pytest.approx(
        step.hardware_constant(RUNNING) * eq.sparsity(RUNNING), rel=1e-12
    )
    assert chip("gb200-nvl72").hardware_constant("fp8") == pytest.approx(step.hardware_constant(RUNNING), rel=1e-12)


def test_the_knees_told_are_the_ends_of_those_found():
    told, found = numbers.measured(), [knee for knee, _ in results.knees().values()]
    assert len(found) > 2 and float(told["knee_least"]) < float(told["knee_most"])
    assert all(float(told["knee_least"]) - 0.5 <= knee <= float(told["knee_most"]) + 0.5 for knee in found)


def test_with_skew_experts_are_chosen_as_often_as_their_popularity_says():
    tokens, experts = 40_000, 6
    chosen = np.bincount(simulation.choose(tokens, experts, 1, skew=1.5).ravel(), minlength=experts) / tokens
    popular = np.arange(1, experts + 1) ** -1.5
    assert chosen == pytest.approx(popular / popular.sum(), abs=0.01)


def test_the_fullest_gpu_of_the_page_by_other_draws():
    """Experts drawn by NumPy without replacement; three popular ones of a GPU have five tickets each."""
    _, space = run_cell("sparsity", "def route(")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):  # in the names of the router itself, whose tickets it changes
        exec(find_cell("sparsity", "gpus = ["), space)
    said = re.findall(r"(\d) popular: the fullest GPU has (\S+) shares", printed.getvalue())
    assert [popular for popular, _ in said] == ["0", "3"]
    draw = np.random.default_rng(0)
    for popular, shares in said:
        chance = np.r_[[5.0] * int(popular), [1.0] * (256 - int(popular))]
        chosen = [draw.choice(256, 8, replace=False, p=chance / chance.sum()) // 32 for _ in range(1650)]
        fullest = np.bincount(np.concatenate(chosen)).max() / 1650
        assert float(shares) == pytest.approx(fullest, abs=0.05)
    assert float(said[0][1]) < 1.06 and float(said[1][1]) > 1.25, "random choices do no harm, popular experts do"
