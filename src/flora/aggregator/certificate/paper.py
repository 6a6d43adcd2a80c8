"""The theorem's own bound of one run, in its two forms, over a finite set of configs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.certificate.evidence import Evidence, PartyEvidence
from flora.aggregator.certificate.theorem import (
    Continuity,
    blocks,
    epsilon_bound,
    gap_bound,
    iid_gap_bound,
    loss_continuity,
    nearest_trial,
    party_surfaces,
    training_error,
    tried_points,
)
from flora.aggregator.surface import SurfaceKind
from flora.problem.space import Points, SearchSpace
from flora.surrogate.regressors import Losses

Floats = NDArray[np.float64]
MOST_AT_ONCE = 500_000  # numbers of all parties together


@dataclass(frozen=True, eq=False)
class Constants:
    """What the theorem knows of one party."""

    hat: Callable[[Points], Losses]
    tried: Points
    loss: float  # Lipschitz constants, of its losses and of its surface
    surface: float
    delta: float

    @classmethod
    def of(cls, party: PartyEvidence, hat: Callable[[Points], Losses], space: SearchSpace, bar: Points) -> "Constants":
        """Estimate them on the finite set and on the party's trials."""
        tried, losses = tried_points(party.trials, space)
        at_trials = hat(tried)
        surface = Continuity.between(space, bar, hat(bar), tried, at_trials)
        loss = loss_continuity(party.trials, space)
        return cls(hat, tried, loss.lipschitz, surface.lipschitz, training_error(losses, at_trials))

    def epsilon(self, space: SearchSpace, points: Points) -> Floats:
        """Return by how much the party's surface errs at most: (n, width) -> (n,)."""
        return epsilon_bound(self.loss, self.surface, nearest_trial(space, points, self.tried), self.delta)


def constants_of(known: Evidence, surface: SurfaceKind, space: SearchSpace, bar: Points) -> list[Constants]:
    """Return what the theorem knows of each party."""
    hats = party_surfaces(surface, len(known.parties))
    return [Constants.of(party, hat, space, bar) for party, hat in zip(known.parties, hats, strict=True)]


def paper_forms(
    known: Evidence, surface: SurfaceKind, space: SearchSpace, bar: Points, constants: list[Constants]
) -> dict[str, float]:
    """Return eq. og-bnd in its two forms; of many parties a few configs are looked at at once."""
    beta, shift = known.beta.value, np.array([party.shift.value for party in known.parties])
    most = {"paper": 0.0, "iid": 0.0}
    for block in blocks(bar, max(1, MOST_AT_ONCE // len(constants))):
        predicted = np.array([party.hat(bar[block]) for party in constants])
        epsilon = np.array([party.epsilon(space, bar[block]) for party in constants])
        alpha = surface.alpha_of(predicted, beta * shift[:, None] + epsilon)
        found = {"paper": gap_bound(alpha, beta, shift, epsilon), "iid": iid_gap_bound(alpha, epsilon)}
        most = {name: max(most[name], found[name]) for name in most}
    return most
