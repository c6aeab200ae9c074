"""Flashcards: the lecture's 27 in our words, and a card for each formula that a lesson prints as a summary card.

Read on a page of the book or learned in Anki. Numbers and equations of an answer are filled in from the formulas; what
the published cards have wrong, or take for granted, the answer says.
"""

from __future__ import annotations

import html
import importlib
import itertools
import json
import os
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import yaml
from msgspec import Struct

from blackboard import catalogue, notation
from blackboard.catalogue.datafile import load
from blackboard.catalogue.running_case import RUNNING
from blackboard.charts import style
from blackboard.formula import DERIVED, Formula, Source, formulas, lecture
from blackboard.lessons.batching import equations as step
from blackboard.lessons.batching import numbers as batching
from blackboard.lessons.overtraining import equations as training
from blackboard.lessons.overtraining import numbers as overtraining
from blackboard.lessons.overtraining import results as model_results
from blackboard.lessons.pipelining import numbers as pipelining
from blackboard.lessons.pricing import equations as pricing_equations
from blackboard.lessons.pricing import numbers as pricing
from blackboard.lessons.racks import numbers as racks
from blackboard.lessons.sparsity import equations as sparsity_equations
from blackboard.lessons.sparsity import numbers as sparsity
from blackboard.notation import latex
from blackboard.page.summary import Page, letter_list
from blackboard.text import markup
from blackboard.units import pretty, significant, write_unit

ROOT = Path(__file__).resolve().parents[3]
DECK = "the-math-behind-llms.apkg"
HERE = "../_static/flashcards/"  # from the page to the deck and its figures
TWICE = "blackboard::shown-in-lecture"  # a tag
DEARER = 3, 5  # output over input, 1:41:24
_SLOT = re.compile(r"\{([=$]?)([\w.]+)\}")


@dataclass(frozen=True)
class Card:
    """A question and its answer; both are texts with {numbers}, {$symbols} and {=formulas} to be filled in."""

    id: str
    asks: str
    answers: str
    lesson: str
    origin: Source
    numbers: Mapping[str, str] = field(default_factory=dict)
    figure: str = ""  # a lesson's, as "batching.latency"
    formula: Formula | None = None  # a summary card's; the question then lists its symbols

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas that the answer shows."""
        return tuple(formulas[name] for kind, name in _SLOT.findall(self.answers) if kind == "=")

    @property
    def asked(self) -> str:
        """HTML, mathematics in TeX between \\( and \\)."""
        return markup(_filled(self.asks, self.numbers))

    @property
    def question(self) -> str:
        """The same as Anki shows it, with the symbols of a summary card's formula."""
        given = (
            f'<span class="flashcard-given">Given: {explained(_given(self.formula))}.</span>' if self.formula else ""
        )
        return self.asked + given

    @property
    def answer(self) -> str:
        """HTML, as the question; the figure is not in it."""
        return markup(_filled(self.answers, self.numbers))


def _filled(text: str, numbers: Mapping[str, str]) -> str:
    """The text with its slots filled; KeyError for a name that nothing has."""
    show = {
        "=": lambda name: f"$${formulas[name].latex}$$",
        "$": lambda name: f"${latex(notation.symbol(name))}$",
        "": lambda name: numbers[name],
    }
    return _SLOT.sub(lambda slot: show[slot[1]](slot[2]), text)


# --- the lecture's cards ----------------------------------------------------------------------------------------------


class Asked(Struct, frozen=True, kw_only=True, eq=False, forbid_unknown_fields=True):
    """A row of flashcards.yaml: a card before its numbers are filled in."""

    noun: ClassVar[str] = "flashcard"
    id: str
    lesson: str
    time: str  # of the lecture, h:mm:ss
    asks: str
    answers: str
    figure: str = ""

    def card(self, numbers: Mapping[str, str]) -> Card:
        """The card with numbers for its slots."""
        return Card(self.id, self.asks, self.answers, self.lesson, lecture(self.time), numbers, self.figure)


