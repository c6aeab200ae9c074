"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from blackboard.catalogue import chip, measurement, model, scaling_law
from blackboard.lessons.corpus import equations as eq
from blackboard.lessons.corpus import simulation
from blackboard.lessons.overtraining import equations as law
from blackboard.units import factor, pretty, significant

SMALL, LARGE = "LLäMmlein 120M", "LLäMmlein 1B"
NETS = {SMALL: "llammlein-120m", LARGE: "llammlein-1b"}
FIT, OTHER_FIT = "Besiroglu", "Hoffmann, TeX source"


def run(name: str) -> dict[str, float]:
    """What the paper prints of a run, with its tokens counted from steps and the parameters of the architecture."""
    [row] = measurement("llammlein_training").records(model=name)
    tokens = row["steps"] * eq.step_tokens(batch=row["batch"], context=row["context_tokens"])
    return row | {"tokens": tokens, "n_active": model(NETS[name]).n_active, "epochs": tokens / row["unique_tokens"]}


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


def runs() -> dict[str, str]:
    """What the two runs were, by arithmetic."""
    small, large = run(SMALL), run(LARGE)
    over = lambda row: significant(
        law.overtraining(pretrain_tokens=row["tokens"], prescribed=law.PRESCRIBED, n_active=row["n_active"]), 3
    )
    work = lambda row: law.pretrain_compute(n_active=row["n_active"], pretrain_tokens=row["tokens"])
    time = lambda row: row["training_GPU_hours"] * factor("h")
    peak = chip("a100-80gb").flops("bf16")
    mfu = eq.mfu_reached(
        n_active=large["n_active"], pretrain_tokens=large["tokens"], chip_flops=peak, chip_time=time(large)
    )
    rate = lambda row: pretty(work(row) / time(row), "FLOP/s", 2)
    return {
        "params_120": f"{small['n_active'] / 1e6:.1f} million",
        "params_1b": f"{large['n_active'] / 1e9:.2f} billion",
        "unique_120": trillions(small["unique_tokens"], 2),
        "hours_120": f"{small['training_GPU_hours']:,}",
        "rate_1b": rate(large),
        "peak_a100": pretty(peak, "FLOP/s", 3),
        "tokens_1b": trillions(large["pretraining_tokens"], 1),
        "batch": f"{large['batch']:,}",
        "context": f"{large['context_tokens']:,}",
        "step_tokens": f"{eq.step_tokens(batch=large['batch'], context=large['context_tokens']):,.0f}",
        "steps_120": f"{small['steps']:,}",
        "tokens_120": trillions(small["tokens"]),
        "steps_1b": f"{large['steps']:,}",
        "tokens_1b_exact": trillions(large["tokens"], 4),
        "over_120": over(small),
        "over_1b": over(large),
        "unique_1b": trillions(large["unique_tokens"], 2),
        "epochs_1b": significant(large["epochs"], 2),
        "epochs_120": significant(small["epochs"], 2),
        "flop_1b": f"{significant(work(large) / 1e22, 3)}·10²² FLOP",
        "flop_120": f"{significant(work(small) / 1e20, 2)}·10²⁰ FLOP",
        "hours_1b": f"{large['training_GPU_hours']:,}",
        "mfu_1b": f"{mfu:.0%}",
        "rate_120": rate(small),
    }


def gains(fit: str) -> tuple[float, float]:
    """By a fit of the loss law, for the larger run: how many times as much a percent more parameters does as a percent
    more tokens, and what the tokens after about the first trillion took off the loss.
    """
    row, early = run(LARGE), simulation.checkpoints(LARGE).tokens[2]
    at = fitted(fit) | {"n_active": row["n_active"], "pretrain_tokens": row["tokens"]}
    return 1 / eq.tokens_worth(at), eq.loss_left(at | {"pretrain_tokens": early}) - eq.loss_left(at)


