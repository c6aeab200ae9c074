"""The first steps of the racks lab: place experts on GPUs and count the bytes that they exchange."""

from __future__ import annotations

import itertools
import random

from blackboard.lab import Step, Trial
from blackboard.lab_values import count, same, shown

# --- place ------------------------------------------------------------------------------------------------------------


def place_experts(experts, gpus):
    """Where each expert is: a list with the number of a GPU, 0 to gpus - 1, for each expert.

    Spread them as evenly as possible: no GPU holds two more than another. Any such placement passes.
    """
    return [expert % gpus for expert in range(experts)]


def _sizes(rng: random.Random) -> tuple:
    gpus = rng.randint(1, 6)
    return rng.choice([gpus, 2 * gpus, rng.randint(1, 20)]), gpus


A_LIST = "Return one list, with the number of a GPU for each expert: entry 0 is the GPU of expert 0, and so on."


def _one_each(trial: Trial) -> str | None:
    experts = trial.args[0]
    return (
        None
        if len(trial.got) == experts
        else f"Experts: {experts}. Entries of your list: {len(trial.got)}. Each expert needs one."
    )


def _one_list(trial: Trial) -> str | None:
    if isinstance(trial.got, (list, tuple, range)):
        return None
    return f"You returned a value of the type {type(trial.got).__name__}. {A_LIST}"


def _real_gpus(trial: Trial) -> str | None:
    gpus = trial.args[1]
    for expert, gpu in enumerate(trial.got):
        if isinstance(gpu, (list, tuple)):
            return f"Entry {expert} is {shown(gpu)}, and must be a number. {A_LIST}"
        if gpu not in range(gpus):
            return f"Expert {expert} is on GPU {gpu!r}; " + (
                f"there are 0 to {gpus - 1}." if gpus > 1 else "there is only GPU 0."
            )
    return None


def _even(trial: Trial) -> str | None:
    held = [trial.got.count(gpu) for gpu in range(trial.args[1])]
    most, least = held.index(max(held)), held.index(min(held))
    if held[most] - held[least] <= 1:
        return None
    return f"GPU {most} holds {count(held[most], 'expert')} and GPU {least} only {held[least]}: move one."


def _by_expert(experts, gpus):
    return {expert: expert % gpus for expert in range(experts)}


def _all_on_one(experts, gpus):
    return [0] * experts


