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
    expected = {
        "kv_kB": sig(KV / 1000),
        "kv_GB": f"{15_700 * KV / 1e9:.1f} GB",
        "sg_all": "499",
        "vllm_batch": "30.4",
        "held_whole": f"{room:.0f}",
        "buddy_takes": "1,024",
        "buddy_lost": f"{1024 - 600}",
        "saved_tokens": f"{new / 2_242:.0f}",
        "token_held": f"{sig(1000 * token(room), 3)} ms",
        "answer_half": f"{337.99 * 1000 * token(room / 2):.0f} ms",
        "token_prompt": f"{2 * SIZE / RATE * 1000:.3f} ms",
        "caches_part": f"{1 - WEIGHTS / (WEIGHTS + room * held * KV):.0%}",
        "codex_answer": f"{sent / 33 / 131:.0f}",
        "half_extra": f"{338 * 1000 * (token(room / 2) - token(room)):.0f} ms",
        "prompt_time": f"{161.31 * 2 * SIZE / RATE * 1000:.0f} ms",
        "pause_median": "5.2 s",
        "pause_long": "81.4 s",
        "set_tokens": f"{75 * sent / 33 / 1e6:.2f} million",
        "other_GB": f"{40 - 26 - 15_700 * KV / 1e9:.1f} GB",
        "orca_batch": "7",
        "pow2_batch": "9.8",
        "oracle_batch": "13.6",
        "big_weights": "132 GB",
        "big_slots": "9,700",
        "big_few": f"{9_700 // 2048}",
        "big_held": f"{9_700 / (held + 7.5):.2f}",
        "big_cache": f"{held * 2 * 64 * 9216 * 2 / 1e9:.2f} GB",
        "waste_16": sig(sum(range(16)) / 16),
        "sg_paged": f"{held / (held + 7.5):.1%}",
        "held_one": f"{room:.1f}",
        "vllm_holds": f"{15_700 * 0.963 / 30.42:.0f}",
        "end_tokens": f"{new:,}",
        "sent": f"{sent / 1e6:.2f} million",
        "sg_held": f"{held / 2048:.0%}",
        "cache_MB": f"{held * KV / 1e6:.0f} MB",
        "weights_GB": "26.0 GB",
        "again_time": f"{float(told['gave_back']) * 2 * SIZE / RATE * 1000:.0f} ms",
        "batch_ratio": sig(room / 7),
        "codex_rate": f"{hit:.1%}",
        "codex_own": f"{1 - (new - 32 * sent / 33 / 131) / sent:.1%}",
        "step_compute": f"{sig(room * 2 * SIZE / RATE * 1000)} ms",
        "mean_context": f"{sent / 33:,.0f}",
        "hits_copilot": f"{541 / 631.4:.0%}",
        "hybrid_all": "11",
        "hybrid_full": "7",
        "hybrid_window": "2",
        "hybrid_uniform": "21",
        "gemma_window": "1,024",
        "gemma_saving": f"{62 / (10 + 52 * 1024 / 131_072):.1f}",
    }
    assert {name: told[name] for name in expected} == expected
    loaded = {"few": WEIGHTS + 7 * held * KV, "held": WEIGHTS + room * held * KV}
    again, run = float(told["gave_back"]) * 2 * SIZE / RATE, simulation.full("blocks", steps=simulation.LONG)
    decoding = 338 * step(run.batch, run.held) / run.batch
    paged = step(30.42, 15_700 * 0.963 / 30.42, 0.26) / 30.42 * (1 + again / decoding)
    ideal = lambda size, few, slots, kv: (size / few + held * kv) / (size * (held + 7.5) / slots + held * kv)
    opt66, opt175 = ideal(132e9, 4, 9_700, 4 * 64 * 9216), ideal(346e9, 29, 60_100, 4 * 96 * 12_288)
    assert told["worth_most"] == f"{opt66:.1f}" and opt66 > token(7) / token(room) > opt175, "of the paper's three"
    assert told["worth_least"] == f"{opt175:.1f}" and opt175 * float(told["gain_high"]) / float(told["worth"]) < 2.7
    assert told["orca_ahead"] == "13.3%" and told["orca_each"] == f"{0.133 * 15_700 / 7:.0f}"
    near = lambda name, value: abs(float(told[name].split()[0].rstrip("%").lstrip("$")) / value - 1) < 0.04
    dollars = 1.99 / 3600 * 1e6
    assert near("cost_few", token(7) * dollars) and near("cost_held", token(room) * dollars)
    assert near("cost_cache", held * KV / BYTES * dollars)
    assert near("weights_few", WEIGHTS / BYTES / 7 * dollars) and near("weights_held", WEIGHTS / BYTES / room * dollars)
    assert (
        near("loaded_few", loaded["few"] / 1e9)
        and near("loaded_held", loaded["held"] / 1e9)
        and near("step_few", 1000 * step(7, held))
        and near("step_held", 1000 * step(room, held))
        and near("worth", token(7) / token(room))
        and near("gain_high", token(7) / paged)
        and near("gain_low", token(13.62) / paged)
    )
    assert near("sg_ahead", 337.99 * (1 + float(told["sg_spread"]) ** 2) / 2) and near("sg_ahead", held - 161.31)
    assert near("gave_back", 499.3 * 2 / 3), "two thirds of its tokens"
    spent, prompt = 338 * token(room), 161.31 * 2 * SIZE / RATE
    assert near("worth_prompts", (338 * token(7) + prompt) / (spent + prompt))
    assert told["again_share"] == f"{again / decoding:.0%}" and near("answer_time", 1000 * spent)
    assert near("spare_none_time", 1000 * (again + decoding)) and told["caches_part"] == "33%", "a third"


