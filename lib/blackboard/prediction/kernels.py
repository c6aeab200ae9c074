"""Kernels measured one at a time: matrix products and attention, what is left of a captured step, and the exchanges
between chips.

Bounds hold every measured time against the ideal one. Calibrated rows use two or three constants of each library or
operation, fitted on one named slice of its rows; all its other rows are tested. What is fitted: `constants()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from blackboard.catalogue import chip, measurement, model
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.lessons.batching import equations as step
from blackboard.lessons.batching.numbers import GemmRow, gemm_rows
from blackboard.lessons.overheads import equations as overheads
from blackboard.lessons.overheads import implied
from blackboard.lessons.overheads.kernels import Plan, fused
from blackboard.prediction import collectives
from blackboard.prediction import equations as eq
from blackboard.prediction.least_squares import US, Constant, fitted
from blackboard.prediction.rows import BOUND, Row, measured_time

DATA = (
    "h200_gemm",
    "h200_decode_attention",
    "gpt_fast_readme",
    "gpt_fast_steps",
    "h200_nccl",
    "h200_deepep_ll_intranode",
    "deepep_v1_normal",
    "deepep_v2",
    "links_and_achievable",
)

# --- matrix products --------------------------------------------------------------------------------------------------

GEMM_SLICE = (
    1,
    64,
    1_024,
    32_768,
)  # rows of A that are fitted, with both weights: the ends of the range, and two between
GEMM_SAYS = "1, 64, 1,024 and 32,768 rows, both weights"
KNEE = (
    "reading and multiplying overlap only in part, and the last of the tiles is computed whole however few of its rows"
    " are used"
)
QUANTISED = "the time includes making the inputs FP8, in kernels of their own"


def gemm_values(row: GemmRow) -> dict[str, float]:
    """A measured product by notation names."""
    size, card = bytes_per_param(row.precision), chip(measurement("h200_gemm").chip_id)
    shape = {
        "rows": row.m,
        "weight_rows": row.k,
        "weight_columns": row.n,
        "bytes_per_param": size,
        "bytes_per_value": size,
    }
    return shape | {"flops": card.flops(row.precision), "bandwidth": card.bandwidth}


def gemm_side(row: GemmRow) -> str:
    """What the ideal product waits for: "memory" or "compute"; where neither is twice the other, it is "near the
    knee".
    """
    values, ideal = gemm_values(row), row.ideal * US
    same = lambda name: abs(step.gemm_time(values, **{name: values[name] / 2}) / ideal - 1) < 1e-9
    return "memory" if same("flops") else "compute" if same("bandwidth") else "near the knee"


def gemm_fit(rows: Sequence[GemmRow]) -> dict[str, float]:
    """Compute and memory efficiency and fixed time, s, of products of one library and format."""
    parts = [(row.ideal * (gemm_side(row) == "compute"), row.ideal * (gemm_side(row) == "memory"), 1) for row in rows]
    compute, memory, fixed = fitted(parts, [row.measured for row in rows], (1, 1, 0))
    return {"compute_efficiency": 1 / compute, "memory_efficiency": 1 / memory, "overhead": fixed * US}


def gemm_groups(rows: Sequence[GemmRow] | None = None) -> dict[str, list[GemmRow]]:
    """Measured products by library and format."""
    key = lambda row: f"{row.library.split()[0]}-{row.precision}"
    return {name: list(group) for name, group in groupby(rows or gemm_rows(), key)}


def in_slice(row: GemmRow) -> bool:
    """Whether a product is fitted."""
    return row.m in GEMM_SLICE


def gemm_checks(rows: Sequence[GemmRow] | None = None, slice: Callable[[GemmRow], bool] = in_slice) -> list[Row]:
    """Matrix products: those of the slice are fitted, the others tested."""
    return [check for name, group in gemm_groups(rows).items() for check in _gemm_group(name, group, slice)]


def _gemm_group(name: str, group: list[GemmRow], slice: Callable[[GemmRow], bool]) -> list[Row]:
    found = gemm_fit([row for row in group if slice(row)])
    return [check for row in group for check in _gemm(name, row, found, slice(row))]


def _gemm(name: str, row: GemmRow, found: dict[str, float], fit: bool) -> list[Row]:
    knee = gemm_side(row) == "near the knee"
    why = KNEE if knee else QUANTISED if row.precision == "fp8" else ""
    return measured_time(
        "h200_gemm",
        f"{name}, {row.m:,} × {row.k:,} × {row.n:,}",
        name + ", near the knee" * knee,
        row.measured * US,
        row.ideal * US,
        eq.gemm_alone(gemm_values(row), calibration=found),
        (step.gemm_time, eq.gemm_alone),
        fit,
        why,
    )


# --- attention --------------------------------------------------------------------------------------------------------

ATTENTION_SLICE = 8  # the batch that is fitted
ATTENTION_MODEL = "llama-3.1-70b"  # 64 query heads, 8 of keys and values, 128 wide: those of the data set
SINGLE = (
    "the fixed time stands for a rate that rises with the length of the cache: for a short one it is more than the"
    " whole"
)


def attention_values(row: dict) -> dict[str, float]:
    """A measured attention by notation names; the new token's own key and value are read too."""
    net, card = model(ATTENTION_MODEL), chip(measurement("h200_decode_attention").chip_id)
    layer = net.kv_bytes_per_token("bf16") / net.layers
    return {
        "batch": row["batch"],
        "context": row["past_tokens"] + 1,
        "kv_bytes_per_token": layer,
        "bandwidth": card.bandwidth,
    }


