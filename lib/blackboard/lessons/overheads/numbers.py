"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from blackboard.catalogue import chip, measurement, model
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import implied
from blackboard.lessons.overheads.kernels import Plan
from blackboard.units import factor, pretty, significant

US = factor("us")
LATE = 64  # sequences: a batch of decoding whose vectors are weighed


def opening() -> dict[str, str]:
    """The question: one model at batch 1, before and after."""
    found = implied.gpt_fast()
    return {
        "llama_bytes": pretty(found.weights, "byte", 3),
        "a100_bandwidth": pretty(chip("a100-80gb").bandwidth, "byte/s", 4),
        "llama_floor": pretty(found.floor, "s", 2),
        "graph_ms": pretty(found.graph, "s", 2),
        "eager_ms": pretty(found.eager, "s", 2),
        "graph_measured": f"{significant(found.eager / found.graph, 2)} times",
        "graph_most": f"{significant(found.eager / found.floor, 2)} times",
        "eager_kernels": f"{found.kernels:,}",
        "eager_each": pretty(found.each, "s", 2),
        "fused_kernels": f"{found.fused:,}",
    }


def launching() -> dict[str, str]:
    """Launches, gaps, graphs."""
    periods = {
        graph: sorted(implied.period(who, graph) / US for who in ("MPK", "Hazy Research")) for graph in (False, True)
    }
    [qwen] = measurement("kernels_per_step").records(model="Qwen3-8B")
    b200, lost = chip("b200"), measurement("cuda_graph_cache_lost").records(model="DeepSeek-V3.2")
    hidden = lambda gap: eq.bytes_launch(
        kernels=qwen["kernels"], launch_time=implied.period("MPK", False), kernel_gap=gap, bandwidth=b200.bandwidth
    )
    capture, v32 = measurement("cuda_graph_capture").records(), sorted(row["kv_tokens"] for row in lost)
    [batch1] = measurement("spec_decoding_others").records(method="CUDA graphs")
    full = measurement("cuda_graph_gains").records(what="DeepSeek-R1 FP4 on 8 B200, serving")[0]
    lines = {line.model: line for line in implied.left_over() if line.weights == "float16"}
    small, large = lines["Llama-2-7B"], lines["Llama-2-70B"]
    return {
        "launch_least": f"{periods[False][0]:g}",
        "launch_most": f"{periods[False][1]:g}",
        "gap_least": f"{periods[True][0]:g}",
        "gap_most": f"{periods[True][1]:g}",
        "kernels_8b": f"{qwen['kernels']:g}",
        "hidden_b200": pretty(hidden(implied.period("MPK", True)), "byte", 2),
        "qwen_bytes": pretty(model("qwen3-8b").n_total, "byte", 2),
        "trt_batch1": f"{batch1['factor']:g} times",
        "trt_full": f"{full['speedup']:g} times",
        "capture_least": f"{capture[0]['first_capture_s']:.0f} s",
        "capture_most": f"{capture[1]['first_capture_s']:.0f} s",
        "cache_lost": f"{1 - v32[0] / v32[1]:.0%}",
        "more_graphs": f"{lost[0]['graphs'] - lost[1]['graphs']}",
        "graphs_GB": f"{lost[1]['kv_GB'] - lost[0]['kv_GB']:.1f} GB",
        "left_7": pretty(small.left, "s", 2),
        "shared_7": pretty(small.shared, "s", 2),
        "each_7": pretty(small.each, "s", 2),
        "off_7": f"{small.off:.1%}",
        "each_70": pretty(large.each, "s", 2),
    }


def fusing() -> dict[str, str]:
    """Chains, and their share of a step."""
    net, b200 = model("llama-3.1-70b"), chip("b200")
    rows = measurement("fusion_gains").records()
    plain, flash = measurement("flash_attention_traffic").records()
    [before, after] = measurement("router_fusion").records()
    decode = implied.fusing("llama-3.1-70b", Plan(sequences=LATE, chips=8), by_hand=True)
    eager = implied.fusing("llama-3.1-70b", Plan(sequences=LATE, chips=8))
    eight = [
        implied.fusing(
            "llama-3.1-70b",
            Plan(sequences=n, chips=8, weights=1, cache=1, quantised=True),
            precision="fp8",
            by_hand=True,
        ).gain
        - 1
        for n in (LATE, 8 * LATE)
    ]
    prefill = implied.fusing("llama-3.1-70b", Plan(tokens=4096, context=0, chips=8), by_hand=True)
    return {
        "vector_b200": (
            pretty(
                eq.vector_launch(launch_time=implied.period("MPK", False), chip_bandwidth=b200.bandwidth),
                "byte/chip",
                2,
            ).replace("/chip", "")
        ),
        "vector_64": pretty(2 * LATE * net.d_model, "byte", 2),
        "late": f"{LATE}",
        "fusion_low": f"{min(row['low_gain'] for row in rows):.0%}",
        "fusion_high": f"{max(row['high_gain'] for row in rows):.0%}",
        "silu": f"{measurement('fusion_gains_2025').records()[0]['high_gain']:.0%}",
        "router_kernels": f"{before['kernels']:g}",
        "router_us": f"{before['time_us']:g} µs",
        "router_fused": f"{after['time_us']:g} µs",
        "flash_before": f"{plain['traffic_GB']:g} GB",
        "flash_after": f"{flash['traffic_GB']:g} GB",
        "flash_gain": significant(plain["time_ms"] / flash["time_ms"], 2),
        "share_decode": f"{decode.share:.1%}",
        "gain_decode": f"{decode.gain - 1:.1%}",
        "share_eager": f"{eager.share:.0%}",
        "gain_eager": significant(eager.gain, 3),
        "gain_fp8": f"{min(eight):.0%}",
        "gain_fp8_most": f"{max(eight):.0%}",
        "later": f"{8 * LATE}",
        "share_prefill": f"{prefill.share:.0%}",
        "gain_prefill": f"{prefill.gain - 1:.0%}",
    }


