"""Formulas of the corpus lesson: what a run's tokens are worth, when they repeat, when they are filtered, when scores
level off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Add, Expr, Function, Le, Symbol, exp

from blackboard.formula import DERIVED, Formula, Max, Min, Source
from blackboard.lessons.batching.equations import batch, context
from blackboard.lessons.overtraining.equations import (
    PARTS,
    chip_flops,
    data_power,
    from_data,
    from_size,
    law_loss,
    pretrain_compute,
    pretrain_tokens,
    size_power,
    times,
)
from blackboard.notation import declare, lookup, result, symbol

if TYPE_CHECKING:
    from sympy.printing.latex import LatexPrinter

# --- symbols ----------------------------------------------------------------------------------------------------------

unique_tokens = declare("unique_tokens", r"D_\mathrm{uniq}", "token", "different tokens in the training text")
epochs = declare("epochs", r"n_\mathrm{epoch}", "1", "times that training passes over its data")
reuse = declare(
    "reuse", r"n_\mathrm{reuse}", "1", "fitted: repetitions after which a token is worth 1/e of a fresh one"
)
kept_share = declare("kept_share", r"x_\mathrm{keep}", "1", "share of a pool of tokens that a filter keeps", most=1)
pool_tokens = declare("pool_tokens", r"D_\mathrm{pool}", "token", "tokens before the filter")
quality_power = declare(
    "quality_power", "p_q", "1", "assumed: exponent with which the worth of kept tokens rises as fewer are kept", most=1
)
score_limit = declare("score_limit", r"s_\infty", "1", "fitted: score that the curve approaches with unlimited tokens")
score_gap = declare(
    "score_gap", r"s_\mathrm{gap}", "1", "fitted: distance to the limit after the reference number of tokens"
)
score_power = declare("score_power", "p_s", "1", "fitted: exponent with which the distance to the limit shrinks")
token_scale = declare("token_scale", r"D_\mathrm{ref}", "token", "reference number of tokens")
chip_time = declare(
    "chip_time", r"T_\mathrm{spent}", "s*chip", "chips times time that a training run is reported to have taken"
)
result("step_tokens", r"D_\mathrm{step}", "token", "tokens of one step of training")
result("mfu_reached", r"\mathrm{MFU}_\mathrm{spent}", "1", "share of peak FLOPs that a reported training run used")
result("loss_left", r"\mathcal{L}_D", "1", "loss that unlimited data would still remove")
result(
    "tokens_worth",
    "w_D",
    "1",
    "how much one percent more tokens lowers the loss, divided by what one percent more parameters does",
)
result("data_worth", r"D_\mathrm{worth}", "token", "fresh tokens that would teach as much as the repeated ones")
result(
    "filtered_worth",
    r"D_\mathrm{filt}",
    "token",
    "average tokens that would teach as much as the kept ones",
)
result("worth_limit", r"D_\infty", "token", "fresh tokens that a text is worth if it is repeated without end")
result(
    "repeat_worth",
    r"w_\mathrm{rep}",
    "1",
    "worth of the next token after so many passes, divided by that of a fresh one",
)
result(
    "quality_even",
    r"q_\mathrm{even}",
    "1",
    "worth of a kept token, divided by that of an average one, above which filtering pays",
)
result("score", "s_D", "1", "score on a benchmark")


MUENNIGHOFF = Source("muennighoff2023")
one_pass = Le(1, epochs)

# --- what a run was ---------------------------------------------------------------------------------------------------

step_tokens = Formula(
    "corpus.step_tokens",
    "step_tokens",
    batch * context,
    "token",
    "a training step reads the sequences of its batch, all of them full",
    ("no padding",),
    DERIVED,
)
mfu_reached = Formula(
    "corpus.mfu_reached",
    "mfu_reached",
    pretrain_compute.typed / (chip_flops * chip_time),
    "1",
    "the work of a run divided by what its chips could have done in that time",
    pretrain_compute.assumes,
    DERIVED,
)

# --- tokens against parameters ----------------------------------------------------------------------------------------

loss_left = Formula(
    "corpus.loss_left",
    "loss_left",
    from_data,
    "1",
    "the part of the loss that more data would remove, and a larger model would not",
    law_loss.assumes,
    law_loss.source,
)
tokens_worth = Formula(
    "corpus.tokens_worth",
    "tokens_worth",
    data_power * from_data / (size_power * from_size),
    "1",
    "the ratio is one at the best size for a training budget; below one, compute is better spent on parameters",
    law_loss.assumes,
    DERIVED,
    typeset=times(data_power, *PARTS[1].args, per=times(size_power, *PARTS[0].args)),
)
score = Formula(
    "corpus.score",
    "score",
    score_limit - score_gap * (pretrain_tokens / token_scale) ** -score_power,
    "1",
    "a score whose distance to a limit shrinks as a power of the tokens",
    ("the recipe does not change on the way",),
    DERIVED,
)

# --- data seen more than once -----------------------------------------------------------------------------------------


def typeset_worth(there: Expr) -> Expr:
    """The worth of a run over `there` different tokens, its terms in the order of the passes."""
    repeated = Max(0, Add(times(pretrain_tokens, per=there), -1, evaluate=False), evaluate=False)
    fading = exp(times(-1, repeated, per=reuse), evaluate=False)
    first = Min(pretrain_tokens, there, evaluate=False)
    return Add(first, times(there, reuse, Add(1, times(-1, fading), evaluate=False)), evaluate=False)


data_worth = Formula(
    "corpus.data_worth",
    "data_worth",
    Min(pretrain_tokens, unique_tokens)
    + unique_tokens * reuse * (1 - exp(-Max(0, pretrain_tokens / unique_tokens - 1) / reuse)),
    "token",
    "the first pass counts in full, and every repetition a little less than the one before",
    ("the law's exponents stay as they are",),
    MUENNIGHOFF,
    typeset=typeset_worth(unique_tokens),
)
worth_limit = Formula(
    "corpus.worth_limit",
    "worth_limit",
    unique_tokens * (1 + reuse),
    "token",
    "however often a text is repeated, it is never worth more than this",
    data_worth.assumes,
    MUENNIGHOFF,
    typeset=times(unique_tokens, Add(1, reuse, evaluate=False)),
)
repeat_worth = Formula(
    "corpus.repeat_worth",
    "repeat_worth",
    exp(-(epochs - 1) / reuse),
    "1",
    "after n passes the next token is worth less than a fresh one, by the same factor for each repetition",
    data_worth.assumes,
    MUENNIGHOFF,
    conditions=(one_pass,),
    typeset=exp(times(-1, Add(epochs, -1, evaluate=False), per=reuse), evaluate=False),
)

# --- data thrown away -------------------------------------------------------------------------------------------------

KEPT = times(kept_share, pool_tokens)
worth = lambda there: data_worth.typed.subs(unique_tokens, there)


class WorthOf(Function):
    """The worth of a run over so many different tokens, printed by its letter: written out, it hides the idea."""

    @property
    def free_symbols(self) -> set[Symbol]:
        """The letter that is printed is one of them."""
        return super().free_symbols | {symbol("data_worth")}

    def doit(self, **hints: bool) -> Expr:
        """The worth written out."""
        return worth(self.args[0].doit(**hints))

    def _latex(self, printer: LatexPrinter) -> str:
        return rf"{lookup('data_worth').latex}({printer.doprint(self.args[0])})"


quality_even = Formula(
    "corpus.quality_even",
    "quality_even",
    worth(pool_tokens) / worth(kept_share * pool_tokens),
    "1",
    "a filter leaves fewer tokens, which repeat more often; each must be better by this, or the filter does harm",
    (*data_worth.assumes, "a better token is worth the same multiple in every pass"),
    DERIVED,
    typeset=times(WorthOf(pool_tokens), per=WorthOf(KEPT)),
)
filtered_worth = Formula(
    "corpus.filtered_worth",
    "filtered_worth",
    kept_share**-quality_power * worth(kept_share * pool_tokens),
    "token",
    "what a filtered pool is worth, in average tokens: the less is kept, the better it is and the more it repeats",
    (*quality_even.assumes, "the best share of a pool is better by a power of it"),
    DERIVED,
    typeset=times(kept_share**-quality_power, WorthOf(KEPT)),
)
