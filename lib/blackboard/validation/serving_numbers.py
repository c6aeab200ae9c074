"""Every number that the page on a server under load prints."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from scipy.optimize import brentq

from blackboard.catalogue import Heads
from blackboard.prediction import predict_serving
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.continuous_batching import Loop, Request, Simulated, simulate
from blackboard.prediction.serving import ServingPrediction
from blackboard.prediction.serving_calibration import STEPS, Run, loop_times, predicted, runs, sourced
from blackboard.prediction.serving_constants import FACTORS
from blackboard.prediction.serving_steps import ATTENTION_KERNELS, DENSE_KERNELS, OTHER_KERNELS, Settings, kernels
from blackboard.units import percent, pretty, significant
from blackboard.validation.serving_events import Opened, Wait, WatchedLoop, waits, watch, watch_open
from blackboard.validation.serving_slices import median_size, offline_errors, over

RUN: dict[str, Any] = {"model": "llama-3.1-70b", "chip": "h200", "chips": 4, "weights": "fp8", "prompt": 1024}
FEW, CROWD = 4, 64  # users of a quiet and of a busy server
CHAT, SHORT = 1024, 256  # longest answers, of the running case and of what is simulated at many loads
USERS = (1, 4, 16, 64, 256)
QUEUES = (CHAT, 8), (CHAT, 2), (CHAT, 1), (SHORT, 1)  # longest answers, and prompts that a step has room for
RATES = (4, 5, 6)  # requests per second of simulated open loops
ARRIVALS, SETTLED = 2400, 800  # requests of such a loop, and those left out at its start and at its end
CLOSE_UP = 4721, 4729  # steps of the running case that the page looks at closely
LETTERS, SMALL_ROOM = "abcdefghij", 8  # a prompt of a token per letter, and tokens of a step that is too small for it
LIMIT = 1024  # tokens of a step where an operator sets fewer
PROMISED_FIRST, PROMISED_TOKEN = 0.5, 0.02  # s: times that a server may promise

_ms = lambda seconds: pretty(seconds, "s", 3)


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
def measured(users: int) -> Run:
    """The public run of the running case with so many users."""
    same = lambda server: (server.users, server.layout.chips) == (users, RUN["chips"])
    (found,) = (run for run in runs() if run.key == ("vllm", RUN["chip"], "dense") and same(run.server))
    return found


# --- the running case, symbol by symbol -------------------------------------------------------------------------------


@cache
def values() -> dict[str, float]:
    """All that the formulas of the running case contain and give, by symbol, in seconds and plain numbers."""
    crowd = served(CROWD)
    server, plan, times, constants = crowd.server, crowd.server.plan, crowd._times, crowd.calibration.values
    found = {
        "concurrency": CROWD,
        "prompt_length": server.prompt,
        "output_length": server.output,
        "nominal_length": CHAT,
        "least_share": server.spread,
        "requests_per_user": server.requests,
        "decode_step": times["decode"],
        "prompt_step": times["prompt"],
        "burst_step": times["burst"],
        "burst_groups": plan["burst_groups"],
        "clumping": plan["clumping"],
        "prompts_per_step": eq.prompts_per_step(concurrency=CROWD, output_length=server.output),
        "others_prompts": plan["others"],
        "prompts_taken": plan["prompts_taken"],
        "prompt_share": plan["prompt_share"],
        "output_token": times["output"],
        "held_steps": plan["held_steps"],
        "prompt_busy": times["busy"] / plan["at_once"],
        "first_token": crowd.first_token,
        "t_response": crowd.response,
        "request_rate": crowd.requests_per_s,
    }
    found["coming"] = found["clumping"] * found["prompts_per_step"]
    found["taken_together"] = eq.taken_together(coming=found["coming"])
    found["running_step"] = eq.mixed_token(found, prompt_share=found["clumping"] * found["prompt_share"])
    found["t_queue"] = eq.queue_time(found)
    found["before"] = plan["decode"]["captured"] * constants["request_gap"]
    return found


def first_waits() -> dict[str, float]:
    """Seconds to the first token in the server: of a later request, and of a user's first one."""
    v = values()
    later = v["running_step"] + v["t_queue"] + v["prompt_step"]
    return {"later": later, "opening": v["burst_step"] * (v["burst_groups"] + 1) / 2}


