"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from typing import Any

from blackboard.catalogue import chip, measurement, model, system
from blackboard.lessons.paging import equations as eq
from blackboard.lessons.paging import simulation
from blackboard.lessons.paging.allocator import Contiguous
from blackboard.lessons.paging.simulation import LONGEST, batches, lengths
from blackboard.lessons.pricing.equations import pass_compute
from blackboard.text import merge
from blackboard.units import factor, pretty, significant

BLOCK = 16  # tokens: vLLM's default
GEMMA, LONG = "gemma-3-27b", 131_072
AGENTS = 75  # of the simulation: conversations that go on at once
KIMI_GPUS, KIMI_BITS = 4, 4.5  # of the test's prefill: tensor parallelism; NVFP4, with a scale for each 16 values
SPARE = {"none": 0, "some": 50, "many": 200}  # blocks that a server keeps free for growth, of 981
PIECE = 600  # tokens of a conversation that gets a power of two
PREFILL = ("llama-3.1-70b", "h100-8", "bf16")  # the interactive chart's case
EXAMPLE = {"context": 112, "window": 32, "page_tokens": 16}  # of vLLM's documentation


def cost(batch: float, paging_overhead: float = 0.0, context: float | None = None) -> float:
    """USD for a token of OPT-13B on an A100 at a batch, by default with a running sequence's context in ShareGPT."""
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
    ahead = measurement("vllm_kv_use").records(system="Orca (Max)", use="reserved")[0]["share"]
    buddy = Contiguous(LONGEST, buddy=True)
    buddy.allocate("one", round(sg_in), PIECE)
    takes = buddy.held["one"].slots
    return {
        "buddy_needs": f"{PIECE}",
        "buddy_takes": f"{takes:,}",
        "buddy_lost": f"{takes - PIECE}",
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
        "sg_expected": f"{int(opt['kv_tokens'] / (sg_in + sg_out))}",
        "sg_ahead": f"{mean - sg_in:.0f}",
        "orca_ahead": f"{ahead:.1%}",
        "orca_each": f"{ahead * opt['kv_tokens'] / batches()['Orca (Max)']:.0f}",
        "orca_batch": f"{batches()['Orca (Max)']:g}",
        "oracle_batch": f"{batches()['Orca (Oracle)']:.1f}",
        "pow2_batch": f"{batches()['Orca (Pow2)']:.1f}",
        "waste_16": significant(eq.page_waste(page_tokens=BLOCK), 2),
        "sg_paged": f"{eq.use_paged(context=mean, page_tokens=BLOCK):.1%}",
        "other_GB": f"{significant((chip('a100-40gb').symbols('bf16')['hbm'] - known['hbm']) / 1e9, 2)} GB",
    }


def worth() -> dict[str, str]:
    """What a larger batch saves."""
    few, mean = batches()["Orca (Max)"], simulation.held()
    [kernel], held, known = measurement("vllm_paging").records(), held_in(BLOCK), simulation.opt13b()
    gain = cost(few) / cost(held)
    again, decoding = recomputed()
    computed = pass_compute(known, batch=1, pass_tokens=1)  # s of a token
    spent = lengths("ShareGPT")[1] * cost(held) / known["rent"]  # s of an answer
    slow, prompt = spent * gain, lengths("ShareGPT")[0] * computed
    weights, cache = known["n_total"] * known["bytes_per_param"], mean * known["kv_bytes_per_token"]
    extra = lengths("ShareGPT")[1] * (cost(held / 2) - cost(held)) / known["rent"]  # s of an answer in half the blocks
    gigabytes = lambda value: f"{significant(value / 1e9, 3)} GB"
    return _costs(few, held) | {
        "sg_mean": significant(mean, 3),
        "sg_spread": significant(simulation.spread(), 3),
        "held_one": f"{held:.1f}",
        "held_whole": f"{held:.0f}",
        "vllm_batch": f"{batches()['vLLM']:.1f}",
        "sg_held": f"{mean / LONGEST:.0%}",
        "again_time": pretty(again, "s", 2),
        "answer_time": pretty(spent, "s", 3),
        "again_share": f"{again / decoding:.0%}",
        "weights_GB": gigabytes(weights),
        "cache_MB": f"{cache / 1e6:.0f} MB",
        "loaded_few": gigabytes(weights + few * cache),
        "loaded_held": gigabytes(weights + held * cache),
        "weights_part": f"{weights / (weights + held * cache):.0%}",
        "step_few": pretty(cost(few) * few / known["rent"], "s", 3),
        "step_held": pretty(cost(held) * held / known["rent"], "s", 3),
        "step_compute": pretty(held * computed, "s", 2),
        "worth": significant(gain, 2),
        "worth_most": significant(ideal("OPT-66B"), 2),
        "worth_least": significant(ideal("OPT-175B"), 2),
        "worth_prompts": significant((slow + prompt) / (spent + prompt), 2),
        "caches_part": f"{held * cache / (weights + held * cache):.0%}",
        "token_held": f"{significant(1e3 * cost(held) / known['rent'], 3)} ms",
        "answer_half": pretty(spent + extra, "s", 3),
        "half_extra": pretty(extra, "s", 3),
        "token_prompt": f"{1e3 * computed:.2g} ms",
        "prompt_time": f"{1e3 * prompt:.0f} ms",
        "batch_ratio": significant(held / few, 2),
        "kernel_high": f"{kernel['high_overhead']:.0%}",
    }


