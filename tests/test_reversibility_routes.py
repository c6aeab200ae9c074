"""The second routes of the reversibility lesson: ciphers by all their blocks, networks that train, memory that is
counted.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from blackboard.catalogue import measurement
from blackboard.lessons.reversibility import equations as eq
from blackboard.lessons.reversibility import network, simulation
from blackboard.lessons.reversibility.network import KINDS, WAYS, Ledger, Network
from blackboard.lessons.reversibility.simulation import Feistel, couple, uncouple

SIGMAS = 4.5  # a true claim is refused once in 150,000 runs; seeds are fixed, so a test that passes goes on passing
WIDTHS = (4, 5, 8, 13, 31, 32, 33, 48, 63, 64)
NETS = (
    ("plain", 1.5, True),
    ("plain", 1.0, False),
    ("residual", 1.5, True),
    ("residual", 1.0, False),
    ("reversible", 2.0, True),
)


def numbers(bits: int, count: int, seed: int) -> np.ndarray:
    return np.random.default_rng((seed, 9)).integers(0, 2**bits - 1, count, np.uint64, endpoint=True)


# --- the coupling undoes itself --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits, swap", list(itertools.product(WIDTHS, (True, False))))
def test_decrypting_undoes_encrypting(bits, swap):
    cipher = Feistel.random(bits, 7, seed=bits, swap=swap)
    x, y = numbers(bits, 5_000, 1), numbers(bits, 5_000, 2)
    there = cipher.encrypt(x, y)
    assert all((half <= cipher.mask).all() for half in there) and (there[1] != y).mean() > 0.9
    assert all((half == given).all() for half, given in zip(cipher.decrypt(*there), (x, y)))
    assert ((there[0] == x).all()) == (not swap), "without the swap one half never changes, with it both do"
    same = cipher.encrypt(x * np.uint64(0), y)[1]  # of one x: without the swap one known plaintext opens all
    assert ((same ^ same[0] ^ y[0] == y).all()) == (not swap)


@pytest.mark.parametrize("bits", WIDTHS)
def test_rounds_are_those_of_plain_integers(bits):
    """The same cipher in Python's own integers, which have no width; its halves change places by assignment."""
    cipher, low = Feistel.random(bits, 5, seed=3), 2**bits - 1
    for x, y in zip(numbers(bits, 40, 1).tolist(), numbers(bits, 40, 2).tolist()):
        expected = x, y
        for key in cipher.keys:
            whole = (expected[0] ^ key) ** 2
            expected = expected[1] ^ (whole & low) ^ (whole >> bits & low), expected[0]
        assert tuple(map(int, cipher.encrypt(x, y))) == expected


@pytest.mark.parametrize("bits, rounds", list(itertools.product((4, 5, 6, 8), (1, 2, 5))))
@pytest.mark.slow
def test_every_block_comes_out_once_though_f_is_not_one_to_one(bits, rounds):
    blocks, cipher = np.arange(4**bits, dtype=np.uint64), Feistel.random(bits, rounds, seed=rounds)
    assert (np.sort(simulation.whole(cipher)(blocks)) == blocks).all()
    for key in cipher.keys:
        assert (
            len(np.unique(cipher.f(np.arange(2**bits, dtype=np.uint64), key))) < 0.8 * 2**bits
        )  # a random function: 63 %


