"""The numbers that the pipelining lesson prints, by plain arithmetic; and the lecture's own."""

from __future__ import annotations

import random
import re

import pytest
from lessons import page, room

from blackboard.catalogue import model
from blackboard.catalogue.running_case import RUNNING
from blackboard.formula import FormulaError
from blackboard.lessons.pipelining import equations as eq
from blackboard.lessons.pipelining import figures, lab, numbers, simulation

TOTAL, KV = 671_025_397_760, 61 * 576 * 2


def ring_sends(chips: int) -> int:
    """Vectors that an all-reduce in a ring sends, by doing it: parts go round until each chip has every sum."""
    held = [[{chip} for _ in range(chips)] for chip in range(chips)]  # whose numbers are in each part of each chip
    parts = 0
    for turn in range(2 * (chips - 1)):
        for chip in range(chips):
            part = (chip - turn) % chips
            held[(chip + 1) % chips][part] |= held[chip][part]
            parts += 1
    assert all(part == set(range(chips)) for row in held for part in row)
    return parts // chips


def box_token(users, boxes):
    """Seconds of a token of users in flight on boxes that load each layer together, with hops as short as possible:
    loading, 116 exchanges of 11.9 µs, and the bytes of nine copies inside or of four that leave.
    """
    load = (TOTAL + users * 75_000 * KV) / (boxes * 38.4e12)
    copies, rate = (9, 450e9) if boxes == 1 else (4, 50e9)
    return load + 116 * 11.9e-6 + users / boxes / 8 * copies * 58 * 7168 * 3 / rate


@pytest.mark.parametrize("copied", [False, True])
def test_where_sharing_begins_to_win(copied):
    """Both layouts by plain arithmetic, with and without copies of attention's weights: on either side of each border
    another layout wins.
    """
    expert = 58 * 3 * 7168 * 2048
    rest = TOTAL - 257 * expert
    stored = (8 * (rest + 33 * expert), 16 * (rest + 17 * expert)) if copied else (TOTAL, TOTAL)
    vector = 58 * 7168 * 3  # bytes of a token that goes out and comes back once, in all layers

    def lead(context: float, wait: float) -> float:
        piped, spread = ((2.256e12 - weights) / (context * KV) for weights in stored)
        token = (stored[0] + piped / 2 * context * KV) / 38.4e12 + 2 * wait
        token += 116 * 11.9e-6 + piped / 16 * 9 * vector / 450e9
        across = 4 * spread / 16 * vector / 50e9
        shared = (stored[1] + spread * context * KV) / 76.8e12 + 116 * wait + across
        return spread / shared / (piped / token)

    told = numbers.all()
    wait = int((told["wait_copied"] if copied else told["hop_even"]).split()[0]) * 1e-6
    assert lead(75_000, wait - 0.6e-6) > 1 > lead(75_000, wait + 0.6e-6)
    assert 1.02 < lead(75_000, 46e-6) < 1.1
    if not copied:
        context = int(told["context_plain"].replace(",", ""))
        assert lead(1.03 * context, 46e-6) > 1 > lead(0.97 * context, 46e-6)


def test_a_pipelines_token_is_never_sooner_than_a_separate_boxs_but_may_be_sooner_than_with_shared_layers():
    two, spread = numbers.LAYOUTS["two"], numbers.LAYOUTS["spread"]
    for users in (2, 172, 300):
        alone = sum(numbers.parts(users / 2, numbers.LAYOUTS["one"], 0))
        for hop in (0, 46e-6, 2.5e-3):
            assert all(numbers.cut_token(two, users, count, hop) >= alone - 1e-12 for count in range(2, 12))
    for hop, sooner in ((46e-6, False), (100e-6, True)):
        assert (numbers.cut_token(two, 300, 2, hop) < sum(numbers.parts(300, spread, hop))) is sooner


