"""SGM, the paper's single global model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from flora.aggregator.surfaces.kinds import Learning, Undivided, merged
from flora.problem.space import Points, SearchSpace
from flora.problem.trials import PartyTrials
from flora.surrogate.regressors import Losses, Regressor


@dataclass(frozen=True)
class GlobalModel(Undivided):
    r"""SGM: :math:`\hat\ell(\theta) = f(\theta)`, with one regressor :math:`f` on the merged :math:`\cup_i E^{(i)}`."""

    words: ClassVar[str] = "one regressor on all parties' trials together"
    weighted: ClassVar[bool] = True
    merged: ClassVar[bool] = True
    regressor: Regressor

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> Self:
        """Fit one regressor to all parties' trials."""
        return cls(merged(trials, space, seed, how))

    def __call__(self, points: Points) -> Losses:
        r"""Return :math:`f(\theta)`: (n, d) -> (n,)."""
        return self.regressor.mean(points)

    def error(self, points: Points) -> Losses:
        r"""Return :math:`u(\theta)`: (n, d) -> (n,)."""
        return self.regressor.deviation(points)
