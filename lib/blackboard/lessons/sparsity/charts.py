"""The sparsity lesson's charts: the batch that a sparse model needs at a context, and what experts are worth.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math

from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, inside, slider, sweep
from blackboard.lessons.batching import equations as step
from blackboard.lessons.sparsity import equations as eq
from blackboard.lessons.sparsity.numbers import TEAM

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
    """The catalogue's menus, sliders for sparsity and context, and what follows: C, s, the batch without KV, L*, the
    batch at the context or 0.
    """
    sparsity = slider("stored", -4, 2, 0.25, 0, "stored parameters ×", base=2)
    context = slider("context", 2, 6, 0.1, round(math.log10(TEAM.context), 1), "context L (tokens)", base=10)
    follows = {
        "n_total": "max(n_active, models[model].n_total * stored)",
        "intensity": inside(step.hardware_constant, "token"),
        "sparsity": inside(eq.sparsity, "1"),
        "level": inside(step.critical_batch, "sequence"),
        "balanced": inside(step.balanced_context, "token/sequence"),
        "here": f"context < balanced ? {inside(step.crossing, 'sequence')} : 0",
    }
    return controls.given(TEAM, SYSTEMS, MODELS, sliders=[*sparsity, *context], **follows)


def _approach() -> dict:
    """Contexts from 100 to the balanced one, dense near it: equal steps of L / (L* − L), so that the curve's rise is
    drawn whole.
    """
    base = sweep("odds", -5, 5, points=201)
    base["transform"] += [{"calculate": "balanced * datum.odds / (1 + datum.odds)", "as": "context"}]
    base["transform"] += [
        curve(step.crossing, "context", "batch_critical", "sequence"),
        {"filter": "datum.context >= 100"},
    ]
    return base


def _critical_layers() -> list[dict]:
    """The curve, its level at the left, and the context beyond which there is none."""
    batch = marks.log_axis("batch_critical", "critical batch (sequences)", 100, 1e6, "~s")
    encoding = {"x": marks.log_axis("context", "context L (tokens)", 100, 1e6, "~s"), "y": batch}
    beyond = {"type": "rect", "color": marks.PAINTS["muted"], "opacity": 0.15, "x2": "width"}
    return [
        marks.at(encoding, beyond, x="max(100, balanced)"),
        marks.rule(encoding, "muted", y="level"),
        marks.rule(encoding, "muted", x="balanced"),
        marks.line("batch_critical", "total", encoding, strokeWidth=4),
        marks.rule(encoding, "chosen", x="context"),
        marks.at(
            encoding, {**marks.DOT, "color": marks.PAINTS["chosen"]}, x="here ? context : null", y="here ? here : null"
        ),
        marks.text(encoding, f"'C·s = ' + {marks.said('level')}", "100", "level", align="left", dx=6, dy=11),
        marks.text(
            encoding,
            f"'L* = ' + {marks.said('balanced')} + ': none beyond'",
            "max(100, balanced)",
            "150",
            **marks.side("balanced > 10000"),
        ),
        marks.hover(encoding, "batch_critical", {"batch_critical": "critical batch"}, ",.0f"),
    ]


def critical_chart() -> InteractiveChart:
    """Critical batch against context, with machine, model, precision, sparsity and context to choose."""
    counts = f"'C = ' + {marks.said('intensity', ',.4r')} + ', s = ' + {marks.said('sparsity', ',.3r')} + ': '"
    counts += f" + 'B* = ' + {marks.said('level')} + ' without KV'"
    found = f"here ? 'B* = ' + {marks.said('here')} : 'never compute-bound'"
    where = f"'L* = ' + {marks.said('balanced')} + '; at L = ' + {marks.said('context')}"
    where += f" + (here ? ' (dot): ' : ': ') + ({found})"
    spec = {**_approach(), "params": _given(), "layer": _critical_layers(), "title": controls.setting(counts, where)}
    return InteractiveChart(
        spec,
        "Critical batch against context",
        f"Critical batch against context from 100 to a million tokens, both on log scales, for {TEAM}, with controls"
        " for system, model, precision, sparsity and context. The curve is level near C·s ="
        f" {step.critical_batch(TEAM):,.0f} sequences, is at {step.crossing(TEAM):,.0f} for {TEAM.tokens}, and"
        f" rises without end towards the balanced context of {step.balanced_context(TEAM):,.0f} tokens, beyond which"
        " there is none.",
        "A sparser model needs more sequences at every context, but L* stays where it is. Whatever lengthens computing"
        " or shortens the loading of caches moves L* to the right: a chip with fewer FLOP/s for its bandwidth, weights"
        " in a wider format, which compute more slowly, or a smaller KV cache.",
        primary=("context", "stored", "model"),
    )
