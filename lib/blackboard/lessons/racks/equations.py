"""Formulas of the racks lesson: what experts on many chips send each other, and what it costs to leave the rack.

Rates of links are per chip and in one direction; a vendor's headline counts both. Bytes are those that a chip sends; it
receives as many at the same time.
"""

from __future__ import annotations

from sympy import Add, Le, Lt, Mul, Pow

from blackboard.formula import DERIVED, Formula, Max, Source, lecture
from blackboard.lessons.batching.equations import chips, flop_per_param, flops, n_active
from blackboard.lessons.sparsity.equations import expert_sparsity, experts, routed, top_k
from blackboard.notation import calibration, constant, declare, result, symbol

# --- symbols ----------------------------------------------------------------------------------------------------------

scale_up = declare(
    "scale_up",
    r"\beta_\mathrm{up}",
    "byte/s/chip",
    "bytes per second that one chip sends inside its scale-up domain",
    "NVLink",
)
scale_out = declare(
    "scale_out",
    r"\beta_\mathrm{out}",
    "byte/s/chip",
    "bytes per second that one chip sends out of its scale-up domain",
    "8x slower",
)
copies = declare(
    "copies",
    r"n_\mathrm{copy}",
    "1",
    "copies of a token that a layer sends out, one for each of its experts",
    "activated experts",
)
width = declare("width", r"d_\mathrm{model}", "1", "values in a token's vector", "d_model")
layers = declare("layers", r"n_\mathrm{layer}", "1", "layers of the model", "layers")
routed_layers = declare("routed_layers", r"n_\mathrm{routed}", "1", "layers of the model that have routed experts")
dispatch_bytes = declare(
    "dispatch_bytes",
    "b_d",
    "byte/token",
    "bytes that a token takes for each value of its vector, on the way to an expert",
)
combine_bytes = declare(
    "combine_bytes", "b_c", "byte/token", "bytes that a token takes for each value of a result, on the way back"
)
message = declare("message", r"V_\mathrm{msg}", "byte/chip", "bytes of the message that each chip sends")
start_time = declare("start_time", r"\alpha", "s", "latency: the time that even an empty message takes", zero=True)
tokens_per_chip = declare(
    "tokens_per_chip", r"B_\mathrm{chip}", "token/chip", "tokens of a micro-batch whose sequences live on one chip"
)
expert_parallel = declare("expert_parallel", "E", "chip", "chips that share the experts of a layer", "E")
racks = declare("racks", r"n_\mathrm{rack}", "1", "racks over which a layer's experts are spread")
chip_power = declare("chip_power", r"P_\mathrm{chip}", "W/chip", "power of one chip")
other_power = declare(
    "other_power", r"P_\mathrm{other}", "W/chip", "power of everything else in the rack, per chip", zero=True
)
links = declare("links", r"n_\mathrm{link}", "1/chip", "scale-up links of a chip")
pairs = declare("pairs", r"n_\mathrm{pair}", "1", "wire pairs of one link, both directions")
rack_mass = declare("rack_mass", r"m_\mathrm{rack}", "kg", "mass of a rack")
footprint = declare("footprint", r"A_\mathrm{rack}", "meter**2", "floor area under a rack")
micro_batches = declare("micro_batches", r"n_\mathrm{mb}", "1", "micro-batches in the pipeline", "#micro-batches")
chip_bandwidth = declare("chip_bandwidth", "w", "byte/s/chip", "memory bandwidth of one chip", "mem bw per GPU")
expert_bytes = declare("expert_bytes", r"V_\mathrm{exp}", "byte", "bytes of one expert's weights")
experts_saved = declare(
    "experts_saved", r"e_\mathrm{saved}", "1/chip", "experts of a layer that a chip no longer loads if they are spread"
)
copies_out = declare("copies_out", r"n_\mathrm{out}", "1", "copies of a token that newly leave the scale-up domain")
visited_domains = declare(
    "visited_domains",
    r"n_\mathrm{far}",
    "1",
    "other scale-up domains that a token is sent to in a routed layer",
    zero=True,
)
result("batch_spread", r"B_\mathrm{spread}", "token/chip", "tokens of a chip up to which spreading experts pays")
result("experts_per_chip", "e", "1/chip", "experts on each chip", "4")
result("leaving", r"x_\mathrm{out}", "1", "share of routed copies that leave their rack", "half")
result("ep_bytes", "V", "byte/chip", "bytes that one chip sends for one routed layer")
result("t_ep", r"t_\mathrm{EP}", "s", "time of one layer's dispatch and combine")
result("half_message", r"V_{1/2}", "byte/chip", "message of each chip that waits as long as it travels")
result("t_exchange", r"t_\mathrm{exchange}", "s", "time of an exchange of messages")
result("t_comm", r"t_\mathrm{comm}", "s", "time of all layers' dispatch and combine")
result(
    "comm_ratio",
    r"t_\mathrm{comm}/t_\mathrm{compute}",
    "1",
    "time of the experts' traffic divided by the time of their compute",
)
result("link_needed", r"\beta^{*}", "byte/s/chip", "link rate at which traffic takes as long as compute")
result("slowdown", "z", "1", "time of a layer's traffic divided by its time in one rack", "bottleneck")
result("distinct_chips", r"n_\mathrm{hit}", "chip", "chips that hold at least one of a token's experts")
result(
    "broadcast_waste", "y", "1", "traffic of sending each token to every expert, divided by the traffic of routing it"
)
result("ratio_hurts", r"\rho^{*}", "1", "bandwidth ratio at which two or more racks are as slow as one")
result("rack_power", r"P_\mathrm{rack}", "W", "power of a rack")
result("cables", r"n_\mathrm{cable}", "1", "scale-up cables of a rack: one for each pair of wires")
result("floor_load", r"q_\mathrm{floor}", "kg/meter**2", "mass on each square metre under a rack")
one_chip = constant("one_chip", "1", "chip", "a single chip", value=1)
link_efficiency = calibration("link_efficiency", r"\eta_\ell", "1", "share of a link's rate reached", most=1, value=1)
link_latency = calibration(
    "link_latency", r"\alpha_\ell", "s", "time that a message takes however short it is", zero=True, value=0
)


