"""Practice problems of the paging lesson: room reserved and in blocks, what it is worth, block tables, prefixes,
windows.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import product
from typing import Any

from sympy import Sum, Symbol, ceiling, solve, summation

from blackboard.catalogue import measurement, model, price
from blackboard.formula import DERIVED, Formula, Min
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.paging import equations as eq
from blackboard.lessons.paging import hybrid, simulation
from blackboard.lessons.paging.allocator import Allocator, Contiguous, OutOfRoom
from blackboard.lessons.paging.simulation import LONGEST
from blackboard.notation import symbols
from blackboard.problem import Choice, Estimate, Guess, Ordering, Quantity, Step, Values, Whole, right, v, wrong
from blackboard.units import factor, pretty

ROOM = "Compute how much of a cache's memory holds tokens, reserved and in blocks."
WORTH = "Tell what the larger batch is worth in dollars per token, and when it is worth nothing."
TABLE = "Follow a block table through allocation, sharing, copying and release."
HITS = "Predict the hit rate of a conversation, and the size of the cache that it needs."
KEEP = HITS
WINDOWS = "Count the blocks of a model with sliding windows."

MILLION, GB = 1e6, factor("GB")
BLOCK = 16  # tokens, vLLM's default
CARDS = (
    "claude-opus-4.6@2026-03-13",
    "claude-opus-5.5@2026-09-22",
    "claude-fable-5.1@2026-09-01",
    "claude-sonnet-4.6@2026-03-13",
)


class Counted(Function):
    """A function that is tried on whole numbers, `tried`, so that it may loop over them."""

    @property
    def misfit(self) -> str:
        return "The values do not fit."


def requests(values: Values) -> Values:
    """A drawn collection's mean lengths in tokens, and what a request holds halfway through its answer."""
    [row] = measurement("vllm_request_lengths").records(requests=values["requests"])
    start, answer = row["input_tokens"], row["output_tokens"]
    return {"input": start, "output": answer, "context": start + answer / 2, "at_end": start + answer}


# --- room ------------------------------------------------------------------------------------------------------------


def guessed(values: Values) -> Values:
    """A drawn collection, OPT's room in tokens, and what was measured of that collection with OPT's longest text."""
    [room] = measurement("vllm_paper").records(model="OPT-13B")
    [held] = measurement("vllm_kv_use").records(system="Orca (Max)", use="tokens")
    measured = f" The paper measured {held['share']:.1%}, as a share of the whole memory."
    case = values["requests"] == "ShareGPT" and values["reserved_context"] == LONGEST
    return requests(values) | {"slots": room["kv_tokens"], "measured": measured if case else ""}


def watched(values: Values) -> float:
    """Share of a reservation that holds tokens, looked at in the middle of each thousandth of an answer."""
    seen = [values["input"] + values["output"] * (part + 0.5) / 1000 for part in range(1000)]
    return sum(tokens / values["reserved_context"] for tokens in seen) / 1000


guess = Guess(
    "A guess before you read",
    level="easy",
    objective=ROOM,
    unit="1",
    display_unit="%",
    within=1.6,
    statement="A server sets aside cache for {reserved_context}, prompt and answer together, for every request. In the {requests} collection, a request has {input} of prompt and {output} of answer on average. Say that all requests are exactly so long. The room of a request fills up while its answer is written. What share of the room is filled, on average over this time, in percent? Any guess within a factor of 1.6 counts as right.",
    parameters={"requests": ("ShareGPT", "Alpaca"), "reserved_context": (LONGEST, *range(1536, 6144, 256))},
    derived=guessed,
    units={"requests": "", "measured": "", "input": "token", "output": "token", "reserved_context": "token"},
    answer=eq.use_reserved,
    independent_check=watched,
    misconceptions={
        1 - eq.use_reserved: "That would be true if most requests came near the limit. Your number is closer to what stays empty.",
        v.context / v.slots: "That divides by the whole memory of the GPU. Divide by the room of one request.",
        eq.use_reserved / 100: "That is the fraction; the percentage is a hundred times as large.",
    },
    close="Not far off. What does a request hold at first, and what at last?",
    explanation="Most of the rest waits for tokens that never come. Real answers are not all as long as the mean. Long answers run for longer and hold more, so at a random moment rooms are somewhat fuller.{measured}",
    hints=(
        "How many tokens does a request hold when its answer begins, and how many when it ends?",
        "Halfway it holds its prompt and half of its answer.",
    ),
    solution=(
        Step("Halfway through its answer a request holds", v.context, "token"),
        f"${eq.use_reserved.latex}$, in percent:",
    ),
)


def roomy(values: Values) -> Values:
    """The room of a drawn model, and how long ShareGPT's requests get."""
    [row] = measurement("vllm_paper").records(model=values["size"])
    [measured] = measurement("vllm_batched_requests").records(requests="ShareGPT", system="Orca (Max)")
    return requests({"requests": "ShareGPT"}) | {
        "slots": row["kv_tokens"],
        "machine": row["chips"],
        "measured": f"{measured['batch']:g}",
    }


def placed(values: Values) -> int:
    """Reservations that a memory takes, set aside one after the other until none fits."""
    memory, count = Contiguous(values["slots"]), 0
    try:
        while True:
            memory.allocate(str(count), 1, values["reserved_context"])
            count += 1
    except OutOfRoom:
        return count


