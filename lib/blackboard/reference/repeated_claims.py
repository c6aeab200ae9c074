"""Numbers of the lecture, and what article A and documents of serving say beyond it, entered after the points.

Each function computes a claim's numbers with the lessons' own formulas and inputs.
"""

from __future__ import annotations

from blackboard.catalogue import chip, measurement, model, price, prices, system, tier, tiers
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.batching import numbers as batching
from blackboard.lessons.corpus import numbers as corpus
from blackboard.lessons.overheads import equations as overheads
from blackboard.lessons.overtraining import equations as over
from blackboard.lessons.overtraining import numbers as overtraining
from blackboard.lessons.paging import equations as paging
from blackboard.lessons.paging import numbers as paged
from blackboard.lessons.paging import simulation
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.pricing import numbers as priced
from blackboard.lessons.pricing.implied import implied
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.racks import numbers as racked
from blackboard.lessons.sparsity import equations as sparse
from blackboard.lessons.sparsity import numbers as sparsity
from blackboard.lessons.speculation import equations as spec
from blackboard.lessons.speculation import numbers as speculated
from blackboard.reference.claim_list import (
    CONTRADICTED,
    EXACT,
    FAILS,
    HOLDS,
    MAGNITUDE,
    OVERSTATED,
    PART,
    ROUGH,
    UNCHECKABLE,
    UNSOURCED,
    Found,
    Part,
    Place,
    found,
)
from blackboard.reference.lecture_claims import API, all_claims, day_use, drained, of, stated, world_racks

# --- the lecture's numbers --------------------------------------------------------------------------------------------

MS = 1e-3


@all_claims.enter(
    "N2",
    "numbers",
    "A batch of 2,000 to 3,000",
    statement="A batch of 2,000 to 3,000 sequences.",
    who=("lecture 0:19:16–0:20:19", "E 8"),
    at=Place("sparsity", "Three ways to count sparsity"),
    formulas=("sparsity.expert_sparsity", "batching.critical_batch", "sparsity.expert_batch"),
    sources=of(model("deepseek-v3")),
    because={
        PART: (
            "It rests on a sparsity of eight. DeepSeek-V3's own is about twice that by parameters and"
            " four times by experts, and the batch grows in proportion. Counting the KV cache raises it"
            " further."
        )
    },
)
def thousands() -> Found:
    board, said = sparsity.ABOUT_300 * sparse.expert_sparsity(**sparsity.BOARD_EXPERTS), (2_000, 3_000)
    return found(
        Part("by the board's sparsity", said, board, "sequence"),
        Part("DeepSeek-V3 on the running rack, by parameters", said, step.critical_batch(RUNNING), "sequence"),
        Part("by experts", said, sparse.expert_batch(RUNNING), "sequence"),
    )


@all_claims.enter(
    "N4",
    "numbers",
    "Rubin's memory in 15 ms",
    statement="Rubin's memory is read once in about 15 ms.",
    who=("lecture 0:24:13–0:24:32", "flashcards 1.9"),
    at=Place("batching", "The train leaves every 20 ms"),
    formulas=("batching.drain_time",),
    sources=of(chip("vr200-nvl72")),
    because={
        HOLDS: (
            "The lecture's own numbers round up to it. The published bandwidth is higher, so the time is shorter still."
        )
    },
)
def fifteen() -> Found:
    return found(
        Part("as the lecture divides", 15 * MS, step.drain_time(**batching.RUBIN), "s"),
        Part("Vera Rubin, as published", 15 * MS, step.drain_time(chip("vr200-nvl72")), "s"),
    )


@all_claims.enter(
    "N5",
    "numbers",
    "Rubin: 288 GB, 20 TB/s",
    statement="A Rubin has 288 GB and reads 20 TB/s.",
    who=("lecture 0:24:13–0:24:32", "flashcards 1.9"),
    at=Place("batching", "The train leaves every 20 ms"),
    formulas=("batching.drain_time",),
    sources=of(chip("vr200-nvl72")),
    because={
        HOLDS: (
            "The memory is exact; the announced bandwidth is a tenth higher. Memory divided by bandwidth"
            " is {drain:3 s}."
        )
    },
)
def rubin_memory() -> Found:
    row = chip("vr200-nvl72")
    return found(
        Part("memory", batching.RUBIN["hbm"], row.hbm_bytes, "byte"),
        Part("bandwidth", batching.RUBIN["bandwidth"], row.bandwidth, "byte/s"),
        drain=step.drain_time(row),
    )


@all_claims.enter(
    "N6",
    "numbers",
    "40 ms at worst",
    statement="A request waits 40 ms at worst.",
    who=("lecture 0:22:13–0:23:25", "D 2"),
    at=Place("batching", "The train leaves every 20 ms"),
    within=EXACT,
    formulas=("batching.worst_latency", "batching.mean_latency"),
    because={
        HOLDS: (
            "Whoever just misses a step waits one interval and then rides one. On average it is {mean:2"
            " s}. This holds as long as every step has a free place."
        )
    },
)
def worst() -> Found:
    return found(
        Part("two intervals of 20 ms", 40 * MS, step.worst_latency(interval=batching.INTERVAL), "s"),
        mean=step.mean_latency(interval=batching.INTERVAL),
    )


@all_claims.enter(
    "N7",
    "numbers",
    "128,000 tokens a second",
    statement="A rack makes 128,000 tokens a second.",
    who=("lecture 0:26:32–0:26:58", "C 7"),
    at=Place("sparsity", "Tokens per second, and the world's"),
    formulas=("batching.throughput", "sparsity.chip_rate"),
    sources=of(measurement("decode_per_gpu"), measurement("vllm_wide_ep")),
    because={
        PART: (
            "The product is right for 64 steps a second; with 20 ms per step it would be {slow:3"
            " token/s}. Divided by the rack's GPUs it is what H800 and H200 have really served. The rack"
            " that the lecture has in mind does more."
        )
    },
    quotes={"64": "departures a second, 0:26:58", "20": "the lecture's interval in ms"},
)
def rack_rate() -> Found:
    known = {"batch": sparsity.LECTURE_BATCH, "interval": 1 / sparsity.DEPARTURES}
    each = sparse.chip_rate(chips=racked.USED, **known)
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


