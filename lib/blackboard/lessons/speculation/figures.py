"""The speculation lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it
shows.

Curves are formulas of `equations`; dots are tossed, written in rounds, or measured by others, and the figures say
which.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, point
from blackboard.charts.style import COLOURS
from blackboard.lessons.batching import equations as step
from blackboard.lessons.speculation import equations as eq
from blackboard.lessons.speculation import simulation
from blackboard.lessons.speculation.numbers import EXAMPLE, RACK
from blackboard.units import significant


def _batches(axes, low: int, high: int) -> None:
    """A log axis of batches with a tick at powers of two."""
    axes.set(xscale="log", xlim=(low, high), xlabel="batch (sequences, log scale)")
    axes.set_xticks(ticks := [2**n for n in range(20) if low <= 2**n <= high], [f"{n:,}" for n in ticks])
    axes.minorticks_off()


def _lost(axes, low: float, high: float) -> None:
    """Shade where speculation slows down."""
    axes.axhspan(low, 1, color=COLOURS["muted"], alpha=0.13, lw=0)
    axes.axhline(1, color=COLOURS["muted"], lw=1.2)
    axes.set(ylim=(low, high))


# --- time of a round --------------------------------------------------------------------------------------------------

SPAN = 8  # decode steps, of the picture


def rounds() -> Drawing:
    """Decode steps and rounds along time, where verifying is free and where multiplying binds."""
    fig, rows = drawing.axes(5.0, 4.3, rows=2)
    phrases = [
        _timeline(axes, name, ratio) for axes, name, ratio in zip(rows, ("small batch", "large batch"), (100.0, 1.0))
    ]
    rows[1].set(xlabel="time (plain steps)")
    return done(
        fig,
        "fig-rounds",
        "The same guesses speed up a small batch and slow down a large one, where a check takes five times as long as"
        " a plain step. (Computed for four guesses a round, each accepted four times in five.)",
        f"Two timelines, each with {SPAN} plain steps above rounds of {EXAMPLE['drafted']} guesses: {phrases[0]},"
        f" and {phrases[1]}.",
    )


GUESS: dict[str, Any] = {"fc": COLOURS["second"], "ec": "white", "lw": 0.5}
CHECK: dict[str, Any] = {"fc": COLOURS["first"], "ec": "white", "lw": 1.5}


def _timeline(axes, name: str, memory_ratio: float) -> str:
    """Draw plain steps and rounds for `SPAN` decode steps; what they yield, in words."""
    g, c = EXAMPLE["drafted"], EXAMPLE["draft_ratio"]
    verify = eq.verify_ratio(drafted=g, memory_ratio=memory_ratio)
    tokens, whole = eq.tokens_per_round(acceptance=EXAMPLE["acceptance"], drafted=g), g * c + verify
    for n in range(SPAN):
        axes.add_patch(Rectangle((n, 1.25), 1, 0.6, fc=COLOURS["muted"], ec="white", alpha=0.5))
    start = 0.0
    while start < SPAN - 0.01:
        for n in range(g):
            axes.add_patch(Rectangle((start + n * c, 0.3), c, 0.6, **GUESS))
        axes.add_patch(Rectangle((start + g * c, 0.3), verify, 0.6, **CHECK))
        start += whole
    gain = eq.speedup(EXAMPLE, memory_ratio=memory_ratio)
    axes.set(xlim=(0, SPAN), ylim=(0, 2.6), yticks=[0.6, 1.55], xticks=range(SPAN + 1))
    axes.set_yticklabels([f"rounds\n{SPAN * gain:.1f} tokens", f"plain steps\n{SPAN} tokens"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    axes.text(0, 2.25, name, va="center")
    if gain > 1:
        for x, said, looks in ((2.3, "four guesses", GUESS), (5.1, "check", CHECK)):
            axes.add_patch(Rectangle((x, 2.12), 0.25, 0.26, **looks))
            axes.text(x + 0.35, 2.25, said, va="center")
    axes.text(
        SPAN,
        2.25,
        f"{gain:.2f}×",
        va="center",
        ha="right",
        color=COLOURS["bound"],
        fontweight="bold",
    )
    return f"in a {name} a round of {whole:.2f} steps yields {tokens:.2f} tokens, {gain:.2f} times the speed"


# --- where it ends ----------------------------------------------------------------------------------------------------

LOW, HIGH = 128, 32_768  # batches: experts are all touched from the first on


def step_and_check() -> Drawing:
    """Time of a plain step and of the check against batch, in the colours of the rounds; dashed, how long a check may
    take for its round to gain.
    """
    fig, axes = drawing.axes(5.0, 4.1)
    batch, four = np.geomspace(LOW, HIGH, 401), RACK | EXAMPLE
    plain = lambda at: 1e3 * step.step_time(RACK, batch=at)
    check = lambda at: 1e3 * eq.verify_time(four, batch=at)
    spare = eq.tokens_per_round(EXAMPLE) - EXAMPLE["drafted"] * EXAMPLE["draft_ratio"]  # plain steps for the check
    for values, colour, looks in (
        (spare * plain(batch), "third", {"ls": (0, (4, 3)), "lw": 1.5}),
        (check(batch), "first", {"lw": 2.5}),
        (plain(batch), "muted", {"lw": 2.5}),
    ):
        axes.plot(batch, values, color=COLOURS[colour], **looks)
    free, even, kink = eq.batch_free(four), eq.batch_even(four, ratio_even=eq.ratio_even(four)), step.crossing(RACK)
    said = [significant(size, 2) for size in (free, even, kink)]
    for at, text, place, colour in (
        ((free, plain(free)), f"{said[0]}: no longer\nfree", (0.2, 0.27), "first"),
        ((even, check(even)), f"{said[1]}: slower\nfrom here on", (0.42, 0.78), "third"),
        ((kink, plain(kink)), "plain steps wait\nfor compute", (0.8, 0.07), "muted"),
    ):
        axes.plot(*at, "o", color=COLOURS[colour], ms=8, zorder=5)
        point(axes, at, text, place, colour)
    beside(axes, f"what the check may take:\n{spare:.2f} plain steps", (LOW, spare * plain(LOW)), (4, 7), "third")
    beside(axes, "plain step", (LOW, plain(LOW)), (4, -14), "muted")
    beside(axes, "check", (HIGH, check(HIGH)), (-12, -4), "first", ha="right")
    _batches(axes, LOW, HIGH)
    ticks = [1, 2, 5, 10, 20, 50]
    axes.set(yscale="log", ylim=(0.7, 60), ylabel="time (ms, log scale)", yticks=ticks, yticklabels=ticks)
    axes.set_xticks([2**n for n in range(8, 16, 2)], [f"{2**n:,}" for n in range(8, 16, 2)])
    axes.yaxis.set_minor_formatter("")
    return done(
        fig,
        "fig-step-and-check",
        f"Checking is free up to {said[0]} users. Beyond {said[1]} it takes more than {spare:.2f} plain steps (dashed),"
        " so the guesses slow the rack down.",
        f"Time against batch from {LOW} to {HIGH:,}, on log scales. A plain step bends upwards at {said[2]} users. The"
        f" check of {EXAMPLE['drafted']} guesses leaves it at {said[0]}, and at {said[1]} crosses a dashed line,"
        f" {spare:.2f} times the step.",
    )


INKS = {"EAGLE-3": "fourth", "EAGLE": "fifth"}  # colours that no part of a round has


def by_batch() -> Drawing:
    """Measured speed-ups by batch, the roofline's prediction, and one constant fitted on the first draft's points."""
    fig, axes = drawing.axes(5.0, 4.0)
    share = simulation.fitted("added")
    for draft, colour in INKS.items():
        _engine(axes, simulation.measured("SGLang", draft), share, COLOURS[colour])
    _lost(axes, 0.5, 2.1)
    _batches(axes, 2, 64)
    axes.set(ylabel="speed-up")
    for (draft, colour), place in zip(INKS.items(), ((2.1, 1.65), (2.1, 1.24))):
        axes.text(*place, draft, color=COLOURS[colour], va="center")
    return done(
        fig,
        "fig-by-batch",
        "Measured gains (dots) fall earlier than computed (dashed). With one constant fitted to EAGLE-3's dots, the"
        " solid curves come closer, for EAGLE too. Every curve, dashed or solid, starts at its draft's first dot.",
        _by_batch_say(),
    )


def _engine(axes, rows: simulation.Rows, share: float, colour: str) -> None:
    """Measured points of one draft, and for each GPU that it may be the roofline dashed and the calibrated curve."""
    batches = np.geomspace(2, 64, 60)
    curve = lambda law, share, gpu: simulation.predicted(law, share, rows, gpu, tuple(batches)).values
    found = [curve("added", share, gpu) for gpu in simulation.GPUS[rows.engine]]
    for gpu, values in zip(simulation.GPUS[rows.engine], found):
        axes.plot(batches, values, color=colour, lw=2)
        axes.plot(batches, curve("slower", 1, gpu), color=colour, lw=1.2, ls=(0, (4, 3)))
    axes.fill_between(batches, found[0], found[-1], color=colour, alpha=0.15, lw=0)
    axes.plot(rows.batches, rows.measured, "o", color=colour, ms=6, zorder=5, clip_on=False)


def _by_batch_say() -> str:
    first, other = (curve for curve in simulation.tested("added") if curve.rows.engine == "SGLang")
    ideal = simulation.predicted("slower", 1, first.rows, "H100")
    return (
        f"Speed-up against batch, from 2 to 64. EAGLE-3 falls from {first.rows.measured[0]} to"
        f" {first.rows.measured[-1]}, EAGLE crosses 1 between 16 and 24. The dashed roofline is level,"
        f" {100 * ideal.error:.0f}% off on average; the solid curves miss by {100 * first.error:.0f}% and"
        f" {100 * other.error:.0f}%."
    )
