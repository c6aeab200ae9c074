"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from blackboard.catalogue import chip, measurement, model
from blackboard.lessons.batching import equations as step
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import implied
from blackboard.lessons.overheads.kernels import Plan
from blackboard.lessons.racks import equations as racks
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
        "eager_each": pretty(found.each, "s", 3),
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
        "left_7": pretty(small.left, "s", 4),
        "shared_7": pretty(small.shared, "s", 3),
        "graph_later": pretty(small.points[0][1], "s", 3),
        "left_kernels": f"{small.kernels}",
        "each_7": pretty(small.each, "s", 3),
        "off_7": f"{small.off:.1%}",
        "each_70": pretty(large.each, "s", 3),
    }


def fusion_row(name: str, found: implied.Fused) -> dict[str, str]:
    """A row of the table: from the share and the factor, as printed, a reader gets the gain."""
    return {
        f"share_{name}": f"{100 * found.share:.3g}%",
        f"ops_{name}": significant(found.ops, 3),
        f"gain_{name}": f"{100 * (found.gain - 1):.2g}%",
    }


def fusion_rows() -> dict[str, str]:
    """The share of a step that fusing can touch, in decoding and prefill, in 16 bits and in 8."""
    eight = lambda n: Plan(sequences=n, chips=8, weights=1, cache=1, quantised=True)
    fused = lambda plan, **more: implied.fusing("llama-3.1-70b", plan, **more)
    return {
        **fusion_row("eager", fused(Plan(sequences=LATE, chips=8))),
        **fusion_row("decode", fused(Plan(sequences=LATE, chips=8), by_hand=True)),
        **fusion_row("prefill", fused(Plan(tokens=4096, context=0, chips=8), by_hand=True)),
        **fusion_row("fp8", fused(eight(LATE), precision="fp8", by_hand=True)),
        **fusion_row("fp8_most", fused(eight(8 * LATE), precision="fp8", by_hand=True)),
        "late": f"{LATE}",
        "later": f"{8 * LATE}",
    }


def fusing() -> dict[str, str]:
    """How long a chain must be to outlast its launch, and what was measured of fusing."""
    rows = measurement("fusion_gains").records()
    plain, flash = measurement("flash_attention_traffic").records()
    [before, after] = measurement("router_fusion").records()
    even = eq.vector_launch(launch_time=implied.period("MPK", False), chip_bandwidth=chip("b200").bandwidth)
    return {
        "vector_b200": pretty(even, "byte/chip", 2).replace("/chip", ""),
        "vector_64": pretty(2 * LATE * model("llama-3.1-70b").d_model, "byte", 2),
        "fusion_low": f"{min(row['low_gain'] for row in rows):.0%}",
        "fusion_high": f"{max(row['high_gain'] for row in rows):.0%}",
        "silu": f"{measurement('fusion_gains_2025').records()[0]['high_gain']:.0%}",
        "router_kernels": f"{before['kernels']:g}",
        "router_us": f"{before['time_us']:g} µs",
        "router_fused": f"{after['time_us']:g} µs",
        "flash_before": f"{plain['traffic_GB']:g} GB",
        "flash_after": f"{flash['traffic_GB']:g} GB",
        "flash_gain": significant(plain["time_ms"] / flash["time_ms"], 2),
    }


def borders() -> dict[str, str]:
    """Where two halves begin to win, on the rack and on SGLang's machine: loading the weights, and sending a token."""
    out: dict[str, str] = {}
    for name, case in (("nvl", implied.rack()), ("ib", implied.sglang())):
        each = case["n_total"] * case["bytes_per_param"] / case["chips"]
        send = racks.comm_time(case, tokens_per_chip=1, micro_batches=1)
        out |= {
            f"{name}_weights": pretty(each, "byte", 3),
            f"{name}_rate": pretty(case["bandwidth"] / case["chips"], "byte/s", 3),
            f"{name}_load": pretty(each * case["chips"] / case["bandwidth"], "s", 3),
            f"{name}_sent": pretty(send * case["scale_up"], "byte", 3),
            f"{name}_link": pretty(case["scale_up"], "byte/s", 3),
            f"{name}_send": pretty(send, "s", 3),
            f"{name}_layers": f"{case['layers']:g}",
            f"{name}_copies": f"{case['copies']:g}",
        }
    return out


def measured_halves() -> dict[str, str]:
    """SGLang's rows, beside the formula's two times."""
    sign = lambda gain: f"{'a loss' if gain < 1 else 'a gain'} of {100 * abs(gain - 1):.3g}%"
    case = implied.sglang()
    out: dict[str, str] = {}
    for tokens, gain in implied.sglang_measured().items():
        values = case | {"batch": tokens * case["chips"]}
        values["t_comm"] = racks.comm_time(values, tokens_per_chip=tokens, micro_batches=1)
        serial, halves = eq.serial_time(values), eq.overlap_time(values)
        out |= {
            f"serial_{tokens}": pretty(serial, "s", 4),
            f"halves_{tokens}": pretty(halves, "s", 4),
            f"sglang_{tokens}": sign(gain),
            f"foreseen_{tokens}": sign(serial / halves),
        }
    return out