def served(name: str) -> dict[str, float]:
    """Of one of the paper's models: tokens of its cache, bytes of weights and of a running sequence's cache, and the
    sequences with the longest length reserved and in blocks.
    """
    [row], mean = measurement("vllm_paper").records(model=name), simulation.held()
    return {
        "slots": row["kv_tokens"],
        "weights": row["weights_GB"] * 1e9,
        "cache": mean * 2 * row["layers"] * row["d_model"] * 2,  # two bytes a number
        "few": row["kv_tokens"] // LONGEST,
        "held": row["kv_tokens"] * eq.use_paged(context=mean, page_tokens=BLOCK) / mean,
    }


def ideal(name: str) -> float:
    """How many times cheaper a token of one of the paper's models is in blocks than with the longest length reserved,
    where steps wait for memory.
    """
    at = served(name)
    return (at["weights"] / at["few"] + at["cache"]) / (at["weights"] / at["held"] + at["cache"])


def big() -> dict[str, str]:
    """The model of the paper that gains the most."""
    at = served("OPT-66B")
    return {
        "big_weights": f"{at['weights'] / 1e9:.0f} GB",
        "big_cache": f"{significant(at['cache'] / 1e9, 3)} GB",
        "big_slots": f"{at['slots']:,}",
        "big_few": f"{at['few']:g}",
        "big_held": significant(at["held"], 4),
    }


def _costs(few: float, held: float) -> dict[str, str]:
    """What a token costs in a small batch and in a larger one, and its parts."""
    known, mean = simulation.opt13b(), simulation.held()
    weights, cache = known["n_total"] * known["bytes_per_param"], mean * known["kv_bytes_per_token"]
    return {
        "cost_few": f"${1e6 * cost(few):.2f}",
        "cost_held": f"${1e6 * cost(held):.2f}",
        **{
            f"weights_{which}": f"${1e6 * known['rent'] * weights / known['bandwidth'] / batch:.2f}"
            for which, batch in (("few", few), ("held", held))
        },
        "cost_cache": f"${1e6 * known['rent'] * cache / known['bandwidth']:.2f}",
    }


def recomputed() -> tuple[float, float]:
    """Seconds of the GPU that an answer takes of the greedy server: to compute again what was given back, at its peak,
    and to decode.
    """
    known, run = simulation.opt13b(), simulation.full("blocks", steps=simulation.LONG, spare=0)
    again = run.recomputed / run.finished * pass_compute(known, batch=1, pass_tokens=1)
    return again, lengths("ShareGPT")[1] * cost(run.batch, context=run.held) / known["rent"]


def holds(system: str) -> float:
    """Tokens that a sequence of a system held in the paper's runs, on average."""
    [use] = measurement("vllm_kv_use").records(system=system, use="tokens")
    return use["share"] * simulation.opt13b()["slots"] / batches()[system]


def gain(system: str, slower: bool = True, lost: bool = True) -> float:
    """How many times cheaper a token is in vLLM than in another system of the paper: at the batches and the length that
    were counted, with the slower kernel, and with what is computed again.
    """
    slow, (again, decoding) = slower * measurement("vllm_paging").records()[0]["high_overhead"], recomputed()
    return cost(batches()[system]) / (cost(batches()["vLLM"], slow, holds("vLLM")) * (1 + lost * again / decoding))


def spared() -> dict[str, str]:
    """What it is worth to keep blocks free: batch, tokens computed again and time of the GPU per answer."""
    runs = {name: simulation.full("blocks", steps=simulation.LONG, spare=spare) for name, spare in SPARE.items()}
    again = {name: run.recomputed / run.finished for name, run in runs.items()}
    known, answer = simulation.opt13b(), lengths("ShareGPT")[1]

    def spent(name: str) -> float:
        decoding = answer * cost(runs[name].batch, context=runs[name].held) / known["rent"]
        return decoding + again[name] * pass_compute(known, batch=1, pass_tokens=1)

    return {
        "gave_back": f"{again['none']:.0f}",
        "spare_some_again": f"{again['some']:.0f}",
        "spare_many_again": f"{again['many']:.0f}",
        **{f"spare_{name}_batch": f"{run.batch:.0f}" for name, run in runs.items()},
        **{f"spare_{name}_time": pretty(spent(name), "s", 3) for name in SPARE},
    }


