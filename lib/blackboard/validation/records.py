"""Reading data sets: records, numbers that stand in words, and models by their printed names."""

from __future__ import annotations

import re
from typing import Any

from blackboard.catalogue import Model, measurement, model, models
from blackboard.catalogue.datafile import DataError

Record = dict[str, Any]  # cells by column
Pair = tuple[float, float] | None  # what is printed, and what the rest gives; None where a record says nothing


def records(id: str, **where: Any) -> tuple[Record, ...]:
    """The rows of a data set, cells by column."""
    return measurement(id).records(**where)


def only(id: str, **where: Any) -> Record:
    """The one record of a data set, or of those that `where` says."""
    [record] = records(id, **where)
    return record


def listed(r: Record, column: str) -> int:
    """How many things a cell lists."""
    return len(str(r[column]).split())


def quotient(text: object, pattern: str) -> float:
    """The first of two numbers in a cell over the second."""
    over, under = map(float, re.findall(pattern, str(text)))
    return over / under


def noted(id: str, pattern: str) -> float:
    """A number that a data set's title or note gives, by a pattern with one group; DataError if neither does."""
    if not (found := re.search(pattern, f"{measurement(id).title}; {measurement(id).note}")):
        raise DataError(f"{id}: neither title nor note has {pattern!r}")
    return float(found[1].replace(",", ""))


def net(name: object) -> Model | None:
    """The catalogue's model of a printed name: "Llama 3.1 8B" and "Llama-3.1-8B-Instruct" alike; None where it has
    none.
    """
    id = str(name).lower().replace(" ", "-").split("-instruct")[0]
    return model(id) if id in {each.id for each in models()} else None


def said_before(text: object, words: str) -> float | None:
    """The number before some words of a cell."""
    found = re.search(rf"(\d+) {words}", str(text))
    return found and float(found[1])
