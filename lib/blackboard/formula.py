"""Formula: one equation, many renderings.

A formula is data: a name, a result symbol, an expression in the notation's symbols, a unit, one line of meaning, what
it assumes and where it comes from. From that one object come its LaTeX, a checked scalar function, a vectorised NumPy
function, an expression for the browser, its terms and its inverse. Units are checked once, when it is defined;
evaluation carries none and pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from html import escape
from typing import Any, NamedTuple

import sympy

from blackboard import notation, units
from blackboard.compiled import NOT_PLAIN, Compiled, FormulaError, UnknownSymbol, read_number, write_vega
from blackboard.notation import latex
from blackboard.units import UnitError

# SymPy would compare the arguments as expressions, pair by pair: half of the time that importing the lessons takes, and
# no pair of the course's is decided by it.
Max = partial(sympy.Max, evaluate=False)
Min = partial(sympy.Min, evaluate=False)


class Source(NamedTuple):
    """Where an equation comes from: a key of the bibliography and, for the lecture, the caption's timestamp."""

    key: str
    at: str = ""

    def __str__(self) -> str:
        return f"{self.key} {self.at}".strip()


def lecture(at: str) -> Source:
    """The lecture at a timestamp of its captions, h:mm:ss."""
    return Source("pope2026blackboard", at)


DERIVED = Source("derived")  # follows from the lecture's equations; not said there


@dataclass(frozen=True)
class Calibration:
    """Efficiencies and overheads of a real system, by symbol name, with the source of the values."""

    id: str
    source: str
    values: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.values:
            if notation.lookup(name).kind != "calibration":
                raise UnknownSymbol(f"{name} is no calibration; there are: {', '.join(_calibrations())}")

    @property
    def full(self) -> dict[str, float]:
        """All calibrations by symbol name, ideal where this one does not say."""
        return {**_calibrations(), **self.values}


IDEAL = Calibration("ideal", "every efficiency 1, every overhead 0: a floor on time")


def _calibrations() -> dict[str, float]:
    return {symbol.name: float(value.p) for symbol, value in notation.ideal.items()}  # .p: ten times as fast


def _efficiencies(calibration: Calibration | Mapping[str, Any]) -> Mapping[str, Any]:
    return calibration.values if isinstance(calibration, Calibration) else calibration


# --- units ---------------------------------------------------------------------------------------------------------


def dimension(expr: sympy.Basic) -> units.Dimension:
    """The dimension an expression has by its symbols; UnitError where it adds or compares unlike things."""
    if isinstance(expr, sympy.Symbol):
        return units.dimension(notation.lookup(expr.name).unit)
    if expr.is_number:
        return {}
    if isinstance(expr, sympy.Mul):
        return _product([(dimension(factor), 1) for factor in expr.args])
    if isinstance(expr, sympy.Pow):
        return _power(expr)
    if isinstance(expr, (sympy.Add, sympy.Max, sympy.Min)):
        return _alike(expr)
    for inner in expr.args:
        if dimension(inner):
            raise UnitError(
                f"{type(expr).__name__}({inner}) needs a pure number, got {units.describe(dimension(inner))}"
            )
    return {}


def _product(parts: list[tuple[units.Dimension, Any]]) -> units.Dimension:
    total: units.Dimension = {}
    for dim, power in parts:
        for name, exponent in dim.items():
            total[name] = total.get(name, 0) + exponent * power
    return {name: exponent for name, exponent in total.items() if exponent}


def _power(expr: sympy.Pow) -> units.Dimension:
    base, exponent = dimension(expr.base), expr.exp
    if dimension(exponent):
        raise UnitError(f"{expr}: an exponent needs a pure number, got {units.describe(dimension(exponent))}")
    if base and not exponent.is_Rational:
        raise UnitError(f"{expr}: {units.describe(base)} raised to a power that is not a number")
    return _product([(base, units.Fraction(int(exponent.p), int(exponent.q)))]) if base else {}


def _alike(expr: sympy.Basic) -> units.Dimension:
    found = [(arg, dimension(arg)) for arg in expr.args if arg != 0]
    for arg, dim in found[1:]:
        if dim != found[0][1]:
            raise UnitError(
                f"{found[0][0]} ({units.describe(found[0][1])}) and {arg} ({units.describe(dim)}) stand in one"
                f" {type(expr).__name__}"
            )
    return found[0][1]


