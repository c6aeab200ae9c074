"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

import html
import math
from functools import cache
from typing import Any, NamedTuple

from blackboard.catalogue import LETTERS, chip, measurement, model, models, scaling_law
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import simulation
from blackboard.lessons.overtraining.equations import PRESCRIBED
from blackboard.notation import latex, symbol
from blackboard.page.summary import Page, table
from blackboard.units import factor, pretty, significant

DAY, YEAR = factor("day"), 365 * factor("day")
# the lecture's numbers: 1:29:49 to 1:31:34
BOARD = {
    "n_active": 100e9,
    "world_rate": 50e6,
    "lifetime": 60 * DAY,
    "family": 1,
    "decode_efficiency": 0.3,
    "prescribed": PRESCRIBED,
}
GENEROUS, ROUNDED, RUMOUR = (
    500e6,
    200e12,
    150e12,
)  # tokens/s before dividing; tokens served as rounded; rumoured tokens of training, 1:31:01
FACTOR = ROUNDED / (PRESCRIBED * BOARD["n_active"])  # the lecture's over-training, 1:31:43
LARGE = 100e9  # stored parameters, from which on we call a model large
CARD = {"decode_efficiency": 1 / 3, "rl_flop": 3}  # one of the lecture's flashcards
FITS = {"hoffmann": "Hoffmann, as printed", "besiroglu": "Besiroglu"}
SARDANA = 13e9, 2e12  # parameters and tokens served of the paper's example, its figure 1
LATER = ("deepseek-r1", "glm-4.6")  # begun from DeepSeek-V3 and GLM-4.5, whose tokens the catalogue repeats
SMALL = (
    "llammlein-120m",
    "llammlein-1b",
    "llammlein-7b",
    "tinyllama-1.1b",
)  # made to be trained long: the corpus lesson is about them
EXAMPLE: dict[str, Any] = {"context": 8_192, "chip": "h100-sxm"}  # MatX's, with a cache of one byte a value


# --- fits and models --------------------------------------------------------------------------------------------------


def law(name: str = FITS["hoffmann"]) -> dict[str, float]:
    """The constants of a published fit, by notation name."""
    return scaling_law(name)


class Placed(NamedTuple):
    """A public model and the tokens that it was trained on."""

    name: str
    n_total: float
    n_active: float
    tokens: float
    confirmed: bool

    @property
    def per_active(self) -> float:
        """Tokens of training for each active parameter."""
        return self.tokens / self.n_active

    @property
    def per_total(self) -> float:
        """Tokens of training for each stored parameter."""
        return self.tokens / self.n_total


@cache
def placed() -> tuple[Placed, ...]:
    """Models with published tokens of training: the catalogue's, and Chinchilla itself; by tokens per active parameter.

    A model that was trained on from another one's weights is left out.
    """
    own = [
        Placed(m.name, m.n_total, m.n_active, m.training_tokens, "training_tokens" not in (m.unconfirmed or {}))
        for m in models()
        if m.training_tokens and m.id not in LATER + SMALL
    ]
    [row] = measurement("training_tokens").records(model="Chinchilla 70B")
    more = [Placed(row["model"], row["n_total"], row["n_active"], row["pretraining_tokens"], row["confirmed"])]
    return tuple(sorted(own + more, key=lambda p: p.per_active))


def fits_table() -> Page:
    """The fitted constants in the course's symbols."""
    names = measurement("scaling_law_constants").column("law")
    rows = [
        [html.escape(name), *(significant(law(name)[key], 4) for key in LETTERS), f"{per_size(name):.0f}"]
        for name in names
    ]
    heads = ("Fit", *(f"\\({latex(symbol(key))}\\)" for key in LETTERS), "tokens per parameter at 100 billion")
    return table("Published fits of the loss to parameters and tokens", heads, rows)


def per_size(name: str, n_active: float = BOARD["n_active"]) -> float:
    """Tokens per parameter that a fit prescribes for the best training of this size."""
    return eq.best_tokens(law(name), n_active=n_active) / n_active


