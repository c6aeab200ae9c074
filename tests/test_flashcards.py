"""The flashcards: all 27 and the summaries, their numbers by plain arithmetic, the page, and the deck as Anki reads
it.
"""

import dataclasses
import datetime
import functools
import importlib.util
import json
import re
import sqlite3
import sys
import time
import zipfile
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from cases import cases
from lessons import LESSONS, ROOT, page

sys.path.insert(0, str(ROOT / "tools"))
import whole_book

from blackboard import notation
from blackboard.formula import formulas
from blackboard.reference import flashcards

latex = functools.cache(notation.latex)  # every letter of the notation is asked for once for every card
IDS = [
    f"{part}.{n}"
    for part, count in ((1, 9), (2, 1), (3, 3), (4, 1), (5, 6), (6, 5), (7, 2))
    for n in range(1, count + 1)
]
ALL = [*flashcards.of_lecture(), *flashcards.of_lessons()]
CARDS = {card.id: card for card in ALL}
every = cases("card", ALL, ids=lambda card: card.id)
of_lecture = cases("card", flashcards.of_lecture(), ids=lambda card: card.id)

SERVED = 50e6 * 60 * 86_400
least = min(x**2 + 1 / x for x in (n / 10_000 for n in range(1_000, 30_000)))  # by trying: where the sum is least
at = min((n / 10_000 for n in range(1_000, 30_000)), key=lambda x: x**2 + 1 / x)
ORACLES = {  # what an answer must print, by arithmetic that knows no formula of the course
    "1.2": ["has no 2", "counts as 2"],
    "1.4": [f"{671e9 / (72 * 8e12) * 1e3:.3f} ms"],
    "1.7": [
        f"{1979 / 3.35 / 2:.0f} on an H100",
        f"{4500 / 8 / 2:.0f} on a B200",
        f"{312 / 2.039:.0f} on an A100",
        f"{1979 / 4.8 / 2:.0f} on an H200",
        f"{1979 / 3.35:.0f} for each byte",
    ],
    "1.8": [f"300 × {256 // 32} = {300 * 256 // 32:,} sequences", f"{300 * 32 / 256:g}.", "8 of 256"],
    "1.9": [f"{288 / 20:.1f} ms", "13 ms to 39 ms", f"{671 / 576:.3f} ms"],
    "2.1": [f"takes {max(1 / 2, 8 * 1 / 2):g} times as long", f"{320} GPUs in {320 // 8} nodes"],
    "3.1": [f"{3 / 7:.1%}", f"{3 / 19:.1%}"],
    "3.3": [f"{1e12 / 64 / 1e9:.1f} GB", f"{1e12 / 256 / 1e9:.1f} GB", f"{2_400 * 200e3 * 2_000 / 64 / 1e9:.1f} GB"],
    "5.1": ["2 forward", "4 backward"],
    "5.2": ["2 if it is only generated", f"{2 + 2 + 4} if the model then trains on it"],
    "5.3": [f"{at**2 / least:.0%}", f"{2 / least - 1:.1%}"],
    "5.4": [
        f"{(2 * 3 + 1) / 6:.1f} tokens of pre-training",
        f"have {3 * 3 / 6:g} for RL",
        f"{2 * 3 / 6:g} for each token served",
        f"between {2 / 6 / 0.3:.2f} and {(2 / 0.3 + 2 + 4) / 6:.2f}",
    ],
    "5.5": [f"{SERVED / 1e12:.0f} trillion"],
    "5.6": [
        f"{20 * 100e9 / 1e12:.0f} trillion",
        f"so {200e12 / (20 * 100e9):.0f} times",
        f"{SERVED / 2e12:.0f} times",
        f"give {150e12 / 2e12:.0f}.",
    ],
    "6.1": [f"{4 / 2 - 1:.0%} more", "$12 to $18", "$2 to $4"],
    "6.2": [f"{1.5 * 200e3:,.0f} tokens"],
    "6.3": [
        f"{100e9 / 200e3 / 300:,.0f} bytes",
        f"FP4 it would be {100e9 / 200e3 / 600:,.0f} bytes",
        f"BF16 {100e9 / 200e3 / 150:,.0f}",
        f"{61 * (512 + 64) * 2:,}",
    ],
    "6.4": [f"{1 / 3:.0%} of the peak where output costs three", f"{1 / 5:.0%} where it costs five"],
    "6.5": ["$5 against $0.50."],
}
SAYS = {  # where the published card is wrong or silent, the answer says so
    "1.2": "multiply-add",
    "1.3": "a parameter is a byte",
    "1.5": "touches nearly every expert",
    "1.7": "twice as many",
    "1.8": "upside down",
    "1.9": "holds only where",
    "3.1": "forward half",
    "4.1": "gave no reason",
    "5.4": "an assumption",
    "5.5": "round that to 200 trillion",
    "5.6": "are rounded",
    "6.1": "output's",
    "6.3": "another assumption",
    "6.4": "weights alone",
    "6.5": "in memory only",
}
QUOTED = {  # numbers that a text quotes and does not compute
    "1.5": {"22": "the day of the card's correction", "2026": "its year"},
    "1.7": {"300": "the lecture's, 0:18:25"},
    "1.8": {
        "32": "the board's active experts, 0:19:16",
        "256": "and all of them; DeepSeek-V3's configuration",
        "300": "the board's, 0:18:25",
    },
    "1.9": {"20": "the lecture's interval in ms, 0:22:13, and Rubin's TB/s, 0:24:13", "288": "Rubin's GB, 0:24:13"},
    "2.1": {"8": "the lecture's ratio, 0:38:47"},
    "5.3": {"1": "of x² + 1/x"},
    "5.4": {"3": "the published card's FLOPs", "0.3": "the lecture's efficiency, 1:25:28"},
    "5.5": {
        "50": "millions of tokens a second, 1:30:46",
        "60": "days of two months",
        "200": "as the board rounds, 1:30:46",
    },
    "5.6": {
        "20": "Chinchilla's rule, 1:31:17",
        "200": "as the board rounds, 1:30:46",
        "100": "the lecture's active parameters in billions, 1:31:17",
        "150": "the rumour, 1:31:01",
    },
    "6.1": {"200,000": "tokens of the step, 1:33:03"},
    "6.3": {
        "200,000": "tokens of the step, 1:33:03",
        "100": "active parameters in billions, 1:38:22",
        "300": "the board's, 1:38:22",
    },
    "6.5": {"4.6": "a name of Claude"},
}


