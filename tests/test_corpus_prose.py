"""The numbers that the corpus lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from lessons import sig, values
from scipy import stats

from blackboard.lessons.corpus import simulation

LARGE, REUSE = 1_100_048_384, 15.387756  # parameters; Muennighoff's constant
E, A, B, ALPHA, BETA = 1.8172, 482.01, 2085.43, 0.3478, 0.3658  # Besiroglu's fit


def worth(tokens, unique):
    """Fresh tokens, pass by pass: each smallest step of a repetition is worth a little less."""
    if tokens <= unique:
        return tokens
    steps = 200_000
    more = (tokens / unique - 1) / steps
    return unique * (1 + sum(exp(-(n + 0.5) * more / REUSE) * more for n in range(steps)))


def test_errors_of_changes_are_those_of_a_straight_line():
    """Least squares by numpy.polyfit through the table's own scores; the t-distribution's two-sided 5%; and made-up
    runs, three of each checkpoint, compared by SciPy.
    """
    told, steps = values("corpus"), (10, 100, 500, 1000, 1430.512)
    scores = 100 * np.array(simulation.checkpoints("LLäMmlein 1B").scores)
    (slope, _), [squares], *_ = np.polyfit(np.log2(steps), scores, 1, full=True)
    scatter, doublings, points = (squares / 3) ** 0.5, np.log2(steps), scores.round(9)
    design = np.vander(doublings, 2)
    known, next_to = design[:4], design[4]
    fitted, [left], *_ = np.linalg.lstsq(known, scores[:4])
    error = (left / 2 * (1 + next_to @ np.linalg.inv(known.T @ known) @ next_to)) ** 0.5
    stretches = {n: (doublings[4] - doublings[n], points[4] - points[n]) for n in (2, 3)}
    pace = {n: f"{np.polyfit(doublings[: n + 1], scores[: n + 1], 1)[0]:.3f}" for n in (2, 3)}
    assert slope / (scatter / doublings.std() / 5**0.5) > 10, "the scores rise"
    expected = {
        "ahead": f"{next_to @ fitted:.2f}%",
        "ahead_short": sig(next_to @ fitted - scores[4]),
        "ahead_error": sig(error),
        "ahead_scatter": sig((left / 2) ** 0.5),
        "rise_2": f"{(scores[2] - scores[1]) / np.log2(5):.2f}",
        "rise_4": "0.00",
        **{f"doublings_{n}": f"{times:.2f}" for n, (times, _) in stretches.items()},
        **{f"pace_{n}": each for n, each in pace.items()},
        **{f"expected_{n}": f"{float(pace[n]) * times:.2f}" for n, (times, _) in stretches.items()},
        **{f"came_{n}": f"{came:.1f}" for n, (_, came) in stretches.items()},
        "limit_squares": f"{1 + stats.f.ppf(0.95, 1, 2) / 2:.0f}",
    }
    assert {name: told[name] for name in expected} == expected
    assert float(told["ahead_short"]) < float(told["ahead_error"]), "within one standard error"
    draw = np.random.default_rng(1).normal(0, scatter, (2, 4000, 3))
    found = np.mean(stats.ttest_ind(draw[0], draw[1] + slope, axis=1).pvalue < 0.05)
    assert found == pytest.approx(float(told["seeds_find"][:-1]) / 100, abs=0.02)


def test_both_ways_to_test_a_gain_are_tried():
    """4,000 made-up pairs of checkpoints with 29 tasks, compared as two groups and task by task."""
    told, rng = values("corpus"), np.random.default_rng(0)
    spread, changes, gain = (100 * each for each in simulation.spreads("LLäMmlein 1B", 2, 4))
    draw = lambda mean, deviation: rng.normal(mean, deviation, (4000, 29))
    groups = stats.ttest_ind(draw(67.5, spread), draw(67.5 + gain, spread), axis=1)
    paired = stats.ttest_1samp(draw(gain, changes), 0, axis=1)
    for name, test in (("seen_groups", groups), ("seen_paired", paired)):
        assert np.mean(test.pvalue < 0.05) == pytest.approx(float(told[name].rstrip("%")) / 100, abs=0.02)


def best_passes(power):
    """Where the better text and the fading passes balance, by halving."""
    low, high = 1.0, 100.0
    for _ in range(60):
        n = (low + high) / 2
        kept = exp(-(n - 1) / REUSE)
        low, high = (n, high) if n * kept > (1 - power) * (1 + REUSE * (1 - kept)) else (low, n)
    return low


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = values("corpus")
    tokens = 1_430_512 * 1024 * 2048
    law = lambda n, d: E + A / n**ALPHA + B / d**BETA
    budget = LARGE * tokens
    best = min((law(n, budget / n), n) for n in (10 ** (9 + k / 2000) for k in range(4000)))
    share = 1.27 / 2.7
    filtered = lambda passes: passes ** np.log10(2) * (1 + REUSE * (1 - exp(-(passes - 1) / REUSE))) / passes
    expected = {
        "step_tokens": f"{1024 * 2048:,}",
        "over_120": sig(466_509 * 1024 * 2048 / (20 * 124_668_672), 3),
        "over_1b": sig(tokens / (20 * LARGE), 3),
        "epochs_1b": sig(tokens / 1.27e12),
        "flop_1b": f"{sig(6 * LARGE * tokens / 1e22, 3)}·10²² FLOP",
        "mfu_1b": f"{6 * LARGE * tokens / (50_000 * 3600 * 312e12):.0%}",
        "left_1b": sig(B / tokens**BETA, 3),
        "worth_low": sig(0.3392 * 406.4 / LARGE**0.3392 / (0.2849 * 410.7 / tokens**0.2849)),
        "off_data": sig(1000 * (law(LARGE, tokens) - law(LARGE, 1.0001 * tokens)) * 100, 3),
        "off_size": f"{1000 * (law(LARGE, tokens) - law(1.0001 * LARGE, tokens)) * 100:.2f}",
        "size_power": f"{ALPHA}",
        "data_power": f"{BETA}",
        "loss_1b": sig(law(LARGE, tokens), 3),
        "best_loss": f"{best[0]:.2f}",
        "lost_by_size": sig(law(LARGE, tokens) - best[0]),
        "worth_repeated": sig(
            (law(LARGE, worth(tokens, 1.27e12)) - law(LARGE, worth(1.001 * tokens, 1.27e12)))
            / (law(LARGE, worth(tokens, 1.27e12)) - law(1.001 * LARGE, worth(tokens, 1.27e12)))
        ),
        "fades_2": f"{exp(-1 / REUSE):.0%}",
        "best_size": f"{sig(best[1] / 1e9)} billion",
        "worth_gpt3": sig(BETA * B / 300e9**BETA / (ALPHA * A / 175e9**ALPHA)),
        "quality_power": sig(np.log10(2), 3),
        "reuse": "15.4",
        "share_five": f"{worth(5, 1) / 5:.0%}",
        "epochs_tenth": sig(tokens / 1.27e11),
        "best_balance": sig((1 - np.log10(2)) * worth(10.5, 1)),
        "size_1b": sig(A / LARGE**ALPHA, 3),
        "rate_1b": f"{6 * LARGE * tokens / (50_000 * 3600) / 1e12:.0f} TFLOP/s",
        "peak_a100": "312 TFLOP/s",
        "worth_limit": "16.4",
        "worth_llammlein": f"{worth(tokens, 1.27e12) / tokens:.0%}",
        "five_costs": f"{1 - filtered(5) / max(filtered(n / 100) for n in range(500, 2000)):.0%}",
        "kept_edu": f"{1.3 / 15:.0%}",
        "quality_llammlein": sig(worth(tokens, 2.7e12) / worth(tokens, 2.7e12 * share), 4),
        "worth_pool": f"{worth(tokens, 2.7e12) / 1e12:.3f} trillion",
        "worth_tenth": f"{worth(tokens, 1.27e11) / 1e12:.2f} trillion",
        "kept_tenth": "127 billion",
        "worth_kept": f"{worth(tokens, 1.27e12) / 1e12:.3f} trillion",
        "rule_worth": sig((2.7e12 * 5 / tokens) ** np.log10(2) * worth(5, 1) / 5, 3),
        "kept_worth": sig(share ** -np.log10(2) * worth(tokens, 1.27e12) / tokens, 3),
        "worth_half": sig((ALPHA * A / LARGE**ALPHA) / (BETA * B / (tokens / 2) ** BETA)),
        **{f"reading_{n}": f"{worth(n, 1) - worth(n - 1, 1):.0%}" for n in (2, 5, 10)},
        "worth_1b": sig(BETA * B / tokens**BETA / (ALPHA * A / LARGE**ALPHA)),
        **{f"passes_{n}": f"{best_passes(np.log10(times)):.1f}" for n, times in enumerate((1.2, 1.4, 2))},
        "quality_tenth": sig(worth(tokens, 2.7e12) / worth(tokens, 2.7e12 * share / 10), 3),
    }
    assert {name: told[name] for name in expected} == expected


def test_sums_come_out_with_the_numbers_printed():
    told = {name: float(text) for name, text in values("corpus").items() if text.replace(".", "", 1).isdigit()}
    for n in (2, 3):
        assert told[f"doublings_{n}"] * told[f"pace_{n}"] == pytest.approx(told[f"expected_{n}"], abs=0.0051)
    read = {n: float(values("corpus")[f"read_{n}"].removesuffix(" trillion")) for n in (2, 3, 4)}
    score = {n: float(values("corpus")[f"score_{n}"].removesuffix("%")) for n in (2, 3, 4)}
    for n in (2, 3):
        assert f"{np.log2(read[4] / read[n]):.2f}" == values("corpus")[f"doublings_{n}"]
        assert f"{score[4] - score[n]:.1f}" == values("corpus")[f"came_{n}"]
    assert 10 * told["left_1b"] * told["data_power"] == pytest.approx(told["off_data"], abs=6e-4)
    assert 10 * told["size_1b"] * told["size_power"] == pytest.approx(told["off_size"], abs=6e-3)
    trillion = lambda name: float(values("corpus")[name].removesuffix(" trillion"))
    for kept, quality, digits in (("worth_kept", "quality_llammlein", 4), ("worth_tenth", "quality_tenth", 3)):
        assert sig(trillion("worth_pool") / trillion(kept), digits) == values("corpus")[quality]
    assert sig(told["off_data"] / told["off_size"]) == values("corpus")["worth_1b"]
    assert sig(told["off_size"] / told["off_data"]) == values("corpus")["worth_times"]


def test_a_hundredth_of_a_nat_is_a_percent_of_probability_and_most_runs_of_14_epochs_are_worse_than_the_law():
    assert exp(0.01) - 1 == pytest.approx(0.01, rel=0.01)
    runs = [simulation.published(name) for name in ("2.8B", "4.2B", "8.7B")]
    near = [min(found, key=lambda run: abs(run.epochs - 14)) for found in runs]
    assert [run.loss - run.law > 0.02 for run in near].count(True) == 2
    rises = [float(values("corpus")[f"rise_{n}"]) for n in (1, 2, 3)]
    assert rises == sorted(rises), "the pace rises up to the fourth checkpoint"
    x, y = np.log2((10, 100, 500, 1000)), simulation.checkpoints("LLäMmlein 1B").scores[:4]
    slope, start = np.polyfit(x, y, 1)
    assert y[3] > start + slope * x[3], "the line passes below the fourth score"
