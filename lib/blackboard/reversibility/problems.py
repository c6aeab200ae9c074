"""Practice problems of the reversibility lesson: undo a round, watch a change spread, train without storing, say what
to keep.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from math import log, tanh
from math import sqrt as root

from sympy import Eq, diff, solve, sqrt

from blackboard.catalogue import measurement, model, source, system
from blackboard.formula import Formula
from blackboard.notation import symbols
from blackboard.practice import (
    Band,
    Choice,
    Estimate,
    Expression,
    Function,
    Mistake,
    Ordering,
    Quantity,
    Step,
    Values,
    Whole,
)
from blackboard.reversibility import equations as eq
from blackboard.reversibility.equations import KEPT

FEISTEL = "Invert a whole whose part has no inverse."
SPREAD = "Measure how a small change spreads, and say why an untrained network is a poor cipher."
KEEP = "Train a network without keeping its activations, and count what that saves and costs."
PRICE = "Say what is worth keeping in memory and what is worth computing again."
ANALOGY = "Say where the likeness of ciphers and networks holds and where it fails."

BF16 = 2.0  # bytes
GiB = 2.0**30
left, right = symbols("left right")


def shaped(values: Values) -> Values:
    """What a layer of the drawn width keeps of the drawn tokens, and what passes on from it, in the notation's
    names.
    """
    keeps = lambda bytes_per_value: eq.layer_kept(values, kept_per_value=bytes_per_value, rows=values["tokens"])
    wide = f"{values['width']:,}"  # as it is, not to four digits
    return values | {"layer_bytes": keeps(KEPT), "stream_bytes": keeps(BF16), "wide": wide}


# --- a guess ---------------------------------------------------------------------------------------------------------


def trained(values: Values) -> Values:
    """A drawn model with its width and depth, and what its layers keep of one token."""
    net = model(values["net"])
    shape = {"width": net.d_model, "depth": net.layers, "tokens": 1, "kept": KEPT, "weights": BF16 * net.n_total}
    return shaped(shape) | {"net_name": net.name, "n_total": net.n_total}


def filling(values: Values) -> float:
    """Tokens that fill the memory of the weights: parts of a layer that the paper counts one by one, added up layer by
    layer.
    """
    attention, feed_forward, norms = (
        2 + 4 + 2 + 2 + 1,
        2 + 8 + 8 + 1,
        2 + 2,
    )  # inputs of products, of the non-linearity and norms; dropout masks
    each = sum(part * values["width"] for _ in range(values["depth"]) for part in (attention, feed_forward, norms))
    return values["n_total"] * 2 / each


SMALL = (
    "Only what passes from layer to layer is counted there. Within a layer the backward pass needs the inputs of every"
    " matrix product, and more."
)

guess = Estimate(
    id="guess",
    title="A guess before you read",
    level="easy",
    ask=(
        "{net_name} has {n_total}, stored in two bytes each; it is {depth} layers deep, and a token is a vector of"
        " {wide} values. In training the forward pass keeps of every token what the backward pass will need, mostly in"
        " two bytes a value; attention scores are not kept. After how many tokens does this take as much memory as the"
        " weights? Guess: within a factor of 2.5 counts."
    ),
    draw={"net": ("gpt-3-175b", "bloom-176b")},
    derive=trained,
    unit="token",
    within=2.5,
    objective=KEEP,
    answer=lambda v: v["weights"] / eq.stored(v),
    second=filling,
    means=(
        "A few sequences are enough, and a training batch has millions of tokens. What is kept for the backward pass"
        " can be the largest part of the memory."
    ),
    mistakes=(
        Mistake(lambda v: v["weights"] / (v["depth"] * v["stream_bytes"]), SMALL),
        Mistake(
            lambda v: v["weights"] / v["layer_bytes"],
            "That is one layer. Each layer keeps its own, until the backward pass comes back to it.",
        ),
    ),
    hints=(
        (
            "How many vectors does one layer keep of a token? Think of what goes into each matrix product, each"
            " non-linearity, each norm."
        ),
        "For a layer of this kind {kept} bytes for each of the vector's values have been counted.",
    ),
    solution=lambda v: [
        Step("A layer keeps {kept} bytes for each value of a token's vector:", v["layer_bytes"], "byte"),
        Step(f"All layers, ${eq.stored.latex}$ =", eq.stored(v), "byte"),
        Step("The weights are", v["weights"], "byte"),
        Step("and are matched by", v["weights"] / eq.stored(v), "token"),
    ],
)

# --- undoing a round -------------------------------------------------------------------------------------------------

MODULUS = 16  # the halves of the round by hand: numbers from 0 to 15


def squared(value: int, add: int) -> int:
    """The round function by hand, which has no inverse: the squares leave four different remainders."""
    return (value * value + add) % MODULUS


def came_out(values: Values) -> Values:
    """What a round makes of the drawn block."""
    x, y, add = values["block"]
    return {"add": add, "u": (y + squared(x, add)) % MODULUS, "v": x}


def slips(values: Values) -> list[int]:
    """What the mistakes give: swap forgotten, added and not subtracted, the half that never changed, f itself, its
    constant forgotten.
    """
    u, v, add = values["u"], values["v"], values["add"]
    return [
        (v - squared(u, add)) % MODULUS,
        (u + squared(v, add)) % MODULUS,
        v,
        squared(v, add),
        (u - squared(v, 0)) % MODULUS,
    ]


def telling(block: tuple[int, int, int]) -> bool:
    """Whether a block's answer and its mistakes are different numbers from 1 on."""
    found = [block[1], *slips(came_out({"block": block}))]
    return min(found) > 0 and len(set(found)) == len(found)


BLOCKS = ((5, 11, 3), *filter(telling, product(range(3, 16, 2), range(2, 16, 3), (1, 3, 5, 7))))


class Modular(Whole):
    """A number from 0 to 15, of which neither more nor less is nearer; one that is right but for sixteens is told
    so.
    """

    def bands(self, values: Values) -> list[Band]:
        *told, near = super().bands(values)
        right = self.expected(values)
        whole = values["u"] - values["v"] ** 2 - values["add"]  # worked without a modulus
        wound = sorted({right - MODULUS, right + MODULUS, whole} - {right})
        says = "Modulo 16 that is right. Add 16, or take it away, until it lies between 0 and 15."
        return (
            told
            + [Band(float(x), float(x), "close", says) for x in wound]
            + [Band(0.0, MODULUS - 1.0, near.kind, near.message)]
        )


invert = Modular(
    id="invert",
    title="Undo a round by hand",
    level="easy",
    ask=(
        "A toy cipher works on two numbers from 0 to 15 and computes modulo 16. Its round turns (x, y) into (y + f(x),"
        " x) with f(x) = x² + {add}. Out came ({u}, {v}). What was y? Answer from 0 to 15."
    ),
    draw={"block": BLOCKS},
    derive=came_out,
    units={"u": "", "v": ""},
    unit="1",
    objective=FEISTEL,
    answer=lambda v: (v["u"] - squared(v["v"], v["add"])) % MODULUS,
    second=lambda v: next(
        y for x, y in product(range(16), repeat=2) if ((y + x**2 + v["add"]) % 16, x) == (v["u"], v["v"])
    ),
    means=(
        "You never inverted f, and could not have: modulo 16, x and 16 − x have the same square. You computed it once"
        " more and took it away."
    ),
    mistakes=(
        Mistake(lambda v: slips(v)[0], "The halves have been swapped. What went into f now stands on the right."),
        Mistake(lambda v: slips(v)[1], "On the way forward f(x) was added. On the way back it has to be taken away."),
        Mistake(
            lambda v: slips(v)[2],
            "That is x, which the round carried over unchanged. Asked is the half to which something was added.",
        ),
        Mistake(lambda v: slips(v)[3], "That is f(x). The round added it to y; take it away from what came out."),
        Mistake(lambda v: slips(v)[4], "You took x² away, and left out the number that f adds to it."),
    ),
    beside="Try it: does the round turn your y, with the x that was carried over, into ({u}, {v})?",
    hints=(
        "Which of the two numbers that came out has the round left as it was?",
        "That number is x. Compute f(x) again, and take it away from the other number, modulo 16.",
    ),
    solution=lambda v: [
        Step("The right half is x, as it went in:", v["v"]),
        Step("f(x), modulo 16:", squared(v["v"], v["add"])),
        Step("Taken from {u}, modulo 16:", (v["u"] - squared(v["v"], v["add"])) % MODULUS),
    ],
)


def fitting() -> str:
    """The condition that picks just those functions of two bits whose round can be undone, all functions tried."""
    tables = list(product(range(4), repeat=4))
    works = {f for f in tables if len({(y ^ f[x], x) for x, y in product(range(4), repeat=2)}) == 16}
    picks = {
        "a": {f for f in tables if len(set(f)) == 4},
        "b": {f for f in tables if f[0] == 0 and f[3] == f[1] ^ f[2]},
        "c": set(tables),
    }
    return next(key for key, picked in picks.items() if picked == works)


needs = Choice(
    id="needs",
    title="What f must be",
    level="easy",
    ask="A Feistel round turns (x, y) into (y + f(x), x). What must be asked of f so that the round can be undone?",
    options={
        "a": "it must be one-to-one",
        "b": "it must be linear",
        "c": "only that it can be computed again from x",
        "d": "it must have a derivative",
    },
    answer="c",
    second=lambda v: fitting(),
    objective=FEISTEL,
    means=(
        "That is the whole trick: the designer of f is free. In a network f may be attention, a feed-forward block,"
        " anything that gives the same twice."
    ),
    mistakes=(
        Mistake(
            "a", "One never goes back through f. What went into it is still there, so it can be run forward again."
        ),
        Mistake(
            "b",
            "A linear f would do, and would make a poor cipher. Is there a step on the way back that uses linearity?",
        ),
        Mistake("d", "Training by gradients asks for that. Undoing a round does not."),
    ),
    hints=("Write down the inverse. Does it call f, or the inverse of f?",),
    solution=lambda v: [
        Step("From (u, v): x = v and y = u − f(v). Only f itself is called, on a value that is at hand."),
        Step("So the answer is", "c"),
    ],
)

