"""The page on a server under load: numbers, tables, pictures, and the case for paper by plain arithmetic."""

import re

import numpy as np
import pytest
from lessons import ROOT
from test_prose import typed_numbers

from blackboard.prediction import serving_equations as eq
from blackboard.prediction.serving_calibration import FITTED, runs
from blackboard.validation import serving_figures as figures
from blackboard.validation import serving_numbers as numbers
from blackboard.validation import serving_tables as tables
from blackboard.validation import serving_texts as texts
from blackboard.validation.serving_events import waits, watch
from blackboard.validation.serving_slices import has_fewest_users, slices

PAGE = (ROOT / "book/serving.md").read_text("utf8")
PROSE = re.sub(r"```.*?```", "", PAGE.split("---", 2)[2], flags=re.S)
QUOTED = {
    "3.1": "Llama 3.1 70B, its name",
    "70": "Llama 70B, its name",
    **{str(n): "a user of the close-up, or a step of the worked case" for n in (1, 2, 3, 4)},
    **dict.fromkeys(("25.3", "6", "512", "0"), "a value to try in a program"),
}


def test_no_number_is_typed_into_prose():
    assert typed_numbers(PROSE) == set(QUOTED)
    assert FITTED["memory_efficiency"].most == 0.95 and "at the limit of 95%" in tables.fitting()


def test_prose_and_numbers_use_the_same_names():
    assert set(re.findall(r"\{glue:text\}`(\w+)`", PAGE)) == set(texts.all())


def test_every_table_and_figure_is_on_the_page():
    shown = "measured_table case_table parts_table sums_table prompt_share first_token rate_sums"
    shown += " mixed_token changes_table limits_table spreads_table trust_table background"
    for name in shown.split():
        assert f"tables.{name}()" in PAGE
    assert all(each() in tables.background() for each in (tables.fitting, tables.slices_table, tables.second_route))
    assert tables.experts() in tables.background()
    for name in ("line", "timeline", "blocks", "close_up", "waits", "users"):
        assert f"figures.{name}()" in PAGE


