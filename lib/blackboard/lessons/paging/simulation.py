"""The paging lesson by other means: servers that admit, decode and evict step by step, and prefix caches that are
really filled and emptied.

No formula of the lesson is used here. Requests are drawn with published means; where a spread is needed, it is read off
published shares. Times are in s, room and lengths in tokens. Every function is deterministic: what is drawn is drawn
from a seed.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from functools import cache
from heapq import heappop, heappush
from itertools import accumulate
from typing import Any, NamedTuple

from blackboard.catalogue import chip, measurement
from blackboard.lessons.paging.allocator import Allocator, Contiguous, OutOfRoom

LONGEST = 2_048  # tokens that OPT can hold, prompt and answer together
POLICIES = ("max", "power of two", "oracle", "blocks")
LONG = 30_000  # steps of the runs that the page shows: even the largest reservations see some hundred requests
AS_PUBLISHED = dict(zip(POLICIES, ("Orca (Max)", "Orca (Pow2)", "Orca (Oracle)", "vLLM")))


def opt13b() -> dict[str, float]:
    """The setup of the paper's first figures by notation name: OPT-13B in FP16 on one A100 of 40 GB; `slots` is its
    room in tokens.

    Of the memory it counts what weights and cache take; the rest is for activations.
    """
    (row,), machine = measurement("vllm_paper").records(model="OPT-13B"), chip("a100-40gb")
    width, weights = 2, row["weights_GB"] * 1e9  # bytes of a value, bytes in all
    kv = 2 * row["layers"] * row["d_model"] * width
    model = {
        "n_active": weights / width,
        "n_total": weights / width,
        "bytes_per_param": width,
        "kv_bytes_per_token": kv,
    }
    return (
        machine.symbols("bf16", machine.rent())
        | model
        | {
            "hbm": weights + row["kv_tokens"] * kv,
            "slots": row["kv_tokens"],
        }
    )


# --- requests ---------------------------------------------------------------------------------------------------------


class Request(NamedTuple):
    """One request: when it comes, and the tokens that it brings and asks for."""

    arrival: float
    prompt: int
    answer: int

    @property
    def length(self) -> int:
        return self.prompt + self.answer


def lengths(collection: str) -> tuple[float, float]:
    """Mean prompt and answer of a published collection, in tokens: "ShareGPT", "Alpaca"."""
    (row,) = measurement("vllm_request_lengths").records(requests=collection)
    return row["input_tokens"], row["output_tokens"]


def batches() -> dict[str, float]:
    """The measured batches of the paper, ShareGPT at two requests a second, by system."""
    return {row["system"]: row["batch"] for row in measurement("vllm_batched_requests").records(requests="ShareGPT")}


def spread() -> float:
    """How far answers spread: standard deviation over mean, as vLLM's shares of memory and batches of ShareGPT's
    requests imply.

    What is still to come of a running answer is on average half of its squares' mean over its mean, and memory set
    aside for that is what the paper calls reserved.
    """
    slots, mean = measurement("vllm_paper").records(model="OPT-13B")[0]["kv_tokens"], lengths("ShareGPT")[1]
    batch = batches()
    ahead = [row["share"] * slots / batch[row["system"]] for row in measurement("vllm_kv_use").records(use="reserved")]
    return math.sqrt(2 * sum(ahead) / len(ahead) / mean - 1)


def lognormal(draw: random.Random, mean: float, spread: float) -> int:
    """A length of at least one token, with this mean and this standard deviation over mean."""
    sigma = math.sqrt(math.log(1 + spread**2))
    return max(1, round(draw.lognormvariate(math.log(mean) - sigma**2 / 2, sigma)))


@cache
def trace(
    collection: str = "ShareGPT", requests: int = 600, rate: float = math.inf, seed: int = 0
) -> tuple[Request, ...]:
    """Requests with a collection's mean lengths, that come at random at so many per second; an infinite rate: all at
    once.

    Prompts and answers are drawn as lognormal and independent, both spread as `spread` says; longer ones than LONGEST
    are drawn again.
    """
    draw, (prompt, answer), wide, time = random.Random(seed), lengths(collection), spread(), 0.0
    found: list[Request] = []
    while len(found) < requests:
        request = Request(time, lognormal(draw, prompt, wide), lognormal(draw, answer, wide))
        if request.length <= LONGEST:
            found.append(request)
            time += draw.expovariate(rate) if rate < math.inf else 0.0
    return tuple(found)


def held(collection: str = "ShareGPT") -> float:
    """Tokens that a running sequence holds, on average over time: its prompt and what it has of its answer; long
    answers run for longer.
    """
    prompt, answer = lengths(collection)
    return prompt + answer * (1 + spread() ** 2) / 2


def running(count: int, collection: str = "ShareGPT", seed: int = 0) -> list[int]:
    """Tokens of so many sequences that a busy server holds at one moment: long answers are met more often, and
    anywhere on their way.
    """
    draw, met = random.Random(seed), trace(collection, 2_000)
    chosen = draw.choices(met, [request.answer for request in met], k=count)
    return [request.prompt + draw.randint(1, request.answer) for request in chosen]


def azure() -> tuple[Request, ...]:
    """A window of Azure's conversation trace: requests that were really made."""
    rows = measurement("azure_conversation_window").records()
    return tuple(Request(row["arrival_s"], row["input_tokens"], row["output_tokens"]) for row in rows)


