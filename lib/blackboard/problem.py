"""Problems that correct the reader, as declarations.

A problem states a question with drawn parameters, its answer, an independent check of it, hints, a worked solution and
the misconceptions people have. Answers and misconceptions are formulas, expressions of formulas and of the drawn
parameters (`v.batch` stands for the drawn `batch`), or, where arithmetic does not do, functions of the drawn values.
Verdicts on numbers are bands (low, high, kind, message), tried in order; the page's answer boxes read the same bands,
so both judge alike.
"""

from __future__ import annotations

import json
import math
import random
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import sympy

from blackboard import answers, notation, units
from blackboard.answers import Unreadable
from blackboard.feedback import Band, Feedback
from blackboard.text import digits, markup, write_powers

UNANSWERED = "Give an answer and check again, or ask for a hint."
UNKNOWN = "What went wrong is none of the mistakes that this problem knows; a hint says where to start."
NARROW = 36  # letters of a line of code that fit a phone
PAGE_DRAWS = 3  # sets of numbers that the static page carries for each problem
THOUSAND = "The digits are right; the power of a thousand is not. Look at kilo, mega, giga in your inputs."
CONSTANT = "Right up to a constant factor. Look for one that you left out or put in twice."
Values = dict[str, Any]


class Step(NamedTuple):
    """One line of a solution: words, and what to compute and show behind them."""

    text: str
    value: Any = None
    unit: str = ""


class Option(NamedTuple):
    """An option of a choice, and what is said to those who take it."""

    text: str
    feedback: str
    is_right: bool = False


def right(text: str, feedback: str) -> Option:
    """The right option."""
    return Option(text, feedback, True)


def wrong(text: str, feedback: str) -> Option:
    """An option that is wrong, and why."""
    return Option(text, feedback)


class _Parameters:
    """`v.name` is the symbol of a drawn parameter: the notation's where it has the name, else one of its own."""

    def __getattr__(self, name: str) -> sympy.Symbol:
        return notation.symbol(name) if notation.is_declared(name) else sympy.Symbol(name, real=True)


v: Any = _Parameters()


@cache
def _compile(expr: sympy.Expr) -> tuple[list[str], Callable]:
    filled = expr.xreplace(notation.constants)
    symbols = sorted(filled.free_symbols, key=str)
    return [symbol.name for symbol in symbols], sympy.lambdify(symbols, filled, "math")


def evaluate(rule: Any, values: Values) -> Any:
    """A formula, an expression or a function of the drawn values, computed; anything else as it is."""
    if isinstance(rule, sympy.Expr):
        names, compute = _compile(rule)
        return compute(*(values[name] for name in names))
    return rule(values) if callable(rule) else rule


def shown(value: Any, unit: str = "") -> str:
    """A drawn or computed value as the text shows it."""
    return units.pretty(value, unit, 4, exact=True) if isinstance(value, (int, float)) else str(value)


