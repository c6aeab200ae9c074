"""Expressions of named symbols as code: checked functions of numbers and of arrays, and text for the browser."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import sympy
from sympy.printing.jscode import jscode
from sympy.printing.numpy import NumPyPrinter
from sympy.printing.pycode import PythonCodePrinter

from blackboard import notation, units


class FormulaError(ValueError):
    """A value that a formula cannot take: negative, zero where it divides, nan, infinite, not a number."""


class UnknownSymbol(KeyError, TypeError):
    """A name that a formula or the notation does not have, or one that is missing."""

    def __str__(self) -> str:
        return str(self.args[0])


class _NumPy(NumPyPrinter):
    """Max and Min as nested ufuncs, so that unlike shapes broadcast."""

    def _nest(self, name: str, args: tuple) -> str:
        out = self._print(args[0])
        for arg in args[1:]:
            out = f"numpy.{name}({out}, {self._print(arg)})"
        return out

    def _print_Max(self, expr: sympy.Max) -> str:
        return self._nest("maximum", expr.args)

    def _print_Min(self, expr: sympy.Min) -> str:
        return self._nest("minimum", expr.args)


class _Slow(Exception):
    """Not a plain valid number: take the path that explains or broadcasts."""


NOT_PLAIN = (_Slow, TypeError, ValueError, OverflowError, ArithmeticError, units.pint.errors.PintError)


def _scalar(expr: sympy.Basic, names: tuple[str, ...], conditions: tuple[sympy.Basic, ...]):
    """A plain Python function of the names that checks its arguments and computes in double precision."""
    printer, low = PythonCodePrinter({"fully_qualified_modules": True}), {"positive": "<", "nonnegative": "<="}
    lines = []
    for row in map(notation.lookup, names):
        high = "< inf" if row.most == math.inf else f"<= {row.most!r}"
        lines.append(f"    {row.name} = {row.name} * 1.0\n    if not 0.0 {low[row.low]} {row.name} {high}: raise Slow")
    lines += [f"    if not {printer.doprint(condition)}: raise Slow" for condition in conditions]
    printed = printer.doprint(expr)
    code = f"def scalar({', '.join(names)}):\n" + "\n".join(lines) + f"\n    return {printed}\n"
    space: dict[str, Any] = {"inf": math.inf, "Slow": _Slow, "math": math}
    exec(code, space)  # our own expressions only: nothing a reader types comes here
    return space["scalar"]


def _vector(expr: sympy.Basic, names: tuple[str, ...]):
    """The same as a NumPy function, printed once."""
    import numpy

    space: dict[str, Any] = {"numpy": numpy}
    printed = _NumPy({"fully_qualified_modules": True}).doprint(expr)
    exec(f"def vector({', '.join(names)}):\n    return {printed}\n", space)
    return space["vector"]


def _checked(name: str, value: Any):
    """`value` as float64 array in the symbol's unit, or an error that names the symbol and what was expected."""
    import numpy

    row = notation.lookup(name)
    value = units.magnitude(value, row.unit, name)
    if isinstance(value, (str, bytes, bool)) or value is None:
        raise FormulaError(
            f"{name} ({row.description}): expected a number in {units.write_unit(row.unit)}, got {value!r}"
        )
    try:
        array = numpy.asarray(value, dtype=numpy.float64)
    except (TypeError, ValueError, OverflowError):
        raise FormulaError(
            f"{name} ({row.description}): expected a number in {units.write_unit(row.unit)}, got {type(value).__name__}"
        ) from None
    bad = ~(numpy.isfinite(array) & (array > 0 if row.low == "positive" else array >= 0) & (array <= row.most))
    if bad.any():
        most = "finite" if row.most == math.inf else f"at most {row.most:g}"
        raise FormulaError(
            f"{name} ({row.description}) must be {row.low} and {most}, in {units.write_unit(row.unit)};"
            f" got {array[bad].flat[0]:g}"
        )
    return array


def _plain(name: str, value: Any) -> bool:
    """Whether `value` is a number that the symbol can have, of Python's own."""
    row = notation.lookup(name)
    positive = type(value) in (int, float) and 0 <= value <= row.most and value < math.inf
    return positive and bool(value or row.low == "nonnegative")


def read_number(name: str, value: Any) -> float:
    """`value` as a float in the symbol's unit; plain valid numbers need no NumPy."""
    return float(value if _plain(name, value) else _checked(name, value))


_BLOCK = 16_384  # values computed at once: 128 kB, and as much for each intermediate result


