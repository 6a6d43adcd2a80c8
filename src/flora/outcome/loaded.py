"""``flora.load``: a run's federated model, with the methods of a fitted scikit-learn estimator."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from flora.errors import DataError
from flora.models.model_file import StoredModel, read_model
from flora.models.rows import encode_features
from flora.party.tables.dates import with_date_parts
from flora.program.result import model_file


class FederatedModel(BaseEstimator):  # type: ignore[misc]
    """A trained federated model. It takes tables (pandas, polars) by their columns' names, or arrays in their order."""

    def __init__(self, stored: StoredModel) -> None:
        self.stored = stored

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The columns' names, in the order in which an array has them."""
        return np.array(self.stored.schema.names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        return len(self.stored.schema.columns)

    @property
    def config_(self) -> dict[str, Any]:
        """The HPs that it was trained with."""
        return dict(self.stored.config)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, or its number."""
        answers = self.stored.model.predict(self._encoded(X))
        classes = self.stored.schema.classes
        return np.array(classes)[answers.astype(np.intp)] if classes else answers

    def _html_repr(self) -> str:
        """Return what a notebook shows: what the model is of, and the HPs that it was trained with."""
        schema = self.stored.schema
        of = f" of {len(schema.classes)} classes" if schema.classes else " of a number"
        head = f"{type(self).__name__}: {escape(self.stored.family)}{of}, <code>{escape(schema.target)}</code>"
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in self.config_.items()
        )
        return f"<div>{head}, from {len(schema.columns)} columns</div><table>{rows}</table>"

    def _encoded(self, X: Any) -> NDArray[np.float64]:
        schema = self.stored.schema
        table = with_date_parts(_frame(X, schema.names), "refuse", keep=schema.names, wanted=schema.names)
        return encode_features(table, schema)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _knows_probabilities(model: Any) -> bool:
    schema = model.stored.schema
    if not schema.classes or model.stored.model.predict_proba(np.full((1, len(schema.columns)), np.nan)) is None:
        raise AttributeError(f"a model of {model.stored.family} knows no probabilities")
    return True


class FederatedClassifier(ClassifierMixin, FederatedModel):  # type: ignore[misc]
    """A federated model of classes."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the probabilities."""
        return np.array(self.stored.schema.classes)

    @available_if(_knows_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return each class's probability: (n, classes)."""
        return np.asarray(self.stored.model.predict_proba(self._encoded(X)))


class FederatedRegressor(RegressorMixin, FederatedModel):  # type: ignore[misc]
    """A federated model of numbers."""


def load(path: str | Path, *, trust: Sequence[str] = ()) -> FederatedClassifier | FederatedRegressor:
    """Return the model of a run's folder, or of a model's file.

    Args:
        path: What ``flora tune --out`` named, or its ``model.flora``.
        trust: Packages beside scikit-learn whose estimators the file may name: to load one is to import it.
    """
    stored = read_model(model_file(Path(path)), allow=trust)
    return FederatedClassifier(stored) if stored.schema.classes else FederatedRegressor(stored)


def _frame(X: Any, names: Sequence[str]) -> pd.DataFrame:
    """Return a table of any kind as pandas has it."""
    if isinstance(X, pd.DataFrame):
        return X.rename(columns=str)
    if hasattr(X, "to_dict") and hasattr(X, "columns"):  # polars
        return pd.DataFrame(X.to_dict(as_series=False))
    values = np.asarray(X)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise DataError(
            f"an array needs the shape (n, {len(names)}), the columns {list(names)[:5]}, got {values.shape}"
        )
    return pd.DataFrame({name: pd.Series(values[:, k]).infer_objects() for k, name in enumerate(names)})
