"""Claims of article B about the lecture (predictions, mental models, numbers), and corrections: points where sources
disagree.

Each function computes a claim's numbers with the lessons' own formulas and inputs.
"""

from __future__ import annotations

import math

from blackboard.catalogue import chip, chips, measurement, model, models, price, source, tier, tiers
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.batching import numbers as batching
from blackboard.lessons.overtraining import equations as over
from blackboard.lessons.overtraining import numbers as overtraining
from blackboard.lessons.overtraining import simulation as draws
from blackboard.lessons.pipelining import equations as pipe
from blackboard.lessons.pipelining import numbers as pipelining
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.pricing import numbers as priced
from blackboard.lessons.pricing.implied import implied, rent
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.racks import numbers as racked
from blackboard.lessons.sparsity import equations as sparse
from blackboard.lessons.sparsity import numbers as sparsity
from blackboard.reference.claim_list import (
    CONTRADICTED,
    CORRECTED,
    EXACT,
    FAILS,
    HOLDS,
    NEAR,
    OVERSTATED,
    PART,
    ROUGH,
    UNSOURCED,
    ClaimList,
    Found,
    Part,
    Place,
    cited,
    found,
)
from blackboard.reference.machine_costs import reached
from blackboard.units import factor

all_claims = ClaimList()
DAY = "2026-04-29"  # of the lecture
DIES = {"gb200-nvl72": 2, "rubin-ultra-kyber": 4}  # of one package
ADOPTED = ("GLM-5",)  # models of other makers with DeepSeek's sparse attention that we read of, by their report


def of(*rows) -> tuple[str, ...]:
    """Sources of catalogue rows."""
    return tuple(dict.fromkeys(key for row in rows for key in row.sources))


# --- five predictions -------------------------------------------------------------------------------------------------


def held_per_read(context: float) -> float:
    """How many times the KV that it reads DeepSeek-V3.2 holds, index keys counted in both, in vLLM's layout."""
    group = model("deepseek-v3.2").attention[0]
    entry, key = group.entry(priced.VLLM), group.key(priced.VLLM)
    sizes = {"entry_bytes": entry, "index_bytes": key, "selected": group.top_k}
    return context * (entry + key) / pricing.sparse_read(sizes, context=context)


@all_claims.enter(
    "P1",
    "predictions",
    "Sparse attention spreads",
    statement="Sparse attention of DeepSeek's kind will spread.",
    who=("B prediction 1", "lecture 0:12:25"),
    at=Place("pricing", "What sparse attention saves"),
    formulas=("pricing.sparse_read",),
    sources=("deepseekv32", "glm5", *of(model("deepseek-v3.2"))),
    because={
        HOLDS: (
            "The lecture praises the idea but predicts nothing, and with no date or measure the"
            " prediction could hardly fail. So far it is right: DeepSeek-V3.2 had sparse attention in"
            " {sold}, and {who}, from another maker, adopted it in {when}. The saving is real: at {far:6}"
            " tokens of context DeepSeek-V3.2 holds {held:2} times the KV that it reads, at a million"
            " {more:2} times."
        )
    },
)
def sparse_attention() -> Found:
    return found(
        Part("models of other makers with it, that we read of", (1, math.inf), len(ADOPTED), said="some"),
        who=ADOPTED[0],
        when=cited("glm5").date[:4],
        held=held_per_read(priced.FAR),
        more=held_per_read(1e6),
        far=priced.FAR,
        sold=model("deepseek-v3.2").release[:4],
    )


@all_claims.enter(
    "P2",
    "predictions",
    "Rubin joins 500 GPUs",
    statement="Rubin's scale-up domain has some 500 GPUs, about four times Blackwell's 72.",
    who=("B prediction 2", "C 9", "lecture 0:40:47–0:41:42"),
    at=Place("racks", "From 8 to 72 to “500”"),
    sources=of(chip("rubin-ultra-kyber")),
    because={
        PART: (
            "The number is right for dies and wrong for GPUs. Rubin Ultra has four dies in a package and"
            " Blackwell two, and Blackwell's 72 counts packages. Counted that way the domain only doubles,"
            " and four times 72 would not be 500 either. The prediction also names the wrong product:"
            " Rubin Ultra is due in 2027, and the first Rubin joins {rubin:2}."
        )
    },
    quotes={"2027": "the year of a roadmap"},
)
def rubin() -> Found:
    ultra, now = (chip(id).scale_up.domain_chips for id in ("rubin-ultra-kyber", "gb200-nvl72"))
    dies, then = ultra * DIES["rubin-ultra-kyber"], now * DIES["gb200-nvl72"]
    return found(
        Part("packages of a domain", 500, ultra),
        Part("over Blackwell's packages", 4, ultra / now),
        Part("dies of a domain", 500, dies),
        Part("over Blackwell's dies", 4, dies / then),
        rubin=chip("vr200-nvl72").scale_up.domain_chips,
    )


def longest(before: str) -> float:
    """The longest context, in tokens, of the catalogue's models released before a date."""
    return max(m.context_tokens for m in models() if m.release < before and m.given is None)


