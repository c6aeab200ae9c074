"""What two GPUs measured, as pictures: points are measurements, lines are equations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator

from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, name_ends, note, thousands
from blackboard.charts.style import COLOURS
from blackboard.lessons.batching import own_machine
from blackboard.units import percent
from blackboard.validation import gpu_lab as lab

WIDTH = 5.0  # inches
TWO = dict(zip(lab.CHIPS, ("first", "second")))
_ms = lambda seconds: 1e3 * np.asarray(seconds)


def _points(at: Any, x: Any, y: Any, colour: str, **looks: Any) -> None:
    at.plot(x, y, "o", color=COLOURS[colour], ms=6, mew=0, **looks)


def _ticks(at: Any, *values: float) -> None:
    """Plain numbers on log axes, these at the side."""
    thousands(at, "x", "y")
    at.yaxis.set_minor_locator(NullLocator())
    at.set_yticks(values)


def knee() -> Drawing:
    """One product of matrices on each GPU, against the rows that share it."""
    fig, at = drawing.axes(WIDTH, 3.2)
    told: list[str] = []
    for chip_id, colour in TWO.items():
        found = own_machine.shipped(chip_id)
        rows = np.geomspace(found.batches[0], found.batches[-1], 200)
        at.loglog(rows, 1e6 * found.predict(rows), color=COLOURS[colour], lw=1.5)
        _points(at, found.batches, 1e6 * found.seconds, colour)
        beside(at, lab.NAMES[chip_id], (1, 1e6 * found.seconds[0]), (0, 8 if told else -25), colour)
        told.append(f"{lab.NAMES[chip_id]}: doubled at {found.knee:.0f} rows, predicted {found.predicted_knee:.0f}")
    _ticks(at, 30, 50, 100, 200)
    at.set(xlabel="rows that share the matrix", ylabel="time of one product (µs)", ylim=(22, None))
    return done(
        fig,
        "fig-gpu-knee",
        "Two measured rates say at how many rows the time has doubled. Lines are the roofline.",
        f"Time of a product with 134 MB of weights against rows, log axes, points on their lines. {'; '.join(told)}.",
    )


def ways() -> Drawing:
    """A decode step on the H200 in three ways, and the bound."""
    fig, at = drawing.axes(WIDTH, 3.4)
    looks = {
        "eager": ("fifth", "launched one by one"),
        "captured": ("second", "as a graph"),
        "fused": ("first", "graph, fused"),
    }
    names: list[tuple[float, str, str]] = []
    told: list[str] = []
    context = lab.rows(lab.FITTED, "decoding", way="eager")[0]["context"]
    for way, (colour, name) in looks.items():
        rows = lab.rows(lab.FITTED, "decoding", way=way, context=context)
        batch, seconds = [row["batch"] for row in rows], _ms([row["seconds"] for row in rows])
        at.loglog(batch, seconds, "o-", color=COLOURS[colour], ms=5, mew=0, lw=1)
        names.append((float(seconds[-1]), name, colour))
        told.append(f"{name}, {seconds[0]:.1f} to {seconds[-1]:.1f} ms")
    steps = [p for p in lab.passes(lab.FITTED) if p.part == "decoding" and p.way == "fused" and p.context == context]
    least = _ms([lab.bound(p) for p in steps])
    at.loglog([p.batch for p in steps], least, "--", color=COLOURS["bound"], lw=1.2)
    names.append((float(least[-1]), "datasheet’s bound", "bound"))
    at.set(xlabel="batch", ylabel="time of a decode step (ms)", ylim=(2, 60))
    _ticks(at, 3, 5, 10, 20, 40)
    name_ends(at, names, 0.085)
    return done(
        fig,
        "fig-gpu-ways",
        "The same step on the same H200: up to batch 128, launching from Python takes longer than all its work.",
        f"Step time against batch, 1 to 512, log axes. {'; '.join(told)}; bound {least[0]:.1f} to {least[-1]:.1f} ms.",
    )


def _batches(part: str) -> Iterator[tuple[int, str, list[lab.Pass]]]:
    """The passes of one part on the H200, batch by batch: the batch, its colour, and from the fewest tokens on."""
    some = [p for p in lab.passes(lab.FITTED) if p.part == part]
    for batch, colour in zip(sorted({p.batch for p in some}), ("fifth", "third", "second", "first")):
        yield batch, colour, sorted((p for p in some if p.batch == batch), key=lambda p: (p.prompt, p.tokens))


def guesses() -> Drawing:
    """A pass over several tokens of each sequence, divided by the pass over one."""
    fig, at = drawing.axes(WIDTH, 3.2)
    names: list[tuple[float, str, str]] = []
    told: list[str] = []
    for batch, colour, found in _batches("verifying"):
        tokens, one = [p.tokens for p in found], found[0]
        ratio = [p.seconds / one.seconds for p in found]
        at.plot(tokens, [lab.predicted(p) / lab.predicted(one) for p in found], color=COLOURS[colour], lw=1.5)
        _points(at, tokens, ratio, colour)
        names.append((ratio[-1], f"batch {batch}", colour))
        told.append(f"batch {batch}: {ratio[-1]:.2f} times with {tokens[-1]} tokens")
    name_ends(at, names, 0.085)
    at.set(xlabel="tokens of each sequence in one pass", ylabel="time ÷ time of one token", ylim=(0, None))
    at.set_xticks([each for each in tokens if each != 2])
    return done(
        fig,
        "fig-gpu-guesses",
        "Few sequences check a dozen guesses nearly free; many pay for each. Lines are the equations.",
        f"Time of a pass divided by that of one token, 1 to 17 tokens, H200. {'; '.join(told)}.",
    )


def mixed() -> Drawing:
    """What a prompt adds to a decode step."""
    fig, at = drawing.axes(WIDTH, 3.2)
    names: list[tuple[float, str, str]] = []
    told: list[str] = []
    for batch, colour, found in _batches("mixing"):
        at.plot([p.prompt for p in found], _ms([lab.predicted(p) for p in found]), color=COLOURS[colour], lw=1.5)
        _points(at, [p.prompt for p in found], _ms([p.seconds for p in found]), colour)
        name = f"beside {batch} decodes" if batch else "alone"
        names.append((float(_ms(found[-1].seconds)), name, colour))
        told.append(f"{name}: {1e3 * found[0].seconds:.1f} to {1e3 * found[-1].seconds:.1f} ms")
    name_ends(at, names, 0.085)
    at.set(xlabel="tokens of a prompt in the step", ylabel="time of the step (ms)", ylim=(0, None))
    thousands(at, "x")
    return done(
        fig,
        "fig-gpu-mixed",
        "A prompt in a decode step costs what it computes, and decodes add their caches. Lines are the equations.",
        f"Time of a step against the prompt's tokens, up to 2,048, H200, caches of 2,048 tokens. {'; '.join(told)}.",
    )


def experts() -> Drawing:
    """A layer's routed experts, against the tokens that come."""
    fig, at = drawing.axes(WIDTH, 3.2)
    names: list[tuple[float, str, str]] = []
    told: list[str] = []
    for chip_id, colour in TWO.items():
        rows = lab.rows(chip_id, "experts")
        tokens = np.geomspace(1, rows[-1]["tokens"], 200)
        at.semilogx(
            tokens, _ms(lab.expert_seconds(chip_id, lab.touched(tokens, rows[0]))), color=COLOURS[colour], lw=1.5
        )
        seconds = _ms([row["seconds"] for row in rows])
        _points(at, [row["tokens"] for row in rows], seconds, colour)
        names.append((1e3 * float(lab.expert_seconds(chip_id, rows[0]["experts"])), lab.NAMES[chip_id], colour))
        told.append(f"{lab.NAMES[chip_id]}: {seconds[0]:.2f} ms for one token to {seconds[-1]:.1f} ms")
    thousands(at, "x")
    name_ends(at, names, 0.09)
    at.set(xlabel="tokens", ylabel="time of one layer’s experts (ms)", ylim=(0, None))
    return done(
        fig,
        "fig-gpu-experts",
        "The time follows the experts that some token chose, until all are loaded. It rises again at 4,096 tokens.",
        f"Time of a layer's 256 experts against tokens, 1 to 4,096; lines by the touched experts. {'; '.join(told)}.",
    )


