"""Labs: functions and small classes that a reader writes, and checks that say what is wrong with them.

A lab is a row of steps. A step is declared by the course's own solution, whose signature and docstring tell the reader
what to write, by random cases, and by checks. A check is a function of one trial that returns a sentence where the
trial breaks its rule. Each step also lists wrong versions with the check that must catch them; tests hold it to that.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import inspect
import itertools
import pickle
import random
import sys
import textwrap
import time
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from blackboard.lab_values import is_rounded, same, shown
from blackboard.limits import READER, Endless, Limit, TooSlow, run_apart
from blackboard.reader_code import FASTER, SECONDS, Printed, Verdict, run_text, stopped

CASES = 200
PLAIN, HOLDERS = {int, float, str, bool, type(None)}, {list, tuple, dict, set}  # types of which nobody made a class
DRAWING = 8.0  # seconds for the last chart; a page waits one more
ROUNDED = "That is the right result, rounded. Fractions are fine here: do not round."
ENDLESS = (
    "Your code ran for too long, and came back to no line of its own. Look for a very large number, for"
    " something without an end that is handed to `sum`, `max`, `any` or `list`, or for a loop in another cell."
)
UNITS = {  # by which a result may be off in every case, and what the factor is
    60: "a minute has 60 seconds",
    3600: "an hour has 3,600 seconds",
    100: "a share of 1 is 100 percent",
    1e3: "a second has 1,000 milliseconds",
    1e6: "prices, for instance, are per million",
    1e9: "a gigabyte has a billion bytes",
    8: "a byte has 8 bits",
}
NEVER = "Your version returns nothing. Is there a `return`?"
NOT_ALWAYS = (
    "Your version returns nothing here, though it does in other cases. A `return` inside a loop or an `if` is not"
    " always reached."
)


@dataclass
class Trial:
    """One call: its arguments before and after it, what came back, what it printed, and what the course makes."""

    args: tuple
    after: tuple
    got: Any = None
    error: BaseException | None = None
    want: Any = None
    printed: str = ""


Check = Callable[[Trial], str | None]


# --- what a check says ------------------------------------------------------------------------------------------------


KINDS = {bool: "True or False", int: "a whole number", float: "a number", str: "a string", type(None): "None"}
FAMILIES = {bool: "number", int: "number", float: "number", list: "row", tuple: "row", range: "row"}  # else its own


def _other_kind(trial: Trial) -> bool:
    """True where one of Python's own values came in place of another kind of them: a dict for a list, say."""
    got, want = type(trial.got), type(trial.want)
    known = got in PLAIN | HOLDERS and want in PLAIN | HOLDERS and None not in (trial.got, trial.want)
    return known and FAMILIES.get(got, got.__name__) != FAMILIES.get(want, want.__name__)


def _instead(trial: Trial, returns: str) -> str:
    """What to return, for a result of another kind."""
    kind = KINDS.get(type(trial.want), f"a {type(trial.want).__name__}")
    return f"Return {returns or f'{kind}, here {shown(trial.want)}'}."


def _ask(check: Check, trial: Trial, returns: str = "") -> str | None:
    """What a check says; where a result is of another kind than any check expects, that."""
    try:
        said = check(trial)
    except Exception:
        said = _instead(trial, returns)
    if not (said and _other_kind(trial)):
        return said
    name = type(trial.got).__name__
    return f"You returned {'an' if name[0] in 'aeiou' else 'a'} {name}. {_instead(trial, returns)}"


def unchanged(trial: Trial) -> str | None:
    """The check that arguments are as they were; a step whose task is to change them does without."""
    differ = lambda old, new: old != new and repr(old) != repr(new)  # copies of an object need not be equal
    now = next((pair for pair in zip(trial.args, trial.after) if differ(*pair)), None)
    return f"Your code changes its argument {shown(now[0])} to {shown(now[1])}: work on a copy." if now else None


