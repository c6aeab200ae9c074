"""The build itself, on a small copy of the project with a lesson of one number."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAD = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"
FIRST = "```{code-cell}\nimport tiny\nprint('the number is', tiny.NUMBER)\n```\n\n"
LESSON = HEAD + "# Tiny\n\n" + FIRST + "```{code-cell}\ntiny.NUMBER\n```\n"
TOC = "format: jb-book\nroot: book/index\nparts:\n  - caption: Lessons\n    chapters:\n      - file: book/tiny\n"
PROBLEM = """
from blackboard.practice import Choice, Mistake

ASK = "Which word is in the hint of {n}?"
PROBLEMS = (Choice("word", "A word", "easy", ASK, "a", lambda v: "a", "It is.", ("The hint says saffron.",),
                   lambda v: SOLUTION, draw={"n": (1, 2)}, options={"a": "this", "b": "that"},
                   mistakes=(Mistake("b", "Not that."),)),)
SOLUTION = ()
"""


@pytest.fixture
def project(tmp_path):
    """A project that has this one's build and settings, and a lesson of its own."""
    tools = [f"tools/{name}.py" for name in ("build", "notebooks", "kernels", "exercises", "mending", "glossing")]
    for name in ["_config.yml", "requirements.lock", *tools]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ["_templates", "book/_static"]:
        shutil.copytree(ROOT / name, tmp_path / name)
    library = tmp_path / "lib" / "tiny"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("NUMBER = 1234567\n")
    (tmp_path / "_toc.yml").write_text(TOC)
    (tmp_path / "book" / "index.md").write_text("# Index\n\nA page of words.\n")
    (tmp_path / "book" / "tiny.md").write_text(LESSON)
    (tmp_path / "book" / "references.bib").write_text("")
    return tmp_path


def build(project):
    """Build and return (exit status, everything printed)."""
    command = [sys.executable, project / "tools" / "build.py"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=project)
    return done.returncode, done.stdout


def built(project):
    """A good build, and what it printed."""
    status, told = build(project)
    assert status == 0, told
    return told


def lesson(project):
    """The lesson's page."""
    return (project / "_build" / "html" / "book" / "tiny.html").read_text("utf8")


def test_after_a_change_of_the_library_no_page_shows_an_old_number(project):
    """The execution cache knows of lib/; and it is used where nothing in lib/ has changed."""
    assert "tiny" in built(project)
    assert "the number is 1234567" in lesson(project)
    (project / "book" / "index.md").write_text("# Index\n\nOther words.\n")
    assert "cell" not in built(project), "a change of prose ran a notebook again"
    (project / "lib" / "tiny" / "__init__.py").write_text("NUMBER = 7654321\n")
    assert re.search(r"tiny\s+cell 2/2 ", built(project))
    pages = "".join(path.read_text("utf8") for path in (project / "_build" / "html").rglob("*.html"))
    assert "the number is 7654321" in pages
    assert "1234567" not in pages


def test_a_change_of_the_lock_runs_the_notebooks_again(project):
    """Other packages may give other numbers."""
    built(project)
    with open(project / "requirements.lock", "a") as lock:
        lock.write("# another package\n")
    assert re.search(r"tiny\s+cell 2/2 ", built(project))


def test_a_failing_cell_is_named_and_the_last_good_site_stays(project):
    """The message has lesson, cell, source and error; nothing half-built is left behind."""
    built(project)
    good = lesson(project)
    broken = LESSON.replace("tiny.NUMBER\n```\n", "x = tiny.NUMBRE  # a slip\n```\n").replace("# Tiny", "# Changed")
    (project / "book" / "tiny.md").write_text(broken)
    status, told = build(project)
    assert status == 1
    for part in ["tiny: cell 2 of 2 failed (book/tiny.md:16)", "x = tiny.NUMBRE  # a slip", "AttributeError", "NUMBRE"]:
        assert part in told, told
    assert "site-packages" not in told, "the traceback shows the notebook machinery"
    assert lesson(project) == good
    assert sorted(path.name for path in (project / "_build").iterdir() if path.is_dir()) == ["html", "work"]


