r"""What one fit passes through: to learn how good 10, 20 or 50 trees are takes one fit of 50, not three.

A party of n_i rows needs fewer trees than n rows do: t trees there go about as far as :math:`t (n / n_i)^{0.4}` here.
So the one training goes that much further than the range, which each party searches at its own size, and counts by
held-out rows how many trees it takes. It stays in the range where that is a user's own, or where rows are too few to
count by.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flora.errors import SpaceError
from flora.problem.family import Family
from flora.problem.plan import SearchPlan
from flora.problem.size_law import MOST, further
from flora.problem.space import Config, Integer, SearchSpace

STOPS = 7  # on a log scale, ends included: a loss changes little between two of them
HELD = 1 / 3  # of each party's rows: a first pass of a training is judged by them
ENOUGH = 5_000  # rows of all parties: of fewer, the parties' own cross-validation tells more


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

    def furthest(self, parties: int) -> int:
        """Return the last stop of a training by all parties that chooses its place itself."""
        return round(self.stops[-1] * further(parties)) if self.open else self.stops[-1]


def along(config: Config, path: Path | None) -> list[Config]:
    """Return what one fit scores: the config, then the stops of the path that it is not at."""
    if path is None:
        return [dict(config)]
    stops = path.configs(config)
    if path.name in config:
        return [dict(config), *(stop for stop in stops if stop[path.name] != config[path.name])]
    return stops


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


def family_path(space: SearchSpace, family: Family) -> Path | None:
    """Return what the fits of a family pass through; it is open where the range is the family's own."""
    path = path_through(space, family.passes_through)
    if path is None:
        return None
    own = [known.digest for task in family.tasks for known in family.spaces(task).values()]
    return replace(path, open=space.digest in own)


def counts_by_held_rows(rows: int) -> bool:
    """Whether a training on so many rows chooses its place on the path itself."""
    return rows >= ENOUGH


def check_trainable(config: Config, space: SearchSpace, path: Path | None) -> None:
    """Raise unless a config is in the space, or past its range along an open path alone, and no further than ever."""
    stop = config.get(path.name) if path else None
    if path and path.open and isinstance(stop, int) and stop > path.stops[-1]:
        if stop > path.stops[-1] * MOST:
            raise SpaceError(f"{path.name}: a training goes to {path.stops[-1] * MOST:.0f} at most, got {stop}")
        config = path.at_top(config)
    space.check(config)


def fits_in(configs: Sequence[Config], path: Path | None) -> int:
    """Return how many fits gave these configs: one gives all that it passes through, one after the other.

    >>> trees = Path("trees", (1, 2))
    >>> fits_in([{"trees": 1, "rate": 0.1}, {"trees": 2, "rate": 0.1}, {"trees": 1, "rate": 0.5}], trees)
    2
    """
    if path is None:
        return len(configs)
    count = 0
    rest: Config | None = None
    seen: set[Any] = set()
    for config in configs:
        others, place = {k: v for k, v in config.items() if k != path.name}, config[path.name]
        if others != rest or place in seen:
            count, rest, seen = count + 1, others, set()
        seen.add(place)
    return count