def cells(html):
    """The texts of a table's rows, markup and notes left out."""
    plain = lambda cell: re.sub(r"<[^>]+>", "", cell)
    rows = re.findall(r"<tr>.*?</tr>", html)
    return [[plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def worked(text):
    """A printed sum as a pocket calculator works it."""
    plain = text.replace(",", "").replace("×", "*").replace("−", "-").replace("e-", "2.71828**-").removesuffix(" s")
    assert re.fullmatch(r"[-\de.+*/() ]+", plain), text
    return eval(plain)


def printed(value, like):
    """A value in as many decimals as this text has."""
    return f"{value:,.{len(like.partition('.')[2])}f}"


def test_every_sum_gives_its_result_to_the_last_digit_with_the_numbers_printed():
    for name, work, result in cells(tables.rate_sums())[1:]:
        value, *unit = result.lstrip("$").split()
        assert printed(worked(work) / (1e3 if unit == ["s"] else 1), value) == value, name
    sums = ["share", "token", "first", "rest", "groups", "burst", "mean", "safe", "fits"]
    for name in [*(f"{each}_sum" for each in sums), "safe_line", "safe_people"]:
        plain = texts.all()[name].replace(" ms", "").replace("²", " ** 2")
        work, result = plain.replace(" GB", " * 1e3").replace(" MB", "").split(" = ")
        assert printed(worked(work), result) == result, name
    work, result = texts.all()["open_sum"].replace(" ms", " / 1e3").replace(" s", "").split(" = ")
    assert printed(worked(work), result) == result
    before = float(texts.all()["before"].removesuffix(" ms"))
    assert 804 * 1e3 * numbers.steady().calibration.values["request_gap"] == pytest.approx(before, rel=0.005)
    assert texts.all()["first_sum"].startswith(f"{before} + ")
    work, result = texts.all()["whole_limit"].split(" = ")
    assert printed(worked(work), result) == result
    assert float(texts.all()["rent"].lstrip("$")) == 4.95
    kernels, each, whole = (texts.all()[name].split()[0] for name in ("kernels", "eager", "launching"))
    assert printed(int(kernels) * float(each) / 1e3, whole) == whole


def test_margins_and_growth_are_those_of_the_printed_times():
    """The measured excess of the farthest point, what the crowd adds, and whole users within a promise."""
    rows = {row[0]: [float(cell) for cell in row[1:3]] for row in cells(tables.measured_table())[1:]}
    seen, ours = rows[texts.all()["far_users"]]
    assert f"{seen / ours - 1:.0%}" == texts.all()["far_off"]
    assert f"{rows['64'][0] - rows['4'][0]:.1f} ms" == texts.all()["each_seen"]
    assert f"{rows['64'][1] - rows['4'][1]:.1f} ms" == texts.all()["each_ours"]
    line = int(float(texts.all()["safe_line"].split(" = ")[1]))
    assert 0 <= line - int(texts.all()["safe_users"]) <= 1
    margin = float(texts.all()["safe_sum"].split(" / ")[1])
    worst = max(p.token / numbers.steady(concurrency=p.users).output_token for p in numbers.measured_points())
    assert worst <= margin < worst + 0.001, "the reserve reaches"
    assert 1 - int(texts.all()["safe_users"]) / int(texts.all()["full_users"]) == pytest.approx(0.2, abs=0.02)


def test_people_who_also_read():
    told = texts.all()
    tossed = np.random.default_rng(0).binomial(int(told["safe_people"].split(" = ")[1]), 1 / 3, size=100_000)
    assert 0.96 < (tossed <= int(told["safe_users"])).mean() < 0.99, "within two standard deviations"
    stay = 0.095 + 921 * 0.0178
    assert float(told["safe_stay"].removesuffix(" s")) == pytest.approx(stay, abs=0.5)


def test_an_open_loop_by_the_level_and_the_slope():
    """N = X T with a token of level + slope (N − 1), solved for N."""
    v, rate, slope = numbers.values(), numbers.OPEN_RATE, sum(numbers.causes().values())
    level, rest = numbers.steady(concurrency=1).output_token, v["output_length"] - 1
    found = numbers.opened().at_rate(rate)
    users = rate * (found.first_token + rest * (level - slope)) / (1 - rate * rest * slope)
    assert found.server.users == pytest.approx(users, rel=0.01)
    assert found.output_token == pytest.approx(level + slope * (users - 1), rel=0.01)


def test_the_fitted_launch_is_more_than_twice_the_longest_of_plain_pytorch():
    """1,026 launches of a token of 39.1 ms, at most; and the fitted time of one."""
    from blackboard.lessons.overheads.numbers import all as overheads

    assert texts.all()["python_launch"] == overheads()["eager_each"]
    fitted, plain = (float(texts.all()[name].split()[0]) for name in ("eager", "python_launch"))
    assert fitted > 2 * plain


def programs():
    """The shown programs in their order."""
    return [cell for cell in re.findall(r"```\{code-cell\}\n(.*?)```", PAGE, re.S) if "print(" in cell]


def lines_of(number, capsys, **changed):
    """What a program prints, after those before it, if some numbers in it or in them are changed."""
    space = {}
    for cell in programs()[: number + 1]:
        for old, new in changed.values():
            cell = cell.replace(old, new)
        capsys.readouterr()
        exec(cell, space)
    return capsys.readouterr().out.splitlines()


def test_programs_are_short_and_few():
    assert len(programs()) == 5
    for cell in programs():
        assert max(map(len, cell.splitlines())) <= 76
        assert sum(bool(line.strip()) for line in cell.splitlines()) <= 18


def test_the_program_of_a_step_gives_its_times_and_shows_what_launches_hide(capsys):
    took = lambda lines: [float(re.search(r"([\d.]+) ms", line)[1]) for line in lines]
    now, light = took(lines_of(0, capsys)), took(lines_of(0, capsys, launch=("66.35e-6", "25.3e-6")))
    told = [float(texts.all()[name].split()[0]) for name in ("lone_token", "decode_step", "prompt_step")]
    assert now == pytest.approx([*told[:2], *[told[2]] * 3], abs=0.06)
    assert (light[2] - light[1]) / (now[2] - now[1]) == pytest.approx(0.2, abs=0.03), "about a fifth"
    assert light[-1] == pytest.approx(now[-1], abs=0.1)
    step = numbers.steady().server.step(64, 1, 50)
    assert max(numbers.device_seconds(step), numbers.launching()) == numbers.launching()


def test_the_program_that_counts_halts_gives_the_share_and_the_times_per_token(capsys):
    rows = {int(row[:2]): list(map(float, re.findall(r"[\d.]+", row)))[2:] for row in lines_of(1, capsys)}
    for users, (often, token) in rows.items():
        assert often == pytest.approx(921.6 / (users - 1), rel=0.05)
        assert token == pytest.approx(1e3 * numbers.steady(concurrency=users).output_token, abs=0.1)
    assert texts.all()["share"] == f"one in {rows[64][0]:.0f}"
    half = lines_of(1, capsys, longest=("longest = 1024", "longest = 512"))[-1]
    shorter = float(re.search(r"([\d.]+) ms", half)[1])
    assert shorter == pytest.approx(float(texts.all()["half_hand"].split()[0]), abs=0.5)


def test_the_program_that_leaves_loads_out_plans_as_the_prose_says(capsys):
    measured = dict(re.findall(r"(\d+): ([\d.]+)", programs()[2].split("}")[0]))
    assert measured == {row[0]: row[1] for row in cells(tables.measured_table())[1:]}
    lines = lines_of(2, capsys)[1:]
    plans = [int(line.split()[-1]) for line in lines]
    told = texts.all()
    assert plans[0] == int(told["safe_users"]), "the same plan as by the formulas"
    reserves = [float(re.search(r"([\d.]+)%", line)[1]) for line in lines]
    assert min(reserves) == reserves[4] < 2 and min(reserves[:4]) > 5, "smallest without the worst load"
    assert max(plans[:4]) - min(plans[:4]) < 3
    assert [str(plan) for plan in plans[4:]] == [told["own_most"], told["own_least"]]
    assert list(measured)[3:] == [told["far_users"], told["crowd"]]


def test_the_program_of_prices_gives_those_of_the_formulas(capsys):
    found = lines_of(3, capsys)
    prices = {int(row[:2]): float(row.split("$")[1].split()[0]) for row in found}
    for users, price in prices.items():
        assert price == pytest.approx(numbers.steady(concurrency=users).usd_per_mtok, rel=0.015)
    safe = int(texts.all()["safe_users"])
    assert prices[1] / prices[safe] == pytest.approx(40, rel=0.05)
    assert {safe, int(texts.all()["full_users"])} < set(prices)
    written = lines_of(3, capsys, read=("read, written = 922, 922", "read, written = 0, 922"))
    assert float(written[0].split("$")[1].split()[0]) == pytest.approx(2 * prices[1], abs=0.02)
    assert f"rent, gpus = {texts.all()['rent'][1:]}," in programs()[3]
    v = numbers.values()
    assert v["before"] + v["prompt_step"] == pytest.approx(0.0726, abs=1e-4)


def test_the_last_program_gives_the_plan(capsys):
    (line,) = lines_of(4, capsys)
    safe = int(texts.all()["safe_users"])
    assert line.startswith(f"{safe} users, ")
    assert f"${numbers.steady(concurrency=safe).usd_per_mtok:.2f} " in line


def test_two_prompts_in_a_step_make_a_gap_seven_times_as_long():
    server, v = numbers.steady().server, numbers.values()
    both = eq.mixed_time(server.step(64, 2, 2 * server.prompt), calibration=numbers.steady().calibration)
    assert both / v["decode_step"] == pytest.approx(7, abs=0.3)
    assert v["prompt_step"] / v["decode_step"] == pytest.approx(4, abs=0.2)


def test_the_causes_add_up_as_printed():
    added = [int(texts.all()[f"add_{name}"].removesuffix(" µs")) for name in ("answers", "cache", "links", "prompts")]
    assert f"{sum(added)} µs" == texts.all()["each_now"]
    v = numbers.values()
    alone = 1e6 * (v["prompt_step"] - v["decode_step"]) / v["output_length"]
    assert 0.97 * alone < added[-1] < alone, "a little less where prompts share a step"
    causes, few, crowd = numbers.causes(), numbers.steady(concurrency=4), numbers.steady()
    assert causes.pop("rest") == pytest.approx(0, abs=1e-9)
    assert 60 * sum(causes.values()) == pytest.approx(crowd.output_token - few.output_token)
    slower = sum(causes[name] for name in ("answers", "cache", "links"))
    assert 60 * slower == pytest.approx(crowd._times["decode"] - few._times["decode"])
    assert 0.5 < slower / sum(causes.values()) < 0.6, "more than half"


def test_what_a_user_adds_by_the_sums_of_a_step():
    """A token sent, a cache, a token's messages; and every prompt's longer step, shared by the tokens of an answer."""
    causes, v = numbers.causes(), numbers.values()
    assert causes["answers"] == pytest.approx(37.4e-6, rel=2e-3)
    assert causes["cache"] == pytest.approx(1382 * 164e3 / (4 * 4.8e12 * 0.867), rel=2e-3)
    assert causes["links"] == pytest.approx(160 * 24.6e3 / 450e9 / 0.79, rel=2e-3)
    assert causes["prompts"] == pytest.approx((v["prompt_step"] - v["decode_step"]) / 921.6, rel=0.02)
    line = numbers.steady(concurrency=1).output_token + 95 * sum(causes.values())
    assert line == pytest.approx(numbers.steady(concurrency=96).output_token, rel=0.01)
    seen = numbers.measured(64).output - numbers.measured(4).output
    assert 60 * sum(causes.values()) == pytest.approx(seen, rel=0.05)


def test_prompts_that_share_a_step_change_the_mean_by_a_hundredth_at_most():
    """One prompt at a time by hand, as the page's formula has it; and the full formulas, on a GPU twice as fast too."""
    server, v = numbers.steady().server, numbers.values()
    prompt = server.step(64, 1, server.prompt)
    launched = 804 * 66.35e-6 + 65 * 37.4e-6
    quick = {
        name: value / 2 if name.endswith(("_read", "_multiply", "_attend")) else value for name, value in prompt.items()
    }
    assert numbers.device_seconds(quick) < numbers.launching()
    decode = numbers.sped_up(gpu=2, users=64), v["prompt_share"]
    level = server.plan["decode"] | {
        name: server.plan["decode"][name] / 2 for name in server.plan["decode"] if name.endswith(("_read", "_multiply"))
    }
    alone = (1 - v["prompt_share"]) * (numbers.device_seconds(level) + 64 * 37.4e-6) + v["prompt_share"] * launched
    assert 0.985 * alone < decode[0] < 0.995 * alone
    assert numbers.steady().output_token == pytest.approx(v["output_token"], rel=3e-3)


def test_the_measured_points_are_those_of_the_first_table_and_scatter_around_the_line():
    rows = cells(tables.measured_table())[1:]
    assert [row[0] for row in rows] == ["4", "8", "16", "32", "64"]
    for users, seen, ours, _ in rows:
        line = 9.74 + 0.107 * (int(users) - 1)
        assert float(ours) == pytest.approx(line, abs=0.15) and float(seen) == pytest.approx(line, rel=0.12)


def test_between_two_points_the_measured_time_jumps_on_one_two_and_four_gpus():
    """Twice as much as the line; most of what the runs on fewer GPUs gain as well."""
    below, above = (numbers.measured(users).output for users in (16, 32))
    line = 16 * sum(numbers.causes().values())
    rows = {row[0]: float(row[1]) for row in cells(tables.measured_table())[1:]}
    for name, fewer, more in (("jump_each", 16, 32), ("last_each", 32, 64)):
        each = 1e3 * (rows[str(more)] - rows[str(fewer)]) / (more - fewer)
        assert int(texts.all()[name].removesuffix(" µs")) == pytest.approx(each, abs=0.8)
    assert above - below == pytest.approx(2 * line, rel=0.05)
    assert above - below > 0.5 * (numbers.measured(64).output - numbers.measured(4).output)
    for chips in (1, 2):
        one, two, last = (numbers.measured(users, chips).output for users in (16, 32, 64))
        assert two - one > 1.5 * (last - two), "16 users add more than the next 32"


def test_two_servers_or_a_wide_one():
    """The formulas and the benchmark disagree about 64 users."""
    told = {name: float(text[:-3]) for name, text in texts.wide_server().items() if text.endswith(" ms")}
    (wide,) = [row for row in cells(tables.changes_table()) if row[0].startswith("8 GPUs")]
    assert f"(64 users measured: {texts.all()['wide_seen']})" in wide[0]
    assert wide[2] == texts.all()["wide_token"][:-3]
    assert told["half_token"] < told["wide_token"] and told["wide_seen"] < told["half_seen"]
    assert numbers.measured(64, 8).server.layout.chips == 8 and numbers.measured(32).server.layout.chips == 4
    prices = [numbers.steady(concurrency=users, chips=chips).usd_per_mtok for users, chips in ((64, 8), (32, 4))]
    assert prices[0] == pytest.approx(prices[1], rel=0.1)


def test_the_measured_run_is_the_one_that_the_page_works():
    few, many = numbers.measured(4), numbers.measured(64)
    assert (few.output, few.first) == pytest.approx((9.85e-3, 90.6e-3), rel=1e-3)
    assert (many.output, many.first) == pytest.approx((16.07e-3, 264.5e-3), rel=1e-3)
    assert many.server == numbers.served(64).server


def test_one_prompt_in_a_step_is_the_prediction_and_the_simulation_of_a_server_that_has_run_for_long():
    for users in (4, 32, 64, 96, 256):
        full = numbers.steady(concurrency=users).output_token
        assert numbers.values(users)["output_token"] == pytest.approx(full, rel=3e-3)
    v, full, seen = numbers.values(), numbers.steady(), numbers.settled()
    assert v["output_token"] == pytest.approx(seen.token.mean, rel=5e-3)
    assert v["first_token"] == pytest.approx(full.first_token, rel=0.03)
    assert full.first_token == pytest.approx(seen.first.mean, rel=0.03)
    assert v["request_rate"] == pytest.approx(full.requests_per_s, rel=3e-3)


def test_users_within_a_promise_and_their_slowest_in_a_simulation():
    most = numbers.users_within(0.02)
    assert numbers.steady(concurrency=most).output_token <= 0.02 < numbers.steady(concurrency=most + 1).output_token
    worst = max(
        point.token / numbers.steady(concurrency=point.users).output_token for point in numbers.measured_points()
    )
    safe = int(texts.all()["safe_users"])
    ours = numbers.steady(concurrency=safe).output_token
    assert 0.02 / 1.02 < numbers.settled(safe).token.high * worst < 0.02 * 1.005
    assert numbers.settled(safe).token.high < 0.95 * 0.02, "kept, unless the server is as slow as at its worst load"
    code = re.search(r"promise = ([\d./ ]+?)  #", PAGE)
    assert numbers.users_within(worked(code[1].replace("0.020", "0.02"))) == safe
    assert numbers.settled(safe).token.mean == pytest.approx(ours, rel=5e-3)


def test_the_rest_of_a_step_at_random_moments():
    """Points in the middle of ten thousand slots of a long mix of steps."""
    v, rest = numbers.values(), []
    steps = [v["prompt_step" if n % 1000 < 1000 * v["prompt_share"] else "decode_step"] for n in range(1000)]
    for length in steps:
        slots = round(length * 1e5)
        rest += [length * (slots - n - 0.5) / slots for n in range(slots)]
    assert numbers.rest_of_step() == pytest.approx(sum(rest) / len(rest), rel=0.01)
    assert numbers.rest_of_step() < v["output_token"]


def test_prompts_make_the_long_gaps_and_share_steps():
    seen, share = numbers.settled(), numbers.values()["prompt_share"]
    gaps, decode = numbers.watched()[1].gaps, numbers.values()["decode_step"]
    long = [gap for gap in gaps if gap > 1.1 * decode]
    assert min(long) > 0.9 * numbers.launching()
    assert seen.halts == pytest.approx(share / numbers.steady().server.plan["prompts_taken"], rel=0.01)
    assert 0.95 * share < seen.halts < share
    assert 4 * decode < sum(long) / len(long) < 5 * decode


def test_what_the_slowest_in_a_hundred_feel():
    first, token, gaps, *_ = numbers.settled()
    assert 1.9 < first.high / first.median < 2.1 and token.high < 1.02 * token.mean
    assert 4 < gaps.high / gaps.median < 4.5 and 3 < 60 * gaps.high < 4, "three or four pictures, of 60 a second"


def test_a_limit_that_holds_a_whole_prompt_costs_nothing_and_a_lower_one_does():
    wide, whole, tight, tightest = (numbers.settled(room=room) for room in numbers.LIMITS)
    assert whole.token.mean == pytest.approx(wide.token.mean, rel=1e-3) and whole.rare_gap < 0.7 * wide.rare_gap
    v, split = numbers.values(), (1024 - 960) / 204.8
    launched = 804 * 66.35e-6 + 64 * 37.4e-6
    more = v["prompt_share"] * split * (launched - v["decode_step"])
    assert tight.token.mean - whole.token.mean == pytest.approx(more, rel=0.2), (
        "a split prompt takes a step of launches more"
    )
    assert f"{split:.0%} of the prompts" in tables.limits_table()


def test_simulated_waits_have_the_mean_of_the_whole_simulation():
    server, constants = numbers.served(16, 256).server, numbers.served(16, 256).calibration.values
    found = waits(watch(server, constants))
    before = numbers.values()["before"]
    assert len(found) == 160 and sum(wait.opening for wait in found) == 16
    assert sum(w.whole for w in found) / 160 + before == pytest.approx(numbers.simulated(16).first_token)


def test_nobody_waits_as_long_as_the_mean():
    later, first = numbers.heaps()
    assert later[-1] < 0.9 * numbers.served(64).first_token and 1.5 * numbers.served(64).first_token < first[0]
    assert sum(first) / 64 == pytest.approx(4.5 * numbers.served(64)._times["burst"], rel=0.1)


def test_simulated_tokens_have_the_mean_of_the_whole_simulation_and_gaps_are_steps():
    server, constants = numbers.served(16, 256).server, numbers.served(16, 256).calibration.values
    loop = watch(server, constants)
    found = waits(loop)
    assert sum(wait.token for wait in found) / 160 == pytest.approx(numbers.simulated(16).output_token)
    tokens = sum(request.output - 1 for request, _ in loop.taken)
    assert len(loop.gaps) == tokens
    longest = sum((request.output - 1) * wait.token for (request, _), wait in zip(loop.taken, found))
    assert sum(loop.gaps) == pytest.approx(longest)


def test_percentiles_are_those_that_numpy_counts():
    numpy = pytest.importorskip("numpy")
    times = numbers.watched()[1].gaps
    told, counted = numbers.spread(times), numpy.percentile(times, (50, 99))
    assert (told.mean, told.median) == pytest.approx((numpy.mean(times), counted[0]))
    assert told.high == pytest.approx(counted[1], rel=0.02)


def test_the_first_step_also_takes_in_a_part_of_the_ninth_prompt():
    first = numbers.watched()[1].ends[0]
    assert first > numbers.served(64)._times["burst"]
    assert numbers.heaps()[1][0] == pytest.approx(first + numbers.values()["before"])


def test_the_queue_is_estimated_as_badly_as_the_page_says():
    ours, simulated = numbers.queued()
    assert ours < 0.7 * simulated


def test_no_change_of_gpu_or_engine_wins_back_what_the_crowd_adds():
    now, quick, wide, pauses, sent = numbers.changes()
    light = 60 * numbers.light_slope()
    assert numbers.sped_up() == pytest.approx(now.crowd) == numbers.steady().output_token
    assert numbers.sped_up(eager_gap=33e-6) == now.crowd, "faster launches alone change nothing"
    extra = [each.crowd - each.few for each in (now, quick, wide, pauses, sent)]
    extra.insert(2, light)
    assert extra[4] > extra[0], "half the pauses raise the slope"
    assert all(0.75 * extra[0] < each < 1.02 * extra[0] for each in extra)
    assert now.few - pauses.few == pytest.approx(804 * 3.02e-6, rel=0.01)
    assert now.crowd - pauses.crowd == pytest.approx(0.96 * 804 * 3.02e-6, rel=0.02), "less where launching binds"
    assert now.crowd - sent.crowd == pytest.approx(32 * 37.4e-6, rel=0.01)
    assert [texts.all()[name] for name in ("quick_each", "light_each")] == [
        f"{1e6 * more / 60:.0f} µs" for more in extra[1:3]
    ]
    assert wide.users < 2 * now.users and 0.75 < extra[2] / extra[0] < 0.85, "by a fifth"


def test_users_within_the_promise_are_the_most_who_keep_it():
    now, quick, _, half, _ = numbers.changes()
    assert now.users == numbers.users_within(0.02) == int(texts.all()["full_users"])
    assert numbers.sped_up(gpu=2, users=quick.users) <= 0.02 < numbers.sped_up(gpu=2, users=quick.users + 1)
    each = (quick.crowd - quick.few) / 60
    pauses = numbers.steady().calibration.values["gap_time"] / 2
    light = [
        numbers.most_users(lambda users, changed=changed: numbers.sped_up(users=users, eager_gap=25.3e-6, **changed))
        for changed in ({}, {"gpu": 2}, {"gap_time": pauses})
    ]
    assert light[0] == now.users
    assert (half.users - now.users) / (quick.users - now.users) == pytest.approx(0.75, abs=0.02), "three quarters"
    assert (light[2] - light[0]) / (light[1] - light[0]) < 0.5
    assert quick.users == pytest.approx(64 + (0.02 - quick.crowd) / each, rel=0.02)


def test_the_curve_bends_where_computing_takes_longer_than_loading():
    token, bend = (lambda users: numbers.steady(concurrency=users).output_token), numbers.saturation()
    below, above = token(bend) - token(bend - 10), token(bend + 10) - token(bend)
    assert 1.2 * below < above < 1.5 * below
    assert below == pytest.approx(10 * 0.107e-3, rel=0.08), "the line holds up to there"


def test_first_tokens_by_every_route():
    """By hand, by the full formulas, simulated, measured."""
    routes = numbers.first_tokens()
    for route in routes.values():
        assert 0.9 * route.later + 0.1 * route.opening == pytest.approx(route.all)
    full, measured = numbers.served(64).first_token, numbers.measured(64).first
    assert full == pytest.approx(routes["simulated"].all, rel=0.05)
    assert routes["by hand"].all < full < routes["simulated"].all < measured < 1.02 * routes["simulated"].all
    assert routes["by hand"].later < routes["simulated"].later, "prompts that share a step wait longer"


def test_lengths_drawn_and_their_mean_alone_give_the_same_server():
    """The closing code draws lengths; with `spread=1` it takes means."""
    alone = numbers.steady(prompt=921.6, output=921.6, spread=1)
    assert alone.output_token == pytest.approx(numbers.steady().output_token, rel=1e-3)
    assert "spread=0.8" in PAGE and numbers.steady().server.spread == 0.8


def test_launches_below_this_time_do_not_hold_up_a_gpu_twice_as_fast():
    """Half of the computing of a prompt's step, and its caches, messages and pauses, for each of 804 kernels."""
    fp8, bf16, memory = 4 * 1979e12 * 0.487, 4 * 989e12 * 0.487, 4 * 4.8e12 * 0.867
    tokens, sent = 64 + 921.6, 65
    quick = (2 * (68.5e9 * tokens + 2.1e9 * sent) / fp8 + 1.11e12 / bf16 + 64 * 1382 * 164e3 / memory) / 2
    quick += 160 * (tokens * 24.6e3 / 450e9 / 0.79 + 3.33e-6) + 804 * 6.05e-6
    assert numbers.launch_turn() == pytest.approx(quick / 804, rel=5e-3)
    assert texts.all()["launch_turn"] == f"{1e6 * quick / 804:.0f} µs"
    assert float(texts.all()["quick_work"].removesuffix(" ms")) == pytest.approx(1e3 * quick, rel=5e-3)
    assert float(texts.all()["python_launch"].split()[0]) < 43 < 66


def test_shorter_launches_let_a_faster_gpu_lower_the_slope():
    """By hand: a share of the steps has a prompt, and then the GPU sets the time, not the launches."""
    now, quick, *_ = numbers.changes()
    light = numbers.sped_up(2, eager_gap=25.3e-6)
    assert light == pytest.approx(numbers.sped_up(2, eager_gap=numbers.launch_turn() / 2), rel=1e-6)
    few = numbers.sped_up(2, users=4, eager_gap=25.3e-6)
    assert numbers.light_slope() == pytest.approx((light - few) / 60, rel=1e-3)
    saved = numbers.values()["prompt_share"] * 804 * (66.35e-6 - numbers.launch_turn())
    assert quick.crowd - light == pytest.approx(saved, rel=0.1)


def test_first_tokens_grow_with_the_prompts_that_share_a_step():
    """By hand, by the full formulas, in a settled simulation, in the benchmark's later requests."""
    told = [float(texts.all()["first_sum"].split(" = ")[1].split()[0])]
    told += [float(texts.all()[name].split()[0]) for name in ("full_first", "settled_first", "later_first")]
    assert told == sorted(told)


def test_the_density_of_clumps_is_a_mean_of_roots():
    share, most = 0.7, 9
    steps = [1 + (most - 1) * (place + 0.5) / 10_000 for place in range(10_000)]
    density = sum((1 + share) / (2 * (1 - share) * k**0.5) for k in steps) / len(steps)
    assert eq.clumping(least_share=share, requests_per_user=most + 1) == pytest.approx(density, rel=1e-6)


def test_loading_takes_longer_than_products_up_to_so_many_tokens():
    memory, fp8 = 4 * 4.8e12 * 0.867, 4 * 1979e12 * 0.487
    assert numbers.saturation() == pytest.approx(70.6e9 / memory * fp8 / (2 * 70.6e9), rel=2e-3)


def test_the_device_sets_the_pace_of_a_step_with_a_prompt_and_launching_that_of_a_shorter_one():
    server, step = numbers.steady().server, tables.compared_steps()["prompt"]
    device = numbers.device_seconds(step)
    products = step["shared_multiply"] / numbers.steady().calibration.values["compute_efficiency"]
    assert device == pytest.approx(numbers.launching(), rel=0.05) and products > 0.5 * device
    assert numbers.device_seconds(server.step(64, 1, server.prompt / 2)) < 0.7 * numbers.launching()


def test_the_parts_of_a_step_add_up_as_printed():
    for column in list(zip(*cells(tables.parts_table())[1:]))[1:]:
        *parts, whole = map(float, column)
        assert sum(parts) == pytest.approx(whole, abs=0.11)
    for column in list(zip(*cells(tables.sums_table())[1:]))[1:3]:
        loading, products, *work, device, launched, answers, whole = map(float, column)
        assert max(loading, products) + sum(work) == pytest.approx(device, abs=0.25)
        assert max(device, launched) + answers == pytest.approx(whole, abs=0.11)


def test_the_sums_of_a_step_give_the_times_beside_them():
    """Llama 3.1 70B from its shape: 80 layers of 8,192, 8 heads of 128 for the cache; rates of the H200."""
    rows = {
        row[0].split("\\(")[0].strip(): [float(cell) for cell in row[1:3]] for row in cells(tables.sums_table())[1:]
    }
    memory, fp8, bf16 = 4 * 4.8e12 * 0.867, 4 * 1979e12 * 0.487, 4 * 989e12 * 0.487
    tokens, sent = (64, 64 + 921.6), (64, 65)
    cache, prompt = 1382 * 80 * 2 * 8 * 128 / memory, 4 * 921.6 * 921.6 / 2 * 80 * 8192 / bf16
    sums = {
        "loading the weights": [70.6e9 / memory] * 2,
        "computing with the weights, meanwhile": [2 * (68.5e9 * a + 2.1e9 * b) / fp8 for a, b in zip(tokens, sent)],
        "loading the KV caches": [64 * cache] * 2,
        "prompts’ own attention": [0, prompt],
        "messages": [160 * (each * 1.5 * 8192 * 2 / 450e9 / 0.79 + 3.33e-6) for each in tokens],
        "pauses between kernels": [804 * 6.05e-6] * 2,
        "launches by the CPU, meanwhile": [0, 804 * 66.35e-6],
        "handing out tokens, probably by the CPU": [64 * 37.4e-6, 65 * 37.4e-6],
    }
    for name, times in sums.items():
        assert rows[name] == pytest.approx([1e3 * time for time in times], abs=0.12, rel=2e-3), name
    for number in (
        "70.6 GB",
        "86.7%",
        "68.5 billion × tokens + 2.1 billion × handed out",
        "1,979",
        "48.7%",
        "1,382",
        "164 kB",
        "24.6 kB",
        "79%",
        "3.33 µs",
    ):
        assert number in tables.sums_table()


def test_twice_as_fast_a_gpu_is_far_from_twice_as_fast_a_token():
    now = numbers.steady().output_token
    assert 0.7 * now < numbers.sped_up(gpu=2) < 0.9 * now


def test_the_simulation_agrees_as_the_page_says():
    for users in numbers.USERS:
        ours, events = numbers.served(users, numbers.SHORT), numbers.simulated(users)
        assert ours.output_token == pytest.approx(events.output_token, rel=0.03)
        assert ours.first_token == pytest.approx(events.first_token, rel=0.13)


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
    assert one.prompt > 1.05 * numbers.values()["prompt_length"], "a long prompt"
    assert one.came == before.end == under_way.start and one.first == first.end
    assert two.came == three.came == under_way.end == first.start and two.first == three.first == second.end
    both = second.end - second.start + first.end - first.start
    assert texts.all()["both_wait"] == f"{1e3 * both:.0f} ms"


def test_a_burst_is_the_sums_of_a_step():
    """Eight prompts and half of the users, with the rates of the table of steps."""
    memory, fp8, bf16, tokens, sent = 4 * 4.8e12 * 0.867, 4 * 1979e12 * 0.487, 4 * 989e12 * 0.487, 7404.8, 40
    device = 2 * (68.5e9 * tokens + 2.1e9 * sent) / fp8 + 8 * 1.11e12 / bf16 + 32 * 1382 * 164e3 / memory
    device += 160 * (tokens * 24.6e3 / 450e9 / 0.79 + 3.33e-6) + 804 * 6.05e-6
    assert numbers.served(64)._times["burst"] == pytest.approx(device + sent * 37.4e-6, rel=2e-3)


def test_work_that_nobody_shares_bounds_the_rate_of_requests():
    """Products, messages, and for answers the cache and sending, by the sums of the table of steps."""
    token = 2 * 68.5e9 / (4 * 1979e12 * 0.487) + 160 * 24.6e3 / 450e9 / 0.79
    head, sent = 2 * 2.1e9 / (4 * 1979e12 * 0.487), 37.4e-6
    prompt, answer = numbers.own_work()
    assert prompt == pytest.approx(921.6 * token + 1.11e12 / (4 * 989e12 * 0.487) + head + sent, rel=5e-3)
    assert answer == pytest.approx(921.6 * (token + head + sent + 1382 * 164e3 / (4 * 4.8e12 * 0.867)), rel=5e-3)
    most = numbers.opened().most_rate
    assert 0.97 / (prompt + answer) < most < 1 / (prompt + answer)


def test_work_of_a_request_as_printed():
    for name in ("prompt_work", "answer_work"):
        work, result = texts.all()[name].split(" = ")
        small, _, more = work.partition(" µs")
        fixed = float(more.strip(" +ms") or 0)
        assert worked(small) / 1e3 + fixed == pytest.approx(float(result.removesuffix(" ms")), abs=0.6), name


def test_a_second_prompt_lengthens_a_step_about_as_much_as_the_first():
    server, v = numbers.steady().server, numbers.values()
    both = eq.mixed_time(server.step(64, 2, 2 * server.prompt), calibration=numbers.steady().calibration)
    assert both - v["prompt_step"] == pytest.approx(v["prompt_step"] - v["decode_step"], rel=0.06)


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
    shares = [float(share) / 100 for share in re.findall(r"(\d+)%", tables.second_route())]
    told = dict(zip(("token_off", "first_off", "first_lone"), shares))
    assert max(each[0] for each in far.values()) <= told["token_off"] < 0.03
    assert max(each[1] for users, each in far.items() if users > 1) <= told["first_off"] < 0.07
    assert far[1][1] <= told["first_lone"] < far[1][1] + 0.01


def test_tables_have_every_slice_group_and_constant():
    groups = {(each.kind, each.what) for each in slices() if each.what != "fitted"}
    assert groups == {(kind, group) for kind, several, _ in tables.TRUST.values() for group in several}
    shown = cells(tables.slices_table())[1:]
    assert len(shown) == len({each.held.removesuffix(f", {each.kind}") for each in slices()}) - 1
    assert sum(cell != "none" for row in shown for cell in row[1:]) == len(slices()) - 2
    assert sum(row[0].startswith("\\(") for row in cells(tables.fitting())[1:]) == len(FITTED) == len(tables.SEEN)


def test_goals_are_held_against_every_held_out_prediction():
    rows = cells(tables.goals_table())[1:]
    assert len(rows) == len(tables.GOALS)
    assert f"{len(rows) // 2} of these {len(rows)} goals are reached" in tables.goals_table(), "half of our goals"
    for row, (kind, name, _) in zip(rows, tables.GOALS.values(), strict=True):
        counts = [int(cell.split("(")[1].rstrip(")")) if cell != "none" else 0 for cell in row[2:]]
        assert sum(counts[:-1]) == counts[-1]
        whole = [each for each in slices() if each.kind == kind and each.what != "fitted"]
        weights = [each.few if name == "first_few" else each.rows for each in whole]
        mean = sum(n * getattr(each, name) for n, each in zip(weights, whole, strict=True)) / sum(weights)
        assert float(row[-1].split("%")[0]) == pytest.approx(100 * mean, abs=0.051) and counts[-1] == sum(weights)


def test_the_fewest_users_are_one_load_of_each_server():
    found = [run.server for run in runs() if has_fewest_users(run)]
    loads = {}
    for server in found:
        key = (server.layout, server.engine, server.weights)
        assert loads.setdefault(key, server.users) == server.users


def test_errors_of_groups_are_those_of_their_slices_as_printed():
    """Weighted by the runs that the folded table prints."""
    rows = [cell for row in cells(tables.slices_table())[1:] for cell in row[1:2] if cell != "none"]
    found = [tuple(map(float, re.findall(r"\d+", cell))) for cell in rows]
    loads = [each for each, row in zip(found, cells(tables.slices_table())[1:]) if re.search("GPU|flight", row[0])]
    mean = sum(token * runs for token, _, runs in loads) / sum(runs for *_, runs in loads)
    assert float(cells(tables.trust_table())[1][1].split("%")[0]) == pytest.approx(mean, abs=0.7)


def test_users_with_long_prompts_and_short_answers_are_as_few_by_hand():
    """A user's prompts lengthen everybody's token by one long step in 400; the rest of a step grows as on the page."""
    told = texts.all()
    long_step = numbers.steady(concurrency=9, **numbers.AGENT)._times["prompt"]
    attends = 8_000 * 4_000 * 4 * 8_192 * 80  # FLOPs, at half the rate of the weights'
    compute = (8_000 * 2 * 69.5e9 + 2 * attends) / (4 * 1979e12)
    short = numbers.values()["prompt_step"] / (921.6 * 2 * 69.5e9 / (4 * 1979e12))
    assert 2 < long_step / compute < short, "as far above the peak as the page's prompts, or less"
    level = float(told["lone_token"].removesuffix(" ms"))
    others = sum(numbers.causes()[name] for name in ("answers", "cache", "links")) * 1e3
    each = others + (1e3 * long_step - level) / 400
    assert abs(1 + (20 - level) / each - int(told["agent_users"])) < 1.5