@all_claims.enter(
    "N8",
    "numbers",
    "A thousandth of Gemini",
    statement="That is a thousandth of Gemini's traffic.",
    who=("lecture 0:27:28–0:27:37",),
    at=Place("sparsity", "Tokens per second, and the world's"),
    formulas=("sparsity.racks_needed",),
    sources=of(measurement("world_tokens")),
    because={
        PART: (
            "It holds against what developers used half a year before the lecture. Google's statement for"
            " all of its products, a year before, makes more. Both count tokens read as well; the rack's"
            " are tokens written. “Hundreds of millions” spans {low:3} to {high:3} racks."
        )
    },
)
def thousandth() -> Found:
    racks = {"direct use by developers, October 2025": API, "all of Google's products, May 2025": "all products"}
    return found(
        *(Part(f"racks for {of}", 1_000, world_racks(stated(counts))) for of, counts in racks.items()),
        low=world_racks(100e6),
        high=world_racks(500e6),
    )


@all_claims.enter(
    "N9",
    "numbers",
    "1,000 times without batching",
    statement="Without batching a token can cost 1,000 times as much.",
    who=("lecture 0:04:23", "D 1"),
    at=Place("batching", "Cost: what sharing saves"),
    formulas=("batching.batching_gain",),
    near=MAGNITUDE,
    sources=of(model("deepseek-v3")),
    because={
        ROUGH: (
            "By weights alone, the gain from batching is the critical batch. But a token alone is routed"
            " to few experts, and if it reads only those, the gain is that of a dense model."
        )
    },
)
def unbatched() -> Found:
    gain = lambda n: step.batching_gain(RUNNING, n_total=n)
    active = RUNNING.symbols()["n_active"]
    return found(
        Part("a dense model", 1_000, gain(active)),
        Part("by the board's sparsity", 1_000, gain(active * sparse.expert_sparsity(**sparsity.BOARD_EXPERTS))),
        Part("DeepSeek-V3", 1_000, step.batching_gain(RUNNING)),
    )


@all_claims.enter(
    "N10",
    "numbers",
    "Trained on 150 trillion",
    statement="Models are trained on 150 trillion tokens.",
    who=("lecture 1:31:01–1:31:12", "B claim 4"),
    at=Place("overtraining", "Against reality"),
    sources=("llama4_card", "qwen3_report"),
    stated=UNSOURCED,
    because={
        UNSOURCED: (
            "The lecture's host calls it a rumour that is not well cited; article B leaves that out. The"
            " most that a maker has stated, among the models of the catalogue, is {most:2 token} ({name})."
        )
    },
)
def rumour() -> Found:
    rows = [
        (row["pretraining_tokens"], row["model"])
        for id in ("training_gpu_hours", "training_tokens")
        for row in measurement(id).records()
    ]
    most, name = max(rows)
    return found(Part("most tokens that a maker states", overtraining.RUMOUR, most, "token"), most=most, name=name)


@all_claims.enter(
    "N11",
    "numbers",
    "Fast mode: 6 for 2.5",
    statement="Fast mode: six times the price for 2.5 times the speed.",
    who=("lecture 0:01:05", "C 2", "E 1"),
    at=Place("batching", "Fast mode, read backwards"),
    within=EXACT,
    formulas=("batching.fast_mode_batch_ratio",),
    sources=of(price(priced.CARD)),
    because={
        HOLDS: (
            "Claude Opus 4.6 on its price card of that spring. If prices follow costs, the batch is"
            " {batch:2} times smaller. A month later fast mode cost {later:2} times the same base price."
        )
    },
)
def fast() -> Found:
    then, later = price("claude-opus-4.6", on=batching.LECTURE_DAY).fast, price(batching.LATER_CARD).fast
    ratio = step.fast_mode_batch_ratio(price_ratio=then.price_multiplier, speed_ratio=then.speed_multiplier)
    return found(
        Part("price", 6, then.price_multiplier),
        Part("speed", 2.5, then.speed_multiplier),
        batch=ratio,
        later=later.price_multiplier,
    )


@all_claims.enter(
    "N12",
    "numbers",
    "$2 an hour",
    statement="A GPU rents for about $2 an hour.",
    who=("lecture 0:12:49–0:13:23", "ds_infra cost"),
    at=Place("batching", "Cost: what sharing saves"),
    formulas=("batching.cost_floor",),
    sources=("infx_tco", "ds_infra"),
    because={
        PART: (
            "DeepSeek's own figure for its H800s. Three-year contracts of spring 2026 cost less for older"
            " chips and more for newer ones; renting by the hour costs more. On the running rack the rent"
            " sets a floor of {floor:2 USD} per million tokens, KV left out."
        )
    },
    quotes={"2026": "the year of the rents"},
)
def two_dollars() -> Found:
    rows = {"H800, DeepSeek's account": chip("h800").rent("accounting")} | {
        f"{name}, three-year contract": chip(id).rent("contract")
        for id, name in (("h100-sxm", "H100"), ("h200", "H200"), ("b200", "B200"), ("gb200-nvl72", "GB200"))
    }
    floor = step.cost_floor(RUNNING, rent=chip("gb200-nvl72").rent("contract").usd_per_chip_second, context=0) * 1e6
    return found(*(Part(name, 2, rent.usd_per_chip_hour, "USD") for name, rent in rows.items()), floor=floor)


@all_claims.enter(
    "N13",
    "numbers",
    "8 times slower outside",
    statement="The network outside the rack is about 8 times slower.",
    who=("lecture 0:38:47–0:39:35", "flashcards 2.1", "C 9"),
    at=Place("racks", "Leaving the rack"),
    formulas=("racks.ratio_hurts",),
    sources=("ml_eng_net", "insights2025"),
    because={
        PART: (
            "Close for the H100 and the GB300. It is twice that for the GB200 with one 400 Gb/s card per"
            " GPU, and half for the H800, whose NVLink was reduced. Spreading over two racks starts to"
            " hurt at a ratio of {hurts:2}."
        )
    },
    quotes={"400": "a network card's name"},
)
def slower() -> Found:
    ratio = lambda id: chip(id).scale_up.bytes_per_s / chip(id).scale_out.bytes_per_s
    rows = {"h100-sxm": "H100", "h800": "H800", "gb200-nvl72": "GB200", "gb300-nvl72": "GB300"}
    return found(*(Part(name, 8, ratio(id)) for id, name in rows.items()), hurts=racks.ratio_hurts(racks=2))


@all_claims.enter(
    "N14",
    "numbers",
    "4 experts a GPU",
    statement="256 experts on 64 GPUs are 4 each.",
    who=("lecture 0:33:54–0:34:34", "C 9"),
    at=Place("racks", "Experts on GPUs"),
    formulas=("racks.experts_per_chip",),
    within=EXACT,
    sources=of(model("deepseek-v3")),
    because={
        HOLDS: (
            "Only 64 of the rack's {chips:2} GPUs are used, because 72 does not divide 256: there would"
            " be {uneven:3} experts per GPU."
        )
    },
    quotes={"72": "GPUs of an NVL72"},
)
def four_each() -> Found:
    each = lambda chips: racks.experts_per_chip(experts=RUNNING.symbols()["experts"], expert_parallel=chips)
    return found(
        Part("experts of a GPU", 4, each(racked.USED)),
        uneven=each(RUNNING.symbols()["chips"]),
        chips=RUNNING.symbols()["chips"],
    )


