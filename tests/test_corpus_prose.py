"""The numbers that the corpus lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

import contextlib
import io
import re
from math import exp

import numpy as np
import pytest
from lessons import sig, values
from live_cells import read_cells
from scipy import stats

from blackboard.catalogue import measurement
from blackboard.lessons.corpus import numbers, simulation

LARGE, REUSE = 1_100_048_384, 15.387756  # parameters; Muennighoff's constant
E, A, B, ALPHA, BETA = 1.8172, 482.01, 2085.43, 0.3478, 0.3658  # Besiroglu's fit


def worth(tokens, unique):
    """Fresh tokens, pass by pass: each smallest step of a repetition is worth a little less."""
    if tokens <= unique:
        return tokens
    steps = 200_000
    more = (tokens / unique - 1) / steps
    return unique * (1 + sum(exp(-(n + 0.5) * more / REUSE) * more for n in range(steps)))


def test_the_points_that_were_due_are_those_of_a_straight_line():
    """Least squares by numpy.polyfit through the published scores."""
    told, steps = values("corpus"), (10, 100, 500, 1000, 1430.512)
    scores, doublings = 100 * np.array(simulation.checkpoints("LLäMmlein 1B").scores), np.log2(steps)
    rises = {n: f"{abs(scores[n] - scores[n - 1]) / np.log2(steps[n] / steps[n - 1]):.1f}" for n in (1, 2, 3, 4)}
    assert told["came_2"] == f"{scores[4] - scores[2]:.1f}" and rises == {n: told[f"rise_{n}"] for n in rises}
    whole = np.polyfit(doublings, scores, 1)
    for slope in (whole[0], np.polyfit(doublings[:3], scores[:3], 1)[0]):
        assert told["due_rest"] == f"{slope * (doublings[4] - doublings[2]):.1f}"
    left = scores - np.polyval(whole, doublings)
    assert told["scatter"] == f"{np.sqrt(left @ left / 3):.2f}" and left[3] > 0
    assert told["due_last"] == f"{whole[0] * (doublings[4] - doublings[3]):.1f}"
    assert told["last_dollars"] == f"${100 * (1 - 1000 / 1430.512):.0f},000"


def test_both_ways_to_test_a_gain_are_tried():
    """4,000 made-up pairs of checkpoints with the same 29 tasks, compared as two groups and task by task."""
    told, rng = values("corpus"), np.random.default_rng(0)
    spread, changes, _ = (100 * each for each in simulation.spreads("LLäMmlein 1B", 2, 4))
    draw = lambda mean, deviation: rng.normal(mean, deviation, (4000, 29))
    first, change = draw(67.5, spread), draw(1, changes)
    assert np.mean(stats.ttest_ind(first, first + change, axis=1).pvalue < 0.05) < 0.001
    paired = np.mean(stats.ttest_1samp(change, 0, axis=1).pvalue < 0.05)
    assert paired == pytest.approx(float(told["seen_paired"].rstrip("%")) / 100, abs=0.02)
    means = np.std(draw(0, spread).mean(axis=1) - draw(0, spread).mean(axis=1)), np.std(draw(0, changes).mean(axis=1))
    for name, chance in zip(("chance_groups", "chance_paired"), means):
        assert float(told[name]) == pytest.approx(chance, abs=0.1)
    assert stats.t.ppf(0.975, 56) * spread * np.sqrt(2 / 29) == pytest.approx(5, abs=0.2)
    rows = measurement("llammlein_checkpoints").records(model="LLäMmlein 1B")
    late = [100 * row["score"] for row in rows if row["steps"] == max(each["steps"] for each in rows)]
    early = [100 * row["score"] for row in rows if row["steps"] == 500_000]
    assert told["spread_scores"] == f"{np.std(late, ddof=1):.1f}"
    assert told["spread_changes"] == f"{np.std(np.subtract(late, early), ddof=1):.1f}"


def best_passes(power, reuse=15.4):
    """Where the better text and the fading passes balance, by halving, with the constant that the page prints."""
    low, high = 1.0, 100.0
    for _ in range(60):
        n = (low + high) / 2
        kept = exp(-(n - 1) / reuse)
        low, high = (n, high) if n * kept > (1 - power) * (1 + reuse * (1 - kept)) else (low, n)
    return low


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = values("corpus")
    tokens = 1_430_512 * 1024 * 2048
    law = lambda n, d: E + A / n**ALPHA + B / d**BETA
    third = 500_000 * 1024 * 2048
    budget = LARGE * (tokens - third)  # of the last two thirds
    best = min((law(n, budget / n), n) for n in (10 ** (9 + k / 2000) for k in range(4000)))
    filtered = lambda passes: passes ** np.log10(2) * (1 + REUSE * (1 - exp(-(passes - 1) / REUSE))) / passes
    expected = {
        "over_120": sig(466_509 * 1024 * 2048 / (20 * 124_668_672), 3),
        "over_1b": sig(tokens / (20 * LARGE), 3),
        "epochs_1b": sig(tokens / 1.27e12),
        "mfu_1b": f"{6 * LARGE * tokens / (50_000 * 3600 * 312e12):.0%}",
        "left_1b": sig(B / tokens**BETA, 3),
        "worth_other": sig(0.2849 * 410.7 / tokens**0.2849 / (0.3392 * 406.4 / LARGE**0.3392)),
        "off_data": sig(1000 * (law(LARGE, tokens) - law(LARGE, 1.0001 * tokens)) * 100, 3),
        "off_size": f"{1000 * (law(LARGE, tokens) - law(1.0001 * LARGE, tokens)) * 100:.2f}",
        "size_power": f"{ALPHA}",
        "data_power": f"{BETA}",
        "lost_by_size": sig(law(LARGE, tokens) - best[0]),
        "best_size": f"{sig(best[1] / 1e9)} billion",
        "loss_size": f"{A}",
        "loss_data": f"{B:,}",
        "best_tokens": f"{sig(budget / best[1] / 1e9)} billion",
        "down_2": f"{exp(-1 / REUSE):.0%}",
        "quality_power": sig(np.log10(2), 3),
        "reuse": "15.4",
        "share_five": f"{worth(5, 1) / 5:.0%}",
        "best_balance": sig((1 - np.log10(2)) * worth(10.55, 1)),
        "size_1b": sig(A / LARGE**ALPHA, 3),
        "worth_limit": "16.4",
        "worth_llammlein": f"{worth(tokens, 1.27e12) / tokens:.0%}",
        "five_costs": f"{1 - filtered(5) / max(filtered(n / 100) for n in range(500, 2000)):.0%}",
        "edu_share": f"{1.3 / 15:.0%}",
        "far_share": f"{0.35 / 5 / 15:.1%}",
        "far_quality": f"{2 ** np.log10(5 * 15 / 0.35):.0f}",
        "text_all": "300 trillion",
        "spare": "5.3",
        "all_dollars": f"${2 * 50_000:,}",
        "kept_de": f"{1.27 / 2.7:.0%}",
        "more_llammlein": f"{worth(tokens, 2.7e12) / worth(tokens, 1.27e12) - 1:.1%}",
        "more_tenth": f"{worth(tokens, 2.7e12) / worth(tokens, 2.7e11) - 1:.0%}",
        "worth_kept": f"{worth(tokens, 1.27e12) / 1e12:.2f} trillion",
        "rest_dollars": f"${2 * 50_000 * (1 - 500_000 / 1_430_512) / 1e3:.0f},000",
        "worth_1b": sig(BETA * B / tokens**BETA / (ALPHA * A / LARGE**ALPHA)),
        **{f"passes_{n}": f"{best_passes(np.log10(times)):.1f}" for n, times in enumerate((1.2, 1.4, 2))},
    }
    assert {name: told[name] for name in expected} == expected


def test_sums_come_out_with_the_numbers_printed():
    said = values("corpus")
    told = {name: float(text) for name, text in said.items() if text.replace(".", "", 1).isdigit()}
    assert 10 * told["left_1b"] * told["data_power"] == pytest.approx(told["off_data"], abs=6e-4)
    assert 10 * told["size_1b"] * told["size_power"] == pytest.approx(told["off_size"], abs=6e-3)
    assert sig(told["off_data"] / told["off_size"]) == said["worth_1b"]
    assert f"{float(said['worth_kept'].split()[0]) / 3:.0%}" == said["worth_llammlein"]
    assert told["worth_limit"] == 1 + told["reuse"]
    assert all(told[power] == pytest.approx(0.357, abs=0.01) for power in ("size_power", "data_power"))
    assert told["size_1b"] / told["left_1b"] == pytest.approx(6, abs=0.1)


def test_one_rule_of_passes_fits_short_and_long_runs():
    """LLäMmlein's filter and those of five, ten and twenty passes: ten is the best of the four at both lengths, and
    five loses little and gains a sixth; if the best tenth is 1.4 times as good, five is the best and gains hardly
    anything.
    """
    told, tokens, power = values("corpus"), 1_430_512 * 1024 * 2048, np.log10(2)
    passes = (tokens / 1.27e12, 5, 10, 20)
    token = lambda times, power: [(times * tokens / n / 2.7e12) ** -power * worth(n, 1) / n for n in passes]
    for times in (1, 2):
        found = token(times, power)
        assert max(range(4), key=found.__getitem__) == 2
        assert found[1] / found[2] == pytest.approx(1 - float(told["five_costs"][:-1]) / 100, abs=0.005)
    assert found[1] / found[0] == pytest.approx(1 + 1 / 6, abs=0.01)
    missed = np.log2(found[1] / found[0])
    assert {f"{missed * pace:.1f}" for pace in (0.78, 0.81, 0.93, 1.02)} == {told["filter_points"]}
    flat = token(1, np.log10(1.4))
    assert max(range(4), key=flat.__getitem__) == 1 and 0 < np.log2(flat[1] / flat[0]) * 0.8 < 0.05


def test_below_twenty_tokens_a_parameter_the_second_half_sets_in():
    """By Muennighoff's constants; and the best size for LLäMmlein's compute would have four at five passes."""
    law = simulation.repeated_law()
    assert law.best_size(20e9) == pytest.approx(1e9, rel=0.03)
    tokens, compute = 260e9, 6 * LARGE * 1_430_512 * 1024 * 2048
    assert tokens / 5 / (compute / 6 / tokens) == pytest.approx(4, abs=0.2)
    assert tokens / 1.27e12 == pytest.approx(1 / 5, abs=0.01)


def test_fading_tokens_make_a_quarter_of_the_law_at_five_passes():
    """With parameters that never lose worth, the law's loss above that of one pass is a quarter of the whole law's."""
    law = simulation.repeated_law()
    for size, tokens in ((2.81e9, 55e9), (4.2465e9, 84e9), (8.67e9, 178e9)):
        above = lambda of: of.loss(size, tokens, tokens / 5) - of.loss(size, tokens, tokens)
        assert above(law._replace(spare=1e15)) / above(law) == pytest.approx(0.26, abs=0.02)


def test_if_only_text_wears_the_runs_fit_as_well_and_llammlein_loses_a_tenth():
    """The constant that fits the runs up to five passes best, by SciPy, with parameters that never lose worth."""
    from scipy.optimize import minimize_scalar

    told, law, rows = values("corpus"), simulation.repeated_law(), []
    for name in ("2.8B", "4.2B", "8.7B"):
        runs = measurement("repeated_data_runs").records(run=name)
        size, tokens = runs[0]["n_total"], runs[0]["pretraining_tokens"]
        mean = lambda text: np.mean([row["loss"] for row in runs if row["unique_tokens"] == text])
        texts = sorted({row["unique_tokens"] for row in runs}, reverse=True)
        rows += [(size, tokens, t, mean(t) - mean(texts[0])) for t in texts[1:] if tokens / t < 5.2]
    left = lambda tokens: law.data * tokens**-law.power
    keeps = lambda passes, reuse: (1 + reuse * (1 - exp(-(passes - 1) / reuse))) / passes
    text_alone = lambda reuse: sum(
        (left(tokens * keeps(tokens / text, reuse)) - left(tokens) - lost) ** 2 for _, tokens, text, lost in rows
    )
    found = minimize_scalar(text_alone, bounds=(0.5, 40), method="bounded")
    whole = sum(
        (law.loss(size, tokens, text) - law.loss(size, tokens, tokens) - lost) ** 2 for size, tokens, text, lost in rows
    )
    assert found.fun == pytest.approx(whole, rel=0.05)
    assert told["worst_reuse"] == sig(found.x)
    assert told["worst_five"] == f"{keeps(5, found.x):.0%}"
    assert told["worst_llammlein"] == f"{keeps(1_430_512 * 1024 * 2048 / 1.27e12, found.x):.0%}"
    at = 1_430_512 * 1024 * 2048
    assert told["worst_more"] == f"{keeps(at / 2.7e12, found.x) / keeps(at / 1.27e12, found.x) - 1:.0%}"
    assert told["worst_tenth"] == f"{keeps(at / 2.7e12, found.x) / keeps(at / 2.7e11, found.x) - 1:.0%}"
    assert told["worst_down"] == f"{1 - exp(-1 / found.x):.0%}"
    gain = lambda n: n ** np.log10(2) * keeps(n, found.x)
    best = max((n / 100 for n in range(100, 1000)), key=gain)
    assert 1 - gain(5) / gain(best) < float(told["five_costs"][:-1]) / 100
    assert 0.94 < gain(5) / gain(at / 1.27e12) < 1, "five passes would lose a little"
    even = (keeps(at / 2.7e12, found.x) / keeps(5, found.x)) ** (1 / np.log10(5 * 2.7e12 / at))
    assert told["times_even"] == f"{even:.1f}"


def test_two_runs_of_equal_compute_over_the_same_text():
    """Parameters, tokens and losses as published; and the German pool is a hundredth of the usable public text."""
    told = values("corpus")
    [small] = measurement("repeated_data_runs").records(run="6.3B")
    [large] = [r for r in measurement("repeated_data_runs").records(run="8.7B") if r["unique_tokens"] == 25e9]
    work = [row["n_total"] * row["pretraining_tokens"] for row in (small, large)]
    assert work[0] == pytest.approx(work[1], rel=0.01) and small["unique_tokens"] == large["unique_tokens"]
    for name, row in (("small", small), ("large", large)):
        assert told[f"{name}_loss"] == f"{row['loss']:.3f}"
        assert told[f"{name}_passes"] == sig(row["pretraining_tokens"] / 25e9)
        assert told[f"{name}_size"] == f"{sig(row['n_total'] / 1e9)} billion"
    assert told["suits"] == f"{sig(0.051 * 25)} billion"
    assert pytest.approx(0.01, abs=0.002) == 2.7 / 300 and pytest.approx(1 / 3, abs=0.02) == 5.3 / 15.4


def test_a_hundredth_of_a_nat_is_a_percent_of_probability():
    assert exp(0.01) - 1 == pytest.approx(0.01, rel=0.01)


def test_after_44_passes_runs_are_worse_than_the_law_says_of_three_passes_over_the_same_text():
    """Muennighoff's whole law, shifted to the run of one pass as the figure has it."""
    told, law, lost, predicted = values("corpus"), simulation.repeated_law(), [], []
    for name in ("2.8B", "4.2B", "8.7B"):
        rows = measurement("repeated_data_runs").records(run=name)
        size, tokens, text = rows[0]["n_total"], rows[0]["pretraining_tokens"], min(r["unique_tokens"] for r in rows)
        losses = lambda text: [row["loss"] for row in rows if row["unique_tokens"] == text]
        shift = np.mean(losses(max(row["unique_tokens"] for row in rows))) - law.loss(size, tokens, tokens)
        assert tokens / text == pytest.approx(44, abs=0.6)
        assert min(losses(text)) > law.loss(size, 3 * text, text) + shift
        once = np.mean(losses(max(row["unique_tokens"] for row in rows)))
        lost.append(np.mean(losses(text)) - once)
        predicted.append(law.loss(size, tokens, text) + shift - once)
    for name, each in (("harm", lost), ("law", predicted)):
        assert (told[f"{name}_least"], told[f"{name}_most"]) == (f"{min(each):.2f}", f"{max(each):.2f}")


