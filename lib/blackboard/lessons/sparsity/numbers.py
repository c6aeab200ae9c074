"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from blackboard.catalogue import chip, gpu_lab, measurement, model
from blackboard.catalogue.running_case import LECTURE_RENT, RUNNING, plain
from blackboard.lessons.batching import equations as step
from blackboard.lessons.sparsity import equations as eq
from blackboard.lessons.sparsity import results
from blackboard.lessons.sparsity.results import (
    ANSWER,
    FAR,
    FIGURE,
    HIGH,
    LOW,
    PAIR,
    PROMPT,
    SPARSE,
    TEAM,
    TEAM_BATCH,
)
from blackboard.notation import latex, lookup, symbol
from blackboard.page.derivation import Derivation
from blackboard.page.summary import Page, fold, table
from blackboard.text import markup, merge
from blackboard.units import factor, pretty, significant

LECTURE_BATCH, DEPARTURES = 2_000, 64  # lecture 0:26:58
ABOUT_300 = 300  # the board's constant, 0:18:25
BOARD_EXPERTS = {"experts": 256, "top_k": 32}  # the board's routing, 0:19:16
LARGEST_DENSE = 1.3e9  # parameters of the largest model with one expert that the fit's authors trained
ROUTED_THIRD = 1 / 3  # of the dense model, if every second feed-forward block is routed; not confirmed
NAMED = model("mixtral-8x7b")  # whose routing the page draws
PROMPTS = 4  # read in one step
DENSE = "Dense-94B"  # what the page calls the dense model of the low gain
FEW = 16  # tokens of a measured layer of experts
SERVED = 256  # requests at a time of a measured server
MEAN_LENGTH = 0.9  # of the nominal prompt and answer: the public runs draw 0.8 to 1.0 of them
LONG_CONTEXT = 32_000  # tokens, with which the two are compared
LONG_BATCH = 150  # sequences of that context, which results.fit beside the weights of eight H200s, index keys included
READ = (2048, 128)  # tokens of prompt and answer of the pair's run that mostly results.reads
LUCK = 2 / 3  # of a results.turning point by the datasheet, below which no count of ours falls


def hardware() -> dict[str, str]:
    """The constant on chips of several generations."""
    least = min((row for row in results.constants() if row.chip.confirmed), key=lambda row: row.value)
    return {
        "c_gb300": f"{chip('gb300-nvl72').hardware_constant('fp4'):.0f}",
        "c_gb200": significant(step.hardware_constant(RUNNING), 4),
        "c_least": f"{least.value:.0f}",
        "c_h100": f"{chip('h100-sxm').hardware_constant('fp8'):.0f}",
        "c_h200": f"{step.hardware_constant(TEAM):.0f}",
        "h200_rate": pretty(chip("h200").flops("fp8"), "FLOP/s", 4),
        "h200_width": pretty(chip("h200").bandwidth, "byte/s", 2),
    }


# --- the batch -------------------------------------------------------------------------------------------------------


def batches() -> dict[str, str]:
    """Critical batches by the two ways to count sparsity, of the team's machine and of the course's rack."""
    known, board = TEAM.symbols(), eq.expert_sparsity(**BOARD_EXPERTS)
    return {
        "board_sparsity": f"{board:g}",
        "board_batch": f"{ABOUT_300 * board:,.0f}",
        "sparsity": significant(eq.sparsity(TEAM), 3),
        "critical": f"{step.critical_batch(RUNNING):,.0f}",
        "team_critical": significant(step.critical_batch(TEAM), 2),
        "team_experts": significant(eq.expert_batch(TEAM), 2),
        "experts": f"{known['experts']:g}",
        "top_k": f"{known['top_k']:g}",
    }


