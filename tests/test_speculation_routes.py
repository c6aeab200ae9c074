"""The speculation lesson's formulas against other routes: exact enumeration, sampling, counting, trying, and published
numbers.
"""

from __future__ import annotations

import json
import math
import random
import statistics
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_interactive import vega_says

from blackboard.catalogue import measurement, model
from blackboard.catalogue.running_case import RUNNING, Case
from blackboard.formula import FormulaError
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pricing.equations import memory_ratio_of
from blackboard.lessons.speculation import charts, figures, numbers
from blackboard.lessons.speculation import distributions as d
from blackboard.lessons.speculation import equations as eq
from blackboard.lessons.speculation import simulation as sim

LLAMA = Case("llama-3.1-70b", "h100-8", "bf16", 2_000)
CASES = pytest.mark.parametrize("case", [RUNNING, LLAMA], ids=str)
ROUND = {"acceptance": 0.75, "drafted": 4, "draft_ratio": 0.06}

# --- the algorithm ----------------------------------------------------------------------------------------------------


def fractions(weights):
    """An exact distribution over the first letters, by integer weights."""
    whole = sum(weights)
    return {letter: Fraction(weight, whole) for letter, weight in zip("abcd", weights) if weight}


def weights(least=0):
    return st.lists(st.integers(least, 6), min_size=3, max_size=3).filter(any).map(fractions)


@st.composite
def models(draw, least=0):
    """A model whose distribution depends on the last letter."""
    table = {last: draw(weights(least)) for last in ["", "a", "b", "c"]}
    return lambda prefix: table[prefix[-1:]]


@given(target=models(), draft=models(), drafted=st.integers(0, 4), length=st.integers(1, 3))
@settings(max_examples=80)
@pytest.mark.slow
def test_rounds_write_exactly_as_the_target_does(target, draft, drafted, length):
    """Every branch, in exact fractions; the draft may miss tokens of the target and guess impossible ones."""
    right = {text: chance for text, chance in d.plain(target, "", length).items() if chance}
    assert {text: chance for text, chance in d.outcome(draft, target, "", length, drafted).items() if chance} == right


@given(target=models(1), draft=models(1))
@settings(max_examples=40)
def test_wrong_rules_write_otherwise(target, draft):
    """Unless the draft is the target; the exact distribution of the first token after one drafted one."""
    p, q = target(""), draft("")
    for rule in d.WRONG.values():
        found = d.outcome(draft, target, "", 1, 1, rule)
        assert sum(found.values()) == 1
    kept, replaced = (
        d.outcome(draft, target, "", 1, 1, d.WRONG[name]) for name in ("all kept", "replaced from the target")
    )
    assert kept == q and (replaced == p) == (p == q)


@given(p=weights(), q=weights())
def test_acceptance_is_what_two_distributions_share(p, q):
    """Added up token by token as it is drafted and kept, and by the distance."""
    kept = sum(chance * d.RIGHT.keep(p, q, token) for token, chance in q.items())
    assert kept == d.overlap(p, q) == 1 - d.distance(p, q) == d.overlap(q, p)
    assert eq.acceptance_of(distance=float(d.distance(p, q))) == pytest.approx(float(kept))
    if kept < 1:
        left = d.residual(p, q)
        assert sum(left.values()) == 1
        assert all(
            q[token] * d.RIGHT.keep(p, q, token) + (1 - kept) * left.get(token, 0) == p[token]
            for token in p
            if token in q
        )


START, TEXTS, LEVEL = "When I do count the", 6_000, 0.001


@pytest.fixture(scope="module")
def two_characters():
    """The exact distribution of the next two characters, of the models of the sonnets."""
    return d.plain(d.ngrams(4), START, 2)


def texts(rule=d.RIGHT, seed=5):
    rng = random.Random(seed)
    return Counter(d.write(rng, d.ngrams(2), d.ngrams(4), START, 2, 3, rule) for _ in range(TEXTS))


def test_the_samplers_texts_are_the_targets(two_characters):
    from scipy.stats import chi2

    statistic, degrees = d.chi_square(texts(), two_characters)
    assert degrees > 20 and chi2.sf(statistic, degrees) > LEVEL


