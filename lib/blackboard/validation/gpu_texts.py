"""The numbers that the prose of the page on one GPU prints, as text."""

from __future__ import annotations

from functools import cache

from blackboard.catalogue import chip, gpu_lab
from blackboard.lessons.batching import own_machine
from blackboard.lessons.reversibility.equations import KEPT
from blackboard.text import merge
from blackboard.units import percent, pretty
from blackboard.validation import gpu_lab as lab

SMALL = 64  # up to this batch the host sets the pace of launching on both GPUs

_ms = lambda seconds, digits=1: f"{1e3 * seconds:.{digits}f} ms"
_us = lambda seconds: f"{1e6 * seconds:.1f} µs"
_first = lambda part, way, **more: lab.rows(lab.FITTED, part, way=way, **more)[0]


def opening() -> dict[str, str]:
    """How many rows there are, and how well the other GPU's passes are predicted."""
    found, errors = gpu_lab.lab(lab.FITTED), lab.unseen_errors()
    tested = [s for s in lab.slices() if s.chip == lab.UNSEEN]
    return {
        "rows_each": str(len(found.rows)),
        "software": found.software,
        "unseen_error": percent(errors["predicted"]),
        "same_error": percent(errors["same time"]),
        "scaled_error": percent(errors["scaled by the bound"]),
        "bound_least": f"{min(s.least for s in tested):.1f}",
        "bound_most": f"{max(s.most for s in tested):.1f}",
        "worst_unseen": percent(abs(max((s.worst for s in tested), key=abs))),
        "worst_fitted": percent(abs(max((s.worst for s in lab.slices() if s.chip == lab.FITTED), key=abs))),
        "decode_bias": percent(next(s.bias for s in tested if s.part == "decoding")),
    }


def one_product() -> dict[str, str]:
    """Where the time of a product doubles."""
    found = {chip_id: own_machine.shipped(chip_id) for chip_id in lab.CHIPS}
    above = [m.flat / m.predict(1) - 1 for m in found.values()]
    return {"flat_least": percent(min(above))} | {
        f"{name}_{chip_id.partition('-')[0]}": f"{value:.0f}"
        for chip_id, m in found.items()
        for name, value in (("knee", m.knee), ("knee_predicted", m.predicted_knee))
    }


def launching() -> dict[str, str]:
    """One token of one sequence, launched one by one, captured, and fused."""
    eager, captured, fused = (_first("decoding", way) for way in ("eager", "captured", "fused"))
    smallest = {way: lab.only(lab.FITTED, "launches", way=way)["seconds"] for way in ("eager", "captured")}
    each, gains = [], []
    for chip_id in lab.CHIPS:
        for row in lab.rows(chip_id, "decoding", way="eager"):
            each.append(row["seconds"] / row["kernels"])
            graph = lab.only(chip_id, "decoding", way="captured", batch=row["batch"])
            gains += [row["seconds"] / graph["seconds"]] if row["batch"] <= SMALL else []
    pauses = [pause for chip_id in lab.CHIPS for pause in lab.pauses(chip_id).values()]
    return {
        "eager_one": _ms(eager["seconds"], 0),
        "captured_one": _ms(captured["seconds"]),
        "gain_least": f"{min(gains):.1f}",
        "gain_most": f"{max(gains):.1f}",
        "small": str(SMALL),
        "kernels_captured": f"{captured['kernels']:,}",
        "kernels_less": f"{captured['kernels'] - fused['kernels']:,}",
        "pause_least": f"{1e6 * min(pauses):.1f}",
        "pause_most": _us(max(pauses)),
        "pause_other": _us(lab.constants(lab.UNSEEN)["gap_time"]),
        "gap_small": _us(smallest["captured"]),
        "launch_small": _us(smallest["eager"]),
        "launch_least": f"{1e6 * min(each):.0f}",
        "launch_most": f"{1e6 * max(each):.0f} µs",
    }