def _rest_on_the_last(experts, gpus):
    each = max(1, experts // gpus)
    return [min(expert // each, gpus - 1) for expert in range(experts)]


def _from_one(experts, gpus):
    return [expert % gpus + 1 for expert in range(experts)]


def _by_gpu(experts, gpus):
    return [[expert for expert in range(experts) if expert % gpus == gpu] for gpu in range(gpus)]


PLACE = Step(
    "Place the experts",
    "Distribute the experts of a layer over GPUs, so that each GPU has about as much to do.",
    place_experts,
    "place_experts(8, 4)",
    _sizes,
    (_one_list, _real_gpus, _one_each, _even),
    {
        _by_expert: _one_list,
        _all_on_one: _even,
        _rest_on_the_last: _even,
        _from_one: _real_gpus,
        _by_gpu: _real_gpus,
    },
    ("Deal them out like cards.", "`expert % gpus` goes 0, 1, 2, ... and begins again when each GPU has had one."),
    extreme=lambda experts, gpus: gpus == 1 or experts < gpus,
    returns="a list with the number of a GPU for each expert",
    many=True,
)

# --- dispatch ---------------------------------------------------------------------------------------------------------


def dispatch(tokens, placement, gpus, copy_bytes):
    """The bytes that each GPU sends to each other: a list of rows, sent[source][target].

    A token sends one copy of its vector to each of its experts. A copy for an expert on its own GPU is not sent.

    tokens      pairs (GPU that the token is on, list of its experts)
    placement   the GPU of each expert
    copy_bytes  bytes of one copy
    """
    sent = [[0] * gpus for _ in range(gpus)]
    for home, experts in tokens:
        for expert in experts:
            if placement[expert] != home:
                sent[home][placement[expert]] += copy_bytes
    return sent


def _routed(rng: random.Random) -> tuple:
    gpus = rng.randint(2, 3)
    experts = gpus * rng.randint(1, 2)
    k = rng.randint(1, min(3, experts))
    tokens = [(rng.randrange(gpus), rng.sample(range(experts), k)) for _ in range(rng.randint(1, 3))]
    return tokens, [rng.randrange(gpus) for _ in range(experts)], gpus, rng.choice([1, 10])


def _square(trial: Trial) -> str | None:
    gpus = trial.args[2]
    fine = len(trial.got) == gpus and all(len(row) == gpus for row in trial.got)
    return None if fine else f"Return {gpus} rows of {gpus} numbers: sent[source][target]."


def _own_rows(trial: Trial) -> str | None:
    for one, two in itertools.combinations(range(len(trial.got)), 2):
        if isinstance(trial.got[one], list) and trial.got[one] is trial.got[two] and trial.got != trial.want:
            return (
                f"Rows {one} and {two} of your result are one and the same list, so what you add to one is in both."
                " Make each row anew: `[[0] * gpus for _ in range(gpus)]`."
            )
    return None


def _rows_send(trial: Trial) -> str | None:
    if same(trial.got, trial.want) or not same([list(column) for column in zip(*trial.got)], trial.want):
        return None
    return "Rows and columns are the wrong way round: a row is a GPU that sends, a column one that receives."


def _not_to_itself(trial: Trial) -> str | None:
    for gpu, row in enumerate(trial.got):
        if row[gpu]:
            return f"GPU {gpu} sends {count(row[gpu], 'byte')} to itself; what stays on a GPU is not sent."
    return None


def _nothing_lost(trial: Trial) -> str | None:
    tokens, placement, _, copy_bytes = trial.args
    for gpu, row in enumerate(trial.got):
        copies = sum(placement[expert] != gpu for home, experts in tokens if home == gpu for expert in experts)
        if abs(sum(row) - copies * copy_bytes) > 1e-9 and not _rows_send(trial):
            return (
                f"The tokens on GPU {gpu} have {count(copies, 'expert')} on other GPUs, so it sends"
                f" {copies} × {copy_bytes} = {count(copies * copy_bytes, 'byte')}, not {sum(row):g}."
            )
    return None


def _to_the_right_gpu(trial: Trial) -> str | None:
    if same(trial.got, trial.want) or _rows_send(trial):
        return None
    return f"Expected {shown(trial.want)}. Row: the token's GPU. Column: the expert's GPU, `placement[expert]`."


def _sends_all(tokens, placement, gpus, copy_bytes):
    sent = [[0] * gpus for _ in range(gpus)]
    for home, experts in tokens:
        for expert in experts:
            sent[home][placement[expert]] += copy_bytes
    return sent


def _once_per_gpu(tokens, placement, gpus, copy_bytes):
    sent = [[0] * gpus for _ in range(gpus)]
    for home, experts in tokens:
        for target in {placement[expert] for expert in experts} - {home}:
            sent[home][target] += copy_bytes
    return sent


def _one_row_for_all(tokens, placement, gpus, copy_bytes):
    sent = [[0] * gpus] * gpus
    for home, experts in tokens:
        for expert in experts:
            if placement[expert] != home:
                sent[home][placement[expert]] += copy_bytes
    return sent


def _turned(tokens, placement, gpus, copy_bytes):
    return [list(column) for column in zip(*dispatch(tokens, placement, gpus, copy_bytes))]


def _overwrites(tokens, placement, gpus, copy_bytes):
    return [[min(each, copy_bytes) for each in row] for row in dispatch(tokens, placement, gpus, copy_bytes)]


def _experts_in_turn(tokens, placement, gpus, copy_bytes):
    return dispatch(tokens, [expert % gpus for expert in range(len(placement))], gpus, copy_bytes)


def _columns_in_turn(tokens, placement, gpus, copy_bytes):
    sent = [[0] * gpus for _ in range(gpus)]
    for home, experts in tokens:
        for expert in experts:
            if placement[expert] != home:
                sent[home][expert % gpus] += copy_bytes
    return sent


def _next_gpu(tokens, placement, gpus, copy_bytes):
    sent = dispatch(tokens, placement, gpus, copy_bytes)
    return [[sum(row) if target == (n + 1) % gpus else 0 for target in range(gpus)] for n, row in enumerate(sent)]


EXPERT_IS_NO_GPU = "You use an expert's number as that of a GPU. Expert e is on the GPU `placement[e]`."

DISPATCH = Step(
    "Dispatch",
    "Count the bytes that each GPU sends to each other GPU when the tokens go out to their experts.",
    dispatch,
    "dispatch([(0, [1, 3]), (1, [0, 1])], [0, 1, 0, 1], 2, 7168)",
    _routed,
    (_square, _own_rows, _not_to_itself, _nothing_lost, _to_the_right_gpu, _rows_send),
    {
        _sends_all: _not_to_itself,
        _once_per_gpu: _nothing_lost,
        _turned: _rows_send,
        _one_row_for_all: _own_rows,
        _overwrites: _nothing_lost,
        _experts_in_turn: EXPERT_IS_NO_GPU,
        _columns_in_turn: EXPERT_IS_NO_GPU,
        _next_gpu: _to_the_right_gpu,
    },
    (
        "Begin with rows of zeros: `[[0] * gpus for _ in range(gpus)]`.",
        "For each expert of each token, add `copy_bytes` in the row of the token's GPU and the column of the expert's,"
        " `placement[expert]`, unless the two are the same.",
    ),
)

# --- combine ----------------------------------------------------------------------------------------------------------


def combine(sent):
    """The bytes of the way back, as rows like those of `dispatch`: every copy's result returns to where it came from.

    A token's values take one byte each on the way out (FP8), and a result's take two on the way back (BF16).
    """
    return [[2 * row[gpu] for row in sent] for gpu in range(len(sent))]


def _sent(rng: random.Random) -> tuple:
    gpus = rng.randint(2, 3)
    return ([[rng.choice([0, 10, 20]) if a != b else 0 for a in range(gpus)] for b in range(gpus)],)


def _as_large(trial: Trial) -> str | None:
    gpus = len(trial.args[0])
    fine = len(trial.got) == gpus and all(len(row) == gpus for row in trial.got)
    return None if fine else f"Return {gpus} rows of {gpus} numbers, as those that came in."


def _twice_in_all(trial: Trial) -> str | None:
    out, back = sum(map(sum, trial.args[0])), sum(map(sum, trial.got))
    return None if back == 2 * out else f"{count(out, 'byte')} went out, so {2 * out} come back, not {back:g}."


def _turned_round(trial: Trial) -> str | None:
    (sent,) = trial.args
    for source, row in enumerate(trial.got):
        for target, back in enumerate(row):
            if back != 2 * sent[target][source]:
                there = f"GPU {target} sent {count(sent[target][source], 'byte')} to GPU {source}"
                back_bytes = count(2 * sent[target][source], "byte")
                return f"{there}, so {back_bytes} go back from GPU {source} to GPU {target}, not {back:g} bytes."
    return None


def _same_way(sent):
    return [[2 * each for each in row] for row in sent]


def _as_many_bytes(sent):
    return [list(column) for column in zip(*sent)]


def _both_ways(sent):
    return [[each + back for each, back in zip(*rows)] for rows in zip(sent, combine(sent))]


def _overwrites_what_it_reads(sent):
    rows = [list(row) for row in sent]
    for source, row in enumerate(rows):
        for target in range(len(row)):
            row[target] = 2 * rows[target][source]
    return rows


def _half(sent):
    return [[each / 2 for each in column] for column in zip(*sent)]


COMBINE = Step(
    "Combine",
    "Count the bytes of the way back, when the experts' results return to the tokens.",
    combine,
    "combine([[0, 10], [20, 0]])",
    _sent,
    (_as_large, _twice_in_all, _turned_round),
    {
        _same_way: _turned_round,
        _as_many_bytes: _twice_in_all,
        _both_ways: _twice_in_all,
        _half: _twice_in_all,
        _overwrites_what_it_reads: "You write into rows that you still read, so some bytes are doubled twice. Make new"
        " rows.",
    },
    ("Source and target change places.", "Row `gpu` of the result is column `gpu` of `sent`, times two."),
    extreme=lambda sent: not any(map(any, sent)),
)
