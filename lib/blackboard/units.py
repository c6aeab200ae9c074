"""A small pint registry of our own, in which bytes, FLOPs, tokens, parameters, chips and dollars are dimensions.

pint's default registry calls a byte dimensionless, so that 1 GB/s + 1 GHz passes there. Here it raises.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

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

ureg: pint.UnitRegistry = pint.UnitRegistry(None, autoconvert_to_preferred=False)
for _line in _DEFINITIONS:
    ureg.define(_line)
Quantity = ureg.Quantity

Dimension = dict[str, Fraction]


class UnitError(ValueError):
    """A unit that does not fit: the message says what was expected."""


@cache
def _dimension(unit: str) -> tuple[tuple[str, Fraction], ...]:
    found: Mapping[str, Any] = ureg.get_dimensionality(ureg.parse_units(unit))
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


def magnitude(value: object, unit: str, name: str = "the value") -> Any:
    """`value` as a bare number or array in `unit`; a pint quantity is converted at this door, or UnitError."""
    if not isinstance(value, pint.Quantity):
        return value
    try:
        return Quantity(value.magnitude, str(value.units)).to(unit).magnitude
    except (pint.DimensionalityError, pint.UndefinedUnitError) as error:
        raise UnitError(f"{name}: expected {write_unit(unit) or 'a pure number'}, got {value.units:P}") from error


_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_SCALED = {"s": "s", "byte": "B", "FLOP": "FLOP", "watt": "W"}  # units that people say with prefixes
_COUNTED = ("token", "sequence", "parameter", "chip")  # things that people count: plain, million, billion
_WORDS = {0: "", 6: " million", 9: " billion", 12: " trillion", 15: " quadrillion"}


def write_unit(unit: str) -> str:
    """A unit as one writes it: FLOP·sequence/token² for FLOP*sequence/token**2."""
    unit = re.sub(r"\*\*(\d)", lambda power: "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(power[1])], unit)
    return re.sub(r"\bmeter(?![a-z])", "m", unit).replace("*", "·")


def significant(value: float, digits: int = 3, exact: bool = False) -> str:
    """A number to so many significant digits, with thousands separators and no exponent below 1e15.

    With `exact`, zeros that say nothing are dropped: 1.000 is 1.
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    exponent = math.floor(math.log10(abs(value)))
    if not -5 < exponent < 15:
        return f"{value:.{digits - 1}e}"
    places = max(0, digits - 1 - exponent)
    text = f"{round(value, digits - 1 - exponent):,.{places}f}"
    return text.rstrip("0").rstrip(".") if exact and places else text


def percent(share: float, digits: int = 0) -> str:
    """A share in words: 0.47 is 47%."""
    return f"{100 * share:.{digits}f}%"


def _step(value: float, low: int, high: int) -> int:
    """The power of a thousand that suits a value, as an exponent of ten."""
    if not value or not math.isfinite(value):
        return 0
    return max(low, min(high, 3 * math.floor(math.log10(abs(value)) / 3 + 1e-12)))


def pretty(value: float, unit: str = "", digits: int = 3, exact: bool = False) -> str:
    """A value as one would say it: 0.000684 s is "684 µs", 6.71e11 parameters are "671 billion parameters"."""
    value, (head, slash, tail) = float(value), ("" if unit == "1" else unit).partition("/")
    number = lambda scale: significant(value / 10.0**scale, digits, exact)
    if head == "USD":
        text = number(0)
        return f"${text + '0' if re.fullmatch(r'.*[.][0-9]', text) else text}{slash}{tail}"  # $2.50, not $2.5
    if head in _COUNTED:
        step = _step(value, 0, 15) if abs(value) >= 1e6 else 0
        whole = not step and value == int(value) and abs(value) < 1e6
        return (
            f"{f'{value:,.0f}' if whole else number(step)}{_WORDS[step]} {head}{'' if value == 1 else 's'}{slash}{tail}"
        )
    if head not in _SCALED:
        return f"{number(0)}{'' if head == '%' else ' '}{write_unit(head + slash + tail)}".strip()
    step = _step(value, -9, 0) if head == "s" else _step(value, 0, 18)
    name = _SCALED[head] if step or head != "byte" else "byte" if value == 1 else "bytes"
    return f"{number(step)} {_PREFIXES[step]}{name}{slash}{tail}"
