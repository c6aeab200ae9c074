"""The build itself, on a small copy of the project with a lesson of one number."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import kernels  # noqa: E402

HEAD = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"
FIRST = "```{code-cell}\nimport tiny\nprint('the number is', tiny.NUMBER)\n```\n\n"
LESSON = HEAD + "# Tiny\n\n" + FIRST + "```{code-cell}\ntiny.NUMBER\n```\n"
TOC = "format: jb-book\nroot: book/index\nparts:\n  - caption: Lessons\n    chapters:\n      - file: book/tiny\n"
PROBLEM = """
from blackboard.problem import Choice, right, wrong

word = Choice(
    "A word",
    level="easy",
    objective="find a word",
    statement="Which word is in the hint of {n}?",
    parameters={"n": (1, 2)},
    options=[right("this", "It is."), wrong("that", "Not that.")],
    hints=("The hint says saffron.",),
    solution=lambda values: SOLUTION,
)
SOLUTION = ()
"""


def make_project(folder):
    """A project that has this one's build and settings, and a lesson of its own."""
    tools = [
        f"tools/{name}.py"
        for name in (
            "build",
            "notebooks",
            "kernels",
            "exercises",
            "colab",
            "html_fixes",
            "lesson_cards",
            "lesson_icons",
            "page_metadata",
            "image_sizes",
            "late_scripts",
            "glossary_links",
            "lab_cells",
            "mathml",
            "number_columns",
            "styles",
            "live_cells",
            "page_python",
            "progress_list",
            "quotes",
            "section_heights",
            "question_index",
            "cells",
            "cell_pages",
            "figure_numbers",
            "figure_fonts",
        )
    ]
    for name in ["_config.yml", "requirements.lock", "CITATION.cff", *tools]:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / name, folder / name)
    for name in ["_templates", "book/_static", "book/_scripts", "book/_labs"]:
        shutil.copytree(ROOT / name, folder / name)
    (folder / "_toc.yml").write_text(TOC)
    (folder / "book" / "index.md").write_text("# Index\n\nA page of words.\n")
    (folder / "book" / "references.bib").write_text("")
    add_lesson(folder, "tiny", LESSON)
    return folder


def add_lesson(project, name, text):
    """A package with a number, and a page; the contents already name the tiny one."""
    package = project / "lib" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("NUMBER = 1234567\n")
    (project / "book" / f"{name}.md").write_text(text)
    if name != "tiny":
        with open(project / "_toc.yml", "a") as contents:
            contents.write(f"      - file: book/{name}\n")


@pytest.fixture(scope="module")
def once_built(tmp_path_factory):
    """A project that has been built, to copy."""
    folder = make_project(tmp_path_factory.mktemp("once") / "project")
    built(folder)
    return folder


@pytest.fixture
def project(once_built, tmp_path):
    """A project that has not been built; what a build copies from packages, which takes seconds, is there."""
    folder, pages = make_project(tmp_path / "project"), Path("_build", "work", "pages")
    shutil.copytree(once_built / pages / "extra", folder / pages / "extra")
    shutil.copy(once_built / pages / "key", folder / pages)
    return folder


@pytest.fixture
def good(once_built, tmp_path):
    """A copy of a project that has been built."""
    return Path(shutil.copytree(once_built, tmp_path / "project"))


# Half of the time of a small build goes into importing packages, none of them the project's own: where it can, a
# process that has imported them forks for each build.
IMPORTED = """
import importlib, json, os, runpy, sys
os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
sys.modules["rfc3987_syntax"] = None  # as the build has it
for name in PACKAGES:
    importlib.import_module(name)
del sys.modules["rfc3987_syntax"]
for line in sys.stdin:
    project, told, *arguments = json.loads(line)
    if not (child := os.fork()):
        os.chdir(project)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(1, 2)
        sys.argv[:] = [f"{project}/tools/build.py", *arguments]
        sys.path[0] = f"{project}/tools"
        sys.exit(runpy.run_path(sys.argv[0], run_name="__main__"))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
PACKAGES = [
    "jupyter_book.config",
    "jupyter_cache.cache.db",
    "myst_nb.sphinx_ext",
    "nbclient",
    "sphinx.application",
    "sphinx.builders.html",
    "sphinx_book_theme",
    "sphinx_external_toc.parsing",
    "sphinxcontrib.bibtex",
]


@functools.cache
def builder():
    """The process that forks for each build."""
    code = f"PACKAGES = {PACKAGES}\n{IMPORTED}"
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module", autouse=True)
def _end_builder():
    """It ends after the last build."""
    yield
    if builder.cache_info().currsize:
        builder().communicate()
        builder.cache_clear()


def build(project, *arguments):
    """Build and return (exit status, everything printed)."""
    told = project.with_name("told.txt")
    if kernels.can_fork():
        builder().stdin.write(json.dumps([str(project), str(told), *arguments]) + "\n")
        builder().stdin.flush()
        return int(builder().stdout.readline()), told.read_text("utf8")
    command = [sys.executable, project / "tools" / "build.py", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=project)
    return done.returncode, done.stdout


def built(project, *arguments):
    """A good build, and what it printed."""
    status, told = build(project, *arguments)
    assert status == 0, told
    return told


def lesson(project):
    """The lesson's page."""
    return (project / "_build" / "html" / "book" / "tiny.html").read_text("utf8")