def causes() -> dict[str, float]:
    """Seconds of a mean output token by what takes them: what a few users wait for, and what the crowd adds."""
    both = served(FEW), served(CROWD)
    calm, together = (p._step_parts(p.server.plan["decode"]) for p in both)
    more = {name: together[name] - calm[name] for name in together}
    few, crowd = (p.output_token - p._times["decode"] for p in both)
    return {
        "few": both[0].output_token,
        "answers": more.pop("answers"),
        "cache": more.pop("cache"),
        "links": more.pop("links"),
        "rest": sum(more.values()),
        "prompts": crowd - few,
    }


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


# --- what if ----------------------------------------------------------------------------------------------------------


def device_seconds(step: dict[str, float]) -> float:
    """The device's time for a step of the running case."""
    return eq.device_time(step, calibration=served(CROWD).calibration)


def launching() -> float:
    """Seconds in which the host launches a step with prompts."""
    crowd = served(CROWD)
    return crowd.server.plan["prompt"]["launched"] * crowd.calibration.values["eager_gap"]


def launch_bound() -> float:
    """Tokens of prompts in a step of the running case with which launching takes as long as the device."""
    server = served(CROWD).server
    return brentq(lambda tokens: device_seconds(server.step(CROWD, 1, tokens)) - launching(), 1, server.prompt * 2)


def saturation() -> float:
    """Tokens of a step without prompts whose products take as long as loading the weights."""
    step, known = served(CROWD).server.plan["decode"], served(CROWD).calibration.values
    read, multiply = (step[f"shared_{what}"] for what in ("read", "multiply"))
    return CROWD * read / known["memory_efficiency"] / (multiply / known["compute_efficiency"])


def sped_up(gpu: float = 1, engine: float = 1, users: float = CROWD) -> dict[str, Any]:
    """Times of so many users if memory and products were so many times as fast, and pauses, launches and sending."""
    found, works, own = served(users), ("_read", "_multiply", "_attend"), ("gap_time", "eager_gap", "answer_time")
    less = lambda step: {name: value / gpu if name.endswith(works) else value for name, value in step.items()}
    constants = {name: value / engine if name in own else value for name, value in found.calibration.values.items()}
    plan = found.server.plan
    return loop_times(plan | {name: less(plan[name]) for name in STEPS}, constants)


@cache
def fitted_leaner(users: float) -> ServingPrediction:
    """The running case with so many users and the constants that were fitted to TensorRT-LLM."""
    server = served(users).server
    return replace(served(users), calibration=sourced("trtllm", server.chip, server.model))


class Change(NamedTuple):
    """A change of the server, and what comes of it: seconds a token for a few users and for the crowd."""

    what: str
    few: float
    crowd: float


def changes() -> list[Change]:
    """What another GPU or engine would make of a token, for a few users and for the crowd."""
    wide = lambda users: predict_serving(**RUN | {"chips": 2 * RUN["chips"]}, output=CHAT, concurrency=users)
    told: dict[str, Callable[[int], float]] = {
        "as it is": lambda users: served(users).output_token,
        "twice the bandwidth and FLOPs": lambda users: sped_up(gpu=2, users=users)["output"],
        "the constants fitted to TensorRT-LLM": lambda users: fitted_leaner(users).output_token,
        "half the pauses, launches and sending": lambda users: sped_up(engine=2, users=users)["output"],
        f"{2 * RUN['chips']} GPUs instead of {RUN['chips']}": lambda users: wide(users).output_token,
    }
    return [Change(what, float(token(FEW)), float(token(CROWD))) for what, token in told.items()]


class Knob(NamedTuple):
    """A setting of a server that has run for long: seconds a token and to the first one, tokens per second of a GPU."""

    what: str
    token: float
    first: float
    chip_rate: float


@cache
def steady(**other: Any) -> ServingPrediction:
    """The running case long after its start, with other settings."""
    return predict_serving(**RUN | {"output": CHAT, "concurrency": CROWD, "requests": None} | other)


def cached_prefix(share: float) -> Knob:
    """The steady running case if a share of each prompt is in a prefix cache: steps have fewer tokens to process."""
    server, known = steady().server, steady().calibration.values
    prompts = server.plan["prompts_taken"]
    step = server.step(CROWD, prompts, (1 - share) * prompts * server.prompt)
    times = loop_times(server.plan | {"prompt": step}, known)
    found = {"concurrency": CROWD, "output_length": server.output, "first_token": times["first"]}
    rate = eq.request_rate(found, output_token=times["output"]) * server.output / RUN["chips"]
    return Knob("half of each prompt in the prefix cache", float(times["output"]), float(times["first"]), rate)


