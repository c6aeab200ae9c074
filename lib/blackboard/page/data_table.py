"""Long tables to look things up in: heads and names stay in sight, and on a phone a row is a card. The build aligns
columns of numbers (tools/number_columns.py), and the page's script adds sorting and a filter (book/_scripts/tables.js).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from blackboard.page.summary import Page
from blackboard.text import superscript

_TAG = re.compile(r"<[^>]+>")


def data_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], look: str = "") -> Page:
    """A table whose cells are HTML; the first of a row heads it. `look` is a CSS class of its own."""
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    lines = "".join(_row(heads, row) for row in rows)
    label = html.escape(caption, quote=True)
    return Page(
        f'<div class="data-table {look}"><div class="table-box" tabindex="0"'
        f' role="group" aria-label="{label}"><table class="table"><caption>{label}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div></div>"
    )


def plain(head: str) -> str:
    """A head without its tags; what they raise stays raised."""
    return _TAG.sub("", re.sub(r"<sup>(\d+)</sup>", lambda found: superscript(found[1]), head))


def _row(heads: Sequence[str], row: Sequence[str]) -> str:
    """A row; each cell bears its head, which a phone shows beside it."""
    first, *others = row
    cells = "".join(
        f'<td data-head="{html.escape(plain(head), quote=True)}"><div>{cell}</div></td>'
        for head, cell in zip(heads[1:], others)
    )
    return f'<tr><th scope="row">{first}</th>{cells}</tr>'
