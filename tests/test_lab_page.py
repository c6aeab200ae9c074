"""A lab in the browser: solved from nothing, kept over a reload, and steady under whatever a reader's code does."""

import contextlib
import functools
import gzip
import inspect
import json
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
from conftest import open_page
from nbclient import NotebookClient
from page_evidence import AXE_WITHIN, OPEN, WOKEN, axe
from test_labs import WITH_LAB, lab

from blackboard.page.lab_view import narrow

ROOT = Path(__file__).resolve().parent.parent
LESSON = "paging"
ADDRESS = f"book/{LESSON}.html"
STEPS = lab(LESSON).steps
LAST = STEPS[-1]
WITHIN = 120_000  # milliseconds: Python starts on the first check, and the machine may be busy
# One call that never comes back: Python's own limit, which looks at lines, cannot end it.
ENDLESS = "def {}(*_):\n    return any(iter(int, 1))\n"


@pytest.fixture(scope="module")
def working(with_python, server, browser):
    """The lesson's page, on which Python is started once for the tests that need it."""
    with open_page(browser, f"{server}/{ADDRESS}", accept_downloads=True) as visit:
        visit.before = [each for each in visit.responses if "/vendor/labs/" in each.url]
        visit.weight = sum(len(gzip.compress(each.body())) for each in visit.before)
        yield visit


@pytest.fixture
def fresh(working):
    """The same page, with nothing written yet; Python runs on."""
    working.page.evaluate(WOKEN)
    working.page.evaluate("""async () => {
      localStorage.clear();
      const box = document.querySelector("lab-box");
      box.kept.clear();
      for (const step of box.steps) { step.show(); step.out.replaceChildren(); await step.editor.wake(); }
    }""")
    return working.page


def reload(page):
    """The page anew, and its lab awake."""
    page.reload(wait_until="load")
    page.evaluate(WOKEN)


def section(page, step):
    """A step's part of the page."""
    return page.locator(f'[data-step="{step.name}"]')


def check(page, step, text):
    """What is said of a text."""
    part = section(page, step)
    part.locator("textarea").fill(text)
    part.locator(".lab-out").evaluate("out => out.replaceChildren()")
    part.get_by_role("button", name="Check").click()
    part.locator(".feedback").wait_for(timeout=WITHIN)
    return part.locator(".feedback").inner_text()


def written(version, name):
    """The text of a wrong version, under the name that is asked for."""
    return re.sub(rf"\b{version.__name__}\b", name, inspect.getsource(version))


def file_name(address):
    """The last part of an address."""
    return urlsplit(address).path.rpartition("/")[2]


def test_nothing_is_fetched_before_the_first_check_but_what_shows_the_boxes(working):
    assert sorted(file_name(each.url) for each in working.before) == ["boxes.js", "cells.js"]


@pytest.mark.parametrize("lesson", WITH_LAB)
def test_what_a_lab_adds_to_the_first_load_is_small(working, site, lesson):
    """Scripts, style (in the page's own, without comments) and the lab's own HTML, compressed."""
    sheet = (ROOT / "book" / "_labs" / "lab.css").read_text("utf8")
    style = gzip.compress(re.sub(r"(?s)/\*.*?\*/", "", sheet).encode())
    text = (site / "book" / f"{lesson}.html").read_text("utf8")
    box = text[text.index("<lab-box") : text.index("</lab-box>")]
    without = gzip.compress(text.replace(box, "").encode())
    assert working.weight + len(style) + len(gzip.compress(text.encode())) - len(without) <= 10_000


def test_the_button_says_how_much_comes(site, server, browser):
    python = site / "vendor" / "labs" / "python"
    if not python.exists():
        pytest.skip("Python for the book's pages was not fetched")
    packed = lambda file: len(file.read_bytes()) if file.suffix == ".zip" else len(gzip.compress(file.read_bytes()))
    comes = sum(packed(file) for file in python.iterdir() if file.name not in ("temml.js", "NOTICE.txt"))
    with open_page(browser, f"{server}/{ADDRESS}") as visit:
        section(visit.page, STEPS[0]).scroll_into_view_if_needed()
        said = section(visit.page, STEPS[0]).locator(".lab-cost").inner_text()
    assert said == f"The first run fetches Python, {comes / 1e6:.0f} MB."
    assert f"{comes / 1e6:.0f} MB once" in (ROOT / "book" / "index.md").read_text("utf8")


