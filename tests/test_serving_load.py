"""Serving under load: units and limits, Little's law, floors, fallbacks, and the event simulation as a second route."""

import itertools
import json
import math

import numpy
import pytest
from cases import cases

from blackboard import catalogue
from blackboard.__main__ import main
from blackboard.formula import FormulaError
from blackboard.lessons.overheads.kernels import Plan, fused
from blackboard.prediction import predict_serving
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.continuous_batching import simulate
from blackboard.prediction.layout import LayoutError
from blackboard.prediction.serving_calibration import runs, sharding
from blackboard.prediction.serving_steps import ENGINES, Settings, kernels

LLAMA = {"model": "llama-3.1-70b", "chip": "h200", "chips": 4, "weights": "fp8"}


# --- the closed form against events -----------------------------------------------------------------------------------

LOADS = {
    "one": {"concurrency": 1},
    "few": {"concurrency": 4},
    "many": {"concurrency": 64},
    "launching binds": {"concurrency": 48, "chip": "b200", "chips": 8},
    "prompts stall decodes": {
        "concurrency": 32,
        "model": "deepseek-r1",
        "chip": "h200",
        "chips": 8,
        "engine": "sglang",
    },
    "prompts held back": {"concurrency": 8, "prompt": 512, "engine": "trtllm", "chips": 2},
    "attention data-parallel": {
        "concurrency": 64,
        "model": "deepseek-r1",
        "chips": 8,
        "tensor": 1,
        "expert": 8,
    },
    "long prompts in parts": {"concurrency": 8, "prompt": 16_384},
}


@pytest.mark.parametrize("load", LOADS, ids=str)
@pytest.mark.slow
def test_the_closed_form_agrees_with_a_simulation_of_every_request(load):
    p = predict_serving(**({"prompt": 1024, "output": 512} | LLAMA | LOADS[load]))
    found = simulate(p.server, p.calibration.values)
    assert p.output_token == pytest.approx(found.output_token, rel=0.05)
    assert p.first_token == pytest.approx(found.first_token, rel=0.25 if "parts" in load else 0.15)


def test_little_holds_in_every_simulated_run():
    p = predict_serving(**LLAMA, prompt=256, output=128, concurrency=16)
    found = simulate(p.server, {name: v for name, v in p.calibration.values.items() if name != "request_gap"})
    assert found.in_flight == pytest.approx(16, rel=0.1)  # users end at different times
    assert found.in_flight == pytest.approx(found.requests_per_s * found.response, rel=1e-12)


@pytest.mark.parametrize("users", (1, 7, 64, 2_000, 100_000))
def test_requests_in_flight_are_their_rate_times_their_stay(users):
    p = predict_serving(**LLAMA, concurrency=users)
    assert p.requests_per_s * p.response == pytest.approx(users, rel=1e-9)


def test_an_open_loop_finds_the_closed_one_of_its_rate_and_refuses_more_than_the_server_answers():
    closed = predict_serving(**LLAMA, concurrency=32, requests=None)
    opened = predict_serving(**LLAMA, rate=closed.requests_per_s)
    assert opened.server.users == pytest.approx(32, rel=1e-6)
    assert opened.output_token == pytest.approx(closed.output_token, rel=1e-6)
    with pytest.raises(ValueError, match="never end"):
        predict_serving(**LLAMA, rate=1.01 * closed.most_rate)


def test_what_does_not_fit_waits_outside():
    p = predict_serving("llama-3.1-70b", chip="h200", weights="fp8", prompt=8192, output=1024, concurrency=200)
    assert 0 < p.fits < 200 and p.queued == pytest.approx(200 - p.fits)
    assert p.first_token > 10 * predict_serving(**LLAMA, prompt=8192, concurrency=10).first_token
    assert any("wait" in said for said in p.beware)


# --- steps ------------------------------------------------------------------------------------------------------------


def test_a_mixed_step_costs_less_than_a_decode_and_a_prefill_apart():
    server = predict_serving(**LLAMA, concurrency=64).server
    time = lambda *step: eq.device_time(server.step(*step))
    assert time(64, 1, 900) < time(64, 0) + time(0, 1, 900)
    assert time(64, 1, 900) > max(time(64, 0), time(0, 1, 900))


def test_groups_of_chips_answer_their_own_sequences_and_fill_their_own_steps():
    load = {"model": "deepseek-r1", "chip": "h200", "chips": 8, "expert": 8, "concurrency": 64, "engine": "trtllm"}
    apart, together = (predict_serving(**load, tensor=tensor).server for tensor in (1, 8))
    assert apart.step(64, 0)["answers"] == 8 and together.step(64, 0)["answers"] == 64
    assert apart.plan["at_once"] == 8 * together.plan["at_once"]
    assert apart.plan["held_steps"] > 0 == together.plan["held_steps"]


