"""A reader's copy of the course: what is brought in, what is never overwritten, and what a panel keeps there.

At the end all of it in a real JupyterLab.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import TimeoutError

from blackboard.page import problem_panel, summary
from blackboard.page.practice import View, problems

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import lab  # noqa: E402

LESSON = """---
jupytext:
  formats: md:myst
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Tiny

```{code-cell} ipython3
---
mystnb:
  figure:
    caption: "A caption, so long that it is broken into lines when the lesson is saved as a notebook, as captions are."
---
print(6 * 7)
```
"""
SHOWN = 'from blackboard.page.practice import problems\n\nproblems("batching")["fast"].panel()'


def write_exercise(project, *sources):
    """Write the project's exercise, with these cells of code."""
    cells = [nbformat.v4.new_markdown_cell("# Tiny\n\nSee [the lesson](../book/tiny.md).", id="intro")]
    cells += [nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(sources)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path = project / "exercises" / "tiny.ipynb"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)


@pytest.fixture
def project(tmp_path):
    """A project of one lesson and one exercise."""
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "tiny.md").write_text(LESSON, "utf8")
    write_exercise(tmp_path, "first = 1")
    return tmp_path


@pytest.fixture
def copy(project):
    """The reader's copy of it, just handed out."""
    assert lab.bring_in(project, project / "work") == ["new: tiny.md", "new: tiny.ipynb"]
    return project / "work"


def sources(path):
    """What the cells of code of a notebook say."""
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def change(path, source="mine = 2"):
    """The reader writes a cell of their own into a notebook."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(source))
    nbformat.write(notebook, path)


# --- What is handed out ---------------------------------------------------------------------------------------


def test_a_second_start_changes_nothing(project, copy):
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*.*") if path.name != problem_panel.RECORD}
    assert lab.bring_in(project, copy) == []
    assert before == {path: path.stat().st_mtime_ns for path in copy.rglob("*.*") if path.name != problem_panel.RECORD}


def test_what_the_reader_left_alone_is_brought_up_to_date(project, copy):
    """Running cells is leaving alone: outputs, counts and the kernel's description are no work of the reader's."""
    notebook = nbformat.read(copy / "exercises" / "tiny.ipynb", as_version=4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="ran")]
    notebook.cells[1].execution_count = 9
    notebook.metadata.language_info = {"name": "python", "version": "3.12.1"}
    nbformat.write(notebook, copy / "exercises" / "tiny.ipynb")
    write_exercise(project, "first = 10")
    assert lab.bring_in(project, copy) == ["updated: tiny.ipynb"]
    assert sources(copy / "exercises" / "tiny.ipynb") == ["first = 10"]


def test_what_the_reader_changed_stays_and_the_newer_one_is_beside_it_once(project, copy):
    mine, beside = copy / "exercises" / "tiny.ipynb", copy / "exercises" / "tiny.new.ipynb"
    change(mine)
    before = mine.read_bytes()
    assert lab.bring_in(project, copy) == [], "nothing newer: nothing to say"
    write_exercise(project, "first = 10")
    (told,) = lab.bring_in(project, copy)
    assert "tiny.ipynb, which you changed" in told and "tiny.new.ipynb" in told
    assert mine.read_bytes() == before and sources(beside) == ["first = 10"]
    assert lab.bring_in(project, copy) == []
    beside.unlink()
    assert lab.bring_in(project, copy) == [] and not beside.exists(), "the reader has dealt with it"


def test_a_newer_one_that_the_reader_works_in_is_not_overwritten_either(project, copy):
    change(copy / "exercises" / "tiny.ipynb")
    write_exercise(project, "first = 10")
    lab.bring_in(project, copy)
    write_exercise(project, "first = 100")
    lab.bring_in(project, copy)
    assert sources(copy / "exercises" / "tiny.new.ipynb") == ["first = 100"], "unchanged, so replaced"
    change(copy / "exercises" / "tiny.new.ipynb")
    write_exercise(project, "first = 1000")
    (told,) = lab.bring_in(project, copy)
    assert "tiny.new2.ipynb" in told
    assert sources(copy / "exercises" / "tiny.new.ipynb") == ["first = 100", "mine = 2"]
    assert sources(copy / "exercises" / "tiny.new2.ipynb") == ["first = 1000"]


def test_putting_the_newer_one_in_place_of_ones_own_makes_the_file_follow_the_course_again(project, copy):
    change(copy / "exercises" / "tiny.ipynb")
    write_exercise(project, "first = 10")
    lab.bring_in(project, copy)
    (copy / "exercises" / "tiny.new.ipynb").replace(copy / "exercises" / "tiny.ipynb")
    write_exercise(project, "first = 100")
    assert lab.bring_in(project, copy) == ["updated: tiny.ipynb"]


def test_a_deleted_file_comes_back_and_another_exercise_comes_in(project, copy):
    (copy / "exercises" / "tiny.ipynb").unlink()
    shutil.copy(project / "exercises" / "tiny.ipynb", project / "exercises" / "other.ipynb")
    assert lab.bring_in(project, copy) == ["new: other.ipynb", "new: tiny.ipynb"]


@pytest.mark.parametrize("spoiled", ["", "{", "[1]", '{"exercises/tiny.ipynb": [7]}', '"x"'])
def test_without_its_record_the_copy_is_the_readers(project, copy, spoiled):
    """Nobody can tell then who wrote what differs, so nothing is overwritten."""
    (copy / problem_panel.RECORD).write_text(spoiled)
    write_exercise(project, "first = 10")
    (told,) = lab.bring_in(project, copy)
    assert "tiny.new.ipynb" in told and sources(copy / "exercises" / "tiny.ipynb") == ["first = 1"]


def test_a_file_that_is_no_notebook_any_more_is_kept(project, copy):
    (copy / "exercises" / "tiny.ipynb").write_bytes(b"\xff not a notebook")
    write_exercise(project, "first = 10")
    lab.bring_in(project, copy)
    assert (copy / "exercises" / "tiny.ipynb").read_bytes() == b"\xff not a notebook"


def test_every_link_between_notebooks_opens_in_the_copy():
    """The copy holds what its notebooks link to, at the same place relative to them; and git does not track it."""
    handed_out = set(lab.list_sources(ROOT))
    assert {f"exercises/{path.name}" for path in (ROOT / "exercises").glob("*.ipynb")} <= handed_out
    linked = set()
    for name in (name for name in handed_out if name.startswith("exercises/")):
        text = "\n".join(cell.source for cell in nbformat.read(ROOT / name, as_version=4).cells)
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
            linked.add(os.path.normpath(os.path.join(os.path.dirname(name), target)).replace(os.sep, "/"))
    assert len(linked) > 11 and linked <= handed_out
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert f"/{lab.WORK.relative_to(ROOT).as_posix()}/" in ignored


def test_a_lesson_runs_where_nothing_is_installed_that_builds_the_book(monkeypatch):
    """JupyterLab needs none of it, and a lesson's first cell hands its numbers to the page."""
    monkeypatch.setitem(sys.modules, "myst_nb", None)
    summary.glue_values({"number": "42"})


