"""One step of a whole configuration: a model on chips, cut in some way; ideal, or with the constants of a calibration.

Every term is a formula of the course at one chip's share; equations.step_time makes a step of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from blackboard import units
from blackboard.catalogue import Chip, Model, Rent
from blackboard.catalogue.architecture import VLLM_FP8, bytes_per_param, standard_precision
from blackboard.formula import IDEAL, Calibration
from blackboard.lessons.batching import equations as step
from blackboard.lessons.pipelining import equations as pipelining
from blackboard.lessons.sparsity import equations as sparsity
from blackboard.prediction import equations as eq
from blackboard.prediction.layout import Layout

VECTOR_BYTES = 2  # of a value on the way between chips, where no format says otherwise
SENT = {"fp8": 1, "fp4": 1}  # to an expert; the way back stays at VECTOR_BYTES


class Work(NamedTuple):
    """What one step of the whole model handles: sequences, tokens through the layers, tokens through the head, and by
    group of attention layers the bytes of cache that it reads or writes, and the FLOPs of attending; and the
    cache's format.
    """

    sequences: float
    tokens: float
    outputs: float
    moved: tuple[float, ...]
    attended: tuple[float, ...]
    kv: str = "bf16"

    def __add__(self, other: Work) -> Work:  # type: ignore[override]  # of named numbers, not of a tuple
        """Both in one step; the sequences are other ones."""
        add = lambda a, b: tuple(x + y for x, y in zip(a, b))
        return Work(
            self.sequences + other.sequences,
            self.tokens + other.tokens,
            self.outputs + other.outputs,
            add(self.moved, other.moved),
            add(self.attended, other.attended),
            self.kv,
        )

    def part(self, share: float) -> Work:
        """A micro-batch."""
        cut = lambda a: tuple(x * share for x in a)
        counts = self.sequences * share, self.tokens * share, self.outputs * share
        return Work(*counts, cut(self.moved), cut(self.attended), self.kv)


def decoding(model: Model, batch: float, context: float, kv: str) -> Work:
    """A token for each sequence: its cache is read."""
    groups = model.attention
    return Work(
        batch,
        batch,
        batch,
        tuple(batch * g.read(context, kv) for g in groups),
        tuple(batch * g.attends(context) for g in groups),
        kv,
    )


def prefilling(model: Model, batch: float, context: float, kv: str) -> Work:
    """Prompts of so many tokens: their cache is written, and only the last token of each is sampled from."""
    groups = model.attention
    return Work(
        batch,
        batch * context,
        batch,
        tuple(batch * g.held(context, kv) for g in groups),
        tuple(batch * g.prefills(context) for g in groups),
        kv,
    )


# --- one chip's share ------------------------------------------------------------------------------------------------


def terms(layout: Layout, work: Work, weights: str, compute: str, calibration: Calibration) -> dict[str, float]:
    """Seconds by term for one micro-batch in one stage; terms that cannot occur are left out."""
    values = _values(layout, work, weights, compute) | calibration.full
    values["start_time"] = values["link_latency"]
    at = lambda formula, **changed: formula(values, calibration=calibration, **changed)
    found = {
        "multiply": at(step.compute_time),
        "attend": at(eq.attend_time, flops=attending(layout.chip, work.kv, compute)),
        "weights": at(step.weight_time),
        "cache": at(step.kv_time),
    }
    if layout.tensor > 1:
        reduces = layout.model.layers + (
            layout.model.layers if layout.expert == 1 else layout.model.layers - layout.routed_layers
        )
        found["tensor"] = (
            reduces
            / layout.pipeline
            * (
                at(eq.reduce_time)
                if layout.tensor <= layout.domain
                else at(eq.domains_reduce, **_domains(layout, values))
            )
        )
    if layout.expert > 1:
        found["expert"] = layout.routed_layers / layout.pipeline * at(eq.route_time)
    if layout.pipeline > 1:
        found["pipeline"] = at(pipelining.hop)
    return found


def _domains(layout: Layout, values: dict[str, float]) -> dict[str, float]:
    """Values of an all-reduce over several domains; it starts as often as the two exchanges of one inside."""
    both = {"scale_up": layout.chip.scale_up.bytes_per_s, "scale_out": values["far_rate"]}
    return {
        "chips": layout.domain,
        "racks": layout.tensor / layout.domain,
        "start_time": 2 * values["start_time"],
    } | both


def multiplied(chip: Chip, precision: str) -> str:
    """The format in which a chip multiplies what is stored in this one: itself, or bf16 where the chip has no rate for
    it.
    """
    name = "fp8" if precision == VLLM_FP8 else standard_precision(precision)
    return name if getattr(chip.flops_dense_per_s, name) else "bf16"


def attending(chip: Chip, kv: str, compute: str) -> float:
    """FLOP/s of attention: in the cache's format, or in that of the products where the chip has no rate for it."""
    own = multiplied(chip, kv)
    return chip.flops(own if getattr(chip.flops_dense_per_s, own) else compute)


