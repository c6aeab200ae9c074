"""The second routes of the pipelining lesson: run the schedules, search all of them, replay published measurements."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from statistics import fmean

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from blackboard.lessons.pipelining import numbers, simulation
from blackboard.lessons.pipelining.simulation import (
    dualpipe,
    gpipe,
    interleaved,
    naive,
    one_f_one_b,
    serve,
    zero_bubble,
    zero_bubble_h1,
    zero_bubble_h2,
)
from blackboard.lessons.pipelining.timeline import Costs, Deadlock, Pass, Schedule, simulate

SHAPES = [(2, 2), (3, 7), (4, 4), (4, 8), (8, 3), (8, 24)]
UNEVEN = [(1, 1), (1, 2), (3, 5), (5, 3)]  # F and B
SPLIT = [(1, 1, 1), (2, 2, 1), (3, 4, 2), (5, 4, 3), (1, 2, 1), (3, 2, 2)]  # F, B and W, with W not above B


def idle(run) -> list:
    """Time each device does not work, over the makespan."""
    return [run.makespan - run.busy(device) for device in range(run.devices)]


def peaks(run, kept: float = 0) -> list[float]:
    return [run.peak(device, kept) for device in range(run.devices)]


def every_schedule(devices: int, rounds: int):
    """One schedule of each kind, of an even number of devices."""
    micro_batches = devices * max(2, rounds)
    for make in (gpipe, one_f_one_b, zero_bubble_h1, zero_bubble_h2, dualpipe):
        yield make(devices, micro_batches)
    yield interleaved(devices, micro_batches, 3)
    yield serve(devices, rounds, 5)


# --- the simulator itself --------------------------------------------------------------------------------------------


def by_the_clock(schedule: Schedule, costs: Costs) -> dict:
    """Start of every pass, by a clock that ticks: at each tick every free device looks whether its next pass can
    start.
    """
    listed = {key for row in schedule.passes for item in row for key in item.keys}
    last = max(stage for _, _, stage in listed)
    place = {key: device for device, row in enumerate(schedule.passes) for item in row for key in item.keys}
    todo = [list(reversed(row)) for row in schedule.passes]
    start, end, free, now = {}, {}, [0] * len(todo), 0

    def here(key, device) -> bool:
        return key in end and end[key] + costs.hop * (place[key] != device) <= now

    while any(todo):
        for device, row in enumerate(todo):
            while row and free[device] <= now:
                needed = []
                for kind, batch, stage in row[-1].keys:
                    needed += [("F", batch, stage - 1)] if kind == "F" and stage else []
                    needed += [("F", batch, stage)] if kind == "B" else []
                    needed += [("B", batch, stage + 1)] if kind == "B" and stage < last else []
                    needed += [("B", batch, stage)] if kind == "W" else []
                if not all(here(key, device) for key in needed):
                    break
                keys = row.pop().keys
                price = {"F": costs.forward, "B": costs.backward, "W": costs.weight}
                took = sum(price[kind] for kind, _, _ in keys)
                took += sum(costs.weight for kind, *rest in keys if kind == "B" and ("W", *rest) not in listed)
                took = costs.overlapped if len(keys) > 1 and costs.overlapped else took // schedule.chunks
                free[device] = now + took
                start |= dict.fromkeys(keys, now)
                end |= dict.fromkeys(keys, now + took)
        now += 1
    return start


@settings(max_examples=25)
@given(st.sampled_from([2, 4, 6]), st.integers(1, 3), *[st.integers(1, 5)] * 3, st.integers(0, 4))
def test_the_simulator_agrees_with_a_clock_that_ticks(devices, rounds, forward, backward, weight, hop):
    costs = Costs(3 * forward, 3 * backward, 3 * weight, hop, overlapped=2 * (forward + backward + weight))
    for schedule in every_schedule(devices, rounds):
        run = simulate(schedule, costs)
        assert by_the_clock(schedule, costs) == {key: box.start for box in run.boxes for key in box.keys}


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_device_does_one_thing_at_a_time_and_everything_once(rounds):
    for schedule in every_schedule(4, rounds):
        run = simulate(schedule, Costs(2.0, 3.1, 1.7, 0.3))
        for device, row in enumerate(run.rows):
            assert all(before.end <= after.start for before, after in zip(row, row[1:]))
            assert run.busy(device) <= run.span(device) + 1e-9 and run.span(device) <= run.period <= run.makespan
        ran = [key for box in run.boxes for key in box.keys]
        assert len(set(ran)) == len(ran) == sum(len(item.keys) for row in schedule.passes for item in row)


def test_a_deadlock_says_who_waits_for_what():
    crossed = Schedule([[Pass("B", 0, 0), Pass("F", 0, 0)], [Pass("F", 0, 1), Pass("B", 0, 1)]])
    with pytest.raises(
        Deadlock, match=r"device 0: B of micro-batch 0 at stage 0 waits for F of micro-batch 0 at stage 0, which waits"
    ):
        simulate(crossed, Costs())
    with pytest.raises(
        Deadlock,
        match="device 1: F of micro-batch 1 at stage 1 waits for F of micro-batch 1 at stage 0, which no device",
    ):
        simulate(Schedule([[Pass("F", 0, 0)], [Pass("F", 1, 1)]]), Costs())
    with pytest.raises(Deadlock, match="reorder"):
        simulate(Schedule([[Pass("F", 0, 0), Pass("W", 0, 0), Pass("B", 0, 0)]]), Costs())


@pytest.mark.parametrize(
    ("make", "description"),
    [
        (lambda: gpipe(4, 0), "micro-batches must be"),
        (lambda: serve(2, 2, 1.5), "steps must be"),
        (lambda: interleaved(4, 6, 2), "4 devices divide"),
        (lambda: dualpipe(3, 8), "even number of devices"),
        (lambda: dualpipe(4, 6), "at least 8"),
        (lambda: zero_bubble(4, 8, Costs(), limit=0.5), "at least 1"),
        (lambda: simulate(gpipe(4, 4), Costs(forward=[1, 2, 3])), "forward has 3 times"),
        (lambda: simulate(Schedule([[Pass("F", 0, 0)] * 2]), Costs()), "listed 2 times"),
        (lambda: simulate(Schedule([[Pass("G", 0, 0)]]), Costs()), "not 'G'"),
        (lambda: simulate(Schedule([[]]), Costs()), "at least one pass on each"),
        (lambda: simulate(naive(2), Costs()).idle(3, 3), "end after it starts"),
    ],
)
def test_what_is_no_schedule_is_refused_with_a_reason(make, description):
    with pytest.raises(ValueError, match=description):
        make()


# --- inference -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("devices", [1, 2, 4, 7])
def test_one_batch_at_a_time_uses_one_device_of_all(devices):
    run = simulate(naive(devices, steps=3), Costs(forward=5))
    assert run.bubble == pytest.approx(1 - 1 / devices) and run.makespan == 3 * devices * 5


@pytest.mark.parametrize(("devices", "micro_batches"), list(product([2, 4, 8], [1, 2, 3, 4, 7, 8, 12])))
def test_decoding_is_full_from_as_many_micro_batches_as_stages(devices, micro_batches):
    run = simulate(serve(devices, micro_batches, 40), Costs(forward=3))
    cycle = 3 * max(devices, micro_batches)
    assert run.idle(5 * cycle, 20 * cycle) == pytest.approx(1 - min(1, micro_batches / devices), abs=1e-12)
    steps = sorted(box.end for box in run.rows[-1] if box.micro_batch == 0)
    assert {after - before for before, after in zip(steps, steps[1:])} == {cycle}  # time per token


def test_hops_lengthen_a_token_and_more_micro_batches_hide_them():
    devices, forward, hop = 4, 5, 2.5  # the lecture's 20 ms that become 30 ms (1:15:50)
    steps = sorted(
        box.end for box in simulate(serve(devices, 4, 20), Costs(forward, hop=hop)).rows[-1] if not box.micro_batch
    )
    assert steps[-1] - steps[-2] == 30
    assert simulate(serve(devices, 6, 20), Costs(forward, hop=hop)).idle(100, 300) == pytest.approx(0)


def test_the_slowest_stage_sets_the_pace():
    stages = [3, 5, 2, 4]
    run = simulate(serve(4, 9, 1), Costs(forward=stages))
    assert run.makespan == sum(stages) + 8 * max(stages)
    assert simulate(dualpipe(4, 8), Costs(stages, stages)).busy(1) == 4 * 2 * (stages[1] + stages[2])


# --- training: closed forms ------------------------------------------------------------------------------------------


def test_the_board_has_14_slots_of_which_8_are_busy():
    run = simulate(gpipe(4, 4), Costs())
    assert (run.makespan, run.busy(0)) == (14, 8) and run.bubble == pytest.approx(3 / 7)


@pytest.mark.parametrize(("shape", "cost"), list(product(SHAPES, UNEVEN)))
def test_gpipe_and_1f1b_take_equally_long_whatever_a_backward_costs(shape, cost):
    devices, micro_batches = shape
    for make in (gpipe, one_f_one_b):
        run = simulate(make(*shape), Costs(*cost))
        assert set(idle(run)) == {(devices - 1) * sum(cost)}
        assert run.bubble == pytest.approx((devices - 1) / (micro_batches + devices - 1), abs=1e-12)
    assert simulate(gpipe(devices, 1), Costs(*cost)).bubble == pytest.approx(1 - 1 / devices)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_1f1b_saves_is_memory(shape):
    devices, micro_batches = shape
    assert peaks(simulate(gpipe(*shape), Costs())) == [micro_batches] * devices
    assert peaks(simulate(one_f_one_b(*shape), Costs())) == [min(micro_batches, devices - i) for i in range(devices)]


def test_hops_cost_gpipe_two_journeys_and_1f1b_more():
    still, slow = Costs(5, 10), Costs(5, 10, hop=1)
    assert simulate(gpipe(4, 12), slow).makespan - simulate(gpipe(4, 12), still).makespan == 2 * 3
    assert simulate(one_f_one_b(4, 12), slow).makespan > simulate(gpipe(4, 12), slow).makespan


@cases(("devices", "rounds", "chunks", "cost"), list(product([2, 4, 8], [1, 2, 5], [1, 2, 3], UNEVEN)))
def test_interleaving_divides_the_idle_time_by_the_chunks(devices, rounds, chunks, cost):
    run = simulate(interleaved(devices, rounds * devices, chunks), Costs(*map(Fraction, cost)))
    assert set(idle(run)) == {Fraction((devices - 1) * sum(cost), chunks)}


@pytest.mark.parametrize(("devices", "chunks"), list(product([2, 4, 8], [2, 3])))
def test_interleaving_holds_a_little_more(devices, chunks):
    most = simulate(interleaved(devices, 4 * devices, chunks), Costs()).peak(0)
    assert most == pytest.approx(devices * (1 + (devices - 1) / (devices * chunks)))  # arXiv 2205.05198, 4.2.3


@cases(("devices", "rounds", "cost"), list(product([2, 4, 8], [1, 2, 5], SPLIT)))
def test_zb_h1_hides_a_weight_gradient_per_stage_at_the_memory_of_1f1b(devices, rounds, cost):
    forward, backward, weight = cost
    run = simulate(zero_bubble_h1(devices, rounds * devices), Costs(*cost))
    whole = backward + weight  # the B of DeepSeek's table
    assert (
        run.makespan - run.busy(0)
        == (devices - 1) * (forward + backward - weight)
        == (devices - 1) * (forward + whole - 2 * weight)
    )
    assert peaks(run, kept=1) == [devices] * devices


@cases(("devices", "more", "cost"), list(product([2, 4, 8], [-1, 0, 20], SPLIT)))
def test_zb_h2_hides_two_and_leaves_no_bubble_where_all_three_cost_the_same(devices, more, cost):
    forward, backward, weight = cost
    run = simulate(zero_bubble_h2(devices, 2 * devices + more), Costs(*cost))
    assert run.period - run.busy(0) == (devices - 1) * (forward + backward - 2 * weight)
    assert (run.period_bubble == 0) == (forward + backward == 2 * weight)
    assert peaks(run, kept=1) == [2 * devices - 1] * devices


def test_zb_h2_has_a_bubble_if_all_devices_wait_for_each_other():
    run = simulate(zero_bubble_h2(4, 12), Costs(1, 1, 1))
    assert (
        run.period_bubble == 0 and idle(run) == [3] * 4
    )  # a parallelogram: each device starts one F after the one before


def test_a_weight_gradient_dearer_than_its_b_does_not_fit_the_hole():
    devices, (forward, backward, weight) = 4, (2, 2, 3)
    run = simulate(zero_bubble_h1(devices, 12), Costs(forward, backward, weight))
    assert run.makespan - run.busy(0) > (devices - 1) * (forward + backward - weight)


@cases(("devices", "rounds", "cost"), list(product([2, 4, 8, 16], [2, 3], [(1, 1), (2, 1), (3, 2), (5, 3)])))
def test_dualpipe_has_the_bubble_and_the_memory_of_its_authors(devices, rounds, cost):
    forward, weight = cost  # the closed form takes the two gradients apart, and F and B as long as each other
    whole = forward + weight
    for overlapped in (forward + whole, Fraction(9, 10) * (forward + whole), Fraction(3, 4) * (forward + whole)):
        run = simulate(dualpipe(devices, rounds * devices), Costs(forward, forward, weight, overlapped=overlapped))
        assert max(idle(run)) == (devices // 2 - 1) * (overlapped + whole - 3 * weight)
        assert idle(run)[devices // 2] == max(idle(run))  # a device in the middle overlaps most, and so idles most
        assert peaks(run) == peaks(run, kept=1) == [devices + 1] * devices


@pytest.mark.parametrize("devices", [4, 8])
def test_dualpipe_is_symmetric_and_each_device_sees_every_micro_batch(devices):
    run = simulate(dualpipe(devices, 20), Costs(3, 4, 2, overlapped=8))
    for device in range(devices):
        mirror = run.rows[devices - 1 - device]
        assert [(box.start, box.end) for box in run.rows[device]] == [(box.start, box.end) for box in mirror]
        assert {key[:2] for box in run.rows[device] for key in box.keys if key[0] != "W"} == set(
            product("FB", range(20))
        )


# --- training: searches ----------------------------------------------------------------------------------------------


def orders(micro_batches: int, limit: int, done=(0, 0, 0)) -> list[tuple]:
    """Every order in which a device can do its F, B and W and hold no more than `limit` activations."""
    forward, backward, weight = done
    if weight == micro_batches:
        return [()]
    out = []
    may = (forward < micro_batches and forward - weight < limit, backward < forward, weight < backward)
    for place, kind in enumerate("FBW"):
        if may[place]:
            after = tuple(count + (n == place) for n, count in enumerate(done))
            out += [((kind, done[place]), *rest) for rest in orders(micro_batches, limit, after)]
    return out


def shortest(devices: int, micro_batches: int, limit: int, costs: Costs):
    """The shortest period of all schedules there are."""
    periods = []
    for rows in product(orders(micro_batches, limit), repeat=devices):
        try:
            run = simulate(
                Schedule([[Pass(kind, batch, device) for kind, batch in row] for device, row in enumerate(rows)]), costs
            )
            periods.append(run.period)
        except Deadlock:
            pass
    return min(periods)


TINY = [(2, 3, 2), (2, 3, 3), (3, 2, 2)]  # devices, micro-batches, limit
WITH_HOP = [(1, 1, 1, 0), (3, 4, 2, 0), (2, 2, 3, 0), (4, 4, 3, 1)]


@pytest.mark.parametrize(("shape", "cost"), list(product(TINY, WITH_HOP)))
def test_the_search_finds_the_best_of_all_schedules_where_all_can_be_tried(shape, cost):
    devices, micro_batches, limit = shape
    run = simulate(zero_bubble(devices, micro_batches, Costs(*cost), limit), Costs(*cost))
    assert run.period == shortest(*shape, Costs(*cost))


# devices, micro-batches, limit, and what W keeps
SEARCHES = (st.integers(1, 7), st.integers(1, 20), st.integers(1, 16), st.sampled_from([0.0, 0.4, 1.0]))


@settings(max_examples=40)
@given(*SEARCHES, st.tuples(*[st.integers(1, 9)] * 4))
def test_the_search_keeps_to_the_memory_and_loses_to_none_made_by_hand(devices, micro_batches, limit, kept, cost):
    costs = Costs(*cost)
    run = simulate(zero_bubble(devices, micro_batches, costs, limit, kept), costs)
    assert max(peaks(run, kept)) <= limit + 1e-6
    assert [run.busy(device) for device in range(devices)] == [micro_batches * sum(cost[:3])] * devices
    for made, needed in ((zero_bubble_h1, devices), (zero_bubble_h2, 2 * devices - 1)):
        assert limit < needed or run.period <= simulate(made(devices, micro_batches), costs).period


@given(*SEARCHES, st.tuples(*[st.integers(0, 9)] * 4), st.booleans())
def test_the_times_of_a_search_are_those_of_the_simulator(devices, micro_batches, limit, kept, cost, patient):
    """The search reckons its own times; a simulation of the lists that it made is the second route."""
    costs = Costs(*cost)
    run = simulation.Greedy(devices, micro_batches, costs, limit, kept, patient).run()
    lists = Schedule([[Pass(box.kind, box.micro_batch, box.stage) for box in row] for row in run.rows])
    assert simulate(lists, costs).boxes == run.boxes
    found, run = simulation.searched(devices, micro_batches, costs, limit, kept)
    assert simulate(found, costs).boxes == run.boxes


# --- against measurements --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared():
    """The 48 rows of arXiv 2401.10241 by schedule."""
    rows = numbers.compared()
    return {name: [row for row in rows if row.schedule == name] for name in ("1F1B", "1F1B-I", "ZB-1p", "ZB-2p")}


def points(rows) -> list[float]:
    """Simulated bubble above the paper's calculated one, in percentage points."""
    return [100 * (row.run.period_bubble - row.paper_bubble) for row in rows]


