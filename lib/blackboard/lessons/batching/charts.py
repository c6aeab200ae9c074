"""The batching lesson's explorables: the board's figures with the machine, the model and the load in the reader's
hands.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard import units
from blackboard.catalogue.running_case import RUNNING
from blackboard.charts import controls, marks
from blackboard.charts.interactive import Explorable, curve, derived, inside, percent, slider, sweep
from blackboard.charts.style import COLOURS
from blackboard.lessons.batching import equations as eq
from blackboard.lessons.batching.figures import LECTURE_RENT
from blackboard.units import significant

SYSTEMS = ("gb200-nvl72", "b200-64", "gb300-nvl72", "h200-8", "h100-8", "a100-80gb-8", "mi355x-8", "tpu7x-64")
MODELS = ("deepseek-v3", "lecture-moe", "kimi-k2", "qwen3-235b-a22b", "gpt-oss-120b", "llama-3.1-405b", "llama-3.1-70b")
CHEAP = "USD/megatoken"
FULL = 10_000  # the batch that the context explorer starts at


# --- signals ----------------------------------------------------------------------------------------------------------


def _given() -> list[dict]:
    """The catalogue's menus, a slider for sparsity, and the balanced context that follows from them."""
    sparsity = slider("stored", -4, 2, 0.25, 0, "sparsity: stored parameters ×", base=2)
    stored, balanced = "max(n_active, models[model].n_total * stored)", inside(eq.balanced_context, "token/sequence")
    return controls.given(RUNNING, SYSTEMS, MODELS, sliders=sparsity, n_total=stored, balanced=balanced)


def _load() -> list[dict]:
    """A slider for context, and the batch from which on a step is compute-bound; 0 where there is none."""
    kink = f"context < balanced ? {inside(eq.crossing, 'sequence')} : 0"
    exponent = round(math.log10(RUNNING.context), 1)
    return [*slider("context", 2, 6, 0.1, exponent, "context L (tokens)", base=10), *derived("kink", kink)]


_LOAD_LINE = f"'L = ' + {marks.said('context')} + ' tokens (balanced: L* = ' + {marks.said('balanced')} + ')'"

BATCH = marks.log_axis("batch", "batch B (sequences)", 1, 1e5, "~s")


# --- layers -----------------------------------------------------------------------------------------------------------


def _slope(encoding: dict, name: str, colour: str, formula: Any, level: str, left: str) -> list[dict]:
    """The name of a rising line beside it, at a level (a browser expression in seconds)."""
    x = formula.solve("batch").vega(**{formula.symbol.name: level})
    return marks.name(
        encoding, f"'{name}'", colour, x, f"({level}) / {units.factor('ms')!r}", left, {"expr": f"{left} ? -5 : 7"}
    )


def _kink(encoding: dict, low: str) -> list[dict]:
    """A rule at the kink and its batch; nothing where there is none."""
    text = f"kink ? 'kink at B = ' + {marks.said('kink')} : ''"
    return [
        marks.rule(encoding, None, x="kink ? kink : null"),
        marks.text(encoding, text, "kink ? kink : 1", low, **marks.side("kink > 3000")),
    ]


# --- the explorables --------------------------------------------------------------------------------------------------


def _board(encoding: dict, bold: str, unit: str) -> list[dict]:
    """The board's lines: the bold one, compute, KV and weights, and their values under the pointer."""
    parts = {"compute": "compute", "KV": "kv", "weights": "weights"}
    tips = {name: f"{name} ({unit})" for name in (bold, *parts)}
    lines = [marks.line(name, colour, encoding) for name, colour in parts.items()]
    return [marks.line(bold, marks.INK, encoding, strokeWidth=5), *lines, marks.hover(encoding, bold, tips, ",.3r")]


