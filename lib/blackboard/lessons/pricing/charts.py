"""The pricing lesson's charts: what a step in a price says of the model, and where a KV cache lies cheapest.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from sympy import Max

from blackboard import units
from blackboard.catalogue import price, system, tier
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, decades, derived, inside, menu, slider, sweep
from blackboard.formula import Formula
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing import numbers
from blackboard.lessons.pricing.figures import spent
from blackboard.lessons.pricing.implied import KEPT, rent
from blackboard.lessons.sparsity.equations import batch_fits
from blackboard.units import pretty, significant

SYSTEMS = ("gb200-nvl72", "b200-64", "gb300-nvl72", "h200-8", "h100-8", "a100-80gb-8", "mi355x-8", "tpu7x-64")
SPARSITY = 8  # stored over active parameters, the lecture's
CHEAP, HOUR, YEAR = units.factor("USD/megatoken"), units.factor("hour"), 365 * units.factor("day")
ROUND = ",.3~r"  # three digits, thousands separated


def _bytes(value: str) -> str:
    """The browser expression of bytes in words: 1.7 kB, 70 kB."""
    scaled = lambda unit, name: f"{marks.said(f'{value} / {units.factor(unit)!r}', ',.3~r')} + ' {name}'"
    return (
        f"({value} < 999.5 ? {marks.said(value)} + ' B' : {value} < 999500 ? {scaled('kB', 'kB')} :"
        f" {scaled('MB', 'MB')})"
    )


def _count(value: str) -> str:
    """The browser expression of parameters in few letters: 37.6 B, 1.2 T."""
    return f"replace(replace(replace(format({value}, '.3~s'), 'M', ' M'), 'G', ' B'), 'T', ' T')"


def _time(value: str) -> str:
    """The browser expression of seconds in words: 110 ms, 18 min, 9.3 days."""
    said = marks.said(f"{value} * 1000", ",.2~r") + " + ' ms'"
    for name, unit, least in (
        ("s", 1.0, 1),
        ("min", 60.0, 1.5),
        ("h", HOUR, 0.999),
        ("days", 24 * HOUR, 1.5),
        ("years", YEAR, 1.5),
    ):
        said = f"({value} < {least * unit!r} ? {said} : {marks.said(f'{value} / {unit!r}', ',.2~r')} + ' {name}')"
    return said


# --- a price card -----------------------------------------------------------------------------------------------------

DECODE = Formula(
    "pricing.decode_ratio",
    "pass_ratio",
    Max(1, eq.memory_ratio_of.typed),
    "1",
    "the cost of an output token divided by the cost of its compute",
    eq.memory_ratio_of.assumes,
    register=False,
)
IMPLIED = eq.memory_ratio_of.solve(
    "kv_bytes_per_token"
)  # the KV with which reading over multiplying is so much at a context
REACHES = eq.memory_ratio_of.solve("context")  # the context at which reading over multiplying is so much
START = RUNNING.symbols() | {
    name: numbers.BOARD[name] for name in ("n_active", "step_context")
}  # the lecture's model and step, on the running machine
START |= {"n_total": SPARSITY * START["n_active"], "step_ratio": price(numbers.STEPPED).above.output_multiplier}
START |= {"kv_bytes_per_token": eq.kv_implied(START)}  # so that the kink stands at the step
REAL = RUNNING.symbols()["kv_bytes_per_token"]
ENDLESS, TOP = 10, 100  # a batch of 2 ** ENDLESS critical ones hardly pays for weights; cost at the top of the chart


def _between(name: str, value: float, other: float, stops: int, below: int, above: int, label: str) -> list[dict]:
    """A slider that starts at a value and is at another after so many stops; of so many stops below and above the
    start.
    """
    start, pitch = round(math.log10(value), 6), round(math.log10(other / value) / stops, 6)
    low, high = round(start - below * pitch, 6), round(start + above * pitch, 6)
    return slider(name, low, high, pitch, start, label, base=10)


def _card() -> list[dict]:
    """Machine and precision, the model, the batch, the card's step, and what follows from them."""
    sliders = [
        *decades("n_active", START["n_active"], 1, 1, "active parameters"),
        *_between("kv_bytes_per_token", START["kv_bytes_per_token"], REAL, 16, 10, 26, "bytes of KV per token"),
        *slider("fill", -2, ENDLESS, 0.5, ENDLESS, "batch: critical batch ×", base=2),
        *decades("step_context", START["step_context"], 1.9, 0.6, "price step at (tokens)"),
        *slider("step_ratio", 1, 3, 0.1, START["step_ratio"], "price beyond the step ×"),
    ]
    known = {
        "n_total": f"{SPARSITY} * n_active",
        "batch_critical": inside(step.critical_batch, "sequence"),
        "batch": "fill * batch_critical",
    }
    follows = known | {
        "implied": inside(IMPLIED, "byte/token", context="step_context", memory_ratio=1),
        "room": inside(batch_fits, "sequence", hbm="machine.hbm", context="step_context"),
        "context_balanced": inside(step.balanced_context, "token/sequence"),
        "level": inside(DECODE, "1", context="step_context"),
        "far": "level * step_ratio",
        "covers": inside(REACHES, "token/sequence", memory_ratio="far"),
    }
    return controls.given(RUNNING, SYSTEMS, sliders=sliders, **follows)


