"""Rows of data, each with its sources, and their strict reading from YAML.

A row becomes a `msgspec.Struct`, or an error names the file, the row and the field. The types of the struct are the
schema: keys must be exactly its fields (those with a default may be left out), quantities not negative, dates ISO
strings in quotes, source ids listed in sources.yaml, ids unique.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct, inspect

DATA = Path(__file__).parent / "data"

LARGEST = sys.float_info.max  # `.inf` and `.nan` are floats to YAML, but no quantities
Positive = Annotated[float, Meta(gt=0, le=LARGEST)]
Amount = Annotated[float, Meta(ge=0, le=LARGEST)]
Count = Annotated[int, Meta(ge=0)]
# as exact as known: 2026, 2026-Q1, 2026-04, 2026-04-29
Date = Annotated[str, Meta(pattern=r"^\d{4}(-Q[1-4]|-(0[1-9]|1[0-2])(-([0-2]\d|3[01]))?)?$")]
Cell = Any  # text or a number

R = TypeVar("R", bound="Shown")
Id = TypeVar("Id", bound="Identified")


class SourceId(str):
    """The id of a source, which sources.yaml must have."""


class UnknownId(KeyError):
    """An id, a precision or another name that the catalogue does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class DataError(ValueError):
    """A data file that does not hold what its rows promise."""

    @classmethod
    def at(cls, path: Path, row: object, message: object) -> DataError:
        return cls(f"{path.name}: row {row!r}: {message}")


def near(name: object, known: Iterable[str], count: int = 4) -> list[str]:
    """The known names most like this one: those that contain it first, then the similar ones."""
    name, known = str(name), list(known)
    inside = [k for k in known if name.lower() in k.lower()] if name else []
    return list(dict.fromkeys(inside + difflib.get_close_matches(name, known, count, 0.5)))[:count]


Figures = dict[str, str | tuple[float, str]]


class Identified(Protocol):
    """What a file can be read into: a struct with an id."""

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


class Source(Shown, Struct, frozen=True, kw_only=True, eq=False, forbid_unknown_fields=True):
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


class Row(Shown, Struct, frozen=True, kw_only=True, eq=False, forbid_unknown_fields=True):
    """What every row has. Rows are compared by identity: each is loaded once."""

    id: str
    confirmed: bool
    unconfirmed: Mapping[str, str] = {}  # field, or field.part, to the reason
    note: str = ""
    sources: tuple[SourceId, ...]

    def __post_init__(self) -> None:
        for key in self.unconfirmed:
            if key.split(".")[0] not in self.__struct_fields__:
                raise ValueError(f"unconfirmed: {key!r} is no field of a {type(self).__name__}")
        msgspec.structs.force_setattr(self, "unconfirmed", MappingProxyType(dict(self.unconfirmed)))

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
            raise DataError.at(path, row.id, error) from error
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
    """The rows of a file, by id, as structs of a kind; source ids are checked where those known are given."""
    rows: dict[str, Id] = {}
    for number, value in enumerate(_parse(path), 1):
        name = value.get("id") if isinstance(value, dict) else None
        try:
            row = msgspec.convert(value, kind, dec_hook=lambda _, id: _known_source(id, sources))
        except msgspec.ValidationError as error:
            raise DataError.at(path, name or f"number {number}", _explain(str(error), kind, value)) from error
        if row.id in rows:
            raise DataError.at(path, row.id, "this id is used twice")
        rows[row.id] = row
    return rows


def _explain(message: str, kind: type, value: Any) -> str:
    """msgspec's message, and what it leaves out: the words allowed in a field, or the keys most like an unknown one."""
    place = re.search(r" - at `(.*)`$", message)
    allowed = lambda: _allowed(inspect.type_info(kind), value, re.findall(r"\w+", place[1]) if place else [])
    if unknown := re.search(r"unknown field `(.*?)`", message):
        close = difflib.get_close_matches(unknown[1], allowed(), 3)
        message += f"; did you mean {' or '.join(close)}?" if close else f"; there are: {', '.join(allowed())}"
    elif message.startswith("Invalid"):
        message += f"; allowed: {', '.join(allowed())}"
    return f"{message.replace(f'<= {LARGEST}', 'that is finite')}; see the fields of {kind.__module__}.{kind.__name__}"


def _allowed(info: inspect.Type, value: Any, steps: list[str]) -> list[str]:
    """What a type allows at a place within a value: the keys of a struct there, the tags or words of a field."""
    kinds = info.types if isinstance(info, inspect.UnionType) else (info,)
    if words := [str(word) for each in kinds if isinstance(each, inspect.LiteralType) for word in each.values]:
        return words
    if within := next((each.item_type for each in kinds if isinstance(each, inspect.VarTupleType)), None):
        return _allowed(within, value[int(steps[0])], steps[1:])
    structs = [each for each in kinds if isinstance(each, inspect.StructType)]
    if steps and steps[0] == structs[0].tag_field:
        return [str(each.tag) for each in structs]
    here = [each for each in structs if each.tag_field is None or each.tag == value[each.tag_field]]
    fields = {field.encode_name: field.type for each in here for field in each.fields}
    return _allowed(fields[steps[0]], value[steps[0]], steps[1:]) if steps else list(fields)


def _known_source(id: str, sources: Collection[str] | None) -> SourceId:
    if sources is not None and id not in sources:
        raise ValueError(f"source {id!r} is not in sources.yaml; near: {', '.join(near(id, sources)) or 'none'}")
    return SourceId(id)


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
