"""Every number that the page's prose prints, computed from the rows; and the small tables of the page."""

from __future__ import annotations

import statistics
from html import escape

from blackboard.drawing import percent
from blackboard import notation
from blackboard.notation import latex
from blackboard.reality import equations as eq, runs, serving, training as train
from blackboard.reality.bends import RECIPE, bends
from blackboard.reality.calibration import ALL, ALONE, KERNEL_CHIPS, RECIPES, named
from blackboard.reality.checks import CALIBRATED, CLOSURE, FLOOR, Row, mape
from blackboard.reality.entry import predict
from blackboard.reality.validation import whole
from blackboard.summary import Page, table
from blackboard.units import pretty, significant

LETTERS = {"compute_efficiency": r"\(\eta_c\)", "memory_efficiency": r"\(\eta_m\)", "link_efficiency": r"\(\eta_\ell\)", "layer_overhead": r"\(t_\ell\)"}


def _slow(rows: list[Row]) -> float:
    return statistics.median(row.slow for row in rows)


def _error(data: str, *parts: str) -> float:
    """Mean absolute error of the rows of these slices that were not fitted."""
    return mape(row.error for row in whole().rows if row.kind == CALIBRATED and row.data == data and row.part in parts and not row.fitted)


def counted() -> dict[str, str]:
    """How many rows of each kind, and how many hold."""
    rows = whole().rows
    of = lambda kind: [row for row in rows if row.kind == kind]
    closed, exact = of(CLOSURE), [row for row in of(CLOSURE) if abs(row.published / row.computed - 1) < 1e-9]
    tested = [row for row in of(CALIBRATED) if not row.fitted]
    return {
        "rows": f"{len(rows):,}", "sets": str(len({row.data for row in rows})), "closures": str(len(closed)), "exact": str(len(exact)),
        "wide": str(len(whole().wide)), "floors": str(len(of(FLOOR))), "beaten": str(len(whole().exceptions)),
        "calibrated": str(len(of(CALIBRATED))), "tested": str(len(tested)), "within": percent(statistics.mean(abs(row.error) <= 0.15 for row in tested)),
    }  # fmt: skip


def floors() -> dict[str, str]:
    """How far above the floor engines are."""
    of = lambda data, keep=lambda row: True: [row for row in whole().rows if row.kind == FLOOR and row.data == data and keep(row)]
    dense = of("trtllm_v1_0_throughput", lambda row: "Llama" in row.part)
    parts = {row.part for row in dense}
    medians = [_slow([row for row in dense if row.part == part]) for part in parts]
    routed = of("trtllm_v1_0_throughput", lambda row: "Qwen" in row.part) + of("trtllm_v1_0_moe")
    wide = [runs.floor(case) for case in serving.trtllm("bf16")]
    alone = of("trtllm_r1_latency_steps")
    return {
        "dense_low": significant(min(medians), 2), "dense_high": significant(max(medians), 2), "dense_least": significant(min(r.slow for r in dense), 3),
        "routed_slow": significant(_slow(routed), 2), "alone_slow": significant(_slow(alone), 2), "bf16_beaten": str(sum(row.slow < 1 for row in wide)),
        "one_low": significant(min(r.slow for r in of("gpt_fast_readme", lambda r: "float16" in r.part)), 2), "one_high": significant(max(r.slow for r in of("gpt_fast_readme", lambda r: "float16" in r.part)), 2),
    }  # fmt: skip


