"""Measured against computed, as pictures: what closes, what lies above the bound, how far off the fitted constants
are, where time goes.

Rows are those of `validation.whole()`. A spec names some of them: a data set, or a data set and how its slices begin.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from matplotlib.transforms import offset_copy

from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, done
from blackboard.charts.style import COLOURS
from blackboard.prediction.rows import BOUND, CALIBRATED, CONSISTENCY, LIMIT, Row, mape
from blackboard.text import listed
from blackboard.validation import time_breakdown
from blackboard.validation.report import WIDE, whole

SMALL = 10  # points: the least that a phone shows well
LINE = 0.19  # inches of a line of text
WIDTH = 5.0  # inches
NARROW = 4.2  # inches: of the pictures with dots, whose many small letters a phone then shows nearly in full
# The dots have one colour, since headings tell the groups apart. A single one is seen (3 to 1 against the ground, also
# in the dark), and a crowd is darker.
DOT: dict[str, Any] = {"color": COLOURS["first"], "ms": 4.5, "mew": 0, "alpha": 0.65}
HOLLOW = DOT | {"mfc": "white", "mew": 1, "alpha": 0.9}
POINTER = {"color": COLOURS["first"], "ms": 6, "mew": 0, "clip_on": False}


def match(row: Row, spec: str) -> bool:
    """Whether a row is of a data set, or of those of its slices that begin so."""
    data, _, part = spec.partition(":")
    return row.data == data and row.part.startswith(part)


class Line(NamedTuple):
    """A line of a picture: rows under one name."""

    name: str
    rows: Sequence[Row]

    @property
    def median(self) -> float:
        """Of measured over computed."""
        return statistics.median(row.slow for row in self.rows)


def _minus(text: str) -> str:
    """Negative numbers with a true minus; hyphens stay."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)


# --- consistency checks -----------------------------------------------------------------------------------------------

STEPS = {
    "exact": 1e-9,
    "to 0.1%": 1e-3,
    "to 0.5%": 5e-3,
    "to 1%": 1e-2,
    f"to {LIMIT:.0%}": LIMIT,
    "beyond": float("inf"),
}


def count_rows(rows: Sequence[Row]) -> dict[str, int]:
    """How many consistency checks close to each step, each counted once."""
    found = dict.fromkeys(STEPS, 0)
    for row in rows:
        found[next(name for name, step in STEPS.items() if abs(row.error) <= step)] += 1
    return found


def called(row: Row) -> str:
    """A consistency check in a few words."""
    return WIDE.get((row.data, row.what), f"{row.data.replace('_', ' ')}, {row.part}")


def consistency() -> Drawing:
    """How many consistency checks are exact or close to so many percent; below, those beyond the limit, one by one."""
    report = whole()
    rows, wide = report.of(CONSISTENCY).rows, report.wide
    fig, (top, low) = drawing.axes(WIDTH, 2.4 + 0.23 * len(wide), 2, 1, height_ratios=(len(STEPS), len(wide)))
    counts = count_rows(rows)
    top.barh(
        list(counts),
        list(counts.values()),
        color=[COLOURS["second" if name == "beyond" else "first"] for name in counts],
    )
    low.barh(range(len(wide)), [100 * row.error for row in wide], color=COLOURS["second"])
    low.set_yticks(range(len(wide)), [called(row) for row in wide])
    for at, values in ((top, counts.values()), (low, [100 * row.error for row in wide])):
        _valued(at, list(values), f"{{:{'.0f' if at is top else '+.1f'}}}")
    low.axvspan(-100 * LIMIT, 100 * LIMIT, color=COLOURS["muted"], alpha=0.15, lw=0, zorder=0)  # behind the bars
    low.axvline(0, color=COLOURS["bound"], lw=1)
    top.set(title=f"{len(rows)} consistency checks", xlabel="how many", xlim=(0, 1.15 * max(counts.values())))
    left, right = 100 * wide[0].error, 100 * wide[-1].error
    room = 0.3 * (right - left)
    low.set(title="beyond, one by one", xlabel="published less computed (%)", xlim=(left - room, right + room))
    return done(
        fig,
        "fig-reality-consistency",
        f"Sources agree with themselves: of {len(rows)} published numbers, computed again from others of the source,"
        f" all but {len(wide)} come out within two percent. Those are below, one by one.",
        _consistency_alt(rows, wide, counts),
    )


