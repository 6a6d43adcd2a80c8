"""From a surface to one config: line 7 of the paper's algorithm."""

from collections.abc import Sequence
from dataclasses import dataclass

from flora.minimise import minimise
from flora.space import Config, SearchSpace
from flora.surface import LossSurface


@dataclass(frozen=True)
class Recommendation:
    """The config with the lowest predicted loss, that loss, and the standard deviation of the belief in it."""

    config: Config
    loss: float
    error: float


def recommend(surface: LossSurface, space: SearchSpace, seed: int, *, start: Sequence[Config] = ()) -> Recommendation:
    """Return the surface's minimum over the space (the paper's line 7), searched from random and ``start`` configs.

    The config is always inside the ranges: a ``start`` config that is not (the default may be outside) counts as
    the nearest one that is. The order of ``start`` does not matter.
    """
    point = minimise(surface, space, seed, start)
    return Recommendation(space.decode(point)[0], float(surface(point)[0]), float(surface.error(point)[0]))
