"""Whole engines against their published rates: bounds, constants that are fitted on one slice alone, and errors on the
others.
"""

import importlib

import pytest
from cases import cases
from scipy.optimize import lsq_linear

from blackboard.catalogue.datafile import UnknownId
from blackboard.formula import IDEAL
from blackboard.prediction import calibration
from blackboard.prediction import serving_runs as serving
from blackboard.prediction.calibration import BOTH, RECIPES, calibration_by_id, fit, known_links
from blackboard.prediction.least_squares import fitted
from blackboard.prediction.rows import BOUND, CALIBRATED, CONSISTENCY, KINDS, mape
from blackboard.prediction.step import RESOURCES, step_terms
from blackboard.validation import serving as runs
from blackboard.validation import validate
from blackboard.validation.mutations import mutations, shares
from blackboard.validation.report import SETS, whole

ROWS = runs.rows()
CASES = serving.cases()
ALL = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.id)


# --- bounds ----------------------------------------------------------------------------------------------------------


@cases("case", CASES, ids=lambda case: f"{case.data}-{case.what}")
def test_no_engine_is_faster_than_its_bound(case):
    assert runs.bound(case).slow >= 1


def test_the_published_number_comes_back_from_the_measured_time():
    for case in CASES:
        assert runs.in_published_unit(case, case.measured) == pytest.approx(case.published)


def test_the_floor_has_at_least_the_batch_of_the_engine():
    """More memory and less reserved: the ideal engine serves more sequences at once, or as many as there are."""
    for case in serving.trtllm():
        assert case.most.sequences >= case.work.sequences >= 1
        assert case.most.sequences <= serving.requests(
            {"input_tokens": _lengths(case)[0], "output_tokens": _lengths(case)[1]}
        )


def _lengths(case):
    prompt, answer = (int(part.split()[0].replace(",", "")) for part in case.what.split(", ")[-2:])
    return prompt, answer


def test_a_cache_in_bf16_would_beat_the_floor():
    """Twice the bytes: so the quantised checkpoints hold their cache in FP8."""
    beaten = [case for case in serving.trtllm("bf16") if runs.bound(case).slow < 1]
    assert beaten and all(case.layout.model.id == "llama-3.1-8b" for case in beaten)


def test_room_for_the_cache_by_hand():
    """Llama 3.1 8B in FP8 on one H100: 80 GB less 8.03 GB, 0.9 of it, and 65,536 bytes a token."""
    (case,) = (c for c in serving.trtllm() if c.what == "Llama-3.1-8B, 1 H100, 2,048 in, 2,048 out")
    per_token = 2 * 8 * 128 * 32
    weights = case.layout.model.n_total
    assert case.work.sequences == pytest.approx(0.9 * (80e9 - weights) / (per_token * 4096))


# --- fitting ---------------------------------------------------------------------------------------------------------


def test_bounded_least_squares_are_scipys():
    """Also where a factor meets its bound."""
    parts, rest, times = [[1, 3], [2, 1], [4, 4], [1, 0.2]], [0.1, 0, 0.4, 0], [5, 4, 14, 1]
    for lows in ([0, 0], [1, 1], [1.4, 0], [2, 1]):
        scaled = [[a / t for a in row] for row, t in zip(parts, times)]
        left = [1 - r / t for r, t in zip(rest, times)]
        theirs = lsq_linear(scaled, left, bounds=(lows, [float("inf")] * 2)).x
        assert fitted(parts, times, lows, rest) == pytest.approx(theirs, rel=1e-4)


@ALL
def test_constants_mean_something(recipe):
    values = calibration_by_id(recipe.id).values
    assert all(0 < values[name] <= 1 for name in recipe.free if name.endswith("efficiency"))
    assert all(0 <= values[name] < 1e-3 for name in recipe.free if name.endswith("overhead"))
    assert (
        recipe.description in calibration_by_id(recipe.id).source and recipe.data in calibration_by_id(recipe.id).source
    )


@ALL
def test_only_the_slice_moves_the_constants(recipe):
    """A row of the slice that takes longer changes what is fitted; the slice is not the whole."""
    inside = recipe.inside
    assert 0 < len(inside) < len(recipe.cases())
    slower = [case._replace(measured=1.2 * case.measured) for case in inside]
    before, after = calibration_by_id(recipe.id).values, fit(recipe, slower).values
    assert any(after[name] != pytest.approx(before[name], rel=1e-3) for name in recipe.free)
    assert all(row.fitted == recipe.slice(case) for case in recipe.cases() for row in [runs.calibrated(case, recipe)])