def _values(layout: Layout, work: Work, weights: str, compute: str) -> dict[str, float]:
    """Values of the symbols of every term's formula, at the busiest chip's share of a micro-batch."""
    model, chip = layout.model, layout.chip
    ranks = min(layout.ranks, max(1, work.sequences))  # groups that have a sequence at all
    sharing = ranks * layout.tensor
    tokens = work.tokens / ranks
    split = lambda amounts: (
        sum(a / layout.cache_shards(g) for a, g in zip(amounts, model.attention)) / ranks / layout.pipeline
    )
    routed = layout.routed_active * work.tokens / layout.expert_chips(work.sequences)
    multiplied = ((layout.common * work.tokens + layout.head * work.outputs) / sharing + routed) / layout.pipeline
    out = chip.scale_out.bytes_per_s or chip.scale_up.bytes_per_s
    moe = model.moe if layout.expert > 1 else None
    return {
        "batch": 1,
        "context": 1,
        "n_active": multiplied,
        "flops": chip.flops(compute),
        "bandwidth": chip.bandwidth,
        "attend_flop": sum(work.attended) / sharing / layout.pipeline,
        "kv_bytes_per_token": split(work.moved),
        "n_total": read_params(layout, work),
        "bytes_per_param": bytes_per_param(weights),
        "chips": layout.tensor,
        "scale_up": chip.scale_up.bytes_per_s,
        "message": tokens * model.d_model * VECTOR_BYTES,
        "tokens_per_chip": tokens / layout.tensor,
        "width": model.d_model,
        "dispatch_bytes": SENT.get(standard_precision(weights), VECTOR_BYTES),
        "combine_bytes": VECTOR_BYTES,
        "micro_batch": tokens,
        "bytes_per_value": VECTOR_BYTES,
        "scale_out": chip.scale_up.bytes_per_s if layout.chips <= layout.domain else out,
        "expert_parallel": layout.tensor,
        "visited_domains": _domains_reached(layout) if moe else 0,
        "far_rate": out,
        "visited_chips": eq.chips_visited(expert_parallel=layout.expert, top_k=moe.active) if moe else 0,
    }


def _domains_reached(layout: Layout) -> float:
    """Other domains that a token is sent to in a routed layer."""
    assert layout.model.moe is not None
    known = {"open_domains": layout.open_domains, "sure_domains": layout.sure_domains}
    return eq.domains_reached(known, racks=layout.domains, top_k=layout.model.moe.active)


def read_params(layout: Layout, work: Work) -> float:
    """Parameters that one chip reads for a micro-batch: its share of the common ones, and of the experts that somebody
    chose.
    """
    common = (layout.common + layout.head) / layout.tensor
    if not layout.routed:
        return common / layout.pipeline
    moe, seen = layout.model.moe, work.tokens * layout.expert_group / layout.expert_chips(work.sequences)
    assert moe is not None  # routed parameters are those of a mixture of experts
    touched = sparsity.coverage(batch=max(1, seen), experts=moe.experts, top_k=moe.active)
    return (common + touched * layout.routed / layout.expert_group) / layout.pipeline


# --- a step ----------------------------------------------------------------------------------------------------------

RESOURCES = {
    "compute": ("multiply", "attend"),
    "memory": ("weights", "cache"),
    "links": ("tensor", "expert", "pipeline"),
}


def step_terms(
    layout: Layout, work: Work, weights: str, compute: str, calibration: Calibration = IDEAL, once: bool = False
) -> dict[str, float]:
    """Seconds by term for a whole step: micro-batches pass all stages, `once` (a prompt), or again and again
    (decoding).
    """
    many = min(layout.pipeline, max(1, work.sequences))
    rounds = (many + layout.pipeline - 1) if once else layout.pipeline
    found = terms(layout, work.part(1 / many), weights, compute, calibration)
    return {name: rounds * value for name, value in found.items()}


def resources(found: dict[str, float]) -> dict[str, float]:
    """Seconds for which each resource is busy, from the terms of a step."""
    return {name: sum(found.get(term, 0.0) for term in parts) for name, parts in RESOURCES.items()}


def composed(busy: dict[str, float], layout: Layout, calibration: Calibration = IDEAL) -> float:
    """Seconds of a step from those of its resources, by equations.step_time."""
    return eq.step_time(
        {f"t_{name}": value for name, value in busy.items()}, calibration=calibration, layers=layout.model.layers
    )


