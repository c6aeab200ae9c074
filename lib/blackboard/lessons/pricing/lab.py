"""The lab of the pricing lesson: pay a bill, test what a price step says of a cache, choose where to keep a cache."""

from __future__ import annotations

import random
from typing import Any

from blackboard.catalogue import measurement, model, price, tier
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial, agrees
from blackboard.lab_values import same, shown
from blackboard.lessons.pricing import equations as eq
from blackboard.lessons.pricing.results import rack, rented

# --- a bill -----------------------------------------------------------------------------------------------------------


def pay(tokens, prices):
    """The bill of a call, in dollars, not rounded.

    tokens  how many tokens of each kind it used, for instance {"input": 2000, "output": 500}
    prices  dollars per million tokens of each kind; it may list more kinds than the call used
    """
    return sum(count * prices[kind] for kind, count in tokens.items()) / 1e6


def _calls(rng: random.Random) -> tuple:
    prices = {"input": rng.choice([0.5, 2, 3, 5]), "output": rng.choice([11, 12, 15, 25]), "cached": 0.5}
    kinds = rng.sample(sorted(prices), rng.randint(1, 3))
    return {kind: rng.choice([700, 2_000, 51_000]) for kind in kinds}, prices


def _no_charge(trial: Trial) -> str | None:
    return None if trial.got >= 0 else "A bill is never negative."


def _per_million(trial: Trial) -> str | None:
    fine = trial.got < 1e3 * trial.want
    return (
        None if fine else f"Prices are for a million tokens: ${trial.want:.4g} is expected, about a millionth of that."
    )


def _each_kind(trial: Trial) -> str | None:
    tokens, prices = trial.args
    if trial.got == round(trial.want, 2):  # which a part may be too
        return None
    got, parts = trial.got, {kind: count * prices[kind] / 1e6 for kind, count in tokens.items()}
    alone = [kind for kind, part in parts.items() if len(parts) > 1 and abs(got - part) < 1e-12]
    return f"You charged only the {alone[0]} tokens: add up all kinds that the call used." if alone else None


def _no_cents(trial: Trial) -> str | None:
    fine = same(trial.got, trial.want) or trial.got != round(trial.want, 2)
    return None if fine else "You rounded to cents. The price of a call is a few cents or less, so do not round."


_sum = agrees("Multiply each count by its own price, add up, and divide by a million.")


def _forgot_million(tokens, prices):
    return sum(count * prices[kind] for kind, count in tokens.items())


def _first_only(tokens, prices):
    kind = next(iter(tokens))
    return tokens[kind] * prices[kind] / 1e6


def _all_as_input(tokens, prices):
    return sum(tokens.values()) * prices["input"] / 1e6


def _in_cents(tokens, prices):
    return round(pay(tokens, prices), 2)


def _mean_price(tokens, prices):
    return sum(tokens.values()) * sum(prices[kind] for kind in tokens) / len(tokens) / 1e6


PAY = Step(
    "Pay the bill of a call",
    "Compute what a provider charges for a call, from its token counts and the price card.",
    pay,
    'pay({"input": 2000, "output": 500}, {"input": 3, "output": 15})',
    _calls,
    (_no_charge, _per_million, _each_kind, _no_cents, _sum),
    {
        _forgot_million: _per_million,
        _first_only: _each_kind,
        _all_as_input: _each_kind,
        _mean_price: _sum,
        _in_cents: _no_cents,
    },
    ("`tokens.items()` gives you each kind with its count.", "Each part is count × prices[kind] / 1e6."),
)

# --- what a step of the price would mean -----------------------------------------------------------------------------


def implied_kv(n_active, flops, bandwidth, step_context):
    """Bytes of KV cache per token, if a price stepped up where loading the cache begins to take longer than compute.

    n_active      active parameters; a token takes 2 FLOPs for each
    flops         FLOP/s of the machine
    bandwidth     byte/s of its memory
    step_context  tokens of context at which the price steps up
    """
    compute_time = 2 * n_active / flops
    return compute_time * bandwidth / step_context


