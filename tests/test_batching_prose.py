"""The numbers that the batching lesson prints, reckoned once more."""

from blackboard.lessons.batching import numbers


def test_printed_numbers_agree_with_an_independent_reckoning():
    """Plain arithmetic from the architecture and the datasheets, rounded as printed."""
    told = numbers.all()
    experts = 58 * 256 * 3 * 7168 * 2048
    attention = 61 * (7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168)
    rest = 2 * 129_280 * 7168 + 58 * (3 * 7168 * 2048 + 256 * 7168) + 3 * 3 * 7168 * 18_432
    total, active = experts + attention + rest, experts * 8 / 256 + attention + rest
    bandwidth, flops, kv = 72 * 8e12, 72 * 5e15, 61 * 576 * 2
    expected = {
        "floor": f"{total / bandwidth * 1e3:.2f} ms",
        "fastest": f"{bandwidth / total:,.0f}",
        "first_bytes": f"{active / 1e9:.1f} GB",
        "flops": f"{flops / 1e15:.0f} PFLOP/s",
        "compute_one": f"{2 * active / flops * 1e9:.0f} ns",
        "sequence_kv": f"{1000 * kv / 1e6:.1f} MB",
        "kv_one": f"{1000 * kv / bandwidth * 1e9:.0f} ns",
        "slow_step": f"{(total + 256 * 1000 * kv) / bandwidth * 1e3:.3f} ms",
        "slow_cost": f"${72 * 2 / 3600 * (total + 256 * 1000 * kv) / bandwidth / 256 * 1e6:.3f}",
        "cheapest": f"${72 * 2 / 3600 * 2 * active / flops * 1e6:.4f}",
        "busy_saving": f"{(total + 2e6 * kv) / bandwidth / 2000 / (2 * active / flops):.1f}",
        "first_floor": f"{active / bandwidth * 1e6:.0f} µs",
        "weight_bytes": f"{total / 1e9:.0f} GB",
        "bandwidth": f"{bandwidth / 1e12:.0f} TB/s",
        "intensity": f"{flops / 2 / bandwidth:.1f}",
        "sparsity": f"{total / active:.1f}",
        "critical": f"{round(flops / 2 / bandwidth * total / active, -2):,.0f}",
        "gain": f"{round(flops / 2 / bandwidth * total / active, -2):,.0f}",
        "gain_dense": f"{flops / 2 / bandwidth:.1f}",
        "n_active": f"{active / 1e9:.1f} billion",
        "n_total": f"{total / 1e9:.0f} billion",
        "n_total_off": f"{700e9 / total - 1:.0%}",
        "kv_bytes": f"{kv / 1e3:.1f} kB",
        "balanced": f"{round(2 * active / flops * bandwidth / kv, -2):,.0f} tokens",
        "balanced_board": f"{round(2 * active / flops * bandwidth / 2000, -3):,.0f} tokens",
        "mfu_twice": "50%",
        "fast_ratio": "15",
        "worst": "40 ms",
        "mean": "30 ms",
        "throughput": "128,000 tokens/s",
        "throughput_20": "100,000 tokens/s",
        "interval_64": "15.6 ms",
        "step_h200": f"{(total + 2e6 * kv) / (8 * 4.8e12) * 1e3:.1f} ms",
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
