"""Deep networks in NumPy that really run: how a difference grows through them, and what training them keeps in memory.

A network is a stack of functions f(x) = tanh(norm(x) A) B between an inlet and an outlet, joined in one of three ways:

- plain: x becomes f(x);
- residual: x becomes x + f(x);
- reversible: (x, y) becomes (y + f(x), x), as in a Feistel cipher. Two such layers are one block of a RevNet (arXiv
  1707.04585), y1 = x1 + F(x2) and y2 = x2 + G(y1); from the outputs the inputs can be had again.

Every matrix product and every array that is kept for the backward pass goes through a `Ledger`, which counts them while
training runs: the second route of the lesson's formulas. Arrays of activations are [samples, width].
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from blackboard.catalogue.datafile import DATA

KINDS = ("plain", "residual", "reversible")
WAYS = ("stored", "checkpointed", "reversible")  # how training comes by the activations that its backward pass needs
TINY = 1e-5  # added under the norm's root, as usual

State = tuple[np.ndarray, ...]  # one stream, or the two of a reversible network


class Ledger:
    """What is kept and what is multiplied: bytes now and at most, and multiply-adds by phase."""

    def __init__(self) -> None:
        self.phase, self.now, self.peak = "forward", 0, 0
        self.macs: Counter[str] = Counter()
        self._holds: Counter = Counter()

    def keep(self, *arrays: np.ndarray) -> None:
        """Note arrays that stay alive for the backward pass; one that is kept twice takes its bytes once."""
        for array in arrays:
            self.now += 0 if self._holds[id(array)] else array.nbytes
            self._holds[id(array)] += 1
        self.peak = max(self.peak, self.now)

    def free(self, *arrays: np.ndarray) -> None:
        """Note that arrays are no longer needed; ValueError for one that was not kept."""
        for array in arrays:
            if not self._holds[id(array)]:
                raise ValueError("an array is freed that was not kept")
            self._holds[id(array)] -= 1
            self.now -= 0 if self._holds[id(array)] else array.nbytes

    def product(self, a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The matrix product of a and b, counted."""
        self.macs[self.phase] += a.shape[0] * a.shape[1] * b.shape[1]
        return np.matmul(a, b, out=out)


# --- one function -----------------------------------------------------------------------------------------------------


def _mean(x: np.ndarray) -> np.ndarray:
    """Mean of each row [samples, 1], as NumPy's `mean` has it, which takes twice as long; halves are summed in single
    precision.
    """
    half = x.dtype == np.float16
    mean = np.add.reduce(x, axis=1, keepdims=True, dtype=np.float32 if half else None) / x.shape[1]
    return mean.astype(x.dtype) if half else mean


