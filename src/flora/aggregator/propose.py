"""From a surface to one config, line 7 of the paper's algorithm, and to a few that all parties measure again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flora.aggregator.effort import DRAWN
from flora.aggregator.surface import LossSurface
from flora.problem.path import Path
from flora.problem.space import Config, Points, SearchSpace
from flora.randomness import stream
from flora.surrogate.minimise import SIZE, minimise

APART = 0.25  # of the unit cube's side; less where there are not enough such configs


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
    return config


def recommendation_at(
    surface: LossSurface, space: SearchSpace, measured: Config, config: Config | None = None
) -> Recommendation:
    """Return what the surface says of one config, which on all parties' rows is ``config``."""
    point = space.encode([measured])
    loss, error = float(surface(point)[0]), float(surface.error(point)[0])
    return Recommendation(measured if config is None else config, measured, loss, error)


def candidates(
    surface: LossSurface,
    space: SearchSpace,
    seed: int,
    *,
    best: Recommendation,
    count: int,
    tried: Sequence[Config] = (),
    path: Path | None = None,
    drawn: int = DRAWN,
) -> list[Config]:
    """Return ``best`` and those of ``tried`` and ``drawn`` random ones with the lowest predicted losses that lie apart.

    What differs only in the HP of ``path`` is one candidate, at the best stop of the path.
    """
    random = space.decode(space.sample(stream(seed, "candidates"), drawn))
    inside = space.decode(space.encode([best.config, *tried]))
    pool = _different([*inside[:1], *sorted(inside[1:], key=_name), *random], path)
    pool = [pool[0], *(config for config in pool[1:] if not _is_default(config, space, path))]  # it is measured anyway
    configs, losses = _at_best_stop(surface, space, pool, path)
    rest = path.rest(space) if path else space
    points = rest.encode(configs)
    order = [0, *(k for k in np.argsort(losses, kind="stable") if k)]
    return [configs[k] for k in _apart(points, order, count)]


def _is_default(config: Config, space: SearchSpace, path: Path | None) -> bool:
    """Whether a config is the default, at whatever place on the path."""
    if not space.default:
        return False
    pair = space.decode(space.encode([config, space.default]))
    first, second = (path.at_top(each) if path else each for each in pair)
    return _name(first) == _name(second)


def _different(pool: Sequence[Config], path: Path | None) -> list[Config]:
    """Return the configs without those that differ from an earlier one along the path alone: the stops of one fit."""
    first: dict[str, Config] = {}
    for config in pool:
        first.setdefault(_name(path.at_top(config) if path else config), config)
    return list(first.values())


def _at_best_stop(
    surface: LossSurface, space: SearchSpace, pool: Sequence[Config], path: Path | None
) -> tuple[list[Config], Points]:
    if path is None:
        return list(pool), np.asarray(surface(space.encode(pool)))
    stops = [path.configs(config) for config in pool]
    losses = np.asarray(surface(space.encode([config for along in stops for config in along])))
    grid = losses.reshape(len(pool), len(path.stops))
    return [along[k] for along, k in zip(stops, grid.argmin(axis=1), strict=True)], grid.min(axis=1)


def _apart(points: Points, order: Sequence[int], count: int) -> list[int]:
    """Return ``count`` of ``order`` (fewer if there are no more that differ), as far apart as APART if possible."""
    apart, chosen = APART, [order[0]]
    while len(chosen) < count and apart > 1e-3:
        for k in order:
            if len(chosen) < count and np.linalg.norm(points[chosen] - points[k], axis=1).min() >= apart:
                chosen.append(k)
        apart /= 2
    return chosen


def _name(config: Config) -> str:
    return repr(sorted(config.items()))
