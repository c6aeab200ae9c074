"""A problem on a page and in a notebook: the HTML card, and a panel of buttons."""

from __future__ import annotations

import html
import json

from blackboard.style import markup


def card(view, with_data: bool) -> str:
    """A problem's statement as HTML; with data, the page's answer box wakes up on it."""
    problem = view.problem
    head = f'<p class="practice-head"><strong>{view.number}. {html.escape(problem.title)}</strong> <span class="practice-level">{problem.level}</span></p>'
    body = f'<div class="practice-ask">{markup(view.statement)}</div>{_listed(view)}'
    data = f'<script type="application/json">{_json(problem.page())}</script>' if with_data else ""
    wants = "" if with_data else f'<p class="practice-wants"><em>{html.escape(problem.wants)}</em></p>'
    tag = "practice-box" if with_data else "div"
    return f'<{tag} class="practice tex2jax_process mathjax_process" data-kind="{problem.kind}">{head}{body}{wants}{data}</{tag}>'


def _listed(view) -> str:
    rows = getattr(view.problem, "options", None) or getattr(view.problem, "items", None) or {}
    filled = {key: markup(view.problem.fill(text, view._values)) for key, text in rows.items()}
    return f'<ul class="practice-options">{"".join(f"<li><b>{k})</b> {t}</li>" for k, t in filled.items())}</ul>' if rows else ""


def _json(data: object) -> str:
    """JSON that may stand inside a script element."""
    rounded = json.loads(json.dumps(data), parse_float=lambda x: float(f"{float(x):.10g}"))
    return json.dumps(rounded, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def panel(view):
    """Buttons for one problem: an answer box, check, hint, solution and fresh numbers (ipywidgets)."""
    import ipywidgets as w

    statement, out = w.HTMLMath(view._repr_html_()), w.HTMLMath()
    if view.problem.kind == "function":  # a text box cannot hold one
        return w.VBox([statement, w.Label(f"Write the function in a cell and call .check(your_function) on problem {view.number}.")])
    box = w.Text(description="Answer", placeholder=view.problem.wants, continuous_update=False, layout=w.Layout(width="22em"))

    def say(thing):
        out.value = thing._repr_html_()

    def again(_):
        drawn = view.again()
        if drawn is not view:
            return say(drawn)
        statement.value, box.value, out.value = view._repr_html_(), "", ""

    actions = {"Check": lambda _: say(view.check(box.value)), "Hint": lambda _: say(view.hint()),
               "Solution": lambda _: say(view.solution()), "Again": again}  # fmt: skip
    buttons = [w.Button(description=name) for name in actions]
    for button in buttons:
        button.on_click(actions[button.description])
    box.observe(lambda change: change["new"] and actions["Check"](box), "value")  # Enter, or leaving the box
    return w.VBox([statement, w.HBox([box, *buttons], layout=w.Layout(flex_flow="row wrap")), out])
