"""Exported models predict what FLoRA's do."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flora.core.collective import Alone
from flora.core.workers import one_thread
from flora.errors import InputError
from flora.models import family_of
from flora.models.estimator.family import AnyEstimator
from flora.models.export import exported
from flora.models.export.sklearn_file import to_pipeline
from flora.models.model_file import StoredModel
from flora.models.rows import Rows, encode_features
from flora.problem.schema import Column
from tests.models.hgb.tables import KINDS, table

CLASSES = pytest.mark.parametrize("classes", [2, 3, 0], ids=["binary", "three classes", "regression"])


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


def trained(rows: Rows, family: str = "hgb", **config: Any) -> StoredModel:
    config = {"max_iter": 8, **config} if family == "hgb" else config
    return StoredModel(family_of(family).train(config, rows, Alone(), 0).model, family, rows.schema, config)


def frame_of(rows: Rows) -> pd.DataFrame:
    """The rows as a user has them: categories are texts, some unheard of, and cells are missing."""
    frame = pd.DataFrame(rows.X, columns=list(rows.schema.names))
    for place, column in enumerate(rows.schema.columns):
        if column.categories:
            texts = [None if np.isnan(code) else column.categories[int(code)] for code in rows.X[:, place]]
            frame[column.name] = pd.Series(texts, dtype=object)
            frame.loc[5:8, column.name] = "never seen"
    return frame


def raw(stored: StoredModel, frame: pd.DataFrame) -> tuple[Any, Any]:
    X = encode_features(frame, stored.schema)
    return stored.model.predict(X), stored.model.predict_proba(X)


def onnx_inputs(frame: pd.DataFrame, columns: Sequence[Column]) -> dict[str, Any]:
    """A table as a graph's inputs; a missing category is an empty text."""
    return {
        c.name: frame[[c.name]].fillna("").astype(str).to_numpy(dtype=object)
        if c.categories
        else frame[[c.name]].to_numpy(dtype=np.float64)
        for c in columns
    }


@CLASSES
@pytest.mark.parametrize("kind", KINDS)
def test_onnx_predictions_agree(kind: str, classes: int) -> None:
    runtime = pytest.importorskip("onnxruntime")
    rows = table(kind, classes, 700)
    stored, frame = trained(rows), frame_of(rows)
    session = runtime.InferenceSession(exported(stored, "onnx"))
    assert [each.name for each in session.get_inputs()] == list(rows.schema.names)
    answers = session.run(None, onnx_inputs(frame, rows.schema.columns))
    expected, probabilities = raw(stored, frame)
    if not classes:
        assert np.allclose(answers[0], expected, rtol=1e-12, atol=1e-12)
        return
    assert np.allclose(answers[1], probabilities, rtol=1e-12, atol=1e-12)
    assert answers[0].tolist() == expected.tolist()  # the classes of these tables are their places


@pytest.mark.parametrize("labels", [("ill", "well"), (False, True), (3, 7)], ids=["text", "bool", "number"])
def test_onnx_has_the_labels_of_the_classes(labels: Any) -> None:
    runtime = pytest.importorskip("onnxruntime")
    rows = table("numbers", 2, 400)
    rows = Rows(rows.X, rows.y, replace(rows.schema, classes=labels))
    stored = trained(rows)
    session = runtime.InferenceSession(exported(stored, "onnx"))
    answers = session.run(None, onnx_inputs(frame_of(rows), rows.schema.columns))
    assert answers[0].tolist() == [labels[k] for k in stored.model.predict(rows.X)]


def test_a_tree_of_one_leaf() -> None:
    runtime = pytest.importorskip("onnxruntime")
    rows = table("numbers", 0, 60)
    stored = trained(rows, min_samples_leaf=40)
    session = runtime.InferenceSession(exported(stored, "onnx"))
    answers = session.run(None, onnx_inputs(frame_of(rows), rows.schema.columns))
    assert np.allclose(answers[0], stored.model.predict(rows.X), rtol=1e-12)


def test_the_same_model_is_the_same_file() -> None:
    pytest.importorskip("onnx")
    rows = table("categories", 3, 300)
    assert exported(trained(rows), "onnx") == exported(trained(rows), "onnx")
    assert exported(trained(rows), "sklearn") == exported(trained(rows), "sklearn")


