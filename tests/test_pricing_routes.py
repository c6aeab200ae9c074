"""The pricing lesson's formulas against other routes: counting, trying, caches that are really kept, and the lecture's
numbers.
"""

from __future__ import annotations

import json
import math
import random

import pytest
from cases import cases
from test_interactive import vega_says

from blackboard.catalogue import model, price, prices, system, tier, tiers
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pricing import charts, numbers, results, simulation
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing.implied import FORMATS, KEPT, SIZES, architecture, caches, implied, least_uses, rent
from blackboard.units import factor

MTOK = factor("USD/megatoken")
CARDS = cases("card", prices(), ids=lambda card: card.id)
FILLED = RUNNING.symbols() | {"batch": 500.0, "context": 3_000.0}


# --- the lecture's numbers --------------------------------------------------------------------------------------------


def test_the_lectures_numbers():
    """100 billion over 200,000 at 300 multiply-adds a byte; half and twice of it; 2,048 and 4,096; five; two and three
    uses.
    """
    assert eq.kv_implied(numbers.BOARD) == pytest.approx(100e9 / 300 / 200e3) == pytest.approx(1_666.7, abs=0.1)
    assert [round(eq.kv_implied(numbers.BOARD, flops=f)) for f in (1200, 300)] == [833, 3_333]
    assert eq.kv_of_heads(numbers.HEADS) == 2_048 and eq.kv_of_heads(numbers.HEADS, kv_value_bytes=2) == 4_096
    assert eq.decode_mfu(input_price=5, output_price=25) == 0.2 and eq.pass_ratio(memory_ratio=5, pass_tokens=5) == 1
    assert eq.uses_even(write_ratio=1.25, read_ratio=0.1) == pytest.approx(1.278, abs=5e-4)
    assert eq.uses_even(write_ratio=2, read_ratio=0.1) == pytest.approx(2.111, abs=5e-4)
    assert eq.context_ratio(context=1e6, context_balanced=200e3) == 5


@pytest.mark.parametrize("id, n_active, expected", [("deepseek-v3", 37e9, 1_755), ("llama-3.1-405b", 405e9, 2_616)])
def test_at_the_boards_300_real_models_balance_at_thousands_of_tokens(id, n_active, expected):
    board = {**numbers.BOARD, "n_active": n_active, "kv_bytes_per_token": model(id).kv_bytes_per_token()}
    assert step.balanced_context(board) == pytest.approx(expected, abs=1)


def test_drain_times_put_five_minutes_and_an_hour_into_flash_and_a_disk_beyond_a_day():
    drain = {
        row.id: eq.tier_drain(tier_capacity=row.capacity_bytes, tier_bandwidth=row.read_bytes_per_s) for row in tiers()
    }
    for id, seconds in {
        "lpddr-grace": 1.25,
        "lpddr-grace-c2c": 1.25,
        "ddr5-3tb": 2.44,
        "ssd-9650-7t": 274,
        "hdd-exos30": 109_091,
    }.items():
        assert drain[id] == pytest.approx(seconds, rel=5e-3)
    flash = [drain[row.id] for row in tiers() if row.tier.startswith("NVMe")]
    assert (
        min(flash)
        < KEPT["5 min"]
        < KEPT["1 h"]
        < max(flash)
        < 86_400
        < min(drain[row.id] for row in tiers() if row.tier == "HDD")
    )


def test_the_implied_cache_puts_the_balanced_context_at_the_step():
    for rng in map(random.Random, range(50)):
        known = {name: 10 ** rng.uniform(3, 12) for name in ("n_active", "flops", "bandwidth", "step_context")}
        kv = eq.kv_implied(known)
        assert step.balanced_context(known, kv_bytes_per_token=kv) == pytest.approx(known["step_context"], rel=1e-12)


