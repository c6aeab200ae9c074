"""Steps of training against what was published: rates and times of Megatron-LM, Llama 3, DeepSeek-V3, and schedules of
pipelines.

A constant is a geometric mean over a named slice, so that it is off by as much one way as the other. Work counts
attention, to half of a causal sequence on average, where a model's heads and sequences are published.
"""

from __future__ import annotations

from functools import cache
from statistics import geometric_mean
from typing import Any

from blackboard.catalogue import chip, measurement
from blackboard.lessons.corpus.equations import step_tokens
from blackboard.lessons.overtraining.equations import pretrain_compute, training_time
from blackboard.lessons.pipelining.equations import bubble, interleaved_bubble
from blackboard.lessons.pipelining.numbers import compared
from blackboard.lessons.pipelining.simulation import Comparison
from blackboard.lessons.pricing.equations import attention_of_heads, context_flop
from blackboard.lessons.racks.equations import exchange_time
from blackboard.lessons.reversibility.equations import work_ratio
from blackboard.lessons.reversibility.simulation import MATRICES, SEQUENCE, VALUE
from blackboard.prediction.least_squares import Constant
from blackboard.prediction.rows import BOUND, CALIBRATED, Row, bound_and_calibrated, formula_names
from blackboard.units import factor

Record = dict[str, Any]
TERA, DAY = factor("TFLOP"), factor("day")
RATE = "compute_TFLOP_per_GPU_per_s"
MEGATRON, MEGATRON_2, LLAMA = "megatron_2021_table1", "megatron_2021_table2_zero3", "llama3_405b_parallelism"
GPTS, DEEPSEEK, SCHEDULES = "korthikanti_iteration_times", "deepseek_isca25_training", "zero_bubble_pipeline"
HEADS = ("layers", "query_heads", "head_dim")


# --- work -------------------------------------------------------------------------------------------------------------


def weighed(n_active: float, shape: Record | None) -> float:
    """Parameters that are as much work as the model's own and its attention, for the mean token of a causal
    sequence.
    """
    if not shape:
        return n_active
    attention = attention_of_heads(**{name: shape[name] for name in HEADS})
    return n_active * (1 + shape["sequence_tokens"] / 2 / context_flop(n_active=n_active, attention_flop=attention))


def shape(name: str) -> Record | None:
    """Layers, heads and sequence of a model, where they are published."""
    found = measurement("training_shapes").records(model=name)
    return found[0] if found else None


SPENT = (training_time, context_flop, attention_of_heads)  # what hours and step times come from


# --- rates ------------------------------------------------------------------------------------------------------------


def a100() -> float:
    """BF16 peak, TFLOP/s."""
    return chip("a100-80gb").flops("bf16") / TERA


def said(row: Record) -> str:
    """A row of Megatron-LM's tables."""
    return f"{row['n_total'] / 1e9:.4g} billion on {row['gpus']}"


def megatron_rows() -> list[Row]:
    """Rates of Megatron-LM on A100, with activations computed twice: one share of the peak, fitted on Table 1."""
    share = constants()["A100 steps"].value
    more: dict[str, Any] = {"rate": True, "part": "tensor, pipeline and data parallel"}
    found = [(MEGATRON, row) for row in measurement(MEGATRON).records()]
    found += [(MEGATRON_2, row) for row in measurement(MEGATRON_2).records(scheme="PTD-P")]
    pairs = (
        bound_and_calibrated(data, said(row), "TFLOP/s", row[RATE], a100(), share * a100(), data == MEGATRON, **more)
        for data, row in found
    )
    return [row for pair in pairs for row in pair]


def sharded_rows() -> list[Row]:
    """Rates of ZeRO-3: the slower of multiplying and sending, with one share of the machine's network."""
    share, link, rows = constants()["A100 steps"].value, constants()["ZeRO-3 network"].value, []
    why = (
        "every step gathers all weights twice and scatters their gradients once, while it multiplies; Megatron's share"
        " of the peak"
    )
    more: dict[str, Any] = {
        "rate": True,
        "part": "ZeRO-3",
        "formulas": formula_names(pretrain_compute, work_ratio, exchange_time),
    }
    for row in measurement(MEGATRON_2).records(scheme="ZeRO-3"):
        ideal, computed = min(a100(), sent_rate(row)), min(share * a100(), sent_rate(row, link))
        rows += bound_and_calibrated(
            MEGATRON_2, said(row), "TFLOP/s", row[RATE], ideal, computed, sends(row), why, **more
        )
    return rows


