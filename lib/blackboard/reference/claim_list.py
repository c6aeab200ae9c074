"""What a claim is, and how its verdict follows from its numbers.

A claim has parts: a number as claimed, and what the course's formulas give for it. The verdict is computed from the two
each time it is asked for. Where it rests on a document instead, it is stated with the document. A sentence that
explains a verdict belongs to that verdict: if the numbers move and the verdict with them, the sentence is not shown.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct

from blackboard.catalogue import chip, measurement, model, price, source, tier
from blackboard.catalogue.datafile import UnknownId, load, near
from blackboard.units import factor, pretty, significant

WITHIN, NEAR = 0.2, 2.0  # "about" is a factor of 1.2: 20 % more, 17 % less; beyond a factor of two a number is wrong
EDGE = 0.05  # a range has room of its own: its ends count as passed from here on
EXACT = 0.01  # for products of numbers that the claim itself names


class Verdict(NamedTuple):
    """A verdict: its key in CSS and code, a mark that reads without colour, its words, and what it means."""

    key: str
    mark: str
    label: str
    explanation: str


HOLDS = Verdict(
    "holds",
    "✓",
    "holds",
    "every number is about what is claimed, or within one percent where the claim is exact arithmetic",
)
PART = Verdict("part", "◐", "holds in part", "some of its numbers hold and others do not")
ROUGH = Verdict(
    "near",
    "≈",
    "right to a factor",
    "no number holds, but all are within a factor of two, or of ten where the claim names an order of magnitude",
)
FAILS = Verdict("fails", "✗", "does not hold", "no number holds, and at least one is further off")
CONTRADICTED = Verdict("against", "≠", "contradicted", "the vendor, the paper or the lecture itself says otherwise")
OVERSTATED = Verdict("more", "↑", "says more than its source", "the source exists and says less")
CORRECTED = Verdict("mended", "✎", "corrected in the source", "it was wrong, and whoever said it has corrected it")
UNSOURCED = Verdict("nosource", "?", "no source found", "it may be true, but nothing that we found says so")
UNCHECKABLE = Verdict(
    "open", "–", "cannot be checked", "it names no number, date or measure that could be held against anything"
)
VERDICTS = (HOLDS, PART, ROUGH, FAILS, CONTRADICTED, OVERSTATED, CORRECTED, UNSOURCED, UNCHECKABLE)
COMPUTED = VERDICTS[:4]  # these follow from numbers and are never stated


# --- numbers ----------------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """One number of a claim: what it is of, as claimed (a number, a range, or a word), as found; base SI, shares with
    the unit "%".
    """

    of: str
    claimed: Any
    found: Any
    unit: str = "1"
    said: str = ""  # the claimed number in words, where the number alone would mislead

    @property
    def span(self) -> tuple[float, float]:
        """Least and most that the claim allows."""
        return self.claimed if isinstance(self.claimed, tuple) else (self.claimed, self.claimed)

    @property
    def ratio(self) -> float:
        """Found over claimed, 1 inside a claimed range; of words, 1 if they are the same, else infinite."""
        if isinstance(self.found, str):
            return 1.0 if self.found == self.claimed else float("inf")
        low, high = self.span
        return self.found / low if self.found < low else self.found / high if self.found > high else 1.0

    @property
    def off(self) -> float:
        """The factor by which it is off, up or down; 1 is right."""
        return max(self.ratio, 1 / self.ratio)

    def holds(self, within: float = WITHIN) -> bool:
        """Whether it is as claimed: off by a factor of 1 + within at most, exactly that included; less beyond the ends
        of a range.
        """
        return self.off <= 1 + (min(within, EDGE) if isinstance(self.claimed, tuple) else within) + 1e-9

    def describe(self, value: Any) -> str:
        """A value of this part in words; long times in minutes, hours or days."""
        if isinstance(value, str) or self.unit == "year":
            return str(value)
        for size, name in ((2 * 86_400, "day"), (3_600, "hour"), (90, "minute")):
            if self.unit == "s" and value >= size:
                return f"{significant(value / factor(name), 2, exact=True)} {name}s"
        if self.unit == "%":
            return f"{significant(100 * value, 3, exact=True)}%"
        return pretty(value, self.unit, 3, exact=True)

    @property
    def claim(self) -> str:
        """What is claimed, in words."""
        return self.said or (
            self.between(*self.claimed) if isinstance(self.claimed, tuple) else self.describe(self.claimed)
        )

    def between(self, low: Any, high: Any) -> str:
        """A range of values of this part in words: 10 to 20 TB."""
        (first, _, unit), last = self.describe(low).partition(" "), self.describe(high)
        return f"{first if unit == last.partition(' ')[2] else self.describe(low)} to {last}"

    @property
    def gap(self) -> str:
        """How found stands to claimed, in words: which side, and how far; nothing above a least that was claimed."""
        if isinstance(self.found, str):
            return "as claimed" if self.ratio == 1 else "not as claimed"
        beyond = isinstance(self.claimed, tuple)
        if self.unit == "year" or self.off < 1.005:
            return (
                ("" if math.isinf(self.span[1]) else "in the range" if beyond else "the same")
                if self.ratio == 1 or self.unit != "year"
                else "earlier"
                if self.ratio < 1
                else "later"
            )
        if self.said and self.off >= 1.5 and self.span[1] == 1 and self.unit == "1":
            return "not as claimed"  # a word was claimed, of which nothing is a multiple
        share = f"{abs(self.ratio - 1):.0%}"
        if self.ratio > 1:
            return (
                f"{share} {'above the range' if beyond else 'more'}"
                if self.off < 1.5
                else f"{significant(self.off, 2, exact=True)} times {'its upper end' if beyond else 'as much'}"
            )
        return (
            f"{share} {'below the range' if beyond else 'less'}"
            if self.off < 2
            else f"1/{significant(self.off, 2, exact=True)} of {'its lower end' if beyond else 'it'}"
        )


class Found(NamedTuple):
    """What a claim's computation gives: its parts, and further values for the sentence, base SI or words."""

    parts: tuple[Part, ...]
    values: Mapping[str, Any]


