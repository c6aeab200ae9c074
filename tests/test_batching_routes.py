"""The second routes of the batching lesson: count it, run it, search it, measure it; and the lecture's own numbers."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from statistics import fmean
from types import SimpleNamespace

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import oo

from blackboard.lessons.batching import equations as eq
from blackboard.lessons.batching import own_machine, simulation, transformer
from blackboard.lessons.batching.transformer import Config, Transformer, count_step
from blackboard.notation import symbol

DENSE = Config()
MIXTURE = transformer.MIXTURE
CONFIGS = {"dense": DENSE, "tied": Config(tied=True, kv_heads=4), "mixture": MIXTURE}

# X1.2 of the lecture's sheet: 64 B200, FP4 (datasheet FLOP/s: twice the multiplies), DeepSeek-V3 as the board rounds it
RACK = dict(flops=64 * 9e15, bandwidth=64 * 8e12, n_active=37e9, n_total=700e9, bytes_per_param=0.5)
KV = dict(kv_bytes_per_token=2_000)
AT_16K = KV | dict(context=16_384)


def of(formula, **values):
    """A formula at those of the values that it takes."""
    return formula(values)


# --- the transformer works --------------------------------------------------------------------------------------------


def tokens(config: Config, batch: int = 3, time: int = 17) -> np.ndarray:
    return np.random.default_rng(1).integers(config.vocab, size=(batch, time))


@pytest.mark.parametrize("name", CONFIGS)
def test_decoding_with_the_cache_equals_the_full_pass(name):
    model, words = Transformer(CONFIGS[name]), tokens(CONFIGS[name])
    full = model.forward(words)
    assert np.abs(full).max() > 1 and np.abs(full - transformer.decode(model, words)).max() < 1e-10


def test_attention_is_that_of_the_textbook_head_by_head():
    """Softmax of q·k over the root of the head's width, of what went before, with one query and one key at a time."""
    model = Transformer(MIXTURE)
    c, weights = MIXTURE, model.weights
    x = np.random.default_rng(2).standard_normal((1, 5, c.width))
    split = lambda name, heads: (x @ weights[f"layer0.{name}"]).reshape(1, 5, heads, c.head_width)
    query, key = transformer.rotate(split("query", c.heads), 0)[0], transformer.rotate(split("key", c.kv_heads), 0)[0]
    value, mixed = split("value", c.kv_heads)[0], np.zeros((5, c.heads, c.head_width))
    for t in range(5):
        for head in range(c.heads):
            shared = head // (c.heads // c.kv_heads)
            scores = [query[t, head] @ key[s, shared] / math.sqrt(c.head_width) for s in range(t + 1)]
            total = sum(map(math.exp, scores))
            mixed[t, head] = sum(math.exp(score) / total * value[s, shared] for s, score in enumerate(scores))
    expected = mixed.reshape(5, -1) @ weights["layer0.output"]
    assert model._attention(x, 0, 0, None, transformer.Ledger())[0] == pytest.approx(expected, abs=1e-10)


def test_a_prefill_and_then_decoding_equals_the_full_pass():
    model, words = Transformer(MIXTURE), tokens(MIXTURE)
    cache = transformer.Cache(MIXTURE, len(words), model.dtype)
    parts = [
        model.forward(words[:, :10], cache),
        model.forward(words[:, 10:11], cache),
        model.forward(words[:, 11:], cache),
    ]
    assert np.abs(model.forward(words) - np.concatenate(parts, axis=1)).max() < 1e-10


def test_a_token_sees_the_past_and_its_order_but_not_the_future():
    model, words = Transformer(DENSE), tokens(DENSE)
    changed, swapped = words.copy(), words[:, ::-1].copy()
    changed[:, 9] = (changed[:, 9] + 1) % DENSE.vocab
    swapped[:, -1] = words[:, -1]
    difference = np.abs(model.forward(words) - model.forward(changed)).max(axis=(0, 2))
    assert (difference[:9] == 0).all() and (difference[9:] > 1e-3).all()
    assert np.abs(model.forward(words)[:, -1] - model.forward(swapped)[:, -1]).max() > 1e-3


