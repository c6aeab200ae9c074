"""The cost cards: bills by plain arithmetic, by prefixes of real tokens and by closed forms; what prices must obey;
and the page.
"""

from __future__ import annotations

import html
import itertools
import json
import random
import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert
from cases import cases
from lessons import ROOT
from matplotlib.colors import to_hex
from matplotlib.text import Text
from pictures import drawn_texts, picture
from test_formula import point
from test_interactive import evaluate, signals, walk
from test_prose import typed_numbers
from vegalite import breaches

from blackboard import notation
from blackboard.catalogue import measurement, price
from blackboard.charts.interactive import VEGALITE
from blackboard.charts.style import INKS
from blackboard.formula import dimension
from blackboard.lessons.paging.equations import hit_rate_turns
from blackboard.lessons.pricing.results import rack
from blackboard.notation import latex
from blackboard.reference import bills, cost_charts, cost_numbers, costs, machine_costs
from blackboard.reference import equations as eq
from blackboard.units import dimension as unit_dimension

LOADS = bills.workloads()
every_card = cases("card", bills.current(), ids=lambda card: card.id)
every_load = cases("load", LOADS.values(), ids=lambda load: load.name)
conversation = cases("load", [load for load in LOADS.values() if load.turns > 1], ids=lambda load: load.name)


# --- formulas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", eq.FORMULAS, ids=lambda f: f.name)
def test_formulas_have_their_units_and_say_something(formula):
    assert dimension(formula.typed) == unit_dimension(formula.unit) and formula.description and formula.latex


def test_the_bill_is_the_sum_of_products():
    known = {
        "fresh_tokens": 7,
        "input_price": 2,
        "written_tokens": 11,
        "write_price": 3,
        "reread_tokens": 13,
        "hit_price": 0.5,
        "answer_tokens": 17,
        "output_price": 19,
        "stored_tokens": 23,
        "storage_price": 29,
        "hold_time": 31,
        "batch_factor": 0.5,
    }
    assert eq.task_cost(**known) == 0.5 * (7 * 2 + 11 * 3 + 13 * 0.5 + 17 * 19) + 23 * 29 * 31
    assert sum(part(**{name: known[name] for name in part.free}) for part in eq.PARTS.values()) == eq.task_cost(**known)


def test_the_lines_of_the_bill_are_its_formula():
    first, second, stored = eq.lines()
    assert (eq.batch_factor * (first + second) + stored - eq.task_cost.typed).expand() == 0
    shown = costs.Lines()._repr_latex_()
    assert shown.count(r"\\") == 2 and all(
        latex(notation.symbol(name)) in shown for name in ("task_cost", *eq.task_cost.free)
    )


def test_every_letter_is_explained():
    pages = [costs.legend(formula) for formula in (eq.task_cost, eq.sent, eq.request_cost)]
    free = {name for formula in eq.FORMULAS for name in formula.free}
    for name in free:
        row = f"\\({latex(notation.symbol(name))}\\)</th><td>{html.escape(notation.lookup(name).description)}"
        assert sum(row in page for page in pages) == 1, name
    assert set(re.findall(r"costs\.legend\(eq\.(\w+)\)", PAGE)) == {"task_cost", "sent", "request_cost"}


def test_one_request_is_a_task_of_one_request():
    known = {"hit_price": 0.5, "write_price": 3, "output_price": 19, "batch_factor": 0.25, "answer_tokens": 17}
    split = {
        "fresh_tokens": 0,
        "input_price": 2,
        "written_tokens": 75,
        "reread_tokens": 25,
        "stored_tokens": 0,
        "storage_price": 1,
        "hold_time": 0,
    }
    assert eq.request_cost(**known, prompt_tokens=100, hit_rate=0.25) == pytest.approx(eq.task_cost(**known, **split))


# --- what is cached: real tokens, and closed forms --------------------------------------------------------------------


def by_tokens(load):
    """Hits, new tokens and answers of each request, from prompts that are lists of different tokens, compared one by
    one.
    """
    fresh, cached, prompt, found = itertools.count(), [], [], []
    take_ = lambda n: list(itertools.islice(fresh, n))
    prompt += take_(load.head)
    for _ in range(load.turns):
        prompt += take_(load.brings)
        hit = next((n for n, (a, b) in enumerate(zip(cached, prompt)) if a != b), min(len(cached), len(prompt)))
        found.append((hit, len(prompt) - hit, load.answer))
        cached = list(prompt)
        prompt += take_(load.answer)
    return found