def parts() -> dict[str, str]:
    """What the loss law says of them."""
    known, (times, bought), (times_low, bought_high) = fitted(), gains(FIT), gains(OTHER_FIT)
    at = lambda row: known | {"n_active": row["n_active"], "pretrain_tokens": row["tokens"]}
    large = at(run(LARGE))
    budget = law.pretrain_compute(n_active=large["n_active"], pretrain_tokens=large["pretrain_tokens"])
    size = law.best_size(known, compute_budget=budget)
    best = law.law_loss(
        known, n_active=size, pretrain_tokens=budget / law.pretrain_compute(n_active=size, pretrain_tokens=1)
    )
    from_size = law.law_loss(large) - known["loss_floor"] - eq.loss_left(large)
    return {
        "worth_1b": significant(1 / times, 3),
        "size_1b": significant(from_size, 3),
        "off_data": significant(10 * known["data_power"] * eq.loss_left(large), 3),  # a percent's, in thousandths
        "off_size": significant(10 * known["size_power"] * from_size, 3),
        "size_power": significant(known["size_power"], 3),
        "data_power": significant(known["data_power"], 3),
        "bought": significant(bought, 2),
        "bought_high": significant(bought_high, 2),
        "worth_times": significant(times, 2),
        "worth_low": significant(times_low, 2),
        "left_1b": significant(eq.loss_left(large), 3),
        "loss_1b": significant(law.law_loss(large), 3),
        "best_size": f"{significant(size / 1e9, 2)} billion",
        "best_loss": significant(best, 3),
    }


def repeated() -> dict[str, str]:
    """What repeated tokens are worth."""
    large = run(LARGE)
    return {
        "reuse": significant(reuse(), 3),
        "worth_2": f"{worth(2, 1) / 2:.0%}",
        "worth_limit": significant(eq.worth_limit(unique_tokens=1, reuse=reuse()), 3),
        "worth_llammlein": f"{worth(large['tokens'], large['unique_tokens']) / large['tokens']:.1%}",
    }


def filtered() -> dict[str, str]:
    """What filters keep, and how much better it must be."""
    rows = {row["kept"]: row for row in measurement("filtering_kept").records()}
    share = lambda row: row["kept_tokens"] / row["pool_tokens"]
    german, edu = rows["LLäMmlein"], rows["FineWeb-Edu"]
    needed = lambda kept: significant(
        eq.quality_even(
            pretrain_tokens=run(LARGE)["tokens"], pool_tokens=german["pool_tokens"], kept_share=kept, reuse=reuse()
        ),
        3,
    )
    scores = {
        row["text"]: row for row in measurement("filtering_gains").records(benchmark="MMLU", pretraining_tokens=350e9)
    }
    power = simulation.power_of(2)
    best = simulation.best_share(1e12, 1e12, reuse(), power).epochs
    gain = lambda epochs: eq.filtered_worth(
        pretrain_tokens=1e12, pool_tokens=1e12, kept_share=1 / epochs, reuse=reuse(), quality_power=power
    )
    return {
        "best_epochs": significant(best, 2),
        "five_costs": f"{1 - gain(5) / gain(best):.0%}",
        "halved_gains": f"{2**power - 1:.0%}",
        "kept_edu": f"{share(edu):.0%}",
        "kept_dclm": f"{share(rows['DCLM-Baseline']):.1%}",
        "pool_de": trillions(german["pool_tokens"], 2),
        "kept_de": trillions(german["kept_tokens"], 3),
        "quality_llammlein": needed(share(german)),
        "quality_tenth": needed(share(german) / 10),
        "edu_size": f"{significant(scores['FineWeb']['n_total'] / 1e9, 3)} billion",
        "edu_tokens": trillions(scores["FineWeb"]["pretraining_tokens"]),
        "edu_before": f"{scores['FineWeb']['score']:.0%}",
        "edu_after": f"{scores['FineWeb-Edu']['score']:.0%}",
    }


def points(value: float, digits: int = 2) -> str:
    """A share in points of a hundred."""
    return significant(100 * value, digits)


