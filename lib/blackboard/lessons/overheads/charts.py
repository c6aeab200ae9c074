"""The overheads lesson's interactive charts: a step that waits for its host, and a batch in two halves.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math

from blackboard import units
from blackboard.catalogue import model, system
from blackboard.catalogue.running_case import RUNNING, Case, plain
from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, inside, slider, sweep
from blackboard.formula import Formula
from blackboard.lessons.batching import equations as step
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import implied, kernels
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.sparsity.equations import batch_fits
from blackboard.notation import symbol
from blackboard.units import significant

US = units.factor("us")
ROUND, COARSE = ",.3~r", ",.2~r"
FITS = f"max(0, {inside(batch_fits, 'sequence', hbm='machine.hbm')})"  # sequences, beyond which the charts draw nothing


def _silent(layer: dict) -> dict:
    """A layer that is not always drawn, which screen readers pass over: an empty group would have no name."""
    return {**layer, "mark": {**layer["mark"], "aria": False}}


# --- launching --------------------------------------------------------------------------------------------------------

SERVERS = ("a100-80gb-8", "h100-8", "h200-8", "b200-8", "gb200-nvl72", "mi355x-8")
NETS = ("llama-2-7b", "llama-3.1-8b", "qwen3-32b", "llama-3.1-70b", "llama-3.1-405b", "qwen3-30b-a3b", "deepseek-v3")
LEAST_MS = 0.1  # where the axis of a step starts
NODE = Case("llama-2-7b", "a100-80gb-8", "bf16", 1_000)


def _start() -> dict[str, float]:
    """Where the sliders start: kernels of the compiled step, a layer's and the rest, launched at the pace of
    gpt-fast's eager step, each losing what gpt-fast's graph lost; times in µs.
    """
    plan = implied.GPT_FAST._replace(chips=8)
    one, two = (len(kernels.fused(NODE.model, plan._replace(layers=layers))) for layers in (1, 2))
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
        *slider("layer_kernels", 1, 60, 1, at["each"], "kernels per layer"),
        *slider("launch_us", 0.5, 40, 0.1, at["launch"], "a launch (µs)"),
        *slider("gap_us", 0, 8, 0.1, at["gap"], "a kernel's gap (µs)"),
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
        "hides": (
            f"min({inside(eq.batch_launch, 'sequence')}, kernels * (launch_time - kernel_gap) /"
            f" ({inside(step.compute_time, 's', batch=1)}))"
        ),
        "fits": FITS,
        "ceiling": f"max(100, 1.5 * {inside(eq.eager_time, 'ms', batch='max(1, min(fits, 1e4))')})",  # of the axis
    }
    return [
        {"name": "depths", "value": {id: model(id).layers for id in NETS}},
        *controls.given(NODE, SERVERS, NETS, sliders=sliders, **follows),
    ]


def _launch_title() -> dict:
    """What the settings mean, in lines above the chart."""
    shows = (
        f"'waits for launches ' + (hides < fits ? 'up to batch ' + {marks.said('floor(hides)')} : 'at every batch that"
        " fits')"
    )
    waits = f"fits < 1 ? 'no room for a sequence' : (hides <= 1 ? 'memory traffic hides all launches' : {shows})"
    gain = (
        f"'batch 1: ' + {marks.said('alone', ROUND)} + ' ms, graph ' + {marks.said('captured', ROUND)} + ' ms: ' +"
        f" {marks.said('alone / captured', ROUND)} + '×'"
    )
    return controls.setting(waits, gain)


HIDDEN = "hides > 1 && hides < min(fits, 10000)"  # launches hide at a batch that the chart shows


def _launch_names(encoding: dict) -> list[dict]:
    """The names of the curves at the left: two above where their rising curves are at the name's end, one below. The
    graph's has room of its own only where its curve is far enough below the other. The roofline's stands behind the
    dashed line where that would touch it.
    """

    def named(
        words: str, pixels: int, formula: Formula, color: str, shown: str = "true", dy: int = -12, start: str = "1"
    ) -> dict:
        end = f"min(fits, pow(10, 4 * {pixels} / width))" if pixels else start
        words = f"fits > 3 && {shown} ? {words} : ''"  # else nothing is drawn that could bear a name
        height = inside(formula, "ms", batch=end)
        return marks.text(encoding, words, start, height, align="left", dx=6, dy=dy, color=marks.PAINTS[color])

    def ratio(batch: str) -> str:
        return f"({inside(eq.eager_time, 'ms', batch=batch)}) / ({inside(eq.graph_time, 'ms', batch=batch)})"

    apart = f"log({ratio('min(fits, pow(10, 4 * 45 / width))')}) * height > 18 * log(ceiling / {LEAST_MS!r})"
    both = f"{ratio('1')} > 1.1 ? 'one by one; graph below it' : 'one by one, and graph'"
    behind = f"({HIDDEN} && hides < min(fits, pow(10, 4 * 105 / width)) ? hides : 1)"
    return [
        named("'one by one'", 75, eq.eager_time, "total", apart),
        named(f"({both})", 150, eq.eager_time, "total", f"!({apart})"),
        named("'graph'", 45, eq.graph_time, "first", apart, -10),
        named("'roofline alone'", 0, step.step_time, "predicted", dy=14, start=behind),
    ]


def _launch_rule(encoding: dict) -> dict:
    """The dashed line of the batch from which launches hide, from the axis to the curves: what is above stays clear."""
    rule = marks.rule(
        encoding, "launch", x=f"{HIDDEN} ? hides : null", y=inside(eq.eager_time, "ms", batch="max(1, hides)")
    )
    return _silent({**rule, "encoding": {**rule["encoding"], "y2": {"value": "height"}}})


def _launch_layers(encoding: dict, inside_it: list[dict]) -> list[dict]:
    """Curves with their names, the batch from which launches hide, and where memory is full."""
    return [
        *marks.full(encoding, "fits", "0.15"),
        *(
            {**layer, "transform": inside_it}
            for layer in (
                marks.line("eager", "total", encoding, strokeWidth=5),
                marks.line("graph", "first", encoding, strokeWidth=2.5),
                marks.line("roofline", "predicted", encoding, strokeWidth=2),
            )
        ),
        _launch_rule(encoding),
        marks.text(
            encoding,
            f"{HIDDEN} ? 'launches hidden from ' + {marks.said('ceil(hides)')} : ''",
            "clamp(hides, 1, 10000)",
            "0.3",
            **marks.side("hides > 30"),
            color=marks.PAINTS["launch"],
        ),
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


def _step_axis() -> dict:
    """Milliseconds of a step, up to the longest that is drawn."""
    axis = marks.log_axis("eager", "step (ms)", LEAST_MS, 1e7)
    return {**axis, "scale": {"type": "log", "domain": [LEAST_MS, {"expr": "ceiling"}], "nice": False}}


def launch_chart() -> InteractiveChart:
    """Step time against batch, launched one by one and from a graph, with machine, model, kernels and times to
    choose.
    """
    encoding = {
        "x": marks.log_axis("batch", "batch (sequences)", 1, 1e4),
        "y": _step_axis(),
    }
    base = sweep("batch", 0, 4, points=81)
    inside_it = [{"filter": "datum.batch <= fits"}]
    base["transform"] += [
        curve(formula, "batch", name, "ms")
        for name, formula in (("eager", eq.eager_time), ("graph", eq.graph_time), ("roofline", step.step_time))
    ]
    layers = _launch_layers(encoding, inside_it)
    title = _launch_title()
    return InteractiveChart(
        {**base, "params": _host(), "layer": layers, "title": title},
        "A step that waits for its host",
        _host_says(),
        "The compiled program on eight A100: from a certain batch on, the chips hide its launches. With launches of"
        " 2 µs a graph gains nothing. (At memory's full rate.)",
        primary=("launch_us", "layer_kernels", "model"),
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
    until = f"up to batch {math.floor(hides):,}" if hides < fits else "at every batch that fits"
    return (
        "Step time in milliseconds against batch from 1 to 10,000, both on log scales, launched kernel by kernel, from"
        " a CUDA graph, and by the roofline alone."
        f" For {plain(model(NODE.model).name)} on {plain(system(NODE.system).name)},"
        f" {at['kernels']:,} kernels of {at['launch']} µs take {alone} ms at batch 1, from a graph {captured} ms;"
        f" the step waits for launches {until}. Memory is full at {int(fits):,}, where the lines end."
    )


# --- overlapping ------------------------------------------------------------------------------------------------------

RACKS = ("gb200-nvl72", "gb300-nvl72", "h200-8", "h100-8", "b200-8", "vr200-nvl72")
ROUTED = ("deepseek-v3", "kimi-k2", "qwen3-235b-a22b", "gpt-oss-120b")
_sent = racks.comm_time.typed.xreplace(
    {
        symbol("tokens_per_chip"): symbol("batch") * symbol("new_token") / symbol("chips"),
        symbol("micro_batches"): 1,
        symbol("link_latency"): 0,
        symbol("width"): 1,  # `width` is the name of Vega's own signal: a vector counts as one value of so many bytes
    }
)
HALVES = Formula(
    "overheads.halves_gain",
    "overlap_gain",
    eq.overlap_gain.typed.xreplace({eq.t_comm: _sent}),
    "1",
    "time of a whole batch over that of two halves, one sending while the other computes",
    eq.overlap_gain.assumes,
    register=False,
)


def _routed(name: str) -> dict[str, float]:
    """A model's parameters of routed experts, their layers, and the experts of a token."""
    net = model(name)
    experts = net.moe.layers * net.moe.experts * 3 * net.d_model * net.moe.d_ff  # gate, up and down
    return {"params": experts, "layers": net.moe.layers, "copies": net.moe.active}


