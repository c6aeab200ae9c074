"""The numbers that the reversibility lesson prints, by plain arithmetic; what is run, within bounds that could fail."""

from __future__ import annotations

import re

import pytest
from lessons import page, sig

from blackboard.formula import FormulaError
from blackboard.lessons.reversibility import equations as eq
from blackboard.lessons.reversibility import network, numbers


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    active, width, layers, tokens = 405.85e9, 16_384, 126, 8192
    each = 2 * (4 + 1 + 2 / 16 + 1 + 3 * 53_248 / width)  # norms; queries, keys and values; attention's output; inside
    layer, stream = each * width * tokens, 2 * width * tokens
    scores, room, rate = 2 * 128 * tokens**2, 80e9, 400e12
    pairs = 2 * layers * width * tokens  # FLOPs of a token's scores with all tokens of its sequence
    once = 2 * active + 2 * pairs
    own, worth = 2 * active / 516_096, lambda flop: flop * room / rate
    step = 6 * active * 2048 * tokens / (16_384 * rate)
    expected = {
        "mixed": f"{(64 / 2 + 1) / 128:.1%}",
        "layers": "12",
        "far": "252",
        "compounded": f"{round(1.1**252 / 2**24, -2):,.0f}",
        "act_layer": f"{layer / 1e9:.2f} GB",
        "act_all": f"{layers * layer / 1e9:.0f} GB",
        "act_gpus": f"{layers * layer / room:.1f}",
        "act_scores": f"{scores / (scores + layer):.0%}",
        "act_streams": f"{2 * 4 * tokens * width / 1e9:.2f} GB",
        "act_reversible": f"{(layer + 2 * 4 * tokens * width) / 1e9:.1f} GB",
        "act_inputs": f"{layers * stream / 1e9:.1f} GB",
        "act_checkpointed": f"{(layer + layers * stream) / 1e9:.0f} GB",
        "act_segment": f"{(3 * layer + layers / 3 * stream) / 1e9:.0f} GB",
        "act_everything": f"{layers * (layer + scores) / 1e12:.2f} TB",
        "act_everything_divided": f"{layers * (layer + scores) / 8 / 1e9:.0f} GB",
        "act_all_divided": f"{layers * layer / 8 / 1e9:.0f} GB",
        "act_checkpointed_divided": f"{(layer + layers * stream) / 8 / 1e9:.1f} GB",
        "act_segment_divided": f"{(3 * layer + layers / 3 * stream) / 8 / 1e9:.1f} GB",
        "act_reversible_divided": f"{(layer + 2 * 4 * tokens * width) / 8 / 1e9:.2f} GB",
        "long_checkpointed": f"{round(8 * 73.66e9 / (3 * each * width + 126 / 3 * 2 * width), -4):,.0f}",
        "long_reversible": f"{round(8 * 73.66e9 / (each * width + 2 * 4 * width), -4):,.0f}",
        "act_stretch": f"{(layers / (each / 2)) ** 0.5:.1f}",
        "selective_work": f"{1 + pairs / once / 3:.2f}",
        "selective_more": f"{pairs / once / 3:.1%}",
        "again_work": f"{4 / 3 + pairs / once / 3:.2f}",
        "again_counted": f"{(4 / 3 + pairs / once / 3) / (1 + pairs / once / 3):.2f}",
        "run_weights": "6.3 GB",
        "peak_over": "2.5",
        "divide_sent": f"{126 * 4 * 2 * 7 / 8 * stream / 1e9:.0f} GB",
        "divide_time": f"{round(126 * 7 * stream / 450e9 * 1e3, -1):.0f} ms",
        "spent_kv": f"{own / 1e6:.2f} million",
        "spent_layers": f"{round(2 * active / layers / (each * width), -2):,.0f}",
        "spent_scores": "128",
        "lasts_kv": f"{worth(own):.0f} s",
        "even_layers": f"{worth(2 * active / layers / (each * width)):.1f} s",
        "even_scores": f"{worth(128) * 1e3:.0f} ms",
        "drain": f"{80 / 3.35:.0f} ms",
        "hold": f"{step:.1f} s",
        "scores_over": sig(step / worth(128)),
        "layers_over": f"{step / worth(2 * active / layers / (each * width)):.1f}",
        "run_share": "128",
        "run_waits": "16",
        "res_164": "3,083 MB",
        "rev_164": "1,226 MB",
        "slower_least": f"{423 / 404:.2f}",
        "slower_most": f"{437 / 225:.2f}",
        "kv_under": f"{round(worth(own) / (80 / 3350), -3):,.0f}",
        "again_least": f"{1.42 / 1.10:.2f}",
        "again_most": f"{94.42 / 71.49:.2f}",
    }
    assert {name: told[name] for name in expected} == expected
    assert f"{6 * 405.8e9 * 16 * 8192 / (128 * 400e12):.1f} s" == told["hold"] and step > 6
    assert 3 < float(told["over_single"]) < 10 and abs(1226 / 3083 - 2 / 5) < 0.01
    assert each == 31.75 and told["act_all_divided"] == f"{16 / 128 * layers * layer / 1e9:.0f} GB"


