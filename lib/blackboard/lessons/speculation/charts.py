"""The speculation lesson's charts: what rounds gain against the batch, and against the number of drafted tokens.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math

from sympy import Expr, Integer, Max

from blackboard import catalogue
from blackboard.catalogue.running_case import RUNNING
from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, slider, sweep
from blackboard.formula import Formula
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pricing.equations import attention_flop, memory_ratio_of
from blackboard.lessons.sparsity.equations import batch_fits, bytes_touched
from blackboard.lessons.speculation import equations as eq
from blackboard.lessons.speculation import simulation
from blackboard.lessons.speculation.numbers import EXAMPLE, RACK, attention
from blackboard.units import significant

SYSTEMS = ("gb200-nvl72", "b200-64", "gb300-nvl72", "h200-8", "h100-8", "a100-80gb-8", "mi355x-8", "tpu7x-64")
MODELS = (
    "deepseek-v3",
    "kimi-k2",
    "qwen3-235b-a22b",
    "gpt-oss-120b",
    "llama-3.1-70b",
    "llama-3.1-8b",
)  # the last two dense
TOP, FAR = 6, 9  # at the top of the two charts: no setting of the sliders yields more
MOST_USERS = 100_000  # sequences, at the right
OWN = 100  # sequences, the batch of the reader at the start


def _reading(tokens: Expr) -> Expr:
    """Reading over a plain step's multiplying, in a pass of so many tokens of each sequence: only what they touch is
    read, and attention's FLOPs count as active parameters.
    """
    touched = bytes_touched.typed.xreplace({step.batch: step.batch * tokens}) / step.bytes_per_param
    computes = step.n_active + attention_flop * step.context / step.flop_per_param
    return memory_ratio_of.typed.xreplace({step.n_total: touched, step.n_active: computes})


def _by_batch() -> Formula:
    """The speed-up by batch and context, with the experts counted that a pass brings into a small batch."""
    verify = Max(eq.drafted + 1, _reading(eq.drafted + 1)) / Max(1, _reading(Integer(1)))
    expr, description = (
        eq.tokens / (eq.drafted * eq.draft_ratio + verify),
        "tokens of a round over its time in decode steps, both loading what they touch",
    )
    assumes, where = (*eq.alike, *bytes_touched.assumes, eq.scores), (*eq.speedup.conditions, *bytes_touched.conditions)
    return Formula(
        "speculation.speedup_at_batch",
        "spec_speedup",
        expr,
        "1",
        description,
        assumes,
        register=False,
        conditions=where,
    )


SPEEDUP = _by_batch()
ROUTING = {
    id: [catalogue.model(id).symbols().get(name, 1) for name in ("experts", "top_k")] for id in MODELS
}  # a dense model is one expert
ATTENDS = {id: attention(id) for id in MODELS}


def _rounds() -> list[dict]:
    """Sliders for acceptance, drafted tokens and the draft's cost."""
    return [
        *slider("acceptance", 0, 0.9, 0.05, EXAMPLE["acceptance"], "acceptance α"),
        *slider("drafted", 1, 7, 1, EXAMPLE["drafted"], "drafted tokens γ"),
        *slider("draft_ratio", 0, 0.3, 0.01, EXAMPLE["draft_ratio"], "draft's cost c"),
    ]


# --- against the batch ------------------------------------------------------------------------------------------------


def _served() -> list[dict]:
    """The catalogue's menus, sliders for the round and the context, and what follows: thresholds, and 0 for none or -1
    for always slower.
    """
    context = slider("context", 2, 6, 0.1, round(math.log10(RUNNING.context), 1), "context L (tokens)", base=10)
    own = slider("own", 0, round(math.log10(MOST_USERS)), 0.1, round(math.log10(OWN)), "batch (sequences)", 10, 0)
    tokens, room = inside(eq.tokens_per_round, "token/sequence"), "tokens - drafted * draft_ratio"
    even = inside(eq.batch_even, "sequence", n_active="computes")
    follows = {
        "experts": "routing[model][0]",
        "top_k": "routing[model][1]",
        "tokens": tokens,
        "attention_flop": "attends[model]",
        "computes": "n_active + attention_flop * context / 2",
        "balanced": inside(step.balanced_context, "token/sequence", n_active="computes"),
        "gain": inside(eq.speedup_free, "1"),
        "free": f"context < (drafted + 1) * balanced ? {inside(eq.batch_free, 'sequence', n_active='computes')} : 0",
        "ratio_even": f"{room} > 0.001 ? {inside(eq.ratio_even, '1')} : 0",
        "there": inside(SPEEDUP, "1", batch="free"),
        "gained": inside(SPEEDUP, "1", batch="own"),
        "even": f"gain <= 1 ? -1 : context < ratio_even * balanced ? {even} : 0",
        "touched": "free && there < 0.98 * gain",  # not all experts: the guesses bring in more, and are not free
        "fits": f"max(1, {inside(batch_fits, 'sequence', hbm='machine.hbm')})",
    }
    return [
        {"name": "routing", "value": ROUTING},
        {"name": "attends", "value": ATTENDS},
        *controls.given(RUNNING, SYSTEMS, MODELS, sliders=[*own, *_rounds(), *context], **follows),
    ]


