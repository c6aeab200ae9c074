"""The lab of the lesson on reversibility: a cipher and a network layer that run backward, and what that saves."""

from __future__ import annotations

import random
from typing import Any

from blackboard.catalogue import measurement
from blackboard.charts.lab_chart import Series, lab_chart
from blackboard.lab import Lab, Step, Trial, agrees
from blackboard.lab_values import count, same, shown
from blackboard.lessons.reversibility import equations as eq
from blackboard.lessons.reversibility.numbers import PAIRS, times


def mix(half: int, key: int) -> int:
    """The round function of the cipher, from a byte and a key to a byte. It cannot be undone, and need not be."""
    return ((half * half + 7 * half + key) * 37 >> 2) % 256


# --- a cipher ---------------------------------------------------------------------------------------------------------


def encrypt(left, right, keys):
    """Both halves after all rounds of a Feistel cipher, as (left, right).

    left, right  the halves of the message, a byte each (0 to 255)
    keys         a number for each round, in order

    In each round the right half becomes the new left one, and the new right one is the old left half, changed by the
    round function: left ^ mix(right, key). `mix` is given.
    """
    for key in keys:
        left, right = right, left ^ mix(right, key)
    return left, right


def _messages(rng: random.Random) -> tuple:
    return rng.randrange(256), rng.randrange(256), [rng.randrange(256) for _ in range(rng.randint(0, 4))]


def _pair(trial: Trial) -> str | None:
    fine = isinstance(trial.got, tuple) and len(trial.got) == 2
    return None if fine else "Return both halves: `return left, right`."


def _no_rounds(trial: Trial) -> str | None:
    fine = trial.args[2] or trial.got == trial.args[:2]
    return None if fine else "Without any key nothing changes."


def _one_round(trial: Trial) -> str | None:
    left, right, keys = trial.args
    if len(keys) != 1 or trial.got == trial.want:
        return None
    if trial.got[0] != right:
        return f"After one round the left half must be the old right one, {right}."
    return f"After one round the right half must be {left} ^ mix({right}, {keys[0]}) = {trial.want[1]}."


_rounds = agrees("One round is right, but not several: each takes the halves that the last one left, and its own key.")


def _no_swap(left, right, keys):
    for key in keys:
        left = left ^ mix(right, key)
    return left, right


def _mixes_left(left, right, keys):
    for key in keys:
        left, right = right, right ^ mix(left, key)
    return left, right


def _same_key(left, right, keys):
    for _ in keys:
        left, right = right, left ^ mix(right, keys[0])
    return left, right


def _in_two_lines(left, right, keys):
    for key in keys:
        left = right
        right = left ^ mix(right, key)
    return left, right


def _only_right(left, right, keys):
    return encrypt(left, right, keys)[1]


ENCRYPT = Step(
    "A cipher of halves",
    "Build a Feistel cipher: it can be run backward, although the function inside it cannot be undone.",
    encrypt,
    "encrypt(3, 200, [17, 5])",
    _messages,
    (_pair, _no_rounds, _one_round, _rounds),
    {
        _no_swap: _one_round,
        _mixes_left: _one_round,
        _same_key: _rounds,
        _in_two_lines: _one_round,
        _only_right: _pair,
    },
    (
        "A loop over the keys, with one line in it.",
        "`left, right = right, left ^ mix(right, key)` takes both old halves before it sets either.",
    ),
    extreme=lambda left, right, keys: not keys,
)

# --- and back ---------------------------------------------------------------------------------------------------------


def decrypt(left, right, keys):
    """Both halves of the message that `encrypt` turned into these, as (left, right).

    left, right  the halves of what was encrypted
    keys         the keys in the order in which `encrypt` took them
    """
    for key in reversed(keys):
        left, right = right ^ mix(left, key), left
    return left, right


def _secrets(rng: random.Random) -> tuple:
    left, right, keys = _messages(rng)
    return *encrypt(left, right, keys), keys


def _one_back(trial: Trial) -> str | None:
    left, right, keys = trial.args
    if len(keys) != 1 or trial.got == trial.want:
        return None
    if trial.got == encrypt(left, right, keys):
        return "This is `encrypt` again. The round has swapped the halves: what went into `mix` is now the left one."
    if trial.got == trial.want[::-1]:
        return "These are the right halves, but swapped: return the left one first."
    again = encrypt(trial.got[0], trial.got[1], keys)
    return f"Encrypting your result gives {again}, not {(left, right)}."