# --- a server that decodes --------------------------------------------------------------------------------------------


def reserved(request: Request, policy: str, longest: int = LONGEST) -> int:
    """Tokens that are set aside for a request in one piece: the most there can be, the answer's next power of two, or
    just enough.
    """
    rounded = {
        "max": longest,
        "power of two": request.prompt + (1 << (request.answer - 1).bit_length()),
        "oracle": request.length,
    }
    return min(longest, rounded[policy])


class Served(NamedTuple):
    """What a run was like, on average over its steps: batch, shares of the memory, and what went on.

    Shares: tokens that are there; room reserved for tokens that will come; room in a sequence's piece or block that
    none will fill; room that belongs to no sequence.
    """

    batch: float
    tokens: float
    reserved: float
    internal: float
    external: float
    held: float  # tokens of a running sequence
    waste: float  # room per running sequence that its tokens do not fill, now
    finished: int
    preempted: int  # times that a request had to make way
    recomputed: int  # tokens that were given back in this way, and are computed again
    seconds: float
    wait: float  # mean time, s, from arrival to the first step


class _Running:
    """A request under a name, and the tokens that it still lacks."""

    def __init__(self, name: str, request: Request):
        self.name, self.request, self.left, self.whole = name, request, request.answer, request.length

    @property
    def length(self) -> int:
        """Tokens so far."""
        return self.whole - self.left


def serve(
    requests: Sequence[Request],
    policy: str = "blocks",
    slots: int = 15_700,
    page_tokens: int = 16,
    step_time: float = 0.045,
    warm: int = 0,
    steps: int | None = None,
    buddy: bool = True,
    longest: int = LONGEST,
    spare: int = 0,
) -> Served:
    """Continuous batching of requests, first come first served, in a memory of so many tokens, until `steps` or all
    are done.

    Each step gives every running sequence a token. With a policy of POLICIES memory is set aside in one piece, or taken
    in blocks as it is needed; when blocks run out, the request that came last gives all of its own back, and waits to
    compute its tokens again. A request comes in only where `spare` blocks stay free beside it. The first steps, `warm`,
    are not counted.
    """
    room = _Blocks(slots, page_tokens, spare) if policy == "blocks" else _Pieces(slots, policy, buddy, longest)
    waiting = deque(_Running(str(n), request) for n, request in enumerate(requests))
    running: list[_Running] = []
    seen = _Tally(slots, step_time, warm)
    while (waiting or running) and (steps is None or seen.steps < warm + steps):
        if not running and waiting[0].request.arrival > seen.time:
            seen.time = waiting[0].request.arrival
        while waiting and waiting[0].request.arrival <= seen.time and room.admit(waiting[0]):
            running.append(waiting.popleft())
            seen.waited.setdefault(running[-1].name, seen.time - running[-1].request.arrival)
        if not running:
            raise OutOfRoom(f"a request of {waiting[0].length} tokens does not fit into {slots}")
        _decode(running, waiting, room, seen)
        seen.step(running, room)
        for done in [each for each in running if not each.left]:
            room.leave(done)
            running.remove(done)
    return seen.result()


def _decode(running: list[_Running], waiting: deque, room, seen: _Tally) -> None:
    """One token for everyone who runs; whoever came last makes way if there is no room."""
    n = 0
    while n < len(running):
        if room.grow(running[n]):
            running[n].left -= 1
            n += 1
            continue
        last = running.pop()
        room.leave(last)
        waiting.appendleft(last)
        if seen.steps >= seen.warm:
            seen.preempted, seen.recomputed = seen.preempted + 1, seen.recomputed + last.length


