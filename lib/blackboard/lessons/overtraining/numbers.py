"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from blackboard.catalogue import chip, measurement, model, models, scaling_law
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import simulation
from blackboard.lessons.overtraining.equations import PRESCRIBED
from blackboard.page.summary import Page
from blackboard.search import find_root
from blackboard.text import merge
from blackboard.units import factor, pretty, significant

DAY = factor("day")
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
CARD = {"decode_efficiency": 1 / 3, "rl_flop": 3}  # one of the lecture's flashcards
FITS = {"hoffmann": "Hoffmann, as printed", "besiroglu": "Besiroglu"}
FIT = FITS["besiroglu"]  # the page's
OTHERS = (FITS["hoffmann"], "Hoffmann, TeX source")  # Chinchilla's two
ETA = CARD["decode_efficiency"]  # the page's; the lecture says 0.3
NET = model("llama-3.1-8b")  # whose quality the page's running case keeps
CASE = {"world_rate": 2e6, "lifetime": 365 * DAY, "family": 1}  # the running case: its cheapest model has Llama's size
SERVED = eq.tokens_served(CASE)
META_LAW = 402e9, 16.55e12  # parameters and tokens, by section 3.2.1 of the Llama 3 paper, seen in copies
BUDGET = 1e6  # dollars of the page's example of one training run
SISTER = model("llama-3.1-70b")  # which read the same text
SARDANA = 13e9, 2e12  # parameters and tokens served of the paper's example, its figure 1
LATER = ("deepseek-r1", "glm-4.6")  # begun from DeepSeek-V3 and GLM-4.5, whose tokens the catalogue repeats
SMALL = (
    "llammlein-120m",
    "llammlein-1b",
    "llammlein-7b",
    "tinyllama-1.1b",
)  # made to be trained long: the corpus lesson is about them
GPU = "h100-sxm"
LONG: dict[str, Any] = {"context": 16_384}  # a context in which loading the cache sets every bill
FILLED = 0.9  # share of a GPU's memory that weights and caches may fill
# parameters of two of Meta's first Llama models, by their paper, and tokens until a training loss of 1.7, by Timbers
PAIR = (65.2e9, 600e9), (32.5e9, 800e9)
MATX = {"context": 8_192}  # of MatX's example
LOADING = 0.5  # share of the bandwidth at which the running case loads a cache, an assumption


# --- fits and models --------------------------------------------------------------------------------------------------


def law(name: str = FIT) -> dict[str, float]:
    """The constants of a published fit, by notation name."""
    return scaling_law(name)


def law_words(name: str) -> Page:
    """The loss by a published fit, with its constants, as mathematics."""
    of = law(name)
    size, data = (
        rf"{of[f'loss_{part}']:.6g} / {letter}^{{{of[f'{part}_power']:g}}}"
        for part, letter in (("size", "N"), ("data", "D"))
    )
    return Page(rf"\({of['loss_floor']:g} + {size} + {data}\)")


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


def per_size(name: str, n_active: float = BOARD["n_active"]) -> float:
    """Tokens per parameter that a fit prescribes for the best training of this size."""
    return eq.best_tokens(law(name), n_active=n_active) / n_active


# --- the lecture ------------------------------------------------------------------------------------------------------


def rl_price(flop: float, efficiency: float = ETA) -> float:
    """Tokens of training that cost as much as one of RL, if generating alone runs at the efficiency of generating."""
    return eq.rl_coefficient(rl_flop=flop, decode_efficiency=efficiency)


def costs() -> dict[str, str]:
    """What tokens cost at the page's efficiency."""
    return {
        "rl_2": f"{rl_price(2):g}",
        "rl_3": significant(rl_price(3), 2),
        "rl_8": f"{rl_price(8):g}",
        "rl_lecture": f"{divided_rl():g}",
    }


def divided_rl() -> float:
    """Tokens of training for one of RL as the lecture has it: training on the answers divided by the efficiency too."""
    return CARD["rl_flop"] / (6 * CARD["decode_efficiency"])