def norm(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """LayerNorm without gains, and one over the deviation [samples, 1]."""
    centred = x - _mean(x)
    inverse = 1 / np.sqrt(_mean(centred * centred) + x.dtype.type(TINY))
    centred *= inverse
    return centred, inverse


class Layer(NamedTuple):
    """f(x) = tanh(norm(x) @ inner) @ outer: inner [width, hidden], outer [hidden, width]."""

    inner: np.ndarray
    outer: np.ndarray
    normed: bool

    def __call__(self, x: np.ndarray, ledger: Ledger) -> tuple[np.ndarray, State]:
        """f(x), and what its backward pass will need."""
        entry, scale = norm(x) if self.normed else (x, None)
        hidden = ledger.product(entry, self.inner)
        np.tanh(hidden, out=hidden)
        return ledger.product(hidden, self.outer), (entry, hidden) if scale is None else (entry, hidden, scale)

    def back(self, slope: np.ndarray, kept: State, out: tuple[np.ndarray, np.ndarray], ledger: Ledger) -> np.ndarray:
        """Gradient of x from the gradient of f(x); those of inner and outer are written into `out`."""
        entry, hidden, *scale = kept
        ledger.product(hidden.T, slope, out=out[1])
        before = ledger.product(slope, self.outer.T)
        before *= 1 - hidden * hidden
        ledger.product(entry.T, before, out=out[0])
        turned = ledger.product(before, self.inner.T)
        if not self.normed:
            return turned
        turned -= _mean(turned) + entry * _mean(turned * entry)
        turned *= scale[0]
        return turned


# --- the network ------------------------------------------------------------------------------------------------------


@dataclass
class Network:
    """Inlet [inputs, streams × width], layers, outlet [streams × width, outputs], joined in the way of its kind."""

    inlet: np.ndarray
    layers: list[Layer]
    outlet: np.ndarray
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}: the kinds are {', '.join(KINDS)}")

    @classmethod
    def random(
        cls,
        kind: str,
        depth: int,
        width: int = 32,
        inputs: int = 64,
        outputs: int = 10,
        *,
        normed: bool = True,
        gain: float = 1.0,
        seed: int = 0,
        dtype: str = "float64",
    ) -> Network:
        """Random weights; with gain 1 products keep the variance of what is multiplied, `hidden` is as wide as a
        stream.
        """
        draw, streams = np.random.default_rng(seed), 2 if kind == "reversible" else 1
        weights = lambda rows, columns, by=1.0: (draw.standard_normal((rows, columns)) * by / np.sqrt(rows)).astype(
            dtype
        )
        layers = [Layer(weights(width, width, gain), weights(width, width, gain), normed) for _ in range(depth)]
        return cls(weights(inputs, streams * width), layers, weights(streams * width, outputs), kind)

    @property
    def depth(self) -> int:
        return len(self.layers)

    @property
    def weights(self) -> list[np.ndarray]:
        """All weights, in order: inlet, inner and outer of each layer, outlet."""
        return [self.inlet, *(matrix for layer in self.layers for matrix in layer[:2]), self.outlet]

    def cast(self, dtype: str) -> Network:
        """The same network in another precision."""
        layers = [Layer(layer.inner.astype(dtype), layer.outer.astype(dtype), layer.normed) for layer in self.layers]
        return Network(self.inlet.astype(dtype), layers, self.outlet.astype(dtype), self.kind)

    def start(self, inputs: np.ndarray, ledger: Ledger) -> State:
        """The streams below the first layer."""
        entered = ledger.product(inputs, self.inlet)
        return (
            tuple(np.ascontiguousarray(half) for half in np.split(entered, 2, axis=1))
            if self.kind == "reversible"
            else (entered,)
        )

    def up(self, state: State, out: np.ndarray) -> State:
        """The streams above a layer whose f gave `out`."""
        if self.kind == "plain":
            return (out,)
        return (state[0] + out,) if self.kind == "residual" else (state[1] + out, state[0])

    def down(self, state: State, layer: Layer, ledger: Ledger) -> tuple[State, State]:
        """The streams below a layer from those above it, and what its backward pass needs: only a reversible network
        can.
        """
        if self.kind != "reversible":
            raise ValueError(f"a {self.kind} network cannot be run backwards")
        out, kept = layer(state[1], ledger)
        return (state[1], np.subtract(state[0], out, out=state[0])), kept  # in place: no third stream

    def run(self, state: State, ledger: Ledger | None = None) -> list[State]:
        """The streams below each layer and above the last [depth + 1]."""
        states = [state]
        for layer in self.layers:
            states.append(self.up(states[-1], layer(states[-1][0], ledger or Ledger())[0]))
        return states

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Outputs [samples, outputs]."""
        state, nobody = self.start(inputs, Ledger()), Ledger()
        for layer in self.layers:
            state = self.up(state, layer(state[0], nobody)[0])
        return np.concatenate(state, axis=1) @ self.outlet


# --- gradients, with activations had in three ways --------------------------------------------------------------------


def blank(network: Network) -> list[np.ndarray]:
    """Room for the gradients of all weights."""
    return [np.empty_like(matrix) for matrix in network.weights]


def gradients(
    network: Network,
    inputs: np.ndarray,
    labels: np.ndarray,
    way: str = "stored",
    segment: int = 1,
    into: list[np.ndarray] | None = None,
    ledger: Ledger | None = None,
) -> tuple[float, list[np.ndarray]]:
    """Mean cross-entropy (nats) of a batch, and its gradients in the order of `weights`.

    way: "stored" keeps every layer's activations; "checkpointed" keeps the streams every `segment` layers and runs
    forward again from there; "reversible" keeps the streams at the top and works its way down.
    """
    if way not in WAYS:
        raise ValueError(f"way is {way!r}: the ways are {', '.join(WAYS)}")
    into, ledger = blank(network) if into is None else into, ledger or Ledger()
    state = network.start(inputs, ledger)
    kept, state = _forward(network, state, way, segment, ledger)
    loss, slopes = _head(network, state, labels, into[-1], ledger)
    if way == "stored":
        del state
        slopes = _down_kept(network, kept, 0, slopes, into, ledger)
    elif way == "checkpointed":
        del state
        slopes = _down_segments(network, kept, segment, slopes, into, ledger)
    else:
        slopes = _down_rebuilt(network, state, slopes, into, ledger)
    ledger.phase = "backward"
    ledger.product(inputs.T, np.concatenate(slopes, axis=1), out=into[0])
    return loss, into


def _forward(network: Network, state: State, way: str, segment: int, ledger: Ledger) -> tuple[list[State], State]:
    """What this way keeps, bottom to top, and the streams at the top."""
    kept: list[State] = []
    for n, layer in enumerate(network.layers):
        if way == "checkpointed" and n % segment == 0:
            kept.append(state)
            ledger.keep(*state)
        out, needs = layer(state[0], ledger)
        if way == "stored":
            kept.append(needs)
            ledger.keep(*needs)
        state = network.up(state, out)
    if way == "reversible":
        ledger.keep(*state)
    return kept, state


def _head(network: Network, state: State, labels: np.ndarray, into: np.ndarray, ledger: Ledger) -> tuple[float, State]:
    """The loss, and the gradients of the streams at the top."""
    top = np.concatenate(state, axis=1)
    scores = ledger.product(top, network.outlet)
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores)
    chances /= chances.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -float(np.log(chances[rows, labels]).mean())
    chances[rows, labels] -= 1
    chances /= len(labels)
    ledger.phase = "backward"
    ledger.product(top.T, chances, out=into)
    slopes = ledger.product(chances, network.outlet.T)
    return loss, tuple(np.split(slopes, len(state), axis=1))


def _below(network: Network, n: int, slopes: State, needs: State, into: list[np.ndarray], ledger: Ledger) -> State:
    """Gradients of the streams below layer n from those above it."""
    ledger.phase = "backward"
    through = network.layers[n].back(slopes[0], needs, (into[1 + 2 * n], into[2 + 2 * n]), ledger)
    if network.kind == "plain":
        return (through,)
    through += slopes[-1]  # a residual's own stream, or the one that the swap put aside
    return (through,) if network.kind == "residual" else (through, slopes[0])


def _down_kept(
    network: Network, kept: list[State], first: int, slopes: State, into: list[np.ndarray], ledger: Ledger
) -> State:
    """Down through layers whose activations are kept, from the layer `first` on; each is freed once it is used."""
    while kept:
        needs = kept.pop()
        slopes = _below(network, first + len(kept), slopes, needs, into, ledger)
        ledger.free(*needs)
    return slopes


def _down_segments(
    network: Network, marks: list[State], segment: int, slopes: State, into: list[np.ndarray], ledger: Ledger
) -> State:
    """Down segment by segment: from each kept state forward again, then down through what that gave."""
    while marks:
        mark = state = marks.pop()
        first, needed = len(marks) * segment, []
        ledger.phase = "again"
        for layer in network.layers[first : first + segment]:
            out, needs = layer(state[0], ledger)
            needed.append(needs)
            ledger.keep(*needs)
            state = network.up(state, out)
        del out, needs, state
        slopes = _down_kept(network, needed, first, slopes, into, ledger)
        ledger.free(*mark)
    return slopes


def _down_rebuilt(network: Network, state: State, slopes: State, into: list[np.ndarray], ledger: Ledger) -> State:
    """Down layer by layer in lock-step: the streams below each layer are worked out, then their gradients."""
    for n in reversed(range(network.depth)):
        ledger.phase = "again"
        state, needs = network.down(state, network.layers[n], ledger)
        ledger.keep(*needs)
        slopes = _below(network, n, slopes, needs, into, ledger)
        ledger.free(*needs)
    ledger.free(*state)
    return slopes


# --- what a step takes ------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """What one training step took: bytes kept at most by the ledger's count, and by Python's own; multiply-adds by
    phase.
    """

    kept: int
    traced: int  # beyond what stood before: what is kept, and working arrays
    macs: dict[str, int]


def step(network: Network, inputs: np.ndarray, labels: np.ndarray, way: str, segment: int = 1) -> Step:
    """Take one step's gradients and measure; room for the gradients themselves stands before, and is not counted."""
    import tracemalloc

    ledger, into = Ledger(), blank(network)
    tracemalloc.start()
    try:
        gradients(network, inputs, labels, way, segment, into, ledger)
        traced = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return Step(ledger.peak, traced, dict(ledger.macs))


