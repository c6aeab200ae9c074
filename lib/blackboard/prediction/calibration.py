"""Sourced constants: efficiencies and overheads by chip and engine, fitted on one named slice of published runs.

With serial_share 1 (nothing hides behind anything else: what engines were found to do) a step is a sum of times, each
an ideal one over an efficiency, so that the fit is a line through published times, by least squares of the relative
error. Links are not fitted: their latency and efficiency are those of NCCL's all-reduce on 4 H200 (collectives),
wherever there are links of that kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from blackboard import catalogue
from blackboard.catalogue import Chip, Model, measurement, source
from blackboard.catalogue.datafile import UnknownId, near
from blackboard.formula import Calibration
from blackboard.lessons.overheads.kernels import Plan, fused
from blackboard.prediction import collectives, kernels
from blackboard.prediction import serving_runs as serving
from blackboard.prediction.least_squares import fitted
from blackboard.prediction.rows import mape
from blackboard.prediction.serving_runs import Case
from blackboard.prediction.step import composed, resources, step_terms

EFFICIENCIES = {"compute_efficiency": "compute", "memory_efficiency": "memory", "link_efficiency": "links"}
KINDS = {"dense": "dense models", "experts": "mixtures of experts"}
BY_ID = "by its id alone"  # auto takes it for no chip
BOTH = ("compute_efficiency", "memory_efficiency")
ALL = (*BOTH, "layer_overhead")


@dataclass(frozen=True)
class Recipe:
    """How constants are found: which symbols, from which slice of which data set, and for which chips, formats and
    models they hold.
    """

    id: str
    description: str  # the slice, in words
    data: str
    cases: Callable[[], Sequence[Case]]
    slice: Callable[[Case], bool]
    free: tuple[str, ...]
    chips: tuple[str, ...]
    formats: tuple[str, ...]
    models: str  # "dense" or "experts"
    links: bool = True  # whether links have NCCL's latency and efficiency

    def suits(self, chip: Chip, precision: str, model: Model) -> bool:
        """Whether the constants hold for a model on this chip, multiplied in this format."""
        return chip.id in self.chips and precision in self.formats and self.models == kind(model)

    def takes(self, case: Case) -> bool:
        """Whether a run is of such a chip, format and kind of model."""
        return self.suits(case.layout.chip, case.compute, case.layout.model)

    @property
    def holds(self) -> tuple[str, str, str]:
        """Chips, formats and kind of model, as a line prints them."""
        return ", ".join(self.chips) or BY_ID, ", ".join(self.formats), self.models

    @cached_property
    def sets(self) -> set[str]:
        """Ids of the data sets that its runs are of."""
        return {case.data for case in self.cases()}

    @property
    def inside(self) -> list[Case]:
        """The rows that are fitted."""
        return [case for case in self.cases() if self.slice(case)]


def kind(model: Model) -> str:
    """The kind of model that constants are told apart by."""
    return "experts" if model.moe else "dense"


def _build(model: Model) -> tuple[object, ...]:
    """What mixtures of experts are told apart by."""
    return model.layers, model.d_model, model.attention, model.ffn


def one_h200(case: Case) -> bool:
    return case.layout.chip.id == "h200" and case.layout.chips == 1


HOPPER, BLACKWELL, TENSOR_RT = ("h200", "h100-sxm", "h800"), ("b200", "gb200-nvl72"), "trtllm_v1_0_throughput"
RECIPES = (
    Recipe(
        "trtllm-h200",
        "Llama 3.1 8B and 3.3 70B on one H200",
        TENSOR_RT,
        serving.trtllm,
        one_h200,
        BOTH,
        HOPPER,
        ("fp8",),
        "dense",
    ),
    Recipe(
        "trtllm-b200",
        "Llama 3.3 70B on one B200",
        TENSOR_RT,
        serving.trtllm,
        lambda c: c.part == "Llama-3.3-70B, 1 B200",
        BOTH,
        BLACKWELL,
        ("fp4",),
        "dense",
    ),
    Recipe(
        "trtllm-moe-h200",
        "Qwen3 235B on 8 H200",
        TENSOR_RT,
        serving.trtllm,
        lambda c: c.part == "Qwen3-235B-A22B, 8 H200",
        ALL,
        HOPPER,
        ("fp8",),
        "experts",
    ),
    Recipe(
        "trtllm-moe-b200",
        "Qwen3 235B on 8 B200",
        TENSOR_RT,
        serving.trtllm,
        lambda c: c.part == "Qwen3-235B-A22B, 8 B200",
        ALL,
        BLACKWELL,
        ("fp4",),
        "experts",
    ),
    Recipe(
        "gptfast-a100",
        "Llama 2 7B in 16 bits on 1 to 8 A100, one sequence",
        "gpt_fast_readme",
        serving.gpt_fast,
        lambda c: c.part == "Llama-2-7B, float16",
        ("memory_efficiency", "layer_overhead"),
        ("a100-80gb", "a100-40gb"),
        ("bf16",),
        "dense",
    ),
    Recipe(
        "palm-tpu-v4",
        "decoding PaLM 540B on 64 TPU v4",
        "pope_decode_latency",
        serving.palm,
        lambda c: c.part == "decode",
        ALL,
        ("tpu-v4",),
        ("bf16", "int8"),
        "dense",
        links=False,
    ),
    Recipe(
        "sglang-h100",
        "DeepSeek-V3 as SGLang serves it, decode and prefill",
        "sglang_large_ep_decode",
        serving.sglang,
        lambda c: c.what.startswith("SGLang") and "balanced" not in c.what,
        ("compute_efficiency", "link_efficiency"),
        (),
        ("fp8",),
        "experts",
        links=False,
    ),
)


@dataclass(frozen=True)
class Fitted(Calibration):
    """A calibration that knows its slice in words, the batches a chip and the formats that it saw there, and where
    else it holds.
    """

    description: str = ""
    batches: tuple[float, float] | None = None
    on: str = ""  # chips and formats of the slice
    chips: tuple[str, ...] = ()  # those for which the constants are taken; none: not known
    formats: tuple[str, ...] = ()
    models: str = ""
    nets: tuple[str, ...] = ()  # models of the slice, by id
    alone: bool = False  # of kernels, not of an engine

    def beware(self, chip: Chip, precision: str, model: Model, phase: str) -> list[str]:
        """What of a prediction these constants were not fitted for; `precision` is what is multiplied in."""
        told, other = [], bool(self.models) and self.models != kind(model)
        if self.alone:
            told.append("constants of kernels, not of an engine: compare only with predictions from the same constants")
        if other or (self.chips and (chip.id not in self.chips or precision not in self.formats)):
            here = f"{chip.id} in {precision}" + (f", {KINDS[kind(model)]}" if other else "")
            told.append(f"constants fitted on {self.on}, {KINDS[self.models]}; here {here}")
        if (
            model.moe
            and self.nets
            and not other
            and all(_build(catalogue.model(id)) != _build(model) for id in self.nets)
        ):
            told.append(f"constants fitted on {', '.join(self.nets)}; here {model.id}, which is built otherwise")
        if phase == "prefill" and "compute_efficiency" not in self.values:
            told.append("compute efficiency not fitted: multiplying at its peak")
        return told

    def expected_error(self, model: Model) -> HeldOut | None:
        """How far off the constants were on runs that were not fitted: of models built like this one; else of those
        that the fit had not seen; else of all.
        """
        found = held_out(self.id) if self.models == kind(model) else ()
        like = [each for each in found if _build(each.layout.model) == _build(model)]
        like = like or [each for each in found if each.layout.model.id not in self.nets] or list(found)
        return held_out_error(like, lambda case: self) if like else None

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {value:.3g}" for name, value in self.values.items())
        return f"<{self.id}: {values}; from {self.source}>"


class HeldOut(NamedTuple):
    """Mean absolute error of a step's time on so many runs that were not fitted, their models, chips and formats."""

    error: float
    runs: int
    models: tuple[str, ...]
    on: tuple[str, ...]

    def __str__(self) -> str:
        where = f"of {', '.join(self.models)}, on {', '.join(self.on)}"
        return f"± {100 * self.error:.0f}%, as on {self.runs} runs not fitted, {where}"