def layers() -> dict[str, str]:
    """Computing and loading of common parts and experts at the critical batch, one after the other."""
    known, critical, told = TEAM.symbols(), step.critical_batch(TEAM), lambda value: f"{value * 1e3:.1f} ms"
    parts = {"batch": critical, "n_routed": eq.routed_params(TEAM)}
    rest, load = known["n_total"] - parts["n_routed"], known["bytes_per_param"] / known["bandwidth"]
    whole, dense = step.compute_time(TEAM, batch=critical), eq.dense_time(TEAM, **parts)
    layered, roofline = eq.layered_time(TEAM, **parts), step.step_time(TEAM, batch=critical, context=0)
    return {
        "dense_loads": told(rest * load),
        "experts_compute": told(whole - dense),
        "layered": told(layered),
        "layered_dense": told(dense),
        "layered_experts": told(eq.experts_time(TEAM, **parts)),
        "roofline": told(roofline),
    }


def contexts() -> dict[str, str]:
    """What a sequence's KV cache takes of its compute time, at the team's context."""
    known, told = TEAM.symbols(), lambda seconds: f"{seconds * 1e6:.2f} µs"
    computes, loads = step.compute_time(TEAM, batch=1), step.kv_time(TEAM, batch=1)
    return {
        "team_rate": pretty(known["flops"], "FLOP/s", 4),
        "team_width": pretty(known["bandwidth"], "byte/s", 3),
        "balanced": significant(step.balanced_context(TEAM), 3),
        "kv": pretty(known["kv_bytes_per_token"], "byte", 4),
        "kv_cache": pretty(TEAM.context * known["kv_bytes_per_token"], "byte", 4),
        "with_kv": significant(step.crossing(TEAM), 2),
        "token_computes": told(computes),
        "kv_loads": told(loads),
        "left_to_load": told(computes - loads),
        "attends": told(results.attending()),
        "attended_critical": significant(results.even_attended(1), 3),
    }


def held(sequences: float) -> str:
    """A number of sequences that fit, rounded down to tens."""
    return f"{sequences // 10 * 10:,.0f}"


def as_good() -> dict[str, str]:
    """DeepSeek-V3 beside dense models that are as good by one published comparison or the other."""
    known = TEAM.symbols()
    return {
        "g_low": f"{LOW:g}",
        "g_high": f"{HIGH:g}",
        "g_far": f"{FAR:g}",
        "even_low": significant(eq.break_even(TEAM, quality_gain=LOW), 2),
        "g_fit": significant(results.fitted_gain(TEAM.model), 2),
        "fit_largest": f"{LARGEST_DENSE / 1e9:g} billion",
        "more_memory_low": significant(known["n_total"] / (LOW * known["n_active"]), 2),
    }


def critical_in_letters() -> Page:
    """The critical batch step by step, behind one line."""
    batch = symbol("batch")
    both = Derivation(
        step.weight_time.expr,
        step.compute_time.expr,
        "Loading $N_\\mathrm{tot}$ parameters of $b_w$ bytes, at $W$ bytes per second, takes as long as computing with"
        " $N_\\mathrm{act}$ for $B$ tokens, at $F$ FLOP per second:",
    )
    both.solve(batch, symbol("batch_critical"), "Solve for the batch. One factor is the hardware's, one the model's:")
    say = (
        "The batch does not depend on the model's size, because a model twice as large takes twice as long to load and"
        " to compute. Nor does it depend on the number of GPUs, because more of them are faster at both. So the tokens"
        " are those of all eight together."
    )
    shown = both.gives(step.critical_batch)._repr_html_() + f"<p>{markup(say)}</p>"
    return fold("What is the critical batch in letters?", shown)


