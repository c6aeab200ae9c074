"""The pricing lesson's chart: where a KV cache lies cheapest.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math
from typing import Any

from blackboard import units
from blackboard.catalogue import tier
from blackboard.catalogue.running_case import RUNNING
from blackboard.charts import marks
from blackboard.charts.interactive import InteractiveChart, curve, decades, derived, inside, menu, slider, sweep
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing import results
from blackboard.lessons.pricing.figures import spent
from blackboard.lessons.pricing.implied import KEPT, rent
from blackboard.units import significant

CHEAP, HOUR, YEAR = units.factor("USD/megatoken"), units.factor("hour"), 365 * units.factor("day")


def _time(value: str) -> str:
    """The browser expression of seconds in words: 110 ms, 18 min, 9 days."""
    said = marks.said(f"{value} * 1000", ",.2~r") + " + ' ms'"
    for name, unit, least, digits in (
        ("s", 1.0, 1, ",.2~r"),
        ("min", 60.0, 1.5, ",.2~r"),
        ("h", HOUR, 0.999, ",.2~r"),
        ("days", 24 * HOUR, 1.5, ",.2~r"),
        ("days", 24 * HOUR, 3, ",.0f"),
        ("years", YEAR, 1.5, ",.2~r"),
    ):
        said = f"({value} < {least * unit!r} ? {said} : {marks.said(f'{value} / {unit!r}', digits)} + ' {name}')"
    return said


# --- where to keep a cache --------------------------------------------------------------------------------------------

TIERS = dict(zip(("DDR5", "flash", "disk"), results.KEEP, strict=True))
INKS = {"HBM": "first", "DDR5": "second", "flash": "third", "disk": "fourth", "compute again": "compute"}
WHEN = {"2025": "the end of 2025", "2026": "early 2026"}  # by then: the newest confirmed byte prices
NAMES = {"tier_capacity": "capacity", "tier_bandwidth": "reads", "tier_rent": "rent"}


def _between(
    name: str, value: float, other: float, stops: int, below: int, above: int, first: int, label: str
) -> list[dict]:
    """A slider with stops at a value and, so many stops later, at another; of so many stops below and above the value,
    at first so many before it.
    """
    start, pitch = round(math.log10(value), 6), round(math.log10(other / value) / stops, 6)
    low, high = round(start - below * pitch, 6), round(start + above * pitch, 6)
    return slider(name, low, high, pitch, round(start - first * pitch, 6), label, base=10)


def _devices() -> dict[str, Any]:
    """What the browser must know of each device: bytes, bytes/s, and USD per byte by year."""
    rows = {name: tier(id) for name, id in TIERS.items()}
    prices = lambda row: {year: results.paid(row, year).usd_per_GB / units.factor("GB") for year in WHEN}
    return {
        name: {"capacity": row.capacity_bytes, "reads": row.read_bytes_per_s, "price": prices(row)}
        for name, row in rows.items()
    }


def _on(name: str) -> dict[str, str]:
    """The fields of the tier's formulas on one of the devices; on flash they are the signals themselves."""
    return {} if name == "flash" else {field: f"{name}_{short}" for field, short in NAMES.items()}


def history() -> dict[str, float]:
    """The running case at the rate at which it computes our history again: looking back takes time that the formula of
    a short prompt leaves out, as if the chips were so much slower.
    """
    case = results.rack()
    slower = results.prompt_again(results.CALL["cached_read"]) / eq.remat_cost(case)
    return RUNNING.symbols() | {"flops": case["flops"] / slower}


