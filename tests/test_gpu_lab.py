"""The two measured GPUs against the lessons' equations, and the program that measured them."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from blackboard.catalogue import chip, gpu_lab, model
from blackboard.lessons.batching import own_machine
from blackboard.lessons.batching.equations import step_time
from blackboard.lessons.reversibility.equations import KEPT, work_ratio
from blackboard.validation import gpu_lab as lab

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("chip_id", lab.CHIPS)
def test_no_pass_beats_the_datasheet_and_none_is_far_from_it(chip_id):
    assert all(1 < p.seconds / lab.bound(p) < 3 for p in lab.passes(chip_id))


@pytest.mark.parametrize("chip_id", lab.CHIPS)
def test_the_bound_of_a_decode_step_is_the_batching_lesson_s(chip_id):
    net = model(lab.MODEL)
    kv = {"kv_bytes_per_token": net.kv_bytes_per_token("bf16"), "bytes_per_param": lab.VALUE}
    for p in lab.passes(chip_id):
        if p.part == "decoding":
            size = {"n_active": p.parameters, "n_total": p.parameters}
            by_lesson = step_time(chip(chip_id).symbols("bf16"), kv, size, batch=p.batch, context=p.context)
            assert by_lesson <= lab.bound(p) * (1 + 1e-12), "the lesson leaves out attention's FLOPs"
            assert lab.bound(p) == pytest.approx(by_lesson, rel=0.25)


def test_constants_of_one_gpu_predict_the_other_better_than_simpler_guesses():
    assert 0.5 < lab.constants()["memory_efficiency"] < 1 and 0.4 < lab.constants()["compute_efficiency"] < 1
    errors = lab.unseen_errors()
    assert errors["predicted"] < 0.08 and errors["predicted"] < 0.6 * min(
        errors["same time"], errors["scaled by the bound"]
    )
    assert all(s.error < 0.1 for s in lab.slices()), [s for s in lab.slices() if s.error >= 0.1]


def test_the_pause_is_the_program_s_and_not_the_gpu_s():
    """Both GPUs save about as much for each kernel that is fused away."""
    one, other = (lab.constants(chip_id)["gap_time"] for chip_id in lab.CHIPS)
    assert 1e-6 < one < 5e-6 and other == pytest.approx(one, rel=0.1)


def test_the_kernels_are_counted_where_a_pass_was_counted():
    """Each layer has the same kernels, so a pass has a multiple of 32 of them and a few more."""
    for p in lab.passes(lab.FITTED):
        assert lab.kernels()[p.case] % model(lab.MODEL).layers < 16  # the ends of a pass have some of their own


@pytest.mark.parametrize("chip_id", lab.CHIPS)
def test_experts_touched_are_as_many_as_chance_says(chip_id):
    for row in lab.rows(chip_id, "experts"):
        expected = float(lab.touched(row["tokens"], row))
        spread = math.sqrt(expected * (1 - expected / row["experts"]))
        assert abs(row["touched"] - expected) <= 4 * spread + 0.5, row


@pytest.mark.parametrize("chip_id", lab.CHIPS)
def test_the_time_of_experts_follows_those_that_are_touched(chip_id):
    for row in lab.rows(chip_id, "experts")[3:-1]:
        assert lab.expert_seconds(chip_id, row["touched"]) == pytest.approx(row["seconds"], rel=0.16), row


@pytest.mark.parametrize("chip_id", lab.CHIPS)
def test_training_keeps_what_the_lesson_counts_to_the_byte(chip_id):
    row = lab.rows(chip_id, "training", way="stored")[0]
    heads, norms = row["width"] // lab.HEAD, 2
    counted = (KEPT - lab.DROPOUT_MASKS) * row["width"] + 4 * heads + 4 * norms
    assert lab.kept_per_layer(chip_id, "stored") == pytest.approx(counted, abs=1)
    assert lab.kept_per_layer(chip_id, "checkpointed") == lab.VALUE * row["width"]
    assert lab.kept_per_layer(chip_id, "reversible") == 0


def test_computing_again_costs_a_third():
    third = work_ratio(recomputed=1)
    assert all(ratio == pytest.approx(third, rel=0.05) for ratio in gpu_lab.slowdowns("reversible"))
    assert all(ratio == pytest.approx(third, rel=0.1) for ratio in gpu_lab.slowdowns("checkpointed"))


@pytest.mark.parametrize("chip_id", lab.CHIPS)
def test_the_kink_of_a_product_is_where_its_two_rates_place_it(chip_id):
    found = own_machine.shipped(chip_id)
    assert found.chip == chip_id and found.knee == pytest.approx(found.predicted_knee, rel=0.05)


def test_the_program_measures_small_sizes_without_a_gpu(tmp_path):
    pytest.importorskip("torch", reason="the GPU lab needs PyTorch, which the course does not install")
    out = tmp_path / "gpu.yaml"
    run = [sys.executable, ROOT / "tools" / "gpu_lab.py", out, "--small", "--only", "launches", "decoding", "experts"]
    subprocess.run(run, check=True, capture_output=True, timeout=300)
    import msgspec
    import yaml

    written = msgspec.convert(yaml.safe_load(out.read_text("utf8")), lab.Lab)
    assert {row["part"] for row in written.rows} == {"launches", "decoding", "experts"}
    assert all(row["seconds"] >= row["fastest"] > 0 for row in written.rows)