def layer_bytes(network: Network, samples: int) -> tuple[int, int]:
    """Bytes of one stream, and those that one layer keeps for its backward pass: what goes in, what is hidden, the
    deviations.
    """
    width, hidden = network.layers[0].inner.shape
    value = network.inlet.itemsize
    return samples * width * value, samples * (width + hidden + network.layers[0].normed) * value


# --- how a difference grows -------------------------------------------------------------------------------------------

SMALL = 1e-6  # a difference small enough for f to be straight, in double precision
SHIFTED = 7  # keeps a seed's shifts apart from its weights


def _size(state: State) -> float:
    """Root of the sum of squares over all streams."""
    return float(np.sqrt(sum((stream * stream).sum() for stream in state)))


def growth(network: Network, state: State, seed: int = 0) -> np.ndarray:
    """Relative difference below each layer and above the last, over that at the start [depth + 1], in double
    precision.
    """
    draw = np.random.default_rng((seed, SHIFTED))
    shift = tuple(SMALL * stream.std() * draw.standard_normal(stream.shape) for stream in state)
    pairs = zip(network.run(state), network.run(tuple(a + b for a, b in zip(state, shift))))
    found = np.array([_size(tuple(b - a for a, b in zip(*pair))) / _size(pair[0]) for pair in pairs])
    return found / found[0]


