"""The cases that the page on a server under load works out, predicted, simulated and measured."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from scipy.optimize import brentq

from blackboard.lessons.overheads.implied import gpt_fast
from blackboard.prediction import predict_serving
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.continuous_batching import Request, Simulated, simulate
from blackboard.prediction.serving import ServingPrediction
from blackboard.prediction.serving_calibration import STEPS, Run, loop_times, predicted, runs
from blackboard.prediction.serving_constants import FACTORS
from blackboard.prediction.serving_steps import STEADY, Server, Settings, kernels
from blackboard.validation.serving_events import Opened, Wait, WatchedLoop, waits, watch, watch_open
from blackboard.validation.serving_slices import median_size, offline_errors

RUN: dict[str, Any] = {"model": "llama-3.1-70b", "chip": "h200", "chips": 4, "weights": "fp8", "prompt": 1024}
FEW, CROWD = 4, 64  # users of a quiet and of a busy server
CHAT, SHORT = 1024, 256  # longest answers, of the running case and of what is simulated at many loads
USERS = (1, 4, 16, 64, 256)
RATES = (4, 5, 6)  # requests per second of simulated open loops
OPEN_RATE = 3  # requests per second of the open loop that the page works out
ARRIVALS, SETTLED = 2400, 800  # requests of such a loop, and those left out at its start and at its end
CLOSE_UP = 4721, 4729  # steps of the running case that the page looks at closely
ROUNDS, WARM = 40, 10  # requests of each user of a simulated server that runs for long, and those left out at its start
LIMITS = 8192, 1024 + CROWD, 1024, 512  # tokens of a step: vLLM's, a whole prompt beside all users, and fewer
PROMISE = 0.02  # s: a promised time per token
JUMP = 16, 32  # users between whom the measured time per token grows more than the formulas say
WIDE = 2 * RUN["chips"]  # GPUs of a server twice as large


@cache
def served(users: float, output: float = CHAT) -> ServingPrediction:
    """The running case with so many users."""
    return predict_serving(**RUN, output=output, concurrency=users)


@cache
def simulated(users: int) -> Simulated:
    """The same server with short answers, event by event."""
    server = served(users, SHORT).server
    return simulate(server, served(users, SHORT).calibration.values)


@cache
def measured(users: int, chips: int = RUN["chips"]) -> Run:
    """The public run of the running case with so many users, on so many GPUs."""
    same = lambda server: (server.users, server.layout.chips) == (users, chips)
    (found,) = (run for run in runs() if run.key == ("vllm", RUN["chip"], "dense") and same(run.server))
    return found


def grown(fewer: int, more: int) -> float:
    """Seconds by which each further user slows a token between two measured loads."""
    return (measured(more).output - measured(fewer).output) / (more - fewer)


# --- the running case, symbol by symbol -------------------------------------------------------------------------------


@cache
def steady(**other: Any) -> ServingPrediction:
    """The running case long after its start, with other settings."""
    return predict_serving(**RUN | {"output": CHAT, "concurrency": CROWD, "requests": None} | other)


@cache
def values(users: float = CROWD) -> dict[str, float]:
    """The running case by symbol, in seconds and plain numbers, if each step takes in one prompt at most."""
    found, known = steady(concurrency=users), steady().calibration
    server = found.server
    v = {"concurrency": users, "prompt_length": server.prompt, "output_length": server.output}
    v["decode_step"] = found._times["decode"]
    v["prompt_step"] = eq.mixed_time(server.step(users, 1, server.prompt), calibration=known)
    v["prompt_share"] = eq.others_prompts(v, requests_per_user=STEADY)
    v["output_token"] = eq.mixed_token(v)
    v["before"] = kernels(server.model) * known.values["request_gap"]
    v["first_token"] = v["before"] + v["output_token"] + v["prompt_step"]
    v["t_response"] = eq.response_time(v)
    v["request_rate"] = eq.request_rate(v)
    return v


def causes() -> dict[str, float]:
    """Seconds by which each user slows everybody's tokens, by what takes them: a mean from few users to the crowd."""
    few, crowd = steady(concurrency=FEW), steady()
    both = [
        p._step_parts(p.server.plan["decode"]) | {"prompts": p.output_token - p._times["decode"]} for p in (few, crowd)
    ]
    more = {name: (both[1][name] - both[0][name]) / (CROWD - FEW) for name in both[0]}
    found = {name: more.pop(name) for name in ("answers", "cache", "links", "prompts")}
    return found | {"rest": sum(more.values())}


