"""Practice problems that correct the reader: check, hint, solution, again, and a panel of buttons.

A problem is data: a statement with drawn numbers, an answer computed from formulas, a second route to it, hints, a
worked solution, and the mistakes people make, each with its own formula and message. Verdicts on numbers are bands
(low, high, kind, message), tried in order; the page's answer boxes read the same bands, so both judge alike.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import sympy

from blackboard import answers, notation, units
from blackboard.answers import Unreadable
from blackboard.panel import digits
from blackboard.style import markup, on_page

KINDS = ("right", "close", "wrong", "misconception", "unit", "prefix", "type", "unanswered")
HEADS = {
    "right": "Right.",
    "close": "Close.",
    "wrong": "Not yet.",
    "misconception": "Not yet.",
    "unit": "Wrong unit.",
    "prefix": "Right up to a prefix.",
    "type": "I could not read that.",
    "unanswered": "Not attempted.",
}
UNANSWERED = "Give an answer and check again, or ask for a hint."
PAGE_DRAWS = 3  # fresh numbers that the static page carries for each problem
THOUSAND = "The digits are right; the power of a thousand is not. Look at kilo, mega, giga in your inputs."
CONSTANT = "Right up to a constant factor. Look for one that you left out or put in twice."
Values = dict[str, Any]


@dataclass(frozen=True)
class Feedback:
    """A verdict: `ok`, its `kind` (one of KINDS), and one message, as plain text, Markdown or HTML."""

    kind: str
    message: str

    @property
    def ok(self) -> bool:
        """True when the answer is right."""
        return self.kind == "right"

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return f"{HEADS[self.kind]} {self.message}".strip()

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return f"**{HEADS[self.kind]}** {self.message}"

    def _repr_html_(self) -> str:
        return (
            f'<p class="feedback {self.kind}" role="status"><strong>{HEADS[self.kind]}</strong>'
            f" {markup(self.message)}</p>"
        )


class Text(str):
    """Markdown-ish text that shows as such in a notebook and as plain text in a terminal."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<div class="practice-text">{markup(self)}</div>'


class Band(NamedTuple):
    """Answers from `low` to `high` get this verdict."""

    low: float
    high: float
    kind: str
    message: str


class Mistake(NamedTuple):
    """A misconception: what it yields (a function of the drawn values, an option or an order) and what to say."""

    wrong: Any
    says: str


class Step(NamedTuple):
    """One line of a solution: words, and a value or formula result to show (last one is the answer)."""

    says: str
    value: Any = None
    unit: str = ""


def shown(value: Any, unit: str = "") -> str:
    """A drawn or computed value as the text shows it."""
    return units.pretty(value, unit, 4, exact=True) if isinstance(value, (int, float)) else str(value)


