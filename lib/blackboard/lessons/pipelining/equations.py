"""Formulas of the pipelining lesson: what a hop costs, how long a pipeline idles, and whose memory it saves.

A stage is a rack (or a scale-up domain) that holds consecutive layers. A micro-batch is what one stage works on at a
time.
"""

from __future__ import annotations

from sympy import Add, Le, Mul, expand

from blackboard.formula import DERIVED, Formula, Min, Source, lecture
from blackboard.lessons.batching.equations import (
    batch,
    bytes_per_param,
    bytes_per_value,
    context,
    kv,
    n_total,
    new_token,
    one_entry,
)
from blackboard.lessons.racks.equations import (
    chip_bandwidth,
    copies,
    expert_parallel,
    link_efficiency,
    link_latency,
    micro_batches,
    scale_out,
    scale_up,
    width,
)
from blackboard.notation import declare, result, symbol

# --- symbols ----------------------------------------------------------------------------------------------------------

t_step = symbol("t_step")
domain = declare("domain", "S", "chip", "chips of one scale-up domain", "scale-up size")
stages = declare("stages", "P", "1", "pipeline stages", "P")
micro_batch = declare("micro_batch", "b", "sequence", "sequences of one micro-batch", "b")
layers_per_stage = declare("layers_per_stage", r"\ell", "1", "routed layers in one stage", "layers per stage")
chunks = declare("chunks", r"n_\mathrm{chunk}", "1", "separate pieces of the model on each device")
forward_time = declare("forward_time", "t_F", "s", "time of one stage's forward pass of a micro-batch")
input_grad_time = declare("input_grad_time", "t_B", "s", "time of one stage's gradient of its inputs")
weight_grad_time = declare("weight_grad_time", "t_W", "s", "time of one stage's gradient of its weights", zero=True)
fused_time = declare("fused_time", "t_{FB}", "s", "time of a forward and a whole backward pass that overlap")
hops = declare(
    "hops",
    r"n_\mathrm{hop}",
    "1",
    "hops from rack to rack: P per token in decoding, P − 1 in a single forward pass",
    zero=True,
)
hop_time = declare("hop_time", r"t_\mathrm{hop}", "s", "time of one hop from rack to rack", "a few ms", zero=True)
chip_hbm = declare("chip_hbm", "m", "byte/chip", "memory of one chip", "HBM")
result(
    "scale_ratio",
    r"T_\mathrm{up}/T_\mathrm{out}",
    "1",
    "time of a stage's traffic inside the rack divided by the time of one hop",
    "want at least 1",
)
result("layers_needed", r"\ell^{*}", "1", "layers per stage at which the hop takes no longer than the experts' traffic")
result("utilisation", r"u_\mathrm{rack}", "1", "share of the time that a rack is busy", "1/4")
result("bubble", r"\mathrm{bubble}", "1", "share of a training step that a device spends waiting")
result("idle", r"t_\mathrm{idle}", "s", "time that a device waits in a training step")
result("capacity", r"C_\mathrm{mem}", "byte", "memory that weights and KV take", "C_mem")
result("chip_memory", r"c_\mathrm{mem}", "byte/chip", "memory that weights and KV take on one chip", "c_mem")
result("chip_weights", r"c_\mathrm{weights}", "byte/chip", "weights on one chip")
result("chip_kv", r"c_\mathrm{KV}", "byte/chip", "KV cache on one chip")
result("context_fits", r"L_\mathrm{fit}", "token/sequence", "context that fits beside the weights")
result("t_token", r"t_\mathrm{token}", "s", "time from one token of a sequence to its next")


MEGATRON, ZERO_BUBBLE, DUALPIPE = Source("megatron2021"), Source("zerobubble"), Source("dualpipe")
piped, fed, even = Le(1, stages), Le(1, micro_batches), ("all stages take equally long",)

# --- the hop against the experts' traffic ----------------------------------------------------------------------------

