"""What a page shows of the cells of a lesson. A cell's last line decides about its source, and a figure brings its
caption, its label and its alt text. A source that is shown can be run in the page, or says why not.
"""

import ast
import re
from pathlib import Path

PREPARING = {"glue_values"}  # what puts numbers into sentences
FOLDED = {"Derivation", "table"}  # what is worth its source, but not at once
FORMULAS = {"eq", "step", "pricing"}  # a lesson's equations, and an earlier one's
DISPLAYING = {  # problems, figures, charts, tables: whose source tells a reader nothing
    *("p", "figures", "charts", "tables", "summary", "numbers", "cards", "constants"),
    *("claims", "costs", "cost_charts", "flashcards", "every_card", "lab", "notation_tables"),
    *("planner", "teaching", "hub_trials"),
}


def find_root(expression):
    """The name at which an expression starts: `p` of `p.on_page("guess")`; None where it starts with none."""
    while isinstance(expression, ast.Call | ast.Attribute | ast.Subscript):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return expression.id if isinstance(expression, ast.Name) else None


def choose_tags(source):
    """The tags of a cell, as MyST-NB knows them, by the last statement of its source.

    What calls or looks up something that only displays hides its source, and so does a formula's name; a derivation
    folds it; what imports or hands out numbers is left out.
    """
    try:
        *_, last = ast.parse(source).body
    except (SyntaxError, ValueError):  # a command to the kernel, or nothing but comments
        return []
    if isinstance(last, ast.Import | ast.ImportFrom):
        return ["remove-cell"]
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call | ast.Subscript | ast.Attribute):
        return []
    if isinstance(last.value, ast.Attribute):  # a formula by its name: eq.step_time
        return ["remove-input"] if find_root(last.value) in FORMULAS else []
    roots = {"remove-cell": PREPARING, "hide-input": FOLDED, "remove-input": DISPLAYING}
    return [tag for tag, names in roots.items() if find_root(last.value) in names]


PROBLEM = re.compile(r"""p\[["'][\w-]+["']\]""")
ANSWER = re.compile(rf"(?:^|\n){PROBLEM.pattern}\.check\(.*\)$", re.S)


def is_unanswered(file, source):
    """Whether a cell checks, or draws, what its reader has yet to write: a page does not complain of it."""
    asks = ".check(" in source or source.strip() == "lab.finish()"
    return "exercises" in Path(file).parts and "solutions" not in Path(file).parts and asks


def choose_exercise_tags(file, source):
    """The tags of a cell of exercises: a page has boxes, so it shows neither the names of problems nor where the reader
    of a notebook writes an answer.
    """
    if PROBLEM.fullmatch(source.strip()):
        return ["remove-input"]
    return ["remove-cell"] if is_unanswered(file, source) and ANSWER.search(source.strip()) else []