def squares() -> dict[str, str]:
    """Of x² + 1/x: the share of x² where the sum is least, and what it costs to make both parts equal."""
    powers = {"rise_power": 2, "fall_power": 1}
    return {
        "squared_share": f"{eq.rising_share(powers):.0%}",
        "squared_least": f"{2 / eq.equal_penalty(powers):.2f}",
        "squared_penalty": f"{eq.equal_penalty(powers) - 1:.1%}",
    }


def card_costs() -> dict[str, str]:
    """What the lecture's flashcards say of costs, at its own efficiency too."""
    known, eta = BOARD | CARD, BOARD["decode_efficiency"]
    over = lambda tokens: f"{eq.overtraining(BOARD, pretrain_tokens=tokens):.0f}"
    return {
        "over_rounded": over(ROUNDED),
        "over_rumour": over(RUMOUR),
        "alpha_2": significant(rl_price(2, eta)),
        "alpha_8": significant(rl_price(8, eta)),
        "beta": significant(eq.inference_coefficient(BOARD)),
        "alpha_card": significant(rl_price(known["rl_flop"]), 2),
        "alpha_lecture": f"{divided_rl():g}",
        "beta_card": f"{eq.inference_coefficient(known):g}",
        **squares(),
    }


def tokens() -> dict[str, str]:
    """Tokens served, and how far past Chinchilla a model is that was trained on as many."""
    trillion = lambda value: f"{significant(value / 1e12, 3)} trillion"
    served, over = eq.tokens_served(BOARD), lambda d: eq.overtraining(BOARD, pretrain_tokens=d)
    far = simulation.spread()
    return {
        "seconds": f"{BOARD['lifetime'] / 1e6:.2f} million seconds",
        "served": trillion(served),
        "chinchilla": f"{eq.chinchilla_tokens(BOARD) / 1e12:g} trillion",
        "over": f"{over(served):.0f}",
        "over_low": significant(far.quantile(0.05), 1),
        "over_mid": significant(far.quantile(0.5), 1),
        "over_high": significant(far.quantile(0.95), 1),
    }


# --- the best size at a loss ------------------------------------------------------------------------------------------


def as_good(fit: str = FIT, n_active: float | None = None) -> float:
    """The loss of Llama 3.1 8B, or of a model of another size that is trained best, by a published fit."""
    size = n_active or NET.n_active
    tokens = eq.best_tokens(law(fit), n_active=size) if n_active else NET.training_tokens
    return simulation.loss_of(size, tokens, law(fit))


@cache
def best(fit: str = FIT, served: float = SERVED, efficiency: float = ETA) -> simulation.Trained:
    """The model with the least lifetime cost that is as good as Llama 3.1 8B, by a published fit; with nothing served,
    the one that is best for its training.
    """
    return simulation.best(as_good(fit), served, law(fit), efficiency)


def sized(n_active: float, fit: str = FIT, served: float = SERVED) -> simulation.Trained:
    """The model of a size that is as good as the others."""
    return simulation.trained(n_active, as_good(fit), served, law(fit), ETA)


def llama(served: float = 0.0, fit: str = FIT) -> tuple[simulation.Trained, simulation.Trained]:
    """Llama 3.1 8B, and the model that is as good and best for its training, with the bill of so many tokens served."""
    return sized(NET.n_active, fit, served), sized(best(fit, served=0).n_active, fit, served)


def pairs() -> list[tuple[simulation.Trained, simulation.Trained]]:
    """Llama 3.1 8B and its twin in the running case, by each of the three fits."""
    return [llama(SERVED, fit) for fit in (FIT, *OTHERS)]


def between(amounts: list[float], digits: int) -> str:
    """The least and the most of some dollars, in millions."""
    return f"${min(amounts) / 1e6:.{digits}f} to ${max(amounts) / 1e6:.{digits}f} million"


def smallest(fit: str = FIT) -> float:
    """The size below which no amount of data makes a model as good, by a published fit."""
    known = law(fit)
    return (known["loss_size"] / (as_good(fit) - known["loss_floor"])) ** (1 / known["size_power"])