class _Blocks:
    """Memory in blocks."""

    def __init__(self, slots: int, page_tokens: int, spare: int = 0):
        self.memory, self.spare = Allocator(slots // page_tokens, page_tokens, caching=False), spare

    def admit(self, each: _Running) -> bool:
        blocks = -(-each.length // self.memory.page_tokens)
        if blocks + self.spare > len(self.memory.pool.queue):
            return False
        self.memory.allocate(each.name, range(each.length))
        return True

    def grow(self, each: _Running) -> bool:
        """Room for one more token. A block is taken with its first; until it is full, the others need none."""
        if each.length % self.memory.page_tokens:
            return True
        try:
            self.memory.append(each.name, *range(self.memory.page_tokens))
        except OutOfRoom:
            return False
        return True

    def leave(self, each: _Running) -> None:
        self.memory.free(each.name)

    def taken(self) -> int:
        """Slots that belong to sequences."""
        return self.memory.used * self.memory.page_tokens

    def coming(self, running: list[_Running]) -> int:
        """Slots for tokens to come: the rest of everyone's last block, as far as it will be filled."""
        size = self.memory.page_tokens
        return sum([min(each.left, (each.left - each.whole) % size) for each in running])


class _Pieces:
    """Memory in one piece per sequence."""

    def __init__(self, slots: int, policy: str, buddy: bool, longest: int):
        self.memory, self.policy, self.longest = Contiguous(slots, buddy), policy, longest
        self.pieces: dict[str, Any] = {}

    def admit(self, each: _Running) -> bool:
        reserve = reserved(each.request, self.policy, self.longest)
        try:
            self.memory.allocate(each.name, each.length, reserve)
        except OutOfRoom:
            return False
        self.pieces[each.name] = reserve
        return True

    def grow(self, each: _Running) -> bool:
        return True  # the room was set aside

    def leave(self, each: _Running) -> None:
        self.memory.free(each.name)
        del self.pieces[each.name]

    def taken(self) -> int:
        return sum(self.pieces.values())  # what a buddy's piece has beyond what was asked for belongs to nobody

    def coming(self, running: list[_Running]) -> int:
        return sum([each.left for each in running])


class _Tally:
    """Sums over the counted steps of a run."""

    def __init__(self, slots: int, step_time: float, warm: int):
        self.slots, self.step_time, self.warm, self.time = slots, step_time, warm, 0.0
        self.steps = self.finished = self.preempted = self.recomputed = 0
        self.batch = self.tokens = self.coming = self.taken = 0
        self.waited: dict[str, float] = {}

    def step(self, running: list[_Running], room) -> None:
        self.steps += 1
        self.time += self.step_time
        if self.steps > self.warm:
            self.batch += len(running)
            self.tokens += sum([each.whole - each.left for each in running])
            self.coming += room.coming(running)
            self.taken += room.taken()
            self.finished += sum([not each.left for each in running])

    def result(self) -> Served:
        counted = self.steps - self.warm
        share = lambda sum: sum / counted / self.slots
        return Served(
            self.batch / counted,
            share(self.tokens),
            share(self.coming),
            share(self.taken - self.tokens - self.coming),
            1 - share(self.taken),
            self.tokens / self.batch,
            (self.taken - self.tokens) / self.batch,
            self.finished,
            self.preempted,
            self.recomputed,
            counted * self.step_time,
            sum(self.waited.values()) / len(self.waited),
        )


@cache
def full(
    policy: str,
    collection: str = "ShareGPT",
    page_tokens: int = 16,
    slots: int = 15_700,
    buddy: bool = True,
    steps: int = 3_000,
    seed: int = 0,
    spare: int = 0,
) -> Served:
    """A server that always has requests waiting: the batch and the use of memory that a policy reaches, by default
    with room for OPT-13B.
    """
    warm = round(4 * lengths(collection)[1])  # steps: four answers long
    served = trace(collection, 4_000, seed=seed)
    return serve(served, policy, slots, page_tokens, warm=warm, steps=steps, buddy=buddy, spare=spare)


# --- two examples, step by step ---------------------------------------------------------------------------------------


def example() -> list[tuple[str, Allocator]]:
    """The example of vLLM's documentation, played by the allocator: what happens, and the memory afterwards."""
    memory, first, moments = Allocator(10, 4), list(range(100)), []

    def seen(said: str) -> None:
        moments.append((said, deepcopy(memory)))

    memory.allocate("0", first[:15])
    seen("1  request 0: 15 tokens")
    memory.append("0", 15, 16)
    seen("2  request 0 goes on")
    hit = memory.allocate("1", first[:10] + list(range(200, 204)))
    seen(f"3  request 1: 14 tokens, {hit} found")
    memory.free("0")
    seen("4  request 0 ends")
    memory.free("1")
    seen("5  request 1 ends")
    hit = memory.allocate("2", first[:12] + list(range(300, 317)))
    seen(f"6  request 2: 29 tokens, {hit} found")
    return moments


# --- conversations that come back -------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """One request of a conversation: when it comes, whose it is, and the tokens of its whole prompt."""

    time: float
    conversation: int
    context: int


def agent() -> tuple[int, float, float]:
    """Turns, tokens at the start and growth per turn of a coding agent, medians of Codex's traces."""
    (row,) = measurement("agent_traces").records()
    return row["turns"], row["start_tokens"], row["growth_tokens"]


def working_set(conversations: int, turns: int, start: float, growth: float) -> float:
    """Tokens of all conversations that are going on, on average over their turns."""
    return conversations * sum(start + growth * turn for turn in range(turns)) / turns


@cache
def conversation(turns: int, start: float, growth: float, answer: float = 0, page_tokens: int = 16) -> float:
    """Share of the input tokens of one conversation that a real allocator with room for all of it finds.

    Each turn adds `growth` tokens to the prompt; of them the first `answer` are the model's own, and lie in the cache
    since they were decoded.
    """
    room = math.ceil((start + growth * turns) / page_tokens) + turns + 2
    memory, told = Allocator(room, page_tokens), list(range(round(start)))
    for turn in range(1, turns + 1):
        memory.allocate("turn", told)
        length = round(start + growth * turn)
        answered = min(len(told) + round(answer), length)
        memory.append("turn", *range(len(told), answered))
        memory.free("turn")
        told += range(len(told), length)
    return memory.hit_rate


AGENT_MEDIAN, AGENT_LONG = 5.2, 81.4  # s: of the pauses of Codex, the median and the 99th percentile
AGENT_SIGMA = math.log(AGENT_LONG / AGENT_MEDIAN) / 2.3263
AGENT_PAUSE = AGENT_MEDIAN * math.exp(AGENT_SIGMA**2 / 2)  # s, their mean
PAUSES: dict[str, Callable[[random.Random, float], float]] = {
    "random": lambda draw, mean: draw.expovariate(1 / mean),
    "regular": lambda draw, mean: mean * draw.uniform(0.95, 1.05),
    "long-tailed": lambda draw, mean: draw.lognormvariate(math.log(mean) - AGENT_SIGMA**2 / 2, AGENT_SIGMA),
}


@cache
def turns(
    conversations: int,
    turns: int,
    start: float,
    growth: float,
    pause: float,
    pauses: str = "random",
    count: int = 4_000,
    seed: int = 0,
) -> tuple[Turn, ...]:
    """The first `count` turns of so many conversations at once; when one has had its turns, another takes its place.

    They begin somewhere in the middle, so that the mix of young and old is there from the start. `pause`: mean time
    between turns, s.
    """
    draw, names = random.Random(seed), iter(range(10**9))
    queue: list[Any] = []
    found: list[Any] = []
    wait = lambda: PAUSES[pauses](draw, pause)
    for _ in range(conversations):
        heappush(queue, (draw.random() * pause, next(names), draw.randrange(turns)))
    while len(found) < count:
        time, name, turn = heappop(queue)
        found.append(Turn(time, name, round(start + growth * turn)))
        follows = (name, turn + 1) if turn + 1 < turns else (next(names), 0)
        heappush(queue, (time + wait(), *follows))
    return tuple(found)


class LRU:
    """A prefix cache of so many blocks whose conversations only grow; what was used longest ago makes way, last blocks
    first.

    Each request is over at once. So the blocks of a conversation that are left are always its first ones, and their
    number says all.
    """

    def __init__(self, blocks: int):
        self.blocks = blocks
        self.kept: OrderedDict[Any, int] = OrderedDict()  # blocks left by conversation, in the order of use
        self.held = self.written = 0

    def request(self, conversation: int, blocks: int) -> int:
        """Blocks of a prompt that are there; all of them are afterwards, as far as they fit."""
        kept = self.kept.pop(conversation, 0)
        self.held -= kept
        while self.held + blocks > self.blocks and self.kept:
            oldest = next(iter(self.kept))
            gone = min(self.kept[oldest], self.held + blocks - self.blocks)
            self.held -= gone
            self.kept[oldest] -= gone
            if not self.kept[oldest]:
                self.kept.popitem(last=False)
        self.kept[conversation] = min(blocks, self.blocks)
        self.held += self.kept[conversation]
        self.written += blocks - min(kept, blocks)
        return min(kept, blocks)


def replay(turns: Iterable[Turn], blocks: int, page_tokens: int, skip: float = 0.3) -> float:
    """Share of input tokens that an LRU cache finds, once it is warm: the first share of turns, `skip`, is not
    counted.
    """
    return spread_over(turns, 1, "shared", blocks, page_tokens, skip)


def spread_over(
    turns: Iterable[Turn], servers: int, route: str, blocks: int, page_tokens: int, skip: float = 0.3, seed: int = 0
) -> float:
    """Share of input tokens found when turns go to servers with caches of `blocks` each.

    `route`: "random", each turn to any server; "session", a conversation always to the same; "shared", one store as
    large as all caches.
    """
    draw, events = random.Random(seed), list(turns)
    caches = [LRU(blocks * servers)] if route == "shared" else [LRU(blocks) for _ in range(servers)]
    asked = found = 0
    for n, turn in enumerate(events):
        at = draw.randrange(servers) if route == "random" else turn.conversation % len(caches)
        hit = caches[at].request(turn.conversation, turn.context // page_tokens) * page_tokens
        if n >= skip * len(events):
            asked, found = asked + turn.context, found + hit
    return found / asked


def scattered(servers: int, turns: int, start: float, growth: float) -> float:
    """Share of input tokens found when each turn goes to any server and nothing is ever dropped: every last visit is
    tried, with its chance.
    """
    contexts, found = [start + growth * turn for turn in range(turns)], 0.0
    for turn in range(turns):
        found += sum(contexts[last] / servers * (1 - 1 / servers) ** (turn - 1 - last) for last in range(turn))
    return found / sum(contexts)


def che(
    room: float, conversations: int, turns: int, start: float, growth: float, pause: float, pauses: str = "random"
) -> float:
    """Share of input tokens that an LRU cache of `room` tokens finds, by Che's approximation, without following any
    request.

    Everything that was used within some time is there, nothing else. The time is the one in which that many distinct
    tokens are used: a turn's context counts until the next turn or until that time, whichever comes first, and for all
    of that time after the last turn.
    """
    waits, sums = _waits(pause, pauses)
    contexts = [start + growth * n for n in range(turns)]
    begun = conversations * len(waits) / (sums[-1] * turns)  # conversations that begin per second

    def within(time: float) -> float:
        sooner = bisect_right(waits, time)
        live = (sums[sooner] + (len(waits) - sooner) * time) / len(waits)  # mean of a pause, cut off at that time
        return begun * (sum(contexts[:-1]) * live + contexts[-1] * time)

    low, high = 0.0, 1e7
    for _ in range(60):
        low, high = ((low + high) / 2, high) if within((low + high) / 2) < room else (low, (low + high) / 2)
    return bisect_right(waits, low) / len(waits) * sum(contexts[:-1]) / sum(contexts)


@cache
def _waits(pause: float, pauses: str) -> tuple[list[float], list[float]]:
    """Pauses, s, in order of length, and the sums of the first so many."""
    draw = random.Random(0)
    waits = sorted(PAUSES[pauses](draw, pause) for _ in range(20_000))
    return waits, [0.0, *accumulate(waits)]


@cache
def routed(
    servers: int,
    route: str,
    room: float,
    conversations: int = 75,
    pauses: str = "long-tailed",
    page_tokens: int = 16,
    count: int = 6_000,
) -> float:
    """Share of input tokens found when the turns of coding agents go to servers that have `room` tokens of cache in
    all, evenly split.
    """
    events = turns(conversations, *agent(), AGENT_PAUSE, pauses, count)
    return spread_over(events, servers, route, int(room / servers // page_tokens), page_tokens)


@cache
def agents(room: float, pauses: str, conversations: int = 75, page_tokens: int = 16, count: int = 5_000) -> float:
    """Share of input tokens found by an LRU cache of `room` tokens, under so many coding agents at work as Codex's
    traces have them.
    """
    return replay(turns(conversations, *agent(), AGENT_PAUSE, pauses, count), int(room // page_tokens), page_tokens)