def _tread(encoding: dict, low: str, high: str, level: str) -> dict:
    """A tread of the price's staircase, between two contexts."""
    row = marks.at(
        encoding,
        {"type": "rule", "color": marks.PAINTS["cost"], "strokeDash": [6, 3], "strokeWidth": 3},
        x=low,
        y=level,
    )
    row["transform"] += [{"calculate": high, "as": "at_x2"}]
    row["encoding"] = {**row["encoding"], "x2": {"field": "at_x2"}}
    return row


def _card_layers(encoding: dict, leaves: str) -> list[dict]:
    """The cost and its part of reading, and the price's two treads."""
    reading, shared = f"min({TOP}, {inside(eq.memory_ratio_of, '1', context=leaves)})", marks.PAINTS["memory"]
    price = {"color": marks.PAINTS["cost"]}
    return [
        marks.line("memory", "memory", encoding),
        marks.line("cost", "total", encoding, strokeWidth=4),
        marks.rule(encoding, "compute", y="1"),
        _tread(encoding, "1000", "step_context", "level"),
        _tread(encoding, "step_context", "1000000", "far"),
        marks.at(encoding, {**marks.DOT, **price}, x="max(1000, covers)", y="far"),
        marks.text(encoding, "'compute'", "1000", "1", align="left", dx=4, dy=10, color=marks.PAINTS["compute"]),
        marks.text(
            encoding,
            f"level > {TOP} ? '' : 'price'",
            "1000",
            "level",
            align="left",
            dx=4,
            dy={"expr": f"level > {TOP / 2} ? 10 : -10"},
            **price,
        ),
        marks.text(
            encoding, f"far > {TOP} ? 'price: above ↑' : ''", "1000000", str(TOP), align="right", dx=-4, dy=10, **price
        ),
        marks.text(
            encoding, "'KV cache and weights'", leaves, reading, **marks.side(f"{leaves} > 5000"), dy=-6, color=shared
        ),
        marks.hover(encoding, "cost", {"cost": "cost ÷ compute", "memory": "memory time ÷ compute time"}, ",.3r"),
    ]


def card_chart() -> InteractiveChart:
    """Cost of an output token against context, with machine, model and batch to choose, and the staircase of a
    price.
    """
    ratio = marks.log_axis("cost", "cost ÷ compute alone", 0.1, TOP, "~g")
    encoding = {"x": marks.log_axis("context", "context L (tokens)", 1e3, 1e6, "~s"), "y": ratio}
    base, leaves = (
        sweep("context", 3, 6, points=121),
        f"clamp({inside(REACHES, 'token/sequence', memory_ratio=0.2 * TOP)}, 1000, 1000000)",
    )
    base["transform"] += [curve(DECODE, "context", "cost", "1"), curve(eq.memory_ratio_of, "context", "memory", "1")]
    layers = _card_layers(encoding, leaves)
    spec = {**base, "params": _card(), "layer": layers, "title": marks.title(controls.MACHINE_LINE, *_card_lines())}
    real = START | {"batch": 1e9 * step.critical_batch(START), "kv_bytes_per_token": REAL}
    level, kept = DECODE(real, context=START["step_context"]), pretty(REAL, "byte", 2)
    return InteractiveChart(
        spec,
        "A price step and the cost beneath it",
        _card_says(),
        "At the start the batch is so huge that weights cost nothing, as in the text. (Its KV cache would not fit into"
        f" memory.) A token's cache has {pretty(START['kv_bytes_per_token'], 'byte', 2)}, so that cost starts to rise"
        f" exactly at the step. Now give it the {kept} of DeepSeek-V3: at {significant(START['step_context'], 3)}"
        f" tokens loading the cache takes {significant(level, 2)} times as long as compute, and a price that covers"
        " this must be as many times the cost of compute. Then make the batch smaller: the weights lift"
        f" the line of memory time, and the cost bends before L*. Stored parameters are {SPARSITY} times the active"
        " ones.",
        primary=("fill", "kv_bytes_per_token", "step_context"),
    )


