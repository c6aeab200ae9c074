"""The page on a server under load: numbers, tables, pictures, and the case for paper by plain arithmetic."""

import re

import pytest
from lessons import ROOT
from test_prose import typed_numbers

from blackboard.prediction.serving_calibration import FITTED
from blackboard.validation import serving_figures as figures
from blackboard.validation import serving_numbers as numbers
from blackboard.validation.serving_slices import over, slices

PAGE = (ROOT / "book/serving.md").read_text("utf8")
PROSE = re.sub(r"```.*?```", "", PAGE.split("---", 2)[2], flags=re.S)
QUOTED = {
    "3.1": "Llama 3.1 70B, its name",
    "70": "Llama 70B, its name",
    "405": "Llama 3.1 405B, its name",
    "8": "Llama 3.1 8B, its name",
    "4": "Llama 4 Maverick, its name",
    "95": "per cent, the limit of a fitted share (FITTED)",
}


def test_no_number_is_typed_into_prose():
    assert typed_numbers(PROSE) == set(QUOTED)
    assert FITTED["memory_efficiency"].most == 0.95


def test_prose_and_numbers_use_the_same_names():
    assert set(re.findall(r"\{glue:text\}`(\w+)`", PAGE)) == set(numbers.all())


def test_every_table_and_figure_is_on_the_page():
    tables = "case_table parts_table clumps meanings constants_table paper_table errors_table"
    for name in ("device_step", "whole_step", *tables.split()):
        assert f"numbers.{name}()" in PAGE
    for name in ("timeline", "second_route", "slice_errors"):
        assert f"figures.{name}()" in PAGE


def test_the_case_for_paper_by_hand():
    share = 32 / 320
    token = 0.9 * 12 + 0.1 * 62
    busy = share * (62 - 12) / token
    first = token + busy / (2 * (1 - busy)) * 62 + 62
    paper = numbers.PAPER
    assert (paper.share, paper.token) == pytest.approx((share, token / 1e3))
    assert paper.first == pytest.approx(first / 1e3)
    assert paper.rate == pytest.approx(33 / (first / 1e3 + 319 * token / 1e3))
    assert paper.rate * (paper.first + 319 * paper.token) == pytest.approx(33), "Little's law"


def test_doubling_the_users_on_paper_does_what_the_page_says():
    one, two = numbers.PAPER, numbers.PAPER._replace(users=66)
    assert two.share == pytest.approx(2 * one.share, rel=0.05)
    assert two.queue == pytest.approx(2 * one.queue, rel=0.05)
    assert 0.2 < two.token / one.token - 1 < 0.4 < two.rate / one.rate - 1 < 0.6


def test_the_device_sets_the_pace_of_a_step_with_a_prompt_and_launching_that_of_a_shorter_one():
    server = numbers.served(64).server
    device = numbers.device_seconds(server.plan["prompt"])
    products = server.plan["prompt"]["shared_multiply"] / numbers.served(64).calibration.values["compute_efficiency"]
    assert device > numbers.launching() > 0.8 * device and products > 0.5 * device
    assert 0.5 * server.prompt < numbers.launch_bound() < server.prompt * server.plan["prompts_taken"]
    assert numbers.device_seconds(server.step(64, 1, 0.99 * numbers.launch_bound())) < numbers.launching()


def test_the_parts_of_a_step_add_up_as_printed():
    cells = re.findall(r"<td>([\d.]+)</td><td>([\d.]+)</td>", numbers.parts_table())
    for column in zip(*cells):
        *work, device, launched, answers, whole = map(float, column)
        assert sum(work) == pytest.approx(device, abs=0.15)
        assert max(device, launched) + answers == pytest.approx(whole, abs=0.11)


def test_the_first_token_of_the_running_case_by_hand():
    crowd = numbers.served(64)
    times, parts = crowd._times, numbers.first_parts()
    under_way = times["decode"] + crowd.server.plan["clumping"] * (times["output"] - times["decode"])
    busy = times["busy"] / crowd.server.plan["at_once"]
    later = 0.9 * (under_way + times["prompt"] * (1 + busy / (2 * (1 - busy))))
    assert parts["later"] == pytest.approx(later)
    assert parts["start"] == pytest.approx(times["burst"] * 9 / 20) and parts["start"] > 0.5 * crowd.first_token
    assert sum(parts.values()) == pytest.approx(crowd.first_token)


def test_twice_as_fast_a_gpu_is_far_from_twice_as_fast_a_token():
    crowd = numbers.served(64)
    assert numbers.faster(1)["output"] == pytest.approx(crowd.output_token)
    assert 0.7 * crowd.output_token < numbers.faster()["output"] < 0.9 * crowd.output_token


def test_the_simulation_agrees_as_the_page_says():
    for users in numbers.USERS:
        ours, events = numbers.served(users, numbers.SHORT), numbers.simulated(users)
        assert ours.output_token == pytest.approx(events.output_token, rel=0.03)
        assert ours.first_token == pytest.approx(events.first_token, rel=0.12)


def test_the_timeline_shows_what_was_simulated():
    steps, lines = figures.timeline_events()
    ends = {step.end for step in steps}
    assert len(steps) == figures.SHOWN and all(a.end == b.start for a, b in zip(steps, steps[1:]))
    for line in lines:
        inside = [token for token in line.tokens if steps[0].start < token <= steps[-1].end]
        assert inside and set(inside) <= ends, "a token comes at the end of a step"
    firsts = {first for line in lines for first in line.first if first > steps[0].start}
    assert firsts <= {step.end for step in steps if step.prompt}, "a first token comes from a step with a prompt"
    assert min(s.end - s.start for s in steps if s.prompt) > 3 * max(s.end - s.start for s in steps if not s.prompt)


def test_tables_have_every_slice_group_and_constant():
    assert {each.what for each in slices()} == set(numbers.GROUPS) == set(figures.HEADS)
    assert numbers.errors_table().count("<tr>") == len(numbers.GROUPS) + 1
    assert numbers.meanings().count("<tr>") == len(FITTED) + 1 == len(numbers.SEEN) + 1
    assert f"{over('chip', 'dense')['output_token']:.0%}" in numbers.errors_table()


def test_equations_have_every_constant():
    both = numbers.device_step() + numbers.whole_step()
    for letter in (r"\eta_c", r"\eta_m", r"\eta_\ell", r"\alpha_\ell", r"t_\mathrm{gap}", r"t_\mathrm{eager}"):
        assert letter in both
