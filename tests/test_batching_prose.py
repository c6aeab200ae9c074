"""The numbers that the batching lesson prints, reckoned once more."""

import re

import pytest

from blackboard.catalogue import model
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as eq
from blackboard.lessons.batching import numbers, simulation


def test_printed_numbers_agree_with_an_independent_reckoning():
    """Plain arithmetic from the architecture and the datasheets, rounded as printed."""
    told = numbers.all()
    experts = 58 * 256 * 3 * 7168 * 2048
    attention = 61 * (7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168)
    rest = 2 * 129_280 * 7168 + 58 * (3 * 7168 * 2048 + 256 * 7168) + 3 * 3 * 7168 * 18_432
    total, active = experts + attention + rest, experts * 8 / 256 + attention + rest
    bandwidth, flops, kv = 72 * 8e12, 72 * 5e15, 61 * 576 * 2
    filled, attends = (72 * 186e9 - total) / (10_000 * kv), 2 * 128 * (576 + 512) * 61  # attention in the latent space
    expected = {
        "floor": f"{total / bandwidth * 1e3:.3f} ms",
        "fastest": f"{bandwidth / total:,.0f}",
        "flops": f"{flops / 1e15:.0f} PFLOP/s",
        "compute_one": f"{2 * active / flops * 1e9:.1f} ns",
        "sequence_kv": f"{1000 * kv / 1e6:.1f} MB",
        "kv_one": f"{1000 * kv / bandwidth * 1e9:.0f} ns",
        "kv_ten": f"{10_000 * kv / bandwidth * 1e6:.2f} µs",
        "gap": f"{(2 * active / flops - 1000 * kv / bandwidth) * 1e9:.1f} ns",
        "least": "100",
        "least_saving": f"{(total + 1e5 * kv) / bandwidth / 100 / (2 * active / flops):.0f}",
        "exchange": f"{58 * 2 * 32 * 9 * 7000 * 3 / 900e9 * 1e3:.2f} ms",  # 32 tokens to 9 experts, FP8 out, BF16 back
        "hbm": f"{72 * 186e9 / 1e12:.2f} TB",
        "drain_rack": f"{72 * 186e9 / bandwidth * 1e3:.2f} ms",
        "full": f"{round((72 * 186e9 - total) / (10_000 * kv), -2):,.0f}",
        "long_kv": f"{10_000 * kv / 1e6:.0f} MB",
        "long_slow": f"{(total + 1720 * 10_000 * kv) / bandwidth * 1e3:.1f} ms",
        "long_quick": f"{(total + 115 * 10_000 * kv) / bandwidth * 1e3:.1f} ms",
        "full_compute": f"{filled * (2 * active + 10_000 * attends) / flops * 1e3:.0f} ms",
        "fast_now_short": f"{2_876 * 100 * kv / total:.0%}",
        "fast_now_mid": f"{3_950 * 1000 * kv / total:.0%}",  # 5 × 3,950 sequences compute 2.5 times as long
        "fast_now_long": f"{(2.5 - 1) * 2 / (2 - 1) / 5:.0%}",  # as in the closed form below
        "full_slower": f"{72 * 186e9 / (total + 1720 * 10_000 * kv):.0f}",
        "full_cheaper": f"{1 - 72 * 186e9 / filled / ((total + 1720 * 10_000 * kv) / 1720):.0%}",
        "throughput": f"{2000 / ((total + 2e6 * kv) / bandwidth) / 1e6:.2f} million tokens",
        "slow_step": f"{(total + 256 * 1000 * kv) / bandwidth * 1e3:.3f} ms",
        "slow_cost": f"${72 * 2 / 3600 * (total + 256 * 1000 * kv) / bandwidth / 256 * 1e6:.3f}",
        "cheapest": f"${72 * 2 / 3600 * 2 * active / flops * 1e6:.5f}",
        "weight_bytes": f"{total / 1e9:.0f} GB",
        "bandwidth": f"{bandwidth / 1e12:.0f} TB/s",
        "intensity": f"{flops / 2 / bandwidth:.1f}",
        "sparsity": f"{total / active:.1f}",
        "critical": f"{round(flops / 2 / bandwidth * total / active, -2):,.0f}",
        "n_active": f"{active / 1e9:.2f} billion",
        "n_total": f"{total / 1e9:.0f} billion",
        "kv_bytes": f"{kv / 1e3:.1f} kB",
        "balanced": f"{round(2 * active / flops * bandwidth / kv, -1):,.0f} tokens",
        "balanced_board": f"{round(2 * active / flops * bandwidth / 2000, -3):,.0f} tokens",
        "mfu_twice": "50%",
        "fast_ratio": "15",
        "worst": "40 ms",
        "mean": "30 ms",
        "chip_flops": "5 PFLOP/s",
        "chip_bandwidth": "8 TB/s",
        "covered": "96%",  # 1 - (31/32)^100
        "embed_active": f"{129_280 * 7168 / active:.1%}",
        "spread_bytes": f"{total / 72e9:.1f} GB",
        "copied_bytes": f"{(experts / 72 + attention + rest) / 1e9:.0f} GB",
        "copied_floor": f"{(experts / 72 + attention + rest) / 8e12 * 1e3:.1f} ms",
        "overstated": f"{total / (total - experts * (31 / 32) ** 100) - 1:.0%}",
        "large_saving": f"{(total + 1e7 * kv) / bandwidth / 1e4 / (2 * active / flops) - 0.995:.0%}",
        "tenfold": f"{round(total / bandwidth / (10 * 2 * active / flops - 1000 * kv / bandwidth), -2):.0f}",
        "mfu_full": f"{(72 * 186e9 - total) / (72 * 186e9) / 2:.1%}",
        "full_misses": f"{total / (72 * 186e9 - total):.0%}",
        "dense_context": f"{0.9 * (1024 + 512):,.0f} tokens",
        "dense_kv": f"{80 * 2 * 8 * 128 / 1e3:.0f} kB",
        "dense_floor": f"{70.55e9 / 38.4e12 * 1e3:.2f} ms",
        "dense_critical": f"{1978.9 / 2 / 4.8:.0f}",
        "engine_least": f"{128 * 8 / 18598 / (16384 * (2 * active + 2 * 4096 * attends) / (128 * 1.979e15)):.1f}",
        "engine_most": f"{256 * 8 / 22282 / (18432 * (2 * active + 2 * 2000 * attends) / (72 * 1.979e15)):.1f}",
        "lone": "89",
        "lone_bound": f"{round(8 * 8e12 / active, -2):,.0f}",
        "fast_above": f"{0.12:.0%}",  # see the last test
        "fast_saving": "36%",
        "misfit": "20,000 tokens",
        "step_rack": f"{(total + 2e6 * kv) / bandwidth * 1e3:.2f} ms",
        "drain_least": "13 ms",
        "drain_most": "39 ms",
        "fast_price": "6",
        "fast_speed": "2.5",
        "fast_now_ratio": "5",
        "attention": f"{2 * 128 * (512 + 64 + 512) * 61 / 1e6:.0f} MFLOP",
        "attention_equal": f"{round(2 * active / (2 * 128 * 1088 * 61), -2):,.0f} tokens",
        "kink": f"{round(total / bandwidth / (2 * active / flops - 1000 * kv / bandwidth), -1):,.0f}",
    }
    assert {name: told[name] for name in expected} == expected
    cells = re.findall(r"<td>(.*?)</td>", str(numbers.corrections()))
    copied = (experts / 72 + attention + rest) / 8e12
    for column, (slower, floor) in enumerate([(0, 1), (1, 1), (2, 1), (0, copied * bandwidth / total)]):
        token, load = (2 * active + slower * 1000 * attends) / flops, 1000 * kv / bandwidth
        kink = floor * total / bandwidth / (token - load)
        found = [float(re.sub("[^0-9.]", "", cell)) for cell in cells[column::4]]
        expected = [floor * total / bandwidth * 1e3, token * 1e9, kink, 72 * 2 / 3600 * token * 1e6]
        expected += [2 * active / flops / (kv / bandwidth - slower * attends / flops)]
        assert found[:5] == pytest.approx(expected, rel=5e-3)
        standard = found[5]  # the card's: past the kink, where 15 times fewer wait for memory
        assert standard * token == pytest.approx(2.5 * (floor * total / bandwidth + standard / 15 * load), rel=5e-3)
    step = max(2 * 256 * active / flops, (total + 256 * 1000 * kv) / bandwidth) / 256
    assert told["slow_saving"] == f"{step / max(2 * active / flops, 1000 * kv / bandwidth):.0f}"