def tie_in_letters() -> Page:
    """The break-even batch step by step, behind one line."""
    batch, gain, context = symbol("batch"), symbol("quality_gain"), significant(TEAM.context, 4)
    tie = Derivation(
        step.memory_time.expr,
        gain * step.compute_time.expr,
        "At the tie, loading the sparse model's weights and KV caches ($\\kappa$ bytes for each token of context) takes"
        " as long as computing with a dense model of $g$ times its active parameters:",
    )
    tie.solve(batch, symbol("batch_even"), "Solve for the batch, and write it with $C$, $s$ and $L^*$:")
    critical, balanced = significant(step.critical_batch(TEAM), 2), significant(step.balanced_context(TEAM), 3)
    even, bare, attended = (
        significant(value, 2)
        for value in (
            eq.break_even(TEAM, quality_gain=LOW),
            eq.break_even(TEAM, quality_gain=LOW, context=0),
            results.even_attended(LOW),
        )
    )
    first = f"KV caches delay the tie, because {DENSE} loads them while it computes, and DeepSeek-V3 waits for them."
    say = (
        f"At the balanced context $L^*$ = {balanced} tokens, loading a cache takes as long as computing a token. So at"
        f" $g$ = {LOW:g} the batch is {critical} / ({LOW:g} − {context} / {balanced}) ≈ {even}. The formula holds while"
        " the dense model is limited by computing."
    )
    other = (
        f"Without caches, as in the chart above, {bare} sequences tie. With caches and attention's arithmetic,"
        f" {attended} do: this arithmetic delays {DENSE} by {results.attending() * 1e6:.2f} µs for each, but not"
        " DeepSeek-V3, which waits for its weights anyway."
    )
    said = [f"<p>{markup(text)}</p>" for text in (first, say, other)]
    shown = said[0] + tie.gives(eq.break_even)._repr_html_() + said[1] + said[2]
    return fold("How many sequences would make a tie in generating?", shown)


def team() -> dict[str, str]:
    """The worked decision: what each token and each request costs the team, and what turns the decision."""
    batch, tokens = TEAM_BATCH, results.shared_tokens()
    sparse, one = results.team_steps(batch, LOW).sparse, step.compute_time(TEAM, batch=1)
    told = lambda seconds: f"{seconds * 1e3:.1f} ms"
    return (
        {
            "team_batch": f"{batch}",
            "team_prompt": f"{PROMPT:,}",
            "three_prompts": f"{3 * PROMPT:,}",
            "prompts_each": f"{PROMPT / ANSWER:g}",
            "team_answer": f"{ANSWER}",
            "team_context": f"{TEAM.context:,.0f}",
            "team_fits": held(eq.batch_fits(TEAM)),
            "team_sparse": told(sparse),
            "team_computes": told(batch * one),
            "team_shared_prompts": f"{tokens - batch:,.0f}",
            "team_shared_tokens": f"{tokens:,.0f}",
            "team_shared_computes": told(tokens * one),
            "team_rent_sparse": rented(1),
            "team_shared_rent_sparse": rented(1, mixed=True),
            "team_rent_low": rented(LOW, mixed=True),
            "team_rent_high": rented(HIGH, mixed=True),
        }
        | _turning_points()
        | _two_teams()
        | dense_answers()
    )


def _turning_points() -> dict[str, str]:
    """From which gain on the mixture is cheaper, counted in several ways."""
    batch, (least, most) = TEAM_BATCH, results.ends()
    return {
        "team_gain": significant(results.gain_even(batch, mixed=False), 2),
        "team_gain_mixed": significant(results.gain_even(batch, mixed=True), 2),
        "travels": pretty(results.travelling(), "s", 2),
        "team_gain_mixed_least": significant(results.gain_measured(least), 2),
        "team_gain_real_most": significant(results.gain_measured(most, overlap=False), 2),
    }


def _two_teams() -> dict[str, str]:
    """What changes if two teams share a copy."""
    batch, tokens, (least, most) = TEAM_BATCH, results.shared_tokens(), results.ends()
    return {
        "twice": f"{results.team_steps(2 * batch, LOW, 2 * tokens).sparse * 1e3:.1f} ms",
        "twice_rent_sparse": rented(1, mixed=True, batch=2 * batch),
        "twice_gain": significant(results.turning(PROMPT, ANSWER, 2 * batch), 2),
        "twice_least": f"{results.gain_measured(least, 2 * batch):.1f}",
        "twice_most": f"{results.gain_measured(most, 2 * batch, overlap=False):.1f}",
    }


