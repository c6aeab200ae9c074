"""The pricing lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Every curve is a formula of `equations`, every number in a label or an alt text comes from one, from a price card or
from the catalogue. Prices are those of their date, and the figures say which.
"""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from blackboard import catalogue, units
from blackboard.catalogue.prices import PriceCard
from blackboard.catalogue.running_case import RUNNING, plain
from blackboard.charts import drawing, style
from blackboard.charts.drawing import Drawing, bare, beside, done, name_ends, point
from blackboard.charts.style import COLOURS
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing import numbers, results
from blackboard.text import listed
from blackboard.units import pretty, significant

ACTIVE = numbers.BOARD["n_active"]
CHEAP, HOUR, DAY_LONG = (units.factor(unit) for unit in ("USD/megatoken", "hour", "day"))


def spent(seconds: float) -> str:
    """A time as one would say it: 23 ms, 4.6 min, 9 days."""
    if seconds >= 3 * DAY_LONG:
        return f"{seconds / DAY_LONG:,.0f} days"
    for name, unit in (("days", DAY_LONG), ("h", HOUR), ("min", 60.0)):
        if seconds >= 1.5 * unit:
            return f"{significant(seconds / unit, 2)} {name}"
    return pretty(seconds, "s", 2)


# --- one bill ---------------------------------------------------------------------------------------------------------

LINES = {  # of the bill, as `results.lines` names them: name, and the color of what causes it
    "cached_read": ("cache hits", "kv"),
    "input": ("new input, written to the cache", "compute"),
    "output": ("answer", "memory"),
}


def bill() -> Drawing:
    """One call of a coding agent, line by line: what it is for, and its share of the bill."""
    fig, axes = drawing.axes(5.0, 2.7)
    paid, p, tokens = results.three_lines(), catalogue.price(results.BILLED).usd_per_Mtok, results.CALL
    cents, total = {line: 100 * usd for line, usd in paid.items()}, sum(paid.values())
    asked = {
        "cached_read": f"{tokens['cached_read']:,} at \\${p.cached_read:.2f}",
        "input": f"{tokens['input']:,} at \\${p.cache_write_5min:g}",
        "output": f"{tokens['output']:,} at \\${p.output:g}",
    }
    for row, (line, (name, colour)) in enumerate(LINES.items()):
        axes.barh(-row, cents[line], 0.36, color=COLOURS[colour])
        axes.text(0, 0.37 - row, f"{name}: {asked[line]}", color=COLOURS["bound"], va="center")
        beside(axes, f"{cents[line]:.4g} ¢", (cents[line], -row), (5, 0), colour, va="center")
    axes.text(0, 0.2 - len(LINES), f"the call: {100 * total:.1f} ¢", color=COLOURS["bound"], va="center", weight="bold")
    axes.set(xlim=(0, 11), ylim=(-len(LINES) - 0.1, 0.65))
    axes.axis("off")
    return done(
        fig,
        "fig-bill",
        f"One call, three lines: {paid['cached_read'] / total:.0%} of the bill is for tokens that were sent before."
        f" Prices are per million tokens.",
        "Bars of the bill for one call, in cents: "
        + listed([f"{name} {cents[line]:.4g}" for line, (name, _) in LINES.items()])
        + f"; in all {100 * total:.1f}.",
    )


