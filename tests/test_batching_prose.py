"""The numbers that the batching lesson prints, reckoned once more."""

import contextlib
import io
import re
import sys
from functools import cache

import numpy as np
import pytest
from lessons import ROOT

from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as eq
from blackboard.lessons.batching import numbers, simulation
from blackboard.page.live_cells import run_cell

sys.path.insert(0, str(ROOT / "tools"))
import live_cells


def test_printed_numbers_agree_with_an_independent_reckoning():
    """Plain arithmetic from the architecture and the datasheets, rounded as printed."""
    told = numbers.all()
    experts = 58 * 256 * 3 * 7168 * 2048
    attention = 61 * (7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168)
    rest = 2 * 129_280 * 7168 + 58 * (3 * 7168 * 2048 + 256 * 7168) + 3 * 3 * 7168 * 18_432
    total, active = experts + attention + rest, experts * 8 / 256 + attention + rest
    bandwidth, flops, kv = 72 * 8e12, 72 * 5e15, 61 * 576 * 2
    filled, attends = (72 * 186e9 - total) / (10_000 * kv), 2 * 128 * (576 + 512) * 61  # attention in the latent space
    card = (2.5 - 1) * 6 / (6 - 1)  # as in the closed form below
    parts = []  # of two engines' steps on Hopper, in ms: loading with copies, computing with attention, messages
    for each, gpus, context, rate in ((128, 128, 4096, 18598), (256, 72, 2000, 22282)):
        measured = each * 8 / rate
        loads = (experts / gpus + attention + rest + each * context * kv) / 3.35e12
        bare = each * 2 * active / 1.979e15
        computes = bare + each * 2 * context * attends / 1.979e15
        assert bare < computes < loads
        sends = 58 * each * 8 * 7000 * 3 / 50e9  # to 8 experts, FP8 out, BF16 back; of the shared one each has a copy
        simple = (total + gpus * each * context * kv) / (gpus * 3.35e12)
        parts.append([1e3 * seconds for seconds in (simple, loads, computes, sends, measured)])
        assert sum(parts[-1][1:4]) == pytest.approx(parts[-1][4], rel=0.1), "near the sum of the parts"
        assert measured > 1.8 * sends and sends > max(loads, computes) and measured > 4 * simple > 4 * bare
    copied = (experts / 72 + attention + rest) / 8e12
    own_computes = (2 * active + 2 * 1000 * attends) / flops  # s of a sequence, with attention in BF16
    all_own = own_computes + 1000 * kv / bandwidth + 58 * 8 * 7000 * 3 / 900e9 / 72
    assert 2.7 < all_own / (2 * active / flops) < 3, "without any overlap the cost floor nearly triples"
    assert 2.7 < copied * bandwidth / total < 3, "copies nearly triple the floor"
    llama = 80 * 2 * 8 * 128 * 2 / bandwidth * flops  # FLOPs of the time in which its cached token loads, in BF16
    expected = {
        "floor": f"{total / bandwidth * 1e3:.3f} ms",
        "fastest": f"{bandwidth / total:.0f}",
        "kink_attention": f"{round(total / bandwidth / (own_computes - 1000 * kv / bandwidth), -2):,.0f}",
        "guessed_saving": "50%",  # 1 + x = 2.5 / (4/3) * (1 + x / 15), so x = 1
        "guessed_slower": "1.875",
        "guessed_caches": "1.0",
        "fast_now_price": "2",
        "guessed_speedup": f"{4 / 3 * (1 + 1):.1f}",
        "fast_now_ratio": f"{2 * 2.5:.0f}",
        "fast_now_caches": "3.0",
        "busy_together": f"{(copied + 2000 * all_own) * 1e3:.1f} ms",
        "busy_weights": f"{copied * 1e3:.1f} ms",
        "even": f"{round(total / (1000 * kv), -2):,.0f}",
        "even_long": f"{round(total / (10_000 * kv), -1):,.0f}",
        "fast_now_speedup": f"{1 + 3:.1f}",  # 1 + x = 2.5 * (1 + x / 5), so x = 3
        "fast_now_saving": f"{1 / (1 + 3):.0%}",
        "list_price": "$25",
        "card_cost": f"${0.04 * (1 + card) / card * 10_000 * kv / bandwidth * 1e6:.3f}",
        "balanced_slower": f"{round(2 * active / (kv / bandwidth * flops - 2 * attends / 0.9), -3):,.0f} tokens",
        "attention_reached": "90%",
        "eight_floor": f"{total / (8 * 8e12) * 1e3:.1f} ms",
        "handful_step": "6.7 ms",
        "dozen_step": "11.7 ms",
        "flops": f"{flops / 1e15:.0f} PFLOP/s",
        "compute_one": f"{2 * active / flops * 1e9:.0f} ns",
        "gain_one": f"{(2 * active / flops - 1000 * kv / bandwidth) * 1e9:.0f} ns",
        "cached_gain": f"{(kv / bandwidth - 2 * attends / flops) * 1e9:.4f} ns",
        "balanced_llama": f"{llama / (llama - 2 * 4 * 80 * 64 * 128) - 1:.0%}",
        "kv_one": f"{1000 * kv / bandwidth * 1e9:.0f} ns",
        "kv_ten": f"{10_000 * kv / bandwidth * 1e6:.2f} µs",
        "least": "100",
        "chip_hbm": "186 GB",
        "drain_rack": f"{72 * 186e9 / bandwidth * 1e3:.0f} ms",
        "full": f"{round((72 * 186e9 - total) / (10_000 * kv), -3):,.0f}",
        "card_speedup": f"{1 + card:.1f}",
        "ahead": f"{28_000 / 72 * 1000 * 576 * 2 / 1e6:.2g}".replace("4.5e+02", "450") + " MB",
        "tenfold_long": f"{total / bandwidth / (9 * 10_000 * kv / bandwidth):.0f}",
        "exchange_each": f"{58 * 8 * 7000 * 3 / 900e9 / 72 * 1e9:.0f} ns",
        "profile_simple": f"{parts[0][0]:.1f} ms",
        "profile_measured": f"{parts[0][4]:.1f} ms",
        "profile_sum": f"{sum(parts[0][1:4]):.1f} ms",
        "fast_then_when": "April 2026",
        "cached_load": f"{kv / bandwidth * 1e9:.3f} ns",
        "cached_compare": f"{2 * attends / flops * 1e9:.4f} ns",
        "busy_loads": f"{(total + 2e6 * kv) / bandwidth * 1e3:.1f} ms",
        "busy_computes": f"{2 * 2000 * active / flops * 1e3:.2f} ms",
        "past_loads": f"{(total + 28e6 * kv) / bandwidth * 1e3:.1f} ms",
        "past_computes": f"{2 * 28_000 * active / flops * 1e3:.1f} ms",
        "card_caches": f"{card:.1f}",
        "card_saving": f"{1 - card / (1 + card):.0%}",
        "long_standard": f"{round(card * total / (10_000 * kv), -1):,.0f}",
        "long_fast": f"{card * total / (10_000 * kv) / 15:.0f}",
        "attention_share": f"{1000 * attends / (2 * active):.1%}",
        "attention_most": f"{2 * 1000 * attends / (2 * active):.0%}",
        "attention_long": f"{2 * 10_000 * attends / flops * 1e9:.0f} ns",
        "mfu_long": f"{2 * active / flops / (10_000 * kv / bandwidth):.0%}",
        "busy_long": f"{(2 * active + 2 * 10_000 * attends) / flops / (10_000 * kv / bandwidth):.0%}",
        "throughput": f"{round(filled / (72 * 186e9 / bandwidth), -4):,.0f} tokens",
        "balanced_attention": f"{round(2 * active / flops / (kv / bandwidth - 2 * attends / flops), -2):,.0f} tokens",
        "weight_bytes": f"{total / 1e9:.0f} GB",
        "bandwidth": f"{bandwidth / 1e12:.0f} TB/s",
        "intensity": f"{round(flops / 2 / bandwidth, -1):.0f}",
        "sparsity": f"{total / active:.0f}",
        "critical": f"{round(flops / 2 / bandwidth * total / active, -2):,.0f}",
        "n_active": f"{active / 1e9:.1f} billion",
        "n_total": f"{total / 1e9:.0f} billion",
        "kv_bytes": f"{kv / 1e3:.1f} kB",
        "kv_parts": "61 layers × 576 values × 2 bytes",
        "balanced": f"{round(2 * active / flops * bandwidth / kv, -2):,.0f} tokens",
        "fast_ratio": "15",
        "busy_halved": f"{1e6 * kv / (total + 2e6 * kv):.0%}",
        "night": f"{(total / 256 + 1000 * kv) / (total / 2000 + 1000 * kv):.1f}",
        "covered": "96%",  # 1 - (31/32)^100
        "copied_rest": f"{(attention + rest) / 1e9:.1f} GB",
        "overstated": f"{total / (total - experts * (31 / 32) ** 100) - 1:.0%}",
        "tenfold": f"{round(total / bandwidth / (9 * 2 * active / flops), -1):.0f}",
        "served_copies": f"127 × {(attention + rest) / 1e9:.1f} GB",
        "served_load": f"16,384 × 4,096 × {kv / 1e3:.1f} kB",
        "fast_price": "6",
        "fast_speed": "2.5",
        "attention": f"{2 * 128 * (512 + 64 + 512) * 61 / 1e6:.0f} MFLOP",
        "kink": f"{round(total / bandwidth / (2 * active / flops - 1000 * kv / bandwidth), -3):,.0f}",
    }
    assert {name: told[name] for name in expected} == expected
    assert numbers._fast_card().speed_multiplier == numbers._fast_card(later=True).speed_multiplier == 2.5
    cells = re.findall(r"<td>(.*?)</td>", str(numbers.corrections()))
    load, compare, matrix = kv / bandwidth, 2 * attends / flops, 2 * active / flops  # seconds; comparing is in BF16
    assert compare < load, "in attention loading takes longer"
    whole = lambda floor, slower: (
        lambda batch, context: max(batch * (matrix + slower * context * compare), floor + batch * context * load)
    )
    in_turn = lambda batch, context: batch * context * load + max(batch * matrix, total / bandwidth)
    message = 58 * 8 * 7000 * 3 / 900e9 / 72  # s for each sequence
    sent = lambda batch, context: batch * message + whole(floors[0], 0)(batch, context)
    floors = [total / bandwidth] * 4 + [copied] * 2
    together = lambda batch, context: copied + batch * (matrix + context * (compare + load) + message)
    steps = [whole(floors[0], 0), whole(floors[0], 1), in_turn, sent, whole(copied, 0), together]
    own_short = [step(1e9, 1000) / 1e9 for step in steps]
    assert all(1.4 < each / own_short[0] < 1.9 for each in own_short[1:4]), "each raises the floor by half or more"
    assert len(cells) == 4 * len(steps)
    for row, (floor, step) in enumerate(zip(floors, steps)):
        told_here, far = printed(cells[4 * row : 4 * row + 4]), 1e9  # sequences: a batch without end
        own = lambda context, step=step: step(far, context) / far
        standard = told_here[2]
        saving = 100 * (1 - own(10_000) * standard / step(standard, 10_000))
        expected = [floor * 1e3, 72 * 2 / 3600 * own(1000) * 1e6]
        assert told_here[:2] == pytest.approx(expected, rel=0.05) and told_here[3] == pytest.approx(saving, abs=1)
        assert 24 < told_here[3] < 37, "a quarter to a third"
        assert step(standard, 10_000) == pytest.approx(2.5 * step(standard / 15, 10_000), rel=5e-3)
        assert step(standard, 10_000) == pytest.approx(2.8 * floor, rel=5e-3), "none moves the highest speed"
    assert told_here[3] == float(told["card_saving"].rstrip("%")), "all together save as much as the first card says"


