"""The ledger as its page shows it: the ten that matter, verdicts counted, a row for each claim, and how far numbers
are off.
"""

from __future__ import annotations

import html
import math
from functools import cache

import blackboard.reference.topic_claims  # noqa: F401  (it enters its claims)
from blackboard.formula import formulas
from blackboard.page.data_table import breakable
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
from blackboard.units import significant

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
        part = _furthest(row)
        rows.append(
            (
                f'<a href="#{anchor(row.claim.id)}">{text(row.claim.statement)}</a>'
                f"<div><small>{_name(part)}</small></div>",
                _verdict(row),
                text(part.claim),
                f"<b>{text(part.describe(part.found))}</b>",
            )
        )
    return table("The number furthest from what is claimed", ("Claim", "Verdict", "Claimed", "Found"), rows)


def _furthest(row: Judged) -> Part:
    """The number of a claim that is furthest from what is claimed."""
    return max(row.parts, key=lambda part: part.off)


def _name(part: Part) -> str:
    """What a number is of, as a sentence begins; names such as vLLM stay."""
    return text(part.of if part.of[1].isupper() else part.of[0].upper() + part.of[1:])


def _verdict(row: Judged) -> str:
    """A verdict by its mark and in words; where a claim holds in part, of how many numbers."""
    good = sum(part.holds(row.claim.within) for part in row.parts)
    held = f"<small>{good} of {len(row.parts)} numbers</small>" if row.verdict is PART else ""
    return f'<span class="claim-told claim-{row.verdict.key}">{mark(row.verdict)} {_label(row)}{held}</span>'


def legend() -> Page:
    """How many claims have each verdict, what it means, and which they are."""
    rows = []
    for verdict in VERDICTS:
        which = [row for row in judged() if row.verdict is verdict]
        listed = "".join(f"<li>{link(row)}</li>" for row in which)
        explanation = ("Computed: " if verdict in COMPUTED else "Stated, with the document: ") + verdict.explanation
        rows.append(
            f'<div class="claim-{verdict.key}"><dt>{mark(verdict)} <span>{verdict.label.capitalize()}</span> <span'
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
    offs = [part.off for verdict in SPREAD for row in spread(verdict) for part in row.parts]
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
        "offs": str(len(offs)),
        "right": str(sum(off <= 1 + WITHIN + 1e-9 for off in offs)),
        "far": str(sum(off > 10 for off in offs)),
    }


# --- rows that open ---------------------------------------------------------------------------------------------------

HEADS = ("Claim", "Verdict", "Claimed", "Found")


def cards(group: str) -> Page:
    """The claims of a group, a row each that opens."""
    heads = "".join(f"<span>{head}</span>" for head in HEADS)
    rows = "".join(_card(row) for row in judged() if row.claim.group == group)
    return Page(f'<div class="claim-heads" aria-hidden="true">{heads}</div>{rows}')


def _card(row: Judged) -> str:
    """One claim: a row with the verdict and the number that is furthest off; in it all numbers, why, who says it, the
    formulas and the sources.
    """
    claim, id = row.claim, anchor(row.claim.id)
    why = row.because or "Its numbers have moved since a reason was written."
    return (
        f'<details class="claim claim-{row.verdict.key}" data-verdict="{row.verdict.label}" id="{id}"><summary>'
        f"<h3>{text(claim.statement)}</h3>{_verdict(row)}{_values(row)}</summary>"
        f"<p>{text(why)}</p>{_numbers(row)}{_evidence(row)}{_others(row)}"
        f'<p class="claim-lesson">Treated in <a href="{claim.at.href}">'
        f"{TITLES.get(claim.at.lesson, claim.at.lesson.capitalize())}: {text(claim.at.heading)}</a> "
        f'<a class="claim-id" href="#{id}">Link to this claim</a></p></details>'
    )


def _values(row: Judged) -> str:
    """The number that is furthest off: what it is of, what is claimed, and what was found."""
    if not row.parts:
        return ""
    part = _furthest(row)
    told = zip(HEADS[2:], (breakable(text(part.claim)), f"<b>{breakable(text(part.describe(part.found)))}</b>"))
    values = "".join(f'<span class="claim-value"><small>{head}</small> {value}</span>' for head, value in told)
    return f'<span class="claim-of">{_name(part)}</span>{values}'


def _said(one: Statement) -> str:
    """Source and place of a statement, leading to it, as a sentence begins."""
    where = one.where if one.where[1].isupper() else one.where[0].upper() + one.where[1:]  # vLLM stays vLLM
    return f'<a href="{html.escape(one.url)}">{text(where)}</a>'


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


COLUMNS = ("Number", "Claimed", "Found", "Difference")


