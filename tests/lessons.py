"""Which lessons there are, and where their things stand: what the tests over all lessons are parametrised by."""

import contextlib
import functools
import importlib
import importlib.util
import inspect
import io
from pathlib import Path

import yaml
from live_cells import read_cells

ROOT = Path(__file__).resolve().parent.parent
LIB = ROOT / "lib" / "blackboard"
ROOMS = ("equations", "numbers", "figures", "problems")  # interactive charts are for those lessons that have them
REFERENCE = "Reference"  # caption of the part of the contents whose pages are no lessons


def page(lesson):
    """The file of a lesson's text."""
    return ROOT / "book" / f"{lesson}.md"


def find_cell(lesson, text):
    """The source of the one cell of a lesson's page that has such a text."""
    [source] = [each for each in read_cells(lesson) if text in each]
    return source


def run_cell(lesson, text, *changes, **space):
    """What that cell prints, run with such names of earlier ones and with each of the changes (a text that it has once,
    and what comes in its place); and the names that it leaves.
    """
    source, said = find_cell(lesson, text), io.StringIO()
    for old, new in changes:
        assert source.count(old) == 1
        source = source.replace(old, new)
    with contextlib.redirect_stdout(said):
        exec(source, space)
    return said.getvalue(), space


def listed(contents):
    """The lessons of a table of contents, in order: its pages in book/, but for those of reference."""
    chapters = [each["file"] for part in contents["parts"] if part["caption"] != REFERENCE for each in part["chapters"]]
    return [file.removeprefix("book/") for file in chapters if file.startswith("book/")]


def missing(lesson, root=ROOT):
    """The files that a lesson lacks; the tests over all lessons need every one."""
    modules = [f"lib/blackboard/lessons/{lesson}/{name}.py" for name in ROOMS]
    books = [f"{place}/{lesson}.ipynb" for place in ("exercises", "exercises/solutions")]
    return [file for file in (f"book/{lesson}.md", *modules, *books) if not (root / file).exists()]


LISTED = listed(yaml.safe_load((ROOT / "_toc.yml").read_text("utf8")))
LESSONS = [name for name in LISTED if not missing(name)]  # that the others are whole too is a test of test_layers.py


def room(lesson, name):
    """A module of a lesson: room("batching", "figures")."""
    return importlib.import_module(f"blackboard.lessons.{lesson}.{name}")


def told(lesson, name):
    """What a lesson's tests/NAME_page.py says under a name, nothing where there is no such file: QUOTED, the numbers
    that its prose quotes, each with its place; CHARTS, its interactive charts; MORE, its figures of other cases.
    """
    module = f"{lesson}_page"
    return getattr(importlib.import_module(module), name, {}) if importlib.util.find_spec(module) else {}


@functools.cache
def values(lesson):
    """All values that a lesson prints, computed once for all tests of a process."""
    return room(lesson, "numbers").all()


def functions(module):
    """Public functions that the module itself defines, and that need no argument."""
    own = [
        (n, f)
        for n, f in vars(module).items()
        if inspect.isfunction(f) and f.__module__ == module.__name__ and not n.startswith("_")
    ]
    empty = inspect.Parameter.empty
    return [
        name
        for name, function in own
        if all(p.default is not empty for p in inspect.signature(function).parameters.values())
    ]


def interactive_charts(lesson):
    """Names of a lesson's interactive charts, if it has any."""
    if not (LIB / "lessons" / lesson / "charts.py").exists():
        return []
    return [name for name in functions(room(lesson, "charts")) if name.endswith("_chart")]


def sig(value, digits=2):
    """A number to so many digits, with thousands separators, by another way than the library's."""
    rounded = float(f"{value:.{digits - 1}e}")
    return f"{rounded:,.0f}" if rounded >= 10 ** (digits - 1) else f"{rounded:g}"
