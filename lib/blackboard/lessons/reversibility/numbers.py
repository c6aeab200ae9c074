"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from blackboard.catalogue import chip, gpu_lab, measurement, model
from blackboard.lessons.overtraining.equations import pretrain_compute
from blackboard.lessons.reversibility import equations as eq
from blackboard.text import merge
from blackboard.units import factor, pretty, significant

DENSE = "llama-3.1-405b"  # whose layers are alike
TOKENS = 8_192  # of its training sequences
VALUE = 2  # bytes of a number in 16 bits
GPU = "h100-sxm"  # on which it was trained
DIVIDED = 8  # GPUs that share a layer there
MILLION = 1_000_000  # tokens of a long sequence
LONG = 131_072  # tokens of the longest sequences on which it was trained
STATE = 18  # bytes of a parameter in training: its weight, a gradient in 4 bytes, and the optimizer's three numbers
GRADIENT = 4  # bytes of a parameter's gradient, before the copies of the model divide it among them
SMALL, NODE = "llama-3.1-8b", 8  # a model that trains alone on a machine of so many GPUs
TWO_LEVELS = 11  # layers of a segment whose own streams are kept when it is rerun: √126
FEW = 100  # GPUs on which a copy trains alone
SEGMENT = 3  # layers from one kept stream to the next: the whole number next to the best
SAMPLES = 64  # digits in a batch of a network that is measured
WHOLE = 4  # bytes of a stream's number that survives the way back exactly, as a whole number
EIGHT = 8  # bytes of it in a report that trained so
LOGIT = 4  # bytes of a number for a word of the vocabulary
COMPOUND = 1.1  # a factor per step that looks harmless
GROWN = 85  # a single error at the top of the page's network grows at most so many times, for a dozen inputs


def _network() -> Any:
    """The networks and ciphers, imported when they are run: they need NumPy, and problems do not."""
    from blackboard.lessons.reversibility import network, simulation

    return network, simulation


# --- the prose --------------------------------------------------------------------------------------------------------


def spreading() -> dict[str, str]:
    """The attacks on a network and a cipher."""
    _, simulation = _network()
    net, cipher = simulation.attacked("residual"), simulation.attacked("Feistel")
    share = lambda value: f"{value:.0%}"
    return {
        "net_correlation": f"{net.told.correlation:.2f}",
        "cipher_correlation": f"{cipher.told.correlation:.2f}",
        "net_told": share(net.apart),
        "cipher_told": share(cipher.apart),
        "net_matched": share(net.broken.matched),
        "cipher_matched": share(cipher.broken.matched),
        "attack_rounds": str(simulation.ROUNDS),
        "games": str(simulation.GAMES),
    }


def keeping() -> dict[str, str]:
    """How far rounding errors grow on the way back, measured."""
    compounded = eq.difference(rounding=1, gain_per_step=COMPOUND, steps_back=steps())
    return {
        "far": str(steps()),
        "compound": f"{COMPOUND:g}",
        "compounded": f"{compounded / 1e9:.0f} billion",
        "grown_step": f"{GROWN ** (1 / steps()):.2f}",
        "widened_far": significant(widened(steps()), 1),
        "widened_bare": significant(widened(steps(), normed=False), 1),
    }


def steps() -> int:
    """Steps that the dense model would have: attention is one, and the feed-forward block another."""
    return 2 * model(DENSE).layers


@cache
def widened(depth: int, *, normed: bool = True) -> float:
    """Factor by which all steps of an untrained network together widen a small difference on the way back, with or
    without its norms.
    """
    network, _ = _network()
    net = network.Network.random("reversible", depth, normed=normed)
    return float(network.growth_back(net, net.start(network.digits().test[:SAMPLES], network.Ledger()))[-1])


def _dense() -> dict[str, float]:
    """The dense model, by notation name."""
    net = model(DENSE)
    return {"n_active": net.n_active, "layers": net.layers, "width": net.d_model, "kept_per_value": _kept_per_value()}