def early_runs():
    """Of each size and text up to five passes: its rows, the losses of one pass, (parameters, tokens), the text."""
    for name in ("2.8B", "4.2B", "8.7B"):
        rows = measurement("repeated_data_runs").records(run=name)
        at = rows[0]["n_total"], rows[0]["pretraining_tokens"]
        first = [row["loss"] for row in rows if row["unique_tokens"] == max(r["unique_tokens"] for r in rows)]
        for text in {row["unique_tokens"] for row in rows if at[1] / row["unique_tokens"] < 5.2}:
            yield [row for row in rows if row["unique_tokens"] == text], first, at, text


def test_up_to_five_passes_runs_and_law_differ_little_and_seeds_scatter():
    """The losses as published, by size and seed."""
    told, law, lost, predicted, apart = values("corpus"), simulation.repeated_law(), [], [], []
    for name in ("2.8B", "4.2B", "8.7B"):
        rows = measurement("repeated_data_runs").records(run=name)
        size, tokens = rows[0]["n_total"], rows[0]["pretraining_tokens"]
        losses = {
            text: [r["loss"] for r in rows if r["unique_tokens"] == text] for text in {r["unique_tokens"] for r in rows}
        }
        five = min(losses, key=lambda text: abs(tokens / text - 5))
        assert tokens / five == pytest.approx(5, abs=0.1)
        lost.append(np.mean(losses[five]) - np.mean(losses[max(losses)]))
        predicted.append(law.loss(size, tokens, five) - law.loss(size, tokens, max(losses)))
        apart.append([max(each) - min(each) for text, each in losses.items() if tokens / text < 5.2])
        assert {len(each) for each in losses.values()} == ({1} if name == "8.7B" else {5})
    for name, each in (("harm5", lost), ("law5", predicted)):
        assert (told[f"{name}_least"], told[f"{name}_most"]) == (f"{min(each):.3f}", f"{max(each):.3f}")
    near = max(
        abs(np.mean([r["loss"] for r in each]) - np.mean(first) - law.loss(*at, text) + law.loss(*at, at[1]))
        for each, first, at, text in early_runs()
    )
    assert numbers.misses() == pytest.approx(near, rel=1e-6)
    assert told["seeds_small"] == f"{max(apart[0]):.3f}" and told["seeds_middle"] == f"{max(apart[1]):.2f}"
    assert max(apart[0]) < lost[0] / 4 and max(apart[1]) > max(lost)


