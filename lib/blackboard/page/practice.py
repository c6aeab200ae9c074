"""A lesson's problems as a reader works them: statement, check, hint, solution, fresh numbers, panel of buttons."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from blackboard import answers
from blackboard.page import hand_in
from blackboard.problem import Feedback, Problem, Values
from blackboard.text import markup, on_page


class Text(str):
    """Markdown-ish text that shows as such in a notebook and as plain text in a terminal."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<div class="practice-text">{markup(self)}</div>'


class Saved(Text):
    """What was saved, in words, and for a notebook that is handed in the answers themselves."""

    def __new__(cls, words: str, held: dict[str, Any]) -> Saved:
        text = super().__new__(cls, words)
        text.held = held
        return text

    held: dict[str, Any]  # as the answers file has it

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": str(self), "text/html": self._repr_html_(), hand_in.MEDIA: self.held}


class View:
    """One problem as a reader works it: statement, check, hint, solution, again, panel.

    A student's view keeps the numbers drawn from the student's id.
    """

    def __init__(self, problem: Problem, lesson: str = "", student: str = "", solutions: bool = True):
        self.problem, self.lesson, self.student, self._solutions = problem, lesson, student, solutions
        self.answer: Any = None  # the last one that was checked
        self.verdict: Feedback | None = None  # on that answer
        self._drawn: int | None = None
        self._first = hand_in.seed_of(student) if student else 0
        self._seed, self._hinted = self._first, 0
        self.shown = False  # on the page, or in a notebook's cell
        # Once the reader has asked for fresh numbers or the printed ones, a panel restores none.
        self._chosen = bool(student)

    @property
    def _values(self) -> Values:
        if self._drawn != self._seed:
            self._drawn, self._held = self._seed, self.problem.values(self._seed)
        return self._held

    def check(self, answer: Any = None) -> Feedback:
        """Feedback on an answer: a number, a string such as "26 ms", a quantity, a formula, letters or a function."""
        verdict = self.problem.check(answer, self._values)
        if not answers.is_blank(answer):
            self.answer, self.verdict = answer, verdict
        return verdict

    @property
    def state(self) -> str:
        """right, wrong or untried, by the last answer that was checked, here or in a panel of an earlier session."""
        from blackboard.page.problem_panel import kept_verdict

        verdict = kept_verdict(self) if self.verdict is None else self.verdict
        return "untried" if verdict is None else "right" if verdict else "wrong"

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
        if not self._solutions:
            return Text("Your instructor has the solution. `hint()` gives the next hint.")
        return Text("\n\n".join(self.problem.lines(self._values)))

    def again(self) -> View | Text:
        """The same problem with fresh numbers; `reset()` brings the printed ones back."""
        if not self.problem.parameters:
            return Text("There are no numbers to draw afresh in this problem.")
        if self.student:
            return Text(f"The answer of {self.student} is graded with these numbers, so they stay.")
        before, self._hinted, self._chosen = self.statement, 0, True
        for seed in range(self._seed + 1, self._seed + 20):
            self._seed = seed
            if self.statement != before:
                break
        return self

    def reset(self) -> View:
        """The printed numbers, or a student's own, and the first hint again."""
        self._seed, self._hinted = self._first, 0
        self._chosen = True
        return self

    def panel(self):
        """The same as buttons (ipywidgets)."""
        from blackboard.page.problem_panel import panel

        return panel(self)

    @property
    def statement(self) -> str:
        """The text of the problem, with the numbers of this draw."""
        return self.problem.fill(self.problem.statement, self._values)

    def __repr__(self) -> str:
        head = f'p["{self.problem.id}"]: {self.problem.title} ({self.problem.level})'
        return f"{head}\n{self.statement}{self._listed}\n{self.problem.wants}"

    @property
    def _listed(self) -> str:
        return "".join(f"\n\n{letter}) {text}" for letter, text in self.texts.items())

    @property
    def texts(self) -> dict[str, str]:
        """The options or items by letter, with the numbers of this draw; none for other kinds."""
        return self.problem.texts(self._values)

    def _repr_html_(self) -> str:
        from blackboard.page.problem_panel import card

        again, self.shown = self.shown, True  # a page links to the first one
        return card(self, live=on_page() and bool(self.lesson), linked=not again)


class Cards(list):
    """Problems shown one below the other."""

    def _repr_html_(self) -> str:
        return "".join(view._repr_html_() for view in self)


class Practice(Cards):
    """Problems of a page's last section: each folded, with a filter and a count of what is solved."""

    def _repr_html_(self) -> str:
        from blackboard.page.problem_panel import practice_set

        return practice_set(self) if on_page() else super()._repr_html_()


