"""The median of per-party loss models, for a consortium in which a party may be broken, or lie."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from flora.aggregator.surfaces.kinds import Learning, Undivided, per_party
from flora.problem.space import Points, SearchSpace
from flora.problem.trials import PartyTrials
from flora.randomness import stream
from flora.surrogate.regressors import Losses, Regressor

LEVEL_POINTS = 512  # random ones, over which a party's surface has its mean
MOST_AT_ONCE = 5_000_000  # losses of all parties: 40 MB


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
        return self._in_blocks(self._apart, points) + np.median(self.levels)

    def error(self, points: Points) -> Losses:
        r"""Return :math:`\sqrt{\pi / 2p}` times the median of the :math:`u^{(i)}(\theta)`, as for normal errors."""
        deviations = self._in_blocks(lambda block: [party.deviation(block) for party in self.parties], points)
        return np.asarray(math.sqrt(math.pi / 2 / len(self.parties)) * deviations)

    def _apart(self, points: Points) -> list[Losses]:
        """Return how each party's surface differs from its own mean: (n, d) -> p of (n,)."""
        return [party.mean(points) - level for party, level in zip(self.parties, self.levels, strict=True)]

    def _in_blocks(self, of_parties: Callable[[Points], list[Losses]], points: Points) -> Losses:
        """Return the median over the parties, of so many points at once that their losses fit into memory."""
        block = max(2, MOST_AT_ONCE // len(self.parties))  # a sum over single points would differ in its last bit
        parts = np.array_split(points, max(1, len(points) // block))
        return np.concatenate([np.median(of_parties(part), axis=0) for part in parts])
