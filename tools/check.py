"""What to run while editing: lint, format, types, and the tests that need no browser, no kernel, no built site and no
installation, and that are not slow. Tests that passed are left out until a file that they depend on is edited.

Run through `python tools/course.py check`; arguments go to pytest.
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
TESTS = ["pytest", "--numprocesses=logical", "--unchanged=skip", "-m", QUICK]


def start(module, *arguments, **kwargs):
    """Start a module of this Python in the project's root."""
    return subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=ROOT, **kwargs)


def main(arguments):
    """Run everything, also after a failure; types are checked while the tests run. The number of what failed."""
    begin = time.monotonic()
    types = start(*TYPES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    failed = [" ".join(command) for command in LINT if start(*command).wait()]
    failed += ["pytest"] if start(*TESTS, *arguments).wait() not in (0, NOTHING_TO_RUN) else []
    print(types.communicate()[0].strip())
    failed += ["mypy"] if types.returncode else []
    print(f"check: {'failed: ' + ', '.join(failed) if failed else 'all good'}, {time.monotonic() - begin:.0f} s")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