def printed(cells):
    """The numbers of a table's cells; one without is left out."""
    return [float(each) for cell in cells if (each := re.sub("[^0-9.]", "", cell))]


def test_the_fast_card_fits_only_those_batches():
    """Shrink the standard batch one by one until a token costs six times as much: it is then 2.5 times as fast."""
    known = RUNNING.symbols()
    case = {name: known[name] for name in ("n_active", "n_total", "bytes_per_param", "flops", "bandwidth")}
    case["kv_bytes_per_token"] = known["kv_bytes_per_token"]
    for context in (1_000, 4_000, 10_000):
        standard, fast, above = numbers.inferred(context)
        found = simulation.fast_mode(round(standard), 6, context=context, **case)
        assert found and found.batch == pytest.approx(fast, abs=1) and found.speed_ratio == pytest.approx(2.5, rel=0.01)
        assert above == pytest.approx(max(simulation.step(fast, context=context, **case)) / 1.16497e-3, rel=1e-4)


def test_past_the_balanced_context_the_fast_card_has_a_closed_form():
    """With x the standard KV time over all other time of a step: (1 + x) = 2.5 (1 + x/15), so x = 1.5 * 6 / 5 = 1.8. So
    twice the other time takes twice the caches: both batches double.
    """
    x = (2.5 - 1) * 6 / (6 - 1)
    found, kv = numbers.inferred(10_000), eq.kv_time(RUNNING, batch=1, context=10_000)
    assert found.above == pytest.approx(1 + x / 15) and found.standard * kv == pytest.approx(
        x * eq.weight_time(RUNNING)
    )


