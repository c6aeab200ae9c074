"""The numbers that the speculation lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

import re

import pytest
from lessons import run_cell, sig

from blackboard.lessons.speculation import distributions, numbers, problems
from blackboard.lessons.speculation import equations as eq

V3, ACTIVE, KV = 671_025_397_760, 37_551_276_032, 61 * 576 * 2  # DeepSeek-V3: parameters, and bytes of a token's cache
RATE, BYTES = 72 * 5e15, 72 * 8e12  # the rack in FP8
ATTEND = 2 * 61 * 128 * (576 + 512)  # FLOPs with which a token attends to one other: layers, heads, key and value
COMPUTED = ACTIVE + 1000 * ATTEND / 2  # parameters, if 1,000 tokens of attention count as such


MTP = ((1, 1.92, 198), (2, 2.58, 250), (3, 2.82, 253), (4, 2.99, 245))  # guesses, tokens of a round, tokens a second


def tau(alpha, drafted):
    """Tokens of a round, added up."""
    return sum(alpha**n for n in range(drafted + 1))


def free(drafted, computed=COMPUTED):
    """Sequences for which all tokens multiply as long as weights and caches are read: B (a n - k) = w."""
    multiply, cache = 2 * computed * (drafted + 1) / RATE, 1000 * KV / BYTES
    return V3 / BYTES / (multiply - cache)


def lost(drafted, computed=COMPUTED):
    """Sequences beyond which so many guesses are a loss, by halving."""
    low, high = 1.0, 1e6
    for _ in range(60):
        batch = (low + high) / 2
        low, high = (batch, high) if float(column(batch, drafted, 9, computed)[f"gain_{batch}"]) > 1 else (low, batch)
    return low


def column(batch, drafted=4, digits=3, computed=COMPUTED):
    """Times of a step and a round at one batch, in milliseconds."""
    memory, compute = 1e3 * (V3 + batch * 1000 * KV) / BYTES, 1e3 * 2 * computed * batch / RATE
    plain, check = max(memory, compute), max(memory, (drafted + 1) * compute)
    times = {"memory": memory, "compute": compute, "five": 5 * compute, "verify": check}
    times["round"] = check + drafted * plain / 20
    times["gain"] = tau(0.8, drafted) * plain / times["round"]
    return {f"{name}_{batch}": f"{value:.{digits}f}" for name, value in times.items()}


def worked(batch):
    """The worked example at one batch."""
    return column(batch, digits=2) | {f"gain_{batch}": f"{float(column(batch, digits=9)[f'gain_{batch}']):.2f}"}


def touched(experts, active, stored, used, tokens):
    """Bytes that so many tokens read of a routed model, one byte a parameter."""
    return used + (stored - used) * (1 - (1 - active / experts) ** (tokens - 1))


def few(batch):
    """Speed-up of four guesses in a small batch, if loading alone sets the time."""
    more = touched(256, 8, V3, ACTIVE, 5 * batch) / touched(256, 8, V3, ACTIVE, batch)
    return tau(0.8, 4) / (0.2 + more)


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    best = lambda a: max(range(1, 60), key=lambda n: tau(a, n) / (n * 0.05 + 1))
    even = 5 / (tau(0.8, 4) - 0.2)
    counted = {"4": COMPUTED, "bf16": 2 * COMPUTED - ACTIVE}
    expected = {
        "tau_4": f"{tau(0.8, 4):.2f}",
        **{f"free_{name}": sig(free(4, computed)) for name, computed in counted.items()},
        **{f"even_{name}": sig(lost(4, computed)) for name, computed in counted.items()},
        "attend_one": f"{ATTEND / 1e6:.2f} MFLOP",
        "attend_all": f"{500 * ATTEND / 1e9:.3f} billion",
        "computes": f"{COMPUTED / 1e9:.2f} billion",
        "active": f"{ACTIVE / 1e9:.2f} billion",
        "critical": f"{V3 * RATE / (2 * COMPUTED * BYTES):,.0f}"[:-1] + "0",
        "load_weights": f"{1e3 * V3 / BYTES:.3f} ms",
        "one_token": f"{2e9 * COMPUTED / RATE:.1f} ns",
        "load_cache": f"{1e12 * KV / BYTES:.0f} ns",
        "check_may": f"{5 / even:.2f}",
        "catch_up": f"{1e9 * (10 * COMPUTED / RATE - 1000 * KV / BYTES):,.0f} ns",
        "ratio_even": f"{even:.3f}",
        "context_part": f"{1000 * KV / BYTES / (2 * COMPUTED / RATE):.3f}",
        "ratio_v3": sig(KV / BYTES / (ATTEND / RATE)),
        "kv_v3": f"{KV / 1000:.1f} kB",
        "kv_llama": f"{2 * 80 * 8 * 128 * 2 / 1000:.0f} kB",
        "attend_llama": f"{4 * 80 * 64 * 128 / 1e6:.2f} MFLOP",
        "ratio_llama": sig(327_680 / 3.35e12 / (4 * 80 * 64 * 128 / 989.4e12)),
        "free_llama": sig(5 * 2 * 70.55e9 / (327_680 * 989.4e12 / 3.35e12 - 5 * 4 * 80 * 64 * 128)),
        "long_even": sig(even * 2 * ACTIVE / (KV * RATE / BYTES - even * ATTEND)),
        "long_most": sig(tau(0.8, 4) / (0.2 + 5 / (KV / BYTES / (ATTEND / RATE)))),
        "draft_share": "4.3%",
        **{name: value for batch in (1000, 4000, 16000) for name, value in worked(batch).items()},
        "free_8": sig(free(8)),
        "even_1": sig(lost(1)),
        "one_4000": sig(float(column(4000, 1, 9)["gain_4000"])),
        "gain_4": sig(tau(0.8, 4) / 1.2),
        "kink": sig(free(0)),
        "best_08": f"{best(0.8)}",
        "best_gain_08": sig(tau(0.8, 8) / 1.4),
        "busy_4": sig(tau(0.8, 4) / 5.2),
        "copied_07": sig(5 / tau(0.7, 4)),
        "tau_07": f"{tau(0.7, 4):.2f}",
        "chosen_4": sig((8 + 248 * (1 - (31 / 32) ** 4)) / 8),
        "touched_v3": f"{touched(256, 8, V3, ACTIVE, 5) / ACTIVE:.1f}",
        "few_loaded": f"{1 - (31 / 32) ** 64:.0%}",
        "few_least": f"{min(map(few, range(1, 65))):.2f}",
        "few_most": sig(max(map(few, range(1, 65)))),
        "spire_steps": f"{3.401 / 2.78:.3f}",
        "mtp_place_1": "0.92",
        "mtp_place_2": sig(0.66 / 0.92),
        "mtp_place_3": sig(0.24 / 0.66),
        "mtp_place_4": sig(0.17 / 0.24),
        "r1_loads": f"{1e3 * ACTIVE / (8 * 8e12):.1f} ms",
        "r1_bytes": f"{ACTIVE / 1e9:.1f} GB",
        "mtp_gain_4": f"{245 / 111:.2f}",
        "mtp_gain_1": f"{198 / 111:.2f}",
        **{f"mtp_steps_{n}": f"{made * 111 / rate:.2f}" for n, made, rate in MTP},
        "eagle_free": sig(295.34 / (4 - 500 / 414.87), 1),
    }
    assert {name: told[name] for name in expected} == expected


def test_the_cards_give_the_pages_batches_in_the_letters_that_they_print():
    """N_tok in place of N_act, and no letter more."""
    known = {"n_total": V3, "computed": COMPUTED, "bytes_per_param": 1, "kv_bytes_per_token": KV, "context": 1000}
    known |= {"flops": RATE, "bandwidth": BYTES}
    even = 5 / (tau(0.8, 4) - 0.2)
    assert eq.computed_of(n_active=ACTIVE, attention_flop=ATTEND, context=1000) == pytest.approx(COMPUTED)
    assert eq.batch_free_counted(**known, drafted=4) == pytest.approx(free(4))
    assert eq.batch_even_counted(**known, ratio_even=even) == pytest.approx(lost(4))
    for card in (eq.batch_free_counted, eq.batch_even_counted):
        assert "N_\\mathrm{tok}" in card.latex and "N_\\mathrm{act}" not in card.latex
        assert card.typeset.free_symbols == card.free_symbols


def test_what_the_rule_says_of_a_larger_batch():
    """Fewer guesses still gain where four lose, and a single one is the last to lose."""
    gains = lambda batch: [float(column(batch, drafted, 9)[f"gain_{batch}"]) for drafted in range(13)]
    assert gains(4500)[4] < 1 < max(gains(4500))
    assert max(range(1, 13), key=lost) == 1
    assert max(gains(lost(1) + 1)) == 1 and gains(lost(1) - 50)[1] > 1


def test_each_guess_adds_less_and_a_fourth_does_not_pay():
    """Yields and speed-ups of DeepSeek-R1 with none to four guesses; and two factors that agree by chance."""
    yields, gains = [1, 1.92, 2.58, 2.82, 2.99], [1, 1.78, 2.25, 2.28, 2.21]
    adds = [after - before for before, after in zip(yields, yields[1:])]
    assert adds == sorted(adds, reverse=True) and max(gains) == gains[3]
    assert adds[3] / (yields[4] / gains[4] - yields[3] / gains[3]) < gains[3]
    assert numbers.all()["ngram_gain"] == numbers.all()["gain_4"] == "2.8"


def test_the_toy_distributions_by_hand():
    """A guess is accepted four times in five, and a refused one is always replaced by B."""
    p, q = {"A": 0.5, "B": 0.3, "C": 0.2}, {"A": 0.7, "B": 0.1, "C": 0.2}
    assert abs(distributions.overlap(p, q) - 0.8) < 1e-12
    assert distributions.residual(p, q).keys() == {"B"}


def test_a_speculated_step_never_beats_its_tokens_and_a_busy_one_never_wins():
    for alpha in (0.1, 0.5, 0.9, 0.99):
        for drafted in (1, 3, 8):
            at = {"acceptance": alpha, "drafted": drafted, "draft_ratio": 0.02}
            assert eq.speedup_busy(**at) < 1 and eq.speedup_free(**at) < tau(alpha, drafted) <= drafted + 1
            gains = [eq.speedup(**at, memory_ratio=r) for r in (0.5, 1, 1.5, 3, 9, 100)]
            assert gains == sorted(gains), "the longer a step waits for memory, the more speculation gains"


def test_the_readers_own_server_starts_as_the_rack():
    """What the page's program prints, by counting; and what four guesses gain there."""
    said, _ = run_cell("speculation", "weights, cache")
    for line in said.splitlines():
        batch, best, most, four = map(float, re.findall(r"[\d.]+(?=\D|$)", line))
        gains = [float(column(batch, drafted, 9)[f"gain_{batch}"]) for drafted in range(13)]
        assert gains[int(best)] == max(gains) == pytest.approx(most, abs=0.006)
        assert gains[4] == pytest.approx(four, abs=0.006)


