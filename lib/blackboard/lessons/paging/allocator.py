"""A KV cache in blocks that really works: block tables, references, copy-on-write, and a prefix cache; and room in one
piece, for comparison.

The rules are those of vLLM: a block table only grows, only full blocks are cached, a block's hash covers everything
before it, free blocks are taken from the one used longest ago, and a sequence that ends gives its blocks back last one
first. Nothing is stored: an allocator only says where each token goes. A token is a number, or a letter. No formula of
the lesson is used here.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Token = int | str


class OutOfRoom(Exception):
    """There is no room for what was asked; the allocator is as it was."""


def chained(parent: str, tokens: Sequence[Token], salt: str = "") -> str:
    """The hash of a full block: of its tokens, and through its parent's hash of all tokens before it."""
    return hashlib.sha256(f"{parent}|{salt}|{list(tokens)}".encode()).hexdigest()


class BlockPool:
    """Blocks by number: how many sequences hold each, which are free and in which order, and what the full ones are
    cached as.
    """

    def __init__(self, blocks: int):
        self.references = [0] * blocks
        self.queue: OrderedDict[int, None] = OrderedDict.fromkeys(
            range(blocks)
        )  # free blocks; the head was used longest ago
        self.digests: list[str] = [""] * blocks
        self.cached: dict[str, list[int]] = {}  # several blocks may hold the same
        self.evicted: list[int] = []  # cached blocks that were taken for something else, in order

    def take(self) -> int:
        """The free block that was used longest ago, held once; what it was cached as is forgotten."""
        if not self.queue:
            raise OutOfRoom("no free block")
        block, _ = self.queue.popitem(last=False)
        if self.digests[block]:
            self.evicted.append(block)
            self._forget(block)
        self.references[block] = 1
        return block

    def share(self, block: int) -> None:
        """One more sequence holds the block, which may have been free, but was cached."""
        if not self.references[block]:
            del self.queue[block]
        self.references[block] += 1

    def release(self, blocks: Iterable[int]) -> None:
        """One sequence less holds each of the blocks; those that nobody holds go to the end of the queue, in this
        order.
        """
        for block in blocks:
            self.references[block] -= 1
            if not self.references[block]:
                self.queue[block] = None

    def cache(self, block: int, digest: str) -> None:
        """Let a full block be found by its hash."""
        self.digests[block] = digest
        self.cached.setdefault(digest, []).append(block)

    def find(self, digest: str) -> int | None:
        """A block with this hash, or None."""
        return self.cached.get(digest, [None])[0]

    def _forget(self, block: int) -> None:
        same = self.cached[self.digests[block]]
        same.remove(block)
        if not same:
            del self.cached[self.digests[block]]
        self.digests[block] = ""


