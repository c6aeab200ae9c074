"""Formulas of the overtraining lesson: what a model costs over its life, where costs balance, and what that says of
its data.

Compute is in FLOPs as training runs them: where generating makes worse use of the chips, its FLOPs count for more. Here
a multiply-add is two FLOPs, as everywhere in this course, and on this part of the board too.
"""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Add, Expr, Le, Mul, Pow

from blackboard.formula import DERIVED, Formula, Max, Source, lecture
from blackboard.lessons.batching.equations import (
    bandwidth,
    context,
    flop_per_param,
    flops,
    kv,
    n_active,
    new_token,
    one_entry,
)
from blackboard.lessons.sparsity.equations import world_rate
from blackboard.notation import constant, declare, result, symbol

# --- symbols ----------------------------------------------------------------------------------------------------------

loss = symbol("loss")
pretrain_tokens = declare("pretrain_tokens", r"D_\mathrm{pre}", "token", "tokens of pre-training", "D_pre")
rl_tokens = declare("rl_tokens", r"D_\mathrm{RL}", "token", "tokens of reinforcement learning", "D_RL", zero=True)
inference_tokens = declare(
    "inference_tokens",
    r"D_\mathrm{inf}",
    "token",
    "tokens that a model generates for its users over its life",
    "D_inf",
    zero=True,
)
prefill_tokens = declare(
    "prefill_tokens", r"D_\mathrm{in}", "token", "tokens that a model reads for its users over its life", zero=True
)
rl_flop = declare(
    "rl_flop",
    r"c_\mathrm{RL}",
    "FLOP/parameter/token",
    "FLOPs of RL per active parameter and token: 2 to generate it, and up to 6 more to train on it",
    "2 to 6",
)
decode_efficiency = declare(
    "decode_efficiency", r"\eta", "1", "MFU of generating divided by MFU of training", "inefficiency, 30%", most=1
)
lifetime = declare("lifetime", r"T_\mathrm{life}", "s", "time for which a model is served", "2 months")
family = declare("family", r"n_\mathrm{family}", "1", "models that share a service's traffic", "5 to 10")
prescribed = declare(
    "prescribed", r"\tau", "token/parameter", "tokens of training per parameter by Chinchilla's rule", "20"
)
train_mfu = declare(
    "train_mfu", r"\mathrm{MFU}_\mathrm{train}", "1", "share of peak FLOPs that a training run uses", most=1
)
chip_flops = declare("chip_flops", r"F_\mathrm{chip}", "FLOP/s/chip", "dense peak rate of one chip")
scale = declare("scale", "x", "1", "what a trade-off changes: a larger x raises one cost and lowers the other")
rise_level = declare("rise_level", "a", "1", "the rising cost at x = 1")
fall_level = declare("fall_level", "b", "1", "the falling cost at x = 1")
rise_power = declare("rise_power", "p", "1", "exponent of the rising cost")
fall_power = declare("fall_power", "q", "1", "exponent of the falling cost")
loss_floor = declare(
    "loss_floor",
    r"\mathcal{L}_\infty",
    "1",
    "fitted: the loss that remains at any size and with any amount of data (nats per token)",
)
loss_size = declare("loss_size", "A_N", "1", "fitted: level of the loss that more parameters would remove")
loss_data = declare("loss_data", "A_D", "1", "fitted: level of the loss that more tokens would remove")
size_power = declare("size_power", r"\alpha_N", "1", "fitted: exponent with which parameters lower the loss", most=1)
data_power = declare("data_power", r"\alpha_D", "1", "fitted: exponent with which tokens lower the loss", most=1)
compute_budget = declare("compute_budget", r"C_\mathrm{train}", "FLOP", "compute for one training run")
result("c_pretrain", r"C_\mathrm{pre}", "FLOP", "compute of pre-training", "6ND")
result("c_rl", r"C_\mathrm{RL}", "FLOP", "compute of RL, in FLOPs at the rate of training")
result("c_inference", r"C_\mathrm{inf}", "FLOP", "compute of serving, in FLOPs at the rate of training")
result("c_total", r"C_\mathrm{tot}", "FLOP", "compute over a model's life, in FLOPs at the rate of training")
result("rl_coefficient", r"\alpha_\mathrm{RL}", "1", "pre-training tokens for each RL token, at equal cost", "alpha")
result(
    "inference_coefficient",
    r"\beta_\mathrm{inf}",
    "1",
    "pre-training tokens for each token served, at equal cost",
    "beta",
)
result("cost_share", "y_C", "1", "share of a model's lifetime compute")
result(
    "chinchilla_tokens",
    r"D_\mathrm{Chin}",
    "token",
    "tokens of training for this size by Chinchilla's rule",
    "20 N",
)
result("overtraining", "o", "1", "tokens of training divided by those of Chinchilla's rule", "100×")
result("training_time", r"T_\mathrm{train}", "s*chip", "chips times the time that they train")
result("scale_best", "x^{*}", "1", "where the sum of a rising and a falling cost is least")
result("rising_share", "y^{*}", "1", "share of the rising cost where the sum is least")
result("equal_penalty", "z_{=}", "1", "cost where both parts are equal, divided by the least cost")
result("best_size", "N^{*}", "parameter", "size that reaches the lowest loss for a compute of training")
result("best_tokens", "D^{*}", "token", "tokens that reach the lowest loss for a compute of training")
result("tokens_for_loss", r"D_{\mathcal{L}}", "token", "tokens that a model of this size needs to reach a loss")
result(
    "inference_over_training",
    r"C_\mathrm{inf}/C_\mathrm{pre}",
    "1",
    "compute of serving divided by that of training, where their sum is least",
)
result(
    "flop_per_token",
    r"c_\mathrm{token}",
    "FLOP/token",
    "cost of a written token: the FLOPs that the chip can do in the time that the token takes",
)
flop_backward = constant(
    "flop_backward",
    "4",
    "FLOP/parameter/token",
    "two multiply-adds per parameter and token: gradients of inputs and of weights",
    value=4,
)
one_token = constant("one_token", "1", "token", "a single token", value=1)


