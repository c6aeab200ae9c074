"""A server under load as pictures: its steps, how long each request waits, what more users cost."""

from __future__ import annotations

import statistics
from typing import Any

from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, done
from blackboard.charts.style import COLOURS
from blackboard.prediction.continuous_batching import Request
from blackboard.text import listed
from blackboard.units import significant
from blackboard.validation import serving_numbers as numbers
from blackboard.validation.serving_numbers import (
    CROWD,
    Step,
    heaps,
    newcomers,
    served,
    steps,
)

WIDTH, SMALL = 5.0, 11
NUMBERS, NAMED = (1, 2, *range(4, 400, 4)), (32, 64, 96, 128, 256)  # users of the curve, and those that it names
NARROW = 20  # ms of the close-up: no room for a word of four letters and the tick beside it
OVERVIEW = 4732, 4760  # steps of the running case in the first picture


def _bars(at: Any, some: list[Step]) -> None:
    """Steps as blocks, in milliseconds from the first."""
    for step in some:
        looks: dict[str, Any] = {"color": COLOURS["first" if step.prompts else "second"], "ec": "white", "lw": 0.6}
        start, end = (1e3 * (time - some[0].start) for time in (step.start, step.end))
        at.barh(0, end - start, left=start, height=0.7, **looks)


def _row(at: Any, row: int, some: list[Step], request: Request | None = None) -> None:
    """The tokens of one user as dots, and the wait for the first one of a request that came meanwhile."""
    to_ms = lambda time: 1e3 * (time - some[0].start)
    ends = [step.end for step in some]
    if request:
        ends = [end for end in ends if end <= request.came or end > request.first]
        last = min(request.first, some[-1].end)
        at.plot([to_ms(request.came), to_ms(last)], [row, row], color=COLOURS["first"], lw=1.2)
        at.plot(to_ms(request.first), row, "o", color=COLOURS["first"], ms=7, mew=0)
    at.plot([to_ms(end) for end in ends], [row] * len(ends), "o", color=COLOURS["second"], ms=3.5, mew=0)


def _timeline(some: list[Step], others: int, height: float) -> tuple[Drawing, Any, list[Request]]:
    """Steps of the running case, and rows of the users who send a prompt meanwhile and of some others."""
    fig, at = drawing.axes(WIDTH, height)
    new = newcomers(some)
    _bars(at, some)
    for row, request in enumerate([*new, *[None] * others], 1):
        _row(at, row, some, request)
    users = len(new) + others
    names = ["steps", *(f"user {n}" for n in range(1, users + 1))]
    at.set(ylim=(users + 0.6, -0.6), xlim=(0, 1e3 * (some[-1].end - some[0].start)), xlabel="time (ms)")
    at.set_yticks(range(users + 1), names, fontsize=SMALL)
    at.tick_params(axis="y", length=0)
    at.grid(visible=False, axis="y")
    return fig, at, new


def _told(some: list[Step]) -> str:
    """How many steps of each kind there are, and how long they take, in words."""
    kinds = []
    for prompts in sorted({step.prompts for step in some}):
        times = [1e3 * (step.end - step.start) for step in some if step.prompts == prompts]
        what = {0: "that only decode", 1: "with a prompt"}.get(prompts, f"with {prompts} prompts")
        kinds.append(f"{len(times)} of {statistics.mean(times):.1f} ms {what}")
    return f"{len(some)} steps, {1e3 * (some[-1].end - some[0].start):.0f} ms in all: {listed(kinds)}"


def timeline() -> Drawing:
    """Half a second of the running case: steps as blocks, and below them the tokens of some users as dots."""
    some = steps()[slice(*OVERVIEW)]
    fig, _, new = _timeline(some, 2, 2.6)
    return done(
        fig,
        "fig-serving-timeline",
        "A prompt makes everybody wait. Wide blocks are steps that also take in a prompt. Each small dot is a token."
        " A large dot is the first token of an answer, and the line before it is the wait. Users send the next prompt"
        f" as soon as an answer ends. Simulated, with {len(new) + 2} of the {CROWD} users, in a busy moment.",
        f"{_told(some)}. Below, a row of dots for each user, a token at the end of each step, with gaps under the long"
        " steps.",
    )


