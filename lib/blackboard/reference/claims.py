"""The ledger as its page shows it: the ten that matter, verdicts counted, a card for each claim, and how far numbers
are off.
"""

from __future__ import annotations

import html
import math
from functools import cache
from typing import Any

import blackboard.reference.topic_claims  # noqa: F401  (it enters its claims)
from blackboard.formula import formulas
from blackboard.page.summary import Page, table
from blackboard.reference import claim_list as books
from blackboard.reference.claim_list import (
    COMPUTED,
    EDGE,
    FAILS,
    HOLDS,
    PART,
    ROUGH,
    VERDICTS,
    WITHIN,
    Judged,
    Part,
    Statement,
    Verdict,
)
from blackboard.reference.repeated_claims import all_claims

GROUPS = ("predictions", "models", "claims", "corrections", "numbers", "topics")
TOP = (
    "N9",
    "12.6",
    "12.1",
    "12.7",
    "P3",
    "12.10",
    "P4",
    "M3",
    "N15",
    "12.9",
)  # in the lecture's order: the ten that matter most
ALIKE = (  # claims that say the same, or parts of the same
    ("12.6", "C2", "12.19"),
    ("12.1", "N2", "12.3"),
    ("12.9", "P5"),
    ("P4", "12.12", "C4", "12.21"),
    ("12.14", "12.22"),
    ("P2", "12.11"),
    ("P3", "12.20"),
    ("12.2", "C1"),
    ("12.5", "N18"),
)
BESIDE = (
    ("12.7", "N4"),
    ("12.9", "N19"),
    ("C3", "N8"),
    ("N22", "N25", "12.12"),
    ("P1", "12.10"),
    ("N15", "N17"),
    ("T1", "T2"),
    ("T3", "T6"),
    ("T4", "T5", "T7"),
    ("T13", "T14"),
    ("C4", "N10"),
    ("N20", "N33"),
    ("N9", "N28"),
    ("N2", "N27"),
    ("P2", "N29"),
    ("N26", "N32"),
    ("N30", "12.12"),
    ("T1", "T16"),
    ("T3", "T18"),
    ("T13", "T17"),
)  # claims about one thing
TITLES = {"overtraining": "Over-training"}  # lessons whose title is not their name
MANY = 7  # numbers of a claim that are summed up in a line


def text(words: str) -> str:
    """Words as HTML, with the apostrophes of the rest of the book."""
    return html.escape(words, quote=False).replace("'", "’")


@cache
def judged() -> tuple[Judged, ...]:
    """Every claim with its numbers and verdict, computed once."""
    return tuple(claim.judged() for claim in all_claims)


def find_claim(id: str) -> Judged:
    """A claim with its numbers, by its id."""
    return next(row for row in judged() if row.claim.id == id)


def alike(id: str, families: tuple[tuple[str, ...], ...] = ALIKE) -> list[Judged]:
    """The other claims of a claim's families."""
    return [
        find_claim(other)
        for other in dict.fromkeys(other for family in families if id in family for other in family)
        if other != id
    ]


def anchor(id: str) -> str:
    """Where a claim stands on the page."""
    return f"claim-{id.replace('.', '-')}"


def mark(verdict: Verdict) -> str:
    """A verdict's mark; the words beside it say the same."""
    return f'<span class="claim-mark" aria-hidden="true">{verdict.mark}</span>'


def _label(row: Judged) -> str:
    """A verdict in words, as a sentence begins."""
    return text(row.label[0].upper() + row.label[1:])


def link(row: Judged) -> str:
    """A claim's name, leading to its card."""
    return f'<a href="#{anchor(row.claim.id)}">{text(row.claim.name)}</a>'


# --- the ten that matter, and verdicts counted ------------------------------------------------------------------------


def first() -> Page:
    """The ten claims that matter most: the verdict, and the number that is furthest from what is claimed."""
    rows = []
    for row in map(find_claim, TOP):
        part, good = max(row.parts, key=lambda part: part.off), sum(part.holds(row.claim.within) for part in row.parts)
        held = f"<div><small>{good} of {len(row.parts)} numbers</small></div>" if row.verdict is PART else ""
        rows.append(
            (
                f'<a href="#{anchor(row.claim.id)}">{text(row.claim.statement)}</a>'
                f"<div><small>{text(part.of[0].upper() + part.of[1:])}</small></div>",
                f'<span class="claim-told claim-{row.verdict.key}">{mark(row.verdict)} {_label(row)}</span>{held}',
                text(part.claim),
                f"<b>{text(part.describe(part.found))}</b>",
            )
        )
    return table("The number furthest from what is claimed", ("Claim", "Verdict", "Claimed", "Found"), rows)


