"""Predict a whole configuration: one step (`predict`), or a server under load (`predict_serving`)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blackboard.prediction.configuration import predict as predict
    from blackboard.prediction.serving import predict_serving as predict_serving

__all__ = ["predict", "predict_serving"]


def __getattr__(name: str) -> Any:
    """They need NumPy, which the registry of formulas, asking for this package's equations, does not."""
    if name == "predict":
        from blackboard.prediction.configuration import predict

        return predict
    if name == "predict_serving":
        from blackboard.prediction.serving import predict_serving

        return predict_serving
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