def line() -> Drawing:
    """The time per token against users: a level and a slope, and as measured."""
    users, seen = [1, *range(4, 101, 4)], numbers.measured_points()
    now = [1e3 * numbers.steady(concurrency=n).output_token for n in users]
    last = users.index(CROWD)
    fig, at = drawing.axes(WIDTH, 3.2)
    at.plot(users[: last + 1], now[: last + 1], color=COLOURS["first"])
    at.plot(users[last:], now[last:], color=COLOURS["first"], ls="--")
    at.plot([p.users for p in seen], [1e3 * p.token for p in seen], "o", color=COLOURS["measured"], ms=6)
    at.plot([0, users[-1]], [now[0]] * 2, color=COLOURS["muted"], lw=1.0, ls=":")
    beside = lambda text, end, shift, colour, **more: drawing.beside(
        at, text, end, shift, colour, fontsize=SMALL, **more
    )
    beside("the level", (84, now[0]), (0, 3), "muted")
    beside("the slope", (84, now[users.index(84)]), (-8, 4), "first", ha="right")
    beside("measured", (seen[3].users, 1e3 * seen[3].token), (0, 7), "measured", ha="center")
    at.set(xlim=(0, 100), ylim=(0, 22), xlabel="users at a time", ylabel="time per token (ms)")
    off = lambda p: p.token / numbers.steady(concurrency=p.users).output_token - 1
    worst = max(seen, key=off)
    each = lambda times: f"{times[0]:.1f} ms for one user and {times[-1]:.1f} ms for {users[-1]}"
    dots = listed([f"{1e3 * p.token:.1f} ms for {p.users}" for p in seen])
    return done(
        fig,
        "fig-serving-line",
        "Each further user makes everybody’s token slower by nearly the same time. Dots are measured; the one for"
        f" {worst.users:.0f} users is {off(worst):.0%} above our line. The line is dashed where nobody measured.",
        f"Time per token against users, from 1 to {users[-1]}: an almost straight line of {each(now)}. Measured:"
        f" {dots}.",
    )


JOBS = {  # of a step, one after another: a part's name in the picture, and its colour
    "weights": ("loading weights", "weights"),
    "compute": ("compute", "compute"),
    "cache": ("loading KV caches", "kv"),
    "links": ("messages", "network"),
    "kernel gaps": ("pauses", "launch"),
    "launching": ("waiting for launches", ""),
    "answers": ("handing out", "muted"),
}


def _jobs(at: Any, row: float, step: dict[str, float]) -> str:
    """The jobs of a step as blocks on a row, and their times in words."""
    parts, end = numbers.steady()._step_parts(step), 0.0
    times = {name: 1e3 * parts[name] for name in JOBS if parts[name] > 1e-6}
    for name, busy in times.items():
        if colour := JOBS[name][1]:
            at.barh(row, busy, left=end, height=0.8, color=COLOURS[colour], ec="white", lw=0.6)
        end += busy
    return f"{end:.1f} ms, of which {listed([f'{JOBS[job][0]} {busy:.1f}' for job, busy in times.items()])}"