def legend() -> Page:
    """How many claims have each verdict, what it means, and which they are."""
    rows = []
    for verdict in VERDICTS:
        which = [row for row in judged() if row.verdict is verdict]
        listed = "".join(f"<li>{link(row)}</li>" for row in which)
        explanation = ("Computed: " if verdict in COMPUTED else "Stated, with the document: ") + verdict.explanation
        rows.append(
            f'<div class="claim-{verdict.key}"><dt>{mark(verdict)} <span>{verdict.label}</span> <span'
            f' class="claim-count">{len(which)}</span><span class="claim-bar" style="width:'
            f' {100 * len(which) / len(judged()):.1f}%"></span></dt>'
            f"<dd>{text(explanation)}.<details><summary>Which claims<span"
            f' class="visually-hidden">: {verdict.label}</span></summary><ul class="claim-ids">{listed}</ul></details>'
            "</dd></div>"
        )
    return Page(f'<dl class="claim-legend">{"".join(rows)}</dl>')


def tally() -> dict[str, str]:
    """Numbers that the page's prose prints."""
    every, share = judged(), lambda x: f"{x:.0%}"
    count = lambda *verdicts: str(sum(row.verdict in verdicts for row in every))
    return {
        "claims": str(len(every)),
        "computed": count(*COMPUTED),
        "documents": count(*VERDICTS[len(COMPUTED) :]),
        "numbers": str(sum(len(row.parts) for row in every if row.verdict in COMPUTED)),
        "within": f"{1 + WITHIN:g}",
        "more": share(WITHIN),
        "less": share(1 - 1 / (1 + WITHIN)),
        "edge": share(EDGE),
    }


# --- cards ------------------------------------------------------------------------------------------------------------


def cards(group: str) -> Page:
    """The claims of a group, a card each."""
    return Page("".join(_card(row) for row in judged() if row.claim.group == group))


def _card(row: Judged) -> str:
    """One claim: the verdict, its numbers, why, and who says it; folded, the formulas and sources."""
    claim, id = row.claim, anchor(row.claim.id)
    why = row.because or "Its numbers have moved since a reason was written."
    return (
        f'<article class="claim claim-{row.verdict.key}" data-verdict="{row.verdict.label}" id="{id}"><p'
        f' class="claim-verdict">{mark(row.verdict)} {_label(row)}</p>'
        f'<h3>{text(claim.statement)} <a class="claim-id" href="#{id}" aria-label="Link to this claim">#</a></h3>'
        f'{_numbers(row)}<p>{text(why)}</p><p class="claim-who">{_who(claim.said)}</p>{_others(row)}<p'
        f' class="claim-lesson">Treated in <a href="{claim.at.href}">'
        f"{TITLES.get(claim.at.lesson, claim.at.lesson.capitalize())}: {text(claim.at.heading)}</a></p>"
        f"{_evidence(row)}</article>"
    )


def _said(one: Statement) -> str:
    """Source and place of a statement, leading to it."""
    return f'<a href="{html.escape(one.url)}">{text(one.where)}</a>'


def _who(said: tuple[Statement, ...]) -> str:
    """Who says a claim, and where, in a sentence."""
    first, *rest = map(_said, said)
    out = "; ".join([first, *rest])
    start = out.index(">") + 1
    begun = out[start:] if out[start + 1].isupper() else f"{out[start].upper()}{out[start + 1 :]}"  # vLLM stays vLLM
    return f"{out[:start]}{begun}."


def articles() -> Page:
    """The five articles by letter: what each is, when it was published, and how many claims are taken from it."""
    rows = []
    for letter, what in books.ARTICLES.items():
        found = books.cited(f"article_{letter.lower()}")
        count = sum(any(one.speaker == letter for one in row.claim.said) for row in judged())
        link = f'<a href="{html.escape(found.url)}">{text(found.title)}</a>'
        rows.append((f"{letter}: {link}", text(what), found.date.replace("-", "\N{NON-BREAKING HYPHEN}"), str(count)))
    return table("The five articles", ("Article", "What it is", "Date", "Claims"), rows)


