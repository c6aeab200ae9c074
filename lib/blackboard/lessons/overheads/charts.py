"""The overheads lesson's interactive chart: a step that waits for its host.

The chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

from blackboard import units
from blackboard.catalogue import model, system
from blackboard.catalogue.running_case import Case, plain
from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, inside, slider, sweep
from blackboard.lessons.batching import equations as step
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import implied, kernels
from blackboard.lessons.sparsity.equations import batch_fits
from blackboard.units import significant

US = units.factor("us")
ROUND = ",.3~r"
FITS = f"max(0, {inside(batch_fits, 'sequence', hbm='machine.hbm')})"  # sequences, beyond which the charts draw nothing


def _silent(layer: dict) -> dict:
    """A layer that is not always drawn, which screen readers pass over: an empty group would have no name."""
    return {**layer, "mark": {**layer["mark"], "aria": False}}


def _full(encoding: dict, at: str, where: str) -> list[dict]:
    """A grey ground where memory has no room, and its name, at a place on the x axis up to 10,000."""
    ground = {"type": "rect", "aria": False, "color": marks.PAINTS["muted"], "opacity": 0.25, "x2": {"expr": "width"}}
    words = f"{at} < 1 ? 'no room in memory' : {at} < 8000 ? 'memory full at ' + {marks.said(f'floor({at})')} : ''"
    return [
        marks.at(encoding, ground, x=f"{at} < 10000 ? max(1, {at}) : null"),
        marks.text(encoding, words, f"clamp({at}, 1, 10000)", where, **marks.side(f"{at} > 100")),
    ]


# --- launching --------------------------------------------------------------------------------------------------------

SERVERS = ("a100-80gb-8", "h100-8", "h200-8", "b200-8", "gb200-nvl72", "mi355x-8")
NETS = ("llama-2-7b", "llama-3.1-8b", "qwen3-32b", "llama-3.1-70b", "llama-3.1-405b", "qwen3-30b-a3b", "deepseek-v3")
NODE = Case("llama-2-7b", "a100-80gb-8", "bf16", 1_000)


def _start() -> dict[str, float]:
    """Where the sliders start: kernels of the compiled step, a layer's and the rest, launched at the pace of gpt-fast's
    eager step, each losing what gpt-fast's graph lost; times in µs.
    """
    one, two = (len(kernels.fused(NODE.model, kernels.Plan(chips=8, layers=layers))) for layers in (1, 2))
    each, layers = two - one, model(NODE.model).layers
    return {
        "each": each,
        "rest": one - each,
        "kernels": one + (layers - 1) * each,
        "launch": round(implied.gpt_fast().each / US, 1),
        "gap": round(implied.left_over()[0].each / US, 1),
    }


def _host() -> list[dict]:
    """Sliders for kernels and times, and what follows."""
    at = _start()
    sliders = [
        *slider("layer_kernels", 1, 60, 1, at["each"], "kernels of a layer"),
        *slider("launch_us", 0.5, 40, 0.1, at["launch"], "launch of a kernel (µs)"),
        *slider("gap_us", 0, 8, 0.1, at["gap"], "lost at a kernel (µs)"),
        *slider("context", 2, 5, 0.1, 3, "context (tokens)", base=10),
    ]
    follows = {
        "layers": "depths[model]",
        "kernels": f"layers * layer_kernels + {at['rest']}",
        "launch_time": f"max(launch_us, gap_us) * {US!r}",
        "kernel_gap": f"gap_us * {US!r}",
        "replay_time": repr(implied.replay()),
        "alone": inside(eq.eager_time, "ms", batch=1),
        "captured": inside(eq.graph_time, "ms", batch=1),
        "floor": inside(step.latency_floor, "ms"),
        "hides": (
            f"min({inside(eq.batch_launch, 'sequence')}, kernels * (launch_time - kernel_gap) /"
            f" ({inside(step.compute_time, 's', batch=1)}))"
        ),
        "fits": FITS,
    }
    return [
        {"name": "depths", "value": {id: model(id).layers for id in NETS}},
        *controls.given(NODE, SERVERS, NETS, sliders=sliders, **follows),
    ]


def _launch_title() -> dict:
    """What the settings mean, in lines above the chart."""
    launches = (
        f"{marks.said('kernels')} + ' kernels: ' + {marks.said('kernels * launch_time * 1000', ROUND)} + ' ms to"
        " launch'"
    )
    shows = (
        f"'launches show ' + (hides < fits ? 'up to batch ' + {marks.said('hides', ROUND)} : 'at every batch that"
        " fits')"
    )
    waits = f"fits < 1 ? 'no room for a sequence' : (hides <= 1 ? 'memory traffic hides all launches' : {shows})"
    gain = (
        f"'batch 1: ' + {marks.said('alone', ROUND)} + ' ms, graph ' + {marks.said('captured', ROUND)} + ' ms: ' +"
        f" {marks.said('alone / captured', ROUND)} + '×'"
    )
    return marks.title(
        controls.MACHINE_LINE,
        f"models[model].name + {controls._FITS} + ', ' + layers + ' layers'",
        launches,
        gain,
        waits,
    )


def _launch_names(encoding: dict) -> list[dict]:
    room = "fits > 3"  # else nothing is drawn that could bear a name
    return [
        marks.text(
            encoding,
            f"{room} ? captured < 0.7 * alone ? 'one by one' : 'one by one, and graph' : ''",
            "1",
            "alone",
            align="left",
            dx=6,
            dy=-12,
        ),
        marks.text(
            encoding,
            f"{room} && captured < 0.7 * alone ? 'graph' : ''",
            "1",
            "captured",
            align="left",
            dx=6,
            dy=-9,
            color=marks.PAINTS["first"],
        ),
        marks.text(
            encoding,
            f"{room} ? 'roofline alone' : ''",
            "1",
            "floor",
            align="left",
            dx=6,
            dy=14,
            color=marks.PAINTS["predicted"],
        ),
    ]


def _launch_layers(encoding: dict, inside_it: list[dict]) -> list[dict]:
    """Curves with their names, the batch from which launches hide, and where memory is full."""
    return [
        *_full(encoding, "fits", "0.15"),
        *(
            {**layer, "transform": inside_it}
            for layer in (
                marks.line("roofline", "predicted", encoding, strokeWidth=2),
                marks.line("graph", "first", encoding, strokeWidth=3),
                marks.line("eager", "total", encoding, strokeWidth=4, strokeDash=[8, 3]),
            )
        ),
        _silent(marks.rule(encoding, "launch", x="hides > 1 && hides < min(fits, 10000) ? hides : null")),
        *_launch_names(encoding),
        {
            **marks.hover(
                encoding,
                "eager",
                {"eager": "one by one (ms)", "graph": "graph (ms)", "roofline": "roofline (ms)"},
                ROUND,
                ROUND,
            ),
            "transform": inside_it,
        },
    ]


def launch_chart() -> InteractiveChart:
    """Step time against batch, launched one by one and from a graph, with machine, model, kernels and times to
    choose.
    """
    encoding = {
        "x": marks.log_axis("batch", "batch (sequences)", 1, 1e4, "~s"),
        "y": marks.log_axis("eager", "step (ms)", 0.1, 1e3, "~g"),
    }
    base = sweep("batch", 0, 4, points=81)
    inside_it = [{"filter": "datum.batch <= fits"}]
    base["transform"] += [
        curve(formula, "batch", name, "ms")
        for name, formula in (("eager", eq.eager_time), ("graph", eq.graph_time), ("roofline", step.step_time))
    ]
    layers = _launch_layers(encoding, inside_it)
    title = _launch_title()
    experts = implied.rack()["kernels"] / model("deepseek-v3").layers
    return InteractiveChart(
        {**base, "params": _host(), "layer": layers, "title": title},
        "A step that waits for its host",
        _host_says(),
        "At the start, the opening's model runs compiled on eight A100, and each launch takes as long as the opening's."
        " Make a launch 2 µs: the chip becomes the slower clock, and a graph gains nothing. Now choose a larger model:"
        " its loading hides longer launches too. What is lost at a kernel stays in a graph. Compiled dense models have"
        f" 12 kernels a layer; DeepSeek-V3, with its experts, has about {experts:.0f}. The lines end where memory is"
        " full.",
        primary=("launch_us", "layer_kernels", "model"),
        result=(3,),
    )


def _hides(known: dict[str, float]) -> float:
    """The batch at which reading or multiplying, whichever comes first, takes as long as launching."""
    spare = known["kernels"] * (known["launch_time"] - known["kernel_gap"])
    return min(eq.batch_launch(known), spare / step.compute_time(known, batch=1))


def _host_says() -> str:
    at, known = _start(), implied.llama(8)
    known |= {"kernels": at["kernels"], "launch_time": at["launch"] * US, "kernel_gap": at["gap"] * US}
    alone, captured = (significant(formula(known, batch=1) * 1e3, 2) for formula in (eq.eager_time, eq.graph_time))
    hides, fits = _hides(known), batch_fits(known)
    until = f"up to batch {hides:,.0f}" if hides < fits else "at every batch that fits"
    return (
        "Step time in milliseconds against batch from 1 to 10,000, both on log scales, launched kernel by kernel, from"
        " a CUDA graph, and by the roofline alone, with controls for system, model, precision, kernels of a layer,"
        f" launch time, gap and context. For {plain(model(NODE.model).name)} on {plain(system(NODE.system).name)},"
        f" {at['kernels']:,} kernels of {at['launch']} µs take {alone} ms at batch 1, from a graph {captured} ms;"
        f" launches show {until}. Memory is full at {int(fits):,}, where the lines end."
    )
