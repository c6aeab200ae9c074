"""Serving runs as rows: each against the ideal step, and, where constants are sourced, against the calibrated one."""

from __future__ import annotations

from functools import cache

from blackboard.catalogue import chip, measurement
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.formula import IDEAL, Calibration
from blackboard.lessons.batching import equations as step
from blackboard.prediction import equations as eq
from blackboard.prediction import serving_runs as serving
from blackboard.prediction.calibration import KNOWN, RECIPES, Recipe, busy, calibration_by_id
from blackboard.prediction.rows import BOUND, CALIBRATED, Row
from blackboard.prediction.serving_runs import Case
from blackboard.prediction.step import composed

DATA = (
    "trtllm_v1_0_throughput",
    "trtllm_v1_0_moe",
    "sglang_large_ep_decode",
    "sglang_large_ep_prefill",
    "vllm_wide_ep",
    "gpt_fast_readme",
    "trtllm_r1_latency_steps",
    "sglang_mtp",
    "pope_table2_palm540b",
    "pope_decode_latency",
    "kipply_13b",
)
KERNELS = "kernels-h200-fp8"
FORMULAS = tuple(f.name for f in (eq.step_time, step.compute_time, step.weight_time, step.kv_time, eq.attend_time))


def seconds(case: Case, calibration: Calibration = IDEAL) -> float:
    """The step of a case, predicted."""
    return composed(busy(case, calibration), case.layout, calibration)


def in_published_unit(case: Case, time: float) -> float:
    """A predicted step in what the source published: a rate, or the time of so many steps."""
    return case.published * case.measured / time if case.rate else time * case.steps


def bound(case: Case) -> Row:
    """The fastest step that the hardware allows, of the largest batch that it has room for."""
    best = case._replace(work=case.most or case.work)
    more = best.work.sequences / case.work.sequences
    ideal = in_published_unit(case, seconds(best) / more)
    return Row(BOUND, case.data, case.what, case.unit, case.published, ideal, case.rate, case.part, formulas=FORMULAS)


def calibrated(case: Case, recipe: Recipe) -> Row:
    """The step with the recipe's constants, and whether they were fitted on it."""
    return _calibrated(case, recipe.id, case.part, recipe.slice(case))


def _calibrated(case: Case, id: str, part: str, fitted: bool) -> Row:
    ours, ideal = (
        in_published_unit(case, seconds(case._replace(sends=True), calibration_by_id(id))),
        in_published_unit(case, seconds(case)),
    )
    return Row(
        CALIBRATED,
        case.data,
        case.what,
        case.unit,
        case.published,
        ours,
        case.rate,
        part,
        fitted,
        ideal,
        why=id,
        formulas=FORMULAS,
    )


def from_kernels() -> list[Row]:
    """Engines on Hopper with the constants of kernels measured one at a time: nothing is fitted on any engine."""
    return [
        _calibrated(case, KERNELS, f"from kernels alone, {case.part}", False)
        for case in serving.trtllm()
        if KNOWN["trtllm-h200"].takes(case)
    ]


def recipe_of(case: Case) -> Recipe | None:
    """The constants that a case is held against: those of its own engine, on its own kind of chip and model."""
    suits = lambda recipe: case.data in recipe.sets and (not recipe.chips or recipe.takes(case))
    return next(filter(suits, RECIPES), None)


@cache
def rows() -> list[Row]:
    """All serving runs."""
    found = [(case, recipe_of(case)) for case in serving.cases()]
    return (
        [bound(case) for case, _ in found]
        + [calibrated(case, recipe) for case, recipe in found if recipe]
        + from_kernels()
        + alone()
    )


def alone() -> list[Row]:
    """Runs at batch 1 of models that the catalogue does not have: the weights, read once."""
    rows = []
    for row in measurement("kipply_13b").records():
        values = {
            "n_total": row["n_total"],
            "bytes_per_param": bytes_per_param("fp16"),
            "bandwidth": row["gpus"] * chip("a100-40gb").bandwidth,
        }
        ideal, measured = step.latency_floor(values), row["output_token_ms"] / 1e3
        rows.append(
            Row(
                BOUND,
                "kipply_13b",
                f"{row['gpus']} A100",
                "s",
                measured,
                ideal,
                part="decode",
                formulas=(step.latency_floor.name,),
            )
        )
    return rows
