"""The batching lesson's interactive charts: price against speed, and latency against batch, on a machine of the
reader's choice.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard import units
from blackboard.catalogue import model
from blackboard.catalogue.running_case import LECTURE_RENT, RUNNING
from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, slider, sweep
from blackboard.lessons.batching import equations as eq
from blackboard.lessons.batching.numbers import BUSY, LEAST, SLOWER
from blackboard.units import significant

SYSTEMS = ("gb200-nvl72", "b200-64", "gb300-nvl72", "h200-8", "h100-8", "a100-80gb-8", "mi355x-8", "tpu7x-64")
MODELS = ("deepseek-v3", "lecture-moe", "kimi-k2", "qwen3-235b-a22b", "gpt-oss-120b", "llama-3.1-405b", "llama-3.1-70b")
CHEAP = "USD/megatoken"


# --- signals ----------------------------------------------------------------------------------------------------------


def _given() -> list[dict]:
    """The catalogue's menus, a slider for sparsity, and the balanced context that follows from them; infinite where
    attention takes as long to compare with a cached token as to load it.
    """
    sparsity = slider("stored", -4, 2, 0.25, 0, "stored parameters ×", base=2)
    longer = "attention_flop / attention_flops < 0.999 * kv_bytes_per_token / bandwidth"  # to load a cached token
    follows = {
        "n_total": "max(n_active, models[model].n_total * stored)",
        "attention_flop": "attends[model]",
        "attention_flops": "machine.flops.bf16",  # the format in which models attend
        "balanced": f"{longer} ? {inside(eq.balanced_with_attention, 'token/sequence')} : 1e99",
    }
    attends = {"name": "attends", "value": {id: _attention(id) for id in MODELS}}
    return [attends, *controls.given(RUNNING, SYSTEMS, MODELS, sliders=sparsity, **follows)]


def _attention(id: str) -> float:
    """FLOPs with which a model attends to one more token of a long context; 0 where round numbers name no heads."""
    found = model(id)
    return 0 if found.given else found.attention_flop(100_001) - found.attention_flop(100_000)


def _load() -> list[dict]:
    """A slider for context, and the batch from which on a step is compute-bound; 0 where there is none."""
    kink = f"context < balanced ? {inside(eq.crossing_with_attention, 'sequence')} : 0"
    exponent = round(math.log10(RUNNING.context), 1)
    return [*slider("context", 2, 6, 0.1, exponent, "context L (tokens)", base=10), *derived("kink", kink)]


_LOAD_LINE = (
    f"(balanced < 1e9 ? 'balanced context L* = ' + {marks.said('balanced')} + ' tokens' : 'no balanced context')"
    " + (attention_flop ? '' : ', attention left out')"
)

BATCH = marks.log_axis("batch", "batch B (sequences)", LEAST, 1e5)
BATCH["axis"]["labelPadding"] = 5  # its first number is so wide that it would touch the lowest of the other axis


# --- layers -----------------------------------------------------------------------------------------------------------


def _slope(encoding: dict, name: str, colour: str, formula: Any, level: str, left: str) -> list[dict]:
    """The name of a rising line beside it, at a level (a browser expression in seconds)."""
    x = formula.solve("batch").vega(**{formula.symbol.name: level})
    return marks.name(
        encoding, f"'{name}'", colour, x, f"({level}) / {units.factor('ms')!r}", left, {"expr": f"{left} ? -5 : 7"}
    )


def _kink(encoding: dict, low: str) -> list[dict]:
    """A rule at the kink and its batch; nothing where there is none."""
    text = f"kink > 1e5 ? 'kink beyond 100k →' : kink ? 'kink at B = ' + {marks.said('kink')} : ''"
    return [
        marks.rule(encoding, None, x="kink && kink <= 1e5 ? kink : null"),
        marks.text(encoding, text, "kink ? min(kink, 1e5) : 1", low, **marks.side("kink > 3000")),
    ]


# --- the interactive charts -------------------------------------------------------------------------------------------


def _board(encoding: dict, bold: str, unit: str) -> list[dict]:
    """The board's lines: compute, KV and weights, on them the bold one, and their values under the pointer."""
    parts = {"compute": "compute", "KV": "kv", "weights": "weights"}
    tips = {name: f"{name} ({unit})" for name in (bold, *parts)}
    lines = [marks.line(name, colour, encoding) for name, colour in parts.items()]
    return [*lines, marks.line(bold, "total", encoding, strokeWidth=4), marks.hover(encoding, bold, tips, ",.3r")]


