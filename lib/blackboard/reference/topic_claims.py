"""What article A and documents of serving say beyond the lecture: speculative decoding, paged attention, caches.

Each function computes the numbers of a claim of claims.yaml with the lessons' own formulas and inputs.
"""

from __future__ import annotations

import blackboard.reference.repeated_claims  # noqa: F401  (it enters its claims before these)
from blackboard.catalogue import chip, measurement, model, price
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.corpus import numbers as corpus
from blackboard.lessons.overheads import equations as overheads
from blackboard.lessons.overtraining import equations as over
from blackboard.lessons.overtraining import results as model_results
from blackboard.lessons.paging import equations as paging
from blackboard.lessons.paging import numbers as paged
from blackboard.lessons.paging import simulation
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.racks import numbers as racked
from blackboard.lessons.racks import results as rack_results
from blackboard.lessons.sparsity import equations as sparse
from blackboard.lessons.speculation import equations as spec
from blackboard.lessons.speculation import numbers as speculated
from blackboard.reference.claim_list import Found, Part, found
from blackboard.reference.lecture_claims import all_claims

BLOG = {"transformers": 24, "tgi": 3.5}  # times the throughput, vLLM's blog of June 2023
# OPT-13B on an A100; it cancels from ratios
ROOM = {"hbm": 40e9, "n_total": 13e9, "bytes_per_param": 2, "context": 500, "kv_bytes_per_token": 819_200}
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


@all_claims.enter("T1")
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


@all_claims.enter("T2")
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


@all_claims.enter("T3")
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


@all_claims.enter("T4")
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


@all_claims.enter("T5")
def two_to_four() -> Found:
    [row], said = measurement("vllm_paging").records(), (2, 4)
    names = {
        "Orca (Max)": "longest output reserved",
        "Orca (Pow2)": "next power of two",
        "Orca (Oracle)": "just enough",
    }
    return found(
        Part("measured, least", said, row["low_gain"]),
        Part("measured, most", said, row["high_gain"]),
        *(
            Part(f"on the lesson's roofline, over Orca, {name}", said, paged.gain(system))
            for system, name in names.items()
        ),
        high=row["high_overhead"],
        few=paged.gain("Orca (Oracle)"),
        most=paged.gain("Orca (Max)"),
    )


@all_claims.enter("T6")
def four_percent() -> Found:
    most = (0, 0.04)
    return found(
        Part("measured", most, 1 - used("vLLM"), "%", said="at most 4%"),
        Part(
            f"ShareGPT in blocks of 16 by the formula, {simulation.held():.0f} tokens on average",
            most,
            1 - paging.use_paged(context=simulation.held(), page_tokens=paged.BLOCK),
            "%",
            said="at most 4%",
        ),
    )


@all_claims.enter("T7")
def cheaper() -> Found:
    return found()


@all_claims.enter("T8")
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


@all_claims.enter("T9")
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


@all_claims.enter("T10")
def mixed() -> Found:
    uniform = EXAMPLE_HYBRID | {"full_groups": 3, "window_groups": 0}
    return found(Part("blocks", 11, paging.hybrid_blocks(EXAMPLE_HYBRID)), uniform=paging.hybrid_blocks(uniform))


def overlap(batch: float) -> float:
    """Gain of overlapping two halves of a batch on the running rack: computing, and sending without latency."""
    here = racked.FP8_OUT | {
        "layers": rack_results.moe_layers(),
        "micro_batches": 1,
        "tokens_per_chip": batch / RUNNING.symbols()["chips"],
    }
    return overheads.overlap_gain(RUNNING, batch=batch, t_comm=racks.comm_time(RUNNING, **here))


@all_claims.enter("T11")
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


@all_claims.enter("T12")
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


@all_claims.enter("T13")
def llammlein() -> Found:
    past = lambda run: over.overtraining(model_results.BOARD, n_active=run["n_active"], pretrain_tokens=run["tokens"])
    return found(
        *(Part(f"over-training of {name}", (0, 1), past(corpus.run(name)), said="little data") for name in corpus.NETS)
    )


@all_claims.enter("T14")
def tuned() -> Found:
    return found()


@all_claims.enter("T15")
def ranking() -> Found:
    asked = lambda name: price(RANKED[name]).usd_per_Mtok.input
    cheaper, dearer = (0, 1), (1, float("inf"))
    return found(
        Part("input price, DeepSeek-V4-Pro to GPT-4o", cheaper, asked("DeepSeek") / asked("GPT-4o"), said="below 1"),
        Part("input price, Mistral Medium 3.5 to GPT-4o", dearer, asked("Mistral") / asked("GPT-4o"), said="above 1"),
    )


@all_claims.enter("T16")
def drafted() -> Found:
    yields = lambda draft: measurement("p_eagle_acceptance").records(draft=draft, task="HumanEval", drafted_tokens=7)[
        0
    ]["tokens_per_pass"]
    return found(at_once=yields("P-EAGLE"), one_by_one=yields("EAGLE-3"))


@all_claims.enter("T17")
def tokenizers() -> Found:
    best = min(measurement("llammlein_tokenizer").records(), key=lambda row: row["fitted_GB"])
    return found(least=best["fitted_GB"] * 1e9, fertility=best["head_fertility"])


@all_claims.enter("T18")
def padding() -> Found:
    return found(idle=1 - paging.use_reserved(context=talk(), reserved_context=simulation.LONGEST))
