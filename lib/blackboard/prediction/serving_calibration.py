"""Constants of engines under load: six for each engine, chip and kind of model, fitted on public runs.

Fits are nested. All runs of dense models give one set of constants, toward which that of mixtures is drawn; those of
an engine are drawn toward its kind's, and those of an engine on one chip toward the engine's, so that few rows move
little. Whoever asks for a chip, an engine or a kind of model without rows gets the nearest set that has some, and is
told which.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from blackboard import catalogue
from blackboard.catalogue import Chip, Model, measurement
from blackboard.formula import Calibration
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.calibration import KINDS, kind
from blackboard.prediction.layout import Layout
from blackboard.prediction.serving_constants import CONSTANTS, EXPECTED
from blackboard.prediction.serving_runs import CHIPS
from blackboard.prediction.serving_steps import BLACKWELL, Server, build_server

DATA = {
    "serving_llama70b": "llama-3.1-70b",
    "serving_deepseek_r1": "deepseek-r1",
    "serving_gpt_oss_120b": "gpt-oss-120b",
}
WEIGHTS = {"gpt-oss-120b": "mxfp4"}  # what the file calls fp4
REQUESTS = 10  # of each user, in the benchmark's scripts
LEAST = 0.8  # of the nominal lengths
QUEUED = 5.0  # s: with a later first token, not all users were in flight

# --- rows -------------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """A measured run: its server, and seconds to the first token and per output token."""

    data: str
    server: Server
    first: float
    output: float

    @property
    def key(self) -> tuple[str, str, str]:
        return self.server.engine, self.server.chip.id, kind(self.server.model)

    @property
    def queued(self) -> bool:
        return self.first > QUEUED


def sharding(row: Mapping[str, Any]) -> tuple[int, int, int]:
    """Chips, tensor and expert of a row. Where experts are said to be cut n ways and dealt out n ways, the run had n
    chips and dealt them out: such rows repeat others of n chips.
    """
    tensor, expert, data = row["tensor_parallel"], row.get("expert_parallel", 1), row.get("attention_data_parallel", 1)
    if row.get("expert_tensor_parallel", 1) == expert > 1:
        return expert, expert if data == 1 else 1, expert
    return tensor * data, tensor, expert


def server_of(model: Model, row: Mapping[str, Any]) -> Server:
    """The server of a row of the public data."""
    chip, (chips, tensor, expert) = catalogue.chip(CHIPS[row["chip"]]), sharding(row)
    return build_server(
        Layout(model, chip, chips, tensor, expert),
        row["engine"],
        WEIGHTS.get(model.id, row["weights"]),
        row["input_tokens"],
        row["output_tokens"],
        row["concurrency"],
        REQUESTS,
        LEAST,
    )


def runs() -> list[Run]:
    """All rows of the catalogue, without those that repeat others."""
    found: dict[tuple[Server, float, float], Run] = {}
    for data, name in DATA.items():
        model = catalogue.model(name)
        for row in measurement(data).records():
            server = server_of(model, row)
            run = Run(data, server, float(row["first_token_ms"]) / 1e3, float(row["output_token_ms"]) / 1e3)
            found.setdefault((server, run.first, run.output), run)
    return list(found.values())


# --- times ------------------------------------------------------------------------------------------------------------

STEPS = ("decode", "prompt", "burst")


def stacked(plans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Plans of many servers as one, of arrays."""
    import numpy

    column = lambda values: numpy.array(values, float)
    one = {name: column([plan[name] for plan in plans]) for name in plans[0] if name not in STEPS}
    return one | {step: {name: column([p[step][name] for p in plans]) for name in plans[0][step]} for step in STEPS}