def calibrated() -> dict[str, str]:
    """Constants, and errors on rows that they were not fitted on."""
    trt, moe, hopper, blackwell = "trtllm_v1_0_throughput", "trtllm_v1_0_moe", named("trtllm-h200").values, named("trtllm-b200").values
    ideal = [row for row in whole().rows if row.kind == CALIBRATED and row.data == trt and not row.fitted and row.part.startswith("Llama")]
    share = lambda name, where: percent(where[name])
    from_kernels = [row for row in whole().rows if row.why == runs.KERNELS]
    parts = {part: mape(row.error for row in from_kernels if row.part == part) for part in {row.part for row in from_kernels}}
    return {
        "hopper_compute": share("compute_efficiency", hopper), "hopper_memory": share("memory_efficiency", hopper), "hopper_rows": str(len(RECIPE.inside)),
        "blackwell_compute": share("compute_efficiency", blackwell), "blackwell_memory": share("memory_efficiency", blackwell),
        "h100_8b": percent(_error(trt, "Llama-3.1-8B, 1 H100")), "h100_70b": percent(_error(trt, "Llama-3.3-70B, 2 H100")),
        "h200_405b": percent(_error(trt, "Llama-3.1-405B, 8 H200")), "h100_405b": percent(_error(trt, "Llama-3.1-405B, 8 H100")),
        "gb200_70b": percent(_error(trt, "Llama-3.3-70B, 1 GB200")), "b200_405b": percent(_error(trt, "Llama-3.1-405B, 4 B200")), "gb200_405b": percent(_error(trt, "Llama-3.1-405B, 4 GB200")),
        "ideal_error": percent(mape(1 / row.ideal_slow - 1 for row in ideal)),
        "moe_h100": percent(_error(trt, "Qwen3-235B-A22B, 8 H100")), "maverick_h200": percent(_error(moe, "Llama-4-Maverick, 8 H200")), "maverick_b200": percent(_error(moe, "Llama-4-Maverick, 8 B200")),
        "gptfast_70b": percent(_error("gpt_fast_readme", "Llama-2-70B, float16")), "gptfast_int4": percent(_error("gpt_fast_readme", "Llama-2-70B, int4", "Llama-2-7B, int4")),
        "layer_us": pretty(named("gptfast-a100").values["layer_overhead"], "s", 2),
        "palm_prefill": percent(abs(next(row.error for row in whole().rows if row.kind == CALIBRATED and row.what.startswith("low latency, prefill")))),
        "palm_gathered": percent(abs(next(row.error for row in whole().rows if row.kind == CALIBRATED and row.what.startswith("high throughput, prefill")))),
        "ds_decode": percent(_error("sglang_large_ep_decode", "DeepSeek profile", "DeepSeek production")), "ds_prefill": percent(_error("sglang_large_ep_prefill", "DeepSeek profile")),
        "knee": percent(mape(row.error for row in whole().rows if row.kind == CALIBRATED and row.data == "h200_gemm" and "knee" in row.part and not row.fitted)),
        "gemm": percent(mape(row.error for row in whole().rows if row.kind == CALIBRATED and row.data == "h200_gemm" and "knee" not in row.part and not row.fitted)),
        "alone": percent(mape(row.error for row in from_kernels), 1), "alone_rows": str(len(from_kernels)), "alone_least": percent(min(parts.values())), "alone_most": percent(max(parts.values())),
        "nccl": percent(mape(row.error for row in whole().rows if row.kind == CALIBRATED and row.data == "h200_nccl" and not row.fitted)),
    }  # fmt: skip


def training() -> dict[str, str]:
    """Training runs and steps, memory, speculation."""
    rows = [row for row in whole().rows if row.kind == CALIBRATED]
    hours = [row for row in rows if row.data.startswith("training_gpu_hours") or row.data == "llammlein_training"]
    error = lambda data, *parts: percent(_error(data, *parts))
    held = [row.error for row in hours if row.part in ("A100, Llama 1", "A100, other makers") and not row.fitted]
    mfu, small = steps_constants(), [row for row in hours if row.part == "H100, 1 to 8 billion"]
    bubble = lambda *names: percent(mape(row.error for row in rows if row.data == "zero_bubble_pipeline" and row.part in names and not row.fitted), 1)
    schedules = ("1F1B", "1F1B-I", "ZB-1p", "ZB-2p")
    gains = [row.error for row in rows if row.data == "speculation_by_batch" and not row.fitted]
    return {
        "a100_mfu": percent(mfu["A100 runs"]), "h100_mfu": percent(mfu["H100 runs"]), "llama1": error("training_gpu_hours", "A100, Llama 1"), "a100_held": percent(mape(held)), "a100_runs": str(len(held)),
        "runs": str(len({row.what for row in hours})), "small_most": percent(max(map(abs, (row.error for row in small)))), "h100_405b_hours": error("training_gpu_hours", "H100, Llama 3 of 405 billion"),
        "ds_rate": error("deepseek_isca25_training", "DeepSeek-V3 from Llama's share"), "megatron": error("megatron_2021_table2_zero3", "tensor, pipeline and data parallel"), "zero3": error("megatron_2021_table2_zero3", "ZeRO-3"),
        "bubble_nothing": bubble(*(f"{name}, simulated" for name in schedules)), "bubble_fitted": bubble(*schedules), "pass_ms": pretty(mfu["overhead of a pass"], "s", 2),
        "zb_memory": percent(_error("zero_bubble_pipeline", "memory"), 1), "revnet": error("memcnn_revnet", "reversible"), "gains": percent(mape(gains)), "gain_rows": str(len(gains)),
        "amoeba": error("gpipe_table2", "AmoebaNet"), "codex": percent(_error("prefix_cache_hit_rates", "what the traces allow"), 1),
    }  # fmt: skip


def steps_constants() -> dict[str, float]:
    """Shares of the peak that training reaches, and what a pass costs beside."""
    return {name: constant.value for name, constant in train.constants().items()}


