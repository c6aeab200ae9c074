"""The numbers that the over-training lesson prints, by plain arithmetic; and the lecture's own."""

from __future__ import annotations

import pytest
from lessons import sig, values

from blackboard.catalogue import measurement, model
from blackboard.formula import FormulaError
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import numbers

DAY = 86_400


HOFFMANN, BESIROGLU = (1.69, 406.4, 410.7, 0.34, 0.28), (1.8172, 482.01, 2085.43, 0.3478, 0.3658)
TEX, SARDANA = (1.69, 406.4, 410.7, 0.3392, 0.2849), (1.69, 406.4, 410.7, 0.336, 0.283)


def bisected(rises, low, high):
    """Where a rising function crosses nothing."""
    for _ in range(200):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
    return low


def optimum(floor, a, b, alpha, beta, efficiency=1.0, size=100e9, served=2e14):
    """Size, tokens and training's share at the least lifetime cost, by the sign of a slope that is measured, not
    derived.
    """
    own = (beta * b / (alpha * a)) ** (1 / beta) * size ** (alpha / beta)
    loss = floor + a / size**alpha + b / own**beta
    tokens = lambda n: (b / (loss - floor - a / n**alpha)) ** (1 / beta)
    cost = lambda n: 6 * n * tokens(n) + 2 * n * served / efficiency
    best = bisected(lambda n: cost(n * 1.000001) - cost(n), (a / (loss - floor)) ** (1 / alpha) * 1.001, size)
    return best, tokens(best), 6 * best * tokens(best) / cost(best), own / size


