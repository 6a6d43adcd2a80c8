"""What every loss surface can do, and what several of them share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.effort import effort_for
from flora.errors import TrialsError
from flora.problem.space import Points, SearchSpace
from flora.problem.trials import PartyTrials
from flora.randomness import derived_seed
from flora.surrogate.own_surface import own_surface
from flora.surrogate.regressors import REGRESSORS, Losses, Regressor, Weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Learning:
    """How a surface is learnt. Weights by rows let a party count by its size; SGM+U reads ``alpha``."""

    regressor: str = "forest"
    alpha: float = 1.0
    weights: str = "equal"


class LossSurface(Protocol):
    """The federated loss, as the aggregator believes it to be."""

    def __call__(self, points: Points) -> Losses:
        """Return the predicted loss at each row of ``points``: (n, d) -> (n,)."""
        ...

    def error(self, points: Points) -> Losses:
        """Return the standard deviation of that belief: (n, d) -> (n,)."""
        ...


class SurfaceKind(LossSurface, Protocol):
    """A kind of loss surface, with what the paper's theorem and the report want to know of it."""

    words: ClassVar[str]  # for the report: "the average of ..."
    weighted: ClassVar[bool]  # whether parties may count by their rows
    merged: ClassVar[bool]  # whether one regressor learns from all parties' trials together

    @classmethod
    def fit(cls, trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> Self:
        """Learn the surface from trials, which come sorted by party."""
        ...

    @property
    def parts(self) -> tuple[Regressor, ...]:
        r"""The parties' own surfaces :math:`\hat\ell_i` that it is made of (eq. global-loss), in order; or none."""
        ...

    def alpha_of(self, predicted: Floats, brace: Floats) -> Floats:
        r"""Return :math:`\alpha_i(\theta)` of eq. global-loss: (p, n) -> (p, n), columns that add up to 1.

        Args:
            predicted: :math:`\hat\ell_i(\theta)`.
            brace: What the theorem sums, :math:`\{\ldots\}_i(\theta)`.
        """
        ...

    def without(self, party: int) -> Self | None:
        """Return the surface without one of its parts; None where it has to be learnt again."""
        ...


class Undivided:
    """A surface that is not made of the parties' own: any weights satisfy eq. global-loss."""

    @property
    def parts(self) -> tuple[Regressor, ...]:
        """None."""
        return ()

    def alpha_of(self, predicted: Floats, brace: Floats) -> Floats:
        """Return all weight on the party of the smallest brace: the theorem holds for any, so for the best."""
        return one_hot(brace.argmin(axis=0), len(predicted))

    def without(self, party: int) -> None:  # noqa: ARG002  (it has to be learnt again)
        """Return None."""
        return


def one_hot(chosen: NDArray[np.intp], parties: int) -> Floats:
    """Return a 1 for the chosen party of each column: (n,) -> (p, n)."""
    return np.asarray((np.arange(parties)[:, None] == chosen).astype(np.float64))


def merged(trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> Regressor:
    """Return one regressor of all parties' trials."""
    points, losses = _points(trials, space), _losses(trials)
    weights = _trial_weights(trials) if how.weights == "rows" else None
    return REGRESSORS[how.regressor](points, losses, derived_seed(seed, "surface"), weights)


def per_party(trials: Sequence[PartyTrials], space: SearchSpace, seed: int, how: Learning) -> tuple[Regressor, ...]:
    """Return one regressor of each party's own trials; a party's name decides its randomness."""
    ends = np.cumsum([len(party.trials) for party in trials])[:-1]
    points, losses = np.split(_points(trials, space), ends), np.split(_losses(trials), ends)
    trees = effort_for(len(trials)).trees
    return tuple(
        own_surface(party.party, *own, regressor=how.regressor, seed=seed, trees=trees)
        for party, *own in zip(trials, points, losses, strict=True)
    )


def rows_of(party: PartyTrials) -> float:
    """Return a party's number of rows, by which it counts."""
    if party.rows is None:
        raise TrialsError(f"weights 'rows' need the number of rows, and party {party.party!r} does not state it")
    return float(party.rows)


def _trial_weights(trials: Sequence[PartyTrials]) -> Weights:
    """Return a weight for each merged trial: a party's rows, shared out among its trials."""
    return np.concatenate([np.full(len(party.trials), rows_of(party) / len(party.trials)) for party in trials])


def _points(trials: Sequence[PartyTrials], space: SearchSpace) -> Points:
    """Return the points of all parties' trials, which are encoded at once."""
    return space.encode([trial.config for party in trials for trial in party.trials])


def _losses(trials: Sequence[PartyTrials]) -> Losses:
    return np.array([trial.loss for party in trials for trial in party.trials], dtype=float)
