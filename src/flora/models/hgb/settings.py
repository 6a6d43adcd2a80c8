"""The HPs of gradient boosting: scikit-learn's names, defaults and limits."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self

from flora.errors import SpaceError
from flora.problem.space import Config, Value

NO_LIMIT = -1  # a max_depth; scikit-learn says None, which no config can hold
MOST_BINS = 255  # a bin's number is one byte, and one number is kept for missing values


@dataclass(frozen=True)
class Settings:
    """A config with its gaps filled by scikit-learn's defaults; every value is in its range."""

    max_iter: int = 100
    learning_rate: float = 0.1
    min_samples_leaf: int = 20
    l2_regularization: float = 0.0
    max_leaf_nodes: int = 31
    max_depth: int = NO_LIMIT
    max_features: float = 1.0
    max_bins: int = MOST_BINS
    class_balance: float = 0.0  # how far rare classes count more: see class_weights.py

    def __post_init__(self) -> None:
        for name, (allowed, rule) in _RULES.items():
            value = getattr(self, name)
            if not (math.isfinite(value) and allowed(value)):
                raise SpaceError(f"{name}: must be {rule}, got {value!r}")

    @classmethod
    def of(cls, config: Config) -> Self:
        """Return the settings that a config asks for."""
        known = {field.name: field.default for field in fields(cls)}
        for name in config:
            check_name(name)
        values: dict[str, Any] = {name: _cast(name, value, known[name]) for name, value in config.items()}
        return cls(**values)

    @property
    def deepest(self) -> int | None:
        """The largest depth of a leaf, as scikit-learn writes it."""
        return None if self.max_depth == NO_LIMIT else self.max_depth


Rule = tuple[Callable[[float], bool], str]
_RULES: dict[str, Rule] = {
    "max_iter": (lambda value: value >= 1, "at least 1"),
    "learning_rate": (lambda value: value > 0, "above 0"),
    "min_samples_leaf": (lambda value: value >= 1, "at least 1"),
    "l2_regularization": (lambda value: value >= 0, "at least 0"),
    "max_leaf_nodes": (lambda value: value >= 2, "at least 2"),
    "max_depth": (lambda value: value >= 1 or value == NO_LIMIT, f"at least 1, or {NO_LIMIT} for no limit"),
    "max_features": (lambda value: 0 < value <= 1, "a share above 0 and at most 1"),
    "class_balance": (lambda value: 0 <= value <= 1, "between 0 and 1"),
    "max_bins": (lambda value: 2 <= value <= MOST_BINS, f"between 2 and {MOST_BINS}"),
}


def check_name(name: str) -> None:
    """Raise unless the family has an HP of this name."""
    if name not in _RULES:
        raise SpaceError(f"{name}: the family hgb has no such HP, it has {', '.join(sorted(_RULES))}")


def default_of(name: str) -> Value:
    """Return an HP's default."""
    check_name(name)
    value: Value = getattr(Settings(), name)
    return value


def _cast(name: str, value: Value, default: object) -> Value:
    kind = type(default)
    if isinstance(value, str | bool) or (kind is int and value != int(value)):
        raise SpaceError(f"{name}: must be of the type of its default {default!r}, got {value!r}")
    return int(value) if kind is int else float(value)
