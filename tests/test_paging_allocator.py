"""The allocators against vLLM's worked examples, against a memory that is really written and read, and against their
own laws.
"""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from blackboard.catalogue import measurement
from blackboard.lessons.paging import equations as eq
from blackboard.lessons.paging import simulation
from blackboard.lessons.paging.allocator import Allocator, BlockPool, Contiguous, OutOfRoom, chained
from blackboard.lessons.paging.hybrid import Group, HybridAllocator, groups

numbers = lambda text: [] if text in ("none", "not given") else [int(word) for word in str(text).split()]


# --- vLLM's worked examples -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row, moment",
    list(zip(measurement("prefix_cache_example").records(), simulation.example())),
    ids=lambda x: str(x)[:12],
)
def test_prefix_caching_as_documented(row, moment):
    """Tables, free queue and what is evicted, at each time of the document."""
    said, memory = moment
    assert memory.broken() == []
    newest = memory.tables[max(memory.tables)] if memory.tables else []
    assert newest == numbers(row["request_blocks"])
    if row["free_queue"] != "not given":
        assert memory.free_blocks == numbers(row["free_queue"])
    assert memory.pool.evicted == numbers(row["evicted_blocks"])
    if numbers(row["hit_blocks"]):
        assert (
            newest[: len(numbers(row["hit_blocks"]))] == numbers(row["hit_blocks"])
            and f"{4 * len(numbers(row['hit_blocks']))} found" in said
        )


def test_a_block_that_is_cached_twice_as_documented():
    """A table only grows: the second request keeps its copy, and both are cached until they are taken for something
    else.
    """
    memory, rows = Allocator(10, 4), iter(measurement("prefix_cache_duplicates").records())
    for name in ("first", "second"):
        memory.allocate(name, list("ABCDEFG"))
        for token in ("", "H", "I") if name == "first" else ("", "H"):
            memory.append(name, *token)
            row = next(rows)
            assert (row["request"], row["tokens"]) == (name, len(memory.tokens[name]))
            assert memory.tables[name] == numbers(row["block_table"]) and memory.cached_blocks == numbers(
                row["cached_blocks"]
            )
        assert memory.broken() == []
    digest = memory.pool.digests[1]
    assert memory.pool.digests[3] == digest and memory.pool.cached[digest] == [1, 3]


def test_hybrid_groups_and_blocks_as_documented():
    for row in measurement("hybrid_cache_groups").records():
        found = groups(row["full_layers"], row["window_layers"], 1_024)
        assert len(found) == row["groups"] and sum(group.padding for group in found) == row["padding_layers"]
        assert {group.layers + group.padding for group in found} == {row["group_layers"]}
        assert sum(group.layers for group in found) == row["full_layers"] + row["window_layers"]
    memory = HybridAllocator(40, 16, groups(10, 20, 32))
    memory.allocate("request", list(range(112)))
    assert memory.blocks("request") == [
        numbers(row["block_ids"]) for row in measurement("hybrid_cache_blocks").records()
    ]


def test_a_windows_hits_as_documented():
    """15 tokens, a window of 4: the three lengths that fit, the longest first; which fit when blocks are lost."""
    rows, prompt = measurement("hybrid_prefix_hits").records(), list(range(15))
    memory = HybridAllocator(20, 1, [Group(1, 4)])
    chain, blocks = memory._chain(prompt, 15), {}
    for token in sorted({token for row in rows for token in numbers(row["needed_tokens"])}):
        blocks[token] = memory.pool.take()
        memory.pool.cache(blocks[token], f"0 {chain[token]}")
    fit = [n for n in range(1, 15) if set(range(max(0, n - 3), n)) <= set(blocks)]
    assert fit == [row["hit_tokens"] for row in rows]
    for lost, _left in ((12, 6), (5, 5), (3, 0)):
        assert memory.hit(prompt) == fit.pop()
        memory.pool._forget(blocks[lost])
    assert memory.hit(prompt) == 0


# --- the laws of a cache ----------------------------------------------------------------------------------------------


