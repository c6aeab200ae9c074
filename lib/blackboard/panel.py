"""A problem on a page and in a notebook: the HTML card, the data of a page's answer boxes, and a panel of buttons."""

from __future__ import annotations

import html
import json

from blackboard.style import markup


def card(view, live: bool) -> str:
    """A problem's statement as HTML; live, it is an answer box that wakes up on its lesson's `script`."""
    problem = view.problem
    title = html.escape(problem.title) if live else f"{view.number}. {html.escape(problem.title)}"
    called = f"{problem.level}, p[{view.number}]" if live else problem.level  # a page's order is not the notebook's
    head = f'<p class="practice-head"><strong>{title}</strong> <span class="practice-level">{called}</span></p>'
    body = f'<div class="practice-ask">{markup(view.statement)}</div>{_listed(view)}'
    wants = "" if live else f'<p class="practice-wants"><em>{html.escape(problem.wants)}</em></p>'
    tag = "practice-box" if live else "div"
    where = f' data-lesson="{view.lesson}" data-problem="{problem.id}"' if live else ""
    return (
        f'<{tag} class="practice tex2jax_process mathjax_process"'
        f' data-kind="{problem.kind}"{where}>{head}{body}{wants}</{tag}>'
    )


def script(problems) -> str:
    """A lesson's problems as a script that hands them to the answer boxes: a page on a disk may not fetch."""
    pages = {view.problem.id: view.problem.page() for view in problems}
    call = f"register({_json(problems.lesson)},{_json(pages)})"
    return f'customElements.whenDefined("practice-box").then(()=>customElements.get("practice-box").{call});\n'


def _listed(view) -> str:
    rows = getattr(view.problem, "options", None) or getattr(view.problem, "items", None) or {}
    filled = {key: markup(view.problem.fill(text, view._values)) for key, text in rows.items()}
    return (
        f'<ul class="practice-options">{"".join(f"<li><b>{k})</b> {t}</li>" for k, t in filled.items())}</ul>'
        if rows
        else ""
    )


def digits(number: float) -> float:
    """A number to the ten digits that a page carries."""
    return float(f"{number:.10g}")


def _json(data: object) -> str:
    """Compact JSON, numbers to ten digits, that may also stand inside a script element."""
    rounded = json.loads(json.dumps(data), parse_float=lambda x: digits(float(x)))
    return json.dumps(rounded, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def panel(view):
    """Buttons for one problem: an answer box, check, hint, solution and fresh numbers (ipywidgets)."""
    import ipywidgets as w

    statement, out = w.HTMLMath(view._repr_html_()), w.HTMLMath()
    if view.problem.kind == "function":  # a text box cannot hold one
        return w.VBox(
            [
                statement,
                w.Label(f"Write the function in a cell and call .check(your_function) on problem {view.number}."),
            ]
        )
    box = w.Text(
        description="Answer", placeholder=view.problem.wants, continuous_update=False, layout=w.Layout(width="22em")
    )

    def say(thing):
        out.value = thing._repr_html_()

    def again(_):
        drawn = view.again()
        if drawn is not view:
            return say(drawn)
        statement.value, box.value, out.value = view._repr_html_(), "", ""

    actions = {
        "Check": lambda _: say(view.check(box.value)),
        "Hint": lambda _: say(view.hint()),
        "Solution": lambda _: say(view.solution()),
        "Again": again,
    }
    buttons = [w.Button(description=name) for name in actions]
    for button in buttons:
        button.on_click(actions[button.description])
    box.observe(lambda change: change["new"] and actions["Check"](box), "value")  # Enter, or leaving the box
    return w.VBox([statement, w.HBox([box, *buttons], layout=w.Layout(flex_flow="row wrap")), out])
