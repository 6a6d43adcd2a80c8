"""The median of per-party loss models, for a consortium in which a party may be broken, or lie."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from flora.aggregator.surfaces.kinds import Learning, Undivided, per_party
from flora.problem.space import Points, SearchSpace
from flora.problem.trials import PartyTrials
from flora.randomness import stream
from flora.surrogate.regressors import Losses, Regressor

LEVEL_POINTS = 512  # random ones, over which a party's surface has its mean


@dataclass(frozen=True)
class MedianOfParties(Undivided):
    r"""The median of the parties' own surfaces: whatever fewer than half of them say, it stays among the others'.

    Each party's surface counts by how it differs from its own mean, or those with high losses would never count.
    """

    words: ClassVar[str] = "the median of the parties' regressors, one for each party, each measured from its own mean"
    weighted: ClassVar[bool] = False
    merged: ClassVar[bool] = False
    parties: tuple[Regressor, ...]
    levels: tuple[float, ...]  # each party's mean loss over the space

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> Self:
        """Fit one regressor to each party's own trials."""
        parties = per_party(trials, space, seed, how)
        everywhere = space.sample(stream(seed, "surface", "levels"), LEVEL_POINTS)
        return cls(parties, tuple(float(np.mean(party.mean(everywhere))) for party in parties))

    def __call__(self, points: Points) -> Losses:
        r"""Return :math:`\mathrm{med}_i (f^{(i)}(\theta) - m_i) + \mathrm{med}_i m_i`: (n, d) -> (n,)."""
        apart = [party.mean(points) - level for party, level in zip(self.parties, self.levels, strict=True)]
        return np.asarray(np.median(apart, axis=0) + np.median(self.levels))

    def error(self, points: Points) -> Losses:
        r"""Return :math:`\sqrt{\pi / 2p}` times the median of the :math:`u^{(i)}(\theta)`, as for normal errors."""
        deviations = np.median([party.deviation(points) for party in self.parties], axis=0)
        return np.asarray(math.sqrt(math.pi / 2 / len(self.parties)) * deviations)
