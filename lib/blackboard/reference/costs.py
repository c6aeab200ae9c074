"""Cost cards: what four workloads cost on the catalogue's price cards, by part, on one day.

A workload is a sequence of requests. What a cache holds of each is found by comparing prompts, not stated: a request
re-reads what it shares with the one before, and all else is new. Prices are those of `DAY`, by the cards then current.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import takewhile
from typing import Any, NamedTuple

from blackboard import notation
from blackboard.catalogue import PriceCard, measurement, model, price, prices, system, tier
from blackboard.catalogue.running_case import RUNNING, Case
from blackboard.formula import Formula
from blackboard.lessons.batching.equations import cost_floor, kv_time, weight_time
from blackboard.lessons.pricing.equations import (
    attention_of_heads,
    context_flop,
    hbm_hold,
    remat_cost,
    tier_hold,
    tier_retrieve,
    uses_even,
)
from blackboard.lessons.pricing.implied import implied
from blackboard.lessons.pricing.numbers import KINDS, rack, rented
from blackboard.notation import latex
from blackboard.page.summary import Page, fold, table
from blackboard.reference.equations import PARTS, batch_factor, lines, request_cost, sent, task_cost, written
from blackboard.units import factor, significant

DAY = "2026-11-21"
MTOK, HOUR = factor("megatoken"), factor("h")
KEPT = 5 * factor("min")  # a short cache write buys so much, and each hit as much again
THOUSAND, HALF = 1000, 0.5


class Lines:
    """The formula of the bill in three lines, for a narrow page."""

    def _repr_latex_(self) -> str:
        head, factor_, (first, second, stored) = latex(task_cost.symbol), latex(batch_factor), map(latex, lines())
        return (
            f"$\\displaystyle \\begin{{aligned}} {head} ={{}} & {factor_} \\, \\bigl( {first} \\\\ & \\quad {{}} +"
            f" {second} \\bigr) \\\\ & {{}} + {stored} \\end{{aligned}}$"
        )


# --- workloads --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """Requests that follow one another: tokens at the head, tokens that each request brings, tokens of each answer, s
    between.
    """

    name: str
    what: str
    turns: int
    head: int  # system prompt, tools, a document
    brings: int  # the user's message, or what a tool returns
    answer: int
    gap: float
    why: dict[str, str]  # where each number is from
    tasks: int = 1
    waits: bool = False  # whether the answers may come a day later

    @property
    def start(self) -> int:
        """Tokens of the first request."""
        return self.head + self.brings

    @property
    def growth(self) -> int:
        """Tokens that each turn adds to the next request."""
        return self.answer + self.brings

    @property
    def hold(self) -> float:
        """Seconds from the first request to the last."""
        return self.gap * (self.turns - 1)


class Request(NamedTuple):
    """One request: tokens that a cache holds from the request before, tokens that are new, tokens answered."""

    hit: int
    new: int
    answer: int

    @property
    def prompt(self) -> int:
        return self.hit + self.new


def requests(load: Workload) -> tuple[Request, ...]:
    """The requests of one task. Prompts are lists of messages; a hit is the head that a prompt has in common with the
    last one.
    """
    found: list[Any] = []
    before: list[Any] = []
    prompt = [("head", load.head)]
    for turn in range(load.turns):
        prompt = [*prompt, (f"brought {turn}", load.brings)]
        shared = [message for message, _ in takewhile(lambda pair: pair[0] == pair[1], zip(prompt, before))]
        hit = sum(size for _, size in shared)
        found.append(Request(hit, sum(size for _, size in prompt) - hit, load.answer))
        before, prompt = prompt, [*prompt, (f"answered {turn}", load.answer)]
    return tuple(found)


def _agent() -> Workload:
    """The coding agent of the traces: its turns and growth as measured, its answers by the ratio of input to output."""
    [seen] = measurement("agent_traces").records()
    n, first, growth = seen["turns"], seen["start_tokens"], seen["growth_tokens"]
    answer = round(sent({"turns": n, "start_context": first, "turn_growth": growth}) / seen["input_per_output"] / n)
    brings = growth - answer
    return Workload(
        "agent",
        "a coding agent that works through one issue",
        n,
        first - brings,
        brings,
        answer,
        20 * factor("s"),
        {
            "turns": f"median of {seen['traces']} traces",
            "head": "context at the start, as measured, less the first message",
            "brings": "growth of a turn, as measured, less the answer",
            "answer": "input over output, as measured",
            "gap": "assumed: tools run that long",
        },
    )


def _batch() -> Workload:
    """Single requests of the mean length of a published trace."""
    [seen] = measurement("request_traces").records()
    return Workload(
        "batch",
        "a thousand single requests, read once and answered shortly",
        1,
        0,
        seen["input_tokens"],
        seen["output_tokens"],
        0,
        {
            "turns": "no request follows another",
            "head": "none",
            "brings": "mean of Mooncake's trace",
            "answer": "mean of Mooncake's trace",
            "gap": "none",
        },
        THOUSAND,
        True,
    )


@cache
def workloads() -> dict[str, Workload]:
    """The four workloads by name."""
    [chat] = measurement("vllm_request_lengths").records(requests="ShareGPT")
    [trace] = measurement("request_traces").records()
    minute = factor("min")
    found = (
        Workload(
            "chat",
            "a conversation with an assistant",
            4,
            4096,
            round(chat["input_tokens"]),
            round(chat["output_tokens"]),
            minute,
            {
                "turns": "assumed",
                "head": "assumed: a system prompt as long as the strictest least length for caching that we saw",
                "brings": "mean of ShareGPT",
                "answer": "mean of ShareGPT",
                "gap": "assumed",
            },
        ),
        _agent(),
        Workload(
            "document",
            "questions about one long document, over an hour",
            6,
            120_000,
            50,
            trace["output_tokens"],
            12 * minute,
            {
                "turns": "assumed",
                "head": "assumed: a novel, or an annual report; it fits into a context of 128,000 tokens",
                "brings": "assumed: a question",
                "answer": "mean of Mooncake's trace",
                "gap": "assumed",
            },
        ),
        _batch(),
    )
    return {load.name: load for load in found}


def hit_share(load: Workload) -> float:
    """Share of all input tokens that a cache holds."""
    made = requests(load)
    return sum(r.hit for r in made) / sum(r.prompt for r in made)


# --- bills ------------------------------------------------------------------------------------------------------------


class Bill(NamedTuple):
    """What a workload costs on a card: USD by part, tokens in and out, and requests that were beyond the card's
    step.
    """

    card: PriceCard
    load: Workload
    parts: dict[str, float]
    tokens: int
    long: int

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    @property
    def blended(self) -> float:
        """USD per million tokens, in and out."""
        return self.total / self.tokens * MTOK

    def share(self, part: str) -> float:
        return self.parts[part] / self.total


def caches(card: PriceCard, load: Workload) -> bool:
    """Whether hits have a price of their own here, and there is anything to hit."""
    return card.usd_per_Mtok.cached_read is not None and load.turns > 1


def _prices(card: PriceCard, load: Workload, prompt: int) -> dict[str, float]:
    """A card's prices for a request, by notation name, USD per token. A write without a price costs what input
    costs.
    """
    p = card.rates(prompt)
    write = (p.cache_write_1h if load.gap > KEPT else None) or p.cache_write_5min or p.input
    usd = {
        "input_price": p.input,
        "write_price": write,
        "hit_price": p.input if p.cached_read is None else p.cached_read,
        "output_price": p.output,
    }
    batch = {"batch_factor": (card.batch_multiplier or 1.0) if load.waits else 1.0}
    return (
        {name: value / MTOK for name, value in usd.items()}
        | batch
        | {"storage_price": (card.cache_storage_usd_per_Mtok_hour or 0) / MTOK / HOUR}
    )


def _counts(card: PriceCard, load: Workload, request: Request, cached: bool) -> dict[str, float]:
    """A request's tokens by notation name: without a price for writing, what is new is plain input."""
    charged = card.usd_per_Mtok.cache_write_5min is not None
    return {
        "fresh_tokens": request.prompt if not cached else 0 if charged else request.new,
        "written_tokens": request.new if cached and charged else 0,
        "reread_tokens": request.hit if cached else 0,
        "answer_tokens": request.answer,
        "stored_tokens": 0,
        "hold_time": 0,
    }


