"""The sparsity lesson's chart: how long a step takes with so many tokens, for a sparse model and a dense one as good.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, slider, sweep
from blackboard.lessons.batching import equations as step
from blackboard.lessons.sparsity import equations as eq
from blackboard.lessons.sparsity.numbers import PROMPTS
from blackboard.lessons.sparsity.results import LOW, PROMPT, TEAM, TEAM_BATCH, race
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
MODELS = ("deepseek-v3", "kimi-k2", "qwen3-235b-a22b", "gpt-oss-120b", "llama-4-maverick")
MOST = 4  # the exponent of the most tokens of a step
EVEN = 1.05  # times as long: less is said to be no difference
TERMS = {"compute": step.compute_time, "touched": eq.touched_time, "kv": step.kv_time}

# --- the time of a step -----------------------------------------------------------------------------------------------


def _at(batch: str) -> tuple[str, str]:
    """Browser expressions of both models' steps, in milliseconds, with so many tokens."""
    compute, touched, kv = (inside(term, "ms", batch=batch) for term in TERMS.values())
    dense = f"max(quality_gain * ({compute}), quality_gain * first + ({kv}))"
    return f"max({compute}, ({touched}) + ({kv}))", dense


def _given() -> list[dict]:
    """The catalogue's menus, sliders for tokens, g and context, and what follows: the dense model's loading for each of
    its g, the longest context with a tie, the tokens of the tie or 0.
    """
    pitch = round(MOST / 134 - 5e-9, 8)  # of 134 stops the 83rd is the team's batch, the last is the largest
    tokens = slider("chosen", 0, MOST, pitch, round(83 * pitch, 8), "tokens B", base=10, digits=0)
    gain = slider("quality_gain", 1, 8, 0.25, LOW, "dense size g")
    context = slider("context", 0, 10_000, 500, 0, "context L")
    of_model = ("n_active", "n_total", "kv_bytes_per_token", "experts", "top_k")
    follows = {
        "first": inside(step.first_floor, "ms"),
        "limit": f"quality_gain * ({inside(step.balanced_context, 'token/sequence')})",
        "tie": f"context < limit ? {inside(eq.break_even, 'sequence')} : 0",
    }
    params = controls.given(TEAM, SYSTEMS, MODELS, of_model=of_model, sliders=[*tokens, *gain, *context], **follows)
    return [
        *params,
        *(row for name, said in zip(("sparse_here", "dense_here"), _at("chosen")) for row in derived(name, said)),
    ]


def _lines() -> dict:
    """Both steps along the tokens."""
    base = sweep("batch", 0, MOST, points=81)
    base["transform"] += [curve(term, "batch", field, "ms") for field, term in TERMS.items()]
    base["transform"] += [
        {"calculate": "max(datum.compute, datum.touched + datum.kv)", "as": "sparse"},
        {"calculate": "max(quality_gain * datum.compute, quality_gain * first + datum.kv)", "as": "dense"},
    ]
    return base


def _step_axis() -> dict:
    """Milliseconds of a step, from one token's to the longest shown."""
    axis = marks.log_axis("sparse", "ms per step", 0.01, 1e4)
    longest = " , ".join(_at(f"{10.0**MOST!r}"))
    return {
        **axis,
        "scale": {"type": "log", "domain": [{"expr": "first / 2"}, {"expr": f"1.6 * max({longest})"}], "nice": False},
    }


def _faster(times: str, who: str, when: str = "") -> str:
    """Who is faster and how many times, unless both are as fast; browser expressions, but for the words before."""
    return f"{times} < {EVEN} ? '{when}equally fast' : {who} + {marks.said(times, '.2~r')} + '× faster'"


def _at_prompts(within: float) -> str:
    """Whether the tokens chosen are as many as the team's prompts have, within a share."""
    return f"!context && abs(chosen / {float(PROMPTS * PROMPT)!r} - 1) < {within}"


def _winner(encoding: dict) -> dict:
    """Which step is shorter at the tokens chosen, and how many times."""
    slower = "max(sparse_here, dense_here) / min(sparse_here, dense_here)"
    won = "(sparse_here > dense_here ? 'dense ' : 'sparse ')"
    return marks.text(
        encoding,
        f"{_at_prompts(0.15)} ? '' : {_faster(slower, won)}",  # said beside the line of the prompts
        "chosen",
        "sqrt(sparse_here * dense_here)",
        **marks.side("chosen > 30"),
        dy={"expr": f"{slower} > {EVEN} ? 0 : chosen > 30 ? -16 : 16"},  # beside two lines in one place, not on them
    )


