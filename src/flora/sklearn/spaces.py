"""A search space as scikit-learn's users write one: lists, and scipy's distributions, beside FLoRA's own formats.

A list is a choice without an order. The estimator's own value joins it, since the default is measured at any rate; a
list of one value fixes it. Values that are no text, number or bool (None, a tuple, an estimator) have names inside
FLoRA, and only there.

An own value may be none of a range's numbers (None, "scale"; 1.0, where the range has whole numbers). It is the
default all the same, and to the search a number stands for it, which is drawn for nothing else: the first above the
range, since None mostly sets no limit; for a text and a range of real numbers, that in the range's middle.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flora.core.documents import parse
from flora.errors import SpaceError
from flora.problem.parameters import Integer, Real
from flora.problem.space import Config, SearchSpace
from flora.problem.space_formats import parameters_of

TAIL = 0.01  # of an unbounded distribution: the range is what lies between its ends
WIDE = 100.0  # as a ratio: positive ranges that are wider are searched on a log scale


@dataclass(frozen=True)
class UserSpace:
    """A user's space, as FLoRA reads it, and the way back from its configs to an estimator's parameters."""

    document: Any
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # names of values that JSON does not have
    fixed: Mapping[str, Any] = field(default_factory=dict)
    stand_ins: Mapping[str, tuple[float, Any]] = field(default_factory=dict)  # a range's number for what is none

    def params(self, config: Config) -> dict[str, Any]:
        """Return the estimator's parameters."""
        found = {name: self.choices[name][str(v)] if name in self.choices else v for name, v in config.items()}
        own = {name: value for name, (number, value) in self.stand_ins.items() if config.get(name) == number}
        return {**found, **own, **self.fixed}

    def value(self, name: str, own: Any) -> Any:
        """Return the estimator's own value of a parameter as a config has it."""
        if name not in self.choices:
            return own
        return next(label for label, value in self.choices[name].items() if _same(value, own))


def user_space(space: Any, own: Mapping[str, Any]) -> UserSpace:
    """Return a space in any format; ``own`` are the estimator's parameters as they are."""
    if isinstance(space, SearchSpace):
        return UserSpace(space.to_json())
    if isinstance(space, str):
        return UserSpace(_parsed(space))
    if isinstance(space, list | tuple):
        raise SpaceError(f"the space is one mapping of names to ranges, got a list of {len(space)}")
    if not isinstance(space, Mapping):
        return UserSpace(space)
    document, choices, fixed = {}, {}, {}
    for name, entry in space.items():
        values = _listed(entry)
        if values is not None and not values:
            raise SpaceError(f"{name}: need at least one value, got an empty list")
        if values is not None and len(values) == 1:
            fixed[name] = values[0]
        elif values is not None:
            every = values if any(_same(value, own.get(name)) for value in values) else [*values, own.get(name)]
            document[name], named = _choice(every, own.get(name))
            choices.update({name: named} if named else {})
        else:
            document[name] = _range_of(name, entry) if _is_distribution(entry) else entry
    if fixed and not document:
        raise SpaceError(f"the space has one value only of {', '.join(fixed)}: there is nothing to tune")
    ranges = _without_default(document, own)
    stand_ins = {name: (_stand_in(parameter, own[name]), own[name]) for name, parameter in ranges.items()}
    named = {name: {**ranges[name].to_json(), "default": number} for name, (number, _) in stand_ins.items()}
    return UserSpace({**document, **named}, choices, fixed, stand_ins)


def plain(value: Any) -> Any:
    """Return one of NumPy's numbers as Python's, and all else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _parsed(text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise SpaceError(f"a search space is a mapping or JSON of one ({error}), got {text!r:.80}") from error


def _listed(entry: Any) -> list[Any] | None:
    """Return the values of a list, an array or a column; None where the entry is none of these."""
    if isinstance(entry, str | bytes | Mapping) or not (hasattr(entry, "__len__") and hasattr(entry, "__iter__")):
        return None
    return [plain(value) for value in entry]


def _choice(values: list[Any], own: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the paper's entry of a choice, and the names of its values where JSON does not have them."""
    if all(
        isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)) for value in values
    ):
        return {"type": "cat", "values": values, "default": plain(own)}, {}
    named: dict[str, Any] = {}
    for value in values:
        label = str(value)
        named[label if label not in named else f"{label} ({len(named)})"] = value
    default = next(label for label, value in named.items() if _same(value, own))
    return {"type": "cat", "values": list(named), "default": default}, named


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, bool | np.bool_) != isinstance(other, bool | np.bool_):
        return False
    try:
        return bool(np.all(one == other)) and type(one == other) is not type(NotImplemented)
    except (TypeError, ValueError):
        return False


def _without_default(document: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Real]:
    """Return the ranges that state no default, and whose estimator has none of their numbers."""
    parameters, stated = parameters_of(document)
    ranges = [parameter for parameter in parameters if isinstance(parameter, Real) and parameter.name not in stated]
    return {each.name: each for each in ranges if each.name in own and not _is_number_of(each, own[each.name])}


def _is_number_of(parameter: Real, value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return False
    return not isinstance(parameter, Integer) or isinstance(value, int | np.integer)  # 1.0 is all of it, where 1 is one


def _stand_in(parameter: Real, own: Any) -> float:
    """Return the number of a range that stands for what is none of its numbers."""
    if isinstance(parameter, Integer):
        return int(parameter.high) + 1
    if own is None:
        return math.nextafter(parameter.high, math.inf)
    return float(parameter.decode(np.array([[0.5]]))[0])


def _is_distribution(entry: Any) -> bool:
    return not type(entry).__module__.startswith("optuna.") and any(hasattr(entry, name) for name in ("rvs", "sample"))


def _range_of(name: str, entry: Any) -> dict[str, Any]:
    """Return the range of one of scipy's distributions: its support, or what lies between its tails."""
    quantile = getattr(entry, "ppf", None) or getattr(entry, "icdf", None)
    if quantile is None:
        raise SpaceError(f"{name}: a distribution needs ppf, as scipy's have, got {entry!r:.80}")
    low, high = (
        float(end) if math.isfinite(end) else float(quantile(tail))
        for end, tail in zip(entry.support(), (TAIL, 1 - TAIL), strict=True)
    )
    whole = hasattr(getattr(entry, "dist", entry), "pmf")
    kind = str(getattr(getattr(entry, "dist", None), "name", ""))
    log = kind in ("loguniform", "reciprocal") or (kind not in ("uniform", "randint") and 0 < low * WIDE < high)
    scale = "log" if log and low > 0 else "linear"
    return {
        "type": "int" if whole else "real",
        "space": scale,
        "range": [int(low), int(high)] if whole else [low, high],
    }