def _told() -> list[str]:
    """Lines of the title: the gain at the reader's batch; where verifying is free, and where it does not pay. A dot is
    named where it is drawn.
    """
    both = f"{_drawn('free')} && {_drawn('even')}"
    sized, drawn = (
        lambda value: marks.said(f"({value} < 10 ? floor({value}) : {value})", ",.2~r"),
        lambda value, which: f"({_drawn(value)} ? ({both} ? ' ({which} dot)' : ' (dot)') : '')",
    )
    own = (
        f"own > fits ? 'memory is full at batch ' + {sized('fits')} :"
        f" {marks.said('gained', '.3r')} + '× at batch ' + {marks.said('own', ',')} + ' (diamond)'"
    )
    free = (
        "touched ? 'checking is free at no batch' : !free ? 'checking is free in large batches' :"
        f" 'checking is free up to batch ' + {sized('free')} + {drawn('free', 'left')}"
    )
    even = (
        f"even < 0 ? (gain < 1 ? 'slower at every batch' : 'faster at no batch') : even ? 'slower beyond batch ' +"
        f" {sized('even')} + {drawn('even', 'right')} : 'no batch is too large to gain'"
    )
    return [own, f"({free}) + ', ' + ({even})"]


def _drawn(value: str) -> str:
    """Whether there is a dot at a batch, in the browser: where not all experts are touched, neither threshold holds."""
    return f"!touched && {_within(value)}"


def _within(value: str) -> str:
    """Whether a batch is on the axis and fits in memory, in the browser."""
    return f"{value} >= 1 && {value} <= min(fits, {MOST_USERS})"


def _speedup_layers(encoding: dict) -> list[dict]:
    """The speed-up, where it falls and ends, and where it is slower."""
    slower = {"type": "rect", "aria": False, "color": marks.PAINTS["muted"], "opacity": 0.15, "y2": {"expr": "height"}}
    fitting = [{"filter": "datum.batch <= fits"}]
    return [
        marks.at(encoding, slower, y="1"),
        *marks.full(encoding, "fits", "5.6"),
        {**marks.line("speedup", "total", encoding, strokeWidth=4), "transform": fitting},
        marks.at(
            encoding,
            {**marks.DOT, "color": marks.PAINTS["first"]},
            x=f"{_drawn('free')} ? free : null",
            y=f"{_drawn('free')} ? there : null",
        ),
        marks.at(
            encoding,
            {**marks.DOT, "color": marks.PAINTS["third"]},
            x=f"{_drawn('even')} ? even : null",
            y=f"{_drawn('even')} ? 1 : null",
        ),
        marks.at(
            encoding,
            {**marks.DOT, "shape": "diamond", "size": 140, "color": marks.PAINTS["chosen"]},
            x="own <= fits ? own : null",
            y="own <= fits ? gained : null",
        ),
        marks.text(encoding, "'slower than without'", "1", "0.15", align="left", dx=6),
        {**marks.hover(encoding, "speedup", {"speedup": "speed-up"}, ".3~r", ",.3~r"), "transform": fitting},
    ]


def speedup_chart() -> InteractiveChart:
    """Speed-up against batch, with machine, model, context and the round to choose."""
    batch = marks.log_axis("batch", "batch (sequences)", 1, MOST_USERS)
    encoding = {"x": batch, "y": marks.axis("speedup", "speed-up", 0, TOP, list(range(TOP + 1)))}
    base = sweep("batch", 0, round(math.log10(MOST_USERS)), points=151)
    base["transform"] += [curve(SPEEDUP, "batch", "speedup", "1")]
    layers = _speedup_layers(encoding)
    spec = {
        **base,
        "params": _served(),
        "layer": layers,
        "title": controls.setting(*_told()),
    }
    return InteractiveChart(
        spec,
        "Speed-up against batch",
        _speedup_says(),
        "Up to the left dot the check waits for memory, so guesses are checked for free; beyond it each of them costs"
        " compute. Beyond the right dot they lose. Why the curve starts low in the text's case is the next"
        " section's question.",
        primary=("own", "acceptance", "drafted"),
        result=(1,),
    )


def _speedup_says() -> str:
    known = RACK | EXAMPLE
    known["ratio_even"] = eq.ratio_even(known)
    counted = RUNNING.symbols() | EXAMPLE | {"attention_flop": ATTENDS[RUNNING.model]}
    gains = {batch: SPEEDUP(counted, batch=batch) for batch in range(1, 65)}
    least = min(gains, key=gains.__getitem__)
    return (
        f"Speed-up of speculative decoding against batch from 1 to {MOST_USERS:,} (log scale), from 0 to {TOP}, with"
        " controls for system, model, precision, batch, acceptance, drafted tokens, draft ratio and context. For"
        f" {RUNNING},"
        f" at {RUNNING.tokens}, an acceptance of {EXAMPLE['acceptance']:g}, {EXAMPLE['drafted']} drafted tokens and a"
        f" draft ratio of {EXAMPLE['draft_ratio']:g} it is {gains[1]:.2f} at batch 1 and least, {gains[least]:.2f}, at"
        f" {least}, because drafted tokens bring experts to load; {gains[64]:.2f} at 64, then level at"
        f" {eq.speedup_free(known):.2f} up to a batch of {significant(eq.batch_free(known), 2)}; it crosses 1 at"
        f" {significant(eq.batch_even(known), 2)} and ends at {eq.speedup_busy(known):.2f}. Memory is full at a batch"
        f" of {significant(batch_fits(known), 2)}, beyond the axis; at longer contexts the line ends where it is. A"
        f" diamond marks a batch of {OWN}."
    )


