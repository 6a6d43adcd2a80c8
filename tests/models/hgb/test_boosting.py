"""The contract: what the parties train is what scikit-learn trains on the pooled rows, given the same bins.

It is shown in two steps: parties apart get byte for byte what one process with all rows gets, and that is
scikit-learn's model. (Threads in step are slow, so the first step has few trees.)
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

from flora.core.collective import Alone, Collective, Floats
from flora.core.threads import in_step
from flora.core.workers import one_thread
from flora.errors import DataError
from flora.models.hgb.bins import Bins, agree_on_bins
from flora.models.hgb.boosting import Boosting, random_state
from flora.models.hgb.model import BoostedTrees
from flora.models.hgb.settings import Settings
from flora.models.rows import Rows
from flora.problem.space import Config
from tests.models.hgb.tables import KINDS, rows_of, table, uneven

SEED = 3


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


def share(rows: Rows, weights: Floats | None, config: Config, collective: Collective) -> tuple[BoostedTrees, Bins]:
    settings = Settings.of(config)
    bins = agree_on_bins(rows, settings.max_bins, collective)
    boosting = Boosting.begin(rows, bins, settings, collective, SEED, weights)
    return BoostedTrees(boosting.start, tuple(boosting.iterations()), rows.schema), bins


def apart(
    parties: Sequence[Rows], config: Config, weights: Sequence[Floats] | None = None
) -> tuple[BoostedTrees, Bins]:
    """Train in step, a thread for each party; all must have the same model."""
    each: Sequence[Floats | None] = weights or [None] * len(parties)
    found = in_step([partial(share, rows, own, config) for rows, own in zip(parties, each, strict=True)])
    assert len({tuple(model.files().items()) for model, _ in found}) == 1
    return found[0]


def pooled(rows: Rows, bins: Bins, config: Config, weights: Floats | None = None) -> Any:
    """scikit-learn's own fit of all rows, on the parties' bins."""

    def fit(self: Any, X: Floats, y: Any = None, sample_weight: Any = None) -> Any:
        codes = [np.arange(count, dtype=np.float64) for count in bins.categories]
        self.bin_thresholds_ = [code if len(code) else edges for code, edges in zip(codes, bins.edges, strict=True)]
        self.is_categorical_, self.n_bins_non_missing_ = bins.categorical, bins.numbers
        self.missing_values_bin_idx_ = bins.most
        return self

    kind = HistGradientBoostingClassifier if rows.schema.classes else HistGradientBoostingRegressor
    categorical = bins.categorical.astype(bool) if bins.categorical.any() else None
    settings = {**config, "early_stopping": False, "random_state": random_state(SEED)}
    with patch.object(_BinMapper, "fit", fit):
        return kind(categorical_features=categorical, **settings).fit(rows.X, rows.y, sample_weight=weights)


SAME = (
    "feature_idx", "bin_threshold", "num_threshold", "missing_go_to_left", "left", "right", "count", "depth",
    "is_leaf", "is_categorical", "bitset_idx",
)  # fmt: skip


def assert_same_trees(model: BoostedTrees, reference: Any) -> None:
    ours = [tree.predictor for trees in model.trees for tree in trees]
    theirs = [tree for trees in reference._predictors for tree in trees]
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        for name in SAME:
            assert np.array_equal(one.nodes[name], other.nodes[name]), name
        inner = one.nodes["is_leaf"] == 0
        assert np.array_equal(one.raw_left_cat_bitsets, other.raw_left_cat_bitsets)
        np.testing.assert_allclose(one.nodes["gain"][inner], other.nodes["gain"][inner], rtol=1e-6)
        np.testing.assert_allclose(one.nodes["value"], other.nodes["value"], rtol=1e-6, atol=1e-12)


def assert_same_predictions(model: BoostedTrees, reference: Any, X: Floats) -> None:
    probe = np.vstack([X, 1.7 * X])
    probe[:, np.flatnonzero(model._categorical)] = np.vstack([X, X])[:, np.flatnonzero(model._categorical)]
    probe[::7, 3] = np.nan
    scores = reference._raw_predict(probe)
    np.testing.assert_allclose(model.scores(probe), scores, rtol=0, atol=1e-10 * max(1, np.abs(scores).max()))
    assert np.array_equal(model.predict(probe), reference.predict(probe)) or not model.schema.classes


CONFIGS: dict[str, Config] = {
    "defaults": {"max_iter": 12},
    "fast": {"max_iter": 12, "learning_rate": 0.5, "min_samples_leaf": 1, "l2_regularization": 1.0},
    "small trees": {"max_iter": 15, "max_leaf_nodes": 5, "max_depth": 3},
    "two leaves": {"max_iter": 10, "max_leaf_nodes": 2},
    "few bins": {"max_iter": 8, "max_bins": 16},
    "some columns": {"max_iter": 8, "max_features": 0.4},
}


def weights_of(rows: Rows) -> Floats:
    weights = 3 * np.random.default_rng(1).exponential(size=len(rows))
    weights[::11] = 0.0
    return weights


@pytest.mark.parametrize("classes", [2, 4, 0], ids=["binary", "four classes", "regression"])
@pytest.mark.parametrize("kind", KINDS)
class TestEqualsPooledScikitLearn:
    def test_parties_apart_get_what_one_with_all_rows_gets(self, kind: str, classes: int) -> None:
        rows = table(kind, classes, 600)
        model, _ = apart(uneven(rows), {"max_iter": 3})
        assert model.files() == share(rows, None, {"max_iter": 3}, Alone())[0].files()

    def test_with_defaults(self, kind: str, classes: int) -> None:
        rows, config = table(kind, classes), CONFIGS["defaults"]
        model, bins = share(rows, None, config, Alone())
        reference = pooled(rows, bins, config)
        assert_same_trees(model, reference)
        assert_same_predictions(model, reference, rows.X)

    def test_with_weights(self, kind: str, classes: int) -> None:
        rows, config = table(kind, classes), CONFIGS["defaults"]
        model, bins = share(rows, weights_of(rows), config, Alone())
        reference = pooled(rows, bins, config, weights_of(rows))
        assert_same_trees(model, reference)
        assert_same_predictions(model, reference, rows.X)


TABLES = (("missing values", 2), ("categories", 3), ("odd columns", 0))
OTHERS = [(*one, name) for one in TABLES for name in CONFIGS if name != "defaults"]
OTHERS.remove(("categories", 3, "few bins"))  # scikit-learn refuses more categories than bins


@pytest.mark.parametrize(("kind", "classes", "name"), OTHERS)
def test_equals_pooled_scikit_learn_with_other_settings(kind: str, classes: int, name: str) -> None:
    rows, config = table(kind, classes), CONFIGS[name]
    model, bins = share(rows, None, config, Alone())
    reference = pooled(rows, bins, config)
    assert_same_trees(model, reference)
    assert_same_predictions(model, reference, rows.X)


@pytest.mark.parametrize("classes", [2, 3, 0], ids=["binary", "three classes", "regression"])
def test_parties_apart_with_weights_get_what_one_with_all_rows_gets(classes: int) -> None:
    rows = table("categories", classes, 600)
    weights, config = weights_of(rows), {"max_iter": 3, "max_features": 0.5}
    tagged = uneven(Rows(rows.X, np.arange(len(rows)), rows.schema))  # the rows' places, as they are spread
    spread = [Rows(part.X, rows.y[part.y], rows.schema) for part in tagged]
    model, _ = apart(spread, config, [weights[part.y] for part in tagged])
    assert model.files() == share(rows, weights, config, Alone())[0].files()


def test_a_long_training_keeps_to_scikit_learns_trees() -> None:
    for kind, classes in (("numbers", 2), ("odd columns", 0)):
        rows, config = table(kind, classes), {"max_iter": 100}
        model, bins = share(rows, None, config, Alone())
        assert_same_trees(model, pooled(rows, bins, config))


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e-6), (-3.0, 1e9)])
def test_a_targets_offset_and_scale_do_not_matter(shift: float, scale: float) -> None:
    rows = table("numbers", 0)
    moved = Rows(rows.X, scale * (rows.y + shift), rows.schema)
    model, bins = share(moved, None, {"max_iter": 20}, Alone())
    assert_same_trees(model, pooled(moved, bins, {"max_iter": 20}))


def test_coarser_units_are_told_from_scikit_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: with 22 bits for a sum, other trees are grown."""
    monkeypatch.setattr("flora.models.hgb.exact_sums.ROOM", 22)
    rows, config = table("numbers", 2), {"max_iter": 40}
    model, bins = share(rows, None, config, Alone())
    with pytest.raises(AssertionError):
        assert_same_trees(model, pooled(rows, bins, config))