def rest_of_step() -> float:
    """Seconds that a step of the running case still takes on average at a random moment, which long ones meet more."""
    v = values()
    squares = eq.mixed_token(v, decode_step=v["decode_step"] ** 2, prompt_step=v["prompt_step"] ** 2)
    return squares / (2 * v["output_token"])


def most_users(token: Callable[[float], float], promised: float = PROMISE) -> int:
    """Users for whom a server that needs so many seconds per token keeps a promise."""
    return math.floor(brentq(lambda users: token(users) - promised, 1, 1000))


def users_within(promised: float) -> int:
    """Users for whom the running case writes a token in this time, by the full formulas."""
    return most_users(lambda users: steady(concurrency=users).output_token, promised)


AGENT = {"prompt": 8_000, "output": 400, "spread": 1}  # a request with a long prompt and a short answer


def agents_within(promised: float) -> int:
    """Users with such requests for whom the same server writes a token in this time."""
    return most_users(lambda users: steady(concurrency=users, **AGENT).output_token, promised)


def opening_wait(run: ServingPrediction) -> float:
    """Seconds that the first requests of all users wait in the engine, on average."""
    return run._times["burst"] * (run.server.plan["burst_groups"] + 1) / 2


class FirstTokens(NamedTuple):
    """Mean seconds to the first token, by one route: of the benchmark's first requests, of its later ones, of all."""

    opening: float
    later: float
    all: float


def first_tokens() -> dict[str, FirstTokens]:
    """The benchmark's means for the running case, by hand and simulated."""
    v, bench, (later, opening) = values(), served(CROWD), heaps()
    by_hand, rare = v["before"] + opening_wait(bench), 1 / bench.server.requests
    mean = (1 - rare) * v["first_token"] + rare * by_hand
    simulated = FirstTokens(*(statistics.mean(times) for times in (opening, later, opening + later)))
    return {"by hand": FirstTokens(by_hand, v["first_token"], mean), "simulated": simulated}


def queue_load(run: ServingPrediction) -> float:
    """The share of a run's time in which a prompt finds no room."""
    return run._times["busy"] / run.server.plan["at_once"]


class Point(NamedTuple):
    """A number of users: output tokens per second of a GPU, and seconds per token."""

    users: float
    chip_rate: float
    token: float


def predicted_points(users: Iterable[float]) -> list[Point]:
    """The running case with so many users."""
    each = ((n, steady(concurrency=n)) for n in users)
    return [Point(n, p.tokens_per_s_per_chip, p.output_token) for n, p in each]


def measured_points() -> list[Point]:
    """The public runs of the server, their throughput from both times by Little's law."""
    found = []
    for run in runs():
        if run.key == ("vllm", RUN["chip"], "dense") and run.server.layout.chips == RUN["chips"]:
            v = {"concurrency": run.server.users, "output_length": run.server.output}
            rate = eq.request_rate(v, first_token=run.first, output_token=run.output)
            found.append(Point(run.server.users, rate * run.server.output / RUN["chips"], run.output))
    return found


@cache
def opened() -> ServingPrediction:
    """The running case as an open loop, at the rate of the closed one."""
    return predict_serving(**RUN, output=CHAT, rate=values()["request_rate"])


@cache
def arrived(rate: float) -> Opened:
    """Requests that come to the running case at random, simulated; their wait outside the engine counts."""
    found = opened().at_rate(rate)
    loop = watch_open(found.server, found.calibration.values, rate, ARRIVALS, SETTLED)
    return loop._replace(first=loop.first + values()["before"])


def own_work() -> tuple[float, float]:
    """Seconds that a full server works longer for one more prompt, and for one more answer: what no others share."""
    server, known = served(CROWD).server, served(CROWD).calibration
    users, length = math.floor(server.fits), server.prompt
    time = lambda decodes, prompts: eq.mixed_time(server.step(decodes, prompts, prompts * length), calibration=known)
    return time(users, 2) - time(users, 1), (time(users, 1) - time(users - 1, 1)) * server.output


