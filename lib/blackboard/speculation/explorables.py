"""The speculation lesson's explorables: what rounds gain against the batch, and against the number of drafted tokens.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math

from blackboard import marks, menus
from blackboard.batching import equations as step
from blackboard.case import RUNNING
from blackboard.explorable import Explorable, curve, derived, inside, slider, sweep
from blackboard.formula import Formula, take
from blackboard.pricing.equations import memory_ratio_of
from blackboard.speculation import equations as eq, simulation
from blackboard.speculation.figures import EXAMPLE
from blackboard.style import COLOURS

SYSTEMS = ("gb200-nvl72", "b200-64", "gb300-nvl72", "h200-8", "h100-8", "a100-80gb-8", "mi355x-8", "tpu7x-64")
MODELS = ("deepseek-v3", "kimi-k2", "qwen3-235b-a22b", "gpt-oss-120b", "llama-3.1-70b", "llama-3.1-8b")  # the last two dense
TOP, FAR = 6, 9  # at the top of the two charts: no setting of the sliders yields more
DOT = {"type": "point", "filled": True, "opacity": 1, "size": 110}


def _at_batch(formula: Formula, name: str) -> Formula:
    """A speed-up by reading over multiplying, as one by batch and context."""
    expr = formula.typed.xreplace({eq.memory_ratio: memory_ratio_of.typed})
    return Formula(f"speculation.{name}", "spec_speedup", expr, "1", formula.says, formula.assumes, register=False, where=formula._where)


SPEEDUP, ADDED = _at_batch(eq.speedup, "speedup_at_batch"), _at_batch(eq.speedup_added, "speedup_added_at_batch")


def _rounds() -> list[dict]:
    """Sliders for acceptance, drafted tokens and the draft's cost."""
    return [
        *slider("acceptance", 0, 0.9, 0.05, EXAMPLE["acceptance"], "acceptance α"),
        *slider("drafted", 1, 7, 1, EXAMPLE["drafted"], "drafted tokens γ"),
        *slider("draft_ratio", 0, 0.3, 0.01, EXAMPLE["draft_ratio"], "draft ÷ decode step c"),
    ]


# --- against the batch -----------------------------------------------------------------------------------------------------


def _served() -> list[dict]:
    """The catalogue's menus, sliders for the round and the context, and what follows: thresholds, and 0 for none or -1 for always slower."""
    context = slider("context", 2, 6, 0.1, round(math.log10(RUNNING.context), 1), "context L (tokens)", base=10)
    tokens, room = inside(eq.tokens_per_round, "token/sequence"), "tokens - drafted * draft_ratio"
    follows = {
        "tokens": tokens, "balanced": inside(step.balanced_context, "token/sequence"),
        "hidden": inside(eq.context_free, "token/sequence"), "gain": inside(eq.speedup_free, "1"),
        "free": f"context < hidden ? {inside(eq.batch_free, 'sequence')} : 0",
        "ratio_even": f"{room} > 0.001 ? {inside(eq.ratio_even, '1')} : 0",
        "even": f"gain <= 1 ? -1 : context < ratio_even * balanced ? {inside(eq.batch_even, 'sequence')} : 0",
    }  # fmt: skip
    return menus.given(RUNNING, SYSTEMS, MODELS, sliders=[*_rounds(), *context], **follows)