def equal(fit: str = FIT) -> simulation.Trained:
    """The model whose serving costs what its training costs, as good as the others, by bisection."""
    rises = lambda size: sized(size, fit).inference - sized(size, fit).training
    return sized(find_root(rises, smallest(fit) * 1.001, best(fit, served=0).n_active), fit)


def equal_over(fit: str = FIT) -> float:
    """Lifetime cost where serving costs what training costs, over that of Llama 3.1 8B."""
    return equal(fit).total / sized(NET.n_active, fit).total


def even_served(fit: str = FIT) -> float:
    """Tokens for which the cheapest model is trained on as many as it writes, by bisection."""
    return find_root(lambda served: served - best(fit, served=served).tokens, SERVED / 1000, SERVED)


def balance(fit: str = FIT) -> float:
    """Serving divided by training for which Llama 3.1 8B is the cheapest of all models that are as good, by a fit."""
    return eq.inference_over_training(law(fit), n_active=NET.n_active, pretrain_tokens=NET.training_tokens)


def saved(fit: str = FIT) -> float:
    """Share of both bills of its twin that Llama 3.1 8B saves in the running case, by a published fit."""
    return 1 - sized(NET.n_active, fit).total / sized(best(fit, served=0).n_active, fit).total


def kept(fit: str = FIT) -> float:
    """The size that is as good as Llama 3.1 8B if it keeps to Chinchilla's 20 tokens per parameter, by a fit."""
    return find_root(lambda n: as_good(fit) - simulation.loss_of(n, PRESCRIBED * n, law(fit)), NET.n_active, 1e12)


def kept_saved(fit: str = FIT) -> float:
    """Share of both bills of that model that Llama 3.1 8B saves in the running case."""
    size = kept(fit)
    return 1 - sized(NET.n_active, fit).total / (6 * size * (PRESCRIBED * size + SERVED / (3 * ETA)))


def safe_twin() -> float:
    """The size whose bills, if it is trained by Chinchilla's rule, are those of Llama 3.1 8B in the running case."""
    cost = lambda n: 6 * n * (PRESCRIBED * n + SERVED / (3 * ETA))
    return find_root(lambda n: cost(n) - sized(NET.n_active).total, NET.n_active / 10, NET.n_active * 10)


def needed(size: float) -> float:
    """Tokens that a size needs to be as good, both in units of the best-trained model's: the page's program."""
    known = law()
    size_power, data_power = known["size_power"], known["data_power"]
    return ((size_power + data_power - data_power * size**-size_power) / size_power) ** (-1 / data_power)


def wall(fit: str = FIT) -> float:
    """The size that no data makes as good, in units of the best-trained model's, by a published fit."""
    return smallest(fit) / best(fit, served=0).n_active


def even_below(ratio: float) -> tuple[float, float]:
    """Where serving divided by training of the rule's model is below one: the size at which both bills are equal, in
    units of that model's, and what they cost together, divided by that model's bills.
    """
    size = find_root(lambda n: ratio - needed(n), 1, 1e4)
    return size, 2 * ratio * size / (1 + ratio)


def beats_free(fit: str = FIT) -> tuple[simulation.Trained, float]:
    """The smaller model, as good as Llama 3.1 8B, that pays for its training soonest beside a Llama that is free, and
    the tokens written until then, N D / (N_Llama - N).

    Where they are fewest, N / (N_Llama - N) is what serving divided by training should be at the least cost.
    """

    def short(n: float) -> float:
        own = sized(n, fit).tokens
        return n / (NET.n_active - n) - eq.inference_over_training(law(fit), n_active=n, pretrain_tokens=own)

    row = sized(find_root(short, smallest(fit) * (1 + 1e-6), NET.n_active * (1 - 1e-6)), fit)
    return row, row.n_active * row.tokens / (NET.n_active - row.n_active)


def by_power(power: float, ratio: float) -> tuple[float, float]:
    """The cheapest size in units of the best-trained model's, and the share of both bills that it saves, if a token
    costs as some power of the size; the ratio is that of the best-trained model's serving to its training.
    """
    cost = lambda size: size * needed(size) + ratio * size**power
    size = simulation.lowest(cost, wall() * (1 + 1e-6), 1)
    return size, 1 - cost(size) / (1 + ratio)