INSIGHTS = Source("insights2025")
FP8_OUT = {"dispatch_bytes": 1, "combine_bytes": 2}  # FP8 on the way to the experts, BF16 back
several = Le(1, racks)

# --- experts on chips ------------------------------------------------------------------------------------------------

experts_per_chip = Formula(
    "racks.experts_per_chip",
    "experts_per_chip",
    experts / expert_parallel,
    "1/chip",
    "experts are dealt out evenly over the chips that share a layer",
    (),
    lecture("0:34:20"),
)
distinct_chips = Formula(
    "racks.distinct_chips",
    "distinct_chips",
    expert_parallel * (1 - (1 - top_k / experts) ** (experts * one_chip / expert_parallel)),
    "chip",
    "how many chips one token visits: a chip is spared only if none of its experts was chosen",
    ("a chip's experts are chosen independently of each other", "all experts are equally likely"),
    DERIVED,
    conditions=(routed,),
    typeset=Mul(
        expert_parallel,
        Add(
            1, -Pow(Add(1, -top_k / experts, evaluate=False), experts / expert_parallel, evaluate=False), evaluate=False
        ),
        evaluate=False,
    ),
)
broadcast_waste = Formula(
    "racks.broadcast_waste",
    "broadcast_waste",
    expert_sparsity.typed,
    "1",
    "what routing saves: a token goes to a few experts instead of to all of them",
    ("one copy for each expert",),
    lecture("0:32:41"),
    conditions=(routed,),
)

# --- bytes and time --------------------------------------------------------------------------------------------------

