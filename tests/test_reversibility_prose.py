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
    active, width, layers = 405.85e9, 16_384, 126
    own, layer = 2 * 37_551_276_032 / 70_272, 34 * width * 8192
    pairs = 4 * layers * width * 8192  # FLOPs of a token with all tokens of its sequence
    expected = {
        "mixed": f"{(64 / 2 + 1) / 128:.1%}",
        "steps": f"{15 * (1437 // 64)}",
        "digits": "1,437",
        "layers": "12",
        "deep": "64",
        "act_layer": f"{layer / 1e9:.2f} GB",
        "act_all": f"{layers * layer / 1e9:.0f} GB",
        "act_reversible": f"{(layer + 2 * 4 * 8192 * width) / 1e9:.1f} GB",
        "act_inputs": f"{126 * 2 * 8192 * width / 1e9:.1f} GB",
        "act_llama": f"{2 * (1 + 1 + 1 + 2 / 16 + 1 + 1 + 1 + 3 * 53_248 / width):.0f}",
        "far": "252",
        "act_checkpointed": f"{(layer + layers * 2 * 8192 * width) / 1e9:.0f} GB",
        "act_everything": f"{layers * (layer + 5 * 128 * 8192**2) / 1e12:.2f} TB",
        "act_divided": f"{layers * layer / 8 / 1e9:.0f} GB",
        "selective_work": f"{1 + pairs / (2 * active + pairs) / 3:.2f}",
        "spent_kv": f"{own / 1e6:.2f} million",
        "spent_layers": f"{round(24 / 34 * 20_480, -2):,.0f}",
        "spent_scores": f"{4 * 20_480 / 5 / 128:.0f}",
        "scores_over": sig(37.83 / 8 / (0.8 * 20_480 / 128 * 80 / 312e3)),
        "half_least": f"{13.75 / 8 / (24 / 34 * 12_288 * 80 / 312e3) / 2:.1f}",
        "a100_gib": f"{80e9 / 2**30:.1f} GiB",
        "act_best": f"{2 * (layers * layer * 2 * 8192 * width) ** 0.5 / 1e9:.0f} GB",
        "act_stream": f"{4 * 8192 * width / 1e6:.0f} MB",
        "act_stretch": f"{(layers / 17) ** 0.5:.1f}",
        "lasts_kv": f"{own * 186e9 / 5e15:.0f} s",
        "res_164": "3,083 MB",
        "rev_164": "1,226 MB",
        "slower_least": f"{423 / 404:.2f}",
        "slower_most": f"{437 / 225:.2f}",
        "again_least": f"{1.42 / 1.10:.2f}",
        "again_most": f"{94.42 / 71.49:.2f}",
        "hold": f"{37.83 * 35 / 280:.2f} s",
        "even_layers": f"{24 / 34 * 20_480 * 80e9 / 312e12:.2f} s",
        "even_scores": f"{0.8 * 20_480 / 128 * 80e9 / 312e9:.0f} ms",
        "half_most": f"{71.49 / 8 / (24 / 34 * 25_600 * 80 / 312e3) / 2:.1f}",
    }
    assert {name: told[name] for name in expected} == expected


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
    names = ("act_everything", "act_all", "act_checkpointed", "act_best", "act_reversible")
    for size, name in zip(sizes, names, strict=True):
        value, unit = told[name].split()
        assert size == pytest.approx(float(value) * {"GB": 1, "TB": 1e3}[unit], rel=0.02)
    assert lines[13] == f"worth keeping for {2 * float(told['even_layers'].split()[0]):.2g} s, waits 4.73 s:"
    assert lines[14:] == ["keep it"] and told["hold"] == "4.73 s"


def test_the_table_of_four_ways_counts_bytes_and_flops():
    """Of a GPT layer on eight GPUs: 24 of 34 bytes and all scores are divided, with the sequence all but the inputs."""
    width, heads, tokens = 20_480, 128, 2_048
    scores = 5 * heads * tokens / width / 8
    whole = 10 + 24 / 8 + scores
    shares = (1, 13 / whole, 34 / 8 / whole, 2 / whole)
    again = 4 * tokens * width / (24 * width**2 + 4 * tokens * width)
    found = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)[1:] for row in numbers.kept_by_way().split("<tr>")[2:]]
    for (memory, fits, work), share, anew in zip(found, shares, (0, again, again, 1), strict=True):
        assert float(memory.split()[0]) == pytest.approx(114 * share, rel=0.03)
        assert fits == ("yes" if (114 * share + 31.6) * 2**30 < 80e9 else "no")
        assert work == f"× {1 + anew / 3:.3f}"


def test_what_was_run_says_what_the_prose_says():
    """Sentences rest on these: the network gives itself away and the cipher does not; nothing is kept but two
    streams; short formats do not come back from Llama's depth.
    """
    told = numbers.all()
    share = lambda name: float(told[name].rstrip("%")) / 100
    assert float(told["net_correlation"]) > 0.95 and abs(float(told["cipher_correlation"])) < 0.1
    assert (
        share("net_told") > 0.95
        and 0.4 < share("cipher_told") < 0.6
        and share("net_matched") > 0.5
        and share("net_collide") > 0
        and share("cipher_matched") == 0
    )
    assert abs(share("counted_2") - 0.5) < 0.02 and abs(share("counted_1") - share("mixed")) < 0.02
    assert told["error_half_far"] == "0.6" and told["error_single_far"] == "10⁻⁴"
    assert 0.6 / (float(told["chi_far"]) ** 252 / 2**11) < 1.3 * float(told["over_formula"])
    assert abs(share("plain_deep_told") - 0.5) < 4.5 * 0.5 / 200**0.5
    assert told["loss_apart"] in ("10⁻⁵", "10⁻⁶")  # rounding, which differs between processors
    assert (
        numbers.step("reversible", 64).kept
        == numbers.step("reversible", 8).kept
        < numbers.step("checkpointed", 64).kept
        < numbers.step("stored", 64).kept
    )
    assert network.trained("reversible").accuracy[-1] > 0.95


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
