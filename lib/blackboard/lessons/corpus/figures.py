"""The corpus lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations` or a fit or run of `simulation`; points are published ones, or our own small
networks'.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from blackboard.catalogue import measurement, model
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, beside, done, note, percent
from blackboard.charts.style import COLOURS
from blackboard.lessons.corpus import equations as eq
from blackboard.lessons.corpus import numbers, simulation
from blackboard.lessons.overtraining import equations as law
from blackboard.units import significant

BILLION, TRILLION = 1e9, 1e12
SMALL = 10  # points: the least that a phone shows well
GROUND = {"fc": "white", "ec": "none", "pad": 0.5, "alpha": 0.85}  # under a text that a line crosses


def _short(value: float, digits: int = 2) -> str:
    """Parameters or tokens in few letters."""
    for scale, letter in ((TRILLION, "T"), (BILLION, "B")):
        if value >= scale:
            return f"{significant(value / scale, digits)} {letter}"
    return f"{significant(value / 1e6, digits)} M"


# --- what the runs were -----------------------------------------------------------------------------------------------


class Trained(NamedTuple):
    """A run of training: its name, parameters and tokens."""

    name: str
    n_active: float
    tokens: float

    @property
    def over(self) -> float:
        """Times past Chinchilla's rule."""
        return law.overtraining(pretrain_tokens=self.tokens, prescribed=law.PRESCRIBED, n_active=self.n_active)


def _runs() -> dict[str, Trained]:
    """The runs that the figures show, by id."""
    of = lambda id, name: Trained(name, model(id).n_active, model(id).training_tokens)
    rows = {row["model"]: row for row in measurement("training_tokens").records()}
    old = rows["Chinchilla 70B"]
    ours = {name: numbers.run(name) for name in (numbers.SMALL, numbers.LARGE)}
    return {
        "120m": Trained(numbers.SMALL, ours[numbers.SMALL]["n_active"], ours[numbers.SMALL]["tokens"]),
        "1b": Trained(numbers.LARGE, ours[numbers.LARGE]["n_active"], ours[numbers.LARGE]["tokens"]),
        "8b": of("llama-3.1-8b", "Llama 3.1 8B"),
        "405b": of("llama-3.1-405b", "Llama 3.1 405B"),
        "chinchilla": Trained("Chinchilla 70B", old["n_active"], old["pretraining_tokens"]),
    }


def _rules(axes, limits: tuple[float, float]) -> None:
    """Chinchilla's rule, a hundred times it, and lines of equal compute."""
    size = np.array(limits)
    for exponent in (20, 22, 24, 26):
        tokens = 10.0**exponent / law.pretrain_compute(n_active=size, pretrain_tokens=1)
        axes.plot(size, tokens, color=COLOURS["muted"], ls=":", lw=1.2, zorder=0)
        at = 10.0**exponent / law.pretrain_compute(n_active=1, pretrain_tokens=1.35e11)
        if 1.2 * limits[0] < at < limits[1] / 2:
            axes.annotate(
                f"$10^{{{exponent}}}$", (at, 1.35e11), (4, 2), textcoords="offset points", color=COLOURS["muted"]
            )
    for times in (1, 100):
        rule = times * law.chinchilla_tokens(prescribed=law.PRESCRIBED, n_active=size)
        axes.plot(size, rule, color=COLOURS["first"], lw=2.2 if times == 1 else 1.4, zorder=1)
        x, y, ha = (4.2e10, 3.0e11, "left") if times == 1 else (1.6e10, 7.0e13, "right")
        text = f"{law.PRESCRIBED} tokens\na parameter" if times == 1 else f"{times} times\nthe rule"
        axes.text(x, y, text, color=COLOURS["first"], ha=ha, va="center", bbox=GROUND)


def _mark_runs(axes) -> None:
    """Each run at its size and tokens, with its name."""
    places = {  # shift in points, and whether the name takes two lines
        "120m": (-5, 0, "right", "top", "\n"),
        "1b": (-12, 9, "right", "top", " "),
        "8b": (-10, 3, "right", "bottom", "\n"),
        "405b": (-9, 0, "right", "center", "\n"),
        "chinchilla": (25, 5, "left", "center", "\n"),
    }
    for id, run in _runs().items():
        colour = "second" if "LLäM" in run.name else "bound"
        axes.plot(run.n_active, run.tokens, "o", color=COLOURS[colour], ms=8, zorder=4)
        x, y, ha, va, gap = places[id]
        name = gap.join(run.name.rsplit(" ", 1))
        more = f"{significant(run.over, 3 if run.over >= 100 else 2)}×"
        said = f"{name}:\n{more}" if id == "1b" else f"{name}: {more}"
        beside(axes, said, (run.n_active, run.tokens), (x, y), colour, ha=ha, va=va, bbox=GROUND, zorder=3)


