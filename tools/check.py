"""Lint, format, types and tests. While editing, the tests are those that need no browser, no kernel, no built site and
no installation, and that are not slow; one that passed is left out until a file that it depends on is edited.

Run through `python tools/course.py check`, or `test` for every test (`--every` here); arguments go to pytest.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEMS = map(str, sorted((ROOT / "lib").glob("blackboard/**/problems.py")))  # a text is one line there
LINT = [
    ["ruff", "check"],
    ["ruff", "format", "--check", "lib", "tests", "tools"],
    ["ruff", "format", "--check", "--line-length=320", *PROBLEMS],
]
TYPES = ["mypy"]
NOTHING_TO_RUN = 5  # pytest's own exit status
QUICK = "not site and not notebook and not slow"
QUICK_TESTS = ["pytest", "--numprocesses=logical", "--unchanged=skip", "-m", QUICK]
EVERY_TEST = ["pytest", "--numprocesses=auto"]


def start(module, *arguments, **kwargs):
    """Start a module of this Python in the project's root."""
    return subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=ROOT, **kwargs)


def main(arguments):
    """Run everything, also after a failure; types are checked while the tests run. The number of what failed."""
    begin, every = time.monotonic(), arguments[:1] == ["--every"]
    tests = [*EVERY_TEST, *arguments[1:]] if every else [*QUICK_TESTS, *arguments]
    types = start(*TYPES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    failed = [" ".join(command) for command in LINT if start(*command).wait()]
    failed += ["pytest"] if start(*tests).wait() not in (0, None if every else NOTHING_TO_RUN) else []
    print(types.communicate()[0].strip())
    failed += ["mypy"] if types.returncode else []
    name, result = "test" if every else "check", f"failed: {', '.join(failed)}" if failed else "all good"
    print(f"{name}: {result}, {time.monotonic() - begin:.0f} s")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
