"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

import math
from statistics import fmean, linear_regression

from blackboard.catalogue import chip, measurement, model, scaling_law
from blackboard.lessons.corpus import equations as eq
from blackboard.lessons.corpus import simulation
from blackboard.lessons.overtraining import equations as law
from blackboard.units import factor, pretty, significant

SMALL, LARGE = "LLäMmlein 120M", "LLäMmlein 1B"
NETS = {SMALL: "llammlein-120m", LARGE: "llammlein-1b"}
EXAMPLE = 1e12, 0.2e12  # tokens of a pool, and of a training on it
FIT, OTHER_FIT = "Besiroglu", "Hoffmann, TeX source"


def run(name: str) -> dict[str, float]:
    """What the paper prints of a run, with its tokens counted from steps, the parameters of the architecture, and the
    larger model's text as its filters left it, of which the paper's table gives only two digits.
    """
    [row] = measurement("llammlein_training").records(model=name)
    if name == LARGE:
        [text] = measurement("filtering_kept").records(kept="LLäMmlein")
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


def points(value: float, digits: int = 2) -> str:
    """A share in points of a hundred."""
    return significant(100 * value, digits)


def runs() -> dict[str, str]:
    """What the larger run was, by arithmetic."""
    row, peak = run(LARGE), chip("a100-80gb").flops("bf16")
    size, time = {"n_active": row["n_active"]}, row["training_GPU_hours"] * factor("h")
    work = law.pretrain_compute(size, pretrain_tokens=row["tokens"])
    over = lambda of: significant(
        law.overtraining(pretrain_tokens=of["tokens"], prescribed=law.PRESCRIBED, n_active=of["n_active"]), 3
    )
    mfu = eq.mfu_reached(size, pretrain_tokens=row["tokens"], chip_flops=peak, chip_time=time)
    return {
        "params_1b": f"{row['n_active'] / 1e9:.2f} billion",
        "rate_1b": pretty(work / time, "FLOP/s", 2),
        "peak_a100": pretty(peak, "FLOP/s", 3),
        "tokens_1b": trillions(row["pretraining_tokens"], 1),
        "batch": f"{row['batch']:,}",
        "context": f"{row['context_tokens']:,}",
        "step_tokens": f"{eq.step_tokens(batch=row['batch'], context=row['context_tokens']):,.0f}",
        "steps_1b": f"{row['steps']:,}",
        "tokens_1b_exact": trillions(row["tokens"], 4),
        "over_1b": over(row),
        "over_120": over(run(SMALL)),
        "unique_1b": trillions(row["unique_tokens"]),
        "epochs_1b": significant(row["tokens"] / row["unique_tokens"], 2),
        "flop_1b": f"{significant(work / 1e22, 3)}·10²² FLOP",
        "hours_1b": f"{row['training_GPU_hours']:,}",
        "mfu_1b": f"{mfu:.0%}",
    }


def at_end(fit: str, id: str = NETS[LARGE]) -> dict[str, float]:
    """A fit's constants with the size of a model and the tokens that it was trained on."""
    return fitted(fit) | {"n_active": model(id).n_active, "pretrain_tokens": model(id).training_tokens}


def parts() -> dict[str, str]:
    """What the loss law says of them."""
    known, large = fitted(), at_end(FIT)
    budget = law.pretrain_compute(large)
    size = law.best_size(known, compute_budget=budget)
    best = law.law_loss(
        known, n_active=size, pretrain_tokens=budget / law.pretrain_compute(n_active=size, pretrain_tokens=1)
    )
    from_size = law.law_loss(large) - known["loss_floor"] - eq.loss_left(large)
    return {
        "worth_gpt3": significant(eq.tokens_worth(at_end(FIT, "gpt-3-175b")), 2),
        "size_1b": significant(from_size, 3),
        "off_data": significant(10 * known["data_power"] * eq.loss_left(large), 3),  # a percent's, in thousandths
        "off_size": significant(10 * known["size_power"] * from_size, 3),
        "size_power": f"{known['size_power']:g}",
        "data_power": f"{known['data_power']:g}",
        "worth_times": significant(1 / eq.tokens_worth(large), 2),
        "worth_1b": significant(eq.tokens_worth(large), 2),
        "worth_low": significant(1 / eq.tokens_worth(at_end(OTHER_FIT)), 2),
        "worth_half": significant(1 / eq.tokens_worth(large, pretrain_tokens=large["pretrain_tokens"] / 2), 2),
        "left_1b": significant(eq.loss_left(large), 3),
        "loss_1b": significant(law.law_loss(large), 3),
        "best_size": f"{significant(size / 1e9, 2)} billion",
        "best_loss": significant(best, 3),
        "lost_by_size": significant(law.law_loss(large) - best, 2),
        "worth_repeated": significant(worth_repeated(), 2),
    }


