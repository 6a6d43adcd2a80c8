"""FloraSearchCV as scikit-learn's users expect it."""

from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from flora import FloraSearchCV
from flora.errors import DataError, InputError

C = {"C": {"type": "real", "space": "log", "range": [0.01, 100]}}
ALPHA = {"alpha": {"type": "real", "space": "log", "range": [0.01, 100]}}
LEAF = {"min_samples_leaf": {"type": "int", "space": "linear", "range": [1, 9]}}
NO_GROUPS = "ignore:no groups"
QUICK: dict[str, Any] = {"n_trials": 3, "cv": 3, "regressor": "gp", "random_state": 0}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        FloraSearchCV(LogisticRegression(), C, n_trials=2, cv=2, regressor="gp", confirm=1, random_state=0),
        FloraSearchCV(Ridge(), ALPHA, n_trials=2, cv=2, regressor="gp", confirm=1, random_state=0),
        FloraSearchCV(DecisionTreeClassifier(), LEAF, n_trials=2, cv=2, regressor="gp", confirm=1, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the estimators, on the checks' data
@pytest.mark.filterwarnings(NO_GROUPS)  # the checks know no parties
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    """No check is expected to fail. Multi-label targets do not apply: folds are stratified, and the tags say so."""
    check(estimator)


def cancer() -> tuple[Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, np.resize(["north", "south", "west"], len(y))


def test_groups_are_parties() -> None:
    X, y, party = cancer()
    search = FloraSearchCV(
        SVC(), {**C, "gamma": {"type": "real", "space": "log", "range": [1e-6, 1], "default": 1e-3}}, **QUICK
    )
    search.fit(X, y, groups=party)
    assert [trials.party for trials in search.trials_] == ["north", "south", "west"]
    assert list(search.cv_results_["party"]) == ["north"] * 3 + ["south"] * 3 + ["west"] * 3 + ["all parties"] * 9
    assert search.cv_results_["params"][0] == {"C": 1.0, "gamma": 1e-3}
    assert search.cv_results_["rank_test_score"].min() == 1
    assert search.best_estimator_.get_params()["C"] == search.best_params_["C"]
    assert search.best_estimator_.n_features_in_ == 30
    assert 0 < search.best_score_ <= 1
    assert search.surface_(np.zeros((1, 2))).shape == (1,)


def test_where_tuning_helps_the_best_params_are_the_recommendation() -> None:
    X, y = load_iris(return_X_y=True)
    space = {"max_depth": {"type": "int", "space": "linear", "range": [1, 6]}}
    stump = DecisionTreeClassifier(max_depth=1)  # which tells two of the three classes apart
    search = FloraSearchCV(stump, space, **QUICK).fit(X, y, groups=np.resize(["a", "b", "c"], len(y)))
    assert search.verdict_ == "use"
    assert search.gain_.low > 0.1
    assert search.best_params_ == search.recommendation_.config
    assert search.best_params_["max_depth"] != 1
    assert search.best_estimator_.max_depth == search.best_params_["max_depth"]
    assert search.best_score_ > 0.85


@pytest.mark.parametrize("confirm", [8, 0])
def test_where_nothing_can_be_gained_the_best_params_are_the_estimators_own(confirm: int) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0]  # without noise, so that any penalty costs
    search = FloraSearchCV(Ridge(alpha=1e-3), ALPHA, confirm=confirm, **QUICK)
    search.fit(X, y, groups=np.resize(["a", "b"], len(y)))
    assert search.verdict_ == "keep-defaults"
    assert search.best_params_ == {"alpha": 1e-3}
    assert search.best_estimator_.alpha == 1e-3
    recommended = search.recommendation_.config
    if confirm:
        assert recommended == {"alpha": 1e-3}  # no candidate was measured to be better
    else:
        assert recommended != {"alpha": 1e-3}  # the surface's minimum, whose gain is within the surface's error


def test_parties_by_name_give_what_groups_give() -> None:
    X, y, party = cancer()
    by_group = FloraSearchCV(LogisticRegression(max_iter=5000), C, **QUICK).fit(X[:, :4], y, groups=party)
    tables = {name: (X[party == name, :4], y[party == name]) for name in ("west", "north", "south")}
    by_name = FloraSearchCV(LogisticRegression(max_iter=5000), C, **QUICK).fit_parties(tables)
    assert [t.to_json() for t in by_group.trials_] == [t.to_json() for t in by_name.trials_]
    assert by_group.best_params_ == by_name.best_params_


def test_one_and_two_jobs_agree() -> None:
    X, y, party = cancer()
    fits = [
        FloraSearchCV(
            RandomForestClassifier(5),
            {"max_depth": {"type": "int", "space": "linear", "range": [1, 9], "default": 3}},
            **QUICK,
            n_jobs=jobs,
        )
        for jobs in (1, 2)
    ]
    one, two = (search.fit(X, y, groups=party) for search in fits)
    assert one.recommendation_ == two.recommendation_
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.filterwarnings(NO_GROUPS)
def test_in_a_pipeline_with_pandas_and_text() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X["colour"] = np.resize(["red", "green", "blue"], len(X))
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder=StandardScaler())
    inner = make_pipeline(columns, LogisticRegression(max_iter=1000))
    space = {"logisticregression__C": C["C"]}
    search = FloraSearchCV(inner, space, **QUICK).fit(X, labels, groups=X["colour"])
    assert set(search.predict(X)) == set(labels)
    assert list(search.feature_names_in_) == list(X.columns)
    assert [t.party for t in search.trials_] == ["blue", "green", "red"]
    outer = make_pipeline(StandardScaler(), FloraSearchCV(LogisticRegression(), C, **QUICK)).fit(X.iloc[:, :4], labels)
    assert outer.score(X.iloc[:, :4], labels) > 0.9


