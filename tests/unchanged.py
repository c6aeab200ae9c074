"""What `make check` need not run again: tests that passed, and whose files are as they were then."""

import ast
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIST = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
# A lesson takes from others only equations and what runs; the rooms above the lessons take no more from a page.
OWN = (
    r"lib/blackboard/lessons/{}/(?:figures|charts|numbers|problems)\.py|book/{}\.md|tests/(?:test_)?{}_\w+\.py"
    r"|exercises/(?:solutions/)?{}\.ipynb"
)
ABOVE = r"lib/blackboard/(?:reference|validation|prediction)/|tests/test_"


@functools.cache
def digests():
    """A digest of each file that git does not ignore, by its path; without git no file is known to be as it was."""
    try:
        listed = subprocess.check_output(LIST, cwd=ROOT, stderr=subprocess.DEVNULL).decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        return {"": os.urandom(16).hex()}
    paths = [path for path in listed if path and (ROOT / path).is_file()]
    return {path: hashlib.sha256((ROOT / path).read_bytes()).hexdigest() for path in paths}


@functools.cache
def imported(file):
    """The files among the tests that one of them imports."""
    tree = ast.parse((ROOT / file).read_bytes()) if (ROOT / file).is_file() else ast.Module([], [])
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {f"tests/{name}.py" for name in names if (ROOT / "tests" / f"{name}.py").is_file()}


def stand_on(files):
    """These files of tests, and those that they import, and so on."""
    found, new = set(), set(files)
    while new:
        found |= new
        new = set().union(*map(imported, new)) - found
    return found


@functools.cache
def fingerprint(piece, lessons, tests):
    """A digest of the files that a piece's tests can depend on: of all, but for a lesson's of what is others' own."""
    name = piece.removeprefix("lesson ")
    others = [OWN.format(*[other] * 4) for other in lessons if other != name]
    leave = re.compile("|".join([*others, ABOVE]) if name in lessons else "$^").match
    needed = stand_on(tests)
    files = [path for path in sorted(digests()) if path in needed or not leave(path)]
    return hashlib.sha256(
        "\n".join([sys.version, *(f"{path} {digests()[path]}" for path in files)]).encode()
    ).hexdigest()


class Unchanged:
    """Leaves out the pieces that passed as they are, and remembers those that pass."""

    def __init__(self, file, piece, lessons, apart):
        self.file, self.piece, self.lessons, self.apart = file, piece, tuple(lessons), apart
        self.passed = json.loads(file.read_text()) if file.exists() else {}
        self.ran, self.failed = defaultdict(set), set()
        digests()  # now: what is edited while the tests run has not passed

    def name(self, nodeid):
        """The piece of a test; one that reads other rooms than its piece's depends on all files."""
        return "claims" if self.apart in nodeid else self.piece(nodeid)

    def state(self, pieces):
        """By piece a digest of its files and of the tests that are run of it."""
        tests = {name: hashlib.sha256(" ".join(sorted(ids)).encode()).hexdigest() for name, ids in pieces.items()}
        files = {name: tuple(sorted({each.partition("::")[0] for each in ids})) for name, ids in pieces.items()}
        return {name: [fingerprint(name, self.lessons, files[name]), digest] for name, digest in tests.items()}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        """Leave out what has not changed."""
        pieces = defaultdict(set)
        for item in items:
            pieces[self.name(item.nodeid)].add(item.nodeid)
        skip = {name for name, state in self.state(pieces).items() if self.passed.get(name) == state}
        config.hook.pytest_deselected(items=[item for item in items if self.name(item.nodeid) in skip])
        items[:] = [item for item in items if self.name(item.nodeid) not in skip]

    def pytest_runtest_logreport(self, report):
        """Note what has run, and what failed."""
        self.ran[self.name(report.nodeid)].add(report.nodeid)
        if report.failed:
            self.failed.add(self.name(report.nodeid))

    def pytest_sessionfinish(self, session):
        """Keep what passed."""
        if not hasattr(session.config, "workerinput"):
            kept = {name: state for name, state in self.state(self.ran).items() if name not in self.failed}
            self.file.parent.mkdir(exist_ok=True)
            self.file.write_text(json.dumps(self.passed | kept, indent=1))