there_and_back = Add(dispatch_bytes, combine_bytes, evaluate=False)
ep_bytes = Formula(
    "racks.ep_bytes",
    "ep_bytes",
    tokens_per_chip * copies * width * (dispatch_bytes + combine_bytes),
    "byte/chip",
    "each token's vector goes to its experts, and a result comes back from each",
    ("one copy for each expert, even if two share a chip", "no copy stays on its own chip"),
    INSIGHTS,
    typeset=Mul(tokens_per_chip, copies, width, there_and_back, evaluate=False),
)
ep_time = Formula(
    "racks.ep_time",
    "t_ep",
    2 * link_latency + ep_bytes.typed / (link_efficiency * scale_up),
    "s",
    "dispatch and combine of one routed layer: one chip's bytes divided by the rate of one chip's link",
    (*ep_bytes.assumes, "tokens are spread evenly over the experts"),
    INSIGHTS,
    typeset=Mul(tokens_per_chip, copies, width, there_and_back, 1 / scale_up, evaluate=False),
)
comm_time = Formula(
    "racks.comm_time",
    "t_comm",
    layers * micro_batches * ep_time.typed,
    "s",
    "the traffic of one step: every layer, for each micro-batch that takes its turn on the chip",
    ("every layer is routed", *ep_time.assumes),
    INSIGHTS,
    typeset=Mul(layers, micro_batches, tokens_per_chip, copies, width, there_and_back, 1 / scale_up, evaluate=False),
)

chip_rate = flops / chips, 1 / (2 * n_active)  # FLOP/s of a chip, tokens per FLOP
per_token = routed_layers, copies, width, there_and_back
token_bytes = layers * copies * width * (dispatch_bytes + combine_bytes)  # that a token sends if all are routed
routed_bytes = token_bytes.xreplace({layers: routed_layers})
comm_ratio = Formula(
    "racks.comm_ratio",
    "comm_ratio",
    routed_bytes * flops / (flop_per_param * n_active * chips * scale_up),
    "1",
    "time on the link per token, times the tokens per second that a chip can compute; no batch changes it",
    ("no copy stays on its own chip", "attention's own FLOPs are left out", "link and arithmetic reach their rates"),
    DERIVED,
    typeset=Mul(Mul(*per_token, 1 / scale_up, evaluate=False), *chip_rate, evaluate=False),
)
link_needed = Formula(
    "racks.link_needed",
    "link_needed",
    comm_ratio.typed * scale_up,
    "byte/s/chip",
    "the link that carries a token's traffic in the time its compute takes",
    comm_ratio.assumes,
    DERIVED,
    typeset=Mul(*per_token, *chip_rate, evaluate=False),
)

# --- leaving the rack ------------------------------------------------------------------------------------------------