def _others(row: Judged) -> str:
    """Links to claims that say the same, with their verdicts, and to those about the same thing."""
    describe = lambda head, rows: (
        f'<p class="claim-lesson">{head}: {"; ".join(f"{link(other)} ({other.verdict.label})" for other in rows)}</p>'
        if rows
        else ""
    )
    return describe("Also said by", alike(row.claim.id)) + describe("See also", alike(row.claim.id, BESIDE))


HEADS = ("Number", "Claimed", "Found", "Difference")


def _compared(rows: list[tuple[str, str, str, str]]) -> str:
    """Numbers as claimed and as found, a row each; the difference where there is one."""
    width = len(HEADS) - (not any(gap for *_, gap in rows))
    head = "".join(f'<th scope="col">{each}</th>' for each in HEADS[:width])
    line = lambda of, *cells: f'<tr><th scope="row">{of}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
    body = "".join(line(*row[:width]) for row in rows)
    return f'<table class="table claim-parts"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _number(part: Part, within: float) -> tuple[str, str, str, str]:
    """A number as claimed and as found, marked where it holds."""
    held = f' <span role="img" aria-label="holds">{HOLDS.mark}</span>' if part.holds(within) else ""
    return text(part.of), text(part.claim), f"<b>{text(part.describe(part.found))}</b>", text(part.gap) + held


def _numbers(row: Judged) -> str:
    """Claimed and found, a line each; of many numbers the span."""
    if not row.parts:
        return ""
    if len(row.parts) < MANY:
        return _compared([_number(part, row.claim.within) for part in row.parts])
    parts = sorted(row.parts, key=lambda part: part.found)
    good = sum(part.holds(row.claim.within) for part in parts)
    span = text(parts[0].between(parts[0].found, parts[-1].found))
    return _compared([(f"{len(parts)} numbers", text(parts[0].claim), f"<b>{span}</b>", f"{good} hold")])


def _evidence(row: Judged) -> str:
    """Formulas and sources, folded away; of many numbers all."""
    out = []
    if len(row.parts) >= MANY:
        out.append(_compared([_number(part, row.claim.within) for part in row.parts]))
    for name in row.claim.formulas:
        formula = formulas[name]
        out.append(
            f"<p>{text(formula.description[0].upper() + formula.description[1:])}"
            f" (<code>{name}</code>):</p><div>\\[{formula.latex}\\]</div>"
        )
    out.append(
        '<p>Where it is said:</p><ul class="claim-said">'
        + "".join(f"<li>{_said(one)}: {text(one.text)}.</li>" for one in row.claim.said)
        + "</ul>"
    )
    found = map(books.cited, row.claim.cites)
    out.append(
        "<p>Sources: "
        + "; ".join(f'<a href="{html.escape(c.url)}">{text(c.title)}</a> ({text(c.date)})' for c in found)
        + ".</p>"
    )
    head = "Formulas and sources" if row.claim.formulas else "Sources"
    return (
        f'<details><summary>{head} <span class="visually-hidden">of:'
        f" {text(row.claim.name)}</span></summary>{''.join(out)}</details>"
    )


# --- how far off ------------------------------------------------------------------------------------------------------

# A verdict's color in the figure and on its badge: none is a quantity's. Words and marks tell the last ones apart.
TINTS = dict(
    zip(VERDICTS, ("fourth", "second", "first", "third", "sixth", "fifth", "bound", "muted", "muted"), strict=True)
)
SHAPES = {ROUGH: "s", PART: "D", FAILS: "X"}


def spread() -> list[Judged]:
    """Claims that numbers decide, years and words left out, and that do not simply hold: by verdict, then by how far
    the worst number is off.
    """
    worst = lambda row: max(part.off for part in row.parts)
    plain = lambda part: not isinstance(part.found, str) and part.unit != "year"
    found = [row for row in judged() if row.parts and all(map(plain, row.parts))]
    return [row for verdict in SHAPES for row in sorted(found, key=worst) if row.verdict is verdict]


