"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist, linear_regression

from blackboard.catalogue import chip, measurement, model, scaling_law
from blackboard.lessons.corpus import equations as eq
from blackboard.lessons.corpus import simulation
from blackboard.lessons.overtraining import equations as law
from blackboard.search import find_root
from blackboard.text import merge
from blackboard.units import factor, significant

SMALL, LARGE = "LLäMmlein 120M", "LLäMmlein 1B"
NETS = {SMALL: "llammlein-120m", LARGE: "llammlein-1b"}
DOLLARS = 2  # of a GPU-hour
PASSES = 5  # up to which published runs agree with the law of repetition, so at which the lesson's rule stops
FIT, OTHER_FIT = "Besiroglu", "Hoffmann, TeX source"


def german_text() -> dict[str, float]:
    """The pool of the larger LLäMmlein's text, and what its filters kept."""
    [row] = measurement("filtering_kept").records(kept="LLäMmlein")
    return row


def run(name: str) -> dict[str, float]:
    """What the paper prints of a run, with its tokens counted from steps, the parameters of the architecture, and the
    larger model's text as its filters left it, of which the paper's table gives only two digits.
    """
    [row] = measurement("llammlein_training").records(model=name)
    if name == LARGE:
        text = german_text()
        row = row | {"unique_tokens": text["kept_tokens"]}
    tokens = row["steps"] * eq.step_tokens(batch=row["batch"], context=row["context_tokens"])
    return row | {"tokens": tokens, "n_active": model(NETS[name]).n_active}


def fitted(fit: str = FIT) -> dict[str, float]:
    """The constants of a loss law by notation name."""
    return scaling_law(fit)


def reuse() -> float:
    """Muennighoff's fitted number of repetitions."""
    return measurement("repeated_data_law").records()[0]["R_D"]


def worth(tokens: float, unique: float) -> float:
    """Fresh tokens that a run over `unique` tokens is worth."""
    return eq.data_worth(pretrain_tokens=tokens, unique_tokens=unique, reuse=reuse())


def trillions(tokens: float, digits: int = 3) -> str:
    """A number of tokens in words."""
    return (
        f"{significant(tokens / 1e12, digits)} trillion"
        if tokens >= 1e12
        else f"{significant(tokens / 1e9, digits)} billion"
    )


def there() -> dict[str, str]:
    """How much text there is."""
    [stock] = measurement("text_stock").records()
    return {"text_all": trillions(stock["tokens"])}


def paid() -> float:
    """Dollars of the larger run's GPU-hours."""
    return DOLLARS * run(LARGE)["training_GPU_hours"]


def runs() -> dict[str, str]:
    """What the larger run was, by arithmetic."""
    row, peak = run(LARGE), chip("a100-80gb").flops("bf16")
    size, time = {"n_active": row["n_active"]}, row["training_GPU_hours"] * factor("h")
    over = lambda of: significant(
        law.overtraining(pretrain_tokens=of["tokens"], prescribed=law.PRESCRIBED, n_active=of["n_active"]), 3
    )
    mfu = eq.mfu_reached(size, pretrain_tokens=row["tokens"], chip_flops=peak, chip_time=time)
    return {
        "tokens_1b": trillions(row["pretraining_tokens"], 1),
        "over_1b": over(row),
        "over_120": over(run(SMALL)),
        "unique_1b": trillions(row["unique_tokens"]),
        "epochs_1b": significant(row["tokens"] / row["unique_tokens"], 2),
        "mfu_1b": f"{mfu:.0%}",
        "all_dollars": f"${paid():,.0f}",
    }


def at_end(fit: str, id: str = NETS[LARGE]) -> dict[str, float]:
    """A fit's constants with the size of a model and the tokens that it was trained on."""
    return fitted(fit) | {"n_active": model(id).n_active, "pretrain_tokens": model(id).training_tokens}


def elsewhere() -> tuple[float, float]:
    """Parameters and tokens of a fresh model of the best size, on the compute of the last two thirds of the run."""
    large, third = at_end(FIT), simulation.checkpoints(LARGE).tokens[2]
    budget = law.pretrain_compute(large) - law.pretrain_compute(large, pretrain_tokens=third)
    size = law.best_size(fitted(), compute_budget=budget)
    return size, budget / law.pretrain_compute(n_active=size, pretrain_tokens=1)


