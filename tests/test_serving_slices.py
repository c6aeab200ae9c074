"""Errors under load, by slices that the constants were not fitted on."""

import pytest

from blackboard.prediction.serving_calibration import FITTED, fit_all, runs
from blackboard.prediction.serving_constants import CONSTANTS, EXPECTED
from blackboard.validation.serving_slices import expected, fit_slices, median_size, offline_errors, over, slices, table


def test_six_constants_for_an_engine_chip_and_kind_at_most():
    assert len(FITTED) <= 6 and all(set(values) == set(FITTED) for values in CONSTANTS.values())


@pytest.mark.slow
def test_a_new_fit_gives_the_constants_that_are_shipped():
    found = fit_all([run for run in runs() if not run.queued])
    assert found.keys() == CONSTANTS.keys()
    for name, values in found.items():
        assert values == pytest.approx(CONSTANTS[name], rel=0.02), name


@pytest.mark.slow
def test_slices_fitted_anew_are_those_that_are_shipped():
    found = fit_slices()
    assert [each[:4] for each in found] == [each[:4] for each in slices()]
    for new, shipped in zip(found, slices(), strict=True):
        assert new[4:] == pytest.approx(shipped[4:], abs=0.01), new.held


def test_expected_errors_are_those_of_the_slices():
    assert expected() == EXPECTED


def test_errors_by_slice():
    for what in ("chips", "concurrency", "chip"):
        assert over(what, "dense")["output_token"] < 0.10
    assert over("chips", "dense")["first_token"] < 0.18 and over("concurrency", "dense")["first_token"] < 0.18
    assert over("fitted", "experts")["output_token"] < 0.15
    assert all(each.held in table() for each in slices())


@pytest.mark.parametrize("chip", ("h200", "h100-sxm"))
def test_other_lengths_are_met_with_constants_of_one(chip):
    assert median_size(offline_errors()["llama-3.1-70b", chip, "fp8"]) < 0.10