def found(*parts: Part, **values: Any) -> Found:
    """Parts of a claim, and values for its sentence by name."""
    return Found(parts, values)


def judge(parts: tuple[Part, ...], within: float = WITHIN, near: float = NEAR) -> Verdict:
    """The verdict that follows from the numbers."""
    if not parts:
        raise ValueError("no numbers to judge: state the verdict with its document")
    offs = [part.off for part in parts]
    good = [part.holds(within) for part in parts]
    if any(good):
        return HOLDS if all(good) else PART
    return ROUGH if max(offs) <= near + 1e-9 else FAILS


# --- sentences --------------------------------------------------------------------------------------------------------


class _Teller(string.Formatter):
    """Fills {name:3} with three digits, {name:2 s} with a unit, {name:%} with percent; words as they are."""

    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, str):
            return value
        if spec.endswith("%"):
            return f"{value:.{spec[:-1] or 0}%}"
        digits, _, unit = spec.partition(" ")
        return pretty(value, unit or "1", int(digits or 3), exact=True)


def fill(template: str, values: Mapping[str, Any]) -> str:
    """A sentence with its numbers; KeyError for a name that was not computed."""
    return _Teller().vformat(template, (), values)


# --- claims -----------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where the course treats a claim: a lesson, and a heading in it."""

    lesson: str
    heading: str

    @property
    def href(self) -> str:
        """A link from a page beside the lesson."""
        return f"{self.lesson}.html#{slug(self.heading)}"


def slug(heading: str) -> str:
    """The anchor that Sphinx gives a heading."""
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", heading.lower().replace("’", "'")))


