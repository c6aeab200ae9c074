"""Consistency: numbers that a source prints, against what other numbers of the same source, or its models'
architecture, make of them.

Nothing is predicted and nothing is fitted. What does not agree within 2%, or within its check's limit, is listed in
OWN with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from blackboard.catalogue import measurement
from blackboard.prediction.rows import CONSISTENCY, Row
from blackboard.validation import records
from blackboard.validation.consistency import caches, deepseek, serving, training
from blackboard.validation.consistency.check import Check
from blackboard.validation.records import Record

CHECKS = (*deepseek.DEEPSEEK, *training.TRAINING, *caches.CACHES, *serving.SERVING)
DATA = tuple(dict.fromkeys(one.data for one in CHECKS))
OWN: dict[tuple[str, str, str], tuple[float, str]] = {  # limit and reason of rows that miss that of their check
    ("chinchilla_table3", "compute", "n total 67,000,000,000"): (
        0.045,
        "67 and 1.5 are rounded, which allows 4%; 6 FLOP are the paper's own within 1%",
    ),
    ("chen2023", "speedup", "XSum, nucleus"): (0.025, "the paper's two times give 1.875 where it prints 1.92"),
    ("megatron_2021_table1", "parameters", "n total 1,700,000,000"): (
        0.03,
        "printed to two digits, which allows 3%",
    ),
    ("llammlein_training", "tokens", "LLäMmlein 120M"): (0.025, "printed as one trillion"),
    ("training_gpu_hours", "parameters", "Llama 2 7B"): (0.04, "printed to one digit"),
    ("training_tokens", "parameters", "Kimi K2"): (0.03, "printed as one trillion"),
    ("moderngbert_plateaus", "share of the text", "ModernGBERT 134M"): (
        0.035,
        "printed to a whole percent of fifteen",
    ),
    ("deepseek_isca25_training_compute", "compute of a token", "Qwen2.5-72B"): (
        0.12,
        (
            "does not close, less than 6 FLOP a parameter, even without attention; what the paper counts for this"
            " model is not said"
        ),
    ),
}


def _name(record: Record, columns: tuple[str, ...]) -> str:
    """What a record is called: its cells in words, numbers with their column."""
    said = lambda name, cell: cell if isinstance(cell, str) else f"{name.replace('_', ' ')} {cell:,}"
    return ", ".join(said(name, record[name]) for name in columns)


@cache
def _identifying_columns(id: str) -> tuple[str, ...]:
    """The first columns of a data set that distinguish its records."""
    table = measurement(id)
    counts = (n for n in range(1, len(table.columns) + 1) if len({row[:n] for row in table.rows}) == len(table.rows))
    return table.columns[: next(counts)]


def check_rows(one: Check) -> Iterator[Row]:
    """The rows of one check."""
    names, seen = tuple(formula.name for formula in one.formulas), set()
    for record in records.records(one.data, **one.where):
        what = (
            _name(record, one.by or _identifying_columns(one.data)) if len(measurement(one.data).rows) > 1 else one.part
        )
        if what not in seen and (pair := one.make(record)):
            limit, why = OWN.get((one.data, one.part, what), (one.limit, ""))
            said = f"{one.why}; {why}" if why else one.why
            yield Row(
                CONSISTENCY,
                one.data,
                what,
                one.unit,
                float(pair[0]),
                float(pair[1]),
                part=one.part,
                limit=limit,
                why=said,
                formulas=names,
            )
        seen.add(what)


@cache
def rows() -> list[Row]:
    """The rows of all checks."""
    return [row for one in CHECKS for row in check_rows(one)]
