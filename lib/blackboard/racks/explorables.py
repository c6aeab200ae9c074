"""The racks lesson's explorables: where the rack's boundary starts to hurt, and where latency ends and bandwidth
begins.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

import math

from blackboard import catalogue, marks, menus, units
from blackboard.case import RUNNING
from blackboard.explorable import Explorable, curve, derived, inside, menu, slider, sweep
from blackboard.racks import equations as eq
from blackboard.racks import numbers
from blackboard.style import COLOURS
from blackboard.units import significant

SYSTEMS = (
    "gb200-nvl72",
    "gb300-nvl72",
    "vr200-nvl72",
    "h200-8",
    "h100-8",
    "h800-8",
    "b200-8",
    "a100-80gb-8",
    "mi355x-8",
)
LINKS = ("scale_up", "scale_out", "chips")
UP, OUT = "accent", "kv"  # colours of the two networks
WAYS = {"dispatch": "dispatch, FP8", "combine": "combine, BF16"}
TOKENS = round(math.log10(numbers.EXAMPLE["tokens_per_chip"]), 1)  # the exponent that the slider starts at
GBS, US = units.factor("GB/s"), units.factor("us")


def _systems() -> list[dict]:
    """A menu of systems, and the symbols of their links."""
    table = {
        id: {name: value for name, value in menus.machine(id, LINKS).items() if name in ("name", *LINKS)}
        for id in SYSTEMS
    }
    options = {id: row["name"] for id, row in table.items()}
    return [
        {"name": "machines", "value": table},
        *menu("system", options, RUNNING.system, "system"),
        *derived("machine", "machines[system]"),
    ]


def _rate(value: str) -> str:
    return marks.said(f"{value} / {GBS!r}", ",.4~r")


def _dot(colour: str) -> dict:
    """A large point: where the reader's choice lies on a curve."""
    return {"type": "point", "filled": True, "opacity": 1, "size": 130, "color": COLOURS[colour]}


_RATES = f"machine.name + ': scale-up ' + {_rate('scale_up')} + ', scale-out ' + {_rate('scale_out')} + ' GB/s per GPU'"


def boundary_explorer() -> Explorable:
    """Time over several racks, in times of one rack, against the ratio of the two bandwidths; a system is marked."""
    ratio_axis = marks.log_axis("ratio", "scale-up ÷ scale-out bandwidth", 0.1, 100, "~g")
    encoding = {"x": ratio_axis, "y": marks.log_axis("slowdown", "time ÷ time in one rack", 0.04, 100, "~g")}
    base = sweep("ratio", -1, 2, points=91)
    base["transform"] += [
        {"calculate": "datum.ratio * scale_out", "as": "scale_up"},
        curve(eq.slowdown, "scale_up", "slowdown", "1"),
    ]
    here, hurts = f"({eq.slowdown.vega()})", f"({eq.ratio_hurts.vega()})"
    times = lambda value: marks.said(value, ",.3~r")
    layers = [
        marks.line("slowdown", marks.INK, encoding, strokeWidth=4),
        marks.rule(encoding, None, y="1"),
        marks.rule(encoding, UP, x=hurts),
        marks.text(encoding, "'as fast as one rack'", "0.1", "1", align="left", dx=4, dy=-8),
        marks.text(encoding, f"'hurts from ' + {times(hurts)} + ' on'", hurts, "0.06", align="left", dx=6),
        marks.at(encoding, _dot(OUT), x="ratio_here", y=here),
        marks.text(
            encoding,
            f"machine.name + ': ' + {times(here)} + '×'",
            "ratio_here",
            here,
            fontWeight="bold",
            **marks.side("ratio_here > 3") | {"dy": {"expr": "ratio_here > 3 ? -6 : 8"}},
        ),
        marks.hover(encoding, "slowdown", {"slowdown": "time ÷ one rack"}, ",.3r", ",.3r"),
    ]
    faster = slider("faster", -1, 5, 1, 0, "network card: its rate ×", base=2)
    links = {
        "scale_up": "machine.scale_up",
        "scale_out": "machine.scale_out * faster",
        "ratio_here": "scale_up / scale_out",
    }
    follow = [row for name, value in links.items() for row in derived(name, value)]
    params = [*_systems(), *slider("racks", 2, 16, 1, 2, "racks"), *faster, *follow]
    said = f"racks + ' racks: ' + {marks.said(eq.leaving.vega(), '.0%')} + ' of the traffic leaves its rack'"
    costs = f"'ratio ' + {times('ratio_here')} + ': a layer takes ' + {times(here)} + ' times as long as in one rack'"
    found = eq.slowdown(RUNNING, racks=2)
    ratio = RUNNING.symbols()["scale_up"] / RUNNING.symbols()["scale_out"]
    return Explorable(
        {**base, "params": params, "layer": layers, "title": marks.title(_RATES, said, costs)},
        "Where the rack's boundary hurts",
        "Time of a layer's traffic over several racks, in times of one rack, against the ratio of scale-up to"
        " scale-out bandwidth from 0.1 to 100, both on log scales, with controls for system, racks and the rate of the"
        " network card. The line is level, then rises with the ratio; with two racks it passes 1 at"
        f" {eq.ratio_hurts(racks=2):g}. The marked {menus.plain(catalogue.system(RUNNING.system).name)} has a ratio of"
        f" {ratio:g} and takes {found:g} times as long.",
        "More racks move the point where it starts to hurt down to a ratio of one, never below. Try how much faster the"
        " network card would have to be.",
    )