@dataclass(frozen=True)
class Prediction:
    """One step of a configuration, predicted; `print` shows its terms, `_repr_html_` the same as a table."""

    layout: Layout
    phase: str
    batch: float
    context: float
    weights: str
    kv: str
    compute: str
    calibration: Calibration
    rent: Rent | None
    priced: bool = True  # whether a price was asked for

    @cached_property
    def work(self) -> Work:
        make = decoding if self.phase == "decode" else prefilling
        return make(self.layout.model, self.batch, self.context, self.kv)

    @cached_property
    def terms(self) -> dict[str, float]:
        """Name -> seconds, of what keeps multipliers, memory and links busy, and of what nothing hides ("fixed")."""
        found = step_terms(
            self.layout, self.work, self.weights, self.compute, self.calibration, self.phase == "prefill"
        )
        fixed = eq.fixed_time(calibration=self.calibration, layers=self.layout.model.layers)
        return found | ({"fixed": fixed} if fixed else {})

    @property
    def resources(self) -> dict[str, float]:
        """Seconds for which each resource is busy."""
        return resources(self.terms)

    @cached_property
    def time(self) -> float:
        """Seconds a step: a token for every sequence, or the whole prompts."""
        return composed(self.resources, self.layout, self.calibration)

    @property
    def binds(self) -> str:
        """The longest term of the resource that takes longest; "fixed" where nothing takes longer than what no batch
        hides.
        """
        name, longest = max(self.resources.items(), key=lambda item: item[1])
        if self.terms.get("fixed", 0) > longest:
            return "fixed"
        return max((term for term in RESOURCES[name] if term in self.terms), key=self.terms.__getitem__)

    @property
    def tokens(self) -> float:
        """Tokens that a step makes, or reads."""
        return self.work.tokens

    @property
    def tokens_per_s_per_chip(self) -> float:
        return self.tokens / self.time / self.layout.chips

    @property
    def tokens_per_s_per_user(self) -> float:
        """What one sequence sees."""
        return self.tokens / self.batch / self.time

    @property
    def usd_per_mtok(self) -> float | None:
        """Rent of the chips for a million tokens; None where no rent of the chip is confirmed. `rent` has price and
        date.
        """
        return None if self.rent is None else self.rent.usd_per_chip_second / self.tokens_per_s_per_chip * 1e6

    @property
    def memory_per_chip(self) -> dict[str, float]:
        """Bytes by part; activations and what the engine itself takes are not counted."""
        cache = self.layout.cache_per_chip(self.batch, self.context, self.kv)
        return self.layout.weights_per_chip(self.weights) | ({"cache": cache} if cache else {})

    @property
    def fits(self) -> bool:
        return sum(self.memory_per_chip.values()) <= self.layout.chip.hbm_bytes

    @property
    def short(self) -> str:
        """What does not fit, with the numbers; empty where all fits."""
        if self.fits:
            return ""
        need, has = sum(self.memory_per_chip.values()), self.layout.chip.hbm_bytes
        said = lambda value, digits=3: units.pretty(value, "byte", digits)
        parts = ", ".join(f"{name} {said(size)}" for name, size in self.memory_per_chip.items())
        digits = next((n for n in range(3, 9) if said(need, n) != said(has, n)), 9)  # so many that the two differ
        return (
            f"does not fit: {said(need, digits)} a chip ({parts}), and {self.layout.chip.name} has {said(has, digits)}"
        )

    @property
    def outside(self) -> str:
        """Where a decoding batch is not one that the constants were fitted on: said with the numbers; else empty."""
        batches, mine = getattr(self.calibration, "batches", None), self.batch / self.layout.chips
        if self.phase != "decode" or not batches or batches[0] <= mine <= batches[1]:
            return ""
        said = lambda value: units.significant(value, 3)
        return f"{said(mine)} sequences a chip; fitted on {said(batches[0])} to {said(batches[1])}"

    @property
    def beware(self) -> tuple[str, ...]:
        """All warnings: `short`, `outside`, and what the model, the constants and the layout are not made for."""
        model, told = self.layout.model, [self.short, self.outside and f"extrapolated: {self.outside}"]
        if self.context > model.context_tokens:
            told.append(f"the model is made for {model.context_tokens:,.0f} tokens of context")
        if said := getattr(self.calibration, "beware", None):  # calibration.Fitted
            told += said(self.layout.chip, self.compute, model, self.phase)
        if bytes_per_param(self.weights) < bytes_per_param(self.compute):
            told.append(
                f"weights in {self.weights} are widened to {self.compute} before they are multiplied; no term"
                " counts that"
            )
        return tuple(filter(None, told + self.layout.beware))

    def numbers(self) -> dict[str, Any]:
        """All results by name, in base units, as JSON takes them."""
        layout = self.layout
        asked = {"model": layout.model.id, "chip": layout.chip.id, "chips": layout.chips, "phase": self.phase}
        asked |= {"batch": self.batch, "context": self.context, "weights": self.weights, "kv": self.kv}
        names = (
            "time binds terms resources tokens_per_s_per_chip tokens_per_s_per_user usd_per_mtok memory_per_chip fits"
            " fallback expected_error"
        )
        found = {name: getattr(self, name) for name in names.split()}
        said = getattr(self.calibration, "description", "") or self.calibration.id
        return asked | found | {"constants": said, "beware": list(self.beware)}

    def __str__(self) -> str:
        return "\n".join(f"{name:<24}{value}" for name, value in self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        """What is printed, a name and a value each; two spaces before a name are one level."""
        share, chip = self.calibration.full["serial_share"], self.layout.chip
        time, sizes = units.pretty(self.time, "s"), (sum(self.memory_per_chip.values()), chip.hbm_bytes)
        lines = [
            (self.layout.model.id, f"{self.layout.chips} × {chip.id}, {self.calibration.id}"),
            ("time", f"{time}, {self._sum(share)}"),
        ]
        lines += [
            ("largest" if share == 1 else "binds", self.binds),
            *self._busy(),
            ("token/s a chip", units.significant(self.tokens_per_s_per_chip)),
        ]
        user = ("token/s a user", units.significant(self.tokens_per_s_per_user))
        lines.append(user if self.phase == "decode" else ("time to first token", f"{time}, unloaded"))
        lines += [("price", self._price())] if self.priced else []
        lines.append(("memory a chip", " of ".join(units.pretty(size, "byte") for size in sizes)))
        lines += [("constants from", said)] if (said := getattr(self.calibration, "description", "")) else []
        lines += [("expected error", str(found))] if (found := self._held_out) else []
        return lines + [("beware", said) for said in self.beware]

    @property
    def expected_error(self) -> float | None:
        """Mean absolute error of the time on runs that the constants were not fitted on; None where there are none."""
        found = self._held_out
        return found.error if found else None

    @property
    def _held_out(self) -> Any:
        ask = getattr(self.calibration, "expected_error", None)  # calibration.Fitted, fallback.Fallback
        return ask(self.layout.model) if ask else None

    @property
    def fallback(self) -> str:
        """Chip, format and kind of model where nothing is sourced for them, and other constants were used; else
        empty.
        """
        return getattr(self.calibration, "fallback", "")  # fallback.Fallback

    def _sum(self, share: float) -> str:
        """How the times of resources make the time of a step."""
        rest = "" if share == 0 else f" and {units.significant(share)} of the others"
        return (
            "all added up"
            if share == 1
            else "the longest of these" + rest + (", and what is fixed" if "fixed" in self.terms else "")
        )

    def _busy(self) -> list[tuple[str, str]]:
        """A line for each resource, with its terms, and one for what is fixed."""
        seconds = lambda value: units.pretty(value, "s")
        told = lambda terms: ", ".join(f"{term} {seconds(self.terms[term])}" for term in terms if term in self.terms)
        lines = [
            (f"  {name}", f"{seconds(self.resources[name])}: {told(terms)}")
            for name, terms in RESOURCES.items()
            if told(terms)
        ]
        return lines + (
            [("  fixed", f"{seconds(self.terms['fixed'])}: nothing hides it")] if "fixed" in self.terms else []
        )

    def _price(self) -> str:
        """Price and rent with its terms and its date, or that there is none."""
        if self.rent is None:
            guessed = ", ".join(rent.kind for rent in self.layout.chip.rents)
            return "no confirmed rent" + (f"; listed but not confirmed: {guessed}" if guessed else "")
        price, hourly = (
            f"{units.significant(value)} USD"
            for value in (self.usd_per_mtok or 0.0, self.rent.usd_per_chip_hour)  # a price, since there is a rent
        )
        tokens = "output" if self.phase == "decode" else "input"
        return f"{price} per million {tokens} tokens, at {hourly} a chip and hour ({self.rent.kind}, {self.rent.date})"

    def _repr_html_(self) -> str:
        from html import escape

        inset = lambda name: name.replace("  ", "&emsp;").replace(" ", "&nbsp;")  # names stay whole beside long values
        rows = "".join(
            f'<tr><th scope="row">{inset(escape(name))}</th><td>{escape(value)}</td></tr>'
            for name, value in self._lines()
        )
        return f'<table class="table"><tbody>{rows}</tbody></table>'

    def __repr__(self) -> str:
        told = f"{units.pretty(self.time, 's')} a step, {self.binds} binds"
        told += "" if (error := self.expected_error) is None else f", ± {100 * error:.0f}% expected"
        told += f"; {getattr(self.calibration, 'description', '')}" if self.fallback else ""
        return f"<{self.layout.model.id} on {self.layout.chips} × {self.layout.chip.id}, {self.phase}: {told}>"
