"""Numbers of the lecture that articles repeat.

Each function computes the numbers of a claim of claims.yaml with the lessons' own formulas and inputs.
"""

from __future__ import annotations

from blackboard.catalogue import chip, measurement, model, price, prices, system, tier, tiers
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.batching import numbers as batching
from blackboard.lessons.overtraining import equations as over
from blackboard.lessons.overtraining import numbers as overtraining
from blackboard.lessons.overtraining import results as model_results
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.pricing import numbers as priced
from blackboard.lessons.pricing import results as call_costs
from blackboard.lessons.pricing.implied import implied
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.racks import results as rack_results
from blackboard.lessons.sparsity import equations as sparse
from blackboard.lessons.sparsity import numbers as sparsity
from blackboard.lessons.sparsity import results as mixture_results
from blackboard.reference.claim_list import Found, Part, found
from blackboard.reference.lecture_claims import API, all_claims, day_use, drained, stated, world_racks

MS = 1e-3


@all_claims.enter("N2")
def thousands() -> Found:
    board, said = sparsity.ABOUT_300 * sparse.expert_sparsity(**sparsity.BOARD_EXPERTS), (2_000, 3_000)
    return found(
        Part("by the board's sparsity", said, board, "sequence"),
        Part("DeepSeek-V3 on the running rack, by parameters", said, step.critical_batch(RUNNING), "sequence"),
        Part("by experts", said, sparse.expert_batch(RUNNING), "sequence"),
    )


@all_claims.enter("N4")
def fifteen() -> Found:
    return found(
        Part("as the lecture divides", 15 * MS, step.drain_time(**batching.RUBIN), "s"),
        Part("Vera Rubin, as published", 15 * MS, step.drain_time(chip("vr200-nvl72")), "s"),
    )


@all_claims.enter("N5")
def rubin_memory() -> Found:
    row = chip("vr200-nvl72")
    return found(
        Part("memory", batching.RUBIN["hbm"], row.hbm_bytes, "byte"),
        Part("bandwidth", batching.RUBIN["bandwidth"], row.bandwidth, "byte/s"),
        drain=step.drain_time(row),
    )


@all_claims.enter("N6")
def worst() -> Found:
    return found(
        Part("two intervals of 20 ms", 40 * MS, step.worst_latency(interval=batching.INTERVAL), "s"),
        mean=step.mean_latency(interval=batching.INTERVAL),
    )


@all_claims.enter("N7")
def rack_rate() -> Found:
    known = {"batch": sparsity.LECTURE_BATCH, "interval": 1 / sparsity.DEPARTURES}
    each = sparse.chip_rate(chips=rack_results.USED, **known)
    parts = [
        Part(f"{row['chips']}, {row['who']}", each, row["throughput_token_per_GPU_per_s"], "token/s/GPU")
        for row in measurement("decode_per_gpu").records()
    ]
    [wide] = measurement("vllm_wide_ep").records(chip="GB200", phase="decode")
    parts.append(Part("GB200, vLLM", each, wide["throughput_token_per_GPU_per_s"], "token/s/GPU"))
    return found(
        Part("2,000 sequences, 64 times a second", 128_000, step.throughput(**known), "token/s"),
        *parts,
        slow=step.throughput(batch=2_000, interval=batching.INTERVAL),
    )


@all_claims.enter("N8")
def thousandth() -> Found:
    racks = {"direct use by developers, October 2025": API, "all of Google's products, May 2025": "all products"}
    return found(
        *(Part(f"racks for {of}", 1_000, world_racks(stated(counts))) for of, counts in racks.items()),
        low=world_racks(100e6),
        high=world_racks(500e6),
    )