def tool(name):
    """A module of tools/, by its file."""
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- what the cards say -----------------------------------------------------------------------------------------------


def test_all_cards_of_the_lecture_are_there_once_and_in_order():
    assert [card.id for card in flashcards.of_lecture()] == IDS and len(IDS) == 27


def test_ids_and_questions_are_unique():
    for values in ([card.id for card in ALL], [card.question for card in ALL]):
        assert [value for value, count in Counter(values).items() if count > 1] == []


@pytest.mark.parametrize("id", ORACLES)
def test_numbers_are_those_of_plain_arithmetic(id):
    for expected in ORACLES[id]:
        assert expected in CARDS[id].answer, CARDS[id].answer


def test_sparsity_is_near_the_published_counts():
    [told] = re.findall(r"DeepSeek-V3 ([\d.]+) times too few", CARDS["1.5"].answer)
    assert float(told) == pytest.approx(671 / 37, rel=0.02)
    [batch] = re.findall(r"asks for ([\d,]+) on GB200", CARDS["1.8"].answer)
    assert float(batch.replace(",", "")) == pytest.approx(312.5 * 671 / 37, rel=0.02)


@pytest.mark.parametrize("id", SAYS)
def test_an_answer_says_where_the_published_card_is_wrong_or_silent(id):
    assert SAYS[id] in CARDS[id].answer


@of_lecture
def test_numbers_are_computed_or_quoted(card):
    """A digit typed into a text is listed above with where it is quoted from, and nothing is listed in vain."""
    text = flashcards._SLOT.sub(" ", f"{card.asks} {card.answers}")
    text = re.sub(r"\b[A-Za-z]+-?[A-Za-z]*\d+\w*", " ", text)  # names such as FP8, H100 and DeepSeek-V3
    assert set(re.findall(r"\d[\d,.]*\d|\d", text)) == set(QUOTED.get(card.id, {}))


@every
def test_nothing_is_left_to_fill_in(card):
    plain = re.sub(r"\\[(\[].*?\\[)\]]", " ", card.question + card.answer, flags=re.S)
    assert "{" not in plain and "}" not in plain and "$$" not in plain and "\\" not in plain
    assert card.question.strip() and card.answer.strip()


