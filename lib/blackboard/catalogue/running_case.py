"""A case: one model served by one system in one number format at one context, by catalogue ids.

Prose, figures, charts and tests evaluate formulas on cases; RUNNING is the one that the course's lessons share.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import NamedTuple

from blackboard import catalogue


def plain(name: str) -> str:
    """A catalogue name without what qualifies it: "64 B200 at HGX rates" is 64 B200."""
    return re.sub(r" \(.*| at .*|, one .*", "", name)


class Case(NamedTuple):
    """Catalogue ids of a model and a system, a precision such as "fp8", and a context in tokens."""

    model: str
    system: str
    precision: str
    context: float

    def symbols(self, _: str | None = None) -> dict[str, float]:
        """Values by notation name, in base SI: the model's, the system's, and the context. UnknownId for an unknown id
        or rate.
        """
        return dict(_symbols(self))

    def attention_time(self, slower: float = 1) -> float:
        """Seconds of attention's compute for each token of context, `slower` times slower than the weights' format."""
        return slower * catalogue.model(self.model).attention_flop(1) / self.symbols()["flops"]

    def __str__(self) -> str:
        machine, model = plain(catalogue.system(self.system).name), plain(catalogue.model(self.model).name)
        return f"{model}, {self.precision.upper()}, on {machine}"

    def _repr_html_(self) -> str:
        model, machine = catalogue.model(self.model).name, catalogue.system(self.system).name
        lines = {
            "model": model,
            "system": machine,
            "format": self.precision.upper(),
            "context": f"{self.context:,.0f} tokens",
        }
        rows = "".join(f'<tr><th scope="row">{name}</th><td>{escape(told)}</td></tr>' for name, told in lines.items())
        return f'<table class="table"><tbody>{rows}</tbody></table>'

    @property
    def tokens(self) -> str:
        """The context in words."""
        return f"{self.context:,.0f} tokens of context"


@cache
def _symbols(case: Case) -> dict[str, float]:
    """The values of a case, looked up once: searches ask for them thousands of times."""
    model, system = catalogue.model(case.model), catalogue.system(case.system)
    return model.symbols(case.precision) | system.symbols(case.precision) | {"context": case.context}


RUNNING = Case("deepseek-v3", "gb200-nvl72", "fp8", 1_000)  # a context short enough for the step time to have a kink
LECTURE_RENT = 2.0  # USD per chip-hour, lecture 0:12:49
