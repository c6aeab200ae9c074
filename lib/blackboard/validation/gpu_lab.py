"""GPUs measured part by part by `tools/gpu_lab.py`, and what the lessons' equations say of the same work.

A pass is one run of Llama 3.1 8B's matrices over some tokens: a decode step, a check of guesses, a prompt, or decodes
and a prompt together. `prediction.serving_equations.device_time` predicts it from the datasheet, a pause per kernel and
two shares. The pause is read off pairs of runs that differ in their kernels alone; the shares are fitted on one GPU
(`FITTED`) and tested on the other (`UNSEEN`). No engine is involved, and no public row.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from blackboard.catalogue import chip, model
from blackboard.catalogue.gpu_lab import CHIPS, Measured, only, rows
from blackboard.lessons.sparsity.equations import coverage
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.rows import mape

NAMES = {"h200": "H200", "h100-sxm": "H100"}  # of the measured GPUs, by the catalogue's ids
FITTED, UNSEEN = "h200", "h100-sxm"
MODEL, PRECISION, VALUE = "llama-3.1-8b", "bf16", 2  # bytes of a number
SHARES = ("memory_efficiency", "compute_efficiency")  # which are fitted
LEARNED_FROM = ("decoding", "prefilling", "mixing")  # parts of the fitted GPU; the guesses it has not seen either
HEAD = 128  # numbers of a head of the network that is trained
DROPOUT_MASKS = 2  # bytes for each number of a token's vector that training without dropout does not keep

PARTS = ("decoding", "verifying", "prefilling", "mixing")

# --- passes -----------------------------------------------------------------------------------------------------------


class Pass(NamedTuple):
    """One captured pass: `tokens` of each of `batch` sequences at a context, and a prompt of so many tokens."""

    chip: str
    part: str
    way: str
    batch: int
    tokens: int
    context: int
    prompt: int
    parameters: int
    seconds: float

    @property
    def case(self) -> tuple[Any, ...]:
        """The pass, whichever GPU runs it."""
        return self[1:-1]


def _pass(chip_id: str, row: Measured) -> Pass:
    lone = row["part"] == "prefilling"
    prompt, batch = (row["tokens"], 0) if lone else (row.get("prompt", 0), row["batch"])
    tokens, context = (row.get("tokens", 1), row["context"]) if batch else (0, 0)
    sizes = (batch, tokens, context, prompt, row["parameters"])
    return Pass(chip_id, row["part"], row.get("way", "fused"), *sizes, row["seconds"])


@cache
def passes(chip_id: str) -> tuple[Pass, ...]:
    """All passes of a GPU that the host did not launch kernel by kernel."""
    return tuple(_pass(chip_id, r) for part in PARTS for r in rows(chip_id, part) if r.get("way") != "eager")


@cache
def kernels() -> dict[tuple[Any, ...], int]:
    """Kernels of each pass, as counted on the fitted GPU: they are the program's, and the other's were not counted."""
    counted = (row for part in PARTS for row in rows(FITTED, part))
    return {_pass(FITTED, row).case: row["kernels"] for row in counted}


def work(p: Pass, precision: str = PRECISION) -> dict[str, float]:
    """The seconds that the datasheet's chip would need for each part of a pass, and its kernels, by symbol."""
    net, at = model(MODEL), chip(p.chip)
    flops, bandwidth = at.flops(precision), at.bandwidth
    head = net.d_model * net.vocab
    made, sent = p.batch * p.tokens + p.prompt, p.batch * p.tokens + (p.prompt > 0)
    pair = 4 * net.layers * net.d_model  # FLOPs of one token that attends to one other, all heads and layers
    return {
        "shared_read": VALUE * p.parameters / bandwidth,
        "shared_multiply": 2 * ((p.parameters - head) * made + head * sent) / flops,
        "cache_read": p.batch * p.context * net.kv_bytes_per_token(precision) / bandwidth,
        "cache_multiply": p.batch * p.tokens * p.context * pair / flops,
        "prompt_attend": p.prompt**2 / 2 * pair / flops,
        "captured": kernels()[p.case],
    } | dict.fromkeys(("expert_read", "expert_multiply", "link_busy", "collectives"), 0.0)


def bound(p: Pass) -> float:
    """The roofline of a pass, s: all bytes at the datasheet's bandwidth or all FLOPs at its rate."""
    w = work(p)
    return max(w["shared_read"] + w["cache_read"], w["shared_multiply"] + w["cache_multiply"] + w["prompt_attend"])


def _stacked(some: Sequence[Pass]) -> dict[str, Any]:
    found = [work(p) for p in some]
    return {name: np.array([each[name] for each in found]) for name in found[0]}