def constants() -> dict[str, str]:
    """The pause and the two shares."""
    found, own = lab.constants(), lab.constants(lab.UNSEEN)
    caches = [share for chip_id in lab.CHIPS for share in lab.cache_share(chip_id)]
    return {
        "memory_share": percent(found["memory_efficiency"]),
        "compute_share": percent(found["compute_efficiency"]),
        "gap": _us(found["gap_time"]),
        "memory_share_own": percent(own["memory_efficiency"]),
        "compute_share_own": percent(own["compute_efficiency"]),
        "cache_least": percent(min(caches)),
        "cache_most": percent(max(caches)),
    }


def mixing() -> dict[str, str]:
    """What a prompt adds to a step of decodes, as a share of the time that it takes alone."""
    found = {(p.batch, p.prompt): p.seconds for p in lab.passes(lab.FITTED) if p.part == "mixing"}
    added = lambda batch, prompt: percent((found[batch, prompt] - found[batch, 0]) / found[0, prompt])
    return {
        "mixed_together": _ms(found[64, 512]),
        "mixed_decodes": _ms(found[64, 0]),
        "mixed_prompt": _ms(found[0, 512]),
        "added_64": added(64, 64),
        "added_512": added(64, 512),
        "added_2048": added(64, 2048),
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
    rate = lambda chip_id: lab.expert_share(chip_id) * chip(chip_id).bandwidth
    return {
        "experts_bytes": pretty(lab.VALUE * rows[0]["expert_parameters"] * rows[0]["experts"], "byte"),
        "experts_half": f"{lab.touched(16, rows[0]):.0f}",
        "experts_counted": str(by_tokens[16]["touched"]),
        "experts_flat": _ms(by_tokens[256]["seconds"]),
        "experts_flat_end": _ms(by_tokens[2048]["seconds"]),
        "experts_rate": pretty(rate(lab.FITTED), "byte/s"),
        "experts_rate_other": pretty(rate(lab.UNSEEN), "byte/s"),
        "experts_low": percent(1 - lab.expert_seconds(lab.FITTED, rows[0]["touched"]) / rows[0]["seconds"]),
        "experts_rise": percent(rows[-1]["seconds"] / by_tokens[2048]["seconds"] - 1),
    }


def training() -> dict[str, str]:
    """What training keeps of a token and a layer, and what computing again costs."""
    row = lab.rows(lab.FITTED, "training", way="stored")[0]
    kept = lab.kept_per_layer(lab.FITTED, "stored")
    span = lambda way: {f"{way}_least": min(gpu_lab.slowdowns(way)), f"{way}_most": max(gpu_lab.slowdowns(way))}
    return {
        "kept": f"{kept:,.0f}",
        "kept_values": f"{KEPT - lab.DROPOUT_MASKS}",
        "kept_formula": f"{(KEPT - lab.DROPOUT_MASKS) * row['width']:,}",
        "kept_rest": f"{kept - (KEPT - lab.DROPOUT_MASKS) * row['width']:.0f}",
        "kept_paper": str(KEPT),
        "kept_heads": str(row["width"] // lab.HEAD),
        "train_width": f"{row['width']:,}",
    } | {name: f"{value:.2f}" for way in ("reversible", "checkpointed") for name, value in span(way).items()}


def pieces() -> dict[str, str]:
    """What blocks cost when a cache is read, and how fast the host's memory is reached."""
    slow = {}
    for chip_id in lab.CHIPS:
        found = {row["block"]: row["seconds"] for row in lab.rows(chip_id, "blocks")}
        slow[chip_id] = {block: seconds / found[max(found)] - 1 for block, seconds in found.items()}
    link = lab.only(lab.FITTED, "host_link", way="to the GPU")
    return {
        "block_one": percent(slow[lab.FITTED][1]),
        "block_most": percent(max(max(each.values()) for each in slow.values())),
        "host_rate": pretty(link["bytes"] / link["seconds"], "byte/s"),
    }


@cache
def all() -> dict[str, str]:
    """Every value of the page's prose."""
    parts = (opening, one_product, launching, constants, mixing, guessing, routing, training, pieces)
    return merge(*(part() for part in parts))
