"""One formula, many renderings, all equal; and what a formula refuses."""

from __future__ import annotations

import math
import random

import mpmath
import numpy as np
import pytest
import sympy
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from blackboard import notation
from blackboard.catalogue import chip, model, system
from blackboard.compiled import Compiled
from blackboard.formula import (
    IDEAL,
    BoundFormula,
    Calibration,
    Formula,
    FormulaError,
    UnknownSymbol,
    formulas,
)
from blackboard.lessons.batching import equations as eq
from blackboard.units import Quantity, UnitError

ALL = list(formulas.values())
X = dict(
    batch=1000,
    context=16_384,
    n_active=37e9,
    n_total=700e9,
    bytes_per_param=0.5,
    kv_bytes_per_token=2000,
    flops=5.76e17,
    bandwidth=5.12e14,
)


def point(formula, rng):
    """A random point that the formula takes, and whose value is not astronomical."""
    for _ in range(20_000):
        found = {name: min(10 ** rng.uniform(-2, 3), notation.lookup(name).most) for name in formula.free}
        if takes(formula, found):
            return found
    raise AssertionError(f"{formula.name} takes hardly any point")


def slack(formula):
    """What 1 - x**n may be off by: it loses digits by its nature."""
    return 1e-13 if any(not power.exp.is_number for power in formula.expr.atoms(sympy.Pow)) else 0


def takes(formula, values):
    """Whether the values fulfil the formula's conditions."""
    try:
        return formula.holds(**values) and 1e-30 < abs(formula(**values)) < 1e30
    except FormulaError:
        return False


def test_every_formula_says_what_it_means_and_where_it_is_from():
    """Its units were compared when it was made: see `test_a_formula_refuses_what_does_not_follow`."""
    assert len(ALL) > 200
    for formula in ALL:
        assert formula.description and formula.source and formula.latex and formula.name in formulas, formula.name


@cases("formula", ALL, ids=lambda f: f.name)
def test_scalar_array_sympy_and_bound_values_agree(formula):
    """All of them at 20 random points, against the expression at 30 digits."""
    rng = random.Random(formula.name)
    points = [point(formula, rng) for _ in range(20)]
    together = formula(**{name: np.array([p[name] for p in points]) for name in formula.free})
    precise = sympy.lambdify([notation.symbol(name) for name in formula.free], formula.expr, "mpmath")
    for index, p in enumerate(points):
        with mpmath.workdps(30):
            exact = float(precise(*(mpmath.mpf(p[name]) for name in formula.free)))
        values = [formula(**p), together[index]]
        if index == 0:  # binding takes SymPy's time; each symbol is once bound and once left free
            halves = (dict(list(p.items())[::2]), dict(list(p.items())[1::2]))
            values += [formula.bind(**one)(**other) for one, other in (halves, halves[::-1])]
        for value in values:
            assert math.isclose(value, exact, rel_tol=1e-13, abs_tol=slack(formula))


@cases("formula", ALL, ids=lambda f: f.name)
def test_ideal_is_a_floor_on_time(formula):
    """Real efficiencies can only make times longer, and the ideal is the default."""
    worse = Calibration(
        "test",
        "made up",
        {
            "compute_efficiency": 0.7,
            "memory_efficiency": 0.6,
            "overhead": 0.01,
            "link_efficiency": 0.8,
            "link_latency": 1e-5,
        },
    )
    p = point(formula, random.Random(1))
    assert formula(calibration=IDEAL, **p) == formula(**p)
    if formula.unit == "s":
        assert formula(calibration=worse, **p) >= formula(**p)


def test_broadcasting_and_dtype():
    batch, context = np.arange(1, 5), np.array([100, 200, 300])
    grid = eq.step_time(**{**X, "batch": batch[:, None], "context": context})
    assert grid.shape == (4, 3) and grid.dtype == np.float64
    assert grid[2, 1] == eq.step_time(**{**X, "batch": 3, "context": 200})
    floor = eq.latency_floor(n_total=7e11, bytes_per_param=1, bandwidth=1e12, batch=batch[:, None], context=context)
    assert floor.shape == (4, 3) and (floor == 0.7).all()
    assert isinstance(eq.step_time(**X), float)
    assert eq.step_time(**{**X, "batch": np.ones((0, 3))}).shape == (0, 3)
    wide = eq.step_time(**{**X, "batch": np.arange(1, 701)[:, None, None], "context": np.arange(100)})
    assert wide.shape == (700, 1, 100) and wide[650, 0, 7] == eq.step_time(**{**X, "batch": 651, "context": 7}), (
        "blocks agree"
    )
    big = eq.compute_time(batch=np.int64(2) ** 40, n_active=np.int64(10) ** 12, flops=1)
    assert math.isclose(big, 2 * 2.0**40 * 1e12), "integers must not overflow"