@dataclass(frozen=True)
class Claim:
    """One claim of the lecture or of an article about it, with all that its verdict needs."""

    id: str
    group: str
    name: str  # a few words, to point at it
    statement: str  # in our words
    who: tuple[str, ...]  # who says it, and where: statements of statements.yaml, each a source and a place in it
    compute: Callable[[], Found]
    because: Mapping[
        Verdict, str
    ]  # a sentence for the verdict under which it was written; {names} are filled from the values
    at: Place
    sources: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()  # by name: those that compute the numbers
    stated: Verdict | None = None  # a verdict that rests on the sources, not on numbers
    by: str = ""  # of a contradiction: by whom
    within: float = WITHIN
    near: float = NEAR
    quotes: Mapping[str, str] = field(
        default_factory=dict
    )  # numbers in the sentence that are names or quotations, and of what

    def __post_init__(self) -> None:
        if isinstance(self.who, str) or not self.who:
            raise ValueError(f"claim {self.id}: who says it must be a tuple of statements, not {self.who!r}")
        for name in self.who:
            statement(name)  # UnknownId for what no source states

    @property
    def said(self) -> tuple[Statement, ...]:
        """The statements of articles, lecture and documents that it is taken from."""
        return tuple(map(statement, self.who))

    @property
    def cites(self) -> tuple[str, ...]:
        """Keys of the documents that its verdict rests on, and of those that it is taken from."""
        return tuple(dict.fromkeys((*self.sources, *(one.document for one in self.said))))

    def judged(self) -> Judged:
        """The claim with what is computed now."""
        out = self.compute()
        verdict = self.stated or judge(out.parts, self.within, self.near)
        because = self.because.get(verdict)
        return Judged(self, out.parts, verdict, because and fill(because, out.values))


class Judged(NamedTuple):
    """A claim, its numbers, the verdict that follows, and why; `because` is None if no sentence was written for this
    verdict.
    """

    claim: Claim
    parts: tuple[Part, ...]
    verdict: Verdict
    because: str | None

    @property
    def label(self) -> str:
        """The verdict in words, with what it leaves open: by whom, or by what factor."""
        if self.verdict is CONTRADICTED:
            return f"contradicted by {self.claim.by}"
        if self.verdict is ROUGH:
            worst = max(part.off for part in self.parts)
            size = "an order of magnitude, off by a factor" if worst > NEAR else "a factor"
            return f"right to {size} of {significant(worst, 2)}"
        return self.verdict.label


class Declared(Struct, frozen=True, kw_only=True, eq=False, forbid_unknown_fields=True):
    """A row of claims.yaml: all of a claim but its numbers."""

    noun: ClassVar[str] = "claim"
    id: str
    group: str
    name: str
    statement: str
    who: tuple[str, ...]
    at: tuple[str, str]
    because: dict[str, str]
    formulas: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # keys of documents, and rows of the catalogue by kind and id
    stated: str | None = None
    by: str = ""
    within: float = WITHIN
    near: float = NEAR
    quotes: dict[str, str] = {}

    def claim(self, compute: Callable[[], Found]) -> Claim:
        """The claim with what computes its numbers."""
        verdicts = {verdict.key: verdict for verdict in VERDICTS}
        return Claim(
            **{name: getattr(self, name) for name in ("id", "group", "name", "statement", "who", "formulas")},
            **{name: getattr(self, name) for name in ("by", "within", "near", "quotes")},
            compute=compute,
            at=Place(*self.at),
            sources=tuple(dict.fromkeys(key for name in self.sources for key in cite(name))),
            stated=verdicts[self.stated] if self.stated else None,
            because={verdicts[key]: text for key, text in self.because.items()},
        )


ROWS = {"chip": chip, "measurement": measurement, "model": model, "price": price, "tier": tier}


def cite(name: str) -> tuple[str, ...]:
    """The documents of a source: a document's own key, or those of a row of the catalogue, such as "chip h100-sxm"."""
    kind, _, id = name.partition(" ")
    return ROWS[kind](id).sources if id else (name,)


