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
from blackboard.charts.drawing import Drawing, beside, done, note
from blackboard.charts.style import COLOURS
from blackboard.lessons.corpus import numbers, simulation
from blackboard.lessons.overtraining import equations as law
from blackboard.units import significant

BILLION, TRILLION = 1e9, 1e12
SMALL = 10  # points: the least that a phone shows well


def _short(value: float, digits: int = 2) -> str:
    """Parameters or tokens in few letters."""
    for scale, letter in ((TRILLION, "T"), (BILLION, "B")):
        if value >= scale:
            return f"{significant(value / scale, digits)}{letter}"
    return f"{significant(value / 1e6, digits)}M"


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
                f"$\\mathregular{{10^{{{exponent}}}}}$",
                (at, 1.35e11),
                (4, 2),
                textcoords="offset points",
                color=COLOURS["muted"],
            )
    for times in (1, 100):
        rule = times * law.chinchilla_tokens(prescribed=law.PRESCRIBED, n_active=size)
        axes.plot(size, rule, color=COLOURS["first"], lw=2.2 if times == 1 else 1.4, zorder=1)
        x, y, ha = (2.9e10, 3.0e11, "left") if times == 1 else (2.1e10, 7.0e13, "right")
        text = f"{law.PRESCRIBED} tokens\na parameter" if times == 1 else f"{times} times\nthe rule"
        axes.text(x, y, text, color=COLOURS["first"], ha=ha, va="center", fontsize=SMALL)


def _mark_runs(axes) -> None:
    """Each run at its size and tokens, with its name."""
    places = {  # shift in points, and whether the name takes two lines
        "120m": (0, 6, "center", "bottom", "\n"),
        "1b": (-23, 2, "right", "center", "\n"),
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
        beside(axes, f"{name}: {more}", (run.n_active, run.tokens), (x, y), colour, ha=ha, va=va, fontsize=SMALL)


def opening() -> Drawing:
    """The larger model's published scores against the dollars of its training, as they seem to flatten."""
    fig, axes = drawing.axes(5.0, 2.1)
    tokens, scores = simulation.checkpoints(numbers.LARGE)
    dollars, points = numbers.paid(), [100 * score for score in scores]
    spent = [dollars * count / tokens[-1] / 1e3 for count in tokens]
    axes.plot(spent, points, "o-", color=COLOURS["measured"], ms=7, lw=1.2)
    axes.axvspan(spent[2], spent[-1], color=COLOURS["cost"], alpha=0.2, lw=0)
    axes.text((spent[2] + spent[-1]) / 2, 63.2, "two thirds of the money:\none point", ha="center", va="bottom")
    for n, shift in ((0, (9, -3)), (2, (0, 8)), (4, (0, 8))):
        beside(axes, f"{points[n]:.1f}", (spent[n], points[n]), shift, "measured", ha="center" if n else "left")
    axes.set(xlim=(0, 1.04 * spent[-1]), ylim=(62.5, 70.5), xlabel="dollars spent on training")
    axes.set_xticks([0, 20, 40, 60, 80, 100], ["0", *(f"{thousand},000" for thousand in (20, 40, 60, 80, 100))])
    axes.set_ylabel("mean score\n(%)")
    each = ", ".join(f"{point:.1f}% for ${1e3 * cost:,.0f}" for point, cost in zip(points, spent))
    return done(
        fig,
        "fig-corpus-opening",
        "The model learned most for the first dollars.",
        f"Mean score of {numbers.LARGE} on six tasks, 62 to 70.5%, against the dollars spent, 0 to 100,000: {each}."
        " The curve rises steeply and flattens. A band marks the last two thirds of the money.",
    )


def doublings() -> Drawing:
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
        "fig-doublings",
        "The published scores of LLäMmlein 1B lie near a straight line, which gains the same with every doubling of the"
        " tokens. The last one did not rise.",
        f"Mean score of {numbers.LARGE} on six tasks, 62 to 70.5%, against tokens of training from 15 billion to 6"
        f" trillion on a log scale: {each}. A straight line fits them. A band marks the last two thirds of"
        " the compute, in which the score rises by one point.",
    )


