"""A KV cache in blocks for models that mix layers with full attention and layers with a sliding window.

Layers are put into groups of equal size, so that a block of any group takes the same bytes and one pool serves all. A
group of full layers keeps every block of a sequence, a group of window layers only those that the next token still
sees. The rules are those of vLLM. Blocks are counted as they are taken and given back; no formula of the lesson is used
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from blackboard.lessons.paging.allocator import BlockPool, OutOfRoom, chained


class Group(NamedTuple):
    """Layers that share block tables: how many, the tokens that their window keeps (None: all), and slots without a
    layer.
    """

    layers: int
    window: int | None = None
    padding: int = 0

    def first(self, tokens: int, page_tokens: int) -> int:
        """The first block that the next token still sees: it sees itself and window - 1 tokens before it."""
        return 0 if self.window is None else max(0, tokens - self.window + 1) // page_tokens


def groups(full_layers: int, window_layers: int, window: int) -> list[Group]:
    """Groups of layers, each as large as the rarer kind; the last of a kind is filled up with padding."""
    size = min(n for n in (full_layers, window_layers) if n)
    found = []
    for layers, keeps in ((full_layers, None), (window_layers, window)):
        for start in range(0, layers, size):
            held = min(size, layers - start)
            found.append(Group(held, keeps, size - held))
    return found


class HybridAllocator:
    """Says in which blocks each group keeps the tokens of each sequence; None where it needs none any more."""

    def __init__(self, blocks: int, page_tokens: int, groups: Sequence[Group]):
        self.pool, self.page_tokens, self.groups = BlockPool(blocks), page_tokens, list(groups)
        self.tables: dict[str, list[list[int | None]]] = {}  # by sequence and group
        self.tokens: dict[str, list[int]] = {}
        self.digests: dict[str, list[str]] = {}

    def hit(self, prompt: Sequence[int]) -> int:
        """Tokens of a prompt that need not be computed: the longest head whose blocks every group has, of those that
        it needs.
        """
        chain = self._chain(prompt, (len(prompt) - 1) // self.page_tokens)
        return (
            max(n for n in range(len(chain) + 1) if all(self._has(g, chain, n) for g in range(len(self.groups))))
            * self.page_tokens
        )

    def allocate(self, name: str, prompt: Sequence[int]) -> int:
        """Room for a new sequence's prompt; the tokens that need not be computed. OutOfRoom if it does not fit.

        A long prompt takes window blocks only for its last tokens: the rest is given back before it is taken.
        """
        if name in self.tables or not prompt:
            raise ValueError(f"{name} is there already" if prompt else "a prompt has at least one token")
        hit, chain = self.hit(prompt), self._chain(prompt, len(prompt) // self.page_tokens)
        shared = [self._shared(g, chain, hit // self.page_tokens) for g in range(len(self.groups))]
        total = -(-len(prompt) // self.page_tokens)
        fresh = sum(
            sum(n >= len(held) for n in range(g.first(len(prompt), self.page_tokens), total))
            for g, held in zip(self.groups, shared)
        )
        free = len(self.pool.queue) - len(
            {b for held in shared for b in held if b is not None and not self.pool.references[b]}
        )
        if fresh > free:
            raise OutOfRoom(f"{name} needs {fresh} blocks and {free} are free")
        for block in (b for held in shared for b in held if b is not None):
            self.pool.share(block)
        self.tables[name], self.tokens[name], self.digests[name] = shared, list(prompt), chain
        for g in range(len(self.groups)):
            self._grow(name, g, hit // self.page_tokens)
        return hit

    def append(self, name: str, *tokens: int) -> None:
        """Room for a sequence's next tokens; window groups give back the blocks that no token will see again.

        OutOfRoom at the first token that does not fit; those before it are kept.
        """
        for token in tokens:
            full = len(self.tokens[name]) % self.page_tokens == 0
            if full and len(self.pool.queue) < len(self.groups):
                raise OutOfRoom(f"{name} needs a block for each of {len(self.groups)} groups")
            self.tokens[name].append(token)
            before = len(self.digests[name])
            self.digests[name] = self._chain(
                self.tokens[name], len(self.tokens[name]) // self.page_tokens, self.digests[name]
            )
            for g in range(len(self.groups)):
                self._grow(name, g, before)

    def free(self, name: str) -> None:
        """A sequence ends; each group gives its blocks back, last one first."""
        for table in self.tables.pop(name):
            self.pool.release(block for block in reversed(table) if block is not None)
        del self.tokens[name], self.digests[name]

    def blocks(self, name: str) -> list[list[int]]:
        """By group: the blocks that a sequence holds."""
        return [[block for block in table if block is not None] for table in self.tables[name]]

    # --- inside ---

    def _chain(self, tokens: Sequence[int], blocks: int, known: Sequence[str] = ()) -> list[str]:
        """Hashes of the first so many full blocks."""
        chain = list(known)
        for n in range(len(chain), blocks):
            chain.append(chained(chain[-1] if chain else "", tokens[n * self.page_tokens : (n + 1) * self.page_tokens]))
        return chain

    def _has(self, group: int, chain: Sequence[str], blocks: int) -> bool:
        """Whether a group has what it needs to go on after so many blocks."""
        first = self.groups[group].first(blocks * self.page_tokens, self.page_tokens)
        return all(self.pool.find(f"{group} {chain[n]}") is not None for n in range(first, blocks))

    def _shared(self, group: int, chain: Sequence[str], blocks: int) -> list[int | None]:
        first = self.groups[group].first(blocks * self.page_tokens, self.page_tokens)
        return [self.pool.find(f"{group} {chain[n]}") if n >= first else None for n in range(blocks)]

    def _grow(self, name: str, g: int, cached: int) -> None:
        """Take the blocks that a group needs and lacks, cache those that are full, give back those behind the
        window.
        """
        table, tokens, chain = self.tables[name][g], len(self.tokens[name]), self.digests[name]
        first = self.groups[g].first(tokens, self.page_tokens)
        while len(table) * self.page_tokens < tokens:
            table.append(self.pool.take() if len(table) >= first else None)
        for n in range(cached, len(chain)):
            if (block := table[n]) is not None:
                self.pool.cache(block, f"{g} {chain[n]}")
        behind = [n for n in range(min(first, len(table))) if table[n] is not None]
        self.pool.release(block for n in reversed(behind) if (block := table[n]) is not None)
        for n in behind:
            table[n] = None

    def broken(self) -> list[str]:
        """What is wrong with the blocks, in words; nothing, if none is lost, freed twice or held without a
        reference.
        """
        held = [block for tables in self.tables.values() for table in tables for block in table if block is not None]
        wrong = [
            f"block {b}: held {held.count(b)} times, counted {n}"
            for b, n in enumerate(self.pool.references)
            if n != held.count(b)
        ]
        return wrong + [
            f"block {b}: held and free, or lost"
            for b, n in enumerate(self.pool.references)
            if (n == 0) != (b in self.pool.queue)
        ]

    def __repr__(self) -> str:
        lines = [
            f"{len(self.pool.references)} blocks of {self.page_tokens} tokens for {len(self.groups)} groups,"
            f" {len(self.pool.queue)} free"
        ]
        for name in self.tables:
            lines.append(f"{name}: {len(self.tokens[name])} tokens")
            for group, blocks in zip(self.groups, self.blocks(name)):
                kind = "full" if group.window is None else f"window {group.window}"
                lines.append(f"  {group.layers} layers, {kind}: blocks {' '.join(map(str, blocks)) or 'none'}")
        return "\n".join(lines)
