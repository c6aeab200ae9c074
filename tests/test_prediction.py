"""Predictions of whole configurations: by hand, under changes whose effect is known, by counting and by simulation,
and against the lessons.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import random
import re
import statistics
from itertools import product

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from blackboard import catalogue
from blackboard.catalogue import measurement
from blackboard.catalogue import running_case as case
from blackboard.catalogue.architecture import Compressed, Dense, Experts, Heads, Latent, bytes_per_param
from blackboard.catalogue.datafile import UnknownId
from blackboard.formula import IDEAL, Calibration
from blackboard.lessons.batching import equations as batching
from blackboard.lessons.overheads import kernels
from blackboard.lessons.pipelining.simulation import Costs, Pass, Schedule, serve, simulate
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.racks import simulation as traffic
from blackboard.lessons.sparsity import equations as sparsity
from blackboard.lessons.sparsity.simulation import choose, touched
from blackboard.prediction import predict, predict_serving, serving_runs
from blackboard.prediction.calibration import RECIPES, auto, calibration_by_id, fit, ids, listed
from blackboard.prediction.equations import chips_visited
from blackboard.prediction.layout import Layout, LayoutError
from blackboard.prediction.step import resources, step_terms

H100, H800, B200 = (catalogue.chip(id) for id in ("h100-sxm", "h800", "b200"))
MODELS = [model for model in catalogue.models() if not model.given]
EXAMPLE = dict(
    chip="h100-sxm",
    chips=8,
    phase="decode",
    batch=64,
    context=4096,
    weights="fp8",
    kv="bf16",
    tensor=8,
    expert=1,
    pipeline=1,
    calibration=None,
)
BUSY = {"compute": ("multiply", "attend"), "memory": ("weights", "cache"), "links": ("tensor", "expert", "pipeline")}


LLAMA = 80 * (8192 * 128 * (2 * 64 + 2 * 8) + 3 * 8192 * 28_672)  # parameters of its layers, by its config
WORDS = 128_256 * 8192  # of the embedding, and as many of the head
INDEXER = 61 * (1536 * 64 * 128 + 7168 * 128 + 7168 * 64)  # DeepSeek-V3.2: queries, key, and a weight for each head


def near(value, rel=1e-11):
    return pytest.approx(value, rel=rel, abs=0)


def llama(**options):
    return predict("llama-3.1-70b", **{"chip": "h100-sxm", **options})


def v3(**options):
    return predict("deepseek-v3", **{"chip": "h800", **options})


def sent(prediction, term: str) -> float:
    """Bytes that a chip sends inside its domain."""
    return prediction.terms[term] * prediction.layout.chip.scale_up.bytes_per_s


def read(prediction, term: str = "weights") -> float:
    """Bytes that a chip reads."""
    return prediction.terms[term] * prediction.layout.chip.bandwidth


def flop(prediction, term: str = "multiply") -> float:
    """FLOPs of a chip; attention multiplies in the cache's format where the chip can."""
    rates = prediction.layout.chip.flops_dense_per_s
    in_cache = rates.fp8 if prediction.kv == "fp8" and rates.fp8 else rates.bf16
    return prediction.terms[term] * (in_cache if term == "attend" else prediction.layout.chip.flops(prediction.compute))


# --- the example of the entry point, by hand --------------------------------------------------------------------------


def test_the_example_by_hand():
    p = predict("llama-3.1-70b", **EXAMPLE)
    attention = 80 * 4 * 64 * 128 * 4096 * 64  # FLOP: 64 heads of 128, twice
    read_bytes, cache = (LLAMA + WORDS) / 8, 64 * 4096 * 80 * 2 * 8 * 128 * 2 / 8
    assert p.terms["weights"] == near(read_bytes / 3.35e12) and p.terms["cache"] == near(cache / 3.35e12)
    assert p.terms["multiply"] == near(2 * 64 * read_bytes / 1978.9e12) and p.terms["attend"] == near(
        attention / 8 / 989.4e12
    )
    assert p.terms["tensor"] == near(2 * 80 * 2 * (7 / 8) * 64 * 8192 * 2 / 450e9)
    assert set(p.terms) == {"multiply", "attend", "weights", "cache", "tensor"}
    assert p.time == near((read_bytes + cache) / 3.35e12) == near(0.0058, 0.01)
    assert p.binds == "cache" and p.fits and p.short == "" and p.beware == ()
    assert p.tokens_per_s_per_user == near(1 / p.time) and p.tokens_per_s_per_chip == near(8 / p.time)
    assert p.memory_per_chip == near({"attention and dense": LLAMA / 8, "embeddings": 2 * WORDS / 8, "cache": cache})
    assert p.rent.usd_per_chip_hour == H100.rent().usd_per_chip_hour and p.rent.date == H100.rent().date
    assert p.usd_per_mtok == near(8 * p.rent.usd_per_chip_hour * p.time / 3600 / 64 * 1e6)


def test_ids_and_rows_of_the_catalogue_are_the_same():
    rows = EXAMPLE | {"chip": H100, "calibration": IDEAL, "rent": H100.rent()}
    assert str(predict(catalogue.model("llama-3.1-70b"), **rows)) == str(predict("llama-3.1-70b", **EXAMPLE))
    assert (
        llama(chips=8, weights="fp8", calibration=calibration_by_id("trtllm-h200")).time
        == llama(chips=8, weights="fp8", calibration="trtllm-h200").time
    )


def printed(prediction) -> list[tuple[str, str]]:
    """Names and values as they are printed."""
    return [(line[:24].strip(), line[24:]) for line in str(prediction).splitlines()]


def test_what_is_printed():
    text = str(llama(chips=8, rent="community"))
    rent = H100.rent("community")
    for part in (
        "8 × h100-sxm, ideal",
        "weights",
        "tensor",
        f"at {rent.usd_per_chip_hour:g} USD a chip and hour ({rent.kind}, {rent.date})",
        "17.7 GB of 80.0 GB",
    ):
        assert part in text
    assert all(line[:24].rstrip() and line[23] == " " and line[24] != " " for line in text.splitlines()), (
        "a value stands beside its name"
    )
    assert "does not fit" not in text and "does not fit" in str(llama(chips=1))


def test_a_price_is_printed_with_its_terms_or_why_there_is_none():
    price = {phase: dict(printed(llama(phase=phase)))["price"] for phase in ("decode", "prefill")}
    assert (
        "USD per million output tokens, at" in price["decode"]
        and "USD per million input tokens, at" in price["prefill"]
        and H100.rent().kind in price["decode"]
    )
    without = llama(rent=None)
    assert without.usd_per_mtok is None and "price" not in dict(printed(without)) and "rent" not in str(without)
    none, guessed = (predict("llama-3.1-8b", chip=chip) for chip in ("b100", "gb300-nvl72"))
    assert none.usd_per_mtok is guessed.usd_per_mtok is None and dict(printed(none))["price"] == "no confirmed rent"
    assert dict(printed(guessed))["price"].startswith(
        "no confirmed rent; listed but not confirmed: three-year contract, guessed"
    )
    dear = llama(rent=replace(H100.rent(), usd_per_chip_hour=0.8))
    assert " at 0.800 USD " in dict(printed(dear))["price"], "three digits, like all others"


def seconds(text: str) -> float:
    value, unit = text.replace(",", "").split()
    return float(value) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}[unit]


@pytest.mark.parametrize(
    "calibration, how",
    [(None, "the longest of these"), ("trtllm-h200", "all added up"), ("gptfast-a100", "all added up")],
)
def test_printed_terms_add_up_to_their_resource_and_resources_to_the_time(calibration, how):
    lines = dict(printed(llama(chips=8, batch=64, context=4096, weights="fp8", calibration=calibration)))
    time, said = lines["time"].split(", ")
    resources = {name: lines[name].split(": ") for name in ("compute", "memory", "links")}
    for whole, parts in resources.values():
        assert sum(seconds(part.split(" ", 1)[1]) for part in parts.split(", ")) == near(seconds(whole), 0.005)
    each = [seconds(whole) for whole, _ in resources.values()] + (
        [seconds(lines["fixed"].split(":")[0])] if "fixed" in lines else []
    )
    assert said == how and seconds(time) == near(max(each) if calibration is None else sum(each), 0.005)
    assert ("fixed" in lines) == (calibration == "gptfast-a100")
    assert ("binds" in lines, "largest" in lines) == (
        calibration is None,
        calibration is not None,
    ), "where all is added up nothing binds"


def test_partly_hidden_times_are_said_to_be():
    part = dict(printed(llama(calibration=Calibration("half", "", {"serial_share": 0.5, "overhead": 1e-3}))))
    assert part["time"].endswith("the longest of these and 0.500 of the others, and what is fixed") and "binds" in part


def test_a_prompt_prints_the_time_to_its_first_token():
    p = llama(chips=8, phase="prefill", context=2000)
    lines = dict(printed(p))
    assert (
        "token/s a user" not in lines
        and lines["time to first token"].endswith(", unloaded")
        and p.tokens_per_s_per_user == near(2000 / p.time)
    )
    assert seconds(lines["time to first token"].split(",")[0]) == near(p.time, 0.005)
    assert "time to first token" not in dict(printed(llama(chips=8)))


def test_the_table_of_a_prediction_heads_its_rows():
    p = llama(chips=8, calibration=dataclasses.replace(calibration_by_id("trtllm-h200"), description="a < b"))
    page = p._repr_html_()
    assert page.count('<th scope="row">') == page.count("<tr>") == len(printed(p)) and "a &lt; b" in page
    assert '<th scope="row">&emsp;memory</th>' in page and '<th scope="row">time</th>' in page and "$" not in page, (
        "notebooks set dollars as mathematics"
    )