def day() -> dict[str, str]:
    """How the paper's servers used their memory, and the gains at their batches."""
    uses = measurement("vllm_kv_use")
    share = lambda system, use: uses.records(system=system, use=use)[0]["share"]
    rates = {row["system"]: row for row in measurement("vllm_request_rates").records()}
    rate = lambda system: "{low_gain:g} to {high_gain:g}".format(**rates[system])
    fit = simulation.full("oracle", buddy=False)  # each piece in the first gap that is long enough
    return {
        "fit_batch": f"{fit.batch:.0f}",
        "fit_use": f"{fit.tokens:.0%}",
        "orca_use": f"{share('Orca (Max)', 'tokens'):.1%}",
        "oracle_use": f"{share('Orca (Oracle)', 'tokens'):.1%}",
        "vllm_use": f"{share('vLLM', 'tokens'):.1%}",
        "vllm_holds": f"{holds('vLLM'):.0f}",
        "gain_batch": f"{gain('Orca (Max)', slower=False, lost=False):.1f}",
        "gain_kernel": f"{gain('Orca (Max)', lost=False):.1f}",
        "low_ideal": f"{cost(batches()['Orca (Oracle)']) / cost(held_in(BLOCK)):.1f}",
        "low_batch": f"{gain('Orca (Oracle)', slower=False, lost=False):.1f}",
        "gain_low_kept": significant(gain("Orca (Oracle)", lost=False), 3),
        "gain_low": significant(gain("Orca (Oracle)"), 2),
        "gain_high": significant(gain("Orca (Max)"), 2),
        "rate_low": rate("Orca (Oracle)"),
        "rate_high": rate("Orca (Max)"),
    }


def conversations() -> dict[str, str]:
    """What a coding agent's conversation hits, and what others found."""
    [trace], [copilot] = (measurement(id).records() for id in ("agent_traces", "copilot_agents_2026"))
    start, growth, turns = trace["start_tokens"], trace["growth_tokens"], trace["turns"]
    end = last_turn()
    sent = turns * (start + end) / 2
    rates = {row["workload"]: row["hit_rate"] for row in measurement("prefix_cache_hit_rates").records()}
    possible, local = rates["Codex on SWE-bench Pro, what the traces allow"], rates["the same, Kimi K2.5, local caches"]
    return {
        "codex_start": f"{start:,}",
        "codex_growth": f"{growth:,}",
        "codex_turns": f"{turns}",
        "codex_answer": f"{answer_tokens():.0f}",
        "codex_rate": f"{agent_rate():.1%}",
        "codex_own": f"{1 - (end - (turns - 1) * answer_tokens()) / sent:.1%}",
        "codex_published": f"{possible:.1%}",
        "local_rate": f"{local:.1%}",
        "shared_rate": f"{rates['the same, Kimi K2.5, shared store']:.1%}",
        "mean_context": f"{start + growth * (turns - 1) / 2:,.0f}",
        "end_tokens": f"{end:,}",
        "sent": f"{significant(sent / 1e6, 3)} million",
        "hits_deepseek": f"{rates['all services, a day']:.1%}",
        "hits_arena_low": f"{rates['Chatbot Arena, LLaVA-NeXT-34B, a month']:.0%}",
        "hits_arena_high": f"{rates['Chatbot Arena, Vicuna-33B, a month']:.0%}",
        "hits_copilot": f"{copilot['cached_tokens'] / copilot['input_tokens']:.0%}",
    }


def answer_tokens() -> float:
    """Tokens that the coding agent of the traces writes in a turn, on average."""
    [trace], (turns, start, growth) = measurement("agent_traces").records(), simulation.agent()
    return (start + growth * (turns - 1) / 2) / trace["input_per_output"]


def agent_rate() -> float:
    """Share of its input that the coding agent of the traces finds again."""
    turns, start, growth = simulation.agent()
    return eq.hit_rate_turns(start_context=start, turn_growth=growth, turns=turns)


def last_turn() -> float:
    """Tokens that the coding agent of the traces sends in its last turn."""
    turns, start, growth = simulation.agent()
    return start + growth * (turns - 1)


def prefill_case() -> dict[str, float]:
    """The model that prefills, on its machine, by notation name."""
    name, machine, precision = PREFILL
    return model(name).symbols(precision) | system(machine).symbols(precision)