reservations = Whole(
    "How many reservations",
    level="easy",
    objective=ROOM,
    unit="sequence",
    statement="{size} on {machine} has room for the cache of {slots} tokens. A server sets aside room for {reserved_context} for each sequence, in one piece. The sequences have {at_end} on average when they end. How many does it serve at once?",
    parameters={"size": ("OPT-13B", "OPT-66B", "OPT-175B"), "reserved_context": (LONGEST, 1024, 640, 704, 768, 832, 896, 960, 1152, 1280, 1408, 1536, 1664, 1792, 1920)},
    derived=roomy,
    units={"slots": "", "reserved_context": "token", "at_end": "token"},
    answer=lambda v: float(v["slots"] // v["reserved_context"]),
    independent_check=placed,
    misconceptions={
        lambda v: float(-(-v["slots"] // v["reserved_context"])): "The last of them would not have all of its room.",
        lambda v: float(v["slots"] // v["at_end"]): "That many would fit if each took only what it needs. Room is set aside for the longest.",
        lambda v: float(v["slots"] // (v["reserved_context"] + v["at_end"])): "What a sequence holds is inside the room that was set aside for it.",
    },
    off_by_one_message="Sequences are served whole, and each of them has all of its room.",
    explanation="What is left over is too short for one more. For OPT-13B and 2,048 tokens the paper measured {measured}, with short requests and with long ones.",
    hints=(
        "What a sequence really holds does not matter here.",
        "How often does the room of one fit into the whole? Leave out the remainder.",
    ),
    solution=(
        Step("All slots ÷ slots of one:", v.slots / v.reserved_context),
        Step("rounded down:", lambda v: float(v["slots"] // v["reserved_context"])),
    ),
)

RESTS = {"a": 15.0, "b": 7.5, "c": 8.0, "d": 16.0}

half_block = Choice(
    "The last block",
    level="easy",
    objective=ROOM,
    statement="A sequence is kept in blocks of 16 tokens, and all but its last block are full. The last block holds 1 to 16 tokens, each equally often. How many slots of the last block are empty, on average?",
    independent_check=lambda v: next((key for key, slots in RESTS.items() if slots == sum(-length % 16 for length in range(1, 1601)) / 1600)),
    options=[
        wrong(f"{RESTS['a']:g}", "That is the most, just after the first token of a new block."),
        right(f"{RESTS['b']:g}", "From none to 15, each equally likely. It depends on the block alone: sequences of fifty tokens and of fifty thousand waste the same."),
        wrong(f"{RESTS['c']:g}", "Nearly. How many slots are empty at least, and how many at most?"),
        wrong(f"{RESTS['d']:g}", "A block with nothing in it would not have been taken."),
    ],
    hints=(
        "List what can be empty: after one token of the block, after two, and so on to the last.",
        "The mean of equally likely numbers in a row is that of the first and the last.",
    ),
    solution=(f"${eq.page_waste.latex}$ with 16 tokens: the mean of 0 to 15.",),
)

SHORT = round(sum(simulation.lengths("Alpaca")))  # tokens of a mean request, prompt and answer
PLANS = {"a": ("blocks", 16), "b": ("piece", 2_048), "c": ("blocks", 256), "d": ("piece", 128)}


def planned(key: str) -> float:
    """Share of its room that a request of SHORT tokens uses under one of PLANS, by the formulas."""
    kind, size = PLANS[key]
    if kind == "piece":
        return eq.use_reserved(context=SHORT, reserved_context=size)
    return SHORT / (size * eq.page_blocks(context=SHORT, page_tokens=size))


def laid(key: str) -> float:
    """The same, by an allocator that is given the tokens."""
    kind, size = PLANS[key]
    if kind == "piece":
        pieces = Contiguous(size)
        pieces.allocate("one", SHORT, size)
        return pieces.use
    memory = Allocator(100, size)
    memory.allocate("one", list(range(SHORT)))
    return memory.use


by_use = Ordering(
    "Four ways to keep a short request",
    level="easy",
    objective=ROOM,
    statement=f"A request has {SHORT} tokens when it ends, as Alpaca's have on average. Order these ways to give it room by the share of the room that then holds tokens, the smallest share first.",
    items=[
        "blocks of 16 tokens, taken as it grows",
        "one piece for the longest request that is allowed, 2,048 tokens",
        "blocks of 256 tokens, taken as it grows",
        "one piece of the next power of two above its true length, known in advance",
    ],
    answer=lambda v: "".join(sorted(PLANS, key=planned)),
    independent_check=lambda v: "".join(sorted(PLANS, key=laid)),
    misconceptions={
        "adcb": "That is from the largest share to the smallest.",
        "bdca": "Blocks are not always better: how many tokens of the only long block are used?",
        "bcad": "Knowing the length does not fill a power of two. How much of the piece stays empty?",
    },
    explanation="Blocks help because they are short beside the sequence. One that is longer than the sequence is a reservation by another name.",
    hints=(
        "How many slots does each way set aside?",
        f"{SHORT} divided by that number.",
    ),
    solution=lambda v: [Step(f"{key}) uses {100 * planned(key):.0f}% of its room.") for key in PLANS],
)

m, L = eq.page_tokens, eq.context
k = Symbol("k", integer=True, nonnegative=True)

letters = Expression(
    "Use, in letters",
    level="easy",
    objective=ROOM,
    statement="A sequence of L tokens is kept in blocks of m_page tokens. All but the last are full, and the last has 0 to m_page − 1 empty slots, each equally often. Write its tokens divided by the slots that it takes on average.",
    formula=eq.use_paged,
    independent_check=L / (L + summation(k, (k, 0, m - 1)) / m),
    misconceptions={
        L / (L + m / 2): "Half a block is a little too much: none to m_page − 1 slots are empty, never a whole block.",
        L / (L + m - 1): "That is the worst case. Take the mean.",
        L / (L + m): "That gives every sequence one block more than it needs. How much of its last one is empty on average?",
        (m - 1) / 2 / (L + (m - 1) / 2): "That is the share which stays empty.",
        1 - (m - 1) / (2 * L): "You divided the waste by the tokens. Divide by tokens and waste together.",
        (L + (m - 1) / 2) / L: "Upside down: a share is at most 1.",
    },
    explanation="The longest length that a request may reach has dropped out. Only its actual length counts.",
    hints=(
        "How many slots are empty on average?",
        "Tokens ÷ (tokens + empty slots).",
    ),
    solution=(
        f"Empty on average: ${eq.page_waste.latex}$.",
        Step(f"${eq.use_paged.latex}$, typed as", "L / (L + (m_page - 1) / 2)"),
    ),
)

# --- what the room is worth ------------------------------------------------------------------------------------------


[PAGING] = measurement("vllm_paging").records()


def paged() -> Values:
    """What the paper says of its kernel and its gains, as words."""
    slower = f"{PAGING['low_overhead']:.0%} to {PAGING['high_overhead']:.0%}"
    return {"slower": slower, "gain": f"{PAGING['low_gain']:g} to {PAGING['high_gain']:g}"}


def alone() -> dict[str, float]:
    """By what factor each of the claims below makes a token cheaper on the paper's server, all else as it was."""
    known, held = simulation.opt13b(), simulation.held("ShareGPT")
    cost = lambda batch, slower=0.0: eq.paged_cost(known, batch=batch, context=held, paging_overhead=slower)
    few, many = (measurement("vllm_batched_requests").records(requests="ShareGPT", system=name)[0]["batch"] for name in ("Orca (Max)", "vLLM"))
    piece, blocks = Contiguous(LONGEST), Allocator(LONGEST // BLOCK, BLOCK)
    piece.allocate("one", int(held), LONGEST)
    blocks.allocate("one", list(range(int(held))))
    return {
        "a": cost(few) / cost(many),
        "b": piece.use * LONGEST / blocks.held,
        "c": cost(few) / cost(few, PAGING["low_overhead"]),
        "d": 1.0,
    }


faster = Choice(
    "Where the speed comes from",
    level="easy",
    objective=WORTH,
    statement="An engine that pages its caches makes more tokens a second than one that reserves room for the longest possible sequence, on the same GPU and with the same model. Why?",
    derived=lambda v: paged(),
    units={"slower": "", "gain": ""},
    independent_check=lambda v: max(alone(), key=alone().get),
    options=[
        right("more sequences are in a batch, and share each loading of the weights", "Paging is about room. Its first attention kernel was slower, by {slower}; a batch several times as large made up for it."),
        wrong("it loads fewer bytes of cache for each token", "Empty slots were never loaded. A step loads as many tokens of each sequence as before."),
        wrong("its attention kernel loads a cache in blocks faster than one in one piece", "It has to look up where each block is. The first such kernel was slower."),
        wrong("it makes answers shorter, so that requests leave earlier", "The model and its answers are the same. What has changed is who fits in beside them."),
    ],
    hints=(
        "What did the empty slots cost: time to load them, or room?",
        "Room is sequences. What do sequences in one batch share?",
    ),
    solution=(f"${eq.batch_held.latex}$: the share of memory in use is a factor in the batch, and the weights are loaded once for all of it.",),
)

# times of one step: to read the weights, to read one sequence's cache, to multiply for one sequence; and the batch
SERVERS = {"a": (1.0, 2.5, 0.05, 4), "b": (0.5, 0.125, 1.0, 4), "c": (1.0, 0.25, 0.05, 4), "d": (1.0, 0.01, 0.05, 4)}


def doubled(key: str) -> float:
    """Cost of a token on a server of SERVERS over that with twice the batch, counted sequence by sequence."""
    weights, cache, multiply, batch = SERVERS[key]
    step = lambda count: max(weights + sum(cache for _ in range(count)), sum(multiply for _ in range(count)))
    return step(batch) / batch / (step(2 * batch) / (2 * batch))


doubling = Choice(
    "Twice the room",
    level="medium",
    objective=WORTH,
    statement="Paging lets twice as many sequences into a batch, and enough of them are waiting. On which of these servers does the cost of a token fall by the largest factor? Times are those of a decode step before the change, with the caches of the whole batch.",
    independent_check=lambda v: max(SERVERS, key=doubled),
    options=[
        wrong("loading all caches takes ten times as long as loading the weights, and longer than compute", "Each sequence pays for loading its own cache, in any batch. Only the weights are shared, and here they hardly count."),
        wrong("compute takes four times as long as loading weights and caches", "Compute is the bottleneck already. Twice the batch takes twice as long."),
        wrong("loading the weights takes as long as loading all caches, and five times as long as compute", "Half of the memory traffic is now shared by more sequences. On one of these servers nearly all of it is."),
        right("loading the weights takes 25 times as long as loading all caches, and five times as long as compute", "A token there costs little more than half. Where caches are half of the memory traffic it saves a quarter, and past the critical batch nothing."),
    ],
    hints=(
        "Which part of a step is shared by all sequences of a batch?",
        "Double the batch: which times double, and which stays? Then divide by twice the sequences.",
    ),
    solution=lambda v: [Step(f"{key}) cheaper by a factor of {doubled(key):.2f}.") for key in SERVERS],
)


def compared(values: Values) -> Values:
    """OPT-13B on its GPU, the batches measured for a drawn system and for vLLM or made-up ones, and what a running
    sequence holds.
    """
    batch = lambda system: measurement("vllm_batched_requests").records(requests=values["requests"], system=system)[0]["batch"]
    known, made_up = simulation.opt13b(), isinstance(values["rival"], tuple)
    few, many = values["rival"] if made_up else (batch(values["rival"]), batch("vLLM"))
    whose = ("Say that a system that reserves room", "one with blocks") if made_up else ("A system that reserves room", "vLLM")
    held = simulation.held(values["requests"])
    return (
        known
        | paged()
        | {
            "context": held,
            "few": few,
            "many": many,
            "reserver": whose[0],
            "pager": whose[1],
            "weights": known["n_total"] * known["bytes_per_param"],
            "per_sequence": held * known["kv_bytes_per_token"],
        }
    )


def per_token(values: Values, batch: float) -> float:
    """Cost of a token at a batch, in USD."""
    return eq.paged_cost(values, batch=batch, paging_overhead=0)


def has_room(values: Values) -> bool:
    """Whether the GPU holds the weights and the caches of the larger batch."""
    return values["weights"] + values["many"] * values["per_sequence"] < values["hbm"]


BATCHES = tuple((few, many) for few in (4, 5, 6, 8, 10, 12, 15, 20) for many in (20, 24, 28, 30, 60, 100) if many >= 2 * few)
OPT = {"reserver": "", "pager": "", "weights": "byte", "per_sequence": "byte", "few": "", "many": "", "context": "token", "requests": ""}

worth = Quantity(
    "What a larger batch is worth",
    level="medium",
    objective=WORTH,
    unit="1",
    statement="OPT-13B has {weights} of weights, which a decode step loads once. A running sequence of {requests} holds {context} on average, at {kv_bytes_per_token} each. These batches wait for memory, not compute. {reserver} ran {few} sequences at once; {pager}, on the same GPU, ran {many}. How many times as much did a token cost at the smaller batch? Only the time of a step counts, and both load memory equally fast.",
    parameters={"requests": ("ShareGPT", "Alpaca"), "rival": ("Orca (Max)", "Orca (Pow2)", "Orca (Oracle)", *BATCHES)},
    derived=compared,
    condition=has_room,
    units=OPT,
    answer=lambda v: per_token(v, v["few"]) / per_token(v, v["many"]),
    independent_check=(v.weights / v.few + v.per_sequence) / (v.weights / v.many + v.per_sequence),
    misconceptions={
        v.many / v.few: "That is the ratio of the batches. Weights are shared by the batch, and caches are not.",
        (v.weights + v.many * v.per_sequence) / (v.weights + v.few * v.per_sequence): "That is how much longer a step takes. It also makes more tokens.",
        lambda v: 1 - per_token(v, v["many"]) / per_token(v, v["few"]): "That is the share which is saved. The question is one cost divided by the other.",
        lambda v: per_token(v, v["many"]) / per_token(v, v["few"]): "Upside down: at the smaller batch a token costs more.",
    },
    explanation="Less than the ratio of the batches: each sequence still pays for loading its own cache. The paper measured {gain} times the throughput at equal latency.",
    hints=(
        "What does a step load at each batch? Divide by the tokens that it makes.",
        "Weights ÷ batch, plus one sequence's cache.",
    ),
    solution=(
        Step("A sequence's cache:", v.per_sequence, "byte"),
        Step("Loaded per token at the smaller batch:", v.weights / v.few + v.per_sequence, "byte"),
        Step("and at the larger:", v.weights / v.many + v.per_sequence, "byte"),
        "Divide the first by the second:",
    ),
)


def kernels(values: Values) -> Values:
    """The same server with the batch of vLLM or a made-up one, at a drawn slow-down of the kernel that reads the
    cache.
    """
    found = compared(values | {"rival": (1, values["made_up"]) if values["made_up"] else "Orca (Max)"})
    slower = values["paging_overhead"]
    kernel = "vLLM's first attention kernel" if slower in MEASURED else "An attention kernel"
    return found | {"batch": found["many"], "slower": f"{slower:.0%}", "kernel": kernel}


MEASURED = (PAGING["high_overhead"], PAGING["low_overhead"])


slow_kernel = Quantity(
    "What following the table costs",
    level="hard",
    objective=WORTH,
    unit="1",
    display_unit="%",
    statement="{kernel} took {slower} longer to load a cache in blocks than one in one piece. OPT-13B has {weights} of weights, which a decode step loads once. A batch of {many} sequences holds {context} each on average, at {kv_bytes_per_token}. The step waits for memory, not compute. By how many percent does the block table raise the cost of a token, at the same batch?",
    parameters={
        "requests": ("ShareGPT", "Alpaca"),
        "paging_overhead": (*MEASURED, 0.1, 0.15, 0.3, 0.4),
        "made_up": (0, 16, 20, 24, 30, 32),
    },
    derived=kernels,
    condition=has_room,
    units=OPT | {"slower": "", "kernel": ""},
    answer=lambda v: eq.paged_cost(v) / per_token(v, v["many"]) - 1,
    independent_check=(v.weights + v.many * (v.per_sequence * (1 + v.paging_overhead))) / (v.weights + v.many * v.per_sequence) - 1,
    misconceptions={
        v.paging_overhead: "That is the slow-down for the cache alone. Loading the weights takes as long as before.",
        v.paging_overhead * v.many * v.per_sequence / v.weights: "You divided the extra time by that of the weights. Divide by everything that a step loads.",
        v.paging_overhead * v.weights / (v.weights + v.many * v.per_sequence): "You took the share of the weights. The block table slows down loading the cache.",
        lambda v: eq.paged_cost(v) / per_token(v, v["many"]): "That is the whole cost, in percent of what it was. The question is what is added.",
        lambda v: (eq.paged_cost(v) / per_token(v, v["many"]) - 1) / 100: "That is the fraction; the percentage is a hundred times as large.",
    },
    explanation="A batch several times as large is worth far more. The cost grows with the caches' share of a step, so it matters more at long contexts.",
    hints=(
        "Which part of what a step loads is cache?",
        "Only that part takes longer.",
    ),
    solution=(
        Step("The caches of the batch:", v.many * v.per_sequence, "byte"),
        Step("as a share of all that a step loads:", v.many * v.per_sequence / (v.weights + v.many * v.per_sequence)),
        "times the slow-down, in percent:",
    ),
)

hbm, n_total, bytes_per_param, kv = symbols("hbm n_total bytes_per_param kv_bytes_per_token")
free = hbm - n_total * bytes_per_param
in_blocks = Formula(
    "paging.held_in_blocks",
    "batch_held",
    eq.batch_held.typed.subs(eq.kv_use, eq.use_paged.typed),
    "sequence",
    "sequences that memory holds in blocks",
    eq.batch_held.assumes,
    DERIVED,
    conditions=eq.batch_held.conditions + eq.use_paged.conditions,
    register=False,
)

TIGHT = {
    "hbm": 40_000,
    "n_total": 12_000,
    "bytes_per_param": 2,
    "kv_bytes_per_token": 3,
    "context": 50,
    "page_tokens": 16,
}  # bytes, tokens
HELD = (
    TIGHT,
    TIGHT | {"context": 333, "page_tokens": 32},
    TIGHT | {"hbm": 90_000, "n_total": 70_000, "bytes_per_param": 1, "context": 21, "page_tokens": 8},
    TIGHT | {"kv_bytes_per_token": 7, "context": 9, "page_tokens": 4},
    TIGHT | {"n_total": 5_000, "context": 100, "page_tokens": 64},
)

held = Counted(
    "Write how many fit",
    level="medium",
    objective=WORTH,
    statement="Write a Python function of hbm, n_total, bytes_per_param, kv_bytes_per_token, context and page_tokens. Memory that the weights leave holds caches in blocks of page_tokens tokens. A sequence has `context` tokens, and on average its last block leaves between 0 and page_tokens − 1 slots empty, all equally likely. Return the number of sequences: the free bytes divided by those that one takes on average. Do not round. It is called by name, with whole numbers.",
    formula=in_blocks,
    test_points=HELD,
    independent_check=free / (kv * L + kv * summation(k, (k, 0, m - 1)) / m),
    misconceptions={
        free / (kv * L): "That is without the empty slots of the last block.",
        free / (kv * (L + m / 2)): "Half a block is a little too much: the most that is empty is page_tokens − 1.",
        free / (kv * (L + m - 1)): "That is the worst case for each sequence. Take the mean.",
        free / (kv * m * ceiling(L / m)): "That is for sequences of just this length. Take the mean: half of the most that can be empty.",
        hbm / (kv * (L + (m - 1) / 2)): "The weights are in the same memory.",
        free / (kv * m): "That is how many blocks there are. How many does a sequence take?",
        free / kv / L * (L + (m - 1) / 2) / L: "You multiplied where the share in use divides: upside down.",
    },
    explanation="Put its result into the lesson's cost of a token as the batch, and you have what a block's length is worth. There is no longest sequence in it.",
    hints=(
        "Free bytes ÷ bytes of a sequence: its tokens and its empty slots.",
        "Free are hbm less n_total * bytes_per_param. A sequence takes kv_bytes_per_token for each of its tokens, and for each slot that is empty: how many are, on average?",
    ),
    solution=(
        f"${eq.batch_held.latex}$ with ${eq.use_paged.latex}$.",
        Step("As code:", "(hbm - n_total * bytes_per_param) / (kv_bytes_per_token * (context + (page_tokens - 1) / 2))"),
    ),
)

# --- the allocator ---------------------------------------------------------------------------------------------------


def forked(values: Values) -> int:
    """Blocks held after the samples have each written a token, by the allocator."""
    memory = Allocator(200, values["page_tokens"], caching=False)
    memory.allocate("0", list(range(values["prompt"])))
    for n in range(1, values["samples"]):
        memory.fork("0", str(n))
    for n in range(values["samples"]):
        memory.append(str(n), n)
    return memory.used


fork = Whole(
    "Several answers to one prompt",
    level="medium",
    objective=TABLE,
    unit="1",
    statement="{samples} answers to one prompt of {prompt} are written at the same time, in blocks of {page_tokens}. They share the prompt's blocks, each of which counts how many sequences hold it. Before one of them writes into a block that others hold too, it gets a copy of its own. Each answer has written one token. How many blocks are held, by all of them together?",
    parameters={"prompt": (21, 30, 37, 50, 75, 100), "page_tokens": (16, 8, 32), "samples": (4, 2, 3, 5, 6, 8)},
    derived=lambda v: {"whole": -(-v["prompt"] // v["page_tokens"])},
    condition=lambda v: v["prompt"] % v["page_tokens"],
    units={"samples": "", "prompt": "token", "page_tokens": "token"},
    answer=v.samples + eq.page_blocks.at(context=v.prompt, page_tokens=v.page_tokens) - 1,
    independent_check=forked,
    misconceptions={
        v.samples * v.whole: "That is a whole cache for each answer. The full blocks of the prompt are never written again, so one will do.",
        v.samples + v.whole: "You made a copy for each of them. When the last one writes, who else still holds the original?",
        v.whole: "That is before anybody wrote. Two answers cannot both put their token into one slot.",
        v.samples - 1: "That is how many copies were made. The question is about all blocks that are held.",
        v.samples: "Those are the blocks with an answer's token in them. The prompt's full blocks are held as well.",
    },
    explanation="The full blocks of the prompt are held once. The last one to write copies nothing: by then nobody else holds the block.",
    hints=(
        "Which of the prompt's blocks does nobody write into?",
        "Of the last, partly filled one each answer has its own in the end.",
    ),
    solution=(
        Step("Full blocks of the prompt, held by all:", v.whole - 1),
        Step("Blocks with an answer's token, one each:", v.samples),
        Step("Together:", v.samples + v.whole - 1),
    ),
)

# five blocks: (tables, counts of blocks 0 to 4, free)
STATES = {
    "a": ({"Ann": [0, 1], "Bob": [0, 2]}, (1, 1, 1, 0, 0), [3, 4]),
    "b": ({"Ann": [0, 1], "Bob": [0, 2]}, (2, 1, 1, 0, 0), [3]),
    "c": ({"Ann": [0, 1], "Bob": [0, 2]}, (2, 1, 1, 0, 0), [4, 3]),
    "d": ({"Ann": [0, 1], "Bob": [0, 2]}, (2, 1, 1, 0, 0), [2, 3, 4]),
}


def stated(key: str) -> str:
    """A state of STATES in words."""
    tables, counts, free_ones = STATES[key]
    description = lambda blocks: " ".join(map(str, blocks))
    return f"{', '.join(f'{name}: {description(table)}' for name, table in tables.items())}; counts {description(counts)}; free {description(free_ones)}"


def survives(key: str) -> bool:
    """Whether all goes well from a state on: newcomers take all free blocks, Ann ends, Bob ends, and the newcomers
    end.
    """
    tables, at_first, free_ones = STATES[key]
    counts, queue, read = list(at_first), list(free_ones), {block for table in tables.values() for block in table}
    taken = list(queue)
    if read & set(taken):
        return False  # somebody writes where others read
    queue.clear()
    for name in ("Ann", "Bob"):
        later = set(tables["Bob"]) if name == "Ann" else set()
        for block in tables[name]:
            counts[block] -= 1
            if counts[block] == 0:
                queue.append(block)
        if later & set(queue) or min(counts) < 0:
            return False  # given away under a reader, or twice
    return sorted(queue + taken) == list(range(5))


sound = Choice(
    "Which state is consistent?",
    level="easy",
    objective=TABLE,
    statement="A cache has five blocks, 0 to 4. Each option gives the block tables of two sequences, the reference counts of blocks 0 to 4, and the free blocks, next one first. Which state is consistent?",
    independent_check=lambda v: next(filter(survives, STATES)),
    options=[
        wrong(stated("a"), "Both name block 0, and its count says one. When Ann ends it is free, and Bob still reads it."),
        wrong(stated("b"), "Block 4 is in no table, and it is not free. Nobody will ever use it again."),
        right(stated("c"), "Every block is free or held, none is both, and each count is the number of tables that name the block. The order of the free blocks does not matter."),
        wrong(stated("d"), "Block 2 is free, and Bob reads it. The next request writes over it."),
    ],
    hints=(
        "Count for each block how many tables name it.",
        "Where is each of the five blocks: in a table, or free?",
    ),
    solution=("Block 0 is named twice, 1 and 2 once, 3 and 4 never. So the counts are 2 1 1 0 0, and 3 and 4 are free.",),
)


def released() -> str:
    """The order in which blocks become free, kept by hand: counts, and for each sequence its table from the end."""
    counts, line = {0: 2, 1: 2, 2: 1, 3: 1}, []
    for table in ([0, 1, 2], [0, 1, 3]):
        for block in table[::-1]:
            counts[block] -= 1
            line += [block] * (not counts[block])
    return "".join("abcd"[block] for block in line)


def emptied() -> str:
    """The same by the allocator: two requests with eight tokens in common, in blocks of four."""
    memory = Allocator(4, 4)
    memory.allocate("Ann", list(range(12)))
    memory.allocate("Bob", [*range(8), *range(50, 54)])
    memory.free("Ann")
    memory.free("Bob")
    return "".join("abcd"[block] for block in memory.free_blocks)


evict = Ordering(
    "Who goes first",
    level="medium",
    objective=TABLE,
    statement="A prefix cache has four full blocks. Ann's request holds 0, 1 and 2, in this order. Bob's begins in the same way and holds 0, 1 and 3. Ann's ends, then Bob's. A request that ends gives its blocks back, last one first. Blocks that nobody holds join the end of the free queue, with their content. New requests take from the head of the queue. In which order are the four overwritten?",
    items=[
        "block 0",
        "block 1",
        "block 2",
        "block 3",
    ],
    answer=lambda v: emptied(),
    independent_check=lambda v: released(),
    misconceptions={
        "abcd": "That is the order in which they were filled. What counts is when each became free.",
        "cbad": "When Ann's request ended, Bob's still held two of its blocks. They did not become free then.",
        "cabd": "That is each table from its head. Blocks are given back from the end.",
        "dcba": "Ann's ended before Bob's. What became free first goes first.",
    },
    explanation="The tails go first and the head of all goes last. Many requests share a beginning and few an end, so the beginning is worth keeping longest.",
    hints=(
        "Ann's ends: which of her blocks does nobody hold any more?",
        "Then Bob's ends, and gives back the others from its end.",
    ),
    solution=(
        "With Ann's only block 2 becomes free; 0 and 1 are still held.",
        "With Bob's the others follow, last one first: 3, 1, 0.",
    ),
)

# --- a prefix that is there already ----------------------------------------------------------------------------------


TAIL = 100  # tokens after the common head


def found_again(values: Values) -> int:
    """Tokens that the allocator finds of a second request with a head in common."""
    memory, head = Allocator(100, values["page_tokens"]), list(range(values["common_context"]))
    memory.allocate("first", [*head, *range(1000, 1000 + TAIL)])
    return memory.allocate("second", [*head, *range(2000, 2000 + TAIL)])


common = Whole(
    "What two requests share",
    level="easy",
    objective=HITS,
    unit="token/sequence",
    display_unit="token",
    statement="Two requests of {length} each have their first {common_context} in common, and then differ. The first has been read, in blocks of {page_tokens}, and all of its blocks are still in the cache. How many tokens of the second are found there?",
    parameters={"common_context": (58, 30, 45, 77, 90, 100, 110, 120, 140, 150, 170, 190, 200, 210, 230, 250, 300), "page_tokens": (16, 32, 64)},
    derived={"length": v.common_context + TAIL},
    condition=lambda v: 0 < v["common_context"] % v["page_tokens"] < v["common_context"],
    units={"common_context": "token", "page_tokens": "token", "length": "token"},
    answer=eq.hit_tokens,
    independent_check=found_again,
    misconceptions={
        v.common_context: "That many are the same. But a block that is only partly the same has a different name.",
        lambda v: v["page_tokens"] * -(-v["common_context"] // v["page_tokens"]): "You rounded up. The last of these blocks holds other tokens in the second request.",
        lambda v: v["common_context"] // v["page_tokens"]: "That is blocks. The question is about tokens.",
        lambda v: v["length"] // v["page_tokens"] * v["page_tokens"]: "You counted the request's full blocks. Which of them hold the same tokens as before?",
    },
    off_by_one_message="Blocks are found whole or not at all.",
    explanation="Only whole blocks are named, so up to one block less one token is computed again. For a long prompt that is little.",
    hints=(
        "How many blocks are completely inside what is common?",
        "That number, times the tokens of a block.",
    ),
    solution=(
        Step("Whole blocks in common:", lambda v: v["common_context"] // v["page_tokens"]),
        Step(f"${eq.hit_tokens.latex}$ =", eq.hit_tokens, "token"),
    ),
)

PROMPT = 1_000  # tokens
FOUND = {
    "a": PROMPT // BLOCK * BLOCK - BLOCK,
    "b": PROMPT - 1,
    "c": PROMPT // BLOCK * BLOCK,
    "d": 0,
}  # tokens, of the options below


def dated() -> int:
    """Tokens found of a prompt whose first token has changed since it was cached."""
    memory = Allocator(200, BLOCK)
    memory.allocate("yesterday", list(range(PROMPT)))
    memory.free("yesterday")
    return memory.allocate("today", [-1, *range(1, PROMPT)])


chain = Choice(
    "The date at the top",
    level="medium",
    objective=HITS,
    statement=f"A system prompt of {PROMPT:,} tokens begins with the day of the month, one token. It has been read and is cached, in blocks of {BLOCK}. At midnight the day changes, and the prompt comes again. How many of its tokens are found?",
    independent_check=lambda v: next((key for key, tokens in FOUND.items() if tokens == dated())),
    options=[
        wrong(f"{FOUND['a']}: all full blocks but the first", "These blocks hold the same tokens, but not the same keys and values, which depend on everything before them. A block's name contains its parent's name."),
        wrong(f"{FOUND['b']}: all that are the same", "The tokens are the same, but their keys and values depend on everything before them."),
        wrong(f"{FOUND['c']}: all full blocks", "The first of these blocks holds another token now. And what of those that follow it?"),
        right("none", "A token's keys and values depend on all tokens before it, so one change at the top changes them all. Put what changes at the end of a prompt."),
    ],
    hints=(
        "What do the keys and values of the hundredth token depend on?",
        "A block's name is made of its tokens and its parent's name. Which names change?",
    ),
    solution=("The first block has another name, so the second has, and so on to the last.",),
)


def talk(name: str, *rows: tuple[int, int, int]) -> tuple[Values, ...]:
    """Conversations to try a function on: a count by that name, tokens at the start, tokens that a turn adds."""
    return tuple({"start_context": start, "turn_growth": growth, name: count} for count, start, growth in rows)


def conversation(values: Values) -> Values:
    """The tokens of all turns together, and of the last one."""
    turns, start, growth = (values[name] for name in ("turns", "start_context", "turn_growth"))
    return {"sent": turns * start + growth * turns * (turns - 1) / 2, "last": start + growth * (turns - 1)}


def first_seen(values: Values) -> float:
    """Share of a conversation's input that was not sent before, turn by turn."""
    sent = new = seen = 0
    for turn in range(values["turns"]):
        length = values["start_context"] + turn * values["turn_growth"]
        sent, new, seen = sent + length, new + length - seen, length
    return new / sent


[AGENT] = measurement("agent_traces").records()
TALKS: dict[str, Any] = {
    "turns": (AGENT["turns"], 10, 15, 20, 25, 30, 40),
    "start_context": (AGENT["start_tokens"], 3_000, 5_000, 8_000, 20_000),
    "turn_growth": (AGENT["growth_tokens"], 400, 600, 1_000, 1_500),
}
TALK = {"turns": "", "start_context": "token", "turn_growth": "token", "sent": "token", "last": "token"}

new = Quantity(
    "How much is new",
    level="medium",
    objective=HITS,
    unit="1",
    display_unit="%",
    statement="A coding agent sends its whole context again with every request. The first has {start_context}, each of the others {turn_growth} more than the one before, and there are {turns} in all. A cache keeps everything, in short blocks. Which share of all input tokens must be computed, in percent?",
    parameters=TALKS,
    derived=conversation,
    condition=lambda v: eq.hit_rate_turns(v) > 0.85,
    units=TALK,
    answer=1 - eq.hit_rate_turns,
    independent_check=first_seen,
    misconceptions={
        v.turn_growth / v.last: "That is the last request alone. Earlier ones are shorter, and more of them is new.",
        1 / v.turns: "That would be so if the context did not grow.",
        v.turn_growth * (v.turns - 1) / v.sent: "The first request is new as well, all of it.",
        eq.hit_rate_turns: "That is the share which is found.",
        (1 - eq.hit_rate_turns) / 100: "That is the fraction; the percentage is a hundred times as large.",
    },
    explanation="Each token is computed once, and sent again in every turn that follows. An agent sends hardly anything but its own past.",
    hints=(
        "What is new over the whole conversation: how long is its last context?",
        "Divide by the lengths of all requests, added up.",
    ),
    solution=(
        Step("New over all turns is what the last one sends:", v.last, "token"),
        Step("Sent in all:", v.sent, "token"),
        f"${eq.hit_rate_turns.latex}$ is found. In percent, the rest is",
    ),
)

n, L0, g = eq.turns, eq.start_context, eq.turn_growth
sent = n * L0 + g * n * (n - 1) / 2

hit_rate = Counted(
    "Write the hit rate",
    level="medium",
    objective=HITS,
    statement="Write a Python function of turns, start_context and turn_growth, all whole numbers. A conversation has that many turns. The first sends start_context tokens, each of the others turn_growth more than the one before, its beginning the same. The cache keeps everything, to the token. Return the share of all tokens sent that is found. A loop will do. It is called by name.",
    formula=eq.hit_rate_turns,
    test_points=talk("turns", (2, 900, 300), (5, 400, 700), (3, 1100, 200), (8, 500, 100), (30, 1200, 224)),
    independent_check=summation(L0 + g * k, (k, 0, n - 2)) / sent,
    misconceptions={
        1 - 1 / n: "In yours the context does not grow, or all turns count the same.",
        1 - g / (L0 + g * (n - 1)): "That is the last turn alone.",
        Sum((L0 + g * (k - 1)) / (L0 + g * k), (k, 1, n - 1)) / n: "You took the mean of the turns' hit rates. Long turns have more tokens, and must weigh more: add up tokens, and divide once.",
        Sum((L0 + g * (k - 1)) / (L0 + g * k), (k, 1, n - 1)) / (n - 1): "You took the mean of the later turns' hit rates. Add up the tokens of all turns, and divide once.",
        1 - g * (n - 1) / sent: "The first turn finds nothing: all of it is new.",
        (L0 + g * (n - 1)) / sent: "That is the share which is new.",
        1 - (L0 + g * n) / (n * L0 + g * n * (n + 1) / 2): "Your first turn has grown already. It sends start_context.",
    },
    explanation="Try it with the traces of your own agents. A loop takes growth that differs from turn to turn as well, and a formula does not.",
    hints=(
        "Keep two sums: tokens sent, and tokens found. A turn finds what the turn before it sent.",
        "Turn $t$, counted from 0, sends start_context + t * turn_growth tokens. Turn 0 finds nothing.",
    ),
    solution=(
        "`sent = found = length = 0`, and `for turn in range(turns):` `found += length`, then `length = start_context + turn * turn_growth`, then `sent += length`; at last `return found / sent`.",
        Step(
            "Without a loop:",
            "1 - (start_context + turn_growth * (turns - 1)) / (turns * start_context + turn_growth * turns * (turns - 1) / 2)",
        ),
    ),
)

[servers] = symbols("servers")
three = 3 * L0 + 3 * g
scattered = ((2 * L0 + g) / servers + (1 - 1 / servers) * L0 / servers) / three


def dealt(servers: int, start_context: int, turn_growth: int) -> float:
    """Share of three turns' tokens that is found, over every way to deal them out."""
    found = 0
    for way in product(range(servers), repeat=3):
        last: dict[int, int] = {}
        for turn, server in enumerate(way):
            found += last.get(server, 0)
            last[server] = start_context + turn * turn_growth
    return found / servers**3 / sum(start_context + turn * turn_growth for turn in range(3))


routing = Counted(
    "Sent to any server",
    level="hard",
    objective=HITS,
    statement="Write a Python function of servers, start_context and turn_growth, all whole numbers. A conversation of three turns sends start_context tokens, then turn_growth more, then again turn_growth more; each turn begins with all of the one before. Each goes to one of the servers, any as likely as another. A server keeps what it saw, to the token, and knows nothing of the others. Return the share of all tokens sent that is found, on average over all ways to send the turns. It is called by name.",
    formula=Formula(
        "paging.scattered",
        "hit_rate",
        scattered,
        "1",
        "share of three turns' tokens that is found on servers chosen at random",
        ("nothing is thrown out between turns", "turns go to any server"),
        DERIVED,
        register=False,
    ),
    test_points=talk("servers", (2, 900, 300), (5, 400, 700), (3, 1100, 200), (8, 500, 100), (12, 1200, 224)),
    independent_check=dealt,
    misconceptions={
        (2 * L0 + g) / servers / three: "A third turn that misses the second one's server may still come to the first one's.",
        (L0 / servers + (L0 + g) * (1 - (1 - 1 / servers) ** 2)) / three: "A server that saw the first turn only has that one's tokens, not the second one's.",
        (L0 / servers + (L0 + g) / servers + L0 / servers) / three: "Where the third turn finds the second one's tokens, the first one's are among them. Add those only where the second one's are missed.",
        (2 * L0 + g) / three: "That is for one server, or if a conversation stays with one.",
        (L0 / servers / (L0 + g) + ((L0 + g) / servers + (1 - 1 / servers) * L0 / servers) / (L0 + 2 * g)) / 3: "You took the mean of the turns' hit rates. Add up tokens, and divide once.",
    },
    explanation="With a dozen servers nearly everything is missed. It is found again if a conversation always goes to the same server, or if all share a store.",
    hints=(
        "Try all ways to deal three turns to the servers: product(range(servers), repeat=3) from itertools.",
        "Keep for each server how long the last context was that it saw. A turn finds that many tokens there.",
        "By chances: the second turn finds the first with 1/servers. The third finds the second with 1/servers, and the first if it misses the second and comes to the first.",
    ),
    solution=(
        "For each way in product(range(servers), repeat=3): `last = {}`, and for each turn and its server `found += last.get(server, 0)` and `last[server] = start_context + turn * turn_growth`. Divide by servers ** 3 and by the tokens sent.",
        Step(
            "By chances:",
            "((2 * start_context + turn_growth) / servers + (1 - 1 / servers) * start_context / servers) / (3 * start_context + 3 * turn_growth)",
        ),
    ),
)

# --- when writing pays, and how long to keep -------------------------------------------------------------------------


def cycled(conversations: int = 10, room: int = 9) -> str:
    """What an LRU cache with room for nine contexts finds when ten take turns in a fixed order: the option that says
    so.
    """
    kept: OrderedDict[int, None] = OrderedDict()
    found = turns = 0
    for turn in range(100 * conversations):
        one, warm = turn % conversations, turn >= 10 * conversations
        found, turns = found + (warm and one in kept), turns + warm
        kept.pop(one, None)
        kept[one] = None
        if len(kept) > room:
            kept.popitem(last=False)
    return {0.9: "a", 0.0: "b", 0.1: "c", 0.81: "d"}[round(found / turns, 2)]


cliff = Choice(
    "Nine tenths of the room",
    level="medium",
    objective=KEEP,
    statement="Ten conversations with contexts of the same length take turns in a fixed order, round and round. A prefix cache has room for nine of the contexts, and throws out what was used longest ago. Once this has run for a while, how many of the turns find their context?",
    independent_check=lambda v: cycled(),
    options=[
        wrong("nine of ten", "That is for turns at random. Here the order is fixed: whose context was used longest ago when room is needed?"),
        right("none", "The context that was used longest ago is just the one whose turn is next. If turns came at random, nine of ten would find theirs. Real traffic is in between."),
        wrong("one of ten", "One of ten does not fit. But follow who is thrown out for it, and who comes next."),
        wrong("about four of five", "Follow the rounds one by one. Whose context is thrown out, and who comes next?"),
    ],
    hints=(
        "All nine places are taken, by conversations 1 to 9. Now the tenth comes: who is thrown out?",
        "The first comes next, and is not there. Whom does it throw out?",
    ),
    solution=("The tenth throws out the first, the first the second, and so on: each is thrown out just before its turn.",),
)

OMEGA, RHO, h = eq.write_ratio, eq.read_ratio, eq.hit_rate

even = Expression(
    "From which hit rate on",
    level="medium",
    objective=KEEP,
    statement="On a price card a token that is written to the cache costs omega times plain input, and a token that hits costs varrho times. All that does not hit is written. Write the hit rate at which this costs as much as sending everything as plain input.",
    formula=eq.hit_rate_even,
    independent_check=lambda v: solve(h * RHO + (1 - h) * OMEGA - 1, h)[0],
    misconceptions={
        (OMEGA - 1) / (1 - RHO): "That is hits per miss. The question is their share of all tokens.",
        (OMEGA - RHO) / (1 - RHO): "That is the number of uses of one prompt, the first one counted. How many of those uses are hits?",
        (1 - RHO) / (OMEGA - RHO): "That is the share which must miss.",
        (OMEGA - 1) / OMEGA: "That is with hits for nothing.",
        (OMEGA - 1) / (OMEGA + RHO): "Check the sign: with $h$ hits and 1 − $h$ misses, what is the coefficient of $h$?",
    },
    explanation="Below it the surcharge is lost. Where writing costs nothing extra, any hit is a gain.",
    hints=(
        "Price of a token with hit rate $h$, in units of plain input: $h$ varrho + (1 − $h$) omega.",
        "Set it to 1 and solve for $h$.",
    ),
    solution=(
        "$h$ varrho + (1 − $h$) omega = 1, solved for $h$:",
        Step(f"${eq.hit_rate_even.latex}$, typed as", "(omega - 1) / (omega - varrho)"),
    ),
)


def billed(values: Values) -> Values:
    """A drawn card's prices with caching for five minutes, and the conversation's hit rate."""
    card = price(values["sheet"])
    p = card.usd_per_Mtok
    named = " ".join(word.capitalize() for word in card.model.split("-"))
    shown = {
        "card_name": named,
        "date": card.valid_from,
        "in_usd": p.input,
        "write_usd": p.cache_write_5min,
        "hit_usd": p.cached_read,
    }
    ratios = {
        "input_price": p.input / MILLION,
        "write_ratio": p.cache_write_5min / p.input,
        "read_ratio": p.cached_read / p.input,
    }
    return shown | ratios | conversation(values) | {"hit_rate": eq.hit_rate_turns(values)}


def turn_by_turn(values: Values) -> float:
    """The bill for a conversation's input, one request after the other, in USD."""
    bill = before = 0.0
    for turn in range(values["turns"]):
        length = values["start_context"] + turn * values["turn_growth"]
        bill, before = (
            bill + before * values["hit_usd"] / MILLION + (length - before) * values["write_usd"] / MILLION,
            length,
        )
    return bill


bill = Quantity(
    "A conversation's bill",
    level="hard",
    objective=KEEP,
    unit="USD",
    statement="On its price card of {date}, {card_name} costs {in_usd} per million tokens of input, {write_usd} for writing them into a cache for five minutes, and {hit_usd} for a hit. An agent's first request has {start_context}. Each of the others repeats the one before and adds {turn_growth}. There are {turns} requests in all, always in time. Every token is either a hit or written. How many dollars does all input cost?",
    parameters={"sheet": CARDS} | TALKS,
    derived=billed,
    condition=lambda v: (v["sent"] - v["last"]) * v["hit_usd"] > 0.4 * v["last"] * v["write_usd"],  # hits are much of the bill
    units=TALK | {"card_name": "", "date": "", "in_usd": "USD", "write_usd": "USD", "hit_usd": "USD"},
    answer=eq.price_blended * v.sent,
    independent_check=turn_by_turn,
    misconceptions={
        v.in_usd * v.sent / MILLION: "That is without a cache: all input at its plain price.",
        v.write_usd * v.sent / MILLION: "You wrote the whole context anew in each turn. Only what is new is written.",
        eq.price_blended * MILLION: "That is for a million tokens of this input. How many are sent in all?",
        v.write_usd * v.last / MILLION: "That is the writing. Hits have a price as well.",
        (v.in_usd * v.last + v.hit_usd * (v.sent - v.last)) / MILLION: "What is new is written to the cache. That costs more than plain input.",
        eq.price_blended * v.sent * MILLION: "The prices are per million tokens: divide by a million.",
        (v.write_usd * v.start_context + v.hit_usd * (v.sent - v.start_context)) / MILLION: "You wrote the first request alone. What each turn adds is new too.",
    },
    explanation="A fraction of plain input, although every token was written once at a surcharge. Much of what is left is hits, because there are so many.",
    hints=(
        "Over all turns, how many tokens are new? As many as the last request has.",
        "All others are hits. Add up what all requests send.",
    ),
    solution=(
        Step("Sent in all:", v.sent, "token"),
        Step("of which new, and written:", v.last, "token"),
        Step(f"The hit rate, ${eq.hit_rate_turns.latex}$ =", v.hit_rate, "1"),
        Step(f"${eq.price_blended.latex}$, for a million tokens:", eq.price_blended * MILLION, "USD"),
        "and for all that is sent:",
    ),
)


def cached(values: Values) -> Values:
    """Kimi K2.5's cache of a token, as its engine keeps it."""
    [row] = measurement("kimi_cache_size").records()
    return {"kv_bytes_per_token": row["kv_GB"] * GB / row["context_tokens"]}


def crowd(values: Values) -> Values:
    """The cache of a drawn number of coding agents, each somewhere in a conversation of so many turns."""
    turns, start, growth = values["turns"], AGENT["start_tokens"], AGENT["growth_tokens"]
    talk_of = {"turns": turns, "start_context": start, "turn_growth": growth}
    mean, found = start + growth * (turns - 1) / 2, conversation(talk_of) | cached(values)
    return talk_of | found | {"mean": mean, "each": pretty(mean * found["kv_bytes_per_token"], "byte", 2)}


agents = Estimate(
    "Memory for agents",
    level="medium",
    objective=KEEP,
    unit="byte",
    display_unit="GB",
    within=2.0,
    statement="{sessions} coding agents are at work, each anywhere in its conversation. A conversation has {turns} requests; the first has {start_context}, and each of the others {turn_growth} more than the one before. Kimi K2.5 keeps {kv_bytes_per_token} of cache for a token. How much memory, in GB, lets every agent find its context with the next request? Estimate: within a factor of two counts.",
    parameters={"sessions": (1000, 100, 300, 50, 150, 200, 250, 400, 500, 600, 800, 1500), "turns": (AGENT["turns"], 28, 30, 36, 40)},
    derived=crowd,
    units=TALK | {"sessions": "", "each": "", "kv_bytes_per_token": "byte"},
    answer=v.sessions * v.mean * v.kv_bytes_per_token,
    independent_check=lambda v: v["kv_bytes_per_token"] * simulation.working_set(v["sessions"], v["turns"], v["start_context"], v["turn_growth"]),
    misconceptions={
        v.sessions * v.start_context * v.kv_bytes_per_token: "That is at the first request. The context grows with every one.",
        v.sessions * v.sent * v.kv_bytes_per_token: "You added up all requests of a conversation. Each holds the one before it, and that is kept once.",
        v.mean * v.kv_bytes_per_token: "That is one agent.",
    },
    explanation="{each} per active agent: hundreds of them fill the HBM of a whole server. So engines keep prefixes in the host's memory and in stores that machines share.",
    hints=(
        "How long is a context in the middle of a conversation?",
        "Times bytes of a token, times agents.",
    ),
    solution=lambda v: [
        Step("A context, on average:", v["mean"], "token"),
        Step("Its cache:", f"{v['mean'] * v['kv_bytes_per_token'] / GB:.3g} GB"),
        Step(f"That of all agents, {v['sessions'] * v['mean'] * v['kv_bytes_per_token'] / GB:,.0f} GB:", v["sessions"] * v["mean"] * v["kv_bytes_per_token"], "byte"),
    ],
)

# --- layers that forget ----------------------------------------------------------------------------------------------


def grouped(values: Values) -> Values:
    """A drawn mix of layers, in groups as large as the rarer kind."""
    full, windows = values["mix"]
    found = hybrid.groups(full, windows, values["window"])
    of = lambda kind: sum((group.window is None) == kind for group in found)
    whole = -(-values["context"] // BLOCK)
    return {
        "full_layers": full,
        "window_layers": windows,
        "page_tokens": BLOCK,
        "full_groups": of(True),
        "window_groups": of(False),
        "whole": whole,
        "kept": whole - max(0, values["context"] + 1 - values["window"]) // BLOCK,
    }


def held_blocks(values: Values) -> int:
    """Blocks that the hybrid allocator holds for one sequence, in all groups."""
    memory = hybrid.HybridAllocator(1000, BLOCK, hybrid.groups(values["full_layers"], values["window_layers"], values["window"]))
    memory.allocate("one", list(range(values["context"])))
    return sum(map(len, memory.blocks("one")))


windows = Whole(
    "Blocks of a model with windows",
    level="medium",
    objective=WINDOWS,
    unit="1",
    statement="A model has {full_layers} layers with full attention and {window_layers} with a window of {window}. Layers of one kind are put into groups of {full_layers}, and each group has a block table of its own; a block holds {page_tokens} for one group. How many blocks does a request of {context} take, in all groups? A window group gives back a block that the next token no longer sees. That token sees itself and the tokens before it, as many as the window holds in all.",
    parameters={"context": (200, 120, 300, 150, 250, 90), "window": (32, 64, 48), "mix": ((10, 20), (10, 30), (5, 25))},
    derived=grouped,
    units={"full_layers": "", "window_layers": "", "window": "token", "context": "token", "page_tokens": "token"},
    answer=eq.hybrid_blocks,
    independent_check=held_blocks,
    misconceptions={
        (v.full_groups + v.window_groups) * v.whole: "You let window layers keep everything. Before the window nothing is read again.",
        v.whole + v.kept: "There is more than one group of window layers, and each has a table.",
        v.full_layers * v.whole + v.window_layers * v.kept: "You counted by layers. The layers of a group share a table, and a block holds the tokens for all of them.",
        v.whole: "That is the group of full layers. The window layers need blocks too.",
        v.whole + v.window_groups * v.window / v.page_tokens: "A window that begins inside a block needs that block too.",
    },
    explanation="Blocks of all groups are equally large, so one pool serves them all. A window that does not begin where a block does needs one block more in each group.",
    hints=(
        "How many groups are there of each kind?",
        "A full group keeps blocks for all tokens, a window group for those that the next token sees. In which block is the first of them?",
    ),
    solution=(
        Step("Groups with windows, beside one full group:", v.window_groups),
        Step("Blocks of the full group:", v.whole),
        Step("of each window group:", v.kept),
        f"${eq.hybrid_blocks.latex}$ =",
    ),
)

full, win, w = eq.full_layers, eq.window_layers, eq.window

window_letters = Expression(
    "What windows save, in letters",
    level="medium",
    objective=WINDOWS,
    statement="A model has n_full layers that keep the cache of all L tokens, and n_win layers that keep that of the last L_win tokens, or of all if there are fewer. A token's entry is as large in every layer. Write how many times as large the cache would be with full attention in all layers.",
    formula=eq.hybrid_saving,
    independent_check=(full * L + win * L) / (full * L + win * Min(L, w)),
    misconceptions={
        (full + win) / full: "That is the limit for endless contexts. Window layers keep something too.",
        (full + win) / (full + win * w / L): "At contexts below the window yours gives a saving under 1. A window layer never keeps more than there is.",
        (full + win * Min(1, w / L)) / (full + win): "Upside down.",
        (full + win * w / L) / (full + win): "Upside down, and below the window a window layer keeps no more than there is.",
        full / (full + win): "Upside down, and only the limit for endless contexts: window layers keep something too.",
        (full + win) / (full * L + win * Min(L, w)): "The context is missing from the upper half: with full attention all layers keep $L$ tokens.",
        full * L + win * Min(L, w): "That is how many entries are kept. The question is their ratio.",
    },
    explanation="It is 1 up to the window. Beyond it grows towards all layers ÷ full layers. One full layer in six saves at most a factor of six.",
    hints=(
        "Entries that all layers keep: of L tokens in each full layer, of L_win or L, whichever is less, in the others.",
        "With full attention all layers keep $L$.",
    ),
    solution=(Step(f"${eq.hybrid_saving.latex}$, typed as", "(n_full + n_win) / (n_full + n_win * min(1, L_win / L))"),),
)


def windowed(values: Values) -> Values:
    """The layers of a drawn model, by kind."""
    net = model(values["net"])
    groups: list[Any] = list(net.attention)  # heads, which have a window or none
    of = lambda kind: sum(group.layers for group in groups if (group.window is None) == kind)
    window = next(group.window for group in net.attention if group.window)
    return {"net_name": net.name, "full_layers": of(True), "window_layers": of(False), "window": window}


def kept(values: Values) -> float:
    """Bytes of a sequence's cache with all layers full over those with windows, by the catalogue's own count."""
    net = model(values["net"])
    one_layer = 2 * net.attention[0].kv_heads * net.attention[0].head_dim * 2
    return sum(one_layer * values["context"] for _ in range(net.layers)) / net.kv_bytes(values["context"])


window_saving = Quantity(
    "What windows save",
    level="easy",
    objective=WINDOWS,
    unit="1",
    tolerance=0.01,
    statement="{net_name} has {full_layers} layers with full attention and {window_layers} that keep the last {window} only. An entry is as large in every layer. How many times as large would a sequence's cache be with full attention in all layers, at a context of {context}?",
    parameters={"net": ("gemma-3-27b", "gpt-oss-120b", "gpt-oss-20b"), "context": (32768, *range(512, 4097, 512), 6144, 7168, 8192, 10240, 12288, 14336, 16384, 20480, 24576, 28672, 40960, 49152, 65536, 98304, 131072)},
    derived=windowed,
    condition=lambda v: v["full_layers"] * v["context"] > v["window_layers"] * v["window"],
    units={"net_name": "", "full_layers": "", "window_layers": "", "window": "token", "context": "token"},
    answer=eq.hybrid_saving,
    independent_check=kept,
    misconceptions={
        (v.full_layers + v.window_layers) / v.full_layers: "That is the limit for endless contexts. At this one the window layers keep something that counts.",
        v.context / v.window: "That is one window layer. Full layers keep everything.",
        1 / eq.hybrid_saving: "Upside down: that is the share which is kept.",
        1 - 1 / eq.hybrid_saving: "That is the share which is saved. The question is one cache divided by the other.",
    },
    explanation="A smaller cache means more sequences or longer contexts. What remains is mostly the full layers.",
    hints=(
        "Count entries: tokens kept in each layer, added over layers.",
        "(All layers × context) ÷ (full layers × context + window layers × window).",
    ),
    solution=(
        Step("Entries with full attention:", lambda v: f"{(v['full_layers'] + v['window_layers']) * v['context']:,}"),
        Step("with windows:", lambda v: f"{v['full_layers'] * v['context'] + v['window_layers'] * v['window']:,}"),
        f"${eq.hybrid_saving.latex}$ =",
    ),
)
