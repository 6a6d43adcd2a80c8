"""A model of ``hgb`` as an ONNX graph: an input for each column, the trees in double precision, labels and scores out.

Trees are the operator TreeEnsemble of ai.onnx.ml 5, which has sets of categories and doubles: predictions are those of
FLoRA but for the rounding of sums.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flora.errors import FloraError
from flora.models.hgb.model import BoostedTrees
from flora.models.hgb.trees import SET_WORDS, Tree
from flora.models.model_file import StoredModel
from flora.problem.schema import Column, Schema

LEQ, MEMBER = 0, 6  # modes of a split
ROWS = "rows"


def to_onnx(stored: StoredModel) -> bytes:
    """Return the bytes of a checked ONNX model."""
    try:
        import onnx
        from onnx import helper
    except ImportError:
        raise FloraError("ONNX files need the onnx package: pip install 'flora-hpo[onnx]'") from None
    if not isinstance(stored.model, BoostedTrees):
        raise TypeError(f"ONNX trees are made of BoostedTrees, got {type(stored.model).__name__}")
    schema, model = stored.schema, stored.model
    encoded = [_encoded(column, place) for place, column in enumerate(schema.columns)]
    nodes = [node for part in encoded for node in part]
    nodes.append(helper.make_node("Concat", [f"number {k}" for k in range(len(encoded))], ["X"], axis=1))
    nodes += [_ensemble(model), helper.make_node("Add", ["sums", "start"], ["raw"])]
    answers, outputs = _answers(schema)
    constants = [_tensor("start", model.start.reshape(1, -1)), *_constants(schema)]
    graph = helper.make_graph([*nodes, *answers], "flora", [_input(c) for c in schema.columns], outputs, constants)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 5)]
    made = helper.make_model(graph, opset_imports=imports, ir_version=10, producer_name="flora-hpo")
    onnx.checker.check_model(made)
    return bytes(made.SerializeToString(deterministic=True))


def _input(column: Column) -> Any:
    from onnx import TensorProto, helper

    kind = TensorProto.STRING if column.categories else TensorProto.DOUBLE
    return helper.make_tensor_value_info(column.name, kind, [ROWS, 1])


def _encoded(column: Column, place: int) -> list[Any]:
    """Return the operators that make one column's numbers: a category's place in its list, nan for any other text."""
    from onnx import TensorProto, helper

    to = f"number {place}"
    if not column.categories:
        return [helper.make_node("Identity", [column.name], [to])]
    places = [float(k) for k in range(len(column.categories))]
    return [
        helper.make_node(
            "LabelEncoder",
            [column.name],
            [f"code {place}"],
            domain="ai.onnx.ml",
            keys_strings=list(column.categories),
            values_floats=places,
            default_float=float("nan"),
        ),
        helper.make_node("Cast", [f"code {place}"], [to], to=TensorProto.DOUBLE),
    ]


def _ensemble(model: BoostedTrees) -> Any:
    """Return all trees as one operator: split nodes and leaves are numbered apart, one tree after the other."""
    from onnx import helper

    parts = _Ensemble()
    for trees in model.trees:
        for target, tree in enumerate(trees):
            parts.add(tree, target)
    return helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["sums"],
        domain="ai.onnx.ml",
        n_targets=len(model.start),
        aggregate_function=1,  # the sum
        post_transform=0,  # none
        **parts.attributes(),
    )


class _Ensemble:
    """The attributes of a TreeEnsemble, as trees are added to it."""

    def __init__(self) -> None:
        self.splits: list[float] = []
        self.weights: list[float] = []
        self.members: list[float] = []
        self.numbers: dict[str, list[int]] = {
            name: []
            for name in (
                "tree_roots", "nodes_featureids", "nodes_modes", "nodes_truenodeids", "nodes_trueleafs",
                "nodes_falsenodeids", "nodes_falseleafs", "nodes_missing_value_tracks_true", "leaf_targetids",
            )
        }  # fmt: skip

    def add(self, tree: Tree, target: int) -> None:
        """Add a tree whose leaves count for ``target``; one that is a leaf becomes a split with twice the same leaf."""
        records = tree.nodes
        first, leaf = len(self.splits), len(self.weights)
        inner = [k for k in range(len(records)) if not records[k]["is_leaf"]]
        places = {k: first + n for n, k in enumerate(inner)}
        leaves = {k: leaf + n for n, k in enumerate(k for k in range(len(records)) if records[k]["is_leaf"])}
        self.numbers["tree_roots"].append(first)
        for k in inner:
            self._add_split(records[k], tree.left_categories, places, leaves)
        if not inner:
            self._add_node(0, LEQ, 0.0, False, (leaf, 1), (leaf, 1))
        self.weights += [float(records[k]["value"]) for k in leaves]
        self.numbers["leaf_targetids"] += [target] * len(leaves)

    def _add_split(self, node: Any, sets: Any, places: dict[int, int], leaves: dict[int, int]) -> None:
        ways = [(leaves[k], 1) if k in leaves else (places[k], 0) for k in (int(node["left"]), int(node["right"]))]
        mode, value = LEQ, float(node["num_threshold"])
        if node["is_categorical"]:
            found = _members(sets[int(node["bitset_idx"])])
            mode, value = MEMBER, 0.0
            self.members += [*(found or [-1.0]), float("nan")]  # no code is -1; nan ends a set
        self._add_node(int(node["feature_idx"]), mode, value, bool(node["missing_go_to_left"]), ways[0], ways[1])

    def _add_node(
        self, feature: int, mode: int, value: float, missing: bool, left: tuple[int, int], right: tuple[int, int]
    ) -> None:
        entry = {
            "nodes_featureids": feature, "nodes_modes": mode, "nodes_missing_value_tracks_true": int(missing),
            "nodes_truenodeids": left[0], "nodes_trueleafs": left[1],
            "nodes_falsenodeids": right[0], "nodes_falseleafs": right[1],
        }  # fmt: skip
        for name, number in entry.items():
            self.numbers[name].append(number)
        self.splits.append(value)

    def attributes(self) -> dict[str, Any]:
        """Return the operator's attributes."""
        found: dict[str, Any] = dict(self.numbers)
        found["nodes_modes"] = _tensor("modes", np.array(found["nodes_modes"], dtype=np.uint8))
        found["nodes_splits"] = _tensor("splits", np.array(self.splits))
        found["leaf_weights"] = _tensor("weights", np.array(self.weights))
        if self.members:
            found["membership_values"] = _tensor("members", np.array(self.members))
        return found


