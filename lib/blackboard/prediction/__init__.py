"""Predict a whole configuration: `predict`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blackboard.prediction.configuration import predict as predict

__all__ = ["predict"]


def __getattr__(name: str) -> Any:
    """It needs NumPy, which the registry of formulas, asking for this package's equations, does not."""
    if name != "predict":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from blackboard.prediction.configuration import predict

    return predict
