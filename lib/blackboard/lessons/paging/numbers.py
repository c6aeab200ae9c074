"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from typing import Any

from blackboard.catalogue import chip, measurement, model, price
from blackboard.lessons.paging import equations as eq
from blackboard.lessons.paging import simulation
from blackboard.lessons.paging.simulation import LONGEST, batches, lengths
from blackboard.lessons.pricing.equations import pass_compute
from blackboard.units import pretty, significant

BLOCK = 16  # tokens: vLLM's default
CARD = "claude-opus-4.6@2026-03-13"  # the pricing lesson's
GEMMA, LONG = "gemma-3-27b", 131_072
LONG_BLOCK = 256  # tokens: a block that is too long
AGENTS = 75  # of the simulation: conversations that go on at once
FULL = 1e9  # tokens: room for every conversation of a simulation
EXAMPLE = {"context": 112, "window": 32, "page_tokens": 16}  # of vLLM's documentation


def cost(batch: float, paging_overhead: float = 0.0, context: float | None = None) -> float:
    """USD for a token of OPT-13B on an A100 with this context, ShareGPT's mean unless it is given, at a batch."""
    context = context or simulation.held()
    return eq.paged_cost(simulation.opt13b(), batch=batch, context=context, paging_overhead=paging_overhead)


def held_in(page_tokens: int) -> float:
    """Running sequences of ShareGPT that the paper's memory holds in such blocks."""
    known, mean = simulation.opt13b(), simulation.held()
    return eq.batch_held(known, context=mean, kv_use=eq.use_paged(context=mean, page_tokens=page_tokens))


def room() -> dict[str, str]:
    """Reserved and in blocks."""
    [opt], known = measurement("vllm_paper").records(model="OPT-13B"), simulation.opt13b()
    (sg_in, sg_out), mean = lengths("ShareGPT"), simulation.held()
    reserved = lambda tokens: f"{eq.use_reserved(context=tokens, reserved_context=LONGEST):.0%}"
    return {
        "kv_GiB": f"{opt['kv_GiB']:g}",
        "kv_GB": f"{significant(known['slots'] * known['kv_bytes_per_token'] / 1e9, 3)} GB",
        "slots": f"{opt['kv_tokens']:,}",
        "gpu_flops": f"{known['flops'] / 1e12:g} TFLOP/s",
        "gpu_bandwidth": f"{known['bandwidth'] / 1e9:,.0f} GB/s",
        "gpu_rent": f"${3600 * known['rent']:.2f}",
        "kv_kB": significant(simulation.opt13b()["kv_bytes_per_token"] / 1e3, 2),
        "block": f"{BLOCK}",
        "sg_in": significant(sg_in, 3),
        "sg_out": significant(sg_out, 3),
        "sg_all": significant(sg_in + sg_out, 3),
        "sg_half": reserved(sg_in + sg_out / 2),
        "sg_use": reserved(sg_in + sg_out),
        "fit_end": f"{opt['kv_tokens'] / (sg_in + sg_out):.0f}",
        "both_GB": f"{known['hbm'] / 1e9:.1f} GB",
        "sg_ahead": f"{mean - sg_in:.0f}",
        "slots_over": significant(opt["kv_tokens"] / LONGEST, 3),
        "orca_batch": f"{batches()['Orca (Max)']:g}",
        "waste_16": significant(eq.page_waste(page_tokens=BLOCK), 2),
        "waste_256": f"{eq.page_waste(page_tokens=LONG_BLOCK):g}",
        "held_256": f"{held_in(LONG_BLOCK):.0f}",
        "sg_paged": f"{eq.use_paged(context=mean, page_tokens=BLOCK):.1%}",
        "other_GB": f"{significant((chip('a100-40gb').symbols('bf16')['hbm'] - known['hbm']) / 1e9, 2)} GB",
    }