def test_unequal_experts_could_halve_the_cards_batches_and_let_patience_save_a_half():
    """As unequal as the page lets its reader try: the fast batch that comes nearest to the card's speed."""
    scores = np.random.default_rng(0).gumbel(size=(20_000, 256)) - np.log(np.arange(256) + 10)
    chosen = np.bincount(np.argsort(-scores)[:, :8].ravel(), minlength=256) / len(scores)
    loads = lambda batch: 671e9 - 653.9e9 * np.mean((1 - chosen) ** batch) + batch * 10_000 * 70.27e3
    speed = {fast: loads(15 * fast) / loads(fast) for fast in range(10, 200)}
    nearest = min(speed, key=speed.get)
    assert speed[nearest] == pytest.approx(2.5, rel=0.02) and nearest == pytest.approx(115 / 2, rel=0.15)
    caches = 15 * nearest * 10_000 * 70.27e3
    assert 1 - caches / loads(15 * nearest) == pytest.approx(0.5, abs=0.04)
    assert loads(nearest) - nearest * 10_000 * 70.27e3 < 0.9 * 671e9, "the fast batch leaves some experts out"


def test_the_cost_floor_rules_out_a_tenth_at_any_context_from_some_batch_on():
    """The batch at which a token costs ten times the floor is largest at the balanced context."""
    batch = lambda context: next(
        size for size in range(10, 2_000) if eq.slow_mode_limit(RUNNING._replace(context=context), batch=size) <= 10
    )
    assert max(map(batch, (10, 1_000, 1_700, 1_800, 4_000, 10_000, 100_000))) < 1.01 * int(numbers.all()["tenfold"])


