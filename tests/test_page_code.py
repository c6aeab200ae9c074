"""Code in the text of a lesson: its function problems and its cells, written and run in the page."""

import json
import os
import random
import re
import sys
import time
from pathlib import Path

import pytest
from conftest import open_page
from page_evidence import AXE_WITHIN, OPEN, axe
from test_hostile import SLY, make_text
from test_lab_page import ENDLESS, WITHIN

from blackboard.page.practice import problems

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from live_cells import read_cells

ROOT = Path(__file__).resolve().parent.parent

ADDRESS = "book/batching.html"
FUNCTION = problems("batching")["step"].problem
RIGHT = f"""def step({", ".join(FUNCTION.names)}):
    compute = 2 * batch * n_active / flops
    memory = (n_total * bytes_per_param + batch * context * kv_bytes_per_token) / bandwidth
    return max(compute, memory)
"""
WEIGHTS_OF_ACTIVE = RIGHT.replace("(n_total *", "(n_active *")


def cell_of(lesson, start):
    """The selector of the cell that begins so."""
    return f"live-cell[data-cell='{next(n for n, text in enumerate(read_cells(lesson)) if text.startswith(start))}']"


LOOP = cell_of("batching", "weights = ")  # plain sums of a server, which print
DERIVED = cell_of("batching", "B = notation")
FIRST, SECOND = cell_of("corpus", "from math import exp"), cell_of("corpus", "from math import log10")  # calls `worth`


SAME = "return cell.editor.value === cell.original"


@pytest.fixture(scope="module")
def working(with_python, server, browser):
    """A lesson's page, on which Python is started once for the tests that need it."""
    with open_page(browser, f"{server}/{ADDRESS}") as visit:
        yield visit


@pytest.fixture
def page(working):
    """The same page with all folds open, and nothing kept."""
    working.page.evaluate("localStorage.clear()")
    working.page.evaluate(OPEN)
    return working.page


def check(page, text):
    """What is said of a text for the function problem."""
    box = page.locator(f"practice-box[data-problem={FUNCTION.id}]")
    box.locator("textarea").fill(text)
    box.locator(".practice-out").evaluate("out => out.replaceChildren()")
    box.get_by_role("button", name="Check").click()
    box.locator(".feedback").wait_for(timeout=WITHIN)
    return box.locator(".feedback").inner_text()


def run(page, text, cell=LOOP):
    """What a cell says after it has run a text."""
    live = page.locator(cell)
    if live.get_by_role("button", name="Edit", exact=True).count():
        live.get_by_role("button", name="Edit", exact=True).click()
    live.locator("textarea").fill(text)
    live.locator(".lab-out").evaluate("out => out.replaceChildren()")
    live.get_by_role("button", name="Run", exact=True).click()
    live.locator(".lab-out > :not(.lab-state), .lab-out > .lab-state:text('printed nothing')").first.wait_for(
        timeout=WITHIN
    )
    return live.locator(".lab-out").inner_text()


# --- a function problem -----------------------------------------------------------------------------------------------


def test_a_function_is_solved_in_the_page(page):
    assert "Not attempted." in check(page, FUNCTION.starter)
    assert "Right." in check(page, RIGHT)
    box = page.locator(f"practice-box[data-problem={FUNCTION.id}]")
    assert box.get_attribute("data-solved") == "true"


def test_a_functions_mistakes_get_their_messages(page):
    assert "loaded only the active parameters" in check(page, WEIGHTS_OF_ACTIVE)
    assert "ZeroDivisionError" in check(page, RIGHT.replace("return", "return 1 / 0 +"))
    assert "cannot read" in check(page, "def step(:\n")
    assert "no function" in check(page, "x = 1\n")
    assert "must take (" in check(page, "def step(x):\n    return x\n")
    assert "returns nothing" in check(page, RIGHT.replace("return ", ""))
    assert "one number" in check(page, RIGHT.replace("return max(compute, memory)", "return 'long'"))


def test_an_endless_function_is_stopped(page):
    assert "Stopped." in check(page, ENDLESS.format("step").replace("*_", "**_"))
    assert "Right." in check(page, RIGHT)