def _read_off(encoding: dict, prompts: float) -> list[dict]:
    """What stands at the tie, and at the team's prompts."""
    read_sparse, read_dense = _at(repr(prompts))
    when = f"{PROMPTS} prompts: "
    faster = _faster(f"(({read_dense}) / ({read_sparse}))", f"'{when}sparse '", when)
    return [
        marks.text(
            encoding,
            f"tie ? 'tie: ' + {marks.said('tie', ',.2r')} : ''",
            "max(1, tie)",
            _at("max(1, tie)")[1],
            align="right",
            dx=-4,
            dy=-12,
        ),
        marks.text(
            encoding,
            f"context ? '' : {faster}",
            repr(prompts),
            f"1.4 * ({read_dense})",
            align="right",
            dx=-8,
        ),
    ]


def _chosen(encoding: dict) -> dict:
    """The dashed line of the tokens chosen, from the axis to the longer step: what is said higher up stays clear."""
    rule = marks.rule(encoding, "chosen", x="chosen", y="max(sparse_here, dense_here)")
    return {**rule, "encoding": {**rule["encoding"], "y2": {"value": "height"}}}


def _layers() -> list[dict]:
    """The two lines, the tokens chosen with both steps, the tie, and the team's prompts."""
    encoding = {"x": marks.log_axis("batch", "tokens in a step B", 1, 10**MOST), "y": _step_axis()}
    dense, prompts = _at("12")[1], float(PROMPTS * PROMPT)
    dot = {**marks.DOT, "color": marks.PAINTS["chosen"]}
    return [
        _chosen(encoding),
        marks.rule(encoding, "muted", x=f"context || {_at_prompts(0.04)} ? null : {prompts!r}"),
        marks.line("sparse", "weights", encoding, strokeWidth=4),
        marks.line("dense", "second", encoding, strokeWidth=4),
        _winner(encoding),  # before the dots: a mark right before a name counts as its key, and moves with it
        *_read_off(encoding, prompts),
        *(marks.at(encoding, dot, x="chosen", y=y) for y in ("sparse_here", "dense_here")),
        marks.at(
            encoding, {**marks.DOT, "color": marks.INK}, x="tie ? tie : null", y=f"tie ? {_at('max(1, tie)')[1]} : null"
        ),
        *marks.name(encoding, "models[model].name", "weights", "100", inside(step.weight_time, "ms"), "true", dy=-12),
        *marks.name(
            encoding, "'dense, ' + format(quality_gain * n_active / 1e9, '.2~r') + 'B'", "second", "12", dense, dy=14
        ),
        marks.hover(encoding, "sparse", {"sparse": "sparse (ms)", "dense": "dense (ms)"}, ",.3r"),
    ]


def steps_chart() -> InteractiveChart:
    """Time of a step against its tokens for a sparse model and a dense one as good, with tokens, g and context to
    choose.
    """
    found = f"tie ? 'they tie at ' + {marks.said('tie', ',.2r')} + ' tokens' : 'they never tie'"
    here = (
        f"{marks.said('chosen')} + (chosen == 1 ? ' token' : ' tokens') + ': sparse ' +"
        f" {marks.said('sparse_here', ',.3r')} + ' ms, dense ' + "
    )
    here += f"{marks.said('dense_here', ',.3r')} + ' ms'"
    spec = {**_lines(), "params": _given(), "layer": _layers(), "title": controls.setting(found, here)}
    tie, pair = eq.break_even(TEAM, context=0, quality_gain=LOW), race(TEAM_BATCH, 0)
    return InteractiveChart(
        spec,
        "Time of a step against its tokens",
        f"Time of a step against its tokens from 1 to 10,000, both on log scales, for {TEAM._replace(context=0)}"
        f" and for a dense model of g = {LOW:g}, without KV caches. The dense model's line is level up to about 200"
        " tokens and then rises. DeepSeek-V3's rises first, is level from about 100 tokens to"
        f" {significant(step.critical_batch(TEAM), 2)}, and then rises as well. At {TEAM_BATCH} tokens the dense model"
        f" is {significant(pair.ratio, 2)} times faster. The lines cross at {significant(tie, 2)} tokens. At"
        f" {PROMPTS * PROMPT:,}, which are {PROMPTS} prompts, DeepSeek-V3 is {LOW:g} times faster.",
        "The larger the dense model, the narrower the range of tokens in which it is faster.",
        primary=("chosen", "quality_gain", "context"),
    )
