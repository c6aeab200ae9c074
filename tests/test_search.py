"""The search finds the page that answers a reader's question, and finds it first."""

import pytest
import yaml
from bs4 import BeautifulSoup
from conftest import ROOT, toc_pages
from lessons import LESSONS

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


def test_an_excerpt_is_cut_between_words_and_pages_are_counted_in_words(visit, server, site):
    page = visit(f"{server}/search.html?q=why+is+output+more+expensive").page
    first = page.locator("#search-results li").first
    first.locator("p.context").wait_for()
    page.wait_for_function("document.querySelector('#search-results').innerText.includes('Pages found: ')")
    words = first.locator("p.context").inner_text().split()
    assert words[0] == words[-1] == "…" and len(words) > 30
    read = set(BeautifulSoup((site / "book/pricing.html").read_text("utf8"), "html.parser").get_text(" ").split())
    assert read >= {words[1], words[-2]}


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
