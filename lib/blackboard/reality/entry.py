"""The entry point: a whole configuration predicted from catalogue ids.

    from blackboard.reality import predict
    p = predict("llama-3.1-70b", chip="h100-sxm", chips=8, phase="decode", batch=64, context=4096, weights="fp8", tensor=8)
    p.time, p.binds, p.tokens_per_s_per_chip, p.fits
"""

from __future__ import annotations

import math
import sys
from numbers import Integral, Real

from blackboard import catalogue
from blackboard.architecture import bytes_per_param, standard_precision
from blackboard.catalogue import Chip, Model, Rent
from blackboard.datafile import UnknownId
from blackboard.formula import IDEAL, Calibration
from blackboard.reality.calibration import auto, named
from blackboard.reality.layout import Layout
from blackboard.reality.prediction import Prediction

PHASES = ("decode", "prefill")


def predict(
    model: str | Model, *, chip: str | Chip, chips: int = 1, phase: str = "decode", batch: float = 1, context: float = 1024,
    weights: str | None = None, kv: str | None = None, compute: str | None = None, tensor: int | None = None, expert: int = 1, pipeline: int = 1, cache: str = "heads",
    calibration: str | Calibration | None = None, rent: str | Rent | None = "",
) -> Prediction:  # fmt: skip
    """One step of a model on chips of a kind: `phase` "decode" makes a token for each of `batch` sequences with `context`
    tokens behind it, "prefill" takes in `batch` prompts of `context` tokens.

    Ids or catalogue objects. `weights`, `kv` and `compute` are number formats: by default those of the released weights,
    bf16, and that of the weights if the chip has such multipliers, else bf16. `tensor`, `expert`, `pipeline` say how the model
    and its cache are cut (reality.layout); by default `tensor` takes all chips that the others leave: with expert, one. `calibration`
    None is the ideal: a floor on time; "auto" the sourced constants for this chip and precision, or the id of one. `rent` picks a confirmed
    rent by its terms; None leaves prices out.
    UnknownId, LayoutError or ValueError where something is not known or does not go together; what does not fit into memory is still
    predicted, and said in `fits` and `short`.
    """
    model = model if isinstance(model, Model) else catalogue.model(model)
    chip = chip if isinstance(chip, Chip) else catalogue.chip(chip)
    if phase not in PHASES:
        raise ValueError(f"phase must be one of {', '.join(PHASES)}, not {phase!r}")
    batch, context = _positive("batch", batch), _positive("context", context)
    weights, kv = weights or model.weights, kv or "bf16"
    compute = standard_precision(compute or (weights if _has(chip, weights) else "bf16"))
    layout = Layout(model, chip, chips, _left(chips, expert, pipeline) if tensor is None else tensor, expert, pipeline, cache)
    chip.flops(compute), model.kv_bytes(context, kv)  # refused here, not when the time is asked for
    return Prediction(layout, phase, batch, context, weights, kv, compute, _calibrated(calibration, chip, compute, model), _rented(chip, rent))


def _left(chips: int, *ways: int) -> int:
    """Chips that the other ways of cutting leave; what is no count is left to the layout to refuse."""
    for each in (chips, *ways):
        if not isinstance(each, Integral) or each < 1:
            return 1
    return max(1, chips // math.prod(ways))


def _positive(name: str, value: float) -> float:
    """The value as a number of Python's own."""
    number = int(value) if isinstance(value, Integral) else float(value) if isinstance(value, Real) else math.nan
    if isinstance(value, bool) or not 0 < number <= sys.float_info.max:
        raise ValueError(f"{name} must be a positive number, not {value!r}")
    return number


def _has(chip: Chip, precision: str) -> bool:
    try:
        return bool(chip.flops(precision))
    except UnknownId:
        bytes_per_param(precision)  # an unknown format is refused, a chip without its rate is not
        return False


def _rented(chip: Chip, rent: str | Rent) -> Rent | None:
    if rent is None or isinstance(rent, Rent):
        return rent
    try:
        return chip.rent(rent)
    except UnknownId:
        if rent:
            raise
        return None


def _calibrated(calibration: str | Calibration | None, chip: Chip, precision: str, model: Model) -> Calibration:
    if calibration is None:
        return IDEAL
    if isinstance(calibration, Calibration):
        return calibration
    return auto(chip, precision, model) if calibration == "auto" else named(str(calibration))
