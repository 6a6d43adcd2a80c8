import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flora.core.collective import Alone
from flora.core.workers import one_thread
from flora.errors import InputError
from flora.models.arrays import array_of, array_to_bytes
from flora.models.hgb.family import GradientBoosting
from flora.models.hgb.model import NODE, NODES, SETS, START, TREES, BoostedTrees
from flora.models.model_file import pack, unpack
from flora.models.rows import Rows
from tests.models.hgb.tables import KINDS, schema_of, table

HGB = GradientBoosting()
CLASSES = pytest.mark.parametrize("classes", [2, 3, 0], ids=["binary", "three classes", "regression"])


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


def trained(rows: Rows, **config: Any) -> BoostedTrees:
    return HGB.train({"max_iter": 6, **config}, rows, Alone(), 0).model


def strange(rows: Rows) -> NDArray[np.float64]:
    """Rows, rows further out, and rows with missing values."""
    X = np.vstack([rows.X, rows.X, rows.X[:50]])
    numeric = [k for k, column in enumerate(rows.schema.columns) if column.kind == "numeric"]
    X[len(rows) : 2 * len(rows), numeric] *= 1.9
    X[-50:] = np.nan
    return X


@CLASSES
@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learns_estimator_predicts_exactly_the_same(kind: str, classes: int) -> None:
    rows = table(kind, classes, 700)
    model, X = trained(rows), strange(rows)
    for one in (model, HGB.load(model.files(), rows.schema)):
        estimator = one.to_sklearn()
        assert np.array_equal(estimator.predict(X), one.predict(X))
        if classes:
            probabilities = one.predict_proba(X)
            assert probabilities is not None
            assert np.array_equal(estimator.predict_proba(X), probabilities)
            assert estimator.classes_.tolist() == list(rows.schema.classes)
        staged = [scores[:, 0].copy() for scores in one.staged_scores(X)]
        assert np.array_equal(staged, [scores[:, 0] for scores in estimator._staged_raw_predict(X)])
        assert estimator.n_iter_ == 6


@CLASSES
def test_files_bring_the_model_back(classes: int) -> None:
    rows = table("categories", classes, 600)
    model = trained(rows)
    again = HGB.load(model.files(), rows.schema)
    assert again.files() == model.files()
    assert np.array_equal(again.scores(rows.X), model.scores(rows.X))
    for one, other in zip(model.trees, again.trees, strict=True):
        assert all(np.array_equal(a.nodes, b.nodes) for a, b in zip(one, other, strict=True))
    stored = unpack(pack(model, family="hgb", schema=rows.schema, config={"max_iter": 6}))
    assert np.array_equal(stored.model.predict(rows.X), model.predict(rows.X))


def test_classes_are_places_and_probabilities_sum_to_one() -> None:
    for classes in (2, 3):
        rows = table("numbers", classes, 400)
        model = trained(rows, max_iter=30)
        probabilities = model.predict_proba(rows.X)
        assert probabilities is not None
        assert probabilities.shape == (400, classes)
        assert probabilities.sum(axis=1) == pytest.approx(1)
        assert np.array_equal(model.predict(rows.X), probabilities.argmax(axis=1))
        assert (model.predict(rows.X) == rows.y).mean() > 0.85
    assert trained(table("numbers", 0, 100)).predict_proba(rows.X) is None


def test_with_fewer_bins_than_categories_a_model_comes_back_too() -> None:
    rows = table("categories", 2, 600)
    model = trained(rows, max_bins=16)
    nodes = np.concatenate([tree.nodes for (tree,) in model.trees])
    split = nodes[nodes["is_leaf"] == 0]
    assert set(split["feature_idx"][split["is_categorical"] == 1]) <= {0}
    assert {1, 2} & set(split["feature_idx"])
    again = HGB.load(model.files(), rows.schema)
    assert np.array_equal(again.scores(rows.X), model.scores(rows.X))
    assert np.array_equal(again.to_sklearn().predict(rows.X), model.predict(rows.X))


def test_labels_may_be_texts() -> None:
    rows = table("numbers", 2, 200)
    named = Rows(rows.X, rows.y, type(rows.schema)("t", "classification", rows.schema.columns, ("no", "yes")))
    assert set(trained(named).to_sklearn().predict(rows.X)) == {"no", "yes"}


def test_a_model_can_be_cut() -> None:
    rows = table("missing values", 3, 300)
    model = trained(rows)
    for count, scores in enumerate(model.staged_scores(rows.X), start=1):
        assert np.array_equal(model.cut(count).scores(rows.X), scores)
    nothing = model.cut(0)
    assert np.array_equal(nothing.scores(rows.X), np.tile(model.start, (300, 1)))
    assert HGB.load(nothing.files(), rows.schema).files() == nothing.files()
    assert model.scores(rows.X[:0]).shape == (0, 3)


def test_the_model_holds_no_feature_value() -> None:
    rows = table("numbers", 2, 900)
    nodes = array_of(trained(rows, max_iter=20).files(), NODES, NODE)
    thresholds = nodes["num_threshold"][nodes["is_leaf"] == 0]
    assert len(thresholds) > 100
    assert not np.isin(thresholds, rows.X).any()


Change = Callable[[dict[str, NDArray[Any]]], None]


