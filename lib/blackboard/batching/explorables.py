"""The batching lesson's explorables: the board's figures with the machine, the model and the load in the reader's hands.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard import catalogue, units
from blackboard.architecture import bytes_per_param
from blackboard.batching import equations as eq
from blackboard.batching.figures import LECTURE_RENT, RUNNING, plain
from blackboard.datafile import UnknownId
from blackboard.explorable import Explorable, curve, derived, inside, menu, slider, sweep
from blackboard.style import COLOURS
from blackboard.units import significant

SYSTEMS = ("gb200-nvl72", "b200-64", "gb300-nvl72", "h200-8", "h100-8", "a100-80gb-8", "mi355x-8", "tpu7x-64")
MODELS = ("deepseek-v3", "lecture-moe", "kimi-k2", "qwen3-235b-a22b", "gpt-oss-120b", "llama-3.1-405b", "llama-3.1-70b")
PRECISIONS = {"fp4": "FP4", "fp8": "FP8", "bf16": "BF16"}  # the narrowest first
DEFAULT = RUNNING
CHEAP = "USD/megatoken"
FULL = 10_000  # the batch that the context explorer starts at
INK = "currentColor"  # dark on light, light on dark


# --- signals ----------------------------------------------------------------------------------------------------------


def _machine(id: str) -> dict[str, Any]:
    """What the browser must know of a system; at a precision that it lacks, the next wider one it has."""
    found, rates, served = catalogue.system(id), {}, {}
    for name in reversed(PRECISIONS):
        try:
            rates[name], served[name] = found.flops(name), name
        except UnknownId:
            wider = served[list(PRECISIONS)[list(PRECISIONS).index(name) + 1]]
            rates[name], served[name] = rates[wider], wider
    kept = {name: found.symbols()[name] for name in ("bandwidth", "hbm", "chips")}
    return {"name": plain(found.name), **kept, "flops": rates, "serves": served}


def _model(id: str) -> dict[str, Any]:
    """What the browser must know of a model."""
    found = catalogue.model(id)
    names = ("n_active", "n_total", "kv_bytes_per_token")
    return {"name": plain(found.name), **{name: value for name, value in found.symbols().items() if name in names}}


def _given() -> list[dict]:
    """Menus for machine, model and precision, a slider for sparsity, and the notation's symbols that follow from them."""
    machines, models = {id: _machine(id) for id in SYSTEMS}, {id: _model(id) for id in MODELS}
    tables = {"machines": machines, "models": models, "widths": {name: bytes_per_param(name) for name in PRECISIONS}}
    follows = {
        "machine": "machines[system]", "served": "machine.serves[precision]", "flops": "machine.flops[precision]",
        "bandwidth": "machine.bandwidth", "chips": "machine.chips", "bytes_per_param": "widths[served]",
        "n_active": "models[model].n_active", "n_total": "max(n_active, models[model].n_total * stored)",
        "kv_bytes_per_token": "models[model].kv_bytes_per_token", "balanced": inside(eq.balanced_context, "token/sequence"),
    }  # fmt: skip
    return [
        *({"name": name, "value": table} for name, table in tables.items()),
        *menu("system", {id: row["name"] for id, row in machines.items()}, DEFAULT.system, "system"),
        *menu("model", {id: row["name"] for id, row in models.items()}, DEFAULT.model, "model"),
        *menu("precision", PRECISIONS, DEFAULT.precision, "weights in"),
        *slider("stored", -4, 2, 0.25, 0, "sparsity: stored parameters ×", base=2),
        *(row for name, expr in follows.items() for row in derived(name, expr)),
    ]


def _load() -> list[dict]:
    """A slider for context, and the batch from which on a step is compute-bound; 0 where there is none."""
    kink = f"context < balanced ? {inside(eq.crossing, 'sequence')} : 0"
    exponent = round(math.log10(DEFAULT.context), 1)
    return [*slider("context", 2, 6, 0.1, exponent, "context L (tokens)", base=10), *derived("kink", kink)]


def _said(value: str, form: str = ",.0f") -> str:
    return f"format({value}, '{form}')"


