"""A reader's code: how it is run, for how long, what it prints, and the verdict on code that an exception ended."""

from __future__ import annotations

import inspect
import io
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from blackboard.limits import READER, Limit, TooSlow, keep_lines, place, quote

LONGEST = 600  # characters of what a reader's code prints
SECONDS = 5.0
FASTER = (
    "Take larger steps, or halve the range again and again (bisection), 60 times or so: the ends of a range of"
    " fractions may never meet."
)
NO_MODULE = " A lab is plain Python: lists, loops and the standard library are enough."
HEADS = {
    "right": "Right.",
    "wrong": "Not yet.",
    "nothing": "Not yet.",
    "crash": "Not yet.",
    "slow": "Stopped.",
    "signature": "Not yet.",
    "missing": "Not yet.",
    "syntax": "Python cannot read this.",
    "unattempted": "Not attempted.",
}


@dataclass(frozen=True)
class Verdict:
    """What was found: its `kind` (one of HEADS), a sentence, the call that showed it, the check, what was printed."""

    kind: str
    message: str
    call: str = ""
    check: str = ""
    printed: str = ""

    @property
    def ok(self) -> bool:
        return self.kind == "right"

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        printed = f"Your code printed:\n{self.printed.rstrip()}" if self.printed else ""
        return "\n".join(part for part in (self.call, f"{HEADS[self.kind]} {self.message}", printed) if part)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        call = f"`{self.call}`\n\n" if self.call else ""
        printed = f"\n\nYour code printed:\n\n````text\n{self.printed.rstrip()}\n````" if self.printed else ""
        return f"{call}**{HEADS[self.kind]}** {self.message}{printed}"


def _is_own(file: str, files: Collection[str]) -> bool:
    """True for a file of the code on trial, and for an earlier step of the reader's, which has no file of its own."""
    return file in files or file.startswith(READER)


class Printed(io.StringIO):
    """What is printed, up to a length: a loop that prints would fill the memory. A line that an earlier step printed
    begins with its name.
    """

    def __init__(self, longest: int = LONGEST):
        super().__init__()
        self.longest, self.begins = longest, True

    def taken(self) -> str:
        """What was printed since it was last taken."""
        if not self.tell():
            return ""
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        self.begins = True
        return text

    def write(self, text: str) -> int:
        if not text or self.tell() > self.longest:
            return len(text)
        step = _printing_step() if self.begins else ""
        self.begins = text.endswith("\n")
        super().write(f"{step and f'(your {step}) '}{text}"[: self.longest])
        return len(text)


def _printing_step() -> str:
    """The earlier step whose code is printing; nothing where it is the code on trial."""
    frame = inspect.currentframe()
    while frame and not frame.f_code.co_filename.startswith(READER):
        frame = frame.f_back
    return frame.f_code.co_filename.removeprefix(READER).strip() if frame else ""


def run_text(text: str, space: dict[str, Any], seconds: float = SECONDS, step: str = "") -> None:
    """Run a reader's text in a space of names, for some seconds at most; `step` names the earlier step that it is."""
    file = f"{READER} {step}".strip()
    keep_lines(text, file)
    with Limit({READER}, seconds):
        exec(compile(text, file, "exec"), space)


def _where(error: BaseException, files: Collection[str]) -> tuple[str, str]:
    """The last line of a reader's code that an exception passed: its place, and a sentence that quotes it."""
    lines, step = [], error.__traceback__
    while step:
        file = step.tb_frame.f_code.co_filename
        if _is_own(file, files):
            lines.append((file, step.tb_lineno))
        step = step.tb_next
    return (f" in {place(*lines[-1])}", quote(*lines[-1])) if lines else ("", "")


def stopped(error: BaseException, files: Collection[str] = (READER,), shown_call: str = "") -> Verdict:
    """The verdict on code that an exception ended; Ctrl+C in a notebook is no such exception."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, SyntaxError) and error.filename == READER:
        line = error.lineno or 1
        return Verdict("syntax", f"Line {line}: {error.msg}.{quote(READER, line)}")
    if isinstance(error, TooSlow):
        place, quoted = error.args
        words = (
            f"Your code ran for too long ({place}). Either a loop there has no end, or it takes too many steps. Look at"
            f" what ends it. If something does: {FASTER[0].lower()}{FASTER[1:]}{quoted}"
        )
        return Verdict("slow", words, shown_call)
    if isinstance(error, MemoryError):
        return Verdict("slow", "Your code asked for more memory than there is.", shown_call)
    words = f"{type(error).__name__}: {_words(error)}".rstrip(": ")
    place, quoted = _where(error, files)
    instead = NO_MODULE if isinstance(error, ModuleNotFoundError) else ""
    return Verdict("crash", f"Your code stopped{place} with {words}.{quoted}{instead}", shown_call)


def _words(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:300].rstrip(".")
    except Exception:  # a reader's exception may do anything when it is printed
        return ""