def mistaken(times: float, fit: str = FIT, size: float | None = None) -> float:
    """How much too much a model costs that was chosen for the running case's traffic, or one of another size, where the
    traffic turns out so many times as high.
    """
    served = times * SERVED
    return sized(size or best(fit).n_active, fit, served).total / best(fit, served).total - 1


def mistakes() -> dict[str, str]:
    """What the wrong traffic costs by the page's fit and by the others, and what Llama 3.1 8B costs by these."""
    worst = lambda fit: max(mistaken(2, fit), mistaken(1 / 2, fit))
    llamas = sorted(mistaken(2, fit, NET.n_active) for fit in OTHERS)
    return {
        "off_most": f"{worst(FIT):.0%}",
        "off_other": f"{max(worst(fit) for fit in OTHERS):.0%}",
        "llama_off": f"{llamas[0]:.0%} to {llamas[-1]:.0%}",
    }


def other_fits() -> dict[str, str]:
    """The cheapest model by each published fit, and where and how the rule of equal costs is off."""
    found: dict[str, str] = {}
    for key, fit in {**FITS, "tex": OTHERS[1]}.items():
        row, plain, (small, large) = best(fit), best(fit, served=0), llama(SERVED, fit)
        found |= {
            f"own_{key}": f"{per_size(fit):.0f}",
            f"plain_{key}": f"{plain.n_active / 1e9:.0f} billion",
            f"size_{key}": f"{row.n_active / 1e9:.1f} billion",
            f"data_{key}": f"{row.tokens / 1e12:.0f} trillion",
            f"kept_{key}": f"{kept(fit) / 1e9:.0f} billion",
            f"saved_{key}": f"{saved(fit):.0%}",
            f"ratio_{key}": significant(SERVED / plain.tokens, 2),
            f"train_{key}": f"{small.training / large.training:.1f}",
            f"extra_{key}": millions(dollars(small.training - large.training)),
            f"spared_{key}": millions(dollars(large.inference - small.inference)),
            f"times_{key}": f"{row.tokens / plain.tokens:.0f}",
        }
    walls = {f"{wall(fit):.0%}" for fit in OTHERS}
    if len(walls) > 1:
        raise ValueError("the page says that the wall is the same by both")
    shares = sorted(kept_saved(fit) for fit in (FIT, *OTHERS))
    ends = {"kept_least": f"{shares[0]:.0%}", "kept_most": f"{shares[-1]:.0%}"}
    return found | ends | {"wall_other": walls.pop()}


def optimum() -> dict[str, str]:
    """The running case at its best and at equal costs, and the example of Sardana's paper."""
    paper = [row["pretraining_tokens"] / row["n_total"] for row in measurement("chinchilla_table3").records()]
    size, served = SARDANA
    own, loss = law("Sardana"), as_good("Sardana", size)
    return {
        "work_unit": "10²⁴",
        "own_law": law_words(FIT),
        "written": f"{SERVED / 1e12:.0f} trillion",
        "rate": f"{CASE['world_rate'] / 1e6:g} million",
        "case_ratio": significant(SERVED / best(served=0).tokens, 1),
        "equal_lost": f"{equal_over() - 1:.0%}",
        "equal_other": " or ".join(f"{equal_over(fit) - 1:.0%}" for fit in OTHERS),
        "least_size": f"{smallest() / 1e9:.1f} billion",
        "safe_twin": f"{safe_twin() / 1e9:.0f} billion",
        "even_ratio": f"{even_served() / best(served=0).tokens:.0f}",
        "table_least": f"{min(paper):.0f}",
        "table_most": f"{max(paper):.0f}",
        "sardana_law": law_words("Sardana"),
        "sardana_size": f"{simulation.best(loss, served, own).n_active / 1e9:.1f} billion",
        "sardana_saved": f"{simulation.saving(loss, served, own):.0%}",
    }


