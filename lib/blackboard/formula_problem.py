"""Problems that are answered with a formula, or with a Python function: judged by its values, never by its shape."""

from __future__ import annotations

import json
import math
import random
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy

from blackboard import answers, notation, units
from blackboard.feedback import Feedback
from blackboard.problem import THOUSAND, Problem, Values
from blackboard.text import markup

NARROW = 36  # letters of a line of code that fit a phone
CONSTANT = "Right up to a constant factor. Look for one that you left out or put in twice."


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
