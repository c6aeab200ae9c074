"""The numbers that the overheads lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

import contextlib
import io
import re

import numpy as np
import pytest
from lessons import page, sig

from blackboard.lessons.batching import equations as step
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import figures, implied, kernels, numbers, simulation
from blackboard.lessons.overheads.kernels import Plan


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    llama = 6_738_415_616  # parameters of Llama 2 7B
    launch = 1e6 / 25.5 / 1547  # µs
    gap, shared = 5.205, 7.835  # µs and ms: the normal equations of the four times, solved below
    sent = 58 * 8 * 7168 * 3 / 50e9 * 1e3  # ms of a token at a network card
    load = 26.305 / 3.35  # ms of a GPU's weights
    expected = {
        "llama_bytes": f"{2 * llama / 1e9:.1f} GB",
        "a100_bandwidth": "2.04 TB/s",
        "llama_floor": f"{13.5 / 2.04:.1f} ms",  # what a reader gets from the two numbers beside it
        "eager_ms": f"{1000 / 25.5:.1f} ms",
        "meta_python": f"{1000 / 30:.1f} ms",
        "meta_graph": f"{1000 / 69:.1f} ms",
        "missing": f"{39.2 - 6.6:.1f} ms",  # what a reader gets
        "eight_launch": f"{388 * launch / 1e3:.1f} ms",
        "compiler_h200": f"{485 * 38.88 / 1165:.1f} ms",
        "eager_h200": "38.9 ms",
        "captured_h200": "6.7 ms",
        "less_h200": f"{1165 - 485}",
        "saved_h200": f"{6.736 - 5.104:.1f} ms",
        "floor_h200": f"{2 * 7_504_658_432 / 4.8e9:.1f} ms",
        "unexplained": f"{6.7 - 3.1:.1f} ms",  # what a reader gets
        "gaps_h200": f"{1165 * 2.4e-3:.1f} ms",  # what a reader gets
        "gain_h200": f"{38.9 / 6.7:.1f} times",  # likewise
        "python_least": f"{20.81 / 1165 * 1e3:.0f} µs",  # an H100, 16 sequences
        "least_h200": f"{1165 * 18e-3:.0f} ms",  # what a reader gets
        "gap_h200": f"{(6.736 - 5.104) / (1165 - 485) * 1e3:.1f} µs",
        "gap_h100": f"{(8.042 - 6.55) / (1165 - 485) * 1e3:.1f} µs",
        "short_gaps": f"{1.502 * 2.4:.1f} ms",  # what a reader gets
        "long_gaps": f"{1.502 * 5.2:.1f} ms",  # likewise
        "python_each": f"{1e3 * 38.88 / 1165:.1f} µs",
        "waited_h200": f"{38.9 - 6.7:.0f} ms",  # what a reader gets
        "replay_old": f"{(2 + 0.2 * 1547) / 1e3:.1f} ms",
        "more_kernels": f"{1547 - 324:,}",
        "waited_least": f"{39.2 - 15.9:.0f} ms",  # what a reader gets
        "fixed_waited": f"{39.2 - 9.53:.0f} ms",  # likewise
        "short_waited": f"{39.2 - (9.53 + 1.223 * 2.4):.0f} ms",  # likewise
        "half_eager": f"{39.2 / 2:.1f} ms",  # likewise
        "graph_2": f"{1000 / 168.84:.2f} ms",
        "graph_4": f"{1000 / 254.02:.2f} ms",
        "saved_8": f"{3.94 - 3.04:.2f} ms",  # likewise
        "load_4": f"{3.94 - 2.14:.2f} ms",  # likewise
        "pdl_gain": f"{100 * (173 / 168 - 1):.0f}%",
        "gap_small": f"{2350 / 2000:.1f} µs",
        "eager_each": f"{launch:.1f} µs",
        "fill_each": f"{launch - gap:.1f} µs",
        "fit_rate": f"{13.48 / shared:.2f} TB/s",
        "fill_bytes": f"{20.1e-6 * 1.72e12 / 1e6:.1f} MB",
        "hidden_a100": f"{1547 * 20.1e-6 * 1.72e3:.1f} GB",  # what a reader gets from the numbers beside it
        "batch_7": f"{(53.5e9 - 13.5e9) / 524e6:.0f}",
        "cache_7": f"{1000 * 32 * 2 * 4096 * 2 / 1e6:.0f} MB",
        "shared_7": f"{shared:.2f} ms",
        "each_7": f"{gap:.1f} µs",
        "rack_kernels": "1,502",
        "graph_8": f"{1000 / 328.43:.2f} ms",
        "vector_even": f"{gap * 2.039 / 2:.1f} MB",
        "tokens_even": sig(gap * 2.039e6 / 2 / 8192),
        "prompt_time": f"{4096 * 2 * 8192 / 2.039e6:.0f} µs",
        "cache_lost": f"{1 - 543_219 / 655_758:.0%}",
        "ib_load": f"{load:.2f} ms",
        "trips_saved": f"{(135.309 - 111.722) / 2.039:.0f} µs",  # MB on vectors before and after fusing
        "ib_cache": f"{2000 * 70_272 / 1e6:.1f} MB",
        "ib_sent": f"{58 * 8 * 7168 * 3 / 1e6:.2f} MB",
        "ib_send": f"{sent:.1f} ms",
        "overlap_ib_chip": f"{load / sent:.0f}",
        "sglang_prefill": "27% to 35%",
        "kernels_whole": "815",
        "kernels_halves": "1,294",
        "narrow_sum": f"{shared / 2 + 324 * gap / 1e3:.1f} ms",
        "narrow_token": f"{1000 / 155.58:.1f} ms",
        "ib_experts": f"{58 * 256 * 3 * 7168 * 2048 / 72 / 1e9:.1f} GB",
        "ib_rest": f"{26.305 - 9.085:.1f} GB",
        "token_before": f"{9.53 + 1.223 * 5.2:.1f} ms",  # what a reader gets
        "prefill_gain": f"{100 * 252.3 / 201.0 - 100:.0f}%",
        "library_gain": f"{100 * 203.9 / 201.0 - 100:.1f}%",
    }
    assert {name: told[name] for name in expected} == expected


def test_two_numbers_fit_four_times():
    """Shared loading and a time for each kernel, with each time's own kernels: the same by NumPy's least squares."""
    rows = [(1, 104.9), (2, 168.84), (4, 254.02), (8, 328.43)]  # chips, tokens/s
    shares = np.array([(1 / chips, 324 if chips == 1 else 388) for chips, _ in rows])
    times = np.array([1e3 / rate for _, rate in rows])
    found, *_ = np.linalg.lstsq(shares, times)
    told = numbers.all()
    assert (told["shared_7"], told["each_7"]) == (f"{found[0]:.2f} ms", f"{1e3 * found[1]:.1f} µs")
    assert told["fit_off"] == f"{max(abs(shares @ found / times - 1)):.1%}"
    for (chips, _), time in zip(rows, shares @ found, strict=True):
        assert told[f"gaps_on_{chips}"] == f"{time:.2f} ms"


def test_a_fixed_cost_per_step_fits_the_four_times_as_well():
    """NumPy's least squares; what either reading says about the waiter and about the graph alone."""
    told, times = numbers.all(), np.array([1e3 / rate for rate in (104.9, 168.84, 254.02, 328.43)])
    shares = np.array([[1, 1 / 2, 1 / 4, 1 / 8], [1] * 4]).T
    found, *_ = np.linalg.lstsq(shares, times)
    assert told["fixed_cost"] == f"{found[1]:.2f} ms"
    assert told["rest"] == f"{3.04 - 0.90:.2f} ms" and told["each_hand"] == f"{2140 / 388:.1f} µs", "what a reader gets"
    off = max(abs(shares @ found / times - 1))
    assert off < float(told["fit_off"].rstrip("%")) / 100
    load, cost = found
    gaps = 1547 * 5.205e-3  # ms
    expected = {
        "fixed_load": f"{load:.2f} ms",
        "fixed_cost": f"{cost:.2f} ms",
        **{f"loss_on_{chips}": f"{load / chips + cost:.2f} ms" for chips in (1, 2, 4, 8)},
        "fixed_graph": f"{7.44 + 2.12:.2f} ms",  # what a reader gets
        "fixed_waited": f"{39.2 - 9.56:.0f} ms",  # likewise
        "waited_range": f"{1000 / 25.5 - 7.835 - gaps:.0f} to {1000 / 25.5 - load - cost:.0f} ms",
    }
    assert {name: told[name] for name in expected} == expected


