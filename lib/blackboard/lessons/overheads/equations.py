"""Formulas of the overheads lesson: launching kernels, fusing them, and sending while computing, as terms of the
roofline.
"""

from __future__ import annotations

from sympy import Add, Le, Mul, Pow

from blackboard.formula import DERIVED, Formula, Max, Source
from blackboard.lessons.batching.equations import (
    bandwidth,
    batch,
    bytes_per_param,
    chips,
    compute_time,
    context,
    kv,
    kv_time,
    memory_efficiency,
    memory_time,
    n_total,
    new_token,
    real_bandwidth,
    step_time,
    weight_time,
)
from blackboard.lessons.racks.equations import chip_bandwidth, link_efficiency, routed_bytes, scale_up
from blackboard.notation import declare, result, symbol

# --- symbols ----------------------------------------------------------------------------------------------------------

t_comm = symbol("t_comm")
kernels = declare("kernels", r"n_\mathrm{kernel}", "1", "kernels that one step launches, one after the other")
launch_time = declare("launch_time", r"t_\mathrm{launch}", "s", "time in which the host launches one kernel")
kernel_gap = declare(
    "kernel_gap",
    r"t_\mathrm{gap}",
    "s",
    "time that the chip loses at each kernel, in a graph too",
    zero=True,
)
replay_time = declare("replay_time", r"t_\mathrm{replay}", "s", "time to start a captured graph", zero=True)
fused_ops = declare("fused_ops", r"n_\mathrm{op}", "1", "elementwise operations that one kernel does in one go")
vector_bytes = declare(
    "vector_bytes",
    r"V_\mathrm{vec}",
    "byte/chip",
    "bytes that an elementwise operation reads, on each chip; it writes as many",
)
chain_share = declare(
    "chain_share",
    r"x_\mathrm{chain}",
    "1",
    "share of a step's time that a chain of elementwise operations takes",
    zero=True,
    most=1,
)
own_weights = declare(
    "own_weights",
    r"V_\mathrm{own}",
    "byte/chip",
    "bytes of weights that one chip loads in a step: its experts, and its copy of all the rest",
)
result("t_eager", r"t_\mathrm{eager}", "s", "time of a step whose kernels the host launches one by one")
result("t_graph", r"t_\mathrm{graph}", "s", "time of a step whose kernels are started as one captured graph")
result("graph_gain", r"z_\mathrm{graph}", "1", "time of an eager step divided by that of a captured one")
result(
    "bytes_launch", r"V_\mathrm{launch}", "byte", "bytes that memory delivers while the host launches a step's kernels"
)
result(
    "batch_launch",
    r"B_\mathrm{launch}",
    "sequence",
    "batch up to which launching takes longer than memory traffic",
)
result("t_chain", r"t_\mathrm{chain}", "s", "time of the chip for a chain of elementwise operations, each a kernel")
result(
    "vector_even",
    r"V_\mathrm{even}",
    "byte/chip",
    "bytes of a vector whose traffic, read and written, takes as long as the chip loses at a kernel",
)
result("fusion_gain", r"z_\mathrm{fuse}", "1", "time of a step divided by that with its chains fused")
result("t_serial", r"t_\mathrm{serial}", "s", "time of a step that computes and sends in turn")
result("t_overlap", r"t_\mathrm{overlap}", "s", "time of a step in two halves, one sending while the other computes")
result("overlap_gain", r"z_\mathrm{overlap}", "1", "time of a serial step divided by that of an overlapped one")
result(
    "batch_overlap",
    r"B_\mathrm{overlap}",
    "sequence",
    "batch from which on two overlapping halves are faster than one whole",
)


NVIDIA_GRAPHS, VLLM_DBO = Source("nvidia_graphs_start"), Source("vllm_dbo")
ahead, touched = "the host launches on without waiting for a result", "the batch is large enough to touch every expert"

# --- launching --------------------------------------------------------------------------------------------------------

