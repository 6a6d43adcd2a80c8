from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from flora.core.collective import Alone, Collective
from flora.core.threads import in_step
from flora.errors import DataError, InputError
from flora.models.encoding import fit_encoding
from flora.models.family import ModelFamily
from flora.models.rows import Rows
from flora.models.svm import FourierFeatures, SupportVectorModel, SupportVectors
from flora.problem.schema import Column, Schema
from tests.conftest import Recorder

SVM = SupportVectors(features=200)  # fewer than usual: the same code, in less time
FAMILY: ModelFamily = SVM  # the type checker holds it to the contract
CONFIG = {"C": 3.0, "gamma": 0.5, "tol": 1e-5}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """As the caller does: parties are threads already, and small matrices gain nothing by more."""
    with threadpool_limits(1):
        yield


def blobs(classes: int, *, known: int = 0) -> Rows:
    """Return overlapping clouds of unequal size; the last of the schema's ``known`` classes have no rows."""
    rng = np.random.default_rng(classes)
    y = rng.choice(classes, 150, p=np.arange(1, classes + 1) / sum(range(classes + 1)))
    X = rng.normal(size=(150, 4)) + 1.2 * np.eye(classes, 4)[y]
    X[::13, 1] = np.nan
    columns = tuple(Column(f"x{k}", "numeric") for k in range(4))
    return Rows(X, y, Schema("y", "classification", columns, tuple(range(known or classes))))


def skewed(rows: Rows) -> list[NDArray[np.intp]]:
    """Return unequal shares; the first party lacks class 0 entirely."""
    places = np.arange(len(rows))
    first = places[(rows.y != 0) & (places < 75)]
    rest = np.setdiff1d(places, first)
    return [first, rest[:20], rest[20:]]


@cache
def trained(classes: int) -> list[SupportVectorModel]:
    rows = blobs(classes)
    return train(rows, skewed(rows))


def train(rows: Rows, shares: list[NDArray[np.intp]]) -> list[SupportVectorModel]:
    def party(share: NDArray[np.intp], collective: Collective) -> SupportVectorModel:
        return SVM.train(CONFIG, rows.take(share), collective, 7).model

    return in_step([lambda c, s=share: party(s, c) for share in shares])  # type: ignore[misc]