def _fields(bold: Any, terms: dict[str, Any], name: str, unit: str) -> dict:
    """`data` and `transform` of a board: the bold formula as `name`, and its terms."""
    base = sweep("batch", 0, 5)
    shown = {name: bold, **{term: terms[term] for term in ("compute", "KV", "weights")}}
    base["transform"] += [curve(formula, "batch", field, unit) for field, formula in shown.items()]
    return base


_CONTROLS = "controls for system, model, precision, context and sparsity"


def latency_explorer() -> Explorable:
    """Time of a step against batch, with machine, model, precision, context and sparsity to choose."""
    encoding = {"x": BATCH, "y": marks.log_axis("step", "ms per step", 0.01, 1000)}
    floor = inside(eq.latency_floor, "ms")
    floor_said = marks.said(floor, ",.3r")
    compute_at, kv_at = (
        f"max({least!r}, {formula.vega(batch=batch)})"
        for least, formula, batch in [(2e-5, eq.compute_time, 3), (4e-5, eq.kv_time, 10)]
    )
    layers = [
        *_board(encoding, "step", "ms"),
        marks.rule(encoding, "weights", y=floor),
        *_kink(encoding, "600"),
        *marks.name(encoding, f"'weights: the floor, ' + {floor_said} + ' ms'", "weights", "1", floor, dy=11),
        *_slope(encoding, "compute", "compute", eq.compute_time, compute_at, "context < balanced"),
        *_slope(encoding, "KV", "kv", eq.kv_time, kv_at, "context >= balanced"),
    ]
    said = f"'floor ' + {floor_said} + ' ms, ' + (kink ? 'kink at B = ' + {marks.said('kink')} : 'never compute-bound')"
    spec = {**_fields(eq.step_time, eq.STEP_TERMS, "step", "ms"), "params": [*_given(), *_load()], "layer": layers}
    return Explorable(
        {**spec, "title": controls.setting(_LOAD_LINE, said)},
        "Latency against batch",
        f"Time of one step against batch from 1 to 100,000 sequences, both on log scales, for {RUNNING},"
        f" {RUNNING.tokens}, with {_CONTROLS}. The bold line is level at the floor of"
        f" {significant(eq.latency_floor(RUNNING) / units.factor('ms'))} ms, then rises; beyond a batch of"
        f" {eq.crossing(RUNNING):,.0f} compute is what it waits for.",
        "No batch that touches all experts comes below the floor. More stored parameters lift it and push the kink out;"
        " a longer context steepens KV, and from the balanced context on there is no kink.",
    )


def _cost_names(encoding: dict, floor: str) -> list[dict]:
    """The names of the cost lines beside them; of compute and KV the dearer is the floor and is named above its
    line.
    """
    level = lambda name, **at: inside(eq.COST_TERMS[name], CHEAP, **at)
    named = lambda name, dearer: f"'{name}' + ({dearer} ? ': the ' + {floor} : '')"
    above = lambda dearer: {"expr": f"{dearer} ? -10 : 10"}
    short, long = "context < balanced", "context >= balanced"
    return [
        *marks.name(encoding, named("compute", short), "compute", "1", level("compute"), dy=above(short)),
        *marks.name(encoding, named("KV", long), "kv", "1", level("KV"), dy=above(long)),
        *marks.name(encoding, "'weights'", "weights", "4", level("weights", batch=4), dy=-5),
    ]