def test_python_for_pages_is_no_more_than_25_mb(site):
    assert sum(file.stat().st_size for file in (site / "vendor" / "labs").rglob("*") if file.is_file()) <= 25_000_000


def test_a_lab_wakes_up_when_it_comes_near(site, server, browser):
    with open_page(browser, f"{server}/{ADDRESS}") as visit:
        assert "lab.js" not in map(file_name, visit.requests)
        section(visit.page, STEPS[0]).scroll_into_view_if_needed()
        section(visit.page, STEPS[0]).get_by_role("button", name="Check").wait_for()


def test_keys_and_colours_come_when_an_editor_is_in_sight(site, server, browser):
    with open_page(browser, f"{server}/{ADDRESS}") as visit:
        visit.page.evaluate(WOKEN)
        shown = section(visit.page, STEPS[0]).locator(".editor-shown")
        assert shown.inner_text().strip() == narrow(STEPS[0].starter).strip()
        assert shown.locator("span").count() == 0
        section(visit.page, STEPS[0]).locator("textarea").scroll_into_view_if_needed()
        shown.locator("span").first.wait_for()
        assert "python.js" not in map(file_name, visit.requests)


def test_without_its_keys_an_editor_is_a_plain_one(site, server, browser):
    with open_page(browser, f"{server}/{ADDRESS}") as visit:
        visit.page.context.route("**/vendor/labs/editor.js", lambda route: route.abort())
        visit.page.evaluate(WOKEN)
        part = section(visit.page, STEPS[0])
        part.locator("textarea").fill("if 1 < 2 & 3:")
        assert part.locator(".editor-shown").inner_text().strip() == "if 1 < 2 & 3:"
        part.get_by_role("button", name="Reset").click()
        visit.page.wait_for_function("document.querySelector('.lab-step textarea').value.startsWith('class ')")


def test_a_lab_is_solved_from_nothing(fresh):
    for step in STEPS:
        assert "Not attempted." in check(fresh, step, step.starter)
        assert "Right." in check(fresh, step, step.source)
        assert "passed" in section(fresh, step).locator("h3").inner_text()
    fresh.get_by_role("button", name="Draw it").click()
    fresh.locator(".lab-drawn svg").wait_for(timeout=WITHIN)
    fresh.locator(".lab-said").wait_for()
    assert fresh.locator(".lab-said").inner_text().startswith(lab(LESSON).ending[:40])
    assert fresh.locator(".lab-ending .lab-out").inner_text() == ""


@pytest.mark.parametrize("step", STEPS, ids=[step.name for step in STEPS])
def test_a_mistake_gets_its_message(fresh, step):
    mistake = next(iter(step.mistakes))
    here = lab(LESSON).grade(step.name, written(mistake, step.name))
    said = check(fresh, step, written(mistake, step.name))
    assert "Right." not in said
    assert plain(here.message) in plain(said)


def plain(text):
    """Words without marks and spaces, which a page sets in its own way."""
    return re.sub(r"[`\s]+", "", text)


def test_run_shows_what_code_prints_and_returns_and_judges_nothing(fresh):
    step = STEPS[0]
    part = section(fresh, step)

    def run(text):
        part.locator("textarea").fill(text)
        part.locator(".lab-out").evaluate("out => out.replaceChildren()")
        part.get_by_role("button", name="Run").click()
        part.locator(".lab-out > :not(.lab-state)").first.wait_for(timeout=WITHIN)
        return part.locator(".lab-out").inner_text()

    assert run(step.source).strip() == f"{step.example} returned {lab(LESSON).example_result(step)}"
    assert run(f"{step.source}\nprint('mine')\n2 + 3").split() == ["mine", "5"]
    assert "ZeroDivisionError" in run("1 / 0")
    assert "NameError" in run("x = 1")
    assert mark(fresh, step) == ""


