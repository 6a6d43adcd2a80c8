"""The trees of a random forest, grown by scikit-learn's own building blocks.

They are those of ``RandomForestRegressor``, to the last bit: a contract test compares them. What is left out is what
surrounds each of its trees, and takes four times as long as the tree does: an estimator, checks, two generators.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SMALLEST_SPLIT, DEEPEST = 2, np.iinfo(np.int32).max  # scikit-learn's defaults: a leaf is pure


def grow_trees(points: Floats, losses: Floats, seed: int, count: int) -> tuple[Any, ...]:
    """Return the first ``count`` trees of a random forest: (n, d) and (n,), by the seed alone.

    They are scikit-learn's ``Tree``, with ``predict`` of single-precision points and without types.
    """
    from sklearn.tree._criterion import MSE
    from sklearn.tree._splitter import BestSplitter
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

    single, column = np.ascontiguousarray(points, dtype=np.float32), np.ascontiguousarray(losses).reshape(-1, 1)
    size, width = single.shape
    rng = np.random.RandomState(seed)  # one for all trees, and each seeds it anew: to make one takes as long as a tree
    drawn = rng.randint(np.iinfo(np.int32).max, size=count)
    splitter = BestSplitter(MSE(1, size), width, 1, 0.0, rng, None)
    builder = DepthFirstTreeBuilder(splitter, SMALLEST_SPLIT, 1, 0.0, DEEPEST, 0.0)
    outputs = np.array([1], dtype=np.intp)
    trees = []
    for own in drawn:
        rng.seed(own)
        weights = np.bincount(rng.randint(0, size, size), minlength=size).astype(np.float64)  # the bootstrap
        rng.seed(own)  # the splitter draws from the same seed as the bootstrap did
        tree = Tree(width, outputs, 1)
        builder.build(tree, single, column, weights)
        trees.append(tree)
    return tuple(trees)
