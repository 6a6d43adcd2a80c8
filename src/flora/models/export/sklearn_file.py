"""A model of ``hgb`` as a fitted scikit-learn pipeline: tables go in as they are, and its trees are the same trees."""

from typing import Any

import numpy as np

from flora.models.estimator.stored import store
from flora.models.hgb.model import BoostedTrees
from flora.models.model_file import StoredModel
from flora.problem.schema import Column


def to_skops(stored: StoredModel) -> bytes:
    """Return the pipeline as a skops archive, which is no pickle; skops asks its reader to trust what is in it."""
    return store(to_pipeline(stored))


def to_pipeline(stored: StoredModel) -> Any:
    """Return a fitted pipeline: categories to their places in the schema's lists, then HistGradientBoosting."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if not isinstance(stored.model, BoostedTrees):
        raise TypeError(f"a pipeline is made of BoostedTrees, got {type(stored.model).__name__}")
    columns = stored.schema.columns
    steps = [(column.name, _encoder(column), [column.name]) for column in columns]
    sample = pd.DataFrame({c.name: np.array(c.categories[:1] or [0.0] if c.categories else [0.0]) for c in columns})
    encoder = ColumnTransformer(steps, verbose_feature_names_out=False).fit(sample)
    return Pipeline([("columns", encoder), ("trees", stored.model.to_sklearn())])


def _encoder(column: Column) -> Any:
    """Return what makes numbers of a column: unheard-of and missing categories are nan."""
    from sklearn.preprocessing import OrdinalEncoder

    if not column.categories:
        return "passthrough"
    categories = [np.array(column.categories, dtype=object)]
    return OrdinalEncoder(categories=categories, handle_unknown="use_encoded_value", unknown_value=np.nan)