def _valued(at: Any, values: Sequence[float], form: str) -> None:
    """Numbers at the ends of horizontal bars, the first bar on top."""
    for place, value in enumerate(values):
        at.annotate(
            _minus(form.format(value)),
            (value, place),
            (-3 if value < 0 else 3, 0),
            textcoords="offset points",
            va="center",
            ha="right" if value < 0 else "left",
            fontsize=SMALL,
        )
    at.set_ylim(len(values) - 0.4, -0.6)
    at.tick_params(axis="y", length=0, labelsize=SMALL)
    at.grid(visible=False)


def _consistency_alt(rows: Sequence[Row], wide: Sequence[Row], counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if name != "beyond")
    each = "; ".join(f"{called(row)} {100 * row.error:+.1f}%" for row in wide)
    return _minus(
        f"Above, bars of how many of {len(rows)} consistency checks are how near, each counted once: {told},"
        f" {len(wide)} beyond. Below, those beyond, published over computed less one: {each}."
    )


# --- bounds -----------------------------------------------------------------------------------------------

BOUNDS: dict[str, dict[str, tuple[str, ...]]] = {  # group -> line -> specs
    "Products and attention": {"matrix products, H200": ("h200_gemm",), "attention, H200": ("h200_decode_attention",)},
    "Collectives and exchanges": {
        "NCCL, H200": ("h200_nccl",),
        "all-reduce, long": ("links_and_achievable",),
        "DeepEP, short": ("h200_deepep_ll_intranode",),
        "DeepEP, long": ("deepep_v1_normal", "deepep_v2"),
    },
    "One sequence": {
        "gpt-fast, A100": ("gpt_fast_readme",),
        "gpt-fast, by steps": ("gpt_fast_steps",),
        "13B on A100": ("kipply_13b",),
        "DeepSeek-R1, 8 B200": ("trtllm_r1_latency_steps",),
    },
    "Whole engines, dense": {
        "TensorRT-LLM": ("trtllm_v1_0_throughput:Llama",),
        "PaLM 540B, TPU v4": ("pope_table2_palm540b", "pope_decode_latency"),
    },
    "Whole engines, experts": {
        "TensorRT-LLM, experts": ("trtllm_v1_0_throughput:Qwen", "trtllm_v1_0_moe"),
        "V3, decode": ("sglang_large_ep_decode",),
        "V3, prefill": ("sglang_large_ep_prefill",),
        "vLLM, wide EP": ("vllm_wide_ep",),
    },
    "Training": {
        "chip-hours of runs": ("training_gpu_hours", "training_gpu_hours_more", "llammlein_training"),
        "reported MFU": ("training_mfu_reports",),
        "Megatron": ("megatron_2021_table1", "megatron_2021_table2_zero3:tensor"),
        "ZeRO-3": ("megatron_2021_table2_zero3:ZeRO",),
        "Korthikanti": ("korthikanti_iteration_times",),
        "Llama 3.1 405B": ("llama3_405b_parallelism",),
        "DeepSeek-V3": ("deepseek_isca25_training",),
        "GPipe": ("gpipe_table2",),
        "zero bubble": ("zero_bubble_pipeline:1F1B", "zero_bubble_pipeline:ZB"),
    },
    "Memory and speculation": {
        "zero bubble, memory": ("zero_bubble_pipeline:memory",),
        "RevNet, slowdown": ("revnet_paper",),
        "vLLM, sequences": ("vllm_batched_requests",),
        "prefix cache, gains": ("prefix_cache_gains",),
        "prefix cache, hits": ("prefix_cache_hit_rates",),
        "drafts, Leviathan": ("leviathan_table2",),
        "drafts, EAGLE": ("eagle_acceptance",),
        "drafts, n-grams": ("ngram_by_batch",),
        "MTP, DeepSeek": ("deepseek_isca25_mtp", "deepseek_v3_mtp"),
        "MTP, SGLang": ("sglang_mtp",),
        "MTP, by depth": ("mtp_by_depth",),
    },
}


def grouped(rows: Iterable[Row]) -> dict[str, list[Line]]:
    """Bounds by group and line, within a group by median. KeyError where a row has no line."""
    found: dict[str, dict[str, list[Row]]] = {group: {} for group in BOUNDS}
    for row in rows:
        group, name = _place(row)
        found[group].setdefault(name, []).append(row)
    return {
        group: sorted((Line(name, tuple(each)) for name, each in lines.items()), key=lambda line: line.median)
        for group, lines in found.items()
    }


