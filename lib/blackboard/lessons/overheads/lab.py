"""The lab of the overheads lesson: fuse kernels, see when launching binds, and overlap sending with computing."""

from __future__ import annotations

import random
from typing import Any

from blackboard.catalogue import chip, model
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial
from blackboard.lessons.batching.equations import compute_time, kv_time, step_time, weight_time
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads.implied import sglang_measured, with_tokens

# --- fuse -------------------------------------------------------------------------------------------------------------


def fuse(kernels):
    """The kernels that are left after fusing, as a list of lists of names.

    kernels  names in order; "matmul" is a product of matrices, everything else works on vectors

    A chain of vector kernels that follow one another becomes one kernel. A matmul stays by itself.
    """
    fused = []
    for name in kernels:
        if name != "matmul" and fused and fused[-1] != ["matmul"]:
            fused[-1].append(name)
        else:
            fused.append([name])
    return fused


def _steps(rng: random.Random) -> tuple:
    return ([rng.choice(["matmul", "norm", "add", "gelu", "scale"]) for _ in range(rng.randint(0, 7))],)


def _nothing_lost(trial: Trial) -> str | None:
    flat = [name for group in trial.got for name in group]
    return None if flat == trial.args[0] else f"All kernels must still run, in their order; yours run {flat}."


def _matmuls_alone(trial: Trial) -> str | None:
    mixed = [group for group in trial.got if "matmul" in group and len(group) > 1]
    return f"A matmul stays by itself, but you fused {mixed[0]}." if mixed else None


def _no_neighbors(trial: Trial) -> str | None:
    if [] in trial.got:
        return "An empty list is no kernel."
    for before, after in zip(trial.got, trial.got[1:]):
        if "matmul" not in before + after:
            return f"{before} and {after} follow one another and can be one kernel."
    return None


def _input_kept(trial: Trial) -> str | None:
    return None if trial.after == trial.args else "Your version changed the list that it was given."


def _nothing_fused(kernels):
    return [[name] for name in kernels]


def _all_in_one(kernels):
    return [list(kernels)] if kernels else []


def _drops_repeats(kernels):
    fused = []
    for name in kernels:
        if name != "matmul" and fused and fused[-1] != ["matmul"]:
            if name not in fused[-1]:
                fused[-1].append(name)
        else:
            fused.append([name])
    return fused


def _takes_matmul_in(kernels):
    fused = []
    for name in kernels:
        if name != "matmul" and fused:
            fused[-1].append(name)
        else:
            fused.append([name])
    return fused


def _pairs_only(kernels):
    fused = []
    for name in kernels:
        if name != "matmul" and fused and fused[-1] != ["matmul"] and len(fused[-1]) < 2:
            fused[-1].append(name)
        else:
            fused.append([name])
    return fused


FUSE = Step(
    "Fuse a list of kernels",
    "Merge neighboring vector kernels, as a compiler does, so that a layer needs fewer launches and less memory"
    " traffic.",
    fuse,
    'fuse(["norm", "matmul", "add", "norm", "matmul"])',
    _steps,
    (_input_kept, _nothing_lost, _matmuls_alone, _no_neighbors),
    {
        _nothing_fused: _no_neighbors,
        _all_in_one: _matmuls_alone,
        _drops_repeats: _nothing_lost,
        _takes_matmul_in: _matmuls_alone,
        _pairs_only: _no_neighbors,
    },
    (
        "Go through the names and keep a list of groups. Does this name join the last group, or begin a new one?",
        "It joins if it is no matmul and the last group is no matmul either.",
    ),
    extreme=lambda kernels: not kernels,
)

# --- traffic ----------------------------------------------------------------------------------------------------------


def vector_traffic(groups, vector_bytes):
    """Bytes that fused vector kernels read and write; matmuls are not counted.

    groups        kernels as `fuse` returns them
    vector_bytes  bytes of the vector that each kernel reads once and writes once
    """
    return sum(2 * vector_bytes for group in groups if group != ["matmul"])


def _groups(rng: random.Random) -> tuple:
    return fuse(_steps(rng)[0]), rng.choice([1_000, 16_384])


def _even(trial: Trial) -> str | None:
    groups, size = trial.args
    fine = not trial.got or trial.got % (2 * size) == 0
    return None if fine else f"Each kernel reads {size:,} bytes and writes as many."


def _per_group(trial: Trial) -> str | None:
    if trial.got == trial.want:
        return None
    groups, size = trial.args
    vectors = sum(group != ["matmul"] for group in groups)
    return (
        f"Groups that are no matmul: {vectors}. Each reads {size} bytes and writes {size}, however long its chain:"
        f" {trial.want} in all."
    )