# --- the programs -----------------------------------------------------------------------------------------------------


@cache
def says(start):
    """The numbers that the page's program with such a line prints, line by line."""
    cells, said = live_cells.read_cells("batching"), io.StringIO()
    (number,) = [number for number in live_cells.shown_cells(cells) if start in cells[number]]
    with contextlib.redirect_stdout(said):
        run_cell(cells[:number], cells[number])
    return [
        [float(each.replace(",", "")) for each in re.findall(r"\d[\d,.]*", line)]
        for line in said.getvalue().splitlines()
    ]


def test_the_program_of_experts_touches_what_the_odds_say():
    for tokens, percent in says("touched = set()"):
        assert percent == pytest.approx(100 * (1 - (1 - 8 / 256) ** tokens), abs=4)
    assert [100, 96] in says("touched = set()"), "as the text says"


def test_the_race_ends_at_the_formulas_kink():
    """A step of ten sequences later at most; and never from the balanced context on."""
    for context, *found in says("catches up at")[1:]:
        case = RUNNING._replace(context=context)
        if found:
            assert found[0] == pytest.approx(eq.crossing(case), rel=2e-3, abs=10)
        assert bool(found) == (context < eq.balanced_context(RUNNING))


def test_the_program_of_the_price_agrees_with_the_formulas():
    assert len(says("rent * step")) == 5
    for batch, step, speed, paid in says("rent * step")[1:]:
        assert step == pytest.approx(1e3 * eq.step_time(RUNNING, batch=batch), abs=0.05)
        assert speed == pytest.approx(1 / eq.step_time(RUNNING, batch=batch), abs=0.6)
        assert paid == pytest.approx(1e6 * numbers._rented(batch), abs=6e-5)


