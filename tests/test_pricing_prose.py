"""The numbers that the pricing lesson prints, by plain arithmetic; the lecture's own; and what a card is read to
imply.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
from datetime import date

import pytest
import yaml
from cases import cases
from lessons import LIB, page, sig

from blackboard.catalogue import price, prices, system
from blackboard.formula import FormulaError
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing import numbers, results, simulation
from blackboard.lessons.pricing.implied import SIZES, every_card, implied, listing

HOUR = 3600


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    v3, active, total = 61 * 576 * 2, 37_551_276_032, 671_025_397_760  # bytes per token, and parameters, of DeepSeek-V3
    fp8, bf16, load, hbm, rent = 5e15, 2.5e15, 8e12, 186e9, 3.30 / HOUR  # one GPU, and USD per second
    mtok = 1e6 * rent  # dollars of a million tokens that take a GPU second each
    again = lambda n: mtok * 2 * n / fp8

    # token by token: 61 layers, 128 heads, keys of 192 and values of 128 numbers in prefill, latents of 576 and 512
    look, look_decode = (61 * 128 * 2 * wide for wide in (192 + 128, 576 + 512))
    new = lambda at: 2 * active / fp8 + at * look / bf16
    wide = 2 * 61 * 128 * 512 * (128 + 128)  # to expand a latent into the keys and values of all heads
    fresh = lambda prompt: new(prompt - 2_500) + wide * (prompt - 5_000) / 5_000 / bf16  # one of 5,000 at its end
    room = lambda at: (72 * hbm - total) / (at * v3)
    loads = lambda at: total / room(at) / load + at * v3 / load
    makes = lambda at: 2 * active / fp8 + at * look_decode / bf16
    out = lambda at: max(loads(at), makes(at))
    prompt = lambda tokens: mtok * sum(new(at) for at in range(500, tokens, 1_000)) / (tokens / 1_000)
    hold = lambda seconds: mtok * v3 / hbm * seconds
    far = 180_000
    bill = {"input": 5_000 * 6.25e-4, "output": 2.5, "cached_read": 175_000 * 0.5e-4}  # cents
    paid = sum(bill.values())
    ssd, hdd, ddr = 0.365e-9 / (5 * 365 * 24 * HOUR), 0.034e-9 / (5 * 365 * 24 * HOUR), 14.1e-9 / (5 * 365 * 24 * HOUR)
    on = lambda price, drain, seconds: 1e6 * v3 * price * (seconds + drain)
    flash, disk, main = 30.72e12 / 28e9, 30e12 / 275e6, 3e12 / 504e9
    cost = {"input": 0.5 * mtok * fresh(far), "output": 0.1 * mtok * out(far)}
    rest = sum(cost.values())
    alone = 0.5 * mtok * fresh(5_000) + 0.1 * mtok * out(5_000)
    hits = {"hbm": 17.5 * hold(120), "ddr": 17.5 * on(ddr, main, 120), "ssd": 17.5 * on(ssd, flash, 120)}
    hits["hdd"] = 17.5 * on(hdd, disk, 120)
    # a rack of such calls, its rate found by halving: places = running + waiting, and the rack is always busy
    answers, prefills, places = 1_000 * far * v3 / load / 72, 5_000 * fresh(far) / 72, room(far)

    def finished(pause, slow_in=1.0, slow_out=1.0):
        each = lambda running: prefills * slow_in + slow_out * (answers + 1_000 * total / load / 72 / running)
        low, high = 1e-3, places
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if middle + pause / each(middle) < places else (low, middle)
        return 1 / each(low), low

    cents = 100 * 72 * rent  # of the rack, per second
    keeps = {n: cents / finished(60 * n)[0] - rest for n in (1, 2, 5)}
    needs = rest / cents  # seconds of the rack for a call
    running = finished(120)[1] / finished(120)[0]
    ordinary = lambda n, layers, heads, at=177_500: 2 * n / fp8 + at * 4 * layers * heads * 128 / bf16
    llama = lambda at: ordinary(70_552_387_584, 80, 64, at)
    own_day = lambda flop, speed: speed * 8 * 2 / HOUR / (2 / HOUR * flop)  # measured cost divided by the floor
    day_weights = 2 * active / 1979e12
    slower = own_day(day_weights + 4_989 / 2 * look / 989.5e12, 1 / (73_700 * 0.437))
    measured = own_day(day_weights + 4_989 * look_decode / 989.5e12, 1 / 14_800)  # of output
    busy_in, busy_out = cost["input"] * slower, cost["output"] * measured
    slow_call = cents / finished(120, slower, measured)[0]
    slow_needs = (busy_in + busy_out) / cents
    devices = {"ddr": (ddr, main), "ssd": (ssd, flash), "hdd": (hdd, disk)}
    caches = {"405": 126 * 4096, "70": 80 * 4096, "qwen": 94 * 2048, "v3": v3}
    sells = {name: 25 / (mtok * far * kept / load) for name, kept in caches.items()}
    expected = {
        # the bill
        "bill_paid": f"{paid:.1f} cents",
        "bill_last": f"{(195_000 * 0.5 + 5_000 * 6.25 + 1_000 * 25) / 1e4:.1f} cents",
        "bill_far": f"{(200_000 * 1 + 5_000 * 12.5 + 1_000 * 37.5) / 1e4:.1f} cents",
        "bill_rewritten": f"{(180_000 * 6.25 + 1_000 * 25) / 1e4:.0f} cents",
        **{f"cost_{name}": f"{sig(cost[name])} ¢" for name in ("input", "output")},
        "paid_all": f"{paid:.1f} ¢",
        "ddr_sum": f"(12.3 GB ÷ 3.00 TB × 120 s + 24 ms) × {100 * ddr * 3e12:.4f} ¢/s",
        "work_call": f"{1e3 * needs:.0f} ms",
        "work_from": f"{rest:.3f} ¢ ÷ {cents:.2f} ¢/s",
        "run_time": f"{running:.2f} s",
        "rate_sum": f"{places:,.0f} ÷ (120 s + {running:.2f} s)",
        "slow_losers": {2: "two"}[sum(ratio / measured < 1 for ratio in sells.values())],
        "running_2": sig(finished(120)[1], 3),
        "run_sum": f"{sig(finished(120)[1], 3)} × {1e3 * (prefills + answers):.1f} ms"
        f" + {1_000 * total / load / 72:.2f} s",
        "work_sum": f"{1e3 * (prefills + answers):.1f} ms + {1_000 * total / load / 72:.2f} s ÷ {places:,.0f}",
        "rack_rent": f"{cents:.2f} ¢",
        "free_sum": f"{places:,.0f} × {1e3 * needs:.0f} ms",
        "free_pause": f"{places * needs:.0f} s",
        "free_slow": f"{places * slow_needs / 60:.1f} minutes",
        "own_call": f"{1e3 * (prefills + answers):.1f} ms",
        "shared_call": f"{1_000 * total / load / 72:.2f} s",
        "call_2": f"{rest + keeps[2]:.2f} ¢",
        "turn_2": f"{120 + running:.0f} s",
        "place_sum": f"{cents:.2f} ¢/s × {120 + running:.0f} s ÷ {places:,.0f}",
        "running_few": f"{finished(120)[1]:.0f}",
        "alone_input": f"{100 * mtok * fresh(5_000):.1f} ¢",
        "alone_output": f"{100 * mtok * out(5_000):.1f} ¢",
        "booked_hit": f"{(rest - alone + keeps[2]) / 0.175:.1f} ¢",
        "keep_slow": f"{slow_call - cents * slow_needs:.3f} ¢",
        "hits_ssd_10": f"{10 * hits['ssd']:.3f} ¢",
        "fifty_sum": f"{1_000 * cost['output']:.1f} ÷ {keeps[2] / 0.175:.1f} = {sig(175 * cost['output'] / keeps[2])}",
        "each_input": f"{200 * cost['input']:.1f} ¢",
        "each_output": f"{1_000 * cost['output']:.1f} ¢",
        "each_hit": f"{keeps[2] / 0.175:.1f} ¢",
        "rack_sum": f"72 × {100 * rent:.4f} ¢ = {cents:.2f} ¢",
        "out_hit_half": sig(175 * cost["output"] / (cents / finished(30)[0] - rest)),
        "keep_2": f"{sig(keeps[2])} ¢",
        "rate_2": sig(finished(120)[0], 3),
        "out_hit_5": sig(175 * cost["output"] / keeps[5]),
        "x_hits": sig(8.75 / keeps[2]),
        "out_hit_booked": f"{0.1 * mtok * out(5_000) * 175 / (rest - alone + keeps[2]):.1f}",
        "out_in_short": f"{out(5_000) / fresh(5_000):.1f}",
        **{f"hits_{name}": f"{sig(hits[name])} ¢" for name in ("hbm", "ddr")},
        "hour_hbm": f"{17.5 * hold(3_600):.1f} ¢",
        **{f"hour_{name}": f"{sig(17.5e6 * v3 * price * 3_600, 3)} ¢" for name, (price, _) in devices.items()},
        **{f"back_{name}": f"{sig(17.5e6 * v3 * price * drain, 3)} ¢" for name, (price, drain) in devices.items()},
        "hits_again": f"{17.5 * prompt(175_000):.2f} ¢",
        "even_sum": f"{17.5 * prompt(175_000):.2f} ¢ ÷ {17.5 * hold(60):.3f} ¢ per minute",
        "c_write": f"${5 * 1.25}",
        "two_lines": f"{rest:.3f} ¢",
        # an ordinary cache: 80 layers, 64 heads and 8 KV heads of 128 numbers
        "ll_load_us": f"{far * 80 * 2 * 8 * 128 * 2 / load * 1e6:,.0f} µs",
        "ll_in_us": f"{llama(177_500) * 1e6:.0f} µs",
        "ll_out_us": f"{llama(far) * 1e6:.0f} µs",
        "ll_ratio": f"{far * 80 * 2 * 8 * 128 * 2 / load / llama(177_500):.0f}",
        "ll_weights": f"{70_552_387_584 / ((72 * hbm - 70_552_387_584) / (far * 327_680)) / load * 1e6:.1f} µs",
        "ratio_405": f"{far * 126 * 4096 / load / ordinary(405_849_243_648, 126, 128):.0f}",
        "ratio_qwen": f"{far * 94 * 2048 / load / ordinary(22_189_965_312, 94, 64):.0f}",
        "out_in_2": f"{out(far) / fresh(far):.1f}",
        "unpack_each": f"{wide / bf16 * 1e6:.2f} µs",
        "latent_each": f"{look_decode / bf16 * 1e9:.1f} ns",
        "load_each": f"{loads(far) / far * 1e9:.2f} ns",
        "unpack_from": sig(wide / (look_decode - look)),
        "copilot_share": f"{541.0 * 0.5 / (541.0 * 0.5 + 90.4 * 6.25 + 4.9 * 25):.0%}",
        "exe_share": "87%",
        "day_in_sum": "73,700 × (1 − 0.563) = 32,200",
        # a conversation of 36 calls, in millionths of a dollar, call by call
        "s_calls": "36",
        "s_usd": f"${sum(at * 0.5 + 5_000 * 6.25 + 1_000 * 25 for at in range(0, 180_000, 5_000)) / 1e6:.2f}",
        "t_past": f"{sum(range(0, 180_000, 500)) * 0.5 / (sum(range(0, 180_000, 500)) * 0.5 + 2_025_000):.0%}",
        "hits_copilot": f"{541.0 / 631.4:.0%}",
        "s_break": f"${175_000 * (6.25 - 0.5) / 1e6:.2f}",
        "s_hour": f"${180_000 * (10 - 6.25) / 1e6:.2f}",
        "s_break_after": f"{next(n for n in range(99) if n * 5_000 * (6.25 - 0.5) > 180_000 * (10 - 6.25))}",
        "first_paid_times": sig(paid / 5.625),
        "drop_factor": "11.5",  # 1.15 more for each token behind, a tenth less for each one dropped
        "drop_calls": "196",  # of 0.5 cents saved, to pay 97.75 cents (195.5)
        "bill_fresh": f"{(180_000 * 5 + 1_000 * 25) / 1e4:.1f} cents",
        "dearest": "50",
        "c_hour": "$10",
        "s_past": f"{1.575 / 3.6:.0%}",
        "x_output": sig(bill["output"] / cost["output"]),
        # input and output
        "gpu_second": f"{330 / HOUR:.4f} ¢",
        "in_bare": f"{100 * again(active):.2g} ¢",
        "in_over": sig(5 / again(active)),
        "t_new": f"{2 * active / fp8 * 1e6:.1f} µs",
        "before": "177,500",  # the first follows 175,000, the last 180,000
        "t_attend": f"{177_500 * look / bf16 * 1e6:.1f} µs",
        "t_in": f"{fresh(far) * 1e6:.0f} µs",
        "att_flop": f"{look / 1e6:.1f} million",
        "att_each": f"{look / bf16 * 1e9:.1f} ns",
        "att_each_sum": f"{look / 1e6:.1f} million FLOP ÷ 2.50 PFLOP/s",
        "short_in": f"{fresh(5_000) * 1e6:.1f} µs",
        "short_out": f"{out(5_000) * 1e6:.1f} µs",
        "att_wide": f"{(192 + 128) // 2}",
        "att_even": f"{round(2 * active / fp8 / look * bf16, -2):,.0f}",
        "out_batch": f"{room(far):,.0f}",
        "places_sum": f"({72 * 186e9 / 1e12:.2f} − {total / 1e12:.2f}) TB ÷ {180_000 * v3 / 1e9:.1f} GB",
        "t_weights": f"{total / room(far) / load * 1e6:.1f} µs",
        "t_cache": f"{far * v3 / load * 1e6:,.0f} µs",
        "t_out": f"{out(far) * 1e6:,.0f} µs",
        "t_compute": f"{makes(far) * 1e6:,.0f} µs",
        "compute_ratio": f"{makes(far) / fresh(far):.1f}",
        "in_weights": f"{total / 5_000 / load * 1e6:.1f} µs",
        "in_cache": f"{far * v3 / 5_000 / load * 1e6:.1f} µs",
        "in_load": f"{(total + far * v3) / 5_000 / load * 1e6:.1f} µs",
        "lat_more": f"{look_decode / look:.1f}",
        "t_latent": f"{far * look_decode / bf16 * 1e6:,.0f} µs",
        "expand": f"{wide * 35 / bf16 * 1e6:.1f} µs",
        "t_in_small": f"{(new(far - 250) + wide * (far - 500) / 500 / bf16) * 1e6:.0f} µs",
        "out_in_sum": f"{out(far) * 1e6:,.0f} ÷ {fresh(far) * 1e6:.0f}",
        "out_fast": f"{(total / 100 + far * v3) / load / out(far):.2f}",
        "bend": f"{round(next(n for n in range(1_000, 20_000, 10) if out(n) > makes(n)), -2):,}",
        "same_least": "1.0",
        "same_most": "4.1",
        # where a cache is kept
        "wait_ddr": f"{175_000 * v3 / 504e9 * 1e3:.0f} ms",
        "wait_ssd": f"{sig(175_000 * v3 / 28e9 * 1e3)} ms",
        "wait_hdd": f"{175_000 * v3 / 275e6:.0f} s",
        "cache_size": f"{175_000 * v3 / 1e9:.1f} GB",
        "even_call": f"{prompt(175_000) / hold(60):.1f} minutes",
        "until_hdd": f"{(prompt(175_000) / (1e6 * v3 * hdd) - disk) / 86_400:.0f} days",
        # writing to the cache
        "even_hits": "25",
        "even_writes": "90",
        "even_saved": "25 × 0.9 = 22.5",
        "even_lost": "90 × 0.25 = 22.5",
        "share_sum_5": "25 ÷ (25 + 90)",
        "write_more": "0.25",
        "hit_less": "0.9",
        "hour_more": "$3.75",
        "pings_even": "15",
        "pings_sum": "$3.75 ÷ ($0.50 ÷ 2)",
        "twice_1h": "2 + 0.1 = 2.1",
        "thrice_1h": "2 + 2 × 0.1 = 2.2",
        "share_5": f"{1 - 0.9 / 1.15:.0%}",
        "misses_saved": "39.5%",  # 0.75 of 1.9, and no less
        # the step
        "own_v3": f"{active / 312.5 / 200_000:.0f}",
        "step_active": f"{sig(v3 * 200_000 * 312.5 / 1e12)} trillion",  # active parameters
        "own_step_sum": f"{active / 1e9:.2f} billion ÷ 300 ÷ {v3:,} = {round(active / 300 / v3, -2):,.0f} tokens",
        "board_loaded": f"{100e9 / 300 / 1e6:.0f} million",
        "rack_ratio": "312.5",
        "board_ratio": "300",
        "board_sum": f"100 billion ÷ 300 ÷ 200,000 = {round(100e9 / 300 / 200e3, -2):,.0f} bytes",
        "kv_real": f"{v3:,}",
    }
    assert {name: told[name] for name in expected} == expected
    assert 35 * cost["input"] / (10 * hits["ssd"]) > 100, "in flash a hit costs almost nothing"
    assert rest + hits["hbm"] > 1.3 * (rest + keeps[2]), "full rent beside the two lines is more than the rack's rent"
    steps = [(keeps[2] - keeps[1]), (keeps[5] - keeps[2]) / 3]
    assert steps[1] == pytest.approx(steps[0], rel=0.06), "each further minute costs the same again"
    assert steps[1] == pytest.approx(17.5 * hold(60), rel=0.08), "about the full rent"
    assert cents / finished(places * needs)[0] - rest < 0.2 * rest, "to the border keeping is almost free"
    assert 1 / 16 < 175_000 * v3 / hbm < 1 / 14, "a fifteenth"
    assert bill["output"] / cost["output"] < bill["input"] / cost["input"] < 8.75 / keeps[2], "each line between"
    assert sum(at / measured > 1 for at in sells.values()) == 2 and min(sells.values()) > 1, "two of four still fit"
    assert llama(far) / llama(177_500) == pytest.approx(1, abs=0.02), "both kinds of token compute alike"
    assert 4 * 80 * 64 * 128 / look == pytest.approx(1 / 2, abs=0.03), "about half as much attention"
    assert far * 327_680 / load / llama(177_500) == pytest.approx(34, abs=0.5) and 1_000 < room(far) < 1_010
    assert v3 / 327_680 == pytest.approx(1 / 5, abs=0.02), "nearly five times as large"
    shorter = 20_000 * 327_680 / load / llama(17_500), out(20_000) / fresh(20_000)
    assert shorter[0] < 0.6 * far * 327_680 / load / llama(177_500) and shorter[1] < 0.9 * out(far) / fresh(far)
    assert 4 < slower < 5 and 4 < measured < 5, "four to five times slower"
    assert keeps[2] / (slow_call - cents * slow_needs) == pytest.approx(14, abs=0.5), "a fourteenth"
    assert 1.9 < running < 2.1, "two seconds"
    rest_again = cents * (1_000 * total / load / 72) * (1 / finished(120)[1] - 1 / places)
    assert keeps[2] == pytest.approx(rest_again, rel=1e-6), "the rest is the loading of weights that fewer share"
    early = [n for n in range(1, 36) if n * 5_000 * 5.75 < 180_000 * 3.75]
    assert early[-1] == 23, "a single break before call 24 loses less than the hour adds"
    half = cents / finished(30)[0] - rest
    factor = {n: 175 * cost["output"] / kept / 50 for n, kept in ((0.5, half), (5, keeps[5]))}
    assert factor[5] == pytest.approx(1 / 3, abs=0.03) and 50 < factor[0.5] < 54, "from a third to over fifty times"
    assert 1 - alone / rest > 0.9, "nearly all of the first two lines"
    assert 0.25 < 1 - makes(far) / out(far) < 0.26, "faster loading saves a quarter"
    assert 3 < 14.1 / 3.98 < 4 and 3 < 0.365 / 0.102 < 4, "DDR5 and flash since 2025"
    miss, hour = 5_000 * 5.75, 180_000 * 3.75  # of a call's tokens, of all writes
    assert 23 * miss < hour < 24 * miss, "a break before call 24 loses 23 calls' tokens, one after it 24"
    assert loads(5_000) < makes(5_000) and total / 5_000 / load < fresh(5_000), "without a history both compute longer"
    assert 20 < (rest + min(hits.values())) / alone < 26, "at least twenty times the first call of a conversation"
    assert min(row.usd_per_chip_hour for row in system("gb200-nvl72").chip.rents if row.confirmed) == 3.30


def test_an_hour_beats_five_minutes_from_the_share_of_misses_that_the_page_names():
    """Token by token: of a thousand tokens so many hit in five minutes; try how many must hit within an hour."""
    bill = lambda write, hits: sum(0.1 if token < hits else write for token in range(1_000))
    for short in (0, 300, 700, 950):
        enough = next(hits for hits in range(1_001) if bill(2, hits) < bill(1.25, short) - 1e-9)
        assert 1_000 - enough == pytest.approx((1_000 - short) * results.misses_even(), abs=1)


def test_the_day_of_deepseek_costs_what_its_tokens_cost():
    """Per token from nodes' speeds; over all tokens of the day that is the rent of its nodes, and about four floors."""
    told, node, rent = numbers.measured(), 8 * 2 / HOUR, 2 / HOUR
    new, out = node / (73_700 * (1 - 0.563)), node / 14_800
    assert (608e9 - 342e9) * new + 168e9 * out == pytest.approx(87_072, rel=0.005)
    look, look_decode = (4_989 * 61 * 128 * 2 * wide for wide in (192 + 128, 576 + 512))
    weights = 2 * 37_551_276_032 / 1979e12
    least, least_out = (rent * (weights + flop / 989.5e12) for flop in (look, look_decode))
    loads = 4_989 * 61 * 576 * 2 / 3.35e12 + 671_025_397_760 / (144 * 128) / 3.35e12
    assert rent * loads < least_out, "loading takes less than the compute"
    assert told["day_batch"] == f"{144 * 128:,}" and told["day_load"] == f"{1e6 * loads:.0f} µs"
    assert told["day_compute"] == f"{1e6 * least_out / rent:.0f} µs"
    half = rent * (weights + look / 2 / 989.5e12)
    assert round(new / least) == round(out / least_out) == 4 and 4.85 < new / half < 5, "four to five floors"
    for name, pair in {"floor": (half, least_out), "real": (new, out), "list": (0.55e-6, 2.19e-6)}.items():
        assert told[f"day_ratio_{name}"] == f"{pair[1] / pair[0]:.1f}"
        for kind, usd in zip(("in", "out"), pair):
            assert told[f"day_{kind}_{name}"] == f"${1e6 * usd:#.3g}"
    for kind, floor, real, asked in (("in", half, new, 0.55e-6), ("out", least_out, out, 2.19e-6)):
        assert told[f"day_over_{kind}"] == f"{real / floor:.1f}"
        assert told[f"day_margin_{kind}"] == f"{asked / real:.1f}"
    second, bytes_ = 0.034e-9 * 30e12 / (5 * 365 * 24 * HOUR), 61 * 576 * 2  # USD of a disk, and a token's cache
    hit = bytes_ * second * (24 * HOUR / 30e12 + 1 / 275e6)
    assert told["day_hit_floor"] == f"${1e6 * hit:.4f}" and told["day_hit_over"] == sig(0.14e-6 / hit, 2)
    assert told["day_ratio_v3"] == "4.1" and 1.7 < 2.19 / 0.55 / (out / new) < 2, "nearly twice the measured"
    for kind, first, second_list in (("in", 0.55, 0.27), ("out", 2.19, 1.1), ("hit", 0.14, 0.07)):
        assert told[f"day_{kind}_list"] == f"${first:#.3g}" and told[f"day_{kind}_v3"] == f"${second_list:#.3g}"
        assert first / second_list == pytest.approx(2, rel=0.03), "one machine, one list twice as high"


