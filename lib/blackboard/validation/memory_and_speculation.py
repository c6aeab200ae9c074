"""What saves memory and steps, against what was published: reversible layers, state and activations, drafted tokens,
paging, prefix caches.
"""

from __future__ import annotations

from functools import cache
from statistics import geometric_mean
from typing import Any

from blackboard.catalogue import measurement
from blackboard.lessons.paging import simulation as paging
from blackboard.lessons.paging.equations import batch_held, hit_rate_turns
from blackboard.lessons.pipelining.equations import chip_weights
from blackboard.lessons.pipelining.numbers import compared
from blackboard.lessons.pipelining.simulation import Comparison
from blackboard.lessons.reversibility import equations as kept
from blackboard.lessons.reversibility.numbers import times
from blackboard.lessons.speculation import equations as spec
from blackboard.lessons.speculation import simulation as rounds
from blackboard.prediction.least_squares import Constant
from blackboard.prediction.rows import BOUND, CALIBRATED, Row, bound_and_calibrated, formula_names
from blackboard.units import factor

DATA = (
    "zero_bubble_pipeline",
    "memcnn_revnet",
    "memcnn_revnet_training",
    "revnet_paper",
    "leviathan_table2",
    "speculation_by_batch",
    "p_eagle_acceptance",
    "mtp_by_depth",
    "eagle_acceptance",
    "ngram_by_batch",
    "sglang_mtp",
    "deepseek_v3_mtp",
    "deepseek_isca25_mtp",
    "vllm_batched_requests",
    "vllm_kv_use",
    "prefix_cache_hit_rates",
    "prefix_cache_gains",
)
GIGA = factor("GB")

# --- memory of training -----------------------------------------------------------------------------------------------


def params(row: Comparison) -> float:
    """Of a stage: the model's name is its number of parameters."""
    return chip_weights(
        n_total=float(row.model.removesuffix("B")) * 1e9, bytes_per_param=1, expert_parallel=1, stages=row.devices
    )


def state_rows() -> list[Row]:
    """Memory of the fullest device: simulated activations, and so many bytes for each parameter."""
    rows, each = [], constants()["state of a parameter"].value
    for row in compared():
        head = (
            "zero_bubble_pipeline",
            f"{row.model}, {row.schedule}, {row.micro_batches} micro-batches",
            "GB",
            row.measured_memory / GIGA,
        )
        held = row.activations / GIGA
        more: dict[str, Any] = {
            "why": "activations simulated",
            "part": "memory",
            "formulas": formula_names(chip_weights),
        }
        rows += bound_and_calibrated(*head, held, held + each * params(row) / GIGA, row.model == "6.2B", **more)
    return rows


def revnet_rows() -> list[Row]:
    """Memory of reversible networks, which depth leaves alone, and of ordinary ones, in proportion to it."""
    table = {row["model"]: row for row in measurement("memcnn_revnet").records()}
    layer = table["resnet-32"]["memory_MB"] / table["resnet-32"]["depth"]
    ordinary = lambda name: kept.stored(depth=table[name]["depth"], layer_bytes=layer)
    deeper = "as much as the network of 38 layers: depth drops out"
    larger = "weights, the library's workspace and the context of the GPU do not grow with depth"
    reversible, proportional = ("reversible", kept.reversible), ("ordinary, in proportion to depth", kept.stored)
    found = (
        ("revnet-38", table["revnet-38"]["memory_MB"], "", *reversible),
        ("revnet-110", table["revnet-38"]["memory_MB"], deeper, *reversible),
        ("resnet-32", ordinary("resnet-32"), "", *proportional),
        ("resnet-110", ordinary("resnet-110"), larger, *proportional),
    )
    return [
        Row(
            CALIBRATED,
            "memcnn_revnet",
            name,
            "MB",
            table[name]["memory_MB"],
            computed,
            part=part,
            fitted=not why,
            why=why,
            formulas=formula_names(formula),
        )
        for name, computed, why, part, formula in found
    ]


def again_rows() -> list[Row]:
    """Time of training reversible networks over that of ordinary ones, from the extra forward pass alone."""
    said, ratio = formula_names(kept.work_ratio), kept.work_ratio(recomputed=1)
    [paper] = measurement("revnet_paper").records()
    why = (
        "a second forward pass, nothing fitted: small networks on CIFAR wait for more than multipliers, and a pair is"
        " not of equal depth and width"
    )
    rows = [
        Row(
            CALIBRATED,
            "memcnn_revnet_training",
            f"{pair}, CIFAR-{classes}, {framework}",
            "1",
            value,
            ratio,
            part=framework,
            why=why,
            formulas=said,
        )
        for pair, framework, values in times()
        for classes, value in zip((10, 100), values)
    ]
    for end in ("low", "high"):
        head = ("revnet_paper", f"{end} slowdown", "1", paper[f"{end}_slowdown"])
        rows += bound_and_calibrated(
            *head, ratio, ratio, why="the second forward pass alone, nothing fitted", part="slowdown", formulas=said
        )
    return rows


