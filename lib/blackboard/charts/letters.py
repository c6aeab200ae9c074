"""Which letters of the formulas belong to a quantity that has a color (style.py)."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from blackboard import notation

# Names of symbols; whatever is paid in dollars is a cost, and all others are of no quantity.
_SYMBOLS = {
    "weights": "n_total bytes_per_param t_weights t_floor t_first bytes_touched chip_weights weight_bytes own_weights"
    " n_routed",
    "kv": "kv_bytes_per_token kv_value_bytes t_kv chip_kv kv_implied draft_kv entry_bytes cache_bytes sequence_cache",
    "memory": "bandwidth chip_bandwidth tier_bandwidth t_memory",
    "compute": "flops chip_flops t_compute",
    "network": "scale_up link_needed message ep_bytes half_message t_ep t_exchange t_comm t_links",
    "scale_out": "scale_out far_rate hop_time",
}
_QUANTITIES = {name: quantity for quantity, names in _SYMBOLS.items() for name in names.split()}


def quantity(name: str) -> str:
    """The quantity that a symbol is of; empty if it is of none."""
    return "cost" if "USD" in notation.lookup(name).unit else _QUANTITIES.get(name, "")


@cache
def tinted() -> dict[str, str]:
    """The quantity of each letter, as LaTeX, that nothing else in the course is printed as."""
    meant = defaultdict(set)
    for row in notation.table().values():
        meant[row.latex].add(quantity(row.name))
    return {latex: found.pop() for latex, found in meant.items() if len(found) == 1 and "" not in found}