# --- against the drafted tokens ---------------------------------------------------------------------------------------

MOST = 16  # drafted tokens at the right
RATIO = 16  # memory time over compute time at the start, so that the best number is checked for free


def _drafting() -> list[dict]:
    """Sliders for acceptance, the draft's cost and reading over multiplying; the gains of all numbers of drafted
    tokens, and the best.
    """
    rows = [row for row in _rounds() if row["name"] != "drafted"]
    ratio = slider("memory_ratio", 0, 6, 0.25, math.log2(RATIO), "memory ÷ compute r", base=2)
    gains = [inside(eq.speedup, "1", drafted=n) for n in range(MOST + 1)]
    top = ", ".join(f"gains[{n}]" for n in range(MOST + 1))
    best = [
        *derived("gains", f"[{', '.join(gains)}]"),
        *derived("most", f"max({top})"),
        *derived("best", "indexof(gains, most)"),
    ]
    return [*rows, *ratio, *best, *derived("tokens", inside(eq.tokens_per_round, "token/sequence", drafted="best"))]


def _drafted_lines(free: str) -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    verify = f"'verifying is free up to γ = ' + ({free}) + (memory_ratio - 1 > {MOST} ? ' and more' : ' (dashed)')"
    verify = f"memory_ratio < 2 ? 'verifying costs from the first token on' : {verify}"
    found = (
        f"'best γ = ' + best + ': τ = ' + {marks.said('tokens', '.3r')} + ', ' + {marks.said('most', '.3r')} + ' times"
        " as fast'"
    )
    found = f"best == 0 ? 'best not to draft at all' : {found}"
    return verify, found


def drafted_chart() -> InteractiveChart:
    """Speed-up and tokens of a round against drafted tokens, with the best number marked."""
    drafted = marks.axis("drafted", "drafted tokens γ", 0, MOST, list(range(0, MOST + 1, 2)))
    encoding = {"x": drafted, "y": marks.axis("speedup", "speed-up, tokens of a round", 0, FAR, list(range(FAR + 1)))}
    base = sweep("drafted", 0, MOST, points=MOST + 1, log=False)
    base["transform"] += [
        curve(eq.speedup, "drafted", "speedup", "1"),
        curve(eq.tokens_per_round, "drafted", "tokens", "token/sequence"),
    ]
    edge = f"memory_ratio - 1 > {MOST} ? null : max(0, memory_ratio - 1)"
    free = f"min({MOST}, max(0, floor(memory_ratio - 0.999)))"
    height = f"({inside(eq.tokens_per_round, 'token/sequence', drafted=MOST)})"
    layers = [
        marks.rule(encoding, None, y="1"),
        marks.rule(encoding, "muted", x=edge),
        marks.line("speedup", "first", encoding, strokeWidth=5),
        marks.line("tokens", "total", encoding, strokeWidth=1.5),
        marks.at(encoding, {**marks.DOT, "color": marks.PAINTS["second"]}, x="best", y="most"),
        marks.text(encoding, "'tokens τ (thin)'", str(MOST), height, align="right", dy=-12),
        marks.hover(encoding, "speedup", {"speedup": "speed-up", "tokens": "tokens of a round"}, ".3~r", "d"),
    ]
    at = {"acceptance": EXAMPLE["acceptance"], "draft_ratio": EXAMPLE["draft_ratio"]}
    best, bound = (simulation.best_drafted(**at, memory_ratio=ratio, most=MOST) for ratio in (RATIO, 1))
    return InteractiveChart(
        {**base, "params": _drafting(), "layer": layers, "title": marks.title(*_drafted_lines(free))},
        "How many tokens to draft",
        f"Speed-up, and tokens of a round, against drafted tokens from 0 to {MOST}, both from 0 to {FAR}, with controls"
        f" for acceptance, draft ratio and memory time over compute time. At an acceptance of {at['acceptance']:g}, a"
        f" draft ratio of {at['draft_ratio']:g} and {RATIO} times as much memory time as compute time the speed-up"
        f" rises to {best.speedup:.2f} at {best.drafted} drafted tokens and falls beyond, where verifying is no longer"
        " free; tokens of a round go on rising.",
        "r is the memory time of a decode step divided by its compute time: large in small batches and at long"
        f" contexts. At r = 1 the best is to draft {'nothing' if not bound.drafted else bound.drafted}, however good"
        " the draft.",
    )
