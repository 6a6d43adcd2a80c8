"""One hyper-parameter (HP): its values, and its stretch of the unit cube."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flora.core.rules import is_finite
from flora.errors import SpaceError

Value = float | int | str | bool
Points = NDArray[np.float64]  # (n, d), inside the unit cube
Warp = Callable[[Any], Any]


def _bilog(x: Any) -> Any:
    return np.sign(x) * np.log1p(np.abs(x))


def _unbilog(x: Any) -> Any:
    return np.sign(x) * np.expm1(np.abs(x))


def _unlogit(x: Any) -> Any:
    return np.exp(-np.logaddexp(0.0, -x))


MOST_VALUES = 1000  # each is an axis of the cube
MOST_INTEGER = 10**12  # up to here the unit interval tells neighbours apart, on every scale
SCALES: dict[str, tuple[Warp, Warp]] = {  # each with its inverse
    "linear": (lambda x: x, lambda x: x),
    "log": (np.log, np.exp),
    "logit": (lambda x: np.log(x) - np.log1p(-x), _unlogit),
    "bilog": (_bilog, _unbilog),
}


@dataclass(frozen=True)
class Real:
    """A real HP between ``low`` and ``high``, both included; ``step`` makes it a grid from ``low``, and ``high``."""

    name: str
    low: float
    high: float
    scale: str = "linear"
    step: float | None = None
    width = 1

    def __post_init__(self) -> None:
        _check_range(self.name, self.low, self.high, self.scale, self.step)

    def encode(self, values: Sequence[Value]) -> Points:
        """Map values to the unit interval: (n,) -> (n, 1). What lies outside the range goes to its ends."""
        warp, _ = SCALES[self.scale]
        low, high = float(self.low), float(self.high)
        array = np.clip(np.asarray(values, dtype=float), low, high)
        units = np.clip((warp(array) - warp(low)) / (warp(high) - warp(low)), 0.0, 1.0)
        units[array == low], units[array == high] = 0.0, 1.0  # exact at the ends
        return np.asarray(units.reshape(-1, 1))

    def decode(self, units: Points) -> list[Value]:
        """Map the unit interval back to values: (n, 1) -> n values."""
        return [float(value) for value in self._unwarp(units)]

    def _unwarp(self, units: Points) -> NDArray[np.float64]:
        warp, unwarp = SCALES[self.scale]
        low, high = float(self.low), float(self.high)
        unit = np.clip(units[:, 0], 0.0, 1.0)
        with np.errstate(over="ignore"):  # beyond the largest float is beyond the end
            values = unwarp(warp(low) + unit * (warp(high) - warp(low)))
        if self.step is not None:
            values = low + np.round((values - low) / self.step) * self.step
        values = np.clip(values, low, high)  # rounding may step over an end
        values[unit == 0], values[unit == 1] = low, high
        return np.asarray(values, dtype=float)

    def contains(self, value: Any) -> bool:
        """Whether ``value`` is a number of the range, and of the grid if there is one."""
        if not is_finite(value) or not self.low <= value <= self.high:
            return False
        return self.step is None or value == self.high or _is_whole((value - self.low) / self.step)

    def surely_contains(self, values: Sequence[Value], default: Value | None) -> bool:
        """Whether a look at all values at once tells that each is in the range or the default."""
        if self.step is not None or not {int, float}.issuperset(map(type, values)):
            return False
        numbers: list[Any] = [value for value in values if value != default]
        return not numbers or (
            self.low <= min(numbers) and max(numbers) <= self.high and all(map(math.isfinite, numbers))
        )

    def to_json(self) -> dict[str, Any]:
        """Return the paper's dictionary of this HP."""
        document = {"type": "real", "space": self.scale, "range": [self.low, self.high]}
        return document if self.step is None else {**document, "step": self.step}


@dataclass(frozen=True)
class Integer(Real):
    """An integer HP between ``low`` and ``high``, both included."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for number in (self.low, self.high, self.step or 0):
            if number != int(number) or abs(number) > MOST_INTEGER:
                raise SpaceError(
                    f"{self.name}: an int range needs whole numbers up to {MOST_INTEGER:.0e}, got {number!r:.40}"
                )

    def decode(self, units: Points) -> list[Value]:
        """Map the unit interval back to integers: (n, 1) -> n values."""
        return [int(value) for value in np.round(self._unwarp(units))]

    def contains(self, value: Any) -> bool:
        """Whether ``value`` is a whole number of the range."""
        return super().contains(value) and value == int(value)

    def surely_contains(self, values: Sequence[Value], default: Value | None) -> bool:
        """Whether a look at all values at once tells that each is a whole number of the range, or the default."""
        return {int}.issuperset(map(type, values)) and super().surely_contains(values, default)

    def to_json(self) -> dict[str, Any]:
        """Return the paper's dictionary of this HP."""
        step = {} if self.step is None else {"step": int(self.step)}
        return {**super().to_json(), "type": "int", "range": [int(self.low), int(self.high)], **step}