@dataclass(frozen=True, repr=False)
class Problem:
    """What all kinds share.

    `parameters` maps names to the values that a fresh draw picks from; the first of each is draw 0. `derived` adds what
    follows from them; only draws that meet the `condition` are taken. `misconceptions` maps what a misconception yields
    to what is said of it. A solution's lines are texts or steps; where the last has no value, the answer stands there.
    An `independent_check` comes to the answer by another way. The id is the name in the lesson's module.
    """

    title: str
    level: str  # easy, medium, hard
    statement: str
    hints: tuple[str, ...]
    solution: Sequence[Step | str] | Callable[[Values], Sequence[Step | str]]
    objective: str
    answer: Any = None
    independent_check: Any = None
    explanation: str = ""
    misconceptions: Mapping[Any, str] = field(default_factory=dict)
    parameters: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    derived: Mapping[str, Any] | Callable[[Values], Values] = field(default_factory=dict)
    condition: Any = True
    units: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    kind = "problem"
    on_page = PAGE_DRAWS

    def __repr__(self) -> str:
        return f"<{' '.join(filter(None, (self.kind, self.id)))}: {self.title} ({self.level})>"

    def _repr_html_(self) -> str:
        stated = self.fill(self.statement, self.values())
        return f"<p><strong>{markup(self.title)}</strong> ({self.level}, {self.kind})</p><p>{markup(stated)}</p>"

    def values(self, seed: int = 0) -> Values:
        """The numbers of a draw: seed 0 is the printed one, others pick afresh, until no two verdicts coincide."""
        for attempt in range(200):
            rng = random.Random(f"{self.id}/{seed}/{attempt}")
            pick = (lambda options: options[0]) if seed == attempt == 0 else (lambda options: rng.choice(list(options)))
            values = {name: pick(options) for name, options in self.parameters.items()}
            values |= self.derive(values)
            if evaluate(self.condition, values) and self.distinguishable(values):
                return values
        raise ValueError(f"{self.id}: no draw keeps the misconceptions apart")

    def derive(self, values: Values) -> Values:
        """What follows from the drawn parameters."""
        if callable(self.derived):
            return self.derived(values)
        return {name: evaluate(rule, values) for name, rule in self.derived.items()}

    def distinguishable(self, values: Values) -> bool:
        """Whether the answer and each misconception can be told from another at these values."""
        return True

    def unit_of(self, name: str) -> str:
        """The unit in which a drawn value is shown."""
        return self.units.get(name, notation.lookup(name).unit if notation.is_declared(name) else "")

    def fill(self, text: str, values: Values) -> str:
        """A text with {names} replaced by the drawn values and their units; LaTeX's own braces stay."""
        return re.sub(
            r"(?<![A-Za-z_^}])\{(\w+)\}",
            lambda m: shown(values[m[1]], self.unit_of(m[1])) if m[1] in values else m[0],
            text,
        )

    def expected(self, values: Values) -> Any:
        """The answer, computed."""
        return evaluate(self.answer, values)

    def wrong_answers(self, values: Values) -> dict[Any, str]:
        """What each misconception yields, computed, and what is said of it."""
        return {evaluate(rule, values): feedback for rule, feedback in self.misconceptions.items()}

    def judge(self, given: Any, values: Values) -> Feedback:
        """The verdict on an answer; a kind of problem implements it."""
        raise NotImplementedError

    def check(self, given: Any, values: Values) -> Feedback:
        """`judge`, with blanks, unreadable answers and hostile objects turned into feedback. Never raises."""
        try:
            if answers.is_blank(given):
                return Feedback("unanswered", UNANSWERED)
            return self.judge(given, values)
        except Unreadable as error:
            return Feedback(error.kind, str(error))
        except (Exception, RecursionError):
            return Feedback("type", f"I cannot use that object. {self.wants}")

    @property
    def wants(self) -> str:
        """What an answer looks like."""
        return "Give a number."

    def lines(self, values: Values) -> list[str]:
        """The solution's lines, with these numbers."""
        out = []
        for step in self.steps(values):
            text = self.fill(step.text, values)
            mark = "`" if isinstance(step.value, str) and "*" in step.value else "**"  # code, whose stars are no markup
            out.append(text if step.value is None else f"{text} {mark}{shown(step.value, step.unit)}{mark}")
        return out

    def steps(self, values: Values) -> list[Step]:
        """The solution's steps, computed, the answer at the end."""
        lines = self.solution(values) if callable(self.solution) else self.solution
        steps = [line if isinstance(line, Step) else Step(line) for line in lines]
        steps = [step._replace(value=evaluate(step.value, values)) for step in steps]
        return self.conclude(steps, values)

    def conclude(self, steps: list[Step], values: Values) -> list[Step]:
        """The steps with the answer at their end."""
        return steps

    def draws(self, count: int) -> list[Values]:
        """Up to so many draws with different statements: fresh ones first, and last the one that `values()` gives."""
        found: dict[str, Values] = {}
        for values in map(self.values, range(4 * count if self.parameters else 1)):
            found.setdefault(self.fill(self.statement, values), values)
            if len(found) == count:
                break
        first, *fresh = found.values()
        return [*fresh, first]

    def page_draw(self, values: Values) -> dict[str, Any]:
        """One draw as the page's answer box needs it."""
        texts = {
            "ask": markup(self.fill(self.statement, values)),
            "solution": [write_powers(markup(t)) for t in self.lines(values)],
            "hints": [write_powers(markup(self.fill(hint, values))) for hint in self.hints],
        }
        return texts | self.page_answer(values)

    def texts(self, values: Values) -> dict[str, str]:
        """The options or items by letter; other kinds have none."""
        return {}

    def page_answer(self, values: Values) -> dict[str, Any]:
        """What the page needs to judge this kind."""
        return {}

    def page(self) -> dict[str, Any]:
        """All that the page's answer box needs, ready for JSON; what no draw changes stands beside `draws`, once."""
        draws = [self.page_draw(values) for values in self.draws(self.on_page)]
        same = {key: value for key, value in draws[0].items() if all(draw[key] == value for draw in draws)}
        own = [{key: value for key, value in draw.items() if key not in same} for draw in draws]
        return {"kind": self.kind, "wants": self.wants, **same, "draws": own}