def _place(row: Row) -> tuple[str, str]:
    places = [
        (group, name)
        for group, lines in BOUNDS.items()
        for name, specs in lines.items()
        if any(match(row, spec) for spec in specs)
    ]
    if len(places) != 1:
        raise KeyError(f"{row.data}, {row.part}: {len(places)} lines of the bounds' picture")
    return places[0]


def _headed(height: float, groups: Mapping[str, Sequence[Line]]) -> tuple[Drawing, Any, list[tuple[int, Line]]]:
    """An empty picture with a line of text for every group and every line; and (place, line) of each."""
    fig, at = drawing.axes(NARROW, height + LINE * sum(1 + len(lines) for lines in groups.values()))
    names: list[str] = []
    places = []
    for group, lines in groups.items():
        names.append(group)
        for line in lines:
            places.append((len(names), line))
            names.append(line.name)
    at.set(ylim=(len(names) - 0.3, -0.7), yticks=range(len(names)), yticklabels=names)
    at.tick_params(axis="y", length=0)
    lined = {place for place, _ in places}
    for place, label in enumerate(at.get_yticklabels()):
        label.set(fontsize=SMALL, fontweight="normal" if place in lined else "bold")
    at.grid(visible=False, axis="y")
    return fig, at, places


def _log(at: Any, low: float, high: float, ticks: Mapping[float, str], label: str) -> None:
    at.set(xscale="log", xlim=(low, high), xlabel=label)
    at.set_xticks(list(ticks), list(ticks.values()), fontsize=SMALL)
    at.minorticks_off()


def _right(at: Any, place: float, *texts: str) -> None:
    """Texts in columns right of the picture; the first of two is bold."""
    for n, text in enumerate(texts):
        looks = {"ha": "right", "va": "center", "fontsize": SMALL, "annotation_clip": False}
        looks["fontweight"] = "bold" if n < len(texts) - 1 else "normal"
        at.annotate(
            text, (1, place), (34 + 32 * n, 0), xycoords=at.get_yaxis_transform(), textcoords="offset points", **looks
        )


MOST = 70  # times the bound: what is beyond is a pointer at the edge


def bounds() -> Drawing:
    """Measured over ideal time, a line for each data set: every row a dot, the median a stroke; beaten bounds are
    crosses.
    """
    rows = whole().of(BOUND).rows
    groups, beaten = grouped(rows), [row for row in rows if row.excepted]
    far = _outside([line for lines in groups.values() for line in lines])
    fig, at, places = _headed(1.0, groups)
    at.axvline(1, color=COLOURS["bound"], lw=1.2)
    for place, line in places:
        above, crossed = ([row.slow for row in line.rows if row.excepted is way] for way in (False, True))
        inside = [slow for slow in above if slow < MOST]
        at.plot(inside, [place] * len(inside), "o", **DOT)
        if len(inside) < len(above):
            at.plot(MOST, place, ">", **POINTER)
        at.plot(crossed, [place] * len(crossed), "X", color=COLOURS["bound"], ms=6, mew=0)
        at.plot(line.median, place, "|", color=COLOURS["bound"], ms=10, mew=2)
        _right(at, place, f"{line.median:.3g}" if line.median >= 10 else f"{line.median:.1f}")
    _right(at, -1, "median")
    at.text(1, -1, "the bound", ha="center", va="center", fontsize=SMALL)
    ticks = {0.25: "0.25", 1: "1", 2: "2", 4: "4", 10: "10", 50: "50"}
    _log(at, 0.2, MOST, ticks, "measured ÷ ideal (log scale)")
    return done(
        fig,
        "fig-reality-bounds",
        f"Almost nothing beats the bound: of {len(rows)} published numbers, a dot each, {len(rows) - len(beaten)} are"
        " on it or right of it. Crosses beat it, each for a reason. The triangles at the edge stand for"
        f" {len(far)} short messages, up to {max(far):,.0f} times their bound: they wait for a latency that no bound"
        " contains.",
        _bounds_alt(rows, groups),
    )


def _outside(lines: Sequence[Line]) -> list[float]:
    """Measured over ideal of the rows beyond the axis."""
    return [row.slow for line in lines for row in line.rows if row.slow >= MOST]