def test_the_pace_rises_up_to_the_fourth_score():
    rises = [float(values("corpus")[f"rise_{n}"]) for n in (1, 2, 3)]
    assert rises == sorted(rises)


def printed(phrase):
    """What the page's cell with a phrase prints, after those before it; and the names that they leave."""
    space = {}
    for cell in (cell for cell in read_cells("corpus") if "print(" in cell):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(cell, space)
        if phrase in cell:
            return said.getvalue().splitlines(), space
    raise LookupError(phrase)


def test_the_run_is_what_the_text_says():
    """The sums that are typed into the page, with the paper's numbers."""
    [row] = measurement("llammlein_training").records(model="LLäMmlein 1B")
    typed = [row[name] for name in ("steps", "batch", "context_tokens", "training_GPU_hours")]
    assert typed == [1_430_512, 1_024, 2_048, 50_000]
    tokens = 1_430_512 * 1024 * 2048
    assert f"{tokens:.2e}" == "3.00e+12" and f"{6 * LARGE * tokens:.2e}" == "1.98e+22"
    assert f"{6 * LARGE * tokens / 50_000 / 3600 / 1e12:.0f}" == "110" and f"{tokens / 1.27e12:.2f}" == "2.36"


def test_the_cell_of_sixteen_facts_is_near_the_law():
    lines, space = printed("randrange")
    for tokens, text in ((2.36, 1), (40, 1), (3e12, 1.27e12), (1e12, 2.7e12)):
        assert space["worth"](tokens, text) == pytest.approx(worth(tokens, text), rel=1e-3)
    for passes, line in zip((1, 2, 5, 10, 40), lines, strict=True):
        drawn, by_law = re.fullmatch(
            r" ?(\d+) passes are worth +([\d.]+) fresh ones, by the law +([\d.]+)", line
        ).groups()[1:]
        assert float(drawn) == pytest.approx(16 * (1 - (15 / 16) ** passes), rel=0.01)
        assert float(by_law) == pytest.approx(worth(passes, 1), rel=1e-3) and float(drawn) == pytest.approx(
            float(by_law), rel=0.04
        )