def kept() -> dict[str, str]:
    """What an agent's answer takes of the machine where sequences of its last turn have all blocks or half, and what a
    found prefix saves.
    """
    known, last, answer = prefill_case(), last_turn(), answer_tokens()
    held = eq.batch_held(known, context=last, kv_use=1)
    spent = lambda batch: (
        answer * eq.paged_cost(known, batch=batch, context=last, paging_overhead=0, rent=1 / known["chips"])
    )
    extra, (scratch, found) = spent(held / 2) - spent(held), (sum(times.values()) for times in prefills().values())
    return {
        "agent_batch": significant(held, 3),
        "agent_answer": pretty(spent(held), "s", 3),
        "agent_half": pretty(spent(held / 2), "s", 3),
        "agent_extra": pretty(extra, "s", 3),
        "agent_saves": pretty(scratch - found, "s", 3),
        "agent_saved": f"{round(1000 * (scratch - found), -1):,.0f} ms",
        "agent_even": f"{(scratch - found) / extra:.0f}",
        "agent_kept": f"{held / 2:.0f}",
        "agent_many": significant(held / 2 * (scratch - found) / extra, 2),
    }


def prefills() -> dict[str, dict[str, float]]:
    """Seconds until the answer of the last turn begins, at the peak, by part, from scratch and with its prefix."""
    known, end, (*_, growth) = prefill_case(), last_turn(), simulation.agent()
    attended = lambda tokens: sum(group.prefills(tokens) for group in model(PREFILL[0]).attention) / known["flops"]
    weights = lambda tokens: pass_compute(known, batch=1, pass_tokens=tokens)
    return {
        "scratch": {"weights": weights(end), "attention": attended(end)},
        "found": {"weights": weights(growth), "attention": attended(end) - attended(end - growth)},
    }


def first_token() -> dict[str, str]:
    """What hits save in the last turn of a session: compute until its answer begins, at the peak."""
    end, parts, (*_, growth) = last_turn(), prefills(), simulation.agent()
    first = {kind: sum(times.values()) for kind, times in parts.items()}
    gains = measurement("prefix_cache_gains").records(what="median time to first token")
    return {
        "saved_tokens": f"{end / growth:.0f}",
        "saved_time": f"{first['scratch'] / first['found']:.0f}",
        **{
            f"{part}_{kind}": pretty(time, "s", 3 if kind == "scratch" else 2)
            for kind, times in parts.items()
            for part, time in times.items()
        },
        **{f"first_{kind}": pretty(time, "s", 3) for kind, time in first.items()},
        "store_sooner": f"{gains[0]['ratio']:g}",
    }


def caches() -> dict[str, str]:
    """How large a cache must be for many agents, and what pauses they make."""
    whole = simulation.working_set(AGENTS, *simulation.agent())
    return {
        "pause_median": f"{simulation.AGENT_MEDIAN:g} s",
        "pause_long": f"{simulation.AGENT_LONG:g} s",
        "agents": f"{AGENTS}",
        "set_tokens": f"{significant(whole / 1e6, 3)} million",
        **_kimi(whole / AGENTS),
    }


def kimi_room() -> tuple[float, float]:
    """Bytes at most, and tokens, of the cache on each of the test's GPUs that computed prompts: each has its part of
    the weights, and the cache of every token.
    """
    [size] = measurement("kimi_cache_size").records()
    weights = model("kimi-k2").n_total * KIMI_BITS / 8 / KIMI_GPUS
    free = chip("gb200-nvl72").hbm_bytes - weights
    return free, free * size["context_tokens"] / (size["kv_GB"] * factor("GB"))


def _kimi(session: float) -> dict[str, str]:
    """That room, and its share of the tokens of all conversations in progress, of so many tokens each."""
    (free, tokens), [traces] = kimi_room(), measurement("agent_traces").records()
    return {
        "kimi_free": pretty(free, "byte", 2),
        "kimi_tokens": f"{significant(tokens / 1e6, 2)} million",
        "kimi_share": f"{tokens / (AGENTS * session):.0%}",
        "kimi_sessions": f"{traces['traces']:g}",
        "kimi_all": f"{tokens / (traces['traces'] * session):.0%}",
    }


def local_rate() -> float:
    """Share of the input that the recorded sessions found in the GPUs' own memory."""
    [row] = measurement("prefix_cache_hit_rates").records(workload="the same, Kimi K2.5, local caches")
    return row["hit_rate"]


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
        "gemma_window": f"{width:,}",
        "gemma_saving": significant(eq.hybrid_saving(context=LONG, **known), 2),
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    return merge(room(), worth(), day(), spared(), conversations(), first_token(), kept(), caches(), layers(), big())
