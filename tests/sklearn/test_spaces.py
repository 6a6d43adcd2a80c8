"""Spaces as scikit-learn's users write them."""

from typing import Any

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from flora import FloraSearchCV, SearchSpace
from flora.errors import SpaceError
from flora.sklearn.spaces import user_space

X, y = load_iris(return_X_y=True)
WARDS = np.resize(["a", "b"], len(y))
QUICK: dict[str, Any] = {"n_trials": 6, "cv": 2, "confirm": 2, "regressor": "gp", "random_state": 0}


@pytest.mark.parametrize(
    ("distribution", "entry"),
    [
        (stats.loguniform(1e-3, 10), {"type": "real", "space": "log", "range": [1e-3, 10.0]}),
        (stats.uniform(2, 3), {"type": "real", "space": "linear", "range": [2.0, 5.0]}),
        (stats.uniform(1, 999), {"type": "real", "space": "linear", "range": [1.0, 1000.0]}),
        (stats.randint(1, 300), {"type": "int", "space": "linear", "range": [1, 299]}),
        (stats.norm(0, 1), {"type": "real", "space": "linear", "range": [-2.326, 2.326]}),
        (stats.expon(scale=2), {"type": "real", "space": "linear", "range": [0.0, 9.21]}),
        (stats.poisson(5), {"type": "int", "space": "linear", "range": [0, 11]}),
        (stats.lognorm(3), {"type": "real", "space": "linear", "range": [0.0, 1074.0]}),
        (stats.invgamma(1, loc=0.5), {"type": "real", "space": "log", "range": [0.5, 100.0]}),
    ],
    ids=lambda value: getattr(getattr(value, "dist", None), "name", ""),
)
def test_the_range_of_a_distribution(distribution: Any, entry: dict[str, Any]) -> None:
    found = user_space({"C": distribution}, {"C": 1.0}).document["C"]
    assert (found["type"], found["space"]) == (entry["type"], entry["space"])
    assert found["range"] == pytest.approx(entry["range"], rel=1e-3)
    assert all(isinstance(end, int) for end in found["range"]) == (entry["type"] == "int")


def test_lists_are_choices_and_the_estimators_own_value_joins_them() -> None:
    found = user_space({"kernel": ["rbf", "poly"], "degree": np.array([2, 3])}, {"kernel": "rbf", "degree": 4})
    assert found.document == {
        "kernel": {"type": "cat", "values": ["rbf", "poly"], "default": "rbf"},
        "degree": {"type": "cat", "values": [2, 3, 4], "default": 4},
    }
    assert found.params({"kernel": "poly", "degree": 3}) == {"kernel": "poly", "degree": 3}


def test_values_that_json_does_not_have_keep_their_identity() -> None:
    found = user_space({"depth": [None, 3], "layers": [(5,), (5, 5)]}, {"depth": None, "layers": (5,)})
    assert found.document["depth"] == {"type": "cat", "values": ["None", "3"], "default": "None"}
    assert found.params({"depth": "None", "layers": "(5, 5)"}) == {"depth": None, "layers": (5, 5)}
    assert found.value("depth", None) == "None"
    true = user_space({"a": [1, 2]}, {"a": True})
    assert true.document["a"]["values"] == [1, 2, True]  # which is not 1


def test_one_value_is_fixed() -> None:
    found = user_space({"depth": [3], "C": stats.uniform(0, 1)}, {"depth": None, "C": 0.5})
    assert list(found.document) == ["C"]
    assert found.params({"C": 0.1}) == {"C": 0.1, "depth": 3}
    with pytest.raises(SpaceError, match="one value only of depth: there is nothing to tune"):
        user_space({"depth": [3]}, {"depth": None})


def test_floras_own_formats_pass_as_they_are() -> None:
    entry = {"type": "real", "space": "log", "range": [0.01, 100.0]}
    assert user_space({"C": entry}, {"C": 1.0}).document == {"C": entry}
    assert user_space('{"C": 1}', {}).document == {"C": 1}
    with pytest.raises(SpaceError, match="a mapping or JSON of one"):
        user_space("C from 1 to 5", {})
    space = SearchSpace.from_json({"C": {**entry, "default": 1.0}})
    assert user_space(space, {}).document == space.to_json()