def equal(floor, a, b, alpha, beta, efficiency=1.0, size=100e9, served=2e14):
    """Cost over the least of the largest size, up to the given one, whose training costs as much as serving it: tried
    one by one.
    """
    own = (beta * b / (alpha * a)) ** (1 / beta) * size ** (alpha / beta)
    loss = floor + a / size**alpha + b / own**beta
    training = lambda n: 6 * n * (b / (loss - floor - a / n**alpha)) ** (1 / beta)
    least = min(training(n * 1e7) + 2 * n * 1e7 * served / efficiency for n in range(2000, 10_000))
    enough = lambda n: loss - floor - a / n**alpha > 0
    return (
        next(
            2 * training(n * 1e5)
            for n in range(50_000, 1_000_000)
            if enough(n * 1e5) and training(n * 1e5) < 2 * n * 1e5 * served / efficiency
        )
        / least
    )


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = values("overtraining")
    work, peak = 6 * 37_551_276_032 * 14.8e12, 989e12
    days, mfu = 5_328_000 / 87_072, work / (2_664_000 * 3600 * peak)
    each, cost = 5_328_000 / 14.8e12, 2 * 1.2e26 / (peak * mfu * 3600)
    expected = {
        "rl_all_2": "1",
        "rl_all_8": f"{8 * 3 / 6:g}",
        "rl_apart_2": f"{2 * 3 / 6:g}",
        "rl_apart_3": f"{(2 * 3 + 1) / 6:.2f}",
        "rl_apart_8": f"{(2 * 3 + 6) / 6:g}",
        "rl_tokens": f"{6 * 200 / (3 * 3):.0f} trillion",
        "beta": f"{2 / 0.3 / 6:.2f}",
        "alpha_card": "1.5",
        "beta_card": "1",
        "plain_share": f"{2 / 202:.0%}",
        "squared_share": "33%",
        "squared_penalty": f"{2 / (0.5 ** (2 / 3) + 2 ** (1 / 3)) - 1:.1%}",
        "seconds": f"{60 * DAY / 1e6:.2f} million seconds",
        "rule_8": f"{20 * 8.03:.0f} billion",
        "tokens_8": "15 trillion",
        "ds_active": "37.6 billion",
        "served": f"{50e6 * 60 * DAY / 1e12:.0f} trillion",
        "chinchilla": "2 trillion",
        "over": "130",
        "over_rounded": "100",
        "over_rumour": "75",
        "own_hoffmann": f"{optimum(*HOFFMANN)[3]:.0f}",
        "own_besiroglu": f"{optimum(*BESIROGLU)[3]:.0f}",
        "sardana_size": "7.0 billion",
        "sardana_saved": "17%",
        "table_least": f"{8e9 / 0.4e9:.0f}",
        "table_most": f"{1.5e12 / 67e9:.0f}",
        "ds_days": f"{days:.0f}",
        "ds_written": "168 billion",
        "ds_prefilled": f"{608 - 342} billion",
        "ds_peak": "989 TFLOP/s",
        "ds_each": f"${each * 1e6:.2f}",
        "ds_alone": f"${87_072 / 168e3:.2f}",
        "ds_reading": f"${(608 - 342) * each * 2 / 6 * 1e6:,.0f},000",
        "ds_left": f"${87.072 - 266e6 * each / 3:,.0f},000",
        "ds_beside": f"${(87_072 - 266e9 * each / 3) / 168e3:.2f}",
        "ds_most": sig(87_072 / 168e9 / each),
        "ds_least": sig((87_072 - 266e9 * each / 3) / 168e9 / each),
        "ds_year": f"{365 / days:.1f}",
        "ds_work": f"{work / 1e24:.2f}·10²⁴",
        "ds_mfu": f"{mfu:.0%}",
        "ds_cost": "$5.33 million",
        "ds_day": "$87,072",
        "ds_rent": "$2",
        "ds_reported": "39%",
        "whole": "1.2·10²⁶",
        "large": "100 billion parameters",
        "large_name": "Llama 4 Scout",
        "least_times": f"{0.78e12 / 540e9 / 20:.2f}",
        "whole_hours": f"{cost / 2e6:.0f} million",
        "whole_cost": f"${sig(cost / 1e6)} million",
        "per_served": f"${cost / 200e6:.2f}",
        "thirds_served": f"${3 * cost / 200e6:.1f}",
        "kv_intensity": f"{1979 / 3.35:.0f}",
        "kv_bytes_8": f"{32 * 2 * 8 * 128:,}",
        "kv_bytes_405": f"{126 * 2 * 8 * 128:,}",
        "kv_bytes_v3": f"{61 * 576:,}",
        "kv_flop_8": f"{8192 * 65_536 * 1979 / 3.35 / 1e9:.0f} GFLOP",
        "kv_same_8": f"{sig(8192 * 65_536 * 1979 / 3.35 / 2e9)} billion",
        "kv_same_405": f"{sig(8192 * 258_048 * 1979 / 3.35 / 2e9)} billion",
        "kv_same_v3": f"{sig(8192 * 61 * 576 * 1979 / 3.35 / 2e9)} billion",
        "kv_cheaper": sig(258_048 / 65_536),
        "times_v3": sig(14.8e12 / 37.55e9 / 20),
        "times_v3_total": sig(14.8e12 / 671e9 / 20),
        "times_8": sig(15e12 / 8.03e9 / 20),
    }
    assert {name: told[name] for name in expected} == expected


THIRD = 1 / 3  # the page's efficiency, at which a token served costs what a token of training does


@pytest.mark.parametrize(
    ("key", "fit"),
    [("hoffmann", HOFFMANN), ("tex", TEX), ("sardana", SARDANA), ("besiroglu", BESIROGLU)],
)
def test_the_table_of_other_fits_agrees_with_a_search(key, fit):
    told, (size, data, *_) = values("overtraining"), optimum(*fit, efficiency=THIRD)
    found = [told[f"{name}_{key}"] for name in ("size", "data", "lost")]
    assert found == [f"{size / 1e9:.0f} billion", f"{data / 1e12:.0f} trillion", f"{equal(*fit, THIRD) - 1:.0%}"]