def _several(trial: Trial) -> str | None:
    fine = trial.got == trial.want
    return None if fine else "One round comes back, but not several: undo the last round first, with the last key."


def _keys_kept(trial: Trial) -> str | None:
    return (
        None
        if trial.after[2] == trial.args[2]
        else "Your version changed the list of keys: loop over `reversed(keys)`."
    )


def _again(left, right, keys):
    return encrypt(left, right, keys)


def _keys_in_order(left, right, keys):
    for key in keys:
        left, right = right ^ mix(left, key), left
    return left, right


def _encrypts_backward(left, right, keys):
    return encrypt(left, right, keys[::-1])


def _halves_swapped(left, right, keys):
    return decrypt(left, right, keys)[::-1]


def _turns_list(left, right, keys):
    keys.reverse()
    for key in keys:
        left, right = right ^ mix(left, key), left
    return left, right


def _not_swapped(left, right, keys):
    for key in reversed(keys):
        left, right = left, right ^ mix(left, key)
    return left, right


DECRYPT = Step(
    "The way back",
    "Run your cipher backward, without ever undoing the function inside it.",
    decrypt,
    "decrypt(*encrypt(3, 200, [17, 5]), [17, 5])",
    _secrets,
    (_pair, _keys_kept, _one_back, _no_rounds, _several),
    {
        _again: _one_back,
        _encrypts_backward: _one_back,
        _halves_swapped: _one_back,
        _not_swapped: _one_back,
        _keys_in_order: _several,
        _turns_list: _keys_kept,
    },
    (
        "The left half is the old right one. So you know what went into `mix`, and can take it off again.",
        "Undo the last round first: `left, right = right ^ mix(left, key), left` over `reversed(keys)`.",
    ),
    extreme=lambda left, right, keys: not keys,
)

# --- a layer ----------------------------------------------------------------------------------------------------------


class Layer:
    """A function of one number, as a stand-in for attention or a feed-forward block."""

    def __init__(self, scale: int, shift: int):
        self.scale, self.shift = scale, shift

    def __call__(self, x):
        return self.scale * x * x + self.shift

    def __repr__(self) -> str:
        return f"lambda x: {self.scale} * x * x {'-' if self.shift < 0 else '+'} {abs(self.shift)}"


def undo_block(y1, y2, f, g):
    """The inputs (x1, x2) of a reversible block, worked out from its outputs.

    y1, y2  the outputs of the two streams: y1 = x1 + f(x2), and then y2 = x2 + g(y1)
    f, g    the two functions of the block; you can call them, but most such functions cannot be undone
    """
    x2 = y2 - g(y1)
    x1 = y1 - f(x2)
    return x1, x2


def _blocks(rng: random.Random) -> tuple:
    f, g = (Layer(rng.randint(2, 4), rng.choice([-3, -2, -1, 1, 2, 3])) for _ in "fg")
    x1, x2 = rng.randint(-5, 5), rng.randint(-5, 5)
    y1 = x1 + f(x2)
    return y1, x2 + g(y1), f, g


def _second(trial: Trial) -> str | None:
    y1, y2, f, g = trial.args
    fine = trial.got[1] == trial.want[1]
    if not fine and trial.got == trial.want[::-1]:
        return "These are the right numbers, but swapped: return `x1, x2`."
    return None if fine else f"y2 = x2 + g(y1), and you know y1: x2 must be {y2} - g({y1}) = {y2 - g(y1)}."


def _first(trial: Trial) -> str | None:
    fine = trial.got[0] == trial.want[0]
    return None if fine else f"y1 = x1 + f(x2): x1 must be {trial.args[0]} - f({trial.want[1]}) = {trial.want[0]}."


def _wrong_order(y1, y2, f, g):
    x1 = y1 - f(y2)
    return x1, y2 - g(x1)


def _adds(y1, y2, f, g):
    x2 = y2 + g(y1)
    return y1 + f(x2), x2


def _f_of_y(y1, y2, f, g):
    return y1 - f(y2), y2 - g(y1)


def _f_of_y1(y1, y2, f, g):
    return y1 - f(y1), y2 - g(y1)


def _swapped(y1, y2, f, g):
    x2 = y2 - f(y1)
    return y1 - g(x2), x2


