"""The paging lesson's figures. Each function returns a matplotlib Figure, whose `alt` says in words what it shows.

Curves are an approximation of `simulation`; dots and pictures are runs of the allocators and of the simulation.
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from blackboard.catalogue import measurement
from blackboard.charts import drawing
from blackboard.charts.drawing import Drawing, done
from blackboard.charts.style import COLOURS
from blackboard.lessons.paging import numbers, simulation
from blackboard.lessons.paging.allocator import Allocator, Contiguous, OutOfRoom

LONGEST, PAGE = simulation.LONGEST, 16  # tokens of the longest sequence; of a block, vLLM's default
SLOTS = int(simulation.opt13b()["slots"]) // PAGE * PAGE  # of the drawn memory map
DRAWN = 309  # seed of the drawn pieces: as much is used as on average
MIXED, COUNTED = 1_500, 34  # steps before the drawn moment; sequences that then run, as many as fit on average


def _pale(colour: str, share: float) -> tuple[float, ...]:
    """A colour of the palette, mixed with white."""
    return tuple(share * np.array(to_rgb(COLOURS[colour])) + 1 - share)


# --- room -------------------------------------------------------------------------------------------------------------


def _pieces() -> Contiguous:
    """Memory in which each sequence has room for the longest."""
    memory = Contiguous(SLOTS)
    for n, tokens in enumerate(simulation.running(SLOTS // LONGEST, seed=DRAWN)):
        memory.allocate(f"{n}", tokens, LONGEST)
    return memory


def _pages() -> Allocator:
    """The same memory in blocks, on a server that is always full: each sequence takes a block whenever it needs one,
    and the last to come makes way. Seen at the first moment after MIXED steps when COUNTED sequences run and next to
    none is free.
    """
    memory = Allocator(SLOTS // PAGE, PAGE, caching=False)
    left: dict[str, int] = {}
    waiting = iter(enumerate(simulation.trace(requests=1_000)))
    n, request = next(waiting)
    step = 0
    while step < MIXED or len(left) != COUNTED or len(memory.free_blocks) > COUNTED // 3:
        while -(-request.prompt // PAGE) < len(memory.free_blocks):
            memory.allocate(f"{n}", range(request.prompt))
            left[f"{n}"] = request.answer
            n, request = next(waiting)
        for name in list(left):
            while name in left:
                try:
                    memory.append(name, step)
                except OutOfRoom:
                    last = next(reversed(left))
                    memory.free(last)
                    del left[last]
                else:
                    left[name] -= 1
                    break
        for name in [name for name, lacks in left.items() if not lacks]:
            memory.free(name)
            del left[name]
        step += 1
    return memory


def opening() -> Drawing:
    """The same room twice: conversations as long as the mean, and the pieces that were set aside."""
    mean = sum(simulation.lengths("ShareGPT"))
    fig, axes = drawing.axes(5.0, 1.75)
    rows = [("as long as\nthe mean", mean), ("as long as\nthe longest", LONGEST)]
    for line, (_, each) in enumerate(rows):
        for n in range(int(SLOTS / each)):
            axes.barh(line, each - 60, 0.5, n * each + 30, color=COLOURS["kv"], alpha=0.4, lw=0)
    fits = [int(SLOTS / each) for _, each in rows]
    told = f"{fits[0]} conversations of {mean:.0f} tokens", f"Orca ran {fits[1]}, with {LONGEST:,} set aside for each"
    for line, words in enumerate(told):
        axes.text(0, line - 0.3, words, va="bottom")
    axes.set(xlim=(0, SLOTS), ylim=(1.4, -0.7), xlabel="slots of the cache, one for each token")
    axes.set_xticks(range(0, SLOTS, 4_000))
    axes.grid(visible=False)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    drawing.name_rows(axes, range(2), [name for name, _ in rows])
    return done(
        fig,
        "fig-expected",
        "The cache has room for more than four times as many conversations as the server ran.",
        f"Two rows of pieces that fill a cache of {SLOTS:,} slots: {told[0]}, and {told[1]}.",
    )


def reservation() -> Drawing:
    """Memory maps: the same slots with room set aside for the longest sequence, and in blocks."""
    pieces, pages = _pieces(), _pages()
    fig, (above, below) = drawing.axes(5.0, 4.6, 2, 1)
    rows = -(-SLOTS // LONGEST)
    cells = [np.ones((rows * LONGEST // PAGE, 3)) for _ in range(2)]
    for grid in cells:
        grid[: SLOTS // PAGE] = _pale("muted", 0.18)
    faint = [_pale(colour, 0.35) for colour in ("second", "fifth", "fourth", "third")]
    for n, piece in enumerate(pieces.held.values()):
        first, filled = piece.start // PAGE, -(-piece.tokens // PAGE)
        cells[0][first : first + filled] = faint[n % len(faint)]
    for n, table in enumerate(pages.tables.values()):
        cells[1][table] = faint[n % len(faint)]
    average = sum(map(len, pages.tables.values())) / len(pages.tables)
    shown = min(pages.tables.values(), key=lambda table: abs(len(table) - average))  # one of ordinary length
    cells[1][shown] = to_rgb(COLOURS["first"])
    titles = (
        f"one piece each, {LONGEST:,} slots: {len(pieces.held)} sequences",
        f"blocks of {PAGE}: {len(pages.tables)} sequences, one of them dark",
    )
    for at, grid, title in zip((above, below), cells, titles):
        at.imshow(grid.reshape(-1, LONGEST // PAGE, 3), aspect="auto", extent=(0, LONGEST, rows, 0))
        at.set_title(title, loc="left")
        at.set(yticks=[], xticks=[0, 512, 1024, 1536, 2048])
        at.hlines(range(1, rows), 0, LONGEST, color="white", lw=1.5)
        at.grid(visible=False)
        for side in at.spines.values():
            side.set_visible(False)
    spare = SLOTS - len(pieces.held) * LONGEST
    above.text(20, rows - 0.5, f"left over: {spare:,} slots, too few for a piece", va="center")
    below.set_xlabel(f"{SLOTS:,} slots in whole blocks, row by row; grey: empty")
    return done(
        fig,
        "fig-reservation",
        "Reserved in one piece, most of the memory waits for answers that never come. In blocks, nearly all of it"
        " holds tokens, and a sequence is wherever a block was free.",
        f"Two maps of {SLOTS:,} slots of a KV cache, each sequence in a pale colour. With {LONGEST:,} slots in one"
        f" piece for each, {len(pieces.held)} sequences fit, and most of each piece is grey, empty. In blocks of {PAGE}"
        f" tokens, {len(pages.tables)} fit, and hardly anything is grey. The {len(shown)} blocks of one sequence are"
        " dark, all over the map.",
    )


SHORT, LONG = 100, 300  # tokens of two kinds of answers, equally many of each
LOOK, SEEN = 450, 800  # the step at which you look; steps that are drawn


def caught() -> Drawing:
    """Places of a batch that take short and long answers in turn, and those that run when you look."""
    fig, axes = drawing.axes(5.0, 3.2)
    kinds = {SHORT: ("short", "first"), LONG: ("long", "second")}
    found, cycle = [], SHORT + LONG
    for row, shift in enumerate(range(0, cycle, cycle // 4)):
        at, turn = shift - cycle, 0
        while at < SEEN:
            tokens = (SHORT, LONG)[turn % 2]
            left, right = max(0, at), min(SEEN, at + tokens)
            word, colour = kinds[tokens]
            if right > left:
                axes.barh(row, right - left - 4, 0.72, left + 2, color=COLOURS[colour], alpha=0.25)
            if at <= LOOK < at + tokens:
                axes.barh(row, LOOK - at - 2, 0.72, at + 2, color=COLOURS[colour], alpha=0.75)
                axes.barh(row, tokens - 4, 0.72, at + 2, fill=False, edgecolor=COLOURS[colour], lw=2, zorder=2)
                axes.text(SEEN + 15, row, word, color=COLOURS[colour], fontweight="bold", va="center")
                found.append((word, LOOK - at, tokens))
            at, turn = at + tokens, turn + 1
    axes.vlines(LOOK, -0.55, 3.55, color=COLOURS["bound"], lw=2, zorder=3)
    axes.text(LOOK, -0.62, "you look here", color=COLOURS["bound"], ha="center", va="bottom")
    axes.set(xlim=(0, SEEN + 105), ylim=(3.6, -1.15), yticks=[], xticks=range(0, SEEN + 1, 200))
    axes.set_xlabel("decode steps; in each, every running answer gets a token", x=0.5)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    caught_long = [word for word, _, _ in found].count("long")
    return done(
        fig,
        "fig-caught",
        "As many answers are short as long, but of the four that run when you look, three are long. On average, half"
        " of each is written.",
        f"Four rows of answers, in turn {SHORT} and {LONG} tokens long. A vertical line at one step crosses"
        f" {caught_long} long ones and {len(found) - caught_long} short one. What is written so far, left of it, is"
        f" darker: {', '.join(f'{written} of {tokens}' for _, written, tokens in found)} tokens.",
    )


# --- who holds which block --------------------------------------------------------------------------------------------


def _forked() -> list[tuple[str, Allocator]]:
    """The page's own example: Ann's nine tokens, Bob's fork, a token of his, and Ann's end."""
    memory, moments = Allocator(5, 4), []
    seen = lambda said: moments.append((said, deepcopy(memory)))
    memory.allocate("Ann", range(1, 7))
    memory.append("Ann", 7, 8, 9)
    seen("Ann: 6 tokens of prompt, 3 of answer")
    memory.fork("Ann", "Bob")
    seen("Bob forks from Ann: the same blocks")
    memory.append("Bob", 10)
    seen("Bob's token 10: the block is copied for him")
    memory.free("Ann")
    seen("Ann ends: only her last block is free again")
    return moments


def copy_on_write() -> Drawing:
    """Block tables and references as one sequence becomes two: shared, then copied when written."""
    fig, axes = drawing.axes(5.0, 5.2)
    phrases = []
    for n, (title, memory) in enumerate(_forked()):
        top = -3.7 * n
        axes.text(0, top + 0.95, title, va="center")
        for block in range(5):
            _block(axes, 2.9 * block, top, memory, block)
        tables = ",  ".join(f"{name}: {' '.join(map(str, table))}" for name, table in memory.tables.items())
        axes.text(0, top - 1.55, f"tables  {tables}", va="center", color=COLOURS["third"])
        phrases.append(f"{title}; {tables.replace(',  ', ', ')}")
    drawing.bare(axes, (-0.2, 14.4), (-13.1, 1.4))
    return done(
        fig,
        "fig-copy-on-write",
        "A second ending costs one block, not a copy of the whole cache.",
        f"Four moments of an allocator with blocks of 4 tokens. {'. '.join(phrases)}.",
    )


def _block(axes, x: float, y: float, memory: Allocator, block: int) -> None:
    """A block with its tokens, its number and its references."""
    count, size = memory.references.get(block, 0), memory.page_tokens
    inside = next(
        (
            memory.tokens[name][table.index(block) * size :][:size]
            for name, table in memory.tables.items()
            if block in table
        ),
        [],
    )
    colour = "second" if count > 1 else "first" if count else "muted"
    axes.add_patch(Rectangle((x, y - 0.45), 2.5, 0.9, fc=_pale(colour, 0.3), ec=COLOURS[colour], lw=1.4))
    for n, token in enumerate(inside):
        axes.text(x + 2.5 * (n + 0.5) / size, y, token, ha="center", va="center")
    axes.text(
        x + 1.25,
        y - 0.85,
        f"{block}: " + (f"held {count}×" if count else "free"),
        ha="center",
        va="center",
        color=COLOURS[colour],
    )


# --- hit rates --------------------------------------------------------------------------------------------------------


def session() -> Drawing:
    """The input of an agent's session, turn by turn: what was sent before, what is new, and all new pieces together."""
    fig, axes = drawing.axes(5.0, 3.6)
    count, start, growth = simulation.agent()
    turns = np.arange(1, count + 1)
    sent = (start + growth * (turns - 1)) / 1_000
    new = np.array([start, *[growth] * (count - 1)]) / 1_000
    axes.bar(turns, sent - new, 0.8, color=COLOURS["kv"], alpha=0.4)
    axes.bar(turns, new, 0.8, sent - new, color=COLOURS["compute"])
    piles = np.cumsum(new)
    axes.bar(np.full(count, count + 4.5), new - 0.55, 4, piles - new, color=COLOURS["compute"])
    last = float(sent[-1])
    axes.hlines(last, count + 0.6, count + 6.5, color=COLOURS["bound"], ls="--", lw=1.2)
    axes.text(20, 15, "sent before: can hit", ha="center", va="center", fontweight="bold")
    axes.text(13, 62, "new in this turn:\nmust be computed", color=COLOURS["compute"], ha="center", va="center")
    axes.text(count + 7.3, last + 3, "all new pieces together", color=COLOURS["compute"], ha="right", va="bottom")
    axes.set(xlim=(0, count + 7.5), ylim=(0, 96), xticks=[1, 10, 20, count], ylabel="thousand tokens of input")
    axes.set_xlabel("turn", x=0.5 * count / (count + 7.5))
    axes.grid(visible=False, axis="x")
    return done(
        fig,
        "fig-session",
        "In each turn, only a thin cap is new. All caps piled up are just as high as the last prompt.",
        f"Bars of the input of {count} turns, from {start:,} tokens, all new, to {1000 * last:,.0f}. Of each later one"
        f" only the top {growth:,} tokens are new. On the right, all new pieces are piled up:"
        f" {1000 * piles[-1]:,.0f} tokens, as high as the last bar.",
    )