def worth() -> dict[str, str]:
    """What a larger batch saves, and what following the table costs."""
    few, mean = batches()["Orca (Max)"], simulation.held()
    [kernel], held, known = measurement("vllm_paging").records(), held_in(BLOCK), simulation.opt13b()
    gain = cost(few) / cost(held)
    again, spent = recomputed()
    weights, cache = known["n_total"] * known["bytes_per_param"], mean * known["kv_bytes_per_token"]
    gigabytes = lambda value: f"{significant(value / 1e9, 3)} GB"
    return {
        "sg_mean": significant(mean, 3),
        "sg_spread": significant(simulation.spread(), 2),
        "held_one": f"{held:.1f}",
        "vllm_batch": f"{batches()['vLLM']:.1f}",
        "sg_held": f"{mean / LONGEST:.0%}",
        "again_time": pretty(again, "s", 2),
        "answer_time": pretty(spent, "s", 2),
        "again_share": f"{again / spent:.0%}",
        "again_half": f"{2 * again / spent:.0%}",
        "step_time": pretty(spent * held / lengths("ShareGPT")[1], "s", 3),
        "weights_GB": gigabytes(weights),
        "cache_MB": f"{cache / 1e6:.0f} MB",
        "loaded_few": gigabytes(weights + few * cache),
        "loaded_held": gigabytes(weights + held * cache),
        "each_few": gigabytes(weights / few + cache),
        "each_held": gigabytes(weights / held + cache),
        "worth": significant(gain, 2),
        "batch_ratio": significant(held / few, 2),
        "kernel_high": f"{kernel['high_overhead']:.0%}",
    }


def recomputed() -> tuple[float, float]:
    """Seconds of the GPU that a sequence's answer takes in blocks, with the first kernel: to compute again what was
    given back, at its peak, and to decode.
    """
    known, run, batch = simulation.opt13b(), simulation.full("blocks", steps=simulation.LONG), held_in(BLOCK)
    [kernel] = measurement("vllm_paging").records()
    again = run.recomputed / run.finished * pass_compute(known, batch=1, pass_tokens=1)
    return again, lengths("ShareGPT")[1] * cost(batch, kernel["high_overhead"]) / known["rent"]


def holds(system: str) -> float:
    """Tokens of a sequence as the paper's share of memory and its batch imply them."""
    [row] = measurement("vllm_kv_use").records(system=system, use="tokens")
    return row["share"] * simulation.opt13b()["slots"] / batches()[system]


def day() -> dict[str, str]:
    """What the simulated servers do, and the gains at the measured batches."""
    shares = lambda system: f"{measurement('vllm_kv_use').records(system=system, use='tokens')[0]['share']:.1%}"
    others = [holds(system) for system in batches() if system != "vLLM"]
    slow = measurement("vllm_paging").records()[0]["high_overhead"]
    gain = lambda system: significant(cost(batches()[system]) / cost(batches()["vLLM"], slow), 2)
    blocks, oracle = (simulation.full(policy, steps=simulation.LONG) for policy in ("blocks", "oracle"))
    return {
        "oracle_coming": f"{oracle.reserved:.0%}",
        "oracle_gaps": f"{oracle.external:.0%}",
        "run_batch": f"{blocks.batch:.1f}",
        "run_held": f"{blocks.held:.0f}",
        "vllm_holds": f"{holds('vLLM'):.0f}",
        "others_low": f"{min(others):.0f}",
        "others_high": f"{max(others):.0f}",
        "gave_way": significant(blocks.preempted / blocks.finished, 2),
        "gave_back": f"{blocks.recomputed / blocks.finished:.0f}",
        "orca_use": shares("Orca (Max)"),
        "oracle_use": shares("Orca (Oracle)"),
        "vllm_use": shares("vLLM"),
        "gain_low": gain("Orca (Oracle)"),
        "gain_high": gain("Orca (Max)"),
        "gain_held": significant(cost(batches()["Orca (Max)"]) / cost(batches()["vLLM"], slow, holds("vLLM")), 2),
    }