def _per_kernel(groups, vector_bytes):
    return sum(2 * vector_bytes * len(group) for group in groups if group != ["matmul"])


def _read_only(groups, vector_bytes):
    return sum(vector_bytes for group in groups if group != ["matmul"])


def _with_matmuls(groups, vector_bytes):
    return 2 * vector_bytes * len(groups)


def _chains_only(groups, vector_bytes):
    return sum(2 * vector_bytes for group in groups if len(group) > 1)


TRAFFIC = Step(
    "What fusing saves",
    "Count the bytes that the vector kernels of a layer move, so that you can see what fusing saves.",
    vector_traffic,
    'vector_traffic([["norm"], ["matmul"], ["add", "norm"], ["matmul"]], 16_384)',
    _groups,
    (_even, _per_group),
    {_per_kernel: _per_group, _read_only: _even, _with_matmuls: _per_group, _chains_only: _per_group},
    ('How many groups are not `["matmul"]`?', "Two times the vector for each of them."),
    extreme=lambda groups, vector: not groups,
)

# --- launching --------------------------------------------------------------------------------------------------------


def eager_time(device_time, kernels, launch, gap):
    """Time of a step whose kernels the host launches one by one, while the device runs those before.

    device_time  time in which the device works
    kernels      how many kernels the step has
    launch       time in which the host launches one kernel
    gap          time in which the device stands still between two kernels, counted once for each kernel

    All times are in microseconds.
    """
    return max(device_time + kernels * gap, kernels * launch)


def _launches(rng: random.Random) -> tuple:
    return rng.choice([100, 2_000, 10_000]), rng.choice([50, 400, 1_500]), rng.choice([3, 6]), rng.choice([0, 1])


def _both_at_once(trial: Trial) -> str | None:
    device, kernels, launch, gap = trial.args
    fine = trial.got < device + kernels * (gap + launch)
    return None if fine else "Host and device work at the same time: their times do not add."


def _host_binds(trial: Trial) -> str | None:
    _, kernels, launch, _ = trial.args
    fine = trial.got >= kernels * launch
    return None if fine else f"The host alone needs {kernels} × {launch} = {kernels * launch} µs to launch everything."


def _slower(trial: Trial) -> str | None:
    device, kernels, launch, gap = trial.args
    busy = device + kernels * gap
    if trial.got == trial.want:
        return None
    return (
        f"The device takes {device} + {kernels} × {gap} = {busy} µs with its gaps, and the host {kernels * launch} µs"
        f" meanwhile: the step takes {trial.want} µs."
    )


def _sum(device_time, kernels, launch, gap):
    return device_time + kernels * (gap + launch)


def _device_only(device_time, kernels, launch, gap):
    return device_time + kernels * gap


def _no_gaps(device_time, kernels, launch, gap):
    return max(device_time, kernels * launch)


def _gaps_on_host(device_time, kernels, launch, gap):
    return max(device_time, kernels * (launch + gap))


EAGER = Step(
    "When launching binds",
    "Work out how long a step takes when the host launches each kernel by itself, and see when the device waits for"
    " the host.",
    eager_time,
    "eager_time(2000, 400, 6, 2)",
    _launches,
    (_both_at_once, _host_binds, _slower),
    {_sum: _both_at_once, _device_only: _host_binds, _no_gaps: _slower, _gaps_on_host: _slower},
    ("Two things run at once. Which one ends last?", "max(device_time + kernels × gap, kernels × launch)."),
)

# --- overlap ----------------------------------------------------------------------------------------------------------


def overlap_time(compute, load, send):
    """Time of a layer whose batch runs as two halves, so that one half computes while the other sends.

    compute  time to multiply for the whole batch
    load     time to read the layer's weights; each half reads all of them
    send     time to send the results of the whole batch

    Each half takes the longer of its multiplying and its reading. Sending hides behind the halves, or they behind it.
    """
    halves = 2 * max(compute / 2, load)
    return max(halves, send)


def _layers(rng: random.Random) -> tuple:
    return rng.choice([10, 40, 100]), rng.choice([5, 20, 60]), rng.choice([0, 10, 50, 150])


def _weights_twice(trial: Trial) -> str | None:
    compute, load, send = trial.args
    fine = trial.got >= 2 * load
    return None if fine else f"Each half reads all weights: that alone takes 2 × {load}."


def _hidden(trial: Trial) -> str | None:
    compute, load, send = trial.args
    most = max(compute, 2 * load, send)
    return None if trial.got <= most else f"What overlaps does not add: nothing here takes longer than {most}."


def _longer(trial: Trial) -> str | None:
    compute, load, send = trial.args
    if abs(trial.got - trial.want) < 1e-9:
        return None
    return (
        f"Each half takes the longer of {compute} / 2 and {load}, so both take {2 * max(compute / 2, load):g}. Sending"
        f" takes {send} meanwhile: {trial.want:g} in all."
    )