@all_claims.enter(
    "N15",
    "numbers",
    "Output 5 times, MFU 1/5",
    statement="Output costs 5 times as much as input, so decoding uses 1/5 of the compute.",
    who=("lecture 1:45:11–1:48:44", "flashcards 6.4", "C 15"),
    at=Place("pricing", "Why output costs more than input"),
    formulas=("pricing.decode_mfu",),
    sources=of(price(priced.CARD), measurement("deepseek_day6_production")),
    because={
        PART: (
            "It follows from the price if prices follow costs and prefill reaches the peak. One maker"
            " published enough to check, and neither was so: DeepSeek's prefill used {prefill:%} of the"
            " peak and its decoding {decode:%}, while R1's prices imply that decoding uses {implied:%} of"
            " what prefill does."
        )
    },
)
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


@all_claims.enter(
    "N16",
    "numbers",
    "Cached input at a tenth",
    statement="Cached input is 10 times cheaper.",
    who=("lecture 1:48:52", "flashcards 6.5", "C 16"),
    at=Place("pricing", "What cache prices reveal"),
    formulas=("pricing.tier_retrieve",),
    sources=of(price(priced.CARD), price(priced.STEPPED), price(priced.OPEN)),
    because={
        PART: (
            "True of the cards that the lecture reads. Other cards of the catalogue run from {least:2} to"
            " {most:3} times. The tenth does not measure the transfer: a hit costs {over:2} times as much"
            " as fetching the cache from flash."
        )
    },
)
def tenth() -> Found:
    hit = lambda card: card.usd_per_Mtok.input / card.usd_per_Mtok.cached_read
    all_cards = [hit(card) for card in prices() if card.confirmed and card.usd_per_Mtok.cached_read]
    fetch = pricing.tier_retrieve(RUNNING.symbols() | priced.rented(tier(priced.KEEP[1])))
    find_claim = (("Claude Opus 4.6", priced.CARD), ("Gemini 3.1 Pro", priced.STEPPED), ("DeepSeek-R1", priced.OPEN))
    return found(
        *(Part(name, 10, hit(price(id))) for name, id in find_claim),
        least=min(all_cards),
        most=max(all_cards),
        over=price(priced.CARD).usd_per_Mtok.cached_read * priced.MTOK / fetch,
    )


@all_claims.enter(
    "N17",
    "numbers",
    "Output 3 to 5 times",
    statement="Output costs 3 to 5 times as much as input.",
    who=("lecture 1:41:24–1:45:11", "flashcards 6.4", "C 15"),
    at=Place("pricing", "Why output costs more than input"),
    sources=of(price(priced.CARD), price(priced.STEPPED), price(priced.OPEN)),
    because={
        PART: (
            "These are the three cards that the course reads. All confirmed cards are between {least:2}"
            " and {most:2}, and one open model was sold at {same_least:2} to {same_most:2}. A ratio of"
            " prices does not measure a machine."
        )
    },
)
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


@all_claims.enter(
    "N18",
    "numbers",
    "2 kB a token",
    statement="A token's KV cache is about 2 kB.",
    who=("lecture 1:38:22–1:41:12", "C 14"),
    at=Place("pricing", "What a price step implies"),
    formulas=("pricing.kv_of_heads",),
    sources=of(model("deepseek-v3"), model("llama-3.1-405b"), model("deepseek-v4-flash")),
    because={
        PART: (
            "It is the cache of one layer, which all layers would have to share. Published models keep"
            " far more in BF16; the lecture itself says it may be a little small."
        )
    },
)
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


@all_claims.enter(
    "N19",
    "numbers",
    "Drain times, four memories",
    statement="Read once: HBM 20 ms, DDR 1 to 10 s, flash a minute, disk an hour.",
    who=("lecture 2:01:16–2:01:46",),
    at=Place("pricing", "The drain time"),
    formulas=("pricing.tier_drain",),
    sources=of(*(tier(id) for id in ("hbm-gb200-nvl72", "ddr5-3tb", "ssd-9650-7t", "hdd-exos30"))),
    because={
        PART: (
            "For each kind of memory this is the quickest confirmed device in the catalogue; HBM is that"
            " of the running rack. HBM and DDR are as claimed. Flash takes minutes to hours, a disk more"
            " than a day."
        )
    },
)
def drain_ladder() -> Found:
    quickest = lambda kind: min(drained(row.id) for row in tiers() if row.confirmed and row.tier.startswith(kind))
    return found(
        Part("HBM", 20 * MS, drained("hbm-gb200-nvl72"), "s"),
        Part("DDR5", (1, 10), quickest("DDR5"), "s"),
        Part("flash", 60, quickest("NVMe"), "s", "1 minute"),
        Part("disk", priced.HOUR, quickest("HDD"), "s", "1 hour"),
    )


@all_claims.enter(
    "N20",
    "numbers",
    "64 times the experts",
    statement="64 times the experts are worth 4 times the size: 370 million as good as 1.3 billion.",
    who=("lecture 0:29:24–0:30:11", "C 8"),
    at=Place("sparsity", "What experts are worth"),
    formulas=("sparsity.n_effective", "sparsity.quality_gain"),
    sources=("clark2022",),
    because={
        HOLDS: (
            "By the paper's fit for its best router. Other routers gain {rl:3} and {hash:3} times. The"
            " number of experts grows 64-fold; the parameters grow less."
        )
    },
)
def experts_worth() -> Found:
    size, count = sparsity.FIGURE["base_size"], sparsity.FIGURE["experts"]
    gain = lambda router: sparse.quality_gain(n_effective=sparsity.effective(size, count, router), base_size=size)
    return found(
        Part("gain in size", 4, gain("S-BASE")),
        Part("as good as a dense model of", 1.3e9, sparsity.effective(size, count), "parameter"),
        rl=gain("RL-R"),
        hash=gain("HASH"),
    )


@all_claims.enter(
    "N21",
    "numbers",
    "Half used at twice the context",
    statement="At twice the balanced context half of the compute is used.",
    who=("lecture 0:11:40–0:12:02",),
    at=Place("batching", "Context: when no batch helps"),
    formulas=("batching.mfu_limit", "batching.balanced_context"),
    within=EXACT,
    because={
        HOLDS: ("For dense attention, at any batch. On the running rack twice the balanced context is {twice:3 token}.")
    },
)
def half_used() -> Found:
    twice = 2 * step.balanced_context(RUNNING)
    return found(Part("share of the peak", 0.5, step.mfu_limit(RUNNING, context=twice), "%"), twice=twice)


