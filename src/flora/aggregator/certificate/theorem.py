r"""The paper's optimality analysis (section 4, appendices A and B), term by term.

The theorem bounds how much more the recommendation :math:`\hat\theta^\star` loses than the best config. We bound it
against the best of a finite set :math:`\bar\Theta`, over which every maximum is taken, and add two terms that the
paper lacks: what more rows change, and how far the surface's minimiser is from its minimum on the set.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.surface import SurfaceKind
from flora.errors import InputError
from flora.problem.space import Points, Real, SearchSpace
from flora.problem.trials import PartyTrials
from flora.surrogate.regressors import Losses

Floats = NDArray[np.float64]
BLOCK = 200  # configs at a time, where all pairs are looked at


def distance_matrix(space: SearchSpace, a: Points, b: Points) -> Floats:
    r"""Return :math:`d(\theta, \theta')` of appendix A.1 for all pairs: (n, width) and (m, width) -> (n, m)."""
    numeric = np.concatenate([np.full(p.width, isinstance(p, Real)) for p in space.parameters])
    share = np.concatenate([np.full(p.width, 1.0 if p.width == 1 else 0.5) for p in space.parameters])
    apart = np.abs(a[:, None, :] - b[None, :, :])
    different = apart[:, :, ~numeric] @ share[~numeric]  # in one-hot columns two entries differ
    return np.asarray(np.linalg.norm(apart[:, :, numeric], axis=2) + different)


def nearest_trial(space: SearchSpace, points: Points, tried: Points) -> Floats:
    r"""Return :math:`\min_t d(\theta, \theta_t^{(i)})` (eq. og-bnd) at each point: (n, width) -> (n,)."""
    return np.concatenate([distance_matrix(space, points[block], tried).min(axis=1) for block in _blocks(points)])


def training_error(losses: Losses, predicted: Losses) -> float:
    r"""Return :math:`\delta_i = \max_t |L_t^{(i)} - \hat\ell_i(\theta_t^{(i)})|` (theorem og-bnd)."""
    return float(np.abs(losses - predicted).max())


def mixture_distance(weights: Floats, wasserstein: Floats) -> Floats:
    r"""Return :math:`\sum_{j \ne i} w_j \mathcal W_1(D_j, D_i) \ge \mathcal W_1(D, D_i)` (eq. bnd-wd): (p, p) -> (p,).

    The distance of a party to itself is 0. One that nobody measured is NaN and counts as 0.
    """
    return np.asarray(np.nansum(weights[:, None] * wasserstein, axis=0))


@dataclass(frozen=True)
class Line:
    r"""What a concave modulus of continuity is at most (appendix A.2): :math:`\omega(t) \le A t + B`."""

    A: float
    B: float = 0.0  # 0: Lipschitz continuity

    def __call__(self, t: Floats) -> Floats:
        """Return :math:`A t + B`: (n,) -> (n,)."""
        return self.A * t + self.B


@dataclass(frozen=True, eq=False)
class Continuity:
    r"""How far a function moves between configs (eqs. theta-lip-tilde, theta-lip-hat, est-loss-moc, lsurf-moc).

    The steps of :math:`\omega(t) = \max\{|f(\theta) - f(\theta')| : d(\theta, \theta') \le t\}` over given pairs. On
    those pairs it is exact; for the whole space it is an estimate, and from below.
    """

    distances: Floats  # 0, then growing
    differences: Floats  # at 0 noise, then growing

    @classmethod
    def between(cls, space: SearchSpace, points: Points, values: Losses, others: Points, other_values: Losses) -> Self:
        """Look at all pairs of a point and another."""
        found = [np.zeros((2, 0))]
        for block in _blocks(points):
            apart = distance_matrix(space, points[block], others).ravel()
            found.append(_steps(apart, np.abs(values[block][:, None] - other_values[None, :]).ravel()))
        return cls(*_steps(*np.hstack(found)))

    @property
    def lipschitz(self) -> float:
        r"""The Lipschitz constant :math:`L`: the largest ratio. What differs at distance 0 is noise, and left out."""
        apart = self.distances > 0
        return float(np.max(self.differences[apart] / self.distances[apart], initial=0.0))

    def line(self, at: float) -> Line:
        r"""Return the line with :math:`A, B \ge 0` above :math:`\omega` that is the lowest at ``at``."""

        def intercept(slope: float) -> float:
            return float(np.max(self.differences - slope * self.distances, initial=0.0))

        low, high = 0.0, self.lipschitz
        for _ in range(80):  # At + B(A) is convex in A
            left, right = low + (high - low) / 3, high - (high - low) / 3
            falls = left * at + intercept(left) > right * at + intercept(right)
            low, high = (left, high) if falls else (low, right)
        return Line(high, intercept(high))


def loss_continuity(party: PartyTrials, space: SearchSpace) -> Continuity:
    r"""Return :math:`\tilde\omega_{D_i}`, of which :math:`\tilde L(D_i)` is the ratio, on the party's trials alone."""
    points, losses = tried_points(party, space)
    return Continuity.between(space, points, losses, points, losses)


