"""What every family of models can do: a config's score on a party's rows, a training by all parties, a stored model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flora.core.collective import Collective
from flora.models.rows import Rows
from flora.problem.family import Family
from flora.problem.schema import Schema
from flora.problem.space import Config

Floats = NDArray[np.float64]
Scores = Sequence[tuple[Config, float]]  # the config that was asked for first, then what its fit passed through


class Predicts(Protocol):
    """What a score asks of a model."""

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return indices of classes, or real numbers: (n, d) of ``Rows.X`` -> (n,)."""
        ...

    def predict_proba(self, X: Floats) -> Floats | None:
        """Return each class's probability, (n, d) -> (n, classes), or None where the family knows none."""
        ...


class Model(Predicts, Protocol):
    """A trained model. It is the same, byte for byte, at each party."""

    def files(self) -> Mapping[str, bytes]:
        """Return the model as named files without pickle, for :meth:`ModelFamily.load`."""
        ...


@dataclass(frozen=True)
class Held:
    """Rows that a party holds out of a training, and the scoring that its outcome will be judged by."""

    rows: Rows
    scoring: str


M_co = TypeVar("M_co", bound=Model, covariant=True)


@dataclass(frozen=True)
class Trained(Generic[M_co]):
    """What came of a training: the model, and the config as it was trained.

    It is the config that was asked for, but for the HPs that the training passes through and chooses itself.
    """

    model: M_co
    config: Config


class ModelFamily(Family, Protocol):
    """A kind of model whose code is at hand."""

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        """Fit on ``train``, score on ``test``: the scikit-learn scores of the config, then of each of ``path``.

        The configs of ``path`` differ from ``config`` in one HP that the fit passes through, and only there.
        """
        ...

    def rehearse(self, config: Config, rows: Rows, seed: int) -> None:
        """Raise where this party's model could not leave it: better before the search than after it."""
        ...

    def train(
        self, config: Config, rows: Rows, collective: Collective, seed: int, held: Held | None = None
    ) -> Trained[Model]:
        """Train with all parties over the collective. Each party calls this with its own rows.

        Where rows are ``held`` out, the parties' summed losses on them choose the HPs that the training passes
        through, if the family has any.
        """
        ...

    def load(self, files: Mapping[str, bytes], schema: Schema) -> Model:
        """Return the model that :meth:`Model.files` wrote."""
        ...


@runtime_checkable
class ScoresOnTheWay(Protocol):
    """A family that tells its scores while a fit is under way."""

    def scores_on_the_way(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Iterator[tuple[Config, float]]:
        """Yield what :meth:`ModelFamily.score` returns as the fit gets there; who has heard enough leaves the loop."""
        ...


@runtime_checkable
class ScoresItself(Protocol):
    """A model whose scoring only it knows, as a scikit-learn user's own."""

    def score(self, rows: Rows) -> float:
        """Return its score on rows."""
        ...


@runtime_checkable
class TrainsTogether(Family, Protocol):
    """A family whose training hangs on exact sums alone: rows that are in one place may as well lie together."""

    def train_together(
        self,
        config: Config,
        parties: Sequence[Rows],
        seed: int,
        held: Sequence[Held] | None = None,
        told: Callable[[int, int], None] | None = None,
    ) -> Trained[Model]:
        """Return, byte for byte, what :meth:`ModelFamily.train` gives to parties apart, which ``told`` can follow."""
        ...