def worth_repeated() -> float:
    """The worth of one percent more tokens of the larger run, which are repeated, divided by that of parameters."""
    row = run(LARGE)
    fresh = worth(row["tokens"], row["unique_tokens"])
    fades = eq.repeat_worth(epochs=row["tokens"] / row["unique_tokens"], reuse=reuse())
    return eq.tokens_worth(at_end(FIT), pretrain_tokens=fresh) * fades * row["tokens"] / fresh


def repeated() -> dict[str, str]:
    """What repeated tokens are worth."""
    large = run(LARGE)
    return {
        "reuse": significant(reuse(), 3),
        "worth_limit": significant(eq.worth_limit(unique_tokens=1, reuse=reuse()), 3),
        "worth_llammlein": f"{worth(large['tokens'], large['unique_tokens']) / large['tokens']:.0%}",
        "share_five": f"{worth(5, 1) / 5:.0%}",
        "fades_2": f"{eq.repeat_worth(epochs=2, reuse=reuse()):.0%}",
        **{f"reading_{n}": f"{worth(n, 1) - worth(n - 1, 1):.0%}" for n in (2, 5, 10)},
    }


def filtered_german() -> dict[str, str]:
    """What LLäMmlein's filters kept, how much better it had to be, and what other filters would be worth."""
    [row] = measurement("filtering_kept").records(kept="LLäMmlein")
    pool, kept, tokens = row["pool_tokens"], row["kept_tokens"], run(LARGE)["tokens"]
    known = {"pretrain_tokens": tokens, "pool_tokens": pool, "reuse": reuse()}
    needed = lambda share: eq.quality_even(known, kept_share=share)
    quality = lambda share: eq.filtered_worth(known, kept_share=share, quality_power=simulation.power_of(2)) / tokens
    return {
        "pool_de": trillions(pool, 2),
        "kept_de": trillions(kept),
        "worth_pool": trillions(worth(tokens, pool), 4),
        "worth_kept": trillions(worth(tokens, kept), 4),
        "kept_tenth": trillions(kept / 10),
        "worth_tenth": trillions(worth(tokens, kept / 10)),
        "quality_llammlein": significant(needed(kept / pool), 4),
        "epochs_tenth": significant(tokens / (kept / 10), 2),
        "quality_tenth": significant(needed(kept / pool / 10), 3),
        "rule_tokens": trillions(tokens / 5, 2),
        "rule_worth": significant(quality(tokens / 5 / pool), 3),
        "kept_worth": significant(quality(kept / pool), 3),
    }


def filtered() -> dict[str, str]:
    """What filters keep, and how often to read it."""
    [edu] = measurement("filtering_kept").records(kept="FineWeb-Edu")
    scores = {
        row["text"]: row for row in measurement("filtering_gains").records(benchmark="MMLU", pretraining_tokens=350e9)
    }
    power = simulation.power_of(2)
    best = simulation.best_share(EXAMPLE[1], EXAMPLE[0], reuse(), power).epochs
    gain = lambda epochs: eq.filtered_worth(
        pretrain_tokens=1e12, pool_tokens=1e12, kept_share=1 / epochs, reuse=reuse(), quality_power=power
    )
    return {
        "best_epochs": significant(best, 3),
        "best_balance": significant(best * eq.repeat_worth(epochs=best, reuse=reuse()), 2),
        "quality_power": significant(power, 3),
        "five_costs": f"{1 - gain(5) / gain(best):.0%}",
        "kept_edu": f"{edu['kept_tokens'] / edu['pool_tokens']:.0%}",
        **passes_by_quality(),
        "edu_size": f"{significant(scores['FineWeb']['n_total'] / 1e9, 3)} billion",
        "edu_tokens": trillions(scores["FineWeb"]["pretraining_tokens"]),
        "edu_before": f"{scores['FineWeb']['score']:.0%}",
        "edu_after": f"{scores['FineWeb-Edu']['score']:.0%}",
    }


def passes_by_quality() -> dict[str, str]:
    """The best number of passes for filters whose best tenth is better by more or less."""
    told: dict[str, str] = {}
    for n, times in enumerate((1.2, 1.4, 2)):
        power = simulation.power_of(times)
        best = simulation.best_share(EXAMPLE[1], EXAMPLE[0], reuse(), power).epochs
        told |= {f"times_{n}": f"{times:g}", f"power_{n}": f"{power:.3f}", f"passes_{n}": f"{best:.1f}"}
    return told


SEEDS = 3  # runs of each checkpoint, in the page's example


