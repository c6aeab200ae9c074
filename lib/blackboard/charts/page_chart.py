"""An interactive chart as a page shows it: what it says, its controls and a still picture are there at once; Vega, to
which it is compiled here, is loaded when a reader first touches it (book/_static/interactive.js).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from blackboard.charts.stills import compile_chart, draw_still
from blackboard.charts.style import COLOURS, INKS, PAGE
from blackboard.text import markup

if TYPE_CHECKING:
    from blackboard.charts.interactive import InteractiveChart

WIDE, NARROW = 476, 358  # pixels of a plot, beside its controls on a screen and above them on a phone
BREAK = 600  # pixels of a window from which on the wide picture is shown
# What each color is in the dark.
DARK = {
    tints[name]: lit
    for tints, dark in ((COLOURS, INKS["dark"]), (INKS["light"], INKS["dark"]), (PAGE["light"], PAGE["dark"]))
    for name, lit in dark.items()
}
TEXT, LINE, GRID = (PAGE["light"][name] for name in ("text", "line", "grid"))
_AXIS = dict.fromkeys(("labelColor", "titleColor"), TEXT) | dict.fromkeys(("domainColor", "tickColor"), LINE)
_CONFIG = {
    "axis": {**_AXIS, "gridColor": GRID, "labelFontSize": 12, "titleFontSize": 13},
    "legend": {"labelColor": TEXT, "titleColor": TEXT},
    "text": {"color": TEXT},
    "rule": {"color": LINE},
    "view": {"stroke": None},
}
SECONDS = " (s)"  # what is called so is a time, which the page writes in the unit that suits it
SIZES = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "days": 86_400, "years": 31_536_000}
TIMES = ((1.5 * SIZES["years"], "years"), (1.5 * SIZES["days"], "days"), (3596, "h"), (90, "min"), (1, "s"), (0, "ms"))
_EXPONENT = re.compile(r" = (\d+)\^$")  # beside a slider the page shows the value


def keep_together(text: str) -> str:
    """A text whose lines do not end beside a sign. Units the build keeps with their numbers, as in all text
    (tools/html_fixes.py); book/_static/interactive.js does both.
    """
    signs = re.sub(r" ([=×÷]) (?=[\d$])", "\u00a0\\1\u00a0", text)
    return re.sub(r"(\d) (?=[×%])", "\\1\u00a0", signs)


def page_html(chart: InteractiveChart) -> str:
    """The figure of the page."""
    spec = page_spec(chart)
    lines = read_lines(spec)
    result, facts = say_lines(lines, chart.spec["usermeta"]["result"])
    can_point = any("tooltip" in layer.get("encoding", {}) for layer in chart.spec.get("layer", ()))
    reads = f' tabindex="0" role="group" aria-label="{escape(chart.title)}: arrow keys read the values"'
    hint = f' <span class="on-screen">{markup(chart.hint)}</span>' if chart.hint else ""
    return (
        f'<figure class="interactive-chart" aria-label="{escape(chart.title)}"><div class="chart-box">'
        f'<p class="chart-result" role="status">{escape(keep_together(result))}</p>{_facts("chart-facts", facts)}'
        f'<div class="chart-plot"{reads if can_point else ""}>{_pictures(spec, chart.alt)}'
        f'<div class="chart-live"></div></div><div class="chart-controls">{_controls(chart.spec)}</div></div>'
        f"{_facts('chart-start', [result[:1].upper() + result[1:], *facts])}"
        f'<script type="application/json" class="chart-spec">{_script(compile_spec(spec))}</script>'
        f"<figcaption>{markup(chart.caption)}{hint}</figcaption></figure>"
    )


# --- What is drawn ----------------------------------------------------------------------------------------------------


def page_spec(chart: InteractiveChart) -> dict[str, Any]:
    """The Vega-Lite of a page: the page shows title and controls itself and knows the colors."""
    spec = {key: value for key, value in chart.spec.items() if key not in ("title", "$schema")}
    title = chart.spec.get("title", {}).get("text", [])
    lines = title["expr"] if isinstance(title, dict) else json.dumps([title] if isinstance(title, str) else title)
    params = [{key: value for key, value in param.items() if key != "bind"} for param in spec.get("params", ())]
    return {
        **spec,
        "params": [*params, {"name": "title_lines", "expr": lines}],
        "background": "transparent",
        "config": _merge(spec["config"], _CONFIG),
        "usermeta": {"result": spec["usermeta"]["result"], "dark": DARK, **_find_drag(chart.spec)},
    }


def _find_drag(spec: dict[str, Any]) -> dict[str, str]:
    """The slider that moves a mark along the x axis: a pointer that drags it in the plot moves the slider."""
    moved = {
        step["calculate"]
        for layer in spec.get("layer", ())
        for step in layer.get("transform", ())
        if step.get("as") == "at_x"
    }
    sliders = [row["name"] for row in spec.get("params", ()) if row.get("bind", {}).get("input") == "range"]
    found = [name for name in sliders if name.removesuffix("_exponent") in moved]
    return {"drags": found[0]} if found else {}


def _merge(base: Any, extra: Any) -> Any:
    """Settings with others put over them."""
    if not (isinstance(base, dict) and isinstance(extra, dict)):
        return extra
    return {**base, **{key: _merge(base.get(key), value) for key, value in extra.items()}}


def compile_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """The Vega of a page's Vega-Lite."""
    return {key: value for key, value in compile_chart(spec).items() if key != "$schema"}


def _script(spec: dict[str, Any]) -> str:
    """JSON that no text in it can end."""
    text = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    return text.replace("</", "<\\/").replace("<!--", "\\u003c!--")