def test_the_cell_of_the_filters_agrees_with_an_independent_reckoning():
    told, (lines, _) = values("corpus"), printed("best_tenth")
    keeps = lambda passes, reuse: (1 + reuse * (1 - exp(-(passes - 1) / reuse))) / passes
    gains = {"law": [], "cautious": []}
    assert lines[0].split() == ["keep", "passes", "q", "gain", "by", "the", "law", "cautiously"]
    for passes, line in zip((2.36, 5, 10, 20), lines[1:], strict=True):
        kept = 3e12 / passes
        q, even = 2 ** np.log10(2.7e12 / kept), worth(3e12, 2.7e12) / worth(3e12, kept)
        careful = q * keeps(passes, 3.8) / keeps(3 / 2.7, 3.8)
        assert line.split() == [f"{kept / 2.7e12:.0%}", str(passes), *(f"{n:.2f}" for n in (q, q / even, careful))]
        gains["law"].append(q / even)
        gains["cautious"].append(careful)
    assert told["worst_reuse"] == "3.8" and f"{1 - 1.42 / 1.51:.0%}" == told["five_costs"]
    assert max(gains["law"]) == gains["law"][2] and gains["cautious"][2] < 1
    assert all(1 - each[1] / max(each) < 0.065 for each in gains.values()), "five passes are near both bests"
    assert [f"{each:.2f}" for each in gains["law"][:2]] == ["1.22", "1.42"]
    assert (
        f"{np.log2(1.42 / 1.22):.2f}" == "0.22"
        and max(gains["cautious"]) == gains["cautious"][0]
        and gains["cautious"][1] < gains["cautious"][0]
    )
    assert f"{10 * 2.36:.1f}" == "23.6" and f"{3.0 / 0.27:.0f}" == "11" and f"{3.00 / 1.27:.2f}" == "2.36"