def memory() -> Drawing:
    """What training holds, against depth, in three ways."""
    fig, at = drawing.axes(WIDTH, 3.2)
    names: list[tuple[float, str, str]] = []
    told: list[str] = []
    for way, colour, name in (
        ("stored", "first", "all stored"),
        ("checkpointed", "third", "checkpoints"),
        ("reversible", "second", "reversible"),
    ):
        rows = lab.rows(lab.FITTED, "training", way=way)
        held = [row["peak_bytes"] / 1e9 for row in rows]
        at.plot([row["depth"] for row in rows], held, "o-", color=COLOURS[colour], lw=1.5, ms=5, mew=0)
        names.append((held[-1], name, colour))
        told.append(f"{name}: {held[0]:.2f} to {held[-1]:.2f} GB")
    name_ends(at, names, 0.085)
    at.set(xlabel="layers", ylabel="memory, weights aside (GB)", ylim=(0, None), xlim=(0, 25))
    return done(
        fig,
        "fig-gpu-memory",
        "Stored activations grow with depth, checkpoints by one vector per layer, a reversible network not at all.",
        f"Peak bytes of a training step against 4 to 24 layers, H200. {'; '.join(told)}.",
    )


def errors() -> Drawing:
    """Predicted divided by measured, pass by pass, on the GPU of the fit and on the other."""
    fig, at = drawing.axes(WIDTH, 3.4)
    parts = {"decoding": "decode", "verifying": "check guesses", "mixing": "decode and prompt", "prefilling": "prompt"}
    places = {part: n for n, part in enumerate(parts)}
    for n, (chip_id, colour) in enumerate(TWO.items()):
        some = lab.compared(chip_id)
        error, line = [100 * (lab.predicted(p) / p.seconds - 1) for p in some], [places[p.part] for p in some]
        at.plot(error, np.array(line) + 0.3 * n - 0.15, "o", color=COLOURS[colour], ms=6, mew=0, alpha=0.6)
    at.axvline(0, color=COLOURS["bound"], lw=1)
    at.set_yticks(list(places.values()), list(parts.values()))
    at.set(xlabel="predicted ÷ measured − 1 (%)", ylim=(len(parts) - 0.5, -0.5))
    at.tick_params(axis="y", length=0)
    for place, (chip_id, colour) in zip((0.0, 0.35), TWO.items()):
        seen = "fitted" if chip_id == lab.FITTED else "not seen by the fit"
        note(at, place, 1.06, f"{lab.NAMES[chip_id]}, {seen}", colour)
    mean = percent(lab.unseen_errors()["predicted"])
    return done(
        fig,
        "fig-gpu-errors",
        f"Constants from the H200 predict the H100’s passes, to {mean} on average.",
        f"Error of each pass by kind; H100, not seen: {mean} on average.",
    )
