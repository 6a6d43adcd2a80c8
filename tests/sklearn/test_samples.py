"""Rows of any kind, their weights, and how they are divided."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_validate,
)
from sklearn.tree import DecisionTreeClassifier

from flora import FloraSearchCV
from flora.errors import DataError, InputError
from flora.problem.schema import Schema
from flora.sklearn.samples import DividedSamples, GivenFolds, Samples, dealt, party_names, splitter_of

C = {"C": {"type": "real", "space": "log", "range": [0.01, 100]}}
QUICK: dict[str, Any] = {"n_trials": 3, "cv": 3, "confirm": 1, "regressor": "gp", "random_state": 0}
X, y = load_iris(return_X_y=True)
WARDS = np.resize(["a", "a", "b"], len(y))
SCHEMA = Schema("y", "classification", (), (0, 1, 2))


def search(**options: Any) -> FloraSearchCV:
    return FloraSearchCV(LogisticRegression(max_iter=9999), C, **{**QUICK, **options})


class TestWhatPartiesBring:
    def test_a_column_of_parties_is_a_row_of_them(self) -> None:
        frame = pd.DataFrame({"ward": WARDS})
        assert party_names(frame) == party_names(WARDS.reshape(-1, 1)) == list(WARDS)
        with pytest.raises(DataError, match=r"groups: need one party for each row, got an array of shape \(150, 2\)"):
            search().fit(X, y, groups=frame.assign(floor=1))

    def test_rows_without_a_target(self) -> None:
        with pytest.raises(DataError, match="need y, the target of each row"):
            FloraSearchCV(KMeans(), {"n_clusters": [2, 3]}, **QUICK).fit(X, None, groups=WARDS)

    @pytest.mark.parametrize("nobody", [None, float("nan"), pd.NA])
    def test_a_row_of_no_party_is_named(self, nobody: Any) -> None:
        groups = pd.Series([*WARDS[:-1], nobody], dtype=object)
        with pytest.raises(DataError, match="groups: each row needs a party, row 149 has"):
            search().fit(X, y, groups=groups)

    def test_parties_have_the_same_columns(self) -> None:
        table = pd.DataFrame(X, columns=list("abcd"))
        with pytest.raises(
            DataError, match=r"party 'w': .* those of party 'v', \['a', 'b', 'c', 'd'\], got \['a', 'b', 'c'\]"
        ):
            search().fit_parties({"v": (table, y), "w": (table[["c", "b", "a"]], y)})
        with pytest.raises(DataError, match="party 'w': its columns must be those of party 'v', 4, got 3"):
            search().fit_parties({"v": (X, y), "w": (sparse.csr_matrix(X[:, :3]), y)})
        pairs: Any = [(X, y), (X, y)]
        with pytest.raises(DataError, match=r"fit_parties takes at least one party, .* got a list"):
            search().fit_parties(pairs)
        found = search().fit_parties({"v": (table, y), "w": (table[list("dcba")], y)})
        assert found.n_features_in_ == 4


class TestFolds:
    def test_a_splitter_divides_each_partys_rows(self) -> None:
        divided = dealt(Samples(X, y, SCHEMA), list(WARDS), KFold(4, shuffle=True, random_state=1))["b"]
        assert isinstance(divided, DividedSamples)
        first = divided.folds(7, "search")
        theirs = list(KFold(4, shuffle=True, random_state=1).split(divided.X))
        assert all(np.array_equal(test, other) for (_, test), (_, other) in zip(first, theirs, strict=True))
        fresh = divided.folds(7, "confirm")
        assert not np.array_equal(first[0][1], fresh[0][1])
        assert np.array_equal(fresh[0][1], divided.folds(7, "confirm")[0][1])

    def test_a_splitter_without_a_seed_has_the_searchs(self) -> None:
        divided = dealt(Samples(X, y, SCHEMA), list(WARDS), ShuffleSplit(3))["a"]
        assert isinstance(divided, DividedSamples)
        assert np.array_equal(divided.folds(7, "search")[0][1], divided.folds(7, "search")[0][1])
        assert not np.array_equal(divided.folds(7, "search")[0][1], divided.folds(8, "search")[0][1])

    def test_a_search_with_a_splitter(self) -> None:
        found = search(cv=StratifiedKFold(4, shuffle=True)).fit(X, y, groups=WARDS)
        assert found.n_splits_ == 4
        again = search(cv=StratifiedKFold(4, shuffle=True)).fit(X, y, groups=WARDS)
        assert np.array_equal(found.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"])

    def test_folds_that_are_the_same_twice_are_said(self) -> None:
        order = np.random.default_rng(0).permutation(len(y))
        with pytest.warns(UserWarning, match="gives the same folds twice: the gain flatters"):
            found = search(cv=TimeSeriesSplit(2)).fit(X[order], y[order], groups=WARDS)
        assert found.n_splits_ == 2
        confirmed = found.cv_results_["mean_test_score"][-2:]  # the default, as in the parties' searches
        tried = found.cv_results_["mean_test_score"][[0, 3]]
        assert confirmed[0] == pytest.approx(np.average(tried, weights=[100, 50]))

    def test_pairs_of_indices_of_all_rows(self) -> None:
        pairs = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
        own = splitter_of(pairs).of(np.array([10, 149, 3]))
        assert isinstance(own, GivenFolds)
        for (train, test), (_, whole) in zip(own.folds, pairs, strict=False):
            assert set(train) | set(test) == {0, 1, 2}
            assert {(10, 149, 3)[k] for k in test} <= set(whole)
        with pytest.warns(UserWarning, match="same folds twice"):
            assert search(cv=iter(pairs)).fit(X, y, groups=WARDS).n_splits_ == 3

    def test_a_number_of_numpys_is_a_number_of_folds(self) -> None:
        found = search(cv=np.int64(3), n_trials=np.int64(2), confirm=np.int64(1)).fit(X, y, groups=WARDS)
        assert found.n_splits_ == 3

    def test_folds_that_are_given_by_row_are_those_of_all_rows(self) -> None:
        places = np.random.default_rng(0).integers(0, 3, len(y))
        divided = dealt(Samples(X, y, SCHEMA), list(WARDS), splitter_of(PredefinedSplit(places)))["b"]
        assert isinstance(divided, DividedSamples)
        own = [test for _, test in divided.folds(7, "search")]
        assert [list(test) for test in own] == [list(np.flatnonzero(places[WARDS == "b"] == k)) for k in range(3)]

    def test_what_cannot_be_folds(self) -> None:
        with pytest.raises(InputError, match=r"groups name the parties, so that GroupKFold\(.* pairs of indices"):
            search(cv=GroupKFold(2)).fit(X, y, groups=WARDS)
        with pytest.raises(InputError, match="a number of folds, a splitter or pairs of indices, got 'five'"):
            search(cv="five").fit(X, y, groups=WARDS)
        with (
            pytest.warns(UserWarning, match="same folds twice"),
            pytest.raises(DataError, match="cv must give at least 2 folds"),
        ):
            search(cv=PredefinedSplit([-1, 0] * 25)).fit(X[:100], y[:100], groups=WARDS[[0, 2] * 50])


class Weighed(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts the class of the heaviest rows."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: Any, y: Any, sample_weight: Any = None, tag: Any = None) -> "Weighed":
        self.classes_ = np.unique(y)
        self.seen_, self.tag_ = sample_weight, tag
        assert sample_weight is None or len(sample_weight) == len(y)
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.best_ = max(self.classes_, key=lambda label: weights[y == label].sum())
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.best_)


class TestWeights:
    weights = np.where(y == 2, 10.0, 1.0)

    def test_each_fold_and_the_refit_have_their_rows_weights(self) -> None:
        found = FloraSearchCV(Weighed(), C, **QUICK).fit(X, y, WARDS, sample_weight=self.weights, tag="as it is")
        assert np.array_equal(found.best_estimator_.seen_, self.weights)
        assert found.best_estimator_.tag_ == "as it is"
        assert found.best_estimator_.best_ == 2
        # Weighted in scoring, too, as in scikit-learn: the heavy class is 10 of 12 parts.
        assert found.best_score_ == pytest.approx(10 / 12, abs=0.02)
        plain = FloraSearchCV(Weighed(), C, **QUICK).fit(X, y, WARDS)
        assert plain.best_score_ == pytest.approx(1 / 3, abs=0.02)

    def test_metadata_goes_where_it_is_routed(self) -> None:
        with config_context(enable_metadata_routing=True):
            inner = Weighed().set_fit_request(sample_weight=True, tag=False)
            scorer = make_scorer(accuracy_score).set_score_request(sample_weight=False)
            found = FloraSearchCV(inner, C, scoring=scorer, **QUICK).fit(X, y, WARDS, sample_weight=self.weights)
            assert found.best_score_ == pytest.approx(1 / 3, abs=0.02)
            assert np.array_equal(found.best_estimator_.seen_, self.weights)
            unsaid = FloraSearchCV(Weighed(), C, scoring=scorer, **QUICK)
            with pytest.raises(ValueError, match="sample_weight"):
                unsaid.fit(X, y, WARDS, sample_weight=self.weights)

    def test_cross_validation_hands_the_parties_on(self) -> None:
        with config_context(enable_metadata_routing=True):
            folds = KFold(2, shuffle=True, random_state=0)
            found = cross_validate(search(), X, y, cv=folds, params={"groups": WARDS}, return_estimator=True)
        assert [each.parties_ for each in found["estimator"]] == [("a", "b")] * 2

    def test_by_party(self) -> None:
        tables = {p: (X[p == WARDS], y[p == WARDS], {"sample_weight": self.weights[p == WARDS]}) for p in ("b", "a")}
        by_name = FloraSearchCV(Weighed(), C, **QUICK).fit_parties(tables)
        by_group = FloraSearchCV(Weighed(), C, **QUICK).fit(X, y, WARDS, sample_weight=self.weights)
        assert by_name.best_score_ == by_group.best_score_
        with pytest.raises(DataError, match="all parties need the same params of fit"):
            FloraSearchCV(Weighed(), C).fit_parties({**tables, "b": tables["b"][:2]})


class TestParties:
    def test_text_labels_and_a_party_with_one_class(self) -> None:
        labels = np.array(["red", "green", "blue"])[y]
        wards = np.where(y == 2, "calm", WARDS)
        with pytest.warns(UserWarning, match="calm: has one class only: it cannot search, and takes part"):
            found = search().fit(X, labels, groups=wards)
        assert found.parties_ == ("a", "b", "calm")
        assert [party.party for party in found.trials_] == ["a", "b"]
        assert set(found.predict(X)) == set(labels)  # the refit has the third party's rows
        assert set(found.cv_results_["party"]) == {"a", "b", "all parties"}

    def test_no_groups_are_one_party_and_said(self) -> None:
        with pytest.warns(UserWarning, match="no groups: all 150 rows are one party's, 'all rows'"):
            found = search().fit(X, y)
        assert found.parties_ == ("all rows",)

    def test_a_party_without_rows(self) -> None:
        with pytest.raises(DataError, match="party 'b': need at least 1 row, got none"):
            search().fit_parties({"a": (X, y), "b": (X[:0], y[:0])})


class TestKinds:
    def test_sparse(self) -> None:
        tables = {"a": (sparse.csr_matrix(X[::2]), y[::2]), "b": (sparse.csr_matrix(X[1::2]), y[1::2])}
        found = search().fit_parties(tables)
        dense = search().fit_parties({"a": (X[::2], y[::2]), "b": (X[1::2], y[1::2])})
        assert found.best_params_ == dense.best_params_

    def test_pandas_keeps_its_index_and_names(self) -> None:
        frame = pd.DataFrame(X, columns=list("abcd"), index=range(1000, 1150))
        found = search().fit(frame, pd.Series(y, index=frame.index), groups=pd.Series(WARDS, index=frame.index))
        assert list(found.feature_names_in_) == list("abcd")
        assert found.best_params_ == search().fit(X, y, WARDS).best_params_

    def test_polars(self) -> None:
        pl = pytest.importorskip("polars")
        frame = pl.DataFrame(X, schema=list("abcd"), orient="row")
        tree = FloraSearchCV(DecisionTreeClassifier(), {"max_depth": [None, 1, 3]}, **QUICK)
        found = tree.fit(frame, pl.Series(y), groups=pl.Series(list(WARDS)))
        plain = FloraSearchCV(DecisionTreeClassifier(), {"max_depth": [None, 1, 3]}, **QUICK).fit(X, y, WARDS)
        assert list(found.feature_names_in_) == list("abcd")
        assert found.best_params_ == plain.best_params_
        by_name = tree.fit_parties({p: (frame.filter(pl.Series(p == WARDS)), y[p == WARDS]) for p in ("a", "b")})
        assert list(by_name.feature_names_in_) == list("abcd")
