"""How things look: one palette and one matplotlib style."""

from __future__ import annotations

import re
from pathlib import Path

FONT = "Arial, Liberation Sans, Helvetica, sans-serif"  # of figures and charts, as wide on every machine
_FILES = Path(__file__).resolve().parent / "fonts"  # cut by tools/fonts.py; matplotlib places texts by their widths
_FAMILIES = ["Arimo", "DejaVu Sans"]  # as wide as FONT; the second has what the first lacks
# Letters as far apart as matplotlib placed them; else browsers round each to a pixel, and lines end unevenly.
_EXACT = '<style type="text/css">', '<style type="text/css">text{text-rendering: geometricPrecision} '
_FAMILY = re.compile(r"font-family: ([^;\"]*)")
# Letters of formulas are those of the page's: upright, and italic under a name of its own, so that each has its file.
_MATH = {"upright": "STIX Two Math", "italic": "STIX Two Text"}

_INK, _GREY = "#1A1A1A", "#6B6B6B"

# What a color means, in every figure and chart. Compute, KV and weights keep the colors of the lecture's board.
QUANTITIES = {
    "weights": "#8C5A2B",  # bytes of weights, and the time to load them
    "kv": "#D55E00",
    "compute": "#0072B2",
    "memory": "#8E4FD0",  # memory traffic where weights and KV cache are not told apart; bandwidth
    "network": "#009E73",  # all that is sent between chips; where there are two networks, the scale-up one
    "scale_out": "#00808F",  # the slower network, between racks
    "launch": "#BD8A00",  # kernel launches, the gaps between kernels, the host
    "activations": "#5F7300",
    "cost": "#C2367F",  # dollars, where they are not a part's
    "chosen": "#D0202E",  # the point that the reader's controls choose
    "total": _INK,  # the sum or the larger of the parts: the time of a step, the cost of a token
    "measured": _INK,  # points; what is computed has lines
    "predicted": _GREY,
    "claimed": _GREY,  # what the lecture says
}

# Things of one kind, such as models, engines or number formats: quieter, so that none is taken for a quantity.
CATEGORIES = {
    "first": "#003B62",
    "second": "#C27D78",
    "third": "#764C7A",
    "fourth": "#3B5720",
    "fifth": "#5C95B5",
    "sixth": "#571D16",
}

# Bounds, frames and arrows have ink; what stands behind is muted.
COLOURS = {**QUANTITIES, **CATEGORIES, "bound": _INK, "muted": _GREY}

# What a text of these colours is written in: at least 4.5 to 1 against the ground, also a tinted one. Marks need less;
# in the dark charts draw them in the same colors as texts.
GROUNDS = {"light": "#FFFFFF", "dark": "#121212"}
# What a chart itself is drawn in; the halo keeps a line from running through a name, and nothing else has its color.
PAGE = {
    "light": {"text": "#222832", "line": "#6B7280", "grid": "#DFE3E8", "halo": "#FFFFFE"},
    "dark": {"text": "#E6E6E6", "line": "#8A8F98", "grid": "#3D434D", "halo": GROUNDS["dark"]},
}
_WRITTEN = {
    "weights": ("#754A22", "#CB9256"),
    "kv": ("#A84800", "#F0792A"),
    "compute": ("#005A8C", "#56B4E9"),
    "memory": ("#7E3DBE", "#BC84FE"),
    "network": ("#006047", "#1FB88C"),
    "scale_out": ("#006975", "#2FC4CF"),
    "launch": ("#745300", "#E3B43C"),
    "activations": ("#4F6000", "#92A949"),
    "cost": ("#AF216F", "#FC6DB1"),
    "chosen": ("#BE0020", "#FE746F"),
    "first": ("#003B62", "#A5CBF0"),
    "second": ("#8D4D49", "#CF817B"),
    "third": ("#6A4370", "#BD8FC1"),
    "fourth": ("#3B5720", "#A9CC8C"),
    "fifth": ("#1D6588", "#7C9DBC"),
    "sixth": ("#571D16", "#F0B9AC"),
    **dict.fromkeys((name for name, colour in COLOURS.items() if colour == _INK), (_INK, "#E6E6E6")),
    **dict.fromkeys((name for name, colour in COLOURS.items() if colour == _GREY), ("#5A5A5A", "#A3A3A3")),
}
INKS = {theme: {name: _WRITTEN[name][n] for name in COLOURS} for n, theme in enumerate(GROUNDS)}


def ink(colour: str) -> str:
    """What a text on paper is written in that bears a colour of the palette; any other colour stays."""
    known = {value: name for name, value in COLOURS.items()}
    return INKS["light"][known[colour]] if colour in known else colour


def use() -> None:
    """Set matplotlib's style for the course: quiet axes, readable at phone width, transparent ground."""
    import matplotlib.pyplot as plt
    from matplotlib import font_manager

    if _FAMILIES[0] not in font_manager.fontManager.get_font_names():
        for each in sorted(_FILES.glob("*.ttf")):
            font_manager.fontManager.addfont(each)
    plt.rcParams.update(
        {
            "font.family": _FAMILIES,
            "mathtext.fontset": "custom",
            "mathtext.rm": _MATH["upright"],
            "mathtext.it": f"{_MATH['italic']}:italic",
            "mathtext.bf": f"{_FAMILIES[0]}:bold",
            "mathtext.cal": _FAMILIES[0],  # not used, but looked for
            "figure.figsize": (6.4, 3.8),
            "figure.dpi": 110,
            "savefig.transparent": False,
            "figure.facecolor": "white",
            "axes.facecolor": "white",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "grid.linewidth": 0.6,
            "lines.linewidth": 2.0,
            "ytick.alignment": "center",  # by the baseline, numbers hang below their ticks
            "font.size": 11,
            "axes.titlesize": 11,
            "axes.labelsize": 11,
            "legend.frameon": False,
            "figure.constrained_layout.use": True,
            "svg.fonttype": "none",
            "svg.hashsalt": "blackboard",
        }
    )


def svg(figure) -> str:
    """A figure as SVG: a sixth of the bytes of a picture in pixels, and sharp at every size."""
    import io

    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    drawn = out.getvalue().replace(*_EXACT, 1)
    return _FAMILY.sub(lambda told: f"font-family: {_family(told[1])}", drawn)


def _family(named: str) -> str:
    """The fonts of a text for which matplotlib names one: a formula's, or else all others'."""
    return next((f"{each}, Cambria Math, serif" for each in _MATH.values() if each in named), FONT)


def label(axes, x: float, y: float, text: str, colour: str, **more) -> None:
    """Name a curve where it is, in its own colour, instead of in a legend."""
    axes.annotate(text, (x, y), color=ink(colour), xytext=(4, 4), textcoords="offset points", **more)