@all_claims.enter(
    "P3",
    "predictions",
    "Contexts of 100,000 to 200,000",
    statement="Contexts stay at 100,000 to 200,000 tokens: there cost is balanced.",
    who=("B prediction 3", "C 19", "lecture 1:51:19–1:55:05"),
    at=Place("pricing", "Why contexts stopped growing"),
    formulas=("batching.balanced_context",),
    sources=of(model("llama-4-scout"), model("deepseek-v3")),
    because={
        FAILS: (
            "Longer contexts were on sale a year before the lecture. The context at which costs balance"
            " depends on how large a token's cache is: {board:2} tokens with the lecture's two kilobytes,"
            " {v3:2} with DeepSeek-V3's cache, on the same rack."
        )
    },
)
def contexts() -> Found:
    v3 = step.balanced_context(RUNNING)
    board = step.balanced_context(RUNNING, kv_bytes_per_token=model("lecture-moe").kv_bytes_per_token())
    return found(
        Part("longest context of an open model in our catalogue", (100e3, 200e3), longest(DAY), "token"),
        Part("balanced context of DeepSeek-V3", (100e3, 200e3), v3, "token"),
        board=board,
        v3=v3,
    )


def trained(tokens: float) -> float:
    """How far past Chinchilla's rule the lecture's model is trained with so many tokens."""
    return over.overtraining(overtraining.BOARD, pretrain_tokens=tokens)


def served() -> float:
    """Tokens that the lecture's model serves over its life, as computed, not rounded."""
    return over.tokens_served(overtraining.BOARD)


@all_claims.enter(
    "P4",
    "predictions",
    "As many served as trained on",
    statement="A model serves about as many tokens as it is trained on, so it is trained about 100 times past"
    " Chinchilla.",
    who=("B prediction 4", "C 12", "lecture 1:27:56–1:28:24", "lecture 1:31:43"),
    at=Place("overtraining", "From traffic to tokens"),
    formulas=("overtraining.inference_coefficient", "overtraining.tokens_served", "overtraining.overtraining"),
    sources=("chinchilla",),
    because={
        PART: (
            "The first number follows if serving reaches 0.3 of training's efficiency. The second is a"
            " product of guesses. If each guess may be half or twice as large, nine draws out of ten fall"
            " between {low:2} and {high:2}."
        )
    },
    quotes={"0.3": "the lecture's efficiency of generating, 1:25:02"},
)
def as_many() -> Found:
    beta, far = over.inference_coefficient(overtraining.BOARD), draws.spread()
    return found(
        Part("tokens of training for each one served", 1, beta),
        Part("over-training, as the numbers stand", 100, trained(served())),
        low=far.quantile(0.05),
        high=far.quantile(0.95),
    )


def keeping(time: float) -> dict[str, float]:
    """What it costs to keep a token of DeepSeek-V3's KV for so long and bring it back once, by place, USD."""
    known = priced.rack() | {"hold_time": time}
    cost = {
        name: pricing.tier_cost(known | priced.rented(tier(id)))
        for id, name in zip(priced.KEEP, ("DDR", "flash", "disk"))
    }
    cost |= {"HBM": pricing.hbm_hold(known), "nowhere": pricing.remat_cost(known)}
    return cost


def drained(id: str) -> float:
    """Seconds to read a memory device once."""
    row = tier(id)
    return pricing.tier_drain(tier_capacity=row.capacity_bytes, tier_bandwidth=row.read_bytes_per_s)


@all_claims.enter(
    "P5",
    "predictions",
    "An hour of cache is disk",
    statement="A cache that is sold for an hour likely lies on spinning disk.",
    who=("B prediction 5", "C 16", "lecture 2:01:52–2:03:33"),
    at=Place("pricing", "The drain time"),
    formulas=("pricing.tier_drain", "pricing.tier_cost"),
    sources=("anthropic_cache", *of(*(tier(id) for id in priced.KEEP))),
    stated=CONTRADICTED,
    by="the vendor",
    because={
        CONTRADICTED: (
            "Anthropic, whose price it is, says that it keeps caches in memory only. A disk would not fit"
            " either, because reading it once takes more than a day. By the lecture's own rule an hour"
            " points to flash, and so does cost: keeping a million tokens for an hour costs {flash:2 USD}"
            " in flash and {disk:2 USD} on disk."
        )
    },
)
def hour_on_disk() -> Found:
    cost = keeping(priced.HOUR)
    return found(
        Part("time to read a disk once", priced.HOUR, drained("hdd-exos30"), "s", "1 hour"),
        Part("cheapest place for an hour", "disk", min(cost, key=cost.__getitem__)),
        flash=cost["flash"] / priced.MTOK,
        disk=cost["disk"] / priced.MTOK,
    )


def day_use() -> tuple[float, float]:
    """Shares of the peak that DeepSeek's prefill, cache hits left out, and decoding used on the day that it
    published.
    """
    share = reached()
    return share["prefill"], share["mfu"]


# --- four mental models -----------------------------------------------------------------------------------------------


@all_claims.enter(
    "M1",
    "models",
    "Two numbers and two suffice",
    statement="Two numbers of the hardware and two of the model are enough.",
    who=("B model 1", "lecture 0:02:00–0:03:07"),
    at=Place("batching", "The roofline"),
    formulas=("batching.step_time",),
    within=EXACT,
    sources=("aiconfigurator",),
    because={
        PART: (
            "The step time needs four numbers of the model: active parameters, total parameters, bytes"
            " per parameter, and KV bytes per token. Article B names only the total and the KV, and"
            " without the active parameters there is no compute time. As a first estimate the formula is"
            " good: it is a lower bound, and measured matrix products take {least:2} to {most:2} times as"
            " long."
        )
    },
)
def two_and_two() -> Found:
    free, ratios = set(step.step_time.free), [row.measured / row.ideal for row in batching.gemm_rows()]
    machine, net = (
        free & {"flops", "bandwidth", "chips", "hbm"},
        free & {"n_active", "n_total", "bytes_per_param", "kv_bytes_per_token"},
    )
    return found(
        Part("numbers of the machine in the step time", 2, len(machine)),
        Part("numbers of the model in it", 2, len(net)),
        least=min(ratios),
        most=max(ratios),
    )