def texts() -> dict[str, str]:
    """How much text there is, and where equal bills are no help."""
    [pool, *_] = measurement("filtering_kept").records(pool="FineWeb")
    half, half_cost = even_below(1 / 2)
    return {
        "web_tokens": f"{significant(pool['pool_tokens'] / 1e12, 2)} trillion",
        "text_times": significant(equal().tokens / pool["pool_tokens"], 1),
        "safe_tokens": f"{significant(PRESCRIBED * safe_twin() / 1e12, 1)} trillion",
        "low_size": f"{half:.1f}",
        "low_half": f"{half_cost - 1:.0%}",
    }


def pair() -> dict[str, str]:
    """How much more text the smaller of two first Llama models needed for the loss of the larger: read off, by the
    page's fit, and by the others.
    """
    (large, seen), (small, read) = PAIR
    by = lambda fit: eq.tokens_for_loss(law(fit), n_active=small, loss=simulation.loss_of(large, seen, law(fit))) / seen
    return {
        "pair_read": f"{significant(read / seen, 2)} times",
        "pair_fit": significant(by(FIT), 2),
        "pair_other": " and ".join(sorted(significant(by(fit), 2) for fit in OTHERS)),
    }


def rival() -> dict[str, str]:
    """A finished model that took about as much training as the twin beside which Llama would save nothing."""
    [row] = measurement("filtering_gains").records(
        text="DCLM-Baseline", pretraining_tokens=280_000_000_000, benchmark="MMLU"
    )
    return {
        "dclm_size": f"{row['n_total'] / 1e9:.0f} billion",
        "dclm_tokens": f"{row['pretraining_tokens'] / 1e12:.2f} trillion",
        "dclm_score": f"{row['score']:.0%}",
    }


def parts_of(row: simulation.Trained) -> tuple[float, float]:
    """The size part and the data part of a model's loss."""
    known = law(FIT)
    return (
        known["loss_size"] / row.n_active ** known["size_power"],
        known["loss_data"] / row.tokens ** known["data_power"],
    )


def parts() -> dict[str, str]:
    """What Llama 3.1 8B makes of the two parts of its loss; and for which traffic its larger sister is the cheapest."""
    sister = eq.inference_over_training(law(), n_active=SISTER.n_active, pretrain_tokens=SISTER.training_tokens)
    return {
        "cheap_r": f"{balance() + 1:.1f}",
        "cheap_ratio": f"{balance():.1f}",
        "sister_ratio": f"{sister:.1f}",
        "sister_written": f"{significant(sister * SISTER.training_tokens / 1e12, 2)} trillion",
    }


def meta() -> dict[str, str]:
    """Llama 3.1 8B, and the model that reaches the same loss with the least training: what they take and cost."""
    small, large = llama(SERVED)
    [run] = measurement("training_gpu_hours").records(model="Llama 3.1 8B")
    even, hour = breaks_even(small, large), factor("h")
    slow, each = run["training_GPU_hours"] * hour * rent(), dollars((large.inference - small.inference) / SERVED)
    both = lambda row: slow * row.training / small.training + dollars(row.inference)  # if only training were that slow
    told = {
        "meta_size": f"{large.n_active / 1e9:.0f} billion",
        "meta_tokens": f"{significant(large.tokens / 1e12, 2)} trillion",
        "meta_days": f"{even / CASE['world_rate'] / DAY:.0f} days",
        "small_size": f"{small.n_active / 1e9:.2f} billion",
        "small_reported": f"{run['training_GPU_hours'] / 1e6:.2f} million",
        "small_work": in_units(small.training),
        "slow_cost": f"${slow / 1e6:.1f} million",
        "slow_unit": f"${slow / small.training * 1e24 / 1e6:.1f} million",
        "extra_slow": between([slow * (1 - twins.training / ours.training) for ours, twins in pairs()], 1),
        "spared_range": between([dollars(twins.inference - ours.inference) for ours, twins in pairs()], 0),
        "slow_days": f"{slow * (1 - large.training / small.training) / each / CASE['world_rate'] / DAY:.0f}",
        "slow_saved": f"{1 - both(small) / both(large):.0%}",
        "law_each": f"{META_LAW[1] / META_LAW[0]:.0f}",
        "flop_dollars": f"${dollars(1e24) / 1e6:.1f} million",
    }
    for key, row in (("small", small), ("large", large)):
        bills = zip(("training", "serving", "both"), (row.training, row.inference, row.total))
        told |= {f"{key}_{name}": millions(dollars(flop)) for name, flop in bills}
    less, more = llama(SERVED / 10)
    told["saved_tenth"] = f"{1 - less.total / more.total:.0%}"
    return merge(told, ratios_of(small, large))


