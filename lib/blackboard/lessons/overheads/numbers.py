"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from blackboard.catalogue import chip, gpu_lab, measurement, model
from blackboard.lessons.batching import equations as step
from blackboard.lessons.overheads import equations as eq
from blackboard.lessons.overheads import implied, kernels
from blackboard.lessons.overheads.kernels import Plan
from blackboard.text import merge
from blackboard.units import factor, pretty, significant

MS, US = factor("ms"), factor("us")
LOST = implied.left_over()[0]  # Llama 2 7B in 16 bits
FIXED = implied.fixed_cost()


def in_ms(seconds: float) -> str:
    """A time in milliseconds, to a tenth."""
    return f"{seconds / MS:.1f} ms"


def signed(text: str) -> str:
    """A number with its sign, as prose prints it."""
    return text.replace("-", "−")


def opening() -> dict[str, str]:
    """The question: one model at batch 1, before and after."""
    found = implied.gpt_fast()
    python, graph = (
        1 / measurement("llama_graph_a100").records(step=step)[0]["throughput_token_per_s"]
        for step in ("from Python", "from a graph")
    )
    return {
        "llama_bytes": pretty(found.weights, "byte", 3),
        "a100_bandwidth": pretty(chip("a100-80gb").bandwidth, "byte/s", 3),
        "llama_floor": pretty(found.floor, "s", 2),
        "eager_ms": pretty(found.eager, "s", 3),
        "missing": in_ms(found.eager - found.floor),
        "eager_kernels": f"{found.kernels:,}",
        "eager_each": pretty(found.each, "s", 3),
        "fused_kernels": f"{found.fused:,}",
        "more_kernels": f"{found.kernels - found.fused:,}",
        "meta_python": in_ms(python),
        "meta_graph": in_ms(graph),
    }


def fitted_rate() -> float:
    """Bytes a second at which the fitted tokens load the weights, in three digits as the page prints it."""
    return round(implied.gpt_fast().weights / LOST.shared, -10)


def both_ways() -> dict[str, str]:
    """What follows if the graph leaves a gap at every kernel, and if it leaves a fixed cost per step."""
    found = implied.gpt_fast()
    gaps, alone = found.kernels * LOST.each, FIXED.time(1)
    waited = [found.eager - LOST.shared - gaps, found.eager - alone]
    return {
        "fixed_cost": pretty(FIXED.each, "s", 3),
        "fixed_load": pretty(FIXED.shared, "s", 3),
        "fixed_graph": pretty(alone, "s", 3),
        "fixed_waited": pretty(waited[1], "s", 2),
        "waited_least": pretty(waited[0], "s", 2),
        "waited_range": f"{waited[0] / MS:.0f} to {waited[1] / MS:.0f} ms",
        "half_eager": in_ms(found.eager / 2),
        "fit_off": f"{LOST.off:.1%}",
        **{
            f"{name}_on_{chips}": pretty(line.time(chips), "s", 3)
            for name, line in (("gaps", LOST), ("loss", FIXED))
            for chips, _ in LOST.points
        },
    }


def larger() -> dict[str, str]:
    """Llama 2 70B on several chips: how many times 7B's kernels, and the time that does not shrink."""
    [deep] = (line for line in implied.left_over() if (line.model, line.weights) == ("Llama-2-70B", "float16"))
    return {
        "deep_rest": in_ms(deep.left(8)),
        "deep_kernels": f"{deep.kernels[8] / LOST.kernels[8]:.1f}",
    }


def replaying() -> dict[str, str]:
    """What a replay took the host before CUDA 12.6, and takes since."""
    [old] = measurement("graph_launch_costs").records(cuda="11.8")
    constant, each = old["constant_us"] * US, old["per_kernel_ns"] * factor("ns")
    found = implied.gpt_fast()
    return {
        "replay_more": pretty(each, "s", 3),
        "replay_now": pretty(implied.replay(), "s", 2),
        "replay_old": in_ms(constant + found.kernels * each),
    }