def test_a_cache_that_takes_room_while_it_arrives_moves_the_borders():
    """At each border both neighbors cost the same, the room in HBM counted for the whole transfer."""
    borders, cache, rent = (
        results.cheapest(results.prompt_again(175_000), 175_000),
        175_000 * 61 * 576 * 2,
        3.30 / HOUR,
    )
    kept = {name: results.rented(numbers.tier(id)) for name, id in results.KINDS.items()}

    def cost(name, pause):
        at = kept[name]
        moves = cache / at["tier_bandwidth"]
        own = (cache / at["tier_capacity"] * pause + moves) * at["tier_rent"]
        return own + cache / 186e9 * rent * moves

    for first, second in (("ddr", "ssd"), ("ssd", "hdd")):
        assert cost(first, borders[first]) == pytest.approx(cost(second, borders[first]), rel=1e-6)


def test_the_parts_by_cause_are_all_of_the_cost():
    """What the history adds to each line, and the rest, in every memory; hits are all history."""
    for place, hits in results.hits_in().items():
        cost, parts = results.least_lines(place), results.causes(place)
        assert cost["cached_read"] == pytest.approx(hits) == pytest.approx(parts["cached_read"])
        assert min(parts.values()) > 0 and sum(parts.values()) == pytest.approx(sum(cost.values()), rel=1e-12)


