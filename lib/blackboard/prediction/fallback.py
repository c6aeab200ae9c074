"""Constants where none are sourced for a chip and a format: those that predict_serving takes of its own accord, as far
as a step has them.

Of an engine under load a step takes the shares of bandwidth, products and links, and the gaps between kernels, and
leaves out what the host and the answers take. The error to expect is therefore one of steps, not of servers: that of
published steps that the constants were not fitted on, and for which they were as far away
(validation.serving_slices.step_errors).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blackboard.catalogue import Chip, Model
from blackboard.formula import Calibration
from blackboard.prediction.calibration import BOTH, KINDS, HeldOut, kind
from blackboard.prediction.serving_calibration import LINKS, sourced
from blackboard.prediction.serving_constants import STEP_ERRORS
from blackboard.prediction.serving_steps import ENGINES, kernels

ENGINE = "vllm"  # of predict_serving where none is asked for


@dataclass(frozen=True)
class Fallback(Calibration):
    """A calibration that knows what nothing is sourced for, what it is instead, and how near that is."""

    description: str = ""
    fallback: str = ""  # chip, format and kind of model that nothing is sourced for
    near: str = ""  # "chip", "generation" or "engine", as in serving_calibration.NEAR

    def beware(self, chip: Chip, precision: str, model: Model, phase: str) -> list[str]:
        """That it is no more than a fallback."""
        return [f"no sourced constants for {self.fallback}: fell back on those of {ENGINES[ENGINE]} under load"]

    def expected_error(self, model: Model) -> HeldOut:
        """How far off such constants were on published steps of this kind of model that were as far from the fit."""
        return HeldOut(*STEP_ERRORS[kind(model)][self.near])


def fall_back(chip: Chip, precision: str, model: Model) -> Fallback:
    """Constants for a step of any model on any chip in any format."""
    found = sourced(ENGINE, chip, model)
    return Fallback(
        "fallback",
        found.source,
        of_a_step(found.values, model),
        f"fallback on an engine under load, {found.description}",
        f"{chip.id} in {precision}, {KINDS[kind(model)]}",
        found.near,
    )


def of_a_step(values: Mapping[str, float], model: Model) -> dict[str, float]:
    """What a step has of an engine's constants; its gaps are a layer's."""
    gaps = values["gap_time"] * kernels(model) / model.layers
    return {name: values[name] for name in (*BOTH, *LINKS)} | {"layer_overhead": gaps, "serial_share": 1.0}