def agrees(why: str, tolerance: float = 1e-9) -> Check:
    """The check that a result is the course's own; `why` says in a sentence what the right one follows from."""

    def agrees(trial: Trial) -> str | None:
        return None if same(trial.got, trial.want, tolerance) else f"Expected {shown(trial.want)}. {why}"

    return agrees


_right = agrees("")


def _factor(trials: Sequence[Trial]) -> str:
    """A sentence on the units, where all results are off by the same factor and units have it; else nothing."""
    numbers = [(t.got, t.want) for t in trials if t.want]
    if len(numbers) < 3 or not all(type(each) in (int, float) for pair in numbers for each in pair):
        return ""
    ratio = numbers[0][0] / numbers[0][1]
    if not all(same(got, ratio * want) for got, want in numbers):
        return ""
    for one, two in itertools.permutations([1, *UNITS], 2):
        if same(ratio, one / two):
            size = f"{max(one, two):,.0f} times too {'large' if one > two else 'small'}"
            if 1 not in (one, two):
                size = f"{one:,.0f} times too large and {two:,.0f} times too small"
            why = ", and ".join(UNITS[each] for each in (one, two) if each != 1)
            return f"In every case your result is {size}. Check the units: {why}."
    return ""


# --- what a reader made -----------------------------------------------------------------------------------------------


def _is_plain(value: Any, most: int = 10_000) -> bool:
    """True where no code of a reader runs when a value is looked at: it is made of Python's own types, or the course's
    tuples, and small enough to know that at once.
    """
    todo = [value]
    while todo and most > 0:
        each, most = todo.pop(), most - 1
        kind = type(each)
        if kind in PLAIN:
            continue
        if kind not in HOLDERS and not (issubclass(kind, tuple) and kind.__module__.startswith("blackboard.")):
            return False
        if len(each) > most:
            return False
        todo.extend(each)
        if kind is dict:
            todo.extend(each.values())
    return not todo


def _codes(made: Any) -> list[types.CodeType]:
    """The code of a function, or of all methods of a class."""
    if inspect.isclass(made):
        return [code for name in sorted(vars(made)) for code in _codes(vars(made)[name])]
    made = inspect.unwrap(made) if callable(made) else made
    return [made.__code__] if isinstance(made, types.FunctionType) else []


def _blank(made: Any, starter: str, name: str, space: Mapping[str, Any]) -> bool:
    """True where a reader's version does no more than the starter."""
    bare = dict(space)
    exec(compile(starter, READER, "exec"), bare)
    steps = lambda code: [(each.opname, each.argval) for each in dis.get_instructions(code)]
    return [steps(code) for code in _codes(made)] == [steps(code) for code in _codes(bare[name])]


# --- a step -----------------------------------------------------------------------------------------------------------


def call(made: Callable, *args: Any) -> Any:
    """How a function is tried; a class needs a `play` of its own."""
    return made(*args)


