"""The ledger's filter, in a browser."""

import pytest
from conftest import open_page
from page_evidence import AXE_WITHIN, axe

from blackboard.reference.claims import VERDICTS, judged

pytestmark = pytest.mark.site


@pytest.fixture
def ledger(server, browser):
    with open_page(browser, f"{server}/book/claims.html") as visit:
        yield visit.page


def left(page):
    return page.locator(".claim:not([hidden])").count()


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda verdict: verdict.key)
def test_a_verdict_leaves_its_claims(ledger, verdict):
    ledger.get_by_label("Verdict").select_option(verdict.label)
    wanted = sum(row.verdict is verdict for row in judged())
    assert left(ledger) == wanted
    assert ledger.get_by_role("status").filter(has_text="claims").inner_text() == f"{wanted} of {len(judged())} claims"
    for group in ledger.locator("section:has(> div .claim):visible").all():
        assert group.locator(".claim:not([hidden])").count(), "a heading without a claim"


def test_words_leave_the_claims_that_have_them_all(ledger):
    field = ledger.get_by_label("Words")
    field.fill("Chinchilla  gemini-or-no-such-word")
    assert left(ledger) == 0
    field.fill("CHINCHILLA")
    texts = ledger.locator(".claim:not([hidden])").evaluate_all("all => all.map((each) => each.textContent)")
    assert texts and all("chinchilla" in text.lower() for text in texts)
    field.fill("")
    assert left(ledger) == len(judged())


def test_a_link_finds_a_claim_that_was_left_out(ledger):
    ledger.get_by_label("Words").fill("no such word")
    name = ledger.locator(".claim").last.get_attribute("id")
    ledger.evaluate("name => { location.hash = name; }", name)
    card = ledger.locator(f"#{name}")
    card.locator("ul").first.wait_for()  # it is open
    assert left(ledger) == len(judged()) and 0 <= card.bounding_box()["y"] < 740


def test_the_bar_is_accessible(ledger):
    ledger.evaluate(axe())
    assert ledger.evaluate(AXE_WITHIN, ".claim-filter") == []


STARTS = """() => {
  const place = (one) => one.getBoundingClientRect();
  const gap = (heads) => place(heads.parentElement.querySelector(".claim:not([hidden])")).top - place(heads).bottom;
  return [...document.querySelectorAll(".claim-heads")].filter((heads) => heads.checkVisibility()).map(gap);
}"""


def test_what_a_verdict_leaves_begins_below_the_heads(ledger):
    for verdict in VERDICTS:
        ledger.get_by_label("Verdict").select_option(verdict.label)
        starts = ledger.evaluate(STARTS)
        assert starts and all(abs(start) < 1 for start in starts), verdict.label


SCALE = """() => {
  const last = document.querySelector(".claim-ratios > tbody:last-child > tr:last-child");
  last.scrollIntoView({ block: "end", behavior: "instant" });
  const place = (name) => document.querySelector(name).getBoundingClientRect();
  const { top, bottom } = place(".claim-axis");
  return [place(".bd-header-article").bottom, top, bottom, last.getBoundingClientRect().top];
}"""


def test_the_scale_stays_in_sight_down_to_the_last_claim(ledger):
    header, top, bottom, last = ledger.evaluate(SCALE)
    assert header <= top + 1 and bottom < last