def test_quantities_are_converted_at_the_door():
    assert math.isclose(eq.step_time(**{**X, "bandwidth": Quantity(512, "TB/s")}), eq.step_time(**X))
    macs = eq.compute_time(batch=1, n_active=1e9, flops=Quantity(1e12, "mac/s"))
    assert math.isclose(macs, eq.compute_time(batch=1, n_active=1e9, flops=2e12))
    with pytest.raises(UnitError, match="bandwidth: expected byte/s"):
        eq.step_time(**{**X, "bandwidth": Quantity(1, "GHz")})


@pytest.mark.parametrize(
    "name, value",
    [
        ("batch", -1),
        ("batch", 0),
        ("bandwidth", 0),
        ("flops", float("nan")),
        ("n_total", float("inf")),
        ("context", -1),
        ("batch", "12"),
        ("batch", None),
        ("batch", [1, -2]),
        ("batch", object()),
    ],
)
def test_bad_values_are_named(name, value):
    for call in (
        lambda: eq.step_time(**{**X, name: value}),
        lambda: eq.step_time.bind(**{k: v for k, v in X.items() if k != name})(**{name: value}),
    ):
        with pytest.raises(FormulaError, match=name):
            call()


def test_symbols_are_checked():
    with pytest.raises(UnknownSymbol, match="'btch'.*it takes: bandwidth, batch"):
        eq.step_time(**X, btch=1)
    with pytest.raises(UnknownSymbol, match="also needs context"):
        eq.step_time(**{k: v for k, v in X.items() if k != "context"})
    with pytest.raises(UnknownSymbol, match="also needs batch"):
        eq.step_time.bind(**{k: v for k, v in X.items() if k != "batch"})()
    with pytest.raises(UnknownSymbol, match="'nope'"):
        eq.step_time.bind(nope=1)
    with pytest.raises(UnknownSymbol, match="there are: batching.compute_time"):
        formulas["batching.nope"]
    with pytest.raises(notation.UndeclaredSymbol, match="bandwidth"):
        notation.symbol("bandwith")
    with pytest.raises(FormulaError, match="broadcast"):
        eq.step_time(**{**X, "batch": np.ones(3), "context": np.ones(4)})


def test_a_formula_refuses_what_does_not_follow():
    b, n, w, t = notation.symbols("batch n_total bandwidth interval")
    with pytest.raises(UnitError, match="gives parameter·time/information"):
        Formula("x", "t_weights", n / w, "s", "bytes forgotten", register=False)
    with pytest.raises(UnitError, match="stand in one"):
        Formula("x", "t_weights", sympy.Max(t, b), "s", "unlike things", register=False)
    with pytest.raises(UnitError, match="stand in one"):
        Formula("x", "t_weights", t + w, "s", "unlike things", register=False)
    with pytest.raises(UnitError, match="pure number"):
        Formula("x", "mfu", sympy.log(t), "1", "log of seconds", register=False)
    with pytest.raises(UnitError, match="notation has t_weights in s"):
        Formula("x", "t_weights", w, "byte/s", "another unit than its symbol", register=False)
    with pytest.raises(notation.UndeclaredSymbol):
        Formula("x", "t_weights", sympy.Symbol("t"), "s", "undeclared", register=False)
    with pytest.raises(FormulaError, match="two formulas"):
        Formula("batching.step_time", "t_step", t, "s", "again")
    with pytest.raises(UnknownSymbol, match="no calibration"):
        Calibration("x", "y", {"batch": 1})


def test_specs_bind_by_name():
    at = eq.step_time.bind(model("deepseek-v3"), system("gb200-nvl72"))
    assert isinstance(at, BoundFormula) and at.free == ("batch", "context")
    by_hand = eq.step_time(
        batch=64,
        context=4096,
        **model("deepseek-v3").symbols("fp8"),
        **{k: v for k, v in system("gb200-nvl72").symbols("fp8").items() if k in ("flops", "bandwidth")},
    )
    assert at(batch=64, context=4096) == by_hand
    fp4 = eq.step_time.bind(model("deepseek-v3"), system("gb200-nvl72"), precision="fp4")
    assert fp4(batch=1, context=0) * 2 == pytest.approx(at(batch=1, context=0))
    assert "batch" in repr(at) and at.bound["n_total"] == model("deepseek-v3").n_total
    assert set(eq.critical_batch.bind(chip("h100-sxm"), precision="fp8").free) == {
        "n_active",
        "n_total",
        "bytes_per_param",
    }