def test_the_bubbles_of_1f1b_and_zb_1p_are_the_papers_to_its_last_digit(compared):
    for name in ("1F1B", "ZB-1p"):
        assert len(compared[name]) == 12 and max(map(abs, points(compared[name]))) < 0.0051  # half of a fourth digit


def test_the_bubbles_of_zb_2p_are_the_papers_but_for_its_longer_search(compared):
    off = points(compared["ZB-2p"])
    assert fmean(map(abs, off)) < 0.08 and max(map(abs, off)) < 0.32


def test_the_paper_counts_one_hop_per_device_less_for_interleaving(compared):
    """Ours lies above by up to 0.35 points, and in all twelve rows by as many hops as there are devices."""
    off = points(compared["1F1B-I"])
    assert min(off) > 0 and max(off) < 0.36
    hops = simulation.catalogue.measurement("zero_bubble_pipeline")
    hop = {
        row[:3]: row[3] / 1000
        for row in zip(*map(hops.column, ("model", "stages", "microbatches", "transfer_ms")), strict=True)
    }
    for row in compared["1F1B-I"]:
        less = row.run.period - row.devices * hop[row.model, row.devices, row.micro_batches]
        assert 1 - row.run.busy(0) / less == pytest.approx(row.paper_bubble, abs=1.1e-4)


