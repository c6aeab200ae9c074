"""Formulas of the speculation lesson: tokens of a round, its time on the roofline, and where the gain ends.

A round drafts `drafted` tokens for every sequence of the batch and verifies them in one pass of the target model. Each
drafted token is accepted with the same chance, given that those before it were; the target adds one token of its own.
"""

from __future__ import annotations

from sympy import Add, Expr, Le, Mul, Pow, Rational, evaluate

from blackboard.formula import DERIVED, Formula, Max, Source
from blackboard.lessons.batching.equations import (
    balanced_context,
    bandwidth,
    batch,
    bytes_per_param,
    compute_time,
    context,
    critical_batch,
    flop_per_param,
    flops,
    hardware_constant,
    kv,
    memory_time,
    n_active,
    n_total,
    new_token,
    one_sequence,
    real_bandwidth,
    real_flops,
)
from blackboard.lessons.pricing.equations import attention_flop, memory_ratio, memory_ratio_of
from blackboard.lessons.sparsity.equations import bytes_touched, missed
from blackboard.notation import declare, result, symbol

# --- symbols ----------------------------------------------------------------------------------------------------------

drafted = declare(
    "drafted", r"\gamma", "1", "tokens drafted before one pass of the target model verifies them", zero=True
)
acceptance = declare(
    "acceptance",
    r"\alpha_\mathrm{acc}",
    "1",
    "chance that a drafted token is accepted, given that those before it were",
    zero=True,
    most=1,
)
distance = declare(
    "distance",
    r"d_\mathrm{TV}",
    "1",
    "total variation between the draft's distribution and the target's",
    zero=True,
    most=1,
)
target_chance = declare("target_chance", "p_x", "1", "chance that the target gives a token x", zero=True, most=1)
draft_chance = declare(
    "draft_chance", "q_x", "1", "chance that the draft gives a token x in the same context", zero=True, most=1
)
draft_ratio = declare(
    "draft_ratio",
    r"c_\mathrm{draft}",
    "1",
    "time of one draft step divided by that of one decode step of the target",
    zero=True,
)
draft_size = declare("draft_size", r"N_\mathrm{draft}", "parameter", "parameters of the draft model")
draft_kv = declare(
    "draft_kv", r"\kappa_\mathrm{draft}", "byte/token", "KV cache of one token in the draft model", zero=True
)
draft_context = declare(
    "draft_context",
    r"L_\mathrm{draft}",
    "token/sequence",
    "tokens of each sequence whose cache the draft model loads",
    zero=True,
)
draft_training = declare(
    "draft_training",
    r"x_\mathrm{draft}",
    "1",
    "cost of training the draft, divided by that of serving without one",
    zero=True,
)
computed = result(
    "computed",
    r"N_\mathrm{tok}",
    "parameter",
    "parameters whose compute a token takes: the active ones, and attention's FLOPs divided by two",
)
result(
    "tokens_per_round",
    r"\tau_\gamma",
    "token/sequence",
    "tokens that one round of drafting and verifying yields, on average",
)
t_draft = result("t_draft", r"t_\mathrm{draft}", "s", "time of one step of the draft model")
result("t_verify", r"t_\mathrm{verify}", "s", "time of the pass that verifies the drafted tokens")
result("t_round", r"t_\mathrm{round}", "s", "time of drafting and verifying once")
result(
    "verify_ratio",
    r"t_\mathrm{verify}/t_\mathrm{step}",
    "1",
    "time of the checking pass divided by that of a decode step",
)
result("round_ratio", r"t_\mathrm{round}/t_\mathrm{step}", "1", "time of a round divided by that of a decode step")
result(
    "spec_speedup",
    r"S_\mathrm{spec}",
    "1",
    "tokens per second with speculation divided by those without, at the same batch",
)
result(
    "batch_free",
    r"B_\mathrm{free}",
    "sequence",
    "batch up to which checking the guesses takes no longer than a decode step",
)
result(
    "context_free",
    r"L_\mathrm{free}",
    "token/sequence",
    "context from which on checking takes no longer than a decode step, whatever the batch",
)
result(
    "ratio_even",
    r"r_\mathrm{even}",
    "1",
    "memory time divided by compute time of a decode step, below which speculation slows decoding down",
)
result("batch_spec", r"B_\mathrm{even}", "sequence", "batch beyond which speculation slows decoding down")
result(
    "next_tokens", r"\Delta\tau_\gamma", "token/sequence", "what one more drafted token adds to the tokens of a round"
)
result(
    "touched_ratio",
    r"V_{\gamma}/V_0",
    "1",
    "weight bytes that the checking pass loads, divided by those of a decode step",
)
result(
    "spec_saving",
    r"z_\mathrm{spec}",
    "1",
    "share of the cost of serving that speculation saves, training of the draft counted",
)