def bent() -> dict[str, str]:
    """What mistakes do to the three kinds of test."""
    plain, *_ = found = bends()
    by = {bend.says: bend for bend in found}
    sparse, gib = by["sparse peak for the dense one"], by["GB/s taken as GiB/s"]
    return { "sparse_share": percent(sparse.value("compute_efficiency")), "gib_share": percent(gib.value("memory_efficiency")),
        "bent_rows": str(plain.rows),
    }  # fmt: skip


def example() -> dict[str, str]:
    """The prediction that the page shows."""
    ideal, real = (predict(**EXAMPLE, calibration=name) for name in (None, "auto"))
    return {
        "example_ideal": pretty(ideal.time, "s", 2), "example_real": pretty(real.time, "s", 2), "example_times": significant(real.time / ideal.time, 2),
        "example_rent": f"{real.rent.usd_per_chip_hour:g}", "example_date": real.rent.date,
    }  # fmt: skip


EXAMPLE = {"model": "llama-3.1-70b", "chip": "h100-sxm", "chips": 8, "batch": 64, "context": 4096, "weights": "fp8", "tensor": 8}


def all() -> dict[str, str]:
    """Every number of the page's prose, by the name it is glued in under."""
    return counted() | floors() | calibrated() | training() | bent() | example()


# --- small tables ----------------------------------------------------------------------------------------------------


def mistakes() -> Page:
    """Each mistake, and what the floors, the errors and the constants say of it."""
    share = lambda bend, name: percent(bend.value(name)) + (" (at its bound)" if bend.value(name) == 1 else "")
    rows = [
        [escape(bend.says[0].upper() + bend.says[1:]), f"{bend.beaten} of {bend.rows}", percent(bend.error), share(bend, "compute_efficiency"), share(bend, "memory_efficiency")]
        for bend in bends()
    ]
    heads = ("What is wrong", "Floors beaten", "Error on rows not fitted", r"Fitted \(\eta_c\)", r"Fitted \(\eta_m\)")
    return table("Mistakes made on purpose in TensorRT-LLM's runs", heads, rows)


def formula() -> Page:
    """The predicted step with its constants, as the formula has it, in lines that fit a phone."""
    longest, fixed = notation.symbol("t_longest"), eq.fixed_time.full
    rest = eq.step_time.full.xreplace({eq.longest: longest}) - fixed - longest
    lines = [f"{latex(eq.step_time.symbol)} &= {latex(longest)}", f"&+ {latex(rest)}", f"&+ {latex(fixed)}", f"{latex(longest)} &= {latex(eq.longest)}"]
    return Page(r'<div class="tex2jax_process mathjax_process">\[\begin{aligned} ' + r" \\ ".join(lines) + r" \end{aligned}\]</div>")


def constants() -> Page:
    """Every calibration: what it is fitted on, what came out, and how far off it is there and elsewhere."""
    told = {recipe.id: (recipe.says, recipe.free, recipe.chips) for recipe in RECIPES}
    told |= {id: (named(id).says, ALL, KERNEL_CHIPS) for id in ALONE}
    rows = []
    for id, (says, free, chips) in told.items():
        mine = [row for row in whole().rows if row.kind == CALIBRATED and row.why == id]
        errors = ([row.error for row in mine if row.fitted == fitted] for fitted in (True, False))
        values = "; ".join(f"{LETTERS[name]}&nbsp;{_constant(name, named(id).values[name])}" for name in free)
        rows.append([f"<code>{id}</code>", escape(says), values, *map(_over, errors), ", ".join(chips) or "by its id alone"])
    return table("Calibrations", ("Id", "Fitted on", "Constants", "Error there, rows", "Error elsewhere, rows", "Taken by auto for"), rows)


def _over(errors: list[float]) -> str:
    """A mean error, and over how many rows."""
    return f"{percent(mape(errors))} of {len(errors)}" if errors else "–"


def _constant(name: str, value: float) -> str:
    return percent(value) if name.endswith("efficiency") else pretty(value, "s", 2)


def listed(rows: list[Row]) -> Page:
    """Rows one by one: by how much the published number differs from ours, and why."""
    number = lambda value: significant(value, 4)
    said = lambda row: row.what if row.part in row.what else f"{row.part}, {row.what}"
    off = lambda row: f"{100 * (row.published / row.computed - 1):+.1f}&nbsp;%".replace("-", "−")
    cells = [
        [f"<code>{row.data}</code><br>{escape(said(row))}", off(row), f'<div style="min-width: 16rem">{escape(row.why)}</div>', number(row.published), number(row.computed)]
        for row in rows
    ]  # fmt: skip
    return table("One by one", ("Data set, row", "Difference", "Why", "Published", "Computed"), cells)


def folded(kind: str) -> Page:
    """The whole table of a kind, folded away."""
    report = whole().of(kind)
    return Page(f"<details><summary>All {len(report.sums)} lines of this kind, <em>{kind}</em></summary>{report.table()}</details>")


