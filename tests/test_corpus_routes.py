"""The corpus lesson's formulas against other routes: counting, slopes, curves fitted elsewhere, published losses,
networks that learn.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.catalogue import measurement, model
from blackboard.lessons.corpus import equations as eq
from blackboard.lessons.corpus import numbers, simulation
from blackboard.lessons.overtraining import equations as law

REUSE = 15.387756  # as published
EPOCHS = st.floats(0.05, 60)
TEXT = st.floats(1e6, 1e14)


# --- what a run was ---------------------------------------------------------------------------------------------------


def test_tokens_of_a_step_are_counted():
    steps = [[0] * 2048 for _ in range(1024)]
    assert eq.step_tokens(batch=1024, context=2048) == sum(map(len, steps)) == 2_097_152


@pytest.mark.parametrize("name, id", numbers.NETS.items())
def test_the_papers_steps_are_its_tokens(name, id):
    """Steps times tokens of a step, against the tokens the paper prints, and the catalogue's."""
    [row] = measurement("llammlein_training").records(model=name)
    counted = row["steps"] * eq.step_tokens(batch=row["batch"], context=row["context_tokens"])
    assert counted == pytest.approx(row["pretraining_tokens"], rel=0.025) and counted == pytest.approx(
        model(id).training_tokens, rel=1e-6
    )
    for point in measurement("llammlein_checkpoints").records(model=name):
        assert point["pretraining_tokens"] == point["steps"] * 2_097_152


def test_what_the_runs_were():
    """392 and 136 times Chinchilla's rule, by the parameters that the architecture has."""
    large, small = numbers.run(numbers.LARGE), numbers.run(numbers.SMALL)
    over = [
        law.overtraining(pretrain_tokens=row["tokens"], prescribed=20, n_active=row["n_active"])
        for row in (small, large)
    ]
    assert (
        over == [pytest.approx(978.34e9 / (20 * 124.67e6), rel=1e-3), pytest.approx(136.4, abs=0.1)]
        and round(over[0]) == 392
    )
    work = sum(2 + 4 for _ in range(1)) * large["n_active"] * large["tokens"]
    share = eq.mfu_reached(
        n_active=large["n_active"], pretrain_tokens=large["tokens"], chip_flops=312e12, chip_time=50_000 * 3600
    )
    assert share == pytest.approx(work / 312e12 / (50_000 * 3600), rel=1e-12) == pytest.approx(0.353, abs=1e-3)
    assert law.training_time(
        n_active=large["n_active"], pretrain_tokens=large["tokens"], chip_flops=312e12, train_mfu=share
    ) == pytest.approx(1.8e8, rel=1e-9)


# --- tokens against parameters ----------------------------------------------------------------------------------------

FITS = [numbers.fitted(fit) for fit in ("Besiroglu", "Hoffmann, as printed")]
RUNS = [numbers.run(name) for name in numbers.NETS]


@pytest.mark.parametrize("known", FITS)
@pytest.mark.parametrize("run", RUNS)
def test_what_more_data_and_more_size_bring_is_a_slope(known, run):
    at = known | {"n_active": run["n_active"], "pretrain_tokens": run["tokens"]}
    whole, step = law.law_loss(at), 1e-5
    more = lambda name: whole - law.law_loss(at, **{name: at[name] * (1 + step)})
    assert eq.tokens_worth(at) == pytest.approx(more("pretrain_tokens") / more("n_active"), rel=1e-4)
    assert eq.loss_left(at) == pytest.approx(whole - law.law_loss(at, pretrain_tokens=1e60), rel=1e-6)


@pytest.mark.parametrize("known", FITS)
@pytest.mark.parametrize("compute", [1e18, 2e22, 1e26])
def test_at_the_best_size_both_are_worth_the_same(known, compute):
    """The best size by trying all, not by the formula that has it."""
    sizes = np.geomspace(1e6, 1e13, 20_001)
    best = float(sizes[np.argmin(law.law_loss(known, n_active=sizes, pretrain_tokens=compute / 6 / sizes))])
    assert eq.tokens_worth(known, n_active=best, pretrain_tokens=compute / 6 / best) == pytest.approx(1, abs=2e-3)


# --- plateaus ---------------------------------------------------------------------------------------------------------

