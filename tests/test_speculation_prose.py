"""The numbers that the speculation lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

from lessons import sig

from blackboard.lessons.speculation import numbers

V3, ACTIVE, KV = 671_025_397_760, 37_551_276_032, 61 * 576 * 2  # DeepSeek-V3: parameters, and bytes of a token's cache
RATE, BYTES = 72 * 5e15, 72 * 8e12  # the rack in FP8


def tau(alpha, drafted):
    """Tokens of a round, added up."""
    return sum(alpha**n for n in range(drafted + 1))


def free(drafted, context=1000):
    """Sequences for which all tokens multiply as long as weights and caches are read: B (a n - k) = w."""
    multiply, cache = 2 * ACTIVE * (drafted + 1) / RATE, context * KV / BYTES
    return V3 / BYTES / (multiply - cache)


def lost(drafted):
    """Sequences beyond which so many guesses are a loss, by halving."""
    low, high = 1.0, 1e6
    for _ in range(60):
        batch = (low + high) / 2
        low, high = (batch, high) if float(column(batch, drafted, 9)[f"gain_{batch}"]) > 1 else (low, batch)
    return low


def column(batch, drafted=4, digits=2):
    """The worked example at one batch, in milliseconds."""
    memory, compute = 1e3 * (V3 + batch * 1000 * KV) / BYTES, 1e3 * 2 * ACTIVE * batch / RATE
    plain, check = max(memory, compute), max(memory, (drafted + 1) * compute)
    times = {"memory": memory, "compute": compute, "five": 5 * compute, "verify": check, "draft": drafted * plain / 20}
    times |= {"round": check + times["draft"], "gain": tau(0.8, drafted) * plain / (check + times["draft"])}
    return {f"{name}_{batch}": f"{value:.{digits}f}" for name, value in times.items()}


def touched(experts, active, stored, used, tokens):
    """Bytes that so many tokens read of a routed model, one byte a parameter."""
    return used + (stored - used) * (1 - (1 - active / experts) ** (tokens - 1))


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    best = lambda a: max(range(1, 60), key=lambda n: tau(a, n) / (n * 0.05 + 1))
    even = 5 / (tau(0.8, 4) - 0.2)
    expected = {
        **{f"tau_{n}": f"{tau(0.8, n):.2f}" for n in (1, 2, 4, 7)},
        **{f"free_{n}": sig(free(n)) for n in (1, 2, 4, 7)},
        **{f"even_{n}": sig(lost(n)) for n in (1, 2, 7)},
        **{name: value for batch in (1000, 4000, 8000) for name, value in column(batch).items()},
        "gain_4": sig(tau(0.8, 4) / 1.2),
        "kink": sig(free(0)),
        "context_4": sig(5 * 2 * ACTIVE * BYTES / (RATE * KV)),
        "best_08": f"{best(0.8)}",
        "best_gain_08": sig(tau(0.8, 8) / 1.4),
        "best_06": f"{best(0.6)}",
        "busy_4": sig(tau(0.8, 4) / 5.2),
        "slower_4": f"{sig(5.2 / tau(0.8, 4))} times",
        "ratio_even": sig(even, 3),
        "batch_even": sig(lost(4)),
        "touched_v3": f"{touched(256, 8, V3, ACTIVE, 5) / ACTIVE:.1f}",
        "touched_mixtral": sig(touched(8, 2, 46.7e9, 12.88e9, 5) / 12.88e9),
        "spire_steps": "1.22",
        "magic_steps": "1.90",
        "plain_steps": "1.90",
        "spire_saving": f"{(10 - 10 / 2.78 - 0.25) / 10:.1%}",
        "magic_saving": f"{1 - 1 / 2.05:.1%}",
        "ngram_product": "5.0",
        "mixtral_steps": sig(3.25 / 1.5),
        "mtp_tau_low": "1.85",
        "mtp_tau_high": "1.90",
        "mtp_place_1": "0.92",
        "mtp_place_2": sig(0.66 / 0.92),
        "mtp_place_3": sig(0.24 / 0.66),
        "ngram_five": sig(6 / 2.8),
        "r1_steps": sig(2.82 / 2.28, 3),
        "touched_v3_3": sig(touched(256, 8, V3, ACTIVE, 4) / ACTIVE),
        "dense_gap": f"{1 - 2.89 / 3.78:.0%}",
        "lev_over": "4",
        "lev_most": sig(3.1 / (tau(0.65, 5) / 1.1)),
        "lev_least": sig(1.7 / (tau(0.82, 7) / 1.77)),
        "lev_median": "15%",
    }
    assert {name: told[name] for name in expected} == expected
    assert tau(0.74, 3) < 2.72 and float(told["peagle_most"].rstrip("%")) == round(100 * (tau(0.7818, 7) / 3.38 - 1)), (
        "EAGLE's three explain too many of seven"
    )


def test_a_speculated_step_never_beats_its_tokens_and_a_busy_one_never_wins():
    from blackboard.lessons.speculation import equations as eq

    for alpha in (0.1, 0.5, 0.9, 0.99):
        for drafted in (1, 3, 8):
            at = {"acceptance": alpha, "drafted": drafted, "draft_ratio": 0.02}
            assert eq.speedup_busy(**at) < 1 and eq.speedup_free(**at) < tau(alpha, drafted) <= drafted + 1
            gains = [eq.speedup(**at, memory_ratio=r) for r in (0.5, 1, 1.5, 3, 9, 100)]
            assert gains == sorted(gains), "the longer a step waits for memory, the more speculation gains"