def test_speculation_and_a_batch_together_could_explain_the_discount():
    """Fast steps of 4/3 tokens: search the caches of the standard batch, in units of the loading of the weights, at
    which it is 2.5 times slower than a batch 15 times smaller, and let it grow.
    """
    step = lambda caches: 1 + caches
    caches = next(x / 1000 for x in range(10_000) if 4 / 3 * step(x / 1000) / step(x / 15_000) >= 2.5)
    assert 1 - caches / step(caches) == pytest.approx(0.5, abs=1e-3)
    assert numbers.all()["guessed_saving"] == numbers.all()["batch_price"] == "50%"


def test_a_rule_for_a_replica_and_for_a_long_context():
    """One and a half kinks on one rack, or half of it on each of two; and the assistant's batch grown until full."""
    kink, step = eq.crossing(RUNNING), (lambda batch: eq.step_time(RUNNING, batch=batch))
    faster = step(1.5 * kink) / step(0.75 * kink)
    assert faster == pytest.approx(1.75, abs=0.01) and 2 / faster < 1.15, "faster, at nearly the same price"
    long = lambda batch: eq.step_time(RUNNING._replace(context=10_000), batch=batch)
    assert long(18_000) / 18_000 == pytest.approx(2 / 3 * long(1_720) / 1_720, rel=0.03)
    assert long(18_000) == pytest.approx(7 * long(1_720), rel=0.03)


def test_no_batch_saves_the_assistant_more_than_the_weights_share():
    """Every larger batch at 10,000 tokens, also past what memory holds; and with a fixed part that is twice as long."""
    weights, kv = (formula(RUNNING, batch=1, context=10_000) for formula in (eq.weight_time, eq.kv_time))
    for fixed in (weights, 2 * weights):
        cost = lambda batch, fixed=fixed: fixed / batch + kv
        standard = next(size for size in range(100, 10_000) if size * cost(size) >= 2.5 * size / 15 * cost(size / 15))
        saved = [1 - cost(standard * 2**n) / cost(standard) for n in range(20)]
        assert saved == sorted(saved) and saved[-1] == pytest.approx(1 / 2.8, rel=1e-3)
        assert standard == pytest.approx(1_720 * fixed / weights, rel=5e-3)


def test_at_ten_thousand_tokens_memory_is_slower_at_every_batch():
    """With attention's arithmetic, in BF16; at a thousand tokens compute is slower from some batch on."""
    attend = RUNNING.attention_time(2)
    for context, wins in ((10_000, True), (7_000, False), (1_000, False)):
        computes = eq.compute_time(RUNNING, batch=1) + context * attend
        loads = eq.kv_time(RUNNING, batch=1, context=context)
        assert all(batch * computes < eq.weight_time(RUNNING) + batch * loads for batch in (100, 10**6)) == wins
    assert attend > eq.kv_time(RUNNING, batch=1, context=1) / 2, "with half the bytes loading grows more slowly"