def _fields(bold: Any, terms: dict[str, Any], name: str, unit: str) -> dict:
    """`data` and `transform` of a board: the bold formula as `name`, and its terms."""
    base = sweep("batch", math.log10(LEAST), 5)
    shown = {name: bold, **{term: terms[term] for term in ("compute", "KV", "weights")}}
    base["transform"] += [curve(formula, "batch", field, unit) for field, formula in shown.items()]
    return base


CEILING = f"max(100, 1.5 * {inside(eq.step_with_attention, 'ms', batch='1e5')})"


def _board_axis() -> dict:
    """Milliseconds of a step, up to the longest of the batches shown."""
    axis = marks.log_axis("step", "ms per step", 0.01, 1e7)
    return {**axis, "scale": {"type": "log", "domain": [0.01, {"expr": CEILING}], "nice": False}}


_CONTROLS = "controls for system, model, precision, context and sparsity"


def latency_chart() -> InteractiveChart:
    """Time of a step against batch, with machine, model, precision, context and sparsity to choose."""
    encoding = {"x": BATCH, "y": _board_axis()}
    floor, computes, alone = inside(eq.latency_floor, "ms"), eq.compute_with_attention, eq.step_with_attention
    floor_said = marks.said(floor, ",.4r")
    ends_near = f"({inside(eq.kv_time, 'ms', batch='1e5')} < 12 * {floor})"
    compute_at, kv_at = (
        f"max({least!r}, {formula.vega(batch=batch)})"
        for least, formula, batch in [(4e-5, computes, 6 * LEAST), (4e-5, eq.kv_time, 9 * LEAST)]
    )
    near = f"kink && kink < {10 * LEAST}"  # before such a kink there is no room for a name
    compute_at = f"({near} ? {computes.vega(batch='4 * kink')} : {compute_at})"
    layers = [
        *_board(encoding, "step", "ms"),
        *_kink(encoding, f"0.6 * {CEILING}"),
        marks.text(
            encoding,
            "'step'",
            repr(LEAST),
            inside(alone, "ms", batch=LEAST),
            align="left",
            dx=4,
            dy=-12,
            color=marks.PAINTS["total"],
        ),
        marks.text(  # at the right end, unless the KV line ends there
            encoding,
            "'weights'",
            f"{ends_near} ? {LEAST} : 1e5",
            floor,
            align={"expr": f"{ends_near} ? 'left' : 'right'"},
            dx={"expr": f"{ends_near} ? 4 : -4"},
            dy=11,
            color=marks.PAINTS["weights"],
        ),
        *_slope(encoding, "compute", "compute", computes, compute_at, f"context < balanced && !({near})"),
        *_slope(encoding, "KV", "kv", eq.kv_time, kv_at, "context >= balanced"),
    ]
    said = f"'floor ' + {floor_said} + ' ms, ' + (kink ? 'kink at B = ' + {marks.said('kink')} : 'never compute-bound')"
    terms = {**eq.STEP_TERMS, "compute": computes}
    spec = {**_fields(eq.step_with_attention, terms, "step", "ms"), "params": [*_given(), *_load()], "layer": layers}
    return InteractiveChart(
        {**spec, "title": controls.setting(_LOAD_LINE, said)},
        "Latency against batch",
        f"Time of one step against batch from {LEAST} to 100,000 sequences, both on log scales, for {RUNNING},"
        f" {RUNNING.tokens}, with {_CONTROLS}. The bold line is level at the floor of"
        f" {significant(eq.latency_floor(RUNNING) / units.factor('ms'), 4)} ms, then rises; beyond a batch of"
        f" {eq.with_attention(RUNNING, SLOWER[-1]).kink:,.0f} compute, attention's arithmetic included, is what it"
        " waits for.",
        "Compute includes attention's arithmetic. More stored parameters raise the floor and move the kink to a larger"
        " batch.",
        primary=("context", "stored", "model"),
    )