def test_copies_of_attention_take_more_memory():
    assert [round(numbers.copied_weights(gpus) / 1e9) for gpus in (8, 16)] == [791, 928]


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    cache = 75_000 * KV  # of one user
    expert = 58 * 3 * 7168 * 2048  # bytes of one expert of every layer
    rest = TOTAL - 257 * expert
    spread = 4 * 128 * 7168 / 50e9  # s in which the copies of a dispatch leave a box; a combine's take twice as long
    crossing = round((118 + 195 - 3 * spread * 1e6) / 2) * 1e-6
    late, early = box_token(150, 1), box_token(300, 2) - 116 * 11.9e-6  # if hops took no time
    one, two = box_token(86, 1), late + 2 * crossing
    shared = early + 116 * crossing
    attends = 61 * 128 * (576 + 512) * 2 * 75_000 / (8 * 989.5e12)  # s of a box in BF16, of one user
    idle = {users: (1 - 8 / 256) ** users * 256 * expert / 38.4e12 for users in (86, 150)}  # experts no token chose
    third = box_token(100, 1) * 3 / 2  # if three micro-batches of 100 queue
    expected = {
        "vector": "14.3 kB",
        "sent_tensor": f"{61 * 2 * ring_sends(8) * 2 * 7168 / 1e6:.1f} MB",
        "sent_expert": f"{58 * 9 * 7168 * 3 / 1e6:.1f} MB",
        "layers": "61",
        "routed_layers": "58",
        "ratio_here": f"{450 // 50}",
        "sent_ratio": f"{round(58 / 2 * 9 * 3 / 2, -1):.0f}",
        "context": "75,000 tokens",
        "gpu_memory": f"{1_128 / 8:.0f} GB",
        "gpu_weights": f"{671 / 16:.1f} GB",
        "gpu_kv": f"{150 * 5.27 / 8:.1f} GB",
        "lecture_hop": "2.5 ms",
        "said_cache": f"{cache / 1e9:.2f} GB",
        "hop_us": f"{150 * 7168 * 2 / 8 / 50e9 * 1e6:.1f} µs",
        "hop_bytes": f"{150 * 7168 * 2 / 1e6:.1f} MB",
        "hop_whole": f"{5.4 + 2.8:.1f} µs",
        "alpha_least": "2.8 µs",
        "boxes": "3",
        "boxes_left": f"{3 * 1_128 - 3_000} GB",
        "bubble_4_4": f"{3 / 7:.0%}",
        "tenth": "27",
        "users_one": f"{2 * ((1.128e12 - TOTAL) // cache):.0f}",
        "users_group": f"{(2 * 1.128e12 - TOTAL) / cache // 2:.0f}",
        "users_two": f"{(2 * 1.128e12 - TOTAL) // cache:.0f}",
        "box": "1.128 TB",
        "filled_box": f"{671 / 1128:.1%}",
        "filled_rack": f"{671 / 13392:.1%}",
        "box_rate": f"{8 * 4.8} TB/s",
        "inside_rate": "450 GB/s",
        "weights_one": f"{671.03 / 38.4:.1f}",
        "weights_spread": f"{671.03 / 76.8:.1f}",
        "caches_one": f"{86 * 5.27 / 38.4:.1f}",
        "caches_two": f"{150 * 5.27 / 38.4:.1f}",
        "sent_one": f"{116 * 11.9e-3 + 86 / 8 * 11.2 / 450:.1f}",
        "sent_two": f"{116 * 11.9e-3 + 150 / 8 * 11.2 / 450:.1f}",
        "sent_spread": f"{116 * 46e-3 + 300 / 16 * 4 / 9 * 11.2 / 50:.1f}",
        "hops_two": f"{2 * 46e-3:.1f}",
        "token_one": f"{one * 1e3:.1f}",
        "token_two": f"{two * 1e3:.1f}",
        "token_spread": f"{shared * 1e3:.1f}",
        "short_one": f"{round(86 / one, -1):,.0f}",
        "short_two": f"{round(150 / two, -1):,.0f}",
        "short_spread": f"{round(150 / shared, -1):,.0f}",
        "box_one": f"{(1.128e12 - TOTAL) // cache:.0f}",
        "bytes_spread": f"{300 / 16 * 4 / 9 * 11.2 / 50:.1f}",
        "attend_one": f"{86 * attends * 1e3:.1f}",
        "attend_two": f"{150 * attends * 1e3:.1f}",
        "box_hop": f"{crossing * 1e6:.0f} µs",
        "exchange": "11.9 µs",
        "card_rate": "50 GB/s",
        "dispatch_whole": "118 µs",
        "combine_whole": "195 µs",
        "dispatch_passing": f"{spread * 1e6:.1f} µs",
        "combine_passing": f"{2 * spread * 1e6:.0f} µs",
        "all_load": f"{671 / 38.4:.1f} ms",
        "half_load": f"{671 / 38.4 / 2:.1f} ms",
        "half_starts": f"{58 * 11.9e-3:.1f} ms",
        "late_idle": f"{5 / (late * 1e3 + 5):.0%}",
        "third_costs": f"{1 - (late + 5e-3) / third:.0%}",
        "hop_third": f"{(third - late) / 2 * 1e3:.1f} ms",
        "memory_box": "1,128",
        "stored_box": "671",
        "lead_two": f"{150 / two / (86 / one) - 1:.0%}",
        "lead_worst": f"{150 / (two + 150 * attends - idle[150]) / (86 / (one + 86 * attends - idle[86])) - 1:.0%}",
        "unchosen": f"{(248 / 256) ** 86:.1%}",
        "lead_spread": f"{two / shared - 1:.0%}",
        "lead_spread_worst": f"{(two + 150 * attends - idle[150]) / (shared + 150 * attends) - 1:.0%}",
        "hop_alone": f"{(150 / 86 * one - box_token(100, 1)) / 2 * 1e3:.1f} ms",
        "uncut": f"{(box_token(300, 1) + 2 * crossing) * 1e3:.1f}",
        "hop_trained": f"{1024 * 6144 * 2 / 1e6:.1f} MB",
        "hop_times": f"{1024 * 6144 * 8 / (150 * 7168):.0f}",
        "hop_even": f"{(late - early) / 114 * 1e6:.0f} µs",
        "whole_half": f"{-(-61 // 2)}",
        "whole_boxes": f"{(1.128e12 * 61 - TOTAL * 31) // (cache * 31):.0f}",
        "copied_alone": f"{2 * ((1.128e12 - 8 * (rest + 33 * expert)) // cache):.0f}",
        "copied_stages": f"{(2.256e12 - 8 * (rest + 33 * expert)) // cache:.0f}",
        "reserve_gain": f"{(0.9 * 1.128e12 - TOTAL / 2) / (0.9 * 1.128e12 - TOTAL):.1f}",
        "rack": f"{TOTAL / 72 / 8e12 * 1e3:.2f} ms",
        "mt_stages": "64",
        "mt_copies": f"{3072 // (8 * 64)}",
        "mt_batch": "3,072",
        "mt_each": f"{3072 // 6}",
        "mt_bubble": f"{63 / (512 + 63):.0%}",
        "zb_rows": "48",
        "zb_times": "10.4, 10.2 and 7.7 ms",
        "zb_h1_left": f"{(10.4 + 10.2 - 7.7) / (10.4 + 10.2 + 7.7):.0%}",
        "zb_hop": "0.41 ms",
        "slots_gpipe": f"{3 * 3} of {8 * 3 + 3 * 3}",
        "slots_1f1b": f"{3 * 3} of {8 * 3 + 3 * 3}",
        "slots_interleaved": f"{3 * 3 / 2} of {8 * 3 + 3 * 3 / 2}",
        "slots_split_1f1b": f"{3 * (1 + 1)} of {8 * 3 + 6}",
        "idle_split_1f1b": f"{6 / 30:.1%}",
        "slots_zb_h1": f"{3 * (1 + 1 - 1)} of {8 * 3 + 3}",
        "held_gpipe": "8",
        "held_1f1b": "4",
        "held_interleaved": f"{4 * (1 + 3 / 8):g}",  # arXiv 2205.05198, 4.2.3
        "held_split_1f1b": "4",
        "held_zb_h1": "4",
        "slots_zb_h2": "0 of 24",
        "held_zb_h2": f"{2 * 4 - 1}",  # arXiv 2401.10241, Table 1
        "slots_dualpipe": f"{(4 // 2 - 1) * (3 + 1 - 2)} of {24 + 2}",  # its README: (P/2 - 1)(F&B + B - 3W)
        "held_dualpipe": f"{4 + 1}",
    }
    assert {name: told[name] for name in expected} == expected
    assert f"{round(8 * 989.5e12 / (8 * 50e9) * 671 / 37, -4):,.0f}" == "360,000", "tokens, with FSDP and DeepSeek-V3"
    assert told["fetch_tokens"] == f"{round(989.5e12 / 50e9, -3):,.0f}" and round(16e6 / (989.5e12 / 50e9), -2) == 800