def test_the_ledger_of_the_gain_goes_step_by_step():
    """From the ideal batch to the paper's, its kernel and its lost work; each row is the one before, less one thing."""
    told = numbers.all()
    held, long = float(told["sg_mean"]), 15_700 * 0.963 / 30.42
    few = step(7, held) / 7
    again = 1 + float(told["again_share"].rstrip("%")) / 100
    other = step(13.62, held) / 13.62  # the server that knows every length
    rows = {
        "low_ideal": other / (step(15_700 / (held + 7.5), held) / (15_700 / (held + 7.5))),
        "low_batch": other / (step(30.42, long) / 30.42),
        "gain_batch": few / (step(30.42, long) / 30.42),
        "gain_kernel": few / (step(30.42, long, 0.26) / 30.42),
        "gain_high": few / (step(30.42, long, 0.26) / 30.42 * again),
        "gain_low_kept": other / (step(30.42, long, 0.26) / 30.42),
        "gain_low": other / (step(30.42, long, 0.26) / 30.42 * again),
    }
    for name, value in rows.items():
        assert float(told[name]) == pytest.approx(value, rel=0.02), name
    for ledger in (
        ("worth", "gain_batch", "gain_kernel", "gain_high"),
        ("low_ideal", "low_batch", "gain_low_kept", "gain_low"),
    ):
        gains = [float(told[name]) for name in ledger]
        assert sorted(gains, reverse=True) == gains


def test_the_figures_of_the_second_half_draw_what_the_text_says():
    from blackboard.lessons.paging import figures

    told, drawn = numbers.all(), figures.gain_ladder().alt
    for name in ("worth", "gain_batch", "gain_kernel", "gain_high", "rate_high", "worth_most"):
        assert re.search(rf"\b{re.escape(told[name])}\b", drawn), name
    drawn = figures.session().alt
    assert drawn.count(told["end_tokens"]) == 2 and told["codex_growth"] in drawn and told["codex_start"] in drawn


def test_a_hit_saves_less_time_than_tokens():
    """Attention added up token by token, over 80 layers of 64 heads of 128; eight H100s at 989 TFLOP/s each."""
    told, flops, size, end, new = numbers.all(), 8 * 989.4e12, 70.55e9, 83_744, 2_242
    attended = lambda first: sum(4 * 80 * 64 * 128 * n for n in range(first + 1, end + 1)) / flops
    took = {
        "weights_scratch": 2 * size * end / flops,
        "attention_scratch": attended(0),
        "weights_found": 2 * size * new / flops,
        "attention_found": attended(end - new),
    }
    took |= {f"first_{kind}": took[f"weights_{kind}"] + took[f"attention_{kind}"] for kind in ("scratch", "found")}
    for name, seconds in took.items():
        value, unit = told[name].split()
        assert float(value) * {"s": 1, "ms": 1e-3}[unit] == pytest.approx(seconds, rel=0.02), name
    assert told["saved_time"] == f"{took['first_scratch'] / took['first_found']:.0f}"
    assert took["attention_found"] > took["weights_found"], "the larger part"


