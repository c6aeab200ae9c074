"""Menus of an interactive chart: system, model and precision from the catalogue, bound to the notation's symbols.

An interactive chart that needs none of them has only sliders: its `params` are then calls of `interactive.slider` and
`derived`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blackboard import catalogue
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.catalogue.datafile import UnknownId
from blackboard.catalogue.running_case import Case, plain
from blackboard.charts.interactive import derived, menu
from blackboard.charts.marks import title

PRECISIONS = {"fp4": "FP4", "fp8": "FP8", "bf16": "BF16"}  # the narrowest first
TABLES = {"system": "machines", "model": "models"}  # what a menu's rows are called in the spec


def machine(id: str, names: Iterable[str]) -> dict[str, Any]:
    """What the browser must know of a system: these symbols, its memory and rates; at a precision that it lacks, the
    next wider one it has.
    """
    found, rates, served = catalogue.system(id), {}, {}
    for name in reversed(PRECISIONS):
        try:
            rates[name], served[name] = found.flops(name), name
        except UnknownId:
            wider = served[list(PRECISIONS)[list(PRECISIONS).index(name) + 1]]
            rates[name], served[name] = rates[wider], wider
    return {"name": plain(found.name), **_kept(found, {*names, "hbm"}), "flops": rates, "serves": served}


def model(id: str, names: Iterable[str]) -> dict[str, Any]:
    """What the browser must know of a model: these symbols."""
    found = catalogue.model(id)
    return {"name": plain(found.name), **_kept(found, set(names))}


def _kept(row: Any, names: set[str]) -> dict[str, float]:
    """The named symbols of a catalogue row, all of them or UnknownId."""
    kept = {name: value for name, value in row.symbols().items() if name in names}
    if missing := names - set(kept):
        raise UnknownId(f"{row.name} has no {', '.join(sorted(missing))}; it has: {', '.join(row.symbols())}")
    return kept


def given(
    case: Case,
    systems: Iterable[str] = (),
    models: Iterable[str] = (),
    of_system: Iterable[str] = ("bandwidth", "chips"),
    of_model: Iterable[str] = ("n_active", "n_total", "kv_bytes_per_token"),
    sliders: Iterable[dict] = (),
    **follows: str,
) -> list[dict]:
    """Params: menus for system, model and precision that start at the case, and the symbols that follow from the
    choice.

    Signals bear the notation's names: `flops`, `bytes_per_param`, and the named ones of the system and of the model;
    beside them `machine` (with name and hbm) and `served`, the precision that the machine has. Without systems, or
    without models, their menu and symbols are left out. `sliders` come below the menus. `follows` adds signals, or
    replaces one of these, by a browser expression. ValueError if the case is not among the systems and models.
    """
    rows = {
        "system": {id: machine(id, of_system) for id in systems},
        "model": {id: model(id, of_model) for id in models},
    }
    rows = {kind: found for kind, found in rows.items() if found}
    tables = {TABLES[kind]: found for kind, found in rows.items()} | {
        "widths": {name: bytes_per_param(name) for name in PRECISIONS}
    }
    bound = _bound(of_system if "system" in rows else None, of_model if "model" in rows else ()) | follows
    return [
        *({"name": name, "value": table} for name, table in tables.items()),
        *(
            row
            for kind in rows
            for row in menu(kind, {id: r["name"] for id, r in rows[kind].items()}, getattr(case, kind), kind)
        ),
        *menu("precision", PRECISIONS, case.precision, "weights in"),
        *sliders,
        *(row for name, expr in bound.items() for row in derived(name, expr)),
    ]


def _bound(of_system: Iterable[str] | None, of_model: Iterable[str]) -> dict[str, str]:
    """Browser expressions of the symbols that a choice binds; None where no system is chosen."""
    served = {"served": "precision"}
    if of_system is not None:
        served = {
            "machine": "machines[system]",
            "served": "machine.serves[precision]",
            "flops": "machine.flops[precision]",
        }
    links = {name: f"machine.{name}" for name in of_system or ()}
    return served | links | {"bytes_per_param": "widths[served]"} | {name: f"models[model].{name}" for name in of_model}


# --- what the title says of the choice --------------------------------------------------------------------------------

_LACKS = "(served == precision ? '' : ' (it has no ' + upper(precision) + ')')"
_FITS = "(n_total * bytes_per_param > machine.hbm ? ' (too big for its HBM)' : '')"
CHOICE = f"models[model].name + ' on ' + machine.name + ', weights in ' + upper(served) + {_LACKS} + {_FITS}"


def setting(*lines: str) -> dict:
    """A title: model and machine as chosen, and below them lines that are browser expressions."""
    return title(CHOICE, *lines)
