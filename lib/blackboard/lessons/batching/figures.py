"""The batching lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations`, every number in a label or an alt text its value for a case.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from blackboard import units
from blackboard.catalogue.running_case import LECTURE_RENT, RUNNING, Case
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, filled, name_ends, point
from blackboard.charts.style import COLOURS
from blackboard.lessons.batching import equations as eq
from blackboard.lessons.batching import numbers
from blackboard.lessons.batching.numbers import MILLION
from blackboard.units import significant

MS = units.factor("ms")


# --- one step ------------------------------------------------------------------------------------------------------


def decode() -> Drawing:
    """B0: one decode step appends a column to the sequence and looks back at every earlier one."""
    fig, axes = drawing.axes(5.0, 3.2)
    old, height = 7, 5
    for column in range(old + 1):
        colour = COLOURS["kv"] if column < old else COLOURS["compute"]
        for row in range(height):
            shade = 0.25 + 0.1 * ((3 * column + 2 * row) % 4)  # any pattern will do
            axes.add_patch(Rectangle((column, row), 0.9, 0.9, color=colour, alpha=shade, lw=0))
        if column < old:
            arc = f"arc3,rad={0.25 + 0.03 * (old - column)}"
            axes.annotate(
                "",
                (column + 0.45, height),
                (old + 0.45, height),
                arrowprops={"arrowstyle": "->", "color": COLOURS["muted"], "connectionstyle": arc},
            )
    axes.text(old / 2, -0.3, "earlier tokens: kept in the KV cache", color=COLOURS["kv"], ha="center", va="top")
    axes.text(old + 1.1, height / 2, "the new\ntoken", color=COLOURS["compute"], va="center")
    axes.text(0.1, height + 2.75, "attention reads them all", color=COLOURS["muted"], va="bottom")
    axes.text(-0.2, height / 2, "embedding", rotation=90, ha="right", va="center")
    axes.annotate(
        "sequence, token by token", (old + 1, -1.45), (0, -1.45), va="center", arrowprops={"arrowstyle": "->"}
    )
    axes.set(xlim=(-0.8, old + 3), ylim=(-1.9, height + 3.6))
    axes.axis("off")
    return done(
        fig,
        "fig-decode",
        "A decode step computes only the new token's column, but attention loads what was kept of all earlier ones.",
        f"A grid: across, the {old} earlier tokens of a sequence and one new column appended on the right; down, the"
        " embedding. Arrows run from the new column back to every earlier one.",
    )


def _kink(case: Case) -> float | None:
    """Batch at which compute overtakes memory, if there is one."""
    return eq.crossing(case) if case.context < eq.balanced_context(case) else None


def _batches(case: Case) -> np.ndarray:
    """Batches from nothing to twice the kink."""
    return np.linspace(0, 2 * (_kink(case) or eq.critical_batch(case)), 201)[1:]


def _kink_says(case: Case) -> str:
    kink, balanced = _kink(case), eq.balanced_context(case)
    if kink is None:
        return f"the context is beyond the balanced {balanced:,.0f} tokens, so that no batch is ever compute-bound"
    return f"the bold line bends from memory to compute at a batch of {kink:,.0f}"


def _board(axes, case: Case, bold: np.ndarray, lines: dict[str, np.ndarray], top: float) -> None:
    """The board's lines over the case's batches: compute, KV, weights and their sum with KV, and the bold roofline."""
    batch = _batches(case)
    axes.plot(batch, bold, color=COLOURS["total"], lw=4.5, zorder=2)
    colours = {"compute": "compute", "KV": "kv", "weights": "weights", "weights + KV": "muted"}
    for name, line in lines.items():
        dashed = {"ls": "--", "lw": 1.5, "zorder": 1} if colours[name] == "muted" else {"zorder": 3}
        axes.plot(batch, line, color=COLOURS[colours[name]], **dashed)
    axes.set(xlabel="batch B (sequences)", xlim=(0, batch[-1]), ylim=(0, top))
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    name_ends(axes, [(line[-1], name, colours[name]) for name, line in lines.items()])


def _point_kink(axes, case: Case, formula: Any, scale: float, place: tuple[float, float], **values: float) -> None:
    """Mark the kink on the bold line, if the case has one."""
    if kink := _kink(case):
        at = kink, scale * formula(case, batch=kink, **values)
        axes.plot(*at, "o", color=COLOURS["total"], ms=9, zorder=4)
        point(axes, at, f"kink at B = {kink:,.0f}", place)


def latency(case: Case = RUNNING) -> Drawing:
    """B1: time of one step against batch: compute, KV and weights, and the bold roofline over them."""
    fig, axes = drawing.axes()
    batch, floor = _batches(case), eq.latency_floor(case) / MS
    step = eq.step_time(case, batch=batch) / MS
    _board(
        axes,
        case,
        step,
        {name: term(case, batch=batch) / MS for name, term in eq.STEP_TERMS.items()},
        top=max(step) * 1.05,
    )
    point(axes, (0, floor), f"latency floor\n{significant(floor, 4)} ms", (0.2, 0.62), "weights")
    _point_kink(axes, case, eq.step_time, 1 / MS, (0.4, 0.92))
    axes.set_ylabel("ms per step")
    axes.set_title(f"{filled(case)},\n{case.tokens}", loc="left")
    return done(
        fig,
        "fig-latency",
        "Up to the kink the chips wait for memory, and one more sequence adds only the loading of a KV cache. Past it "
        "they wait for compute, and each sequence adds the whole compute time of a token.",
        f"Time of one step in milliseconds against batch, 0 to {batch[-1]:,.0f} sequences, for {case}, {case.tokens}."
        " Weights are a level line, KV and compute rise from zero; the bold line is the larger of compute and weights"
        f" plus KV. It starts at the latency floor of {significant(floor, 4)} ms; {_kink_says(case)}.",
    )


# --- a long context ---------------------------------------------------------------------------------------------------


def card(case: Case = numbers.ON_LONG, rent: float = LECTURE_RENT) -> Drawing:
    """Price against speed along the batch at a long context, and where a fast mode's card puts its two batches."""
    fig, axes = drawing.axes()
    rented = {"rent": rent / units.factor("hour")}
    speed = lambda batch: eq.user_speed(case, batch=batch)
    price = lambda batch: MILLION * eq.cost_per_token(case, batch=batch, **rented)
    batch, wall = np.geomspace(numbers.LEAST, 1e5, 401), 1 / eq.latency_floor(case)
    floor, found = MILLION * eq.cost_floor(case, **rented), numbers.inferred(round(case.context))
    axes.axvline(wall, color=COLOURS["weights"], lw=1.5, ls="--")
    axes.axhline(floor, color=COLOURS["cost"], lw=1.5, ls="--")
    axes.plot(speed(batch), price(batch), color=COLOURS["total"], lw=3)
    says = []
    for name, size, shift in [("standard", found.standard, (28, 13)), ("fast", found.fast, (-10, 4))]:
        at, number = (speed(size), price(size)), significant(size, 3)
        axes.plot(*at, "o", color=COLOURS["chosen"], ms=9, zorder=4)
        beside(axes, f"{name}: B = {number}", at, shift, "chosen", ha="right")
        says.append(
            f"the {name} one, of {number}, gives a user about {significant(at[0], 2)} tokens per second at ${at[1]:.2g}"
        )
    for text, colour, below in [
        (f"no batch is cheaper than ${floor:.2g}", "cost", -14),
        (f"all weights: at most {wall:,.0f} tokens/s", "weights", -31),
    ]:
        beside(axes, text, (wall, floor), (-6, below), colour, ha="right")
    axes.set(xlim=(0, 1.04 * wall), yscale="log", ylim=(0.5 * floor, 1.7 * price(found.fast)))
    axes.set_yticks([0.05, 0.1, 0.2, 0.5], ["0.05", "0.1", "0.2", "0.5"])
    axes.minorticks_off()
    axes.set(xlabel="tokens per second, for each user", ylabel="$ per million tokens (log scale)")
    axes.set_title(f"{filled(case)},\n{case.tokens}, ${rent:g} per GPU-hour", loc="left")
    return done(
        fig,
        "fig-card",
        f"With all weights loaded, no batch is faster than {significant(wall / speed(found.standard), 2)} times the"
        " standard mode, and fast mode is almost there.",
        f"Dollars per million tokens against tokens per second of a user, for {case}, {case.tokens}, at ${rent:g} per"
        f" GPU-hour. Of the card's batches, {says[0]}, and {says[1]}. The limit on the right is at {wall:,.0f} tokens"
        f" per second, the one at the bottom at ${floor:.2g}.",
    )