def test_a_staircase_covers_the_cost_up_to_where_it_says():
    """Token by token along the context, in an unlimited batch: the first length that costs more than is paid."""
    for ratio, at in ((1.5, 20_000), (2.0, 27_200)):
        pays = lambda context: 1.0 if context <= at else ratio
        short = next(
            context
            for context in range(1, 10 * at, 10)
            if eq.context_ratio(context=context, context_balanced=at) > pays(context)
        )
        assert short == pytest.approx(eq.context_covered(step_context=at, step_ratio=ratio), abs=10)


def test_a_finite_batch_covers_more_beyond_its_step_than_an_unlimited_one():
    """With the kink at the step, the weights' share flattens the rise."""
    kv = eq.memory_ratio_of.solve("kv_bytes_per_token")(FILLED, batch=20_000, context=200e3, memory_ratio=1)
    reach = eq.memory_ratio_of.solve("context")(FILLED, kv_bytes_per_token=kv, batch=20_000, memory_ratio=1.5)
    assert reach > eq.context_covered(step_context=200e3, step_ratio=1.5) == 300e3
    assert kv < eq.kv_implied(FILLED, step_context=200e3)


def counted(lengths, **changed):
    """Passes of the running case, counted."""
    names = ("batch", "n_active", "n_total", "bytes_per_param", "kv_bytes_per_token", "context", "flops", "bandwidth")
    known = FILLED | changed
    return simulation.passes(lengths, **{name: int(known[name]) if name == "batch" else known[name] for name in names})


@pytest.mark.parametrize("tokens", [1, 3, 40, 2_000])
def test_a_pass_is_counted(tokens):
    done = counted([tokens])
    assert eq.pass_time(FILLED, pass_tokens=tokens) == pytest.approx(done.seconds, rel=1e-12)
    assert eq.memory_ratio_of(FILLED) / tokens == pytest.approx(
        done.read / FILLED["bandwidth"] / (done.flop / FILLED["flops"]), rel=1e-12
    )


def test_one_token_a_pass_is_the_decode_step():
    assert eq.pass_time(FILLED, pass_tokens=1) == pytest.approx(step.step_time(FILLED), rel=1e-12)
    memory, compute = (eq.pass_time.terms[name](FILLED, pass_tokens=1) for name in ("memory", "compute"))
    assert eq.memory_ratio_of(FILLED) == pytest.approx(memory / compute, rel=1e-12)


def test_the_price_ratio_gives_back_mfu_and_context():
    """Pay for seconds: a token of a long prefill, and one decoded in a pass of its own; then read the card."""
    prompt, out = 20_000, 300
    paid = {"input_price": counted([prompt]).seconds / prompt, "output_price": counted([1] * out).seconds / out}
    assert eq.decode_mfu(**paid) == pytest.approx(step.mfu(FILLED), rel=1e-9)
    known = {
        "batch_critical": step.critical_batch(FILLED),
        "context_balanced": step.balanced_context(FILLED),
        "batch": FILLED["batch"],
    }
    assert eq.context_implied(**paid, **known) == pytest.approx(FILLED["context"], rel=1e-9)
    ratio = eq.pass_ratio(memory_ratio=eq.memory_ratio_of(FILLED), pass_tokens=1)
    assert paid["output_price"] / paid["input_price"] == pytest.approx(ratio, rel=1e-9)


# --- long contexts ----------------------------------------------------------------------------------------------------


def test_a_causal_prefill_is_counted_token_by_token():
    heads = {"layers": 3, "query_heads": 4, "head_dim": 16}
    for tokens in (1, 7, 600):
        weights, attention = simulation.prefill_flop(tokens, n_active=5_000.0, **heads)
        mean = eq.flop_per_token(
            n_active=5_000.0, attention_flop=eq.attention_of_heads(**heads), context=(tokens + 1) / 2
        )
        assert weights + attention == pytest.approx(tokens * mean, rel=1e-12)
    at = eq.context_flop(n_active=5_000.0, attention_flop=eq.attention_of_heads(**heads))
    tokens = round(2 * at) - 1  # a prefill's mean context is half of its length
    weights, attention = simulation.prefill_flop(tokens, n_active=5_000.0, **heads)
    assert attention == pytest.approx(weights, rel=1 / at)


