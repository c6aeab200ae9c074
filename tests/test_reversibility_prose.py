"""The numbers that the reversibility lesson prints, by plain arithmetic; what is run, within bounds that could fail."""

from __future__ import annotations

import contextlib
import io
import math
import random
import re

import numpy as np
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
        "grown_step": f"{math.exp(math.log(85) / 252):.2f}",
        "act_all": f"{round(layers * layer / 1e9, -1):.0f} GB",
        "act_gpus": f"{layers * layer / room:.1f}",
        "act_scores": f"{scores / layer:.0f}",
        "act_reversible": gigabytes(inside + 2 * 4 * tokens * width + 2 * stream + inside),
        "act_streams": gigabytes(inside + 2 * 4 * tokens * width),
        "act_segment": gigabytes(3 * layer + layers / 3 * stream),
        "thirds_together": gigabytes(3 * layer + layers / 3 * stream + stream + inside),
        "token_logits": f"{4 * 128_256 / 1e3:.0f} kB".replace("513", "510"),
        "token_reversible": f"{19 * 2 * width / 1e3:.0f} kB".replace("623", "620"),
        "act_everything": f"{layers * (layer + scores) / 1e12:.1f} TB",
        "act_stretch": f"{(layers / (each / 2)) ** 0.5:.1f}",
        "selective_more": f"{pairs / once / 3:.1%}",
        "run_weights": "6.3 GB",
        "run_gradients": f"{4 * active / 128 / 1e9:.0f} GB",
        "run_tokens": "1,024",
        "run_activations": f"{1024 * each * width * layers / 1e9:.0f} GB",
        "run_copied": f"{1024 * 126 * 2 * 16_384 * (8.625 + 8 * 2) / 1e9:.0f} GB",
        "long_share": f"{8 * 16 * 16:,}",
        "peak_over": "2.5",
        "divide_sent": f"{126 * 4 * 2 * 7 / 8 * stream / 1e9:.0f} GB",
        "divide_time": f"{round(126 * 7 * stream / 450e9 * 1e3, -1):.0f} ms",
        "spent_kv": f"{own / 1e6:.2f} million",
        "spent_layers": f"{round(2 * active / layers / (each * width), -2):,.0f}",
        "run_together": "64 GB",
        "spent_scores": "128",
        "even_layers": f"{worth(2 * active / layers / (each * width)):.1f} s",
        "even_scores": f"{worth(128) * 1e3:.0f} ms",
        "drain": f"{80 / 3.35:.0f} ms",
        "hold": f"{step:.1f} s",
        "wait_first": f"{48 / 93 * step:.1f} s",
        "wait_last": f"{78 / 93 * step:.1f} s",
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
        "memcnn_least": f"{(7 * 60 + 21) / (4 * 60 + 59):.1f}",
        "memcnn_most": f"{(7 * 60 + 17) / (3 * 60 + 45):.1f}",
        "games": "200",
        "own_shallow": "4",
        "own_deep": "24",
        "own_width": "2,048",
    }
    assert {name: told[name] for name in expected} == expected
    assert 4.5 < worth(own) / 60 < 5.5, "five minutes"
    assert f"{6 * 405.8e9 * 16 * 8192 / (128 * 400e12):.1f} s" == told["hold"] and step > 6
    assert each == 21.25 and told["run_activations"] == f"{16 / 128 * layers * layer / 1e9:.0f} GB"
    held = 1024 * each * width * layers + 6 * active / 128 + 12 * active / 16_384
    assert f"{held / 1e9:.0f} GB" == told["run_together"] and held < 0.85 * 80e9, (
        "a tenth of the memory and more is left for work space"
    )
    assert 16 * 131_072 / 2048 == 1024, "longer sequences on more GPUs: as many tokens per GPU"


