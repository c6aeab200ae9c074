"""The tables of the page on one GPU."""

from __future__ import annotations

from collections.abc import Callable

from blackboard.catalogue import Chip, chip
from blackboard.lessons.overheads.equations import chain_time
from blackboard.page.summary import Page, table
from blackboard.units import percent, pretty
from blackboard.validation import gpu_lab as lab

_milliseconds = lambda seconds: f"{1e3 * seconds:.2f} ms"

PASSES = {
    "decoding": "a decode step",
    "verifying": "checking guesses",
    "prefilling": "a prompt",
    "mixing": "decodes and a prompt",
}


def slices_table() -> Page:
    """How far passes are above the bound, and how well they are predicted."""
    found = {(s.part, s.chip): s for s in lab.slices()}
    mark = lambda s: ("(fitted) " if s.fitted else "") + percent(s.error)
    lines = []
    for part, name in PASSES.items():
        both = [found[part, chip_id] for chip_id in lab.CHIPS]
        slow = f"{min(s.least for s in both):.1f} to {max(s.most for s in both):.1f}"
        lines.append([name, slow, *map(mark, both)])
    heads = ("Passes", "Measured ÷ bound", *(f"Error, {lab.NAMES[chip_id]}" for chip_id in lab.CHIPS))
    return table("Every pass, against the datasheet and against the H200's constants", heads, lines)


def rates_table() -> Page:
    """What the GPUs reach of their datasheets."""
    rates = {
        "memory, summed": ("sum", "bytes", "byte/s", lambda at: at.bandwidth),
        "memory, matrix × vector": ("matrix × vector", "bytes", "byte/s", lambda at: at.bandwidth),
        "products, BF16": ("square product", "flop", "FLOP/s", lambda at: at.flops("bf16")),
        "products, FP8": ("square product, FP8", "flop", "FLOP/s", lambda at: at.flops("fp8")),
    }

    def cell(chip_id: str, way: str, what: str, unit: str, most: Callable[[Chip], float]) -> str:
        row = lab.only(chip_id, "rates", way=way)
        rate = row[what] / row["seconds"]
        return f"{pretty(rate, unit)}, {percent(rate / most(chip(chip_id)))}"

    lines = [[name, *(cell(chip_id, *how) for chip_id in lab.CHIPS)] for name, how in rates.items()]
    heads = ("Rate", *(lab.NAMES[chip_id] for chip_id in lab.CHIPS))
    return table("Large and simple work, measured, and its share of the datasheet", heads, lines)


def chains_table() -> Page:
    """Operations on a long vector, a kernel each and one kernel for all."""
    ways = ("a kernel each", "one kernel")
    found = {(row["way"], row["ops"]): row for row in lab.rows(lab.FITTED, "chains")}
    one = found[ways[1], 1]
    gap = lab.only(lab.FITTED, "launches", way="captured")["seconds"]
    rate = 2 * one["bytes"] / one["seconds"]
    lines = [
        [
            str(ops),
            *(_milliseconds(found[way, ops]["seconds"]) for way in ways),
            _milliseconds(
                float(chain_time(fused_ops=ops, vector_bytes=one["bytes"], kernel_gap=gap, chip_bandwidth=rate))
            ),
        ]
        for ops in sorted({ops for _, ops in found})
    ]
    heads = ("Operations", "A kernel each", "One kernel", "By the formula")
    return table("A chain of operations on half a gigabyte", heads, lines)