@every_load
def test_hits_are_the_common_heads_of_real_prompts(load):
    assert [tuple(request) for request in bills.requests(load)] == by_tokens(load)


@conversation
@pytest.mark.parametrize("turns", [1, 2, 7, 40])
def test_counting_and_closed_forms_agree(load, turns):
    made = bills.requests(replace(load, turns=turns))
    at = {"turns": turns, "start_context": load.start, "turn_growth": load.growth}
    assert sum(r.prompt for r in made) == eq.sent(at)
    assert sum(r.new for r in made) == eq.written(at) == made[-1].prompt
    assert sum(r.hit for r in made) / sum(r.prompt for r in made) == pytest.approx(hit_rate_turns(at))


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(
    "id", ["claude-opus-5.5@2026-09-22", "mistral-medium-3.5@2026-09-29", "cerebras/gpt-oss-120b@2026-06-27"]
)
def test_bills_agree_with_the_closed_form(id, cached):
    for name in ("chat", "agent"):
        for turns in (1, 5, 33):
            load = replace(LOADS[name], turns=turns)
            keeps = cached and bills.caches(price(id), load)
            assert bills.bill(price(id), load, cached).total == pytest.approx(
                bills.closed(price(id), load, turns, keeps)
            )


def test_the_agent_is_the_measured_one():
    [seen] = measurement("agent_traces").records()
    made = bills.requests(LOADS["agent"])
    assert made[0].prompt == seen["start_tokens"] and len(made) == seen["turns"]
    assert made[1].prompt - made[0].prompt == seen["growth_tokens"]
    assert sum(r.prompt for r in made) / sum(r.answer for r in made) == pytest.approx(
        seen["input_per_output"], rel=2e-3
    )
    assert made[29].prompt == pytest.approx(seen["end_tokens"], rel=0.05)


def test_simulated_hits_lie_near_measured_ones():
    """Not fitted: the agent's within a point of what its traces allow, the chat's between what Chatbot Arena had."""
    rates = {row["workload"]: row["hit_rate"] for row in measurement("prefix_cache_hit_rates").records()}
    assert bills.hit_share(LOADS["agent"]) == pytest.approx(
        rates["Codex on SWE-bench Pro, what the traces allow"], abs=0.01
    )
    assert (
        rates["Chatbot Arena, LLaVA-NeXT-34B, a month"]
        < bills.hit_share(LOADS["chat"])
        < rates["Chatbot Arena, Vicuna-33B, a month"]
    )


# --- bills by plain arithmetic ----------------------------------------------------------------------------------------

M = 1e-6
# turn by turn: 12,000 tokens at the start, 2,242 more each turn, 365 of them the answer; USD per million from the
# makers' pages
AGENT_NEW, AGENT_HITS, AGENT_OUT = 12_000 + 32 * 2_242, sum(12_000 + 2_242 * k for k in range(32)), 33 * 365
DOC_NEW, DOC_HITS, DOC_OUT = 120_050 + 5 * 232, sum(120_050 + 232 * k for k in range(5)), 6 * 182
CHAT_NEW, CHAT_HITS, CHAT_OUT = 4_257 + 3 * 499, 3 * 4_257 + 3 * 499, 4 * 338
RECKONED = [
    ("agent", "claude-opus-5.5@2026-09-22", AGENT_NEW * 5 * M + AGENT_HITS * 0.2 * M + AGENT_OUT * 20 * M),
    ("agent", "gemini-3.1-pro-preview@2026-02-19", AGENT_NEW * 2 * M + AGENT_HITS * 0.2 * M + AGENT_OUT * 12 * M),
    ("agent", "deepseek-v4-pro-0813@2026-08-16", AGENT_NEW * 1.32 * M + AGENT_HITS * 0.044 * M + AGENT_OUT * 3.96 * M),
    ("agent", "cerebras/gpt-oss-120b@2026-06-27", (AGENT_NEW + AGENT_HITS) * 0.35 * M + AGENT_OUT * 0.75 * M),
    ("chat", "gpt-6.1-sol@2026-09-29", CHAT_NEW * 2.5 * M + CHAT_HITS * 0.1 * M + CHAT_OUT * 10 * M),
    ("chat", "mistral-medium-3.5@2026-09-29", CHAT_NEW * 1.5 * M + CHAT_HITS * 0.15 * M + CHAT_OUT * 7.5 * M),
    (
        "document",
        "claude-opus-5.5@2026-09-22",
        DOC_NEW * 8 * M + DOC_HITS * 0.2 * M + DOC_OUT * 20 * M,
    ),  # an hour's write
    (
        "document",
        "gemini-3.1-pro-preview@2026-02-19",
        DOC_NEW * 2 * M + DOC_HITS * 0.2 * M + DOC_OUT * 12 * M + 120_000 * 4.5 * M,
    ),  # an hour of storage
    (
        "document",
        "claude-haiku-5.5@2026-10-07",
        5 * (DOC_NEW * 0.2 * M + DOC_HITS * 0.01 * M + DOC_OUT * 0.5 * M),
    ),  # beyond its step
    (
        "document",
        "gemini-4-argon@2026-10-13",
        DOC_NEW * 2 * M + DOC_HITS * 0.1 * M + DOC_OUT * 10 * M,
    ),  # no storage on the card
    ("batch", "claude-sonnet-5.5@2026-10-07", 1000 * (7_590 * 1 * M + 182 * 5 * M)),
    ("batch", "together/gpt-oss-120b@2026-06-26", 1000 * (7_590 * 0.15 * M + 182 * 0.6 * M)),  # no batch price
]


