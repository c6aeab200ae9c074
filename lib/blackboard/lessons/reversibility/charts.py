"""The reversibility lesson's charts: activations against depth, kept in four ways, and how long digits survive
the way back.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard import catalogue, units
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.charts import marks
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, menu, slider, sweep
from blackboard.lessons.reversibility import equations as eq
from blackboard.lessons.reversibility.equations import KEPT
from blackboard.lessons.reversibility.simulation import VALUE
from blackboard.units import pretty, significant

DOT = {**marks.DOT, "clip": False}
GB = units.factor("GB")

# --- memory -----------------------------------------------------------------------------------------------------------

TOKENS, SEGMENT = 4_096, 4
CURVES = {
    "stored": eq.stored,
    "checkpointed": eq.checkpointed,
    "least": eq.checkpointed_least,
    "reversible": eq.reversible,
}
INKS = {"stored": "activations", "checkpointed": "first", "least": "third", "reversible": "second"}


def _start() -> dict[str, float]:
    """The running model's shape, a micro-batch of one sequence, and the bytes that follow."""
    model = catalogue.model(RUNNING.model)
    stream = TOKENS * model.d_model * VALUE
    return {
        "depth": model.layers,
        "d_model": model.d_model,
        "stream_bytes": stream,
        "layer_bytes": KEPT // VALUE * stream,
        "segment": SEGMENT,
    }


