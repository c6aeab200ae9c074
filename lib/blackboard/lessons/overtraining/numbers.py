"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from blackboard.catalogue import chip, measurement, model
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import results, simulation
from blackboard.lessons.overtraining.equations import PRESCRIBED
from blackboard.lessons.overtraining.results import (
    BOARD,
    CARD,
    CASE,
    DAY,
    FIT,
    FITS,
    GPU,
    LONG,
    NET,
    OTHERS,
    SERVED,
)
from blackboard.page.summary import Page
from blackboard.text import merge
from blackboard.units import factor, pretty, significant

GENEROUS, ROUNDED, RUMOUR = (
    500e6,
    200e12,
    150e12,
)  # tokens/s before dividing; tokens served as rounded; rumoured tokens of training, 1:31:01
META_LAW = 402e9, 16.55e12  # parameters and tokens, by section 3.2.1 of the Llama 3 paper, seen in copies
SISTER = model("llama-3.1-70b")  # which read the same text
SARDANA = 13e9, 2e12  # parameters and tokens served of the paper's example, its figure 1
RECIPE = 10e12, 9e12  # tokens that the reader of the example writes, and tokens of prompts
FILLED = 0.9  # share of a GPU's memory that weights and results.caches may fill
# parameters of two of Meta's first Llama models, by their paper, and tokens until a training loss of 1.7, by Timbers
PAIR = (65.2e9, 600e9), (32.5e9, 800e9)
MATX = {"context": 8_192}  # of MatX's example


def law_words(name: str) -> Page:
    """The loss by a published fit, with its constants, as mathematics that may be broken before its last part."""
    of = results.law(name)
    size, data = (
        rf"{of[f'loss_{part}']:.6g} / {letter}^{{{of[f'{part}_power']:g}}}"
        for part, letter in (("size", "N"), ("data", "D"))
    )
    return Page(rf"\({of['loss_floor']:g} + {size}\) \({{}} + {data}\)")


def costs() -> dict[str, str]:
    """What tokens cost at the page's efficiency."""
    return {
        "rl_2": f"{results.rl_price(2):g}",
        "rl_3": significant(results.rl_price(3), 2),
        "rl_8": f"{results.rl_price(8):g}",
        "rl_lecture": f"{results.divided_rl():g}",
    }


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
        "alpha_2": significant(results.rl_price(2, eta)),
        "alpha_8": significant(results.rl_price(8, eta)),
        "beta": significant(eq.inference_coefficient(BOARD)),
        "alpha_card": significant(results.rl_price(known["rl_flop"]), 2),
        "alpha_lecture": f"{results.divided_rl():g}",
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


def between(amounts: list[float], digits: int) -> str:
    """The least and the most of some dollars, in millions."""
    return f"${min(amounts) / 1e6:.{digits}f} to ${max(amounts) / 1e6:.{digits}f} million"


def mistakes() -> dict[str, str]:
    """What the wrong traffic costs by the page's fit and by the others, and what Llama 3.1 8B costs by these."""
    worst = lambda fit: max(results.mistaken(2, fit), results.mistaken(1 / 2, fit))
    llamas = sorted(results.mistaken(2, fit, NET.n_active) for fit in OTHERS)
    return {
        "off_most": f"{worst(FIT):.0%}",
        "off_other": f"{max(worst(fit) for fit in OTHERS):.0%}",
        "llama_off": f"{llamas[0]:.0%} to {llamas[-1]:.0%}",
    }


def other_fits() -> dict[str, str]:
    """The cheapest model by each published fit, and where and how the rule of equal costs is off."""
    found: dict[str, str] = {}
    for key, fit in {**FITS, "tex": OTHERS[1]}.items():
        row, plain, (small, large) = results.best(fit), results.best(fit, served=0), results.llama(SERVED, fit)
        found |= {
            f"own_{key}": f"{results.per_size(fit):.0f}",
            f"plain_{key}": f"{plain.n_active / 1e9:.0f} billion",
            f"size_{key}": f"{row.n_active / 1e9:.1f} billion",
            f"data_{key}": f"{row.tokens / 1e12:.0f} trillion",
            f"kept_{key}": f"{results.kept(fit) / 1e9:.0f} billion",
            f"saved_{key}": f"{results.saved(fit):.0%}",
            f"ratio_{key}": significant(SERVED / plain.tokens, 2),
            f"train_{key}": f"{small.training / large.training:.1f}",
            f"extra_{key}": millions(results.dollars(small.training - large.training)),
            f"spared_{key}": millions(results.dollars(large.inference - small.inference)),
            f"times_{key}": f"{row.tokens / plain.tokens:.0f}",
        }
    walls = {f"{results.wall(fit):.0%}" for fit in OTHERS}
    if len(walls) > 1:
        raise ValueError("the page says that the wall is the same by both")
    shares = sorted(results.kept_saved(fit) for fit in (FIT, *OTHERS))
    ends = {"kept_least": f"{shares[0]:.0%}", "kept_most": f"{shares[-1]:.0%}"}
    return found | ends | {"wall_other": walls.pop()}


