"""Every number that the page's prose prints, computed from the rows; and the small tables of the page."""

from __future__ import annotations

import re
import statistics
from html import escape
from typing import Any

from blackboard import notation
from blackboard.catalogue import measurements
from blackboard.notation import latex
from blackboard.page.summary import Page, table
from blackboard.prediction import equations as eq
from blackboard.prediction import serving_runs as serving
from blackboard.prediction.calibration import ALL, ALONE, BY_ID, KERNEL_CHIPS, RECIPES, calibration_by_id, ids
from blackboard.prediction.configuration import predict
from blackboard.prediction.rows import BOUND, CALIBRATED, CONSISTENCY, Row, mape
from blackboard.prediction.serving_constants import STEP_ERRORS
from blackboard.units import percent, pretty, significant
from blackboard.validation import serving as runs
from blackboard.validation import training_runs as train
from blackboard.validation.mutations import RECIPE, mutations, shares
from blackboard.validation.report import WIDE, code, whole

LETTERS = {
    "compute_efficiency": r"\(\eta_c\)",
    "memory_efficiency": r"\(\eta_m\)",
    "link_efficiency": r"\(\eta_\ell\)",
    "layer_overhead": r"\(t_\ell\)",
}


def _slow(rows: list[Row]) -> float:
    return statistics.median(row.slow for row in rows)


def _rows(data: str, *parts: str, fitted: bool | None = None) -> list[Row]:
    """Calibrated rows of a data set, of these slices if some are named; fitted, not fitted, or either."""
    mine = (
        row for row in whole().rows if row.kind == CALIBRATED and row.data == data and (not parts or row.part in parts)
    )
    return [row for row in mine if fitted in (None, row.fitted)]


def _error(data: str, *parts: str) -> float:
    """Mean absolute error of the rows of these slices that were not fitted."""
    return mape(row.error for row in _rows(data, *parts, fitted=False))


def _bias(data: str, part: str) -> float:
    """Mean error of a slice, fitted or not."""
    return statistics.mean(row.error for row in _rows(data, part))


def _held_by(id: str, fitted: bool) -> list[Row]:
    """Rows that are held against a calibration, those that it was fitted on or the others."""
    return [row for row in whole().rows if row.kind == CALIBRATED and row.why == id and row.fitted == fitted]


def counted() -> dict[str, str]:
    """How many rows of each kind, and how many hold."""
    rows = whole().rows
    of = lambda kind: [row for row in rows if row.kind == kind]
    closed, exact = of(CONSISTENCY), [row for row in of(CONSISTENCY) if abs(row.error) < 1e-9]
    tested, near = (
        [row for row in of(CALIBRATED) if not row.fitted],
        lambda rows: percent(statistics.mean(abs(row.error) <= 0.15 for row in rows)),
    )
    engines = [row for row in tested if row.why in ids()]
    dense, routed = (
        [row for row in engines if row.data.startswith("trtllm") and ("Llama-3" in row.part) == wanted]
        for wanted in (True, False)
    )
    twice = len(tested) - len({(row.data, row.what, row.published) for row in tested})
    return {
        "rows": f"{len(rows):,}",
        "sets": str(len({row.data for row in rows})),
        "unheld": str(len(measurements()) - len({row.data for row in rows})),
        "closures": str(len(closed)),
        "exact": str(len(exact)),
        "wide": str(len(whole().wide)),
        "bounds": str(len(of(BOUND))),
        "beaten": str(len(whole().exceptions)),
        "calibrated": str(len(of(CALIBRATED))),
        "tested": str(len(tested)),
        "within": near(tested),
        "twice": str(twice),
        "engines": str(len(engines)),
        "engines_within": near(engines),
        "dense_within": near(dense),
        "routed_within": near(routed),
    }


