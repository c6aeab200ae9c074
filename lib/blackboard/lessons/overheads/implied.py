"""What published figures say when the lesson's formulas and counted kernels are held against them.

Cases are dictionaries of values by notation name, to be given to `formula(CASE, batch=…)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from blackboard import catalogue, units
from blackboard.catalogue import measurement
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import kernels
from blackboard.lessons.overheads.kernels import FUSABLE, Plan, times
from blackboard.lessons.racks import equations as racks

US = units.factor("us")


def period(who: str, graph: bool) -> float:
    """Seconds from kernel to kernel that somebody published, from a stream or inside a graph."""
    rows = [row for row in measurement("launch_costs").records(who=who) if ("graph" in row["how"]) == graph]
    return min(row["period_us"] for row in rows) * US


def replay() -> float:
    """Seconds of the host to launch a graph, whatever its length; CUDA 12.6."""
    (row,) = measurement("graph_launch_costs").records(cuda="12.6")
    return row["constant_us"] * US


# --- the question: 25.5 tokens a second, and 107 ----------------------------------------------------------------------

GPT_FAST = Plan(context=100, copies=True)  # a prompt of 5 tokens, 200 more: 105 on average


class Decoded(NamedTuple):
    """Llama 2 7B at batch 1 on an A100: measured steps, s, kernels counted, and what follows."""

    eager: float
    graph: float
    kernels: int  # an operation a kernel
    fused: int
    weights: float  # bytes of all parameters
    floor: float  # s to read them once at the datasheet's bandwidth

    @property
    def each(self) -> float:
        """Seconds of host for a kernel, if all of the eager step is launching."""
        return self.eager / self.kernels

    @property
    def idle(self) -> float:
        """Share of the eager step in which the device would wait, if its kernels took what the captured step takes."""
        return 1 - self.graph / self.eager


@cache
def gpt_fast() -> Decoded:
    """gpt-fast's first row, and the captured step of its repository, against its own code, counted."""
    [plain_rate] = measurement("gpt_fast_steps").records(step="eager")
    [fast_rate] = measurement("gpt_fast_readme").records(model="Llama-2-7B", weights="float16", gpus=1)
    plain, fast = (read("llama-2-7b", GPT_FAST) for read in (kernels.eager, kernels.fused))
    weights = bytes_per_param("bf16") * catalogue.model("llama-2-7b").n_total
    return Decoded(
        1 / plain_rate["throughput_token_per_s"],
        1 / fast_rate["throughput_token_per_s"],
        len(plain),
        len(fast),
        weights,
        weights / catalogue.chip("a100-80gb").bandwidth,
    )


# --- cases ------------------------------------------------------------------------------------------------------------


@cache
def _llama(chips: int) -> dict[str, float]:
    model, chip = catalogue.model("llama-2-7b"), catalogue.chip("a100-80gb")
    count, found = (
        len(kernels.eager("llama-2-7b", Plan(context=GPT_FAST.context, copies=True, chips=chips))),
        gpt_fast(),
    )
    rates = {
        "flops": chips * chip.flops("bf16"),
        "bandwidth": chips * chip.bandwidth,
        "hbm": chips * chip.hbm_bytes,
        "chips": float(chips),
    }
    gap = round(left_over()[0].each, 7)  # as the page prints it
    host = {"kernels": count, "launch_time": found.each, "kernel_gap": gap, "replay_time": replay()}
    return model.symbols("bf16") | rates | host | {"context": 1_000.0, "chip_bandwidth": chip.bandwidth}


def llama(chips: int = 1) -> dict[str, float]:
    """Llama 2 7B on so many A100, a kernel an operation, at the pace that gpt-fast's eager step implies, with the gap
    of its captured steps.
    """
    return dict(_llama(chips))


@cache
def _node() -> dict[str, float]:
    model, system = catalogue.model("llama-3.1-70b"), catalogue.system("h100-8")
    count = len(kernels.fused("llama-3.1-70b", Plan(chips=system.chips)))
    host = {
        "kernels": count,
        "launch_time": period("Hazy Research", False),
        "kernel_gap": period("Hazy Research", True),
        "replay_time": replay(),
    }
    return model.symbols("bf16") | system.symbols("bf16") | host | {"context": 1_000.0}