def test_a_share_of_what_weights_leave_holds_weights_of_any_share():
    load = {"model": "llama-3.1-70b", "chip": "b200", "chips": 1, "weights": "bf16", "concurrency": 4}
    free, whole = (predict_serving(**load, engine=engine).server for engine in ("trtllm", "vllm"))
    left = free.chip.hbm_bytes - sum(free.weights_per_chip.values())
    each = free.layout.cache_per_chip(1, free.prompt + free.output / 2, free.cache)
    assert free.fits == pytest.approx(0.9 * left / each) and free.most_weights > whole.most_weights


def test_with_one_user_nobody_interferes():
    p = predict_serving(**LLAMA, concurrency=1, requests=None)
    decode = eq.mixed_time(p.server.step(1, 0), calibration=p.calibration.values)
    assert p.output_token == pytest.approx(decode, rel=1e-12)


def test_nothing_is_faster_than_the_ideal():
    for model, chip, chips, users in itertools.product(
        ("llama-3.1-70b", "gpt-oss-120b"), ("h100-sxm", "b200"), (2, 8), (1, 32, 256)
    ):
        load = {"model": model, "chip": chip, "chips": chips, "concurrency": users}
        real, ideal = predict_serving(**load), predict_serving(**load, calibration=None)
        assert real.output_token > ideal.output_token and real.first_token > ideal.first_token


def test_no_measured_token_is_faster_than_an_ideal_decode_step():
    for run in runs():
        server = run.server
        shared = {name: value for name, value in server.step(server.users, 0).items() if not name.startswith("expert")}
        assert run.output > eq.device_time(shared | {"expert_read": 0, "expert_multiply": 0})


