"""The one table of symbols: name in code, LaTeX, coherent unit, meaning, and what the lecture's board calls it.

Every equation of the course is written in these symbols and no others. Three kinds stand here: variables that a
caller gives, results that a formula gives, and constants and calibrations that have a value of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Mapping

import sympy


@dataclass(frozen=True)
class Symbol:
    """One row of the notation: `low` is the smallest value allowed ("positive" or "nonnegative")."""

    name: str
    latex: str
    unit: str
    says: str
    board: str = ""
    low: str = "positive"
    kind: str = "variable"  # variable, result, constant (part of the law), calibration (1 or 0 when ideal)
    value: float | None = None


class UndeclaredSymbol(KeyError):
    """A name that the notation does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


_ZERO = {"low": "nonnegative"}  # of what may also be nothing
_result = partial(Symbol, kind="result")
_constant = partial(Symbol, kind="constant")
_calibration = partial(Symbol, kind="calibration")

_ROWS = (
    # the workload
    Symbol("batch", "B", "sequence", "sequences in one forward pass, each getting one new token", "B"),
    Symbol("context", "L", "token/sequence", "tokens already in each sequence", "len_ctx", **_ZERO),
    # the model
    Symbol("n_active", r"N_\mathrm{act}", "parameter", "active parameters: those that one token uses", "N_active"),
    Symbol("n_total", r"N_\mathrm{tot}", "parameter", "parameters stored", "N_total"),
    Symbol("bytes_per_param", "b_w", "byte/parameter", "bytes that one stored weight takes", "not written: 1"),
    Symbol("kv_bytes_per_token", r"\kappa", "byte/token", "KV cache of one token, over all layers", "bytes/token", **_ZERO),
    # the machine
    Symbol("flops", "F", "FLOP/s", "dense peak rate of the replica at the weights' precision", "FLOPs (multiplies only: F/2)"),
    Symbol("bandwidth", "W", "byte/s", "memory bandwidth of the replica", "mem bw"),
    Symbol("hbm", "M", "byte", "memory (HBM) of the replica", "capacity"),
    Symbol("chips", "n", "chip", "chips in the replica", "GPUs"),
    Symbol("rent", "p", "USD/chip/s", "rent of one chip", "$2 per GPU-hour"),
    # one matrix product
    Symbol("rows", "m", "token", "rows of the activation matrix: tokens multiplied at once"),
    Symbol("weight_rows", "k", "1", "inner dimension of a matrix product"),
    Symbol("weight_columns", "q", "1", "columns of the weight matrix"),
    Symbol("bytes_per_value", r"b_a", "byte/token", "bytes of one activation value, per token"),
    # ratios that a price card quotes
    Symbol("price_ratio", r"\pi", "1", "price per token, fast over standard", "6×"),
    Symbol("speed_ratio", r"\sigma", "1", "tokens per second of one user, fast over standard", "2.5×"),
    # results
    _result("t_compute", r"t_\mathrm{compute}", "s", "time to multiply", "t_compute"),
    _result("t_weights", r"t_\mathrm{weights}", "s", "time to read the weights once"),
    _result("t_kv", r"t_\mathrm{KV}", "s", "time to read every sequence's KV cache once"),
    _result("t_memory", r"t_\mathrm{memory}", "s", "time to read all that a step reads", "t_mem"),
    _result("t_step", r"t_\mathrm{step}", "s", "time of one forward pass (one new token per sequence)", "t"),
    _result("t_floor", r"t_\mathrm{min}", "s", "latency floor: the step time as the batch goes to nothing"),
    _result("t_first", r"t_1", "s", "time to read what a batch of one needs"),
    _result("t_gemm", r"t_\mathrm{GEMM}", "s", "time of one matrix product"),
    _result("cost", r"c", "USD/token", "rent paid per generated token", "t/B"),
    _result("cost_min", r"c_\mathrm{min}", "USD/token", "cost per token that no batch can undercut"),
    _result("context_balanced", r"L^{*}", "token/sequence", "context at which reading KV takes as long as multiplying"),
    _result("mfu", r"\mathrm{MFU}", "1", "share of peak FLOPs used (model FLOPs utilisation)", "MFU"),
    _result("mfu_limit", r"\mathrm{MFU}_\infty", "1", "MFU as the batch grows without bound"),
    _result("intensity", r"C", "token", "hardware constant: tokens that must share a weight to pay for reading it", "≈ 300"),
    _result("batch_critical", r"B^{*}", "sequence", "batch at which multiplying takes as long as reading the weights", "300 × sparsity"),
    _result("gain", r"G", "1", "cost at batch 1 over cost at an unlimited batch", "1000×"),
    _result("batch_ratio", r"\rho", "1", "standard batch over fast-mode batch"),
    _result("discount_limit", r"d", "1", "cost at this batch over the cost floor: the most a slow mode can save"),
    _result("ceiling", r"R_\mathrm{max}", "token/s", "tokens per second when multiplying is all that takes time"),
    _result("drain", r"T_\mathrm{drain}", "s", "time to read the whole memory once", "20 ms"),
    _result("latency_worst", r"T_\mathrm{worst}", "s", "wait and ride of a token that just missed a departure", "40 ms"),
    _result("latency_mean", r"T_\mathrm{mean}", "s", "mean wait and ride over arrivals spread evenly", ""),
    _result("throughput", r"R", "token/s", "tokens per second of the replica", "B × 64"),
    _result("rate_user", r"r", "token/sequence/s", "tokens per second that one reader sees"),
    Symbol("interval", r"T", "s", "time between departures", "20 ms"),
    # constants of the law, with their units, and what turns the ideal into the real
    _constant("flop_per_param", "2", "FLOP/parameter/token", "one multiply and one add per parameter and token", value=2),
    _constant("new_token", "1", "token/sequence", "a decode step makes one token per sequence", value=1),
    _constant("one_entry", "1", "parameter", "an entry of a weight matrix is one parameter", value=1),
    _constant("one_sequence", "1", "sequence", "a batch of one", value=1),
    _calibration("compute_efficiency", r"\eta_c", "1", "share of peak FLOP/s reached", value=1),
    _calibration("memory_efficiency", r"\eta_m", "1", "share of peak bandwidth reached", value=1),
    _calibration("overhead", "t_0", "s", "time per step that no batch hides", value=0, **_ZERO),
)  # fmt: skip


