from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.metrics import accuracy_score, r2_score
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from flora.collective import Alone, Collective
from flora.engines.inprocess import in_step
from flora.errors import InputError
from flora.models import Family
from flora.models.mlp import Layers, Perceptron, PerceptronModel
from flora.schema import Column, Schema, Task
from flora.space import Config
from flora.table import Rows
from tests.test_encoding import Recorder

MLP: Family = Perceptron()
FAST: Config = {"hidden_layer_sizes": 50, "learning_rate_init": 0.01}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """As the caller does: parties are threads already, and small matrices gain nothing by more."""
    with threadpool_limits(1):
        yield


def table(load: Any, task: Task = "classification", most: int = 600) -> Rows:
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:most]
    columns = tuple(Column(f"x{k:02d}", "numeric") for k in range(X.shape[1]))
    classes = tuple(range(int(y.max()) + 1)) if task == "classification" else ()
    return Rows(
        X[order].astype(float), y[order].astype(float if not classes else int), Schema("y", task, columns, classes)
    )


def halves(rows: Rows) -> tuple[Rows, Rows]:
    places = np.arange(len(rows))
    return rows.take(places[places % 3 != 0]), rows.take(places[places % 3 == 0])


def train(rows: Rows, shares: list[NDArray[np.intp]], config: Config = FAST, seed: int = 1) -> list[PerceptronModel]:
    def party(share: NDArray[np.intp], collective: Collective) -> PerceptronModel:
        return Perceptron().train(config, rows.take(share), collective, seed).model

    return in_step([lambda c, s=share: party(s, c) for share in shares])  # type: ignore[misc]


def thirds(rows: Rows) -> list[NDArray[np.intp]]:
    return np.split(np.arange(len(rows)), [len(rows) // 6, len(rows) // 2])


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_digits])
def test_the_parties_learn_about_as_well_as_scikit_learn_on_pooled_rows(load: Any) -> None:
    rows, test = halves(table(load))
    ((_, pooled),) = MLP.score(FAST, rows, test, "accuracy", 1)
    models = train(rows, thirds(rows))
    assert accuracy_score(test.y, models[0].predict(test.X)) > pooled - 0.1
    assert all(model.files() == models[0].files() for model in models)


def test_regression_in_the_targets_own_unit() -> None:
    rows, test = halves(table(load_diabetes, "regression"))
    ((_, pooled),) = MLP.score(FAST, rows, test, "r2", 1)
    models = train(rows, thirds(rows))
    assert r2_score(test.y, models[0].predict(test.X)) > max(pooled - 0.1, 0.3)
    assert models[0].center == pytest.approx(rows.y.mean())
    assert models[0].scale == pytest.approx(rows.y.std())
    assert models[0].predict_proba(test.X) is None
    assert all(model.files() == models[0].files() for model in models)


@pytest.mark.parametrize(("load", "task"), [(load_iris, "classification"), (load_diabetes, "regression")])
def test_the_files_load(load: Any, task: Task) -> None:
    rows = table(load, task, 120)
    model = train(rows, thirds(rows), {**FAST, "max_iter": 5})[0]
    loaded = MLP.load(model.files(), rows.schema)
    assert np.array_equal(loaded.predict(rows.X), model.predict(rows.X))
    assert loaded.files() == model.files()


def test_the_seed_decides() -> None:
    rows = table(load_iris)
    first, again = (train(rows, thirds(rows), {**FAST, "max_iter": 3})[0].files() for _ in range(2))
    other = train(rows, thirds(rows), {**FAST, "max_iter": 3}, seed=2)[0].files()
    assert first == again
    assert first != other


def test_the_first_weights_are_glorots_and_a_step_is_adams() -> None:
    rows = table(load_breast_cancer, most=14)  # too few to validate on
    model = Perceptron().train({**FAST, "max_iter": 1}, rows, Alone(), 0).model
    start = Perceptron().train({**FAST, "max_iter": 1, "learning_rate_init": 1e-12}, rows, Alone(), 0).model
    bound = np.sqrt(6 / (30 + 50))  # Glorot's, and one Adam step is the learning rate
    assert 0.95 * bound < np.abs(start.layers.matrices[0]).max() <= bound
    moves = np.abs(model.layers.weights - start.layers.weights)
    assert moves.max() == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_the_forward_pass_is_scikit_learns(load: Any, activation: str) -> None:
    rows = table(load)
    network = MLPClassifier(50, activation=activation, random_state=0)
    model = Perceptron().train({**FAST, "activation": activation, "max_iter": 2}, rows, Alone(), 0).model
    dense = model.encoding(rows.X)
    network.partial_fit(dense, rows.y, classes=np.arange(len(rows.schema.classes)))
    weights = np.concatenate([part.ravel() for part in (*network.coefs_, *network.intercepts_)])
    same = PerceptronModel(model.encoding, Layers(weights, model.layers.sizes, activation), "classification")
    assert np.allclose(np.asarray(same.predict_proba(rows.X)), network.predict_proba(dense), atol=1e-12)
    assert np.array_equal(same.predict(rows.X), network.predict(dense))