leaving = Formula(
    "racks.leaving",
    "leaving",
    (racks - 1) / racks,
    "1",
    "only the experts in a token's own rack can be reached without leaving it",
    ("one copy of each expert, spread evenly over the racks", "tokens are spread evenly over the experts"),
    lecture("0:36:30"),
    conditions=(several,),
    typeset=Add(1, -1 / racks, evaluate=False),
)
bandwidths = scale_up / scale_out
out_and_slow = Mul(Add(1, -1 / racks, evaluate=False), bandwidths, evaluate=False)
spread_time = Formula(
    "racks.spread_time",
    "t_ep",
    symbol("ep_bytes") * Max(1 / (racks * scale_up), leaving.typed / scale_out),
    "s",
    "both networks carry their share at once, and the slower one decides",
    (
        "every copy crosses on its own",
        *leaving.assumes,
        "every chip keeps its tokens: more racks bring a larger batch",
        "a chip sends out of the rack over its own network card",
    ),
    lecture("0:39:39"),
    conditions=(several,),
)
slowdown = Formula(
    "racks.slowdown",
    "slowdown",
    Max(1 / racks, leaving.typed * scale_up / scale_out),
    "1",
    "experts spread over several racks, compared with the same experts in one",
    spread_time.assumes,
    lecture("0:39:39"),
    conditions=(several,),
    typeset=Max(1 / racks, out_and_slow, evaluate=False),
)
domains_visited = Formula(
    "racks.domains_visited",
    "visited_domains",
    (racks - 1) * (1 - (1 - 1 / racks) ** top_k),
    "1",
    "a token crosses to another rack once, however many of its experts are there",
    ("a token's experts are chosen independently of each other", "all experts are equally likely"),
    DERIVED,
    conditions=(several,),
    typeset=Mul(
        Add(racks, -1, evaluate=False),
        Add(1, -Pow(Add(1, -1 / racks, evaluate=False), top_k, evaluate=False), evaluate=False),
        evaluate=False,
    ),
)
ratio_hurts = Formula(
    "racks.ratio_hurts",
    "ratio_hurts",
    1 / leaving.typed,
    "1",
    "leaving the rack costs time as soon as the network outside is slower than this",
    slowdown.assumes,
    DERIVED,
    conditions=(Le(2, racks),),
)

batch_spread = Formula(
    "racks.batch_spread",
    "batch_spread",
    experts_saved * expert_bytes / chip_bandwidth * scale_out / (copies_out * width * (dispatch_bytes + combine_bytes)),
    "token/chip",
    "at this batch, the bytes that leave take as long as the loading that spreading saves",
    (
        "the chip loads all of its experts in every step",
        "exchanges wait no longer than before",
        "bytes inside a scale-up domain take no time",
        "nothing overlaps",
    ),
    DERIVED,
    typeset=Mul(
        Mul(experts_saved, expert_bytes, 1 / chip_bandwidth, evaluate=False),
        scale_out / Mul(copies_out, width, there_and_back, evaluate=False),
        evaluate=False,
    ),
)

# --- latency ---------------------------------------------------------------------------------------------------------

exchange_time = Formula(
    "racks.exchange_time",
    "t_exchange",
    start_time + message * (1 - one_chip / chips) / (link_efficiency * scale_up),
    "s",
    "first the latency, then the bytes: an all-to-all exchange among the chips of a domain",
    ("a chip's own part of the message does not travel",),
    DERIVED,
    conditions=(Le(one_chip, chips),),
    typeset=Add(
        start_time, Mul(message / scale_up, Add(1, -1 / chips, evaluate=False), evaluate=False), evaluate=False
    ),
)
half_message = Formula(
    "racks.half_message",
    "half_message",
    start_time * link_efficiency * scale_up / (1 - one_chip / chips),
    "byte/chip",
    "the message that spends half its time on latency: shorter ones mostly wait, longer ones mostly transfer",
    exchange_time.assumes,
    DERIVED,
    conditions=(Lt(one_chip, chips),),
    typeset=Mul(start_time, scale_up, 1 / Add(1, -1 / chips, evaluate=False), evaluate=False),
)

# --- the rack itself -------------------------------------------------------------------------------------------------

rack_power = Formula(
    "racks.rack_power",
    "rack_power",
    chips * (chip_power + other_power),
    "W",
    "the chips, and everything that feeds, cools and connects them",
    (),
    DERIVED,
)
cables = Formula(
    "racks.cables",
    "cables",
    chips * links * pairs,
    "1",
    "every pair of wires between a chip and a switch is a cable of its own",
    ("every chip is wired to the switches in the middle, and to nothing else",),
    lecture("0:41:57"),
    typeset=Mul(chips, links, pairs, evaluate=False),
)
floor_load = Formula(
    "racks.floor_load",
    "floor_load",
    rack_mass / footprint,
    "kg/meter**2",
    "mass divided by the floor area under the rack",
    ("its feet are spread evenly",),
    lecture("0:42:38"),
)