def text_there_is() -> Drawing:
    """How much text there is, and how much of it runs of training read."""
    fig, axes = drawing.axes(5.0, 3.3)
    kept, runs = {row["kept"]: row for row in measurement("filtering_kept").records()}, _runs()
    german, english, [stock] = kept["LLäMmlein"], kept["FineWeb-Edu"], measurement("text_stock").records()
    texts = [
        ("usable public text\n(estimate)", stock["tokens"], None),
        ("FineWeb\n(English web)", english["pool_tokens"], english["kept_tokens"]),
        ("German web", german["pool_tokens"], german["kept_tokens"]),
    ]
    read = [(runs[id].name, runs[id].tokens) for id in ("8b", "1b", "chinchilla")]
    for row, (_, tokens, filtered) in enumerate(texts):
        ends = [filtered, tokens] if filtered else [stock["least_tokens"], stock["most_tokens"]]
        axes.plot(ends, [row, row], color=COLOURS["first"], lw=2.2, zorder=2)
        axes.plot(tokens, row, "s", color=COLOURS["first"], ms=9, mfc="white", mew=2, zorder=3)
        if filtered:
            axes.plot(filtered, row, "s", color=COLOURS["first"], ms=9, zorder=3)
            beside(axes, f"kept {_short(filtered)}", (filtered, row), (-9, 0), "first", ha="right", va="center")
        said = _short(tokens) if filtered else f"{_short(tokens)}\n(uncertain)"
        beside(axes, said, (ends[-1], row), (10, 0), "first", va="center")
    for row, (_, tokens) in enumerate(read, len(texts)):
        axes.plot(tokens, row, "o", color=COLOURS["second"], ms=8)
        beside(axes, f"read {_short(tokens)}", (tokens, row), (10, 0), "second", va="center")
    axes.set(xscale="log", xlim=(6e10, 1.2e16), ylim=(len(texts) + len(read) - 0.5, -0.6), xlabel="tokens (log scale)")
    axes.set_yticks(range(len(texts) + len(read)), [name for name, *_ in texts + read], fontsize=SMALL)
    axes.set_xticks([1e11, 1e12, 1e13, 1e14, 1e15], ["100B", "1T", "10T", "100T", "1,000T"])
    axes.minorticks_off()
    axes.grid(axis="y", visible=False)
    dots = "; ".join(f"{name} read {_short(tokens)}" for name, tokens in read)
    return done(
        fig,
        "fig-text-there-is",
        "LLäMmlein's makers had about a hundredth of the public text that can be used (squares), and their run (a dot)"
        " was longer than even the unfiltered German web.",
        "Tokens from 60 billion to 12,000 trillion on a log scale. Squares of text: usable public text"
        f" {_short(stock['tokens'])}, with a line from {_short(stock['least_tokens'])} to"
        f" {_short(stock['most_tokens'])}; FineWeb {_short(english['pool_tokens'])}, of which a filter keeps"
        f" {_short(english['kept_tokens'])}; German web {_short(german['pool_tokens'])}, of which"
        f" {_short(german['kept_tokens'])} were kept. Dots of runs: {dots}.",
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
    same = f"same\ncompute:\n{_short(size)}"
    beside(axes, same, (size, law.PRESCRIBED * size), (1, 52), "second", ha="center", va="center", fontsize=SMALL)
    _mark_runs(axes)
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=heights)
    axes.set(xlabel="parameters (log scale)", ylabel="tokens of training (log scale)")
    axes.set_xticks([1e7, 1e8, 1e9, 1e10, 1e11, 1e12], ["10M", "100M", "1B", "10B", "100B", "1T"])
    axes.set_yticks([1e11, 1e12, 1e13, 1e14], ["100B", "1T", "10T", "100T"])
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


# --- repeated data ----------------------------------------------------------------------------------------------------

SIZES = {"2.8B": ("first", "o"), "4.2B": ("second", "s"), "8.7B": ("third", "^")}


def repeats() -> Drawing:
    """The loss of published runs above that of one pass, with the law's."""
    fig, axes = drawing.axes(5.0, 3.4)
    phrases = [_published(axes, run) for run in SIZES]
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
        f" differ by at most {numbers.misses():.3f} nats; beyond, the runs lose more than the law says.",
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