@pytest.mark.parametrize(("load", "id", "expected"), RECKONED, ids=[f"{load}-{id}" for load, id, _ in RECKONED])
def test_bills_by_plain_arithmetic(load, id, expected):
    assert bills.bill(price(id), LOADS[load]).total == pytest.approx(expected, rel=1e-12)


def test_the_worked_bill_is_the_bill():
    """Its lines, tokens times price, are the plain sums, and make up the whole."""
    found = costs.worked(LOADS["agent"], price("claude-opus-5.5@2026-09-22"))
    assert [(part, tokens, each) for part, tokens, each, _ in found] == [
        ("written", AGENT_NEW, pytest.approx(5)),
        ("hits", AGENT_HITS, pytest.approx(0.2)),
        ("output", AGENT_OUT, pytest.approx(20)),
    ]
    for _, tokens, each, paid in found:
        assert paid == pytest.approx(tokens * each * M)
    assert sum(paid for *_, paid in found) == pytest.approx(
        bills.bill(price("claude-opus-5.5@2026-09-22"), LOADS["agent"]).total
    )


def test_storage_is_all_that_a_bill_without_it_lacks():
    pro = bills.bill(price("gemini-3.1-pro-preview@2026-02-19"), LOADS["document"])
    assert bills.unstored(pro) == pytest.approx(DOC_NEW * 2 * M + DOC_HITS * 0.2 * M + DOC_OUT * 12 * M)
    assert f"gemini-3.1-pro</code> ${bills.unstored(pro):.2f}" in costs.bills(
        "document"
    ) and "Without storage" not in costs.bills("agent")


# --- down to the machine ----------------------------------------------------------------------------------------------

# datasheets and papers, by hand: USD per GPU-second, FLOP/s in FP8, byte/s of HBM and its bytes; DeepSeek-V3; a 30.72
# TB drive paid off in five years
RACK = {"usd": 72 * 3.30 / 3600, "flops": 72 * 5.0e15, "bytes": 72 * 8.0e12, "hbm": 72 * 186e9}
H800 = {"usd": 8 * 2.0 / 3600, "flops": 8 * 1.9789e15, "bytes": 8 * 3.35e12, "hbm": 8 * 80e9}
ACTIVE, KV = 37.55e9, 61 * (512 + 64) * 2
DRIVE_USD, DRIVE_READ = 0.365 * 30_720 / (5 * 365 * 86_400), 28e9
AGENT_BEFORE = [12_000 + 2_242 * k + j for k in range(33) for j in range(365)]  # tokens before each token of an answer


def at_least(box):
    """New, hits and output of the agent's task in USD, by hand."""
    new = AGENT_NEW * 2 * ACTIVE / box["flops"] * box["usd"]
    return new, AGENT_HITS * KV / DRIVE_READ * DRIVE_USD, sum(AGENT_BEFORE) * KV / box["bytes"] * box["usd"]


