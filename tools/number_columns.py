"""Columns of numbers are aligned to the right, and a first column of letters is kept narrow: in tables of Markdown, of
lessons' cells and to look things up in.
"""

import html
import re

TABLE = re.compile(r"<table\b.*?</table>", re.S)
ROW = re.compile(r"<tr\b.*?</tr>", re.S)
CELL = re.compile(r"<(t[hd])\b([^>]*)>(.*?)</\1>", re.S)
NOTE = re.compile(r"<sup><a .*?</sup>", re.S)
TAG = re.compile(r"<[^>]+>")
CLASS = re.compile(r' class="([^"]*)"')
POWER = r"10[\d⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+"
UNIT = r"\s?(?:%|×|¢|[A-Za-zµ]{1,7}(?:/[A-Za-z]{1,7}){0,2})"  # one word: a column of phrases is read from the left
VALUE = rf"(?:[−+-]?\$?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\s?[×·]\s?{POWER})?|{POWER})(?:{UNIT})?"
NUMBER = re.compile(rf"(?:[×≈]\s?)?{VALUE}(?: to {VALUE})?")
LETTER = re.compile(r"\s*<math\b(?:(?!</math>).)*</math>\s*", re.S)
LACKS = {"–", "none", ""}


def text_of(cell):
    """What one reads in a cell, marks that lead to a note aside."""
    return " ".join(html.unescape(TAG.sub(" ", re.sub("</?(?:sup|span)[^>]*>", "", NOTE.sub("", cell)))).split())


def is_number(cell):
    """Whether a cell is a number, or two with the way between them, with a unit or without."""
    return bool(NUMBER.fullmatch(text_of(cell)))


def align_numbers(body):
    """Mark the cells and heads of columns that hold numbers alone, and dashes where one is lacking; and of a first
    column of letters.
    """
    return TABLE.sub(lambda table: align_table(table[0]), body)


def align_table(table):
    """The same for one table; one whose cells span several columns or rows stays as it is."""
    rows = [[cell[2] for cell in CELL.findall(row)] for row in ROW.findall(table[table.find("<tbody") :])]
    if "span=" in table or len({len(row) for row in rows}) != 1:
        return table
    columns = list(zip(*rows))
    kinds = {n: "number" for n, column in enumerate(columns) if n and holds_numbers(column)}
    if columns and all(map(LETTER.fullmatch, columns[0])):
        kinds[0] = "letter"
    return ROW.sub(lambda row: mark_cells(row[0], kinds), table) if kinds else table


def holds_numbers(column):
    """Whether all cells are numbers or lacking, at least one of them a number."""
    known = [cell for cell in column if text_of(cell) not in LACKS]
    return bool(known) and all(map(is_number, known))


def mark_cells(row, kinds):
    """A row with these classes on its cells, by place."""
    places = iter(range(row.count("</t")))

    def marked(cell):
        tag, attributes, inner = cell.groups()
        kind = kinds.get(next(places))
        if not kind or "text-" in attributes:
            return cell[0]
        old = CLASS.search(attributes)
        names = f"{old[1]} {kind}" if old else kind
        return f'<{tag}{CLASS.sub("", attributes)} class="{names}">{inner}</{tag}>'

    return CELL.sub(marked, row)