def held_out_error(cases: Sequence[Case], constants: Callable[[Case], Calibration]) -> HeldOut:
    """How far off steps are that are predicted with these constants, where those of each case were not fitted on it."""
    seen = lambda names: tuple(dict.fromkeys(names))
    errors = []
    for case in cases:
        found = constants(case)
        errors.append(abs(composed(busy(case, found), case.layout, found) / case.measured - 1))
    on = seen(f"{case.layout.chip.id} in {case.compute}" for case in cases)
    return HeldOut(mape(errors), len(errors), seen(case.layout.model.id for case in cases), on)


ALONE = {
    "kernels-h200-bf16": ("bf16", "vllm-bf16"),
    "kernels-h200-fp8": ("fp8", "trtllm-fp8"),
}  # format, and the products that are taken
KERNEL_CHIPS = ("h200", "h100-sxm")


KNOWN = {recipe.id: recipe for recipe in RECIPES}


def ids() -> tuple[str, ...]:
    """Ids of all calibrations."""
    return (*KNOWN, *ALONE)


def listed() -> str:
    """All calibrations, one a line: id, chips that auto takes it for, formats, kind of model."""
    rows = [(recipe.id, *recipe.holds) for recipe in RECIPES] + [
        (id, ", ".join(KERNEL_CHIPS), format, "dense") for id, (format, _) in ALONE.items()
    ]
    wide = [max(len(row[n]) for row in rows) for n in range(3)]
    return "\n".join(
        "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide)) + f"  {row[3]}" for row in rows
    )


