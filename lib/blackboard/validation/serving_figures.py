"""A server under load as pictures: its steps, how long each request waits, the closed form against events."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, done
from blackboard.charts.style import COLOURS
from blackboard.prediction import predict_serving
from blackboard.prediction.continuous_batching import Loop, Request
from blackboard.units import significant
from blackboard.validation.serving_numbers import CROWD, RUN, SHORT, USERS, heaps, served, simulated

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
        "A prompt makes everybody wait. The same server with a few users and short answers: narrow blocks are steps"
        " that only decode, wide ones also take in a prompt."
        " Each small dot is a token of one user, each large dot the first token of an answer, and the line"
        " before it the wait for that token.",
        f"{len(steps)} steps of a simulated engine with {FEW} users, {to_ms(end):.0f} ms in all:"
        f" {len(steps) - len(prompts)} steps of {1e3 * short:.0f} ms that decode, and {len(prompts)} of"
        f" {1e3 * long:.0f} ms that also take in a prompt."
        " Below, a row of dots for each user, a token at the end of each step, with gaps under the long steps.",
    )


def waits() -> Drawing:
    """How long each request of the running case waits for its first token, simulated: two heaps, and their mean."""
    both = [[1e3 * wait for wait in heap] for heap in heaps()]
    mean = sum(map(sum, both)) / sum(map(len, both))
    edges = [50 * 10 ** (place / 12) for place in range(23)]
    fig, at = drawing.axes(WIDTH, 2.6)
    for heap, colour in zip(both, ("second", "first")):
        at.hist(heap, edges, color=COLOURS[colour], ec="white", lw=0.6)
    at.axvline(mean, color=COLOURS["bound"], lw=1.4, ls="--")
    most = at.get_ylim()[1]
    drawing.beside(at, "the mean", (mean, 0.92 * most), (5, 0), fontsize=SMALL)
    drawing.beside(at, "later\nrequests", (104, 0.6 * most), (0, 0), "second", fontsize=SMALL)
    drawing.beside(at, "everybody’s first", (1650, 0.22 * most), (0, 0), "first", fontsize=SMALL, ha="center")
    at.set(xscale="log", xlabel="time to first token (ms)", ylabel="requests")
    drawing.thousands(at, "x")
    at.set_xticks([50, 100, 200, 500, 1000, 2000])
    low, high = ([f"{f(heap):,.0f}" for f in (min, max)] for heap in both)
    return done(
        fig,
        "fig-serving-waits",
        f"The mean is where nobody is. Of {sum(map(len, both))} simulated requests, none waited between {low[1]} and"
        f" {high[0]} ms.",
        f"A histogram of the time to first token on a log axis, in two heaps: {len(both[0])} later requests from"
        f" {low[0]} to {low[1]} ms, and the first requests of all {CROWD} users from {high[0]} to {high[1]} ms. The"
        f" mean, {mean:.0f} ms, lies between the heaps.",
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
    told = lambda name: " and ".join(f"{significant(1e3 * getattr(each, name), 3)}" for each in both)
    return f"{users} user{'s' * (users > 1)} {told('output_token')} ms per token, {told('first_token')} ms to the first"