def test_the_gap_may_be_shorter_if_the_all_reduces_take_the_rest():
    """All-reduces without gaps miss the time on eight chips; with the H200's gap they fit it. NumPy's least squares."""
    told, times = numbers.all(), np.array([1e3 / rate for rate in (104.9, 168.84, 254.02, 328.43)])
    chips, sums = np.array([1, 2, 4, 8]), np.array([0, 64, 64, 64])
    shares = np.array([1 / chips, sums]).T
    found, *_ = np.linalg.lstsq(shares, times)
    assert max(abs(shares @ found / times - 1)) > 0.09
    gap = (6.736 - 5.104) / (1165 - 485)  # ms
    loading = times[0] - 324 * gap
    *_, each = (times - loading / chips - 324 * gap) / 64
    assert told["rival_sum"] == f"{1e3 * each:.0f} µs" == f"{1e3 * (3.04 - 8.75 / 8 - 0.78) / 64:.0f} µs"
    assert (told["rival_load"], told["rival_gaps"]) == (f"{9.53 - 0.78:.2f} ms", f"{324 * gap:.2f} ms")
    assert (told["sums"], told["sums_8"]) == ("64", f"{64 * each:.1f} ms")
    assert told["again_8"] == f"{loading / 8:.1f} ms" == f"{8.75 / 8:.1f} ms"
    assert loading / 8 + 324 * gap > 64 * each, "halves load again and have all gaps again, which takes longer"


