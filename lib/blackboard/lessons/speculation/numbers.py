"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from typing import Any

from blackboard.catalogue import chip, measurement, model
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.catalogue.running_case import RUNNING, Case
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pricing.equations import memory_ratio_of
from blackboard.lessons.speculation import equations as eq
from blackboard.lessons.speculation import simulation
from blackboard.text import merge
from blackboard.units import pretty, significant

EXAMPLE: dict[str, Any] = {
    "acceptance": 0.8,
    "drafted": 4,
    "draft_ratio": 0.05,
}  # four in five, four guesses, a draft of a twentieth
ONE = {"drafted": 1}
TRAINING = 0.25 / 10  # of SPIRe's draft over serving without one, in the paper's units
EAGLE = Case("llama-3.1-8b", "h100-8", "bf16", 500)  # SGLang's rows: one of its eight H100
LLAMA = Case("llama-3.1-70b", "h100-8", "bf16", 8_000)  # attention with few heads' keys and values to each
COSTS = (1, 5, 10)  # of a guess, in hundredths of a plain step
ROWS = (1000, 4000, 16000)  # sequences, of the worked example


def one_in(case: Case) -> dict[str, float]:
    """A case's symbols with a single chip of its system."""
    known = case.symbols()
    return known | {name: known[name] / known["chips"] for name in ("flops", "bandwidth", "hbm")} | {"chips": 1.0}


def attention(id: str) -> float:
    """FLOPs with which a model attends to one more token of a long context."""
    return model(id).attention_flop(100_001) - model(id).attention_flop(100_000)


def attended(case: Case, slower: float = 1) -> dict[str, float]:
    """A case's symbols with attention's FLOPs counted as active parameters, `slower` times slower than the weights'."""
    known = case.symbols()
    return known | {"n_active": known["n_active"] + slower * attention(case.model) * case.context / 2}


RACK = attended(RUNNING)


def loads_all() -> str:
    """The fewest users of whom a check loads at most 2% more than a plain step, so nearly all experts."""
    more = lambda batch: eq.touched_ratio(RUNNING, batch=batch, drafted=EXAMPLE["drafted"])
    return significant(next(batch for batch in range(1, 1000) if more(batch) <= 1.02), 2)


def in_turns(batch: float, slower: float = 1) -> float:
    """The speed-up of four guesses if attention and the rest of a layer take turns, so that each waits for its own
    loading or its own compute; attention's compute `slower` times slower.
    """
    known, tokens = RUNNING.symbols(), EXAMPLE["drafted"] + 1
    loads = step.weight_time(known), step.kv_time(known, batch=batch)
    computes = (
        step.compute_time(known, batch=batch),
        slower * batch * attention(RUNNING.model) * RUNNING.context / known["flops"],
    )
    plain, check = (sum(max(load, times * each) for load, each in zip(loads, computes)) for times in (1, tokens))
    drafting = EXAMPLE["drafted"] * EXAMPLE["draft_ratio"]
    return eq.tokens_per_round(EXAMPLE) / (check / plain + drafting)


def taking_turns() -> dict[str, str]:
    """The same at the worked example's first batch, and the gain if BF16's attention overlaps with the rest."""
    overlapping = memory_ratio_of(attended(RUNNING, 2), batch=1_000)
    return {
        "gain_bf16": f"{eq.speedup(EXAMPLE, memory_ratio=overlapping):.1f}",
        "turns_gain_fp8": f"{in_turns(1_000):.1f}",
        "turns_gain_bf16": f"{in_turns(1_000, 2):.1f}",
    }


def slower_attention() -> dict[str, str]:
    """The last batch at which four guesses pay if attention computes in BF16."""
    return {"even_4_bf16": significant(eq.batch_even(attended(RUNNING, 2), ratio_even=eq.ratio_even(EXAMPLE)), 2)}


def by_temperature() -> dict[str, str]:
    """How often the guesses of the first paper's smallest draft were accepted in translating, by temperature."""
    row = lambda temperature: measurement("leviathan_table2").records(
        task="EnDe", draft="T5-small", temperature=temperature
    )[0]
    return {name: f"{row(heat)['alpha']:g}" for name, heat in (("acc_greedy", 0), ("acc_sampled", 1))}


