"""The best prediction that looks at no column, beside scikit-learn's."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer

from flora.core.collective import Floats
from flora.models.guess import Guess, target_sums
from flora.models.pooled_score import score_from, score_sums
from flora.models.rows import Rows
from flora.models.scored import score_of
from tests.models.hgb.tables import table, uneven


def guess_of(rows: Rows, scoring: str) -> Guess | None:
    total: Floats = np.sum([target_sums(part) for part in uneven(rows)], axis=0)
    return Guess.of(total, scoring, len(rows.schema.classes))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss"])
def test_a_guess_of_classes_scores_as_scikit_learns_dummy(scoring: str, classes: int) -> None:
    rows = table("numbers", classes, 300)
    guess = guess_of(rows, scoring)
    assert guess is not None
    dummies = [DummyClassifier(strategy="prior")] + [
        DummyClassifier(strategy="constant", constant=k) for k in range(classes)
    ]
    fitted = [dummy.fit(rows.X, rows.y) for dummy in (dummies[:1] if scoring == "neg_log_loss" else dummies)]
    best = max(get_scorer(scoring)(dummy, rows.X, rows.y) for dummy in fitted)
    assert score_of(guess, rows, scoring) == pytest.approx(best)
    parts = [score_sums(guess, part, scoring) for part in uneven(rows)]
    assert score_from(np.sum(parts, axis=0), guess, scoring, classes) == pytest.approx(best)


def test_a_guess_names_the_class_that_the_score_rewards() -> None:
    rows = table("numbers", 2, 300)
    rare = rows.take(np.flatnonzero((rows.y == 0) | (np.arange(len(rows)) % 10 == 0)))  # the last class is rare
    assert [guess_of(rare, scoring).value for scoring in ("accuracy", "f1")] == [0, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"])
def test_a_guess_of_numbers_is_the_mean(scoring: str) -> None:
    rows = table("numbers", 0, 300)
    guess = guess_of(rows, scoring)
    assert guess is not None
    mean = DummyRegressor().fit(rows.X, rows.y)
    assert score_of(guess, rows, scoring) == pytest.approx(get_scorer(scoring)(mean, rows.X, rows.y), abs=1e-12)


def test_weights_count_and_no_rows_have_no_guess() -> None:
    rows = table("numbers", 2, 60)
    heavy = replace(rows, weights=np.where(rows.y == 0, 0.1, 5.0))
    guess = guess_of(heavy, "accuracy")
    assert guess is not None
    assert guess.value == 1
    nothing = rows.take(np.arange(0))
    assert Guess.of(target_sums(nothing), "accuracy", 2) is None
    numbers = table("numbers", 0, 20).take(np.arange(0))
    assert Guess.of(target_sums(numbers), "r2", 0) is None