class ClaimList:
    """Claims in the order in which they were entered."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}

    def enter(self, id: str) -> Callable:
        """Decorate the function that computes a claim's numbers: enter the claim of this id in claims.yaml."""
        if id in self._claims:
            raise ValueError(f"two claims are called {id}")

        def keep(compute: Callable[[], Found]) -> Callable[[], Found]:
            self._claims[id] = load(Declared)[id].claim(compute)
            return compute

        return keep

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims.values())

    def __getitem__(self, id: str) -> Claim:
        return self._claims[id]


# --- sources ----------------------------------------------------------------------------------------------------------


class Cited(NamedTuple):
    """A document as a page links to it."""

    title: str
    url: str
    date: str


# documents that only claims rest on or are taken from; all others are in the catalogue
DOCUMENTS = {
    "article_a": Cited(
        "AI Haberleri: LLM Training Math, How Speculative Decoding & Paged Attention Power Frontier AI in 2026",
        "https://aihaberleri.org/en/news/llm-training-math-how-speculative-decoding-and-paged-attention-power-frontier"
        "-ai-in-2026",
        "2026",
    ),
    "article_b": Cited(
        "The Dwarkesh Reference: Reiner Pope", "https://dwarkesh.cloudunlocked.com/guests/reiner-pope", "2026-05-22"
    ),
    "article_c": Cited(
        "motpod: study article on the episode",
        "https://motpod.app/articles/dwarkesh-podcast/reiner-pope-the-math-behind-how-llms-are-trained-and-served"
        "-JXuUnV_t/en",
        "2026-05-13",
    ),
    "article_d": Cited("Bardwire: AI summary of the episode", "https://www.bardwire.xyz/c/1eAgYFDa4w84", "2026-04-29"),
    "article_e": Cited(
        "atmes.ai: TL;DR of the video",
        "https://atmes.ai/videos/the-math-behind-how-llms-are-trained-and-served-reiner-pope",
        "2026",
    ),
    "flashcards": Cited(
        "D. Patel: flashcards on the lecture, with their history",
        "https://github.com/dwarkeshsp/flashcards",
        "corrected 2026-07-22",
    ),
    "transcript": Cited(
        "The lecture's transcript, in the flashcards' repository",
        "https://github.com/dwarkeshsp/flashcards/blob/main/public/exports/reiner-pope/transcript.md",
        "2026",
    ),
    "anthropic_cache": Cited(
        "Anthropic: prompt caching",
        "https://platform.claude.com/docs/en/build-with-claude/prompt-caching",
        "read in a copy, 2026",
    ),
    "openai_cache": Cited(
        "OpenAI: prompt caching",
        "https://developers.openai.com/api/docs/guides/prompt-caching.md",
        "read in excerpts, 2026",
    ),
    "deepseek_cache": Cited("DeepSeek: context caching", "https://api-docs.deepseek.com/guides/kv_cache/", "read 2026"),
    "vllm_blog": Cited(
        "vLLM: Easy, Fast, and Cheap LLM Serving with PagedAttention",
        "https://blog.vllm.ai/2023/06/20/vllm.html",
        "2023-06-20",
    ),
    "glm5": Cited(
        "GLM-5 Team: GLM-5: from Vibe Coding to Agentic Engineering", "https://arxiv.org/abs/2602.15763", "2026-02"
    ),
    "nsa2025": Cited("Yuan and others: Native Sparse Attention", "https://arxiv.org/abs/2502.11089", "2025-02"),
    "attentionresiduals2026": Cited("Kimi Team: Attention Residuals", "https://arxiv.org/abs/2603.15031", "2026-03"),
    "sutskever2024": Cited(
        "I. Sutskever: talk at NeurIPS 2024, as the lecture's transcript links it",
        "https://youtu.be/1yvBqasHLZs",
        "2024",
    ),
    "ciphers2025": Cited(
        "R. Pope: Why are neural networks and cryptographic ciphers so similar?",
        "https://reiner.org/neural-net-ciphers",
        "2025",
    ),
}