def counted(parameters: float, digits: int) -> str:
    """So many, in words and without the unit."""
    return pretty(parameters, "parameter", digits).split(" par")[0]


def rounds() -> dict[str, str]:
    """Tokens of a round, its parts, and the batches beyond which it is a loss."""
    return {
        "even_4": significant(eq.batch_even(RACK, ratio_even=eq.ratio_even(EXAMPLE)), 2),
        "tau_4": significant(eq.tokens_per_round(EXAMPLE), 3),
        "attend_one": pretty(attention(RUNNING.model), "FLOP", 4),
        "attend_all": counted(RACK["n_active"] - model(RUNNING.model).n_active, 2),
        "active": counted(model(RUNNING.model).n_active, 3),
        "critical": significant(step.critical_batch(RACK), 3),
        "load_weights": pretty(RACK["n_total"] * RACK["bytes_per_param"] / RACK["bandwidth"], "s", 4),
        "one_token": pretty(step.compute_time(RACK, batch=1), "s", 3),
        "load_cache": pretty(step.kv_time(RACK, batch=1), "s", 3),
        "ratio_even": significant(eq.ratio_even(EXAMPLE), 4),
        "context_part": significant(RUNNING.context / step.balanced_context(RACK), 3),
        "even_1": significant(eq.batch_even(RACK, ratio_even=eq.ratio_even(EXAMPLE | ONE)), 2),
        "one_4000": significant(eq.speedup(EXAMPLE | ONE, memory_ratio=memory_ratio_of(RACK, batch=4000)), 2),
        "draft_share": f"{simulation.drafting('EAGLE-3'):.1%}",
    }


def long_contexts() -> dict[str, str]:
    """Loading over attending to a token of context, and what that leaves to guesses on a full server."""
    ratio = {
        case: case.symbols()["kv_bytes_per_token"] / case.symbols()["bandwidth"] / case.attention_time()
        for case in (LLAMA, RUNNING)
    }
    heads = {"attention_flop": attention(LLAMA.model)}
    kept = lambda case: pretty(case.symbols()["kv_bytes_per_token"], "byte", 3)
    return {
        "ratio_llama": significant(ratio[LLAMA], 2),
        "ratio_v3": significant(ratio[RUNNING], 2),
        "kv_llama": kept(LLAMA),
        "kv_v3": kept(RUNNING),
        "attend_llama": pretty(heads["attention_flop"], "FLOP", 3),
        "free_llama": significant(eq.context_free(LLAMA, heads, drafted=4), 2),
        "long_most": significant(eq.speedup(EXAMPLE, memory_ratio=ratio[RUNNING]), 2),
    }


def gains() -> dict[str, str]:
    """What four guesses gain where checking is free, and for other drafts the best number of guesses and its gain."""
    best = {(tenths, cost): simulation.best_drafted(tenths / 10, cost / 100) for tenths in (4, 6, 8) for cost in COSTS}
    return {"gain_4": significant(eq.speedup_free(**EXAMPLE), 2)} | {
        f"draft_{tenths}_{cost}": f"{found.drafted} guesses, {significant(found.speedup, 2)} times"
        for (tenths, cost), found in best.items()
    }


def by_hand() -> dict[str, str]:
    """The worked example: three batches, in milliseconds."""
    known = RACK
    weights, cache = known["n_total"] * known["bytes_per_param"], known["context"] * known["kv_bytes_per_token"]
    rates = {"hand_bandwidth": pretty(known["bandwidth"], "byte/s"), "hand_flops": pretty(known["flops"], "FLOP/s")}
    sizes = {"hand_weights": pretty(weights, "byte", 3), "hand_cache": pretty(cache, "byte", 3)}
    return sizes | rates | {name: value for batch in ROWS for name, value in one_column(batch).items()}


def one_column(batch: int) -> dict[str, str]:
    """The worked example's times at one batch, and what the round gains."""
    plain, ratio = step.step_time(RACK, batch=batch), memory_ratio_of(RACK, batch=batch)
    times = {"plain": plain, "check": eq.verify_time(RACK, batch=batch, drafted=EXAMPLE["drafted"])}
    gained = {f"gain_{batch}": f"{eq.speedup(EXAMPLE, memory_ratio=ratio):.2f}"}
    return gained | {f"{name}_{batch}": significant(1e3 * time, 3) for name, time in times.items()}


