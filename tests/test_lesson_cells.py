"""Lessons run cell by cell as they do in JupyterLab, away from the build."""

import sys
import types

import jupytext
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import select_figure_formats
from lessons import LESSONS, ROOT, page


@pytest.fixture
def shell(monkeypatch):
    """IPython with a namespace of its own, in the folder of the lessons."""
    module = types.ModuleType("lesson_cells")
    monkeypatch.chdir(ROOT / "book")
    monkeypatch.delenv("BLACKBOARD_PAGE", raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    shell = InteractiveShell(user_module=module)
    select_figure_formats(shell, {"png"})
    return shell


def run(shell, source):
    """What a cell's last line shows, by kind; an exception ends the test."""
    shown = shell.run_cell(source, store_history=False, silent=False)
    shown.raise_error()
    return {} if shown.result is None else shell.display_formatter.format(shown.result)[0]


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs_cell_by_cell(lesson, shell):
    cells = [cell.source for cell in jupytext.read(page(lesson)).cells if cell.cell_type == "code"]
    shown = {source: run(shell, source) for source in cells}
    drawn = [kinds for source, kinds in shown.items() if source.startswith("figures.")]
    assert drawn and all("image/png" in kinds for kinds in drawn)
