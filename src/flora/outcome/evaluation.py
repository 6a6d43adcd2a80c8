"""How good a federated model is on rows that it has not seen: its score with an error, confusion and calibration."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from flora.core.codec import to_document
from flora.errors import DataError
from flora.models.model_file import StoredModel
from flora.models.rows import Rows, encode
from flora.models.scored import score_of
from flora.problem.schema import Label
from flora.program.result import Result
from flora.program.result_parts import ModelScore
from flora.program.scoring import asked_class
from flora.randomness import stream

DRAWS = 100  # samples of the rows, with replacement: their spread is the score's standard error
BINS = 10
FIGURES = {
    "classification": ("accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss", "roc_auc"),
    "regression": ("r2", "neg_mean_absolute_error", "neg_root_mean_squared_error"),
}


@dataclass(frozen=True)
class Figure:
    """One score, with its standard error over samples of the rows."""

    scoring: str
    score: float
    error: float | None  # None where a sample has no score


@dataclass(frozen=True)
class CalibrationBin:
    """Predictions of about the same confidence: how many, how sure they are, and how often right."""

    rows: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Evaluation:
    """What came of a model on new rows."""

    rows: int
    figures: tuple[Figure, ...]  # the run's own scoring first
    classes: tuple[Label, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()  # a row for each true class, a column for each predicted one
    calibration: tuple[CalibrationBin, ...] = ()
    calibration_error: float | None = None  # how far confidence and being right lie apart, by rows
    in_training: ModelScore | None = None  # what the run itself measured, of this config and of the default
    positive: Label | None = None  # the class that f1 and friends ask for, where one of them is among the figures
    weight: str | None = None  # the column by which rows count in scores; confusion and calibration count rows

    def to_document(self) -> dict[str, Any]:
        """Return all of it as JSON's types."""
        document: dict[str, Any] = to_document(self)
        return document


def evaluate(stored: StoredModel, table: pd.DataFrame, result: Result | None = None) -> Evaluation:
    """Return how good a model is on a table with its target; the result tells the run's scoring, and its default."""
    table = table.rename(columns=str)
    schema = stored.schema  # new rows need no weights
    schema = schema if schema.weight in table.columns else replace(schema, weight=None)
    rows = encode(table, schema)
    if not len(rows):
        raise DataError(f"need rows with a target {schema.target!r}, and the table has none")
    answers, chances = stored.model.predict(rows.X), stored.model.predict_proba(rows.X)
    first = (result.scoring,) if result else ()
    names = dict.fromkeys((*first, *FIGURES[schema.task]))
    known = _remembered(stored, rows, answers, chances)
    figures = [_figure(known, rows, name) for name in names]
    count = len(schema.classes)
    return Evaluation(
        len(rows),
        tuple(figure for figure in figures if figure),
        schema.classes,
        _confusion(rows.y, answers.astype(np.intp), count) if count else (),
        *_calibration(rows.y, chances),
        result.model_score if result else None,
        next((asked for name in first if (asked := asked_class(name, schema)) is not None), None),
        schema.weight,
    )


@dataclass(frozen=True)
class _Remembered:
    """A model that knows its answers to some rows by heart: its X are their numbers."""

    answers: NDArray[Any]
    chances: Any

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        return np.asarray(self.answers[_places(X)])

    def predict_proba(self, X: NDArray[np.float64]) -> Any:
        return None if self.chances is None else self.chances[_places(X)]


@dataclass(frozen=True)
class _RememberedDistances(_Remembered):
    """The same of a model that knows distances and no probabilities."""

    distances: NDArray[np.float64]

    def decision_function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.distances[_places(X)])


def _places(X: NDArray[np.float64]) -> NDArray[np.intp]:
    return X[:, 0].astype(np.intp)


def _remembered(stored: StoredModel, rows: Rows, answers: NDArray[Any], chances: Any) -> _Remembered:
    model: Any = stored.model
    if hasattr(model, "decision_function"):
        return _RememberedDistances(answers, chances, model.decision_function(rows.X))
    return _Remembered(answers, chances)


def _figure(model: Any, rows: Rows, scoring: str) -> Figure | None:
    """Return a score and its standard error; None where the model or the rows have no such score."""
    numbered = replace(rows, X=np.arange(len(rows), dtype=np.float64).reshape(-1, 1))
    score = _score(model, numbered, scoring)
    if score is None:
        return None
    rng = stream(0, "evaluate", scoring)
    drawn = [_score(model, numbered.take(rng.integers(0, len(rows), len(rows))), scoring) for _ in range(DRAWS)]
    known = [value for value in drawn if value is not None]
    return Figure(scoring, score, float(np.std(known, ddof=1)) if len(known) > DRAWS / 2 else None)


def _score(model: Any, rows: Rows, scoring: str) -> float | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that a sample lacks
        try:
            score = score_of(model, rows, scoring)
        except (ValueError, AttributeError, TypeError):  # more than two classes, one class, no probabilities
            return None
    return score if np.isfinite(score) else None


def _confusion(truth: NDArray[Any], answers: NDArray[np.intp], count: int) -> tuple[tuple[int, ...], ...]:
    table = np.zeros((count, count), dtype=int)
    np.add.at(table, (truth.astype(np.intp), answers), 1)
    return tuple(tuple(int(cell) for cell in line) for line in table)


def _calibration(truth: NDArray[Any], chances: Any) -> tuple[tuple[CalibrationBin, ...], float | None]:
    """Return the predictions by their confidence, and the expected calibration error."""
    if chances is None:
        return (), None
    confidence = chances.max(axis=1)
    right = chances.argmax(axis=1) == truth
    places = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = [
        CalibrationBin(int(here.sum()), float(confidence[here].mean()), float(right[here].mean()))
        for here in (places == k for k in range(BINS))
        if here.any()
    ]
    error = sum(each.rows * abs(each.confidence - each.right) for each in bins) / len(truth)
    return tuple(bins), float(error)
