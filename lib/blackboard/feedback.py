"""What a reader is told of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from blackboard.text import markup

HEADS = {
    "right": "Right.",
    "close": "Close.",
    "wrong": "Not yet.",
    "misconception": "Not yet.",
    "unit": "Wrong unit.",
    "prefix": "Right up to a prefix.",
    "type": "I could not read that.",
    "unanswered": "Not attempted.",
}


@dataclass(frozen=True)
class Feedback:
    """A verdict: `ok`, its `kind` (one of HEADS), and one message, as plain text, Markdown or HTML."""

    kind: str
    message: str

    @property
    def ok(self) -> bool:
        """True when the answer is right."""
        return self.kind == "right"

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return f"{HEADS[self.kind]} {self.message}".strip()

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return f"**{HEADS[self.kind]}** {self.message}"

    def _repr_html_(self) -> str:
        return (
            f'<p class="feedback {self.kind}" role="status"><strong>{HEADS[self.kind]}</strong>'
            f" {markup(self.message)}</p>"
        )


class Band(NamedTuple):
    """Answers from `low` to `high` get this verdict."""

    low: float
    high: float
    kind: str
    message: str