def _results_swapped(y1, y2, f, g):
    return undo_block(y1, y2, f, g)[::-1]


UNDO = Step(
    "A layer whose inputs come back",
    "Recover the inputs of a network's layer from its outputs, by the trick that decrypts your cipher.",
    undo_block,
    "undo_block(5, 32, lambda x: x * x, lambda x: x * x + 1)",
    _blocks,
    (_pair, _second, _first),
    {
        _wrong_order: _second,
        _adds: _second,
        _f_of_y: _first,
        _f_of_y1: _first,
        _swapped: _second,
        _results_swapped: _second,
    },
    ("Begin with the stream that was changed last.", "x2 = y2 - g(y1). With x2 known, x1 = y1 - f(x2)."),
    also=[(5, 32, Layer(1, 0), Layer(1, 1))],
)

# --- memory -----------------------------------------------------------------------------------------------------------


def checkpoint(depth, segment, stream_bytes, layer_bytes):
    """What training keeps and what it computes again, as a pair: bytes of activations, and layers.

    depth         layers of the network
    segment       layers between two kept streams; depth is a multiple of it
    stream_bytes  bytes of one kept stream
    layer_bytes   bytes of all activations of one layer

    It keeps a stream for each segment. The way back goes through one segment at a time, and needs all activations of
    that segment. Those of the last segment are still there from the way forward; all others are computed again.
    """
    return depth // segment * stream_bytes + segment * layer_bytes, depth - segment


def _nets(rng: random.Random) -> tuple:
    depth = rng.choice([12, 24, 48, 96])
    return (
        depth,
        rng.choice([n for n in range(1, depth + 1) if depth % n == 0]),
        rng.choice([1, 2]),
        rng.choice([16, 34]),
    )


def _bytes_and_layers(trial: Trial) -> str | None:
    fine = isinstance(trial.got, (tuple, list)) and len(trial.got) == 2
    return None if fine else "Return two numbers: the bytes that are kept, and the layers that are computed again."


def _whole(trial: Trial) -> str | None:
    depth, segment, stream, layer = trial.args
    fine = segment != depth or trial.got[0] == stream + depth * layer
    return None if fine else f"With one segment all {depth} layers and one stream are kept: {stream + depth * layer}."


def _one_by_one(trial: Trial) -> str | None:
    depth, segment, stream, layer = trial.args
    fine = segment != 1 or trial.got[0] == depth * stream + layer
    return None if fine else f"With a stream for each of {depth} layers, {depth} × {stream} + {layer} are kept."


def _computed_again(trial: Trial) -> str | None:
    depth, segment, *_ = trial.args
    if trial.got[1] == depth - segment:
        return None
    return (
        f"All {depth} layers but the last {segment} are computed again: {depth - segment}, not {shown(trial.got[1])}."
    )


def _kept(trial: Trial) -> str | None:
    depth, segment, stream, layer = trial.args
    if same(trial.got[0], trial.want[0]):
        return None
    return (
        f"{depth} / {segment} = {depth // segment} streams are kept, of {stream} each, and {count(segment, 'layer')} of"
        f" {layer} each: {trial.want[0]}, not {shown(trial.got[0])}. Expected {shown(trial.want)}."
    )


def _all_layers(depth, segment, stream_bytes, layer_bytes):
    return depth // segment * stream_bytes + depth * layer_bytes, depth - segment


def _streams_only(depth, segment, stream_bytes, layer_bytes):
    return depth // segment * stream_bytes, depth - segment


def _one_layer(depth, segment, stream_bytes, layer_bytes):
    return depth // segment * stream_bytes + layer_bytes, depth - segment


def _other_way(depth, segment, stream_bytes, layer_bytes):
    return segment * stream_bytes + depth // segment * layer_bytes, depth - segment


def _one_more_stream(depth, segment, stream_bytes, layer_bytes):
    streams = depth // segment + (1 < segment < depth)
    return streams * stream_bytes + segment * layer_bytes, depth - segment


def _all_again(depth, segment, stream_bytes, layer_bytes):
    return checkpoint(depth, segment, stream_bytes, layer_bytes)[0], depth


def _segments_again(depth, segment, stream_bytes, layer_bytes):
    return checkpoint(depth, segment, stream_bytes, layer_bytes)[0], depth // segment - 1


