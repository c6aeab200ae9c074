"""The arithmetic of consistency checks: what several numbers of a record, of its data set or of its model's
architecture must add up to.

A function of a record takes it as a dictionary by column; times are in s, sizes in bytes, unless it says otherwise.
"""

from __future__ import annotations

from blackboard import notation
from blackboard.catalogue import Model, chip, model
from blackboard.catalogue.architecture import Heads, Latent, bytes_per_param
from blackboard.lessons.batching import equations as batching
from blackboard.lessons.corpus import equations as corpus
from blackboard.lessons.overtraining import equations as overtraining
from blackboard.lessons.paging import equations as paging
from blackboard.lessons.pipelining import equations as pipelining
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.reversibility import equations as reversibility
from blackboard.lessons.sparsity import equations as sparsity
from blackboard.lessons.speculation import equations as speculation
from blackboard.units import factor
from blackboard.validation import records
from blackboard.validation.records import Pair, Record, listed, net, noted, only, said_before

# --- what several sums need -------------------------------------------------------------------------------------------


def cached(found: Model, precision: str = "bf16") -> float:
    """Bytes of cache of one token, every layer keeping it."""
    if not all(isinstance(group, Heads) for group in found.attention):
        return found.kv_bytes_per_token(precision)
    width = bytes_per_param(precision)
    return sum(
        pricing.kv_of_heads(kv_layers=g.layers, kv_heads=g.kv_heads, head_dim=g.head_dim, kv_value_bytes=width)
        for g in found.attention
    )


def opt_cached(r: Record) -> float:
    """The same of a model with keys and values as wide as itself, in two bytes."""
    return pricing.kv_of_heads(
        kv_layers=r["layers"], kv_heads=1, head_dim=r["d_model"], kv_value_bytes=bytes_per_param("fp16")
    )


def attention(found: Model) -> float:
    """FLOPs with which a token attends to one before it, no projection absorbed: latent heads have keys and values of
    unlike widths.
    """
    wide = lambda g: (g.nope_dim + g.rope_dim + g.v_dim) / 2 if isinstance(g, Latent) else g.head_dim
    return sum(
        pricing.attention_of_heads(layers=g.layers, query_heads=g.heads, head_dim=wide(g)) for g in found.attention
    )


def token_compute(r: Record) -> Pair:
    """GFLOP of training on one token: what multiplies, without the input embedding, and half the sequence to attend
    to.
    """
    if (found := net(r["model"])) is None:
        return None
    half = noted("deepseek_isca25_training_compute", r"sequences of ([\d,]+) tokens") / 2
    forward = pricing.flop_per_token(
        n_active=found.n_active - found.vocab * found.d_model, attention_flop=attention(found), context=half
    )
    multiplied = forward / notation.lookup("flop_per_param").value
    return r["compute_GFLOP_per_token"], overtraining.pretrain_compute(n_active=multiplied, pretrain_tokens=1) / factor(
        "GFLOP"
    )


def isca_mfu(r: Record) -> float:
    """Share of peak by the compute of a token, tokens a day and chips."""
    each = only("deepseek_isca25_training_compute", model="DeepSeek-V3")["compute_GFLOP_per_token"] * factor("GFLOP")
    multiplied = overtraining.pretrain_compute.solve("n_active")(c_pretrain=each, pretrain_tokens=1)
    day = {"pretrain_tokens": r["throughput_token_per_day"], "chip_time": r["gpus"] * factor("day")}
    return corpus.mfu_reached(n_active=multiplied, chip_flops=chip("h800").flops("bf16"), **day)


def nodes(r: Record) -> float:
    """Nodes that prefill and nodes that decode a day's tokens."""
    parts = (("input", "prefill"), ("output", "decode"))
    rate = lambda way: r[f"{way}_token_per_day"] / factor("day")
    return sum(
        sparsity.racks_needed(world_rate=rate(way), batch=r[f"node_{phase}_token_per_s"], interval=1)
        for way, phase in parts
    )