@every
def test_all_mathematics_is_printed_from_the_formulas(card):
    """Every equation is a registered formula's and every letter one of the notation: none was typed."""
    names = {latex(notation.symbol(name)) for name in notation.table()}
    text = unescape(card.question + card.answer)
    assert set(re.findall(r"\\\[(.*?)\\\]", text, re.S)) == {formula.latex for formula in card.formulas}
    assert {formula.name for formula in card.formulas} <= set(formulas)
    assert set(re.findall(r"\\\((.*?)\\\)", text)) <= names


@every
def test_no_question_holds_its_answer(card):
    for formula in card.formulas:
        assert latex(formula.expr) not in card.question
    told = [oracle for oracle in ORACLES.get(card.id, ()) if oracle in card.question]
    assert told == [] and card.answer not in card.question


@every
def test_a_card_names_a_lesson_and_a_source(card):
    assert page(card.lesson).exists()
    assert 'href="http' in flashcards._origin(card.origin) or flashcards._origin(card.origin) == "Derived"


@every
def test_every_letter_of_an_answer_is_explained(card):
    """On the card itself: in its question or under its answer."""
    told = card.question + flashcards.legend(card)
    for formula in card.formulas:
        for symbol in formula.eq.free_symbols:
            row = notation.lookup(symbol.name)
            assert f"\\({latex(symbol)}\\)" in told and unescape(row.description)[1:] in unescape(told)


# --- the summary cards ------------------------------------------------------------------------------------------------


def printed(lesson):
    """What a page's call of `cards` is given, by running its imports and the call."""
    text, seen = page(lesson).read_text("utf8"), []
    lines = "\n".join(re.findall(r"^from blackboard\S* import .*$", text, re.M))
    space = {}
    exec(lines, space)  # the page's own lines
    exec("\n".join(re.findall(r"^cards\(.*\)$", text, re.M)), space | {"cards": lambda *given: seen.extend(given)})
    return seen


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lessons_summary_cards_are_all_in_the_deck(lesson):
    shown = printed(lesson)
    assert shown and list(flashcards.shown(lesson)) == shown
    if lesson in flashcards.lessons():
        assert {formula.name for formula in shown} <= set(CARDS)


@cases("card", flashcards.of_lessons(), ids=lambda card: card.id)
def test_a_summary_question_gives_what_the_answer_is_made_of_and_not_what_it_says(card):
    """Its front names every symbol of the right side; the sentence that tells the formula in words is behind it."""
    [formula] = card.formulas
    given = unescape(card.question.partition("flashcard-given")[2])
    named = {
        name
        for name, row in notation.table().items()
        if f"\\({latex(notation.symbol(name))}\\) {row.description}" in given
    }
    assert named == {symbol.name for symbol in formula.expr.free_symbols}
    assert formula.description[1:] not in unescape(card.asks) and formula.description[1:] in card.answers


def test_no_lead_is_left_without_its_card():
    assert set(flashcards.LEADS) <= {card.id for card in flashcards.of_lessons()}


def test_units_are_written_as_one_writes_them():
    for card in ALL:
        assert "*" not in re.sub(
            r"\\[(\[].*?\\[)\]]", "", card.question + card.answer + flashcards.legend(card), flags=re.S
        )


def test_every_lesson_of_the_contents_has_summary_cards():
    contents = re.findall(r"file: book/(\w+)", (ROOT / "_toc.yml").read_text("utf8"))
    assert list(flashcards.lessons()) == [name for name in contents if name in LESSONS]


def test_a_new_lesson_is_found_by_itself(tmp_path, monkeypatch):
    (tmp_path / "book").mkdir()
    (tmp_path / "_toc.yml").write_text("- file: book/fresh\n- file: exercises/fresh\n- file: book/plain\n")
    (tmp_path / "book" / "plain.md").write_text("# Plain\n")
    text = (
        "# Fresh: a lesson\n\nfrom blackboard.lessons.batching import equations as eq, figures\n"
        "from blackboard.lessons.racks import equations as racks\n\ncards(\n    eq.step_time,\n    racks.leaving,\n)\n"
    )
    (tmp_path / "book" / "fresh.md").write_text(text)
    monkeypatch.setattr(flashcards, "ROOT", tmp_path)
    for cached in (flashcards._source, flashcards.of_lessons):
        monkeypatch.setattr(flashcards, cached.__name__, cached.__wrapped__)
    assert flashcards.lessons() == ("fresh",) and flashcards.title("fresh") == "Fresh"
    assert [card.id for card in flashcards.of_lessons()] == ["batching.step_time", "racks.leaving"]