def node() -> dict[str, float]:
    """Llama 3.1 70B in BF16 on 8 H100, compiled: kernels counted, launches as measured on an H100."""
    return dict(_node())


@cache
def _rack() -> dict[str, float]:
    count = len(
        kernels.fused(RUNNING.model, Plan(sequences=72, chips=72, weights=1, context=RUNNING.context, quantised=True))
    )
    host = {
        "kernels": count,
        "launch_time": period("MPK", False),
        "kernel_gap": period("MPK", True),
        "replay_time": replay(),
    }
    known = RUNNING.symbols()
    dealt = {"own_weights": known["n_total"] * known["bytes_per_param"] / known["chips"]}
    return known | racks.FP8_OUT | host | dealt | {"routed_layers": known["layers"]}


def rack() -> dict[str, float]:
    """The running case, compiled, its weights dealt out evenly: kernels counted, launches as measured on a B200."""
    return dict(_rack())


# --- what a graph leaves ----------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """Measured step times against chips: a part that chips share, s, and a time for each of the chips' kernels, s."""

    model: str
    weights: str
    shared: float
    each: float
    kernels: dict[int, int]  # by chips; from two on all-reduces are among them
    points: tuple[tuple[int, float], ...]  # chips, and s

    def left(self, chips: int) -> float:
        """Seconds lost at the kernels on so many chips."""
        return self.kernels[chips] * self.each

    def time(self, chips: int) -> float:
        """Seconds of a step by the fit."""
        return self.shared / chips + self.left(chips)

    @property
    def off(self) -> float:
        """How far the fit is from its farthest point, relatively."""
        return max(abs(self.time(chips) / time - 1) for chips, time in self.points)


def fit_line(model: str, weights: str, counts: dict[int, int], points: tuple[tuple[int, float], ...]) -> Line:
    """The line nearest to measured times, (chips, s), by least squares; `counts` has the kernels by chips."""
    shared, each = fit_sum([(1 / chips, counts[chips]) for chips, _ in points], [time for _, time in points])
    return Line(model, weights, shared, each, counts, points)


def left_over() -> list[Line]:
    """gpt-fast, captured, on 1 to 8 A100: step = shared / chips + kernels × each, by least squares, where there are
    three points or more.
    """
    rows = measurement("gpt_fast_readme").records()
    groups = dict.fromkeys((row["model"], row["weights"]) for row in rows)
    lines = []
    for model, weights in groups:
        points = tuple(
            (row["gpus"], 1 / row["throughput_token_per_s"])
            for row in rows
            if (row["model"], row["weights"]) == (model, weights)
        )
        if len(points) > 2:
            counts = {chips: len(kernels.fused(CALLED[model], Plan(chips=chips))) for chips, _ in points}
            lines.append(fit_line(model, weights, counts, points))
    return lines


def fixed_cost() -> Line:
    """The fit for Llama 2 7B if a step leaves the same time however many kernels it has: as if it were one kernel."""
    line = left_over()[0]
    return fit_line(line.model, line.weights, dict.fromkeys(line.kernels, 1), line.points)


def all_reduces(gap: float) -> tuple[float, ...]:
    """Seconds of each all-reduce on two, four and eight chips, if each kernel has another gap, of so many s, and the
    loading makes up one chip's time.
    """
    line = left_over()[0]
    lost, times = line.kernels[1] * gap, dict(line.points)
    loading = times[1] - lost
    sums = {chips: line.kernels[chips] - line.kernels[1] for chips in times}
    return tuple((time - loading / chips - lost) / sums[chips] for chips, time in line.points if chips > 1)


def fit_sum(shares: list[tuple[float, int]], times: list[float]) -> tuple[float, float]:
    """The two factors with which pairs add up to these times, by least squares; in a page there is no NumPy to ask."""
    square = lambda a, b: math.fsum(pair[a] * pair[b] for pair in shares)
    against = lambda a: math.fsum(pair[a] * time for pair, time in zip(shares, times, strict=True))
    determinant = square(0, 0) * square(1, 1) - square(0, 1) ** 2
    first = against(0) * square(1, 1) - against(1) * square(0, 1)
    second = against(1) * square(0, 0) - against(0) * square(0, 1)
    return first / determinant, second / determinant