scale_ratio = Formula(
    "pipelining.scale_ratio",
    "scale_ratio",
    2 * copies * layers_per_stage * scale_out / scale_up,
    "1",
    "a token crosses to the next rack once, but goes to its experts and back in every layer of the stage",
    ("values take the same bytes on every way", "experts' traffic stays in the rack"),
    lecture("0:49:21"),
    typeset=Mul(2, copies, layers_per_stage, scale_out / scale_up, evaluate=False),
)
layers_needed = Formula(
    "pipelining.layers_needed",
    "layers_needed",
    scale_up / (2 * copies * scale_out),
    "1",
    "with this many layers per stage, the hop takes exactly as long as the experts' traffic",
    scale_ratio.assumes,
    lecture("0:52:43"),
    typeset=Mul(1 / (2 * copies), scale_up / scale_out, evaluate=False),
)
hop = Formula(
    "pipelining.hop",
    "hop_time",
    link_latency + micro_batch * new_token * width * bytes_per_value / (expert_parallel * link_efficiency * scale_out),
    "s",
    "one vector per sequence crosses to the next rack, each chip sending its share; a latency comes on top",
    ("the chips of a stage share the sending evenly",),
    lecture("1:15:13"),
)

# --- inference -------------------------------------------------------------------------------------------------------

naive_utilisation = Formula(
    "pipelining.naive_utilisation",
    "utilisation",
    1 / stages,
    "1",
    "a single batch keeps only one rack busy at a time",
    even,
    lecture("0:57:07"),
    conditions=(piped,),
)
utilisation = Formula(
    "pipelining.utilisation",
    "utilisation",
    Min(1, micro_batches / stages),
    "1",
    "with as many micro-batches as stages no rack ever waits",
    (*even, "hops take no time"),
    lecture("0:57:40"),
    conditions=(piped, fed),
)
token_time = Formula(
    "pipelining.token_time",
    "t_token",
    t_step + hops * hop_time,
    "s",
    "a token passes all stages one after another, so splitting the model saves no time; in decoding, a hop after every"
    " stage comes on top, the last one back to the first stage",
    ("no more micro-batches than fill the pipeline, so that none waits for another",),
    lecture("1:15:13"),
    typeset=Add(t_step, Mul(hops, hop_time, evaluate=False), evaluate=False),
)

in_flight = Formula(
    "pipelining.in_flight",
    "micro_batches",
    stages * (1 + hops * hop_time / t_step),
    "1",
    "how many micro-batches fill the pipeline: one per stage, and more if hops take long",
    ("all stages take equally long",),
    DERIVED,
    conditions=(piped,),
)

# --- training --------------------------------------------------------------------------------------------------------

bubble = Formula(
    "pipelining.bubble",
    "bubble",
    (stages - 1) / (micro_batches + stages - 1),
    "1",
    "with one piece of the model per device, filling and draining cost a forward and a whole backward pass for each"
    " stage but the first",
    (*even, "all forward passes end before the backward passes begin, or one alternates (1F1B)"),
    lecture("0:58:53"),
    conditions=(piped, fed),
    typeset=Mul(Add(stages, -1, evaluate=False), 1 / Add(micro_batches, stages, -1, evaluate=False), evaluate=False),
)
interleaved_bubble = Formula(
    "pipelining.interleaved_bubble",
    "bubble",
    (stages - 1) / (chunks * micro_batches + stages - 1),
    "1",
    "with several small pieces of the model on each device, the pipeline fills sooner",
    (*even, "micro-batches are a multiple of the stages"),
    MEGATRON,
    conditions=(piped, Le(1, chunks), Le(stages, micro_batches)),
    typeset=Mul(
        Add(stages, -1, evaluate=False), 1 / Add(chunks * micro_batches, stages, -1, evaluate=False), evaluate=False
    ),
)
work = forward_time + input_grad_time + weight_grad_time  # of one stage on one micro-batch
idle_1f1b = Formula(
    "pipelining.idle_1f1b",
    "idle",
    (stages - 1) * work,
    "s",
    "a device waits once for the pipeline to fill and once for it to drain",
    even,
    ZERO_BUBBLE,
    conditions=(piped,),
)
idle_zero_bubble = Formula(
    "pipelining.idle_zero_bubble",
    "idle",
    (stages - 1) * (forward_time + input_grad_time - weight_grad_time),
    "s",
    "in ZB-H1, gradients of weights fill idle time; no device holds more activations than 1F1B's fullest device",
    (*even, "gradients of weights take no longer than either other pass", "at least as many micro-batches as stages"),
    ZERO_BUBBLE,
    conditions=(piped, Le(weight_grad_time, forward_time), Le(weight_grad_time, input_grad_time)),
    typeset=Mul(
        Add(stages, -1, evaluate=False),
        Add(forward_time, input_grad_time, -weight_grad_time, evaluate=False),
        evaluate=False,
    ),
)
idle_dualpipe = Formula(
    "pipelining.idle_dualpipe",
    "idle",
    (stages / 2 - 1) * (fused_time + input_grad_time - 2 * weight_grad_time),
    "s",
    "micro-batches enter from both ends, which takes a second copy of the weights",
    even,
    DUALPIPE,
    conditions=(Le(2, stages), Le(2 * weight_grad_time, fused_time)),
)
bubble_of_idle = Formula(
    "pipelining.bubble_of_idle",
    "bubble",
    symbol("idle") / (symbol("idle") + micro_batches * work),
    "1",
    "idle time as a share of a whole training step",
    even,
    DERIVED,
    conditions=(fed,),
)