def twice() -> dict[str, str]:
    """What the fresh model of the best size gains by a filter that lets it read its text just once, on the assumed
    curve; and what its larger size costs in writing, at training's price for compute.
    """
    (size, fresh), large, power = elsewhere(), at_end(FIT), simulation.power_of(2)
    german = german_text()
    better = (german["kept_tokens"] / fresh) ** power  # than the tokens that LLäMmlein read
    gain = eq.loss_left(large, pretrain_tokens=fresh) - eq.loss_left(large, pretrain_tokens=better * fresh)
    flop = DOLLARS * run(LARGE)["training_GPU_hours"] / law.pretrain_compute(large)
    extra = 2 * (size - large["n_active"]) * 1e12 * flop  # two FLOPs for each parameter and token
    return {
        "fresh_share": f"{fresh / german['pool_tokens']:.0%}",
        "fresh_quality": significant((german["pool_tokens"] / fresh) ** power, 2),
        "fresh_gain": significant(gain, 2),
        "extra_trillion": f"${significant(extra / 1e3, 1)},000",
    }


def parts() -> dict[str, str]:
    """What the loss law says of them."""
    known, large = fitted(), at_end(FIT)
    size, fresh = elsewhere()
    best = law.law_loss(known, n_active=size, pretrain_tokens=fresh)
    from_size = law.law_loss(large) - known["loss_floor"] - eq.loss_left(large)
    return {
        "loss_size": f"{known['loss_size']:g}",
        "loss_data": f"{known['loss_data']:,g}",
        "size_1b": significant(from_size, 3),
        "off_data": significant(10 * known["data_power"] * eq.loss_left(large), 3),  # a percent's, in thousandths
        "off_size": significant(10 * known["size_power"] * from_size, 3),
        "size_power": f"{known['size_power']:g}",
        "data_power": f"{known['data_power']:g}",
        "worth_1b": significant(eq.tokens_worth(large), 2),
        "worth_other": significant(eq.tokens_worth(at_end(OTHER_FIT)), 2),
        "left_1b": significant(eq.loss_left(large), 3),
        "best_size": f"{significant(size / 1e9, 2)} billion",
        "best_tokens": trillions(fresh, 2),
        "lost_by_size": significant(law.law_loss(large) - best, 2),
    }


def early(runs: Iterable[simulation.Run]) -> list[simulation.Run]:
    """Of published runs those of up to about PASSES."""
    return [each for each in runs if each.epochs < PASSES + 0.2]


def repeated() -> dict[str, str]:
    """What repeated tokens are worth, and what the longest published runs lost by repeating."""
    large = run(LARGE)
    found = [simulation.published(name) for name in ("2.8B", "4.2B", "8.7B")]
    lost, law_says = ([getattr(rest[-1], of) - rest[0].loss for rest in found] for of in ("loss", "law"))
    small, middle, _ = map(early, found)
    lost_early, law_early = (
        [getattr(min(rest, key=lambda each: abs(each.epochs - PASSES)), of) - rest[0].loss for rest in found]
        for of in ("loss", "law")
    )
    return {
        "reuse": significant(reuse(), 3),
        "worth_limit": significant(eq.worth_limit(unique_tokens=1, reuse=reuse()), 3),
        "worth_llammlein": f"{worth(large['tokens'], large['unique_tokens']) / large['tokens']:.0%}",
        "share_five": f"{worth(PASSES, 1) / PASSES:.0%}",
        **{f"harm_{name}": f"{of(lost):.2f}" for name, of in (("least", min), ("most", max))},
        **{f"law_{name}": f"{of(law_says):.2f}" for name, of in (("least", min), ("most", max))},
        **{f"harm5_{name}": f"{of(lost_early):.3f}" for name, of in (("least", min), ("most", max))},
        **{f"law5_{name}": f"{of(law_early):.3f}" for name, of in (("least", min), ("most", max))},
        "seeds_small": f"{max(each.most - each.least for each in small):.3f}",
        "seeds_middle": f"{max(each.most - each.least for each in middle):.2f}",
        "down_2": f"{eq.repeat_worth(epochs=2, reuse=reuse()):.0%}",
    }


def worst_reuse() -> float:
    """The constant of repetition if all that repeating cost the published runs were the text's wear."""
    return simulation.reuse_if_only_text_wears(PASSES + 0.2)


def misses() -> float:
    """Nats by which the law and the published runs differ at most up to about PASSES."""
    found = [each for name in ("2.8B", "4.2B", "8.7B") for each in early(simulation.published(name))]
    return max(abs(each.loss - each.law) for each in found)


