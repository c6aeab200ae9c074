"""Schedules of pipelines, for serving and training, and how they compare with what was measured.

Sources: GPipe (arXiv 1811.06965), 1F1B and interleaving (2104.04473), zero bubble (2401.10241), DualPipe
(github.com/deepseek-ai/DualPipe).
"""

from __future__ import annotations

import heapq
from collections import deque
from functools import cache
from itertools import product
from typing import NamedTuple

from blackboard import catalogue
from blackboard.lessons.pipelining.timeline import Box, Costs, Pass, Schedule, Time, Timeline, simulate

# --- schedules: inference ------------------------------------------------------------------------------------------


def serve(devices: int, micro_batches: int, steps: int) -> Schedule:
    """Decoding: each micro-batch enters device 0 again when it has left the last, once per token (lecture 1:08:06).

    The s-th step of a micro-batch passes the stages s·P to s·P + P - 1, so a step waits for the one before.
    """
    positive(devices=devices, micro_batches=micro_batches, steps=steps)
    visits = list(product(range(steps), range(micro_batches)))
    return Schedule(
        [[Pass("F", batch, step * devices + device) for step, batch in visits] for device in range(devices)]
    )


def naive(devices: int, steps: int = 1) -> Schedule:
    """Inference with one batch in flight: one device works, the others wait (lecture 0:57:07)."""
    return serve(devices, 1, steps)


# --- schedules: training -------------------------------------------------------------------------------------------


def gpipe(devices: int, micro_batches: int) -> Schedule:
    """All forwards, a hard stop, all backwards (arXiv 1811.06965; lecture 0:58:53).

    Both draw the backwards from the last micro-batch to the first. Here the first comes first, as in the other
    schedules, which changes no time.
    """
    positive(devices=devices, micro_batches=micro_batches)
    return Schedule([[Pass(kind, b, d) for kind in "FB" for b in range(micro_batches)] for d in range(devices)])


def one_f_one_b(devices: int, micro_batches: int) -> Schedule:
    """PipeDream-Flush: P - i forwards on device i, then one backward, one forward in turn (arXiv 2104.04473, 2.2.1)."""
    positive(devices=devices, micro_batches=micro_batches)
    rows = []
    for d in range(devices):
        forwards, backwards = ([Pass(kind, b, d) for b in range(micro_batches)] for kind in "FB")
        rows.append(alternate(forwards, backwards, devices - d - 1))
    return Schedule(rows)


def interleaved(devices: int, micro_batches: int, chunks: int) -> Schedule:
    """1F1B with `chunks` pieces of the model on each device: stage s lies on device s mod P (arXiv 2104.04473, 2.2.2).

    A device takes P micro-batches through one chunk, then through its next. Raises ValueError unless P divides the
    number of micro-batches.
    """
    positive(devices=devices, micro_batches=micro_batches, chunks=chunks)
    if micro_batches % devices:
        raise ValueError(f"take a number of micro-batches that {devices} devices divide, not {micro_batches}")
    order = [
        (group + batch, chunk)
        for group in range(0, micro_batches, devices)
        for chunk in range(chunks)
        for batch in range(devices)
    ]
    rows = []
    for d in range(devices):
        forwards = [Pass("F", batch, chunk * devices + d) for batch, chunk in order]
        backwards = [Pass("B", batch, (chunks - 1 - chunk) * devices + d) for batch, chunk in order]
        warmup = (devices - d - 1) * (2 if chunks > 1 else 1) + (chunks - 1) * devices
        rows.append(alternate(forwards, backwards, warmup))
    return Schedule(rows, chunks)


def alternate(forwards: list[Pass], backwards: list[Pass], warmup: int) -> list[Pass]:
    """`warmup` forwards, then a forward and a backward in turn, then the backwards that are left."""
    warmup = min(warmup, len(forwards))
    row = forwards[:warmup]
    for index, backward in enumerate(backwards):
        row += [*forwards[warmup + index : warmup + index + 1], backward]
    return row


def split_1f1b(devices: int, micro_batches: int) -> Schedule:
    """1F1B with each W as a pass of its own right after its B, so that the stage before need not wait for it."""
    return split_backward(micro_batches, [(devices - d, 0) for d in range(devices)])


def zero_bubble_h1(devices: int, micro_batches: int) -> Schedule:
    """ZB-H1 (arXiv 2401.10241, 2.1): the warm-up of 1F1B; device i puts off its W by i micro-batches, and none holds
    more than P.
    """
    return split_backward(micro_batches, [(devices - d, d) for d in range(devices)])


