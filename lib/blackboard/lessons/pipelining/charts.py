"""The pipelining lesson's charts: which context fits, and a player of schedules.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import base64
import html
import math
import re

from blackboard import catalogue, units
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.charts import marks, style
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, menu, slider, sweep
from blackboard.lessons.pipelining import equations as eq
from blackboard.lessons.pipelining import figures, numbers, simulation
from blackboard.units import significant

STAGES, BATCHES = 4, 8  # where the player starts
START = {**numbers.CASE, "micro_batch": numbers.box_users(numbers.Shared(2))}  # users of a box
EACH, LONG = "GB/chip", "token/sequence"


MACHINES = (numbers.RACK, numbers.BOX)


# --- memory -----------------------------------------------------------------------------------------------------------


def domain_name(row: catalogue.System) -> str:
    """A domain's name without the form of its chips."""
    return re.sub(r" SXM| \(.*", "", plain(row.name))


def _loaded() -> list[dict]:
    """A menu of machines, and sliders for what they hold, from the running case on."""
    rack, box = map(catalogue.system, MACHINES)
    machine = lambda of: f"machine == '{rack.id}' ? {of(rack)!r} : {of(box)!r}"

    def around(name: str, down: float, up: float, label: str, digits: int = 2) -> list[dict]:
        start = round(math.log2(START[name]), 12)
        return slider(name, round(start - down, 12), round(start + up, 12), 0.25, start, label, base=2, digits=digits)

    return [
        *slider("stages", 1, 16, 1, numbers.LAYOUTS["two"].boxes, "stages P"),
        *menu("machine", {row.id: domain_name(row) for row in (rack, box)}, box.id, "a stage is one"),
        *around("micro_batch", 4, 5, "micro-batch b", digits=0),
        *around("n_total", 3, 4, "stored parameters"),
        *around("kv_bytes_per_token", 4, 3, "KV bytes per token"),
        *derived("expert_parallel", machine(lambda row: row.chips)),
        *derived("chip_hbm", machine(lambda row: row.hbm_bytes / row.chips)),
        *derived("bytes_per_param", repr(float(START["bytes_per_param"]))),
        *derived("limit", inside(eq.context_fits, LONG, n_total=0)),
    ]


def _counted(value: str) -> str:
    """Browser expression, in words: each token up to a million, then millions."""
    return f"({value} < 1e6 ? {marks.said(f'floor({value})')} : {marks.counted(value)})"


def _fitting(stages: str) -> str:
    """Browser expression, in words: the context that fits at so many stages, if the weights do."""
    fits = inside(eq.context_fits, LONG, stages=stages)
    return f"({fits} > 0 ? {_counted(fits)} + ' tokens' : 'none')"


def _context_lines() -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    stored, cached = marks.prefixed("n_total * bytes_per_param", "B"), marks.prefixed("kv_bytes_per_token", "B")
    load = f"{stored} + ' of weights, ' + {cached} + ' of KV per token'"
    gb = lambda value: marks.said(value, ",.3r")
    taken, memory = gb(inside(eq.chip_weights, EACH)), gb(f"chip_hbm / {units.factor('GB')!r}")
    here = f"'weights at P = ' + stages + ': ' + {taken} + ' of ' + {memory} + ' GB'"
    more = f"(stages > 1 ? ', ' + {_fitting('stages')} + ' at P = ' + stages : '')"
    return load, here, f"'fits: ' + {_fitting('1')} + ' at P = 1' + {more}"