def ratios_of(small: simulation.Trained, large: simulation.Trained) -> dict[str, str]:
    """Each row of the page's table of bills as a ratio: Llama 3.1 8B's divided by its twin's."""
    rows = {
        "size": (small.n_active, large.n_active),
        "tokens": (small.tokens, large.tokens),
        "training": (small.training, large.training),
        "serving": (small.inference, large.inference),
        "both": (small.total, large.total),
    }
    return {f"llama_{name}": significant(ours / theirs, 2) for name, (ours, theirs) in rows.items()}


def in_units(flop: float) -> str:
    """FLOPs in units of the page's table of training runs."""
    return f"{significant(flop / 1e24, 2)}·10²⁴"


def millions(amount: float) -> str:
    """Dollars as the page's tables print them: to a hundredth of a million below two, to a tenth above."""
    return f"${amount / 1e6:.{2 if amount < 2e6 else 1}f} million"


def breaks_even(small: simulation.Trained, large: simulation.Trained) -> float:
    """Tokens served after which the smaller of two equally good models has cost less, training and all."""
    each = lambda row: eq.inference_compute(n_active=row.n_active, inference_tokens=1, decode_efficiency=ETA)
    return (small.training - large.training) / (each(large) - each(small))


def budget(amount: float = BUDGET) -> float:
    """FLOPs of training that dollars buy, at the rate and the rent of DeepSeek-V3's run."""
    return amount / dollars(1)


tokens_of = eq.pretrain_compute.solve("pretrain_tokens")  # what a budget leaves for a size


def valley() -> dict[str, str]:
    """What a smaller model takes that is as good."""
    return {"half_more": f"{needed(1 / 2) / 2 - 1:.0%}", "wall_share": f"{wall():.0%}"}


# --- against reality --------------------------------------------------------------------------------------------------


def train_rate() -> float:
    """FLOPs in a second of one GPU in DeepSeek-V3's pre-training."""
    [cost] = measurement("deepseek_v3_training_cost").records(stage="pre-training")
    net = model("deepseek-v3")
    work = eq.pretrain_compute(n_active=net.n_active, pretrain_tokens=net.training_tokens)
    return work / (cost["training_GPU_hours"] * factor("h"))


def rent() -> float:
    """Dollars for a second of a GPU, as DeepSeek assumes."""
    [cost] = measurement("deepseek_v3_training_cost").records(stage="pre-training")
    return cost["cost_USD"] / (cost["training_GPU_hours"] * factor("h"))


def dollars(flop: float) -> float:
    """What FLOPs at the rate of training cost: at the rate and the rent of DeepSeek-V3's run."""
    return flop / train_rate() * rent()


