"""The sentences of the batching lesson say what the formulas say, at the precision printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from blackboard.batching import figures, numbers
from blackboard.practice import problems

PAGE = Path(__file__).resolve().parent.parent / "book" / "batching.md"
TEXT = PAGE.read_text("utf8")
CELLS = re.findall(r"```\{code-cell\}[^\n]*\n(.*?)```", TEXT, re.S)
PROSE = re.sub(r"```\{code-cell\}.*?```", "", TEXT.split("---", 2)[2], flags=re.S)

# What the prose quotes rather than computes: the lecture's own words, definitions, and names.
QUOTED = {
    "20": "the lecture's interval in ms, 0:22:13", "300": "the board's 'about 300', 0:18:25", "2,000": "the lecture's batch, 0:26:58", "64": "departures per second, 0:26:58",
    "100": "the board's example of contexts, in thousands, 0:11:40", "200": "the board's example of contexts, in thousands, 0:11:40", "2": "FLOPs per multiply-add; bytes of BF16; kB of the board's KV estimate, 1:38:22",
    "1": "a byte in FP8; the batch of one", "½": "a byte in FP4", "700": "the board's total parameters, 0:04:44", "37": "the board's active parameters, 0:04:44",
    "8": "experts that a token is routed to, DeepSeek-V3's configuration", "256": "experts of DeepSeek-V3's configuration", "3.4": "a section of the DeepSeek-V3 report",
    "70": "the open question's model", "72": "GPUs of an NVL72, its name", "1,024": "a number of rows in the measurements",  "16": "lecture 0:16", "22": "lecture 0:22", "27": "lecture 0:27", "0": "lecture 0:00; standard mode", "00": "lecture 0:00",
}  # fmt: skip


def typed_numbers(text: str) -> set[str]:
    """Digits that a person typed: no code, roles, links, mathematics, timestamps or names such as FP8 and H200."""
    for cut in (r"\{[\w:]+\}`[^`]*`", r"\$[^$]*\$", r"\]\([^)]*\)", r"\b\d:\d\d(:\d\d)?\b", r"\b[A-Za-z]+-?[A-Za-z]*\d+\w*", r"^\(\w+\)=$", r"^:.*$"):
        text = re.sub(cut, " ", text, flags=re.M)
    return set(re.findall(r"½|\d[\d,.]*\d|\d", text))


def test_no_number_is_typed_into_prose():
    assert typed_numbers(PROSE) - set(QUOTED) == set(), "compute it in numbers.py and glue it, or say where it is quoted from"


def test_prose_and_numbers_use_the_same_names():
    used = set(re.findall(r"\{glue:text\}`(\w+)`", TEXT))
    assert used == set(numbers.all()), "a number that no sentence uses, or a sentence without its number"


def figure_cells() -> list[tuple[str, str]]:
    """(name, alt text typed in the page) of each figure."""
    out = []
    for cell in CELLS:
        if found := re.search(r"^figures\.(\w+)\(\)", cell, re.M):
            out.append((found[1], yaml.safe_load(cell.split("---")[1])["mystnb"]["image"]["alt"]))
    return out


@pytest.mark.parametrize("name, alt", figure_cells(), ids=lambda x: x if x.isidentifier() else "")
def test_alt_texts_are_the_computed_ones(name, alt):
    assert alt == figures.alt(name), f"write this into the page:\n{figures.alt(name)}"


def test_every_problem_stands_on_the_page():
    shown = set(re.findall(r'"([\w-]+)"', " ".join(re.findall(r"^p(?:\[|\.on_page\().*$", TEXT, re.M))))
    assert shown == {view.problem.id for view in problems("batching")}


def test_objectives_are_met_by_problems():
    """Each thing that the page promises has a problem, and no problem stands apart from all promises."""
    promised = {v.problem.objective for v in problems("batching")}
    assert len(promised) >= 5 and all(promised)


def test_printed_numbers_agree_with_an_independent_reckoning():
    """Plain arithmetic from the architecture and the datasheets, rounded as printed."""
    told = numbers.all()
    experts = 58 * 256 * 3 * 7168 * 2048
    attention = 61 * (7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168)
    rest = 2 * 129_280 * 7168 + 58 * (3 * 7168 * 2048 + 256 * 7168) + 3 * 3 * 7168 * 18_432
    total, active = experts + attention + rest, experts * 8 / 256 + attention + rest
    bandwidth, flops, kv = 72 * 8e12, 72 * 5e15, 61 * 576 * 2
    expected = {
        "floor": f"{total / bandwidth * 1e3:.2f} ms", "first_floor": f"{active / bandwidth * 1e6:.0f} µs", "weight_bytes": f"{total / 1e9:.0f} GB", "bandwidth": f"{bandwidth / 1e12:.0f} TB/s",
        "intensity": f"{flops / 2 / bandwidth:.1f}", "sparsity": f"{total / active:.1f}", "critical": f"{round(flops / 2 / bandwidth * total / active, -2):,.0f}",
        "gain": f"{round(flops / 2 / bandwidth * total / active, -2):,.0f}", "gain_dense": f"{flops / 2 / bandwidth:.1f}", "n_active": f"{active / 1e9:.1f} billion", "n_total": f"{total / 1e9:.0f} billion",
        "n_total_off": f"{700e9 / total - 1:.0%}", "kv_bytes": f"{kv / 1e3:.1f} kB", "balanced": f"{round(2 * active / flops * bandwidth / kv, -2):,.0f} tokens",
        "balanced_board": f"{round(2 * active / flops * bandwidth / 2000, -3):,.0f} tokens", "mfu_twice": "50%", "fast_ratio": "15", "worst": "40 ms", "mean": "30 ms", "throughput": "128,000 tokens/s", "throughput_20": "100,000 tokens/s",
        "interval_64": "15.6 ms", "floor_h100": f"{total / (8 * 3.35e12) * 1e3:.1f} ms", "step_h200": f"{(total + 2e6 * kv) / (8 * 4.8e12) * 1e3:.1f} ms", "full_h200": f"{(total + 2e6 * kv) / (8 * 141e9):.0%}", "step_rack": f"{(total + 2e6 * kv) / bandwidth * 1e3:.2f} ms",
        "balanced_fp8": f"{round(2 * active / (flops * kv / bandwidth - 2 * 128 * 1088 * 61), -2):,.0f} tokens", "balanced_bf16": f"{round(2 * active / (flops * kv / bandwidth - 2 * 2 * 128 * 1088 * 61), -2):,.0f} tokens",
        "hbm_h100": "640 GB", "idle_20ms": f"{2000 * 2 * active / flops / 0.020:.1%}",
        "drain_least": "13 ms", "drain_most": "39 ms", "fast_price": "6", "fast_speed": "2.5", "fast_now_ratio": "5",
        "lookup": f"{129_280 * 7168 / active:.1%}", "attention": f"{2 * 128 * (512 + 64 + 512) * 61 / 1e6:.0f} MFLOP", "attention_equal": f"{round(2 * active / (2 * 128 * 1088 * 61), -2):,.0f} tokens",
        "kink": f"{round(total / bandwidth / (2 * active / flops - 1000 * kv / bandwidth), -1):,.0f}",
    }  # fmt: skip
    assert {name: told[name] for name in expected} == expected
    step = max(2 * 256 * active / flops, (total + 256 * 1000 * kv) / bandwidth) / 256
    assert told["slow_saving"] == f"{step / max(2 * active / flops, 1000 * kv / bandwidth):.0f}"