def cited(key: str) -> Cited:
    """A document by its key; UnknownId if there is none."""
    if key in DOCUMENTS:
        return DOCUMENTS[key]
    found = source(key)
    return Cited(found.title, found.url, found.date)


def known(key: str) -> bool:
    """Whether a source of this key is there."""
    try:
        return bool(cited(key))
    except UnknownId:
        return False


# --- statements -------------------------------------------------------------------------------------------------------

ARTICLES = {  # by letter, what each is
    "A": "news item on speculative decoding and paged attention",
    "B": "index card of the episode: predictions, mental models, claims",
    "C": "generated study article",
    "D": "generated summary, with the host's own description",
    "E": "generated TL;DR with nine insights",
}
LECTURE, LENGTH = "pope2026blackboard", 2 * 3600 + 13 * 60 + 40  # seconds


def seconds(time: str) -> int:
    """A time of the captions, h:mm:ss, in seconds; ValueError for another form, or past the lecture's end."""
    if not re.fullmatch(r"\d:[0-5]\d:[0-5]\d", time):
        raise ValueError(f"not a time h:mm:ss: {time!r}")
    hours, minutes, rest = map(int, time.split(":"))
    if (at := 3600 * hours + 60 * minutes + rest) > LENGTH:
        raise ValueError(f"the lecture is over by {time}")
    return at


class Speaker(Struct, frozen=True, kw_only=True, eq=False, forbid_unknown_fields=True):
    """A row of statements.yaml: who states things, and what, by place."""

    noun: ClassVar[str] = "statement"
    id: str  # the letter of an article, "lecture", or the key of a document
    statements: dict[str, str]

    def __post_init__(self) -> None:
        if not (self.id in ARTICLES or self.id == "lecture" or known(self.id)):
            raise ValueError("neither an article's letter, nor the lecture, nor the key of a document")
        if self.id == "lecture":
            for place in self.statements:
                begin, *end = map(seconds, place.split("–"))
                if len(end) > 1 or end and end[0] <= begin:
                    raise ValueError(f"not a time, or a span of time: {place!r}")


class Statement(NamedTuple):
    """What a source states at one place, in our words."""

    speaker: str
    place: str
    text: str

    @property
    def document(self) -> str:
        """The key of the document that it stands in."""
        if self.speaker in ARTICLES:
            return f"article_{self.speaker.lower()}"
        return LECTURE if self.speaker == "lecture" else self.speaker

    @property
    def where(self) -> str:
        """Source and place in plain words."""
        if self.speaker in ARTICLES:
            from_whom = f"{cited(self.document).title.partition(':')[0]}, {cited(self.document).date}"
            return f"article {self.speaker} ({from_whom}), {'item ' if self.place.isdigit() else ''}{self.place}"
        if self.speaker in ("lecture", "flashcards"):
            return f"{'the lecture at' if self.speaker == 'lecture' else 'flashcard'} {self.place}"
        return f"{cited(self.speaker).title} ({self.place})"

    @property
    def url(self) -> str:
        """Where to read it; of the lecture, to hear it."""
        start = f"&t={seconds(self.place.partition('–')[0])}s" if self.speaker == "lecture" else ""
        return cited(self.document).url + start


def statement(name: str) -> Statement:
    """A statement by its source and place ("B prediction 1", "lecture 0:12:25"); UnknownId if there is none."""
    speaker, _, place = name.partition(" ")
    if (row := load(Speaker).get(speaker)) is None:
        raise UnknownId(f"no source {speaker!r} in statements.yaml, which has {', '.join(load(Speaker))}")
    if place not in row.statements:
        close = ", ".join(near(place, row.statements)) or "nothing"
        raise UnknownId(f"{speaker} states nothing at {place!r}; near: {close}")
    return Statement(speaker, place, row.statements[place])
