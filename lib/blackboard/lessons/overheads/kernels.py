"""A transformer's step as the kernels that it launches, written down by tensors without values, and fused by a small
compiler.

`Array` has a shape and no numbers: whatever is done with it is put on a `Tape`, operation by operation. The same tape
is then read three ways: `eager`, a kernel an operation, as PyTorch runs without a compiler; `library`, a kernel a
function (a norm, a rotation), as engines bring them along; `fused`, where all that works on vectors goes into the one
kernel in front of what needs it. Bytes and FLOPs are counted, not derived: no formula of the lesson is used here.
Everything is per chip.

Dense layers are written as gpt-fast writes them (github.com/pytorch-labs/gpt-fast, model.py) and split over the chips
by heads and columns. In a mixture of experts each chip has its own sequences and a whole copy of all but the routed
experts, which are dealt out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from blackboard import catalogue
from blackboard.catalogue.architecture import Dense, Experts, Heads, Latent

FUSABLE = (
    "elementwise",
    "reduction",
    "write",
)  # what a compiler may put into one kernel; products and attention stay as they are


class Kernel(NamedTuple):
    """A kernel of one chip: FLOPs, bytes that it reads and writes, and how many operations are in it."""

    name: str
    kind: str  # "product", "attention", "elementwise", "reduction", "write", "gather", "choice", "send"
    flop: float
    read: float
    written: float
    ops: int = 1

    @property
    def moved(self) -> float:
        """Bytes to and from memory."""
        return self.read + self.written

    def time(self, flops: float, bandwidth: float, least: float = 0.0) -> float:
        """Seconds on a chip of so many FLOP/s and byte/s; no kernel takes less than `least`."""
        return max(self.flop / flops, self.moved / bandwidth, least)


# --- tensors without values -------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Array:
    """Rows × columns of values of so many bytes. A view (`half`, `cut`) has the `base` that its values lie in."""

    tape: Tape
    rows: float
    columns: float
    width: float = 2
    base: Array | None = None

    @property
    def bytes(self) -> float:
        return self.rows * self.columns * self.width

    @property
    def root(self) -> Array:
        """The array whose values these are."""
        return self.base.root if self.base else self

    def __add__(self, other: Array | float) -> Array:
        return self.tape.each("add", self, other)

    def __sub__(self, other: Array | float) -> Array:
        return self.tape.each("sub", self, other)

    def __mul__(self, other: Array | float) -> Array:
        return self.tape.each("mul", self, other)

    def __truediv__(self, other: Array | float) -> Array:
        return self.tape.each("div", self, other)

    def to(self, width: float) -> Array:
        """The same values in another number of bytes."""
        return self.tape.each("cast", self, width=width)

    def each(self, name: str) -> Array:
        """A function of each value: rsqrt, silu, abs, clamp."""
        return self.tape.each(name, self)

    def over(self, name: str) -> Array:
        """One value of each row: mean, max."""
        return self.tape.put(name, "reduction", [self], Array(self.tape, self.rows, 1, self.width))

    def cut(self, columns: float) -> Array:
        """Some columns; a view, which no kernel makes."""
        return Array(self.tape, self.rows, columns, self.width, self)

    def at(self, weights: float, columns: float, copies: float = 1) -> Array:
        """The product with a matrix of so many bytes a parameter; with several matrices, each row goes to one."""
        matrix = self.columns * columns
        return self.tape.put(
            "product",
            "product",
            [self],
            Array(self.tape, self.rows, columns),
            2 * self.rows * matrix,
            copies * matrix * weights,
        )

    def by_head(self, weights: float, heads: float, columns: float) -> Array:
        """Each head's part times a matrix of its own: a product with so many columns for each head."""
        matrix, out = self.columns * columns, Array(self.tape, self.rows, heads * columns)
        return self.tape.put("product", "product", [self], out, 2 * self.rows * matrix, matrix * weights)

    def __repr__(self) -> str:
        return f"<{self.rows:g} × {self.columns:g} values of {self.width:g} bytes>"


class Op(NamedTuple):
    """An operation on the tape: inputs and output, its FLOPs, bytes that it reads beside its inputs (weights, cache),
    and its call.
    """

    name: str
    kind: str
    inputs: tuple[Array, ...]
    out: Array
    flop: float
    more: float
    after: tuple[Array, ...]
    call: int

    @property
    def wants(self) -> tuple[Array, ...]:
        """What must be there before it runs."""
        return (*self.inputs, *self.after)


