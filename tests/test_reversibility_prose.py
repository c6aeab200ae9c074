"""The numbers that the reversibility lesson prints, by plain arithmetic; what is run, within bounds that could fail."""

from __future__ import annotations

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
    each = 2 * (2 + 1 + 2 / 16 + 1 + 2 * 53_248 / width)  # norms' inputs; queries, keys, values; output; gate and up
    layer, stream, inside = each * width * tokens, 2 * width * tokens, 2 * 2 * 53_248 * tokens
    scores, room, rate = 2 * 128 * tokens**2, 80e9, 400e12
    pairs = 2 * layers * width * tokens  # FLOPs of a token's scores with all tokens of its sequence
    once = 2 * active + 2 * pairs
    own, worth = 2 * active / 516_096, lambda flop: flop * room / rate
    step = 6 * active * 2048 * tokens / (16_384 * rate)
    low = 1 - worth(2 * active / layers / (each * width)) / step
    gigabytes = lambda amount: f"{amount / 1e9:.{1 if amount < 9.95e9 else 0}f} GB"
    expected = {
        "far": "252",
        "compounded": f"{1.1**252 / 1e9:.0f} billion",
        "act_all": f"{round(layers * layer / 1e9, -1):.0f} GB",
        "act_gpus": f"{layers * layer / room:.1f}",
        "act_scores": f"{scores / layer:.0f}",
        "act_reversible": gigabytes(inside + 2 * 4 * tokens * width),
        "act_segment": gigabytes(3 * layer + layers / 3 * stream),
        "act_everything": f"{layers * (layer + scores) / 1e12:.1f} TB",
        "act_stretch": f"{(layers / (each / 2)) ** 0.5:.1f}",
        "act_shrunk": f"{layers * layer / (3 * layer + layers / 3 * stream):.0f}",
        "keep_thirds": gigabytes(layers / 3 * stream),
        "keep_streams": gigabytes(2 * 4 * tokens * width),
        "work_thirds": gigabytes(3 * layer),
        "work_step": gigabytes(inside),
        "selective_more": f"{pairs / once / 3:.1%}",
        "run_weights": "6.3 GB",
        "run_gradients": f"{4 * active / 128 / 1e9:.0f} GB",
        "run_tokens": "1,024",
        "run_activations": f"{1024 * each * width * layers / 1e9:.0f} GB",
        "long_share": f"{8 * 16 * 16:,}",
        "peak_over": "2.5",
        "divide_sent": f"{126 * 4 * 2 * 7 / 8 * stream / 1e9:.0f} GB",
        "divide_time": f"{round(126 * 7 * stream / 450e9 * 1e3, -1):.0f} ms",
        "spent_kv": f"{own / 1e6:.1f} million",
        "spent_layers": f"{round(2 * active / layers / (each * width), -3):,.0f}",
        "spent_scores": "128",
        "even_layers": f"{worth(2 * active / layers / (each * width)):.1f} s",
        "even_scores": f"{worth(128) * 1e3:.0f} ms",
        "drain": f"{80 / 3.35:.0f} ms",
        "hold": f"{step:.1f} s",
        "scores_over": sig(step / worth(128)),
        "layers_low": f"{round(low, 1):.0%}",
        "run_share": "128",
        "run_waits": "16",
        "res_164": "3,083 MB",
        "rev_164": "1,226 MB",
        "res_error": "23.0%",
        "rev_error": "23.1%",
        "again_least": f"{1.42 / 1.10:.2f}",
        "again_most": f"{94.42 / 71.49:.2f}",
    }
    assert {name: told[name] for name in expected} == expected
    assert 4.5 < worth(own) / 60 < 5.5, "five minutes"
    assert f"{6 * 405.8e9 * 16 * 8192 / (128 * 400e12):.1f} s" == told["hold"] and step > 6
    assert each == 21.25 and told["run_activations"] == f"{16 / 128 * layers * layer / 1e9:.0f} GB"
    held = 1024 * each * width * layers + 6 * active / 128 + 12 * active / 16_384
    assert held < 0.85 * 80e9, "a tenth of the memory and more is left for work space"
    assert 16 * 131_072 / 2048 == 1024, "longer sequences on more GPUs: as many tokens per GPU"