def knobs() -> list[Knob]:
    """What the settings that are one's own do."""
    told = {
        "as it is": steady(),
        f"at most {LIMIT:,} tokens in a step": steady(settings=Settings(LIMIT, True)),
        f"{CROWD // 2} users": steady(concurrency=CROWD / 2),
        f"prompts of up to {RUN['prompt'] // 2} tokens": steady(prompt=RUN["prompt"] / 2),
    }
    found = [Knob(what, p.output_token, p.first_token, p.tokens_per_s_per_chip) for what, p in told.items()]
    return [*found, cached_prefix(1 / 2)]


def prompts_alone() -> float:
    """Seconds of a step of the running case that takes in its prompts, and decodes nothing."""
    crowd, prompts = served(CROWD), values()["prompts_taken"]
    return eq.mixed_time(crowd.server.step(0, prompts, prompts * crowd.server.prompt), calibration=crowd.calibration)


# --- events -----------------------------------------------------------------------------------------------------------


@cache
def watched(output: float = CHAT, room: int = 8) -> tuple[ServingPrediction, WatchedLoop]:
    """The running case with room for so many prompts in a step: predicted, and simulated."""
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


class Queue(NamedTuple):
    """Seconds that prompts wait for others: by our formula, and in the simulation."""

    ours: float
    simulated: float


def queued(output: float, room: int) -> Queue:
    """The wait for other prompts of all requests but each user's first, of answers up to a length."""
    found, loop = watched(output, room)
    busy, step = found._times["busy"] / found.server.plan["at_once"], found._times["prompt"]
    simulated = statistics.mean(wait.queue for wait in waits(loop) if not wait.opening)
    return Queue(eq.queue_time(prompt_busy=busy, prompt_step=step), simulated)


@cache
def requests() -> list[Wait]:
    """What every simulated request of the running case waited for, with its time before the engine."""
    before = values()["before"]
    return [wait._replace(whole=wait.whole + before) for wait in waits(watched()[1])]


def heaps() -> tuple[list[float], list[float]]:
    """Seconds to the first token of the simulated requests of the running case: of later ones, and of first ones."""
    later, first = (sorted(wait.whole for wait in requests() if wait.opening is way) for way in (False, True))
    return later, first


class Spread(NamedTuple):
    """Seconds: the mean, the median, and what 99 of 100 stay below."""

    mean: float
    median: float
    high: float


def spread(times: list[float]) -> Spread:
    """The spread of these times."""
    return Spread(statistics.mean(times), statistics.median(times), statistics.quantiles(times, n=100)[98])


def spreads() -> dict[str, Spread]:
    """Spreads of the simulated times of the running case."""
    return {
        "TTFT": spread([wait.whole for wait in requests()]),
        "TTFT without each user’s first request": spread(heaps()[0]),
        "TPOT": spread([wait.token for wait in requests()]),
        "ITL": spread(watched()[1].gaps),
    }


def kept() -> float:
    """The share of the simulated requests that are served within the promised times."""
    return statistics.mean(wait.whole <= PROMISED_FIRST and wait.token <= PROMISED_TOKEN for wait in requests())


class Chunk(NamedTuple):
    """A step of an engine: users that decode, letters of a new prompt that it processes, tokens sent for it so far."""

    decoding: int
    letters: str
    sent: int


def chunks() -> list[Chunk]:
    """Steps that take in a prompt longer than their room, beside two users who decode."""
    options = RUN | {"prompt": len(LETTERS), "output": CHAT, "spread": 1, "settings": Settings(SMALL_ROOM, True)}
    found = predict_serving(**options, concurrency=3)
    loop = Loop(found.server, found.calibration.values, 1, 0)
    loop.running = [loop.waiting.popleft(), loop.waiting.popleft()]
    new, steps = loop.waiting[0], []
    while new.sent < 2:
        decoding, read = len(loop.running), new.read
        loop.step()
        steps.append(Chunk(decoding, LETTERS[read : new.read], new.sent))
    return steps


# --- texts ------------------------------------------------------------------------------------------------------------


