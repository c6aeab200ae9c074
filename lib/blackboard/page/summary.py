"""What a lesson's page prints from the objects: constants with their sources, summary cards, numbers in prose."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

import sympy

from blackboard import notation, units
from blackboard.catalogue import LINKS, ROUTING, source
from blackboard.charts import letters
from blackboard.formula import DERIVED, Formula
from blackboard.notation import latex
from blackboard.text import markup


class Page(str):
    """HTML that shows as such; `str` is its source."""

    def _repr_html_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<{len(self)} characters of HTML>"


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Page:
    """An accessible table that scrolls in a box of its own; cells are HTML, the first of a row heads it."""
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join(
        "<tr>"
        + "".join(f'<th scope="row">{c}</th>' if i == 0 else f"<td>{c}</td>" for i, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    label = html.escape(caption, quote=True)
    return Page(
        f'<div class="table-box" tabindex="0" role="group" aria-label="{label}">'
        f'<table class="table"><caption>{html.escape(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def fold(summary: str, content: str, look: str = "numbers-used") -> Page:
    """HTML behind a line of plain text that opens it; `look` is its CSS class."""
    return Page(f'<details class="{look}"><summary>{html.escape(summary)}</summary>{content}</details>')


def _math(expression: sympy.Basic) -> str:
    return f"\\({latex(expression)}\\)"


def constants(precision: str, *specs, show: Iterable[str] = ()) -> Page:
    """The numbers of a case by symbol, folded, as the catalogue binds them, and under the table where they come from.

    `show` names the symbols to print; without it, all but links and routing (catalogue.LINKS, ROUTING). ValueError
    where no spec binds a symbol that it names.
    """
    rows, cited, wanted = [], [], set(show)
    if unbound := wanted - set().union(*(spec.symbols(precision) for spec in specs)):
        raise ValueError(
            f"show: nothing here binds {', '.join(sorted(unbound))}; a system may bind {', '.join(LINKS)}, a model"
            f" {', '.join(ROUTING)}"
        )
    for spec in specs:
        for name, value in spec.symbols(precision).items():
            if name not in wanted if wanted else name in LINKS + ROUTING:
                continue
            symbol = notation.lookup(name)
            rows.append(
                [
                    _math(notation.symbol(name)),
                    html.escape(symbol.description),
                    units.pretty(value, symbol.unit, 4, exact=True),
                    html.escape(spec.name),
                ]
            )
        cited.append(_cited(spec))
    title = f"{' on '.join(spec.name for spec in specs)}, {precision.upper()}"
    note = f'<p class="table-note">{" ".join(cited)}</p>'
    numbers = table(title, ("Symbol", "Meaning", "Value", "Of"), rows) + note
    return fold(f"The numbers used: {title}", numbers)


def _cited(spec) -> str:
    """The sources of a catalogue row in words, newest date last."""
    origin = getattr(spec, "chip", spec)
    found = [source(id) for id in origin.sources]
    listed = "; ".join(f'<a href="{html.escape(s.url)}">{html.escape(s.title)}</a> ({s.date})' for s in found)
    return f"Sources for {html.escape(spec.name)}: {listed}."


def cards(*formulas: Formula) -> Page:
    """Summary cards: formula, unit, when it holds, what it means, where it comes from. The first one's lesson numbers
    them: card 3.2 is the second of lesson 3, and `#card-3-2` its place on the page.
    """
    from blackboard.page.notation_tables import ORDER  # which imports this module

    name = formulas[0].name.partition(".")[0]
    lesson = [*(each for each in ORDER if each != "prediction"), name].index(name) + 1  # one that is new comes last
    return Page("".join(card(formula, f"{lesson}.{n}") for n, formula in enumerate(formulas, 1)))


def card(formula: Formula, number: str = "") -> str:
    """One summary card, with its number where it has one."""
    place = f' id="card-{number.replace(".", "-")}"' if number else ""
    numbered = f'<span class="card-number">Card {number}</span> ' if number else ""
    holds = f"Holds if: {'; '.join(formula.assumes)}. " if formula.assumes else ""
    source = (
        f"lecture {formula.source.at}"
        if formula.source.at
        else "derived here"
        if formula.source == DERIVED
        else _paper(formula.source.key)
    )
    return (
        f'<div class="summary-card"{place} {copied(formula)}>'
        f"<p>{numbered}<strong>{markup(formula.description[0].upper() + formula.description[1:])}.</strong></p>"
        f'<div>\\[{formula.latex}\\]</div><details class="card-letters">'
        "<summary>Unit, letters, and when it holds</summary>"
        f"<p>{'A pure number' if formula.unit == '1' else 'Unit: ' + html.escape(units.write_unit(formula.unit))}. "
        f"{html.escape(holds)}Source: {source}.</p>{_letters(formula)}</details></div>"
    )


def _letters(formula: Formula) -> str:
    """The letters of a formula as it is printed, from left to right, with meaning and unit."""
    printed = formula.expr if formula.typeset is None else formula.typeset
    place = lambda symbol: (formula.latex.find(latex(symbol)), str(symbol))
    return letter_list([formula.symbol, *sorted(printed.free_symbols - {formula.symbol}, key=place)])


def letter_list(symbols: Iterable[sympy.Symbol]) -> str:
    """Letters with meaning and unit, in columns."""
    rows = [(_tinted(each), notation.lookup(each.name)) for each in symbols]
    unit = lambda row: f' <span class="letter-unit">{html.escape(units.write_unit(row.unit))}</span>'
    listed = "".join(
        f"<li>{letter} <span>{html.escape(row.description)}</span>{unit(row) if row.unit != '1' else ''}</li>"
        for letter, row in rows
    )
    return f'<ul class="letter-list">{listed}</ul>'


def _tinted(symbol: sympy.Symbol) -> str:
    """A letter in the color of its quantity, if it has one."""
    found = letters.tinted().get(notation.lookup(symbol.name).latex)
    return f'<span class="of-{found}">{_math(symbol)}</span>' if found else f"<span>{_math(symbol)}</span>"


def copied(formula: Formula) -> str:
    """Attributes of a formula's element, whose texts the page's buttons copy."""
    return f'data-latex="{html.escape(formula.latex)}" data-python="{html.escape(python(formula))}"'


def python(formula: Formula) -> str:
    """A formula as a line of plain Python, in the names of the notation."""
    return f"{formula.name.partition('.')[2]} = {sympy.pycode(formula.expr)}"


def _paper(key: str) -> str:
    """A source of the catalogue as a link."""
    found = source(key)
    return f'<a href="{html.escape(found.url)}">{html.escape(found.title)}</a>'


def glue_values(values: Mapping[str, str]) -> None:
    """Make computed texts available to the prose as {glue:text}`name`, and what is a Page as {glue:}`name`."""
    try:
        from myst_nb import glue
    except ImportError:  # what builds the book is not installed; JupyterLab does without
        return
    for name, text in values.items():
        glue(name, text, display=False)