# --- formulas ------------------------------------------------------------------------------------------------------


def gather(sources: tuple[Any, ...], precision: str | None = None) -> dict[str, Any]:
    """Values by symbol name: of mappings as they are, of catalogue rows by their `symbols()` at a precision, which is
    that of the first model's weights unless it is given. Later sources go before earlier ones.
    """
    precision = precision or next((s.weights for s in sources if getattr(s, "weights", None)), None)
    found: dict[str, Any] = {}
    for source in sources:
        found.update(source if isinstance(source, Mapping) else source.symbols(precision))
    return found


class Formula:
    """One equation with its unit, meaning, assumptions and source; calling it gives its value in base SI units."""

    def __init__(
        self,
        name: str,
        symbol: str,
        expr: sympy.Expr,
        unit: str,
        description: str,
        assumes: tuple[str, ...] = (),
        source: Source = DERIVED,
        terms: Mapping[str, Formula] | None = None,
        register: bool = True,
        conditions: tuple[sympy.Basic, ...] = (),
        typeset: sympy.Expr | None = None,
    ):
        self.name, self.description, self.assumes, self.source = name, description, tuple(assumes), source
        self.symbol, self.unit, self.typed = notation.symbol(symbol), unit, sympy.sympify(expr)
        self.terms = Terms(terms or {})
        self.conditions = tuple(condition.xreplace(notation.constants) for condition in conditions)  # conditions a <= b
        self.typeset = typeset  # the ideal expression, unevaluated, where SymPy's order hides the idea
        self._solved: dict[str, Formula] = {}
        self._check_units()
        if register:
            formulas.add(self)

    def _check_units(self) -> None:
        declared, row = units.dimension(self.unit), notation.lookup(self.symbol.name)
        if units.dimension(row.unit) != declared or units.factor(self.unit) != 1:
            raise UnitError(
                f"{self.name}: declared in {units.write_unit(self.unit)}, but the notation has"
                f" {self.symbol.name} in {units.write_unit(row.unit)}"
            )
        derived = dimension(self.typed)
        if derived != declared:
            raise UnitError(
                f"{self.name}: declared in {units.write_unit(self.unit)}, but the expression gives"
                f" {units.describe(derived)}"
            )

    @cached_property
    def calibrated(self) -> sympy.Expr:
        """The expression with its efficiencies and overheads, the constants of the law filled in."""
        return self.typed.xreplace(notation.constants)

    @cached_property
    def expr(self) -> sympy.Expr:
        """The ideal expression: efficiencies 1, overheads 0. This is what the page shows."""
        return self.calibrated.xreplace(notation.ideal)

    @cached_property
    def _ideal_code(self) -> Compiled:
        return Compiled(self.name, self.expr, self.conditions)

    @cached_property
    def _calibrated_code(self) -> Compiled:
        return Compiled(self.name, self.calibrated, self.conditions)

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the symbols that a call must give, in order."""
        return self._ideal_code.free

    @property
    def eq(self) -> sympy.Eq:
        """The equation: result symbol = ideal expression."""
        return sympy.Eq(self.symbol, self.expr, evaluate=False)

    @cached_property
    def latex(self) -> str:
        """The equation in LaTeX, without delimiters."""
        expr = latex(self.expr) if self.typeset is None else notation.typeset(self.typeset)
        return f"{latex(self.symbol)} = {expr}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"

    def __repr__(self) -> str:
        return f"<{self.name} [{self.unit}]: {self.symbol} = {self.expr}>"

    def __call__(
        self,
        *sources: Any,
        calibration: Any = IDEAL,
        precision: Any = None,
        **values: Any,
    ) -> Any:
        """The value in base SI units: a float for numbers, a float64 array of the common shape for arrays.

        `sources` are mappings or catalogue rows, whose other symbols are ignored; the calibration goes before them and
        `values` before both. With a calibration, or a mapping of efficiencies and overheads, the calibrated expression
        is evaluated, what is not given being ideal.
        """
        code = self._ideal_code
        if calibration is not IDEAL:
            code, sources = self._calibrated_code, (_calibrations(), *sources, _efficiencies(calibration))
        if sources:
            found = gather(sources, precision)
            values = {name: found[name] for name in code.free if name in found} | values
        if calibration is not IDEAL and not values.keys() >= set(code.free):
            code = self.bind(calibration=calibration)._code  # an overhead of zero needs nothing that it multiplies
        return code.evaluate(values)

    def bind(
        self,
        *sources: Any,
        calibration: Any = IDEAL,
        precision: Any = None,
        **values: Any,
    ) -> BoundFormula:
        """The same formula with fewer arguments: what the sources, the calibration and the values give is bound."""
        known = self._calibrated_code.free
        self._calibrated_code.check_declared(values)
        found = gather((_calibrations(), *sources, _efficiencies(calibration)), precision) | values
        return BoundFormula(self, {name: read_number(name, value) for name, value in found.items() if name in known})

    def at(self, **values: Any) -> sympy.Expr:
        """The ideal expression with other values, expressions or formulas in place of some symbols."""
        return self.expr.xreplace({notation.symbol(name): sympy.sympify(value) for name, value in values.items()})

    def _sympy_(self) -> sympy.Expr:
        return self.expr

    @property
    def free_symbols(self) -> set[sympy.Symbol]:
        """The symbols that a call must give."""
        return self.expr.free_symbols

    # arithmetic with formulas gives SymPy expressions
    __add__ = __radd__ = lambda self, other: self.expr + other
    __mul__ = __rmul__ = lambda self, other: self.expr * other
    __sub__ = lambda self, other: self.expr - other
    __rsub__ = lambda self, other: other - self.expr
    __truediv__ = lambda self, other: self.expr / other
    __rtruediv__ = lambda self, other: other / self.expr
    __pow__ = lambda self, other: self.expr**other
    __neg__ = lambda self: -self.expr

    def holds(self, **values: float) -> bool:
        """Whether the formula's conditions between its symbols are met by these numbers."""
        numbers = (
            {notation.symbol(name): sympy.Float(value) for name, value in values.items()} if self.conditions else {}
        )
        return all(bool(condition.xreplace(numbers)) for condition in self.conditions)

    def vega(self, calibrated: Any = False, **fields: str | float) -> str:
        """The expression in the Vega expression language; a name not given stays a signal of that name."""
        return write_vega(self._calibrated_code if calibrated else self._ideal_code, fields)

    def solve(self, name: str | sympy.Symbol) -> Formula:
        """The same equation solved for one of its symbols: a Formula again (of a maximum, the value that meets it)."""
        target = notation.symbol(getattr(name, "name", name))
        if target not in self.expr.free_symbols:
            raise UnknownSymbol(f"{self.name} has no symbol {target.name!r}; it takes: {', '.join(self.free)}")
        if target.name not in self._solved:
            row = notation.lookup(target.name)
            self._solved[target.name] = Formula(
                f"{self.name}.for_{target.name}",
                target.name,
                _invert(self.typed.xreplace(notation.ideal), self.symbol, target),
                row.unit,
                f"{row.description}, from {self.symbol.name}",
                self.assumes,
                self.source,
                register=False,
            )
        return self._solved[target.name]