def revenue(r: Record) -> float:
    """USD a day: input by its hits, and output."""
    prices = {
        "input_price": r["input_price_USD_per_Mtoken"],
        "read_ratio": r["cached_price_USD_per_Mtoken"] / r["input_price_USD_per_Mtoken"],
    }
    blended = paging.price_blended(
        hit_rate=r["cached_input_token_per_day"] / r["input_token_per_day"], write_ratio=1, **prices
    )
    return (r["input_token_per_day"] * blended + r["output_token_per_day"] * r["output_price_USD_per_Mtoken"]) / 1e6


def exchange(r: Record) -> tuple[float, float]:
    """s of one exchange and of all exchanges of a step, in DeepSeek's example."""
    from blackboard.lessons.racks.numbers import EXAMPLE, WHOLE

    link = r["link_GB_per_s"] * 1e9
    return racks.ep_time(scale_up=link, **EXAMPLE), racks.comm_time(scale_up=link, **EXAMPLE, **WHOLE)


def low_latency_bytes(r: Record) -> tuple[float, float]:
    """Bytes that a GPU sends out and gets back: rate times time, and tokens times copies."""
    from blackboard.lessons.racks.results import COPY

    sent = sum(r[f"{way}_us"] * factor("us") * r[f"{way}_GB_per_s"] * 1e9 for way in COPY)
    sizes = {f"{way}_bytes": size for way, size in COPY.items()}
    return sent, racks.ep_bytes(
        tokens_per_chip=r["tokens_per_gpu"], copies=model("deepseek-v3").moe.active, width=1, **sizes
    )


def printed_idle(r: Record) -> tuple[float, float]:
    """A printed formula and the lesson's, at the stage times of the first row of the zero-bubble paper, in ms, nothing
    overlapped.
    """
    from sympy import sympify

    at = records.records("zero_bubble_pipeline")[0]
    forward, inputs, weights = (at[f"{kind}_ms"] for kind in ("forward", "input_gradient", "weight_gradient"))
    letters = {"P": at["stages"], "F": forward, "B": inputs + weights, "W": weights, "FB": forward + inputs + weights}
    ours = {"1F1B": pipelining.idle_1f1b, "ZB1P": pipelining.idle_zero_bubble}.get(
        r["schedule"], pipelining.idle_dualpipe
    )
    known = {
        "stages": at["stages"],
        "forward_time": forward,
        "input_grad_time": inputs,
        "weight_grad_time": weights,
        "fused_time": letters["FB"],
    }
    return float(sympify(r["bubble_time"]).subs(letters)), ours(**{name: known[name] for name in ours.free})


def bubble(r: Record, transfers: float = 0) -> tuple[float, float]:
    """The bubble that the paper computes from its stage times, and the simulated one, less so many transfers between
    stages.
    """
    from blackboard.lessons.pipelining.simulation import COLUMNS, compare

    idle, busy = (
        compare(*(r[column] for column in COLUMNS)).run.period_bubble,
        r["forward_ms"] + r["input_gradient_ms"] + r["weight_gradient_ms"],
    )
    all_busy = r["microbatches"] * busy
    return r["bubble_rate"], 1 - all_busy / (all_busy / (1 - idle) - transfers * r["transfer_ms"])


def kept(r: Record, measure: str) -> float:
    """Bytes of activations that the first stage keeps per GPU, under a measure ("all": under none but tensor
    parallelism).
    """
    from blackboard.lessons.reversibility.simulation import SCORES, SEQUENCE, VALUE

    shape, every, whole = (
        only("korthikanti_iteration_times", model=r["model"]),
        reversibility.KEPT,
        10,
    )  # 10 bytes a value are on every GPU
    ways, stages, chunks = shape["tensor_parallel"], shape["pipeline_parallel"], shape["interleave"]
    scores = SCORES * shape["heads"] * SEQUENCE / shape["d_model"]
    each = {
        "all": whole + (every - whole + scores) / ways,
        "sequence": (every + scores) / ways,
        "selective": whole + (every - whole) / ways,
        "both": every / ways,
        "full": VALUE,
    }
    layer = reversibility.layer_kept(
        kept_per_value=each[measure], width=shape["d_model"], rows=SEQUENCE * shape["microbatch_size"]
    )
    more = 1 + (stages - 1) / (stages * chunks) if chunks > 1 else 1  # interleaving has more micro-batches under way
    return reversibility.stored(depth=shape["layers"] * more, layer_bytes=layer)