def zero_bubble_h2(devices: int, micro_batches: int) -> Schedule:
    """ZB-H2 (arXiv 2401.10241, 2.2): forwards until the first backward comes back; about twice the memory."""
    return split_backward(micro_batches, [(2 * (devices - d) - 1, 2 * d) for d in range(devices)])


def split_backward(micro_batches: int, delays: list[tuple[int, int]]) -> Schedule:
    """Per device (warm-up, delay): forwards first, then B, W, F in turn, each W as many micro-batches late as the
    delay.
    """
    positive(devices=len(delays), micro_batches=micro_batches)
    rows = []
    for d, (warmup, delay) in enumerate(delays):
        row = [Pass("F", b, d) for b in range(min(warmup, micro_batches))]
        for b in range(micro_batches + delay):
            row += [Pass("B", b, d)] * (b < micro_batches)
            row += [Pass("W", b - delay, d)] * (0 <= b - delay < micro_batches)
            row += [Pass("F", b + warmup, d)] * (b + warmup < micro_batches)
        rows.append(row)
    return Schedule(rows)


def positive(**counts: int) -> None:
    """ValueError that names the count which is not a positive integer."""
    for name, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"{name.replace('_', '-')} must be a whole number of at least 1, not {count!r}")


# --- schedules that a search finds --------------------------------------------------------------------------------


def zero_bubble(
    devices: int, micro_batches: int, costs: Costs, limit: float | None = None, kept: float = 1
) -> Schedule:
    """A schedule made for these costs and this memory, as ZB-1p (limit P) and ZB-2p (limit 2P) of arXiv 2401.10241,
    3.1.

    limit: activations a device may hold, in those of one micro-batch; by default P, the memory of 1F1B. kept: as in
    `Timeline.peak`. Greedy rules are tried, and ZB-H1 and H2 where they fit; the one of the shortest period is taken,
    and of those the one of the shortest makespan. A search that finds good schedules, not a proof of the best.
    """
    return searched(devices, micro_batches, costs, limit, kept)[0]


def searched(
    devices: int, micro_batches: int, costs: Costs, limit: float | None = None, kept: float = 1
) -> tuple[Schedule, Timeline]:
    """The schedule of `zero_bubble`, and its run."""
    positive(devices=devices, micro_batches=micro_batches)
    limit = devices if limit is None else limit
    if limit < 1 or not 0 <= kept <= 1:
        raise ValueError(f"limit must be at least 1 and kept from 0 to 1, not {limit!r} and {kept!r}")
    runs = [Greedy(devices, micro_batches, costs, limit, kept, patient).run() for patient in (False, True)]
    if limit >= devices:
        runs.append(simulate(zero_bubble_h1(devices, micro_batches), costs))
    if limit >= 2 * devices - 1:
        runs.append(simulate(zero_bubble_h2(devices, micro_batches), costs))
    best = min(runs, key=lambda run: (run.period, run.makespan))
    return Schedule([[Pass(*box[1:4]) for box in row] for row in best.rows]), best


class Greedy:
    """List scheduling: whenever a device is free it takes a B if one has arrived, else an F if there is room, else a W.

    patient: no W that would still run when the next B or F arrives, as far as that is known.
    """

    def __init__(self, devices: int, micro_batches: int, costs: Costs, limit: float, kept: float, patient: bool):
        self.devices, self.hop = devices, costs.hop
        self.times = [{kind: costs.of(kind, device) for kind in "FBW"} for device in range(devices)]
        self.frees = {"F": 1, "B": kept - 1, "W": -kept}
        self.limit, self.patient = limit + 1e-9, patient  # room for rounding
        self.rows: list[list[Box]] = [[] for _ in range(devices)]
        self.done = [{"F": 0, "B": 0, "W": 0} for _ in range(devices)]
        self.held = [0.0] * devices
        self.free: list[Time] = [0] * devices
        # when the passes of a device arrive, in the order of the micro-batches
        self.arrived: list[dict[str, list[Time]]] = [{"F": [], "B": []} for _ in range(devices)]
        self.arrived[0]["F"] = [0] * micro_batches
        self.events: list[tuple[Time, int]] = [(0, 0)]

    def run(self) -> Timeline:
        """What runs when. The lists of the devices, simulated, give the same times: no pass waits for no reason."""
        while self.events:
            now, device = heapq.heappop(self.events)
            if self.free[device] <= now and (kind := self.choose(device, now)):
                self.start(kind, device, now)
        return Timeline([box for row in self.rows for box in row], self.devices)

    def choose(self, device: int, now: Time) -> str | None:
        """The kind of pass to start now, or None to wait."""
        done, coming = self.done[device], []
        for kind in "BF":
            time = self.arrival(kind, device)
            if time is not None:
                if time <= now:
                    return kind
                coming.append(time)
        if done["W"] == done["B"] or self.patient and any(time < now + self.times[device]["W"] for time in coming):
            return None
        return "W"

    def arrival(self, kind: str, device: int) -> Time | None:
        """When the next B or F of a device arrives; None if that is not known yet, or an F has no room.

        On device i no more than 2(P - i) - 1 forwards go ahead: so many fit before the first backward comes back.
        """
        done = self.done[device]
        ahead = done["F"] - done["B"]
        if kind == "F" and (self.held[device] + 1 > self.limit or ahead >= 2 * (self.devices - device) - 1):
            return None
        arrived = self.arrived[device][kind]
        return arrived[done[kind]] if done[kind] < len(arrived) else None

    def start(self, kind: str, device: int, now: Time) -> None:
        """Run a pass: keep the books, and tell the device itself and the next one when to look again."""
        batch = self.done[device][kind]
        end = self.free[device] = now + self.times[device][kind]
        self.done[device][kind] += 1
        self.held[device] += self.frees[kind]
        self.rows[device].append(Box(device, kind, batch, device, now, end))
        heapq.heappush(self.events, (end, device))
        goal = device + 1 if kind == "F" else device - 1
        if kind == "F" and goal == self.devices:
            self.arrived[device]["B"].append(end)
        elif kind != "W" and goal >= 0:
            self.arrived[goal][kind].append(end + self.hop)
            heapq.heappush(self.events, (end + self.hop, goal))


