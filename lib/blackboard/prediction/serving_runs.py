"""Published serving runs as cases: a layout, the work of one step, and the time that the step took.

A run at full load is taken in its steady state: as many requests are under way as the cache has room for, each at half
of its answer, and with every request that ends another prompt is taken in, so that a step does a little of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from blackboard import catalogue
from blackboard.catalogue import Chip, Model, measurement
from blackboard.lessons.overheads.implied import GPT_FAST
from blackboard.prediction.layout import Layout
from blackboard.prediction.step import Work, decoding, prefilling

MODELS = {
    "Llama-3.3-70B": "llama-3.1-70b",
    "Llama-3.1-405B": "llama-3.1-405b",
    "Llama-3.1-8B": "llama-3.1-8b",
    "Qwen3-235B-A22B": "qwen3-235b-a22b",
    "Qwen3-30B-A3B": "qwen3-30b-a3b",
    "Llama-4-Maverick": "llama-4-maverick",
    "DeepSeek-R1": "deepseek-r1",
    "DeepSeek-V3.2": "deepseek-v3.2",
    "Llama-2-7B": "llama-2-7b",
    "Llama-2-70B": "llama-2-70b",
}
CHIPS = {
    "B200": "b200",
    "GB200": "gb200-nvl72",
    "GB300": "gb300-nvl72",
    "H200": "h200",
    "H100": "h100-sxm",
    "H800": "h800",
}
FORMATS = {"NVFP4": "fp4", "NVFP4 and FP8": "fp4", "float16": "bf16", "int4": "fp4"}  # int4 takes as many bytes as fp4
NODE = 8  # chips


class Case(NamedTuple):
    """One row of a data set: what a step of it does, and how long it took."""

    data: str
    part: str
    what: str
    layout: Layout
    work: Work
    weights: str
    compute: str
    measured: float  # s a step
    unit: str
    published: float
    most: Work | None = None  # what the fastest engine could do in a step, if it is not `work`
    steps: float = 1.0  # of a published time
    sends: bool = (
        True  # whether the bound counts exchanges: not where the chips are cut in a way that sends less than our layout
    )

    @property
    def rate(self) -> bool:
        return "/s" in self.unit


def rated(
    data: str,
    part: str,
    what: str,
    layout: Layout,
    work: Work,
    formats: tuple[str, str],
    unit: str,
    published: float,
    tokens: float,
    most: Work | None = None,
) -> Case:
    """A case whose row has a rate: `tokens` of a step, in what the rate counts."""
    return Case(data, part, what, layout, work, *formats, tokens / published, unit, published, most)


# --- TensorRT-LLM at full load ---------------------------------------------------------------------------------------

KV = "fp8"  # of the quantized checkpoints; with bf16 the bound would be beaten (tests)
ROOM = 0.9  # of what weights leave free, for the cache; the page says 0.90 to 0.95


def requests(row: dict) -> int:
    """Requests that a run had."""
    (found,) = measurement("trtllm_v1_0_requests").records(
        input_tokens=row["input_tokens"], output_tokens=row["output_tokens"]
    )
    return found["requests"]


def steady(layout: Layout, batch: float, prompt: float, answer: float, kv: str, prompts: bool = True) -> Work:
    """A step at full load: each sequence is at half of its answer on average, and a share of a prompt is taken in,
    unless `prompts` is False.
    """
    model = layout.model
    answers = decoding(model, batch, prompt + answer / 2, kv)
    return (answers + prefilling(model, batch / answer, prompt, kv))._replace(sequences=batch) if prompts else answers


def held(layout: Layout, weights: str, tokens: float, kv: str, room: float) -> float:
    """Sequences of so many tokens that the free memory holds."""
    free = layout.chip.hbm_bytes - sum(layout.weights_per_chip(weights).values())
    return room * free / layout.cache_per_chip(layout.ranks, tokens, kv) * layout.ranks


Swap = Callable[[Model, Chip], tuple[Model, Chip]]  # another model and chip in the place of those that ran


def trtllm_layout(row: dict, swap: Swap | None = None) -> Layout:
    """Dense models are cut by tensor parallelism; mixtures of experts have attention data-parallel and experts dealt
    out.
    """
    model, chip, gpus = catalogue.model(MODELS[row["model"]]), catalogue.chip(CHIPS[row["chip"]]), row["gpus"]
    model, chip = swap(model, chip) if swap else (model, chip)
    tensor, expert = (1, gpus) if model.moe else (gpus, 1)
    return Layout(model, chip, gpus, tensor, expert)


@cache
def trtllm(kv: str = KV, swap: Swap | None = None, prompts: bool = True) -> tuple[Case, ...]:
    """Every row: the engine reserves room for a whole request; the ideal one has all memory and needs room for half
    the answer.
    """
    return tuple(
        _trtllm(data, row, kv, swap, prompts)
        for data in ("trtllm_v1_0_throughput", "trtllm_v1_0_moe")
        for row in measurement(data).records()
    )


def _trtllm(data: str, row: dict, kv: str, swap: Swap | None, prompts: bool) -> Case:
    layout, prompt, answer, weights = (
        trtllm_layout(row, swap),
        row["input_tokens"],
        row["output_tokens"],
        row["weights"],
    )
    batch = min(requests(row), held(layout, weights, prompt + answer, kv, ROOM))
    most = min(requests(row), held(layout, weights, prompt + answer / 2, kv, 1))
    machine = f"{row['gpus']} {row['chip']}"
    what = f"{row['model']}, {machine}, {prompt:,} in, {answer:,} out"
    work, best = (steady(layout, size, prompt, answer, kv, prompts) for size in (batch, most))
    return rated(
        data,
        f"{row['model']}, {machine}",
        what,
        layout,
        work,
        (weights, weights),
        "token/s",
        row["throughput_token_per_s"],
        batch,
        best,
    )


# --- DeepSeek on many chips ------------------------------------------------------------------------------------------


def _wide(row: dict, chips: int, expert: int) -> Layout:
    return Layout(catalogue.model("deepseek-v3"), catalogue.chip(CHIPS[row["chip"]]), chips, 1, expert)


@cache
def sglang() -> tuple[Case, ...]:
    """Decode and prefill of DeepSeek-V3 per node. Not the rows that simulate MTP: their steps are not those of the
    model.
    """
    cases = []
    for row in measurement("sglang_large_ep_decode").records():
        if "MTP" not in row["system"]:
            chips = row["nodes"] * NODE
            layout, batch = _wide(row, chips, row["expert_parallel"]), row["batch_per_gpu"] * chips
            what = (
                f"{row['system']}, {chips} {row['chip']}, {row['batch_per_gpu']} sequences a GPU,"
                f" {row['context_tokens']:,} tokens"
            )
            work = decoding(layout.model, batch, row["context_tokens"], "bf16")
            most = decoding(layout.model, batch, row["context_tokens"], "fp8")  # what format the cache had is not said
            cases.append(
                rated(
                    "sglang_large_ep_decode",
                    row["system"].removesuffix(", two-batch overlap"),
                    what,
                    layout,
                    work,
                    ("fp8", "fp8"),
                    "token/s",
                    row["node_token_per_s"],
                    batch / row["nodes"],
                    most,
                )
            )
    return (*cases, *_prefills())


PREFILL_TOKENS = 16_384  # a GPU and step; the note of the data set


def _prefills() -> Iterator[Case]:
    for row in measurement("sglang_large_ep_prefill").records():
        chips = row["expert_parallel"]
        layout, prompts = _wide(row, chips, chips), chips * PREFILL_TOKENS / row["prompt_tokens"]
        what = f"{row['system']}, {chips} {row['chip']}, prompts of {row['prompt_tokens']:,}"
        work = prefilling(layout.model, prompts, row["prompt_tokens"], "bf16")
        yield rated(
            "sglang_large_ep_prefill",
            row["system"],
            what,
            layout,
            work,
            ("fp8", "fp8"),
            "token/s",
            row["node_token_per_s"],
            work.tokens * NODE / chips,
        )


@cache
def wide_ep() -> tuple[Case, ...]:
    """vLLM on GB200 and GB300: batches are not stated, so that the largest that fits is taken."""
    cases = []
    for row in measurement("vllm_wide_ep").records():
        layout = Layout(
            catalogue.model(MODELS[row["model"]]), catalogue.chip(CHIPS[row["chip"]]), row["gpus"], 1, row["gpus"]
        )
        prompt, answer, weights = row["input_tokens"], row["output_tokens"], FORMATS[row["weights"]]
        batch = held(layout, weights, prompt + answer / 2, "fp8", 1)
        work = {
            "prefill": lambda: prefilling(layout.model, batch, prompt, "fp8"),
            "decode": lambda: decoding(layout.model, batch, prompt + answer / 2, "fp8"),
            "mixed": lambda: steady(layout, batch, prompt, answer, "fp8"),
        }[row["phase"]]()
        tokens = work.tokens if row["phase"] == "prefill" else batch
        what = f"{row['model']}, {row['gpus']} {row['chip']}, {prompt:,} in, {answer:,} out"
        cases.append(
            rated(
                "vllm_wide_ep",
                row["phase"],
                what,
                layout,
                work,
                (weights, weights),
                "token/s/chip",
                row["throughput_token_per_GPU_per_s"],
                tokens / row["gpus"],
            )
        )
    return tuple(cases)


# --- one sequence ----------------------------------------------------------------------------------------------------


@cache
def gpt_fast() -> tuple[Case, ...]:
    """Llama 2 at batch 1 on A100, captured, at the context of the overheads lesson."""
    cases = []
    for row in measurement("gpt_fast_readme").records():
        layout = Layout(catalogue.model(MODELS[row["model"]]), catalogue.chip("a100-80gb"), row["gpus"], row["gpus"])
        work, weights = decoding(layout.model, 1, GPT_FAST.context, "bf16"), FORMATS.get(row["weights"], row["weights"])
        what = f"{row['gpus']} A100, {row['weights']}"
        cases.append(
            rated(
                "gpt_fast_readme",
                f"{row['model']}, {row['weights']}",
                what,
                layout,
                work,
                (weights, "bf16"),
                "token/s",
                row["throughput_token_per_s"],
                1,
            )
        )
    return tuple(cases)


@cache
def r1_latency() -> tuple[Case, ...]:
    """DeepSeek-R1 on 8 B200 at batch 1, before tokens are drafted; 1,000 tokens in and 2,000 out."""
    cases = []
    for row in measurement("trtllm_r1_latency_steps").records()[:5]:
        layout = Layout(catalogue.model("deepseek-r1"), catalogue.chip("b200"), NODE, NODE)
        work = decoding(layout.model, 1, 2_000, "bf16")
        cases.append(
            rated(
                "trtllm_r1_latency_steps",
                "before drafting",
                row["step"],
                layout,
                work,
                ("fp4", "fp4"),
                "token/s",
                row["throughput_token_per_s"],
                1,
            )
        )
    return tuple(cases)


@cache
def long_contexts() -> tuple[Case, ...]:
    """DeepSeek-V3 on two nodes of H200, two sequences a GPU at half of their answers; the note of the data set.
    Without drafts.
    """
    layout = Layout(catalogue.model("deepseek-v3"), catalogue.chip("h200"), 2 * NODE, 1, 2 * NODE)
    batch, context, rows = 2 * layout.chips, 65_536 + 4_096 / 2, measurement("sglang_mtp").records(drafted_tokens=0)
    work, most = (decoding(layout.model, batch, context, kv) for kv in ("bf16", "fp8"))
    return tuple(
        rated(
            "sglang_mtp",
            "two sequences a GPU",
            row["setting"],
            layout,
            work,
            ("fp8", "fp8"),
            "token/s/chip",
            row["throughput_token_per_GPU_per_s"],
            batch / layout.chips,
            most,
        )
        for row in rows
    )


# --- PaLM on 64 TPU v4 -----------------------------------------------------------------------------------------------


@cache
def palm() -> tuple[Case, ...]:
    """Attention by batch deals the cache out over all chips; the paper's ways of cutting matrices in two directions
    send less than ours.
    """
    return (*_palm_scenarios(), *_palm_steps())


def _palm_scenarios() -> list[Case]:
    cases = []
    for row in measurement("pope_table2_palm540b").records():
        layout = Layout(
            catalogue.model("palm-540b"), catalogue.chip("tpu-v4"), row["chips"], row["chips"], cache="tokens"
        )
        prefill = row["phase"] == "prefill"
        work = (prefilling if prefill else decoding)(layout.model, row["batch"], 2_048, "bf16")
        steps = 1 if prefill else row["sequence_tokens"]
        what = f"{row['scenario']}, {row['phase']}, batch {row['batch']}"
        cases.append(
            Case(
                "pope_table2_palm540b",
                row["phase"],
                what,
                layout,
                work,
                row["weights"],
                "bf16",
                row["latency_s"] / steps,
                "s",
                row["latency_s"],
                steps=steps,
                sends=False,
            )
        )
    return cases


def _palm_steps() -> list[Case]:
    cases = []
    for row in measurement("pope_decode_latency").records():
        layout = Layout(catalogue.model("palm-540b"), catalogue.chip("tpu-v4"), 64, 64, cache="tokens")
        work = decoding(layout.model, row["batch"], 2_048, "bf16")
        cases.append(
            Case(
                "pope_decode_latency",
                "decode",
                f"{row['weights']}, batch {row['batch']}",
                layout,
                work,
                row["weights"],
                "bf16",
                row["step_ms"] / 1e3,
                "s",
                row["step_ms"] / 1e3,
                sends=False,
            )
        )
    return cases


def cases() -> tuple[Case, ...]:
    """All serving runs that state enough for a step to be computed."""
    return (*trtllm(), *sglang(), *wide_ep(), *gpt_fast(), *r1_latency(), *long_contexts(), *palm())
