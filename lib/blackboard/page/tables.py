"""The catalogue as tables for a page: the unit in the head, the source and its date in the row, caveats as notes
below.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from html import escape
from itertools import count
from typing import Any

from blackboard import catalogue
from blackboard.catalogue.datafile import Row
from blackboard.page.data_table import Record, breakable, data_table
from blackboard.page.summary import Page
from blackboard.text import markup
from blackboard.units import pretty, significant

NONE = "–"
Columns = list[tuple[str, str, Callable[[Any], str]]]  # head, the field whose caveat marks the cell, its text


def _number(value: float | None, scale: float = 1, digits: int = 4) -> str:
    return NONE if value is None else significant(value / scale, digits, exact=True)


def _difference(percent: float) -> str:
    """With its sign, unless nothing of it is left."""
    return f"{percent:+.3f}".replace("-", "−") if abs(percent) >= 0.0005 else "0.000"


def _prose(text: str) -> str:
    """A cell of words, which on a wide screen has two lines until its row is opened."""
    return f'<div class="table-words">{escape(text)}</div>' if text else NONE


def _line(text: str) -> str:
    """A cell that is not broken: a name, an id, a date."""
    return f'<span style="white-space: nowrap">{text}</span>'


def _name(row: Any) -> str:
    """What a row is called, and the id to find it by."""
    return f"{escape(row.name)}<br>{_code(row.id)}"


def _code(id: str) -> str:
    """A name in code, which may be broken behind its underscores."""
    return f"<code>{breakable(escape(id))}</code>"


def cited(ids: Iterable[str | None], page: str = "") -> str:
    """Numbers that lead to the table of sources, on this page or another, and the newest date among them."""
    numbers, found = {s.id: n for n, s in enumerate(catalogue.sources(), 1)}, [catalogue.source(id) for id in ids if id]
    if not found:
        return NONE
    links = (
        f'<a href="{page}#source-{s.id}" aria-label="source {numbers[s.id]}: {escape(s.title)}">{numbers[s.id]}</a>'
        for s in found
    )
    width = 7 if len(found) < 5 else 10  # rem, for two lines at most
    return f'<div style="min-width: {width}rem">{", ".join(links)} {_line(f"({max(s.date for s in found)})")}</div>'


class _Notes:
    """Caveats of one table: a mark in the cell, the text once below the table."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.numbers: dict[tuple[str, str], int] = {}

    def mark(self, name: str, text: str | None) -> str:
        if not text:
            return ""
        number = self.numbers.setdefault((name, text), len(self.numbers) + 1)
        anchor = f"{self.slug}-caveat-{number}"
        return f'<sup class="caveat"><a href="#{anchor}" aria-label="caveat ?{number}">?{number}</a></sup>'

    def below(self) -> str:
        if not self.numbers:
            return ""
        texts = (
            f'<li id="{self.slug}-caveat-{n}">{_code(name)}: {markup(text)}</li>'
            for (name, text), n in self.numbers.items()
        )
        head = f"<summary>Unconfirmed: what the {len(self.numbers)} marks with ? mean</summary>"
        return f'<details class="table-notes">{head}<ol>{"".join(texts)}</ol></details>'


def _show(
    slug: str, caption: str, rows: Iterable[Row], columns: Columns, look: str = "", brief: Container[int] = ()
) -> Page:
    """A table of rows: the first cell is marked if the whole row is unconfirmed, any other if its field is."""
    notes = _Notes(slug)
    body: list[list[str | Record]] = []
    for row in rows:
        whole = row.caveat("id")
        cells: list[str | Record] = []
        for number, (_, field, show) in enumerate(columns):
            text = show(row)
            known = bool(field) and (text != NONE or field in row.unconfirmed)
            why = whole if number == 0 else row.caveat(field) if known else None
            mark = notes.mark(row.id, why if number == 0 or why != whole else None)
            name, line, id = text.partition("<br>")
            first = Record(f"{slug}-{row.id}", name, line + id + mark) if brief else text + mark
            cells.append(_marked(text, mark) if number else first)
        body.append(cells)
    return Page(data_table(caption, [head for head, _, _ in columns], body, look, brief) + notes.below())


def _marked(text: str, mark: str) -> str:
    """A cell and its mark, on one line."""
    if mark and text.endswith("</div>"):
        return text.removesuffix("</div>") + mark + "</div>"
    return text + mark if "<" in text or not (mark or set(" -") & set(text)) else _line(text + mark)


