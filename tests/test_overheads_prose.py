"""The numbers that the overheads lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

from lessons import sig

from blackboard.lessons.overheads import numbers


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    llama = 6_738_415_616  # parameters of Llama 2 7B
    slope = lambda t: ((1 / t[0]) - (1 / t[-1])) / (1 - 1 / 8)  # from one chip to eight, the shared part
    one_to_eight = (104.9, 168.84, 254.02, 328.43)
    launch = 1e6 / 25.5 / 1547  # µs
    sent = 58 * 8 * 7168 * 3 / 50e9 * 1e3  # ms of a token at a network card
    load, cached = 26.305 / 3.35, 2000 * 70_272 / 3.35e12 * 1e3  # ms of a GPU's weights, and of a token's cache
    missing = (load + 32 * (cached + sent)) / 0.73 - (2 * load + 32 * cached)
    expected = {
        "llama_bytes": f"{2 * llama / 1e9:.1f} GB",
        "a100_bandwidth": "2.039 TB/s",
        "llama_floor": f"{13.5 / 2.039:.1f} ms",  # what a reader gets from the two numbers beside it
        "graph_ms": f"{1000 / 107:.2f} ms",
        "eager_ms": f"{1000 / 25.5:.1f} ms",
        "waited": f"{1000 / 25.5 - 1000 / 107:.1f} ms",
        "graph_measured": f"{107 / 25.5:.1f} times",
        "eager_each": f"{launch:.1f} µs",
        "fused_launch": f"{324 * launch / 1e3:.1f} ms",
        "eight_launch": f"{388 * launch / 1e3:.1f} ms",
        "hidden_a100": f"{1547 * (25.3 - 5.47) * 1e-6 * 2.039e3:.0f} GB",
        "batch_7": f"{(1547 * (launch - 5.47) * 1e-6 * 2.039e12 - 2 * llama) / (1000 * 32 * 2 * 4096 * 2):.0f}",
        "cache_7": f"{1000 * 32 * 2 * 4096 * 2 / 1e6:.0f} MB",
        "each_7": f"{2.122 / 388 * 1e3:.2f} µs",
        "short_7": f"{7.44 - 13.5 / 2.039:.1f} ms",
        "graph_8": f"{1000 / 328.43:.2f} ms",
        "line_8": f"{7.44 / 8 + 2.12:.2f} ms",
        "lasts_8": f"{2.12 * 0.32843:.0%}",
        "vector_7": "8,192 bytes",
        "vector_time": f"{2 * 8192 / 2.039e12 * 1e9:.1f} ns",
        "vector_python": f"{launch * 2.039 / 2:.0f} MB",
        "tokens_python": f"{sig(launch * 2.039e6 / 2 / 8192)}",
        "tokens_graph": f"{5.47 * 2.039e6 / 2 / 8192:.0f}"[:-1] + "0",
        "cache_lost": f"{1 - 543_219 / 655_758:.0%}",
        "flash_gain": sig(41.7 / 7.3),
        "fusion_high": "20%",
        "fusion_low": "1%",
        "silu": "8%",
        "silu_share": f"{8 / 1.08:.1f}%",
        "ib_load": f"{load:.2f} ms",
        "ib_cache": f"{2000 * 70_272 / 1e6:.0f} MB",
        "ib_sent": f"{58 * 8 * 7168 * 3 / 1e6:.2f} MB",
        "ib_send": f"{sent * 1e3:.0f} µs",
        "overlap_ib_chip": f"{load / sent:.0f}",
        "serial_32": f"{load + 32 * (cached + sent):.2f} ms",
        "halves_32": f"{2 * load + 32 * cached:.2f} ms",
        "serial_256": f"{load + 256 * (cached + sent):.2f} ms",
        "halves_256": f"{256 * sent:.2f} ms",
        "foreseen_32": f"{100 - 100 * 15.58 / 17.05:.1f}% fewer tokens",
        "foreseen_256": f"{100 * 69.68 / 51.09 - 100:.1f}% more tokens",
        "sglang_32": "27% fewer tokens",
        "halves_cost": f"{missing:.1f} ms",
        "halves_each": f"{missing / 1.502:.1f} µs",
        "overlap_later": f"{(load + missing) / sent:.0f}",
        "nvl_faster": f"{900 / 50:.0f}",
        "kernels_whole": "815",
        "kernels_halves": "1,294",
        "r1_steps": "17",
        "node_divided": f"{2 * 70.5537:.0f} GB ÷ {8 * 3.35:.1f} TB/s",
        "rack_divided": f"671 GB ÷ {72 * 8} TB/s",
        "rack_weights": f"{671.025 / 576:.1f} ms",
        "node_weights": f"{2 * 70.5537 / (8 * 3.35):.1f} ms",
        "graph_alone_time": f"{13.5 / 2.039 + 1547 * 5.47e-3:.0f} ms",
        "price_low": f"{(1.2 + 1.2) / 1.2:.1f}",
        "gain_one": f"{100 / (1 - 0.0021 + 0.0021 / 4.55) - 100:.2f}%",
        "gain_eager": f"{100 / (1 - 0.0371 + 0.0371 / 4.87) - 100:.0f}%",
        "gain_prefill": f"{100 / (1 - 0.233 + 0.233 / 4.88) - 100:.0f}%",
        "gain_library": f"{100 / (1 - 0.0685 + 0.0685 / 1.18) - 100:.1f}%",
        "gain_fp8_most": f"{100 / (1 - 0.267 + 0.267 / 1.80) - 100:.0f}%",
    }
    assert {name: told[name] for name in expected} == expected
    near = lambda name, value, within=0.05: abs(float(told[name].split()[0].replace(",", "")) / value - 1) < within
    assert near("shared_7", 1e3 * slope(one_to_eight), 0.03) and near(
        "left_7", 1e3 / 104.9 - 1e3 * slope(one_to_eight), 0.1
    ), "a line through the outer points"
    assert near("llama_gaps", 1547 * 0.8e-3) and near("llama_lost", 1547 * 5.47e-3)
    assert near("node_gaps", 964 * 1.3e-3) and near("node_lost", 964 * 5.47e-3) and near("node_launch", 964 * 2.1e-3)
    assert near("rack_gaps", 1502 * 0.8e-3) and near("rack_lost", 1502 * 5.47e-3) and near("rack_launch", 1502 * 3.8e-3)


def test_overlap_on_the_rack_by_plain_arithmetic():
    """Reading the weights once more against the traffic of a sequence, nine copies of 7,168 values out in one byte and
    back in two, over 61 layers.
    """
    read = 671_025_397_760 / (72 * 8e12)
    sent = 61 * 9 * 7168 * 3 / (72 * 900e9)
    assert numbers.all()["overlap_nvl"] == sig(read / sent)