def test_one_steady_run_in_nine_seems_to_stop():
    """20,000 made-up pairs of scores: the last stretch's due gain with the published scatter in both."""
    told, rng = values("corpus"), np.random.default_rng(1)
    before, after = rng.normal(0, float(told["scatter"]), (2, 20_000))
    due = 0.8 * np.log2(1430.512 / 1000)
    assert f"{due:.1f}" == told["due_last"]
    share = np.mean(after + due <= before)
    assert share == pytest.approx(1 / 9, abs=0.01) and share == pytest.approx(
        float(told["stop_chance"][:-1]) / 100, abs=0.01
    )


def test_the_cell_of_the_two_tests_has_the_published_spreads():
    told, (lines, space) = values("corpus"), printed("piles")
    source = next(cell for cell in read_cells("corpus") if "piles" in cell)
    assert f"between = {told['spread_scores']} " in source and f"change_by = {told['spread_changes']} " in source
    assert lines[0] == "as two piles: seen in   0% of tries" and space["rise"] == 1
    assert space["pairs"] / space["tries"] == pytest.approx(float(told["seen_paired"][:-1]) / 100, abs=0.04)
    assert space["pairs"] / space["tries"] == pytest.approx(3 / 4, abs=0.03)


def test_the_cells_of_the_loss_agree_with_an_independent_reckoning():
    told, (lines, _) = values("corpus"), printed("longer")
    law = lambda n, d: E + A / n**ALPHA + B / d**BETA
    assert lines[-1] == f"1% longer helps {told['worth_1b']} times as much as 1% larger"
    early, late = law(1.1e9, 0.35 * 3e12), law(1.1e9, 3e12)
    assert lines[:2] == [f"LLäMmlein after $35,000:  loss {early:.3f}", f"LLäMmlein after $100,000: loss {late:.3f}"]
    assert (f"{early:.3f}", f"{late:.3f}") == ("2.246", "2.220") and f"{500_000 / 1_430_512:.2f}" == "0.35"
    fresh = lambda times: law(1.1e9 * times, 0.65 * 3e12 / times)
    for times, line in zip((1, 2, 4, 8, 16, 32), lines[3:-1], strict=True):
        assert line.endswith(f"tokens: {fresh(times):.3f}")
    assert fresh(2) < late < fresh(1) and (late - fresh(4)) / (late - fresh(9.4)) > 0.8
    assert f"{late - fresh(9.4):.3f}" == told["lost_by_size"]
    assert 3 < (late - fresh(9.4)) / (early - late) < 4  # points, at LLäMmlein's one for each of these falls
    assert float(told["best_size"].split()[0]) / 1.1 == pytest.approx(9, abs=0.3)


