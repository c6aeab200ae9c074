"""The reversibility lesson's interactive chart: how many layers to run again from one kept stream.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

from blackboard.catalogue import model
from blackboard.charts import marks
from blackboard.charts.interactive import InteractiveChart, curve, decades, derived, inside, slider, sweep
from blackboard.formula import Formula
from blackboard.lessons.reversibility import equations as eq
from blackboard.lessons.reversibility import numbers
from blackboard.units import pretty, significant

NET, SIZES = model(numbers.DENSE), numbers.sequence_sizes()
STREAM = SIZES["stream_bytes"]
KEPT = SIZES["layer_bytes"] / STREAM  # in streams: vectors of a token that a layer keeps
LONGEST = 42  # layers of a segment
LOW, HIGH = 1e9, 1e13  # bytes, of the chart

STREAMS = Formula(
    "reversibility.streams_kept",
    "activations",
    eq.depth / eq.segment * eq.stream_bytes,
    "byte",
    "the streams that wait, one before each segment",
    eq.checkpointed.assumes,
    register=False,
)
SEGMENT = Formula(
    "reversibility.segment_held",
    "activations",
    eq.segment * eq.layer_bytes,
    "byte",
    "the activations of the segment that is being rerun",
    eq.checkpointed.assumes,
    register=False,
)


def _read() -> list[dict]:
    """Sliders for the segment, the depth and what a layer keeps, and what follows."""
    return [
        *slider("length", 1, LONGEST, 1, numbers.SEGMENT, "layers in a segment"),
        *decades("depth", SIZES["depth"], 1.0, 0.9, "layers in all"),
        *slider("vectors", KEPT - 5, KEPT + 15, 0.125, KEPT, "vectors per layer"),
        *derived("segment", "min(length, depth)"),
        *derived("stream_bytes", repr(STREAM)),
        *derived("layer_bytes", "vectors * stream_bytes"),
        *derived("exact_stream", f"{numbers.WHOLE / numbers.VALUE!r} * stream_bytes"),
        *derived("step_bytes", f"min(vectors, {numbers.gated()!r}) * stream_bytes"),
        *derived("recomputed", "1 - segment / depth"),  # the top segment is still there
        *derived("all", inside(eq.stored, "byte")),
        *derived("here", inside(eq.checkpointed, "byte")),
        *derived("undone", inside(eq.reversible, "byte")),
        *derived("work", inside(eq.work_ratio, "1")),
        *derived("best", f"clamp({inside(eq.segment_best, '1')}, 1, depth)"),
        *derived("least", inside(eq.checkpointed, "byte", segment="best")),
    ]


def _lines() -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    layers = "segment + (segment == 1 ? ' layer' : ' layers')"
    return (
        f"'segments of ' + {layers} + ' hold ' + {marks.prefixed('here', 'B')}",
        f"'instead of ' + {marks.prefixed('all', 'B', 2)} + ', for ' + {marks.said('100 * (work - 1)', '.2~r')} + '%"
        " more compute'",
        f"'least with ' + {marks.said('best', '.2~r')} + ' layers: ' + {marks.prefixed('least', 'B')}"
        f" + '; reversible: ' + {marks.prefixed('undone', 'B')}",
    )


def _layers(encoding: dict) -> list[dict]:
    """The valley and its two sides, between keeping everything and keeping two streams."""
    end, late = repr(LONGEST), f"0.6 * min(depth, {LONGEST})"
    beside = lambda words, formula, x: marks.text(
        encoding, words, x, inside(formula, "byte", segment=x), align="left", dx=4, dy=16, color=marks.PAINTS["muted"]
    )
    return [
        marks.line("streams", "muted", encoding, strokeDash=[5, 4], strokeWidth=1.5),
        marks.line("held", "muted", encoding, strokeDash=[2, 3], strokeWidth=1.5),
        marks.line("kept", "first", encoding, strokeWidth=3),
        marks.rule(encoding, "activations", y="all"),
        marks.rule(encoding, "second", y="undone"),
        marks.text(
            encoding, "'every layer kept'", "1", "all", align="left", dx=6, dy=-9, color=marks.PAINTS["activations"]
        ),
        marks.text(encoding, "'reversible'", end, "undone", align="right", dx=-4, dy=-9, color=marks.PAINTS["second"]),
        beside("'streams'", STREAMS, "1.5"),
        beside("'one segment'", SEGMENT, late),
        marks.at(encoding, {**marks.DOT, "color": marks.PAINTS["chosen"]}, x="segment", y="here"),
        marks.hover(
            encoding,
            "kept",
            {"kept": "memory (bytes)", "streams": "streams (bytes)", "held": "one segment (bytes)"},
            ".3s",
            ".2~r",
        ),
    ]


def segment_chart() -> InteractiveChart:
    """Memory of the activations against the layers of a segment, with the depth and what a layer keeps to choose."""
    encoding = {
        "x": marks.log_axis("segment", "layers in a segment", 1, LONGEST),
        "y": marks.log_axis("kept", "activations (GB)", LOW, HIGH),
    }
    encoding["x"]["axis"] |= {"values": [1, 2, 3, 5, 10, 20, 40]}
    encoding["y"]["axis"]["labelExpr"] = "format(datum.value / 1e9, ',~r')"
    base = sweep("at", 0, 1, points=83, log=False)
    base["transform"] += [
        {"calculate": f"pow(min(depth, {LONGEST}), datum.at)", "as": "segment"},
        curve(eq.checkpointed, "segment", "kept", "byte"),
        curve(STREAMS, "segment", "streams", "byte"),
        curve(SEGMENT, "segment", "held", "byte"),
    ]
    kept = eq.checkpointed(SIZES, segment=numbers.SEGMENT)
    return InteractiveChart(
        {**base, "params": _read(), "layer": _layers(encoding), "title": marks.title(*_lines())},
        "Memory with checkpoints",
        f"Activations of a sequence, 1 to 10,000 GB, against the layers of a segment, 1 to {LONGEST}, both on log"
        f" scales, with sliders for segment, depth and what a layer keeps. With {SIZES['depth']} layers and segments of"
        f" {numbers.SEGMENT} it is {pretty(kept, 'byte', 2)}, near the bottom of a valley: the streams that wait fall,"
        " and the activations of the segment that is rerun rise. A line far above is every layer kept,"
        f" {pretty(eq.stored(SIZES), 'byte', 2)}, and a line below two reversible streams.",
        f"The chart starts with {NET.name} and one sequence of {numbers.TOKENS:,} tokens. A layer keeps"
        f" {significant(KEPT, 5)} vectors of a token there; the older GPT that keeps 34 bytes for each number keeps 17."
        " Gradients of activations come on top of every line.",
        primary=("length", "depth", "vectors"),
        result=(0,),
    )