def bounds() -> dict[str, str]:
    """How far above the bound engines are."""
    of = lambda *data: [row for row in whole().rows if row.kind == BOUND and row.data in data]
    medians = lambda rows: sorted(
        _slow([row for row in rows if (row.data, row.part) == part]) for part in {(row.data, row.part) for row in rows}
    )
    trt = of("trtllm_v1_0_throughput", "trtllm_v1_0_moe")
    dense, routed = ([row for row in trt if ("Llama-3" in row.part) == wanted] for wanted in (True, False))
    others, far = (
        medians(of("sglang_large_ep_decode", "sglang_large_ep_prefill", "vllm_wide_ep")),
        of("h200_nccl", "h200_deepep_ll_intranode"),
    )
    alone, small = (
        [row.slow for row in of("trtllm_r1_latency_steps")],
        [row.slow for row in of("gpt_fast_readme") if "float16" in row.part],
    )
    return {
        "dense_low": significant(medians(dense)[0], 2),
        "dense_high": significant(medians(dense)[-1], 2),
        "dense_least": significant(min(row.slow for row in dense), 3),
        "routed_low": significant(medians(routed)[0], 2),
        "routed_high": significant(medians(routed)[-1], 2),
        "other_low": significant(others[0], 2),
        "other_high": significant(others[-1], 2),
        "alone_first": significant(alone[0], 2),
        "alone_last": significant(alone[-1], 2),
        "alone_steps": str(len(alone) - 1),
        "one_low": significant(min(small), 2),
        "one_high": significant(max(small), 2),
        "bf16_beaten": str(sum(runs.bound(case).slow < 1 for case in serving.trtllm("bf16"))),
        "far_most": significant(max(row.slow for row in far), 2),
    }


def calibrated() -> dict[str, str]:
    """Constants, and errors on rows that they were not fitted on."""
    return _constants() | _dense_errors() | _other_errors() | _kernel_errors()


def _constants() -> dict[str, str]:
    share = lambda id, name: percent(calibration_by_id(id).values[name])
    return {
        "hopper_compute": share("trtllm-h200", "compute_efficiency"),
        "hopper_memory": share("trtllm-h200", "memory_efficiency"),
        "hopper_rows": str(len(RECIPE.inside)),
        "blackwell_compute": share("trtllm-b200", "compute_efficiency"),
        "blackwell_memory": share("trtllm-b200", "memory_efficiency"),
        "moe_compute": share("trtllm-moe-h200", "compute_efficiency"),
        "moe_compute_b200": share("trtllm-moe-b200", "compute_efficiency"),
        "link_us": pretty(calibration_by_id("trtllm-h200").values["link_latency"], "s", 2),
        "link_share": share("trtllm-h200", "link_efficiency"),
        "sglang_compute": share("sglang-h100", "compute_efficiency"),
        "sglang_links": share("sglang-h100", "link_efficiency"),
        "layer_us": pretty(calibration_by_id("gptfast-a100").values["layer_overhead"], "s", 2),
    }


def _dense_errors() -> dict[str, str]:
    """Of dense models under TensorRT-LLM, those of the fit included, and by how much of the sending is hidden."""
    data, by_share = "trtllm_v1_0_throughput", shares()
    ideal = [row for row in _rows(data, fitted=False) if row.part.startswith("Llama")]
    return {
        "h100_8b": percent(_error(data, "Llama-3.1-8B, 1 H100")),
        "h100_70b": percent(_error(data, "Llama-3.3-70B, 2 H100")),
        "h200_405b": percent(_error(data, "Llama-3.1-405B, 8 H200")),
        "h100_405b": percent(_error(data, "Llama-3.1-405B, 8 H100")),
        "gb200_70b": percent(_error(data, "Llama-3.3-70B, 1 GB200")),
        "b200_405b": percent(_error(data, "Llama-3.1-405B, 4 B200")),
        "gb200_405b": percent(_error(data, "Llama-3.1-405B, 4 GB200")),
        "ideal_error": percent(mape(1 / row.ideal_slow - 1 for row in ideal)),
        "fit_8b": percent(-_bias(data, "Llama-3.1-8B, 1 H200")),
        "fit_70b": percent(_bias(data, "Llama-3.3-70B, 1 H200")),
        "fit_both": percent(mape(row.error for row in _held_by("trtllm-h200", True))),
        "bias_405b": percent(-_bias(data, "Llama-3.1-405B, 8 H200")),
        "hidden_all": percent(by_share[0].tested),
        "hidden_half": percent(by_share[1].tested),
        "hidden_none": percent(by_share[2].tested),
        "fitted_half": percent(by_share[1].fitted, 1),
        "fitted_none": percent(by_share[2].fitted, 1),
    }