def _copied(names: Case, chips: float) -> float:
    """Parameters that all chips load together: the routed experts once, and the rest on every chip."""
    experts = _routed(names.model)["params"]
    return experts + chips * (model(names.model).n_total - experts)


def _rack() -> list[dict]:
    """Menus, sliders for the link, the context and the bytes that travel, and what follows."""
    sliders = [
        *slider("slower", -5, 2, 0.25, 0, "links' rate ×", base=2),
        *slider("context", 2, 5, 0.1, 3, "context (tokens)", base=10),
        *slider("out_bytes", 0.5, 2, 0.5, 1, "bytes per value out"),
        *slider("back_bytes", 0.5, 2, 0.5, 2, "bytes per value back"),
    ]
    follows = {
        "scale_up": "machine.scale_up * slower",
        "dispatch_bytes": "out_bytes * models[model].width",
        "combine_bytes": "back_bytes * models[model].width",
        "n_total": "routed[model].params + chips * (models[model].n_total - routed[model].params)",
        "own_weights": "n_total * bytes_per_param / chips",
        "chip_bandwidth": "bandwidth / chips",
        "copies": "routed[model].copies",
        "layers": "routed[model].layers",
        "routed_layers": "layers",
        "turn": eq.batch_overlap.vega(width=1),
        "fits": f"({FITS}) / chips",
    }
    params = controls.given(
        RUNNING,
        RACKS,
        ROUTED,
        of_system=("bandwidth", "chips", "scale_up"),
        of_model=("n_active", "n_total", "kv_bytes_per_token", "width"),
        sliders=sliders,
        **follows,
    )
    return [
        {"name": "routed", "value": {name: _routed(name) for name in ROUTED}},
        *(row for row in params if row["name"] != "width"),
    ]


