"""The command: python -m blackboard predict | validate | list, its output and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from blackboard import __main__ as command
from blackboard.catalogue import chip, chips, measurement, models
from blackboard.prediction import predict
from blackboard.prediction.calibration import ids
from blackboard.prediction.rows import BOUND, CALIBRATED, CONSISTENCY, Row
from blackboard.validation.report import Report

ROOT = Path(__file__).resolve().parent.parent
NCCL = "h200_nccl"


def run(*arguments: str) -> subprocess.CompletedProcess:
    """The command in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "lib"), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", "blackboard", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        cwd=ROOT,
        timeout=300,
    )


def test_a_prediction_in_a_process_of_its_own():
    done = run(
        "predict",
        "llama-3.1-70b",
        "--chip",
        "h100-sxm",
        "--chips",
        "8",
        "--batch",
        "64",
        "--context",
        "4096",
        "--weights",
        "fp8",
        "--tensor",
        "8",
    )
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.rstrip() == str(
        predict("llama-3.1-70b", chip="h100-sxm", chips=8, batch=64, context=4096, weights="fp8", tensor=8)
    )


OPTIONS = {
    "phase": "prefill",
    "chips": 64,
    "batch": 512,
    "context": 4096,
    "weights": "fp8",
    "kv": "fp8",
    "compute": "bf16",
    "tensor": 4,
    "expert": 16,
    "pipeline": 2,
    "cache": "tokens",
    "calibration": "trtllm-moe-h200",
    "rent": "accounting",
}


def test_every_option_of_predict_is_an_option_of_the_command(capsys):
    words = [word for name, value in OPTIONS.items() for word in (f"--{name}", str(value))]
    assert command.main(["predict", "deepseek-v3", "--chip", "h800", *words]) == 0
    assert capsys.readouterr().out.rstrip() == str(predict("deepseek-v3", chip="h800", **OPTIONS))
    assert {"model", "chip", *OPTIONS} == set(predict.__annotations__) - {"return"}, "and there are no more"


@pytest.mark.parametrize("name", sorted(set(OPTIONS) - {"rent"}))
def test_each_option_changes_what_is_printed(capsys, name):
    base = ["predict", "deepseek-v3", "--chip", "h800", "--chips", "128", "--pipeline", "4", "--batch", "640"]
    changed = {key: str(value) for key, value in OPTIONS.items()} | {
        "tensor": "2",
        "weights": "bf16",
    }  # its own are FP8
    printed = [(command.main([*base, *more]), capsys.readouterr().out) for more in ([], [f"--{name}", changed[name]])]
    assert printed[0][0] == printed[1][0] == 0 and printed[0][1] != printed[1][1]


def test_rent_is_the_newest_unless_it_is_named(capsys):
    printed = {}
    for words in ((), ("--rent", "three-year")):
        assert command.main(["predict", "llama-3.1-8b", "--chip", "h100-sxm", *words]) == 0
        printed[words] = capsys.readouterr().out
    newest, contract = chip("h100-sxm").rent(), chip("h100-sxm").rent("three-year")
    for words, rent in (((), newest), (("--rent", "three-year"), contract)):
        assert f"{rent.usd_per_chip_hour:.2f} USD a chip and hour ({rent.kind}, {rent.date})" in printed[words]


def test_no_rent_leaves_prices_out(capsys):
    assert command.main(["predict", "llama-3.1-8b", "--chip", "h100-sxm", "--rent", "none"]) == 0
    told = capsys.readouterr().out
    assert "price" not in told and told.rstrip() == str(predict("llama-3.1-8b", chip="h100-sxm", rent=None))


# --- list ------------------------------------------------------------------------------------------------------------


def test_the_list_has_every_id_that_predict_takes(capsys):
    assert command.main(["list"]) == 0
    told = capsys.readouterr().out
    first, second, third = (part.splitlines() for part in told.rstrip().split("\n\n"))
    assert (first[0], second[0], third[0].split(":")[0]) == ("models", "chips", "calibrations") and max(
        map(len, told.splitlines())
    ) <= 80
    assert sorted(" ".join(first[1:]).split()) == sorted(model.id for model in models() if not model.given)
    assert sorted(" ".join(second[1:]).split()) == sorted(row.id for row in chips()) and [
        line.split()[0] for line in third[1:]
    ] == list(ids())


@pytest.mark.parametrize("words", [("lama", "--chip", "h100-sxm"), ("llama-3.1-8b", "--chip", "h100")])
def test_an_unknown_id_points_to_the_list(capsys, words):
    assert command.main(["predict", *words]) == 2
    told = capsys.readouterr().err
    assert told.endswith("; python -m blackboard list shows all\n") and "()" not in told


def test_without_sourced_constants_the_fallback_is_told(capsys):
    words = ["predict", "deepseek-v3", "--chip", "a100-80gb", "--chips", "16", "--calibration", "auto"]
    assert command.main(words) == 0
    told = capsys.readouterr().out
    p = predict("deepseek-v3", chip="a100-80gb", chips=16, calibration="auto")
    assert told.rstrip() == str(p) and "16 × a100-80gb, fallback" in told
    assert "constants from          fallback on an engine under load, fitted on vllm, h200, mixtures of experts" in told
    assert f"expected error          ± {100 * p.expected_error:.0f}%, as on" in told
    assert "no sourced constants for a100-80gb in bf16, mixtures of experts: fell back on those of vLLM" in told
    assert command.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["fallback"] == p.fallback and found["expected_error"] == p.expected_error


