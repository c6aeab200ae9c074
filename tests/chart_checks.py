"""What an interactive chart must show: its curves, the formulas that they must be, and what moves them."""

from typing import Any, NamedTuple

from lessons import told

from blackboard import units


class ChartCheck(NamedTuple):
    """Curves by field of the chart, in `unit`, along the symbol `swept`; `moves` are settings of its controls to try
    in the browser.
    """

    unit: str
    swept: str
    curves: dict[str, Any]
    moves: tuple[dict[str, Any], ...] = ()

    @property
    def scale(self):
        """One of the unit, in base SI."""
        return 0.01 if self.unit == "percent" else units.factor(self.unit)


def chart_checks(lesson):
    """The charts of a lesson by the name of their function, as its tests/NAME_page.py lists them."""
    return told(lesson, "CHARTS")