@all_claims.enter(
    "M2",
    "models",
    "KV resists sharing",
    statement="The KV cache resists both batching and pipelining.",
    who=("B model 2", "C 4", "C 11", "lecture 1:12:38–1:12:49"),
    at=Place("pipelining", "What a stage holds"),
    formulas=("pipelining.whole_batch", "pipelining.chip_memory", "pipelining.chip_weights", "batching.kv_time"),
    within=EXACT,
    because={
        HOLDS: (
            "Exact within the model. With more pipeline stages each chip holds fewer layers, but"
            " proportionally more sequences are in flight, and each sequence reads its own cache. What"
            " does reduce it: shared prefixes, fewer KV heads, smaller formats."
        )
    },
)
def resists() -> Found:
    board = pipelining.board
    kv = lambda stages: (
        board(pipe.chip_memory, stages=stages, batch=board(pipe.whole_batch, stages=stages))
        - board(pipe.chip_weights, stages=stages)
    )
    read = lambda batch: step.kv_time(RUNNING, batch=batch) / batch
    return found(
        Part("KV on a chip, four stages over one", 1, kv(4) / kv(1)),
        Part("time to read a sequence's KV, in a batch of 1,000 over alone", 1, read(1_000) / read(1)),
    )


@all_claims.enter(
    "M3",
    "models",
    "Prices are near cost",
    statement="Prices are near marginal cost, so they show the architecture.",
    who=("B model 3", "lecture 1:41:12–1:41:24"),
    at=Place("pricing", "Against reality"),
    formulas=("pricing.input_margin",),
    quotes={"100": "the lecture's active parameters in billions"},
    sources=("ds_infra", *of(price(priced.CARD))),
    within=NEAR - 1,
    because={
        PART: (
            "We call a price near if it is within a factor of two of the rent. DeepSeek's prefill reached"
            " {prefill:%} of the peak. At that rate the input price on its first card is {open:2} times"
            " the rent, and Claude's {low:2} to {high:2} times, depending on a number of active parameters"
            " that nobody has published; at the peak rate it would be {ds_peak:2} and, with 100 billion,"
            " {peak:3} times. For one day DeepSeek reported {day:3} dollars of revenue per dollar of rent,"
            " counted at R1's list price; its real revenue, it says, was much lower. A ratio of two prices"
            " may still follow costs, if both carry the same margin."
        )
    },
)
def near_cost() -> Found:
    claude, [day] = implied(price(priced.CARD)).margin, measurement("deepseek_day6_production").records()
    open_card, prefill = implied(price("deepseek-v3@2025-02-08")).margin.mid, round(day_use()[0], 2)
    here, there = (
        f"{name} at ${paid.usd_per_chip_hour:.2f} an hour"
        for name, paid in (("GB200", rent()), ("H800", chip("h800").rent("accounting")))
    )
    used, about = f"at {prefill:.0%} of the peak rate".replace("%", " %"), f"input over rent, Claude Opus 4.6 on {here}"
    return found(
        Part(f"input over rent, DeepSeek-V3 on {there}, {used}", 1, prefill * open_card),
        Part(f"{about}, {used}, with 300 billion active parameters", 1, prefill * claude.low),
        Part("with 100 billion", 1, prefill * claude.mid),
        Part(f"{about}, {used}, with 30 billion active parameters", 1, prefill * claude.high),
        ds_peak=open_card,
        peak=claude.mid,
        prefill=prefill,
        open=prefill * open_card,
        low=prefill * claude.low,
        high=prefill * claude.high,
        day=day["revenue_USD_per_day"] / day["cost_USD_per_day"],
    )


@all_claims.enter(
    "M4",
    "models",
    "Networks and ciphers converged",
    statement="Networks and ciphers have converged: both alternate mixing, residual connections and nonlinear layers.",
    who=("B model 4",),
    at=Place("reversibility", "An untrained network as a cipher"),
    sources=("pope2026blackboard", "ciphers2025"),
    stated=OVERSTATED,
    because={
        OVERSTATED: (
            "The lecture lists residual connections and LayerNorm among the things that networks have and"
            " ciphers lack (2:05:37–2:07:10), although a Feistel round does add its input back. The two"
            " also behave differently. Under the same attack the output of an untrained residual network"
            " can be predicted, with a correlation of {net:2}; that of a Feistel cipher cannot, at"
            " {cipher:1}."
        )
    },
)
def converged() -> Found:
    from blackboard.lessons.reversibility import simulation

    return found(
        net=simulation.attacked("residual").told.correlation, cipher=simulation.attacked("Feistel").told.correlation
    )


# --- four numbers -----------------------------------------------------------------------------------------------------


@all_claims.enter(
    "C1",
    "claims",
    "DeepSeek-V3: 37 of 670 billion",
    statement="DeepSeek-V3 has 37 billion active and some 670 billion total parameters.",
    who=("B claim 1", "lecture 0:04:44"),
    at=Place("batching", "Against reality"),
    formulas=("sparsity.sparsity",),
    sources=of(model("deepseek-v3")),
    within=EXACT * 2,
    because={
        HOLDS: (
            "Counted from the published architecture, embeddings included. A token uses one parameter in {sparsity:3}."
        )
    },
)
def deepseek_size() -> Found:
    net = model("deepseek-v3")
    return found(
        Part("active parameters", 37e9, net.n_active, "parameter"),
        Part("stored parameters", 670e9, net.n_total, "parameter"),
        sparsity=sparse.sparsity(n_total=net.n_total, n_active=net.n_active),
    )


