"""Simulated servers that are watched: what each request waited for, and what comes of requests at a given rate."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from blackboard.prediction.continuous_batching import Loop, Request
from blackboard.prediction.serving_steps import Server


class Wait(NamedTuple):
    """Seconds that a request waited for its first token, and how many of them in the queue; whether it came at once
    with everybody's; seconds per output token after the first.
    """

    whole: float
    queue: float
    opening: bool
    token: float


class WatchedLoop(Loop):
    """A loop that keeps the ends of its steps, when each request was taken into one and when it ended, and the seconds
    between two tokens of a user (of an engine that decodes in every step).
    """

    def __post_init__(self) -> None:
        self.ends: list[float] = []
        self.taken: list[tuple[Request, float]] = []
        self.over: dict[int, float] = {}
        self.gaps: list[float] = []
        super().__post_init__()

    def take(self) -> tuple[list[Request], int]:
        finished, tokens = super().take()
        self.taken += [(request, self.now) for request in finished]
        return finished, tokens

    def step(self) -> None:
        start, decoding = self.now, len(self.running)
        super().step()
        self.ends.append(self.now)
        self.gaps += [self.now - start] * decoding

    def end(self, request: Request) -> None:
        super().end(request)
        self.over[id(request)] = self.now


def watch(server: Server, constants: Mapping[str, float], least_share: float = 0.8, seed: int = 0) -> WatchedLoop:
    """A whole run, watched."""
    loop = WatchedLoop(server, constants, least_share, seed)
    while loop.running or loop.waiting or loop.late:
        loop.step()
    return loop


def waits(loop: WatchedLoop) -> list[Wait]:
    """The wait of every request of a watched run; time in the server before a request's first step is left out."""
    places = {end: place for place, end in enumerate(loop.ends)}
    found = []
    for request, taken in loop.taken:
        under_way = loop.ends[places[request.came] + 1] if request.came else 0.0  # ends here
        token = (loop.over[id(request)] - request.first) / (request.output - 1)
        found.append(Wait(request.first - request.came, max(0.0, taken - under_way), not request.came, token))
    return found


# --- an open loop -----------------------------------------------------------------------------------------------------


@dataclass
class OpenLoop(Loop):
    """So many requests that come at random, at a rate, however long answers take."""

    rate: float = 1.0
    count: int = 0
    coming: list[Request] = field(default_factory=list)  # the next one last

    def __post_init__(self) -> None:
        super().__post_init__()
        self.waiting.clear()  # nobody waits at the start, nor sends a request because an answer has ended
        self.left, time = 0, 0.0
        for _ in range(self.count):
            time += self.random.expovariate(self.rate)
            self.coming.append(self.draw_request(time))
        self.coming.reverse()

    def step(self) -> None:
        if not self.running and not self.waiting:
            self.now = max(self.now, self.coming[-1].came)
        while self.coming and self.coming[-1].came <= self.now:
            self.waiting.append(self.coming.pop())
        super().step()


class Opened(NamedTuple):
    """Means of an open loop that has settled: seconds to the first token and per output token, requests in flight."""

    first: float
    token: float
    in_flight: float


def watch_open(server: Server, constants: Mapping[str, float], rate: float, count: int, settled: int) -> Opened:
    """An open loop, without the first requests, until it has settled, and without as many last ones; time in the server
    before a request's first step is left out.
    """
    loop = OpenLoop(server, constants, server.spread, 0, rate=rate, count=count)
    while len(loop.done) < count - settled:
        loop.step()
    first, token, response = (statistics.mean(column) for column in zip(*loop.done[settled : count - settled]))
    return Opened(first, token, rate * response)