def test_a_fresh_larger_model_can_read_the_best_twelfth_of_the_pool_once():
    """Sizes by trying all; tokens that are q times as good shrink the law's third part as q times as many would."""
    told, tokens, budget = values("corpus"), 1_430_512 * 1024 * 2048, LARGE * 930_512 * 1024 * 2048
    law = lambda n, d: E + A / n**ALPHA + B / d**BETA
    size = min((10 ** (9 + k / 2000) for k in range(4000)), key=lambda n: law(n, budget / n))
    read = budget / size
    assert told["fresh_share"] == f"{read / 2.7e12:.0%}" and read / size > 20
    quality, german = ((2.7e12 / kept) ** np.log10(2) for kept in (read, 1.27e12))
    assert told["fresh_quality"] == sig(quality) and f"{german:.2f}" == "1.25"
    filtered = lambda passes: (tokens / passes / 2.7e12) ** -np.log10(2) * worth(tokens, tokens / passes) / tokens
    assert filtered(tokens / read) - filtered(tokens / 1.27e12) < (quality - german) / 2, "repetition eats most of it"
    gain = law(size, read) - law(size, read * quality / german)
    assert told["fresh_gain"] == sig(gain)
    assert gain == pytest.approx(law(LARGE, 500_000 * 1024 * 2048) - law(LARGE, tokens), rel=0.1)
    writes = 100_000 * (2 * (size - LARGE) * 1e12) / (6 * LARGE * tokens)
    assert told["extra_trillion"] == f"${writes / 1e4:.0f}0,000"


def test_the_lowest_limit_is_half_a_point_above_the_last_score():
    scores = simulation.checkpoints("LLäMmlein 1B").scores
    assert 100 * (simulation.fit("LLäMmlein 1B").limit.low - scores[-1]) == pytest.approx(0.5, abs=0.05)