def growth_back(network: Network, state: State, seed: int = 0) -> np.ndarray:
    """The same on the way down from the streams at the top: over the difference there, after 0, 1, … layers [depth +
    1].
    """
    draw, nobody = np.random.default_rng((seed, SHIFTED)), Ledger()
    one = network.run(state)[-1]
    two, found = tuple(stream + SMALL * stream.std() * draw.standard_normal(stream.shape) for stream in one), []
    one = tuple(stream.copy() for stream in one)
    for layer in (*reversed(network.layers), None):
        found.append(_size(tuple(b - a for a, b in zip(one, two))) / _size(one))
        if layer:
            (one, _), (two, _) = network.down(one, layer, nobody), network.down(two, layer, nobody)
    return np.array(found) / found[0]


class _Wide:
    """Variances in a network of infinite width: what a layer adds to a stream and to a difference, and each stream's,
    layer by layer.

    A layer's values, and its differences, are independent of all that came before, because its weights are: they add
    up. This is mean-field theory (Poole and others, arXiv 1606.05340; for residual networks Yang and Schoenholz,
    1712.08969).
    """

    def __init__(self, kind: str, depth: int, gain: float, normed: bool):
        self.kind, self.gain, self.normed = kind, gain, normed
        self.squares = [[1.0] * (2 if kind == "reversible" else 1)]
        for _ in range(depth):
            self.squares.append(self.up(self.squares[-1], self.adds(self.squares[-1][0])))

    def hidden(self, square: float) -> tuple[np.ndarray, np.ndarray]:
        """Hidden values and their weights under the normal distribution, where f's stream has this variance."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(61)
        return np.tanh(self.gain * np.sqrt(1 if self.normed else square) * nodes), weights / weights.sum()

    def adds(self, square: float) -> float:
        """Variance of f's values."""
        hidden, weights = self.hidden(square)
        return self.gain**2 * float(hidden**2 @ weights)

    def widens(self, square: float, differs: float) -> float:
        """Variance of f's difference."""
        hidden, weights = self.hidden(square)
        return self.gain**4 * float((1 - hidden**2) ** 2 @ weights) * differs / (square if self.normed else 1)

    def up(self, below: list[float], added: float) -> list[float]:
        """Variances above a layer; with one stream the last is the first."""
        return [added] if self.kind == "plain" else [below[-1] + added, *below[:-1]]