# --- the lecture ------------------------------------------------------------------------------------------------------


def costs() -> dict[str, str]:
    """Coefficients where costs are equal, and what they are with the inefficiency on the wrong side."""
    known = BOARD | CARD
    alpha = lambda flop, eta=BOARD["decode_efficiency"]: eq.rl_coefficient(rl_flop=flop, decode_efficiency=eta)
    beta = eq.inference_coefficient(decode_efficiency=BOARD["decode_efficiency"])
    wrong = lambda flop: flop / 6 * BOARD["decode_efficiency"]
    split = eq.equal_penalty({"rise_power": 2, "fall_power": 1})
    return {
        "alpha_2": significant(alpha(2)),
        "alpha_8": significant(alpha(8)),
        "beta": significant(beta),
        "alpha_card": f"{eq.rl_coefficient(known):g}",
        "beta_card": f"{eq.inference_coefficient(known):g}",
        "per_alpha_2": f"{1 / alpha(2):.2g}",
        "per_alpha_8": f"{1 / alpha(8):.3g}",
        "per_beta": f"{1 / beta:.2g}",
        "per_alpha_card": significant(1 / eq.rl_coefficient(known), 2),
        "per_beta_card": f"{1 / eq.inference_coefficient(known):g}",
        "generated": significant(2 / BOARD["decode_efficiency"], 2),
        "wrong_2": significant(wrong(2), 1),
        "wrong_8": significant(wrong(8), 1),
        "rl_whole": f"{8 / BOARD['decode_efficiency']:.0f}",
        "rl_parts": f"{2 / BOARD['decode_efficiency'] + 6:.0f}",
        "wrong_tokens": f"{1 / wrong(2):.0f}",
        "squared_share": f"{eq.rising_share(rise_power=2, fall_power=1):.0%}",
        "squared_penalty": f"{split - 1:.1%}",
    }


def tokens() -> dict[str, str]:
    """Tokens served, and how far past Chinchilla a model is that was trained on as many."""
    trillion = lambda value: f"{significant(value / 1e12, 3)} trillion"
    served, over = eq.tokens_served(BOARD), lambda d: eq.overtraining(BOARD, pretrain_tokens=d)
    far, (fewest, ten) = simulation.spread(), simulation.RANGES["family"]
    middle = (fewest * ten) ** 0.5  # as the draws take it
    return {
        "seconds": f"{BOARD['lifetime'] / 1e6:.2f} million seconds",
        "served": trillion(served),
        "chinchilla": trillion(eq.chinchilla_tokens(BOARD)),
        "over": f"{over(served):.0f}",
        "over_rounded": f"{over(ROUNDED):.0f}",
        "over_rumour": f"{over(RUMOUR):.0f}",
        "over_low": significant(far.quantile(0.05), 2),
        "over_mid": significant(far.quantile(0.5), 2),
        "over_high": significant(far.quantile(0.95), 2),
        "mid_family": significant(middle, 2),
        "mid_by_family": significant(ten / middle, 3),
        "mid_by_beta": significant(eq.inference_coefficient(BOARD), 3),
    }


# --- the best size at a loss ------------------------------------------------------------------------------------------


def as_good(fit: str, n_active: float = BOARD["n_active"]) -> float:
    """The loss of a model of this size that is trained best, by a published fit."""
    known = law(fit)
    return eq.law_loss(known, n_active=n_active, pretrain_tokens=eq.best_tokens(known, n_active=n_active))


@cache
def best(fit: str, served: float = ROUNDED, efficiency: float = 1.0) -> simulation.Trained:
    """The model with the least lifetime cost that is as good as the lecture's size trained best, by a published fit."""
    return simulation.best(as_good(fit), served, law(fit), efficiency)


