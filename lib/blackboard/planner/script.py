"""The planner's script: formulas printed from SymPy, the catalogue's tables, and the glue, which is written by hand.

`serving.js` ports what lies between the formulas of `predict_serving`; nothing that is a formula stands there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import msgspec
from sympy import Symbol
from sympy.printing.jscode import jscode

from blackboard import catalogue
from blackboard.catalogue import Chip, Model, Rent, architecture, config_file
from blackboard.catalogue.architecture import Compressed, Dense, Experts, Group, Heads, Latent
from blackboard.formula import Formula
from blackboard.lessons.sparsity.equations import coverage
from blackboard.prediction import equations, serving, serving_calibration, serving_constants, serving_steps, step
from blackboard.prediction import serving_equations as eq

REAL = (eq.device_time, eq.mixed_time, eq.first_token_time)  # with efficiencies and overheads
IDEAL = (
    *(eq.mean_length, eq.mean_context, eq.prompts_per_step, eq.others_prompts, eq.clumping, eq.taken_together),
    *(eq.mixed_token, eq.stalled_token, eq.request_rate, eq.held_sequences, eq.padded_rows, eq.busiest),
    *(equations.reduce_time, equations.domains_reduce, equations.route_time),
    *(equations.chips_visited, equations.domains_reached, coverage),
)

# --- formulas ---------------------------------------------------------------------------------------------------------


def print_formula(formula: Formula) -> str:
    """A function of JavaScript that takes values by symbol name."""
    expression = formula.calibrated if formula in REAL else formula.expr
    names = sorted(symbol.name for symbol in expression.free_symbols)
    return f"({{ {', '.join(names)} }}) => {formula.vega(calibrated=formula in REAL)}"


GROUPS = (Heads, Latent, Compressed, Dense, Experts)
QUESTIONS = {"params": "d_model", "index_params": "d_model", "held": "context", "read": "context"}
QUESTIONS |= {"attends": "context", "prefills": "tokens"}
OPTIONAL = {"window": None, "shared_kv": False, "q_rank": 0, "ratio": None, "top_k": None}  # and what stands for none
BYTE = "fp8"  # of the questions that a format answers: the browser multiplies by the bytes of its own


def print_group(group: type[Group]) -> str:
    """Functions that answer what a group of layers is asked, each of its fields and one argument."""
    found = (f"{name}: {print_question(group, name)}" for name in QUESTIONS if hasattr(group, name))
    return f"{{ {', '.join(found)} }}"


def print_question(group: type[Group], name: str) -> str:
    """One method of a group as a function: called with symbols in place of numbers."""
    argument = QUESTIONS[name]
    formats = (BYTE,) if name in ("held", "read") else ()
    fields = {field.name: Symbol(field.name) for field in msgspec.structs.fields(group)}

    def answer(given: dict[str, Any], undecided: Sequence[str]) -> str:
        if not undecided:
            answered = getattr(group(**given), name)(Symbol(argument), *formats)
            return jscode(answered).replace("Math.", "")
        first, *rest = undecided
        with_it, without = (answer(given | {first: value}, rest) for value in (fields[first], OPTIONAL[first]))
        return with_it if with_it == without else f"{first} ? ({with_it}) : ({without})"

    return (
        f"({{ {', '.join([*fields, argument])} }}) => {answer(fields, [each for each in OPTIONAL if each in fields])}"
    )


# --- tables -----------------------------------------------------------------------------------------------------------


def model_row(model: Model) -> dict[str, Any]:
    """What the browser needs of a model."""
    names = ("id", "name", "layers", "d_model", "vocab", "tied_embeddings", "weights", "context_tokens")
    groups = {name: msgspec.to_builtins(getattr(model, name)) for name in ("attention", "ffn")}
    return {name: getattr(model, name) for name in names} | groups


def chip_row(chip: Chip) -> dict[str, Any]:
    """What the browser needs of a chip."""
    return {
        "id": chip.id,
        "name": chip.name,
        "flops": msgspec.to_builtins(chip.flops_dense_per_s),
        "memory": chip.hbm_bytes,
        "bandwidth": chip.bandwidth,
        "domain": chip.scale_up.domain_chips,
        "scaleUp": chip.scale_up.bytes_per_s,
        "scaleOut": chip.scale_out.bytes_per_s,
        "rents": rent_rows(chip),
    }


SAID = {"three-year contract": "3 years", "accounting": "own books", "median": "median"}  # of a rent, in a column
ON_DEMAND = "on demand"  # all others


def rent_rows(chip: Chip) -> dict[str, Any]:
    """The newest confirmed rent of all, on demand, and on a contract; None where there is none of the kind."""
    confirmed = [rent for rent in chip.rents if rent.confirmed]
    of = lambda *kinds: rent_row([rent for rent in confirmed if short_kind(rent) in kinds])
    return {"newest": rent_row(confirmed), "demand": of("median", ON_DEMAND), "contract": of("3 years")}


def short_kind(rent: Rent) -> str:
    """The kind of a rent in a word or two."""
    return next((said for part, said in SAID.items() if part in rent.kind), ON_DEMAND)


def rent_row(rents: Sequence[Rent]) -> dict[str, Any] | None:
    """The newest of some rents."""
    if not rents:
        return None
    rent = max(rents, key=lambda each: each.date)
    return {"usd": rent.usd_per_chip_hour, "date": rent.date, "kind": rent.kind, "said": short_kind(rent)}


def run_row(run: serving_calibration.Run) -> dict[str, Any]:
    """A published run: its longest lengths, as it was asked for, and what was measured."""
    server, longest = run.server, 2 / (1 + serving_calibration.LEAST)
    return {
        "model": server.model.id,
        "chip": server.chip.id,
        "engine": server.engine,
        "chips": server.layout.chips,
        "tensor": server.layout.tensor,
        "expert": server.layout.expert,
        "weights": server.weights,
        "prompt": round(longest * server.prompt),
        "output": round(longest * server.output),
        "users": server.users,
        "first": run.first,
        "token": run.output,
    }


def defaults_of(group: type[Group]) -> dict[str, Any]:
    """Values of the fields that a group of layers need not have."""
    fields = msgspec.structs.fields(group)
    return {field.name: field.default for field in fields if field.default is not msgspec.NODEFAULT}


def tables() -> dict[str, Any]:
    """All that is no formula."""
    models = [model for model in catalogue.models() if not model.given]
    rows = {
        "models": [model_row(model) for model in models],
        "chips": [chip_row(chip) for chip in catalogue.chips()],
        "runs": [run_row(run) for run in serving_calibration.runs()],
    }
    return rows | format_tables() | engine_tables() | {"config": config_tables()}


def format_tables() -> dict[str, Any]:
    """Number formats, and what the step of an engine does in each."""
    return {
        "bytes": architecture.BYTES,
        "aliases": architecture.ALIASES,
        "scales": serving_steps.SCALES,
        "wider": serving_steps.WIDER,
        "head": serving_steps.HEAD,
        "fp4Share": serving_steps.FP4_SHARE,
        "tile": serving_steps.TILE,
        "vectorBytes": step.VECTOR_BYTES,
        "sent": step.SENT,
        "parts": serving.PARTS,
        "kernels": {
            "attention": serving_steps.ATTENTION_KERNELS,
            "experts": serving_steps.EXPERT_KERNELS,
            "shared": serving_steps.SHARED_KERNELS,
            "dense": serving_steps.DENSE_KERNELS,
            "others": serving_steps.OTHER_KERNELS,
        },
    }


def engine_tables() -> dict[str, Any]:
    """Engines, their constants, and how they were run."""
    return {
        "engines": serving_steps.ENGINES,
        "blackwell": serving_steps.BLACKWELL,
        "generations": serving_calibration.GENERATIONS,
        "links": serving_calibration.LINKS,
        "measured": serving_constants.MEASURED,
        "factors": serving_constants.FACTORS,
        "all": serving_calibration.ALL,
        "bounds": {name: (each.least, each.most) for name, each in serving_calibration.FITTED.items()},
        "expected": serving_constants.EXPECTED,
        "fitted": list(serving_calibration.DATA.values()),
        "requests": serving_calibration.REQUESTS,
        "spread": serving_calibration.LEAST,
        "steady": serving_steps.STEADY,
        "full": serving_steps.FULL,
        "mostUsers": serving.MOST_USERS,
        "groupDefaults": {group.__name__.lower(): defaults_of(group) for group in GROUPS},
    }


def config_tables() -> dict[str, Any]:
    """What the reader of a config.json knows of families and fields."""
    return {
        "nested": config_file.NESTED,
        "rules": config_file.RULES,
        "defaults": config_file.DEFAULTS,
        "tied": config_file.TIED,
        "twoMatrices": config_file.TWO_MATRICES,
        "windowed": config_file.WINDOWED,
        "families": config_file.FAMILIES,
        "experts": config_file.EXPERTS,
        "topK": config_file.TOP_K,
        "recurrent": config_file.RECURRENT,
        "shapes": config_file.SHAPES,
        "noShapes": config_file.NO_SHAPES.split(),
        "formats": config_file.FORMATS,
    }


# --- the script -------------------------------------------------------------------------------------------------------

PARTS = ("serving.js", "frontier.js", "config.js", "chart.js", "form.js")


def script() -> str:
    """The whole script, which leaves `planner` behind."""
    lines = lambda printed: ",\n".join(f"  {name}: {code}" for name, code in printed.items())
    formulas = {formula.name.rpartition(".")[2]: print_formula(formula) for formula in (*IDEAL, *REAL)}
    groups = {group.__name__.lower(): print_group(group) for group in GROUPS}
    glue = [files(__package__).joinpath(name).read_text("utf8") for name in PARTS]
    return "\n".join(
        [
            "(() => {",
            "const { abs, ceil, exp, floor, log, max, min, pow, sqrt, PI } = Math;",
            f"const data = {json.dumps(tables(), separators=(',', ':'), ensure_ascii=False)};",
            f"const eq = {{\n{lines(formulas)}\n}};",
            f"const groupOf = {{\n{lines(groups)}\n}};",
            *glue,
            "globalThis.planner = { data, predictServing, completeModel, readConfig, bestShardings, findFewest };",
            "})();\n",
        ]
    )