def _sources(row: Row) -> str:
    return cited(row.sources)


def chips() -> Page:
    """Rates, memory and links of every chip."""
    rate = lambda p: (
        f"{p} (TFLOP/s)",
        f"flops_dense_per_s.{p}",
        lambda c: _number(getattr(c.flops_dense_per_s, p), 1e12),
    )
    return _show(
        "chips",
        "Chips: dense rates, memory, links per chip and direction",
        catalogue.chips(),
        [
            ("Chip", "", _name),
            *map(rate, ("bf16", "fp8", "fp4", "int8")),
            ("Memory (GB)", "hbm_bytes", lambda c: _number(c.hbm_bytes, 1e9)),
            ("Memory bandwidth (TB/s)", "hbm_bytes_per_s", lambda c: _number(c.hbm_bytes_per_s, 1e12)),
            ("Scale-up domain (chips)", "scale_up.domain_chips", lambda c: _number(c.scale_up.domain_chips)),
            ("Scale-up (GB/s)", "scale_up.bytes_per_s", lambda c: _number(c.scale_up.bytes_per_s, 1e9)),
            ("Scale-out (GB/s)", "scale_out", lambda c: _number(c.scale_out.bytes_per_s, 1e9)),
            ("Power (W)", "power_w", lambda c: _number(c.power_w)),
            ("Announced", "release", lambda c: c.release),
            ("Available", "available", lambda c: c.available or NONE),
            ("Headline, notes", "", lambda c: _prose("; ".join(filter(None, (c.headline, c.note))))),
            ("Sources", "", _sources),
        ],
        brief=(1, 5, 6),
    )


def ratios() -> Page:
    """What follows from a chip's rates: the hardware constant by precision, and the drain time."""
    constant = lambda p: (
        lambda c: _number(c.hardware_constant(p) if getattr(c.flops_dense_per_s, p) else None, digits=3)
    )
    return _show(
        "ratios",
        "What follows: multiply-adds per parameter fetched, and the time to read the memory once",
        catalogue.chips(),
        [
            ("Chip", "", lambda c: escape(c.name)),
            *((f"{p} (tokens)", f"flops_dense_per_s.{p}", constant(p)) for p in ("bf16", "fp8", "fp4", "int8")),
            ("Drain time (ms)", "hbm_bytes_per_s", lambda c: _number(c.drain_time(), 1e-3, 3)),
            (
                "Scale-up over scale-out",
                "scale_out",
                lambda c: (
                    _number(c.scale_up.bytes_per_s / c.scale_out.bytes_per_s, digits=3)
                    if c.scale_out.bytes_per_s
                    else NONE
                ),
            ),
        ],
        brief=(1, 2, 5),
    )


def rents() -> Page:
    """Every dated rent; unconfirmed ones are marked."""
    notes = _Notes("rents")
    rows: list[list[str | Record]] = []
    for chip in catalogue.chips():
        for number, rent in enumerate(chip.rents, 1):
            mark = notes.mark(chip.id, None if rent.confirmed else f"{rent.kind}, {rent.date}")
            rows.append(
                [
                    Record(f"rents-{chip.id}-{number}", escape(chip.name).replace(" W)", "&nbsp;W)")),
                    f"{rent.usd_per_chip_hour:.2f}{mark}",
                    _line(rent.date),
                    escape(rent.kind),
                    cited([rent.source]),
                ]
            )
    heads = ("Chip", "Rent (USD per chip and hour)", "Date", "Terms", "Source")
    return Page(data_table("Rents", heads, rows, look="rent-table", brief=(1, 2, 3)) + notes.below())


def systems() -> Page:
    """Sums over the chips of a domain."""
    best = lambda s: max(r for p in ("bf16", "fp8", "fp4") if (r := getattr(s.chip.flops_dense_per_s, p))) * s.chips
    return _show(
        "systems",
        "Systems: chips that work as one",
        catalogue.systems(),
        [
            ("System", "", _name),
            ("Chip", "", lambda s: _line(_code(s.chip_id))),
            ("Chips", "chips", lambda s: _number(s.chips)),
            ("Memory (TB)", "", lambda s: _number(s.hbm_bytes, 1e12, 3)),
            ("Memory bandwidth (TB/s)", "", lambda s: _number(s.bandwidth, 1e12)),
            ("Scale-up (TB/s)", "", lambda s: _number(s.scale_up_bytes_per_s, 1e12, 3)),
            ("Greatest dense rate (10<sup>15</sup> FLOP/s)", "", lambda s: _number(best(s), 1e15, 3)),
            ("Notes", "", lambda s: _prose(("hypothetical: " if s.hypothetical else "") + s.note)),
            ("Sources", "", _sources),
        ],
        brief=(2, 3, 4),
    )