def launching() -> dict[str, str]:
    """What hides the launches of the opening's model, and launches and gaps that others measured."""
    bare = sorted(implied.period(who, graph=False) / US for who in ("MPK", "Hazy Research"))
    case = implied.llama()
    rate = fitted_rate()
    # as the page prints them
    case |= {"launch_time": round(case["launch_time"], 7), "kernel_gap": round(LOST.each, 7), "bandwidth": rate}
    return {
        "launch_range": f"{bare[0]:g} to {bare[1]:g} µs",
        "fill_each": pretty(case["launch_time"] - case["kernel_gap"], "s", 3),
        "fit_rate": pretty(rate, "byte/s", 3),
        "fill_bytes": pretty(round(case["launch_time"] - case["kernel_gap"], 7) * rate, "byte", 3),
        "hidden_a100": pretty(eq.bytes_launch(case), "byte", 3),
        "cache_7": pretty(case["context"] * case["kv_bytes_per_token"], "byte", 3),
        "batch_7": significant(eq.batch_launch(case), 2),
    }


def graphs() -> dict[str, str]:
    """What graphs gain, what they cost, and what they leave, by the chips that share the loading."""
    lost = measurement("cuda_graph_cache_lost").records(model="DeepSeek-V3.2")
    times = dict(LOST.points)
    room = sorted(row["kv_tokens"] for row in lost)
    [batch1] = measurement("spec_decoding_others").records(method="CUDA graphs")
    full = measurement("cuda_graph_gains").records(what="DeepSeek-R1 FP4 on 8 B200, serving")[0]
    printed = {chips: round(time, 5) for chips, time in times.items()}
    saved = printed[4] - printed[8]  # half of the loading on four chips
    rest = printed[8] - saved  # what further doublings would not save
    [early], [before] = (
        measurement("trtllm_r1_latency_steps").records(step=step)
        for step in ("programmatic dependent launch", "all-reduce fused with RMSNorm")
    )
    return {
        "trt_batch1": f"{batch1['factor']:g} times",
        "trt_full": f"{full['speedup']:g} times",
        "cache_lost": f"{1 - room[0] / room[1]:.0%}",
        "more_graphs": f"{lost[0]['graphs'] - lost[1]['graphs']}",
        **{f"graph_{chips}": pretty(time, "s", 3) for chips, time in times.items()},
        "saved_8": f"{saved / MS:.2f} ms",
        "load_4": f"{2 * saved / MS:.2f} ms",
        "rest": f"{rest / MS:.2f} ms",
        "each_hand": pretty(rest / LOST.kernels[8], "s", 2),
        "pdl_gain": f"{early['throughput_token_per_s'] / before['throughput_token_per_s'] - 1:.0%}",
        "shared_7": pretty(LOST.shared, "s", 3),
        "left_kernels": f"{LOST.kernels[8]}",
        "eight_launch": in_ms(LOST.kernels[8] * implied.gpt_fast().each),
        "each_7": pretty(LOST.each, "s", 2),
    }


def gain(found: implied.Fused) -> str:
    """What fusing gains, from both times in tenths of a millisecond."""
    before, after = (round(seconds / MS, 1) for seconds in (found.before, found.after))
    return f"{100 * (before / after - 1):.2g}%"


def prefilling(by_hand: bool = False) -> implied.Fused:
    """A prefill of 4,096 tokens on the opening's chip, before and after fusing."""
    plan = Plan(tokens=4096, context=0)
    return implied.fusing("llama-2-7b", plan, chip="a100-80gb", lost=LOST.each, by_hand=by_hand)


def one_chain() -> dict[str, str]:
    """The first addition and norm of a prefill of 4,096 tokens on the opening's chip, fused by nobody, by hand and by
    a compiler.
    """
    plan = Plan(tokens=4096, context=0, layers=1)
    told: dict[str, str] = {}
    for name, read in (("chain", kernels.eager), ("hand", kernels.library), ("one", kernels.fused)):
        rows = read("llama-2-7b", plan)
        [_, last, *_] = (n for n, row in enumerate(rows) if row.kind == "product")  # the one before the addition
        following = (n for n in range(last + 1, len(rows)) if rows[n].kind == "product")
        told[f"{name}_bytes"] = pretty(sum(row.moved for row in rows[last + 1 : next(following)]), "byte", 3)
    apart, fused = (gpu_lab.only("h200", "chains", way=way, ops=8) for way in ("a kernel each", "one kernel"))
    return told | {"chain_apart": f"{apart['seconds'] / MS:.2f} ms", "chain_fused": f"{fused['seconds'] / MS:.2f} ms"}


