"""Ciphers that really run: a Feistel network, how changes spread through it, and attacks that follow small
differences.

Nothing here uses the formulas. A round takes (x, y) to (y + f(x), x), where + is exclusive or; f need not have an
inverse. The cipher is for study: nobody has tried to break it, and almost all new ciphers are broken once somebody
does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from blackboard.lessons.reversibility import network

Blocks = np.ndarray  # bytes [n, bytes of a block]
Encrypt = Callable[[Blocks], Blocks]

# --- the coupling -----------------------------------------------------------------------------------------------------


def couple(x: Any, y: Any, functions: Sequence[Callable], add: Callable = np.bitwise_xor) -> tuple[Any, Any]:
    """Rounds of (x, y) -> (y + f(x), x), with any addition that `uncouple` can undo: of bits, of integers, of reals."""
    for f in functions:
        x, y = add(y, f(x)), x
    return x, y


def uncouple(x: Any, y: Any, functions: Sequence[Callable], take: Callable = np.bitwise_xor) -> tuple[Any, Any]:
    """The inverse of `couple`: the same functions in reverse, forwards; `take` undoes the addition."""
    for f in reversed(functions):
        x, y = y, take(x, f(y))
    return x, y


def unswapped(x: Any, y: Any, functions: Sequence[Callable], add: Callable = np.bitwise_xor) -> tuple[Any, Any]:
    """Rounds of (x, y) -> (x, y + f(x)): the swap is forgotten, and x never changes."""
    for f in functions:
        y = add(y, f(x))
    return x, y


# --- a Feistel cipher -------------------------------------------------------------------------------------------------

WORD = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


def square(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """High and low words of the squares of 64-bit numbers."""
    high, low = x >> WORD, x & LOW
    least, cross = low * low, low * high
    carried = (least >> WORD) + (cross & LOW) * np.uint64(2)
    with np.errstate(over="ignore"):  # the low word is what is left of x * x
        return high * high + (cross >> WORD) * np.uint64(2) + (carried >> WORD), x * x


@dataclass(frozen=True)
class Feistel:
    """A cipher of blocks of two halves of `half_bits` bits each, 4 to 64, in unsigned 64-bit integers; a round for
    each key.
    """

    half_bits: int
    keys: tuple[int, ...]
    swap: bool = True

    def __post_init__(self) -> None:
        if not 4 <= self.half_bits <= 64:
            raise ValueError(f"half_bits is {self.half_bits}: a half has 4 to 64 bits")

    @classmethod
    def random(cls, half_bits: int, rounds: int, seed: int = 0, swap: bool = True) -> Feistel:
        """Random keys."""
        draw = np.random.default_rng(seed)
        keys = draw.integers(0, 2**half_bits - 1, rounds, np.uint64, endpoint=True)
        return cls(half_bits, tuple(int(key) for key in keys), swap)

    @property
    def mask(self) -> np.uint64:
        return np.uint64(2**self.half_bits - 1)

    def f(self, x: np.ndarray, key: int) -> np.ndarray:
        """The round function: the square of x + key, its upper half on its lower. Many x share a value, so it has no
        inverse.
        """
        high, low = square(x ^ np.uint64(key))
        if self.half_bits < 64:
            bits = np.uint64(self.half_bits)
            high = low >> bits | high << (np.uint64(64) - bits)
        return (low ^ high) & self.mask

    @property
    def functions(self) -> list[Callable]:
        """The round function with each key."""
        return [lambda x, key=key: self.f(x, key) for key in self.keys]

    def encrypt(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Halves of the ciphertexts from halves of the plaintexts."""
        return (couple if self.swap else unswapped)(np.asarray(x, np.uint64), np.asarray(y, np.uint64), self.functions)

    def decrypt(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """And back. Without the swap the rounds are their own inverse."""
        return (uncouple if self.swap else unswapped)(
            np.asarray(x, np.uint64), np.asarray(y, np.uint64), self.functions
        )

    def __call__(self, blocks: Blocks) -> Blocks:
        """The same on blocks of bytes; halves are 8, 16, 32 or 64 bits."""
        halves = np.ascontiguousarray(blocks).view(f"<u{self.half_bits // 8}")
        out = np.stack(self.encrypt(halves[:, 0], halves[:, 1]), axis=1)
        return out.astype(f"<u{self.half_bits // 8}").view(np.uint8)


# --- how a change spreads ---------------------------------------------------------------------------------------------


def _plain(blocks: int, size: int, seed: int) -> Blocks:
    """Random plaintexts of so many bytes; not the numbers that the key comes from."""
    return np.random.default_rng((seed, 5)).integers(0, 256, (blocks, size), np.uint8)


@cache
def avalanche(half_bits: int, rounds: int, keys: int = 8, blocks: int = 64, swap: bool = True) -> dict[str, np.ndarray]:
    """Mean share of flipped bits after 0, 1, … rounds [rounds + 1], for a flip in the half that enters f first, x, and
    in the other, y.
    """
    found = [_round_by_round(Feistel.random(half_bits, rounds, seed, swap), blocks, seed) for seed in range(keys)]
    return dict(zip("xy", np.mean(found, axis=0).T))


def _round_by_round(cipher: Feistel, blocks: int, seed: int) -> np.ndarray:
    """Mean share of flipped bits after 0, 1, … of its rounds, for a flip in x and in y [rounds + 1, 2]."""
    size, bits = cipher.half_bits, np.uint64(1) << np.arange(cipher.half_bits, dtype=np.uint64)
    flips = np.zeros((2, 1 + 2 * size, 1), np.uint64)  # of x and of y: none, each bit of x, each bit of y
    flips[0, 1 : 1 + size, 0] = flips[1, 1 + size :, 0] = bits
    x, y = (half ^ flip for half, flip in zip(_plain(blocks, size // 4, seed).view(f"<u{size // 8}").T, flips))
    found = []
    for functions in ([], *([f] for f in cipher.functions)):
        x, y = (couple if cipher.swap else unswapped)(x, y, functions)
        changed = np.bitwise_count(x ^ x[0]) + np.bitwise_count(y ^ y[0])
        found.append(changed[1:].reshape(2, -1).mean(axis=1) / (2 * size))
    return np.array(found)


def avalanche_exactly(half_bits: int, rounds: int, side: str) -> list[Fraction]:
    """The same after 0, 1, … rounds for round functions drawn at random from all there are, a new one each round:
    exact, by listing differences.

    Where x differs, f's values are two independent draws and differ by anything with equal chance; where it does not,
    by nothing.
    """
    size, weight = 2**half_bits, lambda value: value.bit_count()
    start = [(1 << bit, 0) if side == "x" else (0, 1 << bit) for bit in range(half_bits)]
    chances, found = {pair: Fraction(1, half_bits) for pair in start}, []
    for _ in range(rounds + 1):
        found.append(sum(chance * (weight(x) + weight(y)) for (x, y), chance in chances.items()) / (2 * half_bits))
        after: dict[tuple[int, int], Fraction] = {}
        for (x, y), chance in chances.items():
            for value in range(size) if x else (0,):
                pair = y ^ value, x
                after[pair] = after.get(pair, Fraction(0)) + (chance / size if x else chance)
        chances = after
    return found


def differential(encrypt: Callable, change: int, bits: int) -> np.ndarray:
    """How often each output difference [2 ** bits] follows an input difference, over all blocks of so many bits, as
    shares.

    `encrypt` takes and gives numbers of so many bits. This is a cipher's derivative in GF(2), of which differential
    cryptanalysis follows the likeliest values.
    """
    blocks = np.arange(2**bits, dtype=np.uint64)
    apart = encrypt(blocks) ^ encrypt(blocks ^ np.uint64(change))
    return np.bincount(apart.astype(np.int64), minlength=2**bits) / 2**bits


def whole(cipher: Feistel) -> Callable:
    """A cipher as a function of numbers: x in the upper bits, y in the lower."""
    bits = np.uint64(cipher.half_bits)

    def encrypt(blocks: np.ndarray) -> np.ndarray:
        x, y = cipher.encrypt(blocks >> bits, blocks & cipher.mask)
        return x << bits | y

    return encrypt


# --- attacks that follow small differences ----------------------------------------------------------------------------

EDGE, PROBE, SHIFT = 40, 8, 4  # distance of bytes from 0 and 255; bytes by which a probe, and then all bytes, are moved


def slopes(ask: Callable[[np.ndarray], np.ndarray], blocks: np.ndarray, inputs: Sequence[int]) -> np.ndarray:
    """Change of each output byte for one more of each of these input bytes [..., inputs, outputs] at blocks [...,
    bytes], by two queries for each.
    """
    moves = np.zeros((len(inputs), blocks.shape[-1]), int)
    moves[range(len(inputs)), inputs] = PROBE
    higher, lower = (np.clip(blocks[..., None, :] + sign * moves, 0, 255) for sign in (1, -1))
    return (ask(higher) - ask(lower)) / (higher - lower).sum(axis=-1, keepdims=True)


def _asked(encrypt: Encrypt) -> Callable[[np.ndarray], np.ndarray]:
    """The cipher as an attacker asks it: ciphertexts of blocks of integers [..., bytes], as numbers to reckon with."""
    return lambda blocks: (
        encrypt(blocks.reshape(-1, blocks.shape[-1]).astype(np.uint8)).astype(float).reshape(blocks.shape)
    )


class Foretold(NamedTuple):
    """Changes of output bytes: what slopes foretold, and what came [trials, bytes]."""

    predicted: np.ndarray
    observed: np.ndarray

    @property
    def correlation(self) -> float:
        return float(np.corrcoef(self.predicted.ravel(), self.observed.ravel())[0, 1])


def foretell(make: Callable[[int], Encrypt], size: int, trials: int = 24) -> Foretold:
    """Foretell what a small change of all bytes does, from slopes measured at the same block; each trial has its own
    key.
    """
    found = []
    for seed in range(trials):
        ask, draw = _asked(make(seed)), np.random.default_rng((seed, 1))
        block, change = draw.integers(EDGE, 256 - EDGE, size), draw.integers(-SHIFT, SHIFT + 1, size)
        found.append((change @ slopes(ask, block, range(size)), ask(block + change) - ask(block)))
    return Foretold(*(np.array(rows) for rows in zip(*found)))


GAMES = 200  # in each, an attacker tells which of two plaintexts a ciphertext has


def distinguish(make: Callable[[int], Encrypt], size: int, trials: int = GAMES) -> float:
    """Share of trials in which an attacker tells which of two plaintexts a ciphertext has; to guess is right in half.

    It may ask for all other ciphertexts: it asks for those of neighbours of both, one bit away, and takes the nearer.
    """
    right = 0
    for seed in range(trials):
        encrypt, draw = make(seed), np.random.default_rng((seed, 2))
        plain, secret = draw.integers(0, 256, (2, size), np.uint8), draw.integers(2)
        near = plain.copy()
        near[:, draw.integers(size)] ^= 1
        target, *asked = encrypt(np.concatenate([plain[[secret]], near])).astype(int)
        right += int(np.argmin([np.abs(target - one).sum() for one in asked])) == secret
    return right / trials


class Climb(NamedTuple):
    """Searches for a secret: shares that found a plaintext with its ciphertext, and the secret itself; ciphertexts
    asked for, on average.
    """

    matched: float
    found: float
    queries: float


SECRET, STARTS, STEPS = 4, 12, 12  # unknown bytes of a block, starts of a search, steps from each
SHARES = np.array([1.0, 0.5, 0.2])  # of a step, tried side by side


def climb(make: Callable[[int], Encrypt], size: int, trials: int = 20) -> Climb:
    """Look for the last SECRET bytes of a plaintext, of which the others are known, from its ciphertext, by following
    slopes.
    """
    ends = [_search(_asked(make(seed)), np.random.default_rng((seed, 3)), size) for seed in range(trials)]
    return Climb(*(float(np.mean(column)) for column in zip(*ends)))


def _search(ask: Callable[[np.ndarray], np.ndarray], draw: np.random.Generator, size: int) -> tuple[bool, bool, int]:
    """Whether a search met the ciphertext, whether by the secret, and what it asked, one start after the other until
    the first that meets it.

    The starts are run side by side, because that is faster; what later ones ask is not counted, and once one has met
    it, they stop.
    """
    secret, each = draw.integers(0, 256, size), 2 * SECRET + 1 + len(SHARES)
    ended = False, False, STARTS * STEPS * each
    target, blocks = ask(secret), np.repeat(secret[None], STARTS, axis=0)
    blocks[:, -SECRET:] = draw.integers(0, 256, (STARTS, SECRET))
    for step in range(STEPS):
        blocks, misses = _nearer(ask, target, blocks)
        if 0 in misses:
            first = int(np.flatnonzero(misses == 0)[0])
            ended = True, bool((blocks[first] == secret).all()), (first * STEPS + step + 1) * each
            blocks = blocks[:first]
        if not len(blocks):
            break
    return ended


def _nearer(
    ask: Callable[[np.ndarray], np.ndarray], target: np.ndarray, blocks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """From each block the best of a few of Newton's steps along the slopes, and how far its ciphertext still is from
    the target.
    """
    size = blocks.shape[-1]
    found = zip(slopes(ask, blocks, range(size - SECRET, size)), target - ask(blocks))
    moves = np.array([np.linalg.lstsq(slope.T, gap, rcond=1e-3)[0] for slope, gap in found])
    tries = np.repeat(blocks[None], len(SHARES), axis=0)
    tries[..., -SECRET:] = np.clip(np.rint(blocks[:, -SECRET:] + SHARES[:, None, None] * moves), 0, 255)
    misses = np.abs(target - ask(tries)).sum(axis=-1)
    best = misses.argmin(axis=0), np.arange(len(blocks))
    return tries[best], misses[best]


# --- three ciphers, attacked ------------------------------------------------------------------------------------------

ROUNDS, HALF_BITS, BLOCK = 8, 64, network.BYTES  # of the Feistel cipher; bytes of a block, as many as a network's
DEEP = ROUNDS  # layers of a network
PLAIN: dict[str, Any] = {"kind": "plain", "gain": 2.5}  # without residuals, and with large weights


def ciphers(depth: int = DEEP) -> dict[str, Callable[[int], Encrypt]]:
    """What is compared, as functions of a key's number: the Feistel cipher, a residual network, a plain one of large
    weights.
    """
    return {
        "Feistel": lambda seed: Feistel.random(HALF_BITS, ROUNDS, seed),
        "residual": lambda seed: network.scrambler("residual", depth, seed),
        "plain": lambda seed: network.scrambler(depth=depth, seed=seed, **PLAIN),
    }


class Attacked(NamedTuple):
    """What three attacks on a cipher come to: foretelling, telling two plaintexts apart, finding a secret."""

    told: Foretold
    apart: float
    broken: Climb


@cache
def attacked(name: str, depth: int = DEEP) -> Attacked:
    """The attacks on one of the `ciphers`."""
    make = ciphers(depth)[name]
    return Attacked(foretell(make, BLOCK), distinguish(make, BLOCK), climb(make, BLOCK))


# --- what training keeps, in practice ---------------------------------------------------------------------------------

# Korthikanti and others: bytes that a layer keeps per head and pair of tokens, beside KEPT for each value of the stream
SCORES = 5
VALUE = 2  # bytes of a value there
MATRICES = 4 + 2 * 4  # of a GPT's layer, in squares of its width: attention's, and the feed-forward network's
SEQUENCE = 2_048  # tokens of a sequence there