def opening() -> Drawing:
    """The larger model's published scores against its tokens, and the straight line through them."""
    fig, axes = drawing.axes(5.0, 3.2)
    line = simulation.fit(numbers.LARGE, form="line")
    tokens, scores = line.points.tokens, 100 * np.array(line.points.scores)
    along = np.geomspace(1.5e10, 6e12, 30)
    axes.plot(along, [100 * line.score(each).best for each in along], color=COLOURS["predicted"], lw=1.5, zorder=0)
    axes.plot(tokens, scores, "o", color=COLOURS["measured"], ms=8, zorder=4)
    axes.axvspan(tokens[2], tokens[-1], color=COLOURS["compute"], alpha=0.25, lw=0)
    middle = math.sqrt(tokens[2] * tokens[-1])
    axes.text(middle, 62.4, "two thirds\nof the\ncompute", ha="center", va="bottom")
    for n, shift in ((0, (8, -12)), (2, (-6, 6)), (4, (4, -16))):
        beside(axes, f"{scores[n]:.1f}", (tokens[n], scores[n]), shift, "measured", ha="right" if n == 2 else "left")
    axes.set(xscale="log", xlim=(1.5e10, 6e12), ylim=(62, 70.5), xlabel="tokens of training (log scale)")
    axes.set_ylabel("mean score\nof six tasks (%)")
    axes.set_xticks([1e11, 1e12], ["100 billion", "1 trillion"])
    axes.minorticks_off()
    each = ", ".join(f"{score:.1f}% after {_short(count)}" for count, score in zip(tokens, scores))
    return done(
        fig,
        "fig-corpus-opening",
        "The published scores of LLäMmlein 1B lie near a straight line, which gains the same with every doubling of the"
        " tokens. The last one did not rise.",
        f"Mean score of {numbers.LARGE} on six tasks, 62 to 70.5%, against tokens of training from 15 billion to 6"
        f" trillion on a log scale: {each}. A straight line fits them. A band marks the last two thirds of"
        " the compute, in which the score rises by one point.",
    )


def tokens_and_parameters() -> Drawing:
    """Runs by size and tokens, on log scales, with Chinchilla's rule and lines of equal compute."""
    fig, axes = drawing.axes(5.0, 4.5)
    limits, heights = (3e6, 5e12), (1e11, 1.2e14)
    _rules(axes, limits)
    large = _runs()["1b"]
    compute = law.pretrain_compute(n_active=large.n_active, pretrain_tokens=large.tokens)
    size = math.sqrt(compute / law.pretrain_compute(n_active=1, pretrain_tokens=law.PRESCRIBED))  # by the rule
    axes.plot([large.n_active, size], [large.tokens, law.PRESCRIBED * size], color=COLOURS["second"], lw=1.4, zorder=2)
    axes.plot(size, law.PRESCRIBED * size, "o", color=COLOURS["second"], mfc="white", mew=2, ms=8, zorder=4)
    same = f"same compute:\n{_short(size)}"
    beside(axes, same, (size, law.PRESCRIBED * size), (-14, 6), "second", ha="right", va="center", bbox=GROUND)
    _mark_runs(axes)
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=heights)
    axes.set(xlabel="parameters (log scale)", ylabel="tokens of training (log scale)")
    axes.set_xticks([1e7, 1e8, 1e9, 1e10, 1e11, 1e12], ["10 M", "100 M", "1 B", "10 B", "100 B", "1 T"])
    axes.set_yticks([1e11, 1e12, 1e13, 1e14], ["100 B", "1 T", "10 T", "100 T"])
    axes.minorticks_off()
    axes.set_title("3×: three times the tokens of Chinchilla's rule\ndotted: equal compute, in FLOP", loc="left")
    each = (
        f"{run.name} {_short(run.n_active)} on {_short(run.tokens)}, {significant(run.over, 3)} times the rule"
        for run in _runs().values()
    )
    said = "; ".join(each)
    return done(
        fig,
        "fig-tokens-and-parameters",
        "The two smallest models were trained furthest past Chinchilla's rule. With the compute of LLäMmlein 1B, a"
        " larger model (open circle) could have followed the rule.",
        "Tokens of training from 100 billion to 120 trillion against parameters from 3 million to 5 trillion, both on"
        f" log scales, with a line at {law.PRESCRIBED} tokens a parameter and one at a hundred times that, and dotted"
        f" lines of equal compute. {said}. The two smallest models lie furthest above the rule. A line of equal compute"
        f" leads from LLäMmlein 1B down to an open circle on the rule, at {_short(size)} parameters.",
    )