@dataclass(frozen=True)
class Step:
    """One function or class to write.

    solution  the course's version; signature and docstring are what the reader gets
    intent    what the reader builds and why, in a sentence or two
    example   a call, as text, whose result is shown: "touched(1, 256, 8)"; what comes before it ends with "; ". It is
              a case too, where it calls the function itself
    cases     from a random generator to the arguments of one trial, as a tuple
    also      cases that are always tried: boundaries that chance may not meet
    extreme   whether arguments are a case that says little: such cases are shown only where no other one fails
    checks    rules, tried in order over all cases, the shortest first; the first one that breaks a rule is shown
    mistakes  wrong versions, each with the check that catches it, or with what to say where all results are like its
    hints     from a nudge to nearly all
    play      how a version is tried, (made, *args) -> result: for a class, a run of its methods
    raises    exceptions that a version may raise; checks see them as trial.error
    changes   whether the step may change its arguments
    returns   what it must return, in words, where `play` makes something else of it
    calls     the calls that `play` makes, as a reader would write them: from the arguments to a text, with "; " between
              statements
    proves    what all trials of a right version show together, in a sentence or two
    many      whether several results are right
    """

    title: str
    intent: str
    solution: Callable
    example: str
    cases: Callable[[random.Random], tuple]
    checks: Sequence[Check]
    mistakes: Mapping[Callable, Check | str]
    hints: Sequence[str] = ()
    play: Callable = call
    raises: tuple[type[BaseException], ...] = ()
    count: int = CASES
    also: Sequence[tuple] = ()
    changes: bool = False
    returns: str = ""
    calls: Callable[..., str] | None = None
    extreme: Callable[..., bool] = lambda *_: False
    proves: Callable[[Sequence[Trial]], str] | None = None
    many: bool = False

    @property
    def name(self) -> str:
        """What the reader's version is called."""
        return self.solution.__name__

    @cached_property
    def source(self) -> str:
        """The solution's text, without what decorates it."""
        return textwrap.dedent(inspect.getsource(self.solution)).rstrip() + "\n"

    @cached_property
    def starter(self) -> str:
        """The solution with every body left out but its docstring."""
        tree = ast.parse(self.source)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                words = [node.body[0]] if ast.get_docstring(node) else []
                node.body = [*words, ast.Expr(ast.Constant(...))]
        return ast.unparse(tree) + "\n"

    @property
    def task(self) -> str:
        """What to write, in a sentence or two."""
        return inspect.getdoc(self.solution) or ""

    @cached_property
    def _known(self) -> Sequence[tuple[tuple, bytes, Any]]:
        """All cases, the shortest first and extreme ones last, so that the first one that fails is the one to show: the
        arguments, a copy of them to be used up, packed, and what the course makes of them. None of it depends on a
        reader.
        """
        rng, known = random.Random(self.name), []
        cases = itertools.chain(self.also, self._of_example(), (self.cases(rng) for _ in range(self.count)))
        drawn = {pickle.dumps(args): args for args in cases}  # none twice
        order = lambda args: (self.extreme(*args), len(repr(args)), repr(args))
        for packed, args in sorted(drawn.items(), key=lambda each: order(each[1])):
            want = None
            with contextlib.suppress(*self.raises):
                want = self.play(self.solution, *pickle.loads(packed))
            known.append((args, packed, want))
        return known

    def _of_example(self) -> list[tuple]:
        """The arguments of the example, where it calls the function itself, with what can be copied."""
        before, _, last = self.example.rpartition("; ")
        if self.play is not call or not last.startswith(f"{self.name}(") or "lambda" in last:
            return []
        space = dict(vars(sys.modules[self.solution.__module__]))
        exec(before, space)
        return [eval(last, {**space, self.name: lambda *args: args})]

    def fresh(self) -> list[Trial]:
        """All cases, not yet tried."""
        return [Trial(args, pickle.loads(packed), want=want) for args, packed, want in self._known]

    def trials(self, made: Any, fresh: Sequence[Trial] | None = None) -> list[Trial]:
        """All cases, tried; what a version raises is handed on, with its trial, unless it is among `raises`."""
        trials = self.fresh() if fresh is None else fresh
        with contextlib.redirect_stdout(Printed()) as printed:
            for trial in trials:
                began = time.perf_counter()
                try:
                    trial.got = self.play(made, *trial.after)
                except self.raises as error:
                    trial.error = error
                except BaseException as error:
                    error.trial, error.took = trial, time.perf_counter() - began  # type: ignore[attr-defined]
                    raise
                finally:
                    trial.printed = printed.taken()
        return list(trials)

    def check(self, made: Any, space: Mapping[str, Any] | None = None, seconds: float = SECONDS) -> Verdict:
        """The verdict on a version; `space` holds the names that it may use."""
        files: set[str] = set()
        try:
            files |= {code.co_filename for code in _codes(made)}
            with Limit(files, seconds):
                fault = self._fault(made, space or {})
            if fault is not None:
                return fault
            return self._judge(*self._try_all(made, files, seconds), files, seconds)
        except BaseException as error:
            return stopped(error, files)

    def check_apart(self, made: Any, space: Mapping[str, Any]) -> Verdict:
        """The verdict on a version that was written in a notebook, whose kernel outlives whatever it does."""
        self.fresh()  # which is kept, for the next check too
        try:
            return run_apart(lambda: self.check(made, space), SECONDS + 1)
        except Endless:
            return Verdict("slow", ENDLESS)

    def _try_all(self, made: Any, files: set[str], seconds: float) -> tuple[Sequence[Trial], Verdict | None]:
        """The trials that came to an end, and the verdict on what ended the next one, if anything did."""
        fresh = self.fresh()
        try:
            with Limit(files, seconds):
                return self.trials(made, fresh), None
        except BaseException as error:
            trial = getattr(error, "trial", None)
            verdict = stopped(error, files, self._call(trial))
            before = list(itertools.takewhile(lambda each: each is not trial, fresh if trial else ()))
            if isinstance(error, TooSlow) and trial and error.took < seconds / 2:  # type: ignore[attr-defined]
                done = f"after {seconds:g} s it had come to case {len(before) + 1} of {len(fresh)}"
                where, quoted = error.args
                words = f"Your code is too slow: {done}. The time goes by at {where}. {FASTER}{quoted}"
                verdict = replace(verdict, message=words)
            return before, replace(verdict, printed=trial.printed) if trial else verdict

    def _fault(self, made: Any, space: Mapping[str, Any]) -> Verdict | None:
        """What keeps a version from being tried at all."""
        if made is None or made is ... or _blank(made, self.starter, self.name, space):
            return self.unattempted
        if not callable(made) or inspect.isclass(made) != inspect.isclass(self.solution):
            return Verdict("missing", f"`{self.name}` must be a {self.kind}; it is {shown(made)}.")
        fault = self._signature(made)
        return Verdict("signature", fault) if fault else None

    @property
    def unattempted(self) -> Verdict:
        return Verdict("unattempted", f"Write `{self.name}`, then check again.")

    @property
    def kind(self) -> str:
        return "class" if inspect.isclass(self.solution) else "function"

    def _signature(self, made: Any) -> str:
        """What is wrong with the parameters of a version, if anything."""
        wanted = list(inspect.signature(self.solution).parameters)
        try:
            inspect.signature(made).bind(*wanted)
        except ValueError:  # a built-in function need not tell what it takes
            return ""
        except TypeError:
            own = ", ".join(inspect.signature(made).parameters)
            name = f"{self.name}.__init__" if inspect.isclass(made) else self.name
            return f"`{name}` must take ({', '.join(wanted)}); yours takes ({own})."
        return ""

    def _judge(self, trials: Sequence[Trial], ended: Verdict | None, files: set[str], seconds: float) -> Verdict:
        """A broken rule, as its case is shorter than one that did not end; else what ended that, or that all agree."""
        plain = all(_is_plain(each.got) and _is_plain(each.after) for each in trials)
        with contextlib.nullcontext() if plain else Limit(files, seconds):
            found = self._broken_rule(trials)
            for fault in (found, ended):
                if fault is not None:
                    return fault
            proved = f" {self.proves(trials)}" if self.proves else ""
        last = trials[-1]
        called = self._call(last) if last.printed else ""
        return Verdict("right", f"{self.count} random cases agree.{proved}", called, printed=last.printed)

    def _broken_rule(self, trials: Sequence[Trial]) -> Verdict | None:
        nothing = [t for t in trials if t.got is None and not t.error and t.want is not None]
        never, allowed = all(t.got is None for t in trials), any(t.want is None for t in trials)
        if nothing and (never or not allowed):  # else a check says what None should have been
            return Verdict(
                "nothing", NEVER if never else NOT_ALWAYS, self._call(nothing[0]), printed=nothing[0].printed
            )
        checks = self.checks if self.changes else (*self.checks, unchanged)
        for _, alike in itertools.groupby(trials, lambda trial: self.extreme(*trial.args)):
            for check, trial in itertools.product(checks, alike):
                if said := _ask(check, trial, self.returns):
                    factor = "" if self.many else _factor(trials)
                    name, said, trial = self._known_mistake(trials) or (check.__name__, factor or said, trial)
                    return Verdict("wrong", self._told(said, trial), self._call(trial), name, trial.printed)
        return None

    def _known_mistake(self, trials: Sequence[Trial]) -> tuple[str, str, Trial] | None:
        """The mistake that makes the same results in all trials: its name, what to say, and the first wrong trial."""
        wrong = next((trial for trial in trials if _ask(_right, trial)), None)
        for mistake, said in self.mistakes.items():
            if wrong and isinstance(said, str) and all(map(self._is_like(mistake), self._known, trials)):
                return mistake.__name__, said, wrong
        return None

    def _is_like(self, mistake: Callable) -> Callable[[tuple[tuple, bytes, Any], Trial], bool]:
        """Whether a trial came out as a mistake makes it come out."""

        def is_like(known: tuple[tuple, bytes, Any], trial: Trial) -> bool:
            with contextlib.suppress(Exception):
                return same(trial.got, self.play(mistake, *pickle.loads(known[1])))
            return False

        return is_like

    def _told(self, said: str, trial: Trial) -> str:
        """What a check says, with the right result where there is but one and the check has not named it."""
        want = shown(trial.want)
        if not self.many and is_rounded(trial.got, trial.want):
            return f"{ROUNDED} Expected {want}."
        fine = self.many or want in said or _ask(_right, trial) is None
        return said if fine else f"{said} Expected {want}."

    def _call(self, trial: Trial | None) -> str:
        """The call of a trial and what came of it."""
        if trial is None:
            return ""
        said = self.calls(*trial.args) if self.calls else f"{self.name}({', '.join(map(shown, trial.args))})"
        if trial.error:
            return f"{said} raised {type(trial.error).__name__}"
        if trial.got is None:
            return said
        if type(trial.got) is float and type(trial.want) is int:
            return f"{said} returned {trial.got!r}"
        return f"{said}. Trace: {shown(trial.got)}" if "; " in said else f"{said} returned {shown(trial.got)}"