CALLED = {"Llama-2-7B": "llama-2-7b", "Llama-2-70B": "llama-2-70b"}


class Stage(NamedTuple):
    """Llama 2 7B at batch 1 in one system: what both clocks need for a token, and what was measured, all in s."""

    name: str
    kernels: int
    host: float
    loading: float
    lost: float
    measured: float


@cache
def stages() -> tuple[Stage, ...]:
    """From Python to eight chips: loading and losses as fitted to the captured 16-bit steps; 8 bits are not fitted."""
    line, found = left_over()[0], gpt_fast()
    times = dict(line.points)
    rows = measurement("gpt_fast_readme").records(model=line.model, weights="int8", gpus=1)
    narrow = 1 / rows[0]["throughput_token_per_s"]
    one, eight = line.kernels[1], line.kernels[8]
    return (
        Stage("one A100, from Python", found.kernels, found.eager, line.shared, found.kernels * line.each, found.eager),
        Stage("one A100, compiled, graph", one, 0, line.shared, line.left(1), times[1]),
        Stage("the same, weights of 8 bits", one, 0, line.shared / 2, line.left(1), narrow),
        Stage("eight A100, 16 bits, graph", eight, 0, line.shared / 8, line.left(8), times[8]),
    )


# --- fusing -----------------------------------------------------------------------------------------------------------


class Fused(NamedTuple):
    """A step before and after fusing, and what its kernels on vectors take of it, all in s."""

    small: float
    small_fused: float
    before: float
    after: float

    @property
    def share(self) -> float:
        """Of the step's time, what kernels on vectors take."""
        return self.small / self.before

    @property
    def ops(self) -> float:
        """By what the time of kernels on vectors shrinks."""
        return self.small / self.small_fused

    @property
    def gain(self) -> float:
        """The step's time over that of the fused one."""
        return self.before / self.after


@cache
def fusing(
    model: str, plan: Plan, chip: str = "h100-sxm", precision: str = "bf16", by_hand: bool = False, lost: float = 0.0
) -> Fused:
    """A dense step, an operation a kernel (or with the kernels of a library), against the fused one; every kernel at
    the chip's full rates, and with so many seconds lost.
    """
    found = catalogue.chip(chip)
    rates = found.flops(precision), found.bandwidth
    (vectors, whole), (few, less) = (
        _spent(read, model, plan, rates, lost)
        for read in (kernels.library if by_hand else kernels.eager, kernels.fused)
    )
    return Fused(vectors, few, whole, less)


def _spent(read: Callable, model: str, plan: Plan, rates: tuple[float, float], lost: float) -> tuple[float, float]:
    """Seconds in kernels on vectors, and in all; from the first two layers, for the others are like the second."""
    one, two = (read(model, plan._replace(layers=layers)) for layers in (1, 2))
    spent = lambda rows: sum(times(rows, *rates)) + len(rows) * lost
    found = [(spent(small(rows)), spent(rows)) for rows in (one, two)]
    more = catalogue.model(model).layers - 2
    return tuple(second + more * (second - first) for first, second in zip(*found))


def small(rows: Sequence[kernels.Kernel]) -> list[kernels.Kernel]:
    """Those of a step's kernels that a compiler may fuse."""
    return [row for row in rows if row.kind in FUSABLE]


def fused_token() -> Fused:
    """The opening's token from a graph, not compiled and compiled: what its kernels lose, beside the fitted loading."""
    line = left_over()[0]
    (few, before), (fewer, after) = (
        (len(small(rows)) * line.each, len(rows) * line.each + line.shared)
        for rows in (read("llama-2-7b", GPT_FAST) for read in (kernels.eager, kernels.fused))
    )
    return Fused(few, fewer, before, after)


# --- SGLang's turning point -------------------------------------------------------------------------------------------

SGLANG: dict[str, Any] = {"chips": 72, "context": 2_000.0}  # nine nodes of 8 H100


@cache
def own_weights(chips: int = SGLANG["chips"]) -> float:
    """Bytes of weights that each chip reads in a step of DeepSeek-V3: its routed experts, and a copy of all the rest.
    Counted.
    """
    plan = Plan(sequences=chips * 256, chips=chips, weights=1, context=SGLANG["context"], quantised=True)
    return sum(op.more for op in kernels.tape("deepseek-v3", plan).ops if op.kind == "product")


