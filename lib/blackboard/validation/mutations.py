"""Mistakes that other people's tools have made, made on purpose: which of the three kinds of test sees them?

Each bends the model or the chip behind TensorRT-LLM's runs. The bounds are counted anew, and the constants fitted anew,
for a mistake that only changes a constant does not show in an error: it shows in a constant that no machine has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from msgspec.structs import asdict, replace

from blackboard.catalogue import Chip, Model, Rates
from blackboard.catalogue.architecture import Experts, Heads
from blackboard.formula import Calibration
from blackboard.prediction import serving_runs as serving
from blackboard.prediction.calibration import KNOWN, busy, fit, known_links
from blackboard.prediction.rows import mape
from blackboard.prediction.serving_runs import Case, Swap
from blackboard.prediction.step import composed
from blackboard.validation import serving as runs

RECIPE = KNOWN["trtllm-h200"]  # dense models on Hopper
GIB = 2**30 / 1e9


def _chip(change: Callable[[Chip], Chip]) -> Swap:
    return lambda model, chip: (model, change(chip))


def _model(change: Callable[[Model], Model]) -> Swap:
    return lambda model, chip: (change(model), chip)


class Miscounted(Heads, frozen=True, tag="heads"):
    """Attention whose cache is counted as so many times what it is."""

    times: float = 1.0

    def entry(self, precision: str) -> float:
        return self.times * super().entry(precision)


def cached(times: float) -> Swap:
    """All of the cache so many times: half without its values, twice if it is taken to be read and written."""
    bent = lambda group: Miscounted(**asdict(group), times=times) if isinstance(group, Heads) else group
    return _model(lambda model: replace(model, attention=tuple(map(bent, model.attention))))


def forget_gqa(model: Model) -> Model:
    """As many heads of keys and values as of queries; the parameters change with them."""
    return replace(
        model, attention=tuple(replace(g, kv_heads=g.heads) if isinstance(g, Heads) else g for g in model.attention)
    )


def use_all(model: Model) -> Model:
    """Total for active parameters: each token visits every expert."""
    return replace(model, ffn=tuple(replace(g, active=g.experts) if isinstance(g, Experts) else g for g in model.ffn))


def sparse_peak(chip: Chip) -> Chip:
    """The datasheet's rates with half of the weights zero."""
    rates = chip.flops_dense_per_s
    return replace(
        chip, flops_dense_per_s=Rates(**{name: value and 2 * value for name, value in asdict(rates).items()})
    )


def binary(chip: Chip) -> Chip:
    """GB/s taken as GiB/s."""
    return replace(chip, hbm_bytes_per_s=GIB * chip.hbm_bytes_per_s)


def slow_memory(chip: Chip) -> Chip:
    """Bits for bytes: an eighth of the bandwidth."""
    return replace(chip, hbm_bytes_per_s=chip.hbm_bytes_per_s / 8)


class Mutation(NamedTuple):
    """A mistake: bounds beaten, of how many, the error on rows that were not fitted, and the constants that come
    out.
    """

    description: str
    beaten: int
    rows: int
    error: float
    constants: Calibration

    def value(self, name: str) -> float:
        """A constant."""
        return self.constants.values[name]


MISTAKES: dict[str, dict] = {  # what is wrong -> how the runs are made
    "nothing": {},
    "keys and values counted twice": {"swap": cached(2)},
    "grouped heads forgotten": {"swap": _model(forget_gqa)},
    "bits for bytes in the memory's rate": {"swap": _chip(slow_memory)},
    "total for active parameters": {"swap": _model(use_all)},
    "prompts taken in for nothing": {"prompts": False},
    "values forgotten": {"swap": cached(0.5)},
    "sparse peak for the dense one": {"swap": _chip(sparse_peak)},
    "GB/s taken as GiB/s": {"swap": _chip(binary)},
}


@cache
def mutations() -> tuple[Mutation, ...]:
    """Every mistake, run."""
    return tuple(_run_mistake(description, serving.trtllm(**how)) for description, how in MISTAKES.items())


def _run_mistake(description: str, cases: tuple[Case, ...]) -> Mutation:
    bounds = [runs.bound(case) for case in cases]
    mine = list(filter(RECIPE.takes, cases))
    found = fit(RECIPE, [case for case in mine if RECIPE.slice(case)])
    tested = [runs.seconds(case, found) / case.measured - 1 for case in mine if not RECIPE.slice(case)]
    return Mutation(description, sum(row.slow < 1 for row in bounds), len(bounds), mape(tested), found)


class Share(NamedTuple):
    """How much of the shorter times is taken to add, and the error then, with the best efficiencies, where they are
    fitted and elsewhere.
    """

    share: float
    fitted: float
    tested: float


@cache
def shares(tried: tuple[float, ...] = (0.0, 0.5, 1.0)) -> tuple[Share, ...]:
    """The efficiencies fitted anew for each share; no straight line unless the share is one."""
    cases = list(filter(RECIPE.takes, serving.trtllm()))
    return tuple(_share(share, cases) for share in tried)


def _share(share: float, cases: list[Case]) -> Share:
    from scipy.optimize import least_squares

    ideal = [(case, busy(case, Calibration("links", "", known_links()))) for case in cases]

    def errors(rates: tuple[float, float], fitted: bool) -> list[float]:
        compute, memory = rates
        found = Calibration("tried", "", {"serial_share": share})
        times = lambda best: best | {"compute": best["compute"] / compute, "memory": best["memory"] / memory}
        return [
            composed(times(best), case.layout, found) / case.measured - 1
            for case, best in ideal
            if RECIPE.slice(case) == fitted
        ]

    best = least_squares(lambda rates: errors(rates, True), (0.5, 0.7), bounds=(0.05, 1)).x
    return Share(share, *(mape(errors(best, fitted)) for fitted in (True, False)))