def dense_answers() -> dict[str, str]:
    """Loading, without KV caches, and computing of the dense model of the low gain in steps that generate."""
    size = LOW * TEAM.symbols()["n_active"]
    one = LOW * step.compute_time(TEAM, batch=1)
    return {
        "dense_size": f"{size / 1e9:.0f} billion",
        "team_dense": f"{results.team_steps(TEAM_BATCH, LOW).dense * 1e3:.1f} ms",
        "dense_token": f"{one * 1e6:.1f} µs",
        "dense_shared": f"{results.shared_tokens() * one * 1e3:.1f} ms",
        "user_speed": significant(1 / (results.shared_tokens() * one), 1),
        "dense_bare": f"{step.weight_time(TEAM, n_total=size) * 1e3:.1f} ms",
    }


def reading() -> dict[str, str]:
    """A step that reads whole prompts, which both models compute for longer than they load."""
    tokens = PROMPTS * PROMPT
    computes = step.compute_time(TEAM, batch=tokens)
    return {
        "read_sparse": f"{computes * 1e3:.1f} ms",
        "read_dense": f"{LOW * computes * 1e3:.1f} ms",
    }


def rented(gain: float, mixed: bool = False, batch: float = TEAM_BATCH) -> str:
    """USD for the team's machine during a million requests, by the dense model; by DeepSeek-V3 at a gain of 1."""
    return f"${results.request(gain, mixed, batch) * 1e6 * TEAM.symbols()['chips'] * LECTURE_RENT / factor('h'):,.0f}"


def traffic() -> dict[str, str]:
    """Tokens per second of a rack, of a chip, and of the world's largest service as published."""
    lecture = {"batch": LECTURE_BATCH, "interval": 1 / DEPARTURES}
    first = measurement("world_tokens").records(counts="all products")[0]
    per_second = lambda row: results.monthly(row["tokens"], row["per"])
    served = {row["who"]: row["throughput_token_per_GPU_per_s"] for row in measurement("decode_per_gpu").records()}
    return {
        "per_rack": f"{step.throughput(**lecture):,.0f}",
        "world_first": f"{per_second(first) / 1e6:.0f} million",
        "world_first_month": f"{first['tokens'] / 1e12:.0f} trillion",
        "world_first_racks": significant(eq.racks_needed(world_rate=per_second(first), **lecture), 3),
        "chip_rate": f"{eq.chip_rate(chips=64, **lecture):,.0f}",
        "served_deepseek": f"{served['DeepSeek in production']:,.0f}",
        "served_vllm": f"{served['vLLM']:,.0f}",
    }


def loaded() -> dict[str, str]:
    """Experts that a measured layer's 16 tokens touched, and the time that they took, beside those of all experts."""
    rows = {row["tokens"]: row for row in gpu_lab.rows("h200", "experts")}
    few, every = rows[FEW], rows[256]  # of the measured, the fewest tokens that touch every expert
    return {
        "few": f"{FEW}",
        "few_covered": f"{eq.coverage(TEAM, batch=FEW):.0%}",
        "few_touched": f"{few['touched'] / every['touched']:.0%}",
        "few_took": f"{few['seconds'] / every['seconds']:.0%}",
    }