CHINCHILLA, MATX = Source("chinchilla"), Source("matx2025")
PRESCRIBED = 20  # tokens a parameter, the rule of thumb, 1:31:17
flop_trained = flop_per_param + flop_backward  # 6: of each parameter and token of training
rl_most = flop_per_param + flop_trained  # 8: generated, and then trained on, which runs forward once more


def times(*factors: Expr | int, per: Expr | int = 1) -> Expr:
    """A product as it stands, divided by `per`, for the typeset form of a formula."""
    return Mul(*factors, *([] if per == 1 else [Pow(per, -1, evaluate=False)]), evaluate=False)


# --- what a model costs over its life --------------------------------------------------------------------------------

pretrain_compute = Formula(
    "overtraining.pretrain_compute",
    "c_pretrain",
    flop_trained * n_active * pretrain_tokens,
    "FLOP",
    "every training token costs two FLOPs per active parameter going forward and four going backward",
    ("attention's own FLOPs are left out", "nothing is computed twice"),
    lecture("1:21:58"),
)
rl_each = flop_per_param / decode_efficiency + rl_flop - flop_per_param  # of a parameter and a token of RL
RL_EACH = Add(times(2, per=decode_efficiency), rl_flop, -2, evaluate=False)  # as typeset
rl_compute = Formula(
    "overtraining.rl_compute",
    "c_rl",
    rl_each * n_active * rl_tokens,
    "FLOP",
    "RL generates every token, which is slow, and trains on some of them at the full rate; so only the two FLOPs of"
    " generating are divided by η",
    ("training on the answers runs as well as pre-training",),
    lecture("1:21:58"),
    conditions=(Le(flop_per_param, rl_flop), Le(rl_flop, rl_most)),
    typeset=times(RL_EACH, n_active, rl_tokens),
)
inference_compute = Formula(
    "overtraining.inference_compute",
    "c_inference",
    flop_per_param * n_active * inference_tokens / decode_efficiency,
    "FLOP",
    "serving only runs forward; the division by η counts its FLOPs at the rate of training",
    ("prefill is not counted", "loading the KV cache is not counted, except in η"),
    lecture("1:21:58"),
    typeset=times(2, n_active, inference_tokens, per=decode_efficiency),
)
total_compute = Formula(
    "overtraining.total_compute",
    "c_total",
    pretrain_compute.typed + rl_compute.typed + inference_compute.typed,
    "FLOP",
    "what a model costs over its life: pre-training, RL and serving",
    (*pretrain_compute.assumes, *rl_compute.assumes, *inference_compute.assumes),
    lecture("1:23:51"),
    {"pre-training": pretrain_compute, "RL": rl_compute, "inference": inference_compute},
    conditions=rl_compute.conditions,
    typeset=Add(times(6, n_active, pretrain_tokens), rl_compute.typeset, inference_compute.typeset, evaluate=False),
)
SHARES = {
    name: Formula(
        f"overtraining.share_of_{key}",
        "cost_share",
        term.typed / total_compute.typed,
        "1",
        f"the share of {name} in a model's lifetime compute",
        total_compute.assumes,
        DERIVED,
        conditions=rl_compute.conditions,
    )
    for name, key, term in (
        ("pre-training", "pretraining", pretrain_compute),
        ("RL", "rl", rl_compute),
        ("inference", "inference", inference_compute),
    )
}

