"""The trained model: scikit-learn's trees as arrays, on feature values, with categories as their codes."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

from flora.core.collective import Floats
from flora.errors import InputError
from flora.models.arrays import array_of, array_to_bytes, floats_of, floats_to_bytes
from flora.models.hgb.bins import binned_categories
from flora.models.hgb.local_rows import loss_of_schema
from flora.models.hgb.settings import MOST_BINS
from flora.models.hgb.trees import SET_WORDS, Bitsets, Tree
from flora.problem.schema import Schema

START, NODES, TREES, SETS = "start.npy", "nodes.npy", "trees.npy", "categories.npy"
# A node in the file. scikit-learn's own record has fields that are as wide as the machine's pointers.
NODE = np.dtype(
    [
        ("value", "<f8"), ("num_threshold", "<f8"), ("gain", "<f8"), ("count", "<u4"), ("feature_idx", "<u4"),
        ("left", "<u4"), ("right", "<u4"), ("depth", "<u4"), ("bitset_idx", "<u4"), ("bin_threshold", "u1"),
        ("missing_go_to_left", "u1"), ("is_leaf", "u1"), ("is_categorical", "u1"),
    ]
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """A start, and the trees of each iteration: one for each class, or one where there are two classes or a number."""

    start: Floats  # (trees of an iteration,)
    trees: tuple[tuple[Tree, ...], ...]
    schema: Schema

    def cut(self, count: int) -> Self:
        """Return the model of the first ``count`` iterations alone."""
        return type(self)(self.start, self.trees[:count], self.schema)

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return places in the list of classes, or real numbers: (n, d) -> (n,)."""
        return answers(self.scores(X), self.schema)

    def predict_proba(self, X: Floats) -> Floats | None:
        """Return each class's probability, (n, d) -> (n, classes); None for a regression."""
        return probabilities(self.scores(X), self.schema)

    def scores(self, X: Floats) -> Floats:
        """Return what the trees add up to: (n, d) -> (n, trees of an iteration)."""
        found = np.zeros((len(X), len(self.start)), order="F") + self.start
        deque(self._added_to(found, X), maxlen=0)
        return found

    def staged_scores(self, X: Floats) -> Iterator[Floats]:
        """Yield the scores after each iteration; it is one array, which changes."""
        return self._added_to(np.zeros((len(X), len(self.start)), order="F") + self.start, X)

    def _added_to(self, found: Floats, X: Floats) -> Iterator[Floats]:
        for trees in self.trees:
            for k, tree in enumerate(trees):
                found[:, k] += tree.predictor.predict(X, *self._known_categories, 1)
            yield found

    def to_sklearn(self) -> Any:
        """Return a fitted HistGradientBoostingClassifier or -Regressor.

        It predicts on ``Rows.X``: columns in the schema's order, categories as places in their lists. Its classes are
        the schema's labels.
        """
        regression = self.schema.task == "regression"
        kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        found = kind(max_iter=max(len(self.trees), 1), early_stopping=False)
        if not regression:
            found.classes_ = np.array(self.schema.classes)
        found.n_features_in_ = found._n_features = len(self.schema.columns)
        found.n_trees_per_iteration_ = len(self.start)
        found.is_categorical_ = self._categorical if self._categorical.any() else None
        found._is_categorical_remapped = found.is_categorical_
        found._preprocessor, found._loss = None, loss_of_schema(self.schema)
        found._bin_mapper, found._baseline_prediction = self._mapper, self.start.reshape(1, -1)
        found._predictors = [[tree.predictor for tree in trees] for trees in self.trees]
        found.do_early_stopping_ = False
        found.train_score_ = found.validation_score_ = np.empty(0)
        return found

    def files(self) -> Mapping[str, bytes]:
        """Return the start, all nodes one tree after the other, where each tree begins, and its sets of categories."""
        flat = [tree for trees in self.trees for tree in trees]
        nodes = np.concatenate([_stored(tree.nodes) for tree in flat] or [np.empty(0, NODE)])
        sizes = np.array([[len(tree.nodes), len(tree.left_categories)] for tree in flat], dtype="<u4").reshape(-1, 2)
        sets = np.concatenate([tree.left_categories for tree in flat] or [np.empty((0, SET_WORDS), np.uint32)])
        return {
            START: floats_to_bytes(self.start),
            NODES: array_to_bytes(nodes),
            TREES: array_to_bytes(sizes),
            SETS: array_to_bytes(sets.astype("<u4")),
        }

    @classmethod
    def from_files(cls, files: Mapping[str, bytes], schema: Schema) -> Self:
        """Return the model that :meth:`files` wrote. Whoever wrote them: what cannot be a model is refused."""
        width = 1 if schema.task == "regression" or len(schema.classes) == 2 else len(schema.classes)
        start = floats_of(files, START, (width,))
        nodes, sizes, sets = (
            array_of(files, name, dtype) for name, dtype in ((NODES, NODE), (TREES, _WORD), (SETS, _WORD))
        )
        _check_sizes(nodes, sizes, sets, width)
        ends = np.cumsum(sizes, axis=0, dtype=np.int64)[:-1] if len(sizes) else np.empty((0, 2), dtype=np.int64)
        parts = zip(np.split(nodes, ends[:, 0]), np.split(sets, ends[:, 1]), strict=True) if len(sizes) else ()
        trees = [_checked_tree(*part, schema) for part in parts]
        return cls(start, tuple(tuple(trees[k : k + width]) for k in range(0, len(trees), width)), schema)

    @cached_property
    def _categorical(self) -> NDArray[np.bool_]:
        return np.array(binned_categories(self.schema, MOST_BINS), dtype=np.int64) > 0

    @cached_property
    def _mapper(self) -> Any:
        """scikit-learn's binning, as far as a fitted model uses it: it knows the categories."""
        mapper = _BinMapper(n_bins=MOST_BINS + 1, is_categorical=self._categorical)
        counts = binned_categories(self.schema, MOST_BINS)
        mapper.is_categorical_ = self._categorical.astype(np.uint8)
        mapper.bin_thresholds_ = [np.arange(count, dtype=np.float64) for count in counts]
        mapper.n_bins_non_missing_ = np.array(counts, dtype=np.uint32)
        mapper.missing_values_bin_idx_ = MOST_BINS
        return mapper

    @cached_property
    def _known_categories(self) -> tuple[Bitsets, NDArray[np.uint32]]:
        """Each categorical column's set of categories, and which of the sets is a column's."""
        sets, places = self._mapper.make_known_categories_bitsets()
        return sets, places


