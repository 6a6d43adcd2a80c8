"""A party's own surface: the same wherever it is learnt, at the party or at the aggregator."""

from flora.problem.parameters import Points
from flora.randomness import derived_seed
from flora.surrogate.regressors import REGRESSORS, TREES, Losses, Regressor

TREES_IN_ALL, FEWEST_TREES = 20_000, 5  # of all parties together, while each has at least so many
FEW = 100  # parties: up to so many each has all its trees


def trees_for(parties: int) -> int:
    """Return the trees of each party's forest: the average of very many needs fewer.

    >>> trees_for(100), trees_for(1_000), trees_for(10_000)
    (100, 20, 5)
    """
    return TREES if parties <= FEW else min(TREES, max(FEWEST_TREES, TREES_IN_ALL // parties))


def own_surface(
    party: str, points: Points, losses: Losses, *, regressor: str, seed: int, trees: int = TREES
) -> Regressor:
    """Return a regressor of one party's trials, (n, d) and (n,); the party's name decides its randomness."""
    return REGRESSORS[regressor](points, losses, derived_seed(seed, "surface", party), trees=trees)
