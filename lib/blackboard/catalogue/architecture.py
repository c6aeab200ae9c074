"""What a transformer stores and caches: parameters and KV bytes of groups of layers, from the integers of a config.

A model is a list of attention groups and a list of feed-forward groups, each over some of its layers. Every attention
group answers six questions: its `params`, the bytes by which its cache grows with a token (`growth`), the bytes that
a sequence holds (`held`), those that one decode step reads (`read`), and the FLOPs with which a new token attends to
its context (`attends`: scores and weighted sum, of all heads). `prefills` is the sum of that over a prompt, of which a
token sees those before it and itself. Contexts are numbers or arrays.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from blackboard.catalogue.datafile import Count, UnknownId

# Bytes of one value. The scales of block formats are not counted: MXFP4 takes 4.25 bits, not 4.
BYTES = {"bf16": 2, "fp8": 1, "int8": 1, "fp4": 0.5}
ALIASES = {"fp16": "bf16", "mxfp4": "fp4", "nvfp4": "fp4"}
VLLM_FP8 = "fp8_ds_mla"  # vLLM's cache of a latent: fp8, a 4-byte scale per 128 values, the rope part in bf16

Precision = Literal["bf16", "fp8", "fp4", "int8", "fp16", "mxfp4", "nvfp4"]


def standard_precision(precision: str) -> str:
    """The name under which a number format is listed: fp16 is bf16, MXFP4 and NVFP4 are fp4."""
    name = ALIASES.get(precision, precision)
    if name not in BYTES:
        raise UnknownId(f"no precision {precision!r}; there are: {', '.join([*BYTES, *ALIASES])}")
    return name


def bytes_per_param(precision: str) -> float:
    """Bytes that one value takes in this format."""
    return BYTES[standard_precision(precision)]


def _least(a, bound):
    """min(a, bound) for numbers and arrays alike, without NumPy; None is no bound."""
    return a if bound is None else (a + bound - abs(a - bound)) / 2


def _pairs(tokens, bound):
    """Pairs of a token and one that it sees, itself or before it and within the bound, in a prompt: Σ min(i, bound)."""
    seen = _least(tokens, bound)
    return seen * (seen + 1) / 2 + (tokens - seen) * seen


class Group(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """Layers of one kind: `heads`, `latent`, `compressed`, `dense` or `experts`."""

    @property
    def kind(self) -> str:
        return str(self.__struct_config__.tag)


class Heads(Group, frozen=True):
    """Multi-head (kv_heads = heads), grouped-query or multi-query attention, over everything or a sliding window."""

    layers: Count
    heads: Count
    kv_heads: Count
    head_dim: Count
    window: Count | None = None
    shared_kv: bool = False  # one matrix makes key and value; both are cached

    def params(self, d_model: int) -> int:
        return self.layers * d_model * self.head_dim * (2 * self.heads + (1 if self.shared_kv else 2) * self.kv_heads)

    def entry(self, precision: str) -> float:
        """Bytes that one token leaves in the cache of one layer: its keys and its values."""
        return 2 * self.kv_heads * self.head_dim * bytes_per_param(precision)

    def growth(self, precision: str) -> float:
        return 0 if self.window else self.layers * self.entry(precision)

    def held(self, context, precision: str):
        return self.layers * self.entry(precision) * _least(context, self.window)

    read = held

    def attends(self, context):
        return 4 * self.layers * self.heads * self.head_dim * _least(context, self.window)

    def prefills(self, tokens):
        return 4 * self.layers * self.heads * self.head_dim * _pairs(tokens, self.window)


class Latent(Group, frozen=True):
    """Multi-head latent attention (MLA): one latent and one rope key per token and layer, shared by all heads.

    With an indexer (DeepSeek sparse attention) a token scores every index key with `index_heads` queries of
    `index_dim`, and attends to the `top_k` latents that score highest. Index keys are in the cache's format.
    """

    layers: Count
    heads: Count
    q_rank: Count  # 0: queries are made in one step
    kv_rank: Count
    nope_dim: Count
    rope_dim: Count
    v_dim: Count
    index_dim: Count = 0
    index_heads: Count = 0
    top_k: Count | None = None

    def params(self, d_model: int) -> int:
        """Without the indexer, as the published totals count it."""
        wide = self.heads * (self.nope_dim + self.rope_dim)
        query = self.q_rank * (d_model + wide) if self.q_rank else d_model * wide
        latent = d_model * (self.kv_rank + self.rope_dim) + self.kv_rank * self.heads * (self.nope_dim + self.v_dim)
        return self.layers * (query + latent + self.heads * self.v_dim * d_model)

    def index_params(self, d_model: int) -> int:
        """Those of the indexer: queries from the query's latent; a key, and a weight for each head, from the vector."""
        queries = (self.q_rank or d_model) * self.index_heads * self.index_dim
        return self.layers * (queries + d_model * (self.index_dim + self.index_heads))

    def entry(self, precision: str) -> float:
        """Bytes of one token's latent and rope key in one layer."""
        if precision == VLLM_FP8:
            return self.kv_rank + 4 * (self.kv_rank // 128) + 2 * self.rope_dim
        return (self.kv_rank + self.rope_dim) * bytes_per_param(precision)

    def key(self, precision: str) -> float:
        """Bytes of one token's index key in one layer."""
        if precision == VLLM_FP8:
            return self.index_dim + 4 * (self.index_dim // 128)
        return self.index_dim * bytes_per_param(precision)

    def growth(self, precision: str) -> float:
        return self.layers * (self.entry(precision) + self.key(precision))

    def held(self, context, precision: str):
        return self.growth(precision) * context

    def read(self, context, precision: str):
        return self.layers * (self.entry(precision) * _least(context, self.top_k) + self.key(precision) * context)

    def attends(self, context):
        """In decoding, with the projections absorbed: all heads attend to the latent itself. And the indexer scores."""
        latents = self.heads * (2 * self.kv_rank + self.rope_dim) * _least(context, self.top_k)
        return 2 * self.layers * (latents + self.index_heads * self.index_dim * context)

    def prefills(self, tokens):
        """In a prompt keys and values are worked out for each head, which are shorter than the latent. And the
        indexer scores.
        """
        heads = self.heads * (self.nope_dim + self.rope_dim + self.v_dim) * _pairs(tokens, self.top_k)
        return 2 * self.layers * (heads + self.index_heads * self.index_dim * _pairs(tokens, None))


class Compressed(Group, frozen=True):
    """Latents (key = value) of a window and, beyond it, one for every `ratio` tokens, perhaps indexed (DeepSeek V4)."""

    layers: Count
    heads: Count
    head_dim: Count
    q_rank: Count
    o_rank: Count
    window: Count
    ratio: Count | None = None  # None: the window is all there is
    index_dim: Count = 0
    top_k: Count | None = None

    def params(self, d_model: int) -> int:
        """Query and output through low ranks, and one latent; compressor and indexer are not counted."""
        wide = self.heads * self.head_dim
        return self.layers * ((self.q_rank + self.o_rank) * (d_model + wide) + d_model * self.head_dim)

    def growth(self, precision: str) -> float:
        return (
            self.layers * (self.head_dim + self.index_dim) * bytes_per_param(precision) / self.ratio
            if self.ratio
            else 0
        )

    def held(self, context, precision: str):
        window = self.layers * self.head_dim * bytes_per_param(precision) * _least(context, self.window)
        return window + self.growth(precision) * context

    def read(self, context, precision: str):
        far = context / self.ratio if self.ratio else 0
        latents = _least(context, self.window) + _least(far, self.top_k)
        return self.layers * bytes_per_param(precision) * (self.head_dim * latents + self.index_dim * far)

    def attends(self, context):
        """The indexer is not counted."""
        far = context / self.ratio if self.ratio else 0
        return 4 * self.layers * self.heads * self.head_dim * (_least(context, self.window) + _least(far, self.top_k))

    def prefills(self, tokens):
        """The indexer is not counted; a compressed entry is seen by the tokens after those it stands for."""
        before = (
            _least(self.ratio - tokens, 0) / -self.ratio if self.ratio else 0
        )  # entries that stand for tokens before the last block
        far = self.ratio * _pairs(before, self.top_k) if self.ratio else 0
        return 4 * self.layers * self.heads * self.head_dim * (_pairs(tokens, self.window) + far)


class Dense(Group, frozen=True):
    """Ordinary feed-forward blocks: 3 matrices when gated (SwiGLU), 2 when not."""

    layers: Count
    d_ff: Count
    matrices: Count = 3

    def params(self, d_model: int) -> int:
        return self.layers * self.matrices * d_model * self.d_ff

    active_params = params


class Experts(Group, frozen=True):
    """Mixtures of experts: a router over `experts`, of which a token visits `active`, beside `shared` ones for all.
    Where the experts are in several `groups`, those of a token are in at most `limit` of them.
    """

    layers: Count
    experts: Count
    active: Count
    d_ff: Count
    shared: Count = 0
    matrices: Count = 3
    groups: Count = 1
    limit: Count = 1

    def _count(self, d_model: int, visited: int) -> int:
        return self.layers * d_model * (self.experts + self.matrices * self.d_ff * (visited + self.shared))

    def params(self, d_model: int) -> int:
        return self._count(d_model, self.experts)

    def active_params(self, d_model: int) -> int:
        return self._count(d_model, self.active)
