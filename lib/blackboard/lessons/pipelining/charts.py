"""The pipelining lesson's charts: whose memory stages save, how long a pipeline idles, and a player of schedules.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import base64
import html
import math

from blackboard import catalogue, units
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.charts import marks, style
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, menu, percent, slider, sweep
from blackboard.lessons.pipelining import equations as eq
from blackboard.lessons.pipelining import figures, numbers, simulation
from blackboard.units import pretty, significant

STAGES, BATCHES = 4, 8  # where the interactive charts start
EACH = "GB/chip"


# --- memory -----------------------------------------------------------------------------------------------------------


def _start() -> dict[str, float]:
    """The page's case, in its pipeline."""
    return numbers.CASE | {"stages": STAGES}


def _loaded() -> list[dict]:
    """Sliders for the symbols of a stage's memory: multiples of the running case, or their own values."""
    start, (rack, box) = _start(), map(catalogue.system, figures.MACHINES)
    room = lambda system: system.hbm_bytes / system.chips / units.factor("GB")
    named = {system.id: figures.domain_name(system) for system in (rack, box)}
    moved = lambda name, low, high, label: slider(f"times_{name}", low, high, 0.25, 0, f"{label} ×", base=2)
    times = lambda name, *more: [*moved(name, *more), *derived(name, f"times_{name} * {start[name]!r}")]
    return [
        *slider("stages", 1, 16, 1, STAGES, "stages P"),
        *slider("kilotokens", 1, 400, 1, start["context"] // 1000, "context L (thousand tokens)"),
        *derived("context", "1000 * kilotokens"),
        *times("micro_batch", -4, 3, f"micro-batch b: {start['micro_batch']:,} sequences"),
        *times("n_total", -3, 4, f"stored parameters: {start['n_total'] / 1e9:.0f} billion"),
        *times("kv_bytes_per_token", -6, 3, f"KV cache: {pretty(start['kv_bytes_per_token'], 'byte')} per token"),
        *menu("machine", named, RUNNING.system, "a stage is one"),
        *derived("expert_parallel", f"machine == '{RUNNING.system}' ? {rack.chips} : {box.chips}"),
        *derived("hbm_gb", f"machine == '{RUNNING.system}' ? {room(rack)!r} : {room(box)!r}"),
        *derived("bytes_per_param", repr(float(start["bytes_per_param"]))),
        *derived("chip_hbm", f"hbm_gb * {units.factor('GB')!r}"),
    ]


def _fitting(stages: str) -> str:
    """Browser expression, in words: the context that fits at so many stages, if the weights do."""
    fits = inside(eq.context_fits, "token/sequence", stages=stages)
    return f"({fits} > 0 ? {marks.said(f'floor({fits})')} + ' tokens' : 'none')"


def _memory_lines() -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    taken = inside(eq.stage_memory, EACH)
    left = f"(hbm_gb - ({taken}))"
    sequences = f"'b = ' + {marks.said('micro_batch')} + ', L = ' + {marks.said('context')} + ' tokens'"
    stored, cached = marks.prefixed("n_total * bytes_per_param", "B"), marks.prefixed("kv_bytes_per_token", "B")
    load = f"{stored} + ' of weights, ' + {cached} + ' of KV per token'"
    gb = lambda value: marks.said(value, ",.3r")
    room = f"({left} < 0 ? ', too much for ' + hbm_gb + ' GB' : ', ' + {gb(left)} + ' GB left')"
    here = f"'at P = ' + stages + ': ' + {gb(taken)} + ' GB taken' + {room}"
    more = f"(stages > 1 ? ', ' + {_fitting('stages')} + ' at P = ' + stages : '')"
    longest = f"'fits: ' + {_fitting('1')} + ' at P = 1' + {more}"
    return sequences, load, here, longest


def _memory_layers(encoding: dict) -> list[dict]:
    """Weights, KV and their sum, with their names, and what the GPU has."""
    level = lambda formula, **at: inside(formula, EACH, **at)
    near = f"({level(eq.stage_memory, stages=5)}) / hbm_gb"
    tight = f"{near} > 0.9 && {near} < 2"  # a line runs where the name would stand
    return [
        marks.line("memory", "total", encoding, strokeWidth=5),
        marks.line("KV", "kv", encoding),
        marks.line("weights", "weights", encoding),
        marks.rule(encoding, "memory", y="hbm_gb"),
        marks.rule(encoding, None, x="stages"),
        *marks.name(encoding, "'memory of the GPU'", "memory", "4.5", "hbm_gb", dy={"expr": f"{tight} ? 12 : -9"}),
        *marks.name(encoding, "'weights and KV'", "total", "16", level(eq.stage_memory, stages=16), "true", dy=-15),
        *marks.name(encoding, "'weights'", "weights", "16", level(eq.chip_weights, stages=16), "true", dy=13),
        *marks.name(encoding, "'KV'", "kv", "9", level(eq.chip_kv), dy=12),
        marks.hover(
            encoding, "memory", {"memory": "weights and KV (GB)", "weights": "weights (GB)", "KV": "KV (GB)"}, ",.3r"
        ),
    ]


def memory_chart() -> InteractiveChart:
    """Memory of a GPU against stages, with machine, context, micro-batch, parameters and KV to choose."""
    encoding = {
        "x": marks.axis("stages", "pipeline stages P", 1, 16, [1, 2, 4, 8, 16]),
        "y": marks.log_axis("memory", "GB per GPU", 0.1, 1e4),
    }
    base = sweep("stages", 1, 16, points=16, log=False)
    shown = {"memory": eq.stage_memory, "weights": eq.chip_weights, "KV": eq.chip_kv}
    base["transform"] += [curve(formula, "stages", name, EACH) for name, formula in shown.items()]
    layers = _memory_layers(encoding)
    start, machine, model = (
        _start(),
        plain(catalogue.system(RUNNING.system).name),
        plain(catalogue.model(RUNNING.model).name),
    )
    at = lambda formula, stages: significant(formula(start, stages=stages) / units.factor("GB"))
    return InteractiveChart(
        {**base, "params": _loaded(), "layer": layers, "title": marks.title(*_memory_lines())},
        "Memory of a GPU against stages",
        f"Memory of a GPU in GB, 0.1 to 10,000 (log scale), against 1 to 16 pipeline stages, for {model} in"
        f" {RUNNING.precision.upper()} with {start['context']:,} tokens of context on stages of a {machine} each, with"
        " sliders for stages, context, micro-batch, parameters and KV bytes per token, and a choice of the machine."
        f" Weights fall from {at(eq.chip_weights, 1)} GB at one stage to {at(eq.chip_weights, 16)} GB at 16; KV"
        f" stays at {at(eq.chip_kv, 1)} GB.",
        "Stages take weights off a GPU, and no KV. On the rack, where KV fills the memory, they buy next to nothing."
        " Choose the box of eight H200s, where weights fill most of it: four stages fit twice the context of one.",
        primary=("stages", "machine", "kilotokens"),
        result=(3,),
    )


# --- bubbles ----------------------------------------------------------------------------------------------------------


def _shaped() -> list[dict]:
    """Sliders for the pipeline's shape and the passes' times, of which only the ratios matter, and what follows."""
    one = lambda name, label: slider(name, 0.25, 3, 0.25, 1, label)
    return [
        *slider("micro_batches", 0, 8, 1, round(math.log2(BATCHES)), "micro-batches", base=2),
        *slider("stages", 2, 64, 2, STAGES, "stages P"),
        *slider("chunks", 1, 8, 1, 2, "pieces per GPU"),
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


def _enough() -> tuple[str, str]:
    """Two browser expressions, in words: the micro-batches from which on at most a tenth of the time is idle."""
    least = lambda formula: f"ceil({formula.solve('micro_batches').vega(bubble=TENTH)} - 1e-9)"
    rounds = (
        f"stages * max(1, ceil(({eq.interleaved_bubble.solve('micro_batches').vega(bubble=TENTH)}) / stages - 1e-9))"
    )
    zero = f"(hides ? ', ' + max(stages, {least(eq.bubble_of_idle)}) + ' (zero bubble)' : '')"
    return (
        f"'at most {100 * TENTH:.0f}% idle from ' + {least(eq.bubble)} + ' micro-batches (1F1B),'",
        f"{rounds} + ' (interleaved)' + {zero}",
    )


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
    shape = "'P = ' + stages + ', ' + micro_batches + ' micro-batches, ' + chunks + ' pieces per GPU'"
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
        {**base, "params": _shaped(), "layer": layers, "title": marks.title(f"{shape} + {times}", *_enough())},
        "Bubble against micro-batches",
        "Idle share of a training step, 0 to 100%, against micro-batches from 1 to 256 (log scale), with sliders for"
        f" micro-batches, stages, chunks and the times of the passes F, B and W. At {STAGES} stages and {BATCHES}"
        f" micro-batches GPipe and 1F1B idle {at['bubble']}, interleaving with two chunks {at['interleaved']}, zero"
        f" bubble {at['zero_bubble']}. All fall with more micro-batches.",
        "Double stages and micro-batches together: with many stages the bubble hardly moves. Only the zero-bubble line"
        " feels the times: the longer W is, up to the length of F and B, the more holes it fills.",
        result=(1, 2),
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
