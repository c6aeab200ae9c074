"""Collectives and expert exchanges: NCCL and DeepEP on one node, DeepEP over several, and all-reduces of long
messages.

One latency and one link efficiency for each operation and number of chips, from the shortest message and the two
longest; the messages between are tested. Efficiencies of long messages come from one data set and are tested on others.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

from blackboard.catalogue import chip, measurement, model
from blackboard.formula import Formula
from blackboard.lessons.racks import equations as racks
from blackboard.lessons.racks.results import COPY, line
from blackboard.prediction import equations as eq
from blackboard.prediction.least_squares import GB, US, Constant
from blackboard.prediction.rows import Row, measured_time
from blackboard.units import pretty

PROTOCOLS = (
    "NCCL sends short, middling and long messages in different ways; one latency and one rate do not know of them"
)
V1_PAIR = "V1's kernels reach half as much on two nodes as V2's do"

# --- one node, by message ---------------------------------------------------------------------------------------------


class Exchange(NamedTuple):
    """Messages of one operation among chips of one domain: bytes of each chip, and s. In `real` switches may add up;
    `ideal` is a ring.
    """

    data: str
    name: str
    chips: int
    rows: tuple[tuple[float, float], ...]
    ideal: Formula
    real: Formula

    @property
    def values(self) -> dict[str, float]:
        return {
            "chips": self.chips,
            "scale_up": chip(measurement(self.data).chip_id).scale_up.bytes_per_s,
            "start_time": 0.0,
        }

    @property
    def share(self) -> float:
        """Bytes that a chip sends for each byte of the message."""
        return self.real(self.values, message=1.0, scale_up=1.0)

    @property
    def starts(self) -> int:
        """Latencies that the operation waits for."""
        return round(self.real(self.values, message=1.0, start_time=1.0))

    @property
    def fit(self) -> dict[str, float]:
        """Start time, s, and link efficiency, by the racks lesson's line: from the shortest message and the two
        longest.
        """
        latency, efficiency = line(list(self.rows), self.share, self.values["scale_up"])
        return {"start_time": latency / self.starts, "link_efficiency": efficiency}

    @property
    def half(self) -> float:
        """The message that takes as long to travel as to start, by the fit, bytes a chip."""
        found = self.fit
        rate = found["link_efficiency"] * self.values["scale_up"]
        return self.starts * found["start_time"] * rate / self.share

    def fits(self, n: int) -> bool:
        """Whether the n-th row is one of those fitted."""
        return n in (0, len(self.rows) - 2, len(self.rows) - 1)


def groups(nccl: Sequence[dict] | None = None, deep: Sequence[dict] | None = None) -> list[Exchange]:
    """NCCL's four collectives on 2, 4 and 8 H200, and DeepEP's dispatch and combine on 8; of other records for the
    tests.
    """
    nccl, deep = nccl or measurement("h200_nccl").records(), deep or measurement("h200_deepep_ll_intranode").records()
    domain, copies = chip("h200").scale_up.domain_chips, model("deepseek-v3").moe.active
    found = [
        _collective(name, count, list(group), domain)
        for (name, count), group in groupby(nccl, lambda row: (row["operation"], row["gpus"]))
    ]
    for way, copy in COPY.items():
        rows = tuple((row["tokens_per_gpu"] * copies * copy, row[f"{way}_us"] * US) for row in deep)
        found.append(Exchange("h200_deepep_ll_intranode", way, domain, rows, racks.exchange_time, racks.exchange_time))
    return found


def _collective(name: str, count: int, records: list[dict], domain: int) -> Exchange:
    """NCCL adds up in the switches when all GPUs of the node take part in an all-reduce; else it sends in a ring."""
    ideal = eq.reduce_time if name == "all_reduce" else racks.exchange_time
    real = eq.switch_reduce if name == "all_reduce" and count == domain else ideal
    return Exchange(
        "h200_nccl",
        name.replace("_", "-"),
        count,
        tuple((row["message_bytes"], row["latency_us"] * US) for row in records),
        ideal,
        real,
    )


def within_node(found: Sequence[Exchange] | None = None) -> list[Row]:
    """Every message of every operation, as a bound and calibrated."""
    return [row for group in found or groups() for n in range(len(group.rows)) for row in _message(group, n)]


def _message(group: Exchange, n: int) -> list[Row]:
    message, measured = group.rows[n]
    values = group.values | {"message": message}
    return measured_time(
        group.data,
        f"{group.name}, {group.chips} GPUs, {pretty(message, 'byte')}",
        group.name,
        measured,
        group.ideal(values),
        group.real(values, calibration=group.fit),
        (group.ideal, group.real),
        group.fits(n),
        PROTOCOLS if group.data == "h200_nccl" else "",
        excuse=_switched(group, values, measured),
    )


def _switched(group: Exchange, values: dict[str, float], measured: float) -> str:
    """Why a ring's bound is beaten: the switches add up, and their own bound is not beaten. Empty where that is no
    reason.
    """
    least, ring = eq.switch_reduce(values), group.ideal(values)
    if group.real is not eq.switch_reduce or measured < least:
        return ""
    once = f"a chip sends {pretty(values['message'], 'byte')} once, in {pretty(least, 's')} at least"
    return f"the switches add up: {once}; a ring sends {ring / least:g} times as much"


# --- rates of long messages -------------------------------------------------------------------------------------------

CHIP_OF = {"SM90": "h100-sxm", "SM100": "b200", "A100": "a100-80gb", "H200": "h200"}


class Rate(NamedTuple):
    """Measured rates of DeepEP, byte/s a chip, which count what stays at home too; `ideal` is the most that the links
    allow.
    """

    data: str
    what: str
    link: str
    way: str
    measured: float
    ideal: float
    formula: Formula


def _rate(data: str, name: str, chip_id: str, nodes: int, gpus: int, way: str, measured: float) -> Rate:
    """What stays at home needs no link: one chip's share of a node, one node's share of several."""
    links, unit = chip(chip_id), 1e9
    values = {
        "chips": gpus,
        "racks": nodes,
        "scale_up": links.scale_up.bytes_per_s,
        "scale_out": links.scale_out.bytes_per_s,
    }
    formula = racks.exchange_time if nodes == 1 else racks.spread_time
    time = formula(values, message=unit, ep_bytes=unit, start_time=0.0)
    return Rate(
        data, f"{way}, {name}", "NVLink" if nodes == 1 else "InfiniBand", way, measured * GB, unit / time, formula
    )


def rates() -> list[Rate]:
    """DeepEP's dispatch and combine of long batches, V1 on H800 and V2 on Hopper and Blackwell."""
    first, second, found = measurement("deepep_v1_normal"), measurement("deepep_v2"), []
    domain = chip(first.chip_id).scale_up.domain_chips
    for way in ("dispatch", "combine"):
        for row in first.records():
            nodes = row["expert_parallel"] // domain
            found.append(
                _rate(
                    first.id,
                    f"{row['expert_parallel']} H800",
                    first.chip_id,
                    nodes,
                    domain,
                    way,
                    row[f"{way}_GB_per_s"],
                )
            )
        for row in second.records():
            name = (
                f"{row['nodes'] * row['gpus_per_node']} {row['architecture']}, {row['multiprocessors']} multiprocessors"
            )
            found.append(
                _rate(
                    second.id,
                    name,
                    CHIP_OF[row["architecture"]],
                    row["nodes"],
                    row["gpus_per_node"],
                    way,
                    row[f"{way}_GB_per_s"],
                )
            )
    return found