def overlapping() -> dict[str, str]:
    """Halves of a batch, on a rack and on SGLang's machine."""
    rack, measured, turns = implied.rack(), implied.sglang_measured(), implied.turns()
    batch = eq.batch_overlap(rack)
    sign = lambda gain: f"{'a loss' if gain < 1 else 'a gain'} of {abs(gain - 1):.0%}"
    whole, halves = (row["kernels"] for row in measurement("kernels_per_step").records(model="Qwen3.6-27B"))
    [vllm] = measurement("overlap_thresholds").records(engine="vLLM", phase="decode")
    cost = implied.halves_cost(32, measured[32])
    return {
        "overlap_nvl": significant(batch, 2),
        "overlap_nvl_chip": significant(batch / rack["chips"], 2),
        "overlap_ib_chip": significant(turns[-1].tokens, 2),
        "own_weights": pretty(implied.own_weights(), "byte", 2),
        "dealt_weights": pretty(model("deepseek-v3").n_total / implied.SGLANG["chips"], "byte", 2),
        "sglang_32": sign(measured[32]),
        "sglang_256": sign(measured[256]),
        "foreseen_32": sign(implied.overlap(32)),
        "foreseen_256": sign(implied.overlap(256)),
        "halves_cost": pretty(cost, "s", 2),
        "vllm_threshold": f"{vllm['low_tokens']}",
        "kernels_whole": f"{whole:.0f}",
        "kernels_halves": f"{halves:,.0f}",
    }


def terms() -> dict[str, str]:
    """All terms at batch 1 of three systems: launches, weights, gaps, and the step from a graph."""
    rack, node, llama = implied.rack(), implied.node(), implied.llama()
    least = min(implied.period(who, graph=False) for who in ("MPK", "Hazy Research"))
    cases = {"rack": rack, "node": node, "llama": llama}
    weights = {name: implied.floor_time(case) for name, case in cases.items()}
    gaps = {name: case["kernels"] * case["kernel_gap"] for name, case in cases.items()}
    return {
        **{f"{name}_gaps": pretty(gap, "s", 2) for name, gap in gaps.items()},
        **{f"{name}_device": pretty(weights[name] + gap, "s", 2) for name, gap in gaps.items()},
        "rack_kernels": f"{rack['kernels']:,}",
        "node_kernels": f"{node['kernels']:,}",
        "rack_floor": pretty(weights["rack"], "s", 3),
        "node_floor": pretty(weights["node"], "s", 3),
        "rack_launch": pretty(rack["kernels"] * rack["launch_time"], "s", 2),
        "node_launch": pretty(node["kernels"] * least, "s", 2),
        "rack_left": pretty(rack["kernels"] * implied.left_over()[0].each, "s", 2),
    }


def reality() -> dict[str, str]:
    """What is left beside the terms."""
    floors = {row["chip"]: row["median_share"] for row in measurement("batch1_floor_by_gpu").records()}
    graphs = {row["chip"]: row["speedup"] for row in measurement("batch1_cuda_graphs").records()}
    r1, compiled = measurement("trtllm_r1_latency_steps").records(), measurement("torch_compile_geomean").records()
    return {
        "floor_h100": f"{floors['H100']:.0%}",
        "floor_l4": f"{floors['L4']:.0%}",
        "graphs_h100": f"{graphs['H100']:.2f}",
        "graphs_l4": f"{graphs['L4']:.2f}",
        "r1_start": f"{r1[0]['throughput_token_per_s']}",
        "r1_end": f"{r1[-1]['throughput_token_per_s']}",
        "r1_steps": f"{len(r1) - 1}",
        "compile_paper": f"{compiled[0]['high_speedup']:g}",
        "compile_low": f"{compiled[-1]['low_speedup']:g}",
        "compile_high": f"{compiled[-1]['high_speedup']:g}",
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    return opening() | launching() | fusing() | overlapping() | terms() | reality()
