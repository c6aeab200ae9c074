"""A lesson that was just started builds and passes its tests, and only its own places and the contents have changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import scaffold  # noqa: E402

MADE = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "_build", "work", "__pycache__", "*.egg-info")


def run(project, *command):
    """Run Python in a project, on that project's library; what it printed, and it must go well."""
    environment = os.environ | {"PYTHONPATH": str(project / "lib")}
    done = subprocess.run([sys.executable, *command], cwd=project, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def contents(project):
    """Every file of a project."""
    return {path.relative_to(project).as_posix(): path.read_bytes() for path in project.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def scaffolded(tmp_path_factory):
    """A copy of the project in which a lesson was started, and the files that this made or changed."""
    project = Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("copy") / "project", ignore=MADE))
    before = contents(project)
    run(project, "-B", "tools/scaffold.py", "fresh")
    return project, {name for name, held in contents(project).items() if before.get(name) != held}


def test_only_the_lessons_own_places_and_the_contents_change(scaffolded):
    assert scaffolded[1] == {"_toc.yml", *(path.replace("NAME", "fresh") for path in scaffold.PLACES.values())}


def test_all_quick_tests_of_the_new_lesson_pass(scaffolded):
    """Its own, and those that run over all lessons; and it is formatted."""
    project, changed = scaffolded
    quick = "not site and not notebook and not slow"
    plain = "--assert=plain"  # to rewrite all assertions takes longer than these tests
    told = run(project, "-m", "pytest", "-q", plain, "-p", "no:cacheprovider", "-k", "fresh", "-m", quick, "tests")
    assert int(told.split(" passed")[0].split()[-1]) > 40
    code = sorted(name for name in changed if name.endswith(".py"))
    run(project, "-m", "ruff", "check", *code)
    run(project, "-m", "ruff", "format", "--check", *code)
    run(project, "-m", "ruff", "format", "--check", "--line-length=320", *(n for n in code if "problems" in n))


def test_the_new_lesson_builds(scaffolded):
    """Its page has the number that is glued into the text, and the problem's box."""
    told = run(scaffolded[0], "tools/build.py", "fresh")
    assert "1 of 3 notebooks run" in told
    page = (scaffolded[0] / "_build/lessons/fresh/book/fresh.html").read_text("utf8")
    assert "69.8 ms" in page and "<practice-box" in page and "fig-fresh-passes" in page
    assert (scaffolded[0] / "_build/lessons/fresh/exercises/solutions/fresh.html").exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *(
            (name, "take one word of at most 16 lowercase letters")
            for name in ("Paging", "two words", "a1", "", "../x")
        ),
        ("while", "cannot name a lesson"),
        ("a" * 17, "cannot name a lesson"),
        ("paging", "'paging' is taken: there is lib/blackboard/lessons/paging/__init__.py, "),
        ("glossary", "'glossary' is taken: there is book/glossary.md already"),
    ],
)
def test_a_name_that_will_not_do_is_refused(name, why, capsys, monkeypatch):
    monkeypatch.setattr(scaffold, "write_lesson", lambda *_: pytest.fail("files were written"))
    assert scaffold.main([name]) == 1
    assert why in capsys.readouterr().err


def test_the_command_wants_one_name(capsys):
    assert scaffold.main([]) == scaffold.main(["one", "two"]) == 2
    assert "usage: python tools/course.py lesson NAME" in capsys.readouterr().err


def test_a_lesson_comes_after_the_last_and_so_do_its_notebooks():
    """Pages of reference that follow stay behind; a list without lessons has no place for it."""
    entries = ["book/one", "exercises/one", "book/two", "exercises/two", "exercises/solutions/two", "book/glossary"]
    listed = lambda names: "".join(f"  - file: {name}\n" for name in names)
    wanted = [*entries[:5], "book/new", "exercises/new", "exercises/solutions/new", "book/glossary"]
    assert scaffold.add_to_contents(listed(entries), "new") == listed(wanted)
    with pytest.raises(scaffold.Refused, match="lists no lesson"):
        scaffold.add_to_contents(listed(["book/one"]), "new")