def _sizes() -> list[dict]:
    """Sliders for the network and the micro-batch, and the bytes that follow; `width` is the name of Vega's own
    signal.
    """
    start = _start()
    return [
        *slider("depth", 1, 256, 1, start["depth"], "layers"),
        *slider("d_model", 1_024, 16_384, 256, start["d_model"], "width"),
        *slider("tokens", 10, 15, 1, round(math.log2(TOKENS)), "tokens in the micro-batch", base=2),
        *slider("value_bytes", 1, 4, 1, VALUE, "bytes per number"),
        *slider("values_kept", 4, 40, 1, KEPT // VALUE, "numbers a layer keeps per number of the stream"),
        *slider("segment", 1, 32, 1, SEGMENT, "layers per checkpoint"),
        *derived("stream_bytes", "tokens * d_model * value_bytes"),
        *derived("layer_bytes", "values_kept * stream_bytes"),
    ]


WORDS = {"stored": "stored", "checkpointed": "checkpointed", "least": "best checkpoints", "reversible": "reversible"}
LOOKS: dict[str, dict[str, Any]] = {
    "stored": {"strokeWidth": 4},
    "checkpointed": {},
    "least": {"strokeDash": [5, 4]},
    "reversible": {"strokeWidth": 4},
}
HOLDS = {  # where a stretch has at least a layer, and at most all; with room for rounding
    "checkpointed": "datum.depth * 1.0001 >= segment",
    "least": "datum.depth * stream_bytes * 1.0001 >= layer_bytes",
}


def _lines(encoding: dict) -> list[dict]:
    """The curves where their formulas hold, and a dot on each at the chosen depth; none on the best, which the sliders
    do not set.
    """
    lines, dots = [], []
    for name in ("least", "checkpointed", "stored", "reversible"):
        found = [{"filter": HOLDS[name]}] if name in HOLDS else []
        lines.append({**marks.line(name, INKS[name], encoding, **LOOKS[name]), "transform": found})
        if name != "least":
            here = f"{'segment <= depth' if name in HOLDS else 'true'} ? {inside(CURVES[name], 'GB')} : null"
            dots.append(marks.at(encoding, {**DOT, "color": marks.PAINTS[INKS[name]]}, x="depth", y=here))
    return [*lines, *dots]


def _names(encoding: dict) -> list[dict]:
    """What the curves are called, in the upper left, which they never reach."""
    heights = [repr(10 ** (4.65 - 0.42 * n)) for n in range(len(CURVES))]
    return [
        row
        for name, y in zip(CURVES, heights)
        for row in marks.name(encoding, f"'{WORDS[name]}'", INKS[name], "1.1", y, dy=0)
    ]


def memory_chart() -> InteractiveChart:
    """Activations against depth, stored, checkpointed and reversible, with the network's sizes to choose."""
    encoding = {
        "x": marks.log_axis("depth", "layers", 1, 256),
        "y": marks.log_axis("stored", "GB of activations", 0.001, 1e5, "~g"),
    }
    encoding["x"]["axis"]["values"] = [4**n for n in range(5)]
    base = sweep("depth", 0, math.log10(256), points=49)
    base["transform"] += [curve(formula, "depth", name, "GB") for name, formula in CURVES.items()]
    layers = [
        *_lines(encoding),
        *_names(encoding),
        marks.hover(encoding, "stored", {name: f"{WORDS[name]} (GB)" for name in CURVES}, ",.3r"),
    ]
    told = {name: marks.prefixed(inside(formula, "byte"), "B") for name, formula in CURVES.items()}
    sized = (
        f"depth + (depth == 1 ? ' layer' : ' layers') + ', width ' + {marks.said('d_model')} + ', ' +"
        f" {marks.said('tokens')} + ' tokens'"
    )
    again = f"' (×' + {marks.said(inside(eq.work_ratio, '1', recomputed=1), '.2f')} + ' work)'"
    stored, back = f"'stored: ' + {told['stored']}", f"'reversible: ' + {told['reversible']} + {again}"
    marked = (
        f"'checkpoints: ' + (segment <= depth ? {told['checkpointed']} + {again} : 'farther apart than the layers')"
    )
    start, name = _start(), plain(catalogue.model(RUNNING.model).name)
    at = {name_: pretty(formula(start), "byte") for name_, formula in CURVES.items()}
    return InteractiveChart(
        {**base, "params": _sizes(), "layer": layers, "title": marks.title(sized, stored, marked, back)},
        "Activations against depth",
        "Activations that training keeps, 0.001 to 100,000 GB, against 1 to 256 layers, both log, with sliders for"
        f" layers, width, tokens, bytes of a value, values kept and checkpoints. At {name}'s {start['depth']} layers"
        f" and width, with {TOKENS:,} tokens: {at['stored']} stored, {at['checkpointed']} with a checkpoint every"
        f" {SEGMENT} layers, {at['least']} with the best, {at['reversible']} reversible; all but the first run the"
        " forward pass twice.",
        f"Only the reversible line is level. Korthikanti and others count {KEPT} bytes that a layer keeps for each"
        f" number of its stream, which is {KEPT // VALUE} numbers in 16 bits, without attention scores. Try a layer"
        " that keeps few numbers: then checkpoints and reversible layers save less.",
        primary=("depth", "tokens", "segment"),
    )


# --- errors -----------------------------------------------------------------------------------------------------------

FORMATS = {
    "bf16": ("BF16", 8),
    "fp16": ("FP16", 11),
    "fp32": ("FP32", 24),
    "fp64": ("FP64", 53),
}  # bits of a number's digits, the first included
TINTS = dict(zip(FORMATS, ("first", "second", "third", "fourth")))
ROUNDING = {name: 2.0**-bits for name, (_, bits) in FORMATS.items()}
CHI, DEPTH = -1.0, 64  # where the sliders start: log10 of χ − 1, and layers
LOST = eq.difference.solve("depth")


def _lost(rounding: str) -> str:
    """Browser expression of the layers after which a difference is as large as what it is part of."""
    return inside(LOST, "1", difference=1, rounding=rounding)


def _error_lines(now: str) -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    chosen = (
        f"'χ = ' + {marks.said('gain_per_layer', '.4~g')} + ', ' + upper(format) + ': one rounding is ' +"
        f" {marks.said('rounding', '.1~e')}"
    )
    here = (
        f"'after ' + depth + (depth == 1 ? ' layer: ' : ' layers: ') + ({now} < 1 ? {marks.said(now, '.1e')} : 'no"
        " digit is right')"
    )
    lost = _lost("rounding")
    until = f"'all digits are gone after ' + {marks.said(f'ceil({lost})')} + (ceil({lost}) == 1 ? ' layer' : ' layers')"
    return chosen, here, until


def _error_controls() -> list[dict]:
    """Format, factor per layer and layers."""
    return [
        {"name": "roundings", "value": ROUNDING},
        *menu("format", {name: word for name, (word, _) in FORMATS.items()}, "fp32", "numbers in"),
        *derived("rounding", "roundings[format]"),
        *slider("widens", -3, 0, 0.1, CHI, "factor per layer χ − 1", base=10),
        *derived("gain_per_layer", "1 + widens"),
        *slider("depth", 1, 256, 1, DEPTH, "layers"),
    ]


def error_chart() -> InteractiveChart:
    """Difference after depth layers, with the factor per layer, depth and precision to choose."""
    apart = marks.log_axis("difference", "relative difference; at 1 no digit is right", 1e-17, 1e4, "~e")
    apart["axis"]["values"] = [10.0**n for n in range(-16, 1, 4)]
    encoding = {"x": marks.axis("depth", "layers", 1, 256, [1, 64, 128, 192, 256]), "y": apart}
    base = sweep("depth", 1, 256, points=52, log=False)
    base["transform"] += [
        curve(eq.difference, "depth", "difference", "1"),
        *(curve(eq.difference, "depth", name, "1", rounding=value) for name, value in ROUNDING.items()),
    ]
    low = lambda layer, name: {**layer, "transform": [{"filter": f"datum.{name} < 50"}]}  # the names stand above
    now = inside(eq.difference, "1")
    names = [
        row
        for n, (name, (word, _)) in enumerate(FORMATS.items())
        for row in marks.name(encoding, f"'{word}'", TINTS[name], repr(1.0 + 57 * n), "1000", dy=0)
    ]
    layers = [
        *(low(marks.line(name, TINTS[name], encoding, strokeWidth=1.5), name) for name in FORMATS),
        low(marks.line("difference", "total", encoding, strokeWidth=4), "difference"),
        marks.rule(encoding, None, y="1"),
        marks.at(encoding, DOT | {"color": marks.PAINTS["chosen"]}, x="depth", y=f"{now} < 50 ? {now} : null"),
        *names,
        marks.hover(encoding, "difference", {"difference": "difference"}, ".2~e"),
    ]
    chi = 1 + 10**CHI
    ends = lambda name: math.ceil(LOST({"difference": 1, "rounding": ROUNDING[name], "gain_per_layer": chi}))
    gone = ", ".join(f"{word} {ends(name)}" for name, (word, _) in FORMATS.items())
    found = significant(eq.difference({"rounding": ROUNDING["fp32"], "gain_per_layer": chi, "depth": DEPTH}), 2)
    return InteractiveChart(
        {**base, "params": _error_controls(), "layer": layers, "title": marks.title(*_error_lines(now))},
        "How long digits survive the way back",
        "Relative difference, 1e-17 to 10,000 (log scale), against 1 to 256 layers, each of which widens it by χ, from"
        " one rounding in BF16, FP16, FP32 and FP64, with controls for format, χ and layers. Straight lines rise side"
        f" by side. At χ = {chi:g} all digits are gone after so many layers: {gone}; in FP32 {DEPTH} layers leave"
        f" {found}.",
        "Each format has its digits, and each layer costs as many as χ says. A factor near 1 makes even short formats"
        " last; twice the digits last twice the layers, whatever the factor. Try χ = 2: a bit is lost in every layer.",
        result=(1,),
    )