def models() -> Page:
    """Architecture, and what is computed from it."""
    billions = lambda value: _number(value, 1e9)
    return _show(
        "models",
        "Models: counts and cache computed from the architecture",
        catalogue.models(),
        [
            ("Model", "", _name),
            ("Released", "release", lambda m: m.release),
            ("Layers", "layers", lambda m: _number(m.layers or None)),
            ("Width", "d_model", lambda m: _number(m.d_model or None)),
            ("Attention", "attention", lambda m: _prose(" + ".join(map(_attention, m.attention)))),
            (
                "Experts (active + shared of all)",
                "ffn",
                lambda m: f"{m.moe.active} + {m.moe.shared} of {m.moe.experts}" if m.moe else NONE,
            ),
            ("Total (10<sup>9</sup> parameters)", "", lambda m: billions(m.n_total)),
            ("Active (10<sup>9</sup> parameters)", "", lambda m: billions(m.n_active)),
            ("Total over active", "", lambda m: _number(m.sparsity, digits=3)),
            ("Cache, bf16 (byte/token)", "", lambda m: _number(m.kv_bytes_per_token(), digits=7)),
            ("Context (token)", "context_tokens", lambda m: _number(m.context_tokens, digits=7)),
            ("Trained on (10<sup>12</sup> token)", "training_tokens", lambda m: _number(m.training_tokens, 1e12)),
            ("Weights", "weights", lambda m: m.weights),
            ("Notes", "", lambda m: _prose(m.note)),
            ("Sources", "", _sources),
        ],
        brief=(6, 7, 9),
    )


def _attention(group) -> str:
    """One attention group in a few words: "10 × 32/16 heads of 128"."""
    if group.kind == "latent":
        top = f", top {group.top_k:,}" if group.top_k else ""
        return f"{group.layers} × latent of {group.kv_rank} + {group.rope_dim}{top}"
    if group.kind == "compressed":
        return f"{group.layers} × latent of {group.head_dim}, " + (
            f"1 of {group.ratio}" if group.ratio else f"window {group.window}"
        )
    window = f", window {group.window:,}" if group.window else ""
    return f"{group.layers} × {group.heads}/{group.kv_heads} heads of {group.head_dim}{window}"


_VERDICTS = {"agrees": "agrees within 0.1%", "rounds": "rounds to it", "differs": "differs", "given": "given"}


def agreement() -> Page:
    """Computed against published parameters, and where they differ, why."""

    def printed(model) -> str:
        digits = model.published.digits
        return (
            f"{model.published.n_total:,.0f}"
            if digits is None
            else f"{_number(model.published.n_total, 1e9, max(digits, 3))} × 10<sup>9</sup>"
        )

    return _show(
        "agreement",
        "Parameters: computed against published",
        catalogue.models(),
        [
            ("Model", "", lambda m: escape(m.name)),
            ("Computed", "", lambda m: f"{m.n_total:,.0f}"),
            ("Published", "published.n_total", printed),
            ("Digits", "", lambda m: "exact" if m.published.digits is None else str(m.published.digits)),
            ("Difference (%)", "", lambda m: _difference(100 * m.agreement().deviation)),
            ("Verdict", "", lambda m: _VERDICTS[m.agreement().verdict]),
            ("Why", "", lambda m: _prose(m.agreement().why)),
            ("Source", "", lambda m: cited([m.published.source])),
        ],
        brief=(3, 4, 5),
    )


def tiers() -> Page:
    """Memory tiers with their drain times and dated prices."""

    def cost(tier) -> str:
        paid = (
            _line(f"{_number(p.usd_per_GB)} ({p.date}{')' if p.confirmed else ','}")
            + ("" if p.confirmed else " unconfirmed)")
            for p in tier.prices
        )
        return "<br>".join(paid) or NONE

    return _show(
        "tiers",
        "Memory tiers: one device each",
        catalogue.tiers(),
        [
            ("Device", "", lambda t: f"{escape(t.device)}<br>{_code(t.id)}"),
            ("Tier", "", lambda t: escape(t.tier)),
            ("Capacity (GB)", "capacity_bytes", lambda t: _number(t.capacity_bytes, 1e9)),
            ("Read (GB/s)", "read_bytes_per_s", lambda t: _number(t.read_bytes_per_s, 1e9)),
            ("Write (GB/s)", "write_bytes_per_s", lambda t: _number(t.write_bytes_per_s, 1e9, 3)),
            ("Drain time", "read_bytes_per_s", lambda t: _duration(t.drain_time())),
            ("Price (USD/GB, date)", "prices", cost),
            ("Notes", "", lambda t: _prose(t.note)),
            ("Sources", "", lambda t: cited(dict.fromkeys([*t.sources, *(p.source for p in t.prices)]))),
        ],
        brief=(2, 3, 5),
    )


