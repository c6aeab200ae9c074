"""What four workloads cost on the catalogue's price cards, by part, on one day.

A workload is a sequence of requests. What a cache holds of each is found by comparing prompts, not stated: a request
re-reads what it shares with the one before, and all else is new. Prices are those of `DAY`, by the cards then current.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import takewhile
from typing import Any, NamedTuple

from blackboard.catalogue import PriceCard, measurement, prices
from blackboard.lessons.pricing.equations import uses_even
from blackboard.reference.equations import PARTS, request_cost, sent, task_cost, written
from blackboard.units import factor, significant

DAY = "2026-11-21"
MTOK, HOUR = factor("megatoken"), factor("h")
KEPT = 5 * factor("min")  # a short cache write buys so much, and each hit as much again
THOUSAND, HALF = 1000, 0.5


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


def _chat() -> Workload:
    """A talk of a few turns, of the mean lengths of published ones."""
    [chat] = measurement("vllm_request_lengths").records(requests="ShareGPT")
    return Workload(
        "chat",
        "a conversation with an assistant",
        4,
        4096,
        round(chat["input_tokens"]),
        round(chat["output_tokens"]),
        factor("min"),
        {
            "turns": "assumed",
            "head": "assumed: a system prompt as long as the strictest least length for caching that we saw",
            "brings": "mean of ShareGPT",
            "answer": "mean of ShareGPT",
            "gap": "assumed",
        },
    )


def _document() -> Workload:
    """Questions about one document, each answered as long as a published mean."""
    [trace] = measurement("request_traces").records()
    return Workload(
        "document",
        "questions about one long document, over an hour",
        6,
        120_000,
        50,
        trace["output_tokens"],
        12 * factor("min"),
        {
            "turns": "assumed",
            "head": "assumed: a novel, or an annual report; it fits into a context of 128,000 tokens",
            "brings": "assumed: a question",
            "answer": "mean of Mooncake's trace",
            "gap": "assumed",
        },
    )


@cache
def workloads() -> dict[str, Workload]:
    """The four workloads by name."""
    return {load.name: load for load in (_chat(), _agent(), _document(), _batch())}


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


def card_prices(card: PriceCard, load: Workload, prompt: int) -> dict[str, float]:
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


def count_tokens(card: PriceCard, request: Request, cached: bool) -> dict[str, float]:
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
        values = card_prices(card, load, request.prompt) | count_tokens(card, request, keeps)
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
    return task_cost(counts | card_prices(card, load, load.start))


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


def unstored(found: Bill) -> float:
    """A bill without its storage, as if the same hits came unasked, USD."""
    return found.total - found.parts["storage"]


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


def usd(value: float, digits: int = 2) -> str:
    """Dollars and cents, or below a dollar so many digits, never with an exponent."""
    return f"${value:,.2f}" if value >= 1 else f"${Decimal(significant(value, digits)):f}"