def roofline_chart() -> InteractiveChart:
    """Time and price of a token against batch, on the running case; the front door's chart."""
    encoding = {"x": BATCH, "y": _step_axis()}
    base = sweep("batch", math.log10(LEAST), 5)
    terms = {"step": eq.step_time, "memory": eq.memory_time, "compute": eq.compute_time}
    base["transform"] += [curve(formula, "batch", field, "ms") for field, formula in terms.items()]
    here = inside(eq.step_time, "ms", batch="chosen")
    at = lambda formula, batch: inside(formula, "ms", batch=batch)
    layers = [
        *(marks.line(each, each, encoding, strokeDash=[5, 3]) for each in ("memory", "compute")),
        marks.line("step", "total", encoding, strokeWidth=4),
        # Where the bold line does not cover them; their keys would be solid, and the lines are dashed.
        *(
            marks.text(
                encoding, f"'{each}'", batch, at(terms[each], batch), align="left", dx=8, dy=9, color=marks.PAINTS[each]
            )
            for each, batch in {"memory": "25000", "compute": "1200"}.items()
        ),
        marks.text(
            encoding, "'a step: the longer of both'", "30000", at(eq.step_time, "30000"), align="right", dx=-14, dy=-4
        ),
        marks.at(encoding, {**marks.DOT, "color": marks.PAINTS["chosen"], "size": 220}, x="chosen", y=here),
        marks.hover(encoding, "step", {name: f"{name} (ms)" for name in terms}, ",.3r"),
    ]
    return InteractiveChart(
        {**base, "height": 220, "params": _front_params(), "layer": layers, "title": marks.title(*_front_lines(here))},
        "Time and price of a token",
        _front_says(),
        f"{RUNNING}, {RUNNING.tokens}, at ${LECTURE_RENT:g} per GPU-hour. All of these are bounds: real engines are"
        " slower and cost more.",
        result=(0, 1),
    )


def _step_axis() -> dict:
    """Milliseconds of a step on a log scale, with ticks that say so, and room for half a dot before them."""
    axis = marks.log_axis("step", "ms per token", 0.1, 30)
    return {**axis, "axis": {"values": [0.1, 0.3, 1, 3, 10, 30], "format": "~r", "labelPadding": 6}}


def _front_params() -> list[dict]:
    """A slider for the batch, and the running case as it stands."""
    names = ("bandwidth", "chips", "flops", "n_active", "n_total", "kv_bytes_per_token", "bytes_per_param", "context")
    case = {name: RUNNING.symbols()[name] for name in names} | {"rent": LECTURE_RENT / units.factor("hour")}
    fixed = [row for name, value in case.items() for row in derived(name, repr(float(value)))]
    return [*_batch(), *fixed]


def _batch() -> list[dict]:
    """A slider of the batch over the whole axis, with a busy server's among its stops."""
    low, stops = math.log10(LEAST), 196  # the 85th is a busy server's batch, the last is the largest
    stop = round((5 - low) / stops, 8)
    start = round(low + round(math.log10(BUSY / LEAST) / stop) * stop, 8)
    return slider("chosen", low, 5, stop, start, "batch B", base=10, digits=3)


def _front_lines(here: str) -> tuple[str, ...]:
    """What the front door says of the batch chosen."""
    waits = f"{eq.memory_time.vega(batch='chosen')} > {eq.compute_time.vega(batch='chosen')}"
    return (
        f"'a token takes ' + {marks.said(here, ',.2r')} + ' ms'",
        f"'a million tokens cost ' + {marks.said('100 * ' + _price('chosen'), ',.2r')} + ' cents'",
        f"{marks.said('chosen', ',.3r')} + ' users share a step, which waits for ' + ({waits} ? 'memory' : 'compute')",
    )


def _front_says() -> str:
    """The front door's chart in words."""
    at = lambda batch: f"{eq.step_time(RUNNING, batch=batch) / units.factor('ms'):.3g} ms"
    return (
        f"Time of a token against batch from {LEAST} to 100,000, both on log scales, for {RUNNING}, {RUNNING.tokens},"
        f" with a slider for the batch. The bold line is {at(LEAST)} at a batch of {LEAST}, where it waits for memory,"
        f" and {at(100_000)} at 100,000; beyond a batch of {eq.crossing(RUNNING):,.0f} it waits for compute."
    )