def distribution_lipschitz(trials: Sequence[PartyTrials], wasserstein: Floats) -> float | None:
    r"""Return :math:`\tilde\beta` (eq. dist-lip-hat): the largest loss difference over :math:`\mathcal W_1`, or None.

    Over configs that two parties both tried, such as the default. A :math:`\mathcal W_1` that is measured too small
    by a factor makes this as much too large, so that their product does not suffer.
    """
    losses = [{tuple(sorted(t.config.items())): t.loss for t in party.trials} for party in trials]
    ratios = [
        abs(losses[i][config] - losses[j][config]) / wasserstein[i, j]
        for i in range(len(trials))
        for j in range(i)
        if wasserstein[i, j] > 0
        for config in losses[i].keys() & losses[j].keys()
    ]
    return float(max(ratios)) if ratios else None


def party_surfaces(surface: SurfaceKind, parties: int) -> list[Callable[[Points], Losses]]:
    r"""Return the :math:`\hat\ell_i` of eq. global-loss; a surface without parts (SGM, SGM+U) is each of them."""
    if not surface.parts:
        return [surface] * parties
    if len(surface.parts) != parties:
        raise InputError(f"the surface must be of the same {parties} parties, got {len(surface.parts)}")
    return [party.mean for party in surface.parts]


def epsilon_bound(loss: float, surface: float, nearest: Floats, delta: float) -> Floats:
    r"""Return :math:`(\tilde L(D_i) + \hat L_i) \min_t d(\theta, \theta_t^{(i)}) + \delta_i`: (n,) -> (n,).

    It bounds :math:`\epsilon_i(\theta, T)`, by which the party's surface errs (eq. bnd-eps-i).
    """
    return (loss + surface) * nearest + delta


def epsilon_bound_by_modulus(
    loss: Callable[[Floats], Floats], surface: Callable[[Floats], Floats], nearest: Floats, delta: float
) -> Floats:
    r"""Return :math:`\tilde\omega(\min_t d) + \hat\omega(\min_t d) + \delta_i \ge \epsilon_i` (before eq. bnd-eps-i-2).

    With :math:`\omega(t) = At + B` it is that equation; with :math:`\omega(t) = Lt` it is :func:`epsilon_bound`.
    """
    return loss(nearest) + surface(nearest) + delta


def gap_bound(alpha: Floats, beta: float, shift: Floats, epsilon: Floats) -> float:
    r"""Return :math:`2 \max_\theta \sum_i \alpha_i(\theta) \{\tilde\beta\,\mathrm{shift}_i + \epsilon_i(\theta)\}`.

    That is eq. opt-bnd, and eq. og-bnd with the two propositions put in. (p, n), (p,), (p, n) -> a number.
    """
    return 2 * float((alpha * (beta * shift[:, None] + epsilon)).sum(axis=0).max())


def iid_gap_bound(alpha: Floats, epsilon: Floats) -> float:
    """Return the theorem's second form, for parties whose data has one distribution."""
    return gap_bound(alpha, 0.0, np.zeros(len(alpha)), epsilon)


def relative_regret_bound(gap: float, default: float, best: float, margin: float = 0.0) -> float | None:
    r"""Return the bound of eq. rr-bnd: the gap's over :math:`\hat\ell(\theta_b) - \hat\ell(\bar\theta^\star)`, or None.

    The paper puts the surface's losses for the true ones in the denominator, without proof. They differ by at most
    the gap's bound: that as ``margin`` makes it a proof, 0 is the paper's form. None: the denominator is not above 0.
    """
    gained = default - best - margin
    return gap / gained if gained > 0 else None


def tried_points(party: PartyTrials, space: SearchSpace) -> tuple[Points, Losses]:
    """Return a party's trials as points and losses."""
    return space.encode([t.config for t in party.trials]), np.array([t.loss for t in party.trials], dtype=np.float64)


def _blocks(points: Points) -> Iterator[slice]:
    return (slice(first, first + BLOCK) for first in range(0, len(points), BLOCK))


def _steps(distances: Floats, differences: Floats) -> Floats:
    """Return the largest difference at distance 0, then each that is above all nearer ones: 2 x (k,) -> (2, steps)."""
    same = distances == 0
    order = np.flatnonzero(~same)
    order = order[np.lexsort((-differences[order], distances[order]))]
    highest = np.maximum.accumulate(np.append(0.0, differences[order]))
    steps = order[differences[order] > highest[:-1]]
    noise = [[0.0], [np.max(differences[same], initial=0.0)]]
    return np.hstack([noise, [distances[steps], differences[steps]]])