def compute_each() -> tuple[float, float]:
    """Seconds of compute with the weights for one token more of a step, and for the output layer if it is sent."""
    server, share = steady().server, steady().calibration.values["compute_efficiency"]
    work = lambda decodes, tokens: server.step(decodes, 1, tokens)["shared_multiply"] / share
    token = work(1, 2) - work(1, 1)
    return token, work(2, 1) - work(1, 1) - token


# --- what if ----------------------------------------------------------------------------------------------------------


def device_seconds(step: dict[str, float]) -> float:
    """The device's time for a step of the running case."""
    return eq.device_time(step, calibration=steady().calibration)


def launching() -> float:
    """Seconds in which the host launches a step with prompts."""
    return kernels(steady().server.model) * steady().calibration.values["eager_gap"]


def launch_turn() -> float:
    """Seconds per launch above which a GPU twice as fast waits for the launches of a step with a prompt."""
    server = steady().server
    return device_seconds(faster(server.step(CROWD, 1, server.prompt), 2)) / kernels(server.model)


def saturation() -> float:
    """Tokens of a step without prompts whose products take as long as loading the weights."""
    step, known = served(CROWD).server.plan["decode"], served(CROWD).calibration.values
    read, multiply = (step[f"shared_{what}"] for what in ("read", "multiply"))
    return CROWD * read / known["memory_efficiency"] / (multiply / known["compute_efficiency"])


def faster(step: dict[str, float], gpu: float) -> dict[str, float]:
    """A step on a GPU whose memory and products are so many times as fast."""
    works = "_read", "_multiply", "_attend"
    return {name: value / gpu if name.endswith(works) else value for name, value in step.items()}


def sped_up(gpu: float = 1, users: float = CROWD, **other: float) -> float:
    """Seconds per token if memory and products were so many times as fast, and constants had these values."""
    found = steady(concurrency=users)
    plan, constants = found.server.plan, {**found.calibration.values, **other}
    return float(loop_times(plan | {name: faster(plan[name], gpu) for name in STEPS}, constants)["output"])


def light_slope() -> float:
    """Seconds that each user adds on a GPU twice as fast, if a launch takes as long as in plain PyTorch."""
    token = lambda users: sped_up(2, users, eager_gap=gpt_fast().each)
    return (token(CROWD) - token(FEW)) / (CROWD - FEW)


class Change(NamedTuple):
    """A change of the server: seconds a token for a few users and for the crowd, and users within the promise."""

    what: str
    few: float
    crowd: float
    users: int


def changes() -> list[Change]:
    """What another GPU or engine would make of a token, for a few users and for the crowd."""
    known = steady().calibration.values
    told: dict[str, Callable[[float], float]] = {
        "as it is": lambda users: steady(concurrency=users).output_token,
        "twice the bandwidth and FLOPs": lambda users: sped_up(gpu=2, users=users),
        f"{WIDE} GPUs instead of {RUN['chips']}": lambda users: steady(concurrency=users, chips=WIDE).output_token,
        "half the pauses between kernels": lambda users: sped_up(users=users, gap_time=known["gap_time"] / 2),
        "half the time to hand out tokens": lambda users: sped_up(users=users, answer_time=known["answer_time"] / 2),
    }
    return [Change(what, token(FEW), token(CROWD), most_users(token)) for what, token in told.items()]


# --- events -----------------------------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """Seconds: the mean, the median, and what 99 of 100 stay below."""

    mean: float
    median: float
    high: float


def spread(times: Sequence[float]) -> Spread:
    """The spread of these times."""
    return Spread(statistics.fmean(times), statistics.median(times), statistics.quantiles(times, n=100)[98])


class Settled(NamedTuple):
    """A simulated server that has run for long: seconds to the first token, per token of an answer, and between two
    tokens; which such gap one in a thousand exceeds, and the share of the gaps that have a prompt's step.
    """

    first: Spread
    token: Spread
    gaps: Spread
    rare_gap: float
    halts: float