def _other_errors() -> dict[str, str]:
    """Of mixtures of experts, and of other engines."""
    moe, gptfast = "trtllm_v1_0_moe", "gpt_fast_readme"
    palm = _rows("pope_table2_palm540b", "prefill")
    prefill = lambda scenario: percent(abs(next(row.error for row in palm if row.what.startswith(scenario))))
    return {
        "ds_production": percent(_error("sglang_large_ep_decode", "DeepSeek production"), 1),
        "moe_h100": percent(_error("trtllm_v1_0_throughput", "Qwen3-235B-A22B, 8 H100")),
        "maverick_h200": percent(_error(moe, "Llama-4-Maverick, 8 H200")),
        "maverick_b200": percent(_error(moe, "Llama-4-Maverick, 8 B200")),
        "gptfast_70b": percent(_error(gptfast, "Llama-2-70B, float16")),
        "gptfast_int4": percent(_error(gptfast, "Llama-2-70B, int4", "Llama-2-7B, int4")),
        "palm_prefill": prefill("low latency"),
        "palm_gathered": prefill("high throughput"),
        "ds_decode": percent(_error("sglang_large_ep_decode", "DeepSeek profile")),
        "ds_prefill": percent(_error("sglang_large_ep_prefill", "DeepSeek profile")),
    }


def _kernel_errors() -> dict[str, str]:
    """Of kernels on their own, and of whole steps by constants from kernels alone."""
    whole = _held_by(runs.KERNELS, False)
    parts = [mape(row.error for row in whole if row.part == part) for part in {row.part for row in whole}]
    gemm, nccl = _rows("h200_gemm", fitted=False), _rows("h200_nccl", fitted=False)
    sizes = {"nccl_small": "32.8 kB", "nccl_middle": "524 kB", "nccl_large": "8.39 MB"}
    return {
        "attention_one": percent(_error("h200_decode_attention", "one sequence")),
        "knee": percent(mape(row.error for row in gemm if "knee" in row.part)),
        "gemm": percent(mape(row.error for row in gemm if "knee" not in row.part)),
        "alone": percent(mape(row.error for row in whole), 1),
        "alone_rows": str(len(whole)),
        "alone_least": percent(min(parts)),
        "alone_most": percent(max(parts)),
        **{name: percent(mape(row.error for row in nccl if f" {size}" in row.what)) for name, size in sizes.items()},
    }


def training() -> dict[str, str]:
    """Training runs and steps, memory, speculation."""
    hours = [row for data in (*train.SETS, "llammlein_training") for row in _rows(data)]
    error = lambda data, *parts: percent(_error(data, *parts))
    held = [row.error for row in hours if row.part in ("A100, Llama 1", "A100, other makers") and not row.fitted]
    mfu, small = steps_constants(), [row for row in hours if row.part == "H100, 1 to 8 billion"]
    bubble = lambda *names: percent(_error("zero_bubble_pipeline", *names), 1)
    schedules = ("1F1B", "1F1B-I", "ZB-1p", "ZB-2p")
    gains = [row.error for row in _rows("speculation_by_batch", fitted=False)]
    return {
        "a100_mfu": percent(mfu["A100 runs"]),
        "h100_mfu": percent(mfu["H100 runs"]),
        "llama1": percent(mape(row.error for row in hours if row.part == "A100, Llama 1")),
        "llama1_runs": str(sum(row.part == "A100, Llama 1" for row in hours)),
        "a100_held": percent(mape(held)),
        "a100_runs": str(len(held)),
        "runs": str(len({row.what for row in hours})),
        "small_most": percent(max(map(abs, (row.error for row in small)))),
        "h100_405b_hours": error("training_gpu_hours", "H100, Llama 3 of 405 billion"),
        "ds_rate": error("deepseek_isca25_training", "DeepSeek-V3 from Llama's share"),
        "megatron": error("megatron_2021_table2_zero3", "tensor, pipeline and data parallel"),
        "zero3": error("megatron_2021_table2_zero3", "ZeRO-3"),
        "bubble_nothing": bubble(*(f"{name}, simulated" for name in schedules)),
        "bubble_fitted": bubble(*schedules),
        "pass_ms": pretty(mfu["overhead of a pass"], "s", 2),
        "zb_memory": percent(_error("zero_bubble_pipeline", "memory"), 1),
        "revnet": error("memcnn_revnet", "reversible"),
        "gains": percent(mape(gains)),
        "gain_rows": str(len(gains)),
        "steps_mfu": percent(mfu["H100 steps"]),
        "llama4": error("training_gpu_hours", "FP8, Llama 4"),
        "palm_hours": percent(_error("training_gpu_hours_more", "a run from its own step")),
        "mtp": error("mtp_by_depth", "one layer used again and again"),
        "resnet": error("memcnn_revnet", "ordinary, in proportion to depth"),
        "t5_small": error("leviathan_table2", "T5-small"),
        "t5_small_ideal": percent(mape(1 / row.ideal_slow - 1 for row in _rows("leviathan_table2", "T5-small"))),
        "amoeba": error("gpipe_table2", "AmoebaNet"),
        "codex": percent(_error("prefix_cache_hit_rates", "what the traces allow"), 1),
    }