def _compared(rows: list[tuple[str, str, str, str]]) -> str:
    """Numbers as claimed and as found, a row each; the difference where there is one."""
    width = len(COLUMNS) - (not any(gap for *_, gap in rows))
    head = "".join(f'<th scope="col">{each}</th>' for each in COLUMNS[:width])
    line = lambda of, *cells: f'<tr><th scope="row">{of}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
    body = "".join(line(*row[:width]) for row in rows)
    return f'<table class="table claim-parts"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _number(part: Part, within: float) -> tuple[str, str, str, str]:
    """A number as claimed and as found, marked where it holds."""
    held = f'\N{NO-BREAK SPACE}<span role="img" aria-label="holds">{HOLDS.mark}</span>' if part.holds(within) else ""
    return text(part.of), text(part.claim), f"<b>{text(part.describe(part.found))}</b>", text(part.gap) + held


def _numbers(row: Judged) -> str:
    """Claimed and found, a line each."""
    return _compared([_number(part, row.claim.within) for part in row.parts]) if row.parts else ""


def _evidence(row: Judged) -> str:
    """Who says it and in which words, the formulas, and the sources."""
    said = "".join(f"<li>{_said(one)}: {text(one.text)}.</li>" for one in row.claim.said)
    out = [f'<p class="claim-head">Who says it</p><ul>{said}</ul>']
    if row.claim.formulas:
        out.append('<p class="claim-head">Formulas</p>')
    for name in row.claim.formulas:
        formula = formulas[name]
        out.append(
            f"<p>{text(formula.description[0].upper() + formula.description[1:])}"
            f" (<code>{name}</code>):</p><div>\\[{formula.latex}\\]</div>"
        )
    found = map(books.cited, row.claim.cites)
    listed = "".join(f'<li><a href="{html.escape(c.url)}">{text(c.title)}</a> ({text(c.date)})</li>' for c in found)
    out.append(f'<p class="claim-head">Sources</p><ul>{listed}</ul>')
    return "".join(out)


# --- how far off ------------------------------------------------------------------------------------------------------

SPREAD = (FAILS, PART, ROUGH)  # claims that numbers decide and that do not simply hold
SCALE = (10**-2.5, 10**2.5)  # of what was found over what was claimed; claims.css draws lines and band for it
CAPTION = (
    "What was found, in multiples of what is claimed, for claims that do not simply hold. In the gray band a number is"
    " about right. Years and words are left out."
)
TICKS = {0.01: "÷ 100", 0.1: "÷ 10", 1: "1", 10: "× 10", 100: "× 100"}


def spread(verdict: Verdict) -> list[Judged]:
    """Claims of a verdict that numbers decide, years and words left out, the furthest off first."""
    plain = lambda part: not isinstance(part.found, str) and part.unit != "year"
    found = [row for row in judged() if row.verdict is verdict and row.parts and all(map(plain, row.parts))]
    return sorted(found, key=lambda row: -_furthest(row).off)


def ratios() -> Page:
    """What was found over what was claimed, a row for each claim that numbers decide and that does not simply hold."""
    body = "".join(
        f'<tbody class="claim-{verdict.key}"><tr><th colspan="3" scope="rowgroup">{mark(verdict)} '
        f"{verdict.label.capitalize()}</th></tr>{''.join(map(_range, spread(verdict)))}</tbody>"
        for verdict in SPREAD
    )
    ticks = "".join(f'<span style="left: {_place(value):.1f}%">{tick}</span>' for value, tick in TICKS.items())
    axis = f'<th scope="col"><span class="visually-hidden">Range</span><span class="claim-axis">{ticks}</span></th>'
    head = f'<tr><th scope="col">Claim</th><th scope="col">Furthest</th>{axis}</tr>'
    return Page(
        '<div class="table-box claim-far"><table class="table claim-ratios">'
        f"<caption>{CAPTION}</caption><thead>{head}</thead>{body}</table></div>"
    )


def _place(ratio: float) -> float:
    """Where a ratio is on the axis, in % of its width."""
    low, high = map(math.log, SCALE)
    return 100 * (math.log(ratio) - low) / (high - low)


def _times(ratio: float) -> str:
    """A ratio in words, as the axis has it: × 68 or ÷ 58."""
    size = significant(max(ratio, 1 / ratio), 2, exact=True)
    return size if size == "1" else f"{'×' if ratio > 1 else '÷'} {size}"


def _range(row: Judged) -> str:
    """A row of the chart: a claim's name, the number furthest off, and a dot for each of its numbers with a line from
    the least to the most.
    """
    found = sorted(part.ratio for part in row.parts)
    low, high = _place(found[0]), _place(found[-1])
    dots = "".join(f'<i style="left: {_place(each):.1f}%"></i>' for each in dict.fromkeys(found))
    return (
        f'<tr><th scope="row">{link(row)}</th><td>{_times(_furthest(row).ratio)}</td><td><span class="visually-hidden">'
        f'{_times(found[0])} to {_times(found[-1])}</span><span class="claim-dots">'
        f'<span style="left: {low:.1f}%; width: {high - low:.1f}%"></span>'
        f"{dots}</span></td></tr>"
    )
