"""The search finds the page that answers a reader's question, and finds it first."""

import re

import pytest
import yaml
from bs4 import BeautifulSoup
from conftest import ROOT, toc_pages
from lessons import LESSONS
from page_evidence import axe

from blackboard.charts.style import GROUNDS

ASKED = [
    (question, page)
    for page, questions in yaml.safe_load((ROOT / "book" / "questions.yaml").read_text("utf8")).items()
    for question in questions
]


def test_questions_belong_to_pages_and_are_asked_once():
    assert {f"book/{page}" for _, page in ASKED} <= set(toc_pages())
    assert len(ASKED) >= 42 and len({question for question, _ in ASKED}) == len(ASKED)
    assert all(question.endswith("?") and ";" not in question for question, _ in ASKED), "an index divides at ;"


@pytest.fixture(scope="session")
def searching(browser, server):
    """A page on which the search answers one question after another; without reading the pages that it names."""
    page = browser.new_page()
    page.goto(f"{server}/search.html?q=batching")
    page.wait_for_selector("#search-results li a")
    page.evaluate("DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false")
    yield page
    page.close()


def test_an_excerpt_is_a_sentence_of_its_page_and_pages_are_counted_in_words(visit, server, site):
    page = visit(f"{server}/search.html?q=prefix+cache").page
    page.wait_for_function("document.querySelector('#search-results').innerText.includes('Results: ')")
    found = page.locator("#search-results li", has=page.locator("a", has_text=re.compile("^Plan a server$")))
    said = found.locator("p.context").inner_text()
    assert re.fullmatch(r"[A-Z“].{50,}[.?!]", said)
    assert found.locator(".highlighted").all_inner_texts() == ["prefix", "cache"]
    read = BeautifulSoup((site / "book/planner.html").read_text("utf8"), "html.parser").get_text()
    assert said in " ".join(read.split())


FIRST = """async question => {
  document.getElementById("search-results").replaceChildren();
  await Search.performSearch(question);
  const found = () => document.querySelector("#search-results li a");
  for (let n = 0; n < 100 && !found(); n++) await new Promise(later => setTimeout(later, 20));
  return found()?.getAttribute("href") ?? "";
}"""


@pytest.mark.parametrize(("question", "page"), ASKED)
@pytest.mark.parametrize("typed", ["all", "half"])
def test_the_page_that_answers_comes_first(searching, question, page, typed):
    """As it stands, and with its first words left out, as people type."""
    words = question.rstrip("?").split()
    asked = " ".join(words if typed == "all" else words[(len(words) - 1) // 3 :])
    assert searching.evaluate(FIRST, asked).partition("?")[0].partition("#")[0] == f"book/{page}.html"


SAME = "query => look(query).map(([page, , anchor]) => `${page}.html${anchor}`)"


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("why is output five times as expensive as input on the API", "pricing.html#why-output-costs-more-than-input"),
        ("Why output costs more than input", "pricing.html#why-output-costs-more-than-input"),
        ("how many GPUs for 200 users", "planner.html"),
        ("cost per million tokens self hosted", "planner.html"),
        ("custom model", "planner.html"),
        ("why does a bigger batch get cheaper per token", "batching.html"),
        ("does prompt caching really make it ten times cheaper", "claims.html"),
        ("tensor parallel vs pipeline parallel", "pipelining.html"),
        ("why are frontier models overtrained", "overtraining.html"),
        ("prefix caching hit rate", "paging.html"),
    ],
)
def test_what_is_asked_in_other_words_is_found_by_what_it_shares_with_a_heading_or_question(searching, typed, place):
    assert searching.evaluate(SAME, typed)[0] == f"book/{place}"


def test_one_word_and_words_of_no_heading_are_searched_for_as_before(searching):
    assert searching.evaluate("['roofline', 'kernel xylophone', 'what is the'].flatMap(likest)") == []


ORDER = """async query => {
  const links = () => [...document.querySelectorAll("#search-results li > a")].map(each => each.getAttribute("href"));
  const settle = async (least) => { // results come in one by one, slowly at times; those of an earlier question too
    for (let n = 0, before = -1, still = 0; n < 400 && still < 20; n++) {
      still = before >= least && links().length === before ? still + 1 : 0;
      before = links().length;
      await new Promise(later => setTimeout(later, 50));
    }
  };
  await settle(0);
  document.getElementById("search-results").replaceChildren();
  await Search.performSearch(query);
  await settle(1);
  return links();
}"""


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_comes_before_its_exercises_and_these_before_its_solutions(searching, lesson):
    links = [link.partition("?")[0].partition("#")[0] for link in searching.evaluate(ORDER, lesson)]
    places = [links.index(f"{place}/{lesson}.html") for place in ("book", "exercises", "exercises/solutions")]
    assert places == sorted(places) and places[0] <= 2  # only answered questions and terms of the glossary are above


@pytest.mark.parametrize(
    ("typed", "place"),
    [("κ", "notation.html#batching"), ("N_tot", "notation.html#batching"), ("H200", "catalogue.html#chips")],
)
def test_a_symbol_and_a_chip_are_found_by_name(searching, typed, place):
    assert searching.evaluate(ORDER, typed)[0] == f"book/{place}"


