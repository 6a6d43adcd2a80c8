from typing import Any

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from flora.errors import SpaceError
from flora.models.hgb.settings import NO_LIMIT, Settings, default_of


def test_defaults_are_scikit_learns() -> None:
    theirs = HistGradientBoostingClassifier().get_params()
    ours = {name: value for name, value in vars(Settings()).items() if name != "class_balance"}
    assert Settings().class_balance == 0  # scikit-learn's class_weight=None
    for name, value in ours.items():
        assert value == (NO_LIMIT if theirs[name] is None else theirs[name]), name
    assert Settings().deepest is None
    assert Settings(max_depth=3).deepest == 3
    assert default_of("max_depth") == NO_LIMIT


def test_a_config_fills_in_and_is_cast() -> None:
    settings = Settings.of({"learning_rate": 1, "max_iter": 7.0})
    assert settings == Settings(learning_rate=1.0, max_iter=7)
    assert isinstance(settings.learning_rate, float)
    assert isinstance(settings.max_iter, int)


@pytest.mark.parametrize(("config", "message"), [
    ({"forcedbins_filename": "x"}, "forcedbins_filename: the family hgb has no such HP, it has class_balance, l2_reg"),
    ({"num_iterations": 20}, "num_iterations: the family hgb has no such HP, it has .*max_iter"),
    ({"lambda_l1": 0.1}, "lambda_l1: the family hgb has no such HP"),
    ({"min_samples_leaf": 2.5}, "min_samples_leaf: must be of the type of its default 20, got 2.5"),
    ({"learning_rate": "fast"}, "learning_rate: must be of the type of its default 0.1, got 'fast'"),
    ({"max_iter": True}, "max_iter: must be of the type of its default 100, got True"),
    ({"max_iter": 0}, "max_iter: must be at least 1, got 0"),
    ({"learning_rate": 0.0}, "learning_rate: must be above 0, got 0.0"),
    ({"learning_rate": float("inf")}, "learning_rate: must be above 0, got inf"),
    ({"l2_regularization": -0.1}, "l2_regularization: must be at least 0"),
    ({"l2_regularization": float("nan")}, "l2_regularization: must be at least 0, got nan"),
    ({"max_leaf_nodes": 1}, "max_leaf_nodes: must be at least 2"),
    ({"max_depth": 0}, "max_depth: must be at least 1, or -1 for no limit"),
    ({"max_features": 0.0}, "max_features: must be a share above 0 and at most 1"),
    ({"max_bins": 256}, "max_bins: must be between 2 and 255"),
    ({"min_samples_leaf": 0}, "min_samples_leaf: must be at least 1"),
])  # fmt: skip
def test_what_cannot_be_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        Settings.of(config)