def test_a_page_says_what_it_does_while_python_comes(with_python, server, browser):
    with open_page(browser, f"{server}/{ADDRESS}") as visit:
        visit.page.evaluate(WOKEN)
        visit.page.evaluate(
            """(name) => {
          const out = document.querySelector(`[data-step=${name}] .lab-out`), said = (window.said = []);
          new MutationObserver(() => said.push(out.textContent)).observe(out, { childList: true });
        }""",
            STEPS[0].name,
        )
        check(visit.page, STEPS[0], STEPS[0].source)
        said = list(dict.fromkeys(each for each in visit.page.evaluate("window.said") if each.endswith("…")))
        loading = [f"Loading Python: {come} of 15 MB …" for come in range(0, 15, 3)]
        last = ["Starting Python: about five seconds, longer on a busy machine …", "Loading the course …", "Checking …"]
        assert said == ["Waiting for Python …", *loading, *last]
        assert visit.page.locator(".lab-cost").count() == 0
        reload(visit.page)
        assert section(visit.page, STEPS[0]).get_by_role("button", name="Check").is_visible()
        assert visit.page.locator(".lab-cost").count() == 0


def test_what_the_worker_fetches_is_as_large_as_the_page_thinks(with_python):
    said = re.search(r"BYTES = ([\d_]+)", (ROOT / "book" / "_labs" / "python.js").read_text("utf8"))
    fetched = ("pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json", "libraries.zip", "course.zip")
    sizes = [(with_python / "vendor" / "labs" / "python" / name).stat().st_size for name in fetched]
    assert abs(sum(sizes) - int(said[1])) < 0.01 * sum(sizes)


@contextlib.contextmanager
def plain_server(folder):
    """A server that knows no kinds of files but pages and scripts, as simple hosts do."""

    class Plain(SimpleHTTPRequestHandler):
        extensions_map = {"": "text/plain", ".html": "text/html", ".js": "text/javascript", ".css": "text/css"}

        def guess_type(self, path):
            return self.extensions_map.get(Path(path).suffix, "text/plain")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Plain, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_host_that_names_no_kinds_of_files_will_do(with_python, site, browser):
    with plain_server(site) as address, open_page(browser, f"{address}/{ADDRESS}") as visit:
        part = section(visit.page, STEPS[0])
        part.scroll_into_view_if_needed()
        assert "Right." in check(visit.page, STEPS[0], STEPS[0].source)


def test_an_endless_loop_is_stopped_and_python_comes_back(fresh):
    text = ENDLESS.format(LAST.name)
    assert "ran for too long" in check(fresh, LAST, text)
    assert section(fresh, LAST).locator("textarea").input_value() == text
    assert "Right." in check(fresh, LAST, LAST.source)


def test_too_much_memory_is_no_end(fresh):
    said = check(fresh, LAST, f"def {LAST.name}(*_):\n    kept = []\n    while True: kept.append(bytearray(10**8))\n")
    assert "memory" in said or "Stopped." in said
    assert "Right." in check(fresh, LAST, LAST.source)


def test_what_code_prints_is_shown(fresh):
    assert "hello" in check(fresh, LAST, f"print('<b>hello</b>')\n{LAST.source}")
    assert section(fresh, LAST).locator(".lab-printed").inner_text().strip() == "<b>hello</b>"


def test_a_readers_own_earlier_step_is_used(fresh):
    first, second = STEPS[0], STEPS[1]
    own = first.source + "\nprint('mine')\n"
    assert "Right." in check(fresh, first, own)
    assert "Right." in check(fresh, second, second.source)
    earlier = fresh.evaluate("document.querySelector('lab-box').earlier(1)")
    assert earlier == {first.name: own}


def mark(page, step):
    """What stands beside a step's title."""
    return section(page, step).locator(".lab-mark").inner_text()


def test_work_is_kept_over_a_reload(fresh):
    assert "Right." in check(fresh, STEPS[0], STEPS[0].source)
    section(fresh, STEPS[0]).locator("textarea").fill("def later(): ...")
    reload(fresh)
    assert section(fresh, STEPS[0]).locator("textarea").input_value() == "def later(): ..."
    assert mark(fresh, STEPS[0]) == "changed since it passed"
    section(fresh, STEPS[0]).get_by_role("button", name="Reset", exact=True).click()
    section(fresh, STEPS[0]).get_by_text("an earlier version passed", exact=True).wait_for()
    assert section(fresh, STEPS[0]).locator("textarea").input_value() == narrow(STEPS[0].starter)