def test_keeping_the_history_costs_less_than_computing_it_again_in_every_memory():
    again = results.CALL["cached_read"] * results.prompt_again(results.CALL["cached_read"])
    assert max(results.hits_in().values()) < again


def test_by_the_second_rule_a_hit_costs_as_much_as_a_token_of_the_answer_and_twice_the_input():
    """And by both rules the answer costs more than new input, and most of our call's history is compared. At the second
    rule's prices new input looks cheaper than as many hits; the totals say the opposite.
    """
    told = {name: float(numbers.all()[name].split()[0]) for name in ("alone_input", "alone_output", "booked_hit")}
    assert told["booked_hit"] == told["alone_output"] and 2 < told["booked_hit"] / told["alone_input"] < 3
    assert results.least_output(5_000) > results.least_input(5_000) and results.out_in() > 1
    assert results.kept_in_hbm() < 175_000 * results.prompt_again(175_000)
    time, shared = results.input_time(180_000), results.call_work()[1]
    assert time["attend"] > 0.8 * sum(time.values()), "most of it for comparing"
    run, rate = results.crowded(120)
    assert 0.5 < shared / run < 0.7, "most of the time goes into loading the weights"
    assert 3 < results.attend_flop()["decode"] / results.attend_flop()["prefill"] < 4
    bend = float(numbers.all()["bend"].replace(",", "")) / (37_551_276_032 / 300 / 70_272)
    assert 3 < bend < 4, "wrong by a factor of more than three"
    assert 100 < results.factors()["flash"] < 1_000, "in the hundreds"
    assert 0.029 < 175_000 * results.prompt_again(175_000) < 0.031, "three cents"