eager_time = Formula(
    "overheads.eager_time",
    "t_eager",
    Max(step_time.typed + kernels * kernel_gap, kernels * launch_time),
    "s",
    "the host launches while the chip works: the slower of the two sets the pace",
    (ahead, touched, *step_time.assumes),
    DERIVED,
)
graph_time = Formula(
    "overheads.graph_time",
    "t_graph",
    step_time.typed + kernels * kernel_gap + replay_time,
    "s",
    "the host starts a captured graph once; on the chip, kernels still start one after the other",
    (touched, *step_time.assumes),
    NVIDIA_GRAPHS,
)
graph_gain = Formula(
    "overheads.graph_gain",
    "graph_gain",
    eager_time.typed / graph_time.typed,
    "1",
    "capturing pays where launching binds; where it does not, there is nothing to gain",
    eager_time.assumes,
    DERIVED,
)
slower = Le(kernel_gap, launch_time)  # a launch takes at least as long as the device needs between two kernels
bytes_launch = Formula(
    "overheads.bytes_launch",
    "bytes_launch",
    kernels * (launch_time - kernel_gap) * real_bandwidth,
    "byte",
    "a step that loads fewer bytes than this waits for its host",
    (ahead,),
    DERIVED,
    conditions=(slower,),
)
batch_launch = Formula(
    "overheads.batch_launch",
    "batch_launch",
    (bytes_launch.typed - n_total * bytes_per_param) / (context * kv),
    "sequence",
    "the batch at which loading weights and caches, with the gaps, takes as long as the launches",
    (ahead, "the step waits for memory, not for compute"),
    DERIVED,
    conditions=(slower, Le(n_total * bytes_per_param, kernels * (launch_time - kernel_gap) * bandwidth)),
)

# --- fusing -----------------------------------------------------------------------------------------------------------

chain_time = Formula(
    "overheads.chain_time",
    "t_chain",
    fused_ops * (kernel_gap + 2 * vector_bytes / (memory_efficiency * chip_bandwidth)),
    "s",
    "at each operation the chip loses its gap, reads a vector and writes one",
    (
        "one input and one output of the same size",
        "the arithmetic takes no time",
        "the chip is the slower side; where the host is, the chain costs its launches and nothing else",
    ),
    DERIVED,
)
vector_even = Formula(
    "overheads.vector_even",
    "vector_even",
    kernel_gap * memory_efficiency * chip_bandwidth / 2,
    "byte/chip",
    "a shorter vector costs the chip less time than its kernel does",
    chain_time.assumes,
    DERIVED,
)
SAVED = Mul(-1, chain_share, Add(1, -1 / fused_ops, evaluate=False), evaluate=False)  # of a step, what fusing saves
fusion_gain = Formula(
    "overheads.fusion_gain",
    "fusion_gain",
    1 / (1 - chain_share * (1 - 1 / fused_ops)),
    "1",
    "fusing a chain of operations makes only the chain faster, not the rest of the step",
    (
        "shares are of the slower side's time, with its launches or gaps",
        "each of the chain's operations takes as long: its launch, its gap, or the same bytes",
        "fused, the same side is the slower one",
    ),
    DERIVED,
    conditions=(Le(1, fused_ops),),
    typeset=Pow(Add(1, SAVED, evaluate=False), -1, evaluate=False),
)

# --- sending while computing ------------------------------------------------------------------------------------------

halves = Max(compute_time.typed, 2 * weight_time.typed + kv_time.typed)  # both halves of the batch, one after the other
serial_time = Formula(
    "overheads.serial_time",
    "t_serial",
    Max(compute_time.typed, memory_time.typed) + t_comm,
    "s",
    "a layer computes, then sends, then the next one computes",
    (),
    DERIVED,
)
overlap_time = Formula(
    "overheads.overlap_time",
    "t_overlap",
    Max(halves, t_comm),
    "s",
    "while one half sends the other computes, but each half loads all weights",
    (
        "sending takes no part of the chips that compute",
        "filling and draining take no time, and kernels have no gaps",
        "both halves are large enough to touch every expert",
    ),
    VLLM_DBO,
)
overlap_gain = Formula(
    "overheads.overlap_gain",
    "overlap_gain",
    serial_time.typed / overlap_time.typed,
    "1",
    "at most two; below one where the second loading of the weights costs more than sending did",
    overlap_time.assumes,
    DERIVED,
)
batch_overlap = Formula(
    "overheads.batch_overlap",
    "batch_overlap",
    chips * own_weights * link_efficiency * scale_up / (memory_efficiency * chip_bandwidth * routed_bytes * new_token),
    "sequence",
    "from this batch on, sending takes longer than a second loading of the weights",
    (
        "the step waits for memory",
        "scale-up links do the sending; where network cards do, their rate counts",
        *overlap_time.assumes,
    ),
    DERIVED,
)
