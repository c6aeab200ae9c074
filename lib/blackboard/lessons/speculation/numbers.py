"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from statistics import median
from typing import Any

from blackboard.catalogue import measurement, model
from blackboard.catalogue.running_case import RUNNING, Case
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pricing.equations import memory_ratio_of
from blackboard.lessons.speculation import distributions, simulation
from blackboard.lessons.speculation import equations as eq
from blackboard.units import pretty, significant

EXAMPLE: dict[str, Any] = {
    "acceptance": 0.8,
    "drafted": 4,
    "draft_ratio": 0.05,
}  # four in five, four guesses, a draft of a twentieth
TRAINING = 0.25 / 10  # of SPIRe's draft over serving without one, in the paper's units
PREFIX, LENGTH, SAMPLES = "shall I", 2, 6_000  # of the test of fit
EAGLE = Case("llama-3.1-8b", "h100-8", "bf16", 500)  # SGLang's rows: one of its eight H100


def one_in(case: Case) -> dict[str, float]:
    """A case's symbols with a single chip of its system."""
    known = case.symbols()
    return known | {name: known[name] / known["chips"] for name in ("flops", "bandwidth", "hbm")} | {"chips": 1.0}


ROWS = (1000, 4000, 8000)  # sequences, of the worked example


def rounds() -> dict[str, str]:
    """Tokens of a round, the batch up to which checking is free and the one beyond which it is a loss, by guesses."""
    tau = lambda n: significant(eq.tokens_per_round(EXAMPLE, drafted=n), 3)
    free = lambda n: significant(eq.batch_free(RUNNING, drafted=n), 2)
    even = lambda n: significant(eq.batch_even(RUNNING, ratio_even=eq.ratio_even(EXAMPLE, drafted=n)), 2)
    return {
        **{f"tau_{n}": tau(n) for n in (1, 2, 4, 7)},
        **{f"free_{n}": free(n) for n in (1, 2, 4, 7)},
        **{f"even_{n}": even(n) for n in (1, 2, 7)},
        "batch_even": even(4),
        "critical": significant(eq.batch_free(RUNNING, drafted=0, context=0), 3),
        "context_part": f"{1000 / eq.context_free(RUNNING, drafted=0):.3f}",
        "kink": significant(step.crossing(RUNNING), 2),
        "context_4": significant(eq.context_free(RUNNING, drafted=4), 2),
    }


def gains() -> dict[str, str]:
    """Best numbers of guesses, and what is left on a busy server."""
    best = {a: simulation.best_drafted(a, EXAMPLE["draft_ratio"]).drafted for a in (0.8, 0.6)}
    busy = eq.speedup_busy(**EXAMPLE)
    return {
        "best_08": f"{best[0.8]}",
        "best_gain_08": significant(eq.speedup_free(EXAMPLE, drafted=best[0.8]), 2),
        "best_06": f"{best[0.6]}",
        "gain_4": significant(eq.speedup_free(**EXAMPLE), 2),
        "busy_4": significant(busy, 2),
        "slower_4": f"{significant(1 / busy, 2)} times",
        "ratio_even": significant(eq.ratio_even(**EXAMPLE), 3),
    }


def by_hand() -> dict[str, str]:
    """The worked example: three batches, in milliseconds."""
    known = RUNNING.symbols()
    weights, cache = known["n_total"] * known["bytes_per_param"], known["context"] * known["kv_bytes_per_token"]
    rates = {"hand_bandwidth": pretty(known["bandwidth"], "byte/s"), "hand_flops": pretty(known["flops"], "FLOP/s")}
    sizes = {"hand_weights": pretty(weights, "byte"), "hand_cache": pretty(cache, "byte")}
    return sizes | rates | {name: value for batch in ROWS for name, value in one_column(batch).items()}