def optimum() -> dict[str, str]:
    """The running case at its best and at equal costs, and the example of Sardana's paper."""
    paper = [row["pretraining_tokens"] / row["n_total"] for row in measurement("chinchilla_table3").records()]
    size, served = SARDANA
    own, loss = results.law("Sardana"), results.as_good("Sardana", size)
    return {
        "work_unit": "10²⁴",
        "own_law": law_words(FIT),
        "written": f"{SERVED / 1e12:.0f} trillion",
        "rate": f"{CASE['world_rate'] / 1e6:g} million",
        "case_ratio": significant(SERVED / results.best(served=0).tokens, 1),
        "equal_lost": f"{results.equal_over() - 1:.0%}",
        "equal_other": " or ".join(f"{results.equal_over(fit) - 1:.0%}" for fit in OTHERS),
        "least_size": f"{results.smallest() / 1e9:.1f} billion",
        "full_size": f"{results.best(efficiency=1).n_active / 1e9:.1f} billion",
        "safe_twin": f"{results.safe_twin() / 1e9:.0f} billion",
        "even_ratio": f"{results.even_served() / results.best(served=0).tokens:.0f}",
        "table_least": f"{min(paper):.0f}",
        "table_most": f"{max(paper):.0f}",
        "sardana_law": law_words("Sardana"),
        "sardana_size": f"{simulation.best(loss, served, own).n_active / 1e9:.1f} billion",
        "sardana_saved": f"{simulation.saving(loss, served, own):.0%}",
    }


def texts() -> dict[str, str]:
    """How much text there is, and where equal bills are no help."""
    [pool, *_] = measurement("filtering_kept").records(pool="FineWeb")
    half, half_cost = results.even_below(1 / 2)
    return {
        "web_tokens": f"{significant(pool['pool_tokens'] / 1e12, 2)} trillion",
        "text_times": significant(results.equal().tokens / pool["pool_tokens"], 1),
        "safe_tokens": f"{significant(PRESCRIBED * results.safe_twin() / 1e12, 1)} trillion",
        "low_size": f"{half:.1f}",
        "low_half": f"{half_cost - 1:.0%}",
    }


def recipe() -> dict[str, str]:
    """The page's example of a model of your own: the twin of Chinchilla 70B, and the cheapest model of its quality."""
    [row] = [p for p in results.placed() if p.name == "Chinchilla 70B"]
    loss, (written, prompts) = simulation.loss_of(row.n_active, row.tokens, results.law()), RECIPE
    counted = written + prompts / 3  # a prompt's token goes forward only, at the speed of training
    twin, cheapest = (simulation.best(loss, served, results.law(), results.ETA) for served in (0, counted))
    return {
        "recipe_written": f"{written / 1e12:g} trillion",
        "recipe_prompts": f"{prompts / 1e12:g} trillion",
        "recipe_counted": f"{counted / 1e12:g} trillion",
        "recipe_twin": f"{twin.n_active / 1e9:.0f} billion",
        "recipe_read": f"{twin.tokens / 1e12:.1f} trillion",
        "recipe_size": f"{cheapest.n_active / 1e9:.0f} billion",
        "recipe_tokens": f"{cheapest.tokens / 1e12:.1f} trillion",
    }


def pair() -> dict[str, str]:
    """How much more text the smaller of two first Llama models needed for the loss of the larger: read off, by the
    page's fit, and by the others.
    """
    (large, seen), (small, read) = PAIR
    by = lambda fit: (
        eq.tokens_for_loss(results.law(fit), n_active=small, loss=simulation.loss_of(large, seen, results.law(fit)))
        / seen
    )
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