LEVIATHAN, SPIRE = Source("leviathan2023"), Source("spire")
alike = ("every drafted token is accepted with the same chance", "tokens are accepted independently of each other")
below_one = Le(acceptance, Rational(9999, 10000))
scores = "attention's own FLOPs are left out, or counted as active parameters"
short = "the context is so short that loading its cache takes less than"

# --- tokens of a round ------------------------------------------------------------------------------------------------

acceptance_of = Formula(
    "speculation.acceptance_of",
    "acceptance",
    1 - distance,
    "1",
    "a guess is accepted as often as the two distributions overlap",
    ("it is kept with chance min(1, target over draft)", "of the same context"),
    LEVIATHAN,
)
tokens_per_round = Formula(
    "speculation.tokens_per_round",
    "tokens_per_round",
    new_token * (1 - acceptance ** (drafted + 1)) / (1 - acceptance),
    "token/sequence",
    "the guesses before the first refusal, and one token of the target's own",
    alike,
    LEVIATHAN,
    conditions=(below_one,),
)
next_tokens = Formula(
    "speculation.next_tokens",
    "next_tokens",
    new_token * acceptance ** (drafted + 1),
    "token/sequence",
    "one more drafted token counts only if it and all before it are accepted",
    alike,
    DERIVED,
)

# --- compute of a token -----------------------------------------------------------------------------------------------

computed_of = Formula(
    "speculation.computed_of",
    "computed",
    n_active + attention_flop * context / flop_per_param,
    "parameter",
    "attending to the context takes as much compute as so many more active parameters",
    ("dense attention", "attention computes at the rate of the weights"),
    DERIVED,
    typeset=Add(n_active, attention_flop * context / 2, evaluate=False),
)


def counted(formula: Formula) -> Formula:
    """The formula as the page prints it: what a token computes with, attention counted, in place of N_act."""
    swap = {n_active: computed}
    with evaluate(False):
        typeset = None if formula.typeset is None else formula.typeset.xreplace(swap)
    return Formula(
        f"{formula.name}_counted",
        formula.symbol.name,
        formula.typed.xreplace(swap),
        formula.unit,
        formula.description,
        tuple(each for each in formula.assumes if each != scores),
        formula.source,
        conditions=tuple(condition.xreplace(swap) for condition in formula.conditions),
        typeset=typeset,
    )


# --- time of a round --------------------------------------------------------------------------------------------------

draft_time = Formula(
    "speculation.draft_time",
    "t_draft",
    Max(
        flop_per_param * new_token * batch * draft_size / real_flops,
        (draft_size * bytes_per_param + batch * draft_context * draft_kv) / real_bandwidth,
    ),
    "s",
    "the draft is a model too: it computes, and loads its own weights and cache",
    ("on the same chips as the target, in the same precision", scores),
    SPIRE,
)
verify_compute = Formula(
    "speculation.verify_compute",
    "t_compute",
    compute_time.typed * (drafted + 1),
    "s",
    "the guesses and the token before them all need compute, whether they are accepted or not",
    (scores,),
    DERIVED,
)
verify_time = Formula(
    "speculation.verify_time",
    "t_verify",
    Max(verify_compute.typed, memory_time.typed),
    "s",
    "compute grows with the tokens of the round; weights and cache are loaded once for all of them",
    ("the batch is large enough to touch every expert", scores),
    SPIRE,
    {"compute": verify_compute, "memory": memory_time},
)
round_time = Formula(
    "speculation.round_time",
    "t_round",
    drafted * t_draft + verify_time.typed,
    "s",
    "draft one token after the other, then verify all at once",
    verify_time.assumes,
    SPIRE,
)
verify_ratio = Formula(
    "speculation.verify_ratio",
    "verify_ratio",
    Max(drafted + 1, memory_ratio) / Max(1, memory_ratio),
    "1",
    "checking is free as long as a plain step's memory time is at least γ + 1 times its compute time",
    verify_time.assumes,
    DERIVED,
)

# --- what it gains ----------------------------------------------------------------------------------------------------

