"""The cells of a lesson's lab: at the end of its exercise notebook with starters, in its solutions with solutions."""

import json
import sys
from importlib import import_module
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
HOW = (
    "Here it needs JupyterLab. Write each function in its cell and run the cell: the check follows at once. Where a"
    " step uses earlier ones that you have not solved, it gets the course's."
    ' `lab["{first}"].hint()` gives a hint at a time, `lab["{first}"].solution()` the course\'s own version. A check'
    " ends by itself, even if your code does not. Windows has one exception: if a single call has no end, such as"
    " `sum(itertools.count())`, restart the kernel."
)
IN_PAGE = "The same lab runs [in the lesson's page](../book/{lesson}.md), with nothing installed.\n\n"
FROM_PAGE = "The code is yours, as it was in the lesson's page.\n\n"
SOLVED = "The course's own versions. Others are as good if they pass the checks."
CHECK = "\n\nlab["  # where a step's code ends and its check begins
SETUP = """from blackboard.page import lab_view

lab = lab_view.lab("{lesson}")"""


def find_lab(lesson):
    """A lesson's lab, None where it has none."""
    sys.path.insert(0, str(ROOT / "lib"))
    written = ROOT / "lib" / "blackboard" / "lessons" / lesson / "lab.py"
    return import_module("blackboard.page.lab_worker").find_lab(lesson) if written.exists() else None


def write_setup(lab, lesson):
    """The cell that brings the lab, and the names that its reader may use."""
    given = "".join(f'{name} = lab.given["{name}"]\n' for name in lab.given)
    return SETUP.format(lesson=lesson) + ("\n" + given).rstrip()


def write_step(lab, step, number, solved):
    """A step: its title with an example, and one cell of code with its check."""
    view = import_module("blackboard.page.lab_view")
    code = f'{view.narrow(step.source if solved else step.starter)}{CHECK}"{step.name}"].check({step.name})'
    example, result = view.write_example(step), lab.example_result(step)
    said = f"```python\n{example}\n```\n\nThe last line" if "\n" in example else f"For example, `{example}`"
    yield f"lab-{step.name}-title", f"### {number}. {step.title}\n\n{step.intent}\n\n{said} returns `{result}`."
    yield f"lab-{step.name}", code


def write_cells(lab, lesson, solved):
    """All cells, each with its id."""
    how = SOLVED if solved else (IN_PAGE + HOW).format(first=lab.steps[0].name, lesson=lesson)
    yield "lab-title", f"## The lab: {lab.title}\n\n{lab.intro}\n\n{how}"
    yield "lab-setup", write_setup(lab, lesson)
    for number, step in enumerate(lab.steps, 1):
        yield from write_step(lab, step, number, solved)
    written = "these functions" if solved else "your own functions, once you have solved a step"
    yield "lab-end", f"### Put it together\n\nThe last cell draws a chart with {written}."
    yield "lab-finish", "lab.finish()"


def make_cell(id, source):
    """A cell of its kind: titles are text, and so is the end's lead."""
    make = new_markdown_cell if id.endswith("-title") or id == "lab-end" else new_code_cell
    return make(source, id=id)


def put_cells(notebook, lab, lesson, solved):
    """The lab's cells, at the end; those that were there before are gone."""
    notebook.cells = [cell for cell in notebook.cells if not cell.get("id", "").startswith("lab-")]
    if lab:
        notebook.cells += [make_cell(*each) for each in write_cells(lab, lesson, solved)]


def find_template(path):
    """The lab of a lesson's notebook without its code, as JSON: a page puts its reader's own before each check. None
    where there is no lab.
    """
    cells = json.loads(path.read_text("utf8"))["cells"]
    sources = {cell["id"]: "".join(cell["source"]) for cell in cells if cell.get("id", "").startswith("lab-")}
    if not sources:
        return None
    sources["lab-title"] = sources["lab-title"].replace(IN_PAGE.format(lesson=path.stem), FROM_PAGE)
    made = [
        make_cell(id, source[source.rfind(CHECK) + 2 :] if CHECK in source else source)
        for id, source in sources.items()
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(new_notebook(cells=made, metadata={"kernelspec": kernel}))


def update_file(path):
    """Bring the lab's cells of a notebook's file up to date."""
    notebook = nbformat.read(path, as_version=4)
    put_cells(notebook, find_lab(path.stem), path.stem, path.parent.name == "solutions")
    nbformat.write(notebook, path)
