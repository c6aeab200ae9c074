"""Lab: your own roofline. Measure your machine for a minute, and hold the lesson's formula against it.

Three things are measured: how fast memory is read, how fast matrices are multiplied, and how long one product
X[batch, k] @ W[k, q] takes from batch 1 to batch 1024. The first two, put into `equations.gemm_time`, predict the
third. The CPU is measured with NumPy (float32); where PyTorch is installed and sees a GPU, the GPU is (bf16).

Reading W must mean reading memory. A matrix that was just used may still lie in a cache, wholly if the cache is
larger than it: a second pass would be served from there, several times faster, and the weights would seem to cost
nothing. So the lab holds many matrices, several times the size of the last-level cache together, and takes another
one for every product; when a matrix's turn comes again, the others have pushed it out. The numbers are random and not
zero, because a chip that multiplies zeros draws less power and so may run at a higher clock.

A server does not need the trick: its model's other layers push each layer's weights out just so.
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from blackboard import units
from blackboard.catalogue import datafile
from blackboard.lessons.batching import equations

Work = Callable[[], object]
COMMAND = 'python -c "from blackboard.lessons.batching import own_machine; print(own_machine.measure().summary())"'


@dataclass(frozen=True)
class Plan:
    """Sizes of a measurement: `matrices` weight matrices [weight_rows, weight_columns], used in turn."""

    weight_rows: int = 4096
    weight_columns: int = 4096
    matrices: int = 8
    square: int = 2048  # side of the square product that measures the multiply rate
    batches: tuple[int, ...] = tuple(2**i for i in range(11))

    def matrix_bytes(self, bytes_per_value: int) -> int:
        """Bytes of one weight matrix."""
        return self.weight_rows * self.weight_columns * bytes_per_value

    def bytes(self, bytes_per_value: int) -> int:
        """Bytes that the lab holds at once: the matrices, three squares, the largest input and output."""
        largest = max(self.batches) * (self.weight_rows + self.weight_columns)
        return self.matrices * self.matrix_bytes(bytes_per_value) + (3 * self.square**2 + largest) * bytes_per_value


class Timing(Struct, frozen=True, forbid_unknown_fields=True):
    """One point of the sweep: the time of a product with `batch` rows, median and shortest of the repeats."""

    batch: int
    seconds: float
    fastest: float
    repeats: int


class Measured(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the lab measured on one machine. `flops` in FLOP/s (a multiply-add is 2), `bandwidth` in bytes/s."""

    id: str
    machine: str
    device: str  # cpu or cuda
    precision: str
    bytes_per_value: int
    threads: int | None  # of the CPU; None on a GPU
    software: str
    date: str
    how: str
    weight_rows: int
    weight_columns: int
    matrices: int
    flops: float
    bandwidth: float
    read_by: str  # which way of reading was the fastest
    rows: tuple[Timing, ...]
    chip: str | None = None  # the nearest chip of the catalogue
    note: str = ""

    @property
    def batches(self) -> np.ndarray:
        return np.array([row.batch for row in self.rows])

    @property
    def seconds(self) -> np.ndarray:
        return np.array([row.seconds for row in self.rows])

    def _symbols(self) -> dict[str, float]:
        shape = dict(weight_rows=self.weight_rows, weight_columns=self.weight_columns)
        size = dict(bytes_per_param=self.bytes_per_value, bytes_per_value=self.bytes_per_value)
        return shape | size | dict(flops=self.flops, bandwidth=self.bandwidth)

    def predict(self, batch=None):
        """Seconds by `equations.gemm_time` with the measured rates, for a batch or an array of them (the measured
        ones).
        """
        return equations.gemm_time(rows=self.batches if batch is None else batch, **self._symbols())

    @property
    def hardware_constant(self) -> float:
        """C, in rows: how many must share a weight before multiplying takes as long as reading it."""
        names = ("flops", "bandwidth", "bytes_per_param")
        return equations.hardware_constant(**{name: self._symbols()[name] for name in names})

    @property
    def unrest(self) -> float:
        """The largest median over its fastest repeat: near 1 on a quiet machine."""
        return max(row.seconds / row.fastest for row in self.rows)

    @property
    def flat(self) -> float:
        """Seconds of the shortest product of two or more rows: the level from which the time rises.

        A batch of one is left out where there are others: libraries compute it by another routine (matrix times
        vector), often the faster one, because for a matrix product they first copy the weights into a better order.
        """
        return min(row.seconds for row in self.rows if row.batch > 1 or len(self.rows) == 1)

    @property
    def knee(self) -> float | None:
        """The batch at which the measured time has doubled from flat, for good; None if it never does."""
        return _reaches(2 * self.flat, self.batches, self.seconds)

    @property
    def predicted_knee(self) -> float:
        """The batch at which the predicted time is twice that of a batch of one."""
        return equations.gemm_time.solve("rows")(t_gemm=2 * self.predict(1), **self._symbols())

    def summary(self) -> str:
        """What was measured, in a few lines of text."""
        return "\n".join(_sentences(self))

    def figure(self):
        """The measured points over the prediction, time against batch: a matplotlib figure. Its text is `summary()`."""
        return _draw(self)

    def save(self, path: str | Path) -> None:
        """Write this measurement to a YAML file, which `load` reads."""
        import yaml

        row = msgspec.to_builtins(self)
        Path(path).write_text(yaml.safe_dump([row], sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")


def load(path: str | Path) -> Measured:
    """A saved measurement, checked as strictly as the catalogue's data."""
    (row,) = datafile.read(Path(path), Measured).values()
    return row


@cache
def shipped(machine: str = "cpu") -> Measured:
    """The rows that come with the course, measured on the machine that they name: "cpu", "h200" or "h100-sxm"."""
    return load(datafile.DATA / f"lab_{machine}.yaml")


# --- measuring -----------------------------------------------------------------------------------------------------


def measure(
    seconds: float = 60, progress: bool = True, plan: Plan | None = None, bench: _Cpu | _Cuda | None = None
) -> Measured:
    """Measure this machine in about so many seconds: its GPU if PyTorch sees one, else its CPU.

    MemoryError, with what is needed and what is free, where the matrices do not fit; a smaller `plan` then helps,
    as long as its matrices together stay several times larger than the cache.
    """
    say = (lambda text: print(text, flush=True)) if progress else (lambda text: None)
    bench = bench or _bench(plan, say)
    say(f"measuring {bench.machine}, about {seconds:.0f} s")
    readers = bench.readers()
    speeds = {
        name: size / _time(bench, work, 0.1 * seconds / len(readers))[0] for name, (work, size) in readers.items()
    }
    read_by = max(speeds, key=speeds.__getitem__)
    say(f"  memory: {units.pretty(speeds[read_by], 'byte/s')}, read by {read_by}")
    work, flop = bench.square()
    flops = flop / _time(bench, work, 0.1 * seconds)[0]
    say(f"  multiplying: {units.pretty(flops, 'FLOP/s')}")
    rows = tuple(_sweep(bench, 0.8 * seconds, say))
    return Measured(**bench.identity(), flops=flops, bandwidth=speeds[read_by], read_by=read_by, rows=rows)


def _sweep(bench: _Cpu | _Cuda, seconds: float, say: Callable[[str], None]) -> Iterable[Timing]:
    """The products of all batches, each for its part of the time."""
    batches = bench.plan.batches
    for number, batch in enumerate(batches, 1):
        timing = Timing(batch, *_time(bench, bench.product(batch), seconds / len(batches)))
        say(
            f"  {number:2d} of {len(batches)}  batch {batch:5d}: {units.pretty(timing.seconds, 's')}, median of"
            f" {timing.repeats}"
        )
        yield timing


def _time(bench: _Cpu | _Cuda, work: Work, seconds: float, least: int = 3, most: int = 200) -> tuple[float, float, int]:
    """Seconds of one call of `work`, median and shortest, and of how many calls: for so many seconds, after a
    warm-up.
    """
    bench.seconds(work)  # the first call pays for threads, buffers and the choice of a kernel
    times: list[float] = []
    while len(times) < least or (len(times) < most and sum(times) * bench.burst < seconds):
        times.append(bench.seconds(work))
    return statistics.median(times), min(times), len(times)


class _Cpu:
    """The CPU by NumPy and its BLAS, in float32."""

    device, precision, bytes_per_value, burst = "cpu", "float32", 4, 1

    def __init__(
        self, plan: Plan | None = None, free: float | None = None, clock: Callable[[], float] = time.perf_counter
    ):
        self.plan = plan or _fitting(Plan(), last_level_cache())
        self.machine, self._clock, self._turn = cpu_name(), clock, 0
        _afford(self.plan.bytes(4), _free_memory() if free is None else free)
        self._draw = np.random.default_rng(0)
        self._pool = [self._random(self.plan.weight_rows, self.plan.weight_columns) for _ in range(self.plan.matrices)]

    def _random(self, *shape: int) -> np.ndarray:
        return self._draw.random(shape, dtype=np.float32)

    def _next(self) -> np.ndarray:
        """The matrix whose turn it is: the one not used for longest."""
        self._turn += 1
        return self._pool[self._turn % len(self._pool)]

    def seconds(self, work: Work) -> float:
        start = self._clock()
        work()
        return self._clock() - start

    def readers(self) -> dict[str, tuple[Work, int]]:
        """Ways to read memory once from end to end, with the bytes each reads; the fastest is the bandwidth."""
        size, vector = self.plan.matrix_bytes(4), self._random(self.plan.weight_columns)
        return {
            "matrix × vector": (lambda: self._next() @ vector, size),
            "dot product": (lambda: np.dot(self._next().ravel(), self._next().ravel()), 2 * size),
            "maximum": (lambda: self._next().max(), size),
        }

    def square(self) -> tuple[Work, float]:
        """A product of square matrices that lives on multiplying, and its FLOPs."""
        a, b = self._random(self.plan.square, self.plan.square), self._random(self.plan.square, self.plan.square)
        return lambda: a @ b, 2.0 * self.plan.square**3

    def product(self, batch: int) -> Work:
        """X[batch, k] @ W[k, q] with another W at each call."""
        x = self._random(batch, self.plan.weight_rows)
        return lambda: x @ self._next()

    def identity(self) -> dict:
        """What the record says of this machine."""
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        software = f"NumPy {np.__version__}, {blas['name']} {blas.get('version', '')}".strip()
        return _identity(self) | dict(id="cpu", threads=threads(), software=software)


class _Cuda:
    """A GPU by PyTorch, in bf16, timed by events on the GPU itself."""

    device, precision, bytes_per_value = "cuda", "bf16", 2

    def __init__(self, torch, plan: Plan | None = None):
        # a turn of 16 matrices of 128 MiB outlasts any L2 (50 MB on H100, 126 MB on B200)
        self.plan = plan or Plan(8192, 8192, 16, 8192)
        self.machine, self._torch, self._turn, self.burst = torch.cuda.get_device_name(0), torch, 0, self.plan.matrices
        _afford(2 * self.plan.bytes(2), torch.cuda.mem_get_info()[0])
        self._pool = self._random(self.plan.matrices, self.plan.weight_rows, self.plan.weight_columns)

    def _random(self, *shape: int):
        return self._torch.randn(shape, dtype=self._torch.bfloat16, device="cuda")

    def _next(self):
        self._turn += 1
        return self._pool[self._turn % len(self._pool)]

    def seconds(self, work: Work) -> float:
        """Of one call, from a burst of calls: launched ahead, so that the GPU never waits for Python between them."""
        start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(self.burst):
            work()
        end.record()
        self._torch.cuda.synchronize()
        return start.elapsed_time(end) / 1000 / self.burst

    def readers(self) -> dict[str, tuple[Work, int]]:
        """As for the CPU; a copy reads and writes, so it moves its bytes twice."""
        size, vector = self.plan.matrix_bytes(2), self._random(self.plan.weight_columns)
        copy = self._torch.empty_like(self._pool)
        return {
            "matrix × vector": (lambda: self._next() @ vector, size),
            "sum": (lambda: self._pool.sum(), len(self._pool) * size),
            "copy": (lambda: copy.copy_(self._pool), 2 * len(self._pool) * size),
        }

    def square(self) -> tuple[Work, float]:
        a, b = self._random(self.plan.square, self.plan.square), self._random(self.plan.square, self.plan.square)
        return lambda: a @ b, 2.0 * self.plan.square**3

    def product(self, batch: int) -> Work:
        x = self._random(batch, self.plan.weight_rows)
        return lambda: x @ self._next()

    def identity(self) -> dict:
        chip = nearest_chip(self.machine)
        software = f"PyTorch {self._torch.__version__}, CUDA {self._torch.version.cuda}"
        return _identity(self) | dict(id=chip or "gpu", threads=None, software=software, chip=chip)


def _identity(bench: _Cpu | _Cuda) -> dict:
    sizes = {name: getattr(bench.plan, name) for name in ("weight_rows", "weight_columns", "matrices")}
    known = {name: getattr(bench, name) for name in ("machine", "device", "precision", "bytes_per_value")}
    return known | sizes | dict(date=date.today().isoformat(), how=COMMAND)


def _bench(plan: Plan | None, say: Callable[[str], None]) -> _Cpu | _Cuda:
    """The GPU if PyTorch is installed and sees one, else the CPU."""
    try:
        import torch
    except ImportError:
        return _Cpu(plan)
    if torch.cuda.is_available():
        return _Cuda(torch, plan)
    say("PyTorch is installed but sees no GPU: the CPU is measured")
    return _Cpu(plan)


# --- the machine ---------------------------------------------------------------------------------------------------


def _fitting(plan: Plan, cache_bytes: int) -> Plan:
    """The plan with so many matrices that they outlast the cache: four times its size, and never fewer."""
    return replace(plan, matrices=max(plan.matrices, -(-4 * cache_bytes // plan.matrix_bytes(4))))


def _afford(needed: float, free: float | None) -> None:
    """Refuse with both numbers where a fifth of the free memory would not be left; unknown is allowed."""
    if free is not None and needed > 0.8 * free:
        raise MemoryError(
            f"the lab needs {units.pretty(needed, 'byte')} and {units.pretty(free, 'byte')} are free: "
            "close other programs, or pass a smaller plan, such as measure(plan=Plan(matrices=4, square=1024))"
        )


def _free_memory() -> float | None:
    """Bytes that Linux says are available; None elsewhere."""
    found = re.search(r"MemAvailable:\s*(\d+) kB", _text("/proc/meminfo"))
    return int(found[1]) * 1024.0 if found else None


def last_level_cache() -> int:
    """Bytes of the largest cache that Linux shows; 64 MB where it shows none."""
    sizes = [_text(path) for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    scale = {"K": 1024, "M": 1024**2, "G": 1024**3}
    found = [int(s.strip()[:-1]) * scale[s.strip()[-1]] for s in sizes if re.fullmatch(r"\d+[KMG]\s*", s)]
    return max(found, default=64_000_000)


def cpu_name() -> str:
    """The processor's own name where the system tells it, else what Python knows."""
    found = re.search(r"model name\s*:\s*(.+)", _text("/proc/cpuinfo"))
    return found[1].strip() if found else platform.processor() or platform.machine()


def threads() -> int:
    """Threads that the BLAS will use: what the environment says, else the CPUs this process may run on."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def nearest_chip(device: str, ids: Iterable[str] | None = None) -> str | None:
    """The catalogue id nearest to a device's name: "NVIDIA H100 80GB HBM3" gives "h100-sxm"; None if none is near.

    The first part of an id ("h100") must be a word of the name; of several, the id that shares the most words wins.
    """
    if ids is None:
        from blackboard import catalogue

        ids = [chip.id for chip in catalogue.chips()]
    words = set(re.findall(r"[a-z0-9]+", device.lower()))
    family = [id for id in ids if id.split("-")[0] in words]
    return max(family, key=lambda id: len(words.intersection(id.split("-"))), default=None)


# --- showing -------------------------------------------------------------------------------------------------------


def _reaches(level: float, batches: np.ndarray, seconds: np.ndarray) -> float | None:
    """The batch after which the times stay at or above a level, between points on a straight line in log-log."""
    below = np.flatnonzero(seconds < level)
    if not len(below):
        return float(batches[0])
    if below[-1] == len(batches) - 1:
        return None
    pair = slice(below[-1], below[-1] + 2)
    return float(np.exp(np.interp(np.log(level), np.log(seconds[pair]), np.log(batches[pair]))))


def _sentences(m: Measured) -> Iterable[str]:
    pretty = units.pretty
    cores = f", {m.threads} threads" if m.threads else ""
    matrix = m.weight_rows * m.weight_columns * m.bytes_per_value
    yield f"{m.machine}{cores}, {m.precision}, {m.software}, {m.date}"
    yield (
        f"memory is read at {pretty(m.bandwidth, 'byte/s')} ({m.read_by}), matrices are multiplied at"
        f" {pretty(m.flops, 'FLOP/s')}"
    )
    yield f"so about {m.hardware_constant:.0f} rows must share a weight to pay for reading it"
    yield (
        f"a product with {matrix / 1e6:.0f} MB of weights takes at least {pretty(m.predict(1), 's')}; measured: "
        + f"{pretty(m.seconds[0], 's')} at batch {m.batches[0]}, {pretty(m.flat, 's')} where it is flat"
    )
    knee = f"at batch {m.knee:.0f}" if m.knee else f"nowhere up to batch {m.batches[-1]}"
    yield f"time has doubled from flat {knee}; predicted: batch {m.predicted_knee:.0f}"
    if m.unrest > 1.5:
        yield (
            f"the machine was busy (medians up to {m.unrest:.1f} times the fastest repeat): close other programs and"
            " measure again"
        )
    if m.chip:
        yield _against_datasheet(m, m.chip)


def _against_datasheet(m: Measured, chip_id: str) -> str:
    from blackboard import catalogue

    chip = catalogue.chip(chip_id)
    read, multiplied = m.bandwidth / chip.bandwidth, m.flops / chip.flops(m.precision)
    return (
        f"nearest in the catalogue: {chip.name}; {read:.0%} of its bandwidth and {multiplied:.0%} of its FLOP/s were"
        " reached"
    )


def _draw(m: Measured):
    import matplotlib.pyplot as plt

    from blackboard.charts import style

    style.use()
    figure, axes = plt.subplots(figsize=(5.2, 3.6))  # letters of 10 pixels on a phone
    batch, colours = np.geomspace(m.batches[0], m.batches[-1], 400), style.COLOURS
    axes.loglog(batch, 1e3 * m.predict(batch), color=colours["bound"])
    axes.loglog(m.batches, 1e3 * m.seconds, "o", color=colours["compute"])
    for knee, colour, name, place, side in (
        (m.predicted_knee, "bound", "predicted", 0.6, "right"),
        (m.knee, "compute", "measured", 0.11, "left"),
    ):
        if knee:
            axes.axvline(knee, color=colours[colour], linewidth=1, linestyle=":")
            axes.annotate(
                f" {name}: doubled at {knee:.0f} ",
                (knee, place),
                xycoords=axes.get_xaxis_transform(),
                color=colours[colour],
                horizontalalignment=side,
            )
    for y, name, colour in ((0.88, "● measured", "compute"), (0.78, "— predicted", "bound")):
        axes.text(0.03, y, name, color=style.ink(colours[colour]), transform=axes.transAxes)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set(xlabel="batch (rows that share the weights)", ylabel="time of one product (ms)")
    axes.set_title(f"{m.machine}: predicted from two rates, and measured", loc="left")
    plt.close(figure)  # it is shown as the value of the cell, and not a second time
    return figure