@pytest.mark.parametrize("stages, weights", [(1, 15.625), (2, 7.8125), (4, 3.90625), (8, 1.953125)])
def test_the_boards_memory(stages, weights):
    assert numbers.board(eq.chip_weights, stages=stages) / 1e9 == weights
    assert numbers.board(eq.chip_kv) / 1e9 == 15.0
    assert numbers.board_memory()["bubble_4_16"] == f"{3 / 19:.1%}"
    assert numbers.board(eq.stage_memory, stages=stages) / 1e9 == pytest.approx(15 + weights, rel=1e-12)


def test_memory_is_dealt_out_and_adds_up():
    """Another way: count the bytes of each stage's layers for every sequence in flight."""
    layers, stages, chips, batch, context, kv = 48, 6, 8, 50, 1_000, 96.0
    held = sum(
        layers // stages * (kv / layers) * context for _ in range(stages * batch)
    )  # one stage's layers, of all sequences
    assert held / chips == pytest.approx(
        eq.chip_kv(micro_batch=batch, context=context, kv_bytes_per_token=kv, expert_parallel=chips), rel=1e-12
    )


def test_the_context_that_fits_fills_the_chip():
    chips = RUNNING.symbols()["chips"]
    for stages in (1, 2, 8):
        known = {"expert_parallel": chips, "micro_batch": 5_000, "stages": stages}
        context = eq.context_fits(RUNNING, chip_hbm=186e9, **known)
        assert eq.stage_memory(RUNNING, context=context, **known) == pytest.approx(186e9, rel=1e-12)