def steps(row: dict[str, float]) -> str:
    """Time of a round in decode steps that a published row implies."""
    return significant(eq.round_steps(tokens_per_round=row["tokens_per_pass"], spec_speedup=row["speedup"]), 3)


def more_experts(drafted: int) -> float:
    """Seconds in which eight B200 load the experts, in FP4, that so many guesses of a single user add; the scales of
    the weights are left out.
    """
    return (eq.touched_ratio(RUNNING, batch=1, drafted=drafted) - 1) * timed_loading("fp4")


def timed_loading(precision: str) -> float:
    """Seconds in which the eight B200 of NVIDIA's runs load what a single token needs."""
    return model(RUNNING.model).n_active * bytes_per_param(precision) / (8 * chip("b200").bandwidth)


def experts() -> dict[str, str]:
    """What the tokens of a round load in small batches, and what a plain step took at batch 1."""
    touched = lambda batch: eq.touched_ratio(RUNNING, batch=batch, drafted=EXAMPLE["drafted"])
    [plain] = measurement("mtp_by_depth").records(drafted_tokens=0)
    took, adds = 1 / plain["throughput_token_per_s"], more_experts(EXAMPLE["drafted"])
    missed = lambda tokens: (1 - RACK["top_k"] / RACK["experts"]) ** tokens
    return {
        "loads_all": loads_all(),
        "all_loaded": f"{1 - missed(float(loads_all())):.0%}",
        "touched_v3": significant(touched(1), 2),
        "r1_loads": f"{1e3 * timed_loading('fp8'):.1f} ms",
        "check_more": f"{adds / took:.2f}",
        "r1_ms": pretty(took, "s", 1),
    }


def copied() -> dict[str, str]:
    """vLLM's measured factors."""
    fast, slow = (
        measurement("spec_decoding_others").records(method="n-gram", effect=effect)[0]["factor"]
        for effect in ("faster", "slower")
    )
    [small] = measurement("spec_decoding_others").records(method="draft model", effect="faster")
    return {
        "ngram_gain": f"{fast:g}",
        "ngram_loss": f"{slow:g}",
        "small_gain": f"{small['factor']:g}",
    }


def reality() -> dict[str, str]:
    """The rows of papers beside the formula."""
    gain = {
        row["batch"]: row["speedup"]
        for row in measurement("speculation_by_batch").records(engine="SGLang", draft="EAGLE-3")
    }
    alone = one_in(EAGLE)
    return {
        "added_share": f"{simulation.fitted('added'):.2f}",
        "eagle_free": significant(eq.batch_free(alone, drafted=3), 1),
        "eagle_small": f"{gain[2]:g}",
    }


def multi_token() -> dict[str, str]:
    """What a model's own layer for further tokens drafts: its yield by depth, and how often each guess is accepted."""
    rows = [measurement("mtp_by_depth").records(drafted_tokens=n)[0] for n in range(5)]
    yields = [row["tokens_per_pass"] for row in rows]
    far = [after - before for before, after in zip(yields, yields[1:])]  # how often a round gets so far
    longer = [eq.round_steps(tokens_per_round=row["tokens_per_pass"], spec_speedup=row["speedup"]) - 1 for row in rows]
    second = rows[0]["throughput_token_per_s"]  # plain steps of it
    places = [far[0], *(after / before for before, after in zip(far, far[1:]))]
    price = (longer[4] - longer[3]) * rows[3]["speedup"]  # tokens that rounds of three write while a fourth is made
    return {"mtp_first": f"{places[0]:.0%}", "mtp_price_4": significant(price, 2)} | {
        f"mtp_{name}_{n}": value
        for n in (1, 2, 3, 4)
        for name, value in {
            "yield": f"{yields[n]:g}",
            "gain": f"{rows[n]['speedup']:g}",
            "place": significant(places[n - 1], 2),
            "steps": steps(rows[n]),
            "left": f"{(longer[n] - more_experts(n) * second) / n:.2f}",
        }.items()
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    told = merge(rounds(), taking_turns(), slower_attention(), long_contexts(), gains(), by_hand())
    return merge(told, experts(), copied(), reality(), multi_token(), by_temperature())