class ProblemSet:
    """A lesson's problems in order; p["floor"] is one of them."""

    def __init__(self, lesson: str, listed: Sequence[Problem], student: str = "", solutions: bool = True):
        self.lesson, self.student = lesson, student
        self._views = {problem.id: View(problem, lesson, student, solutions) for problem in listed}

    def of(self, student: str, solutions: bool = True) -> ProblemSet:
        """The same problems with a student's numbers, drawn from the id; without `solutions`, only hints help."""
        return ProblemSet(self.lesson, [view.problem for view in self], hand_in.check_id(student), solutions)

    def save(self, path: str | Path = "answers.json") -> Saved:
        """Write the last checked answer to each problem into the file that is handed in, and into the notebook."""
        if not self.student:
            raise ValueError(f'Whose answers are these? Start with p = problems("{self.lesson}").of("your id").')
        written, refused = {}, []
        for view in (view for view in self if view.answer is not None):
            try:
                written[view.problem.id] = hand_in.write_answer(view.problem, view.answer)
            except Exception as error:  # an answer may be any object; one of them must not cost the others
                refused.append(hand_in.say_refused(view.problem.id, error))
        held = hand_in.save_answers(Path(path), self.student, self.lesson, written)
        words = [f"Saved {len(written)} of {len(self)} answers of {self.student} to {path}.", *refused]
        return Saved("\n\n".join(words), held)

    def progress(self) -> Text:
        """Which problems you have solved, which you have not yet solved, and which you have not tried."""
        named = {"right": "Right", "wrong": "Not yet right", "untried": "Not tried"}
        found = {state: [view.problem.id for view in self if view.state == state] for state in named}
        lines = [f"**{named[state]}** ({len(ids)}): {', '.join(ids)}" for state, ids in found.items() if ids]
        return Text("\n\n".join([f"{len(found['right'])} of {len(self)} problems of {self.lesson} solved.", *lines]))

    def __getitem__(self, id: str) -> View:
        if id not in self._views:
            raise KeyError(f"{self.lesson} has no problem {id!r}; it has {', '.join(self._views)}")
        return self._views[id]

    def __iter__(self) -> Iterator[View]:
        return iter(self._views.values())

    def on_page(self, *ids: str) -> Cards:
        """Several problems in one cell's output."""
        return Cards([self[id] for id in ids])

    def practice(self) -> Practice:
        """The problems that no cell has shown before."""
        return Practice(view for view in self if not view.shown)

    def __len__(self) -> int:
        return len(self._views)

    def __repr__(self) -> str:
        own = f" of {self.student}" if self.student else ""
        return f"<{len(self)} problems of {self.lesson}{own}; print them for a list>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))  # IPython: where a notebook names them, a reader chooses from the list

    def __str__(self) -> str:
        wide = max(map(len, self._views), default=0) + 5
        names = {id: f'p["{id}"]' for id in self._views}
        return "\n".join(
            f"{names[v.problem.id]:<{wide}} {v.problem.title} ({v.problem.level}; {v.problem.kind})" for v in self
        )


def collect(namespace: Mapping[str, Any]) -> list[Problem]:
    """The problems of a module in their order, each with its name as id."""
    named = [(name, value) for name, value in namespace.items() if isinstance(value, Problem)]
    return [replace(problem, id=name.rstrip("_").replace("_", "-")) for name, problem in named]


_sets: dict[str, ProblemSet] = {}


def problems(lesson: str) -> ProblemSet:
    """The problems of a lesson, in order; your place in each (hints seen, fresh numbers) is kept."""
    if lesson not in _sets:
        try:
            module = importlib.import_module(f"blackboard.lessons.{lesson}.problems")
        except ModuleNotFoundError as error:
            if not f"blackboard.lessons.{lesson}.problems".startswith(error.name or ""):
                raise
            raise KeyError(f"no lesson {lesson!r} with problems; there are: {', '.join(lessons())}") from None
        _sets[lesson] = ProblemSet(lesson, collect(vars(module)))
    return _sets[lesson]


def lessons() -> list[str]:
    """Names of the lessons that have problems."""
    import pkgutil

    lessons = importlib.import_module("blackboard.lessons")  # by name: a page's parts know no lesson
    packages = [found.name for found in pkgutil.iter_modules(lessons.__path__) if found.ispkg]
    return [name for name in packages if importlib.util.find_spec(f"blackboard.lessons.{name}.problems")]
