"""A server under load, predicted from catalogue ids.

from blackboard.prediction import predict_serving
p = predict_serving("llama-3.1-70b", chip="h200", chips=4, prompt=1024, output=1024, concurrency=64, weights="fp8")
p.first_token, p.output_token, p.tokens_per_s_per_chip, p.usd_per_mtok, p.binds, p.fits
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from blackboard import catalogue, units
from blackboard.catalogue import Chip, Model, Rent
from blackboard.catalogue.architecture import bytes_per_param
from blackboard.formula import IDEAL, Calibration
from blackboard.prediction import serving_equations as eq
from blackboard.prediction.configuration import _left, _positive, _rented
from blackboard.prediction.layout import Layout
from blackboard.prediction.serving_calibration import loop_times, sourced
from blackboard.prediction.serving_steps import ENGINES, STEADY, Server, Settings, build_server

MOST_USERS = 16_384  # in flight at once, where memory holds more
NOTHING = 1e-9  # s: parts that are shorter are left out
PARTS = {
    "weights": ("shared_read",),
    "experts": ("expert_read",),
    "cache": ("cache_read",),
    "compute": ("shared_multiply", "expert_multiply", "cache_multiply", "prompt_attend"),
    "links": ("link_busy", "collectives"),
    "kernel gaps": ("captured",),
    "launching": ("launched",),
    "answers": ("answers",),
}


def predict_serving(
    model: str | Model,
    *,
    chip: str | Chip,
    chips: int = 1,
    prompt: float = 1024,
    output: float = 1024,
    concurrency: float | None = None,
    rate: float | None = None,
    weights: str | None = None,
    kv: str | None = None,
    engine: str = "vllm",
    tensor: int | None = None,
    expert: int = 1,
    spread: float = 0.8,
    requests: float | None = 10,
    settings: Settings | None = None,
    calibration: str | Calibration | None = "auto",
    rent: str | Rent | None = "",
) -> ServingPrediction:
    """Times, throughput and price of an engine that serves a model on chips under load; defaults in brackets.

    model        id of the catalogue, or a Model
    chip         id of the catalogue, or a Chip
    chips        chips of the replica (1)
    prompt       longest tokens of a prompt (1024)
    output       longest tokens of an answer (1024)
    concurrency  users of a closed loop, each with one request in flight (1, unless rate is given)
    rate         requests per second of an open loop, in place of concurrency
    weights      number format in which they are stored (that of the released weights)
    kv           number format of the cache (FP8 beside narrow weights, else bf16)
    engine       "vllm", "trtllm" or "sglang" ("vllm")
    tensor       chips that share every matrix (all); with fewer, attention is data-parallel over chips / tensor groups
    expert       chips over which the routed experts are dealt out (1: they are cut like all other matrices)
    spread       shortest length drawn as a share of the longest (0.8; 1 for equal lengths)
    requests     requests of each user, the first of them at once (10, as in the public runs; None: a steady state)
    settings     Settings of the engine (those of the public runs)
    calibration  "auto": fitted constants of the nearest engine, chip and kind of model; a Calibration (None: the ideal)
    rent         as for `predict`

    Returned is a ServingPrediction, which prints itself. What does not fit is predicted too, with a warning.
    ValueError where a rate is beyond what the server can answer, and for values that make no sense; UnknownId and
    LayoutError as `predict` has them.
    """
    model = model if isinstance(model, Model) else catalogue.model(model)
    chip = chip if isinstance(chip, Chip) else catalogue.chip(chip)
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}")
    if concurrency is not None and rate is not None:
        raise ValueError("give concurrency (a closed loop) or rate (an open loop), not both")
    users = _positive("concurrency", 1 if concurrency is None else concurrency)
    prompt, output = _positive("prompt", prompt), _positive("output", output)
    if not 0 < spread <= 1:
        raise ValueError(f"spread must be above 0 and at most 1, not {spread!r}")
    layout = Layout(model, chip, chips, _left(chips, 1) if tensor is None else tensor, expert)
    weights = weights or model.weights
    bytes_per_param(weights)  # refused here, not when the time is asked for
    each = STEADY if rate is not None or requests is None else _positive("requests", requests)
    server = build_server(layout, engine, weights, prompt, output, users, each, spread, settings, kv)
    found = ServingPrediction(server, _constants(calibration, engine, chip, model), _rented(chip, rent), rate)
    return found if rate is None else found.at_rate(_positive("rate", rate))


def _constants(calibration: str | Calibration | None, engine: str, chip: Chip, model: Model) -> Calibration:
    if calibration is None:
        return IDEAL
    return calibration if isinstance(calibration, Calibration) else sourced(engine, chip, model)


@dataclass(frozen=True)
class ServingPrediction:
    """An engine under load, predicted; `print` shows it."""

    server: Server
    calibration: Calibration
    rent: Rent | None = None
    rate: float | None = None

    @cached_property
    def _times(self) -> dict[str, float]:
        constants = self.calibration.values if self.calibration is not IDEAL else {}
        return {name: float(value) for name, value in loop_times(self.server.plan, constants).items()}

    # --- times

    @property
    def output_token(self) -> float:
        """Seconds per output token after the first, other requests' prefills included."""
        return self._times["output"]

    @property
    def first_token(self) -> float:
        """Mean seconds to the first token; where more users are there than run, what Little's law leaves."""
        if not self.queued:
            return self._times["first"]
        return self.server.users / self.requests_per_s - (self.server.output - 1) * self.output_token

    @property
    def response(self) -> float:
        """Mean seconds from a request to its last token."""
        return self.first_token + (self.server.output - 1) * self.output_token

    @property
    def queued(self) -> float:
        """Users that wait outside: memory does not hold them, or steps cannot take in their prompts."""
        waiting = self.server.users - self.server.running
        return waiting if waiting > 1e-9 * self.server.users else 0.0

    # --- rates and prices

    @cached_property
    def requests_per_s(self) -> float:
        values = {"concurrency": self.server.running, "output_length": self.server.output}
        return eq.request_rate(values, first_token=self._times["first"], output_token=self.output_token)

    @property
    def tokens_per_s_per_user(self) -> float:
        return 1 / self.output_token

    @property
    def tokens_per_s_per_chip(self) -> float:
        """Output tokens."""
        return self.requests_per_s * self.server.output / self.server.layout.chips

    @property
    def usd_per_mtok(self) -> float | None:
        """Rent for a million tokens, read and generated together; None where no rent is confirmed."""
        return self._price(1, self.server.prompt + self.server.output)

    @property
    def usd_per_mtok_in(self) -> float | None:
        """Rent for a million tokens of prompts: the share of the time that prefills take."""
        return self._price(self._prefill_share, self.server.prompt)

    @property
    def usd_per_mtok_out(self) -> float | None:
        """Rent for a million output tokens: the rest of the time."""
        return self._price(1 - self._prefill_share, self.server.output)

    @property
    def _prefill_share(self) -> float:
        """Of the time: what a prompt adds to its steps, each user's own prompt included."""
        added = self._times["alone"] / self.server.plan["prompts_taken"]
        return min(1.0, self.requests_per_s * added)

    def _price(self, share: float, tokens: float) -> float | None:
        if self.rent is None:
            return None
        cost = self.rent.usd_per_chip_second * self.server.layout.chips
        return share * cost / (self.requests_per_s * tokens) * 1e6

    # --- an open loop

    def _with(self, users: float) -> ServingPrediction:
        return replace(self, server=replace(self.server, users=users))

    @cached_property
    def most_rate(self) -> float:
        """Requests a second that the server can answer at most: with as many in flight as fit."""
        return self._with(min(MOST_USERS, max(1.0, self.server.fits))).requests_per_s

    def at_rate(self, rate: float) -> ServingPrediction:
        """The loop whose throughput is this rate. ValueError where it is beyond the stable range."""
        if rate >= self.most_rate:
            raise ValueError(
                f"{units.significant(rate)} requests a second never end: the server answers fewer than"
                f" {units.significant(self.most_rate)}"
            )
        one = self._with(1.0)
        if rate <= one.requests_per_s:
            return one
        low, high = 1.0, min(MOST_USERS, max(1.0, self.server.fits))
        for _ in range(60):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self._with(middle).requests_per_s < rate else (low, middle)
        return self._with(high)

    # --- what binds

    @cached_property
    def parts(self) -> dict[str, float]:
        """Seconds of a mean output token by what takes them."""
        plan, share = self.server.plan, self.server.plan["prompt_share"]
        mixes, found = plan["mixes"], dict.fromkeys(PARTS, 0.0)
        rate = plan["others"] / plan["prompts_taken"]
        for step, weight in (("decode", 1 - share if mixes else 1.0), ("prompt", share if mixes else rate)):
            for name, value in self._step_parts(plan[step]).items():
                found[name] += weight * value
        return {name: value for name, value in found.items() if value}

    def _step_parts(self, step: dict[str, float]) -> dict[str, float]:
        """Seconds of one step by part; of reading and multiplying the longer counts."""
        at = lambda **values: eq.device_time(dict.fromkeys(step, 0.0) | values, calibration=self.calibration)
        won = dict(step)
        for kind in ("shared", "expert", "cache"):
            read, multiply = (at(**{f"{kind}_{what}": step[f"{kind}_{what}"]}) for what in ("read", "multiply"))
            won[f"{kind}_{'multiply' if read > multiply else 'read'}"] = 0.0
        device = {name: at(**{name: won[name]}) for name in step if name not in ("launched", "answers")}
        whole = eq.mixed_time(step, calibration=self.calibration)
        sent = eq.mixed_time(dict.fromkeys(step, 0.0) | {"answers": step["answers"]}, calibration=self.calibration)
        device |= {"answers": sent, "launched": max(0.0, whole - sent - sum(device.values()))}
        return {part: sum(device[name] for name in names) for part, names in PARTS.items()}

    @property
    def binds(self) -> str:
        """The part that takes most of a mean output token."""
        return max(self.parts, key=self.parts.__getitem__)

    # --- memory

    @property
    def memory_per_chip(self) -> dict[str, float]:
        """Bytes by part, of the sequences that run at their mean context."""
        server = self.server
        context = eq.mean_context(prompt_length=server.prompt, output_length=server.output)
        cache = server.layout.cache_per_chip(server.running, context, server.cache)
        return server.weights_per_chip | ({"cache": cache} if cache else {})

    @property
    def fits(self) -> float:
        """Sequences in flight that the memory holds."""
        return self.server.fits

    # --- how far to trust it

    @property
    def expected_error(self) -> dict[str, float] | None:
        """Mean absolute errors of output_token and first_token on held-out runs that were as far from those fitted."""
        return getattr(self.calibration, "errors", None)

    @property
    def description(self) -> str:
        """Which constants were used."""
        return getattr(self.calibration, "description", "") or self.calibration.source

    @property
    def beware(self) -> tuple[str, ...]:
        """Warnings: what does not fit or queues, and what the constants were not fitted for."""
        server, told = self.server, []
        if not server.fits:
            told.append("the weights do not fit into the engine's share of the memory")
        elif server.fits < 1:
            told.append("the KV cache of one sequence does not fit beside the weights")
        elif server.users > server.fits:
            told.append(f"{server.fits:,.0f} sequences fit: the other users wait")
        if self.queued and server.running < min(server.users, server.fits):
            told.append(f"a step takes {server.step_tokens:,.0f} tokens: prompts come faster, and wait")
        if server.prompt + server.output > server.model.context_tokens:
            told.append(f"the model is made for {server.model.context_tokens:,.0f} tokens of context")
        return (*told, *server.layout.beware)

    def numbers(self) -> dict[str, Any]:
        """All results by name, in base units, as JSON takes them."""
        names = (
            "first_token output_token response requests_per_s most_rate tokens_per_s_per_user tokens_per_s_per_chip"
            " usd_per_mtok usd_per_mtok_in usd_per_mtok_out fits queued binds parts memory_per_chip expected_error"
        )
        server = self.server
        asked = {"model": server.model.id, "chip": server.chip.id, "chips": server.layout.chips}
        asked |= {"engine": server.engine, "weights": server.weights, "users": server.users}
        found = {name: getattr(self, name) for name in names.split()}
        return asked | found | {"constants": self.description, "beware": list(self.beware)}

    def __str__(self) -> str:
        return "\n".join(f"{name:<24}{value}" for name, value in self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        server, second = self.server, lambda value: units.pretty(value, "s")
        error = self.expected_error
        within = lambda name: f", ± {100 * error[name]:.0f}% expected" if error else ""
        shared = ", ".join(f"{name} {second(value)}" for name, value in self.parts.items() if value >= NOTHING)
        price = "no confirmed rent"
        if self.rent is not None:
            told = (self.usd_per_mtok, self.usd_per_mtok_in, self.usd_per_mtok_out)
            all, into, out = (units.significant(value or 0.0) for value in told)
            hourly = f"{self.rent.usd_per_chip_hour:.2f} USD a chip and hour"
            price = f"{all} USD per million tokens ({into} in, {out} out), at {hourly}"
            price += f", {self.rent.kind}, {self.rent.date}"
        sizes = sum(self.memory_per_chip.values()), server.chip.hbm_bytes
        lines = [
            (server.model.id, f"{server.layout.chips} × {server.chip.id}, {ENGINES[server.engine]}, {server.weights}"),
            ("in flight", f"{units.significant(server.running)} of {units.significant(server.users)} users"),
            ("time to first token", second(self.first_token) + within("first_token")),
            ("time per output token", second(self.output_token) + within("output_token")),
            ("binds", self.binds),
            ("  of an output token", shared),
            ("token/s a user", units.significant(self.tokens_per_s_per_user)),
            ("token/s a chip", units.significant(self.tokens_per_s_per_chip)),
            ("request/s", f"{units.significant(self.requests_per_s)} of {units.significant(self.most_rate)} at most"),
            ("price", price),
            ("memory a chip", " of ".join(units.pretty(size, "byte") for size in sizes)),
            ("fit at once", f"{server.fits:,.0f} sequences"),
            ("constants from", self.description),
        ]
        return lines + [("beware", said) for said in self.beware]

    def _repr_html_(self) -> str:
        from html import escape

        inset = lambda name: escape(name).replace(" ", "&nbsp;")  # names stay whole beside long values
        cell = lambda name, value: f'<tr><th scope="row">{inset(name)}</th><td>{escape(value)}</td></tr>'
        return f'<table class="table"><tbody>{"".join(cell(*line) for line in self._lines())}</tbody></table>'

    def __repr__(self) -> str:
        times = f"first token {units.pretty(self.first_token, 's')}, then {units.pretty(self.output_token, 's')} each"
        on = f"{self.server.layout.chips} × {self.server.chip.id}"
        return f"<{self.server.model.id} served on {on} to {round(self.server.users):,} users: {times}>"
