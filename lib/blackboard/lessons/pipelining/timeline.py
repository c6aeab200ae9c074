"""Pipelines that really run: a schedule is a list of passes per device, and the simulator executes the lists.

A device works through its list in order, one pass at a time. A pass starts as soon as its device is free and what it
needs has arrived. Sending takes `hop`, and keeps no device busy. No formula of the lesson is used here.

Conventions, the same for every schedule:

- F is the forward pass, B the gradient of the input, W the gradient of the weights. A schedule that lists no W for a
  micro-batch does not split its backward: B then costs `backward + weight`. So one `Costs` serves all schedules.
  DeepSeek's table writes B for the two together: its (P - 1)(F + B - 2W) is the (P - 1)(F + B - W) of the paper on
  zero bubble.
- Costs are those of one micro-batch on the whole share of layers of one device. With several chunks on a
  device, a pass takes that share of it.
- An activation is held from the start of its F to the end of its B, and of that the share `kept` to the end of its W.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

Time = float  # in the unit of the costs; integers and fractions stay exact
Key = tuple[str, int, int]  # (kind, micro-batch, stage)


# --- what runs -----------------------------------------------------------------------------------------------------


class Pass(NamedTuple):
    """One pass of one micro-batch through one stage of the model; `beside` is a second pass overlapped with it."""

    kind: str  # "F", "B", "W"
    micro_batch: int
    stage: int
    beside: Pass | None = None

    @property
    def keys(self) -> tuple[Key, ...]:
        """What is done when the pass has ended: itself, and what runs beside it."""
        return (self[:3], *self.beside.keys) if self.beside else (self[:3],)


class Schedule(NamedTuple):
    """For each device, its passes in order; `chunks` pieces of the model lie on each device."""

    passes: list[list[Pass]]
    chunks: int = 1


@dataclass(frozen=True)
class Costs:
    """Times of one micro-batch on one device's share of layers, all in one unit.

    forward, backward, weight: F, B and W; a number, or one per stage where stages are uneven.
    hop: from the end of a pass to the start of the next stage's, on another device.
    overlapped: a forward and a whole backward side by side; without it, as long as one after the other.
    """

    forward: Time | Sequence[Time] = 1
    backward: Time | Sequence[Time] = 1
    weight: Time | Sequence[Time] = 0
    hop: Time = 0
    overlapped: Time | None = None

    def check(self, devices: int, stages: int) -> None:
        """ValueError unless what is given per stage fits a pipeline of so many devices and stages."""
        for name in ("forward", "backward", "weight"):
            cost = getattr(self, name)
            if isinstance(cost, Sequence) and len(cost) not in (devices, stages):
                raise ValueError(
                    f"{name} has {len(cost)} times; give one for each of {devices} devices or {stages} stages"
                )

    def of(self, kind: str, stage: int = 0) -> Time:
        """Time of a pass of this kind ("F", "B", "W") at a stage; uneven stages repeat for the chunks of a device."""
        cost = {"F": self.forward, "B": self.backward, "W": self.weight}[kind]
        return cost[stage % len(cost)] if isinstance(cost, Sequence) else cost


# --- what came of it -----------------------------------------------------------------------------------------------


class Box(NamedTuple):
    """A pass that ran: a rectangle of a Gantt chart. A forward with a backward beside it is one box, of kind "FB"."""

    device: int
    kind: str
    micro_batch: int
    stage: int
    start: Time
    end: Time
    beside: Pass | None = None

    @property
    def keys(self) -> tuple[Key, ...]:
        """As of the pass."""
        own = self.kind[0], self.micro_batch, self.stage
        return (own, *self.beside.keys) if self.beside else (own,)


@dataclass(frozen=True)
class Timeline:
    """Every pass of a run with its times, device after device, each in the order of its list."""

    boxes: list[Box]
    devices: int
    chunks: int = 1

    @cached_property
    def rows(self) -> list[list[Box]]:
        """The boxes of each device, in order."""
        rows: list[list[Box]] = [[] for _ in range(self.devices)]
        for box in self.boxes:
            rows[box.device].append(box)
        return rows

    @cached_property
    def makespan(self) -> Time:
        """From the first start to the last end, over all devices."""
        return max(box.end for box in self.boxes) - min(box.start for box in self.boxes)

    def busy(self, device: int) -> Time:
        """Time a device works."""
        return sum(box.end - box.start for box in self.rows[device])

    def span(self, device: int) -> Time:
        """From a device's own first start to its own last end."""
        return self.rows[device][-1].end - self.rows[device][0].start

    @cached_property
    def period(self) -> Time:
        """The longest span of a device: what a step costs if no device waits for all others before the next step.

        The zero-bubble paper counts so, because its optimizer step needs no synchronisation (it validates afterwards).
        """
        return max(self.span(device) for device in range(self.devices))

    @property
    def bubble(self) -> float:
        """Idle share of all devices over the makespan, 0 to 1."""
        return self.idle()

    @property
    def period_bubble(self) -> float:
        """Idle share of all devices over the `period`: the bubble rate of the zero-bubble paper."""
        return 1 - sum(map(self.busy, range(self.devices))) / (self.devices * self.period)

    def idle(self, start: Time | None = None, end: Time | None = None) -> float:
        """Idle share of all devices between two times, without which over the makespan; a window shows a steady
        state.
        """
        first = min(box.start for box in self.boxes) if start is None else start
        last = max(box.end for box in self.boxes) if end is None else end
        if last <= first:
            raise ValueError(f"the window must end after it starts, not {first} to {last}")
        work = sum(max(0, min(box.end, last) - max(box.start, first)) for box in self.boxes)
        return 1 - work / (self.devices * (last - first))

    def peak(self, device: int, kept: float = 0) -> float:
        """Most activations held at once, in those of one micro-batch on one device's share of layers.

        kept: the share that a split backward keeps from the end of B to the end of W. 1: all of it, as ZB-H1 and H2
        count; the paper's own is 32 / (34 + 5·heads·sequence/width). A forward without a backward (inference) keeps
        nothing.
        """
        ran = [box.keys for box in self.rows[device]]
        done = {key for keys in ran for key in keys}
        held: float = 0
        most: float = 0
        for keys in ran:
            for kind, _, _ in keys:
                held += kind == "F"
            most = max(most, held)
            for key in keys:
                held -= freed(key, kept, done)
        return most / self.chunks

    @property
    def most_held(self) -> float:
        """Activations on the device that holds most, in those of a micro-batch on a stage; W keeps all that B had."""
        return max(self.peak(device, kept=1) for device in range(self.devices))


