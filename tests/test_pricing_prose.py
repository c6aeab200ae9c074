"""The numbers that the pricing lesson prints, by plain arithmetic; the lecture's own; and what a card is read to
imply.
"""

from __future__ import annotations

import re

import pytest
import yaml
from lessons import LIB, sig

from blackboard.catalogue import price, prices
from blackboard.formula import FormulaError
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing import numbers
from blackboard.lessons.pricing.implied import SIZES, every_card, implied, listing

HOUR = 3600


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    v3, active, chip = (
        61 * 576 * 2,
        37_551_276_032,
        {"flops": 5e15, "bandwidth": 8e12, "hbm": 186e9, "rent": 3.30 / HOUR},
    )
    balanced = lambda n, kv: 2 * n * chip["bandwidth"] / (chip["flops"] * kv)
    r1, own = 2.19 / 0.55, 2 * active * 3.35e12 / (1979e12 * v3)  # on its own H800
    remat = lambda n: 1e6 * 2 * n / chip["flops"] * chip["rent"]
    # prefill token by token: 61 layers, 128 heads, keys of 192 and values of 128 numbers, in BF16 at half the rate
    seen = lambda tokens: sum(range(1, tokens + 1)) / tokens
    slow = lambda tokens: 1 + 2 * seen(tokens) * 61 * 128 * 2 * (192 + 128) / (2 * active)
    even = 2 * active * 186e9 / (v3 * 5e15)
    r = 5_000 / balanced(active, v3) + 671.03e9 / active * 5e15 / (2 * 8e12) / 10_000
    expected = {
        "own_v3": f"{active / 300 / 200_000:.0f}",
        "own_72": f"{72_704_065_536 / 300 / 200_000:,.0f}",
        "own_405": f"{405_849_243_648 / 300 / 200_000:,.0f}",
        "rack_ratio": "312.5",
        "flash_needs": sig(6_880 * 200_000 * 2.5e15 / (2 * 8e12) / 1e9),
        "ds_balanced": sig(own, 3),
        "slower_short": sig(slow(2_000), 3),
        "slower_agent": sig(slow(50_000), 3),
        "slower_long": sig(slow(200_000), 3),
        "even_short": f"{even * slow(2_000):.0f} s",
        "even_agent": f"{sig(even * slow(50_000))} s",
        "even_long": f"{sig(even * slow(200_000))} s",
        "remat_agent": f"${remat(active) * slow(50_000):.3f}",
        "r_5000": sig(r, 3),
        "balanced_bf16": "7,600",
        "balanced_exact": sig(balanced(active, v3), 3),
        "small_drain": f"{7.68e12 / 28e9 / 60:.0f} minutes",
        "out_5000": f"${remat(active) * r:.3f}",
        "kv_fp8": "1,667",
        "kv_fp4": "833.3",
        "kv_bf16": "3,333",
        "heads": "2,048",
        "kv_v3": "70,272",
        "kv_405": "516,096",
        "kv_72": "327,680",
        "more_least": f"{v3 * 300 * 200_000 / active:.0f}",
        "more_most": f"{516_096 * 300 * 200_000 / 405.85e9:.0f}",
        "balanced_v3": sig(balanced(active, v3)),
        "balanced_405": sig(balanced(405.85e9, 516_096)),
        "covered": "300,000",
        "million": "5",
        "card_kv_low": sig(2 * 30e9 * 8e12 / (10e15 * 200_000)),
        "card_kv_high": sig(2 * 300e9 * 8e12 / (2.5e15 * 200_000)),
        "g_ratio": "6",
        "g_ratio_far": "4.5",
        "mfu": "20%",
        "c_ratio": "5",
        "ds_ratio": sig(r1, 3),
        "card_context": sig(own * (r1 - 0.5)),
        "card_context_low": sig(own * (r1 - 1)),
        "card_context_high": sig(own * r1),
        "ds_prefill_mfu": f"{73_700 * 0.437 * 2 * active / (8 * 1979e12):.0%}",
        "ds_decode_mfu": f"{14_800 * 2 * active / (8 * 1979e12):.0%}",
        "stepped_context": "1.2 million",
        "needed": "3.3",
        "ds_memory": sig(0.5 + 4989 * v3 / 3.35e12 / (2 * active / 1979e12), 3),
        "ds_over": f"{own * (r1 - 0.5) / 4989 - 1:.0%}",
        "ds_peak": "8 × 1.979 PFLOP/s",
        "same_cards": "8",
        "dropped_days": "36",  # 5 February to 13 March
        "kv_rack": "1,600",  # 100 billion / 312.5 / 200,000
        "att_v3": sig(2 * active / (2 * 61 * 128 * (576 + 512))),
        "att_v3_wide": f"{(576 + 512) // 2}",
        "att_prefill_wide": f"{(192 + 128) // 2}",
        "ddr_own": f"{2 * 12 * 6.4e9 * 8 / 1e12:.2f} TB/s",
        "ds_attend": sig(1 + 4989 * 2 * 61 * 128 * 1088 / 989.5e12 / (2 * active / 1979e12), 3),
        "balanced_72": sig(balanced(72.7e9, 327_680)),
        "sparse_more": f"{132 / 656:.0%}",
        "fetch": f"${1e6 * v3 * 0.365e-9 * 30.72e12 / (5 * 365 * 24 * HOUR) / 28e9:.5f}",
        "over_1h": f"{5e-6 / v3 * 1e9 / (3.3 / 186):.1f}",
        "over_storage": sig(4.5e-6 / v3 * 1e9 / (3.3 / 186)),
        "over_large": sig(4.5e-6 / 516_096 * 1e9 / (3.3 / 186), 1),
        "storage_usd": "$4.50",
        "ds_rates": f"{73_700 / 14_800:.1f}",
        "ds_miss_rate": sig(73_700 * (1 - 0.563) / 14_800),
        "att_405": sig(2 * 405.85e9 / (4 * 126 * 128 * 128)),
        "double_405": sig(4 * 405.85e9 / (4 * 126 * 128 * 128)),
        "intensity_405": "16",
        "chip_bf16": "312.5",
        "dense_read": f"{131_072 * 656 * 61 / 1e9:.2f} GB",
        "sparse_read": f"{(131_072 * 132 + 2048 * 656) * 61 / 1e9:.2f} GB",
        "held_times": f"{(656 + 132) / (132 + 656 * 2048 / 131_072):.1f}",
        "held_million": f"{(656 + 132) / (132 + 656 * 2048 / 1e6):.1f}",
        "sparse_most": "4.97",
        "root": "16,000",
        "block": "125",
        "month_v3": f"{100e6 * v3 / 1e12:.1f} TB",
        "month_share": f"{100e6 * v3 / (72 * 186e9):.0%}",
        "remat_v3": f"${remat(active):.4f}",
        "even_board": f"{2e11 * 186e9 / (2000 * 5e15) / 60:.0f} minutes",
        "even_v3": f"{2 * active * 186e9 / (v3 * 5e15):.0f} s",
        "ddr_1h": f"${1e6 * v3 * 14.1e-9 / (5 * 365 * 24) * (1 + 3e12 / 504e9 / HOUR):.3f}",
        "ssd_5": f"${1e6 * v3 * 0.365e-9 / (5 * 365 * 24 * HOUR) * (300 + 30.72e12 / 28e9):.5f}",
        "drain_hdd": f"{30e12 / 275e6 / HOUR:.0f} hours",
        "uses_5": f"{1.15 / 0.9:.2f}",
        "uses_1h": f"{1.9 / 0.9:.2f}",
        "least_5": "2",
        "least_1h": "3",
        "premium_5": "$1.25",
        "premium_1h": "$5",
        "asked_5": f"${1.25e-6 / (300 * v3) * 1e9 * HOUR:.2f}",
        "asked_1h": f"${5e-6 / (HOUR * v3) * 1e9 * HOUR:.3f}",
        "asked_storage": f"${4.5e-6 / v3 * 1e9:.3f}",
        "hbm_rent": f"${3.3 / 186:.4f}",
        "asked_over": sig(1.25e-6 / (300 * v3) * 1e9 * HOUR / (3.3 / 186)),
        "margin": sig(5 / remat(100e9), 3),
        "margin_ds": sig(0.27 / (1e6 * 2 * active / 1979e12 * 2 / HOUR)),
        "margin_real": sig(5 / remat(100e9) * 0.15),
        "bill_paid": f"${45_000 * 0.5e-6 + 5_000 * 6.25e-6 + 1_000 * 25e-6:.3f}",
        "bill_out": f"{1_000 * 25e-6 / (45_000 * 0.5e-6 + 5_000 * 6.25e-6 + 1_000 * 25e-6):.0%}",
        "tokens_out": f"{1_000 / 51_000:.0%}",
        "dearest": "50",
        "bill_fresh": f"${50_000 * 5e-6 + 1_000 * 25e-6:.3f}",
        "bill_times": sig((50_000 * 5 + 1_000 * 25) / (45_000 * 0.5 + 5_000 * 6.25 + 1_000 * 25)),
        "hbm_5": f"${1e6 * v3 * 300 / 186e9 * 3.3 / HOUR:.2f}",
        "hbm_1h": f"${1e6 * v3 / 186e9 * 3.3:.1f}",
        "more_72": f"{327_680 * 300 * 200_000 / 72.7e9:.0f}",
        "day_ratio": f"{562_027 / 87_072:.2f}",
    }
    assert {name: told[name] for name in expected} == expected


