"""A grown tree as arrays: predictions, and a file's rows, without a pickle."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from flora.core.collective import Floats
from flora.models.hgb.bins import Bins
from flora.models.hgb.grower import Node

Bitsets = NDArray[np.uint32]  # (sets, 8): 256 bits, one for each category
SET_WORDS = 8


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree: scikit-learn's own nodes, and the categories that go left at the splits on categories."""

    nodes: NDArray[Any]  # of PREDICTOR_RECORD_DTYPE
    left_categories: Bitsets

    @classmethod
    def grown(cls, nodes: Sequence[Node], bins: Bins) -> Self:
        """Return the tree of nodes that are in order, the root first."""
        place = {node: k for k, node in enumerate(nodes)}
        sets: list[Any] = []
        records = np.zeros(len(nodes), dtype=PREDICTOR_RECORD_DTYPE)
        fields: dict[str, list[Any]] = {name: [0] * len(nodes) for name in _SPLIT_FIELDS}
        for k, node in enumerate(nodes):
            if node.is_leaf or node.children is None:
                continue
            for name, value in _split_fields(node.split, bins, sets).items():
                fields[name][k] = value
            fields["left"][k], fields["right"][k] = place[node.children[0]], place[node.children[1]]
        for name, values in fields.items():
            records[name] = values
        records["value"], records["count"] = [n.value for n in nodes], [n.n_samples for n in nodes]
        records["depth"], records["is_leaf"] = [n.depth for n in nodes], [n.is_leaf for n in nodes]
        # What was looked at in vain leaves no trace: it hangs on how far ahead was looked.
        records["gain"] = [-1.0 if n.is_leaf else n.split.gain for n in nodes]
        return cls(records, np.array(sets, dtype=np.uint32).reshape(-1, SET_WORDS))

    @cached_property
    def predictor(self) -> Any:
        """scikit-learn's TreePredictor. A category is its own bin, so one set serves bins and codes alike."""
        return TreePredictor(self.nodes, self.left_categories, self.left_categories)

    def on_bins(self, binned: NDArray[np.uint8], bins: Bins) -> Floats:
        """Return the tree's values for rows as bins: (n, d) -> (n,)."""
        values: Floats = self.predictor.predict_binned(binned, bins.most, 1)
        return values


_SPLIT_FIELDS = (
    "feature_idx", "bin_threshold", "num_threshold", "missing_go_to_left", "is_categorical", "bitset_idx",
    "left", "right",
)  # fmt: skip


def _split_fields(split: Any, bins: Bins, sets: list[Any]) -> dict[str, Any]:
    """Return a split as a node's fields; a set of categories is added to ``sets``."""
    column, edges = split.feature_idx, bins.edges[split.feature_idx]
    fields = {
        "feature_idx": column,
        "bin_threshold": split.bin_idx,
        "missing_go_to_left": split.missing_go_to_left,
        "is_categorical": split.is_categorical,
    }
    if split.is_categorical:
        fields["bitset_idx"] = len(sets)
        sets.append(without(split.left_cat_bitset, bins.most))  # missing values go by missing_go_to_left
    else:  # above the last edge only missing values are
        fields["num_threshold"] = edges[split.bin_idx] if split.bin_idx < len(edges) else np.inf
    return fields


def without(bitset: NDArray[np.uint32], place: int) -> NDArray[np.uint32]:
    """Return a set of categories without one."""
    found = np.array(bitset, dtype=np.uint32)
    found[place // 32] &= np.uint32(~(1 << place % 32) & 0xFFFFFFFF)
    return found
