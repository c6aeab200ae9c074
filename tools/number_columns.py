"""Columns of numbers are aligned to the right, a first column of letters is kept narrow, and a table that is too wide
for a phone can be shown there as cards: in tables of Markdown, of lessons' cells and to look things up in.
"""

import html
import re

TABLE = re.compile(r"<table\b.*?</table>", re.S)
ROW = re.compile(r"<tr\b.*?</tr>", re.S)
CELL = re.compile(r"<(t[hd])\b([^>]*)>(.*?)</\1>", re.S)
NOTE = re.compile(r'<sup(?: class="caveat")?><a .*?</sup>', re.S)
TAG = re.compile(r"<[^>]+>")
CLASS = re.compile(r' class="([^"]*)"')
POWER = r"10[\d⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+"
# one word, with a million or more before it: a column of phrases is read from the left
UNIT = r"\s?(?:%|×|¢|(?:[mb]illion|trillion) [a-z]{1,6}|[A-Za-zµ]{1,8}(?:/[A-Za-z]{1,9}){0,2})"
VALUE = rf"(?:[−+-]?\$?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\s?[×·]\s?{POWER})?|{POWER})(?:{UNIT})?"
WAY = r" (?:to|times in|[+×=]) "
# a note of one word before it, and after it how many times another it is
NUMBER = re.compile(rf"(?:\([a-z]+\) )?(?:[×≈]\s?)?{VALUE}(?:{WAY}{VALUE}){{0,3}}(?: [\d,.]+ ×)?")
SUM = re.compile(r" (?:times in|[+=]) ")  # may be broken where there is no room
LONE = re.compile(r"<math>\s*<mn>([^<]*)</mn>\s*</math>")
FORMULA, SINGLE = re.compile(r"<math\b.*?</math>", re.S), re.compile(r"<mi\b[^>]*>([A-Za-z])</mi>")
LETTER = re.compile(r"\s*<math\b(?:(?!</math>).)*</math>\s*", re.S)
FITS = 4  # columns of numbers that a phone is wide enough for, or of short texts:
SHORT, LEAST, WIDE = 80, 12, 40  # letters of the longest of each, least of the first, and those that cannot be broken
NUMBERS = 48  # letters of four columns that cannot be broken, with which a phone cuts the last of the numbers
NAME = 24  # letters of the longest name in a first column that is not broken beside numbers
WORDS = 140  # letters of the longest of three columns, with which a phone's rows would have ten lines
SHAPED = ("data-head", "claim-parts")  # of tables that know themselves how a phone shows them
LACKS = {"–", "none", "less", "always", ""}


def text_of(cell):
    """What one reads in a cell, marks that lead to a note aside."""
    return " ".join(html.unescape(TAG.sub(" ", re.sub("</?(?:sup|span)[^>]*>", "", NOTE.sub("", cell)))).split())


def is_number(cell):
    """Whether a cell is a number, or a few with the way between them or in a sum, with a unit or without."""
    return bool(NUMBER.fullmatch(text_of(cell)))


def align_numbers(body):
    """Mark the cells and heads of columns that hold numbers alone, and dashes where one is lacking; and of a first
    column of letters. A number that is all of a formula has the digits of the others.
    """
    return TABLE.sub(lambda table: align_table(LONE.sub(r"\1", table[0])), body)


def align_table(table):
    """The same for one table; one whose cells span several columns or rows stays as it is."""
    rows = [[cell[2] for cell in CELL.findall(row)] for row in ROW.findall(table[table.find("<tbody") :])]
    if "span=" in table or len({len(row) for row in rows}) != 1:
        return table
    columns = list(zip(*rows))
    numbers = [n for n, column in enumerate(columns) if n and holds_numbers(column)]
    kinds = {n: "text-right" if any(SUM.search(text_of(cell)) for cell in columns[n]) else "number" for n in numbers}
    if columns and all(map(LETTER.fullmatch, columns[0])):
        kinds[0] = "letter"
    names = {0: "name"} if columns and max(len(text_of(cell)) for cell in columns[0]) <= NAME else {}
    marked = ROW.sub(lambda row: mark_cells(row[0], names | kinds), table) if names or kinds else table
    words = len(columns) - 1 - list(kinds.values()).count("number")
    wordy = len(columns) == FITS - 1 and count_longest(columns) > WORDS
    heads = [cell[2] for cell in CELL.findall(table[: table.find("<tbody")])]
    wide = len(columns) == FITS and count_unbroken(heads, columns, kinds) > NUMBERS
    if (
        len(columns) + bool(words) <= FITS
        and not (wordy or wide)
        or "<thead" not in table
        or any(mark in table for mark in SHAPED)
    ):
        return marked
    short = len(columns) == FITS and 0 not in kinds and are_short(heads, columns, kinds)  # of letters, all are cards
    return marked if short else make_cards(marked)


def count_longest(columns):
    """Letters of the longest cell of each column, together."""
    return sum(max(len(text_of(cell)) for cell in column) for column in columns)


def are_short(heads, columns, kinds):
    """Whether columns with their heads stand side by side on a phone, with a few lines in a cell at most."""
    return count_longest(columns) <= SHORT and count_unbroken(heads, columns, kinds) <= WIDE


def count_unbroken(heads, columns, kinds):
    """Letters that cannot be broken, of the longest word or number of each column with its head, together."""
    unbroken = []
    for n, (head, column) in enumerate(zip(heads, columns)):
        texts = list(map(text_of, column))
        parts = [*text_of(head).split(), *(texts if kinds.get(n) == "number" else " ".join(texts).split())]
        unbroken.append(max(map(len, parts), default=0))
    return max(LEAST, unbroken[0]) + sum(unbroken[1:])


def make_cards(table):
    """A table whose cells bear the heads of their columns, by which a phone shows each row as a card."""
    head, body = table[: table.find("<tbody")], table[table.find("<tbody") :]
    heads = [cell[2] for cell in CELL.findall(head)]

    def told(row):
        names = iter(heads)
        bare = row[0].replace("<p></p>", "")  # an empty cell, which a card leaves out
        return CELL.sub(lambda cell: name_cell(cell, next(names)), bare)

    head = re.sub(r'<table\b(?: class="([^"]*)")?', lambda tag: f'<table class="{tag[1] or ""} cards"', head, count=1)
    return head + ROW.sub(told, body)


def plain_formula(found):
    """A formula as a style sheet shows it: in a line, single letters slanted as they are in formulas."""
    slant = lambda letter: "ℎ" if letter[1] == "h" else chr(ord(letter[1]) + (0x1D3F3 if letter[1] < "a" else 0x1D3ED))
    return TAG.sub("", SINGLE.sub(slant, found[0]))


def name_cell(cell, head):
    """A cell with its column's head: as an attribute, which a style sheet shows, or, where a formula has a subscript,
    which no attribute can hold, as an element that only cards show.
    """
    tag, attributes, inner = cell.groups()
    if any("<msub" in formula for formula in FORMULA.findall(head)) and inner:
        told = re.sub(r"</?p\b[^>]*>", "", head)
        return f'<{tag}{attributes} data-head=""><span class="card-head">{told}</span>{inner}</{tag}>'
    name = html.escape(text_of(FORMULA.sub(plain_formula, head)))
    return f'<{tag}{attributes} data-head="{name}">{inner}</{tag}>'


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