PER_TOKEN = "(copies * d_model * value_bytes)"  # bytes that a token sends; `width` is the name of Vega's own signal
ON = {
    "scale-up": (UP, {}),
    "scale-out": (OUT, {"scale_up": "scale_out"}),
}  # colour, and the same formulas on that network


def _load() -> list[dict]:
    """Sliders for copies, width and latency, a menu for the number format, and what follows from them."""
    known = RUNNING.symbols()
    return [
        *slider("copies", 1, 16, 1, int(known["copies"]), "copies of each token"),
        *slider("tokens_per_chip", 0, 4, 0.1, TOKENS, "tokens per GPU", base=10),
        *slider("d_model", 1024, 16384, 256, int(known["width"]), "values in a vector"),
        *slider("start_us", 0.5, 30, 0.5, _start(), "latency α (µs)"),
        *menu("way", WAYS, "dispatch", "on the way"),
        *derived("value_bytes", "way == 'dispatch' ? 1 : 2"),
        *derived("start_time", f"start_us * {US!r}"),
        *(row for name in LINKS for row in derived(name, f"machine.{name}")),
    ]


def _start() -> int:
    """Microseconds that the shortest measured dispatch takes, rounded."""
    return round(min(catalogue.measurement("h200_deepep_ll_intranode").column("dispatch_us")))


def _half(encoding: dict, name: str) -> list[dict]:
    """A rule where a network's latency is as long as its bytes, and the network's name beside its curve."""
    colour, on = ON[name]
    half = f"(({eq.half_message.vega(**on)}) / {PER_TOKEN})"
    far = inside(eq.exchange_time, "us", message=f"1500 * {PER_TOKEN}", **on)
    above, high = (-14, "40000") if name == "scale-out" else (18, "2")
    return [
        marks.rule(encoding, colour, x=half),
        marks.text(
            encoding,
            f"'bytes = latency at ' + {marks.said(half, ',.3~r')} + ' tokens'",
            half,
            high,
            **marks.side(f"{half} > 300"),
        ),
        *marks.name(encoding, f"'{name}'", colour, "1500", far, "true" if name == "scale-out" else "false", above),
    ]


def traffic_explorer() -> Explorable:
    """Time of one way of a layer's traffic against tokens per chip, on both networks: first latency, then bandwidth."""
    encoding = {
        "x": marks.log_axis("tokens", "tokens per GPU", 1, 1e4, "~s"),
        "y": marks.log_axis("up", "µs for one layer, one way", 1, 1e5, "~s"),
    }
    base = sweep("tokens", 0, 4)
    base["transform"] += [
        {"calculate": f"datum.tokens * {PER_TOKEN}", "as": "message"},
        curve(eq.exchange_time, "message", "up", "us"),
        curve(eq.exchange_time, "message", "out", "us", **ON["scale-out"][1]),
    ]
    layers = [
        marks.line("out", OUT, encoding),
        marks.line("up", UP, encoding, strokeWidth=4),
        *(row for name in ON for row in _half(encoding, name)),
        marks.hover(encoding, "up", {"up": "scale-up (µs)", "out": "scale-out (µs)"}, ",.3r"),
    ]
    sent = {"message": f"tokens_per_chip * {PER_TOKEN}"}
    here = {name: inside(eq.exchange_time, "us", **sent, **on) for name, (_, on) in ON.items()}
    time = {name: marks.said(value, ",.3r") for name, value in here.items()}
    layers += [marks.at(encoding, _dot(ON[name][0]), x="tokens_per_chip", y=value) for name, value in here.items()]
    each = f"{marks.said(PER_TOKEN + ' / 1000', ',.3~r')} + ' kB for each token and layer; latency ' + start_us + ' µs'"
    at = (
        f"{marks.said('tokens_per_chip')} + ' tokens: ' + {time['scale-up']} + ' µs on scale-up, ' +"
        f" {time['scale-out']} + ' µs on scale-out'"
    )
    return Explorable(
        {**base, "params": [*_systems(), *_load()], "layer": layers, "title": marks.title(_RATES, each, at)},
        "Where latency ends and bandwidth begins",
        _traffic_alt(),
        "Left of its dashed line a network mostly waits, and a wider link changes little; right of it bytes decide. Try"
        " a shorter latency: it helps only small batches.",
    )


def _traffic_alt() -> str:
    known, start = RUNNING.symbols(), _start() * US
    token = known["copies"] * known["width"]
    half = {name: eq.half_message(start_time=start, scale_up=known[name]) / token for name in ("scale_up", "scale_out")}
    time = {
        name: (
            eq.exchange_time(message=10**TOKENS * token, chips=known["chips"], scale_up=known[name], start_time=start)
            / US
        )
        for name in half
    }
    return (
        "Time of one layer's dispatch or combine against tokens per GPU from 1 to 10,000, both on log scales, on the"
        f" scale-up and on the scale-out network of {menus.plain(catalogue.system(RUNNING.system).name)}, with controls"
        " for system, tokens, copies, width, latency and number format. Both lines are level at the latency of"
        f" {start / US:g} microseconds, then rise with the bytes; these take as long as the latency at"
        f" {half['scale_out']:.0f} tokens on scale-out and {half['scale_up']:.0f} on scale-up. At {10**TOKENS:.0f}"
        f" tokens they take {significant(time['scale_up'])} and {significant(time['scale_out'])} microseconds."
    )