def expected_growth(kind: str, depth: int, gain: float = 1.0, normed: bool = True) -> np.ndarray:
    """As `growth`, without a network, from streams of variance 1 [depth + 1]."""
    wide = _Wide(kind, depth, gain, normed)
    differs = [wide.squares[0]]
    for below in wide.squares[:-1]:
        differs.append(wide.up(differs[-1], wide.widens(below[0], differs[-1][0])))
    return np.sqrt([sum(apart) / sum(square) for apart, square in zip(differs, wide.squares)])


def expected_growth_back(depth: int, gain: float = 1.0, normed: bool = True) -> np.ndarray:
    """As `growth_back`, without a network [depth + 1]."""
    wide = _Wide("reversible", depth, gain, normed)
    differs = [wide.squares[-1]]
    for below in reversed(wide.squares[:-1]):
        first, second = differs[-1]
        differs.append([second, first + wide.widens(below[0], second)])
    return np.sqrt([sum(apart) / sum(square) for apart, square in zip(differs, reversed(wide.squares))])


SHORT = {"bfloat16": 8}  # significant bits of formats that NumPy lacks; it computes in single precision and rounds


def _short(array: np.ndarray, bits: int) -> np.ndarray:
    """The nearest numbers with so many significant bits."""
    part, power = np.frexp(array)
    return np.ldexp(np.rint(np.ldexp(part, bits)), power - bits)