def ratios() -> Any:
    """What was found over what was claimed, a row for each claim that numbers decide and that does not simply hold."""
    from blackboard.charts.drawing import axes, done
    from blackboard.charts.style import COLOURS

    rows = spread()
    places, heads, lines = _layout(rows)
    fig, at = axes(5.0, 0.205 * lines + 1.0)
    at.axvspan(1 / (1 + WITHIN), 1 + WITHIN, color=COLOURS["muted"], alpha=0.2, lw=0)
    for row, place, (x, y, align) in zip(rows, *places):
        shape, colour = SHAPES[row.verdict], TINTS[row.verdict]
        found = [part.ratio for part in row.parts]
        at.plot([min(found), max(found)], [place, place], color=COLOURS[colour], lw=1, alpha=0.6)
        at.plot(found, [place] * len(found), shape, color=COLOURS[colour], ms=5, mew=0)
        at.text(x, y, row.claim.name, ha=align, va="center", fontsize=LETTERS)
    for verdict, y in heads.items():
        head = {"color": COLOURS[TINTS[verdict]], "weight": "bold", "fontsize": LETTERS, "va": "center"}
        at.text(SCALE[0], y, verdict.label.capitalize(), **head)
    ticks = {0.01: "÷ 100", 0.1: "÷ 10", 1: "1", 10: "× 10", 100: "× 100"}
    at.set(xscale="log", ylim=(lines - 0.5, -0.7), xlim=SCALE, yticks=[])
    at.set_xlabel("found, in multiples of what is claimed", fontsize=LETTERS)
    at.set_xticks(list(ticks), list(ticks.values()), fontsize=LETTERS)
    at.minorticks_off()
    at.spines["left"].set_visible(False)
    at.tick_params(axis="x", labeltop=True)  # the rows are many
    return done(fig, "fig-claims", _ratios_conclude(rows), _ratios_say())


SCALE = (0.002, 700)  # of what was found over what was claimed
LETTERS = 12.5  # points, of which a phone leaves twelve pixels
LETTER = 0.094  # decades of the scale that a letter of a name takes


def _layout(rows: list[Judged]) -> tuple[tuple[list[int], list[tuple[float, int, str]]], dict[Verdict, int], int]:
    """Where each row stands and its name, which is beside its numbers or, where it has no room there, above them; where
    each verdict's heading stands; the number of lines.
    """
    places: list[int] = []
    names: list[tuple[float, int, str]] = []
    heads: dict[Verdict, int] = {}
    line = 0
    for row in rows:
        if row.verdict not in heads:
            line += bool(heads)
            heads[row.verdict] = line
            line += 1
        found = [part.ratio for part in row.parts]
        before, behind = math.log10(min(found) / SCALE[0]), math.log10(SCALE[1] / max(found))
        if max(before, behind) < LETTER * len(row.claim.name):
            names.append((SCALE[0], line, "left"))
            line += 1
        else:
            names.append((max(found) * 1.3, line, "left") if behind > before else (min(found) / 1.3, line, "right"))
        places.append(line)
        line += 1
    return (places, names), heads, line


def _ratios_conclude(rows: list[Judged]) -> str:
    """The caption: how many numbers of claims that do not simply hold are right all the same, and how many far off."""
    offs = [part.off for row in rows for part in row.parts]
    right, far = sum(off <= 1 + WITHIN + 1e-9 for off in offs), sum(off > 10 for off in offs)
    return (
        f"Even claims that do not simply hold are seldom far off: of their {len(offs)} numbers {right} are about right"
        f" (in the band) and {far} are more than ten times too large or too small. Years and words are left out."
    )


def _ratios_say() -> str:
    """What the picture shows, its range and its point."""
    rows = spread()
    found = [part.ratio for row in rows for part in row.parts]
    inside, far = (
        sum(1 / (1 + WITHIN) - 1e-9 <= ratio <= 1 + WITHIN + 1e-9 for ratio in found),
        max(rows, key=lambda row: max(part.off for part in row.parts)),
    )
    kinds = ", ".join(
        f"{sum(row.verdict is verdict for row in rows)} {words}"
        for verdict, words in ((ROUGH, "are right to a factor"), (PART, "hold in part"), (FAILS, "do not hold"))
    )
    return (
        f"Numbers found, in multiples of those claimed, on a log scale from 1/{1 / min(found):.0f} to {max(found):.0f},"
        f" for {len(found)} numbers of {len(rows)} claims, a row each, of which {kinds}. {inside} of the numbers are in"
        f" a band of a factor of {1 + WITHIN:g} about what is claimed. The furthest off: {far.claim.name}."
    )
