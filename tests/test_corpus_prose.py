"""The numbers that the corpus lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

import contextlib
import io
from math import exp

import numpy as np
import pytest
from lessons import sig, values
from live_cells import read_cells
from scipy import stats

from blackboard.catalogue import measurement
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


def test_the_points_that_were_due_are_those_of_a_straight_line():
    """Least squares by numpy.polyfit through the table's own scores."""
    told, steps = values("corpus"), (10, 100, 500, 1000, 1430.512)
    scores, doublings = 100 * np.array(simulation.checkpoints("LLäMmlein 1B").scores), np.log2(steps)
    pace, _ = np.polyfit(doublings[:3], scores[:3], 1)
    rises = {n: f"{abs(scores[n] - scores[n - 1]) / np.log2(steps[n] / steps[n - 1]):.1f}" for n in (1, 2, 3, 4)}
    assert told["expected_2"] == f"{pace * (doublings[4] - doublings[2]):.1f}"
    assert told["came_2"] == f"{scores[4] - scores[2]:.1f}" and rises == {n: told[f"rise_{n}"] for n in rises}


def test_both_ways_to_test_a_gain_are_tried():
    """4,000 made-up pairs of checkpoints with 29 tasks, compared as two groups and task by task."""
    told, rng = values("corpus"), np.random.default_rng(0)
    spread, changes, gain = (100 * each for each in simulation.spreads("LLäMmlein 1B", 2, 4))
    draw = lambda mean, deviation: rng.normal(mean, deviation, (4000, 29))
    groups = stats.ttest_ind(draw(67.5, spread), draw(67.5 + gain, spread), axis=1)
    paired = stats.ttest_1samp(draw(gain, changes), 0, axis=1)
    means = np.std(draw(0, spread).mean(axis=1) - draw(0, spread).mean(axis=1)), np.std(draw(0, changes).mean(axis=1))
    for name, chance in zip(("chance_groups", "chance_paired"), means):
        assert float(told[name]) == pytest.approx(chance, abs=0.1)
    rows = measurement("llammlein_checkpoints").records(model="LLäMmlein 1B")
    late = [100 * row["score"] for row in rows if row["steps"] == max(each["steps"] for each in rows)]
    early = [100 * row["score"] for row in rows if row["steps"] == 500_000]
    assert told["spread_scores"] == f"{np.std(late, ddof=1):.1f}"
    assert told["spread_changes"] == f"{np.std(np.subtract(late, early), ddof=1):.1f}"
    for name, test in (("seen_groups", groups), ("seen_paired", paired)):
        assert np.mean(test.pvalue < 0.05) == pytest.approx(float(told[name].rstrip("%")) / 100, abs=0.02)


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
    budget = LARGE * tokens
    best = min((law(n, budget / n), n) for n in (10 ** (9 + k / 2000) for k in range(4000)))
    filtered = lambda passes: passes ** np.log10(2) * (1 + REUSE * (1 - exp(-(passes - 1) / REUSE))) / passes
    expected = {
        "over_120": sig(466_509 * 1024 * 2048 / (20 * 124_668_672), 3),
        "over_1b": sig(tokens / (20 * LARGE), 3),
        "epochs_1b": sig(tokens / 1.27e12),
        "mfu_1b": f"{6 * LARGE * tokens / (50_000 * 3600 * 312e12):.0%}",
        "left_1b": sig(B / tokens**BETA, 3),
        "worth_low": sig(0.3392 * 406.4 / LARGE**0.3392 / (0.2849 * 410.7 / tokens**0.2849)),
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
        "kept_edu": f"{1.3 / 15:.0%}",
        "more_llammlein": f"{worth(tokens, 2.7e12) / worth(tokens, 1.27e12) - 1:.1%}",
        "more_tenth": f"{worth(tokens, 2.7e12) / worth(tokens, 1.27e11) - 1:.0%}",
        "worth_kept": f"{worth(tokens, 1.27e12) / 1e12:.2f} trillion",
        "rest_dollars": f"${2 * 50_000 * (1 - 500_000 / 1_430_512) / 1e3:.0f},000",
        **{f"reading_{n}": f"{worth(n, 1) - worth(n - 1, 1):.0%}" for n in (2, 5)},
        "worth_1b": sig(BETA * B / tokens**BETA / (ALPHA * A / LARGE**ALPHA)),
        **{f"passes_{n}": f"{best_passes(np.log10(times)):.1f}" for n, times in enumerate((1.2, 1.4, 2))},
    }
    assert {name: told[name] for name in expected} == expected


def test_sums_come_out_with_the_numbers_printed():
    said = values("corpus")
    told = {name: float(text) for name, text in said.items() if text.replace(".", "", 1).isdigit()}
    score = {n: float(said[f"score_{n}"].removesuffix("%")) for n in (2, 4)}
    assert f"{score[4] - score[2]:.1f}" == said["came_2"]
    assert 10 * told["left_1b"] * told["data_power"] == pytest.approx(told["off_data"], abs=6e-4)
    assert 10 * told["size_1b"] * told["size_power"] == pytest.approx(told["off_size"], abs=6e-3)
    assert sig(told["off_data"] / told["off_size"]) == said["worth_1b"]
    assert sig(told["off_size"] / told["off_data"]) == said["worth_times"]
    assert f"{float(said['worth_kept'].split()[0]) / 3:.0%}" == said["worth_llammlein"]
    assert told["worth_limit"] == 1 + told["reuse"]
    assert told["token_1"] / told["token_0"] == pytest.approx(1 + 1 / 6, abs=0.01)
    for n in range(4):
        assert f"{told[f'quality_{n}'] * told[f'left_{n}']:.2f}" == said[f"token_{n}"]
    for n, points in enumerate(("2.3", "2.1", "1.0", "0.0"), 1):  # of the table's own scores
        rise = float(said[f"score_{n}"][:-1]) - float(said[f"score_{n - 1}"][:-1])
        assert f"{rise:.1f}" == points
        counts = [float(said[f"read_{k}"].split()[0]) * (1 if "tri" in said[f"read_{k}"] else 1e-3) for k in (n - 1, n)]
        assert f"{rise / np.log2(counts[1] / counts[0]):.1f}" == said[f"rise_{n}"]
    assert all(told[power] == pytest.approx(0.357, abs=0.01) for power in ("size_power", "data_power"))
    assert told["size_1b"] / told["left_1b"] == pytest.approx(6, abs=0.1)


