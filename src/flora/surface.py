"""What the aggregator believes: the paper's four loss surfaces and a robust one, learnt from (HP, loss) pairs.

Points are those of the search space's unit cube. Nothing here depends on the order in which parties arrive.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np

from flora.errors import InputError, TrialsError
from flora.randomness import derived_seed, stream
from flora.regressors import REGRESSORS, Losses, Regressor, Weights
from flora.space import Points, SearchSpace
from flora.trials import PartyTrials

WEIGHTS = ("equal", "rows")
LEVEL_POINTS = 512  # random ones, over which a party's surface has its mean


class LossSurface(Protocol):
    """The federated loss, as the aggregator believes it to be."""

    def __call__(self, points: Points) -> Losses:
        """Return the predicted loss at each row of ``points``: (n, d) -> (n,)."""
        ...

    def error(self, points: Points) -> Losses:
        """Return the standard deviation of that belief: (n, d) -> (n,)."""
        ...


@dataclass(frozen=True)
class SurfaceChoice:
    """Which surface, and how it is learnt. Weights by rows let a party count by its size; SGM+U reads ``alpha``."""

    name: str = "aplm"
    regressor: str = "forest"
    alpha: float = 1.0
    weights: str = "equal"

    def __post_init__(self) -> None:
        _check_choice("surface", self.name, SURFACES)
        _check_choice("regressor", self.regressor, REGRESSORS)
        _check_choice("weights", self.weights, WEIGHTS)
        if not (math.isfinite(self.alpha) and self.alpha > 0):
            raise InputError(f"alpha must be a finite number > 0, got {self.alpha}")
        if self.name in ("mplm", "median") and self.weights != "equal":
            raise InputError(f"surface {self.name!r} has no weights, got weights {self.weights!r}")
        if self.name.startswith("sgm") and self.regressor == "gp" and self.weights != "equal":
            raise InputError("regressor 'gp' cannot weigh merged trials: use regressor 'forest' or weights 'equal'")


Fit = Callable[[Sequence[PartyTrials], SearchSpace, int, SurfaceChoice], LossSurface]


@dataclass(frozen=True)
class GlobalModel:
    r"""SGM: :math:`\hat\ell(\theta) = f(\theta)`, with one regressor :math:`f` on the merged :math:`\cup_i E^{(i)}`."""

    regressor: Regressor

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, choice: SurfaceChoice) -> Self:
        """Fit one regressor to all parties' trials."""
        return cls(_merged(trials, space, seed, choice))

    def __call__(self, points: Points) -> Losses:
        r"""Return :math:`f(\theta)`: (n, d) -> (n,)."""
        return self.regressor.mean(points)

    def error(self, points: Points) -> Losses:
        r"""Return :math:`u(\theta)`: (n, d) -> (n,)."""
        return self.regressor.deviation(points)


@dataclass(frozen=True)
class GlobalModelWithUncertainty:
    r"""SGM+U: :math:`\hat\ell(\theta) = f(\theta) + \alpha \cdot u(\theta)`, with :math:`u` the deviation of :math:`f`.

    Where parties tried little, or do not agree, :math:`u` is high and the config is held to be worse.
    """

    regressor: Regressor
    alpha: float = 1.0

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, choice: SurfaceChoice) -> Self:
        """Fit one regressor to all parties' trials."""
        return cls(_merged(trials, space, seed, choice), choice.alpha)

    def __call__(self, points: Points) -> Losses:
        r"""Return :math:`f(\theta) + \alpha \cdot u(\theta)`: (n, d) -> (n,)."""
        return self.regressor.mean(points) + self.alpha * self.regressor.deviation(points)

    def error(self, points: Points) -> Losses:
        r"""Return :math:`u(\theta)`: (n, d) -> (n,)."""
        return self.regressor.deviation(points)


@dataclass(frozen=True)
class MaxOfParties:
    r"""MPLM: :math:`\hat\ell(\theta) = \max_i f^{(i)}(\theta)`, the loss of the worst-off party."""

    parties: tuple[Regressor, ...]

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, choice: SurfaceChoice) -> Self:
        """Fit one regressor to each party's own trials."""
        return cls(_per_party(trials, space, seed, choice))

    def __call__(self, points: Points) -> Losses:
        r"""Return :math:`\max_i f^{(i)}(\theta)`: (n, d) -> (n,)."""
        return np.asarray(np.max([party.mean(points) for party in self.parties], axis=0))

    def error(self, points: Points) -> Losses:
        r"""Return :math:`u^{(k)}(\theta)` of the worst-off party, :math:`k = \arg\max_i f^{(i)}(\theta)`."""
        worst = np.argmax([party.mean(points) for party in self.parties], axis=0)
        deviations = np.array([party.deviation(points) for party in self.parties])
        return np.asarray(deviations[worst, np.arange(len(points))])


@dataclass(frozen=True)
class AverageOfParties:
    r"""APLM: :math:`\hat\ell(\theta) = \sum_i w_i f^{(i)}(\theta)`, with one regressor per party.

    :math:`w_i` is the paper's :math:`1/p`, or :math:`n_i/n` by rows.
    """

    parties: tuple[Regressor, ...]
    weights: tuple[float, ...]  # one for each party; only their ratios count

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.parties) or not all(weight > 0 for weight in self.weights):
            raise InputError(f"need a weight > 0 for each of {len(self.parties)} parties, got {list(self.weights)}")

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, choice: SurfaceChoice) -> Self:
        """Fit one regressor to each party's own trials."""
        weights = [_rows(party) if choice.weights == "rows" else 1.0 for party in trials]
        return cls(_per_party(trials, space, seed, choice), tuple(weights))

    def __call__(self, points: Points) -> Losses:
        r"""Return :math:`\sum_i w_i f^{(i)}(\theta)`: (n, d) -> (n,)."""
        return np.average([party.mean(points) for party in self.parties], axis=0, weights=self.weights)

    def error(self, points: Points) -> Losses:
        r"""Return :math:`\sqrt{\sum_i w_i^2 u^{(i)}(\theta)^2}`: parties err independently of each other."""
        shares = np.array(self.weights) / sum(self.weights)
        deviations = np.array([party.deviation(points) for party in self.parties])
        return np.asarray(np.sqrt((shares[:, None] ** 2 * deviations**2).sum(axis=0)))


