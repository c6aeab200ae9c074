"""The notebooks of the book: which are lacking a result, running them, and the cache of results.

A result is kept with the files that its notebook used, and is good for as long as these are what they were.
"""

import asyncio
import copy
import functools
import hashlib
import importlib
import json
import os
import re
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
WORK = BUILD / "work"  # private: whatever is half-built is in here
CACHE = WORK / "cache"  # of executed notebooks
KNOWN = CACHE / "pages.json"  # which of them is which page's


class BuildError(Exception):
    """The book could not be built; the message says why."""


# --- What the cached results depend on ---------------------------------------------------------------------


def files_under(*folders):
    """Every file in these folders of the project that somebody wrote."""
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    made = ("__pycache__", ".egg-info", ".ipynb_checkpoints")
    return sorted(path for path in files if not any(part.endswith(made) for part in path.parts))


def hash_of(paths, said=""):
    """Hash of files' names and contents, of the Python that reads them, and of anything else that is said."""
    digest = hashlib.sha256((sys.version + said).encode())
    for path in paths:
        content = path.read_bytes() if path.exists() else b""
        digest.update(f"\0{path.relative_to(ROOT).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


@functools.cache
def summary_cards():
    """Headings and summary cards of the pages of the contents: the page of flashcards takes them from there."""
    taken = re.compile(r"^# [^\n]+|^(?:summary\.)?cards\(.*?\)$", re.M | re.S)
    return "\n".join(part for path in pages() if path.suffix == ".md" for part in taken.findall(path.read_text("utf8")))


@functools.cache
def for_all():
    """What every notebook depends on: which lessons and files of data there are, of which the library makes lists.
    What is in a file of data counts for the notebooks that read it.
    """
    listed = ("__init__.py", "equations.py", "problems.py")
    names = [
        path.relative_to(ROOT).as_posix() for path in files_under("lib") if path.suffix != ".py" or path.name in listed
    ]
    return hash_of([], "\n".join(names))


def state_of(used):
    """Hash of what a notebook used, of which its kernel has told; of a page's text it can only use the cards."""
    texts = {name for name in used if name.startswith("book/") and name.endswith(".md")}
    return hash_of([ROOT / name for name in used if name not in texts], for_all() + (summary_cards() if texts else ""))


# --- The notebooks -----------------------------------------------------------------------------------------


def pages():
    """The source files that _toc.yml names, in order."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    names = parse_toc_yaml(ROOT / "_toc.yml")
    found = {name: [p for p in (ROOT / f"{name}.md", ROOT / f"{name}.ipynb") if p.exists()] for name in names}
    missing = [name for name in found if not found[name]]
    if missing:
        raise BuildError(f"_toc.yml names pages that do not exist: {', '.join(missing)}")
    return [paths[0] for paths in found.values()]


def read_notebook(path):
    """The notebook in a file, read as MyST-NB will read it; None for a plain page."""
    import nbformat
    from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
    from myst_parser.config.main import MdParserConfig

    text = path.read_text("utf8")
    if path.suffix == ".ipynb":
        return nbformat.reads(text, as_version=4)
    if is_myst_markdown_notebook(text):
        config = MdParserConfig(enable_extensions=set(settings()["parse"]["myst_enable_extensions"]))
        return read_myst_markdown_notebook(text, config=config, add_source_map=True, path=path)
    return None


def settings():
    """_config.yml as a dictionary."""
    import yaml

    return yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))


class Results:
    """The cached results, and which page has which: a page that has not changed is not even read."""

    def __init__(self):
        """Open the cache."""
        from jupyter_cache import get_cache

        self.cache = get_cache(CACHE)
        self.known = json.loads(KNOWN.read_text("utf8")) if KNOWN.exists() else {}
        self.said = str(settings()["parse"])

    def remember(self, path, key):
        """Note that this text of a page has this result, or needs none."""
        self.known[page_name(path)] = {"text": hash_of([path], self.said), "result": key}
        KNOWN.write_text(json.dumps(self.known, indent=1), "utf8")

    def is_current(self, key):
        """Whether a result was made with the files that are there now."""
        from jupyter_cache.cache.db import NbCacheRecord

        try:
            made = NbCacheRecord.record_from_hashkey(key, self.cache.db).data
            return made["state"] == state_of(made["used"])
        except KeyError:  # no such result, or one of a page that was edited while it ran
            return False

    def lacks(self, path):
        """The notebook of a page, if it must be run; None if there is a current result, or nothing to run."""
        entry = self.known.get(page_name(path))
        if entry and entry["text"] == hash_of([path], self.said) and self.is_fine(entry["result"]):
            return None
        notebook = read_notebook(path)
        key = notebook and self.cache.create_hashed_notebook(notebook)[1]
        if path.suffix == ".ipynb" or not self.is_fine(key):
            return notebook
        self.remember(path, key)
        return None

    def is_fine(self, key):
        """Whether a page with this result needs none other; a plain page needs none at all."""
        return key is None or self.is_current(key)

    def keep(self, path, notebook, used, seconds):
        """Store what a notebook put out."""
        from jupyter_cache.base import CacheBundleIn

        data = {"execution_seconds": seconds, "used": used, "state": state_of(used)}
        record = self.cache.cache_notebook_bundle(
            CacheBundleIn(notebook, str(path), data=data), check_validity=False, overwrite=True
        )
        self.remember(path, record.hashkey)


class Progress:
    """Which cell a notebook is at; a line at most once a second: `batching  cell 7/22  3.1 s`."""

    def __init__(self, path, notebook):
        self.name = lesson_name(path)
        self.cells = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code" and cell.source.strip()]
        self.at = self.cells[0] if self.cells else 0
        self.start = self.shown = time.monotonic()

    @property
    def count(self):
        """The number of the cell it is at, counted from 1."""
        return self.cells.index(self.at) + 1

    def begin(self, cell, cell_index):
        """A cell starts; cells of text are announced too."""
        if cell_index in self.cells:
            self.at = cell_index

    def tick(self, **_):
        """A cell has run."""
        now = time.monotonic()
        if now - self.shown > 1 or self.count == len(self.cells):
            self.shown = now
            print(f"{self.name:<24} cell {self.count}/{len(self.cells)}  {now - self.start:.1f} s", flush=True)


def page_name(path):
    """A page as _toc.yml names it."""
    return path.relative_to(ROOT).with_suffix("").as_posix()


def lesson_name(path):
    """`book/batching.md` is batching; pages elsewhere keep their folder, as in exercises/batching."""
    return page_name(path).removeprefix("book/")


def source_line(notebook, index):
    """The line of a MyST text notebook where a cell starts, as `:133`; nothing for an .ipynb."""
    lines = notebook.metadata.get("source_map")
    return f":{lines[index] + 1}" if lines else ""


def short(error):
    """The end of the traceback, without colours and without what the notebook machinery says around it."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", getattr(error, "traceback", "") or str(error))
    return re.split(r"-{20,}\n(?=\w+ +Traceback)", text)[-1].strip().splitlines()[-12:]