def constant(id: str, precision: str) -> float:
    """A chip's hardware constant, tokens."""
    return step.hardware_constant(chip(id), precision=precision, bytes_per_param=sparsity.width(precision))


@all_claims.enter(
    "C2",
    "claims",
    "300 from A100 to B100",
    statement="The ratio of about 300 is stable from A100 to B100.",
    who=("B claim 2", "C 6", "lecture 0:18:25–0:18:53"),
    at=Place("sparsity", "One constant, many chips"),
    formulas=("batching.hardware_constant",),
    sources=of(*map(chip, ("a100-40gb", "a100-80gb", "h100-sxm", "b200"))),
    because={
        PART: (
            "The H100 and the B200 are close. The A100 came with two kinds of memory and so has two other"
            " values, and faster memory on the same H100 lowers it to {h200:3} (the H200). For the B100 no"
            " source confirms the rates."
        )
    },
)
def stable() -> Found:
    rows = {"a100-40gb": "A100, 40 GB", "a100-80gb": "A100, 80 GB", "h100-sxm": "H100", "b200": "B200"}
    return found(
        *(Part(name, 300, constant(id, "bf16"), "token") for id, name in rows.items()), h200=constant("h200", "bf16")
    )


def stated(counts: str, date: str = "") -> float:
    """Tokens a second of Google's first statement of this kind, or of a month."""
    row = next(row for row in measurement("world_tokens").records(counts=counts) if row["date"].startswith(date))
    return sparsity.monthly(row["tokens"], row["per"])


API, SPRING = (
    "direct use by developers",
    "2026-05",
)  # what one would call the API; the statement a month after the lecture


@all_claims.enter(
    "C3",
    "claims",
    "The Gemini API's traffic",
    statement="The Gemini API served hundreds of millions of tokens a second in spring 2025.",
    who=("B claim 3", "lecture 0:27:28–0:27:37"),
    at=Place("sparsity", "Tokens per second, and the world's"),
    formulas=("sparsity.racks_needed",),
    sources=of(measurement("world_tokens")),
    stated=UNSOURCED,
    because={
        UNSOURCED: (
            "We know of no API figure for that spring. The lecture says Gemini, and what Google announced"
            " in May 2025 counts all its products: {all:3 token/s}, or {racks:3} of the lecture's racks."
            " For use by developers alone there are figures from October 2025 on: {first:3 token/s} then"
            " and {later:3 token/s} in the month after the lecture. All of them count tokens read along"
            " with tokens written, and we have read none of them in a primary source."
        )
    },
)
def gemini() -> Found:
    rate = stated("all products")
    return found(all=rate, racks=world_racks(rate), first=stated(API), later=stated(API, SPRING))


def world_racks(rate: float) -> float:
    """How many of the lecture's racks a traffic in tokens a second would fill."""
    return sparse.racks_needed(world_rate=rate, batch=sparsity.LECTURE_BATCH, interval=1 / sparsity.DEPARTURES)


@all_claims.enter(
    "C4",
    "claims",
    "150 trillion tokens make 100",
    statement="100 billion active parameters and 150 trillion tokens are about 100 times Chinchilla.",
    who=("B claim 4", "lecture 1:31:01–1:31:12", "lecture 1:31:17–1:31:34", "lecture 1:31:43"),
    at=Place("overtraining", "From traffic to tokens"),
    formulas=("overtraining.overtraining",),
    sources=("chinchilla",),
    because={ROUGH: "The lecture's hundred belongs to 200 trillion tokens, not to the rumoured 150."},
    quotes={"200": "what the board rounds to, in trillions, 1:30:46"},
)
def rumoured() -> Found:
    return found(Part("over-training with 150 trillion tokens", 100, trained(overtraining.RUMOUR)))


# --- corrections ------------------------------------------------------------------------------------------------------


@all_claims.enter(
    "12.1",
    "corrections",
    "32 of 256 experts",
    statement="DeepSeek-V3 uses 32 of 256 experts: a sparsity of 8, a critical batch of 2,400.",
    who=("lecture 0:19:16", "flashcards 1.8", "C 5"),
    at=Place("sparsity", "Three ways to count sparsity"),
    formulas=("sparsity.expert_sparsity", "sparsity.sparsity", "batching.critical_batch"),
    sources=of(model("deepseek-v3")),
    because={
        FAILS: (
            "DeepSeek-V3 routes a token to {top_k} of {experts:3} experts, plus one shared expert; the"
            " lecture itself later says one in 32 (0:32:41). By parameters the ratio is smaller than by"
            " experts, because attention and the shared expert serve every token. The batch is that of the"
            " running case's rack."
        )
    },
)
def experts() -> Found:
    known, net = RUNNING.symbols(), model("deepseek-v3")
    return found(
        Part("sparsity, by experts", 8, sparse.expert_sparsity(RUNNING)),
        Part("sparsity, by parameters", 8, sparse.sparsity(n_total=net.n_total, n_active=net.n_active)),
        Part("critical batch, by parameters", 2_400, step.critical_batch(RUNNING), "sequence"),
        top_k=f"{known['top_k']:g}",
        experts=known["experts"],
    )


@all_claims.enter(
    "12.2",
    "corrections",
    "700 or 670 billion",
    statement="DeepSeek-V3 has 700 billion parameters in all (the lecture), or some 670 billion (article B).",
    who=("lecture 0:04:44", "B claim 1"),
    at=Place("batching", "Against reality"),
    formulas=("batching.latency_floor",),
    sources=of(model("deepseek-v3")),
    because={
        HOLDS: (
            "Both round the same {total:3}. The lecture's number is {more:%} high, and so is the latency"
            " floor that follows from it: {floor:3 s} on the running rack."
        )
    },
)
def total() -> Found:
    n, floor = model("deepseek-v3").n_total, step.latency_floor(RUNNING, n_total=700e9)
    return found(
        Part("lecture", 700e9, n, "parameter"),
        Part("article B", 670e9, n, "parameter"),
        total=f"{n / 1e9:.0f} billion",
        more=700e9 / n - 1,
        floor=floor,
    )