def test_tokens_of_the_agent_by_listing_them():
    """Every position is new once; what stands before a token of an answer is its position."""
    found = machine_costs.tokens_of(LOADS["agent"])
    assert found[:3] == (AGENT_NEW, AGENT_HITS, AGENT_OUT)
    assert found.before_new == np.mean(np.arange(AGENT_NEW)) and found.before_output == np.mean(AGENT_BEFORE)


@pytest.mark.parametrize(("box", "known"), [(RACK, None), (H800, machine_costs.own_machine())], ids=["rack", "h800"])
def test_floors_by_hand(box, known):
    assert list(machine_costs.floor(LOADS["agent"], known)) == pytest.approx([*at_least(box), 0], rel=1e-3)


def test_what_deepseek_reached_by_hand():
    """From its account: tokens a second and node of eight, over what eight H800s could."""
    found = machine_costs.reached()
    assert found["prefill"] == pytest.approx(73_700 * (1 - 0.563) * 2 * ACTIVE / H800["flops"], rel=1e-3)
    assert found["mfu"] == pytest.approx(14_800 * 2 * ACTIVE / H800["flops"], rel=1e-3)
    assert found["decode"] == pytest.approx(14_800 * 4_989 * KV / H800["bytes"], rel=1e-3)
    assert found["nodes"] == 226.75 / 278


def test_the_account_gives_its_own_revenue():
    """At R1's list price, the day's tokens bring what DeepSeek says they would have."""
    [day] = measurement("deepseek_day6_production").records()
    assert machine_costs.day_ratio(price("deepseek-r1@2025-01-20")) == pytest.approx(
        day["revenue_USD_per_day"] / day["cost_USD_per_day"], rel=5e-3
    )


def test_the_ladder_by_hand():
    """Each rung adds to the one below; the last by plain arithmetic, with attention of 128 heads of 192 and 128 in 61
    layers.
    """
    rungs = list(machine_costs.ladder(LOADS["agent"]).values())
    assert all(a.total < b.total and all(x <= y for x, y in zip(a, b)) for a, b in itertools.pairwise(rungs))
    new, hits, out = at_least(RACK)
    attend = sum(2 * 61 * 128 * (192 + 128) * before for before in range(AGENT_NEW)) / RACK["flops"] * RACK["usd"]
    rate = {
        "prefill": 73_700 * 0.437 * 2 * ACTIVE / H800["flops"],
        "decode": 14_800 * 4_989 * KV / H800["bytes"],
        "nodes": 226.75 / 278,
    }
    kept = AGENT_HITS * KV / RACK["hbm"] * 20 * RACK["usd"]
    expected = [
        (new + attend) / rate["prefill"] / rate["nodes"],
        hits / rate["nodes"],
        out / rate["decode"] / rate["nodes"],
        kept,
    ]
    assert list(rungs[-1]) == pytest.approx(expected, rel=2e-3)


def test_what_the_page_says_of_floor_and_price_is_so():
    """Sentences without a number of their own: which is the larger, and where the machine's cost lies against the
    price.
    """
    low, top, asked = (
        machine_costs.floor(LOADS["agent"]),
        machine_costs.ladder(LOADS["agent"])["kept"],
        machine_costs.priced(price(machine_costs.OWN), LOADS["agent"]),
    )
    assert asked.total == pytest.approx((AGENT_NEW * 0.27 + AGENT_HITS * 0.07 + AGENT_OUT * 1.10) * M)
    assert top.kept > low.total and top.new > asked.new > low.new and top.output > asked.output > low.output
    assert asked.hits > 5 * (top.hits + top.kept) and asked.hits > asked.total / 2
    own = machine_costs.ladder(LOADS["agent"], machine_costs.own_machine())["kept"]
    assert asked.total / own.total < asked.total / top.total < machine_costs.day_ratio(price(machine_costs.OWN))
    known = rack()
    assert np.mean(AGENT_BEFORE) * KV / known["bandwidth"] > 2 * ACTIVE / known["flops"], (
        "reading is no longer the larger part of the floor"
    )


