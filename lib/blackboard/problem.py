"""Problems that correct the reader, as declarations.

A problem states a question with drawn parameters, its answer, an independent check of it, hints, a worked solution and
the misconceptions people have. Answers and misconceptions are formulas, expressions of formulas and of the drawn
parameters (`v.batch` stands for the drawn `batch`), or, where arithmetic does not do, functions of the drawn values.
Verdicts on numbers are bands (low, high, kind, message), tried in order; the page's answer boxes read the same bands,
so both judge alike.
"""

from __future__ import annotations

import math
import random
import re
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
UNKNOWN = "No mistake that we know leads there. A hint says where to start."
PAGE_DRAWS = 3  # sets of numbers that the static page carries for each problem
THOUSAND = "The digits are right; the power of a thousand is not. Look at kilo, mega, giga in your inputs."
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