# --- reading a card ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("card", prices(), ids=lambda card: card.id)
def test_every_card_is_read_within_its_range_or_says_why_not(card):
    found, printed = implied(card), card.usd_per_Mtok
    assert found.out_in == pytest.approx(printed.output / printed.input)
    assert found.mfu == pytest.approx(min(1, printed.input / printed.output))
    ranges = [found.kv, found.context, found.margin, *found.byte_rents.values()]
    assert all(0 <= r.low <= r.mid <= r.high for r in ranges if r)
    assert (found.kv is None) == (card.above is None) and (
        found.net is not None or any("published" in why for why in found.doubts)
    )
    assert card.id in str(listing(found)) and card.valid_from in str(listing(found))


def test_a_longer_step_implies_a_smaller_cache_in_proportion():
    near, far = implied(price("gemini-3.1-pro-preview@2026-02-19")), implied(price("gpt-5.5@2026-04-23"))
    assert near.kv.mid / far.kv.mid == pytest.approx(272_000 / 200_000)
    assert near.kv.high / near.kv.low == pytest.approx(4 * SIZES.high / SIZES.low)


def test_every_card_of_the_data_file_stands_in_the_table():
    listed = yaml.safe_load((LIB / "catalogue" / "data" / "prices.yaml").read_text("utf8"))
    assert str(every_card()).count("<tr>") == len(listed) + 1
    assert not re.search(r"\bnan\b|\binf\b|None", str(every_card()))


def test_a_published_context_lies_near_what_the_card_implies():
    """The one check from outside: DeepSeek says 4,989 tokens; the card's middle is within a third of it."""
    assert implied(price(numbers.OPEN)).context.mid == pytest.approx(4_989, rel=0.34)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(FormulaError, match="1 <= step_ratio"):
        eq.context_covered(step_ratio=0.5, step_context=200_000)
    with pytest.raises(FormulaError, match="holds only where"):
        eq.context_implied(context_balanced=1700, output_price=1, input_price=1, batch_critical=10, batch=5)
    with pytest.raises(FormulaError, match="read_ratio"):
        eq.uses_even(write_ratio=1.25, read_ratio=1)