def test_one_sequence_of_a_70b_model_takes_141_gb_over_the_bandwidth():
    p = llama(chips=8)
    assert p.time == near(141.1e9 / (8 * 3.35e12), 0.02) and p.time < 141.1e9 / (8 * 3.35e12), (
        "less the embedding that is only looked up"
    )


def test_a_prompt_takes_two_flop_a_parameter_and_token():
    p = predict("llama-3.1-8b", chip="h100-sxm", phase="prefill", context=8192)
    multiplied = 8192 * 6_979_321_856 + 128_256 * 4096  # the head only for the last token
    assert p.terms["multiply"] == near(2 * multiplied / 989.4e12) and p.binds == "multiply"
    assert p.tokens == 8192 and p.tokens_per_s_per_user == near(8192 / p.time) == near(p.tokens_per_s_per_chip)


# --- memory: what all chips hold is the whole model and its cache, and as many copies as the layout says --------------

# model, chips, tensor, expert, pipeline, dealt out by; copies of attention and dense, of experts, of the cache
LAYOUTS = [
    ("llama-3.1-70b", 8, 8, 1, 1, "heads", 1, 0, 1),
    ("llama-3.1-70b", 16, 16, 1, 1, "heads", 1, 0, 2),
    ("llama-3.1-70b", 16, 16, 1, 1, "tokens", 1, 0, 1),
    ("llama-3.1-70b", 16, 4, 1, 4, "heads", 1, 0, 1),
    ("llama-3.1-70b", 16, 4, 1, 2, "heads", 2, 0, 1),
    ("palm-540b", 64, 64, 1, 1, "heads", 1, 0, 64),
    ("deepseek-v3", 32, 1, 32, 1, "heads", 32, 1, 1),
    ("deepseek-v3", 32, 4, 32, 1, "heads", 8, 1, 4),
    ("deepseek-v3", 32, 4, 32, 1, "tokens", 8, 1, 1),
    ("deepseek-v3", 32, 2, 8, 2, "heads", 8, 2, 2),
    ("deepseek-v3", 8, 8, 1, 1, "heads", 1, 1, 8),
    ("qwen3-235b-a22b", 16, 2, 8, 1, "heads", 8, 2, 1),
    ("gemma-3-27b", 4, 2, 1, 2, "heads", 1, 0, 1),
]


@pytest.mark.parametrize("model, chips, tensor, expert, pipeline, cache, common, experts, caches", LAYOUTS)
def test_all_chips_together_hold_everything(model, chips, tensor, expert, pipeline, cache, common, experts, caches):
    row, options = catalogue.model(model), dict(batch=64, context=3000, weights="fp8", kv="bf16")
    p = predict(
        model, chip="b200", chips=chips, tensor=tensor, expert=expert, pipeline=pipeline, cache=cache, **options
    )
    held = {name: chips * size for name, size in p.memory_per_chip.items()}
    routed = row.moe.layers * row.moe.experts * 3 * row.d_model * row.moe.d_ff if row.moe else 0
    assert held.get("experts", 0) == near(experts * routed) and held["cache"] == near(caches * 64 * row.kv_bytes(3000))
    assert held["attention and dense"] + held["embeddings"] == near(common * (row.n_total - routed))


@cases("model", MODELS, ids=lambda model: model.id)
def test_the_weights_are_those_that_were_published(model):
    held = sum(
        size for name, size in predict(model, chip="b200", weights="fp8").memory_per_chip.items() if name != "cache"
    ) - (INDEXER if model.id == "deepseek-v3.2" else 0)  # which published totals leave out
    assert held == near(model.n_total)
    if model.agreement().verdict == "agrees":
        assert held == near(model.published.n_total, 1e-3)


def test_what_does_not_fit_is_said_with_numbers_and_predicted():
    p = llama(batch=4, context=8192)
    need = 141.1 + 4 * 8192 * 327_680 / 1e9
    assert (
        not p.fits
        and p.short.startswith(f"does not fit: {need:.0f} GB a chip")
        and "has 80.0 GB" in p.short
        and "cache 10.7 GB" in p.short
    )
    assert p.beware[0] == p.short and ("beware", p.short) in printed(p)
    huge, close = llama(context=10**9).short, replace(H100, hbm_bytes=sum(p.memory_per_chip.values()) - 1e6)
    assert "328 TB a chip" in huge and "cache 328 TB" in huge
    need, has = re.findall(r"(\S+) GB a chip .* has (\S+) GB", llama(chip=close, batch=4, context=8192).short)[0]
    assert len(need) == len(has) == 7 and float(need) - float(has) == pytest.approx(0.001), "as many digits as it takes"
    assert p.time > 0 and p.tokens_per_s_per_chip > 0


# --- changes whose effect is known -----------------------------------------------------------------------------------


def only(before, after, *terms):
    """Nothing but these terms differs."""
    assert set(before.terms) == set(after.terms)
    assert {name for name in before.terms if before.terms[name] != near(after.terms[name], 1e-9)} == set(terms)


def with_heads(model, kv_heads):
    """A copy with so many heads of keys and values."""
    return replace(model, attention=tuple(replace(group, kv_heads=kv_heads) for group in model.attention))


def test_as_many_kv_heads_as_heads_is_multi_head_attention():
    model = catalogue.model("llama-3.1-70b")
    grouped, multi = (
        predict(m, chip="b200", chips=2, batch=32, context=5000, weights="fp8") for m in (model, with_heads(model, 64))
    )
    assert multi.terms["cache"] == near(8 * grouped.terms["cache"]) and multi.memory_per_chip["cache"] == near(
        8 * grouped.memory_per_chip["cache"]
    )
    more = 80 * 2 * (64 - 8) * 128 * 8192 / 2  # parameters of the added keys and values on each chip
    assert read(multi) - read(grouped) == near(more, 1e-9) and flop(multi) - flop(grouped) == near(2 * 32 * more, 1e-9)
    only(grouped, multi, "cache", "weights", "multiply")
    assert multi.time - grouped.time == near((more + 7 * read(grouped, "cache")) / 8e12, 1e-9), "memory binds"


@pytest.mark.parametrize("phase", ["decode", "prefill"])
@pytest.mark.parametrize("batch", [1, 7, 4000])
def test_when_every_expert_is_visited_the_model_is_dense(phase, batch):
    model = catalogue.model("mixtral-8x7b")
    (group,) = model.ffn
    whole = replace(model, ffn=(replace(group, active=group.experts),))
    dense = replace(model, ffn=(Dense(group.layers, group.experts * group.d_ff),))
    routers = group.layers * group.experts * model.d_model
    moe, same = (predict(m, chip="h200", chips=2, phase=phase, batch=batch, context=50) for m in (whole, dense))
    tokens = batch * (50 if phase == "prefill" else 1)
    assert read(moe) == near(read(same) + 2 * routers / 2) and flop(moe) == near(flop(same) + 2 * tokens * routers / 2)
    assert {name: moe.terms[name] for name in ("attend", "cache", "tensor")} == near(
        {name: same.terms[name] for name in ("attend", "cache", "tensor")}
    )


def test_one_chip_sends_nothing():
    for model in MODELS:
        assert set(predict(model, chip="h200").terms) == {"multiply", "attend", "weights", "cache"}


