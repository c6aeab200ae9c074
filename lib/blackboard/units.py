"""A small pint registry of our own, in which bytes, FLOPs, tokens, parameters, chips and dollars are dimensions.

pint's default registry calls a byte dimensionless, so that 1 GB/s + 1 GHz passes there. Here it raises.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import pint

_DEFINITIONS = """
nano- = 1e-9 = n-
micro- = 1e-6 = µ- = u-
milli- = 1e-3 = m-
kilo- = 1e3 = k-
mega- = 1e6 = M-
giga- = 1e9 = G-
tera- = 1e12 = T-
peta- = 1e15 = P-
exa- = 1e18 = E-
kibi- = 1024 = Ki-
mebi- = 1048576 = Mi-
gibi- = 1073741824 = Gi-
tebi- = 1099511627776 = Ti-
second = [time] = s
minute = 60 * second = min
hour = 3600 * second = h
day = 86400 * second
hertz = 1 / second = Hz
byte = [information] = B
bit = byte / 8 = b
FLOP = [compute]
mac = 2 * FLOP
token = [token] = tok
parameter = [parameter] = param
sequence = [sequence] = seq
chip = [chip] = GPU
USD = [currency]
meter = [length] = m
kilogram = [mass] = kg
watt = kilogram * meter ** 2 / second ** 3 = W
joule = watt * second = J
""".strip().splitlines()

ureg = pint.UnitRegistry(None, autoconvert_to_preferred=False)
for _line in _DEFINITIONS:
    ureg.define(_line)
Quantity = ureg.Quantity

Dimension = dict[str, Fraction]


class UnitError(ValueError):
    """A unit that does not fit: the message says what was expected."""


@cache
def _dimension(unit: str) -> tuple[tuple[str, Fraction], ...]:
    found = ureg.get_dimensionality(ureg.parse_units(unit))
    return tuple(sorted((name.strip("[]"), Fraction(power)) for name, power in found.items()))


def dimension(unit: str) -> Dimension:
    """Exponents of the base dimensions of a unit: "GB/s" gives {information: 1, time: -1}."""
    return dict(_dimension(unit))


@cache
def factor(unit: str) -> float:
    """How many coherent base units one `unit` is: "ms" gives 0.001, "mac" gives 2."""
    return float(Quantity(1.0, unit).to_base_units().magnitude)


def describe(dim: Dimension) -> str:
    """A dimension in words, for messages: {information: 1, time: -1} gives "information/time"."""
    part = lambda sign: "·".join(f"{n}^{abs(p)}" if abs(p) != 1 else n for n, p in dim.items() if p * sign > 0)
    top, bottom = part(1), part(-1)
    return (top or "1") + (f"/({bottom})" if "·" in bottom else f"/{bottom}" if bottom else "")


def magnitude(value: object, unit: str, name: str = "the value") -> object:
    """`value` as a bare number or array in `unit`; a pint quantity is converted at this door, or UnitError."""
    if not isinstance(value, pint.Quantity):
        return value
    try:
        return Quantity(value.magnitude, str(value.units)).to(unit).magnitude
    except (pint.DimensionalityError, pint.UndefinedUnitError) as error:
        raise UnitError(f"{name}: expected {unit or 'a pure number'}, got {value.units}") from error


_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_SCALED = ("s", "byte", "FLOP", "token", "W")  # units that people say with prefixes
_SHORT = {"byte": "B", "parameter": "param", "sequence": "seq"}


def significant(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, with thousands separators and no exponent below 1e15."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    exponent = math.floor(math.log10(abs(value)))
    if not -5 < exponent < 15:
        return f"{value:.{digits - 1}e}"
    return f"{round(value, digits - 1 - exponent):,.{max(0, digits - 1 - exponent)}f}"


def pretty(value: float, unit: str = "", digits: int = 3) -> str:
    """A value as one would say it: pretty(0.000684, "s") is "0.684 ms", in the prefix that suits it."""
    value = float(value)
    head, slash, tail = ("" if unit == "1" else unit).partition("/")
    if unit == "USD":
        return f"${significant(value, digits)}"
    if head in _SCALED and value and math.isfinite(value):
        step = max(-9, min(18, 3 * math.floor(math.log10(abs(value)) / 3 + 1e-12)))
        step = min(step, 0) if head == "s" else max(step, 0)
        value, prefix = value / 10.0**step, _PREFIXES[step]
    else:
        prefix = ""
    named = f"{prefix}{_SHORT.get(head, head)}" if prefix or head in _SHORT else head
    return f"{significant(value, digits)} {named}{slash}{tail}".strip()