@dataclass(frozen=True)
class Categorical:
    """One of a few values without an order; one-hot in the cube."""

    name: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.values) <= MOST_VALUES:
            raise SpaceError(f"{self.name}: need 2 to {MOST_VALUES} values, got {_short(list(self.values))}")
        for value in self.values:
            if not isinstance(value, str) and not isinstance(value, bool) and not is_finite(value):
                raise SpaceError(f"{self.name}: a value is text, a finite number or a bool, got {_short(value)}")
        if len({identity(value) for value in self.values}) < len(self.values):
            raise SpaceError(f"{self.name}: values must differ, got {_short(list(self.values))}")

    @property
    def width(self) -> int:
        """Return the number of unit-cube axes."""
        return len(self.values)

    def encode(self, values: Sequence[Value]) -> Points:
        """Map values to one-hot rows: (n,) -> (n, width)."""
        index = [self.index(value) for value in values]
        return np.eye(self.width)[index].reshape(-1, self.width)

    def decode(self, units: Points) -> list[Value]:
        """Map rows to the value of their largest entry: (n, width) -> n values."""
        return [self.values[k] for k in np.argmax(units, axis=1)]

    def contains(self, value: Any) -> bool:
        """Whether ``value`` is one of the values; 1 and 1.0 are the same, 1 and True are not."""
        return isinstance(value, str | int | float | np.generic) and identity(value) in self._places

    def surely_contains(self, values: Sequence[Value], default: Value | None) -> bool:  # noqa: ARG002  (it is a value)
        """Whether each is one of the values."""
        return all(map(self.contains, values))

    def to_json(self) -> dict[str, Any]:
        """Return the paper's dictionary of this HP."""
        return {"type": "cat", "values": list(self.values)}

    def index(self, value: Value) -> int:
        """Return the place of ``value`` among the values."""
        if not self.contains(value):
            raise SpaceError(f"{self.name}: must be one of {_short(list(self.values))}, got {_short(value)}")
        return self._places[identity(value)]

    @cached_property
    def _places(self) -> dict[tuple[bool, Any], int]:
        return {identity(value): place for place, value in enumerate(self.values)}


@dataclass(frozen=True)
class Boolean(Categorical):
    """True or false; one axis of the cube."""

    values: tuple[Value, ...] = (False, True)
    width = 1

    def encode(self, values: Sequence[Value]) -> Points:
        """Map values to 0 and 1: (n,) -> (n, 1)."""
        return np.array([[float(self.index(value))] for value in values]).reshape(-1, 1)

    def decode(self, units: Points) -> list[Value]:
        """Map the unit interval to false and true: (n, 1) -> n values."""
        return [bool(unit >= 0.5) for unit in units[:, 0]]

    def to_json(self) -> dict[str, Any]:
        """Return the paper's dictionary of this HP."""
        return {"type": "bool"}


Parameter = Real | Integer | Categorical | Boolean


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6


def identity(value: Any) -> tuple[bool, Any]:
    """Return what tells values apart: in Python True equals 1."""
    return isinstance(value, bool | np.bool_), value


def _check_range(name: str, low: float, high: float, scale: str, step: float | None) -> None:
    if not isinstance(scale, str) or scale not in SCALES:
        raise SpaceError(f"{name}: the scale must be one of {list(SCALES)}, got {_short(scale)}")
    for bound in (low, high):
        if not is_finite(bound):
            raise SpaceError(f"{name}: a bound must be a finite number, got {_short(bound)}")
    if not low < high:
        raise SpaceError(f"{name}: need low < high, got {low} and {high}")
    if scale == "log" and low <= 0:
        raise SpaceError(f"{name}: a log range needs low > 0, got {low}")
    if scale == "logit" and not (low > 0 and high < 1):
        raise SpaceError(f"{name}: a logit range needs 0 < low and high < 1, got {low} and {high}")
    warp, _ = SCALES[scale]
    if not 0 < warp(float(high)) - warp(float(low)) < math.inf:
        raise SpaceError(f"{name}: {low} and {high} are too close or too far apart for floating-point numbers")
    if step is not None and not (is_finite(step) and 0 < step <= high - low and scale == "linear"):
        raise SpaceError(f"{name}: a step needs a linear range and 0 < step <= high - low, got {_short(step)}")


def default_value(parameter: Parameter, value: Any) -> Value:
    """Return ``value`` as the HP's default: a number, inside the range or not, or one of the values."""
    if isinstance(parameter, Categorical):
        return parameter.values[parameter.index(value)]
    if not is_finite(value):
        raise SpaceError(f"{parameter.name}: the default must be a finite number, got {_short(value)}")
    if not isinstance(parameter, Integer):
        return float(value)
    if value != int(value):
        raise SpaceError(f"{parameter.name}: the default of an int must be whole, got {value}")
    return int(value)


def _short(value: Any) -> str:
    return f"{value!r:.80}"
