"""Progress: the page that lists what this browser has seen solved, and `p.progress()` in a notebook."""

import json

import pytest
from conftest import open_page
from lessons import LESSONS
from page_evidence import AXE_WITHIN, OPEN, axe

from blackboard.page.practice import lessons, problems

ADDRESS = "book/progress.html"
KEPT = {
    "practice/batching/guess": {"index": 0, "answer": "b", "right": True},
    "practice/batching/floor": {"index": 0, "answer": "1 s", "right": False},
    "practice/batching/money": {"index": 1, "answer": "", "right": False},
    "lab:paging": {"version": 1, "steps": {"Blocks": {"text": "x", "passed": "x"}, "match": {"tries": 2}}},
    "lab:sparsity": {"version": 1, "steps": {"count_touched": {"passed": "x", "last": "wrong", "tries": 2}}},
    "cells:paging": {"version": 1, "texts": {"x = 1": "x = 2"}},
}
SPOILED = ["", "[]", "null", "{", "7", '{"right": 1}', '{"answer": {}}', '{"version": 1, "steps": null}', '"\\u0000"']
STATES = """() => Object.fromEntries([...document.querySelectorAll(".progress-list li")].map((item) => {
  const { problem, step, state } = item.dataset;
  return [`${item.closest("[data-lesson]").dataset.lesson}/${problem ?? step}`, state];
}))"""


@pytest.fixture
def visited(site, server, browser):
    """The page, in a browser that has solved something."""
    with open_page(browser, f"{server}/{ADDRESS}", accept_downloads=True) as visit:
        put(visit.page, {key: json.dumps(value) for key, value in KEPT.items()} | {"theme": "light"})
        yield visit


def put(page, kept):
    """Keep texts in the browser, and come back."""
    page.evaluate("kept => { for (const [key, text] of Object.entries(kept)) localStorage.setItem(key, text); }", kept)
    page.reload(wait_until="load")


def tried(page):
    """The states of what was tried."""
    return {name: state for name, state in page.evaluate(STATES).items() if state != "untried"}


RIGHT = {
    "batching/guess": "right",
    "batching/floor": "wrong",
    "paging/Blocks": "right",
    "sparsity/count_touched": "wrong",
}


def test_every_problem_and_step_is_listed_lesson_by_lesson(visited):
    found = visited.page.evaluate(STATES)
    assert list(dict.fromkeys(name.partition("/")[0] for name in found)) == LESSONS
    assert {f"{lesson}/{view.problem.id}" for lesson in lessons() for view in problems(lesson)} <= set(found)
    assert len([name for name in found if name.startswith("paging/")]) > len(problems("paging"))


def test_it_says_what_is_right_and_wrong(visited):
    page = visited.page
    assert {name: state for name, state in tried(page).items() if name in RIGHT} == RIGHT
    assert page.evaluate(STATES)["batching/money"] == "untried"
    assert page.locator("progress-list > p").first.inner_text().startswith("Problems and lab steps in all: 2 right, ")
    assert page.locator("[data-lesson=batching] .progress-count").inner_text().startswith("1 of ")


def test_it_is_saved_forgotten_and_loaded(visited, tmp_path):
    page, before = visited.page, tried(visited.page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a file").click()
    download.value.save_as(tmp_path / "progress.json")
    page.once("dialog", lambda asked: asked.dismiss())
    page.get_by_role("button", name="Forget all").click()
    assert tried(page) == before
    page.once("dialog", lambda asked: asked.accept())
    page.get_by_role("button", name="Forget all").click()
    assert tried(page) == {} and page.evaluate("localStorage.getItem('theme')") == "light"
    page.locator("progress-list input[type=file]").set_input_files(tmp_path / "progress.json")
    page.wait_for_selector(".progress-list li[data-state=right]", state="attached")
    assert tried(page) == before
    for key in ("lab:paging", "cells:paging"):
        kept = page.evaluate("key => localStorage.getItem(key)", key)
        assert kept == json.dumps(KEPT[key], separators=(",", ":"))


OTHERS = [
    "",
    "{",
    "null",
    "[1]",
    '{"version": 1}',
    '{"version": 2, "kept": {"lab:paging": {}}}',
    '{"version": 1, "kept": {"theme": {"a": 1}, "__proto__": {"a": 1}}}',
    '{"version": 1, "kept": {"practice/a/b": "text"}}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", OTHERS, ids=range(len(OTHERS)))
def test_another_file_changes_nothing(visited, tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    before = visited.page.evaluate("({...localStorage})")
    visited.page.locator("progress-list input[type=file]").set_input_files(tmp_path / "other.json")
    visited.page.wait_for_selector("text=holds no progress")
    assert visited.page.evaluate("({...localStorage})") == before
    assert [each for each in visited.complaints if "script error" in each] == []


def test_what_is_kept_may_be_spoiled(site, server, browser):
    """Whatever stands there, it counts as not tried, or as wrong, and nothing breaks; nor does the front page."""
    names = [view.problem.id for view in problems("batching")][: len(SPOILED)]
    with open_page(browser, f"{server}/{ADDRESS}") as visit:
        put(visit.page, {f"practice/batching/{name}": text for name, text in zip(names, SPOILED)})
        for text in SPOILED:
            put(visit.page, {"lab:paging": text})
            assert "right" not in visit.page.evaluate(STATES).values()
        visit.page.goto(f"{server}/book/index.html", wait_until="load")
        assert [each for each in visit.complaints if "script error" in each] == []


def test_every_link_leads_to_its_problem(visited):
    """A problem stands in a fold at the end of its lesson; a link to it is no good if it is not there."""
    page = visited.page
    links = page.evaluate("[...document.querySelectorAll('.progress-list li a')].map((link) => link.href)")
    for lesson in ("batching", "paging"):
        text = page.request.get(f"{visited.page.url.rpartition('/')[0]}/{lesson}.html").text()
        mine = [link.partition("#")[2] for link in links if f"/{lesson}.html#" in link]
        assert len(mine) > 10 and [name for name in mine if f'id="{name}"' not in text] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_accessible_and_fits_a_phone(visited, theme):
    page = visited.page
    page.evaluate(OPEN)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    page.evaluate(axe())
    assert page.evaluate(AXE_WITHIN, "article") == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_notebook_lists_the_same():
    from blackboard.page.practice import ProblemSet

    some = ProblemSet("paging", [view.problem for view in problems("paging")][:3])
    first, second, third = some
    second.check(second.problem.expected(second._values))
    third.check("")
    first.check("no answer at all")
    said = some.progress()
    assert said.startswith("1 of 3 problems of paging solved.")
    assert f"**Right** (1): {second.problem.id}" in said
    assert f"**Not yet right** (1): {first.problem.id}" in said
    assert f"**Not tried** (1): {third.problem.id}" in said


def test_a_notebook_knows_what_a_panel_kept(tmp_path, monkeypatch):
    from blackboard.page.practice import ProblemSet
    from blackboard.page.problem_panel import RECORD

    monkeypatch.chdir(tmp_path)
    (tmp_path / RECORD).write_text("{}")
    (tmp_path / "answers").mkdir()
    view = problems("paging")["half-block"]
    right = view.problem.expected(view.problem.values(3))
    kept = {"half-block": {"numbers": 3, "answer": right}, "by-use": {"numbers": 0, "answer": " "}, "keep": 7}
    (tmp_path / "answers" / "paging.json").write_text(json.dumps(kept))
    some = ProblemSet("paging", [view.problem for view in problems("paging")])
    assert some.progress().startswith("1 of ") and some["half-block"]._seed == 0