def _pictures(spec: dict[str, Any], alt: str) -> str:
    """The still picture, at the width that the window has for it."""
    wide, narrow = (draw_still(spec, width).replace("currentColor", TEXT) for width in (WIDE, NARROW))
    height = re.search(r'height="(\d+)"', wide)[1]  # type: ignore[index]
    return (
        f'<picture class="chart-still" style="--height: {height}px"><source media="(min-width: {BREAK}px)"'
        f' srcset="{_data(wide)}"><img alt="{escape(alt)}" src="{_data(narrow)}"></picture>'
    )


def _data(svg: str) -> str:
    """A picture as an address; three quarters of base64, once the page is compressed."""
    return f"data:image/svg+xml,{quote(svg, safe='/:;=,()')}"


# --- What it says -----------------------------------------------------------------------------------------------------


def read_lines(spec: dict[str, Any]) -> list[str]:
    """The lines of the title with every control where it starts, as Vega computes them."""
    import vl_convert

    mark = {"type": "text", "text": {"expr": "join(title_lines, '\\n')"}}
    said = {"data": {"values": [{}]}, "params": spec["params"], "mark": mark}
    svg = vl_convert.vegalite_to_svg(json.dumps(said))
    (text,) = re.findall(r"(?s)<text\b[^>]*>(.*?)</text>", svg) or [""]
    return unescape(text).split("\n")


def say_lines(lines: Sequence[str], result: Sequence[int]) -> tuple[str, list[str]]:
    """The result and the facts beside it; the script says them in the same way."""
    chosen = [lines[at] for at in result if -len(lines) <= at < len(lines)]
    facts = "\n".join(line for line in lines if line and line not in chosen)
    told = _whole(re.sub(r"([,:])\n", r"\1 ", facts))
    return ", ".join(filter(None, map(_whole, chosen))), told.split("\n") if told else []


def _facts(name: str, facts: Sequence[str]) -> str:
    """The facts as parts of a paragraph: a line breaks between them first, and then shows no sign between them."""
    return f'<p class="{name}">{" ".join(f"<span>{escape(keep_together(fact))}</span>" for fact in facts)}</p>'


def _whole(text: str) -> str:
    return re.sub(r"[,:]$", "", text)


def pretty(value: float) -> str:
    """A number as the page's script writes it: 1,234, 12,345 or 1.23M."""
    if 100 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    if abs(value) < 1e4:
        return f"{float(f'{value * (1 + 1e-12):.4g}'):.9f}".rstrip("0").rstrip(".")
    rounded = float(f"{value:.3g}")
    power = min(int(math.log10(abs(rounded))) // 3, 4)
    return f"{rounded / 1000**power:,.6g}{' kMBT'[power]}"


def duration(seconds: float) -> str:
    """A time as the page's script writes it: 110 ms, 5 min, 165 days."""
    size, unit = next((size, unit) for size, unit in TIMES if seconds >= size)
    value = seconds / SIZES[unit]
    return f"{value:.0f} {unit}" if value >= 10 else f"{float(f'{value:.2g}'):g} {unit}"


# --- Its controls -----------------------------------------------------------------------------------------------------


def _controls(spec: Mapping[str, Any]) -> str:
    """The two or three controls that matter most, the others under "More", and a button that sets all back."""
    bound = {param["name"].removesuffix("_exponent"): param for param in spec.get("params", ()) if "bind" in param}
    if not bound:
        return ""
    first, digits = spec["usermeta"]["primary"], spec["usermeta"]["digits"]
    made = {name: _control(param, digits.get(name)) for name, param in bound.items()}
    rest = "".join(control for name, control in made.items() if name not in first)
    more = f'<details class="chart-more"><summary>More controls</summary>{rest}</details>' if rest else ""
    shown = "".join(made[name] for name in first)
    return f'{shown}{more}<button type="button" class="chart-reset">Reset</button>'


def _control(param: Mapping[str, Any], digits: int | None) -> str:
    """A control with its name, and for a slider the value that it gives."""
    bind, name = param["bind"], escape(_label(param).removesuffix(SECONDS)).replace(" ×", "\N{NO-BREAK SPACE}×")
    made = _menu(param) if bind["input"] == "select" else _slider(param, digits)
    return f'<div class="chart-control"><label><span class="chart-name">{name}</span>{made}</label></div>'


def _label(param: Mapping[str, Any]) -> str:
    """What a control is called."""
    return _EXPONENT.sub("", param["bind"]["name"])


def _menu(param: Mapping[str, Any]) -> str:
    rows = zip(param["bind"]["options"], param["bind"]["labels"])
    options = "".join(
        f'<option value="{escape(value)}"{" selected" if value == param["value"] else ""}>{escape(text)}</option>'
        for value, text in rows
    )
    return f'<select name="{param["name"]}" autocomplete="off">{options}</select>'


def _slider(param: Mapping[str, Any], digits: int | None) -> str:
    """A slider, and beside it its value; the script writes others to so many digits, as the chart has them."""
    bind, start = param["bind"], param["value"]
    base = _EXPONENT.search(bind["name"])
    is_time = _label(param).endswith(SECONDS)
    value = float(base[1]) ** start if base else start
    text = (duration if is_time else pretty)(round(value) if digits == 0 else value)
    limits = "".join(f' {name}="{bind[name]!r}"' for name in ("min", "max", "step"))
    of_base = (f' data-base="{base[1]}"' if base else "") + (' data-time=""' if is_time else "")
    of_base += f' data-digits="{digits}"' if digits is not None else ""
    return (
        f'<input type="range" name="{param["name"]}"{limits} value="{start!r}"{of_base} aria-valuetext="{text}"'
        f' autocomplete="off"><span>{text}</span>'
    )