def served() -> dict[str, str]:
    """A measured server of eight H200 beside our roofline, which reads as many prompt tokens as it generates."""
    [row] = measurement("serving_deepseek_r1").records(
        engine="trtllm", chip="H200", concurrency=SERVED, tensor_parallel=1, expert_tensor_parallel=1
    )
    tokens = MEAN_LENGTH * row["input_tokens"]
    at = TEAM._replace(context=1.5 * tokens)  # the prompt and half of an answer as long
    floor = max(step.compute_time(at, batch=2 * SERVED), step.memory_time(at, batch=SERVED))
    apart = results.layered_pair(SERVED, at.context, at, tokens=2 * SERVED).sparse + 2 * SERVED * results.travelling()
    return {
        "served_texts": f"{SERVED}",
        "served_tokens": f"{row['input_tokens']:,}",
        "served_took": f"{row['output_token_ms']:.0f} ms",
        "served_floor": f"{floor * 1e3:.0f} ms",
        "served_real": f"{apart * 1e3:.0f} ms",
    }


def pair() -> dict[str, str]:
    """A sparse and a dense model in one engine, and by what factor the datasheet flatters the sparse one."""
    (sparse, dense), rates = PAIR, results.paired_rates()[READ]
    others = [off for cache in ("bf16", "fp8") for at, off in results.flattered(cache).items() if at != READ]
    [gains] = measurement("sglang_large_ep_gains").records()
    return {
        "balanced_speed": f"{gains['decode_balance_speedup']:g}",
        "pair_least": f"{min(others):.1f}",
        "pair_most": f"{max(others):.1f}",
        "pair_sparse": plain(sparse.name),
        "pair_size": significant(dense.n_active / sparse.n_active, 2),
        "pair_active": f"{sparse.n_active / 1e9:.0f} billion",
        "pair_dense": f"{dense.n_active / 1e9:.0f} billion",
        "pair_prompt": f"{READ[0]:,}",
        "pair_answer": f"{READ[1]}",
        "pair_read": f"{results.paired()[READ]:.1f}",
        "pair_stored": f"{sparse.n_total / 1e9:.0f} billion",
        "pair_sparse_rate": f"{rates.sparse:.0f}",
        "pair_dense_rate": f"{rates.dense:.0f}",
    }


def sparse_attention() -> dict[str, str]:
    """How many tokens DeepSeek-V3.2 attends to, what it keeps of each, and from which context on it loads less."""
    [group], known = model(SPARSE).attention, TEAM.symbols()
    loads = results.Pair(*(LONG_BATCH * size / known["bandwidth"] for size in results.cached(LONG_CONTEXT)))
    steps = results.Pair(*(step.weight_time(TEAM) + time for time in loads))
    room = known["hbm"] - known["n_total"] * known["bytes_per_param"]
    return {
        "long_batch": f"{LONG_BATCH}",
        "long_free": pretty(room - LONG_BATCH * model(SPARSE).kv_bytes(LONG_CONTEXT), "byte", 2),
        "long_context": f"{LONG_CONTEXT:,}",
        "long_whole": f"{loads.dense * 1e3:.1f} ms",
        "long_sparse": f"{loads.sparse * 1e3:.1f} ms",
        "long_saves": f"{1 - steps.ratio:.0%}",
        "entry_values": f"{group.kv_rank + group.rope_dim}",
        "key_values": f"{group.index_dim}",
        "chosen": f"{group.top_k:,}",
        "sparse_from": significant(results.sparse_from(), 2),
    }


def worth() -> dict[str, str]:
    """What the lecture's point is worth by the fit, and its neighbours."""
    size, experts = FIGURE["base_size"], FIGURE["experts"]
    return {
        "effective": f"{results.effective(size, experts) / 1e9:.2f} billion",
        "gain": significant(results.gained(experts), 2),
    }


FITTED = ("law_size", "law_experts", "law_both", "law_level", "experts_offset", "experts_most", "experts_one")


def fit_table() -> Page:
    """The fitted constants in the course's symbols, with what they do."""
    known = results.fit() | {"experts_one": results.saturated(1, results.fit())}
    rows = [[f"\\({latex(symbol(name))}\\)", significant(known[name], 3), lookup(name).description] for name in FITTED]
    return table("The fit's constants, rounded, for natural logarithms", ("Letter", "Value", "Meaning"), rows)


