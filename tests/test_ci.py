"""Continuous integration and the hook before a commit do what the course's commands do, and nothing else."""

import itertools
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import course  # noqa: E402

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf8"))
JOBS = WORKFLOW["jobs"]
MATRIX = JOBS["test"]["strategy"]["matrix"]


def fill(text, values):
    """A text of the workflow with the matrix's values in it."""
    return re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda match: values[match[1]], text)


def combinations():
    """Each job that GitHub makes of the matrix: an `include` adds its keys to the combinations that it fits."""
    more = {entry["os"]: entry for entry in MATRIX["include"]}
    return [more[system] | {"python": python} for system, python in itertools.product(MATRIX["os"], MATRIX["python"])]


def runs(job, values):
    """The commands that a job runs, with the matrix's values in them."""
    return [fill(step["run"], values) for step in JOBS[job]["steps"] if "run" in step]


def test_every_system_runs_every_supported_python():
    assert {name.split("-")[0] for name in MATRIX["os"]} == {"ubuntu", "macos", "windows"}
    assert {tuple(map(int, version.split("."))) for version in MATRIX["python"]} == set(course.VERSIONS)
    assert {fill(JOBS["test"]["runs-on"], values) for values in combinations()} == set(MATRIX["os"])
    assert all(fill(JOBS["test"]["env"]["CHROMIUM"], values) for values in combinations())
    assert [each["os"] for each in MATRIX["include"] if each.get("every")] == ["ubuntu-latest"]


@pytest.mark.parametrize("values", combinations(), ids=lambda values: f"{values['os']}-{values['python']}")
def test_each_job_runs_the_tests_and_nothing_else(values):
    prefix = "python tools/course.py" if values["os"].startswith("windows") else "make"
    assert runs("test", values) == [f"{prefix} test"]


def test_every_command_is_one_of_the_course():
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
    for command in {line for job in JOBS for values in combinations() for line in runs(job, values)}:
        program, name = command.rsplit(" ", 1)
        assert program in ("make", "python tools/course.py") and name in course.COMMANDS and name in targets, command


def test_the_site_goes_to_pages_from_main_alone_once_all_tests_have_passed():
    assert WORKFLOW[True]["push"] == {"branches": ["main"]}, "`on` is a truth value in YAML 1.1"
    publish = JOBS["publish"]
    assert publish["if"] == "github.event_name == 'push'" and publish["needs"] == "test"
    assert runs("publish", {}) == ["make book"]
    used = {step["uses"].split("@")[0]: step.get("with", {}) for step in publish["steps"] if "uses" in step}
    assert used["actions/upload-pages-artifact"] == {"path": "_build/html"} and "actions/deploy-pages" in used
    assert publish["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
    assert WORKFLOW["permissions"] == {"contents": "read"}


def test_only_githubs_own_actions_are_used():
    steps = [step for job in JOBS.values() for step in job["steps"]]
    assert all(step["uses"].startswith("actions/") for step in steps if "uses" in step)
    assert all(("uses" in step) != ("run" in step) for step in steps)


def test_outbound_links_are_checked_every_week_apart_from_the_tests():
    """On the built pages; nothing waits for it, it may write nothing and knows no secret."""
    text = (ROOT / ".github" / "workflows" / "links.yml").read_text("utf8")
    links = yaml.safe_load(text)
    assert set(links[True]) == {"schedule", "workflow_dispatch"} and len(links[True]["schedule"]) == 1
    assert links["permissions"] == {"contents": "read"} and "secrets" not in text
    [job] = links["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make book"]
    used = {step["uses"].partition("@")[0]: step.get("with", {}) for step in job["steps"] if "uses" in step}
    assert {name for name in used if not name.startswith("actions/")} == {"lycheeverse/lychee-action"}
    arguments = shlex.split(used["lycheeverse/lychee-action"]["args"])
    assert arguments[-2:] == ["_build/html/book/*.html", "_build/html/exercises/**/*.html"]
    excluded = re.compile(arguments[arguments.index("--exclude") + 1])
    video = "https://www.youtube.com/watch?v=xmkSf5IS-zw"
    assert excluded.search(f"{video}&t=27s") and not excluded.search(video)


def test_the_hook_fetches_nothing_and_runs_what_is_installed():
    repos = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf8"))["repos"]
    hooks = [hook for repo in repos for hook in repo["hooks"]]
    assert {repo["repo"] for repo in repos} == {"local"} and {hook["language"] for hook in hooks} == {"system"}
    assert [hook["entry"].split()[:2] for hook in hooks] == [["ruff", "check"], ["ruff", "format"]]