# --- drafted tokens ---------------------------------------------------------------------------------------------------


def leviathan_rows() -> list[Row]:
    """The paper's table: at most as many times as fast as tokens of a round, and the formula with the paper's own
    three numbers.
    """
    rows = []
    for each in rounds.leviathan():
        head, part = ("leviathan_table2", each.name, "1", each.measured), each.name.split(", ")[1]
        needed = rounds.acceptance_from(each.measured, each.drafted)
        short = needed > each.acceptance
        why = (
            f"printed is an acceptance of {each.acceptance:g}, an estimate; the gain takes {needed:.3f} or more"
            if short
            else ""
        )
        rows.append(Row(BOUND, *head, each.tokens, rate=True, why=why, formulas=formula_names(spec.tokens_per_round)))
        more: dict[str, Any] = {
            "part": part,
            "ideal": each.tokens,
            "why": "nothing fitted",
            "formulas": formula_names(spec.speedup_free),
        }
        rows.append(Row(CALIBRATED, *head, each.predicted, rate=True, **more))
    return rows


def batch_rows() -> list[Row]:
    """Gains by batch: one share of the multipliers, fitted on EAGLE-3 in SGLang; each curve meets its own first row,
    which is left out.
    """
    rows = []
    for place, curve in enumerate(rounds.tested("added")):
        ideal = rounds.predicted("slower", 1, curve.rows, curve.gpu)
        part = f"{curve.rows.engine}, {curve.rows.draft}, {curve.gpu}"
        why, said = "the tokens of a round are those that meet the first row", formula_names(spec.speedup_added)
        more: dict[str, Any] = {"rate": True, "part": part, "fitted": not place, "why": why, "formulas": said}
        for batch, true, value, best in list(zip(curve.rows.batches, curve.rows.measured, curve.values, ideal.values))[
            1:
        ]:
            rows.append(
                Row(CALIBRATED, "speculation_by_batch", f"{part}, batch {batch}", "1", true, value, ideal=best, **more)
            )
    return rows


def length_rows() -> list[Row]:
    """Tokens of a round of more drafted tokens, from the acceptance of a round of fewer."""
    why = "one acceptance for all places; a token after more guesses passes less often"
    more: dict[str, Any] = {"rate": True, "why": why, "formulas": formula_names(spec.tokens_per_round)}
    rows = [
        Row(
            CALIBRATED,
            "p_eagle_acceptance",
            f"{each.task}, 7 drafted",
            "token",
            each.measured,
            each.predicted,
            part=each.draft,
            **more,
        )
        for each in rounds.longer()
    ]
    table = measurement("mtp_by_depth").records()[1:]
    chance = rounds.acceptance_from(table[0]["tokens_per_pass"], table[0]["drafted_tokens"])
    for row in table:
        tokens, part = (
            spec.tokens_per_round(acceptance=chance, drafted=row["drafted_tokens"]),
            "one layer used again and again",
        )
        head = ("mtp_by_depth", f"{row['drafted_tokens']} drafted", "token", row["tokens_per_pass"])
        rows.append(Row(CALIBRATED, *head, tokens, part=part, fitted=row is table[0], **more))
    return rows


def gain_rows() -> list[Row]:
    """No gain is larger than the tokens of a pass."""
    found = []
    for id, what in (
        ("mtp_by_depth", "{drafted_tokens} drafted"),
        ("eagle_acceptance", "{target}, {task}"),
        ("ngram_by_batch", "batch {batch}"),
    ):
        drafts = [row for row in measurement(id).records() if row.get("drafted_tokens", 1)]
        found += [(id, what.format(**row), row["speedup"], row["tokens_per_pass"]) for row in drafts]
    plain, _, *drafted = measurement("sglang_mtp").records()
    rate = "throughput_token_per_GPU_per_s"
    found += [("sglang_mtp", row["setting"], row[rate] / plain[rate], row["tokens_per_pass"]) for row in drafted]
    for id in ("deepseek_v3_mtp", "deepseek_isca25_mtp"):
        [row] = measurement(id).records()
        found.append(
            (id, "one drafted", row["speedup"], spec.tokens_per_round(acceptance=row["acceptance_high"], drafted=1))
        )
    return [
        Row(BOUND, data, what, "1", gain, tokens, rate=True, why=uncounted(data, gain, tokens))
        for data, what, gain, tokens in found
    ]


def uncounted(data: str, gain: float, tokens: float) -> str:
    """Why a gain passes the tokens of a pass, of rows where that is known."""
    if data != "ngram_by_batch" or gain <= tokens:
        return ""
    return f"the tokens of a pass seem to leave out the one that the target adds: with it they would be {tokens + 1:g}"


# --- paging -----------------------------------------------------------------------------------------------------------


