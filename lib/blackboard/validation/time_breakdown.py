"""Where the time goes: from the ideal time of a token to the measured one, one step of the argument after the other."""

from __future__ import annotations

import statistics
from functools import cache

from blackboard.catalogue.datafile import UnknownId, near
from blackboard.formula import IDEAL, Calibration
from blackboard.prediction import serving_runs as serving
from blackboard.prediction.calibration import Recipe, calibration_by_id
from blackboard.prediction.serving_runs import Case
from blackboard.validation import serving as runs

BOUND, BATCH, REST = "bound", "batch", "unexplained"
STAGES = {  # what is taken into account, in this order, and the constants that say it
    "serial": ("serial_share",),
    "multipliers": ("compute_efficiency",),
    "memory": ("memory_efficiency",),
    "links": ("link_efficiency", "link_latency"),
    "layers": ("layer_overhead", "overhead"),
}
SLICES = (  # of TensorRT-LLM: small and large, one chip and many, two generations, dense and experts
    "Llama-3.1-8B, 1 H100",
    "Llama-3.3-70B, 1 H200",
    "Llama-3.3-70B, 2 H100",
    "Llama-3.1-405B, 8 H100",
    "Llama-3.3-70B, 1 B200",
    "Llama-3.1-405B, 4 B200",
    "Qwen3-235B-A22B, 8 H200",
    "Qwen3-235B-A22B, 8 B200",
    "Llama-4-Maverick, 8 H200",
)


def recipe(slice: str) -> Recipe:
    """The constants that a slice is held against."""
    return runs.recipe_of(_cases(slice)[0])


def fitted(slice: str) -> bool:
    """Whether they were fitted on it."""
    return all(map(recipe(slice).slice, _cases(slice)))


@cache
def time_breakdown(slice: str) -> dict[str, float]:
    """What each step adds, in multiples of the ideal time of a token: bound 1, batch, STAGES, and what stays
    unexplained.

    They add up to the slice's median of measured over ideal; the last is negative where the prediction is too slow. The
    order matters: efficiencies come after serial_share, so that a time that would else be hidden is charged to them in
    full, and the same constants in another order give other shares. UnknownId where TensorRT-LLM has no such slice.
    """
    paths = [path(case) for case in _cases(slice)]
    reached = {name: statistics.median(each[name] for each in paths) for name in paths[0]}
    return {BOUND: reached[BOUND]} | {
        name: reached[name] - reached[before] for before, name in zip(reached, list(reached)[1:])
    }


def path(case: Case) -> dict[str, float]:
    """Time of a token over the ideal one, after each step: rises up to the last, which is measured."""
    values, most = calibration_by_id(runs.recipe_of(case).id).values, case.most or case.work
    least = runs.seconds(case._replace(work=most)) / most.sequences
    each = lambda seconds: seconds / case.work.sequences / least
    found = {BOUND: 1.0, BATCH: each(runs.seconds(case, IDEAL))}
    known: dict[str, float] = {}
    for name, constants in STAGES.items():
        known |= {constant: values[constant] for constant in constants if constant in values}
        found[name] = each(runs.seconds(case, Calibration(name, "", dict(known))))
    return found | {REST: each(case.measured)}


def _cases(slice: str) -> list[Case]:
    found = [case for case in serving.trtllm() if case.part == slice]
    if not found:
        parts = dict.fromkeys(case.part for case in serving.trtllm())
        raise UnknownId(
            f"no slice {slice!r}; near: {', '.join(near(slice, parts)) or 'none'}; there are: {'; '.join(parts)}"
        )
    return found
