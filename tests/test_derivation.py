"""Derivations follow, or refuse."""

import pytest
from sympy import Max, Min, oo

from blackboard import notation
from blackboard.lessons.batching import equations as eq
from blackboard.page.derivation import Derivation, DerivationError, equal, limit, spread

B, L, N, F, W = notation.symbols("batch context n_active flops bandwidth")
T = notation.symbol("t_compute")


def test_a_derivation_ends_at_its_formula_or_not_at_all():
    good = Derivation(T, 2 * B * N / F, "two FLOPs each").gives(eq.compute_time)
    assert good.lines[-1][1] == eq.compute_time.latex and "two FLOPs" in good._repr_html_()
    with pytest.raises(DerivationError, match="this ends at"):
        Derivation(T, B * N / F, "one FLOP each").gives(eq.compute_time)
    with pytest.raises(DerivationError, match="this ends at"):
        Derivation(notation.symbol("t_memory"), 2 * B * N / F, "another symbol").gives(eq.compute_time)


def test_solving_needs_one_solution():
    with pytest.raises(DerivationError, match="2 solutions"):
        Derivation((B - N) * (B - F), 0 * B, "").solve(B, B, "")


def test_maxima_are_spread_and_compared_for_positive_symbols():
    assert spread(N * Max(B, L)) == Max(N * B, N * L)
    assert spread(N / Max(B, L)) == Min(N / B, N / L)
    assert equal(N * Max(B, L), Max(N * B, N * L)) and not equal(Max(B, L), Min(B, L))


def test_limits_of_maxima():
    assert limit(eq.step_time.expr, B, 0) == eq.latency_floor.expr
    assert equal(limit(eq.cost_per_token.expr, B, oo), eq.cost_floor.expr)
    assert equal(limit(eq.mfu.expr, B, oo), eq.mfu_limit.expr)
    assert limit(eq.mfu_limit.expr, L, 0) == 1
