"""The paging lesson's chart: the batch that one memory holds.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math

from blackboard.catalogue import model, system
from blackboard.catalogue.running_case import Case, plain
from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, inside, slider, sweep
from blackboard.formula import Formula
from blackboard.lessons.batching import equations as step
from blackboard.lessons.paging import equations as eq

CASE = Case("llama-3.1-70b", "h100-8", "bf16", 2_048)  # where reserving hurts: a cache of many bytes in memory of few
SYSTEMS = ("h100-8", "a100-80gb-8", "h200-8", "b200-8", "gb200-nvl72", "mi355x-8")
MODELS = ("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "qwen3-235b-a22b", "gpt-oss-120b", "deepseek-v3")
LOW, HIGH, FIRST, LAST = 1, 1e6, 128, 2**20  # sequences on the chart's axis, tokens on the other


# --- the batch that fits ----------------------------------------------------------------------------------------------

RESERVED = Formula(
    "paging.batch_reserved",
    "batch_held",
    eq.batch_held.typed.subs(eq.kv_use, eq.use_reserved.typed),
    "sequence",
    "the batch with room set aside for a longest sequence",
    eq.batch_held.assumes,
    conditions=eq.batch_held.conditions,
    register=False,
)
PAGED = Formula(
    "paging.batch_paged",
    "batch_held",
    eq.batch_held.typed.subs(eq.kv_use, eq.use_paged.typed),
    "sequence",
    "the batch with a cache in blocks",
    eq.batch_held.assumes,
    conditions=(*eq.batch_held.conditions, *eq.use_paged.conditions),
    register=False,
)


def _room() -> list[dict]:
    """Machine, model and precision, the lengths, and the two batches with what a token costs in them."""
    sliders = [
        *slider("context", 7, 20, 1, 11, "mean length (tokens)", base=2, digits=7),  # powers of two as they are
        *slider("reserved_context", 9, 20, 1, 14, "tokens set aside", base=2, digits=7),
        *slider(
            "page_tokens", 0, 6, 1, 4, "tokens of a block", base=2
        ),  # shorter than any sequence of the chart, as the formula asks
    ]
    at = lambda formula: f"max(0.001, {inside(formula, 'sequence')})"
    dollars = lambda batch: f"({inside(step.cost_per_token, 'USD/megatoken', rent=1.0, batch=batch)})"
    follows = {
        "whole": at(RESERVED),
        "paged": at(PAGED),
        "fits": "n_total * bytes_per_param < machine.hbm",
        "few": "max(1, floor(whole))",
        "many": "max(1, floor(paged))",  # sequences are served whole
        "longer": "context > reserved_context",
        "both": "fits && !longer && whole >= 1",
        "gain": f"{dollars('few')} / {dollars('many')}",
        "balanced": inside(step.balanced_context, "token/sequence"),
    }
    return controls.given(CASE, SYSTEMS, MODELS, ("bandwidth", "chips", "hbm"), sliders=sliders, **follows)


def _busy(context: str) -> str:
    """Browser expression of the batch from which a step waits for compute; none from the balanced context on."""
    return f"{context} < 0.999 * balanced ? {inside(step.crossing, 'sequence', context=context)} : NaN"


def _room_names(encoding: dict, early: str, level: str) -> list[dict]:
    """The names of both ways of allocating, where their lines have room for them."""
    return [
        marks.text(
            encoding,
            f"fits && {early} < {HIGH} ? 'blocks' : ''",
            "300",
            early,
            align="left",
            dx=6,
            dy={"expr": f"{early} < {level} ? 16 : -8"},
            color=marks.PAINTS["first"],
        ),
        marks.text(
            encoding,
            "fits && whole >= 1 ? 'set aside' : ''",
            str(FIRST),
            level,
            align="left",
            dx=4,
            dy={"expr": f"{level} < 3 || {early} < {level} ? -8 : 10"},
            color=marks.PAINTS["second"],
        ),
    ]


def _room_layers(encoding: dict) -> list[dict]:
    """Both ways of allocating with their names, and the batch from which a step waits for compute."""
    seen, shown = {"opacity": {"expr": "fits ? 1 : 0"}}, {"opacity": {"expr": "both ? 1 : 0"}}
    early = f"max({LOW}, {inside(PAGED, 'sequence', context='300')})"
    level = f"max({LOW}, {inside(RESERVED, 'sequence')})"
    inside_it = [{"filter": "datum.context <= reserved_context"}]  # a longer sequence has no room in what is set aside
    return [
        marks.line("blocks", "first", encoding, strokeWidth=4, **seen),
        marks.line("set_aside", "second", encoding, **seen) | {"transform": inside_it},
        marks.line("busy", "compute", encoding, strokeDash=[4, 3], strokeWidth=1.5),
        marks.rule(encoding, None, x="context"),
        marks.at(encoding, {**marks.DOT, **seen, "color": marks.PAINTS["first"]}, x="context", y="paged"),
        marks.at(encoding, {**marks.DOT, **shown, "color": marks.PAINTS["second"]}, x="context", y="whole"),
        *_room_names(encoding, early, level),
        marks.text(
            encoding,
            "'above: steps wait for compute'",
            str(FIRST),
            _busy(str(FIRST)),
            align="left",
            dx=4,
            dy=-8,
            color=marks.PAINTS["compute"],
        ),
        marks.text(
            encoding, "fits ? '' : 'The weights do not fit.'", "3e4", "30", align="center", color=marks.PAINTS["bound"]
        ),
        marks.hover(encoding, "blocks", {"blocks": "in blocks", "told": "set aside"}, ",.3~r"),
    ]


def room_chart() -> InteractiveChart:
    """Sequences that one memory holds against their mean length, set aside or in blocks, for a machine and a model."""
    encoding = {
        "x": marks.log_axis("context", "mean tokens of a sequence", FIRST, LAST),
        "y": marks.log_axis("blocks", "sequences in memory", LOW, HIGH),
    }
    base = sweep("context", math.log10(FIRST), math.log10(LAST), points=81)
    base["transform"] += [
        curve(formula, "context", field, "sequence") for field, formula in (("blocks", PAGED), ("set_aside", RESERVED))
    ]
    ended = "datum.context > reserved_context ? NaN : datum.set_aside"  # the readout says nothing where the line ends
    base["transform"].append({"calculate": ended, "as": "told"})
    base["transform"].append({"calculate": _busy("datum.context"), "as": "busy"})
    layers = _room_layers(encoding)
    spec = {**base, "params": _room(), "layer": layers, "title": controls.setting(*_room_lines())}
    return InteractiveChart(
        spec,
        "The batch that fits",
        _room_says(),
        "Above the dashed line across, compute takes longer than loading weights and caches, so more sequences make no"
        " token cheaper. We assume that blocks are loaded as fast as one piece.",
        primary=("context", "reserved_context", "model"),
        result=(1,),
    )


def _room_lines() -> tuple[str, str]:
    """What the title says of the batches and of the cost, or why there is none."""
    blocks = f"(paged < 1 ? 'none' : {marks.said('many')}) + ' in blocks'"
    both = f"{marks.said('few')} + ' set aside, ' + {blocks} + ': ' + format(many / few, ',.3~r') + '× as many'"
    alone = f"(longer ? 'longer than what is set aside; ' : 'not one fits set aside; ') + {blocks}"
    worth = (
        "abs(gain - 1) < 0.005 ? 'a token costs the same' : 'a token is ' + format(max(gain, 1 / gain), ',.3~r') +"
        " (gain < 1 ? ' times dearer' : ' times cheaper')"
    )
    return f"!fits ? 'the weights do not fit' : both ? {both} : {alone}", f"both ? ({worth}) : ''"


LENGTHS = {"context": 2.0**11, "reserved_context": 2.0**14, "page_tokens": 2.0**4}  # where the sliders start


def _told(case: Case, **lengths: float) -> tuple[dict[str, float], tuple[int, int], float]:
    """A case's symbols, the whole sequences that fit set aside and in blocks, and by what factor a token gets
    cheaper.
    """
    known = case.symbols() | lengths
    held = int(RESERVED(known)), int(PAGED(known))
    few, many = (step.cost_per_token(known | {"rent": 1.0}, batch=float(batch)) for batch in held)
    return known, held, few / many


def _room_says() -> str:
    known, held, gain = _told(CASE, **LENGTHS)
    return (
        "Sequences that memory holds against their mean length. In blocks the batch falls as the length grows; with a"
        " fixed number set aside it is level, and ends where lengths exceed it. For"
        f" {plain(model(CASE.model).name)} on {plain(system(CASE.system).name)}, at {known['context']:,.0f} tokens and"
        f" {known['reserved_context']:,.0f} set aside, {held[0]:,} sequences fit, in blocks of"
        f" {known['page_tokens']:.0f} {held[1]:,}: a token is {gain:.1f} times cheaper."
    )
