"""What each request of a simulated server waited for: the step under way, other prompts, and its own step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from blackboard.prediction.continuous_batching import Loop, Request
from blackboard.prediction.serving_steps import Server


class Wait(NamedTuple):
    """Seconds that a request waited for its first token, and how many of them in the queue; whether it came at once
    with everybody's.
    """

    whole: float
    queue: float
    opening: bool


class WatchedLoop(Loop):
    """A loop that keeps the ends of its steps, and when each request was taken into one."""

    def __post_init__(self) -> None:
        self.ends: list[float] = []
        self.taken: list[tuple[Request, float]] = []
        super().__post_init__()

    def take(self) -> tuple[list[Request], int]:
        finished, tokens = super().take()
        self.taken += [(request, self.now) for request in finished]
        return finished, tokens

    def step(self) -> None:
        super().step()
        self.ends.append(self.now)


def waits(server: Server, constants: Mapping[str, float], least_share: float = 0.8, seed: int = 0) -> list[Wait]:
    """The wait of every request of a whole run; time in the server before a request's first step is left out."""
    loop = WatchedLoop(server, constants, least_share, seed)
    while loop.running or loop.waiting or loop.late:
        loop.step()
    places = {end: place for place, end in enumerate(loop.ends)}
    found = []
    for request, taken in loop.taken:
        under_way = loop.ends[places[request.came] + 1] if request.came else 0.0  # ends here
        found.append(Wait(request.first - request.came, max(0.0, taken - under_way), not request.came))
    return found