def bill(card: PriceCard, load: Workload, cached: bool = True) -> Bill:
    """What a workload costs on a card, request by request; with `cached` false, as if nothing were ever kept.

    Storage is paid where a card asks for it and the workload pauses for longer than a cache lives without being asked
    to.
    """
    keeps, parts, made = cached and caches(card, load), dict.fromkeys(PARTS, 0.0), requests(load)
    for n, request in enumerate(made):
        values = _prices(card, load, request.prompt) | _counts(card, load, request, keeps)
        if keeps and n == 0 and load.gap > KEPT:
            values |= {"stored_tokens": load.head, "hold_time": load.hold}
        for name, part in PARTS.items():
            parts[name] += load.tasks * part(values)
    beyond = sum(card.above is not None and r.prompt > card.above.tokens for r in made)
    return Bill(card, load, parts, load.tasks * sum(r.prompt + r.answer for r in made), beyond)


def closed(card: PriceCard, load: Workload, n: float, cached: bool) -> float:
    """The bill of so many turns from the closed forms, without counting a request; below the card's step."""
    at = {"turns": n, "start_context": load.start, "turn_growth": load.growth}
    all_in, new = sent(at), written(at)
    charged = card.usd_per_Mtok.cache_write_5min is not None
    counts = {
        "fresh_tokens": 0 if cached and charged else new if cached else all_in,
        "written_tokens": new if cached and charged else 0,
        "reread_tokens": all_in - new if cached else 0,
        "answer_tokens": n * load.answer,
        "stored_tokens": 0,
        "hold_time": 0,
    }
    return task_cost(counts | _prices(card, load, load.start))