@dataclass
class Tape:
    """Operations in the order in which they were asked for."""

    ops: list[Op] = field(default_factory=list)
    call: int = 0  # of a function that a library has as one kernel; 0 outside of them
    calls: int = 0

    def array(self, rows: float, columns: float, width: float = 2) -> Array:
        """An array that is there already."""
        return Array(self, rows, columns, width)

    def put(
        self,
        name: str,
        kind: str,
        inputs: Sequence[Array],
        out: Array,
        flop: float = 0.0,
        more: float = 0.0,
        after: Sequence[Array] = (),
    ) -> Array:
        """Write an operation down; its output. What it comes `after` it does not read, or `more` counts it."""
        self.ops.append(Op(name, kind, tuple(inputs), out, flop, more, tuple(after), self.call))
        return out

    def each(self, name: str, *inputs: Array | float, width: float | None = None) -> Array:
        """An elementwise operation; a number among its inputs costs nothing."""
        arrays = [one for one in inputs if isinstance(one, Array)]
        out = Array(
            self, max(a.rows for a in arrays), max(a.columns for a in arrays), width or max(a.width for a in arrays)
        )
        return self.put(name, "elementwise", arrays, out)

    def join(self, *parts: Array) -> Array:
        """Parts copied into one array, column beside column."""
        out = Array(self, parts[0].rows, sum(part.columns for part in parts), parts[0].width)
        return self.put("join", "elementwise", parts, out)


