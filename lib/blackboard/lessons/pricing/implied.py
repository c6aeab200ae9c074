"""What a price card implies about the machine and the model behind it, with ranges, and why to doubt each part.

A price is inverted by the lesson's formulas. What the card does not say (active parameters, number format, bytes of KV)
enters as a range, and the result is the range that follows: low and high take every unknown at its worst end together.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from blackboard.catalogue import Model, PriceCard, Rent, System, measurement, model, models, prices, system
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pricing import equations as eq
from blackboard.page.data_table import data_table
from blackboard.page.summary import Page, table
from blackboard.units import factor, significant

FORMATS = ("fp4", "fp8", "bf16")  # of the weights: the narrower, the smaller the KV cache that a step implies
KEPT = {"5 min": 5 * factor("min"), "1 h": factor("h")}  # what a cache write buys, by Anthropic's cards
# models of the catalogue under the names of price cards; a host's prefix and a date are left out
SAME = {
    "deepseek-v3-night": "deepseek-v3",
    "deepseek-v3.1": "deepseek-v3",
    "deepseek-r1-night": "deepseek-r1",
    "kimi-k2-0905": "kimi-k2",
    "llama-3.3-70b": "llama-3.1-70b",
    "llama-3.3-70b-turbo": "llama-3.1-70b",
    "qwen3-235b-2507": "qwen3-235b-a22b",
    "qwen3-235b-2507-tput": "qwen3-235b-a22b",
}


class Range(NamedTuple):
    """A quantity that is known within limits, in base SI."""

    low: float
    mid: float
    high: float

    @property
    def within(self) -> float:
        """The factor up and down from the middle of the range, on a log scale."""
        return (self.high / self.low) ** 0.5

    def said(self, unit: str = "1", digits: int = 2) -> str:
        """The range in words: mid (low to high), or the one value."""
        low, mid, high = (significant(value / factor(unit), digits) for value in self)
        return mid if low == high else f"{mid} ({low} to {high})"


USED = {
    "deepseek": ("h800-8", "2026")
}  # machines that a provider has named, and until when; all others stand on the running case's rack
SIZES = Range(
    30e9, 100e9, 300e9
)  # active parameters where none are published: the lecture's, and about three times less and more


def caches() -> Range:
    """KV bytes of a token where nothing is published: the lecture's estimate, DeepSeek-V3's, Llama 3.1 405B's."""
    return Range(
        model("lecture-moe").kv_bytes_per_token(),
        *(model(id).kv_bytes_per_token() for id in ("deepseek-v3", "llama-3.1-405b")),
    )


@dataclass(frozen=True)
class Implied:
    """What one price card implies; None where the card has nothing to invert. Base SI, prices in USD."""

    card: PriceCard
    net: Model | None  # the model's architecture, where it is public
    out_in: float  # price of output over input
    mfu: float  # of decoding, if prices follow costs
    kv: Range | None  # byte/token, from the context step
    covered: float | None  # tokens of context that the price beyond the step covers
    out_in_beyond: float | None
    context: Range | None  # tokens of context in decoding, for a public model with dense attention
    uses: dict[str, float]  # uses from which on a cache write pays, by how long it keeps
    byte_rents: dict[str, Range]  # USD/byte/s that holding is charged
    margin: Range  # price of input over the rent of multiplying it at the peak rate
    doubts: tuple[str, ...]


def rent() -> Rent:
    """The rent by which the rack of the running case is counted."""
    return system(RUNNING.system).chip.rent("contract")


def machine(card: PriceCard) -> tuple[System, float]:
    """The system that a card's provider is known to use, or the running case's as a stand-in; and a chip's rent
    (USD/s).
    """
    named, until = USED.get(card.provider, ("", ""))
    if card.valid_from >= until:  # DeepSeek's account is of February 2025
        return system(RUNNING.system), rent().usd_per_chip_second
    [own] = measurement("deepseek_day6_production").records()
    return system(named), own["rent_USD_per_GPU_per_hour"] / factor("h")


def architecture(card: PriceCard) -> Model | None:
    """The catalogue's model that a card sells, if its architecture is public."""
    name = card.offer.split("/")[-1]
    known = {row.id for row in models()}
    return model(SAME.get(name, name)) if SAME.get(name, name) in known else None


def alike(one: Model | None, other: Model) -> bool:
    """Whether two models have the same layers, whatever they have learnt."""
    return one is not None and (one.attention, one.ffn) == (other.attention, other.ffn)