def plateaus() -> dict[str, str]:
    """What the larger model's scores leave open, and which gains they could show."""
    power, line, (tokens, scores) = (
        simulation.fit(LARGE),
        simulation.fit(LARGE, form="line"),
        simulation.checkpoints(LARGE),
    )
    early = min(row["steps"] for row in measurement("llammlein_saturated").records(model=LARGE))
    gain = line.gain(tokens[-1]).best
    doublings = [math.log2(b / a) for a, b in zip(tokens, tokens[1:])]
    rises = [(b - a) / times for a, b, times in zip(scores, scores[1:], doublings)]
    return {
        "sat_1b": f"{early:,}",
        "sat_1b_share": f"{early / run(LARGE)['steps']:.0%}",
        "tokens_early": trillions(tokens[2]),
        "tokens_rest": trillions(tokens[-1] - tokens[2]),
        "rest_share": f"{1 - tokens[2] / tokens[-1]:.0%}",
        "last_share": f"{1 - tokens[3] / tokens[-1]:.0%}",
        **{f"read_{n}": trillions(count, 4) for n, count in enumerate(tokens)},
        **{f"score_{n}": f"{score:.1%}" for n, score in enumerate(scores)},
        **{f"rise_{n}": f"{100 * rise:.2f}" for n, rise in enumerate(rises, 1)},
        "limit_low_1b": f"{power.limit.low:.0%}",
        "limit_squares": significant(power.bound / power.least, 1),
        "limit_misses": points(scores[-1] - eq.score(power.lowest, pretrain_tokens=tokens[-1]), 1),
        **{name: told for n in (2, 3) for name, told in stretch(n).items()},
        **ahead(),
        "seeds_find": f"{simulation.seen(gain, line.residual, SEEDS):.0%}",
    }


def ahead() -> dict[str, str]:
    """What a line through all scores but the last predicts for the last, how far off it is, and its standard error."""
    tokens, scores = simulation.checkpoints(LARGE)
    line = simulation.Fit(simulation.Points(tokens[:-1], scores[:-1]), "line")
    *places, last = [math.log2(count) for count in tokens]
    away = (last - fmean(places)) ** 2 / sum((place - fmean(places)) ** 2 for place in places)
    error = line.residual * math.sqrt(1 + 1 / len(places) + away)
    predicted = line.score(tokens[-1]).best
    return {
        "ahead": f"{predicted:.2%}",
        "ahead_short": points(predicted - scores[-1]),
        "ahead_error": points(error),
        "ahead_scatter": points(line.residual),
    }


def stretch(first: int) -> dict[str, str]:
    """What the pace up to this checkpoint lets expect from there to the last, as printed; and what came."""
    tokens, scores = simulation.checkpoints(LARGE)
    places = [math.log2(count) for count in tokens]
    pace = round(100 * linear_regression(places[: first + 1], scores[: first + 1]).slope, 3)
    times = round(places[-1] - places[first], 2)
    return {
        f"doublings_{first}": f"{times:.2f}",
        f"pace_{first}": f"{pace:.3f}",
        f"expected_{first}": f"{times * pace:.2f}",
        f"came_{first}": f"{100 * (scores[-1] - scores[first]):.1f}",
    }


def noise() -> dict[str, str]:
    """How often the paper's test, and a paired one, would see the gain of the larger model's last tokens."""
    spread, changes, gain = simulation.spreads(LARGE, 2, -1)
    tasks = len(simulation.tasks(LARGE))
    low, high = simulation.deviation_range(changes, tasks)
    paired = lambda deviation: f"{simulation.seen(gain, deviation, paired=True):.0%}"
    return {
        "spread": points(spread),
        "spread_changes": points(changes),
        "seen_groups": f"{simulation.seen(gain, spread):.0%}",
        "seen_paired": paired(changes),
        "seen_most": paired(low),
        "seen_least": paired(high),
    }


def measured() -> dict[str, str]:
    """Published runs over repeated text."""
    runs = [simulation.published(name) for name in ("2.8B", "4.2B", "8.7B")]
    near = lambda epochs: [min(found, key=lambda run: abs(run.epochs - epochs)) for found in runs]
    off = lambda epochs: sorted(run.loss - run.law for run in near(epochs))
    cost = lambda epochs: sorted(run.loss - found[0].loss for run, found in zip(near(epochs), runs))
    span = lambda values: f"{significant(values[0], 2)} to {significant(values[-1], 2)}"
    few = [run for found in runs for run in found if run.epochs < 5.5]
    return {
        "law_off_5": significant(max(abs(run.loss - run.law) for run in few), 2),
        "law_off_44": span(off(44)),
        "five_cost": span(cost(5)),
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    return runs() | parts() | repeated() | filtered() | filtered_german() | plateaus() | noise() | measured()