def test_the_build_forgets_its_results_when_a_lesson_prints_other_cards(tmp_path, monkeypatch):
    """A page whose cells read other pages is run again when their cards change, not when their words do."""
    notebooks = tool("notebooks")
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    (tmp_path / "book").mkdir()
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")

    def state(text):
        """What a result that was made with this text of a page is kept under."""
        (tmp_path / "book" / "index.md").write_text(text)
        for cached in (notebooks.summary_cards, notebooks.for_all):
            cached.cache_clear()
        return notebooks.state_of(["book/index.md"])

    first = state("# Title\n\nWords.\n\ncards(a.b,\n  a.c)\n")
    assert state("# Title\n\nOther words.\n\ncards(a.b,\n  a.c)\n") == first
    assert state("# Title\n\nWords.\n\ncards(a.b,\n  a.d)\n") != first
    assert state("# Other title\n\nWords.\n\ncards(a.b,\n  a.c)\n") != first
    assert state("# Other title\n\nWords.\n\ncards(a.b,\n  a.c)\n") != first


# --- the page ---------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Start tags with their attributes; fails where tags do not nest."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in ("img", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def whole():
    """The HTML of all the page's cells, in the order of the page."""
    cells = re.findall(r"^flashcards\.(\w+)\(([\d, ]*)\)$", page("flashcards").read_text("utf8"), re.M)
    return "".join(getattr(flashcards, name)(*map(int, re.findall(r"\d", numbers))) for name, numbers in cells)


@functools.cache
def twice():
    """Summary cards whose equation an answer of the lecture's cards prints, found in the answers' TeX."""
    above = set(re.findall(r"\\\[(.*?)\\\]", " ".join(unescape(card.answer) for card in flashcards.of_lecture()), re.S))
    return {card.id for card in flashcards.of_lessons() if card.formulas[0].latex in above}


def test_the_page_shows_every_equation_once_with_its_question_outside_the_fold(whole):
    ids = [attributes["id"] for tag, attributes in Tags(whole).found if attributes.get("class") == "flashcard"]
    seen = [card for card in ALL if card.id not in twice()]
    assert len(ALL) - len(seen) > 5 and ids == [f"card-{re.sub('[._]', '-', card.id)}" for card in seen]
    for card in seen:
        assert f"<summary>{card.asked}</summary>" in whole


@every
def test_a_fold_lists_every_letter_of_its_answer(card):
    listed = flashcards._folded(card).partition("letter-list")[2]
    for symbol in {symbol for formula in card.formulas for symbol in formula.eq.free_symbols}:
        row = notation.lookup(symbol.name)
        assert f"\\({latex(symbol)}\\)" in listed and row.description in unescape(listed)


def test_ids_are_unique_and_pictures_say_what_they_show(whole):
    found = Tags(whole).found
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    alts = [attributes["alt"] for tag, attributes in found if tag == "img"]
    assert len(alts) == sum(bool(card.figure) for card in flashcards.of_lecture()) and all(
        len(alt) > 100 for alt in alts
    )


def test_the_deck_is_written_for_the_page_that_offers_it_and_for_no_other(whole, monkeypatch):
    html_fixes, written = tool("html_fixes"), []
    monkeypatch.setattr(html_fixes, "write_deck", written.append)
    monkeypatch.setattr(html_fixes, "load_problems", lambda *_: None)
    loaded = {"add_js_file": lambda *_, **__: None, "add_css_file": lambda *_, **__: None}
    app = SimpleNamespace(outdir=Path("site"), **loaded)
    html_fixes.mend_page(app, "book/racks", "", {"body": "<p>Words.</p>"}, None)
    assert written == []
    html_fixes.mend_page(app, "book/flashcards", "", {"body": str(whole)}, None)
    assert written == [Path("site/_static")]


def test_links_lead_somewhere(whole, tmp_path):
    """Lessons to pages of the book, the deck and its figures to files that the build writes."""
    html_fixes = tool("html_fixes")
    assert html_fixes.DECK in whole
    html_fixes.write_deck(tmp_path / "_static")
    targets = [
        attributes.get("href") or attributes.get("src") for tag, attributes in Tags(whole).found if tag in ("a", "img")
    ]
    for target in {target for target in targets if not target.startswith("https://")}:
        made = (
            (tmp_path / "book" / target).resolve() if target.startswith("../") else page(target.removesuffix(".html"))
        )
        assert made.exists(), target
    times = re.findall(r't=(\d+)">(\d):(\d\d):(\d\d)</a>', unescape(whole))
    assert len(times) > 27 and all(int(t) == 3600 * int(h) + 60 * int(m) + int(s) for t, h, m, s in times)