def dense(net: Model) -> bool:
    """Whether every token's whole cache is read: no window, no index."""
    return net.kv_read_bytes(2e6) == net.kv_bytes_per_token() * 2e6


def _size(net: Model | None) -> Range:
    return Range(*[net.n_active] * 3) if net else SIZES


def _kv_implied(card: PriceCard, size: Range) -> Range | None:
    """KV bytes of a token, if the card's step is the balanced context of a large batch."""
    if card.above is None:
        return None
    rack = system(RUNNING.system)
    at = lambda n, precision: eq.kv_implied(rack, precision=precision, n_active=n, step_context=card.above.tokens)
    return Range(*(at(n, precision) for n, precision in zip(size, FORMATS)))


def _context(card: PriceCard, net: Model | None, ratio: float) -> Range | None:
    """Context of decoding, from a batch so large that weights cost nothing down to the critical batch."""
    if net is None or not dense(net) or ratio <= 1:
        return None
    balanced = step.balanced_context(net, machine(card)[0], precision="fp8")
    known = {"context_balanced": balanced, "output_price": ratio, "input_price": 1.0, "batch_critical": 1.0}
    return Range(*(eq.context_implied(batch=batch, **known) for batch in (1.0, 2.0, 1e9)))


def _uses(card: PriceCard) -> dict[str, float]:
    """Uses of a prompt from which on writing it to the cache pays."""
    p = card.usd_per_Mtok
    if p.cached_read is None:
        return {}
    write = {"5 min": p.cache_write_5min, "1 h": p.cache_write_1h}
    return {
        kept: eq.uses_even(write_ratio=cost / p.input, read_ratio=p.cached_read / p.input)
        for kept, cost in write.items()
        if cost
    }


def _byte_rents(card: PriceCard, net: Model | None) -> dict[str, Range]:
    """What a byte is charged for a second in the cache, by how it is bought; the more bytes a token has, the less."""
    p, token = card.usd_per_Mtok, factor("USD/megatoken")
    premiums = {
        kept: ((cost or 0) - p.input, KEPT[kept])
        for kept, cost in (("5 min", p.cache_write_5min), ("1 h", p.cache_write_1h))
    }
    premiums["storage"] = (card.cache_storage_usd_per_Mtok_hour or 0, factor("h"))
    size = Range(*[net.kv_bytes_per_token()] * 3) if net else caches()
    per = lambda premium, time, kv: eq.byte_rent(premium=premium * token, hold_time=time, kv_bytes_per_token=kv)
    return {kept: Range(*(per(*paid, kv) for kv in reversed(size))) for kept, paid in premiums.items() if paid[0] > 0}


def _margin(card: PriceCard, size: Range) -> Range:
    """Price of input over the rent of chips that multiply at their peak in FP8."""
    where, paid = machine(card)
    cost = eq.input_margin.bind(where, precision="fp8", rent=paid)
    price = card.usd_per_Mtok.input * factor("USD/megatoken")
    return Range(*(cost(n_active=n, input_price=price) for n in reversed(size)))


def _doubts(card: PriceCard, net: Model | None, ratio: float) -> tuple[str, ...]:
    """Reasons not to trust what the card implies, as far as the catalogue knows them."""
    dearer = lambda other: other.usd_per_Mtok.input >= card.usd_per_Mtok.input
    later = [
        c
        for c in prices()
        if c.provider == card.provider and c.above is None and c.valid_from > card.valid_from and dearer(c)
    ]
    found = {
        "the price list is not confirmed at its source": not card.confirmed,
        "neither the model's size nor its cache is published": net is None,
        "beyond its step input rises more than output, which KV loading does not explain": (
            card.above and card.above.input_multiplier > card.above.output_multiplier
        ),
        (
            "its step and its price of output contradict each other in any one batch: by the step, decode below it is"
            " bound by compute; by the price of output, decode waits for memory"
        ): card.above and ratio > 1,
        "the same provider later sold a model without a step whose input is at least as dear": card.above and later,
        "output costs no more than input: no trace of what decode waits for": ratio <= 1,
        "the price changes with the hour, so it follows demand": any(
            word in card.tier for word in ("peak", "night", "day")
        ),
        "a cache hit costs less than a fortieth of input: less than any cost of loading that we know how to count": (
            (card.usd_per_Mtok.cached_read or 1) < card.usd_per_Mtok.input / 39
        ),
    }
    return tuple(reason for reason, holds in found.items() if holds)


