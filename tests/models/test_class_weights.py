"""Weights of classes, beside scikit-learn's own."""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.neural_network import MLPClassifier
from sklearn.utils.class_weight import compute_sample_weight

from flora.core.collective import Alone, Collective, Floats
from flora.core.threads import in_step
from flora.models.class_weights import BALANCE, class_weights
from flora.models.encoding import fit_encoding
from flora.models.hgb.family import GradientBoosting
from flora.models.mlp.family import Perceptron, emulated
from flora.models.rows import Rows
from flora.problem.schema import Column, Schema
from flora.randomness import derived_seed

HGB, MLP = GradientBoosting(), Perceptron()


def rare(rows: int, share: float, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    y = (rng.random(rows) < share).astype(int)
    X = np.round(rng.normal(size=(rows, 4)) + 0.8 * y[:, None], 1)  # few values: all have a bin of their own
    return Rows(X, y, Schema("t", "classification", tuple(Column(f"c{k}", "numeric") for k in range(4)), (0, 1)))


def test_at_one_they_are_scikit_learns_balanced_weights() -> None:
    rows = rare(200, 0.1)
    weights = class_weights(rows, 1.0, Alone())
    assert weights == pytest.approx(compute_sample_weight("balanced", rows.y))
    half = class_weights(rows, 0.5, Alone())
    assert half == pytest.approx(np.sqrt(compute_sample_weight("balanced", rows.y)))


def test_without_balance_and_for_numbers_there_are_none() -> None:
    rows = rare(50, 0.3)
    assert class_weights(rows, 0.0, Alone()) is None
    numbers = Rows(rows.X, rows.y.astype(float), Schema("t", "regression", rows.schema.columns, ()))
    assert class_weights(numbers, 1.0, Alone()) is None


def test_they_come_from_the_counts_of_all_parties() -> None:
    rows = rare(300, 0.2)
    order = np.argsort(rows.y, kind="stable")  # the first party has one class only
    parts = [rows.take(order[:150]), rows.take(order[150:])]

    def share(part: Rows) -> Callable[[Collective], Floats | None]:
        return lambda collective: class_weights(part, 1.0, collective)

    found = [weights for weights in in_step([share(part) for part in parts]) if weights is not None]
    assert np.concatenate(found) == pytest.approx(compute_sample_weight("balanced", rows.y[order]))


def test_balanced_trees_are_scikit_learns_and_find_the_rare_class() -> None:
    rows, unseen = rare(600, 0.06), rare(4000, 0.06, seed=1)
    config = {"max_iter": 12, "learning_rate": 0.2}
    plain, balanced = (HGB.train_together({**config, BALANCE: b}, [rows], 0).model for b in (0.0, 1.0))
    theirs = HistGradientBoostingClassifier(
        max_iter=12, learning_rate=0.2, class_weight="balanced", early_stopping=False
    )
    probabilities = balanced.predict_proba(unseen.X)
    assert probabilities is not None
    difference = probabilities[:, 1] - theirs.fit(rows.X, rows.y).predict_proba(unseen.X)[:, 1]
    assert np.abs(difference).max() < 1e-4
    scores = [balanced_accuracy_score(unseen.y, model.predict(unseen.X)) for model in (plain, balanced)]
    assert scores[1] > scores[0] + 0.05


def test_the_search_scores_what_is_trained() -> None:
    rows, unseen = rare(400, 0.08), rare(500, 0.08, seed=1)
    config = {"max_iter": 10, BALANCE: 1.0}
    ((_, score),) = HGB.score(config, rows, unseen, "balanced_accuracy", 0)
    trained = HGB.train(config, rows, Alone(), 0).model
    assert score == pytest.approx(balanced_accuracy_score(unseen.y, trained.predict(unseen.X)))


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_a_networks_score_is_scikit_learns_with_balanced_weights() -> None:
    rows, unseen = rare(300, 0.1), rare(2000, 0.1, seed=1)
    config = {"hidden_layer_sizes": 50, "learning_rate_init": 0.01, "max_iter": 15}
    ((_, plain),) = MLP.score(config, rows, unseen, "balanced_accuracy", 3)
    ((_, balanced),) = MLP.score({**config, BALANCE: 1.0}, rows, unseen, "balanced_accuracy", 3)
    encoding = fit_encoding(rows, Alone())
    theirs = MLPClassifier(
        50, learning_rate_init=0.01, max_iter=15, early_stopping=True, random_state=derived_seed(3, "mlp")
    ).fit(encoding(rows.X), rows.y, sample_weight=compute_sample_weight("balanced", rows.y))
    assert balanced == pytest.approx(balanced_accuracy_score(unseen.y, theirs.predict(encoding(unseen.X))), abs=1e-12)
    assert balanced > plain + 0.05


@pytest.mark.parametrize("parties", [2, 20])
def test_balanced_federated_networks_find_the_rare_class_that_few_parties_have(parties: int) -> None:
    rows, unseen = rare(600, 0.06), rare(4000, 0.06, seed=1)
    order = np.argsort(rows.y, kind="stable") if parties == 2 else np.arange(600)
    shares = np.array_split(order, parties)
    config = {"learning_rate_init": 0.01, "max_iter": 40}
    scores = [
        balanced_accuracy_score(unseen.y, model.predict(unseen.X))
        for balance in (0.0, 1.0)
        for model in emulated({**config, BALANCE: balance}, rows, shares, 1)
    ]
    assert scores[1] > max(scores[0] + 0.05, 0.7)