def test_a_hash_covers_everything_before_and_the_salt():
    """The same block after another head, or for another tenant, is another block."""
    assert (
        len(
            {
                chained("", [1, 2]),
                chained("a", [1, 2]),
                chained("", [1, 3]),
                chained("", [1, 2], "b"),
                chained("", [12]),
            }
        )
        == 5
    )
    memory = Allocator(20, 2)
    memory.allocate("one", [1, 2, 3, 4, 5])
    assert memory.allocate("head differs", [9, 2, 3, 4, 5]) == 0
    assert (
        memory.allocate("salted", [1, 2, 3, 4, 5], salt="b") == 0
        and memory.allocate("again", [1, 2, 3, 4, 5], salt="b") == 4
    )
    assert memory.allocate("plain", [1, 2, 3, 4, 5]) == 4


@given(st.integers(1, 9), st.integers(0, 60), st.integers(1, 40), st.integers(1, 40))
def test_only_whole_blocks_are_found(size, common, one, two):
    memory = Allocator(400, size)
    memory.allocate("first", [*range(common), *range(1_000, 1_000 + one)])
    assert memory.allocate("second", [*range(common), *range(2_000, 2_000 + two)]) == eq.hit_tokens(
        common_context=common, page_tokens=size
    )


def test_what_was_used_longest_ago_goes_first_and_its_tail_before_its_head():
    memory = Allocator(6, 2)
    for name in "abc":
        memory.allocate(name, [ord(name)] * 4)
        memory.free(name)
    head = memory.pool.find(chained("", [98, 98]))
    tail = memory.pool.find(chained(chained("", [98, 98]), [98, 98]))
    memory.allocate("a", [ord("a")] * 4 + [0])  # a is used again, so b is what was used longest ago
    assert memory.pool.evicted == [tail] == [memory.tables["a"][-1]] and memory.free_blocks[0] == head


def test_no_room_leaves_everything_as_it_was():
    memory = Allocator(4, 2)
    memory.allocate("a", [1, 2, 3])
    memory.fork("a", "b")
    before = repr(memory)
    for refused in (
        lambda: memory.allocate("c", range(9)),
        lambda: memory.append("a", *range(6)),
        lambda: memory.append("b", *range(4)),
    ):
        with pytest.raises(OutOfRoom):
            refused()
        assert repr(memory) == before and memory.broken() == []
    memory.append("a", *range(3))  # a copy and one more block: just fits
    assert memory.free_blocks == [] and memory.broken() == []


def test_samples_share_their_prompt_until_they_write():
    """Of n samples of a prompt each but the last to write copies one block, and only the last of the prompt."""
    for prompt in (7, 8):
        memory = Allocator(60, 4, caching=False)
        memory.allocate("0", range(prompt))
        for n in range(1, 6):
            memory.fork("0", str(n))
        assert memory.used == 2 and memory.held == prompt
        for n in range(6):
            memory.append(str(n), n)
        assert memory.copies == (5 if prompt == 7 else 0) and memory.broken() == []
        assert memory.used == (1 + 6 if prompt == 7 else 2 + 6)


# --- a memory that is really written ----------------------------------------------------------------------------------