@all_claims.enter(
    "N22",
    "numbers",
    "2.6 quadrillion tokens",
    statement="500 million tokens a second for two months are 2.6 quadrillion.",
    who=("lecture 1:29:49",),
    at=Place("overtraining", "From traffic to tokens"),
    formulas=("overtraining.tokens_served",),
    within=EXACT,
    because={HOLDS: "Two months of thirty days. The lecture then divides by the number of models in a family."},
)
def two_months() -> Found:
    return found(
        Part("tokens", 2.6e15, over.tokens_served(overtraining.BOARD, world_rate=overtraining.GENEROUS), "token")
    )


@all_claims.enter(
    "N23",
    "numbers",
    "20 tokens a parameter",
    statement="Chinchilla's rule is 20 tokens a parameter.",
    who=("lecture 1:31:17–1:31:34", "chinchilla table 3"),
    at=Place("overtraining", "The best size, from a fit"),
    formulas=("overtraining.best_tokens",),
    sources=("chinchilla", "besiroglu2024"),
    because={
        PART: (
            "The paper's table says so, with {least:3} to {most:3} depending on size. The fit that the"
            " paper prints does not, for a model of 100 billion parameters; the same data fitted again do."
        )
    },
    quotes={"100": "the lecture's active parameters in billions"},
)
def twenty_each() -> Found:
    table = [row["pretraining_tokens"] / row["n_total"] for row in measurement("chinchilla_table3").records()]
    fit = lambda name: overtraining.per_size(overtraining.FITS[name])
    return found(
        Part("the paper's table, least", 20, min(table), "token/parameter"),
        Part("the paper's table, most", 20, max(table), "token/parameter"),
        Part("the fit as printed", 20, fit("hoffmann"), "token/parameter"),
        Part("fitted anew (Besiroglu)", 20, fit("besiroglu"), "token/parameter"),
        least=min(table),
        most=max(table),
    )


@all_claims.enter(
    "N24",
    "numbers",
    "640 GB, 10 to 20 TB",
    statement="Eight Hoppers have 640 GB, a Blackwell rack 10 to 20 TB.",
    who=("lecture 0:44:45–0:46:15",),
    at=Place("racks", "From 8 to 72 to “500”"),
    sources=of(chip("h100-sxm"), chip("gb200-nvl72"), chip("gb300-nvl72")),
    because={HOLDS: ("Sums over the chips. (At 1:01:44 the lecture says many tens of terabytes, which no rack has.)")},
)
def memories() -> Found:
    rack = (10e12, 20e12)
    return found(
        Part("8 H100", 640e9, system("h100-8").hbm_bytes, "byte"),
        *(
            Part(name, rack, system(id).hbm_bytes, "byte")
            for id, name in (("gb200-nvl72", "GB200 NVL72"), ("gb300-nvl72", "GB300 NVL72"))
        ),
    )


@all_claims.enter(
    "N25",
    "numbers",
    "500 million make 200 trillion",
    statement="500 million tokens a second for two months are roughly 200 trillion.",
    who=("C 12",),
    at=Place("overtraining", "From traffic to tokens"),
    formulas=("overtraining.tokens_served",),
    because={
        FAILS: (
            "The article skips a step. The lecture's own product is 2.6 quadrillion; it then divides by"
            " the models of a family, and 200 trillion is the share of one model (1:30:46)."
        )
    },
    quotes={"2.6": "the lecture's product, 1:29:49"},
)
def without_family() -> Found:
    rate = overtraining.GENEROUS
    return found(Part("tokens", 200e12, over.tokens_served(overtraining.BOARD, world_rate=rate), "token"))


@all_claims.enter(
    "N26",
    "numbers",
    "Bandwidth, not capacity",
    statement="Bandwidth, not capacity, is the main bottleneck.",
    who=("D 3", "lecture 1:17:06–1:18:14"),
    at=Place("pipelining", "What a larger domain buys"),
    formulas=("batching.drain_time",),
    sources=of(*map(chip, ("h100-sxm", "h200", "gb200-nvl72", "vr200-nvl72"))),
    because={
        PART: (
            "A step can read only what its time allows. If a step may take the lecture's {interval:2 s},"
            " a memory that takes longer to read once can never be used in full, so bandwidth binds first."
            " A memory that is read sooner fills up first, and Rubin's is. The lecture means scale-up: a"
            " larger domain loads the weights faster, which more pipeline stages do not."
        )
    },
)
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


@all_claims.enter(
    "N27",
    "numbers",
    "A batch of tokens",
    statement="DeepSeek-V3's best batch is 2,400 tokens.",
    who=("C 5",),
    at=Place("sparsity", "The batch that pays for the experts"),
    sources=("transcript",),
    within=EXACT,
    because={
        PART: (
            "The batch counts sequences (0:20:19). A step adds one token to each, so it makes as many tokens as there"
            " are sequences. Read as tokens of context, 2,400 would be no more than two short conversations."
        )
    },
)
def batch_of_tokens() -> Found:
    board = sparsity.ABOUT_300 * sparse.expert_sparsity(**sparsity.BOARD_EXPERTS)
    return found(
        Part("tokens of one step", 2_400, board, "token"),
        Part("what the batch counts", "tokens", "sequences"),
    )


@all_claims.enter(
    "N28",
    "numbers",
    "Infinite cost at batch 1",
    statement="At a batch of 1 the cost of a token approaches infinity.",
    who=("C 3",),
    at=Place("batching", "Cost: what sharing saves"),
    formulas=("batching.latency_floor", "batching.first_floor", "batching.cost_floor"),
    sources=("infx_tco", *of(model("deepseek-v3"))),
    because={
        FAILS: (
            "It is high and finite: one token pays for loading the weights once. On the running rack, rented for three"
            " years, a million tokens made one at a time cost {whole:2 USD} with all weights and {routed:2 USD} with"
            " the active ones; a large batch costs {floor:2 USD}."
        )
    },
)
def alone() -> Found:
    second = chip("gb200-nvl72").rent("contract").usd_per_chip_second
    a_million = second * RUNNING.symbols()["chips"] * 1e6
    return found(
        Part("cost of a token at a batch of 1", "infinite", "finite"),
        whole=a_million * step.latency_floor(RUNNING),
        routed=a_million * step.first_floor(RUNNING),
        floor=step.cost_floor(RUNNING, rent=second, context=0) * 1e6,
    )