@pytest.mark.parametrize(
    ("entry", "own", "stands"),
    [
        (stats.randint(1, 9), None, 9),
        (stats.randint(1, 9), "sqrt", 9),
        (stats.randint(1, 9), 1.0, 9),  # all columns, where 1 is one
        (stats.uniform(0, 1), None, np.nextafter(1, 2)),
        (stats.loguniform(1e-4, 1), "scale", 1e-2),
        (FloatDistribution(1e-4, 1, log=True), "scale", 1e-2),
        ({"type": "int", "range": [10, 20]}, (100,), 21),
    ],
)
def test_an_own_value_that_is_no_number_of_the_range_is_the_default(entry: Any, own: Any, stands: float) -> None:
    found = user_space({"hp": entry}, {"hp": own})
    space = SearchSpace.from_json(found.document)
    assert space.default["hp"] == pytest.approx(stands)
    assert found.params(space.default) == {"hp": own}
    assert type(found.params(space.default)["hp"]) is type(own)
    low, high = found.document["hp"]["range"]
    assert [found.params({"hp": value})["hp"] for value in (low, high)] == [low, high]


def test_a_default_that_is_stated_or_in_the_range_needs_no_number_in_its_place() -> None:
    entry = {"type": "int", "range": [1, 9], "default": 4}
    assert user_space({"depth": entry}, {"depth": None}).document == {"depth": entry}
    for number in (3, np.int64(3), 30):
        assert user_space({"depth": stats.randint(1, 9)}, {"depth": number}).stand_ins == {}


@pytest.mark.parametrize(
    ("space", "says"),
    [
        ([{"C": [1, 2]}], "one mapping of names to ranges, got a list of 1"),
        ({"C": []}, "C: need at least one value, got an empty list"),
        ({"C": type("Odd", (), {"rvs": None})()}, "C: a distribution needs ppf, as scipy's have"),
    ],
)
def test_what_is_no_space_is_said(space: Any, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        user_space(space, {"C": 1, "depth": None})


def test_a_whole_search_with_steps_none_and_a_distribution() -> None:
    inner = Pipeline([("scale", StandardScaler()), ("tree", DecisionTreeClassifier())])
    space = {
        "scale": [StandardScaler(), MinMaxScaler(), "passthrough"],
        "tree__max_depth": [None, 1, 2, 3],
        "tree__min_samples_leaf": stats.randint(1, 20),
        "tree__criterion": ["entropy"],
    }
    found = FloraSearchCV(inner, space, **QUICK).fit(X, y, groups=WARDS)
    assert found.best_estimator_["tree"].criterion == "entropy"
    assert {type(params["scale"]) for params in found.cv_results_["params"]} > {str}
    assert {params["tree__max_depth"] for params in found.cv_results_["params"]} <= {None, 1, 2, 3}
    assert found.cv_results_["params"][0]["tree__max_depth"] is None
    assert found.best_params_["tree__min_samples_leaf"] in range(1, 20)
    assert found.score(X, y) > 0.8


def test_a_whole_search_over_ranges_whose_own_values_are_no_numbers() -> None:
    space = {"max_depth": stats.randint(1, 3), "max_features": stats.uniform(0.3, 0.5)}
    found = FloraSearchCV(DecisionTreeClassifier(max_features="sqrt"), space, **QUICK).fit(X, y, groups=WARDS)
    tried = found.cv_results_["params"]
    assert found.space_default_ == tried[0] == {"max_depth": None, "max_features": "sqrt"}
    assert {type(params["max_depth"]) for params in tried} == {int, type(None)}
    assert all(params["max_depth"] in (1, 2) and 0.3 < params["max_features"] < 0.8 for params in tried[1:6])
    text = repr(found.recommended_params_) + found._repr_html_()
    assert "sqrt" in text
    assert "1.0000000000000002" not in text