@all_claims.enter(
    "12.3",
    "corrections",
    "Sparsity turned round",
    statement="The critical batch is 300 × sparsity, with sparsity as active over total.",
    who=("flashcards 1.8",),
    at=Place("sparsity", "Three ways to count sparsity"),
    formulas=("sparsity.expert_sparsity",),
    sources=("flashcards",),
    because={
        FAILS: (
            "The ratio is upside down: with active over total one has to divide by it. The card's own"
            " answer does divide, and gives the lecture's number."
        )
    },
)
def turned() -> Found:
    board = sparse.expert_sparsity(**sparsity.BOARD_EXPERTS)
    return found(
        Part(
            "critical batch by the board's sparsity", sparsity.ABOUT_300 / board, sparsity.ABOUT_300 * board, "sequence"
        )
    )


@all_claims.enter(
    "12.4",
    "corrections",
    "Floor by active parameters",
    statement="The latency floor comes from reading the active parameters.",
    who=("flashcards 1.5",),
    at=Place("batching", "Latency: a floor and a kink"),
    formulas=("batching.first_floor", "batching.latency_floor"),
    sources=("flashcards",),
    stated=CORRECTED,
    because={
        CORRECTED: (
            "The card now says total, because a large batch touches all experts. Only a batch of one"
            " reads as little as the active parameters. On the same day the card on implied KV (6.3) got"
            " its missing assumption: a batch large enough to share the weights."
        )
    },
    quotes={"6.3": "a card"},
)
def active_floor() -> Found:
    return found(
        Part("floor of DeepSeek-V3 on the running rack", step.first_floor(RUNNING), step.latency_floor(RUNNING), "s")
    )


@all_claims.enter(
    "12.5",
    "corrections",
    "A price step implies 2 kB",
    statement="A price step at 200,000 tokens implies almost 2 kB of KV a token.",
    who=("lecture 1:38:22", "flashcards 6.3", "C 14"),
    at=Place("pricing", "What a price step implies"),
    formulas=("pricing.kv_implied",),
    within=EXACT,
    because={
        PART: (
            "The lecture's 300 counts multiply-adds per byte, with one byte per parameter, which is FP8."
            " With weights in other formats the same price step implies half or twice as much."
        )
    },
    quotes={"300": "the board's constant"},
)
def implied_kv() -> Found:
    kv = lambda flops: pricing.kv_implied(priced.BOARD, flops=flops)
    fp8 = priced.BOARD["flops"]
    return found(
        *(
            Part(f"weights in {name}", (1_600, 2_000), kv(fp8 * speed), "byte/token", "almost 2 kB")
            for name, speed in (("FP8", 1), ("FP4", 2), ("BF16", 0.5))
        )
    )


@all_claims.enter(
    "12.6",
    "corrections",
    "300 on most chips",
    statement="The hardware constant is about 300 multiply-adds for each parameter that arrives, on most chips.",
    who=("lecture 0:18:25–0:18:53", "flashcards 1.7", "B claim 2", "C 6", "E 5"),
    at=Place("sparsity", "One constant, many chips"),
    formulas=("batching.hardware_constant",),
    sources=("ml_eng_acc", "infx_specs"),
    because={
        PART: (
            "These are all confirmed chips of the catalogue, in every format that they have. The constant"
            " runs from {least:3} ({least_chip}) to {most:3} ({most_chip}). The running rack has {here:4}"
            " in FP8."
        )
    },
)
def constants() -> Found:
    rows = sorted((row for row in sparsity.constants() if row.chip.confirmed), key=lambda row: row.value)
    parts = (Part(f"{row.chip.name}, {row.precision.upper()}", 300, row.value, "token") for row in rows)
    return found(
        *parts,
        here=step.hardware_constant(RUNNING),
        least=rows[0].value,
        least_chip=rows[0].chip.name,
        most=rows[-1].value,
        most_chip=rows[-1].chip.name,
    )


@all_claims.enter(
    "12.7",
    "corrections",
    "A memory read in 20 ms",
    statement="A memory is read once in 20 ms, on many generations, and a train with 2,000 sequences takes as long.",
    who=("lecture 0:23:28–0:24:03", "lecture 0:26:32–0:26:58", "flashcards 1.9", "D 2"),
    at=Place("batching", "The train leaves every 20 ms"),
    formulas=("batching.drain_time", "batching.step_time"),
    sources=("ml_eng_acc", "infx_specs"),
    because={
        PART: (
            "Reading the memory once takes {least:2 s} to {most:2 s}, depending on the chip, and {here:3"
            " s} on the running rack. A step takes that long only if the model fills the memory: with"
            " 2,000 sequences of {context} the running rack's step takes {rack:3 s}."
        )
    },
)
def drains() -> Found:
    rows = sorted((step.drain_time(row), row.name) for row in chips() if row.confirmed)
    rack = step.step_time(RUNNING, batch=batching.BUSY)
    parts = (Part(name, 0.020, value, "s") for value, name in rows)
    return found(
        *parts,
        Part("a step with 2,000 sequences on the running rack", 0.020, rack, "s"),
        least=rows[0][0],
        most=rows[-1][0],
        here=step.drain_time(RUNNING),
        rack=rack,
        context=RUNNING.tokens,
    )