def _kept_per_value(name: str = DENSE) -> float:
    """Bytes that one of a model's layers keeps for each number of a token's vector, part by part, without what is
    recomputed at next to no cost: scores, the norms' outputs, and the product of gate and up projection.
    """
    net = model(name)
    [attention] = net.attention
    norms = 2  # two, each with its input
    vectors = 1 + 2 * attention.kv_heads / attention.heads + 1  # queries; keys and values; attention's output
    return VALUE * (norms + vectors + gated(name))


def gated(name: str = DENSE) -> float:
    """Vectors that a feed-forward block keeps beside its input: gate and up projection. Of the two steps that a layer
    is in a reversible network, this is the one that keeps more.
    """
    net = model(name)
    return 2 * net.ffn[0].d_ff / net.d_model


def _again() -> float:
    """Share of its forward pass that computes attention's scores: half of what attention itself takes."""
    net = model(DENSE)
    attention = net.attention_flop(TOKENS)
    return attention / 2 / (2 * net.n_active + attention)


def activations() -> dict[str, str]:
    """What a training step of the dense model keeps, in several ways, and the compute of each."""
    net, sizes = model(DENSE), sequence_sizes()
    layer = sizes["layer_bytes"]
    scores = VALUE * net.attention[0].heads * TOKENS**2
    kept, mixed = eq.stored(sizes), eq.checkpointed(sizes, segment=SEGMENT)
    shown = lambda amount: pretty(amount, "byte", 2)
    return {
        "act_everything": pretty(net.layers * (layer + scores), "byte", 2),
        "act_scores": significant(scores / layer, 1),
        "selective_more": f"{eq.work_ratio(recomputed=_again()) - 1:.1%}",
        "act_all": shown(kept),
        "act_gpus": significant(kept / chip(GPU).hbm_bytes, 2),
        "act_tokens": f"{TOKENS:,}",
        "act_segment": shown(mixed),
        "act_streams": shown(_reversible()),
        "act_reversible": shown(_reversible() + _slopes(2)),
        "thirds_together": shown(mixed + _slopes(1)),
        "act_stretch": significant(eq.segment_best(sizes), 2),
        "token_logits": pretty(LOGIT * net.vocab, "byte", 2),
        "token_reversible": pretty(per_token()["reversible"], "byte", 2),
    } | _fitting(
        **{name: size * TOKENS for name, size in per_token().items()},
        two_levels=_two_levels() + _slopes(1),
        eight=_reversible(EIGHT) + _slopes(2),
    )


def sequence_sizes() -> dict[str, float]:
    """Depth of the dense model, and bytes of a sequence that a layer keeps, and of its streams, by notation name."""
    net, layer = model(DENSE), eq.layer_kept(_dense(), rows=TOKENS)
    stream = VALUE * TOKENS * net.d_model
    return {"depth": net.layers, "stream_bytes": stream, "layer_bytes": layer}


def _reversible(number: int = WHOLE) -> float:
    """Bytes of a sequence if the dense model were reversible, given those of a stream's number: the larger step is the
    feed-forward block's.
    """
    stream = sequence_sizes()["stream_bytes"]
    return eq.reversible(exact_stream=number / VALUE * stream, step_bytes=gated() * stream)


def _slopes(streams: int) -> float:
    """Bytes of a sequence for the gradients of activations, of two bytes each: of the streams, and of what the larger
    step keeps.
    """
    return (streams + gated()) * sequence_sizes()["stream_bytes"]


def _two_levels() -> float:
    """Bytes of a sequence with checkpoints in two levels: before each segment, in the segment that is being worked on
    before each layer, and one layer's activations.
    """
    sizes = sequence_sizes()
    return (model(DENSE).layers / TWO_LEVELS + TWO_LEVELS) * sizes["stream_bytes"] + sizes["layer_bytes"]