@pytest.mark.parametrize("id", ["llama-3.1-405b", "qwen3-235b-a22b", "gpt-3-175b"])
def test_heads_attend_as_the_catalogue_says(id):
    (group,) = (net := model(id)).attention
    slope = eq.attention_of_heads(layers=group.layers, query_heads=group.heads, head_dim=group.head_dim)
    assert slope == pytest.approx(net.attention_flop(1), rel=1e-12)
    equal = eq.context_flop(n_active=net.n_active, attention_flop=slope)
    assert net.attention_flop(equal) == pytest.approx(2 * net.n_active, rel=1e-9)


def test_sparse_attention_reads_what_is_counted():
    (group,) = (net := model("deepseek-v3.2")).attention
    entry, key = group.entry(numbers.VLLM), group.key(numbers.VLLM)
    for context in (500, 2_048, 5_000):
        bytes_ = simulation.sparse_bytes(context, 4, key, entry, group.top_k)
        assert 4 * eq.sparse_read(
            context=context, index_bytes=key, entry_bytes=entry, selected=group.top_k
        ) == pytest.approx(bytes_, rel=1e-12)
        assert bytes_ * net.layers / 4 == pytest.approx(net.kv_read_bytes(context, numbers.VLLM), rel=1e-12)
    far = model("deepseek-v3").kv_read_bytes(2**17, numbers.VLLM), net.kv_read_bytes(2**17, numbers.VLLM)
    assert far == (pytest.approx(5.245e9, rel=1e-3), pytest.approx(1.137e9, rel=1e-3))


def test_sparse_limits():
    """Short contexts pay for an index in vain; long ones save entry over key at most; without an index there is no
    ceiling.
    """
    layout = {"index_bytes": 132, "entry_bytes": 656, "selected": 2_048}
    assert eq.sparse_saving(context=2_048, **layout) == pytest.approx(656 / (656 + 132))
    savings = [eq.sparse_saving(context=10.0**n, **layout) for n in range(4, 12)]
    assert savings == sorted(savings) and savings[-1] < 656 / 132 and savings[-1] == pytest.approx(656 / 132, rel=1e-6)
    assert eq.sparse_saving(context=1e9, **{**layout, "index_bytes": 0}) == pytest.approx(1e9 / 2_048)


@pytest.mark.parametrize("context, selected", [(4_096, 16), (10_000, 7), (9_999, 3), (500, 500)])
def test_the_best_block_is_found_by_trying_all(context, selected):
    best, read = simulation.best_block(context, selected)
    assert best == pytest.approx(
        eq.block_best(context=context, blocks_read=selected), abs=1 + 0.06 * best
    )  # the least is flat
    least = eq.block_read_best(context=context, blocks_read=selected)
    assert least * (1 - 1e-12) <= read <= least + 1 + selected  # whole blocks, whole tokens
    assert eq.block_read(context=context, blocks_read=selected, block=best) >= least * (1 - 1e-12)


# --- where a cache lies -----------------------------------------------------------------------------------------------

KNOWN = RUNNING.symbols() | {"rent": rent().usd_per_chip_second}
AGAIN = eq.remat_cost(KNOWN)
DEVICES = {id: results.rented(tier(id)) for id in results.KEEP}
PLACES = {id: simulation.Place(d["tier_rent"], d["tier_capacity"], d["tier_bandwidth"]) for id, d in DEVICES.items()}
PLACES["hbm"] = simulation.Place(KNOWN["rent"] * KNOWN["chips"], KNOWN["hbm"], math.inf)
EVEN = {id: eq.tier_cost.solve("hold_time")(KNOWN | d, c_cached=AGAIN) for id, d in DEVICES.items()} | {
    "hbm": eq.hbm_even(KNOWN)
}


