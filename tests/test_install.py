"""What is installed: each command gets the packages it needs, from one lock, and no more."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import course  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
GROUPS = ["book", "forms", "lab", "test"]


def pins(text: str) -> dict[str, set[str]]:
    """Versions of each package in lines of the lock."""
    out: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.+!-]+)", text, re.MULTILINE):
        out.setdefault(name, set()).add(version)
    return out


def requirements(group: str) -> list[Requirement]:
    """What pyproject.toml lists for a group, the library's own dependencies and nested groups included; these alone
    without a group.
    """
    out = [Requirement(line) for line in PROJECT["dependencies"]]
    for line in PROJECT["optional-dependencies"][group] if group else []:
        one = Requirement(line)
        out += [one] if one.name != PROJECT["name"] else [r for extra in one.extras for r in requirements(extra)]
    return out


def needed(group: str) -> set[str]:
    """Every package that a group needs on this machine, as the installed packages themselves say."""
    found, todo = set(), [(r.name, r.extras) for r in requirements(group)]
    while todo:
        name, extras = todo.pop()
        if (canonicalize_name(name), frozenset(extras)) in found:
            continue
        found.add((canonicalize_name(name), frozenset(extras)))
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # another command's, and not installed here
            continue
        for one in map(Requirement, lines):
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                todo.append((one.name, one.extras))
    return {name for name, _ in found}


@pytest.mark.parametrize("group", GROUPS)
def test_the_lock_has_all_that_a_group_needs(group):
    listed = pins(course.subset(group))
    assert needed(group) <= set(listed)
    assert "setuptools" in listed, "the course's own library could not be put into the environment"
    for one in requirements(group):
        assert all(one.specifier.contains(version) for version in listed[canonicalize_name(one.name)]), one


def test_a_group_is_part_of_the_lock_and_has_hashes():
    whole = course.LOCK.read_text("utf8")
    assert set().union(*(pins(course.subset(group)) for group in GROUPS)) == set(pins(whole))
    for group in GROUPS:
        part = course.subset(group)
        assert all(line in whole for line in part.splitlines())
        for block in re.split(r"\n(?=\w)", part):
            assert "--hash=sha256:" in block, block.splitlines()[0]


def test_the_book_needs_neither_test_tools_nor_jupyterlab():
    book, forms, lab, test = (set(pins(course.subset(group))) for group in GROUPS)
    assert not book & {"jupyterlab", "pytest", "playwright", "mypy", "ruff", "hypothesis"}
    assert not lab & {"jupyter-book", "sphinx", "pytest", "playwright"}
    assert forms - book >= {"playwright", "pypdf"}
    assert book | forms | lab <= test


class Machine:
    """Stands in for the commands that would install, and notes them."""

    def __init__(self, monkeypatch, tmp_path, programs=(), failing=()):
        self.ran, self.failing = [], failing
        for name in ("LOCK", "PROJECT"):
            (tmp_path / getattr(course, name).name).write_text(getattr(course, name).read_text("utf8"), "utf8")
            monkeypatch.setattr(course, name, tmp_path / getattr(course, name).name)
        monkeypatch.setattr(course, "VENV", tmp_path / ".venv")
        monkeypatch.setattr(course, "STAMP", tmp_path / ".venv" / "installed")
        monkeypatch.setattr(course.shutil, "which", lambda name: name if name in programs else None)
        monkeypatch.setattr(course, "run", self.run)

    def run(self, *command):
        words = [str(word) for word in command]
        if "venv" in words:
            course.in_venv("python").parent.mkdir(parents=True, exist_ok=True)
            course.in_venv("python").touch()
        known = "--require-hashes" in words or words[-1].endswith("page_python.py")
        what = words[-1] if known else "library" if "--editable" in words else "environment"
        self.ran.append((Path(words[0]).stem, Path(what).stem))
        return int(Path(words[0]).stem in self.failing)

    def asked(self, group):
        """What setting up ran this time."""
        self.ran.clear()
        course.set_up(group)
        return self.ran[:]


def test_each_group_is_installed_once_and_all_anew_when_the_lock_changes(monkeypatch, tmp_path):
    machine = Machine(monkeypatch, tmp_path)
    for_pages = ("python", "page_python")
    made = [("python", "book"), ("python", "library"), for_pages]
    assert machine.asked("book")[1:] == made
    assert machine.asked("book") == []
    assert machine.asked("test") == [("python", "test"), for_pages]
    assert machine.asked("book") == machine.asked("test") == []
    with open(course.PROJECT, "a") as settings:
        settings.write("\n[tool.other]\n")
    assert machine.asked("book") == []
    with open(course.LOCK, "a") as lock:
        lock.write("# another package\n")
    assert machine.asked("book")[1:] == made
    (course.VENV / "page-python").mkdir()
    assert machine.asked("test") == [("python", "test")]


def test_uv_installs_where_it_is_present_and_pip_where_it_fails(monkeypatch, tmp_path):
    assert Machine(monkeypatch, tmp_path / "", ["uv"]).asked("lab")[1:] == [("uv", "lab"), ("uv", "library")]
    (tmp_path / "other").mkdir()
    both = Machine(monkeypatch, tmp_path / "other", ["uv"], failing=["uv"]).asked("lab")[1:]
    assert both == [("uv", "lab"), ("python", "lab"), ("uv", "library"), ("python", "library")]


def test_a_failed_installation_is_told_and_tried_again(monkeypatch, tmp_path):
    machine = Machine(monkeypatch, tmp_path)
    machine.asked("book")
    machine.failing = ["python"]
    with pytest.raises(SystemExit, match="If a hash differs, do not go on"):
        course.set_up("test")
    machine.failing = []
    assert machine.asked("test")[0] == ("python", "test")


def test_a_linked_environment_is_not_emptied(monkeypatch, tmp_path):
    """A link to another clone's .venv has the other's stamp, so this clone would clear it."""
    (tmp_path / "other").mkdir()
    (tmp_path / ".venv").symlink_to(tmp_path / "other", target_is_directory=True)
    monkeypatch.setattr(course, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(course, "STAMP", tmp_path / ".venv" / "installed")
    with pytest.raises(SystemExit, match="is a link to another folder"):
        course.set_up("book")


def test_urls_are_those_that_exist():
    """The lecture's; the repository's and the site's as soon as the configuration of the book names them."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    named = {"Repository": config["repository"]["url"], "Documentation": config["html"]["baseurl"]}
    lecture = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))["references"][0]["url"]
    assert PROJECT["urls"] == {"Lecture": lecture} | {name: url for name, url in named.items() if url}


def test_the_hook_can_be_installed_where_the_instructions_say():
    assert "pre-commit" in pins(course.subset("test")) and "pre-commit" not in pins(course.subset("lab"))
    assert "pre-commit install" in (ROOT / "CONTRIBUTING.md").read_text("utf8")