def test_a_whole_output_matrix_on_each_chip_shortens_the_gap_only_a_little():
    """NumPy's least squares, with the matrix's share of the bytes loaded by every chip."""
    head = 2 * 32_000 * 4096 / (2 * 6_738_415_616)
    shares = np.array([((1 - head) / chips + head, 324 if chips == 1 else 388) for chips in (1, 2, 4, 8)])
    (_, each), *_ = np.linalg.lstsq(shares, np.array([1e3 / rate for rate in (104.9, 168.84, 254.02, 328.43)]))
    assert 0.9 < 1e3 * each / float(numbers.all()["each_7"].split()[0]) < 1


def printed(phrase, changes=()):
    """What the page's cell with a phrase in its source prints, with some of its text changed."""
    cells = re.findall(r"```\{code-cell\}\n(.*?)```", page("overheads").read_text("utf8"), re.S)
    [source] = [cell for cell in cells if phrase in cell]
    for old, new in changes:
        assert source.count(old) == 1
        source = source.replace(old, new)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source, {"eq": eq})
    return out.getvalue()


def test_the_queue_of_the_page_is_the_simulations():
    """The same kernels and launches, by the simulation that the formulas are held against."""
    run = simulation.launched([5, 8, 60, 4] * 400, 25)
    assert printed("host += launch") == f"{run.time / 1000:.1f} ms; the chip works {run.busy('device'):.0%}\n"
    assert run.time == pytest.approx(1600 * 25, rel=1e-3)
    longer = [5, 8, 100, 4] * 400
    assert simulation.launched(longer, 25).time == pytest.approx(sum(longer), rel=2e-3)
    assert "100%" in printed("host += launch", [("60", "100")])


def test_the_last_round_of_a_kernel_leaves_units_idle():
    """Blocks, rounds, units that are idle and percent lost, by hand."""
    lines = printed("units = 132").replace(",", " ").replace("%", " ").splitlines()
    rows = [[int(word) for word in line.split() if word.isdigit()] for line in lines]
    assert rows == [[132, 1, 0, 0], [144, 2, 120, 45], [400, 4, 128, 24], [2000, 16, 112, 5]]


def test_a_larger_model_loses_more_than_once_per_step():
    """Llama 2 70B on several A100: a part that chips share, and one that they do not, by NumPy."""
    told = numbers.all()
    shares = np.array([1 / np.array([2, 4, 8]), [1] * 3]).T
    (_, rest), *_ = np.linalg.lstsq(shares, 1e3 / np.array([21.32, 38.01, 62.5]))
    assert told["deep_rest"] == f"{rest:.1f} ms"
    assert told["deep_kernels"] == f"{964 / 388:.1f}" and float(told["deep_kernels"]) == 160 / 64, "all-reduces, too"


def test_the_remedies_of_the_page_are_the_formulas():
    """Every combination, by the slower side of the formulas."""
    told = numbers.all()
    rows = [line.split()[-2:] for line in printed("def token(kernels").splitlines() if "graph" in line]
    case = implied.llama() | {"context": 0.0, "replay_time": 0.0, "bandwidth": 13.48e9 / 7.83e-3}
    lines = [(bits, formula) for bits in (16, 8) for formula in (eq.eager_time, eq.graph_time)]
    assert len(rows) == len(lines)
    for times, (bits, formula) in zip(rows, lines):
        for time, count in zip(times, (1547, 324), strict=True):
            at = case | {"kernels": count, "bytes_per_param": bits / 8, "batch": 1.0}
            assert float(time) == pytest.approx(1e3 * formula(at), abs=0.06)
    (nothing, compiled), (graph, both), (bits, halved), (_, all_three) = (
        [f"{time} ms" for time in times] for times in rows
    )
    assert nothing == told["eager_ms"] == bits and compiled == both == f"{1e3 / 104.9:.1f} ms", "measured"
    assert graph == told["token_before"]
    assert [halved, all_three] == [f"{324 * 39.2 / 1547:.1f} ms", told["narrow_sum"]]


