"""The numbers that the paging lesson prints, by plain arithmetic beside the formulas."""

from __future__ import annotations

import contextlib
import io
import random
import re
from collections import Counter

import pytest
from lessons import page, sig

from blackboard.lessons.paging import numbers, simulation
from blackboard.lessons.paging.allocator import Allocator, OutOfRoom

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
        "kv_GB": f"{15_700 * KV / 1e9:.1f} GB",
        "sg_all": "499",
        "sg_use": f"{499.3 / 2048:.0%}",
        "vllm_batch": "30.4",
        "codex_known": f"{1 - 2_242 / new:.0%}",
        "sg_half": f"{(161.31 + 337.99 / 2) / 2048:.0%}",
        "other_GB": f"{40 - 26 - 15_700 * KV / 1e9:.1f} GB",
        "slots_over": sig(15_700 / 2048, 3),
        "orca_batch": "7",
        "waste_16": sig(sum(range(16)) / 16),
        "sg_paged": f"{held / (held + 7.5):.1%}",
        "held_one": f"{room:.1f}",
        "fit_end": f"{15_700 / 499.3:.0f}",
        "both_GB": f"{26 + 15_700 * KV / 1e9:.1f} GB",
        "vllm_holds": f"{15_700 * 0.963 / 30.42:.0f}",
        "gain_held": f"{token(7) / step(30.42, 497, 0.26) * 30.42:.1f}",
        "others_low": f"{15_700 * 0.268 / 9.81:.0f}",
        "others_high": f"{15_700 * 0.204 / 7:.0f}",
        "end_tokens": f"{new:,}",
        "sent": f"{sent / 1e6:.2f} million",
        "sg_held": f"{held / 2048:.0%}",
        "cache_MB": f"{held * KV / 1e6:.0f} MB",
        "weights_GB": "26.0 GB",
        "half_said": f"{hit / 2:.0%}",
        "held_256": f"{15_700 / (held + 255 / 2):.0f}",
        "waste_256": f"{255 / 2}",
        "again_time": f"{float(told['gave_back']) * 2 * SIZE / RATE * 1000:.0f} ms",
        "batch_ratio": sig(room / 7),
        "codex_rate": f"{hit:.1%}",
        "agent_plain": f"${5e-6 * sent:.2f}",
        "agent_cached": f"${blended * 1e-6 * sent:.2f}",
        "even_5": f"{0.25 / 1.15:.1%}",
        "mean_context": f"{sent / 33:,.0f}",
        "kimi_kB": f"{3.8e6 / 100_000:.0f} kB",
        "hits_copilot": f"{541 / 631.4:.0%}",
        "hybrid_all": "11",
        "hybrid_full": "7",
        "hybrid_window": "2",
        "hybrid_uniform": "21",
        "gemma_layer": f"{2 * 16 * 128 * 2:,}",
        "gemma_window": "1,024",
        "gemma_limit": sig(62 / 10),
        "gemma_saving": f"{62 / (10 + 52 * 1024 / 131_072):.1f}",
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
        and near("step_time", 1000 * step(room, held, 0.26))
        and near("gain_high", token(7) / token(30.42, 0.26))
        and near("gain_low", token(13.62) / token(30.42, 0.26))
    )
    assert near("sg_ahead", 337.99 * (1 + float(told["sg_spread"]) ** 2) / 2) and near("sg_ahead", held - 161.31)
    assert near("gave_back", 499.3 * 2 / 3), "two thirds of its tokens"
    spent = 338 * token(room, 0.26)
    again = float(told["gave_back"]) * 2 * SIZE / RATE
    assert told["again_share"] == f"{again / spent:.0%}" and told["again_half"] == f"{2 * again / spent:.0%}"