def _invert(expr: sympy.Expr, result: sympy.Symbol, target: sympy.Symbol) -> sympy.Expr:
    """Solve result = expr for target; a Max (Min) of rising terms is met by the least (greatest) of their solutions."""
    if isinstance(expr, (sympy.Max, sympy.Min)):
        parts = [arg for arg in expr.args if arg.has(target)]
        rising = all(sympy.diff(arg, target).is_positive for arg in parts)
        falling = all(sympy.diff(arg, target).is_negative for arg in parts)
        if not (rising or falling):
            raise FormulaError(f"{expr} neither rises nor falls with {target} throughout: it has no one inverse")
        pick = sympy.Min if rising == isinstance(expr, sympy.Max) else sympy.Max
        return pick(*(_invert(arg, result, target) for arg in parts))
    found = sympy.solve(sympy.Eq(result, expr), target)
    if len(found) != 1:
        raise FormulaError(f"{expr} has {len(found)} solutions for {target}")
    return sympy.expand(found[0])


class BoundFormula:
    """A formula with some symbols bound to numbers; only the free ones are left to give."""

    def __init__(self, formula: Formula, bound: Mapping[str, float]):
        self.formula, self.bound = formula, dict(bound)
        self.name, self.unit, self.description = formula.name, formula.unit, formula.description
        if sympy.false in self._code.conditions:
            told = " and ".join(f"{c.lhs} <= {c.rhs}" for c in formula.conditions)
            raise FormulaError(f"{self.name} holds only where {told}")

    @cached_property
    def _code(self) -> Compiled:
        values = {notation.symbol(n): sympy.Float(v, 17) for n, v in self.bound.items()}
        conditions = tuple(met for c in self.formula.conditions if (met := c.xreplace(values)) != sympy.true)
        return Compiled(self.name, self.formula.calibrated.xreplace(values), conditions)

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the symbols that a call must give, in order."""
        return self._code.free

    def __call__(self, *sources: Any, **values: Any) -> Any:
        """The value for the free symbols. Numbers go straight into the formula's own function, printed once."""
        if sources:
            values = {name: value for name, value in gather(sources).items() if name in self.free} | values
        try:
            return self.formula._calibrated_code.scalar(**self.bound, **values)
        except NOT_PLAIN:
            return self._code.evaluate(values)

    @property
    def terms(self) -> Terms:
        """The named terms, with the same symbols bound."""
        return Terms({name: term.bind(self.bound) for name, term in self.formula.terms.items()})

    def vega(self, **fields: str | float) -> str:
        """The expression in the Vega expression language; a name not given stays a signal of that name."""
        return write_vega(self._code, fields)

    def __repr__(self) -> str:
        return (
            f"<{self.name} with {', '.join(f'{n}={v:g}' for n, v in self.bound.items())}; free: {', '.join(self.free)}>"
        )

    def _repr_html_(self) -> str:
        letter = lambda name: f"\\({latex(notation.symbol(name))}\\)"
        bound = {name: value for name, value in self.bound.items() if value != IDEAL.full.get(name)}
        rows = "".join(
            f'<tr><th scope="row">{letter(name)}</th><td>{escape(notation.lookup(name).description)}</td>'
            f"<td>{units.pretty(value, notation.lookup(name).unit)}</td></tr>"
            for name, value in bound.items()
        )
        free = f"<p>To be given: {', '.join(map(letter, self.free))}.</p>" if self.free else ""
        return f'<div>\\[{self.formula.latex}\\]</div><table class="table"><tbody>{rows}</tbody></table>{free}'


