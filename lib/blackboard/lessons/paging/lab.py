"""The lab of the paging lesson: build an allocator and a prefix cache, and replay a day of conversations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from heapq import heapify, heapreplace
from typing import Any

from blackboard.catalogue import measurement
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial, unchanged
from blackboard.lab_values import count, same
from blackboard.lessons.paging import equations as eq
from blackboard.lessons.paging.lab_steps import APPEND, BLOCKS

# --- names of blocks --------------------------------------------------------------------------------------------------


def block_names(tokens, page_tokens):
    """A name for each full block of a prompt, in order: equal names mean equal text from the very first token.

    A name may be any value that can be a dictionary's key, for instance what Python's `hash` returns. A last block that
    is not full gets no name.

    tokens       the prompt, a list of numbers
    page_tokens  how many tokens a block has room for
    """
    names, before = [], 0
    for end in range(page_tokens, len(tokens) + 1, page_tokens):
        before = hash((before, tuple(tokens[end - page_tokens : end])))
        names.append(before)
    return names


def _two_prompts(rng: random.Random) -> tuple:
    page_tokens = rng.randint(2, 3)
    tokens = [rng.randint(1, 2) for _ in range(rng.randint(1, 4 * page_tokens))]
    other = [rng.randint(1, 2) if rng.random() < 0.2 else token for token in tokens]
    return tokens, page_tokens, other + [rng.randint(1, 2) for _ in range(rng.randint(0, 3))]


def _name_both(made: Any, tokens: list, page_tokens: int, other: list) -> tuple:
    return made(tokens, page_tokens), made(other, page_tokens)


def _a_name_each(trial: Trial) -> str | None:
    tokens, page_tokens, other = trial.args
    for prompt, names in zip((tokens, other), trial.got):
        full = len(prompt) // page_tokens
        if len(names) != full:
            return f"Full blocks of {page_tokens} tokens in {prompt}: {full}. Names that you gave it: {len(names)}."
    return None


def _can_be_keys(trial: Trial) -> str | None:
    for name in [name for names in trial.got for name in names]:
        try:
            hash(name)
        except TypeError:
            kind = type(name).__name__
            return f"The name {name!r} is a {kind}, which cannot be a dictionary's key. A number or a tuple can."
    return None


def _pairs(trial: Trial) -> Iterator[tuple[list, list, bool]]:
    """Two heads of the prompts, each up to the end of a block, and whether they have one name."""
    tokens, page_tokens, other = trial.args
    heads = [
        (prompt[: (n + 1) * page_tokens], name)
        for prompt, names in zip((tokens, other), trial.got)
        for n, name in enumerate(names)
    ]
    for one, name in heads:
        for two, its in heads:
            yield one, two, bool(name == its)


def _equal_found(trial: Trial) -> str | None:
    for one, two, equal in _pairs(trial):
        if one == two and not equal:
            return f"Both prompts begin with {one}, so the blocks at the end of it need the same name."
    return None


def _different_told_apart(trial: Trial) -> str | None:
    for one, two, equal in _pairs(trial):
        if one != two and equal:
            return f"The blocks at the end of {one} and of {two} have the same name, but these texts differ."
    return None


def _forgets_the_past(tokens, page_tokens):
    starts = range(0, len(tokens) - page_tokens + 1, page_tokens)
    return [hash(tuple(tokens[start : start + page_tokens])) for start in starts]


def _names_the_rest(tokens, page_tokens):
    return [hash(tuple(tokens[: start + page_tokens])) for start in range(0, len(tokens), page_tokens)]


def _by_position(tokens, page_tokens):
    return list(range(len(tokens) // page_tokens))


def _whole_prompt(tokens, page_tokens):
    return [(n, hash(tuple(tokens))) for n in range(len(tokens) // page_tokens)]


def _lists(tokens, page_tokens):
    return [tokens[:end] for end in range(page_tokens, len(tokens) + 1, page_tokens)]


def _empties_the_prompt(tokens, page_tokens):
    names, head = [], ()
    while len(tokens) >= page_tokens:
        head += tuple(tokens.pop(0) for _ in range(page_tokens))
        names.append(head)
    return names


NAME = Step(
    "Name blocks by all that came before",
    "Give each full block a name that stands for all text up to its end, so that equal beginnings of prompts can be"
    " found.",
    block_names,
    "len(set(block_names([5, 3, 5, 3, 7], 2)))",
    _two_prompts,
    (_a_name_each, _can_be_keys, _equal_found, _different_told_apart),
    {
        _forgets_the_past: _different_told_apart,
        _names_the_rest: _a_name_each,
        _by_position: _different_told_apart,
        _whole_prompt: _equal_found,
        _lists: _can_be_keys,
        _empties_the_prompt: unchanged,
    },
    (
        "A block's keys and values depend on all earlier tokens, so its name must too.",
        "`hash((before, tuple(block)))`, where `before` is the name of the block before, covers everything.",
    ),
    _name_both,
    extreme=lambda tokens, page_tokens, other: len(tokens) < page_tokens,
    returns="a list with a name for each full block",
    also=[([5, 3, 5, 3, 7], 2, [5, 3, 5, 3, 7]), ([1, 2], 2, [1, 2]), ([1], 2, [])],
    calls=lambda tokens, size, other: (
        f"block_names({tokens}, {size}), called twice,"
        if tokens == other
        else f"block_names({tokens}, {size}) and block_names({other}, {size})"
    ),
    many=True,
)

# --- a prefix cache ---------------------------------------------------------------------------------------------------


class PrefixCache:
    """Remembers which blocks, by name, are in a cache that has room for so many of them."""

    def __init__(self, room):
        """At first the cache is empty. `room`: how many blocks fit."""
        self.room = room
        self.names = {}  # a dictionary keeps its order: here, used longest ago first

    def visit(self, names):
        """How many blocks at the head of a prompt are in the cache already; afterwards its first `room` blocks are.

        A visit uses all blocks of its prompt. When there is no room, drop what was used longest ago. Among blocks of
        the same visit, drop the last block of the prompt before the others.

        names  of the prompt's full blocks, in order, all different
        """
        hits = 0
        while hits < len(names) and names[hits] in self.names:
            hits += 1
        for name in reversed(names):
            self.names.pop(name, None)
            self.names[name] = True
        while len(self.names) > self.room:
            del self.names[next(iter(self.names))]
        return hits


def _visits(rng: random.Random) -> tuple:
    prompts = ["abc", "abx", "pq", "pqr", "m", "mnop"]
    heads = [rng.choice(prompts) for _ in range(rng.randint(2, 6))]
    return rng.randint(0, 6), [[prompt[: n + 1] for n in range(len(prompt))] for prompt in heads]


def _visit_all(made: Any, room: int, visits: list) -> list:
    cache = made(room)
    return [cache.visit(names) for names in visits]


def _first_is_new(trial: Trial) -> str | None:
    seen: set[str] = set()
    for names, hits in zip(trial.args[1], trial.got):
        new = next((name for name in names if name not in seen), None)
        if new and hits > names.index(new):
            return f"Visit {names} found {hits}, but {new!r} had never been there."
        seen.update(names)
    return None


def _fits(trial: Trial) -> str | None:
    room = trial.args[0]
    most = max(trial.got)
    return None if most <= room else f"You found {most} blocks, but only {room} fit."


def _at_once_again(trial: Trial) -> str | None:
    room, visits = trial.args
    for one, two, hits in zip(visits, visits[1:], trial.got[1:]):
        expected = min(room, len(two))
        if one == two and hits != expected:
            return (
                f"{two} came twice in a row, and {expected} of its blocks fit: the second finds {expected}, not {hits}."
            )
    return None


def _least_recent(trial: Trial) -> str | None:
    for n, (names, hits, wanted) in enumerate(zip(trial.args[1], trial.got, trial.want), 1):
        if hits != wanted:
            return (
                f"Visit {n}, {names}, finds {wanted}, not {hits}: what was used longest ago is dropped first, and among"
                " the blocks of one visit the last block of the prompt."
            )
    return None


class _HeadGoesFirst(PrefixCache):
    def visit(self, names):
        hits = 0
        while hits < len(names) and names[hits] in self.names:
            hits += 1
        for name in names:
            self.names.pop(name, None)
            self.names[name] = True
        while len(self.names) > self.room:
            del self.names[next(iter(self.names))]
        return hits


class _FirstInFirstOut(PrefixCache):
    def visit(self, names):
        hits = 0
        while hits < len(names) and names[hits] in self.names:
            hits += 1
        for name in reversed(names):
            self.names.setdefault(name, True)
        while len(self.names) > self.room:
            del self.names[next(iter(self.names))]
        return hits


class _DropsMostRecent(PrefixCache):
    def visit(self, names):
        hits = sum(name in self.names for name in names)
        fit = names[: self.room]
        for name in fit:
            self.names.pop(name, None)
        while len(self.names) + len(fit) > self.room:
            self.names.popitem()
        self.names.update(dict.fromkeys(fit))
        return hits


class _NeverDrops(PrefixCache):
    def __init__(self, room):
        self.room, self.names = 10**6, {}


class _CountsAfterwards(PrefixCache):
    def visit(self, names):
        super().visit(names)
        return sum(name in self.names for name in names)


CACHE = Step(
    "Keep what was used last",
    "Build a cache of limited size that remembers which blocks have been computed, and forgets what was not used"
    " for longest.",
    PrefixCache,
    'cache = PrefixCache(2); cache.visit(["a", "ab", "abc"]); cache.visit(["a", "ab", "abc"])',
    _visits,
    (_fits, _first_is_new, _at_once_again, _least_recent),
    {
        _FirstInFirstOut: "You drop what came first, whether or not it was used since. A visit must make all blocks of"
        " its prompt the newest, those that it found too.",
        _DropsMostRecent: _least_recent,
        _HeadGoesFirst: _at_once_again,
        _NeverDrops: _fits,
        _CountsAfterwards: _first_is_new,
    },
    (
        "Count the hits before you add anything, and stop at the first block that is missing.",
        "A dictionary keeps the order of its keys: `pop` a name and put it in again to make it the newest.",
        "Put a prompt's names in from last to first, and drop `next(iter(self.names))` while there are too many.",
    ),
    _visit_all,
    also=[(2, [["a", "ab", "abc"]] * 2), (3, [["a", "ab", "abc"]] * 2), (1, [["a"], [], ["a"]])],
    extreme=lambda room, visits: room == 0,
    returns="a whole number from `visit`",
    calls=lambda room, visits: "; ".join(
        [f"cache = PrefixCache({room})", *(f"cache.visit({each})" for each in visits)]
    ),
)

# --- a day ------------------------------------------------------------------------------------------------------------


def hit_rate(prompts, page_tokens, room):
    """The share of all prompts' tokens that a prefix cache finds, from 0 to below 1.

    A prompt that is cached whole counts as found whole. (An engine would compute its last block again, because the next
    token follows from it.)

    prompts      lists of tokens, in the order in which they come
    page_tokens  how many tokens a block has room for
    room         how many blocks the cache keeps
    """
    cache, found = PrefixCache(room), 0
    for tokens in prompts:
        found += page_tokens * cache.visit(block_names(tokens, page_tokens))
    return found / sum(len(tokens) for tokens in prompts)


def _short_days(rng: random.Random) -> tuple:
    talks: list[list[int]] = [[n] for n in range(rng.randint(1, 3))]
    prompts = []
    for _ in range(rng.randint(2, 5)):
        talk = rng.choice(talks)
        talk += [rng.randint(0, 9) for _ in range(rng.randint(1, 4))]
        prompts.append(list(talk))
    return prompts, rng.randint(1, 3), rng.choice([0, 2, 4, 40])


def _below_one(trial: Trial) -> str | None:
    return None if 0 <= trial.got < 1 else "The share lies between 0 and 1, and the first prompt finds nothing."


def _no_room(trial: Trial) -> str | None:
    return None if trial.args[2] or trial.got == 0 else "A cache without room finds nothing."


def _tokens_found(trial: Trial) -> str | None:
    prompts, page_tokens, _ = trial.args
    tokens = sum(map(len, prompts))
    if same(trial.got, trial.want):
        return None
    found = round(trial.want * tokens)
    return (
        f"One cache for the whole day finds {count(found // page_tokens, 'block')} of {count(page_tokens, 'token')},"
        f" so {found} of all {tokens} tokens."
    )


def _in_blocks(prompts, page_tokens, room):
    cache = PrefixCache(room)
    names = [block_names(tokens, page_tokens) for tokens in prompts]
    return sum(cache.visit(each) for each in names) / max(1, sum(map(len, names)))


def _new_cache_each(prompts, page_tokens, room):
    found = sum(PrefixCache(room).visit(block_names(tokens, page_tokens)) for tokens in prompts)
    return page_tokens * found / sum(map(len, prompts))


def _forgets_block_size(prompts, page_tokens, room):
    cache = PrefixCache(room)
    return sum(cache.visit(block_names(tokens, page_tokens)) for tokens in prompts) / sum(map(len, prompts))


def _never_whole(prompts, page_tokens, room):
    cache, found = PrefixCache(room), 0
    for tokens in prompts:
        found += min(page_tokens * cache.visit(block_names(tokens, page_tokens)), len(tokens) - 1)
    return found / sum(map(len, prompts))


def _last_block_again(prompts, page_tokens, room):
    cache, found = PrefixCache(room), 0
    for tokens in prompts:
        found += page_tokens * min(cache.visit(block_names(tokens, page_tokens)), (len(tokens) - 1) // page_tokens)
    return found / sum(map(len, prompts))


def _missed(prompts, page_tokens, room):
    return 1 - hit_rate(prompts, page_tokens, room)


RATE = Step(
    "Replay a day",
    "Send a day of prompts through your cache, and measure which share of their tokens need not be computed again.",
    hit_rate,
    "hit_rate([[1, 2, 3], [1, 2, 3, 4, 5]], 2, 10)",
    _short_days,
    (_below_one, _no_room, _tokens_found),
    {
        _in_blocks: _tokens_found,
        _new_cache_each: _tokens_found,
        _forgets_block_size: _tokens_found,
        _missed: _below_one,
        _never_whole: "A prompt that is cached whole counts as found whole here, its last token too.",
        _last_block_again: "A prompt that is cached whole counts as found whole here, its last token too.",
    },
    (
        "One `PrefixCache` serves the whole day. For each prompt, `visit` the names of its blocks.",
        "`visit` counts blocks, and each block has `page_tokens` tokens.",
    ),
    count=100,
    also=[
        ([[1, 2], [1, 2]], 2, 10),
        ([[1, 2, 3, 4], [1, 2, 3, 4]], 2, 10),
        ([[1], [1]], 1, 10),
        ([[1, 2]], 2, 10),
        ([[1, 2], [1, 2]], 3, 10),
    ],
)

# --- the chart --------------------------------------------------------------------------------------------------------

UNIT, PAGE = 560, 4  # so many tokens of the traces are one here, to be quick; tokens of a block
AGENTS, PROMPTS = 8, 400
SHARES = (0.1, 0.25, 0.5, 0.75, 1, 1.25)


def _agent() -> tuple[int, int, int]:
    """Turns, tokens at first and tokens that each turn adds, for a coding agent."""
    (row,) = measurement("agent_traces").records()
    return row["turns"], round(row["start_tokens"] / UNIT), round(row["growth_tokens"] / UNIT)


def _day() -> list[list[int]]:
    """Prompts of agents that work at the same time, each one sending its whole history again."""
    turns, start, growth = _agent()
    rng = random.Random(0)
    queue = [(rng.random(), name, name * turns // AGENTS) for name in range(AGENTS)]
    heapify(queue)
    prompts: list[list[int]] = []
    while len(prompts) < PROMPTS:
        time, name, turn = queue[0]
        prompts.append([name * 1000 + n for n in range(start + growth * turn)])
        follows = (name, turn + 1) if turn + 1 < turns else (name + AGENTS, 0)
        heapreplace(queue, (time + rng.expovariate(1), *follows))
    return prompts


def _running(own: Any) -> int:
    """Blocks that four answers to one prompt hold while they are written, which no prefix can use."""
    blocks, start = own.Blocks(60), _agent()[1]
    first: list[int] = []
    for n in range(start):
        own.append_token(blocks, first, n, PAGE)
    tables = [first, list(first), list(first), list(first)]
    for block in first * 3:
        blocks.share(block)
    for table in tables:
        for n in range(3):
            own.append_token(blocks, table, start + n, PAGE)
    return sum(blocks.holders(block) > 0 for block in range(60))


def finish(own: Any) -> dict[str, Any]:
    """Share of the input found, by the blocks of memory: replayed with the reader's cache, and by the formula."""
    turns, start, growth = _agent()
    lengths = {"turns": turns, "start_context": start, "turn_growth": growth}
    working_set = AGENTS * (start + growth * (turns - 1) / 2)
    held, day = _running(own), _day()
    memory = {share: round(share * working_set / PAGE) + held for share in SHARES}
    formula = lambda share: eq.hit_rate_room(
        hit_rate=eq.hit_rate_turns(**lengths),
        working_set=working_set,
        cache_bytes=share * working_set,
        kv_bytes_per_token=1,
    )
    found = [(blocks, own.hit_rate(day, PAGE, blocks - held)) for blocks in memory.values()]
    published = measurement("prefix_cache_hit_rates").records(workload="Codex on SWE-bench Pro, what the traces allow")
    return lab_chart(
        f"Your cache finds {found[SHARES.index(0.5)][1]:.0%} of the input with room for half the working set",
        f"memory (blocks of {UNIT * PAGE:,} tokens)",
        "share of input tokens found",
        {
            "your cache, on a day of eight coding agents": Series(found, "point"),
            "the lesson's formula": Series([(blocks, formula(share)) for share, blocks in memory.items()]),
            "published for Codex's traces, endless cache": Series(
                [(memory[SHARES[-1]], published[0]["hit_rate"])], "point"
            ),
            "the working set": Series([(memory[1], 0), (memory[1], 1)], "limit"),
        },
    )


LAB = Lab(
    "Build a paged KV cache",
    "You write the two parts of a serving engine that save KV cache: the allocator, with sharing and copy-on-write"
    " (steps 1 and 2), and a prefix cache (steps 3 to 5), on which you replay a day of coding agents. The prefix cache"
    " works with names of blocks and does not call the allocator. The chart at the end uses both: your allocator counts"
    " the blocks of running answers, and your prefix cache gets the rest.",
    (BLOCKS, APPEND, NAME, CACHE, RATE),
    finish,
    "Your points follow the formula while memory is short. Near the whole working set they stay below it, because"
    " conversations that have ended still take room.",
)
