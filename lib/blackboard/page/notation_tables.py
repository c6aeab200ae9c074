"""The notation page: for each lesson the symbols that it uses first and its formulas, and formulas by the question that
they answer.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from functools import cache

from blackboard import notation
from blackboard.formula import Formula, formulas
from blackboard.notation import Symbol
from blackboard.page.data_table import breakable, data_table
from blackboard.page.summary import Page, copied, fold
from blackboard.units import write_unit

SHORT = 85  # letters of TeX, with which a formula fits beside its question
ORDER = (
    *("batching", "sparsity", "racks", "pipelining", "overtraining", "pricing", "reversibility"),
    *("speculation", "paging", "overheads", "corpus", "prediction"),
)


def formulas_of(group: str) -> list[Formula]:
    """The formulas of a lesson, or of the prediction."""
    notation.load_all()
    return [formula for name, formula in formulas.items() if name.partition(".")[0] == group]


@cache
def first_uses() -> Mapping[str, str]:
    """{symbol: the group whose formula uses it first}."""
    found: dict[str, str] = {}
    for group in ORDER:
        for formula in formulas_of(group):
            for used in sorted({formula.symbol, *formula.expr.free_symbols}, key=str):
                found.setdefault(used.name, group)
    return found


def symbols_of(group: str) -> list[Symbol]:
    """The symbols that a group's formulas use before any other; the last group has those that none uses."""
    return [row for row in notation.table().values() if first_uses().get(row.name, ORDER[-1]) == group]


def symbols_and_formulas(group: str) -> Page:
    """A group's formulas and its symbols, each behind a line that opens them."""
    rows, listed = symbols_of(group), formulas_of(group)
    symbols = fold(f"{len(rows)} symbols that come up here first", symbol_table(group, rows), "symbols-of")
    shown = f'<dl class="formula-list">{"".join(map(_formula, listed))}</dl>'
    return Page(symbols + fold(f"{len(listed)} formulas", shown, "formulas-of"))


def symbol_table(group: str, rows: Iterable[Symbol]) -> Page:
    """Symbols with their meaning and unit."""
    cells = [
        (
            f"\\({notation.latex(notation.symbol(row.name))}\\)",
            html.escape(row.description),
            breakable(html.escape(write_unit(row.unit))),
            f"<code>{breakable(row.name)}</code>",
            LETTER.sub(_typeset, html.escape(row.board)) or "–",
        )
        for row in rows
    ]
    heads = ("Symbol", "Meaning", "Unit", "In code", "In the lecture")
    return data_table(f"Symbols that {group} uses first", heads, cells, "wrapped symbol-table")


LETTER = re.compile(r"\b([A-Za-z]+)_([A-Za-z]+)\b")  # with a subscript, as the lecture's board has it


def _typeset(letter: re.Match[str]) -> str:
    """A letter of the lecture as mathematics; a name of several letters stays upright."""
    name, below = letter.groups()
    upright = "" if len(name) == 1 else r"\mathrm"
    return rf"\({upright}{{{name}}}_\mathrm{{{below}}}\)"


def _formula(formula: Formula) -> str:
    """One formula: what it says, how it reads, its unit and its name in code."""
    unit = "a pure number" if formula.unit == "1" else html.escape(write_unit(formula.unit))
    return (
        f'<div id="{anchor(formula.name)}" {copied(formula)}><dt>{_meaning(formula)}.</dt>'
        f"<dd>\\[{formula.latex}\\]</dd>"
        f'<dd class="formula-unit"><span><code>{formula.name}</code> · {unit}</span></dd></div>'
    )


def anchor(name: str) -> str:
    """Where a formula is on the page."""
    return f"formula-{name.replace('.', '-').replace('_', '-')}"


def questions(asked: Mapping[str, Iterable[str]]) -> Page:
    """Questions, each of which opens to the formulas that answer it; KeyError for a formula that is not there."""
    notation.load_all()
    folds = (_question(question, [formulas[name] for name in names]) for question, names in asked.items())
    return Page(f'<div class="formula-questions">{"".join(folds)}</div>')


def _question(question: str, answers: list[Formula]) -> str:
    """A question that opens to its answers; beside it the first, where it is short enough to stand there."""
    first = answers[0].latex
    beside = f'<span class="formula-answer" aria-hidden="true">\\({first}\\)</span>' if len(first) < SHORT else ""
    found = "".join(map(_answer, answers))
    return f'<details class="formula-question"><summary>{html.escape(question)}{beside}</summary>{found}</details>'


def _answer(formula: Formula) -> str:
    """What a formula gives, as a link to its place on the page; below it, the page's script shows the formula too."""
    return f'<p><a href="#{anchor(formula.name)}">{_meaning(formula)}</a></p>'


def _meaning(formula: Formula) -> str:
    """What a formula gives, as a sentence begins."""
    return html.escape(formula.description[0].upper() + formula.description[1:])