def opening() -> dict[str, str]:
    """What was measured, and where the time goes."""
    few, many, crowd = measured(FEW), measured(CROWD), served(CROWD)
    parts = causes()
    extra = crowd.output_token - parts["few"]
    later, first = heaps()
    return {
        "few": str(FEW),
        "crowd": str(CROWD),
        "few_token": _ms(few.output),
        "many_token": _ms(many.output),
        "few_first": _ms(few.first),
        "many_first": _ms(many.first),
        "decode_share": percent(1 - parts["prompts"] / extra),
        "gaps_share": percent(crowd.parts["kernel gaps"] / crowd.output_token),
        "quick_token": percent(1 - sped_up(gpu=2)["output"] / crowd.output_token),
        "won_back": f"{1e3 * (extra - sped_up(gpu=2)['output'] + sped_up(gpu=2, users=FEW)['output']):.1f} ms",
        "crowd_adds": pretty(extra, "s", 2),
        "fitted_lean": percent(1 - fitted_leaner(CROWD).output_token / crowd.output_token),
        "lean_token": percent(1 - sped_up(engine=2)["output"] / crowd.output_token),
        "crowd_first": _ms(crowd.first_token),
        "all_waits": str(len(later) + len(first)),
        "start_most": pretty(first[-1], "s", 2),
        "small_room": str(SMALL_ROOM),
        "kept": percent(kept()),
        "promised_first": pretty(PROMISED_FIRST, "s", 1),
        "promised_token": pretty(PROMISED_TOKEN, "s", 2),
    }


def running_case() -> dict[str, str]:
    """The running case in words."""
    one, crowd, v = served(1), served(CROWD), values()
    plan, times, server = crowd.server.plan, crowd._times, crowd.server
    eager = crowd.calibration.values["eager_gap"]
    sent = times["prompt"] - device_seconds(plan["prompt"])
    return {
        "mean_length": f"{server.output:.0f}",
        "decode": _ms(times["decode"]),
        "prompt": _ms(times["prompt"]),
        "share": f"one in {round(1 / plan['prompt_share'])}",
        "last": f"{1 - 1 / (2 * server.requests):.2f}",
        "taken": significant(plan["prompts_taken"]),
        "clumping": significant(plan["clumping"]),
        "at_once": str(plan["at_once"]),
        "queue": f"{1e3 * v['t_queue']:.1f} ms",
        "burst": _ms(times["burst"]),
        "burst_tokens": f"{CROWD / 2 + plan['at_once'] * server.prompt:,.0f}",
        "mixed_tokens": f"{CROWD} + {plan['prompts_taken']:.2f} × {server.prompt:.1f} ="
        f" {CROWD + plan['prompts_taken'] * server.prompt:,.0f}",
        "groups": str(plan["burst_groups"]),
        "before": _ms(v["before"]),
        "chip_rate": significant(crowd.tokens_per_s_per_chip, 3),
        "one_chip_rate": significant(one.tokens_per_s_per_chip, 3),
        "kernels": str(kernels(server.model)),
        "eager": pretty(eager, "s", 3),
        "launching": _ms(launching()),
        "least": percent(1 - (launching() + sent) / times["prompt"]),
        "least_half": percent(1 - (launching() / 2 + sent) / times["prompt"]),
        "full_small": _ms(steady(settings=Settings(LIMIT, True))._times["burst"]),
        "limit": f"{LIMIT:,}",
        "full_tokens": f"{server.step_tokens:,.0f}",
        "saturation": f"{5 * round(saturation() / 5)}",
        "launch_bound": f"{10 * round(launch_bound() / 10)}",
    }


def sizes() -> dict[str, str]:
    """Where the bytes and FLOPs of a step come from."""
    server = served(CROWD).server
    layout, (group,) = server.layout, server.model.attention
    context = eq.mean_context(prompt_length=server.prompt, output_length=server.output)
    each, embedding = layout.cache_per_chip(1, context, server.cache), 2 * layout.embedding / 1e9
    held = sum(server.weights_per_chip.values()) * layout.tensor / 1e9
    weights = f"({held - embedding:.1f} + {embedding:.1f}) GB / {layout.tensor}"
    left = f"({server.settings.room} × {server.chip.hbm_bytes / 1e9:.0f} GB − {weights})"
    assert isinstance(group, Heads)
    return {
        "fp8_weights": f"{layout.common / 1e9:.1f} billion",
        "head_weights": f"{layout.head / 1e9:.2f} billion",
        "layers": str(group.layers),
        "kv_heads": str(group.kv_heads),
        "head_dim": str(group.head_dim),
        "width": f"{server.model.d_model:,}",
        "context": f"{context:,.0f}",
        "fits_sum": f"{left} / {each / 1e6:.1f} MB = {server.fits:,.0f}",
        "ring": f"2 × {layout.tensor - 1}/{layout.tensor}",
        "kernels_sum": f"{group.layers} layers × ({ATTENTION_KERNELS['heads']} for attention + {DENSE_KERNELS} for the"
        f" feed-forward part) + {OTHER_KERNELS}",
    }


