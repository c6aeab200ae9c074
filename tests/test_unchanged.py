"""What `make check` leaves out is what no edit can have changed."""

from types import SimpleNamespace

import pytest
import unchanged
from unchanged import Unchanged, fingerprint

LESSONS = ("one", "two")
FILES = {
    "lib/blackboard/formula.py": "a",
    "lib/blackboard/lessons/one/equations.py": "b",
    "lib/blackboard/lessons/one/figures.py": "c",
    "lib/blackboard/lessons/two/figures.py": "d",
    "book/one.md": "e",
    "tests/test_prose.py": "f",
}
STALE = {  # what is run again after an edit
    "lib/blackboard/formula.py": {"lesson one", "lesson two", "tests/test_units.py"},
    "lib/blackboard/lessons/one/equations.py": {"lesson one", "lesson two", "tests/test_units.py"},
    "lib/blackboard/lessons/one/figures.py": {"lesson one", "tests/test_units.py"},
    "book/one.md": {"lesson one", "tests/test_units.py"},
    "tests/test_prose.py": {"lesson one", "lesson two", "tests/test_units.py"},
}
TESTS = [f"tests/test_prose.py::test[{lesson}]" for lesson in LESSONS] + ["tests/test_units.py::test"]


def name_piece(nodeid):
    """As the real one has it: by lesson, or by file."""
    return next((f"lesson {lesson}" for lesson in LESSONS if f"[{lesson}]" in nodeid), nodeid.partition("::")[0])


def run(file, tests, failing=()):
    """The tests that are run of those chosen."""
    fingerprint.cache_clear()
    plugin = Unchanged(file, name_piece, LESSONS, "::apart")
    items = [SimpleNamespace(nodeid=each) for each in tests]
    plugin.pytest_collection_modifyitems(
        SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None)), items
    )
    for item in items:
        plugin.pytest_runtest_logreport(SimpleNamespace(nodeid=item.nodeid, failed=item.nodeid in failing))
    plugin.pytest_sessionfinish(SimpleNamespace(config=SimpleNamespace()))
    return [item.nodeid for item in items]


@pytest.fixture
def files(monkeypatch):
    """The digests of the project's files, to be changed."""
    found = dict(FILES)
    monkeypatch.setattr(unchanged, "digests", lambda: found)
    yield found
    fingerprint.cache_clear()


@pytest.mark.parametrize("edited", STALE)
def test_an_edit_runs_what_depends_on_it(files, tmp_path, edited):
    assert run(tmp_path / "passed", TESTS) == TESTS and run(tmp_path / "passed", TESTS) == []
    files[edited] = "another"
    assert set(map(name_piece, run(tmp_path / "passed", TESTS))) == STALE[edited]


def test_what_failed_runs_again_with_all_of_its_piece(files, tmp_path):
    run(tmp_path / "passed", TESTS, failing=TESTS[:1])
    assert run(tmp_path / "passed", TESTS) == TESTS[:1]


def test_a_part_of_a_piece_that_passed_is_not_the_piece(files, tmp_path):
    more = [*TESTS, "tests/test_figures.py::test[one]"]
    run(tmp_path / "passed", TESTS)
    assert run(tmp_path / "passed", more) == [TESTS[0], more[-1]]
