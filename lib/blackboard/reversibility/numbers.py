"""Every number that the lesson's prose prints, computed. The page glues them in; the tests hold them to the oracles."""

from __future__ import annotations

from functools import cache
from typing import Any

from blackboard.case import RUNNING
from blackboard.catalogue import measurement, model, system
from blackboard.formula import take
from blackboard.reversibility import equations as eq
from blackboard.reversibility.equations import KEPT
from blackboard.units import pretty, significant

DENSE = "llama-3.1-405b"  # whose layers are alike
TOKENS = 8_192  # of its training sequences
DEEP, SHALLOW, SAMPLES = 64, 8, 64  # layers of the networks that are measured, and digits in a batch
PRECISIONS = {"half": "float16", "single": "float32", "double": "float64"}


def _network() -> Any:
    """The networks and ciphers, imported when they are run: they need NumPy, and problems do not."""
    from blackboard.reversibility import network, simulation

    return network, simulation


# --- what is run -------------------------------------------------------------------------------------------------------


@cache
def step(way: str, depth: int):
    """One training step of a network of this depth, its gradients come by in this way."""
    network, _ = _network()
    data = network.digits()
    net = network.Network.random("reversible", depth)
    return network.step(net, data.train[:SAMPLES], data.train_labels[:SAMPLES], way, max(1, round(depth**0.5)))


# --- the prose ---------------------------------------------------------------------------------------------------------


def spreading() -> dict[str, str]:
    """Avalanche, exactly and counted, and the attacks."""
    _, simulation = _network()
    counted = simulation.avalanche(32, simulation.ROUNDS)
    net, cipher = simulation.attacked("residual"), simulation.attacked("Feistel")
    share = lambda value: f"{value:.0%}"
    return {
        "mixed": f"{eq.half_mixed(half_bits=32):.1%}", "counted_1": f"{counted['x'][1]:.1%}", "counted_2": f"{counted['x'][2]:.1%}", "counted_y": f"{counted['y'][2]:.1%}", "counted_y3": f"{counted['y'][3]:.1%}",
        "net_correlation": f"{net.told.correlation:.3f}", "cipher_correlation": f"{cipher.told.correlation:.2f}", "net_told": share(net.apart), "cipher_told": share(cipher.apart),
        "net_matched": share(net.broken.matched), "net_found": share(net.broken.found), "net_queries": significant(net.broken.queries, 2), "cipher_matched": share(cipher.broken.matched),
        "attack_rounds": str(simulation.ROUNDS),
    }  # fmt: skip


def keeping() -> dict[str, str]:
    """Training with activations worked out anew, measured."""
    network, _ = _network()
    kept = lambda way, depth: pretty(step(way, depth).kept, "byte", 2)
    work = lambda way: sum(step(way, DEEP).macs.values()) / sum(step("stored", DEEP).macs.values())
    anew, stored = network.trained("reversible"), network.trained("stored")
    apart = max(abs(a / b - 1) for a, b in zip(anew.losses, stored.losses))
    data, net = network.digits(), network.Network.random("reversible", DEEP)
    errors = {name: network.round_trip(net, data.train[:SAMPLES], kind) for name, kind in PRECISIONS.items()}
    return {
        "steps": f"{len(anew.losses):,}",
        "loss_apart": f"{apart:.0e}", "digits": f"{len(data.train_labels):,}", "layers": str(len(anew.network.layers)),
        "kept_stored_shallow": kept("stored", SHALLOW), **{f"kept_{way}_deep": kept(way, DEEP) for way in network.WAYS},
        "work": f"{work('reversible'):.2f}", "shallow": str(SHALLOW), "deep": str(DEEP),
        **{f"error_{name}": f"{found[DEEP]:.0e}" for name, found in errors.items()},
    }  # fmt: skip


def worth() -> dict[str, str]:
    """FLOPs per byte kept, and for how long a byte is worth its place on the running rack."""
    net, rack = model(DENSE), system(RUNNING.system)
    known = {"n_active": net.n_active, "layers": net.layers, "width": net.d_model, "kept_per_value": KEPT}
    kept = take(eq.layer_kept, known, rows=TOKENS)
    spent = {"act": take(eq.activation_flop_spent, known), "kv": RUNNING(eq.kv_flop_spent), "kv_405": eq.kv_flop_spent(n_active=net.n_active, kv_bytes_per_token=net.kv_bytes_per_token())}
    lasts = lambda name, precision: pretty(eq.keep_even(flop_spent=spent[name], hbm=rack.hbm_bytes, flops=rack.flops(precision)), "s", 2)
    [deepseek] = measurement("deepseek_isca25_step").records()
    streams = 2 * TOKENS * net.d_model  # one stream, in 16 bits
    return {
        "act_layer": pretty(kept, "byte", 2), "act_all": pretty(eq.stored(depth=net.layers, layer_bytes=kept), "byte", 3), "act_tokens": f"{TOKENS:,}",
        "act_reversible": pretty(eq.reversible(stream_bytes=streams, layer_bytes=kept), "byte", 2),
        "act_checkpointed": pretty(eq.checkpointed(depth=net.layers, segment=1, stream_bytes=streams, layer_bytes=kept), "byte", 2),
        "act_hbm": pretty(rack.chip.hbm_bytes, "byte"), "spent_act": significant(spent["act"], 2), "spent_kv": f"{spent['kv'] / 1e6:.1f} million",
        "spent_more": significant(spent["kv"] / spent["act"], 2), "lasts_act": lasts("act", "bf16"), "lasts_kv": lasts("kv", "fp8"), "forward_s": f"{deepseek['forward_s']:g}", "backward_s": f"{deepseek['backward_s']:g}",
    }  # fmt: skip


def _seconds(printed: str) -> int:
    """A duration as the table prints it, in its smaller unit."""
    whole, part = printed.split(":")
    return 60 * int(whole) + int(part)


def measured() -> dict[str, str]:
    """What others measured: memory and time of reversible networks, and of working all activations anew."""
    memory = {row["model"]: row["memory_MB"] for row in measurement("memcnn_revnet").records()}
    times = {(row["framework"], row["model"]): _seconds(row["cifar10_duration"]) for row in measurement("memcnn_revnet_training").records()}
    slower = lambda framework: significant(times[framework, "revnet-164"] / times[framework, "resnet-164"], 3)
    [paper] = measurement("revnet_paper").records()
    again = sorted(row["full_recompute_s"] / row["selective_recompute_s"] for row in measurement("korthikanti_iteration_times").records())
    return {
        "res_164": str(memory["resnet-164"]), "rev_164": str(memory["revnet-164"]), "rev_38": str(memory["revnet-38"]),
        "less": significant(memory["resnet-164"] / memory["revnet-164"], 2), "slower_torch": slower("PyTorch"), "slower_tf": slower("TensorFlow"),
        "paper_extra": f"{paper['extra_compute']:.0%}", "paper_low": f"{paper['low_slowdown']:g}", "paper_high": f"{paper['high_slowdown']:g}",
        "paper_error": f"{paper['ordinary_error']:.1%}", "paper_error_rev": f"{paper['reversible_error']:.1%}", "again_least": f"{again[0]:.2f}", "again_most": f"{again[-1]:.2f}",
        "again_said": f"{eq.work_ratio(recomputed=1):.2f}",
    }  # fmt: skip


def all() -> dict[str, str]:
    """All of them, by the name that the prose uses."""
    return spreading() | keeping() | worth() | measured()