def test_four_counts_differ_by_the_tokens_in_each_sequence():
    """Sequences times tokens in each fill nearly all slots; the simulated draws lack the longest conversations."""
    told = {
        name: float(value.rstrip("%"))
        for name, value in numbers.all().items()
        if value.rstrip("%").replace(".", "").isdigit()
    }
    pairs = ("fit_end", "sg_all"), ("held_one", "sg_mean"), ("run_batch", "run_held"), ("vllm_batch", "vllm_holds")
    assert all(0.96 < told[batch] * told[each] / 15_700 < 1 for batch, each in pairs)
    drawn = simulation.trace("ShareGPT", 20_000)
    lived = sum(r.answer * (r.prompt + r.answer / 2) for r in drawn) / sum(r.answer for r in drawn)
    assert abs(told["run_held"] / lived - 1) < 0.02 and lived < 0.96 * told["sg_mean"]


def test_uses_and_hit_rates_are_one_condition():
    """n uses of a prompt are a hit rate of 1 - 1/n: both lessons' break-even must be the same."""
    from blackboard.lessons.paging import equations as eq
    from blackboard.lessons.pricing import equations as pricing

    for write, read in ((1.25, 0.1), (2, 0.1), (1.1, 0.5)):
        uses = pricing.uses_even(write_ratio=write, read_ratio=read)
        assert abs(eq.hit_rate_even(write_ratio=write, read_ratio=read) - (1 - 1 / uses)) < 1e-12


def cell(start):
    """The page's cell that begins so."""
    found = re.findall(r"```\{code-cell\}\n(.*?)```", page("paging").read_text("utf8"), re.S)
    return next(source for source in found if source.startswith(start))


def test_the_readers_own_server_starts_as_the_papers():
    told = numbers.all()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(cell("room, weights"), {})
    expected = (told["orca_batch"], told["held_one"], told["worth"])
    assert tuple(re.findall(r"\d+\.?\d*", printed.getvalue())) == expected


def test_the_pages_allocator_keeps_the_three_rules():
    """Random requests beside the course's own allocator: the same tables, and no rule broken."""
    space, draw, real = {}, random.Random(3), Allocator(8, 4, caching=False)
    exec(cell("SIZE, BLOCKS"), space)
    for _ in range(3_000):
        name, names = draw.choice("abcd"), list(real.tables)
        act = draw.choice(("append", "fork", "end"))
        try:
            if name not in names and (act == "append" or not names):
                real.allocate(name, range(tokens := draw.randint(1, 9)))
                space["append"](name, tokens)
            elif name not in names and act == "fork":
                real.fork(other := draw.choice(names), name)
                space["fork"](other, name)
            elif name in names and act == "append":
                real.append(name, *range(tokens := draw.randint(1, 5)))
                space["append"](name, tokens)
            elif name in names and act == "end":
                real.free(name)
                space["end"](name)
        except OutOfRoom:
            with pytest.raises(MemoryError):
                space["append"](name, tokens)
        counts = Counter(block for table in space["tables"].values() for block in table)
        assert space["tables"] == real.tables and space["free"] == real.free_blocks and real.broken() == []
        assert [counts[block] for block in range(8)] == space["counts"]


def state(space):
    return repr([space[name] for name in ("tables", "lengths", "free", "counts")])


def test_a_request_that_does_not_fit_changes_nothing_on_the_page():
    """A copy without a free block, a sequence that would grow past the last one, and a new one that is too long."""
    space = {}
    exec(cell("SIZE, BLOCKS"), space)
    append = space["append"]
    append("Ann", 6)
    space["fork"]("Ann", "Bob")  # the second block is half full, and shared
    append("Cem", 23)
    before = state(space)
    for name, tokens in (("Bob", 1), ("Ann", 1), ("Cem", 2), ("Dee", 1)):
        with pytest.raises(MemoryError):
            append(name, tokens)
        assert state(space) == before, name
    append("Cem", 1)  # the last slot is still there
    space["end"]("Ann")
    append("Bob", 1)  # the block is Bob's alone now: nothing to copy


def test_a_turn_is_found_as_often_as_the_page_prints():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(cell("import random"), {})
    assert printed.getvalue() == "in turn 0%, at random 67%\n"
