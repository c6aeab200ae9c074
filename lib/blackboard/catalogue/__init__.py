"""The catalogue: chips, systems, models, price cards and memory tiers, each value with unit, source and date.

Conventions, in every row:

- FLOP: a multiply or an add, so a multiply-add counts 2, as on datasheets (the lecture's board counts it once).
- Rates are dense: without the 2:4 sparsity that doubles many headline figures.
- Link rates are per chip and per direction; vendors print both directions together, twice as much.
- Bytes are decimal, 1 GB = 1e9 byte; where a vendor prints GiB, the row holds the bytes.

A value that no primary source confirms carries a caveat: `row.caveat("power_w")` says why, or returns None.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import msgspec
from msgspec import Struct

from blackboard.catalogue.architecture import (
    Compressed,
    Dense,
    Experts,
    Heads,
    Latent,
    Precision,
    bytes_per_param,
    standard_precision,
)
from blackboard.catalogue.config_file import ConfigError as ConfigError
from blackboard.catalogue.config_file import read_config
from blackboard.catalogue.datafile import (
    Cell,
    Count,
    Date,
    Figures,
    Positive,
    Row,
    Source,
    SourceId,
    UnknownId,
    find,
    load,
    near,
)
from blackboard.catalogue.prices import MemoryTier, PriceCard

# --- chips and systems -----------------------------------------------------------------------------------------------


class Rates(Struct, frozen=True, forbid_unknown_fields=True):
    """Dense FLOP/s of one chip by precision, a multiply-add counted as 2; None: not in the hardware, or no figure."""

    bf16: Positive | None
    fp8: Positive | None
    fp4: Positive | None
    int8: Positive | None


class ScaleUp(Struct, frozen=True, forbid_unknown_fields=True):
    """The fast domain: how many chips it joins, and bytes/s per chip and per direction."""

    domain_chips: Count
    bytes_per_s: Positive
    technology: str


class ScaleOut(Struct, frozen=True, forbid_unknown_fields=True):
    """The network between domains: bytes/s per chip and per direction; None where none is published."""

    bytes_per_s: Positive | None
    technology: str


class Rent(Struct, frozen=True, forbid_unknown_fields=True):
    """What one chip cost per hour on a date, and on what terms."""

    usd_per_chip_hour: Positive
    date: Date
    kind: str
    source: SourceId | None
    confirmed: bool

    @property
    def usd_per_chip_second(self) -> float:
        return self.usd_per_chip_hour / 3600


# What a system binds beside its sums: how its chips are joined, and what one of them does.
LINKS = ("scale_up", "scale_out", "domain", "chip_bandwidth")
ROUTING = ("experts", "top_k", "copies", "width", "layers")  # what a mixture of experts binds beside its counts


class Machine:
    """What a chip and a system share: their ratios, and how they bind the symbols of formulas."""

    if TYPE_CHECKING:  # what either has, as a field or a property

        @property
        def chips(self) -> int: ...

        @property
        def hbm_bytes(self) -> float: ...

        @property
        def bandwidth(self) -> float: ...

        def flops(self, precision: str) -> float: ...

    def memory(self) -> Figures:
        """Memory and its bandwidth, with units."""
        return {"memory": (self.hbm_bytes, "byte"), "bandwidth": (self.bandwidth, "byte/s")}

    def drain_time(self) -> float:
        """Seconds to read the whole memory once."""
        return self.hbm_bytes / self.bandwidth

    def hardware_constant(self, precision: str) -> float:
        """Multiply-adds done while one parameter is fetched: (FLOP/s ÷ 2) · bytes_per_param ÷ bandwidth."""
        return self.flops(precision) / 2 * bytes_per_param(precision) / self.bandwidth

    def symbols(self, precision: str | None = None, rent: Rent | None = None) -> dict[str, float]:
        """Values by notation name, in base SI; `flops` only for a named precision, `rent` only if one is given."""
        bound = {"bandwidth": self.bandwidth, "hbm": self.hbm_bytes, "chips": float(self.chips)}
        if precision is not None:
            bound["flops"] = self.flops(precision)
        if rent is not None:
            bound["rent"] = rent.usd_per_chip_second
        return bound


class Chip(Machine, Row, frozen=True, kw_only=True, eq=False):
    """One accelerator package. Dense rates, links per direction, decimal bytes."""

    noun: ClassVar[str] = "chip"
    name: str
    vendor: Literal["nvidia", "google", "amd", "aws"]
    flops_dense_per_s: Rates
    hbm_bytes: Positive
    hbm_bytes_per_s: Positive
    scale_up: ScaleUp
    scale_out: ScaleOut
    power_w: Positive | None
    release: Date  # announced
    available: Date | None = None  # first shipped, or generally available in the cloud
    headline: str = ""  # how the vendor's printed figure differs from the one here
    rents: tuple[Rent, ...] = ()

    def figures(self) -> Figures:
        found = {name: getattr(self.flops_dense_per_s, name) for name in ("bf16", "fp8")}
        rates: Figures = {name: (rate, "FLOP/s") for name, rate in found.items() if rate}
        return rates | self.memory() | {"scale-up domain": (self.scale_up.domain_chips, "chip")}

    @property
    def chips(self) -> int:
        return 1

    @property
    def bandwidth(self) -> float:
        """Bytes/s from HBM."""
        return self.hbm_bytes_per_s

    def flops(self, precision: str) -> float:
        """Dense FLOP/s at a precision; UnknownId where the chip has none."""
        rate = getattr(self.flops_dense_per_s, standard_precision(precision))
        if rate is None:
            has = [name for name in Rates.__struct_fields__ if getattr(self.flops_dense_per_s, name)]
            raise UnknownId(f"{self.name} has no {precision} rate; it has: {', '.join(has)}")
        return rate

    def rent(self, kind: str = "") -> Rent:
        """The newest confirmed rent whose kind contains the text."""
        found = [r for r in self.rents if r.confirmed and kind.lower() in r.kind.lower()]
        if not found:
            raise UnknownId(f"no confirmed rent {kind!r} of {self.id}; listed: {[r.kind for r in self.rents]}")
        return max(found, key=lambda r: r.date)


class System(Machine, Row, frozen=True, kw_only=True, eq=False):
    """Chips that work as one in a scale-up domain; every rate is the sum over its chips."""

    noun: ClassVar[str] = "system"
    name: str
    chip_id: str
    chips: Count
    hypothetical: bool = False  # more chips than the real domain joins: a worked example, not a product

    def figures(self) -> Figures:
        return {"of": f"{self.chips} {self.chip_id}", **self.memory()}

    @property
    def chip(self) -> Chip:
        return chip(self.chip_id)

    @property
    def bandwidth(self) -> float:
        """Bytes/s from HBM, all chips together."""
        return self.chips * self.chip.bandwidth

    @property
    def hbm_bytes(self) -> float:
        return self.chips * self.chip.hbm_bytes

    @property
    def scale_up_bytes_per_s(self) -> float:
        """Bytes/s that all chips together send into the domain, one direction."""
        return self.chips * self.chip.scale_up.bytes_per_s

    def flops(self, precision: str) -> float:
        """Dense FLOP/s at a precision, all chips together."""
        return self.chips * self.chip.flops(precision)

    def symbols(self, precision: str | None = None, rent: Rent | None = None) -> dict[str, float]:
        """As of any machine, and LINKS: byte/s/chip in one direction, chips of the domain, HBM byte/s of one chip.

        A scale-out rate that is not published is left out. A hypothetical system is one domain.
        """
        up, out = self.chip.scale_up, self.chip.scale_out
        domain = float(max(up.domain_chips, self.chips))
        links = dict(zip(LINKS, (up.bytes_per_s, out.bytes_per_s, domain, self.chip.bandwidth), strict=True))
        return super().symbols(precision, rent) | {name: value for name, value in links.items() if value is not None}

    def check(self, folder: Path) -> None:
        limit = _known_chip(self.chip_id, folder).scale_up.domain_chips
        if self.chips > limit and not self.hypothetical:
            raise ValueError(f"chips: {self.chips}, but the domain of {self.chip_id} joins {limit}")


def _known_chip(id: str, folder: Path) -> Chip:
    if id not in (rows := load(Chip, folder)):
        raise ValueError(f"chip_id: no {id!r} in chips.yaml; near: {', '.join(near(id, rows)) or 'none'}")
    return rows[id]


# --- models ----------------------------------------------------------------------------------------------------------


class Published(Struct, frozen=True, forbid_unknown_fields=True):
    """What the makers print; `digits` significant digits (None: an exact count), `differs` what else it counts."""

    n_total: Positive
    digits: Count | None
    n_active: Positive | None
    source: SourceId
    differs: str = ""

    @property
    def resolution(self) -> float:
        """Half of the last printed digit, relative to the value: how exactly the figure is known."""
        if self.digits is None:
            return 0.0
        return 0.5 * 10.0 ** (math.floor(math.log10(self.n_total)) + 1 - self.digits) / self.n_total


class Given(Struct, frozen=True, forbid_unknown_fields=True):
    """Counts that are stated, not computed: round numbers, without an architecture behind them."""

    n_total: Positive
    n_active: Positive
    kv_bytes_per_token: Positive


class Agreement(NamedTuple):
    """Computed against published total: `agrees` (within 0.1%), `rounds` to a coarse figure, `differs`, or `given`."""

    verdict: Literal["agrees", "rounds", "differs", "given"]
    deviation: float  # computed / published − 1
    why: str


class Model(Row, frozen=True, kw_only=True, eq=False):
    """A language model; its parameters and cache bytes are computed from the architecture.

    Counted are embeddings, attention and feed-forward matrices and routers; not norms, biases, positions, indexers,
    multi-token-prediction layers or vision towers. `weights` is the precision of the released weights.
    """

    noun: ClassVar[str] = "model"
    name: str
    release: Date
    layers: Count
    d_model: Count
    vocab: Count
    tied_embeddings: bool
    attention: tuple[Heads | Latent | Compressed, ...]
    ffn: tuple[Dense | Experts, ...]
    weights: Precision
    context_tokens: Positive
    training_tokens: Positive | None  # None: never published
    published: Published | None  # None: read from a config.json
    given: Given | None = None
    not_understood: tuple[str, ...] = ()  # of a config.json, in sentences

    @classmethod
    def from_config(cls, source: str | Path | dict, name: str = "") -> Model:
        """The model of a config.json: a path, its text, or the object in it. ConfigError says what is missing.

        `not_understood` names what was assumed or left out.
        """
        found = read_config(_read(source))
        name = name or _label(source) or found["name"]
        return cls(
            id=name,
            name=name,
            release="",
            training_tokens=None,
            published=None,
            confirmed=True,
            sources=(),
            attention=msgspec.convert(found["attention"], tuple[Heads | Latent | Compressed, ...]),
            ffn=msgspec.convert(found["ffn"], tuple[Dense | Experts, ...]),
            not_understood=tuple(found["not_understood"]),
            **{field: found[field] for field in READ},
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        covered = sum(group.layers for group in self.attention)
        if self.given is None and covered != self.layers:
            raise ValueError(f"attention: its groups have {covered} layers, the model {self.layers}")

    def figures(self) -> Figures:
        return {
            "stored": (self.n_total, "parameter"),
            "active": (self.n_active, "parameter"),
            "cache": (self.kv_bytes_per_token(), "byte/token"),
            "weights": self.weights,
        }

    def _count(self, feed_forward: int) -> int:
        embedding = self.vocab * self.d_model * (1 if self.tied_embeddings else 2)
        return embedding + sum(group.params(self.d_model) for group in self.attention) + feed_forward

    @property
    def n_total(self) -> float:
        """Parameters stored."""
        return self.given.n_total if self.given else self._count(sum(g.params(self.d_model) for g in self.ffn))

    @property
    def n_active(self) -> float:
        """Parameters used for one token, embedding and output head included."""
        return self.given.n_active if self.given else self._count(sum(g.active_params(self.d_model) for g in self.ffn))

    @property
    def sparsity(self) -> float:
        """n_total / n_active: 1 for a dense model, 18 for DeepSeek-V3."""
        return self.n_total / self.n_active

    @property
    def moe(self) -> Experts | None:
        """The mixture of experts, if there is one."""
        return next((group for group in self.ffn if isinstance(group, Experts)), None)

    def kv_bytes_per_token(self, precision: str = "bf16") -> float:
        """Bytes by which the cache grows with each token once every window is full."""
        return self.given.kv_bytes_per_token if self.given else sum(g.growth(precision) for g in self.attention)

    def kv_bytes(self, context, precision: str = "bf16"):
        """Bytes of cache that one sequence of `context` tokens (a number or an array) holds; windows are bounded."""
        return self._cache("held", context, precision)

    def kv_read_bytes(self, context, precision: str = "bf16"):
        """Bytes of cache that one decode step reads: of sparse attention the index keys and the top k only."""
        return self._cache("read", context, precision)

    def _cache(self, what: str, context, precision: str):
        _tokens(context)
        if self.given:
            return self.given.kv_bytes_per_token * context
        return sum(getattr(group, what)(context, precision) for group in self.attention)

    def attention_flop(self, context):
        """FLOPs with which one new token attends to its context (a number or an array), beside 2 for each parameter."""
        _tokens(context)
        if self.given:
            raise UnknownId(f"{self.id} has round numbers only, no heads to count")
        return sum(group.attends(context) for group in self.attention)

    def agreement(self) -> Agreement:
        """How the computed total stands to the published one."""
        if self.published is None:
            raise UnknownId(f"{self.id} was read from a config.json, without a published total")
        deviation, printed = self.n_total / self.published.n_total - 1, self.published
        if self.given:
            return Agreement("given", deviation, "round numbers, nothing to compute")
        exact_enough = printed.resolution <= 1e-3
        if abs(deviation) > (1e-3 if exact_enough else printed.resolution):
            return Agreement("differs", deviation, printed.differs)
        if exact_enough:
            return Agreement("agrees", deviation, printed.differs)
        return Agreement("rounds", deviation, f"printed to {printed.digits} digits only")

    def symbols(self, precision: str | None = None, kv: str = "bf16") -> dict[str, float]:
        """Values by notation name; bytes_per_param at a precision, by default that of the released weights.

        A mixture of experts binds ROUTING too; `copies` counts its shared experts, which a layer sends to as well.
        """
        bound = {
            "n_active": self.n_active,
            "n_total": self.n_total,
            "kv_bytes_per_token": self.kv_bytes_per_token(kv),
            "bytes_per_param": bytes_per_param(precision or self.weights),
        }
        if self.moe:
            sizes = self.moe.experts, self.moe.active, self.moe.active + self.moe.shared, self.d_model, self.layers
            bound |= dict(zip(ROUTING, map(float, sizes), strict=True))
        return bound


READ = ("layers", "d_model", "vocab", "tied_embeddings", "weights", "context_tokens")  # of a config.json, as they are


def _read(source: str | Path | dict) -> dict:
    """The object in a config.json."""
    if isinstance(source, dict):
        return source
    text = source if _is_text(source) else Path(source).read_text(encoding="utf-8")
    try:
        return json.loads(str(text))
    except json.JSONDecodeError as error:
        raise ConfigError(f"not JSON: {error}") from error


def _is_text(source: str | Path | dict) -> bool:
    return isinstance(source, str) and source.lstrip().startswith("{")


def _label(source: str | Path | dict) -> str:
    """What a file is called, by its folder where every file is called config.json; empty where there is no file."""
    if isinstance(source, dict) or _is_text(source):
        return ""
    path = Path(source).resolve()
    return path.parent.name if path.name == "config.json" else path.stem


def _tokens(context) -> None:
    if isinstance(context, (int, float)) and not 0 <= context < math.inf:
        raise ValueError(f"context must be a number of tokens, 0 or more, not {context!r}")


def _finite(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


# --- measurements ------------------------------------------------------------------------------


class Measurement(Row, frozen=True, kw_only=True, eq=False):
    """A published table of measurements; the unit stands in a column's name."""

    noun: ClassVar[str] = "measurement"
    title: str
    chip_id: str | None
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if uneven := [n for n, row in enumerate(self.rows, 1) if len(row) != len(self.columns)]:
            raise ValueError(f"rows: number {uneven[0]} has not {len(self.columns)} cells")
        cells = [cell for row in self.rows for cell in row]
        if empty := [cell for cell in cells if not isinstance(cell, str) and not _finite(cell)]:
            raise ValueError(f"rows: expected text or a number, not {empty[0]!r}")

    def figures(self) -> Figures:
        found: Figures = {"title": self.title, "size": f"{len(self.rows)} rows of {len(self.columns)} columns"}
        return found | ({"chip": self.chip_id} if self.chip_id else {})

    def check(self, folder: Path) -> None:
        if self.chip_id is not None:
            _known_chip(self.chip_id, folder)

    def column(self, name: str) -> tuple[Cell, ...]:
        """One column by name."""
        if name not in self.columns:
            raise UnknownId(f"{self.id} has no column {name!r}; it has: {', '.join(self.columns)}")
        return tuple(row[self.columns.index(name)] for row in self.rows)

    def records(self, **where: Cell) -> tuple[dict[str, Cell], ...]:
        """The rows as dictionaries by column, of those whose cells are as `where` says."""
        found = (dict(zip(self.columns, row)) for row in self.rows)
        return tuple(row for row in found if all(row[name] == value for name, value in where.items()))