# --- where costs balance ---------------------------------------------------------------------------------------------

rising, falling = rise_level * scale**rise_power, fall_level * scale**-fall_power  # the two costs of a trade-off
scale_best = Formula(
    "overtraining.scale_best",
    "scale_best",
    (fall_power * fall_level / (rise_power * rise_level)) ** (1 / (rise_power + fall_power)),
    "1",
    "where the sum of a rising and a falling power is least",
    ("both costs are powers",),
    DERIVED,
)
rising_share = Formula(
    "overtraining.rising_share",
    "rising_share",
    fall_power / (rise_power + fall_power),
    "1",
    "at the least sum, rising cost to falling cost is as q to p: half and half only if the exponents are equal",
    scale_best.assumes,
    DERIVED,
    typeset=times(fall_power, per=Add(rise_power, fall_power, evaluate=False)),
)
BOTH = Add(rise_power, fall_power, evaluate=False)
RISE, FALL = times(fall_power, per=BOTH), times(rise_power, per=BOTH)  # the two shares, as typeset
equal_penalty = Formula(
    "overtraining.equal_penalty",
    "equal_penalty",
    2 * rising_share.typed**rising_share.typed * (1 - rising_share.typed) ** (1 - rising_share.typed),
    "1",
    "how much more the sum is where both costs are equal than where it is least; always less than twice",
    scale_best.assumes,
    DERIVED,
    typeset=times(2, Pow(RISE, RISE, evaluate=False), Pow(FALL, FALL, evaluate=False)),
)
rl_coefficient = Formula(
    "overtraining.rl_coefficient",
    "rl_coefficient",
    rl_each / flop_trained,
    "1",
    "how many pre-training tokens cost as much as one token of RL",
    ("pre-training and RL cost the same", *rl_compute.assumes),
    lecture("1:25:28"),
    conditions=rl_compute.conditions,
    typeset=times(RL_EACH, per=6),
)
inference_coefficient = Formula(
    "overtraining.inference_coefficient",
    "inference_coefficient",
    flop_per_param / (flop_trained * decode_efficiency),
    "1",
    "how many pre-training tokens cost as much as one token served",
    ("pre-training and serving cost the same",),
    lecture("1:25:28"),
    typeset=times(2, per=times(6, decode_efficiency)),
)

# --- tokens ----------------------------------------------------------------------------------------------------------

tokens_served = Formula(
    "overtraining.tokens_served",
    "inference_tokens",
    world_rate * lifetime / family,
    "token",
    "a model serves its share of the traffic for as long as it lives",
    ("constant traffic", "the models of a family share it evenly"),
    lecture("1:29:49"),
    typeset=times(world_rate, lifetime, per=family),
)
balanced_tokens = Formula(
    "overtraining.balanced_tokens",
    "pretrain_tokens",
    inference_coefficient.typed * tokens_served.typed,
    "token",
    "the tokens of pre-training that cost as much as serving will",
    inference_coefficient.assumes + tokens_served.assumes,
    lecture("1:30:46"),
    typeset=times(world_rate, lifetime, per=times(3, decode_efficiency, family)),
)
chinchilla_tokens = Formula(
    "overtraining.chinchilla_tokens",
    "chinchilla_tokens",
    prescribed * n_active,
    "token",
    "the rule of thumb for the lowest loss that a training budget buys, whatever serving costs",
    ("dense models", "serving is not counted"),
    lecture("1:31:17"),
    typeset=times(prescribed, n_active),
)
overtraining = Formula(
    "overtraining.overtraining",
    "overtraining",
    pretrain_tokens / chinchilla_tokens.typed,
    "1",
    "how many times as many tokens a model is trained on as Chinchilla's rule gives it",
    ("dense models",),
    lecture("1:31:43"),
    typeset=times(pretrain_tokens, per=times(prescribed, n_active)),
)
training_time = Formula(
    "overtraining.training_time",
    "training_time",
    pretrain_compute.typed / (chip_flops * train_mfu),
    "s*chip",
    "chips times time: the work divided by the rate that one chip reaches",
    pretrain_compute.assumes,
    DERIVED,
    typeset=times(6, n_active, pretrain_tokens, per=times(train_mfu, chip_flops)),
)

