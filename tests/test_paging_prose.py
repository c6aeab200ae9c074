"""The numbers that the paging lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

from lessons import sig

from blackboard.lessons.paging import numbers

KV, WEIGHTS, BYTES, RATE = 2 * 40 * 5120 * 2, 26e9, 1.555e12, 312e12  # OPT-13B in 16 bits on an A100 40 GB
SIZE = WEIGHTS / 2


def step(batch, held, slower=0.0):
    """Seconds of a decode step by the roofline."""
    return max((WEIGHTS + (1 + slower) * batch * held * KV) / BYTES, 2 * batch * SIZE / RATE)


def test_printed_numbers_agree_with_an_independent_reckoning():
    told = numbers.all()
    held = float(told["sg_mean"])
    room = 15_700 / (held + 7.5)
    token = lambda batch, slower=0.0: step(batch, held, slower) / batch
    sent, new = sum(12_000 + 2_242 * n for n in range(33)), 12_000 + 2_242 * 32
    hit = 1 - new / sent
    blended = 5 * (0.1 * hit + 1.25 * (1 - hit))
    expected = {
        "kv_kB": sig(KV / 1000),
        "sg_all": "499",
        "sg_use": f"{499.3 / 2048:.0%}",
        "al_use": f"{77.76 / 2048:.0%}",
        "slots_over": sig(15_700 / 2048, 3),
        "orca_batch": "7",
        "waste_16": sig(sum(range(16)) / 16),
        "sg_paged": f"{499.3 / 506.8:.1%}",
        "al_paged": f"{77.76 / 85.26:.1%}",
        "held_paged": sig(room),
        "sg_held": f"{held / 2048:.0%}",
        "cache_MB": f"{held * KV / 1e6:.0f} MB",
        "weights_GB": "26.0 GB",
        "memory_held": f"{7 * held / 15_700:.0%}",
        "vllm_fills": f"{30.42 * held / 15_700:.0%}",
        "held_256": f"{15_700 / (held + 255 / 2):.0f}",
        "waste_256": f"{255 / 2}",
        "al_all": "78",
        "hybrid_edge": str(len({token // 16 for token in range(120 - 31, 120)})),
        "again_time": f"{float(told['gave_back']) * 2 * SIZE / RATE * 1000:.0f} ms",
        "batch_ratio": sig(room / 7),
        "step_implied": f"{30.42 / (2 * 337.99) * 1000:.0f} ms",
        "codex_rate": f"{hit:.1%}",
        "card_blended": f"${blended:.2f}",
        "agent_plain": f"${5e-6 * sent:.2f}",
        "agent_cached": f"${blended * 1e-6 * sent:.2f}",
        "even_5": f"{0.25 / 1.15:.1%}",
        "even_1h": f"{1 / 1.9:.1%}",
        "codex_end_GB": f"{80_000 * 3.8 / 100_000:.1f} GB",
        "mean_context": f"{sent / 33:,.0f}",
        "kimi_kB": f"{3.8e6 / 100_000:.0f} kB",
        "hits_copilot": f"{541 / 631.4:.0%}",
        "hybrid_all": "11",
        "hybrid_full": "7",
        "hybrid_window": "2",
        "hybrid_uniform": "21",
        "gemma_padding": "8",
        "gemma_layer": f"{2 * 16 * 128 * 2:,}",
        "gemma_window": "1,024",
        "gemma_limit": sig(62 / 10),
        "gemma_saving": f"{62 / (10 + 52 * 1024 / 131_072):.1f}",
        "gemma_layers": "62",
        "gemma_long": f"{(10 + 52 * 1024 / 131_072) * 2 * 16 * 128 * 2 / 1000:.0f} kB",
    }
    assert {name: told[name] for name in expected} == expected
    loaded = {"few": WEIGHTS + 7 * held * KV, "held": WEIGHTS + room * held * KV}
    near = lambda name, value: abs(float(told[name].split()[0].rstrip("%")) / value - 1) < 0.04
    assert (
        near("loaded_few", loaded["few"] / 1e9)
        and near("loaded_held", loaded["held"] / 1e9)
        and near("each_few", loaded["few"] / 7e9)
        and near("each_held", loaded["held"] / room / 1e9)
        and near("worth", token(7) / token(room))
        and near("gain_high", token(7) / token(30.42, 0.26))
        and near("gain_low", token(13.62) / token(30.42, 0.26))
    )
    assert abs(float(told["blocks_held"]) / held - 1) < 0.06, "no conversation is longer than 2,048: a little less"
    assert near("step_roofline", 1000 * step(30.42, held, 0.26)), "weights of 26 GB are rounded in the paper"
    spent = 338 * token(room, 0.26)
    again = float(told["gave_back"]) * 2 * SIZE / RATE
    assert near("worth_again", token(7) / (token(room, 0.26) * (1 + again / spent)))


def test_uses_and_hit_rates_are_one_condition():
    """n uses of a prompt are a hit rate of 1 - 1/n: both lessons' break-even must be the same."""
    from blackboard.lessons.paging import equations as eq
    from blackboard.lessons.pricing import equations as pricing

    for write, read in ((1.25, 0.1), (2, 0.1), (1.1, 0.5)):
        uses = pricing.uses_even(write_ratio=write, read_ratio=read)
        assert abs(eq.hit_rate_even(write_ratio=write, read_ratio=read) - (1 - 1 / uses)) < 1e-12