def doubts() -> dict[str, str]:
    """How firm the law is: what the text would have lost at worst, and how well the law's forms fit."""
    large, reuse = run(LARGE), worst_reuse()
    fits = {row["form"]: row["r_squared"] for row in measurement("repeated_data_fits").records()}
    keeps = lambda tokens, text: eq.data_worth(pretrain_tokens=tokens, unique_tokens=text, reuse=reuse) / tokens
    german = german_text()
    pool, kept = german["pool_tokens"], german["kept_tokens"]
    known = {"pretrain_tokens": large["tokens"], "pool_tokens": pool, "reuse": reuse}
    even = lambda kept: eq.quality_even(known, kept_share=kept / pool)
    return {
        "spare": significant(simulation.repeated_law().spare, 2),
        "worst_reuse": significant(reuse, 2),
        "worst_llammlein": f"{keeps(large['tokens'], large['unique_tokens']):.0%}",
        "worst_five": f"{keeps(PASSES, 1):.0%}",
        "worst_more": f"{even(kept) - 1:.0%}",
        "worst_tenth": f"{even(pool / 10) - 1:.0%}",
        "worst_down": f"{1 - eq.repeat_worth(epochs=2, reuse=reuse):.0%}",
        "fit_both": f"{fits['both, exponential']:.2f}",
        "fit_text": f"{fits['data alone']:.2f}",
    }


def passes_or_size() -> dict[str, str]:
    """Two published runs of equal compute over the same text: the larger model, and the law's choice."""
    told: dict[str, str] = {}
    for name, run in (("large", "8.7B"), ("small", "6.3B")):
        [row] = [r for r in measurement("repeated_data_runs").records(run=run) if r["unique_tokens"] == 25e9]
        told |= {
            f"{name}_size": f"{significant(row['n_total'] / 1e9, 2)} billion",
            f"{name}_passes": significant(row["pretraining_tokens"] / row["unique_tokens"], 2),
            f"{name}_loss": f"{row['loss']:.3f}",
        }
    return told | {"suits": f"{significant(simulation.repeated_law().best_size(25e9) / 1e9, 2)} billion"}


def filtered_german() -> dict[str, str]:
    """What LLäMmlein's filters kept, and how much better it had to be."""
    row = german_text()
    pool, kept, tokens = row["pool_tokens"], row["kept_tokens"], run(LARGE)["tokens"]
    more = lambda kept: (
        eq.quality_even(pretrain_tokens=tokens, pool_tokens=pool, kept_share=kept / pool, reuse=reuse()) - 1
    )
    return {
        "pool_de": trillions(pool, 2),
        "kept_de": f"{kept / pool:.0%}",
        "worth_kept": trillions(worth(tokens, kept)),
        "more_llammlein": f"{more(kept):.1%}",
        "more_tenth": f"{more(pool / 10):.0%}",
    }


def strictness() -> dict[str, str]:
    """Points that LLäMmlein's makers lost by not keeping a fifth of the tokens read, on the assumed curve, and how good
    the best tenth must be for that to do no harm by the cautious constant.
    """
    row = german_text()
    tokens, pool = run(LARGE)["tokens"], row["pool_tokens"]
    known = {"pool_tokens": pool, "reuse": reuse(), "quality_power": simulation.power_of(2)}
    token = lambda passes: eq.filtered_worth(known, pretrain_tokens=tokens, kept_share=tokens / passes / pool)
    missed = math.log2(token(PASSES) / token(tokens / row["kept_tokens"]))  # doublings
    share = tokens / PASSES / pool
    needed = eq.quality_even(known, pretrain_tokens=tokens, kept_share=share, reuse=worst_reuse())
    best_tenth = 10 ** (math.log(needed) / math.log(1 / share))
    return {"filter_points": f"{missed * pace(2):.1f}", "times_even": significant(best_tenth, 2)}


def filtered() -> dict[str, str]:
    """What filters keep, and how often to read it."""
    [edu] = measurement("filtering_kept").records(kept="FineWeb-Edu")
    scores = {
        row["text"]: row for row in measurement("filtering_gains").records(benchmark="MMLU", pretraining_tokens=350e9)
    }
    power = simulation.power_of(2)
    best = best_passes(power)
    far = scores["FineWeb"]["pretraining_tokens"] / PASSES / edu["pool_tokens"]
    gain = lambda epochs: eq.filtered_worth(
        pretrain_tokens=1e12, pool_tokens=1e12, kept_share=1 / epochs, reuse=reuse(), quality_power=power
    )
    return {
        "best_balance": significant(best * eq.repeat_worth(epochs=best, reuse=round(reuse(), 1)), 2),
        "quality_power": significant(power, 3),
        "five_costs": f"{1 - gain(PASSES) / gain(best):.0%}",
        **passes_by_quality(),
        "edu_tokens": trillions(scores["FineWeb"]["pretraining_tokens"]),
        "edu_before": f"{scores['FineWeb']['score']:.0%}",
        "edu_after": f"{scores['FineWeb-Edu']['score']:.0%}",
        "edu_share": f"{edu['kept_tokens'] / edu['pool_tokens']:.0%}",
        "far_share": f"{far:.1%}",
        "far_quality": significant(far**-power, 1),
    }


