"""Run the exercise notebooks and their solutions anew, in place: they are committed with their outputs, and the book
shows these without running them again.

Run through `python tools/course.py exercises`, after a change of problems, figures or notebooks. With the virtual
environment's Python it takes names of lessons too: `tools/exercises.py paging`.
"""

import hashlib
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
WIDGET = "application/vnd.jupyter.widget-view+json"  # says which widget of this run it is, and a page has none


class NotAsRun(Exception):
    """A notebook whose cells or outputs are not those that were run."""


def joined(outputs):
    """What is printed arrives in pieces that differ from run to run; neighbours become one."""
    out = []
    for one in outputs:
        if out and one.output_type == out[-1].output_type == "stream" and one.name == out[-1].name:
            out[-1].text += one.text
        else:
            out.append(one)
    return out


def run(path, page=False):
    """A notebook with the outputs that a reader gets, or those of a page, without what differs from run to run."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    environment = {name: value for name, value in os.environ.items() if name != "BLACKBOARD_PAGE"}
    NotebookClient(
        notebook, timeout=300, record_timing=False, resources={"metadata": {"path": str(path.parent)}}
    ).execute(env=environment | ({"BLACKBOARD_PAGE": "1"} if page else {}))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def outputs(notebook):
    """The outputs of all cells, in order."""
    return [one for cell in notebook.cells if cell.cell_type == "code" for one in cell.outputs]


def add_page_forms(notebook, page):
    """Keep beside an output what a page shows in its place, where that is something else."""
    for one, other in zip(outputs(notebook), outputs(page), strict=True):
        shown = {
            mime: data for mime, data in other.get("data", {}).items() if mime != WIDGET and data != one.data.get(mime)
        }
        if shown:
            one.metadata["page"] = shown


def fingerprint(notebook):
    """Hash of the code cells and of all that they put out."""
    cells = [(cell.source, cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()


def as_page(notebook):
    """A committed notebook with the outputs of a page; NotAsRun if it was changed since it was run."""
    if notebook.metadata.get("executed") != fingerprint(notebook):
        raise NotAsRun
    for one in outputs(notebook):
        if "page" in one.get("metadata", {}):
            one.data |= one.metadata.pop("page")
    notebook.metadata.language_info.pygments_lexer = "ipython3"  # as a kernel says
    return notebook


def refresh(path):
    """Run one notebook and store its outputs."""
    notebook = run(path)
    add_page_forms(notebook, run(path, page=True))
    notebook.metadata.executed = fingerprint(notebook)
    nbformat.write(notebook, path)


def renew(path):
    """Give a notebook its cells for Colab and for the lab, where there are any, and run it; its name in the project."""
    import colab  # the build reads this file too, and needs no such cells
    import lab_cells

    colab.update_file(path)
    lab_cells.update_file(path)
    refresh(path)
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    found = sorted(path for path in (ROOT / "exercises").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
    found = [path for path in found if path.stem in sys.argv[1:] or not sys.argv[1:]]
    with ProcessPoolExecutor() as pool:
        for name in pool.map(renew, found):
            print(name, flush=True)