@pytest.mark.parametrize(("name", "bound"), [("1F1B", 0.07), ("1F1B-I", 0.14), ("ZB-1p", 0.08), ("ZB-2p", 0.10)])
def test_no_measurement_beats_the_simulated_throughput_and_the_gap_is_small(compared, name, bound):
    gaps = [row.throughput / row.measured_throughput - 1 for row in compared[name]]
    assert min(gaps) > 0 and max(gaps) < 0.18 and bound - 0.011 < fmean(gaps) < bound


def test_the_peaks_foretell_what_memory_a_schedule_adds_to_1f1b(compared):
    """1 to 31 GB, printed in whole ones, and most of it known to 1 GB; weights and optimizer are the same and drop
    out.
    """
    base = {(row.model, row.micro_batches): row for row in compared["1F1B"]}
    off = []
    for row in (row for name in ("1F1B-I", "ZB-1p", "ZB-2p") for row in compared[name]):
        plain = base[row.model, row.micro_batches]
        assert row.activations < row.measured_memory
        off.append((row.activations - plain.activations) - (row.measured_memory - plain.measured_memory))
    assert fmean(map(abs, off)) < 1e9 and max(map(abs, off)) < 3.3e9


def test_the_measured_order_of_schedules_is_the_simulated_one_where_they_differ_enough(compared):
    """One simulated 4% faster than another was measured faster. Interleaving is left out: it falls behind ZB-1p by
    its hops.
    """
    rows = [row for name in ("1F1B", "ZB-1p", "ZB-2p") for row in compared[name]]
    pairs = [(a, b) for a, b in product(rows, rows) if a[:3] == b[:3] and a.throughput > 1.04 * b.throughput]
    assert len(pairs) > 30 and all(a.measured_throughput > b.measured_throughput for a, b in pairs)