def test_grouped_heads_equal_full_heads_with_each_key_and_value_repeated():
    grouped = Transformer(DENSE)
    full = Transformer(replace(DENSE, kv_heads=DENSE.heads))
    full.table = grouped.table
    for name, matrix in grouped.weights.items():
        if name.endswith((".key", ".value")):
            heads = matrix.reshape(DENSE.width, DENSE.kv_heads, DENSE.head_width)
            matrix = heads.repeat(DENSE.heads // DENSE.kv_heads, axis=1).reshape(DENSE.width, -1)
        full.weights[name] = matrix
    assert np.abs(grouped.forward(tokens(DENSE)) - full.forward(tokens(DENSE))).max() < 1e-10


def test_a_mixture_of_equal_experts_is_one_dense_network():
    mixture = Transformer(Config(experts=4, top_k=3))
    dense = Transformer(DENSE)
    dense.table = mixture.table
    for name in dense.weights:
        dense.weights[name] = mixture.weights[name.replace("ffn", "expert0")]
    for name in mixture.weights:
        if ".expert" in name:
            layer, _, which = name.split(".")
            mixture.weights[name] = mixture.weights[f"{layer}.expert0.{which}"]
    assert np.abs(mixture.forward(tokens(DENSE)) - dense.forward(tokens(DENSE))).max() < 1e-10


def test_single_precision_stays_single_and_near():
    half, whole = Transformer(MIXTURE, dtype=np.float32), Transformer(MIXTURE)
    assert half.forward(tokens(MIXTURE)).dtype == np.float32
    assert np.abs(half.forward(tokens(MIXTURE)) - whole.forward(tokens(MIXTURE))).max() < 1e-3


@pytest.mark.parametrize(
    "sizes", [dict(heads=3), dict(head_width=7), dict(experts=4), dict(top_k=2), dict(experts=2, top_k=3)]
)
def test_sizes_that_do_not_fit_are_refused(sizes):
    with pytest.raises(ValueError):
        Config(**sizes)


def test_its_parameter_count_is_that_of_real_models():
    """Three published models are configurations of this transformer: their counts come out to the last parameter."""
    llama = Config(32, 4096, 32, 8, 128, 14336, 128256)
    assert transformer.parameters(llama).stored == 8_030_261_248  # Llama 3 8B
    assert transformer.parameters(Config(80, 8192, 64, 8, 128, 28672, 128256)).stored == 70_553_706_496  # Llama 3 70B
    mixtral = replace(llama, vocab=32000, experts=8, top_k=2)
    assert transformer.parameters(mixtral).stored == 46_702_792_704  # Mixtral 8x7B
    assert transformer.kv_bytes_per_token(llama, 2) == 131_072


# --- what it counts is what the formulas say --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("batch, context", [(1, 5), (7, 1), (64, 40)])
def test_counted_multiplications_and_bytes_are_those_of_the_formulas(name, dtype, batch, context):
    config, size = CONFIGS[name], np.dtype(dtype).itemsize
    counted, p = count_step(Transformer(config, dtype=dtype), batch, context), transformer.parameters(config)
    kappa = transformer.kv_bytes_per_token(config, size)
    # at one FLOP and one byte per second a formula's seconds are FLOPs and bytes
    assert 2 * counted.weight_macs == eq.compute_time(batch=batch, n_active=p.n_active, flops=1)
    assert counted.kv_bytes == eq.kv_time(batch=batch, context=context, kv_bytes_per_token=kappa, bandwidth=1)
    assert counted.kv_bytes_written == batch * kappa
    all_experts = set(transformer.matrices(config)) == counted.touched
    assert all_experts == (not config.experts or batch == 64)
    if all_experts:
        read = eq.weight_time(n_total=p.n_total, bytes_per_param=size, bandwidth=1)
        assert counted.weight_bytes == read == eq.latency_floor(n_total=p.n_total, bytes_per_param=size, bandwidth=1)
    if batch == 1:
        assert counted.weight_bytes == eq.first_floor(n_active=p.n_active, bytes_per_param=size, bandwidth=1)


def test_experts_read_grow_with_the_batch_as_chance_has_it():
    """A batch reads about 1 - (1 - k/E)^B of the routed experts: less where the router is not even (convexity)."""
    config = Config(layers=4, experts=32, top_k=2)
    model, p = Transformer(config), transformer.parameters(config)
    sizes = np.array([1, 4, 16, 256])
    read = np.array(
        [fmean(count_step(model, int(size), 4, seed).weight_bytes / 8 for seed in range(5)) for size in sizes]
    )
    assert (np.diff(read) > 0).all() and read[0] == p.n_active and 0.98 * p.n_total < read[-1] <= p.n_total
    touched = 1 - (p.n_total - read) / ((p.n_total - p.n_active) / (1 - 2 / 32))
    even = 1 - (1 - 2 / 32) ** sizes
    assert (touched < 1.02 * even).all() and (touched > 0.75 * even).all()


def test_the_other_bytes_are_few_and_as_said():
    p, counted = transformer.parameters(DENSE), count_step(Transformer(DENSE), 6, 3)
    assert counted.other_bytes == 8 * (p.gains + 6 * DENSE.width)
    assert p.lookup == DENSE.vocab * DENSE.width and transformer.parameters(replace(DENSE, tied=True)).lookup == 0


@pytest.mark.parametrize("context", [0, 9, 300])
def test_the_share_of_attention_that_the_model_leaves_out(context):
    share = transformer.attention_share(MIXTURE, context)
    assert count_step(Transformer(MIXTURE), 2, context).attention_share == pytest.approx(share, rel=1e-12)


def test_leaving_out_attention_is_fair_where_it_matters():
    """Llama 3 70B on H100: reading KV binds at 1,400 tokens, where attention is 3% of the multiply-adds."""
    llama = Config(80, 8192, 64, 8, 128, 28672, 128256)
    n_active, kappa = transformer.parameters(llama).n_active, transformer.kv_bytes_per_token(llama, 2)
    balanced = eq.balanced_context(n_active=n_active, bandwidth=3.35e12, flops=989e12, kv_bytes_per_token=kappa)
    assert transformer.attention_share(llama, balanced) < 0.03
    shares = transformer.attention_share(llama, np.array([1_000, 8_192, 53_000, 128_000]))
    assert (np.diff(shares) > 0).all() and shares[2] == pytest.approx(0.5, abs=0.001)


# --- trains -----------------------------------------------------------------------------------------------------------


def test_evenly_spread_arrivals_take_from_one_to_two_intervals():
    interval, n = 0.02, 4_000
    latencies = simulation.ride((interval * (i + 0.5) / n for i in range(n)), interval, seats=n)
    assert max(latencies) == pytest.approx(eq.worst_latency(interval=interval), rel=1e-3) == pytest.approx(0.040)
    assert fmean(latencies) == pytest.approx(eq.mean_latency(interval=interval), rel=1e-9) == pytest.approx(0.030)
    assert min(latencies) == pytest.approx(interval, rel=1e-3)


@pytest.mark.parametrize("rate", [20.0, 1_000.0, 80_000.0])
def test_random_arrivals_with_seats_enough_take_one_and_a_half_intervals(rate):
    latencies = simulation.trains(0.02, rate, seats=2_000, seed=3, n=40_000)
    assert 0.02 <= min(latencies) < 0.0205 and 0.0395 < max(latencies) <= 0.040 + 1e-9
    assert fmean(latencies) == pytest.approx(eq.mean_latency(interval=0.02), rel=0.01)


def test_more_requests_than_seats_and_the_queue_never_stops_growing():
    interval, seats, n = 0.02, 100, 60_000
    served = eq.throughput(batch=seats, interval=interval)
    below, above = (simulation.trains(interval, load * served, seats, seed=1, n=n) for load in (0.95, 1.05))
    assert max(below) < 4 * interval
    growth = (fmean(above[-1000:]) - fmean(above[:1000])) / (n - 1000)  # seconds more per request
    assert growth == pytest.approx(1 / served - 1 / (1.05 * served), rel=0.15)


def test_a_full_train_leaves_the_rest_to_the_next():
    assert simulation.ride([0.5, 0.6, 0.7, 1.0, 3.0], interval=1, seats=2) == pytest.approx([1.5, 1.4, 2.3, 2.0, 1.0])


def test_a_seat_stays_taken_until_the_answer_is_complete_and_free_until_somebody_takes_it():
    """Two seats, answers of three steps: the third waits for the first to leave, and a seat left empty is not lost."""
    assert simulation.ride([0.5, 0.6, 0.7, 9.5, 9.6], 1, seats=2, steps=3) == pytest.approx([1.5, 1.4, 4.3, 1.5, 1.4])


def test_trains_repeat_with_their_seed():
    first, again, other = (simulation.trains(1, 5, 9, seed=seed, n=50) for seed in (2, 2, 3))
    assert first.shape == (50,) and (first == again).all() and (first != other).any()


# --- searches ---------------------------------------------------------------------------------------------------------


def balanced_batch(**case) -> float:
    """Where the formulas' compute and memory time are equal, by SymPy from the two expressions."""
    (found,) = sympy.solve(sympy.Eq(eq.compute_time.expr, eq.memory_time.expr), symbol("batch"))
    return float(found.subs({symbol(name): value for name, value in case.items()}))


def ceilings(value: float) -> set[int]:
    """The next integer, and where rounding decides, both."""
    return {math.ceil(value * (1 - 1e-9)), math.ceil(value * (1 + 1e-9))}


@settings(max_examples=40)
@given(
    st.floats(50, 600),
    st.floats(1, 20),
    st.sampled_from([0.5, 1, 2]),
    st.floats(1e8, 1e11),
    st.floats(0, 0.8),
    st.floats(1e11, 1e14),
)
def test_the_first_compute_bound_batch_is_the_critical_one(constant, sparsity, size, n_active, fill, bandwidth):
    case = dict(
        n_active=n_active,
        n_total=n_active * sparsity,
        bytes_per_param=size,
        bandwidth=bandwidth,
        flops=2 * constant * bandwidth / size,
    )
    critical = of(eq.critical_batch, **case)
    assert simulation.crossing(**case) in ceilings(critical)
    case |= dict(kv_bytes_per_token=1_000.0)
    case |= dict(context=fill * of(eq.balanced_context, **case))
    assert simulation.crossing(**case) in ceilings(critical / (1 - fill))


def test_a_long_context_is_never_compute_bound():
    half = dict(RACK, **KV, context=of(eq.balanced_context, **RACK, **KV) / 2)
    assert (
        simulation.crossing(**half)
        == math.ceil(balanced_batch(**half))
        == math.ceil(2 * of(eq.critical_batch, **RACK))
        == 10_642
    )
    assert simulation.crossing(**half | dict(context=2 * half["context"])) is None


def test_no_wait_buys_more_than_the_floor():
    for kv in ({}, AT_16K, KV | dict(context=100_000)):
        case = dict(RACK, **kv, rent=2 / 3600, chips=64)
        full = dict(context=0, kv_bytes_per_token=1) | case
        best, slow = simulation.best_discount(300, **case)
        assert simulation.cost(slow, **case) == pytest.approx(of(eq.cost_floor, **full), rel=1e-5)
        assert best == pytest.approx(of(eq.slow_mode_limit, batch=300, **full), rel=1e-5)
        assert simulation.cost(300, **case) == pytest.approx(of(eq.cost_per_token, batch=300, **full), rel=1e-12)
    assert simulation.best_discount(10_000, **RACK)[0] == pytest.approx(1)  # compute-bound already: nothing to save


def test_no_batch_costs_less_than_a_larger_one():
    costs = [simulation.cost(batch, **RACK, **AT_16K) for batch in simulation.batches(10**9)]
    assert all(b <= a * (1 + 1e-12) for a, b in zip(costs, costs[1:])) and len(costs) > 1_000


def test_six_times_the_price_for_two_and_a_half_times_the_speed_is_a_fifteenth_of_the_batch():
    """Without KV this pins the standard mode: at 2.5 times the critical batch, the fast one on the floor."""
    critical = of(eq.critical_batch, **RACK)
    fast = simulation.fast_mode(round(2.5 * critical), 6, **RACK)
    assert fast.speed_ratio == pytest.approx(2.5, rel=1e-3) and fast.batch == math.floor(critical / 6)
    assert fast.batch_ratio == pytest.approx(eq.fast_mode_batch_ratio(price_ratio=6, speed_ratio=2.5), rel=2e-3)
    assert max(simulation.step(fast.batch, **RACK)) == of(eq.latency_floor, **RACK)


@pytest.mark.parametrize("multiple, speed", [(0.5, 1), (1, 1), (1.5, 1.5), (2.5, 2.5), (4, 4)])
def test_what_the_speed_gives_away_is_where_the_standard_mode_sits(multiple, speed):
    standard = round(multiple * of(eq.critical_batch, **RACK))
    for price in (6, 100):  # sixteen times the money, no more speed: the floor
        fast = simulation.fast_mode(standard, price, **RACK)
        assert fast.speed_ratio == pytest.approx(speed, rel=1e-3)
        assert fast.batch_ratio == pytest.approx(fast.price_ratio * fast.speed_ratio)


def test_with_kv_the_standard_mode_sits_a_little_higher():
    """All memory-bound, t = w + B k: 15 times the batch in 2.5 times the time needs B k = 0.12 w, so 2.8 floors."""
    case = dict(RACK, **KV, context=200_000)
    floor, (_, read) = of(eq.latency_floor, **case), simulation.step(1, **case)
    standard = round(15 * 0.12 * floor / (read - floor))
    fast = simulation.fast_mode(standard, 6, **case)
    assert fast.speed_ratio == pytest.approx(2.5, rel=0.02) and fast.batch_ratio == pytest.approx(15, rel=0.02)
    assert max(simulation.step(standard, **case)) / floor == pytest.approx(2.8, rel=0.02)


def test_a_price_that_no_batch_reaches():
    assert simulation.fast_mode(4, 6, **RACK) is None


# --- the lecture's numbers --------------------------------------------------------------------------------------------


def test_the_worked_rack():
    assert of(eq.hardware_constant, **RACK) == 281.25
    assert of(eq.latency_floor, **RACK) == pytest.approx(0.6836e-3, abs=0.5e-7)
    assert of(eq.compute_time, batch=1, **RACK) == pytest.approx(0.12847e-6, abs=0.5e-11)
    assert round(of(eq.critical_batch, **RACK)) == 5_321 == round(of(eq.batching_gain, **RACK))
    assert round(of(eq.balanced_context, **RACK, **KV)) == 32_889
    assert of(eq.ceiling, **RACK) == pytest.approx(7.78e6, abs=0.5e4)


@pytest.mark.parametrize(
    "batch, milliseconds, digits, rate, unit",
    [
        (1, 0.68366, 5, 1_463, 1),
        (100, 0.68999, 5, 144_929, 1),
        (1_000, 0.74759, 5, 1.3376, 1e6),
        (20_000, 2.56944, 5, 7.7838, 1e6),
    ],
)
def test_the_worked_rack_at_16k(batch, milliseconds, digits, rate, unit):
    step = of(eq.step_time, batch=batch, **RACK, **AT_16K)
    assert round(1e3 * step, digits) == milliseconds
    assert round(batch / step / unit, 0 if unit == 1 else 4) == rate
    assert max(simulation.step(batch, **RACK, **AT_16K)) == pytest.approx(step, rel=1e-14)
    binds = "compute" if batch == 20_000 else "memory"
    assert eq.step_time.bind(**RACK, **AT_16K).terms.binds(batch=batch) == binds


@pytest.mark.parametrize(
    "flops, bandwidth, size, constant",
    [(1979e12, 3.35e12, 1, 295.4), (9e15, 8e12, 0.5, 281.25), (312e12, 2.039e12, 2, 153.0)],
)
def test_the_hardware_constants(flops, bandwidth, size, constant):
    found = eq.hardware_constant(flops=flops, bandwidth=bandwidth, bytes_per_param=size)
    assert round(found, len(str(constant).split(".")[1])) == constant


@pytest.mark.parametrize("ratio, batch", [(8, 2_400), (671 / 37, 5_440.5), (32, 9_600), (1, 300)])
def test_the_critical_batches_at_300(ratio, batch):
    case = dict(n_active=37e9, n_total=37e9 * ratio, bytes_per_param=1, flops=600e12, bandwidth=1e12)
    assert round(of(eq.critical_batch, **case), 1) == batch == round(of(eq.batching_gain, **case), 1)
    assert simulation.crossing(**case) == math.ceil(batch)


def test_the_lecture_s_other_numbers():
    assert eq.drain_time(hbm=288e9, bandwidth=20e12) == pytest.approx(14.4e-3)
    assert eq.throughput(batch=2_000, interval=1 / 64) == 128_000
    assert eq.user_rate(interval=1 / 64) == 64
    assert eq.fast_mode_batch_ratio(price_ratio=6, speed_ratio=2.5) == 15
    assert (eq.worst_latency(interval=0.02), eq.mean_latency(interval=0.02)) == pytest.approx((0.04, 0.03))


# --- limits, in symbols -----------------------------------------------------------------------------------------------

B, L = symbol("batch"), symbol("context")


def zero(expr: sympy.Expr) -> bool:
    return sympy.simplify(expr) == 0


def test_no_batch_at_all_leaves_the_weights():
    assert zero(eq.memory_time.expr.subs(B, 0) - eq.latency_floor.expr)
    assert eq.step_time.expr.subs(B, 0) == eq.latency_floor.expr
    assert sympy.limit(eq.compute_time.expr / eq.memory_time.expr, B, 0) == 0  # and no multiplier has work
    assert sympy.limit(eq.memory_time.expr / B, B, 0, "+") == oo  # at a price without bound


def test_an_unlimited_batch_costs_its_own_work_only():
    binding = [term / B for term in (eq.compute_time.expr, eq.memory_time.expr)]
    floor = symbol("rent") * symbol("chips") * sympy.Max(*(sympy.limit(sympy.expand(term), B, oo) for term in binding))
    assert zero(floor - eq.cost_floor.expr)
    shares = [
        sympy.limit(sympy.expand(eq.compute_time.expr / term), B, oo)
        for term in (eq.compute_time.expr, eq.memory_time.expr)
    ]
    assert zero(sympy.Min(*shares) - eq.mfu_limit.expr)


def test_short_and_long_contexts():
    assert eq.memory_time.expr.subs(L, 0) == eq.weight_time.expr
    assert sympy.Min(1, sympy.limit(eq.balanced_context.expr / L, L, 0, "+")) == 1  # mfu_limit = Min(1, L*/L)
    assert sympy.Min(1, sympy.limit(eq.balanced_context.expr / L, L, oo)) == 0
    assert zero(eq.mfu_limit.expr - sympy.Min(1, eq.balanced_context.expr / L))
    assert sympy.limit(eq.memory_time.expr, L, oo) == oo
    assert sympy.limit(eq.memory_time.expr / L, L, oo) == eq.kv_time.expr / L  # reading KV is all that is left


def test_at_twice_the_balanced_context_half_the_multipliers_idle():
    assert eq.mfu_limit.expr.subs(L, 2 * eq.balanced_context.expr) == sympy.Rational(1, 2)
    assert eq.mfu_limit.expr.subs(L, eq.balanced_context.expr / 3) == 1
    long = dict(RACK, **KV, context=2 * of(eq.balanced_context, **RACK, **KV))
    assert of(eq.mfu, batch=1e12, **long) == pytest.approx(0.5) and of(eq.mfu, batch=1, **long) < 0.001


def test_at_the_critical_batch_multiplying_takes_as_long_as_reading():
    assert zero((eq.compute_time.expr - eq.weight_time.expr).subs(B, eq.critical_batch.expr))


def test_alone_over_together_is_what_batching_is_worth():
    """cost(1) / cost(∞) = G, without KV, for chips that read more slowly than they multiply."""
    alone = eq.weight_time.expr  # at batch 1 reading binds as long as B* > 1
    together = sympy.limit(eq.compute_time.expr / B, B, oo)
    assert zero(alone / together - eq.batching_gain.expr)
    case = dict(RACK, context=0, kv_bytes_per_token=1, rent=1, chips=1)
    assert of(eq.cost_per_token, batch=1, **case) / of(eq.cost_floor, **case) == pytest.approx(
        of(eq.batching_gain, **case)
    )


positive = st.floats(1e-3, 1e15)


@settings(max_examples=60)
@given(st.fixed_dictionaries(dict.fromkeys((*RACK, *AT_16K, "batch"), positive)))
def test_a_step_is_never_shorter_than_any_of_its_terms(case):
    step = of(eq.step_time, **case)
    terms = [
        of(term, **case) for term in (eq.compute_time, eq.memory_time, eq.weight_time, eq.kv_time, eq.latency_floor)
    ]
    assert all(step >= term * (1 - 1e-12) for term in terms)
    assert step == pytest.approx(max(simulation.step(**case)), rel=1e-12)
    assert 0 <= of(eq.mfu, **case) <= of(eq.mfu_limit, **case) * (1 + 1e-9)
    assert of(eq.slow_mode_limit, **case) >= 1 - 1e-12


# --- the lab ----------------------------------------------------------------------------------------------------------

TINY = own_machine.Plan(weight_rows=24, weight_columns=16, matrices=3, square=8, batches=(1, 2, 4))


class Ideal:
    """A machine that obeys the roofline: 10 GFLOP/s and 2 GB/s, with a slower start for real matrix products."""

    device, precision, bytes_per_value, burst, machine = "cpu", "float32", 4, 1, "Ideal 1"

    def __init__(
        self, plan: own_machine.Plan = own_machine.Plan(512, 512, 2, 64), unrest: float = 1.0, copies: float = 1.0
    ):
        self.plan, self.unrest, self.copies, self.calls = plan, unrest, copies, 0

    def seconds(self, work):
        self.calls += 1
        return work() * (self.unrest if self.calls % 3 else 1.0)

    def readers(self):
        return {"slow": (lambda: 3e-6, 3000), "fast": (lambda: 1e-6, 2000)}

    def square(self):
        return lambda: 2 * 64**3 / 1e10, 2.0 * 64**3

    def product(self, batch):
        k, q = self.plan.weight_rows, self.plan.weight_columns
        read = 4 * (k * q * (self.copies if batch > 1 else 1) + batch * (k + q)) / 2e9
        return lambda: max(2 * batch * k * q / 1e10, read)

    def identity(self):
        return own_machine._identity(self) | dict(id="ideal", threads=2, software="none")


def test_the_lab_finds_the_rates_and_the_knee_of_an_ideal_machine(capsys):
    found = own_machine.measure(seconds=0.01, bench=Ideal())
    assert (found.flops, found.bandwidth, found.read_by) == (pytest.approx(1e10), pytest.approx(2e9), "fast")
    assert found.hardware_constant == pytest.approx(10)
    assert found.seconds == pytest.approx(found.predict(), rel=1e-12) and found.predict(4) == pytest.approx(
        found.seconds[2]
    )
    assert found.predicted_knee == pytest.approx(20, rel=0.02)  # C = 10 rows, and twice that to double the time
    assert found.knee == pytest.approx(found.predicted_knee, rel=0.05)
    said = capsys.readouterr().out
    assert "2.00 GB/s, read by fast" in said and "11 of 11  batch  1024" in said and "busy" not in found.summary()


def test_the_lab_measures_the_flat_from_real_matrix_products():
    found = own_machine.measure(seconds=0.01, progress=False, bench=Ideal(copies=2.5))
    assert found.flat == found.seconds[1] > 2 * found.seconds[0]
    assert found.knee == pytest.approx(50, rel=0.05) and "doubled from flat at batch 50" in found.summary()


def test_the_lab_says_when_the_machine_was_busy_or_the_knee_lies_beyond(capsys):
    found = own_machine.measure(
        seconds=0.0, progress=False, bench=Ideal(own_machine.Plan(512, 512, 2, 64, batches=(1, 2, 4)), unrest=2.0)
    )
    assert capsys.readouterr().out == "" and found.unrest == pytest.approx(2) and found.knee is None
    assert "busy" in found.summary() and "nowhere up to batch 4" in found.summary()


def test_the_lab_runs_on_this_cpu_takes_turns_and_asks_the_clock():
    ticks = iter(range(10_000))
    bench = own_machine._Cpu(TINY, free=1e9, clock=lambda: next(ticks))
    seen = [id(bench._next()) for _ in range(6)]
    assert len(set(seen)) == 3 and seen[:3] == seen[3:]  # never the matrix just used
    for work, size in bench.readers().values():
        assert np.isfinite(work()).all() and size % (24 * 16 * 4) == 0
    assert bench.product(5)().shape == (5, 16) and bench.square()[1] == 1024
    found = own_machine.measure(seconds=0, progress=False, bench=bench)
    assert [(row.batch, row.seconds, row.repeats) for row in found.rows] == [(1, 1, 3), (2, 1, 3), (4, 1, 3)]
    assert found.machine and found.threads >= 1 and found.software.startswith("NumPy")


def test_the_lab_takes_matrices_that_outlast_the_cache():
    assert own_machine._fitting(own_machine.Plan(), 32 * 2**20).matrices == 8
    large = own_machine._fitting(own_machine.Plan(), 384 * 2**20)
    assert large.matrices * large.matrix_bytes(4) >= 4 * 384 * 2**20
    assert own_machine.last_level_cache() > 0


def test_the_lab_refuses_politely_when_memory_is_short():
    with pytest.raises(
        MemoryError, match=r"needs .* MB and 100 MB are free: close other programs, or pass a smaller plan"
    ):
        own_machine._Cpu(own_machine.Plan(), free=1e8)
    own_machine._afford(1e12, None)  # unknown: try


@pytest.mark.parametrize(
    "device, id",
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA A100-SXM4-80GB", "a100-80gb"),
        ("NVIDIA B200", "b200"),
        ("NVIDIA A100-SXM4-40GB", "a100-40gb"),
        ("NVIDIA GB200", "gb200-nvl72"),
        ("AMD Instinct MI300X", "mi300x"),
        ("NVIDIA GeForce RTX 4090", None),
    ],
)
def test_the_lab_names_the_nearest_chip(device, id):
    known = [
        "a100-40gb",
        "a100-80gb",
        "h100-sxm",
        "h200",
        "h800",
        "b100",
        "b200",
        "gb200-nvl72",
        "b300",
        "gb300-nvl72",
        "mi300x",
    ]
    assert own_machine.nearest_chip(device, known) == id


