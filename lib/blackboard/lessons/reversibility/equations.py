"""Formulas of the reversibility lesson: what training keeps in memory, what recomputing it costs, and what spreads.

The exact inverse itself is no formula but a program: see `simulation` and `network` of this lesson.
"""

from __future__ import annotations

from sympy import Le, Mul, sqrt

import blackboard.lessons.pricing.equations
from blackboard.formula import DERIVED, Formula, Source, lecture
from blackboard.lessons.batching.equations import flop_per_param, flops, hbm, kv, n_active, rows
from blackboard.lessons.overtraining.equations import flop_trained
from blackboard.lessons.racks.equations import layers, width
from blackboard.notation import declare, result

# --- symbols ----------------------------------------------------------------------------------------------------------

depth = declare("depth", r"n_\mathrm{depth}", "1", "layers that run one after the other")
layer_bytes = declare(
    "layer_bytes",
    r"V_\mathrm{layer}",
    "byte",
    "activations that one layer keeps for its backward pass",
)
step_bytes = declare(
    "step_bytes", r"V_\mathrm{step}", "byte", "activations that one step of a reversible network needs to be undone"
)
stream_bytes = declare(
    "stream_bytes", r"V_\mathrm{stream}", "byte", "one stream between two layers, in the format in which it is kept"
)
exact_stream = declare(
    "exact_stream", r"V_\mathrm{wide}", "byte", "one stream, in a number format that is wide enough for the way back"
)
segment = declare("segment", r"n_\mathrm{seg}", "1", "layers from one kept stream to the next")
recomputed = declare(
    "recomputed",
    r"x_\mathrm{rerun}",
    "1",
    "share of the forward pass that training runs a second time",
    zero=True,
    most=1,
)
steps_back = declare(
    "steps_back", r"n_\mathrm{step}", "1", "steps of a reversible network: two for a transformer's layer"
)
gain_per_step = declare("gain_per_step", r"\chi", "1", "factor by which undoing one step widens a small difference")
rounding = declare("rounding", r"\epsilon", "1", "relative error of one rounding")
kept_per_value = declare(
    "kept_per_value", r"b_\mathrm{kept}", "byte/token", "bytes that a layer keeps for each number of a token's vector"
)
flop_spent = declare("flop_spent", r"c_\mathrm{redo}", "FLOP/byte", "FLOPs that it takes to recompute one kept byte")
half_bits = declare("half_bits", r"n_\mathrm{half}", "1", "bits of half a cipher's block")
left_half = declare("left", "u", "1", "half of a block after a round: the one to which the round function was added")
right_half = declare("right", "v", "1", "half of a block after a round: the one that went into the round function")
result("activations", r"V_\mathrm{act}", "byte", "activations that training keeps for the backward pass")
result("activations_least", r"V^{*}_\mathrm{act}", "byte", "activations kept with segments of the best length")
result("segment_best", r"n^{*}_\mathrm{seg}", "1", "segment length that needs the least memory")
result("work_ratio", r"z_\mathrm{work}", "1", "compute of a training step divided by that with all activations kept")
result("difference", r"\delta", "1", "relative size of a difference after all steps")
result("bits_flipped", r"\phi_r", "1", "share of a block's bits that change when one input bit does, on average")


REVNET, KORTHIKANTI = Source("revnet"), Source("korthikanti2022")
KEPT = (
    34  # bytes that a transformer layer keeps for each value of a token in 16 bits: Korthikanti and others, section 4.1
)
deep = Le(1, depth)
deep_enough = ("deep enough for a segment of at least one layer",)

# --- what training keeps ---------------------------------------------------------------------------------------------