def test_rent_cancels_in_the_break_even():
    for dearer in ({**KNOWN, "rent": KNOWN["rent"] * times} for times in (0.1, 7.0)):
        assert eq.hbm_hold(dearer, hold_time=EVEN["hbm"]) == pytest.approx(eq.remat_cost(dearer), rel=1e-12)


@pytest.mark.parametrize("row", tiers(), ids=lambda row: row.id)
def test_held_for_its_drain_time_a_cache_costs_twice_its_way_back(row):
    known = {
        "tier_capacity": row.capacity_bytes,
        "tier_bandwidth": row.read_bytes_per_s,
        "tier_rent": 3.0,
        "kv_bytes_per_token": 777.0,
    }
    drained = row.capacity_bytes / row.read_bytes_per_s
    assert eq.tier_hold(known, hold_time=drained) == pytest.approx(eq.tier_retrieve(known), rel=1e-12)
    assert eq.tier_cost(known, hold_time=drained) == pytest.approx(2 * eq.tier_retrieve(known), rel=1e-12)


@pytest.mark.parametrize("place", PLACES)
def test_keeping_pays_if_the_gaps_are_shorter_than_the_break_even(place):
    bill = lambda gap, keep: simulation.serve([gap] * 20, keep, PLACES[place], KNOWN["kv_bytes_per_token"], AGAIN).total
    for share in (0.01, 0.5, 0.99):
        assert bill(EVEN[place] * share, EVEN[place]) < bill(EVEN[place] * share, 0) == pytest.approx(20 * AGAIN)
    for share in (1.01, 3.0):
        assert bill(EVEN[place] * share, EVEN[place] * share) > 20 * AGAIN


@pytest.mark.parametrize("place", PLACES)
def test_random_requests_are_worth_keeping_if_they_come_often(place):
    """What is kept for good costs the mean gap, whatever the single gaps are."""
    for share, kept_is_cheaper in ((0.5, True), (2.0, False)):
        gaps = simulation.poisson(EVEN[place] * share, 4_000, seed=3)
        kept = simulation.serve(gaps, math.inf, PLACES[place], KNOWN["kv_bytes_per_token"], AGAIN)
        assert kept.misses == 0 and (kept.total < len(gaps) * AGAIN) == kept_is_cheaper


def test_who_keeps_for_the_break_even_never_pays_twice_the_best():
    """Not knowing the next gap costs at most a second bill; whoever keeps for good has no such bound."""
    kv, ratios = KNOWN["kv_bytes_per_token"], []
    for place, gaps in [(place, simulation.workday(seed)) for place in PLACES for seed in range(5)] + [
        ("hbm", [1.001 * EVEN["hbm"]] * 9)
    ]:
        known = simulation.foreseen(gaps, PLACES[place], kv, AGAIN)
        ratios.append(simulation.serve(gaps, EVEN[place], PLACES[place], kv, AGAIN).total / known)
    assert 1 - 1e-12 <= min(ratios) < 1.3 and 1.99 < max(ratios) <= 2  # nearly twice where each gap is just too long
    day = [14 * 3_600.0]
    assert simulation.serve(day, day[0], PLACES["hbm"], kv, AGAIN).total > 100 * simulation.foreseen(
        day, PLACES["hbm"], kv, AGAIN
    )