def _machines(rng: random.Random) -> tuple:
    return (
        rng.choice([20e9, 50e9, 100e9]),
        rng.choice([2e15, 4e15, 6e15]),
        rng.choice([4e12, 8e12]),
        rng.choice([1e5, 2e5]),
    )


def _balance(trial: Trial) -> str | None:
    n_active, flops, bandwidth, context = trial.args
    compute, load = 2 * n_active / flops, trial.got * context / bandwidth
    if abs(load - compute) < 1e-9 * compute:
        return None
    return (
        f"At the step both times are equal: compute takes {compute * 1e6:.4g} µs per token, but your"
        f" {trial.got:.4g} bytes, times {context:,.0f} tokens, load in {load * 1e6:.4g} µs."
    )


def _size(trial: Trial) -> str | None:
    fine = 1 < trial.got < 1e7
    return None if fine else f"{trial.got:.4g} bytes per token is no cache of a model: a few kilobytes are."


def _half(n_active, flops, bandwidth, step_context):
    return n_active / flops * bandwidth / step_context


def _inverted(n_active, flops, bandwidth, step_context):
    return 2 * n_active * flops / (bandwidth * step_context)


def _whole_cache(n_active, flops, bandwidth, step_context):
    return 2 * n_active / flops * bandwidth


def _bits(n_active, flops, bandwidth, step_context):
    return 8 * 2 * n_active / flops * bandwidth / step_context


IMPLIED = Step(
    "What a price step would mean",
    "Work out how large a model's KV cache would be, if a step in its price marked the context at which memory"
    " becomes slower than compute.",
    implied_kv,
    "implied_kv(100e9, 600e12, 1e12, 200_000)",
    _machines,
    (_size, _balance),
    {_half: _balance, _inverted: _size, _whole_cache: _size, _bits: _balance},
    (
        "How long does compute take for one token? How many bytes can memory load in that time?",
        "Those bytes are the cache of `step_context` tokens.",
    ),
)

# --- when a cache write pays ------------------------------------------------------------------------------------------


def uses_to_pay(write, read):
    """After how many uses of a prefix one has paid the same with a cache as without one. It need not be a whole number.

    write  price of the first use, which writes the cache, as a multiple of the input price (1.25, for instance)
    read   price of each later use, which reads the cache, as a multiple of the input price (0.1, for instance)

    Without a cache each use is 1, the first one included.
    """
    return (write - read) / (1 - read)


def _cards(rng: random.Random) -> tuple:
    return rng.choice([1.0, 1.25, 1.5, 2.0]), rng.choice([0.1, 0.2, 0.25, 0.5])


def _at_least_once(trial: Trial) -> str | None:
    return None if trial.got >= 1 - 1e-9 else "The first use is a use too: the result is at least 1."


def _equal(trial: Trial) -> str | None:
    write, read = trial.args
    uses = trial.got
    cached = write + (uses - 1) * read
    if abs(cached - uses) < 1e-9 * uses:
        return None
    return f"With {uses:.4g} uses one pays {write} + {uses - 1:.4g} × {read} = {cached:.4g}; without it {uses:.4g}."


def _later_only(write, read):
    return (write - 1) / (1 - read)


def _no_first(write, read):
    return write / (1 - read)


def _ratio(write, read):
    return write / read


def _free_reads(write, read):
    return write


PAYS = Step(
    "When a cache write pays",
    "Find how often a prefix must be used before it pays to write it into the provider's cache.",
    uses_to_pay,
    "uses_to_pay(1.25, 0.1)",
    _cards,
    (_at_least_once, _equal),
    {_later_only: _at_least_once, _no_first: _equal, _ratio: _equal, _free_reads: _equal},
    ("With a cache, n uses are write + (n - 1) × read.", "Set that equal to n and solve for n."),
)

# --- where to keep it -------------------------------------------------------------------------------------------------


