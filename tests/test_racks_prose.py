"""The numbers that the racks lesson prints, by plain arithmetic; and the lecture's own."""

from __future__ import annotations

import itertools
import re
from math import comb

import numpy as np
import pytest
from lessons import run_cell

from blackboard.catalogue import chip, measurement, model
from blackboard.catalogue.running_case import RUNNING
from blackboard.formula import FormulaError
from blackboard.lessons.racks import equations as eq
from blackboard.lessons.racks import figures, numbers, results, simulation
from blackboard.lessons.racks.moe import place

PER_TOKEN = 58 * 8 * 7168 * 3  # bytes that a token sends
EXPERT, ALL = 3 * 7168 * 2048, 671_025_397_760  # bytes of an expert and of the model
REST = ALL - 58 * 257 * EXPERT
KV = 61 * 576 * 2  # bytes of a token in the cache
WAITING = 2 * 58 * 11.905e-6  # in boxes
TIMED = {8: 20.4 + 33.3, 16: 20.6 + 35.0, 32: 23.1 + 36.1, 64: 28.8 + 37.7, 128: 41.6 + 44.5, 256: 65.3 + 62.9}
WAIT = 58 * TIMED[8] * 1e-6  # of a step on racks
CROSSINGS = 1 - 0.5**8  # of a token to the other of two racks
TOLD = 38e9  # byte/s over a card in DeepEP's dispatch, its wait included
CARD = round(39 * 248 / 256 * 194 / (194 - 20.4)) * 1e9  # and without a wait as long as NVIDIA's
BOX = 450e9 * 269 / 450  # byte/s that NVLink of an H200 reaches


def timed_by_hand(tokens: float) -> float:
    """Dispatch and combine of a layer among 64 GPUs, µs."""
    counts = sorted(TIMED)
    if tokens <= counts[0]:
        return TIMED[counts[0]]
    low, high = next((a, b) for a, b in itertools.pairwise(counts) if a <= tokens <= b)
    return TIMED[low] + (TIMED[high] - TIMED[low]) * (tokens - low) / (high - low)