def test_the_running_case_agrees_with_a_search():
    """Bills are six FLOPs for each parameter and each token, read or written."""
    told, (size, data, share, _) = values("overtraining"), optimum(*BESIROGLU, efficiency=THIRD)
    _, little, *_ = optimum(*BESIROGLU, efficiency=THIRD, served=2e12)
    plain = 18.11 * 100e9  # tokens of the best-trained model
    part = lambda size, data: (482.01 / size**0.3478, 2085.43 / data**0.3658)
    assert told["best_over"] == sig(data / size / 20) and told["best_size"] == f"{size / 1e9:.0f} billion"
    assert told["best_dearer"] == sig(size * data / (100e9 * plain))
    assert told["best_saved"] == f"{size * (data + 200e12) / (100e9 * (plain + 200e12)):.0%}"
    assert told["traffic_tokens"] == sig(data / little) and told["equal_lost"] == "33%"
    assert (told["cheap_size"], told["cheap_data"]) == tuple(f"{each:.4f}" for each in part(size, data))
    assert (
        float(told["cheap_ratio"]) == pytest.approx(200e12 / data, rel=0.01) == pytest.approx(1 / share - 1, rel=0.01)
    )
    assert (told["part_size"], told["part_data"]) == tuple(f"{each:.4f}" for each in part(100e9, plain))
    assert (told["half_size"], told["half_data"]) == tuple(f"{each:.4f}" for each in part(50e9, 4.56e12))
    assert float(told["part_loss"]) == pytest.approx(1.8172 + sum(part(50e9, 4.56e12)), abs=1e-4)
    assert told["least_size"] == f"{(482.01 / sum(part(100e9, plain))) ** (1 / 0.3478) / 1e9:.0f} billion"
    assert told["equal_size"] == "19 billion" and told["equal_over"] == sig(200e12 / 19.03e9 / 20)


def test_the_rule_is_right_at_one_traffic_and_trains_too_little_below_it():
    told = values("overtraining")
    trained = lambda served: optimum(*BESIROGLU, efficiency=THIRD, served=served)[1]
    assert trained(5.5e12) > 5.5e12 and trained(6e12) < 6e12 and told["even_served"] == "6 trillion"
    assert told["little_over"] == sig(trained(2e12) / 2e12)
    assert equal(*BESIROGLU, THIRD, served=2e12) == pytest.approx(1.126, abs=1e-3)


def test_how_good_the_lectures_model_is_by_trying_sizes():
    floor, a, b, alpha, beta = BESIROGLU
    left = a / 100e9**alpha + b / 200e12**beta
    tokens = lambda n: (b / (left - a / n**alpha)) ** (1 / beta)
    size = min((n * 1e9 for n in range(200, 1_000)), key=lambda n: n * tokens(n))
    told = values("overtraining")
    assert float(told["good_size"].split()[0]) == pytest.approx(size / 1e9, rel=0.01)  # the least is flat
    assert told["good_tokens"] == f"{tokens(size) / 1e12:.1f} trillion"


def test_sardanas_example_where_generating_uses_the_chips_a_third_as_well():
    size, data, *_ = optimum(*SARDANA, efficiency=THIRD, size=13e9, served=2e12)
    own = optimum(*SARDANA, size=13e9)[3] * 13e9
    told, saved = values("overtraining"), 1 - size * (data + 2e12) / (13e9 * (own + 2e12))
    assert (told["sardana_size_third"], told["sardana_saved_third"]) == (f"{size / 1e9:.1f} billion", f"{saved:.0%}")


@pytest.mark.parametrize(("key", "cache"), [("none", 0), ("v3", 61 * 576), ("8", 65_536)])
def test_what_a_cache_leaves_of_the_saving(key, cache):
    size, data, *_ = optimum(*BESIROGLU, efficiency=THIRD)
    loading = 8192 * cache * 1979 / 3.35
    bills = lambda n, seen: 6 * n * seen + max(2 * n, loading) * 200e12
    own = optimum(*BESIROGLU)[3] * 100e9
    assert values("overtraining")[f"kv_bill_{key}"] == f"{bills(size, data) / bills(100e9, own):.0%}"


def test_the_rule_of_the_running_case_trains_on_what_it_serves():
    same, best = numbers.equal(), numbers.best()
    assert same.tokens == pytest.approx(200e12) and same.training == pytest.approx(same.inference)
    assert same.total / best.total == pytest.approx(equal(*BESIROGLU, THIRD), rel=1e-3)