def state(r: Record) -> float:
    """Bytes of the first stage's weights per GPU: 2 of each, and in 32 bits gradient, weight and two moments."""
    from blackboard.lessons.reversibility.simulation import MATRICES

    shape = only("korthikanti_iteration_times", model=r["model"])
    parts = {
        "expert_parallel": shape["tensor_parallel"],
        "stages": shape["pipeline_parallel"],
        "bytes_per_param": 2 + 4 * 4,
    }
    return pipelining.chip_weights(n_total=shape["layers"] * MATRICES * shape["d_model"] ** 2, **parts)


def megatron_params(r: Record) -> float:
    """Matrices, norms and biases, words and places of a GPT."""
    width, id = r["d_model"], "megatron_2021_table1"
    rows = noted(id, r"([\d,]+) words") + noted(id, r"sequences of ([\d,]+) tokens")
    return r["layers"] * (12 * width**2 + 13 * width) + rows * width


# --- caches -----------------------------------------------------------------------------------------------------------


def slots(r: Record) -> float:
    """Tokens for which there is room: a sequence of one token each. The sizes are printed in GB, but the cache's is in
    GiB.
    """
    weights, width = r["weights_GB"] * 1e9, bytes_per_param("fp16")
    room = {"hbm": weights + r["kv_GiB"] * factor("GiB"), "n_total": weights / width, "bytes_per_param": width}
    return sparsity.batch_fits(context=1, kv_bytes_per_token=opt_cached(r), **room)


def reserved_batch() -> int:
    """Sequences of OPT-13B, each with room for the longest one."""
    from blackboard.lessons.paging.simulation import LONGEST, opt13b

    return int(sparsity.batch_fits(opt13b(), context=LONGEST))


def paged_share() -> float:
    """Share of the cache that holds tokens, by the smaller block with half of the last one empty."""
    from blackboard.lessons.paging.simulation import held

    return paging.use_paged(context=held("ShareGPT"), page_tokens=only("vllm_paging")["low_block_tokens"])


def block(r: Record) -> float:
    """Bytes of one block of cache, all layers, on one chip."""
    return r["block_tokens"] * cached(net(r["model"])) / r["tensor_parallel"]


def agent_hits() -> float:
    """Share of an agent's input that the turn before had."""
    from blackboard.lessons.paging.simulation import agent

    return paging.hit_rate_turns(**dict(zip(("turns", "start_context", "turn_growth"), agent(), strict=True)))


def page(id: str) -> float:
    """Tokens of a block, as a title has it."""
    return noted(id, r"blocks of (\d+) tokens")


def example_blocks(r: Record) -> Pair:
    """Blocks of a request that comes, listed and computed."""
    if tokens := said_before(r["event"], "tokens"):
        return listed(r, "request_blocks"), paging.page_blocks(
            context=tokens, page_tokens=page("prefix_cache_duplicates")
        )
    return None


def example_hits(r: Record) -> Pair:
    """Blocks that a request finds, listed and computed."""
    size = page("prefix_cache_duplicates")
    if common := said_before(r["event"], "as request"):
        return listed(r, "hit_blocks"), paging.hit_tokens(common_context=common, page_tokens=size) / size
    return None


def groups(r: Record) -> list:
    """Groups of layers that share a block table."""
    from blackboard.lessons.paging.hybrid import groups

    return groups(r["full_layers"], r["window_layers"], 1)


def hybrid_blocks(r: Record | None = None) -> float:
    """Blocks of one group in the hybrid example, or of all."""
    id = "hybrid_cache_blocks"
    sizes = {
        "context": noted(id, r"request of (\d+) tokens"),
        "window": noted(id, r"window of (\d+)"),
        "page_tokens": page(id),
    }
    if r is None:
        return paging.hybrid_blocks(full_groups=1, window_groups=len(records.records(id)) - 1, **sizes)
    return paging.page_blocks(
        context=sizes["context" if r["group"] == "full" else "window"], page_tokens=sizes["page_tokens"]
    )