MEANS = {  # of six tasks, added up from the rows of the tables
    "LLäMmlein 120M": [0.5602, 0.5737, 0.5735, 0.5882, 0.5927, 0.5952],
    "LLäMmlein 1B": [0.6310, 0.6537, 0.6752, 0.6853, 0.6853],
}


@pytest.mark.parametrize("name, means", MEANS.items())
def test_the_means_are_the_tables(name, means):
    assert simulation.checkpoints(name).scores == pytest.approx(means, abs=6e-5)


@pytest.mark.parametrize("name", MEANS)
def test_the_straight_line_is_numpys(name):
    points, fit = simulation.checkpoints(name), simulation.fit(name, None, "line")
    slope, at = np.polyfit(np.log(points.tokens), points.scores, 1)
    assert fit.score(1e12).best == pytest.approx(at + slope * math.log(1e12), abs=1e-9)
    left = np.array(points.scores) - at - slope * np.log(points.tokens)
    assert fit.least == pytest.approx(float(left @ left), rel=1e-6)


CURVE = {"score_limit": 0.7, "score_gap": 0.05, "score_power": 0.5, "token_scale": simulation.SCALE}


def test_a_curve_without_noise_is_found_again():
    """The formula's own constants come back; and its score is the curve, at every number of tokens."""
    tokens = tuple(np.geomspace(2e10, 3e12, 7))
    noise = 1e-3 * np.array([1, -1, 0, 1, -1, 1, -1])
    fit = simulation.Fit(simulation.Points(tokens, tuple(eq.score(CURVE, pretrain_tokens=np.array(tokens)) + noise)))
    assert fit.known == pytest.approx(CURVE, rel=0.02)
    for each in (1e11, 1e12, 1e13):
        assert fit.score(each).best == pytest.approx(eq.score(fit.known, pretrain_tokens=each), abs=1e-9)
        assert fit.score(each).best == pytest.approx(eq.score(CURVE, pretrain_tokens=each), abs=1e-3)
    assert 0.69 < fit.limit.low < 0.7 < fit.limit.high < 0.71 and not fit.allows(0)
    assert fit.score(1e30).best < fit.limit.best


def covered(points=7, noise=0.004, times=200, seed=5):
    """How often the ranges of a limit and of a score far out hold the truth, of curves with noise added."""
    rng, hits = np.random.default_rng(seed), np.zeros(2)
    tokens = np.geomspace(2e10, 3e12, points)
    truth = eq.score(CURVE, pretrain_tokens=tokens)
    far = eq.score(CURVE, pretrain_tokens=1e13)
    for _ in range(times):
        fit = simulation.Fit(simulation.Points(tuple(tokens), tuple(truth + rng.normal(0, noise, points))))
        ranges = (fit.limit, CURVE["score_limit"]), (fit.score(1e13), far)
        hits += [r.low - 1e-3 <= true <= r.high + 1e-3 for r, true in ranges]
    return hits / times


@pytest.mark.slow
def test_ranges_hold_the_truth_as_often_as_they_say():
    """95% or more, for a bound at bend 0 only widens them. A range that holds it 85% of the time would pass with a
    chance of 1 in 100 (200 draws, at least 91%).
    """
    assert covered().min() >= 0.91


@pytest.mark.parametrize("name", MEANS)
def test_no_mean_shows_a_plateau(name):
    """The straight line in ln D is within what the points allow; so a limit may be as high as a score can be."""
    fit, line = simulation.fit(name), simulation.fit(name, None, "line")
    assert fit.allows(0) and fit.limit.high == 1 and fit.bend < 0.05 and line.least <= 1.001 * fit.least
    with pytest.raises(ValueError, match="straight line"):
        line.known  # noqa: B018


def test_the_lowest_limit_is_scipys():
    """The curve with the lowest limit leaves just the squares that the F bound allows, by SciPy's least squares."""
    from scipy.optimize import curve_fit
    from scipy.stats import f as f_distribution

    fit = simulation.fit("LLäMmlein 1B")
    u, scores, limit = np.array(fit.points.tokens) / 1e12, np.array(fit.points.scores), fit.lowest["score_limit"]
    left = lambda limit: lambda u, gap, power: limit - gap * u**-power
    squares = lambda limit: float(
        ((scores - left(limit)(u, *curve_fit(left(limit), u, scores, (0.02, 0.4))[0])) ** 2).sum()
    )
    straight = np.polyfit(np.log(u), scores, 1, full=True)[1][0]
    bound = straight * (1 + f_distribution.ppf(0.95, 1, 2) / 2)
    assert squares(limit - 0.0006) > bound > squares(limit) * 0.999
    found, _ = curve_fit(left(limit), u, scores, (0.02, 0.4))
    assert [fit.lowest["score_gap"], fit.lowest["score_power"]] == pytest.approx(found, rel=0.02)


