"""Families of models: what a config means, how good it is on a party's rows, how it is trained by all parties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flora.collective import Collective
from flora.errors import InputError
from flora.schema import Schema, Task
from flora.space import Config, SearchSpace

if TYPE_CHECKING:
    from flora.table import Rows

Floats = NDArray[np.float64]
FAMILIES = ("hgb", "svm", "mlp")  # and any estimator, by its package.module:Estimator
Scores = Sequence[tuple[Config, float]]  # the config that was asked for first, then what its fit passed through


class Model(Protocol):
    """A trained model. It is the same, byte for byte, at each party."""

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return places in the list of classes, or real numbers: (n, d) of ``Rows.X`` -> (n,)."""
        ...

    def predict_proba(self, X: Floats) -> Floats | None:
        """Return each class's probability, (n, d) -> (n, classes), or None where the family knows none."""
        ...

    def files(self) -> Mapping[str, bytes]:
        """Return the model as named files without pickle, for :meth:`Family.load`."""
        ...


@dataclass(frozen=True)
class Held:
    """Rows that a party holds out of a training, and the scoring that its outcome will be judged by."""

    rows: "Rows"
    scoring: str


M_co = TypeVar("M_co", bound=Model, covariant=True)


@dataclass(frozen=True)
class Trained(Generic[M_co]):
    """What came of a training: the model, and the config as it was trained.

    It is the config that was asked for, but for the HPs that the training passes through and chooses itself.
    """

    model: M_co
    config: Config


class Family(Protocol):
    """A kind of model. A family is a value without state."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    @property
    def tasks(self) -> frozenset[Task]:
        """The tasks that it can do."""
        ...

    @property
    def note(self) -> str:
        """How the parties train it together, in a sentence for the user."""
        ...

    @property
    def passes_through(self) -> frozenset[str]:
        """The whole-number HPs, as the number of trees, whose every smaller value a fit passes through on its way."""
        ...

    @property
    def grows(self) -> frozenset[str]:
        """The other HPs whose best values rise with the number of rows, as that of a penalty on errors does."""
        ...

    def space(self, task: Task) -> SearchSpace:
        """Return the family's own space, with its default config."""
        ...

    def defaults(self, names: Sequence[str], task: Task) -> Config:
        """Return the defaults of a user's own choice of HPs, where there are any; refuse HPs that it does not have."""
        ...

    def score(
        self, config: Config, train: "Rows", test: "Rows", scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        """Fit on ``train``, score on ``test``: the scikit-learn scores of the config, then of each of ``path``.

        The configs of ``path`` differ from ``config`` in one HP that the fit passes through, and only there.
        """
        ...

    def rehearse(self, config: Config, rows: "Rows", seed: int) -> None:
        """Raise where this party's model could not leave it: better before the search than after it."""
        ...

    def train(
        self, config: Config, rows: "Rows", collective: Collective, seed: int, held: Held | None = None
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
class FederatedFamily(Protocol):
    """A family whose training has HPs of the aggregator's own."""

    def federated_space(self, task: Task) -> SearchSpace:
        """Return the family's space with them."""
        ...


def family_of(name: str) -> Family:
    """Return the family called ``name``: ``hgb``, ``svm``, ``mlp`` or ``package.module:Estimator``."""
    if name == "hgb":
        from flora.models.hgb import GradientBoosting

        return GradientBoosting()
    if name == "svm":
        from flora.models.svm import SupportVectors

        return SupportVectors()
    if name == "mlp":
        from flora.models.mlp import Perceptron

        return Perceptron()
    if ":" in name:
        from flora.models.estimator import AnyEstimator

        return AnyEstimator.named(name)
    raise InputError(f"the model must be hgb, svm, mlp or package.module:Estimator, got {name!r}")