@all_claims.enter(
    "N29",
    "numbers",
    "72 was a product decision",
    statement="Going from 8 to 72 GPUs was mainly a decision about the product.",
    who=("C 10", "lecture 0:40:47–0:41:42"),
    at=Place("racks", "Why the rack is not larger"),
    sources=("transcript", *of(chip("h100-sxm"), chip("gb200-nvl72"))),
    stated=UNCHECKABLE,
    because={
        UNCHECKABLE: (
            "Why a company built something is not in its datasheets, and the lecture states it as an opinion. What they"
            " do show is that the switch changed too: the domain grew {domain:2}-fold while each GPU's link became"
            " {link:2} times as fast."
        )
    },
)
def product() -> Found:
    then, now = (chip(id).scale_up for id in ("h100-sxm", "gb200-nvl72"))
    return found(domain=now.domain_chips / then.domain_chips, link=now.bytes_per_s / then.bytes_per_s)


@all_claims.enter(
    "N30",
    "numbers",
    "Training data from usage",
    statement="From prices and usage one can deduce how much data went into training.",
    who=("C 13",),
    at=Place("overtraining", "From traffic to tokens"),
    formulas=("overtraining.inference_coefficient", "overtraining.tokens_served"),
    sources=("ds_infra", *of(model("deepseek-v3"))),
    near=MAGNITUDE,
    because={
        ROUGH: (
            "Prices do not enter the lecture's argument, only traffic, and the lecture calls it guesswork (1:20:03)."
            " DeepSeek published both a day's traffic and its tokens of training, so the rule can be tried: tokens"
            " served in two months, times {beta:3}. What counts as served decides the answer."
        )
    },
)
def from_usage() -> Found:
    [day], beta = measurement("deepseek_day6_production").records(), over.inference_coefficient(overtraining.BOARD)
    real = model("deepseek-v3").training_tokens
    by = lambda tokens: beta * over.tokens_served(overtraining.BOARD, world_rate=tokens / 86_400)
    written, read = day["output_token_per_day"], day["input_token_per_day"]
    said = f"{real / 1e12:.3g} trillion tokens (published)"
    return found(
        Part("DeepSeek-V3's training, by the tokens that it wrote", real, by(written), "token", said),
        Part("by all tokens that it read and wrote", real, by(written + read), "token", said),
        beta=beta,
    )


@all_claims.enter(
    "N31",
    "numbers",
    "Ciphers avoid derivatives",
    statement="Ciphers avoid being differentiable.",
    who=("C 17",),
    at=Place("reversibility", "An untrained network as a cipher"),
    sources=("transcript", "ciphers2025"),
    stated=CONTRADICTED,
    by="the lecture",
    because={
        CONTRADICTED: (
            "Ciphers can be differentiated, says the lecture, with bit flips in place of small changes: that is"
            " differential cryptanalysis (2:06:18). What a good cipher avoids is a derivative that tells anything."
            " After {rounds} rounds of our Feistel cipher one flipped bit flips {flipped:%} of the output."
        )
    },
)
def differentiable() -> Found:
    from blackboard.lessons.reversibility import simulation

    flips = simulation.avalanche(simulation.HALF_BITS, simulation.ROUNDS)["x"]
    return found(rounds=str(simulation.ROUNDS), flipped=float(flips[-1]))


@all_claims.enter(
    "N32",
    "numbers",
    "Racks grow rather than chips",
    statement="Racks grow rather than chips.",
    who=("C 19",),
    at=Place("pipelining", "What a larger domain buys"),
    sources=of(chip("h100-sxm"), chip("gb200-nvl72")),
    because={
        PART: (
            "Both grow. From the H100 to the GB200 the domain grew most, but a chip's bandwidth and compute more than"
            " doubled as well. The lecture has it so too: a factor of two or less per generation for the chip, a larger"
            " one for the domain (1:17:06)."
        )
    },
)
def racks_and_chips() -> Found:
    then, now = chip("h100-sxm"), chip("gb200-nvl72")
    grown = now.scale_up.domain_chips / then.scale_up.domain_chips
    return found(
        Part("growth of the domain, H100 to GB200", (2, float("inf")), grown, said="growth"),
        Part("growth of a chip's bandwidth", 1, now.bandwidth / then.bandwidth, said="none"),
        Part("growth of a chip's compute, FP8", 1, now.flops("fp8") / then.flops("fp8"), said="none"),
    )


@all_claims.enter(
    "N33",
    "numbers",
    "64 times the parameters",
    statement="4 times the active size takes 64 times the total parameters.",
    who=("C 8",),
    at=Place("sparsity", "What experts are worth"),
    formulas=("sparsity.stored_growth",),
    sources=("clark2022",),
    because={
        FAILS: (
            "The number of experts grows 64-fold. Only some layers have experts, and the others stay as they are. With"
            " a third of the dense model's parameters routed, a share that we could not confirm, the total grows"
            " {grown:2}-fold."
        )
    },
)
def parameters_grow() -> Found:
    grown = sparse.stored_growth(routed_share=sparsity.ROUTED_THIRD, experts=sparsity.FIGURE["experts"])
    return found(Part("growth of the total, a third routed", 64, grown), grown=grown)


# --- topics beyond the lecture ----------------------------------------------------------------------------------------

REALITY = "Against reality"
BLOG = {"transformers": 24, "tgi": 3.5}  # times the throughput, vLLM's blog of June 2023
ROOM = {
    "hbm": 40e9,
    "n_total": 13e9,
    "bytes_per_param": 2,
    "context": 500,
    "kv_bytes_per_token": 819_200,
}  # OPT-13B on an A100; it cancels from ratios
RANKED = {  # cards of the lecture's day, of the makers that article A ranks
    "DeepSeek": "deepseek-v4-pro@2026-04-24",
    "Mistral": "mistral-medium-3.5@2026-04-28",
    "GPT-4o": "gpt-4o@2024-10-01",
}
EXAMPLE_PREFIX = {"common_context": 10, "page_tokens": 4}  # vLLM's documentation on prefix caching
EXAMPLE_HYBRID = paged.EXAMPLE | {"full_groups": 1, "window_groups": 2}  # and on hybrid models


def reported(**where) -> float:
    """How many times faster one report of speculative decoding makes it; below 1 where it is slower."""
    [row] = measurement("spec_decoding_others").records(**where)
    return row["factor"] if row["effect"] == "faster" else 1 / row["factor"]


