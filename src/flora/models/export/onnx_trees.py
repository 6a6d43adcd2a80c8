"""Trees as one operator of ONNX: TreeEnsemble of ai.onnx.ml 5, which has sets of categories and doubles."""

from typing import Any

import numpy as np

from flora.models.export.onnx_parts import Nodes, tensor
from flora.models.hgb.model import BoostedTrees
from flora.models.hgb.trees import SET_WORDS, Tree

LEQ, MEMBER = 0, 6  # modes of a split


def ensemble(parts: Nodes, model: BoostedTrees, X: str) -> str:
    """Add all trees as one operator: split nodes and leaves are numbered apart, one tree after the other."""
    found = _Ensemble()
    for trees in model.trees:
        for target, tree in enumerate(trees):
            found.add(tree, target)
    return parts.add(
        "TreeEnsemble",
        X,
        domain="ai.onnx.ml",
        n_targets=len(model.start),
        aggregate_function=1,  # the sum
        post_transform=0,  # none
        **found.attributes(),
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
        found["nodes_modes"] = tensor("modes", np.array(found["nodes_modes"], dtype=np.uint8))
        found["nodes_splits"] = tensor("splits", np.array(self.splits))
        found["leaf_weights"] = tensor("weights", np.array(self.weights))
        if self.members:
            found["membership_values"] = tensor("members", np.array(self.members))
        return found


def _members(bitset: Any) -> list[float]:
    """Return the categories of a set."""
    return [float(k) for k in range(32 * SET_WORDS) if int(bitset[k // 32]) >> (k % 32) & 1]
