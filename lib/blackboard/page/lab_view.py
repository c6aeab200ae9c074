"""A lab as a reader works it: `lab("paging")` shows all of it on the page, and has its steps by name in a notebook.

The page's HTML is whole without scripts; book/_labs/lab.js makes editors of its starters.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import html
import inspect
import itertools
import re
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from blackboard.charts.interactive import InteractiveChart
from blackboard.charts.lab_chart import wrap_title
from blackboard.lab import Lab, Step
from blackboard.lab_values import shown
from blackboard.page import hand_in
from blackboard.page.lab_worker import chart, find_lab
from blackboard.page.practice import Saved, Text
from blackboard.reader_code import Verdict
from blackboard.text import markup, on_page

WIDTH = 62  # letters of a line in a page's editor
DOCSTRING = re.compile(r'^( *""".*?)(\s*""")$', re.M | re.S)
ENTRY = re.compile(r" *\S.*?  +(?=\S)")  # the name of a list's entry
PLAIN = "The labs are plain Python: the standard library is enough."
EARLIER = (
    "A step may use the steps before it: yours, in the last version that passed, or the course's where none of yours"
    " has passed."
)

# --- in a notebook ----------------------------------------------------------------------------------------------------


class StepView:
    """One step: check what you wrote, ask for a hint, see the solution."""

    def __init__(self, view: LabView, step: Step):
        self.view, self.step = view, step
        self._hinted = 0

    def check(self, made: Any = None) -> Verdict:
        """The verdict on your function or class; earlier steps that you have not solved are the course's."""
        with self.view.filled_in(made, self.step):
            verdict = self.step.check_apart(made, self.view.space())
        if verdict:
            self.view.own[self.step.name] = made
        if verdict.kind != "unattempted":
            self.view.tried[self.step.name] = made
        return verdict

    def hint(self) -> Text:
        """The next hint, and how many are left."""
        hints = self.step.hints
        number = min(self._hinted + 1, len(hints))
        self._hinted = number
        return Text(f"Hint {number} of {len(hints)}: {hints[number - 1]}")

    def solution(self) -> Source | Text:
        """The course's version."""
        if not self.view.solutions:
            return Text("Your instructor has the solution. `hint()` gives the next hint.")
        return Source(self.step.source)

    def __repr__(self) -> str:
        return f"{self.step.title}\n\n{self.step.intent}\n\n{self.step.starter}"


class Source(str):
    """Python that shows as such in a notebook."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return f"```python\n{self}```"


class LabChart:
    """The last chart of a lab: live in a notebook, a picture on a page."""

    def __init__(self, made: InteractiveChart):
        self.made = made

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if not on_page():
            return self.made._repr_mimebundle_()
        picture = base64.b64encode(self.made.still.encode()).decode()
        shown = f'<img alt="{html.escape(self.made.alt)}" src="data:image/svg+xml;base64,{picture}">'
        return {"text/html": f'<figure class="lab-still">{shown}</figure>', "text/plain": self.made.alt}


class LabView:
    """A lab: lab["allocate"] is one of its steps, lab.finish() its last chart."""

    def __init__(self, lab: Lab, lesson: str = "", student: str = "", solutions: bool = True):
        self.lab, self.lesson, self.student, self.solutions = lab, lesson, student, solutions
        self.own: dict[str, Any] = {}  # what passed, by name
        self.tried: dict[str, Any] = {}  # what was checked last, by name
        self._steps = {step.name: StepView(self, step) for step in lab.steps}

    def __getitem__(self, name: str) -> StepView:
        self.lab[name]  # which says what steps there are
        return self._steps[name]

    def __iter__(self) -> Iterator[StepView]:
        return iter(self._steps.values())

    def __len__(self) -> int:
        return len(self._steps)

    def of(self, student: str, solutions: bool = True) -> LabView:
        """The same lab for a student who hands it in; without `solutions`, only hints help."""
        return LabView(self.lab, self.lesson, hand_in.check_id(student), solutions)

    def save(self, path: str | Path = "answers.json") -> Saved:
        """Write the code of each step that was checked into the file that a student hands in, and into the notebook."""
        if not self.student:
            raise ValueError(f'Whose code is this? Start with lab = lab_view.lab("{self.lesson}").of("your id").')
        written, told = self._written()
        answers = {hand_in.lab_id(name): text for name, text in written.items()}
        held = hand_in.save_answers(Path(path), self.student, self.lesson, answers)
        words = [f"Saved {len(written)} of {len(self)} lab steps of {self.student} to {path}.", *told]
        return Saved("\n\n".join(words), held)

    def _written(self) -> tuple[dict[str, str], list[str]]:
        """The steps' texts by name, and a sentence for each that has none or that passes in this notebook alone."""
        written, told = {}, []
        for name, made in self.tried.items():
            try:
                written[name] = hand_in.write_cell(made)
            except Exception as error:  # a step may be any object; one of them must not cost the others
                told.append(hand_in.say_refused(name, error))
        passed = {name: text for name, text in written.items() if self.own.get(name) is self.tried[name]}
        for name, text in passed.items():
            if not (alone := self.lab.grade(name, text, passed)):
                told.append(f"{name} passes here but not alone: {alone.message} Put all that it uses into its cell.")
        return written, told

    @property
    def given(self) -> Mapping[str, Any]:
        """What your code may use without writing it."""
        return self.lab.given

    def space(self) -> dict[str, Any]:
        """The names that your code may use: what is given, and each step, yours once it has passed."""
        return self.lab.space() | self.own

    @contextlib.contextmanager
    def filled_in(self, made: Any, step: Step) -> Iterator[None]:
        """While a step is checked, the names that it may use are in the notebook's own, then as they were before."""
        names = _names_of(made)
        filled = {name: value for name, value in self.space().items() if name != step.name}
        before = {name: names[name] for name in filled if name in names}
        names.update(filled)
        try:
            yield
        finally:
            for name in filled:
                names.pop(name, None)
            names.update(before)

    def finish(self) -> LabChart | Text:
        """The last chart, made with your own versions where they have passed."""
        if not self.own:
            return Text("No step is solved yet. Solve one, then run this cell again.")
        versions = {each.step.name: self.space()[each.step.name] for each in self}
        with contextlib.ExitStack() as filled:
            for each in self:
                filled.enter_context(self.filled_in(self.own.get(each.step.name), each.step))
            return LabChart(chart(self.lab, wrap_title(self.lab.finish(types.SimpleNamespace(**versions)))))

    def __repr__(self) -> str:
        steps = "\n".join(f'lab["{each.step.name}"]  {each.step.title}' for each in self)
        return f"{self.lab.title}\n{self.lab.intro}\n{steps}"

    def _repr_html_(self) -> str | None:
        return page_html(self.lab, self.lesson) if on_page() else None


def _names_of(made: Any) -> dict[str, Any]:
    """The names that a function or class sees around it."""
    if isinstance(made, type):
        return vars(sys.modules[made.__module__])
    return getattr(inspect.unwrap(made), "__globals__", {}) if callable(made) else {}


def lab(lesson: str) -> LabView:
    """A lesson's lab."""
    return LabView(find_lab(lesson), lesson)


# --- on a page --------------------------------------------------------------------------------------------------------


def page_html(lab: Lab, lesson: str) -> str:
    """The whole lab, readable without scripts; book/_labs/lab.js wakes it up."""
    steps = "".join(_step(lab, step, number) for number, step in enumerate(lab.steps, 1))
    return (
        f'<lab-box class="lab" data-lesson="{lesson}"><p class="lab-intro">{markup(lab.intro)}</p>'
        f"<p>{PLAIN} {EARLIER}</p>"
        f'<p class="lab-plain">The code is written in the page where scripts are on, and in the'
        f' <a href="../exercises/{lesson}.html">exercise notebook</a>.</p>{steps}'
        f'<section class="lab-ending"><h3>Put it together</h3><p class="lab-said">{markup(lab.ending)}</p></section>'
        f"</lab-box>"
    )


def _given(lab: Lab, step: Step) -> str:
    """What code may use without writing it, at the first step whose solution or example does, each with the first line
    of what it says of itself.
    """
    uses = lambda each, name: re.search(rf"\b{name}\b", f"{each.source}\n{each.example}")
    first = {name: next(each for each in lab.steps if uses(each, name)) for name in lab.given}
    items = [f"<li><code>{name}</code>{_about(value)}</li>" for name, value in lab.given.items() if first[name] is step]
    return f'<p class="lab-given">From here on your code may use:</p><ul>{"".join(items)}</ul>' if items else ""


def _about(value: Any) -> str:
    own = getattr(value, "__module__", "").startswith("blackboard.")
    doc = inspect.getdoc(value) if own else None
    return f": {markup(doc.splitlines()[0])}" if doc else f": {_plain(value)}"


def _plain(value: Any) -> str:
    return "the module of that name" if inspect.ismodule(value) else f"<code>{html.escape(shown(value))}</code>"


def _step(lab: Lab, step: Step, number: int) -> str:
    """One step: its title, what it is for, an example with its result, the starter, hints and the solution."""
    return (
        f'<section class="lab-step" id="step-{step.name}" data-step="{step.name}">'
        f"<h3>{number}. {markup(step.title)}</h3>"
        f"<p>{markup(step.intent)}</p>{_example(lab, step)}{_given(lab, step)}"
        f'<pre class="lab-starter">{_code(narrow(step.starter))}</pre>'
        f"{_folds(step)}</section>"
    )


def _example(lab: Lab, step: Step) -> str:
    """The example with its result: in a sentence where it is short, else as lines of code."""
    code, result = write_example(step), f"returns {_code(lab.example_result(step))}."
    if "\n" not in code:
        return f'<p class="lab-example">For example, {_code(code)} {result}</p>'
    last = " the last line of" if "; " in step.example else ""  # else it is one call, laid out in lines
    return f'<p class="lab-example">For example,{last}</p><pre>{_code(code)}</pre><p>{result}</p>'


def _code(text: str) -> str:
    """Code as an element; its quotes need no escape there, and weigh less without."""
    return f"<code>{html.escape(text, quote=False)}</code>"


def write_example(step: Step) -> str:
    """A step's example in lines: a statement each, and in a long one an argument each."""
    lines = step.example.split("; ")
    return "\n".join(_lay_out(line, ast.parse(line).body[0].value) for line in lines)  # type: ignore[attr-defined]


def _lay_out(line: str, node: ast.expr) -> str:
    """A line as it is, or with what is in the brackets of its outermost call below each other where it is too long."""
    if len(line) <= WIDTH or not isinstance(node, ast.Call):
        return line
    parts = sorted([*node.args, *(each.value for each in node.keywords)], key=lambda each: each.col_offset)
    starts = [line.rindex("(", 0, parts[0].col_offset) + 1]
    starts += [line.index(",", before.end_col_offset) + 1 for before in parts[:-1]]
    ends = [start - 1 for start in starts[1:]] + [line.rindex(")", 0, node.end_col_offset)]
    inside = [line[start:end].strip() for start, end in zip(starts, ends)]
    return "\n".join([line[: starts[0]], *(f"    {each}," for each in inside), ")"])


def narrow(code: str) -> str:
    """Code whose docstrings fit a page's column."""
    return DOCSTRING.sub(lambda found: "\n\n".join(map(_fill, found[1].split("\n\n"))) + found[2], code)


def _fill(paragraph: str) -> str:
    """A docstring's paragraph broken anew where a line is too long: sentences, and a list's entries one by one."""
    if max(map(len, paragraph.split("\n"))) <= WIDTH:
        return paragraph
    parts = re.split(r"\n(?=.*\S  +\S)", paragraph)
    return "\n".join(_hang(part, entry[0]) if (entry := ENTRY.match(part)) else _wrap(part) for part in parts)


def _hang(entry: str, name: str) -> str:
    """An entry whose further lines begin below the first word that follows its name."""
    return _break(entry.removeprefix(name), name, " " * len(name))


def _wrap(sentences: str) -> str:
    """Lines of one indentation at a time."""
    indent_of = lambda line: line[: len(line) - len(line.lstrip())]
    groups = itertools.groupby(sentences.split("\n"), indent_of)
    return "\n".join(_break("\n".join(lines), indent, indent) for indent, lines in groups)


def _break(text: str, first: str, further: str) -> str:
    """Words in lines, of which the first and the further ones begin so."""
    lines = textwrap.TextWrapper(WIDTH, first, further, break_on_hyphens=False, break_long_words=False)
    return lines.fill(" ".join(text.split()))


def _folds(step: Step) -> str:
    fold = '<details class="{}"><summary>{}</summary>{}</details>'
    hints = [fold.format("lab-hint", f"Hint {n}", f"<p>{markup(hint)}</p>") for n, hint in enumerate(step.hints, 1)]
    code = _code(narrow(step.source))
    return "".join(hints) + fold.format("lab-solution", "Solution", f"<pre>{code}</pre>")
