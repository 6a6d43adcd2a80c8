"""A federated model as an ONNX graph: an input for each column, labels and probabilities out, or scores.

All is computed in double precision: predictions are those of FLoRA but for the rounding of sums.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flora.errors import FloraError
from flora.models.export import made_by
from flora.models.export.onnx_dense import machine, network
from flora.models.export.onnx_parts import Nodes
from flora.models.export.onnx_trees import ensemble
from flora.models.hgb.model import BoostedTrees
from flora.models.mlp.perceptron import PerceptronModel
from flora.models.model_file import StoredModel
from flora.models.svm import SupportVectorModel
from flora.problem.schema import Column, Schema

ROWS = "rows"


def to_onnx(stored: StoredModel) -> bytes:
    """Return the bytes of a checked ONNX model."""
    add = made_by(GRAPHS, stored)
    try:
        import onnx
        from onnx import helper
    except ImportError:
        raise FloraError("ONNX files need the onnx package: pip install 'flora-hpo[onnx]'") from None
    schema, parts = stored.schema, Nodes()
    for place, column in enumerate(schema.columns):
        _encode(parts, column, place)
    outputs = _answers(parts, schema, add(parts, stored.model))
    graph = helper.make_graph(parts.nodes, "flora", [_input(c) for c in schema.columns], outputs, parts.constants)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 5)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=10, producer_name="flora-hpo")
    onnx.checker.check_model(made)
    return bytes(made.SerializeToString(deterministic=True))


def _input(column: Column) -> Any:
    from onnx import TensorProto, helper

    kind = TensorProto.STRING if column.categories else TensorProto.DOUBLE
    return helper.make_tensor_value_info(column.name, kind, [ROWS, 1])


def _encode(parts: Nodes, column: Column, place: int) -> None:
    """Add what makes one column's numbers: a category's place in its list, nan for any other text."""
    from onnx import TensorProto

    if not column.categories:
        parts.add("Identity", column.name, output=f"number {place}")
        return
    code = parts.add(
        "LabelEncoder",
        column.name,
        domain="ai.onnx.ml",
        keys_strings=list(column.categories),
        values_floats=[float(k) for k in range(len(column.categories))],
        default_float=float("nan"),
    )
    parts.add("Cast", code, to=TensorProto.DOUBLE, output=f"number {place}")


def _trees(parts: Nodes, model: BoostedTrees) -> list[int]:
    X = parts.add("Concat", *(f"number {k}" for k in range(len(model.schema.columns))), axis=1)
    parts.add("Add", ensemble(parts, model, X), model.start.reshape(1, -1), output="raw")
    return []


Add = Callable[[Nodes, Any], list[int]]  # adds a model, whose scores are "raw"; the classes it knows, if not all
GRAPHS: Mapping[type[Any], Add] = {
    BoostedTrees: _trees,
    PerceptronModel: network,
    SupportVectorModel: machine,
}


def _answers(parts: Nodes, schema: Schema, places: Sequence[int]) -> list[Any]:
    """Add what follows the scores, and return the outputs: a number; or labels, with probabilities or with scores."""
    from onnx import TensorProto, helper

    one = np.array([1], dtype=np.int64)
    if schema.task == "regression":
        parts.add("Squeeze", "raw", one, output="prediction")
        return [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, [ROWS])]
    labels = _labels(schema)[list(places) or slice(None)]
    if len(labels) == 2:
        above = parts.add("Cast", parts.add("Greater", "raw", np.array([[0.0]])), to=TensorProto.INT64)
        place = parts.add("Squeeze", above, one)
    else:
        place = parts.add("ArgMax", "raw", axis=1, keepdims=0)
    parts.add("Gather", labels, place, axis=0, output="prediction")
    name, width = "probabilities", len(labels)
    if places:  # distances, which are no probabilities
        name, width = parts.add("Identity", "raw", output="scores"), 1 if len(labels) == 2 else len(labels)
    else:
        _add_probabilities(parts, len(labels))
    return [
        helper.make_tensor_value_info("prediction", helper.np_dtype_to_tensor_dtype(labels.dtype), [ROWS]),
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, [ROWS, width]),
    ]


def _add_probabilities(parts: Nodes, classes: int) -> None:
    if classes > 2:
        parts.add("Softmax", "raw", axis=1, output="probabilities")
        return
    second = parts.add("Sigmoid", "raw")
    parts.add("Concat", parts.add("Sub", np.array([[1.0]]), second), second, axis=1, output="probabilities")


def _labels(schema: Schema) -> Any:
    """Return the classes as ONNX has them: numbers, bools or texts."""
    texts = isinstance(schema.classes[0], str)
    return np.array(schema.classes, dtype=object if texts else None)