def test_the_cheapest_place_moves_down_the_ladder_as_gaps_grow():
    """In the order of drain times; each is the cheapest somewhere, and where it is, no formula gives less."""
    order = ["hbm", *sorted(results.KEEP, key=lambda id: tier(id).drain_time()), "recompute"]
    gaps = [10 ** (n / 10) for n in range(-30, 80)]
    won = [simulation.cheapest(gap, PLACES, KNOWN["kv_bytes_per_token"], AGAIN) for gap in gaps]
    assert list(dict.fromkeys(won)) == order and [order.index(name) for name in won] == sorted(
        order.index(name) for name in won
    )
    for gap, name in zip(gaps, won):
        cost = {id: eq.tier_cost(KNOWN | d, hold_time=gap) for id, d in DEVICES.items()} | {"recompute": AGAIN}
        cost["hbm"] = eq.hbm_hold(KNOWN, hold_time=gap)
        assert cost[name] == pytest.approx(min(cost.values()), rel=1e-12)
    places = ["hbm", *results.KEEP, "recompute"]
    for again in (AGAIN, 10 * AGAIN):  # of a short prompt, and of a long one
        for n, until in enumerate(results.cheapest(again).values()):
            near = [
                simulation.cheapest(until * share, PLACES, KNOWN["kv_bytes_per_token"], again)
                for share in (1 - 1e-6, 1 + 1e-6)
            ]
            assert near == places[n : n + 2], "where the page says that one place takes over from another"


def served(card):
    """The system that a card is held to, and USD per second of a chip: DeepSeek's account names eight H800 at two
    dollars an hour.
    """
    own = card.provider == "deepseek" and card.valid_from < "2026"
    return (system("h800-8"), 2 / 3_600) if own else (system(RUNNING.system), rent().usd_per_chip_second)


@CARDS
def test_every_card_implies_something_or_says_why_not(card):
    (rack, paid), found, p = served(card), implied(card), card.usd_per_Mtok
    assert found.mfu == min(1, p.input / p.output) and (found.out_in <= 1) == any(
        "no more than input" in doubt for doubt in found.doubts
    )
    assert card.confirmed == ("the price list is not confirmed at its source" not in found.doubts)
    assert (found.kv is None) == (found.covered is None) == (card.above is None)
    assert (found.net is None) == ("neither the model's size nor its cache is published" in found.doubts)
    if found.kv:
        for kv, n, name in zip(found.kv, [found.net.n_active] * 3 if found.net else SIZES, FORMATS):
            at = step.balanced_context(
                n_active=n, kv_bytes_per_token=kv, flops=rack.flops(name), bandwidth=rack.bandwidth
            )
            assert at == pytest.approx(card.above.tokens, rel=1e-12)
        assert (
            found.kv.low < found.kv.mid < found.kv.high
            and found.out_in_beyond == card.rates(1e7).output / card.rates(1e7).input
        )
    for margin, n in zip(reversed(found.margin), [found.net.n_active] * 3 if found.net else SIZES):
        seconds = 2 * n / rack.flops("fp8") * rack.chips
        assert p.input * MTOK == pytest.approx(margin * seconds * paid, rel=1e-9)


@CARDS
def test_cache_prices_are_read_as_they_are_paid(card):
    found, p = implied(card), card.usd_per_Mtok
    paid = {"5 min": p.cache_write_5min, "1 h": p.cache_write_1h}
    assert set(found.uses) == {kept for kept, cost in paid.items() if cost and p.cached_read is not None}
    for kept, uses in found.uses.items():
        assert simulation.uses_until_cheaper(paid[kept] / p.input, p.cached_read / p.input) == least_uses(uses)
    caches_ = [found.net.kv_bytes_per_token()] * 3 if found.net else caches()
    for kept, rents in found.byte_rents.items():
        premium = card.cache_storage_usd_per_Mtok_hour if kept == "storage" else paid[kept] - p.input
        for byte, kv in zip(reversed(rents), caches_):
            assert byte * kv * KEPT.get(kept, 3_600) == pytest.approx(premium * MTOK, rel=1e-12)


@CARDS
def test_the_context_that_a_ratio_implies_gives_the_ratio_back(card):
    found = implied(card)
    if found.context is None:
        bounded = lambda net: any(
            getattr(group, "window", None) or getattr(group, "top_k", None) for group in net.attention
        )
        assert (net := architecture(card)) is None or found.out_in <= 1 or bounded(net)
        return
    known = found.net.symbols("fp8") | served(card)[0].symbols("fp8")
    star = step.critical_batch(known)
    for context, batch in zip(found.context, (star, 2 * star, 1e9 * star)):
        assert eq.memory_ratio_of(known, context=context, batch=batch) == pytest.approx(found.out_in, rel=1e-9)