def test_any_function_and_any_addition_will_do():
    """Vectors over GF(2), integers modulo 97, and whole numbers; products and constants for f, which have no
    inverse.
    """
    draw = np.random.default_rng(5)
    a, b = draw.integers(0, 2, (2, 12, 12))
    bits = [lambda v: (v @ a % 2) * (v @ b % 2), lambda v: v * 0 + 1, lambda v: np.roll(v, 1, axis=1) & v]
    x, y = draw.integers(0, 2, (2, 500, 12))
    ring, modulo = [lambda v: v * v % 97, lambda v: v // 3], (lambda p, q: (p + q) % 97, lambda p, q: (p - q) % 97)
    exact, xor = (np.add, np.subtract), (np.bitwise_xor, np.bitwise_xor)
    for functions, left, right, add, take in (
        (bits, x, y, *xor),
        (ring, x * 96, y * 7, *modulo),
        (ring, x * 10**6, y, *exact),
    ):
        there = couple(left, right, functions * 3, add)
        back = uncouple(*there, functions * 3, take)
        assert (back[0] == left).all() and (back[1] == right).all()
        assert (there[0] != left).any() and (there[1] != right).any()


# --- how a change spreads, and attacks that follow it -----------------------------------------------------------------


@pytest.mark.parametrize("rounds, side", [(1, "x"), (1, "y"), (2, "x"), (2, "y")])
@pytest.mark.slow
def test_avalanche_by_listing_every_round_function_of_two_bits(rounds, side):
    """All 256 functions of two bits in each round, all 16 blocks, both bits: the exact chain says the same."""
    tables = np.array(list(itertools.product(range(4), repeat=4)))
    chosen = np.array(list(itertools.product(range(len(tables)), repeat=rounds)))
    x, y = np.divmod(np.arange(16), 4)
    functions, many = [lambda v, n=n: tables[chosen[:, n, None], v] for n in range(rounds)], (len(chosen), 1)
    run = lambda x, y: couple(np.tile(x, many), np.tile(y, many), functions)
    flips = []
    for bit in (1, 2):
        one, two = run(x, y), run(x ^ bit if side == "x" else x, y if side == "x" else y ^ bit)
        flips.append(sum(np.bitwise_count(a ^ b).mean() for a, b in zip(one, two)) / 4)
    assert np.mean(flips) == simulation.avalanche_exactly(2, rounds, side)[rounds]


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_one_round_flips_what_the_formula_says_and_the_other_half_is_a_round_behind(bits):
    x, y = (simulation.avalanche_exactly(bits, 4, side) for side in "xy")
    assert float(x[1]) == pytest.approx(eq.half_mixed(half_bits=bits), rel=1e-15)
    assert y[0] == y[1] == x[0] and y[1:] == x[:-1]


@pytest.mark.parametrize("bits", [32, 64])
def test_avalanche_of_the_cipher_as_it_runs(bits):
    """f is a square, not random: within a fiftieth of it."""
    found = simulation.avalanche(bits, 5, keys=6, blocks=32)
    assert found["x"][1] == pytest.approx(eq.half_mixed(half_bits=bits), rel=0.02) == found["y"][2]
    assert found["x"][0] == found["y"][0] == found["y"][1] == 1 / (2 * bits)
    assert np.allclose(found["x"][2:], 0.5, atol=0.01) and np.allclose(found["y"][3:], 0.5, atol=0.01)
    still = simulation.avalanche(bits, 3, keys=2, blocks=32, swap=False)
    assert (still["y"] == 1 / (2 * bits)).all() and still["x"][3] == pytest.approx(found["x"][1], rel=0.03)


def test_differences_are_certain_at_first_and_at_last_as_of_a_random_permutation():
    bits, draw = 16, np.random.default_rng(0)
    most = {n: simulation.differential(simulation.whole(Feistel.random(8, n)), 1, bits) for n in (1, 2, 3, 8)}
    assert all(shares.sum() == pytest.approx(1) and shares[0] == 0 for shares in most.values())
    assert most[1].max() == 1 and 1 > most[2].max() >= most[3].max() > 5 * most[8].max()
    tables = [draw.permutation(2**bits).astype(np.uint64) for _ in range(8)]
    chance = [
        simulation.differential(lambda blocks, table=table: table[blocks.astype(int)], 1, bits).max()
        for table in tables
    ]
    assert (
        min(chance) * 0.75 <= most[8].max() <= max(chance) * 1.35 < 2.0 ** (5 - bits)
    )  # a count of 10 to 14 blocks, always even


def test_what_follows_slopes_breaks_a_residual_network_and_is_blind_on_the_cipher():
    net, cipher = simulation.attacked("residual"), simulation.attacked("Feistel")
    assert net.told.correlation > 0.97 and net.apart > 0.98 and net.broken.matched > 0.6 and net.broken.queries < 1_000
    assert abs(cipher.told.correlation) < SIGMAS / math.sqrt(cipher.told.predicted.size)
    assert abs(cipher.apart - 0.5) < SIGMAS * 0.5 / math.sqrt(200) and cipher.broken.matched == 0


@pytest.mark.slow
def test_without_residuals_and_with_large_weights_depth_makes_a_network_blind_too():
    """What protects slopes is the residual and the LayerNorm, not that it is a network."""
    told = lambda name, depth: simulation.foretell(simulation.ciphers(depth)[name], simulation.BLOCK).correlation
    assert (
        told("plain", 2) > 0.9
        and told("residual", 40) > 0.95
        and abs(told("plain", 40)) < SIGMAS / math.sqrt(24 * simulation.BLOCK)
    )
    assert simulation.distinguish(simulation.ciphers(48)["plain"], simulation.BLOCK, 100) < 0.5 + SIGMAS * 0.05


def deep_net(depth: int) -> Network:
    return Network.random("reversible", depth)


def start(net: Network, seed: int = 0):
    return net.start(np.random.default_rng((seed, 4)).standard_normal((32, len(net.inlet))), Ledger())


@pytest.mark.parametrize("kind, gain, normed", NETS)
@pytest.mark.slow
def test_differences_grow_as_mean_field_theory_says(kind, gain, normed):
    """Width 256 against infinite width: as found, the logarithms agree within a twentieth."""
    nets = [Network.random(kind, 16, 256, 256, gain=gain, normed=normed, seed=seed) for seed in range(3)]
    mean = lambda measure: np.mean([np.log(measure(net, start(net, seed=n), n)) for n, net in enumerate(nets)], axis=0)
    assert np.allclose(
        mean(network.growth), np.log(network.expected_growth(kind, 16, gain, normed)), rtol=0.06, atol=0.03
    )
    if kind == "reversible":
        assert np.allclose(
            mean(network.growth_back), np.log(network.expected_growth_back(16, gain, normed)), rtol=0.06, atol=0.03
        )


def test_a_plain_network_widens_by_one_factor_a_residual_one_by_less_and_less():
    plain, residual = (np.diff(np.log(network.expected_growth(kind, 64, 1.5))) for kind in ("plain", "residual"))
    assert np.allclose(plain, plain[0]) and plain[0] > 0.1
    assert (np.diff(residual) < 0).all() and residual[-1] < residual[0] / 15
    found = network.growth(net := Network.random("plain", 64, 256, 256, gain=1.5), start(net))
    chi = found[64] ** (1 / 64)
    assert chi == pytest.approx(math.exp(plain[0]), rel=0.02)
    assert eq.difference(rounding=1, gain_per_step=chi, steps_back=32) == pytest.approx(
        found[32], rel=0.5
    )  # of a factor of 180


# --- gradients and training -------------------------------------------------------------------------------------------


BATCH = np.random.default_rng(6).standard_normal((24, 64)), np.arange(24) % 10


@pytest.mark.parametrize("kind, normed", list(itertools.product(KINDS, (True, False))))
def test_gradients_are_slopes(kind, normed):
    """Central differences of the loss, computed by another program, along a direction through all weights of a matrix,
    or a few.
    """
    net, (inputs, labels) = Network.random(kind, 5, normed=normed), BATCH

    def loss():
        scores = net(inputs)
        return float((np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(labels)), labels]).mean())

    said, found = network.gradients(net, inputs, labels)
    draw, small = np.random.default_rng(1), 1e-5
    assert said == pytest.approx(loss(), rel=1e-12)
    for weight, slope in zip(net.weights, found):
        for way in draw.standard_normal(weight.shape), draw.random(weight.shape) > 0.99:
            ends = []
            for step in (small, -2 * small):
                weight += step * way
                ends.append(loss())
            weight += small * way
            assert (ends[0] - ends[1]) / (2 * small) == pytest.approx((slope * way).sum(), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("normed", [True, False])
@pytest.mark.parametrize("depth, segment", [(1, 1), (7, 3), (24, 5)])
def test_gradients_do_not_depend_on_how_activations_are_had(normed, depth, segment):
    net = Network.random("reversible", depth, normed=normed)
    stored, marked, rebuilt = (network.gradients(net, *BATCH, way, segment)[1] for way in WAYS)
    for a, b, c in zip(stored, marked, rebuilt):
        assert (a == b).all() and np.abs(a - c).max() < 1e-10 * np.abs(a).max()


def test_two_layers_are_a_block_of_a_revnet():
    """y1 = x1 + F(x2) and y2 = x2 + G(y1) of the paper, written out."""
    net = Network.random("reversible", 2)
    (x2, x1), (f, g) = start(net), (lambda x, layer=layer: layer(x, Ledger())[0] for layer in net.layers)
    y2 = x2 + g(y1 := x1 + f(x2))
    for top in net.run((x2, x1))[-1], couple(x2, x1, (f, g), np.add):
        assert (top[0] == y2).all() and (top[1] == y1).all()
    assert np.allclose(y2 - g(y1), x2, atol=1e-14) and np.allclose(y1 - f(y2 - g(y1)), x1, atol=1e-14)


def test_digits_are_learnt_without_storing_activations():
    rebuilt, stored = network.trained("reversible"), network.trained("stored")
    assert rebuilt.accuracy[0] < 0.2 and rebuilt.accuracy[-1] > 0.95 and rebuilt.losses[-1] < 0.05
    assert abs(rebuilt.accuracy[-1] - stored.accuracy[-1]) < 0.01 and np.allclose(
        rebuilt.losses, stored.losses, rtol=1e-3
    )  # as found 1e-5
    one, two, other = (
        network.train(Network.random("reversible", 4, seed=seed), "reversible", epochs=2).losses for seed in (0, 0, 1)
    )
    assert one == two != other


def test_digits_are_those_of_the_repository():
    """Their counts by class are printed with the data set: the test half of UCI's optical recognition of digits."""
    data = network.digits()
    assert (len(data.train), len(data.test)) == (1_437, 360)
    labels = np.concatenate([data.train_labels, data.test_labels])
    assert list(np.bincount(labels)) == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    pixels = np.concatenate([data.train, data.test]) * 16
    assert pixels.shape == (1_797, 64) and pixels.min() == 0 and pixels.max() == 16 and (pixels == pixels.round()).all()
    assert len({row.tobytes() for row in pixels}) == 1_797


def test_every_fifth_digit_is_for_the_test_from_the_first_on():
    rows = np.loadtxt(network.DATA / "digits.csv.gz", delimiter=",")[np.random.default_rng(0).permutation(1_797)]
    assert np.array_equal(network.digits().test * 16, rows[::5, :-1])
    assert np.array_equal(network.digits().test_labels, rows[::5, -1])


# --- memory, work and rounding ----------------------------------------------------------------------------------------


def taken(way: str, depth: int, segment: int = 1) -> network.Step:
    data, net = network.digits(), Network.random("residual" if way == "checkpointed" else "reversible", depth)
    return network.step(net, data.train[:64], data.train_labels[:64], way, segment)


SIZES = dict(zip(("stream_bytes", "layer_bytes"), network.layer_bytes(Network.random("reversible", 1), 64)))


@pytest.mark.parametrize("depth", [1, 8, 32])
def test_bytes_kept_are_the_formulas(depth):
    assert taken("stored", depth).kept == eq.stored(depth=depth, layer_bytes=SIZES["layer_bytes"])
    assert taken("reversible", depth).kept == eq.reversible(
        exact_stream=SIZES["stream_bytes"], step_bytes=SIZES["layer_bytes"]
    )
    for segment in {1, math.ceil(depth / 4), depth}:
        assert taken("checkpointed", depth, segment).kept == eq.checkpointed(depth=depth, segment=segment, **SIZES)


def test_python_s_own_count_grows_as_the_ledger_s():
    """Working arrays are the same at every depth; what grows is what is kept, but for 2 kB of Python's own objects a
    layer.
    """
    for way, segment in (("stored", 1), ("checkpointed", 1), ("checkpointed", 8), ("reversible", 1)):
        few, many = taken(way, 16, segment), taken(way, 80, segment)
        assert many.traced - few.traced == pytest.approx(many.kept - few.kept, abs=64 * 2_000) and few.traced > few.kept
    assert taken("reversible", 80).traced < 1.05 * taken("reversible", 8).traced
    assert taken("stored", 80).traced > 7 * taken("stored", 8).traced


def test_the_best_segment_is_the_best_of_all():
    kept = {segment: taken("checkpointed", 96, segment).kept for segment in (1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 96)}
    best, least = min(kept, key=kept.get), eq.checkpointed_least(depth=96, **SIZES)
    assert abs(best - eq.segment_best(depth=96, **SIZES)) < 2 and least <= kept[best] < 1.02 * least


@pytest.mark.parametrize("way", ["checkpointed", "reversible"])
def test_multiply_adds_are_a_third_more(way):
    """Counted product by product. Of the layers alone exactly 4/3; inlet and outlet are run once."""
    few, many = taken(way, 4).macs, taken(way, 36).macs
    again, forward, backward = (many[phase] - few[phase] for phase in ("again", "forward", "backward"))
    assert again == forward == backward / 2 and "again" not in taken("stored", 4).macs
    assert (again + forward + backward) / (forward + backward) == pytest.approx(eq.work_ratio(recomputed=1), rel=1e-15)


def test_whole_numbers_come_back_exactly_from_any_depth_whatever_f_rounds():
    """Streams of 32-bit integers; f computes in half precision, and its output is rounded to their grid."""
    half = Network.random("reversible", 252).cast("float16")
    grid = 2.0**20
    f = lambda layer: (
        lambda x: np.rint(layer((x / grid).astype("float16"), Ledger())[0].astype(float) * grid).astype("int32")
    )
    functions = [f(layer) for layer in half.layers]
    below = tuple(np.rint(stream * grid).astype("int32") for stream in start(half.cast("float64")))
    above = couple(*below, functions, np.add)
    assert all(np.abs(stream).max() < 2**30 for stream in above), "no sum runs over"
    assert all((a == b).all() for a, b in zip(uncouple(*above, functions, np.subtract), below))


def test_an_f_of_few_digits_spoils_streams_of_many():
    """FP32 streams come back to a ten-thousandth if f is as fine, and much worse if f computes in half precision."""
    net, pixels, back = Network.random("reversible", 252), network.digits().test[:64], {}
    for dtype in "float32", "float16":
        functions = [
            lambda x, layer=layer: layer(x.astype(dtype), Ledger())[0].astype("float32")
            for layer in net.cast(dtype).layers
        ]
        state = tuple(stream.astype("float32") for stream in net.start(pixels, Ledger()))
        rebuilt = uncouple(*couple(*state, functions, np.add), functions, np.subtract)
        back[dtype] = network._size(tuple(a - b for a, b in zip(rebuilt, state))) / network._size(state)
    assert back["float32"] < 1e-4 and back["float16"] > 0.01


@pytest.mark.parametrize("bits, least", [(8, 0.5), (11, 0.08)])
def test_short_formats_leave_little_of_llamas_depth(bits, least):
    """Streams rounded to BF16 (8 bits) and to FP16 (11 bits) after each step, while f computes in double precision."""
    short = lambda x: np.ldexp(np.rint(np.ldexp(np.frexp(x)[0], bits)), np.frexp(x)[1] - bits)
    net = Network.random("reversible", 252)
    functions = [lambda x, layer=layer: layer(x, Ledger())[0] for layer in net.layers]

    def error(state):
        above = couple(*state, functions, lambda y, f: short(y + f))
        back = uncouple(*above, functions, lambda y, f: short(y - f))
        return network._size(tuple(a - b for a, b in zip(back, state))) / network._size(state)

    digits, noise = (tuple(map(short, s)) for s in (net.start(network.digits().test[:64], Ledger()), start(net)))
    assert least < error(noise) < error(digits) / 2, "the page calls it a few times smaller"
    assert error(digits) > 2 if bits == 8 else error(digits) == pytest.approx(0.5, abs=0.1)


def test_bfloat16_is_rounded_to_its_grid():
    """The nearest float32 whose lower sixteen bits are zero, ties to even, by its bits."""
    some = np.random.default_rng(3).standard_normal(10_000).astype("float32")
    bits = some.view("uint32")
    near = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
    assert (network._short(some, 8) == near.view("float32")).all()


@pytest.mark.parametrize("depth", [4, 16, 48])
@pytest.mark.slow
def test_errors_of_the_way_back_are_a_rounding_widened(depth):
    """Every step rounds, and the estimate takes one rounding: as found, errors are 0.6 to 2.5 times as large. Training
    changes little.
    """
    fresh, pixels = Network.random("reversible", depth), network.digits().test[:64]
    after, errors = network.trained("reversible", depth).network.cast("float64"), []
    for net in (fresh, after):
        widened = network.growth_back(net, net.start(pixels, Ledger()))[-1]
        for dtype in ("float16", "float32", "float64"):
            estimate = np.finfo(dtype).eps / 2 * widened
            errors.append(network.round_trip(net, pixels, dtype)[-1])
            assert estimate / 3 < errors[-1] < 5 * estimate
    if depth == 48:
        assert np.allclose(np.log(errors[:3]), np.log(errors[3:]), atol=0.2)


def test_with_layernorm_errors_grow_about_as_depth_does():
    """A stream's square grows by a = E[tanh²] in two steps, a difference's by b = E[(1 - tanh²)²] divided by that
    square: between two depths, the relative error grows as their ratio to the power (1 + b / a) / 2.
    """
    wide = network._Wide("reversible", 1, 1.0, True)
    power = (1 + wide.widens(1.0, 1.0) / wide.adds(1.0)) / 2
    for shallow, deep in ((250, 500), (500, 2000)):
        growths = [network.expected_growth_back(depth)[-1] for depth in (shallow, deep)]
        assert growths[1] / growths[0] == pytest.approx((deep / shallow) ** power, rel=0.03)
    assert 1 < power < 1.2
    found = [
        network.growth_back(net, net.start(network.digits().test[:64], Ledger())) for net in map(deep_net, (48, 252))
    ]
    times = found[1][-1] / found[0][-1]
    assert 252 / 48 < times < 2 * 252 / 48 < 1.1 ** (252 - 48), "a little faster than depth, and not exponentially"
    assert found[1][126] < 3 and found[1][-1] / found[1][236] > 15, "most of it near the bottom"


def test_one_factor_for_all_steps_is_exponential():
    """Steps that add a multiple of what they read, undone: differences grow by the larger root of the recurrence."""
    gain = 0.4
    chi = (gain + math.sqrt(gain**2 + 4)) / 2  # of h(n-1) = h(n+1) - gain h(n), the larger in size
    one, two = 0.0, 1e-9
    for _ in range(60):
        one, two = two, one - gain * two
    assert abs(two) == pytest.approx(
        eq.difference(rounding=1e-9, gain_per_step=chi, steps_back=60) * chi**2 / (1 + chi**2), rel=1e-6
    )


# --- what others count ------------------------------------------------------------------------------------------------


def test_bytes_of_a_layer_are_what_was_published():
    """Shares of memory from the two counts, within a hundredth since embeddings are left out."""
    rows = zip(
        measurement("korthikanti_activation_formula").records(),
        measurement("korthikanti_iteration_times").records(),
        strict=True,
    )
    for row, shape in rows:
        scores, ways = (
            simulation.SCORES * shape["heads"] * simulation.SEQUENCE / shape["d_model"],
            shape["tensor_parallel"],
        )
        kept = 10 + (eq.KEPT - 10) / ways  # ten bytes of each value are on every GPU
        shares = {"sequence": (eq.KEPT + scores) / ways, "both": eq.KEPT / ways, "selective": kept}
        assert row["model"] == shape["model"]
        assert all(
            bytes_ / (kept + scores / ways) == pytest.approx(row[f"{name}_share"], rel=0.01)
            for name, bytes_ in shares.items()
        )


@pytest.mark.parametrize(
    "call, description",
    [
        (lambda: Network.random("looped", 2), "plain, residual, reversible"),
        (lambda: network.gradients(Network.random("plain", 2), *BATCH, "kept"), "stored"),
        (lambda: Network.random("residual", 2).down(*[None] * 3), "cannot be run backwards"),
        (lambda: Feistel.random(3, 2), "4 to 64"),
        (lambda: Feistel(65, (1, 2)), "4 to 64"),
        (lambda: Ledger().free(np.ones(2)), "not kept"),
    ],
)
def test_what_does_not_fit_is_refused(call, description):
    with pytest.raises(ValueError, match=description):
        call()