def _serial(compute, load, send):
    return max(compute, load) + send


def _loads_once(compute, load, send):
    return max(compute, load, send)


def _load_halved(compute, load, send):
    return max(2 * max(compute / 2, load / 2), send)


def _one_half(compute, load, send):
    return max(compute / 2, 2 * load, send)


def _adds_half(compute, load, send):
    return 2 * max(compute / 2, load) + send / 2


OVERLAP = Step(
    "Overlap of two halves",
    "Split a batch into two halves, so that one half computes while the other sends, and work out what a layer then"
    " takes.",
    overlap_time,
    "overlap_time(100, 60, 110)",
    _layers,
    (_hidden, _weights_twice, _longer),
    {
        _serial: _hidden,
        _loads_once: _weights_twice,
        _load_halved: _weights_twice,
        _adds_half: _hidden,
        _one_half: _longer,
    },
    ("First the time of both halves, then compare it with sending.", "max(2 × max(compute / 2, load), send)."),
)

# --- the chart --------------------------------------------------------------------------------------------------------

MODEL, CHIP, CONTEXT = model("qwen3-1.7b"), chip("h100-sxm"), 1_000
LAUNCH, GAP = 6e-6, 1e-6  # seconds, of the order that the lesson measures
LAYER = [
    "norm",
    "matmul",
    "rotate",
    "scale",
    "matmul",
    "matmul",
    "add",
    "norm",
    "matmul",
    "gelu",
    "scale",
    "matmul",
    "add",
]
BATCHES = [2**n for n in range(10)]


def _halves(own: Any, tokens: int) -> tuple[float, float]:
    """What two halves gain DeepSeek-V3 on 72 H100 with so many tokens a GPU: by the reader, and by the lesson."""
    case = with_tokens(tokens)
    compute, weights, cache, send = compute_time(case), weight_time(case), kv_time(case), case["t_comm"]
    whole = max(compute, weights + cache) + send
    return whole / own.overlap_time(compute, weights + cache / 2, send), eq.overlap_gain(case)


def finish(own: Any) -> dict[str, Any]:
    """What fusing and two halves gain, by batch: the reader's layer launched one by one and the reader's overlap, the
    lesson's formulas, and what SGLang measured. The title holds the traffic that fusing saves.
    """
    case = MODEL.symbols("bf16") | CHIP.symbols("bf16") | {"context": CONTEXT}
    groups = own.fuse(LAYER)
    single, fused = (MODEL.layers * len(each) for each in (LAYER, groups))
    device = lambda batch: 1e6 * step_time(case, batch=batch)
    eager = lambda batch, count: own.eager_time(device(batch), count, 1e6 * LAUNCH, 1e6 * GAP)
    course = eq.eager_time.bind(case, launch_time=LAUNCH, kernel_gap=GAP)
    halves = [(tokens, *_halves(own, tokens)) for tokens in BATCHES[4:]]
    most = max(eager(batch, single) / eager(batch, fused) for batch in BATCHES)
    saved = 1 - own.vector_traffic(groups, 1) / own.vector_traffic([[name] for name in LAYER], 1)
    return lab_chart(
        f"Your fused layer runs up to {most:.2g} times as fast\nYour fusing saves {saved:.0%} of the vectors' traffic",
        "sequences on each GPU",
        "times as fast",
        {
            "your fused layer, Qwen3 1.7B on an H100": Series(
                [(batch, eager(batch, single) / eager(batch, fused)) for batch in BATCHES]
            ),
            "your two halves, DeepSeek-V3 on 72 H100": Series([(tokens, gain) for tokens, gain, _ in halves]),
            "the lesson's formulas": Series(
                [
                    *((n, course(batch=n, kernels=single) / course(batch=n, kernels=fused)) for n in BATCHES[::2]),
                    *((tokens, gain) for tokens, _, gain in halves[::2]),
                ],
                "point",
            ),
            "two halves, measured with SGLang": Series(sglang_measured().items(), "point"),
        },
        log_x=True,
    )


LAB = Lab(
    "Take the overheads away",
    "You fuse the kernels of a layer, work out what the host's launching costs, and let one half of a batch compute"
    " while the other sends.",
    (FUSE, TRAFFIC, EAGER, OVERLAP),
    finish,
    "At small batches a step is as long as its launches, whatever the device could do: fewer kernels help at once. At"
    " large batches the device sets the pace, and launching hides behind it. Two halves lose at small batches, which"
    " have little sending to hide, because they load the weights twice. At large batches they win. SGLang measured the"
    " same change, with smaller gains.",
)
