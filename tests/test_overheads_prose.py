"""The numbers that the overheads lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

from lessons import sig

from blackboard.lessons.overheads import numbers


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    llama = 6_738_415_616  # parameters of Llama 2 7B
    slope = lambda t: ((1 / t[0]) - (1 / t[-1])) / (1 - 1 / 8)  # from one chip to eight, the shared part
    one_to_eight = (104.9, 168.84, 254.02, 328.43)
    expected = {
        "llama_bytes": f"{2 * llama / 1e9:.1f} GB",
        "a100_bandwidth": "2.039 TB/s",
        "llama_floor": f"{13.5 / 2.039:.1f} ms",  # what a reader gets from the two numbers beside it
        "graph_most": f"{1000 / 25.5 / (13.5 / 2.039):.1f} times",
        "graph_ms": f"{1000 / 107:.1f} ms",
        "eager_ms": f"{1000 / 25.5:.0f} ms",
        "graph_measured": f"{107 / 25.5:.1f} times",
        "hidden_b200": f"{293 * (3.8 - 0.8) * 1e-6 * 8e12 / 1e9:.1f} GB",
        "vector_b200": f"{3.8e-6 * 8e12 / 2 / 1e6:.0f} MB",
        "vector_64": f"{2 * 64 * 8192 / 1e6:.1f} MB",
        "cache_lost": f"{1 - 543_219 / 655_758:.0%}",
        "flash_gain": sig(41.7 / 7.3),
        "fusion_high": "20%",
        "fusion_low": "1%",
        "silu": "8%",
        "sglang_32": "a loss of 27%",
        "nvl_weights": f"{671.025 / 72:.2f} GB",
        "nvl_load": f"{671.025 / 576:.2f} ms",
        "nvl_sent": f"{61 * 9 * 7168 * 3 / 1e6:.1f} MB",
        "nvl_send": f"{61 * 9 * 7168 * 3 / 900e9 * 1e6:.1f} µs",
        "ib_load": f"{26.3 / 3.35:.2f} ms",
        "ib_sent": f"{58 * 8 * 7168 * 3 / 1e6:.2f} MB",
        "ib_send": f"{58 * 8 * 7168 * 3 / 50e9 * 1e6:.0f} µs",
        "overlap_ib_chip": f"{26.3 / 3.35 * 1e6 / (58 * 8 * 7168 * 3 / 50):.0f}",
        "kernels_whole": "815",
        "kernels_halves": "1,294",
        "r1_steps": "17",
        "rack_weights": f"{671.025 / 576:.2f} ms",
        "node_weights": f"{2 * 70.5537 / (8 * 3.35):.2f} ms",
        "waited": f"{1000 / 25.5 - 1000 / 107:.0f} ms",
        "rack_eager": "5.7 to 9.4 ms",  # 1,502 launches of 3.8 µs, or 1.16 ms and 1,502 times 5.47 µs
        "fused_device": f"{13.5 / 2.039 + 324 * 5.47e-3:.1f} ms",
        "fused_launch": f"{324 / 25.5 / 1547 * 1e3:.1f} ms",
        "gain_fp8_most": f"{100 / (1 - 0.267 + 0.267 / 1.80) - 100:.0f}%",
        "gain_prefill": f"{100 / (1 - 0.188 + 0.188 / 1.21) - 100:.1f}%",
    }
    assert {name: told[name] for name in expected} == expected
    near = lambda name, value, within=0.05: abs(float(told[name].split()[0].replace(",", "")) / value - 1) < within
    assert near("eager_each", 1e6 / 25.5 / int(told["eager_kernels"].replace(",", "")))
    assert near("shared_7", 1e3 * slope(one_to_eight), 0.03) and near(
        "left_7", 1e3 / 104.9 - 1e3 * slope(one_to_eight), 0.1
    ), "a line through the outer points"
    llama_gaps, node_gaps = 1547 * 0.8e-3, 964 * 1.3e-3
    assert near("llama_gaps", llama_gaps) and near("llama_device", 13.5 / 2.039 + llama_gaps)
    assert near("node_gaps", node_gaps) and near("node_device", 5.265 + node_gaps) and near("node_launch", 964 * 2.1e-3)
    assert near("rack_device", 1.165 + 1502 * 0.8e-3) and near("rack_lost", 1502 * 5.47e-3)
    assert near("rack_launch", int(told["rack_kernels"].replace(",", "")) * 3.8e-3) and near(
        "rack_gaps", int(told["rack_kernels"].replace(",", "")) * 0.8e-3
    )


def test_overlap_on_the_rack_by_plain_arithmetic():
    """Reading the weights once more against the traffic of a sequence, nine copies of 7,168 values out in one byte and
    back in two, over 61 layers.
    """
    read = 671_025_397_760 / (72 * 8e12)
    sent = 61 * 9 * 7168 * 3 / (72 * 900e9)
    assert numbers.all()["overlap_nvl"] == sig(read / sent)