@pytest.fixture
def stage(visit, server):
    """The part of the page that shows one card."""
    return visit(f"{server}/book/flashcards.html").page.get_by_role("region", name="Practice")


def test_the_stage_asks_each_card_until_it_was_known(stage):
    """By keyboard. One to see again comes after the others; one that was known does not, also on the next visit."""
    asked = lambda: stage.locator(".flashcard-question").inner_text()
    page, first = stage.page, asked()
    assert stage.locator(".flashcard-answer").count() == 0
    stage.get_by_role("button", name="Show answer").press("Enter")
    assert stage.locator(".flashcard-answer").is_visible()
    page.keyboard.press("1")  # again
    second = asked()
    page.keyboard.press("Enter")
    page.keyboard.press("2")  # knew it
    assert len({first, second, asked()}) == 3
    page.reload()
    assert asked() == first and "Card 1 · 1 of" in stage.inner_text()
    stage.get_by_role("button", name="Skip").click()
    assert asked() not in (first, second) and "Card 3 · 1 of" in stage.inner_text()
    known = [f"card-{re.sub('[._]', '-', card.id)}" for card in ALL]
    page.evaluate("known => localStorage.setItem('cards:known', JSON.stringify(known))", known)
    page.reload()
    assert asked() == "You knew every card."
    stage.get_by_role("button", name="Start over").click()
    assert asked() == first


@pytest.mark.parametrize("width", [390, 1366])
def test_an_answer_opens_below_its_question_which_stays_in_sight(stage, width):
    page, tops = stage.page, []
    page.set_viewport_size({"width": width, "height": 700})
    for _ in range(3):
        stage.get_by_role("button", name="Show answer").evaluate("button => button.click()")  # no scrolling on the way
        tops.append(stage.locator(".flashcard-question").bounding_box()["y"])
        buttons = stage.locator(".practice-buttons").bounding_box()
        assert buttons["y"] + buttons["height"] <= 701
        page.evaluate("scrollBy({top: 150, behavior: 'instant'})")
        stage.get_by_role("button", name="Knew it").evaluate("button => button.click()")
    assert all(48 < top < 500 for top in tops), tops


def test_on_paper_there_is_the_list_alone(stage):
    stage.page.emulate_media(media="print")
    assert not stage.is_visible() and stage.page.locator("details.flashcard").first.is_visible()


# --- the deck ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deck(tmp_path_factory):
    """The deck as a file."""
    return flashcards.write(tmp_path_factory.mktemp("deck"), 1_700_000_000)


def rows(deck, query):
    """Rows of the database inside a deck."""
    path = deck.with_suffix(".anki2")
    path.write_bytes(zipfile.ZipFile(deck).read("collection.anki2"))
    database = sqlite3.connect(path)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def notes(deck):
    """Notes by the id of their card: guid, fields by name, tags."""
    found = {}
    for guid, joined, tags in rows(deck, "SELECT guid, flds, tags FROM notes"):
        fields = dict(zip(flashcards.FIELDS, joined.split("\x1f"), strict=True))
        found[fields["Id"]] = guid, fields, tags.split()
    return found


def test_the_deck_is_whole(deck):
    archive = zipfile.ZipFile(deck)
    assert archive.testzip() is None
    assert rows(deck, "PRAGMA integrity_check") == [("ok",)]
    assert list(notes(deck)) == [card.id for card in ALL]
    assert rows(deck, "SELECT count(*) FROM cards") == rows(deck, "SELECT count(*) FROM notes") == [(len(ALL),)]


def test_every_note_has_its_fields_and_tag(deck):
    for id, (_, fields, tags) in notes(deck).items():
        empty = {name for name, text in fields.items() if not text.strip()}
        assert empty <= ({"Symbols"} if CARDS[id].formula or not CARDS[id].formulas else set()), id
        assert set(tags) == {f"blackboard::{CARDS[id].lesson}", *([flashcards.TWICE] if id in twice() else [])}
        assert ("youtube.com" in fields["Source"]) == bool(CARDS[id].origin.at)
        Tags(fields["Answer"]), Tags(fields["Source"])


