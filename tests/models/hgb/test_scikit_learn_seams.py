"""What hgb takes from inside of scikit-learn. Where one of these fails, a new version needs another look.

That the trees are scikit-learn's own is shown in ``test_boosting.py``; this says loudly *what* has moved.
"""

import inspect
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn._loss.loss as losses
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import HISTOGRAM_DTYPE, PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.grower import TreeGrower
from sklearn.ensemble._hist_gradient_boosting.histogram import HistogramBuilder
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.ensemble._hist_gradient_boosting.splitting import SplitInfo, Splitter

from flora.models.hgb.boosting import column_stream, random_state
from flora.models.hgb.model import NODE


def test_the_version_is_one_that_was_tried() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    (rule,) = [one for one in project["dependencies"] if one.startswith("scikit-learn")]
    assert rule == "scikit-learn>=1.7,<1.10"
    assert (1, 7) <= tuple(map(int, version("scikit-learn").split(".")[:2])) < (1, 10)


def test_records_have_the_fields_that_are_read_and_written() -> None:
    assert HISTOGRAM_DTYPE.names == ("sum_gradients", "sum_hessians", "count")
    assert set(PREDICTOR_RECORD_DTYPE.names) == set(NODE.names or ())
    assert HISTOGRAM_DTYPE["sum_gradients"] == np.float64  # 53 bits: exact_sums.ROOM stays below


def test_split_info_has_what_a_node_is_made_of() -> None:
    assert list(inspect.signature(SplitInfo).parameters) == [
        "gain", "feature_idx", "bin_idx", "missing_go_to_left", "sum_gradient_left", "sum_hessian_left",
        "sum_gradient_right", "sum_hessian_right", "n_samples_left", "n_samples_right", "value_left", "value_right",
        "is_categorical", "left_cat_bitset",
    ]  # fmt: skip


def blocks() -> tuple[Any, Any]:
    binned = np.asfortranarray(np.repeat([[0, 1], [1, 0], [2, 255]], 10, axis=0).astype(np.uint8))
    gradients = np.repeat(np.array([1.0, -1.0, 5.0], dtype=np.float32), 10)
    builder = HistogramBuilder(binned, 256, gradients, np.ones(1, dtype=np.float32), True, 1)
    numbers, zeros = np.array([3, 2], dtype=np.uint32), np.zeros(2, dtype=np.uint8)
    splitter = Splitter(
        binned, numbers, 255, np.array([0, 1], dtype=np.uint8), zeros, np.zeros(2, dtype=np.int8), 0.0,
        min_samples_leaf=1, hessians_are_constant=True, feature_fraction_per_split=1.0, rng=np.random.default_rng(0),
    )  # fmt: skip
    return builder, splitter


def test_blocks_take_the_arguments_that_they_are_given() -> None:
    builder, splitter = blocks()
    histograms = builder.compute_histograms_brute(splitter.partition)
    assert isinstance(histograms.base, np.ndarray)
    assert histograms.base["sum_gradients"][0, :3].tolist() == [10.0, -10.0, 50.0]
    found = splitter.find_node_split(30, histograms, 50.0, 30.0, 0.0)
    assert (found.feature_idx, found.bin_idx, found.n_samples_left) == (0, 1, 20)
    left, right, position = splitter.split_indices(found, splitter.partition)
    assert (len(left), len(right), position) == (20, 10, 20)
    assert np.asarray(splitter.partition)[:20].tolist() == list(np.asarray(left))
    smaller = builder.compute_histograms_brute(right)
    rest = builder.compute_histograms_subtraction(histograms, smaller)
    assert np.asarray(rest.base)["sum_gradients"][0, :3].tolist() == [10.0, -10.0, 0.0]
    assert splitter.min_hessian_to_split == 1e-3


def test_leaves_are_shrunk_at_the_end_and_the_best_leaf_is_split_first() -> None:
    source = inspect.getsource(TreeGrower)
    for habit in ("heappop(self.splittable_nodes)", "leaf.value *= self.shrinkage", "n_samples_left < n_samples_right"):
        assert habit in source, habit


def test_predictors_take_nodes_and_sets() -> None:
    assert list(inspect.signature(TreePredictor.__init__).parameters)[1:] == [
        "nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets",
    ]  # fmt: skip
    assert list(inspect.signature(TreePredictor.predict).parameters)[1:] == [
        "X", "known_cat_bitsets", "f_idx_map", "n_threads",
    ]  # fmt: skip
    assert "missing_values_bin_idx" in inspect.signature(TreePredictor.predict_binned).parameters


@pytest.mark.parametrize("name", ["HalfBinomialLoss", "HalfMultinomialLoss", "HalfSquaredError"])
def test_losses_have_the_methods_that_are_called(name: str) -> None:
    loss = getattr(losses, name)()
    assert {"y_true", "raw_prediction", "sample_weight", "gradient_out", "hessian_out", "n_threads"} <= set(
        inspect.signature(loss.gradient_hessian).parameters
    )
    assert loss.constant_hessian == (name == "HalfSquaredError")
    start = loss.fit_intercept_only(np.arange(3.0), sample_weight=np.array([1.0, 2.0, 1.0]))
    assert np.isfinite(start).all()


def test_columns_are_drawn_with_scikit_learns_own_generator() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    fitted = HistGradientBoostingClassifier(max_iter=1, random_state=random_state(4)).fit(X, X[:, 0] > 0)
    assert np.array_equal(column_stream(4).random(5), fitted._feature_subsample_rng.random(5))


def test_a_fitted_estimator_has_the_attributes_that_ours_is_given() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    fitted = HistGradientBoostingClassifier(max_iter=1).fit(X, X[:, 0] > 0)
    for name in (
        "classes_", "n_features_in_", "_n_features", "n_trees_per_iteration_", "is_categorical_",
        "_is_categorical_remapped", "_preprocessor", "_loss", "_bin_mapper", "_baseline_prediction", "_predictors",
        "do_early_stopping_", "train_score_", "validation_score_",
    ):  # fmt: skip
        assert hasattr(fitted, name), name
    assert {"bin_thresholds_", "is_categorical_", "n_bins_non_missing_", "missing_values_bin_idx_"} <= vars(
        _BinMapper(n_bins=256).fit(X)
    ).keys()