@all_claims.enter(
    "12.8",
    "corrections",
    "Gemini: 50 % more",
    statement="Gemini costs 50 % more above 200,000 tokens.",
    who=("lecture 1:33:03", "flashcards 6.1", "C 14"),
    at=Place("pricing", "Against reality"),
    formulas=("pricing.context_covered",),
    sources=of(price(priced.STEPPED)),
    within=EXACT,
    because={
        PART: (
            "That is the price of output. Input doubles, and the lecture's model does not explain why,"
            " because in it prefill is bound by compute at any context. A step in the output price alone"
            " covers the cost up to {covered:3} tokens."
        )
    },
)
def half_more() -> Found:
    above = price(priced.STEPPED).above
    covered = pricing.context_covered(step_ratio=above.output_multiplier, step_context=above.tokens)
    return found(
        Part("output", 1.5, above.output_multiplier), Part("input", 1.5, above.input_multiplier), covered=covered
    )


@all_claims.enter(
    "12.9",
    "corrections",
    "Cache prices show the memory",
    statement="Cache prices show the memory: five minutes are probably flash, an hour is disk.",
    who=("lecture 2:01:52–2:03:33", "C 16"),
    at=Place("pricing", "Against reality"),
    formulas=("pricing.tier_drain",),
    sources=("anthropic_cache", "openai_cache", "deepseek_cache", *of(tier("hdd-exos30"))),
    stated=CONTRADICTED,
    by="the vendor",
    because={
        CONTRADICTED: (
            "Anthropic, whose prices these are, says that caches are held in memory only and not stored"
            " at rest. OpenAI describes memory for minutes and storage beside the GPU for up to a day;"
            " DeepSeek caches on disk. Reading a disk once takes {disk:2} hours, far more than one. The"
            " catalogue's flash drives take {least:2} minutes to {most:2} hours, so by the lecture's rule"
            " both products would be flash. The lecture says “probably”, after first guessing HBM and DDR,"
            " then DDR and flash (2:01:16)."
        )
    },
)
def tiers_inferred() -> Found:
    flash = sorted(drained(row.id) for row in tiers() if row.tier.startswith("NVMe"))
    return found(
        Part("time to read a disk once", priced.HOUR, drained("hdd-exos30"), "s", "1 hour"),
        disk=drained("hdd-exos30") / priced.HOUR,
        least=flash[0] / 60,
        most=flash[-1] / priced.HOUR,
    )


def power(formula, low: float, high: float | None = None, **more) -> float:
    """The power of the context with which a formula grows between two contexts, or at one."""
    high = high or low * (1 + 1e-6)
    return math.log(formula(context=high, **more) / formula(context=low, **more)) / math.log(high / low)


@all_claims.enter(
    "12.10",
    "corrections",
    "Sparse attention as a root",
    statement="DeepSeek's sparse attention reads as the square root of the context.",
    who=("lecture 0:12:31", "lecture 1:51:19–1:55:05", "E 9"),
    at=Place("pricing", "What sparse attention saves"),
    formulas=("pricing.sparse_read", "pricing.block_read_best"),
    sources=("deepseekv32", "nsa2025"),
    near=1,
    because={
        FAILS: (
            "The paper that it points to has no square root: each step reads an index key of every"
            " earlier token, then a fixed number of entries. That is a constant plus a straight line. Its"
            " power rises from {first:2} at 4,096 tokens through a half to {last:2} at a million, and"
            " approaches 1. Attention that selects blocks in two levels would give a root, a power of"
            " {blocks:2}."
        )
    },
    quotes={"4,096": "where the mean begins", "1": "the power of a straight line"},
)
def root() -> Found:
    group, near, million = model("deepseek-v3.2").attention[0], 4_096, 1e6
    sizes = {"entry_bytes": group.entry(priced.VLLM), "index_bytes": group.key(priced.VLLM), "selected": group.top_k}
    at = lambda *contexts: power(pricing.sparse_read, *contexts, **sizes)
    return found(
        Part("mean power of the context, 4,096 to 131,072 tokens", 0.5, at(near, priced.FAR)),
        Part("power at 131,072 tokens", 0.5, at(priced.FAR)),
        first=at(near),
        last=at(million),
        blocks=power(pricing.block_read_best, priced.FAR, blocks_read=priced.BLOCKS),
    )


@all_claims.enter(
    "12.11",
    "corrections",
    "Jensen math",
    statement="Rubin's scale-up is “500-something”; part of the step is “Jensen math”, a factor of four is genuine.",
    who=("lecture 0:40:47–0:41:42",),
    at=Place("racks", "From 8 to 72 to “500”"),
    sources=of(chip("rubin-ultra-kyber")),
    because={
        PART: (
            "True of dies, of which Rubin Ultra has four in a package and Blackwell two. Blackwell's 72"
            " counts packages, and of those the new rack has {packages:3}. The lecture says Rubin; it is"
            " Rubin Ultra."
        )
    },
    quotes={"72": "GPUs of an NVL72"},
)
def jensen() -> Found:
    ultra, now = (chip(id).scale_up.domain_chips for id in ("rubin-ultra-kyber", "gb200-nvl72"))
    dies = ultra * DIES["rubin-ultra-kyber"]
    return found(
        Part("dies", (500, 599), dies, "1", "500-something"),
        Part("packages", (500, 599), ultra, "1", "500-something"),
        Part("growth, in dies", 4, dies / (now * DIES["gb200-nvl72"])),
        packages=ultra,
    )