@ALL
def test_a_fit_is_no_worse_than_its_neighbours(recipe):
    """Second route: moving any constant by a hundredth does not lessen the squared error on the slice."""
    values, inside = calibration_by_id(recipe.id).values, recipe.inside

    def squared(values):
        found = calibration.Fitted(recipe.id, "", values)
        return sum((runs.seconds(case._replace(sends=True), found) / case.measured - 1) ** 2 for case in inside)

    for name in recipe.free:
        for times in (0.99, 1.01):
            moved = values[name] * times
            if values[name] and not (name.endswith("efficiency") and moved > 1):
                assert squared({**values, name: moved}) >= squared(values) * (1 - 1e-9) - 1e-12


def test_the_calibrated_step_is_a_sum_by_hand():
    found = calibration_by_id("trtllm-h200")
    case = next(case for case in CASES if case.part == "Llama-3.1-405B, 8 H200")
    ideal = step_terms(case.layout, case.work, case.weights, case.compute, IDEAL)
    part = lambda resource: sum(ideal.get(term, 0) for term in RESOURCES[resource])
    links, layers = known_links(), 2 * case.layout.model.layers
    sent = (
        part("links") / links["link_efficiency"] + layers * 2 * links["link_latency"]
    )  # two all-reduces a layer, two exchanges each
    by_hand = (
        part("compute") / found.values["compute_efficiency"] + part("memory") / found.values["memory_efficiency"] + sent
    )
    assert runs.seconds(case, found) == pytest.approx(by_hand)


# --- errors on what was not fitted -----------------------------------------------------------------------------------

HELD_OUT = {  # slice: how far off at most on average
    "Llama-3.1-8B, 1 H100": 0.06,
    "Llama-3.3-70B, 2 H100": 0.05,
    "Llama-3.1-405B, 8 H200": 0.11,
    "Llama-3.1-405B, 8 H100": 0.13,
    "Llama-3.3-70B, 1 GB200": 0.08,
    "Llama-3.1-405B, 4 B200": 0.12,
    "Llama-3.1-405B, 4 GB200": 0.13,
    "Llama-2-70B, float16": 0.03,
    "DeepSeek production": 0.04,
}
KNOWN_BAD = {
    "Qwen3-235B-A22B, 8 H100": 0.15,
    "Llama-4-Maverick, 8 H200": 0.15,
    "Llama-4-Maverick, 8 B200": 0.15,
    "DeepSeek profile": 0.12,
    "Llama-2-70B, int4": 0.25,
    "Llama-2-70B, int8": 0.12,
}


def _tested(part, data=None):
    return [
        row.error
        for row in ROWS
        if row.kind == CALIBRATED and row.part == part and not row.fitted and data in (None, row.data)
    ]


@pytest.mark.parametrize("part", HELD_OUT)
def test_held_out_slices_are_predicted_to_fifteen_per_cent(part):
    data = "sglang_large_ep_decode" if part.startswith("DeepSeek") else None
    assert mape(_tested(part, data)) <= HELD_OUT[part] <= 0.15


@pytest.mark.parametrize("part", KNOWN_BAD)
def test_what_the_page_says_fails_does_fail(part):
    """If one of these gets better, the page has a sentence to change."""
    data = "sglang_large_ep_decode" if part.startswith("DeepSeek") else None
    assert mape(_tested(part, data)) > KNOWN_BAD[part]


def test_kernels_alone_predict_engines():
    rows = [row for row in ROWS if row.why == runs.KERNELS]
    assert len(rows) == 60 and not any(row.fitted for row in rows)
    parts = {row.part for row in rows}
    assert all(mape(row.error for row in rows if row.part == part) <= 0.15 for part in parts)
    assert mape(row.error for row in rows) <= 0.11


def test_the_calibrated_is_nearer_than_the_ideal():
    for row in ROWS:
        if row.kind == CALIBRATED and not row.why.startswith(("palm", "trtllm-moe")):
            assert abs(row.error) < abs(1 / row.ideal_slow - 1), row


# --- mistakes made on purpose ----------------------------------------------------------------------------------------


def test_each_mistake_shows_where_the_page_says():
    found = {bend.description: bend for bend in mutations()}
    plain, quiet = (
        found["nothing"],
        ("prompts taken in for nothing", "values forgotten", "sparse peak for the dense one", "GB/s taken as GiB/s"),
    )
    assert plain.beaten == 0 and all(found[description].beaten == 0 for description in quiet)
    for description in (
        "keys and values counted twice",
        "grouped heads forgotten",
        "bits for bytes in the memory's rate",
    ):
        assert found[description].beaten > 5 and found[description].error > 3 * plain.error
    total = found["total for active parameters"]
    assert total.beaten > 10 and total.error == pytest.approx(plain.error)
    assert found["prompts taken in for nothing"].error > 4 * plain.error
    assert all(found[description].error < 1.15 * plain.error for description in quiet[1:])
    assert found["sparse peak for the dense one"].value("compute_efficiency") == pytest.approx(
        plain.value("compute_efficiency") / 2
    )
    assert found["values forgotten"].value("memory_efficiency") == pytest.approx(
        plain.value("memory_efficiency") / 2, rel=0.02
    )
    assert found["GB/s taken as GiB/s"].value("memory_efficiency") == pytest.approx(
        plain.value("memory_efficiency") / (2**30 / 1e9)
    )
    assert set(BOTH) <= set(plain.constants.values)


