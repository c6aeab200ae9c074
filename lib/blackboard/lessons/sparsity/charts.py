"""The sparsity lesson's chart: the batch that a sparse model needs at a context.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, decades, inside, slider, sweep
from blackboard.lessons.batching import equations as step
from blackboard.lessons.sparsity import equations as eq
from blackboard.lessons.sparsity.numbers import LOW, TEAM
from blackboard.units import significant

SYSTEMS = (
    "gb200-nvl72",
    "b200-64",
    "gb300-nvl72",
    "vr200-nvl72",
    "h200-8",
    "h100-8",
    "a100-80gb-8",
    "mi355x-8",
    "tpu7x-64",
    "tpu-v6e-256",
)
MODELS = (
    "deepseek-v3",
    "lecture-moe",
    "kimi-k2",
    "qwen3-235b-a22b",
    "gpt-oss-120b",
    "llama-4-maverick",
    "llama-3.1-70b",
)  # the last one dense

# --- the batch at a context -------------------------------------------------------------------------------------------


def _given() -> list[dict]:
    """The catalogue's menus, sliders for g, context and sparsity, and what follows: C, s, the batch without KV, the
    longest context, the batch at the context or 0.
    """
    gain = slider("quality_gain", 1, 8, 0.25, LOW, "size g of the dense model")
    context = decades("context", TEAM.context, 1.3, 2.6, "context L (tokens)")
    sparsity = slider("stored", -4, 2, 0.25, 0, "stored parameters ×", base=2)
    follows = {
        "n_total": "max(n_active, models[model].n_total * stored)",
        "intensity": inside(step.hardware_constant, "token"),
        "sparsity": inside(eq.sparsity, "1"),
        "level": f"({inside(step.critical_batch, 'sequence')}) / quality_gain",
        "limit": f"quality_gain * ({inside(step.balanced_context, 'token/sequence')})",
        "here": f"context < limit ? {inside(eq.break_even, 'sequence')} : 0",
    }
    return controls.given(TEAM, SYSTEMS, MODELS, sliders=[*gain, *context, *sparsity], **follows)


def _approach() -> dict:
    """Contexts from 100 to the longest one, dense near it: equal steps of L / (gL* − L), so that the curve's rise is
    drawn whole.
    """
    base = sweep("odds", -5, 5, points=201)
    base["transform"] += [{"calculate": "limit * datum.odds / (1 + datum.odds)", "as": "context"}]
    base["transform"] += [
        curve(eq.break_even, "context", "batch_even", "sequence"),
        {"filter": "datum.context >= 100"},
    ]
    return base


def _even_layers() -> list[dict]:
    """The curve, its level at the left, and the context beyond which there is none."""
    batch = marks.log_axis("batch_even", "break-even batch (sequences)", 100, 1e6, "~s")
    encoding = {"x": marks.log_axis("context", "context L (tokens)", 100, 1e6, "~s"), "y": batch}
    beyond = {"type": "rect", "color": marks.PAINTS["muted"], "opacity": 0.15, "x2": "width"}
    return [
        marks.at(encoding, beyond, x="max(100, limit)"),
        marks.rule(encoding, "muted", y="level"),
        marks.rule(encoding, "muted", x="limit"),
        marks.line("batch_even", "total", encoding, strokeWidth=4),
        marks.rule(encoding, "chosen", x="context"),
        marks.at(
            encoding, {**marks.DOT, "color": marks.PAINTS["chosen"]}, x="here ? context : null", y="here ? here : null"
        ),
        marks.text(encoding, f"'C·s/g = ' + {marks.said('level')}", "100", "level", align="left", dx=6, dy=11),
        marks.text(
            encoding,
            f"'g·L* = ' + {marks.said('limit')} + ': none beyond'",
            "max(100, limit)",
            "150",
            **marks.side("limit > 10000"),
        ),
        marks.hover(encoding, "batch_even", {"batch_even": "break-even batch"}, ",.0f"),
    ]


def even_chart() -> InteractiveChart:
    """Break-even batch against context, with machine, model, precision, sparsity, context and g to choose."""
    counts = f"'C = ' + {marks.said('intensity', ',.4r')} + ', s = ' + {marks.said('sparsity', ',.3r')}"
    counts += f" + ': C·s/g = ' + {marks.said('level')} + ' without KV'"
    found = f"here ? {marks.said('here')} + ' sequences tie' : 'no batch ties'"
    where = f"'At g = ' + {marks.said('quality_gain', '.3~f')} + ', L = ' + {marks.said('context')}"
    where += f" + (here ? ' (dot): ' : ': ') + ({found})"
    spec = {**_approach(), "params": _given(), "layer": _even_layers(), "title": controls.setting(counts, where)}
    level, longest = step.critical_batch(TEAM) / LOW, LOW * step.balanced_context(TEAM)
    return InteractiveChart(
        spec,
        "Break-even batch against context",
        f"Break-even batch against context from 100 to a million tokens, both on log scales, for {TEAM}, with controls"
        f" for g, context, model, system, precision and sparsity. At g = {LOW:g} the curve is level near"
        f" {significant(level, 2)} sequences, is at {significant(eq.break_even(TEAM, quality_gain=LOW), 2)} for"
        f" {TEAM.tokens}, and rises without end towards {significant(longest, 2)} tokens, beyond which there is none.",
        f"The longer the contexts, the more sequences DeepSeek-V3 needs. Past {significant(longest, 2)} tokens (at g ="
        f" {LOW:g}) it never catches up, because each cache then takes longer to load than the dense model needs for a"
        " token. The formula holds while the dense model waits for compute.",
        primary=("quality_gain", "context", "model"),
    )
