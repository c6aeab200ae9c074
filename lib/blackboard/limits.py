"""Limits on a reader's code: how long it runs, and how much memory a single call takes.

`Limit` looks at the clock from line to line, and says which line runs on. A call such as `sum(itertools.count())` has
no lines, and nothing inside Python ends it, so `run_apart` runs code in a copy of the process, which the system ends.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import linecache
import math
import os
import pickle
import select
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn, TypeVar

READER = "<your code>"  # the file name under which a reader's text is compiled; an earlier step's has its name added
LOOK = 8  # lines that run from one look at the clock to the next: in a page a look takes longer than a line
WATCH = 0.05  # of the time, that it goes on after its end
WATCHED = 200  # lines that it sees meanwhile at least, as a busy machine may give it no turn; for half the time at most
LINE = 80  # characters of a line that a message quotes
MEMORY = 2 << 30  # bytes that code may take on top of what its process has
PATIENCE = 60.0  # seconds on the clock for a copy, which waits when it needs no more time of a processor
Result = TypeVar("Result")


# --- a line at a time ------------------------------------------------------------------------------------------------


class TooSlow(BaseException):
    """The time is over. No `except Exception` of a reader catches it."""


def place(file: str, line: int) -> str:
    """A line of a reader's code, with the step whose code it is where that is an earlier one."""
    step = file.removeprefix(READER).strip() if file.startswith(READER) else ""
    return f"line {line}" + (f" of your `{step}`" if step else "")


def keep_lines(text: str, file: str = READER) -> None:
    """Have a reader's text at hand, for messages that quote a line of it."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def quote(file: str, line: int) -> str:
    """A sentence with a line of code, as no editor numbers its lines; nothing where the code is not at hand."""
    text = linecache.getline(file, line).strip()
    return f" Line {line} is `{text[:LINE]}{' …' * (len(text) > LINE)}`." if text else ""


class Limit:
    """Ends code from given files after some seconds: every few lines it looks at the clock.

    For a moment after the end it watches each line, to find which function goes on to another one: that one loops,
    whatever it calls.

    What catches even a BaseException goes on, since Python then stops tracing; a page also has a limit of its own.
    """

    def __init__(self, files: set[str], seconds: float):
        self.files, self.seconds = files, seconds

    def __enter__(self) -> Limit:
        self._line = self._count_lines()
        self.end, self.before = time.perf_counter() + self.seconds, sys.gettrace()
        self.running: list[types.FrameType] = []  # when the time was over, the outermost first
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(self.before)

    def _call(self, frame: types.FrameType, event: str, arg: Any):
        file = frame.f_code.co_filename
        if file not in self.files and not file.startswith(READER):  # as _is_own has it; a call more is felt here
            return None
        if sys.version_info < (3, 12):  # where a loop within one line makes no events of lines
            frame.f_trace_opcodes = _loops_in_line(frame.f_code)
        return self._line

    def _count_lines(self) -> Callable:
        """What is called at each line; not a method, since this is most of what a check costs."""
        clock, left = time.perf_counter, LOOK

        def line(frame: types.FrameType, event: str, arg: Any):
            nonlocal left
            left -= 1
            if left <= 0:
                if clock() > self.end:
                    self._over(frame, event)
                else:
                    left = LOOK
            return line

        return line

    def _over(self, frame: types.FrameType, event: str) -> None:
        """Watch for a moment, then raise TooSlow with the outermost function that came to another line meanwhile."""
        if not self.running:
            self.running, self.looping, self.last, self.seen = self._stack(frame), frame, _at(frame), 0
        if event == "return":
            if frame in self.running:
                del self.running[self.running.index(frame) :]
        elif frame in self.running and self.looping not in self.running[: self.running.index(frame)]:
            self.looping, self.last = frame, _at(frame)
        self.seen += 1
        late = (time.perf_counter() - self.end) / self.seconds
        if not self.running or late > (WATCH if self.seen > WATCHED else 0.5):
            still = [self.looping] if self.looping in self.running else self.running[-1:]
            name, file, line = _at(still[0]) if still else self.last
            raise TooSlow(f"{name}, {place(file, line)}", quote(file, line))

    def _stack(self, frame: types.FrameType | None) -> list[types.FrameType]:
        """The frames of a reader's code, the outermost first."""
        own = []
        while frame:
            if frame.f_code.co_filename in self.files or frame.f_code.co_filename.startswith(READER):
                own.append(frame)
            frame = frame.f_back
        return own[::-1]


def _at(frame: types.FrameType) -> tuple[str, str, int]:
    """The function, the file and the line that a frame is at."""
    return frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno


@cache
def _loops_in_line(code: types.CodeType) -> bool:
    """True where a loop may stay within one line: a jump back leads to the line that it comes from."""
    steps, line, lines = list(dis.get_instructions(code)), 0, {}
    for step in steps:
        line = lines[step.offset] = step.starts_line or line
    back = [step for step in steps if step.opcode in dis.hasjrel and step.argval <= step.offset]
    return any(lines[step.offset] == lines[step.argval] for step in back)


# --- a copy of the process --------------------------------------------------------------------------------------------


class Endless(Exception):
    """The copy was ended: it used up its time in calls that never reached another line."""


def run_apart(call: Callable[[], Result], seconds: float) -> Result:
    """What a call returns, in a copy of this process that gets so many seconds of a processor; Endless beyond them.

    Windows makes no such copies: there the call runs here. It does so as well where the copy brought no result, for
    instance because it met a lock that another thread held.
    """
    if sys.platform in ("linux", "darwin"):
        with contextlib.suppress(OSError):  # no room for a copy
            child, answer = _copy(call, seconds)
            held = _read(child, answer)
            if held:
                return pickle.loads(held)
    return call()


def _copy(call: Callable[[], Any], seconds: float) -> tuple[int, int]:
    """The copy, which is at work on the call, and the end of the pipe that its result comes from."""
    answer, out = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that other threads are not copied
        child = os.fork()
    if not child:
        _work(call, out, seconds)
    os.close(out)
    return child, answer


def _work(call: Callable[[], Any], out: int, seconds: float) -> NoReturn:
    """The copy's whole life. It has this process's connections too, and leaves them alone."""
    try:
        builtins.input = nobody
        _limit_copy(seconds)
        with open(out, "wb") as pipe:
            pipe.write(pickle.dumps(call()))
    finally:
        os._exit(0)


def nobody(*_: Any) -> NoReturn:
    """What happens where code would read what is typed."""
    raise EOFError("nobody can type an answer here, so write the value into your code instead of input()")


def _limit_copy(seconds: float) -> None:
    import resource  # which Windows has not

    limit = lambda name, most: resource.setrlimit(name, (most, resource.getrlimit(name)[1]))
    limit(resource.RLIMIT_CPU, math.ceil(seconds))
    limit(resource.RLIMIT_CORE, 0)
    with contextlib.suppress(OSError, ValueError):  # macOS does not say how much there is, nor keep to a limit
        with open("/proc/self/statm") as sizes:
            pages = int(sizes.read().split()[0])
        limit(resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY)


def _read(child: int, answer: int) -> bytes:
    """The result of a copy, which is no more after that; nothing where it brought none."""
    try:
        with open(answer, "rb") as pipe:
            held = pipe.read() if select.select([pipe], [], [], PATIENCE)[0] else b""
    finally:
        os.kill(child, signal.SIGKILL)  # its end is not known before it is waited for, so the number is still its own
        status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        raise Endless
    return held