def test_kept_prefixes_pay_for_agents_and_not_for_chats():
    """Llama 3.1 70B on eight H100s of 80 GB and 3,350 GB/s; what the weights leave is full of last turns, or half."""
    told, weights, kv, end = numbers.all(), 2 * 70.55e9, 2 * 80 * 8 * 128 * 2, 83_744
    held, answer = (640e9 - weights) / (end * kv), 47_872 / 131
    spent = lambda batch: answer * (weights + batch * end * kv) / (8 * 3.35e12) / batch
    expected = {
        "agent_answer": spent(held),
        "agent_half": spent(held / 2),
        "agent_extra": spent(held / 2) - spent(held),
    }
    for name, seconds in expected.items():
        assert float(told[name].removesuffix(" ms")) == pytest.approx(1000 * seconds, rel=0.01), name
    assert told["agent_batch"] == f"{held:.1f}" and int(told["agent_even"]) > 10
    many = float(told["agent_many"])
    assert many == pytest.approx(float(told["agent_batch"]) / 2 * float(told["agent_even"]), rel=0.02)
    assert told["agent_kept"] == f"{held / 2:.0f}" and visits(round(held / 2), round(many)) > 0.9 / float(
        told["agent_even"]
    )
    assert float(told["prompt_time"].split()[0]) < float(told["half_extra"].split()[0]) / 10
    longest = 2047 * 2 * SIZE / RATE
    assert 1000 * longest == pytest.approx(float(told["half_extra"].split()[0]), rel=0.05), "the longest prompt"


def visits(room, agents):
    """Share of turns at random that find their agent among those that came last."""
    draw, kept, found = random.Random(1), [], 0
    for _ in range(20_000):
        who = draw.randrange(agents)
        found += who in kept
        kept = [other for other in kept if other != who][-room + 1 :] + [who]
    return found / 20_000


def test_a_twentieth_kept_free_is_better_than_none_or_a_fifth():
    told = numbers.all()
    assert numbers.SPARE == {"none": 0, "some": 50, "many": 200} and 15_700 // 16 == 981
    assert float(told["spare_some_again"]) < float(told["gave_back"]) / 5 and told["spare_many_again"] == "0"
    batch = [float(told[f"spare_{name}_batch"]) for name in numbers.SPARE]
    assert batch[0] == pytest.approx(float(told["held_one"]), rel=0.05)
    assert 1 - batch[1] / batch[0] < 0.04 < 0.1 < 1 - batch[2] / batch[0]
    full = {name: simulation.full("blocks", steps=simulation.LONG, spare=s) for name, s in numbers.SPARE.items()}
    vllm = float(told["vllm_use"].rstrip("%")) / 100
    assert full["some"].tokens < vllm < full["none"].tokens < vllm + 0.02, "nearly as full as the greedy server"
    assert full["none"].held < float(told["sg_mean"]), "a little shorter"
    time = []
    for spare, name in zip(numbers.SPARE.values(), numbers.SPARE):
        run = simulation.full("blocks", steps=simulation.LONG, spare=spare)
        lost = run.recomputed / run.finished
        time.append(338 * step(run.batch, run.held) / run.batch + lost * 2 * SIZE / RATE)
        assert float(told[f"spare_{name}_time"].removesuffix(" ms")) == pytest.approx(1000 * time[-1], rel=0.01)
    assert time[1] < 0.95 * time[0] < time[0] < time[2]
    halved = time[0] + float(told["gave_back"]) * 2 * SIZE / RATE
    assert time[2] < halved, "prefill at half of the peak: a fifth is better than none"
    assert 0.95 < float(told["gave_back"]) / 338 < 1, "nearly as many as an answer has"


