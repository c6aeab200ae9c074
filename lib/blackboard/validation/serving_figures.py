"""A server under load as pictures: its steps one by one, the closed form against events, errors by slice."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, done
from blackboard.charts.style import COLOURS
from blackboard.prediction import predict_serving
from blackboard.prediction.calibration import KINDS
from blackboard.prediction.continuous_batching import Loop, Request
from blackboard.units import percent
from blackboard.validation.serving_numbers import RUN, SHORT, USERS, served, simulated
from blackboard.validation.serving_slices import Slice, slices

WIDTH, SMALL = 5.0, 10
FEW, ANSWER, SPREAD, SEED = 5, 48, 0.5, 3  # users of the timeline, and their answers, short enough to be seen
SKIPPED, SHOWN = 26, 30  # steps before the picture begins, and in it


class Step(NamedTuple):
    """A pass of the engine: when it ran, and whether it took in a prompt."""

    start: float
    end: float
    prompt: bool


class Line(NamedTuple):
    """What one user saw: when requests came, when their first tokens came, and all tokens."""

    came: list[float]
    first: list[float]
    tokens: list[float]


@cache
def timeline_events() -> tuple[list[Step], list[Line]]:
    """Some steps of a small server in the middle of a run, and what each user saw of them."""
    options = RUN | {"output": ANSWER, "concurrency": FEW, "spread": SPREAD}
    found = predict_serving(**options)
    loop = Loop(found.server, found.calibration.values, SPREAD, SEED)
    lines, owner = [Line([], [], []) for _ in range(FEW)], {}
    for user, request in enumerate(loop.waiting):
        owner[id(request)] = (user, request)
    steps = [_watched(loop, lines, owner) for _ in range(SKIPPED + SHOWN)]
    return steps[SKIPPED:], lines


def _watched(loop: Loop, lines: list[Line], owner: dict[int, tuple[int, Request]]) -> Step:
    """One step of the loop, and its tokens written to the lines of their users."""
    start, sent = loop.now, {key: request.sent for key, (_, request) in owner.items()}
    loop.step()
    ended = []
    for key, (user, request) in owner.items():
        if request.sent > sent[key]:
            lines[user].tokens.append(loop.now)
            if request.sent == 1:
                lines[user].first.append(loop.now)
            if request.sent == request.output:
                ended.append(user)
    new = [request for request in (*loop.late, *loop.waiting) if id(request) not in owner]
    for user, request in zip(ended, new):
        owner[id(request)] = (user, request)
        lines[user].came.append(request.came)
    took = any(request.sent == 1 and sent.get(key) == 0 for key, (_, request) in owner.items())
    return Step(start, loop.now, took)


def timeline() -> Drawing:
    """Steps of an engine as blocks, and below them the tokens of each user as dots."""
    steps, lines = timeline_events()
    begin, end = steps[0].start, steps[-1].end
    fig, at = drawing.axes(WIDTH, 2.9)
    to_ms = lambda time: 1e3 * (time - begin)
    for step in steps:
        looks: dict[str, Any] = {"color": COLOURS["first" if step.prompt else "second"], "ec": "white", "lw": 0.6}
        at.barh(0, to_ms(step.end) - to_ms(step.start), left=to_ms(step.start), height=0.7, **looks)
    for row, line in enumerate(lines, 1):
        inside = lambda times: [to_ms(time) for time in times if begin <= time <= end + 1e-9]
        at.plot(inside(line.tokens), [row] * len(inside(line.tokens)), "o", color=COLOURS["second"], ms=3, mew=0)
        at.plot(inside(line.first), [row] * len(inside(line.first)), "o", color=COLOURS["first"], ms=7, mew=0)
        for came in inside(line.came):
            first = next((time for time in line.first if to_ms(time) > came), end)
            at.plot([came, to_ms(min(first, end))], [row, row], color=COLOURS["first"], lw=1.2)
    names = ["steps", *(f"user {n}" for n in range(1, FEW + 1))]
    at.set(ylim=(FEW + 0.6, -0.6), xlim=(0, to_ms(end)), xlabel="time (ms)")
    at.set_yticks(range(FEW + 1), names, fontsize=SMALL)
    at.tick_params(axis="y", length=0)
    at.grid(visible=False, axis="y")
    prompts = [step for step in steps if step.prompt]
    short, long = (min(s.end - s.start for s in some) for some in ([s for s in steps if not s.prompt], prompts))
    return done(
        fig,
        "fig-serving-timeline",
        "A prompt makes everybody wait. Narrow blocks are steps that only decode, wide ones also take in a prompt."
        " Each small dot is a token of one user, each large dot the first token of an answer, and the line"
        " before it the wait for that token.",
        f"{len(steps)} steps of a simulated engine with {FEW} users, {to_ms(end):.0f} ms in all:"
        f" {len(steps) - len(prompts)} steps of {1e3 * short:.0f} ms that decode, and {len(prompts)} of"
        f" {1e3 * long:.0f} ms that also take in a prompt."
        " Below, a row of dots for each user, a token at the end of each step, with gaps under the long steps.",
    )


def second_route() -> Drawing:
    """Times by users: the closed form as a line, simulated runs as dots."""
    fig, both = drawing.axes(WIDTH, 2.8, 1, 2)
    told = {"output_token": "per output token (ms)", "first_token": "to first token (ms)"}
    for at, (name, label) in zip(both, told.items()):
        ours = [1e3 * getattr(served(users, SHORT), name) for users in USERS]
        events = [1e3 * getattr(simulated(users), name) for users in USERS]
        at.plot(USERS, ours, color=COLOURS["first"])
        at.plot(USERS, events, "o", color=COLOURS["bound"], ms=6)
        at.set(xscale="log", yscale="log", title=label, xlabel="users")
        drawing.thousands(at, "x", "y")
        at.set_xticks(USERS, [str(users) for users in USERS], fontsize=SMALL)
        ticks = [10, 20, 50, 100, 200, 500, 1000]
        at.set_yticks([t for t in ticks if min(ours) * 0.8 < t < max(ours) * 1.25])
        at.minorticks_off()
    values = "; ".join(_compared(users) for users in USERS)
    return done(
        fig,
        "fig-serving-second-route",
        "The formulas (lines) agree with a simulation of every request (dots), for one user and for hundreds."
        f" The running case, but with answers of at most {SHORT} tokens.",
        f"Two panels over users on log axes, closed form and simulation: {values}.",
    )


def _compared(users: int) -> str:
    """Both routes' times at a number of users, in words."""
    both = served(users, SHORT), simulated(users)
    told = lambda name: " and ".join(f"{1e3 * getattr(each, name):.0f}" for each in both)
    return f"{users} users {told('output_token')} ms per token, {told('first_token')} ms to the first"