def test_cards_stand_in_two_decks_in_their_order(deck):
    [(text,)] = rows(deck, "SELECT decks FROM col")
    names = {int(id): each["name"] for id, each in json.loads(text).items()}
    placed = rows(
        deck, "SELECT cards.did, cards.due, notes.flds FROM cards JOIN notes ON cards.nid = notes.id ORDER BY cards.id"
    )
    found = [(names[did], due, fields.split("\x1f")[-1]) for did, due, fields in placed]
    wanted = [("The Math Behind LLMs::Lecture", n, card.id) for n, card in enumerate(flashcards.of_lecture(), 1)]
    assert found == wanted + [
        ("The Math Behind LLMs::Summary", n, card.id) for n, card in enumerate(flashcards.of_lessons(), 1)
    ]


def test_mathematics_is_in_ankis_delimiters(deck):
    for id, (_, fields, _) in notes(deck).items():
        text = " ".join(fields.values())
        marks = re.findall(r"\\[()\[\]]", text)
        assert len(marks) % 2 == 0 and set(zip(marks[::2], marks[1::2])) <= {("\\(", "\\)"), ("\\[", "\\]")}, id
        for mathematics in re.findall(r"\\\((.*?)\\\)|\\\[(.*?)\\\]", text, re.S):
            inner = "".join(mathematics)
            assert inner.count("{") == inner.count("}") and "$" not in inner, id


def test_media_are_there_and_used(deck):
    archive = zipfile.ZipFile(deck)
    media = json.loads(archive.read("media"))
    used = set(re.findall(r'<img src="([^"]+)"', " ".join(fields["Answer"] for _, fields, _ in notes(deck).values())))
    assert used == set(media.values()) == {path.name for path in deck.parent.glob("*.svg")}
    assert sorted(media) == sorted(name for name in archive.namelist() if name.isdigit())
    for number, name in media.items():
        assert archive.read(number) == (deck.parent / name).read_bytes() and b"<svg" in archive.read(number)


def test_the_same_cards_give_the_same_bytes(deck, tmp_path):
    assert flashcards.write(tmp_path, 1_700_000_000).read_bytes() == deck.read_bytes()
    assert {entry.date_time[0] for entry in zipfile.ZipFile(deck).infolist()} == {1980}, (
        "the hour of the build is in the archive"
    )


def test_a_note_keeps_its_identity_when_its_text_changes(deck, tmp_path, monkeypatch):
    """Anki then brings the note up to date, because it is newer, instead of adding another."""
    first, *rest = flashcards.of_lecture()
    changed = dataclasses.replace(first, answers="Something else.")
    monkeypatch.setattr(flashcards, "of_lecture", lambda: (changed, *rest))
    later = flashcards.write(tmp_path, 1_800_000_000)
    before, after = notes(deck), notes(later)
    assert {id: note[0] for id, note in before.items()} == {id: note[0] for id, note in after.items()}
    assert len({note[0] for note in before.values()}) == len(ALL)
    assert after["1.1"][1]["Answer"] == "Something else." != before["1.1"][1]["Answer"]
    assert rows(deck, "SELECT DISTINCT mod, mid FROM notes")[0] < rows(later, "SELECT DISTINCT mod, mid FROM notes")[0]
    assert [json.loads(text).keys() for (text,) in rows(deck, "SELECT models FROM col")] == [
        json.loads(text).keys() for (text,) in rows(later, "SELECT models FROM col")
    ]


def test_what_identifies_the_deck_never_changes():
    """These went out to readers: another number would give them every card twice."""
    import genanki

    assert (flashcards.MODEL_ID, flashcards.DECK_IDS) == (
        1_718_420_593,
        {"Lecture": 1_718_420_611, "Summary": 1_718_420_647},
    )
    assert genanki.guid_for("blackboard", "1.1") == "f4[r&SOJ.<"


def test_the_deck_is_dated_by_the_release_or_as_asked(monkeypatch, tmp_path):
    """Copies of one commit have files of other dates, and are built at other hours."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert flashcards.changed() == 1_700_000_000
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    day = whole_book.edition()["date"]
    assert datetime.datetime.fromtimestamp(flashcards.changed(), datetime.UTC).date() == day
    made = flashcards.write(tmp_path / "now").read_bytes()
    monkeypatch.setattr(time, "time", lambda: 2_000_000_000.0)
    assert flashcards.write(tmp_path / "later").read_bytes() == made
