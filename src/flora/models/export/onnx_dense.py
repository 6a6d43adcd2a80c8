"""Networks and kernel machines as operators of ONNX: the dense columns that they see, and what they make of these."""

import math

import numpy as np

from flora.models.encoding import EncodedColumn, Encoding
from flora.models.export.onnx_parts import Nodes
from flora.models.mlp.perceptron import PerceptronModel
from flora.models.svm import SupportVectorModel

ACTIVATIONS = {"identity": "Identity", "logistic": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


def dense(parts: Nodes, encoding: Encoding) -> str:
    """Add what makes the dense columns of the columns' numbers, and return their name: (n, width)."""
    return parts.add("Concat", *(each for column in encoding.columns for each in _dense(parts, column)), axis=1)


def _dense(parts: Nodes, column: EncodedColumn) -> list[str]:
    values, span = f"number {column.place}", column.high - column.low
    missing = parts.add("IsNaN", values)
    if not column.categories and span > 0:
        values = parts.add("Div", parts.add("Sub", values, np.array([[column.low]])), np.array([[span]]))
    elif not column.categories:  # one value only: nothing by nothing is 0
        values = parts.add("Mul", _as_numbers(parts, missing), np.array([[0.0]]))
    found = parts.add("Where", missing, np.array([[column.fill]]), values)
    if column.categories:
        places = np.arange(column.categories, dtype=np.float64).reshape(1, -1)
        found = _as_numbers(parts, parts.add("Equal", found, places))
    return [found, _as_numbers(parts, missing)] if column.flagged else [found]


def _as_numbers(parts: Nodes, truths: str) -> str:
    from onnx import TensorProto

    return parts.add("Cast", truths, to=TensorProto.DOUBLE)


def network(parts: Nodes, model: PerceptronModel) -> list[int]:
    """Add a network, whose scores are ``raw``; it knows all classes."""
    first, second, hidden, output = model.layers.matrices
    inner = parts.add("Add", parts.add("MatMul", dense(parts, model.encoding), first), hidden.reshape(1, -1))
    seen = parts.add(ACTIVATIONS[model.layers.activation], inner)
    scores = parts.add("Add", parts.add("MatMul", seen, second), output.reshape(1, -1))
    parts.add("Add", parts.add("Mul", scores, np.array([[model.scale]])), np.array([[model.center]]), output="raw")
    return []


def machine(parts: Nodes, model: SupportVectorModel) -> list[int]:
    """Add a machine over random Fourier features, whose distances are ``raw``; return the classes that it knows."""
    features, weights = model.features, model.weights * math.sqrt(2 / len(model.features.phases))
    angles = parts.add("MatMul", dense(parts, model.encoding), np.ascontiguousarray(features.directions.T))
    waves = parts.add("Cos", parts.add("Add", angles, features.phases.reshape(1, -1)))
    scores = parts.add("MatMul", waves, np.ascontiguousarray(weights[:, :-1].T))
    parts.add("Add", scores, model.weights[:, -1].reshape(1, -1), output="raw")
    return [int(place) for place in model.classes]