@all_claims.enter(
    "T1",
    "topics",
    "SPIRe: 2.8 times",
    statement="SPIRe cuts latency by up to 2.8 times.",
    who=("A 2",),
    at=Place("speculation", "Two numbers called 2.8"),
    formulas=("speculation.round_steps", "speculation.saving"),
    sources=("spire",),
    stated=OVERSTATED,
    because={
        OVERSTATED: (
            "It is modelled, not measured: nobody took a time. The paper claims throughput, at the"
            " largest batch that memory allows. At that batch a round takes {steps:3} decode steps and"
            " yields {tokens:4} tokens, so the time per token does fall by that factor, but it is not the"
            " latency of a request served alone. After paying for the draft's training it would save"
            " {saving:%} of the cost of serving."
        )
    },
)
def spire() -> Found:
    [row] = measurement("spire_multipliers").records(draft="SPIRe")
    steps = spec.round_steps(tokens_per_round=row["tokens_per_pass"], spec_speedup=row["speedup"])
    saving = spec.saving(spec_speedup=row["speedup"], draft_training=speculated.TRAINING)
    return found(
        Part("throughput at a fixed batch, as modelled", 2.8, row["speedup"]),
        Part("time per token at that batch, plain over speculated", 2.8, row["tokens_per_pass"] / steps),
        tokens=row["tokens_per_pass"],
        steps=steps,
        saving=saving,
    )


@all_claims.enter(
    "T2",
    "topics",
    "Speculation: 2.8 times",
    statement="Speculative decoding makes serving up to 2.8 times faster.",
    who=("vllm_spec_decode title",),
    at=Place("speculation", "Two numbers called 2.8"),
    formulas=("speculation.speedup_busy",),
    sources=("vllm_spec_decode", "leviathan2023"),
    because={
        PART: (
            "That is one request a second, with n-grams copied from an article that is being summarised."
            " With many requests the same machines got slower, because compute binds and every drafted"
            " token is paid for. The formula then gives at most {busy:2}, for four drafted tokens that"
            " each pass four times in five."
        )
    },
)
def other() -> Found:
    rows = {
        "n-grams, one request a second": ("n-gram", "CNN/DailyMail, 1 request/s"),
        "draft model, one request a second": ("draft model", "ShareGPT, 1 request/s"),
        "n-grams, many requests a second": ("n-gram", "CNN/DailyMail, many requests/s"),
        "draft model, many requests a second": ("draft model", "ShareGPT, many requests/s"),
    }
    busy = spec.speedup_busy(acceptance=0.8, drafted=4, draft_ratio=0)
    return found(
        *(Part(name, 2.8, reported(method=method, setting=setting)) for name, (method, setting) in rows.items()),
        busy=busy,
    )


def used(system: str) -> float:
    """Share of the memory set aside for the cache that a serving system fills with tokens."""
    [row] = measurement("vllm_kv_use").records(system=system, use="tokens")
    return row["share"]


def talk() -> float:
    """Mean tokens of a ShareGPT request, input and output."""
    return sum(simulation.lengths("ShareGPT"))


@all_claims.enter(
    "T3",
    "topics",
    "60 to 80% wasted",
    statement="Without paging 60 to 80% of the cache's memory is wasted.",
    who=("vllm_blog PagedAttention",),
    at=Place("paging", "Room that nobody uses"),
    formulas=("paging.use_reserved",),
    sources=("kwon2023", "vllm_blog"),
    because={
        HOLDS: (
            "Measured by PagedAttention's authors on Orca, an earlier system that they rebuilt, with"
            " three ways to reserve memory. The formula agrees: conversations of mean length in a"
            " reservation of 2,048 tokens waste about as much."
        )
    },
    quotes={"2,048": "the longest sequence of OPT"},
)
def wasted() -> Found:
    said, names = (
        (0.6, 0.8),
        {
            "Orca (Max)": "longest output reserved",
            "Orca (Pow2)": "next power of two",
            "Orca (Oracle)": "just enough, knowing the future",
        },
    )
    reserved = lambda tokens, when: Part(
        f"ShareGPT by the formula, {tokens:.0f} tokens {when}",
        said,
        1 - paging.use_reserved(context=tokens, reserved_context=simulation.LONGEST),
        "%",
    )
    return found(
        *(Part(f"Orca, {name}", said, 1 - used(system), "%") for system, name in names.items()),
        reserved(talk(), "at the end"),
        reserved(simulation.held(), "on average"),
    )


@all_claims.enter(
    "T4",
    "topics",
    "vLLM: 24 times",
    statement="vLLM serves 24 times as much.",
    who=("vllm_blog introduction",),
    at=Place("paging", REALITY),
    sources=("vllm_blog", "kwon2023"),
    formulas=("paging.batch_held",),
    within=EXACT,
    because={
        PART: (
            "The 24 is measured against Hugging Face's library, which neither pages nor adds requests as"
            " they arrive. Against systems made for serving, the same blog and the paper report far less."
            " More room for the cache explains it: by the shares of memory in use, the batch grows {low:2}"
            " to {high:2} times."
        )
    },
)
def twenty_four() -> Found:
    [gain], batch = (
        measurement("vllm_paging").records(),
        lambda system: paging.batch_held(ROOM, kv_use=used(system)),
    )
    return found(
        Part("over Hugging Face Transformers, the blog", 24, BLOG["transformers"]),
        Part("over its serving system, the blog", 24, BLOG["tgi"]),
        Part("over serving systems, the paper", 24, gain["high_gain"]),
        low=batch("vLLM") / batch("Orca (Oracle)"),
        high=batch("vLLM") / batch("Orca (Max)"),
    )


@all_claims.enter(
    "T5",
    "topics",
    "Paging: 2 to 4 times",
    statement="Paging raises throughput 2 to 4 times.",
    who=("kwon2023 abstract",),
    at=Place("paging", REALITY),
    sources=("kwon2023",),
    formulas=("paging.paged_cost",),
    because={
        PART: (
            "The paper measured it in requests served at equal latency. The lesson's roofline, with the"
            " batches that the paper measured and an attention kernel {high:%} slower, gives {few:2} to"
            " {most:2} times the tokens. The low end is against a reservation that knows the future."
        )
    },
)
def two_to_four() -> Found:
    [row], batch, said = measurement("vllm_paging").records(), paged.batches(), (2, 4)
    gain = lambda system: paged.cost(batch[system]) / paged.cost(batch["vLLM"], row["high_overhead"])
    names = {
        "Orca (Max)": "longest output reserved",
        "Orca (Pow2)": "next power of two",
        "Orca (Oracle)": "just enough",
    }
    return found(
        Part("measured, least", said, row["low_gain"]),
        Part("measured, most", said, row["high_gain"]),
        *(Part(f"on the lesson's roofline, over Orca, {name}", said, gain(system)) for system, name in names.items()),
        high=row["high_overhead"],
        few=gain("Orca (Oracle)"),
        most=gain("Orca (Max)"),
    )


