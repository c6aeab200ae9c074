"""A Sphinx extension: what a page shows of the cells of a lesson. A cell's last line decides about its source, and a
figure brings its caption, its label and its alt text.
"""

import ast

from myst_nb import sphinx_ as myst_nb

PREPARING = {"glue_values"}  # what puts numbers into sentences
FOLDED = {"Derivation"}  # steps that are worth their source, but not at once
FORMULAS = {"eq", "step", "pricing"}  # a lesson's equations, and an earlier one's
DISPLAYING = {  # problems, figures, charts, tables: whose source tells a reader nothing
    *("p", "figures", "charts", "tables", "summary", "numbers", "cards", "constants", "limits"),
    *("claims", "costs", "cost_charts", "flashcards", "every_card", "some_cards", "fold", "lab", "notation_tables"),
    *("planner", "teaching"),
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


class Renderer(myst_nb.SphinxNbRenderer):
    """MyST-NB's own, which takes the same from the head of a cell and from nowhere else."""

    def render_nb_cell_code(self, token):
        """Put a cell of code on the page."""
        metadata = token.meta["metadata"]
        if self.document["source"].endswith(".md"):  # a notebook of exercises shows what its reader works with
            metadata.setdefault("tags", choose_tags(token.content))
        for output in self.nb_client.code_cell_outputs(token.meta["index"])[1]:
            metadata |= myst_nb.nb_node_to_dict(output.get("metadata", {}))
        if "remove-cell" not in metadata.get("tags", []):
            super().render_nb_cell_code(token)


def setup(_app):
    """Called by Sphinx; MyST-NB has a setting for what draws an output, but none for what reads a cell."""
    myst_nb.SphinxNbRenderer = Renderer
    return {"parallel_read_safe": True, "parallel_write_safe": True}