def loss_parts() -> Drawing:
    """What too small a size and too little data add to the loss of these runs, and of the best run for the 1B's
    compute.
    """
    fig, axes = drawing.axes(5.0, 3.0)
    known, runs = numbers.fitted(), _runs()
    compute = law.pretrain_compute(n_active=runs["1b"].n_active, pretrain_tokens=runs["1b"].tokens)
    size = law.best_size(known, compute_budget=compute)
    best = Trained("best for the\n1B's compute", size, compute / law.pretrain_compute(n_active=size, pretrain_tokens=1))
    rows = [runs["120m"], runs["1b"], best, runs["8b"]]
    phrases = [_draw_parts(axes, n, run, known) for n, run in enumerate(rows)]
    called = [run.name.replace("LLäMmlein", "LLäMml.") for run in rows]
    named = [f"{name}\n{_short(run.n_active)}, {_short(run.tokens)}" for name, run in zip(called, rows)]
    axes.set_yticks(range(len(rows)), named, fontsize=SMALL)
    axes.set(xlim=(0, 1.0), ylim=(len(rows) - 0.4, -1.0), xlabel="loss that could still be removed (nats a token)")
    axes.text(0.37, -0.72, "from size", color=COLOURS["first"], ha="center", va="center")
    axes.text(0.79, -0.72, "from data", color=COLOURS["second"], ha="center", va="center")
    axes.grid(axis="y", visible=False)
    return done(
        fig,
        "fig-loss-parts",
        "In a small model that is trained this long, most of the loss that could still be removed comes from its small"
        " size, and hardly any from too little reading.",
        f"Stacked bars of the loss that Besiroglu's fit of the law adds to the {known['loss_floor']:g} nats a token"
        " that text leaves open, 0 to 0.9: first the part from too small a size, then the part from too little data."
        f" {'; '.join(phrases)}. The smaller the model, the more is due to its size; for the compute of"
        f" LLäMmlein 1B, {_short(size)} parameters on {_short(best.tokens)} tokens would be best, with both parts"
        " alike.",
    )


def _draw_parts(axes, row: int, run: Trained, known: dict[str, float]) -> str:
    """A bar of what too small a size adds to a run's loss, and behind it what too little data adds; both in words."""
    at = known | {"n_active": run.n_active, "pretrain_tokens": run.tokens}
    data = eq.loss_left(at)
    size = law.law_loss(at) - known["loss_floor"] - data
    axes.barh(row, size, 0.62, color=COLOURS["first"], alpha=0.7)
    axes.barh(row, data, 0.62, size, color=COLOURS["second"], alpha=0.8)
    said = [significant(part, 2) for part in (size, data)]
    axes.annotate(" + ".join(said), (size + data, row), (5, 0), textcoords="offset points", va="center")
    return f"{' '.join(run.name.split())} {' and '.join(said)}"


# --- plateaus ---------------------------------------------------------------------------------------------------------