@dataclass(frozen=True)
class MedianOfParties:
    r"""The median of the parties' own surfaces: whatever fewer than half of them say, it stays among the others'.

    Each party's surface counts by how it differs from its own mean, or those with high losses would never count.
    """

    parties: tuple[Regressor, ...]
    levels: tuple[float, ...]  # each party's mean loss over the space

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, choice: SurfaceChoice) -> Self:
        """Fit one regressor to each party's own trials."""
        parties = _per_party(trials, space, seed, choice)
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


SURFACES: dict[str, Fit] = {
    "sgm": GlobalModel.fit,
    "sgm+u": GlobalModelWithUncertainty.fit,
    "mplm": MaxOfParties.fit,
    "aplm": AverageOfParties.fit,
    "median": MedianOfParties.fit,
}


def fit_surface(
    name: str,
    trials: Sequence[PartyTrials],
    space: SearchSpace,
    seed: int,
    *,
    regressor: str = "forest",
    alpha: float = 1.0,
    weights: str = "equal",
) -> LossSurface:
    """Learn the surface called ``name`` from the parties' trials over ``space``.

    Args:
        name: One of ``SURFACES``.
        trials: What each party tried; they must belong together.
        space: The space that was searched; the surface is over its unit cube.
        seed: All randomness comes from it.
        regressor: One of ``REGRESSORS``.
        alpha: How much SGM+U adds of the uncertainty.
        weights: ``"equal"``, or ``"rows"`` to let each party count by its number of rows (not for MPLM and the median).
    """
    choice = SurfaceChoice(name, regressor, alpha, weights)
    check_compatible(trials)
    ordered = sorted(trials, key=lambda party: party.party)
    if set(ordered[0].space.parameters) != set(space.parameters):
        raise TrialsError(f"the surface's space is not the one that party {ordered[0].party!r} searched")
    return SURFACES[name](ordered, space, seed, choice)


def check_compatible(trials: Sequence[PartyTrials]) -> None:
    """Raise :class:`TrialsError` unless the trials belong together and each party has a successful one."""
    if not trials:
        raise TrialsError("need the trials of at least one party, got none")
    ordered = sorted(trials, key=lambda party: party.party)
    for one, other in pairwise(ordered):
        if one.party == other.party:
            raise TrialsError(f"party names must differ, {one.party!r} comes twice")
    for party in ordered:
        if not party.trials:
            raise TrialsError(
                f"party {party.party!r}: need at least one successful trial, all {len(party.failed)} failed"
            )
    for party in ordered[1:]:
        _check_same_space(ordered[0], party)
    for field in ("scoring", "family", "task"):
        stated = [party for party in ordered if getattr(party, field) is not None]
        for party in stated[1:]:
            _check_same(f"the {field}", stated[0], getattr(stated[0], field), party, getattr(party, field))


def _check_same_space(one: PartyTrials, other: PartyTrials) -> None:
    if one.space.digest == other.space.digest:
        return
    ours, theirs = one.space.to_json(), other.space.to_json()
    for name in sorted({*ours, *theirs}):  # says more than the digests do
        _check_same(f"HP {name!r} of the space", one, ours.get(name), other, theirs.get(name))
    _check_same("the digest of the space", one, one.space.digest, other, other.space.digest)


def _check_same(what: str, one: PartyTrials, mine: Any, other: PartyTrials, yours: Any) -> None:
    if mine != yours:
        raise TrialsError(
            f"{what} must be the same at all parties, got {mine!r:.200} at {one.party!r}, {yours!r:.200} at "
            f"{other.party!r}"
        )


def _check_choice(what: str, choice: str, choices: Any) -> None:
    if choice not in choices:
        raise InputError(f"the {what} must be one of {list(choices)}, got {choice!r}")


def _merged(trials: Sequence[PartyTrials], space: SearchSpace, seed: int, choice: SurfaceChoice) -> Regressor:
    points = np.vstack([_points(party, space) for party in trials])
    losses = np.concatenate([_losses(party) for party in trials])
    weights = _trial_weights(trials) if choice.weights == "rows" else None
    return REGRESSORS[choice.regressor](points, losses, derived_seed(seed, "surface"), weights)


def _per_party(
    trials: Sequence[PartyTrials], space: SearchSpace, seed: int, choice: SurfaceChoice
) -> tuple[Regressor, ...]:
    fit = REGRESSORS[choice.regressor]
    return tuple(fit(_points(p, space), _losses(p), derived_seed(seed, "surface", p.party)) for p in trials)


def _trial_weights(trials: Sequence[PartyTrials]) -> Weights:
    """Return a weight for each merged trial: a party's rows, shared out among its trials."""
    return np.concatenate([np.full(len(party.trials), _rows(party) / len(party.trials)) for party in trials])


def _rows(party: PartyTrials) -> float:
    if party.rows is None:
        raise TrialsError(f"weights 'rows' need the number of rows, and party {party.party!r} does not state it")
    return float(party.rows)


def _points(party: PartyTrials, space: SearchSpace) -> Points:
    return space.encode([trial.config for trial in party.trials])


def _losses(party: PartyTrials) -> Losses:
    return np.array([trial.loss for trial in party.trials], dtype=float)