def test_tokens_per_gpu_are_those_that_fit_beside_weights_and_gradients():
    """Vectors of a token in each way, by hand; the room of a GPU; and GPUs of a copy that trains alone."""
    told, vector, room = numbers.all(), 2 * 16_384, 80e9 - (2 + 4) * 405.85e9 / 128
    amount = lambda name: float(told[name].replace(",", ""))
    assert room == pytest.approx(61e9, rel=0.001)
    slopes = 1 + 6.5  # gradients: of a stream, and of gate and up
    vectors = {
        "all": 126 * 10.625 + slopes,
        "checkpointed": 57.5 + slopes,  # as the segments below are counted
        "two_levels": 126 / 11 + 11 + 10.625 + slopes,
        "reversible": 2 * 2 + 6.5 + 1 + slopes,
        "eight": 2 * 4 + 6.5 + 1 + slopes,
    }
    state = 405.85e9 * (2 + 4 + 3 * 4)  # Adam keeps a copy of the weight and two means, each in 4 bytes
    limits = numbers.trained().limits
    for name, each in vectors.items():
        limit = room / (each * vector)
        assert (limits[name] if name in limits else amount(f"fit_{name}")) == pytest.approx(limit, rel=0.05)
        if name != "all":
            alone = int(told[f"alone_{name}"])
            assert (alone - 1) * 80e9 < 1e6 * each * vector + state <= alone * 80e9
    assert amount("alone_reversible") <= 100 < amount("alone_two_levels") < amount("alone_checkpointed")
    assert told["fit_all"] == "1,400" and told["fit_checkpointed"] == "29,000" and amount("run_tokens") < limits["all"]
    assert amount("fit_checkpointed") < amount("fit_two_levels") < amount("fit_eight") < amount("fit_reversible")
    assert amount("alone_eight") == 101
    assert numbers.trained().tokens == 1024
    assert numbers.trained().free == pytest.approx(room)
    [row] = measurement("korthikanti_activation_formula").records(model="530B")
    [gpus] = [each["gpus"] for each in measurement("korthikanti_iteration_times").records() if each["model"] == "530B"]
    assert row["state_GiB"] * 2**30 * gpus / 529.6e9 == pytest.approx(float(told["state_bytes"]), rel=0.005)
    attention = 2 * 2 * 128 * 128 * 126 * 500_000  # two products of 128 heads, 128 numbers each, in 126 layers
    assert float(told["attention_times"]) == round(attention / (2 * 405.85e9))
    years = 8 * 405.85e9 * 15.6e12 / (100 * 400e12) / (365 * 86_400)
    assert told["few_years"] == f"{years:.0f}" and told["trained_tokens"] == "15.6 trillion"
    assert told["tuned_days"] == f"{years * 365 / 15.6e3 * (1 + attention / (2 * 405.85e9)):.0f}"


PEAK = 33.5  # vectors of a token that the small model keeps with checkpoints at the best places


def test_a_machine_of_eight_gpus_has_room_for_a_million_tokens_of_a_small_model():
    told, active, width, layers = numbers.all(), 8.03e9, 4096, 32
    vectors = 2 + 2 + 2 * 8 / 32 + 2 * 14_336 / width
    room = 8 * 80e9 - 18 * active
    slopes = 1 + 7  # gradients: of a stream, and of gate and up
    kept = layers * vectors + slopes
    assert float(told["node_all"].replace(",", "")) == pytest.approx(room / (2 * width * kept), rel=0.03)
    lengths = [2] * 10 + [1] * 12  # of segments, from the bottom
    assert sum(lengths) == layers and max(at + n * vectors for at, n in enumerate(lengths, 1)) == PEAK
    fits = room / (2 * width * (PEAK + slopes))
    assert told["node_checkpointed"] == f"{fits / 1e6:.1f} million" and fits > 1e6
    step = 1e6 * 4 * (2 * active + 4 * width * layers * 500_000) / (8 * 400e12)
    assert told["node_step"] == f"{step / 60:.0f} minutes"


def cells(*starts):
    """The page's programs, or those of them that have such starts."""
    found = re.findall(r"```\{code-cell\}\n(.*?)```", page("reversibility").read_text("utf8"), re.S)
    return [each for each in found if "print(" in each and each.startswith(starts or "")]


def printed(source, names=None):
    """The lines that a program prints, and its names."""
    names = {} if names is None else names
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(source, names)
    return said.getvalue().splitlines(), names


def test_programs_are_short_and_print_little():
    names = {}
    for source in cells():
        lines = [line for line in source.splitlines() if line.strip()]
        assert len(lines) <= (40 if source.startswith(TRIP) else 18) and max(map(len, lines)) <= 76, source
        assert len(printed(source, names)[0]) <= 8
    assert len(cells()) == 6


def test_steps_there_and_back_end_where_they_began():
    lines, _ = printed(*cells("def f(x)"))
    assert lines == [*(f"there {pair}" for pair in ((9, 2), (83, 9), (6898, 83)))] + [
        *(f"back  {pair}" for pair in ((83, 9), (9, 2), (2, 5)))
    ]


