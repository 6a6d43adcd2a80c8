"""Where the parties of a private search look: at points that the seed draws, then near the lowest mean so far.

All parties and the aggregator follow the same rule, so that nobody chooses where a party's surface is looked at. What
the points are is in no message.
"""

from collections.abc import Callable

import numpy as np

from flora.problem.space import Points, SearchSpace
from flora.randomness import stream
from flora.surrogate.minimise import near_lowest
from flora.surrogate.regressors import Losses

FIRST = 2_048  # random points, besides the default
ROUNDS = ((512, 0.1), (512, 0.02))  # after them: so many, so far from the lowest in the unit cube
UNDER_NOISE = 32  # random points where there is noise: the same noise is on each, so it tells more of few
WATCHED = 64  # of the random points, at which the parties' spread is asked for, besides default and minimum


def surveyed(space: SearchSpace, seed: int, mean: Callable[[Points], Losses]) -> tuple[Points, Losses]:
    """Return all points, the default's first, and what ``mean`` says of them: (n, width) and (n,).

    It is asked once for each round, and a round has as many points wherever this runs.
    """
    rng = stream(seed, "survey")
    points = np.vstack([space.snap(space.encode([space.default])), space.sample(rng, FIRST)])
    losses = mean(points)
    for count, scale in ROUNDS:
        nearby = near_lowest(points, losses, space, rng, scale, count)
        points, losses = np.vstack([points, nearby]), np.concatenate([losses, mean(nearby)])
    return points, losses


def surveyed_once(space: SearchSpace, seed: int) -> Points:
    """Return where the parties look once, as each look takes noise of its own: the default, and random points."""
    drawn = space.sample(stream(seed, "survey"), UNDER_NOISE)
    return np.vstack([space.snap(space.encode([space.default])), drawn])


def watched(losses: Losses) -> list[int]:
    """Return the places of the points at which the parties' spread is asked for: the lowest is the last.

    They are few and far apart. Between neighbours on a surface often one party's alone changes, and the change of a
    mean together with that of a spread would tell what that party's is.
    """
    return [*range(WATCHED + 1), int(np.argmin(losses))]