@all_claims.enter("N9")
def unbatched() -> Found:
    gain = lambda n: step.batching_gain(RUNNING, n_total=n)
    active = RUNNING.symbols()["n_active"]
    return found(
        Part("a dense model", 1_000, gain(active)),
        Part("by the board's sparsity", 1_000, gain(active * sparse.expert_sparsity(**sparsity.BOARD_EXPERTS))),
        Part("DeepSeek-V3", 1_000, step.batching_gain(RUNNING)),
    )


@all_claims.enter("N10")
def rumour() -> Found:
    rows = [
        (row["pretraining_tokens"], row["model"])
        for id in ("training_gpu_hours", "training_tokens")
        for row in measurement(id).records()
    ]
    most, name = max(rows)
    return found(Part("most tokens that a maker states", overtraining.RUMOUR, most, "token"), most=most, name=name)


@all_claims.enter("N11")
def fast() -> Found:
    then, later = price("claude-opus-4.6", on=batching.LECTURE_DAY).fast, price(batching.LATER_CARD).fast
    ratio = step.fast_mode_batch_ratio(price_ratio=then.price_multiplier, speed_ratio=then.speed_multiplier)
    return found(
        Part("price", 6, then.price_multiplier),
        Part("speed", 2.5, then.speed_multiplier),
        batch=ratio,
        later=later.price_multiplier,
    )


@all_claims.enter("N12")
def two_dollars() -> Found:
    rows = {"H800, DeepSeek's account": chip("h800").rent("accounting")} | {
        f"{name}, three-year contract": chip(id).rent("contract")
        for id, name in (("h100-sxm", "H100"), ("h200", "H200"), ("b200", "B200"), ("gb200-nvl72", "GB200"))
    }
    floor = step.cost_floor(RUNNING, rent=chip("gb200-nvl72").rent("contract").usd_per_chip_second, context=0) * 1e6
    return found(*(Part(name, 2, rent.usd_per_chip_hour, "USD") for name, rent in rows.items()), floor=floor)


@all_claims.enter("N13")
def slower() -> Found:
    ratio = lambda id: chip(id).scale_up.bytes_per_s / chip(id).scale_out.bytes_per_s
    rows = {"h100-sxm": "H100", "h800": "H800", "gb200-nvl72": "GB200", "gb300-nvl72": "GB300"}
    return found(*(Part(name, 8, ratio(id)) for id, name in rows.items()), hurts=racks.ratio_hurts(racks=2))


@all_claims.enter("N14")
def four_each() -> Found:
    each = lambda chips: racks.experts_per_chip(experts=RUNNING.symbols()["experts"], expert_parallel=chips)
    return found(
        Part("experts of a GPU", 4, each(rack_results.USED)),
        uneven=each(RUNNING.symbols()["chips"]),
        chips=RUNNING.symbols()["chips"],
    )


@all_claims.enter("N15")
def fifth() -> Found:
    (prefill, decode), card = day_use(), price(priced.OPEN).usd_per_Mtok
    own = pricing.decode_mfu(input_price=card.input, output_price=card.output)
    claude = price(priced.CARD).usd_per_Mtok
    return found(
        Part(
            "MFU by Claude's card", 0.2, pricing.decode_mfu(input_price=claude.input, output_price=claude.output), "%"
        ),
        Part("DeepSeek: MFU of decoding over that of prefill", own, decode / prefill, "%"),
        prefill=prefill,
        decode=decode,
        implied=own,
    )


@all_claims.enter("N16")
def tenth() -> Found:
    hit = lambda card: card.usd_per_Mtok.input / card.usd_per_Mtok.cached_read
    all_cards = [hit(card) for card in prices() if card.confirmed and card.usd_per_Mtok.cached_read]
    fetch = pricing.tier_retrieve(RUNNING.symbols() | call_costs.rented(tier(call_costs.KEEP[1])))
    find_claim = (("Claude Opus 4.6", priced.CARD), ("Gemini 3.1 Pro", priced.STEPPED), ("DeepSeek-R1", priced.OPEN))
    return found(
        *(Part(name, 10, hit(price(id))) for name, id in find_claim),
        least=min(all_cards),
        most=max(all_cards),
        over=price(priced.CARD).usd_per_Mtok.cached_read * call_costs.MTOK / fetch,
    )