def test_the_experts_program_counts_what_the_formula_counts():
    """What the page prints for small batches, and that three users are slowed down."""
    said, _ = run_cell("speculation", "def loaded")
    rows = [tuple(map(float, re.findall(r"\d+(?:\.\d+)?", line))) for line in said.splitlines()]
    assert [users for users, _, _ in rows] == [1, 3, 16, 32, 64, 128]
    for users, more, gain in rows:
        assert more == pytest.approx(eq.touched_ratio(numbers.RUNNING, batch=users, drafted=4), abs=0.006)
        assert gain == pytest.approx(few(users), abs=0.006)
    assert rows[1][2] < 1 < rows[0][2] < 1.1


def test_the_head_start_of_loading_is_made_up_at_the_first_border():
    told = numbers.all()
    start, pace = 1e6 * float(told["load_weights"].split()[0]), float(told["catch_up"].split()[0].replace(",", ""))
    assert start / pace == pytest.approx(free(4), rel=1e-3)
    part = float(told["context_part"])
    found = float(told["critical"].replace(",", "")) / (float(told["ratio_even"]) - part)
    assert found == pytest.approx(lost(4), rel=2e-3)


def test_where_four_guesses_still_gain_two_gain_more():
    """At 2,000 users, in the box on users or guesses."""
    gains = {drafted: float(column(2_000, drafted, 9)["gain_2000"]) for drafted in range(1, 13)}
    assert max(gains, key=gains.get) == 2 and gains[4] > 1
    few, many = (V3 + batch * 1000 * KV for batch in (500, 2_000))  # plain steps of both wait for loading
    assert problems.times_more(2_000, 2) == f"{4 * few / many * gains[2]:.1f}"