def step_by_hand(racks: int, tokens: int, out: float = 0, context: int = 1000, card: float = CARD) -> tuple[float, ...]:
    """Memory traffic and bytes on the links, s, and the whole step, of a GPU with so many tokens, of which each sends
    so many copies out of the rack.
    """
    memory = ((4 // racks + 1) * 58 * EXPERT + REST + tokens * context * KV) / 8e12
    inside = 58 * timed_by_hand(tokens) * 1e-6 - WAIT
    sent = max(inside, tokens * 58 * 7168 * 3 * out / card)
    return memory, sent, memory + WAIT + sent


def lapped_by_hand(racks: int, tokens: int, out: float = 0, context: int = 1000, hop: float = 0) -> float:
    """The same with perfect overlap: two halves, each of which loads all weights and waits."""
    memory, sent, _ = step_by_hand(racks, tokens, out, context)
    twice = 2 * memory - tokens * context * KV / 8e12
    return max(twice, sent + 2 * (WAIT + 116 * hop))


def shortest_by_hand(racks: int, tokens: int, out: float = 0, context: int = 1000, hop: float = 0) -> float:
    """With overlap, where it helps."""
    whole = step_by_hand(racks, tokens, out, context)[2] + 116 * hop
    return min(whole, lapped_by_hand(racks, tokens, out, context, hop))


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    active = 37_551_276_032
    per_chip = 2 * active / 5e15  # seconds of one token, if one chip did it all
    ratio = lambda tokens, out, more=0: (step_by_hand(2, tokens, out)[2] + more) / step_by_hand(1, tokens)[2]
    gain, hop = 2 * 58 * EXPERT / 8e12, 116 * 3.3e-6
    one, two, crossed = step_by_hand(1, 32), step_by_hand(2, 32, 4), step_by_hand(2, 32, CROSSINGS)
    once = *crossed[:2], crossed[2] + hop
    slower = lambda part: part[2] + part[0] * (1 / 0.85 - 1)
    quicker = lambda part: part[2] - WAIT + 58 * (11.905 + 12.557) * 1e-6
    sheet = lambda out: step_by_hand(2, 32, out, card=50e9)[2]
    ms = lambda seconds: f"{seconds * 1e3:.2f} ms"
    tenth = lambda seconds: f"{seconds * 1e3:.1f}"
    lapped = lapped_by_hand(1, 32, 0, 4_989)
    expected = {
        "each": "4",
        "layer_bytes": f"{32 * 8 * 7168 * 3 / 1e6:.1f} MB",
        "layer_rack": f"{32 * 8 * 7168 * 3 / 900e3:.1f} µs",
        "layer_timed": "59.2 µs",
        "layer_wait": "53.7 µs",
        "timed_out_2048": "399.2",
        "timed_back_2048": "372.1",
        "timed_near": "311.8",
        "large_rate": f"{2048 * 8 * 14336 / 399.2e-6 / 1e9:.0f} GB/s",
        "token_bytes": f"{PER_TOKEN / 1e6:.2f} MB",
        "ratio_out": f"{PER_TOKEN / 50e9 / per_chip:.0f}",
        "link_needed": f"{PER_TOKEN / per_chip / 1e9:.0f} GB/s",
        "token_rate": f"{round(1 / per_chip, -2):,.0f}",
        "expert_bytes": f"{EXPERT / 1e6:.2f} MB",
        "rest_bytes": f"{REST / 1e9:.2f} GB",
        "experts_one": ms(4 * 58 * EXPERT / 8e12),
        "experts_two": ms(2 * 58 * EXPERT / 8e12),
        "shared_time": ms(58 * EXPERT / 8e12),
        "rest_time": ms(REST / 8e12),
        "kv_time": ms(32 * 1000 * KV / 8e12),
        "other_time": ms((REST + 58 * EXPERT + 32 * 1000 * KV) / 8e12),
        "saved": ms(gain),
        "larger_step": tenth(max(lapped - 2 * gain, one[1] + 2 * WAIT)),
        "hops": ms(hop),
        "far_4": f"{3 - 3**9 / 4**8:.1f}",
        "h800_needed": f"{PER_TOKEN * 1978.9e12 / 2 / active / 1e9:.0f} GB/s",
        "h800_link": "200 GB/s",
        "keep_up": f"{588.34e9 * per_chip / PER_TOKEN:.0%}",
        "hop_least": "3.3",
        "hop_near": "2.8",
        "hop_cards": "3.7",
        "hop_limit": f"{gain / 116 * 1e6:.1f} µs",
        "memory_one": ms(one[0]),
        "memory_two": ms(two[0]),
        "compute_one": ms(32 * per_chip),
        "bytes_one": f"{tenth(one[1])} ms",
        "bytes_two": f"{tenth(two[1])} ms",
        "sending_one": ms(one[1]),
        "sending_two": ms(two[1]),
        "sending_once": ms(once[1]),
        "step_latency": ms(WAIT),
        "step_one": f"{one[2] * 1e3:.1f} ms",
        "step_two": f"{two[2] * 1e3:.2f} ms",
        "as_told_two": f"{two[2] / one[2]:.2f}",
        "as_told_once": f"{once[2] / one[2]:.2f}",
        "as_quick_two": f"{quicker(two) / quicker(one):.2f}",
        "as_quick_once": f"{quicker(once) / quicker(one):.2f}",
        "as_ideal_two": f"{sheet(4) / one[2]:.2f}",
        "as_ideal_once": f"{(sheet(CROSSINGS) + hop) / one[2]:.2f}",
        "as_memory_two": f"{slower(two) / slower(one):.2f}",
        "as_memory_once": f"{slower(once) / slower(one):.2f}",
        "as_full_two": f"{ratio(256, 4):.2f}",
        "as_full_once": f"{ratio(256, CROSSINGS, hop):.2f}",
        "as_few_two": f"{ratio(4, 4):.2f}",
        "as_few_once": f"{ratio(4, CROSSINGS, hop):.2f}",
        "memory_share": "85%",
        "even_rack": f"{2 * EXPERT / 8e12 * CARD / (4 * 7168 * 3):.1f}",
        "even_four_bit": f"{EXPERT / 8e12 * CARD / (4 * 7168 * 3):.1f}",
        "even_rack_late": f"{(2 * EXPERT / 8e12 - 6.6e-6) * CARD / (4 * 7168 * 3):.1f}",
        "saved_layer": f"{2 * EXPERT / 8e6:.1f} µs",
        "token_layer": f"{4 * 7168 * 3 / CARD * 1e6:.2f} µs",
        "weights_one": ms((5 * 58 * EXPERT + REST) / 8e12),
        "card_told": f"{39 * 248 / 256:.0f} GB/s",
        "card_left": f"{CARD / 1e9:.0f} GB/s",
        "slower": "4",
        "slower_every_2": f"{18 / 2:g}",
        "blackwell_dies": "144",
        "gb200_ratio": "18",
        "chips_power": f"{72 * 1.2:.0f} kW",
        "cables": f"{72 * 18 * 4:,}",
        "freed": f"{2 * 58 * EXPERT / 1e9:.1f} GB",
        "rack_memory": "186 GB",
        "box_bytes": f"{32 * 58 * EXPERT / 1e9:.1f} GB",
        "h800_memory": "80 GB",
        "room_two": f"{(80e9 - 17 * 58 * EXPERT - REST) / 1e9:.0f} GB",
        "room_four": f"{(80e9 - 9 * 58 * EXPERT - REST) / 1e9:.0f} GB",
        "day_caches": f"{88 * 4_989 * 70_272 / 1e9:.0f} GB",
        "saved_pair": f"{16 * 58 * EXPERT / 4.8e9:.1f} ms",
        "even_pair": f"{16 * EXPERT / 4.8e12 * CARD / (4 * 7168 * 3):.0f}",
        "even_h800": f"{16 * EXPERT / 3.35e12 * CARD / (4 * 7168 * 3):.0f}",
        "once_added": ms(once[1] - one[1]),
        "late_two": f"{step_by_hand(2, 32, 4, card=TOLD)[2] / one[2]:.2f}",
        "as_rough": "1.4",
        "card_took": "194",
        "combine_1": "12.6",
        "spare_experts": f"{144 * 2 - 256}",
    }
    assert {name: told[name] for name in expected} == expected


def test_crossing_once_nearly_ties_in_our_batch_and_wins_under_deepseek_s_load():
    told = numbers.crossing_once()
    ms = lambda seconds: f"{seconds * 1e3:.1f}"
    plain = lambda racks, tokens, out, context, hop: step_by_hand(racks, tokens, out, context)[2] + 116 * hop
    loads = {"": (32, 1000), "_long": (32, 4_989), "_day": (88, 4_989)}
    ways = {"plain": plain, "lapped": lapped_by_hand}
    for (way, took), (load, (tokens, context)) in itertools.product(ways.items(), loads.items()):
        name = way + load
        assert told[f"{name}_one"] == ms(took(1, tokens, 0, context, 0))
        assert told[f"{name}_two"] == ms(took(2, tokens, 4, context, 0))
        least, most = (took(2, tokens, CROSSINGS, context, hop) for hop in (0, 3.3e-6))
        assert told[f"{name}_once"] == f"{ms(least)} to {ms(most)}"
        assert float(told[f"{name}_two"]) > float(told[f"{name}_one"]), "loses if every copy crosses"
        for crossed in (least, most):
            wins = crossed < min(took(1, tokens, 0, context, 0) for took in ways.values())
            assert wins == (name in ("lapped_long", "lapped_day")), "wins in two cells"
            assert crossed > (1 - 1 / 8 - 0.005) * shortest_by_hand(1, tokens, 0, context)
    (far, sent, _), near = step_by_hand(2, 32, CROSSINGS, 4_989), step_by_hand(1, 32, 0, 4_989)
    assert told["loading_long_once"] == ms(2 * far - 32 * 4_989 * KV / 8e12), "with overlap, both halves together"
    least, most = (ms(sent + 2 * (WAIT + 116 * hop)) for hop in (0, 3.3e-6))
    assert told["exchanges_once"] == f"{least} to {most}"
    assert told["exchanges_one"] == ms(near[1] + 2 * WAIT)
    assert told["plain_one"] == told["lapped_one"], "the price of overlap just eats up its gain"
    for users in (32, 88):  # on two racks, with both tricks
        halves = [results.on(2, users, once=True, context=context).half() for context in (1_000, 4_989)]
        short, long = (2 * part.work for part in halves)
        sent = 2 * halves[0].exchanges
        assert short < sent and sent - short > 0.8 * (long - short), "most of the additional loading hides"
    ratio = lambda hop, tokens, context: (
        shortest_by_hand(2, tokens, CROSSINGS, context, hop) / shortest_by_hand(1, tokens, 0, context)
    )
    assert all(ratio(hop, 32, 1000) > 1 for hop in (0, 3.3e-6)), "two replicas are ahead"
    long = ratio(11.905e-6, 88, 4_989)
    assert long > 1 and told["day_long"] == f"{long - 1:.0%}"
    assert told["win_best"] == f"{1 - min(ratio(0, users, 4_989) for users in (32, 88)):.0%}"
    assert told["win_best"] == f"{1 - ratio(0, 32, 4_989):.0%}", "with our users, too"
    assert told["win_least"] == f"{100 * (1 - ratio(3.3e-6, 32, 4_989)):.0f}"
    assert 0.87 < ratio(0, 88, 4_989) < ratio(3.3e-6, 88, 4_989) < 0.91, "about a tenth"
    one, sent = shortest_by_hand(1, 88, 0, 4_989), step_by_hand(2, 88, CROSSINGS, 4_989)[1]
    longer = ((one - sent) / 2 - WAIT) / 116 * 1e6
    assert numbers.margins()["margin_day"] == f"{longer:.1f} µs", "of each exchange, the hop included, erase it"
    assert 2 * 3.3 < longer < 11.9, "between two single messages and DeepEP's dispatch"


def test_the_split_of_timed_exchanges_is_within_their_noise_and_changes_only_the_tie():
    told, few = numbers.all(), {1: 27.8 + 32.6, 2: 24.8 + 32.2, 4: 29.1 + 33.0, 8: TIMED[8], 32: TIMED[32]}
    assert {f"both_{n}": told[f"both_{n}"] for n in few} == {f"both_{n}": f"{both:.1f}" for n, both in few.items()}
    assert min(few.values()) == few[8] and max(few.values()) - min(few.values()) > TIMED[32] - TIMED[8]
    assert told["layer_rest"] == "5.5 µs"
    one, bytes_ = step_by_hand(1, 32)[2], 58 * (TIMED[32] - TIMED[8]) * 1e-6
    for way, out in (("two", 4), ("once", CROSSINGS)):
        _, sent, whole = step_by_hand(2, 32, out)
        found = [(whole + more) / one for more in (bytes_, 0, -bytes_)]
        names = f"split_none_{way}", "as_told_two" if way == "two" else "split_told_once", f"split_twice_{way}"
        assert [told[name] for name in names] == [f"{value:.2f}" for value in found]
        assert sent > 2 * bytes_, "cards still take longer than NVLink"
        assert (found[2] < 0.96 and found[1] == pytest.approx(1, abs=0.005)) if way == "once" else min(found) > 1.3


def test_room_for_more_users_lets_a_gpu_write_a_few_more_tokens():
    """Full of users with overlap: eighteen boxes against four, and against eighteen with DeepSeek's users."""
    told = numbers.all()
    full = lambda boxes, users: results.on_boxes(boxes, results.held_on(boxes), "h800", users, 4_989)
    rate = lambda boxes, users: users / full(boxes, users).overlapped
    most = rate(18, int(told["fit_most"]))
    assert 1.15 < most / rate(4, int(told["fit_four"])) < 1.25
    assert 1.02 < most / rate(18, int(told["users"])) < 1.1


def test_deepseeks_users_on_boxes_of_h800_by_hand():
    """Its own day: 14,800 tokens/s of a box, 20 to 22 of a user, 4,989 tokens of context."""
    told, users = numbers.crowded(), 14_800 / 8 / 21
    assert told["users"] == f"{users:.0f}" and told["day_batch"] == "128"
    assert told["day_step"] == f"{1000 / 21:.0f} ms"
    assert (told["lap_more"], told["lap_less"]) == ("25.5%", "27%")


def test_the_table_of_boxes_has_loading_shrink_and_travel_grow():
    """By hand; and the measured times of DeepEP on H800s, in proportion to their tokens, are about its travel."""
    told, pairs = numbers.crowded(), {}
    for boxes, held in ((4, 8), (8, 4), (18, 2)):
        load = ((held + 1) * 58 * EXPERT + REST) * 2 + 88 * 4_989 * KV
        travel = 88 * PER_TOKEN * (1 - 1 / boxes) / CARD + 2 * WAITING
        pairs[boxes] = load / 3.35e12, travel
        half = results.lapped()[boxes].half()
        assert (2 * half.work, 2 * half.exchanges) == pytest.approx(pairs[boxes], rel=1e-3)
        assert told[f"travel_{boxes}"] == f"{travel * 1e3:.1f}"
        assert told[f"twice_{boxes}"] == f"{load / 3.35e12 * 1e3:.1f}"
        in_turn = load / 3.35e12 - ((held + 1) * 58 * EXPERT + REST) / 3.35e12 + travel - WAITING
        if boxes == 18:
            assert told["lapped_18"] == f"{max(pairs[boxes]) * 1e3:.1f}"
        assert told["plain_boxes"] == f"{in_turn * 1e3:.0f}"
    assert WAITING < WAIT / 2, "less than half as long"
    waited = {boxes: max(load, travel + 2 * (WAIT - WAITING)) for boxes, (load, travel) in pairs.items()}
    assert waited[8] < waited[18] < 1.03 * waited[8], "with the rack's waits"
    assert told["late_18"] == f"{waited[18] * 1e3:.1f}"
    assert all(times[8] < 0.9 * times[4] for times in (waited, {n: max(pair) for n, pair in pairs.items()})), "in both"
    assert told["lapped_gain"] == f"{1 - max(pairs[18]) / max(pairs[8]):.0%}", "shorter with DeepEP's"
    assert pairs[18][0] == pytest.approx(pairs[18][1], rel=0.01), "both equally long"
    assert [load > travel for load, travel in pairs.values()] == [True, True, False], "equal between eight and eighteen"
    seen, plain = float(told["day_step"].split()[0]), float(told["plain_boxes"])
    assert max(plain, *(max(pair) * 1e3 for pair in pairs.values())) < seen, "longer than both extremes"
    assert seen - plain < plain - max(pairs[18]) * 1e3, "and nearer to the one without overlap"
    by_deepep = max(pairs[18][0], 58 * 561e-6 * 88 / 128) / max(pairs[8][0], 58 * 487e-6 * 88 / 128)
    assert 0 < pairs[18][0] - 58 * 561e-6 * 88 / 128 < 0.2e-3, "exchanges that just fit"
    assert told["deep_gain"] == f"{1 - by_deepep:.0%}"
    for boxes, gpus, took in ((4, 32, 155 + 273), (8, 64, 173 + 314), (18, 128, 192 + 369)):
        measured = 58 * took * 1e-6 * 88 / 128
        assert gpus < 128 or told["deep_128"] == f"{measured * 1e3:.1f}"
        assert measured < pairs[boxes][1] < 1.2 * measured


def test_spreading_pays_up_to_where_bytes_take_as_long_as_loading():
    """The formula on both machines, by the steps of a second rack and of a second box."""
    sizes = dict(expert_bytes=EXPERT, scale_out=CARD, copies_out=4, width=7168, dispatch_bytes=1, combine_bytes=2)
    rack = eq.batch_spread(experts_saved=2, chip_bandwidth=8e12, **sizes)
    box = eq.batch_spread(experts_saved=16, chip_bandwidth=4.8e12, **sizes)
    told = numbers.all()
    assert (told["even_rack"], told["even_pair"]) == (f"{rack:.1f}", f"{box:.0f}")
    for users, wins in ((5, True), (6, False)):
        assert (results.on(2, users).sending < 2 * 58 * EXPERT / 8e12) == wins == (users < rack)
    pair = results.on_boxes(2).sending
    assert pair == pytest.approx(results.on(2).sending), "as many copies leave, over cards of the same rate"


def test_the_limit_is_the_same_at_every_doubling():
    """In the page's program, by the formula, and by whole steps without overlap; a GPU of our rack saves an eighth."""
    rows, told = printed('print("boxes    experts'), numbers.all()
    assert [row[:2] for row in rows] == [[2, 4], [4, 8], [8, 16]]
    sizes = dict(expert_bytes=EXPERT, scale_out=CARD, width=7168, dispatch_bytes=1, combine_bytes=2)
    for few, many, saved, out, limit in rows:
        assert saved == 32 / few - 32 / many and out == pytest.approx(8 * (1 - 1 / many) - 8 * (1 - 1 / few))
        by_hand = eq.batch_spread(experts_saved=saved, copies_out=out, chip_bandwidth=3.35e12, **sizes)
        assert limit == round(by_hand) == int(told["even_h800"])
        won = lambda users: (
            results.on_boxes(few, id="h800", tokens=users).in_turn
            - results.on_boxes(many, id="h800", tokens=users).in_turn
        )
        assert won(limit - 1) > 0 > won(limit + 1)
        assert (
            0 < won(results.day_users()) / results.on_boxes(few, id="h800", tokens=results.day_users()).in_turn < 0.03
        )
    assert limit / float(told["even_rack"]) == pytest.approx(8 * 8 / 3.35, rel=0.02)
    faster = printed('print("boxes    experts', "memory, card = 3.35e12", "memory, card = 8e12")
    assert {row[-1] for row in faster} == {43}


def test_hiding_alone_helps_on_boxes_because_their_memory_is_slow():
    """Overlap, each copy by itself: with our rack's memory, eight boxes would be slower than four, as two racks are."""
    memory = 8e12 / 3.35e12
    assert memory > 2
    faster = lambda part: part._replace(weights=part.weights / memory, kv=part.kv / memory)
    four, eight = (faster(results.lapped()[boxes]).overlapped for boxes in (4, 8))
    assert eight > four
    assert results.on(2).half().work < results.on(2).half().exchanges, "on two racks the exchanges were longer"


def test_a_larger_rack_saves_two_experts_and_twice_as_much_with_overlap_and_long_contexts():
    one = results.on(1)
    saved = one.weights - results.on(2).weights
    assert saved == pytest.approx(2 * 58 * EXPERT / 8e12)
    assert shortest_by_hand(1, 32, 0, 4_989) - results.larger_step() == pytest.approx(2 * saved, rel=1e-3)


def test_bars_shrink_about_as_much_as_nvidia_reports():
    bars = results.doublings()
    assert bars[8].in_turn / bars[32].in_turn == pytest.approx(1.8, rel=0.08)


def test_the_figure_of_boxes_has_the_strips_of_the_table():
    told = numbers.crowded()
    for count in results.LAPPED:
        assert f"{told[f'twice_{count}']} and {told[f'travel_{count}']}" in figures.boxes().alt
    assert f"overlap {told['plain_boxes']} for" in figures.boxes().alt


def test_the_figure_of_overlap_has_the_strips_of_the_text():
    told = numbers.crossing_once()
    assert f"two replicas, {told['lapped_long_one']} and {told['exchanges_one']};" in figures.overlap().alt
    assert f"{told['loading_long_once']} and {told['exchanges_once']}." in figures.overlap().alt


def test_two_boxes_of_h800_lack_room_for_those_users_and_four_have_it():
    room = {n: (80e9 - ((32 / n + 1) * 58 * EXPERT + REST)) / 4_989 / KV for n in (2, 4)}
    assert room[2] < results.day_users() < room[4]


def test_spreading_over_two_racks_loses_with_overlap_if_every_copy_crosses():
    for tokens in (32, 88, 256):
        one, two = results.on(1, tokens), results.on(2, tokens)
        assert two.overlapped > min(one.in_turn, one.overlapped)


def test_overlap_gains_nothing_in_our_batch_on_one_rack_or_two():
    for part in (results.on(1), results.on(2)):
        assert part.overlapped == pytest.approx(part.in_turn, rel=0.01)
        assert 1.9 < 2 * part.half().work / part.work < 2, "nearly doubles"
    assert 1.9 < 2 * results.on(1).half().exchanges / results.on(1).exchanges < 2
    told = numbers.crossing_once()
    assert told["lapped_two"] == told["plain_two"] and told["lapped_day_one"] < told["plain_day_one"]


def test_a_card_of_eight_times_the_rate_makes_spreading_win():
    """In whole steps and in the page's program."""
    assert all(step_by_hand(2, n, 4, card=8 * CARD)[2] < step_by_hand(1, n)[2] for n in (2, 4, 8, 32))
    [[saved], *rows] = printed('print("users  bytes over', "card = 42e9", "card = 8 * 42e9")
    assert len(rows) == 3 and all(saved > sent for _, sent in rows)


def test_what_a_step_says_of_itself_adds_up_as_it_is_printed():
    """A reader adds the rows of the table."""
    told = numbers.worked()
    read = lambda name: float(told[name].split()[0])
    for case in ("one", "two"):
        parts = read(f"memory_{case}"), read("step_latency"), read(f"sending_{case}")
        assert read(f"step_{case}") == pytest.approx(sum(parts), abs=0.05) and read("compute_one") < parts[0]
    for case in ("one", "two"):
        loaded = read(f"experts_{case}"), read("shared_time"), read("rest_time"), read("kv_time")
        assert read(f"memory_{case}") == pytest.approx(sum(loaded), abs=0.011)
    assert read("saved") == pytest.approx(read("memory_one") - read("memory_two"), abs=1e-9)
    assert read("rest_time") == pytest.approx(read("rest_bytes") / 8, abs=0.01)


def test_each_doubling_in_the_rack_shortens_the_step_and_the_next_one_does_not():
    """Second route: by hand. And eight GPUs can hold the model."""
    known = results.doublings()
    near = {8: (17.6 + 31.4, 18.2 + 32.7), 16: (18.9 + 31.8, 20.2 + 34.2), 32: (19.4 + 32.2, 21.1 + 34.6)}
    near |= dict.fromkeys((64, 128), (TIMED[8], TIMED[32]))
    assert [*known] == [*near]
    for gpus, part in known.items():
        wait, exchange = (58 * each * 1e-6 for each in near[gpus])
        sent = 32 * 58 * 4 * 7168 * 3 / CARD if gpus > 64 else exchange - wait
        by_hand = ((256 / gpus + 1) * 58 * EXPERT + REST + 32 * 1000 * KV) / 8e12, wait, sent
        assert (part.work, part.latency, part.sending) == pytest.approx(by_hand, rel=1e-3)
        assert part.compute < part.work and part.hop == 0
    times = [part.in_turn for part in known.values()]
    assert times[:4] == sorted(times[:4], reverse=True) and times[4] > times[3]
    more, less = (known[64].exchanges - known[8].exchanges) * 1e3, (known[8].work - known[64].work) * 1e3
    assert more == pytest.approx(0.5, abs=0.05) and less == pytest.approx(9, abs=0.1), "as the page says"
    assert chip("gb200-nvl72").hbm_bytes > 33 * 58 * EXPERT + REST
    assert (1 - 8 / 256) ** (8 * 32) < 1e-3, "nearly every expert is needed, even among eight GPUs' tokens"
    took = known[64].exchanges * 1e6 / 58  # µs
    assert 9.5 < took / (32 * 8 * 7168 * 3 / 900e3) < 10, "nearly ten times its bytes, by the page's formula"
    assert 7 < took / (32 * 8 * 7168 * 4 / 900e3) < 7.5, "and seven times the kernel's"


def test_in_very_large_batches_a_smaller_group_is_faster():
    """By hand, with NVIDIA's times of dispatch and combine: memory and compute at once, then the exchanges."""
    timed = {
        512: {8: 89.5 + 91.7, 16: 97.1 + 98.2, 32: 109.6 + 102.5, 64: 115.7 + 106.7},
        1_024: {8: 166.3 + 175.6, 16: 181.2 + 188.2, 32: 197.5 + 197.5, 64: 209.4 + 199.2},
    }
    for tokens, rows in timed.items():
        loaded = {n: (((256 / n + 1) * 58 * EXPERT) + REST + tokens * 1000 * KV) / 8e12 for n in rows}
        computed = tokens * 2 * 37_551_276_032 / 5e15
        steps = {n: max(loaded[n], computed) + 58e-6 * both for n, both in rows.items()}
        assert results.fastest(tokens) == min(steps, key=steps.get) == {512: 64, 1_024: 16}[tokens]
    assert loaded[16] == pytest.approx(computed, rel=0.06), "computing takes about as long as loading"
    part, rack = (f"{steps[n] * 1e3:.1f}" for n in (16, 64))
    told = {"fill_more": "1,024", "fill_best": "16", "fill_part": part, "fill_rack": rack}
    assert computed > loaded[64] and numbers.filling() == told


def test_what_comes_twice_with_overlap_adds_up_as_it_is_printed():
    told = numbers.all()
    read = lambda name: float(told[name].split()[0])
    for twice, once, whole in (
        ("weights_one", "kv_time", "lapped_one"),
        ("step_latency", "sending_one", "exchanges_one"),
    ):
        assert f"{2 * read(twice) + read(once):.1f}" == told[whole]


def test_what_every_gpu_holds_is_all_but_the_experts():
    """A second route: attention, the first three layers, routers and both tables of words, added up."""
    net = model(RUNNING.model)
    parts = sum(group.params(net.d_model) for group in net.attention) + net.ffn[0].params(net.d_model)
    routers, words = 58 * 256 * 7168, 2 * net.vocab * net.d_model
    assert results.rest_bytes() == parts + routers + words


def alternated(work: float, exchange: float, layers: int) -> float:
    """Time of two halves of a batch, event by event: one works at a time, one is on the links at a time."""
    worker = link = 0.0
    back = [0.0, 0.0]  # when each half's last exchange was over
    for _ in range(layers):
        for half in (0, 1):
            worker = max(worker, back[half]) + work
            link = back[half] = max(link, worker) + exchange
    return max(back)


def test_two_halves_in_turn_take_what_the_worked_step_says():
    """A second route: the events of many layers, so that filling the pipeline takes no time to speak of."""
    for name, part in results.parts().items():
        half, layers = part.half(), 20_000
        taken = alternated(half.work / 58, half.exchanges / 58, layers) * 58 / layers
        assert taken == pytest.approx(part.overlapped, rel=1e-3), name


def test_break_even_ratios_are_where_the_slowdown_passes_one():
    """By halving an interval, for tokens that stay and for one batch."""
    for racks in (2, 4, 8):
        low, high = 0.1, 1e3
        for _ in range(60):
            middle = (low + high) / 2
            slow = eq.slowdown(racks=racks, scale_up=middle, scale_out=1) > 1
            low, high = (low, middle) if slow else (middle, high)
        assert low == pytest.approx(eq.ratio_hurts(racks=racks))


def test_a_second_rack_pays_with_four_users_and_not_with_eight():
    """A second route: whole steps, one token more at a time. With longer waits, two users are too many."""
    gains = [n for n in range(1, 200) if step_by_hand(2, n, 4)[2] < step_by_hand(1, n)[2]]
    assert gains == [1, 2, 3, 4, 5]
    late = [n for n in gains if step_by_hand(2, n, 4)[2] + 116 * 3.3e-6 < step_by_hand(1, n)[2]]
    assert late == [1, 2]


def test_spreading_wins_by_microseconds_of_each_exchange():
    """A second route: whole steps, divided among their exchanges."""
    won = lambda n, out: (step_by_hand(1, n)[2] - step_by_hand(2, n, out)[2]) * 1e6 / 116
    told = numbers.margins()
    assert 2 < won(1, 4) < 5, "at most a few microseconds"
    assert told["even_once"] == str(next(n for n in range(1, 99) if won(n, CROSSINGS) < 0))
    assert all(won(n, 4) < 0 for n in range(6, 257)) and all(won(n, CROSSINGS) < 0 for n in range(33, 257))
    for tokens in (48, 88, 128, 256):
        for context in (1_000, 4_989):
            assert shortest_by_hand(2, tokens, 4, context) > shortest_by_hand(1, tokens, 0, context), "none"


def test_nvidias_kernel_sends_more_copies_in_a_larger_group():
    """The chance that a GPU has none of a token's eight experts, drawn one after the other."""
    leave = {}
    for gpus, each in ((8, 32), (64, 4)):
        none = np.prod([(256 - each - drawn) / (256 - drawn) for drawn in range(8)])
        leave[gpus] = (gpus - 1) * (1 - none)
    told = numbers.timings()
    assert (told["leave_near"], told["leave_far"]) == (f"{leave[8]:.1f}", f"{leave[64]:.1f}")
    assert told["more_bytes"] == f"{32 * (leave[64] - leave[8]) * 7168 * 4 / 900e3:.0f} µs"
    whole = 32 * leave[64] * 7168 * 4 / 900e3
    assert told["kernel_bytes"] == f"{whole:.1f} µs" and 0.75 * whole == pytest.approx(5.5, rel=0.06), "three quarters"
    assert told["more_took"] == f"{59.2 - 50.9:.1f} µs"


def test_boxes_load_longer_than_they_compute():
    assert all(part.compute < part.weights for part in (results.on_boxes(1), results.on_boxes(18, 2)))


def test_nearly_every_copy_goes_to_a_gpu_of_its_own():
    """The chance that a GPU holds none of a token's experts, by counting the choices that miss its four."""
    visited = 64 * (1 - comb(252, 8) / comb(256, 8))
    assert 7.6 < visited < 8


def test_a_combine_reaches_a_fifth_less_of_its_link_than_a_dispatch():
    rows = measurement("h200_deepep_ll_intranode").records()
    rate = lambda way: results.COPY[way] / (rows[-1][f"{way}_us"] - rows[-2][f"{way}_us"])
    assert rate("combine") / rate("dispatch") == pytest.approx(0.8, abs=0.01)


def test_if_cards_wait_twice_as_long_sharing_loses_with_any_batch():
    """Its waits alone take nearly five times as long as the loading that is saved."""
    assert pytest.approx(4.9, abs=0.1) == WAIT / (2 * 58 * EXPERT / 8e12)
    for users, context in ((32, 1_000), (88, 4_989)):
        found = results.on(2, users, once=True, context=context)
        twice = found._replace(latency=2 * found.latency)
        assert results.shortest(twice) > shortest_by_hand(1, users, 0, context), "with overlap, too"


def test_only_long_contexts_make_one_crossing_win_whatever_the_number_of_users():
    """With overlap where it helps; from two dozen users on."""
    gain = lambda users, context, hop: (
        1 - shortest_by_hand(2, users, CROSSINGS, context, hop) / shortest_by_hand(1, users, 0, context)
    )
    for users in (32, 48, 64, 88, 128, 192, 256):
        assert all(gain(users, 1_000, hop) < 0 for hop in (0, 3.3e-6))
        assert all(0.03 < gain(users, 4_989, hop) < 0.145 for hop in (0, 3.3e-6))
        assert gain(users, 2_000, 3.3e-6) < 0


def test_one_crossing_gains_a_seventh_at_most():
    loads = [(users, context) for users in range(4, 260, 4) for context in range(1_000, 64_001, 500)]
    gains = [1 - shortest_by_hand(2, n, CROSSINGS, size) / shortest_by_hand(1, n, 0, size) for n, size in loads]
    assert max(gains) == pytest.approx(1 / 7, abs=0.012)


def test_with_overlap_contexts_lengthen_the_step_of_replicas_alone():
    """With two replicas loading is the longer part, and on two racks exchanges are."""
    for context in (1_000, 4_989):
        one, two = (results.on(n, once=True, context=context).half() for n in (1, 2))
        assert one.work > one.exchanges and two.work < two.exchanges
    told = numbers.crossing_once()
    assert told["lapped_once"] == told["lapped_long_once"] and told["lapped_one"] < told["lapped_long_one"]


def test_from_four_boxes_to_eight_the_step_shrinks_by_a_fifth_and_then_by_half_as_much():
    four, eight, most = (part.overlapped for part in results.lapped().values())
    assert 1 - eight / four == pytest.approx(0.2, abs=0.02) and 0.85 < most / eight < 0.9


def test_one_crossing_between_two_boxes_adds_almost_no_time_of_bytes():
    """The card carries one copy of a token, and NVLink seven, as in a single box."""
    card, links = CROSSINGS / CARD, 7 / BOX
    assert 0.9 * links < card < links


def test_a_box_of_h800_cannot_hold_its_share_and_one_of_h200_can():
    held = 32 * 58 * EXPERT
    assert held > 80e9 and held + REST < 141e9
    assert 17 * 58 * EXPERT + REST < 80e9, "two boxes of H800 can, with the shared expert on every GPU"


def printed(cell: str, *change: str) -> list[list[float]]:
    """The numbers of each line that a program of the page prints, without its heading, with a text of it changed."""
    said, _ = run_cell("racks", cell, *([change] if change else []))
    rows = [[float(each) for each in re.findall(r"[\d.]+", line)] for line in said.splitlines()]
    return [row for row in rows if row]


def test_the_page_s_program_loads_what_the_bars_load():
    rows = printed("needed.update")
    for (gpus, each, time), (count, part) in zip(rows, results.doublings().items(), strict=True):
        assert gpus == count and each == 256 / gpus
        assert time == pytest.approx(results.expert_time(part) * 1e3, abs=0.006)


def test_the_page_s_program_has_the_measured_exchanges():
    rows = printed("timed = {")
    for gpus, load, exchanges in rows:
        part = results.doublings()[int(gpus)]
        assert exchanges == pytest.approx(part.exchanges * 1e3, abs=0.06), gpus
        assert load == pytest.approx(part.work * 1e3, abs=0.06)
        assert load + exchanges == pytest.approx(part.in_turn * 1e3, abs=0.06), "as the next figure's bars"
    assert [row[0] for row in rows] == [8, 64]


def test_the_page_s_program_finds_where_spreading_pays():
    [[saved], *rows] = printed('print("users  bytes over')
    for users, added in rows:
        one, two = results.on(1, users), results.on(2, users)
        assert saved == pytest.approx((one.work - two.work) * 1e3, abs=0.06)
        assert added == pytest.approx(two.sending * 1e3, abs=0.06)
        assert (saved > added) == (two.in_turn < one.in_turn) == (users < 5)
    assert [row[0] for row in rows] == [4, 8, 32]


@pytest.mark.parametrize("skew", [0.3, 0.6])
def test_popular_experts_speak_against_spreading(skew):
    """They lengthen bytes, by more on two racks than on one, and no GPU loads more experts."""
    longer = []
    for gpus, sent in ((64, results.on(1).sending), (128, results.on(2).sending)):
        chosen, rack = simulation.route(gpus * 32, 256, 8, skew), np.arange(gpus).repeat(32)[:, None] // 64
        at = chosen // (256 // gpus)
        counted = np.bincount(at[at // 64 != rack] if gpus > 64 else at.ravel(), minlength=gpus)
        longer.append((simulation.imbalance(counted), sent))
        computing = simulation.imbalance(simulation.gpu_loads(chosen, place(256, gpus))) * results.on(1).compute
        assert computing < results.on(gpus / 64).work, "the busiest GPU computes while it loads"
    (near, one), (far, two) = longer
    assert 1 < near < far and (far - 1) * two > 10 * (near - 1) * one


@pytest.mark.parametrize("gpus, tokens, near, more", [(128, 32, 64, 0.2), (256, 128, 8, 0.1)])
def test_so_many_more_copies_come_to_the_busiest_card_as_the_fold_says(gpus, tokens, near, more):
    """Our two racks, and boxes of eight in DeepEP's test; the mean of a few runs."""
    home = np.arange(gpus).repeat(tokens)[:, None]
    busiest = []
    for seed in range(6):
        at = simulation.route(gpus * tokens, 256, 8, seed=seed) // (256 // gpus)
        came = np.bincount(at[at // near != home // near], minlength=gpus)
        busiest.append(came.max() / came.mean())
    assert np.mean(busiest) == pytest.approx(1 + more, abs=0.03)


def test_deepseeks_own_figures_come_out():
    """Its paper prints 120.96 µs, 14.76 ms, 67, 6.72 µs, 0.82 ms and 1,200."""
    for network, rate, exchange, step, tokens in measurement("deepseek_isca25_ep_latency").rows:
        rate *= 1e9
        assert eq.ep_time(scale_up=rate, **numbers.EXAMPLE) * 1e6 == pytest.approx(exchange, rel=1e-3), network
        whole = eq.comm_time(scale_up=rate, **numbers.EXAMPLE, **numbers.WHOLE)
        assert whole * 1e3 == pytest.approx(step, rel=3e-3) and 1 / whole == pytest.approx(tokens, rel=2e-2)


def test_a_lone_token_takes_a_hundred_times_as_long_as_its_bytes():
    bytes_alone = 7 * 7408 / 450e3  # µs
    assert 95 < 11.905 / bytes_alone < 105


def test_other_gpus_are_compared_with_their_own_rates():
    """FLOP/s of the dense FP8 rates, times a token's bytes per FLOP."""
    peaks = {"gb200-nvl72": (5000e12, 900), "h200": (1979e12, 450), "h800": (1979e12, 200), "mi300x": (2615e12, 448)}
    for id, (flops, rate) in peaks.items():
        needed, has = (value / 1e9 for value in results.link_rates(id))
        assert needed == pytest.approx(PER_TOKEN * flops / (2 * 37_551_276_032) / 1e9, rel=2e-3)
        assert has == pytest.approx(rate, rel=2e-3)
        assert (needed > has) == (id == "h800"), "only the H800, by the datasheets"


def test_no_measured_exchange_beats_its_bytes():
    rows = results.measured_exchanges()
    assert len(rows) == 34 and all(row.measured > row.ideal for row in rows)


def test_the_ratio_of_traffic_to_multiplying_knows_no_batch():
    from blackboard.lessons.batching.equations import compute_time

    here = numbers.FP8_OUT | {"layers": results.moe_layers(), "micro_batches": 1}
    for batch in (1, 100, 10_000):
        traffic = eq.comm_time(RUNNING, tokens_per_chip=batch / 72, **here)
        ratio = eq.comm_ratio(RUNNING, routed_layers=here["layers"], **numbers.FP8_OUT)
        assert traffic / compute_time(RUNNING, batch=batch) == pytest.approx(ratio, rel=1e-12)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(FormulaError, match="1 <= racks"):
        eq.leaving(racks=0.5)
    with pytest.raises(FormulaError, match="2 <= racks"):
        eq.ratio_hurts(racks=1)
    with pytest.raises(FormulaError, match="top_k <= experts"):
        eq.distinct_chips(experts=8, top_k=9, expert_parallel=4)


def test_network_cards_of_deepseeks_boxes_are_no_faster_than_the_rack_s():
    cards = [chip(id).scale_out.bytes_per_s for id in ("h800", "h200", "gb200-nvl72")]
    assert max(cards[:2]) <= cards[2]


def crossings() -> list[tuple[float, ...]]:
    """Racks, copies of a token that leave its rack, and racks that they go to, by counting subsets of 256 experts."""
    rows = []
    for racks in (2, 4, 8, 16):
        missed = comb(256 - 256 // racks, 8) / comb(256, 8)
        rows.append((racks, 8 * (racks - 1) / racks, (racks - 1) * (1 - missed)))
    return rows


def test_one_crossing_leaves_a_quarter_of_the_traffic_of_two_racks_and_four_fifths_of_sixteen():
    shares = {racks: once / every for racks, every, once in crossings()}
    assert shares[2] == pytest.approx(1 / 4, abs=0.01) and shares[16] == pytest.approx(4 / 5, abs=0.025)
    assert list(shares.values()) == sorted(shares.values())
