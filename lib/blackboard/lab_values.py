"""What a reader's code returned: how a message shows it, and whether it is what the course returns."""

from __future__ import annotations

from typing import Any


def count(number: float, what: str, ending: str = "s") -> str:
    """A number of things, in words: "1 byte", "2 bytes"."""
    return f"{shown(number)} {what}{'' if number == 1 else ending}"


def shown(value: Any) -> str:
    """A value as a message shows it: six digits of a number, long things cut."""
    try:
        return _shown(value)
    except Exception:  # a reader's class may do anything when it is printed
        return f"a value of the type {type(value).__name__}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        inside = ", ".join(shown(each) for each in value)
        text = f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    elif type(value) is dict:
        text = "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in value.items()) + "}"
    else:
        text = repr(value)
    return text if len(text) <= 160 else text[:150] + " …"


def same(a: Any, b: Any, tolerance: float = 1e-9) -> bool:
    """True where two results agree: numbers up to a relative tolerance, and so inside lists, tuples and dicts."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-300)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(*pair, tolerance) for pair in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key], tolerance) for key in a)
    return bool(a == b)


def is_rounded(got: Any, want: Any) -> bool:
    """True where a result is the right one but for digits that were rounded off: to a whole number, or to three digits
    or more.
    """
    if isinstance(got, (list, tuple)) and isinstance(want, (list, tuple)) and len(got) == len(want):
        return not same(got, want) and all(same(*pair) or is_rounded(*pair) for pair in zip(got, want))
    if type(got) not in (int, float) or type(want) is not float or not 0 < abs(got - want) <= 0.01 * abs(want):
        return False
    return abs(got - want) < 1 and (
        got % 1 == 0 or any(got == round(want, n) and abs(got) * 10**n > 99 for n in range(1, 13))
    )
