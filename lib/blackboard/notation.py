"""The one table of symbols: name in code, LaTeX, coherent unit, meaning, and what the lecture's board calls it.

Every equation of the course is written in these symbols and no others. Three kinds stand here: variables that a
caller gives, results that a formula gives, and constants and calibrations that have a value of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter


@dataclass(frozen=True)
class Symbol:
    """One row of the notation; `low` and `most` bound the values allowed ("positive" or "nonnegative", and at most)."""

    name: str
    latex: str
    unit: str
    says: str
    board: str = ""
    low: str = "positive"
    most: float = float("inf")  # the largest value allowed: 1 for a share
    kind: str = "variable"  # variable, result, constant (part of the law), calibration (1 or 0 when ideal)
    value: float | None = None


class UndeclaredSymbol(KeyError):
    """A name that the notation does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


_ZERO: dict[str, Any] = {"low": "nonnegative"}  # of what may also be nothing
_result = partial(Symbol, kind="result")
_constant = partial(Symbol, kind="constant")
_calibration = partial(Symbol, kind="calibration")

_ROWS = (
    # the workload
    Symbol("batch", "B", "sequence", "sequences in one forward pass, each getting one new token", "B"),
    Symbol("context", "L", "token/sequence", "tokens already in each sequence", "len_ctx", **_ZERO),
    # the model
    Symbol("n_active", r"N_\mathrm{act}", "parameter", "active parameters: those that one token uses", "N_active"),
    Symbol("n_total", r"N_\mathrm{tot}", "parameter", "parameters stored", "N_total"),
    Symbol("bytes_per_param", "b_w", "byte/parameter", "bytes that one stored weight takes", "not written: 1"),
    Symbol(
        "kv_bytes_per_token", r"\kappa", "byte/token", "KV cache of one token, over all layers", "bytes/token", **_ZERO
    ),
    # the machine
    Symbol(
        "flops",
        "F",
        "FLOP/s",
        "dense peak rate of the replica at the weights' precision",
        "FLOPs (multiplies only: F/2)",
    ),
    Symbol("bandwidth", "W", "byte/s", "memory bandwidth of the replica", "mem bw"),
    Symbol("hbm", "M", "byte", "memory (HBM) of the replica", "capacity"),
    Symbol("chips", "n", "chip", "chips in the replica", "GPUs"),
    Symbol("rent", "p", "USD/chip/s", "rent of one chip", "$2 per GPU-hour"),
    Symbol("chip_bandwidth", "w", "byte/s/chip", "memory bandwidth of one chip", "mem bw per GPU"),
    # the network: rates per chip and in one direction
    Symbol("scale_up", r"\beta_\mathrm{up}", "byte/s/chip", "what one chip sends inside its scale-up domain", "NVLink"),
    Symbol(
        "scale_out", r"\beta_\mathrm{out}", "byte/s/chip", "what one chip sends out of its scale-up domain", "8x slower"
    ),
    Symbol("domain", "S", "chip", "chips of one scale-up domain", "scale-up size"),
    # experts: a routed layer, and what is sent to it
    Symbol("experts", r"n_\mathrm{exp}", "1", "routed experts of a layer", "256"),
    Symbol("top_k", r"n_\mathrm{act}", "1", "experts that one token is routed to", "32 (of 256)"),
    Symbol(
        "copies",
        r"n_\mathrm{copy}",
        "1",
        "copies of a token that a layer sends: one for each expert",
        "activated experts",
    ),
    Symbol("width", r"d_\mathrm{model}", "1", "values in a token's vector", "d_model"),
    Symbol("layers", r"n_\mathrm{layer}", "1", "layers of the model", "layers"),
    Symbol("dispatch_bytes", "b_d", "byte/token", "bytes of one value of a token on its way to an expert"),
    Symbol("combine_bytes", "b_c", "byte/token", "bytes of one value of a token on its way back"),
    Symbol("message", r"V_\mathrm{msg}", "byte/chip", "bytes of a message, of each chip"),
    Symbol("start_time", r"\alpha", "s", "time that a message takes however short it is", **_ZERO),
    Symbol("tokens_per_chip", r"B_\mathrm{chip}", "token/chip", "tokens that start from one chip in a step"),
    Symbol("expert_parallel", "E", "chip", "chips that share the experts of a layer", "E"),
    Symbol("racks", r"n_\mathrm{rack}", "1", "racks over which a layer's experts are spread"),
    Symbol("chip_power", r"P_\mathrm{chip}", "W/chip", "power of one chip"),
    Symbol("other_power", r"P_\mathrm{other}", "W/chip", "power of all else in the rack, per chip", **_ZERO),
    Symbol("links", r"n_\mathrm{link}", "1/chip", "scale-up links of a chip"),
    Symbol("pairs", r"n_\mathrm{pair}", "1", "wire pairs of one link, both directions"),
    Symbol("rack_mass", r"m_\mathrm{rack}", "kg", "mass of a rack"),
    Symbol("footprint", r"A_\mathrm{rack}", "meter**2", "floor that a rack stands on"),
    # quality of a routed model (Clark et al.)
    Symbol("base_size", "N", "parameter", "size of the dense model to which experts are added"),
    Symbol("experts_offset", "n_0", "1", "fitted: sets how much the first experts help"),
    Symbol("experts_most", r"n_\infty", "1", "fitted: experts beyond which more of them do not help"),
    Symbol("experts_one", r"\hat{n}_1", "1", "what the fit counts for a single expert, the dense model"),
    Symbol("law_size", "a_N", "1", "fitted: how the loss falls with size", most=1),
    Symbol("law_experts", "a_E", "1", "fitted: how the loss falls with experts", most=1),
    Symbol("law_both", "a_{NE}", "1", "fitted: how much less experts help a larger model", most=1),
    Symbol("law_level", "A", "1", "fitted: level of the loss"),
    Symbol("routed_share", "f", "1", "share of the dense model's parameters that each expert repeats", most=1),
    Symbol("world_rate", r"R_\mathrm{world}", "token/s", "tokens per second of a whole service"),
    # pipelines
    Symbol("stages", "P", "1", "pipeline stages", "P"),
    Symbol("micro_batches", r"n_\mathrm{mb}", "1", "micro-batches in the pipeline", "#micro-batches"),
    Symbol("micro_batch", "b", "sequence", "sequences of one micro-batch", "b"),
    Symbol("layers_per_stage", r"\ell", "1", "routed layers in one stage", "layers per stage"),
    Symbol("chunks", "v", "1", "separate pieces of the model on each device"),
    Symbol("forward_time", "t_F", "s", "time of one stage's forward pass of a micro-batch"),
    Symbol("input_grad_time", "t_B", "s", "time of one stage's gradient of its inputs"),
    Symbol("weight_grad_time", "t_W", "s", "time of one stage's gradient of its weights", **_ZERO),
    Symbol("fused_time", "t_{FB}", "s", "time of a forward and a whole backward pass that overlap"),
    Symbol("hops", r"n_\mathrm{hop}", "1", "hops from rack to rack in one pass", **_ZERO),
    Symbol("hop_time", r"t_\mathrm{hop}", "s", "time of one hop from rack to rack", "a few ms", **_ZERO),
    Symbol("chip_hbm", "m", "byte/chip", "memory of one chip", "HBM"),
    # training, and what the model does afterwards
    Symbol("pretrain_tokens", r"D_\mathrm{pre}", "token", "tokens of pre-training", "D_pre"),
    Symbol("rl_tokens", r"D_\mathrm{RL}", "token", "tokens of reinforcement learning", "D_RL", **_ZERO),
    Symbol(
        "inference_tokens",
        r"D_\mathrm{inf}",
        "token",
        "tokens that a model generates for its users over its life",
        "D_inf",
        **_ZERO,
    ),
    Symbol(
        "prefill_tokens", r"D_\mathrm{in}", "token", "tokens that a model reads for its users over its life", **_ZERO
    ),
    Symbol(
        "rl_flop",
        r"c_\mathrm{RL}",
        "FLOP/parameter/token",
        "FLOPs of RL for each active parameter and token: 2 generates, 6 also trains",
        "2 to 6",
    ),
    Symbol("decode_efficiency", r"\eta", "1", "MFU of generating over MFU of training", "inefficiency, 30 %", most=1),
    Symbol("lifetime", r"T_\mathrm{life}", "s", "time for which a model is served", "2 months"),
    Symbol("family", r"n_\mathrm{family}", "1", "models among which a service's traffic is divided", "5 to 10"),
    Symbol(
        "prescribed", r"\tau", "token/parameter", "tokens of training that Chinchilla's rule gives each parameter", "20"
    ),
    Symbol("train_mfu", r"\mathrm{MFU}_\mathrm{train}", "1", "share of peak FLOPs that a training run uses", most=1),
    Symbol("chip_flops", r"F_\mathrm{chip}", "FLOP/s/chip", "dense peak rate of one chip"),
    Symbol("scale", "x", "1", "what a trade-off turns: more of one cost, less of the other"),
    Symbol("rise_level", "a", "1", "the rising cost where x is 1"),
    Symbol("fall_level", "b", "1", "the falling cost where x is 1"),
    Symbol("rise_power", "p", "1", "power with which one cost rises"),
    Symbol("fall_power", "q", "1", "power with which the other cost falls"),
    Symbol("loss_floor", r"\mathcal{L}_\infty", "1", "fitted: loss that no size and no data undercut (nats per token)"),
    Symbol("loss_size", r"A_N", "1", "fitted: level of the loss that comes from too few parameters"),
    Symbol("loss_data", r"A_D", "1", "fitted: level of the loss that comes from too few tokens"),
    Symbol("size_power", r"\alpha_N", "1", "fitted: power with which parameters lower the loss", most=1),
    Symbol("data_power", r"\alpha_D", "1", "fitted: power with which tokens lower the loss", most=1),
    Symbol("compute_budget", r"C_\mathrm{train}", "FLOP", "compute for one training run"),
    # prices, and where a KV cache can lie
    Symbol(
        "pass_tokens",
        r"\ell_\mathrm{pass}",
        "token/sequence",
        "tokens of each sequence in one pass: 1 decodes, many prefill",
        "len_pass",
    ),
    Symbol("memory_ratio", r"r", "1", "time to read over time to multiply, in a pass of one token", "5×"),
    Symbol("step_context", r"L_\mathrm{step}", "token/sequence", "context at which a price card has its step", "200 k"),
    Symbol("step_ratio", r"\mu", "1", "price beyond the step over price before it", "1.5×"),
    Symbol("kv_layers", r"n_\mathrm{KV}", "1", "layers that keep a KV cache of their own", "1"),
    Symbol("kv_heads", r"h_\mathrm{KV}", "1", "KV heads of a layer", "8"),
    Symbol("query_heads", r"h_\mathrm{Q}", "1", "query heads of a layer"),
    Symbol("head_dim", r"d_\mathrm{head}", "1", "values in a head's vector", "128"),
    Symbol("kv_value_bytes", r"b_\mathrm{KV}", "byte/token", "bytes of one cached value of a token", "not written: 1"),
    Symbol(
        "attention_flop",
        r"a_\mathrm{att}",
        "FLOP*sequence/token**2",
        "FLOPs with which a new token attends to each earlier one",
    ),
    Symbol("selected", r"k_\mathrm{sel}", "token/sequence", "tokens that sparse attention picks for a new one"),
    Symbol("entry_bytes", r"e_\mathrm{KV}", "byte/token", "bytes of a token's cache entry, in one layer"),
    Symbol("index_bytes", r"e_\mathrm{idx}", "byte/token", "bytes of a token's index key, in one layer", **_ZERO),
    Symbol("block", r"m_\mathrm{block}", "1", "tokens that one summary stands for"),
    Symbol("tier_capacity", r"M_\mathrm{tier}", "byte", "what a memory device holds", "capacity"),
    Symbol("tier_bandwidth", r"W_\mathrm{tier}", "byte/s", "what a memory device reads", "bandwidth"),
    Symbol("tier_rent", r"p_\mathrm{tier}", "USD/s", "rent of a memory device"),
    Symbol("byte_price", r"p_B", "USD/byte", "what a memory costs to buy"),
    Symbol("service_life", r"T_\mathrm{service}", "s", "time over which a device is paid off"),
    Symbol("hold_time", r"T_\mathrm{hold}", "s", "time for which a cache is kept", **_ZERO),
    Symbol("input_price", r"p_\mathrm{in}", "USD/token", "price of a token read", "$5 per million"),
    Symbol("output_price", r"p_\mathrm{out}", "USD/token", "price of a token generated", "$25 per million"),
    Symbol(
        "premium", r"p_\mathrm{hold}", "USD/token", "what a card asks for keeping a token's KV, over its input price"
    ),
    Symbol("write_ratio", r"\omega", "1", "price of writing a token into the cache over reading it afresh", "1.25"),
    Symbol("read_ratio", r"\varrho", "1", "price of a cache hit over reading afresh", "1/10", **_ZERO),
    # networks and ciphers
    Symbol("depth", r"n_\mathrm{depth}", "1", "layers that run one after the other"),
    Symbol("layer_bytes", r"V_\mathrm{layer}", "byte", "activations that one layer keeps for the backward pass"),
    Symbol("stream_bytes", r"V_\mathrm{stream}", "byte", "activations that pass from one layer to the next"),
    Symbol("segment", r"n_\mathrm{seg}", "1", "layers from one kept activation to the next"),
    Symbol(
        "recomputed",
        r"x_\mathrm{again}",
        "1",
        "share of the forward pass that training runs a second time",
        most=1,
        **_ZERO,
    ),
    Symbol("gain_per_layer", r"\chi", "1", "factor by which a layer widens a small difference"),
    Symbol("rounding", r"\epsilon", "1", "relative error of one rounding"),
    Symbol(
        "kept_per_value",
        r"b_\mathrm{kept}",
        "byte/token",
        "bytes that a layer keeps for each value of a token's vector",
    ),
    Symbol("flop_spent", r"c_\mathrm{again}", "FLOP/byte", "FLOPs that it takes to compute one kept byte again"),
    Symbol("half_bits", r"n_\mathrm{half}", "1", "bits of half a cipher's block"),
    Symbol("left", "u", "1", "half of a block after a round: the one to which the round function was added"),
    Symbol("right", "v", "1", "half of a block after a round: the one that went into the round function"),
    # one matrix product
    Symbol("drafted", r"\gamma", "1", "tokens drafted before one pass of the target model verifies them", **_ZERO),
    Symbol(
        "acceptance",
        r"\alpha_\mathrm{acc}",
        "1",
        "chance that a drafted token passes, given that those before it did",
        most=1,
        **_ZERO,
    ),
    Symbol(
        "distance",
        r"d_\mathrm{TV}",
        "1",
        "total variation between the draft's distribution and the target's",
        most=1,
        **_ZERO,
    ),
    Symbol("target_chance", "p_x", "1", "chance that the target gives a token x", most=1, **_ZERO),
    Symbol("draft_chance", "q_x", "1", "chance that the draft gives a token x in the same context", most=1, **_ZERO),
    Symbol(
        "draft_ratio",
        r"c_\mathrm{draft}",
        "1",
        "time of one step of the draft over one decode step of the target",
        **_ZERO,
    ),
    Symbol("draft_size", r"N_\mathrm{draft}", "parameter", "parameters of the draft model"),
    Symbol("draft_kv", r"\kappa_\mathrm{draft}", "byte/token", "KV cache of one token in the draft model", **_ZERO),
    Symbol(
        "draft_context",
        r"L_\mathrm{draft}",
        "token/sequence",
        "tokens of each sequence that the draft model reads",
        **_ZERO,
    ),
    Symbol(
        "draft_training",
        r"x_\mathrm{draft}",
        "1",
        "cost of training the draft over that of serving without one",
        **_ZERO,
    ),
    Symbol("page_tokens", r"m_\mathrm{page}", "token/sequence", "tokens of one block of the KV cache"),
    Symbol(
        "reserved_context", r"L_\mathrm{max}", "token/sequence", "tokens for which room is set aside for each sequence"
    ),
    Symbol("kv_use", r"u_\mathrm{KV}", "1", "share of the cache's memory that holds tokens", most=1),
    Symbol(
        "paging_overhead",
        r"o_\mathrm{page}",
        "1",
        "time that following a block table adds to reading the cache, as a share",
        **_ZERO,
    ),
    Symbol(
        "common_context",
        r"L_\mathrm{same}",
        "token/sequence",
        "tokens at the head of two requests that are the same",
        **_ZERO,
    ),
    Symbol("turns", r"n_\mathrm{turn}", "1", "requests of one conversation"),
    Symbol("start_context", r"L_0", "token/sequence", "context of a conversation's first request"),
    Symbol("turn_growth", r"g_\mathrm{turn}", "token/sequence", "tokens that each turn adds to the context", **_ZERO),
    Symbol("hit_rate", r"h_\mathrm{hit}", "1", "share of input tokens found in the prefix cache", most=1, **_ZERO),
    Symbol("cache_bytes", r"M_\mathrm{cache}", "byte", "memory that keeps the KV of prefixes"),
    Symbol(
        "use_rate",
        r"R_\mathrm{use}",
        "token/s",
        "different tokens of the prefix cache that requests use per second, found or written",
    ),
    Symbol("working_set", r"D_\mathrm{set}", "token", "tokens of all conversations that are going on"),
    Symbol(
        "servers", r"n_\mathrm{server}", "1", "servers to which requests are sent, each with a prefix cache of its own"
    ),
    Symbol("full_layers", r"n_\mathrm{full}", "1", "layers with full attention"),
    Symbol("window_layers", r"n_\mathrm{win}", "1", "layers with a sliding window", **_ZERO),
    Symbol("window", r"L_\mathrm{win}", "token/sequence", "tokens that a sliding window keeps"),
    Symbol("full_groups", r"g_\mathrm{full}", "1", "groups of full-attention layers that share block tables"),
    Symbol("window_groups", r"g_\mathrm{win}", "1", "groups of sliding-window layers that share block tables", **_ZERO),
    Symbol("kernels", r"n_\mathrm{kernel}", "1", "kernels that one step launches, one after the other"),
    Symbol("launch_time", r"t_\mathrm{launch}", "s", "time in which the host launches one kernel"),
    Symbol(
        "kernel_gap",
        r"t_\mathrm{gap}",
        "s",
        "time from the end of one kernel to the start of the next, inside a graph",
        **_ZERO,
    ),
    Symbol("replay_time", r"t_\mathrm{replay}", "s", "time to start a captured graph", **_ZERO),
    Symbol("fused_ops", r"n_\mathrm{op}", "1", "elementwise operations that one kernel does in one go"),
    Symbol(
        "vector_bytes",
        r"V_\mathrm{vec}",
        "byte/chip",
        "bytes that an elementwise operation reads, on each chip; it writes as many",
    ),
    Symbol(
        "chain_share",
        r"x_\mathrm{chain}",
        "1",
        "share of a step's time that a chain of elementwise operations takes",
        most=1,
        **_ZERO,
    ),
    Symbol("unique_tokens", r"D_\mathrm{uniq}", "token", "different tokens that there are to train on"),
    Symbol("epochs", r"n_\mathrm{epoch}", "1", "times that training passes over its data"),
    Symbol(
        "reuse", r"n_\mathrm{reuse}", "1", "fitted: repetitions after which a repeated token has lost 63 % of its worth"
    ),
    Symbol("kept_share", r"x_\mathrm{keep}", "1", "share of a pool of tokens that a filter keeps", most=1),
    Symbol("pool_tokens", r"D_\mathrm{pool}", "token", "tokens before the filter"),
    Symbol(
        "quality_power", r"p_q", "1", "assumed: power with which kept tokens get better, the fewer are kept", most=1
    ),
    Symbol("score_limit", r"s_\infty", "1", "fitted: score that no number of tokens passes"),
    Symbol(
        "score_gap", r"s_\mathrm{gap}", "1", "fitted: what is missing to the limit after the reference number of tokens"
    ),
    Symbol("score_power", r"p_s", "1", "fitted: power with which the gap closes"),
    Symbol("token_scale", r"D_\mathrm{ref}", "token", "reference number of tokens"),
    Symbol(
        "chip_time", r"T_\mathrm{spent}", "s*chip", "chips times time that a training run is reported to have taken"
    ),
    Symbol("rows", r"m_\mathrm{rows}", "token", "rows of the activation matrix: tokens multiplied at once"),
    Symbol("weight_rows", "k", "1", "inner dimension of a matrix product"),
    Symbol("weight_columns", "q", "1", "columns of the weight matrix"),
    Symbol("bytes_per_value", r"b_a", "byte/token", "bytes of one activation value, per token"),
    # ratios that a price card quotes
    Symbol("price_ratio", r"\pi", "1", "price per token, fast over standard", "6×"),
    Symbol("speed_ratio", r"\sigma", "1", "tokens per second of one user, fast over standard", "2.5×"),
    # results
    _result("t_compute", r"t_\mathrm{compute}", "s", "time to multiply", "t_compute"),
    _result("t_weights", r"t_\mathrm{weights}", "s", "time to read the weights once"),
    _result("t_kv", r"t_\mathrm{KV}", "s", "time to read every sequence's KV cache once"),
    _result("t_memory", r"t_\mathrm{memory}", "s", "time to read all that a step reads", "t_mem"),
    _result("t_step", r"t_\mathrm{step}", "s", "time of one forward pass (one new token per sequence)", "t"),
    _result("t_floor", r"t_\mathrm{min}", "s", "latency floor: the step time as the batch goes to nothing"),
    _result("t_first", r"t_1", "s", "time to read what a batch of one needs"),
    _result("t_gemm", r"t_\mathrm{GEMM}", "s", "time of one matrix product"),
    _result("cost", r"c", "USD/token", "rent paid per generated token", "t/B"),
    _result("cost_min", r"c_\mathrm{min}", "USD/token", "cost per token that no batch can undercut"),
    _result("context_balanced", r"L^{*}", "token/sequence", "context at which reading KV takes as long as multiplying"),
    _result("mfu", r"\mathrm{MFU}", "1", "share of peak FLOPs used (model FLOPs utilisation)", "MFU"),
    _result("mfu_limit", r"\mathrm{MFU}_\infty", "1", "MFU as the batch grows without bound"),
    _result(
        "intensity", r"C", "token", "hardware constant: tokens that must share a weight to pay for reading it", "≈ 300"
    ),
    _result(
        "batch_critical",
        r"B^{*}",
        "sequence",
        "batch at which multiplying takes as long as reading the weights",
        "300 × sparsity",
    ),
    _result("batch_with_kv", r"B^{*}_\mathrm{KV}", "sequence", "the critical batch with the KV cache counted"),
    _result(
        "batch_experts",
        r"B^{*}_\mathrm{exp}",
        "sequence",
        "batch at which an average expert multiplies as long as it is read",
    ),
    _result(
        "batch_even",
        r"B_\mathrm{even}",
        "sequence",
        "batch from which on a routed model is cheaper than a dense one as good",
    ),
    _result("gain", r"G", "1", "cost at batch 1 over cost at an unlimited batch", "1000×"),
    _result("batch_ratio", r"\rho", "1", "standard batch over fast-mode batch"),
    _result("discount_limit", r"d", "1", "cost at this batch over the cost floor: the most a slow mode can save"),
    _result("ceiling", r"R_\mathrm{max}", "token/s", "tokens per second when multiplying is all that takes time"),
    _result("drain", r"T_\mathrm{drain}", "s", "time to read the whole memory once", "20 ms"),
    _result(
        "latency_worst", r"T_\mathrm{worst}", "s", "wait and ride of a token that just missed a departure", "40 ms"
    ),
    _result("latency_mean", r"T_\mathrm{mean}", "s", "mean wait and ride over arrivals spread evenly", ""),
    _result("throughput", r"R", "token/s", "tokens per second of the replica", "B × 64"),
    _result("rate_user", r"r", "token/sequence/s", "tokens per second that one reader sees"),
    _result("sparsity", "s", "1", "stored over active parameters", "sparsity"),
    _result("expert_sparsity", r"s_\mathrm{exp}", "1", "experts over experts that one token uses", "256/32"),
    _result("n_routed", r"N_\mathrm{routed}", "parameter", "parameters of all routed experts"),
    _result("t_dense", r"t_\mathrm{dense}", "s", "time of a step's dense parts"),
    _result("t_experts", r"t_\mathrm{experts}", "s", "time of a step's routed experts"),
    _result("tokens_per_expert", r"B_\mathrm{exp}", "token", "tokens that an expert sees in a step, on average"),
    _result("coverage", r"\phi", "1", "share of the routed experts that a step touches, on average"),
    _result("bytes_touched", r"V_\mathrm{weights}", "byte", "weight bytes that a step reads, on average"),
    _result("racks_needed", r"n_\mathrm{service}", "1", "racks that a whole service would keep busy"),
    _result("chip_rate", r"R_\mathrm{chip}", "token/s/chip", "tokens per second of one chip"),
    _result("experts_saturated", r"\hat{n}_\mathrm{exp}", "1", "experts that count, between start and saturation"),
    _result("loss", r"\mathcal{L}", "1", "validation loss"),
    _result("n_effective", r"\bar{N}", "parameter", "size of the dense model that is as good", "1.3B"),
    _result("quality_gain", r"g", "1", "effective over base size", "64x for 4x"),
    _result("stored_growth", r"h", "1", "stored parameters over those of the dense model"),
    _result("free_sparsity", r"s_\mathrm{free}", "1", "the sparsity up to which a batch pays for reading the weights"),
    _result("batch_fits", r"B_\mathrm{fit}", "sequence", "sequences whose KV cache fits beside the weights"),
    _result(
        "largest_model",
        r"N_\mathrm{fit}",
        "parameter",
        "parameters that fit together with the KV of the critical batch",
    ),
    _result("experts_per_chip", r"e", "1/chip", "experts on each chip", "4"),
    _result("leaving", r"x", "1", "share of a layer's traffic that leaves its rack", "half"),
    _result("ep_bytes", r"V", "byte/chip", "bytes that one chip sends for one routed layer"),
    _result("t_ep", r"t_\mathrm{EP}", "s", "time of one layer's dispatch and combine"),
    _result("t_exchange", r"t_\mathrm{exchange}", "s", "time of an exchange of messages"),
    _result("t_comm", r"t_\mathrm{comm}", "s", "time of all layers' dispatch and combine"),
    _result(
        "comm_ratio",
        r"t_\mathrm{comm}/t_\mathrm{compute}",
        "1",
        "time of the experts' traffic over time of multiplying",
    ),
    _result("link_needed", r"\beta^{*}", "byte/s/chip", "link rate at which traffic takes as long as multiplying"),
    _result("slowdown", r"z", "1", "a layer's traffic time over that in one rack", "bottleneck"),
    _result("distinct_chips", r"n_\mathrm{hit}", "chip", "chips that hold at least one of a token's experts"),
    _result("broadcast_waste", r"y", "1", "traffic of sending each token to all experts over that of routing it"),
    _result("ratio_hurts", r"\rho^{*}", "1", "bandwidth ratio at which two or more racks are as slow as one"),
    _result("rack_power", r"P_\mathrm{rack}", "W", "power of a rack"),
    _result("cables", r"n_\mathrm{cable}", "1", "scale-up cables of a rack: one for each pair of wires"),
    _result("floor_load", r"q_\mathrm{floor}", "kg/meter**2", "mass on each square metre under a rack"),
    _result(
        "scale_ratio",
        r"T_\mathrm{up}/T_\mathrm{out}",
        "1",
        "time on scale-up over time on scale-out, of one stage",
        "want at least 1",
    ),
    _result(
        "layers_needed", r"\ell^{*}", "1", "layers per stage at which the hop takes no longer than the experts' traffic"
    ),
    _result("utilisation", r"u", "1", "share of the time that a rack is busy", "1/4"),
    _result("bubble", r"\mathrm{bubble}", "1", "share of the time that devices wait in a training step"),
    _result("idle", r"t_\mathrm{idle}", "s", "time that a device waits in a training step"),
    _result("capacity", r"C_\mathrm{mem}", "byte", "memory that weights and KV take", "C_mem"),
    _result("chip_memory", r"c_\mathrm{mem}", "byte/chip", "memory that weights and KV take on one chip", "c_mem"),
    _result("chip_weights", r"c_\mathrm{weights}", "byte/chip", "weights on one chip"),
    _result("chip_kv", r"c_\mathrm{KV}", "byte/chip", "KV cache on one chip"),
    _result("context_fits", r"L_\mathrm{fit}", "token/sequence", "context that fits beside the weights"),
    _result("t_token", r"t_\mathrm{token}", "s", "time from one token of a sequence to its next"),
    _result("c_pretrain", r"C_\mathrm{pre}", "FLOP", "compute of pre-training", "6ND"),
    _result("c_rl", r"C_\mathrm{RL}", "FLOP", "compute of RL, in FLOPs at the rate of training"),
    _result("c_inference", r"C_\mathrm{inf}", "FLOP", "compute of serving, in FLOPs at the rate of training"),
    _result("c_total", r"C_\mathrm{tot}", "FLOP", "compute over a model's life, in FLOPs at the rate of training"),
    _result(
        "rl_coefficient", r"\alpha_\mathrm{RL}", "1", "pre-training tokens for each RL token, at equal cost", "alpha"
    ),
    _result(
        "inference_coefficient",
        r"\beta_\mathrm{inf}",
        "1",
        "pre-training tokens for each token served, at equal cost",
        "beta",
    ),
    _result("cost_share", r"y_C", "1", "share of a model's lifetime compute"),
    _result(
        "chinchilla_tokens",
        r"D_\mathrm{Chin}",
        "token",
        "tokens that train a model best for the compute of training alone",
        "20 N",
    ),
    _result("overtraining", r"o", "1", "tokens of training over those of Chinchilla's rule", "100×"),
    _result("training_time", r"T_\mathrm{train}", "s*chip", "chips times the time that they train"),
    _result("scale_best", r"x^{*}", "1", "where the sum of a rising and a falling cost is least"),
    _result("rising_share", r"y^{*}", "1", "share of the rising cost where the sum is least"),
    _result("equal_penalty", r"z_{=}", "1", "cost where both parts are equal, over the least cost"),
    _result("best_size", r"N^{*}", "parameter", "size that reaches the lowest loss for a compute of training"),
    _result("best_tokens", r"D^{*}", "token", "tokens that reach the lowest loss for a compute of training"),
    _result("tokens_for_loss", r"D_{\mathcal{L}}", "token", "tokens that a model of this size needs to reach a loss"),
    _result(
        "inference_over_training",
        r"C_\mathrm{inf}/C_\mathrm{pre}",
        "1",
        "compute of serving over that of training, where their sum is least",
    ),
    _result("t_pass", r"t_\mathrm{pass}", "s", "time of one forward pass of several tokens per sequence"),
    _result("pass_ratio", r"r_\ell", "1", "time per token of a pass, over that of a very long one", "t/len_pass"),
    _result(
        "kv_implied", r"\kappa_\mathrm{card}", "byte/token", "KV cache of a token, as a price implies it", "almost 2 kB"
    ),
    _result("context_ratio", r"r_L", "1", "cost of a token at a context over that at a short one, in large batches"),
    _result("context_covered", r"L_\mathrm{pay}", "token/sequence", "context up to which a price covers the cost"),
    _result(
        "context_implied", r"L_\mathrm{card}", "token/sequence", "mean context of decoding, as a price ratio implies it"
    ),
    _result("flop_per_token", r"c_\mathrm{token}", "FLOP/token", "FLOPs of a new token, attention counted"),
    _result(
        "context_flop",
        r"L_\mathrm{att}",
        "token/sequence",
        "context at which attention multiplies as much as the weights do",
    ),
    _result(
        "sparse_read",
        r"V_\mathrm{sparse}",
        "byte/sequence",
        "bytes of one layer that sparse attention reads for a new token",
    ),
    _result(
        "sparse_saving", r"z_\mathrm{sparse}", "1", "bytes that dense attention reads over those of sparse attention"
    ),
    _result("entries_read", r"n_\mathrm{read}", "token/sequence", "cache entries that a new token reads"),
    _result("block_best", r"m^{*}_\mathrm{block}", "1", "block length that reads the fewest entries"),
    _result("c_remat", r"c_\mathrm{remat}", "USD/token", "rent for computing a token's KV again"),
    _result("c_hold", r"c_\mathrm{hold}", "USD/token", "rent for keeping a token's KV"),
    _result("c_retrieve", r"c_\mathrm{get}", "USD/token", "rent for bringing a token's KV back into HBM"),
    _result("c_cached", r"c_\mathrm{cache}", "USD/token", "rent for keeping a token's KV and bringing it back once"),
    _result("hold_even", r"T_\mathrm{even}", "s", "time for which keeping costs as much as computing again"),
    _result("uses_even", r"n_\mathrm{uses}", "1", "uses of a prompt from which on writing it to a cache pays"),
    _result("byte_rent", r"p_{B,s}", "USD/byte/s", "rent of a byte, as a price implies it"),
    _result("margin", r"z_\mathrm{price}", "1", "price over the model's cost", "close to 1"),
    _result("activations", r"V_\mathrm{act}", "byte", "activations that training keeps for the backward pass"),
    _result("activations_least", r"V^{*}_\mathrm{act}", "byte", "activations kept at the best length of a segment"),
    _result("segment_best", r"n^{*}_\mathrm{seg}", "1", "length of a segment that keeps the fewest activations"),
    _result("work_ratio", r"z_\mathrm{work}", "1", "compute of a training step over that with all activations kept"),
    _result("difference", r"\delta", "1", "relative size of a difference after all layers"),
    _result("bits_flipped", r"\phi_r", "1", "share of a block's bits that change when one input bit does, on average"),
    _result(
        "tokens_per_round",
        r"\tau_\gamma",
        "token/sequence",
        "tokens that one round of drafting and verifying yields, on average",
    ),
    _result("t_draft", r"t_\mathrm{draft}", "s", "time of one step of the draft model"),
    _result("t_verify", r"t_\mathrm{verify}", "s", "time of the pass that verifies the drafted tokens"),
    _result("t_round", r"t_\mathrm{round}", "s", "time of drafting and verifying once"),
    _result("verify_ratio", r"t_\mathrm{verify}/t_\mathrm{step}", "1", "time of verifying over time of a decode step"),
    _result("round_ratio", r"t_\mathrm{round}/t_\mathrm{step}", "1", "time of a round over time of a decode step"),
    _result(
        "spec_speedup",
        r"S_\mathrm{spec}",
        "1",
        "tokens per second with speculation over those without, at the same batch",
    ),
    _result(
        "batch_free", r"B_\mathrm{free}", "sequence", "batch up to which verifying takes no longer than a decode step"
    ),
    _result(
        "context_free",
        r"L_\mathrm{free}",
        "token/sequence",
        "context from which on verifying takes no longer than a decode step at any batch",
    ),
    _result(
        "ratio_even",
        r"r_{=}",
        "1",
        "time to read over time to multiply, in a decode step, below which speculation slows down",
    ),
    _result("batch_spec", r"B_{=}", "sequence", "batch beyond which speculation slows decoding down"),
    _result(
        "next_tokens",
        r"\Delta\tau_\gamma",
        "token/sequence",
        "what one more drafted token adds to the tokens of a round",
    ),
    _result("touched_ratio", r"V_{\gamma}/V_0", "1", "weight bytes that verifying reads over those of a decode step"),
    _result(
        "spec_saving",
        r"z_\mathrm{spec}",
        "1",
        "share of the cost of serving that speculation saves, training of the draft counted",
    ),
    _result("page_blocks", r"n_\mathrm{page}", "1", "blocks that hold one sequence's cache, in one group of layers"),
    _result(
        "page_waste",
        r"L_\mathrm{waste}",
        "token/sequence",
        "room for tokens that a sequence's last block leaves empty, on average",
    ),
    _result("batch_held", r"B_\mathrm{held}", "sequence", "sequences that memory holds at once"),
    _result("hit_tokens", r"L_\mathrm{hit}", "token/sequence", "tokens of a request whose KV is found in whole blocks"),
    _result(
        "price_blended", r"\bar{p}_\mathrm{in}", "USD/token", "price of an input token, hits and writes taken together"
    ),
    _result("hit_rate_even", r"h_{=}", "1", "hit rate from which on writing prompts to a cache pays"),
    _result("keep_time", r"T_\mathrm{keep}", "s", "time for which a prefix cache keeps what nobody asks for"),
    _result(
        "hybrid_saving",
        r"z_\mathrm{win}",
        "1",
        "cache of full attention in all layers over that of full and window layers",
    ),
    _result("t_eager", r"t_\mathrm{eager}", "s", "time of a step whose kernels the host launches one by one"),
    _result("t_graph", r"t_\mathrm{graph}", "s", "time of a step whose kernels stand in a captured graph"),
    _result("graph_gain", r"z_\mathrm{graph}", "1", "time of an eager step over that of a captured one"),
    _result(
        "bytes_launch",
        r"V_\mathrm{launch}",
        "byte",
        "bytes that memory delivers while the host launches a step's kernels",
    ),
    _result("batch_launch", r"B_\mathrm{launch}", "sequence", "batch up to which launching takes longer than reading"),
    _result("t_chain", r"t_\mathrm{chain}", "s", "time of a chain of elementwise operations"),
    _result(
        "vector_launch",
        r"V_\mathrm{even}",
        "byte/chip",
        "bytes of a vector whose reading and writing take as long as a launch",
    ),
    _result("fusion_gain", r"z_\mathrm{fuse}", "1", "time of a step over that with its chains fused"),
    _result("t_serial", r"t_\mathrm{serial}", "s", "time of a step that computes and sends in turn"),
    _result(
        "t_overlap", r"t_\mathrm{overlap}", "s", "time of a step in two halves, one sending while the other computes"
    ),
    _result("overlap_gain", r"z_\mathrm{overlap}", "1", "time of a serial step over that of an overlapped one"),
    _result(
        "batch_overlap",
        r"B_\mathrm{overlap}",
        "sequence",
        "batch from which on two overlapping halves are faster than one whole",
    ),
    _result("step_tokens", r"D_\mathrm{step}", "token", "tokens of one step of training"),
    _result(
        "mfu_reached", r"\mathrm{MFU}_\mathrm{spent}", "1", "share of peak FLOPs that a reported training run used"
    ),
    _result("loss_left", r"\mathcal{L}_D", "1", "loss that unlimited data would still remove"),
    _result(
        "tokens_worth",
        r"w_D",
        "1",
        "what one percent more tokens lowers the loss, over what one percent more parameters does",
    ),
    _result("data_worth", r"D_\mathrm{worth}", "token", "fresh tokens that would teach as much as the repeated ones"),
    _result("worth_limit", r"D_\infty", "token", "fresh tokens that endless repetition is worth"),
    _result("repeat_worth", r"w_\mathrm{rep}", "1", "worth of a token in its last repetition, over a fresh one"),
    _result("quality_even", r"q_{=}", "1", "worth of a kept token over an average one from which on filtering pays"),
    _result("score", r"s_D", "1", "score on a benchmark"),
    Symbol("interval", r"T", "s", "time between departures", "20 ms"),
    # what a bill adds up
    Symbol(
        "fresh_tokens",
        r"L_\mathrm{fresh}",
        "token/sequence",
        "input tokens of a task that no cache holds and none shall",
        **_ZERO,
    ),
    Symbol(
        "written_tokens",
        r"L_\mathrm{write}",
        "token/sequence",
        "input tokens of a task that are read and written into a cache",
        **_ZERO,
    ),
    Symbol(
        "reread_tokens", r"L_\mathrm{again}", "token/sequence", "input tokens of a task that a cache holds", **_ZERO
    ),
    Symbol("answer_tokens", r"L_\mathrm{out}", "token/sequence", "tokens that a task generates", **_ZERO),
    Symbol(
        "stored_tokens",
        r"L_\mathrm{store}",
        "token/sequence",
        "tokens whose storage in a cache a task pays for",
        **_ZERO,
    ),
    Symbol("prompt_tokens", r"L_\mathrm{in}", "token/sequence", "input tokens of one request"),
    Symbol("hit_price", r"p_\mathrm{hit}", "USD/token", "price of an input token that a cache holds", **_ZERO),
    Symbol(
        "write_price", r"p_\mathrm{write}", "USD/token", "price of an input token that is read and written into a cache"
    ),
    Symbol(
        "storage_price", r"p_\mathrm{store}", "USD/token/s", "price of keeping a token in a cache, by time", **_ZERO
    ),
    Symbol("batch_factor", r"f_\mathrm{batch}", "1", "price when the answer may wait over the standard price", most=1),
    _result("task_cost", r"c_\mathrm{task}", "USD/sequence", "what a task costs by a price card"),
    _result("task_part", r"c_\mathrm{part}", "USD/sequence", "one part of what a task costs"),
    _result("sent_tokens", r"L_\mathrm{sent}", "token/sequence", "input tokens of all requests of a task"),
    # a whole configuration
    Symbol("attend_flop", r"C_\mathrm{att}", "FLOP", "FLOPs of attending to the context in a step", **_ZERO),
    Symbol("visited_chips", r"n_\mathrm{near}", "1", "other chips that a token is sent to in a routed layer", **_ZERO),
    Symbol(
        "visited_domains",
        r"n_\mathrm{far}",
        "1",
        "other scale-up domains that a token is sent to in a routed layer",
        **_ZERO,
    ),
    Symbol(
        "far_rate",
        r"\beta_\mathrm{far}",
        "byte/s/chip",
        "what one chip sends to other domains, or, if there are none, inside its own",
    ),
    Symbol(
        "t_longest",
        r"t_\mathrm{max}",
        "s",
        "the longest of the times that multipliers, memory and links are busy",
        **_ZERO,
    ),
    Symbol("t_links", r"t_\mathrm{links}", "s", "time that a step sends", **_ZERO),
    _result("t_attend", r"t_\mathrm{att}", "s", "time to multiply queries by the cache"),
    _result("t_reduce", r"t_\mathrm{reduce}", "s", "time of an all-reduce"),
    _result("t_route", r"t_\mathrm{route}", "s", "time of a routed layer's dispatch and combine over two networks"),
    _result("t_fixed", r"t_\mathrm{fixed}", "s", "time of a step that no batch hides"),
    _result("t_predicted", r"\hat{t}", "s", "predicted time of a step"),
    # constants of the law, with their units, and what turns the ideal into the real
    _constant(
        "flop_per_param", "2", "FLOP/parameter/token", "one multiply and one add per parameter and token", value=2
    ),
    _constant(
        "flop_backward",
        "4",
        "FLOP/parameter/token",
        "two multiply-adds per parameter and token: gradients of inputs and of weights",
        value=4,
    ),
    _constant("new_token", "1", "token/sequence", "a decode step makes one token per sequence", value=1),
    _constant("one_entry", "1", "parameter", "an entry of a weight matrix is one parameter", value=1),
    _constant("one_sequence", "1", "sequence", "a batch of one", value=1),
    _constant("one_token", "1", "token", "a single token", value=1),
    _constant("one_chip", "1", "chip", "a single chip", value=1),
    _calibration("compute_efficiency", r"\eta_c", "1", "share of peak FLOP/s reached", value=1, most=1),
    _calibration("memory_efficiency", r"\eta_m", "1", "share of peak bandwidth reached", value=1, most=1),
    _calibration("link_efficiency", r"\eta_\ell", "1", "share of a link's rate reached", value=1, most=1),
    _calibration(
        "link_latency", r"\alpha_\ell", "s", "time that a message takes however short it is", value=0, **_ZERO
    ),
    _calibration("overhead", "t_0", "s", "time per step that no batch hides", value=0, **_ZERO),
    _calibration(
        "layer_overhead",
        r"t_\ell",
        "s",
        "time per layer that no batch hides: kernels start and end one after the other",
        value=0,
        **_ZERO,
    ),
    _calibration(
        "serial_share",
        r"\sigma",
        "1",
        "share of the shorter times that the longest does not hide: 0 if all overlap, 1 if one follows the other",
        value=0,
        most=1,
        **_ZERO,
    ),
)