@pytest.mark.parametrize(("key", "fit"), [("hoffmann", HOFFMANN), ("besiroglu", BESIROGLU)])
def test_what_meta_bought_by_trying_sizes(key, fit):
    """The size that reaches the loss of Llama 3.1 8B with the least training, and where the two lives cost the same."""
    floor, a, b, alpha, beta = fit
    told, net = values("overtraining"), model("llama-3.1-8b")
    own, seen = net.n_active, net.training_tokens
    left = a / own**alpha + b / seen**beta
    tokens = lambda n: (b / (left - a / n**alpha)) ** (1 / beta)
    size = min((n * 1e7 for n in range(1_000, 10_000)), key=lambda n: n * tokens(n))
    even = (own * seen - size * tokens(size)) / (size - own)  # a token costs as much, written or trained on
    assert told[f"meta_size_{key}"] == f"{size / 1e9:.0f} billion"
    assert told[f"meta_even_{key}"] == f"{sig(even / 1e12)} trillion"
    if key == "besiroglu":
        assert told["meta_dearer"] == sig(own * seen / (size * tokens(size)))
        assert told["meta_cheaper"] == f"{own / size:.0%}" and told["meta_tokens_besiroglu"] == "0.65 trillion"
        cost = lambda n: n * (tokens(n) + 63e12)
        assert cost(own) == pytest.approx(min(cost(n * 1e7) for n in range(600, 2_000)), rel=1e-4)
        assert told["meta_best"] == "63 trillion"


def test_the_figure_has_every_model_whose_tokens_the_catalogue_knows():
    """By the makers' own tables of tokens: no model trained longer than those drawn, and who passes the lecture."""
    rows = [row for id in ("training_gpu_hours", "training_tokens") for row in measurement(id).records()]
    drawn = {p.name: p.tokens for p in numbers.placed()}
    assert max(drawn.values()) == max(row["pretraining_tokens"] for row in rows) == 40e12
    large = [row for row in rows if row["n_total"] > 100e9]
    past = [row["model"] for row in large if row["pretraining_tokens"] / row["n_active"] > 2_000]
    assert past == ["Llama 4 Scout"] == [name for name, tokens in drawn.items() if tokens == 40e12]
    assert {row["model"].split("-A")[0] for row in large} <= {name.split("-A")[0] for name in drawn}


def test_equal_costs_are_what_the_flashcard_says():
    """D_pre = 1.5 D_RL = D_inf at an efficiency of a third and three FLOPs a token of RL."""
    tokens, served, rl = 3e14, 3e14, 2e14
    known = {
        "n_active": 1e11,
        "pretrain_tokens": tokens,
        "inference_tokens": served,
        "rl_tokens": rl,
        "rl_flop": 3,
        "decode_efficiency": 1 / 3,
    }
    parts = eq.total_compute.terms
    values = [part(**{name: known[name] for name in part.free}) for part in parts.values()]
    assert values == pytest.approx([1.8e26] * 3)


def test_a_factor_of_two_is_the_most_that_equal_costs_can_lose():
    """Any rising and any falling curve: here steep, flat and broken ones, on a grid."""
    scales = [10 ** (n / 200) for n in range(-600, 601)]
    rising = (lambda x: x**5, lambda x: x**0.05, lambda x: max(0.3, x), lambda x: 1 + x**2)
    falling = (lambda x: 1 / x, lambda x: x**-0.02, lambda x: max(0.3, 2 / x**3), lambda x: 5 / x)
    for up in rising:
        for down in falling:
            crossing = min(scales, key=lambda x: abs(up(x) - down(x)))
            assert up(crossing) + down(crossing) <= 2.1 * min(up(x) + down(x) for x in scales)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(FormulaError, match="rl_flop"):
        eq.rl_compute(rl_flop=9, n_active=1e9, rl_tokens=1e9, decode_efficiency=0.3)
    with pytest.raises(FormulaError, match="decode_efficiency"):
        eq.inference_compute(n_active=1e9, inference_tokens=1e9, decode_efficiency=1.5)
    with pytest.raises(FormulaError, match="holds only where"):
        eq.tokens_for_loss(n_active=1e6, loss=2.0, **numbers.law())