FASTEST = f"(1 / ({eq.latency_floor.vega()}))"  # tokens per second of a user whose batch adds nothing to the step


def tradeoff_chart() -> InteractiveChart:
    """What a token costs against how fast its user gets it, along the batch, with machine, model and context to
    choose.
    """
    rent = derived("rent", repr(LECTURE_RENT / units.factor("hour")))
    speed, price = (lambda batch: inside(eq.user_speed, "token/sequence/s", batch=batch)), _price
    encoding = {"x": _speed_axis(), "y": _price_axis(price)}
    base = sweep("batch", math.log10(LEAST), 5, points=121)
    base["transform"] += [
        curve(eq.user_speed, "batch", "speed", "token/sequence/s"),
        curve(eq.cost_per_token, "batch", "cost", CHEAP),
    ]
    red, hollow = marks.PAINTS["chosen"], {"expr": f"chosen > {_FULL} ? 0 : 1"}
    chosen = {**marks.DOT, "color": red, "size": 220, "stroke": red, "strokeWidth": 2, "fillOpacity": hollow}
    layers = [
        marks.rule(encoding, "weights", x=FASTEST),
        marks.rule(encoding, "cost", y=inside(eq.cost_floor, CHEAP)),
        marks.line("cost", "muted", encoding, strokeWidth=2, strokeDash=[4, 4]),  # seen where memory has no room
        {**marks.line("cost", "total", encoding, strokeWidth=4), "transform": [{"filter": f"datum.batch <= {_FULL}"}]},
        *(part for batch in (LEAST, 1_000, 10_000) for part in _stop(encoding, batch, speed, price)),
        *_walls(encoding),
        *_full_memory(encoding, speed, price),
        marks.at(encoding, chosen, x=speed("chosen"), y=price("chosen")),
        _tips(encoding),
    ]
    title = marks.title(
        f"chosen > {_FULL} ? 'does not fit in memory' :"
        f" ({speed('chosen')} < 10 ? {marks.said(speed('chosen'), ',.1f')} : {marks.said(speed('chosen'))})"
        " + ' tokens/s for each user'",
        f"chosen > {_FULL} ? ({_FULL} < 1 ? '' : 'which is full at B = ' + {marks.said(f'floor({_FULL})')}) :"
        f" '$' + {marks.said(price('chosen'), ',.3r')} + ' per million tokens'",
        controls.CHOICE,
    )
    params = [*_batch_and_context(), *controls.given(RUNNING, SYSTEMS, MODELS), *rent]
    return InteractiveChart(
        {**base, "params": params, "layer": layers, "title": {**title, "lineHeight": 18}},
        "Price against speed",
        _tradeoff_says(),
        "With a smaller batch each user's text comes faster (to the right), and each token costs more (up).",
        primary=("chosen", "context", "model"),
        result=(0, 1),
    )


_FULL = "((machine.hbm - n_total * bytes_per_param) / (context * kv_bytes_per_token))"  # sequences that memory holds


def _batch_and_context() -> list[dict]:
    """Sliders of the batch, about a busy server's, and of the context."""
    return [
        *_batch(),
        *slider("context", 2, 5, 0.1, round(math.log10(RUNNING.context), 1), "context L (tokens)", base=10),
    ]


def _price(batch: str | float, **more: str | float) -> str:
    """Dollars per million tokens at a batch, as the browser computes them."""
    return inside(eq.cost_per_token, CHEAP, batch=batch, **more)


def _speed_axis() -> dict:
    """Tokens per second of one user, from nothing to a little more than the fastest."""
    title = "tokens per second, for each user"
    scale = {"domain": [0, {"expr": f"1.06 * {FASTEST}"}], "nice": False}
    return {
        "field": "speed",
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": {"tickCount": 6, "labelBound": 16},
    }


