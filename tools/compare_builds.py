"""Build the committed course in two fresh copies, and name every file of the two sites that differs.

    python tools/compare_builds.py          with .venv active; add --forms for the PDF and the ePub as well

Each copy takes as long as a first build does. The files of the second are dated a day later.
"""

import filecmp
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DAY = 24 * 3600
PYTHON = Path(".venv", "page-python")


def copy_commit(folder, date):
    """The files of the last commit, dated alike, and what an installation puts beside them."""
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    for path in folder.rglob("*"):
        os.utime(path, (date, date))
    if (ROOT / PYTHON).exists():
        shutil.copytree(ROOT / PYTHON, folder / PYTHON)


def build(folder, tools):
    """Build a copy; what was made is in its _build."""
    for tool in tools:
        subprocess.run([sys.executable, f"tools/{tool}.py"], cwd=folder, check=True)
    shutil.rmtree(folder / "_build" / "work")
    (folder / "_build" / "lock").unlink()
    return folder / "_build"


def files(folder):
    """All files of a folder, by their names inside it."""
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def differences(one, two):
    """Names of the files that are not the same in both folders."""
    alone = files(one) ^ files(two)
    both = map(str, files(one) & files(two))
    _, unequal, unread = filecmp.cmpfiles(one, two, both, shallow=False)
    return sorted([*map(str, alone), *unequal, *unread])


def main(arguments):
    """Print what differs; the number of files is the exit status."""
    tools = ["build"] + (["pdf", "epub"] if "--forms" in arguments else [])
    with tempfile.TemporaryDirectory() as scratch:
        copies = [Path(scratch, name) for name in ("one", "two")]
        for n, copy in enumerate(copies):
            copy_commit(copy, time.time() - (2 - n) * DAY)
        found = differences(*(build(copy, tools) for copy in copies))
    print("\n".join(found) or "The two builds are the same, byte by byte.")
    return min(len(found), 99)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
