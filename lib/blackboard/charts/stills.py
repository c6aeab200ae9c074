"""Still pictures of interactive charts: every control where it starts."""

from __future__ import annotations

import re
from typing import Any

from blackboard.charts.names import place_names
from blackboard.charts.style import FONT, PAGE

PICTURED = re.compile(
    r' (?:aria-[a-z]+|role|class|pointer-events|stroke-miterlimit)="[^"]*"| (?:stroke-|fill-)?opacity="1"'
)

POINT = re.compile(r"([ML])(-?[\d.]+),(-?[\d.]+)")
LINES = re.compile(rf' d="((?:{POINT.pattern.replace("(", "(?:", 3)})+)"')
NAMED = re.compile(r' class="mark-text role-mark[^"]*"')
_FAMILY = f' font-family="{FONT}"'
_HALO = f' stroke="{PAGE["light"]["halo"]}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'


# Dots at the edge of the plot are drawn whole; those beyond it stay hidden.
DOTS_CLIP = {"path": {"signal": "'M-8,-8H' + (width + 8) + 'V' + (height + 8) + 'H-8Z'"}}
# Unseen, it keeps their room at the right: else the plot would shrink while a dot is there.
DOTS_ROOM = {
    "type": "rule",
    "aria": False,
    "encode": {"update": {"x": {"signal": "width + 8"}, "opacity": {"value": 0}}},
}


def compile_chart(spec: dict[str, Any], version: str | None = None) -> dict[str, Any]:
    """The Vega of a chart's Vega-Lite, with room around the plot for half a dot."""
    import vl_convert

    vega = vl_convert.vegalite_to_vega(spec, vl_version=version)
    for mark in vega["marks"]:
        pointed = "tooltip" in mark.get("encode", {}).get("update", {})  # unseen: no room for it beside the plot
        if mark["type"] == "symbol" and mark.get("clip") and not pointed:
            mark["clip"] = DOTS_CLIP
    if any(mark.get("clip") is DOTS_CLIP for mark in vega["marks"]):
        vega["marks"].append(DOTS_ROOM)
    return vega


def draw_still(spec: dict[str, Any], width: int, version: str | None = None) -> str:
    """A Vega-Lite chart as SVG, so wide. Nobody can point at it: what only answers the pointer is left out."""
    import vl_convert

    still = {**spec, "width": width, "config": {**spec["config"], "aria": False}}
    if "layer" in still:
        still["layer"] = [layer for layer in still["layer"] if "tooltip" not in layer.get("encoding", {})]
    svg = place_names(vl_convert.vega_to_svg(compile_chart(still, version)))
    svg = svg.replace(_FAMILY, "").replace("<svg", f"<svg{_FAMILY}", 1)  # one font for all
    return re.sub(r"<[^>]+>", lambda tag: _slim(tag[0]), svg)


def _slim(tag: str) -> str:
    """An SVG tag without what a picture does not need: roles, classes, empty paths, digits below a tenth of a pixel.
    How much shines through a mark stays.
    """
    if tag.startswith("<path") and re.search(r' d=""| d="M0,0h0v0h0Z"', tag):
        return ""
    tag = PICTURED.sub("", NAMED.sub(_HALO, tag))
    tag = re.sub(r'(?<!opacity=")\d+\.\d{2,}', lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), tag)
    return LINES.sub(lambda found: f' d="{_steps(found[1])}"', tag)


def _steps(line: str) -> str:
    """A line by its steps, which are shorter than its places."""
    steps, x, y = [], 0, 0  # in tenths of a pixel, so that no step adds an error to the next
    for way, *place in POINT.findall(line):
        right, down = (round(10 * float(each)) for each in place)
        steps.append(f"M{right / 10:g},{down / 10:g}" if way == "M" else f"l{(right - x) / 10:g},{(down - y) / 10:g}")
        x, y = right, down
    return "".join(steps)