def saved(card: PriceCard, load: Workload) -> float:
    """The share of a bill that caching saves; below 0 where it costs more."""
    return 1 - bill(card, load).total / bill(card, load, cached=False).total


def asked_once(card: PriceCard, prompt: int, answer: int) -> float:
    """What a single uncached request costs, USD."""
    p = card.rates(prompt)
    known = {
        "prompt_tokens": prompt,
        "answer_tokens": answer,
        "write_price": p.input / MTOK,
        "output_price": p.output / MTOK,
    }
    return request_cost(known, hit_rate=0, hit_price=0, batch_factor=1)


def least_uses(card: PriceCard, kept: str = "cache_write_5min") -> int | None:
    """The least number of uses of a prompt with which writing it to the cache is cheaper; None where writing is not
    charged.
    """
    p = card.usd_per_Mtok
    write = getattr(p, kept)
    if write is None or p.cached_read is None:
        return None
    return int(uses_even(write_ratio=write / p.input, read_ratio=p.cached_read / p.input)) + 1


# --- which cards ------------------------------------------------------------------------------------------------------

GROWING = "claude-opus-5.5@2026-09-22"  # the card of the figure against turns
HOSTED, NEWEST = "gpt-oss-120b", 4  # an open model that several hosts sell, and how many cards of a maker a chart shows
HOSTS = ("together", "fireworks", "cerebras", "groq")
SEEN = "2026-09"  # a card whose newest source is older is drawn in grey


@cache
def current(day: str = DAY) -> tuple[PriceCard, ...]:
    """The cards that held on a day: not known to have ended, or ended later."""
    return tuple(card for card in prices() if card.valid_on(day))


def stale(card: PriceCard) -> bool:
    """Whether a card was last seen before SEEN: it may have ended since."""
    return card.date < SEEN


@cache
def shown() -> tuple[PriceCard, ...]:
    """The cards of the charts: each maker's newest of the last year, and one open model at each host."""
    year = f"{int(DAY[:4]) - 1}{DAY[4:]}"
    newest = sorted(
        (card for card in current() if card.valid_from >= year), key=lambda card: card.valid_from, reverse=True
    )
    makers = dict.fromkeys(card.provider for card in newest if card.provider not in HOSTS)
    made = [card for maker in makers for card in [c for c in newest if c.provider == maker][:NEWEST]]
    return (*made, *(card for card in newest if card.provider in HOSTS and card.model == HOSTED))


def name(card: PriceCard) -> str:
    """A card's id without its date, and without "preview"."""
    return card.offer.removesuffix("-preview")


def ranked(load: Workload, cards: Iterable[PriceCard]) -> list[Bill]:
    """Bills of a workload, the dearest first."""
    return sorted((bill(card, load) for card in cards), key=lambda found: -found.total)