def test_a_token_of_the_answer_costs_most_and_a_hit_least_in_every_memory():
    dear, new = results.least_output(results.PROMPT), results.least_input(results.PROMPT)
    assert dear > new > max(results.hits_in().values()) / results.CALL["cached_read"]


def test_keeping_costs_what_a_rack_of_such_calls_loses_pass_by_pass():
    """Conversations that pause, are prefilled one by one, and then take part in a thousand passes: a simulation with
    no formula for how many run, whose calls are counted.
    """
    own, shared = results.call_work()
    new = 5_000 * sum(results.input_time(180_000).values()) / 72
    for pause, seconds in ((60, 300), (120, 300), (300, 300)):
        done = simulation.calls_done(
            1_006, pause, seconds, prefill=new, passes=1_000, weights=shared / 1_000, cache=(own - new) / 1_000
        )
        assert done / seconds == pytest.approx(results.crowded(pause)[1], rel=0.05), pause


def test_without_pauses_keeping_costs_nothing():
    assert results.kept_in_hbm(0) == pytest.approx(0, abs=1e-9)
    kept = [results.kept_in_hbm(pause) for pause in range(0, 600, 20)]
    assert kept == sorted(kept)


def test_a_stepped_price_is_of_the_list_and_no_list_of_deepseek_has_one():
    """What the step does, that it went with nothing else changed, and lists without one."""
    before, after = price(results.BILLED), price(numbers.CARD)
    assert (before.above.tokens, before.above.input_multiplier, before.above.output_multiplier) == (200_000, 2, 1.5)
    assert before.rates(205_000).cached_read == 2 * before.rates(200_000).cached_read
    days = date.fromisoformat(after.valid_from) - date.fromisoformat(before.valid_from)
    assert round(days.days / 7, 1) in (5, 5.1), "five weeks"
    assert after.above is None and after.usd_per_Mtok == before.usd_per_Mtok and after.model == before.model
    own = [card for card in prices() if card.provider == "deepseek"]
    assert len(own) > 5 and not any(card.above for card in own)