def _card_lines() -> list[str]:
    """What the title says: model, batch, step and price, as browser expressions."""
    model = (
        f"{_count('n_active')} + ' active, ' + {_bytes('kv_bytes_per_token')} + ' per token: L* = ' +"
        f" {marks.said('context_balanced', ROUND)}"
    )
    most = f"room < 0 ? 'weights do not fit' : 'KV fits up to ' + {marks.said('room / batch_critical', ',.2~r')} + ' ×'"
    batch = (
        f"'batch ' + {marks.said('fill', ',.4~r')} + ' × critical: ' + (batch <= room ?"
        f" {marks.said('batch', ROUND)} +"
        f" ' sequences' : {most})"
    )
    implies = f"fill > 1 ? 'implies ' + {_bytes('implied')} + ' per token' : 'memory binds anyway'"
    said = f"'step at ' + {marks.said('step_context', ROUND)} + ': ' + ({implies})"
    covers = (
        f"'price ' + {marks.said('level', ROUND)} + '× to there, ' + {marks.said('far', ROUND)} + '× covers up to ' +"
        f" {marks.said('covers', ROUND)}"
    )
    return [model, batch, said, covers]


def _card_says() -> str:
    known = START | {"batch": 2**ENDLESS * step.critical_batch(START)}
    level = DECODE(known, context=known["step_context"])
    reach = REACHES(known, memory_ratio=level * known["step_ratio"])
    return (
        "Cost of an output token divided by the cost of its compute, against context from 1,000 to a million"
        " tokens, both"
        " on log scales, with controls for system, precision, active parameters, KV bytes per token, batch, and the"
        " context and height of a price's step. The cost is level at 1, then rises with the KV cache; a dashed"
        f" staircase is the price. With {known['n_active'] / 1e9:.0f} billion active parameters,"
        f" {pretty(known['kv_bytes_per_token'], 'byte', 2)} of KV and an endless batch the cost bends at"
        f" {significant(REACHES(known, memory_ratio=1), 3)} tokens, where the step of the price stands;"
        f" {known['step_ratio']:g} times the price covers the cost up to {significant(reach, 3)} tokens."
    )


# --- where to keep a cache --------------------------------------------------------------------------------------------

TIERS = dict(zip(("DDR5", "flash", "disk"), numbers.KEEP, strict=True))
INKS = {"HBM": "first", "DDR5": "second", "flash": "third", "disk": "fourth", "compute again": "compute"}
WHEN = {"2025": "the end of 2025", "2026": "early 2026"}  # by then: the newest confirmed byte prices
NAMES = {"tier_capacity": "capacity", "tier_bandwidth": "reads", "tier_rent": "rent"}


def _devices() -> dict[str, Any]:
    """What the browser must know of each device: bytes, bytes/s, and USD per byte by year."""
    rows = {name: tier(id) for name, id in TIERS.items()}
    prices = lambda row: {year: numbers.paid(row, year).usd_per_GB / units.factor("GB") for year in WHEN}
    return {
        name: {"capacity": row.capacity_bytes, "reads": row.read_bytes_per_s, "price": prices(row)}
        for name, row in rows.items()
    }


def _on(name: str) -> dict[str, str]:
    """The fields of the tier's formulas on one of the devices; on flash they are the signals themselves."""
    return {} if name == "flash" else {field: f"{name}_{short}" for field, short in NAMES.items()}