@all_claims.enter(
    "12.12",
    "corrections",
    "200 trillion tokens make 100",
    statement="50 million tokens a second for two months are 200 trillion tokens, 100 times Chinchilla.",
    who=("lecture 1:30:46", "lecture 1:31:43", "flashcards 5.5", "flashcards 5.6"),
    at=Place("overtraining", "From traffic to tokens"),
    formulas=("overtraining.tokens_served", "overtraining.overtraining"),
    sources=("flashcards",),
    because={
        ROUGH: (
            "The product was rounded down by a quarter. Unrounded it makes {over:2} times Chinchilla; the"
            " rounded number makes 100, and the rumour of 150 trillion makes {rumour:2}."
        )
    },
    quotes={"150": "the rumour, in trillions, 1:31:01"},
)
def rounded() -> Found:
    return found(
        Part("tokens served", overtraining.ROUNDED, served(), "token"),
        Part("over-training", 100, trained(served())),
        over=trained(served()),
        rumour=trained(overtraining.RUMOUR),
    )


@all_claims.enter(
    "12.13",
    "corrections",
    "Inefficiency multiplied in",
    statement="Inefficiency is multiplied in: a model serves ten times the tokens that it is trained on.",
    who=("lecture 1:25:28–1:27:53",),
    at=Place("overtraining", "From costs to tokens"),
    formulas=("overtraining.rl_coefficient", "overtraining.inference_coefficient"),
    sources=("flashcards", "pope2026blackboard"),
    stated=CORRECTED,
    because={
        CORRECTED: (
            "Work done at low efficiency costs more, so one has to divide by the efficiency. The lecture"
            " finds the slip itself. It ends with coefficients of about {alpha:2} for RL and {beta:1} for"
            " serving, as the flashcard has them."
        )
    },
)
def direction() -> Found:
    known, eta = overtraining.BOARD | overtraining.CARD, overtraining.BOARD["decode_efficiency"]
    right = over.inference_coefficient(overtraining.BOARD)
    return found(
        Part("tokens of training for each one served", right * eta**2, right),
        alpha=over.rl_coefficient(known),
        beta=over.inference_coefficient(known),
    )


@all_claims.enter(
    "12.14",
    "corrections",
    "Sutskever's reasons",
    statement=(
        "Ilya Sutskever holds pipelining unwise for the KV cache (Reiner Pope), for constraints on architecture (a"
        " flashcard, after Horace He), for micro-batches that cannot share weights (Axel Feldmann)."
    ),
    who=("lecture 1:03:27–1:13:52", "flashcards 4.1", "lecture 0:54:33–0:54:52", "lecture 0:55:55–0:57:07"),
    at=Place("pipelining", "Against reality"),
    formulas=("pipelining.bubble",),
    sources=("sutskever2024", "flashcards", "attentionresiduals2026"),
    stated=UNSOURCED,
    because={
        UNSOURCED: (
            "His talk gives no reason; these three are reasons that others found. What the talk does"
            " recall is a speed: 3.5 times one GPU's on {gpus}, one per stage, which is {speed:%} of the"
            " ideal. By the bubble formula that corresponds to {batches:2} micro-batches."
        )
    },
    quotes={"3.5": "the speed-up that the talk recalls"},
)
def ilya() -> Found:
    speed = pipelining.LSTM_SPEED / pipelining.LSTM_GPUS
    return found(
        speed=speed,
        gpus=f"{pipelining.LSTM_GPUS} GPUs",
        batches=pipe.bubble.solve("micro_batches")(stages=pipelining.LSTM_GPUS, bubble=1 - speed),
    )


@all_claims.enter(
    "12.15",
    "corrections",
    "One rack bounds experts",
    statement="One rack bounds a layer of experts.",
    who=("lecture 0:36:30–0:40:10", "flashcards 2.1"),
    at=Place("racks", "Against reality"),
    formulas=("racks.slowdown",),
    sources=of(measurement("deepseek_v3_deployment_units")),
    because={
        PART: (
            "As a rule about cost it is right: at the lecture's ratio of the two networks, two racks take"
            " {slow:2} times as long as one. As a hard limit it is wrong. DeepSeek decodes across many"
            " nodes on InfiniBand; it hides the traffic behind compute and limits routing to few nodes."
        )
    },
)
def one_rack() -> Found:
    report, service = measurement("deepseek_v3_deployment_units").records(phase="decode")
    slow = racks.slowdown(racks=2, scale_up=racked.LECTURE_RATIO, scale_out=1)
    return found(
        Part("time of a layer on two racks, over one", (1, math.inf), slow, said="more than 1"),
        Part("scale-up domains that share a layer, DeepSeek's report", 1, report["nodes"]),
        Part("its service of 2025", 1, service["nodes"]),
        slow=slow,
    )


@all_claims.enter(
    "12.16",
    "corrections",
    "Year of reversible networks",
    statement=("Reversible networks came in 2017 (the lecture's transcript), in 2017 or 2018 (article C)."),
    who=("lecture 2:07:39–2:12:00", "C 18"),
    at=Place("reversibility", "Against reality"),
    sources=("revnet",),
    within=0,
    near=1,
    because={HOLDS: "The preprint on RevNets is from July {year}; its number says so."},
)
def year() -> Found:
    first = 2000 + int(source("revnet").where.removeprefix("arXiv:")[:2])
    return found(
        Part("lecture", 2017, first, "year"),
        Part("article C", (2017, 2018), first, "year"),
        year=str(first),
    )