def _bytes_alone(depth, segment, stream_bytes, layer_bytes):
    return checkpoint(depth, segment, stream_bytes, layer_bytes)[0]


MEMORY = Step(
    "Keep some, compute the rest again",
    "Work out what checkpointing, the rival of reversible layers, keeps in memory and what it must compute again.",
    checkpoint,
    "checkpoint(48, 6, 2, 34)",
    _nets,
    (_bytes_and_layers, _whole, _one_by_one, _computed_again, _kept),
    {
        _all_layers: _one_by_one,
        _streams_only: _whole,
        _one_layer: _whole,
        _other_way: _whole,
        _all_again: _computed_again,
        _one_more_stream: _kept,
        _segments_again: _computed_again,
        _bytes_alone: _bytes_and_layers,
    },
    (
        "How many streams are kept? How many layers are in memory at a time?",
        "All layers but those of the last segment run forward a second time.",
    ),
)


def best_segment(depth, stream_bytes, layer_bytes):
    """The segment that keeps the fewest bytes, of all that divide the depth; the shortest where several do."""
    lengths = [n for n in range(1, depth + 1) if depth % n == 0]
    return min(lengths, key=lambda segment: checkpoint(depth, segment, stream_bytes, layer_bytes)[0])


def _depths(rng: random.Random) -> tuple:
    """Real ones, and those at the ends: one layer, layers that nothing divides, streams as large as many layers."""
    streams = [1, 2, 16, rng.randint(20, 400)]
    return rng.choice([1, 7, 12, 24, 48, 60, 96]), rng.choice(streams), rng.choice([8, 16, 34, rng.randint(1, 10)])


def _divides(trial: Trial) -> str | None:
    depth, got = trial.args[0], trial.got
    if isinstance(got, int) and 1 <= got <= depth and depth % got == 0:
        return None
    if got == checkpoint(depth, trial.want, *trial.args[1:])[0]:
        return f"{shown(got)} is the fewest bytes. Return the segment that keeps so few: a number of layers."
    return f"A segment must be a whole number of layers that divides {depth}."


def _less(trial: Trial) -> str | None:
    at = lambda segment: checkpoint(trial.args[0], segment, *trial.args[1:])[0]
    if at(trial.got) == at(trial.want):
        return (
            None
            if trial.got == trial.want
            else f"Segments of {count(trial.want, 'layer')} keep as few bytes, and are shorter."
        )
    return (
        f"Segments of {count(trial.got, 'layer')} keep {at(trial.got)} bytes; of {trial.want}, {at(trial.want)} bytes."
    )


def _best_of(lengths, depth, stream_bytes, layer_bytes):
    return min(lengths, key=lambda segment: checkpoint(depth, segment, stream_bytes, layer_bytes)[0])


def _never_whole(depth, stream_bytes, layer_bytes):
    shorter = [n for n in range(1, depth) if depth % n == 0]
    return _best_of(shorter or [1], depth, stream_bytes, layer_bytes)


def _from_two(depth, stream_bytes, layer_bytes):
    longer = [n for n in range(2, depth + 1) if depth % n == 0]
    return _best_of(longer or [1], depth, stream_bytes, layer_bytes)


def _nearest_root(depth, stream_bytes, layer_bytes):
    root = _root(depth, stream_bytes, layer_bytes)
    return min((n for n in range(1, depth + 1) if depth % n == 0), key=lambda n: abs(n - root))


def _nothing_for_one(depth, stream_bytes, layer_bytes):
    return best_segment(depth, stream_bytes, layer_bytes) if depth > 1 else 0


def _fewest_bytes(depth, stream_bytes, layer_bytes):
    return checkpoint(depth, best_segment(depth, stream_bytes, layer_bytes), stream_bytes, layer_bytes)[0]


def _root(depth, stream_bytes, layer_bytes):
    return (depth * stream_bytes / layer_bytes) ** 0.5


def _whole_net(depth, stream_bytes, layer_bytes):
    return depth


def _every_layer(depth, stream_bytes, layer_bytes):
    return 1


def _root_of_depth(depth, stream_bytes, layer_bytes):
    return min((n for n in range(1, depth + 1) if depth % n == 0), key=lambda n: abs(n - depth**0.5))