def doubts(found: Bill) -> str:
    """Why what a bill rests on is uncertain, or nothing."""
    used = [
        "usd_per_Mtok",
        *(["above"] if found.long else []),
        *(["batch_multiplier"] if found.load.waits else []),
        *(["cache_storage_usd_per_Mtok_hour"] if found.parts["storage"] else []),
    ]
    said = dict.fromkeys(why for field in used if (why := found.card.caveat(field)))
    return "; ".join(said)


# --- tables -----------------------------------------------------------------------------------------------------------


def usd(value: float, digits: int = 2) -> str:
    """Dollars and cents, or below a dollar so many digits, never with an exponent."""
    return f"${value:,.2f}" if value >= 1 else f"${Decimal(significant(value, digits)):f}"


def _called(card: PriceCard, mark: str = "") -> str:
    """A card's name with a mark, and its dates below."""
    seen = f"{card.valid_from}, seen {card.date}"
    return f"<code>{html.escape(name(card))}</code>{mark}<br><small>{seen}</small>"


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
    cell = lambda text, why: f'<div style="min-width: 7rem">{text}{small(why)}</div>'
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
    made, p = requests(load), _prices(card, load, load.start)
    counts = [_counts(card, load, r, caches(card, load)) for r in made]
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
    page = table(f"{workload.capitalize()}: all {len(rows)} cards current on {DAY}", heads, rows)
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


def unstored(found: Bill) -> float:
    """A bill without its storage, as if the same hits came unasked, USD."""
    return found.total - found.parts["storage"]


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
    return _folded(f"All {len(rows)} cards", table(f"Ratios of the cards current on {DAY}", heads, rows))


# --- down to the machine ----------------------------------------------------------------------------------------------

WALKED = "deepseek-v3"  # public weights, and accounts of one maker's service
OWN = "deepseek-v3@2025-02-08"  # its maker's card, of the time of those accounts
SOLD = ("together/deepseek-v3.1@2026-06-26", GROWING)  # the same layers at a host, and a model of unpublished size


class Tokens(NamedTuple):
    """Tokens of a task by what is done with them, and how many stand before the mean new token and the mean token of
    an answer.
    """

    new: int
    hits: int
    output: int
    before_new: float
    before_output: float


class Cost(NamedTuple):
    """USD for a task: new tokens, hits, output, and keeping caches between requests."""

    new: float
    hits: float
    output: float
    kept: float = 0.0

    @property
    def total(self) -> float:
        return sum(self)


def tokens_of(load: Workload) -> Tokens:
    """What the machine must do for a task, token by token."""
    made = requests(load)
    new, hits, output = (sum(r[n] for r in made) for n in (1, 0, 2))
    before = sum(r.new * (r.hit + r.prompt - 1) / 2 for r in made) / new
    return Tokens(new, hits, output, before, sum(r.answer * (r.prompt + (r.answer - 1) / 2) for r in made) / output)


def _account() -> dict[str, Any]:
    """DeepSeek's day of serving."""
    [day] = measurement("deepseek_day6_production").records()
    return day


def own_machine() -> dict[str, float]:
    """Symbols of the machine and the context of that day, with the rent that DeepSeek assumed."""
    day = _account()
    return Case(WALKED, "h800-8", "fp8", day["context_tokens"]).symbols() | {
        "rent": day["rent_USD_per_GPU_per_hour"] / HOUR
    }


def floor(load: Workload, known: dict[str, float] | None = None) -> Cost:
    """The least that a task costs on a machine, by default the running case's: peak rates, full batches, nothing
    idle.
    """
    n, known = tokens_of(load), known or rack()
    return Cost(
        n.new * remat_cost(known),
        n.hits * tier_retrieve(known | _flash()),
        n.output * cost_floor(known, context=n.before_output),
    )


def _flash() -> dict[str, float]:
    return rented(tier(KINDS["ssd"]))


def reached() -> dict[str, float]:
    """Shares that DeepSeek's day reached: of the peak in prefill and decode, of the floor's rate in decode, of the
    nodes kept.
    """
    day, known = _account(), own_machine()
    node = known["rent"] * day["gpus_per_node"]  # USD/s
    misses, out = day["node_prefill_token_per_s"] * (1 - day["hit_rate"]), day["node_decode_token_per_s"]
    multiply = remat_cost(known)
    return {
        "prefill": multiply * misses / node,
        "mfu": multiply * out / node,
        "decode": cost_floor(known) * out / node,
        "nodes": day["average_nodes"] / day["peak_nodes"],
    }