def test_walk_and_ladder_show_their_numbers():
    low, top = machine_costs.floor(LOADS["agent"]), machine_costs.ladder(LOADS["agent"])["kept"]
    for page, said in (
        (costs.walk(), [low.new, low.hits, low.output, low.total]),
        (costs.steps_up(), [top.new, top.output, top.kept, top.total]),
    ):
        assert all(bills.usd(value, 3) in page for value in said) and not re.search(r"\bnan\b|\binf\b|None", page)


# --- what must hold of every card -------------------------------------------------------------------------------------


@every_card
def test_prices_are_in_order(card):
    """A hit is never dearer than input, a write never cheaper, a long write never cheaper than a short one; discounts
    discount.
    """
    p = card.usd_per_Mtok
    assert (p.cached_read or 0) <= p.input <= min(p.cache_write_5min or p.input, p.cache_write_1h or p.input)
    assert (p.cache_write_5min or 0) <= (p.cache_write_1h or np.inf) and p.output >= p.input
    assert card.batch_multiplier is None or 0 < card.batch_multiplier < 1
    assert card.above is None or (card.above.input_multiplier >= 1 and card.above.output_multiplier >= 1)


@every_card
def test_cards_are_of_their_day(card):
    assert "2024" <= card.valid_from <= bills.DAY and (card.valid_to is None or card.valid_to > bills.DAY)
    assert card.date <= bills.DAY, "a source that is younger than the comparison"


def test_a_card_that_ended_is_not_current():
    assert (
        price("claude-sonnet-5.5@2026-09-29") not in bills.current()
        and price("claude-sonnet-5.5@2026-10-07") in bills.current()
    )
    assert price("claude-sonnet-5.5@2026-09-29") in bills.current("2026-10-06")


@every_card
@every_load
def test_bills_grow_with_every_count(card, load):
    total = bills.bill(card, load).total
    assert total > 0
    for more in ({"answer": load.answer + 1}, {"brings": load.brings + 1}, {"turns": load.turns + 1}):
        assert bills.bill(card, replace(load, **more)).total > total


@every_card
@conversation
def test_caching_saves_at_most_what_hits_discount(card, load):
    """The saving lies below the discount of a hit on the whole bill; a card without a price for hits saves nothing."""
    p, saved = card.usd_per_Mtok, bills.saved(card, load)
    if p.cached_read is None:
        assert saved == 0
    else:
        assert -1 < saved < 1 - p.cached_read / p.input + 1e-12


@every_card
def test_waiting_multiplies_by_the_batch_price(card):
    load = LOADS["batch"]
    assert bills.bill(card, load).total == pytest.approx(
        (card.batch_multiplier or 1) * bills.bill(card, replace(load, waits=False)).total
    )


@pytest.mark.parametrize("card", [c for c in bills.current() if c.above], ids=lambda c: c.id)
def test_a_step_stands_between_its_last_token_and_the_next(card):
    at = card.above.tokens
    one = lambda prompt: bills.bill(card, bills.Workload("one", "", 1, 0, prompt, 100, 0, {}))
    short, long, p = one(at), one(at + 1), card.usd_per_Mtok
    assert (short.long, long.long) == (0, 1)
    assert short.total == pytest.approx((at * p.input + 100 * p.output) * M)
    assert long.total == pytest.approx(
        ((at + 1) * p.input * card.above.input_multiplier + 100 * p.output * card.above.output_multiplier) * M
    )
    assert bills.asked_once(card, at + 1, 100) == pytest.approx(long.total)


def test_a_write_pays_from_the_use_that_plain_sums_say():
    for card in bills.current():
        for kept in ("cache_write_5min", "cache_write_1h"):
            p, write = card.usd_per_Mtok, getattr(card.usd_per_Mtok, kept)
            if write and p.cached_read is not None:
                least = next(n for n in range(1, 100) if write + (n - 1) * p.cached_read < n * p.input)
                assert bills.least_uses(card, kept) == least


def test_doubts_are_said_where_they_bear_on_the_bill():
    astra, luna = price("gpt-6.2-astra@2026-11-17"), price("gpt-6-luna@2026-09-22")
    assert "not seen" in bills.doubts(bills.bill(astra, LOADS["chat"]))
    assert bills.doubts(bills.bill(luna, LOADS["chat"])) == "" and "not seen" in bills.doubts(
        bills.bill(luna, LOADS["batch"])
    )


def test_launch_prices_that_end_double():
    ending = [card for card in bills.current() if card.valid_to]
    assert ending and all("launch price" in card.note and "doubles" in card.note for card in ending)