def test_the_mark_is_the_last_result(fresh):
    first, source = STEPS[0], STEPS[0].source
    assert mark(fresh, first) == ""
    check(fresh, first, "1 / 0")
    assert mark(fresh, first) == "✗ not yet"
    check(fresh, first, source)
    assert mark(fresh, first) == "✓ passed"
    check(fresh, first, "1 / 0")
    reload(fresh)
    assert mark(fresh, first) == "✗ not yet; an earlier version passed"
    section(fresh, first).get_by_role("button", name="Reset").click()
    fresh.get_by_text("an earlier version passed", exact=True).wait_for()
    check(fresh, first, first.starter)
    assert mark(fresh, first) == "an earlier version passed"
    assert fresh.evaluate("document.querySelector('lab-box').earlier(1)") == {first.name: source}


def test_the_mark_goes_when_code_that_passed_is_changed(fresh):
    check(fresh, LAST, LAST.source)
    area = section(fresh, LAST).locator("textarea")
    area.press("Control+End")
    area.press("x")
    assert mark(fresh, LAST) == "changed since it passed"
    area.press("Control+z")
    assert mark(fresh, LAST) == "✓ passed"


def test_the_progress_page_says_the_same_as_the_mark(fresh, server):
    check(fresh, STEPS[0], STEPS[0].source)
    check(fresh, STEPS[1], STEPS[1].source)
    check(fresh, STEPS[1], "1 / 0")
    fresh.goto(f"{server}/book/progress.html", wait_until="load")
    state = "name => document.querySelector(`.progress-list li[data-step=${name}]`).dataset.state"
    states = [fresh.evaluate(state, each.name) for each in STEPS[:3]]
    fresh.goto(f"{server}/{ADDRESS}", wait_until="load")
    assert states == ["right", "wrong", "untried"]


def test_work_goes_into_a_file_and_comes_back(fresh, tmp_path):
    section(fresh, LAST).locator("textarea").fill("# mine")
    with fresh.expect_download() as download:
        fresh.get_by_role("button", name="Save my work").click()
    file = tmp_path / "work.json"
    download.value.save_as(file)
    assert json.loads(file.read_text())["steps"][LAST.name]["text"] == "# mine"
    section(fresh, LAST).locator("textarea").fill("# other")
    fresh.locator("lab-box input[type=file]").set_input_files(file)
    fresh.wait_for_function(
        "name => document.querySelector(`[data-step=${name}] textarea`).value === '# mine'", arg=LAST.name
    )
    fresh.get_by_text("The work in that file is loaded.").wait_for()
    undo, area = fresh.get_by_role("button", name="Undo", exact=True), section(fresh, LAST).locator("textarea")
    undo.click()
    assert area.input_value() == "# other"
    undo.click()
    assert area.input_value() == "# mine"
    assert "other" not in fresh.evaluate(f"localStorage.getItem('lab:{LESSON}')")