def failure(path, notebook, progress, error):
    """A message that names the lesson, the cell, its source and the error."""
    place = path.relative_to(ROOT).as_posix() + source_line(notebook, progress.at)
    source = notebook.cells[progress.at].source.strip().splitlines()
    shown = source[:15] + ["…"] * (len(source) > 15)
    head = f"{progress.name}: cell {progress.count} of {len(progress.cells)} failed ({place})"
    return "\n".join([head, *("    " + line for line in shown), "", *("  " + line for line in short(error))])


async def run_notebook(path, notebook, results, gate):
    """Run one notebook in its own directory and keep its results; the message of its failure, or None."""
    import kernels
    from nbclient import NotebookClient

    from exercises import joined

    metadata = copy.deepcopy(notebook.metadata)
    async with gate:
        progress = Progress(path, notebook)
        client = NotebookClient(
            notebook,
            timeout=settings()["execute"]["timeout"],
            record_timing=False,
            on_cell_start=progress.begin,
            on_cell_executed=progress.tick,
            resources={"metadata": {"path": str(path.parent)}},
        )
        try:
            used = await kernels.execute(client)
        except Exception as error:  # whatever a lesson may raise, and a dead kernel or a timeout too
            return failure(path, notebook, progress, error)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)  # MyST-NB would end a line after each piece of what was printed
    # Running changes the kernel's description, by which the cache would no longer recognise the notebook.
    notebook.metadata = metadata | {"language_info": notebook.metadata.get("language_info", {})}
    # A kernel that had to be killed has not told what it used: then it is everything.
    if used is None:
        used = [file.relative_to(ROOT).as_posix() for file in files_under("lib")]
    results.keep(path, notebook, used, time.monotonic() - progress.start)
    return None


async def run_all(todo, results):
    """Run notebooks side by side, one to a core."""
    gate = asyncio.Semaphore(os.cpu_count() or 1)
    return await asyncio.gather(*(run_notebook(path, notebook, results, gate) for path, notebook in todo))


def take_committed(path, notebook, results):
    """Keep the outputs with which a notebook is committed."""
    from exercises import NotAsRun, as_page

    try:
        results.keep(path, as_page(notebook), [path.relative_to(ROOT).as_posix()], 0.0)
    except NotAsRun:
        name = path.relative_to(ROOT).as_posix()
        raise BuildError(f"{name} was changed after it was run, or never run; run it anew: make exercises") from None


def check_library():
    """Import what every page may stand on, before minutes are spent on notebooks: every symbol, formula and unit."""
    import kernels

    library = ROOT / "lib" / "blackboard"
    files = [library / f"{name.replace('.', '/')}.py" for name in kernels.LIBRARY]
    files = [file for file in files if file.exists()] + sorted(library.rglob("equations.py"))
    for name in (".".join(file.relative_to(library).with_suffix("").parts) for file in files):
        try:
            importlib.import_module(f"blackboard.{name}")
        except Exception as error:
            module = f"lib/blackboard/{name.replace('.', '/')}.py"
            raise BuildError(
                f"{module} cannot be imported:\n" + "\n".join("  " + li for li in format_error(error))
            ) from error


def format_error(error):
    """The end of an error's traceback, and the error."""
    return "".join(traceback.format_exception(error)).strip().splitlines()[-12:]


def run_notebooks(paths):
    """Get results for every notebook that lacks them, so that Sphinx runs none; (how many ran, how many there are)."""
    import kernels

    results = Results()
    lacking = [(path, notebook) for path in paths if (notebook := results.lacks(path))]
    for path, notebook in lacking:
        if path.suffix == ".ipynb":
            take_committed(path, notebook, results)
    todo = [(path, notebook) for path, notebook in lacking if path.suffix != ".ipynb"]
    if todo:
        kernels.warm_up(len(todo))
        check_library()
        failures = [message for message in asyncio.run(run_all(todo, results)) if message]
        if failures:
            raise BuildError("\n\n".join(failures))
    return len(todo), sum(1 for path in paths if results.known[page_name(path)]["result"])