def _price_axis(price: Any) -> dict:
    """Dollars per million tokens on a log scale that follows the curve."""
    ends = [f"0.3 * {inside(eq.cost_floor, CHEAP)}", f"1.8 * {price(LEAST)}"]
    ticks = [digit * 10.0**n for n in range(-4, 3) for digit in (1, 2, 5)]
    scale = {"type": "log", "domain": [{"expr": end} for end in ends], "nice": False}
    title = "$ per million tokens"
    return {
        "field": "cost",
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": {"values": ticks, "format": "~r", "labelPadding": 7},  # room for half a dot before them
    }


def _stop(encoding: dict, batch: int, speed: Any, price: Any) -> list[dict]:
    """A batch's place on the curve, with its name."""
    x, y = speed(batch), price(batch)
    shown = f"({x}) > 0.2 * ({FASTEST})"  # further left stops and names would lie upon each other
    dot = {**marks.DOT, "size": 50, "color": marks.PAINTS["total"]}
    return [
        marks.at(encoding, dot, x=f"{shown} ? {x} : null", y=y),
        marks.text(encoding, f"{shown} ? 'B = {batch:,}' : ''", x, y, align="right", dx=-12, dy=-12),
    ]


def _walls(encoding: dict) -> list[dict]:
    """What the two walls are called."""
    floor = inside(eq.cost_floor, CHEAP)
    fastest = f"'all weights: at most ' + {marks.said(FASTEST)} + ' tokens/s'"
    cheapest = f"'no batch is cheaper than $' + {marks.said(floor, ',.3r')}"
    return [
        marks.text(encoding, fastest, FASTEST, floor, align="right", dx=-6, dy=32, color=marks.PAINTS["weights"]),
        marks.text(encoding, cheapest, FASTEST, floor, align="right", dx=-6, dy=13, color=marks.PAINTS["cost"]),
    ]


def _full_memory(encoding: dict, speed: Any, price: Any) -> list[dict]:
    """A ring where memory is full, if the curve gets there."""
    x = f"({_FULL} > {LEAST} && {_FULL} < 100000 ? {speed(_FULL)} : null)"
    y = price(f"max(1, {_FULL})")
    ring = {
        "type": "point",
        "aria": False,
        "filled": False,
        "opacity": 1,
        "size": 130,
        "strokeWidth": 2,
        "color": marks.PAINTS["kv"],
    }
    words = marks.text(encoding, "'memory full'", x, y, align="left", dx=-8, dy=19, color=marks.PAINTS["kv"])
    return [marks.at(encoding, ring, x=x, y=y), words]


def _tips(encoding: dict) -> dict:
    """What the pointer tells along the curve."""
    tip = lambda name, title, form: {"field": name, "type": "quantitative", "title": title, "format": form}
    tips = [tip("batch", "batch", ",.0f"), tip("speed", "tokens/s", ",.0f"), tip("cost", "$ per Mtok", ",.3r")]
    mark = {"type": "point", "opacity": 0, "size": 300, "clip": True}
    return {"mark": mark, "encoding": {**encoding, "tooltip": tips}}


def _tradeoff_says() -> str:
    """The trade-off in words, where its controls start."""
    rent = LECTURE_RENT / units.factor("hour")
    dollars = lambda formula, **at: significant(formula(RUNNING, rent=rent, **at) / units.factor(CHEAP))
    speed = lambda batch: f"{eq.user_speed(RUNNING, batch=batch):,.0f}"
    return (
        "Dollars per million tokens, on a log scale, against tokens per second for each user, for batches from"
        f" {LEAST} to 100,000 of {RUNNING}, {RUNNING.tokens}, at ${LECTURE_RENT:g} per GPU-hour, with controls for"
        f" system, model, precision, batch and context. At a batch of {LEAST} a user gets {speed(LEAST)} tokens per"
        f" second at ${dollars(eq.cost_per_token, batch=LEAST)}; at 10,000 it is {speed(10_000)} at"
        f" ${dollars(eq.cost_per_token, batch=10_000)}. While all weights are loaded, speed never passes"
        f" {1 / eq.latency_floor(RUNNING):,.0f}; price never falls below ${dollars(eq.cost_floor)}. A ring marks the"
        " batch that fills the memory, where it is below 100,000; beyond it the curve is dashed."
    )