def _hold() -> list[dict]:
    """Sliders for the model, the time and what is paid, the devices, and what follows."""
    rows = _devices()
    case = RUNNING.symbols()
    sliders = [
        *menu("year", WHEN, "2026", "byte prices known by"),
        *decades("kv_bytes_per_token", case["kv_bytes_per_token"], 2.3, 1, "bytes of KV per token"),
        *decades("n_active", case["n_active"], 1.5, 1.5, "active parameters"),
        *slider("rent_per_hour", 0.5, 12, 0.1, rent().usd_per_chip_hour, "rent: $ per GPU-hour"),
        *slider("years", 1, 10, 1, round(numbers.LIFE / YEAR), "years to pay off a device"),
        *slider("faster", -3, 3, 0.5, 0, "device bandwidth ×", base=2),
        *_between("marked", KEPT["5 min"], KEPT["1 h"], 9, 28, 38, "time kept (s)"),
    ]
    machine = {name: repr(case[name]) for name in ("flops", "hbm", "chips")}
    follows = machine | {"rent": f"rent_per_hour / {HOUR!r}", "service_life": f"years * {YEAR!r}"}
    for name in rows:
        of = f"devices['{name}']"
        bound = {
            "tier_capacity": f"{of}.capacity",
            "tier_bandwidth": f"{of}.reads * faster",
            "tier_rent": inside(
                eq.rent_of_price, "USD/s", byte_price=f"{of}.price[year]", tier_capacity=f"{of}.capacity"
            ),
        }
        follows |= {_on(name).get(field, field): value for field, value in bound.items()}
    return [
        {"name": "devices", "value": rows},
        *sliders,
        *(row for name, value in follows.items() for row in derived(name, value)),
        *_verdict(),
    ]


def _cost(name: str, **fields: str) -> str:
    """The browser expression of what a place costs, in USD per million tokens."""
    formula, on = LINES[name]
    return inside(
        formula, "USD/megatoken", **{field: value for field, value in {**on, **fields}.items() if field in formula.free}
    )


def _verdict() -> list[dict]:
    """Signals: the cost of each place at the marked time, the cheapest, and until when keeping there beats computing
    again.
    """
    at = {name: _cost(name, hold_time="marked") for name in LINES}
    even = {name: inside(HOLD_UNTIL, "s", c_cached=f"({eq.remat_cost.vega()})", **_on(name)) for name in TIERS}
    return [
        *derived("costs", f"[{', '.join(at.values())}]"),
        *derived("least", "min(costs[0], costs[1], costs[2], costs[3], costs[4])"),
        *derived("cheapest", f"{list(LINES)!r}[indexof(costs, least)]"),
        *derived("hbm_until", inside(eq.hbm_even, "s")),
        *(row for name, value in even.items() for row in derived(f"{name}_until", f"max(0, {value})")),
    ]


HOLD_UNTIL = eq.tier_cost.solve("hold_time")
LINES: dict[str, tuple[Any, dict[str, str]]] = {
    "HBM": (eq.hbm_hold, {}),
    **{name: (eq.tier_cost, _on(name)) for name in TIERS},
    "compute again": (eq.remat_cost, {}),
}
LAST, TICKS = (
    7.2,
    {"1 s": 1, "1 min": 60, "1 h": 3600, "1 day": 86_400, "100 days": 8_640_000},
)  # the time axis: its end, an exponent, and ticks in s
LOW, HIGH = 1e-6, 1e2  # USD per million tokens, of the axis


def _reaches(name: str, cost: str) -> str:
    """The browser expression of the time, s, after which keeping there costs so much, USD per token."""
    formula, fields = LINES[name]
    return inside(formula.solve("hold_time"), "s", **{formula.symbol.name: cost}, **fields)


def _named(encoding: dict, name: str) -> dict:
    """A line's name: at the left of one that is level there, else where the line is about to leave the picture."""
    if name in ("compute again", "disk"):
        level = _cost(name, **({} if name == "compute again" else {"hold_time": "0.1"}))
        above = (  # whichever is dearer has its name above its line
            f"{_cost('disk', hold_time='0.1')} > {_cost('compute again')}"
        )
        dy = {"expr": f"({above}) == {str(name == 'disk').lower()} ? -8 : 10"}
        return marks.text(
            encoding, f"'{name}'", "0.1", level, align="left", dx=4, dy=dy, color=marks.PAINTS[INKS[name]]
        )
    top = _reaches(name, repr(HIGH * CHEAP / 4))
    if name == "HBM":  # where DDR5's line comes close, its name goes further down
        top = (
            f"({_reaches('DDR5', repr(HIGH * CHEAP / 4))} < 20 * {top} ? {_reaches(name, repr(HIGH * CHEAP / 40))} :"
            f" {top})"
        )
    x = f"clamp({top}, 0.1, {10**LAST!r})"
    return marks.text(
        encoding, f"'{name}'", x, _cost(name, hold_time=x), align="right", dx=-8, dy=-4, color=marks.PAINTS[INKS[name]]
    )


