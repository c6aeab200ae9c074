"""The overheads lesson by other means: a host that launches ahead of its device, halves that compute and send in turn,
a cache.

Nothing here uses the formulas. Times are in one unit, that of the arguments (seconds, or numbers that stay exact).
"""

from __future__ import annotations

import bisect
import random
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# --- launching --------------------------------------------------------------------------------------------------------


class Box(NamedTuple):
    """Something that runs: on which row of a timeline ("host", "device", "link"), what, and from when to when."""

    row: str
    name: str
    start: float
    end: float

    @property
    def time(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Timeline:
    """All that ran, row by row in order of time."""

    boxes: tuple[Box, ...]

    @property
    def time(self) -> float:
        """From the start to the last end."""
        return max(box.end for box in self.boxes)

    def of(self, row: str) -> list[Box]:
        """The boxes of a row."""
        return [box for box in self.boxes if box.row == row]

    def busy(self, row: str) -> float:
        """Share of the time in which a row works."""
        return sum(box.time for box in self.of(row)) / self.time

    def __repr__(self) -> str:
        rows = dict.fromkeys(box.row for box in self.boxes)
        return f"<time {self.time:g}; " + ", ".join(f"{row} busy {self.busy(row):.0%}" for row in rows) + ">"


def launched(kernels: Sequence[float], launch: float, ahead: int = 1024) -> Timeline:
    """Kernels of these times, launched one by one: the host is at most `ahead` launches before the device, which runs
    them in order.
    """
    host: list[Box] = []
    device: list[Box] = []
    for n, (start, free, begin, done) in enumerate(_queued(kernels, launch, ahead)):
        host.append(Box("host", str(n), start, free))
        device.append(Box("device", str(n), begin, done))
    return Timeline((*host, *device))


def _queued(kernels: Sequence[float], launch: float, ahead: int = 1024) -> Iterator[tuple[float, float, float, float]]:
    """From when to when each kernel is launched, and from when to when it runs."""
    ends: list[float] = []
    free = done = 0.0
    for n, time in enumerate(kernels):
        start = max(free, ends[n - ahead]) if n >= ahead else free  # the queue is full: wait for a place
        free = start + launch
        begin = max(free, done)
        done = begin + time
        ends.append(done)
        yield start, free, begin, done


def replayed(kernels: Sequence[float], replay: float = 0.0, gap: float = 0.0) -> Timeline:
    """The same kernels as one graph: launched once, and from then on only a gap before each."""
    boxes, now = [Box("host", "graph", 0.0, replay)], replay
    for n, time in enumerate(kernels):
        boxes.append(Box("device", str(n), now + gap, now + gap + time))
        now = boxes[-1].end
    return Timeline(tuple(boxes))


def per_step(kernels: Sequence[float], launch: float, steps: int = 20, waits: bool = False) -> float:
    """Time of a step among many: the host waits for each step's result before the next, or launches on."""
    ends = [done for *_, done in _queued([*kernels] * (1 if waits else steps + 1), launch)]
    return ends[-1] if waits else (ends[-1] - ends[len(kernels) - 1]) / steps


def uneven(mean: float, number: int, spread: float = 1.0, seed: int = 0) -> list[float]:
    """Times of kernels that are not all alike: log-normal with this spread, and exactly this mean."""
    draw = random.Random(seed)
    times = [draw.lognormvariate(0, spread) for _ in range(number)]
    return [mean * number * time / sum(times) for time in times]


# --- sizes that are captured ------------------------------------------------------------------------------------------


def doubling(most: int = 2048) -> list[int]:
    """Batch sizes captured: 1, 2, 4, by eights to 128, and then twice each time."""
    sizes = [1, 2, 4, *range(8, min(most, 128) + 1, 8)]
    while sizes[-1] < most:
        sizes.append(2 * sizes[-1])
    return sizes


def by_steps(step: int, most: int = 2048) -> list[int]:
    """Batch sizes captured: 1, 2, 4, by eights to 128, and then by `step`."""
    return [1, 2, 4, *range(8, min(most, 128) + 1, 8), *range(128 + step, most + 1, step)]


def padded(batch: int, sizes: Sequence[int]) -> int:
    """The captured size that a batch is filled up to; ValueError if all are smaller: then it runs without a graph."""
    place = bisect.bisect_left(sizes, batch)
    if place == len(sizes):
        raise ValueError(f"no graph for a batch of {batch}: the largest is {sizes[-1]}")
    return sizes[place]


def padding(sizes: Sequence[int], low: int = 1, high: int | None = None) -> tuple[float, float]:
    """Share of a step that is padding, on average and at worst, over all batches from low to high."""
    shares = [1 - batch / padded(batch, sizes) for batch in range(low, (high or sizes[-1]) + 1)]
    return sum(shares) / len(shares), max(shares)


# --- sending while computing ------------------------------------------------------------------------------------------


def alternated(layers: int, phases: Sequence[tuple[str, float]], halves: int = 2) -> Timeline:
    """Layers of phases ("device", time) or ("link", time), for each half of a batch; a half waits for its own, not for
    the other.

    Device and link take whichever half came to them first. With one half, everything runs in turn.
    """
    free = {row: 0.0 for row, _ in phases}
    ready, place, boxes = [0.0] * halves, [0] * halves, []
    todo = [(layer, row, time) for layer in range(layers) for row, time in phases]
    for _ in range(halves * len(todo)):
        half = min((half for half in range(halves) if place[half] < len(todo)), key=lambda half: (ready[half], half))
        layer, row, time = todo[place[half]]
        start = max(ready[half], free[row])
        ready[half] = free[row] = start + time
        place[half] += 1
        boxes.append(Box(row, f"{layer}{'ab'[half] if halves == 2 else ''}", start, start + time))
    return Timeline(tuple(boxes))


def step_in_halves(layers: int, compute: float, weights: float, cache: float, send: float, halves: int = 2) -> float:
    """Time of a step: each half reads all weights and its part of the cache, multiplies its part and sends its part,
    layer by layer.

    Times are those of a whole step that is not cut.
    """
    each = max(compute / halves, weights + cache / halves) / layers
    return alternated(layers, [("device", each), ("link", send / halves / layers)], halves).time


# --- a chain of operations, and a cache -------------------------------------------------------------------------------


class Moved(NamedTuple):
    """Bytes that went between memory and cache."""

    read: int
    written: int

    @property
    def total(self) -> int:
        return self.read + self.written


class _Cache:
    """Lines in order of their last use; what was written goes back to memory when its line is needed for another."""

    def __init__(self, size: int, line: int):
        self.lines: OrderedDict[tuple[int, int], bool] = OrderedDict()
        self.room, self.line, self.read, self.written = size // line, line, 0, 0

    def touch(self, key: tuple[int, int], writes: bool) -> None:
        if key in self.lines:
            writes = self.lines.pop(key) or writes
        else:
            self.read += not writes  # a line that is overwritten whole need not be fetched
            while len(self.lines) >= self.room:
                self.written += self.lines.popitem(last=False)[1]
        self.lines[key] = writes

    def moved(self) -> Moved:
        """Bytes read and written, what is still to be written back counted as well."""
        return Moved(self.read * self.line, (self.written + sum(self.lines.values())) * self.line)


def chain(ops: int, size: int, cache: int, block: int | None = None, line: int = 128) -> Moved:
    """A chain of elementwise operations on a vector of `size` bytes, run through a cache of `cache` bytes.

    Each operation goes over the whole vector, from one buffer to another of two that take turns; with a `block`, all
    operations go over one block before the next, and only the first reads the vector and only the last writes the
    result.
    """
    held, lines = _Cache(cache, line), size // line
    span = lines if block is None else max(1, block // line)
    for first in range(0, lines, span):
        for op in range(ops):
            source, target = (0 if op == 0 else 1 + op % 2), (3 if op == ops - 1 else 1 + (op + 1) % 2)
            for n in range(first, min(first + span, lines)):
                scratch = n if block is None else n - first  # inside a block, buffers are as short as the block
                held.touch((source, n if source in (0, 3) else scratch), False)
                held.touch((target, n if target in (0, 3) else scratch), True)
    return held.moved()