AGENTS, ROOMS = 75, (0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5)  # agents at work at once; rooms in working sets
WAITS = {
    "random": ("first", "random pauses"),
    "long-tailed": ("second", "pauses as Codex's"),
    "regular": ("third", "regular pauses"),
}


def hit_rate_by_cache() -> Drawing:
    """Hit rate of an LRU cache against its size, for pauses of three kinds, simulated and by Che's approximation."""
    fig, axes = drawing.axes(5.0, 4.0)
    whole, fine = simulation.working_set(AGENTS, *simulation.agent()), np.linspace(0.01, 1.5, 76)
    turns, start, growth = simulation.agent()
    found = {}
    for kind, (colour, _) in WAITS.items():
        curve = [
            100 * simulation.che(share * whole, AGENTS, turns, start, growth, simulation.AGENT_PAUSE, kind)
            for share in fine
        ]
        axes.plot(fine, curve, color=COLOURS[colour])
        found[kind] = [100 * simulation.agents(share * whole, kind, AGENTS) for share in ROOMS]
        axes.plot(ROOMS, found[kind], "o", color=COLOURS[colour], ms=6, zorder=4)
    axes.text(0.03, 76, WAITS["long-tailed"][1], color=COLOURS["second"], va="center")
    axes.text(0.6, 43, WAITS["random"][1].replace(" ", "\n"), color=COLOURS["first"], va="center")
    axes.text(0.83, 16, WAITS["regular"][1], color=COLOURS["third"], ha="right", va="center")
    one = found["regular"][ROOMS.index(1.0)]
    axes.set(xlim=(0, 1.55), ylim=(-2, 100), ylabel="input tokens found again (%)")
    axes.set_xlabel(f"cache ÷ working set of {AGENTS} agents")
    at = dict(zip(ROOMS, zip(*found.values())))
    said = lambda share: ", ".join(f"{WAITS[kind][1]} {value:.0f}%" for kind, value in zip(WAITS, at[share]))
    return done(
        fig,
        "fig-hit-rate-by-cache",
        "With random pauses the hit rate grows with the room. With regular pauses, agents find almost nothing until"
        " nearly the whole working set fits. Dots: simulated; lines: an approximation, too high for regular pauses"
        " where the working set only just fits.",
        f"Share of input tokens that a cache finds, against its size up to 1.5 times the working set of {AGENTS} coding"
        f" agents. With half of it: {said(0.5)}. With all of it, regular pauses find {one:.0f}%.",
    )