stored = Formula(
    "reversibility.stored",
    "activations",
    depth * layer_bytes,
    "byte",
    "every layer keeps its activations until its backward pass, so memory grows with depth",
    ("all layers keep the same",),
    lecture("2:12:00"),
    conditions=(deep,),
)
layer_kept = Formula(
    "reversibility.layer_kept",
    "layer_bytes",
    kept_per_value * width * rows,
    "byte",
    f"a transformer layer keeps {KEPT} bytes for each number of a token's vector in 16-bit training, if attention's"
    " scores are recomputed",
    ("blocks of attention and a feed-forward part four times as wide, with dropout",),
    KORTHIKANTI,
    typeset=Mul(kept_per_value, width, rows, evaluate=False),
)
reversible = Formula(
    "reversibility.reversible",
    "activations",
    2 * exact_stream + step_bytes,
    "byte",
    "a reversible network keeps two streams and recomputes one step at a time, so depth drops out",
    ("no step keeps more", "the streams' format has digits enough for the way back"),
    lecture("2:12:00"),
)
checkpointed = Formula(
    "reversibility.checkpointed",
    "activations",
    depth / segment * stream_bytes + segment * layer_bytes,
    "byte",
    "only some streams are kept, and one segment between two of them is recomputed at a time",
    ("all layers keep the same",),
    DERIVED,
    conditions=(Le(1, segment), Le(segment, depth)),
)
segment_best = Formula(
    "reversibility.segment_best",
    "segment_best",
    sqrt(depth * stream_bytes / layer_bytes),
    "1",
    "longer segments keep fewer streams but hold more layers at a time",
    checkpointed.assumes + deep_enough,
    DERIVED,
    conditions=(deep,),
)
checkpointed_least = Formula(
    "reversibility.checkpointed_least",
    "activations_least",
    2 * sqrt(depth * stream_bytes * layer_bytes),
    "byte",
    "with checkpoints at the best distance, memory grows with the square root of depth",
    checkpointed.assumes + deep_enough,
    DERIVED,
    conditions=(deep,),
)
work_ratio = Formula(
    "reversibility.work_ratio",
    "work_ratio",
    (flop_trained + recomputed * flop_per_param) / flop_trained,
    "1",
    "rerunning part or all of the forward pass adds up to a third to the compute of training",
    ("the backward pass costs two forward passes",),
    REVNET,
)

# --- what keeping is worth -------------------------------------------------------------------------------------------

kv_flop_spent = Formula(
    "reversibility.kv_flop_spent",
    "flop_spent",
    flop_per_param * n_active / kv,
    "FLOP/byte",
    "recomputing KV cache takes a whole forward pass for the bytes of one token",
    ("attention's own FLOPs are left out",),
    DERIVED,
)
activation_flop_spent = Formula(
    "reversibility.activation_flop_spent",
    "flop_spent",
    flop_per_param * n_active / (layers * width * kept_per_value),
    "FLOP/byte",
    "recomputing a byte of activations takes only the layer that made it",
    ("all layers are alike", "attention's own FLOPs are left out"),
    DERIVED,
)
keep_even = Formula(
    "reversibility.keep_even",
    "hold_even",
    flop_spent * hbm / flops,
    "s",
    "up to this time, keeping a byte takes a smaller share of the machine's memory than recomputing it takes of its"
    " compute",
    (
        "memory and compute are both fully used",
        "rent is for the whole machine",
        "for F, take the rate that the machine reaches, in place of its peak",
    ),
    DERIVED,
    typeset=Mul(flop_spent, hbm / flops, evaluate=False),
)

# --- what spreads ----------------------------------------------------------------------------------------------------

difference = Formula(
    "reversibility.difference",
    "difference",
    rounding * gain_per_step**steps_back,
    "1",
    "if every step widens a small difference by the same factor, the factors multiply",
    ("all steps widen by the same factor", "the difference stays small", "no step adds an error of its own"),
    DERIVED,
    conditions=(Le(1, steps_back),),
)
half_mixed = Formula(
    "reversibility.half_mixed",
    "bits_flipped",
    (half_bits / 2 + 1) / (2 * half_bits),
    "1",
    "after one round, half the bits of one half and a single bit of the other have changed",
    ("the round function's output looks random", "the flipped bit goes into the round function"),
    DERIVED,
    conditions=(Le(1, half_bits),),
)
