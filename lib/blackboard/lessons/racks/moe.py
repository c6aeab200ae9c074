"""A mixture-of-experts layer in NumPy, run in one place and run with its experts spread over many GPUs.

The layer is DeepSeek-V3's (arXiv 2412.19437, section 2.1.2) without its balancing bias, its scale on the routed sum and
the norm before it: the router scores each expert by the sigmoid of a linear map, a token goes to the top_k of them with
weights that add up to one, an expert is a gated network (SwiGLU), the outputs are added up and the input is added.

Spread out, tokens live on GPUs (attention is data-parallel) and so do experts. `parallel` sends every token's
activation to the GPUs of its experts (dispatch), runs each expert where it lies, sends the outputs back and sums them
(combine). What it sends it counts: a `Traffic` is the bytes from each GPU to each. The numbers travel in double
precision, so that the result can be held against the layer's own; a value is counted at the width it would have (FP8 1
byte, BF16 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Logistic function, element by element."""
    return 1 / (1 + np.exp(-x))


class Routing(NamedTuple):
    """Where tokens go: experts and their weights, both [tokens, top_k + shared]; shared experts come last."""

    experts: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Layer:
    """Router and experts. Experts beyond those that the router scores are shared: every token takes them, at weight
    1.
    """

    router: np.ndarray  # [d_model, experts]
    gate: np.ndarray  # [experts + shared, d_model, d_expert]
    up: np.ndarray  # [experts + shared, d_model, d_expert]
    down: np.ndarray  # [experts + shared, d_expert, d_model]
    top_k: int

    def __post_init__(self) -> None:
        if not 1 <= self.top_k <= self.experts:
            raise ValueError(
                f"top_k is {self.top_k}, but a token can take 1 to {self.experts} of {self.experts} experts"
            )
        networks, d_model, d_expert = self.gate.shape
        fits = self.up.shape == self.gate.shape and self.down.shape == (networks, d_expert, d_model)
        if not fits or len(self.router) != d_model or networks < self.experts:
            raise ValueError(
                "shapes do not fit: router [d_model, experts], gate and up [n, d_model, d_expert], down [n, d_expert,"
                " d_model]"
            )

    @classmethod
    def random(cls, d_model: int, d_expert: int, experts: int, top_k: int, shared: int = 0, seed: int = 0) -> Layer:
        """A layer with random weights, of a variance that keeps outputs about as large as inputs."""
        draw = np.random.default_rng(seed)
        weights = lambda *shape: draw.standard_normal(shape) / np.sqrt(shape[-2])
        wide, n = (d_model, d_expert), experts + shared
        return cls(weights(d_model, experts), weights(n, *wide), weights(n, *wide), weights(n, *wide[::-1]), top_k)

    @property
    def experts(self) -> int:
        """Experts that the router chooses from."""
        return self.router.shape[1]

    @property
    def shared(self) -> int:
        """Experts that every token takes."""
        return len(self.gate) - self.experts

    def expert(self, which: int, x: np.ndarray) -> np.ndarray:
        """One gated network: down(silu(gate x) · up x), for x [..., d_model]."""
        gate = x @ self.gate[which]
        return (gate * sigmoid(gate) * (x @ self.up[which])) @ self.down[which]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The layer's output [tokens, d_model] for x [tokens, d_model], one token after the other in one place."""
        return np.array([self._token(token) for token in self._checked(x)]).reshape(x.shape)

    def _token(self, token: np.ndarray) -> np.ndarray:
        scores = sigmoid(token @ self.router)
        chosen = np.argsort(scores)[-self.top_k :]
        out = token.copy()  # the residual
        for which in chosen:
            out += scores[which] / scores[chosen].sum() * self.expert(which, token)
        for which in range(self.experts, self.experts + self.shared):
            out += self.expert(which, token)
        return out

    def route(self, x: np.ndarray) -> Routing:
        """The routing of all tokens x [tokens, d_model] at once."""
        scores = sigmoid(self._checked(x) @ self.router)
        chosen = top(scores, self.top_k)
        weights = np.take_along_axis(scores, chosen, axis=1)
        always = np.broadcast_to(np.arange(self.experts, self.experts + self.shared), (len(x), self.shared))
        weights = weights / weights.sum(axis=1, keepdims=True)
        return Routing(np.hstack([chosen, always]), np.hstack([weights, np.ones(always.shape)]))

    def _checked(self, x: np.ndarray) -> np.ndarray:
        if np.ndim(x) != 2 or x.shape[1] != len(self.router):
            raise ValueError(f"x has the shape {list(np.shape(x))}: give [tokens, {len(self.router)}]")
        return x