@pytest.mark.filterwarnings(NO_GROUPS)
def test_clone_and_cross_val_score() -> None:
    X, y = load_iris(return_X_y=True)
    search = FloraSearchCV(LogisticRegression(max_iter=1000), C, **QUICK)
    copy = clone(search.fit(X, y))
    assert not hasattr(copy, "best_params_")
    assert copy.get_params()["n_trials"] == 3
    assert cross_val_score(copy, X, y, cv=3).min() > 0.9


def test_regression_with_the_estimators_own_score() -> None:
    X, y = load_diabetes(return_X_y=True)
    search = FloraSearchCV(Ridge(), ALPHA, **QUICK).fit(X, y, groups=np.resize([1, 2], len(y)))
    assert search.score(X, y) == search.best_estimator_.score(X, y)
    assert search.best_score_ == pytest.approx(0.45, abs=0.15)


def test_scorers_by_name_and_as_objects_agree() -> None:
    X, y, party = cancer()
    named = FloraSearchCV(LogisticRegression(max_iter=5000), C, scoring="balanced_accuracy", **QUICK)
    given = FloraSearchCV(LogisticRegression(max_iter=5000), C, scoring=make_scorer(balanced_accuracy_score), **QUICK)
    assert named.fit(X[:, :3], y, groups=party).best_params_ == given.fit(X[:, :3], y, groups=party).best_params_
    assert named.score(X[:, :3], y) == balanced_accuracy_score(y, named.predict(X[:, :3]))


@pytest.mark.filterwarnings(NO_GROUPS)
def test_a_neg_scoring_keeps_its_sign() -> None:
    X, y = load_diabetes(return_X_y=True)
    search = FloraSearchCV(Ridge(), ALPHA, scoring="neg_mean_squared_error", **QUICK).fit(X, y)
    assert search.best_score_ < 0
    assert all(trial.loss > 0 for trial in search.trials_[0].trials)


@pytest.mark.filterwarnings(NO_GROUPS)
def test_every_format_of_space() -> None:
    X, y = load_iris(return_X_y=True)
    distributions = {"C": optuna.distributions.FloatDistribution(0.01, 100, log=True)}
    fits = [FloraSearchCV(LogisticRegression(max_iter=1000), space, **QUICK).fit(X, y) for space in (C, distributions)]
    assert fits[0].best_params_ == fits[1].best_params_


def test_the_designs_example() -> None:
    X, y, party = cancer()
    space = {
        "max_iter": {"type": "int", "space": "linear", "range": (10, 60)},
        "learning_rate": {"type": "real", "space": "log", "range": (1e-3, 1.0)},
    }
    search = FloraSearchCV(
        HistGradientBoostingClassifier(max_iter=20),
        space,
        surface="aplm",
        n_trials=2,
        cv=2,
        scoring="balanced_accuracy",
        random_state=0,
    )
    assert search.fit(X, y, groups=party).predict(X[:5]).shape == (5,)


@pytest.mark.filterwarnings(NO_GROUPS)
def test_bad_input_is_a_value_error_that_says_what() -> None:
    X, y, _ = cancer()
    with pytest.raises(InputError, match="no parameter of Ridge"):
        FloraSearchCV(Ridge(), {"Q": C["C"]}, **QUICK).fit(X, y)
    with pytest.raises(InputError, match="trials must be a whole number"):
        FloraSearchCV(Ridge(), ALPHA, n_trials=0).fit(X, y)
    with pytest.raises(InputError, match="no party can search: a, b: has one class only"):
        FloraSearchCV(LogisticRegression(max_iter=9999), C, **QUICK).fit(X, y, groups=np.where(y == 0, "b", "a"))
    with pytest.raises(DataError, match="at least one party"):
        FloraSearchCV(Ridge(), ALPHA).fit_parties({})


@pytest.mark.filterwarnings(NO_GROUPS)
def test_a_frame_of_results() -> None:
    X, y = load_iris(return_X_y=True)
    search = FloraSearchCV(LogisticRegression(max_iter=1000), C, **QUICK).fit(X, y)
    frame = pd.DataFrame(search.cv_results_)
    assert {"party", "params", "param_C", "mean_test_score", "rank_test_score"} <= set(frame)
