"""Training against what was published: chip-hours of whole runs, beside the steps of `steps`."""

from __future__ import annotations

from functools import cache
from statistics import geometric_mean
from typing import Any, NamedTuple

from blackboard.catalogue import chip, measurement
from blackboard.lessons.corpus.equations import mfu_reached
from blackboard.lessons.corpus.numbers import LARGE, run
from blackboard.lessons.overtraining.equations import training_time
from blackboard.lessons.reversibility.equations import work_ratio
from blackboard.prediction.least_squares import Constant
from blackboard.prediction.rows import BOUND, CALIBRATED, Row, bound_and_calibrated, formula_names
from blackboard.units import factor
from blackboard.validation import training_steps
from blackboard.validation.training_steps import SPENT, Record, shape, weighed

DATA = (
    "training_gpu_hours",
    "training_gpu_hours_more",
    "llammlein_training",
    "megatron_2021_table1",
    "megatron_2021_table2_zero3",
    "llama3_405b_parallelism",
    "deepseek_isca25_training",
    "training_mfu_reports",
    "korthikanti_iteration_times",
    "zero_bubble_pipeline",
    "gpipe_table2",
)
HOUR = factor("h")
CHIPS = {
    "A100": "a100-80gb",
    "A100-80": "a100-80gb",
    "A100-40": "a100-40gb",
    "H100": "h100-sxm",
    "H800": "h800",
    "TPU v4": "tpu-v4",
}
SETS = ("training_gpu_hours", "training_gpu_hours_more")
# A run belongs to the first slice whose names begin its own; a slice begins with the chips, or the precision, that
# share one MFU.
SLICES = {
    "A100, Llama 2": ("Llama 2",),
    "A100, Llama 1": ("Llama 1",),
    "A100, other makers": ("BLOOM", "TinyLlama", "Pythia", "LLäMmlein"),
    "H100, Llama 3 of 70 billion": ("Llama 3 70B", "Llama 3.1 70B"),
    "H100, Llama 3 of 405 billion": ("Llama 3.1 405B",),
    "H100, 1 to 8 billion": ("Llama 3", "SmolLM3"),
    "FP8, DeepSeek-V3": ("DeepSeek-V3",),
    "FP8, Llama 4": ("Llama 4",),
    "TPU v4, PaLM": ("PaLM",),
}
FITTED = {"A100": "A100, Llama 2", "H100": "H100, Llama 3 of 70 billion", "FP8": "FP8, DeepSeek-V3"}
WHY = {
    "A100, other makers": (
        "each maker's software and network is its own; BLOOM and Pythia computed all activations twice, which is"
        " counted"
    ),
    "H100, Llama 3 of 70 billion": (
        "Llama 3.1 took a tenth longer than Llama 3 for the same parameters and tokens: cards are no more exact"
    ),
    "H100, Llama 3 of 405 billion": "the largest model makes the best use of the chips",
    "H100, 1 to 8 billion": (
        "Meta's small models made poor use of the chips: 5 to 18 percent of the peak; SmolLM3 did not"
    ),
    "FP8, Llama 4": (
        "another maker's mixture of experts; its attention is not counted, for its sequences are not published"
    ),
}
STEP = (
    "hours of the run from the MFU of a step, of the BF16 peak: restarts, pauses and the small batches of the beginning"
    " come on top"
)


class Run(NamedTuple):
    """A training run: the work of so many parameters on so many tokens, and the chip's peak in the precision it
    multiplied in.

    `work` is what it multiplied over what it had to: 4/3 if all activations were computed twice.
    """

    data: str
    model: str
    part: str
    weight: float
    tokens: float
    peak: float
    work: float
    hours: float

    @property
    def group(self) -> str:
        """Of runs with one MFU."""
        return self.part.split(",")[0]

    @property
    def mfu(self) -> float:
        """The share of the peak that it reached over all of its hours, with what it multiplied twice."""
        return self.work * mfu_reached(
            n_active=self.weight, pretrain_tokens=self.tokens, chip_flops=self.peak, chip_time=self.hours * HOUR
        )

    def spent(self, mfu: float = 1) -> float:
        """Chip-hours at a share of the peak, if it multiplies nothing twice."""
        return (
            training_time(n_active=self.weight, pretrain_tokens=self.tokens, chip_flops=self.peak, train_mfu=mfu) / HOUR
        )


def runs() -> list[Run]:
    """All runs whose chip is in the catalogue."""
    found = [_run(id, row) for id in SETS for row in measurement(id).records()]
    [row], counted = (
        measurement("llammlein_training").records(model=LARGE),
        run(LARGE),
    )  # tokens from steps, parameters from the architecture
    return [
        *found,
        _run("llammlein_training", row | {"n_active": counted["n_active"], "pretraining_tokens": counted["tokens"]}),
    ]


def _run(data: str, row: Record) -> Run:
    name = row["model"]
    part = next(part for part, starts in SLICES.items() if name.startswith(starts))
    peak = chip(CHIPS[row["chip"]]).flops("fp8" if part.startswith("FP8") else "bf16")
    heads = shape(name)
    work = work_ratio(recomputed=heads["recomputed"] if heads else 0)
    return Run(
        data,
        name,
        part,
        weighed(row["n_active"], heads),
        row["pretraining_tokens"],
        peak,
        work,
        row["training_GPU_hours"],
    )


def run_rows() -> list[Row]:
    """Bounds of all runs, and hours from one MFU for a group of chips."""
    rows, known = [], constants()
    for each in runs():
        head = each.data, each.model, "h", each.hours
        more: dict[str, Any] = {"part": each.part, "formulas": formula_names(*SPENT, work_ratio)}
        if each.group in FITTED:
            computed = each.work * each.spent(known[f"{each.group} runs"].value)
            rows += bound_and_calibrated(
                *head, each.spent(), computed, each.part == FITTED[each.group], WHY.get(each.part, ""), **more
            )
        else:
            rows.append(Row(BOUND, *head, each.spent(), **more))
    return rows


def told() -> dict[str, tuple[str, float]]:
    """Runs whose makers report the MFU of a step: the chip, and that MFU of its BF16 peak, attention counted."""
    [llama] = measurement(training_steps.LLAMA).records(gpus=16384, sequence_tokens=8192)
    reports = {row["model"]: row["mfu"] for row in measurement("training_mfu_reports").records(counts="model")}
    return {
        "DeepSeek-V3": ("H800", reports["DeepSeek-V3"]),
        "PaLM 540B": ("TPU v4", reports["PaLM 540B"]),
        "Llama 3.1 405B": ("H100", llama["mfu"]),
    }


def step_rows() -> list[Row]:
    """Hours of a run from a single step of it."""
    rows = []
    for each in runs():
        if each.model in told():
            name, mfu = told()[each.model]
            computed = each._replace(peak=chip(CHIPS[name]).flops("bf16")).spent(mfu)
            more: dict[str, Any] = {
                "part": "a run from its own step",
                "ideal": each.spent(),
                "why": STEP,
                "formulas": formula_names(*SPENT),
            }
            rows.append(Row(CALIBRATED, each.data, each.model, "h", each.hours, computed, **more))
    return rows


@cache
def constants() -> dict[str, Constant]:
    """What is fitted on runs and steps, by name, each from its slice alone."""
    mfu = lambda part: geometric_mean([each.mfu for each in runs() if each.part == part])
    return {
        f"{group} runs": Constant("train_mfu", mfu(part), "1", SETS[0], part) for group, part in FITTED.items()
    } | training_steps.constants()


@cache
def rows() -> list[Row]:
    """All rows of training."""
    return run_rows() + step_rows() + training_steps.rows()
