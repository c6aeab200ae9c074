"""What the lesson computes of models that cost least over training and serving; numbers.py words it."""

from __future__ import annotations

from functools import cache
from math import log
from typing import Any, NamedTuple

from blackboard.catalogue import chip, measurement, model, models, scaling_law
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import simulation
from blackboard.lessons.overtraining.equations import PRESCRIBED
from blackboard.search import find_root
from blackboard.units import factor

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
CARD = {"decode_efficiency": 1 / 3, "rl_flop": 3}  # one of the lecture's flashcards
FITS = {"hoffmann": "Hoffmann, as printed", "besiroglu": "Besiroglu"}
FIT = FITS["besiroglu"]  # the page's
OTHERS = (FITS["hoffmann"], "Hoffmann, TeX source")  # Chinchilla's two
ETA = CARD["decode_efficiency"]  # the page's; the lecture says 0.3
NET = model("llama-3.1-8b")  # whose quality the page's running case keeps
CASE = {"world_rate": 2e6, "lifetime": 365 * DAY, "family": 1}  # the running case: its cheapest model has Llama's size
SERVED = eq.tokens_served(CASE)
BUDGET = 1e6  # dollars of the page's example of one training run
LATER = ("deepseek-r1", "glm-4.6")  # begun from DeepSeek-V3 and GLM-4.5, whose tokens the catalogue repeats
SMALL = (
    "llammlein-120m",
    "llammlein-1b",
    "llammlein-7b",
    "tinyllama-1.1b",
)  # made to be trained long: the corpus lesson is about them
GPU = "h100-sxm"
LONG: dict[str, Any] = {"context": 16_384}  # a context in which loading the cache sets every bill
LOADING = 0.5  # share of the bandwidth at which the running case loads a cache, an assumption


# --- fits and models --------------------------------------------------------------------------------------------------


def law(name: str = FIT) -> dict[str, float]:
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


def divided_rl() -> float:
    """Tokens of training for one of RL as the lecture has it: training on the answers divided by the efficiency too."""
    return CARD["rl_flop"] / (6 * CARD["decode_efficiency"])


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


def parts_of(row: simulation.Trained) -> tuple[float, float]:
    """The size part and the data part of a model's loss."""
    known = law(FIT)
    return (
        known["loss_size"] / row.n_active ** known["size_power"],
        known["loss_data"] / row.tokens ** known["data_power"],
    )


def breaks_even(small: simulation.Trained, large: simulation.Trained) -> float:
    """Tokens served after which the smaller of two equally good models has cost less, training and all."""
    each = lambda row: eq.inference_compute(n_active=row.n_active, inference_tokens=1, decode_efficiency=ETA)
    return (small.training - large.training) / (each(large) - each(small))


def budget(amount: float = BUDGET) -> float:
    """FLOPs of training that dollars buy, at the rate and the rent of DeepSeek-V3's run."""
    return amount / dollars(1)


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


def cached(id: str) -> dict[str, Any]:
    """Symbols of the long context with a model and its cache."""
    return model(id).symbols(kv="fp8") | chip(GPU).symbols("fp8") | LONG


def caches() -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of Llama 3.1 8B, and of the model whose cache the larger one is taken to have."""
    return cached("llama-3.1-8b"), cached("qwen3-32b")


def cache_power(id: str) -> float:
    """The power of the size by which the cache grows from Llama 3.1 8B to another model."""
    larger, own = cached(id), caches()[0]
    return log(larger["kv_bytes_per_token"] / own["kv_bytes_per_token"]) / log(model(id).n_active / NET.n_active)


def write_rate() -> float:
    """FLOPs in a second of one GPU that generates in the running case."""
    return ETA * train_rate()


def loading_rate() -> float:
    """Bytes per second at which the running case loads a cache."""
    return LOADING * chip(GPU).bandwidth


def cache_seconds(cache: dict) -> float:
    """Seconds to load the cache of the long context once."""
    return LONG["context"] * cache["kv_bytes_per_token"] / loading_rate()


def long_ratio() -> float:
    """Serving divided by training of the larger model in the long context."""
    large = llama(SERVED)[1]
    return SERVED * token_seconds(large, caches()[1]) * rent() / dollars(large.training)


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