BLOCK = {"y": right - left**3, "x": left - (right - left**3) ** 2}  # of the block below, undone: the second line first

inverse = Expression(
    id="inverse",
    title="Back through a block",
    level="medium",
    ask=(
        "A reversible block has two steps: u = x + F(y), then v = y + G(u). Here F(z) = z² and G(z) = z³. Write x as a"
        " formula of u and v."
    ),
    formula=Formula(
        "reversibility.block_back",
        "left",
        BLOCK["x"],
        "1",
        "the half that a block with a square and a cube changed first",
        register=False,
    ),
    answer=None,
    second=lambda v: inverted(),
    objective=FEISTEL,
    means="The last step is undone first. RevNets are built of such blocks, with layers for F and G.",
    mistakes=(
        Mistake(left - right**2, "F was given y, not v. Recover y first: the second step changed it."),
        Mistake(BLOCK["y"], "That is y. One step is still to be undone."),
        Mistake(left + (right + left**3) ** 2, "Both steps added. On the way back both take away."),
        Mistake(left - (right + left**3) ** 2, "G(u) was added to y. To recover y, take it away."),
        Mistake(left + BLOCK["y"] ** 2, "The y is right. But F(y) was added to x, so it has to be taken away."),
        Mistake(
            right - left**3 - left**2,
            "Each function is given what it was given on the way forward: G saw u, and F saw y.",
        ),
    ),
    hints=("Which of x and y can be had at once from u and v?", "y = v − G(u). With it, x = u − F(y)."),
    solution=lambda v: [
        Step("The second step first: y = v − u³."),
        Step("Then the first, x = u − y²:", "u - (v - u^3)^2"),
    ],
)


def inverted():
    """x from the block's two equations, solved for x and y together."""
    x, y = symbols("scale rise_level")  # any two others
    [found] = solve([Eq(left, x + y**2), Eq(right, y + left**3)], [x, y], dict=True)
    return found[x]


ROUNDS = (1, 2, 3)


def encrypted(x: int, y: int) -> tuple[int, int]:
    """What the rounds of the problem below make of two whole numbers."""
    for k in ROUNDS:
        x, y = y + (x + k) ** 2, x
    return x, y


def undone(u, v, order: tuple[int, ...], sign: int = -1):
    """Both halves after undoing rounds in an order; works on symbols and on numbers."""
    for k in order:
        u, v = v, u + sign * (v + k) ** 2
    return u, v


def searched(left: int, right: int) -> int:
    """The half that went in, found by encrypting every small pair."""
    return next(y for x, y in product(range(1, 8), repeat=2) if encrypted(x, y) == (left, right))


def slipped(step: Callable, u=left, v=right):
    """The right half after undoing the rounds, last one first, by a step that is wrong."""
    for k in ROUNDS[::-1]:
        u, v = step(u, v, k)
    return v


ORIGIN = undone(left, right, ROUNDS[::-1])
PAIRS = (1, 2), (4, 1), (2, 5), (3, 3), (5, 6)  # what went in: whole numbers come out, and may be computed with
OVERWRITTEN = (
    "One half is overwritten before the other has been worked out from it. Change both at once, or keep a copy of the"
    " old one."
)
CARRIED = (
    "What a round carries over unchanged comes out on the right: there stands the old x. You took the left one for it."
)
decrypt = Function(
    id="decrypt",
    title="Write the decryption",
    level="medium",
    ask=(
        "A cipher works on two whole numbers, without a modulus. Its round number k turns (x, y) into (y + (x + k)²,"
        " x). It runs rounds 1, 2 and 3 in this order, and the two numbers left and right come out. Write a Python"
        " function of left and right that returns the y that went in."
    ),
    formula=Formula(
        "reversibility.rounds_back",
        "right",
        ORIGIN[1],
        "1",
        "the right half that went into three rounds with squares",
        register=False,
    ),
    tried=tuple(dict(zip(("left", "right"), encrypted(*pair))) for pair in PAIRS),
    answer=None,
    second=lambda v: searched,
    objective=FEISTEL,
    means=(
        "The same loop, run backwards, for any round function and any number of rounds. In a cipher the k are the"
        " secret; in a network they are layers."
    ),
    mistakes=(
        Mistake(
            undone(left, right, ROUNDS)[1],
            "You undid the rounds in the order in which they ran. The last one has to be undone first.",
        ),
        Mistake(
            undone(left, right, ROUNDS[::-1], 1)[1], "You added once more what the rounds had added. Take it away."
        ),
        Mistake(ORIGIN[0], "That is the x that went in. Return the other half."),
        Mistake(
            left - sum((right + k) ** 2 for k in ROUNDS),
            "The halves are never swapped in yours, so always the same one goes into the square.",
        ),
        Mistake(left - (right + ROUNDS[-1]) ** 2, "That undoes the last round only."),
        Mistake(slipped(lambda u, v, k: (v, v - (v + k) ** 2)), OVERWRITTEN),
        Mistake(slipped(lambda u, v, k: (u - (v + k) ** 2,) * 2), OVERWRITTEN),
        Mistake(slipped(lambda u, v, k: (u, v - (u + k) ** 2)), CARRIED),
        Mistake(slipped(lambda u, v, k: (v - (u + k) ** 2, u)), CARRIED),
    ),
    hints=(
        "Undo one round first: x = right, and y = left − (right + k)².",
        (
            "for k in (3, 2, 1): the new left is right, and the new right is left − (right + k)². In Python both can"
            " change in one line."
        ),
    ),
    solution=lambda v: [
        Step("`for k in (3, 2, 1): left, right = right, left - (right + k) ** 2`, and then `return right`."),
        Step("Written out, that is", str(ORIGIN[1])),
    ],
)


def round_function(value: int, half: int, key: int) -> int:
    """Some mixing of `half` bits with a key: multiply, square, fold, cut."""
    mixed = (value + key) * 0x9E3779B97F4A7C15 + (value ^ key) ** 2
    return (mixed ^ mixed >> half) % (1 << half)


def untouched(values: Values) -> int:
    """Bits that are the same before and after rounds without a swap, in many random blocks."""
    half, rng, same = values["bits"] // 2, random.Random(1), (1 << values["bits"]) - 1
    for _ in range(300):
        x, y = rng.getrandbits(half), rng.getrandbits(half)
        out = y
        for key in range(values["rounds"]):
            out ^= round_function(x, half, key)
        same &= ~((x << half | y) ^ (x << half | out))
    return (same & (1 << values["bits"]) - 1).bit_count()


forgotten = Whole(
    id="forgotten",
    title="The swap forgotten",
    level="easy",
    ask=(
        "A cipher has blocks of {bits} bits and {rounds} rounds. Each is to turn (x, y) into (y ⊕ f(x), x), where f"
        " also takes the round's key. Somebody forgets the swap, and every round gives (x, y ⊕ f(x)). How many bits of"
        " the output are those of the input, whatever block and keys are?"
    ),
    draw={"bits": (64, 128, 32), "rounds": (16, 8, 12)},
    units={"bits": "", "rounds": ""},
    unit="1",
    objective=FEISTEL,
    answer=lambda v: v["bits"] / 2,
    second=untouched,
    means=(
        "More rounds do not help: one half stands there in plain. It takes the swap, and with it a second round, to"
        " change every bit."
    ),
    mistakes=(
        Mistake(lambda v: v["bits"], "Something is added to y in each round, so its bits do not stay."),
        Mistake(
            lambda v: v["bits"] * 3 / 4,
            "Of the bits that change at random, half come out as they were. Asked are those that are never changed.",
        ),
        Mistake(
            lambda v: v["bits"] / 2 / v["rounds"],
            "The rounds do not share x out among themselves. Look at what each of them does to it.",
        ),
    ),
    hints=("Follow x through the rounds.",),
    solution=lambda v: [
        Step(
            "Each round reads x and changes y. Without a swap it is the same x every time, and it comes out as it"
            " went in."
        ),
        Step("That is half of the block:", v["bits"] / 2),
    ],
)


def recurrence() -> str:
    """The recurrence that a run of two streams obeys; h is what goes into each f."""
    layers = [lambda h, k=k: tanh(3 * h + k) for k in range(6)]
    x, y, h = 0.3, -0.7, []
    for f in layers:
        h.append(x)
        x, y = y + f(x), x
    claims = {
        "a": lambda n: h[n] + layers[n](h[n]),
        "b": lambda n: h[n - 1] + layers[n](h[n]),
        "c": lambda n: h[n - 1] + layers[n](h[n - 1]),
        "d": lambda n: layers[n](h[n]),
    }
    return next(
        key for key, next_one in claims.items() if all(abs(h[n + 1] - next_one(n)) < 1e-12 for n in range(1, 5))
    )