def conversations() -> dict[str, str]:
    """What a coding agent's conversation hits, and what others found."""
    [trace], [copilot] = (measurement(id).records() for id in ("agent_traces", "copilot_agents_2026"))
    start, growth, turns = trace["start_tokens"], trace["growth_tokens"], trace["turns"]
    end = start + growth * (turns - 1)
    rates = {row["workload"]: row["hit_rate"] for row in measurement("prefix_cache_hit_rates").records()}
    return {
        "codex_start": f"{start:,}",
        "codex_growth": f"{growth:,}",
        "codex_turns": f"{turns}",
        "codex_rate": f"{agent_rate():.1%}",
        "codex_published": f"{rates['Codex on SWE-bench Pro, what the traces allow']:.1%}",
        "local_rate": f"{rates['the same, Kimi K2.5, local caches']:.1%}",
        "shared_rate": f"{rates['the same, Kimi K2.5, shared store']:.1%}",
        "mean_context": f"{start + growth * (turns - 1) / 2:,.0f}",
        "codex_known": f"{1 - growth / end:.0%}",
        "end_tokens": f"{end:,}",
        "sent": f"{significant(turns * (start + end) / 2e6, 3)} million",
        "hits_deepseek": f"{rates['all services, a day']:.1%}",
        "hits_arena_low": f"{rates['Chatbot Arena, LLaVA-NeXT-34B, a month']:.0%}",
        "hits_arena_high": f"{rates['Chatbot Arena, Vicuna-33B, a month']:.0%}",
        "hits_copilot": f"{copilot['cached_tokens'] / copilot['input_tokens']:.0%}",
        "mooncake_small": f"{rates['trace, cache of 1,000 blocks']:.0%}",
        "mooncake_large": f"{rates['trace, cache of 50,000 blocks']:.0%}",
    }


def agent_rate() -> float:
    """Share of its input that the coding agent of the traces finds again."""
    turns, start, growth = simulation.agent()
    return eq.hit_rate_turns(start_context=start, turn_growth=growth, turns=turns)


def cached_prices() -> dict[str, str]:
    """What a hit is worth on a price card."""
    turns, start, growth = simulation.agent()
    p = price(CARD).usd_per_Mtok
    write, read = p.cache_write_5min / p.input, p.cached_read / p.input
    blended = eq.price_blended(input_price=p.input, hit_rate=agent_rate(), read_ratio=read, write_ratio=write)
    sent = turns * start + growth * turns * (turns - 1) / 2  # tokens of input over all turns
    return {
        "card_write": f"{write:g}",
        "card_read": f"{read:g}",
        "card_input": f"${p.input:g}",
        "agent_cached": f"${blended * sent / 1e6:.2f}",
        "agent_plain": f"${p.input * sent / 1e6:.2f}",
        "even_5": f"{eq.hit_rate_even(write_ratio=write, read_ratio=read):.1%}",
    }


def caches() -> dict[str, str]:
    """How large a cache must be for many agents, and what routing between servers loses."""
    [cached] = measurement("kimi_cache_size").records()
    whole, each = simulation.working_set(AGENTS, *simulation.agent()), cached["kv_GB"] / cached["context_tokens"]
    routed = lambda count, route, room: f"{simulation.routed(count, route, room):.0%}"
    return {
        "random_12": routed(12, "random", FULL),
        "session_12": routed(12, "session", FULL),
        "agents": f"{AGENTS}",
        "set_tokens": f"{significant(whole / 1e6, 2)} million",
        "kimi_kB": f"{1e6 * cached['kv_GB'] / cached['context_tokens']:.0f} kB",
        "set_GB": f"{significant(whole * each, 3)} GB",
        "room_found": f"{simulation.agents(whole, 'random'):.0%}",
        "half_found": f"{simulation.agents(whole / 2, 'long-tailed'):.0%}",
        "half_said": f"{agent_rate() / 2:.0%}",
    }


def layers() -> dict[str, str]:
    """Blocks and bytes of models with windows."""
    net = model(GEMMA)
    groups: list[Any] = list(net.attention)  # heads, which have a window or none
    full, window = (sum(g.layers for g in groups if (g.window is None) == kind) for kind in (True, False))
    width = next(g.window for g in net.attention if g.window)
    known = {"full_layers": full, "window_layers": window, "window": width}
    blocks = lambda full, window: eq.hybrid_blocks(EXAMPLE, full_groups=full, window_groups=window)
    return {
        "hybrid_all": f"{blocks(1, 2):g}",
        "hybrid_full": f"{blocks(1, 0):g}",
        "hybrid_window": f"{blocks(1, 1) - blocks(1, 0):g}",
        "hybrid_uniform": f"{blocks(3, 0):g}",
        "gemma_long": pretty(net.kv_bytes(LONG) / LONG, "byte", 2),
        "gemma_layer": f"{2 * groups[0].kv_heads * groups[0].head_dim * 2:,}",
        "gemma_window": f"{width:,}",
        "gemma_saving": significant(eq.hybrid_saving(context=LONG, **known), 2),
        "gemma_limit": significant((full + window) / full, 2),
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    return room() | worth() | day() | conversations() | cached_prices() | caches() | layers()