def answers(scores: Floats, schema: Schema) -> NDArray[Any]:
    """Return places in the list of classes, or real numbers: (n, trees of an iteration) -> (n,)."""
    if schema.task == "regression":
        return scores[:, 0].copy()
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


def probabilities(scores: Floats, schema: Schema) -> Floats | None:
    """Return each class's probability, (n, trees of an iteration) -> (n, classes); None for a regression."""
    if schema.task == "regression":
        return None
    found: Floats = loss_of_schema(schema).predict_proba(scores)
    return found


_WORD = np.dtype("<u4")


def _stored(nodes: NDArray[Any]) -> NDArray[Any]:
    return _by_name(nodes, NODE)


def _by_name(nodes: NDArray[Any], dtype: "np.dtype[Any]") -> NDArray[Any]:
    """Return records with another layout of the same fields."""
    found = np.zeros(len(nodes), dtype=dtype)
    for name in NODE.names or ():
        found[name] = nodes[name]
    return found


def _check_sizes(nodes: NDArray[Any], sizes: NDArray[Any], sets: NDArray[Any], width: int) -> None:
    """Raise unless the trees share out all nodes and sets among them."""
    if nodes.ndim != 1 or sizes.ndim != 2 or sizes.shape[1] != 2 or sets.ndim != 2 or sets.shape[1] != SET_WORDS:
        shapes = f"{nodes.shape}, {sizes.shape} and {sets.shape}"
        raise InputError(f"{NODES}, {TREES} and {SETS}: must have the shapes (n,), (t, 2) and (s, 8), got {shapes}")
    if len(sizes) % width:
        raise InputError(f"{TREES}: must hold {width} trees for each iteration, got {len(sizes)} in all")
    if sizes.sum(axis=0, dtype=np.int64).tolist() != [len(nodes), len(sets)]:
        raise InputError(f"{TREES}: the trees' nodes and sets must add up to {len(nodes)} and {len(sets)}")
    if len(sizes) and not sizes[:, 0].all():
        raise InputError(f"{TREES}: every tree needs at least one node")


def _checked_tree(nodes: NDArray[Any], sets: NDArray[Any], schema: Schema) -> Tree:
    """Return one tree; raise where a prediction would not end, or would look where nothing is."""
    inner = nodes[nodes["is_leaf"] == 0]
    categories = np.array(binned_categories(schema, MOST_BINS), dtype=np.int64)
    here = np.flatnonzero(nodes["is_leaf"] == 0)
    if not np.isfinite(nodes["value"]).all():
        raise InputError(f"{NODES}: every value must be finite")
    if (inner["feature_idx"] >= len(categories)).any():
        raise InputError(f"{NODES}: a split must be on one of the {len(categories)} columns")
    for side in ("left", "right"):  # a child comes after its parent, so every way down ends
        if ((inner[side] <= here) | (inner[side] >= len(nodes))).any():
            raise InputError(f"{NODES}: a node's children must come after it, within their tree")
    on_categories = inner["is_categorical"] != 0
    if (categories[inner["feature_idx"]] == 0)[on_categories].any():  # with few bins, one of numbers may be on codes
        raise InputError(f"{NODES}: a split on categories must be on a column of categories")
    if (inner["bitset_idx"][on_categories] >= len(sets)).any():
        raise InputError(f"{NODES}: a split on categories must have one of the {len(sets)} sets of its tree")
    if np.isnan(inner["num_threshold"]).any():
        raise InputError(f"{NODES}: a threshold must be a number")
    return Tree(_by_name(nodes, PREDICTOR_RECORD_DTYPE), np.array(sets, dtype=np.uint32))