def one_column(batch: int) -> dict[str, str]:
    """The worked example's times at one batch, and what the round gains."""
    plain, ratio = step.step_time(RUNNING, batch=batch), memory_ratio_of(RUNNING, batch=batch)
    verify = eq.verify_time(RUNNING, batch=batch, drafted=EXAMPLE["drafted"])
    drafts = EXAMPLE["drafted"] * EXAMPLE["draft_ratio"] * plain
    times = {
        "memory": step.memory_time(RUNNING, batch=batch),
        "compute": step.compute_time(RUNNING, batch=batch),
        "five": eq.verify_compute(RUNNING, batch=batch, drafted=EXAMPLE["drafted"]),
        "verify": verify,
        "draft": drafts,
        "round": drafts + verify,
    }
    gain = {f"gain_{batch}": f"{eq.speedup(EXAMPLE, memory_ratio=ratio):.2f}"}
    return gain | {f"{name}_{batch}": f"{1e3 * time:.2f}" for name, time in times.items()}


def steps(row: dict[str, float], digits: int = 3) -> str:
    """Time of a round in decode steps that a published row implies."""
    return significant(eq.round_steps(tokens_per_round=row["tokens_per_pass"], spec_speedup=row["speedup"]), digits)


def experts() -> dict[str, str]:
    """What the tokens of a round touch at batch 1."""
    touched = lambda id, drafted: significant(eq.touched_ratio(model(id).symbols("fp8"), batch=1, drafted=drafted), 2)
    [mixtral] = measurement("eagle_acceptance").records(target="Mixtral 8x7B")
    plain, three = (measurement("mtp_by_depth").records(drafted_tokens=n)[0] for n in (0, 3))
    dense = [
        row["speedup"] / row["tokens_per_pass"] for row in measurement("eagle_acceptance").records() if row != mixtral
    ]
    return {
        "touched_v3": touched("deepseek-v3", 4),
        "touched_mixtral": touched("mixtral-8x7b", 4),
        "touched_v3_3": touched("deepseek-v3", 3),
        "touched_mixtral_3": touched("mixtral-8x7b", 3),
        "r1_steps": steps(three),
        "r1_gain": f"{three['speedup']:g}",
        "r1_ms": pretty(1 / plain["throughput_token_per_s"], "s", 1),
        "mixtral_tau": f"{mixtral['tokens_per_pass']:g}",
        "mixtral_gain": f"{mixtral['speedup']:g}",
        "dense_gap": f"{1 - min(dense):.0%}",
        "mixtral_steps": steps(mixtral, 2),
    }


def two_point_eight() -> dict[str, str]:
    """SPIRe's modelled factor, and vLLM's measured one."""
    rows = {row["draft"]: row for row in measurement("spire_multipliers").records()}
    spire, magic, plain = rows["SPIRe"], rows["MagicDec"], rows["small draft"]
    fast, slow = (
        measurement("spec_decoding_others").records(method="n-gram", effect=effect)[0]["factor"]
        for effect in ("faster", "slower")
    )
    return {
        "spire_steps": steps(spire),
        "spire_tau": f"{spire['tokens_per_pass']:g}",
        "spire_gain": f"{spire['speedup']:g}",
        "magic_steps": steps(magic),
        "magic_tau": f"{magic['tokens_per_pass']:g}",
        "magic_gain": f"{magic['speedup']:g}",
        "plain_tau": f"{plain['tokens_per_pass']:g}",
        "plain_gain": f"{plain['speedup']:g}",
        "plain_steps": steps(plain),
        "spire_training": f"{TRAINING:.1%}",
        "spire_saving": f"{eq.saving(spec_speedup=spire['speedup'], draft_training=TRAINING):.1%}",
        "magic_saving": f"{eq.saving(spec_speedup=magic['speedup'], draft_training=0):.1%}",
        "ngram_gain": f"{fast:g}",
        "ngram_loss": f"{slow:g}",
        "ngram_product": significant(fast * slow, 2),
        "ngram_five": significant(6 / fast, 2),
    }