class FakeTorch(SimpleNamespace):
    """As much of PyTorch as the lab uses, on NumPy; the GPU's clock runs 1 ms per product."""

    def __init__(self):
        cuda = SimpleNamespace(
            get_device_name=lambda _: "NVIDIA H200", mem_get_info=lambda: (1e12, 1e12), is_available=lambda: True
        )
        super().__init__(cuda=cuda, bfloat16=np.float32, __version__="9.9", version=SimpleNamespace(cuda="99"), calls=0)
        cuda.Event, cuda.synchronize = self._event, lambda: None

    def _event(self, enable_timing):
        event = SimpleNamespace()
        event.record = lambda: setattr(event, "at", self.calls)
        event.elapsed_time = lambda end: float(end.at - event.at)
        return event

    def randn(self, shape, dtype, device):
        torch = self

        class Counted(np.ndarray):
            def __matmul__(a, b):
                torch.calls += 1
                return np.asarray(a) @ np.asarray(b)

            def copy_(a, b):
                a[...] = b

        assert device == "cuda"
        return np.random.default_rng(0).standard_normal(shape).astype(dtype).view(Counted)

    def empty_like(self, x):
        return np.empty_like(x)


def test_the_lab_measures_a_gpu_in_bursts_over_matrices_in_turn(monkeypatch):
    torch = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(own_machine, "nearest_chip", lambda name: "h200" if "H200" in name else None)
    bench = own_machine._bench(TINY, print)
    assert (
        isinstance(bench, own_machine._Cuda)
        and bench.burst == 3
        and bench.seconds(bench.product(2)) == pytest.approx(1e-3)
    )
    assert bench.product(2)().shape == (2, 16) and bench.square()[0]().shape == (8, 8)
    assert [np.isfinite(work()).all() if name != "copy" else work() for name, (work, _) in bench.readers().items()]
    identity = bench.identity()
    assert (identity["machine"], identity["chip"], identity["id"], identity["precision"]) == (
        "NVIDIA H200",
        "h200",
        "h200",
        "bf16",
    )
    torch.cuda.is_available = lambda: False
    monkeypatch.setattr(own_machine, "_free_memory", lambda: 1e9)
    assert isinstance(own_machine._bench(TINY, lambda _: None), own_machine._Cpu)


