"""Cost cards: the tables of the page, of what four workloads cost on each price card and on a machine."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from blackboard import notation
from blackboard.catalogue import PriceCard, price
from blackboard.catalogue.running_case import RUNNING
from blackboard.formula import Formula
from blackboard.notation import latex
from blackboard.page.data_table import data_table
from blackboard.page.summary import Page, fold, table
from blackboard.reference.bills import (
    DAY,
    GROWING,
    MTOK,
    Bill,
    Workload,
    bill,
    caches,
    card_prices,
    count_tokens,
    current,
    doubts,
    hit_share,
    least_uses,
    name,
    ranked,
    requests,
    saved,
    unstored,
    usd,
    workloads,
)
from blackboard.reference.equations import PARTS, batch_factor, lines, task_cost
from blackboard.reference.machine_costs import OWN, SOLD, floor, ladder, priced, tokens_of
from blackboard.units import factor, significant


class Lines:
    """The formula of the bill in three lines, for a narrow page."""

    def _repr_latex_(self) -> str:
        head, factor_, (first, second, stored) = latex(task_cost.symbol), latex(batch_factor), map(latex, lines())
        return (
            f"$\\displaystyle \\begin{{aligned}} {head} ={{}} & {factor_} \\, \\bigl( {first} \\\\ & \\quad {{}} +"
            f" {second} \\bigr) \\\\ & {{}} + {stored} \\end{{aligned}}$"
        )


# --- tables -----------------------------------------------------------------------------------------------------------


def _called(card: PriceCard, mark: str = "") -> str:
    """A card's name with a mark, and its dates below."""
    dates = f"<span>{card.valid_from},</span> <span>seen {card.date}</span>"
    return f"<code>{html.escape(name(card))}</code>{mark}<br><small>{dates}</small>"


def _folded(summary: str, page: Page) -> Page:
    return fold(summary, page, "cost-cards")


def assumptions() -> Page:
    """The four workloads in numbers, and where each number is from."""
    heads = (
        "Workload",
        "Requests",
        "Head (tokens)",
        "Each request brings (tokens)",
        "Answer (tokens)",
        "Between requests",
    )
    small = lambda text: f'<br><small style="font-weight: normal">{html.escape(text)}</small>'
    cell = lambda text, why: text + small(why)
    rows = []
    for load in workloads().values():
        pause = f"{load.gap:g} s" if load.gap < factor("min") else f"{load.gap / factor('min'):g} min"
        said = {
            "turns": f"{load.turns}" + (f" × {load.tasks:,}" if load.tasks > 1 else ""),
            "head": f"{load.head:,}",
            "brings": f"{load.brings:,}",
            "answer": f"{load.answer:,}",
            "gap": pause if load.gap else "–",
        }
        rows.append([cell(load.name, load.what), *(cell(text, load.why[field]) for field, text in said.items())])
    return table("Four workloads", heads, rows)


def counted() -> Page:
    """What follows: tokens sent, found again, and new, of one task."""
    heads = ("Workload", "Sent (tokens)", "Found in the cache", "New", "Generated", "Longest request", "Share found")
    rows = []
    for load in workloads().values():
        made = requests(load)
        sums = [
            sum(r.prompt for r in made),
            sum(r.hit for r in made),
            sum(r.new for r in made),
            sum(r.answer for r in made),
            max(r.prompt for r in made),
        ]
        rows.append([load.name, *(f"{load.tasks * n:,}" for n in sums[:4]), f"{sums[4]:,}", f"{hit_share(load):.0%}"])
    return table("Tokens of a task", heads, rows)


def letters(formula: Formula) -> tuple[str, ...]:
    """Names of a formula's symbols, those of the bill in the order of its terms; of another formula, what the bill has
    not.
    """
    bill_ = (
        "task_cost",
        *(
            name
            for part in PARTS.values()
            for name in sorted(part.free, key=lambda n: (n.endswith("price"), n == "batch_factor"))
        ),
    )
    known = tuple(dict.fromkeys(bill_))
    return known if formula is task_cost else tuple(n for n in (formula.symbol.name, *formula.free) if n not in known)


