"""The numbers that the racks lesson prints, by plain arithmetic; and the lecture's own."""

from __future__ import annotations

import re
from math import comb

import pytest
from lessons import run_cell

from blackboard.catalogue import chip, measurement, model
from blackboard.catalogue.running_case import RUNNING
from blackboard.formula import FormulaError
from blackboard.lessons.racks import equations as eq
from blackboard.lessons.racks import numbers

PER_TOKEN = 58 * 9 * 7168 * 3  # bytes that a token sends
EXPERT, ALL = 3 * 7168 * 2048, 671_025_397_760  # bytes of an expert and of the model
REST = ALL - 58 * 257 * EXPERT
WAITING = 2 * 58 * 11.905e-6
CROSSINGS = 1 - 0.5**8  # of a token to the other of two racks
EACH = 144 * 32 * 4 / 128 / 32  # copies over the card of each GPU with routed experts, for a token of a GPU
INSIDE, CARD = 538e9, 38e9  # byte/s that both networks reach
BARE = 39e9 * 248 / 256 * 194 / (194 - 11.905)  # byte/s of the card, without the wait of its dispatch
BOX = 450e9 * 269 / 450  # byte/s that NVLink of an H200 reaches


def step_by_hand(racks: int, tokens: int, out: float = 0) -> tuple[float, float, float]:
    """Memory traffic and bytes on the links, s, and the whole step, of a GPU with so many tokens, of which each sends
    so many copies out of the rack.
    """
    memory = (4 // racks * 58 * EXPERT + REST + tokens * 1000 * 61 * 576 * 2) / 8e12
    sent = tokens * 58 * 7168 * 3 * (9 / INSIDE if racks == 1 else out / CARD)
    return memory, sent, memory + WAITING + sent


def box_by_hand(experts: int, tokens: int, leave: float, rate: float, waits: int = 1) -> tuple[float, ...]:
    """Loading, latency and bytes of an H200 that holds so many routed experts of a layer and the shared one, s."""
    loading = ((experts + 1) * 58 * EXPERT + REST + tokens * 1000 * 61 * 576 * 2) / 4.8e12
    return loading, waits * WAITING, tokens * PER_TOKEN * 8 / 9 * leave / rate


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    active = 37_551_276_032
    per_chip = 2 * active / 5e15  # seconds of one token, if one chip did it all
    ratio = lambda tokens, out, more=0: (step_by_hand(2, tokens, out)[2] + more) / step_by_hand(1, tokens)[2]
    slope, gain = 58 * 7168 * 3 * (CROSSINGS / CARD - 9 / INSIDE), 2 * 58 * EXPERT / 8e12
    hop = 116 * 3.3e-6
    one, two, crossed = step_by_hand(1, 32), step_by_hand(2, 32, EACH), step_by_hand(2, 32, CROSSINGS)
    once = *crossed[:2], crossed[2] + hop
    slower = lambda part: part[2] + part[0] * (1 / 0.85 - 1)
    ms = lambda seconds: f"{seconds * 1e3:.2f} ms"
    reached = 512 * 7 * 7408 / (211.099 - 112.365) / 1e3  # GB/s
    sheet = lambda part, out: part[1] * (CARD / 50e9 if out else INSIDE / 900e9)
    ideal = [part[2] - part[1] + sheet(part, out) for part, out in ((one, 0), (two, 1), (once, 1))]
    box = box_by_hand(32, 32, 7 / 8, BOX), box_by_hand(2, 32, 136 / 144, CARD)
    pair = box_by_hand(16, 32, 1 / 2, CARD)[2]
    half_one = one[2] - one[1] + 32 * 58 * 7168 * 3 * 9 / 489e9  # two racks wait for their cards, as before
    tenth = lambda seconds: f"{seconds * 1e3:.1f}"
    launched = two[0] + WAITING + 116e-6 + max(CROSSINGS / CARD, 9 / 361e9) * 32 * 58 * 7168 * 3
    launched_one = one[2] - one[1] + 32 * 58 * 7168 * 3 * 9 / 361e9
    expected = {
        "each": "4",
        "idle": "8",
        "layer_bytes": f"{32 * 9 * 7168 * 3 / 1e6:.2f} MB",
        "layer_rack": f"{32 * 9 * 7168 * 3 / 900e3:.2f} µs",
        "layer_two": f"{32 * EACH * 7168 * 3 / 50e3:.0f} µs",
        "token_bytes": f"{PER_TOKEN / 1e6:.1f} MB",
        "ratio_out": f"{PER_TOKEN / 50e9 / per_chip:.0f}",
        "link_needed": f"{PER_TOKEN / per_chip / 1e9:.0f} GB/s",
        "token_rate": f"{round(1 / per_chip, -2):,.0f}",
        "expert_bytes": f"{EXPERT / 1e6:.2f} MB",
        "rest_bytes": f"{REST / 1e9:.2f} GB",
        "experts_one": ms(4 * 58 * EXPERT / 8e12),
        "experts_two": ms(2 * 58 * EXPERT / 8e12),
        "rest_time": ms(REST / 8e12),
        "kv_time": ms(32 * 1000 * 61 * 576 * 2 / 8e12),
        "experts_18": ms(288 / 18 * 58 * EXPERT / 8e12),
        "other_time": ms((REST + 32 * 1000 * 61 * 576 * 2) / 8e12),
        "step_nine": ms(28 * 58 * EXPERT / 8e12 + one[2]),
        "half_bytes": f"{PER_TOKEN / 2e6:.1f} MB",
        "hop_bytes": f"{7168 * 2 / 1e3:.1f} kB",
        "hop_fewer": f"{round(PER_TOKEN / 2 / 7168 / 2, -1):.0f}",
        "saved": ms(gain),
        "even_every": f"{gain / (58 * 7168 * 3 * (EACH / CARD - 9 / INSIDE)):.0f}",
        "even_hop": f"{(gain - hop) / slope:.0f}",
        "few_gain": f"{1 - ratio(4, CROSSINGS, hop):.0%}",
        "far_4": f"{3 - 3**9 / 4**8:.1f}",
        "h800_needed": f"{PER_TOKEN * 1978.9e12 / 2 / active / 1e9:.0f} GB/s",
        "h800_link": "200 GB/s",
        "keep_up": f"{INSIDE * per_chip / PER_TOKEN:.0%}",
        "hop_least": "3.3",
        "hop_near": "2.8",
        "hop_cards": "3.7",
        "hop_limit": f"{gain / 116 * 1e6:.1f} µs",
        "memory_one": ms(one[0]),
        "memory_two": ms(two[0]),
        "compute_one": ms(32 * per_chip),
        "sending_one": ms(one[1]),
        "sending_two": ms(two[1]),
        "sending_once": ms(once[1]),
        "step_latency": ms(WAITING),
        "step_hop": ms(hop),
        "step_one": ms(one[2]),
        "user_rate": f"{1 / one[2]:.0f}",
        "user_rate_two": f"{1 / two[2]:.0f}",
        "step_two": ms(two[2]),
        "as_told_two": f"{two[2] / one[2]:.2f}",
        "as_told_once": f"{once[2] / one[2]:.2f}",
        "launch_shorter": f"{1 - launched / launched_one:.0%}",
        "as_ideal_two": f"{ideal[1] / ideal[0]:.2f}",
        "as_ideal_once": f"{ideal[2] / ideal[0]:.2f}",
        "as_memory_two": f"{slower(two) / slower(one):.2f}",
        "as_memory_once": f"{slower(once) / slower(one):.2f}",
        "memory_share": "85%",
        "h200_bandwidth": "4.8 TB/s",
        "every_added": f"{(two[1] - one[1]) * 1e3:.1f} ms",
        "up_left": f"{900 * 269 / 450:.0f} GB/s",
        "card_left": f"{39 * 248 / 256:.0f} GB/s",
        "up_share": f"{269 / 450:.0%}",
        "card_share": f"{38 / 50:.0%}",
        "ratio_left": f"{538 / 38:.0f}",
        "left_every": f"{538 / 38 / 2:.1f}",
        "as_full_two": f"{ratio(256, EACH):.2f}",
        "as_full_once": f"{ratio(256, CROSSINGS, hop):.2f}",
        "as_shared_two": f"{ratio(16, EACH):.2f}",
        "as_shared_once": f"{ratio(16, CROSSINGS, hop):.2f}",
        "once_shorter": f"{1 - (once[2] - hop + 116e-6) / one[2]:.0%}",
        "halves_two": ms(2 * once[0] - 32 * 1000 * 61 * 576 * 2 / 8e12),
        "halves_one": ms(2 * one[0] - 32 * 1000 * 61 * 576 * 2 / 8e12),
        "halves_full": f"{(step_by_hand(1, 256)[0] + step_by_hand(1, 0)[0]) / step_by_hand(1, 256)[2]:.2f}",
        "slower": "4",
        "slower_every_2": f"{18 / 2:g}",
        "blackwell_dies": "144",
        "h100_ratio": "9",
        "gb200_ratio": "18",
        "chips_power": f"{72 * 1.2:.0f} kW",
        "cables": f"{72 * 18 * 4:,}",
        "reached_rate": f"{reached:.0f} GB/s",
        "weights_again": ms(4 * 58 * EXPERT / 8e12 + REST / 8e12),
        "exchanges_one": ms(one[1] + WAITING),
        "freed": f"{2 * 58 * EXPERT / 1e9:.1f} GB",
        "rack_memory": "186 GB",
        "lone_bytes": f"{7 * 7408 / reached / 1e3:.1f} µs",
        "took_more": f"{211.099 - 112.365:.1f} µs",
        "half_rack": f"{11.905e-6 * 900e9 * reached / 450 * 72 / 71 / 9 / 7408:.0f}",
        "box_experts": "32",
        "box_bytes": f"{32 * 58 * EXPERT / 1e9:.1f} GB",
        "h100_memory": "80 GB",
        "h800_memory": "80 GB",
        **{f"{what}_box": tenth(part) for what, part in zip(("load", "wait", "carry"), box[0])},
        **{f"{what}_boxes": tenth(part) for what, part in zip(("load", "carry"), box[1][::2])},
        "took_box": tenth(sum(box[0])),
        "took_boxes": tenth(sum(box[1])),
        "box_even": f"{30 * 58 * EXPERT / 4.8e12 / (box[1][2] - box[0][2]) * 32:.0f}",
        "box_even_waits": f"{(30 * 58 * EXPERT / 4.8e12 - WAITING) / (box[1][2] - box[0][2]) * 32:.0f}",
        "ceiling": f"{gain / one[2]:.0%}",
        "saved_pair": f"{16 * 58 * EXPERT / 4.8e9:.1f} ms",
        "ceiling_pair": f"{16 * 58 * EXPERT / 4.8e12 / sum(box[0]):.0%}",
        "added_pair": f"{(pair - box[0][2]) * 1e3:.1f} ms",
        "even_pair": f"{16 * 58 * EXPERT / 4.8e12 / (pair - box[0][2]) * 32:.0f}",
        "once_added": ms(once[1] - one[1]),
        "bare_two": f"{step_by_hand(2, 32, EACH * CARD / BARE)[2] / one[2]:.2f}",
        "bare_tie": f"{(one[2] - step_by_hand(2, 32, CROSSINGS * CARD / BARE)[2]) / 116 * 1e6:.1f} µs",
        "card_took": "194",
        "card_bare": f"{BARE / 1e9:.0f} GB/s",
        "half_more": ms(32 * 58 * 7168 * 3 * 9 * (1 / 489e9 - 1 / 714e9)),
        "shared_saved": ms(256 * (1 / 72 - 1 / 144) * 58 * EXPERT / 8e12),
        "combine_1": "12.6",
        "as_half_two": f"{two[2] / half_one:.2f}",
        "as_half_once": f"{once[2] / half_one:.2f}",
        "box_even_four": f"{6 * 58 * EXPERT / 4.8e12 / (PER_TOKEN * 8 / 9 * (17 / 18 - 3 / 4) / CARD):.0f}",
        "wait_margin": f"{4 * 58 * EXPERT / 8e12 / 116 * 1e6:.0f} µs",
        "hop_tie": f"{(gain - once[1] + one[1]) / 116 * 1e6:.1f} µs",
        "memory_shorter": f"{1 - (slower(crossed) + 116e-6) / slower(one):.0%}",
        "spare_experts": f"{144 * 2 - 256}",
    }
    assert {name: told[name] for name in expected} == expected


def test_deepseeks_users_on_boxes_of_h800_by_hand():
    """Its own day: 14,800 tokens/s of a box, 20 to 22 of a user, 4,989 tokens of context."""
    told, users = numbers.crowded(), 14_800 / 8 / 21
    assert told["users"] == f"{users:.0f}" and told["day_batch"] == "128"
    assert told["day_step"] == f"{1000 / 21:.0f} ms"
    assert min(14_800 / 8 / 22, 128) > float(numbers.deployed()["box_even"]), "above the border by either count"
    cache = 4_989 * 61 * 576 * 2
    alone, spread = box_by_hand(32, 88, 7 / 8, BOX), box_by_hand(2, 88, 136 / 144, CARD)
    assert (told["day_one"], told["day_many"]) == (f"{sum(alone) * 1e3:.0f}", f"{sum(spread) * 1e3:.0f}")
    longer = 88 * (cache - 1000 * 61 * 576 * 2) / 4.8e12  # loading of longer contexts
    assert told["plain_h200_1"] == f"{(sum(alone) + longer) * 1e3:.0f}"
    for boxes, held in ((4, 8), (18, 2)):
        load, _, sent = box_by_hand(held, 88, 1 - 1 / boxes, CARD)
        again = box_by_hand(held, 0, 0, CARD)[0]
        assert told[f"lapped_h200_{boxes}"] == f"{max(load + longer + again, 2 * WAITING + sent) * 1e3:.0f}"
    assert (told["lap_more"], told["lap_less"]) == ("25.5%", "27%")
    one, once = step_by_hand(1, 88), step_by_hand(2, 88, CROSSINGS)
    for tokens, name in ((1000, "overlap_gain"), (4989, "overlap_gain_long")):
        more, kv = (88 * each * 61 * 576 * 2 / 8e12 for each in (tokens - 1000, tokens))
        half = max(2 * (once[0] + more) - kv, 2 * (WAITING + 116 * 3.3e-6) + once[1])
        assert told[name] == f"{1 - half / min(one[2] + more, 2 * (one[0] + more) - kv):.0%}"


def test_spreading_over_two_racks_loses_with_overlap_if_every_copy_crosses():
    for tokens in (32, 88, 256):
        one, two = numbers.on(1, tokens), numbers.on(2, tokens)
        assert two.overlapped > min(one.in_turn, one.overlapped)


def test_with_the_rate_of_half_a_rack_the_cards_are_what_two_racks_wait_for():
    assert 9 / 489 < CROSSINGS / 38 < EACH / 38


def test_a_card_more_than_three_times_as_fast_would_make_a_tie():
    """Of the rate that the card must reach if every copy crosses."""
    saved, here = 2 * 58 * EXPERT / 8e12, 32 * 58 * 7168 * 3
    assert 3.3 < EACH * here / (saved + 9 * here / INSIDE) / CARD < 3.8


def two_digits(seconds: float) -> float:
    return float(numbers.in_ms(seconds).split()[0])


def test_what_a_step_says_of_itself_adds_up_as_it_is_printed():
    """A reader adds the rows of the table."""
    told = numbers.worked()
    read = lambda name: float(told[name].split()[0])
    for case in ("one", "two"):
        parts = read(f"memory_{case}"), read("step_latency"), read(f"sending_{case}")
        assert read(f"step_{case}") == pytest.approx(sum(parts), abs=1e-9) and read("compute_one") < parts[0]
    assert read("every_added") == pytest.approx(read("sending_two") - read("sending_one"), abs=0.05)
    drawn = numbers.doublings().values()
    loads = [numbers.expert_time(each) for each in drawn]
    terms = [(load, each.work - load, each.latency, each.sending) for load, each in zip(loads, drawn)]
    sums = [sum(map(two_digits, each)) for each in terms]
    assert [two_digits(each.in_turn) for each in drawn] == pytest.approx(sums, abs=1e-9)
    boxes = numbers.deployed()
    for where in ("box", "boxes"):
        names = f"load_{where}", "wait_box", f"carry_{where}", f"took_{where}"
        *terms, took = (float(boxes[name].split()[0]) for name in names)
        assert took == pytest.approx(sum(terms), abs=1e-9)
    for case in ("one", "two"):
        loaded = read(f"experts_{case}"), read("rest_time"), read("kv_time")
        assert read(f"memory_{case}") == pytest.approx(sum(loaded), abs=1e-9)
    assert read("saved") == pytest.approx(read("memory_one") - read("memory_two"), abs=1e-9)
    assert read("rest_time") == pytest.approx(read("rest_bytes") / 8, abs=0.01)


def test_each_doubling_in_the_rack_shortens_the_step_and_the_next_one_does_not():
    """Second route: by hand. And nine GPUs can hold the model, as can eight, or even four with little room."""
    known = numbers.doublings()
    assert [*known] == [9, 18, 36, 72, 144]
    for gpus, part in known.items():
        experts = 288 / gpus
        sent = EACH / CARD if gpus > 72 else 9 / INSIDE
        by_hand = (experts * 58 * EXPERT + REST + 32 * 1000 * 61 * 576 * 2) / 8e12, WAITING, 32 * 58 * 7168 * 3 * sent
        assert (part.work, part.latency, part.sending) == pytest.approx(by_hand, rel=1e-3)
        assert part.compute < part.work and part.hop == 0
    times = [part.in_turn for part in known.values()]
    assert times[:4] == sorted(times[:4], reverse=True) and times[4] > times[3]
    assert chip("gb200-nvl72").hbm_bytes > 33 * 58 * EXPERT + REST
    assert 0.95 < (65 * 58 * EXPERT + REST) / chip("gb200-nvl72").hbm_bytes < 1
    assert (times[2] - times[3]) / 116 == pytest.approx(0.92 * 11.905e-6, rel=0.01), "nearly twice the wait"
    assert (1 - 8 / 256) ** (9 * 32) < 1e-3, "nearly every expert is needed, even among nine GPUs' tokens"


def test_the_boxes_of_the_figure_are_those_of_the_table():
    told, drawn = numbers.deployed(), numbers.box_doublings()
    assert [*drawn] == [8, 16, 32, 144]
    names = "took_box", "spread_2", "spread_4", "took_boxes"
    assert [f"{part.in_turn * 1e3:.1f}" for part in drawn.values()] == [told[name] for name in names]
    held = [numbers.box_expert_time(part) * 4.8e12 / 58 / EXPERT for part in drawn.values()]
    assert held == pytest.approx([32, 16, 8, 2])


def test_what_every_gpu_holds_is_all_but_the_experts():
    """A second route: attention, the first three layers, routers and both tables of words, added up."""
    net = model(RUNNING.model)
    parts = sum(group.params(net.d_model) for group in net.attention) + net.ffn[0].params(net.d_model)
    routers, words = 58 * 256 * 7168, 2 * net.vocab * net.d_model
    assert numbers.rest_bytes() == parts + routers + words


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
    for name, part in numbers.parts().items():
        half, layers = part.half(), 20_000
        taken = alternated(half.work / 58, half.exchanges / 58, layers) * 58 / layers
        assert taken == pytest.approx(part.overlapped, rel=1e-3), name
        assert half.in_turn < part.overlapped and (part.overlapped < part.in_turn) == (name != "one")


def test_break_even_ratios_are_where_the_slowdown_passes_one():
    """By halving an interval, for tokens that stay and for one batch."""
    for racks in (2, 4, 8):
        low, high = 0.1, 1e3
        for _ in range(60):
            middle = (low + high) / 2
            slow = eq.slowdown(racks=racks, scale_up=middle, scale_out=1) > 1
            low, high = (low, middle) if slow else (middle, high)
        assert low == pytest.approx(eq.ratio_hurts(racks=racks))


def test_a_second_rack_pays_up_to_the_printed_tokens():
    """A second route: whole steps, one token more at a time."""
    for once, hop, name in ((False, 0, "even_every"), (True, numbers.bare_hop(), "even_hop")):
        gains = [n for n in range(1, 200) if numbers.on(2, n, once, hop).in_turn < numbers.on(1, n).in_turn]
        assert gains == list(range(1, max(gains) + 1)) and abs(max(gains) - int(numbers.spread_or_stop()[name])) <= 1
    for microseconds in (5.55, 11.9):  # no batch is small enough
        assert all(
            numbers.on(2, n, True, microseconds * 1e-6).in_turn > numbers.on(1, n).in_turn for n in range(1, 200)
        )


def test_many_boxes_pay_up_to_the_printed_tokens():
    """A second route: whole steps, one token more at a time."""
    for waits, name in ((1, "box_even"), (2, "box_even_waits")):
        many = lambda n, waits=waits: sum(box_by_hand(2, n, 136 / 144, CARD, waits))
        gains = [n for n in range(1, 300) if many(n) < sum(box_by_hand(32, n, 7 / 8, BOX))]
        assert gains == list(range(1, max(gains) + 1)) and abs(max(gains) - int(numbers.deployed()[name])) <= 1
    assert all(part.compute < part.weights for part in numbers.box_steps().values())


def test_two_copies_of_the_model_tie_with_one_crossing_and_win_if_the_hop_waits():
    one, _, once = (part.in_turn for part in numbers.parts().values())
    assert once / one == pytest.approx(1.02, abs=0.005), "a tie, nearly"
    assert float(numbers.corrected()["as_memory_once"]) == 1.00, "with slower memory, a tie"
    assert numbers.again().in_turn / one == pytest.approx(1.2, abs=0.02), "by a fifth"
    assert numbers.parts()["two"].in_turn / one == pytest.approx(1.6, abs=0.05), "more than half as long again"


def test_with_one_crossing_spreading_loses_at_any_hop_if_copies_are_passed_on_after_it():
    """Four of a token's nine copies are passed on; in a batch of four tokens only a long hop loses, if they hide."""
    one, two = step_by_hand(1, 32), step_by_hand(2, 32, CROSSINGS)
    passed = 4 / 9 * one[1]
    assert f"{one[1] * 1e3:.2f} {passed * 1e3:.2f}" == "0.67 0.30" and two[2] + passed > one[2]
    few = [(EACH, 0), *((CROSSINGS, hop) for hop in (1e-6, 2.2e-6, 3.3e-6, 11.9e-6))]
    loses = [step_by_hand(2, 4, out)[2] + 116 * hop > step_by_hand(1, 4)[2] for out, hop in few]
    assert loses == [False] * 4 + [True]


def test_nearly_every_copy_goes_to_a_gpu_of_its_own():
    """The chance that a GPU holds none of a token's experts, by counting the choices that miss its four."""
    visited = 64 * (1 - comb(252, 8) / comb(256, 8))
    assert 7.6 < visited < 8


def test_a_combine_reaches_a_fifth_less_of_its_link_than_a_dispatch():
    rows = measurement("h200_deepep_ll_intranode").records()
    rate = lambda way: numbers.COPY[way] / (rows[-1][f"{way}_us"] - rows[-2][f"{way}_us"])
    assert rate("combine") / rate("dispatch") == pytest.approx(0.8, abs=0.01)


def test_if_cards_wait_twice_as_long_sharing_loses_with_any_batch():
    """Its waits alone take longer than the loading that is saved."""
    assert 2 * 58 * EXPERT / 8e12 < WAITING


def test_a_step_on_many_boxes_takes_three_fifths_of_a_replica_s():
    one, many = (part.in_turn for part in numbers.box_steps().values())
    assert many / one == pytest.approx(0.6, abs=0.02)
    sent = [part.sending for part in numbers.box_steps().values()]
    assert 7 < sent[1] / sent[0] < 8, "more than seven times the bytes' time"
    assert (one - numbers.on_boxes(4).in_turn) / (one - many) > 0.75, "most of it with the first few boxes"


def test_one_crossing_between_two_boxes_adds_almost_no_time_of_bytes():
    """The card carries one copy of a token, and NVLink seven, as in a single box."""
    card, links = CROSSINGS / CARD, 7 / BOX
    assert card == pytest.approx(links, rel=0.01)


def once_by_hand(boxes: int, held: int, tokens: int, hop: float, memory: float, link: float) -> tuple[float, ...]:
    """Loading, waits and bytes of a GPU in such boxes, s, if each token crosses once to a box: of its eight copies
    seven use NVLink, and a box is spared if none of its eight experts is there.
    """
    far = sum(1 - ((boxes - 1) / boxes) ** 8 for _ in range(boxes - 1))
    loading = ((held + 1) * 58 * EXPERT + REST + tokens * 1000 * 61 * 576 * 2) / memory
    return loading, WAITING + 116 * hop, tokens * 58 * 7168 * 3 * max(7 / link, far / CARD)


@pytest.mark.parametrize("hop", [0, 1e-6, 3.3e-6, 11.905e-6])
def test_with_one_crossing_four_boxes_beat_eighteen_in_a_small_batch_without_overlap(hop):
    told, steps = numbers.deployed(), {}
    for boxes, held in ((4, 8), (18, 2)):
        by_hand = once_by_hand(boxes, held, 32, hop, 4.8e12, BOX)
        part = numbers.on_boxes(boxes, held, hop=hop)
        assert (part.work, part.latency + part.hop, part.sending) == pytest.approx(by_hand, rel=1e-3)
        steps[boxes] = sum(by_hand)
        if hop == 3.3e-6:
            assert told[f"once_{boxes}"] == f"{steps[boxes] * 1e3:.1f}"
    every = {boxes: sum(box_by_hand(held, 32, 1 - 1 / boxes, CARD)) for boxes, held in ((4, 8), (18, 2))}
    assert steps[4] < min(steps[18], *every.values()) and every[18] < every[4]
    assert steps[4] < sum(once_by_hand(2, 16, 32, hop, 4.8e12, BOX)) < sum(box_by_hand(32, 32, 7 / 8, BOX))


@pytest.mark.parametrize("hop", [0, 1e-6, 3.3e-6, 11.905e-6])
def test_with_one_crossing_overlap_still_makes_eighteen_boxes_of_h800s_win(hop):
    plain, lapped = {}, {}
    for boxes, held in ((2, 16), (4, 8), (18, 2)):
        caches = 88 * (4_989 - 1000) * 61 * 576 * 2 / 3.35e12
        loading, wait, sent = once_by_hand(boxes, held, 88, hop, 3.35e12, 200e9 * 269 / 450)
        weights = ((held + 1) * 58 * EXPERT + REST) / 3.35e12
        plain[boxes] = loading + caches + wait + sent
        lapped[boxes] = max(loading + caches + weights, 2 * wait + sent)
        part = numbers.on_boxes(boxes, held, "h800", 88, 4_989, hop)
        assert (part.in_turn, part.overlapped) == pytest.approx((plain[boxes], lapped[boxes]), rel=2e-3)
    assert min(plain, key=lambda boxes: plain[boxes]) == 4
    assert lapped[18] < min(*plain.values(), lapped[2], lapped[4])


def test_on_h200s_four_boxes_and_eighteen_take_about_equally_long_with_one_crossing_and_overlap():
    """In DeepSeek's batch, with a hop of a bare message."""
    four, most = (numbers.on_boxes(n, held, "h200", 88, 4_989, 3.3e-6).overlapped for n, held in ((4, 8), (18, 2)))
    assert most == pytest.approx(four, rel=0.03)


def test_with_deepseeks_users_one_crossing_and_perfect_overlap_two_racks_win_a_little():
    for hop, gain in ((1e-6, 0.16), (3.3e-6, 0.08)):
        steps = []
        for racks, more in ((1, 0), (2, 116 * hop)):
            memory, sent, whole = step_by_hand(racks, 88, CROSSINGS)
            again = memory - 88 * 1000 * 61 * 576 * 2 / 8e12
            steps.append(min(whole + more, max(memory + again, sent + 2 * (WAITING + more))))
        assert 1 - steps[1] / steps[0] == pytest.approx(gain, abs=0.005)


def test_a_box_of_h800_cannot_hold_its_share_and_one_of_h200_can():
    held = 32 * 58 * EXPERT
    assert held > 80e9 and held + REST < 141e9
    assert 17 * 58 * EXPERT + REST < 80e9, "two boxes of H800 can, with the shared expert on every GPU"


def test_traffic_takes_longer_either_way_at_the_rack_s_ratio():
    """The ratios up to which two racks are as fast as one, by halving an interval."""
    sizes = {"copies": 9, "scale_out": 1}
    each = eq.slowdown_each.bind(scale_out=1, racks=2)
    once = eq.slowdown_once.bind(**sizes, visited_domains=CROSSINGS)
    for formula, most in ((each, 2), (once, 9)):
        low, high = 0.1, 1e3
        for _ in range(60):
            middle = (low + high) / 2
            slow = formula(scale_up=middle) > 1
            low, high = (low, middle) if slow else (middle, high)
        assert low == pytest.approx(most, rel=0.005) and most < 18


def printed(cell: str) -> list[list[float]]:
    """The numbers of each line that a program of the page prints, without its heading."""
    said, _ = run_cell("racks", cell)
    rows = [[float(each) for each in re.findall(r"[\d.]+", line)] for line in said.splitlines()]
    return [row for row in rows if row]


def test_the_page_s_program_loads_what_the_bars_load():
    rows = printed("needed.update")
    for (gpus, each, time), (count, part) in zip(rows, numbers.doublings().items(), strict=True):
        assert gpus == count and each == pytest.approx(288 / gpus, abs=0.05)
        assert time == pytest.approx(numbers.expert_time(part) * 1e3, abs=0.006)


def test_the_page_s_program_counts_what_arrives_over_the_cards():
    every, once, (used, busiest) = printed("arrive.update")
    assert every == [9 * 32 / 2, float(numbers.boundary()["slower_every_2"])] == [32 * EACH, 9]
    assert once == [round(32 * CROSSINGS), round(18 * CROSSINGS / 9, 1)] == [32, 2]
    assert used == 128 and busiest == 170, "as the fold says"
    assert busiest / 144 == pytest.approx(1.2, abs=0.03), "a fifth more"


def test_the_page_s_program_has_the_measured_dispatches():
    rows = {row.bytes_per_chip / 8 / 7408: row for row in numbers.by_kind()["DeepEP dispatch"]}
    for count, sheet, fitted, took in printed("measured = {"):
        row = rows[count]
        assert [sheet, fitted, took] == pytest.approx(
            [each * 1e6 for each in (row.ideal, row.modelled, row.measured)], abs=0.4
        )
        assert count != 64 or fitted / took == pytest.approx(1.05, abs=0.01), "a twentieth too slow"


def test_the_page_s_program_finds_where_spreading_pays():
    every, *once = printed("def compare(")
    assert every[2] == pytest.approx(numbers.parts()["two"].in_turn / numbers.on(1).in_turn, abs=0.01)
    assert every[3] == int(numbers.spread_or_stop()["even_every"])
    for copies, hop, ratio, pays in once:
        spread = numbers.on(2, once=True, hop=hop * 1e-6)
        assert copies == 1 and ratio == pytest.approx(spread.in_turn / numbers.on(1).in_turn, abs=0.01)
        assert pays == pytest.approx(max(0, numbers.break_even(True, hop * 1e-6)), abs=2)


def test_the_page_s_program_overlaps_boxes():
    """Without the second copies of popular experts, of which eighteen boxes have some."""
    rows = {int(boxes): rest for boxes, *rest in printed("users, context =")}
    for boxes, (room, in_turn, twice, away, overlapped) in rows.items():
        part = numbers.on_boxes(boxes, 32 / boxes, "h800", 88, 4_989)
        assert [in_turn, overlapped] == pytest.approx([part.in_turn * 1e3, part.overlapped * 1e3], abs=0.1)
        half = part.half()
        assert [twice, away] == pytest.approx([half.work * 2e3, half.exchanges * 2e3], abs=0.1)
        assert overlapped == max(twice, away) and (twice > away) == (boxes < 18)
        weights = (32 / boxes + 1) * 58 * EXPERT + REST
        assert room == pytest.approx((80e9 - weights) / 4_989 / 61 / 576 / 2, abs=0.6)
    plain, lapped = ([row[n] for row in rows.values()] for n in (1, 4))
    assert max(plain) < 1.03 * min(plain) and lapped == sorted(lapped, reverse=True)
    assert rows[2][0] < numbers.day_users() < rows[4][0]
    spare = numbers.on_boxes(18, 2, "h800", 88, 4_989).overlapped
    assert spare * 1e3 == pytest.approx(rows[18][4], abs=0.1), "the spare copies change nothing"
    few = {boxes: numbers.on_boxes(boxes, 32 / boxes, "h800", 32, 4_989).in_turn for boxes in rows}
    assert min(few, key=lambda boxes: few[boxes]) == 18


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
        needed, has = (value / 1e9 for value in numbers.link_rates(id))
        assert needed == pytest.approx(PER_TOKEN * flops / (2 * 37_551_276_032) / 1e9, rel=2e-3)
        assert has == pytest.approx(rate, rel=2e-3)
        assert (needed > has) == (id == "h800"), "only the H800, by the datasheets"
        assert 0.6 * has < needed, "with three fifths of its link, none keeps up at its peak"


def test_no_measured_exchange_beats_its_bytes():
    rows = numbers.measured_exchanges()
    assert len(rows) == 34 and all(row.measured > row.ideal for row in rows)


def test_the_ratio_of_traffic_to_multiplying_knows_no_batch():
    from blackboard.lessons.batching.equations import compute_time

    here = numbers.FP8_OUT | {"layers": numbers.moe_layers(), "micro_batches": 1}
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


def test_perfect_overlap_and_one_crossing_gain_at_most_what_is_printed():
    """By hand, with a hop of a microsecond: two halves, each of which loads all weights and pays every wait."""
    told, ratios = numbers.overlap_most(), {}
    for tokens in range(1, 256):
        kv, steps = tokens * 1000 * 61 * 576 * 2 / 8e12, []
        for racks, more in ((1, 0), (2, 116e-6)):
            memory, sent, whole = step_by_hand(racks, tokens, CROSSINGS)
            steps.append(min(whole + more, max(2 * memory - kv, sent + 2 * (WAITING + more))))
        ratios[tokens] = steps[1] / steps[0]
    best = min(ratios, key=lambda tokens: ratios[tokens])
    assert told["overlap_most"] == f"{1 - ratios[best]:.0%}" and abs(best - int(told["overlap_at"])) < 5
    assert abs(max(n for n, ratio in ratios.items() if ratio < 1) - int(told["overlap_end"])) < 5


def test_overlap_pays_in_the_larger_batch_of_the_figure_and_not_in_the_smaller():
    few, many = (numbers.on(1, tokens) for tokens in (numbers.TOKENS, numbers.FULL))
    assert few.overlapped > few.in_turn and many.overlapped < 0.8 * many.in_turn
    assert few.weights > few.exchanges, "loading the weights again takes longer than what it hides"


def test_network_cards_of_deepseeks_boxes_are_no_faster_than_the_rack_s():
    cards = [chip(id).scale_out.bytes_per_s for id in ("h800", "h200", "gb200-nvl72")]
    assert max(cards[:2]) <= cards[2]