def speedup_explorer() -> Explorable:
    """Speed-up against batch, with machine, model, context and the round to choose."""
    batch = marks.log_axis("batch", "batch (sequences)", 1, 1e5, "~s")
    encoding = {"x": batch, "y": marks.axis("speedup", "speed-up", 0, TOP, list(range(TOP + 1)))}
    base = sweep("batch", 0, 5, points=151)
    base["transform"] += [curve(SPEEDUP, "batch", "speedup", "1"), curve(ADDED, "batch", "added", "1")]
    slower = {"type": "rect", "color": COLOURS["muted"], "opacity": 0.15, "y2": {"expr": "height"}}
    within = lambda value: f"{value} >= 1 && {value} <= 100000"
    layers = [
        marks.at(encoding, slower, y="1"), marks.line("added", "third", encoding, strokeDash=[6, 3]),
        marks.line("speedup", marks.INK, encoding, strokeWidth=4),
        marks.at(encoding, {**DOT, "color": COLOURS["accent"]}, x=f"{within('free')} ? free : null", y=f"{within('free')} ? gain : null"),
        marks.at(encoding, {**DOT, "color": COLOURS["kv"]}, x=f"{within('even')} ? even : null", y=f"{within('even')} ? 1 : null"),
        marks.text(encoding, "'slower than without'", "1", "0.15", align="left", dx=6),
        marks.hover(encoding, "speedup", {"speedup": "speed-up", "added": "if times add"}, ".3~r", ",.3~r"),
    ]  # fmt: skip
    pass_ = f"'α = ' + {marks.said('acceptance', '.2f')} + ', γ = ' + drafted + ', c = ' + {marks.said('draft_ratio', '.2f')} + "
    pass_ += f"': τ = ' + {marks.said('tokens', '.3r')} + ', gains ' + {marks.said('gain', '.3r')} + '× if free'"
    sized = lambda value: marks.said(value, ",.3~r")
    free = f"'green: ' + (free ? 'free up to a batch of ' + {sized('free')} : 'free at any batch') + ' at L = ' + {marks.said('context')}"
    even = f"'orange: ' + (even < 0 ? 'never pays' : even ? 'slower beyond a batch of ' + {sized('even')} : 'never slower')"
    dashed = "'dashed: if reading and multiplying add up'"
    spec = {**base, "params": _served(), "layer": layers, "title": marks.title(menus.MACHINE_LINE, menus.MODEL_LINE, pass_, free, even, dashed)}
    return Explorable(spec, "Speed-up against batch", _speedup_says(), (
        "Level where verifying waits for memory anyway (up to the green dot), then falling to where every drafted token is paid for. Lengthen the context: "
        "the green dot moves right, and from the context on at which reading the cache hides all multiplying it is gone. A larger acceptance lifts the "
        "level, more drafted tokens bring the fall nearer. Dashed is a machine that does not read while it multiplies: it has no free batch at all. Small "
        "batches of a mixture of experts read fewer weights than is assumed here."
    ))  # fmt: skip


def _speedup_says() -> str:
    known = RUNNING.symbols | EXAMPLE
    known["ratio_even"] = take(eq.ratio_even, known)
    return (
        f"Speed-up of speculative decoding against batch from 1 to 100,000 (log scale), from 0 to {TOP}, with controls for system, model, precision, acceptance, "
        f"drafted tokens, draft ratio and context. For {RUNNING}, at {RUNNING.tokens}, an acceptance of {EXAMPLE['acceptance']:g}, {EXAMPLE['drafted']} "
        f"drafted tokens and a draft ratio of {EXAMPLE['draft_ratio']:g} it is level at {take(eq.speedup_free, known):.2f} up to a batch of "
        f"{take(eq.batch_free, known):,.0f}, crosses 1 at {take(eq.batch_even, known):,.0f} and ends at {take(eq.speedup_busy, known):.2f}. A dashed curve, "
        "for a machine that does not read while it multiplies, falls from the first sequence on."
    )


# --- against the drafted tokens --------------------------------------------------------------------------------------------

MOST, RATIO = 16, 8  # drafted tokens at the right; reading over multiplying at the start, so that verifying is free up to seven


def _drafting() -> list[dict]:
    """Sliders for acceptance, the draft's cost and reading over multiplying; the gains of all numbers of drafted tokens, and the best."""
    rows = [row for row in _rounds() if row["name"] != "drafted"]
    ratio = slider("memory_ratio", 0, 6, 0.25, math.log2(RATIO), "read ÷ multiply r", base=2)
    gains = [inside(eq.speedup, "1", drafted=n) for n in range(MOST + 1)]
    top = ", ".join(f"gains[{n}]" for n in range(MOST + 1))
    best = [*derived("gains", f"[{', '.join(gains)}]"), *derived("most", f"max({top})"), *derived("best", "indexof(gains, most)")]
    return [*rows, *ratio, *best, *derived("tokens", inside(eq.tokens_per_round, "token/sequence", drafted="best"))]


