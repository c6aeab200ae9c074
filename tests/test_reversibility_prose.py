"""The numbers that the reversibility lesson prints, by plain arithmetic; what is run, within bounds that could fail."""

from __future__ import annotations

import math
import re

import pytest
from lessons import page, sig

from blackboard.catalogue import measurement
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
        "layers": "12",
        "far": "252",
        "compounded": f"{1.1**252 / 1e9:.0f} billion",
        "act_layer": f"{layer / 1e9:.2f} GB",
        "act_all": f"{layers * layer / 1e9:.0f} GB",
        "act_gpus": f"{layers * layer / room:.1f}",
        "act_scores": f"{scores / (scores + layer):.0%}",
        "act_streams": f"{2 * 4 * tokens * width / 1e9:.2f} GB",
        "act_reversible": f"{(layer + 2 * 4 * tokens * width) / 1e9:.1f} GB",
        "act_checkpointed": f"{(layer + layers * stream) / 1e9:.0f} GB",
        "act_segment": f"{(3 * layer + layers / 3 * stream) / 1e9:.0f} GB",
        "act_everything": f"{layers * (layer + scores) / 1e12:.2f} TB",
        "act_stretch": f"{(layers / (each / 2)) ** 0.5:.1f}",
        "selective_more": f"{pairs / once / 3:.1%}",
        "again_counted": f"{(4 / 3 + pairs / once / 3) / (1 + pairs / once / 3):.2f}",
        "run_weights": "6.3 GB",
        "run_tokens": "1,024",
        "run_activations": f"{1024 * each * width * layers / 1e9:.0f} GB",
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
        "again_least": f"{1.42 / 1.10:.2f}",
        "again_most": f"{94.42 / 71.49:.2f}",
    }
    assert {name: told[name] for name in expected} == expected
    assert f"{6 * 405.8e9 * 16 * 8192 / (128 * 400e12):.1f} s" == told["hold"] and step > 6
    assert each == 31.75 and told["run_activations"] == f"{16 / 128 * layers * layer / 1e9:.0f} GB"


def test_a_million_tokens_are_divided_by_what_a_gpu_holds():
    """Bytes of a token in each way, by hand; the memory beside the weights; and the table's columns by one another."""
    told, width, room = numbers.all(), 16_384, 80e9 - 2 * 405.85e9 / 128
    amount = lambda name: float(told[name].split()[0].replace(",", ""))
    for name, vectors in (
        ("all", 126 * 15.875 * 2),
        ("checkpointed", 42 * 2 + 3 * 15.875 * 2),
        ("reversible", 2 * 4 + 15.875 * 2),
    ):
        assert amount(f"token_{name}") == pytest.approx(vectors * width / 1e6, rel=0.005)
        assert amount(f"fit_{name}") == pytest.approx(room / (vectors * width), rel=0.0005)
        assert (
            amount(f"million_{name}")
            == math.ceil(1e6 * vectors * width / room)
            == math.ceil(1e6 / amount(f"fit_{name}"))
        )
    room, vector = 80e9 - 405.85e9 * 2 / 128, 16_384 * 2
    lean = {"all": 126 * 10.625 * vector, "checkpointed": 42 * vector + 3 * 10.625 * vector}
    for name, each in lean.items():
        assert amount(f"lean_{name}") == pytest.approx(room / each, rel=0.03)
    assert told["fit_about"] == "25,000" and amount("million_all") > amount("run_share")
    for way, vectors in (("checkpointed", 42 * 2 + 3 * 15.875 * 2), ("reversible", 2 * 4 + 15.875 * 2)):
        held, alone, sequence = int(told[f"copy_{way}"]), int(told[f"alone_{way}"]), 1e6 * vectors * width
        weights = 2 * 405.85e9
        assert held * sequence + weights < 128 * 80e9 < (held + 1) * sequence + weights
        state = weights + (4 + 3 * 4) * 405.85e9  # Adam keeps a copy of the weight and two means, each in 4 bytes
        assert (alone - 1) * 80e9 < sequence + state <= alone * 80e9
    [row] = measurement("korthikanti_activation_formula").records(model="530B")
    [gpus] = [each["gpus"] for each in measurement("korthikanti_iteration_times").records() if each["model"] == "530B"]
    assert row["state_GiB"] * 2**30 * gpus / 529.6e9 == pytest.approx(float(told["state_bytes"]), rel=0.005)
    attention = 2 * 2 * 128 * 128 * 126 * 500_000  # two products of 128 heads, 128 numbers each, in 126 layers
    assert float(told["attention_times"]) == pytest.approx(attention / (2 * 405.85e9), rel=0.01)
    two_levels = (126 / 11 + 11 + 15.875) * 2 * width * 1e6  # segments of 11 layers, then their streams, then a layer
    assert (int(told["copy_checkpointed"]) + 1) * two_levels + weights < 128 * 80e9
    assert told["million_run"] == f"{1e6 / 1024:.0f}" and amount("million_run") > amount("million_all")
    assert amount("run_tokens") < amount("fit_all"), "Llama's sequences fit as they were"


def test_the_cells_that_a_reader_changes_print_what_the_text_says(capsys):
    """Plain Python with typed numbers: the steps there and back, sums undone, a model's bytes, and a byte's worth."""
    told = numbers.all()
    for source in re.findall(r"```\{code-cell\}\n(.*?)```", page("reversibility").read_text("utf8"), re.S):
        if "print(" in source and "numpy" not in source:
            exec(source, {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6:5] == ["there (9, 2)", "back  (2, 5)"] and lines[1] == "there (83, 9)"
    assert lines[6] != "0.1" and lines[7] == "True"
    assert lines[8] == f"worth keeping for {told['lasts_kv']}, waits 0.024 s:"
    assert lines[9] == "keep it" and told["drain"] == "24 ms"
    rows = [re.search(r"([\d.]+) MB +([\d.]+) GPUs", line).groups() for line in lines[10:]]
    assert len(rows) == 4
    for (size, count), name in zip((rows[0], rows[2], rows[3]), ("all", "checkpointed", "reversible")):
        assert f"{size} MB".startswith(told[f"token_{name}"][:4])
        assert math.ceil(float(count)) == int(told[f"million_{name}"])


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
    assert told["error_single"] == "10⁻⁴" and numbers.error("bfloat16") > 1 and told["widened_far"] == "400"
    assert float(told["paper_low"]) > 4 / 3
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
