"""The numbers that the racks lesson prints, by plain arithmetic; and the lecture's own."""

from __future__ import annotations

from math import comb

import pytest

from blackboard.catalogue import measurement
from blackboard.catalogue.running_case import RUNNING
from blackboard.formula import FormulaError
from blackboard.lessons.racks import equations as eq
from blackboard.lessons.racks import numbers


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    sent, active = 9 * 7168 * 3, 37_551_276_032
    token, per_chip = 58 * sent, 2 * active / 5e15  # bytes and seconds of one token, if one chip did it all
    exact = 64 * (1 - comb(252, 8) / comb(256, 8))
    expected = {
        "each": "4",
        "idle": "8",
        "all_gpus": f"{1 / (1 - (31 / 32) ** 4):.1f}",
        "hit": f"{64 * (1 - (31 / 32) ** 4):.2f}",
        "hit_exact": f"{exact:.2f}",
        "example_bytes": f"{32 * 9 * 7000 * 3 / 1e6:.2f} MB",
        "ib_us": "120.96 µs",
        "ib_step": "14.76 ms",
        "ib_rate": "68",
        "nv_rate": "1,220",
        "step_latency": f"{2 * 58 * 11.905e-3:.2f} ms",
        "faster": "18",
        "token_bytes": f"{token / 1e6:.1f} MB",
        "ratio_up": f"{token / 900e9 / per_chip:.2f}",
        "ratio_out": f"{token / 50e9 / per_chip:.0f}",
        "ratio_fp4": f"{2 * token / 900e9 / per_chip:.1f}",
        "link_needed": f"{token / per_chip / 1e9:.0f} GB/s",
        "idle_out": f"{1 - 50e9 * per_chip / token:.0%}",
        "tokens_per_chip": f"{2000 / 72:.1f}",
        "comm_batch": f"{2000 / 72 * token / 900e9 * 1e3:.2f} ms",
        "exchange_rack": f"{2000 / 72 * token / 900e9 * 1e3 + 2 * 58 * 11.905e-3:.2f} ms",
        "halves_rack": f"{2000 / 72 * token / 900e9 * 1e3 + 4 * 58 * 11.905e-3:.2f} ms",
        "halves_box": f"{8 / 9 * 2000 / 72 * token / 50e9 * 1e3 + 4 * 58 * 11.905e-3:.2f} ms",
        "exchange_box": f"{8 / 9 * 2000 / 72 * token / 50e9 * 1e3 + 2 * 58 * 11.905e-3:.2f} ms",
        "card_batch": f"{round(671_025_397_760 / 576e12 / (token / 72 / 50e9), -1):.0f}",
        "slower": "4",
        "slower_18": f"{18 / 2:g}",
        "slower_18_4": f"{18 * 3 / 4:g}",
        "slower_18_8": f"{18 * 7 / 8:g}",
        "fixed_18_2": f"{18 / 2 / 2:g}",
        "fixed_18_4": f"{18 * 3 / 4 / 4:.2f}",
        "fixed_18_8": f"{18 * 7 / 8 / 8:.2f}",
        "fixed_18_even": str(next(n for n in range(2, 99) if 18 * (n - 1) <= n * n)),
        "leaves_8": f"{100 * 7 / 8:g}%",
        "step_batch": f"{(671_025_397_760 + 2000 * 1000 * 61 * 576 * 2) / (72 * 8e12) * 1e3:.2f} ms",
        "memory_box": f"{(671_025_397_760 + 2000 * 1000 * 61 * 576 * 2) / (72 * 4.8e12) * 1e3:.2f} ms",
        "compute_rack": f"{2000 / 72 * per_chip * 1e3:.2f} ms",
        "compute_box": f"{2000 / 72 * 2 * active / 1.979e15 * 1e3:.2f} ms",
        "comm_box": f"{8 / 9 * 2000 / 72 * token / 50e9 * 1e3:.2f} ms",
        "blackwell_dies": "144",
        "h100_ratio": "9",
        "gb200_ratio": "18",
        "h800_ratio": "4",
        "chips_power": f"{72 * 1.2:.0f} kW",
        "cables": f"{72 * 18 * 4:,}",
        "ultra_dies": "576",
        "reached_rate": f"{512 * 7 * 7408 / (211.099 - 112.365) / 1e3:.0f} GB/s",
        "half_message": f"{11.905 * 512 * 8 * 7408 / (211.099 - 112.365) / 1e6:.1f} MB",
        "half_tokens": f"{11.905 * 512 / (211.099 - 112.365):.0f}",
        "ratio_reached": f"{1.33627 * token / 900e9 / per_chip:.1f}",
        "waits_range": f"{116 * 7.39e-3:.2f} to {116 * 12.78e-3:.2f} ms",
        "free_2": "2",
        "free_4": f"{4 / 3:.2f}",
        "fixed_free_2": f"{2 * 2 / 1:g}",
        "fixed_free_4": f"{4 * 4 / 3:.2f}",
        "fixed_free_8": f"{8 * 8 / 7:.2f}",
        "card_through": f"{round(50e9 / token, -1):,.0f}",
        "link_through": f"{round(900e9 / token, -2):,.0f}",
        "served_sglang": f"{round(22_282 / 8, -1):,.0f}",
    }
    assert {name: told[name] for name in expected} == expected


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
        assert half.in_turn < part.overlapped < part.in_turn


def test_break_even_ratios_are_where_the_slowdown_passes_one():
    """By halving an interval, for tokens that stay and for one batch."""
    for racks in (2, 4, 8):
        for formula, found in (
            (eq.slowdown, eq.ratio_hurts(racks=racks)),
            (eq.fixed_slowdown, racks * eq.ratio_hurts(racks=racks)),
        ):
            low, high = 0.1, 1e3
            for _ in range(60):
                middle = (low + high) / 2
                slow = formula(racks=racks, scale_up=middle, scale_out=1) > 1
                low, high = (low, middle) if slow else (middle, high)
            assert low == pytest.approx(found)


def test_deepseeks_own_figures_come_out():
    """Its paper prints 120.96 µs, 14.76 ms, 67, 6.72 µs, 0.82 ms and 1,200."""
    for network, rate, exchange, step, tokens in measurement("deepseek_isca25_ep_latency").rows:
        rate *= 1e9
        assert eq.ep_time(scale_up=rate, **numbers.EXAMPLE) * 1e6 == pytest.approx(exchange, rel=1e-3), network
        whole = eq.comm_time(scale_up=rate, **numbers.EXAMPLE, **numbers.WHOLE)
        assert whole * 1e3 == pytest.approx(step, rel=3e-3) and 1 / whole == pytest.approx(tokens, rel=2e-2)


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