def keep_cost(kv, hold_time, device):
    """Dollars to keep the KV cache of one token on a device and to load it back once.

    kv         bytes of the token's cache
    hold_time  seconds for which it is kept
    device     {"rent": dollars per second, "capacity": bytes, "bandwidth": byte/s}, all for the whole device

    While the cache is kept it takes its share of the capacity; while it is loaded it keeps the whole device busy.
    """
    hold = device["rent"] * hold_time * kv / device["capacity"]
    load = device["rent"] * kv / device["bandwidth"]
    return hold + load


def _device(rng: random.Random) -> dict[str, float]:
    return {
        "rent": rng.choice([1e-5, 2e-6, 5e-7]),
        "capacity": rng.choice([1e12, 3e12, 3e13]),
        "bandwidth": rng.choice([2e11, 1e10, 2e8]),
    }


def _caches(rng: random.Random) -> tuple:
    return rng.choice([10_000, 70_000]), rng.choice([0, 10, 300, 3600]), _device(rng)


def _loading(trial: Trial) -> str | None:
    kv, hold_time, device = trial.args
    load = device["rent"] * kv / device["bandwidth"]
    fine = hold_time or abs(trial.got - load) < 1e-9 * load
    return None if fine else f"Kept for no time at all, it still must be loaded once: that costs ${load:.3g}."


def _drain(trial: Trial) -> str | None:
    kv, hold_time, device = trial.args
    load = device["rent"] * kv / device["bandwidth"]
    fine = trial.got >= load * (1 - 1e-9)
    return None if fine else f"Loading alone costs ${load:.3g}: holding comes on top of it."


def _share(trial: Trial) -> str | None:
    kv, hold_time, device = trial.args
    if same(trial.got, trial.want):
        return None
    hold, load = device["rent"] * hold_time * kv / device["capacity"], device["rent"] * kv / device["bandwidth"]
    return (
        f"Holding costs ${hold:.3g}: rent × time × its share of the capacity. Loading costs ${load:.3g}: rent × the"
        f" time of the transfer. Expected {shown(trial.want)}."
    )


def _hold_only(kv, hold_time, device):
    return device["rent"] * hold_time * kv / device["capacity"]


def _whole_device(kv, hold_time, device):
    return device["rent"] * (hold_time + kv / device["bandwidth"])


def _mean_of_both(kv, hold_time, device):
    return (device["rent"] * hold_time * kv / device["capacity"] + device["rent"] * kv / device["bandwidth"]) / 2


def _load_only(kv, hold_time, device):
    return device["rent"] * kv / device["bandwidth"]


KEEP = Step(
    "What a kept token costs",
    "Work out what it costs to hold a token's KV cache on a device and to load it back when it is needed.",
    keep_cost,
    'keep_cost(70_000, 300, {"rent": 2e-6, "capacity": 3e12, "bandwidth": 2e11})',
    _caches,
    (_loading, _drain, _share),
    {_hold_only: _loading, _whole_device: _share, _mean_of_both: _loading, _load_only: _share},
    (
        "Two costs add: holding and loading.",
        "Holding is rent × hold_time × kv / capacity. Loading takes kv / bandwidth seconds of the whole device.",
    ),
)


def cheapest(kv, hold_time, devices, again):
    """The name of the cheapest way to have a token's cache back after some time; "again" where that is to compute it.

    kv         bytes of the token's cache
    hold_time  seconds until it is needed
    devices    by name, as `keep_cost` takes them
    again      dollars to compute the token's cache again
    """
    costs = {name: keep_cost(kv, hold_time, device) for name, device in devices.items()}
    return min([*costs, "again"], key=lambda name: costs.get(name, again))


def _choices(rng: random.Random) -> tuple:
    names = rng.sample(["DRAM", "flash", "disk"], rng.randint(0, 3))
    return (
        rng.choice([10_000, 70_000, 500_000]),
        rng.choice([1, 60, 3600, 86400]),
        {name: _device(rng) for name in names},
        rng.choice([1e-12, 1e-7, 1e-3]),
    )