def test_the_costs_of_the_figure_go_on_where_the_text_gives_them():
    """Rising all the way, in any batch; and at a short context compute, not memory, sets the time of output."""
    grid = [5_000 * 2**n for n in range(9)]
    for cost in (results.least_input, results.least_output):
        found = [cost(at) for at in grid]
        assert found == sorted(found)
    time = results.output_time(1_000, results.fitting(1_000))
    assert time["compute"] > time["weights"] + time["cache"]
    assert results.least_output(1_000) == pytest.approx(time["compute"] * 3.30 / HOUR)


def programs():
    """What the page's programs print, in order; each fits a page and a look."""
    found = re.findall(r"```\{code-cell\}\n(.*?)```", page("pricing").read_text("utf8"), re.S)
    for source in (each for each in found if "print(" in each):
        assert max(map(len, source.splitlines())) <= 76
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(source, {})
        assert 6 <= len(source.splitlines()) <= 18 and len(said.getvalue().splitlines()) <= 8
        yield said.getvalue().splitlines()


def added(lines):
    """The dollars that breaks add, by their share and length: writing again, pings, the hour."""
    rows = (re.fullmatch(r"(.* min) +\d+ +(\d+) +(\d+) +(\d+)", line) for line in lines[1:])
    return {row[1]: tuple(int(row[n]) / 100 for n in (2, 3, 4)) for row in rows}


