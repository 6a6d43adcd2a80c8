"""This process's rows during a training: the only place where rows are looked at.

Histograms and partitions are made by scikit-learn's own blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn._loss.loss import HalfBinomialLoss, HalfMultinomialLoss, HalfSquaredError
from sklearn.ensemble._hist_gradient_boosting.common import HISTOGRAM_DTYPE
from sklearn.ensemble._hist_gradient_boosting.histogram import HistogramBuilder
from sklearn.ensemble._hist_gradient_boosting.splitting import Splitter

from flora.core.collective import Floats
from flora.models.hgb.bins import Bins
from flora.models.hgb.exact_sums import Histograms, Units, rounded
from flora.models.hgb.grower import Node
from flora.models.rows import Rows
from flora.problem.schema import Schema


def loss_of_schema(schema: Schema, *, weighted: bool = False) -> Any:
    """Return scikit-learn's loss for the task; its hessians are all 1 for a regression without weights."""
    if schema.task == "regression":
        return HalfSquaredError(sample_weight=np.ones(1) if weighted else None)
    classes = len(schema.classes)
    return HalfBinomialLoss() if classes <= 2 else HalfMultinomialLoss(n_classes=classes)


class LocalRows:
    """This process's rows during the training: with :class:`TreeRows` the only place where rows are looked at.

    Args:
        rows: They may be none.
        weights: Each row's, or None where all are 1.
        bins: All parties'.
        loss: scikit-learn's.
        start: The scores before the first tree.
    """

    def __init__(self, rows: Rows, weights: Floats | None, bins: Bins, loss: Any, start: Floats) -> None:
        self.binned, self.bins, self.loss, self.weights = bins.number(rows.X), bins, loss, weights
        self.y = np.ascontiguousarray(rows.y, dtype=np.float64)
        self.scores = np.zeros((len(rows), len(start)), order="F") + start

    def begin(self, units: Units) -> "Sequence[RowsOfTree]":
        """Return the rows as each of an iteration's trees sees them, with the gradients at the present scores."""
        if not len(self.y):  # scikit-learn's blocks want one row at least
            return [NoRows(self.bins.shape)] * self.scores.shape[1]
        gradients, hessians = self._gradients(units)
        width, constant = self.bins.shape[1], self.loss.constant_hessian
        return [
            TreeRows(
                HistogramBuilder(self.binned, width, gradients[:, k], hessians[:, k], constant, 1),
                self._splitter(),
                self.scores[:, k],
            )
            for k in range(self.scores.shape[1])
        ]

    def _gradients(self, units: Units) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return gradients and hessians as multiples of their units: (n, trees), or one hessian where all are 1."""
        gradients, hessians = self.loss.init_gradient_and_hessian(len(self.y), dtype=np.float32, order="F")
        known = {"y_true": self.y, "raw_prediction": self.scores, "sample_weight": self.weights, "n_threads": 1}
        if units.hessian is None:
            self.loss.gradient(gradient_out=gradients, **known)
        else:
            self.loss.gradient_hessian(gradient_out=gradients, hessian_out=hessians, **known)
            hessians = rounded(hessians, units.hessian)
        gradients = rounded(gradients, units.gradient)
        return _as_columns(gradients), _as_columns(hessians)

    def _splitter(self) -> Any:
        """Return what parts rows; it finds no splits, so it needs no settings."""
        columns = self.bins.shape[0]
        zeros = np.zeros(columns, dtype=np.uint8)
        return Splitter(
            self.binned, self.bins.numbers, self.bins.most, zeros, zeros, np.zeros(columns, dtype=np.int8), 0.0
        )


class RowsOfTree(Protocol):
    """This process's rows in the nodes of one tree."""

    def begin(self, root: Node) -> None:
        """Put all rows into the root."""
        ...

    def histograms(self, node: Node) -> Histograms:
        """Return the histograms of the rows in a node."""
        ...

    def part(self, node: Node) -> None:
        """Part a node's rows among its children, unless that is done."""
        ...

    def end(self, nodes: Sequence[Node]) -> None:
        """Add the values of a grown tree, whose nodes are in order, to the scores."""
        ...


@dataclass(frozen=True)
class NoRows:
    """A party without rows: it adds nothing to any sum."""

    shape: tuple[int, int]

    def begin(self, root: Node) -> None:
        """Do nothing."""

    def histograms(self, node: Node) -> Histograms:  # noqa: ARG002  (none is in any)
        """Return empty histograms."""
        return np.zeros(self.shape, dtype=HISTOGRAM_DTYPE)

    def part(self, node: Node) -> None:
        """Do nothing."""

    def end(self, nodes: Sequence[Node]) -> None:
        """Do nothing."""


class TreeRows:
    """This process's rows in the nodes of one tree: scikit-learn's blocks, on rows.

    Args:
        builder: Makes histograms.
        splitter: Parts rows.
        scores: Of all rows; the grown tree's values are added to them.
    """

    def __init__(self, builder: Any, splitter: Any, scores: Floats) -> None:
        self.builder, self.splitter, self.scores = builder, splitter, scores
        self.in_node: dict[Node, Any] = {}

    def begin(self, root: Node) -> None:
        """Put all rows into the root."""
        self.in_node[root] = self.splitter.partition

    def histograms(self, node: Node) -> Histograms:
        """Return the histograms of this process's rows in a node."""
        found = self.builder.compute_histograms_brute(self.in_node[node])
        histograms: Histograms = found.base  # np.asarray would spend longer on the view's dtype than the sums took
        return histograms

    def part(self, node: Node) -> None:
        """Part a node's rows among its children, unless that is done."""
        if node.children is None or node.children[0] in self.in_node:
            return
        left, right = node.children
        self.in_node[left], self.in_node[right], _ = self.splitter.split_indices(node.split, self.in_node[node])

    def end(self, nodes: Sequence[Node]) -> None:
        """Add the values of a grown tree, whose nodes are in order, to the scores."""
        for node in nodes:
            if not node.is_leaf:
                self.part(node)
        leaves = [node for node in nodes if node.is_leaf]
        # From left to right the leaves' rows lie side by side in the splitter's list of rows.
        sizes = [len(self.in_node[leaf]) for leaf in leaves]
        self.scores[np.asarray(self.splitter.partition)] += np.repeat([leaf.value for leaf in leaves], sizes)


def _as_columns(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return values if values.ndim == 2 else values[:, None]