def placed(sizes: dict[str, float]) -> float:
    """Bytes of a sequence with checkpoints at the best places, where segments get shorter toward the top: while one is
    worked on, the streams below it and its own are kept, so each has as many whole layers as then fit.
    """
    stream, ratio = sizes["stream_bytes"], sizes["layer_bytes"] / sizes["stream_bytes"]
    layers = lambda most: sum(max(0, int((most - at) / ratio)) for at in range(1, int(most) + 1))
    peaks = sorted({at + n * ratio for at in range(1, int(sizes["depth"]) + 1) for n in range(1, 9)})
    return stream * next(most for most in peaks if layers(most) >= sizes["depth"])


def per_token() -> dict[str, float]:
    """Bytes of a token, with the gradients of its activations, by what is kept of it, from the most to the fewest."""
    sizes = sequence_sizes()
    ways = {
        "all": eq.stored(sizes) + _slopes(1),
        "checkpointed": placed(sizes) + _slopes(1),
        "reversible": _reversible() + _slopes(2),
    }
    return {name: size / TOKENS for name, size in ways.items()}


class Case(NamedTuple):
    """GPUs of a copy of the dense model, the bytes that each has free for activations, and its tokens at the most."""

    gpus: int
    free: float
    tokens: float

    @property
    def limits(self) -> dict[str, float]:
        """Tokens that fit, by what is kept of them."""
        return {name: self.free / size for name, size in per_token().items()}


def trained() -> Case:
    """The largest training run: its many copies divide the optimizer state."""
    return Case(
        _share(), chip(GPU).hbm_bytes - _weights() - _gradients(), _run()["batch_per_replica"] * TOKENS / _share()
    )


def _fitting(**kept: float) -> dict[str, str]:
    """Given what each way keeps of a sequence: tokens that fit on a GPU beside its weights and their gradients, GPUs of
    a copy that trains alone on a sequence of a million tokens, and how long training would take on a few.
    """
    gpu, net = chip(GPU).hbm_bytes, model(DENSE)
    least = {name: math.ceil((MILLION * size / TOKENS + STATE * net.n_active) / gpu) for name, size in kept.items()}
    each = eq.work_ratio(recomputed=1) * pretrain_compute(n_active=net.n_active, pretrain_tokens=1)  # FLOPs of a token
    days = each / (FEW * rate()) / factor("day")
    longer = net.attention_flop(MILLION / 2) / (2 * net.n_active)  # the FLOPs of attention, for those of the weights
    return {
        **{f"fit_{name}": significant(TOKENS * trained().free / size, 2) for name, size in kept.items()},
        **{f"alone_{name}": f"{least[name]:,}" for name in ("checkpointed", "two_levels", "reversible", "eight")},
        "state_bytes": str(STATE),
        "attention_times": significant(longer, 1),
        "trained_tokens": f"{net.training_tokens / 1e12:.1f} trillion",
        "few_years": significant(days * net.training_tokens / 365, 2),
        "tuned_days": significant(days * (1 + longer) * 1e9, 1),
    }


def node() -> dict[str, str]:
    """Tokens of one sequence that a small model's training has room for on a machine of a few GPUs, all alone."""
    net = model(SMALL)
    room = NODE * chip(GPU).hbm_bytes - STATE * net.n_active
    sizes = {
        "depth": net.layers,
        "stream_bytes": VALUE * net.d_model,
        "layer_bytes": _kept_per_value(SMALL) * net.d_model,
    }
    slopes = (1 + gated(SMALL)) * sizes["stream_bytes"]
    looking = net.attention_flop(MILLION / 2)  # of a token after half of the others
    step = MILLION * 4 * (2 * net.n_active + looking) / (NODE * rate())  # forward twice, and back
    return {
        "node_all": significant(room / (eq.stored(sizes) + slopes), 2),
        "node_checkpointed": f"{room / (placed(sizes) + slopes) / 1e6:.1f} million",
        "node_step": f"{step / 60:.0f} minutes",
    }