@cache
def table() -> Mapping[str, Symbol]:
    """All rows by name; a name twice, a bad kind or a missing value is refused."""
    names = [row.name for row in _ROWS]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"declared twice in the notation: {sorted(twice)}"
    return MappingProxyType({row.name: row for row in _ROWS})


def lookup(name: str) -> Symbol:
    """The row of a name, or UndeclaredSymbol with the near names."""
    try:
        return table()[name]
    except KeyError:
        import difflib

        near = difflib.get_close_matches(str(name), table(), 4) or sorted(table())
        raise UndeclaredSymbol(f"no symbol {name!r} in the notation; did you mean: {', '.join(near)}?") from None


@cache
def symbol(name: str) -> sympy.Symbol:
    """The SymPy symbol of a declared name; all quantities of the course are real and not negative."""
    return sympy.Symbol(lookup(name).name, positive=True)


@cache
def constants() -> Mapping[sympy.Symbol, sympy.Integer]:
    """The constants of the law by symbol: one new token, two FLOPs for each multiply-add."""
    rows = [row for row in table().values() if row.kind == "constant"]
    return MappingProxyType({symbol(row.name): sympy.Integer(row.value) for row in rows})


def symbols(names: str) -> tuple[sympy.Symbol, ...]:
    """Several at once: symbols("batch context")."""
    return tuple(map(symbol, names.split()))