# --- What a panel keeps -----------------------------------------------------------------------------------------


def show():
    """A problem's panel as after a kernel's start: its answer box, buttons by name, feedback and the problem."""
    view = View(problems("batching")["fast"].problem, "batching")
    statement, row, out = problem_panel.panel(view).children
    box, *buttons = row.children
    return box, {button.description: button for button in buttons}, out, statement


@pytest.fixture
def inside(copy, monkeypatch):
    """The kernel of a notebook in the copy."""
    monkeypatch.chdir(copy / "exercises")
    monkeypatch.delenv("BLACKBOARD_PAGE", raising=False)
    return copy / "answers" / "batching.json"


def test_an_answer_comes_back_with_its_verdict(inside):
    box, *_ = show()
    box.value = "15"
    box, _, out, _ = show()
    assert box.value == "15" and "feedback right" in out.value
    box.value = "2.4"
    box, _, out, _ = show()
    assert box.value == "2.4" and "feedback misconception" in out.value


def test_an_answer_belongs_to_its_numbers(inside):
    box, buttons, _, statement = show()
    printed = statement.value
    box.value = "15"
    buttons["Again"].click()
    fresh = statement.value
    box, _, out, statement = show()
    assert (box.value, out.value) == ("", "") and statement.value == fresh != printed
    box.value = "3"
    view = View(problems("batching")["fast"].problem, "batching")
    statement, row, out = problem_panel.panel(view.reset()).children
    assert statement.value == printed and row.children[0].value == out.value == "", "the reader asked for these"


@pytest.mark.parametrize(
    "spoiled",
    ["", "{", "[]", '{"fast": 3}', '{"fast": {"answer": "15"}}', '{"fast": {"numbers": "x", "answer": "15"}}']
    + ['{"fast": {"numbers": 1e999, "answer": "15"}}', "[" * 100_000],
)
def test_a_spoiled_file_is_as_good_as_none(inside, spoiled):
    inside.parent.mkdir()
    inside.write_text(spoiled)
    box, _, out, _ = show()
    assert (box.value, out.value) == ("", "")
    box.value = "15"
    assert show()[0].value == "15" and json.loads(inside.read_text())


def test_a_disk_that_takes_nothing_is_no_hindrance(inside):
    """The folder's name is taken by a file: true for every user, as a folder without permission is not for root."""
    inside.parent.write_text("in the way")
    box, _, out, _ = show()
    box.value = "15"
    assert "feedback right" in out.value and inside.parent.read_text() == "in the way"


