"""A lab's hints, before Python is asked for anything."""

from page_evidence import WOKEN


def test_a_hint_is_in_sight_once_it_was_asked_for(visit, server):
    page = visit(f"{server}/book/paging.html").page
    page.evaluate(WOKEN)
    step = page.locator(".lab-step").first
    button, hints = step.get_by_role("button", name="Hint"), step.locator(".lab-hint")
    button.wait_for()
    seen = lambda: [hint.is_visible() for hint in hints.all()]
    assert len(seen()) > 1 and not any(seen())
    button.click()
    assert seen() == [True] + [False] * (hints.count() - 1)