def _title(*lines: str) -> dict:
    """The setting, and lines that are browser expressions."""
    lacks = "(served == precision ? '' : ' (it has no ' + upper(precision) + ')')"
    fits = "(n_total * bytes_per_param > machine.hbm ? ' (too big for its HBM)' : '')"
    machine = f"machine.name + ', weights in ' + upper(served) + {lacks}"
    model = f"models[model].name + ', N_tot/N_act = ' + {_said('n_total / n_active', ',.3r')} + {fits}"
    return {"text": {"expr": f"[{', '.join((machine, model, *lines))}]"}}


_LOAD_LINE = f"'L = ' + {_said('context')} + ' tokens (balanced: L* = ' + {_said('balanced')} + ')'"

# --- layers -----------------------------------------------------------------------------------------------------------


def _axis(field: str, title: str, low: float, high: float, form: str = ",~r") -> dict:
    """A log axis with a tick at every power of ten."""
    ticks = [10.0**n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    return {"field": field, "type": "quantitative", "title": title, "axis": {"values": ticks, "format": form},
            "scale": {"type": "log", "domain": [low, high]}}  # fmt: skip


BATCH = _axis("batch", "batch B (sequences)", 1, 1e5, "~s")


def _line(field: str, colour: str, encoding: dict, **mark: Any) -> dict:
    y = {**encoding["y"], "field": field}
    return {"mark": {"type": "line", "clip": True, "color": COLOURS.get(colour, colour), **mark}, "encoding": {**encoding, "y": y}}


def _at(encoding: dict, mark: dict, **where: str) -> dict:
    """One mark at browser expressions x, y, or one of them for a rule across the chart."""
    place = {axis: {**encoding[axis], "field": f"at_{axis}"} for axis in where}
    found = [{"calculate": value, "as": f"at_{axis}"} for axis, value in where.items()]
    return {"data": {"values": [{}]}, "transform": found, "mark": {"clip": True, **mark}, "encoding": place}


def _text(encoding: dict, text: str, x: str, y: str, **mark: Any) -> dict:
    return _at(encoding, {"type": "text", "text": {"expr": text}, **mark}, x=x, y=y)


def _name(encoding: dict, text: str, colour: str, x: str, y: str, left: str = "false", dy: Any = -9) -> list[dict]:
    """What a line is called, beside a dot of its colour; left of the point where the condition holds, else right."""
    far, near = ({"expr": f"{left} ? -{n} : {n}"} for n in (18, 11))
    dot = {"type": "point", "filled": True, "opacity": 1, "size": 60, "color": COLOURS[colour], "xOffset": near, "yOffset": dy}
    return [_at(encoding, dot, x=x, y=y), _text(encoding, text, x, y, align=_side(left)["align"], dx=far, dy=dy)]


def _rule(encoding: dict, colour: str | None, **where: str) -> dict:
    tint = {"color": COLOURS[colour]} if colour else {}
    return _at(encoding, {"type": "rule", **tint, "strokeDash": [4, 3], "strokeWidth": 1.5}, **where)


def _hover(encoding: dict, field: str, fields: dict[str, str], form: str) -> dict:
    """Points that nobody sees, which tell the values under the pointer."""
    tip = lambda name, title, form: {"field": name, "type": "quantitative", "title": title, "format": form}
    x = encoding["x"]
    tips = [tip(x["field"], x["title"], ",.0f"), *(tip(name, title, form) for name, title in fields.items())]
    mark = {"type": "point", "opacity": 0, "size": 300, "clip": True}
    return {"mark": mark, "encoding": {**encoding, "y": {**encoding["y"], "field": field}, "tooltip": tips}}


def _slope(encoding: dict, name: str, colour: str, formula: Any, level: str, left: str) -> list[dict]:
    """The name of a rising line beside it, at a level (a browser expression in seconds)."""
    x = formula.solve("batch").vega(**{formula.symbol.name: level})
    return _name(encoding, f"'{name}'", colour, x, f"({level}) / {units.factor('ms')!r}", left, {"expr": f"{left} ? -5 : 7"})


def _side(left: str) -> dict:
    """A text's place left or right of its point, by a browser condition."""
    return {"align": {"expr": f"{left} ? 'right' : 'left'"}, "dx": {"expr": f"{left} ? -8 : 8"}}


def _kink(encoding: dict, low: str) -> list[dict]:
    """A rule at the kink and its batch; nothing where there is none."""
    text = f"kink ? 'kink at B = ' + {_said('kink')} : ''"
    return [_rule(encoding, None, x="kink ? kink : null"), _text(encoding, text, "kink ? kink : 1", low, **_side("kink > 3000"))]


# --- the explorables --------------------------------------------------------------------------------------------------


def _board(encoding: dict, bold: str, unit: str) -> list[dict]:
    """The board's lines: the bold one, compute, KV and weights, and their values under the pointer."""
    parts = {"compute": "compute", "KV": "kv", "weights": "weights"}
    tips = {name: f"{name} ({unit})" for name in (bold, *parts)}
    lines = [_line(name, colour, encoding) for name, colour in parts.items()]
    return [_line(bold, INK, encoding, strokeWidth=5), *lines, _hover(encoding, bold, tips, ",.3r")]


def _fields(bold: Any, terms: dict[str, Any], name: str, unit: str) -> dict:
    """`data` and `transform` of a board: the bold formula as `name`, and its terms."""
    base = sweep("batch", 0, 5)
    shown = {name: bold, **{term: terms[term] for term in ("compute", "KV", "weights")}}
    base["transform"] += [curve(formula, "batch", field, unit) for field, formula in shown.items()]
    return base


_CONTROLS = "controls for system, model, precision, context and sparsity"


def latency_explorer() -> Explorable:
    """Time of a step against batch, with machine, model, precision, context and sparsity to choose."""
    encoding = {"x": BATCH, "y": _axis("step", "ms per step", 0.01, 1000)}
    floor = inside(eq.latency_floor, "ms")
    floor_said = _said(floor, ",.3r")
    compute_at, kv_at = (f"max({least!r}, {formula.vega(batch=batch)})"
                         for least, formula, batch in [(2e-5, eq.compute_time, 3), (4e-5, eq.kv_time, 10)])  # fmt: skip
    layers = [
        *_board(encoding, "step", "ms"), _rule(encoding, "weights", y=floor), *_kink(encoding, "600"),
        *_name(encoding, f"'weights: the floor, ' + {floor_said} + ' ms'", "weights", "1", floor, dy=11),
        *_slope(encoding, "compute", "compute", eq.compute_time, compute_at, "context < balanced"),
        *_slope(encoding, "KV", "kv", eq.kv_time, kv_at, "context >= balanced"),
    ]  # fmt: skip
    said = f"'floor ' + {floor_said} + ' ms, ' + (kink ? 'kink at B = ' + {_said('kink')} : 'never compute-bound')"
    spec = {**_fields(eq.step_time, eq.STEP_TERMS, "step", "ms"), "params": [*_given(), *_load()], "layer": layers}
    return Explorable(
        {**spec, "title": _title(_LOAD_LINE, said)}, "Latency against batch",
        f"Time of one step against batch from 1 to 100,000 sequences, both on log scales, for {DEFAULT}, {DEFAULT.tokens}, with "
        f"{_CONTROLS}. The bold line is level at the floor of {significant(DEFAULT(eq.latency_floor) / units.factor('ms'))} ms, "
        f"then rises; beyond a batch of {DEFAULT(eq.crossing):,.0f} compute is what it waits for.",
        "No batch that touches all experts comes below the floor. More stored parameters lift it and push the kink out; a longer context steepens KV, "
        "and from the balanced context on there is no kink.",
    )  # fmt: skip


def _cost_names(encoding: dict, floor: str) -> list[dict]:
    """The names of the cost lines beside them; of compute and KV the dearer is the floor and is named above its line."""
    level = lambda name, **at: inside(eq.COST_TERMS[name], CHEAP, **at)
    named = lambda name, dearer: f"'{name}' + ({dearer} ? ': the ' + {floor} : '')"
    above = lambda dearer: {"expr": f"{dearer} ? -10 : 10"}
    short, long = "context < balanced", "context >= balanced"
    return [
        *_name(encoding, named("compute", short), "compute", "1", level("compute"), dy=above(short)),
        *_name(encoding, named("KV", long), "kv", "1", level("KV"), dy=above(long)),
        *_name(encoding, "'weights'", "weights", "4", level("weights", batch=4), dy=-5),
    ]


def cost_explorer() -> Explorable:
    """Rent per million tokens against batch, with the same controls and the rent of a chip."""
    encoding = {"x": BATCH, "y": _axis("cost", "$ per million tokens", 0.001, 1000)}
    floor, hour = inside(eq.cost_floor, CHEAP), units.factor("hour")
    floor_said = f"'floor $' + {_said(floor, ',.3r')}"
    layers = [
        *_board(encoding, "cost", "$/Mtok"), _rule(encoding, "accent", y=floor), *_kink(encoding, "500"),
        *_cost_names(encoding, floor_said),
    ]  # fmt: skip
    hourly = slider("rent_per_hour", 0.5, 12, 0.1, LECTURE_RENT, "rent: $ per GPU-hour")
    rent = [*hourly, *derived("rent", f"rent_per_hour / {hour!r}")]
    paid = f"'$' + {_said('rent_per_hour', '.2f')} + ' per GPU-hour: ' + {floor_said} + ' per Mtok'"
    worth = f"'a batch of one costs ' + {_said(eq.slow_mode_limit.vega(batch=1), ',.4~r')} + ' times the floor'"
    spec = {**_fields(eq.cost_per_token, eq.COST_TERMS, "cost", CHEAP), "params": [*_given(), *_load(), *rent], "layer": layers}
    dollars = lambda formula, **at: significant(DEFAULT(formula, rent=LECTURE_RENT / hour, **at) / units.factor(CHEAP))
    return Explorable(
        {**spec, "title": _title(_LOAD_LINE, paid, worth)}, "Cost against batch",
        f"Rent per million tokens against batch from 1 to 100,000 sequences, both on log scales, for {DEFAULT}, {DEFAULT.tokens}, "
        f"at ${LECTURE_RENT:g} per GPU-hour, with {_CONTROLS}, and rent. The bold line falls from "
        f"${dollars(eq.cost_per_token, batch=1)} at a batch of one to the floor of ${dollars(eq.cost_floor)}, "
        f"{DEFAULT(eq.slow_mode_limit, batch=1):,.0f} times less.",
        "A batch shares the weights, and nothing else: the floor is what multiplying or reading KV costs each sequence. Rent moves "
        "all lines alike.",
    )  # fmt: skip


def context_explorer() -> Explorable:
    """MFU against context, at a batch and at an unlimited one, with machine, model and precision to choose."""
    percent = {"field": "limit", "type": "quantitative", "title": "MFU (%)", "scale": {"domain": [0, 105]},
               "axis": {"values": [0, 25, 50, 75, 100]}}  # fmt: skip
    encoding = {"x": _axis("context", "context L (tokens)", 100, 1e6, "~s"), "y": percent}
    base, half = sweep("context", 2, 6, points=121), f"100 * ({eq.mfu_limit.vega(context='2 * balanced')})"
    base["transform"] += [_percent(eq.mfu_limit, "limit"), _percent(eq.mfu, "here")]
    dot = {"type": "point", "filled": True, "opacity": 1, "size": 90, "color": COLOURS["kv"]}
    layers = [
        _line("limit", INK, encoding, strokeWidth=5), _line("here", "accent", encoding), _rule(encoding, "compute", x="balanced"),
        _at(encoding, dot, x="2 * balanced", y=half),
        _text(encoding, f"'L* = ' + {_said('balanced')}", "balanced", "4", **_side("balanced > 20000")),
        _hover(encoding, "limit", {"limit": "unlimited batch (%)", "here": "this batch (%)"}, ".1f"),
    ]  # fmt: skip
    load = slider("batch", 0, 5, 0.1, round(math.log10(FULL), 1), "batch B (sequences)", base=10)
    which = f"'bold: unlimited batch, green: B = ' + {_said('batch')}"
    where = f"'100 % up to L* = ' + {_said('balanced')} + ', ' + {_said(half)} + ' % at ' + {_said('2 * balanced')}"
    balanced = DEFAULT(eq.balanced_context)
    return Explorable(
        {**base, "params": [*_given(), *load], "layer": layers, "title": _title(which, where)}, "MFU against context",
        f"Share of peak FLOPs used against context from 100 to a million tokens (log scale), for {DEFAULT}, with controls for "
        "system, model, precision, sparsity and batch. At an unlimited batch it is 100 % up to the balanced context of "
        f"{balanced:,.0f} tokens, and {100 * DEFAULT(eq.mfu_limit, context=2 * balanced):.0f} % at twice that; at a batch of "
        f"{FULL:,} it falls sooner.",
        "The balanced context is the model's and the chip's doing. Sparsity moves only the green line: an unlimited batch has paid "
        "for the weights.",
    )  # fmt: skip


def _percent(formula: Any, field: str) -> dict:
    return {"calculate": f"100 * ({formula.vega(context='datum.context')})", "as": field}