def test_keys_in_reverse_order_bring_a_message_back_and_others_do_not():
    [source] = cells("keys = ")
    sent, read = printed(source)[0]
    assert read == "read (2, 5)" and sent != "sent (2, 5)"
    assert printed(source.replace("in reversed(keys)", "in keys"))[0] != [sent, read]
    assert printed(source.replace("in reversed(keys)", "in (4, 1, 6)"))[0] != [sent, read]


def test_a_walk_through_training_holds_what_the_formula_says():
    lines, names = printed(*cells("layers, kept"))
    count = lambda length: eq.checkpointed(depth=126, segment=length, stream_bytes=1, layer_bytes=10.625)
    assert len(lines) == 7 and all(
        names["train"](n) == (pytest.approx(count(n)), 252 - n) for n in (1, 2, 3, 6, 14, 126)
    )
    assert [re.findall(r"\d[\d,.]*\b", line) for line in lines][2] == ["3", "73.9", "249"]
    held = {n: names["train"](n)[0] for n in range(1, 127)}
    assert min((n for n in held if 126 % n == 0), key=held.get) == 3 and held[3] < 1.01 * min(held.values())
    [source] = cells("layers, kept")
    assert "6 layers:    39.0" in "\n".join(printed(source.replace("126, 10.625", "126, 3"))[0])


def test_a_gradient_comes_back_through_a_network_that_keeps_nothing():
    [source] = cells("import math\n\ndef run_up")
    for steps in "40", "400":
        start, gradient = printed(source.replace("* 40 ", f"* {steps} "))[0]
        assert start == "start, rebuilt: 0.600000000 -0.300000000"
        own, measured = re.findall(r"-\d\.\d{4}", gradient)
        assert own == measured


TRIP = "import numpy as np\n\ndraw"


def test_rounding_leaves_little_in_eight_bits_and_all_in_whole_numbers():
    lines, names = printed(*cells(TRIP))
    off = [[tuple(map(float, each)) for each in re.findall(r"(\S+) to (\S+)", line)] for line in lines[1:]]
    (start, slope), (single, single_slope), (edges, edges_slope), fixed = off
    assert 0.5 < start[0] < start[1] < 1 and slope == (0.3, 0.4)
    assert all(1e-6 < least <= most < 3e-5 for least, most in (single, single_slope))
    assert edges[0] < 1e-6 and edges[1] == 0.07 and fixed == [(0, 0), (0, 0)]
    assert edges_slope[0] < 1e-6 and edges_slope[1] == 0.04
    for bits in 8, 24:
        for value in (random.gauss(0, 1) for _ in range(100)):
            part, power = math.frexp(value)
            assert names["digits"](value, bits) == math.ldexp(round(part * 2**bits), power - bits)


def test_gradients_of_a_step_are_slopes():
    """Of the program: nudges of both streams at the start, with f exact."""
    _, names = printed(*cells(TRIP))
    net, exact, draw = names["net"][:20], names["exact"], random.Random(3)

    def top(x, y):
        reads = []
        for m in net:
            reads.append(x)
            x, y = y + names["f"](m, x, exact), x
        return reads, (x, y)

    reads, slopes = top(*names["start"])
    for m, read in zip(net[::-1], reads[::-1]):
        slopes = names["below"](m, read, *slopes, exact)
    loss = lambda at: sum(float((v * v).sum()) for v in top(*at)[1]) / 2
    for half in 0, 1:
        nudge = 0 * names["start"]
        nudge[half] = np.reshape([draw.gauss(0, 1e-5) for _ in range(nudge[half].size)], nudge[half].shape)
        found = (loss(names["start"] + nudge) - loss(names["start"] - nudge)) / 2
        assert found == pytest.approx(float((nudge[half] * slopes[half]).sum()), rel=1e-5)


def test_an_error_at_the_top_grows_as_the_text_says():
    """Relative to the streams, for each of the program's inputs, with f exact."""
    _, names = printed(*cells(TRIP))
    size, exact, net = lambda a: np.linalg.norm(a, axis=(0, 2)), names["exact"], names["net"]
    x, y = names["start"]
    for m in net:
        x, y = y + names["f"](m, x, exact), x
    top = np.array((x, y))
    x, y = wrong = top + np.random.default_rng(99).normal(0, 1e-9, top.shape)
    for m in net[::-1]:
        x, y = y, x - names["f"](m, y, exact)
    grown = size(np.array((x, y)) - names["start"]) / size(names["start"]) / (size(wrong - top) / size(top))
    assert 57 < min(grown) < 58 and 84 < max(grown) < numbers.GROWN