class TestTheExchange:
    def test_trees_do_not_depend_on_how_far_ahead_is_looked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = table("missing values", 3, 600)
        found = []
        for ahead in (0.0, 0.75, 3.0):
            monkeypatch.setattr("flora.models.hgb.boosting.AHEAD", ahead)
            found.append(apart(uneven(rows), {"max_iter": 3})[0].files())
        assert found[0] == found[1] == found[2]

    def test_small_messages_change_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = table("categories", 3, 600)
        at_once = apart(uneven(rows), {"max_iter": 2})[0].files()
        monkeypatch.setattr("flora.models.hgb.boosting.MOST_WORDS", 1)
        assert apart(uneven(rows), {"max_iter": 2})[0].files() == at_once

    def test_a_tree_of_31_leaves_takes_about_ten_exchanges(self) -> None:
        counted = _Counted()
        rows = table("numbers", 2, 3000)
        bins = agree_on_bins(rows, 255, Alone())
        boosting = Boosting.begin(rows, bins, Settings(max_iter=20), counted, SEED)
        before = counted.calls
        trees = list(boosting.iterations())
        assert np.mean([len(tree.nodes) for (tree,) in trees]) == 61
        assert 6 <= (counted.calls - before) / 20 <= 13

    def test_nothing_is_asked_once_nothing_can_be_split(self) -> None:
        counted = _Counted()
        rows = table("numbers", 2, 100)
        bins = agree_on_bins(rows, 255, Alone())
        boosting = Boosting.begin(rows, bins, Settings(max_iter=50, min_samples_leaf=60), counted, SEED)
        before = counted.calls
        assert [len(tree.nodes) for (tree,) in boosting.iterations()] == [1] * 50
        assert counted.calls == before + 1


