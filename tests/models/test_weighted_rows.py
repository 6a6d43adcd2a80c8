"""Rows that count more or less: whole weights are repeated rows, and weights of 1 change nothing."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer

from flora.core.collective import Alone, Collective
from flora.core.threads import in_step
from flora.core.workers import one_thread
from flora.errors import DataError, InputError
from flora.models import FAMILIES, family_of
from flora.models.estimator.family import AnyEstimator
from flora.models.family import Model, ModelFamily, Trained
from flora.models.hgb.bins import agree_on_bins
from flora.models.hgb.family import GradientBoosting
from flora.models.mlp.epochs import fitted_networks
from flora.models.mlp.family import SETTINGS
from flora.models.pooled_score import score_from, score_sums
from flora.models.rows import Rows, counted, encode
from flora.models.scored import score_of
from flora.party.tables.table import describe
from flora.problem.schema import Schema
from tests.conftest import two_moons
from tests.models.hgb.test_boosting import SEED, assert_same_trees, pooled

RNG = np.random.default_rng(4)
FRAME = two_moons(160, 3).assign(w=RNG.integers(1, 4, 160), place=lambda t: np.where(t.x > 0.5, "town", "land"))
ROWS = encode(FRAME, describe(FRAME, "kind", weight="w"))
PLAIN = replace(ROWS, weights=None)
REPEATED = PLAIN.take(np.repeat(np.arange(len(ROWS)), FRAME.w.to_numpy()))
CONFIGS = {"hgb": {"max_iter": 6, "min_samples_leaf": 1}, "svm": {}, "mlp": {"hidden_layer_sizes": 8, "max_iter": 5}}


def numbers(rows: Rows) -> Rows:
    """The same rows with a number to predict."""
    schema = Schema("t", "regression", rows.schema.columns, weight=rows.schema.weight)
    return replace(rows, y=rows.X[:, 1] * 3 + rows.y, schema=schema)


def apart(family: ModelFamily, rows: Rows) -> Model:
    """Train with two uneven parties."""

    def train(own: Rows, collective: Collective) -> Trained[Model]:
        return family.train(CONFIGS.get(family.name, {}), own, collective, SEED)

    halves = [rows.take(np.arange(0, 60)), rows.take(np.arange(60, len(rows)))]
    with one_thread():
        first, second = in_step([partial(train, half) for half in halves])
    assert first.model.files() == second.model.files()
    return first.model


def test_a_table_gives_its_weights_and_they_are_no_feature() -> None:
    assert ROWS.schema.weight == "w"
    assert "w" not in ROWS.schema.names
    assert ROWS.weights is not None
    assert ROWS.weights.tolist() == FRAME.w.tolist()
    assert ROWS.take(np.array([3])).weights == pytest.approx(FRAME.w[3])
    assert Schema.from_json(ROWS.schema.to_json()) == ROWS.schema
    assert "weight" not in PLAIN.schema.to_json() or PLAIN.schema.weight


def test_rows_of_weight_zero_do_not_count() -> None:
    table = FRAME.assign(w=[0, *FRAME.w[1:]])
    assert len(counted(table, "kind", "w")[0]) == len(FRAME) - 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, -2], r"weight 'w': must be a number of at least 0 in each row, got -2 in row 2"),
        ([1, np.nan], r"at least 0 in each row, got nothing in row 2"),
        ([1, np.inf], r"at least 0 in each row, got inf in row 2"),
        ([0, 0], r"weight 'w': must add up to a number above 0, got 0"),
        (["a", "b"], r"weight 'w': must be numeric, got 'a'"),
    ],
)
def test_what_is_no_weight_is_refused(values: list[object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        counted(pd.DataFrame({"w": values, "kind": [0, 1]}), "kind", "w")


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_boosted_trees_are_scikit_learns_of_weighted_rows(task: str) -> None:
    rows = ROWS if task == "classes" else numbers(ROWS)
    model = GradientBoosting().train(CONFIGS["hgb"], rows, Alone(), SEED).model
    bins = agree_on_bins(rows, 255, Alone())
    assert_same_trees(model, pooled(rows, bins, CONFIGS["hgb"], rows.weights))


@pytest.mark.parametrize("name", FAMILIES)
def test_parties_apart_learn_from_weights_and_weights_of_one_change_nothing(name: str) -> None:
    family = family_of(name)
    ones = replace(PLAIN, weights=np.ones(len(PLAIN)))
    plain, same, weighted = (apart(family, rows) for rows in (PLAIN, ones, ROWS))
    assert same.files() == plain.files()
    assert weighted.files() != plain.files()


@pytest.mark.parametrize("balance", [0.0, 1.0])
def test_boosting_takes_whole_weights_for_repeated_rows(balance: float) -> None:
    """With as many bins as values; where a leaf needs one row, counts decide nothing."""
    rounded = replace(ROWS, X=np.round(ROWS.X, 1))
    repeated = replace(REPEATED, X=np.round(REPEATED.X, 1))
    config = {**CONFIGS["hgb"], "class_balance": balance}
    one, other = (GradientBoosting().train(config, rows, Alone(), 0).model for rows in (rounded, repeated))
    assert one.predict_proba(rounded.X) == pytest.approx(other.predict_proba(rounded.X), abs=1e-5)


def test_a_support_vector_machine_takes_whole_weights_for_repeated_rows() -> None:
    svm = family_of("svm")
    one, other = (svm.train({"tol": 1e-5}, rows, Alone(), 0).model for rows in (ROWS, REPEATED))
    assert one.decision_function(ROWS.X) == pytest.approx(other.decision_function(ROWS.X), abs=1e-4)  # type: ignore[attr-defined]
    scores = [svm.score({"C": 5.0, "gamma": 1.0}, rows, PLAIN, "roc_auc", 0)[0][1] for rows in (ROWS, REPEATED)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)
    unweighted = svm.score({"C": 5.0, "gamma": 1.0}, PLAIN, PLAIN, "roc_auc", 0)[0][1]
    assert abs(unweighted - scores[1]) > abs(scores[0] - scores[1])


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_a_network_of_the_search_is_scikit_learns_of_weighted_rows(task: str) -> None:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    rows = ROWS if task == "classes" else numbers(ROWS)
    settings = {**SETTINGS, "hidden_layer_sizes": 8}
    shared = {"hidden_layer_sizes": 8, "max_iter": 6, "early_stopping": True, "random_state": 3}
    y = rows.y if task == "classes" else (rows.y - np.average(rows.y, weights=rows.weights))
    if task == "numbers":
        y = y / np.sqrt(np.average(y**2, weights=rows.weights))
    dense = np.nan_to_num(rows.X)
    kind = MLPClassifier if task == "classes" else MLPRegressor
    theirs = kind(**shared).fit(dense, y, sample_weight=rows.weights)
    with one_thread():
        (ours,) = fitted_networks(settings, dense, rows, 3, [6])
    matrices = ours.layers.matrices
    for mine, one in zip(matrices, [*theirs.coefs_, *theirs.intercepts_], strict=True):
        assert mine == pytest.approx(one, abs=1e-9)


def test_any_estimator_is_fitted_with_weights_or_refuses_them() -> None:
    logistic = AnyEstimator("sklearn.linear_model:LogisticRegression", LogisticRegression)
    votes = [logistic.train({}, rows, Alone(), 0).model.predict_proba(ROWS.X) for rows in (ROWS, REPEATED)]
    assert votes[0] == pytest.approx(votes[1], abs=1e-3)
    neighbours = AnyEstimator.named("sklearn.neighbors:NearestCentroid")
    with pytest.raises(InputError, match=r"NearestCentroid: its fit takes no sample_weight"):
        neighbours.rehearse({}, ROWS, 0)


@pytest.mark.parametrize(
    "scoring", ["accuracy", "balanced_accuracy", "f1", "roc_auc", "neg_log_loss", "r2", "neg_mean_absolute_error"]
)
def test_scores_count_repeated_rows_and_so_do_sums_of_them(scoring: str) -> None:
    of_numbers = scoring in ("r2", "neg_mean_absolute_error")
    rows, repeated = (numbers(each) if of_numbers else each for each in (ROWS, REPEATED))
    model = GradientBoosting().train({"max_iter": 2}, rows, Alone(), 0).model
    assert score_of(model, rows, scoring) == pytest.approx(score_of(model, repeated, scoring))
    if scoring != "roc_auc":  # an area is the mean of the parties'
        parts = [rows.take(np.arange(0, 60)), rows.take(np.arange(60, len(rows)))]
        total = np.sum([score_sums(model, part, scoring) for part in parts], axis=0)
        assert score_from(total, model, scoring, len(rows.schema.classes)) == pytest.approx(
            score_of(model, repeated, scoring)
        )
    assert get_scorer(scoring)._accept_sample_weight()
