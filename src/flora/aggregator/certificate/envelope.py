r"""What a party's trials leave possible between them: the theorem's terms, tightened.

The proof of the theorem goes from a config to the nearest trial, and from there to the surface, which costs the
surface's Lipschitz constant and its training error. But the surface is known: at each config one can see how far it is
from what the trials allow. With :math:`e^+` and :math:`e^-`, by which it may be too low and too high, the gap of
:math:`\hat\theta` is at most

.. math:: e^+(\hat\theta) + \max_\theta \{e^-(\theta) - [\hat\ell(\theta) - \hat\ell(\hat\theta)]\},

where the theorem has twice the maximum of both. And :math:`\hat\ell + e^+` is the upper, :math:`\hat\ell - e^-` the
lower envelope of the trials: the surface itself drops out, and the bound holds for any config that is trained.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.certificate.theorem import Continuity, blocks, distance_matrix
from flora.problem.space import Config, Points, SearchSpace
from flora.surrogate.regressors import Losses

Floats = NDArray[np.float64]
NEARER = 1e-9  # decides between trials that say the same


@dataclass(frozen=True, eq=False)
class Edge:
    """One side of an envelope at some configs: the trial that decides there, its loss, and how rough losses are."""

    trial: Floats  # (n,), as all
    distance: Floats
    rough: Floats


@dataclass(frozen=True, eq=False)
class Envelope:
    """One party's trials, and how far its loss may move between them."""

    space: SearchSpace
    points: Points
    losses: Losses
    modulus: Continuity

    @classmethod
    def of(cls, space: SearchSpace, configs: Sequence[Config], losses: Sequence[float]) -> Self:
        """Learn from trials how far losses move."""
        points, values = space.encode(configs), np.array(losses, dtype=np.float64)
        return cls(space, points, values, Continuity.between(space, points, values, points, values))

    def above(self, points: Points) -> Edge:
        r"""Return what decides :math:`\min_t \{L_t + \tilde\omega(d(\theta, \theta_t))\} \ge \tilde\ell(\theta)`."""
        return self._edge(points, 1.0)

    def below(self, points: Points) -> Edge:
        r"""Return what decides :math:`\max_t \{L_t - \tilde\omega(d(\theta, \theta_t))\} \le \tilde\ell(\theta)`."""
        return self._edge(points, -1.0)

    def from_above(self, point: Points) -> "Envelope":
        r"""Return the envelope with one more trial: a config with the highest loss that the others leave it.

        Seen from that config, no loss is lower than :math:`\tilde\omega` of the distance below its own, and the
        higher that is, the wider the gap: what a lower envelope with this trial leaves possible is the widest gap.
        """
        edge = self.above(point)
        losses = np.append(self.losses, edge.trial + edge.rough)
        return replace(self, points=np.vstack([self.points, point]), losses=losses)

    def _edge(self, points: Points, sign: float) -> Edge:
        parts = [self._nearest(points[block], sign) for block in blocks(points)]
        return Edge(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _nearest(self, points: Points, sign: float) -> tuple[Floats, Floats, Floats]:
        apart = distance_matrix(self.space, points, self.points)
        rough = self.modulus(apart)
        best = (sign * self.losses + rough + NEARER * apart).argmin(axis=1)
        row = np.arange(len(points))
        return self.losses[best], apart[row, best], rough[row, best]