def worth() -> dict[str, str]:
    """FLOPs per byte kept, for how long a byte is worth its place, and for how long it waits."""
    gpu, run = chip(GPU), _run()
    share = _share()
    shown = {"rate": pretty(rate(), "FLOP/s"), "hbm": pretty(gpu.hbm_bytes, "byte", 2)}
    kv, layers, scores = kept_bytes()
    held = run["batch_per_replica"] / share
    first, last = waited()
    return shown | {
        "spent_kv": f"{kv.flop_spent / 1e6:.2f} million",
        "spent_layers": significant(layers.flop_spent, 3),
        "spent_scores": significant(scores.flop_spent, 3),
        "even_layers": pretty(layers.even, "s", 2),
        "even_scores": pretty(scores.even, "s", 2),
        "drain": pretty(kv.wait, "s", 2),
        "hold": pretty(layers.wait, "s", 2),
        "wait_first": pretty(first * layers.wait, "s", 2),
        "wait_last": pretty(last * layers.wait, "s", 2),
        "scores_over": significant(scores.wait / scores.even, 2),
        "layers_low": f"{significant(100 * (1 - layers.even / layers.wait), 1)}%",
        "run_waits": str(run["batch_per_replica"]),
        "run_share": str(share),
        "run_weights": pretty(_weights(), "byte", 2),
        "run_gradients": pretty(_gradients(), "byte", 2),
        "run_tokens": f"{run['batch_per_replica'] * TOKENS // share:,}",
        "run_activations": pretty(held * model(DENSE).layers * eq.layer_kept(_dense(), rows=TOKENS), "byte", 2),
        "run_copied": pretty(_copied(held), "byte", 3),
        "run_together": pretty(_together(), "byte", 2),
        "long_share": f"{share * _long()['context_parallel']:,}",
        "peak_over": significant(gpu.flops("bf16") / rate(), 2),
    }


def dividing() -> dict[str, str]:
    """Bytes that each of the GPUs that share a layer sends for a sequence, and how long that takes."""
    net = model(DENSE)
    stream = VALUE * TOKENS * net.d_model
    sums = 4 * net.layers  # a layer has two of them forward, and two backward
    sent = sums * 2 * (DIVIDED - 1) / DIVIDED * stream  # scattered, then gathered
    return {
        "divide_sent": pretty(sent, "byte", 3),
        "divide_time": pretty(sent / chip(GPU).scale_up.bytes_per_s, "s", 2),
    }


def _run() -> Any:
    """The largest training run of the dense model at these sequences."""
    [run] = measurement("llama3_405b_parallelism").records(gpus=16_384, sequence_tokens=TOKENS)
    return run


def _long() -> Any:
    """Its later run, at sequences of LONG tokens."""
    [run] = measurement("llama3_405b_parallelism").records(sequence_tokens=LONG)
    return run


def groups() -> int:
    """GPUs of a copy come in so many groups, one after the other."""
    return _run()["pipeline_parallel"]


def waited() -> tuple[float, float]:
    """Share of a step for which the bottom group waits for its first sequence and for its last, in the simplest
    schedule: to bring a sequence back takes a group twice as long as to bring it forward.
    """
    count, sequences = groups(), _run()["batch_per_replica"]
    step = 3 * (count + sequences - 1)
    return 3 * count / step, (step - (sequences - 1)) / step


def _share() -> int:
    """GPUs of a copy of the model in that run."""
    run = _run()
    return run["tensor_parallel"] * run["pipeline_parallel"]


def _weights() -> float:
    """Bytes of weights on each of these GPUs."""
    return VALUE * model(DENSE).n_active / _share()


def _gradients() -> float:
    """Bytes of the gradients of these weights on the same GPU, before other copies take their shares of them."""
    return GRADIENT * model(DENSE).n_active / _share()


