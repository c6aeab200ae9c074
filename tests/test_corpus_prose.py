"""The numbers that the corpus lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

from math import exp

import numpy as np
from lessons import sig, values

from blackboard.lessons.corpus import simulation

SMALL, LARGE, REUSE = 124_668_672, 1_100_048_384, 15.387756  # parameters; Muennighoff's constant
E, A, B, ALPHA, BETA = 1.8172, 482.01, 2085.43, 0.3478, 0.3658  # Besiroglu's fit


def worth(tokens, unique):
    """Fresh tokens, pass by pass: each smallest step of a repetition is worth a little less."""
    if tokens <= unique:
        return tokens
    steps = 200_000
    more = (tokens / unique - 1) / steps
    return unique * (1 + sum(exp(-(n + 0.5) * more / REUSE) * more for n in range(steps)))


def test_errors_of_changes_are_those_of_a_straight_line():
    """Least squares by numpy.polyfit through the tables' own scores; the t-distribution's two-sided 5%."""
    told, steps = values("corpus"), {"120": (10, 100, 200, 300, 400, 466.509), "1b": (10, 100, 500, 1000, 1430.512)}
    for id, name, needed in (("120", "LLäMmlein 120M", 2.776), ("1b", "LLäMmlein 1B", 3.182)):
        scores = 100 * np.array(simulation.checkpoints(name).scores)
        (slope, _), [squares], *_ = np.polyfit(np.log2(steps[id]), scores, 1, full=True)
        scatter = (squares / (len(scores) - 2)) ** 0.5
        expected = {
            f"next_{id}": sig(slope, 3),
            f"change_{id}": sig(2**0.5 * scatter, 3),
            f"errors_{id}": f"{slope / scatter / 2**0.5:.{2 if slope < scatter else 1}f}",
            f"needed_{id}": sig(needed),
        }
        assert {name: told[name] for name in expected} == expected


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = values("corpus")
    tokens, small = 1_430_512 * 1024 * 2048, 466_509 * 1024 * 2048
    law = lambda n, d: E + A / n**ALPHA + B / d**BETA
    budget = LARGE * tokens
    best = min((law(n, budget / n), n) for n in (10 ** (9 + k / 2000) for k in range(4000)))
    share = 1.27 / 2.7
    filtered = lambda passes: passes ** np.log10(2) * (1 + REUSE * (1 - exp(-(passes - 1) / REUSE))) / passes
    expected = {
        "step_tokens": f"{1024 * 2048:,}",
        "tokens_120": f"{small / 1e9:.0f} billion",
        "over_120": sig(small / (20 * SMALL), 3),
        "over_1b": sig(tokens / (20 * LARGE), 3),
        "epochs_1b": sig(tokens / 1.3e12),
        "epochs_120": "2.0",
        "flop_1b": f"{sig(6 * LARGE * tokens / 1e22, 3)}·10²² FLOP",
        "mfu_1b": f"{6 * LARGE * tokens / (50_000 * 3600 * 312e12):.0%}",
        "rate_120": f"{6 * SMALL * small / (10_000 * 3600) / 1e12:.0f} TFLOP/s",
        "worth_1b": sig(BETA * B / tokens**BETA / (ALPHA * A / LARGE**ALPHA), 3),
        "params_120": "124.6 million",
        "left_1b": sig(B / tokens**BETA, 3),
        "bought": sig(B / (500_000 * 1024 * 2048) ** BETA - B / tokens**BETA),
        "bought_high": f"{410.7 / (500_000 * 1024 * 2048) ** 0.2849 - 410.7 / tokens**0.2849:.3f}",
        "worth_low": sig(0.3392 * 406.4 / LARGE**0.3392 / (0.2849 * 410.7 / tokens**0.2849)),
        "off_data": sig(1000 * (law(LARGE, tokens) - law(LARGE, 1.0001 * tokens)) * 100, 3),
        "off_size": f"{1000 * (law(LARGE, tokens) - law(1.0001 * LARGE, tokens)) * 100:.2f}",
        "size_power": sig(ALPHA, 3),
        "data_power": sig(BETA, 3),
        "loss_1b": sig(law(LARGE, tokens), 3),
        "best_loss": f"{best[0]:.2f}",
        "best_size": f"{sig(best[1] / 1e9)} billion",
        "reuse": "15.4",
        "worth_2": f"{worth(2, 1) / 2:.0%}",
        "size_1b": sig(A / LARGE**ALPHA, 3),
        "rate_1b": f"{6 * LARGE * tokens / (50_000 * 3600) / 1e12:.0f} TFLOP/s",
        "peak_a100": "312 TFLOP/s",
        "worth_limit": "16.4",
        "worth_llammlein": f"{worth(tokens, 1.3e12) / tokens:.1%}",
        "halved_gains": f"{2 ** (np.log(2) / np.log(10)) - 1:.0%}",
        "five_costs": f"{1 - filtered(5) / max(filtered(n / 100) for n in range(500, 2000)):.0%}",
        "clear_chance": f"{0.05 * 12:.1f}",
        "kept_edu": f"{1.3 / 15:.0%}",
        "kept_dclm": f"{3.8 / 240:.1%}",
        "quality_llammlein": sig(worth(tokens, 2.7e12) / worth(tokens, 2.7e12 * share), 3),
        "quality_tenth": sig(worth(tokens, 2.7e12) / worth(tokens, 2.7e12 * share / 10), 3),
    }
    assert {name: told[name] for name in expected} == expected
