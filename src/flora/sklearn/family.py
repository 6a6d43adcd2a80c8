"""The family of one estimator: a config is set on a clone of it, and each fold tells all that a user may ask for."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from sklearn.base import clone

from flora.core.collective import Collective
from flora.errors import InputError
from flora.models.family import Held, Model, Scores, Trained
from flora.models.rows import Rows
from flora.problem.schema import Schema, Task
from flora.problem.space import Config, SearchSpace
from flora.sklearn.samples import Samples, together
from flora.sklearn.scorers import Scoring
from flora.sklearn.spaces import UserSpace

Pair = tuple[Config, float]


@dataclass(frozen=True)
class FoldScores(Sequence[Pair]):
    """What one fit came to: to the search a config and its score, to the user the scores, times and failure besides."""

    config: Config
    score: float
    test: Mapping[str, float] = field(default_factory=dict)
    train: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    score_seconds: float = 0.0
    failure: Exception | None = None

    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, place: int) -> Pair: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Pair]: ...
    def __getitem__(self, place: int | slice) -> Pair | Sequence[Pair]:
        return [(self.config, self.score)][place]


@dataclass(frozen=True)
class GivenEstimator:
    """A user's estimator, scored as the user wants it."""

    estimator: Any
    scoring: Scoring
    space: UserSpace
    name: str
    tasks: frozenset[Task]
    error_score: Any = float("nan")
    train_scores: bool = False
    note: str = "The estimator is refitted on the rows of all parties."
    passes_through: frozenset[str] = frozenset()
    grows: frozenset[str] = frozenset()

    def spaces(self, task: Task) -> Mapping[str, SearchSpace]:  # noqa: ARG002  (ModelFamily's signature)
        """Return none: an estimator alone has no space."""
        return {}

    def defaults(self, names: Sequence[str], task: Task) -> Config:  # noqa: ARG002  (ModelFamily's signature)
        """Return the estimator's own values of the named HPs."""
        known = self.estimator.get_params()
        for name in names:
            if name not in known:
                raise InputError(f"{name}: no parameter of {self.name}, which has {sorted(known)}")
        return {name: self.space.value(name, known[name]) for name in names}

    def configured(self, config: Config, seed: int) -> Any:
        """Return a clone with the config set."""
        return self.with_params(self.space.params(config), seed)

    def with_params(self, params: Mapping[str, Any], seed: int) -> Any:
        """Return a clone with parameters set, and with ``seed`` wherever its randomness is left open."""
        fresh = clone(self.estimator).set_params(**{k: clone(v, safe=False) for k, v in params.items()})
        open_ends = [
            name
            for name, value in fresh.get_params().items()
            if value is None and (name == "random_state" or name.endswith("__random_state"))
        ]
        return fresh.set_params(**dict.fromkeys(open_ends, seed))

    def score(
        self,
        config: Config,
        train: Rows,
        test: Rows,
        scoring: str,  # noqa: ARG002
        seed: int,
        path: Sequence[Config] = (),  # noqa: ARG002
    ) -> Scores:
        """Fit a clone on ``train`` and score it on ``test``; where that fails, ``error_score`` says what then."""
        try:
            return self._scores(config, _samples(train), _samples(test), seed)
        except Exception as error:  # whatever a user's estimator may raise
            if self.error_score == "raise":
                return FoldScores(config, float("nan"), failure=error)
            if self.error_score != self.error_score:  # nan: a failed trial
                raise
            value = float(self.error_score)
            return FoldScores(config, value, dict.fromkeys(self.scoring.names, value), failure=error)

    def _scores(self, config: Config, train: Samples, test: Samples, seed: int) -> FoldScores:
        began = time.perf_counter()
        fitted = self.configured(config, seed).fit(train.X, train.y, **train.fit_params)
        fit_seconds, began = time.perf_counter() - began, time.perf_counter()
        scores = self.scoring(fitted, test)
        seconds = time.perf_counter() - began
        seen = self.scoring(fitted, train) if self.train_scores else {}
        return FoldScores(config, scores[self.scoring.searched], scores, seen, fit_seconds, seconds)

    def rehearse(self, config: Config, rows: Rows, seed: int) -> None:
        """Do nothing: no model leaves this process."""

    def train(
        self, config: Config, rows: Rows, collective: Collective, seed: int, held: Held | None = None
    ) -> Trained[Model]:
        """Refuse: here all rows are in one place."""
        raise NotImplementedError("FloraSearchCV refits the estimator itself")

    def train_together(
        self,
        config: Config,
        parties: Sequence[Rows],
        seed: int,
        held: Sequence[Held] | None = None,  # noqa: ARG002  (nothing is chosen inside)
        told: Callable[[int, int], None] | None = None,  # noqa: ARG002  (a fit tells nothing)
    ) -> "Trained[Fitted]":
        """Fit a clone on the rows of all parties, as the refit does."""
        whole = together([_samples(rows) for rows in parties])
        return Trained(
            Fitted(self.configured(config, seed).fit(whole.X, whole.y, **whole.fit_params), self.scoring), config
        )

    def load(self, files: Mapping[str, bytes], schema: Schema) -> Model:
        """Refuse: there is no file."""
        raise NotImplementedError("FloraSearchCV stores no model")


@dataclass(frozen=True)
class Fitted:
    """A fitted estimator, which is scored as the user wants it."""

    estimator: Any
    scoring: Scoring

    def score(self, rows: Rows) -> float:
        """Return the score that the search goes by."""
        return self.scoring(self.estimator, _samples(rows))[self.scoring.searched]

    def predict(self, X: Any) -> Any:
        """Return the estimator's own predictions."""
        return self.estimator.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the estimator's own probabilities."""
        return self.estimator.predict_proba(X)

    def files(self) -> Mapping[str, bytes]:
        """Refuse: there is no file."""
        raise NotImplementedError("FloraSearchCV stores no model")


def _samples(rows: Rows) -> Samples:
    if not isinstance(rows, Samples):
        raise TypeError(f"a user's estimator sees Samples, got {type(rows).__name__}")
    return rows