def parts() -> dict[str, str]:
    """What Llama 3.1 8B makes of the two parts of its loss; and for which traffic its larger sister is the cheapest."""
    sister = eq.inference_over_training(results.law(), n_active=SISTER.n_active, pretrain_tokens=SISTER.training_tokens)
    return {
        "cheap_r": f"{results.balance() + 1:.1f}",
        "cheap_ratio": f"{results.balance():.1f}",
        "sister_ratio": f"{sister:.1f}",
        "sister_written": f"{significant(sister * SISTER.training_tokens / 1e12, 2)} trillion",
    }


def meta() -> dict[str, str]:
    """Llama 3.1 8B, and the model that reaches the same loss with the least training: what they take and cost."""
    small, large = results.llama(SERVED)
    [run] = measurement("training_gpu_hours").records(model="Llama 3.1 8B")
    even, hour = results.breaks_even(small, large), factor("h")
    slow, each = (
        run["training_GPU_hours"] * hour * results.rent(),
        results.dollars((large.inference - small.inference) / SERVED),
    )
    both = lambda row: (
        slow * row.training / small.training + results.dollars(row.inference)
    )  # if only training were that slow
    told = {
        "meta_size": f"{large.n_active / 1e9:.0f} billion",
        "meta_tokens": f"{significant(large.tokens / 1e12, 2)} trillion",
        "meta_days": f"{even / CASE['world_rate'] / DAY:.0f} days",
        "small_size": f"{small.n_active / 1e9:.2f} billion",
        "small_reported": f"{run['training_GPU_hours'] / 1e6:.2f} million",
        "small_work": in_units(small.training),
        "slow_cost": f"${slow / 1e6:.1f} million",
        "slow_unit": f"${slow / small.training * 1e24 / 1e6:.1f} million",
        "extra_slow": between([slow * (1 - twins.training / ours.training) for ours, twins in results.pairs()], 1),
        "spared_range": between(
            [results.dollars(twins.inference - ours.inference) for ours, twins in results.pairs()], 0
        ),
        "slow_days": f"{slow * (1 - large.training / small.training) / each / CASE['world_rate'] / DAY:.0f}",
        "slow_saved": f"{1 - both(small) / both(large):.0%}",
        "law_each": f"{META_LAW[1] / META_LAW[0]:.0f}",
        "flop_dollars": f"${results.dollars(1e24) / 1e6:.1f} million",
    }
    for key, row in (("small", small), ("large", large)):
        bills = zip(("training", "serving", "both"), (row.training, row.inference, row.total))
        told |= {f"{key}_{name}": millions(results.dollars(flop)) for name, flop in bills}
    less, more = results.llama(SERVED / 10)
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


tokens_of = eq.pretrain_compute.solve("pretrain_tokens")  # what a results.budget leaves for a size


def valley() -> dict[str, str]:
    """What a smaller model takes that is as good."""
    return {"half_more": f"{results.needed(1 / 2) / 2 - 1:.0%}", "wall_share": f"{results.wall():.0%}"}


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
        "ds_eta": f"{decode / results.train_rate():.1f}",
        "ds_price": significant(eq.inference_coefficient(decode_efficiency=decode / results.train_rate()), 2),
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
        "ds_mfu": f"{results.train_rate() / h800.flops('bf16'):.0%}",
        "ds_cost": f"${cost['cost_USD'] / 1e6:.1f} million",
        "ds_day": f"${day['cost_USD_per_day']:,.0f}",
        "ds_days": f"{days:.0f}",
        "ds_written": billion(day["output_token_per_day"]),
        "ds_prefilled": billion(prompts),
        "ds_rent": f"${results.rent() * factor('h'):g}",
    }


def models_placed() -> dict[str, str]:
    """How far Llama 3.1 8B is trained past the rule, and the size for which the rule takes as much training."""
    [small] = [p for p in results.placed() if p.name == "Llama 3.1 8B"]
    larger = (small.n_active * small.tokens / PRESCRIBED) ** 0.5
    return {
        "rule_8": f"{eq.chinchilla_tokens(n_active=small.n_active, prescribed=PRESCRIBED) / 1e9:.0f} billion",
        "tokens_8": f"{small.tokens / 1e12:.0f} trillion",
        "times_8": significant(small.per_active / PRESCRIBED, 2),
        "riddle_size": f"{larger / 1e9:.0f} billion",
    }