def test_one_stage_has_neither_hop_nor_bubble():
    whole, parted = (
        llama(chips=4, tensor=4 // stages, pipeline=stages, phase="prefill", batch=8, context=2000) for stages in (1, 4)
    )
    assert "pipeline" not in whole.terms and "pipeline" in parted.terms and "tensor" not in parted.terms
    assert parted.terms["multiply"] == near(whole.terms["multiply"] * (4 + 3) / 4), (
        "four micro-batches and three stages to fill"
    )


def test_groups_of_chips_that_share_nothing_work_as_one_each():
    for model, more in (("llama-3.1-70b", {}), ("deepseek-v3", {"expert": 8}), ("mixtral-8x22b", {})):
        one, four = (
            predict(model, chip="h200", chips=8 * n, tensor=8 if not more else 2, batch=40 * n, context=3000, **more)
            for n in (1, 4)
        )
        assert four.terms == near(one.terms) and four.memory_per_chip == near(one.memory_per_chip)
        assert four.tokens_per_s_per_chip == near(one.tokens_per_s_per_chip) and four.usd_per_mtok == near(
            one.usd_per_mtok
        )


def test_twice_the_chips_of_a_group_halve_what_they_share():
    one, two = (
        predict("llama-3.1-405b", chip="gb200-nvl72", chips=n, batch=64, context=4000, weights="fp8") for n in (4, 8)
    )
    for term in ("multiply", "attend", "weights", "cache"):
        assert two.terms[term] == near(one.terms[term] / 2)
    assert sent(two, "tensor") / (7 / 8) == near(sent(one, "tensor") / (3 / 4)), "a ring sends almost as much"


@pytest.mark.parametrize("model", ["llama-3.1-70b", "deepseek-v3", "gemma-3-27b"])
def test_half_the_bytes_halve_one_term_each(model):
    options = dict(chip="b200", chips=8, batch=200, context=3000, compute="fp8")
    base = predict(model, weights="bf16", kv="bf16", **options)
    lighter, shorter = (
        predict(model, weights="fp8", kv="bf16", **options),
        predict(model, weights="bf16", kv="fp8", **options),
    )
    assert lighter.terms["weights"] == near(base.terms["weights"] / 2) and shorter.terms["cache"] == near(
        base.terms["cache"] / 2
    )
    only(base, lighter, "weights"), only(base, shorter, "cache", "attend")
    assert shorter.terms["attend"] == near(base.terms["attend"] / 2), "attention multiplies in the cache's format"
    assert predict(model, weights="fp4", **options).terms["weights"] == near(base.terms["weights"] / 4), (
        "bytes per parameter count once"
    )


def test_other_names_of_a_format_change_nothing():
    same = [
        predict("gpt-oss-120b", chip="b200", chips=4, expert=4, batch=64, weights=name, calibration="auto")
        for name in ("fp4", "mxfp4", "nvfp4")
    ]
    assert same[0].terms == same[1].terms == same[2].terms and same[0].compute == same[1].compute == "fp4"
    assert llama(weights="fp16").terms == llama(weights="bf16").terms


FULL = dict(
    model="deepseek-v3",
    chip="h800",
    chips=64,
    phase="decode",
    batch=512,
    context=4096,
    weights="fp8",
    kv="bf16",
    compute="fp8",
    tensor=4,
    expert=16,
    pipeline=2,
    cache="heads",
    calibration=Calibration("serial", "", {"serial_share": 1}),
    rent="",
)  # nothing hides, so that every term counts
OTHER = dict(
    model="kimi-k2",
    chip="h200",
    chips=128,
    phase="prefill",
    batch=513,
    context=4097,
    weights="bf16",
    kv="fp8",
    compute="bf16",
    tensor=8,
    expert=32,
    pipeline=4,
    cache="tokens",
    calibration="trtllm-moe-h200",
    rent=replace(H100.rent(), usd_per_chip_hour=1),
)


@pytest.mark.parametrize("name", FULL)
def test_every_argument_changes_the_answer(name):
    call = lambda given: predict(given["model"], **{key: value for key, value in given.items() if key != "model"})
    base, other = call(FULL), call(FULL | {name: OTHER[name]})
    if name == "rent":
        assert other.usd_per_mtok == near(base.usd_per_mtok / base.rent.usd_per_chip_hour) and other.terms == base.terms
    else:
        assert other.terms != base.terms and other.tokens_per_s_per_chip != base.tokens_per_s_per_chip


def test_what_each_way_of_cutting_does():
    base = v3(chips=64, expert=64, tensor=1, batch=640)
    shared = v3(chips=64, expert=64, tensor=4, batch=640)
    assert (
        "tensor" in shared.terms
        and shared.terms["attend"] == near(base.terms["attend"])
        and shared.terms["cache"] == near(4 * base.terms["cache"])
    )
    fewer = v3(chips=64, expert=8, tensor=1, batch=640)
    assert fewer.memory_per_chip["experts"] == near(8 * base.memory_per_chip["experts"]) and fewer.terms[
        "multiply"
    ] == near(base.terms["multiply"])
    assert v3(chips=64, expert=64, batch=640).terms == base.terms, (
        "by default tensor takes what the others leave: one chip"
    )
    assert llama(chips=16, pipeline=2).layout.tensor == 8 and v3(chips=64, expert=16, pipeline=2).layout.tensor == 2


# --- any configuration -----------------------------------------------------------------------------------------------


@st.composite
def options(draw):
    """Arguments of predict that go together."""
    model = draw(st.sampled_from(MODELS))
    tensor, ranks, pipeline = (
        draw(st.sampled_from([1, 2, 4, 8, 16])),
        draw(st.sampled_from([1, 2, 4])),
        draw(st.sampled_from([1, 2, 3])),
    )
    ways = [n for n in range(1, tensor * ranks + 1) if tensor * ranks % n == 0]
    expert = draw(st.sampled_from([n for n in ways if n <= model.moe.experts])) if model.moe else 1
    chip = draw(st.sampled_from(["h100-sxm", "h200", "b200", "gb200-nvl72", "tpu-v5p", "mi300x", "tpu-v4"]))
    drawn = st.fixed_dictionaries(
        {
            "phase": st.sampled_from(["decode", "prefill"]),
            "batch": st.integers(1, 5000),
            "context": st.integers(1, 300_000),
            "weights": st.sampled_from(["bf16", "fp8", "fp4", "int8"]),
            "kv": st.sampled_from(["bf16", "fp8"]),
            "cache": st.sampled_from(["heads", "tokens"]),
        }
    )
    return dict(
        model=model,
        chip=chip,
        chips=tensor * ranks * pipeline,
        tensor=tensor,
        expert=expert,
        pipeline=pipeline,
        **draw(drawn),
    )


share = st.floats(0.05, 1)
constants = st.builds(
    lambda c, m, link, latency, layer, step, serial: Calibration(
        "drawn",
        "",
        {
            "compute_efficiency": c,
            "memory_efficiency": m,
            "link_efficiency": link,
            "link_latency": latency,
            "layer_overhead": layer,
            "overhead": step,
            "serial_share": serial,
        },
    ),
    share,
    share,
    share,
    st.floats(0, 1e-4),
    st.floats(0, 1e-3),
    st.floats(0, 1e-2),
    st.floats(0, 1),
)


@settings(max_examples=150)
@given(options(), constants)
def test_a_step_is_put_together_from_its_terms(case, drawn):
    for calibration in (IDEAL, drawn):
        p, known = predict(**case, calibration=calibration), calibration.values
        busy = {name: sum(p.terms.get(term, 0) for term in parts) for name, parts in BUSY.items()}
        fixed = known.get("layer_overhead", 0) * p.layout.model.layers + known.get("overhead", 0)
        most = max(busy.values())
        assert p.time == near(most + known.get("serial_share", 0) * (sum(busy.values()) - most) + fixed, 1e-9)
        assert p.resources == near(busy) and p.terms.get("fixed", 0) == near(fixed)
        assert set(p.terms) <= {"fixed", *sum(BUSY.values(), ())} and all(
            0 < value < math.inf for value in p.terms.values()
        )
        longest = max(BUSY, key=lambda name: busy[name])
        assert p.binds == ("fixed" if fixed > most else max(BUSY[longest], key=lambda term: p.terms.get(term, 0)))


@settings(max_examples=100)
@given(options(), constants)
def test_constants_divide_their_own_terms_and_never_make_a_step_faster(case, drawn):
    ideal, real = predict(**case), predict(**case, calibration=drawn)
    for resource, name in (("compute", "compute_efficiency"), ("memory", "memory_efficiency")):
        for term in BUSY[resource]:
            assert real.terms[term] == near(ideal.terms[term] / drawn.values[name], 1e-9)
    for term in set(BUSY["links"]) & set(ideal.terms):
        started = real.terms[term] - ideal.terms[term] / drawn.values["link_efficiency"]
        assert started >= -1e-9 * real.terms[term] and (
            started == near(0, 1e-6) or drawn.values["link_latency"] > 0 or abs(started) < 1e-9 * real.terms[term]
        )
    assert ideal.time <= real.time * (1 + 1e-12)


@settings(max_examples=60)
@given(options(), st.sampled_from(ids()))
@pytest.mark.slow
def test_no_sourced_calibration_beats_the_ideal(case, id):
    ideal, real = predict(**case), predict(**case, calibration=id)
    assert ideal.time <= real.time * (1 + 1e-12) and all(
        ideal.terms[name] <= real.terms[name] * (1 + 1e-12) for name in ideal.terms
    )


@settings(max_examples=150)
@given(options(), st.integers(1, 2000), st.integers(1, 100_000))
def test_more_sequences_and_longer_contexts_take_longer(case, sequences, tokens):
    base, more, longer = (
        predict(**case),
        predict(**case | {"batch": case["batch"] + sequences}),
        predict(**case | {"context": case["context"] + tokens}),
    )
    for other in (more, longer):
        assert other.time >= base.time * (1 - 1e-12)
        assert all(other.terms[name] >= value * (1 - 1e-9) for name, value in base.terms.items())
        assert sum(other.memory_per_chip.values()) >= sum(base.memory_per_chip.values()) * (1 - 1e-12)
    assert more.tokens_per_s_per_user <= base.tokens_per_s_per_user * (1 + 1e-9)


@settings(max_examples=100)
@given(options())
def test_all_chips_together_do_at_least_the_whole_work(case):
    """The busiest chip does no less than its share, and reads no less than a chip must hold for it."""
    p, model = predict(**case), case["model"]
    embedding, chips = model.vocab * model.d_model, case["chips"]
    active = model.n_active - embedding * (
        1 if model.tied_embeddings else 2
    )  # the head is for the last token of a prompt only
    assert chips * flop(p) >= 2 * (p.tokens * active + case["batch"] * embedding) * (1 - 1e-9)
    if case["phase"] == "decode":
        assert chips * read(p, "cache") >= case["batch"] * model.kv_read_bytes(case["context"], case["kv"]) * (1 - 1e-9)
        assert chips * flop(p, "attend") >= case["batch"] * model.attention_flop(case["context"]) * (1 - 1e-9)
    assert p.usd_per_mtok is None or p.usd_per_mtok * 1e-6 * p.tokens == near(
        p.rent.usd_per_chip_second * chips * p.time
    )


# --- mistakes of other tools ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model, entry",
    [
        ("llama-3.1-70b", 2 * 8 * 128 * 80),
        ("llama-3.1-8b", 2 * 8 * 128 * 32),
        ("llama-2-7b", 2 * 32 * 128 * 32),
        ("qwen3-235b-a22b", 2 * 4 * 128 * 94),
        ("palm-540b", 2 * 1 * 256 * 118),
        ("deepseek-v3", (512 + 64) * 61),
        ("kimi-k2", (512 + 64) * 61),
    ],
)
def test_keys_and_values_are_counted_once_each_and_by_their_own_heads(model, entry):
    for kv, size in (("bf16", 2), ("fp8", 1)):
        p = predict(model, chip="b200", batch=3, context=777, kv=kv)
        assert read(p, "cache") == near(3 * 777 * entry * size) and p.memory_per_chip["cache"] == near(
            3 * 777 * entry * size
        )


def test_the_peak_is_the_dense_one():
    for compute, peak in (("bf16", 989.4e12), ("fp8", 1978.9e12)):
        p = llama(chips=8, batch=64, compute=compute)
        assert p.terms["multiply"] == near(2 * 64 * (LLAMA + WORDS) / 8 / peak)


