"""APLM, the paper's average of per-party loss models: what FLoRA uses unless told otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from flora.aggregator.surfaces.kinds import Floats, Learning, per_party, rows_of
from flora.errors import InputError
from flora.problem.space import Points, SearchSpace
from flora.problem.trials import PartyTrials
from flora.surrogate.regressors import Losses, Regressor, in_order


@dataclass(frozen=True)
class AverageOfParties:
    r"""APLM: :math:`\hat\ell(\theta) = \sum_i w_i f^{(i)}(\theta)`, with one regressor per party.

    :math:`w_i` is the paper's :math:`1/p`, or :math:`n_i/n` by rows.
    """

    words: ClassVar[str] = "the average of the parties' regressors, one for each party"
    weighted: ClassVar[bool] = True
    merged: ClassVar[bool] = False
    parts: tuple[Regressor, ...]
    weights: tuple[float, ...]  # one for each party; only their ratios count

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.parts) or not all(weight > 0 for weight in self.weights):
            raise InputError(f"need a weight > 0 for each of {len(self.parts)} parties, got {list(self.weights)}")

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> Self:
        """Fit one regressor to each party's own trials."""
        weights = [rows_of(party) if how.weights == "rows" else 1.0 for party in trials]
        return cls(per_party(trials, space, seed, how), tuple(weights))

    def __call__(self, points: Points) -> Losses:
        r"""Return :math:`\sum_i w_i f^{(i)}(\theta)`: (n, d) -> (n,)."""
        weighted = (weight * party.mean(points) for weight, party in zip(self.weights, self.parts, strict=True))
        return np.asarray(in_order(weighted) / np.sum(self.weights))

    def error(self, points: Points) -> Losses:
        r"""Return :math:`\sqrt{\sum_i w_i^2 u^{(i)}(\theta)^2}`: parties err independently of each other."""
        parties = zip(self._shares**2, self.parts, strict=True)
        return np.sqrt(in_order(square * party.deviation(points) ** 2 for square, party in parties))

    def alpha_of(self, predicted: Floats, brace: Floats) -> Floats:  # noqa: ARG002  (it is given by the surface)
        """Return the weights, everywhere the same."""
        return np.tile(self._shares[:, None], (1, predicted.shape[1]))

    def without(self, party: int) -> Self:
        """Return the surface of the others."""
        keep = [k for k in range(len(self.parts)) if k != party]
        return type(self)(tuple(self.parts[k] for k in keep), tuple(self.weights[k] for k in keep))

    @property
    def _shares(self) -> Floats:
        return np.array(self.weights) / sum(self.weights)