def legend(formula: Formula) -> Page:
    """What the letters of a formula mean."""
    rows = [
        [
            f"\\({latex(notation.symbol(n))}\\)",
            html.escape(notation.lookup(n).description),
            html.escape(notation.lookup(n).unit),
        ]
        for n in letters(formula)
    ]
    return table("Letters of the formula", ("Letter", "Meaning", "Unit"), rows)


def worked(load: Workload, card: PriceCard) -> list[tuple[str, int, float, float]]:
    """A bill below the card's step, line by line: part, tokens, USD per million, USD. Parts that come to nothing are
    left out.
    """
    made, p = requests(load), card_prices(card, load, load.start)
    counts = [count_tokens(card, r, caches(card, load)) for r in made]
    held = zip(
        ("input", "written", "hits", "output"),
        ("fresh_tokens", "written_tokens", "reread_tokens", "answer_tokens"),
        ("input_price", "write_price", "hit_price", "output_price"),
    )
    paid = bill(card, load).parts
    return [
        (part, int(sum(c[tokens] for c in counts)), p[asked] * MTOK, paid[part])
        for part, tokens, asked in held
        if paid[part]
    ]


def worked_bill() -> Page:
    """The agent's bill on one card, line by line."""
    load, card = workloads()["agent"], price(GROWING)
    made = [
        [part.capitalize(), f"{tokens:,}", f"${each:.2f}", f"${paid:.3f}"]
        for part, tokens, each, paid in worked(load, card)
    ]
    return table(
        f"The agent's task on {name(card)}",
        ("Part", "Tokens", "For a million", "Paid"),
        [*made, ["Sum", "", "", usd(bill(card, load).total)]],
    )


def _lowered(found: Bill) -> str:
    """What lowers the bill: the batch price where the workload may wait, else what caching saves."""
    if found.load.waits:
        return f"× {found.card.batch_multiplier:g}" if found.card.batch_multiplier else "–"
    return f"{saved(found.card, found.load):.0%}".replace("-", "−") if caches(found.card, found.load) else "–"


def bills(workload: str) -> Page:
    """Every current card's bill for a workload, the dearest first, folded away; what is uncertain is marked and said
    below.
    """
    load = workloads()[workload]
    found = ranked(load, current())
    used = [part for part in PARTS if any(one.parts[part] for one in found)]
    notes: dict[str, int] = {}
    rows = [_bill_row(one, used, _caveat(one, workload, notes)) for one in found]
    heads = (
        "Card",
        f"Cost of {'1,000 requests' if load.tasks > 1 else 'the task'}",
        *(part.capitalize() for part in used),
        "Batch" if load.waits else "Caching saves",
        *(["Beyond its step"] if load.turns > 1 else []),
    )
    below = "".join(f'<li id="costs-{workload}-{n}">{html.escape(text)}</li>' for text, n in notes.items())
    page = data_table(f"{workload.capitalize()}: all {len(rows)} cards current on {DAY}", heads, rows)
    uncertain = f'<p>Uncertain (marked ?):</p><ol class="table-note">{below}</ol>' if below else ""
    return _folded(f"All {len(rows)} cards", Page(page + _without_storage(found) + uncertain))


def _caveat(one: Bill, workload: str, notes: dict[str, int]) -> str:
    """A mark that leads to why a bill is uncertain, which is added to the notes; empty if it is not."""
    if not (why := doubts(one)):
        return ""
    number = notes.setdefault(f"{one.card.id}: {why}", len(notes) + 1)
    return f'<sup><a href="#costs-{workload}-{number}" aria-label="caveat ?{number}">?{number}</a></sup>'


def _bill_row(one: Bill, used: list[str], mark: str) -> list[Any]:
    parts = [usd(one.parts[part]) if one.parts[part] else "–" for part in used]
    beyond = [f"{one.long} of {one.load.turns}" if one.long else "–"] if one.load.turns > 1 else []
    return [_called(one.card, mark), usd(one.total), *parts, _lowered(one), *beyond]


