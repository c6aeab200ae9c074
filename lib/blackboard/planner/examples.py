"""Three worked questions: what each asks of the planner, and the numbers of its answer."""

from __future__ import annotations

from functools import cache
from math import floor
from typing import Any

from blackboard import catalogue
from blackboard.planner.frontier import Promise, compare_chips
from blackboard.prediction.serving import ServingPrediction, predict_serving
from blackboard.prediction.serving_calibration import FITTED, LEAST, REQUESTS, ServingConstants
from blackboard.units import pretty, significant

PROMISE = Promise(user=50, first=2)
CONTRACT = "three-year contract"
COMPARED = ("h100-sxm", "h200", "b200", "mi300x", "mi355x")
LLAMA: dict[str, Any] = {"model": "llama-3.1-70b", "weights": "fp8"}
DEEPSEEK: dict[str, Any] = {"model": "deepseek-v3", "chip": "h200", "chips": 8, "engine": "sglang", "prompt": 8192}
SHORT: dict[str, Any] = LLAMA | {"chip": "h200", "chips": 4, "prompt": 1024}
LONG: dict[str, Any] = SHORT | {"prompt": 32_768}
USERS = 64


@cache
def chosen_chips() -> list[ServingPrediction]:
    """Llama 70B at the promised speed, the cheapest first, all on contracts of one kind."""
    chips = [catalogue.chip(name) for name in COMPARED]
    return compare_chips(PROMISE, chips, **LLAMA, rent=CONTRACT)


NAMES = ("chips", "deepseek", "long")


def fields(name: str) -> dict[str, Any]:
    """An example by the fields of the form, those that differ from where the form starts."""
    if name == "chips":
        return _fields_of(chosen_chips()[0]) | {"scope": "full", "rents": "contract"}
    return DEEPSEEK if name == "deepseek" else {"prompt": LONG["prompt"]}


def _fields_of(found: ServingPrediction) -> dict[str, Any]:
    layout = found.server.layout
    tensor = {} if layout.tensor == layout.chips else {"tensor": layout.tensor}
    chosen = {"chip": layout.chip.id, "chips": layout.chips, "load": found.server.users}
    return chosen | tensor


def numbers() -> dict[str, str]:
    """All numbers of the page's prose, by name."""
    return which_chips() | deepseek_price() | long_context() | definitions()


def definitions() -> dict[str, str]:
    """How runs are drawn, and how many constants were fitted."""
    return {"least": f"{LEAST:.0%}", "requests": str(REQUESTS), "constants": str(len(FITTED))}


def which_chips() -> dict[str, str]:
    """The promise, and the cheapest of the chips with published runs."""
    safest = next(each for each in chosen_chips() if distance(each) == "chip")
    told = {"promise_user": f"{PROMISE.user:g}", "promise_first": f"{PROMISE.first:g}"}
    return told | {"safest_chips": f"{safest.server.layout.chips} {safest.server.chip.name}"}


def distance(found: ServingPrediction) -> str:
    """How near the runs are that the constants were fitted on: "chip", "generation" or farther."""
    assert isinstance(found.calibration, ServingConstants)
    return found.calibration.near


def best_of_each() -> list[ServingPrediction]:
    """The cheapest sharding and number of each chip."""
    best: dict[str, ServingPrediction] = {}
    for each in chosen_chips():
        best.setdefault(each.server.chip.id, each)
    return list(best.values())


def deepseek_price() -> dict[str, str]:
    """A million tokens of DeepSeek-V3, read and generated."""
    found = predict_serving(**DEEPSEEK, concurrency=USERS)
    return {
        "ds_prompt": f"{DEEPSEEK['prompt']:,}",
        "ds_users": str(USERS),
        "ds_usd": usd(found.usd_per_mtok),
        "ds_in": usd(found.usd_per_mtok_in),
        "ds_out": usd(found.usd_per_mtok_out),
        "ds_first": pretty(found.first_token, "s", 2),
        "ds_error": percent(found, "first_token"),
    }


def long_context() -> dict[str, str]:
    """What prompts of 32k tokens leave of the throughput of short ones."""
    short, long = (predict_serving(**asked, concurrency=USERS) for asked in (SHORT, LONG))
    return {
        "long_prompt": f"{LONG['prompt']:,}",
        "short_prompt": f"{SHORT['prompt']:,}",
        "long_users": str(USERS),
        "long_rate": written(long.tokens_per_s_per_chip),
        "short_rate": written(short.tokens_per_s_per_chip),
        "long_fits": f"{floor(long.fits):,}",
        "short_fits": f"{floor(short.fits):,}",
    }


def written(value: float) -> str:
    """A number with as many digits as the form writes."""
    return significant(value, 4 if value >= 1000 else 3)


def usd(value: float | None) -> str:
    return f"${value:.2f}" if value is not None and value >= 0.1 else f"${significant(value or 0.0, 2)}"


def percent(found: ServingPrediction, what: str) -> str:
    error = found.expected_error
    assert error is not None
    return f"{100 * error[what]:.0f}%"
