"""What the planner's page shows beside prose: the form, and links that load a worked example into it."""

from __future__ import annotations

import hashlib
from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlencode

from blackboard.charts.style import COLOURS, INKS, QUANTITIES
from blackboard.page.summary import Page, table
from blackboard.planner.examples import best_of_each, distance, fields, usd, written
from blackboard.planner.script import script
from blackboard.prediction.serving import ServingPrediction

VERSION = 1  # of the address


def form() -> Page:
    """The form, which the script wakes; its hash renews the page when the script or its style is another."""
    made = hashlib.sha256((script() + style()).encode()).hexdigest()[:12]
    html = files(__package__).joinpath("form.html").read_text("utf8")
    return Page(html.replace('id="plan"', f'id="plan" data-script="{made}"'))


def style() -> str:
    """The style sheet, after the colors of quantities."""
    light, dark = (
        "; ".join(f"--{name}: {tints[name]}" for name in (*QUANTITIES, "muted")) for tints in (COLOURS, INKS["dark"])
    )
    colors = f'.planner {{ {light}; }}\n@media screen {{ html[data-theme="dark"] .planner {{ {dark}; }} }}\n'
    return colors + files(__package__).joinpath("planner.css").read_text("utf8")


def load(name: str) -> Page:
    """A link that puts a worked example into the form."""
    return Page(f'<p><a class="planner-example" href="{escape(address(name))}">Load this into the planner</a></p>')


def address(name: str) -> str:
    """The address of an example."""
    return f"?{urlencode({'plan': VERSION} | fields(name))}#plan"


FITTED_ON = {"chip": "this chip", "generation": "a chip of this generation", "engine": "other chips"}


def compared() -> Page:
    """The chips of the first question, the cheapest first."""
    heads = ("Chips", "Sharding", "Users", "Tokens/s per chip", "$ per million tokens", "Constants from runs on")
    caption = "The best of each chip for Llama 70B at the promised speed, at the rents of three-year contracts"
    return table(caption, heads, map(_compared_row, best_of_each()))


def _compared_row(found: ServingPrediction) -> tuple[str, ...]:
    layout, users = found.server.layout, f"{found.server.users:,.0f}"
    name = escape(layout.chip.name).replace(" W)", "&nbsp;W)")  # as in (HGX, 1000 W)
    sharding = f"{layout.chips} × {name}", f"TP {layout.tensor}"
    return (
        *sharding,
        users,
        written(found.tokens_per_s_per_chip),
        usd(found.usd_per_mtok),
        FITTED_ON[distance(found)],
    )


def write(folder: Path) -> None:
    """Write the script and the style sheet."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "planner.js").write_text(script(), "utf8")
    (folder / "planner.css").write_text(style(), "utf8")
