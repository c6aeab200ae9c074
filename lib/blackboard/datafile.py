"""Rows of data, each with its sources, and their strict reading from YAML.

A row becomes a dataclass, or an error names the file, the row and the field. The types of the dataclass are the schema.
Keys must be exactly its fields (those with a default may be left out), numbers finite and not negative, dates ISO
strings, source ids listed in sources.yaml, ids unique.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from html import escape
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

DATA = Path(__file__).parent / "data"

Positive = Annotated[float, "positive"]
Date = Annotated[str, "date"]  # as exact as known: 2026, 2026-04, 2026-04-29, 2026-Q1
SourceId = Annotated[str, "source"]
Cell = Annotated[Any, "cell"]  # text or number

R = TypeVar("R", bound="Shown")
Id = TypeVar("Id", bound="Identified")


class UnknownId(KeyError):
    """An id, a precision or another name that the catalogue does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class DataError(ValueError):
    """A data file that does not hold what its rows promise."""


class At(NamedTuple):
    """The place in a data file, for messages."""

    file: str
    row: str = ""
    field: str = ""
    sources: Collection[str] | None = None  # the known source ids; None: not checked

    def __truediv__(self, key: object) -> At:
        return self._replace(field=f"{self.field}.{key}" if self.field else str(key))

    def error(self, message: str) -> DataError:
        parts = [self.file, self.row and f"row {self.row!r}", self.field and f"field {self.field}", message]
        return DataError(": ".join(part for part in parts if part))


def near(name: object, known: Iterable[str], count: int = 4) -> list[str]:
    """The known names most like this one: those that contain it first, then the similar ones."""
    name, known = str(name), list(known)
    inside = [k for k in known if name.lower() in k.lower()] if name else []
    return list(dict.fromkeys(inside + difflib.get_close_matches(name, known, count, 0.5)))[:count]


Figures = dict[str, str | tuple[float, str]]


class Identified(Protocol):
    """What a file can be read into: a dataclass with an id."""

    @property
    def id(self) -> str: ...


class Shown:
    """An object of the catalogue at the prompt: one line of its id and key figures; in a notebook a small table."""

    noun: ClassVar[str]
    id: str

    def figures(self) -> Figures:
        """Its key figures by what they are: in words, or a value and its unit."""
        raise NotImplementedError

    def doubts(self) -> str:
        """What of it no primary source confirms, by field; empty if all is confirmed."""
        return ""

    def _lines(self) -> dict[str, str]:
        from blackboard.units import pretty

        figures = self.figures() | ({"unconfirmed": self.doubts()} if self.doubts() else {})
        return {name: told if isinstance(told, str) else pretty(*told, exact=True) for name, told in figures.items()}

    def __repr__(self) -> str:
        return f"<{self.noun} {self.id}: {', '.join(f'{name} {value}' for name, value in self._lines().items())}>"

    def _repr_html_(self) -> str:
        line = '<tr><th scope="row">{}</th><td>{}</td></tr>'
        rows = "".join(line.format(escape(name), escape(value)) for name, value in self._lines().items())
        return f"<table><caption>{self.noun} <code>{escape(self.id)}</code></caption><tbody>{rows}</tbody></table>"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Source(Shown):
    """Where a value comes from; `dated` says whether the date is that of publication or that of reading."""

    noun: ClassVar[str] = "source"
    id: str
    title: str
    where: str  # a URL, arXiv:number, or github:owner/repository@commit:path
    date: Date
    dated: Literal["published", "read"]
    kind: Literal["vendor", "primary", "secondary", "press"]

    def figures(self) -> Figures:
        return {"title": self.title, self.dated: self.date, "kind": self.kind, "at": self.url}

    @property
    def url(self) -> str:
        """A link that a browser opens."""
        if self.where.startswith("arXiv:"):
            return f"https://arxiv.org/abs/{self.where[6:]}"
        if match := re.fullmatch(r"github:([^@]+)@([^:]+):?(.*)", self.where):
            return "https://github.com/{}/tree/{}/{}".format(*match.groups()).rstrip("/")
        return self.where


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Row(Shown):
    """What every row has. Rows are compared by identity: each is loaded once."""

    id: str
    confirmed: bool
    unconfirmed: dict[str, str] = field(default_factory=dict)  # field, or field.part, to the reason
    note: str = ""
    sources: tuple[SourceId, ...]

    def __post_init__(self) -> None:
        names = {f.name for f in fields(self)}
        for key in self.unconfirmed:
            if key.split(".")[0] not in names:
                raise ValueError(f"unconfirmed: {key!r} is no field of a {type(self).__name__}")
        object.__setattr__(self, "unconfirmed", MappingProxyType(dict(self.unconfirmed)))

    def caveat(self, name: str) -> str | None:
        """Why the value of a field (or of a part, `scale_up.bytes_per_s`) is uncertain; None if it is confirmed."""
        if not hasattr(self, name.split(".")[0]):
            raise AttributeError(f"a {type(self).__name__} has no field {name!r}")
        within = lambda a, b: a == b or a.startswith(b + ".")
        why = [text for key, text in self.unconfirmed.items() if within(key, name) or within(name, key)]
        return "; ".join(why) or (None if self.confirmed else "no primary source confirms this row")

    def doubts(self) -> str:
        return ", ".join(self.unconfirmed) if self.confirmed else "all"

    @property
    def date(self) -> str:
        """Date of the newest source of the row."""
        return max(find(Source, id).date for id in self.sources)

    def check(self, folder: Path) -> None:
        """Raise ValueError if the row does not fit the other files of its folder."""


