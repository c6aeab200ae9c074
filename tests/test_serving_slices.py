"""Errors under load, by slices that the constants were not fitted on."""

import numpy
import pytest
from msgspec.structs import replace

from blackboard import catalogue
from blackboard.prediction.serving_calibration import ALL, FITTED, Fit, constants_of, factors_of, fit_all, runs
from blackboard.prediction.serving_constants import EXPECTED, FACTORS, MEASURED, STEP_ERRORS
from blackboard.validation.serving_slices import (
    expected,
    fit_slices,
    median_size,
    offline_errors,
    over,
    slices,
    step_errors,
    table,
)


def test_six_constants_for_a_server_at_most():
    assert len(FITTED) <= 6 and set(FACTORS[ALL]) == set(FITTED)
    for run in runs():
        assert set(constants_of(FACTORS, run.factors)) == set(FITTED)


@pytest.mark.slow
def test_a_new_fit_gives_the_constants_that_are_shipped():
    group = [run for run in runs() if not run.queued]
    found = fit_all(group)
    assert found.keys() == FACTORS.keys() and {" ".join(run.key) for run in group} == set(MEASURED)
    for run in group:
        ours, shipped = (constants_of(known, run.factors) for known in (found, FACTORS))
        assert ours == pytest.approx(shipped, rel=0.02), run.key


def test_slopes_of_a_fit_are_those_of_its_errors():
    fit = Fit([run for run in runs() if not run.queued][::20])
    steps = numpy.random.default_rng(0).normal(0, 0.1, fit.ease.size)
    for column in range(0, fit.ease.size, 7):
        moved = steps.copy()
        moved[column] += 1e-6
        assert fit.slopes(steps)[:, column] == pytest.approx((fit.off(moved) - fit.off(steps)) / 1e-6, abs=1e-2)


def test_factors_are_near_one_and_unknown_ones_are_one():
    assert all(0.4 < value < 2.5 for name, each in FACTORS.items() if name != ALL for value in each.values())
    names = factors_of("tgi", "mi300x", catalogue.model("llama-3.1-8b"))
    assert names == (ALL, "tgi", *(each := ("dense", "llama-3.1-8b", "mi300x")), *(f"tgi {name}" for name in each))
    assert constants_of(FACTORS, (ALL, *names[3:])) == pytest.approx(FACTORS[ALL])


def test_a_model_of_the_same_shape_has_the_same_factors_whatever_its_name():
    known = catalogue.model("llama-3.1-70b")
    assert factors_of("vllm", "h200", replace(known, id="mine")) == factors_of("vllm", "h200", known)
    assert "deepseek-r1" in factors_of("vllm", "h200", catalogue.model("deepseek-v3"))


@pytest.mark.slow
def test_slices_fitted_anew_are_those_that_are_shipped():
    found = fit_slices()
    assert [each[:4] for each in found] == [each[:4] for each in slices()]
    for new, shipped in zip(found, slices(), strict=True):
        assert new[4:] == pytest.approx(shipped[4:], abs=0.01), new.held


def test_expected_errors_are_those_of_the_slices():
    assert expected() == EXPECTED


@pytest.mark.slow
def test_errors_of_steps_with_the_constants_of_servers_are_those_that_are_shipped():
    found = step_errors()
    assert {kind: set(errors) for kind, errors in found.items()} == {kind: set(e) for kind, e in STEP_ERRORS.items()}
    for kind, errors in found.items():
        for near, each in errors.items():
            error, *runs = STEP_ERRORS[kind][near]
            assert each.error == pytest.approx(error, abs=0.01) and list(each[1:]) == runs


def test_errors_by_slice():
    for what in ("chips", "concurrency", "chip"):
        assert over(what, "dense")["output_token"] < 0.10
    assert over("chips", "dense")["first_token"] < 0.18 and over("concurrency", "dense")["first_token"] < 0.18
    for what, most in (("fitted", (0.05, 0.13)), ("chips", (0.09, 0.21)), ("concurrency", (0.07, 0.20))):
        sums = over(what, "experts")
        assert sums["output_token"] < most[0] and sums["first_token"] < most[1]
    for what in ("chip", "engine", "model"):
        assert over(what, "experts")["output_token"] < 0.15 and over(what, "experts")["first_token"] < 0.31
    assert all(each.held in table() for each in slices())


@pytest.mark.parametrize("chip", ("h200", "h100-sxm"))
def test_other_lengths_are_met_with_constants_of_one(chip):
    assert median_size(offline_errors()["llama-3.1-70b", chip, "fp8"]) < 0.10
