"""Launch buttons and the cell that installs the course on Colab: both only where _config.yml names a repository."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import colab  # noqa: E402
import html_fixes  # noqa: E402

import exercises  # noqa: E402

ADDRESS = "https://github.com/someone/some-course"
TEXT = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n# Text\n\n"
NOTEBOOKS = sorted(path for path in (ROOT / "exercises").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


def new_notebook():
    """A notebook of a heading and a cell of code."""
    heading, code = nbformat.v4.new_markdown_cell("# Worked"), nbformat.v4.new_code_cell("print(6 * 7)")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return nbformat.v4.new_notebook(cells=[heading, code], metadata=kernel)


def name_repository(address):
    """_config.yml with this address of a repository."""
    config, count = re.subn(
        r'^  url: "[^"]*"', f'  url: "{address}"', (ROOT / "_config.yml").read_text("utf8"), flags=re.M
    )
    assert count == 1
    return config


def build_with(project, address):
    """Build the project with this address of its repository and return its pages by name."""
    (project / "_config.yml").write_text(name_repository(address), "utf8")
    done = subprocess.run([sys.executable, project / "tools" / "build.py"], capture_output=True, text=True, cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    site = project / "_build" / "html"
    return {name: (site / "book" / f"{name}.html").read_text("utf8") for name in ("index", "text", "worked")}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with this one's build and dress, a page of words, a lesson as text and a notebook."""
    path = tmp_path_factory.mktemp("project")
    for name in ["tools", "_templates", "book/_static", "book/_scripts", "book/_labs"]:
        shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "requirements.lock", path)
    (path / "lib").mkdir()
    (path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nchapters:\n  - file: book/text\n  - file: book/worked\n"
    )
    (path / "book" / "references.bib").touch()
    (path / "book" / "index.md").write_text("# Index\n\nA page of words.\n")
    (path / "book" / "text.md").write_text(TEXT + "```{code-cell}\nprint(6 * 7)\n```\n")
    notebook = new_notebook()
    colab.put_install_cell(notebook, ADDRESS)
    nbformat.write(notebook, path / "book" / "worked.ipynb")
    exercises.refresh(path / "book" / "worked.ipynb")
    return path


def launchers(page):
    """Addresses that a page's buttons launch."""
    return re.findall(r'href="(https://(?:mybinder\.org|colab\.research\.google\.com)/[^"]*)"', page)


def test_without_a_repository_nothing_is_launched(project):
    pages = build_with(project, "")
    assert not any("launch-buttons" in page or launchers(page) for page in pages.values())


def test_notebooks_can_be_launched_once_the_configuration_names_a_repository(project):
    """Binder opens both kinds of notebook, Colab what it can read; the cell that installs is not on the page."""
    pages = build_with(project, ADDRESS)
    binder = "https://mybinder.org/v2/gh/someone/some-course/main?urlpath=lab/tree/book/"
    notebook = "https://colab.research.google.com/github/someone/some-course/blob/main/book/worked.ipynb"
    assert launchers(pages["index"]) == []
    assert launchers(pages["text"]) == [binder + "text.md"]
    assert launchers(pages["worked"]) == [binder + "worked.ipynb", notebook]
    assert "42" in pages["worked"] and "google.colab" not in pages["worked"]


def test_a_repository_elsewhere_is_not_offered_to_colab(tmp_path):
    (tmp_path / "_config.yml").write_text(name_repository("https://gitlab.com/someone/some-course"), "utf8")
    config = SimpleNamespace(html_theme_options={})
    html_fixes.add_launchers(SimpleNamespace(srcdir=tmp_path), config)
    assert set(config.html_theme_options["launch_buttons"]) == {"notebook_interface", "binderhub_url"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_notebook_installs_from_the_repository_that_the_configuration_names(path):
    """Where this fails, `make exercises` has not been run since _config.yml changed."""
    notebook = nbformat.read(path, as_version=4)
    named = [cell.source for cell in notebook.cells if "google.colab" in cell.source]
    address = colab.find_repository()
    assert len(named) == bool(address)
    assert all(f'@ git+{address}"' in source for source in named)


def test_the_cell_comes_first_once_and_goes_with_the_address():
    notebook = new_notebook()
    for _ in range(2):
        colab.put_install_cell(notebook, ADDRESS)
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code", "code"]
    assert "google.colab" in notebook.cells[1].source and notebook.cells[2].source == "print(6 * 7)"
    nbformat.validate(notebook)
    colab.put_install_cell(notebook, "")
    assert [cell.source for cell in notebook.cells] == ["# Worked", "print(6 * 7)"]


class Shell:
    """Stands in for IPython and notes which magic is called."""

    def __init__(self):
        self.called = []

    def run_line_magic(self, *call, **_):
        """Note the call."""
        self.called.append(call)


@pytest.mark.parametrize("on_colab", [True, False])
def test_the_cell_installs_on_colab_and_does_nothing_elsewhere(on_colab, monkeypatch):
    notebook, shell = new_notebook(), Shell()
    colab.put_install_cell(notebook, ADDRESS)
    if on_colab:
        monkeypatch.setitem(sys.modules, "google.colab", object())
    exec(TransformerManager().transform_cell(notebook.cells[1].source), {"get_ipython": lambda: shell})
    assert len(shell.called) == on_colab
    for magic, line in shell.called:
        assert magic == "pip" and line.startswith("install ") and line.endswith(f'[draw] @ git+{ADDRESS}"')
