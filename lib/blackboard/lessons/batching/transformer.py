"""A small decoder-only transformer in NumPy that counts what it multiplies and what it reads.

RMS norm, rotary positions, attention with grouped KV heads, a gated feed-forward network or a mixture of such
experts with router and shared expert, and a KV cache. It computes what a large model computes, only smaller: decoding
with the cache, one token at a time, gives the same logits as one full pass without it.

Every matrix product goes through a `Ledger`. That makes it the second route of the lesson's formulas: they say how
many FLOPs and bytes a step takes, the ledger counts them while the step runs.

The accounting, so that the two can be compared exactly:

- `n_total` of the formulas is every parameter that stands in a matrix product: query, key, value, output, router,
  all experts, unembedding. `n_active` is the part that one token meets: `top_k` of the routed experts, all the rest.
- The embedding is a lookup. It multiplies nothing and a step reads only one row of it per token. Where it is tied
  to the unembedding, the same table is also a matrix of that product, and counted there, once.
- The gains of the norms multiply element by element, a few thousand numbers beside billions. They are counted as
  `other_bytes`, with the looked-up rows, and belong to neither n_total nor n_active.
- Attention multiplies tokens with tokens, not with parameters: counted apart, as `attention_macs`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Config:
    """Sizes of a transformer; `experts=0` is a dense feed-forward network, otherwise `top_k` of them per token."""

    layers: int = 2
    width: int = 32
    heads: int = 4
    kv_heads: int = 2
    head_width: int = 8
    ffn_width: int = 48
    vocab: int = 96
    experts: int = 0
    top_k: int = 0
    shared_experts: int = 0
    tied: bool = False

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads or self.head_width % 2:
            raise ValueError("heads must be a multiple of kv_heads, and head_width even (rotary positions turn pairs)")
        if not (1 <= self.top_k <= self.experts if self.experts else self.top_k == self.shared_experts == 0):
            raise ValueError("a mixture needs 1 <= top_k <= experts; a dense network has top_k = shared_experts = 0")


class Parameters(NamedTuple):
    """Parameters by what a step does with them (see the module's text)."""

    n_total: int  # stand in a matrix product
    n_active: int  # stand in a matrix product with one given token
    lookup: int  # an embedding of its own, read by row
    gains: int  # of the norms

    @property
    def stored(self) -> int:
        """What a model card counts."""
        return self.n_total + self.lookup + self.gains


def matrices(config: Config) -> dict[str, tuple[int, int]]:
    """Shape [in, out] of every matrix that takes part in a product, by name."""
    width = config.width
    shapes: dict[str, tuple[int, int]] = {}
    query, keys = config.heads * config.head_width, config.kv_heads * config.head_width
    for layer in (f"layer{i}" for i in range(config.layers)):
        shapes |= {f"{layer}.query": (width, query), f"{layer}.key": (width, keys)}
        shapes |= {f"{layer}.value": (width, keys), f"{layer}.output": (query, width)}
        if config.experts:
            shapes[f"{layer}.router"] = (width, config.experts)
        for network in _networks(config):
            shapes |= {
                f"{layer}.{network}.gate": (width, config.ffn_width),
                f"{layer}.{network}.up": (width, config.ffn_width),
            }
            shapes[f"{layer}.{network}.down"] = (config.ffn_width, width)
    return shapes | {"unembedding": (width, config.vocab)}


def _networks(config: Config) -> list[str]:
    """Names of a layer's feed-forward networks."""
    routed = [f"expert{e}" for e in range(config.experts)]
    return routed + [f"shared{s}" for s in range(config.shared_experts)] or ["ffn"]


def parameters(config: Config) -> Parameters:
    """The parameter counts of a configuration, from the shapes of its matrices."""
    n_total = sum(rows * columns for rows, columns in matrices(config).values())
    one_expert = 3 * config.width * config.ffn_width
    idle = config.layers * (config.experts - config.top_k) * one_expert
    lookup = 0 if config.tied else config.vocab * config.width
    return Parameters(n_total, n_total - idle, lookup, (2 * config.layers + 1) * config.width)


def kv_bytes_per_token(config: Config, bytes_per_value: int) -> int:
    """Bytes that one token leaves in the cache: a key and a value, per layer and KV head."""
    return 2 * config.layers * config.kv_heads * config.head_width * bytes_per_value


def attention_share(config: Config, context):
    """The share of a decode step's multiply-adds that goes to attention, which t_compute leaves out.

    `context` in tokens, a number or an array. Each head multiplies its query with context + 1 keys, and the scores
    with as many values. Reading the cache becomes the bottleneck long before this share matters: grouped heads do
    only heads / kv_heads multiply-adds per value read.
    """
    attention = 2 * config.layers * config.heads * config.head_width * (np.asarray(context) + 1)
    return attention / (attention + parameters(config).n_active)


@dataclass
class Ledger:
    """What a step multiplied and read. Multiply-adds (1 mac = 2 FLOP), bytes; a matrix's bytes count once per step."""

    weight_macs: int = 0
    attention_macs: int = 0
    weight_bytes: int = 0
    kv_bytes: int = 0  # read from the cache
    kv_bytes_written: int = 0
    other_bytes: int = 0  # rows looked up, gains of norms
    touched: set[str] = field(default_factory=set)

    def multiply(self, x: np.ndarray, matrix: np.ndarray, name: str) -> np.ndarray:
        """x [..., in] @ matrix [in, out], counted."""
        self.weight_macs += x.size * matrix.shape[1]
        if name not in self.touched:
            self.touched.add(name)
            self.weight_bytes += matrix.nbytes
        return x @ matrix

    def attend(self, indices: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """einsum of two activations, counted: one multiply-add for each combination of all indices."""
        left, right = indices.split("->")[0].split(",")
        self.attention_macs += math.prod((dict(zip(left, a.shape)) | dict(zip(right, b.shape))).values())
        return np.einsum(indices, a, b)

    @property
    def attention_share(self) -> float:
        """Attention's part of all multiply-adds."""
        return self.attention_macs / (self.attention_macs + self.weight_macs)


class Cache:
    """Keys and values of the past tokens: one array [2, batch, tokens, kv_heads, head_width] per layer."""

    def __init__(self, config: Config, batch: int, dtype: np.dtype):
        empty = np.zeros((2, batch, 0, config.kv_heads, config.head_width), dtype)
        self.layers = [empty] * config.layers

    @property
    def length(self) -> int:
        """Tokens that every sequence has in the cache."""
        return self.layers[-1].shape[2]

    def extend(self, layer: int, new: np.ndarray, ledger: Ledger) -> np.ndarray:
        """Read a layer's past, append its new tokens, return both together."""
        past = self.layers[layer]
        ledger.kv_bytes += past.nbytes
        ledger.kv_bytes_written += new.nbytes
        self.layers[layer] = np.concatenate([past, new], axis=2)
        return self.layers[layer]


class Transformer:
    """A transformer with random weights. `forward` is a full pass, or with a cache a prefill or a decode step."""

    def __init__(self, config: Config, seed: int = 0, dtype=np.float64):
        draw = np.random.default_rng(seed)
        self.config, self.dtype = config, np.dtype(dtype)
        # a variance of 1/in keeps the activations of every layer about as large as its inputs
        random = lambda rows, columns: (draw.standard_normal((rows, columns)) / np.sqrt(rows)).astype(dtype)
        self.weights = {name: random(*shape) for name, shape in matrices(config).items()}
        self.table = self.weights["unembedding"].T if config.tied else random(config.vocab, config.width)
        self.gains = np.ones((2 * config.layers + 1, config.width), dtype)

    def forward(self, tokens: np.ndarray, cache: Cache | None = None, ledger: Ledger | None = None) -> np.ndarray:
        """Logits [batch, time, vocab] of integer tokens [batch, time], which follow those in the cache."""
        ledger = Ledger() if ledger is None else ledger
        start = cache.length if cache else 0  # before the layers append to it
        x = self.table[tokens]
        ledger.other_bytes += x.nbytes
        for layer in range(self.config.layers):
            x = x + self._attention(self._norm(x, 2 * layer, ledger), layer, start, cache, ledger)
            x = x + self._feed_forward(self._norm(x, 2 * layer + 1, ledger), layer, ledger)
        return self._multiply(self._norm(x, -1, ledger), "unembedding", ledger)

    def _multiply(self, x: np.ndarray, name: str, ledger: Ledger) -> np.ndarray:
        return ledger.multiply(x, self.weights[name], name)

    def _norm(self, x: np.ndarray, which: int, ledger: Ledger) -> np.ndarray:
        """RMS norm over the last axis, times a gain."""
        ledger.other_bytes += self.gains[which].nbytes
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6).astype(self.dtype) * self.gains[which]

    def _attention(self, x: np.ndarray, layer: int, start: int, cache: Cache | None, ledger: Ledger) -> np.ndarray:
        """Causal attention; b batch, t new and s all tokens, g KV heads, r query heads of each, d head width."""
        c, (batch, time, _) = self.config, x.shape
        heads = lambda name, n: self._multiply(x, f"layer{layer}.{name}", ledger).reshape(batch, time, n, c.head_width)
        query, key = rotate(heads("query", c.heads), start), rotate(heads("key", c.kv_heads), start)
        both = np.stack([key, heads("value", c.kv_heads)])
        keys, values = cache.extend(layer, both, ledger) if cache else both
        query = query.reshape(batch, time, c.kv_heads, c.heads // c.kv_heads, c.head_width)
        scores = ledger.attend("btgrd,bsgd->bgrts", query, keys) / np.sqrt(c.head_width).astype(self.dtype)
        future = np.arange(keys.shape[1]) > start + np.arange(time)[:, None]
        scores = softmax(np.where(future, -np.inf, scores))
        mixed = ledger.attend("bgrts,bsgd->btgrd", scores, values)
        return self._multiply(mixed.reshape(batch, time, -1), f"layer{layer}.output", ledger)

    def _feed_forward(self, x: np.ndarray, layer: int, ledger: Ledger) -> np.ndarray:
        flat = x.reshape(-1, self.config.width)  # tokens of all sequences alike
        mixture: Any = self._experts(flat, layer, ledger) if self.config.experts else 0
        always = [name for name in _networks(self.config) if not name.startswith("expert")]
        return (mixture + sum(self._gated(flat, f"layer{layer}.{name}", ledger) for name in always)).reshape(x.shape)

    def _experts(self, x: np.ndarray, layer: int, ledger: Ledger) -> np.ndarray:
        """Each token goes to its top_k experts; an expert that no token chose is neither read nor multiplied."""
        affinity = self._multiply(x, f"layer{layer}.router", ledger)
        chosen = np.argsort(-affinity, axis=1)[:, : self.config.top_k]
        share = softmax(np.take_along_axis(affinity, chosen, axis=1))
        out = np.zeros_like(x)
        for expert in np.unique(chosen):
            token, place = np.nonzero(chosen == expert)
            out[token] += share[token, place, None] * self._gated(x[token], f"layer{layer}.expert{expert}", ledger)
        return out

    def _gated(self, x: np.ndarray, name: str, ledger: Ledger) -> np.ndarray:
        """Gated network: down(silu(gate x) · up x)."""
        gate, up = self._multiply(x, f"{name}.gate", ledger), self._multiply(x, f"{name}.up", ledger)
        return self._multiply(gate / (1 + np.exp(-gate)) * up, f"{name}.down", ledger)


def rotate(x: np.ndarray, start: int) -> np.ndarray:
    """Rotary positions: turn each pair of x [batch, time, heads, head_width] by an angle that grows with time."""
    half = x.shape[-1] // 2
    angle = (start + np.arange(x.shape[1]))[:, None, None] * 10_000.0 ** (-np.arange(half) / half)
    cos, sin, a, b = np.cos(angle), np.sin(angle), x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1).astype(x.dtype)


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def decode(model: Transformer, tokens: np.ndarray) -> np.ndarray:
    """The logits that `forward` gives, [batch, time, vocab], but token by token with the cache."""
    cache = Cache(model.config, len(tokens), model.dtype)
    return np.concatenate([model.forward(tokens[:, t : t + 1], cache) for t in range(tokens.shape[1])], axis=1)


def count_step(model: Transformer, batch: int, context: int, seed: int = 0) -> Ledger:
    """The ledger of one decode step: `batch` sequences of random tokens, `context` tokens each in the cache.

    What stands in the cache changes no count, so it is filled with random numbers instead of a prefill.
    """
    draw = np.random.default_rng(seed)
    cache, ledger = Cache(model.config, batch, model.dtype), Ledger()
    shape = (2, batch, context, *cache.layers[0].shape[3:])
    cache.layers = [draw.standard_normal(shape).astype(model.dtype) for _ in cache.layers]
    model.forward(draw.integers(model.config.vocab, size=(batch, 1)), cache, ledger)
    return ledger


MIXTURE = Config(layers=3, kv_heads=1, experts=8, top_k=2, shared_experts=1)
