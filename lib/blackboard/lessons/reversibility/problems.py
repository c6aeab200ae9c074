"""Practice problems of the reversibility lesson: undo a round, watch a change spread, train without storing, say what
to keep.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from math import sqrt as root
from math import tanh

import sympy
from sympy import Eq, diff, solve, sqrt

from blackboard.catalogue import measurement, model, system
from blackboard.formula import Formula
from blackboard.formula_problem import Expression, Function
from blackboard.lessons.reversibility import equations as eq
from blackboard.lessons.reversibility.equations import KEPT
from blackboard.notation import symbols
from blackboard.problem import Band, Choice, Guess, Ordering, Quantity, Step, Values, Whole, right, v, wrong
from blackboard.text import superscript

FEISTEL = "Invert a function whose parts have no inverse."
SPREAD = "Measure how a small change spreads, and show why an untrained network is a poor cipher."
KEEP = "Train a network without keeping its activations, and count what that saves and costs."
PRICE = "Decide what is worth keeping in memory and what is worth computing again."
ANALOGY = "Tell where the likeness of ciphers and networks holds and where it fails."

BF16 = 2.0  # bytes
GiB = 2.0**30
left_half, right_half = symbols("left right")


def shaped(values: Values) -> Values:
    """What a layer of the drawn width keeps of the drawn tokens, and what passes on from it, in the notation's
    names.
    """
    keeps = lambda bytes_per_value: eq.layer_kept(values, kept_per_value=bytes_per_value, rows=values["tokens"])
    wide = f"{values['width']:,}"  # as it is, not to four digits
    layer, stream = keeps(KEPT), keeps(BF16)  # a step of a reversible network is a whole layer here
    return values | {"layer_bytes": layer, "step_bytes": layer, "stream_bytes": stream, "exact_stream": stream, "wide": wide}


# --- a guess ---------------------------------------------------------------------------------------------------------


def trained(values: Values) -> Values:
    """A drawn model with its width and depth, and what its layers keep of one token; a made-up one is its depth and
    width, with twelve parameters of each layer to a pair of numbers of the vector, as GPTs have.
    """
    if isinstance(values["net"], str):
        net = model(values["net"])
        name, depth, width, stored = net.name, net.layers, net.d_model, net.n_total
    else:
        name, (depth, width) = "A GPT", values["net"]
        stored = 12 * depth * width**2
    stored = float(f"{stored:.4g}")  # as it is printed
    shape = {"width": width, "depth": depth, "tokens": 1, "kept": KEPT, "weights": BF16 * stored}
    found = shaped(shape) | {"net_name": name, "n_total": stored}
    return found | {"even_tokens": found["weights"] / eq.stored(found)}


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


SMALL = "You counted only what each layer passes on. Within a layer the backward pass needs the inputs of every matrix product, and more."

guess = Guess(
    "A guess before you read",
    level="easy",
    objective=KEEP,
    unit="token",
    within=2.5,
    statement="{net_name} has {n_total}, stored in two bytes each. It has {depth} layers, and a token is a vector of {wide} numbers. In training, the forward pass keeps for every token what the backward pass will need, mostly in two bytes per number; attention scores are not kept. After how many tokens does this take as much memory as the weights? A guess within a factor of 2.5 counts.",
    parameters={"net": ("gpt-3-175b", "bloom-176b", *product((72, 80, 88, 96, 104, 120), (6_144, 8_192, 10_240, 12_288, 16_384)))},
    derived=trained,
    units={"even_tokens": "token"},
    answer=v.weights / eq.stored,
    independent_check=filling,
    misconceptions={
        v.weights / (v.depth * v.stream_bytes): SMALL,
        v.weights / v.layer_bytes: "That is per layer. Every layer keeps its own activations until its backward pass.",
    },
    explanation="By the detailed count it is {even_tokens}. That is a few sequences, and a training batch has millions of tokens. So activations can be the largest part of the memory.",
    hints=(
        "How many vectors does one layer keep per token? Think of the inputs of each matrix product, each nonlinearity and each norm.",
        "For such a layer {kept} bytes were counted for each number of the vector.",
    ),
    solution=(
        "Llama's layers keep 21 bytes for each number of a token's vector, by our count. A layer of an older GPT, with dropout and no gate, keeps {kept}.",
        Step("For a token it keeps", v.layer_bytes, "byte"),
        Step(f"All layers, ${eq.stored.latex}$ =", eq.stored, "byte"),
        Step("The weights are", v.weights, "byte"),
        "Divide:",
    ),
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


BLOCKS = ((5, 11, 3), *filter(telling, product(range(3, 16, 2), range(1, 16), (1, 3, 5, 7))))


class Modular(Whole):
    """A number from 0 to 15, of which neither more nor less is nearer; one that is right but for sixteens is told
    so.
    """

    def bands(self, values: Values) -> list[Band]:
        *told, near = super().bands(values)
        right = self.expected(values)
        whole = values["u"] - values["v"] ** 2 - values["add"]  # worked without a modulus
        wound = sorted({right - MODULUS, right + MODULUS, whole} - {right})
        description = "Modulo 16 that is right. Add or subtract 16 until it is between 0 and 15."
        return told + [Band(float(x), float(x), "close", description) for x in wound] + [Band(0.0, MODULUS - 1.0, near.kind, near.message)]


invert = Modular(
    "Undo a round by hand",
    level="easy",
    objective=FEISTEL,
    unit="1",
    statement="A toy cipher works on two numbers from 0 to 15 and computes modulo 16. One round turns ($x$, $y$) into ($y$ + $f(x)$, $x$), with $f(x)$ = $x^2$ + {add}. The result is ({u}, {v}). What was $y$? Answer from 0 to 15.",
    parameters={"block": BLOCKS},
    derived=came_out,
    units={"u": "", "v": ""},
    answer=lambda v: (v["u"] - squared(v["v"], v["add"])) % MODULUS,
    independent_check=lambda v: next((y for x, y in product(range(16), repeat=2) if ((y + x**2 + v["add"]) % 16, x) == (v["u"], v["v"]))),
    misconceptions={
        lambda v: slips(v)[0]: "The halves were swapped. What went into $f$ is now the right number.",
        lambda v: slips(v)[1]: "On the way forward $f(x)$ was added. On the way back, subtract it.",
        lambda v: slips(v)[2]: "That is $x$, which the round carried over unchanged. The question is about $y$, the half to which $f(x)$ was added.",
        lambda v: slips(v)[3]: "That is $f(x)$. The round added it to $y$, so subtract it from the left number.",
        lambda v: slips(v)[4]: "You subtracted $x^2$ and forgot the constant in $f$.",
    },
    off_by_one_message="Test it: does the round turn your y, with the x that was carried over, into ({u}, {v})?",
    explanation="You never inverted f, and could not have: modulo 16, x and 16 − x have the same square. You computed f once more and subtracted it.",
    hints=(
        "Which of the two resulting numbers did the round leave unchanged?",
        "That number is $x$. Compute $f(x)$ again and subtract it from the other number, modulo 16.",
    ),
    solution=(
        Step("The right number is $x$:", v.v),
        Step("$f(x)$, modulo 16:", lambda v: squared(v["v"], v["add"])),
        Step("Subtracted from {u}, modulo 16:", lambda v: (v["u"] - squared(v["v"], v["add"])) % MODULUS),
    ),
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
    "What f must be",
    level="easy",
    objective=FEISTEL,
    statement="A Feistel round turns ($x$, $y$) into ($y$ + $f(x)$, $x$). What is required of $f$ so that the round can be undone?",
    independent_check=lambda v: fitting(),
    options=[
        wrong("it must be one-to-one", "Nothing goes backward through $f$. Its input is still there, so $f$ can be run forward again."),
        wrong("it must be linear", "A linear $f$ would work, and would make a poor cipher. But no step on the way back needs linearity."),
        right("only that it can be computed again from $x$", "That is the whole trick: the designer of $f$ is free. In a network $f$ may be attention, a feed-forward block, or anything that gives the same result twice."),
        wrong("it must have a derivative", "Training with gradients needs that. Undoing a round does not."),
    ],
    hints=("Write down the inverse. Does it call $f$, or the inverse of $f$?",),
    solution=("From ($u$, $v$): $x$ = $v$ and $y$ = $u$ − $f(v)$. Only $f$ itself is called, on a value that is known.",),
)

BLOCK = {
    "y": right_half - left_half**3,
    "x": left_half - (right_half - left_half**3) ** 2,
}  # of the block below, undone: the second line first

inverse = Expression(
    "Back through a block",
    level="medium",
    objective=FEISTEL,
    statement="A reversible block has two steps: $u$ = $x$ + $F(y)$, then $v$ = $y$ + $G(u)$. Here $F(z)$ = $z^2$ and $G(z)$ = $z^3$. Write $x$ as a formula of $u$ and $v$.",
    formula=Formula(
        "reversibility.block_back",
        "left",
        BLOCK["x"],
        "1",
        "the half that a block with a square and a cube changed first",
        register=False,
    ),
    independent_check=lambda v: inverted(),
    misconceptions={
        left_half - right_half**2: "The input of $F$ was $y$, not $v$. Recover $y$ first, because the second step changed it.",
        BLOCK["y"]: "That is $y$. One more step has to be undone.",
        left_half + (right_half + left_half**3) ** 2: "Both steps added. On the way back both subtract.",
        left_half - (right_half + left_half**3) ** 2: "$G(u)$ was added to $y$. To recover $y$, subtract it.",
        left_half + BLOCK["y"] ** 2: "The $y$ is right. But $F(y)$ was added to $x$, so subtract it.",
        right_half - left_half**3 - left_half**2: "Each function needs the same input as on the way forward: $u$ for $G$, $y$ for $F$.",
    },
    explanation="The last step is undone first. RevNets consist of such blocks, with layers for F and G.",
    hints=(
        "Which of $x$ and $y$ follows at once from $u$ and $v$?",
        "$y$ = $v$ − $G(u)$. With it, $x$ = $u$ − $F(y)$.",
    ),
    solution=(
        "The second step first: $y$ = $v$ − $u^3$.",
        Step("Then the first, $x$ = $u$ − $y^2$:", "u - (v - u^3)^2"),
    ),
)


def inverted():
    """x from the block's two equations, solved for x and y together."""
    x, y = symbols("scale rise_level")  # any two others
    [found] = solve([Eq(left_half, x + y**2), Eq(right_half, y + left_half**3)], [x, y], dict=True)
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


