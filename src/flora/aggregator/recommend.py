"""From a surface to one config: line 7 of the paper's algorithm."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flora.aggregator.surface import LossSurface
from flora.problem.space import Config, SearchSpace
from flora.surrogate.minimise import SIZE, minimise


@dataclass(frozen=True)
class Recommendation:
    """The config with the lowest predicted loss, that loss, and the standard deviation of the belief in it.

    A surface is one of losses on a party's rows. ``measured`` is what stands for ``config`` there: it has less of what
    grows with the rows, and ``loss`` and ``error`` are the surface's at that config.
    """

    config: Config
    measured: Config
    loss: float
    error: float


def recommend(
    surface: LossSurface, space: SearchSpace, seed: int, *, start: Sequence[Config] = (), size: int = SIZE
) -> Recommendation:
    """Return the surface's minimum over the space (the paper's line 7), searched from random and ``start`` configs.

    The config is always inside the ranges: a ``start`` config that is not (the default may be outside) counts as
    the nearest one that is. The order of ``start`` does not matter. What nobody varied, or the surface does not see,
    stays at its default.
    """
    point = minimise(surface, space, seed, start, size)
    return recommendation_at(surface, space, _near_default(surface, space, space.decode(point)[0]))


def _near_default(surface: LossSurface, space: SearchSpace, config: Config) -> Config:
    """Return the config with the default's value of each HP that makes no difference to the surface there."""
    if not space.default:
        return config
    (inside,) = space.decode(space.encode([space.default]))
    lowest = float(surface(space.encode([config]))[0])
    for name in space.names:
        nearer = {**config, name: inside[name]}
        if float(surface(space.encode([nearer]))[0]) <= lowest:
            config = nearer
    return {name: _own(space.default[name], value) for name, value in config.items()} if config == inside else config


def _own(default: Any, value: Any) -> Any:
    """Return the default's value where the other is the same but for rounding.

    Through the unit cube 0.1 comes back as 0.10000000000000006: another config, which would be trained and compared.
    """
    numbers = isinstance(default, int | float) and isinstance(value, int | float)
    return default if numbers and math.isclose(default, value, rel_tol=1e-12) else value


def recommendation_at(
    surface: LossSurface, space: SearchSpace, measured: Config, config: Config | None = None
) -> Recommendation:
    """Return what the surface says of one config, which on all parties' rows is ``config``."""
    point = space.encode([measured])
    loss, error = float(surface(point)[0]), float(surface.error(point)[0])
    return Recommendation(measured if config is None else config, measured, loss, error)