def best_passes(power: float) -> float:
    """Where one more pass adds what the shorter text takes away, with the law's constant as the page prints it."""
    known = {"reuse": round(reuse(), 1)}
    adds = lambda n: n * eq.repeat_worth(known, epochs=n)
    return find_root(
        lambda n: (1 - power) * eq.data_worth(known, pretrain_tokens=n, unique_tokens=1) - adds(n), 1.001, 100
    )


def passes_by_quality() -> dict[str, str]:
    """The best number of passes for filters whose best tenth is better by more or less."""
    told: dict[str, str] = {}
    for n, times in enumerate((1.2, 1.4, 2)):
        power = simulation.power_of(times)
        best = best_passes(power)
        told |= {f"times_{n}": f"{times:g}", f"power_{n}": f"{power:.3f}", f"passes_{n}": f"{best:.1f}"}
    return told


def plateaus() -> dict[str, str]:
    """What the larger model's scores show, and what should have come after a third of its training."""
    tokens, scores = simulation.checkpoints(LARGE)
    early = min(row["steps"] for row in measurement("llammlein_saturated").records(model=LARGE))
    doublings = [math.log2(b / a) for a, b in zip(tokens, tokens[1:])]
    rises = [(b - a) / times for a, b, times in zip(scores, scores[1:], doublings)]
    after = lambda place: f"${significant((1 - tokens[place] / tokens[-1]) * paid() / 1e3, 2)},000"
    return {
        "sat_1b": f"{early:,}",
        "rest_dollars": after(2),
        "last_dollars": after(3),
        "score_2": f"{scores[2]:.1%}",
        **{f"rise_{n}": f"{100 * rise:.1f}" for n, rise in enumerate(rises, 1)},
        "due_rest": f"{pace(4) * sum(doublings[2:]):.1f}",
        "came_2": f"{100 * (scores[-1] - scores[2]):.1f}",
        "due_last": f"{pace(4) * doublings[-1]:.1f}",
        "scatter": f"{scatter():.2f}",
        "stop_chance": f"{NormalDist().cdf(-pace(4) * doublings[-1] / scatter() / math.sqrt(2)):.0%}",
        "limit_low": f"{simulation.fit(LARGE).limit.low:.0%}",
    }


def trend(last: int) -> tuple[float, float, list[float], list[float]]:
    """The straight line through the scores up to this checkpoint: points per doubling, and points after one token;
    with the doublings and the points of all.
    """
    tokens, scores = simulation.checkpoints(LARGE)
    places, points = [math.log2(count) for count in tokens], [100 * score for score in scores]
    line = linear_regression(places[: last + 1], points[: last + 1])
    return line.slope, line.intercept, places, points


def pace(last: int) -> float:
    """Points per doubling up to this checkpoint."""
    return trend(last)[0]


def scatter() -> float:
    """Standard deviation of the scores about the line through all, which has two constants."""
    slope, start, places, points = trend(4)
    return math.sqrt(math.fsum((y - start - slope * x) ** 2 for x, y in zip(places, points)) / (len(places) - 2))


def noise() -> dict[str, str]:
    """How often a paired test would see a gain of one point, and the chance that it and the paper's test have to tell
    it from.
    """
    spread, changes, _ = simulation.spreads(LARGE, 2, -1)
    return {
        "spread_scores": f"{100 * spread:.1f}",
        "spread_changes": f"{100 * changes:.1f}",
        "chance_groups": f"{100 * spread * math.sqrt(2 / 29):.1f}",
        "chance_paired": f"{100 * changes / math.sqrt(29):.1f}",
        "seen_paired": f"{simulation.seen(0.01, changes, paired=True):.0%}",
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    return merge(
        there(),
        runs(),
        parts(),
        twice(),
        repeated(),
        doubts(),
        passes_or_size(),
        filtered(),
        filtered_german(),
        strictness(),
        plateaus(),
        noise(),
    )
