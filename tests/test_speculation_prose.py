"""The numbers that the speculation lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

import contextlib
import io
import random
import re

import pytest
from lessons import ROOT, find_cell, run_cell, sig

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
    times = {"plain": plain, "check": check, "gain": tau(0.8, drafted) * plain / (check + drafted * plain / 20)}
    return {f"{name}_{batch}": f"{value:.{digits}f}" for name, value in times.items()}


def worked(batch):
    """The worked example at one batch: times of three digits, and the gain."""
    exact = {name: float(value) for name, value in column(batch, digits=9).items()}
    return {name: f"{value:.2f}" if name.startswith("gain") else sig(value, 3) for name, value in exact.items()}


def touched(experts, active, stored, used, tokens):
    """Bytes that so many tokens read of a routed model, one byte a parameter."""
    return used + (stored - used) * (1 - (1 - active / experts) ** (tokens - 1))


def not_shared(batch):
    """Plain steps that a check of four guesses takes in a small batch, if loading alone sets the time."""
    return touched(256, 8, V3, ACTIVE, 5 * batch) / touched(256, 8, V3, ACTIVE, batch)


def few(batch):
    """Speed-up of four guesses in the same batch."""
    return tau(0.8, 4) / (0.2 + not_shared(batch))


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    best = lambda a, c: max((tau(a, n) / (n * c + 1), n) for n in range(1, 60))
    said = lambda a, c: "{1} guesses, {0:.1f} times".format(*best(a, c))
    even = 5 / (tau(0.8, 4) - 0.2)
    expected = {
        "tau_4": f"{tau(0.8, 4):.2f}",
        "even_4": sig(lost(4)),
        "attend_one": f"{ATTEND / 1e6:.2f} MFLOP",
        "attend_all": f"{500 * ATTEND / 1e9:.1f} billion",
        "active": f"{ACTIVE / 1e9:.1f} billion",
        "critical": f"{V3 * RATE / (2 * COMPUTED * BYTES):,.0f}"[:-1] + "0",
        "load_weights": f"{1e3 * V3 / BYTES:.3f} ms",
        "one_token": f"{2e9 * COMPUTED / RATE:.0f} ns",
        "load_cache": f"{1e12 * KV / BYTES:.0f} ns",
        "ratio_even": f"{even:.3f}",
        "context_part": f"{1000 * KV / BYTES / (2 * COMPUTED / RATE):.3f}",
        "ratio_v3": sig(KV / BYTES / (ATTEND / RATE)),
        "kv_v3": f"{KV / 1000:.1f} kB",
        "kv_llama": f"{2 * 80 * 8 * 128 * 2 / 1000:.0f} kB",
        "attend_llama": f"{4 * 80 * 64 * 128 / 1e6:.2f} MFLOP",
        "ratio_llama": sig(327_680 / 3.35e12 / (4 * 80 * 64 * 128 / 989.4e12)),
        "free_llama": sig(5 * 2 * 70.55e9 / (327_680 * 989.4e12 / 3.35e12 - 5 * 4 * 80 * 64 * 128)),
        "long_most": sig(tau(0.8, 4) / (0.2 + 5 / (KV / BYTES / (ATTEND / RATE)))),
        "draft_share": "4.3%",
        **{name: value for batch in (1000, 4000, 16000) for name, value in worked(batch).items()},
        "even_1": sig(lost(1)),
        "one_4000": sig(float(column(4000, 1, 9)["gain_4000"])),
        "gain_4": sig(tau(0.8, 4) / 1.2),
        "even_4_bf16": sig(lost(4, 2 * COMPUTED - ACTIVE)),
        "acc_greedy": "0.75",
        "acc_sampled": "0.62",
        **{f"draft_{tenths}_{cost}": said(tenths / 10, cost / 100) for tenths in (4, 6, 8) for cost in (1, 5, 10)},
        "touched_v3": f"{touched(256, 8, V3, ACTIVE, 5) / ACTIVE:.1f}",
        "loads_all": sig(min(n for n in range(1, 999) if not_shared(n) <= 1.02)),
        "all_loaded": f"{1 - (31 / 32) ** 120:.0%}",
        "gain_bf16": f"{float(column(1000, 4, 9, 2 * COMPUTED - ACTIVE)['gain_1000']):.1f}",
        "mtp_place_1": "0.92",
        "mtp_place_2": sig(0.66 / 0.92),
        "mtp_place_3": sig(0.24 / 0.66),
        "mtp_place_4": sig(0.17 / 0.24),
        "r1_loads": f"{1e3 * ACTIVE / (8 * 8e12):.1f} ms",
        "mtp_price_4": f"{(2.99 / 2.21 - 2.82 / 2.28) * 2.28:.2f}",
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


def test_a_draft_that_is_right_more_often_beats_a_cheaper_one():
    """In the table of drafts: the last column of each row against the first column of the row above it."""
    best = lambda chance, cost: max(tau(chance, n) / (1 + n * cost) for n in range(60))
    for worse, better in ((0.4, 0.6), (0.6, 0.8)):
        assert best(better, 0.1) > best(worse, 0.01)


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
    shares = "${:.2f}$, ${:.2f}$, ${:.2f}$ and ${:.2f}$. So the fourth guess brings ${:.2f}$".format(*adds, adds[3])
    assert shares in (ROOT / "book/speculation.md").read_text("utf8")
    assert adds[3] < float(numbers.all()["mtp_price_4"])
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


def test_walking_up_the_users_meets_the_borders():
    """What the page's program prints, with rounded inputs, against the exact borders; and that a single guess and
    overhead move the second up.
    """

    def met(*changes):
        said, _ = run_cell("speculation", "def round_time", *changes)
        return [int(line.split(" users")[0].replace(",", "")) for line in said.splitlines()]

    assert met() == pytest.approx([free(4), lost(4)], rel=2e-3)
    one = met(("guesses, chance, draft = 4", "guesses, chance, draft = 1"))
    assert one == pytest.approx([free(1), lost(1)], rel=2e-3)
    _, longer = met(("overhead = 0", "overhead = 2000"))
    waits = lambda users, tokens: 2_000 + max(1e6 * (V3 + users * 1000 * KV) / BYTES, tokens * users * 0.25585)
    gain = lambda users: tau(0.8, 4) * waits(users, 1) / (waits(users, 5) + 0.2 * waits(users, 1))
    assert longer > 2 * lost(4) and gain(longer * 0.99) > 1 > gain(longer * 1.01)


def test_pricing_guess_by_guess_finds_the_best_number():
    """What the page's program prints at its three loads and at 500 users, against all numbers of guesses tried."""

    def priced(*changes):
        _, told = run_cell("speculation", "def round_time")
        said, _ = run_cell("speculation", "brings {brings", *changes, **told)
        rows = re.findall(r"([\d,]+) users: guess (\d+) brings ([\d.]+) tokens, costs ([\d.]+)", said)
        return [(int(n.replace(",", "")), int(guess), float(brings), float(price)) for n, guess, brings, price in rows]

    for rows in (priced(), priced(("1_000, ", "500, 1_000, "))):
        for users in {row[0] for row in rows}:
            gains = {drafted: float(column(users, drafted, 9)[f"gain_{users}"]) for drafted in range(20)}
            *paid, last = [row for row in rows if row[0] == users]
            assert len(paid) == max(gains, key=gains.get) and last[2] < last[3]
            assert all(brings > price for _, _, brings, price in paid)
    best = {users: guess - 1 for users, guess, *_ in rows}
    told = numbers.all()
    assert best == {500: int(told["draft_8_5"].split()[0]), 1_000: 4, 4_000: 1, 16_000: 0}
    fifth = next(row for row in rows if row[:2] == (1_000, 5))
    assert fifth[3] == pytest.approx(2 * fifth[2], rel=0.05), "about twice what it brings"