@dataclass(frozen=True, repr=False)
class Quantity(Problem):
    """A number with a unit. Right within `tolerance`; a bare number is read in `display_unit`."""

    unit: str = ""
    display_unit: str = ""
    tolerance: float = 0.02
    near_tolerance: float = 0.15
    kind = "quantity"

    @property
    def wants(self) -> str:
        return f"Give one number{', in ' + self.shown_label if self.shown_label else ''}, {self.leeway}."

    @property
    def leeway(self) -> str:
        """How exact the answer must be, in words."""
        return f"to {100 * self.tolerance:g}%"

    @property
    def label(self) -> str:
        """The unit a bare number is read in."""
        return self.display_unit or self.unit

    @property
    def shown_label(self) -> str:
        """The same as the text shows it: nothing for a pure number, things that are counted in the plural."""
        plural = {"1": "", "token": "tokens", "sequence": "sequences", "token/s": "tokens/s"}
        return plural.get(self.label, self.label)

    @property
    def scale(self) -> float:
        """Size of the unit a bare number is read in."""
        return answers.spellings(self.unit)[answers.canonical(self.label)]

    def bands(self, values: Values) -> list[Band]:
        """The verdicts in order; whatever no band holds is wrong."""
        right = float(self.expected(values))
        around = lambda x, width, *more: Band(x * (1 - width), x * (1 + width), *more)
        out = [around(right, self.tolerance, "right", self.fill(self.explanation, values))]
        out += [
            around(float(value), self.tolerance, "misconception", self.fill(feedback, values))
            for value, feedback in self.wrong_answers(values).items()
        ]
        out += [
            around(right * f, self.tolerance / 4, "prefix", description) for f, description in self._prefixes(right)
        ]
        return out + [around(right, self.near_tolerance, "close", "Check the rounding and the inputs once more.")]

    def _prefixes(self, right: float) -> list[tuple[float, str]]:
        out = [(1000.0**k, THOUSAND) for k in (-4, -3, -2, -1, 1, 2, 3, 4)]
        if units.dimension(self.unit).get("information"):
            bits = "That is off by exactly 8: bits where bytes are meant, or the other way round."
            binary = "That is off by a power of 1.024: binary prefixes (GiB) where decimal ones (GB) are meant."
            out += [(8.0, bits), (1 / 8, bits)] + [(1.024**k, binary) for k in (-4, -3, -2, 2, 3, 4) if right >= 1e6]
        return out

    @property
    def gap(self) -> float:
        """Distance, in natural logarithms, that keeps two verdicts apart."""
        return 2.5 * self.tolerance

    def distinguishable(self, values: Values) -> bool:
        found = [self.expected(values), *(evaluate(rule, values) for rule in self.misconceptions)]
        logs = sorted(math.log(x) for x in found)
        return all(b - a > self.gap for a, b in zip(logs, logs[1:]))

    def conclude(self, steps: list[Step], values: Values) -> list[Step]:
        if steps[-1].value is not None:
            return steps
        answer = self.expected(values)
        own = (answer / self.scale, self.label) if self.label in ("$/Mtok", "%") else (answer, self.unit)
        return [*steps[:-1], Step(steps[-1].text, *own)]

    def judge(self, given: Any, values: Values) -> Feedback:
        number = answers.quantity(given, self.unit, self.shown_label, self.scale)
        for low, high, kind, message in self.bands(values):
            if digits(low) <= number <= digits(high):  # the page has no more digits, and both must draw the same line
                return Feedback(kind, message)
        size = "small" if number < float(self.expected(values)) else "large"
        return Feedback("wrong", f"Too {size}. {UNKNOWN}")

    def page_answer(self, values: Values) -> dict[str, Any]:
        bands = [[b.low, b.high, b.kind, markup(b.message)] for b in self.bands(values)]
        return {
            "bands": bands,
            "units": answers.readings(self.unit, self.shown_label, self.scale),
            "label": self.shown_label,
            "scale": self.scale,
        }