def test_a_build_starts_without_what_only_notebooks_need():
    """Reading the grammars of addresses, which jsonschema does where they are, would take each build a second."""
    told = "import sys, build; print({'nbformat', 'jsonschema', 'rfc3987_syntax'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", told], cwd=ROOT / "tools", text=True) == "set()\n"


def test_after_a_change_of_the_library_no_page_shows_an_old_number(good):
    """The execution cache knows of lib/; and it is used where nothing in lib/ has changed."""
    assert "the number is 1234567" in lesson(good)
    (good / "book" / "index.md").write_text("# Index\n\nOther words.\n")
    assert "cell" not in built(good), "a change of prose ran a notebook again"
    (good / "lib" / "tiny" / "__init__.py").write_text("NUMBER = 7654321\n")
    assert re.search(r"tiny\s+cell 2/2 ", built(good))
    pages = "".join(path.read_text("utf8") for path in (good / "_build" / "html").rglob("*.html"))
    assert "the number is 7654321" in pages
    assert "1234567" not in pages


def test_a_change_of_the_lock_runs_the_notebooks_again(good):
    """Other packages may give other numbers."""
    with open(good / "requirements.lock", "a") as lock:
        lock.write("# another package\n")
    assert re.search(r"tiny\s+cell 2/2 ", built(good))


def test_a_line_printed_in_pieces_is_one_line(good):
    """A kernel sends what is printed when it likes; the page must not depend on it."""
    pieces = "print('one', end='', flush=True)\nprint(' line', flush=True)\n"
    (good / "book" / "tiny.md").write_text(LESSON.replace("tiny.NUMBER\n```\n", f"{pieces}```\n"))
    built(good)
    assert "one line\n" in lesson(good)


def test_a_failing_cell_is_named_and_the_last_good_site_stays(good):
    """The message has lesson, cell, source and error; nothing half-built is left behind."""
    before = lesson(good)
    broken = LESSON.replace("tiny.NUMBER\n```\n", "x = tiny.NUMBRE  # a slip\n```\n").replace("# Tiny", "# Changed")
    (good / "book" / "tiny.md").write_text(broken)
    status, told = build(good)
    assert status == 1
    for part in ["tiny: cell 2 of 2 failed (book/tiny.md:16)", "x = tiny.NUMBRE  # a slip", "AttributeError", "NUMBRE"]:
        assert part in told, told
    assert "site-packages" not in told, "the traceback shows the notebook machinery"
    assert lesson(good) == before
    assert sorted(path.name for path in (good / "_build").iterdir() if path.is_dir()) == ["html", "work"]


@pytest.mark.parametrize("link", ["[](no-such-page.md)", "{py:class}`no-such-page`"])
def test_a_warning_stops_the_build_before_the_first_site(project, link):
    """The build is strict about links of every role, and without a good site there is none, not half of one."""
    (project / "book" / "index.md").write_text(f"# Index\n\n{link}\n")
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


CRASH = """
import os, pathlib, sys
sys.path.insert(0, "tools")
import build
rename = pathlib.Path.rename
pathlib.Path.rename = lambda path, target: os._exit(7) if target == build.SITE else rename(path, target)
build.main([])
"""


@pytest.mark.skipif(os.name == "nt", reason="renaming an open directory differs on Windows")
def test_the_last_good_site_comes_back_after_a_crash_between_the_renames(good):
    """The moment between the two renames leaves a backup, which the next run puts back."""
    assert subprocess.run([sys.executable, "-c", CRASH], cwd=good, stdout=subprocess.DEVNULL).returncode == 7
    assert not (good / "_build" / "html").exists()
    (good / "book" / "tiny.md").write_text(HEAD + "# Tiny\n\n```{code-cell}\n1 / 0\n```\n")
    assert build(good)[0] == 1
    assert "the number is 1234567" in lesson(good)


