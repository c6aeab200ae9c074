"""Consistency of published serving runs, engines, links and chips."""

from __future__ import annotations

import math
import re

from blackboard.catalogue import chip
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.lessons.batching import equations as batching
from blackboard.lessons.pipelining import equations as pipelining
from blackboard.lessons.pricing import equations as pricing
from blackboard.lessons.racks import equations as racks
from blackboard.validation import records
from blackboard.validation.consistency import arithmetic
from blackboard.validation.consistency.check import EXACT, Check
from blackboard.validation.records import net, noted, only

POPE, FAST, STEPS, SPED, LINKS = (
    "pope_table2_palm540b",
    "gpt_fast_readme",
    "gpt_fast_steps",
    "spec_decoding_others",
    "links_and_achievable",
)
SHEET = "as the chip's data sheet has it, in one direction"

SERVING = (
    Check(
        POPE,
        "share of peak",
        "1",
        "two FLOP a parameter and token over chips, peak and time",
        lambda r: (r["mfu"], arithmetic.pope_time(r) / r["latency_s"]),
        (batching.compute_time,),
    ),
    Check(
        "pope_decode_latency",
        "one step",
        "ms",
        "time of decoding over its tokens",
        lambda r: (r["step_ms"], arithmetic.pope_step()),
        where={"weights": "int8"},
    ),
    Check(
        "pope_text_numbers",
        "cache of every head",
        "TB",
        "batch times context times keys and values of heads half as wide",
        lambda r: (r["multihead_kv_TB"], arithmetic.multihead() / 1e12),
        (pricing.kv_of_heads,),
    ),
    Check(
        "sglang_large_ep_decode",
        "chips",
        "GPU",
        "nodes times chips of a node",
        lambda r: (r["expert_parallel"], r["nodes"] * chip("h100-sxm").scale_up.domain_chips),
        limit=EXACT,
    ),
    Check(
        "two_batch_overlap",
        "gain",
        "1",
        "rate with overlap over that without",
        lambda r: (1 + r["low_gain"], arithmetic.overlap_gain()),
        where={"setting": "simulated MTP"},
    ),
    Check(
        "h200_deepep_ll_intranode",
        "bytes",
        "byte",
        "a copy for each of eight experts, out in FP8 with scales and back in BF16",
        arithmetic.low_latency_bytes,
        (racks.ep_bytes,),
    ),
    *(
        Check(
            LINKS,
            "link",
            "GB/s",
            SHEET,
            lambda r, id=id: (r["rate_GB_per_s"], chip(id).scale_up.bytes_per_s / 1e9),
            limit=EXACT,
            where={"chips": name, "what": "peak"},
        )
        for name, id in {
            "A100": "a100-80gb",
            "H100 and H200": "h100-sxm",
            "B200 and GB200": "b200",
            "Rubin": "vr200-nvl72",
        }.items()
    ),
    Check(
        LINKS,
        "link",
        "GB/s",
        SHEET,
        lambda r: (r["rate_GB_per_s"], chip("h200").scale_out.bytes_per_s / 1e9),
        limit=EXACT,
        where={"chips": "any"},
    ),
    Check(
        "gb200_rack",
        "cables",
        "1",
        "chips times links times pairs; said to be more than 5,000",
        lambda r: (r["cables"], arithmetic.cables()),
        (racks.cables,),
        0.04,
    ),
    Check(
        "kipply_13b",
        "prefill and ten tokens",
        "ms",
        "prefill, and ten times a token",
        lambda r: (r["ten_tokens_ms"], r["prefill_ms"] + 10 * r["output_token_ms"]),
    ),
    Check(
        "batch1_weights",
        "weights",
        "GB",
        "two bytes a parameter",
        lambda r: (found := net(r["model"])) and (r["weights_GB"], bytes_per_param("bf16") * found.n_total / 1e9),
    ),
    Check(
        FAST,
        "bandwidth",
        "GB/s",
        "bytes on one chip times tokens a second; all words are counted, of which a step reads one row",
        lambda r: (r["bandwidth_GB_per_s"], arithmetic.gpt_fast_rate(r, r["model"], r["gpus"])),
        (pipelining.chip_weights,),
    ),
    Check(
        STEPS,
        "share of bandwidth",
        "1",
        "bytes times tokens a second over 2 TB/s",
        lambda r: (
            noted(STEPS, r"(\d+)% of") / 100,
            arithmetic.gpt_fast_rate(r, "Llama-2-7B", 1) / 1e3 / noted(STEPS, r"% of (\d+) TB/s"),
        ),
        (pipelining.chip_weights,),
        where={"step": "torch.compile and CUDA graphs, cache of fixed size"},
    ),
    Check(
        "cuda_graph_gains",
        "speedup",
        "1",
        "time before over time after; printed to one digit",
        lambda r: (r["speedup"], records.quotient(r["setting"], r"(\d+) ms")),
        limit=0.04,
        where={"what": "Mask R-CNN, the part in the graph"},
    ),
    Check(
        "cuda_graph_capture",
        "graphs",
        "1",
        "batch sizes captured, counted",
        lambda r: (r["graphs"], arithmetic.graphs(r)),
        limit=EXACT,
    ),
    Check(
        "overlap_thresholds",
        "tokens",
        "token",
        "sequences times tokens of each",
        lambda r: (
            r["low_tokens"],
            math.prod(float(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:seq|tok)", r["setting"])),
        ),
        limit=EXACT,
        where={"engine": "ATOM"},
    ),
    Check(
        "mtp_by_depth",
        "speedup",
        "1",
        "tokens a second over those without drafts",
        lambda r: (
            r["drafted_tokens"] > 0
            and (
                r["speedup"],
                r["throughput_token_per_s"] / only("mtp_by_depth", drafted_tokens=0)["throughput_token_per_s"],
            )
        ),
    ),
    Check(
        "chen2023",
        "speedup",
        "1",
        "time of a token without drafts over time with them",
        lambda r: (r["speedup"], r["plain_ms"] / r["speculative_ms"]),
    ),
    Check(
        SPED,
        "speedup",
        "1",
        "as the paper's text has it, rounded",
        lambda r: (r["factor"], only("spire_long", method="SPIRe")["speedup"]),
        where={"method": "SPIRe"},
    ),
)
