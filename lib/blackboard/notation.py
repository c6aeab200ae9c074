"""The one table of symbols: name in code, LaTeX, coherent unit, meaning, and what the lecture's board calls it.

Every equation of the course is written in these symbols and no others. Three kinds stand here: variables that a
caller gives, results that a formula gives, and constants and calibrations that have a value of their own.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter


@dataclass(frozen=True)
class Symbol:
    """One row of the notation; `low` and `most` bound the values allowed ("positive" or "nonnegative", and at most)."""

    name: str
    latex: str
    unit: str
    description: str
    board: str = ""
    low: str = "positive"
    most: float = float("inf")  # the largest value allowed: 1 for a share
    kind: str = "variable"  # variable, result, constant (part of the law), calibration (1 or 0 when ideal)
    value: float | None = None


class UndeclaredSymbol(KeyError):
    """A name that the notation does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


_declared: dict[str, Symbol] = {}
_letters: dict[sympy.Symbol, str] = {}  # what SymPy's LaTeX printer needs to print our symbols
constants: dict[sympy.Symbol, sympy.Integer] = {}  # of the law: one new token, two FLOPs for each multiply-add
ideal: dict[sympy.Symbol, sympy.Integer] = {}  # efficiencies of 1 and overheads of 0


def declare(
    name: str,
    latex: str,
    unit: str,
    description: str,
    board: str = "",
    *,
    zero: bool = False,
    most: float = float("inf"),
    kind: str = "variable",
    value: float | None = None,
) -> sympy.Symbol:
    """Declare a symbol, as the equations of a lesson do; `zero` says that it may also be nothing."""
    row = Symbol(name, latex, unit, description, board, "nonnegative" if zero else "positive", most, kind, value)
    if _declared.setdefault(name, row) != row:
        raise ValueError(f"the symbol {name!r} is declared twice")
    made = symbol(name)
    _letters[made] = latex
    if kind in ("constant", "calibration"):
        (constants if kind == "constant" else ideal)[made] = sympy.Integer(value)
    return made


result = partial(declare, kind="result")
constant = partial(declare, kind="constant")
calibration = partial(declare, kind="calibration")


@cache
def load_all() -> None:
    """Import the equations of all packages beside this module, whose symbols are then declared.

    Python in a page has the lessons' packages alone.
    """
    lessons = importlib.import_module("blackboard.lessons")
    packages = [f"lessons.{found.name}" for found in pkgutil.iter_modules(lessons.__path__) if found.ispkg]
    rooms = [room for room in ("prediction", "reference") if importlib.util.find_spec(f"blackboard.{room}")]
    modules = [f"{package}.equations" for package in [*packages, *rooms]]
    if "prediction" in rooms:
        modules.append("prediction.serving_equations")
    for module in modules:
        if importlib.util.find_spec(f"blackboard.{module}"):
            importlib.import_module(f"blackboard.{module}")


def table() -> Mapping[str, Symbol]:
    """All declared symbols by name, lesson by lesson."""
    load_all()
    return MappingProxyType(_declared)


def is_declared(name: str) -> bool:
    """Whether some lesson declares the name."""
    return name in _declared or name in table()


def lookup(name: str) -> Symbol:
    """The row of a name, or UndeclaredSymbol with the near names."""
    if name not in _declared:
        load_all()
    try:
        return _declared[name]
    except KeyError:
        import difflib

        near = difflib.get_close_matches(str(name), table(), 4) or sorted(table())
        raise UndeclaredSymbol(f"no symbol {name!r} in the notation; did you mean: {', '.join(near)}?") from None


@cache
def symbol(name: str) -> sympy.Symbol:
    """The SymPy symbol of a declared name; all quantities of the course are real and not negative."""
    return sympy.Symbol(lookup(name).name, positive=True)


def symbols(names: str) -> tuple[sympy.Symbol, ...]:
    """Several at once: symbols("batch context")."""
    return tuple(map(symbol, names.split()))


class _Printer(LatexPrinter):
    """LaTeX as one writes it: a difference starts with what is subtracted from, and it is 1 + x/3, not x/3 + 1."""

    def _as_ordered_terms(self, expr: sympy.Expr, order: str | None = None) -> list[sympy.Expr]:
        terms = super()._as_ordered_terms(expr, order)
        one_first = len(terms) == 2 and terms[1].is_Number and terms[1] > 0 and not terms[0].is_Symbol
        return sorted(terms[::-1] if one_first else terms, key=lambda term: term.could_extract_minus_sign())

    def _print_ExpBase(self, expr: sympy.exp, exp: str | None = None) -> str:
        """A fraction in a maximum would be too small to read as an exponent: it stands on the line."""
        if exp is None and expr.args[0].atoms(sympy.Max):
            return rf"\exp\left({self.doprint(expr.args[0])}\right)"
        return super()._print_ExpBase(expr, exp)


class Quotient(sympy.Function):
    """A quotient that is typeset on one line, where fractions within a fraction would be too small to read."""

    nargs = 2

    def doit(self, **hints: Any) -> sympy.Expr:
        return self.args[0].doit(**hints) / self.args[1].doit(**hints)

    def _latex(self, printer: LatexPrinter) -> str:
        above, below = map(printer._print, self.args)
        return rf"{above} \div \left({below}\right)"


def _rooted(product: sympy.Mul) -> sympy.Expr:
    """A product of square roots under one root."""
    roots = [f for f in product.args if f.is_Pow and abs(f.exp) == sympy.S.Half]
    whole = sympy.Mul(*(f.base if f.exp > 0 else 1 / f.base for f in roots))
    rest = sympy.Mul(*(f for f in product.args if f not in roots))
    return (
        sympy.Mul(rest, sympy.Pow(whole, sympy.S.Half, evaluate=False), evaluate=False)
        if rest != 1
        else sympy.Pow(whole, sympy.S.Half, evaluate=False)
    )


_STYLE: dict[str, Any] = {"symbol_names": _letters, "mul_symbol": r" \, "}


def latex(expression: sympy.Basic) -> str:
    """LaTeX of an expression or equation in the course's letters."""
    over_one = lambda e: e.is_Add and not e.has(sympy.exp) and len({sympy.fraction(term)[1] for term in e.args}) == 1
    tidy = expression.replace(over_one, sympy.together)  # an exponential is no denominator
    tidy = tidy.replace(
        lambda e: e.is_Mul and sum(f.is_Pow and abs(f.exp) == sympy.S.Half for f in e.args) > 1, _rooted
    )
    return _Printer(_STYLE).doprint(tidy)


def typeset(expression: sympy.Basic) -> str:
    """LaTeX of an expression as it stands, factors and terms in their order."""
    return _Printer(_STYLE | {"order": "none"}).doprint(expression)


def letter(name: str) -> str:
    """The board's letter as one types it: n_active gives N_act, kv_bytes_per_token gives kappa."""
    return lookup(name).latex.replace(r"\mathrm", "").translate(str.maketrans("", "", "\\{}^*"))
