"""The front page: a live chart, and a card for each lesson with the progress that this browser knows of."""

import json
import re

import pytest
from lessons import LESSONS, ROOT

from blackboard.page.lab_worker import list_steps
from blackboard.page.practice import problems

FRONT = "book/index.html"
CARDS = """() => [...document.querySelectorAll(".lesson-card")].map((card) => ({
  lesson: card.querySelector(".lesson-progress").dataset.lesson,
  problems: card.querySelector(".lesson-progress").dataset.problems.split(" "),
  steps: card.querySelector(".lesson-progress").dataset.steps.split(" "),
  facts: card.querySelector(".lesson-facts").innerText,
  title: card.querySelector(".lesson-title").innerText,
  pictured: card.querySelector("svg[aria-hidden] path")?.getBoundingClientRect().width,
}))"""

CHOOSE = """async exponent => {
  await document.querySelector(".interactive-chart").vegaView.signal("chosen_exponent", exponent).runAsync();
}"""


@pytest.fixture
def front(visit, server):
    return visit(f"{server}/{FRONT}").page


def test_every_lesson_has_a_card_in_the_order_of_the_book(front):
    """With its number, a picture, minutes to read and all problems of its page."""
    cards = front.evaluate(CARDS)
    assert [card["lesson"] for card in cards] == LESSONS
    for number, card in enumerate(cards, 1):
        assert card["title"].startswith(f"{number}. ") and card["pictured"] > 5
        minutes, count = map(int, re.findall(r"\d+", card["facts"]))
        assert 10 <= minutes <= 40 and count == len(card["problems"])
        assert set(card["problems"]) <= {view.problem.id for view in problems(card["lesson"])}
        assert card["steps"] == [step.name for step in list_steps(card["lesson"])]


def test_a_card_counts_what_was_solved(visit, server):
    page = visit(f"{server}/{FRONT}").page
    for id, right in (("guess", True), ("floor", False)):
        page.evaluate(
            "([key, kept]) => localStorage.setItem(key, kept)",
            [f"practice/batching/{id}", json.dumps({"right": right})],
        )
    page.reload()
    page.wait_for_selector(".lesson-progress[data-solved]")
    assert re.fullmatch(r"1 of \d+ problems solved", page.inner_text("[data-lesson=batching]"))
    passed = {
        "version": 1,
        "steps": {"Blocks": {"passed": "class Blocks: ...", "last": "right"}, "hit_rate": {"tries": 1}},
    }
    page.evaluate("kept => localStorage.setItem('lab:paging', kept)", json.dumps(passed))
    page.reload()
    page.wait_for_selector("[data-lesson=paging][data-solved]")
    assert re.fullmatch(r"0 of \d+ problems solved, 1 of 5 steps of the lab", page.inner_text("[data-lesson=paging]"))


def test_lessons_are_cards_in_two_columns_and_in_one_on_a_phone(front):
    """Those of a row are equally tall, and all are equally wide."""
    boxes = "() => [...document.querySelectorAll('.lesson-card')].map((card) => card.getBoundingClientRect().toJSON())"
    for width, columns in ((1280, 2), (360, 1)):
        front.set_viewport_size({"width": width, "height": 800})
        cards = front.evaluate(boxes)
        assert len({round(card["x"]) for card in cards}) == columns
        rows = {}
        for card in cards:
            rows.setdefault(round(card["y"]), []).append(card)
        assert all(len({round(card["height"]) for card in row}) == 1 for row in rows.values())
        assert len({round(card["width"]) for card in cards}) == 1


def test_every_page_is_linked_from_the_text(front):
    """A phone without scripts opens no sidebar."""
    linked = front.locator("article a").evaluate_all("links => links.map((link) => link.pathname.split('/').pop())")
    listed = re.findall(r"file: book/(\w+)$", (ROOT / "_toc.yml").read_text("utf8"), re.M)
    assert {f"{name}.html" for name in listed} <= set(linked)


def test_every_page_ends_with_who_made_it_and_on_which_terms(visit, server):
    for name in ("index", "glossary"):
        footer = visit(f"{server}/book/{name}.html").page.locator("footer.bd-footer-content").inner_text()
        assert "CC BY 4.0" in footer and "MIT License" in footer and "Reiner Pope" in footer


def test_the_sidebar_ticks_a_lesson_whose_problems_are_all_solved(visit, server):
    page = visit(f"{server}/{FRONT}").page
    (first, *others) = next(card["problems"] for card in page.evaluate(CARDS) if card["lesson"] == "pricing")
    keep = "names => names.forEach((name) => localStorage.setItem(`practice/pricing/${name}`, '{\"right\": true}'))"
    for solved, ticked in ((others, []), ([first], ["6. Pricing ✓"])):
        page.evaluate(keep, solved)
        page.reload()
        page.wait_for_function("window.laidOut")
        assert page.locator(".bd-links a:has(.lesson-done)").all_inner_texts() == ticked


