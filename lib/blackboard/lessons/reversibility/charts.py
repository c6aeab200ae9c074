"""The reversibility lesson's chart: activations against depth, kept in four ways.

The chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard import catalogue, units
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.charts import marks
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, slider, sweep
from blackboard.lessons.reversibility import equations as eq
from blackboard.lessons.reversibility.equations import KEPT
from blackboard.lessons.reversibility.simulation import VALUE
from blackboard.units import pretty

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
        "Only the reversible line is level. Try a layer that keeps few numbers: then checkpoints and reversible layers"
        " save less. (Streams have as many bytes per number here as everything else.)",
        primary=("depth", "tokens", "segment"),
    )
