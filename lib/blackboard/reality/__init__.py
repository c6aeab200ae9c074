"""The equations against published measurements: predict a configuration, validate all predictions."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blackboard.reality.entry import predict as predict
    from blackboard.reality.validation import validate as validate

__all__ = ["predict", "validate"]
_HOMES = {"predict": "entry", "validate": "validation"}


def __getattr__(name: str) -> object:
    """Both need NumPy, which the registry of formulas, asking for this package's equations, does not."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"blackboard.reality.{_HOMES[name]}"), name)