@cache
def calibration_by_id(id: str) -> Fitted:
    """A calibration by id: named("trtllm-h200"). UnknownId with the near ones."""
    if id not in ids():
        raise UnknownId(
            f"no calibration {id!r}; near: {', '.join(near(str(id), ids())) or 'none'}; there are: {', '.join(ids())}"
        )
    return alone(id) if id in ALONE else fit(KNOWN[id])


def alone(id: str) -> Fitted:
    """Constants of kernels measured one at a time, fitted on no engine: products, NCCL, and the gaps between a layer's
    kernels in a graph.
    """
    found, products = kernels.constants(), ALONE[id][1]
    one, two = (len(fused("llama-3.1-70b", Plan(layers=layers))) for layers in (1, 2))
    rates = {name: found[f"gemm-{products}.{name}"].value for name in BOTH}
    gaps = {"layer_overhead": (two - one) * found["launch-h100.kernel_gap"].value}
    told = f"matrix products ({products}), all-reduces and kernel gaps measured one at a time; fitted on no engine"
    values, format = {"serial_share": 1.0} | known_links() | rates | gaps, ALONE[id][0]
    description = "kernels measured one at a time, on no engine"
    return Fitted(
        id,
        told,
        values,
        description,
        on=f"h200 in {format}",
        chips=KERNEL_CHIPS,
        formats=(format,),
        models="dense",
        alone=True,
    )


@cache
def held_out(id: str) -> tuple[Case, ...]:
    """Runs that the constants hold for and were not fitted on; of those of kernels, all of dense models on their
    chips.
    """
    if id in ALONE:
        rows = [c for c in serving.trtllm() if c.layout.chip.id in KERNEL_CHIPS and kind(c.layout.model) == "dense"]
    else:
        recipe = KNOWN[id]
        rows = [c for c in recipe.cases() if not recipe.slice(c) and (not recipe.chips or recipe.takes(c))]
    return tuple(case._replace(sends=True) for case in rows)


def auto(chip: Chip, precision: str, model: Model) -> Fitted | None:
    """The sourced constants for this chip, format and kind of model, those of an engine first; None where there are
    none.
    """
    for recipe in RECIPES:
        if recipe.suits(chip, precision, model):
            return calibration_by_id(recipe.id)
    for id, (format, _) in ALONE.items():
        if chip.id in KERNEL_CHIPS and format == precision and not model.moe:
            return calibration_by_id(id)
    return None


def known_links() -> dict[str, float]:
    """Latency and efficiency of an all-reduce in a ring, as NCCL measured them."""
    found = collectives.constants()
    return {
        "link_latency": found["all-reduce-4.start_time"].value,
        "link_efficiency": found["all-reduce-4.link_efficiency"].value,
    }


def fit(recipe: Recipe, cases: Sequence[Case] | None = None) -> Fitted:
    """The constants of a recipe from its slice; `cases` are other rows, for the tests."""
    fixed = {"serial_share": 1.0} | (known_links() if recipe.links else {})
    slice = [case._replace(sends=True) for case in (recipe.inside if cases is None else cases)]
    parts = [_parts(case, recipe.free, Calibration(recipe.id, "", fixed)) for case in slice]
    lows = [1.0 if name in EFFICIENCIES else 0.0 for name in recipe.free]
    factors = fitted([part for part, _ in parts], [case.measured for case in slice], lows, [rest for _, rest in parts])
    values = {name: 1 / factor if name in EFFICIENCIES else factor for name, factor in zip(recipe.free, factors)}
    told = (
        f"{recipe.description} ({len(slice)} rows of {recipe.data};"
        f" {source(measurement(recipe.data).sources[0]).title})"
    )
    batches = [case.work.sequences / case.layout.chips for case in slice]
    seen = lambda names: tuple(dict.fromkeys(names))
    chips, formats = seen(case.layout.chip.id for case in slice), seen(case.compute for case in slice)
    on = f"{', '.join(chips)} in {', '.join(formats)}"
    held = recipe.chips or chips
    return Fitted(
        recipe.id,
        told,
        fixed | values,
        recipe.description,
        (min(batches), max(batches)),
        on,
        held,
        recipe.formats,
        recipe.models,
        seen(case.layout.model.id for case in slice),
    )


def busy(case: Case, calibration: Calibration) -> dict[str, float]:
    """Seconds for which each resource is busy."""
    found = resources(step_terms(case.layout, case.work, case.weights, case.compute, calibration))
    return found if case.sends else found | {"links": 0.0}


def _parts(case: Case, free: Sequence[str], fixed: Calibration) -> tuple[list[float], float]:
    """Seconds that each free constant stands before, and those that none does."""
    times = busy(case, fixed)
    before = {name: times[resource] for name, resource in EFFICIENCIES.items()} | {
        "layer_overhead": case.layout.model.layers,
        "overhead": 1.0,
    }
    return [before[name] for name in free], sum(
        times[resource] for name, resource in EFFICIENCIES.items() if name not in free
    )