class _Counted(Alone):
    """A party whose partner has no rows, and who counts."""

    def __init__(self) -> None:
        object.__setattr__(self, "size", 2)
        object.__setattr__(self, "calls", 0)

    calls: int

    def add_integers(self, values: Any) -> Any:
        object.__setattr__(self, "calls", self.calls + 1)
        return super().add_integers(values)


def test_rows_must_be_there_and_weigh_something() -> None:
    rows = table("numbers", 2, 50)
    bins = agree_on_bins(rows, 255, Alone())
    none = rows.take(np.arange(0))
    begin: Callable[..., Boosting] = partial(Boosting.begin, bins=bins, settings=Settings(), collective=Alone(), seed=0)
    with pytest.raises(DataError, match="needs at least one row"):
        begin(none)
    with pytest.raises(DataError, match="must add up to more than 0"):
        begin(rows, weights=np.zeros(50))
    with pytest.raises(DataError, match="must add up to more than 0"):
        begin(table("numbers", 0, 50), weights=np.zeros(50))


def test_a_target_too_large_for_its_squares_is_refused() -> None:
    rows = rows_of(np.zeros((10, 7)), np.linspace(-1e200, 1e200, 10), 0)
    with pytest.raises(DataError, match="too large"):
        share(rows, None, {}, Alone())
