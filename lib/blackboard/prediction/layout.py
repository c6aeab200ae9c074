"""How a model is cut over chips: what each chip holds, and how many of them share a token's work.

A model is cut into `pipeline` stages of layers. In a stage, `tensor` chips share every matrix of attention and of dense
feed-forward blocks, and the stage holds as many copies of them as it has such groups: each copy serves its own
sequences. Routed experts are dealt out over `expert` chips; with expert=1 their matrices are cut like all others. Keys
and values are dealt out by heads, as far as there are heads; a latent (MLA) has none, so that every chip of a group
holds all of it. With cache="tokens" they are dealt out by tokens or sequences instead, evenly over all chips of a group
(attention by batch, context parallelism).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

from blackboard.catalogue import Chip, Model
from blackboard.catalogue.architecture import Compressed, Experts, Heads, Latent, bytes_per_param


def _uneven(count: int, what: str, parts: int, holders: str, price: str) -> str:
    """What the fullest part has beyond the mean, which the terms are computed for; empty where all have the same."""
    if not count % parts:
        return ""
    most = -(-count // parts)
    beyond = f"{100 * (most * parts / count - 1):.3g}% more than the mean that is predicted"
    return f"{count} {what} on {parts} {holders}: the fullest has {most}, {beyond}, {price}"


class LayoutError(ValueError):
    """Chips and ways of cutting that do not go together."""


@dataclass(frozen=True)
class Layout:
    """One model on so many chips of a kind. LayoutError where the numbers do not divide, or are not whole and
    positive.
    """

    model: Model
    chip: Chip
    chips: int = 1
    tensor: int = 1
    expert: int = 1
    pipeline: int = 1
    cache: str = "heads"

    def __post_init__(self) -> None:
        if self.model.given:
            raise LayoutError(
                f"{self.model.id} has round numbers only, no layers to cut; choose a model with an architecture"
            )
        for name in ("chips", "tensor", "expert", "pipeline"):
            if not isinstance(value := getattr(self, name), Integral) or isinstance(value, bool) or value < 1:
                raise LayoutError(f"{name} must be a whole number, 1 or more, not {value!r}")
        if self.cache not in ("heads", "tokens"):
            raise LayoutError(f'cache is dealt out by "heads" or by "tokens", not by {self.cache!r}')
        if self.chips % (self.tensor * self.pipeline):
            raise LayoutError(
                f"{self.chips} chips are not a multiple of tensor × pipeline = {self.tensor} × {self.pipeline}"
            )
        if self.stage_chips % self.expert:
            raise LayoutError(
                f"a stage has {self.stage_chips} chips, which {self.expert} chips of experts do not divide"
            )
        if self.expert > 1 and not self.model.moe:
            raise LayoutError(f"{self.model.id} has no experts to deal out over {self.expert} chips; leave expert at 1")
        if 0 < (experts := min((group.experts for group in self._moes), default=0)) < self.expert:
            fewer = max(n for n in range(1, experts + 1) if self.stage_chips % n == 0)
            raise LayoutError(
                f"{self.model.id} has {experts} experts in a layer, fewer than expert = {self.expert} chips; take"
                f" expert={fewer}, and {self.stage_chips} chips hold {self.stage_chips // fewer} copies of them"
            )
        if self.pipeline > self.model.layers:
            raise LayoutError(f"{self.model.id} has {self.model.layers} layers, fewer than {self.pipeline} stages")

    # --- groups of chips

    @property
    def stage_chips(self) -> int:
        return self.chips // self.pipeline

    @property
    def ranks(self) -> int:
        """Groups of `tensor` chips in a stage: each has its own sequences."""
        return self.stage_chips // self.tensor

    @property
    def expert_group(self) -> int:
        """Chips over which one copy of the routed experts is spread."""
        return self.expert if self.expert > 1 else self.tensor

    def expert_chips(self, sequences: float) -> float:
        """Chips whose experts can be given tokens, if there are so many sequences: those of another group are out of
        their reach.
        """
        return min(self.stage_chips, max(self.tensor, self.expert_group) * max(1, sequences))

    @property
    def domain(self) -> int:
        """Chips of one scale-up domain."""
        return self.chip.scale_up.domain_chips

    @property
    def domains(self) -> float:
        """Scale-up domains over which a routed layer is spread."""
        return max(1, self.expert / self.domain)

    @property
    def open_domains(self) -> float:
        """Those in which a token's experts can be, on average: its router may take few groups of experts, which are
        dealt out over the domains in turn.
        """
        moe, domains = self.model.moe, self.domains
        if moe is None or moe.limit >= moe.groups:
            return domains
        if domains >= moe.groups:
            return domains * moe.limit / moe.groups
        there = moe.groups / domains  # groups of one domain; none of them is taken with the chance:
        missed = math.prod(max(0.0, moe.groups - there - n) / (moe.groups - n) for n in range(moe.limit))
        return domains * (1 - missed)

    @property
    def sure_domains(self) -> float:
        """Those of a token's groups, each of which was taken for its experts."""
        return min(self.open_domains, self.model.moe.limit if self.model.moe else 1)

    # --- parameters, of the whole model

    @property
    def embedding(self) -> int:
        """Looked up, not multiplied."""
        return self.model.vocab * self.model.d_model

    head = embedding  # multiplied for the tokens that are to be sampled; with tied embeddings the same matrix

    @property
    def routed(self) -> int:
        """Parameters of experts that tokens are routed to."""
        return sum(g.layers * g.experts * g.matrices * g.d_ff for g in self._moes) * self.model.d_model

    @property
    def routed_active(self) -> float:
        """Those that one token visits."""
        return sum(g.layers * g.active * g.matrices * g.d_ff for g in self._moes) * self.model.d_model

    @cached_property
    def common(self) -> float:
        """Those that every token visits: attention with its indexer, which published totals leave out, dense and
        shared feed-forward blocks, routers; without embeddings and head.
        """
        indexers = sum(g.index_params(self.model.d_model) for g in self.model.attention if isinstance(g, Latent))
        stored = self.embedding * (1 if self.model.tied_embeddings else 2)
        return self.model.n_total + indexers - self.routed - stored

    @property
    def _moes(self) -> list[Experts]:
        return [group for group in self.model.ffn if isinstance(group, Experts)]

    @property
    def routed_layers(self) -> int:
        return sum(group.layers for group in self._moes)

    # --- what is cut badly

    @property
    def beware(self) -> list[str]:
        """What chips or stages cannot share evenly, or only over slow links; and what is not counted."""
        told = [
            f"{heads} heads on {self.tensor} chips are not cut evenly"
            for heads in self._each("heads")
            if heads % self.tensor
        ]
        if self.cache == "heads":
            if self.tensor > 1 and not all(hasattr(group, "kv_heads") for group in self.model.attention):
                told.append(f"a latent has no heads to be cut by: each of {self.tensor} chips holds all of it")
            told += [said for count in self._each("kv_heads") if (said := self._copies(count))]
        if self.tensor > self.domain:
            told.append(
                f"a group of {self.tensor} tensor chips, and a scale-up domain has {self.domain}: every all-reduce"
                " leaves it"
            )
        if self.expert > 1:
            price = "and takes as much longer over them"
            told += [_uneven(group.experts, "experts", self.expert, "chips", price) for group in self._moes]
        stages = "and all wait for it where every stage has work"
        told.append(_uneven(self.model.layers, "layers", self.pipeline, "stages", stages))
        if any(isinstance(group, Compressed) and group.index_dim for group in self.model.attention):
            told.append("the indexer's keys are counted, its parameters and its FLOPs are not")
        told += [f"config.json: {said}" for said in self.model.not_understood]
        return list(filter(None, dict.fromkeys(told)))

    def _each(self, name: str) -> list[int]:
        """Counts of heads that differ, over the groups of attention layers."""
        return sorted({getattr(group, name) for group in self.model.attention if hasattr(group, name)})

    def _copies(self, kv_heads: int) -> str:
        """Why heads of keys and values do not go evenly over a group; empty where they do."""
        what, times = (
            f"{kv_heads} key-value head{'s' if kv_heads > 1 else ''} on {self.tensor} chips",
            -(-self.tensor // kv_heads),
        )
        if times == 1:
            return f"{what} are not cut evenly" if kv_heads % self.tensor else ""
        return (
            f"{what}: {'some are' if self.tensor % kv_heads else 'each is'} held"
            f" {'twice' if times == 2 else f'{times} times'}"
        )

    # --- on one chip

    def cache_shards(self, group) -> int:
        """Chips that a group of layers deals its cache out over, of the `tensor` that share a sequence."""
        if self.cache == "tokens":
            return self.tensor
        return min(self.tensor, group.kv_heads) if isinstance(group, Heads) else 1

    def weights_per_chip(self, precision: str) -> dict[str, float]:
        """Bytes by part; a head tied to the embeddings is counted there."""
        size, stored = bytes_per_param(precision), 1 if self.model.tied_embeddings else 2
        parts = {
            "attention and dense": self.common / self.tensor,
            "experts": self.routed / self.expert_group,
            "embeddings": stored * self.embedding / self.tensor,
        }
        return {name: size * count / self.pipeline for name, count in parts.items() if count}

    def cache_per_chip(self, batch: float, context: float, precision: str) -> float:
        """Bytes of cache on one chip; with fewer sequences than groups, some groups hold none and others one."""
        per_sequence = sum(group.held(context, precision) / self.cache_shards(group) for group in self.model.attention)
        return batch / min(self.ranks, max(1, batch)) * per_sequence / self.pipeline
