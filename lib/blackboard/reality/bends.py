"""Mistakes that other people's tools have made, made on purpose: which of the three kinds of test sees them?

Each bends the model or the chip behind TensorRT-LLM's runs. The floors are counted anew, and the constants fitted anew, for a
mistake that only changes a constant does not show in an error: it shows in a constant that no machine has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from blackboard.architecture import Experts, Heads
from blackboard.catalogue import Chip, Model, Rates
from blackboard.formula import Calibration
from blackboard.reality import runs, serving
from blackboard.reality.calibration import RECIPES, fit
from blackboard.reality.checks import mape
from blackboard.reality.serving import Case, Swap

RECIPE = RECIPES[0]  # dense models on Hopper
GIB = 2**30 / 1e9


def _chip(change: Callable[[Chip], Chip]) -> Swap:
    return lambda model, chip: (model, change(chip))


def _model(change: Callable[[Model], Model]) -> Swap:
    return lambda model, chip: (change(model), chip)


def forget_gqa(model: Model) -> Model:
    """As many heads of keys and values as of queries; the parameters change with them."""
    return replace(model, attention=tuple(replace(g, kv_heads=g.heads) if isinstance(g, Heads) else g for g in model.attention))


def use_all(model: Model) -> Model:
    """Total for active parameters: each token visits every expert."""
    return replace(model, ffn=tuple(replace(g, active=g.experts) if isinstance(g, Experts) else g for g in model.ffn))


def sparse_peak(chip: Chip) -> Chip:
    """The datasheet's rates with half of the weights zero."""
    rates = chip.flops_dense_per_s
    return replace(chip, flops_dense_per_s=Rates(**{name: value and 2 * value for name, value in vars(rates).items()}))


def binary(chip: Chip) -> Chip:
    """GB/s taken as GiB/s."""
    return replace(chip, hbm_bytes_per_s=GIB * chip.hbm_bytes_per_s)


def slow_memory(chip: Chip) -> Chip:
    """Bits for bytes: an eighth of the bandwidth."""
    return replace(chip, hbm_bytes_per_s=chip.hbm_bytes_per_s / 8)


class Bend(NamedTuple):
    """A mistake: floors beaten, of how many, the error on rows that were not fitted, and the constants that come out."""

    says: str
    beaten: int
    rows: int
    error: float
    constants: Calibration

    def value(self, name: str) -> float:
        """A constant."""
        return self.constants.values[name]


BENDS: dict[str, tuple[str, Swap | None]] = {  # what is wrong -> number format of the cache, and what is swapped
    "nothing": (serving.KV, None),
    "keys and values counted twice": ("bf16", None),
    "grouped heads forgotten": (serving.KV, _model(forget_gqa)),
    "total for active parameters": (serving.KV, _model(use_all)),
    "sparse peak for the dense one": (serving.KV, _chip(sparse_peak)),
    "GB/s taken as GiB/s": (serving.KV, _chip(binary)),
    "bits for bytes in the memory's rate": (serving.KV, _chip(slow_memory)),
}


@cache
def bends() -> tuple[Bend, ...]:
    """Every mistake, run."""
    return tuple(_bend(says, serving.trtllm(*how)) for says, how in BENDS.items())


def _bend(says: str, cases: tuple[Case, ...]) -> Bend:
    floors = [runs.floor(case) for case in cases]
    mine = [case for case in cases if RECIPE.suits(case.layout.chip, case.compute, case.layout.model)]
    found = fit(RECIPE, [case for case in mine if RECIPE.slice(case)])
    tested = [runs.seconds(case, found) / case.measured - 1 for case in mine if not RECIPE.slice(case)]
    return Bend(says, sum(row.slow < 1 for row in floors), len(floors), mape(tested), found)