@cache
def table() -> Mapping[str, Symbol]:
    """All rows by name; a name twice, a bad kind or a missing value is refused."""
    names = [row.name for row in _ROWS]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"declared twice in the notation: {sorted(twice)}"
    return MappingProxyType({row.name: row for row in _ROWS})


def lookup(name: str) -> Symbol:
    """The row of a name, or UndeclaredSymbol with the near names."""
    try:
        return table()[name]
    except KeyError:
        import difflib

        near = difflib.get_close_matches(str(name), table(), 4) or sorted(table())
        raise UndeclaredSymbol(f"no symbol {name!r} in the notation; did you mean: {', '.join(near)}?") from None


@cache
def symbol(name: str) -> sympy.Symbol:
    """The SymPy symbol of a declared name; all quantities of the course are real and not negative."""
    return sympy.Symbol(lookup(name).name, positive=True)


def symbols(names: str) -> tuple[sympy.Symbol, ...]:
    """Several at once: symbols("batch context")."""
    return tuple(map(symbol, names.split()))


@cache
def latex_names() -> Mapping[sympy.Symbol, str]:
    """What SymPy's LaTeX printer needs to print our symbols."""
    return {symbol(name): row.latex for name, row in table().items()}


def latex(expression: sympy.Basic) -> str:
    """LaTeX of an expression or equation in the course's letters."""
    tidy = expression.replace(lambda e: e.is_Add, sympy.together)
    return sympy.latex(tidy, symbol_names=latex_names(), mul_symbol=r" \, ")


def letter(name: str) -> str:
    """The board's letter as one types it: n_active gives N_act, kv_bytes_per_token gives kappa."""
    return lookup(name).latex.replace(r"\mathrm", "").translate(str.maketrans("", "", "\\{}^*"))
