"""Claims of article B about the lecture (predictions, mental models, numbers), and corrections: points where sources
disagree.

Each function computes the numbers of a claim of claims.yaml with the lessons' own formulas and inputs.
"""

from __future__ import annotations

import math

from blackboard.catalogue import chip, chips, measurement, model, models, price, source, tier, tiers
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching import equations as step
from blackboard.lessons.batching import numbers as batching
from blackboard.lessons.overtraining import equations as over
from blackboard.lessons.overtraining import numbers as overtraining
from blackboard.lessons.overtraining import results as model_results
from blackboard.lessons.overtraining import simulation as draws
from blackboard.lessons.pipelining import equations as pipe
from blackboard.lessons.pipelining import numbers as pipelining
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.pricing import numbers as priced
from blackboard.lessons.pricing import results as call_costs
from blackboard.lessons.pricing.implied import implied, rent
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.racks import numbers as racked
from blackboard.lessons.sparsity import equations as sparse
from blackboard.lessons.sparsity import numbers as sparsity
from blackboard.lessons.sparsity import results as mixture_results
from blackboard.reference.claim_list import ClaimList, Found, Part, cited, found
from blackboard.reference.machine_costs import reached

all_claims = ClaimList()
DAY = "2026-04-29"  # of the lecture
DIES = {"gb200-nvl72": 2, "rubin-ultra-kyber": 4}  # of one package
ADOPTED = ("GLM-5",)  # models of other makers with DeepSeek's sparse attention that we read of, by their report


# --- five predictions -------------------------------------------------------------------------------------------------


def held_per_read(context: float) -> float:
    """How many times the KV that it reads DeepSeek-V3.2 holds, index keys counted in both, in vLLM's layout."""
    group = model("deepseek-v3.2").attention[0]
    entry, key = group.entry(priced.VLLM), group.key(priced.VLLM)
    sizes = {"entry_bytes": entry, "index_bytes": key, "selected": group.top_k}
    return context * (entry + key) / pricing.sparse_read(sizes, context=context)


@all_claims.enter("P1")
def sparse_attention() -> Found:
    return found(
        Part("models of other makers with it, that we read of", (1, math.inf), len(ADOPTED), said="at least one"),
        who=ADOPTED[0],
        when=cited("glm5").date[:4],
        held=held_per_read(priced.FAR),
        more=held_per_read(1e6),
        far=priced.FAR,
        sold=model("deepseek-v3.2").release[:4],
    )


@all_claims.enter("P2")
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


@all_claims.enter("P3")
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
    return over.overtraining(model_results.BOARD, pretrain_tokens=tokens)


def served() -> float:
    """Tokens that the lecture's model serves over its life, as computed, not rounded."""
    return over.tokens_served(model_results.BOARD)


@all_claims.enter("P4")
def as_many() -> Found:
    beta, far = over.inference_coefficient(model_results.BOARD), draws.spread()
    return found(
        Part("tokens of training for each one served", 1, beta),
        Part("over-training, as the numbers stand", 100, trained(served())),
        low=far.quantile(0.05),
        high=far.quantile(0.95),
    )


def keeping(time: float) -> dict[str, float]:
    """What it costs to keep a token of DeepSeek-V3's KV for so long and bring it back once, by place, USD."""
    known = call_costs.rack() | {"hold_time": time}
    cost = {
        name: pricing.tier_cost(known | call_costs.rented(tier(id)))
        for id, name in zip(call_costs.KEEP, ("DDR", "flash", "disk"))
    }
    cost |= {"HBM": pricing.hbm_hold(known), "nowhere": pricing.remat_cost(known)}
    return cost


def drained(id: str) -> float:
    """Seconds to read a memory device once."""
    row = tier(id)
    return pricing.tier_drain(tier_capacity=row.capacity_bytes, tier_bandwidth=row.read_bytes_per_s)


@all_claims.enter("P5")
def hour_on_disk() -> Found:
    cost = keeping(call_costs.HOUR)
    return found(
        Part("time to read a disk once", call_costs.HOUR, drained("hdd-exos30"), "s", "1 hour"),
        Part("cheapest place for an hour", "disk", min(cost, key=cost.__getitem__)),
        flash=cost["flash"] / call_costs.MTOK,
        disk=cost["disk"] / call_costs.MTOK,
    )


def day_use() -> tuple[float, float]:
    """Shares of the peak that DeepSeek's prefill, cache hits left out, and decoding used on the day that it
    published.
    """
    share = reached()
    return share["prefill"], share["mfu"]


# --- four mental models -----------------------------------------------------------------------------------------------


@all_claims.enter("M1")
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


@all_claims.enter("M2")
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


@all_claims.enter("M3")
def near_cost() -> Found:
    claude, [day] = implied(price(priced.CARD)).margin, measurement("deepseek_day6_production").records()
    open_card, prefill = implied(price("deepseek-v3@2025-02-08")).margin.mid, round(day_use()[0], 2)
    here, there = (
        f"{name} at ${paid.usd_per_chip_hour:.2f} an hour"
        for name, paid in (("GB200", rent()), ("H800", chip("h800").rent("accounting")))
    )
    used, about = f"at {prefill:.0%} of the peak rate", f"input over rent, Claude Opus 4.6 on {here}"
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