# --- a lab ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lab:
    """Steps that build on each other.

    given   what a reader's code may use without writing it, by name
    finish  from the functions (an object with one attribute for each step) to a Vega-Lite chart that uses all of them
    ending  what the chart shows, in a sentence or two
    """

    title: str
    intro: str
    steps: Sequence[Step]
    finish: Callable[[Any], dict[str, Any]]
    ending: str
    given: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(f"no step {name!r}; there are: {', '.join(step.name for step in self.steps)}")

    def space(self, sources: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The names that a reader's code sees: what is given, the course's versions, and the reader's own texts where
        these run.
        """
        space = {**self.given, **{step.name: step.solution for step in self.steps}}
        for step in self.steps:
            with contextlib.suppress(Exception, SystemExit, TooSlow):
                run_text((sources or {})[step.name], space, step=step.name)
        return space

    def example_result(self, step: Step, space: dict[str, Any] | None = None) -> str:
        """What a step's example returns, as a message shows it; by the course's versions, or those of a space."""
        before, _, last = step.example.rpartition("; ")
        space = self.space() if space is None else space
        exec(before, space)
        return shown(eval(last, space))

    def try_example(self, step: Step, space: dict[str, Any]) -> str:
        """A step's example with what it returns by a reader's own versions."""
        return f"{step.example} returned {self.example_result(step, space)}"

    def grade(self, name: str, text: str, earlier: Mapping[str, str] | None = None) -> Verdict:
        """The verdict on a step's text, on top of the reader's earlier ones; missing steps are the course's."""
        step, space = self[name], self.space(earlier)
        if not text.strip():
            return step.unattempted
        space.pop(name)
        try:
            run_text(text, space)
        except BaseException as error:
            return stopped(error)
        if name not in space:
            return Verdict("missing", f"There is no `{name}` in your code. Keep the first line as it was.")
        return step.check(space[name], space)

    def finished(self, sources: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The last chart, made with the reader's own versions where there are any."""
        space = self.space(sources)
        with Limit({READER}, DRAWING):
            return self.finish(types.SimpleNamespace(**{step.name: space[step.name] for step in self.steps}))