def test_cards_not_seen_lately_are_grey():
    for card in bills.current():
        assert bills.stale(card) == (card.date[:7] <= "2026-08")
    chart = picture(cost_charts, "chart", ("agent",)).axes[0]
    found = bills.ranked(LOADS["agent"], bills.shown())
    assert [label.get_color() == INKS["light"]["muted"] for label in chart.get_yticklabels()] == [
        bills.stale(one.card) for one in found
    ]


# --- the page ---------------------------------------------------------------------------------------------------------

PAGE = (ROOT / "book/costs.md").read_text("utf8")
QUOTED = {
    "4,096": "the least length that Google caches, on its page on context caching",
    "30": "percent more tokens, Anthropic's overview of Haiku 5.5",
}


def test_no_number_is_typed_into_prose():
    prose = re.sub(r"```\{code-cell\}.*?```", "", PAGE.split("---", 2)[2], flags=re.S)
    assert typed_numbers(prose) == set(QUOTED)


def test_prose_and_numbers_use_the_same_names():
    assert set(re.findall(r"\{glue:text\}`(\w+)`", PAGE)) == set(cost_numbers.numbers())


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = cost_numbers.numbers()
    opus = AGENT_NEW * 5 * M + AGENT_HITS * 0.2 * M + AGENT_OUT * 20 * M
    plain = (AGENT_NEW + AGENT_HITS) * 4 * M + AGENT_OUT * 20 * M
    fable = AGENT_NEW * 10 * M + AGENT_HITS * 0.2 * M + AGENT_OUT * 40 * M
    sol = lambda hit: AGENT_NEW * 2.5 * M + AGENT_HITS * hit * M + AGENT_OUT * 10 * M
    contexts = range(12_000, 12_000 + 33 * 2_242, 2_242)
    prefills = sum(n * (2 * ACTIVE + 2 * 61 * 128 * 320 * (n - 1) / 2) for n in contexts)
    expected = {
        "cards": str(len(bills.current())),
        "agent_hits": f"{AGENT_HITS / (AGENT_NEW + AGENT_HITS):.1%}",
        "chat_hits": f"{CHAT_HITS / (CHAT_NEW + CHAT_HITS):.0%}",
        "agent_end": f"{AGENT_NEW:,}",
        "cached": f"${opus:.2f}",
        "plain": f"${plain:.2f}",
        "fable_bill": f"{fable / opus:.1f}",
        "fable_price": "2",
        "sol_less": f"{1 - sol(0.1) / sol(0.2):.0%}",
        "pro_storage": "$0.54",
        "pro_reading": "$0.24",
        "chat_head": f"{4096 / CHAT_NEW:.0%}",
        "agent_out_tokens": f"{AGENT_OUT / (AGENT_NEW + AGENT_HITS + AGENT_OUT):.1%}",
        "step_below": "$0.40",
        "step_beyond": "$0.80",
        "long_write": "2",
        "short_write": "1.25",
        "unused": "25%",
        "haiku_long": "6 of 6",
        "haiku_times": "5",
        "uses_short": "2",
        "uses_long": "3",
        "batch_factor": "50%",
        "sonnet_was": "$0.20",
        "sonnet_now": "$0.10",
        "codex": "94.2%",
        "ds_hits": "56.3%",
    }
    expected |= {
        "w_start": "12,000",
        "w_growth": "2,242",
        "w_sent": f"{AGENT_NEW + AGENT_HITS:,}",
        "w_new": f"{AGENT_NEW:,}",
        "w_hits": f"{AGENT_HITS:,}",
        "w_out": f"{AGENT_OUT:,}",
        "stale": "23",
        "batch_taken": "5",
        "free_hits": "cerebras/glm-4.7",
        "pro_total": "$0.92",
        "pro_free": "$0.38",
        "doc_hits_most": "71%",
        "doc_rereads": "2",
        "floor": f"${sum(at_least(RACK)):.4f}",
        "walk_context": f"{np.mean(AGENT_BEFORE):,.0f}",
        "walk_prefill": "15.3%",
        "walk_mfu": "7%",
        "walk_decode": "19.4%",
        "walk_nodes": "81.6%",
        "walk_fits": f"{(RACK['hbm'] - 671.025e9) / (np.mean(AGENT_BEFORE) * KV):,.0f}",
        "own_day": "3.2",
        "att_from": "15,000",
        "host_bill": "$0.97",
        "own_bill": "$0.14",
        "host_again": f"${prefills / RACK['flops'] * RACK['usd'] / 0.1528:.2f}",
        "kept_hbm": f"${AGENT_HITS * KV * 20 / RACK['hbm'] * RACK['usd']:.3f}",
        "kept_flash": f"${AGENT_HITS * KV * 20 / 30.72e12 * DRIVE_USD:.6f}",
    }
    assert {name: told[name] for name in expected} == expected