def plateaus() -> dict[str, str]:
    """What the published points leave open, and what could be seen."""
    power, line = simulation.fit(LARGE), {name: simulation.fit(name, form="line") for name in (SMALL, LARGE)}
    tasks = [simulation.fit(name, task) for name in (SMALL, LARGE) for task in simulation.tasks(name)]
    clear = [found for found in tasks if not found.allows(0)]
    gain = {name: found.gain(simulation.checkpoints(name).tokens[-1]).best for name, found in line.items()}
    needed = lambda name: simulation.quantile(simulation.LEVEL, 1, len(line[name].s) - line[name].constants) ** 0.5
    saturated = {name: measurement("llammlein_saturated").records(model=name) for name in (SMALL, LARGE)}
    at = {name: min(row["steps"] for row in rows) for name, rows in saturated.items()}
    return {
        "sat_1b": f"{at[LARGE]:,}",
        "sat_1b_share": f"{at[LARGE] / run(LARGE)['steps']:.0%}",
        "curves": f"{len(tasks)}",
        "clear_chance": significant((1 - simulation.LEVEL) * len(tasks), 1),
        "clear": f"{len(clear)}",
        "limit_low_1b": f"{power.limit.low:.0%}",
        "next_1b": points(gain[LARGE], 3),
        "next_120": points(gain[SMALL], 3),
        "change_1b": points(line[LARGE].change_error, 3),
        "change_120": points(line[SMALL].change_error, 3),
        "errors_1b": significant(gain[LARGE] / line[LARGE].change_error, 2),
        "errors_120": significant(gain[SMALL] / line[SMALL].change_error, 2),
        "needed_1b": significant(needed(LARGE), 2),
        "needed_120": significant(needed(SMALL), 2),
    }


def noise() -> dict[str, str]:
    """How far scores scatter, and how often a gain would be seen in spite of that."""
    spread, changes, _ = simulation.spreads(SMALL, 3, -1)
    [before, after] = (row["score"] for row in measurement("llammlein_saturated").records(model=SMALL, tasks="all 29"))
    return {
        "score_early": f"{simulation.checkpoints(LARGE).scores[2]:.1%}",
        "score_last": f"{simulation.checkpoints(LARGE).scores[-1]:.1%}",
        "spread": points(spread),
        "spread_changes": points(changes),
        "seen_gain": points(after - before, 1),
        "seen": f"{simulation.seen(after - before, spread, paired=False):.0%}",
        "seen_paired": f"{simulation.seen(after - before, changes, paired=True):.0%}",
    }


def measured() -> dict[str, str]:
    """Published runs over repeated text, and our own."""
    runs = {name: simulation.published(name) for name in ("2.8B", "4.2B", "8.7B")}
    off = lambda least, most: [
        abs(r.law - r.loss) for found in runs.values() for r in found if least < r.epochs <= most
    ]
    span = {name: max(r.most - r.least for r in found if r.epochs < 10) for name, found in runs.items()}
    four = [min(found, key=lambda r: abs(r.epochs - 4)).loss - found[0].loss for found in runs.values()]
    tried = simulation.repetition()
    said = [row["score"] for row in measurement("llammlein_saturated").records(model=SMALL, tasks="all 29")]
    [fitted] = measurement("repeated_data_fits").records(form="both, exponential")
    return {
        "law_off_5": significant(max(off(1, 5.2)), 2),
        "law_off_44": f"{significant(min(off(40, 50)), 2)} to {significant(max(off(40, 50)), 2)}",
        "seed_least": significant(min(r.most - r.least for r in runs["2.8B"] if r.epochs < 10), 1),
        "seed_most": significant(span["4.2B"], 1),
        "four_cost": f"{significant(min(four), 2)} to {significant(max(four), 2)}",
        "own_3": f"{tried.worth(3)[0]:.0%}",
        "own_best": f"{tried.best}",
        "own_reuse": significant(tried.reuse, 2),
        "slip_before": f"{said[0]:g}",
        "slip_after": f"{said[1]:g}",
        "slip_steps": f"{run(SMALL)['steps'] - measurement('llammlein_saturated').records(model=SMALL)[0]['steps']:,}",
        "own_10": f"{tried.worth(10)[0]:.0%}",
        "law_unexplained": f"{1 - fitted['r_squared']:.0%}",
    }


def all() -> dict[str, str]:
    """Every number of the page, by the name the prose uses."""
    return runs() | parts() | repeated() | filtered() | plateaus() | noise() | measured()