def _bounds_alt(rows: Sequence[Row], groups: Mapping[str, Sequence[Line]]) -> str:
    slows = sorted(row.slow for row in rows)
    span = lambda lines: f"{lines[0].median:.1f} to {lines[-1].median:.1f}"
    each = "; ".join(f"{group.lower()} {span(lines)}" for group, lines in groups.items())
    beaten, lines = (
        sum(row.excepted for row in rows),
        [line for lines in groups.values() for line in lines if _outside([line])],
    )
    return (
        f"Measured over ideal for {len(rows)} published numbers, a dot each, on a log scale from {slows[0]:.2f} to"
        f" {MOST}, a line for each of {sum(map(len, groups.values()))} data sets or their parts, with a stroke at the"
        f" median and a rule at 1, the bound. {len(rows) - beaten} lie on it or above; triangles at the edge stand for"
        f" the {len(_outside(lines))} of them beyond the scale, up to {slows[-1]:,.0f}, of"
        f" {listed([line.name for line in lines])}. {beaten} crosses lie below, each for a reason. Medians of the"
        f" lines, by group: {each}."
    )


# --- calibrated -----------------------------------------------------------------------------------------------

SECTIONS: dict[str, dict[str, tuple[str, ...]]] = {  # picture -> section -> specs
    "serving": {
        "TensorRT-LLM, dense": ("trtllm_v1_0_throughput:Llama",),
        "The same, by kernels": ("trtllm_v1_0_throughput:from kernels alone",),
        "TensorRT-LLM, experts": ("trtllm_v1_0_throughput:Qwen", "trtllm_v1_0_moe"),
        "DeepSeek-V3, decode": ("sglang_large_ep_decode",),
        "DeepSeek-V3, prefill": ("sglang_large_ep_prefill",),
        "gpt-fast, A100": ("gpt_fast_readme:Llama",),
        "PaLM 540B, TPU v4": ("pope_table2_palm540b", "pope_decode_latency"),
    },
    "kernels": {
        "Matrix products, H200": ("h200_gemm",),
        "Attention, H200": ("h200_decode_attention",),
        "gpt-fast, by kernels": ("gpt_fast_readme:kernel",),
        "NCCL, H200": ("h200_nccl",),
        "DeepEP, short": ("h200_deepep_ll_intranode",),
        "DeepEP, V1": ("deepep_v1_normal",),
        "DeepEP, V2": ("deepep_v2",),
        "Other all-reduces": ("links_and_achievable",),
    },
    "training": {
        "Chip-hours": ("training_gpu_hours", "training_gpu_hours_more", "llammlein_training"),
        "Steps": (
            "megatron_2021_table1",
            "megatron_2021_table2_zero3",
            "llama3_405b_parallelism",
            "deepseek_isca25_training",
            "korthikanti_iteration_times",
        ),
        "Pipelines": ("zero_bubble_pipeline:1F1B", "zero_bubble_pipeline:ZB", "gpipe_table2"),
        "Activations": ("zero_bubble_pipeline:memory", "memcnn_revnet"),
        "Reversible, time": ("memcnn_revnet_training", "revnet_paper"),
        "Drafts": ("leviathan_table2", "speculation_by_batch"),
        "Accepted tokens": ("p_eagle_acceptance", "mtp_by_depth"),
        "Cache": ("vllm_batched_requests", "vllm_kv_use", "prefix_cache_hit_rates"),
    },
}
SHORTER = (  # a slice's name, as short as a line allows
    (r"from kernels alone, |kernel by kernel, |Llama-2-|Llama-3\.\d-", ""),
    (r"-A\d+B|Llama-4-", ""),
    (r"Qwen3-", "Qwen3 "),
    (r"float16", "16 bits"),
    (r", near the knee", ", knee"),
    (r"DeepSeek p", "DeepSeek, p"),
    (r"tensor, pipeline and data parallel", "Megatron"),
    (r"Llama 3 of (\d+) billion", r"\1B"),
    (r"1 to 8 billion", "1 to 8B"),
    (r"sequences of ", "405B, "),
    (r"DeepSeek-V3 from Llama's share", "DeepSeek-V3"),
    (r"full from the same model's selective", "Korthikanti, full"),
    (r".*, simulated", "simulated, unfitted"),
    (r"one share of the peak", "Korthikanti"),
    (r"^AmoebaNet$|^Transformer$", r"GPipe, \g<0>"),
    (r"^memory$", "zero bubble"),
    (r"ordinary, in proportion to depth", "ResNet, by depth"),
    (r"^reversible$", "RevNet"),
    (r"^slowdown$", "paper, slowdown"),
    (r"one layer used again and again", "one MTP layer, again"),
    (r"SGLang, balanced experts", "SGLang, balanced"),
    (r"^tokens$", "vLLM, use"),
    (r"^what the traces allow$", "prefixes of traces"),
    (r"^ShareGPT$|^Alpaca$", r"vLLM, \g<0>"),
    (r"RTX ", ""),
)