def attention_fit(records: Sequence[dict]) -> dict[str, float]:
    """Memory efficiency and fixed time, s, of one layer's attention."""
    parts = [(step.kv_time(attention_values(row)), US) for row in records]
    memory, fixed = fitted(parts, [row["latency_us"] * US for row in records], (1, 0))
    return {"memory_efficiency": 1 / memory, "overhead": fixed * US}


def attention_checks(records: Sequence[dict] | None = None) -> list[Row]:
    """Attention in decoding: one batch is fitted; larger ones are tested, and a single sequence."""
    records = records or measurement("h200_decode_attention").records()
    found = attention_fit([row for row in records if row["batch"] == ATTENTION_SLICE])
    return [check for row in records for check in _attention(row, found)]


def _attention(row: dict, found: dict[str, float]) -> list[Row]:
    values, batch = attention_values(row), row["batch"]
    part = "one sequence" if batch == 1 else f"batch {batch}" if batch == ATTENTION_SLICE else "larger batches"
    return measured_time(
        "h200_decode_attention",
        f"batch {batch}, {row['past_tokens']:,} tokens",
        part,
        row["latency_us"] * US,
        step.kv_time(values),
        eq.attention_alone(values, calibration=found),
        (step.kv_time, eq.attention_alone),
        batch == ATTENTION_SLICE,
        SINGLE if batch == 1 else "",
    )


# --- captured steps: what kernels leave over --------------------------------------------------------------------------

STEP_SLICE = {"model": "Llama-2-7B", "weights": "float16"}
WIDENED = "narrow weights are widened inside the product, and its kernels read them more slowly"
CONTEXT = implied.GPT_FAST.context  # tokens, on average


def step_values(row: dict) -> dict[str, float]:
    """A captured step of gpt-fast by notation names: weights as its own bandwidth counts them, kernels counted in a
    compiled step.
    """
    net, card, chips = model(implied.CALLED[row["model"]]), chip(measurement("gpt_fast_readme").chip_id), row["gpus"]
    read = chips * row["bandwidth_GB_per_s"] / row["throughput_token_per_s"] * 1e9
    machine = {
        "flops": chips * card.flops("bf16"),
        "bandwidth": chips * card.bandwidth,
        "replay_time": implied.replay(),
    }
    ideal = {
        "compute_efficiency": 1.0,
        "overhead": 0.0,
    }  # multiplying takes no time here, and all that is fixed is kernels
    work = {"batch": 1, "context": CONTEXT, "kernels": len(fused(net.id, Plan(context=CONTEXT, chips=chips)))}
    return net.symbols("bf16") | machine | ideal | work | {"bytes_per_param": read / net.n_total}


