"""Start a lesson: `python tools/course.py lesson NAME` copies the files of tools/lesson under the new name, with one
formula, one figure and one problem. The lesson builds and its tests pass; replace its contents with your own.
"""

import keyword
import re
import sys
from pathlib import Path

import nbformat

import exercises

ROOT = Path(__file__).resolve().parent.parent
FILES = Path(__file__).resolve().parent / "lesson"
LONGEST = 16  # letters of a name: lines of the files that hold it stay short enough
PLACES = {
    **{f"{module}.py": f"lib/blackboard/lessons/NAME/{module}.py" for module in ("__init__", "equations", "numbers")},
    **{f"{module}.py": f"lib/blackboard/lessons/NAME/{module}.py" for module in ("figures", "problems")},
    "page.md": "book/NAME.md",
    "exercises.md": "exercises/NAME.ipynb",
    "solutions.md": "exercises/solutions/NAME.ipynb",
    "test_routes.py": "tests/test_NAME_routes.py",
}


class Refused(Exception):
    """A lesson that cannot be started; the message says why."""


def check_name(name, root):
    """Refuse what is no name of a lesson, and what is there already."""
    if not re.fullmatch("[a-z]+", name) or len(name) > LONGEST or keyword.iskeyword(name):
        raise Refused(
            f"{name!r} cannot name a lesson: take one word of at most {LONGEST} lowercase letters, such as paging"
        )
    files = [path.replace("NAME", name) for path in PLACES.values()]
    if there := [file for file in files if (root / file).exists()]:
        raise Refused(f"{name!r} is taken: there is {', '.join(there)} already")


def add_to_contents(contents, name):
    """The table of contents with the lesson, and its notebooks below it, after the last one that has notebooks."""
    lines = contents.splitlines(keepends=True)
    last = max((n for n, line in enumerate(lines) if "file: exercises/" in line), default=0)
    first = max((n for n, line in enumerate(lines[:last]) if "file: book/" in line), default=None)
    if first is None:
        raise Refused("_toc.yml lists no lesson with its exercises below it, so there is no place for a new one")
    lesson = Path(lines[first].strip()).name
    lines[last + 1 : last + 1] = [re.sub(rf"/{lesson}\b", f"/{name}", line) for line in lines[first : last + 1]]
    return "".join(lines)


def read_notebook(text):
    """A notebook from its text; cells have ids that stay."""
    import jupytext

    notebook = jupytext.reads(text, "md:myst")
    notebook.metadata.pop("jupytext", None)
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number:02}"
    return notebook


def write_lesson(name, root):
    """Write all files of a lesson; the paths of its notebooks."""
    notebooks = []
    for source, place in PLACES.items():
        path = root / place.replace("NAME", name)
        text = (FILES / source).read_text("utf8").replace("NAME", name).replace("TITLE", name.capitalize())
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb":
            nbformat.write(read_notebook(text), path)
            notebooks.append(path)
        else:
            path.write_text(text, "utf8")
    return notebooks


def start_lesson(name, root=ROOT):
    """Write a lesson, list it in the contents and run its notebooks."""
    check_name(name, root)
    contents = root / "_toc.yml"
    listed = add_to_contents(contents.read_text("utf8"), name)
    notebooks = write_lesson(name, root)
    contents.write_text(listed, "utf8")
    for path in notebooks:
        exercises.renew(path)


def main(arguments):
    """Start the lesson that is named, or say why not."""
    if len(arguments) != 1:
        print("usage: python tools/course.py lesson NAME", file=sys.stderr)
        return 2
    try:
        start_lesson(arguments[0])
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    [name] = arguments
    print(f"wrote {', '.join(path.replace('NAME', name) for path in PLACES.values())} and four lines of _toc.yml")
    print(f"next: make book LESSON={name}, make check LESSON={name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
