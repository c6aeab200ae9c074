"""Price cards and memory tiers: what tokens and bytes cost, and when."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from blackboard.catalogue.datafile import Amount, Count, Date, Figures, Positive, Row, SourceId


class TokenPrices(Struct, frozen=True, forbid_unknown_fields=True):
    """USD per million tokens; None where not offered, or where a cache write costs what input costs."""

    input: Amount
    output: Amount
    cached_read: Amount | None
    cache_write_5min: Amount | None
    cache_write_1h: Amount | None


class Above(Struct, frozen=True, forbid_unknown_fields=True):
    """Beyond so many input tokens the whole request is dearer; cache prices rise with the input's."""

    tokens: Count
    input_multiplier: Positive
    output_multiplier: Positive


class Fast(Struct, frozen=True, forbid_unknown_fields=True):
    """The same weights, faster: price over standard, and at most so many times the output rate."""

    price_multiplier: Positive
    speed_multiplier: Positive | None
    until: Date | None = None


SPELLED = {"gpt": "GPT", "deepseek": "DeepSeek"}


class PriceCard(Row, frozen=True, kw_only=True, eq=False):
    """What a provider asked for a model's tokens over a time; `valid_to` None: still on the card when last seen."""

    noun: ClassVar[str] = "price"
    provider: str
    model: str
    tier: str
    usd_per_Mtok: TokenPrices
    cache_storage_usd_per_Mtok_hour: Positive | None = None
    above: Above | None = None
    batch_multiplier: Positive | None = None
    flex_multiplier: Positive | None = None
    priority_multiplier: Positive | None = None
    fast: Fast | None = None
    output_tokens_per_s: Positive | None = None
    valid_from: Date
    valid_to: Date | None = None

    def figures(self) -> Figures:
        asked, until = self.usd_per_Mtok, f" to {self.valid_to}" if self.valid_to else ""
        found = {"input": asked.input, "output": asked.output, "cached read": asked.cached_read}
        prices: Figures = {name: (usd, "USD/Mtok") for name, usd in found.items() if usd is not None}
        return prices | {"tier": self.tier, "from": self.valid_from + until}

    @property
    def offer(self) -> str:
        """The card's id without its date: the model, and who else than its maker serves it."""
        return self.id.split("@")[0]

    @property
    def model_name(self) -> str:
        """The model as one says it: Gemini 3.1 Pro, GPT-5.5."""
        words = self.model.removesuffix("-preview").split("-")
        name = " ".join(SPELLED.get(word, word[:1].upper() + word[1:]) for word in words)
        return name.replace("GPT ", "GPT-").replace("DeepSeek ", "DeepSeek-")

    def rates(self, context_tokens: float = 0) -> TokenPrices:
        """USD per million tokens of a request with so much input."""
        p, step = self.usd_per_Mtok, self.above
        if step is None or context_tokens <= step.tokens:
            return p
        dearer = lambda value: None if value is None else value * step.input_multiplier
        return TokenPrices(
            p.input * step.input_multiplier,
            p.output * step.output_multiplier,
            dearer(p.cached_read),
            dearer(p.cache_write_5min),
            dearer(p.cache_write_1h),
        )

    def valid_on(self, date: str) -> bool:
        """Whether the card held on an ISO date."""
        return self.valid_from <= date and (self.valid_to is None or date < self.valid_to)


class BytePrice(Struct, frozen=True, forbid_unknown_fields=True):
    """What a gigabyte (1e9 byte) of a memory cost on a date."""

    usd_per_GB: Positive
    date: Date
    source: SourceId
    confirmed: bool


class MemoryTier(Row, frozen=True, kw_only=True, eq=False):
    """One device that can hold a KV cache."""

    noun: ClassVar[str] = "tier"
    tier: str
    device: str
    capacity_bytes: Positive
    read_bytes_per_s: Positive
    write_bytes_per_s: Positive | None = None
    prices: tuple[BytePrice, ...] = ()

    def figures(self) -> Figures:
        found: Figures = {"device": self.device, "capacity": (self.capacity_bytes, "byte")}
        found["read"] = (self.read_bytes_per_s, "byte/s")
        if self.prices:
            newest = max(self.prices, key=lambda price: price.date)
            found |= {"price": (newest.usd_per_GB, "USD/GB"), "on": newest.date}
        return found

    def drain_time(self) -> float:
        """Seconds to read the whole device once."""
        return self.capacity_bytes / self.read_bytes_per_s
