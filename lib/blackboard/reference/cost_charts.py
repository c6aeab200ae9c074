"""The charts of the cost cards: bills by part, a bill against its turns, a step in the price, and two cards to
compare.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from matplotlib.transforms import blended_transform_factory

from blackboard.catalogue import PriceCard, price
from blackboard.charts import drawing, marks
from blackboard.charts.drawing import Drawing, done, name_ends, point
from blackboard.charts.interactive import InteractiveChart, curve, decades, derived, inside, menu, slider, sweep
from blackboard.charts.style import COLOURS
from blackboard.reference.bills import (
    DAY,
    GROWING,
    MTOK,
    SEEN,
    THOUSAND,
    Bill,
    Workload,
    asked_once,
    bill,
    closed,
    current,
    doubts,
    name,
    ranked,
    shown,
    stale,
    usd,
    workloads,
)
from blackboard.reference.equations import PARTS, request_cost

INKS = {"input": "first", "written": "third", "hits": "fourth", "output": "second", "storage": "fifth"}
CAPTIONS = {
    "chat": (
        "A chat of four turns: parts of its cost, and its cost. Dates are those from which a card was seen; grey"
        " cards were not seen lately."
    ),
    "agent": "For a coding agent the price of a hit decides. Parts of the bill, and the bill.",
    "document": "Questions about one document within an hour: parts of the cost, and the cost.",
    "batch": "A thousand single requests in a batch: parts of the cost, and the cost.",
}
ROW, FAINT = 0.3, 0.4  # inches; how solid the bars of cards are that were not seen for long


def _named(found: Bill) -> str:
    """A row's name: card, month, and a mark where a price is uncertain."""
    return f"{name(found.card)}{' ?' if doubts(found) else ''}, {found.card.valid_from[:7]}"


def _bars(at: Any, found: list[Bill]) -> None:
    """A bar for each bill, cut by its parts in percent."""
    for n, one in enumerate(found):
        left = 0.0
        for part in PARTS:
            at.barh(
                n,
                share := 100 * one.share(part),
                left=left,
                height=0.72,
                color=COLOURS[INKS[part]],
                lw=0,
                alpha=FAINT if stale(one.card) else 1,
            )
            left += share
    at.set(xlim=(0, 100), ylim=(len(found) - 0.4, -0.6), xlabel="% of the cost")
    at.set_yticks(range(len(found)), [_named(one) for one in found], fontsize=10)
    for label, one in zip(at.get_yticklabels(), found):
        label.set_color(COLOURS["muted"] if stale(one.card) else "black")
    at.set_xticks([0, 50, 100])
    at.tick_params(axis="y", length=0)
    at.grid(False)


def _key(at: Any, found: list[Bill]) -> None:
    """What the colours mean, in the order of the bars' parts, across the figure."""
    place, across = 0.03, blended_transform_factory(at.figure.transFigure, at.transAxes)
    for part in (part for part in PARTS if any(one.parts[part] for one in found)):
        word = drawing.key(at, place, 1, part, INKS[part], up=10, within=across, fontsize=10)
        word.set_in_layout(place == 0.03)  # one of them keeps room above, the others would narrow the bars
        place += 0.07 + 0.017 * len(part)


def _totals(at: Any, found: list[Bill]) -> None:
    """A dot for each bill on a log axis, with its dollars."""
    totals = [one.total for one in found]
    at.hlines(range(len(found)), min(totals) / 2, totals, color=COLOURS["muted"], lw=1, alpha=0.5)
    for n, one in enumerate(found):
        ink = COLOURS["muted" if stale(one.card) else "bound"]
        at.plot(one.total, n, "o", color=ink, mfc="white" if stale(one.card) else ink, ms=5)
        at.annotate(
            usd(one.total),
            (one.total, n),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=10,
            color=COLOURS["muted"] if stale(one.card) else "black",
        )
    at.set(
        xscale="log", xlim=(min(totals) / 2, max(totals) * 12), ylim=(len(found) - 0.4, -0.6), xlabel="$ (log scale)"
    )
    at.set_yticks([])
    at.xaxis.set_major_formatter("{x:g}")
    at.grid(False)


def chart(workload: str) -> Drawing:
    """What one workload costs on the chart's cards: parts in percent, and the total, the dearest first."""
    load = workloads()[workload]
    found = ranked(load, shown())
    fig, (left, right) = drawing.axes(5.0, 1.1 + ROW * len(found), 1, 2, width_ratios=(1.25, 1))
    fig.set_layout_engine("constrained", wspace=0.12)
    _key(left, found)
    _bars(left, found)
    _totals(right, found)
    return done(fig, f"fig-cost-{workload}", CAPTIONS[workload], _chart_says(load, found))


