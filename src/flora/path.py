"""What one fit passes through: to learn how good 10, 20 or 50 trees are takes one fit of 50, not three."""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from flora.plan import SearchPlan
from flora.space import Config, Integer, SearchSpace

STOPS = 7  # on a log scale, ends included: a loss changes little between two of them


@dataclass(frozen=True)
class Path:
    """The HP that a fit passes through, and the values of it at which the search looks."""

    name: str
    stops: tuple[int, ...]  # ascending; the last is the top of the HP's range
    open: bool = False  # the range is for a party's rows: a training on more may go past it

    def configs(self, config: Config) -> list[Config]:
        """Return the config at each stop."""
        return [{**config, self.name: stop} for stop in self.stops]

    def at_top(self, config: Config) -> Config:
        """Return the config at the last stop: a fit of it passes through all the others."""
        return {**config, self.name: self.stops[-1]}

    def rest(self, space: SearchSpace) -> SearchSpace:
        """Return the HPs that remain to be searched."""
        default = {name: value for name, value in space.default.items() if name != self.name}
        return SearchSpace(tuple(p for p in space.parameters if p.name != self.name), default)


def path_of(plan: SearchPlan, passes_through: Set[str]) -> Path | None:
    """Return what each fit of a search passes through, if the search makes use of it."""
    return path_through(plan.space, passes_through) if plan.paths else None


def path_through(space: SearchSpace, passes_through: Set[str]) -> Path | None:
    """Return the path of a space: None where a fit passes through none of its HPs, or it has no other."""
    for parameter in space.parameters:
        if parameter.name not in passes_through or not isinstance(parameter, Integer) or parameter.high < 1:
            continue
        if len(space.parameters) > 1:
            grid = np.geomspace(max(parameter.low, 1), parameter.high, STOPS)
            stops = parameter.decode(parameter.encode([*grid, space.default.get(parameter.name, parameter.high)]))
            return Path(parameter.name, tuple(sorted({int(stop) for stop in stops if int(stop) >= 1})))
    return None