def loop_times(plan: Mapping[str, Any], constants: Mapping[str, float]) -> dict[str, Any]:
    """Seconds of the steps, per output token, to the first token and in the queue, of one plan or of stacked ones."""
    import numpy

    steps = {step: eq.mixed_time(plan[step], calibration=constants) for step in STEPS}
    values = {
        name: plan[name] for name in plan if name not in (*STEPS, "parts", "mixes", "others", "clumping", "at_once")
    }
    values |= {"decode_step": steps["decode"], "prompt_step": steps["prompt"], "burst_step": steps["burst"]}
    values["captured"] = plan["decode"]["captured"]
    mixes = numpy.asarray(plan["mixes"], bool)
    output = numpy.where(mixes, eq.mixed_token(values), eq.stalled_token(values))
    alone = numpy.where(mixes, steps["prompt"] - steps["decode"], steps["prompt"])
    busy = numpy.clip(plan["others"] / plan["prompts_taken"] * alone / output, 0, 0.9)
    share = numpy.minimum(1, plan["clumping"] * plan["others"] / plan["prompts_taken"])
    values["running_step"] = eq.mixed_token(values, prompt_share=share)
    queued = busy / plan["at_once"]  # a step takes all that fit into it
    whole = steps["prompt"] * plan["parts"]
    first = eq.first_token_time(
        values | {"output_token": output, "prompt_busy": queued, "prompt_step": whole}, calibration=constants
    )
    return steps | {"output": output, "first": first, "busy": busy}


# --- fits -------------------------------------------------------------------------------------------------------------


class Constant(NamedTuple):
    """A fitted constant: where a fit starts, its bounds, and how firmly it is drawn to the set above."""

    start: float
    least: float
    most: float
    firmness: float
    unit: str
    description: str


FITTED = {
    "memory_efficiency": Constant(0.85, 0.3, 0.95, 0.05, "1", "share of the bandwidth reached"),
    "compute_efficiency": Constant(0.4, 0.02, 0.95, 0.05, "1", "share of the products' rate reached"),
    "gap_time": Constant(5e-6, 1e-6, 3e-5, 0.05, "s", "from kernel to kernel of a captured step"),
    "eager_gap": Constant(4e-5, 1e-6, 4e-4, 0.05, "s", "to launch one kernel of a step with prompts"),
    "answer_time": Constant(2e-5, 1e-6, 2e-4, 0.05, "s", "to sample, schedule and send one token"),
    "request_gap": Constant(4e-5, 1e-6, 6e-4, 0.03, "s", "before a request's first step, for each kernel"),
}
LINKS = {"link_latency": 3.33e-6, "link_efficiency": 0.79}
SOFT, FIRST = 0.1, 0.5  # errors beyond SOFT weigh less; the first token counts this much beside the output token


def fit(group: Sequence[Run], centre: Mapping[str, float], kept: Sequence[str] = ()) -> dict[str, float]:
    """Constants of a group of runs, drawn toward a centre, where some are kept: least squares of logarithms, with a
    soft loss.
    """
    import numpy
    from scipy.optimize import least_squares

    plan, names = stacked([run.server.plan for run in group]), [name for name in FITTED if name not in kept]
    first, output = (numpy.array([getattr(run, name) for run in group]) for name in ("first", "output"))
    weight = _weights(group)
    queued = numpy.array([run.queued for run in group])
    middle = numpy.log([centre[name] for name in names])
    firm = math.sqrt(len(group)) * numpy.array([FITTED[name].firmness for name in names])

    def off(logs: Any) -> Any:
        times = loop_times(plan, LINKS | dict(centre) | dict(zip(names, numpy.exp(logs))))
        errors = numpy.log(times["output"] / output), FIRST * numpy.log(times["first"] / first)
        return numpy.concatenate([*(numpy.where(queued, 0, weight * each) for each in errors), firm * (logs - middle)])

    bounds = tuple([math.log(getattr(FITTED[name], side)) for name in names] for side in ("least", "most"))
    found = least_squares(off, middle, bounds=bounds, loss="soft_l1", f_scale=SOFT, max_nfev=60)
    return {**centre, **dict(zip(names, map(float, numpy.exp(found.x))))}


