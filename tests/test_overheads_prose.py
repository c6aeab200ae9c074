"""The numbers that the overheads lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

import contextlib
import io
import re

import numpy as np
import pytest
from lessons import page, sig

from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import implied, numbers, simulation


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    llama = 6_738_415_616  # parameters of Llama 2 7B
    launch = 1e6 / 25.5 / 1547  # µs
    gap, shared = 5.205, 7.835  # µs and ms: the normal equations of the four times, solved below
    waited = lambda lost: 1000 / 25.5 - shared - 1547 * lost / 1e3  # ms, if each kernel lost so many µs
    sent = 58 * 8 * 7168 * 3 / 50e9 * 1e3  # ms of a token at a network card
    load, cached = 26.305 / 3.35, 2000 * 70_272 / 3.35e12 * 1e3  # ms of a GPU's weights, and of a token's cache
    serial, halves = load + 32 * (cached + sent), 2 * load + 32 * cached
    lost, more = 1.502 * gap, 1294.4 / 814.6  # ms at the kernels of one piece; as many times more in halves
    worse = lambda times: 100 - 100 * (serial + lost) / (halves + times * lost)
    expected = {
        "llama_bytes": f"{2 * llama / 1e9:.1f} GB",
        "a100_bandwidth": "2.039 TB/s",
        "llama_floor": f"{13.5 / 2.039:.1f} ms",  # what a reader gets from the two numbers beside it
        "eager_ms": f"{1000 / 25.5:.1f} ms",
        "waited": f"{1000 / 25.5 - 1000 / 104.9:.1f} ms",
        "waited_range": f"{waited(5.915):.0f} to {1000 / 25.5 - 1000 / 104.9:.0f} ms",
        "waited_least": f"{waited(5.915):.0f} to {waited(gap):.0f} ms",
        "graph_gain": f"{104.9 / 25.5:.1f} times",
        "eager_each": f"{launch:.1f} µs",
        "fused_launch": f"{324 * launch / 1e3:.1f} ms",
        "eight_launch": f"{388 * launch / 1e3:.1f} ms",
        "fill_each": f"{launch - gap:.1f} µs",
        "hidden_a100": f"{1547 * (launch - gap) * 1e-6 * 2.039e3:.1f} GB",
        "batch_7": f"{(1547 * (launch - gap) * 1e-6 * 2.039e12 - 2 * llama) / (1000 * 32 * 2 * 4096 * 2):.0f}",
        "cache_7": f"{1000 * 32 * 2 * 4096 * 2 / 1e6:.0f} MB",
        "shared_7": f"{shared:.2f} ms",
        "each_7": f"{gap:.1f} µs",
        "left_1": f"{324 * gap / 1e3:.2f} ms",
        "short_7": f"{shared - 13.5 / 2.039:.1f} ms",
        "graph_8": f"{1000 / 328.43:.2f} ms",
        "line_8": f"{shared / 8 + 388 * gap / 1e3:.2f} ms",
        "vector_7": "8,192 bytes",
        "vector_time": f"{2 * 8192 / 2.039e12 * 1e9:.1f} ns",
        "vector_even": f"{gap * 2.039 / 2:.1f} MB",
        "tokens_even": sig(gap * 2.039e6 / 2 / 8192),
        "prompt_time": f"{4096 * 2 * 8192 / 2.039e6:.0f} µs",
        "cache_lost": f"{1 - 543_219 / 655_758:.0%}",
        "flash_gain": sig(41.7 / 7.3),
        "fusion_high": "20%",
        "silu": "8%",
        "silu_share": f"{8 / 1.08:.1f}%",
        "ib_load": f"{load:.2f} ms",
        "ib_cache": f"{2000 * 70_272 / 1e6:.1f} MB",
        "ib_sent": f"{58 * 8 * 7168 * 3 / 1e6:.2f} MB",
        "ib_send": f"{sent * 1e3:.0f} µs",
        "overlap_ib_chip": f"{load / sent:.0f}",
        "serial_32": f"{load + 32 * (cached + sent):.1f} ms",
        "halves_32": f"{2 * load + 32 * cached:.1f} ms",
        "serial_256": f"{load + 256 * (cached + sent):.1f} ms",
        "halves_256": f"{256 * sent:.1f} ms",
        "foreseen_32": f"{100 - 100 * 15.58 / 17.05:.0f}% fewer tokens",
        "foreseen_256": f"{100 * 69.68 / 51.09 - 100:.0f}% more tokens",
        "lossy_32": f"{worse(more):.0f}% to {worse(2):.0f}% fewer tokens",
        "lossy_turn": f"{(load + (more - 1) * lost) / sent:.0f} to {(load + lost) / sent:.0f}",
        "lossy_256": f"{100 * (69.68 + lost) / 51.09 - 100:.0f}% more tokens",
        "halves_kernels": f"{more:.2f} to 2",
        "sglang_32": "27% fewer tokens",
        "nvl_faster": f"{900 / 50:.0f}",
        "nvl_moves": f"{900 / 50 / (8 / 3.35):.1f}",
        "kernels_whole": "815",
        "kernels_halves": "1,294",
        "r1_steps": "17",
        "narrow_sum": f"{shared / 2 + 324 * gap / 1e3:.1f} ms",
        "narrow_token": f"{1000 / 155.58:.1f} ms",
        "rack_load": f"{26.305 / 8:.1f} ms",
        "rack_launch": f"{1502 * 3.8e-3:.1f} ms",
        "rack_low": f"{1502 * 0.8e-3:.1f} ms",
        "rack_high": f"{1502 * gap / 1e3:.1f} ms",
        "rack_even": f"{26.305 / 8 / 1.502:.1f} µs",
        "price_low": f"{1 + 1.502 * 0.8 / (26.305 / 8):.1f}",
        "price_high": f"{1 + 1.502 * gap / (26.305 / 8):.1f}",
        "ib_experts": f"{58 * 256 * 3 * 7168 * 2048 / 72 / 1e9:.2f} GB",
        "chart_8": f"{(2 * llama + 1000 * 524_288) / 8 / 2.039e9 + 388 * gap / 1e3:.2f} ms",
        "times_70": "46.9, 26.3 and 16.0 ms",
        "large_8": "16.0 ms",
        "gain_one": f"{100 / (1 - 0.0021 + 0.0021 / 4.55) - 100:.2f}%",
        "gain_prefill": f"{100 / (1 - 0.233 + 0.233 / 4.88) - 100:.0f}%",
        "gain_library": f"{100 / (1 - 0.0685 + 0.0685 / 1.18) - 100:.1f}%",
    }
    assert {name: told[name] for name in expected} == expected


def test_two_numbers_fit_four_times():
    """Shared loading and a time for each kernel, with each time's own kernels: the same by NumPy's least squares."""
    rows = [(1, 104.9), (2, 168.84), (4, 254.02), (8, 328.43)]  # chips, tokens/s
    shares = np.array([(1 / chips, 324 if chips == 1 else 388) for chips, _ in rows])
    (shared, each), *_ = np.linalg.lstsq(shares, np.array([1e3 / rate for _, rate in rows]))
    told = numbers.all()
    assert (told["shared_7"], told["each_7"]) == (f"{shared:.2f} ms", f"{1e3 * each:.1f} µs")
    large = np.array([(1 / chips, 964) for chips in (2, 4, 8)])
    (_, each), *_ = np.linalg.lstsq(large, 1e3 / np.array([21.32, 38.01, 62.5]))
    assert told["each_70"] == f"{1e3 * each:.1f} µs"


def test_overlap_on_the_rack_by_plain_arithmetic():
    """Loading a GPU's weights once more against the traffic of a token, eight copies of 7,168 values out in one byte
    and back in two, over 58 layers; the same from the H100's border and the two quotients.
    """
    load, sent = 26.305e9 / 8e12, 58 * 8 * 7168 * 3 / 900e9
    told = numbers.all()
    assert told["overlap_nvl_chip"] == sig(load / sent)
    moved = float(told["overlap_ib_chip"]) * float(told["nvl_faster"]) / float(told["nvl_loads_faster"])
    assert abs(moved / (load / sent) - 1) < 0.05


def printed(phrase):
    """What the page's cell with a phrase in its source prints."""
    cells = re.findall(r"```\{code-cell\}\n(.*?)```", page("overheads").read_text("utf8"), re.S)
    [source] = [cell for cell in cells if phrase in cell]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source, {"eq": eq})
    return out.getvalue()


def test_the_queue_of_the_page_is_the_simulations():
    """The same kernels and launches, by the simulation that the formulas are held against."""
    run = simulation.launched([5, 8, 60, 4] * 400, 25)
    assert printed("host += launch") == f"{run.time / 1000:.1f} ms; the chip works {run.busy('device'):.0%}\n"


def test_the_step_of_the_page_is_that_of_the_large_model():
    """Llama 2 70B on eight A100: the cell's step from a graph is shorter than the measured one, which reaches less of
    the memory's rate.
    """
    launches, chip, losses, step, graph = map(float, re.findall(r"([\d.]+) ms", printed("sending = waiting")))
    assert step == launches == pytest.approx(964 * 25.3e-3, abs=0.06) and graph == chip
    assert losses == pytest.approx(964 * 5.2e-3, abs=0.06)
    measured = dict(implied.left_over()[1].points)[8] * 1e3
    assert 0.75 * measured < graph < measured
