"""Constants of engines under load: six for a server, each a product of factors that were fitted on public runs.

Few engines ran on few chips with few models, so a set for each combination would have few rows, and none where nobody
measured. Instead each constant is one value for all servers, times a factor for the kind of model, the model, the
engine, the chip's generation, and the engine with each of these. All factors are fitted at once and drawn toward one,
so that few rows move little. What has no rows has no factor, and whoever asks is told.
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
from blackboard.prediction.serving_constants import EXPECTED, FACTORS, MEASURED
from blackboard.prediction.serving_runs import CHIPS
from blackboard.prediction.serving_steps import BLACKWELL, HOPPER, Server, build_server

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
    def factors(self) -> tuple[str, ...]:
        return factors_of(self.server.engine, self.server.chip.id, self.server.model)

    @property
    def queued(self) -> bool:
        return self.first > QUEUED


def sharding(row: Mapping[str, Any]) -> tuple[int, int, int]:
    """Chips, tensor and expert of a row. Where experts are said to be cut n ways and dealt out n ways, the run had n
    chips and dealt them out. So did TensorRT-LLM where they are said to be cut: its scripts set ep_size to tp_size.
    """
    tensor, expert, data = row["tensor_parallel"], row.get("expert_parallel", 1), row.get("attention_data_parallel", 1)
    cut = row.get("expert_tensor_parallel", 1)
    if cut == expert > 1:
        return expert, expert if data == 1 else 1, expert
    return tensor * data, tensor, cut if row["engine"] == "trtllm" and cut > 1 else expert


def drafts(data: str, row: Mapping[str, Any]) -> bool:
    """Whether a run probably drafted tokens, which no row says: the benchmark lists DeepSeek-R1 with TensorRT-LLM on
    H200 with attention in data parallel only with drafts, and with them at the very loads of the rows labelled so.
    """
    return data == "serving_deepseek_r1" and row["engine"] == "trtllm" and row["expert_parallel"] > 1


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


def runs(drafted: bool = False) -> list[Run]:
    """All rows of the catalogue without those that repeat others, and without those that drafted, or these alone."""
    found: dict[tuple[Server, float, float], Run] = {}
    for data, name in DATA.items():
        model = catalogue.model(name)
        for row in measurement(data).records():
            if drafts(data, row) != drafted:
                continue
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
    values["alone_step"] = steps["prompt"]  # of an engine that does not decode beside prompts
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
    return steps | {"output": output, "first": first, "busy": busy, "alone": alone}


# --- fits -------------------------------------------------------------------------------------------------------------


class Constant(NamedTuple):
    """A fitted constant: where a fit starts, its bounds, and how far a factor may move it at ease (as a logarithm)."""

    start: float
    least: float
    most: float
    ease: float
    unit: str
    description: str


FITTED = {
    "memory_efficiency": Constant(0.85, 0.3, 0.95, 0.3, "1", "share of the bandwidth reached"),
    "compute_efficiency": Constant(0.4, 0.02, 0.95, 0.3, "1", "share of the products' rate reached"),
    "gap_time": Constant(5e-6, 1e-6, 3e-5, 0.3, "s", "pause between two kernels"),
    "eager_gap": Constant(4e-5, 1e-6, 4e-4, 0.0, "s", "to launch one kernel of a step with prompts"),
    "answer_time": Constant(2e-5, 1e-6, 2e-4, 0.3, "s", "to sample, schedule and send one token"),
    "request_gap": Constant(4e-5, 1e-6, 6e-4, 0.6, "s", "before a request's first step, for each kernel"),
}
LINKS = {"link_latency": 3.33e-6, "link_efficiency": 0.79}
SOFT, FIRST = 0.1, 0.5  # errors beyond SOFT weigh less; the first token counts this much beside the output token
ALL = "all"  # the factor that every server has; the host launches a kernel alike for all, so eager_gap has no other
GENERATIONS = dict.fromkeys(HOPPER, "hopper") | dict.fromkeys(BLACKWELL, "blackwell")


def factors_of(engine: str, chip: str, model: Model) -> tuple[str, ...]:
    """Names of the factors that a server's constants are products of, from the widest."""
    groups = (kind(model), like(model), GENERATIONS.get(chip, chip))
    return (ALL, engine, *groups, *(f"{engine} {each}" for each in groups))


def like(model: Model) -> str:
    """Id of the fitted model of the same shape, whatever its name; its own where none was fitted."""
    shape = lambda each: (each.layers, each.d_model, each.vocab)
    return next((name for name in DATA.values() if shape(catalogue.model(name)) == shape(model)), model.id)


