"""The lowest point of a function over a mixed space, by the seed alone."""

from collections.abc import Callable, Sequence

import numpy as np

from flora.problem.space import Config, Points, Real, SearchSpace
from flora.randomness import stream
from flora.surrogate.regressors import Losses

SIZE = 4_096  # random points; each round has a quarter as many
PARENTS = 32  # the lowest so far, which a round perturbs
SCALES = tuple(0.2 * 0.5**k for k in range(9))  # of the perturbations, in the unit cube: from 0.2 to 0.0008
RENEWED = 0.1  # the share of HPs that a perturbation draws anew, wherever they were
MOVED = 0.6  # the share of numbers that it moves


def minimise(
    function: Callable[[Points], Losses], space: SearchSpace, seed: int, start: Sequence[Config] = (), size: int = SIZE
) -> Points:
    """Return the lowest point found: (1, width), a config's.

    ``size`` random points of the whole space come first, then ever smaller perturbations of the lowest. A forest is
    constant on boxes: of points tied at the minimum, the one in their middle is taken, away from the box's edges.
    """
    rng = stream(seed, "minimise")
    points = np.vstack([space.sample(rng, size), space.snap(space.encode(start))])
    points = np.unique(points, axis=0)  # sorts too: the order of ``start`` is forgotten
    values = function(points)
    for scale in SCALES:
        perturbed = np.unique(near_lowest(points, values, space, rng, scale, size // 4), axis=0)
        points, values = np.vstack([points, perturbed]), np.concatenate([values, function(perturbed)])
    return middle_of_lowest(points, values)


def near_lowest(
    points: Points, values: Losses, space: SearchSpace, rng: np.random.Generator, scale: float, count: int
) -> Points:
    """Return about so many points near the lowest ones: (n, width)."""
    shuffled = rng.permutation(len(points))  # or parents among equals would all come from one corner
    parents = shuffled[np.argsort(values[shuffled], kind="stable")[:PARENTS]]
    nearby = np.repeat(points[parents], count // len(parents), axis=0)
    return space.snap(_perturb(nearby, space, rng, scale))


def middle_of_lowest(points: Points, values: Losses) -> Points:
    """Return the point in the middle of those tied at the minimum: (1, width)."""
    tied = np.unique(points[values <= values.min() + 1e-9 * np.ptp(values)], axis=0)
    middle = np.argmin(np.linalg.norm(tied - tied.mean(axis=0), axis=1))
    return np.asarray(tied[[middle]])


def _perturb(points: Points, space: SearchSpace, rng: np.random.Generator, scale: float) -> Points:
    """Return a neighbour of each point: some numbers moved by about ``scale``, a few HPs drawn anew."""
    blocks, first = [], 0
    for parameter in space.parameters:
        block = points[:, first : first + parameter.width]
        first += parameter.width
        chance = rng.random((len(points), 1))
        moved = block + scale * rng.standard_normal(block.shape)
        renewed = rng.random(block.shape)
        stays = np.where(chance < RENEWED + MOVED, moved, block) if isinstance(parameter, Real) else block
        blocks.append(np.where(chance < RENEWED, renewed, stays))
    return np.asarray(np.clip(np.hstack(blocks), 0.0, 1.0))
