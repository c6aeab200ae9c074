"""What README shows works for someone who installs the library and nothing else."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import msgspec
import pytest
from test_install import PROJECT, course, needed

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^    (\S.*?)(?:\s+#.*)?$", README, re.MULTILINE)

# Placed in the clean environment: of this one's packages, it finds only those that the library declares.
GUARD = """
import sys
from importlib.machinery import PathFinder
from importlib.metadata import DistributionFinder, MetadataPathFinder
class Declared:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [HOME]) if path is None and name in ALLOWED else None
    @staticmethod
    def find_distributions(context):
        return MetadataPathFinder.find_distributions(DistributionFinder.Context(name=context.name, path=[HOME]))
sys.meta_path.append(Declared)
"""
SHOW = """
import ast, sys
code = ast.parse(sys.stdin.read())
for line in code.body:
    exec(compile(ast.Interactive([line]), "README.md", "single"))
"""


def modules(packages: set[str]) -> list[str]:
    """Top-level modules of installed packages."""
    plain = lambda names: {course.plain(name) for name in names}
    return [top for top, names in metadata.packages_distributions().items() if plain(names) & packages]


@pytest.fixture(scope="session")
def clean(tmp_path_factory) -> Path:
    """The programs of an environment into which the built wheel was installed, with its dependencies and no more."""
    place = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    shutil.copytree(ROOT / "lib", place / "lib", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    build = "from setuptools import build_meta; print(build_meta.build_wheel('.'))"
    wheel = subprocess.check_output([sys.executable, "-c", build], cwd=place, text=True).split()[-1]
    subprocess.run([sys.executable, "-m", "venv", place / "env"], check=True)
    paths = sysconfig.get_paths("venv", {"base": str(place / "env"), "platbase": str(place / "env")})
    install = ["install", "--quiet", "--no-deps", "--no-index", place / wheel]
    subprocess.run([Path(paths["scripts"]) / "python", "-m", "pip", *install], check=True)
    home = Path(paths["purelib"])
    known = f"HOME, ALLOWED = {sysconfig.get_path('purelib')!r}, {modules(needed(''))}\n"
    (home / "declared.py").write_text(known + GUARD)
    (home / "declared.pth").write_text("import declared\n")
    rows = Path(msgspec.__file__).parent  # a type checker asks no finder, and rows of data are of this package's type
    shutil.copytree(rows, home / rows.name)
    return Path(paths["scripts"])


def run(clean: Path, program: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess:
    """A program of the clean environment, far from the repository."""
    kept = ("PYTHONPYCACHEPREFIX",)  # where SymPy is compiled already
    environment = {key: value for key, value in os.environ.items() if key in kept or not key.startswith("PYTHON")}
    return subprocess.run(
        [str(clean / program), *arguments],
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment | {"PYTHONIOENCODING": "utf-8"},
        cwd=clean,
    )


def test_only_declared_packages_can_be_imported_and_they_are_enough(clean):
    for name in ("pytest", "matplotlib", "altair"):
        assert f"No module named '{name}'" in run(clean, "python", "-c", f"import {name}").stderr
    found = run(clean, "python", "-c", "import blackboard; print(blackboard.__file__, blackboard.__version__)")
    assert str(clean.parent) in found.stdout and found.stdout.split()[-1] == PROJECT["version"], found.stderr
    assert metadata.version("numpy") in run(clean, "python", "-c", "import numpy; print(numpy.__version__)").stdout


DRAWING = {"figures", "charts", "drawing", "cost_charts", "serving_figures", "gpu_figures"}  # need the extra `draw`
EVERY = """
import importlib, pkgutil, blackboard
for found in pkgutil.walk_packages(blackboard.__path__, "blackboard."):
    if not found.name.endswith("__main__"):
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            print(found.name, error.name.partition(".")[0])
"""


def test_every_module_imports_but_those_that_draw(clean):
    """What cannot be imported without the extra `draw` says so by name, and it is only what draws."""
    done = run(clean, "python", "-c", EVERY)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        module, missing = line.split()
        assert missing == "matplotlib" and module.rpartition(".")[2] in DRAWING, line


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_a_snippet_runs_and_what_it_shows_is_short(clean, snippet):
    done = run(clean, "python", "-c", SHOW, given=snippet)
    assert done.returncode == 0, done.stderr
    assert done.stdout and max(map(len, done.stdout.splitlines())) < 400


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works(clean, command):
    """What the library brings is run; what the repository brings is only known."""
    program, *arguments = shlex.split(command)
    if program == "blackboard":
        done = run(clean, program, *arguments)
        assert done.returncode == 0 and done.stdout, done.stderr
    elif program == "make":
        assert arguments[0] in course.COMMANDS
        assert re.search(rf"^[a-z ]*\b{arguments[0]}\b.*:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif program == "python":
        assert arguments[0] == "tools/course.py" and arguments[1] in course.COMMANDS
    else:
        assert [program, arguments[0]] == ["pip", "install"]
        extra = re.fullmatch(r"\.(?:\[(\w+)\])?", arguments[1])[1]
        assert extra is None or extra in PROJECT["optional-dependencies"]


def test_readme_shows_the_command_in_all_its_forms(clean):
    """A guard of the two tests above: they found something to try."""
    assert len(SNIPPETS) == 2 and {"predict", "validate", "list"} <= {c.split()[1] for c in COMMANDS}
    listed = run(clean, "blackboard", "list").stdout
    assert listed and listed == run(clean, "python", "-m", "blackboard", "list").stdout


def test_the_result_on_the_first_screen_is_what_the_command_prints(clean):
    command, shown = re.search(r"```text\n\$ (.*?)\n(.*?)```", README, re.DOTALL).groups()
    assert README.index(command) < README.index("![") and run(clean, *shlex.split(command)).stdout == shown


WRONG = """
predict("llama-3.1-70b", chips=8)
predict("llama-3.1-70b", chip="h100-sxm", batch="many")
model("deepseek-v3").n_totl
"""


def test_a_type_checker_takes_readme_and_refuses_slips(clean, tmp_path):
    """The types of the installed package are seen: a missing argument, a wrong type and an unknown name are found."""
    code = "".join(SNIPPETS)
    (tmp_path / "readme.py").write_text(code + WRONG)
    options = ["--python-executable", clean / "python", "--cache-dir", tmp_path, "--config-file", os.devnull]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "readme.py"], cwd=tmp_path, capture_output=True, text=True
    )
    errors = re.findall(r"^readme.py:(\d+): error:.*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    first = code.count("\n") + 2
    assert errors == [(str(first), "call-arg"), (str(first + 1), "arg-type"), (str(first + 2), "attr-defined")], (
        done.stdout + done.stderr
    )
