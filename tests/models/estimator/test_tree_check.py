"""Trees that compiled code would follow for ever, or out of its memory: they are seen before it does."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from flora.errors import InputError
from flora.models.estimator.tree_check import check_trees

X = np.random.default_rng(0).normal(size=(200, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
MODELS = (
    DecisionTreeClassifier(max_depth=3),
    RandomForestClassifier(3, max_depth=3),
    GradientBoostingRegressor(n_estimators=3),
    HistGradientBoostingClassifier(max_iter=3),
)


def rebuilt(tree: Any, **changes: Any) -> Any:
    """Return a tree with another first node."""
    state = tree.__getstate__()
    for name, value in changes.items():
        state["nodes"][name][0] = value
    found = Tree(tree.n_features, np.atleast_1d(tree.n_classes).astype(np.intp), tree.n_outputs)
    found.__setstate__(state)
    return found


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_scikit_learn_grows_is_taken(model: Any) -> None:
    check_trees("m", model.fit(X, Y))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"left_child": 0}, "lead to later nodes"),
        ({"right_child": 10**6}, "lead to later nodes"),
        ({"left_child": -7}, "lead to later nodes"),
        ({"feature": 3}, "one of the 3 columns"),
        ({"feature": -5}, "one of the 3 columns"),
    ],
)
def test_a_tree_that_leads_astray_is_refused(changes: dict[str, int], words: str) -> None:
    model = DecisionTreeClassifier(max_depth=3).fit(X, Y)
    model.tree_ = rebuilt(model.tree_, **changes)
    with pytest.raises(InputError, match=words):
        check_trees("m", model)
    forest = RandomForestClassifier(2, max_depth=3).fit(X, Y)
    forest.estimators_[1] = model
    with pytest.raises(InputError, match=words):
        check_trees("m", forest)


def test_a_forest_looks_at_the_columns_for_its_trees() -> None:
    forest = RandomForestClassifier(2, max_depth=3).fit(X, Y)
    forest.estimators_[1] = DecisionTreeClassifier().fit(np.tile(X, 2), Y)
    with pytest.raises(InputError, match="all trees of a RandomForestClassifier must have its 3 columns"):
        check_trees("m", forest)


@pytest.mark.parametrize(("field", "value"), [("left", 0), ("right", 2**31), ("feature_idx", 3), ("is_categorical", 1)])
def test_a_tree_of_histograms_that_leads_astray_is_refused(field: str, value: int) -> None:
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    model._predictors[1][0].nodes[field][0] = value
    with pytest.raises(InputError, match="a tree"):
        check_trees("m", model)
