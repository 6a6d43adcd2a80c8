"""From a surface to a few configs that all parties measure again: its minimum, and good ones apart from it."""

from collections.abc import Sequence

import numpy as np

from flora.aggregator.effort import DRAWN
from flora.aggregator.recommend import Recommendation
from flora.aggregator.surface import LossSurface
from flora.problem.path import Path
from flora.problem.space import Config, Points, SearchSpace
from flora.randomness import stream

APART = 0.25  # of the unit cube's side; less where there are not enough such configs


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
    pool = [pool[0], *(config for config in pool[1:] if not is_default(config, space, path))]  # it is measured anyway
    configs, losses = _at_best_stop(surface, space, pool, path)
    rest = path.rest(space) if path else space
    points = rest.encode(configs)
    order = [0, *(k for k in np.argsort(losses, kind="stable") if k)]
    return [configs[k] for k in apart(points, order, count)]


def is_default(config: Config, space: SearchSpace, path: Path | None) -> bool:
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


def apart(points: Points, order: Sequence[int], count: int) -> list[int]:
    """Return ``count`` of ``order`` (fewer if there are no more that differ), as far apart as APART if possible."""
    distance, chosen = APART, [order[0]]
    while len(chosen) < count and distance > 1e-3:
        for k in order:
            if len(chosen) < count and np.linalg.norm(points[chosen] - points[k], axis=1).min() >= distance:
                chosen.append(k)
        distance /= 2
    return chosen


def _name(config: Config) -> str:
    return repr(sorted(config.items()))