@pytest.mark.parametrize(
    "words, description",
    [
        (("predict", "lama-3.1-70b", "--chip", "h100-sxm"), "near: llama-3.1-70b"),
        (("predict", "llama-3.1-70b", "--chip", "h100"), "near: h100-sxm"),
        (("predict", "llama-3.1-70b", "--chip", "h100-sxm", "--batch", "0"), "batch must be a positive number"),
        (("predict", "llama-3.1-70b", "--chip", "h100-sxm", "--batch", "nan"), "batch must be a positive number"),
        (("predict", "llama-3.1-70b", "--chip", "h100-sxm", "--batch", "1e305"), "finite"),
        (("predict", "llama-3.1-70b", "--chip", "h100-sxm", "--tensor", "0"), "tensor must be a whole number"),
        (("predict", "llama-3.1-70b", "--chip", "h100-sxm", "--chips", "6", "--tensor", "4"), "not a multiple"),
        (("predict", "llama-3.1-70b", "--chip", "h100-sxm", "--kv", "fp7"), "no precision 'fp7'"),
        (
            ("predict", "llama-3.1-70b", "--chip", "b300", "--rent", "three"),
            "listed but not confirmed: three-year contract, guessed",
        ),
        (("predict", "lecture-moe", "--chip", "h100-sxm"), "choose a model with an architecture"),
    ],
)
def test_a_mistake_is_told_in_a_line(capsys, words, description):
    assert command.main(list(words)) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("error: ") and description in told.err and told.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("predict",),
        ("predict", "llama-3.1-70b"),
        ("guess",),
        ("predict", "llama-3.1-70b", "--chip", "h100-sxm", "--chips", "many"),
        ("predict", "llama-3.1-70b", "--chip", "h100-sxm", "--phase", "training"),
        ("validate", "--kind", "guess"),
    ],
)
def test_what_is_no_command_is_refused(capsys, words):
    with pytest.raises(SystemExit) as raised:
        command.main(list(words))
    assert raised.value.code == 2 and "usage: python -m blackboard" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--help",), ("predict", "--help"), ("validate", "--help"), ("list", "--help")])
def test_help(capsys, words):
    with pytest.raises(SystemExit) as raised:
        command.main(list(words))
    told = capsys.readouterr().out
    assert raised.value.code == 0
    if words[0] == "predict":
        assert all(f"--{name}" in told for name in ("chip", *OPTIONS)) and all(id in told for id in ids())
    else:
        assert words[0].removeprefix("--help") in told
    assert words[0] != "--help" or all(name in told for name in ("predict", "validate", "list"))


def test_a_model_of_a_file_is_predicted(capsys, tmp_path):
    path = tmp_path / "config.json"
    fields = {"num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32}
    fields |= {"num_key_value_heads": 8, "vocab_size": 128_256, "max_position_embeddings": 131_072}
    path.write_text(json.dumps(fields | {"model_type": "llama", "torch_dtype": "bfloat16"}))
    for name, time in (("predict", "time"), ("serve-plan", "output_token")):
        told = []
        for words in (["llama-3.1-8b"], ["--config", str(path)]):
            assert command.main([name, *words, "--chip", "h100-sxm", "--json"]) == 0
            told.append(json.loads(capsys.readouterr().out))
        assert told[0][time] == told[1][time] > 0 and told[1]["model"] == tmp_path.name


@pytest.mark.parametrize("words", [(), ("llama-3.1-8b", "--config", "config.json")])
def test_a_model_is_named_once(capsys, words):
    assert command.main(["predict", *words, "--chip", "h100-sxm"]) == 2
    assert "give the id of a model, or --config" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{}", "[1]", None])
def test_a_file_that_is_no_config_is_told_in_a_line(capsys, tmp_path, text):
    path = tmp_path / "config.json"
    if text is not None:
        path.write_text(text)
    assert command.main(["predict", "--config", str(path), "--chip", "h100-sxm"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# --- validate --------------------------------------------------------------------------------------------------------


def test_validate_one_data_set(capsys):
    assert command.main(["validate", "--data", NCCL]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0].split()[0] == "kind" and lines[-1] == f"{2 * len(measurement(NCCL).rows)} rows, 0 failures"
    assert all(NCCL in line for line in lines[1:-1]) and "bound beaten" in told.out
    assert {line.split()[0] for line in lines[1:-1]} == {BOUND, CALIBRATED}
    assert told.err.splitlines() == ["… matrix products, attention, collectives and expert exchanges"], "only its own"


def test_validate_one_kind(capsys):
    assert command.main(["validate", "--kind", BOUND, "--data", NCCL]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{len(measurement(NCCL).rows)} rows, 0 failures"


def test_what_has_no_rows_is_told(capsys):
    for words in (["--data", "h200_ncl"], ["--data", NCCL, "--kind", CONSISTENCY]):
        assert command.main(["validate", *words]) == 2
        assert NCCL in capsys.readouterr().err.splitlines()[-1]
    assert command.main(["validate", "--data", "h200_ncl"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1, "nothing was run"


def test_a_failure_is_shown_and_is_the_exit_status(capsys, monkeypatch):
    beaten = Row(BOUND, NCCL, "a row that beats its bound", "s", published=1.0, computed=2.0)
    excused = Row(BOUND, NCCL, "another", "s", published=1.0, computed=2.0, why="it never ran")
    monkeypatch.setattr(command, "validate", lambda **_: Report((beaten, excused)))
    assert command.main(["validate"]) == 1
    told = capsys.readouterr().out
    assert (
        "FAILS: bound, h200_nccl, a row that beats its bound: 1 against 2 s" in told
        and "another: 0.50 of the ideal time: it never ran" in told
    )
    assert told.splitlines()[-1] == "2 rows, 1 failures"