def test_four_filters_of_the_pool_are_worth_what_the_table_says():
    """LLäMmlein's filter and those of five, ten and twenty passes; twice the run loses the same on each, so that the
    best stays the best, and ten is the best of the four at both lengths.
    """
    told, tokens, power = values("corpus"), 1_430_512 * 1024 * 2048, np.log10(2)
    passes, token = (tokens / 1.27e12, 5, 10, 20), {}
    for times in (1, 2):
        token[times] = [(times * tokens / n / 2.7e12) ** -power * worth(n, 1) / n for n in passes]
        assert max(range(4), key=lambda n: token[times][n]) == 2
    for n, count in enumerate(passes):
        share = tokens / count / 2.7e12
        assert told[f"keep_{n}"] == f"{sig(100 * share)}%" and float(told[f"times_read_{n}"]) == float(sig(count))
        assert (
            told[f"quality_{n}"] == f"{2 ** -np.log10(share):.3f}"
            and told[f"left_{n}"] == f"{worth(count, 1) / count:.3f}"
        )
        assert told[f"token_{n}"] == f"{token[1][n]:.2f}"
        assert token[2][n] / token[1][n] == pytest.approx(1 - float(told["twice_costs"][:-1]) / 100, abs=0.005)
    assert token[1][1] / token[1][2] == pytest.approx(1 - float(told["five_costs"][:-1]) / 100, abs=0.005)
    missed = np.log2(token[1][1] / token[1][0])
    assert missed == pytest.approx(1 / 5, abs=0.025)
    assert {f"{missed * pace:.1f}" for pace in (0.78, 0.81, 0.93, 1.02)} == {told["filter_points"]}


def test_below_twenty_tokens_a_parameter_the_second_half_sets_in():
    """By Muennighoff's constants; and the best size for LLäMmlein's compute would have four at five passes."""
    law = simulation.repeated_law()
    assert law.best_size(20e9) == pytest.approx(1e9, rel=0.03)
    tokens, compute = 260e9, 6 * LARGE * 1_430_512 * 1024 * 2048
    assert tokens / 5 / (compute / 6 / tokens) == pytest.approx(4, abs=0.2)
    assert tokens / 1.27e12 == pytest.approx(1 / 5, abs=0.01)


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
        assert told[f"{name}_small"] == f"{each[0]:.3f}"
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


def test_the_cell_of_the_run_finds_what_the_text_says():
    told, (lines, space) = values("corpus"), printed("gpu_hours")
    [row] = measurement("llammlein_training").records(model="LLäMmlein 1B")
    typed = [space[name] for name in ("steps", "sequences", "context", "gpu_hours")]
    assert typed == [row[name] for name in ("steps", "batch", "context_tokens", "training_GPU_hours")]
    assert space["parameters"] == pytest.approx(LARGE, rel=1e-3) and space["text"] == 1.27e12
    assert lines == [
        f"3.00 trillion tokens, read {told['epochs_1b']} times",
        "1.98e+22 FLOP, $100,000",
        f"110 TFLOP/s, {told['mfu_1b']} of an A100's peak",
    ]


def test_the_cell_of_the_pace_has_the_published_scores():
    lines, space = printed("linear_regression")
    tokens, scores = simulation.checkpoints("LLäMmlein 1B")
    assert space["read"] == pytest.approx([each / 1e12 for each in tokens], rel=5e-4)
    assert space["score"] == pytest.approx([100 * each for each in scores], abs=6e-4)
    told = values("corpus")
    assert lines == [
        f"1.5 doublings at 0.78 points: due {told['expected_2']}, came {told['came_2']}",
        "0.5 doublings at 0.81 points: due 0.4, came 0.0",
    ]


def test_the_cells_of_repetition_and_filters_agree_with_an_independent_reckoning():
    told = values("corpus")
    _, space = printed("def worth(")
    for tokens, text in ((2.36, 1), (40, 1), (3e12, 1.27e12), (1e12, 2.7e12)):
        assert space["worth"](tokens, text) == pytest.approx(worth(tokens, text), rel=1e-3)
    lines, _ = printed("q_even")
    assert lines == [
        "keep 2.70 trillion:  1.1 passes, q_even = 1.000",
        f"keep 1.27 trillion:  2.4 passes, q_even = {1 + float(told['more_llammlein'][:-1]) / 100:.3f}",
        "keep 0.13 trillion: 23.6 passes, q_even = 1.837",
    ]
    lines, _ = printed("by_tokens")
    w = BETA * B / 100e9**BETA / (ALPHA * A / 0.5e9**ALPHA)
    assert lines == [
        "keep 20 billion tokens, 5.0 passes",
        f"this pays if they teach {worth(100, 50) / worth(100, 20):.2f} times the average",
        f"10 times Chinchilla's rule, w_D = {w:.2f}",
        f"{6 * 0.5e9 * 100e9 / 0.35 / 312e12 / 3600:.0f} A100-hours, $1,526 at $2",
    ]