def test_the_dearest_is_said_of_the_cards_it_is_said_of():
    told = cost_numbers.numbers()
    for load in ("chat", "agent", "batch"):
        for key, cards in (("most", bills.shown()), ("all", bills.current())):
            totals = {card: bills.bill(card, LOADS[load]).total for card in cards}
            most = {bills.name(card) for card, total in totals.items() if total == pytest.approx(max(totals.values()))}
            assert (
                set(re.findall(r"(\S+) \(", told[f"{load}_{key}"])) == most
                and bills.usd(max(totals.values())) in told[f"{load}_{key}"]
            )
    top = max(bills.current(), key=lambda card: bills.bill(card, LOADS["agent"]).total)
    assert top.usd_per_Mtok.cached_read is None, "the page says so"


CELLS = re.findall(r'^cost_charts\.(?!bill_chart)(\w+)\((?:"(\w+)")?\)$', PAGE, re.M)


def test_every_figure_stands_on_the_page():
    assert [*(("chart", load) for load in LOADS), ("grows", ""), ("steps", "")] == CELLS


@pytest.mark.parametrize(("name", "of"), CELLS)
def test_figures_say_and_show_the_same(name, of):
    """An alt text; colours are the palette's; no text covers another; letters are readable on a phone."""
    args = (of,) if of else ()
    figure = picture(cost_charts, name, args)
    assert len(figure.alt) > 100 and figure.alt.endswith(".") and "nan" not in figure.alt
    known = {to_hex(colour) for colour in INKS["light"].values()} | {"#000000"}
    assert {to_hex(text.get_color()) for text in figure.findobj(Text) if text.get_text()} <= known
    texts = drawn_texts(cost_charts, name, *args)
    for (one, a), (two, b) in itertools.combinations(texts, 2):
        assert min(a.x1, b.x1) - max(a.x0, b.x0) <= 1 or min(a.y1, b.y1) - max(a.y0, b.y0) <= 1, (
            f"{one!r} and {two!r} overlap"
        )
    assert all(
        box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        for _, box in texts
    )
    assert (
        min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text())
        * 330
        / (figure.get_figwidth() * 72)
        >= 9
    )


@every_load
def test_bars_are_the_parts_of_the_bills(load):
    left = picture(cost_charts, "chart", (load.name,)).axes[0]
    found = bills.ranked(load, bills.shown())
    widths = np.array([bar.get_width() for bar in left.patches]).reshape(len(found), len(eq.PARTS))
    np.testing.assert_allclose(widths, [[100 * one.parts[part] / one.total for part in eq.PARTS] for one in found])
    assert [one.total for one in found] == sorted((one.total for one in found), reverse=True)


@every_load
def test_the_table_has_every_current_card_with_its_date_and_doubts(load):
    page = costs.bills(load.name)
    assert page.count("<tr>") == len(bills.current()) + 1 and not re.search(r"\bnan\b|\binf\b|None", page)
    assert all(f"<code>{bills.name(card)}</code>" in page and card.valid_from in page for card in bills.current())
    uncertain = sum(bool(bills.doubts(bills.bill(card, load))) for card in bills.current())
    assert page.count("<sup>") == uncertain == page.count("<li id=")
    assert costs.ratios().count("<tr>") == len(bills.current()) + 1


def test_charts_show_each_maker_and_one_model_at_each_host():
    providers = {card.provider for card in bills.current()}
    assert {card.provider for card in bills.shown()} == providers
    assert (
        all(card.model == bills.HOSTED for card in bills.shown() if card.provider in bills.HOSTS)
        and set(bills.HOSTS) < providers
    )


# --- the interactive chart --------------------------------------------------------------------------------------------


