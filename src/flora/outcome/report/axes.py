"""An HP as an axis of a chart: places along it, and ticks with the HP's real values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from flora.outcome.report.markup import number
from flora.problem.parameters import Categorical, Integer, Parameter, Real
from flora.problem.space import Points, SearchSpace, Value

MOST_TICKS = 6
LONGEST_LABEL = 18


@dataclass(frozen=True)
class Axis:
    """One HP: numbers lie in [0, 1] on their own scale, values without an order at 0, 1, 2, ..."""

    parameter: Parameter
    first: int  # its first column in the unit cube

    @property
    def columns(self) -> slice:
        """Its columns in the unit cube."""
        return slice(self.first, self.first + self.parameter.width)

    def places(self, values: Sequence[Value]) -> list[float]:
        """Return where the values lie; what is outside the range lies at its ends."""
        if isinstance(self.parameter, Categorical):
            return [float(self.parameter.index(value)) for value in values]
        return [float(unit) for unit in self.parameter.encode(values)[:, 0]]

    def grid(self, size: int) -> list[Value]:
        """Return at most ``size`` different values from end to end; all values that have no order, up to 60."""
        if isinstance(self.parameter, Categorical):
            return list(self.parameter.values[:60])
        values = self.parameter.decode(np.linspace(0, 1, size).reshape(-1, 1))
        return list(dict.fromkeys(values))

    def through(self, point: Points, values: Sequence[Value]) -> Points:
        """Return copies of ``point`` with this HP at each of the values: (1, d) -> (n, d)."""
        points = np.repeat(point, len(values), axis=0)
        points[:, self.columns] = self.parameter.encode(values)
        return points

    def layout(self) -> dict[str, Any]:
        """Return the axis of a Plotly layout."""
        values = _tick_values(self.parameter)
        places = self.places(values)
        ends = (0.0, 1.0) if isinstance(self.parameter, Real) else (0.0, len(self.parameter.values) - 1.0)
        margin = 0.04 if isinstance(self.parameter, Real) else 0.5
        return {
            "title": {"text": plain(short(self.parameter.name, 40))},
            "tickmode": "array",
            "tickvals": places,
            "ticktext": [plain(short(number(value))) for value in values],
            "range": [ends[0] - margin, ends[1] + margin],
            "zeroline": False,
        }


def axes_of(space: SearchSpace) -> list[Axis]:
    """Return the space's HPs as axes, in their order."""
    firsts = np.cumsum([0, *(parameter.width for parameter in space.parameters)])
    return [Axis(parameter, int(first)) for parameter, first in zip(space.parameters, firsts, strict=False)]


def plain(text: str) -> str:
    """Return text that Plotly draws as it is: it would read tags, links and formulas in it."""
    return escape(text, quote=False).replace("$", "&#36;")


def short(text: str, longest: int = LONGEST_LABEL) -> str:
    """Return text that fits on an axis.

    >>> short("a" * 30)
    'aaaaaaaaaaaaaaaaa…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _tick_values(parameter: Parameter) -> list[Value]:
    if isinstance(parameter, Categorical):
        every = math.ceil(len(parameter.values) / MOST_TICKS)
        return list(parameter.values[::every])
    if parameter.scale == "log":
        values = _powers(parameter.low, parameter.high)
    elif parameter.scale == "linear":
        values = _round_numbers(parameter.low, parameter.high)
    else:
        values = []
    if len(values) < 2:
        values = [v for v in parameter.decode(np.linspace(0, 1, 5).reshape(-1, 1)) if not isinstance(v, str)]
    return [int(value) for value in values] if isinstance(parameter, Integer) else list(values)


def _powers(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / MOST_TICKS))
    return [float(10.0**power) for power in range(first, last + 1, every)]


def _round_numbers(low: float, high: float) -> list[float]:
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