@all_claims.enter(
    "T6",
    "topics",
    "Less than 4% wasted",
    statement="With paging less than 4% is wasted.",
    who=("vllm_blog PagedAttention",),
    at=Place("paging", REALITY),
    formulas=("paging.use_paged",),
    sources=("kwon2023", "vllm_blog"),
    within=EXACT,
    because={HOLDS: "As measured. The formula's half block per sequence is less."},
)
def four_percent() -> Found:
    most = (0, 0.04)
    return found(
        Part("measured", most, 1 - used("vLLM"), "%", said="at most 4%"),
        Part(
            f"ShareGPT in blocks of 16 by the formula, {talk():.0f} tokens at the end",
            most,
            1 - paging.use_paged(context=talk(), page_tokens=paged.BLOCK),
            "%",
            said="at most 4%",
        ),
    )


@all_claims.enter(
    "T7",
    "topics",
    "30 to 40% cheaper",
    statement="Paging makes serving 30 to 40% cheaper, as Pope relates.",
    who=("A 3",),
    at=Place("paging", REALITY),
    sources=("transcript", "kwon2023", "vllm_blog"),
    stated=UNSOURCED,
    because={
        UNSOURCED: (
            "Neither the lecture nor the paper nor the blog has it. The nearest is in the blog: one user"
            " of vLLM halved its GPUs."
        )
    },
)
def cheaper() -> Found:
    return found()


@all_claims.enter(
    "T8",
    "topics",
    "Thousands on one GPU",
    statement="One GPU serves thousands of requests at a time.",
    who=("A 3",),
    at=Place("paging", REALITY),
    formulas=("sparsity.batch_fits",),
    sources=("kwon2023", "vllm_blog", *of(model("deepseek-v3"))),
    because={
        PART: (
            "Article A gives no source. PagedAttention's authors batched at most {most:3} requests on"
            " average. It is true of the running rack, because DeepSeek-V3's cache is small and the GPUs"
            " share one copy of the weights. But room is not speed: a step that reads a full memory takes"
            " the full drain time."
        )
    },
)
def at_a_time() -> Found:
    most, many = max(measurement("vllm_batched_requests").column("batch")), (2_000, float("inf"))
    known = model("llama-3.1-8b").symbols("bf16") | chip("h100-sxm").symbols("bf16") | {"context": 1_000}
    room = {
        "Llama 3.1 8B in BF16 on an H100": sparse.batch_fits(known),
        "DeepSeek-V3 in FP8 on the running rack, per GPU": sparse.batch_fits(RUNNING) / RUNNING.symbols()["chips"],
    }
    parts = (
        Part(f"sequences of 1,000 tokens that fit, {name}", many, fits, "sequence", "thousands")
        for name, fits in room.items()
    )
    return found(*parts, Part("most that the paper batched", many, most, "sequence", "thousands"), most=most)


@all_claims.enter(
    "T9",
    "topics",
    "A prefix computed once",
    statement="The attention states of a prefix that requests have in common are computed once.",
    who=("A 4", "vllm_prefix_caching design"),
    at=Place("paging", "A prefix that is there already"),
    formulas=("paging.hit_tokens",),
    sources=("vllm_prefix_caching",),
    within=EXACT,
    because={
        PART: (
            "Whole blocks are, as long as they are still in memory. Article A says “similar” prefixes,"
            " and that is not enough: tokens must be identical from the first one on. In the"
            " documentation's example 10 tokens agree, in blocks of four, and the last two are computed"
            " again."
        )
    },
    quotes={"10": "tokens of the documentation's example"},
)
def prefix() -> Found:
    return found(
        *(
            Part(
                f"found again of {common} tokens in common",
                common,
                paging.hit_tokens(EXAMPLE_PREFIX, common_context=common),
                "token",
            )
            for common in (8, EXAMPLE_PREFIX["common_context"])
        )
    )


@all_claims.enter(
    "T10",
    "topics",
    "11 blocks for mixed layers",
    statement="A cache manager for mixed layers needs 11 blocks for a request of 112 tokens.",
    who=("vllm_hybrid case 2",),
    at=Place("paging", "Layers that forget"),
    formulas=("paging.hybrid_blocks",),
    sources=("vllm_hybrid",),
    within=EXACT,
    because={
        HOLDS: (
            "A third of the layers see all 112 tokens, and two thirds a window of 32, in blocks of 16. If"
            " every layer kept all tokens, it would be {uniform:2} blocks."
        )
    },
    quotes={
        "32": "the documentation's example",
        "16": "the documentation's example",
    },
)
def mixed() -> Found:
    uniform = EXAMPLE_HYBRID | {"full_groups": 3, "window_groups": 0}
    return found(Part("blocks", 11, paging.hybrid_blocks(EXAMPLE_HYBRID)), uniform=paging.hybrid_blocks(uniform))


def overlap(batch: float) -> float:
    """Gain of overlapping two halves of a batch on the running rack: computing, and sending without latency."""
    here = racked.FP8_OUT | {
        "layers": racked.moe_layers(),
        "micro_batches": 1,
        "tokens_per_chip": batch / RUNNING.symbols()["chips"],
    }
    return overheads.overlap_gain(RUNNING, batch=batch, t_comm=racks.comm_time(RUNNING, **here))


@all_claims.enter(
    "T11",
    "topics",
    "Dual-batch overlap",
    statement="Dual-batch overlap hides communication.",
    who=("A 7", "vllm_dbo motivation"),
    at=Place("overheads", "Sending while computing"),
    formulas=("overheads.overlap_gain", "racks.comm_time"),
    sources=("vllm_dbo", "sglang_large_ep"),
    within=0,
    because={
        PART: (
            "Where it works it at most halves the step. But each half loads all weights again, so a batch"
            " that waits for weights gets slower, and engines therefore use thresholds. SGLang's rows are"
            " measured. Those of the running case are computed with ideal links, which are fast, so that"
            " the gain comes later."
        )
    },
)
def halves() -> Found:
    rows = measurement("two_batch_overlap").records(phase="decode", setting="plain")
    measured = (
        Part(f"SGLang on H100, {row['tokens_per_gpu']} tokens a GPU", (1, 2), 1 + row["low_gain"], said="1 to 2 times")
        for row in rows
    )
    return found(
        *measured,
        *(
            Part(
                f"the running case, {batch / RUNNING.symbols()['chips']:.0f} tokens a GPU",
                (1, 2),
                overlap(batch),
                said="1 to 2 times",
            )
            for batch in (2_000, 20_000)
        ),
    )


