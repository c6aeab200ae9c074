"""The pipelining lesson's charts: which context fits, how long a pipeline idles, and a player of schedules.

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
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, menu, percent, slider, sweep
from blackboard.lessons.pipelining import equations as eq
from blackboard.lessons.pipelining import figures, numbers, simulation
from blackboard.units import pretty, significant

STAGES, BATCHES = 4, 8  # where the interactive charts start
EACH, LONG = "GB/chip", "token/sequence"


MACHINES = (numbers.RACK, numbers.BOX)


# --- memory -----------------------------------------------------------------------------------------------------------


def domain_name(row: catalogue.System) -> str:
    """A domain's name without the form of its chips."""
    return re.sub(r" SXM| \(.*", "", plain(row.name))


def _loaded() -> list[dict]:
    """A menu of machines, and sliders for what they hold: multiples of the running case."""
    start, (rack, box) = numbers.CASE, map(catalogue.system, MACHINES)
    machine = lambda of: f"machine == '{rack.id}' ? {of(rack)!r} : {of(box)!r}"
    moved = lambda name, low, high, label: slider(f"times_{name}", low, high, 0.25, 0, f"{label} ×", base=2)
    times = lambda name, *more: [*moved(name, *more), *derived(name, f"times_{name} * {start[name]!r}")]
    return [
        *slider("stages", 1, 16, 1, STAGES, "stages P"),
        *menu("machine", {row.id: domain_name(row) for row in (rack, box)}, rack.id, "a stage is one"),
        *times("micro_batch", -4, 3, f"micro-batch b: {start['micro_batch']:,} sequences"),
        *times("n_total", -3, 4, f"stored parameters: {start['n_total'] / 1e9:.0f} billion"),
        *times("kv_bytes_per_token", -6, 3, f"KV cache: {pretty(start['kv_bytes_per_token'], 'byte')} per token"),
        *derived("expert_parallel", machine(lambda row: row.chips)),
        *derived("chip_hbm", machine(lambda row: row.hbm_bytes / row.chips)),
        *derived("bytes_per_param", repr(float(start["bytes_per_param"]))),
    ]


def _fitting(stages: str) -> str:
    """Browser expression, in words: the context that fits at so many stages, if the weights do."""
    fits = inside(eq.context_fits, LONG, stages=stages)
    return f"({fits} > 0 ? {marks.said(f'floor({fits})')} + ' tokens' : 'none')"


def _context_lines() -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    stored, cached = marks.prefixed("n_total * bytes_per_param", "B"), marks.prefixed("kv_bytes_per_token", "B")
    load = f"{stored} + ' of weights, ' + {cached} + ' of KV per token, b = ' + {marks.said('micro_batch')}"
    gb = lambda value: marks.said(value, ",.3r")
    taken, memory = gb(inside(eq.chip_weights, EACH)), gb(f"chip_hbm / {units.factor('GB')!r}")
    here = f"'weights at P = ' + stages + ': ' + {taken} + ' of ' + {memory} + ' GB'"
    more = f"(stages > 1 ? ', ' + {_fitting('stages')} + ' at P = ' + stages : '')"
    return load, here, f"'fits: ' + {_fitting('1')} + ' at P = 1' + {more}"


def context_chart() -> InteractiveChart:
    """The context that fits against stages, with machine, micro-batch, parameters and KV to choose."""
    encoding = {
        "x": marks.axis("stages", "pipeline stages P", 1, 16, [1, 2, 4, 8, 16]),
        "y": marks.log_axis("context", "context that fits (tokens, log scale)", 1e3, 1e6),
    }
    base = sweep("stages", 1, 16, points=16, log=False)
    base["transform"] += [curve(eq.context_fits, "stages", "context", LONG), {"filter": "datum.context > 0"}]
    limit = inside(eq.context_fits, LONG, n_total=0)
    layers = [
        marks.rule(encoding, "memory", y=limit),
        marks.line("context", "kv", encoding, strokeWidth=4),
        marks.rule(encoding, None, x="stages"),
        *marks.name(encoding, "'without any weights'", "memory", "16", limit, "true", dy=-10),
        marks.hover(encoding, "context", {"context": "context that fits (tokens)"}, ",.3r"),
    ]
    rack, box = map(catalogue.system, MACHINES)
    fits = lambda row, stages: significant(
        numbers.case(eq.context_fits, stages=stages, expert_parallel=row.chips, chip_hbm=row.hbm_bytes / row.chips), 3
    )
    return InteractiveChart(
        {**base, "params": _loaded(), "layer": layers, "title": marks.title(*_context_lines())},
        "Context that fits against stages",
        f"The context that fits, 1,000 to 1,000,000 tokens (log scale), against 1 to 16 pipeline stages, for"
        f" {plain(catalogue.model(RUNNING.model).name)} in {RUNNING.precision.upper()}, with a choice of the machine"
        " and sliders for stages, micro-batch, parameters and KV bytes per token. On the rack it grows from"
        f" {fits(rack, 1)} tokens at one stage to {fits(rack, 16)} at 16, on eight H200s from {fits(box, 1)} to"
        f" {fits(box, 16)}.",
        "On the rack the line is nearly flat, because KV fills the memory already. Choose the box of eight H200s, where"
        " weights fill most of the memory: four stages fit twice the context of one.",
        primary=("stages", "machine", "times_micro_batch"),
        result=(2,),
    )


# --- bubbles ----------------------------------------------------------------------------------------------------------


