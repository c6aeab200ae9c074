"""The numbers that the prose of the cost cards quotes, computed from the bills and from the machine."""

from __future__ import annotations

from collections.abc import Iterable

from blackboard.catalogue import PriceCard, measurement, price, system
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching.equations import kv_time, weight_time
from blackboard.lessons.pricing.equations import hbm_hold, remat_cost, tier_hold
from blackboard.lessons.pricing.implied import implied
from blackboard.lessons.pricing.results import rack
from blackboard.reference.bills import (
    DAY,
    GROWING,
    HALF,
    HOSTED,
    HOUR,
    MTOK,
    SEEN,
    Bill,
    asked_once,
    bill,
    caches,
    current,
    doubts,
    hit_share,
    least_uses,
    name,
    ranked,
    requests,
    saved,
    shown,
    stale,
    unstored,
    usd,
    workloads,
)
from blackboard.reference.equations import sent, written
from blackboard.reference.machine_costs import (
    OWN,
    SOLD,
    between,
    day_ratio,
    even_context,
    flash_tier,
    floor,
    ladder,
    own_machine,
    priced,
    reached,
    serving_day,
    tokens_of,
)
from blackboard.units import significant


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
    """The floor of the agent's task, and what it rests on."""
    load = workloads()["agent"]
    n, known = tokens_of(load), rack()
    one = kv_time(known, batch=1, context=n.before_output)
    fits = (known["hbm"] - known["n_total"] * known["bytes_per_param"]) / (
        n.before_output * known["kv_bytes_per_token"]
    )
    return {
        "walk_rent": f"${known['rent'] * HOUR:.2f}",
        "walk_context": f"{n.before_output:,.0f}",
        "walk_before": f"{n.before_new:,.0f}",
        "walk_fits": f"{fits:,.0f}",
        "walk_weights": f"{weight_time(known) / (fits * one):.0%}",
        "floor": usd(floor(load).total),
        "floor_own": usd(floor(load, own_machine()).total),
    }


def _asked() -> dict[str, str]:
    """What three cards ask for the agent's task, beside its floor."""
    load = workloads()["agent"]
    low, asked = floor(load), priced(price(OWN), load)
    host, opus = (priced(price(id), load) for id in SOLD)
    sizes = [r.prompt for r in requests(load)]
    attended = sum(size * (1 + (size - 1) / 2 / even_context()) for size in sizes)
    again = attended * remat_cost(rack()) / reached()["prefill"]
    return {
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
    }


def _reached() -> dict[str, str]:
    """What attention adds over long prompts, and what a real day of serving reached."""
    load, share = workloads()["agent"], reached()
    before, rate = tokens_of(load).before_new, system(RUNNING.system).flops
    return {
        "att_from": significant(even_context(), 2),
        "att_times": significant(1 + before / even_context(), 2),
        "att_bf16": significant(1 + before / even_context() * rate("fp8") / rate("bf16"), 2),
        "walk_prefill": f"{share['prefill']:.1%}",
        "walk_mfu": f"{share['mfu']:.0%}",
        "walk_decode": f"{share['decode']:.1%}",
        "walk_day_context": f"{serving_day()['context_tokens']:,}",
        "walk_nodes": f"{share['nodes']:.1%}",
    }


def _ladder() -> dict[str, str]:
    """The agent's task from the machine upwards, and how much of its maker's price that explains."""
    load, known = workloads()["agent"], rack()
    top, top_own = ladder(load)["kept"], ladder(load, own_machine())["kept"]
    asked, margin = priced(price(OWN), load), implied(price(GROWING)).margin
    return {
        "walk_gap": f"{load.gap:g} s",
        "kept_hbm": usd(between(load, hbm_hold, known)),
        "kept_flash": f"${between(load, tier_hold, known | flash_tier()):.6f}",
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
        "opus_real": significant(reached()["prefill"] * margin.mid, 2),
        "top_hits": usd(top.hits),
    }


def numbers() -> dict[str, str]:
    """All numbers of the page, by the name that the prose uses."""
    machine = _floors() | _asked() | _reached() | _ladder()
    return machine | _loads() | _chat() | _agents() | _documents() | _batches() | _saving() | _stepping() | _ranks()