def _together() -> float:
    """Bytes on each of the fullest of these GPUs: activations, weights, gradients, and its share of the optimizer state
    that all copies divide.
    """
    case, optimizer = trained(), STATE - VALUE - GRADIENT
    divided = optimizer * model(DENSE).n_active / _run()["gpus"]
    return case.tokens * per_token()["all"] + _weights() + _gradients() + divided


def _copied(sequences: float) -> float:
    """Bytes of activations on each of these GPUs if all that share a layer copied the inputs of its two norms, where
    each holds its slice of the rest; given how many whole sequences the slices make.
    """
    sizes = sequence_sizes()
    norms = 2 * sizes["stream_bytes"]
    return sequences * sizes["depth"] * (sizes["layer_bytes"] + (DIVIDED - 1) * norms)


def rate() -> float:
    """FLOP/s that a GPU of it reached."""
    return _run()["compute_TFLOP_per_GPU_per_s"] * factor("TFLOP/s")


class Kept(NamedTuple):
    """A byte of the dense model: FLOPs to recompute it, seconds for which it is worth its place, and for which it
    waits at most.
    """

    flop_spent: float
    even: float
    wait: float


def kept_bytes() -> tuple[Kept, Kept, Kept]:
    """A byte of KV cache, of a layer's activations and of attention's scores.

    Decode reads a cache in every step, the whole memory at most; in training nothing waits longer than a step.
    """
    net, gpu, run = model(DENSE), chip(GPU), _run()
    tokens = run["data_parallel"] * run["batch_per_replica"] * TOKENS
    step = pretrain_compute(n_active=net.n_active, pretrain_tokens=tokens) / (run["gpus"] * rate())
    spent = (
        eq.kv_flop_spent(n_active=net.n_active, kv_bytes_per_token=net.kv_bytes_per_token("bf16")),
        eq.activation_flop_spent(_dense()),
        2 * net.attention[0].head_dim / VALUE,
    )
    waits = (gpu.hbm_bytes / gpu.bandwidth, step, step)
    even = lambda flop: eq.keep_even(flop_spent=flop, hbm=gpu.hbm_bytes, flops=rate())
    kv, layers, scores = (Kept(flop, even(flop), wait) for flop, wait in zip(spent, waits))
    return kv, layers, scores


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
    [paper] = measurement("revnet_paper").records()
    own = gpu_lab.rows(GPU, "training", way="reversible")
    own_depths = [row["depth"] for row in own]
    deepest = times()[-1][2]  # of 164 layers, in PyTorch, as their memory
    again = sorted(
        row["full_recompute_s"] / row["selective_recompute_s"]
        for row in measurement("korthikanti_iteration_times").records()
    )
    return {
        "res_164": f"{memory['resnet-164']:,} MB",
        "rev_164": f"{memory['revnet-164']:,} MB",
        "own_least": f"{min(gpu_lab.slowdowns('reversible')):.2f}",
        "own_most": f"{max(gpu_lab.slowdowns('reversible')):.2f}",
        "own_rerun_least": f"{min(gpu_lab.slowdowns('checkpointed')):.2f}",
        "own_rerun_most": f"{max(gpu_lab.slowdowns('checkpointed')):.2f}",
        "own_shallow": str(min(own_depths)),
        "own_deep": str(max(own_depths)),
        "own_width": f"{own[0]['width']:,}",
        "res_error": f"{paper['ordinary_error']:.1%}",
        "rev_error": f"{paper['reversible_error']:.1%}",
        "paper_low": f"{paper['low_slowdown']:g}",
        "paper_high": f"{paper['high_slowdown']:g}",
        "memcnn_least": f"{min(deepest):.1f}",
        "memcnn_most": f"{max(deepest):.1f}",
        "again_least": f"{again[0]:.2f}",
        "again_most": f"{again[-1]:.2f}",
    }


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    return merge(spreading(), keeping(), activations(), node(), worth(), dividing(), measured())