class Machine(RuleBasedStateMachine):
    """Anything a server may do, in any order; tokens are written where the allocator says, and must be read again."""

    names = Bundle("names")

    @initialize(blocks=st.integers(3, 14), size=st.integers(1, 4), caching=st.booleans())
    def start(self, blocks, size, caching):
        self.memory, self.written, self.told, self.count = Allocator(blocks, size, caching), {}, {}, 0

    def write(self, name, start):
        for n in range(start, len(self.told[name])):
            block = self.memory.tables[name][n // self.memory.page_tokens]
            self.written[block, n % self.memory.page_tokens] = self.told[name][n]

    @rule(target=names, prompt=st.lists(st.integers(0, 1), min_size=1, max_size=18), salt=st.sampled_from(["", "s"]))
    def allocate(self, prompt, salt):
        self.count += 1
        name = f"s{self.count}"
        try:
            hit = self.memory.allocate(name, prompt, salt)
        except OutOfRoom:
            return "none"
        assert hit % self.memory.page_tokens == 0 and hit < len(prompt)
        self.told[name] = prompt
        self.write(name, hit)  # what was found is not written again
        return name

    @rule(name=names, tokens=st.lists(st.integers(0, 1), min_size=1, max_size=5))
    def append(self, name, tokens):
        if name not in self.told:
            return
        before, start = list(self.memory.tables[name]), len(self.told[name])
        try:
            self.memory.append(name, *tokens)
        except OutOfRoom:
            return
        for n, block in enumerate(before):
            if self.memory.tables[name][n] != block:  # copied on writing
                assert n == len(before) - 1 and start % self.memory.page_tokens
                for slot in range(self.memory.page_tokens):
                    self.written[self.memory.tables[name][n], slot] = self.written.get((block, slot))
        self.told[name] = [*self.told[name], *tokens]
        self.write(name, start)

    @rule(target=names, name=names)
    def fork(self, name):
        if name not in self.told:
            return "none"
        self.count += 1
        self.memory.fork(name, f"s{self.count}")
        self.told[f"s{self.count}"] = list(self.told[name])
        return f"s{self.count}"

    @rule(name=consumes(names))
    def free(self, name):
        if self.told.pop(name, None) is not None:
            self.memory.free(name)

    @invariant()
    def sound(self):
        if hasattr(self, "memory"):
            assert self.memory.broken() == []
            held = [block for table in self.memory.tables.values() for block in table]
            assert set(held) | set(self.memory.free_blocks) == set(range(len(self.memory.pool.references))) and not set(
                held
            ) & set(self.memory.free_blocks)
            for name, told in self.told.items():
                size = self.memory.page_tokens
                assert [self.written[self.memory.tables[name][n // size], n % size] for n in range(len(told))] == list(
                    told
                ), name


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=80, stateful_step_count=40)


def busy(seed=0):
    """A fixed hour of a server's work; the allocator at the end of each action."""
    draw, memory, alive = random.Random(seed), Allocator(24, 3), []
    for n in range(200):
        act = draw.choice(["allocate", "append", "append", "fork", "free"])
        try:
            if act == "allocate" or not alive:
                memory.allocate(f"{n}", [draw.randint(0, 1) for _ in range(draw.randint(1, 12))])
                alive.append(f"{n}")
            elif act == "append":
                memory.append(draw.choice(alive), draw.randint(0, 1))
            elif act == "fork":
                memory.fork(draw.choice(alive), f"{n}")
                alive.append(f"{n}")
            else:
                memory.free(alive.pop(draw.randrange(len(alive))))
        except OutOfRoom:
            pass
        yield memory


def test_the_busy_hour_is_sound():
    assert [memory.broken() for memory in busy()] == [[]] * 200


def _keeps(self, blocks):
    """A release that forgets to put blocks into the queue."""
    for block in blocks:
        self.references[block] -= 1


def _twice(self, blocks):
    """A release that frees what others still hold."""
    for block in blocks:
        self.references[block] -= 1
        self.queue[block] = None


def _uncounted(self, block):
    """A share without a reference."""
    self.queue.pop(block, None)


def _unmoved(self, block):
    """A share that leaves a free block in the queue."""
    self.references[block] += 1


@pytest.mark.parametrize(
    "name, broken",
    [("release", _keeps), ("release", _twice), ("share", _uncounted), ("share", _unmoved)],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_a_broken_pool_is_noticed(monkeypatch, name, broken):
    """A block lost, freed twice, shared without a reference, or free and held: each is reported, or stops the run."""
    monkeypatch.setattr(BlockPool, name, broken)
    # where an error is raised, the pool's own books did not add up
    with contextlib.suppress(KeyError, ValueError, AttributeError):
        assert any(memory.broken() for memory in busy())


def test_writing_without_copying_is_noticed(monkeypatch):
    monkeypatch.setattr(Allocator, "_copy", lambda self, table: None)
    assert any(memory.broken() for memory in busy())


# --- room in one piece ------------------------------------------------------------------------------------------------


@given(st.booleans(), st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=40))
def test_pieces_never_overlap(buddy, actions):
    memory = Contiguous(200, buddy)
    for n, (size, leave) in enumerate(actions):
        if leave and memory.held:
            memory.free(sorted(memory.held)[size % len(memory.held)])
            continue
        try:
            memory.allocate(f"{n}", 1, size)
        except OutOfRoom:
            assert buddy or max(_gaps(memory), default=0) < size  # first fit finds any gap that is long enough
            continue
        piece = memory.held[f"{n}"]
        assert piece.slots >= size and (
            not buddy
            or (piece.start % piece.slots == 0 and piece.slots & (piece.slots - 1) == 0 and piece.slots < 2 * size)
        )
    assert memory.broken() == []


def _gaps(memory):
    free = [1] * memory.slots
    for piece in memory.held.values():
        free[piece.start : piece.start + piece.slots] = [0] * piece.slots
    return [len(run) for run in "".join(map(str, free)).split("0") if run]


def test_a_piece_cannot_be_outgrown():
    memory = Contiguous(64)
    memory.allocate("a", 3, 8)
    memory.append("a", 5)
    with pytest.raises(OutOfRoom):
        memory.append("a")


# --- layers with a window ---------------------------------------------------------------------------------------------


@given(st.integers(1, 200), st.integers(2, 70), st.integers(1, 20))
def test_a_window_keeps_what_the_next_token_sees(tokens, window, size):
    """Blocks counted by going through every token that the next one sees; the formula's, where the window ends as a
    block does.
    """
    seen = {position // size for position in range(max(0, tokens - window + 1), tokens)}
    memory = HybridAllocator(300, size, [Group(1), Group(1, window)])
    memory.allocate("a", range(tokens))
    full, slid = memory.blocks("a")
    assert len(full) == -(-tokens // size) and len(slid) == len(seen) and memory.broken() == []
    assert len(slid) <= -(-(window - 1) // size) + 1
    said = eq.hybrid_blocks(context=tokens, page_tokens=size, window=window, full_groups=1, window_groups=1) - len(full)
    assert (
        said - 1 <= len(slid) <= said + 1
    )  # a window that lies across blocks takes one more, one of a token less may take one fewer
    if tokens % size == window % size == 0 and size > 1:
        assert len(slid) == said


@settings(max_examples=150)
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 9), st.integers(8, 40))
def test_hybrid_tables_lead_back_to_the_tokens(seed, size, window, blocks):
    """Written as the tables say, block by block, every group reads back what the next token sees of it."""
    draw, memory, written, told = (
        random.Random(seed),
        HybridAllocator(blocks, size, [Group(1), Group(1, window), Group(1, window)]),
        {},
        {},
    )

    def write(name, start):
        for table in memory.tables[name]:
            for n in range(start, len(told[name])):
                if table[n // size] is not None:
                    written[table[n // size], n % size] = told[name][n]

    for n in range(25):
        act, name = draw.choice("aagggf"), draw.choice(sorted(told)) if told else ""
        try:
            if act == "a" or not told:
                prompt = [draw.randint(0, 1) for _ in range(draw.randint(1, 10))]
                hit = memory.allocate(f"{n}", prompt)
                told[f"{n}"] = prompt
                write(f"{n}", hit)
            elif act == "g":
                told[name] = [*told[name], draw.randint(0, 1)]
                try:
                    memory.append(name, told[name][-1])
                except OutOfRoom:
                    told[name].pop()
                    raise
                write(name, len(told[name]) - 1)
            else:
                memory.free(name)
                del told[name]
        except OutOfRoom:
            pass
        assert memory.broken() == []
        for name, tokens in told.items():
            for group, table in zip(memory.groups, memory.tables[name]):
                for at in range(0 if group.window is None else max(0, len(tokens) - group.window + 1), len(tokens)):
                    assert written[table[at // size], at % size] == tokens[at]