def conversation() -> Drawing:
    """What each call of a conversation costs its user, in large steps and in small ones: writes and answers stay, hits
    grow from call to call.
    """
    fig, panels = drawing.axes(5.0, 5.4, 2, 1)
    said = []
    for at, parts in zip(panels, (1, numbers.SMALLER)):
        calls = parts * (results.PROMPT // results.CALL["input"])
        step, bills = results.CALL["input"] // parts, results.charged(0)
        write, answer = 100 * (bills["input"] + bills["write"]) / parts, 100 * bills["output"] / parts  # cents
        dollars = catalogue.price(results.BILLED).usd_per_Mtok.cached_read / 1e6
        hits = [100 * step * n * dollars for n in range(calls)]
        edges = np.arange(calls + 1) + 0.5  # of the calls' bars, of which each color is one shape, without seams
        tops = [np.full(calls + 1, below) for below in (0, write, write + answer)]
        tops.append(write + answer + np.array([*hits, hits[-1]]))
        for low, high, colour in zip(tops, tops[1:], ("compute", "memory", "kv")):
            at.fill_between(edges, low, high, step="post", color=COLOURS[colour], lw=0)
        at.set(xlim=(0.5, calls + 0.5), ylim=(0, 15.5), ylabel="cents")
        at.set_xticks([1, *range(6 * parts, calls + 1, 6 * parts)])
        at.set_title(f"{calls} calls of {step:,} new tokens", loc="left")
        middle = write + answer + hits[-1] / 2
        below = [(write / 2, "written", "compute"), (write + answer / 2, "answers", "memory")]
        name_ends(at, [*(below if parts == 1 else []), (middle, "hits: the past,\nsent again", "kv")])
        said.append(
            f"{calls} calls: {write:.4g} written, {answer:.2g} for the answer, hits from none to {hits[-1]:.2g}"
        )
    panels[1].set_xlabel("call")
    return done(
        fig,
        "fig-conversation",
        "Hits make a triangle, because every call sends all of the past. In steps a tenth as large, it is about as high"
        " but made of ten times as many calls.",
        f"Bars for each call, in cents. Above, {said[0]}. Below, {said[1]}.",
    )


# --- the step in the price --------------------------------------------------------------------------------------------


def context_cost() -> Drawing:
    """B13: cost of an output token against context, level and then rising, and the two steps of a price that must
    cover it.
    """
    fig, axes = drawing.axes(5.0, 3.9)
    card = catalogue.price(numbers.STEPPED)
    known, at, ratio = _endless(card.above.tokens), float(card.above.tokens), card.above.output_multiplier
    covers = eq.context_covered(step_context=at, step_ratio=ratio)
    context = np.linspace(0, 500_000, 501)
    memory = eq.memory_ratio_of(known, context=context)
    axes.axhline(1, color=COLOURS["compute"], lw=7, alpha=0.35, zorder=1)
    axes.plot(context, memory, color=COLOURS["kv"], lw=7, alpha=0.35)
    axes.plot(context, np.maximum(1, memory), color=COLOURS["total"], lw=2.2)
    for low, high, level in ((0, at, 1), (at, 500_000, ratio)):
        axes.plot([low, high], [level, level], color=COLOURS["cost"], ls=(0, (4, 2)), lw=2.5, zorder=4)
    axes.fill_between(context, ratio, memory, where=context >= covers, color=COLOURS["kv"], alpha=0.12, lw=0)
    axes.plot([at, covers], [1, ratio], "o", color=COLOURS["bound"], ms=7, zorder=5)
    axes.set(
        xlim=(0, 500_000),
        ylim=(0, 2.6),
        xlabel="context (tokens)",
        ylabel="cost of an output token ÷\ncost of its compute",
    )
    axes.set_xticks(range(0, 500_001, 100_000), ["0", *(f"{n} k" for n in range(100, 501, 100))])
    axes.set_yticks(np.arange(0, 2.6, 0.5))
    point(axes, (at, 1), f"1× covers up to\n{at:,.0f}", (0.68, 0.2))
    point(axes, (covers, ratio), f"{ratio:g}× covers up to\n{covers:,.0f}", (0.3, 0.8))
    name_ends(axes, [(1, "compute", "compute"), (memory[-1], "KV cache", "kv"), (ratio, "price", "cost")])
    beside(axes, "huge batch:\nonly KV counts", (70_000, 0.35), (8, -2), "kv", va="top")
    axes.set_title(f"Price step: {card.model_name}, output, {card.valid_from}", loc="left")
    return done(
        fig,
        "fig-context-cost",
        "As the lecture reads a step: in a large batch an output token costs the same up to the bend, and beyond it the"
        " loading of its KV cache sets the cost."
        f" A price that steps up once, {ratio:g} times, covers that cost only up to {covers:,.0f} tokens.",
        _context_say(card, known, covers),
    )


def _endless(kink: float) -> dict[str, float]:
    """The running machine under the lecture's model, in a batch so large that weights cost nothing, with the KV that
    puts the kink there.
    """
    known = RUNNING.symbols() | {"n_active": ACTIVE, "step_context": kink}
    known["batch"] = 1e9 * step.critical_batch(known)
    return known | {"kv_bytes_per_token": eq.kv_implied(known)}


def _context_say(card: PriceCard, known: dict[str, float], covers: float) -> str:
    above = card.above
    return (
        "Cost of an output token divided by the cost of its compute, against context from 0 to 500,000 tokens, in"
        " a huge batch. Compute is level at 1. Loading the KV cache rises from 0 in proportion to the context. The"
        f" larger of the two bends at {above.tokens:,} tokens, with {ACTIVE / 1e9:g} billion active parameters on"
        f" {plain(catalogue.system(RUNNING.system).name)}. A dashed price with the output step of {card.model_name}"
        f" ({card.valid_from}; {above.output_multiplier:g}× above {above.tokens:,} tokens, input"
        f" {above.input_multiplier:g}×) covers the cost up to {covers:,.0f} tokens and no further. In a"
        " smaller batch, loading the weights would lift the rising line."
    )


# --- reading and writing tokens ---------------------------------------------------------------------------------------


def passes() -> Drawing:
    """What one pass loads and makes: in prefill many tokens of a prompt, in decode a token of each sequence."""
    fig, panels = drawing.axes(5.0, 4.4, 2, 1, height_ratios=(1.3, 1.7))
    made = COLOURS["compute"]
    for at, title in zip(panels, ("prefill: one pass over a prompt", "decode: one pass")):
        _loaded(at, (0, 0.1), 3.2, "weights", "weights")
        at.set_title(title, loc="left")
    for n in range(2 * 11):
        panels[0].add_patch(Rectangle((3.8 + n % 11 * 0.42, n // 11 * 0.42 - 0.05), 0.3, 0.3, color=made))
    panels[0].text(3.8, -0.15, "thousands of tokens", color=made, va="top")
    _loaded(panels[0], (0, -1.3), 7.2, "KV cache of the history", "kv")
    for row in range(3):
        low = -0.8 - 0.8 * row
        _loaded(panels[1], (0, low), 7.2, f"KV cache of conversation {row + 1}", "kv")
        panels[1].add_patch(Rectangle((7.8, low + 0.13), 0.3, 0.3, color=made))
    panels[1].text(8.4, 0.35, "one token of each\nconversation", color=made, ha="right", va="center")
    bare(panels[0], (-0.1, 8.6), (-1.6, 1))
    bare(panels[1], (-0.1, 8.6), (-2.6, 0.9))
    return done(
        fig,
        "fig-passes",
        "In prefill thousands of tokens share one loading of a cache. In decode every token needs its own loading.",
        "Prefill: weights, the KV cache of the history, and many squares, the tokens of a prompt. Decode: weights,"
        " and the KV caches of three conversations, each beside a single square.",
    )


def _loaded(axes, corner: tuple[float, float], width: float, text: str, colour: str) -> None:
    """A bar of bytes that a pass loads, with its name."""
    axes.add_patch(Rectangle(corner, width, 0.56, color=COLOURS[colour], alpha=0.15, lw=0))
    axes.add_patch(Rectangle(corner, width, 0.56, fill=False, ec=COLOURS[colour], lw=1.5))
    axes.text(corner[0] + width / 2, corner[1] + 0.27, text, color=COLOURS[colour], ha="center", va="center")


# --- keeping a cache in HBM -------------------------------------------------------------------------------------------

SHORT, SHOWN = 30.0, 8  # a shorter pause than the call's, s, and of all places so many, examples


def waiting_places() -> Drawing:
    """Some of the rack's places over time: calls that run and caches that wait, after short and after long pauses."""
    fig, panels = drawing.axes(5.0, 4.3, 2, 1, sharex=True)
    places, until, said = results.fitting(results.PROMPT), 150, []
    for at, pause in zip(panels, (SHORT, results.PAUSE)):
        run, rate = results.crowded(pause)
        turn = pause + run
        for row in range(SHOWN):
            starts = np.arange(row / SHOWN - 1, until / turn) * turn
            for left, width, colour in ((0, run, "compute"), (run, pause, "kv")):
                bars = [(start + left, width) for start in starts]  # what is beyond the axis is not seen
                at.broken_barh(bars, (-row - 0.31, 0.62), color=COLOURS[colour], lw=0)
        at.set_title(f"pause of {pause:.0f} s: calls run in {rate * run:,.0f} of {places:,.0f} places", loc="left")
        at.set(xlim=(0, until), ylim=(0.5 - SHOWN, 0.5))
        at.set_yticks([])
        at.grid(visible=False)
        said.append(f"after {pause:.0f} s of waiting, a call runs for {spent(run)}")
    name_ends(panels[0], [(-1.5, "call runs", "compute"), (-4.5, "cache waits", "kv")])
    panels[1].set_xlabel("time (s)")
    return done(
        fig,
        "fig-waiting-places",
        "After short pauses, hundreds of calls compete for the GPUs. After long ones nearly all places wait.",
        f"Bars for {SHOWN} places, from 0 to {until} s. Above, {said[0]}. Below, {said[1]}.",
    )


# --- the receipt and its evidence -------------------------------------------------------------------------------------


def twins() -> Drawing:
    """The bill and the receipt of the call, drawn equally long: how each is divided among the lines."""
    fig, axes = drawing.axes(5.0, 2.7)
    paid, cost = results.three_lines(), results.receipt()
    names, said = {"cached_read": "hits", "input": "new input", "output": "answer"}, []
    shown = {"You pay": (paid, 0.35, 1.05, 1.7, 4), "It costs": (cost, -0.35, -0.9, -1.4, 2)}
    for title, (usd, at, words, head, digits) in shown.items():
        total, left = sum(usd.values()), 0.0
        for line, name in names.items():
            width, colour = usd[line] / total, LINES[line][1]
            axes.barh(at, width, 0.6, left=left, color=COLOURS[colour], ec=style.PAGE["light"]["halo"], lw=1.2)
            text = f"{100 * usd[line]:.{digits}g} ¢"
            if title == "You pay":
                text = f"{name}\n{text}"
            axes.text(left + width / 2, words, text, color=COLOURS[colour], ha="center", va="center")
            left += width
        sum_ = significant(100 * total, max(2, digits - 1))
        axes.text(0, head, f"{title} {sum_} ¢", weight="bold", va="center")
        parts = [f"{name} {usd[line] / total:.0%}" for line, name in names.items()]
        said.append(f"{sum_} cents, of which {listed(parts)}")
    axes.set(xlim=(-0.005, 1.005), ylim=(-1.65, 1.95))
    axes.axis("off")
    return done(
        fig,
        "fig-twins",
        "The bill and the receipt are divided in nearly the same way. The bill is"
        f" {significant(sum(paid.values()) / sum(cost.values()), 2)} times the cost, but both bars are drawn equally"
        " long.",
        f"Two bars of the same length, divided among the lines of our call. Above, what you pay: {said[0]}. Below, what"
        f" it costs on our rack: {said[1]}.",
    )


def suspects() -> Drawing:
    """A token of the answer divided by a hit: on the receipt, and after each change, beside the list's factor."""
    fig, axes = drawing.axes(5.0, 4.0)
    found, p = results.factors(), catalogue.price(results.BILLED).usd_per_Mtok
    names = {
        "receipt": "the receipt",
        "5 min": "a pause of\nfive minutes",
        "1 min": "a pause of\none minute",
        "half": "a pause of\nhalf a minute",
        "flash": "flash, at ten\ntimes its price",
        "booked": "hits pay for\nattention",
    }
    asked = p.output / p.cached_read
    said = {key: f"{value:,.1f}" if value < 9.5 else significant(value, 2) for key, value in found.items()}
    axes.plot([asked, asked], [-len(names), 0.5], color=COLOURS["cost"], ls=(0, (4, 2)), lw=2.2)
    axes.plot([found["receipt"]] * 2, [-len(names), 0], color=COLOURS["total"], lw=1)
    for row, key in enumerate(names):
        colour = "total" if key == "receipt" else "kv"
        axes.plot([found["receipt"], found[key]], [-row, -row], color=COLOURS[colour], lw=2.6)
        axes.plot([found[key]], [-row], "o", color=COLOURS[colour], ms=9)
        right = found[key] >= found["receipt"]
        shift = ((9, 0), "left") if right else ((-9, 0), "right")
        beside(axes, said[key], (found[key], -row), shift[0], colour, ha=shift[1], va="center")
    axes.text(asked, 0.8, f"the list: {asked:g}", color=COLOURS["cost"], ha="center", va="center")
    axes.set(xscale="log", xlim=(0.3, 20_000), ylim=(-len(names) + 0.4, 1.15))
    axes.set_xlabel("answer ÷ hit (log scale)")
    axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    drawing.name_rows(axes, [-row for row in range(len(names))], list(names.values()))
    axes.minorticks_off()
    parts = [f"{name.replace(chr(10), ' ')} {said[key]}" for key, name in names.items()]
    return done(
        fig,
        "fig-suspects",
        "One call, one model: with other choices, a token of the answer costs as much as a hit, or thousands of times"
        " as much.",
        "Points on a log scale, each joined by a line to the receipt's, beside a dashed line at the list's"
        f" {asked:g}. A token of the answer divided by a hit, in cost: {listed(parts)}.",
    )


# --- long contexts ----------------------------------------------------------------------------------------------------


def floors() -> Drawing:
    """What a token of input and of output costs at each context on the running case, and what the price list asks."""
    fig, axes = drawing.axes(5.0, 4.2)
    context = np.geomspace(results.CALL["input"], 1e6, 201)
    card = catalogue.price(results.BILLED)
    least = {"output": results.least_output, "input": results.least_input}
    shown = {"output": ("memory", "output"), "input": ("compute", "input")}
    cost = {name: [of(at) / CHEAP for at in context] for name, of in least.items()}
    for name, (colour, field) in shown.items():
        asked = [getattr(card.rates(at), field) for at in (0, 1e6)]
        axes.plot(context, cost[name], color=COLOURS[colour], lw=2.6)
        edges = [context[0], card.above.tokens, card.above.tokens, 1e6]
        axes.plot(edges, np.repeat(asked, 2), color=COLOURS[colour], ls=(0, (4, 2)), lw=2.2)
        axes.text(5.4e3, asked[0] * 1.12, f"{name}: price", color=COLOURS[colour], va="bottom")
    axes.text(3.2e4, 0.4, "output: cost", color=COLOURS["memory"], ha="right", va="bottom")
    axes.text(3.4e4, 0.05, "input: cost", color=COLOURS["compute"], va="top")
    axes.set(xscale="log", yscale="log", xlim=(context[0], 1e6), ylim=(0.008, 100))
    axes.set(xlabel="tokens of the prompt (log scale)", ylabel="$ per million tokens (log scale)")
    axes.set_xticks([5e3, 2e4, 1e5, 2e5, 1e6], ["5k", "20k", "100k", "200k", "1M"])
    axes.set_yticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
    axes.minorticks_off()
    says = lambda name: f"{name} from {significant(cost[name][0], 2)} to {significant(cost[name][-1], 2)}"
    return done(
        fig,
        "fig-floors",
        "On a machine that we know, cost rises with the context and has no step, unlike the price.",
        "Dollars per million tokens, for prompts of 5,000 to a million tokens, both on log scales. The cost rises all"
        f" the way: {says('input')}, {says('output')}. The price is level at {card.usd_per_Mtok.input:g} and"
        f" {card.usd_per_Mtok.output:g}, with one step at {card.above.tokens:,} tokens.",
    )