def deepseek() -> dict[str, str]:
    """What DeepSeek-V3 cost to train, and how soon serving had cost as much."""
    [cost] = measurement("deepseek_v3_training_cost").records(stage="pre-training")
    [day] = measurement("deepseek_day6_production").records()
    net, h800 = model("deepseek-v3"), chip("h800")
    days = cost["cost_USD"] / day["cost_USD_per_day"]
    prompts = day["input_token_per_day"] - day["cached_input_token_per_day"]  # those that were prefilled
    each = cost["cost_USD"] / net.training_tokens  # $ for a token of training
    read = prompts * each / 3  # a prompt's token goes forward only, and uses the chips as well as training
    alone, beside = ((day["cost_USD_per_day"] - less) / day["output_token_per_day"] for less in (0, read))
    decode = 2 * net.n_active * day["node_decode_token_per_s"] / day["gpus_per_node"]  # FLOPs of a GPU in a second
    million = lambda dollars: f"${dollars * 1e6:.2f}"
    billion = lambda tokens: f"{tokens / 1e9:.0f} billion"
    return {
        "ds_eta": f"{decode / train_rate():.1f}",
        "ds_price": significant(eq.inference_coefficient(decode_efficiency=decode / train_rate()), 2),
        "ds_each": million(each),
        "ds_alone": million(alone),
        "ds_beside": million(beside),
        "ds_left": f"${round(day['cost_USD_per_day'] - read, -3):,.0f}",
        "ds_most": significant(alone / each, 2),
        "ds_least": significant(beside / each, 2),
        "ds_active": f"{net.n_active / 1e9:.1f} billion",
        "peak": pretty(h800.flops("bf16"), "FLOP/s", 3),
        "ds_tokens": f"{net.training_tokens / 1e12:.1f} trillion",
        "ds_hours": f"{cost['training_GPU_hours'] / 1e6:.2f} million",
        "ds_work": in_units(eq.pretrain_compute(n_active=net.n_active, pretrain_tokens=net.training_tokens)),
        "ds_mfu": f"{train_rate() / h800.flops('bf16'):.0%}",
        "ds_cost": f"${cost['cost_USD'] / 1e6:.1f} million",
        "ds_day": f"${day['cost_USD_per_day']:,.0f}",
        "ds_days": f"{days:.0f}",
        "ds_written": billion(day["output_token_per_day"]),
        "ds_prefilled": billion(prompts),
        "ds_rent": f"${rent() * factor('h'):g}",
    }


def models_placed() -> dict[str, str]:
    """How far Llama 3.1 8B is trained past the rule, and the size for which the rule takes as much training."""
    [small] = [p for p in placed() if p.name == "Llama 3.1 8B"]
    larger = (small.n_active * small.tokens / PRESCRIBED) ** 0.5
    return {
        "rule_8": f"{eq.chinchilla_tokens(n_active=small.n_active, prescribed=PRESCRIBED) / 1e9:.0f} billion",
        "tokens_8": f"{small.tokens / 1e12:.0f} trillion",
        "times_8": significant(small.per_active / PRESCRIBED, 2),
        "riddle_size": f"{larger / 1e9:.0f} billion",
    }


def cached(id: str) -> dict[str, Any]:
    """Symbols of the long context with a model and its cache."""
    return model(id).symbols(kv="fp8") | chip(GPU).symbols("fp8") | LONG


