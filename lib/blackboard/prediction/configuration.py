"""The entry point: a whole configuration predicted from catalogue ids.

from blackboard.prediction import predict
p = predict("llama-3.1-70b", chip="h100-sxm", chips=8, phase="decode", batch=64, context=4096, weights="fp8", tensor=8)
p.time, p.binds, p.tokens_per_s_per_chip, p.fits
"""

from __future__ import annotations

import math
import sys
from numbers import Integral, Real

from blackboard import catalogue
from blackboard.catalogue import Chip, Model, Rent
from blackboard.catalogue.architecture import standard_precision
from blackboard.catalogue.datafile import UnknownId
from blackboard.formula import IDEAL, Calibration
from blackboard.prediction.calibration import auto, calibration_by_id
from blackboard.prediction.fallback import fall_back
from blackboard.prediction.layout import Layout
from blackboard.prediction.step import Prediction, multiplied

PHASES = ("decode", "prefill")


def predict(
    model: str | Model,
    *,
    chip: str | Chip,
    chips: int = 1,
    phase: str = "decode",
    batch: float = 1,
    context: float = 1024,
    weights: str | None = None,
    kv: str | None = None,
    compute: str | None = None,
    tensor: int | None = None,
    expert: int = 1,
    pipeline: int = 1,
    cache: str = "heads",
    calibration: str | Calibration | None = None,
    rent: str | Rent | None = "",
) -> Prediction:
    """Time, throughput, price and memory of one step of a model on chips of a kind; defaults in brackets.

    model        id of the catalogue, or a Model
    chip         id of the catalogue, or a Chip
    chips        chips of all stages together (1)
    phase        "decode": a token for each sequence, or "prefill": whole prompts ("decode")
    batch        sequences, or whole prompts, on all chips together (1)
    context      tokens behind each sequence, or of each prompt (1024)
    weights      number format in which they are stored, such as "fp8" (that of the released weights)
    kv           number format of the cache, index keys included ("bf16")
    compute      number format of the products (that of the weights if the chip multiplies in it, else "bf16")
    tensor       chips that share every matrix (all that expert and pipeline leave)
    expert       chips over which the routed experts are dealt out (1: they are cut like all other matrices)
    pipeline     stages of layers (1)
    cache        what the cache is dealt out by, "heads" or "tokens" ("heads")
    calibration  "auto": sourced constants for chip, format and kind of model, or, where there are none, those that
                 predict_serving takes; an id; a Calibration (None: the ideal, a bound on time)
    rent         words from the terms of a confirmed rent, such as "community"; a Rent; None for no price ("": the
                 newest)

    Returned is a Prediction, which prints itself: `time` (s), `terms` and `resources` (name -> s), `binds` (name of
    a term); `tokens_per_s_per_chip`, `tokens_per_s_per_user`; `usd_per_mtok` (USD a million tokens) and `rent`, None
    where none is confirmed; `memory_per_chip` (part -> bytes), `fits`; `expected_error` (of the time, on runs that the
    constants were not fitted on); `fallback` (what nothing is sourced for); `beware` (warnings). What does not fit is
    still predicted.

        p = predict("llama-3.1-70b", chip="h100-sxm", chips=8, batch=64, weights="fp8", calibration="auto")
        p.time, p.binds, p.tokens_per_s_per_chip, p.beware

    UnknownId where an id, a format or a rent is not known; LayoutError (a ValueError) where chips and ways of cutting
    do not go together; ValueError for other values that make no sense.
    """
    model = model if isinstance(model, Model) else catalogue.model(model)
    chip = chip if isinstance(chip, Chip) else catalogue.chip(chip)
    phase, batch, context = _phase(phase), _positive("batch", batch), _positive("context", context)
    if phase == "prefill" and batch < 1:
        raise ValueError(f"prompts are read whole: in prefill batch must be 1 or more, not {batch}")
    weights, kv = weights or model.weights, kv or "bf16"
    compute = standard_precision(compute or multiplied(chip, weights))
    layout = Layout(
        model, chip, chips, _left(chips, expert, pipeline) if tensor is None else tensor, expert, pipeline, cache
    )
    chip.flops(compute), model.kv_bytes(context, kv)  # refused here, not when the time is asked for
    constants = _calibrated(calibration, chip, compute, model)
    return Prediction(
        layout, phase, batch, context, weights, kv, compute, constants, _rented(chip, rent), rent is not None
    )


def _phase(phase: str) -> str:
    if phase not in PHASES:
        raise ValueError(f"phase must be one of {', '.join(PHASES)}, not {phase!r}")
    return phase


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


def _rented(chip: Chip, rent: str | Rent | None) -> Rent | None:
    """The rent that is meant; None where none is, or none is confirmed. UnknownId with the terms that there are."""
    if rent is None or isinstance(rent, Rent):
        return rent
    try:
        return chip.rent(rent)
    except UnknownId:
        if not rent:
            return None
    terms = lambda confirmed: "; ".join(r.kind for r in chip.rents if r.confirmed == confirmed)
    guessed = f"; listed but not confirmed: {terms(False)}" if terms(False) else ""
    raise UnknownId(f"no confirmed rent {rent!r} of {chip.id}; confirmed: {terms(True) or 'none'}{guessed}")


def _calibrated(calibration: str | Calibration | None, chip: Chip, precision: str, model: Model) -> Calibration:
    if calibration is None:
        return IDEAL
    if isinstance(calibration, Calibration):
        return calibration
    if calibration != "auto":
        return calibration_by_id(str(calibration))
    return auto(chip, precision, model) or fall_back(chip, precision, model)
