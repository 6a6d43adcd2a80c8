"""An HP as an axis of a chart: places along it from 0 to 1, and ticks with the HP's real values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from flora.outcome.numbers import number
from flora.problem.parameters import Categorical, Integer, Parameter, Real
from flora.problem.space import Points, SearchSpace, Value

MOST_TICKS = 6
LONGEST_LABEL = 12
PANEL = 21  # letters that a panel has room for on paper
MOST_COLUMNS = 12  # different values that are few enough for marks to pile up
Ticks = list[tuple[float, str]]


@dataclass(frozen=True)
class Axis:
    """One HP. Numbers lie in [0, 1] on their own scale; values without an order have a share of it each."""

    parameter: Parameter
    first: int  # its first column in the unit cube

    @property
    def columns(self) -> slice:
        """Its columns in the unit cube."""
        return slice(self.first, self.first + self.parameter.width)

    @property
    def ordered(self) -> bool:
        """Whether there is something between two of its values."""
        return isinstance(self.parameter, Real)

    def places(self, values: Sequence[Value]) -> list[float]:
        """Return where the values lie; what is outside the range lies at its ends."""
        if isinstance(self.parameter, Categorical):
            count = len(self.parameter.values)
            return [(self.parameter.index(value) + 0.5) / count for value in values]
        return [float(unit) for unit in self.parameter.encode(values)[:, 0]]

    def apart(self, values: Sequence[Value]) -> list[float]:
        """Return where the values lie, each a little aside where many have one of few values: none hides another."""
        places = np.array(self.places(values))
        columns = np.unique(places)
        if len(columns) > MOST_COLUMNS or len(columns) == len(places):
            return [float(place) for place in places]
        gap = float(np.diff(columns).min()) if len(columns) > 1 else 0.2
        aside = (np.arange(len(places)) * 0.618034) % 1 - 0.5  # the golden ratio: neighbours lie far apart
        reach = 0.2 * gap  # a value at an end has all of its marks on the inner side, and still none of its neighbour's
        return [float(place) for place in np.clip(places, reach, 1 - reach) + 2 * reach * aside]

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

    @property
    def ticks(self) -> Ticks:
        """Places and labels of a few of its values."""
        values = _tick_values(self.parameter)
        return [(place, short(_label(value))) for place, value in zip(self.places(values), values, strict=True)]

    @property
    def few_ticks(self) -> Ticks:
        """The same for a panel, which is a third of a page wide: labels there do not run into each other."""
        ticks = self.ticks
        every = next((k for k in range(1, len(ticks)) if _apart(ticks[::k])), len(ticks))
        return ticks[::every]


def axes_of(space: SearchSpace) -> list[Axis]:
    """Return the space's HPs as axes, in their order."""
    firsts = np.cumsum([0, *(parameter.width for parameter in space.parameters)])
    return [Axis(parameter, int(first)) for parameter, first in zip(space.parameters, firsts, strict=False)]


def short(text: str, longest: int = LONGEST_LABEL) -> str:
    """Return text that fits on an axis.

    >>> short("a" * 30)
    'aaaaaaaaaaa…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _apart(ticks: Ticks) -> bool:
    return all(abs(b - a) * PANEL > (len(left) + len(right)) / 2 + 1 for (a, left), (b, right) in pairwise(ticks))


def round_ticks(low: float, high: float, most: int = 5) -> Ticks:
    """Return round numbers of a range, with labels, at their places in it from 0 to 1.

    >>> round_ticks(0.0, 0.5)
    [(0.0, '0'), (0.2, '0.1'), (0.4, '0.2'), (0.6, '0.3'), (0.8, '0.4'), (1.0, '0.5')]
    """
    values = round_numbers(low, high, most)
    return [(round((value - low) / (high - low), 6), _label(round(value, 10))) for value in values]


def round_numbers(low: float, high: float, most: int = 5) -> list[float]:
    """Return about so many round numbers of a range."""
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _label(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else number(value)


def _tick_values(parameter: Parameter) -> list[Value]:
    if isinstance(parameter, Categorical):
        every = math.ceil(len(parameter.values) / MOST_TICKS)
        return list(parameter.values[::every])
    if parameter.scale == "log":
        values = _powers(parameter.low, parameter.high)
    elif parameter.scale == "linear":
        values = round_numbers(parameter.low, parameter.high)
    else:
        values = []
    if len(values) < 2:
        values = [v for v in parameter.decode(np.linspace(0, 1, 5).reshape(-1, 1)) if not isinstance(v, str)]
    return [int(value) for value in values] if isinstance(parameter, Integer) else list(values)


def _powers(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / MOST_TICKS))
    return [float(10.0**power) for power in range(first, last + 1, every)]
