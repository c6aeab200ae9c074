"""Roots and minima by search, against those that algebra gives."""

from hypothesis import given
from hypothesis import strategies as st

from blackboard.search import find_minimum, find_root

PLACES = st.floats(1e-6, 1e6)


@given(PLACES, st.sampled_from([0.5, 1, 3]))
def test_a_root_is_found(place, power):
    assert abs(find_root(lambda x: x**power - place**power, 1e-8, 1e9) / place - 1) < 1e-9


@given(PLACES, st.sampled_from([0.5, 1, 3]))
def test_a_minimum_is_found(place, power):
    """Of a sum that falls on the left of it and rises on its right."""
    assert (
        abs(find_minimum(lambda x: place / x + (x / place) ** power / power, 1e-8, 1e9) / least(place, power) - 1)
        < 1e-5
    )


def least(place, power):
    """Where place / x² is (x / place)^power / x."""
    return (place ** (power + 1)) ** (1 / (power + 1))