def test_one_task_of_twelve_bends_for_sure_as_chance_might_have_it():
    """At 95%, one straight line of twenty is ruled out wrongly; and even there a limit may be anything."""
    curves = {(name, task): simulation.fit(name, task) for name in MEANS for task in simulation.tasks(name)}
    assert len(curves) == 12 and [key for key, fit in curves.items() if not fit.allows(0)] == [("LLäMmlein 1B", "NLI")]
    assert all(fit.limit.high == 1 for fit in curves.values()) and 0.74 < curves["LLäMmlein 1B", "NLI"].limit.low < 0.75


def test_a_plateau_would_be_seen():
    """The same five checkpoints, the same noise: of a score that is level after the second, the line is ruled out nine
    times of ten.
    """
    tokens, rng, found = simulation.checkpoints("LLäMmlein 1B").tokens, np.random.default_rng(1), []
    level = {"score_limit": 0.685, "score_gap": 0.685 - 0.631, "score_power": 2.0, "token_scale": tokens[0]}
    scores = eq.score(level, pretrain_tokens=np.array(tokens))
    for _ in range(100):
        found.append(simulation.Fit(simulation.Points(tokens, tuple(scores + rng.normal(0, 0.003, 5)))).allows(0))
    assert sum(found) <= 10


def test_too_few_points_are_refused():
    with pytest.raises(ValueError, match="nothing over"):
        simulation.Fit(simulation.Points((1e11, 1e12, 2e12), (0.5, 0.6, 0.62)))


# --- noise ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paired", [False, True])
def test_how_often_an_analysis_of_variance_finds_a_gain_is_tried(paired):
    """2,000 made-up pairs of checkpoints with 29 tasks; the share in which SciPy finds p < 0.05, to 4 points (over
    three standard errors).
    """
    from scipy.stats import f_oneway, ttest_rel

    rng, gain, spread, noise = np.random.default_rng(9), 0.03, 0.06, 0.055
    tasks = (
        rng.normal(0.65, math.sqrt(spread**2 - noise**2 / 2), (2_000, 29))
        if not paired
        else rng.normal(0.65, spread, (2_000, 29))
    )
    first, last = (tasks + rng.normal(shift, noise / math.sqrt(2), tasks.shape) for shift in (0, gain))
    if paired:
        found, said = ttest_rel(first, last, axis=1).pvalue, simulation.seen(gain, noise, 29, paired=True)
    else:
        first = rng.permuted(first, axis=0)  # other tasks: two heaps
        found, said = f_oneway(first, last, axis=1).pvalue, simulation.seen(gain, spread, 29)
    assert float((found < 0.05).mean()) == pytest.approx(said, abs=0.04) and 0.3 < said < 0.9


def test_a_test_over_tasks_that_differ_sees_little():
    """A gain as of the larger model's last tokens, were the groups of other tasks: hardly more often than chance. (The
    groups are of the same tasks, and then practically never: see the prose's tests.)
    """
    spread = simulation.spreads("LLäMmlein 1B", 2, 4)
    assert spread.gain == pytest.approx(0.0102, abs=1e-4)
    few, many = simulation.seen(spread.gain, spread.scores), simulation.seen(spread.gain, spread.changes, paired=True)
    assert 0.05 < few < 0.08 < 0.7 < many < 0.85


# --- repeated data ----------------------------------------------------------------------------------------------------


@given(EPOCHS, TEXT, st.floats(0.5, 40))
def test_worth_is_added_up(epochs, unique, reuse):
    worth = eq.data_worth(pretrain_tokens=epochs * unique, unique_tokens=unique, reuse=reuse)
    assert worth == pytest.approx(simulation.worth_summed(epochs * unique, unique, reuse, parts=100), rel=2e-5)
    assert worth <= min(epochs * unique, eq.worth_limit(unique_tokens=unique, reuse=reuse)) * (1 + 1e-12)