def own_experts(chips: int = SGLANG["chips"]) -> float:
    """Bytes of routed experts on each chip, one for each parameter: gate, up and down of each expert."""
    net = catalogue.model("deepseek-v3")
    return net.moe.layers * net.moe.experts * 3 * net.d_model * net.moe.d_ff / chips


def in_copies(chip: str, link: float) -> dict[str, float]:
    """DeepSeek-V3 on 72 of a chip with links of so many byte/s: each chip has a copy of all but the routed experts, and
    only the copies for those are sent.
    """
    found, model = catalogue.chip(chip), catalogue.model("deepseek-v3")
    count, own = SGLANG["chips"], own_weights()
    rates = {
        "flops": count * found.flops("fp8"),
        "bandwidth": count * found.bandwidth,
        "chip_bandwidth": found.bandwidth,
        "chips": count,
        "scale_up": link,
    }
    sent = {"layers": model.moe.layers, "routed_layers": model.moe.layers, "copies": model.moe.active}
    loaded = {"own_weights": own, "n_total": count * own, "context": SGLANG["context"]}
    return model.symbols("fp8") | racks.FP8_OUT | rates | sent | loaded


def sglang() -> dict[str, float]:
    """DeepSeek-V3 on 72 H100 as SGLang served it, sending over the network cards."""
    return in_copies("h100-sxm", catalogue.chip("h100-sxm").scale_out.bytes_per_s)


def sglang_rack() -> dict[str, float]:
    """The same on a GB200 NVL72, sending over its NVLink, with kernels and their times as `rack` has them."""
    known = rack()
    host = {name: known[name] for name in ("kernels", "launch_time", "kernel_gap", "replay_time")}
    return in_copies(catalogue.system(RUNNING.system).chip_id, known["scale_up"]) | host


def overlap(
    tokens: float, sequences: float | None = None, context: float | None = None, case: dict[str, float] | None = None
) -> float:
    """Time of a serial step over one in halves, by the formula, for so many tokens a GPU; `sequences` a GPU where each
    has several tokens.
    """
    values = with_tokens(tokens, case)
    # bytes of cache are those of sequences, not of tokens
    return eq.overlap_gain(values | {"context": (sequences or tokens) / tokens * (context or values["context"])})


def with_tokens(tokens: float, case: dict[str, float] | None = None) -> dict[str, float]:
    """A machine, SGLang's if none is named, with so many tokens a GPU and the time that these take to send."""
    case = case or sglang()
    sent = racks.comm_time(case, tokens_per_chip=tokens, micro_batches=1)
    return case | {"batch": tokens * case["chips"], "t_comm": sent}


def sglang_measured() -> dict[int, float]:
    """Gain by tokens a GPU that SGLang measured in decoding: above one faster, below slower."""
    rows = measurement("two_batch_overlap").records(phase="decode", setting="plain")
    return {row["tokens_per_gpu"]: 1 + row["low_gain"] for row in rows}


def reported_kernels() -> tuple[float, float]:
    """Kernels of a step in one piece and of one in halves, in a report on vLLM."""
    whole, halves = (row["kernels"] for row in measurement("kernels_per_step").records(model="Qwen3.6-27B"))
    return whole, halves


def in_turn(case: dict[str, float], batch: float) -> tuple[float, float]:
    """Seconds of a step, one by one and from a graph, that sends when it has computed: the kernels that send are the
    device's too.
    """
    sends = racks.comm_time(case, tokens_per_chip=batch / case["chips"], micro_batches=1)
    captured = eq.graph_time(case, batch=batch) + sends
    return max(case["kernels"] * case["launch_time"], captured - case["replay_time"]), captured


def hidden_from(case: dict[str, float]) -> float:
    """The batch from which such a step, launched one by one, no longer waits for its host; by halving the interval. 1
    if it never does.
    """
    launches, low, high = case["kernels"] * case["launch_time"], 1.0, 1e7
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if in_turn(case, middle)[0] > launches * (1 + 1e-12) else (middle, high)
    return low


def floor_time(case: dict[str, float]) -> float:
    """Seconds to read a case's weights once."""
    return step.latency_floor(case)
