"""What a task costs the machine that serves it: the floor, and what is known to add to it, up to its maker's price."""

from __future__ import annotations

from typing import Any, NamedTuple

from blackboard.catalogue import PriceCard, measurement, model, tier
from blackboard.catalogue.running_case import Case
from blackboard.formula import Formula
from blackboard.lessons.batching.equations import cost_floor
from blackboard.lessons.pricing.equations import attention_of_heads, context_flop, hbm_hold, remat_cost, tier_retrieve
from blackboard.lessons.pricing.results import KINDS, rack, rented
from blackboard.reference.bills import GROWING, HOUR, MTOK, Workload, card_prices, requests

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


def serving_day() -> dict[str, Any]:
    """DeepSeek's day of serving."""
    [day] = measurement("deepseek_day6_production").records()
    return day


def own_machine() -> dict[str, float]:
    """Symbols of the machine and the context of that day, with the rent that DeepSeek assumed."""
    day = serving_day()
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
        n.hits * tier_retrieve(known | flash_tier()),
        n.output * cost_floor(known, context=n.before_output),
    )


def flash_tier() -> dict[str, float]:
    return rented(tier(KINDS["ssd"]))


def reached() -> dict[str, float]:
    """Shares that DeepSeek's day reached: of the peak in prefill and decode, of the floor's rate in decode, of the
    nodes kept.
    """
    day, known = serving_day(), own_machine()
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
    n, p = tokens_of(load), card_prices(card, load, load.start)
    return Cost(n.new * p["write_price"], n.hits * p["hit_price"], n.output * p["output_price"])


def day_ratio(card: PriceCard) -> float:
    """Revenue over rent of DeepSeek's day, had all of it been sold at one card's prices."""
    day, p = serving_day(), card.usd_per_Mtok
    hits, out = day["cached_input_token_per_day"], day["output_token_per_day"]
    return (
        ((day["input_token_per_day"] - hits) * p.input + hits * p.cached_read + out * p.output)
        / MTOK
        / day["cost_USD_per_day"]
    )
