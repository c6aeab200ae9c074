"""Long tables to look things up in: heads and names stay in sight, and on a phone a row is a card. Where some columns
are brief, it is there a line of its name and those, and its name opens the rest. The build aligns columns of numbers
(tools/number_columns.py), and the page's script adds sorting and a filter (book/_scripts/tables.js).
"""

from __future__ import annotations

import html
import re
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from blackboard.page.summary import Page
from blackboard.text import superscript

_TAG = re.compile(r"<[^>]+>")


class Record(NamedTuple):
    """What heads a row that a phone folds: its id on the page, its name, and what stands below that, as HTML."""

    id: str
    name: str
    below: str = ""


def data_table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str | Record]],
    look: str = "",
    brief: Container[int] = (),
) -> Page:
    """A table whose cells are HTML; the first of a row heads it. `look` is a CSS class of its own, `brief` the places
    of the three columns that a phone shows of each record.
    """
    kinds = [' class="brief"' if place in brief else "" for place in range(len(heads))]
    top = "".join(f'<th scope="col"{kind}>{head}</th>' for head, kind in zip(heads, kinds))
    lines = "".join(_row(heads, kinds, row) for row in rows)
    look += " records full-width" if brief else ""  # the theme knows the second: contents give way to it
    label = html.escape(caption, quote=True)
    return Page(
        f'<div class="data-table {look}"><div class="table-box" tabindex="0"'
        f' role="group" aria-label="{label}"><table class="table"><caption>{label}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div></div>"
    )


def breakable(name: str) -> str:
    """A name or a unit that may be broken behind underscores, strokes and points, and nowhere else where that is
    enough.
    """
    return re.sub("(?<!<)[_/·]", r"\g<0><wbr>", name)


def plain(head: str) -> str:
    """A head without its tags; what they raise stays raised."""
    return _TAG.sub("", re.sub(r"<sup>(\d+)</sup>", lambda found: superscript(found[1]), head))


def _row(heads: Sequence[str], kinds: Sequence[str], row: Sequence[str | Record]) -> str:
    """A row; each cell bears its head, which a phone shows beside it."""
    first, *others = row
    place = ""
    if isinstance(first, Record):
        place, first = f' id="{first.id}"', f'<a class="record" href="#{first.id}">{first.name}</a>{first.below}'
    cells = "".join(
        f'<td{kind} data-head="{html.escape(plain(head), quote=True)}"><div>{cell}</div></td>'
        for head, kind, cell in zip(heads[1:], kinds[1:], others)
    )
    return f'<tr{place}><th scope="row">{first}</th>{cells}</tr>'