@pytest.mark.parametrize("name", d.WRONG)
def test_the_test_tells_wrong_samplers_apart(two_characters, name):
    """So many texts refuse each wrong rule at the level with a power above 0.999, and they do."""
    from scipy.stats import chi2

    wrong = d.outcome(d.ngrams(2), d.ngrams(4), START, 2, 3, d.WRONG[name])
    found = d.power(wrong, two_characters, TEXTS, LEVEL)
    print(f"{name}: power {found:.5f} with {TEXTS:,} texts at level {LEVEL}")
    assert found > 0.999 and sum(wrong.values()) == pytest.approx(1)
    statistic, degrees = d.chi_square(texts(d.WRONG[name]), two_characters)
    assert chi2.sf(statistic, degrees) < LEVEL


def test_the_power_is_the_share_of_refusals():
    """Of 400 small samples of a loaded die, near the computed power; of a fair one, near the level."""
    from scipy.stats import chi2

    right, wrong = dict.fromkeys("abcdef", 1 / 6), dict(zip("abcdef", (0.12, 0.16, 0.16, 0.17, 0.17, 0.22)))
    refused = {}
    for name, die in (("wrong", wrong), ("right", right)):
        rng = random.Random(2)
        samples = (Counter(rng.choices(list(die), die.values(), k=400)) for _ in range(400))
        refused[name] = statistics.mean(float(chi2.sf(*d.chi_square(sample, right)) < 0.05) for sample in samples)
    assert refused["wrong"] == pytest.approx(d.power(wrong, right, 400, 0.05), abs=0.08) and refused[
        "right"
    ] == pytest.approx(0.05, abs=0.04)


def test_the_sonnets_are_whole():
    """154 of 14 lines, but for the 99th with 15 and the 126th with 12."""
    poems = d.sonnets().strip().split("\n\n")
    assert len(poems) == 154 and {
        n: len(poem.split("\n")) for n, poem in enumerate(poems, 1) if poem.count("\n") != 13
    } == {99: 15, 126: 12}
    assert d.sonnets().isascii() and not any(ch.isdigit() for ch in d.sonnets())


def test_models_of_text_are_distributions_and_longer_contexts_know_more():
    held, text = d.sonnets()[80_000:], d.sonnets()[:80_000]
    bits = []
    for order in (0, 1, 2, 4):
        net = d.Ngrams(text, order)
        assert all(
            sum(net(prefix).values()) == pytest.approx(1) and min(net(prefix).values()) > 0
            for prefix in ("", "th", "Shall I compare", "zzzz")
        )
        bits.append(-statistics.mean(math.log2(net(held[n - 6 : n])[held[n]]) for n in range(6, 3_000)))
    assert bits == sorted(bits, reverse=True) and 4 < bits[0] < 5 and bits[-1] < 2.6


# --- tokens of a round ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acceptance", [0.0, 0.3, 0.8, 0.95])
@pytest.mark.parametrize("drafted", [0, 1, 4, 9])
def test_tokens_of_a_round_are_tossed_and_enumerated(acceptance, drafted):
    tokens = eq.tokens_per_round(acceptance=acceptance, drafted=drafted)
    chances = [acceptance**n * (1 - acceptance) for n in range(drafted)] + [acceptance**drafted]
    assert sum(chances) == pytest.approx(1) and tokens == pytest.approx(
        sum((n + 1) * chance for n, chance in enumerate(chances))
    )
    tossed = sim.rounds(acceptance, drafted, 4_000)
    assert tossed.value == pytest.approx(tokens, abs=4.5 * tossed.error + 1e-12)
    assert eq.next_tokens(acceptance=acceptance, drafted=drafted) == pytest.approx(
        eq.tokens_per_round(acceptance=acceptance, drafted=drafted + 1) - tokens
    )


def test_the_sheets_numbers():
    """facts 11.1: tokens of a round; DeepSeek's one more token."""
    for acceptance, drafted, tokens in ((0.8, 4, 3.362), (0.75, 7, 3.600), (0.6, 5, 2.383), (0.9, 4, 4.095)):
        assert eq.tokens_per_round(acceptance=acceptance, drafted=drafted) == pytest.approx(tokens, abs=5e-4)
    (row,) = measurement("deepseek_v3_mtp").records()
    low, high = (eq.tokens_per_round(acceptance=row[name], drafted=1) for name in ("acceptance_low", "acceptance_high"))
    assert (low, high) == pytest.approx((1.85, 1.9)) and row["speedup"] < low
    with pytest.raises(FormulaError):
        eq.tokens_per_round(acceptance=1, drafted=3)