# --- a step -----------------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """How a step is served: `tokens` of each of `sequences`, with `context` tokens before them; `weights` and `cache`
    in bytes a value.

    A dense model is split over the `chips`, which see the same sequences; a mixture of experts deals out sequences and
    experts.
    """

    sequences: float = 1
    tokens: float = 1
    context: float = 1_000
    chips: int = 1
    weights: float = 2
    cache: float = 2
    quantised: bool = False  # vectors are made FP8, with a scale for each row, before every product
    copies: bool = False  # keys and values are copied before attention, as in gpt-fast
    layers: int | None = None  # only the first so many; None: all


def one_call(function: Any) -> Any:
    """Mark what a function puts on the tape of its first argument as one kernel of a library."""

    def called(x: Array, *args: Any) -> Array:
        x.tape.calls += 1
        x.tape.call = x.tape.calls
        out = function(x, *args)
        x.tape.call = 0
        return out

    return called


@one_call
def rms_norm(x: Array) -> Array:
    """RMSNorm in 32 bits: eight operations."""
    wide = x.to(4)
    scale = ((wide * wide).over("mean") + 1e-5).each("rsqrt")
    return (wide * scale).to(x.width) * x.tape.array(1, x.columns, x.width)


@one_call
def rotate(x: Array, angles: Array) -> Array:
    """Rotary position, by real and imaginary halves in 32 bits: nine operations."""
    wide = x.to(4)
    real, imaginary = wide.cut(x.columns / 2), wide.cut(x.columns / 2)
    cos, sin = angles.cut(angles.columns / 2), angles.cut(angles.columns / 2)
    return x.tape.join(real * cos - imaginary * sin, imaginary * cos + real * sin).to(x.width)


@one_call
def quantise(x: Array) -> Array:
    """FP8 with a scale for each row: six operations, two of them on one value a row."""
    scale = x.each("abs").over("max") / 448
    return (x / scale).each("clamp").to(1)


@one_call
def gated(gate: Array, up: Array) -> Array:
    """SiLU of one vector times another: two operations."""
    return gate.each("silu") * up


def product(x: Array, columns: float, plan: Plan) -> Array:
    """The product with a weight matrix, in FP8 after quantising where the plan says so."""
    return (quantise(x) if plan.quantised else x).at(plan.weights, columns)


def attend(x: Array, group: Heads, plan: Plan, angles: Array) -> Array:
    """Grouped-query attention with its projections, a share of the heads on each chip."""
    made, width = x.tape, x.columns
    heads, kv_heads, wide = group.heads / plan.chips, max(1, group.kv_heads / plan.chips), group.head_dim
    qkv = product(x, (heads + 2 * kv_heads) * wide, plan)
    query, key, value = qkv.cut(heads * wide), qkv.cut(kv_heads * wide), qkv.cut(kv_heads * wide)
    query, key = rotate(query, angles), rotate(key, angles)
    kept = [made.put("cache", "write", [new], Array(made, new.rows, new.columns, plan.cache)) for new in (key, value)]
    past = (
        plan.sequences * (plan.context + plan.tokens) * kv_heads * wide * plan.cache
    )  # of the keys; as much of the values
    if plan.copies:
        kept = [
            made.put("copy", "elementwise", [new], Array(made, past / plan.cache, 1, plan.cache), more=past)
            for new in kept
        ]
    seen = plan.context + (plan.tokens + 1) / 2  # on average: a token sees those before it, and itself
    flop = 4 * x.rows * seen * heads * wide
    found = made.put("attention", "attention", [query], Array(made, x.rows, heads * wide), flop, 2 * past, after=kept)
    return _summed(product(found, width, plan), plan)


def attend_latent(x: Array, group: Latent, plan: Plan, angles: Array) -> Array:
    """Latent attention in decoding, its projections absorbed: all heads read one latent and one rotated key of each
    token.
    """
    made, latent = x.tape, group.kv_rank + group.rope_dim
    heads, width = group.heads, x.columns
    query = product(rms_norm(x.at(plan.weights, group.q_rank)), heads * (group.nope_dim + group.rope_dim), plan)
    down = x.at(plan.weights, latent)
    turned = rotate(query.cut(heads * group.rope_dim), angles)
    kept = [
        made.put("cache", "write", [new], Array(made, new.rows, new.columns, plan.cache))
        for new in (rms_norm(down.cut(group.kv_rank)), rotate(down.cut(group.rope_dim), angles))
    ]
    into = query.cut(heads * group.nope_dim).by_head(plan.weights, heads, group.kv_rank)
    past, flop = (
        plan.sequences * (plan.context + plan.tokens) * latent * plan.cache,
        2 * x.rows * heads * (group.kv_rank + latent) * plan.context,
    )
    found = made.put(
        "attention", "attention", [into, turned], Array(made, x.rows, heads * group.kv_rank), flop, past, after=kept
    )
    return product(found.by_head(plan.weights, heads, group.v_dim), width, plan)


def feed_forward(x: Array, group: Dense | Experts, plan: Plan, chips: int) -> Array:
    """A gated block over so many chips: three products, SiLU and a multiplication."""
    wide, width = group.d_ff / chips, x.columns
    entered = quantise(x) if plan.quantised else x
    gate, up = entered.at(plan.weights, wide), entered.at(plan.weights, wide)
    return product(gated(gate, up), width, plan)


def experts(x: Array, group: Experts, plan: Plan) -> Array:
    """Routed experts, and shared ones beside them: choose, dispatch, two grouped products, combine."""
    made, width = x.tape, x.columns
    chosen = made.put("choose", "choice", [x.at(2, group.experts)], Array(made, x.rows, group.active, 4))
    arrive = x.rows * group.active  # rows that come to a chip, evenly
    sent = made.put(
        "dispatch", "send", [quantise(x) if plan.quantised else x, chosen], Array(made, arrive, width, plan.weights)
    )
    each = min(group.experts / plan.chips, arrive)  # experts of a chip that somebody chose, at most
    both = sent.at(plan.weights, 2 * group.d_ff, copies=each)
    inner = gated(both.cut(group.d_ff), both.cut(group.d_ff))
    back = (quantise(inner) if plan.quantised else inner).at(plan.weights, width, copies=each)
    home = made.put("combine", "send", [back], Array(made, x.rows, width))
    return home + feed_forward(x, group, plan, 1) if group.shared else home


def _summed(x: Array, plan: Plan) -> Array:
    """The sum over the chips, if there are several: read and written once on each."""
    return x.tape.put("all-reduce", "send", [x], Array(x.tape, x.rows, x.columns, x.width)) if plan.chips > 1 else x


@cache
def tape(model: str, plan: Plan = Plan()) -> Tape:
    """Every operation of a step of a model of the catalogue; sampling is left out. ValueError for layers not written
    out here.
    """
    net, made = catalogue.model(model), Tape()
    each = lambda part: [group for group in part for _ in range(group.layers)][: plan.layers]
    above, below = each(net.attention), each(net.ffn)
    if unknown := {group.kind for group in (*above, *below)} - {"heads", "latent", "dense", "experts"}:
        raise ValueError(f"{model}: {', '.join(sorted(unknown))} layers are not written out here")
    own = plan.chips if net.moe else 1  # chips that the sequences are dealt out over
    mine = plan._replace(sequences=plan.sequences / own, chips=plan.chips // own)  # of all but the routed experts
    rows = mine.sequences * plan.tokens
    turns = above[0].rope_dim if above[0].kind == "latent" else above[0].head_dim
    angles, x = (
        _gathered(made, name, rows, columns) for name, columns in (("angles", turns), ("embedding", net.d_model))
    )
    for attention, block in zip(above, below, strict=True):
        x = x + (attend_latent if attention.kind == "latent" else attend)(rms_norm(x), attention, mine, angles)
        normed = rms_norm(x)
        x = x + (
            experts(normed, block, plan)
            if block.kind == "experts"
            else _summed(feed_forward(normed, block, mine, mine.chips), mine)
        )
    rms_norm(x).at(2, net.vocab / mine.chips)
    return made


def _gathered(made: Tape, name: str, rows: float, columns: float) -> Array:
    out = made.array(rows, columns)
    return made.put(name, "gather", [], out, more=out.bytes)


# --- kernels ----------------------------------------------------------------------------------------------------------


@cache
def eager(model: str, plan: Plan = Plan()) -> tuple[Kernel, ...]:
    """A step as it is run without a compiler: a kernel an operation."""
    return tuple(_kernel([op], {}) for op in tape(model, plan).ops)


@cache
def library(model: str, plan: Plan = Plan()) -> tuple[Kernel, ...]:
    """A step with a kernel for each norm, rotation, gate and quantising, as engines have them written by hand."""
    ops = tape(model, plan).ops
    uses, groups = _uses(ops), groupby(enumerate(ops), lambda row: row[1].call or -row[0])
    return tuple(_kernel([op for _, op in group], uses) for _, group in groups)


@cache
def fused(model: str, plan: Plan = Plan()) -> tuple[Kernel, ...]:
    """A step after fusing: between two products, or a product and attention, there is one kernel at most."""
    return tuple(fuse(tape(model, plan).ops))


def fuse(ops: Sequence[Op]) -> list[Kernel]:
    """The kernels of a tape whose operations on vectors are put together."""
    uses = _uses(ops)
    return [_kernel(group, uses) for group in grouped(ops)]


def grouped(ops: Sequence[Op]) -> list[list[Op]]:
    """Put off what works on vectors until a product, attention or a sum over chips needs it; then it goes in one
    kernel.
    """
    waiting, out = [], []
    for op in ops:
        if op.kind in FUSABLE:
            waiting.append(op)
            continue
        if wanted := _needed(waiting, op.wants):
            gone = set(map(id, wanted))
            out.append(wanted)
            waiting = [other for other in waiting if id(other) not in gone]
        out.append([op])
    return [*out, waiting] if waiting else out


def _needed(waiting: list[Op], inputs: Iterable[Array]) -> list[Op]:
    """Of the operations that wait, those that these inputs come from, in order."""
    roots, found = {id(array.root) for array in inputs}, []
    for op in reversed(waiting):
        if id(op.out.root) in roots:
            found.append(op)
            roots |= {id(array.root) for array in op.wants}
    return found[::-1]


def _uses(ops: Sequence[Op]) -> dict[int, list[int]]:
    """Which operations read an array, by the identity of its root."""
    found = defaultdict(list)
    for op in ops:
        for array in {id(array.root) for array in op.wants}:
            found[array].append(id(op))
    return found


def _kernel(group: list[Op], uses: dict[int, list[int]]) -> Kernel:
    """One kernel of a group of operations: what they make for each other stays on the chip."""
    made, inside = {id(op.out) for op in group}, {id(op) for op in group}
    outer = {id(array): array for op in group for array in op.inputs if id(array.root) not in made}
    left = [op.out for op in group if len(group) == 1 or not uses.get(id(op.out)) or set(uses[id(op.out)]) - inside]
    name, kind = (group[0].name, group[0].kind) if len(group) == 1 else (f"{len(group)} in one", "elementwise")
    read = sum(array.bytes for array in outer.values()) + sum(op.more for op in group)
    return Kernel(name, kind, sum(op.flop for op in group), read, sum(array.bytes for array in left), len(group))


# --- what they come to ------------------------------------------------------------------------------------------------


class Counted(NamedTuple):
    """A step's kernels, bytes and FLOPs of one chip; of them the bytes of kernels that work on vectors only."""

    kernels: int
    moved: float
    flop: float
    vector_moved: float


def counted(kernels: Iterable[Kernel]) -> Counted:
    """The sums over a step's kernels."""
    rows = tuple(kernels)
    small = [row for row in rows if row.kind in FUSABLE]
    total = lambda name, of: sum(getattr(row, name) for row in of)
    return Counted(len(rows), total("moved", rows), total("flop", rows), total("moved", small))


def times(kernels: Iterable[Kernel], flops: float, bandwidth: float, least: float = 0.0) -> list[float]:
    """Seconds of each kernel on a chip."""
    return [row.time(flops, bandwidth, least) for row in kernels]