def test_the_fast_card_fits_only_those_batches():
    """Shrink the standard batch one by one until a token costs six times as much: it is then 2.5 times as fast."""
    known = RUNNING.symbols()
    case = {name: known[name] for name in ("n_active", "n_total", "bytes_per_param", "flops", "bandwidth")}
    case["kv_bytes_per_token"] = known["kv_bytes_per_token"]
    for context, standard, fast, above, saving in numbers.fast_rows()[:4]:
        found = simulation.fast_mode(round(standard), 6, context=context, **case)
        assert found and found.batch == pytest.approx(fast, abs=1) and found.speed_ratio == pytest.approx(2.5, rel=0.01)
        assert above == pytest.approx(max(simulation.step(fast, context=context, **case)) / 1.16497e-3, rel=1e-4)
        assert saving == pytest.approx(simulation.best_discount(round(standard), context=context, **case)[0], rel=1e-3)


def test_past_the_balanced_context_the_fast_card_has_a_closed_form():
    """With x the standard KV time over the weights' time: (1 + x) = 2.5 (1 + x/15), so x = 1.5 * 6 / 5 = 1.8."""
    x = (2.5 - 1) * 6 / (6 - 1)
    *_, above, saving = numbers.fast_rows()[-1]
    assert above == pytest.approx(1 + x / 15) and saving == pytest.approx((1 + x) / x)