def pooled(model: SupportVectorModel, rows: Rows) -> NDArray[np.float64]:
    """Return the decision values of scikit-learn's machine on all rows and the same features."""
    features = model.features(model.encoding(rows.X))[:, :-1]
    machine = LinearSVC(C=3.0, dual=False, tol=1e-12, class_weight="balanced", max_iter=10_000)
    return np.asarray(machine.fit(features, rows.y).decision_function(features))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_parties_get_the_machine_of_pooled_rows(classes: int) -> None:
    model, rows = trained(classes)[0], blobs(classes)
    np.testing.assert_allclose(model.decision_function(rows.X), pooled(model, rows), rtol=0, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_every_party_holds_the_same_bytes_and_they_load(classes: int) -> None:
    models, rows = trained(classes), blobs(classes)
    assert all(model.files() == models[0].files() for model in models)
    loaded = FAMILY.load(models[0].files(), rows.schema)
    assert np.array_equal(loaded.predict(rows.X), models[0].predict(rows.X))
    assert loaded.files() == models[0].files()
    assert loaded.predict_proba(rows.X) is None


def test_the_same_seed_gives_the_same_bytes() -> None:
    rows = blobs(2)
    assert train(rows, skewed(rows))[0].files() == trained(2)[0].files()


def test_a_loose_tolerance_still_bounds_the_decision_values() -> None:
    rows, config = blobs(2), {"C": 1000.0, "gamma": 5.0}
    loose, tight = (SVM.train({**config, "tol": tol}, rows, Alone(), 0).model for tol in (0.1, 1e-5))
    assert np.abs(loose.decision_function(rows.X) - tight.decision_function(rows.X)).max() < 0.1


def test_no_step_follows_rounding_errors() -> None:
    def steps(tol: float) -> int:
        recorder = Recorder()
        SVM.train({**CONFIG, "tol": tol}, blobs(2), recorder, 7)
        return sum(values.shape == (201 * 202 // 2 + 1,) for values in recorder.sums)  # a Hessian for each step

    assert steps(1e-15) == steps(1e-9) < 20


def test_what_leaves_has_no_axis_of_rows() -> None:
    rows = blobs(3)
    recorders: list[Recorder] = []

    def party(share: NDArray[np.intp], collective: Collective) -> SupportVectorModel:
        recorder = Recorder(collective)
        recorders.append(recorder)
        return SVM.train(CONFIG, rows.take(share), recorder, 7).model

    shares = [np.arange(53), np.arange(53, 106)]
    in_step([lambda c, s=share: party(s, c) for share in shares])  # type: ignore[misc]
    assert len(recorders) == 2
    for recorder in recorders:
        recorder.check(53)


def test_features_are_those_of_the_kernel() -> None:
    dense = np.random.default_rng(0).random((30, 5))
    features = FourierFeatures.drawn((20_000, 5), 0.5, 0, Alone())(dense)[:, :-1]
    kernel = np.exp(-0.5 * np.sum((dense[:, None] - dense[None]) ** 2, axis=2))
    assert np.abs(features @ features.T - kernel).max() < 0.05  # seven times 1 / sqrt(20,000)


def test_classes_that_no_party_has_are_left_out() -> None:
    rows = blobs(2, known=4)
    model = SVM.train(CONFIG, rows, Alone(), 7).model
    assert model.classes.tolist() == [0, 1]
    np.testing.assert_allclose(model.decision_function(rows.X), pooled(model, rows), rtol=0, atol=1e-6)


def test_one_class_is_refused() -> None:
    rows = blobs(2)
    with pytest.raises(DataError, match="'y': need rows of at least 2 classes"):
        SVM.train(CONFIG, rows.take(np.flatnonzero(rows.y == 1)), Alone(), 0)


def test_it_learns_about_as_well_as_the_exact_machine() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    schema = Schema("y", "classification", tuple(Column(f"x{k:02d}", "numeric") for k in range(30)), (0, 1))
    rows = Rows(X, y.astype(np.int64), schema)
    train_rows, test_rows = rows.take(np.arange(0, 400)), rows.take(np.arange(400, 569))
    ((_, exact),) = SVM.score({"C": 1.0, "gamma": 0.1}, train_rows, test_rows, "balanced_accuracy", 0)
    model = SVM.train({"C": 1.0, "gamma": 0.1}, train_rows, Alone(), 0).model
    assert balanced_accuracy_score(test_rows.y, model.predict(test_rows.X)) > exact - 0.03


def test_the_score_is_the_exact_machines() -> None:
    rows = blobs(2)
    train_rows, test_rows = rows.take(np.arange(100)), rows.take(np.arange(100, 150))
    encoding = fit_encoding(train_rows, Alone())
    machine = SVC(C=3.0, gamma=0.5, tol=1e-5, class_weight="balanced").fit(encoding(train_rows.X), train_rows.y)
    area = roc_auc_score(test_rows.y, machine.decision_function(encoding(test_rows.X)))
    assert SVM.score(CONFIG, train_rows, test_rows, "roc_auc", 0) == [(CONFIG, area)]


def test_a_score_of_probabilities_is_refused() -> None:
    rows = blobs(2)
    with pytest.raises(InputError, match="'neg_log_loss' needs probabilities"):
        SVM.score(CONFIG, rows, rows, "neg_log_loss", 0)


def test_the_space_is_the_papers() -> None:
    space = SVM.spaces("classification")["own"]
    assert dict(space.default) == {"C": 1.0, "gamma": 0.1, "tol": 1e-3}
    assert {p["space"] for p in space.to_json().values()} == {"log"}
    assert SVM.defaults(["gamma"], "classification") == {"gamma": 0.1}


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match="only C, gamma, tol can be tuned, got 'degree'"):
        SVM.defaults(["C", "degree"], "classification")
    with pytest.raises(InputError, match="got the task 'regression'"):
        SVM.spaces("regression")


def test_files_of_another_table_are_refused() -> None:
    files = dict(trained(3)[0].files())
    with pytest.raises(InputError, match="classes must be at least 2 of the schema's 2"):
        SVM.load(files, blobs(2).schema)
    with pytest.raises(InputError, match=r"weights\.npy: must hold float64 of shape \(3, 201\)"):
        SVM.load({**files, "weights.npy": trained(2)[0].files()["weights.npy"]}, blobs(3).schema)


@pytest.mark.parametrize("config", [{"C": 1e6, "gamma": 1.0}, {"C": 1000.0, "gamma": 1e-5}, {"C": 0.01, "gamma": 10.0}])
def test_bounds_of_sums_hold_so_that_nothing_is_added_up_twice(config: dict[str, float]) -> None:
    rows, heard = blobs(3), list[list[int]]()

    def party(share: NDArray[np.intp], collective: Collective) -> None:
        recorder = Recorder(collective)
        SVM.train({**CONFIG, **config}, rows.take(share), recorder, 7)
        large = [len(values) for values in recorder.sums if values.ndim == 1 and len(values) > 200]
        heard.append([size for size in large if size != 201])  # but for what the first computes

    in_step([lambda c, s=share: party(s, c) for share in np.array_split(np.arange(len(rows)), 3)])  # type: ignore[misc]
    gradients, hessians = heard[0][::2], heard[0][1::2]
    assert set(gradients) == {202}
    assert set(hessians) == {201 * 202 // 2 + 1}