# --- serving ----------------------------------------------------------------------------------------------------------


def pope_time(r: Record) -> float:
    """s of multiplying at peak."""
    peak = r["chips"] * chip("tpu-v4").flops("bf16")
    return batching.compute_time(
        batch=r["batch"] * r["sequence_tokens"], n_active=model("palm-540b").n_active, flops=peak
    )


def pope_step() -> float:
    """ms of a decode step with weights of a byte."""
    decode = only("pope_table2_palm540b", phase="decode", weights="int8")
    return decode["latency_s"] / decode["sequence_tokens"] / factor("ms")


def multihead() -> float:
    """Bytes of PaLM's cache if each head had its own keys and values; the baseline's heads are half as wide, so that
    attention keeps its parameters.
    """
    [heads] = model("palm-540b").attention
    batch, context = (noted("pope_text_numbers", said) for said in (r"batch (\d+)", r"and ([\d,]+) tokens"))
    each = pricing.kv_of_heads(
        kv_layers=heads.layers,
        kv_heads=heads.heads,
        head_dim=heads.head_dim / 2,
        kv_value_bytes=bytes_per_param("bf16"),
    )
    return batch * context * each


def overlap_gain() -> float:
    """Rate of SGLang's decode with simulated MTP, two halves over one."""
    rate = lambda overlap: only("sglang_large_ep_decode", system=f"SGLang, simulated MTP, {overlap} overlap")[
        "node_token_per_s"
    ]
    return rate("two-batch") / rate("no")


def cables() -> float:
    """Cables of a rack, every pair one."""
    from blackboard.lessons.racks.numbers import WIRING

    return racks.cables(chips=chip("gb200-nvl72").scale_up.domain_chips, **WIRING)


GROUP = 32  # values that share a scale and a zero, of 16 bits each, in gpt-fast's 4-bit weights: G=32 in its table


def gpt_fast_rate(r: Record, name: object, gpus: float) -> float:
    """GB/s that gpt-fast counts on one GPU: all weights each token. Layers are split, words (in 16 bits) and head are
    not.
    """
    found, plain, weights = net(name), bytes_per_param("fp16"), r["weights"]
    each = bytes_per_param({"float16": "fp16", "int4": "fp4"}.get(weights, weights)) + (
        2 * plain / GROUP if weights == "int4" else 0
    )
    words = found.vocab * found.d_model
    layers = pipelining.chip_weights(
        n_total=found.n_total - 2 * words, bytes_per_param=each, expert_parallel=gpus, stages=1
    )
    return (layers + words * (plain + each)) * r["throughput_token_per_s"] / 1e9


def graphs(r: Record) -> int:
    """Batch sizes that TensorRT-LLM captures."""
    from blackboard.lessons.overheads.simulation import by_steps, doubling

    return len(doubling() if r["set"] == "doubling" else by_steps(64))


# --- training ---------------------------------------------------------------------------------------------------------


def llammlein_tokens(steps: float) -> float:
    """Tokens of so many steps."""
    run = records.records("llammlein_training")[0]
    return steps * corpus.step_tokens(batch=run["batch"], context=run["context_tokens"])


def last_rate(id: str, name: object) -> float:
    """Tokens a step, by a model's last checkpoint."""
    last = max(records.records(id, model=name), key=lambda r: r["steps"])
    return last["pretraining_tokens"] / last["steps"]


def of_peak(rate: float, id: str) -> float:
    """Share of a chip's dense BF16 peak, of a rate in TFLOP/s."""
    return rate * 1e12 / chip(id).flops("bf16")


def compute(r: Record) -> float:
    """FLOP of training, six a parameter and token."""
    return overtraining.pretrain_compute(n_active=r["n_total"], pretrain_tokens=r["pretraining_tokens"])


def mtp(r: Record) -> tuple[float, float]:
    """Gain by one token drafted for nothing, at the lower acceptance."""
    return r["speedup"], speculation.tokens_per_round(acceptance=r["acceptance_low"], drafted=1)
