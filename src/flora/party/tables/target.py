"""The column to predict: a class or a number, and which classes there are."""

from typing import Any

import numpy as np
import pandas as pd

from flora.errors import DataError
from flora.models.rows import NUMBERS, label_of, places_of, target_numbers
from flora.party.tables.dates import are_dates
from flora.problem.schema import Column, Label, Schema, Task

MOST_CLASSES = 20  # whole numbers with more distinct values are taken for a quantity
MOST_LABELS = 1000


def with_target(
    values: "pd.Series[Any]", target: str, columns: tuple[Column, ...], task: Task | None, like: Schema | None
) -> Schema:
    """Return the schema of columns with this target; ``like`` or ``task`` say what it is, or its values do."""
    if are_dates(values):
        shown = str(values.iloc[0])
        advice = "turn it into numbers (days since an event, year, month)"
        raise DataError(f"target {target!r}: dates are not supported, got {shown!r:.40}; {advice}")
    task = (like.task if like else None) or task or _task_of(target, values)
    if task == "regression":
        target_numbers(target, values)
        return Schema(target, task, columns)
    classes = _classes_of(target, values)
    if like:
        places_of(classes, like)
    return Schema(target, task, columns, classes)


def _task_of(target: str, values: "pd.Series[Any]") -> Task:
    if is_numeric(values):
        numbers = target_numbers(target, values)
        if (numbers % 1 != 0).any() or len(np.unique(numbers)) > MOST_CLASSES:
            return "regression"
    return "classification"


def _classes_of(target: str, values: "pd.Series[Any]") -> tuple[Label, ...]:
    labels = [label_of(target, value) for value in pd.unique(values.astype(object))]
    if len(labels) > MOST_LABELS:
        raise DataError(f"target {target!r}: {len(labels)} classes; say --task regression if it is a quantity")
    if len(labels) > MOST_CLASSES and len(labels) > len(values) / 2:
        raise DataError(f"target {target!r}: {len(labels)} classes in {len(values)} rows look like an identifier")
    if len({type(label) for label in labels}) > 1:
        raise DataError(f"target {target!r}: classes must be of one type, got {labels[:5]}")
    return tuple(sorted(labels))


def is_numeric(present: "pd.Series[Any]") -> bool:
    """Whether a column's values are numbers, whatever its dtype."""
    if pd.api.types.is_numeric_dtype(present):
        return not pd.api.types.is_complex_dtype(present)
    return present.dtype == object and all(isinstance(value, NUMBERS) for value in present)