def questions() -> dict[str, str]:
    """Answers to the questions that the page asks."""
    v, half = values(), served(CROWD, CHAT / 2)
    twice = 2 * v["prompt_share"]
    return {
        "half_length": f"{half.server.output:.0f}",
        "twice_share": f"{twice:.4f}",
        "half_hand": pretty(eq.mixed_token(v, prompt_share=twice), "s", 2),
        "half_token": _ms(half.output_token),
        "stalled_token": _ms(eq.stalled_token(v, alone_step=prompts_alone())),
        "alone": _ms(prompts_alone()),
    }


def loops() -> dict[str, str]:
    """One prompt looked at closely, and what the server answers in a closed and in an open loop."""
    v, each, (later, first) = values(), first_waits(), heaps()
    seen = newcomers(close_up())
    one, two, three = (1e3 * (request.first - request.came) for request in seen)
    assert two == three
    prompt, answer = own_work()
    off = [abs(opened().at_rate(rate).output_token / arrived(rate).token - 1) for rate in RATES]
    far = lambda ours, heap: percent(statistics.mean(heap) / (ours + v["before"]) - 1)
    return {
        "span": f"{1e3 * (close_up()[-1].end - close_up()[0].start):.0f} ms",
        "alone_waits": f"{one:.0f} ms",
        "both_wait": f"{two:.0f} ms",
        "adds": _ms(v["prompt_share"] * (v["prompt_step"] - v["decode_step"])),
        "later_seen": f"{1e3 * statistics.mean(later):.1f} ms",
        "later_off": far(each["later"], later),
        "start_off": far(each["opening"], first),
        "prompt_work": pretty(prompt, "s", 2),
        "answer_work": pretty(answer, "s", 2),
        "own_rate": significant(1 / (prompt + answer), 2),
        "most_rate": significant(opened().most_rate, 2),
        "open_off": percent(math.ceil(100 * max(off)) / 100),
    }


def second_route() -> dict[str, str]:
    """How far the closed form is from the events: bounds, rounded up."""
    pairs = {users: (served(users, SHORT), simulated(users)) for users in USERS}
    off = lambda name, users: abs(getattr(pairs[users][0], name) / getattr(pairs[users][1], name) - 1)
    most = lambda name, some: percent(math.ceil(100 * max(off(name, users) for users in some)) / 100)
    lone, alone = pairs[1]
    return {
        "most_users": str(USERS[-1]),
        "token_off": most("output_token", USERS),
        "first_off": most("first_token", USERS[1:]),
        "lone_off": most("first_token", USERS[:1]),
    }


def errors() -> dict[str, str]:
    """What the constants were fitted on, and how."""
    group = [run for run in runs() if not run.queued]
    return {
        "rows": str(len(group)),
        "fitted_dense": percent(over("fitted", "dense")["output_token"]),
        "fitted_experts": percent(over("fitted", "experts")["output_token"]),
        "mixture_chip": percent(over("chip", "experts")["output_token"]),
        "mixture_engine": percent(over("engine", "experts")["output_token"]),
    }


def offline_error(*models: str) -> str:
    """The median error of throughputs at full load, over all lengths, of these models."""
    found = [error for (id, *_), each in offline_errors().items() if id in models for error in each]
    return percent(median_size(found))


def unexplained() -> dict[str, str]:
    """DeepSeek-R1 on TensorRT-LLM and H200, with and without experts dealt out: the rows that no constants fit."""
    group = [run for run in runs() if run.key == ("trtllm", "h200", "experts") and "deepseek" in run.server.model.id]
    group = [run for run in group if run.server.layout.tensor > 1 and not run.queued]
    apart, together = ([run for run in group if (run.server.layout.expert > 1) is way] for way in (True, False))
    slow = {run.server.users: run.output for run in together}
    ratios = [slow[run.server.users] / run.output for run in apart]
    off = percent(statistics.mean(abs(token) for token, _ in predicted(apart, FACTORS)))
    return {"r1_apart": off, "r1_least": significant(min(ratios), 2), "r1_most": significant(max(ratios), 2)}


@cache
def all() -> dict[str, str]:
    """Every value that the page glues."""
    texts = opening() | running_case() | sizes() | questions() | loops() | second_route() | errors() | unexplained()
    return texts