@all_claims.enter("N17")
def three_to_five() -> Found:
    cards = [implied(card) for card in prices() if card.confirmed]
    same = [
        one.out_in
        for one in cards
        if one.net and one.net.attention == model("deepseek-v3").attention and one.net.ffn == model("deepseek-v3").ffn
    ]
    find_claim = (("Claude Opus 4.6", priced.CARD), ("Gemini 3.1 Pro", priced.STEPPED), ("DeepSeek-R1", priced.OPEN))
    return found(
        *(Part(name, (3, 5), implied(price(id)).out_in) for name, id in find_claim),
        least=min(one.out_in for one in cards),
        most=max(one.out_in for one in cards),
        same_least=min(same),
        same_most=max(same),
    )


@all_claims.enter("N18")
def two_kilobytes() -> Found:
    rows = {"deepseek-v4-flash": "DeepSeek-V4-Flash", "deepseek-v3": "DeepSeek-V3", "llama-3.1-405b": "Llama 3.1 405B"}
    return found(
        Part(
            "one layer of 8 heads of 128 values, one byte each",
            2_000,
            pricing.kv_of_heads(priced.HEADS),
            "byte/token",
        ),
        *(Part(name, 2_000, model(id).kv_bytes_per_token(), "byte/token") for id, name in rows.items()),
    )


@all_claims.enter("N19")
def drain_ladder() -> Found:
    quickest = lambda kind: min(drained(row.id) for row in tiers() if row.confirmed and row.tier.startswith(kind))
    return found(
        Part("HBM", 20 * MS, drained("hbm-gb200-nvl72"), "s"),
        Part("DDR5", (1, 10), quickest("DDR5"), "s"),
        Part("flash", 60, quickest("NVMe"), "s", "1 minute"),
        Part("disk", call_costs.HOUR, quickest("HDD"), "s", "1 hour"),
    )


@all_claims.enter("N20")
def experts_worth() -> Found:
    size, count = mixture_results.FIGURE["base_size"], mixture_results.FIGURE["experts"]
    gain = lambda router: sparse.quality_gain(
        n_effective=mixture_results.effective(size, count, router), base_size=size
    )
    return found(
        Part("gain in size", 4, gain("S-BASE")),
        Part("as good as a dense model of", 1.3e9, mixture_results.effective(size, count), "parameter"),
        rl=gain("RL-R"),
        hash=gain("HASH"),
    )


@all_claims.enter("N21")
def half_used() -> Found:
    twice = 2 * step.balanced_context(RUNNING)
    return found(Part("share of the peak", 0.5, step.mfu_limit(RUNNING, context=twice), "%"), twice=twice)


@all_claims.enter("N22")
def two_months() -> Found:
    return found(
        Part("tokens", 2.6e15, over.tokens_served(model_results.BOARD, world_rate=overtraining.GENEROUS), "token")
    )


@all_claims.enter("N23")
def twenty_each() -> Found:
    table = [row["pretraining_tokens"] / row["n_total"] for row in measurement("chinchilla_table3").records()]
    fit = lambda name: model_results.per_size(model_results.FITS[name])
    return found(
        Part("the paper's table, least", 20, min(table), "token/parameter"),
        Part("the paper's table, most", 20, max(table), "token/parameter"),
        Part("the fit as printed", 20, fit("hoffmann"), "token/parameter"),
        Part("fitted anew (Besiroglu)", 20, fit("besiroglu"), "token/parameter"),
        least=min(table),
        most=max(table),
    )