# --- memory ----------------------------------------------------------------------------------------------------------

capacity = Formula(
    "pipelining.capacity",
    "capacity",
    n_total * bytes_per_param + batch * context * kv,
    "byte",
    "the weights once, and the KV cache of every sequence",
    ("nothing else takes memory",),
    lecture("1:04:35"),
    typeset=Add(n_total * bytes_per_param, Mul(batch, context, kv, evaluate=False), evaluate=False),
)
chip_memory = Formula(
    "pipelining.chip_memory",
    "chip_memory",
    capacity.typed / (expert_parallel * stages),
    "byte/chip",
    "weights and KV, spread over all chips of all stages",
    (*capacity.assumes, "both can be spread evenly"),
    lecture("1:05:23"),
    conditions=(piped,),
)
whole_batch = Formula(
    "pipelining.whole_batch",
    "batch",
    stages * micro_batch,
    "sequence",
    "every stage needs a micro-batch of its own to work on",
    ("as many micro-batches as stages", "hops take no time"),
    lecture("1:07:26"),
    conditions=(piped,),
)
chip_weights = Formula(
    "pipelining.chip_weights",
    "chip_weights",
    n_total * bytes_per_param / (expert_parallel * stages),
    "byte/chip",
    "weights on one chip: each further stage takes some of them away",
    chip_memory.assumes,
    lecture("1:10:33"),
    conditions=(piped,),
)
chip_kv = Formula(
    "pipelining.chip_kv",
    "chip_kv",
    expand(micro_batch * context * kv / expert_parallel),
    "byte/chip",
    "KV on one chip: with P stages it holds 1/P of the layers, of P times as many sequences",
    (*chip_memory.assumes, *whole_batch.assumes),
    lecture("1:11:52"),
)
stage_memory = Formula(
    "pipelining.stage_memory",
    "chip_memory",
    chip_weights.typed + chip_kv.typed,
    "byte/chip",
    "with the same number of users per stage as before, a pipeline divides the weights, but not a chip's KV cache",
    chip_kv.assumes,
    lecture("1:10:33"),
    {"weights": chip_weights, "KV": chip_kv},
    conditions=(piped,),
    typeset=Add(
        n_total * bytes_per_param / (expert_parallel * stages),
        Mul(micro_batch, context, kv, 1 / expert_parallel, evaluate=False),
        evaluate=False,
    ),
)
context_fits = Formula(
    "pipelining.context_fits",
    "context_fits",
    (chip_hbm * expert_parallel - n_total * bytes_per_param / stages) / (micro_batch * kv),
    "token/sequence",
    "the context that fits beside the weights; more stages can free the weights' memory and nothing else",
    chip_kv.assumes,
    DERIVED,
    conditions=(piped, Le(n_total * bytes_per_param / stages, chip_hbm * expert_parallel)),
)

# --- what scale-up buys ----------------------------------------------------------------------------------------------

parallel_weight_time = Formula(
    "pipelining.parallel_weight_time",
    "t_weights",
    n_total * bytes_per_param / (symbol("memory_efficiency") * expert_parallel * chip_bandwidth),
    "s",
    "only the chips of one stage load weights for the same token at the same time",
    ("a stage is at most one scale-up domain", "the other stages work on other tokens meanwhile"),
    lecture("1:17:06"),
)