def _without_storage(found: Iterable[Bill]) -> str:
    """A sentence on the bills with storage: what they would be without."""
    said = [f"<code>{html.escape(name(one.card))}</code> {usd(unstored(one))}" for one in found if one.parts["storage"]]
    return (
        f'<p class="table-note">Without storage, if the same hits came unasked: {", ".join(said)}.</p>' if said else ""
    )


def ratios() -> Page:
    """What every current card's prices are to its price of input, and from how many uses on a write pays; folded
    away.
    """
    times = lambda value, base: "–" if value is None else f"{value / base:.3g}"
    rows = []
    for card in sorted(current(), key=lambda c: (c.provider, c.id)):
        p, step = card.usd_per_Mtok, card.above
        rows.append(
            [
                _called(card),
                usd(p.input),
                times(p.output, p.input),
                times(p.cached_read, p.input),
                times(p.cache_write_5min, p.input),
                times(p.cache_write_1h, p.input),
                str(least_uses(card) or "–"),
                str(least_uses(card, "cache_write_1h") or "–"),
                f"{card.batch_multiplier:g}" if card.batch_multiplier else "–",
                f"{step.tokens:,}: {step.input_multiplier:g}, {step.output_multiplier:g}" if step else "–",
            ]
        )
    heads = (
        "Card",
        "Input (USD per million)",
        "Output ÷ input",
        "Hit ÷ input",
        "Write ÷ input",
        "Long write ÷ input",
        "Uses to pay for a write",
        "Uses, long write",
        "Batch",
        "Step: input ×, output ×",
    )
    return _folded(f"All {len(rows)} cards", data_table(f"Ratios of the cards current on {DAY}", heads, rows))


# --- down to the machine ----------------------------------------------------------------------------------------------


def walk() -> Page:
    """The agent's task: floors by part on the running case's rack, and what three cards ask for it, in times of the
    floor.
    """
    load, low = workloads()["agent"], floor(workloads()["agent"])
    cards = [price(id) for id in (OWN, *SOLD)]
    asked = [priced(card, load) for card in cards]
    n = tokens_of(load)
    times = lambda paid, least: f"{usd(paid)}<br><small>{significant(paid / least, 2)} ×</small>"
    rows = [
        [
            said,
            f"{count:,}",
            usd(getattr(low, part), 3),
            *(times(getattr(one, part), getattr(low, part)) for one in asked),
        ]
        for said, part, count in (
            ("New tokens, computed", "new", n.new),
            ("Hits, loaded from flash", "hits", n.hits),
            ("Output, loading the cache", "output", n.output),
        )
    ]
    rows.append(["<strong>Task</strong>", "", usd(low.total, 3), *(times(one.total, low.total) for one in asked)])
    heads = (
        "Part",
        "Tokens",
        "Floor",
        *(f"<code>{html.escape(name(card))}</code><br><small>{card.valid_from}</small>" for card in cards),
    )
    return Page(
        f'<div class="cost-cards">{table(f"The agent’s task: floors for {RUNNING}, and prices", heads, rows)}</div>'
    )


REASONS = {
    "floor": "Floor",
    "attention": "and attention over long prompts",
    "prefill": "and the MFU of prefill",
    "decode": "and the rate of decode",
    "idle": "and nodes kept for the peak",
    "kept": "and caches in HBM between requests",
}


def steps_up() -> Page:
    """From the floor of the agent's task to its maker's price, reason by reason."""
    load = workloads()["agent"]
    made = {REASONS[key]: cost for key, cost in ladder(load).items()} | {
        f"Price on <code>{name(price(OWN))}</code>": priced(price(OWN), load)
    }
    rows = [
        [said, *(usd(part, 3) if part else "–" for part in cost), usd(cost.total, 3)] for said, cost in made.items()
    ]
    head = ("Counted", "New", "Hits", "Output", "Kept", "Task")
    return Page(
        f'<div class="cost-cards">{table("From floor to price, each line with those above it", head, rows)}</div>'
    )
