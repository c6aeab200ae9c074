"""Run the exercise notebooks and their solutions anew, in place: they are committed with their outputs.

Run through `python tools/course.py exercises`, after a change of problems, figures or notebooks.
"""

import tomllib
from pathlib import Path

import nbformat
import yaml
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
COLAB = """import sys

if "google.colab" in sys.modules:  # elsewhere the course is installed already
    %pip install --quiet "{name}[draw] @ git+{address}"
"""


def repository():
    """The repository's address, as _config.yml has it; empty where it names none."""
    return yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["repository"]["url"]


def put_install_cell(notebook, address):
    """Make the cell that installs the course on Colab the first code cell; without an address there is none."""
    cells = [cell for cell in notebook.cells if cell.id != "colab"]
    if address:
        name = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]["name"]
        source = COLAB.format(name=name, address=address).strip()
        first = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
        hidden = {"tags": ["remove-cell"]}  # on the page
        cells.insert(first, nbformat.v4.new_code_cell(source, id="colab", metadata=hidden))
    notebook.cells = cells


def joined(outputs):
    """What is printed arrives in pieces that differ from run to run; neighbours become one."""
    out = []
    for one in outputs:
        if out and one.output_type == out[-1].output_type == "stream" and one.name == out[-1].name:
            out[-1].text += one.text
        else:
            out.append(one)
    return out


def refresh(path):
    """Run one notebook and store its outputs, without what differs from run to run."""
    notebook = nbformat.read(path, as_version=4)
    put_install_cell(notebook, repository())
    NotebookClient(
        notebook, timeout=300, record_timing=False, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for found in sorted((ROOT / "exercises").rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in found.parts:
            print(found.relative_to(ROOT), flush=True)
            refresh(found)