def _hold_lines() -> tuple[str, ...]:
    """What the settings mean, in lines above the chart."""
    model = (
        f"{_bytes('kv_bytes_per_token')} + ' a token, ' + {_count('n_active')} + ' active, GPU at $' +"
        " format(rent_per_hour, '.2f') + '/h'"
    )
    paid = " + ', ' + ".join(
        f"'{name} ' + format(devices['{name}'].price[year] * {units.factor('GB')!r}, '.3~g')" for name in TIERS
    )
    where = "(cheapest == 'compute again' ? 'is to ' : cheapest == 'disk' ? 'on ' : 'in ') + cheapest"
    found = f"{_time('marked')} + ': cheapest ' + {where} + ', $' + format(least, '.2~g') + '/Mtok'"
    until = f"'keeping beats computing again up to: HBM ' + {_time('hbm_until')} + ','"
    rest = " + ', ' + ".join(f"'{name} ' + ({name}_until > 0 ? {_time(f'{name}_until')} : 'never')" for name in TIERS)
    return model, f"'$/GB (' + year + '): ' + {paid}", found, until, rest


def hold_chart() -> InteractiveChart:
    """Cost of keeping a token's KV against time, on four kinds of memory, or of computing it again."""
    usd = marks.log_axis("flash", "$ per million tokens", LOW, HIGH, "~g")
    time = marks.log_axis("hold_time", "time kept", 0.1, 10**LAST)
    labels = " : ".join(f"datum.value == {value} ? '{name}'" for name, value in TICKS.items())
    time["axis"] = {"values": list(TICKS.values()), "labelExpr": f"{labels} : ''"}
    encoding, base = {"x": time, "y": usd}, sweep("hold_time", -1, LAST, points=42)
    fields = {name: name if name != "compute again" else "again" for name in LINES}
    base["transform"] += [
        curve(formula, "hold_time", fields[name], "USD/megatoken", **on) for name, (formula, on) in LINES.items()
    ]
    lines = [marks.line(fields[name], INKS[name], encoding) for name in LINES]
    layers = [
        *lines,
        marks.rule(encoding, None, x="marked"),
        marks.at(encoding, {**marks.DOT, "color": marks.PAINTS["chosen"]}, x="marked", y="least"),
        *(_named(encoding, name) for name in LINES),
        marks.hover(encoding, "flash", {field: f"{name} ($/Mtok)" for name, field in fields.items()}, ",.2~g", ",.3~r"),
    ]
    spec = {
        **base,
        "params": _hold(),
        "layer": layers,
        "title": marks.title(*_hold_lines()),
    }
    return InteractiveChart(
        spec,
        "Where a cache is cheapest to keep",
        _hold_says(),
        f"For the chips of a {plain(system(RUNNING.system).name)} that compute in {RUNNING.precision.upper()},"
        " and a short prompt: computing a long one again costs more. A larger KV cache makes keeping more expensive"
        " everywhere. More active parameters make computing again more expensive. Set the time to some 20 seconds, or"
        " to 3 hours, and another place wins. HBM is charged the whole rent of its GPUs, the others the price of the"
        " bare device, without its server or power.",
        primary=("marked", "kv_bytes_per_token", "year"),
        result=(2,),
    )


def _hold_says() -> str:
    known = numbers.rack()
    again = eq.remat_cost(known)
    even = {name: HOLD_UNTIL(known | numbers.rented(tier(id)), c_cached=again) for name, id in TIERS.items()}
    until = [f"{'on' if name == 'disk' else 'in'} {name} for {spent(time)}" for name, time in even.items()]
    return (
        "Dollars per million tokens for keeping a token's KV cache and loading it back once, against the time kept"
        " from a"
        " tenth of a second to half a year, both on log scales, in HBM, DDR5, flash and on disk, and a level line for"
        " computing it again, with controls for the year of the byte prices, KV bytes per token, active parameters,"
        " rent, years to pay off a device, how fast devices read, and a marked time. Each device's line is level,"
        " then"
        f" rises; the slower the device, the later. For {RUNNING}, computing again costs"
        f" ${significant(again / CHEAP, 2)}; keeping is cheaper in HBM for {spent(eq.hbm_even(known))},"
        f" {', '.join(until)}."
    )
