"""What may be tuned.

Outside, a config is a mapping of names to values; inside, it is a point of the unit cube, with categories
one-hot. Only this file and the HPs in ``parameters.py`` know both.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from flora.core.codec import has_form
from flora.errors import SpaceError
from flora.problem.parameters import (
    Boolean,
    Categorical,
    Integer,
    Parameter,
    Points,
    Real,
    Value,
    default_value,
    identity,
)
from flora.problem.space_formats import parameters_of

__all__ = ["Boolean", "Categorical", "Config", "Integer", "Points", "Real", "SearchSpace", "Value"]

Config = Mapping[str, Value]


@dataclass(frozen=True)
class SearchSpace:
    """The HPs that may be tuned, and the config that is used when nobody tunes.

    The default may lie outside the ranges (scikit-learn's ``l2_regularization=0`` on a log scale): it is a
    config like any other, and its point is the nearest one of the cube.
    """

    parameters: tuple[Parameter, ...]
    default: Config = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.parameters:
            raise SpaceError("a search space needs at least one HP, got none")
        if len(set(self.names)) < len(self.names):
            raise SpaceError(f"HP names must differ, got {list(self.names)}")
        unknown = sorted(set(self.default) - set(self.names))
        if unknown:
            raise SpaceError(f"the default names {unknown[0]!r}, which is no HP of {list(self.names)}")
        missing = [name for name in self.names if name not in self.default]
        if self.default and missing:
            raise SpaceError(f'{missing[0]}: has no default, as {next(iter(self.default))} has; give it a "default"')
        complete = {p.name: default_value(p, self.default[p.name]) for p in self.parameters if self.default}
        object.__setattr__(self, "default", MappingProxyType(complete))  # frozen all the way down

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy can be neither copied nor sent to a worker
        return type(self), (self.parameters, dict(self.default))

    @classmethod
    def from_json(cls, document: Any, default: Config | None = None) -> Self:
        """Read the paper's dictionary, Optuna's distributions or JSON of either; ``default`` fills what it leaves out.

        >>> SearchSpace.from_json({"C": {"type": "real", "space": "log", "range": [0.01, 1000]}}).names
        ('C',)
        """
        parameters, given = parameters_of(document)
        names = {parameter.name for parameter in parameters}
        fallback = {k: v for k, v in (default or {}).items() if k in names}
        return cls(parameters, {**fallback, **given})

    def to_json(self) -> dict[str, Any]:
        """Return the paper's dictionary, with each HP's default; :meth:`from_json` reads it back."""
        document = {parameter.name: parameter.to_json() for parameter in self.parameters}
        for name, value in self.default.items():
            document[name]["default"] = value
        return document

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the space: the same for the same HPs, whatever their order, and for 10 and 10.0."""
        canonical = json.dumps(_whole_as_int(self.to_json()), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The HPs' names, in order."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def width(self) -> int:
        """The number of axes of the unit cube."""
        return sum(parameter.width for parameter in self.parameters)

    def check(self, config: Any) -> None:
        """Raise :class:`SpaceError` unless each value is in its HP's range, or is its default."""
        if type(config) is not dict and not isinstance(config, Mapping):  # a class is soon looked at, Mapping is not
            raise SpaceError(f"a config maps HP names to values, got {config!r:.80}")
        if config.keys() != self._names:
            raise SpaceError(f"a config must name {sorted(self.names)}, got {sorted(map(str, config))}")
        for parameter in self.parameters:
            value = config[parameter.name]
            if not parameter.contains(value) and not self._is_default_of(parameter.name, value):
                raise SpaceError(f"{parameter.name}: {value!r:.80} is not in {json.dumps(parameter.to_json())}")

    def surely_holds(self, configs: Sequence[Config]) -> bool:
        """Whether one look at all configs tells that each passes :meth:`check`; where it does not tell, False."""
        if any(type(config) is not dict or config.keys() != self._names for config in configs):
            return False
        return all(
            parameter.surely_contains([config[parameter.name] for config in configs], self.default.get(parameter.name))
            for parameter in self.parameters
        )

    def is_default(self, config: Config) -> bool:
        """Whether ``config`` is the default config, inside the ranges or not."""
        if not self.default or set(config) != set(self.names):
            return False
        return all(self._is_default_of(name, config[name]) for name in self.default)

    def encode(self, configs: Sequence[Config]) -> Points:
        """Return the configs' points of the unit cube: n configs -> (n, width)."""
        columns = [p.encode([config[p.name] for config in configs]) for p in self.parameters]
        return np.hstack(columns).reshape(len(configs), self.width)

    def decode(self, points: Points) -> list[Config]:
        """Return the configs at ``points``: (n, width) -> n configs, all inside the space."""
        columns = [p.decode(block) for p, block in zip(self.parameters, self._blocks(points), strict=True)]
        return [dict(zip(self.names, values, strict=True)) for values in zip(*columns, strict=True)]

    def scaled(self, config: Config, names: Set[str], factor: float) -> Config:
        """Return the config with so many times more of the named numbers, in their ranges."""
        if factor == 1.0:
            return config
        scaled = [p for p in self.parameters if p.name in names and isinstance(p, Integer | Real)]
        return {**config, **{p.name: p.decode(p.encode([factor * float(config[p.name])]))[0] for p in scaled}}

    def snap(self, points: Points) -> Points:
        """Return the nearest points that are a config's: integers and categories fall into place."""
        return self.encode(self.decode(points))

    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return ``size`` random points, uniform in the unit cube: (size, width)."""
        return self.snap(rng.random((size, self.width)))

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.names)

    def _is_default_of(self, name: str, value: Any) -> bool:
        return name in self.default and identity(value) == identity(self.default[name])

    def _blocks(self, points: Points) -> list[Points]:
        return np.split(points, np.cumsum([p.width for p in self.parameters])[:-1], axis=1)


has_form(SearchSpace, SearchSpace.to_json, lambda document: SearchSpace.from_json(_object(document)))


def _object(document: Any) -> Any:
    if not isinstance(document, dict):  # JSON of a space is read from text too, but not inside of another document
        raise SpaceError(f"a search space is a JSON object, got {document!r:.40}")
    return document


def _whole_as_int(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _whole_as_int(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_whole_as_int(value) for value in node]
    return int(node) if isinstance(node, float) and node.is_integer() else node
