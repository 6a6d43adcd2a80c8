"""The trees of a stored scikit-learn model, which its compiled code follows without looking where they lead."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from flora.errors import InputError

MOST_PARTS = 1_000_000  # of a model
UNCHECKED = ("sklearn.ensemble._forest", "sklearn.ensemble._gb")  # these look at a table's columns, their trees do not


def check_trees(name: str, model: Any) -> None:
    """Raise where a tree of the model would be followed for ever, or out of its memory."""
    for part in _parts(name, model):
        held = getattr(part, "__dict__", {})
        columns = held.get("n_features_in_", 0)
        for tree in _trees(held):
            _check_tree(name, tree, columns)
        inner = np.ravel(held.get("estimators_", ()))
        if type(part).__module__ in UNCHECKED and any(getattr(one, "n_features_in_", -1) != columns for one in inner):
            raise InputError(f"{name}: all trees of a {type(part).__name__} must have its {columns} columns")


def _trees(held: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the trees that an estimator holds itself: nodes to the left and right, which are leaves, what they ask."""
    tree = held.get("tree_")
    if tree is not None:
        left = np.asarray(tree.children_left)
        yield left, np.asarray(tree.children_right), left == -1, np.asarray(tree.feature)
    for predictors in held.get("_predictors", ()):
        for predictor in predictors:
            nodes = predictor.nodes
            leaf = nodes["is_leaf"] != 0
            asked = np.where(nodes["is_categorical"] != 0, -1, nodes["feature_idx"].astype(np.int64))
            yield nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), leaf, asked


def _check_tree(name: str, tree: tuple[Any, ...], columns: int) -> None:
    left, right, leaf, asked = tree
    here, inner = np.arange(len(left)), ~leaf
    later = (left > here) & (right > here) & (left < len(left)) & (right < len(left))  # so every way down ends
    if not len(left) or not (later | leaf).all():
        raise InputError(f"{name}: a tree's nodes must lead to later nodes of it")
    if not ((asked[inner] >= 0) & (asked[inner] < columns)).all():
        raise InputError(f"{name}: a tree must ask for one of the {columns} columns, which are numbers")


def _parts(name: str, model: Any) -> Iterator[Any]:
    """Yield all objects that a model is made of, each once."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | bool | None):
            continue
        seen.add(id(part))
        if len(seen) > MOST_PARTS:
            raise InputError(f"{name}: a model has at most {MOST_PARTS} parts")
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        else:
            waiting += getattr(part, "__dict__", {}).values()