def _a_name(trial: Trial) -> str | None:
    names = [*trial.args[2], "again"]
    return None if trial.got in names else f"Return one of {', '.join(map(repr, names))}."


def _recompute(trial: Trial) -> str | None:
    if trial.want == "again" and trial.got != "again":
        return f"To compute it again costs ${trial.args[3]:.3g}, less than {trial.got} does."
    return None


def _least(trial: Trial) -> str | None:
    kv, hold_time, devices, again = trial.args
    cost = lambda name: f"${keep_cost(kv, hold_time, devices[name]) if name in devices else again:.3g}"
    if trial.got == trial.want:
        return None
    return f"{trial.got!r} costs {cost(trial.got)} for this time, but {trial.want!r} only {cost(trial.want)}."


def _never_again(kv, hold_time, devices, again):
    return min(devices, key=lambda name: keep_cost(kv, hold_time, devices[name]), default="again")


def _kv_of_the_example(kv, hold_time, devices, again):
    return cheapest(70_000, hold_time, devices, again)


def _last_device(kv, hold_time, devices, again):
    return [*devices, "again"][-2:][0]


def _dearest(kv, hold_time, devices, again):
    costs = {name: keep_cost(kv, hold_time, device) for name, device in devices.items()} | {"again": again}
    return max(costs, key=costs.__getitem__)


def _price_not_name(kv, hold_time, devices, again):
    return min([again, *(keep_cost(kv, hold_time, device) for device in devices.values())])


def _lowest_rent(kv, hold_time, devices, again):
    best = min(devices, key=lambda name: devices[name]["rent"], default="again")
    return best if best == "again" or keep_cost(kv, hold_time, devices[best]) < again else "again"


CHEAPEST = Step(
    "The cheapest place for a cache",
    "Choose between several devices and computing the cache again.",
    cheapest,
    'disk = {"rent": 5e-7, "capacity": 3e13, "bandwidth": 2e8};'
    ' dram = {"rent": 2e-6, "capacity": 3e12, "bandwidth": 2e11};'
    ' cheapest(70_000, 300, {"disk": disk, "DRAM": dram}, 1e-7)',
    _choices,
    (_a_name, _recompute, _least),
    {
        _never_again: _recompute,
        _dearest: _recompute,
        _last_device: _recompute,
        _price_not_name: _a_name,
        _lowest_rent: _least,
        _kv_of_the_example: _recompute,
    },
    (
        "Work out `keep_cost` for each device and keep it by name.",
        'Add `again` to that dict under the name "again", then take the name with the least cost.',
    ),
    extreme=lambda kv, hold_time, devices, again: not devices,
)

# --- the chart --------------------------------------------------------------------------------------------------------

DEVICES = {"DRAM": "ddr5-3tb-pcie", "flash": "ssd-9650-30t", "disk": "hdd-exos30"}
KV = model("deepseek-v3").kv_bytes_per_token()
TIMES = [10 ** (n / 4) for n in range(25)]  # from a second to twelve days


def devices() -> dict[str, dict[str, float]]:
    """The catalogue's devices, as `keep_cost` takes them."""
    known = {name: rented(tier(id)) for name, id in DEVICES.items()}
    return {
        name: {field: of[f"tier_{field}"] for field in ("rent", "capacity", "bandwidth")} for name, of in known.items()
    }


def again() -> float:
    """USD to compute a token's cache again, on the running case's rack."""
    return eq.remat_cost(rack())


def _day(pay: Any) -> tuple[float, float]:
    """A day of DeepSeek as a bill at its own prices, and the revenue that it published."""
    [row] = measurement("deepseek_day6_production").records()
    fresh = row["input_token_per_day"] - row["cached_input_token_per_day"]
    tokens = {"input": fresh, "cached": row["cached_input_token_per_day"], "output": row["output_token_per_day"]}
    return pay(tokens, {kind: row[f"{kind}_price_USD_per_Mtoken"] for kind in tokens}), row["revenue_USD_per_day"]


