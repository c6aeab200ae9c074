"""Formulas of what a task costs by a price card: the sum of its parts, and the tokens that a conversation sends."""

from __future__ import annotations

from typing import Any

from blackboard.formula import DERIVED, Formula
from blackboard.lessons.paging.equations import hit_rate, start_context, turn_growth, turns
from blackboard.lessons.pricing.equations import hold_time, input_price, output_price
from blackboard.notation import declare, result

# --- symbols ----------------------------------------------------------------------------------------------------------

fresh_tokens = declare(
    "fresh_tokens",
    r"L_\mathrm{fresh}",
    "token/sequence",
    "input tokens of a task that no cache holds and none shall",
    zero=True,
)
written_tokens = declare(
    "written_tokens",
    r"L_\mathrm{write}",
    "token/sequence",
    "input tokens of a task that are read and written into a cache",
    zero=True,
)
reread_tokens = declare(
    "reread_tokens", r"L_\mathrm{again}", "token/sequence", "input tokens of a task that a cache holds", zero=True
)
answer_tokens = declare("answer_tokens", r"L_\mathrm{out}", "token/sequence", "tokens that a task generates", zero=True)
stored_tokens = declare(
    "stored_tokens", r"L_\mathrm{store}", "token/sequence", "tokens whose storage in a cache a task pays for", zero=True
)
prompt_tokens = declare("prompt_tokens", r"L_\mathrm{in}", "token/sequence", "input tokens of one request")
hit_price = declare(
    "hit_price", r"p_\mathrm{hit}", "USD/token", "price of an input token that a cache holds", zero=True
)
write_price = declare(
    "write_price", r"p_\mathrm{write}", "USD/token", "price of an input token that is read and written into a cache"
)
storage_price = declare(
    "storage_price", r"p_\mathrm{store}", "USD/token/s", "price of keeping a token in a cache, by time", zero=True
)
batch_factor = declare(
    "batch_factor", r"f_\mathrm{batch}", "1", "price when the answer may wait over the standard price", most=1
)
result("task_cost", r"c_\mathrm{task}", "USD/sequence", "what a task costs by a price card")
result("task_part", r"c_\mathrm{part}", "USD/sequence", "one part of what a task costs")
result("sent_tokens", r"L_\mathrm{sent}", "token/sequence", "input tokens of all requests of a task")


# --- formulas ---------------------------------------------------------------------------------------------------------

one_request = ("one price for all requests of the task: none crosses a step of the card",)


def _part(name: str, expr: Any, description: str) -> Formula:
    return Formula(f"costs.{name}", "task_part", expr, "USD/sequence", description, one_request, register=False)


PAID = {
    "input": (fresh_tokens * input_price, "what is read and not kept"),
    "written": (written_tokens * write_price, "what is read and written into a cache"),
    "hits": (reread_tokens * hit_price, "what a cache holds already"),
    "output": (answer_tokens * output_price, "what is generated"),
}
PARTS = {name: _part(name, batch_factor * paid, description) for name, (paid, description) in PAID.items()} | {
    "storage": _part("storage", stored_tokens * storage_price * hold_time, "what is kept, for as long as it is kept")
}
task_cost = Formula(
    "costs.task_cost",
    "task_cost",
    batch_factor * sum(paid for paid, _ in PAID.values()) + PARTS["storage"].typed,
    "USD/sequence",
    "each token is paid for once in each request that it is part of, at the price of what is done with it",
    one_request,
    DERIVED,
    PARTS,
    register=False,
)
sent = Formula(
    "costs.sent",
    "sent_tokens",
    turns * start_context + turn_growth * turns * (turns - 1) / 2,
    "token/sequence",
    "every turn sends the whole conversation again, so input grows with the square of the turns",
    ("every turn adds as much",),
    DERIVED,
    register=False,
)
written = Formula(
    "costs.written",
    "written_tokens",
    start_context + turn_growth * (turns - 1),
    "token/sequence",
    "every token is new once: together, the context of the last turn",
    ("every turn adds as much", "nothing is thrown out between turns"),
    DERIVED,
    register=False,
)
request_cost = Formula(
    "costs.request_cost",
    "task_cost",
    batch_factor
    * (prompt_tokens * (hit_rate * hit_price + (1 - hit_rate) * write_price) + answer_tokens * output_price),
    "USD/sequence",
    "one request, of which a cache holds a share",
    ("all that misses is written",),
    DERIVED,
    register=False,
)
FORMULAS = (task_cost, sent, written, request_cost, *PARTS.values())


def lines() -> tuple[Any, ...]:
    """The bill's terms as they stand in its lines: two that a batch makes cheaper, two more, and storage."""
    paid = [term for term, _ in PAID.values()]
    return sum(paid[:2]), sum(paid[2:]), PARTS["storage"].typed