def constants_of(known: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> dict[str, float]:
    """Products of the factors that are known, within the bounds of each constant."""
    product = lambda constant: math.prod(known[name].get(constant, 1.0) for name in names if name in known)
    return {name: min(max(product(name), each.least), each.most) for name, each in FITTED.items()}


class Fit:
    """Least squares of logarithms over all factors of a group of runs at once, with a soft loss."""

    def __init__(self, group: Sequence[Run]) -> None:
        import numpy

        self.plan = stacked([run.server.plan for run in group])
        measured = ([run.output for run in group], [run.first for run in group])
        self.output, self.first = map(numpy.array, measured)
        self.weight = _weights(group) / SOFT
        self.names = list(dict.fromkeys(name for run in group for name in run.factors))
        self.has = numpy.array([[name in run.factors for name in self.names] for run in group], float)
        eases = [each.ease for each in FITTED.values()]
        self.ease = numpy.array([[1.0] * len(eases) if name == ALL else eases for name in self.names])
        self.start, self.least, self.most = (
            numpy.log([getattr(each, side) for each in FITTED.values()]) for side in ("start", "least", "most")
        )

    def logs(self, steps: Any) -> Any:
        """Logarithms of the constants of each run, for factors given in steps of their ease."""
        return self.start + self.has @ (steps.reshape(self.ease.shape) * self.ease)

    def errors(self, logs: Any) -> Any:
        """Weighted errors per output token, then to the first token."""
        import numpy

        times = loop_times(self.plan, LINKS | dict(zip(FITTED, numpy.exp(logs.clip(self.least, self.most)).T)))
        both = numpy.log(times["output"] / self.output), FIRST * numpy.log(times["first"] / self.first)
        return numpy.concatenate([self.weight * each for each in both])

    def off(self, steps: Any) -> Any:
        import numpy

        return numpy.concatenate([self.errors(self.logs(steps)), steps])

    def slopes(self, steps: Any) -> Any:
        """Derivatives of `off`: a run's errors depend on its own six constants only."""
        import numpy

        logs, small = self.logs(steps), 1e-4
        here, found = self.errors(logs), []
        has = numpy.concatenate([self.has, self.has])
        for column in range(len(FITTED)):
            moved = logs.copy()
            moved[:, column] += small
            slope = (self.errors(moved) - here) / small
            found.append(slope[:, None] * has * self.ease[:, column])
        inner = numpy.stack(found, 2).reshape(len(here), -1)
        return numpy.concatenate([inner, numpy.eye(inner.shape[1])])

    def solve(self) -> dict[str, dict[str, float]]:
        """Factors by name; those of all servers are the constants themselves."""
        import numpy
        from scipy.optimize import least_squares

        begin = numpy.zeros(self.ease.size)
        steps = least_squares(self.off, begin, jac=self.slopes, loss="soft_l1", max_nfev=60, ftol=1e-5, xtol=1e-5).x
        logs = steps.reshape(self.ease.shape) * self.ease
        logs[self.names.index(ALL)] += self.start
        return {name: dict(zip(FITTED, map(float, numpy.exp(row)))) for name, row in zip(self.names, logs)}


def _weights(group: Sequence[Run]) -> Any:
    """All models of a group weigh alike, however many rows they have."""
    import numpy

    names = [run.server.model.id for run in group]
    return numpy.sqrt([len(names) / len(set(names)) / names.count(name) for name in names])


def fit_all(group: Sequence[Run]) -> dict[str, dict[str, float]]:
    """All factors by name, of runs that do not queue."""
    return Fit(group).solve()


# --- which constants --------------------------------------------------------------------------------------------------


def nearest(engine: str, chip: str, kind: str) -> str:
    """How near the fitted runs are to a server: of the same "chip", "generation" or "engine", or only "kind"."""
    if f"{engine} {chip} {kind}" in MEASURED:
        return "chip"
    if any(f"{engine} {each} {kind}" in MEASURED for each in alike(chip)):
        return "generation"
    return "engine" if any(each.split()[::2] == [engine, kind] for each in MEASURED) else "kind"


def alike(chip: str) -> list[str]:
    """Chips of the same generation."""
    return [each for each, name in GENERATIONS.items() if name == GENERATIONS.get(chip)]


@dataclass(frozen=True)
class ServingConstants(Calibration):
    """Fitted constants that know how near they are, and the errors of runs held out at that distance."""

    description: str = ""
    near: str = ""
    errors: Mapping[str, float] | None = None


NEAR = {
    "chip": "fitted on {engine}, {chip}, {kind}",
    "generation": "fitted on {engine}, {measured}, {kind}; {chip} is of the same generation, and its bandwidth, compute"
    " and links are those of its data sheet",
    "engine": "fitted on {engine}, {measured}, {kind}; bandwidth, compute and links of {chip} are those of its data"
    " sheet",
    "kind": "fitted on {kind} with other engines; {engine} has no runs of this kind",
}


def sourced(engine: str, chip: Chip, model: Model) -> ServingConstants:
    """The constants of an engine, a chip and a model, how near the fitted runs are, and the errors to expect."""
    what = kind(model)
    near = nearest(engine, chip.id, what)
    measured = " and ".join(each.split()[1] for each in MEASURED if each.split()[::2] == [engine, what])
    description = NEAR[near].format(engine=engine, chip=chip.id, kind=KINDS[what], measured=measured)
    fitted = [catalogue.model(each).id for each in DATA.values() if kind(catalogue.model(each)) == what]
    if model.id not in fitted:
        description += f"; of {', '.join(fitted)}, here {model.id}"
    errors = EXPECTED[what if model.id in fitted else f"{what}, other models"].get(near)
    values = LINKS | constants_of(FACTORS, factors_of(engine, chip.id, model))
    return ServingConstants(f"{engine} {chip.id} {what}", "public serving runs", values, description, near, errors)


def predicted(group: Sequence[Run], known: Mapping[str, Mapping[str, float]]) -> list[tuple[float, float]]:
    """Errors of the time per output token and to the first token: predicted over measured, less one."""
    errors = []
    for run in group:
        times = loop_times(run.server.plan, LINKS | constants_of(known, run.factors))
        errors.append((float(times["output"]) / run.output - 1, float(times["first"]) / run.first - 1))
    return errors
