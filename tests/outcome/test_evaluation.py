"""A model on rows that it has not seen."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, r2_score

from flora.errors import DataError
from flora.models.model_file import StoredModel, read_model
from flora.outcome.evaluation import Evaluation, evaluate
from flora.program.result import MODEL
from flora.program.result_parts import ModelScore
from tests.outcome.report.cases import tuned
from tests.outcome.test_loaded import run_in, ward


def model_in(folder: Path, *family: str, **options: Any) -> StoredModel:
    return read_model(run_in(folder / "run", *family, **options) / MODEL)


def scores(found: Evaluation) -> dict[str, float]:
    return {figure.scoring: figure.score for figure in found.figures}


def test_scores_and_confusion_are_scikit_learns(tmp_path: Path) -> None:
    stored, new = model_in(tmp_path, max_iter=20), ward(200, 2)
    found = evaluate(stored, new)
    guess = stored.predict_table(new)["prediction"]
    assert scores(found)["balanced_accuracy"] == balanced_accuracy_score(new["kind"], guess)
    assert np.array_equal(found.confusion, confusion_matrix(new["kind"], guess))
    assert (found.rows, found.classes) == (200, ("lower", "upper"))
    accuracy = next(figure for figure in found.figures if figure.scoring == "accuracy")
    binomial = np.sqrt(accuracy.score * (1 - accuracy.score) / 200)
    assert accuracy.error == pytest.approx(binomial, rel=0.2)
    assert found == evaluate(stored, new)


def test_calibration_compares_confidence_with_being_right(tmp_path: Path) -> None:
    stored, new = model_in(tmp_path, max_iter=60, learning_rate=0.3), ward(200, 2)
    found = evaluate(stored, new)
    assert sum(each.rows for each in found.calibration) == 200
    assert found.calibration_error is not None
    assert 0 < found.calibration_error < 0.5
    guess = stored.predict_table(new)["prediction"]
    right = sum(each.rows * each.right for each in found.calibration) / 200
    assert right == pytest.approx(np.mean(guess == new["kind"]))


def test_of_numbers(tmp_path: Path) -> None:
    stored, new = model_in(tmp_path, target="x", max_iter=20), ward(80, 2)
    found = evaluate(stored, new)
    assert scores(found)["r2"] == pytest.approx(r2_score(new["x"], stored.predict_table(new)["prediction"]))
    assert (found.classes, found.confusion, found.calibration, found.calibration_error) == ((), (), (), None)


def test_without_probabilities(tmp_path: Path) -> None:
    found = evaluate(model_in(tmp_path, "svm", C=1.0), ward(80, 2))
    assert "roc_auc" in scores(found)  # by the distances
    assert "neg_log_loss" not in scores(found)
    assert found.calibration == ()


def test_the_runs_scoring_comes_first_and_the_default_stands_beside(tmp_path: Path) -> None:
    stored, new = model_in(tmp_path, max_iter=20), ward(80, 2)
    known = ModelScore(0.9, 0.01, 5, 0.8)
    run = replace(tuned(["a", "b"])[0], scoring="f1_macro", model_score=None)
    assert evaluate(stored, new, run).figures[0].scoring == "f1_macro"
    assert evaluate(stored, new, run).in_training is None
    assert evaluate(stored, new, replace(run, model_score=known)).in_training == known


def test_rows_without_a_target_or_with_another_class(tmp_path: Path) -> None:
    stored = model_in(tmp_path, max_iter=3)
    with pytest.raises(DataError, match="need rows with a target 'kind'"):
        evaluate(stored, ward(5, 1).assign(kind=None))
    with pytest.raises(DataError, match="'middle' is not among the classes"):
        evaluate(stored, ward(5, 1).assign(kind="middle"))