def test_drawn_experts_are_those_that_the_formula_counts():
    """What the page prints for small batches: three users are slowed down, the last have most of the gain, and with a
    single guess nobody loses.
    """

    def drawn(*changes):
        said, told = run_cell("speculation", "def loaded", *changes, random=random)
        lines = [tuple(map(float, re.findall(r"\d+(?:\.\d+)?", line))) for line in said.splitlines()]
        first, _heads, *rows = lines
        return first, rows, told

    (guesses, brought), rows, told = drawn()
    assert (guesses, brought) == (4, pytest.approx(tau(0.8, 4) - 1, abs=0.006))
    assert [users for users, *_ in rows] == [1, 3, 16, float(numbers.all()["loads_all"])]
    for users, more, price, gain in rows:
        assert more == pytest.approx(eq.touched_ratio(numbers.RUNNING, batch=users, drafted=4), abs=0.03)
        assert price == pytest.approx(0.2 + more - 1, abs=0.011)
        assert gain == pytest.approx(few(users), abs=0.03)
    assert rows[1][3] < 1 < rows[0][3] < 1.1 and rows[3][3] > 0.97 * tau(0.8, 4) / 1.2
    shared = 8 * told["expert"] * 1e9  # of one user's plain step, and of three users'
    assert told["shared"] * 1e9 == pytest.approx(ACTIVE - shared, rel=1e-3) and 0.4 < 1 - shared / ACTIVE < 0.5
    assert (ACTIVE - shared) / touched(256, 8, V3, ACTIVE, 3) < 0.25, "most of it is experts"
    assert all(gain > 1 for *_, gain in drawn(("guesses = 4", "guesses = 1"))[1])