def test_the_start_and_the_chart_are_on_the_first_screen_below_two_sentences(front):
    box = front.locator(".interactive-chart .chart-plot").first.bounding_box()
    start = front.get_by_role("link", name="Start with lesson 1").bounding_box()
    assert box["y"] + box["height"] < 680 and start["y"] + start["height"] < box["y"]


DOT = """() => {
  const { vegaView } = document.querySelector(".interactive-chart"), left = document.querySelector(".chart-plot svg");
  return left.getBoundingClientRect().left + vegaView.origin()[0] + vegaView.scale("x")(vegaView.signal("chosen"));
}"""


def test_the_dot_follows_a_pressed_pointer_and_no_other(front):
    """And so do the slider and the result; a step of the slider is a few pixels."""
    front.evaluate("document.querySelector('.interactive-chart').ready")
    plot, before = front.locator(".chart-plot"), front.inner_text(".chart-result")
    box = plot.bounding_box()
    at = lambda share: (box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    front.mouse.move(*at(0.3))
    front.mouse.down()
    front.mouse.move(*at(0.8), steps=3)
    front.wait_for_function("before => document.querySelector('.chart-result').innerText !== before", arg=before)
    assert front.evaluate(DOT) == pytest.approx(at(0.8)[0], abs=10)
    front.mouse.up()
    chosen = front.locator("input[name=chosen_exponent]").input_value()
    front.mouse.move(*at(0.4))
    assert front.locator("input[name=chosen_exponent]").input_value() == chosen != "3.3"


def test_one_slider_moves_time_and_price(front):
    """A larger batch makes the token slower and cheaper."""
    told = []
    for exponent in (2, 5):
        front.evaluate(CHOOSE, exponent)
        told.append([float(each) for each in re.findall(r"[\d.]+", front.inner_text(".chart-result"))])
    assert told[0][0] < told[1][0] and told[0][1] > told[1][1]


@pytest.fixture
def untouched(browser, server):
    """The page as it is loaded, which asks for no chart."""
    page = browser.new_page()
    page.goto(f"{server}/{FRONT}")
    yield page
    page.close()


@pytest.mark.parametrize("sign", ["hover", "focus"])
def test_a_chart_is_drawn_at_the_first_sign_of_a_reader(untouched, sign):
    assert untouched.locator(".chart-still img").is_visible() and not untouched.query_selector(".chart-drawn")
    getattr(untouched, sign)(".chart-plot")
    untouched.wait_for_selector(".chart-drawn .chart-live svg")
    assert not untouched.locator(".chart-still img").is_visible()


def test_a_control_that_is_moved_first_is_obeyed(untouched):
    before = untouched.inner_text(".chart-result")
    untouched.locator(".interactive-chart input[type=range]").fill("2")
    untouched.wait_for_function("told => document.querySelector('.chart-result').innerText !== told", arg=before)
    assert untouched.evaluate("document.querySelector('.interactive-chart').vegaView.signal('chosen_exponent')") == 2


def test_without_vega_the_picture_stays(untouched):
    untouched.route("**/vendor/vega.js", lambda route: route.abort())
    untouched.evaluate("document.querySelector('.interactive-chart').ready")
    assert untouched.locator(".chart-still img").is_visible() and not untouched.query_selector(".chart-live svg")


def test_the_dot_comes_to_the_pointer_from_the_first_press_on(front):
    """Pressed and let go before the chart is drawn; later its value stands in the headline, and nowhere another."""
    plot = front.locator(".chart-plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    dot = "path => path.getBoundingClientRect().x + path.getBoundingClientRect().width / 2"
    for share in (0.5, 0.8):
        x = box["x"] + share * box["width"]
        front.mouse.move(x - 30, box["y"] + 60)
        front.mouse.down()
        front.mouse.move(x, box["y"] + 60, steps=3)
        front.mouse.up()
        front.wait_for_selector(".chart-drawn")
        front.wait_for_timeout(200)
        seen = front.eval_on_selector(".chart-live .mark-symbol path[fill='#D0202E']", dot)
        assert abs(seen - x) < 2  # a stop of the slider
        assert not plot.locator(".chart-readout").is_visible()
        told = front.inner_text(".chart-control input + span")
        assert f"{told} users" in front.inner_text(".chart-facts")


def test_a_view_can_be_shared(visit, server):
    """What a control was moved to stands in the address, and the address sets the control."""
    page = visit(f"{server}/{FRONT}").page
    slider = page.locator(".interactive-chart input[type=range]")
    slider.fill("2")
    page.wait_for_function("location.search.includes('chosen=2')")
    shared = visit(page.url).page
    assert shared.locator(".interactive-chart input[type=range]").input_value() == "2"
    shared.click(".chart-reset")
    shared.wait_for_function("location.search === ''")


def test_the_arrow_keys_read_values(front):
    plot = front.locator(".chart-plot")
    plot.focus()
    front.keyboard.press("Home")
    first = plot.locator(".chart-readout").inner_text()
    front.keyboard.press("End")
    assert "100" in first and plot.locator(".chart-readout").inner_text() != first
    front.keyboard.press("Escape")
    assert not plot.locator(".chart-readout").is_visible()