def test_parties_may_lack_classes_or_have_few_rows_or_none() -> None:
    rows, test = halves(table(load_iris))
    places = np.arange(len(rows))
    shares = [places[rows.y == 0], places[:0], places[rows.y != 0][:1], places[rows.y != 0][1:]]
    models = train(rows, shares)
    assert accuracy_score(test.y, models[0].predict(test.X)) > 0.6
    assert all(model.files() == models[0].files() for model in models)


def test_without_validation_rows_every_round_is_run_and_the_last_weights_stay() -> None:
    rows, recorder = table(load_iris, most=14), Recorder()
    model = Perceptron().train({**FAST, "max_iter": 40}, rows, recorder, 0).model
    sums = [values for values, _ in recorder.sent if len(values) == len(model.layers.weights) + 1]
    assert len(sums) == 40
    assert np.array_equal(model.layers.weights, sums[-1][:-1] / 14)


def test_training_stops_when_validation_rows_see_no_gain() -> None:
    rows = table(load_breast_cancer)
    recorder = Recorder()
    MLP.train({**FAST, "learning_rate_init": 1e-12, "n_iter_no_change": 4}, rows, recorder, 0)
    rounds = sum(values.shape == (2,) for values, _ in recorder.sent)
    assert rounds == 1 + 4 + 1  # the first is the best; as in scikit-learn, one more than the patience


def test_a_pooled_batch_is_shared_out_by_rows() -> None:
    rows, slow = table(load_digits), {**FAST, "max_iter": 1, "batch_size": 60}
    short = train(rows, thirds(rows), {**slow, "learning_rate_init": 1e-3})[0]
    start = train(rows, thirds(rows), {**slow, "learning_rate_init": 1e-12})[0]
    steps = np.abs(short.layers.weights - start.layers.weights).max() / 1e-3
    assert 4 < steps < 12  # 540 rows in pooled batches of 60: nine Adam steps at each party


@pytest.mark.parametrize(("load", "task"), [(load_iris, "classification"), (load_diabetes, "regression")])
def test_what_leaves_has_no_axis_of_rows(load: Any, task: Task) -> None:
    rows = table(load, task, 134)
    recorders: list[Recorder] = []

    def party(share: NDArray[np.intp], collective: Collective) -> PerceptronModel:
        recorder = Recorder(collective)
        recorders.append(recorder)
        return Perceptron().train({**FAST, "max_iter": 3}, rows.take(share), recorder, 7).model

    in_step([lambda c, s=share: party(s, c) for share in np.split(np.arange(134), 2)])  # type: ignore[misc]
    assert len(recorders) == 2
    for recorder in recorders:
        recorder.check(67)
        assert not any(size in values.shape for values, _ in recorder.sent for size in (60, 7))  # kept and held rows


def test_a_fold_that_cannot_be_split_is_scored_without_early_stopping() -> None:
    rows = table(load_breast_cancer, most=60)
    lonely = rows.take(np.append(np.flatnonzero(rows.y == 1), np.flatnonzero(rows.y == 0)[:1]))
    few = rows.take(np.arange(8))
    for train_rows in (lonely, few):
        ((_, score),) = MLP.score({**FAST, "max_iter": 20, "batch_size": 500}, train_rows, rows, "roc_auc", 0)
        assert 0 <= score <= 1


def test_the_score_is_the_same_for_the_same_seed() -> None:
    rows, test = halves(table(load_iris))
    assert MLP.score(FAST, rows, test, "neg_log_loss", 3) == MLP.score(FAST, rows, test, "neg_log_loss", 3)


def test_the_space_is_the_papers() -> None:
    default = {"hidden_layer_sizes": 100, "alpha": 1e-4, "learning_rate_init": 1e-3}
    assert dict(MLP.space("classification").default) == default
    assert MLP.defaults(["batch_size", "alpha"], "regression") == {"batch_size": 200, "alpha": 1e-4}
    with pytest.raises(InputError, match="can be tuned, got 'solver'"):
        MLP.defaults(["alpha", "solver"], "classification")


def test_files_of_another_network_are_refused() -> None:
    iris, cancer = (table(load) for load in (load_iris, load_breast_cancer))
    files = dict(Perceptron().train({**FAST, "max_iter": 1}, iris, Alone(), 0).model.files())
    with pytest.raises(InputError, match=r"weights\.npy: must hold float64 of shape"):
        MLP.load(files, cancer.schema)
    with pytest.raises(InputError, match="no network has 50 hidden units with 'sine'"):
        MLP.load({**files, "model.json": files["model.json"].replace(b"relu", b"sine")}, iris.schema)
