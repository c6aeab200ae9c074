"""Continuous batching, event by event: requests of random lengths, admitted and advanced step by step.

The second route to the closed form of a loop under load. Steps take what the same equations say of the very sequences
and prompts in them; how many there are, what waits and for how long comes out of the events.
"""

from __future__ import annotations

import random
import statistics
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from blackboard.prediction import serving_equations as eq
from blackboard.prediction.serving_steps import FULL, Server, kernels


@dataclass(eq=False)  # others of the same lengths are others
class Request:
    """Tokens to read and to send; how many are read; when it came, and sent its first token."""

    prompt: int
    output: int
    came: float
    read: int = 0
    first: float = 0.0


class Simulated(NamedTuple):
    """Means over all requests, and the whole run."""

    first_token: float
    output_token: float
    response: float
    requests_per_s: float
    in_flight: float  # mean over time


@dataclass
class Loop:
    """An engine and its users; one `step` is one pass of the engine."""

    server: Server
    constants: Mapping[str, float]
    least_share: float
    seed: int
    now: float = 0.0
    idle: int = 0  # steps since prompts were last taken in
    waiting: deque[Request] = field(default_factory=deque)
    running: list[Request] = field(default_factory=list)
    cached: int = 0  # tokens of all that is running
    passes: int = 0  # steps in which what was running got a token
    ending: dict[int, list[Request]] = field(default_factory=dict)  # by the pass in which they get their last
    late: list[Request] = field(default_factory=list)  # came while a step was under way: the next but one takes them
    done: list[tuple[float, float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random, self.left = random.Random(self.seed), int(self.server.users * self.server.requests)
        longest = 2 / (1 + self.least_share)
        self.lengths = [round(longest * mean) for mean in (self.server.prompt, self.server.output)]
        for _ in range(int(self.server.users)):
            self.ask(self.waiting)

    def ask(self, queue: deque[Request] | list[Request]) -> None:
        """A user sends a request, if any is left."""
        if self.left:
            self.left -= 1
            queue.append(self.draw_request(self.now))

    def draw_request(self, came: float) -> Request:
        """A request of random lengths."""
        draw = lambda longest: max(2, round(longest * self.random.uniform(self.least_share, 1)))
        prompt, output = map(draw, self.lengths)
        return Request(prompt, output, came)

    def admits(self) -> bool:
        """Whether the engine takes in prompts: not where it holds them back, or looks for them only now and then."""
        settings = self.server.settings
        if self.idle < settings.held and self.running:
            return self.timeout and sum(r.prompt for r in self.waiting) >= FULL * self.server.step_tokens
        return True

    @property
    def timeout(self) -> bool:
        """Whether prompts wait so many steps from the first that came, rather than for the next look at the queue."""
        return self.server.settings.waits == self.server.settings.held

    def take(self) -> tuple[list[Request], int]:
        """Requests whose prompts end with this step, and the tokens that it reads."""
        budget, tokens = self.server.step_tokens, 0
        finished: list[Request] = []
        if self.server.settings.mixes:
            budget -= len(self.running)
        while self.waiting and tokens < budget and len(self.running) + len(finished) < max(1, self.server.fits):
            request = self.waiting[0]
            part = int(min(budget - tokens, request.prompt - request.read))
            request.read, tokens = request.read + part, tokens + part
            if request.read < request.prompt:
                break
            finished.append(self.waiting.popleft())
        return finished, tokens

    def step(self) -> None:
        """One pass: prompts if they are due, and a token for every running sequence, unless it stands still."""
        if not self.running and not self.waiting:  # an idle engine takes at once what has come
            self.waiting, self.late = deque(self.late), []
        looks = self.admits()
        finished, tokens = self.take() if looks else ([], 0)
        self.idle = 0 if looks or (self.timeout and not self.waiting) else self.idle + 1
        moves = len(self.running) if self.server.settings.mixes or not tokens else 0
        work = self.server.step(moves, len(finished), tokens, self.cached / moves if moves else None)
        self.now += eq.mixed_time(work, calibration=self.constants)
        self.waiting.extend(self.late)
        self.late = []
        if moves:
            self.advance()
        for request in finished:
            request.first = self.now
            self.cached += request.prompt + 1
            self.ending.setdefault(self.passes + request.output - 1, []).append(request)
        self.running += finished

    def advance(self) -> None:
        """A token is sent to each that is running; with its last, a user sends the next request."""
        self.passes += 1
        self.cached += len(self.running)
        ended = self.ending.pop(self.passes, [])
        for request in ended:
            self.end(request)
        if ended:
            self.running = [request for request in self.running if request not in ended]

    def end(self, request: Request) -> None:
        """A request has its last token."""
        self.cached -= request.prompt + request.output
        each = (self.now - request.first) / (request.output - 1)
        self.done.append((request.first - request.came, each, self.now - request.came))
        self.ask(self.late)


def simulate(server: Server, constants: Mapping[str, float], least_share: float = 0.8, seed: int = 0) -> Simulated:
    """A whole run: all users send their first request at once, and `server.requests` each, one after the other."""
    loop = Loop(server, constants, least_share, seed)
    stay = kernels(server.model) * constants.get("request_gap", 0.0)
    while loop.running or loop.waiting or loop.late:
        loop.step()
    first, each, response = (statistics.mean(column) for column in zip(*loop.done))
    rate = len(loop.done) / loop.now
    return Simulated(first + stay, each, response + stay, rate, rate * response)