@cache
def pauses(chip_id: str) -> dict[int, float]:
    """Seconds per kernel that a graph saves where vectors' kernels are fused, by batch: nothing else differs."""
    found = {}
    for plain in rows(chip_id, "decoding", way="captured"):
        case = {"batch": plain["batch"], "context": plain["context"]}
        fused = only(chip_id, "decoding", way="fused", **case)
        found[plain["batch"]] = (plain["seconds"] - fused["seconds"]) / (plain["kernels"] - fused["kernels"])
    return found


@cache
def constants(chip_id: str = FITTED) -> dict[str, float]:
    """The pause, a median over batches, and two shares by least squares of the relative error over fused passes."""
    pause = statistics.median(pauses(chip_id).values())
    seen = [p for p in passes(chip_id) if p.part in LEARNED_FROM and p.way == "fused"]
    stacked, seconds = _stacked(seen), np.array([p.seconds for p in seen])
    values = lambda shares: {**dict(zip(SHARES, map(float, shares))), "gap_time": pause}
    errors = lambda shares: np.log(eq.device_time(stacked, calibration=values(shares)) / seconds)
    return values(least_squares(errors, (0.8, 0.6)).x)


def predicted(p: Pass) -> float:
    """Seconds of a pass by the datasheet and the three constants."""
    return float(eq.device_time(work(p), calibration=constants()))


class Slice(NamedTuple):
    """The passes of one kind on one GPU: how many, how far above the bound, and how well predicted."""

    chip: str
    part: str
    count: int  # type: ignore[assignment]  # a tuple's own count is not needed
    least: float  # measured divided by bound
    most: float
    error: float  # mean absolute relative error of the prediction
    bias: float
    worst: float
    fitted: bool


def compared(chip_id: str) -> list[Pass]:
    """The passes of the comparison: to check one token alone is to decode once more, so that does not count."""
    return [p for p in passes(chip_id) if p.part != "verifying" or p.tokens > 1]


def slices() -> list[Slice]:
    """The error by kind of pass and GPU."""
    found = []
    for chip_id in CHIPS:
        for part in PARTS:
            some = [p for p in compared(chip_id) if p.part == part]
            slow, off = [p.seconds / bound(p) for p in some], [predicted(p) / p.seconds - 1 for p in some]
            seen = chip_id == FITTED and part in LEARNED_FROM
            errors = (mape(off), statistics.mean(off), max(off, key=abs))
            found.append(Slice(chip_id, part, len(some), min(slow), max(slow), *errors, seen))
    return found


def unseen_errors() -> dict[str, float]:
    """Mean absolute relative errors on the GPU that was not fitted: of the prediction, and of two simpler guesses."""
    same = {p.case: p for p in passes(FITTED)}
    scaled = lambda p: same[p.case].seconds * bound(p) / bound(same[p.case])
    guesses = {"predicted": predicted, "same time": lambda p: same[p.case].seconds, "scaled by the bound": scaled}
    return {name: mape(guess(p) / p.seconds - 1 for p in compared(UNSEEN)) for name, guess in guesses.items()}


def cache_share(chip_id: str) -> tuple[float, float]:
    """The least and the largest share of the bandwidth at which attention alone loads caches of 2 GB or more."""
    net, at = model(MODEL), chip(chip_id)
    found = []
    for row in rows(chip_id, "decoding", way="fused"):
        size = row["batch"] * row["context"] * net.kv_bytes_per_token(PRECISION)
        if size >= 2e9:
            found.append(size / row["attention_seconds"] / at.bandwidth)
    return min(found), max(found)


# --- experts ----------------------------------------------------------------------------------------------------------


def touched(tokens: Any, row: Measured) -> Any:
    """How many experts so many tokens touch, if each chooses at random."""
    return row["experts"] * coverage(batch=tokens, top_k=row["top_k"], experts=row["experts"])


def expert_seconds(chip_id: str, count: Any) -> Any:
    """The time to load so many experts, s, at the rate at which this GPU loads all of them for 256 tokens."""
    return (
        count
        * VALUE
        * rows(chip_id, "experts")[0]["expert_parameters"]
        / (expert_share(chip_id) * chip(chip_id).bandwidth)
    )


def expert_share(chip_id: str) -> float:
    """The share of the datasheet's bandwidth at which all experts are loaded."""
    row = next(row for row in rows(chip_id, "experts") if row["touched"] == row["experts"])
    return row["experts"] * VALUE * row["expert_parameters"] / row["seconds"] / chip(chip_id).bandwidth


# --- training ---------------------------------------------------------------------------------------------------------


def kept_per_layer(chip_id: str, way: str) -> float:
    """Bytes that each further layer adds to what training holds, for one token."""
    some = rows(chip_id, "training", way=way)
    first, last = some[0], some[-1]
    tokens = first["sequence"] * first["batch"]
    return (last["peak_bytes"] - first["peak_bytes"]) / (last["depth"] - first["depth"]) / tokens
