"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import Any

from blackboard.catalogue import chip, measurement, model, system
from blackboard.catalogue.running_case import RUNNING
from blackboard.lessons.batching.equations import drain_time
from blackboard.lessons.reversibility import equations as eq
from blackboard.lessons.reversibility.equations import KEPT
from blackboard.page.summary import Page, table
from blackboard.text import superscript
from blackboard.units import factor, pretty, significant

DENSE = "llama-3.1-405b"  # whose layers are alike
TOKENS = 8_192  # of its training sequences
DEEP, SAMPLES = 64, 64  # layers of a network that is measured, and digits in a batch
WHOLE = 4  # bytes of a stream's number that survives the way back exactly, as a whole number
RUN = "530B"  # the training run that is worked by hand
FIGURED = 48  # layers of the networks in the figure of rounding errors, and of a network as a deep cipher
PRECISIONS = {"half": "float16", "single": "float32", "double": "float64"}
ROUNDING = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}  # relative, at most


def power(value: float) -> str:
    """A rounding error in words, as 10⁻⁸: the nearest power of ten, since its digits differ between processors."""
    if 0.01 <= value < 100:
        return significant(value, 1)
    return "10" + superscript(round(math.log10(value)))


def _network() -> Any:
    """The networks and ciphers, imported when they are run: they need NumPy, and problems do not."""
    from blackboard.lessons.reversibility import network, simulation

    return network, simulation


# --- what is run ------------------------------------------------------------------------------------------------------


@cache
def step(way: str, depth: int):
    """One training step on the digits, measured; activations are checkpointed in an ordinary, residual network."""
    network, _ = _network()
    data, net = network.digits(), network.Network.random("residual" if way == "checkpointed" else "reversible", depth)
    stream, layer = network.layer_bytes(net, SAMPLES)
    segment = round(eq.segment_best(depth=depth, stream_bytes=stream, layer_bytes=layer)) or 1
    return network.step(net, data.train[:SAMPLES], data.train_labels[:SAMPLES], way, segment)


# --- the prose --------------------------------------------------------------------------------------------------------


def spreading() -> dict[str, str]:
    """Avalanche, exactly and counted, and the attacks."""
    _, simulation = _network()
    counted = simulation.avalanche(simulation.HALF_BITS, simulation.ROUNDS)
    net, cipher = simulation.attacked("residual"), simulation.attacked("Feistel")
    plain = simulation.attacked("plain")
    share = lambda value: f"{value:.0%}"
    return {
        "mixed": f"{eq.half_mixed(half_bits=simulation.HALF_BITS):.1%}",
        "counted_1": f"{counted['x'][1]:.1%}",
        "counted_2": f"{counted['x'][2]:.1%}",
        "net_correlation": f"{net.told.correlation:.3f}",
        "cipher_correlation": f"{cipher.told.correlation:.2f}",
        "net_told": share(net.apart),
        "cipher_told": share(cipher.apart),
        "net_matched": share(net.broken.matched),
        "net_found": share(net.broken.found),
        "net_collide": share(net.broken.matched - net.broken.found),
        "net_queries": significant(net.broken.queries, 2),
        "cipher_matched": share(cipher.broken.matched),
        "attack_rounds": str(simulation.ROUNDS),
        "plain_told": share(plain.apart),
        "plain_deep": str(FIGURED),
        "plain_deep_told": share(simulation.distinguish(simulation.ciphers(FIGURED)["plain"], simulation.BLOCK)),
        "plain_matched": share(plain.broken.matched),
        "plain_correlation": f"{plain.told.correlation:.2f}",
        **{
            f"{name}_trials": str(inspect.signature(run).parameters["trials"].default)
            for name, run in (("told", simulation.distinguish), ("search", simulation.climb))
        },
    }


def keeping() -> dict[str, str]:
    """Training with activations worked out anew, measured."""
    network, _ = _network()
    anew, stored = network.trained("reversible"), network.trained("stored")
    apart = max(abs(a / b - 1) for a, b in zip(anew.losses, stored.losses))
    steps = 2 * model(DENSE).layers  # attention is a step, and the feed-forward block another
    return {
        "steps": f"{len(anew.losses):,}",
        "loss_apart": power(apart),
        "learnt": f"{anew.accuracy[-1]:.1%}",
        "digits": f"{len(network.digits().train_labels):,}",
        "layers": str(len(anew.network.layers)),
        "deep": str(DEEP),
        "far": str(steps),
        "figured": str(FIGURED),
        "net_width": str(network.Network.random("reversible", 1).layers[0].inner.shape[0]),
        "samples": str(SAMPLES),
        "chi_figured": f"{_widening(FIGURED):.2f}",
        "chi_far": f"{_widening(steps):.3f}",
        "over_formula": significant(max(_over_formula(kind) for kind in PRECISIONS.values()), 1),
        **{
            f"error_{name}{where}": power(_error(depth, kind))
            for name, kind in PRECISIONS.items()
            for where, depth in (("", DEEP), ("_far", steps))
        },
    }