def test_a_function_is_kept_over_a_reload(page):
    assert "Right." in check(page, RIGHT)
    page.locator(f"practice-box[data-problem={FUNCTION.id}] textarea").fill(RIGHT + "# more\n")
    page.reload(wait_until="load")
    box = page.locator(f"practice-box[data-problem={FUNCTION.id}]")
    assert box.locator("textarea").input_value() == RIGHT + "# more\n"
    assert box.get_attribute("data-solved") == "true"


# --- cells ------------------------------------------------------------------------------------------------------------


def test_a_cell_runs_as_the_book_ran_it(page):
    cell = page.locator(f".cell:has({LOOP})")
    printed = cell.locator(".cell_output").inner_text()
    source = cell.locator(".cell_input .highlight").first.inner_text()
    assert run(page, source.strip()).strip() == printed.strip()
    assert not cell.locator(".cell_output").is_visible()


def test_a_changed_cell_says_what_it_prints_and_returns(page):
    assert run(page, "print('<b>one</b>')\n2 + 3").split() == ["<b>one</b>", "5"]
    assert "ZeroDivisionError" in run(page, "1 / 0")
    assert "printed nothing" in run(page, "x = 1")
    assert "numpy" in run(page, "import numpy")


def test_an_error_is_no_verdict_and_takes_nothing_away(page):
    """Nothing was asked; what the book or the last run gave stays in sight."""
    cell, live = page.locator(f".cell:has({LOOP})"), page.locator(LOOP)
    if (reset := live.get_by_role("button", name="Reset")).count():  # a test before this one has run the cell
        reset.click()
    said = run(page, "1 / 0")
    assert said.startswith("Error. Your code stopped in line 1") and "the book's version" in said
    assert cell.locator(".cell_output").is_visible()
    run(page, "print('mine')")
    said = run(page, "1 / 0")
    assert said.startswith("Error.") and said.strip().endswith("mine") and not cell.locator(".cell_output").is_visible()


def test_a_derivation_comes_back_as_formulas(page):
    """It is the course's own, so it is shown as the book shows it; one that ends elsewhere is refused."""
    live = page.locator(DERIVED)
    live.get_by_role("button", name="Edit", exact=True).click()
    text = live.locator("textarea").input_value()
    run(page, text, DERIVED)
    assert live.locator(".lab-out .derivation li").count() >= 2
    live.locator(".lab-out math").first.wait_for(timeout=WITHIN)
    assert "\\[" not in live.locator(".lab-out").inner_text()
    assert "not at" in run(page, text.replace("eq.compute_time.expr", "eq.compute_time.expr / 2"), DERIVED)


def without_fading(page):
    """The first cell opened, and its text so that further passes teach as much as the first: nothing fades."""
    page.locator(FIRST).get_by_role("button", name="Edit", exact=True).click()
    text = page.locator(FIRST).locator("textarea").input_value()
    fading = "reuse * (1 - exp(-again / reuse))"
    assert fading in text
    return text.replace(fading, "again")


def check_that_nothing_fades(page):
    """The second cell as the book has it, which calls what the first defines."""
    page.locator(SECOND).get_by_role("button", name="Edit", exact=True).click()
    said = run(page, page.locator(SECOND).locator("textarea").input_value(), SECOND)
    gains = re.findall(r"% +\S+ +(\S+) +(\S+) +(\S+)$", said, re.M)
    assert len(gains) == 4 and all(quality == law == cautious for quality, law, cautious in gains)


def test_a_later_cell_takes_what_an_earlier_one_was_changed_to(page, server):
    page.goto(f"{server}/book/corpus.html", wait_until="load")
    run(page, without_fading(page), FIRST)
    check_that_nothing_fades(page)
    page.goto(f"{server}/{ADDRESS}", wait_until="load")


# What takes all time or all memory, in large pieces and in small ones.
UNENDING = {
    "loop": "while True: pass",
    "blocks": "kept = []\nwhile True: kept.append(bytearray(10**8))",
    "swallowed": "kept = []\nwhile True:\n    try: kept.append(bytearray(10**6))\n    except MemoryError: pass",
    "small": "kept = []\nwhile True: kept.append([])",
}