@dataclass(frozen=True)
class Problem:
    """What all kinds share. `draw` maps names to the values a fresh draw picks from; the first of each is draw 0."""

    id: str
    title: str
    level: str  # easy, medium, hard
    ask: str
    answer: Any
    second: Callable[[Values], Any]
    means: str
    hints: tuple[str, ...]
    solution: Callable[[Values], Sequence[Step]]
    draw: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    derive: Callable[[Values], Values] = lambda v: {}
    mistakes: tuple[Mistake, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    objective: str = ""
    kind = "problem"

    def values(self, seed: int = 0) -> Values:
        """The numbers of a draw: seed 0 is the printed one, others pick afresh, until no two verdicts coincide."""
        for attempt in range(200):
            rng = random.Random(f"{self.id}/{seed}/{attempt}")
            pick = (lambda options: options[0]) if seed == attempt == 0 else (lambda options: rng.choice(list(options)))
            values = {name: pick(options) for name, options in self.draw.items()}
            values |= self.derive(values)
            if self.tells_apart(values):
                return values
        raise ValueError(f"{self.id}: no draw keeps the misconceptions apart")

    def tells_apart(self, values: Values) -> bool:
        """Whether the answer and each misconception can be told from another at these values."""
        return True

    def unit_of(self, name: str) -> str:
        """The unit in which a drawn value is shown."""
        return self.units.get(name, notation.table()[name].unit if name in notation.table() else "")

    def fill(self, text: str, values: Values) -> str:
        """A text with {names} replaced by the drawn values and their units; LaTeX's own braces stay."""
        return re.sub(
            r"(?<![A-Za-z_^}])\{(\w+)\}",
            lambda m: shown(values[m[1]], self.unit_of(m[1])) if m[1] in values else m[0],
            text,
        )

    def expected(self, values: Values) -> Any:
        """The answer, computed."""
        return self.answer(values) if callable(self.answer) else self.answer

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
        for step in self.solution(values):
            text = self.fill(step.says, values)
            mark = "`" if isinstance(step.value, str) and "*" in step.value else "**"  # code, whose stars are no markup
            out.append(text if step.value is None else f"{text} {mark}{shown(step.value, step.unit)}{mark}")
        return out

    def draws(self, count: int) -> list[Values]:
        """Up to so many draws with different statements, the printed one first."""
        found: dict[str, Values] = {}
        for values in map(self.values, range(4 * count if self.draw else 1)):
            found.setdefault(self.fill(self.ask, values), values)
            if len(found) == count:
                break
        return list(found.values())

    def page_draw(self, values: Values) -> dict[str, Any]:
        """One draw as the page's answer box needs it."""
        texts = {
            "ask": markup(self.fill(self.ask, values)),
            "solution": [markup(t) for t in self.lines(values)],
            "hints": [markup(self.fill(hint, values)) for hint in self.hints],
        }
        return texts | {"means": markup(self.fill(self.means, values))} | self.page_answer(values)

    def page_answer(self, values: Values) -> dict[str, Any]:
        """What the page needs to judge this kind."""
        return {}

    def page(self) -> dict[str, Any]:
        """All that the page's answer box needs, ready for JSON; what no draw changes stands beside `draws`, once."""
        draws = [self.page_draw(values) for values in self.draws(PAGE_DRAWS)]
        same = {key: value for key, value in draws[0].items() if all(draw[key] == value for draw in draws)}
        own = [{key: value for key, value in draw.items() if key not in same} for draw in draws]
        return {"kind": self.kind, "wants": self.wants, **same, "draws": own}


@dataclass(frozen=True)
class Quantity(Problem):
    """A number with a unit. Right within `tolerance`; a bare number is read in `asked` (the unit the text asks for)."""

    unit: str = ""
    asked: str = ""
    tolerance: float = 0.02
    near: float = 0.15
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
        return self.asked or self.unit

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
        out = [around(right, self.tolerance, "right", self.fill(self.means, values))]
        out += [
            around(float(m.wrong(values)), self.tolerance, "misconception", self.fill(m.says, values))
            for m in self.mistakes
        ]
        out += [around(right * f, self.tolerance / 4, "prefix", says) for f, says in self._prefixes(right)]
        return out + [around(right, self.near, "close", "Check the rounding and the inputs once more.")]

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

    def tells_apart(self, values: Values) -> bool:
        found = [float(self.expected(values)), *(float(m.wrong(values)) for m in self.mistakes)]
        logs = sorted(math.log(x) for x in found)
        return all(b - a > self.gap for a, b in zip(logs, logs[1:]))

    def judge(self, given: Any, values: Values) -> Feedback:
        number = answers.quantity(given, self.unit, self.shown_label, self.scale)
        for low, high, kind, message in self.bands(values):
            if digits(low) <= number <= digits(high):  # the page has no more digits, and both must draw the same line
                return Feedback(kind, message)
        return Feedback("wrong", "Too small." if number < float(self.expected(values)) else "Too large.")

    def page_answer(self, values: Values) -> dict[str, Any]:
        bands = [[b.low, b.high, b.kind, markup(b.message)] for b in self.bands(values)]
        return {
            "bands": bands,
            "units": answers.readings(self.unit, self.shown_label, self.scale),
            "label": self.shown_label,
            "scale": self.scale,
        }


@dataclass(frozen=True)
class Whole(Quantity):
    """A whole number, right or not: what is said of numbers beside it is `beside`, and never "close"."""

    tolerance: float = 0.01
    beside: str = "It comes out as a whole number, and one beside it is as wrong as any other."

    @property
    def leeway(self) -> str:
        return "a whole one"

    def bands(self, values: Values) -> list[Band]:
        *told, near = super().bands(values)
        right = float(self.expected(values))
        low, high = min(near.low, right - 1.01), max(near.high, right + 1.01)
        return told + [Band(low, high, "misconception", self.fill(self.beside, values))]


@dataclass(frozen=True)
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
        out = [Band(right / f, right * f, "right", self.fill(self.means, values))]
        wrong = [(float(m.wrong(values)), self.fill(m.says, values)) for m in self.mistakes]
        out += [Band(x / 1.5, x * 1.5, "misconception", says) for x, says in wrong]
        near = Band(right / f**2, right * f**2, "close", self.fill(self.close, values))
        return out + (
            [near._replace(high=right), near._replace(low=right, message=self.fill(self.above, values))]
            if self.above
            else [near]
        )


@dataclass(frozen=True)
class Choice(Problem):
    """One of several options; `answer` is the right one's key, `mistakes` say for each other key why not."""

    options: Mapping[str, str] = field(default_factory=dict)
    kind = "choice"

    @property
    def wants(self) -> str:
        return f"Answer with one of {', '.join(self.options)}."

    def judge(self, given: Any, values: Values) -> Feedback:
        key = answers.option(given, {k: self.fill(text, values) for k, text in self.options.items()})
        if key == self.expected(values):
            return Feedback("right", self.fill(self.means, values))
        return Feedback("misconception", self.fill(dict(self.mistakes)[key], values))

    def page_answer(self, values: Values) -> dict[str, Any]:
        verdict = {k: ["misconception", markup(self.fill(says, values))] for k, says in self.mistakes}
        verdict[self.expected(values)] = ["right", markup(self.fill(self.means, values))]
        return {"options": {k: markup(self.fill(t, values)) for k, t in self.options.items()}, "verdicts": verdict}


@dataclass(frozen=True)
class Ordering(Problem):
    """Items to put in order, by their keys; `answer` is the order as one string of keys."""

    items: Mapping[str, str] = field(default_factory=dict)
    kind = "ordering"

    @property
    def wants(self) -> str:
        return f"Give the letters in order, such as {' '.join(self.items)}."

    def judge(self, given: Any, values: Values) -> Feedback:
        order, right = answers.order(given, self.items), self.expected(values)
        known = {right: ("right", self.means)} | {m.wrong: ("misconception", m.says) for m in reversed(self.mistakes)}
        swaps = [right[:i] + right[i + 1] + right[i] + right[i + 2 :] for i in range(len(right) - 1)]
        known = dict.fromkeys(swaps, ("close", "Two neighbours are swapped.")) | known
        kind, says = known.get(
            order, ("wrong", f"{sum(a == b for a, b in zip(order, right))} of {len(right)} stand in place.")
        )
        return Feedback(kind, self.fill(says, values))

    def page_answer(self, values: Values) -> dict[str, Any]:
        from itertools import permutations  # at most 5 items: 120 verdicts, and page and library cannot disagree

        orders = ["".join(p) for p in permutations(self.items)]
        verdict = {o: (f.kind, markup(f.message)) for o in orders for f in [self.judge(o, values)]}
        return {"items": {k: markup(self.fill(t, values)) for k, t in self.items.items()}, "verdicts": verdict}


@dataclass(frozen=True)
class Expression(Problem):
    """A formula to write down. Answers are compared by value at random points, never by shape."""

    formula: Any = None
    tried: Sequence[
        Values
    ] = ()  # points to try answers at, where random ones will not do: counts to loop over, published fits
    kind = "expression"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The symbols that an answer may use."""
        extra = {n for m in self.mistakes for n in (s.name for s in m.wrong.free_symbols)}
        return tuple(sorted(set(self.formula.free) | extra))

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
        if self.tried:
            return [{name: point[name] for name in self.names} for point in self.tried] * 2
        rng, scale = random.Random(self.id), answers.rescaling(self.names)
        for _ in range(100):
            first = [self._point(rng) for _ in range(4)]
            rows = [self.at_points(expr, first) for expr in (self.formula.expr, *(m.wrong for m in self.mistakes))]
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
        wrong = [[self.at_points(m.wrong), m.says] for m in self.mistakes]
        return {"points": self.points, "right": self.at_points(self.formula.expr), "wrong": wrong, "letters": letters}

    def judge(self, given: Any, values: Values) -> Feedback:
        compute = answers.expression(given, self.table["letters"])
        return self.verdict([compute(point) for point in self.points])

    def verdict(self, got: list[float]) -> Feedback:
        """The verdict on an answer's values at the points."""
        right, half = self.table["right"], len(self.points) // 2
        if answers.same(got, right):
            return Feedback("right", self.means)
        for wrong, says in self.table["wrong"]:
            if answers.same(got, wrong):
                return Feedback("misconception", says)
        turned = [g / r if r else math.inf for g, r in zip(got, right)]
        rescaled = self.points[:half] != self.points[half:] and all(map(math.isfinite, turned))
        if rescaled and not answers.same(turned[:half], turned[half:]):
            return Feedback("unit", f"The units do not come out as {self.formula.unit or 'a pure number'}.")
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
        wrong = [[got, markup(says)] for got, says in self.table["wrong"]]
        return self.table | {
            "wrong": wrong,
            "unit": self.formula.unit,
            "thousand": THOUSAND,
            "constant": CONSTANT,
            "misfit": self.misfit,
        }


@dataclass(frozen=True)
class Function(Expression):
    """A Python function to write, called with the formula's symbols by name. Not judged on the static page."""

    kind = "function"

    @property
    def wants(self) -> str:
        return f"Give a function of {', '.join(self.names)} that returns a number."

    def judge(self, given: Any, values: Values) -> Feedback:
        return self.verdict(answers.calls(given, self.points))

    def page_answer(self, values: Values) -> dict[str, Any]:
        return {}


# --- second routes ---------------------------------------------------------------------------------------------------


def root(rises: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises through zero crosses it, both ends positive, by halving the interval on a log
    scale.
    """
    for _ in range(100):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
    return math.sqrt(low) * math.sqrt(high)


def least(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where a cost with one valley is least, both ends positive, by thirds of the interval on a log scale."""
    for _ in range(120):
        step = (high / low) ** (1 / 3)
        low, high = (low, high / step) if cost(low * step) < cost(high / step) else (low * step, high)
    return math.sqrt(low * high)


# --- what a reader holds -------------------------------------------------------------------------------------------


class View:
    """One problem as a reader works it: statement, check, hint, solution, again, panel."""

    def __init__(self, problem: Problem, number: int, lesson: str = ""):
        self.problem, self.number, self.lesson = problem, number, lesson
        self._drawn: int | None = None
        self._seed = self._hinted = 0
        self._chosen = False  # once the reader has asked for fresh numbers or the printed ones, a panel restores none

    @property
    def _values(self) -> Values:
        if self._drawn != self._seed:
            self._drawn, self._held = self._seed, self.problem.values(self._seed)
        return self._held

    def check(self, answer: Any = None) -> Feedback:
        """Feedback on an answer: a number, a string such as "26 ms", a quantity, a formula, letters or a function."""
        return self.problem.check(answer, self._values)

    def hint(self) -> Text:
        """The next hint, and how many are left."""
        hints = self.problem.hints
        index = min(self._hinted, len(hints) - 1)
        self._hinted = index + 1
        left = len(hints) - self._hinted
        return Text(
            f"Hint {index + 1} of {len(hints)}: {self.problem.fill(hints[index], self._values)}"
            + ("" if left else " (That was the last.)")
        )

    def solution(self) -> Text:
        """The worked solution, with the numbers of this draw."""
        return Text("\n\n".join(self.problem.lines(self._values)))

    def again(self) -> View | Text:
        """The same problem with fresh numbers; `reset()` brings the printed ones back."""
        if not self.problem.draw:
            return Text("There are no numbers to draw afresh in this problem.")
        before, self._hinted, self._chosen = self.statement, 0, True
        for seed in range(self._seed + 1, self._seed + 20):
            self._seed = seed
            if self.statement != before:
                break
        return self

    def reset(self) -> View:
        """The printed numbers and the first hint again."""
        self._seed = self._hinted = 0
        self._chosen = True
        return self

    def panel(self):
        """The same as buttons (ipywidgets)."""
        from blackboard.panel import panel

        return panel(self)

    @property
    def statement(self) -> str:
        """The text of the problem, with the numbers of this draw."""
        return self.problem.fill(self.problem.ask, self._values)

    def __repr__(self) -> str:
        head = f"{self.number}. {self.problem.title} ({self.problem.level})"
        return f"{head}\n{self.statement}{self._listed}\n{self.problem.wants}"

    @property
    def _listed(self) -> str:
        rows = getattr(self.problem, "options", None) or getattr(self.problem, "items", None) or {}
        return "".join(f"\n\n{key}) {self.problem.fill(text, self._values)}" for key, text in rows.items())

    def _repr_html_(self) -> str:
        from blackboard.panel import card

        return card(self, live=on_page() and bool(self.lesson))


class Cards(list):
    """Problems shown one below the other."""

    def _repr_html_(self) -> str:
        return "".join(view._repr_html_() for view in self)


class ProblemSet(Sequence):
    """A lesson's problems in order; p[1] is the first, p["floor"] goes by id."""

    def __init__(self, lesson: str, listed: Sequence[Problem]):
        self.lesson = lesson
        self._views = [View(problem, number, lesson) for number, problem in enumerate(listed, 1)]

    def __getitem__(self, key: int | str) -> View:  # type: ignore[override]  # from 1, or by id; no slices
        for view in self._views:
            if key in (view.number, view.problem.id):
                return view
        raise KeyError(f"{self.lesson} has problems 1 to {len(self)}: {', '.join(v.problem.id for v in self._views)}")

    def __iter__(self) -> Iterator[View]:
        return iter(self._views)

    def on_page(self, *ids: str) -> Cards:
        """Several problems in one cell's output."""
        return Cards([self[id] for id in ids])

    def __len__(self) -> int:
        return len(self._views)

    def __repr__(self) -> str:
        return "\n".join(f"{v.number:2}. {v.problem.title} ({v.problem.level}; {v.problem.kind})" for v in self)


_sets: dict[str, ProblemSet] = {}


def problems(lesson: str) -> ProblemSet:
    """The problems of a lesson, in order; your place in each (hints seen, fresh numbers) is kept."""
    if lesson not in _sets:
        try:
            module = importlib.import_module(f"blackboard.{lesson}.problems")
        except ModuleNotFoundError:
            raise KeyError(f"no lesson {lesson!r} with problems; there are: {', '.join(lessons())}") from None
        _sets[lesson] = ProblemSet(lesson, module.PROBLEMS)
    return _sets[lesson]


def lessons() -> list[str]:
    """Names of the lessons that have problems."""
    import pkgutil

    import blackboard

    packages = [found.name for found in pkgutil.iter_modules(blackboard.__path__) if found.ispkg]
    return [name for name in packages if importlib.util.find_spec(f"blackboard.{name}.problems")]
