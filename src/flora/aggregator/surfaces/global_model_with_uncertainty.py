"""SGM+U, the paper's single global model that minds its uncertainty."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from flora.aggregator.surfaces.global_model import GlobalModel
from flora.aggregator.surfaces.kinds import Learning, merged
from flora.problem.space import Points, SearchSpace
from flora.problem.trials import PartyTrials
from flora.surrogate.regressors import Losses


@dataclass(frozen=True)
class GlobalModelWithUncertainty(GlobalModel):
    r"""SGM+U: :math:`\hat\ell(\theta) = f(\theta) + \alpha \cdot u(\theta)`, with :math:`u` the deviation of :math:`f`.

    Where parties tried little, or do not agree, :math:`u` is high and the config is held to be worse.
    """

    words: ClassVar[str] = "one regressor on all parties' trials together, plus its uncertainty"
    alpha: float = 1.0

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> Self:
        """Fit one regressor to all parties' trials."""
        return cls(merged(trials, space, seed, how), how.alpha)

    def __call__(self, points: Points) -> Losses:
        r"""Return :math:`f(\theta) + \alpha \cdot u(\theta)`: (n, d) -> (n,)."""
        return self.regressor.mean(points) + self.alpha * self.regressor.deviation(points)