def test_the_charts_show_each_maker_s_newest_cards():
    """No card that is left out is newer than one of the same maker that is shown, and no maker has more than four."""
    shown = [card for card in bills.shown() if card.provider not in bills.HOSTS]
    for maker in {card.provider for card in shown}:
        dates = [card.valid_from for card in shown if card.provider == maker]
        others = [card.valid_from for card in bills.current() if card.provider == maker and card not in shown]
        assert len(dates) <= 4 and max(others, default="") <= min(dates), maker


@pytest.fixture(scope="module")
def live():
    return cost_charts.bill_chart()


@pytest.mark.parametrize("which", ["card", "other"])
def test_curves_are_the_formula(live, which):
    """Each line's expression, as it stands in the spec, equals the NumPy function at 300 random points."""
    rng, bound = random.Random(7), cost_charts._bound(which)
    (expression,) = {part["calculate"] for part in walk(live.spec) if part.get("as") == which and "calculate" in part}
    points = [point(eq.request_cost, rng) for _ in range(300)]
    found = [
        evaluate(expression, datum=SimpleNamespace(**at), **at, **{bound[name]: at[name] for name in bound})
        for at in points
    ]
    expected = eq.request_cost(**{key: np.array([at[key] for at in points]) for key in eq.request_cost.free}) * 1000
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "id", ["claude-haiku-5.5@2026-10-07", "cerebras/gpt-oss-120b@2026-06-27", "gpt-6.1-sol@2026-09-29"]
)
@pytest.mark.parametrize(("prompt", "waits"), [(4.5, "no"), (5.5, "no"), (5.5, "yes")])
def test_signals_carry_the_cards_prices(live, id, prompt, waits):
    """Vega's own values at chosen controls are a bill by plain arithmetic: hits, writes, output, the step and the
    batch.
    """
    moved = {"card": id, "prompt_tokens_exponent": prompt, "waits": waits, "share": 40, "answer_tokens_exponent": 3}
    params = [
        {**param, "value": moved[param["name"]]} if param["name"] in moved else param for param in live.spec["params"]
    ]
    card = price(id)
    n = {4.5: 32_000, 5.5: 320_000}[prompt]  # as the slider rounds
    p = card.rates(n)
    hit, write = p.input if p.cached_read is None else p.cached_read, p.cache_write_5min or p.input
    expected = (
        (n * (0.4 * hit + 0.6 * write) + 1000 * p.output)
        * M
        * 1000
        * ((card.batch_multiplier or 1) if waits == "yes" else 1)
    )
    assert signals(params, "here", "card_batch")["here"] == pytest.approx(expected, rel=1e-9)


def test_the_header_says_what_is_charged(live):
    """At a batch and beyond a step: prices after the step, writes, and what a card lacks."""
    moved = {
        "card": "claude-haiku-5.5@2026-10-07",
        "other": "cerebras/gpt-oss-120b@2026-06-27",
        "waits": "yes",
        "prompt_tokens_exponent": 5.1,
    }
    params = [
        {**param, "value": moved[param["name"]]} if param["name"] in moved else param for param in live.spec["params"]
    ]
    svg = vl_convert.vegalite_to_svg(json.dumps({**live.spec, "params": params, "width": 600}), vl_version=VEGALITE)
    said = " ".join(ElementTree.fromstring(svg).itertext())
    haiku, step = price(moved["card"]).rates(130_000), price(moved["card"]).above
    assert (
        step.tokens < 130_000
        and f"${haiku.input:.2f} in" in said
        and f"${haiku.output:.2f} out" in said
        and "written" in said
    )
    for words in (
        "beyond its step",
        "less 50%",
        "no batch price",
        "no price for hits",
        "$0.35 in",
    ):
        assert words in said


def test_the_chart_is_valid_small_and_loads_nothing(live):
    assert breaches(live.spec) == []
    assert "://" not in json.dumps(live.spec) and len(live.still.encode()) <= 12_000
    assert "NaN" not in live.still and len(" ".join(ElementTree.fromstring(live.still).itertext()).split()) > 20
    menus = {
        param["name"]: param["bind"]["options"]
        for param in live.spec["params"]
        if param.get("bind", {}).get("input") == "select"
    }
    assert set(menus["card"]) == set(menus["other"]) == {card.id for card in bills.current()}
    assert len(live.alt) > 100 and live.caption