def test_the_programs_print_what_the_text_says():
    """Steps of several sizes, coffees, and calls with shorter histories."""
    told = numbers.all()
    sizes, pauses, coffees, models = programs()
    bills = {line.split()[0]: line for line in sizes}
    assert told["s_usd"].lstrip("$") in bills["36"]
    assert told["s_past"] in bills["36"] and told["t_past"] in bills["360"]
    paid = {calls: float(line.split(": ")[1].split()[0]) for calls, line in bills.items()}
    assert paid["360"] / paid["36"] == pytest.approx(5, abs=0.1), "five times as much"

    again, ping, hour = added(coffees)["10%, 10 min"]
    assert again == pytest.approx(3.15 * 0.1 * 5.75, abs=0.006) and ping == pytest.approx(3.15 * 0.1, abs=0.006)
    assert f"${hour:.2f}" == told["s_hour"] and ping < hour < again

    for line in pauses[1:]:
        pause, running, call, wait = (float(number) for number in re.findall(r"[\d.]+", line))
        (run, rate), kept = results.crowded(pause), 100 * results.kept_in_hbm(pause)
        assert running == pytest.approx(rate * run, abs=0.6), "found by trying, and by the formula"
        assert call == pytest.approx(660 * 1e-2 / rate, abs=0.006) and wait == pytest.approx(kept, abs=0.006)
        assert pause != 120 or (f"{call:.2f} ¢", f"{wait:.2f} ¢") == (told["call_2"], told["keep_2"])

    kept = (126 * 4096, 80 * 4096, 94 * 2048, 61 * 576 * 2)  # bytes of a token's cache
    times = [25 / (1e6 * 180_000 * each / 8e12 * 3.30 / HOUR) for each in kept]
    assert [line.split()[-1] for line in models] == [f"{each:.1f}" for each in times] and min(times) > 1


