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


def _dot(colour: str) -> dict:
    """A large point: where the reader's choice lies on a curve."""
    return {"type": "point", "filled": True, "opacity": 1, "size": 130, "color": marks.PAINTS[colour]}


def _times(value: str) -> str:
    return marks.said(value, ",.2~r")


def _controls() -> list[dict]:
    """System, racks and the network card's rate, and the ratio that follows."""
    faster = slider("faster", -1, 5, 1, 0, "card's rate ×", base=2)
    links = {
        "scale_up": "machine.scale_up",
        "scale_out": "machine.scale_out * faster",
        "ratio_here": "scale_up / scale_out",
    }
    follow = [row for name, value in links.items() for row in derived(name, value)]
    return [*_systems(), *slider("racks", 2, 16, 1, 2, "racks"), *faster, *follow]


def _layers(encoding: dict, each: str) -> list[dict]:
    """The curve, with the marked system on it."""
    far = "ratio_here > 2"
    bold = {"fontWeight": "bold", "color": marks.PAINTS["total"], "dy": {"expr": f"{far} ? -6 : 14"}} | marks.side(far)
    return [
        marks.line("slowdown", "total", encoding, strokeWidth=4),
        marks.rule(encoding, None, y="1"),
        marks.text(encoding, "'as fast as one rack'", "98", "1", align="right", dy=12),
        marks.text(encoding, f"{_times(each)} + '×'", "ratio_here", each, **bold),
        marks.at(encoding, _dot("total"), x="ratio_here", y=each),  # after its name, which may move
        marks.hover(encoding, "slowdown", {"slowdown": "time"}, ",.3r", ",.3r"),
    ]


def boundary_chart() -> InteractiveChart:
    """Time over several racks, in times of one rack, against the ratio of the two bandwidths; a system is marked."""
    ratio_axis = marks.log_axis("ratio", "scale-up ÷ scale-out bandwidth", 0.1, 100)
    encoding = {"x": ratio_axis, "y": marks.log_axis("slowdown", "time ÷ time in one rack", 0.04, 100)}
    base = sweep("ratio", -1, 2, points=91)
    base["transform"] += [
        {"calculate": "datum.ratio * scale_out", "as": "scale_up"},
        curve(eq.slowdown, "scale_up", "slowdown", "1"),
    ]
    each = f"({eq.slowdown.vega()})"
    layers = _layers(encoding, each)
    params = _controls()
    costs = f"'ratio ' + {_times('ratio_here')} + ': bytes take ' + {_times(each)}"
    here = {"racks": 2} | {name: RUNNING.symbols()[name] for name in ("scale_up", "scale_out")}
    return InteractiveChart(
        {**base, "params": params, "layer": layers, "title": marks.title(f"{costs} + ' times as long'")},
        "Where the rack's boundary hurts",
        "Time of a layer's bytes over several racks, in times of one rack, against the ratio of scale-up to scale-out"
        " bandwidth, both on log scales. The line is level, then rises with the ratio."
        f" The marked {controls.plain(catalogue.system(RUNNING.system).name)} has a ratio of"
        f" {here['scale_up'] / here['scale_out']:g} and takes {eq.slowdown(here):.2g} times as long.",
        "The faster the network card, the less the boundary costs, until (where the line is level) only the copies that"
        " stay on NVLink count. Bytes alone, at the datasheets' rates.",
    )