def test_without_drafts_nothing_changes():
    for ratio in (0.5, 1, 20):
        assert eq.speedup(acceptance=0.7, drafted=0, draft_ratio=0.1, memory_ratio=ratio) == pytest.approx(1)


# --- time of a round, and what it gains -------------------------------------------------------------------------------


@CASES
@pytest.mark.parametrize("batch", [1, 40, 700, 9_000])
@pytest.mark.parametrize("drafted", [1, 4, 9])
def test_passes_are_counted(case, batch, drafted):
    """FLOPs and bytes of a pass, added up sequence by sequence."""
    known, machine = case.symbols() | {"batch": batch, "drafted": drafted}, sim.server(case.symbols())
    verify = machine.seconds(batch, drafted + 1)
    assert eq.verify_time(known) == pytest.approx(verify, rel=1e-9)
    assert step.step_time(known) == pytest.approx(machine.seconds(batch, 1), rel=1e-9)
    ratio = memory_ratio_of(known)
    assert eq.verify_ratio(drafted=drafted, memory_ratio=ratio) == pytest.approx(
        verify / machine.seconds(batch, 1), rel=1e-9
    )
    small = {"draft_size": 1e9, "draft_kv": 5_000.0, "draft_context": 300.0}
    draft = sim.Server(machine.flops, machine.bandwidth, 1e9, 1e9 * known["bytes_per_param"], 5_000 * 300.0)
    assert eq.draft_time(known | small) == pytest.approx(draft.seconds(batch, 1), rel=1e-9)
    whole = eq.round_time(known, t_draft=eq.draft_time(known | small))
    assert whole == pytest.approx(drafted * draft.seconds(batch, 1) + verify, rel=1e-9)
    assert eq.verify_compute(known) == pytest.approx((drafted + 1) * step.compute_time(known), rel=1e-12)