@dataclass(frozen=True, repr=False)
class Whole(Quantity):
    """A whole number, right or not: what is said of numbers beside it is
    `off_by_one_message`, and never "close"."""

    tolerance: float = 0.01
    off_by_one_message: str = "It comes out as a whole number, and one beside it is as wrong as any other."

    @property
    def leeway(self) -> str:
        return "a whole one"

    def bands(self, values: Values) -> list[Band]:
        *told, near = super().bands(values)
        right = float(self.expected(values))
        low, high = min(near.low, right - 1.01), max(near.high, right + 1.01)
        return told + [Band(low, high, "misconception", self.fill(self.off_by_one_message, values))]


@dataclass(frozen=True, repr=False)
class Estimate(Quantity):
    """An order of magnitude: right within a factor of `within`, close within its square; `above` is said instead of
    `close` if it is too large.
    """

    within: float = 3.0
    close: str = "Not far off: refine one of the factors."
    above: str = ""
    kind = "estimate"

    @property
    def gap(self) -> float:
        return math.log(1.6 * self.within)

    @property
    def leeway(self) -> str:
        return f"to a factor of {self.within:g}"

    def bands(self, values: Values) -> list[Band]:
        right, f = float(self.expected(values)), self.within
        out = [Band(right / f, right * f, "right", self.fill(self.explanation, values))]
        for value, feedback in self.wrong_answers(values).items():
            out.append(Band(value / 1.5, value * 1.5, "misconception", self.fill(feedback, values)))
        near = Band(right / f**2, right * f**2, "close", self.fill(self.close, values))
        beyond = near._replace(low=right, message=self.fill(self.above, values))
        return out + ([near._replace(high=right), beyond] if self.above else [near])


@dataclass(frozen=True, repr=False)
class Guess(Estimate):
    """An estimate to make before reading. The page carries its printed numbers only, because the text goes on with
    them; a class draws.
    """

    on_page = 1


@dataclass(frozen=True, repr=False)
class Choice(Problem):
    """One of several options, each with its feedback."""

    options: Sequence[Option] = ()
    kind = "choice"

    @cached_property
    def lettered(self) -> dict[str, Option]:
        """The options by letter."""
        return dict(zip("abcdefgh", self.options))

    def expected(self, values: Values) -> str:
        [letter] = [letter for letter, option in self.lettered.items() if option.is_right]
        return letter

    @property
    def wants(self) -> str:
        return f"Answer with one of {', '.join(self.lettered)}."

    def texts(self, values: Values) -> dict[str, str]:
        """What stands behind each letter."""
        return {letter: self.fill(option.text, values) for letter, option in self.lettered.items()}

    def verdict(self, letter: str, values: Values) -> Feedback:
        """What is said to those who take an option."""
        kind = "right" if letter == self.expected(values) else "misconception"
        return Feedback(kind, self.fill(self.lettered[letter].feedback, values))

    def conclude(self, steps: list[Step], values: Values) -> list[Step]:
        return [*steps, Step("So the answer is", self.expected(values))]

    def judge(self, given: Any, values: Values) -> Feedback:
        return self.verdict(answers.option(given, self.texts(values)), values)

    def page_answer(self, values: Values) -> dict[str, Any]:
        told = {letter: self.verdict(letter, values) for letter in self.lettered}
        return {
            "options": {letter: markup(text) for letter, text in self.texts(values).items()},
            "verdicts": {letter: [feedback.kind, markup(feedback.message)] for letter, feedback in told.items()},
        }


