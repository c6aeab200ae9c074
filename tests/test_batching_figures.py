"""What the batching lesson's figures say: floors, kinks and prices by hand, measurements, and experts by routing."""

import pytest
from batching_page import WORKED
from pictures import picture

from blackboard import catalogue
from blackboard.catalogue.running_case import LECTURE_RENT, RUNNING
from blackboard.lessons.batching import equations as eq
from blackboard.lessons.batching import figures, numbers

LONG = RUNNING._replace(context=20_000)  # beyond the balanced context: no kink


# --- the numbers in the words -----------------------------------------------------------------------------------------


def rack(case):
    """Rates of a case by plain arithmetic: FLOP/s, bytes/s, bytes of weights, parameters, KV bytes of a sequence."""
    model, system = catalogue.model(case.model), catalogue.system(case.system)
    stored = model.n_total * {"fp4": 0.5, "fp8": 1}[case.precision]
    return (
        system.flops(case.precision),
        system.bandwidth,
        stored,
        model.n_active,
        model.kv_bytes_per_token() * case.context,
    )


@pytest.mark.parametrize("case", [WORKED, RUNNING])
def test_board_figures_say_floor_and_kink(case):
    """Floor and kink of B1 by hand."""
    flops, bandwidth, stored, active, kv = rack(case)
    floor, kink = stored / bandwidth, stored / bandwidth / (2 * active / flops - kv / bandwidth)
    assert f"floor of {floor * 1e3:.4g} ms" in picture(figures, "latency", (case,)).alt
    assert f"at a batch of {kink:,.0f}." in picture(figures, "latency", (case,)).alt


def test_worked_case_is_the_lectures():
    """Figure B1 shows the oracles of the worked rack: 0.6836 ms, and a kink at twice 5,321 as L is about half of L*."""
    assert eq.latency_floor(WORKED) == pytest.approx(0.6836e-3, rel=1e-4)
    assert eq.critical_batch(WORKED) == pytest.approx(5321, abs=0.5)
    assert "0.6836 ms" in picture(figures, "latency", (WORKED,)).alt


@pytest.mark.parametrize("case", [WORKED, RUNNING])
def test_crossing_by_search(case):
    """The kink found by bisection of the two times, and as B* / (1 − L/L*)."""
    low, high = 1.0, 1e7
    while high / low > 1 + 1e-13:
        middle = (low * high) ** 0.5
        low, high = (
            (middle, high)
            if eq.compute_time(case, batch=middle) < eq.memory_time(case, batch=middle)
            else (low, middle)
        )
    assert eq.crossing(case) == pytest.approx(low, rel=1e-9)
    assert eq.crossing(case) == pytest.approx(
        eq.critical_batch(case) / (1 - case.context / eq.balanced_context(case)), rel=1e-12
    )


def test_beyond_the_balanced_context_there_is_no_kink():
    assert "no batch is ever compute-bound" in picture(figures, "latency", (LONG,)).alt
    assert f"the balanced {eq.balanced_context(LONG):,.0f} tokens" in picture(figures, "latency", (LONG,)).alt


def test_the_card_lies_on_the_curve():
    """Both batches by hand: 1.8 times the weights' bytes in caches, and a fifteenth of it."""
    _, bandwidth, stored, _, kv = rack(RUNNING._replace(context=10_000))
    said = picture(figures, "card").alt
    for caches in (1.8, 1.8 / 15):
        batch, step = caches * stored / kv, (1 + caches) * stored / bandwidth
        paid = 72 * LECTURE_RENT / 3600 * step / batch * 1e6
        batch, speed = float(f"{batch:.3g}"), float(f"{1 / step:.2g}")
        assert f"of {batch:,.0f}, gives a user about {speed:.0f} tokens per second at ${paid:.2g}" in said
    assert f"bottom at ${72 * LECTURE_RENT / 3600 * kv / bandwidth * 1e6:.2g}." in said


# --- measurements -----------------------------------------------------------------------------------------------------


def test_no_gemm_beats_its_floor():
    """Every measured row is at or above the ideal: the floor holds."""
    rows = numbers.gemm_rows()
    assert len(rows) == len(catalogue.measurement("h200_gemm").rows) == 132
    below = [row for row in rows if row.measured < row.ideal]
    assert not below, f"measured faster than the roofline allows: {below}"


def test_gemm_floor_by_hand():
    """The ideal of one memory-bound and one compute-bound row, with the datasheet's numbers."""
    ideal = {(row.dtype, row.m, row.n): row.ideal for row in numbers.gemm_rows()}
    chip = catalogue.chip("h200")
    small = (8192 * 8192 * 2 + 1 * (8192 + 8192) * 2) / chip.hbm_bytes_per_s
    large = 2 * 32768 * 8192 * 8192 / chip.flops("fp8")
    assert ideal["bfloat16", 1, 8192] == pytest.approx(small * 1e6, rel=1e-12)
    assert ideal["fp8", 32768, 8192] == pytest.approx(large * 1e6, rel=1e-12)


def test_runs_keep_above_the_roofline_of_a_dense_model():
    """Weights and FP8 caches of the mean context over the bandwidth of so many H200, by plain arithmetic."""
    for gpus in (1, 8):
        for row in numbers.loaded(gpus):
            cache = row.batch * 0.9 * 1_536 * 80 * 2 * 8 * 128
            ideal = (70_552_387_584 + cache) / (gpus * 4.8e12)
            assert row.ideal == pytest.approx(ideal, rel=1e-3) and row.measured > 1.3 * ideal


def test_the_sweep_is_loading_two_tokens_of_computing_and_nearly_the_same_rest():
    """Llama 70B on one H200, by plain arithmetic, against the points as published."""
    took = {4: 20.1136, 8: 21.1223, 16: 22.9874, 32: 25.8024, 64: 32.335, 128: 44.9193}
    rest = {}
    for users, measured in took.items():
        loads = (70_552_387_584 + users * 0.9 * 1_536 * 80 * 2 * 8 * 128) / 4.8e12
        computes = 2 * users * 2 * 70_552_387_584 / 1.979e15
        rest[users] = 1e3 * -(loads + computes) + measured
    assert [row.rest for row in numbers.swept()] == pytest.approx(list(rest.values()), abs=0.1)
    told = numbers.all()
    assert (told["sweep_rest_low"], told["sweep_rest_high"]) == (f"{rest[4]:.1f}", f"{rest[128]:.1f} ms")
    assert told["sweep_grown"] == f"{took[16] / took[4] - 1:.0%}" and told["sweep_length"] == "922"