def test_gb_are_not_gib_and_rates_are_decimal():
    p = llama(weights="fp8", batch=1, context=35_000)
    assert 80e9 < sum(p.memory_per_chip.values()) < 80 * 2**30 and not p.fits
    assert read(p, "cache") / p.terms["cache"] == near(3.35e12)


def test_links_are_taken_in_one_direction():
    assert sent(llama(chips=8, batch=64), "tensor") == near(2 * 80 * 2 * (7 / 8) * 64 * 8192 * 2)
    assert llama(chips=8, batch=64).terms["tensor"] == near(2 * 80 * 2 * (7 / 8) * 64 * 8192 * 2 / (900e9 / 2))


def test_embeddings_are_looked_up_but_a_tied_head_is_read():
    for id, share_read in (("llama-3.1-8b", 1), ("qwen3-0.6b", 0)):
        model = catalogue.model(id)
        p = predict(model, chip="h100-sxm")
        assert read(p) == near(
            2 * (model.n_total - share_read * model.vocab * model.d_model)
        ) and model.tied_embeddings == (share_read == 0)


@pytest.mark.parametrize("batch", [1, 8, 100, 1000])
@pytest.mark.slow
def test_experts_that_are_read_depend_on_the_batch(batch):
    model = catalogue.model("deepseek-v3")
    routed = 58 * 256 * 3 * 7168 * 2048  # not in the first three layers
    common = model.n_total - routed - 129_280 * 7168
    share_read = (read(v3(batch=batch)) - common) / routed
    (counted,) = touched([batch], 256, 8, trials=400, seed=1)
    assert share_read == near(counted, 0.02 if batch > 1 else 1e-9) and (batch > 1 or share_read == near(8 / 256))


def test_a_latent_is_not_divided_by_tensor_parallelism():
    one, eight = (v3(chips=n, tensor=n, batch=16, context=9000) for n in (1, 8))
    assert eight.terms["cache"] == near(one.terms["cache"]) and eight.memory_per_chip["cache"] == near(
        one.memory_per_chip["cache"]
    )
    assert eight.terms["attend"] == near(one.terms["attend"] / 8), "heads are"
    by_tokens = v3(chips=8, tensor=8, batch=16, context=9000, cache="tokens")
    assert by_tokens.terms["cache"] == near(one.terms["cache"] / 8)
    grouped = [llama(chips=n, batch=16, context=9000).terms["cache"] for n in (1, 8, 16)]
    assert grouped[1] == near(grouped[0] / 8) and grouped[2] == near(grouped[1]), "more chips than heads hold copies"


def test_a_window_bounds_what_is_read():
    at = {
        context: read(predict("gemma-3-27b", chip="h100-sxm", context=context), "cache")
        for context in (500, 1024, 2048, 100_000)
    }
    assert at[500] == near(62 * 500 * 2 * 16 * 128 * 2) and at[1024] == near(62 * 1024 * 2 * 16 * 128 * 2)
    assert at[2048] - at[1024] == near(10 * 1024 * 2 * 16 * 128 * 2) and at[100_000] == near(
        (52 * 1024 + 10 * 100_000) * 2 * 16 * 128 * 2
    )


def test_sparse_attention_reads_all_index_keys_and_the_best_latents():
    p = predict("deepseek-v3.2", chip="b200", context=100_000)
    assert read(p, "cache") == near(61 * 2 * (2048 * 576 + 100_000 * 128)) and p.memory_per_chip["cache"] == near(
        61 * 2 * 100_000 * (576 + 128)
    )
    dense = predict("deepseek-v3", chip="b200", context=2048)
    assert flop(p, "attend") - flop(dense, "attend") == near(61 * 64 * 128 * 2 * 100_000), "64 heads score all keys"
    assert flop(p) - flop(dense) == near(2 * INDEXER, 1e-9) and read(p) - read(dense) == near(INDEXER, 1e-9)
    short = [read(predict(id, chip="b200", context=1000), "cache") for id in ("deepseek-v3", "deepseek-v3.2")]
    assert short[1] - short[0] == near(61 * 2 * 1000 * 128, 1e-9), "below its 2,048 it reads everything"


def scored(tokens: int, heads: int, wide: int, past: int = 0) -> int:
    """FLOPs of an indexer's scores, a multiplication and an addition at a time: each head's query by every key."""
    return sum(2 for query in range(past, past + tokens) for _ in range((query + 1) * heads * wide))


@pytest.mark.parametrize("tokens", [1, 2, 7, 12])
def test_an_indexer_scores_every_key_that_a_token_sees(tokens):
    """Counted one by one, less the same attention without an indexer: beyond the keys that are picked as well."""
    without = Latent(1, 3, 1, 7, 4, 2, 6, index_dim=3, top_k=5)
    indexed = replace(without, index_heads=2)
    assert indexed.prefills(tokens) - without.prefills(tokens) == scored(tokens, 2, 3)
    assert indexed.attends(tokens) - without.attends(tokens) == scored(1, 2, 3, past=tokens - 1)


def test_the_indexer_outweighs_all_weights_at_long_contexts():
    """By hand, in GFLOP: 61 layers, 64 heads of 128; the weights' are two for each of the 37.6e9 parameters in use."""
    weights, each = 2 * 37.551276032, 2 * 61 * 64 * 128 * 1e-9
    assert weights / each == near(75_146, 1e-4), "in decoding"
    assert 2 * weights / each == near(150_291, 1e-4), "in a prompt, whose tokens see half of it on average"
    more = [
        [
            flop(predict(id, chip="b200", phase=phase, context=131_072), "attend") / 1e9
            for phase in ("decode", "prefill")
        ]
        for id in ("deepseek-v3", "deepseek-v3.2")
    ]
    picked = [flop(predict("deepseek-v3", chip="b200", context=2048), "attend") / 1e9]
    assert more[1][0] - picked[0] == near(131_072 * each, 1e-6) and 131_072 * each / weights == near(1.744, 1e-3)
    assert more[1][1] / 131_072 > 131_073 / 2 * each > 0.87 * weights


def test_an_indexer_that_is_not_counted_is_warned_of():
    told = {id: predict(id, chip="b200").beware for id in ("deepseek-v3", "deepseek-v3.2", "deepseek-v4-flash")}
    description = "the indexer's keys are counted, its parameters and its FLOPs are not"
    assert [description in lines for lines in told.values()] == [False, False, True]


def test_the_first_layers_are_dense():
    p = v3(chips=8, expert=8, batch=64)
    assert p.memory_per_chip["experts"] == near(58 * 256 * 3 * 7168 * 2048 / 8)
    first = replace(catalogue.model("deepseek-v3"), ffn=(Experts(61, 256, 8, 2048, 1),))
    other = predict(first, chip="h800", chips=8, expert=8, batch=64)
    assert other.terms["expert"] == near(p.terms["expert"] * 61 / 58)


def test_experts_inside_a_domain_send_nothing_out_of_it():
    slow = replace(H800, scale_out=replace(H800.scale_out, bytes_per_s=1.0))
    assert v3(chips=8, expert=8, batch=64).terms == v3(chip=slow, chips=8, expert=8, batch=64).terms
    assert (
        v3(chips=16, expert=16, batch=64).terms["expert"]
        < 1
        < v3(chip=slow, chips=16, expert=16, batch=64).terms["expert"]
    )
    rack = [
        predict("deepseek-v3", chip="gb200-nvl72", chips=n, expert=n, batch=64 * n).terms["expert"]
        for n in (64, 72, 144)
    ]
    assert rack[1] < 1.05 * rack[0] and rack[2] > 2 * rack[1]


def test_one_prompt_cannot_be_in_two_places_but_its_tokens_visit_all_experts():
    alone = v3(chips=8, expert=8, phase="prefill", batch=1, context=4096)
    model, routed = catalogue.model("deepseek-v3"), 58 * 8 * 3 * 7168 * 2048
    common = model.n_active - routed - 2 * 129_280 * 7168
    assert flop(alone) == near(2 * (4096 * (common + routed / 8) + 129_280 * 7168))
    assert read(alone) < 1.001 * (common + 129_280 * 7168 + 58 * 256 * 3 * 7168 * 2048 / 8)
    eight = v3(chips=8, expert=8, phase="prefill", batch=8, context=4096)
    assert eight.terms["attend"] == near(alone.terms["attend"]) and flop(eight) == near(
        2 * (4096 * (common + routed) + 129_280 * 7168)
    )


def test_what_has_no_sequence_stands_idle():
    alone, wider = (v3(chips=n, tensor=1, expert=8, phase="prefill", batch=1, context=4096) for n in (8, 16))
    assert wider.terms == near(alone.terms), "experts of another group are out of reach"
    two = v3(chips=8, tensor=1, expert=8, batch=2, context=5000)
    assert (
        read(two, "cache")
        == near(two.memory_per_chip["cache"])
        == near(v3(batch=1, context=5000).memory_per_chip["cache"])
    ), "two chips hold one sequence each"


def test_all_that_is_cached_is_written_in_the_prompt_even_if_steps_read_less():
    p = predict("deepseek-v3.2", chip="b200", phase="prefill", batch=2, context=50_000)
    assert read(p, "cache") == near(p.memory_per_chip["cache"]) == near(2 * 50_000 * 61 * 2 * (576 + 128))


def test_with_experts_dealt_out_chips_of_a_group_send_their_own_tokens():
    plain, shared = (v3(chips=64, expert=64, tensor=tensor, batch=640) for tensor in (1, 4))
    assert shared.terms["expert"] == near(plain.terms["expert"]) and sent(plain, "expert") > 0, (
        "640 / 64 tokens a chip, either way"
    )
    assert sent(shared, "tensor") == near((61 + 3) * 2 * (3 / 4) * 40 * 7168 * 2), (
        "after attention, and in the three dense layers"
    )
    whole = v3(chips=4, tensor=4, batch=40)
    assert sent(whole, "tensor") == near(2 * 61 * 2 * (3 / 4) * 40 * 7168 * 2)


