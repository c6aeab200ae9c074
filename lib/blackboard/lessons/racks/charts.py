"""The racks lesson's interactive chart: where the rack's boundary starts to hurt.

A chart's signals bear the names of the notation, so that every formula is printed into it as it stands.
"""

from __future__ import annotations

from blackboard import catalogue, units
from blackboard.catalogue.running_case import RUNNING
from blackboard.charts import controls, marks
from blackboard.charts.interactive import InteractiveChart, curve, derived, menu, slider, sweep
from blackboard.lessons.racks import equations as eq

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
UP = "network"
GBS = units.factor("GB/s")


def _systems() -> list[dict]:
    """A menu of systems, and the symbols of their links."""
    table = {
        id: {name: value for name, value in controls.machine(id, LINKS).items() if name in ("name", *LINKS)}
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
    return {"type": "point", "filled": True, "opacity": 1, "size": 130, "color": marks.PAINTS[colour]}


_RATES = f"machine.name + ': scale-up ' + {_rate('scale_up')} + ', scale-out ' + {_rate('scale_out')} + ' GB/s per GPU'"


def _times(value: str) -> str:
    return marks.said(value, ",.3~r")


def _controls() -> list[dict]:
    """System, racks and the network card's rate, and the ratio that follows."""
    faster = slider("faster", -1, 5, 1, 0, "network card: its rate ×", base=2)
    links = {
        "scale_up": "machine.scale_up",
        "scale_out": "machine.scale_out * faster",
        "ratio_here": "scale_up / scale_out",
    }
    follow = [row for name, value in links.items() for row in derived(name, value)]
    return [*_systems(), *slider("racks", 2, 16, 1, 2, "racks"), *faster, *follow]


def _layers(encoding: dict, here: str, hurts: str) -> list[dict]:
    """The slowdown with the marked system, and the ratio from which it hurts."""
    return [
        marks.line("slowdown", "total", encoding, strokeWidth=4),
        marks.rule(encoding, None, y="1"),
        marks.rule(encoding, UP, x=hurts),
        marks.text(encoding, "'as fast as one rack'", "0.1", "1", align="left", dx=4, dy=-8),
        marks.text(encoding, f"'hurts from ' + {_times(hurts)} + ' on'", hurts, "0.06", align="left", dx=6),
        marks.at(encoding, _dot("chosen"), x="ratio_here", y=here),
        marks.text(
            encoding,
            f"machine.name + ': ' + {_times(here)} + '×'",
            "ratio_here",
            here,
            fontWeight="bold",
            **marks.side("ratio_here > 3") | {"dy": {"expr": "ratio_here > 3 ? -6 : 8"}},
        ),
        marks.hover(encoding, "slowdown", {"slowdown": "time ÷ one rack"}, ",.3r", ",.3r"),
    ]


def boundary_chart() -> InteractiveChart:
    """Time over several racks, in times of one rack, against the ratio of the two bandwidths; a system is marked."""
    ratio_axis = marks.log_axis("ratio", "scale-up ÷ scale-out bandwidth", 0.1, 100, "~g")
    encoding = {"x": ratio_axis, "y": marks.log_axis("slowdown", "time ÷ time in one rack", 0.04, 100, "~g")}
    base = sweep("ratio", -1, 2, points=91)
    base["transform"] += [
        {"calculate": "datum.ratio * scale_out", "as": "scale_up"},
        curve(eq.slowdown, "scale_up", "slowdown", "1"),
    ]
    here, hurts = f"({eq.slowdown.vega()})", f"({eq.ratio_hurts.vega()})"
    layers = _layers(encoding, here, hurts)
    params = _controls()
    said = f"racks + ' racks: ' + {marks.said(eq.leaving.vega(), '.0%')} + ' of the traffic leaves its rack'"
    costs = f"'ratio ' + {_times('ratio_here')} + ': a layer takes ' + {_times(here)} + ' times as long as in one rack'"
    found = eq.slowdown(RUNNING, racks=2)
    ratio = RUNNING.symbols()["scale_up"] / RUNNING.symbols()["scale_out"]
    return InteractiveChart(
        {**base, "params": params, "layer": layers, "title": marks.title(_RATES, said, costs)},
        "Where the rack's boundary hurts",
        "Time of a layer's traffic over several racks, in times of one rack, against the ratio of scale-up to"
        " scale-out bandwidth from 0.1 to 100, both on log scales, with controls for system, racks and the rate of the"
        " network card. The line is level, then rises with the ratio; with two racks it passes 1 at"
        f" {eq.ratio_hurts(racks=2):g}. The marked {controls.plain(catalogue.system(RUNNING.system).name)} has a ratio"
        f" of {ratio:g} and takes {found:g} times as long.",
        "Every GPU keeps its tokens, every copy is spread and crosses on its own. Try how much faster the network card"
        " would have to be.",
    )