def short(part: str) -> str:
    """A slice's name as short as a line allows."""
    for pattern, words in SHORTER:
        part = re.sub(pattern, words, part)
    return part


def sliced(picture: str) -> dict[str, list[Line]]:
    """Calibrated rows of a picture by section and slice; rows of the same short name are one line."""
    rows = whole().of(CALIBRATED).rows
    found = {
        section: [row for row in rows if any(match(row, spec) for spec in specs)]
        for section, specs in SECTIONS[picture].items()
    }
    name = lambda row: short(row.part)
    return {
        section: [Line(words, tuple(each)) for words, each in groupby(sorted(mine, key=name), name)]
        for section, mine in found.items()
    }


NEAR, LOW, HIGH = 0.15, 0.4, 2.5
TICKS = {0.5: "0.5", 0.7: "0.7", 1: "1", 1.4: "1.4", 2: "2"}


def _error(rows: Sequence[Row]) -> str:
    """Mean absolute error of the tested rows; of the fitted ones, in brackets, where all are."""
    told = lambda some: f"{100 * mape(row.error for row in some):.0f}"
    tested = [row for row in rows if not row.fitted]
    return told(tested) if tested else f"({told(rows)})"


def _ideal(rows: Sequence[Row]) -> str:
    some = [row for row in rows if row.ideal and not row.fitted] or [row for row in rows if row.ideal]
    return f"{100 * mape(1 / row.ideal_slow - 1 for row in some if row.ideal_slow):.0f}" if some else ""


def _calibrated(picture: str, caption: str) -> Drawing:
    """Measured over predicted, a line for each slice: tested rows filled, fitted ones hollow, those beyond the axis as
    pointers at its edge.
    """
    groups = sliced(picture)
    fig, at, places = _headed(1.0, groups)
    at.axvspan(1 / (1 + NEAR), 1 / (1 - NEAR), color=COLOURS["muted"], alpha=0.13, lw=0)
    at.axvline(1, color=COLOURS["bound"], lw=1)
    for place, line in places:
        for fitted in (True, False):
            found = [row.slow for row in line.rows if row.fitted is fitted]
            inside, beyond = (
                [slow for slow in found if LOW < slow < HIGH],
                [slow for slow in found if not LOW < slow < HIGH],
            )
            at.plot(inside, [place] * len(inside), "o", **(HOLLOW if fitted else DOT))
            for slow in beyond:
                edge, arrow = (HIGH, ">") if slow > 1 else (LOW, "<")
                at.plot(edge, place, arrow, **POINTER)
        _right(at, place, _error(line.rows), _ideal(line.rows))
    _right(at, -1, "off, %", "ideal")
    _log(at, LOW, HIGH, TICKS, "measured ÷ predicted (log scale)")
    return done(fig, f"fig-reality-{picture}", caption, _calibrated_says(groups))


def _calibrated_says(groups: Mapping[str, Sequence[Line]]) -> str:
    sections = {section: [row for line in lines for row in line.rows] for section, lines in groups.items()}
    rows = [row for mine in sections.values() for row in mine]
    tested, slows = [row for row in rows if not row.fitted], sorted(row.slow for row in rows)
    near, beyond = sum(abs(row.error) <= NEAR for row in tested), sum(not LOW < slow < HIGH for slow in slows)
    far = (
        f" ({beyond} beyond it, as far as {slows[-1] if slows[-1] > 1 / slows[0] else slows[0]:.2g})" if beyond else ""
    )
    each = "; ".join(
        f"{section[0].lower() + section[1:] if section.startswith('The') else section} {_error(mine)}"
        for section, mine in sections.items()
    )
    return (
        f"Measured over predicted for {len(rows)} published numbers, a dot each, on a log scale from {LOW} to"
        f" {HIGH}{far}; a line for each of {sum(map(len, groups.values()))} slices. {len(rows) - len(tested)} on which"
        f" constants were fitted are hollow. Of the {len(tested)} tested ones {near} lie in a band of {100 * NEAR:.0f}"
        f"% either way. Mean absolute error of the tested in percent, of the ideal {_ideal(rows)} and of the"
        f" prediction {_error(rows)}; by section: {each}."
    )


def calibrated_serving() -> Drawing:
    """Whole engines."""
    return _calibrated(
        "serving",
        "A few constants predict dense models well and mixtures of experts poorly. Hollow dots were fitted. At the"
        " right: the mean error of the rows that were not fitted, and that of the roofline alone (in brackets where all"
        " rows were fitted).",
    )