def _hardware_and_batch() -> dict[str, str]:
    """Numbers of the lecture's first two parts and of the racks."""
    chip, found = catalogue.chip("h100-sxm"), {**batching.hardware(), **batching.workload(), **batching.train()}
    drains = [step.drain_time(row) for row in catalogue.chips() if row.confirmed]
    own = {
        "flop": str(notation.lookup("flop_per_param").value),
        "rubin": pretty(step.drain_time(**batching.RUBIN), "s"),
        "drain_least": pretty(min(drains), "s", 2),
        "drain_most": pretty(max(drains), "s", 2),
        "c_b200": f"{catalogue.chip('b200').hardware_constant('fp8'):.0f}",
        "nominal": f"{chip.flops('fp8') / chip.bandwidth:.0f}",
        "critical": significant(step.critical_batch(RUNNING)),
        "kink": significant(step.crossing(RUNNING), 4),  # as in the figure
        "inverted": f"{sparsity.ABOUT_300 / sparsity_equations.expert_sparsity(**sparsity.BOARD_EXPERTS):g}",
    }
    return found | racks.boundary() | racks.deployed() | sparsity.hardware() | sparsity.batches() | own


def _data_and_prices() -> dict[str, str]:
    """Numbers of over-training and of prices."""
    forward, backward = (notation.lookup(name).value for name in ("flop_per_param", "flop_backward"))
    served = training.balanced_tokens(model_results.BOARD | model_results.CARD)
    stepped = catalogue.price(pricing.STEPPED)
    high, low = (f"{pricing_equations.decode_mfu(input_price=1, output_price=ratio):.0%}" for ratio in DEARER)
    found = overtraining.card_costs() | overtraining.tokens()
    found |= pricing.step_of_price() | pricing.cards() | pricing.places() | pricing.of_flashcards()
    return found | {
        "flop": str(forward),
        "backward": str(backward),
        "trained": str(forward + backward),
        "rl_most": str(2 * forward + backward),
        "balanced": f"{significant(served / 1e12)} trillion",
        "input_more": f"{stepped.above.input_multiplier - 1:.0%}",
        "kv_v3": f"{RUNNING.symbols()['kv_bytes_per_token']:,.0f}",
        "mfu_high": high,
        "mfu_low": low,
        "c_read": pretty(catalogue.price(pricing.CARD).usd_per_Mtok.cached_read, "USD", exact=True),
        **{
            f"kv_{width}": f"{pricing_equations.kv_implied(**_three_hundred(times)):,.0f}"
            for width, times in (("fp8", 1), ("fp4", 2), ("bf16", 0.5))
        },
    }


def _three_hundred(times: float) -> dict[str, float]:
    """The lecture's card: 300 multiply-adds for each byte, whatever the bandwidth; so many times that in a narrower
    format.
    """
    return pricing.BOARD | {"flops": times * pricing.BOARD["flops"]}


@cache
def of_lecture() -> tuple[Card, ...]:
    """The 27 cards of the lecture, in its order."""
    first, second = _hardware_and_batch(), _data_and_prices()
    memory = {**pipelining.idling(), **pipelining.board_memory()}
    numbers = (
        dict.fromkeys(("batching", "sparsity", "racks"), first)
        | dict.fromkeys(("overtraining", "pricing"), second)
        | {"pipelining": memory}
    )
    return tuple(row.card(numbers.get(row.lesson, {})) for row in load(Asked).values())


# --- summary cards ----------------------------------------------------------------------------------------------------


@cache
def _source(lesson: str) -> str:
    """The text of a lesson's page; nothing where the book is not at hand."""
    page = ROOT / "book" / f"{lesson}.md"
    return page.read_text("utf8") if page.exists() else ""


def lessons() -> tuple[str, ...]:
    """The lessons, which have exercises, in the order of the book's contents."""
    contents = ROOT / "_toc.yml"
    names = re.findall(r"file: exercises/(\w+)$", contents.read_text("utf8"), re.M) if contents.exists() else []
    return tuple(name for name in names if shown(name))


def title(lesson: str) -> str:
    """A lesson's heading up to its colon."""
    found = re.search(r"^# ([^:\n]+)", _source(lesson), re.M)
    return found[1] if found else lesson.capitalize()