def even_context() -> float:
    """The context at which attention multiplies as much as the weights in prefill: keys and values of each head are
    spelt out there.
    """
    [group] = model(WALKED).attention
    width = (group.nope_dim + group.rope_dim + group.v_dim) / 2  # of keys and values on average
    per = attention_of_heads(layers=group.layers, query_heads=group.heads, head_dim=width)
    return context_flop(rack(), attention_flop=per)


def between(load: Workload, hold: Formula, known: dict[str, float]) -> float:
    """What it costs to keep a task's caches from each request to the next, USD."""
    return tokens_of(load).hits * hold(known, hold_time=load.gap)


def ladder(load: Workload, known: dict[str, float] | None = None) -> dict[str, Cost]:
    """From the floor upwards: what a task costs as each known reason is added to those before it."""
    low, share, known = floor(load, known), reached(), known or rack()
    attended = low._replace(new=low.new * (1 + tokens_of(load).before_new / even_context()))
    prefill = attended._replace(new=attended.new / share["prefill"])
    decode = prefill._replace(output=prefill.output / share["decode"])
    idle = Cost(*(part / share["nodes"] for part in decode))
    return {
        "floor": low,
        "attention": attended,
        "prefill": prefill,
        "decode": decode,
        "idle": idle,
        "kept": idle._replace(kept=between(load, hbm_hold, known)),
    }


def priced(card: PriceCard, load: Workload) -> Cost:
    """What a card asks for the same tokens; one without a price for hits asks the price of input. Below its step."""
    n, p = tokens_of(load), _prices(card, load, load.start)
    return Cost(n.new * p["write_price"], n.hits * p["hit_price"], n.output * p["output_price"])


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


def day_ratio(card: PriceCard) -> float:
    """Revenue over rent of DeepSeek's day, had all of it been sold at one card's prices."""
    day, p = _account(), card.usd_per_Mtok
    hits, out = day["cached_input_token_per_day"], day["output_token_per_day"]
    return (
        ((day["input_token_per_day"] - hits) * p.input + hits * p.cached_read + out * p.output)
        / MTOK
        / day["cost_USD_per_day"]
    )


# --- numbers of the prose ---------------------------------------------------------------------------------------------


def _spread(values: Iterable[float]) -> str:
    """The least and the greatest of some shares, in percent."""
    values = list(values)
    return f"{min(values):.0%} to {max(values):.0%}"


def _said(found: Bill) -> str:
    doubt = ", uncertain" if doubts(found) else ""
    return f"{name(found.card)} ({found.card.valid_from}, {usd(found.total)}{doubt})"


def _newest(model: str) -> PriceCard:
    return price(model, DAY)


def _loads() -> dict[str, str]:
    """What the workloads re-read, and what was measured of it."""
    rates = {(row["who"], row["workload"]): row["hit_rate"] for row in measurement("prefix_cache_hit_rates").records()}
    arena = [rate for (_, what), rate in rates.items() if "Chatbot Arena" in what]
    codex = {what.split(", ")[-1]: rate for (who, what), rate in rates.items() if who == "vLLM"}
    [trace] = measurement("agent_traces").records()
    share = {key: hit_share(load) for key, load in workloads().items()}
    return {
        "day": DAY,
        "cards": str(len(current())),
        "charted": str(len(shown())),
        "stale": str(sum(map(stale, current()))),
        "seen": SEEN,
        **_ending(),
        **_worked(),
        "chat_hits": f"{share['chat']:.0%}",
        "agent_hits": f"{share['agent']:.1%}",
        "arena": _spread(arena),
        "ds_hits": f"{rates['DeepSeek', 'all services, a day']:.1%}",
        "codex": f"{codex['what the traces allow']:.1%}",
        "local": f"{codex['local caches']:.1%}",
        "shared": f"{codex['shared store']:.1%}",
        "traces": f"{trace['traces']}",
        "agent_end": f"{requests(workloads()['agent'])[-1].prompt:,}",
    }


