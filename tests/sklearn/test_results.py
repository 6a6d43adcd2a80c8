"""cv_results_ and its companions, as users of RandomizedSearchCV read them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, make_scorer
from sklearn.model_selection import RandomizedSearchCV
from sklearn.tree import DecisionTreeClassifier

from flora import FloraSearchCV
from flora.errors import FloraError, InputError
from flora.sklearn.results import Fits, Row, table_of

DEPTH = {"max_depth": {"type": "int", "space": "linear", "range": [1, 6]}}
QUICK: dict[str, Any] = {"n_trials": 4, "cv": 3, "confirm": 2, "regressor": "gp", "random_state": 0}
X, y = load_iris(return_X_y=True)
WARDS = np.resize(["a", "a", "b"], len(y))


def search(**options: Any) -> FloraSearchCV:
    return FloraSearchCV(DecisionTreeClassifier(max_depth=1), DEPTH, **{**QUICK, **options})


@pytest.fixture(scope="module")
def fitted() -> FloraSearchCV:
    return search(return_train_score=True).fit(X, y, groups=WARDS)


def test_it_has_every_column_and_attribute_that_randomized_search_has(fitted: FloraSearchCV) -> None:
    theirs = RandomizedSearchCV(
        DecisionTreeClassifier(), {"max_depth": range(1, 7)}, n_iter=2, cv=3, return_train_score=True, random_state=0
    ).fit(X, y)
    assert set(fitted.cv_results_) - set(theirs.cv_results_) == {"step", "party"}
    assert set(theirs.cv_results_) <= set(fitted.cv_results_)
    public = {name for name in vars(theirs) if name.endswith("_") and not name.startswith("_")}
    assert {name for name in public if not hasattr(fitted, name)} == set()
    for name, column in theirs.cv_results_.items():
        assert type(fitted.cv_results_[name]) is type(column), name
        assert len(fitted.cv_results_[name]) == 2 * 4 + 3
    assert fitted.cv_results_["rank_test_score"].dtype == theirs.cv_results_["rank_test_score"].dtype
    assert pd.DataFrame(fitted.cv_results_).shape == (11, len(fitted.cv_results_))


def test_the_best_index_leads_to_the_best_params_and_score(fitted: FloraSearchCV) -> None:
    results, best = fitted.cv_results_, fitted.best_index_
    assert results["params"][best] == fitted.best_params_
    assert results["mean_test_score"][best] == fitted.best_score_
    assert results["step"][best] == "confirm"
    assert results["rank_test_score"][best] == 1
    assert (fitted.n_splits_, fitted.multimetric_) == (3, False)
    assert fitted.scorer_(fitted.best_estimator_, X, y) == fitted.score(X, y)
    assert (results["mean_fit_time"] > 0).all()


def test_trials_are_the_partys_own_and_means_over_parties_go_by_rows(fitted: FloraSearchCV) -> None:
    results = fitted.cv_results_
    assert list(results["step"]) == ["search"] * 8 + ["confirm"] * 3
    assert list(results["party"]) == ["a"] * 4 + ["b"] * 4 + ["all parties"] * 3
    first = fitted.trials_[1].trials[0]
    assert results["mean_test_score"][4] == pytest.approx(1 - first.loss)
    folds = [results[f"split{k}_test_score"][4] for k in range(3)]
    assert np.std(folds, ddof=1) / np.sqrt(3) == pytest.approx(first.error)
    assert results["std_test_score"][4] == pytest.approx(np.std(folds))
    assert results["params"][8] == {"max_depth": 1}
    losses = [fitted.diagnoses_[party].measured.trial.loss for party in "ab"]
    assert fitted.best_score_ == pytest.approx(1 - np.average(losses, weights=[100, 50]))
    assert results["rank_test_score"][:8].min() == 4  # what all parties measured comes first
    assert (results["mean_train_score"] >= results["mean_test_score"] - 0.1).all()


def test_without_a_confirmation_the_best_row_is_a_prediction() -> None:
    found = search(confirm=0).fit(X, y, groups=WARDS)
    assert list(found.cv_results_["step"][-2:]) == ["predict", "predict"]
    assert found.cv_results_["params"][found.best_index_] == found.best_params_
    assert found.cv_results_["mean_test_score"][found.best_index_] == found.best_score_
    assert np.isnan(found.cv_results_["split0_test_score"][found.best_index_])


class TestSeveralScorings:
    def test_refit_names_the_one_to_search_by(self) -> None:
        found = search(scoring=["accuracy", "neg_log_loss"], refit="neg_log_loss").fit(X, y, groups=WARDS)
        alone = search(scoring="neg_log_loss").fit(X, y, groups=WARDS)
        assert found.best_params_ == alone.best_params_
        assert found.best_score_ == alone.best_score_ < 0
        assert np.array_equal(found.cv_results_["mean_test_neg_log_loss"], alone.cv_results_["mean_test_score"])
        assert found.multimetric_
        assert set(found.scorer_) == {"accuracy", "neg_log_loss"}
        assert {"split2_test_accuracy", "std_test_accuracy", "rank_test_accuracy"} <= set(found.cv_results_)
        assert found.score(X, y) == alone.score(X, y)

    def test_as_a_dict_and_as_a_function(self) -> None:
        both = {"plain": "accuracy", "fair": make_scorer(balanced_accuracy_score)}
        by_dict = search(scoring=both, refit="fair").fit(X, y, groups=WARDS)

        def scores(estimator: Any, X: Any, y: Any) -> dict[str, float]:
            guess = estimator.predict(X)
            return {"plain": accuracy_score(y, guess), "fair": balanced_accuracy_score(y, guess)}

        by_function = search(scoring=scores, refit="fair").fit(X, y, groups=WARDS)
        assert by_dict.best_params_ == by_function.best_params_
        for name in ("mean_test_plain", "mean_test_fair"):
            assert np.array_equal(by_dict.cv_results_[name], by_function.cv_results_[name])
        assert by_function.multimetric_

    def test_one_must_be_named(self) -> None:
        with pytest.raises(InputError, match=r"refit must name the one to search by, of \['accuracy', 'f1_macro'\]"):
            search(scoring=["accuracy", "f1_macro"]).fit(X, y, groups=WARDS)
        with pytest.raises(InputError, match=r"refit must name one of the scorings .* got 'recall'"):
            search(scoring=["accuracy", "f1_macro"], refit="recall").fit(X, y, groups=WARDS)
        found = search(scoring=["accuracy", "f1_macro"], refit=False).fit(X, y, groups=WARDS)
        assert found.best_score_ == found.cv_results_["mean_test_accuracy"][found.best_index_]


class TestRefit:
    def test_false_leaves_the_params_alone(self) -> None:
        found = search(refit=False).fit(X, y, groups=WARDS)
        assert found.best_params_ == search().fit(X, y, groups=WARDS).best_params_
        assert not hasattr(found, "best_estimator_")
        assert not hasattr(found, "predict")
        with pytest.raises(AttributeError, match="refit is False"):
            found.score(X, y)

    def test_a_function_chooses_the_row(self) -> None:
        found = search(refit=lambda results: 9).fit(X, y, groups=WARDS)
        assert found.best_index_ == 9
        assert found.best_params_ == found.cv_results_["params"][9]
        assert found.best_estimator_.max_depth == found.best_params_["max_depth"]
        assert not hasattr(found, "best_score_")
        with pytest.raises(InputError, match="0 to 10, got 11"):
            search(refit=lambda results: 11).fit(X, y, groups=WARDS)


class Moody(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fits with small numbers only, and is right the more often the smaller they are."""

    def __init__(self, number: float = 1.0, limit: float = 3.0) -> None:
        self.number = number
        self.limit = limit

    def fit(self, X: Any, y: Any) -> "Moody":
        if self.number > self.limit:
            raise ZeroDivisionError(f"{self.number} is too much for me")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.resize(self.classes_, len(X))


