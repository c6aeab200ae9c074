"""The batching lesson's charts: controls that reach the formulas, and pictures that say what the formulas say."""

import json
from xml.etree import ElementTree

import pytest
from lessons import page
from test_interactive import vega_says

from blackboard import catalogue
from blackboard.catalogue.running_case import LECTURE_RENT, RUNNING
from blackboard.charts import controls
from blackboard.lessons.batching import charts
from blackboard.lessons.batching import equations as eq

SIGNALS = (
    "flops",
    "bandwidth",
    "chips",
    "n_active",
    "n_total",
    "kv_bytes_per_token",
    "bytes_per_param",
    "context",
    "attention_flop",
    "attention_flops",
    "balanced",
    "kink",
)


@pytest.mark.parametrize("system", charts.SYSTEMS)
@pytest.mark.parametrize("precision", controls.PRECISIONS)
def test_controls_reach_the_formulas(system, precision):
    """With the controls anywhere, Vega's signals are the catalogue's values, and its kink is the formula's."""
    params = json.loads(json.dumps(charts.latency_chart().spec["params"]))
    machine = catalogue.system(system)
    for model in charts.MODELS[::3]:
        setting = {
            "system": system,
            "precision": precision,
            "model": model,
            "context_exponent": 3.3,
            "stored_exponent": -0.5,
        }
        moved = [
            {**param, "value": setting.get(param["name"], param.get("value"))} if "value" in param else param
            for param in params
        ]
        (found,) = vega_says([{"row": 0}], SIGNALS, moved)
        got, served = dict(zip(SIGNALS, found)), serves(machine, precision)
        expected = {
            **machine.symbols(served),
            **catalogue.model(model).symbols(served),
            "context": 2_000,
        }  # as the sliders round
        expected["n_total"] = max(expected["n_active"], expected["n_total"] * 0.71)
        flop = catalogue.model(model).attention_flop(1)
        expected |= {"attention_flop": flop, "attention_flops": machine.flops("bf16")}
        computes = 2 * expected["n_active"] / expected["flops"]
        gain = expected["kv_bytes_per_token"] / expected["bandwidth"] - flop / machine.flops("bf16")
        assert got["balanced"] == pytest.approx(computes / gain if gain > 0 else 1e99, rel=1e-9)
        closed = computes - 2_000 * gain  # by each sequence
        kink = expected["n_total"] * expected["bytes_per_param"] / expected["bandwidth"] / closed
        assert got["kink"] == pytest.approx(kink if closed > 0 else 0, rel=1e-9)
        assert all(got[name] == pytest.approx(expected[name], rel=1e-12) for name in SIGNALS[:-2])


def serves(machine, precision):
    """The precision itself, or the next wider one that the machine has."""
    wider = list(controls.PRECISIONS)[list(controls.PRECISIONS).index(precision) :]
    for name in wider:
        try:
            machine.flops(name)
        except catalogue.UnknownId:
            continue
        return name


def test_still_says_what_the_formulas_say():
    """The numbers in the pictures' titles are those of the worked case."""
    said = " ".join(ElementTree.fromstring(charts.latency_chart().still).itertext())
    attends = eq.with_attention(RUNNING, 2)
    assert f"floor {eq.latency_floor(RUNNING) * 1e3:.4g} ms" in said and f"kink at B = {attends.kink:,.0f}" in said
    assert f"L* = {attends.balanced:,.0f}" in said


def test_the_trade_off_says_speed_and_price():
    """The user's speed along the curve is one over the step's time, and the title has it at the batch chosen."""
    chart = charts.tradeoff_chart()
    said = " ".join(ElementTree.fromstring(chart.still).itertext())
    batch = 2_000
    price = 72 * LECTURE_RENT / 3600 * eq.step_time(RUNNING, batch=batch) / batch * 1e6
    assert f"{1 / eq.step_time(RUNNING, batch=batch):,.0f} tokens/s for each user" in said
    assert f"${price:.3g} per million tokens" in said
    assert f"at most {1 / eq.latency_floor(RUNNING):,.0f} tokens/s" in said
    params, steps = (json.loads(json.dumps(chart.spec[part])) for part in ("params", "transform"))
    curves = {step["as"]: step["calculate"] for step in steps}
    [[speed, cost]] = vega_says([{"row": 0, "batch": 500}], [curves["speed"], curves["cost"]], params)
    assert speed == pytest.approx(1 / eq.step_time(RUNNING, batch=500), rel=1e-12)
    assert cost == pytest.approx(72 * LECTURE_RENT / 3600 / speed / 500 * 1e6, rel=1e-12)


def test_the_chart_stands_alone():
    """No still figure of the same thing is beside it on a screen; its own still is for paper."""
    text = page("batching").read_text("utf8")
    assert text.count("charts.latency_chart()") == 1 and "figures.latency(" not in text