def drafted_explorer() -> Explorable:
    """Speed-up and tokens of a round against drafted tokens, with the best number marked."""
    drafted = marks.axis("drafted", "drafted tokens γ", 0, MOST, list(range(0, MOST + 1, 2)))
    encoding = {"x": drafted, "y": marks.axis("speedup", "speed-up, tokens of a round", 0, FAR, list(range(FAR + 1)))}
    base = sweep("drafted", 0, MOST, points=MOST + 1, log=False)
    base["transform"] += [curve(eq.speedup, "drafted", "speedup", "1"), curve(eq.tokens_per_round, "drafted", "tokens", "token/sequence")]
    edge, free = f"memory_ratio - 1 > {MOST} ? null : max(0, memory_ratio - 1)", f"min({MOST}, max(0, floor(memory_ratio - 0.999)))"
    named = 3
    height = f"({inside(eq.tokens_per_round, 'token/sequence', drafted=named)})"
    layers = [
        marks.rule(encoding, None, y="1"), marks.rule(encoding, "muted", x=edge), marks.line("tokens", "muted", encoding),
        marks.line("speedup", "compute", encoding, strokeWidth=4), marks.at(encoding, {**DOT, "color": COLOURS["kv"], "clip": False}, x="best", y="most"),
        marks.text(encoding, "'tokens τ'", str(named), height, align="right", dx=-4, dy=-10, color=COLOURS["muted"]),
        marks.text(encoding, f"best ? {marks.said('most', '.2f')} + '×' : ''", "best", "most", **marks.side("best > 13"), dy=-12, color=COLOURS["kv"]),
        marks.hover(encoding, "speedup", {"speedup": "speed-up", "tokens": "tokens of a round"}, ".3~r", "d"),
    ]  # fmt: skip
    asked = f"'α = ' + {marks.said('acceptance', '.2f')} + ', c = ' + {marks.said('draft_ratio', '.2f')} + ', r = ' + {marks.said('memory_ratio', '.3~r')}"
    verify = f"'verifying is free up to γ = ' + ({free}) + (memory_ratio - 1 > {MOST} ? ' and more' : ' (dashed)')"
    verify = f"memory_ratio < 2 ? 'verifying costs from the first token on' : {verify}"
    found = f"'best γ = ' + best + ': τ = ' + {marks.said('tokens', '.3r')} + ', ' + {marks.said('most', '.3r')} + ' times as fast'"
    found = f"best == 0 ? 'best not to draft at all' : {found}"
    at = {"acceptance": EXAMPLE["acceptance"], "draft_ratio": EXAMPLE["draft_ratio"]}
    best, bound = simulation.best_drafted(**at, memory_ratio=RATIO, most=MOST), simulation.best_drafted(**at, memory_ratio=1, most=MOST)
    return Explorable(
        {**base, "params": _drafting(), "layer": layers, "title": marks.title(asked, verify, found)}, "How many tokens to draft",
        f"Speed-up, and tokens of a round, against drafted tokens from 0 to {MOST}, both from 0 to {FAR}, with controls for acceptance, draft ratio and "
        f"reading over multiplying. At an acceptance of {at['acceptance']:g}, a draft ratio of {at['draft_ratio']:g} and reading {RATIO} times as long as "
        f"multiplying the speed-up rises to {best.speedup:.2f} at {best.drafted} drafted tokens and falls beyond, where verifying is no longer free; "
        "tokens of a round go on rising.",
        f"r is the time to read over the time to multiply in a decode step: large in small batches and long contexts. At r = 1 the best is to draft "
        f"{'nothing' if not bound.drafted else bound.drafted}, however good the draft. With a draft that costs nothing the best is to draft as many as "
        "are verified for free, or a few more.",
    )  # fmt: skip