def caches() -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of Llama 3.1 8B, and of the model whose cache the larger one is taken to have."""
    return cached("llama-3.1-8b"), cached("qwen3-32b")


def write_rate() -> float:
    """FLOPs in a second of one GPU that generates in the running case."""
    return ETA * train_rate()


def loading_rate() -> float:
    """Bytes per second at which the running case loads a cache."""
    return LOADING * chip(GPU).bandwidth


def cache_seconds(cache: dict) -> float:
    """Seconds to load the cache of the long context once."""
    return LONG["context"] * cache["kv_bytes_per_token"] / loading_rate()


def with_kv() -> dict[str, str]:
    """The two models with their caches: where short contexts end, and what a long one leaves of the saving."""
    (small_cache, large_cache), (small, large) = caches(), llama(SERVED)
    bill = lambda row, cache: dollars(row.training) + SERVED * token_seconds(row, cache) * rent()
    own = write_rate(), loading_rate()
    out = {
        "kv_context": f"{LONG['context']:,}",
        "kv_bandwidth": pretty(chip(GPU).bandwidth, "byte/s", 3),
        "kv_bill_8": millions(SERVED * token_seconds(small, small_cache) * rent()),
        "kv_bill_34": millions(SERVED * token_seconds(large, large_cache) * rent()),
        "kv_saved": millions(bill(large, large_cache) - bill(small, small_cache)),
        "kv_write_rate": pretty(own[0], "FLOP/s", 3),
        "kv_bend_8": f"{round(bend(small, small_cache, *own), -2):,.0f}",
        "kv_bend_full": f"{round(bend(small, small_cache, train_rate(), own[1]), -2):,.0f}",
        "kv_bytes_8": f"{small_cache['kv_bytes_per_token']:,.0f}",
        "kv_ratio": significant(long_ratio(), 1),
    }
    taking_turns = [2 * row.n_active / own[0] + cache_seconds(small_cache) for row in (small, large)]
    out["kv_added"] = f"{1 - taking_turns[0] / taking_turns[1]:.0%}"
    return merge(out, loading(), alone(), long())


def loading() -> dict[str, str]:
    """Loading the cache of Llama 3.1 8B against a token's arithmetic, in FLOPs; and in MatX's example, at the peak."""
    per_byte, gpu = write_rate() / loading_rate(), chip(GPU)
    peak, cache = gpu.flops("fp8") / gpu.bandwidth, caches()[0]["kv_bytes_per_token"]
    billion = lambda flop: f"{flop / 1e9:.0f} billion"
    ratio = lambda flops: significant(MATX["context"] * cache * flops / (2 * NET.n_active), 2)
    return {
        "kv_per_byte": f"{per_byte:.0f}",
        "kv_load": billion(LONG["context"] * cache * per_byte),
        "kv_compute": billion(2 * NET.n_active),
        "matx_per_byte": significant(peak, 1),
        "matx_ratio": ratio(peak),
        "matx_ours": ratio(per_byte),
    }


def long_ratio() -> float:
    """Serving divided by training of the larger model in the long context."""
    large = llama(SERVED)[1]
    return SERVED * token_seconds(large, caches()[1]) * rent() / dollars(large.training)


def long() -> dict[str, str]:
    """The best size and what it saves: in short contexts, where a token costs as the size, and in the long one, where
    it costs as the root.
    """
    size, root = by_power(0.5, float(significant(long_ratio(), 1)))
    short_size, short_full = by_power(1, float(significant(SERVED / best(served=0).tokens, 1)))
    return {
        "long_size": f"{size:.0%}",
        "long_root": f"{root:.0%}",
        "short_size": f"{short_size:.0%}",
        "short_full": f"{short_full:.0%}",
    }


def alone() -> dict[str, str]:
    """The two models on one GPU each, with weights of a byte: what loading the weights adds to loading a cache."""
    loaded: dict[str, float] = {}
    (small, large), (small_cache, large_cache) = llama(), caches()
    for key, row, kv in (("8", small, small_cache), ("34", large, large_cache), ("same", large, small_cache)):
        own = LONG["context"] * kv["kv_bytes_per_token"]
        room = (FILLED * chip(GPU).hbm_bytes - row.n_active) // own
        loaded[key] = own + row.n_active / room
    return {"kv_same": f"{loaded['8'] / loaded['same']:.0%}", "kv_alone": f"{loaded['8'] / loaded['34']:.0%}"}


def bend(row: simulation.Trained, cache: dict[str, Any], flops: float, bandwidth: float) -> float:
    """The context at which loading a model's cache takes as long as the compute of a token."""
    one_token = cache | {"flops": flops, "bandwidth": bandwidth, "context": 1}
    return eq.decode_flop(one_token, n_active=row.n_active, context=0) / eq.decode_flop(one_token, n_active=1)


def token_seconds(row: simulation.Trained, cache: dict[str, Any]) -> float:
    """GPU-seconds of a token written by the running case with a long context: compute at the rate of writing, or the
    loading of the cache at a share of the bandwidth, whichever takes longer.
    """
    known = cache | {"flops": write_rate(), "bandwidth": loading_rate()}
    return eq.decode_flop(known, n_active=row.n_active) / write_rate()


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    found = merge(valley(), costs(), tokens(), optimum(), texts(), parts(), pair(), rival(), other_fits(), mistakes())
    return merge(found, meta(), deepseek(), models_placed(), with_kv())