class Terms(Mapping):
    """The named terms of a formula: a mapping name -> Formula that can also be evaluated as a whole."""

    def __init__(self, terms: Mapping[str, Any]):
        self._terms = dict(terms)

    def __getitem__(self, name: str) -> Any:
        return self._terms[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def __call__(self, *sources: Any, **values: Any) -> dict[str, Any]:
        """Every term's value, on the common shape of the arguments."""
        return {name: term(*sources, **values) for name, term in self._terms.items()}

    def binds(self, *sources: Any, **values: Any) -> str:
        """The name of the largest term at one point."""
        found = self(*sources, **values)
        return max(found, key=lambda name: float(found[name]))

    def __repr__(self) -> str:
        return f"<terms: {', '.join(self._terms)}>"


class _Registry(Mapping):
    """All formulas by dotted name. A lesson registers by being imported, and is imported when first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Formula] = {}
        self._letters: dict[tuple[str, str], str] = {}

    def add(self, formula: Formula) -> None:
        if formula.name in self._known:
            raise FormulaError(f"two formulas are named {formula.name!r}")
        self._check_letters(formula)
        self._known[formula.name] = formula

    def _check_letters(self, formula: Formula) -> None:
        """Within a lesson a printed letter means one thing."""
        lesson = formula.name.partition(".")[0]
        for symbol in {formula.symbol, *formula.typed.free_symbols} - notation.constants.keys():
            first = self._letters.setdefault((lesson, notation.lookup(symbol.name).latex), symbol.name)
            if first != symbol.name:
                raise FormulaError(f"{formula.name}: {symbol.name} has the letter of {first}")

    def __getitem__(self, name: str) -> Formula:
        if name not in self._known:
            notation.load_all()
        try:
            return self._known[name]
        except KeyError:
            raise UnknownSymbol(f"no formula {name!r}; there are: {', '.join(self._known)}") from None

    def __contains__(self, name: object) -> bool:
        notation.load_all()
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        notation.load_all()
        return iter(self._known)

    def __len__(self) -> int:
        notation.load_all()
        return len(self._known)


formulas = _Registry()
