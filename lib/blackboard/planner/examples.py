"""Three worked questions: what each asks of the planner, and the numbers of its answer."""

from __future__ import annotations

from functools import cache
from typing import Any

from blackboard import catalogue
from blackboard.planner.frontier import Promise, compare_chips
from blackboard.prediction.serving import ServingPrediction, predict_serving
from blackboard.prediction.serving_calibration import FITTED, LEAST, REQUESTS
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
        return _fields_of(chosen_chips()[0]) | {"scope": "contract"}
    return DEEPSEEK if name == "deepseek" else {"prompt": LONG["prompt"]}


def _fields_of(found: ServingPrediction) -> dict[str, Any]:
    layout, rent = found.server.layout, found.rent
    assert rent is not None  # only rented chips are compared
    tensor = {} if layout.tensor == layout.chips else {"tensor": layout.tensor}
    chosen = {"chip": layout.chip.id, "chips": layout.chips, "load": found.server.users}
    return chosen | tensor | {"rent": rent.usd_per_chip_hour}


def numbers() -> dict[str, str]:
    """All numbers of the page's prose, by name."""
    return which_chips() | deepseek_price() | long_context() | definitions()


def definitions() -> dict[str, str]:
    """How runs are drawn, and how many constants were fitted."""
    return {"least": f"{LEAST:.0%}", "requests": str(REQUESTS), "constants": str(len(FITTED))}


def which_chips() -> dict[str, str]:
    """The cheapest chips, and the cheapest of NVIDIA's Hopper."""
    best, *_ = found = chosen_chips()
    hopper = next(each for each in found if each.server.chip.id == "h200")
    told: dict[str, str] = {
        "compared": str(len(COMPARED)),
        "promise_user": f"{PROMISE.user:g}",
        "promise_first": f"{PROMISE.first:g}",
    }
    for name, each in (("best", best), ("hopper", hopper)):
        told |= {
            f"{name}_chips": f"{each.server.layout.chips} {each.server.chip.name}",
            f"{name}_users": f"{each.server.users:,.0f}",
            f"{name}_usd": usd(each.usd_per_mtok),
            f"{name}_error": percent(each, "output_token"),
        }
    return told


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
        "ds_user": significant(found.tokens_per_s_per_user, 2),
        "ds_error": percent(found, "first_token"),
    }


def long_context() -> dict[str, str]:
    """What prompts of 32k tokens leave of the throughput of short ones."""
    short, long = (predict_serving(**asked, concurrency=USERS) for asked in (SHORT, LONG))
    return {
        "long_prompt": f"{LONG['prompt']:,}",
        "short_prompt": f"{SHORT['prompt']:,}",
        "long_users": str(USERS),
        "long_rate": significant(long.tokens_per_s_per_chip, 2),
        "short_rate": significant(short.tokens_per_s_per_chip, 2),
        "long_times": significant(short.tokens_per_s_per_chip / long.tokens_per_s_per_chip, 2),
        "long_fits": significant(long.fits, 2),
        "short_fits": significant(short.fits, 2),
        "long_binds": long.binds,
    }


def usd(value: float | None) -> str:
    return f"${value:.2f}" if value is not None and value >= 0.1 else f"${significant(value or 0.0, 2)}"


def percent(found: ServingPrediction, what: str) -> str:
    error = found.expected_error
    assert error is not None
    return f"{100 * error[what]:.0f}%"