def shown(lesson: str) -> tuple[Formula, ...]:
    """The formulas that a lesson's page prints as summary cards, in their order: the arguments of its calls of
    `cards`.
    """
    text = _source(lesson)
    out: list[Any] = []
    imports = re.findall(r"^from (blackboard[\w.]*) import (.+)$", text, re.M)
    modules = {
        (each.split(" as ") * 2)[1].strip(): f"{package}.{each.split(' as ')[0].strip()}"
        for package, names in imports
        for each in names.split(",")
    }
    for call in re.findall(r"^(?:summary\.)?cards\((.*?)\)$", text, re.M | re.S):
        for module, name in re.findall(r"(\w+)\.(\w+)", call):
            found = getattr(importlib.import_module(modules[module]), name)
            out += [found] if isinstance(found, Formula) else found  # or a tuple of them, with a star
    return tuple(out)


# what a question must say beside its symbol's meaning; what a summary card says of its formula stands in the answer
LEADS = {
    "pipelining.token_time": "In a pipeline, where no micro-batch waits for another.",
    "pipelining.idle_zero_bubble": "Gradients of weights fill idle time. No device holds more than 1F1B's fullest.",
    "pipelining.parallel_weight_time": "A pipeline of several stages.",
    "overtraining.law_loss": "By the law that Chinchilla's paper fits,",
    "overtraining.decode_flop": "In a large batch, where loading counts as the compute that it delays.",
    "reversibility.reversible": "A reversible network of two streams.",
    "speculation.speedup_free": "Where verifying is free,",
    "paging.hit_rate_turns": "Each turn of a conversation sends the whole context again, and nothing is thrown out.",
    "corpus.data_worth": "A pool of text read several times.",
    "corpus.filtered_worth": "The best share of a pool, read several times.",
}


def _summary(formula: Formula, lesson: str) -> Card:
    """A summary card turned into a question, for the symbol that its formula gives."""
    row = notation.lookup(formula.symbol.name)
    description = formula.description[0].upper() + formula.description[1:]
    unit = "A pure number." if formula.unit == "1" else f"Unit: {write_unit(formula.unit)}."
    holds = f" Holds if: {'; '.join(formula.assumes)}." if formula.assumes else ""
    lead = LEADS.get(formula.name, "")
    asks = f"{lead} {'what' if lead.endswith(',') else 'What'} is {{${row.name}}}, {_lower(row.description)}?".strip()
    return Card(
        formula.name, asks, f"{{={formula.name}}}{description}. {unit}{holds}", lesson, formula.source, formula=formula
    )


def _given(formula: Formula) -> list:
    """The symbols that a formula computes from."""
    return sorted(formula.expr.free_symbols, key=str)


def _named(formulas: Iterable[Formula]) -> dict:
    """The symbols of formulas, each once: what is computed, and from what."""
    return dict.fromkeys(symbol for formula in formulas for symbol in (formula.symbol, *_given(formula)))


def _lower(text: str) -> str:
    """A meaning within a sentence; names such as KV stay as they are."""
    return text[0].lower() + text[1:] if text[1:2].islower() else text


@cache
def of_lessons() -> tuple[Card, ...]:
    """A card for every summary card of the book; one that two lessons print is the first one's."""
    found: dict[str, Card] = {}
    for lesson in lessons():
        for formula in shown(lesson):
            found.setdefault(formula.name, _summary(formula, lesson))
    return tuple(found.values())


@cache
def shown_above() -> frozenset[str]:
    """Summary cards whose formula an answer of the lecture's cards shows already, by id."""
    return frozenset(formula.name for card in of_lecture() for formula in card.formulas) & {
        card.id for card in of_lessons()
    }


# --- the page ---------------------------------------------------------------------------------------------------------


def head() -> Page:
    """Where the page's script shows one card at a time."""
    return Page('<div class="flashcard-stage"></div>')