@all_claims.enter("M4")
def converged() -> Found:
    from blackboard.lessons.reversibility import simulation

    return found(
        net=simulation.attacked("residual").told.correlation, cipher=simulation.attacked("Feistel").told.correlation
    )


# --- four numbers -----------------------------------------------------------------------------------------------------


@all_claims.enter("C1")
def deepseek_size() -> Found:
    net = model("deepseek-v3")
    return found(
        Part("active parameters", 37e9, net.n_active, "parameter"),
        Part("stored parameters", 670e9, net.n_total, "parameter"),
        sparsity=sparse.sparsity(n_total=net.n_total, n_active=net.n_active),
    )


def constant(id: str, precision: str) -> float:
    """A chip's hardware constant, tokens."""
    return step.hardware_constant(chip(id), precision=precision, bytes_per_param=mixture_results.width(precision))


@all_claims.enter("C2")
def stable() -> Found:
    rows = {"a100-40gb": "A100, 40 GB", "a100-80gb": "A100, 80 GB", "h100-sxm": "H100", "b200": "B200"}
    return found(
        *(Part(name, 300, constant(id, "bf16"), "token") for id, name in rows.items()), h200=constant("h200", "bf16")
    )


def stated(counts: str, date: str = "") -> float:
    """Tokens a second of Google's first statement of this kind, or of a month."""
    row = next(row for row in measurement("world_tokens").records(counts=counts) if row["date"].startswith(date))
    return mixture_results.monthly(row["tokens"], row["per"])


API, SPRING = (
    "direct use by developers",
    "2026-05",
)  # what one would call the API; the statement a month after the lecture


@all_claims.enter("C3")
def gemini() -> Found:
    rate = stated("all products")
    return found(all=rate, racks=world_racks(rate), first=stated(API), later=stated(API, SPRING))


def world_racks(rate: float) -> float:
    """How many of the lecture's racks a traffic in tokens a second would fill."""
    return sparse.racks_needed(world_rate=rate, batch=sparsity.LECTURE_BATCH, interval=1 / sparsity.DEPARTURES)


@all_claims.enter("C4")
def rumoured() -> Found:
    return found(Part("over-training with 150 trillion tokens", 100, trained(overtraining.RUMOUR)))


# --- corrections ------------------------------------------------------------------------------------------------------


@all_claims.enter("12.1")
def experts() -> Found:
    known, net = RUNNING.symbols(), model("deepseek-v3")
    return found(
        Part("sparsity, by experts", 8, sparse.expert_sparsity(RUNNING)),
        Part("sparsity, by parameters", 8, sparse.sparsity(n_total=net.n_total, n_active=net.n_active)),
        Part("critical batch, by parameters", 2_400, step.critical_batch(RUNNING), "sequence"),
        top_k=f"{known['top_k']:g}",
        experts=known["experts"],
    )


@all_claims.enter("12.2")
def total() -> Found:
    n, floor = model("deepseek-v3").n_total, step.latency_floor(RUNNING, n_total=700e9)
    return found(
        Part("lecture", 700e9, n, "parameter"),
        Part("article B", 670e9, n, "parameter"),
        total=f"{n / 1e9:.0f} billion",
        more=700e9 / n - 1,
        floor=floor,
    )


@all_claims.enter("12.3")
def turned() -> Found:
    board = sparse.expert_sparsity(**sparsity.BOARD_EXPERTS)
    return found(
        Part(
            "critical batch by the board's sparsity", sparsity.ABOUT_300 / board, sparsity.ABOUT_300 * board, "sequence"
        )
    )


@all_claims.enter("12.4")
def active_floor() -> Found:
    return found(
        Part("floor of DeepSeek-V3 on the running rack", step.first_floor(RUNNING), step.latency_floor(RUNNING), "s")
    )


@all_claims.enter("12.5")
def implied_kv() -> Found:
    kv = lambda flops: pricing.kv_implied(priced.BOARD, flops=flops)
    fp8 = priced.BOARD["flops"]
    return found(
        *(
            Part(f"weights in {name}", (1_600, 2_000), kv(fp8 * speed), "byte/token", "almost 2 kB")
            for name, speed in (("FP8", 1), ("FP4", 2), ("BF16", 0.5))
        )
    )


@all_claims.enter("12.6")
def constants() -> Found:
    rows = sorted((row for row in mixture_results.constants() if row.chip.confirmed), key=lambda row: row.value)
    parts = (Part(f"{row.chip.name}, {row.precision.upper()}", 300, row.value, "token") for row in rows)
    return found(
        *parts,
        here=step.hardware_constant(RUNNING),
        least=rows[0].value,
        least_chip=rows[0].chip.name,
        most=rows[-1].value,
        most_chip=rows[-1].chip.name,
    )


