import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from flora.core.collective import Alone, Collective
from flora.core.threads import in_step
from flora.errors import InputError
from flora.models.class_weights import BALANCE
from flora.models.encoding import fit_encoding
from flora.models.family import Held, ModelFamily, Trained
from flora.models.mlp.family import Perceptron, dealt
from flora.models.mlp.federated_averaging import AGGREGATOR
from flora.models.mlp.perceptron import PerceptronModel
from flora.models.rows import Rows
from flora.problem.schema import Column, Schema, Task
from flora.problem.space import Config
from flora.program.request import Request
from flora.randomness import derived_seed
from tests.conftest import Recorder

MLP: ModelFamily = Perceptron()
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
    sums = [values for values in recorder.sums if len(values) == len(model.layers.weights) + 1]
    assert len(sums) == 40
    assert np.corrcoef(model.layers.weights, sums[-1][:-1])[0, 1] > 1 - 1e-12  # in units of their own


def test_training_stops_when_validation_rows_see_no_gain() -> None:
    rows = table(load_breast_cancer)
    recorder = Recorder()
    MLP.train({**FAST, "learning_rate_init": 1e-12, "n_iter_no_change": 4}, rows, recorder, 0)
    rounds = sum(len(values) == 3 for values in recorder.sums)
    assert rounds == 1 + 4 + 1  # the first is the best; as in scikit-learn, one more than the patience


@pytest.mark.parametrize(("parties", "own", "patience"), [(1, {}, 10), (5, {}, 19), (5, {"n_iter_no_change": 4}, 4)])
def test_many_parties_have_more_patience_unless_a_config_says(parties: int, own: dict[str, int], patience: int) -> None:
    rows = table(load_breast_cancer)

    def rounds(collective: Collective) -> int:
        recorder = Recorder(collective)
        MLP.train({**FAST, "max_iter": 40, "learning_rate_init": 1e-12, **own}, rows, recorder, 0)
        return sum(len(values) == 3 for values in recorder.sums)

    assert set(in_step([rounds] * parties)) == {1 + patience + 1}


def test_a_pooled_batch_is_shared_out_by_rows() -> None:
    rows, slow = table(load_digits), {**FAST, "max_iter": 1, "batch_size": 60}
    short = train(rows, thirds(rows), {**slow, "learning_rate_init": 1e-3})[0]
    start = train(rows, thirds(rows), {**slow, "learning_rate_init": 1e-12})[0]
    steps = np.abs(short.layers.weights - start.layers.weights).max() / 1e-3
    assert 7 < steps < 16  # 540 rows in pooled batches of 60: nine Adam steps, each 1.4 to 2.4 times as long


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
        assert not any(size in values.shape for values in recorder.sums for size in (60, 7))  # kept and held rows


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


def test_the_own_space_is_the_papers_and_the_weight_of_classes() -> None:
    default = {"hidden_layer_sizes": 100, "alpha": 1e-4, "learning_rate_init": 1e-3}
    for task in ("classification", "regression"):
        paper, own = (MLP.spaces(task)[name] for name in ("paper", "own"))
        assert dict(paper.default) == default
        assert dict(own.default) == (default if task == "regression" else {**default, BALANCE: 0})
    assert MLP.defaults(["batch_size", "alpha"], "regression") == {"batch_size": 200, "alpha": 1e-4}
    with pytest.raises(InputError, match="can be tuned, got 'solver'"):
        MLP.defaults(["alpha", "solver"], "classification")


def test_the_score_is_scikit_learns_own_training() -> None:
    rows, test = halves(table(load_iris))
    encoding = fit_encoding(rows, Alone())
    network = MLPClassifier(
        50,
        learning_rate_init=0.01,
        early_stopping=True,
        batch_size=rows.X.shape[0] - 10,
        random_state=derived_seed(3, "mlp"),
    )
    network.fit(encoding(rows.X), rows.y)
    loss = log_loss(test.y, network.predict_proba(encoding(test.X)))
    assert MLP.score(FAST, rows, test, "neg_log_loss", 3) == [(FAST, -loss)]


@pytest.mark.parametrize(
    ("load", "task", "scoring"), [(load_iris, "classification", "neg_log_loss"), (load_diabetes, "regression", "r2")]
)
@pytest.mark.parametrize("named", [{"local_epochs": 2}, {"server_learning_rate": 0.5}, dict(AGGREGATOR)])
def test_what_only_an_aggregator_has_is_scored_on_a_federation_of_the_partys_rows(
    load: Any, task: Task, scoring: str, named: Config
) -> None:
    rows, test = halves(table(load, task, 200))
    config = {**FAST, "max_iter": 8, **named}
    ((_, score),) = MLP.score(config, rows, test, scoring, 3)
    shares = dealt(rows, 3)
    model = train(rows, shares, config, seed=3)[0]
    probabilities = model.predict_proba(test.X)
    expected = r2_score(test.y, model.predict(test.X)) if probabilities is None else -log_loss(test.y, probabilities)
    assert len(shares) == 3
    assert score == pytest.approx(expected, abs=1e-9)  # up to the rounding of the target's mean
    assert score != MLP.score({**FAST, "max_iter": 8}, rows, test, scoring, 3)[0][1]