# --- DualPipe ------------------------------------------------------------------------------------------------------


def dualpipe(devices: int, micro_batches: int) -> Schedule:
    """DualPipe: half of the micro-batches from each end, and so two copies of the parameters
    (github.com/deepseek-ai/DualPipe).

    Micro-batches 0 to M/2 - 1 enter at device 0, the others at device P - 1, where stage s lies on device P - 1 - s.
    The eight steps are the authors'. Raises ValueError unless P and M are even and M at least 2P.
    """
    positive(devices=devices, micro_batches=micro_batches)
    if devices % 2 or micro_batches % 2 or micro_batches < 2 * devices:
        raise ValueError(f"take an even number of devices and an even number of micro-batches, at least {2 * devices}")
    return Schedule([DualPipeDevice(devices, micro_batches, d).row() for d in range(devices)])


class DualPipeDevice:
    """The list of one device. Direction 0 is the one whose micro-batches reach this device first."""

    def __init__(self, devices: int, micro_batches: int, device: int):
        self.near = min(device, devices - 1 - device)  # stages to the nearer end
        self.far = devices // 2 - 1 - self.near  # devices to the middle
        half, first = micro_batches // 2, device < devices // 2
        self.steady = half - devices + self.near + 1
        self.stage = (self.near, devices - 1 - self.near)
        self.batches = {kind: [iter(range(half)), iter(range(half, 2 * half))][:: 1 if first else -1] for kind in "FB"}
        self.list: list[Pass] = []
        self.weights: deque[Pass] = deque()

    def row(self) -> list[Pass]:
        """All passes, in the order of the eight steps."""
        self.fill()
        self.overlap()
        self.drain()
        return self.list

    def fill(self) -> None:
        """Steps 1 to 3: forwards of the near end, then of both, then backwards with their W in between."""
        for _ in range(2 * self.far):
            self.forward(0)
        for _ in range(self.near + 1):
            self.forward(0)
            self.forward(1)
        for _ in range(self.far):
            self.backward(1, split=True)
            self.weight()
            self.forward(1)

    def overlap(self) -> None:
        """Steps 4 and 5: a forward of one direction beside a backward of the other."""
        for index in range(self.steady):
            if index == 0 and self.far == 0:  # the two in the middle do not overlap their first pair: less bubble
                self.forward(0)
                self.backward(1)
            else:
                self.both(0, 1)
            self.both(1, 0)
        for _ in range(self.far):
            self.backward(1)
            self.both(1, 0)

    def drain(self) -> None:
        """Steps 6 to 8: the last backwards, the second half of them split, and the W put off."""
        pairs = self.near + 1
        for index in range(2 * pairs):
            self.backward(1 - index % 2, split=index >= pairs)
        for _ in range(self.far):
            self.weight()
            self.backward(0, split=True)
        while self.weights:
            self.weight()

    def make(self, kind: str, direction: int) -> Pass:
        return Pass(kind, next(self.batches[kind][direction]), self.stage[direction])

    def forward(self, direction: int) -> None:
        self.list.append(self.make("F", direction))

    def backward(self, direction: int, split: bool = False) -> None:
        self.list.append(self.make("B", direction))
        if split:
            self.weights.append(self.list[-1]._replace(kind="W"))

    def both(self, forward: int, backward: int) -> None:
        self.list.append(self.make("F", forward)._replace(beside=self.make("B", backward)))

    def weight(self) -> None:
        self.list.append(self.weights.popleft())