@dataclass(frozen=True, repr=False)
class Ordering(Problem):
    """Items to put in order, by their letters; `answer` is the order as one string of letters."""

    items: Sequence[str] = ()
    kind = "ordering"

    @property
    def letters(self) -> str:
        """The items' letters."""
        return "abcdefgh"[: len(self.items)]

    def texts(self, values: Values) -> dict[str, str]:
        """What stands behind each letter."""
        return {letter: self.fill(text, values) for letter, text in zip(self.letters, self.items)}

    @property
    def wants(self) -> str:
        return f"Give the letters in order, such as {' '.join(self.letters)}."

    def conclude(self, steps: list[Step], values: Values) -> list[Step]:
        return [*steps, Step("So the order is", self.expected(values))]

    def judge(self, given: Any, values: Values) -> Feedback:
        order, right = answers.order(given, self.letters), self.expected(values)
        told = {letters: ("misconception", feedback) for letters, feedback in self.misconceptions.items()}
        swaps = [right[:i] + right[i + 1] + right[i] + right[i + 2 :] for i in range(len(right) - 1)]
        close = dict.fromkeys(swaps, ("close", "Two neighbours are swapped."))
        in_place = sum(a == b for a, b in zip(order, right))
        wrong = ("wrong", f"{in_place} of {len(right)} stand in place.")
        kind, message = (close | told | {right: ("right", self.explanation)}).get(order, wrong)
        return Feedback(kind, self.fill(message, values))

    def page_answer(self, values: Values) -> dict[str, Any]:
        from itertools import permutations  # at most 5 items: 120 verdicts, and page and library cannot disagree

        orders = ["".join(letters) for letters in permutations(self.letters)]
        verdict = {order: (told.kind, markup(told.message)) for order in orders for told in [self.judge(order, values)]}
        return {"items": {letter: markup(t) for letter, t in self.texts(values).items()}, "verdicts": verdict}


@dataclass(frozen=True, repr=False)
class Expression(Problem):
    """A formula to write down. Answers are compared by value at random points, never by shape."""

    formula: Any = None
    test_points: Sequence[
        Values
    ] = ()  # points to try answers at, where random ones will not do: counts to loop over, published fits
    kind = "expression"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The symbols that an answer may use."""
        extra = {symbol.name for rule in self.misconceptions for symbol in rule.free_symbols}
        return tuple(sorted(set(self.formula.free) | extra))

    def fill(self, text: str, values: Values) -> str:
        """The text, with names such as N_act, which are to be typed, in the font of code."""
        words = (letter for name in self.names if len(letter := notation.letter(name)) > 1)
        names = "|".join((r"[A-Za-z]+_\w+", *words))
        parts = re.split(r"(\$[^$]*\$|`[^`]*`)", super().fill(text, values))  # every second part is math or code
        return "".join(part if n % 2 else re.sub(rf"\b({names})\b", r"`\1`", part) for n, part in enumerate(parts))

    def expected(self, values: Values) -> Any:
        return self.formula.expr

    @property
    def wants(self) -> str:
        letters = ", ".join(notation.letter(n) for n in self.names)
        return f"Write a formula in {letters}, with + - * / ^, max, min, sqrt, log, exp."

    @cached_property
    def points(self) -> list[Values]:
        """Eight random positive points that tell all mistakes apart, the last four being the first four in other
        units; or those to be tried.
        """
        if self.test_points:
            return [{name: point[name] for name in self.names} for point in self.test_points] * 2
        rng, scale = random.Random(self.id), answers.rescaling(self.names)
        for _ in range(100):
            first = [self._point(rng) for _ in range(4)]
            rows = [self.at_points(expr, first) for expr in (self.formula.expr, *self.misconceptions)]
            if not any(answers.same(a, b) for i, a in enumerate(rows) for b in rows[:i]):
                return first + [{n: x * scale[n] for n, x in point.items()} for point in first]
        raise ValueError(f"{self.id}: two of its verdicts cannot be told apart")

    def _point(self, rng: random.Random) -> Values:
        """A random positive point at which the formula holds."""
        for _ in range(10_000):
            found = {n: float(f"{10 ** rng.uniform(-1, 1):.4g}") for n in self.names}
            if self.formula.holds(**found):
                return found
        raise ValueError(f"{self.id}: {self.formula.name} holds at hardly any point between 0.1 and 10")

    def at_points(self, expr: Any, points: Sequence[Values] | None = None) -> list[float]:
        """The values at the points of a SymPy expression, or of a function that takes the symbols by name."""
        if not isinstance(expr, sympy.Basic):  # a symbol can be called too
            return [float(expr(**p)) for p in points or self.points]
        applied = {each.func for each in expr.atoms(sympy.Function)}
        own = {each.__name__: each for each in applied if not each.__module__.startswith("sympy.")}
        letters = [notation.symbol(n) for n in self.names]
        compute = sympy.lambdify(letters, expr, [own, "math"])  # `subs` takes 50 times as long
        return [float(compute(*(p[n] for n in self.names))) for p in points or self.points]

    @cached_property
    def table(self) -> dict[str, Any]:
        """Points, the right values and each mistake's: all that judging needs, here and on the page."""
        letters = answers.alphabet(self.names)
        wrong = [[self.at_points(rule), self.fill(told, {})] for rule, told in self.misconceptions.items()]
        return {"points": self.points, "right": self.at_points(self.formula.expr), "wrong": wrong, "letters": letters}

    def judge(self, given: Any, values: Values) -> Feedback:
        compute = answers.expression(given, self.table["letters"])
        return self.verdict([compute(point) for point in self.points])

    def verdict(self, got: list[float]) -> Feedback:
        """The verdict on an answer's values at the points."""
        right, half = self.table["right"], len(self.points) // 2
        if answers.same(got, right):
            return Feedback("right", self.explanation)
        for wrong, description in self.table["wrong"]:
            if answers.same(got, wrong):
                return Feedback("misconception", description)
        if not any(map(math.isfinite, got)):
            return Feedback(
                "wrong",
                "It has no finite value. Does it divide by zero, or take a root or a logarithm of a negative number?",
            )
        turned = [g / r if r else math.inf for g, r in zip(got, right)]
        rescaled = self.points[:half] != self.points[half:] and all(map(math.isfinite, turned))
        if rescaled and not answers.same(turned[:half], turned[half:]):
            return Feedback(
                "unit", f"The units do not come out as {units.write_unit(self.formula.unit) or 'a pure number'}."
            )
        if any(got) and answers.same(turned, turned[:1] * len(turned)):
            return Feedback("prefix", THOUSAND) if answers.is_thousands(turned[0]) else Feedback("close", CONSTANT)
        return Feedback("wrong", self.misfit)

    @property
    def misfit(self) -> str:
        """What to say of a wrong answer; where all symbols are pure numbers no unit was tried."""
        return (
            "The units fit, the values do not."
            if any(units.dimension(notation.lookup(n).unit) for n in self.names)
            else "The values do not fit."
        )

    def page_answer(self, values: Values) -> dict[str, Any]:
        wrong = [[got, markup(description)] for got, description in self.table["wrong"]]
        return self.table | {
            "wrong": wrong,
            "means": markup(self.explanation),
            "unit": self.formula.unit,
            "thousand": THOUSAND,
            "constant": CONSTANT,
            "misfit": self.misfit,
        }