def freed(key: Key, kept: float, done: set[Key]) -> float:
    """Activations that the end of a pass frees, in those of one chunk; `done` are all passes of the device."""
    kind, micro_batch, stage = key
    if kind == "F":
        return 0 if ("B", micro_batch, stage) in done else 1
    if kind == "B":
        return 1 - kept if ("W", micro_batch, stage) in done else 1
    return kept


# --- the simulator -------------------------------------------------------------------------------------------------


class Deadlock(RuntimeError):
    """No device can go on: each waits for a pass that another will not run."""


def needs(key: Key, last: int) -> list[Key]:
    """The passes that must have ended before this one; `last` is the last stage of the model."""
    kind, micro_batch, stage = key
    if kind == "F":
        return [("F", micro_batch, stage - 1)] if stage else []
    if kind == "B":
        return [("F", micro_batch, stage), *([("B", micro_batch, stage + 1)] if stage < last else [])]
    return [("B", micro_batch, stage)]


def simulate(schedule: Schedule, costs: Costs) -> Timeline:
    """Run a schedule. Raises Deadlock if it cannot end, and ValueError if a pass is listed twice or is no pass."""
    run = Run(schedule, costs)
    ready = deque(range(len(schedule.passes)))
    while ready:
        ready.extend(run.advance(ready.popleft()))
    run.check()
    boxes = [box for row in run.rows for box in row]
    return Timeline(boxes, len(schedule.passes), schedule.chunks)