def blocks() -> Drawing:
    """Steps of the running case as stacked jobs: without a prompt, and with one."""
    server, told = numbers.steady().server, []
    fig, at = drawing.axes(WIDTH, 2.2)
    for prompts, name in enumerate(("decode only", "with\na prompt")):
        row, step = 1.7 * prompts, server.step(CROWD, prompts, prompts * server.prompt)
        at.text(-1, row, name, ha="right", va="center", fontsize=SMALL)
        told.append(f"{' '.join(name.split())}: {_jobs(at, row, step)}")
    named = [(name, colour) for name, colour in JOBS.values() if colour]
    for place, (name, colour) in enumerate(named):
        drawing.key(at, 0.3 + 0.41 * (place // 3), 0.89 - 0.17 * (place % 3), name, colour, fontsize=SMALL)
    at.set(ylim=(2.3, -0.9), xlim=(0, 60), xlabel="time (ms)", yticks=[])
    at.grid(visible=False, axis="y")
    return done(
        fig,
        "fig-serving-blocks",
        "With a prompt, the GPU works far longer, because computing outlasts loading, and because the messages grow. In"
        " the empty gap before handing out, the GPU is done and waits for the CPU’s last launches, as fitted.",
        f"Two steps as bars of jobs, one after another. {'; '.join(told)}.",
    )


def close_up() -> Drawing:
    """A prompt that waits for a short step, and two that wait for a long one and then share a step."""
    some, before = numbers.close_up(), 1e3 * numbers.values()["before"]
    fig, at, new = _timeline(some, 1, 2.8)
    to_ms = lambda time: 1e3 * (time - some[0].start)
    looks = {"va": "bottom", "fontsize": SMALL}
    for row, request in enumerate(new, 1):
        begun = next(step.start for step in some if step.end == request.first)
        at.plot([to_ms(begun)] * 2, [row - 0.18, row + 0.18], color=COLOURS["first"], lw=1.2)
        for start, end, text in ((request.came, begun, "wait"), (begun, request.first, "own step")):
            left, right = to_ms(start), to_ms(end)
            # centered, or, where that would touch the tick, up to just before it
            where, shift, side = ((left + right) / 2, 0, "center") if right - left > NARROW else (right, -3, "right")
            drawing.beside(at, text, (where, row - 0.15), (shift, 0), "first", ha=side, **looks)
    for step in some:
        if step.prompts:
            told, middle = ("one prompt", "two prompts")[step.prompts - 1], to_ms((step.start + step.end) / 2)
            at.text(middle, 0, told, ha="center", va="center", fontsize=SMALL, color="white")
    return done(
        fig,
        "fig-serving-close-up",
        "A prompt waits for the step under way, and then, from the tick in its line, for its own step. Not shown are"
        f" the {significant(before, 3)} ms that a request spends in the server outside of steps.",
        f"{_told(some)}. The prompts of users 2 and 3 come in the same moment, wait for the step with user 1’s, and"
        " share the next.",
    )


def users() -> Drawing:
    """The time per token against the tokens of a GPU, as users grow: predicted and measured, with a promise."""
    most = numbers.opened().most_rate * served(CROWD).server.output / numbers.RUN["chips"]
    line, seen, promised = numbers.predicted_points(NUMBERS), numbers.measured_points(), 1e3 * numbers.PROMISE
    fig, at = drawing.axes(WIDTH, 3.2)
    at.plot([p.chip_rate for p in line], [1e3 * p.token for p in line], color=COLOURS["first"])
    at.plot([p.chip_rate for p in seen], [1e3 * p.token for p in seen], "o", color=COLOURS["measured"], ms=6)
    at.axvline(most, color=COLOURS["bound"], lw=1.4, ls="--")
    at.axhline(promised, color=COLOURS["bound"], lw=1.0, ls=":")
    for p in line:
        if p.users in NAMED:
            at.plot(p.chip_rate, 1e3 * p.token, "|", color=COLOURS["first"], ms=9)
            looks = {"shift": (-5, 5), "ha": "right"} if p.token > numbers.PROMISE else {"shift": (3, -13)}
            end = p.chip_rate, 1e3 * p.token
            drawing.beside(at, f"{p.users} users", end, colour="first", fontsize=SMALL, **looks)
    drawing.beside(at, "measured", (seen[1].chip_rate, 1e3 * seen[1].token), (0, -16), "measured", fontsize=SMALL)
    drawing.beside(at, "a promise", (20, promised), (0, 3), fontsize=SMALL)
    drawing.beside(at, "memory\nis full", (most, 3), (-5, 0), fontsize=SMALL, ha="right")
    at.set(xlim=(0, 1800), ylim=(0, 60), xlabel="tokens per second and GPU", ylabel="time per token (ms)")
    at.set_xticks(range(0, 2000, 500))
    drawing.thousands(at, "x")
    told = lambda points: "; ".join(
        f"{p.users} users {significant(1e3 * p.token, 3)} ms at {significant(p.chip_rate, 2)} tokens a second"
        for p in points
    )
    return done(
        fig,
        "fig-serving-users",
        "With more users, each GPU writes more tokens, and each user gets them more slowly. Beyond the bend, at about"
        f" {5 * round(numbers.saturation() / 5)} users, further users bring less, because even a step without a prompt"
        f" computes longer than it loads. Memory is full at {served(CROWD).server.fits:,.0f} users. Dots are measured;"
        " their throughput follows from the measured TTFT and TPOT by Little’s law.",
        f"Time per token over tokens per second of a GPU: {told([p for p in line if p.users in NAMED])}. A dashed line"
        f" ends the axis at {most:,.0f} tokens a second.",
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
        f"The mean, {mean:.0f} ms, is a wait that nobody had. Of {sum(map(len, both))} simulated requests, none waited"
        f" between {low[1]} and {high[0]} ms.",
        f"A histogram on a log axis: {len(both[0])} later requests from {low[0]} to {low[1]} ms, the first requests of"
        f" all {CROWD} users from {high[0]} to {high[1]} ms, and the mean, {mean:.0f} ms, between them.",
    )