def test_the_cells_that_a_reader_changes_print_what_the_text_says(capsys):
    """Plain Python with typed numbers: the steps there and back, sums undone, a model's bytes, and a byte's worth."""
    told = numbers.all()
    for source in re.findall(r"```\{code-cell\}\n(.*?)```", page("reversibility").read_text("utf8"), re.S):
        if "print(" in source and "numpy" not in source:
            exec(source, {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6:5] == ["there (9, 2)", "back  (2, 5)"] and lines[1] == "there (83, 9)"
    assert lines[6] != "0.1" and lines[7] == "True"
    sizes = [float(line.split()[-2].replace(",", "")) for line in lines[8:13]]
    names = ("act_everything", "act_all", "act_checkpointed", "act_segment", "act_reversible")
    for size, name in zip(sizes, names, strict=True):
        value, unit = told[name].split()
        assert size == pytest.approx(float(value) * {"GB": 1, "TB": 1e3}[unit], rel=0.02)
    assert lines[13] == f"worth keeping for {told['lasts_kv']}, waits 0.024 s:"
    assert lines[14:] == ["keep it"] and told["drain"] == "24 ms"


def test_segments_that_get_shorter_toward_the_top_need_less_than_equal_ones():
    """Streams above the current segment are gone: both splits of 126 layers, counted segment by segment."""
    peak = lambda lengths: max(at + length * 15.875 for at, length in enumerate(lengths, 1))
    tapered = [5] * 2 + [4] * 16 + [3] * 16 + [2] * 2
    assert sum(tapered) == 126 == sum([3] * 42) and 0.9 * peak([3] * 42) < peak(tapered) < peak([3] * 42)


def test_what_was_run_says_what_the_prose_says():
    """Sentences rest on these: the network gives itself away and the cipher does not; short
    formats do not come back from Llama's depth.
    """
    told = numbers.all()
    share = lambda name: float(told[name].rstrip("%")) / 100
    assert float(told["net_correlation"]) > 0.95 and abs(float(told["cipher_correlation"])) < 0.1
    assert (
        share("net_told") > 0.95
        and 0.4 < share("cipher_told") < 0.6
        and share("net_matched") > 0.5
        and share("cipher_matched") == 0
    )
    assert told["error_half"] == "0.6" and told["error_single"] == "10⁻⁴" and told["error_brain"] == "2"
    assert told["widened"] == "50" and told["widened_far"] == "400"
    assert float(told["slower_least"]) < 4 / 3 < float(told["paper_low"]) < float(told["slower_most"])
    assert (told["own_least"], told["own_most"]) == ("1.30", "1.36")
    assert network.trained("reversible").accuracy[-1] == network.trained("stored").accuracy[-1] > 0.95


def test_keeping_kv_is_the_pricing_lessons_break_even():
    """Two doors to one number: rent of memory against rent of multipliers, and FLOPs per byte against bytes per
    FLOP/s.
    """
    from blackboard.catalogue.running_case import RUNNING
    from blackboard.lessons.pricing.equations import hbm_even

    spent = eq.kv_flop_spent(RUNNING)
    assert eq.keep_even(RUNNING, flop_spent=spent) == pytest.approx(hbm_even(RUNNING), rel=1e-12)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(FormulaError, match="segment <= depth"):
        eq.checkpointed(depth=4, segment=8, stream_bytes=1, layer_bytes=1)
    with pytest.raises(FormulaError, match="recomputed"):
        eq.work_ratio(recomputed=2)