def test_answers_to_other_problems_stay(inside):
    inside.parent.mkdir()
    inside.write_text('{"money": {"numbers": 0, "answer": "b"}}')
    show()[0].value = "15"
    kept = json.loads(inside.read_text())
    assert {name: entry["answer"] for name, entry in kept.items()} == {"money": "b", "fast": "15"}
    assert [path.name for path in inside.parent.iterdir()] == ["batching.json"], "nothing half-written is left"


def test_nothing_is_kept_outside_of_a_copy_or_while_the_book_is_built(inside, monkeypatch):
    monkeypatch.setenv("BLACKBOARD_PAGE", "1")
    show()[0].value = "15"
    assert show()[0].value == ""
    monkeypatch.delenv("BLACKBOARD_PAGE")
    monkeypatch.chdir(inside.parent.parent.parent)
    show()[0].value = "15"
    assert show()[0].value == "" and not inside.parent.exists()


# --- In JupyterLab ----------------------------------------------------------------------------------------------


@pytest.fixture
def jupyter(project):
    """The project's JupyterLab, on a port of its own: the address of its files, with what lets one in."""
    shutil.copytree(ROOT / "tools", project / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    write_exercise(project, SHOWN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {f"JUPYTER_{kind}_DIR": str(project / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    where = [f"--ServerApp.port={port}", "--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=letmein"]
    command = [sys.executable, project / "tools" / "lab.py", "--no-browser", "--allow-root", *where]
    environment = os.environ | own | {"PYTHONPATH": str(ROOT / "lib")}
    with open(project / "log", "w") as log:
        running = subprocess.Popen(command, cwd=project, env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}/{{}}?token=letmein"
    for _ in range(600):
        try:
            urllib.request.urlopen(address.format("api/status")).close()
            break
        except urllib.error.URLError:
            assert running.poll() is None, (project / "log").read_text()
            time.sleep(0.1)
    yield address
    running.terminate()
    running.wait()


def run_cell(page, name):
    """Open a notebook's tab, run its only cell of code and return the cell."""
    page.locator(".lm-DockPanel-tabBar .lm-TabBar-tabLabel", has_text=name).click()
    cell = page.locator(".jp-NotebookPanel:visible .jp-CodeCell")
    page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
    for _ in range(12):  # a key that comes before the kernel is connected is lost
        cell.locator(".cm-content").click()
        page.locator(".jp-NotebookPanel:visible .jp-Notebook.jp-mod-editMode").wait_for()
        page.keyboard.press("Control+Enter")
        with contextlib.suppress(TimeoutError):
            cell.locator(".jp-InputPrompt", has_text=re.compile(r"[*\d]")).wait_for(timeout=10_000)
            break
    return cell


def test_in_jupyterlab_the_link_opens_the_lesson_and_answers_outlive_kernel_and_page(browser, project, jupyter):
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(120_000)  # where other tests run beside it, JupyterLab takes its time
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    # Where a cell is run before its kernel is connected, JupyterLab may say so in a dialog.
    page.add_locator_handler(page.locator(".jp-Dialog"), lambda said: said.locator(".jp-mod-accept").click())
    page.goto(jupyter.format("lab/tree/exercises/tiny.ipynb"))

    page.get_by_role("link", name="the lesson").click()
    cell = run_cell(page, "tiny.md")
    cell.locator(".jp-OutputArea-output", has_text="42").wait_for()
    page.keyboard.press("Control+s")  # rewrites the lesson's text, which must not count as a change

    cell = run_cell(page, "tiny.ipynb")
    cell.locator("input[type=text]").fill("15")
    page.keyboard.press("Enter")
    cell.locator(".feedback.right").wait_for()
    page.keyboard.press("Control+s")
    kernels = json.load(urllib.request.urlopen(jupyter.format("api/kernels")))
    for kernel in kernels:
        again = urllib.request.Request(jupyter.format(f"api/kernels/{kernel['id']}/restart"), method="POST")
        urllib.request.urlopen(again).close()
    page.reload()
    cell = run_cell(page, "tiny.ipynb")
    cell.locator(".feedback.right").wait_for()
    assert cell.locator("input[type=text]").input_value() == "15"

    written = project / "work" / "book" / "tiny.md"
    assert written.read_text("utf8") != LESSON
    (project / "book" / "tiny.md").write_text(LESSON.replace("6 * 7", "6 * 9"), "utf8")
    write_exercise(project, "first = 10")
    assert lab.bring_in(project, project / "work") == ["updated: tiny.md", "updated: tiny.ipynb"]
    home = jupyter.split("{}")[0].removeprefix("http")
    assert not [url for url in asked if not url.startswith(("http" + home, "ws" + home, "data:", "blob:"))]
    context.close()