def _chart_says(load: Workload, found: list[Bill]) -> str:
    used = [part for part in PARTS if any(one.parts[part] for one in found)]
    span = lambda part: (
        f"{part} {min(one.share(part) for one in found):.0%} to {max(one.share(part) for one in found):.0%}"
    )
    task = f"{load.tasks:,} requests" if load.tasks > 1 else "one task"
    asked = "; a question mark is an uncertain price" if any(map(doubts, found)) else ""
    grey = sum(stale(one.card) for one in found)
    return (
        f"{load.what.capitalize()} on {len(found)} price cards current on {DAY}, the dearest first: what {task} would"
        f" cost, and its parts in percent{asked}; {grey} in grey were last seen before {SEEN}. From {_named(found[0])},"
        f" {usd(found[0].total)}, to {_named(found[-1])}, {usd(found[-1].total)}. Parts: {', '.join(map(span, used))}."
    )


TURNS = 60


def grows() -> Drawing:
    """An agent's bill against its turns, with a cache and without: lines by the closed forms, dots counted turn by
    turn.
    """
    fig, axes = drawing.axes(5.0, 3.4)
    card, load = price(GROWING), workloads()["agent"]
    numbers = range(1, TURNS + 1)
    ends = []
    for cached, colour, what in ((False, "first", "no cache"), (True, "second", "cached")):
        line = [closed(card, load, n, cached) for n in numbers]
        axes.plot(numbers, line, color=COLOURS[colour])
        dots = range(5, TURNS + 1, 5)
        axes.plot(
            dots, [bill(card, replace(load, turns=n), cached).total for n in dots], "o", ms=4.5, color=COLOURS[colour]
        )
        ends.append((line[-1], what, colour))
    axes.axvline(load.turns, color=COLOURS["muted"], lw=1, ls=(0, (4, 3)))
    axes.set(
        xlim=(0, TURNS),
        ylim=(0, None),
        xlabel="turns",
        ylabel="cost of the task ($)",
        title=f"{name(card)}, {card.valid_from}",
    )
    axes.title.set_ha("left"), axes.title.set_x(0)
    point(axes, (load.turns, 0.6 * ends[0][0]), f"measured median:\n{load.turns} turns", (0.27, 0.8), "measured")
    name_ends(axes, ends)
    with_, without = (bill(card, load, cached).total for cached in (True, False))
    return done(
        fig,
        "fig-cost-turns",
        "Without a cache an agent's bill grows with the square of its turns. Lines are the formula, dots are counted.",
        f"Cost of the coding agent's task on {name(card)} ({card.valid_from}) against turns from 1 to {TURNS}. Without"
        f" a cache it grows with the square of the turns, to {usd(ends[0][0])}; with one it grows far more slowly, to"
        f" {usd(ends[1][0])}. At the measured median of {load.turns} turns it is {usd(without)} and {usd(with_)}. Lines"
        " are closed forms; dots, counted turn by turn, lie on them.",
    )


STEPS = {
    "claude-fable-5.2@2026-11": "first",
    "gemini-3.1-pro-preview@2026-02-19": "second",
    "gpt-5.5@2026-04-23": "third",
    "claude-haiku-5.5@2026-10-07": "fourth",
}
SHORTEST, LONGEST = 50_000, 400_000


