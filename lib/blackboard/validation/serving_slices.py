"""Predictions under load, by slices of the public runs that the constants were not fitted on.

Each slice is held out whole: all constants are fitted anew on the other rows, and the slice is predicted with the
nearest of them. The form of the equations, the start of the fits, what settings engines have and which runs are taken
to have drafted tokens were chosen with all rows in view; only the constants are new to a slice. Rows that queue
(QUEUED) or drafted are neither fitted nor counted.

Fitting once for each slice takes minutes. `python -m blackboard.validation.serving_slices` does it and writes FILE,
which everybody else reads; a slow test does it again and compares.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from blackboard import catalogue
from blackboard.catalogue import measurement
from blackboard.formula import Calibration
from blackboard.prediction import serving_runs
from blackboard.prediction.calibration import KINDS, RECIPES, HeldOut, held_out_error
from blackboard.prediction.calibration import kind as kind_of
from blackboard.prediction.fallback import ENGINE, of_a_step
from blackboard.prediction.serving import predict_serving
from blackboard.prediction.serving_calibration import (
    GENERATIONS,
    LINKS,
    Run,
    constants_of,
    factors_of,
    fit_all,
    nearest,
    predicted,
    runs,
)
from blackboard.prediction.serving_constants import FACTORS

FILE = Path(__file__).with_name("serving_slices.json")


class Slice(NamedTuple):
    """Errors of one slice and kind of model: mean absolute and mean, of the time per output token and to the first."""

    held: str  # what was kept back
    what: str  # of which group of slices
    kind: str
    rows: int
    output: float
    first: float
    output_bias: float
    first_bias: float
    few: int  # rows with the fewest users that their server was measured with: where requests queue least
    first_few: float  # their error of the time to the first token


def _in_flight(run: Run) -> str:
    low, high = next((a, b) for a, b in ((1, 8), (16, 32), (64, 4096)) if run.server.users <= b)
    return f"{low} to {high} in flight" if high < 4096 else f"{low} in flight or more"


ASPECTS: dict[str, Callable[[Run], str]] = {  # a group of slices holds out each value of one
    "chips": lambda run: f"{run.server.layout.chips} chip{'s' * (run.server.layout.chips > 1)}",
    "concurrency": _in_flight,
    "chip": lambda run: "{} on {}, {}".format(*run.key),
    "engine": lambda run: run.server.engine,
    "model": lambda run: run.server.model.id,
}


@cache
def slices() -> tuple[Slice, ...]:
    """All rows as fitted, and each slice held out, as FILE has them."""
    return tuple(Slice(**each) for each in json.loads(FILE.read_text(encoding="utf-8")))


def write_slices() -> None:
    """Fit all slices, and write FILE: a line for each."""
    rounded = lambda value: round(value, 4) if isinstance(value, float) else value
    lines = [json.dumps({name: rounded(value) for name, value in each._asdict().items()}) for each in fit_slices()]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def fit_slices() -> tuple[Slice, ...]:
    """All rows as fitted, and each slice held out, fitted anew."""
    group = [run for run in runs() if not run.queued]
    found = list(_summed("none: fitted", "fitted", group, group))
    for what, aspect in ASPECTS.items():
        for held in dict.fromkeys(map(aspect, group)):
            rest = [run for run in group if aspect(run) != held]
            if {run.key[2] for run in rest} == {"dense", "experts"}:  # not the only dense model
                found += _summed(held, what, [run for run in group if aspect(run) == held], rest)
    return tuple(found)


def _summed(held: str, what: str, group: Sequence[Run], fitted: Sequence[Run]) -> Iterator[Slice]:
    """A line for each kind of model, predicted with constants from the rows that are fitted."""
    known = fit_all(fitted)
    for kind in ("dense", "experts"):
        if inside := [run for run in group if run.key[2] == kind]:
            output, first = zip(*predicted(inside, known))
            size = lambda errors: statistics.mean(map(abs, errors))
            sums = size(output), size(first), statistics.mean(output), statistics.mean(first)
            few = [error for run, error in zip(inside, first) if has_fewest_users(run)]
            yield Slice(held, what, kind, len(inside), *sums, len(few), size(few) if few else 0.0)


def has_fewest_users(run: Run) -> bool:
    """Whether no run of the same server had fewer users. The data calls only runs queued whose first token is late
    (QUEUED), but of a crowd that starts together most requests wait for others.
    """
    return run.server.users == _fewest_users()[_without_users(run)]


@cache
def _fewest_users() -> dict[tuple, float]:
    found: dict[tuple, float] = {}
    for run in runs():
        same = _without_users(run)
        found[same] = min(run.server.users, found.get(same, run.server.users))
    return found


def _without_users(run: Run) -> tuple:
    layout = run.server.layout
    return run.key, layout.model.id, layout.chips, layout.tensor, layout.expert, run.server.weights


def over(what: str, kind: str) -> dict[str, float]:
    """Mean absolute errors over all rows of a group of slices."""
    return {f"{name}_token": mean_error(kind, name, (what,))[0] for name in ("output", "first")}


def mean_error(kind: str, name: str, groups: Sequence[str]) -> tuple[float, int]:
    """The mean of an error over all rows that it counts in some groups of slices, and how many these are."""
    found = [each for each in slices() if each.kind == kind and each.what in groups]
    weights = [each.few if name == "first_few" else each.rows for each in found]
    rows = sum(weights)
    return sum(n * getattr(each, name) for n, each in zip(weights, found)) / rows if rows else 0.0, rows


def expected() -> dict[str, dict[str, dict[str, float]]]:
    """Errors to expect by kind of model and by how near the constants are: those of the slices as far away."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for kind in ("dense", "experts"):
        near = {"chip": over("chips", kind), "generation": over("chip", kind), "engine": over("chip", kind)}
        found[kind] = near | {"kind": over("engine", kind)}
        other = over("model" if kind == "experts" else "engine", kind)
        found[f"{kind}, other models"] = dict.fromkeys(found[kind], other)
    return {
        kind: {near: {name: round(value, 3) for name, value in sums.items()} for near, sums in each.items()}
        for kind, each in found.items()
    }