def _overlap_title() -> dict:
    """What the settings mean, in lines above the chart."""
    token = "layers * copies * (dispatch_bytes + combine_bytes)"
    sends = (
        f"'a token sends ' + {marks.said(f'{token} / 1e6', ROUND)} + ' MB over links of ' +"
        f" {marks.said('scale_up / 1e9', ROUND)} + ' GB/s'"
    )
    pays = f"'if memory binds, halves pay from ' + {marks.said('turn / chips', COARSE)} + ' a GPU'"
    return controls.setting(sends, pays)


def _overlap_layers(encoding: dict) -> list[dict]:
    """The gain, where it begins, and where memory is full."""
    here, inside_it, shown = (
        "clamp(turn / chips, 1, 10000)",
        [{"filter": "datum.each <= fits"}],
        "turn / chips < min(fits, 10000)",
    )
    return [
        *marks.full(encoding, "fits", "0.35"),
        marks.rule(encoding, None, y="1"),
        _silent(marks.rule(encoding, "network", x=f"{shown} ? {here} : null")),
        {**marks.line("gain", "total", encoding, strokeWidth=4), "transform": inside_it},
        marks.text(
            encoding,
            "'as fast as one batch'",
            f"({here} > 800 ? 1 : 10000)",
            "1",
            **{**marks.side(f"{here} <= 800"), "dy": {"expr": f"{here} > 800 ? -9 : 11"}},
        ),
        marks.text(
            encoding,
            f"{shown} ? 'halves pay from ' + {marks.said('turn / chips', COARSE)} : ''",
            here,
            "0.15",
            **marks.side(f"{here} > 60"),
            color=marks.PAINTS["network"],
        ),
        _silent(
            marks.at(encoding, {**marks.DOT, "color": marks.PAINTS["network"]}, x=f"{shown} ? {here} : null", y="1")
        ),
        {**marks.hover(encoding, "gain", {"gain": "times faster"}, ".3r", ROUND), "transform": inside_it},
    ]