def test_half_a_minute_in_hbm_is_nearly_free_and_a_bit_more_than_two_the_lists_ten():
    """Also on slower GPUs, where even two minutes are nearly free; a hundred times flash is below HBM."""
    assert results.kept_in_hbm(30) < 0.03 * results.kept_in_hbm()
    assert results.kept_in_hbm(work=results.slow_work()) < 0.1 * results.kept_in_hbm()
    assert 100 * results.hits_in()["ssd"] < results.kept_in_hbm()
    ten = results.ten_times()
    assert numbers.all()["ten_pause"] == f"{ten / 60:.1f} minutes" and 120 < ten < 150
    for pause, most in ((ten - 1, 10.2), (ten + 1, 10)):
        ratio = results.per_hit("input", results.kept_in_hbm(pause))
        assert ratio == pytest.approx(10, rel=0.02) and ratio < most
    assert results.per_hit("input", results.kept_in_hbm(ten - 1)) > 10
    for now, then in zip(results.call_work(), results.slow_work()):
        assert 4 < then / now < 5


def test_hundreds_of_calls_run_after_short_pauses_and_hardly_any_after_long_ones():
    """As the figure shows; running and waiting conversations take all places."""
    for pause, least, most in ((30, 400, 450), (120, 16, 17)):
        run, rate = results.crowded(pause)
        assert least < rate * run < most and rate * (run + pause) == pytest.approx(results.fitting(180_000))


def test_for_minutes_flash_is_the_cheapest_and_for_days_disk():
    """At bare prices and at ten times these, beside HBM at its full rent and computing again."""
    again, kv = results.prompt_again(results.CALL["cached_read"]), 61 * 576 * 2
    borders = results.cheapest(again)
    assert list(borders) == ["hbm", "ddr", "ssd", "hdd"] and borders["ddr"] < 60 < 1_200 < borders["ssd"]
    assert borders["ssd"] < 3 * HOUR < 48 * HOUR < borders["hdd"]
    for pause, best in {60: "ssd", 120: "ssd", 1_200: "ssd", 24 * HOUR: "hdd", 7 * 24 * HOUR: "hdd"}.items():
        for times in (1, 10):
            cost = {kind: times * results.kept_in(kind, pause) for kind in results.KINDS}
            cost |= {"hbm": 3.30 / HOUR * kv * pause / 186e9, "again": again}
            assert min(cost, key=cost.get) == best, (pause, times)


