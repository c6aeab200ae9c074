"""The page on a server under load: numbers, tables, pictures, and the case for paper by plain arithmetic."""

import re
from itertools import chain

import pytest
from lessons import ROOT
from test_prose import typed_numbers

from blackboard.prediction import serving_equations as eq
from blackboard.prediction.serving_calibration import FITTED
from blackboard.validation import serving_figures as figures
from blackboard.validation import serving_numbers as numbers
from blackboard.validation import serving_tables as tables
from blackboard.validation.serving_events import waits, watch
from blackboard.validation.serving_slices import over, slices

PAGE = (ROOT / "book/serving.md").read_text("utf8")
PROSE = re.sub(r"```.*?```", "", PAGE.split("---", 2)[2], flags=re.S)
QUOTED = {
    "3.1": "Llama 3.1 70B, its name",
    "70": "Llama 70B, its name",
    **{str(n): "a user of the close-up" for n in (1, 2, 3, 4)},
}


def test_no_number_is_typed_into_prose():
    assert typed_numbers(PROSE) == set(QUOTED)
    assert FITTED["memory_efficiency"].most == 0.95 and "at the limit of 95%" in tables.fitting()


def test_prose_and_numbers_use_the_same_names():
    assert set(re.findall(r"\{glue:text\}`(\w+)`", PAGE)) == set(numbers.all())


def test_every_table_and_figure_is_on_the_page():
    shown = "causes_table case_table parts_table device_step whole_step experts taken token_sums clumps running"
    shown += " first_token wait_sums queue rate_sums chunks_table spreads_table changes_table knobs_table symbols_table"
    shown += " meanings fitting trust_table slices_table"
    for name in shown.split():
        assert f"tables.{name}()" in PAGE
    for name in ("timeline", "close_up", "waits", "open_loop", "second_route"):
        assert f"figures.{name}()" in PAGE