def steps_constants() -> dict[str, float]:
    """Shares of the peak that training reaches, and what a pass costs beside."""
    return {name: constant.value for name, constant in train.constants().items()}


def bent() -> dict[str, str]:
    """What mistakes do to the three kinds of test."""
    by = {bend.description: bend for bend in mutations()}
    return {
        "bent_rows": str(by["nothing"].rows),
        "bent_tested": str(sum(len(_held_by(RECIPE.id, fitted)) for fitted in (True, False))),
        "prompts_error": percent(by["prompts taken in for nothing"].error),
        "total_beaten": str(by["total for active parameters"].beaten),
        "sparse_share": percent(by["sparse peak for the dense one"].value("compute_efficiency")),
        "values_share": percent(by["values forgotten"].value("memory_efficiency")),
        "gib_share": percent(by["GB/s taken as GiB/s"].value("memory_efficiency")),
    }


def example() -> dict[str, str]:
    """The prediction that the page shows."""
    ideal, real, kernels = (predict(**EXAMPLE, calibration=name) for name in (None, "auto", runs.KERNELS))
    fitted: Any = real.calibration  # that of a slice, which knows the batches it saw
    return {
        "example_ideal": pretty(ideal.time, "s", 3),
        "example_real": pretty(real.time, "s", 2),
        "example_times": significant(real.time / ideal.time, 2),
        "example_kernels": pretty(kernels.time, "s", 2),
        "example_weights": pretty(ideal.terms["weights"], "s", 3),
        "example_cache": pretty(ideal.terms["cache"], "s", 3),
        "example_rent": f"{real.rent.usd_per_chip_hour:g}",
        "example_date": real.rent.date,
        "example_batch": f"{EXAMPLE['batch'] / EXAMPLE['chips']:g}",
        "example_least": significant(fitted.batches[0], 3),
        **{f"fallback_{kind}": percent(errors["engine"][0]) for kind, errors in STEP_ERRORS.items()},
        "fallback_runs": str(sum(errors["engine"][1] for errors in STEP_ERRORS.values())),
    }


EXAMPLE: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "chip": "h100-sxm",
    "chips": 8,
    "batch": 64,
    "context": 4096,
    "weights": "fp8",
    "tensor": 8,
}


def all() -> dict[str, str]:
    """Every number of the page's prose, by the name it is glued in under."""
    return counted() | bounds() | calibrated() | training() | bent() | example()


# --- small tables ----------------------------------------------------------------------------------------------------


def mistakes() -> Page:
    """Each mistake, and what the bounds, the errors and the constants say of it."""
    rows = [
        [
            escape(bend.description[0].upper() + bend.description[1:]),
            str(bend.beaten),
            percent(bend.error),
            percent(bend.value("compute_efficiency")),
            percent(bend.value("memory_efficiency")),
        ]
        for bend in mutations()
    ]
    (count,) = {bend.rows for bend in mutations()}
    heads = (
        "What is wrong",
        f"Bounds beaten, of {count}",
        "Error on rows not fitted",
        r"Fitted \(\eta_c\)",
        r"Fitted \(\eta_m\)",
    )
    return table("Mistakes made on purpose in TensorRT-LLM's runs. A constant of 100% is at its bound", heads, rows)