@all_claims.enter("12.7")
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


@all_claims.enter("12.8")
def half_more() -> Found:
    above = price(priced.STEPPED).above
    covered = pricing.context_covered(step_ratio=above.output_multiplier, step_context=above.tokens)
    return found(
        Part("output", 1.5, above.output_multiplier), Part("input", 1.5, above.input_multiplier), covered=covered
    )


@all_claims.enter("12.9")
def tiers_inferred() -> Found:
    flash = sorted(drained(row.id) for row in tiers() if row.tier.startswith("NVMe"))
    return found(
        Part("time to read a disk once", call_costs.HOUR, drained("hdd-exos30"), "s", "1 hour"),
        disk=drained("hdd-exos30") / call_costs.HOUR,
        least=flash[0] / 60,
        most=flash[-1] / call_costs.HOUR,
    )


def power(formula, low: float, high: float | None = None, **more) -> float:
    """The power of the context with which a formula grows between two contexts, or at one."""
    high = high or low * (1 + 1e-6)
    return math.log(formula(context=high, **more) / formula(context=low, **more)) / math.log(high / low)


@all_claims.enter("12.10")
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


@all_claims.enter("12.11")
def jensen() -> Found:
    ultra, now = (chip(id).scale_up.domain_chips for id in ("rubin-ultra-kyber", "gb200-nvl72"))
    dies = ultra * DIES["rubin-ultra-kyber"]
    return found(
        Part("dies", (500, 599), dies, "1", "500-something"),
        Part("packages", (500, 599), ultra, "1", "500-something"),
        Part("growth, in dies", 4, dies / (now * DIES["gb200-nvl72"])),
        packages=ultra,
    )


@all_claims.enter("12.12")
def rounded() -> Found:
    return found(
        Part("tokens served", overtraining.ROUNDED, served(), "token"),
        Part("over-training", 100, trained(served())),
        over=trained(served()),
        rumour=trained(overtraining.RUMOUR),
    )


@all_claims.enter("12.13")
def direction() -> Found:
    known, eta = model_results.BOARD | model_results.CARD, model_results.BOARD["decode_efficiency"]
    right = over.inference_coefficient(model_results.BOARD)
    return found(
        Part("tokens of training for each one served", right * eta**2, right),
        lecture=model_results.divided_rl(),
        alpha=over.rl_coefficient(known),
        beta=over.inference_coefficient(known),
    )


@all_claims.enter("12.14")
def ilya() -> Found:
    speed = pipelining.LSTM_SPEED / pipelining.LSTM_GPUS
    return found(
        speed=speed,
        gpus=f"{pipelining.LSTM_GPUS} GPUs",
        batches=pipe.bubble.solve("micro_batches")(stages=pipelining.LSTM_GPUS, bubble=1 - speed),
    )


@all_claims.enter("12.15")
def one_rack() -> Found:
    report, service = measurement("deepseek_v3_deployment_units").records(phase="decode")
    slow = racks.slowdown(racks=2, scale_up=racked.LECTURE_RATIO, scale_out=1)
    return found(
        Part("time of a layer on two racks, over one", (1, math.inf), slow, said="more than 1"),
        Part("scale-up domains that share a layer, DeepSeek's report", 1, report["nodes"]),
        Part("its service of 2025", 1, service["nodes"]),
        slow=slow,
    )


@all_claims.enter("12.16")
def year() -> Found:
    first = 2000 + int(source("revnet").where.removeprefix("arXiv:")[:2])
    return found(
        Part("lecture", 2017, first, "year"),
        Part("article C", (2017, 2018), first, "year"),
        year=str(first),
    )


@all_claims.enter("12.17")
def attributed() -> Found:
    return found()


@all_claims.enter("12.19")
def three_hundred_to_one() -> Found:
    c, width = constant("b200", "fp4"), mixture_results.width("fp4")
    return found(
        Part("B200 in FP4, multiply-adds per parameter", 300, c),
        Part("multiply-adds per byte", 300, c / width),
        Part("FLOPs per byte", 300, 2 * c / width),
    )


@all_claims.enter("12.20")
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


@all_claims.enter("12.21")
def up_to() -> Found:
    past = {row.name: row.per_active / overtraining.PRESCRIBED for row in model_results.placed()}
    names = ("DeepSeek-V3", "Qwen3-235B-A22B", "Llama 4 Scout", "Qwen3-8B", model_results.placed()[-1].name)
    return found(
        Part("as the lecture's numbers give it", (0, 100), trained(served()), said="at most 100"),
        *(Part(name, (0, 100), past[name], said="at most 100") for name in names),
    )


@all_claims.enter("12.22")
def bubbles() -> Found:
    sizes = {"stages": 4, "micro_batches": 4}
    return found(bubble=pipe.bubble(**sizes), used=pipe.utilisation(**sizes))


@all_claims.enter("12.23")
def hop() -> Found:
    return found(least=pipelining.hop_time())