def learning_curves() -> Drawing:
    """The larger model's published scores with two curves that they allow, one without a limit, one that has nearly
    reached the lowest; and the band of all.
    """
    fig, axes = drawing.axes(5.0, 3.4)
    power, line = simulation.fit(numbers.LARGE), simulation.fit(numbers.LARGE, form="line")
    tokens = np.geomspace(1.5e10, 1.2e13, 45)
    band = [power.score(each) for each in tokens]
    low, high = [100 * r.low for r in band], [100 * r.high for r in band]
    axes.fill_between(tokens, low, high, color=COLOURS["first"], alpha=0.15, lw=0)
    axes.plot(tokens, [100 * line.score(each).best for each in tokens], color=COLOURS["first"], lw=2.2)
    bent = 100 * eq.score(power.lowest, pretrain_tokens=tokens)
    axes.plot(tokens, bent, color=COLOURS["second"], ls=(0, (4, 2)), lw=2)
    axes.plot(power.points.tokens, 100 * np.array(power.points.scores), "o", color=COLOURS["measured"], ms=7, zorder=4)
    axes.set(xscale="log", xlim=(1.5e10, 1.2e13), ylim=(60, 75), xlabel="tokens of training (log scale)")
    axes.set_ylabel("mean score\nof six tasks (%)")
    axes.set_xticks([1e11, 1e12, 1e13], ["100 billion", "1 trillion", "10 trillion"])
    axes.minorticks_off()
    note(axes, 0.03, 0.92, "no limit: a straight line", "first")
    note(axes, 0.03, 0.82, f"the lowest limit allowed: {percent(power.limit.low)}", "second")
    note(axes, 0.97, 0.08, f"shaded: all curves allowed at {percent(simulation.LEVEL)}", ha="right")
    return done(
        fig,
        "fig-learning-curves",
        "The five scores allow a straight line without a limit, and a curve that has only one more point to gain.",
        f"Mean score of {numbers.LARGE} on six tasks, 60 to 75%, against tokens from 15 billion to 12 trillion (log"
        " scale): five published points; a straight line through them; a dashed curve that is"
        f" {eq.score(power.lowest, pretrain_tokens=power.points.tokens[-1]):.1%} at the last point and approaches"
        f" {power.limit.low:.0%}; and a band of all saturating powers that the points allow at"
        f" {percent(simulation.LEVEL)}.",
    )


# --- repeated data ----------------------------------------------------------------------------------------------------

SIZES = {"2.8B": ("first", "o"), "4.2B": ("second", "s"), "8.7B": ("third", "^")}


def repeats() -> Drawing:
    """The loss of published runs above that of one pass, with the law's."""
    fig, axes = drawing.axes(5.0, 3.4)
    phrases = [_published(axes, run) for run in SIZES]
    worst = max(abs(each.loss - each.law) for run in SIZES for each in numbers.early(simulation.published(run)))
    axes.set(xscale="log", yscale="log", xlim=(1, 60), ylim=(4e-4, 1.5))
    axes.set(xlabel="passes (log scale)", ylabel="loss above that of\none pass (nats, log)")
    axes.set_xticks([1, 2, 4, 7, 14, 44], ["1", "2", "4", "7", "14", "44"])
    axes.set_yticks([0.001, 0.01, 0.1, 1], ["0.001", "0.01", "0.1", "1"])
    axes.minorticks_off()
    note(axes, 0.03, 0.93, "published runs; lines: the law")
    for n, (run, (colour, marker)) in enumerate(SIZES.items()):
        axes.plot(0.05, 0.83 - 0.1 * n, marker, color=COLOURS[colour], ms=6, transform=axes.transAxes)
        note(axes, 0.08, 0.83 - 0.1 * n, f"{run[:-1]} billion", colour)
    return done(
        fig,
        "fig-repeats",
        "Up to about five passes, the law agrees with real runs. Beyond that, they do worse."
        " (At the bottom, the log scale magnifies tiny differences of the loss.)",
        "Loss above that of one pass, 0.0004 to 1.5 nats, against passes from 1 to 44, both on log scales, of"
        f" published runs and by the law shifted to agree at one: {'; '.join(phrases)}. Up to five passes law and runs"
        f" differ by at most {worst:.3f} nats; beyond, the runs lose more than the law says.",
    )


def _published(axes, run: str) -> str:
    """The runs of one size, with the spread of their seeds, and the law; in words."""
    colour, marker = SIZES[run]
    first, *rest = simulation.published(run)
    high = [max(0.0, each.most - each.loss) for each in rest]
    low = [each.loss - max(each.least, first.loss + 3e-4) for each in rest]
    epochs, measured = [each.epochs for each in rest], [each.loss - first.loss for each in rest]
    axes.errorbar(
        epochs, measured, [np.maximum(0, low), high], fmt=marker, color=COLOURS[colour], ms=6, lw=1.5, zorder=4
    )
    axes.plot(epochs, [each.law - first.loss for each in rest], color=COLOURS[colour], lw=1.8)
    four, last = min(rest, key=lambda each: abs(each.epochs - 4)), rest[-1]
    early = f"{four.loss - first.loss:.3f} at four passes (law {four.law - first.loss:.3f})"
    return f"{run} {early} and {last.loss - first.loss:.2f} at {last.epochs:.0f} (law {last.law - first.loss:.2f})"
