"""What `make check` leaves out is what no edit can have changed."""

import subprocess
from types import SimpleNamespace

import pytest
import unchanged
from conftest import OVER_LESSONS, ROOT, piece
from unchanged import Unchanged, digests, fingerprint, imported

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


REAL = [
    *(f"tests/{file}::test[paging-x]" for file in OVER_LESSONS),
    *(f"tests/{file}::test[racks-x]" for file in OVER_LESSONS),
    "tests/test_paging_routes.py::test",
    "tests/test_pricing_routes.py::test",
    "tests/test_ci.py::test",
]
PAGING, RACKS, PRICING = "lesson paging", "lesson racks", "lesson pricing"
FILES_READ = {  # a file of the project, and the pieces above that read it or can
    ".github/workflows/ci.yml": {PAGING, RACKS, PRICING},
    ".pre-commit-config.yaml": {PAGING, RACKS, PRICING},
    ".gitignore": {PAGING, RACKS, PRICING},
    "Makefile": {PAGING, RACKS, PRICING},
    "CITATION.cff": {PAGING, RACKS, PRICING},
    "tests/model_configs.json": {PAGING, RACKS, PRICING},
    "lib/blackboard/planner/form.html": {PAGING, RACKS, PRICING},
    "lib/blackboard/catalogue/data/digits.csv.gz": {PAGING, RACKS, PRICING},
    "lib/blackboard/validation/serving_slices.json": set(),
    "lib/blackboard/reference/bills.py": set(),
    "tests/test_colors.py": {PAGING, RACKS},
    "tests/test_lesson_cells.py": {PAGING, RACKS},
    "tests/test_formula.py": {PAGING, RACKS, PRICING},
    "tests/pictures.py": {PAGING, RACKS, PRICING},
    "tests/test_paging_routes.py": {PAGING},
    "tests/paging_page.py": {PAGING},
    "tests/test_flashcards.py": set(),
    "exercises/paging.ipynb": {PAGING},
    "exercises/solutions/paging.ipynb": {PAGING},
    "book/paging.md": {PAGING},
    "lib/blackboard/lessons/paging/numbers.py": {PAGING},
    "lib/blackboard/lessons/paging/lab.py": {PAGING, RACKS, PRICING},
}


@pytest.fixture
def project(monkeypatch):
    """The digests of the files that there are, to be changed."""
    found = dict(digests())
    monkeypatch.setattr(unchanged, "digests", lambda: found)
    yield found
    fingerprint.cache_clear()


@pytest.mark.parametrize("edited", FILES_READ)
def test_an_edit_of_a_real_file_runs_what_reads_it(project, edited):
    plugin = Unchanged(ROOT / "nowhere", piece, ("paging", "racks", "pricing"), "::apart")
    pieces = {name: {each for each in REAL if piece(each) == name} for name in map(piece, REAL)}
    fingerprint.cache_clear()
    before = plugin.state(pieces)
    project[edited] += " edited"
    fingerprint.cache_clear()
    after = plugin.state(pieces)
    assert {name for name in pieces if before[name] != after[name]} == FILES_READ[edited] | {"tests/test_ci.py"}


def test_every_file_of_the_project_has_a_digest():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("no repository")
    assert {line for line in tracked.stdout.splitlines() if (ROOT / line).exists()} <= set(digests())


def test_a_helper_of_a_helper_counts():
    assert "tests/lessons.py" in imported("tests/pictures.py")
    assert {"tests/pictures.py", "tests/lessons.py"} <= unchanged.stand_on(["tests/test_figures.py"])


def test_without_git_nothing_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(unchanged, "ROOT", tmp_path)
    assert digests.__wrapped__() != digests.__wrapped__()


def test_what_is_edited_while_the_tests_run_has_not_passed(monkeypatch, tmp_path):
    """Files are read at the start, by the process that notes what passed too."""
    read = []
    monkeypatch.setattr(unchanged, "digests", lambda: read.append("read") or FILES)
    Unchanged(tmp_path / "passed", name_piece, LESSONS, "::apart")
    assert read == ["read"]
