"""``FloraSearchCV``: single-shot HPO over parties, as a scikit-learn estimator."""

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import Bunch, check_random_state, estimator_html_repr
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _num_samples, column_or_1d, indexable

from flora.aggregator.evidence import Objective
from flora.aggregator.surface import SurfaceChoice
from flora.core.workers import workers
from flora.engines.threads import in_process
from flora.errors import DataError, FloraError, InputError
from flora.party.gate import Gate
from flora.party.party import Party
from flora.problem.schema import Schema, Task
from flora.program.drive import drive
from flora.program.request import Request
from flora.program.single_shot import Outcome, recommend
from flora.sklearn.delegates import Delegates
from flora.sklearn.family import GivenEstimator
from flora.sklearn.html import summary
from flora.sklearn.progress import progress_of
from flora.sklearn.results import Watched, failures, rows_of, several, table_of
from flora.sklearn.samples import InMemory, Samples, check_columns, dealt, draws, party_names, splitter_of, stacked
from flora.sklearn.scorers import accepts_weights, scoring_name, scoring_of
from flora.sklearn.spaces import plain, user_space

EVERYBODY = "all rows"


class FloraSearchCV(Delegates, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Single-shot HPO over parties, as a scikit-learn estimator.

    Args:
        estimator: The classifier or regressor to tune.
        space: What to search: a mapping of parameters to lists of values or scipy's distributions, as for
            ``RandomizedSearchCV``, the paper's dictionary, Optuna's distributions, or a :class:`flora.SearchSpace`.
        surface: ``"aplm"``, ``"mplm"``, ``"sgm"``, ``"sgm+u"`` or ``"median"``.
        regressor: ``"forest"`` or ``"gp"``.
        alpha: How much SGM+U minds uncertainty.
        weights: ``"equal"`` or ``"rows"``.
        confirm: How many of the surface's best configs all parties measure again; 0 takes its minimum as it is.
        objective: ``"mean"`` of the parties' losses, or that of the ``"worst"``-off party.
        n_trials: Trials at each party.
        cv: Folds at each party, at most the size of its smallest class; or a splitter, which divides each party's
            rows; or pairs of indices of all rows. Folds of a splitter without randomness are the same in search and
            confirmation, so that the gain flatters: a warning says so.
        scoring: A scorer's name, a scorer, or None for the estimator's own score; or several, as a list or dict.
        sampler: ``"tpe"``, ``"gp"`` or ``"random"``.
        race: Whether a config that is behind the best with confidence may miss folds.
        refit: Whether to refit on the rows of all parties; the name of the scoring to search by where there are
            several; or a function of ``cv_results_`` that returns ``best_index_``.
        error_score: ``"raise"``, or the score of a fit that fails; with nan its trial is a failed one.
        return_train_score: Whether ``cv_results_`` has scores on the rows that were fitted on.
        verbose: 1 says a line for each party, 2 for each trial; in a notebook 1 draws a bar for each party.
        n_jobs: Processes at work; None is 1, and -1 as many as there are cores.
        random_state: Decides everything; None draws a new seed.

    Attributes:
        best_params_: What ``best_estimator_`` was fitted with: the recommendation, or the estimator's own values
            where the verdict is to keep them.
        best_estimator_: The estimator with these, refitted on the *pooled* rows of all parties, which this process
            has. It is no federated model: ``flora tune`` trains one.
        best_score_: The mean score of ``best_params_`` over the parties, on folds that the search has not seen.
        best_index_: Its row of ``cv_results_``.
        cv_results_: All parties' trials, and what all parties measured again: see :mod:`flora.sklearn.results`.
        recommendation_: The config that did best when all parties measured the surface's best, with its predicted loss.
        verdict_: ``"use"`` or ``"keep-defaults"``; ``gain_`` has the gain and its standard error.
        surface_: The loss surface.
        diagnoses_: Each party beside the others: whether it disagrees, and what they would recommend without it.
        trials_: The parties' trials, as :class:`flora.PartyTrials`.
        recommended_params_, space_default_: The recommendation and the default as the estimator's parameters.
        parties_: The parties' names; ``notes_`` has what is to be said of them.
        scorer_, multimetric_, n_splits_, refit_time_, classes_, n_features_in_, feature_names_in_: As scikit-learn has
            them.
    """

    __metadata_request__fit = {"groups": True}  # noqa: RUF012  (scikit-learn's way to say that it takes groups)

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
        cv: Any = Request.folds,
        scoring: Any = None,
        sampler: str = Request.sampler,
        race: bool = Request.race,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        verbose: int = 0,
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
        self.refit = refit
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None, **params: Any) -> Self:
        """Tune and refit.

        Args:
            X: The rows of all parties.
            y: Their targets.
            groups: The party of each row. Without it all rows are one party's, and a warning says so.
            params: For the estimator's ``fit``, as ``sample_weight``; with metadata routing, for whom it is routed to.
        """
        X, y, groups = indexable(X, y, groups)
        if groups is None:
            count = _num_samples(X)
            text = f"no groups: all {count} rows are one party's, {EVERYBODY!r}; groups= names the party of each row"
            warnings.warn(text, UserWarning, stacklevel=2)
            groups = [EVERYBODY] * count
        return self._fit(X, y, party_names(groups), self._routed("fit", params))

    def fit_parties(self, parties: Mapping[str, tuple[Any, ...]]) -> Self:
        """Tune and refit on ``{"a": (Xa, ya), "b": (Xb, yb)}``; a third member may be a dict of ``fit``'s params."""
        if not isinstance(parties, Mapping) or not parties:
            got = f"a {type(parties).__name__}" if parties else "none"
            raise DataError(f'fit_parties takes at least one party, as {{"a": (Xa, ya)}}, got {got}')
        tables = {name: parties[name] for name in sorted(parties)}
        sizes = {name: len(indexable(*table[:2])[1]) for name, table in tables.items()}
        for name, size in sizes.items():
            if not size:
                raise DataError(f"party {name!r}: need at least 1 row, got none")
        more: list[Mapping[str, Any]] = [table[2] if len(table) > 2 else {} for table in tables.values()]
        if any(set(one) != set(more[0]) for one in more):
            raise DataError(f"all parties need the same params of fit, got {[sorted(one) for one in more]}")
        check_columns({name: table[0] for name, table in tables.items()})
        X = stacked([table[0] for table in tables.values()])
        y = np.concatenate([np.asarray(table[1]) for table in tables.values()])
        params = {key: np.concatenate([np.asarray(one[key]) for one in more]) for key in more[0]}
        return self.fit(X, y, np.repeat(list(sizes), list(sizes.values())), **params)

    def _fit(self, X: Any, y: Any, names: list[str], routed: Any) -> Self:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        family = self._family()
        family.configured({}, seed).fit(X, y, **routed.estimator.fit)  # what it refuses, it refuses in its own words
        whole = _whole(X, y, is_classifier(self.estimator), routed)
        splitter = splitter_of(Request.folds if self.cv is None else self.cv)
        if splitter is not None and self.confirm and not draws(splitter):
            warnings.warn(f"{self.cv!r:.60} gives the same folds twice: the gain flatters", UserWarning, stacklevel=3)
        parties = dealt(whole, names, splitter)
        jobs, told = effective_n_jobs(self.n_jobs), progress_of(self.verbose)
        with workers(jobs) as spread:
            watched = {name: Watched(spread) for name in parties}
            gates = [
                Gate(Party(name, InMemory(samples), None, watched[name], told.report, lambda _: family))
                for name, samples in parties.items()
            ]
            # Parties in turn: their folds share the processes, and a user's estimator need not bear threads.
            outcome = drive(recommend(self._request(family, seed), lambda _: family), in_process(gates))
        self._conclude(outcome, family, watched)
        self.parties_ = tuple(parties)
        if self.refit:
            told.say(f"refit on the pooled rows of {len(parties)} parties with {self.best_params_}")
            began = time.perf_counter()
            fresh = family.with_params(self.best_params_, seed)
            self.best_estimator_ = fresh.fit(X, y, **routed.estimator.fit)
            self.refit_time_ = time.perf_counter() - began
        return self

    def _family(self) -> GivenEstimator:
        task: Task = "classification" if is_classifier(self.estimator) else "regression"
        return GivenEstimator(
            self.estimator,
            scoring_of(self.estimator, self.scoring, self.refit),
            user_space(self.space, self.estimator.get_params()),
            type(self.estimator).__name__,
            frozenset({task}),
            self.error_score,
            self.return_train_score,
        )

    def _request(self, family: GivenEstimator, seed: int) -> Request:
        return Request(
            family=family.name,
            space=family.space.document,
            task=next(iter(family.tasks)),
            scoring=scoring_name(self.scoring, family.scoring.searched),
            trials=plain(self.n_trials),
            folds=int(self.cv) if isinstance(self.cv, int | np.integer) else Request.folds,
            sampler=self.sampler,
            race=self.race,
            seed=seed,
            surface=SurfaceChoice(self.surface, self.regressor, self.alpha, self.weights),
            confirm=plain(self.confirm),
            objective=self.objective,
        )

    def _conclude(self, outcome: Outcome, family: GivenEstimator, watched: Mapping[str, Watched]) -> None:
        found = outcome.found
        if found.verdict is None:  # a plan has a default, and so has its space
            raise FloraError("the space has no default config")
        self.trials_, self.notes_ = found.trials, outcome.notes
        self.surface_, self.recommendation_ = found.surface, found.recommendation
        self.verdict_, self.gain_ = found.verdict.decision, found.verdict.gain
        self.diagnoses_ = dict(found.diagnoses)
        kept = {name: each.kept for name, each in watched.items()}
        rows = rows_of(found, kept, family.space.params)
        self.scorer_, self.multimetric_ = family.scoring.scorers, several(rows)
        self.n_splits_ = max(len(fits.folds) for each in kept.values() for fits in each)
        metric = family.scoring.searched
        self.cv_results_ = table_of(rows, metric)
        self.space_default_ = family.space.params(found.space.default)
        self.recommended_params_ = family.space.params(found.recommendation.config)
        best = self.recommended_params_ if found.verdict.decision == "use" else self.space_default_
        self.best_index_ = self._best_index([row.step != "search" and row.params == best for row in rows])
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        if not callable(self.refit):
            self.best_score_ = float(self.cv_results_[f"mean_test_{metric}"][self.best_index_])
        self._warn(failures(kept), [note for note in outcome.notes if "cannot search" in note])

    def _best_index(self, is_best: list[bool]) -> int:
        if not callable(self.refit):
            return is_best.index(True)
        index = int(self.refit(self.cv_results_))
        if not 0 <= index < len(is_best):
            raise InputError(f"refit must return a row of cv_results_, 0 to {len(is_best) - 1}, got {index}")
        return index

    def _warn(self, failed: Sequence[str], notes: Sequence[str]) -> None:
        if failed:
            text = f"{len(failed)} fits failed, the first with {failed[0]:.300}; error_score='raise' shows where"
            warnings.warn(text, FitFailedWarning, stacklevel=5)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=5)

    def _routed(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return for whom each parameter is: without routing all of them are the estimator's, as in scikit-learn."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **params)
        weight = params.get("sample_weight")
        scorer = scoring_of(self.estimator, self.scoring, self.refit).scorer
        weighs = {} if weight is None or not accepts_weights(scorer) else {"sample_weight": weight}
        return Bunch(estimator=Bunch(fit=dict(params)), scorer=Bunch(score=weighs))

    def get_metadata_routing(self) -> Any:
        """Return who takes what: groups are this search's, the rest may be the estimator's and the scorer's."""
        scorer = scoring_of(self.estimator, self.scoring, self.refit).scorer
        fit, score = MethodMapping().add(caller="fit", callee="fit"), MethodMapping().add(caller="fit", callee="score")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=fit)
            .add(scorer=scorer, method_mapping=score.add(caller="score", callee="score"))
        )

    def _html_repr(self) -> str:
        """Return what a notebook shows: the answer, once there is one, and scikit-learn's diagram."""
        diagram = str(estimator_html_repr(self))
        return f"{summary(self)}{diagram}" if hasattr(self, "cv_results_") else diagram


def _whole(X: Any, y: Any, classes: bool, routed: Any) -> Samples:
    """Return all rows, with the schema of their target alone: the columns are the estimator's business."""
    if y is None:
        raise DataError("need y, the target of each row: a search compares predictions with it")
    values = column_or_1d(y, warn=True) if classes else np.asarray(y)
    if len(values) < 2:
        raise DataError(f"need at least 2 rows, got n_samples={len(values)}")
    task: Task = "classification" if classes else "regression"
    labels = tuple(range(len(np.unique(values)))) if classes else ()
    if len(labels) == 1:
        raise DataError(f"need at least 2 classes, every row has {values[0]!r}")
    fit, score = routed.estimator.fit, routed.scorer.score
    weights = score.get("sample_weight")  # a party counts by them where scores of several are added up
    return Samples(
        X, values, Schema("y", task, (), labels), None if weights is None else np.asarray(weights, float), fit, score
    )