def test_tossed_rounds_approach_the_ceiling():
    """The averages of the page's program are the formula's, and R1's chances give the round that was counted."""
    said, told = run_cell("speculation", "def play", random=random)
    rows = [(int(line.split()[0]), float(line.split()[2])) for line in said.splitlines()]
    assert [guesses for guesses, _ in rows] == [1, 2, 4, 8, 16, 100]
    for guesses, mean in rows:
        assert mean == pytest.approx(tau(0.8, guesses), abs=0.05) and mean < 5
    assert "[0.92, 0.72, 0.36, 0.71]" in find_cell("speculation", "def play")
    told["chances"][:] = [0.92, 0.72, 0.36, 0.71]
    assert sum(told["play"](4) for _ in range(20_000)) / 20_000 == pytest.approx(2.99, abs=0.04)


def test_kept_guesses_have_the_targets_shares_and_the_plausible_mistake_has_not():
    source = find_cell("speculation", "def guess_and_check")
    for old, new, shares in (
        ("", "", (0.5, 0.3, 0.2)),
        ('"A": 0.7, "B": 0.1', '"A": 7, "B": 2', (0.5, 0.3, 0.2)),
        ("return draw(missing)", "return draw(large)", (0.6, 0.16, 0.24)),
    ):
        assert old in source
        told = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(source.replace(old, new), told)
        found = [told["text"].count(token) / len(told["text"]) for token in "ABC"]
        assert found == pytest.approx(shares, abs=0.01)


def test_sums_that_the_page_writes_out():
    """Typed in mathematics, with rounded numbers: they are those of the exact ones."""
    tokens, check = tau(0.8, 4), KV / BYTES / (ATTEND / RATE)
    typed = {
        "3.36/1.2 = 2.8$": tokens / 1.2,
        "3.36/5.2 = 0.65$": tokens / 5.2,
        "3.36 - 0.2 = 3.16$": tokens - 0.2,
        "0.8^5 = 0.33$": 0.8**5,
        "2.8 \\times 0.05 = 0.14$": tokens / 1.2 * 0.05,
        "5/2.6 = 1.9$": 5 / check,
        "2.99/2.21 = 1.35$": 2.99 / (245 / 111),
        "5/2.8 = 1.8$": 5 / 2.8,
        "(2.82 - 2.58)/(2.58 - 1.92) = 0.36$": 0.24 / 0.66,
        "6/2.8 = 2.1$": 6 / 2.8,
        "1.35 - 1 - 0.07 = 0.28$": 2.99 * 111 / 245 - 1 - float(numbers.all()["check_more"]),
    }
    page = (ROOT / "book/speculation.md").read_text("utf8")
    for sum_, exact in typed.items():
        said = sum_.rstrip("$").rpartition("= ")[2]
        assert sum_ in page and f"{exact:.{len(said.partition('.')[2])}f}" == said, sum_
    assert tokens / (5 / check + 0.2) == pytest.approx(3.36 / 2.1, abs=0.03)
    assert (31 / 32) ** 1000 < 1e-9, "a thousand tokens leave no expert out"