def test_the_list_makes_fifty_of_five_and_ten():
    p = price(results.BILLED).usd_per_Mtok
    assert (p.output / p.input, p.input / p.cached_read) == (5, 10)


def test_for_more_or_longer_breaks_the_hour_wins():
    _, _, coffees, *_ = programs()
    for breaks in ("30%, 10 min", "10%, 40 min"):
        again, ping, hour = added(coffees)[breaks]
        assert hour < ping < again, "more breaks, or longer ones: the hour wins"


def test_rules_for_breaks_pay_what_pauses_drawn_one_by_one_pay():
    """The program's expected dollars against pauses that are drawn; and a cache that is worse than none."""

    def paid(write, kept, share, minutes, ping=False):
        total, draw = 0.0, random.Random(1)
        for _ in range(2_000):
            for history in range(0, 180_000, 5_000):
                pause = minutes if draw.random() < share else 2
                pings = pause // 4.5 if ping else 0
                total += history * ((0.5 if ping or pause <= kept else write) + pings * 0.5) + 5_000 * write
        return total / 2_000 / 1e6 + 0.9

    _, _, coffees, *_ = programs()
    for breaks, (again, ping, hour) in added(coffees).items():
        share, minutes = (int(number) for number in re.findall(r"\d+", breaks))
        for extra, rule in ((again, (6.25, 5)), (ping, (6.25, 5)), (hour, (10, 60))):
            found = paid(*rule, share / 100, minutes, ping=extra == ping)
            assert found == pytest.approx(3.60 + extra, rel=0.02)
    none = 5 * (3.15 + 0.18) + 0.9
    assert paid(6.25, 5, 0.8, 10) > none > paid(6.25, 5, 0.7, 10), "eight breaks in ten"
    assert 0.2 * 3.15 / (3.15 + 0.18) < 0.25 / 1.15, "fewer hits than break even"


def test_pings_are_cheaper_than_the_hour_up_to_as_many_as_the_card_names():
    """In conversations of any length; in each row of the program; and cheaper than writing again up to 50 minutes."""
    most = int(numbers.all()["pings_even"])
    for calls in (36, 360, 3_600):
        histories = [5_000 * n for n in range(calls)]
        ping, hour = 0.5 * sum(histories) / calls, 5_000 * calls * 3.75
        assert most * ping < hour < (most + 1) * ping
    _, _, coffees, *_ = programs()
    for line, (again, ping, hour) in zip(coffees[1:], added(coffees).values()):
        assert (int(line.split()[3]) <= most) == (ping < hour) and ping < again
    assert 11 * 0.5 < 6.25 - 0.5 < 12 * 0.5 and 11 * 4.5 == 49.5
    assert 60 // 4.5 * 0.5 > 6.25 - 0.5, "longer than an hour: writing again costs less"
    assert 10 * 0.5 < 6.25 - 0.5 < 10 - 0.5, "with the hour, a ping an hour for ten hours"


def test_up_to_seven_pings_are_cheaper_than_the_hour():
    """During one break just before the example call, against the hour for all writes of its conversation."""
    ping, hour = 175_000 * 0.5, 180_000 * (10 - 6.25)
    assert 7 * ping < hour < 8 * ping and 7 * 4.5 > 30


# --- reading a card ---------------------------------------------------------------------------------------------------


@cases("card", prices(), ids=lambda card: card.id)
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


def test_the_extremes_of_deepseeks_architecture_are_one_model_of_two_sellers():
    told = numbers.all()
    host, maker = price("together/deepseek-v3@2026-06-10"), price(numbers.FIRST)
    assert (host.provider, maker.provider) == ("together", "deepseek")
    for card, name in ((host, "same_least"), (maker, "same_most")):
        assert implied(card).net.id == "deepseek-v3" and told[name] == f"{implied(card).out_in:.1f}"


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


def test_no_device_is_read_once_in_five_minutes_or_in_an_hour():
    """Capacities and bandwidths of the three devices, as their makers print them."""
    told, seconds = numbers.all(), {"ddr": 3e12 / 504e9, "ssd": 30.72e12 / 28e9, "hdd": 30e12 / 275e6}
    sizes = {"ddr": ("second", 1), "ssd": ("minute", 60), "hdd": ("hour", 3600)}
    assert {name: told[f"drain_{name}"] for name in sizes} == {
        name: f"{round(seconds[name] / size)} {unit}s" for name, (unit, size) in sizes.items()
    }
    missed = [max(sold / at, at / sold) for sold in (300, 3600) for at in seconds.values()]
    assert min(missed) > 3 and missed[1] == min(missed[:3]) and missed[4] == min(missed[3:]), "flash is the nearest"
