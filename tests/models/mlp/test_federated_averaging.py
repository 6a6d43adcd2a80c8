import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from flora.core.collective import Alone, Collective
from flora.core.threads import in_step
from flora.models.mlp.family import SETTINGS
from flora.models.mlp.federated_averaging import Part, RoundScore, Standing, average, learners_of
from flora.models.rows import Rows
from flora.problem.schema import Schema, Task
from flora.randomness import derived_seed
from tests.models.mlp.test_family import table

SLOW = {**SETTINGS, "hidden_layer_sizes": 8, "batch_size": 30}
Floats = NDArray[np.float64]


def parts_of(rows: Rows, sizes: list[int], held: int = 0) -> dict[int, tuple[Part, Part]]:
    """Deal rows out, the last ``held`` of each party for validation; inputs and numbers are scaled to [0, 1]."""
    span = rows.X.max(axis=0) - rows.X.min(axis=0)
    X, y = (rows.X - rows.X.min(axis=0)) / span, rows.y if rows.schema.classes else rows.y / rows.y.max()
    ends = np.cumsum([0, *sizes])
    cuts = [(ends[k], ends[k + 1] - held, ends[k + 1]) for k in range(len(sizes))]
    return {k: (Part(X[a:b], y[a:b]), Part(X[b:c], y[b:c])) for k, (a, b, c) in enumerate(cuts)}


def in_one_process(
    settings: dict[str, Any], parts: dict[int, tuple[Part, Part]], schema: Schema, rounds: list[int]
) -> list[Standing]:
    with threadpool_limits(1):
        return average(learners_of(settings, parts, schema, Alone()), settings, Alone(), 5, rounds)


def plainly(parts: dict[int, tuple[Part, Part]], rounds: int, epochs: int, rate: float | None) -> Floats:
    """Return the last weights of a plain loop over scikit-learn's networks; without a rate, of plain averages.

    A party has a share of the pooled batch of 30 rows: that share of the penalty, and of Adam's mean square.
    """
    rows = [len(kept) for kept, _ in parts.values()]
    sizes = [round(30 * n / sum(rows)) for n in rows]
    networks = [
        MLPClassifier(
            8,
            batch_size=size,
            alpha=1e-4 * size / 30,
            learning_rate_init=1e-3 / math.sqrt(size / 30),
            epsilon=1e-8 / math.sqrt(size / 30),
        )
        for size in sizes
    ]
    mean, bounds = np.zeros(0), [np.sqrt(6 / (4 + 8)), np.sqrt(6 / (8 + 3))]
    draw = np.random.RandomState(derived_seed(5, "mlp", "first")).uniform
    (a, b), (c, d) = ((draw(-x, x, shape), draw(-x, x, shape[1])) for x, shape in zip(bounds, [(4, 8), (8, 3)]))  # noqa: B905
    weights = np.concatenate([part.ravel() for part in (a, c, b, d)])
    for number in range(1, rounds + 1):
        total = np.zeros(len(weights))
        for place, network in enumerate(networks):
            if number == 1:  # only so that it knows its shape
                network.partial_fit(parts[place][0].X, parts[place][0].y, classes=[0, 1, 2])
                del network._optimizer
            network.random_state = np.random.RandomState(derived_seed(5, "mlp", place, number))
            coefficients, intercepts = np.split(weights.copy(), [4 * 8 + 8 * 3])
            network.coefs_ = [coefficients[:32].reshape(4, 8), coefficients[32:].reshape(8, 3)]
            network.intercepts_ = [intercepts[:8], intercepts[8:]]
            for _ in range(epochs):
                network.partial_fit(parts[place][0].X, parts[place][0].y)
            total += rows[place] * np.concatenate([m.ravel() for m in (*network.coefs_, *network.intercepts_)])
        mean = total / sum(rows)
        weights = mean if rate is None else weights + rate * (mean - weights)
    return weights


@pytest.mark.parametrize(("epochs", "rate"), [(1, None), (3, None), (1, 0.5), (2, 1.7)])
def test_a_round_is_local_epochs_an_average_and_a_step_towards_it(epochs: int, rate: float | None) -> None:
    rows = table(load_iris)
    parts = parts_of(rows, [20, 70, 60])
    changed = {"local_epochs": epochs} if epochs > 1 else {}
    settings = {**SLOW, **changed, **({"server_learning_rate": rate} if rate else {})}
    (standing,) = in_one_process(settings, parts, rows.schema, [4])
    with threadpool_limits(1):
        expected = plainly(parts, 4, epochs, rate)
    assert standing.round == 4
    np.testing.assert_allclose(standing.weights, expected, rtol=0, atol=1e-15)  # sums are exact, those of floats not


@pytest.mark.parametrize(("load", "task"), [(load_iris, "classification"), (load_diabetes, "regression")])
def test_learners_of_one_process_are_as_parties_that_meet(load: Any, task: Task) -> None:
    rows = table(load, task)
    parts = parts_of(rows, [30, 0, 20, 60], held=0) | {4: parts_of(rows, [50], held=9)[0]}
    settings = {**SLOW, "local_epochs": 2, "server_learning_rate": 0.7}

    def party(place: int, collective: Collective) -> Standing:
        learners = learners_of(settings, {place: parts[place]}, rows.schema, collective)
        return average(learners, settings, collective, 5, [6])[0]

    with threadpool_limits(1):
        apart = in_step([lambda c, k=place: party(k, c) for place in parts])  # type: ignore[misc]
    (together,) = in_one_process(settings, parts, rows.schema, [6])
    assert {standing.weights.tobytes() for standing in apart} == {together.weights.tobytes()}


@pytest.mark.parametrize("patience", [3, 50])
def test_one_training_passes_through_what_trainings_of_fewer_rounds_make(patience: int) -> None:
    rows = table(load_breast_cancer, most=150)
    parts = parts_of(rows, [50, 100], held=10)
    settings = {**SLOW, "learning_rate_init": 0.02, "n_iter_no_change": patience}
    rounds = [15, 1, 4, 9]
    found = in_one_process(settings, parts, rows.schema, rounds)
    for count, standing in zip(rounds, found, strict=True):
        (own,) = in_one_process(settings, parts, rows.schema, [count])
        assert (standing.round, standing.weights.tobytes()) == (own.round, own.weights.tobytes())
        assert standing.round <= count
    assert len({standing.weights.tobytes() for standing in found}) > 1


def test_the_best_round_stands_and_the_patience_begins_anew_with_each_gain() -> None:
    standing = Standing(np.zeros(0))
    stands = []
    for number, fit in enumerate([0.5, 0.5, 0.6, 0.60001, 0.4], 1):
        standing = standing.after(number, np.array([float(number)]), RoundScore(fit, -1.0), tol=0.01)
        stands.append((standing.round, standing.weights[0], standing.stale))
    assert stands == [(1, 1, 0), (1, 1, 1), (3, 3, 0), (4, 4, 1), (4, 4, 2)]
    assert standing.after(6, np.array([6.0]), None, 0.01).round == 6  # nobody can tell: the last


def test_a_gain_in_likelihood_is_one_and_breaks_ties_but_right_answers_decide() -> None:
    standing = Standing(np.zeros(0))
    stands = []
    for number, score in enumerate([(0.9, -0.5), (0.9, -0.4), (0.9, -0.395), (0.89, -0.2), (0.89, -0.3)], 1):
        standing = standing.after(number, np.array([float(number)]), RoundScore(*score), tol=0.01)
        stands.append((standing.round, standing.stale))
    assert stands == [(1, 0), (2, 0), (3, 1), (3, 0), (3, 1)]