SHORTER = {"dense models": "dense", "mixtures of experts": "experts"}
SHORT_NAMES = {"trtllm": "TRT-LLM", "vllm": "vLLM", "sglang": "SGLang", "b200": "B200", "h200": "H200"}
SHORT_NAMES |= {"deepseek-r1": "DeepSeek-R1", "chip": "GPU"}
HEADS = {
    "fitted": "all fitted",
    "chips": "GPUs held out",
    "concurrency": "load held out",
    "chip": "chip held out",
    "engine": "engine held out",
    "model": "model held out",
}


def slice_errors() -> Drawing:
    """Errors of each slice as two dots, of the time per output token and to the first."""
    rows: list[tuple[str, Slice | None]] = []
    for what, head in HEADS.items():
        rows.append((head, None))
        rows += [(_named(each), each) for each in slices() if each.what == what]
    fig, at = drawing.axes(WIDTH, 0.9 + 0.19 * len(rows))
    for place, (_, each) in enumerate(rows):
        if each:
            at.plot([100 * each.output, 100 * each.first], [place] * 2, color=COLOURS["muted"], lw=0.8, alpha=0.5)
            at.plot(100 * each.output, place, "o", color=COLOURS["first"], ms=6, mew=0)
            at.plot(100 * each.first, place, "D", color=COLOURS["second"], ms=5, mew=0)
    at.set(ylim=(len(rows) - 0.3, -0.7), xlim=(0, 70), xlabel="mean absolute error (%)")
    at.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=SMALL)
    for label, (_, each) in zip(at.get_yticklabels(), rows):
        label.set_fontweight("normal" if each else "bold")
    at.tick_params(axis="y", length=0)
    at.grid(visible=False, axis="y")
    values = "; ".join(
        f"{name} {percent(each.output)} and {percent(each.first)}" if each else name for name, each in rows
    )
    return done(
        fig,
        "fig-serving-errors",
        "Dense models hold up when their chip is held out; mixtures of experts do not. Dots are errors of the time per"
        " output token, diamonds of the time to first token.",
        f"Two marks for each slice, errors per output token and to the first token: {values}.",
    )


def _named(each: Slice) -> str:
    """A slice in a few words that a phone shows."""
    held = (
        each.held.replace("none: fitted", "").replace(" in flight or more", "+ users").replace(" in flight", " users")
    )
    held = held.removesuffix(f", {each.kind}").replace(" on ", ", ")
    for id, name in SHORT_NAMES.items():
        held = held.replace(id, name)
    kind = SHORTER[KINDS[each.kind]]
    return f"{held}, {kind}" if held else kind
