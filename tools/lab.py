"""Open JupyterLab on a copy of the course in work/, which git ignores: no tracked file holds a reader's work.

New and changed exercises and lessons are brought into the copy first. A file that the reader changed is never
overwritten: the course's newer version is put beside it. Run through `python tools/course.py lab`.
"""

import hashlib
import itertools
import json
import os
import sys
from pathlib import Path

from blackboard.page.problem_panel import RECORD  # its name marks the copy, in which panels keep their answers

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "work"
HANDED_OUT = {"exercises": "**/*.ipynb", "book": "*.md"}  # side by side as in the project: links between them open


def hash_bytes(path):
    """Hash of a file as it is."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hash_cells(path):
    """Hash of what a person writes in a notebook: running cells changes nothing of it, nor does an empty one below."""
    import jupytext

    try:
        cells = [cell for cell in jupytext.read(path).cells if cell.source.strip()]
        written = json.dumps([(cell.cell_type, cell.source, cell.get("attachments")) for cell in cells])
        return hashlib.sha256(written.encode()).hexdigest()
    except Exception:  # a reader may have left anything in the file
        return hash_bytes(path)


def hash_content(path, given):
    """`hash_cells`, looked up where these very bytes were handed out before: reading all notebooks takes seconds."""
    return given.get(hash_bytes(path)) or hash_cells(path)


def list_sources(project):
    """The files to hand out, by their names in the project and in the copy."""
    found = [path for folder, pattern in HANDED_OUT.items() for path in (project / folder).glob(pattern)]
    names = [path.relative_to(project) for path in found]
    return sorted(name.as_posix() for name in names if ".ipynb_checkpoints" not in name.parts)


def read_record(work):
    """For each file, all versions handed out: their bytes' hash and their cells'. Empty if missing or broken."""
    try:
        return {name: dict(given) for name, given in json.loads((work / RECORD).read_text("utf8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def replace_file(target, content):
    """Write a file whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(target.name + ".part")
    new.write_bytes(content)
    os.replace(new, target)


def choose_beside(target, given):
    """Where a newer version goes: the first name beside the reader's file that is free or unchanged by them."""
    for number in itertools.count(1):
        beside = target.with_name(f"{target.stem}.new{number if number > 1 else ''}{target.suffix}")
        if not beside.exists() or hash_content(beside, given) in given.values():
            return beside


def hand_out(source, target, given):
    """Bring one file up to date, where `given` holds the versions handed out before; what to tell the reader, or None.

    The reader changed a file if its cells equal none of those versions.
    """
    new, known, told = hash_content(source, given), set(given.values()), None
    given[hash_bytes(source)] = new
    old = hash_content(target, given) if target.exists() else None
    if old is None:
        told, place = f"new: {target.name}", target
    elif old in known - {new}:
        told, place = f"updated: {target.name}", target
    elif old != new and new not in known:
        place = choose_beside(target, given)
        told = f"kept: {target.name}, which you changed; the course's newer version is beside it, in {place.name}"
    if told:
        replace_file(place, source.read_bytes())
    return told


def bring_in(project, work):
    """Bring the whole copy up to date; a line for each file that is new, updated or newer than the reader's own."""
    record = read_record(work)
    told = [hand_out(project / name, work / name, record.setdefault(name, {})) for name in list_sources(project)]
    replace_file(work / RECORD, json.dumps(record, indent=1).encode())
    return [line for line in told if line]


def set_environment():
    """JupyterLab opens lessons as notebooks and reaches no other host; kernels show what a notebook shows."""
    paths = [str(ROOT / "tools" / "jupyter"), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(paths)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ.pop("BLACKBOARD_PAGE", None)


def main(arguments):
    """Bring the copy up to date and start JupyterLab in it; further arguments are JupyterLab's."""
    told = bring_in(ROOT, WORK)
    first = all(line.startswith("new: ") for line in told) and len(told) == len(list_sources(ROOT))
    print("\n".join(["work/ is your copy: git does not track it, so change what you like", *([] if first else told)]))
    set_environment()
    from jupyterlab.labapp import LabApp

    here = [f"--ServerApp.root_dir={WORK}", "--ContentsManager.preferred_dir=exercises"]
    return LabApp.launch_instance([*here, *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