def test_the_head_start_of_loading_is_made_up_at_the_first_border():
    """The sum that the page prints, and the second border by the letters in the fold."""
    told = numbers.all()
    assert told["load_weights"].startswith("1.165") and (told["one_token"], told["load_cache"]) == ("256 ns", "122 ns")
    found = 1165 / (5 * 0.256 - 0.122)
    assert found == pytest.approx(free(4), rel=2e-3)
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
    """At 1,000 users attention waits for its compute in a check, and the experts for their loading: in FP8 from the
    second guess on.
    """
    assert 2 < KV / BYTES / (ATTEND / RATE) < 3
    told = numbers.all()
    for name, slower in (("fp8", 1), ("bf16", 2)):
        attends = slower * 1_000 * 61 * 128 * (576 + 512) * 2 * 1_000 / 360e15
        weights, cache = 671.03e9 / 576e12, 1_000 * 70.27e6 / 576e12
        assert weights > 5 * 1_000 * 2 * 37.55e9 / 360e15, "the experts' check waits for loading"
        longer = (weights + max(cache, 5 * attends)) / (weights + max(cache, attends))
        assert told[f"turns_gain_{name}"] == f"{sum(0.8**n for n in range(5)) / (longer + 0.2):.1f}"


def test_a_longer_check_is_a_small_part_of_one_users_round():
    """NVIDIA's four guesses: 2.99 tokens at 2.21 times the speed, 111 plain steps a second on eight B200."""
    told, loads = numbers.all(), 37.55e9 / (8 * 8e12)
    expert = (671.03e9 - 37.55e9) / 248  # of 256, one in all layers
    experts = lambda guesses: 256 * (1 - (31 / 32) ** (1 + guesses)) * expert  # in FP4, half a byte each
    adds = lambda guesses: (experts(guesses) - experts(0)) / 2 / (8 * 8e12)
    assert (told["r1_loads"], told["check_more"]) == (f"{1e3 * adds(4):.1f} ms", f"{111 * adds(4):.2f}")
    for guesses, made, rate in MTP:
        left = (made * 111 / rate - 1 - 111 * adds(guesses)) / guesses
        assert told[f"mtp_left_{guesses}"] == f"{left:.2f}", "what the guesses cost beside their experts"
    assert [told[f"mtp_left_{guesses}"] for guesses in (1, 2, 3)] == 3 * ["0.06"]
    attention = 61 * (7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168)
    mixed = 2 * (attention + 129280 * 7168) + (37.55e9 - attention - 2 * 129280 * 7168) / 2  # bytes; the head in BF16
    assert mixed / (8 * 8e12) == pytest.approx(loads, rel=0.05), "attention in BF16, the rest in FP4"


def test_one_round_of_copied_guesses_makes_both_of_vllms_numbers():
    """A round of 2.8 tokens takes one plain step where checking is free, and five on a full server."""
    told = numbers.all()
    assert told["ngram_loss"] == f"{5 / float(told['ngram_gain']):.1f}"
    for accepted in (0.5, 0.7, 0.8):
        copied = {"acceptance": accepted, "drafted": 4, "draft_ratio": 0}
        assert eq.speedup_free(**copied) / eq.speedup_busy(**copied) == pytest.approx(5)


def test_the_toy_draft_saves_two_passes_in_three_and_leaves_the_text_as_it_was():
    """What the page says of its program: three times as many passes alone, two rounds of five and one of one whose
    first guess differs.
    """
    said, told = run_cell("speculation", "def likeliest", distributions=distributions)
    alone = "shall I"
    while len(alone) < len(told["text"]):
        chances = distributions.ngrams(6)(alone)
        alone += max(chances, key=chances.get)
    assert told["text"] == alone and len(alone) - 7 == 3 * told["rounds"]
    rounds = re.findall(r"guess '(.*?)' +write '(.*?)'", said)
    assert [len(written) for _, written in rounds].count(5) == 2
    assert sum(guess[0] != written[0] for guess, written in rounds) == 1