def _ending() -> dict[str, str]:
    """Cards whose end is known, and when it is."""
    known = sorted((card for card in current() if card.valid_to), key=lambda card: card.valid_to)
    return {
        "ending": str(len(known)),
        "ending_cards": " and ".join(f"{name(card)} (until {card.valid_to})" for card in known),
    }


def _worked() -> dict[str, str]:
    """The agent's tokens by the closed forms, and its bill on one card."""
    load = workloads()["agent"]
    at = {"turns": load.turns, "start_context": load.start, "turn_growth": load.growth}
    all_in, new = sent(at), written(at)
    return {
        "w_head": f"{load.head:,}",
        "w_brings": f"{load.brings:,}",
        "w_start": f"{load.start:,}",
        "w_growth": f"{load.growth:,}",
        "w_answer": f"{load.answer:,}",
        "w_sent": f"{all_in:,.0f}",
        "w_new": f"{new:,.0f}",
        "w_hits": f"{all_in - new:,.0f}",
        "w_out": f"{load.turns * load.answer:,}",
    }


def _like(found: list[Bill], one: Bill) -> str:
    """The bills that are as large as this one, in words."""
    return " and ".join(_said(other) for other in found if abs(other.total / one.total - 1) < 1e-9)


def _dearest(workload: str) -> str:
    found = ranked(workloads()[workload], current())
    return _like(found, found[0])


def _chat() -> dict[str, str]:
    found = ranked(workloads()["chat"], shown())
    first = requests(found[0].load)
    cached = [one for one in found if caches(one.card, one.load)]
    return {
        "chat_all": _dearest("chat"),
        "chat_most": _like(found, found[0]),
        "chat_least": _like(found, found[-1]),
        "chat_span": significant(found[0].total / found[-1].total, 2),
        "chat_head": f"{found[0].load.head / sum(r.new for r in first):.0%}",
        "chat_out": _spread(one.share("output") for one in cached),
    }


def _agents() -> dict[str, str]:
    load = workloads()["agent"]
    on = lambda model: bill(_newest(model), load)
    found = ranked(load, shown())
    cached = [one for one in found if caches(one.card, load)]
    hosted = {one.card.provider: one for one in found if one.card.model == HOSTED}
    made = requests(load)
    tokens = sum(r.answer for r in made) / sum(r.prompt + r.answer for r in made)
    old, new, fable, opus = map(on, ("gpt-6-sol", "gpt-6.1-sol", "claude-fable-5.2", "claude-opus-5.5"))
    return {
        "agent_all": _dearest("agent"),
        "agent_most": _like(found, found[0]),
        "agent_least": _like(found, found[-1]),
        "agent_out_tokens": f"{tokens:.1%}",
        "agent_out": _spread(one.share("output") for one in cached),
        "agent_hit_share": _spread(one.share("hits") for one in cached),
        "sol_old": _said(old),
        "sol_new": _said(new),
        "sol_less": f"{1 - new.total / old.total:.0%}",
        "fable": name(fable.card),
        "opus": name(opus.card),
        "fable_price": f"{fable.card.usd_per_Mtok.input / opus.card.usd_per_Mtok.input:g}",
        "fable_bill": significant(fable.total / opus.total, 2),
        "hosted": HOSTED,
        "hosts": str(len(hosted)),
        "host_most": f"{usd(max(one.total for one in hosted.values()))}",
        "host_least": f"{usd(min(one.total for one in hosted.values()))}",
        "host_span": significant(_span("agent"), 2),
        "host_chat": significant(_span("chat"), 2),
    }


def _span(workload: str) -> float:
    """The dearest host of the open model over the cheapest."""
    totals = [bill(card, workloads()[workload]).total for card in shown() if card.model == HOSTED]
    return max(totals) / min(totals)