def run_notebook(path):
    """What its lab's cells say, by step, where JupyterLab runs them."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    cells = {cell.id.removeprefix("lab-"): cell for cell in notebook.cells if cell.cell_type == "code"}
    return {name: cell.outputs[-1].data for name, cell in cells.items() if cell.outputs}


@pytest.mark.notebook
def test_a_lab_opens_as_a_notebook_with_the_readers_code(fresh, tmp_path, monkeypatch):
    first, second, third, *_ = STEPS
    own = f"{first.source}\n# mine: 'quoted', \\n and ½\n"
    section(fresh, first).locator("textarea").fill(own)
    section(fresh, second).locator("textarea").fill(written(next(iter(second.mistakes)), second.name))
    section(fresh, third).locator("textarea").fill(" \n")
    with fresh.expect_download() as download:
        fresh.get_by_role("button", name="Open as a notebook").click()
    assert download.value.suggested_filename == f"lab-{LESSON}.ipynb"
    download.value.save_as(tmp_path / "lab.ipynb")
    cells = {cell.id: cell.source for cell in nbformat.read(tmp_path / "lab.ipynb", as_version=4).cells}
    assert cells[f"lab-{first.name}"] == f'{own.rstrip()}\n\nlab["{first.name}"].check({first.name})'
    assert "as it was in the lesson's page" in cells["lab-title"]
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "lib"))
    told = run_notebook(tmp_path / "lab.ipynb")
    here = lab(LESSON).grade(second.name, written(next(iter(second.mistakes)), second.name))
    assert told[first.name]["text/plain"].startswith("Right.")
    assert plain(here.message) in plain(told[second.name]["text/plain"])
    assert "Not attempted." in told[third.name]["text/plain"]
    assert "finish" in told


@pytest.mark.parametrize("spoiled", ["", "[]", "{", '{"version":1,"steps":{"hit_rate":3}}', '{"version":9}', "null"])
def test_what_is_kept_may_be_spoiled(fresh, working, spoiled):
    fresh.evaluate("text => localStorage.setItem('lab:paging', text)", spoiled)
    reload(fresh)
    assert section(fresh, LAST).locator("textarea").input_value() == narrow(LAST.starter)
    assert not [each for each in working.complaints if "script error" in each]


def test_hints_come_one_by_one_and_the_solution_after_them(fresh):
    part = section(fresh, LAST)
    button = part.get_by_role("button", name="Solution", exact=True)
    assert button.is_disabled()
    button.click(force=True)
    assert not part.locator(".lab-solution").is_visible()
    when, hints = part.locator(".lab-when"), len(LAST.hints)
    assert when.text_content().startswith(f"The solution opens after {hints} more hints or 5 more checks")
    for number in range(1, len(LAST.hints) + 1):
        assert when.is_visible() == (number > 1), "who has not tried is not told what opens it"
        assert part.get_by_role("button", name="Hint").is_enabled()
        part.get_by_role("button", name="Hint").click()
        assert part.locator(".lab-hint[open]").count() == number
    assert not part.locator(".lab-solution").is_visible() and not when.is_visible()
    button.click()
    assert part.locator(".lab-solution pre").inner_text().strip() == narrow(LAST.source).strip()
    assert button.is_disabled()
    part.locator(".lab-solution summary").click()
    part.locator(".lab-solution").wait_for(state="hidden")
    assert button.is_enabled()


def test_clicks_in_one_place_lose_no_code(fresh):
    """From the hints to the solution, and on: no button takes the place of another."""
    part = section(fresh, LAST)
    part.locator("textarea").fill("# mine")
    places = "part => [...part.querySelectorAll('.lab-button')].map((each) => each.getBoundingClientRect().x)"
    before = part.evaluate(places)
    for name in ("Hint", "Solution"):
        for _ in range(5):
            part.get_by_role("button", name=name).click(force=True)
    assert part.locator(".lab-solution[open]").is_visible()
    assert part.evaluate(places) == before
    assert part.locator("textarea").input_value() == "# mine"


def test_a_reset_can_be_undone(fresh):
    part = section(fresh, LAST)
    undo, area = part.get_by_role("button", name="Undo reset"), part.locator("textarea")
    assert not undo.is_visible()
    check(fresh, LAST, LAST.source)
    part.get_by_role("button", name="Reset", exact=True).dblclick()
    undo.wait_for()
    assert area.input_value() == narrow(LAST.starter)
    reload(fresh)
    undo.click()
    undo.wait_for(state="hidden")
    assert area.input_value() == LAST.source and mark(fresh, LAST) == "✓ passed"


def test_a_draft_before_a_reset_does_not_come_back_over_code_that_passed(fresh):
    part = section(fresh, LAST)
    undo = part.get_by_role("button", name="Undo reset")
    part.locator("textarea").fill("# draft")
    part.get_by_role("button", name="Reset", exact=True).click()
    undo.wait_for()
    check(fresh, LAST, LAST.source)
    assert not undo.is_visible()
    reload(fresh)
    assert not undo.is_visible() and part.locator("textarea").input_value() == LAST.source


def test_a_message_quotes_the_line_and_nobody_can_type(fresh):
    said = check(fresh, LAST, f"def {LAST.name}(*_):\n    return input()\n")
    assert "nobody can type" in said and "Line 2 is return input()" in said


def test_keys_indent_and_the_keyboard_gets_out(fresh):
    area = section(fresh, LAST).locator("textarea")
    area.fill("")
    area.focus()
    fresh.keyboard.type("def f():\nif 1:\nreturn 2\nx")
    assert area.input_value() == "def f():\n    if 1:\n        return 2\n    x"
    fresh.keyboard.press("Backspace")
    fresh.keyboard.press("Backspace")
    fresh.keyboard.press("Tab")
    assert area.input_value().endswith("return 2\n    ")
    fresh.keyboard.press("Control+A")
    fresh.keyboard.press("Shift+Tab")
    fresh.keyboard.press("Control+z")
    assert area.input_value().startswith("def f():\n    if 1:\n        return 2")
    fresh.keyboard.press("Escape")
    fresh.keyboard.press("Tab")
    assert fresh.evaluate("document.activeElement.textContent") == "Check"


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("def f(a):\nreturn (\na\n)\nx", "def f(a):\n    return (\n        a\n        )\nx"),
        ("def f(a):\nreturn (1 -\na", "def f(a):\n    return (1 -\n        a"),
        ("x = f(g(\n1,\n2),\n3)\ny", "x = f(g(\n    1,\n    2),\n    3)\ny"),
        ("def f(a,\nb):\nc", "def f(a,\n    b):\n    c"),
        ("x = {\n1: [\n2", "x = {\n    1: [\n        2"),
        ("s = '(' + \"[\" # {\nt", "s = '(' + \"[\" # {\nt"),
        ('def f():\n"""Say (\nmore."""\nx', 'def f():\n    """Say (\n    more."""\n    x'),
        ("x)\ny", "x)\ny"),
    ],
)
def test_enter_indents_what_stands_in_brackets(fresh, typed, written):
    area = section(fresh, LAST).locator("textarea")
    area.fill("")
    area.focus()
    fresh.keyboard.type(typed)
    assert area.input_value() == written


def test_undo_stays_in_its_editor(fresh):
    first, last = (section(fresh, step).locator("textarea") for step in (STEPS[0], LAST))
    before = first.input_value(), last.input_value()
    for area, letters in ((first, "# one"), (last, "# two")):
        area.focus()
        area.press("Control+End")
        fresh.keyboard.type(letters)
    for _ in range(3):
        last.press("Control+z")
    assert (first.input_value(), last.input_value()) == (before[0] + "# one", before[1])
    last.press("Control+Shift+z")
    first.press("Control+z")
    assert (first.input_value(), last.input_value()) == (before[0], before[1] + "# two")
    section(fresh, LAST).get_by_role("button", name="Reset").click()
    last.press("Control+z")
    assert last.input_value() == before[1] + "# two"


# An editor's two layers: the size of the text area and of what is in it, and the text of both.
LAYERS = """() => [...document.querySelectorAll(".editor")].map((box) => {
  const [shown, area] = box.children;
  return {
    hides: Math.max(area.scrollHeight - area.clientHeight, area.scrollWidth - area.clientWidth),
    apart: Math.max(Math.abs(area.offsetHeight - shown.offsetHeight), Math.abs(area.offsetWidth - shown.offsetWidth)),
    same: shown.textContent === area.value + " ",
    high: box.scrollHeight - box.clientHeight,
  };
})"""


@pytest.mark.parametrize("width", [1280, 360])
def test_an_editor_shows_all_its_text(site, server, browser, width):
    """As first painted: no line is cut off, and the coloured letters lie where the keyboard's are."""
    with open_page(browser, f"{server}/{ADDRESS}", width=width) as visit:
        visit.page.evaluate(WOKEN)
        visit.page.evaluate(OPEN)
        layers = visit.page.evaluate(LAYERS)
        assert len(layers) >= len(STEPS)
        assert [each for each in layers if each["hides"] or each["apart"] or each["high"] or not each["same"]] == []


def test_an_editor_colours_python(fresh):
    area = section(fresh, LAST).locator("textarea")
    area.fill('def f(x):  # why\n    print(x.sum - f"{x}!")\n    return "a\\"b", 12, None, """c\nd')
    found = (
        section(fresh, LAST)
        .locator(".editor-shown span")
        .evaluate_all("spans => spans.map((each) => [each.className, each.textContent])")
    )
    assert found == [
        ["k", "def"],
        ["nf", "f"],
        ["c1", "# why"],
        ["nb", "print"],
        ["o", "."],
        ["o", "-"],
        ["s2", 'f"{'],
        ["s2", '}!"'],
        ["k", "return"],
        ["s2", '"a\\"b"'],
        ["mi", "12"],
        ["kc", "None"],
        ["s2", '"""c\nd'],
    ]


# Texts of pieces that could break a colouring: those that lost a letter or became an element, and the time it took.
HOSTILE = r"""(count) => {
  const pieces = ["'", '"', "'".repeat(3), '"'.repeat(3), "\\", "\n", "#", "<script>", "</span>", "&amp;", "def ", "f",
    "rb", "1e5", "_", " ", "é", "\ud800", "𝒳", "\t", "class", "None"];
  let seed = 1;
  const random = (below) => { seed = (seed * 48271) % 2147483647; return seed % below; };
  const box = document.createElement("div"), bad = [], start = performance.now();
  for (let n = 0; n < count; n++) {
    const text = Array.from({ length: random(40) }, () => pieces[random(pieces.length)]).join("");
    box.innerHTML = course.colour(text);
    if (box.querySelector(":not(span)") || box.textContent !== text) bad.push(text);
  }
  return { bad: bad.slice(0, 5), seconds: (performance.now() - start) / 1000 };
}"""


def test_colouring_loses_no_letter_of_hostile_texts(fresh):
    told = fresh.evaluate(HOSTILE, 20_000)
    assert told["bad"] == [] and told["seconds"] < 60


@pytest.mark.parametrize("text", ['"' * 19_999, "'''" * 6_666, " " * 19_999, "def " + " " * 19_990, "a" * 10**6])
def test_colouring_a_long_text_takes_no_time(fresh, text):
    timed = "text => { const start = performance.now(); course.colour(text); return performance.now() - start; }"
    assert fresh.evaluate(timed, text) < 1000


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_worked_lab_is_accessible(fresh, theme):
    check(fresh, LAST, "1 / 0")
    check(fresh, STEPS[0], STEPS[0].source)
    fresh.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    fresh.evaluate(axe())
    assert fresh.evaluate(AXE_WITHIN, "lab-box") == []


def test_nothing_comes_from_elsewhere_and_nothing_complains(working, server):
    """Stands last: it looks at what all tests before it have asked for. Who leaves a page breaks off requests."""
    assert [address for address in working.requests if not address.startswith((server, "blob:", "data:"))] == []
    assert [each for each in working.complaints if not each.startswith("failed: ")] == []


# --- where Python cannot be had ---------------------------------------------------------------------------------------


def test_a_page_from_the_disk_says_what_to_do(site, browser):
    with open_page(browser, f"{site.as_uri()}/{ADDRESS}") as visit:
        visit.page.evaluate(WOKEN)
        assert "http.server" in check(visit.page, LAST, LAST.source)


NO_PYTHON = {
    "This copy of the book has no Python": lambda route: route.fulfill(status=404),
    "Check your connection": lambda route: route.abort(),
}


@pytest.mark.parametrize("why", NO_PYTHON)
def test_a_page_that_gets_no_python_says_why_and_sends_to_the_notebook(site, server, browser, why):
    with open_page(browser, f"{server}/{ADDRESS}") as visit:
        visit.page.context.route("**/vendor/labs/python/**", NO_PYTHON[why])
        visit.page.evaluate(WOKEN)
        said = check(visit.page, LAST, LAST.source)
        assert why in said and "notebook" in said
        assert section(visit.page, LAST).locator("textarea").input_value() == LAST.source


def test_a_lab_reads_without_scripts(site, server, browser):
    with open_page(browser, f"{server}/{ADDRESS}", java_script_enabled=False) as visit:
        for step in STEPS:
            assert (
                section(visit.page, step).locator(".lab-starter").inner_text().strip() == narrow(step.starter).strip()
            )
            assert section(visit.page, step).locator(".lab-solution").is_visible()
        assert visit.page.locator(".lab-plain").is_visible()


def test_a_lab_fits_a_phone(site, server, browser):
    with open_page(browser, f"{server}/{ADDRESS}", width=360, height=740) as visit:
        visit.page.evaluate(WOKEN)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 360