def test_the_bets_of_the_page_are_the_chapters_times():
    """Graph alone and compiler alone, the slower of launches and chip; who wins, and that a loss per step is a draw."""
    names = "eager_each graph_1 token_before captured_h200 python_each"
    told = {name: float(numbers.all()[name].split()[0]) for name in names.split()}
    short_gaps = 9.53 + 1223 * 2.4e-3  # ms of the A100's graph with the H200's gaps
    rows = [
        (told["token_before"], 324, told["eager_each"], told["graph_1"]),
        (short_gaps, 324, told["eager_each"], told["graph_1"]),
        (told["captured_h200"], 485, told["python_each"], 5.104),
    ]
    winners, times = [], []
    for graph, fused, launch, both in rows:
        times.append(max(fused * launch / 1e3, both))
        winners.append("compiler" if times[-1] < graph else "graph")
        assert both < graph and (times[-1] < graph) == (fused * launch / 1e3 < graph), "the rule"
    assert winners == ["compiler", "compiler", "graph"] and times[:2] == [told["graph_1"]] * 2
    assert numbers.all()["compiler_h200"] == f"{times[2]:.1f} ms"
    fixed = float(numbers.all()["fixed_graph"].split()[0])
    assert fixed == pytest.approx(told["graph_1"], rel=0.005), "the fit's step is the measured one, but for its error"
    assert 324 * told["eager_each"] / 1e3 < fixed, "so the compiler alone takes as long as the graph alone"


def test_more_chips_gain_nothing_at_pythons_pace():
    """Eight A100 by the queue, with launches at Python's pace, and from which launch on they do not wait."""
    told, rate = numbers.all(), 328.43
    runs = [simulation.per_step([1e6 / rate / 388] * 388, launch) for launch in (1e6 / 25.5 / 1547, 5)]
    assert told["eight_launch"] == f"{runs[0] / 1e3:.1f} ms" and float(told["eight_launch"][:-3]) > 1e3 / 104.9
    assert told["graph_8"] == f"{runs[1] / 1e3:.2f} ms"
    half = 1e6 / 25.5 / 1547 / 2  # µs
    one, narrow = (1e3 * float(told[name].split()[0]) for name in ("graph_1", "narrow_sum"))
    assert max(324 * half, narrow) == narrow and max(324 * half, one) == one, "8 bits need no graph, nor do 16"


def in_pieces(tokens, gaps):
    """Seconds of SGLang's step in one piece and in halves, each part of which loses `gaps` at its kernels."""
    case = implied.with_tokens(tokens)
    once, cache, sends = step.weight_time(case) + gaps, step.kv_time(case), case["t_comm"]
    return once + cache + sends, max(2 * once + cache, sends)


def test_the_halves_of_the_page_are_the_schedules():
    """Halves layer by layer and by the formula, with and without gaps; with them the border is the measured one."""
    told = numbers.all()
    gains = {}
    for gaps in (0, 7.818e-3):
        for tokens in (32, 64, 128, 256):
            case = implied.with_tokens(tokens)
            once, cache = step.weight_time(case) + gaps, step.kv_time(case)
            runs = [simulation.step_in_halves(58, 0.0, once, cache, case["t_comm"], parts) for parts in (1, 2)]
            whole, halves = in_pieces(tokens, gaps)
            gains[gaps, tokens] = 100 * whole / halves - 100
            assert gains[gaps, tokens] == pytest.approx(100 * runs[0] / runs[1] - 100, abs=2)
            assert gaps or gains[gaps, tokens] == pytest.approx(100 * eq.overlap_gain(case) - 100, abs=0.6)
    assert told["ib_load"] == "7.85 ms" and told["ib_send"] == "0.2 ms" and told["ib_reads"] == "42 µs"
    assert told["rack_kernels"] == "1,502" and f"{1.502 * 5.205:.3f}" == "7.818"
    assert gains[0, 32] < 0 < gains[0, 64] < gains[0, 256], "by the rule, halves lose, win and win"
    with_gaps = {tokens: gains[7.818e-3, tokens] for tokens in (32, 64, 128, 256)}
    assert with_gaps[64] < 0 < with_gaps[128] and with_gaps[32] == pytest.approx(-27, abs=1.6)
    assert with_gaps[256] == pytest.approx(2 * 25.5, abs=1.1)
    assert in_pieces(256, 7.818e-3)[1] < 256 * 8 / 22_310, "the server's step loses more"