def test_limits_and_the_lone_copy_are_those_of_the_text():
    lines, names = printed(*cells("layers, width"))
    rows = [re.search(r"([\d,]+) tokens", line)[1] for line in lines]
    for row, name in zip(rows, ("all", "checkpointed", "reversible"), strict=True):
        assert float(row.replace(",", "")) == pytest.approx(numbers.trained().limits[name], rel=0.001)
    names["ways"]["two levels"] = 126 / 11 + 11 + 10.625 + 7.5
    names["ways"]["eight bytes"] = 2 * 4 + 6.5 + 2 + 6.5
    taken = [vectors * 32_768 for vectors in names["ways"].values()]
    fit = [{gpus for gpus in range(90, 130) if room(gpus) > 1e6 / gpus * each} for each in taken]
    assert [min(gpus, default=None) for gpus in fit] == [None, 118, 100, 108, 101]
    told = numbers.all()
    lone = [int(told[f"alone_{way}"]) for way in ("checkpointed", "reversible", "two_levels", "eight")]
    assert lone == [min(gpus) for gpus in fit[1:]]
    streams, layer, pairs = 1e4 * 19 * 32_768, 811.6e9 / 126, 1e6 * 4096
    assert [f"{size / 1e9:.1f}" for size in (room(100) - streams, layer, pairs)] == ["0.7", "6.4", "4.1"]


def room(gpus):
    """Bytes that a lone copy leaves free on each of so many GPUs."""
    return 80e9 - 18 * 405.85e9 / gpus


def test_a_pipeline_gets_its_first_sequence_back_after_half_a_step_and_its_last_after_five_sixths():
    """One forward, one backward, by hand: 16 groups, 16 sequences, a unit forward and two backward for each group."""
    groups, forward, done = 16, {}, {}
    free = [0] * groups
    order = [
        [("F", n) for n in range(groups - g)]
        + [each for n in range(g) for each in (("B", n), ("F", n + groups - g))]
        + [("B", n) for n in range(g, groups)]
        for g in range(groups)
    ]
    while any(order):
        for g, queue in enumerate(order):
            if not queue:
                continue
            kind, n = queue[0]
            before = forward.get((g - 1, n), 0 if g == 0 else None) if kind == "F" else done.get((g + 1, n))
            if kind == "B" and g == groups - 1:
                before = forward[g, n]
            if before is not None:
                free[g] = max(free[g], before) + (1 if kind == "F" else 2)
                (forward if kind == "F" else done)[g, n] = free[g]
                queue.pop(0)
    waits = [done[0, n] - (forward[0, n] - 1) for n in range(groups)]
    assert (waits[0], waits[-1], max(done.values())) == (48, 78, 93)
    assert max(done[15, n] - (forward[15, n] - 1) for n in range(groups)) == 3, "hardly a wait at the top"
    assert max(done.values()) - groups * 3 == 45 and 45 / 93 > 0.48 and 45 / 48 > 1 / 3, "idle for nearly half"


def test_a_readers_own_model_gets_its_own_best_segments(capsys):
    """The last cell with the small model on eight GPUs, as the prose counts it elsewhere."""
    [source] = re.findall(r"```\{code-cell\}\n(layers, width = .*?)```", page("reversibility").read_text("utf8"), re.S)
    mine = {"126, 16_384": "32, 4_096", "10.625, 6.5": "11.5, 7", "61e9": "8 * 80e9 - 18 * 8.03e9"}
    for old, new in mine.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    exec(source, {})
    row = capsys.readouterr().out.splitlines()[1]
    fits = float(re.search(r"([\d,]+) tokens", row)[1].replace(",", ""))
    assert fits == pytest.approx((8 * 80e9 - 18 * 8.03e9) / (2 * 4096 * (PEAK + 8)), abs=1)
    assert f"{fits / 1e6:.1f} million" == numbers.all()["node_checkpointed"]


def test_segments_that_get_shorter_toward_the_top_need_less_than_equal_ones():
    """Streams above the current segment are gone: both splits of 126 layers, counted segment by segment."""
    peak = lambda lengths: max(at + length * 10.625 for at, length in enumerate(lengths, 1))
    tapered = [5] * 4 + [4] * 11 + [3] * 10 + [2] * 11 + [1] * 10
    assert sum(tapered) == 126 == sum([3] * 42) and peak(tapered) == 57.5
    assert 0.75 * peak([3] * 42) < peak(tapered) < 0.8 * peak([3] * 42)
    assert numbers.placed(numbers.sequence_sizes()) == pytest.approx(57.5 * 2 * 16_384 * 8_192)


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
    assert told["widened_far"] == "400" and told["widened_bare"] == "20,000"
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