def test_a_page_that_left_the_contents_leaves_the_site(good):
    """What _toc.yml no longer names is not published from an earlier build."""
    (good / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    built(good)
    assert not (good / "_build" / "html" / "book" / "tiny.html").exists()


def test_a_site_with_an_address_tells_it_to_search_engines(good):
    """Once _config.yml names it, each page has its own address in its head, and a map lists all pages."""
    settings = (good / "_config.yml").read_text()
    assert 'baseurl: ""' in settings and not (good / "_build" / "html" / "sitemap.xml").exists()
    assert "canonical" not in lesson(good)
    (good / "_config.yml").write_text(settings.replace('baseurl: ""', 'baseurl: "https://example.org/book"'))
    built(good)
    pages = [f"https://example.org/book/book/{name}.html" for name in ("index", "tiny")]
    assert f'<link rel="canonical" href="{pages[1]}"' in lesson(good)
    assert f'<meta property="og:url" content="{pages[1]}">' in lesson(good)
    sitemap = ElementTree.parse(good / "_build" / "html" / "sitemap.xml").getroot()
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    assert [each.text for each in sitemap.iter(f"{space}loc")] == pages
    assert 'href="/book/">' in (good / "_build" / "html" / "404.html").read_text()  # found from any depth


def test_quotes_are_curly_but_in_code(good):
    """What a cell displays has the quotes of the prose."""
    made = (
        "<p>The GPU's &quot;own&quot; share, \"so\" <b>one</b>'s <code>x['y']</code> and <span>p[\"guess\"]</span></p>"
    )
    cell = f"from IPython.display import HTML\nHTML({made!r})"
    (good / "book" / "tiny.md").write_text(page_of("Tiny", cell))
    built(good)
    shown = re.search(r"<p>The GPU.*?</p>", lesson(good))[0]
    assert re.sub("<.+?>", "", shown) == "The GPU’s “own” share, “so” one’s x['y'] and p[\"guess\"]"


def test_a_changed_style_is_published_without_running_a_notebook(good):
    """A style alone makes no page out of date for Sphinx; the build knows better."""
    (good / "book" / "_static" / "custom.css").write_text("/* another style */\n")
    assert "cell" not in built(good)
    assert "another style" in (good / "_build" / "html" / "_static" / "custom.css").read_text()


def ran(told):
    """The notebooks that a build has run."""
    return {name for name, _ in re.findall(r"^(\S+) +cell (\d+)/\2 ", told, re.M)}


def page_of(name, cell):
    """A lesson of one cell."""
    return HEAD + f"# {name}\n\n```{{code-cell}}\n{cell}\n```\n"


LATE = "import importlib\nprint('late', importlib.import_module('la' + 'te').NUMBER)"
FILE = "print(open('../lib/tiny/table.txt').read())"


@pytest.fixture(scope="module")
def several_built(tmp_path_factory):
    """A built project with lessons that use the library in several ways, to copy."""
    folder = make_project(tmp_path_factory.mktemp("several") / "project")
    add_lesson(folder, "other", page_of("Other", "import other\nprint('other', other.NUMBER)"))
    add_lesson(folder, "late", page_of("Late", LATE))
    add_lesson(folder, "file", page_of("File", FILE))
    (folder / "lib" / "tiny" / "table.txt").write_text("a table\n")
    assert ran(built(folder)) == {"tiny", "other", "late", "file"}
    return folder


@pytest.fixture
def several(several_built, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(several_built, tmp_path / "project"))


@pytest.mark.parametrize("package", ["tiny", "other", "late"])
def test_a_change_in_a_package_runs_the_notebooks_that_import_it_and_no_others(several, package):
    """Also where only the running cell knows what it imports."""
    (several / "lib" / package / "__init__.py").write_text("NUMBER = 7654321\n")
    told = built(several)
    assert ran(told) == {package}
    assert "1 of 4 notebooks run" in told
    for name in ("tiny", "other", "late"):
        page = (several / "_build" / "html" / "book" / f"{name}.html").read_text("utf8")
        assert ("7654321" in page) == (name == package), name


def test_a_change_in_a_module_that_another_imports_runs_what_uses_either(several):
    """What is imported by what is imported counts."""
    (several / "lib" / "other" / "__init__.py").write_text("from tiny import NUMBER\n")
    assert ran(built(several)) == {"other"}
    (several / "lib" / "tiny" / "__init__.py").write_text("NUMBER = 7654321\n")
    assert ran(built(several)) == {"tiny", "other"}


def test_a_change_of_data_runs_the_notebooks_that_read_it_and_no_others(several):
    """Also where a module reads it for the cell."""
    (several / "lib" / "other" / "__init__.py").write_text(
        "from pathlib import Path\nNUMBER = (Path(__file__).parent / 'form.css').read_text()\n"
    )
    (several / "lib" / "other" / "form.css").write_text("a style\n")
    (several / "lib" / "tiny" / "nobody.js").write_text("1\n")
    assert ran(built(several)) == {"tiny", "other", "late", "file"}, "there are other files than before"
    for name, page, text in (("tiny/table.txt", "file", "another table"), ("other/form.css", "other", "another style")):
        (several / "lib" / name).write_text(f"{text}\n")
        assert ran(built(several)) == {page}
        assert text in (several / "_build" / "html" / "book" / f"{page}.html").read_text("utf8")
    (several / "lib" / "tiny" / "nobody.js").write_text("2\n")
    assert ran(built(several)) == set()


CATALOGUE = """
import functools
from pathlib import Path

@functools.cache
def systems():
    return (Path(__file__).parent / "systems.yaml").read_text()

models = prices = tiers = measurements = systems
"""


def test_what_the_warm_process_has_read_counts_for_all(several):
    """It keeps what it has read for the kernels that are forked from it, which do not open the file again."""
    catalogue = several / "lib" / "blackboard" / "catalogue"
    catalogue.mkdir(parents=True)
    (catalogue.parent / "__init__.py").write_text("")
    (catalogue / "__init__.py").write_text(CATALOGUE)
    (catalogue / "systems.yaml").write_text("one rack\n")
    add_lesson(several, "racks", page_of("Racks", "from blackboard import catalogue\nprint(catalogue.systems())"))
    page = several / "_build" / "html" / "book" / "racks.html"
    assert "racks" in ran(built(several)) and "one rack" in page.read_text("utf8")
    (catalogue / "systems.yaml").write_text("two racks\n")
    assert "racks" in ran(built(several)) and "two racks" in page.read_text("utf8")


def test_a_result_comes_back_only_if_its_library_does(good):
    """A cell that returns to an old text does not return to an old number."""
    text = (good / "book" / "tiny.md").read_text()
    (good / "book" / "tiny.md").write_text(text.replace("the number is", "now it is"))
    (good / "lib" / "tiny" / "__init__.py").write_text("NUMBER = 7654321\n")
    built(good)
    (good / "book" / "tiny.md").write_text(text)
    built(good)
    assert "the number is 7654321" in lesson(good)


ORDINARY = """
import sys
sys.path.insert(0, "tools")
import build, kernels
kernels.can_fork = lambda: False
sys.exit(build.main([]))
"""


def test_forked_and_ordinary_kernels_make_the_same_pages(several):
    """Where the platform cannot fork, only the time differs."""
    pages = lambda: {
        path.name: path.read_text("utf8") for path in (several / "_build" / "html" / "book").glob("*.html")
    }
    forked = pages()
    shutil.rmtree(several / "_build")
    subprocess.run([sys.executable, "-c", ORDINARY], cwd=several, check=True, stdout=subprocess.DEVNULL)
    assert pages() == forked


def test_failures_in_forked_kernels_are_named_too(several):
    """A dead process and an error, beside notebooks that go on."""
    (several / "book" / "other.md").write_text(page_of("Other", "import os\nos._exit(1)"))
    (several / "book" / "late.md").write_text(page_of("Late", "1 / 0"))
    (several / "book" / "tiny.md").write_text(page_of("Tiny", "print('fine')"))
    status, told = build(several)
    assert status == 1
    assert "other: cell 1 of 1 failed" in told and "os._exit(1)" in told, told
    assert "late: cell 1 of 1 failed" in told and "ZeroDivisionError" in told, told
    assert "tiny: cell" not in told, told


def test_a_warning_is_not_forgotten_by_the_next_build(good):
    """Sphinx does not read a page again that has not changed, and would not complain again."""
    (good / "book" / "index.md").write_text("# Index\n\n[](no-such-page.md)\n")
    for _ in range(2):
        status, told = build(good)
        assert status == 1 and "no-such-page" in told, told


SHOWN = """import os
class Shown:
    def __repr__(self):
        return "for a " + ("page" if os.environ.get("BLACKBOARD_PAGE") else "reader")  # the page shows this line too
Shown()"""


@pytest.fixture
def exercise(good):
    """An exercise of the project, run as `make exercises` does it."""
    cells = [nbformat.v4.new_markdown_cell("# Exercise"), nbformat.v4.new_code_cell(SHOWN, execution_count=1)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    file = good / "exercises" / "tiny.ipynb"
    file.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), file)
    with open(good / "_toc.yml", "a") as contents:
        contents.write("      - file: exercises/tiny\n")
    return file


