"""Run code that a student handed in, in a process of its own with limits: time, memory, files, environment.

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
from typing import IO, Any

from blackboard.answers import Unreadable

SECONDS = 5
LONGEST = 20_000  # characters of a function
# Around what is run: it gets `asked`, makes `told`, and calls `limit()` before a student's code.
BEFORE = """
import json, os, sys
try:
    import resource
except ImportError:  # Windows has none
    resource = None
def limit():
    if resource:
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        for name, most in (("CPU", int(used) + SECONDS), ("AS", 2 << 30), ("FSIZE", 4 << 20), ("CORE", 0)):
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
asked, out = json.load(sys.stdin), os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a student's code prints is no result
try:
"""
AFTER = """
except BaseException as error:
    told = {"error": f"{type(error).__name__}: {error}"[:200]}
out.write(json.dumps(told))
out.flush()
os._exit(0)
"""
FUNCTION = """
    limit()
    space = {"__name__": "answer"}
    exec(compile(asked["source"], "answer", "exec"), space)
    function = [each for name, each in space.items() if callable(each) and not name.startswith("__")][-1]
    told = {"values": [float(function(**point)) for point in asked["points"]]}
"""


def _end(process: subprocess.Popen) -> None:
    """End a process and what it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _start(code: str, folder: str, out: IO[bytes]) -> subprocess.Popen:
    needed = {
        name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ
    }  # Windows starts nothing without
    kept = [f"-Xpycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
    return subprocess.Popen(
        [sys.executable, "-I", "-B", *kept, "-c", code],
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=needed,
        start_new_session=True,
    )


def run_limited(code: str, asked: Mapping[str, Any], seconds: int, wall: float) -> dict[str, Any]:
    """What code makes of what it is asked, within so many seconds of CPU time and on the clock; Unreadable where that
    is nothing.
    """
    code = BEFORE.replace("SECONDS", str(seconds)) + code + AFTER
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out:
        process = _start(code, folder, out)
        try:
            process.communicate(json.dumps(asked).encode(), timeout=wall)
        except subprocess.TimeoutExpired:
            _end(process)
            raise Unreadable("The function took too long.") from None
        out.seek(0)
        return _read(out.read(4 << 20))


def _read(out: bytes) -> dict[str, Any]:
    try:
        told = json.loads(out)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise Unreadable("The function ended its process: it took too long or too much memory.")
    if "error" in told:
        raise Unreadable(f"The function failed. {told['error']}.")
    return told


def run_source(source: str, points: Sequence[Mapping[str, float]]) -> list[float]:
    """The function's values at the points; Unreadable where it yields none within the limits."""
    if len(source) > LONGEST:
        raise Unreadable(f"The function is longer than {LONGEST:,} characters.")
    told = run_limited(FUNCTION, {"source": source, "points": list(points)}, SECONDS, 2 * SECONDS)
    values = told.get("values")
    if not isinstance(values, list) or len(values) != len(points) or not all(type(each) is float for each in values):
        raise Unreadable("The function must return one number.")
    return values