BUSY = 40  # seconds: the page's own clock ends all code after fewer than ten, which a busy machine stretches


def test_code_has_fewer_than_ten_seconds():
    script = (ROOT / "book" / "_labs" / "python.js").read_text("utf8")
    limits = dict(re.findall(r"(\w+): (\d+)", re.search("SECONDS = {(.*?)}", script)[1]))
    assert all(int(limits[asked]) < 10 for asked in limits if asked not in ("start", "prepare"))


def hurry(page):
    """End sooner what a cell runs; that the real limit is kept is tried elsewhere."""
    page.evaluate("course.python.seconds.cell = 3")


@pytest.mark.parametrize("name", UNENDING)
def test_all_time_or_memory_ends_and_python_comes_back(page, name):
    assert run(page, "print('on')").strip() == "on"
    hurry(page)
    start = time.perf_counter()
    said = run(page, UNENDING[name])
    assert time.perf_counter() - start < BUSY
    assert "ran for too long" in said or "more memory than there is" in said
    assert page.locator(LOOP).locator("textarea").input_value() == UNENDING[name]
    assert run(page, "print('on')").strip() == "on"


def test_too_much_memory_is_told_from_too_much_time(page):
    page.reload(wait_until="load")  # and with it the time that there is
    assert "more memory than there is" in run(page, UNENDING["blocks"])
    assert "more memory than there is" in run(page, "text = 'x'\nwhile True: text += text")


def test_reset_brings_the_book_back(page):
    run(page, "print('mine')")
    live = page.locator(LOOP)
    live.get_by_role("button", name="Reset").click()
    page.locator(f".cell:has({LOOP}) .cell_output").wait_for()
    assert live.locator("textarea").input_value() == live.evaluate("cell => cell.original")
    assert live.locator(".lab-out").inner_text() == ""


TEXTS = int(os.environ.get("HOSTILE", 60))  # made by chance

# What a text may do to the Python of a page and to the worker that it runs in.
SLY_HERE = [
    *SLY.values(),
    "import sys\nsys.setrecursionlimit(10**6)\nf = lambda: f()\nf()",
    "import os\nos._exit(1)",
    "import os\nos.abort()",
    "import js\njs.postMessage(None)",
    "import js\njs.close()",
    "__builtins__ = None\nprint(1)",
    "class A:\n    def __repr__(self): return '<img src=x onerror=document.title=1>'\nA()",
    "class A:\n    __repr__ = None\nA()",
    "class A:\n    def __getattr__(self, name): raise SystemExit\nA()",
]
# Run a text, which comes as JSON, since half a letter does not travel otherwise; Python may have to start again first.
RUN = """async ([cell, text]) => {
  await course.python.start();
  const live = document.querySelector(cell), start = performance.now();
  live.editor.value = JSON.parse(text);
  await live.run();
  const strange = live.out.querySelectorAll("script, img, iframe, [onerror]").length;
  return { said: live.out.textContent, strange, seconds: (performance.now() - start) / 1000 };
}"""


@pytest.mark.slow
def test_hostile_texts_in_a_cell_get_an_answer_and_nothing_escapes(with_python, server, browser):
    rng, seeds, on = random.Random(3), read_cells("batching"), "print('on')"
    with open_page(browser, f"{server}/{ADDRESS}") as visit:
        title = visit.page.title()
        run(visit.page, on)
        hurry(visit.page)
        answer = lambda text: visit.page.evaluate(RUN, [LOOP, json.dumps(text)])
        for text in [*SLY_HERE, *(make_text(rng, seeds) for _ in range(TEXTS))]:
            told = answer(text)
            assert told["said"] and not told["strange"] and told["seconds"] < BUSY, (text, told)
            if text in SLY_HERE and not told["said"].startswith("Stopped."):
                assert answer(on)["said"].strip() == "on", text
        assert run(visit.page, on).strip() == "on" and visit.page.title() == title
        assert [each for each in visit.complaints if "script error" in each] == []


def edit(page, text, cell=LOOP):
    """Write a text into a cell."""
    live = page.locator(cell)
    if live.get_by_role("button", name="Edit", exact=True).count():
        live.get_by_role("button", name="Edit", exact=True).click()
    live.locator("textarea").fill(text)