two_back = Choice(
    id="two-back",
    title="One line instead of two",
    level="medium",
    ask=(
        r"Each layer of a reversible network turns (x, y) into (y + f(x), x). Call $h_\ell$ what goes into layer"
        r" $\ell$'s function $f_\ell$. "
        "Which line says the same with one stream?"
    ),
    options={
        "a": r"$h_{\ell+1} = h_\ell + f_\ell(h_\ell)$: the last, and f of the last",
        "b": r"$h_{\ell+1} = h_{\ell-1} + f_\ell(h_\ell)$: the one before the last, and f of the last",
        "c": r"$h_{\ell+1} = h_{\ell-1} + f_\ell(h_{\ell-1})$: the one before the last, and f of that",
        "d": r"$h_{\ell+1} = f_\ell(h_\ell)$: f of the last alone",
    },
    answer="b",
    second=lambda v: recurrence(),
    objective=FEISTEL,
    means=(
        "A residual connection that reaches back two layers. Read from right to left it gives the earlier value from"
        " the two later ones."
    ),
    mistakes=(
        Mistake(
            "a",
            "That is an ordinary residual network. To undo it one would have to solve for what stands inside the"
            " function.",
        ),
        Mistake("c", "The function is given the current value; it is the sum that takes an earlier one."),
        Mistake("d", "Where is y? Without it the layer could be undone only if its function could."),
    ),
    hints=("What is the y of a layer? It was swapped there by the layer before.",),
    solution=lambda v: [
        Step(
            r"Layer $\ell$ has $x = h_\ell$. Its y was the x of the layer before, $h_{\ell-1}$, and the new x is"
            r" $h_{\ell+1}$."
        ),
        Step("So the answer is", "b"),
    ],
)

# --- how a change spreads --------------------------------------------------------------------------------------------


def changed_bits(values: Values) -> float:
    """Expected share of changed bits after one round, by summing over every number of bits that a random output
    changes.
    """
    ways, total, n = 1, 0, values["half_bits"]
    for k in range(n + 1):
        total += k * ways
        ways = ways * (n - k) // (k + 1)
    return (total / 2**n + 1) / (2 * n)


BITS = "That is the number of bits that have changed. Asked is their share of the block."

first_round = Quantity(
    id="first-round",
    title="One bit, one round",
    level="medium",
    ask=(
        "A Feistel round turns (x, y) into (y ⊕ f(x), x), each half {half_bits} bits long. One bit of x is flipped."
        " Take the output of f for any other input as random: each of its bits is as likely to change as not. What"
        " share of the whole block's bits has changed after one round, on average, in percent?"
    ),
    draw={"half_bits": (32, 64, 16)},
    units={"half_bits": ""},
    unit="1",
    asked="%",
    tolerance=0.01,
    objective=SPREAD,
    answer=lambda v: eq.half_mixed(v),
    second=changed_bits,
    means="One half is mixed, the other has hardly been touched. The next round mends that.",
    mistakes=(
        Mistake(
            lambda v: 0.5, "Only one half got something from f. The other is x as it was, with its one bit flipped."
        ),
        Mistake(lambda v: 0.25, "Nearly. The flipped bit itself was carried over, and counts too."),
        Mistake(lambda v: 1 / (2 * v["half_bits"]), "That is the bit that was carried over. What has f done with it?"),
        Mistake(
            lambda v: (v["half_bits"] / 2 + 1) / v["half_bits"],
            "That is over one half's bits. Take the share of the whole block.",
        ),
        Mistake(lambda v: 2 * v["half_bits"] * eq.half_mixed(v) / 100, BITS),  # the bare number, read in percent
        Mistake(lambda v: 2 * v["half_bits"] * eq.half_mixed(v), BITS),
        Mistake(
            lambda v: eq.half_mixed(v) / 100,
            "That is the fraction; percent is a hundred times it. Type the percentage.",
        ),
    ),
    hints=("Count changed bits in each half of the output.", "In y ⊕ f(x) half of the bits on average; in x one."),
    solution=lambda v: [
        Step("Changed in the half that f was added to:", v["half_bits"] / 2),
        Step("in the half that was carried over:", 1),
        Step(f"Over both halves, ${eq.half_mixed.latex}$, in percent:", 100 * eq.half_mixed(v), "%"),
    ],
)

PLACES = {
    "y, to which the first round adds": (0, 1),
    "x, which goes into the first round's function": (1, 0),
}  # bits flipped in (x, y)


def followed(values: Values) -> int:
    """Rounds until both halves are mixed, following which half has changed and how."""
    x, y = ({0: "same", 1: "bit"}[bits] for bits in PLACES[values["place"]])
    for count in range(1, 10):
        x, y = (y if x == "same" else "mixed"), x
        if (x, y) == ("mixed", "mixed"):
            return count
    raise AssertionError("a change that never spreads")


def avalanche(values: Values) -> int:
    """Rounds until about half of the bits differ on average, from runs of a small cipher with random tables."""
    rng, half, flips = random.Random(2), 8, [0] * 5
    for _ in range(150):
        tables = [[rng.getrandbits(half) for _ in range(1 << half)] for _ in flips]
        block = rng.getrandbits(half), rng.getrandbits(half)
        twin = tuple(part ^ bit << 3 for part, bit in zip(block, PLACES[values["place"]]))
        for n, f in enumerate(tables):
            block, twin = ((y ^ f[x], x) for x, y in (block, twin))
            flips[n] += sum((a ^ b).bit_count() for a, b in zip(block, twin))
    return next(n for n, count in enumerate(flips, 1) if count > 0.45 * 150 * 2 * half)


rounds = Whole(
    id="rounds",
    title="Until half has changed",
    level="medium",
    ask=(
        "A Feistel round turns (x, y) into (y ⊕ f(x), x). Take the output of f for any other input as random. One bit"
        " is flipped in {place}. After how many rounds do about half of the block's bits differ, on average?"
    ),
    draw={"place": tuple(PLACES)},
    unit="1",
    objective=SPREAD,
    answer=followed,
    second=avalanche,
    means=(
        "Half is all one can have: a share above it would say as much about the input as one below. Real round"
        " functions mix worse, and take more rounds."
    ),
    mistakes=(
        Mistake(
            lambda v: 5 - followed(v),
            "That is the count for a bit of the other half. Ask in which round this one first goes through f.",
        ),
        Mistake(lambda v: 1, "A round mixes one half at most, the one to which it adds. Both have to be mixed."),
        Mistake(
            lambda v: 4,
            "Four rounds make a good cipher out of good round functions even where an attacker may ask for decryptions."
            " To spread a bit takes fewer.",
        ),
    ),
    hints=(
        "Follow the halves: which of them is as it was, which differs in one bit, which is mixed?",
        (
            "A half becomes mixed when f is given something that differs. Then it takes a swap and one more round for"
            " the other."
        ),
    ),
    solution=lambda v: [
        Step(
            "A bit of x goes into f in the first round and mixes the new x; a bit of y only moves into x, and is a"
            " round late."
        ),
        Step("One more round puts the mixed half through f, and the other is mixed too. Rounds in all:", followed(v)),
    ],
)

DELTA = 0b0110  # the difference of two inputs, in four bits


def told() -> str:
    """What the outputs of adding a key differ by, over all inputs and keys."""
    found = {((x ^ key) ^ (x ^ DELTA ^ key), key) for x, key in product(range(16), repeat=2)}
    says = {
        "a": lambda key: {DELTA},
        "b": lambda key: {DELTA ^ key},
        "c": lambda key: set(range(16)),
        "d": lambda key: {0},
    }
    return next(
        name
        for name, claim in says.items()
        if all({d for d, k in found if k == key} == claim(key) for key in range(16))
    )


key_drops_out = Choice(
    id="key-drops-out",
    title="A derivative in bits",
    level="medium",
    ask=(
        "Two inputs differ by d: they are x and x ⊕ d. A cipher's step adds a secret key k to both, with ⊕. By what do"
        " the results differ?"
    ),
    options={"a": "by d", "b": "by d ⊕ k", "c": "by anything, as the key is secret", "d": "by nothing"},
    answer="a",
    second=lambda v: told(),
    objective=SPREAD,
    means=(
        "A difference is the derivative of arithmetic in bits, and as elsewhere what is added as a constant has none. "
        "Differential cryptanalysis rests on it: differences can be followed without the key."
    ),
    mistakes=(
        Mistake("b", "The key is added to both results. What happens to it in their difference?"),
        Mistake("c", "Each result by itself is anything. The two have the same key in them."),
        Mistake("d", "Different inputs stay different: adding a key can be undone."),
    ),
    hints=("The difference of two bit strings is their ⊕. Write it out.", "Anything ⊕ itself is 0."),
    solution=lambda v: [
        Step("(x ⊕ k) ⊕ (x ⊕ d ⊕ k): x and k stand in it twice and cancel."),
        Step("So the answer is", "a"),
    ],
)

STEPS = {  # of a cipher, on eight bits
    "a": lambda x: x ^ 0b10100111,
    "b": lambda x: (x << 3 | x >> 5) & 255,
    "c": lambda x: (x << 4 | x >> 4) & 255 ^ x,
    "d": lambda x: x & (x << 1 | x >> 7) & 255,
}

nonlinear = Choice(
    id="nonlinear",
    title="What hides a difference",
    level="medium",
    ask=(
        "Two inputs differ in one bit. After which of these steps can one not say how the outputs differ, without"
        " knowing more of the inputs?"
    ),
    options={
        "a": "a constant is added, with ⊕",
        "b": "the bits are rotated by three places",
        "c": "the two halves are swapped and the input is added, with ⊕",
        "d": "each bit is multiplied by its neighbour (AND)",
    },
    answer="d",
    second=lambda v: next(key for key, f in STEPS.items() if len({f(x) ^ f(x ^ 1) for x in range(256)}) > 1),
    objective=SPREAD,
    means=(
        "Steps that only move and add are linear: all of them together are one linear step. Between them stands one"
        " that is not, in ciphers as in networks."
    ),
    mistakes=(
        Mistake("a", "A constant is in both outputs, and cancels in their difference."),
        Mistake("b", "The bit that differs is moved to a place that one knows."),
        Mistake("c", "The difference shows up in two known places. Swapping and adding are linear."),
    ),
    hints=(
        "Which step treats the same bit differently, depending on the others?",
        "If its neighbour is 0, what becomes of a flipped bit under AND? And if it is 1?",
    ),
    solution=lambda v: [
        Step(
            "Under AND a flipped bit shows if its neighbour is 1, and vanishes if it is 0: the derivative of a product"
            " is the other factor."
        ),
        Step("So the answer is", "d"),
    ],
)


