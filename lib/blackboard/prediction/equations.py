"""Formulas of a whole configuration, and of kernels measured one at a time: what the lessons' terms leave out, and how
all terms make one step.

Every other term is a formula of a lesson at one chip's share: multiplying, reading weights and reading the cache from
batching, coverage from sparsity, exchanges from racks, hops from pipelining.
"""

from __future__ import annotations

from sympy import Le

from blackboard.formula import DERIVED, Formula, Max
from blackboard.lessons.batching.equations import chips, gemm_time, kv_time, overhead, real_flops
from blackboard.lessons.racks.equations import (
    combine_bytes,
    dispatch_bytes,
    exchange_time,
    expert_parallel,
    layers,
    link_efficiency,
    link_latency,
    message,
    one_chip,
    racks,
    scale_out,
    scale_up,
    several,
    start_time,
    tokens_per_chip,
    top_k,
    visited_domains,
    width,
)
from blackboard.notation import calibration, declare, result, symbol

# --- symbols ----------------------------------------------------------------------------------------------------------

t_memory = symbol("t_memory")
t_compute = symbol("t_compute")
attend_flop = declare(
    "attend_flop", r"C_\mathrm{att}", "FLOP", "FLOPs of attending to the context in a step", zero=True
)
visited_chips = declare(
    "visited_chips", r"n_\mathrm{near}", "1", "other chips that a token is sent to in a routed layer", zero=True
)
open_domains = declare(
    "open_domains", r"n_\mathrm{open}", "1", "scale-up domains in which the router lets a token's experts be"
)
sure_domains = declare(
    "sure_domains", r"n_\mathrm{sure}", "1", "scale-up domains that the router took for an expert of the token there"
)
far_rate = declare(
    "far_rate",
    r"\beta_\mathrm{far}",
    "byte/s/chip",
    "what one chip sends to other domains, or, if there are none, inside its own",
)
t_longest = declare(
    "t_longest",
    r"t_\mathrm{max}",
    "s",
    "the longest of the times that multipliers, memory and links are busy",
    zero=True,
)
t_links = declare("t_links", r"t_\mathrm{links}", "s", "time that a step sends", zero=True)
result("t_attend", r"t_\mathrm{att}", "s", "time to multiply queries by the cache")
result("t_reduce", r"t_\mathrm{reduce}", "s", "time of an all-reduce")
result("t_route", r"t_\mathrm{route}", "s", "time of a routed layer's dispatch and combine over two networks")
result("t_fixed", r"t_\mathrm{fixed}", "s", "time of a step that no batch hides")
result("t_predicted", r"\hat{t}", "s", "predicted time of a step")
layer_overhead = calibration(
    "layer_overhead",
    r"t_\ell",
    "s",
    "time per layer that no batch hides: kernels start and end one after the other",
    zero=True,
    value=0,
)
serial_share = calibration(
    "serial_share",
    r"\sigma",
    "1",
    "share of the shorter times that the longest does not hide: 0 if all overlap, 1 if one follows the other",
    zero=True,
    most=1,
    value=0,
)


attend_time = Formula(
    "prediction.attend_time",
    "t_attend",
    attend_flop / real_flops,
    "s",
    "queries by keys, and weights by values: multiplications that no parameter counts",
    (),
    DERIVED,
)
reduce_time = Formula(
    "prediction.reduce_time",
    "t_reduce",
    2 * exchange_time.typed,
    "s",
    "an all-reduce is two exchanges: each chip adds up its part, then all fetch all parts",
    exchange_time.assumes,
    DERIVED,
    conditions=exchange_time.conditions,
)
chips_visited = Formula(
    "prediction.chips_visited",
    "visited_chips",
    (expert_parallel / one_chip - 1) * (1 - (1 - one_chip / expert_parallel) ** top_k),
    "1",
    "each other chip is spared only if none of a token's experts is on it",
    ("a token's experts lie on chips chosen independently of each other", "two experts on one chip take one copy"),
    DERIVED,
    conditions=(Le(one_chip, expert_parallel),),
)
domains_reached = Formula(
    "prediction.domains_reached",
    "visited_domains",
    (1 - 1 / racks) * Max(sure_domains, open_domains * (1 - (1 - 1 / open_domains) ** top_k)),
    "1",
    "a token crosses to a domain once; of those that its router leaves open, each is spared only if none of the token's"
    " experts is there, and one in n is the token's own",
    ("a token's experts lie on open domains chosen independently of each other", "no domain is chosen more often"),
    DERIVED,
    conditions=(several, Le(1, open_domains), Le(sure_domains, open_domains)),
)
route_time = Formula(
    "prediction.route_time",
    "t_route",
    2 * link_latency
    + tokens_per_chip
    * width
    * (dispatch_bytes + combine_bytes)
    / link_efficiency
    * Max(visited_chips / scale_up, visited_domains / far_rate),
    "s",
    "dispatch and combine of one routed layer: both networks carry their copies at once, and the slower one decides",
    ("tokens are spread evenly over the experts",),
    DERIVED,
)
fixed_time = Formula(
    "prediction.fixed_time",
    "t_fixed",
    layers * layer_overhead + overhead,
    "s",
    "kernels of a layer start and end one after the other, and so do steps: nothing in an ideal machine",
    (),
    DERIVED,
    register=False,
)
longest = Max(t_compute, t_memory, t_links)
step_time = Formula(
    "prediction.step_time",
    "t_predicted",
    longest + serial_share * (t_compute + t_memory + t_links - longest) + fixed_time.typed,
    "s",
    "the busiest of multipliers, memory and links decides; of the other two only a share is not hidden",
    ("all chips are equally busy",),
    DERIVED,
)

# --- kernels measured one at a time -----------------------------------------------------------------------------------

alone = "nothing else runs: the fixed time holds the start of the graph, and the kernel's own start and end"

gemm_alone = Formula(
    "prediction.gemm_alone",
    "t_gemm",
    gemm_time.typed + overhead,
    "s",
    "one matrix product, measured by itself",
    (*gemm_time.assumes, alone),
    DERIVED,
)
attention_alone = Formula(
    "prediction.attention_alone",
    "t_kv",
    kv_time.typed + overhead,
    "s",
    "attention of one layer in decoding, measured by itself",
    (*kv_time.assumes, alone),
    DERIVED,
)
switch_reduce = Formula(
    "prediction.switch_reduce",
    "t_reduce",
    start_time + message / (link_efficiency * scale_up),
    "s",
    "an all-reduce that the switches add up: each chip sends its message once, and receives the sum once",
    ("the switches add as fast as the links bring it",),
    DERIVED,
)
near, far = 2 * (1 - one_chip / chips) / scale_up, 2 * (1 - 1 / racks) * one_chip / (chips * scale_out)
domains_reduce = Formula(
    "prediction.domains_reduce",
    "t_reduce",
    start_time + message * Max(near, far) / link_efficiency,
    "s",
    "an all-reduce over several domains: add up inside, exchange the parts between domains, and collect inside",
    ("both networks carry their share at once", "each chip sends its part out over its own network card"),
    DERIVED,
    conditions=(Le(one_chip, chips), several),
)