def deck() -> Page:
    """The deck to download, and why it has more cards than the page."""
    lecture, summary, twice = len(of_lecture()), len(of_lessons()), len(shown_above())
    return Page(
        f'<p><a href="{HERE}{DECK}" download>Download the Anki deck</a>: {lecture + summary} cards, {lecture} of the'
        f" lecture and {summary} for summaries. This page has {lecture + summary - twice}: {twice} summary cards are"
        " left out, because another answer shows their equation. In the deck they have the tag"
        f" <code>{TWICE}</code>, by which you can suspend them.</p>"
    )


def part(*numbers: int) -> Page:
    """The cards of parts of the lecture."""
    return Page(_list([card for card in of_lecture() if int(card.id.partition(".")[0]) in numbers]))


def summaries() -> Page:
    """The summary cards of all lessons that no card of the lecture asks for, a heading for each."""
    own = {
        lesson: [card for card in of_lessons() if card.lesson == lesson and card.id not in shown_above()]
        for lesson in lessons()
    }
    return Page(
        "".join(
            f'<h3 id="summary-{lesson}">{html.escape(title(lesson))}</h3>{_list(cards)}'
            for lesson, cards in own.items()
        )
    )


def _list(cards: list[Card]) -> str:
    """Cards behind a line that opens their questions."""
    counted = f"{len(cards)} card{'s' if len(cards) > 1 else ''}"
    return f'<details class="flashcards"><summary>{counted}</summary>{"".join(map(_folded, cards))}</details>'


def _folded(card: Card) -> str:
    """A card of which only the question is seen until it is opened."""
    figure = ""
    if card.figure:
        figure = f'<img src="{HERE}{_file(card.figure)}" alt="{html.escape(_drawn(card.figure).alt)}" loading="lazy">'
    lesson = f'lesson <a href="{card.lesson}.html">{html.escape(title(card.lesson).lower())}</a>'
    symbols = (
        '<details class="flashcard-letters"><summary>Symbols</summary>' + letter_list(used) + "</details>"
        if (used := _named(card.formulas))
        else ""
    )
    return (
        '<details class="flashcard"'
        f' id="card-{re.sub("[._]", "-", card.id)}"><summary>{card.asked}</summary><div'
        f' class="flashcard-answer">{card.answer}{figure}</div>{symbols}<div'
        f' class="flashcard-source">{_origin(card.origin)}, {lesson}</div></details>'
    )


def _origin(origin: Source) -> str:
    """Where a card comes from, as a link."""
    if origin == DERIVED:
        return "Derived"
    name, address = _entry(origin.key)
    if origin.at:
        hours, minutes, seconds = map(int, origin.at.split(":"))
        return f'Lecture <a href="{html.escape(address)}&amp;t={3600 * hours + 60 * minutes + seconds}">{origin.at}</a>'
    return f'<a href="{html.escape(address)}">{html.escape(name)}</a>'


@cache
def _bibliography() -> Any:
    """The entries of the bibliography, by key."""
    from pybtex.database import parse_file

    return parse_file(str(ROOT / "book" / "references.bib")).entries


def _entry(key: str) -> tuple[str, str]:
    """Title and address of an entry of the bibliography."""
    fields = _bibliography()[key].fields
    return re.sub(r"[{}]", "", fields["title"]), fields["url"]


# --- the deck ---------------------------------------------------------------------------------------------------------

MODEL_ID, DECK_IDS = (
    1_718_420_593,
    {"Lecture": 1_718_420_611, "Summary": 1_718_420_647},
)  # never to change: Anki knows its own by them
NAME = "The Math Behind LLMs"
FIELDS = ("Question", "Answer", "Symbols", "Source", "Id")
BACK = (
    '{{FrontSide}}<hr id="answer">{{Answer}}{{#Symbols}}<p class="small">{{Symbols}}</p>{{/Symbols}}<p'
    ' class="small">{{Source}}</p>'
)
CSS = (
    ".card { font-family: sans-serif; font-size: 20px; line-height: 1.5; max-width: 40em; margin: 0 auto; padding: 0"
    " 1em; } .small, .flashcard-given { font-size: 14px; } .flashcard-given { display: block; } img { display: block;"
    " max-width: 100%; margin: 1em auto 0; background: white; }"
)