def normed(values: list[float]) -> list[float]:
    """A vector scaled to a mean square of one."""
    return [x / root(sum(y * y for y in values) / len(values)) for x in values]


def through(values: list[float]) -> list[float]:
    """The output of an untrained residual network of 12 layers with norms, its weights drawn at random, always the
    same.
    """
    rng, width = random.Random(3), len(values)
    for _ in range(12):
        inside = normed(values)
        weights = ([rng.gauss(0, 1 / root(width)) for _ in values] for _ in values)
        values = [x + tanh(sum(w * z for w, z in zip(row, inside))) for x, row in zip(values, weights)]
    return normed(values)


def behaves(change: float = 1e-6) -> str:
    """What the untrained network makes of a small relative change: the option that says so."""
    rng = random.Random(4)
    before = [rng.gauss(0, 1) for _ in range(16)]
    ways = [through([x + step if n == 5 else x for n, x in enumerate(before)]) for step in (0.0, change, change / 2)]
    whole, half = (root(sum((a - b) ** 2 for a, b in zip(ways[0], way)) / 16) for way in ways[1:])
    if whole == 0:
        return "c"
    return "a" if whole > 0.1 else "b" if abs(whole / half - 2) < 0.01 and 0.01 < whole / change < 100 else "d"


poor_cipher = Choice(
    id="poor-cipher",
    title="A network as a cipher",
    level="medium",
    ask=(
        "Somebody encrypts with an untrained network: random weights, residual connections, norms. An attacker encrypts"
        " two inputs, of which one value differs by a millionth. The outputs are floating-point numbers, not rounded to"
        " fewer digits. What do they show?"
    ),
    options={
        "a": "two outputs that have nothing in common, as from a cipher",
        "b": "two outputs that differ by little, and by half as much if the inputs differ by half as much",
        "c": "the same output twice: layers and norms level the difference out",
        "d": "outputs whose distance says nothing of that of the inputs",
    },
    answer="b",
    second=lambda v: behaves(),
    objective=SPREAD,
    means=(
        "A network has a derivative that says something: what makes it trainable lets an attacker walk towards the"
        " input. A cipher flips half of its bits at once."
    ),
    mistakes=(
        Mistake(
            "a",
            "Random weights do mix all values into all. But every layer is smooth, and a residual connection hands its"
            " input on as it is.",
        ),
        Mistake(
            "c", "Norms scale a vector, and residual connections carry every difference along. It does not vanish."
        ),
        Mistake("d", "Each layer has a derivative, so for small changes the whole is nearly linear."),
    ),
    hints=(
        "What is the derivative of a residual layer with respect to its input?",
        "Near to 1, for each layer. What about all layers, one after the other?",
    ),
    solution=lambda v: [
        Step(
            f"A layer widens a small difference by some factor, and layers multiply: ${eq.difference.latex}$. Residual"
            " connections and norms keep the factor near one, and a difference half as large stays half as large."
        ),
        Step("So the answer is", "b"),
    ],
)

# --- training without keeping ----------------------------------------------------------------------------------------

SEQUENCE = 2048  # tokens, in the paper whose rows are used


def of_paper(values: Values) -> Values:
    """A drawn row of the paper's models, and what its layers keep of one sequence."""
    [row] = measurement("korthikanti_iteration_times").records(model=values["size"])
    return shaped({"width": row["d_model"], "depth": row["layers"], "tokens": SEQUENCE, "kept": KEPT})


def printed(values: Values) -> float:
    """Bytes kept of one sequence by the paper's own figure for the first stage of a pipeline: what it holds of one
    micro-batch, on all its GPUs.
    """
    [row] = measurement("korthikanti_iteration_times").records(model=values["size"])
    [held] = measurement("korthikanti_activation_formula").records(model=values["size"])
    stages, chunks = row["pipeline_parallel"], row["interleave"]
    more = 1 + (stages - 1) / (stages * chunks) if chunks > 1 else 1  # interleaving has more micro-batches under way
    return held["remaining_GiB"] * GiB * row["tensor_parallel"] / row["microbatch_size"] / more


SIZES = ("175B", "22B", "530B", "1T")

kept = Quantity(
    id="kept",
    title="What one sequence leaves behind",
    level="easy",
    ask=(
        "In training, a layer of a transformer keeps {kept} bytes for each token and each value of the token's vector;"
        " attention scores are not kept. A model is {depth} layers deep and {wide} values wide. How many GB do its"
        " layers keep of one sequence of {tokens}?"
    ),
    draw={"size": SIZES},
    derive=of_paper,
    units={"tokens": "token", "kept": ""},
    unit="byte",
    asked="GB",
    objective=KEEP,
    answer=lambda v: eq.stored(v),
    second=printed,
    means="Tens of GB or hundreds, for a single sequence. And it grows in step with the depth.",
    mistakes=(
        Mistake(lambda v: v["depth"] * v["stream_bytes"], SMALL),
        Mistake(
            lambda v: v["layer_bytes"],
            "That is one layer. All of them keep theirs until the backward pass has come back.",
        ),
        Mistake(lambda v: eq.stored(v) / v["tokens"], "That is one token. The sequence has more."),
        Mistake(
            lambda v: v["depth"] * 12 * v["width"] ** 2 * BF16,
            "Those are the weights, about 12 d² in a layer. Asked is what a sequence leaves behind.",
        ),
    ),
    hints=("Bytes for one token in one layer first.", "Then times tokens, times layers."),
    solution=lambda v: [
        Step("One layer keeps", v["layer_bytes"], "byte"),
        Step(f"and all of them ${eq.stored.latex}$ =", eq.stored(v), "byte"),
    ],
)

GROWTHS = {"a": (4, 4, 4), "b": (4, 4, 1), "c": (4, 2, 1), "d": (4, 1, 1)}  # stored, checkpointed at best, reversible