def reality() -> dict[str, str]:
    """The rows of papers beside the formula."""
    rows = simulation.leviathan()
    ratio, over = [row.measured / row.predicted for row in rows], sum(row.measured > row.tokens for row in rows)
    gain = {
        row["batch"]: row["speedup"]
        for row in measurement("speculation_by_batch").records(engine="SGLang", draft="EAGLE-3")
    }
    asked = simulation.tested("added", simulation.lengths(spread=True))[0]
    wrong = [row.predicted / row.measured - 1 for row in simulation.longer()]
    free = eq.batch_free(one_in(EAGLE), drafted=3)
    first, *others = simulation.tested("added")
    ideal = simulation.predicted("slower", 1, first.rows, "H100")
    return {
        "ideal_off": f"{ideal.error:.0%}",
        "added_share": significant(simulation.fitted("added"), 2),
        "added_off": f"{first.error:.0%}",
        "added_worst": f"{max((curve.worst for curve in others), key=abs):.0%}",
        "asked_off": f"{asked.error:.0%}",
        "added_least": f"{min(curve.error for curve in others):.0%}",
        "added_most": f"{max(curve.error for curve in others):.0%}",
        "products_32": significant(simulation.products(32, 3), 3),
        "products_64": significant(simulation.products(64, 3), 3),
        "lev_least": significant(min(ratio), 2),
        "lev_most": significant(max(ratio), 2),
        "lev_median": f"{median(abs(r - 1) for r in ratio):.0%}",
        "lev_over": f"{over}",
        "lev_near": f"{sum(abs(each - 1) <= 0.2 for each in ratio)}",
        "eagle_free": significant(free, 2),
        "eagle_small": f"{gain[2]:g}",
        "eagle_large": f"{gain[64]:g}",
        "peagle_least": f"{-min(wrong):.0%}",
        "peagle_most": f"{max(wrong):.0%}",
    }


def multi_token() -> dict[str, str]:
    """What a model's own layer for further tokens drafts: its yield by depth, and how often each place passes."""
    yields = [measurement("mtp_by_depth").records(drafted_tokens=n)[0]["tokens_per_pass"] for n in range(4)]
    far = [after - before for before, after in zip(yields, yields[1:])]  # how often a round gets so far
    places = [far[0], *(after / before for before, after in zip(far, far[1:]))]
    [v3] = measurement("deepseek_v3_mtp").records()
    return {
        **{f"mtp_yield_{n}": f"{tokens:g}" for n, tokens in enumerate(yields) if n},
        **{f"mtp_place_{n + 1}": significant(chance, 2) for n, chance in enumerate(places)},
        "mtp_low": f"{v3['acceptance_low']:.0%}",
        "mtp_high": f"{v3['acceptance_high']:.0%}",
        "mtp_tau_low": significant(eq.tokens_per_round(acceptance=v3["acceptance_low"], drafted=1), 3),
        "mtp_tau_high": significant(eq.tokens_per_round(acceptance=v3["acceptance_high"], drafted=1), 3),
        "mtp_gain": f"{v3['speedup']:g}",
    }


def experiment() -> dict[str, str]:
    """The algorithm between two models of characters."""
    draft, target = distributions.ngrams(2), distributions.ngrams(4)
    alone = distributions.plain(target, PREFIX, LENGTH)
    rules = [
        distributions.outcome(draft, target, PREFIX, LENGTH, EXAMPLE["drafted"], rule)
        for rule in distributions.WRONG.values()
    ]
    found = simulation.written()
    first = found.by_place[0]
    return {
        "samples": f"{SAMPLES:,}",
        "power": f"{min(0.999, *(distributions.power(wrong, alone, SAMPLES) for wrong in rules)):.1%}",
        "gram_first": significant(first, 2),
        "gram_later": significant(sum(found.by_place[1:]) / len(found.by_place[1:]), 2),
        "gram_drafted": f"{len(found.by_place)}",
        "gram_formula": significant(eq.tokens_per_round(acceptance=first, drafted=len(found.by_place)), 3),
        "gram_played": significant(found.tokens_per_round, 3),
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    return rounds() | gains() | by_hand() | experts() | two_point_eight() | reality() | multi_token() | experiment()