class Run:
    """The state of a simulation: how far each device has come, what has ended, and who waits for what."""

    def __init__(self, schedule: Schedule, costs: Costs):
        self.schedule, self.costs = schedule, costs
        keys = Counter(key for row in schedule.passes for item in row for key in item.keys)
        if not (schedule.passes and all(schedule.passes)):
            raise ValueError("a schedule needs at least one pass on each device")
        validate(keys)
        self.last = max(stage for _, _, stage in keys)
        costs.check(len(schedule.passes), self.last + 1)
        self.listed = keys
        self.times = {(kind, stage): costs.of(kind, stage) for kind in "FBW" for stage in range(self.last + 1)}
        self.rows: list[list[Box]] = [[] for _ in schedule.passes]
        self.ended: dict[Key, tuple[Time, int]] = {}  # when, and on which device
        self.waiting: dict[Key, set[int]] = {}

    def advance(self, device: int) -> set[int]:
        """Run one device as far as it comes; the devices that waited for something that has ended now."""
        woken: set[int] = set()
        row, passes = self.rows[device], self.schedule.passes[device]
        while len(row) < len(passes):
            item = passes[len(row)]
            keys = item.keys
            start, missing = self.earliest(keys, device)
            if missing:
                self.waiting.setdefault(missing, set()).add(device)
                break
            end = start + self.duration(item, keys)
            kind = "".join([kind for kind, _, _ in keys]) if item.beside else item.kind
            row.append(Box(device, kind, item.micro_batch, item.stage, start, end, item.beside))
            for key in keys:
                self.ended[key] = end, device
                if key in self.waiting:
                    woken |= self.waiting.pop(key)
        return woken

    def earliest(self, keys: tuple[Key, ...], device: int) -> tuple[Time, Key | None]:
        """When a pass can start: its device is free and everything has arrived; and the first thing that has not
        ended, if any.
        """
        start = self.rows[device][-1].end if self.rows[device] else 0
        for key in keys:
            for need in needs(key, self.last):
                if need not in self.ended:
                    return start, need
                arrived, where = self.ended[need]
                if where != device:
                    arrived += self.costs.hop
                if arrived > start:
                    start = arrived
        return start, None

    def duration(self, item: Pass, keys: tuple[Key, ...]) -> Time:
        """Time of a pass; an unsplit backward does both gradients."""
        if item.beside is not None and self.costs.overlapped is not None:
            return self.costs.overlapped
        whole: Time = 0
        for kind, batch, stage in keys:
            whole += self.times[kind, stage]
            if kind == "B" and ("W", batch, stage) not in self.listed:
                whole += self.times["W", stage]
        return whole if self.schedule.chunks == 1 else whole / self.schedule.chunks

    def check(self) -> None:
        """Raise Deadlock with what each device that is not done waits for."""
        stuck = []
        for device, (row, passes) in enumerate(zip(self.rows, self.schedule.passes, strict=True)):
            if len(row) < len(passes):
                _, need = self.earliest(passes[len(row)].keys, device)
                assert need is not None  # else the pass could start
                fate = "which waits itself" if need in self.listed else "which no device lists"
                stuck.append(f"device {device}: {said(passes[len(row)].keys)} waits for {said([need])}, {fate}")
        if stuck:
            raise Deadlock("the schedule cannot go on; reorder its lists. " + "; ".join(stuck))


def validate(keys: Counter[Key]) -> None:
    """ValueError unless each pass is of a known kind and listed once."""
    for key, times in keys.items():
        if key[0] not in ("F", "B", "W"):
            raise ValueError(
                f'a pass is of kind "F", "B" or "W", not {key[0]!r}; what overlaps with it goes into `beside`'
            )
        if times > 1:
            raise ValueError(f"{said([key])} is listed {times} times; list it once")


def said(keys: Iterable[Key]) -> str:
    return " & ".join(f"{kind} of micro-batch {batch} at stage {stage}" for kind, batch, stage in keys)