@cache
def _drawn(name: str):
    """A lesson's figure by its name."""
    import matplotlib.pyplot as plt

    lesson, function = name.split(".")
    style.use()
    figure = getattr(importlib.import_module(f"blackboard.lessons.{lesson}.figures"), function)()
    plt.close(figure)
    return figure


@cache
def _svg(name: str) -> bytes:
    """A figure's picture, drawn once: drawn again, the same figure may come out a little different."""
    return style.svg(_drawn(name)).encode()


def _file(figure: str) -> str:
    """The name of a figure's file; the media of all decks lie in one folder."""
    return f"blackboard-{figure.replace('.', '-')}.svg"


def legend(card: Card) -> str:
    """What the symbols of an answer mean, with their units; nothing where the question says it."""
    return explained(_named(() if card.formula else card.formulas))


def explained(symbols: Iterable) -> str:
    """Symbols with their meanings and units."""
    rows = ((symbol, notation.lookup(symbol.name)) for symbol in symbols)
    return "; ".join(
        f"\\({latex(symbol)}\\) {html.escape(row.description)}"
        + (f" ({html.escape(write_unit(row.unit))})" if row.unit != "1" else "")
        for symbol, row in rows
    )


def _fields(card: Card) -> list[str]:
    """The fields of a card's note."""
    figure = f'<img src="{_file(card.figure)}" alt="{html.escape(_drawn(card.figure).alt)}">' if card.figure else ""
    source = f"{_origin(card.origin)}, lesson {html.escape(title(card.lesson).lower())}"
    return [card.question, card.answer + figure, legend(card), source, card.id]


def _tags(card: Card) -> list[str]:
    """The lesson, and whether the other deck shows the same equation."""
    return [f"blackboard::{card.lesson}", *([TWICE] if card.id in shown_above() else [])]


def _decks() -> list:
    """The two decks with their notes, in the order in which they are to be learned."""
    import genanki

    sides = [{"name": "Card", "qfmt": "{{Question}}", "afmt": BACK}]
    model, out = genanki.Model(MODEL_ID, NAME, [{"name": name} for name in FIELDS], sides, css=CSS), []
    for name, cards in (("Lecture", of_lecture()), ("Summary", of_lessons())):
        deck = genanki.Deck(
            DECK_IDS[name], f"{NAME}::{name}", "From the executable course on Reiner Pope's lecture. Text: CC BY 4.0."
        )
        for place, card in enumerate(cards, 1):
            deck.add_note(
                genanki.Note(
                    model, _fields(card), tags=_tags(card), guid=genanki.guid_for("blackboard", card.id), due=place
                )
            )
        out.append(deck)
    return out


def changed() -> int:
    """When the cards last changed, s since 1970: the release's date, which is the same in every copy of a commit, or
    SOURCE_DATE_EPOCH. Anki takes in only what is newer.
    """
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(epoch)
    released = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))["date-released"]
    return int(datetime(released.year, released.month, released.day, tzinfo=UTC).timestamp())


def write(folder: Path, timestamp: int | None = None) -> Path:
    """Write the deck and its figures, which the page shows too, into a folder; the same bytes for the same
    timestamp.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = {_file(card.figure): _svg(card.figure) for card in of_lecture() if card.figure}
    for name, content in figures.items():
        (folder / name).write_bytes(content)
    numbered = {str(n): content for n, content in enumerate(figures.values())}
    listed = json.dumps(dict(enumerate(figures)))
    with zipfile.ZipFile(folder / DECK, "w", zipfile.ZIP_DEFLATED) as deck:
        for name, content in {
            "collection.anki2": _collection(changed() if timestamp is None else timestamp),
            "media": listed.encode(),
            **numbered,
        }.items():
            deck.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # with the date 1980-01-01
    return folder / DECK


def _collection(timestamp: int) -> bytes:
    """Anki's database. genanki writes it; its own `write_to_file` would date each entry and leave a file behind."""
    import genanki

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "collection.anki2"
        with closing(sqlite3.connect(file)) as database:
            genanki.Package(_decks()).write_to_db(database.cursor(), timestamp, itertools.count(timestamp * 1000))
            database.commit()
        return file.read_bytes()