def test_a_walk_through_a_pipeline_takes_as_long_as_one_rack():
    """Each stage reads its share of the weights; the shares follow each other."""
    stages, whole, hop = 4, 0.020, 0.0025
    clock = 0.0
    for _ in range(stages):
        clock += whole / stages + hop
    assert clock == pytest.approx(eq.token_time(t_step=whole, hops=stages, hop_time=hop), rel=1e-12)


def test_micro_batches_in_flight_fill_the_racks():
    """Run it: four racks, hops of half a pass; four micro-batches leave gaps, six leave none."""
    costs = simulation.Costs(forward=2, backward=0, hop=1)
    needed = eq.in_flight(stages=4, hops=4, hop_time=1, t_step=8)
    assert needed == 6
    for count, busy in [(4, 4 / needed), (5, 5 / needed), (6, 1.0), (7, 1.0)]:
        run = simulation.simulate(simulation.serve(4, count, steps=60), costs)
        assert 1 - run.idle(120, 360) == pytest.approx(busy, abs=0.01)


def idle_in_decoding(passes: list[float], hop: float, tokens: int = 400) -> float:
    """Idle share of rack 0 of four, by running them; `passes` are the times of the micro-batches on a rack."""
    free, there = [0.0] * 4, [0.0] * len(passes)
    for _ in range(tokens):
        for batch, work in enumerate(passes):
            for rack in range(4):
                free[rack] = max(free[rack], there[batch]) + work
                there[batch] = free[rack] + hop
    return 1 - tokens * sum(passes) / free[0]


@pytest.mark.parametrize(
    "hop, rates", [(2.5e-3, {2: 3_340, 3: 3_040, 4: 2_550}), (10e-3, {2: 2_500, 3: 2_840, 4: 2_550})]
)
def test_the_same_users_in_more_micro_batches(hop, rates):
    """Run it: tokens per second of a box, of 300 users on both; the loads alone and the kink of the chart."""
    two = numbers.LAYOUTS["two"]
    for count, rate in rates.items():
        step = box_token(300 / count, 1)
        run = simulation.simulate(simulation.serve(2, count, 60), simulation.Costs(step / 2, 0, hop=hop))
        ends = sorted(box.end for box in run.rows[-1] if box.micro_batch == 0)
        token = (ends[-1] - ends[20]) / (len(ends) - 21)
        assert token == pytest.approx(numbers.turn(step, count, 2, hop), rel=1e-9)
        assert round(150 / token, -1) == rate
        assert (run.idle(20 * token, 40 * token) < 0.01) == (
            count >= eq.in_flight(stages=2, hops=2, hop_time=hop, t_step=step)
        )
    assert numbers.best_cut(two, hop)[1] == max(rates, key=rates.get)
    assert [numbers.best_cut(two, border)[1] for border in (4.6e-3, 4.8e-3)] == [2, 3]


def test_the_largest_micro_batch_sets_the_pace():
    """One that takes a tenth longer than the mean of all four; a fifth micro-batch of that mean leaves nothing idle."""
    passes = [1.1, *[2.9 / 3] * 3]
    assert idle_in_decoding(passes, hop=0) == pytest.approx(1 - 1 / 1.1, abs=0.003)
    assert idle_in_decoding([*passes, 1.0], hop=0) < 0.003
    assert idle_in_decoding([1.1, *[3.9 / 4] * 4], hop=0) < 0.003
    assert idle_in_decoding([0.8 * 1.1, *[(4 - 0.8 * 1.1) / 4] * 4], hop=0) < 0.003, "the same work in five"


@pytest.mark.parametrize("hop, best", [(2.5e-3, 2), (10e-3, 3), (100e-3, 21)])
def test_the_best_cut_asks_for_as_many_micro_batches_as_it_has(hop, best):
    """It solves the quadratic a·n² + (b − P·a − P·P·hop)·n = P·b, with n·step = a·n + b, on two boxes."""
    a, b = box_token(0, 1), 300 * (box_token(1, 1) - box_token(0, 1))
    half = b - 2 * a - 4 * hop
    root = ((half**2 + 8 * a * b) ** 0.5 - half) / (2 * a)
    assert round(root) == best == numbers.best_cut(numbers.LAYOUTS["two"], hop)[1]


