"""Long tables to look things up in: heads and names stay in sight, numbers are aligned, and on a phone a row is a card.
The page's script adds sorting and a filter (book/scripts/tables.js).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from blackboard.page.summary import Page
from blackboard.text import superscript

_NOTE = re.compile(r"<sup><a .*?</sup>")
_TAG = re.compile(r"<[^>]+>")
_NUMBER = re.compile(r"[−+-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?: ?%)?(?: × 10\d+)?|–")


def is_number(cell: str) -> bool:
    """Whether a cell of HTML is a number, marks aside; a dash stands for one."""
    return bool(_NUMBER.fullmatch(_TAG.sub("", _NOTE.sub("", cell)).strip()))


def data_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], look: str = "") -> Page:
    """A table whose cells are HTML; the first of a row heads it. `look` is a CSS class of its own."""
    body = list(rows)
    numeric = [bool(body) and all(is_number(row[n]) for row in body) for n in range(len(heads))]
    top = "".join(f'<th scope="col"{_number(is_one)}>{head}</th>' for head, is_one in zip(heads, numeric))
    lines = "".join(_row(heads, row, numeric) for row in body)
    label = html.escape(caption, quote=True)
    return Page(
        f'<div class="data-table {look}"><div class="table-box" tabindex="0"'
        f' role="group" aria-label="{label}"><table class="table"><caption>{label}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div></div>"
    )


def plain(head: str) -> str:
    """A head without its tags; what they raise stays raised."""
    return _TAG.sub("", re.sub(r"<sup>(\d+)</sup>", lambda found: superscript(found[1]), head))


def _number(is_one: bool) -> str:
    return ' class="number"' if is_one else ""


def _row(heads: Sequence[str], row: Sequence[str], numeric: Sequence[bool]) -> str:
    """A row; each cell bears its head, which a phone shows beside it."""
    first, *others = row
    cells = "".join(
        f'<td{_number(is_one)} data-head="{html.escape(plain(head), quote=True)}"><div>{cell}</div></td>'
        for head, cell, is_one in zip(heads[1:], others, numeric[1:])
    )
    return f'<tr><th scope="row">{first}</th>{cells}</tr>'