def test_a_cell_is_kept_over_a_reload_until_it_is_reset(page):
    page.reload(wait_until="load")  # no test before has opened it
    edit(page, "kept = 1\nprint('mine')")
    page.reload(wait_until="load")
    live = page.locator(LOOP)
    assert live.locator("textarea").input_value() == "kept = 1\nprint('mine')"
    assert "has not run yet" in live.locator(".lab-out").inner_text()
    assert page.locator("live-cell textarea").count() == 1, "no other cell is open"
    live.get_by_role("button", name="Run", exact=True).click()
    live.locator(".lab-out pre").wait_for(timeout=WITHIN)
    assert live.locator(".lab-out").inner_text().strip() == "mine"
    live.get_by_role("button", name="Reset").click()
    page.wait_for_function(f"() => {{ const cell = document.querySelector({LOOP!r}); {SAME}; }}")
    page.reload(wait_until="load")
    assert live.get_by_role("button", name="Edit", exact=True).is_visible()


def test_a_kept_cell_is_in_sight_where_the_book_folds_it(page):
    page.reload(wait_until="load")
    folded = page.locator("details:not([open]) live-cell").first
    text = folded.evaluate("cell => cell.original") + "  # mine"
    kept = {"version": 1, "texts": {text.removesuffix("  # mine"): text}}
    page.evaluate("kept => localStorage.setItem('cells:batching', JSON.stringify(kept))", kept)
    page.reload(wait_until="load")
    area = page.locator("live-cell textarea")
    assert area.input_value() == text and area.is_visible()


def test_what_an_earlier_cell_was_changed_to_counts_after_a_reload_too(page, server):
    page.goto(f"{server}/book/corpus.html", wait_until="load")
    edit(page, without_fading(page), FIRST)
    page.reload(wait_until="load")
    check_that_nothing_fades(page)
    page.evaluate("localStorage.clear()")
    page.goto(f"{server}/{ADDRESS}", wait_until="load")


def test_a_changed_cell_goes_into_the_file_of_progress_and_comes_back(page, server, tmp_path):
    page.reload(wait_until="load")
    edit(page, "print('mine')")
    page.goto(f"{server}/book/progress.html", wait_until="load")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a file").click()
    download.value.save_as(tmp_path / "progress.json")
    page.once("dialog", lambda asked: asked.accept())
    page.get_by_role("button", name="Forget all").click()
    assert page.evaluate("localStorage.getItem('cells:batching')") is None
    page.locator("progress-list input[type=file]").set_input_files(tmp_path / "progress.json")
    page.get_by_text("Loaded 1 entries.").wait_for()
    page.goto(f"{server}/{ADDRESS}", wait_until="load")
    assert page.locator(LOOP).locator("textarea").input_value() == "print('mine')"


SPOILED = ["", "[]", "{", "null", "7", '{"version": 1, "texts": 3}', '{"version": 9, "texts": {}}', "{original}"]


@pytest.mark.parametrize("spoiled", SPOILED)
def test_what_is_kept_of_cells_may_be_spoiled(page, working, spoiled):
    original = page.evaluate("cell => document.querySelector(cell).original", LOOP)
    text = spoiled.replace("{original}", json.dumps({"version": 1, "texts": {original: {"a": 1}, "other": "x"}}))
    page.evaluate("text => localStorage.setItem('cells:batching', text)", text)
    page.reload(wait_until="load")
    assert page.locator("live-cell textarea").count() == 0
    assert not [each for each in working.complaints if "script error" in each]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_written_code_is_accessible(page, theme):
    check(page, WEIGHTS_OF_ACTIVE)
    run(page, "1 / 0")
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    page.evaluate(axe())
    for part in ("live-cell", f"practice-box[data-problem={FUNCTION.id}]"):
        assert page.evaluate(AXE_WITHIN, part) == []


def test_nothing_comes_from_elsewhere_and_nothing_complains(working, server):
    """Stands last: it looks at what all tests before it have asked for. Who leaves a page breaks off requests."""
    assert [address for address in working.requests if not address.startswith((server, "blob:", "data:"))] == []
    assert [each for each in working.complaints if not each.startswith("failed: ")] == []
