"""How things look: one palette and one matplotlib style."""

from __future__ import annotations

# Okabe-Ito, colour-blind safe; compute, KV and weights keep the colours of the lecture's board
COLOURS = {
    "compute": "#0072B2",
    "kv": "#D55E00",
    "weights": "#8C5A2B",
    "bound": "#1A1A1A",
    "accent": "#009E73",
    "second": "#CC79A7",
    "third": "#E69F00",
    "muted": "#6B6B6B",
}

# What a text of these colours is written in: at least 4.5 to 1 against the ground, also a tinted one; marks need less
GROUNDS = {"light": "#FFFFFF", "dark": "#121212"}
INKS = {
    "light": {
        **COLOURS,
        "compute": "#005A8C",
        "kv": "#A84800",
        "weights": "#754A22",
        "accent": "#006047",
        "second": "#A63A75",
        "third": "#805700",
        "muted": "#5A5A5A",
    },
    "dark": {
        **COLOURS,
        "compute": "#56B4E9",
        "kv": "#F0792A",
        "weights": "#CB9256",
        "bound": "#E6E6E6",
        "accent": "#1FB88C",
        "muted": "#A3A3A3",
    },
}


def ink(colour: str) -> str:
    """What a text on paper is written in that bears a colour of the palette; any other colour stays."""
    known = {value: name for name, value in COLOURS.items()}
    return INKS["light"][known[colour]] if colour in known else colour


def use() -> None:
    """Set matplotlib's style for the course: quiet axes, readable at phone width, transparent ground."""
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
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
            "font.size": 11,
            "axes.titlesize": 11,
            "axes.labelsize": 11,
            "legend.frameon": False,
            "figure.constrained_layout.use": True,
            "svg.fonttype": "path",
            "svg.hashsalt": "blackboard",
        }
    )


def svg(figure) -> str:
    """A figure as SVG: a sixth of the bytes of a picture in pixels, and sharp at every size."""
    import io

    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    return out.getvalue()


def label(axes, x: float, y: float, text: str, colour: str, **more) -> None:
    """Name a curve where it is, in its own colour, instead of in a legend."""
    axes.annotate(text, (x, y), color=ink(colour), xytext=(4, 4), textcoords="offset points", **more)