def test_the_shipped_rows_say_how_they_were_made_and_keep_to_the_roofline(tmp_path):
    m = own_machine.shipped()
    assert (
        m.device == "cpu"
        and m.machine
        and m.threads == 2
        and "NumPy" in m.software
        and m.how
        and "2-core virtual machine" in m.note
    )
    assert [row.batch for row in m.rows] == [2**i for i in range(11)]
    assert (m.seconds >= 0.9 * m.predict()).all()  # a floor, up to the noise of the measured rates
    assert m.predicted_knee < 2.5 * m.hardware_constant and m.knee is not None
    m.save(tmp_path / "again.yaml")
    assert own_machine.load(tmp_path / "again.yaml") == m


def test_the_lab_s_figure_shows_points_and_prediction():
    figure = own_machine.shipped().figure()
    line, points = figure.axes[0].lines[:2]
    assert len(points.get_xdata()) == len(own_machine.shipped().rows) and len(line.get_xdata()) > 100
    assert points.get_ydata() == pytest.approx(1e3 * own_machine.shipped().seconds)


def test_nothing_is_measured_or_drawn_at_import():
    code = (
        "import sys; from blackboard.lessons.batching import own_machine, simulation, transformer;"
        " print({'matplotlib', 'torch'} & set(sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "set()"
    )