@pytest.mark.parametrize("machines", [2, 4, 8])
def test_when_one_more_micro_batch_pays_and_when_shared_layers_do(machines):
    """By loads alone: a further one queues everybody for a stage's weights, and sharing spares all loads but one."""
    weights, caches = 17.5, 20.6 * machines  # ms of one machine
    step = lambda count: weights + caches / count
    more = (machines + 1) * step(machines + 1) / machines
    assert more - step(machines) == pytest.approx(weights / machines)
    shared = (weights + caches) / machines
    assert step(machines) - shared == pytest.approx((1 - 1 / machines) * weights)


def test_a_hop_is_a_small_part_of_the_traffic_of_a_stage():
    """Bytes that a hop sends and those of half of the layers with experts, and the rates of both networks."""
    hop, inside = 14.3e3 / 50e9, 11.2e6 / 2 / 450e9
    assert 1 / 45 < hop / inside < 1 / 40


def printed(start: str, capsys, instead: str = "") -> str:
    """What the page's cell prints that begins like this, or like something else instead."""
    found = rf"^```\{{code-cell\}}\n({re.escape(start)}.*?)^```$"
    [source] = re.findall(found, page("pipelining").read_text("utf8"), re.M | re.S)
    exec(source.replace(start, instead or start, 1), {})
    return capsys.readouterr().out.strip()