def _members(bitset: Any) -> list[float]:
    """Return the categories of a set."""
    return [float(k) for k in range(32 * SET_WORDS) if int(bitset[k // 32]) >> (k % 32) & 1]


def _answers(schema: Schema) -> tuple[list[Any], list[Any]]:
    """Return the operators after the trees, and the graph's outputs: labels and probabilities, or a number."""
    from onnx import TensorProto, helper

    if schema.task == "regression":
        nodes = [helper.make_node("Squeeze", ["raw", "one"], ["prediction"])]
        return nodes, [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, [ROWS])]
    if len(schema.classes) == 2:
        nodes = [
            helper.make_node("Sigmoid", ["raw"], ["second"]),
            helper.make_node("Sub", ["unit", "second"], ["first"]),
            helper.make_node("Concat", ["first", "second"], ["probabilities"], axis=1),
            helper.make_node("Greater", ["raw", "zero"], ["above"]),
            helper.make_node("Cast", ["above"], ["places"], to=TensorProto.INT64),
            helper.make_node("Squeeze", ["places", "one"], ["place"]),
        ]
    else:
        nodes = [
            helper.make_node("Softmax", ["raw"], ["probabilities"], axis=1),
            helper.make_node("ArgMax", ["raw"], ["place"], axis=1, keepdims=0),
        ]
    nodes.append(helper.make_node("Gather", ["classes", "place"], ["prediction"], axis=0))
    kind = helper.np_dtype_to_tensor_dtype(_labels(schema).dtype)
    return nodes, [
        helper.make_tensor_value_info("prediction", kind, [ROWS]),
        helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, [ROWS, len(schema.classes)]),
    ]


def _constants(schema: Schema) -> list[Any]:
    one = _tensor("one", np.array([1], dtype=np.int64))
    if schema.task == "regression":
        return [one]
    labels = _tensor("classes", _labels(schema))
    if len(schema.classes) > 2:
        return [labels]
    return [labels, one, _tensor("zero", np.array([[0.0]])), _tensor("unit", np.array([[1.0]]))]


def _labels(schema: Schema) -> Any:
    """Return the classes as ONNX has them: numbers, bools or texts."""
    texts = isinstance(schema.classes[0], str)
    return np.array(schema.classes, dtype=object if texts else None)


def _tensor(name: str, values: Any) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(values), name)


def onnx_inputs(table: Any, columns: Sequence[Column]) -> dict[str, Any]:
    """Return a table as the graph's inputs; a missing category is an empty text."""
    return {
        c.name: table[[c.name]].fillna("").astype(str).to_numpy(dtype=object)
        if c.categories
        else table[[c.name]].to_numpy(dtype=np.float64)
        for c in columns
    }
