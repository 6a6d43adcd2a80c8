"""A party's own surface: the same wherever it is learnt, at the party or at the aggregator."""

from flora.problem.parameters import Points
from flora.randomness import derived_seed
from flora.surrogate.regressors import REGRESSORS, TREES, Losses, Regressor


def own_surface(
    party: str, points: Points, losses: Losses, *, regressor: str, seed: int, trees: int = TREES
) -> Regressor:
    """Return a regressor of one party's trials, (n, d) and (n,); the party's name decides its randomness."""
    return REGRESSORS[regressor](points, losses, derived_seed(seed, "surface", party), trees=trees)
