"""A federated model as a fitted scikit-learn pipeline: tables go in as they are, and it predicts what FLoRA does."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelBinarizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder
from sklearn.svm import LinearSVC

from flora.models.encoding import EncodedColumn, Encoding
from flora.models.estimator.stored import store
from flora.models.export import made_by
from flora.models.hgb.model import BoostedTrees
from flora.models.mlp.perceptron import PerceptronModel
from flora.models.model_file import StoredModel
from flora.models.svm import SupportVectorModel
from flora.problem.schema import Column, Schema

Steps = list[tuple[str, Any]]


def to_skops(stored: StoredModel) -> bytes:
    """Return the pipeline as a skops archive, which is no pickle; skops asks its reader to trust what is in it."""
    return store(to_pipeline(stored))


def to_pipeline(stored: StoredModel) -> Pipeline:
    """Return a fitted pipeline: columns to numbers as FLoRA makes them, and then the model."""
    return Pipeline(made_by(STEPS, stored)(stored.model, stored.schema))


def _tree_steps(model: BoostedTrees, schema: Schema) -> Steps:
    steps = [(column.name, _places(column), [column.name]) for column in schema.columns]
    sample = {c.name: [*c.categories[:1], None] if c.categories else [0.0, np.nan] for c in schema.columns}
    return [("columns", _fitted(steps, sample)), ("trees", model.to_sklearn())]


def _network_steps(model: PerceptronModel, schema: Schema) -> Steps:
    return [("columns", _dense(model.encoding, schema.columns)), ("network", _network(model, schema))]


def _machine_steps(model: SupportVectorModel, schema: Schema) -> Steps:
    features, machine = _machine(model, schema)
    return [("columns", _dense(model.encoding, schema.columns)), ("features", features), ("machine", machine)]


STEPS: Mapping[type[Any], Callable[[Any, Schema], Steps]] = {
    BoostedTrees: _tree_steps,
    PerceptronModel: _network_steps,
    SupportVectorModel: _machine_steps,
}


def _fitted(steps: Sequence[tuple[str, Any, list[str]]], sample: Mapping[str, Sequence[Any]]) -> ColumnTransformer:
    return ColumnTransformer(steps, verbose_feature_names_out=False).fit(pd.DataFrame(sample))


def _places(column: Column) -> Any:
    """Return what makes numbers of a column: unheard-of and missing categories are nan."""
    if not column.categories:
        return "passthrough"
    categories = [np.array(column.categories, dtype=object)]
    return OrdinalEncoder(
        categories=categories,
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
    )


def _dense(encoding: Encoding, columns: Sequence[Column]) -> ColumnTransformer:
    """Return what makes the dense columns that networks and machines see, but for those that are always 0."""
    sample: dict[str, Sequence[Any]] = {
        c.name: [*c.categories[:1] * 2, None] if c.categories else [0.0, 1.0, np.nan] for c in columns
    }
    steps = []
    for encoded in encoding.columns:
        column = columns[encoded.place]
        steps.append((column.name, _dense_column(encoded, column), [column.name]))
        if not encoded.categories:
            sample[column.name] = [encoded.low, encoded.high, np.nan]  # the scaler takes its range from them
    return _fitted(steps, sample)


def _dense_column(encoded: EncodedColumn, column: Column) -> Any:
    """Return what makes the dense columns of one: scaled or one-hot, holes filled, and flagged where some are."""
    filled = SimpleImputer(strategy="constant", fill_value=encoded.fill, add_indicator=encoded.flagged)
    if encoded.categories:
        hot = OneHotEncoder(categories=[np.arange(float(encoded.categories))], sparse_output=False)
        return make_pipeline(_places(column), filled, ColumnTransformer([("place", hot, [0])], remainder="passthrough"))
    if encoded.high > encoded.low:
        return make_pipeline(MinMaxScaler(), filled)
    return MissingIndicator(features="all") if encoded.flagged else "drop"


def _kept(encoding: Encoding) -> NDArray[np.bool_]:
    """Return which dense columns are not always 0."""
    return np.concatenate(
        [[bool(c.categories) or c.high > c.low] * max(c.categories, 1) + [True] * c.flagged for c in encoding.columns]
    )


def _network(model: PerceptronModel, schema: Schema) -> Any:
    """Return the network as scikit-learn's; the scale of a regression's target goes into its last layer."""
    first, second, hidden, output = model.layers.matrices
    regression = schema.task == "regression"
    kind = MLPRegressor if regression else MLPClassifier
    found = kind(hidden_layer_sizes=(len(hidden),), activation=model.layers.activation)
    kept = first[_kept(model.encoding)]
    found.coefs_ = [kept, second * model.scale]
    found.intercepts_ = [hidden, output * model.scale + model.center]
    found.n_features_in_, found.n_layers_, found.n_outputs_ = len(kept), 3, len(output)
    found.out_activation_ = "identity" if regression else "softmax" if len(output) > 1 else "logistic"
    if not regression:
        found.classes_ = np.array(schema.classes)
        found._label_binarizer = LabelBinarizer().fit(found.classes_)
        found._label_binarizer.classes_ = found.classes_  # in their order, which need not be the alphabet's
    return found


def _machine(model: SupportVectorModel, schema: Schema) -> tuple[RBFSampler, LinearSVC]:
    """Return the features and the linear machine over them."""
    kept = model.features.directions.T[_kept(model.encoding)]
    features = RBFSampler(n_components=kept.shape[1])
    features.random_weights_, features.random_offset_ = kept, model.features.phases
    features.n_features_in_, features._n_features_out = kept.shape
    machine = LinearSVC()
    machine.coef_, machine.intercept_ = model.weights[:, :-1], model.weights[:, -1]
    machine.classes_, machine.n_features_in_ = np.array(schema.classes)[model.classes], kept.shape[1]
    return features, machine