def sends(row: Record) -> bool:
    """Rows of ZeRO-3 that its constant comes from: 175 billion parameters, on so many GPUs that they wait for the
    network.
    """
    return row["n_total"] < 5e11 and row["gpus"] > 384


def sent_rate(row: Record, share: float = 1) -> float:
    """TFLOP/s per GPU at which ZeRO-3 multiplies if it only waits for a machine's network cards, used to this share."""
    machine, tokens = chip("a100-80gb"), step_tokens(batch=row["batch"], context=SEQUENCE)
    link = (
        machine.scale_up.domain_chips * machine.scale_out.bytes_per_s
    )  # a ring through a machine's GPUs leaves it by all of its cards
    sent = {"start_time": 0, "message": 3 * VALUE * row["n_total"], "chips": row["gpus"], "scale_up": link}
    time = exchange_time(sent, calibration={"link_efficiency": share})
    work = pretrain_compute(n_active=row["n_total"], pretrain_tokens=tokens) * work_ratio(recomputed=1)
    return work / row["gpus"] / time / TERA


def hopper_rows() -> list[Row]:
    """Rates of Llama 3 405B and DeepSeek-V3 on Hopper, from one share of the BF16 peak, that of Llama's steps of 8,192
    tokens.
    """
    share, peak, rows = constants()["H100 steps"].value, chip("h100-sxm").flops("bf16"), []
    for row in measurement(LLAMA).records():
        what, part = (
            f"{row['gpus']} GPUs, {row['sequence_tokens']:,} tokens",
            f"sequences of {row['sequence_tokens']:,} tokens",
        )
        fitted = row["sequence_tokens"] == 8192
        rows += bound_and_calibrated(
            LLAMA, what, "TFLOP/s", row[RATE], peak / TERA, share * peak / TERA, fitted, rate=True, part=part
        )
    [run] = measurement("deepseek_v3_training").records()
    weight = weighed(run["n_active"], shape("DeepSeek-V3"))
    for row in measurement(DEEPSEEK).records():
        rate, part = row["throughput_token_per_day"], "DeepSeek-V3 from Llama's share"
        more: dict[str, Any] = {"rate": True, "part": part, "formulas": formula_names(*SPENT)}
        days = lambda peak, mfu: (
            training_time(n_active=weight, pretrain_tokens=rate, chip_flops=peak, train_mfu=mfu) / row["gpus"] / DAY
        )
        ideal, computed = rate / days(chip("h800").flops("fp8"), 1), rate / days(peak, share)
        why = "a share of the BF16 peak, though it multiplies in FP8"
        rows += bound_and_calibrated(DEEPSEEK, row["network"], "token/day", rate, ideal, computed, why=why, **more)
    return rows


def report_rows() -> list[Row]:
    """Shares of peaks stay below one."""
    return [
        Row(
            BOUND,
            "training_mfu_reports",
            f"{row['model']}, {row['counts']}",
            "1",
            row["mfu"],
            1,
            rate=True,
            part="shares of the peak",
        )
        for row in measurement("training_mfu_reports").records()
    ]


# --- times ------------------------------------------------------------------------------------------------------------


def gpt_time(row: Record, recomputed: float, mfu: float = 1) -> float:
    """Seconds of a step of a GPT on A100, with its schedule's bubble; the embedding and what selective recomputation
    repeats are left out.
    """
    heads = dict(
        zip((*HEADS, "sequence_tokens"), (row["layers"], row["heads"], row["d_model"] / row["heads"], SEQUENCE))
    )
    weight, tokens = (
        weighed(MATRICES * row["layers"] * row["d_model"] ** 2, heads),
        step_tokens(batch=row["batch"], context=SEQUENCE),
    )
    spent = (
        training_time(n_active=weight, pretrain_tokens=tokens, chip_flops=a100() * TERA, train_mfu=mfu) / row["gpus"]
    )
    stages, many = row["pipeline_parallel"], row["batch"] / row["microbatch_size"]
    waits = interleaved_bubble(stages=stages, micro_batches=many, chunks=row["interleave"]) if stages > 1 else 0
    return spent * work_ratio(recomputed=recomputed) / (1 - waits)