def figures_in(text: str) -> list[float]:
    """The numbers of a line or more, in their order."""
    return [float(each.replace(",", "")) for each in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def test_the_loop_of_training_agrees_with_the_formula_and_the_table(capsys):
    lines = printed("boxes = 4\n", capsys).splitlines()
    for line in lines:
        count, box, idle, slots, share = figures_in(line)
        assert (box, idle, slots) == (0, 9, 9 + 3 * count)
        assert share == round(100 * eq.bubble(stages=4, micro_batches=count))
    assert f"{9} of {33}" in lines[1] and numbers.all()["slots_gpipe"] == "9 of 33"
    assert numbers.all()["bubble_4_4"] in lines[0] and lines[-1].endswith("10%") and lines[-1].startswith("27")
    assert "8 micro-batches: box 0 is idle for 21 of" in printed("boxes = 4\n", capsys, "boxes = 8\n")


def test_the_loop_of_decoding_leaves_no_bubble_with_as_many_micro_batches_as_boxes(capsys):
    for boxes in (2, 4):
        lines = printed("boxes, laps = 2", capsys, f"boxes, laps = {boxes}").splitlines()
        shown = [[figures_in(line)[index] for index in (0, 2)] for line in lines]
        assert shown == [[count, round(100 * min(1, count / boxes))] for count in range(1, boxes + 2)]


def test_the_program_of_micro_batches_agrees_with_the_formulas(capsys):
    head, *lines = printed("users, cache = 300", capsys).splitlines()
    assert figures_in(head) == [1, 2, 3, 4]
    for line, best in zip(lines, (2, 2, 3), strict=True):
        hop, *rates = figures_in(line)
        exact = [numbers.cut_rate(numbers.LAYOUTS["two"], count, hop / 1e3) for count in (2, 3, 4)]
        assert rates[1:] == pytest.approx(exact, abs=6)
        assert rates[0] == pytest.approx(150 / (box_token(300, 1) + 2 * hop / 1e3), rel=2e-3)
        assert max(rates) == rates[best - 1]
    costs = 1 - figures_in(lines[1])[3] / figures_in(lines[1])[2]
    assert numbers.all()["third_costs"] == f"{costs:.0%}"


@pytest.mark.parametrize(
    "ahead, put_off, name",
    [
        ([4, 3, 2, 1], [0, 0, 0, 0], "split 1F1B"),
        ([4, 3, 2, 1], [0, 1, 2, 3], "ZB-H1"),
        ([7, 5, 3, 1], [0, 2, 4, 6], "ZB-H2"),
    ],
)
def test_the_program_of_orders_draws_the_schedules_of_the_figure(capsys, ahead, put_off, name):
    """Pass by pass, with the settings that the page asks for."""
    text = page("pipelining").read_text("utf8")
    assert str(put_off) in text and str(ahead) in text
    begins = "ahead = [4, 3, 2, 1]  # forward passes of each box before its first B\nput_off = [0, 0, 0, 0]"
    *rows, said = printed(begins, capsys, f"ahead = {ahead}\nput_off = {put_off}").splitlines()
    run = simulation.equal_runs(numbers.TRAINERS, numbers.TRAINED)[name]
    for row, drawn in zip(run.rows, rows, strict=True):
        expected = ["."] * int(row[-1].end)
        for box in row:
            expected[int(box.start)] = box.kind
        assert drawn == "".join(expected)
    assert figures_in(said) == [0, run.span(0) - run.busy(0)]
    assert run.most_held == ahead[0]


def test_a_pipeline_that_trains_keeps_one_whole_micro_batch_of_activations():
    """In the fullest box, with any number of boxes and micro-batches: P micro-batches, of 1/P of the layers."""
    for racks, batches in ((2, 4), (4, 8), (8, 20)):
        run = simulation.simulate(simulation.one_f_one_b(racks, batches), simulation.Costs(1, 1, 1))
        assert run.peak(0) == run.most_held == racks
        assert simulation.simulate(simulation.gpipe(racks, batches), simulation.Costs(1, 1, 1)).most_held == batches


@pytest.mark.parametrize("memory, stages", [(1.128e12, 2), (13.392e12, 4)])
def test_the_gains_of_boxes_and_racks_can_be_redone_from_what_is_printed(memory, stages):
    share, gain = f"{TOTAL / memory:.3f}", (memory - TOTAL / stages) / (memory - TOTAL)
    text = page("pipelining").read_text("utf8")
    said = rf"(1 - {share}/{stages}) \div (1 - {share}) = {gain:.2f}$" if stages == 2 else f"only ${gain:.2f}$ times"
    assert said in text and f"{gain:.2f}" == f"{(1 - float(share) / stages) / (1 - float(share)):.2f}"
    assert numbers.all()["filled_box" if stages == 2 else "filled_rack"] == f"{float(share):.1%}"


def test_chunks_of_a_prompt_bring_its_first_token_sooner():
    """Run it: ten chunks on two boxes, each of which needs the chunk before it in its own box and itself in the box
    before.
    """
    free, done = [0, 0], 0
    for _ in range(10):
        there = 0
        for box in range(2):
            there = free[box] = max(free[box], there) + 1
        done = there
    assert (done, 10 * 2) == (11, 20)


def test_the_300_users_of_a_box_are_those_of_the_other():
    """Byte by byte: half of each cache in either box, and the weights once."""
    told, cache = numbers.all(), 75_000 * KV
    assert 2 * ((1.128e12 - TOTAL / 2) // (cache / 2)) == 2 * int(told["users_two"]) == 600
    assert int(told["users_two"]) * cache + TOTAL < 2 * 1.128e12 < (int(told["users_two"]) + 1) * cache + TOTAL
    held = [float(told[name].split()[0]) for name in ("gpu_weights", "gpu_kv", "gpu_memory")]
    assert 0.99 * held[2] < held[0] + held[1] < held[2]


def test_the_opening_draws_the_room_of_both_ways():
    """The figure's sums, by hand: 86 caches beside all weights, 300 halves beside half of them."""
    cache = 75_000 * KV
    for share, users in ((1, 86), (2, 300)):
        left = (
            f"{(1.128e12 - TOTAL / share) / 1e9:,.0f} GB have room for {users} caches of {cache / share / 1e9:.2f} GB"
        )
        assert f"{TOTAL / share / 1e9:,.0f} GB, and the other {left}" in figures.opening().alt


def test_what_makes_no_sense_is_refused():
    with pytest.raises(FormulaError, match="1 <= stages"):
        eq.bubble(stages=0.5, micro_batches=4)
    with pytest.raises(FormulaError, match="holds only where"):
        numbers.board(eq.context_fits, stages=1, chip_hbm=10e9)


def test_the_copies_that_the_text_counts_are_those_of_the_constants_and_of_racks():
    moe = model("deepseek-v3").moe
    assert RUNNING.symbols()["copies"] == moe.active + moe.shared == 9
    assert numbers.token_bytes(copies=moe.active) == room("racks", "results").token_bytes()
    assert numbers.rest_bytes() == room("racks", "results").rest_bytes()


def test_which_layout_of_boxes_wins():
    """Experts over both boxes, then a pipeline, then separate boxes, as hops get longer."""
    best = lambda hop: max(numbers.LAYOUTS, key=lambda name: numbers.box_rate(numbers.LAYOUTS[name], hop))
    assert [best(hop) for hop in (12e-6, 75e-6, 85e-6, 2.5e-3, 9e-3, 20e-3)] == [*["spread"] * 2, *["two"] * 3, "one"]


def test_attentions_arithmetic_moves_no_layout_past_another():
    """Add it, or what of it is longer than loading the caches, or let all of it hide: the order and the border stay."""
    attends, loads = 61 * 128 * (576 + 512) * 2 * 75_000 / (8 * 989.5e12), 75_000 * KV / 38.4e12
    assert loads < attends and 150 * attends < (TOTAL + 150 * 75_000 * KV) / 38.4e12
    for more in (0, attends - loads, attends):
        rate = {
            "one": 86 / (box_token(86, 1) + 86 * more),
            "two": 150 / (box_token(150, 1) + 2 * 46e-6 + 150 * more),
            "spread": 150 / (box_token(300, 2) + 116 * (46 - 11.9) * 1e-6 + 150 * more),
        }
        assert sorted(rate, key=rate.get) == ["one", "two", "spread"]
    gap = lambda hop, counted: (
        numbers.box_token(numbers.LAYOUTS["spread"], hop, counted)
        - numbers.box_token(numbers.LAYOUTS["two"], hop, counted)
    )
    for hop in (46e-6, 76e-6):
        assert gap(hop, True) == pytest.approx(gap(hop, False), rel=1e-9)


def test_a_rack_waits_only_for_a_prompt_longer_than_all_before():
    chance, free, waits = random.Random(0), [0] * 4, [0] * 4
    lengths, longest = [chance.randint(1, 10) for _ in range(1_000)], 0
    for index, length in enumerate(lengths):
        arrived = 0
        for rack in range(4):
            wait = max(0, arrived - free[rack]) if index else 0
            assert wait == 0 or length > longest
            waits[rack] += wait
            arrived = free[rack] = max(free[rack], arrived) + length
        longest = max(longest, length)
    assert waits[3] == 3 * (longest - lengths[0]) < 3 * longest < 0.01 * sum(lengths)


def test_the_table_of_three_layouts_can_be_redone_from_what_it_prints():
    """Its columns add up, and what sharing saves and costs is what the text says of it."""
    told = numbers.all()
    time = lambda name: float(told[name])
    rows = {"one": ("weights_one", "caches_one", "sent_one")}
    rows["two"] = ("weights_one", "caches_two", "sent_two", "hops_two")
    rows["spread"] = ("weights_spread", "caches_two", "sent_spread")
    for name, parts in rows.items():
        assert sum(map(time, parts)) == pytest.approx(time(f"token_{name}"), abs=1e-6)
    assert time("token_one") < time("token_spread") < time("token_two")
    assert time("weights_one") - time("weights_spread") > time("sent_spread") - time("sent_two")
    assert time("sent_two") == pytest.approx(time("bytes_spread"), abs=0.1), "so the border needs neither"
    assert told["hop_even"] == f"{8.7 / 114 * 1e3:.0f} µs"


def test_everything_is_dealt_out_to_a_full_rack():
    """What the page's case puts on a GPU fits, and nothing much is left; with a pipeline the same sequences fit."""
    memory = RUNNING.symbols()["hbm"] / RUNNING.symbols()["chips"]
    for stages in (1, numbers.STAGES):
        assert numbers.case(eq.stage_memory, stages=stages) < memory
    assert numbers.case(eq.stage_memory, stages=1) > 0.99 * memory


@pytest.mark.parametrize("name, run", simulation.equal_runs(numbers.TRAINERS, numbers.TRAINED).items())
def test_a_bubble_is_what_rack_0_waits_and_no_rack_takes_longer(name, run):
    """One rule for figure, table, derivation and problem: rack 0 from its first pass to its last."""
    assert run.rows[0][0].start == 0 and run.span(0) == run.period
    assert run.period_bubble == pytest.approx(1 - run.busy(0) / run.span(0))


def test_of_the_measured_runs_rack_0_also_takes_longest():
    assert all(row.run.span(0) == pytest.approx(row.run.period, rel=1e-12) for row in numbers.compared())


@pytest.mark.parametrize("racks, batches", [(2, 3), (4, 8)])
@pytest.mark.parametrize("work", [(1, 1, 1), (3, 4, 2), (5, 4, 3)])
def test_each_of_two_moves_saves_a_weight_gradient_per_rack(racks, batches, work):
    made = simulation.one_f_one_b, simulation.split_1f1b, simulation.zero_bubble_h1
    runs = [simulation.simulate(make(racks, batches), simulation.Costs(*work)) for make in made]
    idle = [run.span(0) - run.busy(0) for run in runs]
    assert idle == [(racks - 1) * (sum(work) - moves * work[2]) for moves in range(3)]
    held = [[run.peak(rack, kept=1) for rack in range(racks)] for run in runs]
    assert held[0] == held[1] == list(range(racks, 0, -1)) and held[2] == [racks] * racks


def test_the_lab_measures_against_the_pages_split_1f1b():
    idle, _ = lab.score(lab.split_schedule(4, 8), lab.SPLIT)
    assert f"{idle:.1%}" == numbers.all()["idle_split_1f1b"]


def test_from_which_hop_on_a_third_micro_batch_pays():
    two, third = numbers.LAYOUTS["two"], float(numbers.all()["hop_third"].removesuffix(" ms")) / 1e3
    more = lambda hop: numbers.cut_rate(two, 3, hop) - numbers.cut_rate(two, 2, hop)
    assert more(third - 1e-4) < 0 < more(third + 1e-4)
    assert (
        numbers.cut_rate(two, 2, 10e-3) < numbers.box_rate(numbers.LAYOUTS["one"], 0) < numbers.cut_rate(two, 3, 10e-3)
    )
    assert 1.8 < third / 2.5e-3 < 2, "almost twice as long as guessed"


def test_what_zb_h1_spares():
    """The last rack puts off three weight gradients behind its last B, and all racks then hold four micro-batches."""
    run = simulation.simulate(simulation.zero_bubble_h1(4, 8), simulation.Costs(1, 1, 1))
    ends = [[box for box in row if box.kind == "B"][-1].end for row in run.rows]
    late = [box for box in run.rows[3] if box.kind == "W" and box.start >= ends[3]]
    assert len(late) == 3 + 1 and ends == [ends[3] + away for away in (3, 2, 1, 0)]


def test_which_schedules_rank_as_simulated_in_all_settings():
    for setting in {(row.model, row.micro_batches) for row in numbers.compared()}:
        for rate in ("throughput", "measured_throughput"):
            ranks = numbers.ranked(setting, rate)
            assert len(ranks) == 4 and (ranks[0], ranks[-1]) == ("1F1B", "ZB-2p")
    assert (numbers.all()["zb_settings"], numbers.all()["zb_swapped"]) == ("12", "6")


def test_the_shown_runs_rank_as_simulated():
    told, names = numbers.all(), ("plain", "interleaved", "one", "two")
    for kind in ("said", "real"):
        rates = [float(told[f"zb_{kind}_{name}"]) for name in names]
        assert rates == sorted(rates) and len(set(rates)) == 4


def test_what_the_picture_of_orders_frames_and_says():
    """The framed slots of a rack, and the activations that a sentence names."""
    runs, framed = simulation.equal_runs(numbers.TRAINERS, numbers.TRAINED), {}
    for name, (_, place) in figures.ORDERS.items():
        if place:
            rack, start, end = place
            framed[name] = [box for box in runs[name].rows[rack] if start <= box.start and box.end <= end]
    assert framed["1F1B"] == [] and [box.start for box in runs["1F1B"].rows[0]][3:5] == [3, 10]
    assert [(box.kind, box.micro_batch) for box in framed["split 1F1B"]] == [("B", 0)]
    assert [box.kind for box in framed["ZB-H1"]] == ["W"] * 4 and framed["ZB-H1"][-1].end == runs["ZB-H1"].makespan
    assert runs["ZB-H1"].most_held == 4 and runs["ZB-H1"].span(0) == 27
    assert [box.kind for box in framed["ZB-H2"]] == ["F"] * 3 and runs["ZB-H1"].rows[0][4].start == 7
    assert all(row[-1].end - row[0].start == 24 for row in runs["ZB-H2"].rows)
    assert (runs["ZB-H2"].rows[0][-1].end, runs["ZB-H2"].rows[3][-1].end) == (24, 27)
    idle = [runs[name].span(0) - runs[name].busy(0) for name in figures.ORDERS]
    assert idle == [9, 6, 3, 0] and [runs[name].most_held for name in figures.ORDERS] == [4, 4, 4, 7]


def test_a_measured_hop_of_training_is_one_for_a_pipeline():
    """Of 0.41 ms, between two boxes: long for sharing, short for a pipeline."""
    rates = {name: numbers.box_rate(layout, 0.41e-3) for name, layout in numbers.LAYOUTS.items()}
    assert max(rates, key=rates.get) == "two" and min(rates, key=rates.get) == "spread"


def test_when_stages_gain_less_than_a_quarter():
    """A machine whose weights fill a fifth, and the boxes and racks of the page."""
    gain = lambda share, stages: (1 - share / stages) / (1 - share)
    assert all(gain(0.2, stages) < 1 + 1 / 4 for stages in (2, 4, 16, 1_000)) and gain(0.2, 1e9) > 1.2499
    assert eq.bubble(stages=5, micro_batches=9 * 4) == pytest.approx(0.1)