def _duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{significant(seconds / size, 3, exact=True)} {unit}"
    return pretty(seconds, "s", 3, exact=True)


def _card(card: catalogue.PriceCard) -> str:
    """A card's id: the model, and below it the date."""
    model, date = card.id.split("@")
    return f"{_code(model)}<br><small>@{date}</small>"


def _describe_step(card: catalogue.PriceCard) -> str:
    """From how long a request on it costs more, and how many times as much."""
    if not (above := card.above):
        return NONE
    return f"× {above.input_multiplier:g}, × {above.output_multiplier:g} above {above.tokens:,}"


def _describe_fast(card: catalogue.PriceCard) -> str:
    """What a faster mode costs, and how much faster it is."""
    if not (fast := card.fast):
        return NONE
    speed = f" for up to × {fast.speed_multiplier:g} speed" if fast.speed_multiplier else ""
    return f"× {fast.price_multiplier:g}{speed}"


def prices() -> Page:
    """Every price card."""
    field = lambda head, name: (head, name, lambda c: _number(getattr(c, name)))
    usd = lambda head, name: (
        f"{head} (USD/<wbr>Mtoken)",
        f"usd_per_Mtok.{name}",
        lambda c: _number(getattr(c.usd_per_Mtok, name)),
    )
    return _show(
        "prices",
        "Price cards",
        catalogue.prices(),
        [
            ("Card", "", _card),
            ("Provider", "", lambda c: c.provider),
            ("Tier", "", lambda c: f'<div style="min-width: 7rem">{escape(c.tier)}</div>'),
            usd("Input", "input"),
            usd("Output", "output"),
            usd("Cached input", "cached_read"),
            usd("Cache write, 5 min", "cache_write_5min"),
            usd("Cache write, 1 h", "cache_write_1h"),
            field("Cache storage (USD/Mtoken/h)", "cache_storage_usd_per_Mtok_hour"),
            ("Input, output of long requests (tokens)", "above", _describe_step),
            field("Batch (×)", "batch_multiplier"),
            field("Flex (×)", "flex_multiplier"),
            field("Priority (×)", "priority_multiplier"),
            ("Fast mode", "fast", _describe_fast),
            field("Output (token/s)", "output_tokens_per_s"),
            ("From", "valid_from", lambda c: c.valid_from),
            ("Until", "valid_to", lambda c: c.valid_to or NONE),
            ("Notes", "", lambda c: _prose(c.note)),
            ("Sources", "", _sources),
        ],
        brief=(3, 4, 5),
    )


def measurements() -> Page:
    """The data sets of measurements, not their rows; for a page of its own."""
    return _show(
        "measurements",
        "Measurements",
        catalogue.measurements(),
        [
            ("Data set", "", lambda m: f'<span id="measurement-{m.id}">{_code(m.id)}</span>'),
            ("What it is", "", _what),
            ("Columns", "", lambda m: ", ".join(f"<code>{escape(name)}</code>" for name in m.columns)),
            ("Rows", "rows", lambda m: _number(len(m.rows))),
            ("Sources", "", lambda m: cited(m.sources, "catalogue.html")),
        ],
        "wrapped measurement-table",
    )


def _what(data: Any) -> str:
    """A data set's title, and its note in smaller letters."""
    note = f"<br><small>{markup(data.note)}</small>" if data.note else ""
    return f"{markup(data.title)}{note}"


def sources() -> Page:
    """The numbered sources that the other tables point to."""
    rows, number = [], count(1)
    for s in catalogue.sources():
        dated = s.date if s.dated == "published" else f"read {s.date}"
        rows.append(
            [
                f'<span id="source-{s.id}">{next(number)}</span>. <a href="{escape(s.url)}">{escape(s.title)}</a>',
                dated,
                s.kind,
            ]
        )
    return data_table("Sources", ("Source", "Date", "Kind"), rows, "source-table")
