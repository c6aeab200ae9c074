"""The registry knows bytes, FLOPs, tokens, parameters, sequences, chips and dollars apart; and says numbers well."""

import re

import pytest
from cases import cases

from blackboard import notation, units
from blackboard.units import Quantity, UnitError, pretty, write_unit

APART = ["byte", "FLOP", "token", "parameter", "sequence", "chip", "USD", "second", "1"]


@cases("left, right", [("GB/s", "GHz"), *((a, b) for a in APART for b in APART if a < b)])
def test_unlike_things_do_not_add(left, right):
    with pytest.raises(units.pint.DimensionalityError):
        Quantity(1, left) + Quantity(1, right)


def test_a_bare_number_is_not_bytes():
    with pytest.raises(units.pint.DimensionalityError):
        Quantity(1, "GB") + 5


def test_a_mac_is_two_flops_and_a_byte_eight_bits():
    assert Quantity(1, "mac").to("FLOP").magnitude == 2
    assert Quantity(1, "byte").to("bit").magnitude == 8
    assert units.factor("GiB") / units.factor("GB") == 1.073741824


def test_every_symbol_has_a_coherent_unit():
    for row in notation.table().values():
        assert units.factor(row.unit) == 1, f"{row.name} is in {row.unit}: values would need a factor"
        assert row.description and row.latex


def test_pretty_says_it_as_one_would():
    told = {
        (0.0006836, "s"): "684 µs",
        (0.02, "s"): "20.0 ms",
        (128_000, "token/s"): "128,000 tokens/s",
        (5_320.9, "sequence"): "5,320 sequences",
        (6.71e11, "byte"): "671 GB",
        (5.76e14, "byte/s"): "576 TB/s",
        (0, "s"): "0 s",
        (1.5, "1"): "1.50",
        (2.5, "USD"): "$2.50",
        (70_272, "byte/token"): "70.3 kB/token",
        (1, "byte/parameter"): "1.00 byte/parameter",
        (3.7e10, "parameter"): "37.0 billion parameters",
        (1, "chip"): "1 chip",
        (72, "chip"): "72 chips",
        (312.5, "token", 4): "312.5 tokens",
        (1.979e15, "FLOP/s", 4): "1.979 PFLOP/s",
    }
    assert {key: pretty(*key) for key in told} == told


def test_units_are_written_as_one_writes_them():
    told = {"s*chip": "s·chip", "kg/meter**2": "kg/m²", "FLOP*sequence/token**2": "FLOP·sequence/token²", "1": "1"}
    assert {unit: write_unit(unit) for unit in told} == told
    written = {write_unit(row.unit) for row in notation.table().values()}
    assert not [unit for unit in written if re.search(r"\*|\bmeter", unit)]


def test_a_wrong_unit_says_what_was_expected():
    with pytest.raises(UnitError, match="expected byte/s"):
        units.magnitude(Quantity(1, "GHz"), "byte/s", "bandwidth")
