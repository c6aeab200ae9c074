"""The paging lab's allocator: blocks that are counted, and a token more with copy-on-write."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from blackboard.lab import Step, Trial
from blackboard.lab_values import count

# --- blocks and who holds them ----------------------------------------------------------------------------------------


class Blocks:
    """Hands out the blocks of a KV cache and counts how many sequences hold each.

    Blocks are numbered 0 to count - 1. A block is free while no sequence holds it. You choose what to store.
    """

    def __init__(self, count):
        """At first all blocks are free."""
        self.free = list(range(count))
        self.counts = [0] * count

    def take(self):
        """Any free block, which one sequence holds from now on; None if no block is free."""
        if not self.free:
            return None
        block = self.free.pop()
        self.counts[block] = 1
        return block

    def share(self, block):
        """One more sequence holds the block."""
        self.counts[block] += 1

    def release(self, block):
        """One sequence fewer holds the block; once none does, it is free again."""
        self.counts[block] -= 1
        if self.counts[block] == 0:
            self.free.append(block)

    def holders(self, block):
        """How many sequences hold the block; 0 if it is free."""
        return self.counts[block]


NAMES = ("Ann", "Bob", "Cai", "Dee")


def _moves(rng: random.Random) -> tuple:
    count, moves = rng.randint(1, 3), []
    has: dict[str, int] = {}  # each name has one block at most
    for n in range(rng.randint(1, 9)):
        name = rng.choice(NAMES)
        if name in has:
            moves.append(f"{name} releases")
            del has[name]
        elif has and rng.random() < 0.4:
            other = rng.choice(sorted(has))
            moves.append(f"{name} shares with {other}")
            has[name] = has[other]
        else:
            moves.append(f"{name} takes")
            if len(set(has.values())) < count:
                has[name] = n
    return count, moves


class _Seen(NamedTuple):
    """A block after a move."""

    block: Any
    holders: Any

    def __repr__(self) -> str:
        return f"block {self.block!r} held by {self.holders!r}"


def _play_moves(made: Any, count: int, moves: list[str]) -> list:
    """After each move: its block, and how many sequences hold it; None where a block was refused."""
    blocks, has = made(count), {}
    seen: list[_Seen | None] = []
    for name, act, *other in map(str.split, moves):
        if act == "looks":
            seen.append(_Seen(0, blocks.holders(0)))
            continue
        if act == "takes":
            has[name] = blocks.take()
        elif act == "shares":
            has[name] = has[other[-1]]
        block = has.pop(name) if act == "releases" else has[name]
        if block is not None and act != "takes":
            (blocks.release if act == "releases" else blocks.share)(block)
        seen.append(None if block is None else _Seen(block, blocks.holders(block)))
    return seen


def _write_moves(count: int, moves: list[str]) -> str:
    """The moves as Python: a name stands for the block that its owner has."""
    lines = [f"blocks = Blocks({count})"]
    for name, act, *other in (move.lower().split() for move in moves):
        if act == "looks":
            lines.append("blocks.holders(0)")
        elif act == "takes":
            lines.append(f"{name} = blocks.take()")
        elif act == "shares":
            lines.append(f"{name} = {other[-1]}; blocks.share({name})")
        else:
            lines.append(f"blocks.release({name})")
    return "; ".join(lines)


def _history(trial: Trial) -> Iterator[tuple[str, Any, dict[str, int]]]:
    """Each move, what came of it, and who has which block just before."""
    has: dict[str, Any] = {}
    for move, got in zip(trial.args[1], trial.got):
        yield move, got, {name: block for name, block in has.items() if block is not None}
        name, act, *_ = move.split()
        if act == "looks":
            continue
        has[name] = None if got is None or act == "releases" else got[0]


def _exists(trial: Trial) -> str | None:
    count = trial.args[0]
    for move, got, _ in _history(trial):
        if got and got[0] not in range(count):
            return f"At “{move}” `take()` returned {got[0]!r}; the blocks are 0 to {count - 1}, None if none is free."
    return None


def _one_holder(trial: Trial) -> str | None:
    before: list[str] = []
    for move, got, has in _history(trial):
        holder = next((name for name, block in has.items() if got and block == got[0]), None)
        if "takes" in move and holder:
            freed = next((each for each in reversed(before) if "releases" in each), "")
            why = f" Look at `release`: at “{freed}” it freed a block that others still held." if freed else ""
            return f"At “{move}” `take()` returned {got[0]}, which {holder} still holds.{why}"
        before.append(move)
    return None


def _none_lost(trial: Trial) -> str | None:
    for move, got, has in _history(trial):
        unused = set(range(trial.args[0])) - set(has.values())
        if "takes" in move and got is None and unused:
            return f"At “{move}” `take()` returned None, but nobody holds block {min(unused)}: it must be free."
    return None


def _counted(trial: Trial) -> str | None:
    for move, got, has in _history(trial):
        if got is None:
            continue
        if "takes" in move and got[0] in has.values():
            return None  # it is not free, which another check says
        method, step = next(words for act, words in COUNTING.items() if act in move)
        holders = Counter(has.values())[got[0]] + {"releases": -1, "looks": 0}.get(move.split()[1], 1)
        if got[1] != holders:
            return (
                f"After “{move}” `holders({got[0]})` must return {holders}; it returned {got[1]!r}. Look at `{method}`:"
                f" it must {step}."
            )
    return None


COUNTING = {  # what each move does, and must do to the number of holders
    "takes": ("take", "set the number of holders to 1"),
    "shares": ("share", "raise the number of holders by 1"),
    "releases": ("release", "lower the number of holders by 1"),
    "looks": ("holders", "count nobody before a block is taken"),
}


class _FreesAtFirstRelease(Blocks):
    def release(self, block):
        self.counts[block] -= 1
        self.free.append(block)


class _NeverFrees(Blocks):
    def release(self, block):
        self.counts[block] -= 1


class _CountsFromOne(Blocks):
    def __init__(self, count):
        self.free = list(range(1, count + 1))
        self.counts = [0] * (count + 1)


class _SharesUncounted(Blocks):
    def share(self, block):
        pass


class _ReleasesUncounted(Blocks):
    def release(self, block):
        self.free.append(block)


class _HeldFromTheStart(Blocks):
    def __init__(self, count):
        self.free, self.counts = list(range(count)), [1] * count


class _TakesUncounted(Blocks):
    def take(self):
        return self.free.pop() if self.free else None

    def release(self, block):
        if self.counts[block] == 0:
            self.free.append(block)
        else:
            self.counts[block] -= 1


BLOCKS = Step(
    "Hand out blocks and count who holds them",
    "Build the allocator of a serving engine: it hands out blocks, and knows how many sequences hold each of them.",
    Blocks,
    "blocks = Blocks(1); blocks.take(); blocks.holders(0)",
    _moves,
    (_exists, _counted, _one_holder, _none_lost),
    {
        _SharesUncounted: _counted,
        _ReleasesUncounted: _counted,
        _FreesAtFirstRelease: _one_holder,
        _NeverFrees: _none_lost,
        _CountsFromOne: _exists,
        _TakesUncounted: _counted,
        _HeldFromTheStart: _counted,
    },
    (
        "Two lists are enough: the free blocks, and for each block the number of its holders.",
        "`release` lowers the count, and only when it has become 0 puts the block back on the free list.",
    ),
    _play_moves,
    count=100,
    also=[
        (1, ["Ann looks"]),
        (1, ["Ann takes"]),
        (1, ["Ann takes", "Bob takes"]),
        (2, ["Ann takes", "Bob shares with Ann", "Ann releases"]),
    ],
    returns="the number of a free block from `take()`, or None, and a whole number from `holders`",
    calls=_write_moves,
    many=True,
)

# --- a token more, and copy-on-write ----------------------------------------------------------------------------------


def append_token(blocks, table, tokens, page_tokens):
    """The block that a sequence's next token goes to; changes the sequence's table where it needs a new block.

    A sequence never writes into a block that others hold too: it takes a block of its own in place of the shared one,
    and releases that (the engine then copies the contents). If it needs a block and none is free, return None and
    change nothing.

    blocks       a `Blocks`
    table        the sequence's blocks, in order
    tokens       how many tokens the sequence has so far
    page_tokens  how many tokens a block has room for
    """
    full = tokens % page_tokens == 0
    if not full and blocks.holders(table[-1]) == 1:
        return table[-1]
    block = blocks.take()
    if block is None:
        return None
    if not full:
        blocks.release(table.pop())
    table.append(block)
    return block


class _Pool(Blocks):
    """Blocks that are held so many times already."""

    def __init__(self, counts: list[int]):
        self.counts, self.free = counts, [block for block, count in enumerate(counts) if not count]

    def __repr__(self) -> str:
        return f"<blocks with {self.counts} holders>"


def _tables(rng: random.Random) -> tuple:
    page_tokens, length = rng.randint(2, 4), rng.randint(0, 3)
    table = rng.sample(range(length + 2), length)
    shared = rng.randint(0, length)  # so many of its blocks are another sequence's too
    counts = [rng.randint(0, 1) for _ in range(length + 2)]
    for n, block in enumerate(table):
        counts[block] = 2 if n < shared else 1
    tokens = length * page_tokens - (rng.randrange(page_tokens) if length else 0)
    return _Pool(counts), table, tokens, page_tokens


def _room_left(trial: Trial) -> bool:
    return trial.args[2] % trial.args[3] > 0


def _given_where_there_is(trial: Trial) -> str | None:
    if trial.want is None or trial.got is not None:
        return None
    blocks, table, tokens, page_tokens = trial.args
    state = f"{count(tokens, 'token')} in blocks of {page_tokens}"
    if not _room_left(trial):
        last = "the last block is full" if table else "there is no block yet"
        return (
            f"You returned None. With {state}, {last}. Nothing is copied, so one free block is enough, and one is free."
        )
    if blocks.counts[table[-1]] == 1:
        return (
            f"You returned None. With {state}, the last block has room, and it is this sequence's own: no free block is"
            " needed."
        )
    return f"You returned None. With {state}, the last block is shared, and a free block is there for the copy."


def _refused_as_it_was(trial: Trial) -> str | None:
    (blocks, table, *_), (now, changed, *_) = trial.args, trial.after
    if trial.want is not None:
        return None
    if trial.got is not None:
        why = "the last block is shared" if _room_left(trial) else "the last block is full" if trial.args[1] else ""
        return f"A new block is needed{why and f', because {why}'}, but none is free: return None."
    for name, was, is_now in (("table is", table, changed), ("holders are", blocks.counts, now.counts)):
        if was != is_now:
            return f"You returned None, but the {name} now {is_now}, not {was}. Take the new block before any change."
    return None


def _at_the_end(trial: Trial) -> str | None:
    table, changed = trial.args[1], trial.after[1]
    kept = table[:-1] if _room_left(trial) else table
    if trial.got is None or (changed[:-1] == kept and changed[-1:] == [trial.got]):
        return None
    if not table:
        why = "the first token needs a new block"
    elif not _room_left(trial):
        why = "the last block is full, so a new one goes to the end"
    elif trial.got == table[-1]:
        why = "the last block has room, so nothing changes"
    else:
        why = "a copy takes the place of the shared block"
    return f"The table is now {changed}; it must be {[*kept, trial.got]}: {why}."


def _not_wasted(trial: Trial) -> str | None:
    blocks, table, *_ = trial.args
    own = _room_left(trial) and blocks.counts[table[-1]] == 1
    fine = not own or trial.got == table[-1]
    return None if fine else f"Block {table[-1]} has room and belongs to this sequence alone: use it."


def _own_block(trial: Trial) -> str | None:
    if trial.got is None or trial.after[0].counts[trial.got] == 1:
        return None
    return f"Writing into block {trial.got} would change what another sequence reads: it has more than one holder."


def _shared_released(trial: Trial) -> str | None:
    (blocks, table, *_), now = trial.args, trial.after[0]
    if trial.got is None or not _room_left(trial) or trial.got == table[-1]:
        return None
    left = blocks.counts[table[-1]] - 1
    fine = now.counts[table[-1]] == left
    return (
        None
        if fine
        else f"This sequence no longer uses block {table[-1]}, so release it: its holders must fall to {left}."
    )


def _writes_into_shared(blocks, table, tokens, page_tokens):
    if tokens % page_tokens == 0:
        block = blocks.take()
        if block is None:
            return None
        table.append(block)
    return table[-1]


def _copies_without_release(blocks, table, tokens, page_tokens):
    full = tokens % page_tokens == 0
    if not full and blocks.holders(table[-1]) == 1:
        return table[-1]
    block = blocks.take()
    if block is not None:
        table[len(table) - (not full) :] = [block]
    return block


def _releases_first(blocks, table, tokens, page_tokens):
    full = tokens % page_tokens == 0
    if not full and blocks.holders(table[-1]) == 1:
        return table[-1]
    if not full:
        blocks.release(table.pop())
    block = blocks.take()
    if block is not None:
        table.append(block)
    return block


def _copy_beside_shared(blocks, table, tokens, page_tokens):
    if tokens % page_tokens and blocks.holders(table[-1]) == 1:
        return table[-1]
    block = blocks.take()
    if block is not None:
        table.append(block)
    return block


def _full_too_early(blocks, table, tokens, page_tokens):
    return append_token(blocks, table, 0 if (tokens + 1) % page_tokens == 0 else tokens, page_tokens)


def _copies_before_it_is_full(blocks, table, tokens, page_tokens):
    if table and blocks.holders(table[-1]) > 1:
        block = blocks.take()
        if block is None:
            return None
        blocks.release(table.pop())
        table.append(block)
    return append_token(blocks, table, tokens, page_tokens)


def _none_without_a_free_block(blocks, table, tokens, page_tokens):
    block = blocks.take()
    if block is None:
        return None
    blocks.release(block)
    return append_token(blocks, table, tokens, page_tokens)


def _forgets_the_table(blocks, table, tokens, page_tokens):
    if tokens % page_tokens and blocks.holders(table[-1]) == 1:
        return table[-1]
    block = blocks.take()
    if block is not None and tokens % page_tokens:
        blocks.release(table.pop())
    return block


APPEND = Step(
    "Write a token, with copy-on-write",
    "Find the block for a sequence's next token, and copy a block first where others would see the change.",
    append_token,
    "blocks = Blocks(2); table = [blocks.take()]; blocks.share(table[0]); before = list(table);"
    " append_token(blocks, table, 3, 16); before, table",
    _tables,
    (_own_block, _given_where_there_is, _refused_as_it_was, _at_the_end, _not_wasted, _shared_released),
    {
        _writes_into_shared: _own_block,
        _copies_without_release: _shared_released,
        _releases_first: _refused_as_it_was,
        _copy_beside_shared: _at_the_end,
        _forgets_the_table: _at_the_end,
        _full_too_early: _given_where_there_is,
        _none_without_a_free_block: _given_where_there_is,
        _copies_before_it_is_full: _given_where_there_is,
    },
    (
        "There are three cases: the last block is full (or there is none yet), it is shared, or it is the sequence's"
        " own and has room.",
        "The last block is full if `tokens % page_tokens == 0`. In the first two cases begin with `blocks.take()`.",
    ),
    also=[
        (_Pool([2, 0]), [0], 3, 16),
        (_Pool([1, 1]), [0], 1, 2),
        (_Pool([1, 1]), [0], 2, 2),
        (_Pool([2, 1]), [0], 1, 2),
        (_Pool([2, 1, 0]), [0], 2, 2),
        (_Pool([0]), [], 0, 2),
        (_Pool([1]), [], 0, 2),
    ],
    extreme=lambda blocks, table, tokens, page_tokens: not table,
    changes=True,
    returns="the number of a block, or None",
    many=True,
)