def test_a_slash_opens_the_search_but_not_where_one_writes(visit, server):
    page = visit(f"{server}/book/planner.html").page
    page.focus("[name=chips]")
    page.keyboard.press("/")
    assert page.locator(".search-button__wrapper.show").count() == 0
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.type("κ")
    page.wait_for_selector(".search-found a")
    assert page.input_value("#search-input") == "κ"


def test_what_explains_a_term_follows_the_glossary(searching):
    """First its meaning, then the section that explains it, then a lesson whose headings and terms have the words."""
    found = searching.evaluate(ORDER, "KV cache")
    assert found[:2] == ["book/glossary.html#term-KV-cache", "book/batching.html#one-step-of-decoding"]
    assert found[2] == "book/paging.html"


# --- the panel that opens over a page ---------------------------------------------------------------------------------

STATUS = "said => document.querySelector('[role=search] [role=status]')?.textContent === said"


@pytest.fixture(params=["server", "disk"])
def panel(request, visit, server, site):
    """A page over which the search is open, from a server and from the disk; its index came with it and not before."""
    base = server if request.param == "server" else site.as_uri()
    seen = visit(f"{base}/book/batching.html")
    assert not [each for each in seen.requests if "search" in each or "language_data" in each]
    seen.page.keyboard.press("Control+k")
    yield seen
    assert seen.complaints == []


def test_answers_come_as_one_types(panel):
    """The best of what the page of the search finds, each with its kind, and a link to the rest."""
    page = panel.page
    page.keyboard.type("KV cache")
    page.wait_for_selector(".search-found a")
    assert page.input_value("#search-input") == "KV cache" and page.locator(".bd-search kbd:visible").count() == 0
    every = page.evaluate(SAME, "KV cache")
    page.wait_for_function(STATUS, arg=f"Results: {len(every)}")  # of all that was typed
    links = page.eval_on_selector_all(".search-found a", "all => all.map(each => each.getAttribute('href'))")
    assert links == [*(f"../{each}" for each in every[:10]), "../search.html?q=KV%20cache"]
    assert page.locator(".search-found small").all_inner_texts()[:3] == ["Glossary", "Lesson", "Lesson"]


@pytest.mark.parametrize("theme", GROUNDS)
def test_the_open_panel_can_be_read_by_all(visit, server, theme):
    """Nothing of the page shows through, and axe has no complaint of the panel with its answers."""
    page = visit(f"{server}/book/batching.html", mode=theme).page
    page.keyboard.press("Control+k")
    page.keyboard.type("KV cache")
    page.wait_for_selector(".search-found a")
    ground = page.eval_on_selector("[role=search]", "panel => getComputedStyle(panel).backgroundColor")
    assert ground.startswith("rgb(")
    page.evaluate(axe())
    assert page.evaluate("axe.run('[role=search]').then(({ violations }) => violations.map(({ id }) => id))") == []


def test_of_nothing_it_says_so(panel):
    panel.page.keyboard.type("zebra")
    panel.page.wait_for_function(
        "document.querySelector('[role=search] [role=status]')?.textContent.startsWith('No page')"
    )
    assert panel.page.locator(".search-found a").count() == 0


@pytest.mark.parametrize("known", ["prefill", "KV"])
def test_a_word_that_no_page_has_is_named(panel, known):
    page = panel.page
    page.keyboard.type(f"{known} zebra")
    page.wait_for_function("document.querySelectorAll('.search-found a').length > 1")
    every = page.evaluate(SAME, known)
    page.wait_for_function(STATUS, arg=f"No page has “zebra”; showing “{known}”. Results: {len(every)}")


def test_an_excerpt_marks_words_and_no_part_of_one(visit, server):
    page = visit(f"{server}/search.html?q=price+of+fast+mode").page
    page.locator("#search-results p.context .highlighted").nth(3).wait_for()
    marked = {word.lower() for word in page.locator("#search-results .highlighted").all_inner_texts()}
    assert marked <= {"price", "prices", "priced", "pricing", "fast", "mode", "modes"}
    assert not page.eval_on_selector_all(
        "#search-results .highlighted", "all => all.some(({ nextSibling: next }) => /^[a-z]/i.test(next?.textContent))"
    )


def test_the_keyboard_moves_through_the_answers(panel):
    page, held = panel.page, "document.activeElement.getAttribute('href') ?? document.activeElement.id"
    page.keyboard.type("KV cac")
    page.wait_for_selector(".search-found a")
    for key, holds in (("ArrowUp", "search-input"), ("ArrowDown", "../book/glossary.html#term-KV-cache")):
        page.keyboard.press(key)
        assert page.evaluate(held) == holds
    page.keyboard.type("he")
    assert page.evaluate(held) == "search-input" and page.input_value("#search-input") == "KV cache"
    page.keyboard.press("Escape")
    page.wait_for_selector(".search-button__search-container", state="hidden")
    page.keyboard.press("Control+k")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/book/paging.html")


def test_enter_opens_the_first_answer(panel):
    """It looks chosen while the field has the keyboard; the last of the rows leads to all results."""
    page = panel.page
    page.keyboard.type("KV cache")
    page.wait_for_selector(".search-found a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/glossary.html#term-KV-cache")