def test_parts_that_take_turns_wait_each_for_itself():
    """At 1,000 users attention waits for its compute in a check, and the experts for their loading."""
    told = numbers.all()
    for name, slower in (("fp8", 1), ("bf16", 2)):
        attends = slower * 1_000 * 61 * 128 * (576 + 512) * 2 * 1_000 / 360e15
        weights, cache = 671.03e9 / 576e12, 1_000 * 70.27e6 / 576e12
        assert weights > 5 * 1_000 * 2 * 37.55e9 / 360e15, "the experts' check waits for loading"
        longer = (weights + max(cache, 5 * attends)) / (weights + max(cache, attends))
        assert told[f"turns_{name}"] == f"{longer:.2f}"
        assert told[f"turns_gain_{name}"] == f"{sum(0.8**n for n in range(5)) / (longer + 0.2):.1f}"


def test_one_users_round_is_its_check_and_four_draft_steps():
    """NVIDIA's four guesses: 2.99 tokens at 2.21 times the speed, 111 plain steps a second on eight B200."""
    told, loads = numbers.all(), 37.55e9 / (8 * 8e12)
    more = (float(told["touched_v3"]) - 1) * loads * 111
    assert float(told["check_more"]) == pytest.approx(more, abs=0.006)
    assert float(told["draft_more"]) == pytest.approx(2.99 / 2.21 - 1 - more, abs=0.006)
    assert 0.04 < float(told["draft_more"]) / 4 < 0.06, "about a twentieth each"


def test_gain_times_loss_of_copied_guesses_is_their_number_and_one():
    told = numbers.all()
    for accepted in (0.5, 0.7, 0.8):
        copied = {"acceptance": accepted, "drafted": 4, "draft_ratio": 0}
        assert eq.speedup_free(**copied) / eq.speedup_busy(**copied) == pytest.approx(5)
    assert float(told["ngram_gain"]) * float(told["ngram_loss"]) == pytest.approx(
        float(told["ngram_product"]), abs=0.06
    )
    assert float(told["tau_07"]) == pytest.approx(float(told["ngram_gain"]), abs=0.05)
    assert told["copied_07"] == told["ngram_loss"]


def test_the_toy_draft_saves_almost_two_passes_in_three_and_leaves_the_text_as_it_was():
    """What the page says of its program: one pass for each character alone, little more than a third with guesses."""
    _, told = run_cell("speculation", "def likeliest", distributions=distributions)
    alone = "shall I"
    while len(alone) < len(told["fast"]):
        chances = distributions.ngrams(4)(alone)
        alone += max(chances, key=chances.get)
    assert told["fast"] == alone
    assert 1 / 3 < told["passes"] / (len(alone) - 7) < 0.4
