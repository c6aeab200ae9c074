"""A problem on a page and in a notebook: the HTML card, the data of a page's answer boxes, and a panel of buttons."""

from __future__ import annotations

import contextlib
import html
import json
import os
from collections.abc import Callable
from pathlib import Path

from blackboard.problem import Feedback
from blackboard.text import digits, markup, on_page

RECORD = ".handed-out.json"  # a folder with this file is a reader's copy of the course; tools/lab.py makes it


def card(view, live: bool, linked: bool = True) -> str:
    """A problem's statement as HTML; live, it is an answer box that wakes up on its lesson's `script`, with numbers
    that are not those of the text; linked, it has an id by which pages lead to it.
    """
    problem = view.problem
    called = f'p["{problem.id}"]'
    level = problem.level if live else f"{problem.level}, {called}"
    hint = f' title="{html.escape(called)} in a notebook"' if live else ""
    title = html.escape(problem.title)
    head = f'<p class="practice-head"><strong>{title}</strong>&ensp;{_pill(problem.level, level, hint)}</p>'
    values = problem.draws(problem.on_page)[0] if live else view._values
    asked = problem.fill(problem.statement, values)
    body = f'<div class="practice-ask">{markup(asked)}</div>{_listed(problem.texts(values), live)}'
    wants = "" if live else f'<p class="practice-wants"><em>{html.escape(problem.wants)}</em></p>'
    tag = "practice-box" if live else "div"
    name = f'id="practice-{problem.id}" ' if linked else ""
    where = f' {name}data-lesson="{view.lesson}" data-problem="{problem.id}"' if live else ""
    return f'<{tag} class="practice" data-kind="{problem.kind}"{where}>{head}{body}{wants}</{tag}>'


def script(problems, set_formulas: Callable[[dict], dict] = lambda pages: pages) -> str:
    """A lesson's problems as a script that hands them to the answer boxes: a page on a disk may not fetch.

    `set_formulas` sets the TeX in their texts.
    """
    pages = set_formulas({view.problem.id: view.problem.page() for view in problems})
    call = f"register({_json(problems.lesson)},{_json(pages)})"
    return f'customElements.whenDefined("practice-box").then(()=>customElements.get("practice-box").{call});\n'


def open_fold(title: str, level: str, name: str = "") -> str:
    """The start of a problem's fold: its title, how hard it is, and the name by which a page leads to it."""
    named = f' id="{name}"' if name else ""
    start = f'<details class="practice-item"{named} data-level="{level}">'
    return f"{start}<summary>{html.escape(title)}&ensp;{_pill(level, level)}</summary>"


def _pill(level: str, said: str, hint: str = "") -> str:
    """How hard a problem is, beside its title."""
    return f'<span class="practice-level {level}"{hint}>{said}</span>'


def practice_set(views) -> str:
    """Problems one below the other, each folded; the page's script adds a filter by level and counts what is solved."""
    items = (f"{open_fold(view.problem.title, view.problem.level)}{card(view, live=True)}</details>" for view in views)
    return f'<practice-set class="practice-set">{"".join(items)}</practice-set>'


def _listed(texts, live: bool) -> str:
    """The options with their letters; a notebook has no style sheet that takes the bullets away."""
    listed = "".join(f"<li><b>{letter})</b> {markup(text)}</li>" for letter, text in texts.items())
    style = "" if live else ' style="list-style: none"'
    return f'<ul class="practice-options"{style}>{listed}</ul>' if listed else ""


def _json(data: object) -> str:
    """Compact JSON, numbers to ten digits, that may also stand inside a script element."""
    rounded = json.loads(json.dumps(data), parse_float=lambda x: digits(float(x)))
    return json.dumps(rounded, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def answers_file(view) -> Path | None:
    """Where a panel keeps its answer: in the reader's copy of the course. None elsewhere, as in tests and builds."""
    here = Path.cwd()
    copy = next((folder for folder in (here, *here.parents) if (folder / RECORD).is_file()), None)
    return copy / "answers" / f"{view.lesson}.json" if copy and view.lesson and not on_page() else None


def _read(file) -> dict:
    with contextlib.suppress(OSError, ValueError, RecursionError):  # missing, or spoiled: as if nothing had been kept
        kept = json.loads(file.read_text("utf8"))
        return kept if isinstance(kept, dict) else {}
    return {}


def keep_answer(view, answer: str) -> None:
    """Keep a panel's answer and the numbers it belongs to. Where the disk does not take it, it is lost in silence."""
    with contextlib.suppress(OSError, ValueError):
        if (file := answers_file(view)) is None:
            return
        kept = _read(file) | {view.problem.id: {"numbers": view._seed, "answer": answer}}
        file.parent.mkdir(exist_ok=True)
        new = file.with_name(f"{file.name}.{os.getpid()}.part")
        new.write_text(json.dumps(kept, indent=1), "utf8")
        os.replace(new, file)


def read_kept(view) -> tuple[int, str] | None:
    """The answer that a panel kept for a problem, and the numbers it belongs to."""
    with contextlib.suppress(Exception):  # whatever an edited file may hold
        if file := answers_file(view):
            kept = _read(file)[view.problem.id]
            numbers, answer = int(kept["numbers"]), str(kept["answer"])
            view.problem.values(numbers)  # raises where there are no such numbers any more
            return numbers, answer
    return None


def kept_verdict(view) -> Feedback | None:
    """The verdict on the answer that a panel kept; None without one."""
    numbers, answer = read_kept(view) or (0, "")
    return view.problem.check(answer, view.problem.values(numbers)) if answer.strip() else None


def restore_answer(view) -> str:
    """The answer kept for a problem, "" without one; the numbers it belongs to come back unless others were chosen."""
    kept = read_kept(view)
    if kept is None:
        return ""
    numbers, answer = kept
    if not view._chosen:
        view._seed = numbers
    return answer if view._seed == numbers else ""


def panel(view):
    """Buttons for one problem: an answer box, check, hint, solution and fresh numbers (ipywidgets).

    In a reader's copy of the course the answer is kept, and comes back when the panel is shown again.
    """
    import ipywidgets as w

    kept = restore_answer(view)  # first: it may bring other numbers back
    statement, out = w.HTMLMath(view._repr_html_()), w.HTMLMath()
    if view.problem.kind == "function":  # a text box cannot hold one
        how = f'Write the function in a cell and call .check(your_function) on p["{view.problem.id}"].'
        return w.VBox([statement, w.Label(how)])
    box = w.Text(
        kept,
        description="Answer",
        placeholder=view.problem.wants,
        continuous_update=False,
        layout=w.Layout(width="22em"),
    )
    actions = _actions(view, statement, box, out)
    buttons = [w.Button(description=name) for name in actions]
    for button in buttons:
        button.on_click(actions[button.description])
    box.observe(lambda change: change["new"] and actions["Check"](box), "value")  # Enter, or leaving the box
    if kept:
        out.value = view.check(kept)._repr_html_()
    return w.VBox([statement, w.HBox([box, *buttons], layout=w.Layout(flex_flow="row wrap")), out])


def _actions(view, statement, box, out) -> dict[str, Callable]:
    """What each button does, by its name."""

    def say(thing):
        out.value = thing._repr_html_()

    def again(_):
        drawn = view.again()
        if drawn is not view:
            return say(drawn)
        statement.value, box.value, out.value = view._repr_html_(), "", ""
        keep_answer(view, "")

    def check(_):
        keep_answer(view, box.value)
        say(view.check(box.value))

    return {
        "Check": check,
        "Hint": lambda _: say(view.hint()),
        "Solution": lambda _: say(view.solution()),
        "Again": again,
    }