def test_experts_wait_for_the_busiest_chip_as_drawn_experts_say():
    draw = numpy.random.default_rng(0)
    for places, tokens in ((8, 64), (8, 1024), (32, 512)):
        experts, top_k = 256, 8
        chosen = numpy.array([draw.random((tokens, experts)).argsort(1)[:, :top_k] for _ in range(40)])
        loads = numpy.array([numpy.bincount((run // (experts // places)).ravel(), minlength=places) for run in chosen])
        mean = tokens * top_k / places
        formula = eq.busiest(places=places, mean_load=mean, spread_load=mean * (1 - 1 / places))
        assert formula - 1 == pytest.approx((loads.max(1) / mean).mean() - 1, rel=0.25)


def test_padding_is_half_a_tile_for_each_touched_expert():
    draw, tile, tokens, experts, top_k = numpy.random.default_rng(1), 64, 8192, 64, 4
    counts = numpy.bincount(draw.random((tokens, experts)).argsort(1)[:, :top_k].ravel(), minlength=experts)
    rows = (-(-counts // tile) * tile).sum()
    ours = eq.padded_rows(routed_tokens=tokens, top_k=top_k, experts=experts, touched=1.0, tile=tile)
    assert ours == pytest.approx(rows, rel=0.02)


def test_clumps_are_as_dense_as_simulated_rounds_are_narrow():
    draw, least, rounds = numpy.random.default_rng(2), 0.8, 10
    ends = numpy.cumsum(draw.uniform(least, 1, (rounds - 1, 4000)), 0)
    widths = ends.std(1) * math.sqrt(12) / ((1 + least) / 2)  # of a uniform window with that spread, in mean lengths
    assert eq.clumping(least_share=least, requests_per_user=rounds) == pytest.approx((1 / widths).mean(), rel=0.15)


WRITTEN_OUT = [
    model
    for model in catalogue.models()
    if not (model.given or model.id == "gemma-4-26b-a4b" or any(each.kind == "compressed" for each in model.attention))
]


@cases("model", WRITTEN_OUT, ids=lambda model: model.id)
def test_kernels_are_those_that_the_compiler_fuses(model):
    assert kernels(model) == len(fused(model.id, Plan()))


# --- every configuration ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_chip_and_model_has_a_prediction_that_says_its_constants_and_error():
    models = [model for model in catalogue.models() if not model.given]
    for chip, model, engine in itertools.product(catalogue.chips(), models, ENGINES):
        p = predict_serving(model, chip=chip, chips=8, concurrency=16, engine=engine)
        assert 0 < p.output_token < math.inf and 0 < p.first_token < math.inf
        assert p.description and p.expected_error["output_token"] > 0 and p.expected_error["first_token"] > 0


def test_a_fallback_says_whose_constants_it_took():
    near = lambda **load: predict_serving(**load).calibration.near
    assert near(**LLAMA) == "chip"
    assert near(**LLAMA | {"chip": "h100-sxm"}) == "generation"
    assert near(**LLAMA | {"chip": "mi300x"}) == "engine"
    assert near(**LLAMA, engine="sglang") == "kind"
    said = predict_serving(**LLAMA | {"chip": "h100-sxm"}).description
    assert "h200" in said and "data sheet" in said


def test_rows_of_n_by_n_chips_had_n():
    row = {"tensor_parallel": 64, "expert_tensor_parallel": 8, "expert_parallel": 8, "attention_data_parallel": 1}
    row["engine"] = "sglang"
    assert sharding(row) == (8, 8, 8)
    assert sharding(row | {"tensor_parallel": 1, "attention_data_parallel": 64}) == (8, 1, 8)
    assert sharding({"engine": "vllm", "tensor_parallel": 4}) == (4, 4, 1)


def test_tensorrt_llm_deals_experts_out_whatever_its_rows_say():
    row = {"tensor_parallel": 4, "expert_tensor_parallel": 4, "expert_parallel": 1, "engine": "trtllm"}
    assert sharding(row) == (4, 4, 4) and sharding(row | {"engine": "vllm"}) == (4, 4, 1)
    found = {run.server for run in runs() if run.key == ("trtllm", "h200", "experts")}
    assert all(server.layout.expert == server.layout.chips for server in found)


def test_runs_that_may_have_drafted_are_apart_and_faster_than_others_with_their_settings():
    found, others = runs(drafted=True), {run.server: run for run in runs()}
    assert len(found) == 7 and not {run.server for run in found if run.server.layout.tensor == 1} & others.keys()
    pairs = [(run, others[run.server]) for run in found if run.server.layout.tensor == 8]
    assert len(pairs) == 5
    assert all(1.3 < other.output / run.output < 1.7 and run.first > other.first for run, other in pairs)


def test_prices_by_share_of_time_add_up():
    p = predict_serving(**LLAMA, concurrency=64)
    into, out = p.server.prompt, p.server.output
    assert p.usd_per_mtok * (into + out) == pytest.approx(p.usd_per_mtok_in * into + p.usd_per_mtok_out * out)
    hour = p.rent.usd_per_chip_hour * 4
    assert p.usd_per_mtok == pytest.approx(hour / 3600 / (p.requests_per_s * (into + out)) * 1e6)


def test_a_user_alone_pays_for_the_prompt():
    """As much of the rent as the prompt takes of the time: nearly all of the time to the first token."""
    p = predict_serving("llama-3.1-8b", chip="h100-sxm", concurrency=1)
    share = p.usd_per_mtok_in * p.server.prompt / (p.usd_per_mtok * (p.server.prompt + p.server.output))
    assert 0.5 * p.first_token / p.response < share < p.first_token / p.response


def test_parts_add_up_to_the_token():
    for load in (LLAMA, {"model": "deepseek-r1", "chip": "b200", "chips": 8, "engine": "sglang"}):
        p = predict_serving(**load, concurrency=48)
        assert sum(p.parts.values()) == pytest.approx(p.output_token, rel=1e-6)
        assert p.binds in p.parts and p.binds in str(p)


# --- what makes no sense ----------------------------------------------------------------------------------------------


def test_what_makes_no_sense_is_refused():
    for wrong in (
        {"engine": "tgi"},
        {"concurrency": 0},
        {"prompt": -1},
        {"spread": 0},
        {"concurrency": 3, "rate": 1},
        {"requests": 0},
    ):
        with pytest.raises(ValueError):
            predict_serving(**LLAMA | wrong)
    with pytest.raises(LayoutError):
        predict_serving("deepseek-v3", chip="h200", chips=512, tensor=1, expert=512)
    with pytest.raises(FormulaError):
        eq.busiest(places=1, mean_load=1, spread_load=1)


def test_steps_that_are_recorded_have_few_launches_also_with_a_prompt():
    load = {"model": "gpt-oss-120b", "chip": "h200", "concurrency": 16}
    recorded, launched = (predict_serving(**load, engine=engine).server for engine in ("vllm", "trtllm"))
    assert recorded.step(16, 1, 900)["launched"] == 2 * 36 < launched.step(16, 1, 900)["launched"]
    assert recorded.step(16, 3, 2700)["launched"] == kernels(recorded.model) == launched.step(16, 1, 900)["launched"]
    assert recorded.step(16, 0)["launched"] == 0


def test_settings_can_be_given():
    small = predict_serving(**LLAMA, prompt=8192, concurrency=16, settings=Settings(512, True))
    assert small.server.plan["parts"] > 8


def test_the_command_prints_what_the_function_returns(capsys):
    asked = ["serve-plan", "llama-3.1-70b", "--chip", "h200", "--chips", "4", "--weights", "fp8", "--concurrency", "16"]
    p = predict_serving(**LLAMA, concurrency=16)
    assert main(asked) == 0 and capsys.readouterr().out.strip() == str(p)
    assert main([*asked, "--json"]) == 0 and json.loads(capsys.readouterr().out) == p.numbers()
    assert main(["serve-plan", "llama-3.1-70b", "--chip", "h200", "--rate", "1e9", "--weights", "fp8"]) == 2
    assert "never end" in capsys.readouterr().err