def overlap_chart() -> InteractiveChart:
    """Gain of two halves against tokens a chip, with machine, model, links and context to choose."""
    encoding = {
        "x": marks.log_axis("each", "tokens a GPU", 1, 1e4),
        "y": marks.axis("gain", "times faster in two halves", 0, 2, [0, 0.5, 1, 1.5, 2]),
    }
    base = sweep("each", 0, 4, points=161)
    base["transform"] += [
        {"calculate": "datum.each * chips", "as": "batch"},
        curve(HALVES, "batch", "gain", "1"),
    ]
    layers = _overlap_layers(encoding)
    title = _overlap_title()
    return InteractiveChart(
        {**base, "params": _rack(), "layer": layers, "title": title},
        "A batch in two halves",
        _rack_says(),
        "Left of the dashed line, loading the weights twice costs more than sending did. With slower links, such as"
        " network cards between machines, halves pay sooner, but they gain less where sending alone takes most of"
        " the step. At a long context memory traffic grows with the batch. As on SGLang's machines, every GPU holds a"
        " copy of all but the routed experts, and tokens are sent to those alone. The line ends where memory is full.",
        primary=("slower", "context", "model"),
    )


def _rack_says() -> str:
    known = RUNNING.symbols() | racks.FP8_OUT | _routed(RUNNING.model)
    known |= {"n_total": _copied(RUNNING, known["chips"]), "routed_layers": known["layers"]}
    known["chip_bandwidth"] = known["bandwidth"] / known["chips"]
    known["own_weights"] = known["n_total"] * known["bytes_per_param"] / known["chips"]
    turn, known = (
        eq.batch_overlap(known),
        known | {name: value * known["width"] for name, value in racks.FP8_OUT.items()},
    )
    fits = batch_fits(known) / known["chips"]
    best = max(
        HALVES(known, batch=each * known["chips"]) for each in (10 ** (n / 40) for n in range(161)) if each <= fits
    )
    return (
        "How many times faster a step is as two halves that overlap sending and computing, 0 to 2, against tokens a"
        " GPU from 1 to 10,000 on a log scale, with controls for system, model, precision, rate of the links, context"
        f" and bytes sent. For {RUNNING}, halves are slower up to {significant(turn / known['chips'], 2)} tokens a GPU,"
        f" down to {HALVES(known, batch=known['chips']):.2f}, and then faster, up to {best:.2f} times. Memory is"
        f" full at {fits:,.0f}, where the line ends."
    )