def test_the_program_of_halves_is_the_schedules():
    """Without gaps and with those of the page's count, short or long, which it proposes: with the long ones, the loss
    at 32 tokens and the border are the measured ones, and the gain at 256 is twice the measured one.
    """
    told, measured = numbers.all(), implied.sglang_measured()
    gains = {}
    assert [told[name] for name in ("ib_weights", "ib_rate", "ib_cache", "ib_link")] == [
        "26.3 GB",
        "3.35 TB/s",
        "140.5 MB",
        "50.0 GB/s",
    ], "the comments of the program"
    named = {told[f"{name}_gaps"].removesuffix(" ms"): name for name in ("short", "long")}
    for gaps in ("0", *named):
        for line in printed("gaps = 0", [("gaps = 0", f"gaps = {gaps}")]).splitlines()[1:]:
            tokens, whole, halves, gain, seen = line.split(maxsplit=4)
            assert seen in ("none yet", "some") or seen == f"{100 * measured[int(tokens)] - 100:+.3g}%"
            times = in_pieces(int(tokens), float(gaps) / 1e3)
            assert [float(whole), float(halves)] == pytest.approx([1e3 * each for each in times], abs=0.15)
            gains[gaps, int(tokens)] = float(gain[:-1])
            if gaps in named and tokens in ("32", "64", "256"):
                assert told[f"{named[gaps]}_{tokens}"] == gain.replace("-", "−"), "what the page says of it"
    assert f"{1.502 * float(told['each_7'].split()[0]):.1f}" == "7.8", "the gaps to try"
    assert gains["3.6", 64] > 0 and gains["3.6", 256] > 100 * (measured[256] - 1) + 15, "not settled by shorter gaps"
    assert gains["0", 32] < 0 < gains["0", 64] and gains["0", 32] > 100 * (measured[32] - 1) + 10
    assert gains["0", 256] > 100 * (measured[256] - 1) + 10, "right at both ends, too large"
    assert gains["7.8", 32] == pytest.approx(100 * (measured[32] - 1), abs=1.5)
    assert gains["7.8", 64] < 0 < gains["7.8", 128]
    assert gains["7.8", 256] == pytest.approx(200 * (measured[256] - 1), abs=1.5)


def test_a_prefill_loses_time_at_each_of_its_kernels():
    """Llama 2 7B on an A100: the times without losses, and the losses of counted kernels on top, by hand."""
    told, plan = numbers.all(), Plan(tokens=4096, context=0)
    for name, read, by_hand in (("prefill", kernels.eager, False), ("library", kernels.library, True)):
        free = implied.fusing("llama-2-7b", plan, chip="a100-80gb", by_hand=by_hand)
        lost = [len(read("llama-2-7b", plan)) * 5.205e-6 for read in (read, kernels.fused)]
        before, after = free.before + lost[0], free.after + lost[1]
        assert float(told[f"{name}_gain"].rstrip("%")) == pytest.approx(100 * (before / after - 1), abs=0.5)


def test_the_chain_of_the_page_is_counted_by_hand():
    """An addition, and a norm as the team wrote it: in 16 bits, but for the norm's five operations in 32."""
    told, vector, scales = numbers.all(), 4096 * 4096 * 2 / 1e6, 4096 * 4 / 1e6  # MB of all tokens
    wide, weight = 2 * vector, 4096 * 2 / 1e6
    norm = (vector + wide) + 2 * wide + (wide + scales) + 4 * scales + (2 * wide + scales) + (wide + vector)
    norm += 2 * vector + weight
    for name, moved in (("chain", 3 * vector + norm), ("hand", 5 * vector + weight), ("one", 4 * vector + weight)):
        assert told[f"{name}_bytes"] == f"{moved:.0f} MB"
    assert (told["chain_apart"], told["chain_fused"]) == ("2.03 ms", "0.26 ms")


def test_the_opening_draws_what_is_missing():
    """The bars, by hand: bytes over bandwidth, and the measured tokens."""
    drawn = figures.opening().alt
    assert f"A100: {13.476e9 / 2.039e12 * 1e3:.1f} of {1e3 / 25.5:.1f} ms" in drawn
    assert f"{2 * 7.505e9 / 4.8e12 * 1e3:.1f} of 38.9 ms" in drawn