@dataclass(frozen=True, repr=False)
class Function(Expression):
    """A Python function to write, called with the formula's symbols by name. In a page, Python runs it at the points,
    and its values are judged as a formula's.
    """

    kind = "function"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The symbols in the order in which the text asks for them, where it names them all."""
        names, asked = super().names, self.statement.partition("Write a Python function of ")[2]
        place = {name: found.start() for name in names if (found := re.search(rf"\b{name}\b", asked))}
        return tuple(sorted(names, key=place.__getitem__)) if len(place) == len(names) else names

    def fill(self, text: str, values: Values) -> str:
        """The text, with the names in the font of code where it first says of what the function is."""
        before, asked, after = text.partition("Write a Python function of ")
        for name in self.names:
            after = re.sub(rf"(?<!`)\b{name}\b(?!`)", f"`{name}`", after, count=1)
        return super().fill(before + asked + after, values)

    @property
    def wants(self) -> str:
        return f"Give a function of {', '.join(self.names)} that returns a number."

    def judge(self, given: Any, values: Values) -> Feedback:
        return self.verdict(answers.calls(given, self.points))

    @property
    def starter(self) -> str:
        """What the page's editor begins with."""
        name, given = self.id.replace("-", "_"), ", ".join(self.names)
        if len(name + given) > NARROW:
            given = f"\n{textwrap.indent(textwrap.fill(given, NARROW - 4), '    ')}\n"
        return f"def {name}({given}):\n    ...\n"

    def page_answer(self, values: Values) -> dict[str, Any]:
        """The points as a text, which reaches Python as it is: a script would round a long whole number."""
        given = super().page_answer(values)
        del given["letters"]
        return given | {"points": json.dumps(self.points), "starter": self.starter}
