r"""The paper's optimality analysis (section 4, appendices A and B), term by term.

The theorem bounds how much more the surface's minimiser :math:`\hat\theta^\star` loses than the best config. We take
every maximum over a finite set :math:`\bar\Theta`. ``envelope.py`` has our own bound, of the config that is trained.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    return np.concatenate([distance_matrix(space, points[block], tried).min(axis=1) for block in blocks(points)])


def training_error(losses: Losses, predicted: Losses) -> float:
    r"""Return :math:`\delta_i = \max_t |L_t^{(i)} - \hat\ell_i(\theta_t^{(i)})|` (theorem og-bnd)."""
    return float(np.abs(losses - predicted).max())


def mixture_distance(weights: Floats, wasserstein: Floats) -> float:
    r"""Return :math:`\sum_{j \ne i} w_j \mathcal W_1(D_j, D_i) \ge \mathcal W_1(D, D_i)` (eq. bnd-wd) of one party.

    The distance of a party to itself is 0. One that nobody measured is NaN and counts as 0. (p,), (p,) -> a number.
    """
    return float(np.nansum(weights * wasserstein))


@dataclass(frozen=True, eq=False)
class Continuity:
    r"""How far a function moves between configs (eqs. theta-lip-tilde, theta-lip-hat, est-loss-moc, lsurf-moc).

    The steps of :math:`\max\{|f(\theta) - f(\theta')| : d(\theta, \theta') \le t\}` over given pairs. On those pairs
    they are exact; for the whole space they are an estimate, and from below.
    """

    distances: Floats  # 0, then growing
    differences: Floats  # at 0 those of one config tried twice, then growing

    @classmethod
    def between(cls, space: SearchSpace, points: Points, values: Losses, others: Points, other_values: Losses) -> Self:
        """Look at all pairs of a point and another."""
        found = np.zeros((2, 1))
        for block in blocks(points):
            apart = distance_matrix(space, points[block], others).ravel()
            differ = np.abs(values[block][:, None] - other_values[None, :]).ravel()
            found = _steps(*np.hstack([found, [apart, differ]]))
        return cls(*found)

    @property
    def lipschitz(self) -> float:
        r"""The Lipschitz constant :math:`L`: the largest ratio. What differs at distance 0 is noise, and left out."""
        apart = self.distances > 0
        return float(np.max(self.differences[apart] / self.distances[apart], initial=0.0))

    def __call__(self, t: Floats) -> Floats:
        r"""Return the lowest concave modulus :math:`\omega(t)` above all pairs (appendix A.2): (n,) -> (n,)."""
        return np.interp(t, *self._hull)

    @property
    def _hull(self) -> tuple[Floats, Floats]:
        """The corners of the concave curve above the steps; behind the last it is level."""
        corners: list[tuple[float, float]] = []
        for x, y in zip(self.distances.tolist(), np.maximum.accumulate(self.differences).tolist(), strict=True):
            while len(corners) > 1 and _below(corners[-2], corners[-1], (x, y)):
                corners.pop()
            corners.append((x, y))
        return np.array([x for x, _ in corners]), np.array([y for _, y in corners])


def loss_continuity(party: PartyTrials, space: SearchSpace) -> Continuity:
    r"""Return :math:`\tilde\omega_{D_i}`, of which :math:`\tilde L(D_i)` is the ratio, on the party's trials alone."""
    points, losses = tried_points(party, space)
    return Continuity.between(space, points, losses, points, losses)


ByConfig = Mapping[tuple[tuple[str, object], ...], float]


def by_config(party: PartyTrials) -> ByConfig:
    """Return a party's losses by config, to find those that two parties tried."""
    return {tuple(sorted(trial.config.items())): trial.loss for trial in party.trials}


def distribution_lipschitz(one: ByConfig, others: Sequence[ByConfig], wasserstein: Floats) -> float | None:
    r"""Return :math:`\tilde\beta` (eq. dist-lip-hat): the largest loss difference over :math:`\mathcal W_1`, or None.

    Between one party and others, over configs that it and another tried, such as the default. A
    :math:`\mathcal W_1` that is measured too small by a factor makes this as much too large, so that their product
    does not suffer.
    """
    ratios = [
        abs(one[config] - other[config]) / apart
        for other, apart in zip(others, wasserstein.tolist(), strict=True)
        if apart > 0
        for config in one.keys() & other.keys()
    ]
    return max(ratios) if ratios else None


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


def gap_bound(alpha: Floats, beta: float, shift: Floats, epsilon: Floats) -> float:
    r"""Return :math:`2 \max_\theta \sum_i \alpha_i(\theta) \{\tilde\beta\,\mathrm{shift}_i + \epsilon_i(\theta)\}`.

    That is eq. opt-bnd, and eq. og-bnd with the two propositions put in. (p, n), (p,), (p, n) -> a number.
    """
    return 2 * float((alpha * (beta * shift[:, None] + epsilon)).sum(axis=0).max())


def iid_gap_bound(alpha: Floats, epsilon: Floats) -> float:
    """Return the theorem's second form, for parties whose data has one distribution."""
    return gap_bound(alpha, 0.0, np.zeros(len(alpha)), epsilon)


def corollary(gap: float, default: float, best: float) -> float | None:
    r"""Return eq. rr-bnd: the theorem's bound over :math:`\hat\ell(\theta_b) - \hat\ell(\bar\theta^\star)`, or None.

    The paper puts the surface's losses for the true ones in the denominator, without proof. None: it is not above 0.
    """
    return gap / (default - best) if default > best else None


def regret_bound(gap: float, gain: float) -> float | None:
    r"""Return what the relative regret is at most: :math:`B / (g + B)`, or None where :math:`g < 0`.

    :math:`B` bounds the gap to the best config, and :math:`g` is what is gained over the default at least. The regret
    is gap / (gain + gap): it grows with the gap and falls with the gain. A gain that is known to within :math:`B`,
    as one of the surface, is at least :math:`g = \hat g - B`: then this is the bound over :math:`\hat g > B`.
    """
    if gain < 0 or gain + gap <= 0:
        return None
    return gap / (gain + gap)


def tried_points(party: PartyTrials, space: SearchSpace) -> tuple[Points, Losses]:
    """Return a party's trials as points and losses."""
    return space.encode([t.config for t in party.trials]), np.array([t.loss for t in party.trials], dtype=np.float64)


def blocks(points: Points, size: int = BLOCK) -> Iterator[slice]:
    """Return slices of so many points: all pairs of a few with all others fit into memory."""
    return (slice(first, first + size) for first in range(0, len(points), size))


def _below(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether the middle corner is not above the line from left to right."""
    (x0, y0), (x1, y1), (x2, y2) = left, middle, right
    return (y1 - y0) * (x2 - x0) <= (y2 - y0) * (x1 - x0)


def _steps(distances: Floats, differences: Floats) -> Floats:
    """Return the largest difference at distance 0, then each that is above all nearer ones: 2 x (k,) -> (2, steps)."""
    same = distances == 0
    order = np.flatnonzero(~same)
    order = order[np.lexsort((-differences[order], distances[order]))]
    highest = np.maximum.accumulate(np.append(0.0, differences[order]))
    steps = order[differences[order] > highest[:-1]]
    noise = [[0.0], [np.max(differences[same], initial=0.0)]]
    return np.hstack([noise, [distances[steps], differences[steps]]])