def _hold() -> list[dict]:
    """Sliders for the model, the time and what is paid, the devices, and what follows."""
    rows = _devices()
    case = history()
    sliders = [
        *menu("year", WHEN, "2026", "prices known by"),
        *decades("kv_bytes_per_token", case["kv_bytes_per_token"], 2.3, 1, "KV bytes per token"),
        *slider("rent_per_hour", 0.5, 12, 0.1, rent().usd_per_chip_hour, "$ per GPU-hour"),
        *_between("marked", KEPT["5 min"], KEPT["1 h"], STOPS, BELOW, ABOVE, PAUSE, "time kept (s)"),
    ]
    machine = {name: repr(case[name]) for name in ("flops", "hbm", "chips", "n_active")}
    follows = machine | {"rent": f"rent_per_hour / {HOUR!r}", "service_life": repr(results.LIFE)}
    for name in rows:
        of = f"devices['{name}']"
        bound = {
            "tier_capacity": f"{of}.capacity",
            "tier_bandwidth": f"{of}.reads",
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
    """Signals: the cost of each place at the marked time, and the cheapest."""
    at = {name: _cost(name, hold_time="marked") for name in LINES}
    return [
        *derived("costs", f"[{', '.join(at.values())}]"),
        *derived("least", "min(costs[0], costs[1], costs[2], costs[3], costs[4])"),
        *derived("cheapest", f"{list(LINES)!r}[indexof(costs, least)]"),
    ]


HOLD_UNTIL = eq.tier_cost.solve("hold_time")
LINES: dict[str, tuple[Any, dict[str, str]]] = {
    "HBM": (eq.hbm_hold, {}),
    **{name: (eq.tier_cost, _on(name)) for name in TIERS},
    "compute again": (eq.remat_cost, {}),
}
STOPS = 27  # of the slider from five minutes to an hour
BELOW, ABOVE, PAUSE = 87, 117, 10  # its stops to either side of five minutes, and from there down to our two minutes
# The time axis has the slider's ends, exponents, and ticks in s.
FIRST, LAST = (
    math.log10(KEPT["5 min"]) + stops / STOPS * math.log10(KEPT["1 h"] / KEPT["5 min"])
    for stops in (-BELOW - 0.01, ABOVE + 0.01)
)
START = repr(10**FIRST)
TICKS = {"1 s": 1, "1 min": 60, "1 h": 3600, "1 day": 86_400, "30 days": 2_592_000}
CENTS = results.CALL["cached_read"] * 100 / 1e6  # of our history, for a USD per million tokens
LOW, HIGH = 3e-4 / CENTS, 1e3 / CENTS  # USD per million tokens, of the axis
ROOM = 6  # between the costs of two level lines: a name fits between them
BELOW_AXIS = f"least < {LOW!r}"


def _reaches(name: str, cost: str) -> str:
    """The browser expression of the time, s, after which keeping there costs so much, USD per token."""
    formula, fields = LINES[name]
    return inside(formula.solve("hold_time"), "s", **{formula.symbol.name: cost}, **fields)


def _named(encoding: dict, name: str) -> dict:
    """A line's name: at the left of one that is level there, else where the line is about to leave the picture."""
    if name in ("compute again", "disk"):
        levels = {"compute again": _cost("compute again"), "disk": _cost("disk", hold_time=START)}
        level = levels.pop(name)
        (other,) = levels.values()
        # Above its line, but where the other's name is there.
        dy = {"expr": f"{level} > {other} || {level} < {other} / {ROOM} ? -11 : 11"}
        return marks.text(
            encoding, f"'{name}'", START, level, align="left", dx=4, dy=dy, color=marks.PAINTS[INKS[name]]
        )
    top = _reaches(name, repr(HIGH * CHEAP / 4))
    if name == "HBM":  # where DDR5's line comes close, its name goes further down
        top = (
            f"({_reaches('DDR5', repr(HIGH * CHEAP / 4))} < 20 * {top} ? {_reaches(name, repr(HIGH * CHEAP / 40))} :"
            f" {top})"
        )
    x = f"clamp({top}, {START}, {10**LAST!r})"
    return marks.text(
        encoding, f"'{name}'", x, _cost(name, hold_time=x), align="right", dx=-9, dy=3, color=marks.PAINTS[INKS[name]]
    )


def _hold_line() -> str:
    """What the settings mean, in a line above the chart."""
    place = "(cheapest == 'compute again' ? 'computing again' : cheapest)"
    whose = "(cheapest == 'compute again' ? '' : cheapest == 'HBM' ? ' (full rent)' : ' (bare price)')"
    cents = f"{CENTS!r} * least"
    cost = f"({BELOW_AXIS} ? ', less than the chart shows' : ', ' + format({cents}, '.2~g') + ' ¢')"
    return f"{_time('marked')} + ': cheapest is ' + {place} + {whose} + {cost}"


def hold_chart() -> InteractiveChart:
    """Cost of keeping a token's KV against time, on four kinds of memory, or of computing it again."""
    usd = marks.log_axis("flash", "cents for our history", LOW, HIGH)  # of fields in USD per million tokens
    usd["axis"] = {
        "values": [10.0**n / CENTS for n in range(-3, 4)],
        "labelExpr": f"format({CENTS!r} * datum.value, ',.5~f')",
    }
    time = marks.log_axis("hold_time", "time kept", 10**FIRST, 10**LAST)
    labels = " : ".join(f"datum.value == {value} ? '{name}'" for name, value in TICKS.items())
    time["axis"] = {"values": list(TICKS.values()), "labelExpr": f"{labels} : ''", "labelBound": True}
    encoding, base = {"x": time, "y": usd}, sweep("hold_time", FIRST, LAST, points=42)
    fields = {name: name if name != "compute again" else "again" for name in LINES}
    told = {f"{field}_cents": f"{name} (¢)" for name, field in fields.items()}
    base["transform"] += [
        curve(formula, "hold_time", fields[name], "USD/megatoken", **on) for name, (formula, on) in LINES.items()
    ] + [{"calculate": f"{CENTS!r} * datum.{field}", "as": f"{field}_cents"} for field in fields.values()]
    shape = {"expr": f"{BELOW_AXIS} ? 'triangle-down' : 'circle'"}  # what lies below the picture is pointed to
    chosen = {**marks.DOT, "color": marks.PAINTS["chosen"], "shape": shape}
    layers = [
        *(marks.line(fields[name], INKS[name], encoding) for name in LINES),
        marks.rule(encoding, None, x="marked"),
        marks.at(encoding, chosen, x="marked", y=f"max(least, {LOW!r})"),
        *(_named(encoding, name) for name in LINES),
        marks.hover(encoding, "flash", told, ",.2~g", ",.3~r"),
    ]
    return InteractiveChart(
        {**base, "params": _hold(), "layer": layers, "title": marks.title(_hold_line())},
        "Where a cache is cheapest to keep",
        _hold_says(),
        "The longer our history waits, the slower the memory that keeps it most cheaply. HBM is charged the"
        " full rent of its place for the whole pause, which is more than on the receipt. The others are at their bare"
        " price.",
        primary=("marked", "kv_bytes_per_token", "year"),
        result=(0,),
    )


def _hold_says() -> str:
    known = results.rack() | history()
    again = eq.remat_cost(known)
    even = {name: HOLD_UNTIL(known | results.rented(tier(id)), c_cached=again) for name, id in TIERS.items()}
    until = [f"{'on' if name == 'disk' else 'in'} {name} for {spent(time)}" for name, time in even.items()]
    return (
        "Cents for keeping our history and loading it back once, against the time kept, a tenth of a second to half"
        " a year, on log scales. HBM's line rises all the way; DDR5's, flash's and disk's are level, then rise, the"
        " slower the device, the later. A level line is computing again."
        f" For {RUNNING}, {results.CALL['cached_read']:,} tokens computed again cost"
        f" {significant(CENTS * again / CHEAP, 2)} cents; keeping is cheaper in HBM for {spent(eq.hbm_even(known))},"
        f" {', '.join(until)}."
    )