@CASES
@pytest.mark.parametrize("batch", [8, 150, 1_200])
def test_a_server_that_runs_gains_what_the_formula_says(case, batch):
    known = case.symbols() | ROUND | {"batch": batch}
    expected = eq.speedup(known, memory_ratio=memory_ratio_of(known))
    tosses = max(20, 20_000 // batch)
    assert sim.speedup(sim.server(case.symbols()), batch, 4, 0.75, 0.06, tosses) == pytest.approx(expected, rel=0.03)


@given(
    acceptance=st.floats(0, 0.999), drafted=st.integers(0, 20), draft_ratio=st.floats(0, 1), ratio=st.floats(0.01, 1e4)
)
def test_between_the_two_ends(acceptance, drafted, draft_ratio, ratio):
    """Any speed-up lies between that where multiplying binds and that where verifying is free, and the first is never
    above 1.
    """
    at = {"acceptance": acceptance, "drafted": drafted, "draft_ratio": draft_ratio}
    busy, free, here, added = (
        eq.speedup_busy(**at),
        eq.speedup_free(**at),
        eq.speedup(**at, memory_ratio=ratio),
        eq.speedup_added(**at, memory_ratio=ratio),
    )
    assert (
        busy * (1 - 1e-12) <= here <= free * (1 + 1e-12)
        and busy * (1 - 1e-12) <= added <= free * (1 + 1e-12)
        and busy <= 1 + 1e-12
    )
    assert here == pytest.approx(sim.gain(acceptance, drafted, draft_ratio, ratio), rel=1e-9)
    assert free == pytest.approx(sim.gain(acceptance, drafted, draft_ratio), rel=1e-9)
    assert (
        free <= eq.tokens_per_round(acceptance=acceptance, drafted=drafted) * (1 + 1e-12) <= (drafted + 1) * (1 + 1e-9)
    )


@given(acceptance=st.floats(0.05, 0.98), draft_ratio=st.floats(0.001, 0.5))
@settings(max_examples=60)
def test_the_best_draft_ends_where_one_more_token_no_longer_pays(acceptance, draft_ratio):
    """The rate that one more token adds, over the rate so far: above 1 before the best, below 1 after it."""
    best = sim.best_drafted(acceptance, draft_ratio, most=600).drafted
    rate = lambda n: (
        eq.next_tokens(acceptance=acceptance, drafted=n)
        / draft_ratio
        / eq.speedup_free(acceptance=acceptance, drafted=n, draft_ratio=draft_ratio)
    )
    assert rate(best) <= 1 + 1e-9 and (best == 0 or rate(best - 1) >= 1 - 1e-9)


def test_where_multiplying_binds_it_is_best_not_to_draft():
    for acceptance in (0.3, 0.9, 0.99):
        assert sim.best_drafted(acceptance, 0.01, memory_ratio=1) == (0, 1)


# --- where it ends ----------------------------------------------------------------------------------------------------


def first_batch(case, drafted, refuses):
    """The first batch that a pass refuses, by halving over counted passes."""
    low, high, at = 1, 1 << 17, case.symbols()
    seconds = lambda batch, tokens: max(
        batch * tokens * 2 * at["n_active"] / at["flops"],
        (at["n_total"] * at["bytes_per_param"] + batch * at["context"] * at["kv_bytes_per_token"]) / at["bandwidth"],
    )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refuses(middle, seconds) else (middle, high)
    return high


@CASES
@pytest.mark.parametrize("drafted", [1, 3, 7])
def test_the_batch_that_verifies_for_free_is_found_by_trying(case, drafted):
    case = case._replace(context=300)
    tried = first_batch(
        case, drafted, lambda batch, seconds: seconds(batch, drafted + 1) > seconds(batch, 1) * (1 + 1e-12)
    )
    assert tried == pytest.approx(eq.batch_free(case, drafted=drafted), abs=1)
    short = eq.batch_free(case._replace(context=0), drafted=drafted)
    assert short * (drafted + 1) == pytest.approx(step.critical_batch(case))  # B (γ + 1) < B*


@CASES
@pytest.mark.parametrize("drafted", [2, 4])
def test_the_batch_that_slows_down_is_found_by_trying(case, drafted):
    case, at = case._replace(context=300), ROUND | {"drafted": drafted}
    tokens = sum(0.75**n for n in range(drafted + 1))
    round_ = lambda batch, seconds: drafted * 0.06 * seconds(batch, 1) + seconds(batch, drafted + 1)
    tried = first_batch(case, drafted, lambda batch, seconds: tokens * seconds(batch, 1) < round_(batch, seconds))
    even = eq.ratio_even(at)
    assert tried == pytest.approx(eq.batch_even(case, ratio_even=even), abs=1)
    assert eq.speedup(**at, memory_ratio=even) == pytest.approx(1)


@pytest.mark.parametrize("case, drafted", [(LLAMA, 1), (LLAMA, 5), (RUNNING, 1)], ids=str)
def test_long_contexts_verify_for_free_at_any_batch(case, drafted):
    """Attention's FLOPs counted pass by pass; where loading is not slow enough, no context does it."""
    edge = eq.context_free(case, drafted=drafted, attention_flop=numbers.attention(case.model))
    at = lambda share: sim.server(numbers.attended(case._replace(context=share * edge)))
    for batch in (10, 3_000):
        assert at(1.001).seconds(batch, drafted + 1) == pytest.approx(at(1.001).seconds(batch, 1))
    assert at(0.7).seconds(60_000, drafted + 1) > 1.02 * at(0.7).seconds(60_000, 1)


@pytest.mark.parametrize("drafted", [2, 4])
def test_no_context_makes_four_guesses_free_on_the_running_case(drafted):
    """128 heads, 576 values of a key and 512 of a value, 61 layers: attending takes more than a third of loading."""
    attend, load = 2 * 61 * 128 * (576 + 512) / 5e15, 61 * 576 * 2 / 8e12  # of one of the rack's GPUs
    assert numbers.attention("deepseek-v3") / 5e15 == pytest.approx(attend) and load / attend == pytest.approx(
        2.585, abs=1e-3
    )
    with pytest.raises(FormulaError):
        eq.context_free(RUNNING, drafted=drafted, attention_flop=numbers.attention("deepseek-v3"))
    far = sim.server(numbers.attended(RUNNING._replace(context=1e6)))
    assert far.seconds(1_000, drafted + 1) > 1.1 * far.seconds(1_000, 1)


def test_a_full_rack_no_longer_loses_at_long_contexts():
    """In FP8 from the printed context on; in BF16 never."""
    gain = lambda context, slower: eq.speedup(
        numbers.EXAMPLE,
        memory_ratio=memory_ratio_of(numbers.attended(RUNNING._replace(context=context), slower), batch=1e9),
    )
    assert gain(6_900, 1) < 1 < gain(7_000, 1) and gain(1e7, 1) == pytest.approx(1.573, abs=2e-3)
    assert all(gain(context, 2) < 0.85 for context in (1e3, 1e4, 1e5, 1e6))


def test_the_running_case():
    at = RUNNING.symbols()
    assert [round(eq.batch_free(at, drafted=n)) for n in (1, 3)] == [3_946, 1_635]
    assert [round(eq.batch_free(numbers.RACK, drafted=n)) for n in (1, 4)] == [2_990, 1_007]
    assert eq.context_free(at, drafted=3, attention_flop=1e-3) == pytest.approx(4 * step.balanced_context(at))


@pytest.mark.parametrize("id", ["mixtral-8x7b", "deepseek-v3"])
@pytest.mark.parametrize("batch, drafted", [(1, 1), (1, 7), (5, 3), (40, 2)])
def test_touched_experts_are_drawn(id, batch, drafted):
    net = model(id)
    one = (net.n_total - net.n_active) / (net.moe.experts - net.moe.active)  # all layers' share of one routed expert
    rest = net.n_active - net.moe.active * one
    drawn = [sim.touched(net.moe.experts, net.moe.active, tokens, 300) for tokens in (batch * (drafted + 1), batch)]
    read = [rest + one * found.value for found in drawn]
    known = net.symbols("fp8") | {"batch": batch, "drafted": drafted}
    assert eq.touched_ratio(known) == pytest.approx(read[0] / read[1], rel=0.03)


# --- real text --------------------------------------------------------------------------------------------------------


def test_text_written_in_rounds_passes_by_place_as_it_overlaps():
    """The first place after a refusal is harder than the average character, later places are easier, and tokens add
    up.
    """
    found, mean = sim.written(), statistics.mean(sim.overlaps())
    assert found.tokens_per_round == pytest.approx((len(found.text) - 2) / found.rounds)
    assert found.acceptance == pytest.approx(mean, abs=0.03)
    early, late = found.by_place[0], sum(found.passed[3:]) / sum(found.judged[3:])
    spread = math.sqrt(late * (1 - late) / sum(found.judged[3:]) + early * (1 - early) / found.judged[0])
    assert early < mean and late - early > 3 * spread
    with pytest.raises(ValueError, match="1 to 4 tokens"):
        sim.acceptance_from(4.5, 3)


def test_an_acceptance_that_differs_between_sequences_yields_more_than_its_mean():
    """Jensen: tokens of a round bend upwards in the acceptance; half of the batch at each end against all at the
    mean.
    """
    machine = sim.server(RUNNING.symbols())
    mixed = sim.serve(machine, 400, 6, [0.95] * 200 + [0.55] * 200, 0.0, 40).tokens / 16_000
    halves = statistics.mean(eq.tokens_per_round(acceptance=chance, drafted=6) for chance in (0.95, 0.55))
    assert mixed == pytest.approx(halves, rel=0.02) and halves > 1.1 * eq.tokens_per_round(acceptance=0.75, drafted=6)


def test_served_tokens_add_up():
    """Each round of a sequence drafts so many, keeps some, and adds one."""
    done = sim.serve(sim.server(RUNNING.symbols()), 30, 4, 0.7, 0.1, 50)
    assert done.tokens + done.wasted == 30 * 50 * 5


@given(tokens=st.floats(1.01, 4.9))
def test_an_acceptance_gives_its_tokens_back(tokens):
    chance = sim.acceptance_from(tokens, 4)
    assert eq.tokens_per_round(acceptance=min(chance, 0.9999), drafted=4) == pytest.approx(tokens, abs=1e-3)


# --- published numbers ------------------------------------------------------------------------------------------------


def test_leviathans_rows():
    rows = sim.leviathan()
    off = [abs(row.measured / row.predicted - 1) for row in rows]
    assert (
        len(rows) == 12
        and statistics.median(off) == pytest.approx(0.148, abs=2e-3)
        and max(off) == pytest.approx(0.319, abs=2e-3)
    )
    assert sorted(row.name for row in rows if row.measured > row.tokens) == [
        "CNN/DM, T5-base, sampled",
        "CNN/DM, T5-small, greedy",
        "CNN/DM, T5-small, sampled",
        "EnDe, T5-small, sampled",
    ]


def test_seven_from_three():
    off = {(row.draft, row.task): row.predicted / row.measured - 1 for row in sim.longer()}
    assert len(off) == 6 and min(off.values()) == off["EAGLE-3", "SPEED-Bench"] == pytest.approx(-0.009, abs=5e-3)
    assert max(off.values()) == off["P-EAGLE", "SPEED-Bench"] == pytest.approx(0.165, abs=5e-3)


def test_one_layer_that_drafts_again_is_best_at_three():
    """DeepSeek-R1: a round's time grows about evenly with each drafted token; the marginal rule finds the best
    number.
    """
    rows = measurement("mtp_by_depth").records()
    times = [eq.round_steps(tokens_per_round=row["tokens_per_pass"], spec_speedup=row["speedup"]) for row in rows]
    assert times[0] == 1 and all(0.04 < more - less < 0.12 for less, more in zip(times, times[1:]))
    pays = [
        (b["tokens_per_pass"] - a["tokens_per_pass"]) / (tb - ta) > a["speedup"]
        for a, b, ta, tb in zip(rows, rows[1:], times, times[1:])
    ]
    assert pays == [True, True, True, False, False] and max(rows, key=lambda row: row["speedup"])["drafted_tokens"] == 3


def test_spires_multipliers():
    """facts 11.1: the times of a round that they imply, and what is saved of ten units of serving."""
    rows = {row["draft"]: row for row in measurement("spire_multipliers").records()}
    took = {
        name: eq.round_steps(tokens_per_round=row["tokens_per_pass"], spec_speedup=row["speedup"])
        for name, row in rows.items()
    }
    assert (took["SPIRe"], took["MagicDec"], took["small draft"]) == pytest.approx((1.223, 1.898, 1.904), abs=1e-3)
    saved = [
        10 * eq.saving(spec_speedup=gain, draft_training=training)
        for gain, training in ((2.78, 0.025), (2.05, 0), (2.82, 0.025), (2.14, 0))
    ]
    assert saved == pytest.approx([6.15, 5.12, 6.20, 5.33], abs=5e-3)
    assert (
        rows["SPIRe"]["speedup"] / rows["MagicDec"]["speedup"] > 1.35
        and rows["SPIRe"]["speedup"] / rows["small draft"]["speedup"] >= 2
    )


def test_the_other_two_point_eight():
    """vLLM's gain and loss with a draft that costs nothing multiply to γ + 1: about four drafted, if verifying was
    free at first and paid in full at last.
    """
    rows = {
        (row["setting"].split(", ")[1], row["method"]): row["factor"]
        for row in measurement("spec_decoding_others").records(target="Llama 3 70B on 4 H100")
    }
    gain, loss = rows["1 request/s", "n-gram"], rows["many requests/s", "n-gram"]
    assert (gain - 0.05) * (loss - 0.05) < 5 < (gain + 0.05) * (loss + 0.05)
    chance = sim.acceptance_from(gain, 4)
    assert eq.speedup_free(acceptance=chance, drafted=4, draft_ratio=0) == pytest.approx(gain)
    assert 1 / eq.speedup_busy(acceptance=chance, drafted=4, draft_ratio=0) == pytest.approx(loss, abs=0.05)


# --- rows by batch ----------------------------------------------------------------------------------------------------


def test_what_the_roofline_says_of_the_rows():
    """On H100 all SGLang's batches lie below B* / 4, so the peak's roofline is level; the measured gain is not."""
    rows = sim.measured("SGLang", "EAGLE-3")
    assert max(rows.batches) * (rows.drafted + 1) < sim.critical("H100") == pytest.approx(295, abs=1)
    ideal = sim.predicted("slower", 1, rows, "H100")
    assert (
        set(ideal.values) == {rows.measured[0]} and ideal.error > 0.2 and min(rows.measured) < 0.75 * rows.measured[0]
    )


def test_the_drafts_are_a_layer_and_a_head():
    net = model(sim.TARGET)
    (group,), (ffn,) = net.attention, net.ffn
    layer = group.params(net.d_model) / group.layers + ffn.params(net.d_model) / net.layers
    for draft, vocabulary in (("EAGLE", net.vocab), ("EAGLE-3", 32_000)):
        assert sim.drafting(draft) == pytest.approx((layer + vocabulary * net.d_model) / net.n_total, rel=1e-9)


def test_one_constant_for_four_sets_of_rows():
    """Fitted on one, tested on the others; the fit is a minimum, implies a possible number of tokens, and the slower
    of the two fits worse.
    """
    share, (own, *others) = sim.fitted(), sim.tested()
    assert 0.7 < share < 1 and own.rows == sim.measured("SGLang", "EAGLE-3") and own.error < 0.08
    squares = lambda value: sum(error**2 for error in sim.predicted("added", value, own.rows, "H100").errors)
    assert squares(share) < min(squares(share * 0.97), squares(share * 1.03))
    for curve in others:
        level = sim.predicted("slower", 1, curve.rows, curve.gpu)
        assert curve.error < 0.14 and curve.error < level.error and 1 < curve.tokens <= curve.rows.drafted + 1
    assert statistics.mean(curve.error for curve in sim.tested("slower")) > 1.5 * statistics.mean(
        curve.error for curve in sim.tested()
    )


def test_the_constant_scales_with_the_multipliers():
    """The same number of tokens on an A100 as on an H100 misses its rows by more than the same share of the peak."""
    share = sim.fitted()
    alike = share * sim.critical("H100") / sim.critical("A100")
    for draft in ("EAGLE-3", "EAGLE"):
        rows = sim.measured("vLLM", draft)
        assert (
            sim.predicted("added", alike, rows, "A100").error > 1.5 * sim.predicted("added", share, rows, "A100").error
        )


# --- figures and interactive charts -----------------------------------------------------------------------------------


def test_the_figures_example_is_possible():
    assert eq.speedup_free(figures.EXAMPLE) == pytest.approx(2.801, abs=1e-3)


SPEEDUPS = (
    {},
    {"context_exponent": 3.8},
    {"acceptance": 0.2, "drafted": 7, "draft_ratio": 0.3},
    {"system": "h100-8", "model": "llama-3.1-8b", "precision": "bf16"},
)


@pytest.mark.parametrize("moved", SPEEDUPS, ids=str)
def test_the_charts_batches_are_where_a_server_finds_them(moved):
    params = json.loads(json.dumps(charts.speedup_chart().spec["params"]))
    params = [
        {**param, "value": moved.get(param["name"], param["value"])} if "value" in param else param for param in params
    ]
    names = ["flops", "bandwidth", "n_active", "n_total", "bytes_per_param", "kv_bytes_per_token", "context"]
    names += ["acceptance", "drafted", "draft_ratio", "free", "even", "gain", "fits", "machine.hbm", "attention_flop"]
    (found,) = vega_says([{"row": 0}], names, params)
    at = dict(zip(names, found))
    seconds = lambda batch, tokens: max(
        batch * tokens * (2 * at["n_active"] + at["attention_flop"] * at["context"]) / at["flops"],
        (at["n_total"] * at["bytes_per_param"] + batch * at["context"] * at["kv_bytes_per_token"]) / at["bandwidth"],
    )
    drafted = round(at["drafted"])
    gain = lambda batch: (
        sum(at["acceptance"] ** n for n in range(drafted + 1))
        * seconds(batch, 1)
        / (drafted * at["draft_ratio"] * seconds(batch, 1) + seconds(batch, drafted + 1))
    )
    assert gain(0.01) == pytest.approx(at["gain"])
    if at["free"]:
        assert gain(at["free"] * 0.999) == pytest.approx(at["gain"]) and gain(at["free"] * 1.05) < at["gain"] * 0.999
    held = at["n_total"] * at["bytes_per_param"] + at["fits"] * at["context"] * at["kv_bytes_per_token"]
    assert held == pytest.approx(at["machine.hbm"])
    if at["even"] > 0:
        assert gain(at["even"]) == pytest.approx(1, rel=1e-6)
    else:
        assert (gain(1e9) >= 1 - 1e-9) if at["even"] == 0 else (at["gain"] <= 1)


@pytest.mark.parametrize(
    "batch, gains", [(1, 1.05), (2, 0.93), (4, 0.93), (16, 1.38), (32, 1.94), (64, 2.50), (128, 2.76), (1_000, 2.80)]
)
def test_the_chart_counts_experts(batch, gains):
    """Pass by pass: each expert is read unless every token of the pass leaves it alone; between rounds and steps of
    DeepSeek-V3, by hand.
    """
    at = RUNNING.symbols() | {"attention_flop": charts.ATTENDS[RUNNING.model]}
    alone = 1 - at["top_k"] / at["experts"]
    routed = (at["n_total"] - at["n_active"]) / alone

    def seconds(tokens):
        left = math.prod(alone for _ in range(batch * tokens))
        read = (at["n_total"] - routed * left) * at["bytes_per_param"] + batch * at["context"] * at[
            "kv_bytes_per_token"
        ]
        computed = (2 * at["n_active"] + at["attention_flop"] * at["context"]) * batch * tokens
        return max(computed / at["flops"], read / at["bandwidth"])

    counted = sum(0.8**n for n in range(5)) / (4 * 0.05 + seconds(5) / seconds(1))
    assert (
        charts.SPEEDUP(at, batch=batch, acceptance=0.8, drafted=4, draft_ratio=0.05)
        == pytest.approx(counted)
        == pytest.approx(gains, abs=0.011)
    )


def test_a_dense_model_is_one_expert():
    """Its weights are read whole for any number of tokens: the curve is the formula without experts."""
    known = LLAMA.symbols() | ROUND | dict(zip(("experts", "top_k"), charts.ROUTING[LLAMA.model]))
    known["attention_flop"] = charts.ATTENDS[LLAMA.model]
    for batch in (1, 7, 300, 5_000):
        ratio = memory_ratio_of(numbers.attended(LLAMA), batch=batch)
        assert charts.SPEEDUP(known, batch=batch) == pytest.approx(eq.speedup(known, memory_ratio=ratio))


def test_the_pictures_points_are_where_a_server_finds_them():
    """Where a check leaves the plain step, where it takes as long as its round is worth, and where the step bends."""
    axes = figures.step_and_check().axes[0]
    server, dots = sim.server(numbers.RACK), [line for line in axes.lines if line.get_marker() == "o"]
    (free, even, kink), times = zip(*((float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in dots))
    at = lambda batch, tokens: 1e3 * server.seconds(round(batch), tokens)
    assert times == pytest.approx((at(free, 1), at(even, 5), at(kink, 1)), rel=2e-3)
    assert at(free * 0.99, 5) == at(free * 0.99, 1) and at(free * 1.02, 5) > at(free * 1.02, 1)
    assert at(even, 5) == pytest.approx((sum(0.8**n for n in range(5)) - 0.2) * at(even, 1), rel=2e-3)
    assert at(2 * kink, 1) == pytest.approx(2 * at(kink, 1), rel=2e-3) and at(kink / 2, 1) > 0.6 * at(kink, 1)


def test_each_number_of_guesses_is_best_at_some_point_tried():
    from blackboard.lessons.speculation.problems import best

    found = {max(range(5), key=lambda n: sim.gain(at["acceptance"], n, at["draft_ratio"])) for at in best.test_points}
    assert found == set(range(5))


DRAFTED = (
    {},
    {"memory_ratio_exponent": 0},
    {"acceptance": 0.9, "draft_ratio": 0.02, "memory_ratio_exponent": 6},
    {"acceptance": 0},
)


@pytest.mark.parametrize("moved", DRAFTED, ids=str)
def test_the_chart_finds_the_best_number_of_drafted_tokens(moved):
    params = json.loads(json.dumps(charts.drafted_chart().spec["params"]))
    params = [
        {**param, "value": moved.get(param["name"], param["value"])} if "value" in param else param for param in params
    ]
    (found,) = vega_says([{"row": 0}], ["acceptance", "draft_ratio", "memory_ratio", "best", "most"], params)
    assert tuple(found[3:]) == pytest.approx(tuple(sim.best_drafted(*map(float, found[:3]), most=charts.MOST)))