def with_kv() -> dict[str, str]:
    """The two models with their caches: where short contexts end, and what a long one leaves of the saving."""
    (small_cache, large_cache), (small, large) = results.caches(), results.llama(SERVED)
    bill = lambda row, cache: (
        results.dollars(row.training) + SERVED * results.token_seconds(row, cache) * results.rent()
    )
    own = results.write_rate(), results.loading_rate()
    out = {
        "kv_context": f"{LONG['context']:,}",
        "kv_bandwidth": pretty(chip(GPU).bandwidth, "byte/s", 3),
        "kv_bill_8": millions(SERVED * results.token_seconds(small, small_cache) * results.rent()),
        "kv_bill_34": millions(SERVED * results.token_seconds(large, large_cache) * results.rent()),
        "kv_saved": millions(bill(large, large_cache) - bill(small, small_cache)),
        "kv_write_rate": pretty(own[0], "FLOP/s", 3),
        "kv_loading_rate": pretty(own[1], "byte/s", 3),
        "kv_bend_8": f"{round(results.bend(small, small_cache, *own), -2):,.0f}",
        "kv_bend_full": f"{round(results.bend(small, small_cache, results.train_rate(), own[1]), -2):,.0f}",
        "kv_bytes_8": f"{small_cache['kv_bytes_per_token']:,.0f}",
    }
    taking_turns = [2 * row.n_active / own[0] + results.cache_seconds(small_cache) for row in (small, large)]
    out["kv_added"] = f"{1 - taking_turns[0] / taking_turns[1]:.0%}"
    return merge(out, loading(), alone(), long(), steps())


def loading() -> dict[str, str]:
    """Loading the cache of Llama 3.1 8B against a token's arithmetic, in FLOPs; and in MatX's example, at the peak."""
    per_byte, gpu = results.write_rate() / results.loading_rate(), chip(GPU)
    peak, cache = gpu.flops("fp8") / gpu.bandwidth, results.caches()[0]["kv_bytes_per_token"]
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


def long() -> dict[str, str]:
    """The best size: in short contexts, where a token costs as the size, and in the long one, where it costs as the
    root.
    """
    size, _ = results.by_power(0.5, results.long_ratio())
    short_size, _ = results.by_power(1, SERVED / results.best(served=0).tokens)
    return {"long_size": f"{size:.0%}", "short_size": f"{short_size:.0%}"}


def steps() -> dict[str, str]:
    """What one percent less size takes off the serving bill of Llama 3.1 8B: in short contexts, and in long ones, where
    a token costs as some power of the size; and the powers by which caches grow.
    """
    small, cache = results.llama(SERVED)[0], results.caches()[0]
    long_bill = SERVED * results.token_seconds(small, cache) * results.rent()
    thousands = lambda amount: f"${round(amount, -3):,.0f}"
    sisters = {"70": results.cache_power("llama-3.1-70b"), "405": results.cache_power("llama-3.1-405b")}
    return {
        "step_short": thousands(results.dollars(small.inference) / 100),
        "step_low": thousands(long_bill / 100 * min(sisters.values())),
        **{f"kv_power_{key}": f"{power:.2f}" for key, power in sisters.items()},
    }


def alone() -> dict[str, str]:
    """The two models on one GPU each, with weights of a byte: what loading the weights adds to loading a cache."""
    loaded: dict[str, float] = {}
    (small, large), (small_cache, large_cache) = results.llama(), results.caches()
    for key, row, kv in (("8", small, small_cache), ("34", large, large_cache), ("same", large, small_cache)):
        own = LONG["context"] * kv["kv_bytes_per_token"]
        room = (FILLED * chip(GPU).hbm_bytes - row.n_active) // own
        loaded[key] = own + row.n_active / room
    return {"kv_same": f"{loaded['8'] / loaded['same']:.0%}", "kv_alone": f"{loaded['8'] / loaded['34']:.0%}"}


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    found = merge(valley(), costs(), tokens(), optimum(), texts(), parts(), recipe(), pair(), rival(), mistakes())
    return merge(found, other_fits(), meta(), deepseek(), models_placed(), with_kv())