def test_the_lectures_cards():
    stepped, flat = implied(price(numbers.STEPPED)), implied(price(numbers.CARD))
    assert (stepped.out_in, stepped.out_in_beyond, stepped.covered) == (6, 4.5, 300_000)
    assert any("input rises more than output" in doubt for doubt in stepped.doubts)
    assert flat.kv is None and flat.mfu == 0.2 and [least_uses(uses) for uses in flat.uses.values()] == [2, 3]
    asked = flat.byte_rents["5 min"].mid / flat.byte_rents["1 h"].mid
    assert asked == pytest.approx((1.25 / 300) / (5 / 3_600))
    assert [bool(price(id).above) for id in (results.BILLED, numbers.CARD, numbers.STEPPED)] == [True, False, True]


def test_the_sliders_stop_at_what_the_page_names():
    """Five minutes, an hour, and on each side a time at which another place wins."""
    stops = {}
    for param in charts.hold_chart().spec["params"]:
        if param.get("bind", {}).get("input") == "range":
            count = round((param["bind"]["max"] - param["bind"]["min"]) / param["bind"]["step"])
            stops[param["name"]] = [10 ** (param["bind"]["min"] + n * param["bind"]["step"]) for n in range(count + 1)]
    near = lambda name, value, rel: any(stop == pytest.approx(value, rel=rel) for stop in stops[name])
    assert all(near("marked_exponent", time, 1e-4) for time in KEPT.values())
    assert near("marked_exponent", 20, 0.1) and near("marked_exponent", 3 * 3_600, 0.01)
    assert [
        simulation.cheapest(time, PLACES, KNOWN["kv_bytes_per_token"], AGAIN) for time in (20, 300, 10_800)
    ] == list(results.KEEP)


MOVES = (
    {},
    {"kv_bytes_per_token_exponent": 2.547, "marked_exponent": 5.077},
    {"rent_per_hour": 12, "year": "2025"},
    {"marked_exponent": 4.477},
)


@pytest.mark.parametrize("moved", MOVES)
def test_the_chart_finds_the_cheapest_place_that_a_run_finds(moved):
    params = json.loads(
        json.dumps([*charts.hold_chart().spec["params"], {"name": "keys", "value": list(charts.LINES)}])
    )
    params = [
        {**param, "value": moved.get(param["name"], param["value"])} if "value" in param else param for param in params
    ]
    names = [
        "marked",
        "kv_bytes_per_token",
        "rent",
        "chips",
        "hbm",
        "flops",
        "n_active",
        "least",
        "indexof(keys, cheapest)",
    ]
    devices = [
        f"{name}_{part}" if name != "flash" else whole for name in charts.TIERS for whole, part in charts.NAMES.items()
    ]
    (found,) = vega_says([{"row": 0}], [*names, *devices], params)
    time, kv, rent_, chips, hbm, flops, n_active, least, chosen = found[: len(names)]
    sizes = zip(charts.TIERS, found[len(names) :].reshape(-1, 3))
    places = {name: simulation.Place(paid, capacity, reads) for name, (capacity, reads, paid) in sizes}
    places["HBM"] = simulation.Place(rent_ * chips, hbm, math.inf)
    again = 2 * n_active / flops * rent_ * chips
    won = simulation.cheapest(time, places, kv, again)
    assert list(charts.LINES)[round(chosen)].replace("compute again", "recompute") == won
    bill = simulation.serve([time], 0 if won == "recompute" else time, places.get(won, places["HBM"]), kv, again)
    assert least == pytest.approx(bill.total / MTOK, rel=1e-9)