def context_chart() -> InteractiveChart:
    """The context that fits against stages, with machine, micro-batch, parameters and KV to choose."""
    encoding = {
        "x": marks.axis("stages", "pipeline stages P", 1, 16, [1, 2, 4, 8, 16]),
        "y": {
            "field": "context",
            "type": "quantitative",
            "title": "context that fits (tokens)",
            "scale": {"domain": [0, {"expr": "1.15 * limit"}], "nice": False},
            "axis": {"tickCount": 6, "labelExpr": marks.TICK, "labelPadding": 6},
        },
    }
    base = sweep("stages", 1, 16, points=16, log=False)
    base["transform"] += [curve(eq.context_fits, "stages", "context", LONG), {"filter": "datum.context > 0"}]
    here = inside(eq.context_fits, LONG)
    dot = {"x": f"{here} > 0 ? stages : null", "y": f"{here} > 0 ? {here} : 1"}
    layers = [
        marks.rule(encoding, "memory", y="limit"),
        marks.line("context", "kv", encoding, strokeWidth=4),
        marks.rule(encoding, None, x="stages"),
        marks.at(encoding, {**marks.DOT, "size": 150, "color": marks.PAINTS["chosen"]}, **dot),
        marks.text(encoding, _counted(here), **dot, **marks.side("stages > 12"), dy=16),
        *marks.name(encoding, "'without any weights'", "memory", "16", "limit", "true", dy=-10),
        marks.hover(encoding, "context", {"context": "context that fits (tokens)"}, ",.3r"),
    ]
    rack, box = map(catalogue.system, MACHINES)
    held = lambda row: {"expert_parallel": row.chips, "chip_hbm": row.hbm_bytes / row.chips}
    case = f"{plain(catalogue.model(RUNNING.model).name)} in {RUNNING.precision.upper()}"
    fits = lambda row, stages: significant(eq.context_fits(START, held(row), stages=stages), 3)
    return InteractiveChart(
        {**base, "params": _loaded(), "layer": layers, "title": marks.title(*_context_lines())},
        "Context that fits against stages",
        f"The context that fits, in tokens, against 1 to 16 pipeline stages, for {case}. With"
        f" {START['micro_batch']} sequences it grows on eight H200s from {fits(box, 1)} tokens at one stage to"
        f" {fits(box, 16)} at 16, on the rack from"
        f" {fits(rack, 1)} to {fits(rack, 16)}.",
        f"For {case} with {START['micro_batch']} users per stage, four boxes serve four times as many users"
        " as one box, each with twice the context. With racks, the line is nearly flat.",
        primary=("stages", "machine", "micro_batch"),
        result=(2,),
    )


# --- the player -------------------------------------------------------------------------------------------------------

SCHEDULES = {
    "GPipe": lambda stages, batches, chunks, costs: simulation.gpipe(stages, batches),
    "1F1B": lambda stages, batches, chunks, costs: simulation.one_f_one_b(stages, batches),
    "interleaved 1F1B": lambda stages, batches, chunks, costs: simulation.interleaved(stages, batches, chunks),
    "ZB-H1": lambda stages, batches, chunks, costs: simulation.zero_bubble_h1(stages, batches),
    "ZB-H2": lambda stages, batches, chunks, costs: simulation.zero_bubble_h2(stages, batches),
    "ZB, searched": lambda stages, batches, chunks, costs: simulation.zero_bubble(stages, batches, costs),
    "DualPipe": lambda stages, batches, chunks, costs: simulation.dualpipe(stages, batches),
}


def player():
    """Widgets for a notebook that redraw a schedule's Gantt chart as its shape and the times of its passes change
    (ipywidgets).
    """
    import ipywidgets as w

    looks = {"style": {"description_width": "10em"}, "layout": w.Layout(width="26em"), "continuous_update": False}
    count = lambda name, value, low, high: w.IntSlider(value, low, high, description=name, **looks)
    time = lambda name, value, low=0.25: w.FloatSlider(
        value=value, min=low, max=3, step=0.25, description=name, **looks
    )
    controls = {
        "name": w.Dropdown(
            options=list(SCHEDULES), value="1F1B", description="schedule", style=looks["style"], layout=looks["layout"]
        ),
        "stages": count("racks P", STAGES, 1, 12),
        "batches": count("micro-batches", BATCHES, 1, 32),
        "chunks": count("pieces", 2, 1, 4),
        "forward": time("time of F", 1),
        "backward": time("time of B", 1),
        "weight": time("time of W", 1),
        "hop": time("time of a hop", 0, 0),
    }
    picture = w.HTML()

    def draw(_=None):
        picture.value = _played(**{name: control.value for name, control in controls.items()})

    for control in controls.values():
        control.observe(draw, "value")
    draw()
    return w.VBox([w.HBox(list(controls.values()), layout=w.Layout(flex_flow="row wrap")), picture])


def _played(name: str, stages: int, batches: int, chunks: int, **times: float) -> str:
    """A schedule's Gantt chart as HTML, or what to change where there is no such schedule."""
    import matplotlib.pyplot as plt

    costs = simulation.Costs(**times)
    try:
        fig = figures.gantt(SCHEDULES[name](stages, batches, chunks, costs), costs, name)
    except ValueError as error:
        return f'<p role="status"><strong>{name} cannot run like this</strong>: {html.escape(str(error))}.</p>'
    picture = base64.b64encode(style.svg(fig).encode()).decode()
    plt.close(fig)
    return f'<img style="max-width: 100%" alt="{html.escape(fig.alt)}" src="data:image/svg+xml;base64,{picture}">'
