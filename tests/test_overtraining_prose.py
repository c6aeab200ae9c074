"""The numbers that the over-training lesson prints, by plain arithmetic; and the lecture's own."""

from __future__ import annotations

import pytest
from lessons import sig, values

from blackboard.catalogue import measurement
from blackboard.formula import FormulaError
from blackboard.lessons.overtraining import equations as eq
from blackboard.lessons.overtraining import numbers

DAY = 86_400


HOFFMANN, BESIROGLU = (1.69, 406.4, 410.7, 0.34, 0.28), (1.8172, 482.01, 2085.43, 0.3478, 0.3658)


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
    *_, h_own = optimum(*HOFFMANN)
    *_, b_own = optimum(*BESIROGLU)
    days = 5_328_000 / 87_072
    work, peak = 6 * 37_551_276_032 * 14.8e12, 989e12
    mfu = work / (2_664_000 * 3600 * peak)
    expected = {
        "alpha_2": "1.11",
        "alpha_8": "4.44",
        "beta": "1.11",
        "alpha_card": "1.5",
        "beta_card": "1",
        "wrong_2": "0.1",
        "wrong_8": "0.4",
        "wrong_tokens": "10",
        "squared_share": "33%",
        "squared_penalty": f"{2 / (0.5 ** (2 / 3) + 2 ** (1 / 3)) - 1:.1%}",
        "seconds": f"{60 * DAY / 1e6:.2f} million seconds",
        "rule_8": f"{20 * 8.03:.0f} billion",
        "tokens_8": "15 trillion",
        "ds_active": "37.6 billion",
        "per_alpha_8": "0.225",
        "rl_whole": f"{8 / 0.3:.0f}",
        "rl_parts": f"{2 / 0.3 + 6:.0f}",
        "generated": sig(2 / 0.3),
        "served": f"{50e6 * 60 * DAY / 1e12:.0f} trillion",
        "chinchilla": "2.00 trillion",
        "over": "130",
        "over_rounded": "100",
        "over_rumour": "75",
        "own_hoffmann": f"{h_own:.0f}",
        "own_besiroglu": f"{b_own:.0f}",
        "sardana_size": "7.0 billion",
        "sardana_saved": "17%",
        "table_least": f"{8e9 / 0.4e9:.0f}",
        "table_most": f"{1.5e12 / 67e9:.0f}",
        "ds_days": f"{days:.0f}",
        "ds_served": f"{168e9 * days / 1e12:.1f} trillion",
        "ds_written": "168 billion",
        "ds_prefilled": f"{608 - 342} billion",
        "ds_peak": "989 TFLOP/s",
        "ds_ratio": sig(14.8e12 / (168e9 * days), 3),
        "ds_year": f"{365 / days:.1f}",
        "ds_work": f"{work / 1e24:.2f}·10²⁴",
        "ds_mfu": f"{mfu:.0%}",
        "ds_cost": "$5.33 million",
        "ds_day": "$87,072",
        "ds_rent": "$2",
        "ds_reported": "39%",
        "whole": "1.2·10²⁶",
        "ds_eta": sig(168e9 * days / 14.8e12 / 3),
        "ds_reading": f"{2 * (608 - 342) / (2 * 168 / 0.3):.0%}",
        "mid_by_family": sig(10 / 50**0.5, 3),
        "mid_by_beta": sig(2 / 0.3 / 6, 3),
        "large": "100 billion parameters",
        "large_name": "Llama 4 Scout",
        "large_times": sig(40e12 / 17e9 / 20),
        "least_times": f"{0.78e12 / 540e9 / 20:.2f}",
        "whole_hours": f"{sig(1.2e26 / (peak * mfu * 3600) / 1e6)} million",
        "whole_cost": f"${sig(2 * 1.2e26 / (peak * mfu * 3600) / 1e6, 3)} million",
        "per_served": f"${sig(2 * 1.2e26 / (peak * mfu * 3600) / 200e6)}",
        "kv_intensity": f"{1979 / 3.35:.0f}",
        "kv_bytes_8": f"{32 * 2 * 8 * 128:,}",
        "kv_bytes_405": f"{126 * 2 * 8 * 128:,}",
        "kv_bytes_v3": f"{61 * 576:,}",
        "kv_8": sig(8192 * 65_536 * 1979 / 3.35 / (2 * 8.03e9)),
        "kv_v3": sig(8192 * 61 * 576 * 1979 / 3.35 / (2 * 37.55e9)),
        "kv_405": sig(8192 * 258_048 * 1979 / 3.35 / (2 * 405.9e9)),
        "times_v3": sig(14.8e12 / 37.55e9 / 20),
        "times_v3_total": sig(14.8e12 / 671e9 / 20),
        "times_8": sig(15e12 / 8.03e9 / 20),
    }
    assert {name: told[name] for name in expected} == expected


@pytest.mark.parametrize("row", range(4))
def test_the_table_of_cheapest_models_agrees_with_a_search(row):
    fit, efficiency = (HOFFMANN, BESIROGLU)[row // 2], (1.0, 0.3)[row % 2]
    size, data, share, _ = optimum(*fit, efficiency=efficiency)
    lost, *_, own = f"{equal(*fit, efficiency) - 1:.1%}", *optimum(*fit, size=size, served=0)
    by = [f"{sig(data / size / rule)} × {rule:.0f}" for rule in (20, own)]
    expected = [f"{sig(size / 1e9, 3)} B", f"{sig(data / 1e12, 3)} T", *by, f"{share:.0%}", lost]
    assert numbers.optima()[row][2:] == expected


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