def fusion_gains() -> dict[str, str]:
    """A token from a graph, before and after fusing, and what fusing gains a prefill, on the opening's chip."""
    token = implied.fused_token()
    return {
        "token_before": in_ms(token.before),
        "prefill_gain": gain(prefilling()),
        "library_gain": gain(prefilling(by_hand=True)),
    }


def fusing() -> dict[str, str]:
    """How long a vector must be for its bytes to count."""
    vector, rate = 2 * model("llama-2-7b").d_model, chip("a100-80gb").bandwidth
    even = eq.vector_even(kernel_gap=LOST.each, chip_bandwidth=rate)
    before, after = (read("llama-2-7b", implied.GPT_FAST) for read in (kernels.eager, kernels.fused))
    saved = kernels.counted(before).moved - kernels.counted(after).moved
    return {
        "trips_saved": pretty(saved / rate, "s", 2),
        "vector_even": pretty(even, "byte/chip", 2).replace("/chip", ""),
        "tokens_even": significant(even / vector, 2),
        "prompt_time": pretty(4096 * 2 * vector / rate, "s", 2),
    }


def borders() -> dict[str, str]:
    """Where two halves begin to win on SGLang's machine: loading the weights, and sending a token."""
    case = implied.sglang()
    each = case["n_total"] * case["bytes_per_param"] / case["chips"]
    send = implied.with_tokens(1)["t_comm"]
    border = eq.batch_overlap(case) / case["chips"]
    return {
        "ib_weights": pretty(each, "byte", 3),
        "ib_experts": pretty(implied.own_experts(), "byte", 2),
        "ib_rest": pretty(each - implied.own_experts(), "byte", 3),
        "ib_rate": pretty(case["bandwidth"] / case["chips"], "byte/s", 3),
        "ib_load": pretty(step.weight_time(case), "s", 3),
        "ib_cache": pretty(case["context"] * case["kv_bytes_per_token"], "byte", 4),
        "ib_reads": pretty(step.kv_time(case, batch=case["chips"]), "s", 2),
        "ib_sent": pretty(send * case["scale_up"], "byte", 3),
        "ib_link": pretty(case["scale_up"], "byte/s", 3),
        "ib_send": f"{send / MS:.1f} ms",
        "ib_layers": f"{case['layers']:g}",
        "ib_copies": f"{case['copies']:g}",
        "overlap_ib_chip": significant(border, 2),
    }


def measured_halves() -> dict[str, str]:
    """What SGLang gained by halves in a prefill."""
    [prefill] = measurement("two_batch_overlap").records(phase="prefill")
    return {"sglang_prefill": f"{prefill['low_gain']:.0%} to {prefill['high_gain']:.0%}"}


def halves_with_gaps() -> dict[str, str]:
    """What halves gain by the rule if each piece loses a gap at every kernel: our H200's, or the most on the A100s."""
    told = {}
    for name, gap in (("short", one_gap()), ("long", LOST.each)):
        lost = round(implied.sglang_rack()["kernels"] * gap, 4)  # as the page prints it
        told[f"{name}_gaps"] = in_ms(lost)
        for tokens in (32, 64, 256):
            case = implied.with_tokens(tokens)
            weights, caches, sending = step.weight_time(case) + lost, step.kv_time(case), case["t_comm"]
            gain = (weights + caches + sending) / max(2 * weights + caches, sending) - 1
            told[f"{name}_{tokens}"] = signed(f"{gain:+.0%}")
    return told


def one_gap(id: str = "h200") -> float:
    """Seconds that our GPU saved for each kernel less."""
    captured, fused = (gpu_lab.only(id, "decoding", way=way, batch=1, context=512) for way in ("captured", "fused"))
    return (captured["seconds"] - fused["seconds"]) / (captured["kernels"] - fused["kernels"])