@cache
def load(kind: type[R], folder: Path = DATA) -> Mapping[str, R]:
    """All rows of a kind by id; the file is read and checked the first time."""
    path = folder / f"{kind.noun}s.yaml"
    rows = read(path, kind, None if kind is Source else load(Source, folder))
    for row in rows.values():
        try:
            getattr(row, "check", lambda _: None)(folder)
        except ValueError as error:
            raise At(path.name, row.id).error(str(error)) from error
    return MappingProxyType(rows)


def find(kind: type[R], id: str) -> R:
    """One row of a kind, or UnknownId with the near ids."""
    rows: Mapping[str, R] = load(kind)  # type: ignore[arg-type]  # a class is hashable
    if not isinstance(id, str) or id not in rows:
        close = near(id, rows)
        hint = f"near: {', '.join(close)}; " if close else ""
        raise UnknownId(f"no {kind.noun} {id!r}; {hint}{kind.noun}s() lists all {len(rows)}")
    return rows[id]


# --- reading ---------------------------------------------------------------------------------------------------------


def read(path: Path, kind: type[Id], sources: Collection[str] | None = None) -> dict[str, Id]:
    """The rows of a file, by id, as dataclasses of a kind."""
    at, rows = At(path.name, sources=sources), {}
    for number, value in enumerate(_parse(path), 1):
        id = value.get("id") if isinstance(value, dict) else None
        here = at._replace(row=str(id or f"number {number}"))
        if id in rows:
            raise here.error("this id is used twice")
        row = _record(kind, value, here)
        rows[row.id] = row
    return rows


def _parse(path: Path) -> list:
    import yaml

    try:
        parsed = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise DataError(f"{path.name}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise DataError(f"{path.name}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(parsed, list):
        raise DataError(f"{path.name}: expected a list of rows")
    return parsed


@cache
def _schema(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Field types of a dataclass, and which fields must be there."""
    hints = get_type_hints(kind, include_extras=True)
    required = (f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)
    return {f.name: hints[f.name] for f in fields(kind)}, frozenset(required)


def _record(kind: Any, value: Any, at: At) -> Any:
    """A mapping as a dataclass, with exactly its keys."""
    types, required = _schema(kind)  # type: ignore[arg-type]  # a class is hashable
    if not isinstance(value, dict):
        raise at.error(f"expected a mapping of {', '.join(types)}, not {value!r}")
    for key in value:
        if key not in types:
            raise (at / key).error(f"unknown key; near: {', '.join(near(key, types)) or ', '.join(types)}")
    for key in types:
        if key in required and key not in value:
            raise (at / key).error("missing")
    made = {key: _make(types[key], item, at / key) for key, item in value.items()}
    try:
        return kind(**made)
    except ValueError as error:  # the row's own checks, over several fields
        raise at.error(str(error)) from error


def _make(kind: Any, value: Any, at: At) -> Any:
    """A parsed value as the type of its field."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _CHECKS[args[1]](_make(args[0], value, at), at)
    if origin in (Union, UnionType):
        return _one_of(args, value, at)
    if origin is tuple:
        if not isinstance(value, list):
            raise at.error(f"expected a list, not {value!r}")
        return tuple(_make(args[0], item, at / number) for number, item in enumerate(value, 1))
    if origin is dict:
        if not isinstance(value, dict):
            raise at.error(f"expected a mapping, not {value!r}")
        return {_make(args[0], key, at): _make(args[1], item, at / key) for key, item in value.items()}
    if origin is Literal:
        if value not in args:
            raise at.error(f"expected one of {', '.join(args)}, not {value!r}")
        return value
    return _record(kind, value, at) if is_dataclass(kind) else _scalar(kind, value, at)


def _one_of(kinds: tuple, value: Any, at: At) -> Any:
    """None where that is allowed; of several dataclasses the one that the key `kind` names."""
    if value is None and NoneType in kinds:
        return None
    kinds = tuple(k for k in kinds if k is not NoneType)
    if len(kinds) == 1:
        return _make(kinds[0], value, at)
    named = {k.kind: k for k in kinds}
    name = value.get("kind") if isinstance(value, dict) else None
    if name not in named:
        raise (at / "kind").error(f"expected one of {', '.join(named)}, not {name!r}")
    return _record(named[name], value, at)


def _scalar(kind: Any, value: Any, at: At) -> Any:
    if kind is Any:
        return value
    accepted = {float: (int, float)}.get(kind, kind)
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise at.error(f"expected {_NAMES.get(kind, kind)}, not {value!r}")
    if kind in (int, float) and not 0 <= value < math.inf:
        raise at.error(f"expected a finite number, not negative; got {value!r}")
    return float(value) if kind is float else value


_NAMES = {str: "text (dates in quotes)", int: "a whole number", float: "a number", bool: "true or false"}


def _positive(value: float, at: At) -> float:
    if not value > 0:
        raise at.error(f"expected more than 0, not {value!r}")
    return value


def _date(value: str, at: At) -> str:
    if not re.fullmatch(r"\d{4}(-(0[1-9]|1[0-2])(-([0-2]\d|3[01]))?|-Q[1-4])?", value):
        raise at.error(f"expected a date such as 2026-04-29, 2026-04, 2026-Q2 or 2026, not {value!r}")
    return value


def _source(value: str, at: At) -> str:
    if at.sources is not None and value not in at.sources:
        raise at.error(f"source {value!r} is not in sources.yaml; near: {', '.join(near(value, at.sources)) or 'none'}")
    return value


def _cell(value: Any, at: At) -> Any:
    if not isinstance(value, (str, int, float)) or value != value:
        raise at.error(f"expected text or a number, not {value!r}")
    return value


_CHECKS: dict[str, Callable[[Any, At], Any]] = {"positive": _positive, "date": _date, "source": _source, "cell": _cell}