def test_tokens_per_gpu_are_those_that_fit_beside_weights_and_gradients():
    """Vectors of a token in each way, by hand; the room of a GPU; and GPUs of a copy that trains alone."""
    told, vector, room = numbers.all(), 2 * 16_384, 80e9 - (2 + 4) * 405.85e9 / 128
    amount = lambda name: float(told[name].replace(",", ""))
    assert room == pytest.approx(61e9, rel=0.001)
    vectors = {
        "all": 126 * 10.625,
        "checkpointed": 42 + 3 * 10.625,
        "two_levels": 126 / 11 + 11 + 10.625,
        "tapered": 57.5,  # as the segments below are counted
        "reversible": 2 * 2 + 6.5,
    }
    state = 405.85e9 * (2 + 4 + 3 * 4)  # Adam keeps a copy of the weight and two means, each in 4 bytes
    limits = numbers.trained().limits
    for name, each in vectors.items():
        limit = room / (each * vector)
        assert (limits[name] if name in limits else amount(f"fit_{name}")) == pytest.approx(limit, rel=0.05)
        if name not in ("all", "tapered"):
            alone = int(told[f"alone_{name}"])
            assert (alone - 1) * 80e9 < 1e6 * each * vector + state <= alone * 80e9
    assert amount("alone_reversible") < 100 < amount("alone_two_levels") < amount("alone_checkpointed")
    assert told["fit_all"] == "1,400" and told["fit_checkpointed"] == "25,000" and amount("run_tokens") < limits["all"]
    assert 0.5 * amount("fit_two_levels") > 0.9 * amount("fit_checkpointed")
    many, some, few = numbers.alone()
    for case, gpus, suits in ((many, 2048, "all"), (some, 128, "checkpointed"), (few, 100, "reversible")):
        free = 80e9 - state / gpus
        assert (case.gpus, case.tokens) == (gpus, 1e6 / gpus) and case.free == pytest.approx(free, rel=1e-3)
        fits = {name: free / (vectors[name] * vector) for name in ("all", "checkpointed", "reversible")}
        assert next(name for name, most in fits.items() if case.tokens < most) == suits
    assert told["alone_free"] == "7 GB" and numbers.trained().tokens == 1024
    assert numbers.trained().free == pytest.approx(room)
    [row] = measurement("korthikanti_activation_formula").records(model="530B")
    [gpus] = [each["gpus"] for each in measurement("korthikanti_iteration_times").records() if each["model"] == "530B"]
    assert row["state_GiB"] * 2**30 * gpus / 529.6e9 == pytest.approx(float(told["state_bytes"]), rel=0.005)
    attention = 2 * 2 * 128 * 128 * 126 * 500_000  # two products of 128 heads, 128 numbers each, in 126 layers
    assert float(told["attention_times"]) == round(attention / (2 * 405.85e9))
    years = 8 * 405.85e9 * 15.6e12 / (100 * 400e12) / (365 * 86_400)
    assert told["few_years"] == f"{years:.0f}" and told["trained_tokens"] == "15.6 trillion"


def test_a_machine_of_eight_gpus_has_room_for_a_million_tokens_of_a_small_model():
    told, active, width, layers = numbers.all(), 8.03e9, 4096, 32
    vectors = 2 + 2 + 2 * 8 / 32 + 2 * 14_336 / width
    room = 8 * 80e9 - 18 * active
    assert float(told["node_all"].replace(",", "")) == pytest.approx(room / (2 * width * layers * vectors), rel=0.03)
    fits = room / (2 * width * (layers / 2 + 2 * vectors))
    assert told["node_checkpointed"] == f"{fits / 1e6:.1f} million" and fits > 1e6
    step = 1e6 * 4 * (2 * active + 4 * width * layers * 500_000) / (8 * 400e12)
    assert told["node_step"] == f"{step / 60:.0f} minutes"


def test_the_cells_that_a_reader_changes_print_what_the_text_says(capsys):
    """Plain Python with typed numbers: the steps there and back, sums undone, a model's bytes, and a byte's worth."""
    for source in re.findall(r"```\{code-cell\}\n(.*?)```", page("reversibility").read_text("utf8"), re.S):
        if "print(" in source and "numpy" not in source:
            exec(source, {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6:5] == ["there (9, 2)", "back  (2, 5)"] and lines[1] == "there (83, 9)"
    assert lines[6] != "0.1" and lines[7] == "True"
    rows = [re.search(r"([\d,]+) tokens", line)[1] for line in lines[8:]]
    assert len(rows) == 3
    for row, name in zip(rows, ("all", "checkpointed", "reversible")):
        limit = numbers.trained().limits[name]
        assert float(row.replace(",", "")) == pytest.approx(limit, rel=0.001)


def test_a_readers_own_model_gets_its_own_best_segments(capsys):
    """The last cell with the small model on eight GPUs: segments of two layers, as the prose counts it elsewhere."""
    [source] = re.findall(r"```\{code-cell\}\n(layers, width = .*?)```", page("reversibility").read_text("utf8"), re.S)
    mine = {"126, 16_384": "32, 4_096", "10.625, 6.5": "11.5, 7", "61e9": "8 * 80e9 - 18 * 8.03e9"}
    for old, new in mine.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    exec(source, {})
    row = capsys.readouterr().out.splitlines()[1]
    fits = float(re.search(r"([\d,]+) tokens", row)[1].replace(",", ""))
    assert fits == pytest.approx((8 * 80e9 - 18 * 8.03e9) / (2 * 4096 * (32 / 2 + 2 * 11.5)), abs=1)
    assert f"{fits / 1e6:.1f} million" == numbers.all()["node_checkpointed"]


def test_segments_that_get_shorter_toward_the_top_need_less_than_equal_ones():
    """Streams above the current segment are gone: both splits of 126 layers, counted segment by segment."""
    peak = lambda lengths: max(at + length * 10.625 for at, length in enumerate(lengths, 1))
    tapered = [5] * 4 + [4] * 11 + [3] * 10 + [2] * 11 + [1] * 10
    assert sum(tapered) == 126 == sum([3] * 42) and peak(tapered) == 57.5
    assert 0.75 * peak([3] * 42) < peak(tapered) < 0.8 * peak([3] * 42)
    assert numbers._tapered() == pytest.approx(57.5 * 2 * 16_384 * 8_192)


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
    assert told["widened_bare"] == "20,000" and told["widened_small"] == "10"
    assert numbers.widened(252, normed=False, scale=0.2) == pytest.approx(12, rel=0.2), "as small without the norm"
    net, ledger = network.Network.random("reversible", 252), network.Ledger()
    states = net.run(net.start(network.digits().test[:64], ledger))
    shrunk = [network._size(states[at]) / network._size(states[0]) for at in (252, 63)]
    grown = network.growth_back(net, states[0])[[252, 189]] / (shrunk[0], shrunk[0] / shrunk[1])
    assert shrunk[1] > 5 and grown[0] > 5 * grown[1] > 5, "in the last quarter, streams shrink and the error grows"
    assert float(told["paper_low"]) > 4 / 3
    assert (told["own_least"], told["own_most"]) == ("1.30", "1.36")


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