def _error(depth: int, kind: str) -> float:
    """Relative error of what an untrained network of this depth rebuilds at the bottom, in this number format."""
    network, _ = _network()
    net = network.Network.random("reversible", depth)
    return network.round_trip(net, network.digits().train[:SAMPLES], kind)[depth]


def _widening(depth: int) -> float:
    """Factor by which a layer of such a network widens a difference on the way back, as a mean."""
    network, _ = _network()
    net = network.Network.random("reversible", depth)
    start = net.start(network.digits().test[:SAMPLES], network.Ledger())
    return float(network.growth_back(net, start)[-1]) ** (1 / depth)


def _over_formula(kind: str) -> float:
    """The error after the dense model's steps, in this number format, by that of one rounding at the top."""
    steps = 2 * model(DENSE).layers
    once = eq.difference(rounding=ROUNDING[kind], gain_per_layer=_widening(steps), depth=steps)
    return _error(steps, kind) / once


def _dense() -> dict[str, float]:
    """The dense model of the examples, by notation name."""
    net = model(DENSE)
    return {"n_active": net.n_active, "layers": net.layers, "width": net.d_model, "kept_per_value": KEPT}


def activations() -> dict[str, str]:
    """What a training step of the dense model keeps, in five ways."""
    net, kept = model(DENSE), eq.layer_kept(_dense(), rows=TOKENS)
    stream = 2 * TOKENS * net.d_model  # in 16 bits
    sizes = {"depth": net.layers, "stream_bytes": stream, "layer_bytes": kept}
    exact = WHOLE / 2 * stream
    _, simulation = _network()
    [group], scored = net.attention, net.attention_flop(TOKENS)
    scores = simulation.SCORES * group.heads * TOKENS**2
    again = scored / (2 * net.n_active + scored)
    return {
        "act_everything": pretty(net.layers * (kept + scores), "byte", 3),
        "act_divided": pretty(eq.stored(sizes) / simulation.DIVIDED, "byte", 2),
        "selective_work": f"{eq.work_ratio(recomputed=again):.2f}",
        "act_layer": pretty(kept, "byte", 3),
        "act_all": pretty(eq.stored(sizes), "byte", 3),
        "act_tokens": f"{TOKENS:,}",
        "act_reversible": pretty(eq.reversible(sizes, stream_bytes=exact), "byte", 2),
        "act_checkpointed": pretty(eq.checkpointed(sizes, segment=1), "byte", 2),
        "act_best": pretty(eq.checkpointed_least(sizes), "byte", 2),
        "act_stream": pretty(exact, "byte"),
        "act_inputs": pretty(net.layers * stream, "byte", 3),
        "act_llama": f"{_kept_of_llama():.0f}",
        "act_stretch": significant(eq.segment_best(sizes), 2),
    }


def _kept_of_llama() -> float:
    """Bytes that one of the dense model's own layers keeps for each number of a token's vector, part by part."""
    net = model(DENSE)
    [attention], [ffn] = net.attention, net.ffn
    vectors = (
        3 + 2 * attention.kv_heads / attention.heads + 1
    )  # norm's input and output, Q; K and V; attention's output
    hidden = 3 * ffn.d_ff / net.d_model  # gate, up, and their product
    return 2 * (vectors + 2 + hidden)


def worth() -> dict[str, str]:
    """FLOPs per byte kept, for how long a byte is worth its place, and for how long it waits."""
    rack, spent = system(RUNNING.system), eq.kv_flop_spent(RUNNING)
    kv = eq.keep_even(flop_spent=spent, hbm=rack.hbm_bytes, flops=rack.flops("fp8"))
    over = sorted(row.hold / _even(row) for row in _waits("layers"))
    layers, scores = (next(row for row in _waits(part) if row.model == RUN) for part in PARTS)
    a100 = chip("a100-80gb")
    return {
        "spent_kv": f"{spent / 1e6:.2f} million",
        "spent_layers": significant(layers.flop_spent, 3),
        "spent_scores": significant(scores.flop_spent, 3),
        "lasts_kv": pretty(kv, "s", 2),
        "drain": pretty(drain_time(RUNNING), "s", 2),
        "a100_hbm": pretty(a100.hbm_bytes, "byte", 2),
        "a100_gib": f"{a100.hbm_bytes / factor('GiB'):.1f} GiB",
        "a100_peak": pretty(a100.flops("bf16"), "FLOP/s"),
        "hold": f"{layers.hold:.2f} s",
        "even_layers": f"{_even(layers):.2f} s",
        "even_scores": pretty(_even(scores), "s", 2),
        "scores_over": significant(scores.hold / _even(scores), 2),
        "half_least": significant(over[0] / 2, 1),
        "half_most": f"{over[-1] / 2:.1f}",
    }


