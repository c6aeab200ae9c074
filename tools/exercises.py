"""Run the exercise notebooks and their solutions anew, in place: they are committed with their outputs.

Run through `python tools/course.py exercises`, after a change of problems, figures or notebooks.
"""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent


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
    import colab  # the build reads this file too, and needs no such cell

    for found in sorted((ROOT / "exercises").rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in found.parts:
            print(found.relative_to(ROOT), flush=True)
            colab.update_file(found)
            refresh(found)
