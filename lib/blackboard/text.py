"""The small markup of messages, and numbers as a page carries them."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping, Sequence

_EXPONENT = re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)e([+-]\d\d)\b")


def on_page() -> bool:
    """True while the book is built: outputs then carry what the static page needs."""
    return bool(os.environ.get("BLACKBOARD_PAGE"))


def listed(words: Sequence[str]) -> str:
    """Words in one phrase: a, b and c."""
    return f"{', '.join(words[:-1])} and {words[-1]}"


def markup(text: str) -> str:
    """HTML of a message: **bold**, `code`, $math$ and paragraphs; everything else is escaped."""
    parts = re.split(
        r"`(.+?)`", html.escape(str(text), quote=False)
    )  # every second part is code, in which nothing is marked up
    out = "".join(f"<code>{part}</code>" if n % 2 else _marked(part) for n, part in enumerate(parts))
    return "<br>".join(part for part in out.split("\n\n"))


def _marked(text: str) -> str:
    out = re.sub(r"\$\$(.+?)\$\$", r"\\[\1\\]", text, flags=re.S)
    # Math begins with a letter, or has TeX in its first word; a sum of money does neither.
    out = re.sub(r"(?<![\\\w])\$(?=[A-Za-z]|[^$\s]*\\)([^$\n]+?)\$", r"\\(\1\\)", out)
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", out)


def write_powers(text: str) -> str:
    """A page's text with powers of ten where a computer writes an exponent: 8.6e-05 is 8.6 × 10⁻⁵."""
    return _EXPONENT.sub(lambda found: f"{found[1]} × 10<sup>{int(found[2])}</sup>", text)


_RAISED = str.maketrans("-.0123456789", "⁻·⁰¹²³⁴⁵⁶⁷⁸⁹")


def superscript(number: int | str) -> str:
    """A number as it stands above the line: ⁻¹⁵, ⁰·³⁵."""
    return str(number).translate(_RAISED)


def curl(text: str) -> str:
    """Apostrophes as the prose has them, which MyST sets."""
    return text.replace("'", "’")


def digits(number: float) -> float:
    """A number to the ten digits that a page carries."""
    return float(f"{number:.10g}")


def merge(*parts: Mapping[str, str]) -> dict[str, str]:
    """One mapping of all parts; ValueError where two of them give one name, of which one would be lost unseen."""
    found: dict[str, str] = {}
    for part in parts:
        if twice := found.keys() & part.keys():
            raise ValueError(f"given twice: {', '.join(sorted(twice))}")
        found |= part
    return found