class Compiled:
    """An expression of named symbols as functions that check what they are given: of numbers, and of arrays."""

    def __init__(self, name: str, expr: sympy.Expr, conditions: tuple[sympy.Basic, ...]):
        self.name, self.expr, self.conditions = name, expr, conditions

    @cached_property
    def free(self) -> tuple[str, ...]:
        return tuple(sorted(s.name for s in self.expr.free_symbols))

    @cached_property
    def scalar(self):
        return _scalar(self.expr, self.free, self.conditions)

    @cached_property
    def vector(self):
        return _vector(self.expr, self.free)

    @cached_property
    def _bounds(self) -> list[tuple[sympy.Basic, tuple[str, ...], Any]]:
        """Each condition a <= b with its names and the function b - a of them, printed once."""
        named = [(condition, tuple(sorted(s.name for s in condition.free_symbols))) for condition in self.conditions]
        return [(each, names, _vector(each.rhs - each.lhs, names)) for each, names in named]

    def evaluate(self, values: Mapping[str, Any]):
        """The value for the free symbols: a float for numbers, a float64 array of the common shape for arrays."""
        try:
            return self.scalar(**values)
        except NOT_PLAIN:
            spare = values.keys() - set(self.free)  # a model's and a chip's symbols are more than a formula needs
            if spare and all(notation.is_declared(name) and _plain(name, values[name]) for name in spare):
                return self.evaluate({name: value for name, value in values.items() if name not in spare})
            return self._broadcast(values)

    def _broadcast(self, values: Mapping[str, Any]):
        """Arrays, quantities and everything wrong: explain, or compute on the common shape as float64."""
        import numpy

        self._check_names(values)
        arrays = {name: _checked(name, value) for name, value in values.items()}
        self._check_domain(arrays)
        with numpy.errstate(over="raise", invalid="raise"):
            try:
                shape = numpy.broadcast_shapes(*(a.shape for a in arrays.values()))
                return self._fill(arrays, shape) if shape else float(self.vector(*(arrays[n] for n in self.free)))
            except FloatingPointError as error:
                raise FormulaError(f"{self.name}: the values overflow a double ({error})") from None
            except ValueError as error:
                raise FormulaError(f"{self.name}: these shapes do not broadcast: {_shapes(arrays)}") from error

    def _check_domain(self, arrays: dict[str, Any]) -> None:
        """Refuse values between which a condition of the formula does not hold."""
        import numpy

        for condition, names, room in self._bounds:
            if not numpy.all(room(*(arrays[n] for n in names)) >= 0):
                raise FormulaError(f"{self.name} holds only where {condition.lhs} <= {condition.rhs}")

    def _fill(self, arrays: dict[str, Any], shape: tuple[int, ...]):
        """The values on a grid, computed in blocks of its first axis that stay in the processor's cache."""
        import numpy

        out = numpy.empty(shape)
        rows = max(1, _BLOCK // max(1, out.size // max(1, shape[0])))
        for start in range(0, shape[0], rows):
            part = slice(start, start + rows)
            cut = lambda a: a[part] if a.ndim == len(shape) and a.shape[0] > 1 else a
            out[part] = self.vector(*(cut(arrays[name]) for name in self.free))
        return out

    def check_declared(self, values: Mapping[str, Any]) -> None:
        """Refuse names that no lesson declares."""
        for name in values:
            if not notation.is_declared(name):
                raise UnknownSymbol(f"{self.name} has no symbol {name!r}; it takes: {', '.join(self.free)}")

    def _check_names(self, values: Mapping[str, Any]) -> None:
        self.check_declared(values)
        missing = [name for name in self.free if name not in values]
        if missing:
            raise UnknownSymbol(f"{self.name} also needs {', '.join(missing)}; it takes: {', '.join(self.free)}")


def _shapes(arrays: dict[str, Any]) -> str:
    return ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.shape)


def write_vega(code: Compiled, fields: Mapping[str, str | float]) -> str:
    """The expression in the Vega expression language, with fields or numbers in place of some symbols."""
    for name in fields:
        if name not in code.free:
            raise UnknownSymbol(f"{code.name} has no symbol {name!r}; it takes: {', '.join(code.free)}")
    stand_in = {
        notation.symbol(n): sympy.Symbol(f"({v})" if isinstance(v, str) else repr(float(v))) for n, v in fields.items()
    }
    # SymPy would declare Euler's constant in a line of its own, which an expression cannot have.
    written = code.expr.xreplace(stand_in | {sympy.EulerGamma: sympy.EulerGamma.evalf(17)})
    return jscode(written).replace("Math.", "")