def slipped(step: Callable, u=left_half, v=right_half):
    """The right half after undoing the rounds, last one first, by a step that is wrong."""
    for k in ROUNDS[::-1]:
        u, v = step(u, v, k)
    return v


ORIGIN = undone(left_half, right_half, ROUNDS[::-1])
PAIRS = (1, 2), (4, 1), (2, 5), (3, 3), (5, 6)  # what went in: whole numbers come out, and may be computed with
OVERWRITTEN = "One half is overwritten before the other is computed from it. Change both at once, or keep a copy of the old one."
CARRIED = "The number that a round carries over unchanged comes out on the right. You took the left one for the old x."
decrypt = Function(
    "Write the decryption",
    level="medium",
    objective=FEISTEL,
    statement="A cipher works on two whole numbers, without a modulus. Round number k turns (x, y) into (y + (x + k)², x). Rounds 1, 2 and 3 run in this order and result in the numbers left and right. Write a Python function of left and right that returns the original y.",
    formula=Formula(
        "reversibility.rounds_back",
        "right",
        ORIGIN[1],
        "1",
        "the right half that went into three rounds with squares",
        register=False,
    ),
    test_points=tuple(dict(zip(("left", "right"), encrypted(*pair))) for pair in PAIRS),
    independent_check=searched,
    misconceptions={
        undone(left_half, right_half, ROUNDS)[1]: "You undid the rounds in the order in which they ran. The last one has to be undone first.",
        undone(left_half, right_half, ROUNDS[::-1], 1)[1]: "You added again what the rounds had added. Subtract it.",
        ORIGIN[0]: "That is the original $x$. Return the other half.",
        left_half - sum((right_half + k) ** 2 for k in ROUNDS): "Your function never swaps the halves, so the same one always goes into the square.",
        left_half - (right_half + ROUNDS[-1]) ** 2: "That undoes the last round only.",
        slipped(lambda u, v, k: (v, v - (v + k) ** 2)): OVERWRITTEN,
        slipped(lambda u, v, k: (u - (v + k) ** 2,) * 2): OVERWRITTEN,
        slipped(lambda u, v, k: (u, v - (u + k) ** 2)): CARRIED,
        slipped(lambda u, v, k: (v - (u + k) ** 2, u)): CARRIED,
    },
    explanation="The same loop, run backward, works for any round function and any number of rounds. In a cipher the k are the secret. In a network they are layers.",
    hints=(
        "Undo one round first: $x$ = right, and $y$ = left − (right + $k$)².",
        "for k in (3, 2, 1): the new left is right, and the new right is left − (right + k)². In Python both can change in one line.",
    ),
    solution=(
        "`for k in (3, 2, 1): left, right = right, left - (right + k) ** 2`, and then `return right`.",
        Step("Written out, that is", lambda v: str(ORIGIN[1])),
    ),
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
    "The swap forgotten",
    level="easy",
    objective=FEISTEL,
    unit="1",
    statement="A cipher has blocks of {bits} bits and {rounds} rounds. Each round should turn ($x$, $y$) into ($y$ ⊕ $f(x)$, $x$), where $f$ also depends on the round's key. Somebody forgets the swap, so every round gives ($x$, $y$ ⊕ $f(x)$). How many bits of the output equal those of the input, whatever the block and the keys are?",
    parameters={"bits": (64, 128, 32, 256, 48, 80, 96), "rounds": (16, 8, 12, 10, 20)},
    units={"bits": "", "rounds": ""},
    answer=v.bits / 2,
    independent_check=untouched,
    misconceptions={
        v.bits: "Something is added to $y$ in each round, so its bits do not stay.",
        v.bits * 3 / 4: "Random bits stay the same half of the time, but not always. Count only those that never change.",
        v.bits / 2 / v.rounds: "The rounds do not divide $x$ among themselves. Look at what each of them does to it.",
    },
    explanation="More rounds do not help: half of the block stays in plain sight. It takes the swap, and with it a second round, to change every bit.",
    hints=("Follow $x$ through the rounds.",),
    solution=(
        "Each round uses $x$ and changes $y$. Without a swap it is the same $x$ every time, and it stays as it is.",
        Step("That is half of the block:", v.bits / 2),
    ),
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
    return next(key for key, next_one in claims.items() if all(abs(h[n + 1] - next_one(n)) < 1e-12 for n in range(1, 5)))


two_back = Choice(
    "One line instead of two",
    level="medium",
    objective=FEISTEL,
    statement="Each layer of a reversible network turns (x, y) into (y + f(x), x). Let $h_\\ell$ be the input of layer $\\ell$'s function $f_\\ell$. Which line describes the same network with one stream?",
    independent_check=lambda v: recurrence(),
    options=[
        wrong("$h_{\\ell+1} = h_\\ell + f_\\ell(h_\\ell)$: the last, and f of the last", "That is an ordinary residual network. To undo it you would have to solve for the function's own input."),
        right("$h_{\\ell+1} = h_{\\ell-1} + f_\\ell(h_\\ell)$: the one before the last, and f of the last", "The residual connection reaches back two layers. Read from right to left, it gives the earlier value from the two later ones."),
        wrong("$h_{\\ell+1} = h_{\\ell-1} + f_\\ell(h_{\\ell-1})$: the one before the last, and f of that", "The function is given the current value; it is the sum that takes an earlier one."),
        wrong("$h_{\\ell+1} = f_\\ell(h_\\ell)$: $f$ of the last alone", "The $y$ is missing. Without it the layer could be undone only if its function could."),
    ],
    hints=("What is the $y$ of a layer? It was swapped there by the layer before.",),
    solution=("Layer $\\ell$ has $x = h_\\ell$. Its y was the x of the layer before, $h_{\\ell-1}$, and the new x is $h_{\\ell+1}$.",),
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


BITS = "That is the number of changed bits. Divide it by the bits of the block."

first_round = Quantity(
    "One bit, one round",
    level="medium",
    objective=SPREAD,
    unit="1",
    display_unit="%",
    tolerance=0.01,
    statement="A Feistel round turns ($x$, $y$) into ($y$ ⊕ $f(x)$, $x$). Each half has {half_bits} bits. One bit of $x$ is flipped. Assume that the output of $f$ for any other input is random: each of its bits is as likely to change as not. What share of all bits of the block has changed after one round, on average, in percent?",
    parameters={"half_bits": (32, *range(6, 80, 2))},
    units={"half_bits": ""},
    answer=eq.half_mixed,
    independent_check=changed_bits,
    misconceptions={
        0.5: "Only one half was changed by $f$. The other is $x$, with one bit flipped.",
        0.25: "Nearly. The flipped bit itself was carried over, and counts too.",
        1 / (2 * v.half_bits): "That is only the bit that was carried over. Add what $f$ changed.",
        (v.half_bits / 2 + 1) / v.half_bits: "That is divided by the bits of one half. Divide by those of the whole block.",
        2 * v.half_bits * eq.half_mixed / 100: BITS,
        2 * v.half_bits * eq.half_mixed: BITS,
        eq.half_mixed / 100: "That is the fraction; percent is a hundred times it. Type the percentage.",
    },
    explanation="One half is mixed, the other hardly changed. The next round mixes that one too.",
    hints=(
        "Count changed bits in each half of the output.",
        "In $y$ ⊕ $f(x)$ half of the bits on average; in $x$ one.",
    ),
    solution=(
        Step("Changed in the half that $f$ was added to:", v.half_bits / 2),
        Step("in the half that was carried over:", 1),
        f"Divided by all bits of the block, ${eq.half_mixed.latex}$, in percent:",
    ),
)

PARTS = {2: ("(x, y)", "(y ⊕ f(x), x)"), 3: ("(x, y, z)", "(y ⊕ f(x), z, x)"), 4: ("(x, y, z, w)", "(y ⊕ f(x), z, w, x)")}
PLACES = "x, which goes into the first round's function", "y, to which the first round adds", "z, which goes where y was", "w, which goes where z was"
CASES = tuple((parts, place, bits) for parts in PARTS for place in range(parts) for bits in (16, 32, 64, 128))  # bits of a part


def placed(values: Values) -> Values:
    """A drawn case in words: what a round does, and where a bit is flipped."""
    parts, place, bits = values["case"]
    before, after = PARTS[parts]
    size = f", {['two', 'three', 'four'][parts - 2]} parts of {bits} bits," if bits else ""
    return {"round": f"{before}{size} into {after}", "place": PLACES[place]}


def followed(values: Values) -> int:
    """Rounds until all parts are mixed, following which of them has changed and how."""
    parts, place, _ = values["case"]
    block = ["bit" if n == place else "same" for n in range(parts)]
    for count in range(1, 10):
        x, y, *rest = block
        block = [y if x == "same" else "mixed", *rest, x]
        if set(block) == {"mixed"}:
            return count
    raise AssertionError("a change that never spreads")


def elsewhere(values: Values) -> int:
    """The same for a bit of the part before, or of the second for one of the first."""
    parts, place, bits = values["case"]
    return followed({"case": (parts, place - 1 if place else 1, bits)})


def avalanche(values: Values) -> int:
    """Rounds until about half of the bits differ on average, from runs of a small cipher with random tables."""
    parts, place, _ = values["case"]
    rng, bits, flips = random.Random(2), 8, [0] * 9
    for _ in range(150):
        tables = [[rng.getrandbits(bits) for _ in range(1 << bits)] for _ in flips]
        block = [rng.getrandbits(bits) for _ in range(parts)]
        twin = [part ^ (n == place) << 3 for n, part in enumerate(block)]
        for n, f in enumerate(tables):
            block, twin = ([y ^ f[x], *rest, x] for x, y, *rest in (block, twin))
            flips[n] += sum((a ^ b).bit_count() for a, b in zip(block, twin))
    return next(n for n, count in enumerate(flips, 1) if count > 0.45 * 150 * parts * bits)


rounds = Whole(
    "Until half has changed",
    level="medium",
    objective=SPREAD,
    unit="1",
    statement="A Feistel round turns {round}. Assume that the output of $f$ for any other input is random. One bit is flipped in {place}. After how many rounds do about half of the block's bits differ, on average?",
    parameters={"case": ((2, 1, 0), *CASES)},
    derived=placed,
    answer=followed,
    independent_check=avalanche,
    misconceptions={
        elsewhere: "That is right for a bit of another part of the block. In which round does this bit first go through $f$?",
        1: "A round mixes at most one part, the one to which it adds. All of them must be mixed.",
        lambda v: 2 * v["case"][0]: "In so many rounds every part goes through $f$ twice. Spreading a bit takes fewer.",
    },
    explanation="Half is the best possible: a share above it would tell as much about the input as one below. Real round functions mix less well and need more rounds.",
    hints=(
        "Follow every part: which are unchanged, which differ in one bit, which are mixed?",
        "A part becomes mixed when the input of $f$ differs. From then on, each round mixes one more.",
    ),
    solution=(
        "The flipped bit is in {place}. From $x$, it goes into $f$ in the first round; from any other part, it first has to move into $x$, one part in each round.",
        Step("In each further round the mixed part goes through $f$ and mixes one more, until all are. Rounds in all:", followed),
    ),
)

DELTA = 0b0110  # the difference of two inputs, in four bits


def told() -> str:
    """What the outputs of adding a key differ by, over all inputs and keys."""
    found = {((x ^ key) ^ (x ^ DELTA ^ key), key) for x, key in product(range(16), repeat=2)}
    description = {
        "a": lambda key: {DELTA},
        "b": lambda key: {DELTA ^ key},
        "c": lambda key: set(range(16)),
        "d": lambda key: {0},
    }
    return next(name for name, claim in description.items() if all({d for d, k in found if k == key} == claim(key) for key in range(16)))


key_drops_out = Choice(
    "A derivative in bits",
    level="medium",
    objective=SPREAD,
    statement="Two inputs, $x$ and $x$ ⊕ $d$, differ by $d$. One step of a cipher combines both with a secret key $k$ by ⊕. By what do the results differ?",
    independent_check=lambda v: told(),
    options=[
        right("by d", "Differences play the role of derivatives, and an added constant has none. Differential cryptanalysis rests on this: differences can be followed without the key."),
        wrong("by $d$ ⊕ $k$", "The key is added to both results. What happens to it in their difference?"),
        wrong("by anything, as the key is secret", "Each result alone could be anything. But both contain the same key."),
        wrong("by nothing", "Different inputs stay different: adding a key can be undone."),
    ],
    hints=(
        "The difference of two bit strings is their ⊕. Write it out.",
        "Anything ⊕ itself is 0.",
    ),
    solution=("($x$ ⊕ $k$) ⊕ ($x$ ⊕ $d$ ⊕ $k$): $x$ and $k$ occur twice and cancel.",),
)

STEPS = {  # of a cipher, on eight bits
    "a": lambda x: x ^ 0b10100111,
    "b": lambda x: (x << 3 | x >> 5) & 255,
    "c": lambda x: (x << 4 | x >> 4) & 255 ^ x,
    "d": lambda x: x & (x << 1 | x >> 7) & 255,
}

nonlinear = Choice(
    "What hides a difference",
    level="medium",
    objective=SPREAD,
    statement="Two inputs differ in one bit. After which of these steps is it impossible to tell how the outputs differ, without knowing more of the inputs?",
    independent_check=lambda v: next((key for key, f in STEPS.items() if len({f(x) ^ f(x ^ 1) for x in range(256)}) > 1)),
    options=[
        wrong("a constant is added with ⊕", "The constant is in both outputs and cancels in their difference."),
        wrong("the bits are rotated by three places", "The differing bit moves to a known place."),
        wrong("the two halves are swapped and the input is added with ⊕", "The difference shows up in two known places. Swapping and adding are linear."),
        right("each bit is multiplied by its neighbor (AND)", "Whether the flipped bit shows depends on its neighbor. All other steps are linear, and any number of them is one linear step. So ciphers, like networks, need a nonlinear step in between."),
    ],
    hints=(
        "Which step treats the same bit differently, depending on the others?",
        "If its neighbor is 0, what becomes of a flipped bit under AND? And if it is 1?",
    ),
    solution=("Under AND a flipped bit shows if its neighbor is 1, and vanishes if it is 0: the derivative of a product is the other factor.",),
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
    "A network as a cipher",
    level="medium",
    objective=SPREAD,
    statement="Somebody encrypts with an untrained network: random weights, residual connections, norms. An attacker encrypts two inputs that differ by a millionth in one number. The outputs are floating-point numbers with all their digits. What do they show?",
    independent_check=lambda v: behaves(),
    options=[
        wrong("two outputs with nothing in common, as from a cipher", "Random weights do mix everything. But every layer is smooth, and a residual connection passes its input on unchanged."),
        right("two outputs that differ a little, and half as much if the inputs differ by half as much", "A network has useful derivatives. They make it trainable, and they let an attacker walk toward the input. A cipher flips half of its bits at once."),
        wrong("the same output twice, because layers and norms level the difference out", "Norms scale a vector, and residual connections carry every difference along. It does not vanish."),
        wrong("outputs whose distance has nothing to do with that of the inputs", "Each layer has a derivative, so for small changes the whole is nearly linear."),
    ],
    hints=(
        "What is the derivative of a residual layer with respect to its input?",
        "Close to 1 for each layer. What about all layers, one after the other?",
    ),
    solution=("Each layer widens a small difference by some factor, and the factors multiply. Residual connections and norms keep them near one. A difference half as large stays half as large.",),
)

# --- training without keeping ----------------------------------------------------------------------------------------

SEQUENCE = 2048  # tokens, in the paper whose rows are used
LENGTHS = (SEQUENCE, 1024, 1536, 2560, 3072, 4096, 6144, 8192)


def of_paper(values: Values) -> Values:
    """A drawn row of the paper's models, and what its layers keep of one sequence."""
    [row] = measurement("korthikanti_iteration_times").records(model=values["size"])
    return shaped({"width": row["d_model"], "depth": row["layers"], "tokens": values["tokens"], "kept": KEPT})


def printed(values: Values) -> float:
    """Bytes kept of one sequence by the paper's own figure for the first stage of a pipeline: what it holds of one
    micro-batch, on all its GPUs.
    """
    [row] = measurement("korthikanti_iteration_times").records(model=values["size"])
    [held] = measurement("korthikanti_activation_formula").records(model=values["size"])
    stages, chunks = row["pipeline_parallel"], row["interleave"]
    more = 1 + (stages - 1) / (stages * chunks) if chunks > 1 else 1  # interleaving has more micro-batches under way
    return held["remaining_GiB"] * GiB * row["tensor_parallel"] / row["microbatch_size"] / more * values["tokens"] / SEQUENCE


SIZES = ("175B", "22B", "530B", "1T")

kept = Quantity(
    "What one sequence leaves behind",
    level="easy",
    objective=KEEP,
    unit="byte",
    display_unit="GB",
    statement="In training, a transformer layer keeps {kept} bytes for each number of a token's vector; attention scores are not kept. A model has {depth} layers, and a token is a vector of {wide} numbers. How many GB do its layers keep for one sequence of {tokens}?",
    parameters={"size": SIZES, "tokens": LENGTHS},
    derived=of_paper,
    units={"tokens": "token", "kept": ""},
    answer=eq.stored,
    independent_check=printed,
    misconceptions={
        v.depth * v.stream_bytes: SMALL,
        v.layer_bytes: "That is per layer. All layers keep their activations until the backward pass returns.",
        eq.stored / v.tokens: "That is per token. Multiply by the tokens of the sequence.",
        v.depth * 12 * v.width**2 * BF16: "Those are the weights, about 12 d² per layer. The question is about activations.",
    },
    explanation="Tens or hundreds of GB for a single sequence, in proportion to the depth.",
    hints=(
        "First the bytes for one token in one layer.",
        "Then times tokens, times layers.",
    ),
    solution=(
        Step("One layer keeps", v.layer_bytes, "byte"),
        f"and all of them ${eq.stored.latex}$ =",
    ),
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
    "Four times as deep",
    level="medium",
    objective=KEEP,
    statement="A network becomes four times as deep, with layers as before. By what factor does the memory for its activations grow in training? Consider three cases: all are stored; checkpoints at the best distance, with each segment computed again; a reversible network.",
    independent_check=lambda v: next((key for key, growth in GROWTHS.items() if growth == grown())),
    options=[
        wrong("4 times in each case", "A reversible network computes each layer's input from the one above. It need not keep anything from below."),
        wrong("4 times, 4 times, no growth", "In a deeper network the checkpoints can be farther apart, so memory grows more slowly than depth."),
        right("4 times, 2 times, no growth", "Checkpoints need memory in proportion to the square root of depth. A reversible network keeps two streams and one layer at a time, so depth drops out."),
        wrong("4 times, no growth, no growth", "Checkpoints are kept too, and a deeper network needs more of them, or longer segments."),
    ],
    hints=(
        "Write the memory with checkpoints as depth ÷ distance, plus distance.",
        "The best distance is proportional to the square root of depth.",
    ),
    solution=(f"Stored: ${eq.stored.latex}$. At best distance: ${eq.checkpointed_least.latex}$. Reversible: ${eq.reversible.latex}$.",),
)

segment = Expression(
    "How far apart to keep",
    level="hard",
    objective=KEEP,
    statement="An ordinary network keeps a layer's input, V_stream bytes, only once in n_seg layers. In the backward pass it computes such a segment again and holds all that its layers need, V_layer bytes each. Which n_seg needs the least memory? Write it in terms of n_depth, V_stream and V_layer.",
    formula=eq.segment_best,
    independent_check=lambda v: solve(diff(eq.depth / eq.segment * eq.stream_bytes + eq.segment * eq.layer_bytes, eq.segment), eq.segment)[0],
    misconceptions={
        sqrt(eq.depth): "That is right if a layer keeps only what it passes on. Here the two differ.",
        sqrt(eq.depth * eq.layer_bytes / eq.stream_bytes): "Upside down: layers that keep more make long segments expensive.",
        eq.checkpointed_least.expr: "That is the memory at the best length. The question is about the length.",
        eq.depth * eq.stream_bytes / eq.layer_bytes: "The root is missing: set the two parts of the memory equal and solve for the length.",
    },
    explanation="If a layer keeps only as much as it passes on, this is the square root of depth. A transformer's layers keep far more, so its checkpoints are closer together.",
    hints=(
        "Memory: n_depth/n_seg kept inputs, and one segment of n_seg layers.",
        "One part falls, the other rises. The sum is smallest where they are equal.",
    ),
    solution=(Step(f"${eq.checkpointed.latex}$ is least where its parts are equal: ${eq.segment_best.latex}$, typed as", "sqrt(n_depth * V_stream / V_layer)"),),
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
    "With checkpoints",
    level="medium",
    objective=KEEP,
    unit="byte",
    display_unit="GB",
    statement="A transformer has {depth} layers and vectors of {wide} numbers. It trains on one sequence of {tokens}. For each number a layer keeps {kept} bytes, and it passes 2 bytes on. Now only what is passed on is kept, once per segment of layers. In the backward pass one segment at a time is computed again and its activations are held. How many GB is that with the best segment length? Do not round the length to whole layers.",
    parameters={"size": SIZES, "tokens": LENGTHS},
    derived=of_paper,
    units={"tokens": "token", "kept": ""},
    answer=eq.checkpointed_least,
    independent_check=least,
    misconceptions={
        eq.stored: "That is with everything stored.",
        eq.checkpointed_least / 2: "That is half. The kept inputs take as much as the segment that is computed again, and both are there at once.",
        eq.checkpointed.at(segment=sqrt(v.depth)): "The square root of depth is the best length only if a layer keeps as much as it passes on. Here it keeps far more.",
        eq.checkpointed.at(segment=1): "That is a checkpoint at every layer. The kept inputs then take more memory than a segment: place them farther apart.",
        eq.reversible: "That is a reversible network. This one cannot compute its inputs from above.",
    },
    explanation="A few percent of storing everything, for one more forward pass and with an ordinary network. That is why checkpointing is the usual way.",
    hints=(
        "At the best length, kept inputs and one segment take the same memory.",
        "The length is the square root of depth × 2 / {kept}.",
    ),
    solution=(
        Step(f"${eq.segment_best.latex}$ =", eq.segment_best, "1"),
        f"There, ${eq.checkpointed_least.latex}$ =",
    ),
)


def layer_of(values: Values) -> Values:
    """A layer that keeps `times` as much as passes on from it, and what a reversible network of such layers takes,
    times the drawn factor.
    """
    layer = {"stream_bytes": 1.0, "exact_stream": 1.0, "layer_bytes": float(values["times"]), "step_bytes": float(values["times"])}
    return layer | {"activations_least": values["factor"] * eq.reversible(layer)}


def deep(values: Values) -> float:
    """The depth at which checkpoints need so much more than a reversible network, by halving an interval."""
    goal, low, high = values["factor"] * (2 + values["times"]), 1.0, 1e6
    for _ in range(100):
        depth = (low + high) / 2
        low, high = (depth, high) if least({"depth": depth, "stream_bytes": 1.0, "layer_bytes": values["times"]}) < goal else (low, depth)
    return low


DEPTH_FOR = eq.checkpointed_least.solve("depth")

deep_enough = Quantity(
    "When reversing pays",
    level="hard",
    objective=KEEP,
    unit="1",
    statement="A layer keeps {times} times as many bytes for its backward pass as it passes on. An ordinary network with checkpoints at the best distance keeps one stream per segment, and holds one segment. A reversible network keeps two such streams and holds one layer. Both compute one forward pass again. At which depth does the ordinary network need {factor} times the memory? Give the exact value, not rounded to layers.",
    parameters={"times": (17, 8, 12, 10, 14, 16, 20), "factor": (4, 3, 5, 6, 8)},
    derived=layer_of,
    units={"times": "1", "factor": "1"},
    answer=DEPTH_FOR,
    independent_check=deep,
    misconceptions={
        v.activations_least / v.layer_bytes: "That is with everything stored. With checkpoints, memory grows with the square root of depth.",
        DEPTH_FOR / v.factor: "The square root of depth grows by this factor, so depth grows by its square.",
        DEPTH_FOR.at(activations_least=v.factor * v.layer_bytes): "The two streams of the reversible network are missing.",
        DEPTH_FOR.at(activations_least=v.factor * (1 + v.layer_bytes)): "If this is a depth, you gave the reversible network one stream, and it has two. If it is {factor} times its memory, you still have to compute the depth.",
        DEPTH_FOR * 4: "A factor of 2 is missing in the least memory: kept streams and one segment take the same.",
    },
    explanation="The square root of depth grows slowly. For most networks checkpoints save enough.",
    hints=(
        "Let a stream be 1 byte. What does the reversible network need?",
        "The ordinary one needs, at best, 2 √(depth × {times}). Set them equal and square.",
    ),
    solution=(
        Step(f"With one byte for a stream, and a whole layer for a step, ${eq.reversible.latex}$ =", eq.reversible),
        Step("times {factor}:", v.activations_least),
        Step(f"${eq.checkpointed_least.latex}$, solved for the depth:", DEPTH_FOR),
    ),
)


def counted_work(values: Values) -> float:
    """Compute of a step over that with all stored, layer by layer: products of one forward pass and of two
    gradients.
    """
    layers = 100
    again = round(values["recomputed"] * layers)
    usual = sum(2 + 2 + 2 for _ in range(layers))
    return (usual + sum(2 for _ in range(again))) / usual


SHARES = {"half": 0.5, "three quarters": 0.75, "a quarter": 0.25} | {f"{percent}%": percent / 100 for percent in range(20, 98, 2)}

work = Quantity(
    "What it costs",
    level="easy",
    objective=KEEP,
    unit="1",
    tolerance=0.01,
    near_tolerance=0.061,
    statement="The backward pass of a layer takes twice the compute of its forward pass. A network does not store the activations of {share} of its layers, and runs those layers forward once more in the backward pass. By what factor does the compute of a training step grow, compared with storing everything?",
    parameters={"share": tuple(SHARES)},
    derived={"recomputed": lambda v: SHARES[v["share"]]},
    answer=eq.work_ratio,
    independent_check=counted_work,
    misconceptions={
        1 + v.recomputed / 2: "You took the backward pass to cost as much as the forward pass. It costs twice as much.",
        1 + v.recomputed: "Only the forward pass runs twice, not the whole step.",
        v.recomputed / 3: "That is only the increase. The question is about the whole step.",
        1 - v.recomputed / 3: "You subtracted. The layers run once more, so the compute grows.",
    },
    explanation="With every layer run again, 6ND becomes 8ND. The compute grows by a third at most.",
    hints=(
        "Count in forward passes: what is a whole step with everything stored?",
        "Three of them. What part of one is added?",
    ),
    solution=(
        Step("In forward passes: one forward, two backward, and again", v.recomputed, "1"),
        f"${eq.work_ratio.latex}$ =",
    ),
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
    state = {way: [(what, n) for n in range(layers) for what in ("weight", "gradient", "moments")] for way in (False, True)}
    passes = {False: ["forward", "backward", "backward"], True: ["forward", "forward again", "backward", "backward"]}
    return (
        len(kept[True]) < len(kept[False]),
        len(state[True]) < len(state[False]),
        len(passes[True]) > len(passes[False]),
    )


saves = Choice(
    "What it saves",
    level="easy",
    objective=KEEP,
    statement="Compare training a reversible network with an ordinary one of the same size that stores its activations. What does it save, and what does it cost?",
    independent_check=lambda v: next((key for key, claim in CLAIMS.items() if claim == happens())),
    options=[
        wrong("it saves memory for activations, and compute, because nothing is written", "Every layer runs forward once more on the way back, so compute grows."),
        right("it saves memory for activations, and costs compute", "It trades compute for memory, but only for the part of the memory that grows with the batch."),
        wrong("it saves memory for activations, weights and optimizer, and costs compute", "Weights are not a result of the forward pass. They cannot be computed again, nor can the optimizer's averages."),
        wrong("it saves memory for weights and optimizer, and costs compute", "The layers' inputs are computed again. The weights are needed for that, so they stay."),
    ],
    hints=("Of all that training keeps in memory, what can be computed from the layer above?",),
    solution=(f"Activations fall from ${eq.stored.latex}$ to ${eq.reversible.latex}$; compute rises: ${eq.work_ratio.latex}$. Nothing else changes.",),
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
    return (values["state"] + values["stored"]) / (values["state"] + streams * values["stream_bytes"] + layers * values["layer_bytes"])


remains = Quantity(
    "What remains",
    level="medium",
    objective=KEEP,
    unit="1",
    tolerance=0.005,
    statement="A model of {depth} layers trains with {sequences} at a time. Its weights, gradients and optimizer take {state}, and the activations of all its layers {stored}. A layer keeps 17 times as many bytes as it passes on. Now the network is made reversible: it keeps two streams at the top, each as wide as the one before, and computes one layer at a time again, holding that layer's activations. By what factor does the memory fall, counting all parts named here?",
    parameters={"sequences": (256, *range(272, 784, 16))},
    derived=with_state,
    units={"sequences": "sequence", "state": "byte", "stored": "byte"},
    answer=(v.state + v.stored) / (v.state + eq.reversible),
    independent_check=by_layers,
    misconceptions={
        v.stored / eq.reversible: "That is the factor for the activations alone. Weights, gradients and optimizer stay.",
        (v.state + v.stored) / eq.reversible: "You dropped weights, gradients and optimizer as well. A reversible network still needs them.",
        left_with: "You dropped all activations. The two streams at the top stay, and one layer's activations.",
        lambda v: left_with(v, layers=1): "The two streams are missing. Everything else is computed from them.",
        lambda v: left_with(v, streams=1, layers=1): "A reversible network has two streams, and keeps both.",
        lambda v: left_with(v, streams=2): "One layer's activations are missing. They are held during its backward pass.",
        (v.state + v.stored) / (v.state + v.stored / 17): "You kept every layer's stream. A reversible network needs only those at the top.",
    },
    explanation="Weights, gradients and optimizer state stay, and make up most of what remains.",
    hints=(
        "In the reversible network the activations are two streams and one layer. How much is that, measured in layers?",
        "One layer takes the stored activations divided by the depth. A stream is one seventeenth of that.",
    ),
    solution=(
        Step("One layer keeps", v.layer_bytes, "byte"),
        Step(f"With a whole layer for a step, ${eq.reversible.latex}$ =", eq.reversible, "byte"),
        Step("Before, in all:", v.state + v.stored, "byte"),
        Step("after:", v.state + eq.reversible, "byte"),
        Step("The first divided by the second:", (v.state + v.stored) / (v.state + eq.reversible)),
    ),
)


def pair(values: Values) -> Values:
    """Memory of an ordinary network and of a reversible one of the same depth, as measured or made up."""
    deep, *made_up = values["pair"]
    if made_up:
        return {"deep": deep, "plain": made_up[0] * 1e6, "back": made_up[1] * 1e6, "takes": "takes", "origin": "made-up numbers"}
    rows = measurement("memcnn_revnet").records(depth=deep)
    return {"deep": deep, "takes": "was measured to take", "origin": "MemCNN"} | {name: row["memory_MB"] * 1e6 for name, way in (("plain", "no"), ("back", "yes")) for row in rows if row["reversible"] == way}


PAIRS_OF = tuple((*plain, back) for plain, back in product(((50, 900), (80, 1100), (101, 1400), (152, 2800), (200, 3600)), (400, 480, 500, 600, 640, 720, 800)))  # depth, MB
SAVED = "That is the share that is saved. The question is about the factor by which the memory falls."

measured = Quantity(
    "Measured memory",
    level="easy",
    objective=KEEP,
    unit="1",
    statement="In PyTorch, training a residual network of {deep} layers {takes} {plain} of GPU memory, and a reversible one of as many layers {back} ({origin}). By what factor does the memory fall?",
    parameters={"pair": ((110,), (164,), *PAIRS_OF)},
    derived=pair,
    units={"plain": "byte", "back": "byte", "deep": ""},
    answer=v.plain / v.back,
    independent_check=lambda v: divided(v["plain"], v["back"]),
    misconceptions={
        v.back / v.plain: "That is the share that is left. Turn the ratio upside down.",
        v.deep: "That would be activations alone, if each layer kept the same and nothing else were in memory.",
        1 - v.back / v.plain: SAVED,
        100 * (1 - v.back / v.plain): SAVED,
    },
    explanation="Much less than the number of layers. Weights and the framework's own memory stay. And layers that shrink the image throw something away, so their activations are stored.",
    hints=("Divide the larger by the smaller.",),
    solution=(Step("{plain} divided by {back} is", v.plain / v.back),),
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
    """Durations of training two networks of 164 layers, as the table prints them or made up, and in one unit."""
    framework, images, *made_up = values["run"]
    rows = {row["model"]: row[images.lower().replace("-", "") + "_duration"] for row in measurement("memcnn_revnet_training").records(framework=framework)}
    slow, fast = made_up or (rows["revnet-164"], rows["resnet-164"])
    return {
        "framework": framework,
        "takes": "takes" if made_up else "was measured to take",
        "origin": "made-up durations" if made_up else "MemCNN",
        "images": images,
        "slow": slow,
        "fast": fast,
        "slower": minutes(slow) / minutes(fast),
        "recomputed": 1.0,
    }


def as_decimal(values: Values) -> float:
    """The same with "4:59" taken for 4.59."""
    return float(values["slow"].replace(":", ".")) / float(values["fast"].replace(":", "."))


def clock(seconds: float) -> str:
    """A duration as the table prints it."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"


RUNS: tuple[tuple[str, ...], ...] = tuple(product(("PyTorch", "TensorFlow"), ("CIFAR-10", "CIFAR-100")))
RUNS += tuple(("PyTorch", "CIFAR-10", clock(fast * times), clock(fast)) for fast, times in product((170, 205, 225, 235, 280, 290, 345, 355, 410, 475, 530, 595), (1.15, 1.2, 1.25, 1.45, 1.5, 1.6, 1.7)))
[PAPER] = measurement("revnet_paper").records()

slower = Quantity(
    "Measured time",
    level="medium",
    objective=KEEP,
    unit="1",
    tolerance=0.01,
    statement="Training a residual network of 164 layers on {images} in {framework} {takes} {fast}, and a reversible one of as many layers {slow} ({origin}; minutes and seconds, or hours and minutes, which makes no difference to the ratio). Counting FLOPs gives another slowdown: every layer runs forward once more, and the backward pass costs two forward passes. How many times the counted slowdown is the measured one?",
    parameters={"run": RUNS},
    derived=raced,
    answer=v.slower / eq.work_ratio,
    independent_check=lambda v: 3 * minutes(v["slow"]) / (4 * minutes(v["fast"])),
    misconceptions={
        v.slower: "That is the measured slowdown. Divide it by the counted one.",
        eq.work_ratio: "That is the counted slowdown. Divide the measured one by it.",
        lambda v: as_decimal(v) / eq.work_ratio(v): "A minute has sixty seconds: convert both times to one unit first.",
        eq.work_ratio / v.slower: "Upside down: divide measured by counted.",
        v.slower / 1.5: "You counted the backward pass as one forward pass. It costs two, so one more forward pass adds less.",
        v.slower * eq.work_ratio: "You multiplied. Compare the two by dividing.",
    },
    explanation=f"Measured runs are on both sides of the count, because a step is more than FLOPs. The paper's authors report {PAPER['low_slowdown']:g} to {PAPER['high_slowdown']:g} times in practice.",
    hints=(
        "Convert both durations to the smaller unit and divide.",
        "In forward passes: 1 + 2 with everything stored, 1 + 1 + 2 with running again.",
    ),
    solution=(
        Step("Measured:", v.slower),
        Step(f"counted, ${eq.work_ratio.latex}$ =", eq.work_ratio),
        Step("Measured divided by counted:", v.slower / eq.work_ratio),
    ),
)

FORMATS = {"float32": 24, "float16": 11, "bfloat16": 8}  # significant bits
STEPS_FOR = eq.difference.solve("steps_back")


def rounded(values: Values) -> Values:
    """A drawn number format's rounding error, and the steps' gain."""
    bits = FORMATS[values["format"]]
    return {"bits": bits, "error": "2" + superscript(-bits), "rounding": 2.0**-bits, "difference": 1.0}


def lost(values: Values) -> float:
    """Steps until an error has grown to the values' size, a thousandth of a step at a time."""
    step, error, count = values["gain_per_step"] ** 1e-3, values["rounding"], 0
    while error < 1:
        error, count = error * step, count + 1
    return count / 1000


digits = Quantity(
    "How far back",
    level="medium",
    objective=KEEP,
    unit="1",
    statement="A reversible network computes in {format}, with {bits} significant bits, so one rounding is off by up to {error} of the value. Suppose that on the way back each step widens an error by the same factor, {gain_per_step}. Count only the rounding at the top. After how many steps is the error as large as the values? Give the exact value, not rounded to steps.",
    parameters={"format": tuple(FORMATS), "gain_per_step": (1.2, 1.12, 1.15, 1.25, 1.3, 1.35, 1.4, 1.5, 1.6, 1.7, 1.75, 1.8)},
    derived=rounded,
    units={"bits": ""},
    answer=STEPS_FOR,
    independent_check=lost,
    misconceptions={
        v.bits: "That would be right if each step doubled the error. How many steps does it take to double?",
        (1 / v.rounding - 1) / (v.gain_per_step - 1): "You let the error grow by the same amount in each step. It grows by the same factor.",
        v.bits / sympy.log(v.gain_per_step): "The bits are a logarithm to base 2, and you took the other to base $e$. Use one base for both.",
        v.bits / (v.gain_per_step - 1): "A factor of 1.1 per step is not a tenth of a doubling. Take logarithms.",
    },
    explanation="With integers or bits the inverse is exact. In floating point each step widens what rounding leaves. LayerNorm keeps the factors of most steps near one.",
    hints=(
        "After $n$ steps the error is the rounding times the factor to the power $n$. Set it to 1.",
        "$n$ = log(1/rounding) / log(factor).",
    ),
    solution=(
        Step("Relative error of a rounding:", lambda v: f"{v['rounding']:.3g}"),
        Step(f"${eq.difference.latex}$ is 1 at $\\log(1/\\epsilon) / \\log \\chi$ =", STEPS_FOR),
    ),
)

# --- what is worth keeping -------------------------------------------------------------------------------------------

ROUTED = ("kimi-k2", "qwen3-235b-a22b", "glm-4.5", "deepseek-v3", "mistral-large-3", "qwen3-30b-a3b", "mixtral-8x22b", "mixtral-8x7b")
MADE_UP = tuple((*size, kv) for size, kv in product(((100e9, 10e9), (300e9, 20e9), (500e9, 30e9), (1e12, 40e9)), (40e3, 64e3, 100e3, 160e3, 200e3, 250e3)))  # parameters stored and active, bytes of KV


def cached(values: Values) -> Values:
    """A drawn model with its KV in BF16, or a made-up one, in the notation's names."""
    if not isinstance(values["net"], str):
        return {"net_name": "A model"} | dict(zip(("n_total", "n_active", "kv_bytes_per_token"), values["net"]))
    net = model(values["net"])
    return net.symbols() | {"net_name": net.name}


kv_spent = Quantity(
    "The compute behind a byte of KV cache",
    level="easy",
    objective=PRICE,
    unit="FLOP/byte",
    statement="{net_name} stores {n_total}, of which a token uses {n_active}; each takes two FLOPs. The token leaves {kv_bytes_per_token} of KV cache in BF16. How many FLOPs does it take to compute one byte of it again? Leave attention's own FLOPs out.",
    parameters={"net": ROUTED + MADE_UP},
    derived=cached,
    units={"kv_bytes_per_token": "byte"},
    answer=eq.kv_flop_spent,
    independent_check=lambda v: sum(2 * v["n_active"] for _ in range(1000)) / (1000 * v["kv_bytes_per_token"]),
    misconceptions={
        eq.kv_flop_spent / 2: "A multiply and an add are two FLOPs.",
        eq.kv_flop_spent.at(n_active=v.n_total): "You used all stored parameters. A token uses only the active ones.",
        eq.kv_flop_spent * 3: "That is a training step, with its backward pass. For the KV cache a forward pass is enough.",
        1 / eq.kv_flop_spent: "Upside down: divide FLOPs by bytes.",
    },
    explanation="A chip does a few hundred FLOPs while it loads one byte. So a KV cache is loaded and not computed again.",
    hints=(
        "To get a token's KV cache again, the token has to pass through the model once more.",
        "2 × active parameters ÷ KV cache bytes per token.",
    ),
    solution=(
        Step("The forward pass of one token:", 2 * v.n_active, "FLOP"),
        f"${eq.kv_flop_spent.latex}$ =",
    ),
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
    "A ladder of bytes",
    level="hard",
    objective=PRICE,
    statement="How many FLOPs does it take to compute one byte of each of these again, from its direct inputs? All are kept in two bytes per number, and a multiply-add is two FLOPs. Order them, the fewest FLOPs first: that is what to drop first if memory is short.",
    items=[
        f"the KV cache of {LLAMA.name}: {LLAMA.n_active / 1000000000.0:.0f} billion parameters, {LLAMA.kv_bytes_per_token() / 1000.0:.0f} kB for each token",
        "the output of a ReLU: one comparison for each value",
        f"the output of a matrix product: each value is a sum of {WIDTH:,} products",
        f"attention scores: each is the product of a query and a key of {HEAD} values",
        f"the KV cache of {DEEPSEEK.name}: {DEEPSEEK.n_active / 1000000000.0:.0f} billion active parameters, {DEEPSEEK.kv_bytes_per_token() / 1000.0:.0f} kB for each token",
    ],
    answer="".join(sorted(SPENT, key=SPENT.__getitem__)),
    independent_check=lambda v: by_counting(),
    misconceptions={
        "".join(sorted(SPENT, key=SPENT.__getitem__, reverse=True)): "That is the reverse. Begin with what is cheapest to compute again.",
        "bdcea": "For the two caches, divide the parameters by the bytes of the cache.",
        "bcdae": "Attention scores are many, but each is a short sum, with one product per number of a head.",
    },
    explanation="The range is six powers of ten. Training drops the cheap end first: attention scores are computed again almost everywhere, whole layers only when needed, and KV caches are kept.",
    hints=(
        "A sum of $n$ products is twice $n$ FLOPs and gives two bytes.",
        "For a cache: two FLOPs per parameter that a token uses, divided by the bytes that it leaves.",
    ),
    solution=("FLOPs per byte: " + ", ".join(f"{key} {SPENT[key]:,.{digits}g}" for key, digits in zip("abcde", (2, 2, 2, 3, 2))) + ".",),
)


def both_even(values: Values) -> Values:
    """A drawn model on a drawn machine: for how long a byte of KV, and one of activations, is worth keeping."""
    net, machine = model(values["net"]), system(values["machine"])
    known = net.symbols() | machine.symbols("bf16") | {"layers": net.layers, "width": net.d_model, "kept_per_value": KEPT}
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
    keeps = [bytes_ / machine.hbm_bytes * wait < again for bytes_, wait in ((net.kv_bytes(1), values["soon"]), (34 * net.d_model * net.layers, values["late"]))]
    return {(True, True): "a", (True, False): "b", (False, True): "c", (False, False): "d"}[tuple(keeps)]


who_stays = Choice(
    "What to keep",
    level="easy",
    objective=PRICE,
    statement="On {machine_name}, with memory and compute both fully used, a byte of {net_name}'s KV cache is worth keeping for {kv_even}. A byte that training keeps for the backward pass is worth keeping for {act_even}. After that, computing it again is cheaper. In serving, the KV cache is needed again after {soon}. In a large training step an activation waits {late} for its backward pass. What should be kept?",
    parameters={
        "net": ("llama-3.1-405b", "llama-3.1-70b"),
        "machine": ("gb200-nvl72", "h200-8", "b200-8"),
        "late": (10.0, 5.0, 20.0),
        "soon": (0.02, 0.015),
    },
    derived=both_even,
    units={"kv_even": "s", "act_even": "s", "soon": "s", "late": "s"},
    independent_check=cheaper,
    options=[
        wrong("both", "Compare each wait with its break-even time. One of the two waits too long."),
        right("the KV cache, and activations are computed again", "A forward pass leaves few bytes of KV cache and many of activations, so a byte of KV cache has more compute behind it. It is also needed sooner, and again and again."),
        wrong("activations, and the KV cache is computed again", "The other way round: compare each wait with its own break-even time."),
        wrong("neither", "The KV cache is needed again long before computing it would be cheaper."),
    ],
    hints=("Keep what is needed again within its break-even time.",),
    solution=(f"${eq.keep_even.latex}$: for the KV cache {{kv_even}} against a wait of {{soon}}, for activations {{act_even}} against {{late}}.",),
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
    spends = lambda without, with_it: "spends memory" if with_it[0] > without[0] and with_it[1] < without[1] else "spends compute"
    return spends(recomputing, caching), spends(storing, reversing)


trade = Choice(
    "Two trades",
    level="easy",
    objective=PRICE,
    statement="The KV cache in serving and the reversible network in training both trade memory against compute. Which way does each of them go?",
    independent_check=lambda v: next((key for key, ways in TRADES.items() if ways == traded())),
    options=[
        wrong("both spend memory to save compute", "What does a reversible network keep from the forward pass? And what does it run again?"),
        right("the cache spends memory to save compute, the reversible network spends compute to save memory", "They go opposite ways. On today's machines spending memory to save compute is usually the better trade."),
        wrong("the cache spends compute to save memory, the reversible network spends memory to save compute", "The other way round. For each, ask what it holds in memory that would not have to be there."),
        wrong("both spend compute to save memory", "Without a cache, each new token would need all earlier ones to be computed again. So the cache saves compute."),
    ],
    hints=("What would have to be computed again without the cache? What would have to be stored if the network were not reversible?",),
    solution=(f"The cache holds a token's keys and values and saves its pass through the model. A reversible network reduces ${eq.stored.latex}$ and runs each layer again.",),
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
    "Rows and columns",
    level="medium",
    objective=ANALOGY,
    statement="A transformer's state is a grid of tokens by numbers. Attention moves information between tokens, and the feed-forward block mixes the numbers within a token. AES has a grid of 4 × 4 bytes. SubBytes replaces each byte by a table, ShiftRows moves bytes along their rows, MixColumns mixes the four bytes of a column, and AddRoundKey adds the key to each byte. Which two together mix the whole grid, as attention and the feed-forward block do?",
    independent_check=lambda v: next((key for key, steps in TWO_STEPS.items() if spreads(steps))),
    options=[
        wrong("SubBytes and AddRoundKey", "Both treat every byte on its own. Nothing gets from one byte to another."),
        right("ShiftRows and MixColumns", "Mixing one way and then the other is cheaper than mixing everything with everything. After two rounds each cell depends on every other."),
        wrong("MixColumns and AddRoundKey", "The bytes of a column are mixed, but nothing leaves its column."),
        wrong("ShiftRows and SubBytes", "Bytes move along their rows and are replaced one by one. None of them comes to depend on another."),
    ],
    hints=("Change one byte. Which pair spreads the change over the whole grid if it runs twice?",),
    solution=("MixColumns spreads a byte over its column, ShiftRows sends these bytes into different columns, and the second MixColumns fills those.",),
)

WANTED = {  # of a cipher, and of a network
    "a": ("every output depends on every input",) * 2,
    "b": ("linear and nonlinear steps, over and over",) * 2,
    "c": ("a small change changes everything", "a small change changes little, in a way that says where to go"),
    "d": ("fast on today's hardware",) * 2,
}

fails = Choice(
    "Where the likeness ends",
    level="easy",
    objective=ANALOGY,
    statement="Ciphers and neural networks look alike. Which of these do designers of ciphers want, and designers of networks not?",
    independent_check=lambda v: next((key for key, (cipher, network) in WANTED.items() if cipher != network)),
    options=[
        wrong("that every output depends on every input", "Both want that, which is why they look alike."),
        wrong("that linear and nonlinear steps alternate, many times over", "Both do that: without a nonlinear step, all layers would be one linear map."),
        right("that a small change of the input changes the output beyond recognition", "A cipher makes structure look random, and a network finds structure in what looks random. Where it happens in a network, it is an adversarial example: an image that is misread after an invisible change."),
        wrong("that it runs fast on existing hardware", "Both want that."),
    ],
    hints=("How is a network trained, and what must its gradient be good for?",),
    solution=("Training follows derivatives, so small changes must have small and informative effects. A cipher is built so that they do not.",),
)