# --- looking up ------------------------------------------------------------------------------------------------------


def chip(id: str) -> Chip:
    """A chip by id: chip("h100-sxm")."""
    return find(Chip, id)


def system(id: str) -> System:
    """A system by id: system("gb200-nvl72")."""
    return find(System, id)


def model(id: str) -> Model:
    """A model by id: model("deepseek-v3")."""
    return find(Model, id)


def price(id: str, on: str | None = None) -> PriceCard:
    """A card by id, "claude-opus-4.6@2026-03-13", or by a model's id and a day it was valid on, "2026-04-29"."""
    if on is None:
        return find(PriceCard, id)
    cards = [card for card in prices() if card.offer == id]
    if not cards:
        raise UnknownId(f"no price of {id!r}; near: {', '.join(near(id, load(PriceCard)))}; prices() lists all")
    if not (valid := [card for card in cards if card.valid_on(on)]):
        raise UnknownId(f"no price of {id!r} on {on}; there are: {', '.join(card.id for card in cards)}")
    return max(valid, key=lambda card: card.valid_from)


def tier(id: str) -> MemoryTier:
    """A memory tier by id: tier("ssd-9650-7t")."""
    return find(MemoryTier, id)


def measurement(id: str) -> Measurement:
    """A table of measurements by id: measurement("h200_gemm")."""
    return find(Measurement, id)


def source(id: str) -> Source:
    """A source by the id that rows name it by."""
    return find(Source, id)


def chips() -> tuple[Chip, ...]:
    return tuple(load(Chip).values())


def systems() -> tuple[System, ...]:
    return tuple(load(System).values())


def models() -> tuple[Model, ...]:
    return tuple(load(Model).values())


def prices() -> tuple[PriceCard, ...]:
    return tuple(load(PriceCard).values())


def tiers() -> tuple[MemoryTier, ...]:
    return tuple(load(MemoryTier).values())


def measurements() -> tuple[Measurement, ...]:
    return tuple(load(Measurement).values())


def sources() -> tuple[Source, ...]:
    return tuple(load(Source).values())


# --- laws of the loss ---------------------------------------------------------------------------------------------

LETTERS = {
    "loss_floor": "E",
    "loss_size": "A",
    "loss_data": "B",
    "size_power": "alpha",
    "data_power": "beta",
}  # as the papers write them


def scaling_law(name: str) -> dict[str, float]:
    """The constants of a published fit of the loss, by notation name."""
    [row] = measurement("scaling_law_constants").records(law=name)
    return {ours: row[theirs] for ours, theirs in LETTERS.items()}