def as_good_derived() -> Derivation:
    """The size of the dense model with the same loss, step by step."""
    base, dense, one, counted = map(symbol, ("base_size", "n_effective", "experts_one", "experts_saturated"))
    same = Derivation(
        eq.loss.expr.subs({base: dense, counted: one}),
        eq.loss.expr,
        "A dense model is a model with one expert, for which the count is $\\hat{n}_1$. It has the same loss if",
    )
    return same.solve(dense, dense, "Solve for its size:").gives(eq.n_effective)


def fit_in_full() -> Page:
    """The fit's formulas, its constants and what follows from them, behind one line."""
    (factor_of, power), known = results.closed_form(int(FIGURE["experts"])), results.fit()
    one, most = (significant(known[name], 3) for name in ("experts_offset", "experts_most"))
    say, show = (lambda text: f"<p>{markup(text)}</p>"), (lambda formula: f"<div>\\[{formula.latex}\\]</div>")
    parts = (
        say(
            "This is the fit for the router S-BASE. The loss falls as a power of $N$, the size of the dense model to"
            " which experts are added, and as a power of their number. But experts beyond a few hundred add little, so"
            " the fit counts them in a way that saturates:"
        ),
        show(eq.loss),
        show(eq.experts_saturated),
        fit_table(),
        say(
            f"For one expert the count is nearly $n_0$: {most} · {one} ÷ ({most} + {one}) ="
            f" {significant(results.saturated(1, known), 3)}."
        ),
        as_good_derived()._repr_html_(),
        say(
            f"For {FIGURE['experts']} experts, this is {factor_of:.1f} times $N$ to the power of {power:.4f}. So the"
            f" gain is {factor_of:.1f} divided by $N$ to the power of {1 - power:.4f}: it shrinks as the model grows."
            f" With DeepSeek-V3's {TEAM.symbols()['experts']:.0f} experts and active parameters, it is"
            f" {significant(results.fitted_gain(TEAM.model), 2)}. But that is a long way outside the fit, whose models"
            " also used one expert for a token, not eight. For the largest Qwen3 mixture, the formula gives"
            f" {significant(results.fitted_gain(PAIR[0].id), 2)}, where its makers found {HIGH:g}."
        ),
    )
    return fold("Which formula was fitted, and how does it give these gains?", "".join(parts))


# --- what a step loads ------------------------------------------------------------------------------------------------


def price() -> dict[str, str]:
    """What a model stores, and what a small batch really reads."""
    read_bytes, known = (lambda batch: eq.bytes_touched(TEAM, batch=batch)), TEAM.symbols()
    read = lambda batch: pretty(read_bytes(batch), "byte")
    others = known["n_total"] - known["n_active"]
    return {
        "free_300": significant(eq.free_sparsity(chip("h200"), precision="fp8", bytes_per_param=1, batch=300), 2),
        "n_active": f"{known['n_active'] / 1e9:.1f} billion",
        "named": plain(NAMED.name),
        "context": TEAM.tokens,
        "n_total": f"{TEAM.symbols()['n_total'] / 1e9:.0f} billion",
        "touched_1": read(1),
        "touched_64": read(64),
        "all_weights": read(1e6),
        "covered_64": f"{eq.coverage(TEAM, batch=64):.0%}",
        "left_out": pretty(others * known["bytes_per_param"], "byte"),
    }


def measured() -> dict[str, str]:
    """How many rows a measured product needs before it waits for the multipliers."""
    least, most = results.ends()
    return {"knee_least": f"{least:.0f}", "knee_most": f"{most:.0f}"}


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    sides = (hardware, batches, layers, contexts, as_good, team, traffic, loaded, worth, price, measured, served, pair)
    return merge(*(part() for part in (*sides, reading, sparse_attention)))