def cost_explorer() -> Explorable:
    """Rent per million tokens against batch, with the same controls and the rent of a chip."""
    encoding = {"x": BATCH, "y": marks.log_axis("cost", "$ per million tokens", 0.001, 1000)}
    floor, hour = inside(eq.cost_floor, CHEAP), units.factor("hour")
    floor_said = f"'floor $' + {marks.said(floor, ',.3r')}"
    layers = [
        *_board(encoding, "cost", "$/Mtok"),
        marks.rule(encoding, "accent", y=floor),
        *_kink(encoding, "500"),
        *_cost_names(encoding, floor_said),
    ]
    hourly = slider("rent_per_hour", 0.5, 12, 0.1, LECTURE_RENT, "rent: $ per GPU-hour")
    rent = [*hourly, *derived("rent", f"rent_per_hour / {hour!r}")]
    paid = f"'$' + {marks.said('rent_per_hour', '.2f')} + ' per GPU-hour: ' + {floor_said} + ' per Mtok'"
    worth = f"'a batch of one costs ' + {marks.said(eq.slow_mode_limit.vega(batch=1), ',.4~r')} + ' times the floor'"
    spec = {
        **_fields(eq.cost_per_token, eq.COST_TERMS, "cost", CHEAP),
        "params": [*_given(), *_load(), *rent],
        "layer": layers,
    }
    dollars = lambda formula, **at: significant(formula(RUNNING, rent=LECTURE_RENT / hour, **at) / units.factor(CHEAP))
    return Explorable(
        {**spec, "title": controls.setting(_LOAD_LINE, paid, worth)},
        "Cost against batch",
        f"Rent per million tokens against batch from 1 to 100,000 sequences, both on log scales, for {RUNNING},"
        f" {RUNNING.tokens}, at ${LECTURE_RENT:g} per GPU-hour, with {_CONTROLS}, and rent. The bold line falls from"
        f" ${dollars(eq.cost_per_token, batch=1)} at a batch of one to the floor of ${dollars(eq.cost_floor)},"
        f" {eq.slow_mode_limit(RUNNING, batch=1):,.0f} times less.",
        "A batch shares the weights, and nothing else: the floor is what multiplying or reading KV costs each sequence."
        " Rent moves all lines alike.",
    )


def context_explorer() -> Explorable:
    """MFU against context, at a batch and at an unlimited one, with machine, model and precision to choose."""
    share = marks.axis("limit", "MFU (%)", 0, 105, [0, 25, 50, 75, 100])
    encoding = {"x": marks.log_axis("context", "context L (tokens)", 100, 1e6, "~s"), "y": share}
    base, half = sweep("context", 2, 6, points=121), f"100 * ({eq.mfu_limit.vega(context='2 * balanced')})"
    base["transform"] += [percent(eq.mfu_limit, "context", "limit"), percent(eq.mfu, "context", "here")]
    dot = {"type": "point", "filled": True, "opacity": 1, "size": 90, "color": COLOURS["kv"]}
    layers = [
        marks.line("limit", marks.INK, encoding, strokeWidth=5),
        marks.line("here", "accent", encoding),
        marks.rule(encoding, "compute", x="balanced"),
        marks.at(encoding, dot, x="2 * balanced", y=half),
        marks.text(encoding, f"'L* = ' + {marks.said('balanced')}", "balanced", "4", **marks.side("balanced > 20000")),
        marks.hover(encoding, "limit", {"limit": "unlimited batch (%)", "here": "this batch (%)"}, ".1f"),
    ]
    load = slider("batch", 0, 5, 0.1, round(math.log10(FULL), 1), "batch B (sequences)", base=10)
    which = f"'bold: unlimited batch, green: B = ' + {marks.said('batch')}"
    where = (
        f"'100 % up to L* = ' + {marks.said('balanced')} + ', ' + {marks.said(half)} + ' % at ' +"
        f" {marks.said('2 * balanced')}"
    )
    balanced = eq.balanced_context(RUNNING)
    return Explorable(
        {**base, "params": [*_given(), *load], "layer": layers, "title": controls.setting(which, where)},
        "MFU against context",
        f"Share of peak FLOPs used against context from 100 to a million tokens (log scale), for {RUNNING}, with"
        " controls for system, model, precision, sparsity and batch. At an unlimited batch it is 100 % up to the"
        f" balanced context of {balanced:,.0f} tokens, and {100 * eq.mfu_limit(RUNNING, context=2 * balanced):.0f} % at"
        f" twice that; at a batch of {FULL:,} it falls sooner.",
        "The balanced context is the model's and the chip's doing. Sparsity moves only the green line: an unlimited"
        " batch has paid for the weights.",
    )
