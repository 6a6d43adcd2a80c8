"""MPLM, the paper's maximum of per-party loss models."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, Self

import numpy as np

from flora.aggregator.surfaces.kinds import Floats, Learning, one_hot, per_party
from flora.problem.space import Points, SearchSpace
from flora.problem.trials import PartyTrials
from flora.surrogate.regressors import Losses, Regressor


@dataclass(frozen=True)
class MaxOfParties:
    r"""MPLM: :math:`\hat\ell(\theta) = \max_i f^{(i)}(\theta)`, the loss of the worst-off party."""

    words: ClassVar[str] = "the highest of the parties' regressors, one for each party"
    weighted: ClassVar[bool] = False
    merged: ClassVar[bool] = False
    parts: tuple[Regressor, ...]

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> Self:
        """Fit one regressor to each party's own trials."""
        return cls(per_party(trials, space, seed, how))

    def __call__(self, points: Points) -> Losses:
        r"""Return :math:`\max_i f^{(i)}(\theta)`: (n, d) -> (n,)."""
        return reduce(np.maximum, (party.mean(points) for party in self.parts))

    def error(self, points: Points) -> Losses:
        r"""Return :math:`u^{(k)}(\theta)` of the worst-off party, :math:`k = \arg\max_i f^{(i)}(\theta)`."""
        highest, error = self.parts[0].mean(points), self.parts[0].deviation(points)
        for party in self.parts[1:]:
            losses = party.mean(points)
            worse = losses > highest
            if worse.any():
                highest, error = np.where(worse, losses, highest), np.where(worse, party.deviation(points), error)
        return error

    def alpha_of(self, predicted: Floats, brace: Floats) -> Floats:  # noqa: ARG002  (it is given by the surface)
        """Return all weight on the worst-off party."""
        return one_hot(predicted.argmax(axis=0), len(predicted))

    def without(self, party: int) -> Self:
        """Return the surface of the others."""
        return type(self)(self.parts[:party] + self.parts[party + 1 :])