class TestFailures:
    options: dict[str, Any] = {**QUICK, "sampler": "random", "n_trials": 8}  # noqa: RUF012
    space: dict[str, Any] = {"number": loguniform(0.5, 50)}  # noqa: RUF012

    def test_a_failed_fit_is_nan_last_in_rank_and_told(self) -> None:
        with pytest.warns(FitFailedWarning, match=r"fits failed, the first with ZeroDivisionError: .* too much for me"):
            found = FloraSearchCV(Moody(), self.space, **self.options).fit(X, y, groups=WARDS)
        failed = np.isnan(found.cv_results_["mean_test_score"])
        assert 0 < failed.sum() < len(failed)
        ranks = found.cv_results_["rank_test_score"]
        assert ranks[failed].min() > ranks[~failed].max()
        assert all(params["number"] > 3 for params in np.array(found.cv_results_["params"])[failed])

    def test_a_number_takes_its_place(self) -> None:
        with pytest.warns(FitFailedWarning):
            found = FloraSearchCV(Moody(), self.space, error_score=-1, **self.options).fit(X, y, groups=WARDS)
        scores = found.cv_results_["mean_test_score"]
        assert not np.isnan(scores).any()
        assert (scores == -1).any()

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_raise_raises_what_the_estimator_did(self, jobs: int) -> None:
        with pytest.raises(ZeroDivisionError, match="too much for me"):
            FloraSearchCV(Moody(), self.space, error_score="raise", n_jobs=jobs, **self.options).fit(X, y, groups=WARDS)

    def test_where_everything_fails_there_is_no_answer(self) -> None:
        broken = make_scorer(lambda y, guess: f1_score(y, guess, average="no such"))
        with pytest.raises(FloraError, match="every trial failed"):
            search(scoring=broken).fit(X, y, groups=WARDS)


def test_verbose_says_a_line_for_each_party_or_each_trial(capsys: pytest.CaptureFixture[str]) -> None:
    search(verbose=1).fit(X, y, groups=WARDS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["[FloraSearchCV] a: 4 of 4 trials", "[FloraSearchCV] b: 4 of 4 trials"]
    assert "pooled rows of 2 parties" in lines[-1]
    search(verbose=2).fit(X, y, groups=WARDS)
    assert len(capsys.readouterr().out.splitlines()) > 8
    search().fit(X, y, groups=WARDS)
    assert capsys.readouterr().out == ""


def test_equal_scores_have_equal_ranks() -> None:
    row = Row("search", "a", {"C": 1.0}, ((5, Fits({"C": 1.0}, ())),))
    assert table_of([row], "score")["params"] == [{"C": 1.0}]
    found = FloraSearchCV(LogisticRegression(max_iter=9999), {"C": [1e-9, 1e-10]}, **QUICK).fit(X, y, groups=WARDS)
    scores, ranks = found.cv_results_["mean_test_score"][:8], found.cv_results_["rank_test_score"][:8]
    for one in range(8):
        assert ranks[scores == scores[one]].tolist() == [ranks[one]] * int((scores == scores[one]).sum())