def top(scores: np.ndarray, top_k: int, groups: int = 1, limit: int | None = None, best: int = 2) -> np.ndarray:
    """The experts [tokens, top_k] with the highest of the scores [tokens, experts], in no particular order.

    With a `limit` only from that many of the `groups` of neighbouring experts: those whose `best` highest scores have
    the largest sum. DeepSeek-V3 so sends a token to at most 4 of 8 nodes (arXiv 2412.19437, section 2.1.2).
    """
    experts = scores.shape[1]
    if limit is not None:
        _check_groups(experts, top_k, groups, limit, best)
        grouped = np.sort(scores.reshape(len(scores), groups, -1), axis=2)
        kept = top(grouped[:, :, -best:].sum(axis=2), limit)
        allowed = np.zeros((len(scores), groups), bool)
        np.put_along_axis(allowed, kept, True, axis=1)
        scores = np.where(allowed.repeat(experts // groups, axis=1), scores, -np.inf)
    if not 1 <= top_k <= experts:
        raise ValueError(f"top_k is {top_k}, but there are {experts} to choose from")
    return np.argpartition(scores, experts - top_k, axis=1)[:, experts - top_k :]


def _check_groups(experts: int, top_k: int, groups: int, limit: int, best: int) -> None:
    if experts % groups:
        raise ValueError(f"{experts} experts do not make {groups} equal groups")
    if not 1 <= limit <= groups or not 1 <= best <= experts // groups or limit * (experts // groups) < top_k:
        raise ValueError(
            f"{limit} of {groups} groups of {experts // groups} experts, judged by their best {best}, cannot give"
            f" {top_k} experts"
        )


# --- places ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placement:
    """Which GPU serves which expert: `hosts` [gpus, experts + shared] is, for tokens of a GPU, the GPU of an expert."""

    hosts: np.ndarray

    @property
    def gpus(self) -> int:
        """GPUs that hold tokens, experts or both."""
        return len(self.hosts)

    def sources(self, tokens: int) -> np.ndarray:
        """The GPU [tokens] on which each token lives: as many on each, in order."""
        if tokens % self.gpus:
            raise ValueError(f"{tokens} tokens do not divide over {self.gpus} GPUs: take a multiple of {self.gpus}")
        return np.arange(self.gpus).repeat(tokens // self.gpus)

    def targets(self, experts: np.ndarray) -> np.ndarray:
        """The GPU that serves each choice of experts [tokens, choices]; same shape."""
        return self.hosts[self.sources(len(experts))[:, None], experts]


def place(experts: int, gpus: int, shared: int = 0, shared_gpus: int = 0) -> Placement:
    """Experts spread evenly over GPUs, neighbours together.

    Every GPU has its own copy of the shared experts; with `shared_gpus`, that many further GPUs have them instead and
    the others use them in turn, as in DeepSeek-V3's decoding unit (256 + 64 GPUs; arXiv 2412.19437, section 3.4.2).
    """
    if gpus < 1 or experts % gpus:
        fit = [n for n in range(1, experts + 1) if experts % n == 0]
        around = [max(n for n in fit if n <= max(gpus, 1)), min(n for n in fit if n >= min(gpus, experts))]
        near = [f"{n} ({experts // n} each)" for n in sorted(set(around))]
        raise ValueError(f"{experts} experts do not divide over {gpus} GPUs: take {' or '.join(near)}")
    everyone = np.arange(gpus + shared_gpus)
    own = gpus + everyone % shared_gpus if shared_gpus else everyone
    routed = np.arange(gpus).repeat(experts // gpus)
    hosts = [np.broadcast_to(routed, (len(everyone), experts)), np.broadcast_to(own[:, None], (len(everyone), shared))]
    return Placement(np.hstack(hosts))


@dataclass(frozen=True)
class Traffic:
    """Bytes from each GPU (row) to each GPU (column); the diagonal stays where it is and takes no time.

    GPUs are numbered rack by rack, so a number of racks, all of one size, is all there is to say about them.
    """

    matrix: np.ndarray

    def crosses(self, racks: int) -> np.ndarray:
        """Whether the way from GPU to GPU leaves the rack, [gpus, gpus]."""
        gpus = len(self.matrix)
        if racks < 1 or gpus % racks:
            raise ValueError(f"{gpus} GPUs do not make {racks} equal racks: take a divisor of {gpus}")
        rack = np.arange(gpus) // (gpus // racks)
        return rack[:, None] != rack

    def leaving(self, racks: int) -> float:
        """The fraction of all bytes, those on the diagonal included, that leaves its rack."""
        return float(self.matrix[self.crosses(racks)].sum() / self.matrix.sum())

    @property
    def sent(self) -> float:
        """Bytes that leave their GPU."""
        return float(self._links.sum())

    @property
    def staying(self) -> float:
        """The fraction of all bytes that stays on its GPU."""
        return float(np.trace(self.matrix) / self.matrix.sum())

    @property
    def fullest(self) -> float:
        """What the busiest GPU sends or receives, over the mean."""
        return float(max(self._links.sum(axis=way).max() for way in (0, 1)) * len(self.matrix) / self.sent)

    @property
    def busiest(self) -> tuple[int, int, float]:
        """Source, destination and bytes of the most used way between two GPUs."""
        links = self._links
        source, destination = np.unravel_index(links.argmax(), links.shape)
        return int(source), int(destination), float(links[source, destination])

    def time(self, scale_up: float, scale_out: float, latency: float = 0, racks: int = 1) -> float:
        """Seconds until the last byte is there; bandwidths per GPU and direction, bytes/s, inside a rack and out of it.

        Sending and receiving overlap, and so do the two networks: the slowest of the four, at the busiest GPU, decides.
        """
        links, out = self._links, self.crosses(racks)
        busiest = lambda moved: max(moved.sum(axis=0).max(), moved.sum(axis=1).max())
        return float(latency + max(busiest(links * ~out) / scale_up, busiest(links * out) / scale_out))

    @property
    def _links(self) -> np.ndarray:
        return self.matrix * ~np.eye(len(self.matrix), dtype=bool)


# --- the layer, spread out -------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """One pass of the spread layer: its output [tokens, d_model] and what went out and came back."""

    output: np.ndarray
    dispatch: Traffic
    combine: Traffic

    def time(self, scale_up: float, scale_out: float, latency: float = 0, racks: int = 1) -> float:
        """Seconds for the way there and the way back; arguments as of `Traffic.time`."""
        return sum(way.time(scale_up, scale_out, latency, racks) for way in (self.dispatch, self.combine))


class Copies(NamedTuple):
    """Activations that one GPU receives: whose they are [n], and which choices each is for [n, choices]."""

    token: np.ndarray
    serves: np.ndarray


def copies(wanted: np.ndarray, per: str) -> Copies:
    """The copies to send for the choices `wanted` [tokens, choices] of one GPU: one per "expert", or one per "gpu"."""
    check_per(per)
    if per == "gpu":
        token = np.flatnonzero(wanted.any(axis=1))
        return Copies(token, wanted[token])
    token, choice = np.nonzero(wanted)
    return Copies(token, np.eye(wanted.shape[1], dtype=bool)[choice])


def check_per(per: str) -> None:
    """ValueError unless copies are counted one of the two ways."""
    if per not in ("expert", "gpu"):
        raise ValueError(f'per is {per!r}: count one copy per "expert" or, without duplicates, per "gpu"')


def parallel(
    layer: Layer,
    x: np.ndarray,
    placement: Placement,
    per: str = "gpu",
    dispatch_bytes: float = 1,
    combine_bytes: float = 2,
) -> Step:
    """The layer on x [tokens, d_model] with experts and tokens where `placement` has them; bytes are per value.

    `per` says what travels: one copy of a token per chosen "expert", or one per distinct "gpu", which then sums the
    outputs of its own experts before it sends them back.
    """
    if placement.hosts.shape[1] != layer.experts + layer.shared:
        raise ValueError(
            f"the placement has {placement.hosts.shape[1]} experts, the layer {layer.experts} and {layer.shared}"
            " shared: place those"
        )
    routing, sources, out = layer.route(x), placement.sources(len(x)), x.copy()
    targets = placement.targets(routing.experts)
    there, back = np.zeros((2, placement.gpus, placement.gpus))
    for gpu in range(placement.gpus):
        token, serves = copies(targets == gpu, per)
        arrived = x[token]  # dispatch
        np.add.at(there[:, gpu], sources[token], dispatch_bytes * arrived.shape[1])
        summed = _mixed(layer, arrived, routing.experts[token], routing.weights[token] * serves)
        np.add.at(back[gpu], sources[token], combine_bytes * summed.shape[1])
        np.add.at(out, token, summed)  # combine
    return Step(out, Traffic(there), Traffic(back))


def _mixed(layer: Layer, x: np.ndarray, experts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted sum of each row's experts, of those whose weight is not zero: the GPU has no others."""
    out = np.zeros_like(x)
    for which in np.unique(experts[weights > 0]):
        row, choice = np.nonzero((experts == which) & (weights > 0))
        out[row] += weights[row, choice, None] * layer.expert(which, x[row])
    return out


# --- the page's table ------------------------------------------------------------------------------------------------


class Compared(NamedTuple):
    """One quantity of a pass: what was counted, and what a formula says (None: no formula was given)."""

    name: str
    quantity: str
    unit: str
    counted: float
    formula: float | None


def compared(step: Step, racks: int, scale_up: float, scale_out: float, **formulas: float) -> list[Compared]:
    """Counted against given values, one row each; `formulas` by the rows' names, in the same base units."""
    one, several = (step.time(scale_up, scale_out, racks=n) for n in (1, racks))
    rows = {
        "dispatched": (
            "copies for one GPU's tokens, mean",
            "byte",
            step.dispatch.matrix.sum(axis=1).mean(),
        ),
        "combined": ("results for one GPU's tokens, mean", "byte", step.combine.matrix.sum(axis=0).mean()),
        "staying": ("fraction that stays on its GPU", "", step.dispatch.staying),
        "leaving": (f"fraction that leaves one of {racks} racks", "", step.dispatch.leaving(racks)),
        "fullest": ("bytes of the busiest GPU over the mean", "", step.dispatch.fullest),
        "time_one": ("time there and back, one rack", "s", one),
        "time_racks": (f"time there and back, {racks} racks", "s", several),
        "slowdown": (f"{racks} racks over one rack", "", several / one),
    }
    if unknown := set(formulas) - set(rows):
        raise ValueError(f"no row {', '.join(sorted(unknown))}: the rows are {', '.join(rows)}")
    return [Compared(name, *row, formulas.get(name)) for name, row in rows.items()]


def compare(step: Step, racks: int, scale_up: float, scale_out: float, **formulas: float):
    """The quantities for which a formula is given, as a table for the page."""
    from blackboard import units
    from blackboard.page.summary import table

    say = lambda value, unit: units.pretty(value, unit or "1", 4)
    rows = [
        (row.quantity, say(row.counted, row.unit), say(row.formula, row.unit))
        for row in compared(step, racks, scale_up, scale_out, **formulas)
        if row.formula is not None
    ]
    return table(
        f"One pass of the experts over {len(step.dispatch.matrix)} GPUs",
        ("Quantity", "Counted", "By the formula"),
        rows,
    )