class _Printer(LatexPrinter):
    """LaTeX as one writes it: a difference starts with what is subtracted from."""

    def _as_ordered_terms(self, expr: sympy.Expr, order: str | None = None) -> list[sympy.Expr]:
        return sorted(super()._as_ordered_terms(expr, order), key=lambda term: term.could_extract_minus_sign())


@cache
def latex_names() -> Mapping[sympy.Symbol, str]:
    """What SymPy's LaTeX printer needs to print our symbols."""
    return {symbol(name): row.latex for name, row in table().items()}


def _rooted(product: sympy.Mul) -> sympy.Expr:
    """A product of square roots under one root."""
    roots = [f for f in product.args if f.is_Pow and abs(f.exp) == sympy.S.Half]
    whole = sympy.Mul(*(f.base if f.exp > 0 else 1 / f.base for f in roots))
    rest = sympy.Mul(*(f for f in product.args if f not in roots))
    return (
        sympy.Mul(rest, sympy.Pow(whole, sympy.S.Half, evaluate=False), evaluate=False)
        if rest != 1
        else sympy.Pow(whole, sympy.S.Half, evaluate=False)
    )


def latex(expression: sympy.Basic) -> str:
    """LaTeX of an expression or equation in the course's letters."""
    over_one = lambda e: e.is_Add and not e.has(sympy.exp) and len({sympy.fraction(term)[1] for term in e.args}) == 1
    tidy = expression.replace(over_one, sympy.together)  # an exponential is no denominator
    tidy = tidy.replace(
        lambda e: e.is_Mul and sum(f.is_Pow and abs(f.exp) == sympy.S.Half for f in e.args) > 1, _rooted
    )
    return _Printer({"symbol_names": latex_names(), "mul_symbol": r" \, "}).doprint(tidy)


def letter(name: str) -> str:
    """The board's letter as one types it: n_active gives N_act, kv_bytes_per_token gives kappa."""
    return lookup(name).latex.replace(r"\mathrm", "").translate(str.maketrans("", "", "\\{}^*"))