# --- the schedules side by side -------------------------------------------------------------------------------------


@cache
def equal_runs(devices: int, micro_batches: int) -> dict[str, Timeline]:
    """A run of each schedule of the page, by name, with F, B and W equally long; interleaving with two chunks."""
    made = {
        "GPipe": gpipe(devices, micro_batches),
        "1F1B": one_f_one_b(devices, micro_batches),
        "interleaved": interleaved(devices, micro_batches, 2),
        "split 1F1B": split_1f1b(devices, micro_batches),
        "ZB-H1": zero_bubble_h1(devices, micro_batches),
        "ZB-H2": zero_bubble_h2(devices, micro_batches),
        "DualPipe": dualpipe(devices, micro_batches),
    }
    return {name: simulate(schedule, Costs(1, 1, 1)) for name, schedule in made.items()}


# --- what was measured ---------------------------------------------------------------------------------------------


class Setup(NamedTuple):
    """A model of the zero-bubble paper (arXiv 2401.10241, Table 3): sequences of 1,024 tokens."""

    layers: int  # per device; the first and the last have one less, for embedding and loss
    heads: int
    width: int

    def most(self, run: Timeline, micro_batch: int) -> float:
        """Bytes of activations on the device that holds most: per layer and micro-batch s·b·h·(34 + 5·a·s/h) (Table
        1).
        """
        layers = [self.layers - (device in (0, run.devices - 1)) for device in range(run.devices)]
        held = max(run.peak(device, self.kept) * count for device, count in enumerate(layers))
        return held * 1024 * micro_batch * self.width * (34 + self.scores)

    @property
    def kept(self) -> float:
        """Share of it that W needs: 32·s·b·h per layer."""
        return 32 / (34 + self.scores)

    @property
    def scores(self) -> float:
        return 5 * self.heads * 1024 / self.width


SETUPS = {
    "1.5B": Setup(3, 24, 2304),
    "6.2B": Setup(4, 32, 4096),
    "14.6B": Setup(3, 40, 5120),
    "28.3B": Setup(2, 48, 6144),
}
COLUMNS = (
    "model",
    "stages",
    "microbatches",
    "microbatch_size",
    "schedule",
    "forward_ms",
    "input_gradient_ms",
    "weight_gradient_ms",
    "transfer_ms",
    "throughput_sequence_per_GPU_per_s",
    "memory_GB",
    "bubble_rate",
)


class Comparison(NamedTuple):
    """One row of the paper's tables beside its simulation."""

    model: str
    devices: int
    micro_batches: int
    schedule: str
    run: Timeline  # in seconds; its `period_bubble` stands beside `paper_bubble`
    paper_bubble: float  # calculated by the paper, to four digits
    throughput: float  # simulated, sequences per second and device
    measured_throughput: float
    activations: float  # simulated, bytes on the device that holds most
    measured_memory: float  # bytes on the device that holds most, weights and optimizer included


def published(name: str, devices: int, micro_batches: int, costs: Costs, setup: Setup) -> Timeline:
    """The run of a schedule by its name in the paper: 1F1B, 1F1B-I (a chunk per layer), ZB-1p, ZB-2p."""
    if name == "1F1B":
        return simulate(one_f_one_b(devices, micro_batches), costs)
    if name == "1F1B-I":
        return simulate(interleaved(devices, micro_batches, setup.layers), costs)
    limit = {"ZB-1p": devices, "ZB-2p": 2 * devices}[name]
    return searched(devices, micro_batches, costs, limit, setup.kept)[1]


def against_measurements() -> list[Comparison]:
    """Simulate every row of the table "zero_bubble_pipeline" with the times profiled there, and nothing fitted.

    Equal stages, no optimizer step, no synchronisation: the simulated throughput is a ceiling. Takes some seconds.
    Only the memory takes account of the layer that the first and the last device lack.
    """
    table = catalogue.measurement("zero_bubble_pipeline")
    return [compare(*row) for row in zip(*map(table.column, COLUMNS), strict=True)]


@cache
def compare(
    model, devices, batches, size, name, forward, backward, weight, hop, measured, memory, bubble
) -> Comparison:
    """One row of the table, in the order of COLUMNS."""
    setup, costs = SETUPS[model], Costs(forward / 1000, backward / 1000, weight / 1000, hop / 1000)
    run = published(name, devices, batches, costs, setup)
    throughput = size * batches / run.period / devices
    return Comparison(
        model, devices, batches, name, run, bubble, throughput, measured, setup.most(run, size), memory * 1e9
    )