def in_fit(rate: Rate) -> bool:
    """The slice that gives an efficiency: dispatch of V1."""
    return rate.data == "deepep_v1_normal" and rate.way == "dispatch"


def rate_efficiency(link: str, found: Sequence[Rate] | None = None) -> float:
    """Median share of the links' rate that V1's dispatch reaches."""
    return statistics.median(
        rate.measured / rate.ideal for rate in found or rates() if in_fit(rate) and rate.link == link
    )


def exchange_rates(found: Sequence[Rate] | None = None) -> list[Row]:
    """DeepEP's rates: V1's dispatch is fitted; its combine and all of V2 are tested."""
    found = found or rates()
    share = {link: rate_efficiency(link, found) for link in ("NVLink", "InfiniBand")}
    return [
        row
        for each in found
        for row in measured_time(
            each.data,
            each.what,
            each.link,
            each.measured,
            each.ideal,
            share[each.link] * each.ideal,
            (each.formula,) * 2,
            in_fit(each),
            V1_PAIR if each.data == "deepep_v1_normal" and "16" in each.what else "",
            rate=True,
        )
    ]


def long_reduces(found: Sequence[Exchange] | None = None) -> list[Row]:
    """All-reduces of long messages elsewhere, by the efficiencies of NCCL on 4 H200 in a ring, and on 8 in the
    switches.
    """
    share = {
        group.real: group.fit["link_efficiency"]
        for group in found or groups()
        if group.name == "all-reduce" and group.chips > 2
    }
    told = [
        record for record in measurement("links_and_achievable").records() if record["what"].startswith("all-reduce")
    ]
    return [row for record in told for row in _long(record, share)]