# --- against reality --------------------------------------------------------------------------------------------------


def sweep() -> Drawing:
    """The steps of a dense model on one GPU by users: the roofline, loading and computing in turn, and as measured."""
    rows = numbers.swept()
    users, loads = [row.users for row in rows], [row.loads for row in rows]
    added, measured = [row.loads + row.computes for row in rows], [row.measured for row in rows]
    fig, axes = drawing.axes(5.0, 3.2)
    axes.fill_between(users, loads, added, color=COLOURS["compute"], alpha=0.18, lw=0)
    axes.plot(users, loads, color=COLOURS["weights"], lw=2.5)
    axes.plot(users, added, color=COLOURS["compute"], lw=2.5)
    axes.plot(users, measured, "o", color=COLOURS["measured"], ms=7, zorder=4)
    beside(axes, "measured", (users[-2], measured[-2]), (-8, 5), "measured", ha="right")
    beside(axes, "our roofline: loading", (users[-1], loads[-1]), (0, -19), "weights", ha="right")
    axes.text(100, 23.3, "+ computing", color=COLOURS["compute"], ha="center", va="bottom")
    axes.set(xlim=(0, 1.03 * users[-1]), ylim=(0, 1.08 * measured[-1]), xlabel="users", ylabel="ms per step")
    axes.set_xticks(range(0, users[-1] + 1, 32))
    axes.set_title("Llama 3.3 70B, FP8, on one H200", loc="left")
    low, high = (f"{pick(row.rest for row in rows):.1f}" for pick in (min, max))
    return done(
        fig,
        "fig-sweep",
        "Measured steps grow as loading and computing together do, and take a few milliseconds more at any batch.",
        f"Milliseconds per step for {users[0]} to {users[-1]} users of Llama 3.3 70B in FP8 on one H200. The roofline"
        f" (loading) rises from {loads[0]:.1f} to {loads[-1]:.1f}, with computing added from {added[0]:.1f} to"
        f" {added[-1]:.1f}. The points, {low} to {high} higher, rise from {measured[0]:.1f} to {measured[-1]:.1f}.",
    )
