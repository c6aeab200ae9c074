"""The paging lesson's charts: the batch that one memory holds, and what input costs when prefixes are found again.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math

from blackboard import units
from blackboard.catalogue import model, price, system
from blackboard.catalogue.running_case import Case, plain
from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, derived, inside, menu, slider, sweep
from blackboard.formula import Formula
from blackboard.lessons.batching import equations as step
from blackboard.lessons.paging import equations as eq
from blackboard.lessons.paging.simulation import agent
from blackboard.units import significant

CASE = Case("llama-3.1-70b", "h100-8", "bf16", 2_000)  # where reserving hurts: a cache of many bytes in memory of few
SYSTEMS = ("h100-8", "a100-80gb-8", "h200-8", "b200-8", "gb200-nvl72", "mi355x-8")
MODELS = ("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "qwen3-235b-a22b", "gpt-oss-120b", "deepseek-v3")
LOW, HIGH, FIRST, LAST = 1, 1e6, 100, 1e6  # sequences on the chart's axis, tokens on the other


# --- the batch that fits ----------------------------------------------------------------------------------------------

RESERVED = Formula(
    "paging.batch_reserved",
    "batch_held",
    eq.batch_held.typed.subs(eq.kv_use, eq.use_reserved.typed),
    "sequence",
    "the batch with room set aside for a longest sequence",
    eq.batch_held.assumes,
    conditions=eq.batch_held.conditions,
    register=False,
)
PAGED = Formula(
    "paging.batch_paged",
    "batch_held",
    eq.batch_held.typed.subs(eq.kv_use, eq.use_paged.typed),
    "sequence",
    "the batch with a cache in blocks",
    eq.batch_held.assumes,
    conditions=(*eq.batch_held.conditions, *eq.use_paged.conditions),
    register=False,
)


def _tens(name: str, value: float, low: float, high: float, label: str) -> list[dict]:
    """A slider of tenths of a decade between two powers of ten, which starts near a value."""
    start = round(math.log10(value), 1)
    return slider(name, low, high, 0.1, start, label, base=10)


def _room() -> list[dict]:
    """Machine, model and precision, the lengths, and the two batches with what a token costs in them."""
    sliders = [
        *_tens("context", CASE.context, 2, 5.5, "mean tokens of a sequence"),
        *slider("reserved_context", 9, 20, 1, 14, "tokens set aside", base=2),
        *slider(
            "page_tokens", 0, 6, 1, 4, "tokens of a block", base=2
        ),  # shorter than any sequence of the chart, as the formula asks
    ]
    at = lambda formula: f"max(0.001, {inside(formula, 'sequence')})"
    dollars = lambda batch: f"({inside(step.cost_per_token, 'USD/megatoken', rent=1.0, batch=batch)})"
    follows = {
        "whole": at(RESERVED),
        "paged": at(PAGED),
        "fits": "n_total * bytes_per_param < machine.hbm",
        "few": "max(1, floor(whole))",
        "many": "max(1, floor(paged))",  # sequences are served whole
        "longer": "context > reserved_context",
        "both": "fits && !longer && whole >= 1",
        "gain": f"{dollars('few')} / {dollars('many')}",
        "free": inside(step.critical_batch, "sequence"),
    }
    return controls.given(CASE, SYSTEMS, MODELS, ("bandwidth", "chips", "hbm"), sliders=sliders, **follows)


def _room_names(encoding: dict, early: str, level: str) -> list[dict]:
    """The names of both ways of allocating, where their lines have room for them."""
    return [
        marks.text(
            encoding,
            f"fits && {early} < {HIGH} ? 'blocks' : ''",
            "300",
            early,
            align="left",
            dx=6,
            dy={"expr": f"{early} < {level} ? 16 : -8"},
            color=marks.PAINTS["first"],
        ),
        marks.text(
            encoding,
            "fits && whole >= 1 ? 'set aside' : ''",
            str(FIRST),
            level,
            align="left",
            dx=4,
            dy={"expr": f"{level} < 3 || {early} < {level} ? -8 : 10"},
            color=marks.PAINTS["second"],
        ),
    ]


def _room_layers(encoding: dict) -> list[dict]:
    """Both ways of allocating with their names, and the critical batch."""
    seen, shown = {"opacity": {"expr": "fits ? 1 : 0"}}, {"opacity": {"expr": "both ? 1 : 0"}}
    early = f"max({LOW}, {inside(PAGED, 'sequence', context='300')})"
    level = f"max({LOW}, {inside(RESERVED, 'sequence')})"
    inside_it = [{"filter": "datum.context <= reserved_context"}]  # a longer sequence has no room in what is set aside
    return [
        marks.line("blocks", "first", encoding, strokeWidth=4, **seen),
        marks.line("set_aside", "second", encoding, **seen) | {"transform": inside_it},
        marks.rule(encoding, "compute", y="free"),
        marks.rule(encoding, None, x="context"),
        marks.at(encoding, {**marks.DOT, **seen, "color": marks.PAINTS["first"]}, x="context", y="paged"),
        marks.at(encoding, {**marks.DOT, **shown, "color": marks.PAINTS["second"]}, x="context", y="whole"),
        *_room_names(encoding, early, level),
        marks.text(
            encoding,
            "'critical batch, KV left out'",
            str(LAST),
            "free",
            align="right",
            dx=-4,
            dy=-8,
            color=marks.PAINTS["compute"],
        ),
        marks.text(
            encoding, "fits ? '' : 'The weights do not fit.'", "3e4", "30", align="center", color=marks.PAINTS["bound"]
        ),
        marks.hover(encoding, "blocks", {"blocks": "in blocks", "told": "set aside"}, ",.3~r"),
    ]


def room_chart() -> InteractiveChart:
    """Sequences that one memory holds against their mean length, set aside or in blocks, for a machine and a model."""
    encoding = {
        "x": marks.log_axis("context", "mean tokens of a sequence", FIRST, LAST, "~s"),
        "y": marks.log_axis("blocks", "sequences in memory", LOW, HIGH, "~s"),
    }
    base = sweep("context", 2, 6, points=81)
    base["transform"] += [
        curve(formula, "context", field, "sequence") for field, formula in (("blocks", PAGED), ("set_aside", RESERVED))
    ]
    ended = "datum.context > reserved_context ? NaN : datum.set_aside"  # the readout says nothing where the line ends
    base["transform"].append({"calculate": ended, "as": "told"})
    layers = _room_layers(encoding)
    lengths = (
        f"{marks.said('context')} + ' tokens, ' + {marks.said('reserved_context')} + ' set aside, blocks of ' +"
        f" {marks.said('page_tokens')}"
    )
    spec = {**base, "params": _room(), "layer": layers, "title": controls.setting(lengths, *_room_lines())}
    return InteractiveChart(
        spec,
        "The batch that fits",
        _room_says(),
        "Decoding at the two batches, with a kernel as fast for blocks. Paging is worth most where few sequences fit:"
        " set aside more, or take a model with a larger cache. Above the dashed line, compute would"
        " take longer than loading the weights.",
        primary=("context", "reserved_context", "model"),
        result=(3,),
    )


def _room_lines() -> tuple[str, str]:
    """What the title says of the batches and of the cost, or why there is none."""
    blocks = f"(paged < 1 ? 'none' : {marks.said('many')}) + ' in blocks'"
    both = f"{marks.said('few')} + ' set aside, ' + {blocks} + ': ' + format(many / few, ',.3~r') + ' × as many'"
    alone = f"(longer ? 'longer than what is set aside; ' : 'not one fits set aside; ') + {blocks}"
    worth = (
        "abs(gain - 1) < 0.005 ? 'a token costs the same' : 'a token costs ' + format(max(gain, 1 / gain), ',.3~r') +"
        " (gain < 1 ? ' times more' : ' times less')"
    )
    return f"!fits ? 'the weights do not fit' : both ? {both} : {alone}", f"both ? ({worth}) : ''"


LENGTHS = {"context": 10**3.3, "reserved_context": 2.0**14, "page_tokens": 2.0**4}  # where the sliders start


def _told(case: Case, **lengths: float) -> tuple[dict[str, float], tuple[int, int], float]:
    """A case's symbols, the whole sequences that fit set aside and in blocks, and by what factor a token gets
    cheaper.
    """
    known = case.symbols() | lengths
    held = int(RESERVED(known)), int(PAGED(known))
    few, many = (step.cost_per_token(known | {"rent": 1.0}, batch=float(batch)) for batch in held)
    return known, held, few / many


def _room_says() -> str:
    known, held, gain = _told(CASE, **LENGTHS)
    return (
        "Sequences that memory holds against their mean length from 100 to a million tokens, both on log scales, with"
        " controls for system, model and precision, mean length, tokens set aside for each sequence, and tokens of a"
        " block. In blocks the batch falls as the length grows; with a fixed number set aside it is level, and ends"
        " where lengths exceed it. A dashed line marks the critical batch, KV left out. For"
        f" {plain(model(CASE.model).name)} on {plain(system(CASE.system).name)}, at {known['context']:,.0f} tokens and"
        f" {known['reserved_context']:,.0f} set aside, {held[0]:,} sequences fit, in blocks of"
        f" {known['page_tokens']:.0f} {held[1]:,}: a token costs {gain:.1f} times less."
    )


# --- what input costs -------------------------------------------------------------------------------------------------

CARD = price("claude-opus-4.6@2026-03-13")  # of the lecture's day
PAID = CARD.usd_per_Mtok
WRITES = {
    "5min": PAID.cache_write_5min / PAID.input,
    "1h": PAID.cache_write_1h / PAID.input,
    "free": 1.0,
}  # price of a write over that of input
CHEAP = units.factor("USD/megatoken")
TURNED = Formula(
    "paging.price_of_turns",
    "price_blended",
    eq.price_blended.typed.subs(eq.hit_rate, eq.hit_rate_room.typed),
    "USD/token",
    "the price of an input token in a conversation, with a cache that holds part of all that is going on",
    (*eq.price_blended.assumes, *eq.hit_rate_room.assumes),
    conditions=eq.hit_rate_turns.conditions,
    register=False,
)
ENDLESS = Formula(
    "paging.price_kept",
    "price_blended",
    eq.price_blended.typed.subs(eq.hit_rate, eq.hit_rate_turns.typed),
    "USD/token",
    "the price of an input token in a conversation, with room for all",
    eq.price_blended.assumes,
    conditions=eq.hit_rate_turns.conditions,
    register=False,
)


def _near(name: str, value: float, label: str) -> list[dict]:
    """A slider of tenths of a decade, two decades below and one above a value, which it starts at."""
    start = round(math.log10(value), 6)
    return slider(name, round(start - 2, 6), round(start + 1, 6), 0.1, start, label, base=10)


def _card() -> list[dict]:
    """The conversation, the turns in time, the card's prices and what follows. The working set is 1, so that the
    cache's room is their share.
    """
    turns, start, growth = agent()
    found = {
        "write_ratio": "writes[write]",
        "input_price": f"usd * {CHEAP!r}",
        "working_set": "1",
        "kv_bytes_per_token": "1",
    }
    known = {
        "now": inside(TURNED, "USD/megatoken"),
        "hits": inside(eq.hit_rate_room, "1"),
        "even": inside(eq.hit_rate_even, "1"),
    }
    return [
        {"name": "writes", "value": WRITES},
        *menu(
            "write",
            {"5min": f"{WRITES['5min']:g}× (kept 5 min)", "1h": f"{WRITES['1h']:g}× (kept 1 h)", "free": "as input"},
            "5min",
            "price of a write",
        ),
        *slider("turns", 1, 100, 1, turns, "turns of a conversation"),
        *_near("start_context", start, "tokens at the start"),
        *_near("turn_growth", growth, "tokens that a turn adds"),
        *slider("cache_bytes", 0.05, 1, 0.05, 1, "turns in time (cache ÷ working set)"),
        *slider("read_ratio", 0.02, 0.9, 0.01, round(PAID.cached_read / PAID.input, 2), "price of a hit ÷ input"),
        *slider("usd", 0.1, 20, 0.1, PAID.input, "input: $ per million tokens"),
        *(row for name, value in {**found, **known}.items() for row in derived(name, value)),
    ]


def _prefix_lines() -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    grows = (
        f"{marks.said('start_context')} + ' tokens, ' + (turns == 1 ? 'one turn' : {marks.said('turn_growth')} + ' more"
        " each turn, ' + turns + ' turns')"
    )
    waits = "format(cache_bytes, '.0%') + ' of turns in time, a write costs ' + format(write_ratio, '.3~r') + '×'"
    finds = (
        "format(100 * hits, '.1f') + '% found: $' + format(now, '.2f') + ' per million instead of $' + format(usd,"
        " '.2f')"
    )
    even = (
        "even > 0 ? 'caching pays from ' + format(100 * even, '.1f') + '% on' + (hits < even ? ': here it costs more'"
        " : '') : 'writing is free: any hit saves'"
    )
    return grows, waits, finds, even


def _prefix_layers(encoding: dict) -> list[dict]:
    """The price with its names, without a cache, and with all turns in time."""
    one = inside(ENDLESS, "USD/megatoken", turns="100")
    return [
        marks.line("endless", "second", encoding, strokeDash=[2, 3]),
        marks.line("price", "cost", encoding, strokeWidth=4),
        marks.rule(encoding, "third", y="usd"),
        marks.rule(encoding, None, x="turns"),
        marks.at(encoding, {**marks.DOT, "color": marks.PAINTS["chosen"]}, x="turns", y="now"),
        marks.text(
            encoding,
            "'without a cache'",
            "4",
            "usd",
            align="left",
            color=marks.PAINTS["third"],
            dy={"expr": f"{inside(TURNED, 'USD/megatoken', turns='5')} > 1.02 * usd ? 11 : -8"},
        ),
        marks.text(
            encoding,
            f"cache_bytes < 0.95 && {one} < 0.85 * usd ? 'all in time' : ''",
            "100",
            one,
            align="right",
            dx=-4,
            dy=11,
            color=marks.PAINTS["second"],
        ),
        marks.hover(encoding, "price", {"price": "$ per million", "endless": "all in time"}, ",.3~r", ",.3~r"),
    ]


def prefix_chart() -> InteractiveChart:
    """Price of an input token against the turns of a conversation, if all turns come while the cache still has the
    last one, or a share of them.
    """
    encoding = {
        "x": marks.log_axis("turns", "turns of a conversation", 1, 100, "~s"),
        "y": {
            "field": "price",
            "type": "quantitative",
            "title": "$ per million input tokens",
            "scale": {"domain": [0, {"expr": "2.1 * usd"}]},
        },
    }
    base = sweep("turns", 0, 2, points=81)
    base["transform"] += [
        curve(TURNED, "turns", "price", "USD/megatoken"),
        curve(ENDLESS, "turns", "endless", "USD/megatoken"),
    ]
    layers = _prefix_layers(encoding)
    spec = {**base, "params": _card(), "layer": layers, "title": marks.title(*_prefix_lines())}
    return InteractiveChart(
        spec,
        "What a found prefix saves",
        _prefix_says(),
        f"At the start a coding agent as in Codex's traces, at the prices of {CARD.model} on {CARD.valid_from}. What is"
        " not found is written at the surcharge. For a customer, a turn is in time if the pause is shorter than the"
        " five minutes or the hour that the write pays for. For a provider the size of the cache decides: with turns at"
        " random, half of the working set has half of the turns in time.",
        primary=("turns", "cache_bytes", "write"),
        result=(2,),
    )


def _prefix_says() -> str:
    turns, start, growth = agent()
    known = {
        "turns": turns,
        "start_context": start,
        "turn_growth": growth,
        "write_ratio": WRITES["5min"],
        "cache_bytes": 1.0,
        "kv_bytes_per_token": 1.0,
        "working_set": 1.0,
        "read_ratio": PAID.cached_read / PAID.input,
        "input_price": PAID.input * CHEAP,
    }
    return (
        "Price of a million input tokens against the turns of a conversation from 1 to 100 (log scale), with controls"
        " for the price of a write, turns, tokens at the start and per turn, the share of turns that come in time, and"
        " the price of a hit and of input. It falls from the price of a write towards that of a hit; a dotted line is"
        f" with all turns in time, a dashed one the price without a cache. At {known['turns']:.0f} turns"
        f" {100 * eq.hit_rate_room(known):.0f}% are found: ${TURNED(known) / CHEAP:.2f} instead of"
        f" ${PAID.input:.2f}; caching pays from {significant(100 * eq.hit_rate_even(known), 3)}% on."
    )
