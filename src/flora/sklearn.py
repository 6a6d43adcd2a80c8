"""FLoRA behind scikit-learn's interface: parties are groups of rows, and the answer is a fitted estimator."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, indexable

from flora.aggregator.aggregation import Aggregation
from flora.aggregator.choose import Objective
from flora.aggregator.surface import SurfaceChoice
from flora.core.collective import Collective
from flora.core.workers import workers
from flora.engines.threads import in_process
from flora.errors import DataError, FloraError, InputError
from flora.models.family import Held, Model, Scores, Trained
from flora.models.rows import Rows
from flora.party.gate import Gate
from flora.party.party import Party
from flora.problem.schema import Schema, Task
from flora.problem.space import Config, SearchSpace
from flora.problem.trials import PartyTrials, loss_of
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import single_shot

Scorer = Callable[[Any, Any, Any], float]
EVERYBODY = "all rows"


@dataclass(frozen=True)
class Samples(Rows):
    """Rows as scikit-learn users have them: any X that the estimator takes."""

    X: Any
    y: NDArray[Any]
    schema: Schema

    def take(self, index: NDArray[np.intp]) -> "Samples":
        """Return the samples at ``index``."""
        return Samples(_safe_indexing(self.X, index), _safe_indexing(self.y, index), self.schema)


@dataclass(frozen=True)
class InMemory:
    """Samples as a party's source of rows; columns are the estimator's business, so that nothing need be agreed on."""

    samples: Samples

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.samples)

    def described(self, task: Task | None, like: Schema | None) -> tuple[Schema, int, list[str]]:  # noqa: ARG002
        """Return the schema of the target alone."""
        return self.samples.schema, len(self.samples), []

    def local_rows(self, task: Task | None, like: Schema | None) -> Samples:  # noqa: ARG002
        """Return the samples."""
        return self.samples

    def rows(self, schema: Schema) -> Samples:  # noqa: ARG002
        """Return the samples."""
        return self.samples


@dataclass(frozen=True)
class GivenEstimator:
    """The family of one estimator: a config is set on a clone of it."""

    estimator: Any
    scorer: Scorer
    name: str
    tasks: frozenset[Task]
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
        return {name: known[name] for name in names}

    def score(
        self,
        config: Config,
        train: Rows,
        test: Rows,
        scoring: str,  # noqa: ARG002
        seed: int,
        path: Sequence[Config] = (),  # noqa: ARG002
    ) -> Scores:
        """Fit a clone on ``train`` and score it on ``test``."""
        fitted = configured(self.estimator, config, seed).fit(train.X, train.y)
        return [(config, float(self.scorer(fitted, test.X, test.y)))]

    def rehearse(self, config: Config, rows: Rows, seed: int) -> None:
        """Do nothing: no model leaves this process."""

    def train(
        self, config: Config, rows: Rows, collective: Collective, seed: int, held: Held | None = None
    ) -> Trained[Model]:
        """Refuse: here all rows are in one place."""
        raise NotImplementedError("FloraSearchCV refits the estimator itself")

    def load(self, files: Mapping[str, bytes], schema: Schema) -> Model:
        """Refuse: there is no file."""
        raise NotImplementedError("FloraSearchCV stores no model")


def configured(estimator: Any, config: Config, seed: int) -> Any:
    """Return a clone with the config set, and with ``seed`` wherever its randomness is left open."""
    fresh = clone(estimator).set_params(**config)
    open_ends = [
        name
        for name, value in fresh.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return fresh.set_params(**dict.fromkeys(open_ends, seed))


def _best_has(name: str) -> Callable[[Any], bool]:
    def check(search: "FloraSearchCV") -> bool:
        getattr(search.best_estimator_ if hasattr(search, "best_estimator_") else search.estimator, name)
        return True

    return check


class FloraSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Single-shot HPO over parties, as a scikit-learn estimator.

    Args:
        estimator: The classifier or regressor to tune.
        space: A :class:`flora.SearchSpace`, the paper's dictionary or Optuna's distributions.
        surface: ``"aplm"``, ``"mplm"``, ``"sgm"``, ``"sgm+u"`` or ``"median"``.
        regressor: ``"forest"`` or ``"gp"``.
        alpha: How much SGM+U minds uncertainty.
        weights: ``"equal"`` or ``"rows"``.
        confirm: How many of the surface's best configs all parties measure again; 0 takes its minimum as it is.
        objective: ``"mean"`` of the parties' losses, or that of the ``"worst"``-off party.
        n_trials: Trials at each party.
        cv: Folds at each party; at most the size of its smallest class.
        scoring: A scorer's name, a scorer, or None for the estimator's own score.
        sampler: ``"tpe"``, ``"gp"`` or ``"random"``.
        race: Whether a config that is behind the best with confidence may miss folds.
        n_jobs: Processes at work; None is 1, and -1 as many as there are cores.
        random_state: Decides everything; None draws a new seed.

    Attributes:
        best_params_: What ``best_estimator_`` was fitted with: the recommendation, or the estimator's own values
            where the verdict is to keep them.
        best_estimator_: The estimator with these, refitted on the rows of all parties.
        best_score_: The mean score of ``best_params_`` over the parties, on folds that the search has not seen.
        recommendation_: The config that did best when all parties measured the surface's best, with its predicted loss.
        verdict_: ``"use"`` or ``"keep-defaults"``; ``gain_`` has the gain and its standard error.
        surface_: The loss surface.
        diagnoses_: Each party beside the others: whether it disagrees, and what they would recommend without it.
        cv_results_: All parties' trials, as scikit-learn's searches show them.
        trials_: The same as :class:`flora.PartyTrials`.
    """

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        surface: str = SurfaceChoice.name,
        regressor: str = SurfaceChoice.regressor,
        alpha: float = SurfaceChoice.alpha,
        weights: str = SurfaceChoice.weights,
        confirm: int = Request.confirm,
        objective: Objective = Request.objective,
        n_trials: int = Request.trials,
        cv: int = Request.folds,
        scoring: Any = None,
        sampler: str = Request.sampler,
        race: bool = Request.race,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.surface = surface
        self.regressor = regressor
        self.alpha = alpha
        self.weights = weights
        self.confirm = confirm
        self.objective = objective
        self.n_trials = n_trials
        self.cv = cv
        self.scoring = scoring
        self.sampler = sampler
        self.race = race
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Tune and refit; ``groups`` names the party of each row, and without it all rows are one party's."""
        X, y, groups = indexable(X, y, groups)
        if groups is None:
            return self._fit({EVERYBODY: (X, y)}, X, y)
        names = np.asarray([str(group) for group in groups])
        members = {str(name): np.flatnonzero(names == name) for name in np.unique(names)}
        parties = {name: (_safe_indexing(X, rows), _safe_indexing(y, rows)) for name, rows in members.items()}
        return self._fit(parties, X, y)

    def fit_parties(self, parties: Mapping[str, tuple[Any, Any]]) -> Self:
        """Tune and refit on ``{"a": (Xa, ya), "b": (Xb, yb)}``."""
        if not parties:
            raise DataError("fit_parties needs at least one party, got none")
        names = sorted(parties)
        X = _stacked([parties[name][0] for name in names])
        y = np.concatenate([np.asarray(parties[name][1]) for name in names])
        return self._fit({name: parties[name] for name in names}, X, y)

    def _fit(self, parties: Mapping[str, tuple[Any, Any]], X: Any, y: Any) -> Self:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        configured(self.estimator, {}, seed).fit(X, y)  # what the estimator refuses, it refuses in its own words
        task: Task = "classification" if is_classifier(self.estimator) else "regression"
        y = column_or_1d(y, warn=True) if task == "classification" else y
        scorer = check_scoring(self.estimator, self.scoring)
        family = GivenEstimator(self.estimator, scorer, type(self.estimator).__name__, frozenset({task}))
        rows = {name: _samples(name, *party, task) for name, party in sorted(parties.items())}
        jobs = effective_n_jobs(self.n_jobs)
        with workers(jobs) as spread:
            gates = [
                Gate(Party(name, InMemory(samples), spread=spread, families=lambda _: family))
                for name, samples in rows.items()
            ]
            # Parties in turn: their folds share the processes, and a user's estimator need not bear threads.
            outcome = drive(single_shot(self._request(family, task, seed), lambda _: family), in_process(gates))
        self._conclude(outcome.found)
        began = time.perf_counter()
        self.best_estimator_ = configured(self.estimator, self.best_params_, seed).fit(X, y)
        self.refit_time_ = time.perf_counter() - began
        return self

    def _request(self, family: GivenEstimator, task: Task, seed: int) -> Request:
        name = self.scoring if isinstance(self.scoring, str) else getattr(self.scoring, "__name__", "score")
        return Request(
            family=family.name,
            space=self.space.to_json() if isinstance(self.space, SearchSpace) else self.space,
            task=task,
            scoring=name,
            trials=self.n_trials,
            folds=self.cv,
            sampler=self.sampler,
            race=self.race,
            seed=seed,
            surface=SurfaceChoice(self.surface, self.regressor, self.alpha, self.weights),
            confirm=self.confirm,
            objective=self.objective,
            trainings=0,
        )

    def _conclude(self, found: Aggregation) -> None:
        verdict, space = found.verdict, found.space
        if verdict is None:  # a plan has a default, and so has its space
            raise FloraError("the space has no default config")
        self.trials_ = found.trials
        self.surface_, self.recommendation_ = found.surface, found.recommendation
        self.verdict_, self.gain_ = verdict.decision, verdict.gain
        use = verdict.decision == "use"
        self.best_params_ = dict(found.recommendation.config if use else space.default)
        self.diagnoses_ = dict(found.diagnoses)
        scoring, sizes = found.trials[0].scoring, [party.rows or 0 for party in found.trials]
        losses = [_loss_at(party.party, use, found) for party in found.trials]
        self.best_score_ = loss_of(scoring, float(np.average(losses, weights=sizes)))
        self.cv_results_ = _cv_results(found.trials)

    @available_if(_best_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Return the best estimator's predictions."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the best estimator's probabilities."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the best estimator's probabilities."""
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @available_if(_best_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the best estimator's decision values."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """Return the best estimator's score by ``scoring``."""
        check_is_fitted(self)
        return float(check_scoring(self.estimator, self.scoring)(self.best_estimator_, X, y))

    @property
    def classes_(self) -> Any:
        """The classes that the best estimator knows."""
        _best_has("classes_")(self)
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features that the best estimator was fitted on."""
        try:
            check_is_fitted(self)
        except Exception as error:  # scikit-learn wants an AttributeError from an unfitted estimator
            raise AttributeError(f"{type(self).__name__} is not fitted") from error
        return int(self.best_estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features that the best estimator was fitted on."""
        return self.best_estimator_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = clone(self.estimator).__sklearn_tags__()
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags = inner.input_tags
        if tags.classifier_tags is not None:  # stratified folds need one class for each row
            tags.classifier_tags.multi_label = tags.target_tags.multi_output = False
        return tags


def _samples(party: str, X: Any, y: Any, task: Task) -> Samples:
    X, y = indexable(X, y)
    values = column_or_1d(y) if task == "classification" else np.asarray(y)
    if len(values) < 2:
        raise DataError(f"party {party!r}: need at least 2 rows, got n_samples={len(values)}")
    if task == "regression":
        return Samples(X, values, Schema("y", task, ()))
    classes, counts = np.unique(values, return_counts=True)
    if len(classes) < 2:
        raise DataError(f"party {party!r}: need at least 2 classes, every row has {classes[0].item()!r}")
    if counts.min() < 2:
        raise DataError(f"party {party!r}: a class needs at least 2 rows, {classes[counts.argmin()].item()!r} has 1")
    return Samples(X, values, Schema("y", task, (), tuple(range(len(classes)))))


def _loss_at(party: str, use: bool, found: Aggregation) -> float:
    """Return the loss of the best params at a party: measured, or where nothing was, as the surface predicts it."""
    if not found.diagnoses:
        config = found.recommendation.measured if use else found.space.default
        return float(found.surface(found.space.encode([config]))[0])
    return (found.diagnoses[party].measured if use else found.confirmed[party][0]).trial.loss


def _stacked(parts: Sequence[Any]) -> Any:
    if all(hasattr(part, "iloc") for part in parts):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return np.concatenate([np.asarray(part) for part in parts])


def _cv_results(parties: Sequence[PartyTrials]) -> dict[str, Any]:
    """Return one entry a trial, party after party."""
    trials = [(party.party, trial) for party in parties for trial in party.trials]
    means = np.array([loss_of(parties[0].scoring, trial.loss) for _, trial in trials])
    names = parties[0].space.names
    return {
        "party": np.array([party for party, _ in trials]),
        "params": [dict(trial.config) for _, trial in trials],
        **{f"param_{name}": np.array([trial.config[name] for _, trial in trials]) for name in names},
        "mean_test_score": means,
        "standard_error_test_score": np.array([trial.error for _, trial in trials]),
        "rank_test_score": (-means).argsort(kind="stable").argsort(kind="stable") + 1,
    }