# --- with the KV cache (MatX) ----------------------------------------------------------------------------------------

LOADED = times(context, kv, flops, per=bandwidth)  # FLOPs that a chip could do while it loads the KV
decode_flop = Formula(
    "overtraining.decode_flop",
    "flop_per_token",
    Max(flop_per_param * n_active, context * kv * flops / (bandwidth * new_token)),
    "FLOP/token",
    "a token costs its own compute, or the compute that the chip could do while it loads the KV cache, whichever is"
    " more",
    ("computing and loading overlap fully", "the batch is so large that loading the weights costs next to nothing"),
    MATX,
    typeset=Max(2 * n_active, LOADED, evaluate=False),
)
lifetime_with_kv = Formula(
    "overtraining.lifetime_with_kv",
    "c_total",
    flop_trained * n_active * pretrain_tokens
    + flop_per_param * n_active * prefill_tokens
    + decode_flop.typed * inference_tokens,
    "FLOP",
    "training, prefill, and decode at its compute or its KV cache, whichever takes longer",
    (
        "the batch is so large that loading the weights costs next to nothing",
        "training and prefill run at the peak rate",
    ),
    MATX,
    typeset=Add(
        times(6, n_active, pretrain_tokens),
        times(2, n_active, prefill_tokens),
        times(decode_flop.typeset, inference_tokens),
        evaluate=False,
    ),
)

# --- the best size at a loss -----------------------------------------------------------------------------------------

size, data = n_active / one_entry, pretrain_tokens / one_token  # powers need pure numbers
from_size, from_data = loss_size * size**-size_power, loss_data * data**-data_power
PARTS = times(loss_size, n_active**-size_power), times(loss_data, pretrain_tokens**-data_power)  # as typeset
law_loss = Formula(
    "overtraining.law_loss",
    "loss",
    loss_floor + from_size + from_data,
    "1",
    "the loss that nothing removes, plus what a larger model would remove, plus what more data would remove",
    ("dense models", "each token is seen once"),
    CHINCHILLA,
    typeset=Add(loss_floor, *PARTS, evaluate=False),
)


def law_text(known: Mapping[str, float]) -> str:
    """The law with a fit's constants, given by notation name, as statements print it: a phone breaks it before its
    last part.
    """
    at = {name: f"{known[name]:g}" for name in ("loss_floor", "loss_size", "loss_data", "size_power", "data_power")}
    return (
        rf"$\mathcal{{L}} = {at['loss_floor']} + {at['loss_size']} / N^{{{at['size_power']}}}$ "
        rf"${{}} + {at['loss_data']} / D^{{{at['data_power']}}}$ "
        "for $N$ parameters and $D$ tokens"
    )


tokens_for_loss = Formula(
    "overtraining.tokens_for_loss",
    "tokens_for_loss",
    one_token * (loss_data / (loss - loss_floor - from_size)) ** (1 / data_power),
    "token",
    "the tokens with which a model of this size reaches a loss; below some size no amount of data suffices",
    law_loss.assumes,
    CHINCHILLA,
    conditions=(Le(loss_floor + from_size, loss),),
)
budget = compute_budget / (flop_trained * one_entry * one_token)
best_size = Formula(
    "overtraining.best_size",
    "best_size",
    one_entry
    * (size_power * loss_size / (data_power * loss_data)) ** (1 / (size_power + data_power))
    * budget ** (data_power / (size_power + data_power)),
    "parameter",
    "the size with the lowest loss for a training budget",
    law_loss.assumes,
    CHINCHILLA,
)
best_tokens = Formula(
    "overtraining.best_tokens",
    "best_tokens",
    one_token
    * (data_power * loss_data / (size_power * loss_size)) ** (1 / data_power)
    * size ** (size_power / data_power),
    "token",
    "the tokens of the training budget for which this size is the best one",
    law_loss.assumes,
    CHINCHILLA,
)
inference_over_training = Formula(
    "overtraining.inference_over_training",
    "inference_over_training",
    size_power * from_size / (data_power * from_data) - 1,
    "1",
    "at the least lifetime cost, serving divided by training follows from how the loss responds to size and to data",
    (*law_loss.assumes, "compute of serving is proportional to size"),
    DERIVED,
    conditions=(Le(data_power * from_data, size_power * from_size),),
    typeset=Add(times(size_power, *PARTS[0].args, per=times(data_power, *PARTS[1].args)), -1, evaluate=False),
)