def equal_over(fit: str, efficiency: float = 1.0, served: float = ROUNDED) -> float:
    """Lifetime cost where serving costs what training costs, over the least; the smaller of two such sizes, by
    bisection.
    """
    loss, known = as_good(fit), law(fit)
    at = lambda size: simulation.trained(size, loss, served, known, efficiency)
    low, high = (
        (known["loss_size"] / (loss - known["loss_floor"])) ** (1 / known["size_power"]) * 1.001,
        BOARD["n_active"],
    )
    for _ in range(100):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if at(middle).training > at(middle).inference else (low, middle)
    return at(low).total / best(fit, served, efficiency).total


def optima() -> list[list[str]]:
    """What each fit makes of the lecture's traffic, without and with poor use of the chips: the cells of a table."""
    rows = []
    for fit in FITS.values():
        for efficiency in (1.0, BOARD["decode_efficiency"]):
            found = best(fit, efficiency=efficiency)
            own = per_size(fit, found.n_active)
            cells = [
                f"{significant(found.n_active / 1e9, 3)} B",
                f"{significant(found.tokens / 1e12, 3)} T",
                f"{significant(found.tokens_per_param / PRESCRIBED, 2)} × {PRESCRIBED}",
                f"{significant(found.tokens_per_param / own, 2)} × {own:.0f}",
                f"{found.training_share:.0%}",
                f"{equal_over(fit, efficiency) - 1:.1%}",
            ]
            rows.append([html.escape(fit), f"{efficiency:g}", *cells])
    return rows


def optima_table() -> Page:
    """The cheapest model by each fit, and what the rule of equal costs loses against it."""
    heads = (
        "Fit",
        f"\\({latex(symbol('decode_efficiency'))}\\)",
        "cheapest size",
        "trained on",
        f"tokens per parameter, by Chinchilla’s {PRESCRIBED}",
        "the same, by the fit’s own rule",
        "training's share",
        "equal costs lose",
    )
    good, much = f"{BOARD['n_active'] / 1e9:.0f} billion", f"{ROUNDED / 1e12:.0f} trillion tokens"
    caption = f"The cheapest model that is as good as a best-trained {good} and serves {much}"
    return table(caption, heads, optima())


def optimum() -> dict[str, str]:
    """What the fits prescribe for training alone, and the example of Sardana's paper."""
    paper = [row["pretraining_tokens"] / row["n_total"] for row in measurement("chinchilla_table3").records()]
    size, served = SARDANA
    own = law("Sardana"), as_good("Sardana", size)
    found = {
        "equal_lost": f"{equal_over(FITS['besiroglu'], BOARD['decode_efficiency']) - 1:.0%}",
        "table_least": f"{min(paper):.0f}",
        "table_most": f"{max(paper):.0f}",
        "sardana_size": f"{simulation.best(own[1], served, own[0]).n_active / 1e9:.1f} billion",
        "sardana_saved": f"{simulation.saving(own[1], served, own[0]):.0%}",
    }
    for key, fit in FITS.items():
        found[f"own_{key}"] = f"{per_size(fit):.0f}"
        found[f"same_{key}"] = f"{eq.best_tokens(law(fit), n_active=BOARD['n_active']) / 1e12:.1f} trillion"
    return found


def two_models_table() -> Page:
    """Two models that are equally good: the best for its training budget, and the cheapest over its life."""
    fit, efficiency = FITS["besiroglu"], BOARD["decode_efficiency"]
    large = simulation.trained(BOARD["n_active"], as_good(fit), ROUNDED, law(fit), efficiency)
    told = lambda flop: f"{significant(flop / 1e24, 2)}"
    rows = [
        [
            name,
            f"{significant(m.n_active / 1e9, 2)} billion",
            f"{significant(m.tokens / 1e12, 2)} trillion",
            *map(told, (m.training, m.inference, m.total)),
        ]
        for name, m in (("best for its training", large), ("cheapest over its life", best(fit, efficiency=efficiency)))
    ]
    heads = ("Model", "parameters", "trained on", "training", "serving", "both")
    return table("Two equally good models, with bills in 10²⁴ FLOPs at the rate of training", heads, rows)