PARTS = ("layers", "scores")


def _waits(part: str) -> list[Any]:
    """What training keeps of this part in the four runs on A100."""
    _, simulation = _network()
    return [row for row in simulation.activations() if row.part == part]


def _even(row: Any) -> float:
    """Seconds for which a byte is worth its place on an A100."""
    a100 = chip("a100-80gb")
    return eq.keep_even(flop_spent=row.flop_spent, hbm=a100.hbm_bytes, flops=a100.flops("bf16"))


def kept_by_way() -> Page:
    """What one GPU of a training run keeps, in four ways, and the compute that each adds: the closing table."""
    [held] = measurement("korthikanti_activation_formula").records(model=RUN)
    [shape] = measurement("korthikanti_iteration_times").records(model=RUN)
    _, simulation = _network()
    again = simulation.scores_share(shape["d_model"])
    ways = (
        ("everything", 1.0, 0.0),
        ("all but attention's scores (selective)", held["selective_share"], again),
        ("the same, and sequence divided among 8 GPUs", held["both_share"], again),
        ("each layer's input alone (full checkpointing)", held["full_share"], 1.0),
    )
    room = chip("a100-80gb").hbm_bytes / factor("GiB") - held["state_GiB"]
    fits = lambda size: "yes" if size <= room else "no"
    rows = [
        [way, f"{significant(size, 3)} GiB", fits(size), f"× {eq.work_ratio(recomputed=anew):.3f}"]
        for way, size, anew in ((way, share * held["activations_GiB"], anew) for way, share, anew in ways)
    ]
    heads = ("Kept", "Activations per GPU", "fits beside the weights", "compute, counted")
    return table("Four ways to train a model of 530 billion parameters", heads, rows)


PAIRS = (("resnet-32", "revnet-38"), ("resnet-110", "revnet-110"), ("resnet-164", "revnet-164"))


def times() -> list[tuple[str, str, list[float]]]:
    """Time of training a RevNet over that of its ResNet: pair, framework, and the ratios on the two sets of images."""
    rows = {(row["model"], row["framework"]): row for row in measurement("memcnn_revnet_training").records()}
    sixties = lambda text: sum(int(part) * 60**n for n, part in enumerate(reversed(text.split(":"))))
    ratio = lambda one, two, name: sixties(rows[two][name]) / sixties(rows[one][name])
    sets = ("cifar10_duration", "cifar100_duration")
    return [
        (f"{plain} → {anew}", framework, [ratio((plain, framework), (anew, framework), name) for name in sets])
        for plain, anew in PAIRS
        for framework in ("TensorFlow", "PyTorch")
    ]


def measured() -> dict[str, str]:
    """What others measured: memory and time of reversible networks, and of working all activations anew."""
    memory = {row["model"]: row["memory_MB"] for row in measurement("memcnn_revnet").records()}
    slower = sorted(ratio for _, _, ratios in times() for ratio in ratios)
    [megatron] = measurement("korthikanti_activation_formula").records(model=RUN)
    [paper] = measurement("revnet_paper").records()
    again = sorted(
        row["full_recompute_s"] / row["selective_recompute_s"]
        for row in measurement("korthikanti_iteration_times").records()
    )
    return {
        "res_164": f"{memory['resnet-164']:,} MB",
        "rev_164": f"{memory['revnet-164']:,} MB",
        "slower_least": significant(slower[0], 3),
        "slower_most": significant(slower[-1], 3),
        "paper_low": f"{paper['low_slowdown']:g}",
        "paper_high": f"{paper['high_slowdown']:g}",
        "paper_error": f"{paper['ordinary_error']:.1%}",
        "paper_error_rev": f"{paper['reversible_error']:.1%}",
        "again_least": f"{again[0]:.2f}",
        "again_most": f"{again[-1]:.2f}",
        "state": f"{megatron['state_GiB']:.0f}",
        "megatron": megatron["model"].replace("B", " billion"),
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    return spreading() | keeping() | activations() | worth() | measured()