def test_no_batch_fits_the_card_at_long_contexts_once_experts_are_skipped():
    """Try every batch: 15 times fewer sequences are always more than 2.5 times as fast from 20,000 tokens on."""
    known, net = RUNNING.symbols(), model(RUNNING.model)
    routed = (net.n_total - net.n_active) / (1 - 8 / 256)

    def step(batch, context):
        weights = known["n_total"] - routed * (1 - 8 / 256) ** batch
        memory = (weights + batch * context * known["kv_bytes_per_token"]) / known["bandwidth"]
        return max(2 * batch * net.n_active / known["flops"], memory)

    least = lambda context: min(step(15 * fast, context) / step(fast, context) for fast in range(1, 1_500))
    assert least(10_000) < 2.5 < least(20_000) < least(100_000)


def test_without_attention_the_comparison_is_the_roofline():
    """With attention left out, the fold's numbers are the formulas'; with it, they meet the definition of each."""
    plain = eq.with_attention(RUNNING, 0)
    assert plain.kink == pytest.approx(eq.crossing(RUNNING)) and plain.balanced == pytest.approx(
        eq.balanced_context(RUNNING)
    )
    assert numbers.cheapest(plain) == pytest.approx(eq.cost_floor(RUNNING, rent=2 / 3600))


def test_a_batch_that_fills_the_memory_is_the_cheapest_at_long_contexts():
    """At 10,000 tokens each sequence that fits makes a token cheaper, and the full step takes the drain time."""
    case = RUNNING._replace(context=numbers.LONG)
    known = case.symbols()
    full = (known["hbm"] - known["n_total"]) / (numbers.LONG * known["kv_bytes_per_token"])
    costs = [eq.cost_per_token(case, batch=full * share, rent=1) for share in (0.25, 0.5, 0.75, 1)]
    assert costs == sorted(costs, reverse=True)
    assert eq.step_time(case, batch=full) == pytest.approx(eq.drain_time(case))