@CLASSES
@pytest.mark.parametrize("kind", ["odd columns", "categories"])
def test_the_scikit_learn_pipeline_predicts_the_same_and_is_no_pickle(kind: str, classes: int) -> None:
    from skops.io import get_untrusted_types, loads

    rows = table(kind, classes, 700)
    stored, frame = trained(rows), frame_of(rows)
    data = exported(stored, "sklearn")
    untrusted = get_untrusted_types(data=data)
    assert all(name.startswith("sklearn.") for name in untrusted)
    expected, probabilities = raw(stored, frame)
    for pipeline in (to_pipeline(stored), loads(data, trusted=untrusted)):
        assert np.array_equal(pipeline.predict(frame), expected)
        if classes:
            assert np.array_equal(pipeline.predict_proba(frame), probabilities)
    assert b"pickle" not in data


def dense_rows(classes: int, *, labels: Any = ()) -> Rows:
    """Rows with a hole in a column of numbers, one of categories, and one that is always the same."""
    rows = table("categories", classes, 700)
    X = rows.X.copy()
    X[:, 3], X[:, 4] = 7.0, np.where(np.isnan(X[:, 4]), np.nan, -2.5)  # without holes, and with some
    return Rows(X, rows.y, replace(rows.schema, classes=tuple(labels) or rows.schema.classes), rows.weights)


DENSE = pytest.mark.parametrize(
    ("family", "classes", "config"),
    [
        ("svm", 2, {"gamma": 0.3}),
        ("svm", 3, {}),
        ("mlp", 2, {"max_iter": 5, "activation": "tanh"}),
        ("mlp", 3, {"max_iter": 5}),
        ("mlp", 0, {"max_iter": 5, "activation": "logistic"}),
    ],
)


@DENSE
def test_networks_and_machines_agree_in_onnx(family: str, classes: int, config: dict[str, Any]) -> None:
    runtime = pytest.importorskip("onnxruntime")
    rows = dense_rows(classes)
    stored, frame = trained(rows, family, **config), frame_of(rows)
    session = runtime.InferenceSession(exported(stored, "onnx"))
    answers = session.run(None, onnx_inputs(frame, rows.schema.columns))
    expected, probabilities = raw(stored, frame)
    if not classes:
        assert np.allclose(answers[0], expected, rtol=1e-9)
        return
    assert answers[0].tolist() == expected.tolist()
    scores = probabilities
    if family == "svm":
        scores = stored.model.decision_function(encode_features(frame, stored.schema))  # type: ignore[attr-defined]
    assert np.allclose(answers[1], scores.reshape(len(scores), -1), rtol=1e-9, atol=1e-9)


@DENSE
def test_networks_and_machines_agree_in_scikit_learn(family: str, classes: int, config: dict[str, Any]) -> None:
    from skops.io import get_untrusted_types, loads

    labels = [("well", "ill"), ("b", "c", "a"), ()][[2, 3, 0].index(classes)]
    rows = dense_rows(classes, labels=labels)
    stored, frame = trained(rows, family, **config), frame_of(rows)
    data = exported(stored, "sklearn")
    untrusted = get_untrusted_types(data=data)
    assert all(name.startswith(("sklearn.", "numpy.dtype")) for name in untrusted)
    expected, probabilities = raw(stored, frame)
    for pipeline in (to_pipeline(stored), loads(data, trusted=untrusted)):
        if not classes:
            assert np.allclose(pipeline.predict(frame), expected, rtol=1e-9)
            continue
        assert pipeline.predict(frame).tolist() == [labels[k] for k in expected]
        if family == "mlp":
            assert np.allclose(pipeline.predict_proba(frame), probabilities, rtol=1e-9, atol=1e-12)


def test_a_machine_knows_the_classes_that_somebody_has_rows_of() -> None:
    runtime = pytest.importorskip("onnxruntime")
    rows = table("numbers", 2, 200)
    rows = Rows(rows.X, rows.y * 2, replace(rows.schema, classes=("a", "b", "c")))
    stored, frame = trained(rows, "svm"), frame_of(rows)
    expected = [("a", "b", "c")[k] for k in stored.model.predict(rows.X)]
    session = runtime.InferenceSession(exported(stored, "onnx"))
    assert session.run(None, onnx_inputs(frame, rows.schema.columns))[0].tolist() == expected
    assert to_pipeline(stored).predict(frame).tolist() == expected


TREE = "sklearn.tree:DecisionTreeClassifier"


def test_other_families_say_that_they_cannot() -> None:
    rows = table("numbers", 2, 60)
    model = AnyEstimator.named(TREE).train({}, rows, Alone(), 0).model
    for kind in ("onnx", "sklearn"):
        with pytest.raises(InputError, match=f"models of {TREE} cannot be exported; flora.load"):
            exported(StoredModel(model, TREE, rows.schema, {}), kind)
    with pytest.raises(InputError, match=r"format must be one of \['onnx', 'sklearn'\], got 'lightgbm'"):
        exported(trained(table("numbers", 2, 60)), "lightgbm")