def _weights(group: Sequence[Run]) -> Any:
    """All models of a group weigh alike, however many rows they have."""
    import numpy

    names = [run.server.model.id for run in group]
    return numpy.sqrt([len(names) / len(set(names)) / names.count(name) for name in names])


START = {name: constant.start for name, constant in FITTED.items()}


def levels(key: tuple[str, str, str]) -> tuple[str, str, str]:
    """Names of the sets of constants that a run belongs to, from the widest."""
    engine, chip, kind = key
    return kind, f"{engine} {kind}", f"{engine} {chip} {kind}"


KEPT = ("eager_gap",)  # the host launches a kernel alike for all engines, chips and models: fitted once


def fit_all(group: Sequence[Run]) -> dict[str, dict[str, float]]:
    """All sets of constants by name: of kinds, of their engines, and of those on each chip."""
    found: dict[str, dict[str, float]] = {}
    for level in range(3):
        for name in dict.fromkeys(levels(run.key)[level] for run in group):
            inside = [run for run in group if levels(run.key)[level] == name]
            above = levels(inside[0].key)[level - 1]
            centre = found[above] if level else found.get("dense", START)
            found[name] = fit(inside, centre, KEPT if found else ())
    return found


# --- which constants --------------------------------------------------------------------------------------------------

HOPPER, GENERATIONS = ("h100-sxm", "h200", "h800"), {}
GENERATIONS.update(dict.fromkeys(HOPPER, HOPPER) | dict.fromkeys(BLACKWELL, BLACKWELL))


def nearest(known: Mapping[str, Any], engine: str, chip: str, kind: str) -> tuple[str, str]:
    """The set to take, and how near it is: "chip", "generation", "engine" or "kind"."""
    if f"{engine} {chip} {kind}" in known:
        return f"{engine} {chip} {kind}", "chip"
    for other in GENERATIONS.get(chip, ()):
        if f"{engine} {other} {kind}" in known:
            return f"{engine} {other} {kind}", "generation"
    return (f"{engine} {kind}", "engine") if f"{engine} {kind}" in known else (kind, "kind")


@dataclass(frozen=True)
class ServingConstants(Calibration):
    """Fitted constants that know how near they are, and the errors of runs held out at that distance."""

    description: str = ""
    near: str = ""
    errors: Mapping[str, float] | None = None


NEAR = {
    "chip": "fitted on {engine}, {chip}, {kind}",
    "generation": "fitted on {set}; {chip} is of the same generation, and its bandwidth, compute and links are those of"
    " its data sheet",
    "engine": "fitted on {set} on other chips; bandwidth, compute and links of {chip} are those of its data sheet",
    "kind": "fitted on {set} with other engines; {engine} has no runs of this kind",
}


def sourced(engine: str, chip: Chip, model: Model) -> ServingConstants:
    """The nearest fitted constants for an engine, a chip and a model."""
    what = kind(model)
    name, near = nearest(CONSTANTS, engine, chip.id, what)
    title = name.replace(what, KINDS[what])
    description = f"{title}: " + NEAR[near].format(engine=engine, chip=chip.id, kind=KINDS[what], set=title)
    fitted = [catalogue.model(each).id for each in DATA.values() if kind(catalogue.model(each)) == what]
    if model.id not in fitted:
        description += f"; of {', '.join(fitted)}, here {model.id}"
    errors = EXPECTED[what if model.id in fitted else f"{what}, other models"].get(near)
    return ServingConstants(name, "public serving runs", LINKS | CONSTANTS[name], description, near, errors)


def predicted(group: Sequence[Run], known: Mapping[str, Mapping[str, float]]) -> list[tuple[float, float]]:
    """Errors of the time per output token and to the first token: predicted over measured, less one."""
    errors = []
    for run in group:
        times = loop_times(run.server.plan, LINKS | dict(known[nearest(known, *run.key)[0]]))
        errors.append((float(times["output"]) / run.output - 1, float(times["first"]) / run.first - 1))
    return errors
