"""The equations and predictions against published measurements: `validate`."""

from blackboard.validation.report import validate

__all__ = ["validate"]
