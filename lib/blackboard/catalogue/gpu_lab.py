"""What `tools/gpu_lab.py` measured on single GPUs, row by row."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from blackboard.catalogue.datafile import DATA

CHIPS = ("h200", "h100-sxm")  # that were measured, by the catalogue's ids

Measured = dict[str, Any]  # one row of the lab


class Lab(Struct, frozen=True, forbid_unknown_fields=True):
    """What the program wrote on one machine: seconds are medians, sizes are in bytes, FLOP and tokens."""

    machine: str
    memory_bytes: int
    software: str
    date: str
    rows: tuple[Measured, ...]


@cache
def lab(chip_id: str) -> Lab:
    """The rows of one GPU."""
    return msgspec.convert(yaml.safe_load((DATA / "gpu_lab" / f"{chip_id}.yaml").read_text("utf8")), Lab)


def rows(chip_id: str, part: str, **where: Any) -> list[Measured]:
    """The rows of one part that have these values."""
    return [row for row in lab(chip_id).rows if row["part"] == part and where.items() <= row.items()]


def only(chip_id: str, part: str, **where: Any) -> Measured:
    """The one row that has these values."""
    [row] = rows(chip_id, part, **where)
    return row


def slowdowns(way: str) -> list[float]:
    """The time of a training step divided by that of one that stores everything, for all depths on all GPUs."""
    stored = lambda chip_id, depth: only(chip_id, "training", way="stored", depth=depth)["seconds"]
    timed = ((chip_id, row) for chip_id in CHIPS for row in rows(chip_id, "training", way=way))
    return [row["seconds"] / stored(chip_id, row["depth"]) for chip_id, row in timed]
