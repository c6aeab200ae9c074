"""Derivations: SymPy steps from one equation to a formula, each with its reason, shown in the course's letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sympy

from blackboard.formula import Formula
from blackboard.notation import latex
from blackboard.text import markup


def spread(expr: sympy.Expr) -> sympy.Expr:
    """Carry positive factors into a maximum: c·max(a, b) is max(c·a, c·b), c/max(a, b) is min(c/a, c/b)."""
    for part in sympy.Mul.make_args(expr):
        inner, power = part.as_base_exp()
        if isinstance(inner, (sympy.Max, sympy.Min)) and power in (1, -1):
            rest, same = expr / part, (power == 1) == isinstance(inner, sympy.Max)
            return (sympy.Max if same else sympy.Min)(*(spread(rest * arg**power) for arg in inner.args))
    return expr


def limit(expr: sympy.Expr, symbol: sympy.Symbol, to: object) -> sympy.Expr:
    """The limit of an expression in positive symbols; maxima are continuous, so it is taken of each part."""
    expr = spread(expr)
    if isinstance(expr, (sympy.Max, sympy.Min)):
        return expr.func(*(limit(arg, symbol, to) for arg in expr.args))
    return sympy.limit(expr, symbol, to, "+" if to == 0 else "-")


def equal(left: sympy.Expr, right: sympy.Expr) -> bool:
    """Whether two expressions are the same for all positive symbols."""
    return sympy.simplify(spread(left) - spread(right)) == 0


class DerivationError(ValueError):
    """A step that does not follow, or an end that is not the formula it should be."""


class Derivation:
    """An equation worked step by step; every method adds one line and returns the derivation itself."""

    def __init__(self, left: sympy.Expr, right: sympy.Expr, why: str):
        self.lines: list[tuple[str, str]] = []
        self.left, self.right = sympy.sympify(left), sympy.sympify(right)
        self._write(why)

    def _write(self, why: str) -> Derivation:
        self.lines.append((why, f"{latex(self.left)} = {latex(self.right)}"))
        return self

    def both(self, change: Callable[[sympy.Expr], sympy.Expr], why: str) -> Derivation:
        """Do the same to both sides."""
        self.left, self.right = change(self.left), change(self.right)
        return self._write(why)

    def plus(self, more: sympy.Expr, why: str) -> Derivation:
        """Add what the right side still lacks."""
        self.right += more
        return self._write(why)

    def put(self, values: Mapping[sympy.Expr, sympy.Expr], why: str) -> Derivation:
        """Replace symbols or parts by what they stand for, on both sides."""
        return self.both(lambda side: side.subs(values), why)

    def solve(self, target: sympy.Symbol, name: sympy.Symbol, why: str) -> Derivation:
        """Solve for a symbol, and call the solution `name`."""
        found = sympy.solve(sympy.Eq(self.left, self.right), target)
        if len(found) != 1:
            raise DerivationError(f"{len(found)} solutions for {target}")
        self.left, self.right = name, found[0]
        return self._write(why)

    def let(self, symbol: sympy.Symbol, to: sympy.Expr, name: sympy.Symbol, why: str) -> Derivation:
        """Let a symbol go to a value on the right side, and call the result `name`."""
        self.left, self.right = name, limit(self.right, symbol, to)
        return self._write(why)

    def gives(self, formula: Formula) -> Derivation:
        """Refuse to end anywhere but at the formula that the plots, sliders and answers use."""
        if self.left != formula.symbol or not equal(self.right, formula.expr):
            raise DerivationError(f"this ends at {self.left} = {self.right}, not at {formula!r}")
        self.lines[-1] = (self.lines[-1][0], formula.latex)  # equal, and as the rest of the course writes it
        return self

    def __repr__(self) -> str:
        return "\n".join(f"{why}\n    {line}" for why, line in self.lines)

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{markup(why)} \\[{line}\\]</li>" for why, line in self.lines)
        return f'<ol class="derivation">{rows}</ol>'