def gpt_rows() -> list[Row]:
    """One share of the peak for four sizes, and full recomputation from each model's own selective step."""
    share, rows = constants()["A100 steps without recomputation"].value, []
    more: dict[str, Any] = {"formulas": formula_names(*SPENT, interleaved_bubble, work_ratio)}
    for row in measurement(GPTS).records():
        for name, again in (("selective", 0), ("full", 1)):
            head, ideal = (GPTS, f"{row['model']}, {name}", "s", row[f"{name}_recompute_s"]), gpt_time(row, again)
            why = (
                "small matrices use the multipliers worse, and tensor parallelism is not counted"
                if row["model"] == "22B"
                else ""
            )
            rows += bound_and_calibrated(
                *head,
                ideal,
                gpt_time(row, again, share),
                row["model"] == "175B" and not again,
                why,
                part="one share of the peak",
                **more,
            )
        own = gpt_time(row, 0) / row["selective_recompute_s"]
        rows.append(
            Row(
                CALIBRATED,
                *head,
                gpt_time(row, 1, own),
                part="full from the same model's selective",
                ideal=ideal,
                **more,
            )
        )
    return rows


def passes(row: Comparison) -> int:
    """Passes that a device runs in a step."""
    return len(row.run.rows[0])


def left_over(row: Comparison) -> float:
    """Seconds of a measured step beyond the simulated one, for each pass."""
    return row.run.period * (row.throughput / row.measured_throughput - 1) / passes(row)


def schedule_rows() -> list[Row]:
    """Throughput of four schedules: simulated from profiled times with nothing fitted, and with one overhead for each
    pass.
    """
    rows, wait = [], constants()["overhead of a pass"].value
    for row in compared():
        head = (
            SCHEDULES,
            f"{row.model}, {row.schedule}, {row.micro_batches} micro-batches",
            "sequence/s/GPU",
            row.measured_throughput,
        )
        slower = row.throughput * row.run.period / (row.run.period + wait * passes(row))
        why = "simulated from the profiled times of one stage, nothing fitted"
        rows += bound_and_calibrated(
            *head, row.throughput, row.throughput, why=why, rate=True, part=f"{row.schedule}, simulated"
        )
        more: dict[str, Any] = {
            "fitted": row.model == "1.5B",
            "ideal": row.throughput,
            "why": "simulated, and an overhead for each pass",
        }
        rows.append(Row(CALIBRATED, *head, slower, rate=True, part=row.schedule, **more))
    return rows


def gpipe_rows() -> list[Row]:
    """GPipe with 32 micro-batches against the bubble: rows with fewer do other work, as the data set says."""
    rate = lambda stages, many: stages * (1 - bubble(stages=stages, micro_batches=many))
    rows = []
    for row in measurement("gpipe_table2").records(microbatches=32):
        ideal = rate(row["stages"], row["microbatches"]) / rate(2, 1)  # the row that counts one
        uneven = "; its layers are uneven, and stages wait for the slowest" if row["model"] == "AmoebaNet" else ""
        head = ("gpipe_table2", f"{row['model']}, {row['stages']} stages", "1", row["throughput_ratio"])
        more: dict[str, Any] = {"rate": True, "part": row["model"], "formulas": formula_names(bubble)}
        rows += bound_and_calibrated(*head, ideal, ideal, why=f"the bubble alone, nothing fitted{uneven}", **more)
    return rows


# --- all --------------------------------------------------------------------------------------------------------------


@cache
def constants() -> dict[str, Constant]:
    """What is fitted on steps, by name, each from its slice alone."""
    llama, zero = measurement(LLAMA).records(sequence_tokens=8192), measurement(MEGATRON_2).records(scheme="ZeRO-3")
    [gpt] = measurement(GPTS).records(model="175B")
    h100 = chip("h100-sxm").flops("bf16") / TERA
    fit = lambda name, values, data, slice, unit="1": Constant(name, geometric_mean(values), unit, data, slice)
    selective = [gpt_time(gpt, 0) / gpt["selective_recompute_s"]]
    waits = [left_over(row) for row in compared() if row.model == "1.5B"]
    sent = [row[RATE] / sent_rate(row) for row in zero if sends(row)]
    return {
        "A100 steps": fit(
            "compute_efficiency", [row[RATE] / a100() for row in measurement(MEGATRON).records()], MEGATRON, "all rows"
        ),
        "H100 steps": fit(
            "compute_efficiency", [row[RATE] / h100 for row in llama], LLAMA, "sequences of 8,192 tokens"
        ),
        "A100 steps without recomputation": fit("compute_efficiency", selective, GPTS, "175B, selective"),
        "ZeRO-3 network": fit("link_efficiency", sent, MEGATRON_2, "ZeRO-3 of 175 billion on 768 and 1,536"),
        "overhead of a pass": fit("overhead", waits, SCHEDULES, "model of 1.5 billion", "s"),
    }


@cache
def rows() -> list[Row]:
    """All rows of steps."""
    parts = (megatron_rows(), sharded_rows(), hopper_rows(), report_rows(), gpt_rows(), schedule_rows(), gpipe_rows())
    return [row for part in parts for row in part]
