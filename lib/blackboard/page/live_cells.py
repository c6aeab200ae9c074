"""Cells of a lesson that run in its page: what a cell needs of those before it, and what comes of it.

The page's Python has no NumPy. So of the cells before, only the statements run whose names are needed. The lessons'
cells are in a file that the build puts beside this module (tools/live_cells.py).
"""

from __future__ import annotations

import ast
import contextlib
import dis
import io
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from blackboard.limits import READER, keep_lines

CELLS = Path(__file__).with_name("cells.json")  # {lesson: the sources of its cells}
EARLIER = "<earlier cells>"
# What binds its names whatever happens; a loop may not run, and a branch not be taken.
BINDING = (ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def read_cells(lesson: str, texts: Mapping[str, str]) -> list[str]:
    """The cells of a lesson, with a reader's own texts, by number, in the place of some."""
    return [texts.get(str(n), cell) for n, cell in enumerate(json.loads(CELLS.read_text("utf8"))[lesson])]


# --- what a cell needs ------------------------------------------------------------------------------------------------


def names_inside(code: types.CodeType) -> set[str]:
    """The global names that the functions inside code use."""
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    steps = (step for each in inner for step in dis.get_instructions(each))
    own = {step.argval for step in steps if step.opname in ("LOAD_NAME", "LOAD_GLOBAL")}
    return own.union(*map(names_inside, inner))


class Statement:
    """A statement of a cell: the names that it uses, binds, and may change the value of."""

    def __init__(self, tree: ast.stmt):
        code = compile(ast.Module([tree], []), EARLIER, "exec")
        steps = [step for step in dis.get_instructions(code) if step.opname in ("LOAD_NAME", "STORE_NAME")]
        first = {step.argval: step.opname for step in reversed(steps)}  # a loop stores its variable before it is used
        self.tree = tree
        self.imports = isinstance(tree, ast.Import | ast.ImportFrom)
        self.binds = {step.argval for step in steps if step.opname == "STORE_NAME"}
        self.uses = {name for name in first if first[name] == "LOAD_NAME"} | names_inside(code) - self.binds
        self.replaces = self.binds if isinstance(tree, BINDING) else set()
        self.changes = set(owners_of_calls(tree)) if isinstance(tree, ast.Expr) else set()


def owners_of_calls(tree: ast.AST) -> Iterator[str]:
    """The names whose methods are called: `cache` of `cache.append(7)`."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            yield node.func.value.id


def split_imports(tree: ast.stmt) -> Iterator[ast.stmt]:
    """An import of several names as so many imports, of which only some may be needed; other statements as they are."""
    if isinstance(tree, ast.Import | ast.ImportFrom):
        for name in tree.names:
            one = (
                ast.Import([name]) if isinstance(tree, ast.Import) else ast.ImportFrom(tree.module, [name], tree.level)
            )
            yield ast.copy_location(one, tree)
    else:
        yield tree


def read_statements(cells: Sequence[str]) -> list[Statement]:
    """The statements of cells."""
    return [Statement(each) for cell in cells for tree in ast.parse(cell).body for each in split_imports(tree)]


def find_needed(earlier: Sequence[str], source: str) -> list[Statement]:
    """The statements of earlier cells, in order, from which a cell has its names."""
    before, wanted, found = read_statements(earlier), set[str](), []
    modules = {name for each in before if each.imports for name in each.binds}  # which no call in them changes
    for each in reversed(read_statements([source])):
        wanted = wanted - each.replaces | each.uses
    for each in reversed(before):
        if each.binds & wanted or each.changes & wanted - modules:
            wanted = wanted - each.replaces | each.uses
            found.append(each)
    return found[::-1]


# --- running it -------------------------------------------------------------------------------------------------------


def run_statements(statements: Sequence[Statement], space: dict[str, Any]) -> None:
    """Run statements of earlier cells, without a word."""
    tree = ast.Module([each.tree for each in statements], [])
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(tree, EARLIER, "exec"), space)


def prepare(earlier: Sequence[str], source: str) -> None:
    """Import what a cell needs, which takes longer than most cells."""
    run_statements([each for each in find_needed(earlier, source) if each.imports], {})


def run_cell(earlier: Sequence[str], source: str, space: dict[str, Any] | None = None) -> Any:
    """Run a cell after what it needs of earlier ones, in a space of names; the value of its last line, if that is an
    expression.
    """
    keep_lines(source)
    tree, space = ast.parse(source, READER), {} if space is None else space
    space["__name__"] = "__main__"
    run_statements(find_needed(earlier, source), space)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return exec(compile(tree, READER, "exec"), space)
    exec(compile(ast.Module(tree.body[:-1], []), READER, "exec"), space)
    return eval(compile(ast.Expression(last.value), READER, "eval"), space)


def show_value(value: Any) -> dict[str, str]:
    """A value as a page shows it: the course's own as HTML where it has any, others as text."""
    own = type(value).__module__.partition(".")[0] == "blackboard"
    if own and hasattr(value, "_repr_html_") and (markup := value._repr_html_()):
        return {"html": markup}
    return {"text": "" if value is None else repr(value)}