def _documents() -> dict[str, str]:
    load = workloads()["document"]
    pro, haiku = bill(_newest("gemini-3.1-pro-preview"), load), bill(_newest("claude-haiku-5.5"), load)
    reading = requests(load)[0].prompt * pro.card.usd_per_Mtok.input / MTOK
    opus = _newest("claude-opus-5.5").usd_per_Mtok
    found = ranked(load, shown())
    rereads = [one for one in found if not caches(one.card, load)]
    cached = sorted((one for one in found if caches(one.card, load)), key=lambda one: one.share("hits"))
    keeping = [one for one in ranked(load, current()) if one.parts["storage"]]
    once = [one for one in cached if 1 - one.share("hits") - one.share("output") > HALF]
    return {
        "doc_once": str(len(once)),
        "doc_cached": str(len(cached)),
        "doc_rereads": str(len(rereads)),
        "doc_turns": str(load.turns),
        "doc_hits_most": f"{cached[-1].share('hits'):.0%}",
        "doc_hits_card": name(cached[-1].card),
        "doc_stored": str(len(keeping)),
        "pro_total": usd(pro.total),
        "pro_free": usd(unstored(pro)),
        "pro": name(pro.card),
        "pro_storage": usd(pro.parts["storage"]),
        "pro_reading": usd(reading),
        "haiku": name(haiku.card),
        "haiku_step": f"{haiku.card.above.tokens:,}",
        "haiku_long": f"{haiku.long} of {load.turns}",
        "haiku_times": f"{haiku.card.above.input_multiplier:g}",
        "long_write": f"{opus.cache_write_1h / opus.input:g}",
        "short_write": f"{opus.cache_write_5min / opus.input:g}",
        "document_head": f"{load.head:,}",
    }


def _batches() -> dict[str, str]:
    have = [card for card in current() if card.batch_multiplier]
    none = {card.provider.capitalize() for card in shown() if not card.batch_multiplier} - {
        card.provider.capitalize() for card in have
    }
    [factor_] = {card.batch_multiplier for card in have}
    found = ranked(workloads()["batch"], shown())
    return {
        "batch_all": _dearest("batch"),
        "batch_taken": str(sum(card.caveat("batch_multiplier") is not None for card in have)),
        "batch_have": str(len(have)),
        "batch_factor": f"{factor_:.0%}",
        "batch_none": ", ".join(sorted(none)).replace("Deepseek", "DeepSeek"),
        "batch_most": _like(found, found[0]),
        "batch_least": _like(found, found[-1]),
        "batch_in": _spread(one.share("input") for one in found),
        "batch_brings": f"{found[0].load.brings:,}",
        "batch_answer": str(found[0].load.answer),
    }


def _saving() -> dict[str, str]:
    """What caching saves, and the ratios of the cards."""
    card, load = price(GROWING), workloads()["agent"]
    cached, plain = bill(card, load), bill(card, load, cached=False)
    prices_ = [c.usd_per_Mtok for c in current()]
    hits = sorted(p.cached_read / p.input for p in prices_ if p.cached_read)
    outs = sorted(p.output / p.input for p in prices_)
    saving = {
        key: [saved(c, workloads()[key]) for c in shown() if caches(c, workloads()[key])]
        for key in ("chat", "agent", "document")
    }
    uses = lambda kept: {n for c in current() if (n := least_uses(c, kept))}
    [short], [long] = uses("cache_write_5min"), uses("cache_write_1h")
    p = card.usd_per_Mtok
    return {
        "growing": name(card),
        "plain": usd(plain.total),
        "cached": usd(cached.total),
        "turns": str(load.turns),
        **{f"{key}_saves": _spread(found) for key, found in saving.items()},
        "hit_least": f"{hits[0]:.1%}",
        "hit_most": f"{hits[-1]:.0%}",
        "out_least": f"{outs[0]:g}",
        "out_most": f"{outs[-1]:g}",
        "uses_short": str(short),
        "uses_long": str(long),
        "free_hits": ", ".join(name(c) for c in current() if c.usd_per_Mtok.cached_read == 0),
        "unused": f"{p.cache_write_5min / p.input - 1:.0%}",
        "without_hits": str(sum(p.cached_read is None for p in prices_)),
    }


def _stepping() -> dict[str, str]:
    card, answer = _newest("gemini-3.1-pro-preview"), workloads()["document"].answer
    below, beyond = (asked_once(card, card.above.tokens + n, answer) for n in (0, 1))
    was = price("claude-sonnet-5.5@2026-09-29").usd_per_Mtok.cached_read
    now = price("claude-sonnet-5.5@2026-10-07")
    return {
        "stepped": str(sum(c.above is not None for c in current())),
        "step_at": f"{card.above.tokens:,}",
        "step_below": usd(below),
        "step_beyond": usd(beyond),
        "sonnet": name(now),
        "sonnet_day": now.valid_from,
        "sonnet_was": usd(was),
        "sonnet_now": usd(now.usd_per_Mtok.cached_read),
    }