def test_part_of_a_second_domain_is_less_than_all_of_it():
    fast = replace(H100, scale_up=replace(H100.scale_up, bytes_per_s=1e15))  # so that what leaves the domain decides
    at = [predict("deepseek-v3", chip=fast, chips=n, expert=n, batch=64 * n).terms["expert"] for n in (8, 12, 16)]
    assert at[0] < 0.1 * at[1] < at[1] < 0.8 * at[2]


@pytest.mark.parametrize("chips, sends", [(8, 2), (16, 2)])
def test_each_all_reduce_starts_twice(chips, sends):
    late = Calibration("late", "", {"link_latency": 1e-3})
    assert llama(chips=chips, calibration=late).terms["tensor"] - llama(chips=chips).terms["tensor"] == near(
        2 * 80 * sends * 1e-3, 1e-9
    )


# --- second routes: kernels that are counted --------------------------------------------------------------------------


def counted(model: str, plan: kernels.Plan) -> dict[str, float]:
    """FLOPs and bytes of a step's operations by what they are; the head, which comes last, by itself."""
    ops = kernels.tape(model, plan).ops
    products = [op for op in ops if op.kind == "product"]
    total = lambda rows, name: sum(getattr(op, name) for op in rows)
    attention = [op for op in ops if op.kind == "attention"]
    return {
        "multiply": total(products[:-1], "flop"),
        "head": products[-1].flop,
        "weights": total(products, "more"),
        "attend": total(attention, "flop"),
        "cache": total(attention, "more"),
        "written": sum(op.out.bytes for op in ops if op.kind == "write"),
    }


@pytest.mark.parametrize(
    "model, chips",
    [
        ("llama-3.1-8b", 1),
        ("llama-3.1-70b", 8),
        ("llama-2-7b", 4),
        ("llama-2-70b", 2),
        ("qwen3-32b", 8),
        ("mistral-large-2", 4),
    ],
)
@pytest.mark.parametrize("batch", [1, 48])
def test_operation_by_operation_a_dense_model_decodes_as_predicted(model, chips, batch):
    seen = counted(model, kernels.Plan(sequences=batch, context=999, chips=chips))
    p = predict(
        model, chip="h100-sxm", chips=chips, batch=batch, context=1000
    )  # the new token attends to itself as well
    assert flop(p) == near(seen["multiply"] + seen["head"]) and read(p) == near(seen["weights"])
    assert flop(p, "attend") == near(seen["attend"]) and read(p, "cache") == near(seen["cache"])


@pytest.mark.parametrize("model", ["deepseek-v3", "kimi-k2", "qwen3-235b-a22b", "mixtral-8x7b", "glm-4.5"])
@pytest.mark.parametrize("batch", [1, 6, 8192])
def test_operation_by_operation_experts_decode_as_predicted(model, batch):
    seen = counted(model, kernels.Plan(sequences=batch, context=999))
    p, latent = (
        predict(model, chip="b200", batch=batch, context=1000, weights="bf16"),
        catalogue.model(model).attention[0].kind == "latent",
    )
    assert flop(p) == near(seen["multiply"] + seen["head"]) and read(p, "cache") == near(seen["cache"])
    assert flop(p, "attend") == near(seen["attend"] * (1000 / 999 if latent else 1)), (
        "the count leaves out the new token's own latent"
    )
    if batch == 6:
        assert read(p) < seen["weights"], "some tokens share an expert"
    else:
        assert read(p) == near(seen["weights"])


@pytest.mark.parametrize("model, chips", [("llama-3.1-8b", 1), ("llama-3.1-70b", 8), ("mixtral-8x7b", 1)])
def test_operation_by_operation_a_prompt_is_read_as_predicted(model, chips):
    seen = counted(model, kernels.Plan(sequences=3, tokens=2000, context=0, chips=chips))
    p = predict(model, chip="h100-sxm", chips=chips, phase="prefill", batch=3, context=2000)
    assert flop(p) == near(seen["multiply"] + seen["head"] / 2000), "the head only for the last tokens"
    assert (
        flop(p, "attend") == near(seen["attend"])
        and read(p) == near(seen["weights"])
        and read(p, "cache") == near(seen["written"])
    )


@pytest.mark.parametrize("model", ["qwen3-235b-a22b", "deepseek-v3", "llama-3.1-70b"])
def test_operation_by_operation_the_head_is_shared_once(model):
    one = counted(model, kernels.Plan(sequences=64, context=999))
    eight = counted(model, kernels.Plan(sequences=64, context=999, chips=8))
    assert 8 * eight["head"] == near(one["head"])
    p = [predict(model, chip="b200", chips=n, tensor=1 if n == 1 else 8, batch=64, context=1000) for n in (1, 8)]
    assert 8 * flop(p[1]) == near(flop(p[0]))


# --- pairs of a prompt's tokens ---------------------------------------------------------------------------------------

small = st.integers(1, 60)


@settings(max_examples=80)
@given(small, st.one_of(st.none(), small))
def test_each_token_of_a_prompt_sees_those_before_it_and_itself(tokens, bound):
    heads, latent = Heads(2, 3, 1, 5, window=bound), Latent(2, 3, 1, 7, 4, 2, 6, index_dim=1, top_k=bound)
    pairs = sum(1 for query in range(tokens) for key in range(query + 1) if bound is None or key > query - bound)
    assert (
        heads.prefills(tokens)
        == 2 * 3 * 2 * (5 + 5) * pairs
        == sum(heads.attends(seen) for seen in range(1, tokens + 1))
    )
    assert latent.prefills(tokens) == 2 * 3 * 2 * (4 + 2 + 6) * pairs