def test_the_balanced_context_with_attention_is_found_by_search():
    """Lengthen the context token by token until loading takes longer; without attention, the simple form."""
    known = RUNNING.symbols()
    each, load = 2 * known["n_active"] / known["flops"], known["kv_bytes_per_token"] / known["bandwidth"]
    for flop, rate in ((17e6, known["flops"] / 2), (17e6, known["flops"]), (1e-9, known["flops"])):
        found = next(context for context in range(1, 100_000) if each + context * flop / rate < context * load)
        case = RUNNING.symbols() | {"attention_flop": flop, "attention_flops": rate}
        assert eq.balanced_with_attention(case) == pytest.approx(found, abs=1)
    assert found == pytest.approx(eq.balanced_context(RUNNING), abs=1)
    exact = known | {"attention_flop": 2 * 128 * (576 + 512) * 61, "attention_flops": known["flops"] / 2}
    assert eq.balanced_with_attention(exact) == pytest.approx(eq.with_attention(RUNNING, 2).balanced)


def test_no_assistants_batch_that_fits_waits_for_compute():
    """With attention at its peak, or at nine tenths of it: the weights must be loaded beside the caches."""
    each, load = eq.compute_time(RUNNING, batch=1), eq.kv_time(RUNNING, batch=1, context=10_000)
    for reached in (1, 0.9):
        computes = each + 10_000 * RUNNING.attention_time(2) / reached
        assert 0.9 < computes / load < 1.1, "nearly balanced"
        assert all(batch * computes < eq.weight_time(RUNNING) + batch * load for batch in (100, 1_720, 18_100))


def test_what_the_page_says_in_words_of_other_batches():
    """Half of a batch past the kink takes half the time. By day users are a little slower and tokens much cheaper; past
    the kink users are much slower and tokens hardly cheaper.
    """
    speed, price = (lambda batch: 1 / eq.step_time(RUNNING, batch=batch)), numbers._rented
    assert speed(numbers.PAST / 2) == pytest.approx(2 * speed(numbers.PAST))
    assert 1 - speed(numbers.BUSY) / speed(numbers.SLOW) < 1 / 6 and price(numbers.SLOW) > 6 * price(numbers.BUSY)
    assert speed(numbers.PAST) < speed(10_000) / 2 and 1 - price(numbers.PAST) / price(10_000) == pytest.approx(
        1 / 8, abs=2e-3
    )
    assert speed(10_000) == pytest.approx(0.6 * speed(numbers.BUSY), rel=0.03), "from the second row to the third"
    assert price(10_000) == pytest.approx(price(numbers.BUSY) / 3, rel=0.03)
    assert eq.weight_time(RUNNING) > 5_000 * eq.compute_time(RUNNING, batch=1), "thousands of times as long"


def test_without_attention_the_comparison_is_the_roofline():
    """With attention left out, the table's numbers are the formulas'."""
    plain = eq.with_attention(RUNNING, 0)
    assert plain.kink == pytest.approx(eq.crossing(RUNNING)) and plain.balanced == pytest.approx(
        eq.balanced_context(RUNNING)
    )
    (text, *_) = numbers.corrected(RUNNING.context).values()
    assert text.step(500) == pytest.approx(eq.step_time(RUNNING, batch=500))
    assert numbers._priced(text.own) == pytest.approx(1e6 * eq.cost_floor(RUNNING, rent=2 / 3600))


def test_a_batch_that_fills_the_memory_is_the_cheapest_at_long_contexts():
    """At 10,000 tokens each sequence that fits makes a token cheaper, and the full step takes the drain time."""
    case = RUNNING._replace(context=numbers.LONG)
    known = case.symbols()
    full = (known["hbm"] - known["n_total"]) / (numbers.LONG * known["kv_bytes_per_token"])
    costs = [eq.cost_per_token(case, batch=full * share, rent=1) for share in (0.25, 0.5, 0.75, 1)]
    assert costs == sorted(costs, reverse=True)
    assert eq.step_time(case, batch=full) == pytest.approx(eq.drain_time(case))