def paging_rows() -> list[Row]:
    """Batches and memory that hold tokens, for OPT-13B on one A100: served step by step, requests always waiting.

    The spread of answers comes from what Orca sets aside for ShareGPT: those three batches are no test.
    """
    rows = []
    policies = {name: policy for policy, name in paging.AS_PUBLISHED.items()}
    for row in measurement("vllm_batched_requests").records():
        requests, system = row["requests"], row["system"]
        prompt, answer = paging.lengths(requests)
        most = batch_held(
            paging.opt13b(), kv_use=1, context=prompt + answer / 2
        )  # if all answers were as long: the most there can be
        head = ("vllm_batched_requests", f"{requests}, {system}", "sequence", row["batch"])
        rows.append(Row(BOUND, *head, most, rate=True, part=requests, formulas=formula_names(batch_held)))
        if waits(requests, system):
            more: dict[str, Any] = {
                "fitted": requests == "ShareGPT" and system != "vLLM",
                "ideal": most,
                "why": "simulated",
            }
            rows.append(
                Row(CALIBRATED, *head, paging.full(policies[system], requests).batch, rate=True, part=requests, **more)
            )
    for row in measurement("vllm_kv_use").records(use="tokens"):
        served = paging.full(policies[row["system"]], "ShareGPT")
        rows.append(
            Row(
                CALIBRATED,
                "vllm_kv_use",
                row["system"],
                "1",
                row["share"],
                served.tokens,
                rate=True,
                part="tokens",
                why="simulated",
            )
        )
    return rows


def waits(requests: str, system: str) -> bool:
    """Whether requests wait for memory, as the simulation takes it: at 30 short requests a second vLLM has room
    left.
    """
    return requests == "ShareGPT" or system != "vLLM"


# --- prefixes ---------------------------------------------------------------------------------------------------------


ALL, LOCAL, SHARED = (
    "Codex on SWE-bench Pro, what the traces allow",
    "the same, Kimi K2.5, local caches",
    "the same, Kimi K2.5, shared store",
)


def prefix_rows() -> list[Row]:
    """Hits of a coding agent from the growth of its context, and gains against the tokens that are still computed."""
    rates = {row["workload"]: row["hit_rate"] for row in measurement("prefix_cache_hit_rates").records()}
    return [*_hit_rows(rates), *_gain_rows(rates)]


def _hit_rows(rates: dict[str, float]) -> list[Row]:
    turns, start, growth = paging.agent()
    most = hit_rate_turns(turns=turns, start_context=start, turn_growth=growth)
    more: dict[str, Any] = {"rate": True, "formulas": formula_names(hit_rate_turns)}
    rows = [
        Row(BOUND, "prefix_cache_hit_rates", name, "1", rates[name], most, part="Codex", **more)
        for name in (ALL, LOCAL, SHARED)
    ]
    more |= {"ideal": most, "why": "medians of the traces taken for every trace, nothing fitted"}
    head = ("prefix_cache_hit_rates", ALL, "1", rates[ALL], most)
    return [*rows, Row(CALIBRATED, *head, part="what the traces allow", **more)]


def _gain_rows(rates: dict[str, float]) -> list[Row]:
    """Each gain against the tokens computed before over those computed after."""
    arena = rates["Chatbot Arena, Vicuna-33B, a month"]
    fewer = {"vLLM": (1 - rates[LOCAL]) / (1 - rates[SHARED]), "SGLang": 1 / (1 - arena)}
    queued = "a first token waits in a queue too, and a server with fewer tokens to compute has next to none"
    return [
        Row(
            BOUND,
            "prefix_cache_gains",
            f"{row['who']}, {row['what']}",
            "1",
            row["ratio"],
            fewer[row["who"]],
            rate=True,
            why=queued if "median time to first token" in row["what"] else "",
        )
        for row in measurement("prefix_cache_gains").records()
        if row["ratio"] > 1
    ]


@cache
def constants() -> dict[str, Constant]:
    """What is fitted here, by name; the share of the multipliers under speculation is the lesson's own fit."""
    medium = [row for row in compared() if row.model == "6.2B"]
    state = geometric_mean((row.measured_memory - row.activations) / params(row) for row in medium)
    return {
        "state of a parameter": Constant(
            "bytes_per_param", state, "byte/parameter", "zero_bubble_pipeline", "model of 6.2 billion"
        ),
        "multipliers under speculation": Constant(
            "compute_efficiency", rounds.fitted("added"), "1", "speculation_by_batch", "SGLang, EAGLE-3"
        ),
        "spread of answers": Constant(
            "spread", paging.spread(), "1", "vllm_batched_requests", "ShareGPT, Orca, and the shares it reserves"
        ),
    }


@cache
def rows() -> list[Row]:
    """All rows of savings."""
    parts = (
        state_rows(),
        revnet_rows(),
        again_rows(),
        leviathan_rows(),
        batch_rows(),
        length_rows(),
        gain_rows(),
        paging_rows(),
        prefix_rows(),
    )
    return [row for part in parts for row in part]