@cache
def implied(card: PriceCard) -> Implied:
    """What a dated price card implies, each part as a range, and why to doubt it."""
    p, above, net = card.usd_per_Mtok, card.above, architecture(card)
    size, ratio = _size(net), card.usd_per_Mtok.output / card.usd_per_Mtok.input
    return Implied(
        card=card,
        net=net,
        out_in=ratio,
        mfu=eq.decode_mfu(input_price=p.input, output_price=p.output),
        kv=_kv_implied(card, size),
        covered=None
        if above is None
        else eq.context_covered(step_ratio=above.output_multiplier, step_context=above.tokens),
        out_in_beyond=None if above is None else ratio * above.output_multiplier / above.input_multiplier,
        context=_context(card, net, ratio),
        uses=_uses(card),
        byte_rents=_byte_rents(card, net),
        margin=_margin(card, size),
        doubts=_doubts(card, net, ratio),
    )


# --- as the page shows it ---------------------------------------------------------------------------------------------


def listing(found: Implied) -> Page:
    """One card with what it implies and why to doubt it, as a table."""
    rack = machine(found.card)[0].name
    gb_hour = lambda rents: "; ".join(f"{kept}: {r.said('USD/GB/h')}" for kept, r in rents.items())
    rows = [
        ("Output ÷ input", significant(found.out_in, 3)),
        ("MFU of decode, if prices follow costs", f"{found.mfu:.0%}"),
        ("KV cache implied by the step (byte/token)", found.kv.said() if found.kv else "no step"),
        (
            "Context that the price beyond the step covers (tokens)",
            f"{found.covered:,.0f}" if found.covered else "no step",
        ),
        (
            "Output ÷ input beyond the step",
            significant(found.out_in_beyond, 3) if found.out_in_beyond else "no step",
        ),
        (
            "Mean context of decode, from output ÷ input (tokens)",
            found.context.said() if found.context else "not without the model's cache",
        ),
        (
            "Uses at which a cache write breaks even",
            "; ".join(f"{kept}: {uses:.2f}" for kept, uses in found.uses.items()) or "no charge for writing",
        ),
        ("Price of holding (USD/GB/h)", gb_hour(found.byte_rents) or "no charge for holding"),
        (f"Input price ÷ rent of its compute on {rack}, in FP8 at the peak", found.margin.said()),
    ]
    cells = [[html.escape(name), html.escape(value)] for name, value in rows]
    doubts = "".join(f"<li>{html.escape(reason)}</li>" for reason in found.doubts)
    title = f"{found.card.id}, {found.card.tier}, seen from {found.card.valid_from}"
    return Page(
        table(title, ("Implied", "Value, and its range"), cells)
        + (f"<p>Doubts:</p><ul>{doubts}</ul>" if doubts else "")
    )


def every_card() -> Page:
    """Every card of the catalogue with what it implies, in the order of their dates, folded away."""
    short = lambda found, unit="1": "–" if found is None else found.said(unit)
    rows = []
    for found in map(implied, sorted(prices(), key=lambda card: (card.valid_from, card.id))):
        p, rents = found.card.usd_per_Mtok, found.byte_rents
        rows.append(
            [
                html.escape(found.card.offer),
                found.card.valid_from,
                f"{p.input:g} / {p.output:g}",
                significant(found.out_in, 2),
                f"{found.mfu:.0%}",
                short(found.kv, "kB/token"),
                short(found.context),
                ", ".join(f"{least_uses(n)}" for n in found.uses.values()) or "–",
                short(rents.get("5 min") or rents.get("storage"), "USD/GB/h"),
                short(found.margin),
                str(len(found.doubts)),
            ]
        )
    heads = (
        "Card",
        "Seen from",
        "Input / output, USD per million",
        "Output ÷ input",
        "MFU",
        "KV from the step, kB/token",
        "Context, tokens",
        "Uses to pay for a write (5 min, 1 h)",
        "Holding, USD/GB/h",
        "Input ÷ rent of a GB200 (DeepSeek until 2026: H800)",
        "Doubts",
    )
    shown = data_table("What every price list of the catalogue implies", heads, rows)
    return Page(f"<details><summary>Every price list of the catalogue</summary>{shown}</details>")


def least_uses(uses: float) -> int:
    """The least whole number of uses above the break-even."""
    return int(uses) + 1