def round_trip(network: Network, inputs: np.ndarray, dtype: str) -> np.ndarray:
    """Relative error of the streams rebuilt from the top, after 0, 1, … layers back [depth + 1], all in one
    precision.
    """
    bits = SHORT.get(dtype)
    kept = lambda state: state if bits is None else tuple(_short(stream, bits) for stream in state)
    low = network.cast("float32" if bits else dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        states = [kept(low.start(inputs.astype(low.inlet.dtype), Ledger()))]
        for layer in low.layers:
            states.append(kept(low.up(states[-1], layer(states[-1][0], Ledger())[0])))
        state, found = tuple(stream.copy() for stream in states[-1]), [0.0]
        for layer, true in zip(reversed(low.layers), reversed(states[:-1])):
            state = kept(low.down(state, layer, Ledger())[0])
            apart = tuple(a.astype("float64") - b for a, b in zip(state, true))
            found.append(_size(apart) / _size(tuple(stream.astype("float64") for stream in true)))
    return np.array(found)


# --- training ---------------------------------------------------------------------------------------------------------


class Digits(NamedTuple):
    """Handwritten digits of eight by eight pixels, values 0 to 1, and what they are: for training, and for the test."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


@cache
def digits() -> Digits:
    """1,797 handwritten digits (Alpaydin and Kaynak, UCI repository, CC BY 4.0; the rows that scikit-learn carries);
    every fifth, in a fixed random order, is for the test.
    """
    rows = np.loadtxt(DATA / "digits.csv.gz", delimiter=",")
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    pixels, labels = rows[:, :-1] / 16, rows[:, -1].astype(int)
    test = np.arange(len(labels)) % 5 == 0
    return Digits(pixels[~test], labels[~test], pixels[test], labels[test])


@dataclass
class Trained:
    """A network after training, its loss at each step and its accuracy on the test's digits before and after each
    epoch.
    """

    network: Network
    losses: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    steps_per_epoch: int = 0


def accuracy(network: Network, data: Digits) -> float:
    """Share of the test's digits that are recognised."""
    return float((network(data.test.astype(network.inlet.dtype)).argmax(axis=1) == data.test_labels).mean())


def train(
    network: Network, way: str, epochs: int = 15, batch: int = 64, rate: float = 3e-3, segment: int = 4, seed: int = 0
) -> Trained:
    """Train a network on the digits, in place, by Adam with a rate that falls to nothing; the same seed gives the same
    run.
    """
    data, draw, run = digits(), np.random.default_rng(seed), Trained(network)
    pixels, into = data.train.astype(network.inlet.dtype), blank(network)
    run.steps_per_epoch, run.accuracy = len(pixels) // batch, [accuracy(network, data)]
    moments = [(np.zeros_like(matrix), np.zeros_like(matrix)) for matrix in network.weights]
    for _ in range(epochs):
        for some in draw.permutation(len(pixels))[: run.steps_per_epoch * batch].reshape(-1, batch):
            run.losses.append(gradients(network, pixels[some], data.train_labels[some], way, segment, into)[0])
            left = 1 - len(run.losses) / (epochs * run.steps_per_epoch)
            _adam(network.weights, into, moments, len(run.losses), rate * left)
        run.accuracy.append(accuracy(network, data))
    return run


TRAINED = 12  # layers


@cache
def trained(way: str, depth: int = TRAINED) -> Trained:
    """A reversible network in single precision, trained on the digits with its activations had in this way."""
    return train(Network.random("reversible", depth, dtype="float32"), way)


def _adam(
    weights: list[np.ndarray],
    slopes: list[np.ndarray],
    moments: list,
    count: int,
    rate: float,
    fades=(0.9, 0.99),
    least=1e-8,
) -> None:
    """One step of Adam (arXiv 1412.6980), in place."""
    for weight, slope, (first, second) in zip(weights, slopes, moments):
        first += (1 - fades[0]) * (slope - first)
        second += (1 - fades[1]) * (slope * slope - second)
        weight -= rate / (1 - fades[0] ** count) * first / (np.sqrt(second / (1 - fades[1] ** count)) + least)


# --- a network as a cipher --------------------------------------------------------------------------------------------

BYTES = 16  # of a block
LOGISTIC = (
    1.702  # makes the logistic function the normal distribution's, to a hundredth: output bytes are then nearly uniform
)


def scrambler(kind: str, depth: int, seed: int = 0, width: int = 64, gain: float = 1.0, normed: bool = True):
    """A function of blocks, bytes [n, 16] to bytes [n, 16], by a network whose random weights are the key. It has no
    inverse.
    """
    network = Network.random(kind, depth, width, BYTES, BYTES, normed=normed, gain=gain, seed=seed)

    def encrypt(blocks: np.ndarray) -> np.ndarray:
        state, nobody = (
            network.start((blocks.astype(float) - 127.5) / 73.9, Ledger()),
            Ledger(),
        )  # bytes have deviation 73.9
        for layer in network.layers:
            state = network.up(state, layer(state[0], nobody)[0])
        out = norm(np.concatenate(state, axis=1))[0] @ network.outlet
        return np.minimum(256 / (1 + np.exp(-LOGISTIC * out)), 255).astype(np.uint8)

    return encrypt