def changed(change: Change, classes: int = 2) -> tuple[dict[str, bytes], Rows]:
    """A model's files with something wrong in them."""
    rows = table("categories", classes, 600)
    files = trained(rows, max_iter=2).files()
    arrays = {
        START: array_of(files, START, np.dtype("<f8")),
        NODES: array_of(files, NODES, NODE),
        TREES: array_of(files, TREES, np.dtype("<u4")),
        SETS: array_of(files, SETS, np.dtype("<u4")),
    }
    change(arrays)
    return {name: array_to_bytes(values) for name, values in arrays.items()}, rows


def setting(field: str, value: Any, *, at: str = "inner") -> Change:
    def change(arrays: dict[str, NDArray[Any]]) -> None:
        nodes = arrays[NODES]
        places = {
            "inner": nodes["is_leaf"] == 0,
            "numeric": (nodes["is_leaf"] == 0) & (nodes["is_categorical"] == 0),
            "categorical": nodes["is_categorical"] == 1,
            "leaf": nodes["is_leaf"] == 1,
        }
        nodes[field][np.flatnonzero(places[at])[-1]] = value

    return change


def replacing(name: str, value: Callable[[NDArray[Any]], NDArray[Any]]) -> Change:
    return lambda arrays: arrays.update({name: value(arrays[name])})


class TestHostileFiles:
    @pytest.mark.parametrize(("change", "rule"), [
        (setting("value", np.nan, at="leaf"), "every value must be finite"),
        (setting("value", np.inf), "every value must be finite"),
        (setting("feature_idx", 7), "on one of the 7 columns"),
        (setting("feature_idx", 2**32 - 1), "on one of the 7 columns"),
        (setting("left", 0), "must come after it"),
        (setting("right", 0), "must come after it"),
        (setting("left", 10_000), "within their tree"),
        (setting("right", 2**32 - 1), "within their tree"),
        (setting("is_categorical", 1, at="numeric"), "on a column of categories"),
        (setting("feature_idx", 5, at="categorical"), "on a column of categories"),
        (setting("bitset_idx", 999, at="categorical"), "sets of its tree"),
        (setting("num_threshold", np.nan, at="numeric"), "must be a number"),
        (setting("is_leaf", 0, at="leaf"), "must come after it"),
        (replacing(NODES, lambda nodes: nodes[:-1]), "must add up to"),
        (replacing(NODES, lambda nodes: nodes.reshape(1, -1)), "must have the shapes"),
        (replacing(TREES, lambda sizes: sizes * 0), "must add up to"),
        (replacing(TREES, lambda sizes: np.vstack([sizes, [[0, 0]]]).astype("<u4")), "at least one node"),
        (replacing(TREES, lambda sizes: sizes[:, :1]), "must have the shapes"),
        (replacing(SETS, lambda sets: sets[:, :7]), "must have the shapes"),
        (replacing(SETS, lambda sets: sets[:-1]), "must add up to"),
        (replacing(START, lambda start: start * np.nan), "must be finite"),
        (replacing(START, lambda start: np.zeros(2)), r"of shape \(1,\)"),
        (replacing(NODES, lambda nodes: np.zeros(len(nodes))), "must hold"),
    ])  # fmt: skip
    def test_what_cannot_be_a_model_is_refused(self, change: Change, rule: str) -> None:
        files, rows = changed(change)
        with pytest.raises(InputError, match=rule):
            HGB.load(files, rows.schema)

    def test_a_tree_for_each_class_is_needed(self) -> None:
        files, _ = changed(lambda arrays: None)
        with pytest.raises(InputError, match=r"of shape \(3,\)"):
            HGB.load(files, schema_of([3, 40, 200, 0, 0, 0, 0], 3))
        files[START] = array_to_bytes(np.zeros(3))
        with pytest.raises(InputError, match="3 trees for each iteration"):
            HGB.load(files, schema_of([3, 40, 200, 0, 0, 0, 0], 3))
        with pytest.raises(InputError, match="on one of the 2 columns"):
            HGB.load(changed(lambda arrays: None)[0], schema_of([3, 40], 2))

    @pytest.mark.parametrize("name", [START, NODES, TREES, SETS])
    def test_a_file_must_be_there_and_be_an_array(self, name: str) -> None:
        files, rows = changed(lambda arrays: None)
        with pytest.raises(InputError, match="the model has no file"):
            HGB.load({key: data for key, data in files.items() if key != name}, rows.schema)
        for data in (b"", b"junk", files[name][:-1], files[name] + b"x", _header("(10**9,)"), _header("(-1,)")):
            with pytest.raises(InputError):
                HGB.load({**files, name: data}, rows.schema)

    @settings(deadline=None, max_examples=60)
    @given(st.data())
    def test_whatever_bytes_are_changed_a_prediction_ends_or_the_file_is_refused(self, data: st.DataObject) -> None:
        files, rows = FILES
        name = data.draw(st.sampled_from(sorted(files)))
        content = bytearray(files[name])
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        try:
            model = HGB.load({**files, name: bytes(content)}, rows.schema)
        except InputError:
            return
        with np.errstate(all="ignore"):
            assert model.scores(rows.X).shape == (600, 1)


def _header(shape: str) -> bytes:
    """A file that says it holds an enormous array."""
    file = io.BytesIO()
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"12345678")
    return file.getvalue()


FILES = changed(lambda arrays: None)