def test_the_more_is_taken_to_add_the_better_for_rows_that_were_not_fitted():
    hidden, half, added = shares()
    assert hidden.tested > 1.5 * half.tested > 2 * added.tested
    assert half.fitted < added.fitted < hidden.fitted, "the fitted rows alone would have half of it hide"
    assert added.fitted == pytest.approx(
        mape(row.error for row in ROWS if row.why == "trtllm-h200" and row.fitted), rel=0.05
    ), "the straight fit is the best one"


# --- everything ------------------------------------------------------------------------------------------------------

BEATEN = {
    ("h200_nccl", "all-reduce, 8 GPUs, 537 MB"),
    ("links_and_achievable", "8 H200, all-reduce in the switch"),
    ("ngram_by_batch", "batch 1"),
    ("prefix_cache_gains", "vLLM, median time to first token"),
    *(
        ("leviathan_table2", what)
        for what in (
            "EnDe, T5-small, sampled",
            "CNN/DM, T5-small, greedy",
            "CNN/DM, T5-small, sampled",
            "CNN/DM, T5-base, sampled",
        )
    ),
}
ASKED = {
    "deepseek_day6_production",
    "deepseek_v3_training",
    "deepseek_isca25_ep_latency",
    "vllm_paper",
    "korthikanti_activation_formula",
    "vllm_block_bytes",
    "trtllm_v1_0_throughput",
    "vllm_wide_ep",
    "sglang_large_ep_decode",
    "sglang_large_ep_prefill",
    "pope_table2_palm540b",
    "pope_decode_latency",
    "h200_gemm",
    "h200_decode_attention",
    "h200_nccl",
    "zero_bubble_pipeline",
    "megatron_2021_table1",
    "megatron_2021_table2_zero3",
    "training_gpu_hours",
    "memcnn_revnet",
    "leviathan_table2",
    "speculation_by_batch",
    "prefix_cache_hit_rates",
}


def test_validate_has_all_that_it_should_and_nothing_fails():
    report = whole()
    assert report.failures == [] and {row.data for row in report.rows} >= ASKED
    assert {(row.data, row.what) for row in report.exceptions} == BEATEN
    assert sum(s.count for s in report.sums) == len(report.rows) > 1_500
    assert (
        len(
            [
                row
                for row in report.rows
                if row.data.startswith(("training_gpu_hours", "llammlein")) and row.kind == BOUND
            ]
        )
        >= 20
    )
    wide = {row.data for row in report.rows if row.kind == CONSISTENCY and abs(row.published / row.computed - 1) > 0.02}
    assert {row.data for row in report.wide} == wide and all(row.why for row in report.wide)


@pytest.mark.parametrize("name", SETS)
def test_each_part_says_which_data_sets_it_has(name):
    part = importlib.import_module(f"blackboard.{name}")
    assert {row.data for row in part.rows()} == set(part.DATA)


def test_a_report_can_be_narrowed():
    report = whole()
    assert {row.kind for row in report.of("bound").rows} == {"bound"} and {
        row.data for row in report.of(data="h200_nccl").rows
    } == {"h200_nccl"}
    with pytest.raises(UnknownId, match="h200_nccl"):
        report.of(data="h200_ncl")
    with pytest.raises(UnknownId, match=", ".join(KINDS)):
        validate(kind="ceiling")
    assert "h200_nccl" in str(report.of(data="h200_nccl")) and "<caption>" in report.of("consistency").table()


def test_a_broken_bound_and_a_broken_consistency_check_are_failures():
    from dataclasses import replace

    bound = next(row for row in whole().rows if row.kind == BOUND and row.slow > 1.5 and not row.why)
    slower = replace(bound, computed=bound.computed * (0.1 if bound.rate else 10))
    closed = next(row for row in whole().rows if row.kind == CONSISTENCY and row.limit <= 0.02)
    off = replace(closed, computed=1.05 * closed.computed)
    assert not slower.holds and not off.holds and type(whole())((slower, off)).failures == [slower, off]
    assert "FAILS" in str(type(whole())((slower, off)))