def calibrated_kernels() -> Drawing:
    """Kernels, collectives and exchanges."""
    return _calibrated(
        "kernels",
        "Single kernels: large products are predicted best, short and middle-sized messages worst. Marks as above.",
    )


def calibrated_training() -> Drawing:
    """Training runs and steps, memory, drafts, caches."""
    return _calibrated(
        "training",
        "Training: steps are predicted better than whole runs, and small models on H100 worst. Marks as above.",
    )


# --- where the time goes --------------------------------------------------------------------------------

PARTS = {  # of time_breakdown.time_breakdown: words, and colour
    time_breakdown.BOUND: ("the bound", "muted"),
    time_breakdown.BATCH: ("smaller batch", "fourth"),
    "serial": ("no overlap", "second"),
    "multipliers": ("compute", "compute"),
    "memory": ("memory", "memory"),
    "links": ("links", "network"),
    "layers": ("layers, fixed", "launch"),
}


def where() -> Drawing:
    """From the ideal time of a token to the measured one, a bar for each slice of TensorRT-LLM."""
    fig, at = drawing.axes(WIDTH, 1.5 + 0.3 * len(time_breakdown.SLICES))
    found = {slice: time_breakdown.time_breakdown(slice) for slice in time_breakdown.SLICES}
    for place, parts in enumerate(found.values()):
        start = 0.0
        for name, (_, ink) in PARTS.items():
            at.barh(place, parts[name], left=start, color=COLOURS[ink], height=0.7, lw=0)
            start += parts[name]
        at.plot([start, start + parts[time_breakdown.REST]], [place, place], color=COLOURS["bound"], lw=1.2)
        at.plot(start + parts[time_breakdown.REST], place, "D", color=COLOURS["measured"], ms=5, mew=0)
    names = [short(slice) + (" *" if time_breakdown.fitted(slice) else "") for slice in found]
    at.set_yticks(range(len(names)), names, fontsize=SMALL)
    at.tick_params(axis="y", length=0)
    at.grid(visible=False, axis="y")
    at.axvline(1, color=COLOURS["bound"], lw=1)
    at.set(ylim=(len(names) - 0.4, -0.6), xlim=(0, 1.05 * max(sum(parts.values()) for parts in found.values())))
    at.set(xlabel="time of a token, ideal = 1 (* fitted)")
    _key(at)
    return done(
        fig,
        "fig-reality-where",
        "Dense models lose most because nothing overlaps and because compute stays below its peak. With experts, the"
        " second loss is by far the largest. Time of a token in multiples of the ideal one; medians over the lengths of"
        " requests. The line from a bar to its diamond is not explained.",
        _where_says(found),
    )


def _key(at: Any) -> None:
    """What the colours are, in two lines above the bars; the mark of what was measured."""
    words = [("s", text, ink) for text, ink in PARTS.values()] + [("D", "measured", "measured")]
    for n, (mark, text, ink) in enumerate(words):
        place, up = (-0.38 + 0.37 * (n % 4), 1), 8 + 15 * (1 - n // 4)
        shifted = offset_copy(at.transAxes, at.figure, 4, up + 4, "points")  # a letter would be as dark as text is
        at.plot(*place, mark, color=COLOURS[ink], ms=7 if mark == "s" else 5, mew=0, clip_on=False, transform=shifted)
        at.annotate(text, place, (11, up), xycoords="axes fraction", textcoords="offset points", fontsize=SMALL)


def _where_says(found: Mapping[str, Mapping[str, float]]) -> str:
    ends = {short(slice): sum(parts.values()) for slice, parts in found.items()}
    most = {name: max(found.values(), key=lambda parts: parts[name])[name] for name in PARTS}
    parts = listed(
        [f"{words} (at most {most[name]:.2f})" for name, (words, _) in PARTS.items() if name != time_breakdown.BOUND]
    )
    rest = [parts[time_breakdown.REST] for parts in found.values()]
    return _minus(
        f"Stacked bars of the time of a token in multiples of the ideal one, 0 to {max(ends.values()):.1f}, for"
        f" {len(found)} slices of TensorRT-LLM's published throughput, a diamond at what was measured:"
        f" {'; '.join(f'{name}: {end:.1f}' for name, end in ends.items())}. Each bar starts with the bound, 1; to it"
        f" come {parts}. Between bar and diamond {min(rest):.2f} to {max(rest):.2f} are not explained."
    )