# --- against reality --------------------------------------------------------------------------------------------------


def gain_ladder() -> Drawing:
    """How many times cheaper a token is in blocks: ideally, less one thing after another, and the ranges of the three
    models: ideal, and measured.
    """
    fig, axes = drawing.axes(5.0, 4.5)
    orca = "Orca (Max)"
    ideal = numbers.ideal("OPT-13B")
    steps = (
        ("OPT-13B: ideal, as computed above", ideal),
        ("sequences as counted in the paper", numbers.gain(orca, slower=False, lost=False)),
        ("attention slowed by the look-ups", numbers.gain(orca, lost=False)),
        ("lost tokens computed again: our prediction", numbers.gain(orca)),
    )
    before = ideal
    for n, (said, gain) in enumerate(steps):
        axes.barh(n, gain, 0.42, color=COLOURS["cost"], alpha=0.75)
        axes.barh(n, before - gain, 0.42, gain, color=COLOURS["muted"], alpha=0.35)
        axes.text(before + 0.1, n, f"{gain:.1f}", va="center")
        axes.text(0, n - 0.27, said, va="bottom")
        before = gain
    [(low, high)] = [
        (row["low_gain"], row["high_gain"])
        for row in measurement("vllm_request_rates").records()
        if row["system"] == orca
    ]
    others = {name: numbers.ideal(name) for name in ("OPT-175B", "OPT-66B")}
    (least, most), end = others.values(), len(steps) + 1
    ranges = ((end - 1, least, most, "cost"), (end, low, high, "measured"))
    for n, left, right, colour in ranges:
        axes.plot([left, right], [n, n], color=COLOURS[colour], lw=3, solid_capstyle="butt")
        axes.plot([left, right], [n, n], "|", color=COLOURS[colour], ms=14, mew=2.5)
    axes.text(0, end - 1.27, "ideal for the other two models", va="bottom")
    axes.text(least - 0.15, end - 1, f"OPT-175B: {least:.1f}", ha="right", va="center", color=COLOURS["cost"])
    axes.text(most + 0.15, end - 1, f"OPT-66B: {most:.1f}", va="center", color=COLOURS["cost"])
    axes.text(0, end - 0.27, f"measured, all three models: {low:g} to {high:g}", va="bottom")
    axes.set(xlim=(0, 8.4), ylim=(end + 0.45, -0.8), yticks=[], xlabel="gain over reserving the longest length (times)")
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    return done(
        fig,
        "fig-gain-ladder",
        "Our sums give gains like the smaller ones that were measured, but do not explain the range. Bars and upper"
        " line: tokens per dollar; lower line: requests per second.",
        f"Four bars that shrink: ideally a token of OPT-13B is {steps[0][1]:.1f} times cheaper,"
        f" {steps[1][1]:.1f} times with the paper's sequences, {steps[2][1]:.1f} with slower attention, and"
        f" {steps[3][1]:.1f} with lost tokens computed again. A line goes from {least:.1f}, the ideal for OPT-175B, to"
        f" {most:.1f}, for OPT-66B. Below, the measured range goes from {low:g} to {high:g}.",
    )