def _ranks() -> dict[str, str]:
    """How a card's place depends on the workload."""
    card = next(c for c in shown() if c.id.startswith("cerebras/"))
    place = lambda key: next(n for n, one in enumerate(ranked(workloads()[key], shown()), 1) if one.card is card)
    uncertain = sum(bool(doubts(bill(c, workloads()["agent"]))) for c in current())
    return {
        "moving": name(card),
        "place_chat": str(place("chat")),
        "place_agent": str(place("agent")),
        "uncertain": str(uncertain),
    }


def _floors() -> dict[str, str]:
    """The agent's task from the machine upwards."""
    load = workloads()["agent"]
    n, share, known, own = tokens_of(load), reached(), rack(), own_machine()
    low, top, top_own = floor(load), ladder(load)["kept"], ladder(load, own)["kept"]
    asked = priced(price(OWN), load)
    one = kv_time(known, batch=1, context=n.before_output)
    fits = (known["hbm"] - known["n_total"] * known["bytes_per_param"]) / (
        n.before_output * known["kv_bytes_per_token"]
    )
    host, opus = (priced(price(id), load) for id in SOLD)
    sizes = [r.prompt for r in requests(load)]
    attended = sum(size * (1 + (size - 1) / 2 / even_context()) for size in sizes)
    again = attended * remat_cost(known) / share["prefill"]
    margin, rate = implied(price(GROWING)).margin, system(RUNNING.system).flops
    return {
        "walk_rent": f"${known['rent'] * HOUR:.2f}",
        "walk_context": f"{n.before_output:,.0f}",
        "walk_before": f"{n.before_new:,.0f}",
        "walk_fits": f"{fits:,.0f}",
        "walk_weights": f"{weight_time(known) / (fits * one):.0%}",
        "floor": usd(low.total),
        "floor_own": usd(floor(load, own).total),
        "walk_own": name(price(OWN)),
        "walk_own_day": price(OWN).valid_from,
        "walk_own_end": price(OWN).valid_to,
        "own_bill": usd(asked.total),
        "own_times": significant(asked.total / low.total, 2),
        "opus_times": significant(opus.total / low.total, 2),
        "walk_host": name(price(SOLD[0])),
        "host_bill": usd(host.total),
        "host_again": usd(again),
        "host_hits": usd(host.hits),
        "walk_opus": name(price(GROWING)),
        "att_from": significant(even_context(), 2),
        "att_times": significant(1 + n.before_new / even_context(), 2),
        "att_bf16": significant(1 + n.before_new / even_context() * rate("fp8") / rate("bf16"), 2),
        "walk_prefill": f"{share['prefill']:.1%}",
        "walk_mfu": f"{share['mfu']:.0%}",
        "walk_decode": f"{share['decode']:.1%}",
        "walk_day_context": f"{_account()['context_tokens']:,}",
        "walk_nodes": f"{share['nodes']:.1%}",
        "walk_gap": f"{load.gap:g} s",
        "kept_hbm": usd(between(load, hbm_hold, known)),
        "kept_flash": f"${between(load, tier_hold, known | _flash()):.6f}",
        "machine": usd(top.total),
        "machine_own": usd(top_own.total),
        "left": significant(asked.total / top.total, 2),
        "left_own": significant(asked.total / top_own.total, 2),
        "top_new": usd(top.new),
        "own_new": usd(asked.new),
        "top_out": usd(top.output),
        "own_out": usd(asked.output),
        "own_hits": usd(asked.hits),
        "own_hits_share": f"{asked.hits / asked.total:.0%}",
        "own_day": significant(day_ratio(price(OWN)), 2),
        "opus_margin": significant(margin.mid, 2),
        "opus_low": significant(margin.low, 2),
        "opus_high": significant(margin.high, 2),
        "opus_real": significant(share["prefill"] * margin.mid, 2),
        "top_hits": usd(top.hits),
    }


def numbers() -> dict[str, str]:
    """All numbers of the page, by the name that the prose uses."""
    return _floors() | _loads() | _chat() | _agents() | _documents() | _batches() | _saving() | _stepping() | _ranks()
