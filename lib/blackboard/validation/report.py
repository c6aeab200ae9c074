"""All published numbers that the course can be held against, at once: `validate()`, and the table that the page shows.

blackboard validate
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from html import escape
from typing import NamedTuple

from blackboard.catalogue import measurement
from blackboard.catalogue.datafile import UnknownId, near
from blackboard.page.data_table import breakable
from blackboard.page.summary import Page, table
from blackboard.page.tables import cited
from blackboard.prediction.rows import BOUND, CALIBRATED, CONSISTENCY, KINDS, LIMIT, Row, Sum, summed

SETS = {  # module -> what it holds against published numbers
    "validation.consistency": "arithmetic that sources must satisfy",
    "validation.serving": "serving",
    "prediction.kernels": "matrix products, attention, collectives and expert exchanges",
    "validation.training_runs": "training",
    "validation.memory_and_speculation": "memory, speculation, prefix caching",
}

WIDE = {  # consistency checks that close only within a wider limit, in words; others are told by data set and slice
    ("deepseek_isca25_training_compute", "Qwen2.5-72B"): "Qwen2.5 72B, training FLOP",
    ("deepseek_v3_mtp", "gain of a second token"): "DeepSeek-V3, gain of MTP",
    ("training_gpu_hours", "Llama 2 7B"): "Llama 2 7B, parameters",
    ("training_tokens", "Kimi K2"): "Kimi K2, parameters",
    ("megatron_2021_table1", "n total 1,700,000,000"): "Megatron 1.7B, parameters",
    ("chinchilla_table3", "n total 67,000,000,000"): "Chinchilla, compute of 67B",
    ("routed_scaling_law", "RL-R"): "routed law, c of RL-R",
    ("routed_scaling_law", "HASH"): "routed law, c of HASH",
    ("llammlein_training", "LLäMmlein 120M"): "LLäMmlein, tokens",
    ("moderngbert_plateaus", "ModernGBERT 134M"): "ModernGBERT, share read",
    ("vllm_kv_use", "vLLM, tokens"): "vLLM, cache in use",
    ("kimi_cache_size", "cache"): "Kimi, cache of a prompt",
    ("gb200_rack", "cables"): "GB200 rack, cables",
    ("cuda_graph_gains", "Mask R-CNN, the part in the graph"): "CUDA graph, Mask R-CNN",
    ("chen2023", "XSum, nucleus"): "Chen 2023, gain on XSum",
}


class Report(NamedTuple):
    """Rows of all kinds; `str` is the table as text."""

    rows: tuple[Row, ...]

    @property
    def sums(self) -> list[Sum]:
        """A line for each kind, data set and slice."""
        return summed(self.rows)

    @property
    def failures(self) -> list[Row]:
        """Consistency checks that do not close, and bounds that are beaten without a reason."""
        return [row for row in self.rows if not row.holds]

    @property
    def wide(self) -> list[Row]:
        """Consistency checks that close only within a limit of their own, for a reason, one by one by their error."""
        wide = (row for row in self.rows if row.kind == CONSISTENCY and abs(row.error) > LIMIT)
        return sorted(wide, key=lambda row: row.error)

    @property
    def exceptions(self) -> list[Row]:
        """Bounds that are beaten for a physical reason, one by one."""
        return [row for row in self.rows if row.excepted]

    def of(self, kind: str | None = None, data: str | None = None, part: str | None = None) -> Report:
        """Some of the rows. UnknownId where nothing is of that kind, data set or slice."""
        wanted = {"kind": kind, "data": data, "part": part}
        found = [row for row in self.rows if all(value in (None, getattr(row, name)) for name, value in wanted.items())]
        if not found:
            known = {value for row in self.rows for value in (row.kind, row.data, row.part)}
            asked = ", ".join(value for value in wanted.values() if value)
            raise UnknownId(f"no rows of {asked}; near: {', '.join(near(asked, known)) or 'none'}")
        return Report(tuple(found))

    def __repr__(self) -> str:
        heads = f"{'kind':<11}{'data set':<29}{'slice':<36}{'rows':>5}  error"
        lines = [f"{s.kind:<11}{s.data:<29}{_part(s):<36}{s.count:>5}  {describe_sum(s)}" for s in self.sums]
        beaten = [
            f"bound beaten, {row.data}, {row.what}: {row.slow:.2f} of the ideal time: {row.why}"
            for row in self.exceptions
        ]
        failed = [
            f"FAILS: {row.kind}, {row.data}, {row.what}: {row.published:.6g} against {row.computed:.6g} {row.unit}"
            for row in self.failures
        ]
        return "\n".join([heads, *lines, *beaten, *failed, f"{len(self.rows)} rows, {len(self.failures)} failures"])

    def _repr_html_(self) -> str:
        return self.table()

    def table(self) -> Page:
        """The lines as a table for a page, each data set with its source."""
        caption = " and ".join(dict.fromkeys(row.kind for row in self.rows)).capitalize()
        rows = [
            [
                code(s.data),
                escape(_part(s)),
                str(s.count),
                describe_sum(s),
                cited(measurement(s.data).sources, "catalogue.html"),
            ]
            for s in self.sums
        ]
        return table(caption, ("Data set", "Slice", "Rows", HEADS.get(self.rows[0].kind, "Error"), "Source"), rows)


HEADS = {CONSISTENCY: "Closes", BOUND: "Measured over ideal time", CALIBRATED: "Error of the predicted time"}


def code(id: str) -> str:
    """The id of a data set, which leads to what it is."""
    return f'<a href="measurements.html#measurement-{id}"><code>{breakable(id)}</code></a>'


def _part(s: Sum) -> str:
    return s.part + (" (fitted)" if s.fitted else "")


def share(value: float) -> str:
    """A share of the whole in percent."""
    if abs(value) < 5e-5:
        return "0%"
    return f"{100 * value:.{1 if abs(value) < 0.1 else 0}f}".replace("-", "−") + "%"


def describe_sum(s: Sum) -> str:
    """What a line says: how well it closes, how far above the bound it lies, or how far off it is."""
    if s.kind == CONSISTENCY:
        return f"{s.held} of {s.count}, " + (f"at most {share(s.worst)} off" if s.worst > 1e-9 else "exact")
    if s.kind == BOUND:
        return f"median {s.ideal_slow:.2f}, least {s.worst:.2f}" + (
            f", {s.count - s.clear} beaten" if s.clear < s.count else ""
        )
    ideal = f"; ideal {share(s.ideal_mape)}" if s.ideal_mape is not None else ""
    return f"{share(s.mape)}, bias {'+' * (s.bias > 0)}{share(s.bias)}{ideal}"


@cache
def whole() -> Report:
    """Every check, run once: what the page, its figures and its numbers are made from."""
    return validate()


def validate(kind: str | None = None, data: str | None = None, progress: Callable[[str], None] | None = None) -> Report:
    """Run every check, or those of one kind or data set. `progress` is told what is being run."""
    if kind is not None and kind not in KINDS:
        raise UnknownId(f"no kind {kind!r}; there are: {', '.join(KINDS)}")
    rows: list[Row] = []
    modules = {name: importlib.import_module(f"blackboard.{name}") for name in SETS}
    needed = [name for name in SETS if data is None or data in modules[name].DATA]
    if not needed:
        known = {id for part in modules.values() for id in part.DATA}
        raise UnknownId(f"no rows of {data}; near: {', '.join(near(str(data), known)) or 'none'}")
    for name in needed:
        if progress:
            progress(SETS[name])
        rows += modules[name].rows()
    report = Report(tuple(rows))
    return report.of(kind, data) if kind or data else report