def test_rows_are_dealt_class_by_class_to_fewer_parties_where_they_are_few() -> None:
    rows = table(load_iris)
    shares = dealt(rows, 1)
    assert np.array_equal(np.sort(np.concatenate(shares)), np.arange(150))
    assert all(np.ptp([np.sum(rows.y[share] == place) for share in shares]) <= 1 for place in range(3))
    assert any(not np.array_equal(a, b) for a, b in zip(shares, dealt(rows, 2), strict=True))
    sizes = [[len(share) for share in dealt(rows.take(np.arange(n)), 1)] for n in (1, 29, 30, 44, 45)]
    assert sizes == [[1], [29], [15, 15], [22, 22], [15, 15, 15]]
    numbers = table(load_diabetes, "regression", 60)
    assert all(abs(numbers.y[share].mean() - numbers.y.mean()) < 40 for share in dealt(numbers, 1))


@pytest.mark.parametrize("config", [FAST, {**FAST, "local_epochs": 2, "server_learning_rate": 0.5}])
@pytest.mark.parametrize(
    ("load", "task", "scoring"), [(load_iris, "classification", "neg_log_loss"), (load_diabetes, "regression", "r2")]
)
def test_the_scores_of_a_path_are_those_of_fits_of_their_own(
    load: Any, task: Task, scoring: str, config: Config
) -> None:
    rows, test = halves(table(load, task, 120))
    configs: list[Config] = [{**config, "n_iter_no_change": 8, "max_iter": count} for count in (15, 2, 5, 10)]
    found = MLP.score(configs[0], rows, test, scoring, 3, configs[1:])
    assert MLP.passes_through == {"max_iter"}
    assert found == [MLP.score(step, rows, test, scoring, 3)[0] for step in configs]
    assert len({score for _, score in found}) > 1


def test_held_rows_choose_the_round() -> None:
    rows, held = halves(table(load_breast_cancer, most=200))
    config = {**FAST, "learning_rate_init": 0.05, "max_iter": 60}

    def trained(config: Config, held: Rows | None = held) -> Trained[PerceptronModel]:
        return Perceptron().train(config, rows, Alone(), 1, None if held is None else Held(held, "accuracy"))

    first = trained(config)
    chosen = first.config["max_iter"]
    assert isinstance(chosen, int)
    assert 1 < chosen < 60
    assert first.config == {**config, "max_iter": chosen}
    assert trained(first.config).model.files() == first.model.files()
    assert trained({**config, "max_iter": chosen - 1}).model.files() != first.model.files()
    assert trained(FAST).config == FAST  # what was not asked for is not reported
    assert trained(config, None).config == config


def test_the_aggregators_hps_are_in_a_space_of_their_own() -> None:
    space = Perceptron().spaces("classification")["federated"]
    assert space.names == (*MLP.spaces("classification")["own"].names, "local_epochs", "server_learning_rate")
    assert {name: space.default[name] for name in AGGREGATOR} == {"local_epochs": 1, "server_learning_rate": 1.0}
    plan = Request("mlp", json.loads(json.dumps(space.to_json()))).plan("classification")
    assert plan.space == space
    written = (Path(__file__).parents[3] / "docs" / "training.md").read_text().split("```json")[1].split("```")[0]
    assert Request("mlp", json.loads(written)).plan("classification").space == space
    bare = {"local_epochs": {"type": "int", "range": [1, 4]}, "max_iter": {"type": "int", "range": [1, 50]}}
    assert dict(Request("mlp", bare).plan("regression").space.default) == {"local_epochs": 1, "max_iter": 200}


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        ({"local_epochs": 0}, "local_epochs must be a whole number of at least 1, got 0"),
        ({"local_epochs": 1.5}, "local_epochs must be a whole number of at least 1, got 1.5"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"server_learning_rate": 0.0}, "server_learning_rate must be a number above 0, got 0.0"),
        ({"server_learning_rate": math.inf}, "server_learning_rate must be a number above 0, got inf"),
        ({BALANCE: 1.5}, "class_balance must be a number between 0 and 1, got 1.5"),
        ({BALANCE: True}, "class_balance must be a number between 0 and 1, got True"),
        ({"server_learning_rate": True}, "server_learning_rate must be a number above 0, got True"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(config: Config, rule: str) -> None:
    rows = table(load_iris)
    with pytest.raises(InputError, match=rule):
        MLP.train(config, rows, Alone(), 0)
    with pytest.raises(InputError, match=rule):
        MLP.score(config, rows, rows, "accuracy", 0)