@settings(max_examples=60)
@given(st.floats(1, 1e5), st.floats(1, 1e6))
def test_terms_recompose_the_whole(batch, context):
    known = X | dict(batch=batch, context=context)
    parts = eq.step_time.terms(**dict(known.items()))
    assert math.isclose(eq.step_time(**known), max(parts.values()), rel_tol=1e-12)
    memory = eq.memory_time.terms(
        **{
            k: v
            for k, v in known.items()
            if k in ("batch", "context", "n_total", "bytes_per_param", "kv_bytes_per_token", "bandwidth")
        }
    )
    assert math.isclose(parts["memory"], sum(memory.values()), rel_tol=1e-12)
    assert parts[eq.step_time.terms.binds(**known)] == max(parts.values())


@pytest.mark.parametrize("name", ["batch", "n_active", "flops", "bandwidth", "n_total"])
def test_solve_inverts(name):
    inverse = eq.compute_time.solve(name) if name in eq.compute_time.free else eq.weight_time.solve(name)
    direct = eq.compute_time if name in eq.compute_time.free else eq.weight_time
    p = point(direct, random.Random(name))
    back = inverse(**{direct.symbol.name: direct(**p)}, **{n: v for n, v in p.items() if n != name})
    assert math.isclose(back, p[name], rel_tol=1e-12)


def test_solving_a_maximum_meets_the_budget():
    budget = eq.step_time.solve("batch")
    batch = budget(t_step=0.002, **{k: v for k, v in X.items() if k != "batch"})
    assert math.isclose(eq.step_time(**{**X, "batch": batch}), 0.002, rel_tol=1e-12)
    with pytest.raises(UnknownSymbol):
        eq.compute_time.solve("context")


def test_every_argument_changes_the_answer():
    """A parameter that is accepted and then ignored is a common fault of calculators."""
    for formula in ALL:
        rng, moved = random.Random(formula.name), set()
        for _ in range(60):
            if moved == set(formula.free):
                break
            p = point(formula, rng)
            other = [(n, {**p, n: p[n] * f}) for n in formula.free for f in (1.5, 0.7)]
            moved |= {n for n, q in other if takes(formula, q) and formula(**q) != formula(**p)}
        assert moved == set(formula.free), formula.name


def test_symbols_that_a_formula_does_not_need_are_no_slow_call(monkeypatch):
    """A model's and a chip's symbols, of which a formula takes some, are not made into arrays; wrong ones are told."""
    known = {"batch": 2, "context": 10, "kv_bytes_per_token": 5, "bandwidth": 50, "top_k": 8, "layers": 61.0}
    assert eq.kv_time(**known | {"top_k": [8, 4]}).shape == (2,)
    monkeypatch.setattr(Compiled, "_broadcast", lambda self, values: values)
    assert eq.kv_time(**known) == 2.0
    assert eq.kv_time(**known | {"top_k": -1})["top_k"] == -1


def test_roots_are_printed_under_one_root_with_what_divides_below():
    flops, bandwidth = notation.symbols("flops bandwidth")
    above, below = (notation.latex(each) for each in (flops, bandwidth))
    assert notation.latex(sympy.sqrt(flops) / sympy.sqrt(bandwidth)) == rf"\sqrt{{\frac{{{above}}}{{{below}}}}}"


def test_an_exponent_with_a_maximum_stands_on_the_line():
    power = sympy.Symbol("x", positive=True)
    assert notation.latex(sympy.exp(-power)) == "e^{- x}"
    written = notation.latex(sympy.exp(-sympy.Max(0, power - 1, evaluate=False)))
    assert written.startswith(r"\exp\left(") and "e^{" not in written


TYPESET = [formula for formula in ALL if formula.typeset is not None]
NAMED = ("batching.hardware_constant", "sparsity.sparsity", "batching.balanced_context")  # by their letters in others


@cases("formula", TYPESET, ids=lambda f: f.name)
def test_what_is_typeset_equals_the_expression(formula):
    known = {formulas[name].symbol: formulas[name].expr for name in NAMED}
    assert sympy.simplify(formula.typeset.doit().xreplace(known) - formula.expr) == 0
    assert notation.typeset(formula.typeset) in formula.latex


def test_a_letter_means_one_thing_within_a_lesson():
    """The level of a cost that falls is b in the overtraining lesson, where no micro-batch has that letter."""
    level = notation.symbol("fall_level")
    with pytest.raises(FormulaError, match="fall_level has the letter of micro_batch"):
        Formula("pipelining.double", "bubble", 2 * level, "1", "twice")
    assert "pipelining.double" not in formulas