@all_claims.enter(
    "12.17",
    "corrections",
    "Paged attention in the lecture",
    statement=(
        "The lecture explains speculative decoding, paged attention, prefix caching, LLäMmlein and a ranking of APIs."
    ),
    who=("A 1", "A 3", "A 4", "A 5", "A 6"),
    at=Place("batching", "Further reading"),
    sources=("transcript", "spire", "kwon2023"),
    stated=CONTRADICTED,
    by="the transcript",
    because={
        CONTRADICTED: (
            "Article A presents all of them as the lecturer's analysis. The lecture mentions speculative"
            " decoding once (0:01:50) and the others not at all. SPIRe is a paper of its own, by Pope and"
            " others. Each topic is treated below."
        )
    },
)
def attributed() -> Found:
    return found()


@all_claims.enter(
    "12.19",
    "corrections",
    "300 to 1 in FP4",
    statement="The ratio of FLOPs to bytes is 300 to 1, in FP4.",
    who=("E 5", "lecture 0:18:09–0:18:32"),
    at=Place("sparsity", "One constant, many chips"),
    formulas=("batching.hardware_constant",),
    sources=of(chip("b200")),
    because={
        PART: (
            "300 counts multiply-adds per parameter. A parameter in FP4 is half a byte, and datasheets"
            " count a multiply-add as two FLOPs, so per byte the number is two or four times as large. The"
            " lecture multiplies by the half byte; article E leaves that step out."
        )
    },
)
def three_hundred_to_one() -> Found:
    c, width = constant("b200", "fp4"), sparsity.width("fp4")
    return found(
        Part("B200 in FP4, multiply-adds per parameter", 300, c),
        Part("multiply-adds per byte", 300, c / width),
        Part("FLOPs per byte", 300, 2 * c / width),
    )


@all_claims.enter(
    "12.20",
    "corrections",
    "Contexts are flat",
    statement="Contexts have been flat for one or two years.",
    who=("lecture 1:51:19–1:55:05", "C 19"),
    at=Place("pricing", "Why contexts stopped growing"),
    formulas=("pricing.context_flop",),
    sources=of(model("llama-4-scout"), model("mixtral-8x22b")),
    because={
        FAILS: (
            "When the lecture was recorded, a million tokens were on sale, from Gemini since 2024. What"
            " most requests use is another matter. The lecture also calls attention's own compute a"
            " shallow line: it equals that of Llama 3.1 405B's weights from {flop:2} tokens on."
        )
    },
    quotes={"2024": "the year in which Gemini offered a million tokens"},
)
def flat() -> Found:
    net = model("llama-3.1-405b")
    flop = pricing.context_flop(n_active=net.n_active, attention_flop=net.attention_flop(1))
    return found(
        Part(
            "longest context of an open model in our catalogue, over that of two years before",
            1,
            longest(DAY) / longest("2024-04-29"),
        ),
        flop=flop,
    )


@all_claims.enter(
    "12.21",
    "corrections",
    "Over-trained up to 100 times",
    statement="Models are over-trained by up to 100 times.",
    who=("D 7", "lecture 1:31:43"),
    at=Place("overtraining", "From traffic to tokens"),
    formulas=("overtraining.tokens_served", "overtraining.overtraining"),
    sources=("sardana2024", *of(model("qwen3-0.6b"))),
    because={
        PART: (
            "The lecture says about a hundred, as the middle of a guess; article D makes it a limit. Most"
            " large models of the catalogue are below it, though Llama 4 Scout is not. Small models, which"
            " are cheap to serve, are trained far past it."
        )
    },
)
def up_to() -> Found:
    past = {row.name: row.per_active / overtraining.PRESCRIBED for row in overtraining.placed()}
    names = ("DeepSeek-V3", "Qwen3-235B-A22B", "Llama 4 Scout", "Qwen3-8B", overtraining.placed()[-1].name)
    return found(
        Part("as the lecture's numbers give it", (0, 100), trained(served()), said="at most 100"),
        *(Part(name, (0, 100), past[name], said="at most 100") for name in names),
    )


@all_claims.enter(
    "12.22",
    "corrections",
    "Sutskever on bubbles",
    statement="Ilya Sutskever's remark is about bubbles and micro-batches.",
    who=("C 11",),
    at=Place("pipelining", "Decoding needs no bubble"),
    formulas=("pipelining.bubble", "pipelining.utilisation"),
    sources=("sutskever2024", "transcript"),
    stated=UNSOURCED,
    because={
        UNSOURCED: (
            "The talk gives no reason, and in the lecture the remark comes from Dwarkesh Patel (0:54:16)."
            " Bubbles are a matter of training: four stages with as many micro-batches idle {bubble:%} of"
            " the time. In decoding the same stages are {used:%} busy."
        )
    },
)
def bubbles() -> Found:
    sizes = {"stages": 4, "micro_batches": 4}
    return found(bubble=pipe.bubble(**sizes), used=pipe.utilisation(**sizes))


@all_claims.enter(
    "12.23",
    "corrections",
    "A hop takes milliseconds",
    statement="A hop from rack to rack takes a few milliseconds, or ten times more or less.",
    who=("lecture 1:15:13–1:15:50",),
    at=Place("pipelining", "How long a hop takes"),
    formulas=("pipelining.hop",),
    sources=of(measurement("deepseek_isca25_link_latency")),
    stated=UNSOURCED,
    because={
        UNSOURCED: (
            "The speaker calls it a guess with low confidence, and the catalogue has no measurement of a whole hop."
            " What can be computed is a lower bound, a measured link latency plus the time to send a micro-batch's"
            " vectors: {least:2 s}. Software and waiting for a slot come on top, and we do not know how much they add."
        )
    },
)
def hop() -> Found:
    latency = max(measurement("deepseek_isca25_link_latency").column("latency_us")) * factor("us")
    return found(least=pipe.hop(width=model(RUNNING.model).d_model, **pipelining.SENT) + latency)