def chinchilla_budget() -> float:
    """FLOPs in which the model that the rule is named after was trained."""
    [row] = (p for p in placed() if p.name == "Chinchilla 70B")
    return eq.pretrain_compute(n_active=row.n_active, pretrain_tokens=row.tokens)


tokens_of = eq.pretrain_compute.solve("pretrain_tokens")  # what a budget leaves for a size


def valley() -> dict[str, str]:
    """Where the rule of 20 comes from, and how flat the valley is around it."""
    known, gpt = law(FITS["besiroglu"]), model("gpt-3-175b")
    spent = eq.pretrain_compute(n_active=gpt.n_active, pretrain_tokens=gpt.training_tokens)
    ruled, own = math.sqrt(tokens_of(c_pretrain=spent, n_active=1) / PRESCRIBED), chinchilla_budget()
    size = eq.best_size(known, compute_budget=own)
    loss = eq.law_loss(known, n_active=size, pretrain_tokens=tokens_of(c_pretrain=own, n_active=size))
    trained = lambda n: eq.pretrain_compute(
        n_active=n, pretrain_tokens=eq.tokens_for_loss(known, n_active=n, loss=loss)
    )
    times = lambda share: trained(share * size) / own
    return {
        "gpt_size": f"{gpt.n_active / 1e9:.0f} billion",
        "gpt_tokens": f"{gpt.training_tokens / 1e9:.0f} billion",
        "gpt_each": significant(gpt.training_tokens / gpt.n_active, 2),
        "gpt_work": f"{significant(spent / 1e23, 3)}·10²³",
        "gpt_ruled": f"{ruled / 1e9:.0f} billion",
        "gpt_times": significant(gpt.n_active / ruled, 2),
        "half_more": f"{times(1 / 2) - 1:.0%}",
        "quarter_times": significant(times(1 / 4), 2),
        "rounded": f"{ROUNDED / 1e12:.0f} trillion",
    }


# --- against reality --------------------------------------------------------------------------------------------------


def money(reached: float, rent: float) -> dict[str, str]:
    """What the lecture's model costs to train at a run's MFU and rent, alone and with RL and serving."""
    whole = eq.pretrain_compute(BOARD, pretrain_tokens=ROUNDED)
    seconds = eq.training_time(
        BOARD, pretrain_tokens=ROUNDED, chip_flops=chip("h100-sxm").flops("bf16"), train_mfu=reached
    )
    hours = seconds / factor("h")
    cost = hours * rent
    return {
        "whole": f"{whole / 1e26:.1f}·10²⁶",
        "whole_hours": f"{significant(hours / 1e6, 2)} million",
        "whole_cost": f"${significant(cost / 1e6, 3)} million",
        "per_served": f"${significant(cost / ROUNDED * 1e6, 2)}",
        "thirds_cost": f"${significant(3 * cost / 1e6, 3)} million",
        "thirds_served": f"${significant(3 * cost / ROUNDED * 1e6, 3)}",
    }