def cells(html):
    """The texts of a table's rows, markup and notes left out."""
    plain = lambda cell: re.sub(r"<[^>]+>", "", cell)
    rows = re.findall(r"<tr>.*?</tr>", html)
    return [[plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def worked(text):
    """A printed sum as a pocket calculator works it."""
    plain = text.replace(",", "").replace("×", "*").replace("−", "-").replace("e-", "2.71828**-").removesuffix(" s")
    assert re.fullmatch(r"[-\d.+*/() ]+", plain), text
    return eval(plain)


def test_every_line_of_the_case_by_hand_gives_its_result():
    lines = [cells(part())[1:] for part in (tables.token_sums, tables.wait_sums, tables.rate_sums)]
    for name, work, result in chain.from_iterable(lines):
        value, *unit = result.replace(",", "").lstrip("$").split()
        scale = 1e3 if unit == ["s"] else 1
        assert worked(work) == pytest.approx(scale * float(value), rel=0.002), name


def test_the_causes_add_up_as_printed():
    rows = cells(tables.causes_table())[1:]
    *parts, whole = (float(row[1]) for row in rows)
    assert sum(parts) == pytest.approx(whole, abs=0.05)
    assert sum(float(row[2].rstrip("%")) for row in rows[1:-1]) == 100
    for row in rows[1:-1]:
        assert float(row[1]) / (whole - parts[0]) == pytest.approx(float(row[2].rstrip("%")) / 100, abs=0.01)
    causes, few, crowd = numbers.causes(), numbers.served(4), numbers.served(64)
    assert causes.pop("rest") == pytest.approx(0, abs=1e-9)
    assert causes["few"] == few.output_token and sum(causes.values()) == pytest.approx(crowd.output_token)
    slower = sum(causes[name] for name in ("answers", "cache", "links"))
    assert slower == pytest.approx(crowd._times["decode"] - few._times["decode"])


def test_the_measured_run_is_the_one_that_the_page_works():
    few, many = numbers.measured(4), numbers.measured(64)
    assert (few.output, few.first) == pytest.approx((9.85e-3, 90.6e-3), rel=1e-3)
    assert (many.output, many.first) == pytest.approx((16.07e-3, 264.5e-3), rel=1e-3)
    assert many.server == numbers.served(64).server


def test_symbols_have_the_values_of_the_prediction():
    v, times = numbers.values(), numbers.served(64)._times
    assert eq.others_prompts(v) == v["others_prompts"] and eq.mixed_token(v) == v["output_token"] == times["output"]
    assert v["taken_together"] == v["prompts_taken"] < 8 and v["coming"] == v["clumping"] * v["prompts_per_step"]
    first = eq.first_token_time(v, calibration=numbers.served(64).calibration, captured=804)
    assert first == pytest.approx(v["first_token"])
    assert len(cells(tables.symbols_table())) == len(tables.MEANINGS) + 1


def test_the_terms_of_the_first_token_are_the_formula():
    terms = sum(tables.first_lines()).subs(tables.notation.symbol("t_queue"), eq.queue_time.typed)
    assert (terms - eq.first_token_time.typed).simplify() == 0


def test_simulated_waits_have_the_mean_of_the_whole_simulation():
    server, constants = numbers.served(16, 256).server, numbers.served(16, 256).calibration.values
    found = waits(watch(server, constants))
    before = numbers.values()["before"]
    assert len(found) == 160 and sum(wait.opening for wait in found) == 16
    assert sum(w.whole for w in found) / 160 + before == pytest.approx(numbers.simulated(16).first_token)


def test_nobody_waits_as_long_as_the_mean():
    later, first = numbers.heaps()
    assert later[-1] < 0.9 * numbers.served(64).first_token and 1.5 * numbers.served(64).first_token < first[0]
    by_hand = numbers.first_waits()
    mean = lambda heap: sum(heap) / len(heap) - numbers.values()["before"]
    assert (mean(later), mean(first)) == pytest.approx((by_hand["later"], by_hand["opening"]), rel=0.1)


def test_simulated_tokens_have_the_mean_of_the_whole_simulation_and_gaps_are_steps():
    server, constants = numbers.served(16, 256).server, numbers.served(16, 256).calibration.values
    loop = watch(server, constants)
    found = waits(loop)
    assert sum(wait.token for wait in found) / 160 == pytest.approx(numbers.simulated(16).output_token)
    tokens = sum(request.output - 1 for request, _ in loop.taken)
    assert len(loop.gaps) == tokens
    longest = sum((request.output - 1) * wait.token for (request, _), wait in zip(loop.taken, found))
    assert sum(loop.gaps) == pytest.approx(longest)


def test_percentiles_are_those_that_numpy_counts_and_the_page_tells():
    numpy = pytest.importorskip("numpy")
    first = [wait.whole for wait in numbers.requests()]
    for name, times in (("TTFT", first), ("ITL", numbers.watched()[1].gaps)):
        told, counted = numbers.spreads()[name], numpy.percentile(times, (50, 99))
        assert (told.mean, told.median) == pytest.approx((numpy.mean(times), counted[0]))
        assert told.high == pytest.approx(counted[1], rel=0.02)
    gaps, decode, prompt = numbers.spreads()["ITL"], *(numbers.served(64)._times[name] for name in ("decode", "prompt"))
    assert gaps.median == pytest.approx(decode, rel=0.01) and gaps.high == pytest.approx(prompt, rel=0.02)
    assert 4 < gaps.high / gaps.median < 4.5
    late = [wait for wait in numbers.requests() if wait.whole > 0.5 or wait.token > 0.02]
    assert all(wait.opening for wait in late) and 1 - len(late) / 640 == pytest.approx(numbers.kept())


def test_a_prompt_that_is_too_long_for_a_step_is_taken_in_by_parts():
    steps = numbers.chunks()
    assert "".join(step.letters for step in steps) == numbers.LETTERS
    assert all(step.decoding + len(step.letters) <= numbers.SMALL_ROOM for step in steps)
    assert [(step.decoding, step.sent) for step in steps] == [(2, 0), (2, 1), (3, 2)]
    assert steps[0].decoding + len(steps[0].letters) == numbers.SMALL_ROOM
    first = numbers.watched()[1].ends[0]
    assert first > numbers.served(64)._times["burst"], "the first step also takes in a part of the ninth prompt"
    assert numbers.heaps()[1][0] == pytest.approx(first + numbers.values()["before"])


def test_the_queue_is_estimated_as_well_and_as_badly_as_the_page_says():
    one, short = numbers.queued(1024, 1), numbers.queued(256, 1)
    assert one.ours == pytest.approx(one.simulated, rel=0.1) and short.ours < 0.7 * short.simulated
    for room in (2, 8):
        assert numbers.queued(1024, room).simulated < 0.8 * numbers.queued(1024, room).ours
    assert numbers.queued(1024, 8).simulated < 0.05e-3
    assert numbers.values()["t_queue"] == numbers.queued(1024, 8).ours


def test_no_change_of_gpu_or_engine_wins_back_what_the_crowd_adds():
    now, quick, fitted, lean, wide = numbers.changes()
    assert numbers.sped_up()["output"] == pytest.approx(now.crowd) == numbers.served(64).output_token
    assert lean.crowd < quick.crowd < fitted.crowd < now.crowd and lean.few < now.few
    extra = [each.crowd - each.few for each in (now, quick, fitted, lean, wide)]
    assert all(0.8 * extra[0] < each < extra[0] for each in extra[1:])
    v = numbers.served(64)
    pauses, sent = (v.parts[name] / 2 for name in ("kernel gaps", "answers"))
    assert now.crowd - lean.crowd == pytest.approx(pauses + sent, rel=1e-3), "half the launches save nothing"
    launches = numbers.launching()
    assert numbers.sped_up(gpu=2)["prompt"] > launches > numbers.sped_up(gpu=2, engine=2)["prompt"]
    assert numbers.all()["won_back"] == f"{1e3 * (extra[0] - extra[1]):.1f} ms"


def test_the_constants_fitted_to_another_engine_by_the_sums_of_a_step():
    """Those of TensorRT-LLM on H200, as the table of constants prints them, in the sums of the table of steps."""
    memory, compute, gap, send = 4 * 4.8e12 * 0.943, 4 * 1979e12 * 0.576, 4.25e-6, 37.9e-6
    rest = 64 * 1382 * 164e3 / memory + 160 * 3.33e-6 + 804 * gap
    link = 160 * 24.6e3 / 450e9 / 0.79
    decode = 70.6e9 / memory + rest + 64 * (link + send)
    tokens = 64 + 1.08 * 921.6
    products = 2 * (68.5e9 * tokens + 2.1e9 * 65) / compute + 1.08 * 1.11e12 / (4 * 989e12 * 0.576)
    token = 0.9399 * decode + 0.0601 * (products + rest + tokens * link + 65 * send)
    assert numbers.changes()[2].crowd == pytest.approx(token, rel=5e-3)


def test_what_an_operator_sets_by_the_sums_of_a_step():
    """A prefix cache, shorter prompts: the launches set the time of a step that has few tokens of prompts."""
    now, limit, fewer, shorter, prefix = numbers.knobs()
    plan, times = numbers.steady().server.plan, numbers.steady()._times
    launched = 804 * 61.2e-6 + (64 + plan["prompts_taken"]) * 36.6e-6
    token = times["decode"] + plan["prompt_share"] * (launched - times["decode"])
    assert prefix.token == pytest.approx(token, rel=1e-3)
    cached = eq.mixed_token(
        decode_step=times["decode"], prompt_step=launched, prompt_share=plan["clumping"] * plan["prompt_share"]
    )
    assert prefix.first == pytest.approx(cached + launched + numbers.values()["before"], rel=0.01)
    assert now.first == pytest.approx(numbers.first_waits()["later"] + numbers.values()["before"], rel=0.06)
    assert plan["prompts_taken"] * numbers.steady().server.prompt / 2 < numbers.launch_bound()
    assert numbers.cached_prefix(0).token == pytest.approx(now.token) == numbers.cached_prefix(0.0).token
    assert shorter.token < prefix.token < now.token and fewer.token < shorter.token and fewer.chip_rate < now.chip_rate
    assert limit.token == pytest.approx(now.token, rel=5e-3) and limit.first == pytest.approx(now.first, rel=0.05)


def test_the_density_of_clumps_as_the_fold_derives_it():
    share, most = 0.7, 9
    steps = [1 + (most - 1) * (place + 0.5) / 10_000 for place in range(10_000)]
    density = sum((1 + share) / (2 * (1 - share) * k**0.5) for k in steps) / len(steps)
    assert eq.clumping(least_share=share, requests_per_user=most + 1) == pytest.approx(density, rel=1e-6)


def test_loading_takes_longer_than_products_up_to_so_many_tokens():
    memory, fp8 = 4 * 4.8e12 * 0.869, 4 * 1979e12 * 0.485
    assert numbers.saturation() == pytest.approx(70.6e9 / memory * fp8 / (2 * 70.6e9), rel=2e-3)


def test_stalled_decoding_costs_little():
    v, alone = numbers.values(), numbers.prompts_alone()
    stalled = v["decode_step"] + v["prompt_share"] * alone
    assert eq.stalled_token(v, alone_step=alone) == pytest.approx(stalled)
    saved = v["decode_step"] + alone - v["prompt_step"]
    assert stalled - v["output_token"] == pytest.approx(v["prompt_share"] * saved) and 0 < saved < v["decode_step"]


def test_the_device_sets_the_pace_of_a_step_with_a_prompt_and_launching_that_of_a_shorter_one():
    server = numbers.served(64).server
    device = numbers.device_seconds(server.plan["prompt"])
    products = server.plan["prompt"]["shared_multiply"] / numbers.served(64).calibration.values["compute_efficiency"]
    assert device > numbers.launching() > 0.8 * device and products > 0.5 * device
    assert 0.5 * server.prompt < numbers.launch_bound() < server.prompt * server.plan["prompts_taken"]
    assert numbers.device_seconds(server.step(64, 1, 0.99 * numbers.launch_bound())) < numbers.launching()


def test_the_parts_of_a_step_add_up_as_printed():
    for column in list(zip(*cells(tables.parts_table())[1:]))[1:3]:
        loading, products, *work, device, launched, answers, whole = map(float, column)
        assert max(loading, products) + sum(work) == pytest.approx(device, abs=0.25)
        assert max(device, launched) + answers == pytest.approx(whole, abs=0.11)


def test_the_sums_of_a_step_give_the_times_beside_them():
    """Llama 3.1 70B from its shape: 80 layers of 8,192, 8 heads of 128 for the cache; rates of the H200."""
    rows = {row[0].split("\\(")[0]: [float(cell) for cell in row[1:3]] for row in cells(tables.parts_table())[1:]}
    memory, fp8, bf16 = 4 * 4.8e12 * 0.869, 4 * 1979e12 * 0.485, 4 * 989e12 * 0.485
    tokens, sent = (64, 64 + 1.08 * 921.6), (64, 65.08)
    cache, prompt = 1382 * 80 * 2 * 8 * 128 / memory, 4 * 921.6 * 921.6 / 2 * 80 * 8192 / bf16
    sums = {
        "loading the weights": [70.6e9 / memory] * 2,
        "computing with the weights, meanwhile": [2 * (68.5e9 * a + 2.1e9 * b) / fp8 for a, b in zip(tokens, sent)],
        "loading the KV caches": [64 * cache] * 2,
        "prompts’ own attention": [0, 1.08 * prompt],
        "messages": [160 * (each * 1.5 * 8192 * 2 / 450e9 / 0.79 + 3.33e-6) for each in tokens],
        "pauses between kernels": [804 * 6.12e-6] * 2,
        "launches by the CPU, meanwhile": [0, 804 * 61.2e-6],
        "sampling and sending": [64 * 36.6e-6, 65 * 36.6e-6],
    }
    for name, times in sums.items():
        assert rows[name] == pytest.approx([1e3 * time for time in times], abs=0.12, rel=2e-3), name
    for number in (
        "70.6 GB",
        "86.9%",
        "68.5 billion × tokens + 2.1 billion × sent",
        "1,979",
        "48.5%",
        "1,382",
        "164 kB",
        "24.6 kB",
        "79%",
        "3.33 µs",
    ):
        assert number in tables.parts_table()


def test_the_first_token_of_the_running_case_by_hand():
    crowd, wait, before = numbers.served(64), numbers.first_waits(), numbers.values()["before"]
    times = crowd._times
    under_way = times["decode"] + 2.25 * (times["output"] - times["decode"])
    busy = times["busy"] / 8
    assert wait["later"] == pytest.approx(under_way + times["prompt"] * (1 + busy / (2 * (1 - busy))))
    assert wait["opening"] == pytest.approx(times["burst"] * 4.5)
    assert 0.9 * wait["later"] + 0.1 * wait["opening"] + before == pytest.approx(crowd.first_token)
    assert 0.1 * wait["opening"] > 0.5 * crowd.first_token


def test_twice_as_fast_a_gpu_is_far_from_twice_as_fast_a_token():
    crowd = numbers.served(64)
    assert 0.7 * crowd.output_token < numbers.sped_up(gpu=2)["output"] < 0.9 * crowd.output_token


def test_the_simulation_agrees_as_the_page_says():
    for users in numbers.USERS:
        ours, events = numbers.served(users, numbers.SHORT), numbers.simulated(users)
        assert ours.output_token == pytest.approx(events.output_token, rel=0.03)
        assert ours.first_token == pytest.approx(events.first_token, rel=0.12)


def test_pictured_steps_are_those_of_the_simulation():
    steps, loop = numbers.steps(), numbers.watched()[1]
    assert [step.end for step in steps] == loop.ends and all(a.end == b.start for a, b in zip(steps, steps[1:]))
    assert sum(step.prompts for step in steps) == 640 == len(loop.taken)
    firsts = {request.first for request, _ in loop.taken}
    assert firsts == {step.end for step in steps if step.prompts}, "a first token comes from a step with a prompt"
    some = steps[slice(*figures.OVERVIEW)]
    for step in some:
        assert (13e-3 < step.end - step.start < 14e-3) == (step.prompts == 0)
    assert {step.prompts for step in some} == {0, 1} and len(numbers.newcomers(some)) == 3


def test_the_close_up_is_as_the_page_tells_it():
    some = numbers.close_up()
    one, two, three = numbers.newcomers(some)
    before, under_way, first, second = some[2:6]
    assert [step.prompts for step in some] == [0, 0, 0, 0, 1, 2, 0, 0]
    assert one.came == before.end == under_way.start and one.first == first.end
    assert two.came == three.came == under_way.end == first.start and two.first == three.first == second.end
    both = second.end - second.start + first.end - first.start
    assert numbers.all()["both_wait"] == f"{1e3 * both:.0f} ms"


def test_a_burst_is_the_sums_of_a_step():
    """Eight prompts and half of the users, with the rates of the table of steps."""
    memory, fp8, bf16, tokens, sent = 4 * 4.8e12 * 0.869, 4 * 1979e12 * 0.485, 4 * 989e12 * 0.485, 7404.8, 40
    device = 2 * (68.5e9 * tokens + 2.1e9 * sent) / fp8 + 8 * 1.11e12 / bf16 + 32 * 1382 * 164e3 / memory
    device += 160 * (tokens * 24.6e3 / 450e9 / 0.79 + 3.33e-6) + 804 * 6.12e-6
    assert numbers.values()["burst_step"] == pytest.approx(device + sent * 36.6e-6, rel=2e-3)


def test_work_that_nobody_shares_bounds_the_rate_of_requests():
    """Products, messages, and for answers the cache and sending, by the sums of the table of steps."""
    token = 2 * 68.5e9 / (4 * 1979e12 * 0.485) + 160 * 24.6e3 / 450e9 / 0.79
    head, sent = 2 * 2.1e9 / (4 * 1979e12 * 0.485), 36.6e-6
    prompt, answer = numbers.own_work()
    assert prompt == pytest.approx(921.6 * token + 1.11e12 / (4 * 989e12 * 0.485) + head + sent, rel=5e-3)
    assert answer == pytest.approx(921.6 * (token + head + sent + 1382 * 164e3 / (4 * 4.8e12 * 0.869)), rel=5e-3)
    most = numbers.opened().most_rate
    assert 0.97 / (prompt + answer) < most < 1 / (prompt + answer)


def test_an_open_loop_with_random_arrivals_agrees():
    for rate in numbers.RATES:
        ours, events = numbers.opened().at_rate(rate), numbers.arrived(rate)
        assert ours.output_token == pytest.approx(events.token, rel=0.1)
        assert ours.server.users == pytest.approx(events.in_flight, rel=0.12)
        assert 0.8 * ours.first_token < events.first < 1.02 * ours.first_token
    with pytest.raises(ValueError, match="never end"):
        numbers.opened().at_rate(numbers.opened().most_rate)


def test_bounds_of_the_second_route_are_honest():
    far = {
        users: [
            abs(getattr(numbers.served(users, 256), name) / getattr(numbers.simulated(users), name) - 1)
            for name in ("output_token", "first_token")
        ]
        for users in numbers.USERS
    }
    told = {name: float(numbers.all()[name].rstrip("%")) / 100 for name in ("token_off", "first_off", "lone_off")}
    assert max(each[0] for each in far.values()) <= told["token_off"] < 0.03
    assert max(each[1] for users, each in far.items() if users > 1) <= told["first_off"] < 0.06
    assert far[1][1] <= told["lone_off"] < 0.12


def test_tables_have_every_slice_group_and_constant():
    groups = {(each.kind, each.what) for each in slices() if each.what != "fitted"}
    assert groups > set(tables.TRUST) and len(groups) == 9
    rough = [over(what, kind) for kind, what in tables.TRUST if kind == "experts" and what != "concurrency"]
    for left_out in ("chips", "engine"):
        assert over(left_out, "experts")["output_token"] <= max(each["output_token"] for each in rough)
    assert over("chips", "dense")["output_token"] == pytest.approx(
        over("concurrency", "dense")["output_token"], abs=0.005
    )
    assert len(cells(tables.slices_table())) == len(slices()) + 1
    assert len(cells(tables.meanings())) == len(FITTED) + 1 == len(tables.SEEN) + 1
    worst = max(each.first for each in slices() if (each.what, each.kind) == ("chip", "dense"))
    assert f"{over('chip', 'dense')['first_token']:.0%} ({worst:.0%})" in tables.trust_table()


def test_equations_have_every_constant():
    both = tables.device_step() + tables.whole_step()
    for letter in (r"\eta_c", r"\eta_m", r"\eta_\ell", r"\alpha_\ell", r"t_\mathrm{gap}", r"t_\mathrm{eager}"):
        assert letter in both