def test_printed_numbers_come_out_when_redone_with_the_printed_numbers():
    told = numbers.all()
    at = lambda name: float(re.sub("[^0-9.]", "", told[name].split()[0]))
    assert f"{at('slots') * at('sg_paged') / 100 / at('sg_mean'):.1f}" == told["held_one"]
    assert f"{at('slots') * at('vllm_use') / 100 / at('vllm_batch'):.0f}" == told["vllm_holds"]
    assert f"{at('sg_in') + at('sg_ahead'):.0f}" == told["sg_mean"]
    assert f"{at('sg_out') * (1 + at('sg_spread') ** 2) / 2:.0f}" == told["sg_ahead"]
    for which, batch in (("few", "orca_batch"), ("held", "held_one")):
        loaded = at("weights_GB") + at(batch) * at("cache_MB") / 1000
        assert f"{loaded:.1f} GB" == told[f"loaded_{which}"]
        assert f"{at(f'loaded_{which}') / 1.555:.1f} ms" == told[f"step_{which}"]
        rent = at("gpu_rent") / 3600 * at(f"step_{which}") / at(batch) * 1000
        assert f"${rent:.2f}" == told[f"cost_{which}"]
        assert at(f"weights_{which}") + at("cost_cache") == pytest.approx(at(f"cost_{which}"))
    assert f"{at('cost_few') / at('cost_held'):.1f}" == told["worth"]
    assert f"{at('weights_part') / 100 * at('batch_ratio') + at('caches_part') / 100:.1f}" == told["worth"]
    assert f"{at('sg_in') + at('sg_out') / 2 * (1 + at('sg_spread') ** 2):.0f}" == told["sg_mean"]
    assert f"{at('sg_out') * at('token_held'):.0f} ms" == told["answer_time"]
    assert f"{at('answer_half') - at('answer_time'):.0f} ms" == told["half_extra"]
    assert f"{at('sg_in') * at('token_prompt'):.0f} ms" == told["prompt_time"]
    assert f"{at('agent_half') - at('agent_answer'):.0f} ms" == told["agent_extra"]
    assert f"{at('first_scratch') - at('first_found') / 1000:.2f} s" == told["agent_saves"]
    assert at("agent_saved") == 1000 * at("agent_saves") and told["agent_saved"] == "2,550 ms"
    assert f"{at('agent_saved') / (at('agent_half') - at('agent_answer')):.0f}" == told["agent_even"]
    at_66b = [at("big_weights") / at(batch) + at("big_cache") for batch in ("big_few", "big_held")]
    assert f"{at_66b[0] / at_66b[1]:.1f}" == told["worth_most"]
    assert f"{at('slots') / (at('sg_mean') + at('waste_16')):.1f}" == told["held_one"]
    assert f"{at('sg_mean') / 2048:.0%}" == told["sg_held"] and at("sg_in") + at("sg_out") == at("sg_all")
    assert f"{at('cost_few') / at('cost_held'):.1f}" == told["worth"]
    assert at("weights_GB") + at("kv_GB") == pytest.approx(40 - at("other_GB"))
    assert f"{at('again_time') / (at('spare_none_time') - at('again_time')):.0%}" == told["again_share"]
    assert f"{at('agents') * at('mean_context') / 1e6:.2f} million" == told["set_tokens"]


def test_a_fifth_more_than_the_working_set_finds_nearly_all():
    whole = simulation.working_set(75, *simulation.agent())
    endless = float(numbers.all()["codex_rate"].rstrip("%")) / 100
    for pauses in ("random", "long-tailed", "regular"):
        found = simulation.agents(1.2 * whole, pauses)
        assert endless - 0.02 < found < endless + 0.01
    assert simulation.agents(whole, "random") < endless - 0.05


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


def test_the_pages_allocator_keeps_the_three_rules():
    """Random tokens and forks beside the course's own allocator: the same tables, and no rule broken; what does not fit
    changes nothing.
    """
    draw, full = random.Random(3), 0
    for _ in range(300):
        space, real = {}, Allocator(5, 4, caching=False)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(cell("SIZE, BLOCKS"), space)
        assert (space["tables"]["Bob"], space["SIZE"]) == ([0, 1, 3], 4) and divmod(9, 4) == (2, 1), "his tenth token"
        space["release"]("Bob")
        assert sorted(space["free"]) == list(range(5)) and not any(space["counts"])
        space["free"].sort()
        for _ in range(40):
            name, names = draw.choice("abcd"), list(real.tables)
            if name not in names and names and draw.random() < 0.7:
                real.fork(other := draw.choice(names), name)
                space["fork"](other, name)
            elif name in names and draw.random() < 0.1:
                real.free(name)
                space["release"](name)
            else:
                before = state(space)
                try:
                    real.append(name, 1) if name in names else real.allocate(name, [1])
                except OutOfRoom:
                    full += 1
                    with pytest.raises(IndexError):
                        space["append"](name)
                    assert state(space) == before
                else:
                    space["append"](name)
            counts = Counter(block for table in space["tables"].values() for block in table)
            assert space["tables"] == real.tables and space["free"] == real.free_blocks and real.broken() == []
            assert [counts[block] for block in range(5)] == space["counts"]
    assert full > 100


