"""Scores from sums, beside the scores of rows that lie together."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer

from flora.core.collective import Alone, Floats
from flora.models.family import Model
from flora.models.hgb.family import GradientBoosting
from flora.models.pooled_score import by_classes, score_from, score_of_party, score_sums
from flora.models.rows import Rows
from flora.models.scored import score_of
from tests.models.hgb.tables import table, uneven

LABELS = ("accuracy", "balanced_accuracy", "f1_macro", "jaccard_weighted", "matthews_corrcoef", "recall_macro")


def trained(classes: int) -> tuple[Model, Rows]:
    rows, unseen = table("numbers", classes, 300), table("numbers", classes, 240, seed=1)
    return GradientBoosting().train({"max_iter": 5}, rows, Alone(), 0).model, unseen


def from_sums(model: Model, rows: Rows, scoring: str) -> float | None:
    parts = [score_sums(model, part, scoring) for part in uneven(rows)]
    total: Floats = np.sum(parts, axis=0)
    return score_from(total, model, scoring, len(rows.schema.classes))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", LABELS)
def test_scores_of_classes_are_those_of_all_rows(scoring: str, classes: int) -> None:
    model, rows = trained(classes)
    assert by_classes(scoring, classes)
    assert from_sums(model, rows, scoring) == pytest.approx(score_of(model, rows, scoring))


@pytest.mark.parametrize("scoring", ["f1", "precision"])
def test_scores_of_two_classes_are_too(scoring: str) -> None:
    model, rows = trained(2)
    assert from_sums(model, rows, scoring) == pytest.approx(score_of(model, rows, scoring))


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"])
def test_scores_of_numbers_are_those_of_all_rows(scoring: str) -> None:
    model, rows = trained(0)
    assert from_sums(model, rows, scoring) == pytest.approx(score_of(model, rows, scoring))


def test_a_log_loss_is_that_of_all_rows_and_an_area_is_the_parties_mean() -> None:
    model, rows = trained(2)
    assert from_sums(model, rows, "neg_log_loss") == pytest.approx(score_of(model, rows, "neg_log_loss"))
    parts = [part for part in uneven(rows) if len(part)]
    own = [(len(part), score_of_party(model, part, "roc_auc")) for part in parts]
    known = [(size, score) for size, score in own if score is not None]
    mean = sum(size * score for size, score in known) / sum(size for size, _ in known)
    assert from_sums(model, rows, "roc_auc") == pytest.approx(mean)


def test_no_rows_and_a_missing_class_have_no_score() -> None:
    model, rows = trained(2)
    nothing = rows.take(np.arange(0))
    for scoring in ("balanced_accuracy", "neg_log_loss"):
        assert score_from(score_sums(model, nothing, scoring), model, scoring, 2) is None
    one_class = rows.take(np.flatnonzero(rows.y == 0))
    assert score_from(score_sums(model, one_class, "balanced_accuracy"), model, "balanced_accuracy", 2) is None
    numbers, others = trained(0)
    assert score_from(score_sums(numbers, others.take(np.arange(0)), "r2"), numbers, "r2", 0) is None


def test_what_looks_at_probabilities_is_no_score_of_classes() -> None:
    assert not by_classes("roc_auc", 2)
    assert not by_classes("neg_log_loss", 3)
    assert not by_classes("r2", 0)
    assert get_scorer("f1") is not None
    assert not by_classes("f1", 3)