def formula() -> Page:
    """The predicted step with its constants, as the formula has it, in lines that fit a phone."""
    longest, fixed = notation.symbol("t_longest"), eq.fixed_time.calibrated
    rest = eq.step_time.calibrated.xreplace({eq.longest: longest}) - fixed - longest
    lines = [
        f"{latex(eq.step_time.symbol)} &= {latex(longest)}",
        f"&+ {latex(rest)}",
        f"&+ {latex(fixed)}",
        f"{latex(longest)} &= {latex(eq.longest)}",
    ]
    return Page(r"<div>\[\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}\]</div>")


def constants() -> Page:
    """Every calibration: what it is fitted on, what came out, and how far off it is there and elsewhere."""
    told = {
        recipe.id: (recipe.description, recipe.free, recipe.chips, f"{' and '.join(recipe.formats)}, {recipe.models}")
        for recipe in RECIPES
    }
    told |= {
        id: (calibration_by_id(id).description, ALL, KERNEL_CHIPS, f"{format}, dense, where nothing above is")
        for id, (format, _) in ALONE.items()
    }
    rows = []
    for id, (description, free, chips, what) in told.items():
        errors = ([row.error for row in _held_by(id, fitted)] for fitted in (True, False))
        values = "<br>".join(
            f"{_unbroken(f'{LETTERS[name]} {value}')}{bound}"
            for name in free
            for value, bound in [_constant(name, calibration_by_id(id).values[name])]
        )
        rows.append(
            [
                f"{_unbroken(f'<code>{id}</code>')}<br>{escape(description)}",
                values,
                *map(_over, errors),
                f"{', '.join(map(_unbroken, chips))}: {what}" if chips else BY_ID,
            ]
        )
    heads = ("Id, fitted on", "Constants", "Error there", "Error elsewhere", "Taken by auto for")
    return table("Calibrations", heads, rows)


def _over(errors: list[float]) -> str:
    """A mean error, and over how many rows."""
    return f"{percent(mape(errors))} ({len(errors)}&nbsp;rows)" if errors else "not tested"


def _constant(name: str, value: float) -> tuple[str, str]:
    """A constant, and a note where it is as good as can be."""
    bound = " (at its bound)" if value == (1 if name.endswith("efficiency") else 0) else ""
    return percent(value) if name.endswith("efficiency") else pretty(value, "s", 2), bound


def _unbroken(said: str) -> str:
    """What stays on a line: an id, or a letter with its value, between which even a hard space may be broken."""
    return f'<span class="unbroken">{said}</span>'


def listed(rows: list[Row]) -> Page:
    """Rows one by one: by how much the published number differs from ours, and why."""
    plain = ("1", "year")  # no digits are added to those that the source prints
    number = lambda value, row: (
        significant(value, 4, exact=True) if row.unit in plain else pretty(value, row.unit, 4, exact=True)
    )
    uncounted = lambda said: re.sub(" (parameters|tokens)$", "", said)  # its row tells what is counted
    short = lambda value, row: uncounted(re.sub(",000 EFLOP$", " ZFLOP", number(value, row)))
    said = lambda row: (
        WIDE.get((row.data, row.what)) or (row.what if row.part in row.what else f"{row.part}, {row.what}")
    )
    off = lambda row: f"{100 * (row.published / row.computed - 1):+.1f}%".replace("-", "−")
    cells = [
        [
            f'<div class="row-name">{code(row.data)}<br>{escape(said(row))}</div>',
            off(row),
            f'<div class="row-why">{escape(row.why)}</div>',
            short(row.published, row),
            short(row.computed, row),
        ]
        for row in rows
    ]
    return table("One by one", ("Data set, row", "Off by", "Why", "Published", "Computed"), cells)


def folded(kind: str) -> Page:
    """The whole table of a kind, folded away."""
    report = whole().of(kind)
    return Page(
        f'<details class="all-lines"><summary>All {len(report.sums)} lines of this kind,'
        f" <em>{kind}</em></summary>{report.table()}</details>"
    )