def test_a_warning_stops_the_build_before_the_first_site(project):
    """The build is strict, and without a good site there is none, not half of one."""
    (project / "book" / "index.md").write_text("# Index\n\n[](no-such-page.md)\n")
    status, told = build(project)
    assert status == 1
    assert "no-such-page" in told
    assert not (project / "_build" / "html").exists()
    assert "No site was built" in told


def test_a_dead_kernel_is_a_failure_with_a_name(project):
    """A cell that ends its process is reported, not waited for."""
    (project / "book" / "tiny.md").write_text(LESSON.replace("tiny.NUMBER\n```\n", "import os\nos._exit(1)\n```\n"))
    status, told = build(project)
    assert status == 1
    assert "tiny: cell 2 of 2 failed" in told and "os._exit(1)" in told, told


def test_a_page_of_the_contents_that_is_missing_is_named(project):
    """A slip in _toc.yml says which page."""
    (project / "_toc.yml").write_text(TOC + "      - file: book/nowhere\n")
    status, told = build(project)
    assert status == 1
    assert "book/nowhere" in told and "Traceback" not in told, told


@pytest.mark.skipif(os.name == "nt", reason="renaming an open directory differs on Windows")
def test_the_last_good_site_comes_back_after_a_crash_between_the_renames(project):
    """The moment between the two renames leaves a backup, which the next run puts back."""
    built(project)
    (project / "_build" / "html").rename(project / "_build" / "html.old")
    (project / "book" / "tiny.md").write_text(HEAD + "# Tiny\n\n```{code-cell}\n1 / 0\n```\n")
    assert build(project)[0] == 1
    assert "the number is 1234567" in lesson(project)


def test_a_page_that_left_the_contents_leaves_the_site(project):
    """What _toc.yml no longer names is not published from an earlier build."""
    built(project)
    (project / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    built(project)
    assert not (project / "_build" / "html" / "book" / "tiny.html").exists()


def test_a_changed_style_is_published_without_running_a_notebook(project):
    """A style alone makes no page out of date for Sphinx; the build knows better."""
    built(project)
    (project / "book" / "_static" / "custom.css").write_text("/* another style */\n")
    assert "cell" not in built(project)
    assert "another style" in (project / "_build" / "html" / "_static" / "custom.css").read_text()


@pytest.fixture
def practice(project):
    """The file of a problem that the project's lesson shows."""
    shutil.copytree(ROOT / "lib" / "blackboard", project / "lib" / "blackboard")
    file = project / "lib" / "blackboard" / "tiny" / "problems.py"
    file.parent.mkdir()
    (file.parent / "__init__.py").touch()
    file.write_text(PROBLEM)
    shown = 'from blackboard.practice import problems\nproblems("tiny").on_page("word")\n'
    (project / "book" / "tiny.md").write_text(HEAD + "# Tiny\n\n```{code-cell}\n" + shown + "```\n")
    return file


def problems_address(project):
    """The address, with its hash, from which the lesson's page loads its problems."""
    return re.search(r'<script defer="defer" src="(\.\./_static/problems/tiny\.js\?v=\w+)"', lesson(project))[1]


def test_after_a_change_of_a_problem_its_page_loads_another_file(project, practice):
    """The problems stand in a file of their own, whose address changes with them; other lessons have none."""
    built(project)
    first, file = problems_address(project), project / "_build" / "html" / "_static" / "problems" / "tiny.js"
    assert "saffron" in file.read_text("utf8") and "saffron" not in lesson(project)
    practice.write_text(PROBLEM.replace("saffron", "indigo"))
    built(project)
    assert "indigo" in file.read_text("utf8") and "saffron" not in file.read_text("utf8")
    assert problems_address(project) != first
    assert [path.name for path in file.parent.iterdir()] == ["tiny.js"]


def test_a_problem_that_cannot_be_put_on_a_page_is_a_failure_with_its_reason(project, practice):
    """What goes wrong only in a solution, which no cell shows, still stops the build in words."""
    practice.write_text(PROBLEM.replace("SOLUTION = ()", "SOLUTION = (1 / 0 for _ in '1')"))
    status, told = build(project)
    assert status == 1
    assert "a problem of tiny" in told and "division by zero" in told and "Traceback" not in told, told
    assert "No site was built" in told