@settings(max_examples=80)
@given(st.integers(1, 12), st.integers(2, 8), st.integers(1, 20), st.one_of(st.none(), st.integers(1, 10)))
def test_compressed_entries_are_seen_by_the_tokens_after_them(entries, ratio, window, top_k):
    group, tokens = Compressed(2, 3, 5, 1, 1, window=window, ratio=ratio, top_k=top_k), entries * ratio
    pairs = 0
    for query in range(tokens):
        behind = sum(1 for entry in range(entries) if (entry + 1) * ratio - 1 < query // ratio * ratio)
        pairs += min(query + 1, window) + (behind if top_k is None else min(behind, top_k))
    assert group.prefills(tokens) == pytest.approx(2 * 3 * 2 * (5 + 5) * pairs)
    assert group.prefills(0.5) > 0, "shorter than an entry"


# --- what chips send --------------------------------------------------------------------------------------------------


def ring(vectors: list[list[float]]) -> tuple[list[list[float]], float]:
    """All-reduce in a ring, a part at a time: the sums on each chip, and the values that one chip sent."""
    chips, sent_values = len(vectors), 0
    for turn in range(2 * (chips - 1)):
        moving = [(chip, (chip - turn) % chips, list(vectors[chip])) for chip in range(chips)]
        for chip, part, values in moving:
            goal = vectors[(chip + 1) % chips]
            goal[part] = values[part] + goal[part] if turn < chips - 1 else values[part]
        sent_values += 1
    return vectors, sent_values / chips


@pytest.mark.parametrize("chips", [2, 3, 8])
def test_a_ring_sends_what_is_predicted(chips):
    rng = random.Random(chips)
    start = [[rng.randrange(100) for _ in range(chips)] for _ in range(chips)]
    wanted = [sum(column) for column in zip(*start)]
    reduced, of_vector = ring(start)
    assert reduced == [wanted] * chips
    p = llama(chips=chips, batch=24)
    assert sent(p, "tensor") == near(2 * 80 * of_vector * 24 * 8192 * 2)


@pytest.mark.parametrize("domains", [2, 4])
def test_over_several_domains_each_chip_sends_only_its_part_out(domains):
    domain, message = 8, 24 * 8192 * 2
    _, inside = ring([[0] * domain for _ in range(domain)])
    _, outside = ring([[0] * domains for _ in range(domains)])  # each chip with its likes, of its part
    near_time, far_time = inside * message / 450e9, outside * message / domain / 50e9
    p = llama(chips=domain * domains, batch=24)
    assert p.terms["tensor"] == near(2 * 80 * max(near_time, far_time))
    slow = llama(
        chips=domain * domains, batch=24, chip=replace(H100, scale_out=replace(H100.scale_out, bytes_per_s=1e9))
    )
    assert slow.terms["tensor"] == near(2 * 80 * outside * message / domain / 1e9), "the slower network decides"


@pytest.mark.parametrize("chips", [8, 32])
def test_a_token_is_sent_once_to_each_chip_with_one_of_its_experts(chips):
    home = random.Random(0)
    picks = choose(20_000, 256, 8, seed=chips)
    copies = sum(
        len({int(expert) // (256 // chips) for expert in row} - {home.randrange(chips)}) for row in picks
    ) / len(picks)
    predicted = chips_visited(expert_parallel=chips, top_k=8)
    assert predicted == near(copies, 0.02 if chips == 32 else 0.05) and predicted < copies, (
        "experts of one token are different ones, so they spread a little more"
    )
    p = predict("deepseek-v3", chip="gb200-nvl72", chips=chips, expert=chips, batch=64 * chips)
    assert sent(p, "expert") == near(58 * 64 * predicted * 7168 * (1 + 2))


def test_a_token_crosses_to_another_domain_once():
    picks, home = choose(20_000, 256, 8, seed=3), random.Random(1)
    crossings = sum(len({int(expert) // 64 for expert in row} - {home.randrange(4)}) for row in picks) / len(picks)
    predicted = racks.domains_visited(racks=4, top_k=8)
    assert predicted == near(crossings, 0.02)
    p = predict("kimi-k2", chip="h100-sxm", chips=32, expert=32, tensor=1, batch=64 * 32, weights="fp8")
    assert p.terms["expert"] * 50e9 == near(60 * 64 * predicted * 7168 * 3), (
        "InfiniBand decides, at 50 GB/s a chip and direction"
    )


@pytest.mark.parametrize("nodes", [4, 8, 16, 32])
def test_a_router_that_takes_few_groups_reaches_fewer_nodes(nodes):
    """DeepSeek-V3's router takes 4 of 8 groups; it is run, on nodes of 8 GPUs."""
    chosen = traffic.top(traffic.affinities(4_000, 256, nodes), 8, 8, 4)
    home = random.Random(2)
    crossings = sum(len({int(e) * nodes // 256 for e in row} - {home.randrange(nodes)}) for row in chosen) / len(chosen)
    p = v3(chips=8 * nodes, expert=8 * nodes, batch=64 * 8 * nodes)
    assert p.terms["expert"] * 50e9 == near(58 * 64 * crossings * 7168 * 3, 0.1)
    assert crossings < racks.domains_visited(racks=nodes, top_k=8)


# --- pipelines that run -----------------------------------------------------------------------------------------------


def serial(**more) -> Calibration:
    return Calibration("serial", "", {"serial_share": 1, **more})


@pytest.mark.parametrize("stages, batch", [(2, 2), (4, 64), (4, 4), (4, 3), (4, 1), (8, 5)])
def test_decoding_in_stages_takes_as_long_as_a_pipeline_that_runs(stages, batch):
    many, latency, steps = min(stages, batch), 1e-3, 12
    p = llama(
        chips=stages, tensor=1, pipeline=stages, batch=batch, context=2000, calibration=serial(link_latency=latency)
    )
    hop = p.terms["pipeline"] / stages
    stage = sum(value for name, value in p.terms.items() if name != "pipeline") / stages
    assert hop == near(latency + batch / many * 8192 * 2 / 450e9)
    run = simulate(serve(stages, many, steps), Costs(forward=stage, hop=hop))
    ends = [box.end for box in run.boxes if box.micro_batch == 0 and box.stage % stages == stages - 1]
    assert (ends[-1] - ends[-5]) / 4 == near(p.time, 1e-9)


@pytest.mark.parametrize("stages, batch", [(2, 2), (4, 16), (4, 3), (4, 1)])
def test_prompts_fill_and_drain_the_stages(stages, batch):
    many = min(stages, batch)
    p = llama(chips=stages, tensor=1, pipeline=stages, phase="prefill", batch=batch, context=2000)
    stage = llama(batch=batch / many, context=2000, phase="prefill").resources["compute"] / stages  # of a micro-batch
    run = simulate(
        Schedule([[Pass("F", n, device) for n in range(many)] for device in range(stages)]), Costs(forward=stage)
    )
    assert p.resources["compute"] == near(run.makespan, 1e-9)


# --- against the lessons ---------------------------------------------------------------------------------------------


def test_the_running_case_of_the_batching_lesson():
    """One rack as the lesson has it: cache dealt out evenly. Beside it we count attention's FLOPs, leave out the
    embedding, and ask who chose an expert.
    """
    batch, embedding = 3000, 129_280 * 7168
    p = predict(
        "deepseek-v3", chip="gb200-nvl72", chips=72, tensor=72, cache="tokens", batch=batch, context=1000, weights="fp8"
    )
    lesson = {
        name: term(case.RUNNING, batch=batch)
        for name, term in (
            ("multiply", batching.compute_time),
            ("weights", batching.weight_time),
            ("cache", batching.kv_time),
        )
    }
    rack = catalogue.system("gb200-nvl72")
    assert p.terms["cache"] == near(lesson["cache"])
    assert p.terms["multiply"] == near(lesson["multiply"] - 2 * batch * embedding / rack.flops("fp8"))
    assert p.terms["weights"] == near(lesson["weights"] - embedding / rack.bandwidth)
    assert p.terms["attend"] == near(
        batch * catalogue.model("deepseek-v3").attention_flop(1000) / rack.flops("bf16")
    ), "the cache is in bf16"
    ours, theirs = max(p.resources["compute"], p.resources["memory"]), batching.step_time(case.RUNNING, batch=batch)
    assert theirs > ours > 0.997 * theirs, (
        "of the lesson's step only the embedding is missing; links are in the other lessons"
    )


@pytest.mark.parametrize("batch", [1, 5, 64, 1000])
def test_the_sparsity_lesson_touches_the_same_weights(batch):
    model = catalogue.model("deepseek-v3")
    routed = 58 * 256 * 3 * 7168 * 2048
    values = model.symbols("fp8") | {"bandwidth": H800.bandwidth, "batch": batch}
    assert v3(batch=batch).terms["weights"] == near(sparsity.touched_time(values) - 129_280 * 7168 / H800.bandwidth)
    assert sparsity.routed_params(values) == near(routed)


def test_the_racks_lesson_sends_a_copy_for_each_expert():
    values = dict(layers=58, micro_batches=1, tokens_per_chip=64, width=7168, scale_up=900e9, **racks.FP8_OUT)
    p = predict("deepseek-v3", chip="gb200-nvl72", chips=64, expert=64, batch=64 * 64)
    assert p.terms["expert"] == near(racks.comm_time(values, copies=chips_visited(expert_parallel=64, top_k=8)))
    assert 0.75 < p.terms["expert"] / racks.comm_time(values, copies=9) < 0.9, (
        "two experts on one chip share a copy, and the shared one is on every chip"
    )


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED = [
    ({"model": "lama-3.1-70b"}, UnknownId, "near: llama-3.1-70b"),
    ({"model": 70}, UnknownId, "models() lists"),
    ({"model": None}, UnknownId, "models() lists"),
    ({"chip": "h100"}, UnknownId, "near: h100-sxm"),
    ({"chip": None}, UnknownId, "chips() lists"),
    ({"phase": "decod"}, ValueError, "decode, prefill"),
    *(
        ({name: value}, ValueError, f"{name} must be a positive number")
        for name in ("batch", "context")
        for value in (0, -1, math.nan, math.inf, "8", True, None, [1], 10**400)
    ),
    *(
        ({name: value}, LayoutError, f"{name} must be a whole number")
        for name in ("chips", "tensor", "expert", "pipeline")
        for value in (0, -2, 1.5, "2", True, math.nan)
    ),
    ({"chips": 6, "tensor": 4}, LayoutError, "6 chips are not a multiple of tensor × pipeline = 4 × 1"),
    ({"chips": 4, "pipeline": 3}, LayoutError, "not a multiple"),
    ({"chips": 8, "expert": 2}, LayoutError, "leave expert at 1"),
    ({"model": "deepseek-v3", "chips": 8, "expert": 3}, LayoutError, "do not divide"),
    (
        {"model": "deepseek-v3", "chips": 576, "expert": 576},
        LayoutError,
        "256 experts in a layer, fewer than expert = 576 chips; take expert=192, and 576 chips hold 3 copies",
    ),
    ({"model": "mixtral-8x7b", "chips": 16, "expert": 16}, LayoutError, "take expert=8, and 16 chips hold 2 copies"),
    *(
        ({"phase": "prefill", "batch": batch}, ValueError, "in prefill batch must be 1 or more")
        for batch in (0.5, 0.999)
    ),
    ({"chips": 81, "pipeline": 81}, LayoutError, "80 layers, fewer than 81 stages"),
    ({"cache": "pages"}, LayoutError, '"heads" or by "tokens"'),
    ({"model": "lecture-moe"}, LayoutError, "choose a model with an architecture"),
    *(({name: "fp7"}, UnknownId, "no precision 'fp7'; there are: bf16") for name in ("weights", "kv", "compute")),
    ({"kv": "fp8_ds_mla"}, UnknownId, "no precision"),
    ({"compute": "fp4"}, UnknownId, "no fp4 rate; it has: bf16, fp8"),
    ({"chip": "rubin-ultra-kyber"}, UnknownId, "no bf16 rate"),
    ({"calibration": "trtllm"}, UnknownId, "near: trtllm-h200"),
    ({"calibration": []}, UnknownId, "there are: trtllm-h200"),
    ({"rent": "spot"}, UnknownId, "confirmed: median of 16"),
    (
        {"chip": "b300", "rent": "three"},
        UnknownId,
        "RunPod community; listed but not confirmed: three-year contract, guessed",
    ),
    ({"chip": "b100", "rent": "secure"}, UnknownId, "confirmed: none"),
]


@cases(
    "given, error, description",
    REFUSED,
    ids=[str(next(iter(row[0].items())))[:40] + str(n) for n, row in enumerate(REFUSED)],
)
def test_what_is_refused_and_how(given, error, description):
    with pytest.raises(error) as raised:
        predict(**{"model": "llama-3.1-70b", "chip": "h100-sxm"} | given)
    assert description in str(raised.value) and "\n" not in str(raised.value)


def test_numbers_beyond_all_chips_are_told_or_refused():
    p = llama(context=1e200)
    assert 1e190 < p.time < math.inf and "does not fit" in p.short
    assert "EB a chip" in p.short and len(p.short) < 200
    with pytest.raises(ValueError, match="finite"):
        assert llama(batch=1e305).time


def test_more_chips_than_heads_are_no_mistake():
    """PaLM 540B with its 48 heads was served on 64 chips: matrices can be cut the other way as well."""
    p = predict("palm-540b", chip="tpu-v4", chips=64, batch=64, context=2048)
    assert (
        p.layout.tensor == 64 > 48
        and read(p) == near(2 * p.layout.model.n_total / 64)
        and read(p, "cache") == near(64 * 2048 * 118 * 2 * 256 * 2)
    )


def test_a_chip_without_the_format_multiplies_in_16_bits():
    a100 = predict("llama-3.1-8b", chip="a100-80gb", weights="fp8")
    assert a100.compute == "bf16" and predict("llama-3.1-8b", chip="h100-sxm", weights="fp8").compute == "fp8"
    assert (
        predict("llama-3.1-8b", chip="h100-sxm", weights="int8").compute == "int8"
        and predict("gpt-oss-20b", chip="h100-sxm").compute == "bf16"
    )


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    p = llama(chips=numpy.int64(8), batch=numpy.int32(64), context=numpy.float64(4096))
    assert p.terms == near(llama(chips=8, batch=64, context=4096).terms) and type(p.batch) is int


@pytest.mark.parametrize("bytes_name", ["bf16", "fp8", "fp4"])
def test_a_batch_of_one_on_one_chip_is_weights_over_bandwidth(bytes_name):
    model = catalogue.model("qwen3-14b")
    p = predict(model, chip=B200, weights=bytes_name, context=1)
    assert p.binds == "weights" and p.time == near(
        bytes_per_param(bytes_name) * (model.n_total - model.vocab * model.d_model) / 8e12, 1e-3
    )


# --- constants that hold elsewhere, and other warnings ----------------------------------------------------------------


def test_auto_takes_constants_of_kernels_for_dense_models_only():
    p = llama(chips=8, calibration="auto", weights="bf16")
    assert p.calibration.id == "kernels-h200-bf16" and 0 < p.expected_error < 0.15
    for chip in ("h200", "h100-sxm"):
        assert predict("mixtral-8x7b", chip=chip, weights="bf16", calibration="auto").calibration.id == "fallback"


def test_auto_is_refused_nowhere_and_states_the_error_to_expect():
    """All chips, models and formats: where the ideal is predicted, so is this, and only where nothing is sourced it
    falls back, and says so.
    """
    fallbacks = 0
    for chip, model, format in product(catalogue.chips(), MODELS, ("bf16", "fp8", "fp4", "int8", "mxfp4")):
        batches = (1, 256) if format == "bf16" else (32,)
        try:
            ideals = [predict(model, chip=chip, weights=format, batch=batch).time for batch in batches]
        except UnknownId:
            continue
        for ideal, batch in zip(ideals, batches):
            p = predict(model, chip=chip, weights=format, batch=batch, calibration="auto")
            assert p.time > ideal and 0 < p.expected_error < 0.6
            assert bool(p.fallback) == (p.calibration.id == "fallback") == (auto(chip, p.compute, model) is None)
            fallbacks += bool(p.fallback)
    assert fallbacks > 2_000


def test_a_fallback_is_what_serving_takes_and_says_so():
    """Llama 8B on one MI300X, worked out from the shares and gaps of vLLM, the data sheet and the model's sizes."""
    p = predict("llama-3.1-8b", chip="mi300x", batch=64, context=1000, calibration="auto")
    served = predict_serving("llama-3.1-8b", chip="mi300x")
    shares, model = served.calibration.values, p.layout.model
    matrices = model.n_total - model.vocab * model.d_model  # embeddings are looked up
    cache = 2 * 8 * 128 * 2 * 32 * 1000 * 64  # keys and values of 8 heads in 32 layers
    memory = (2 * matrices + cache) / 5.3e12 / shares["memory_efficiency"]
    attend = 4 * 32 * 128 * 32 * 1000 * 64
    compute = (2 * matrices * 64 + attend) / 1307.4e12 / shares["compute_efficiency"]
    gaps = (32 * (6 + 4) + 4) * shares["gap_time"]
    assert p.time == near(memory + compute + gaps, 1e-3)
    assert p.fallback == "mi300x in bf16, dense models" and served.description in p.calibration.description
    told = str(p).splitlines()
    assert any(line.startswith("constants from") and served.description in line for line in told)
    assert any(line.startswith("expected error") and f"± {100 * p.expected_error:.0f}%" in line for line in told)
    assert "no sourced constants for mi300x in bf16, dense models: fell back on those of vLLM under load" in p.beware
    assert f"± {100 * p.expected_error:.0f}% expected; fallback on an engine" in repr(p)
    numbers = p.numbers()
    assert numbers["fallback"] == p.fallback and numbers["expected_error"] == p.expected_error
    assert numbers["constants"] == p.calibration.description
    known = llama(calibration="auto", weights="fp8")
    assert known.fallback == known.numbers()["fallback"] == "" and "fallback" not in str(known) + repr(known)


def _line(lines: list[str], id: str) -> str:
    (found,) = (line for line in lines if line.split()[0] == id)
    return found


def test_the_list_of_constants_says_for_what_auto_takes_them():
    lines = listed().splitlines()
    assert len(lines) == len(ids()) and max(map(len, lines)) <= 80
    for id in ids():
        *chips, kind = _line(lines, id).split()[1:]
        model = {"dense": "llama-3.1-8b", "experts": "deepseek-v3"}[kind]
        for chip in catalogue.chips():
            for format in ("bf16", "fp8", "fp4", "int8"):
                taken = _taken(chip, format, catalogue.model(model))
                said = any(word.strip(",") == chip.id for word in chips) and any(
                    word.strip(",") == format for word in chips
                )
                assert taken != id or said
    assert "by its id alone" in _line(lines, "sglang-h100") and not any(
        _taken(chip, "fp8", catalogue.model("deepseek-v3")) == "sglang-h100" for chip in catalogue.chips()
    )


def _taken(chip, format: str, model) -> str | None:
    found = auto(chip, format, model)
    return found and found.id


def test_what_auto_takes_is_what_was_fitted():
    """No warning but those of kernels: a calibration that auto takes holds for chip, format and kind of model."""
    found = 0
    for chip in catalogue.chips():
        for model in ("llama-3.1-8b", "qwen3-235b-a22b"):
            for format in ("bf16", "fp8", "fp4", "int8"):
                if _taken(chip, format, catalogue.model(model)):
                    p = predict(model, chip=chip, weights=format, compute=format, calibration="auto")
                    told, found = [line for line in p.beware if "constants" in line], found + 1
                    assert len(told) == p.calibration.id.startswith("kernels")
    assert found > 10


KERNELS = "constants of kernels, not of an engine: compare only with predictions from the same constants"


@pytest.mark.parametrize(
    "id, model, options, description",
    [
        (
            "trtllm-h200",
            "llama-3.1-70b",
            {"chip": "mi300x", "weights": "bf16"},
            "constants fitted on h200 in fp8, dense models; here mi300x in bf16",
        ),
        (
            "trtllm-h200",
            "llama-3.1-70b",
            {"chip": "h200", "weights": "bf16"},
            "constants fitted on h200 in fp8, dense models; here h200 in bf16",
        ),
        (
            "trtllm-h200",
            "llama-3.1-70b",
            {"chip": "mi300x", "weights": "fp8"},
            "constants fitted on h200 in fp8, dense models; here mi300x in fp8",
        ),
        ("trtllm-h200", "llama-3.1-70b", {"chip": "h100-sxm", "weights": "fp8"}, None),
        ("trtllm-h200", "llama-3.1-70b", {"chip": "h800", "weights": "fp8"}, None),
        (
            "trtllm-h200",
            "deepseek-v3",
            {"chip": "h200", "weights": "fp8"},
            "constants fitted on h200 in fp8, dense models; here h200 in fp8, mixtures of experts",
        ),
        (
            "trtllm-moe-b200",
            "llama-3.1-8b",
            {"chip": "b200", "weights": "fp4"},
            "constants fitted on b200 in fp4, mixtures of experts; here b200 in fp4, dense models",
        ),
        ("gptfast-a100", "llama-3.1-8b", {"chip": "a100-40gb"}, None),
        (
            "gptfast-a100",
            "llama-3.1-8b",
            {"chip": "h100-sxm"},
            "constants fitted on a100-80gb in bf16, dense models; here h100-sxm in bf16",
        ),
        ("sglang-h100", "deepseek-v3", {"chip": "h100-sxm"}, None),
        (
            "sglang-h100",
            "deepseek-v3",
            {"chip": "b200"},
            "constants fitted on h100-sxm in fp8, mixtures of experts; here b200 in fp8",
        ),
        ("palm-tpu-v4", "palm-8b", {"chip": "tpu-v4", "weights": "int8"}, None),
        ("kernels-h200-fp8", "llama-3.1-8b", {"chip": "h100-sxm", "weights": "fp8"}, KERNELS),
        ("kernels-h200-bf16", "llama-3.1-8b", {"chip": "h200"}, KERNELS),
        (
            "kernels-h200-bf16",
            "mixtral-8x7b",
            {"chip": "h200"},
            "constants fitted on h200 in bf16, dense models; here h200 in bf16, mixtures of experts",
        ),
    ],
)
def test_constants_elsewhere_are_warned_of(id, model, options, description):
    told = [line for line in predict(model, calibration=id, **options).beware if line.startswith("constants ")]
    assert told == [
        *([KERNELS] if id.startswith("kernels") else []),
        *([description] if description and description != KERNELS else []),
    ]


def test_mixtures_of_experts_on_the_constants_of_another_are_warned_of():
    """DeepSeek on Qwen's constants, by auto or by id; models that are built alike share them."""
    description = lambda fitted, model: f"constants fitted on {fitted}; here {model}, which is built otherwise"
    for model in ("deepseek-v3", "kimi-k2", "qwen3-30b-a3b"):
        for calibration in ("auto", "trtllm-moe-h200"):
            p = predict(model, chip="h200", chips=8, expert=8, weights="fp8", calibration=calibration)
            assert description("qwen3-235b-a22b", model) in p.beware and p.calibration.id == "trtllm-moe-h200"
    for model, told in (("deepseek-v3", False), ("deepseek-r1", False), ("deepseek-v3.2", True)):
        p = predict(model, chip="h100-sxm", chips=8, expert=8, weights="fp8", calibration="sglang-h100")
        assert (description("deepseek-v3", model) in p.beware) == told
    own = predict("qwen3-235b-a22b", chip="h200", chips=8, expert=8, weights="fp8", calibration="auto")
    assert not any("built otherwise" in line for line in own.beware + llama(chips=8, calibration="auto").beware)


def test_the_expected_error_is_of_runs_that_were_not_fitted():
    """Worked out again from published throughputs, for a model that the fit has seen, and for one that it has not."""
    off = lambda rows: [abs(predicted_rate(row) / row["throughput_token_per_s"] - 1) for row in rows]
    seen = predict("llama-3.1-70b", chip="h200", weights="fp8", calibration="auto")
    rows = measurement("trtllm_v1_0_throughput").records(model="Llama-3.3-70B", chip="H100")
    assert len(rows) == 10 and seen.expected_error == pytest.approx(statistics.mean(off(rows)), abs=0.01)
    other = predict("deepseek-v3", chip="h200", chips=8, expert=8, calibration="auto")
    assert other._held_out.models == ("llama-4-maverick",) and 0.1 < other.expected_error < 0.3
    assert "± 3%, as on 10 runs not fitted, of llama-3.1-70b" in str(seen)
    assert predict("deepseek-v3", chip="h200", chips=8).expected_error is None, "the ideal is a bound"
    assert predict("deepseek-v3", chip="h200", calibration="trtllm-h200").expected_error is None, "of another kind"


def predicted_rate(row):
    """Tokens a second at full load on 2 H100, from the step alone."""
    batch = min(serving_runs.requests(row), room(row))
    prompt, answer = row["input_tokens"], row["output_tokens"]
    layout = Layout(catalogue.model("llama-3.1-70b"), catalogue.chip("h100-sxm"), 2, 2)
    work = serving_runs.steady(layout, batch, prompt, answer, "fp8")
    constants = calibration_by_id("trtllm-h200")
    times = resources(step_terms(layout, work, "fp8", "fp8", constants))
    return batch / sum(times.values())


def room(row):
    """Whole requests that nine tenths of the free memory hold."""
    free = 2 * (80e9 - catalogue.model("llama-3.1-70b").n_total / 2)
    each = 2 * 80 * 8 * 128 * (row["input_tokens"] + row["output_tokens"])
    return 0.9 * free / each


def test_multiplying_that_was_not_fitted_is_warned_of_in_prompts():
    description = "compute efficiency not fitted: multiplying at its peak"
    a100 = {
        phase: predict("llama-2-7b", chip="a100-80gb", phase=phase, calibration="auto")
        for phase in ("decode", "prefill")
    }
    assert description in a100["prefill"].beware and description not in a100["decode"].beware
    assert flop(a100["prefill"]) == near(flop(predict("llama-2-7b", chip="a100-80gb", phase="prefill"))), (
        "it is at its peak"
    )
    assert (
        description
        not in predict("llama-3.1-8b", chip="h200", weights="fp8", phase="prefill", calibration="auto").beware
        and not llama(chips=8, phase="prefill").beware
    )


@pytest.mark.parametrize(
    "chip, weights, widened",
    [
        ("a100-80gb", "fp4", "bf16"),
        ("a100-80gb", "fp8", "bf16"),
        ("a100-80gb", "int8", None),
        ("h100-sxm", "fp4", "bf16"),
        ("h100-sxm", "mxfp4", "bf16"),
        ("h100-sxm", "int8", None),
        ("h100-sxm", "fp8", None),
        ("b200", "int8", "bf16"),
        ("b200", "nvfp4", None),
        ("b200", "bf16", None),
    ],
)
def test_narrow_weights_that_are_widened_are_warned_of(chip, weights, widened):
    told = [line for line in predict("llama-3.1-8b", chip=chip, weights=weights).beware if "widened" in line]
    assert told == (
        [f"weights in {weights} are widened to {widened} before they are multiplied; no term counts that"]
        if widened
        else []
    )


@pytest.mark.parametrize(
    "model, options, description",
    [
        ("llama-3.1-70b", {"tensor": 8}, []),
        ("llama-3.1-70b", {"tensor": 4}, []),
        ("llama-3.1-70b", {"tensor": 16, "chip": "gb200-nvl72"}, ["8 key-value heads on 16 chips: each is held twice"]),
        (
            "llama-3.1-70b",
            {"tensor": 64, "chip": "gb200-nvl72"},
            ["8 key-value heads on 64 chips: each is held 8 times"],
        ),
        ("llama-3.1-70b", {"tensor": 16, "chip": "gb200-nvl72", "cache": "tokens"}, []),
        (
            "llama-3.1-70b",
            {"tensor": 9, "chip": "gb200-nvl72"},
            ["64 heads on 9 chips are not cut evenly", "8 key-value heads on 9 chips: some are held twice"],
        ),
        (
            "llama-3.1-70b",
            {"tensor": 3},
            ["64 heads on 3 chips are not cut evenly", "8 key-value heads on 3 chips are not cut evenly"],
        ),
        ("palm-8b", {"tensor": 2}, ["1 key-value head on 2 chips: each is held twice"]),
        (
            "llama-2-7b",
            {"tensor": 16},
            ["a group of 16 tensor chips, and a scale-up domain has 8: every all-reduce leaves it"],
        ),
        ("llama-2-7b", {"tensor": 8, "chips": 16}, []),
        ("deepseek-v3", {"tensor": 8}, ["a latent has no heads to be cut by: each of 8 chips holds all of it"]),
        ("deepseek-v3", {"tensor": 8, "cache": "tokens"}, []),
        ("deepseek-v3", {"expert": 8}, []),
        (
            "deepseek-v3",
            {"expert": 72, "chip": "gb200-nvl72"},
            [
                "256 experts on 72 chips: the fullest has 4, 12.5% more than the mean that is predicted, and takes as"
                " much longer over them"
            ],
        ),
        ("deepseek-v3", {"expert": 64, "chip": "gb200-nvl72"}, []),
        (
            "llama-3.1-405b",
            {"pipeline": 4, "chips": 32},
            [
                "126 layers on 4 stages: the fullest has 32, 1.59% more than the mean that is predicted, and all wait"
                " for it where every stage has work"
            ],
        ),
        ("llama-3.1-405b", {"pipeline": 2, "chips": 16}, []),
    ],
)
def test_what_tensor_chips_cannot_share_is_warned_of(model, options, description):
    p = predict(
        model,
        **{"chip": "h200", "chips": options.get("tensor", options.get("expert", 1)), "weights": "fp8", "context": 100}
        | options,
    )
    assert [line for line in p.beware if line != p.short] == description


@pytest.mark.parametrize(
    "model, ways, count", [("deepseek-v3", {"expert": 72}, 256), ("llama-3.1-405b", {"pipeline": 4}, 126)]
)
def test_the_price_of_an_uneven_cut_is_that_of_dealing_it_out(model, ways, count):
    """One after the other, as cards are dealt: the longest hand over the mean."""
    (parts,) = ways.values()
    dealt = [len(range(part, count, parts)) for part in range(parts)]
    (told,) = [line for line in predict(model, chip="gb200-nvl72", chips=72, **ways).beware if "fullest" in line]
    assert f"has {max(dealt)}, {100 * (max(dealt) / (sum(dealt) / parts) - 1):.3g}% more" in told


def test_copies_that_are_warned_of_are_in_memory():
    """Second route: the chips of a group together hold as many caches as the warning says."""
    for tensor, copies in ((8, 1), (16, 2), (64, 8)):
        p = llama(chip="gb200-nvl72", chips=tensor)
        assert tensor * p.memory_per_chip["cache"] == near(copies * p.layout.model.kv_bytes(1024)) and (
            copies > 1
        ) == bool(p.beware)


def test_all_warnings_are_printed_a_line_each():
    p = predict(
        "llama-2-70b",
        chip="a100-80gb",
        chips=16,
        batch=5000,
        context=9000,
        weights="fp4",
        calibration="kernels-h200-bf16",
    )
    assert len(p.beware) == 7 and [value for name, value in printed(p) if name == "beware"] == list(p.beware)
    assert p.short == p.beware[0] and "the model is made for 4,096 tokens of context" in p.beware
    few = llama(chips=8, weights="fp8", calibration="auto")
    assert few.outside and few.beware == (f"extrapolated: {few.outside}",)


def test_help_tells_every_argument_and_its_default():
    signature = inspect.signature(predict).parameters
    told = {match[1]: match[2] for match in re.finditer(r"^(\w+)  +(\S.*)$", inspect.getdoc(predict), re.M)}
    assert list(told) == list(signature)
    for name, parameter in signature.items():
        if parameter.default not in (inspect.Parameter.empty, None, ""):
            wanted = f'"{parameter.default}"' if isinstance(parameter.default, str) else str(parameter.default)
            assert f"({wanted})" in told[name] or f"({wanted}:" in told[name]
    p = llama(chips=8)
    attributes = re.findall(r"`(\w+)`", inspect.getdoc(predict).split("Returned", 1)[1])
    assert len(attributes) == 13 and all(hasattr(p, name) for name in attributes)


def test_a_fit_knows_the_least_and_the_most_batch_of_its_rows():
    fits = [fit(recipe) for recipe in RECIPES]
    for recipe, found in zip(RECIPES, fits):
        batches = sorted(case.work.sequences / case.layout.chips for case in recipe.inside)
        assert found.batches == (batches[0], batches[-1]), recipe.id
    assert any(found.batches[0] < found.batches[1] for found in fits)
