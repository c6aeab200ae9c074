"""What `make check` need not run again: tests that passed, and whose files are as they were then."""

import functools
import hashlib
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("lib", "tests", "tools", "book", "exercises", "_templates")
SUFFIXES = (".py", ".md", ".yaml", ".yml", ".js", ".css", ".bib", ".toml", ".ipynb")
OUTER = (
    "pyproject.toml",
    "requirements.lock",
    "_toc.yml",
    "_config.yml",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
# A lesson takes from others only equations and what runs; the rooms above the lessons take no more from a page.
OWN = (
    r"lib/blackboard/lessons/{}/(?:figures|charts|numbers|problems)\.py|book/{}\.md|tests/(?:test_)?{}_\w+\.py"
    r"|exercises/"
)
ABOVE = r"lib/blackboard/(?:reference|validation|prediction)/|tests/test_"


@functools.cache
def digests():
    """A digest of each file of the project, by its path."""
    found = [path for place in PLACES for path in (ROOT / place).rglob("*") if path.suffix in SUFFIXES]
    files = [*found, *(ROOT / name for name in OUTER)]
    return {path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@functools.cache
def fingerprint(piece, lessons):
    """A digest of the files that a piece's tests can depend on: of all, but for a lesson's of what is others' own."""
    name = piece.removeprefix("lesson ")
    skipped = ["$^"]
    if name in lessons:
        skipped = [OWN.format(*[other] * 3) for other in lessons if other != name]
        skipped.append(rf"{ABOVE}(?!{name}_)(?!figures|prose|practice|interactive)")
    leave = re.compile("|".join(skipped)).match
    lines = "".join(f"{path} {digest}\n" for path, digest in sorted(digests().items()) if not leave(path))
    return hashlib.sha256(lines.encode()).hexdigest()


class Unchanged:
    """Leaves out the pieces that passed as they are, and remembers those that pass."""

    def __init__(self, file, piece, lessons, apart):
        self.file, self.piece, self.lessons, self.apart = file, piece, tuple(lessons), apart
        self.passed = json.loads(file.read_text()) if file.exists() else {}
        self.ran, self.failed = defaultdict(set), set()

    def name(self, nodeid):
        """The piece of a test; one that reads other rooms than its piece's depends on all files."""
        return "claims" if self.apart in nodeid else self.piece(nodeid)

    def state(self, pieces):
        """By piece a digest of its files and of the tests that are run of it."""
        tests = {name: hashlib.sha256(" ".join(sorted(ids)).encode()).hexdigest() for name, ids in pieces.items()}
        return {name: [fingerprint(name, self.lessons), digest] for name, digest in tests.items()}

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