class Allocator:
    """Says in which block each token of each sequence lies. `caching` finds the blocks of earlier prompts again."""

    def __init__(self, blocks: int, page_tokens: int, caching: bool = True):
        self.pool, self.page_tokens, self.caching = BlockPool(blocks), page_tokens, caching
        self.tokens: dict[str, list[Token]] = {}  # of each sequence
        self.tables: dict[str, list[int]] = {}  # its blocks, in order
        self.salts: dict[str, str] = {}
        self.asked = self.found = self.copies = (
            0  # tokens of all prompts, tokens of them found in the cache, blocks copied on writing
        )

    # --- what a server does ---

    def hits(self, prompt: Sequence[Token], salt: str = "") -> list[int]:
        """Blocks that already hold the head of a prompt. Its last token is always computed, for the model must say
        what follows.
        """
        found, digest = [], ""
        for start in range(
            0, (len(prompt) - 1) // self.page_tokens * self.page_tokens if self.caching else 0, self.page_tokens
        ):
            digest = chained(digest, prompt[start : start + self.page_tokens], salt)
            if (block := self.pool.find(digest)) is None:
                break
            found.append(block)
        return found

    def allocate(self, name: str, prompt: Sequence[Token], salt: str = "") -> int:
        """Room for a new sequence's prompt; the number of its tokens that need not be computed. OutOfRoom if it does
        not fit.
        """
        if name in self.tables or not prompt:
            raise ValueError(f"{name} is there already" if prompt else "a prompt has at least one token")
        found = self.hits(prompt, salt)
        free = len(self.pool.queue) - sum(not self.pool.references[block] for block in found)
        if -(-len(prompt) // self.page_tokens) - len(found) > free:
            raise OutOfRoom(f"{name} needs more blocks than the {free} that are free")
        for block in found:
            self.pool.share(block)
        hit = len(found) * self.page_tokens
        self.tables[name], self.tokens[name], self.salts[name] = found, list(prompt[:hit]), salt
        self._write(name, prompt[hit:])
        self.asked, self.found = self.asked + len(prompt), self.found + hit
        return hit

    def append(self, name: str, *tokens: Token) -> None:
        """Room for a sequence's next tokens. A block that others hold too is copied before it is written. OutOfRoom if
        they do not fit.
        """
        held, size = self.tokens[name], self.page_tokens
        begun = len(held) % size
        if begun and begun + len(tokens) < size and self.pool.references[self.tables[name][-1]] == 1:
            held.extend(tokens)  # into its own last block, which they do not fill
            return
        if self._blocks_for(name, len(tokens)) > len(self.pool.queue):
            raise OutOfRoom(f"{name} needs a block and none is free")
        self._write(name, tokens)

    def fork(self, name: str, copy: str) -> None:
        """A second sequence with the same tokens, in the same blocks: a sample, or a beam."""
        if copy in self.tables:
            raise ValueError(f"{copy} is there already")
        for block in self.tables[name]:
            self.pool.share(block)
        self.tables[copy], self.tokens[copy], self.salts[copy] = (
            self.tables[name][:],
            self.tokens[name][:],
            self.salts[name],
        )

    def free(self, name: str) -> None:
        """A sequence ends. Its last block is the first to be taken again, for fewest prompts begin like all of it."""
        self.pool.release(reversed(self.tables.pop(name)))
        del self.tokens[name], self.salts[name]

    # --- inside ---

    def _blocks_for(self, name: str, more: int) -> int:
        """Free blocks that so many more tokens of a sequence take."""
        held, table = len(self.tokens[name]), self.tables[name]
        copied = more > 0 and held % self.page_tokens > 0 and self.pool.references[table[-1]] > 1
        return -(-(held + more) // self.page_tokens) - len(table) + copied

    def _write(self, name: str, tokens: Sequence[Token]) -> None:
        held, table, size, start = self.tokens[name], self.tables[name], self.page_tokens, 0
        while start < len(tokens):
            if len(held) % size == 0:
                table.append(self.pool.take())
            elif self.pool.references[table[-1]] > 1:
                self._copy(table)
            end = start + size - len(held) % size
            held.extend(tokens[start:end])
            start = end
            if self.caching and len(held) % size == 0:
                parent = self.pool.digests[table[-2]] if len(table) > 1 else ""
                self.pool.cache(table[-1], chained(parent, held[-size:], self.salts[name]))

    def _copy(self, table: list[int]) -> None:
        """A block of the sequence's own in place of its shared last one."""
        own = self.pool.take()
        self.pool.release([table[-1]])
        table[-1], self.copies = own, self.copies + 1

    # --- what there is to see ---

    @property
    def held(self) -> int:
        """Tokens that lie in the cache, shared ones counted once."""
        fill: dict[int, int] = {}
        for name, table in self.tables.items():
            for n, block in enumerate(table):
                fill[block] = min(self.page_tokens, len(self.tokens[name]) - n * self.page_tokens)
        return sum(fill.values())

    @property
    def used(self) -> int:
        """Blocks that some sequence holds."""
        return len(self.pool.references) - len(self.pool.queue)

    @property
    def use(self) -> float:
        """Tokens over the room of the blocks that hold them; 1 where there is none."""
        return self.held / (self.used * self.page_tokens) if self.used else 1.0

    @property
    def hit_rate(self) -> float:
        """Share of all prompts' tokens that were found in the cache."""
        return self.found / self.asked if self.asked else 0.0

    @property
    def free_blocks(self) -> list[int]:
        """Free blocks in the order in which they will be taken."""
        return list(self.pool.queue)

    @property
    def references(self) -> dict[int, int]:
        """By block that is held: how many sequences hold it."""
        return {block: count for block, count in enumerate(self.pool.references) if count}

    @property
    def cached_blocks(self) -> list[int]:
        """Blocks that can be found by their hash, free or not."""
        return [block for block, digest in enumerate(self.pool.digests) if digest]

    def broken(self) -> list[str]:
        """What is wrong, in words; nothing, if no block is lost, freed twice or shared without a reference."""
        counted, free = Counter(block for table in self.tables.values() for block in table), self.pool.queue
        wrong = [
            f"block {n}: held {counted[n]} times, counted {count}"
            for n, count in enumerate(self.pool.references)
            if count != counted[n]
        ]
        wrong += [f"block {block}: held and free" for block in free if counted[block]]
        wrong += [
            f"block {block}: lost"
            for block in range(len(self.pool.references))
            if not counted[block] and block not in free
        ]
        for name, table in self.tables.items():
            if len(table) != -(-len(self.tokens[name]) // self.page_tokens) or len(set(table)) != len(table):
                wrong.append(f"{name}: {len(self.tokens[name])} tokens in blocks {table}")
        holds: dict[int, tuple[Token, ...]] = {}
        for name, n, block in (
            (name, n, block) for name, table in self.tables.items() for n, block in enumerate(table)
        ):
            tokens = tuple(self.tokens[name][n * self.page_tokens : (n + 1) * self.page_tokens])
            if holds.setdefault(block, tokens) != tokens:
                wrong.append(f"block {block}: {name} and another hold different tokens in it")
        return wrong

    def __repr__(self) -> str:
        listed = lambda blocks: " ".join(map(str, blocks)) or "none"
        lines = [
            f"{len(self.pool.references)} blocks of {self.page_tokens} tokens: {self.used} held, {len(self.pool.queue)}"
            " free"
        ]
        lines += [
            f"{name}: blocks {listed(table)}, {len(self.tokens[name])} tokens" for name, table in self.tables.items()
        ]
        shared = [f"{block} ({count} times)" for block, count in self.references.items() if count > 1]
        lines += [f"shared: {', '.join(shared)}"] * bool(shared)
        return "\n".join(
            [*lines, f"free, next first: {listed(self.free_blocks)}", f"cached: {listed(self.cached_blocks)}"]
        )


# --- room in one piece ------------------------------------------------------------------------------------------------


class Reservation(NamedTuple):
    """A piece of memory set aside for one sequence: its first slot, how many slots, and the tokens in it."""

    start: int
    slots: int
    tokens: int


class Contiguous:
    """Room for each sequence in one piece, the first that is long enough; with `buddy`, pieces are powers of two and
    lie at their multiples.
    """

    def __init__(self, slots: int, buddy: bool = False):
        self.slots, self.buddy = slots, buddy
        self.held: dict[str, Reservation] = {}

    def allocate(self, name: str, tokens: int, reserve: int) -> None:
        """Room for `reserve` tokens, `tokens` of them there already. OutOfRoom if no gap is long enough."""
        if name in self.held:
            raise ValueError(f"{name} is there already")
        size = 1 << (reserve - 1).bit_length() if self.buddy else reserve
        start = 0
        for piece in sorted(self.held.values()):
            if start + size <= piece.start:
                break
            start = piece.start + piece.slots
            start = -(-start // size) * size if self.buddy else start
        if start + size > self.slots:
            raise OutOfRoom(f"{name} needs {size} slots in one piece")
        self.held[name] = Reservation(start, size, tokens)

    def append(self, name: str, tokens: int = 1) -> None:
        """More tokens in a sequence's own room."""
        piece = self.held[name]
        if piece.tokens + tokens > piece.slots:
            raise OutOfRoom(f"{name} has outgrown its {piece.slots} slots")
        self.held[name] = piece._replace(tokens=piece.tokens + tokens)

    def free(self, name: str) -> None:
        """A sequence ends."""
        del self.held[name]

    @property
    def use(self) -> float:
        """Tokens over all slots."""
        return sum(piece.tokens for piece in self.held.values()) / self.slots

    def broken(self) -> list[str]:
        """What is wrong, in words; nothing, if no two pieces overlap and none leaves the memory."""
        pieces = sorted(self.held.values())
        wrong = [
            f"{one} and {two} overlap" for one, two in zip(pieces, pieces[1:]) if one.start + one.slots > two.start
        ]
        return wrong + [
            f"{piece} leaves the memory"
            for piece in pieces
            if piece.start < 0 or piece.start + piece.slots > self.slots
        ]

    def __repr__(self) -> str:
        lines = [
            f"{name}: slots {p.start} to {p.start + p.slots - 1}, {p.tokens} tokens" for name, p in self.held.items()
        ]
        return "\n".join([f"{self.slots} slots, {100 * self.use:.0f}% of them with a token", *lines])
