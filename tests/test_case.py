"""A case binds the catalogue to formulas: by hand, over arrays, and with values that go before its own."""

import numpy as np
import pytest

from blackboard.catalogue import UnknownId, model, system
from blackboard.catalogue.running_case import RUNNING, Case, plain
from blackboard.formula import UnknownSymbol, formulas
from blackboard.lessons.batching import equations as eq


def test_running_case_by_hand():
    """72 B200 at 8 TB/s each read 671 GB of FP8 weights, and 61 layers of 576 BF16 values per token of context."""
    weights, bandwidth, kv = 671.03e9, 72 * 8e12, 61 * 576 * 2
    assert eq.latency_floor(RUNNING) == pytest.approx(weights / bandwidth, rel=1e-4)
    assert eq.memory_time(RUNNING, batch=500) == pytest.approx((weights + 500 * 1000 * kv) / bandwidth, rel=1e-4)
    assert str(RUNNING) == "DeepSeek-V3, FP8, on GB200 NVL72" and RUNNING.tokens == "1,000 tokens of context"


@pytest.mark.parametrize(
    "case", [RUNNING, Case("lecture-moe", "b200-64", "fp4", 16_384), Case("llama-3.1-70b", "h100-8", "bf16", 4096)]
)
def test_a_case_is_a_formula_with_rows_of_the_catalogue_bound(case):
    """The second way: `given`, which binds numbers into the expression itself."""
    for formula in (f for name, f in formulas.items() if name.startswith("batching.")):
        given = formula.bind(model(case.model), system(case.system), precision=case.precision)
        if set(given.free) <= {"batch", "context"}:
            free = {
                name: value for name, value in {"batch": 700, "context": case.context}.items() if name in given.free
            }
            assert formula(case, **free) == pytest.approx(given(**free), rel=1e-12), formula.name


def test_values_go_before_what_is_bound():
    twice = eq.latency_floor(RUNNING, bandwidth=2 * system(RUNNING.system).bandwidth)
    assert twice == pytest.approx(eq.latency_floor(RUNNING) / 2, rel=1e-12)
    contexts = np.array([100.0, RUNNING.context, 1e5])
    assert eq.kv_time(RUNNING, batch=3, context=contexts) == pytest.approx(
        contexts / RUNNING.context * eq.kv_time(RUNNING, batch=3), rel=1e-12
    )
    assert eq.kv_time(RUNNING, batch=3, **system("h200-8").symbols("fp8")) == eq.kv_time(
        RUNNING._replace(system="h200-8"), batch=3
    )


def test_what_a_case_lacks_is_refused():
    with pytest.raises(UnknownSymbol, match="also needs batch"):
        eq.step_time(RUNNING)
    with pytest.raises(UnknownSymbol, match="no symbol 'size'"):
        eq.step_time(RUNNING, batch=2, size=1)
    with pytest.raises(UnknownId, match="near: h200-8"):
        eq.latency_floor(RUNNING._replace(system="h200-9"))
    with pytest.raises(UnknownId, match="no fp4 rate"):
        dict(RUNNING._replace(system="a100-80gb-8", precision="fp4").symbols())


def test_plain_names_keep_what_names():
    assert plain("64 B200 at HGX rates") == "64 B200" and plain("TPU v7x, one pod slice (64)") == "TPU v7x"
    assert plain(system(RUNNING.system).name) == "GB200 NVL72"