def state(space):
    return repr([space[name] for name in ("tables", "lengths", "free", "counts")])


def printed(start, change=("", "")):
    """The lines that the page's cell that begins so prints, with one text changed for another."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(cell(start).replace(*change), {})
    return said.getvalue().splitlines()


def test_the_figure_catches_answers_as_often_as_they_are_long():
    """Of two lengths, one three times the other: three of four that run are long, a quarter more than the mean, half
    written; as one plus the square of their spread says.
    """
    from blackboard.lessons.paging import figures

    short, long, drawn = figures.SHORT, figures.LONG, figures.caught().alt
    mean = (short + long) / 2
    spread = (long - short) / 2 / mean
    caught = [(int(part), int(whole)) for part, whole in re.findall(r"(\d+) of (\d+)", drawn)]
    assert sorted(whole for _, whole in caught) == [short, long, long, long] and long == 3 * short and spread == 0.5
    assert sum(whole for _, whole in caught) / 4 == (1 + spread**2) * mean == 1.25 * mean
    assert sum(part for part, _ in caught) == sum(whole for _, whole in caught) / 2, "half is written"


def test_the_pages_cache_finds_what_its_text_says():
    """In turn: nothing until all three fit; at random: the share that fits, within two points."""
    for room, line in zip((2, 3), printed("from random import choice, seed\n\ndef hits"), strict=True):
        in_turn, at_random = (float(share) for share in re.findall(r"(\d+)%", line))
        assert line.startswith(f"room for {room}: ") and in_turn == (100 if room == 3 else 0)
        assert at_random == pytest.approx(100 * room / 3, abs=2)


def test_agents_with_pauses_as_codexs_do_better_than_at_random_where_room_is_short():
    whole = simulation.working_set(75, *simulation.agent())
    for share in (0.3, 0.5, 0.7, 0.85):
        assert simulation.agents(share * whole, "long-tailed") > simulation.agents(share * whole, "random") + 0.05


def test_half_the_room_finds_two_thirds_with_codexs_pauses():
    whole = simulation.working_set(75, *simulation.agent())
    assert simulation.agents(0.5 * whole, "long-tailed") / 0.947 == pytest.approx(2 / 3, abs=0.04)
    least = [simulation.agents(0.045 * whole, kind) for kind in ("long-tailed", "random")]
    assert least[0] < least[1] - 0.01, "with very little room they find less"


def test_kimis_cache_holds_a_part_of_the_agents_and_finds_nothing_of_them_in_turn():
    """By hand from the test's own facts; and by simulation, with all the room that there can have been."""
    told, free = numbers.all(), 186e9 - 1.026e12 * 4.5 / 8 / 4
    assert told["kimi_free"] == f"{free / 1e9:.0f} GB" and told["kimi_tokens"] == f"{free / 3.8e9 * 0.1:.1f} million"
    whole, held = simulation.working_set(75, *simulation.agent()), free / 3.8e9 * 1e5
    assert told["kimi_share"] == f"{held / whole:.0%}" and told["kimi_all"] == f"{held / whole * 75 / 610:.0%}"
    assert simulation.agents(held, "regular") < 0.01 < 0.3 < simulation.agents(held, "long-tailed")


def test_the_pages_machines_find_what_its_text_says():
    """By enumeration of every last visit; always one machine: all that there is."""
    one, anywhere = (line.split()[-1] for line in printed("from random import randrange, seed\n\ndef found_share"))
    assert float(anywhere.rstrip("%")) == pytest.approx(100 * simulation.scattered(12, *simulation.agent()), abs=1)
    assert one == f"{float(numbers.all()['codex_rate'].rstrip('%')):.0f}%"