def deepseek() -> dict[str, str]:
    """What DeepSeek-V3 cost to train, and how soon serving had cost as much."""
    [cost] = measurement("deepseek_v3_training_cost").records(stage="pre-training")
    [day] = measurement("deepseek_day6_production").records()
    net, h800 = model("deepseek-v3"), chip("h800")
    work = eq.pretrain_compute({"n_active": net.n_active, "pretrain_tokens": net.training_tokens})
    reached = work / (cost["training_GPU_hours"] * factor("h") * h800.flops("bf16"))
    days = cost["cost_USD"] / day["cost_USD_per_day"]
    prompts = day["input_token_per_day"] - day["cached_input_token_per_day"]  # those that were prefilled
    rent = cost["cost_USD"] / cost["training_GPU_hours"]
    ratio = net.training_tokens / (days * day["output_token_per_day"])
    beside_prompts = net.training_tokens - days * prompts / 3  # a prompt's token costs a third of a training token
    billion = lambda tokens: f"{tokens / 1e9:.0f} billion"
    return money(reached, rent) | {
        "ds_eta": significant(1 / (3 * ratio), 2),
        "ds_eta_read": significant(days * day["output_token_per_day"] / (3 * beside_prompts), 2),
        "ds_reading": f"{BOARD['decode_efficiency'] * prompts / day['output_token_per_day']:.0%}",
        "ds_reported": f"{measurement('training_mfu_reports').records(model='DeepSeek-V3')[0]['mfu']:.0%}",
        "ds_active": f"{net.n_active / 1e9:.1f} billion",
        "ds_tokens": f"{net.training_tokens / 1e12:.1f} trillion",
        "ds_work": f"{work / 1e24:.2f}·10²⁴",
        "ds_hours": f"{cost['training_GPU_hours'] / 1e6:.2f} million",
        "ds_mfu": f"{reached:.0%}",
        "ds_peak": pretty(h800.flops("bf16"), "FLOP/s", exact=True),
        "ds_cost": f"${cost['cost_USD'] / 1e6:.2f} million",
        "ds_day": f"${day['cost_USD_per_day']:,.0f}",
        "ds_days": f"{days:.0f}",
        "ds_served": f"{days * day['output_token_per_day'] / 1e12:.1f} trillion",
        "ds_written": billion(day["output_token_per_day"]),
        "ds_prefilled": billion(prompts),
        "ds_ratio": significant(ratio, 3),
        "ds_rent": f"${rent:g}",
        "ds_year": significant(YEAR / DAY / days, 2),
    }


def models_placed() -> dict[str, str]:
    """How far public models are trained past the rule."""
    known = {p.name: p for p in placed()}
    times = lambda name, per="per_active": significant(getattr(known[name], per) / PRESCRIBED, 2)
    least, most = placed()[0], placed()[-1]
    [large] = [p for p in placed() if p.n_total > LARGE and p.per_active > FACTOR * PRESCRIBED]
    small = known["Llama 3.1 8B"]
    return {
        "rule_8": f"{eq.chinchilla_tokens(n_active=small.n_active, prescribed=PRESCRIBED) / 1e9:.0f} billion",
        "tokens_8": f"{small.tokens / 1e12:.0f} trillion",
        "large": pretty(LARGE, "parameter"),
        "large_name": large.name,
        "large_times": times(large.name),
        "times_v3": times("DeepSeek-V3"),
        "times_v3_total": times("DeepSeek-V3", "per_total"),
        "times_8": times("Llama 3.1 8B"),
        "most_name": most.name,
        "most_times": significant(most.per_active / PRESCRIBED, 2),
        "least_name": least.name,
        "least_times": significant(least.per_active / PRESCRIBED, 1),
    }


def with_kv() -> dict[str, str]:
    """MatX's example: generating against multiplying, for three models on one chip."""
    out: dict[str, str] = {}
    h100, spent, sizes = chip(EXAMPLE["chip"]), {}, {}
    for key, id in {"8": "llama-3.1-8b", "405": "llama-3.1-405b", "v3": "deepseek-v3"}.items():
        net = model(id)
        known = net.symbols(kv="fp8") | h100.symbols("fp8") | EXAMPLE
        spent[key], sizes[key] = eq.decode_flop(known), net.n_active
        out |= {
            f"kv_{key}": significant(eq.decode_flop(known) / eq.decode_flop(known, context=0), 2),
            f"kv_flop_{key}": f"{significant(eq.decode_flop(known) / 1e9, 2)} GFLOP",
            f"kv_size_{key}": f"{significant(net.n_active / 1e9, 3)} billion",
            f"kv_bytes_{key}": f"{known['kv_bytes_per_token']:,.0f}",
        }
    out["kv_cheaper"] = significant(spent["405"] / spent["8"], 2)
    out["kv_larger"] = significant(sizes["405"] / sizes["8"], 2)
    return out | {"kv_intensity": f"{h100.flops('fp8') / h100.bandwidth:.0f}", "kv_context": f"{EXAMPLE['context']:,}"}


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    return valley() | costs() | tokens() | optimum() | deepseek() | models_placed() | with_kv()
