"""Run a function that a student handed in, in a process of its own with limits: time, memory, files, environment.

The limits keep an honest mistake from harming the grader. They are no jail: whoever grades strangers does so in a
container.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO

from blackboard.answers import Unreadable

SECONDS = 5
LONGEST = 20_000  # characters of a function
RUNNER = """
import json, os, sys
try:
    import resource
except ImportError:  # Windows has none
    resource = None
if resource:
    for name, most in (("CPU", SECONDS), ("AS", 2 << 30), ("FSIZE", 1 << 20), ("CORE", 0)):
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
asked, out = json.load(sys.stdin), os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the function prints is no result
space = {"__name__": "answer"}
try:
    exec(compile(asked["source"], "answer", "exec"), space)
    function = [each for name, each in space.items() if callable(each) and not name.startswith("__")][-1]
    told = {"values": [float(function(**point)) for point in asked["points"]]}
except BaseException as error:
    told = {"error": f"{type(error).__name__}: {error}"[:200]}
out.write(json.dumps(told))
out.flush()
os._exit(0)
"""


def _end(process: subprocess.Popen) -> None:
    """End a process and what it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _start(folder: str, out: IO[bytes]) -> subprocess.Popen:
    needed = {
        name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ
    }  # Windows starts nothing without
    return subprocess.Popen(
        [sys.executable, "-I", "-c", RUNNER.replace("SECONDS", str(SECONDS))],
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=needed,
        start_new_session=True,
    )


def run_source(source: str, points: Sequence[Mapping[str, float]]) -> list[float]:
    """The function's values at the points; Unreadable where it yields none within the limits."""
    if len(source) > LONGEST:
        raise Unreadable(f"The function is longer than {LONGEST:,} characters.")
    asked = json.dumps({"source": source, "points": list(points)}).encode()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out:
        process = _start(folder, out)
        try:
            process.communicate(asked, timeout=2 * SECONDS)
        except subprocess.TimeoutExpired:
            _end(process)
            raise Unreadable("The function took too long.") from None
        out.seek(0)
        return _read_values(out.read(1 << 20), len(points))


def _read_values(out: bytes, count: int) -> list[float]:
    try:
        told = json.loads(out)
        values = told.get("values", [])
    except (ValueError, AttributeError, RecursionError):
        raise Unreadable("The function ended its process: it took too long or too much memory.") from None
    if "error" in told:
        raise Unreadable(f"The function failed. {told['error']}.")
    if len(values) != count or not all(type(value) is float for value in values):
        raise Unreadable("The function must return one number.")
    return values