def refresh(good):
    """Run the exercises anew."""
    subprocess.run([sys.executable, good / "tools" / "exercises.py"], check=True, stdout=subprocess.DEVNULL)


def test_an_exercise_is_shown_as_it_was_run_and_not_run_again(good, exercise):
    """The page has what a page shows, the file what a reader sees; the text may change, the code not."""
    status, told = build(good)
    assert status == 1 and "exercises/tiny.ipynb" in told and "make exercises" in told, told
    refresh(good)
    assert "for a reader" in nbformat.read(exercise, 4).cells[1].outputs[0].data["text/plain"]
    assert "cell" not in built(good)
    page = good / "_build" / "html" / "exercises" / "tiny.html"
    assert "for a page" in page.read_text("utf8") and "for a reader" not in page.read_text("utf8")
    exercise.write_text(exercise.read_text().replace("# Exercise", "# Another"))
    built(good)
    assert "Another" in page.read_text("utf8")
    exercise.write_text(exercise.read_text().replace("for a reader", "for a writer"))
    status, told = build(good)
    assert status == 1 and "make exercises" in told, told


def test_a_lesson_alone_is_built_beside_the_site(good):
    """What it links to is not there, and nothing complains; the address of the page is told."""
    text = LESSON + "\nAs in the [index](index.md) and [](nowhere.md).\n"
    (good / "book" / "tiny.md").write_text(text)
    before = lesson(good)
    told = built(good, "tiny")
    page = Path(re.search(r"built file://(\S+)", told)[1])
    assert "the number is 1234567" in page.read_text("utf8")
    assert lesson(good) == before
    status, told = build(good, "tinny")
    assert status == 1 and "tinny" in told and "index, tiny" in told, told