def grown(depth: int = 144, times: int = 4) -> tuple[int, ...]:
    """How memory grows with depth, by counting kept vectors in whole layers, each layer keeping as much as passes on
    from it.
    """
    checkpointed = lambda layers: min(-(-layers // n) + n for n in range(1, layers + 1))
    of = lambda layers: (sum(1 for _ in range(layers)), checkpointed(layers), 2 + 1)
    return tuple(many // few for many, few in zip(of(depth * times), of(depth)))


flat = Choice(
    id="flat",
    title="Four times as deep",
    level="medium",
    ask=(
        "A network becomes four times as deep; its layers stay as they are. By how much does the memory of its"
        " activations grow in training: with all of them stored; with checkpoints at the best distance, and the stretch"
        " between two of them computed again; in a reversible network?"
    ),
    options={
        "a": "4 times in each case",
        "b": "4 times, 4 times, not at all",
        "c": "4 times, 2 times, not at all",
        "d": "4 times, not at all, not at all",
    },
    answer="c",
    second=lambda v: next(key for key, growth in GROWTHS.items() if growth == grown()),
    objective=KEEP,
    means=(
        "A reversible network keeps two streams at the top and one layer at a time. Depth drops out. With a"
        " transformer's layers it needs less memory than storing from the second layer on."
    ),
    mistakes=(
        Mistake(
            "a",
            "A reversible network works each layer's input out from the next one's. What does it have to keep from"
            " below?",
        ),
        Mistake(
            "b",
            "Checkpoints can be set farther apart in a deeper network. The best distance grows with its depth, but not"
            " in proportion.",
        ),
        Mistake(
            "d", "Checkpoints are kept too, and a deeper network needs more of them, or longer stretches between them."
        ),
    ),
    hints=(
        "Write the memory of checkpoints as depth over distance, plus distance.",
        "The best distance is proportional to the root of the depth.",
    ),
    solution=lambda v: [
        Step(
            f"Stored: ${eq.stored.latex}$. At best distance: ${eq.checkpointed_least.latex}$. Reversible:"
            f" ${eq.reversible.latex}$."
        ),
        Step("So the answer is", "c"),
    ],
)

segment = Expression(
    id="segment",
    title="How far apart to keep",
    level="hard",
    ask=(
        "An ordinary network keeps a layer's input, V_stream bytes, only once in n_seg layers. In the backward pass it"
        " computes such a stretch again and keeps all that its layers need, V_layer bytes each, until it is through."
        " Which n_seg needs the least memory? Write it in n_depth, V_stream and V_layer."
    ),
    formula=eq.segment_best,
    answer=None,
    objective=KEEP,
    second=lambda v: solve(
        diff(eq.depth / eq.segment * eq.stream_bytes + eq.segment * eq.layer_bytes, eq.segment), eq.segment
    )[0],
    means=(
        "Where a layer keeps as much as passes through it, this is the root of the depth. A transformer's layers keep"
        " far more, so checkpoints stand closer."
    ),
    mistakes=(
        Mistake(sqrt(eq.depth), "That holds if a layer keeps just what passes on from it. Here the two differ."),
        Mistake(
            sqrt(eq.depth * eq.layer_bytes / eq.stream_bytes),
            "Upside down: layers that keep more make long stretches dear.",
        ),
        Mistake(eq.checkpointed_least.expr, "That is the memory at the best distance. Asked is the distance."),
        Mistake(
            eq.depth * eq.stream_bytes / eq.layer_bytes,
            "The root is missing: set the two parts of the memory equal and solve for the distance.",
        ),
    ),
    hints=(
        "Memory: the kept inputs, n_depth/n_seg of them, and one stretch of n_seg layers.",
        "One part falls, one rises. The least sum is where they are equal.",
    ),
    solution=lambda v: [
        Step(
            f"${eq.checkpointed.latex}$ is least where its parts are equal: ${eq.segment_best.latex}$, typed as",
            "sqrt(n_depth * V_stream / V_layer)",
        ),
    ],
)


def least(values: Values) -> float:
    """Bytes at the best distance between checkpoints, by narrowing an interval that holds it."""
    memory = lambda n: values["depth"] / n * values["stream_bytes"] + n * values["layer_bytes"]
    low, high = 1.0, float(values["depth"])
    for _ in range(100):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if memory(a) < memory(b) else (a, high)
    return memory(low)


checkpoint = Quantity(
    id="checkpoint",
    title="With checkpoints",
    level="medium",
    ask=(
        "A transformer is {depth} layers deep and {wide} values wide and trains on one sequence of {tokens}. Of each"
        " token and value a layer keeps {kept} bytes, and 2 bytes pass on to the next layer. Now only what passes on is"
        " kept, once in so many layers; in the backward pass such a stretch is computed again and all it needs is kept"
        " meanwhile. How many GB is that at the best length of a stretch? Do not round the length to whole layers."
    ),
    draw={"size": SIZES},
    derive=of_paper,
    units={"tokens": "token", "kept": ""},
    unit="byte",
    asked="GB",
    objective=KEEP,
    answer=lambda v: eq.checkpointed_least(v),
    second=least,
    means=(
        "A few percent of what storing all takes, for one more forward pass. No new kind of network is needed, which is"
        " why this is the usual way."
    ),
    mistakes=(
        Mistake(lambda v: eq.stored(v), "That is with everything stored."),
        Mistake(
            lambda v: eq.checkpointed_least(v) / 2,
            "Half of it: the kept inputs take as much as the stretch that is computed again, and "
            "both are there at once.",
        ),
        Mistake(
            lambda v: eq.checkpointed(v, segment=root(v["depth"])),
            "A length of the root of the depth is best only where a layer keeps as much as passes on. Here it keeps far"
            " more.",
        ),
        Mistake(
            lambda v: eq.checkpointed(v, segment=1),
            "That is a checkpoint at every layer. The kept inputs then take more than a stretch does: set them farther"
            " apart.",
        ),
        Mistake(
            lambda v: eq.reversible(v),
            "That is a reversible network. This one cannot work its inputs out from above.",
        ),
    ),
    hints=(
        "Best is the length at which kept inputs and one stretch take the same memory.",
        "The length is the root of depth × 2 / {kept}.",
    ),
    solution=lambda v: [
        Step(f"${eq.segment_best.latex}$ =", eq.segment_best(v), "1"),
        Step(f"There, ${eq.checkpointed_least.latex}$ =", eq.checkpointed_least(v), "byte"),
    ],
)


def layer_of(values: Values) -> Values:
    """A layer that keeps `times` as much as passes on from it, and what a reversible network of such layers takes,
    times the drawn factor.
    """
    layer = {"stream_bytes": 1.0, "layer_bytes": float(values["times"])}
    return layer | {"activations_least": values["factor"] * eq.reversible(layer)}


def deep(values: Values) -> float:
    """The depth at which checkpoints need so much more than a reversible network, by halving an interval."""
    goal, low, high = values["factor"] * (2 + values["times"]), 1.0, 1e6
    for _ in range(100):
        depth = (low + high) / 2
        low, high = (
            (depth, high)
            if least({"depth": depth, "stream_bytes": 1.0, "layer_bytes": values["times"]}) < goal
            else (low, depth)
        )
    return low


DEPTH_FOR = eq.checkpointed_least.solve("depth")

deep_enough = Quantity(
    id="deep-enough",
    title="When reversing pays",
    level="hard",
    ask=(
        "A layer keeps {times} times as many bytes for its backward pass as pass on to the next layer. An ordinary"
        " network with checkpoints at the best distance keeps what passes on once per stretch, and one stretch with all"
        " it needs; a reversible one keeps two such streams and what one layer needs. Both compute one forward pass"
        " again. At which depth does the ordinary one need {factor} times the memory? Give the exact value, not rounded"
        " to layers."
    ),
    draw={"times": (17, 8, 12), "factor": (4, 3, 5)},
    derive=layer_of,
    units={"times": "1", "factor": "1"},
    unit="1",
    objective=KEEP,
    answer=lambda v: DEPTH_FOR(v),
    second=deep,
    means=(
        "The root of the depth grows slowly. For most networks checkpoints save enough, and a reversible one is for"
        " depths, or memories, beyond that."
    ),
    mistakes=(
        Mistake(
            lambda v: v["activations_least"] / v["layer_bytes"],
            "That is with everything stored. Checkpoints need memory as the root of the depth.",
        ),
        Mistake(
            lambda v: DEPTH_FOR(v) / v["factor"],
            "So many times the memory is so many times the root of the depth: the factor has to be squared.",
        ),
        Mistake(
            lambda v: DEPTH_FOR(v, activations_least=v["factor"] * v["layer_bytes"]),
            "The two streams of the reversible network are missing.",
        ),
        Mistake(
            lambda v: DEPTH_FOR(v, activations_least=v["factor"] * (1 + v["layer_bytes"])),
            "Did you work out a depth? Then you gave the reversible network one stream, and it has two. Or is this"
            " {factor} times its memory? Then the depth is still to come.",
        ),
        Mistake(
            lambda v: DEPTH_FOR(v) * 4,
            "The 2 of the least memory is missing: kept inputs and one stretch take as much each.",
        ),
    ),
    hints=(
        "Let a stream be 1 byte. What does the reversible network need?",
        "The ordinary one needs, at best, 2 √(depth × {times}). Set it equal and square.",
    ),
    solution=lambda v: [
        Step(f"With one byte for what passes on, ${eq.reversible.latex}$ =", eq.reversible(v)),
        Step("times {factor}:", v["activations_least"]),
        Step(f"${eq.checkpointed_least.latex}$, solved for the depth:", DEPTH_FOR(v)),
    ],
)


def counted_work(values: Values) -> float:
    """Compute of a step over that with all stored, layer by layer: products of one forward pass and of two
    gradients.
    """
    layers = 100
    again = round(values["recomputed"] * layers)
    usual = sum(2 + 2 + 2 for _ in range(layers))
    return (usual + sum(2 for _ in range(again))) / usual


SHARES = {"all": 1.0, "half": 0.5, "three quarters": 0.75, "a quarter": 0.25}

work = Quantity(
    id="work",
    title="What it costs",
    level="easy",
    ask=(
        "The backward pass of a layer multiplies twice as much as its forward pass. A network is built so that the"
        " activations of {share} of its layers are not stored; in the backward pass those layers run forward once more."
        " The compute of a training step is how many times that with all stored?"
    ),
    draw={"share": tuple(SHARES)},
    derive=lambda v: {"recomputed": SHARES[v["share"]]},
    unit="1",
    tolerance=0.01,
    near=0.061,
    objective=KEEP,
    answer=lambda v: eq.work_ratio(v),
    second=counted_work,
    means=(
        "With every layer run again, 6ND becomes 8ND. It costs compute, and at most this much; the saving is all in"
        " memory."
    ),
    mistakes=(
        Mistake(
            lambda v: 1 + v["recomputed"] / 2,
            "You took the backward pass for as much work as the forward pass. It has two products for each one"
            " forward.",
        ),
        Mistake(lambda v: 1 + v["recomputed"], "Only the forward pass runs twice, not the whole step."),
        Mistake(
            lambda v: v["recomputed"] / 3, "That is what comes on top. Asked is the whole step over the whole step."
        ),
        Mistake(lambda v: 1 - v["recomputed"] / 3, "You took it away. The layers run once more; nothing gets cheaper."),
    ),
    hints=(
        "Count in forward passes: what is a whole step with everything stored?",
        "Three of them. How much of one comes on top?",
    ),
    solution=lambda v: [
        Step("In forward passes: one forward, two backward, and again", v["recomputed"], "1"),
        Step(f"${eq.work_ratio.latex}$ =", eq.work_ratio(v), "1"),
    ],
)

# less for activations, less for weights and optimizer, more compute
CLAIMS = {"a": (True, False, False), "b": (True, False, True), "c": (True, True, True), "d": (False, True, True)}


def happens(layers: int = 50) -> tuple[bool, bool, bool]:
    """Whether a reversible network keeps less of activations, less of weights and their optimizer, and computes more:
    by counting.
    """
    kept: dict[bool, list] = {
        False: [("vector", n) for n in range(layers)],
        True: [("vector", "x"), ("vector", "y"), ("layer", "current")],
    }
    state = {
        way: [(what, n) for n in range(layers) for what in ("weight", "gradient", "moments")] for way in (False, True)
    }
    passes = {False: ["forward", "backward", "backward"], True: ["forward", "forward again", "backward", "backward"]}
    return (
        len(kept[True]) < len(kept[False]),
        len(state[True]) < len(state[False]),
        len(passes[True]) > len(passes[False]),
    )


saves = Choice(
    id="saves",
    title="What it saves",
    level="easy",
    ask=(
        "Beside an ordinary network of the same size that stores its activations: what does training a reversible one"
        " save, and what does it cost?"
    ),
    options={
        "a": "it saves memory of activations and compute: what is not stored need not be written either",
        "b": "it saves memory of activations, and costs compute",
        "c": "it saves memory of activations, weights and optimizer, and costs compute",
        "d": "it saves memory of weights and optimizer, and costs compute",
    },
    answer="b",
    second=lambda v: next(key for key, claim in CLAIMS.items() if claim == happens()),
    objective=KEEP,
    means="Compute for memory, and only for that part of the memory that grows with the batch.",
    mistakes=(
        Mistake(
            "a",
            "Every layer's function runs once more on the way back. Writing is not what counts here: compute goes up.",
        ),
        Mistake(
            "c",
            "Weights are parameters, not a result of the forward pass. They cannot be worked out anew, nor can the"
            " optimizer's averages.",
        ),
        Mistake("d", "What is worked out anew is what the layers saw. The weights are needed for that, and stay."),
    ),
    hints=("Of all that lies in memory during training, what can be computed from the layer above?",),
    solution=lambda v: [
        Step(
            f"Activations fall from ${eq.stored.latex}$ to ${eq.reversible.latex}$; compute rises:"
            f" ${eq.work_ratio.latex}$. Nothing else changes."
        ),
        Step("So the answer is", "b"),
    ],
)


def with_state(values: Values) -> Values:
    """The smallest of the paper's models on its GPUs, trained on a drawn batch: state, and activations both ways."""
    [row] = measurement("korthikanti_iteration_times").records(model="22B")
    [held] = measurement("korthikanti_activation_formula").records(model="22B")
    known = shaped({"width": row["d_model"], "depth": row["layers"], "tokens": values["sequences"] * SEQUENCE})
    state = held["state_GiB"] * GiB * row["gpus"]
    return known | {"state": state, "stored": eq.stored(known)}


def by_layers(values: Values) -> float:
    """The same ratio, each memory added up from its parts, layer by layer."""
    value_tokens = values["width"] * values["tokens"]
    before, after = values["state"], values["state"]
    for _ in range(values["depth"]):
        before += 34 * value_tokens
    for part in (2, 2, 34):
        after += part * value_tokens
    return before / after


def left_with(values: Values, streams: int = 0, layers: int = 0) -> float:
    """The factor by which the memory falls to the state and so many streams and layers."""
    return (values["state"] + values["stored"]) / (
        values["state"] + streams * values["stream_bytes"] + layers * values["layer_bytes"]
    )


remains = Quantity(
    id="remains",
    title="What remains",
    level="medium",
    ask=(
        "A model of {depth} layers trains with {sequences} at a time. Its weights, gradients and optimizer take"
        " {state}, the activations of all its layers {stored}. A layer keeps 17 times as many bytes as pass on to the"
        " next one. Now the network is made reversible, with two streams, each as wide as the one before, kept at the"
        " top only; what a layer needs is worked out anew, one layer at a time, and held while that layer is worked on."
        " By which factor does the memory fall, of all that was named?"
    ),
    draw={"sequences": (256, 384, 512)},
    derive=with_state,
    units={"sequences": "sequence", "state": "byte", "stored": "byte"},
    unit="1",
    tolerance=0.005,
    objective=KEEP,
    answer=lambda v: (v["state"] + v["stored"]) / (v["state"] + eq.reversible(v)),
    second=by_layers,
    means="Weights, gradients and optimizer stay, and are already most of what is left.",
    mistakes=(
        Mistake(
            lambda v: v["stored"] / eq.reversible(v),
            "That is the fall of the activations alone. Weights, gradients and optimizer stay as they are.",
        ),
        Mistake(
            lambda v: (v["state"] + v["stored"]) / eq.reversible(v),
            "You let weights, gradients and optimizer go as well. Reversing does nothing for them.",
        ),
        Mistake(
            lambda v: left_with(v),
            "You let all activations go. The streams at the top stay, and what one layer needs while it is worked on.",
        ),
        Mistake(lambda v: left_with(v, layers=1), "The two streams are missing. From them all else is worked out."),
        Mistake(lambda v: left_with(v, streams=1, layers=1), "A reversible network has two streams, and keeps both."),
        Mistake(
            lambda v: left_with(v, streams=2),
            "What a layer needs is worked out anew, but it is held while the layer is worked on. Count one layer's.",
        ),
        Mistake(
            lambda v: (v["state"] + v["stored"]) / (v["state"] + v["stored"] / 17),
            "You kept what passes on from every layer. Reversing needs it only at the top.",
        ),
    ),
    hints=(
        "Reversible, the activations are two streams and one layer's. How much is that of what one layer kept?",
        "One layer's share of the activations is one over the depth; a stream is one seventeenth of that.",
    ),
    solution=lambda v: [
        Step("One layer keeps", v["layer_bytes"], "byte"),
        Step(f"${eq.reversible.latex}$ =", eq.reversible(v), "byte"),
        Step("Before, in all:", v["state"] + v["stored"], "byte"),
        Step("after:", v["state"] + eq.reversible(v), "byte"),
        Step("One over the other:", (v["state"] + v["stored"]) / (v["state"] + eq.reversible(v))),
    ],
)


def pair(values: Values) -> Values:
    """Memory of an ordinary network and of a reversible one, both of the drawn depth, in MB as measured."""
    rows = measurement("memcnn_revnet").records(depth=values["deep"])
    return {
        name: row["memory_MB"] * 1e6
        for name, way in (("plain", "no"), ("back", "yes"))
        for row in rows
        if row["reversible"] == way
    }


SAVED = "That is the share that is saved. Asked is the factor by which the memory falls."

measured = Quantity(
    id="measured",
    title="Measured memory",
    level="easy",
    ask=(
        "In PyTorch a residual network of {deep} layers was measured to take {plain} of GPU memory in training, a"
        " reversible one of as many layers {back} (MemCNN). By which factor does the memory fall?"
    ),
    draw={"deep": (164, 110)},
    derive=pair,
    units={"plain": "byte", "back": "byte", "deep": ""},
    unit="1",
    objective=KEEP,
    answer=lambda v: v["plain"] / v["back"],
    second=lambda v: divided(v["plain"], v["back"]),
    means=(
        "Much, and far from the number of layers: weights and the framework's own memory stay, and layers that make the"
        " picture smaller throw something away, so their activations are stored."
    ),
    mistakes=(
        Mistake(
            lambda v: v["back"] / v["plain"],
            "That is what is left of the memory. Asked is the factor by which it falls.",
        ),
        Mistake(
            lambda v: v["deep"],
            "That would be activations alone, if each layer kept the same and nothing else were in memory.",
        ),
        Mistake(lambda v: 1 - v["back"] / v["plain"], SAVED),
        Mistake(lambda v: 100 * (1 - v["back"] / v["plain"]), SAVED),
    ),
    hints=("One over the other.",),
    solution=lambda v: [Step("{plain} over {back} is", v["plain"] / v["back"])],
)


def divided(many: float, few: float) -> float:
    """How often `few` goes into `many`, by long division."""
    whole, out, unit = many, 0.0, 1.0
    for _ in range(8):
        while whole >= few * unit:
            whole, out = whole - few * unit, out + unit
        unit /= 10
    return out


def minutes(text: str) -> int:
    """A duration as the table prints it, minutes and seconds or hours and minutes, in the smaller of its units."""
    large, small = text.split(":")
    return 60 * int(large) + int(small)


def raced(values: Values) -> Values:
    """Durations of training two networks of 164 layers, as the table prints them, and in one unit."""
    framework, images = values["run"]
    rows = {
        row["model"]: row[images.lower().replace("-", "") + "_duration"]
        for row in measurement("memcnn_revnet_training").records(framework=framework)
    }
    slow, fast = rows["revnet-164"], rows["resnet-164"]
    return {
        "framework": framework,
        "images": images,
        "slow": slow,
        "fast": fast,
        "slower": minutes(slow) / minutes(fast),
        "recomputed": 1.0,
    }


def as_decimal(values: Values) -> float:
    """The same with "4:59" taken for 4.59."""
    return float(values["slow"].replace(":", ".")) / float(values["fast"].replace(":", "."))


[PAPER] = measurement("revnet_paper").records()

slower = Quantity(
    id="slower",
    title="Measured time",
    level="medium",
    ask=(
        "Training a residual network of 164 layers on {images} in {framework} was measured to take {fast}, a reversible"
        " one of as many layers {slow} (MemCNN; minutes and seconds, or hours and minutes; the ratio is the same). By"
        " counting FLOPs, running every layer once more makes a step so many times as long, the backward pass being two"
        " forward passes. The slow-down that was measured is how many times the counted one?"
    ),
    draw={"run": tuple(product(("PyTorch", "TensorFlow"), ("CIFAR-10", "CIFAR-100")))},
    derive=raced,
    unit="1",
    tolerance=0.01,
    objective=KEEP,
    answer=lambda v: v["slower"] / eq.work_ratio(v),
    second=lambda v: 3 * minutes(v["slow"]) / (4 * minutes(v["fast"])),
    means=(
        "The measured runs lie on both sides of the count, for not all of a step is FLOPs. The paper's authors speak"
        f" of {PAPER['low_slowdown']:g} to {PAPER['high_slowdown']:g} times in practice."
    ),
    mistakes=(
        Mistake(
            lambda v: v["slower"],
            "That is the slow-down that was measured. Divide it by the one that follows from counting FLOPs.",
        ),
        Mistake(lambda v: eq.work_ratio(v), "That is the slow-down by counting. Divide the measured one by it."),
        Mistake(
            lambda v: as_decimal(v) / eq.work_ratio(v),
            "Sixty seconds make a minute: turn both times into one unit first.",
        ),
        Mistake(lambda v: eq.work_ratio(v) / v["slower"], "Upside down: measured over counted."),
        Mistake(
            lambda v: v["slower"] / 1.5,
            "You counted the backward pass as one forward pass. It is two, so running forward again adds less.",
        ),
        Mistake(lambda v: v["slower"] * eq.work_ratio(v), "You multiplied. Compare the two by dividing."),
    ),
    hints=(
        "Turn both durations into the smaller unit and divide.",
        "Counted in forward passes: 1 + 2 without, 1 + 1 + 2 with running again.",
    ),
    solution=lambda v: [
        Step("Measured:", v["slower"]),
        Step(f"counted, ${eq.work_ratio.latex}$ =", eq.work_ratio(v)),
        Step("One over the other:", v["slower"] / eq.work_ratio(v)),
    ],
)

FORMATS = {"float32": 24, "float16": 11, "bfloat16": 8}  # significant bits
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LAYERS_FOR = eq.difference.solve("depth")


def rounded(values: Values) -> Values:
    """A drawn number format's rounding error, and the layers' gain."""
    bits = FORMATS[values["format"]]
    return {"bits": bits, "error": "2" + f"-{bits}".translate(RAISED), "rounding": 2.0**-bits, "difference": 1.0}


def lost(values: Values) -> float:
    """Layers until an error has grown to the values' size, a thousandth of a layer at a time."""
    step, error, count = values["gain_per_layer"] ** 1e-3, values["rounding"], 0
    while error < 1:
        error, count = error * step, count + 1
    return count / 1000


digits = Quantity(
    id="digits",
    title="How far back",
    level="medium",
    ask=(
        "A reversible network computes in {format}, with {bits} significant bits, so a rounding is off by up to {error}"
        " of the value. On the way back an error grows by a factor of {gain_per_layer} from layer to layer. Count only"
        " the rounding at the top. After how many layers is the error as large as the values? Give the exact value, not"
        " rounded to layers."
    ),
    draw={"format": tuple(FORMATS), "gain_per_layer": (1.2, 1.1, 1.5)},
    derive=rounded,
    units={"bits": ""},
    unit="1",
    objective=KEEP,
    answer=lambda v: LAYERS_FOR(v),
    second=lost,
    means=(
        "In whole numbers or bits the inverse is exact; in floating point it is exact to rounding, and layers multiply"
        " what rounding leaves. Gains near one keep it small."
    ),
    mistakes=(
        Mistake(
            lambda v: v["bits"],
            "That would be if each layer doubled the error, a bit for each. How many layers does it take to double?",
        ),
        Mistake(
            lambda v: (1 / v["rounding"] - 1) / (v["gain_per_layer"] - 1),
            "You let the error grow by the same amount in each layer. It grows by the same factor.",
        ),
        Mistake(
            lambda v: v["bits"] / log(v["gain_per_layer"]),
            "The bits are a logarithm to base 2, the other was to base e. Take both to one base.",
        ),
        Mistake(
            lambda v: v["bits"] / (v["gain_per_layer"] - 1),
            "A factor of 1.1 is not a tenth of a doubling. Take logarithms.",
        ),
    ),
    hints=(
        "After n layers the error is the rounding times the factor to the power n. Set it to 1.",
        "n = log(1/rounding) / log(factor).",
    ),
    solution=lambda v: [
        Step("Relative error of a rounding:", f"{v['rounding']:.3g}"),
        Step(f"${eq.difference.latex}$ is 1 at $\\log(1/\\epsilon) / \\log \\chi$ =", LAYERS_FOR(v)),
    ],
)

# --- what is worth keeping -------------------------------------------------------------------------------------------

ROUTED = ("deepseek-v3", "kimi-k2", "qwen3-235b-a22b", "glm-4.5")


def cached(values: Values) -> Values:
    """A drawn model with its KV in BF16, in the notation's names."""
    net = model(values["net"])
    return net.symbols() | {"net_name": net.name}


kv_spent = Quantity(
    id="kv-spent",
    title="What a byte of KV stands for",
    level="easy",
    ask=(
        "{net_name} stores {n_total}, of which a token uses {n_active}; each of these takes two FLOPs. The token leaves"
        " {kv_bytes_per_token} of KV cache in BF16. How many FLOPs does it take to compute one byte of it again? Leave"
        " attention's own FLOPs out."
    ),
    draw={"net": ROUTED},
    derive=cached,
    units={"kv_bytes_per_token": "byte"},
    unit="FLOP/byte",
    objective=PRICE,
    answer=lambda v: eq.kv_flop_spent(v),
    second=lambda v: sum(2 * v["n_active"] for _ in range(1000)) / (1000 * v["kv_bytes_per_token"]),
    means=(
        "A chip does some hundreds of FLOPs in the time in which it reads a byte. So KV is read, and not computed"
        " again."
    ),
    mistakes=(
        Mistake(lambda v: eq.kv_flop_spent(v) / 2, "A multiply and an add are two FLOPs."),
        Mistake(
            lambda v: eq.kv_flop_spent(v, n_active=v["n_total"]),
            "A token is multiplied by the active parameters only.",
        ),
        Mistake(
            lambda v: eq.kv_flop_spent(v) * 3,
            "That is a step of training, with its backward pass. To get the KV back a forward pass is enough.",
        ),
        Mistake(lambda v: 1 / eq.kv_flop_spent(v), "Upside down: FLOPs over bytes."),
    ),
    hints=(
        "To get a token's KV again, the token has to go through the model once more.",
        "2 × active parameters, over bytes of KV per token.",
    ),
    solution=lambda v: [
        Step("The forward pass of one token:", 2 * v["n_active"], "FLOP"),
        Step(f"${eq.kv_flop_spent.latex}$ =", eq.kv_flop_spent(v), "FLOP/byte"),
    ],
)

WIDTH, HEAD = 8192, 128
LLAMA, DEEPSEEK = (model(id) for id in ("llama-3.1-70b", "deepseek-v3"))
SPENT = {  # FLOPs per byte of two bytes a value
    "a": eq.kv_flop_spent(LLAMA.symbols()),
    "b": 1 / BF16,
    "c": 2 * WIDTH / BF16,
    "d": 2 * HEAD / BF16,
    "e": eq.kv_flop_spent(DEEPSEEK.symbols()),
}


def by_counting() -> str:
    """The same order, from products and bytes counted in whole numbers."""
    flop = {
        "a": sum((1, 1)) * LLAMA.n_active,
        "b": 1,
        "c": sum((1, 1) * WIDTH),
        "d": sum((1, 1) * HEAD),
        "e": sum((1, 1)) * DEEPSEEK.n_active,
    }
    size = {"a": LLAMA.kv_bytes(1000) / 1000, "b": 2, "c": 2, "d": 2, "e": DEEPSEEK.kv_bytes(1000) / 1000}
    return "".join(sorted(flop, key=lambda key: flop[key] / size[key]))


ladder = Ordering(
    id="ladder",
    title="A ladder of bytes",
    level="hard",
    ask=(
        "How many FLOPs does it take to compute one byte of each of these again, from what stands before it? All are"
        " kept in two bytes a value, and a multiply and an add are two FLOPs. Put them in order, the fewest FLOPs"
        " first: what is thrown away first, if memory is short."
    ),
    items={
        "a": (
            f"the KV cache of {LLAMA.name}: {LLAMA.n_active / 1e9:.0f} billion parameters,"
            f" {LLAMA.kv_bytes_per_token() / 1e3:.0f} kB for each token"
        ),
        "b": "the output of a ReLU: one comparison for each value",
        "c": f"the output of a matrix product: each value is a sum of {WIDTH:,} products",
        "d": f"attention scores: each is the product of a query and a key of {HEAD} values",
        "e": (
            f"the KV cache of {DEEPSEEK.name}: {DEEPSEEK.n_active / 1e9:.0f} billion active parameters,"
            f" {DEEPSEEK.kv_bytes_per_token() / 1e3:.0f} kB for each token"
        ),
    },
    answer="".join(sorted(SPENT, key=SPENT.__getitem__)),
    second=lambda v: by_counting(),
    objective=PRICE,
    means=(
        "Six powers of ten. Training drops the cheap end first: attention scores are computed again almost everywhere,"
        " whole layers only in need, and KV is kept."
    ),
    mistakes=(
        Mistake(
            "".join(sorted(SPENT, key=SPENT.__getitem__, reverse=True)),
            "That is from the most to the fewest. Begin with what is cheapest to compute again.",
        ),
        Mistake(
            "bdcea", "Of the two caches you compared the parameters. The smaller cache has more FLOPs behind each byte."
        ),
        Mistake("bcdae", "Attention scores are many, but each is a short sum: as long as a head is wide."),
    ),
    hints=(
        "A sum of n products is 2n FLOPs and gives two bytes.",
        "For a cache: two FLOPs for each parameter that a token uses, over the bytes that it leaves.",
    ),
    solution=lambda v: [
        Step("FLOPs per byte: " + ", ".join(f"{key} {SPENT[key]:,.3g}" for key in sorted(SPENT)) + "."),
        Step("In order:", "".join(sorted(SPENT, key=SPENT.__getitem__))),
    ],
)


def both_even(values: Values) -> Values:
    """A drawn model on a drawn machine: for how long a byte of KV, and one of activations, is worth keeping."""
    net, machine = model(values["net"]), system(values["machine"])
    known = (
        net.symbols() | machine.symbols("bf16") | {"layers": net.layers, "width": net.d_model, "kept_per_value": KEPT}
    )
    even = lambda spent: eq.keep_even(known, flop_spent=spent(known))
    return {
        "net_name": net.name,
        "machine_name": machine.name,
        "kv_even": even(eq.kv_flop_spent),
        "act_even": even(eq.activation_flop_spent),
    }


def cheaper(values: Values) -> str:
    """What to keep, by what keeping and computing again take of one machine: shares of its memory and of its
    multipliers, times time.
    """
    net, machine = model(values["net"]), system(values["machine"])
    again = 2 * net.n_active / machine.flops("bf16")  # s of the whole machine, for one token
    keeps = [
        bytes_ / machine.hbm_bytes * wait < again
        for bytes_, wait in ((net.kv_bytes(1), values["soon"]), (34 * net.d_model * net.layers, values["late"]))
    ]
    return {(True, True): "a", (True, False): "b", (False, True): "c", (False, False): "d"}[tuple(keeps)]


who_stays = Choice(
    id="who-stays",
    title="Who may stay",
    level="easy",
    ask=(
        "On {machine_name}, with memory and multipliers both in full use, a byte of {net_name}'s KV is worth keeping"
        " for {kv_even} before computing it again is cheaper; a byte that training keeps for the backward pass, for"
        " {act_even}. In serving, KV is needed again after {soon}; in a large training step an activation waits {late}"
        " for its backward pass. What should be kept?"
    ),
    draw={
        "net": ("llama-3.1-405b", "llama-3.1-70b"),
        "machine": ("gb200-nvl72", "h200-8", "b200-8"),
        "late": (10.0, 5.0, 20.0),
        "soon": (0.02, 0.015),
    },
    derive=both_even,
    units={"kv_even": "s", "act_even": "s", "soon": "s", "late": "s"},
    options={
        "a": "both",
        "b": "the KV, and activations are computed again",
        "c": "activations, and the KV is computed again",
        "d": "neither",
    },
    answer="b",
    second=cheaper,
    objective=PRICE,
    means=(
        "One forward pass leaves few bytes of KV and many of activations, so a byte of KV stands for more compute. And"
        " it is needed sooner, and over and over."
    ),
    mistakes=(
        Mistake("a", "Compare each wait with its time. One of the two waits too long."),
        Mistake("c", "Turned round: compare each wait with its own time."),
        Mistake("d", "KV is needed again long before computing it anew would be cheaper."),
    ),
    hints=("What is needed before its time is up is kept.",),
    solution=lambda v: [
        Step(
            f"${eq.keep_even.latex}$: for KV {{kv_even}} against a wait of {{soon}}, for activations {{act_even}}"
            " against {late}."
        ),
        Step("So the answer is", "b"),
    ],
)

TRADES = {
    "a": ("spends memory", "spends memory"),
    "b": ("spends memory", "spends compute"),
    "c": ("spends compute", "spends memory"),
    "d": ("spends compute", "spends compute"),
}


def traded(tokens: int = 100, layers: int = 20) -> tuple[str, str]:
    """What a KV cache and a reversible network spend, from counts of entries held and of layers run with and without
    each.
    """
    recomputing = (
        1,
        sum(n for n in range(1, tokens + 1)),
    )  # entries held, tokens multiplied: every one again at each step
    caching = tokens, tokens
    storing = layers, 3 * layers
    reversing = 3, 4 * layers
    spends = lambda without, with_it: (
        "spends memory" if with_it[0] > without[0] and with_it[1] < without[1] else "spends compute"
    )
    return spends(recomputing, caching), spends(storing, reversing)


trade = Choice(
    id="trade",
    title="Two trades",
    level="easy",
    ask=(
        "The KV cache in serving and the reversible network in training both trade memory against compute. Which way"
        " does each of them go?"
    ),
    options={
        "a": "both spend memory to save compute",
        "b": "the cache spends memory to save compute, the reversible network spends compute to save memory",
        "c": "the cache spends compute to save memory, the reversible network spends memory to save compute",
        "d": "both spend compute to save memory",
    },
    answer="b",
    second=lambda v: next(key for key, ways in TRADES.items() if ways == traded()),
    objective=PRICE,
    means=(
        "Opposite ways. On today's machines spending memory to save compute is as a rule the better trade (2:13); the"
        " reversible network goes against it."
    ),
    mistakes=(
        Mistake("a", "What does a reversible network keep from the forward pass? And what does it run again?"),
        Mistake("c", "Turned round. Ask of each what it holds in memory that would not have to be there."),
        Mistake(
            "d",
            "Without a cache each new token would need all earlier ones to be multiplied again. Which does the cache"
            " save?",
        ),
    ),
    hints=(
        (
            "What would have to be computed again without the cache? What would have to be stored if the network were"
            " not reversible?"
        ),
    ),
    solution=lambda v: [
        Step(
            f"The cache holds a token's KV and saves its pass through the model. Reversing lets ${eq.stored.latex}$"
            " fall, and runs each layer again."
        ),
        Step("So the answer is", "b"),
    ],
)

# --- the likeness ----------------------------------------------------------------------------------------------------

GRID = list(product(range(4), repeat=2))  # rows and columns of AES's 16 bytes
REACH = {  # the cells that a step lets each cell depend on
    "substitute": lambda r, c: {(r, c)},
    "shift": lambda r, c: {(r, (c + r) % 4)},
    "mix": lambda r, c: {(n, c) for n in range(4)},
    "key": lambda r, c: {(r, c)},
}
TWO_STEPS = {"a": ("substitute", "key"), "b": ("shift", "mix"), "c": ("mix", "key"), "d": ("shift", "substitute")}


def spreads(steps: tuple[str, str]) -> bool:
    """Whether every cell depends on all cells after the two steps have run twice."""
    needs = {cell: {cell} for cell in GRID}
    for name in steps * 2:
        needs = {cell: set().union(*(needs[other] for other in REACH[name](*cell))) for cell in GRID}
    return all(len(found) == len(GRID) for found in needs.values())


which_part = Choice(
    id="which-part",
    title="Rows and columns",
    level="medium",
    ask=(
        "A transformer holds its state as a grid, tokens by values. Attention carries things between tokens, the"
        " feed-forward block mixes the values within a token. AES holds 4 × 4 bytes. SubBytes replaces each byte by a"
        " table, ShiftRows moves bytes along their rows, MixColumns mixes the four bytes of a column, AddRoundKey adds"
        " the key to each byte. Which two share the mixing of the grid between them, as attention and the feed-forward"
        " block do?"
    ),
    options={
        "a": "SubBytes and AddRoundKey",
        "b": "ShiftRows and MixColumns",
        "c": "MixColumns and AddRoundKey",
        "d": "ShiftRows and SubBytes",
    },
    answer="b",
    second=lambda v: next(key for key, steps in TWO_STEPS.items() if spreads(steps)),
    objective=ANALOGY,
    means=(
        "To mix one way and then the other is cheaper than to mix all with all, and suits the hardware. After two goes"
        " each cell depends on every other."
    ),
    mistakes=(
        Mistake("a", "Both treat every byte by itself. Nothing would get from one to another."),
        Mistake("c", "Bytes of a column would be mixed, but nothing would leave its column."),
        Mistake(
            "d",
            "Bytes would move along their rows and be replaced one by one. None of them would come to depend on"
            " another.",
        ),
    ),
    hints=("Change one byte. Which pair spreads the change over the whole grid if it runs twice?",),
    solution=lambda v: [
        Step(
            "MixColumns spreads a byte over its column, ShiftRows sends these bytes into different columns, and the"
            " second MixColumns fills those."
        ),
        Step("So the answer is", "b"),
    ],
)

WANTED = {  # of a cipher, and of a network
    "a": ("every output depends on every input",) * 2,
    "b": ("linear and nonlinear steps, over and over",) * 2,
    "c": ("a small change changes everything", "a small change changes little, in a way that says where to go"),
    "d": ("fast on today's hardware",) * 2,
}

fails = Choice(
    id="fails",
    title="Where the likeness ends",
    level="easy",
    ask=(
        "Ciphers and neural networks look alike. Which of these do the makers of ciphers want, and the makers of"
        " networks not?"
    ),
    options={
        "a": "that every output depends on every input",
        "b": "that linear and nonlinear steps alternate, many times over",
        "c": "that a small change of the input changes the output beyond recognition",
        "d": "that it runs fast on the hardware there is",
    },
    answer="c",
    second=lambda v: next(key for key, (cipher, network) in WANTED.items() if cipher != network),
    objective=ANALOGY,
    means=(
        "A cipher makes structure look random, a network finds structure in what looks random. A network in which this"
        " happens has an adversarial example: a picture changed by what no eye sees, and classed otherwise."
    ),
    mistakes=(
        Mistake("a", "Both want that. It is the reason why they look alike."),
        Mistake("b", "Both do that: without a nonlinear step, all layers would be one linear map."),
        Mistake(
            "d",
            "Both want that, and both have some freedom to get it: a cipher needs only to be invertible, a network only"
            " to be trainable.",
        ),
    ),
    hints=("How is a network trained? What does the gradient have to say?",),
    solution=lambda v: [
        Step(
            "Training follows derivatives, so small changes must do small and telling things. A cipher is built so that"
            " they do not."
        ),
        Step("So the answer is", "c"),
    ],
)

YEARS = {"a": "2015", "b": "2017", "c": "2019", "d": "2020"}

year = Choice(
    id="year",
    title="From ciphers to networks",
    level="easy",
    ask=(
        "Networks taken for ciphers have done badly. The other way there is one import that worked: Feistel's"
        " construction became the reversible network. When was it published?"
    ),
    options=YEARS,
    answer="b",
    second=lambda v: next(key for key, text in YEARS.items() if source("revnet").date.startswith(text)),
    objective=ANALOGY,
    means="RevNet is by Gomez, Ren, Urtasun and Grosse. Feistel's construction is from the early 1970s.",
    mistakes=(
        Mistake("a", "In that year residual networks were published, which RevNets started from."),
        Mistake("c", "A guess near to that was cut from the lecture. It was earlier."),
        Mistake("d", "In that year the Reformer took the idea over into transformers. The idea in networks is older."),
    ),
    hints=("It came after residual networks, and before anybody used it in a transformer.",),
    solution=lambda v: [
        Step(f"The preprint, {source('revnet').where}, is of {source('revnet').date}."),
        Step("So the answer is", "b"),
    ],
)

PROBLEMS = (
    guess,
    invert,
    needs,
    inverse,
    decrypt,
    forgotten,
    two_back,
    first_round,
    rounds,
    key_drops_out,
    nonlinear,
    poor_cipher,
    kept,
    flat,
    segment,
    checkpoint,
    deep_enough,
    work,
    saves,
    remains,
    measured,
    slower,
    digits,
    kv_spent,
    ladder,
    who_stays,
    trade,
    which_part,
    fails,
    year,
)