@cache
def settled(users: int = CROWD, room: int = LIMITS[0]) -> Settled:
    """The running case with so many users and so many tokens in a step, without its start and its end."""
    found = predict_serving(**RUN, output=CHAT, concurrency=users, requests=ROUNDS, settings=Settings(room, True))
    loop, warm = WatchedLoop(found.server, found.calibration.values, found.server.spread, 0), 0
    while len(loop.done) < users * (ROUNDS - 2):
        loop.step()
        warm = warm or len(loop.gaps) * (len(loop.done) >= users * WARM)
    first, token, _ = zip(*loop.done[users * WARM :])
    gaps, least = loop.gaps[warm:], (values()["decode_step"] + launching()) / 2
    rare, halts = statistics.quantiles(gaps, n=1000)[998], sum(gap > least for gap in gaps) / len(gaps)
    whole = [wait + values()["before"] for wait in first]
    return Settled(spread(whole), spread(token), spread(gaps), rare, halts)


@cache
def watched(output: float = CHAT, room: int = 8) -> tuple[ServingPrediction, WatchedLoop]:
    """The benchmark's run with room for so many prompts in a step: predicted, and simulated."""
    settings = Settings(RUN["prompt"] * room + (CROWD if room < 8 else 0), True)
    found = predict_serving(**RUN, output=output, concurrency=CROWD, settings=settings)
    return found, watch(found.server, found.calibration.values)


class Step(NamedTuple):
    """A step of the simulated running case: when it ran, and how many prompts it completed."""

    start: float
    end: float
    prompts: int


@cache
def steps() -> list[Step]:
    """All steps of the simulated running case."""
    loop = watched()[1]
    taken = Counter(start for _, start in loop.taken)
    return [Step(start, end, taken[start]) for start, end in zip([0.0, *loop.ends], loop.ends)]


def newcomers(some: list[Step]) -> list[Request]:
    """Requests that come during these steps, after the end of the first one."""
    return [each for each, _ in watched()[1].taken if some[0].end <= each.came < some[-1].end]


def close_up() -> list[Step]:
    """The steps that the page looks at closely."""
    return steps()[slice(*CLOSE_UP)]


def queued() -> tuple[float, float]:
    """Seconds that prompts wait for others, predicted and simulated: room for one in a step, and short answers."""
    found, loop = watched(SHORT, 1)
    simulated = statistics.mean(wait.queue for wait in waits(loop) if not wait.opening)
    return eq.queue_time(prompt_busy=queue_load(found), prompt_step=found._times["prompt"]), simulated


@cache
def requests() -> list[Wait]:
    """What every simulated request of the running case waited for, with its time before the engine."""
    before = values()["before"]
    return [wait._replace(whole=wait.whole + before) for wait in waits(watched()[1])]


def heaps() -> tuple[list[float], list[float]]:
    """Seconds to the first token of the simulated requests of the running case: of later ones, and of first ones."""
    later, first = (sorted(wait.whole for wait in requests() if wait.opening is way) for way in (False, True))
    return later, first


# --- errors -----------------------------------------------------------------------------------------------------------


def offline_error(*models: str) -> float:
    """The median error of throughputs at full load, over all lengths, of these models."""
    found = [error for (id, *_), each in offline_errors().items() if id in models for error in each]
    return median_size(found)


def drafted() -> tuple[int, float, float, float]:
    """Runs that probably drafted tokens: how many, their mean error, and how many times as fast their tokens are as
    those of runs with the same settings, at least and at most.
    """
    found, alike = runs(drafted=True), {run.server: run.output for run in runs()}
    ratios = [alike[run.server] / run.output for run in found if run.server in alike]
    return len(found), statistics.mean(abs(token) for token, _ in predicted(found, FACTORS)), min(ratios), max(ratios)


def repeated() -> tuple[int, float, float]:
    """Settings that ran more than once: how many, and by how much the slowest run takes longer than the fastest on
    average, per token and to the first.
    """
    same: dict[Server, list[Run]] = {}
    for run in runs():
        same.setdefault(run.server, []).append(run)
    groups = [group for group in same.values() if len(group) > 1]
    longer = lambda times: max(times) / min(times) - 1
    apart = [(longer([run.output for run in group]), longer([run.first for run in group])) for group in groups]
    token, first = map(statistics.mean, zip(*apart))
    return len(groups), token, first