def overlapping() -> dict[str, str]:
    """Halves of a batch on SGLang's machine, and kernels that they have."""
    few, many = implied.reported_kernels()
    return {
        **borders(),
        **measured_halves(),
        **halves_with_gaps(),
        "rack_kernels": f"{implied.sglang_rack()['kernels']:,}",
        "kernels_whole": f"{few:.0f}",
        "kernels_halves": f"{many:,.0f}",
    }


def terms() -> dict[str, str]:
    """The one of the four systems whose time was not fitted: weights of 8 bits."""
    narrow = implied.stages()[2]
    return {"narrow_sum": in_ms(narrow.loading + narrow.lost), "narrow_token": in_ms(narrow.measured)}


def reality() -> dict[str, str]:
    """What is left beside the terms."""
    engine = {row["part"]: f"{row['share']:.0%}" for row in measurement("engine_host_shares").records()}
    return {
        "engine_chip": engine["GPU execution"],
        **one_token(),
    }


def _tokens() -> list[dict]:
    """The lab's rows of a token on one H200: launched one by one, from a graph, and fused."""
    return [gpu_lab.only("h200", "decoding", way=way, batch=1, context=512) for way in ("eager", "captured", "fused")]


def on_h200() -> tuple[float, float]:
    """Seconds of that token launched one by one, and those in which memory could load its weights."""
    eager = _tokens()[0]
    return eager["seconds"], 2 * eager["parameters"] / chip("h200").bandwidth


def one_token() -> dict[str, str]:
    """A token of Llama 3.1 8B's matrices on one H200, launched one by one, from a graph, and fused."""
    eager, captured, fused = _tokens()
    pace, (_, floor) = eager["seconds"] / eager["kernels"], on_h200()
    least = min(
        row["seconds"] / row["kernels"] for id in gpu_lab.CHIPS for row in gpu_lab.rows(id, "decoding", way="eager")
    )
    gap = one_gap()
    found = implied.gpt_fast()
    short = gap * (found.kernels - found.fused)  # what the kernels that compiling removed lose, with the shorter gap
    return {
        "short_waited": pretty(found.eager - found.graph - short, "s", 2),
        **{f"{name}_h200": in_ms(row["seconds"]) for name, row in (("eager", eager), ("captured", captured))},
        "many_h200": f"{captured['kernels']:,}",
        "few_h200": f"{fused['kernels']:,}",
        "less_h200": f"{captured['kernels'] - fused['kernels']:,}",
        "saved_h200": in_ms(captured["seconds"] - fused["seconds"]),
        "gap_h200": pretty(gap, "s", 2),
        "gap_h100": pretty(one_gap("h100-sxm"), "s", 2),
        "floor_h200": in_ms(floor),
        "unexplained": in_ms(captured["seconds"] - floor),
        "gaps_h200": in_ms(captured["kernels"] * gap),
        "gain_h200": f"{eager['seconds'] / captured['seconds']:.1f} times",
        "python_least": pretty(least, "s", 2),
        "least_h200": f"{eager['kernels'] * least / MS:.0f} ms",
        "gap_small": pretty(gpu_lab.only("h200", "launches", way="captured")["seconds"], "s", 2),
        "python_each": pretty(pace, "s", 3),
        "compiler_h200": in_ms(fused["kernels"] * pace),
        "waited_h200": pretty(eager["seconds"] - captured["seconds"], "s", 2),
    }


def summing() -> dict[str, str]:
    """What the all-reduces of eight A100 take if the gap is the H200's, and loading the weights again."""
    each = implied.all_reduces(gap := one_gap())[-1]
    sums = LOST.kernels[8] - LOST.kernels[1]
    lost = LOST.kernels[1] * gap
    loading = round(dict(LOST.points)[1], 5) - round(lost, 5)  # as the page prints them
    return {
        "rival_gaps": f"{lost / MS:.2f} ms",
        "rival_load": f"{loading / MS:.2f} ms",
        "rival_sum": pretty(each, "s", 2),
        "sums": f"{sums}",
        "sums_8": in_ms(sums * each),
        "again_8": in_ms(loading / 8),
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    chip = (opening, both_ways, larger, replaying, launching, graphs, terms, reality)
    remedies = (fusing, one_chain, fusion_gains, overlapping, summing)
    return merge(*(part() for part in chip + remedies))