@all_claims.enter(
    "T12",
    "topics",
    "torch.compile: 1.8 to 2",
    statement="torch.compile makes models 1.8 to 2 times faster.",
    who=("vllm_compile why",),
    at=Place("overheads", REALITY),
    sources=("vllm_compile", "pytorch2", "batch1_floor"),
    formulas=("overheads.fusion_gain",),
    within=EXACT,
    because={
        PART: (
            "It is the mean of a benchmark of many models, none of them named. In vLLM a single fusion"
            " gains far less, and so does launching a step as one graph. By the formula, fusing a chain of"
            " operations that takes {share:%} of a step gains {most:%} at most."
        )
    },
)
def compiled() -> Found:
    share, said = 0.1, (1.8, 2.0)
    [bench] = measurement("torch_compile_geomean").records(who="TorchBench, in vLLM's post")
    graphs = (
        Part(f"CUDA graphs in decoding, {row['chip']}", said, row["speedup"])
        for row in measurement("batch1_cuda_graphs").records()
    )
    fused = 1 + max(measurement("fusion_gains_2025").column("high_gain"))
    return found(
        Part("TorchBench", said, bench["low_speedup"]),
        Part("the best single fusion in vLLM", said, fused),
        *graphs,
        share=share,
        most=overheads.fusion_gain(chain_share=share, fused_ops=1e9) - 1,
    )


@all_claims.enter(
    "T13",
    "topics",
    "Quality beats quantity",
    statement="LLäMmlein shows that quality of data beats quantity.",
    who=("A 5",),
    at=Place("corpus", REALITY),
    formulas=("overtraining.overtraining",),
    sources=("llammlein2024",),
    stated=CONTRADICTED,
    by="the paper",
    because={
        CONTRADICTED: (
            "Its models are trained far past Chinchilla's rule, on all the text that its filters leave,"
            " twice or more. It finds that scores grow with size while some tasks level off. No model of"
            " it saw unfiltered text or less of it, so the paper compares nothing. The lecture discusses"
            " neither data quality nor this paper."
        )
    },
)
def llammlein() -> Found:
    past = lambda run: over.overtraining(overtraining.BOARD, n_active=run["n_active"], pretrain_tokens=run["tokens"])
    return found(
        *(Part(f"over-training of {name}", (0, 1), past(corpus.run(name)), said="little data") for name in corpus.NETS)
    )


@all_claims.enter(
    "T14",
    "topics",
    "Fine-tuning pays more",
    statement="Fine-tuning gives a better return than pre-training.",
    who=("A 5",),
    at=Place("corpus", REALITY),
    sources=("llammlein2024", "transcript"),
    stated=UNSOURCED,
    because={
        UNSOURCED: (
            "Neither the paper nor the lecture compares the two. The paper states no cost and no return,"
            " and every score of its main benchmark is after fine-tuning."
        )
    },
)
def tuned() -> Found:
    return found()


@all_claims.enter(
    "T15",
    "topics",
    "A ranking of APIs",
    statement="A ranking of APIs: Claude Sonnet best at tools, DeepSeek cheap, Mistral dearer, GPT-4o “likely” with a"
    " hybrid cache manager.",
    who=("A 6",),
    at=Place("pricing", "Read any price list"),
    sources=("transcript", *of(*map(price, RANKED.values()))),
    because={
        PART: (
            "The prices can be checked, on the cards of the lecture's day: DeepSeek is cheaper than GPT-4o, and so is"
            " Mistral. Which API costs least for you depends on the workload. “Best at tools” names no measure, the"
            " “likely” no source, and none of it is the lecture's."
        )
    },
)
def ranking() -> Found:
    asked = lambda name: price(RANKED[name]).usd_per_Mtok.input
    cheaper, dearer = (0, 1), (1, float("inf"))
    return found(
        Part("input price, DeepSeek-V4-Pro to GPT-4o", cheaper, asked("DeepSeek") / asked("GPT-4o"), said="below 1"),
        Part("input price, Mistral Medium 3.5 to GPT-4o", dearer, asked("Mistral") / asked("GPT-4o"), said="above 1"),
    )


@all_claims.enter(
    "T16",
    "topics",
    "Drafts in parallel",
    statement="A draft model predicts several tokens in parallel.",
    who=("A 2",),
    at=Place("speculation", "Guess, check, keep"),
    sources=("spire", "leviathan2023", "vllm_p_eagle"),
    stated=CONTRADICTED,
    by="the papers",
    because={
        CONTRADICTED: (
            "Only the check is parallel. In SPIRe, as in the papers before it, the draft writes one token after"
            " another, and the time of a round grows with each of them. Drafts that write all at once came later, such"
            " as P-EAGLE, which yields {at_once:3} tokens a pass where a sequential draft yields {one_by_one:3}."
        )
    },
)
def drafted() -> Found:
    yields = lambda draft: measurement("p_eagle_acceptance").records(draft=draft, task="HumanEval", drafted_tokens=7)[
        0
    ]["tokens_per_pass"]
    return found(at_once=yields("P-EAGLE"), one_by_one=yields("EAGLE-3"))


@all_claims.enter(
    "T17",
    "topics",
    "Tokenizers for a domain",
    statement="LLäMmlein has tokenizers that are specific to a domain.",
    who=("A 5",),
    at=Place("corpus", REALITY),
    sources=("llammlein2024",),
    stated=OVERSTATED,
    because={
        OVERSTATED: (
            "The paper makes one for a language, German. It compares three, fitted to different amounts of text, and"
            " keeps the one fitted to the least, {least:2 byte}, which needs {fertility:3} tokens per word."
        )
    },
)
def tokenizers() -> Found:
    best = min(measurement("llammlein_tokenizer").records(), key=lambda row: row["fitted_GB"])
    return found(least=best["fitted_GB"] * 1e9, fertility=best["head_fertility"])


@all_claims.enter(
    "T18",
    "topics",
    "Memory lost to padding",
    statement="Without paged attention memory is lost to padding.",
    who=("A 3",),
    at=Place("paging", "Room that nobody uses"),
    formulas=("paging.use_reserved",),
    sources=("kwon2023", "vllm_blog"),
    stated=CONTRADICTED,
    by="the paper",
    because={
        CONTRADICTED: (
            "The paper finds it lost to reservations, room kept for tokens that may never come, and to fragments"
            " between them. By the formula a conversation of mean length leaves {idle:%} of its reservation empty."
            " Padding is something else: it fills short requests of a batch up to the longest."
        )
    },
)
def padding() -> Found:
    return found(idle=1 - paging.use_reserved(context=talk(), reserved_context=simulation.LONGEST))