def _implied(own: Any) -> str:
    """What a step would imply of a model that is known, and when a cache pays, by the reader and by the lesson."""
    google, claude = price("gemini-3.1-pro-preview@2026-02-19"), price("claude-opus-4.6@2026-03-13").usd_per_Mtok
    assert google.above and claude.cache_write_5min and claude.cached_read
    case, step = rack(), google.above.tokens
    kv = own.implied_kv(case["n_active"], case["flops"], case["bandwidth"], step)
    write, read = claude.cache_write_5min / claude.input, claude.cached_read / claude.input
    uses, course = own.uses_to_pay(write, read), eq.uses_even(write_ratio=write, read_ratio=read)
    return (
        f"A step at {step:,} would mean {kv:,.0f} bytes a token in DeepSeek-V3 (it keeps {KV:,.0f}),\nand Claude's"
        f" cache pays from {uses:.2f} uses (the lesson: {course:.2f})"
    )


def _asked() -> list[tuple[float, float, str]]:
    """What providers ask to keep a million tokens' cache: seconds, USD beyond the input price, whose price it is, where
    there is room to say so: an hour costs about the same at both.
    """
    google, claude = price("gemini-3.1-pro-preview@2026-02-19"), price("claude-opus-4.6@2026-03-13").usd_per_Mtok
    assert google.cache_storage_usd_per_Mtok_hour and claude.cache_write_5min and claude.cache_write_1h
    return [
        (300, claude.cache_write_5min - claude.input, "Claude"),
        (3600, claude.cache_write_1h - claude.input, ""),
        (3600, google.cache_storage_usd_per_Mtok_hour, ""),
        (7200, 2 * google.cache_storage_usd_per_Mtok_hour, "Gemini"),
    ]


def finish(own: Any) -> dict[str, Any]:
    """What a million kept tokens cost by time: the reader's curve for each device and the cheapest of all, the lesson's
    at some points, and what providers ask. The title holds the reader's bill of a published day, and two price cards.
    """
    found, anew = devices(), again()
    held = {name: eq.tier_cost.bind(rented(tier(id)), kv_bytes_per_token=KV) for name, id in DEVICES.items()}
    cost = lambda name, time: 1e6 * (own.keep_cost(KV, time, found[name]) if name in found else anew)
    best = [(time, own.cheapest(KV, time, found, anew)) for time in TIMES]
    hour = own.cheapest(KV, 3600, found, anew)
    where = f"from {hour}" if hour in found else "by computing it again"
    first = [name if name != before else "" for (_, name), (_, before) in zip(best, [(0, ""), *best])]
    points = [(time, 1e6 * cost(hold_time=time)) for cost in held.values() for time in TIMES[::4]]
    bill, revenue = _day(own.pay)
    asked = _asked()
    return lab_chart(
        f"By your count, after an hour a cache comes back most cheaply {where}\n"
        f"Your bill for DeepSeek's day is {bill:,.0f} USD (published: {revenue:,.0f})\n{_implied(own)}",
        "time kept (s)",
        "USD per million tokens",
        {
            **{f"your cost on {name}": Series([(time, cost(name, time)) for time in TIMES]) for name in found},
            "the lesson's formula": Series(points, "point"),
            "your cheapest": Series([(time, cost(name, time)) for time, name in best], "point", first),
            "published prices, beyond the input's": Series(
                [(time, usd) for time, usd, _ in asked], "point", [name for *_, name in asked]
            ),
        },
        log_x=True,
        log_y=True,
    )


LAB = Lab(
    "Read a price card",
    "You pay a bill, test what a price step says about a model's cache, find when a cache write pays, and choose the"
    " device that keeps a cache most cheaply.",
    (PAY, IMPLIED, PAYS, KEEP, CHEAPEST),
    finish,
    "Each device's curve is flat as long as loading costs more than holding, and then rises. Where two curves cross,"
    " the cheapest device changes, so the longer a pause, the slower and cheaper the memory that suits it. A provider"
    " may follow these curves or not: its prices do not show where it keeps a cache.",
)
