"""The equations against published measurements: predict a configuration, validate all predictions."""

__all__ = ["predict", "validate"]


def __getattr__(name):
    """Both need NumPy, which the registry of formulas, asking for this package's equations, does not."""
    if name == "predict":
        from blackboard.reality.entry import predict as found
    elif name == "validate":
        from blackboard.reality.validation import validate as found
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