def test_the_limits_of_worth():
    for reuse in (0.5, REUSE, 40.0):
        assert eq.worth_limit(unique_tokens=7.0, reuse=reuse) == pytest.approx(
            7 * simulation.worth_by_epoch(100_000, reuse), rel=1e-9
        )
        assert eq.data_worth(pretrain_tokens=7e6, unique_tokens=7.0, reuse=reuse) == pytest.approx(
            eq.worth_limit(unique_tokens=7.0, reuse=reuse), rel=1e-12
        )


@pytest.mark.parametrize("epochs", [2, 4, 16, 44])
def test_the_exponential_is_nearly_a_constant_loss_per_pass(epochs):
    """What the law rounds: each pass keeps R/(1 + R) of the worth of the one before."""
    worth = eq.data_worth(pretrain_tokens=epochs, unique_tokens=1, reuse=REUSE)
    assert worth == pytest.approx(simulation.worth_by_epoch(epochs, REUSE), rel=0.04)


@given(st.floats(1.0, 60), st.floats(0.5, 40))
def test_a_last_repetition_is_worth_a_slope(epochs, reuse):
    worth = lambda n: eq.data_worth(pretrain_tokens=n, unique_tokens=1, reuse=reuse)
    assert eq.repeat_worth(epochs=epochs, reuse=reuse) == pytest.approx(
        (worth(epochs + 1e-4) - worth(epochs)) / 1e-4, rel=1e-3, abs=1e-9
    )


def test_the_laws_printed_examples():
    """datablations' README: two losses to the last digit."""
    known = simulation.repeated_law()
    assert known.loss(6.34e9, 242e9, 25e9) == pytest.approx(2.2256440889984477, rel=1e-12)
    assert known.loss(8.67e9, 178e9, 25e9) == pytest.approx(2.2269634075087867, rel=1e-12)
    assert known.best_size(1e9) == pytest.approx(0.051e9, rel=5e-3)


@pytest.mark.parametrize("run", ["2.8B", "4.2B", "8.7B"])
def test_published_losses_follow_the_law_to_five_epochs_and_not_to_44(run):
    """Within 0.012 nat, as much as the seeds of one setting differ by; at 44 the runs are worse by more than 0.3."""
    for each in simulation.published(run):
        if each.epochs < 5.2:
            assert each.loss == pytest.approx(each.law, abs=0.012)
        if each.epochs > 40:
            assert each.loss > each.law + 0.3
        assert each.least <= each.loss <= each.most


def test_llammleins_repetition_costs_little():
    large = numbers.run(numbers.LARGE)
    share = simulation.worth_summed(large["tokens"], large["unique_tokens"], REUSE) / large["tokens"]
    assert 0.97 < share < 0.98 and numbers.worth(large["tokens"], large["unique_tokens"]) / large[
        "tokens"
    ] == pytest.approx(share, rel=1e-6)


# --- repetition, tried ------------------------------------------------------------------------------------------------


def test_the_networks_gradients_are_slopes():
    rng = np.random.default_rng(2)
    network = simulation.Network(vocab=5, count=2, width=3, hidden=4, seed=1)
    network.weights = [weights.astype("f8") for weights in network.weights]
    seen, following = rng.integers(0, 5, (2, 8, simulation.BEFORE)), rng.integers(0, 5, (2, 8))
    grads, step = network.grads(seen, following), 1e-6
    for weights, grad in zip(network.weights, grads):
        for _ in range(12):
            at = tuple(rng.integers(0, size) for size in weights.shape)
            weights[at] += step
            up = network.loss(seen, following)
            weights[at] -= 2 * step
            down = network.loss(seen, following)
            weights[at] += step
            assert grad[at] == pytest.approx((up - down)[at[0]] / 2 / step, rel=1e-3, abs=2e-6)