# --- steps without queues ---------------------------------------------------------------------------------------------


def step_errors() -> dict[str, dict[str, HeldOut]]:
    """Errors of predict where it falls back on the constants of an engine under load, by kind of model and by how near
    they are: over published steps, none of which is fitted here. Those of a chip that the engine did not run on are
    predicted with constants fitted anew without any chip of its generation.
    """
    group = [run for run in runs() if not run.queued]
    apart = {
        generation: fit_all([run for run in group if GENERATIONS[run.server.chip.id] != generation])
        for generation in set(GENERATIONS.values())
    }
    chip = lambda case: case.layout.chip.id

    def constants(case: serving_runs.Case, known: dict[str, dict[str, float]]) -> Calibration:
        model = case.layout.model
        values = LINKS | constants_of(known, factors_of(ENGINE, chip(case), model))
        return Calibration("fallback", "public serving runs", of_a_step(values, model))

    found: dict[str, dict[str, HeldOut]] = {}
    for what in KINDS:
        cases = [case for case in _published_steps() if kind_of(case.layout.model) == what]
        near = lambda wanted: [case for case in cases if nearest(ENGINE, chip(case), what) == wanted]
        seen = {
            each: held_out_error(near(each), lambda case: constants(case, FACTORS)) for each in ("chip", "generation")
        }
        known = lambda case: apart.get(GENERATIONS.get(chip(case), ""), FACTORS)
        found[what] = seen | {"engine": held_out_error(cases, lambda case: constants(case, known(case)))}
    return {
        what: {near: each._replace(error=round(each.error, 3)) for near, each in errors.items()}
        for what, errors in found.items()
    }


def _published_steps() -> list[serving_runs.Case]:
    """All that sourced constants are fitted on or held against."""
    sets = dict.fromkeys(recipe.cases for recipe in RECIPES)
    return [case._replace(sends=True) for cases in sets for case in cases()]


# --- other lengths ----------------------------------------------------------------------------------------------------


class Offline(NamedTuple):
    """A run at full load of other lengths, by another client: tokens per second, predicted over measured less one."""

    model: str
    chip: str
    weights: str
    prompt: int
    output: int
    error: float


@cache
def offline() -> tuple[Offline, ...]:
    """TensorRT-LLM's own throughputs with the constants of TensorRT-LLM under load, fitted on 1,024 in and out."""
    return tuple(
        _offline(row) for data in ("trtllm_v1_0_throughput", "trtllm_v1_0_moe") for row in measurement(data).records()
    )


def _offline(row: dict) -> Offline:
    model, chip, gpus = serving_runs.MODELS[row["model"]], serving_runs.CHIPS[row["chip"]], row["gpus"]
    prompt, output = row["input_tokens"], row["output_tokens"]
    mixture = catalogue.model(model).moe is not None
    found = predict_serving(
        model,
        chip=chip,
        chips=gpus,
        prompt=prompt,
        output=output,
        concurrency=serving_runs.requests(row),
        weights=row["weights"],
        engine="trtllm",
        tensor=1 if mixture else gpus,
        expert=gpus if mixture else 1,
        spread=1,
        requests=None,
    )
    error = found.tokens_per_s_per_chip * gpus / row["throughput_token_per_s"] - 1
    return Offline(model, chip, row["weights"], prompt, output, error)


def table() -> str:
    """The slices as text."""
    lengths = [f"{m} on {c}, {w}: {median_size(e):.1%}" for (m, c, w), e in offline_errors().items()]
    head = f"{'held out':<28}{'kind':<9}{'rows':>5}{'per token':>11}{'bias':>7}{'first':>8}{'bias':>7}"
    line = lambda s: (
        f"{s.held:<28}{s.kind:<9}{s.rows:>5}{s.output:>11.1%}{s.output_bias:>+7.0%}{s.first:>8.1%}{s.first_bias:>+7.0%}"
    )
    told = "throughput of other lengths, offline, median absolute error:"
    return "\n".join([head, *map(line, slices()), told, *lengths])


def offline_errors() -> dict[tuple[str, str, str], list[float]]:
    """Errors of offline runs by model, chip and format."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for run in offline():
        found.setdefault((run.model, run.chip, run.weights), []).append(run.error)
    return found


def median_size(errors: Sequence[float]) -> float:
    """Median of the absolute errors."""
    return statistics.median(map(abs, errors))


if __name__ == "__main__":
    write_slices()
    print(table())
