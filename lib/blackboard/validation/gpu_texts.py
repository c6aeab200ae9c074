"""The numbers that the prose of the page on one GPU prints, as text."""

from __future__ import annotations

from functools import cache

from blackboard.lessons.batching import own_machine
from blackboard.lessons.reversibility.equations import KEPT
from blackboard.units import percent, pretty, significant
from blackboard.validation import gpu_lab as lab

_ms = lambda seconds, digits=1: f"{1e3 * seconds:.{digits}f} ms"
_us = lambda seconds: f"{1e6 * seconds:.1f} µs"
_first = lambda part, way, **more: lab.rows(lab.FITTED, part, way=way, **more)[0]


def opening() -> dict[str, str]:
    """How many rows there are, and how well the other GPU's passes are predicted."""
    found = lab.lab(lab.FITTED)
    tested = [s for s in lab.slices() if s.chip == lab.UNSEEN]
    return {
        "rows_each": str(len(found.rows)),
        "software": found.software,
        "tested": str(sum(s.count for s in tested)),
        "unseen_error": percent(lab.unseen_error()),
        "bound_least": f"{min(s.least for s in tested):.1f}",
        "bound_most": f"{max(s.most for s in tested):.1f}",
    }


def one_product() -> dict[str, str]:
    """Where the time of a product doubles."""
    found = {chip_id: own_machine.shipped(chip_id) for chip_id in lab.CHIPS}
    return {
        f"{name}_{chip_id.partition('-')[0]}": f"{value:.0f}"
        for chip_id, m in found.items()
        for name, value in (("knee", m.knee), ("knee_predicted", m.predicted_knee))
    }


def launching() -> dict[str, str]:
    """One token of one sequence, launched one by one, captured, and fused."""
    eager, captured, fused = (_first("decoding", way) for way in ("eager", "captured", "fused"))
    smallest = {way: lab.only(lab.FITTED, "launches", way=way)["seconds"] for way in ("eager", "captured")}
    steps = lab.rows(lab.FITTED, "decoding", way="eager")
    each = sorted(row["seconds"] / row["kernels"] for row in steps)
    return {
        "eager_one": _ms(eager["seconds"], 0),
        "captured_one": _ms(captured["seconds"]),
        "fused_one": _ms(fused["seconds"]),
        "eager_gain": significant(eager["seconds"] / captured["seconds"], 2),
        "kernels_captured": f"{captured['kernels']:,}",
        "kernels_fused": f"{fused['kernels']:,}",
        "kernels_less": f"{captured['kernels'] - fused['kernels']:,}",
        "fused_saves": _ms(captured["seconds"] - fused["seconds"]),
        "kernel_less": _us((captured["seconds"] - fused["seconds"]) / (captured["kernels"] - fused["kernels"])),
        "gap_small": _us(smallest["captured"]),
        "launch_small": _us(smallest["eager"]),
        "launch_least": f"{1e6 * each[0]:.0f}",
        "launch_most": f"{1e6 * each[-1]:.0f} µs",
    }


def constants() -> dict[str, str]:
    """The three constants of the fit."""
    found = lab.constants()
    return {
        "memory_share": percent(found["memory_efficiency"]),
        "compute_share": percent(found["compute_efficiency"]),
        "gap": _us(found["gap_time"]),
        "guess_error": percent(next(s.error for s in lab.slices() if (s.chip, s.part) == (lab.FITTED, "verifying"))),
    }


def mixing() -> dict[str, str]:
    """One step of 64 decodes with a prompt of 512 tokens, and apart."""
    found = {(p.batch, p.prompt): p.seconds for p in lab.passes(lab.FITTED) if p.part == "mixing"}
    together, apart = found[64, 512], (found[64, 0], found[0, 512])
    return {
        "mixed_together": _ms(together),
        "mixed_decodes": _ms(apart[0]),
        "mixed_prompt": _ms(apart[1]),
        "mixed_saves": _ms(sum(apart) - together),
    }


def guessing() -> dict[str, str]:
    """What more tokens in a pass cost."""
    some = {(p.batch, p.tokens): p.seconds for p in lab.passes(lab.FITTED) if p.part == "verifying"}
    more = lambda batch, tokens: percent(some[batch, tokens] / some[batch, 1] - 1)
    return {"guess_one": more(1, 9), "guess_eight": more(8, 9), "guess_many": f"{some[128, 9] / some[128, 1]:.1f}"}


def routing() -> dict[str, str]:
    """What a layer of experts takes."""
    rows = lab.rows(lab.FITTED, "experts")
    by_tokens = {row["tokens"]: row for row in rows}
    return {
        "experts_bytes": pretty(lab.VALUE * rows[0]["expert_parameters"] * rows[0]["experts"], "byte"),
        "experts_half": f"{lab.touched(16, rows[0]):.0f}",
        "experts_counted": str(by_tokens[16]["touched"]),
        "experts_flat": _ms(by_tokens[256]["seconds"]),
        "experts_flat_end": _ms(by_tokens[2048]["seconds"]),
        "experts_share": percent(lab.expert_share(lab.FITTED)),
        "experts_share_other": percent(lab.expert_share(lab.UNSEEN)),
    }


def training() -> dict[str, str]:
    """What training keeps of a token and a layer, and what computing again costs."""
    row = lab.rows(lab.FITTED, "training", way="stored")[0]
    kept = lab.kept_per_layer(lab.FITTED, "stored")
    return {
        "kept": f"{kept:,.0f}",
        "kept_values": f"{KEPT - lab.DROPOUT_MASKS}",
        "kept_formula": f"{(KEPT - lab.DROPOUT_MASKS) * row['width']:,}",
        "kept_rest": f"{kept - (KEPT - lab.DROPOUT_MASKS) * row['width']:.0f}",
        "kept_paper": str(KEPT),
        "stream_kept": f"{lab.kept_per_layer(lab.FITTED, 'checkpointed'):,.0f}",
        "train_width": f"{row['width']:,}",
        "reversible_least": f"{min(lab.slowdown(c, 'reversible') for c in lab.CHIPS):.2f}",
        "reversible_most": f"{max(lab.slowdown(c, 'reversible') for c in lab.CHIPS):.2f}",
        "checkpointed_least": f"{min(lab.slowdown(c, 'checkpointed') for c in lab.CHIPS):.2f}",
        "checkpointed_most": f"{max(lab.slowdown(c, 'checkpointed') for c in lab.CHIPS):.2f}",
    }


def pieces() -> dict[str, str]:
    """What blocks cost when a cache is read, and how fast the host's memory is reached."""
    slow = {}
    for chip_id in lab.CHIPS:
        found = {row["block"]: row["seconds"] for row in lab.rows(chip_id, "blocks")}
        slow[chip_id] = max(found.values()) / found[max(found)] - 1
    link = lab.only(lab.FITTED, "host_link", way="to the GPU")
    return {
        "block_least": percent(min(slow.values())),
        "block_most": percent(max(slow.values())),
        "host_rate": pretty(link["bytes"] / link["seconds"], "byte/s"),
    }


@cache
def all() -> dict[str, str]:
    """Every value of the page's prose."""
    parts = (opening, one_product, launching, constants, mixing, guessing, routing, training, pieces)
    return {name: text for part in parts for name, text in part().items()}
