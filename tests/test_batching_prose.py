"""The numbers that the batching lesson prints, reckoned once more."""

import pytest

from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import numbers, simulation


def test_printed_numbers_agree_with_an_independent_reckoning():
    """Plain arithmetic from the architecture and the datasheets, rounded as printed."""
    told = numbers.all()
    experts = 58 * 256 * 3 * 7168 * 2048
    attention = 61 * (7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168)
    rest = 2 * 129_280 * 7168 + 58 * (3 * 7168 * 2048 + 256 * 7168) + 3 * 3 * 7168 * 18_432
    total, active = experts + attention + rest, experts * 8 / 256 + attention + rest
    bandwidth, flops, kv = 72 * 8e12, 72 * 5e15, 61 * 576 * 2
    expected = {
        "floor": f"{total / bandwidth * 1e3:.3f} ms",
        "fastest": f"{bandwidth / total:,.0f}",
        "first_bytes": f"{active / 1e9:.1f} GB",
        "flops": f"{flops / 1e15:.0f} PFLOP/s",
        "compute_one": f"{2 * active / flops * 1e9:.1f} ns",
        "sequence_kv": f"{1000 * kv / 1e6:.1f} MB",
        "kv_one": f"{1000 * kv / bandwidth * 1e9:.0f} ns",
        "slow_step": f"{(total + 256 * 1000 * kv) / bandwidth * 1e3:.3f} ms",
        "slow_cost": f"${72 * 2 / 3600 * (total + 256 * 1000 * kv) / bandwidth / 256 * 1e6:.3f}",
        "cheapest": f"${72 * 2 / 3600 * 2 * active / flops * 1e6:.5f}",
        "busy_saving": f"{(total + 2e6 * kv) / bandwidth / 2000 / (2 * active / flops):.1f}",
        "first_floor": f"{active / bandwidth * 1e6:.0f} µs",
        "weight_bytes": f"{total / 1e9:.0f} GB",
        "bandwidth": f"{bandwidth / 1e12:.0f} TB/s",
        "intensity": f"{flops / 2 / bandwidth:.1f}",
        "sparsity": f"{total / active:.1f}",
        "critical": f"{round(flops / 2 / bandwidth * total / active, -2):,.0f}",
        "gain": f"{round(flops / 2 / bandwidth * total / active, -2):,.0f}",
        "gain_dense": f"{flops / 2 / bandwidth:.1f}",
        "n_active": f"{active / 1e9:.2f} billion",
        "n_total": f"{total / 1e9:.0f} billion",
        "n_total_off": f"{700e9 / total - 1:.0%}",
        "kv_bytes": f"{kv / 1e3:.1f} kB",
        "balanced": f"{round(2 * active / flops * bandwidth / kv, -1):,.0f} tokens",
        "balanced_board": f"{round(2 * active / flops * bandwidth / 2000, -3):,.0f} tokens",
        "mfu_twice": "50%",
        "fast_ratio": "15",
        "worst": "40 ms",
        "mean": "30 ms",
        "throughput_20": "100,000 tokens/s",
        "step_h200": f"{(total + 2e6 * kv) / (8 * 4.8e12) * 1e3:.1f} ms",
        "rack_more": f"{0.020 / ((total + 2e6 * kv) / bandwidth):.0f}",
        "chip_flops": "5 PFLOP/s",
        "chip_bandwidth": "8 TB/s",
        "covered": "96%",  # 1 - (31/32)^100
        "moe_layers": "58",
        "embed_active": f"{129_280 * 7168 / active:.1%}",
        "spread_bytes": f"{total / 72e9:.1f} GB",
        "copied_bytes": f"{(experts / 72 + attention + rest) / 1e9:.0f} GB",
        "copied_floor": f"{(experts / 72 + attention + rest) / 8e12 * 1e3:.1f} ms",
        "overstated": f"{total / (total - experts * (31 / 32) ** 100) - 1:.0%}",
        "first_less": f"{total / active:.0f}",
        "large_saving": f"{(total + 1e7 * kv) / bandwidth / 1e4 / (2 * active / flops) - 1:.0%}",
        "exchange": "0.82 ms",  # the paper rounds 61 layers x 2 x 6.72 us
        "exchange_one": f"{11.905 + 12.557:.1f} µs",
        "exchange_lone": f"{58 * (11.905 + 12.557) / 1000:.1f} ms",
        "engine_least": f"{128 * 8 / 18598 / ((total + 16384 * 4096 * kv) / (128 * 3.35e12)):.1f}",
        "engine_most": f"{256 * 8 / 22282 / ((total + 18432 * 2000 * kv) / (72 * 3.35e12)):.1f}",
        "lone": "89",
        "lone_bound": f"{round(8 * 8e12 / active, -2):,.0f}",
        "fast_above": f"{0.12:.0%}",  # see the last test
        "fast_saving": "1.6",
        "step_rack": f"{(total + 2e6 * kv) / bandwidth * 1e3:.2f} ms",
        "balanced_fp8": f"{round(2 * active / (flops * kv / bandwidth - 2 * 128 * 1088 * 61), -2):,.0f} tokens",
        "balanced_bf16": f"{round(2 * active / (flops * kv / bandwidth - 2 * 2 * 128 * 1088 * 61), -2):,.0f} tokens",
        "idle_20ms": f"{2000 * 2 * active / flops / 0.020:.1%}",
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
    step = max(2 * 256 * active / flops, (total + 256 * 1000 * kv) / bandwidth) / 256
    assert told["slow_saving"] == f"{step / max(2 * active / flops, 1000 * kv / bandwidth):.0f}"


def test_the_fast_card_fits_only_those_batches():
    """Shrink the standard batch one by one until a token costs six times as much: it is then 2.5 times as fast."""
    known = RUNNING.symbols()
    case = {name: known[name] for name in ("n_active", "n_total", "bytes_per_param", "flops", "bandwidth")}
    case["kv_bytes_per_token"] = known["kv_bytes_per_token"]
    for context, standard, fast, above, saving in numbers.fast_rows():
        found = simulation.fast_mode(round(standard), 6, context=context, **case)
        assert found and found.batch == pytest.approx(fast, abs=1) and found.speed_ratio == pytest.approx(2.5, rel=0.01)
        assert above == pytest.approx(max(simulation.step(fast, context=context, **case)) / 1.16497e-3, rel=1e-4)
        assert saving == pytest.approx(simulation.best_discount(round(standard), context=context, **case)[0], rel=1e-3)


def test_past_the_balanced_context_the_fast_card_has_a_closed_form():
    """With x the standard KV time over the weights' time: (1 + x) = 2.5 (1 + x/15), so x = 1.5 * 6 / 5 = 1.8."""
    x = (2.5 - 1) * 6 / (6 - 1)
    *_, above, saving = numbers.fast_rows()[-1]
    assert above == pytest.approx(1 + x / 15) and saving == pytest.approx((1 + x) / x)