BEST = Step(
    "The best distance",
    "Find how far apart the checkpoints should be for the least memory.",
    best_segment,
    "best_segment(96, 2, 34)",
    _depths,
    (_divides, _less),
    {
        _root: _divides,
        _fewest_bytes: _divides,
        _nothing_for_one: _divides,
        _whole_net: _less,
        _every_layer: _less,
        _root_of_depth: _less,
        _nearest_root: _less,
        _never_whole: _less,
        _from_two: _less,
    },
    ("List the segments that divide the depth, then take the one that keeps the least by `checkpoint`.",),
    count=150,
    extreme=lambda layers, *sizes: layers == 1,
)

# --- the chart --------------------------------------------------------------------------------------------------------

STREAM, LAYER = 2.0, 34.0  # bytes for each number of a token's vector, in 16-bit training
DEPTH, TRIPS = 110, 100
SEGMENTS = [n for n in range(1, DEPTH + 1) if DEPTH % n == 0]


def _returned(own: Any) -> int:
    """How many of so many messages and inputs come back from the reader's cipher and block."""
    rng, back = random.Random(0), 0
    for _ in range(TRIPS):
        left, right, keys = _messages(rng)
        y1, y2, f, g = _blocks(rng)
        x1, x2 = own.undo_block(y1, y2, f, g)
        whole = y1 == x1 + f(x2) and y2 == x2 + g(y1)
        back += whole and own.decrypt(*own.encrypt(left, right, keys), keys) == (left, right)
    return back


def _measured() -> list[tuple[float, float]]:
    """Time and memory of training reversible networks in PyTorch, over those of ordinary ones of as many layers."""
    memory = {row["model"]: row["memory_MB"] for row in measurement("memcnn_revnet").records()}
    ratios = {pair: values for pair, framework, values in times() if framework == "PyTorch"}
    return [(ratio, memory[anew] / memory[plain]) for plain, anew in PAIRS[1:] for ratio in ratios[f"{plain} → {anew}"]]


def finish(own: Any) -> dict[str, Any]:
    """Memory against compute, over those with everything kept: the reader's checkpoints at all distances, the best of
    them, the lesson's formulas, and reversible networks as they were measured. The title counts round trips.
    """
    all_kept = eq.stored(depth=DEPTH, layer_bytes=LAYER)
    of = {"stream_bytes": STREAM, "exact_stream": STREAM, "layer_bytes": LAYER, "step_bytes": LAYER, "depth": DEPTH}

    def at(segment: int) -> tuple[float, float]:
        kept, again = own.checkpoint(DEPTH, segment, STREAM, LAYER)
        return 1 + again / DEPTH / 3, kept / all_kept  # the way forward is a third of a training step's compute

    course = [
        (eq.work_ratio(recomputed=(DEPTH - segment) / DEPTH), eq.checkpointed(of, segment=segment) / all_kept)
        for segment in SEGMENTS
    ]
    work, kept = at(own.best_segment(DEPTH, STREAM, LAYER))
    return lab_chart(
        f"Your cipher and your block came back in {_returned(own)} of {TRIPS} round trips\n"
        f"Your best distance keeps {kept:.0%} of the memory of {DEPTH} layers, for {work - 1:.0%} more compute",
        "compute (with everything kept: 1)",
        "memory (with everything kept: 1)",
        {
            "your checkpoints, from each layer to none": Series(map(at, SEGMENTS)),
            "the lesson's formulas": Series(course, "point"),
            "your best distance": Series([(work, kept)], "point"),
            "reversible, by the lesson's formulas": Series(
                [(eq.work_ratio(recomputed=1), eq.reversible(of) / all_kept)], "point"
            ),
            "reversible, measured: RevNets on CIFAR": Series(_measured(), "point"),
        },
        log_y=True,
    )


LAB = Lab(
    "Build things that run backward",
    "You write a cipher and its inverse, and undo a layer of a network in the same way. Then you find how few bytes"
    " checkpointing, the rival, can keep, and what it computes again. The last chart compares checkpointing and a"
    " reversible network with keeping everything.",
    (ENCRYPT, DECRYPT, UNDO, MEMORY, BEST),
    finish,
    "Few checkpoints save most of the memory, for nearly one more forward pass. A reversible network keeps even less,"
    " for a whole forward pass. Networks that were measured, of 110 and 164 layers, save less, since their weights and"
    " the work space of the GPU do not shrink, and most of them take longer.",
    {"mix": mix},
)