def _shaped() -> list[dict]:
    """Sliders for the pipeline's shape and the passes' times, of which only the ratios matter, and what follows."""
    one = lambda name, label: slider(name, 0.25, 3, 0.25, 1, label)
    return [
        *slider("micro_batches", 0, 8, 1, round(math.log2(BATCHES)), "micro-batches", base=2),
        *slider("stages", 2, 64, 2, STAGES, "stages P"),
        *slider("chunks", 1, 8, 1, 2, "pieces per rack"),
        *one("forward_time", "time of F"),
        *one("input_grad_time", "time of B"),
        *one("weight_grad_time", "time of W"),
        *derived("idle", inside(eq.idle_zero_bubble, "s")),
        *derived(
            "hides", "weight_grad_time <= min(forward_time, input_grad_time)"
        ),  # else W does not fit the holes as the formula has it
    ]


CURVES = {"bubble": eq.bubble, "interleaved": eq.interleaved_bubble, "zero_bubble": eq.bubble_of_idle}
NAMES = {
    "bubble": ("GPipe and 1F1B", "first"),
    "interleaved": ("interleaved", "second"),
    "zero_bubble": ("ZB-H1", "third"),
}
FULL = "micro_batches >= stages"  # with fewer, the two other formulas do not hold
NEEDS = {
    "bubble": (),
    "interleaved": ((FULL, "needs more micro-batches"),),
    "zero_bubble": ((FULL, "needs more micro-batches"), ("hides", "W too long")),
}
TENTH = 0.1


def _line(encoding: dict, name: str) -> list[dict]:
    """The curve of a schedule where its formula holds, a dot at the chosen number of micro-batches, and its name with
    the value there.
    """
    (words, colour), needs, now = NAMES[name], NEEDS[name], f"100 * ({CURVES[name].vega()})"
    holds = " && ".join(condition for condition, _ in needs) or "true"
    along = holds.replace("micro_batches", "1.0001 * datum.micro_batches")  # room for rounding
    said = f"{marks.said(now, '.1f')} + '%'"
    for condition, text in reversed(needs):
        said = f"({condition} ? {said} : '{text}')"
    dot = {"type": "point", "filled": True, "opacity": 1, "size": 90, "color": marks.PAINTS[colour]}
    row = 97 - 7 * list(NAMES).index(name)  # curves only fall: the upper right is always free
    return [
        {**marks.line(name, colour, encoding, strokeWidth=3), "transform": [{"filter": along}]},
        marks.at(encoding, dot, x="micro_batches", y=f"{holds} ? {now} : null"),
        *marks.name(encoding, f"'{words}: ' + {said}", colour, "20", f"{row!r}", dy=0),
    ]


def _enough() -> str:
    """Browser expression, in words: the micro-batches from which on at most a tenth of the time is idle."""
    least = lambda formula: f"ceil({formula.solve('micro_batches').vega(bubble=TENTH)} - 1e-9)"
    rounds = (
        f"stages * max(1, ceil(({eq.interleaved_bubble.solve('micro_batches').vega(bubble=TENTH)}) / stages - 1e-9))"
    )
    zero = f"(hides ? ', ZB-H1 ' + max(stages, {least(eq.bubble_of_idle)}) : '')"
    return f"'≤{100 * TENTH:.0f}% idle from ' + {least(eq.bubble)} + ' micro-batches; interleaved ' + {rounds} + {zero}"


def bubble_chart() -> InteractiveChart:
    """Bubble against micro-batches, with stages, chunks and the times of the passes to choose."""
    across = marks.log_axis("micro_batches", "micro-batches (log scale)", 1, 256)
    share = marks.axis("bubble", "bubble (% of the step)", 0, 100, [0, 25, 50, 75, 100])
    across["axis"]["values"] = [2**n for n in range(9)]
    encoding = {"x": across, "y": share}
    base = sweep("micro_batches", 0, math.log10(256), points=97)
    base["transform"] += [percent(formula, "micro_batches", name) for name, formula in CURVES.items()]
    lines = [layer for name in CURVES for layer in _line(encoding, name)]
    layers = [*lines, marks.hover(encoding, "bubble", {"bubble": "GPipe and 1F1B (%)"}, ".1f", ".3r")]
    shape = "'P = ' + stages + ', ' + micro_batches + ' micro-batches, ' + chunks + ' pieces per rack'"
    times = "', F : B : W = ' + forward_time + ' : ' + input_grad_time + ' : ' + weight_grad_time"
    known = {
        "stages": STAGES,
        "micro_batches": BATCHES,
        "chunks": 2,
        "forward_time": 1,
        "input_grad_time": 1,
        "weight_grad_time": 1,
    }
    known["idle"] = eq.idle_zero_bubble(known)
    at = {name: f"{100 * formula(known):.1f}%" for name, formula in CURVES.items()}
    return InteractiveChart(
        {**base, "params": _shaped(), "layer": layers, "title": marks.title(f"{shape} + {times}", _enough())},
        "Bubble against micro-batches",
        "Idle share of a training step, 0 to 100%, against micro-batches from 1 to 256 (log scale), with sliders for"
        f" micro-batches, stages, chunks and the times of the passes F, B and W. At {STAGES} stages and {BATCHES}"
        f" micro-batches GPipe and 1F1B idle {at['bubble']}, interleaving with two chunks {at['interleaved']}, zero"
        f" bubble {at['zero_bubble']}. All fall with more micro-batches.",
        "Interleaving takes micro-batches in multiples of P."
        " Double stages and micro-batches together: with many stages the bubble hardly moves. Then change the times of"
        " F, B and W: only the line of ZB-H1 moves. The longer W is, up to the length of F and B, the lower it gets.",
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