def steps() -> Drawing:
    """Cost of one uncached request against its length, on cards with a step and without."""
    fig, axes = drawing.axes(5.0, 3.6)
    answer, ends = workloads()["document"].answer, []
    for id, colour in STEPS.items():
        card = price(id)
        edge = [card.above.tokens, card.above.tokens + 1] if card.above else []
        lengths = sorted([*range(SHORTEST, LONGEST + 1, 10_000), *edge])
        line = [asked_once(card, n, answer) for n in lengths]
        axes.plot(lengths, line, color=COLOURS[colour], ls="-" if card.above else (0, (5, 2)))
        ends.append((line[-1], name(card), colour))
    axes.set(yscale="log", xlim=(SHORTEST, LONGEST), xlabel="tokens of the prompt", ylabel="cost of one request ($)")
    axes.set_xticks(range(100_000, LONGEST + 1, 100_000), [f"{n} k" for n in range(100, LONGEST // 1000 + 1, 100)])
    axes.yaxis.set_major_formatter("{x:g}")
    name_ends(axes, ends, 0.08)
    said = "; ".join(_step_says(price(id), answer) for id in STEPS)
    span = f"from {SHORTEST:,} to {LONGEST:,} tokens, on a log scale"
    return done(
        fig,
        "fig-cost-steps",
        "One token past a card's step makes the whole request dearer. Cost of one request without a cache.",
        f"Cost of one uncached request with an answer of {answer} tokens against its prompt {span}. {said}.",
    )


def _step_says(card: PriceCard, answer: int) -> str:
    if card.above is None:
        return (
            f"{name(card)} has no step: {usd(asked_once(card, SHORTEST, answer))} to"
            f" {usd(asked_once(card, LONGEST, answer))}"
        )
    below, beyond = (asked_once(card, card.above.tokens + n, answer) for n in (0, 1))
    return f"{name(card)} jumps at {card.above.tokens:,} tokens from {usd(below)} to {usd(beyond)}"


# --- interactive chart ------------------------------------------------------------------------------------------------

OPEN, OTHER = "gemini-3.8-flash@2026-09-20", "kimi-k2-0905@2026-06-12"
ASKED = "USD/kilosequence"
START = {"prompt_tokens": 32_000, "answer_tokens": 400}  # of a request
NEVER = 1e12  # a step that no prompt reaches
FIELDS = {"hit_price": "hit", "write_price": "write", "output_price": "output"}
PLAIN = "input"  # said, but not in the formula: what is new is charged as a write where the card charges for writing


def _menu_rows() -> dict[str, dict[str, Any]]:
    """What the browser must know of each current card: USD per million tokens, and its step."""
    rows = {}
    for card in sorted(current(), key=lambda c: c.id):
        p, step = card.usd_per_Mtok, card.above
        hit = p.input if p.cached_read is None else p.cached_read
        rows[card.id] = {
            "name": name(card),
            "date": card.valid_from,
            "input": p.input,
            "hit": hit,
            "write": p.cache_write_5min or p.input,
            "output": p.output,
            "hits": int(p.cached_read is not None),
            "writes": int(p.cache_write_5min is not None),
            "batches": int(card.batch_multiplier is not None),
            "step": step.tokens if step else NEVER,
            "up": step.input_multiplier if step else 1,
            "out": step.output_multiplier if step else 1,
            "batch": card.batch_multiplier or 1,
        }
    return rows


def _of(which: str) -> dict[str, str]:
    """Signals of a card: its prices as the prompt's length and the batch make them, USD per token."""
    row = f"cards[{which}]"
    far = lambda times: f"(prompt_tokens > {row}.step ? {row}.{times} : 1)"
    return (
        {
            f"{which}_{short}": f"{row}.{short} * {far('out' if short == 'output' else 'up')} / {MTOK!r}"
            for short in FIELDS.values()
        }
        | {f"{which}_new": f"{row}.{PLAIN} * {far('up')} / {MTOK!r}"}
        | {f"{which}_batch": f"(waits == 'yes' ? {row}.batch : 1)"}
    )


def _bound(which: str) -> dict[str, str]:
    """The fields of the formula on a card, by signal."""
    return {field: f"{which}_{short}" for field, short in FIELDS.items()} | {"batch_factor": f"{which}_batch"}


def _controls() -> list[dict]:
    """Menus for two cards and for waiting, sliders for the request, and what follows."""
    rows = _menu_rows()
    count = Counter(row["name"] for row in rows.values())  # a date only where it tells cards apart: a menu is narrow
    names = {id: row["name"] + f" ({row['date']})" * (count[row["name"]] > 1) for id, row in rows.items()}
    at = lambda which, share: inside(request_cost, ASKED, hit_rate=share, **_bound(which))
    follows = (
        _of("card")
        | _of("other")
        | {
            "here": at("card", "share / 100"),
            "there": at("other", "share / 100"),
            "top": f"1.15 * max({at('card', '0')}, {at('other', '0')})",
        }
    )
    return [
        {"name": "cards", "value": rows},
        *menu("card", names, OPEN, "card"),
        *menu("other", names, OTHER, "compared with"),
        *menu("waits", {"no": "no", "yes": "yes, in a batch"}, "no", "may wait"),
        *decades("prompt_tokens", START["prompt_tokens"], 2.5, 1.4, "input tokens"),
        *decades("answer_tokens", START["answer_tokens"], 1.6, 2.4, "output tokens"),
        *slider("share", 0, 100, 1, 94, "% from the cache"),
        *(row for key, value in follows.items() for row in derived(key, value)),
    ]


def _name_of(which: str, than: str, colour: str, encoding: dict) -> dict:
    """A card's name: above and right of a point of its falling line, or if it is the lower one, below and left of
    another.
    """
    at = lambda which, share: inside(request_cost, ASKED, hit_rate=share, **_bound(which))
    over = f"{at(which, '0.4')} {'>=' if which == 'card' else '>'} {at(than, '0.4')}"
    x = f"({over} ? 0.2 : 0.6)"
    place = {
        "align": {"expr": f"{over} ? 'left' : 'right'"},
        "dx": {"expr": f"{over} ? 6 : -6"},
        "dy": {"expr": f"{over} ? -8 : 10"},
    }
    return marks.text(encoding, f"cards[{which}].name", x, at(which, x), color=COLOURS[colour], **place)


def bill_chart() -> InteractiveChart:
    """Cost of a thousand requests against the share of their input that a cache holds, on two cards to choose."""
    x = marks.axis("hit_rate", "share of the input from the cache", 0, 1, [0, 0.25, 0.5, 0.75, 1])
    x["axis"]["format"] = "%"
    y = {
        "field": "card",
        "type": "quantitative",
        "title": "$ for 1,000 requests",
        "scale": {"domain": [0, {"expr": "top"}]},
        "axis": {"tickCount": 5},
    }
    encoding, base = {"x": x, "y": y}, sweep("hit_rate", 0, 1, points=41, log=False)
    base["transform"] += [curve(request_cost, "hit_rate", which, ASKED, **_bound(which)) for which in ("card", "other")]
    dot = {**marks.DOT, "size": 90}
    layers = [
        marks.line("other", "second", encoding),
        marks.line("card", "first", encoding, strokeWidth=3),
        marks.at(encoding, {**dot, "color": COLOURS["second"]}, x="share / 100", y="there"),
        marks.at(encoding, {**dot, "color": COLOURS["first"]}, x="share / 100", y="here"),
        _name_of("card", "other", "first", encoding),
        _name_of("other", "card", "second", encoding),
        marks.hover(encoding, "card", {"card": "the card ($)", "other": "compared ($)"}, ",.3~r", ".0%"),
    ]
    fits = {"height": 320}  # a phone's screen, beside four lines of prices
    spec = {**base, **fits, "params": _controls(), "layer": layers, "title": marks.title(*_lines())}
    return InteractiveChart(
        spec,
        "A request on two price cards",
        _bill_says(),
        "One request, a thousand times. What the cache does not hold is charged as a write where the card charges for"
        " writing. Where the input is longer than a card's step, its price jumps; on a card without a price for hits"
        " the line is level. Where the lines cross, the cheaper card depends on the cache.",
        primary=("card", "other", "prompt_tokens"),
    )


def _money(value: str) -> str:
    """Dollars as the browser writes them: $1.50, but $0.0375."""
    cents = f"abs({value} * 100 - round({value} * 100)) < 1e-6"
    return f"'$' + format({value}, {value} >= 1 || ({value} >= 0.01 && {cents}) ? ',.2f' : ',.2~r')"


def _card_lines(which: str) -> tuple[str, str]:
    """A card's name, with what the request makes of it, and its prices."""
    times = lambda key: _money(f"({which}_{key} * {MTOK!r})")
    some = lambda key, said, has, none="": f"(cards[{which}].{has} ? ', ' + {times(key)} + ' {said}' : '{none}')"
    far = f"(prompt_tokens > cards[{which}].step ? ', beyond its step' : '')"
    less = (
        f"(waits == 'yes' ? (cards[{which}].batches ? ', less ' + format(100 - 100 * cards[{which}].batch, '.0f') + '"
        "%' : ', no batch price') : '')"
    )
    prices = (
        f"{times('new')} + ' in'",
        some("write", "written", "writes"),
        some("hit", "hit", "hits", ", no price for hits"),
        f"', ' + {times('output')} + ' out'",
    )
    return f"cards[{which}].name + {far} + {less} + ', per Mtok:'", " + ".join(prices)


def _lines() -> list[str]:
    """What the title says: prices of the cards, and what the request costs on both, as browser expressions."""
    return [
        *_card_lines("card"),
        *_card_lines("other"),
        f"{_money('here')} + ' on ' + cards[card].name + ' against ' + {_money('there')} + ' on ' + cards[other].name",
    ]


def _bill_says() -> str:
    def at(id: str, share: float) -> str:
        p = price(id).usd_per_Mtok
        known = {
            "hit_rate": share,
            "hit_price": (p.cached_read or p.input) / MTOK,
            "write_price": (p.cache_write_5min or p.input) / MTOK,
            "output_price": p.output / MTOK,
        }
        return usd(
            THOUSAND * request_cost(known, **START, batch_factor=1),
            3,
        )

    first, second = name(price(OPEN)), name(price(OTHER))
    return (
        "Dollars for a thousand requests against the share of their input that a cache holds, from none to all, on two"
        " price cards, with menus for the cards and for a batch, and sliders for input, output and the share. With"
        f" {START['prompt_tokens']:,} tokens in and {START['answer_tokens']} out, {first} falls from {at(OPEN, 0)} to"
        f" {at(OPEN, 1)}, {second} from {at(OTHER, 0)} to {at(OTHER, 1)}."
    )