@all_claims.enter("N24")
def memories() -> Found:
    rack = (10e12, 20e12)
    return found(
        Part("8 H100", 640e9, system("h100-8").hbm_bytes, "byte"),
        *(
            Part(name, rack, system(id).hbm_bytes, "byte")
            for id, name in (("gb200-nvl72", "GB200 NVL72"), ("gb300-nvl72", "GB300 NVL72"))
        ),
    )


@all_claims.enter("N25")
def without_family() -> Found:
    rate = overtraining.GENEROUS
    return found(Part("tokens", 200e12, over.tokens_served(model_results.BOARD, world_rate=rate), "token"))


@all_claims.enter("N26")
def bandwidth_first() -> Found:
    chips = {"h100-sxm": "H100", "h200": "H200", "gb200-nvl72": "GB200", "vr200-nvl72": "Vera Rubin"}
    longer = (batching.INTERVAL, float("inf"))
    return found(
        *(
            Part(f"time to read the memory once, {name}", longer, step.drain_time(chip(id)), "s", "over 20 ms")
            for id, name in chips.items()
        ),
        interval=batching.INTERVAL,
    )


@all_claims.enter("N27")
def batch_of_tokens() -> Found:
    board = sparsity.ABOUT_300 * sparse.expert_sparsity(**sparsity.BOARD_EXPERTS)
    return found(
        Part("tokens of one step", 2_400, board, "token"),
        Part("what the batch counts", "tokens", "sequences"),
    )


@all_claims.enter("N28")
def alone() -> Found:
    second = chip("gb200-nvl72").rent("contract").usd_per_chip_second
    a_million = second * RUNNING.symbols()["chips"] * 1e6
    return found(
        Part("cost of a token at a batch of 1", "infinite", "finite"),
        whole=a_million * step.latency_floor(RUNNING),
        routed=a_million * step.first_floor(RUNNING),
        floor=step.cost_floor(RUNNING, rent=second, context=0) * 1e6,
    )


@all_claims.enter("N29")
def product() -> Found:
    then, now = (chip(id).scale_up for id in ("h100-sxm", "gb200-nvl72"))
    return found(domain=now.domain_chips / then.domain_chips, link=now.bytes_per_s / then.bytes_per_s)


@all_claims.enter("N30")
def from_usage() -> Found:
    [day], beta = measurement("deepseek_day6_production").records(), over.inference_coefficient(model_results.BOARD)
    real = model("deepseek-v3").training_tokens
    by = lambda tokens: beta * over.tokens_served(model_results.BOARD, world_rate=tokens / 86_400)
    written, read = day["output_token_per_day"], day["input_token_per_day"]
    said = f"{real / 1e12:.3g} trillion tokens (published)"
    return found(
        Part("DeepSeek-V3's training, by the tokens that it wrote", real, by(written), "token", said),
        Part("by all tokens that it read and wrote", real, by(written + read), "token", said),
        beta=beta,
    )


@all_claims.enter("N31")
def differentiable() -> Found:
    from blackboard.lessons.reversibility import simulation

    flips = simulation.avalanche(simulation.HALF_BITS, simulation.ROUNDS)["x"]
    return found(rounds=str(simulation.ROUNDS), flipped=float(flips[-1]))


@all_claims.enter("N32")
def racks_and_chips() -> Found:
    then, now = chip("h100-sxm"), chip("gb200-nvl72")
    grown = now.scale_up.domain_chips / then.scale_up.domain_chips
    return found(
        Part("growth of the domain, H100 to GB200", (2, float("inf")), grown, said="growth"),
        Part("growth of a chip's bandwidth", 1, now.bandwidth / then.bandwidth, said="none"),
        Part("growth of a chip's compute, FP8", 1, now.flops("fp8") / then.flops("fp8"), said="none"),
    )


@all_claims.enter("N33")
def parameters_grow() -> Found:
    grown = sparse.stored_growth(routed_share=sparsity.ROUTED_THIRD, experts=mixture_results.FIGURE["experts"])
    return found(Part("growth of the total, a third routed", 64, grown), grown=grown)