def step_fit(records: Sequence[dict]) -> dict[str, float]:
    """Memory efficiency and time from kernel to kernel, s, of captured steps."""
    values = [step_values(row) for row in records]
    parts = [(step.step_time(each), each["kernels"] * US) for each in values]
    memory, gap = fitted(parts, [1 / row["throughput_token_per_s"] - implied.replay() for row in records], (1, 0))
    return {"memory_efficiency": 1 / memory, "kernel_gap": gap * US}


def in_steps(row: dict) -> bool:
    """Whether a captured step is fitted."""
    return all(row[name] == value for name, value in STEP_SLICE.items())


def step_checks(records: Sequence[dict] | None = None) -> list[Row]:
    """gpt-fast at batch 1 on 1 to 8 A100, kernel by kernel: one model and format is fitted; another model is tested,
    and other formats.

    The bounds of these rows are those of the whole configuration (validation.serving).
    """
    records = records or measurement("gpt_fast_readme").records()
    found = step_fit([row for row in records if in_steps(row)])
    return [_step(row, found) for row in records]


def _step(row: dict, found: dict[str, float]) -> Row:
    values, name, fit = step_values(row), f"{row['model']}, {row['weights']}", in_steps(row)
    return measured_time(
        "gpt_fast_readme",
        f"{name}, {row['gpus']} A100",
        "kernel by kernel, " + (name if fit else row["weights"]),
        1 / row["throughput_token_per_s"],
        step.step_time(values),
        overheads.graph_time(values, calibration=found),
        (step.step_time, overheads.graph_time),
        fit,
        WIDENED if row["weights"].startswith("int") else "",
    )[1]


def first_steps() -> list[Row]:
    """gpt-fast's steps one after the other, as bounds: the same machine, and the bytes of its own bandwidth."""
    known = {
        row["weights"]: step_values(row)
        for row in measurement("gpt_fast_readme").records(model=STEP_SLICE["model"], gpus=1)
    }
    told = [
        row for row in measurement("gpt_fast_steps").records() if "draft" not in row["step"]
    ]  # a draft makes several tokens a step
    return [
        Row(
            BOUND,
            "gpt_fast_steps",
            f"{row['step']}, {row['weights']}",
            "s",
            1 / row["throughput_token_per_s"],
            step.step_time(known[row["weights"]]),
            formulas=(step.step_time.name,),
        )
        for row in told
    ]


# --- together ---------------------------------------------------------------------------------------------------------


@cache
def rows() -> list[Row]:
    """All rows of kernels and exchanges."""
    return gemm_checks() + attention_checks() + step_checks() + first_steps() + collectives.rows()


@cache
def constants() -> dict[str, Constant]:
    """All fitted constants, by where they were measured and symbol; and launches as published."""
    found: dict[Any, Any] = {}
    for name, group in gemm_groups().items():
        found |= _named(
            f"gemm-{name}",
            gemm_fit([row for row in group if in_slice(row)]),
            "h200_gemm",
            GEMM_SAYS,
            eq.gemm_alone.name,
        )
    attention = [row for row in measurement("h200_decode_attention").records() if row["batch"] == ATTENTION_SLICE]
    found |= _named(
        "attention-bf16",
        attention_fit(attention),
        "h200_decode_attention",
        f"batch {ATTENTION_SLICE}",
        eq.attention_alone.name,
    )
    steps = [row for row in measurement("gpt_fast_readme").records() if in_steps(row)]
    found |= _named(
        "captured-a100", step_fit(steps), "gpt_fast_readme", "Llama 2 7B, FP16, 1 to 8 GPUs", overheads.graph_time.name
    )
    return found | _launches() | collectives.constants()


def _named(where: str, values: dict[str, float], data: str, slice: str, formula: str) -> dict[str, Constant]:
    unit = lambda name: "1" if name.endswith("efficiency") else "s"
    return {
        f"{where}.{name}": Constant(name, value, unit(name), data, slice, formula) for name, value in values.items()
    }


def _launches() -> dict[str, Constant]:
    """Seconds from kernel to kernel, from a stream and inside a graph, as published."""
    found = {}
    for who, where in (("Hazy Research", "h100"), ("MPK", "b200")):
        for graph, name in ((False, "launch_time"), (True, "kernel_gap")):
            description = f"published by {who}; fitted on nothing"
            found[f"launch-{where}.{name}"] = Constant(
                name, implied.period(who, graph), "s", "launch_costs", description
            )
    return found