def test_an_error_in_a_formula_is_told_before_any_notebook_runs(project):
    """By the name of the module, whatever page uses it or none."""
    shutil.copytree(ROOT / "lib" / "blackboard", project / "lib" / "blackboard")
    equations = project / "lib" / "blackboard" / "lessons" / "paging" / "equations.py"
    equations.write_text(
        equations.read_text("utf8") + "\nfrom blackboard.notation import symbols\nsymbols('nonesuch')\n"
    )
    status, told = build(project)
    assert status == 1
    assert "blackboard/lessons/paging/equations.py" in told and "nonesuch" in told and "cell" not in told, told


@pytest.fixture
def practice(project):
    """The file of a problem that the project's lesson shows."""
    shutil.copytree(ROOT / "lib" / "blackboard", project / "lib" / "blackboard")
    file = project / "lib" / "blackboard" / "lessons" / "tiny" / "problems.py"
    file.parent.mkdir()
    (file.parent / "__init__.py").touch()
    file.write_text(PROBLEM)
    shown = 'from blackboard.page.practice import problems\nproblems("tiny").on_page("word")\n'
    (project / "book" / "tiny.md").write_text(HEAD + "# Tiny\n\n```{code-cell}\n" + shown + "```\n")
    return file


def problems_address(project):
    """The address, with its hash, from which the lesson's page loads its problems."""
    return re.search(r'<script defer="defer" src="(\.\./_static/problems/tiny\.js\?v=\w+)"', lesson(project))[1]


def test_after_a_change_of_a_problem_its_page_loads_another_file(project, practice):
    """The problems stand in a file of their own, whose address changes with them; other lessons have none."""
    built(project)
    first, file = problems_address(project), project / "_build" / "html" / "_static" / "problems" / "tiny.js"
    assert "saffron" in file.read_text("utf8") and "saffron" in lesson(project)  # there for readers without scripts
    practice.write_text(PROBLEM.replace("saffron", "indigo"))
    built(project)
    assert "indigo" in file.read_text("utf8") and "saffron" not in file.read_text("utf8") + lesson(project)
    assert problems_address(project) != first
    assert [path.name for path in file.parent.iterdir()] == ["tiny.js"]


def test_a_problem_that_cannot_be_put_on_a_page_is_a_failure_with_its_reason(project, practice):
    """What goes wrong only in a solution, which no cell shows, still stops the build in words."""
    practice.write_text(PROBLEM.replace("SOLUTION = ()", "SOLUTION = (1 / 0 for _ in '1')"))
    status, told = build(project)
    assert status == 1
    assert "a problem of tiny" in told and "division by zero" in told and "Traceback" not in told, told
    assert "No site was built" in told