def _long(record: dict, share: dict[Formula, float]) -> list[Row]:
    """A bus rate: what one ring over all chips would send, over the measured time."""
    switched, values = "switch" in record["what"], long_values(record)
    bound = eq.domains_reduce if values["racks"] > 1 else eq.reduce_time
    real = eq.switch_reduce if switched else bound
    bus = eq.reduce_time(values, chips=values["racks"] * values["chips"], scale_up=1.0)  # bytes that the ring sends
    measured, most = record["rate_GB_per_s"] * GB, bus / real(values)
    ours = bus / real(values, calibration={"link_efficiency": share[eq.switch_reduce if switched else eq.reduce_time]})
    excuse = f"the switches add up, which allows {pretty(most, 'byte/s')}" if switched and measured <= most else ""
    return measured_time(
        "links_and_achievable",
        f"{record['chips']}, {record['what']}",
        "all-reduce",
        measured,
        bus / bound(values),
        ours,
        (bound, real),
        False,
        excuse=excuse,
        rate=True,
    )


def long_values(record: dict) -> dict[str, float]:
    """The machine of a row by notation names, from "4 nodes of 8 H200"; any message that is long."""
    *counts, name = (word for word in record["chips"].split() if word not in ("nodes", "of"))
    nodes, gpus, links = (int(counts[0]) if len(counts) > 1 else 1), int(counts[-1]), chip(CHIP_OF[name])
    rate = {"scale_up": links.scale_up.bytes_per_s, "scale_out": links.scale_out.bytes_per_s}
    return rate | {"racks": nodes, "chips": gpus, "start_time": 0.0, "message": 1e9}


# --- together ---------------------------------------------------------------------------------------------------------


@cache
def rows() -> list[Row]:
    """All of them."""
    return within_node() + exchange_rates() + long_reduces()


@cache
def constants() -> dict[str, Constant]:
    """Start times and link efficiencies by operation and chips, efficiencies of long exchanges, and latencies as
    published.
    """
    found = {}
    for group in groups():
        description = f"{group.name} on {group.chips} GPUs: the shortest message and the two longest"
        for name, value in group.fit.items():
            unit = "s" if name == "start_time" else "1"
            found[f"{group.name}-{group.chips}.{name}"] = Constant(
                name, value, unit, group.data, description, group.real.name
            )
    for link in ("NVLink", "InfiniBand"):
        description = f"V1's dispatch over {link}, median"
        found[f"deepep-{link}.link_efficiency"] = Constant(
            "link_efficiency", rate_efficiency(link), "1", "deepep_v1_normal", description
        )
    for row in measurement("deepseek_isca25_link_latency").records():
        name, description = f"{row['link']}, {row['path']}", "published, of 64 bytes; fitted on nothing"
        found[f"{name}.link_latency"] = Constant(
            "link_latency", row["latency_us"] * US, "s", "deepseek_isca25_link_latency", description
        )
    return found