def test_repetition_helps_the_networks_at_first_and_then_harms():
    """Signs of mean differences, each larger than two and a half of its standard errors over the networks."""
    tried = simulation.repetition()

    def differ(one, two):
        return (one - two).mean() / ((one - two).std(ddof=1) / math.sqrt(len(one)))

    assert differ(tried.again[0], tried.again[2]) > 2.5, "three passes beat one"
    assert differ(tried.again[4], tried.fresh[4]) > 2.5, "fresh text beats the fifth pass"
    assert differ(tried.again[-1], tried.again[tried.best - 1]) > 2.5 and 3 <= tried.best <= 8, "too many passes harm"
    assert differ(tried.fresh[0], tried.fresh[-1]) > 2.5
    assert tried.worth(2)[0] > 0.85 and 0.4 < tried.worth(4)[0] < 0.8 and tried.worth(10)[0] < 0.3
    assert 1 < tried.reuse < 5 < REUSE


def test_text_that_was_read_counts_nothing_twice():
    """Counting is not helped by reading again: a table of what follows what is the same after one pass as after
    nine.
    """
    text = "that is the question " * 3
    once = {(a, b): text.count(a + b) for a in set(text) for b in set(text)}
    again = {pair: 9 * count for pair, count in once.items()}
    share = lambda table, a, b: table[a, b] / sum(count for (first, _), count in table.items() if first == a)
    assert all(share(once, a, b) == share(again, a, b) for a, b in once if any(once[a, c] for c in set(text)))


# --- filtered data ----------------------------------------------------------------------------------------------------

SHARES = st.floats(0.002, 1)


@given(SHARES, st.floats(0.05, 20), st.floats(0.0, 0.9, exclude_min=True), st.floats(0.5, 40))
@pytest.mark.slow
def test_a_filtered_pool_is_read_part_by_part(kept, times, power, reuse):
    if times / kept > 300:
        times = 300 * kept
    worth = eq.filtered_worth(pretrain_tokens=times, pool_tokens=1, kept_share=kept, reuse=reuse, quality_power=power)
    assert worth == pytest.approx(simulation.filtered(times, 1, kept, reuse, power, parts=50), rel=2e-5)


@given(SHARES, st.floats(0.01, 20), st.floats(0.5, 40))
def test_a_filter_pays_from_the_quality_on_where_both_runs_are_worth_the_same(kept, times, reuse):
    even = eq.quality_even(pretrain_tokens=times, pool_tokens=1, kept_share=kept, reuse=reuse)
    summed = lambda unique: simulation.worth_summed(min(times, 300 * unique), unique, reuse, parts=60)
    assert even == pytest.approx(summed(1) / summed(kept), rel=1e-3)
    assert 1 - 1e-9 <= even <= 1 / kept * (1 + 1e-9)
    if times <= kept:
        assert even == pytest.approx(1)


def test_the_best_share_is_read_equally_often_at_every_length_of_training():
    for times, tokens in ((1.5, 1e11), (2.0, 1e12), (2.0, 8e12), (3.0, 1e13)):
        power = simulation.power_of(times)
        best, longer = (simulation.best_share(length, 3e13, REUSE, power) for length in (tokens, 2 * tokens))
        assert longer.epochs == pytest.approx(best.epochs, rel=0.01) and longer.share == pytest.approx(
            2 * best.share, rel=0.01
        )
        one_more = best.epochs * eq.repeat_worth(epochs=best.epochs, reuse=REUSE)
        assert one_more == pytest.approx(
            (1 - power) * eq.data_worth(pretrain_tokens=best.epochs, unique_tokens=1, reuse=REUSE), rel=0.01
        )


def test_random_pools_sorted_by_quality():
    """Documents of made-up quality, sorted and read: the mean of the best tenth is twice the average."""
    rng = random.Random(4)
    power, count = simulation.power_of(2.0), 200_000
    ranks = sorted(rng.random() for _ in range(count))
    quality = [(1 - power) * max(rank, 1e-12) ** -power for rank in ranks]  # of the best first
    assert sum(quality[: count // 10]) / (count // 10) == pytest.approx(2.0, rel=0.02) and sum(
        quality
    ) / count == pytest.approx(1, rel=0.02)


def test_published_filters_keep_what_the_page_says():
    rows = {row["kept"]: row["kept_tokens"] / row["pool_tokens"] for row in measurement("filtering_kept").records()}
    assert rows["FineWeb-Edu"] == pytest.approx(1.3 / 15) and rows["DCLM-Baseline"] == pytest.approx(0.0158, abs=1e-4)
    short = {row["pretraining_tokens"] / 1.3e12 for row in measurement("filtering_gains").records(text="FineWeb-Edu")}
    assert max(short) < 0.3, "where gains were published, nothing repeats"
