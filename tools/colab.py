"""The cell that installs the course on Colab: in every exercise notebook, once _config.yml names a repository."""

import tomllib
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parent.parent
CELL = """import sys

if "google.colab" in sys.modules:  # elsewhere the course is installed already
    %pip install --quiet "{name}[draw] @ git+{address}"
"""


def find_repository():
    """The repository's address, as _config.yml has it; empty where it names none."""
    return yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["repository"]["url"]


def write_source(address):
    """The cell's source."""
    name = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]["name"]
    return CELL.format(name=name, address=address).strip()


def put_install_cell(notebook, address):
    """Make the cell the first one with code; without an address there is none."""
    cells = [cell for cell in notebook.cells if cell.get("id") != "colab"]
    if address:
        first = next(index for index, cell in enumerate(cells) if cell.cell_type == "code")
        hidden = {"tags": ["remove-cell"]}  # on the page
        cells.insert(first, nbformat.v4.new_code_cell(write_source(address), id="colab", metadata=hidden))
    notebook.cells = cells


def update_file(path):
    """Put the cell into a notebook's file, or take it out."""
    notebook = nbformat.read(path, as_version=4)
    put_install_cell(notebook, find_repository())
    nbformat.write(notebook, path)