def overlapping() -> dict[str, str]:
    """Halves of a batch, on a rack and on SGLang's machine."""
    rack = implied.rack()
    batch = eq.batch_overlap(rack)
    whole, halves = (row["kernels"] for row in measurement("kernels_per_step").records(model="Qwen3.6-27B"))
    [vllm] = measurement("overlap_thresholds").records(engine="vLLM", phase="decode")
    return {
        **borders(),
        **measured_halves(),
        "overlap_nvl": significant(batch, 2),
        "overlap_nvl_chip": significant(batch / rack["chips"], 2),
        "overlap_ib_chip": significant(implied.turns()[-1].tokens, 2),
        "halves_cost": pretty(implied.halves_cost(32, implied.sglang_measured()[32]), "s", 1),
        "vllm_threshold": f"{vllm['low_tokens']}",
        "kernels_whole": f"{whole:.0f}",
        "kernels_halves": f"{halves:,.0f}",
    }


def span(low: float, high: float) -> str:
    """Two times with one unit; one time, where they print the same."""
    least, most = pretty(low, "s", 2), pretty(high, "s", 2)
    return most if least == most else f"{least.split()[0]} to {most}"


def bounds(name: str, case: dict[str, float], lost: float) -> dict[str, str]:
    """A step's terms at batch 1; what a kernel loses is the bare gap at least, and what gpt-fast lost at most."""
    host, weights = case["kernels"] * case["launch_time"], implied.floor_time(case)
    low, high = (weights + case["kernels"] * each for each in (case["kernel_gap"], lost))
    return {
        f"{name}_kernels": f"{case['kernels']:,}",
        f"{name}_launch": pretty(host, "s", 2),
        f"{name}_weights": pretty(weights, "s", 3),
        f"{name}_gaps": pretty(low - weights, "s", 2),
        f"{name}_lost": pretty(high - weights, "s", 2),
        f"{name}_eager": span(max(host, low), max(host, high)),
        f"{name}_device": span(low, high),
    }


def terms() -> dict[str, str]:
    """All terms of three systems, and the first one, fused, beside its measured step."""
    lost, found = implied.left_over()[0].each, implied.gpt_fast()
    llama = implied.llama()
    gain = lambda each: found.eager / (found.floor + llama["kernels"] * each)
    return {
        **bounds("llama", llama, lost),
        **bounds("node", implied.node(), lost),
        **bounds("rack", implied.rack(), lost),
        "fused_launch": pretty(found.fused * found.each, "s", 2),
        "fused_device": pretty(found.floor + found.fused * lost, "s", 2),
        "fused_off": significant(found.graph / (found.floor + found.fused * lost), 2),
        "graph_alone_low": significant(gain(lost), 2),
        "graph_alone_high": significant(gain(llama["kernel_gap"]), 2),
        "fused_least": pretty(found.floor + found.fused * llama["kernel_gap"], "s", 2),
        "waited": pretty(found.idle * found.eager, "s", 2),
    }


def prices() -> dict[str, str]:
    """What the launch of a step's kernels from a graph adds to the rack's price, by the two losses."""
    rack = implied.rack()
    losses = {"low": rack["kernel_gap"], "high": implied.left_over()[0].each}
    ratio = lambda batch, each: eq.graph_time(rack, batch=batch, kernel_gap=each) / step.step_time(rack, batch=batch)
    small = {f"price_{name}": significant(ratio(256, each), 2) for name, each in losses.items()}
    large = {f"price_{name}_8192": significant(ratio(8192, each), 2) for name, each in losses.items()}
    return small | large


def reality() -> dict[str, str]:
    """What is left beside the terms."""
    floors = {row["chip"]: row["median_share"] for row in measurement("batch1_floor_by_gpu").records()}
    graphs = {row["chip"]: row["speedup"] for row in measurement("batch1_cuda_graphs").records()}
    r1, compiled = measurement("trtllm_r1_latency_steps").records(), measurement("torch_compile_geomean").records()
    rates = [row["throughput_token_per_s"] for row in r1]
    gained = [new / old - 1 for old, new in pairwise(rates)]
    return {
        "floor_h100": f"{floors['H100']:.0%}",
        "floor_l4": f"{floors['L4']:.0%}",
        "graphs_h100": f"{graphs['H100']:.2f}",
        "graphs_l4": f"{graphs['L4']:.2f}",
        "r1_start": f"{r1[0]['throughput_token_per_s']}",
        "r1_end": f"{r1[-1]['throughput_token_per_s']}",
        "r1_steps": f"{len(r1) - 1}",
        "r1_median": f"{median(gained):.1%}",
        "r1_largest": f"{max(gained):.0%}",
        "compile_paper": f"{compiled[0]['high_speedup']:g}",
        "compile_low": f"{compiled[-1]['low_speedup']:g}",
        "compile_high": f"{compiled[-1]['high_speedup']:g}",
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    return opening() | launching() | fusing() | fusion_rows() | overlapping() | terms() | prices() | reality()