tokens = tokens_per_round.typed / new_token
speedup = Formula(
    "speculation.speedup",
    "spec_speedup",
    tokens / (drafted * draft_ratio + verify_ratio.typed),
    "1",
    "tokens of a round divided by its time in decode steps",
    (*alike, *verify_time.assumes),
    DERIVED,
    conditions=(below_one,),
)
speedup_free = Formula(
    "speculation.speedup_free",
    "spec_speedup",
    tokens / (drafted * draft_ratio + 1),
    "1",
    "where checking is free, the draft is the only extra cost of a round",
    (*alike, "verifying takes no longer than a decode step"),
    LEVIATHAN,
    conditions=(below_one,),
)
speedup_busy = Formula(
    "speculation.speedup_busy",
    "spec_speedup",
    tokens / (drafted * draft_ratio + drafted + 1),
    "1",
    "where compute is the bottleneck, every guess is paid for in full and some are thrown away: never above 1",
    (*alike, "a plain decode step waits for compute"),
    DERIVED,
    conditions=(below_one,),
)
round_steps = Formula(
    "speculation.round_steps",
    "round_ratio",
    new_token**-1 * symbol("tokens_per_round") / symbol("spec_speedup"),
    "1",
    "the time of a round in decode steps that a reported gain and its tokens imply",
    (),
    DERIVED,
)


def critical_over(share: Expr) -> Expr:
    """The critical batch divided by a share, as it is to be printed."""
    return Mul(hardware_constant.expr, n_total / n_active, Pow(share, -1), evaluate=False)


# --- where it ends ----------------------------------------------------------------------------------------------------

batch_free = Formula(
    "speculation.batch_free",
    "batch_free",
    critical_batch.typed / (drafted + 1 - context / balanced_context.typed),
    "sequence",
    "up to this batch the checking pass still waits for memory, so checking is free",
    (f"{short} γ + 1 times a token's compute; else checking is free in every batch", scores),
    DERIVED,
    conditions=(Le(context / balanced_context.typed, drafted + 1),),
    typeset=critical_over(Add(drafted, 1, -context / balanced_context.expr, evaluate=False)),
)
attends, loads = (drafted + 1) * new_token * attention_flop, flops * kv / bandwidth  # FLOPs for a token of context
context_free = Formula(
    "speculation.context_free",
    "context_free",
    (drafted + 1) * new_token * flop_per_param * n_active / (loads - attends),
    "token/sequence",
    "from this context on, loading the caches takes longer than all compute, so checking is free at any batch",
    ("dense attention", "attending to a token takes less time than loading it; else there is no such context"),
    DERIVED,
    conditions=(Le(attends / loads, Rational(999, 1000)),),
    typeset=Mul(
        Add(drafted, 1, evaluate=False),
        2 * n_active,
        Pow(Add(loads, -Mul(Add(drafted, 1, evaluate=False), attention_flop, evaluate=False), evaluate=False), -1),
        evaluate=False,
    ),
)
ratio_even = Formula(
    "speculation.ratio_even",
    "ratio_even",
    (drafted + 1) / (tokens - drafted * draft_ratio),
    "1",
    "a plain step's memory time must be at least this many times its compute time, or speculation slows it down",
    (*alike, scores),
    DERIVED,
    conditions=(below_one, Le(drafted * draft_ratio + Rational(1, 1000), tokens)),
)
batch_even = Formula(
    "speculation.batch_even",
    "batch_spec",
    critical_batch.typed / (symbol("ratio_even") - context / balanced_context.typed),
    "sequence",
    "the batch beyond which speculation slows decoding down",
    (
        *ratio_even.assumes,
        "guesses gain where checking is free",
        f"{short} r_even times a token's compute; else no batch loses",
    ),
    DERIVED,
    conditions=(Le(context / balanced_context.typed, symbol("ratio_even")),),
    typeset=critical_over(Add(symbol("ratio_even"), -context / balanced_context.expr, evaluate=False)),
)
batch_free_counted, batch_even_counted = counted(batch_free), counted(batch_even)  # as the cards print them
touched_ratio = Formula(
    "speculation.touched_ratio",
    "touched_ratio",
    (n_active + (n_total - n_active) * (1 - missed ** ((drafted + 1) * batch / one_sequence - 1)))
    * bytes_per_param
    / bytes_touched.typed,
    "1",
    "in a small batch each guess brings experts of its own to load",
    bytes_touched.assumes,
    DERIVED,
    conditions=bytes_touched.conditions,
)

# --- what it is worth over a model's life -----------------------------------------------------------------------------

saving = Formula(
    "speculation.saving",
    "spec_saving",
    1 - 1 / symbol("spec_speedup") - draft_training,
    "1",
    "serving costs as much less as it is faster, and the draft has to be trained once",
    ("a chip's time is all that serving costs",),
    SPIRE,
    conditions=(Le(1, symbol("spec_speedup")),),
)

# --- if compute and memory traffic do not overlap ---------------------------------------------------------------------

speedup_added = Formula(
    "speculation.speedup_added",
    "spec_speedup",
    tokens / (drafted * draft_ratio + (memory_ratio + drafted + 1) / (memory_ratio + 1)),
    "1",
    "if the times of compute and memory traffic add, every guess costs something, and no batch is free",
    (*alike, "compute and memory traffic do not overlap", scores),
    DERIVED,
    conditions=(below_one,),
)
