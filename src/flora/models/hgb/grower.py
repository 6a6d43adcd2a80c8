"""One tree while it grows: scikit-learn's leaf-wise tree, decided by summed histograms alone.

Leaf-wise growth splits the leaf with the largest gain, and needs the histograms of its two children to go on. To ask
for them one leaf at a time takes an exchange for each split. Here a round asks for the children of all leaves that
would be split next if nothing better turned up. What was asked for in vain is thrown away: the tree is the same.

Every party runs this code on the same sums, so all of them decide alike. It never sees a row.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.histogram import HistogramBuilder
from sklearn.ensemble._hist_gradient_boosting.splitting import Splitter

from flora.models.hgb.bins import Bins
from flora.models.hgb.exact_sums import Histograms
from flora.models.hgb.settings import Settings


@dataclass(eq=False, slots=True)
class Node:
    """A node as all parties know it."""

    depth: int
    n_samples: int
    sum_gradients: float
    sum_hessians: float
    value: float = 0.0
    histograms: Histograms | None = None
    split: Any = None  # scikit-learn's SplitInfo, once it was looked for
    children: "tuple[Node, Node] | None" = None  # of the best split, whether or not the tree has it in the end
    opened: bool = False  # whether the children's histograms are known, or never needed
    is_leaf: bool = True

    def __lt__(self, other: "Node") -> bool:
        """Whether this node is split before the other."""
        return bool(self.split.gain > other.split.gain)

    def by_size(self) -> "tuple[Node, Node]":
        """Return the child with fewer of all parties' rows, whose histograms are asked for, and the other one."""
        left, right = _both(self)
        return (left, right) if left.n_samples < right.n_samples else (right, left)

    def in_order(self) -> Iterator["Node"]:
        """Yield this node and all of the tree's below: parents first, left before right."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if not node.is_leaf:
                waiting.extend(reversed(_both(node)))


def _both(node: Node) -> tuple[Node, Node]:
    if node.children is None:
        raise AssertionError("a node that was not split has no children")
    return node.children


@dataclass(frozen=True)
class Decider:
    """Finds splits in histograms, and takes one from another: scikit-learn's blocks, without rows."""

    splitter: Any
    builder: Any

    @classmethod
    def of(cls, bins: Bins, settings: Settings, constant_hessians: bool, rng: np.random.Generator) -> "Decider":
        """Return what decides for all trees; ``rng`` draws the columns where a node may split on some only."""
        columns, width = bins.shape
        no_rows = np.zeros((1, columns), dtype=np.uint8, order="F")
        nothing = np.zeros(1, dtype=np.float32)
        splitter = Splitter(
            no_rows,
            bins.numbers,
            bins.most,
            bins.missing.astype(np.uint8),
            bins.categorical,
            np.zeros(columns, dtype=np.int8),
            settings.l2_regularization,
            min_samples_leaf=settings.min_samples_leaf,
            hessians_are_constant=constant_hessians,
            feature_fraction_per_split=settings.max_features,
            rng=rng,
        )
        return cls(splitter, HistogramBuilder(no_rows, width, nothing, nothing, constant_hessians, 1))

    def split(self, node: Node) -> None:
        """Find the node's best split, and with it its children, if there is one."""
        found = self.splitter.find_node_split(
            node.n_samples, node.histograms, node.sum_gradients, node.sum_hessians, node.value
        )
        node.split = found
        if found.gain <= 0:
            return
        if not self.splitter.has_missing_values[found.feature_idx]:
            found.missing_go_to_left = found.n_samples_left > found.n_samples_right
        depth = node.depth + 1
        left = Node(depth, found.n_samples_left, found.sum_gradient_left, found.sum_hessian_left, found.value_left)
        right = Node(depth, found.n_samples_right, found.sum_gradient_right, found.sum_hessian_right, found.value_right)
        node.children = (left, right)

    def share_out(self, node: Node, known: Histograms) -> None:
        """Give a node's histograms to its children: the smaller one's are known, the other's are what is left."""
        smaller, larger = node.by_size()
        smaller.histograms = known
        larger.histograms = self.builder.compute_histograms_subtraction(node.histograms, known)
        node.histograms = None


class GrowingTree:
    """A tree that grows as far as its leaves' histograms are known.

    Args:
        root: With the histograms of all rows.
        decider: Finds the splits.
        settings: How large the tree may become.
        early: Whether splits are looked for as soon as histograms are known. Where columns are drawn for each node,
            they must be looked for in scikit-learn's order: when the parent is split.
    """

    def __init__(self, root: Node, decider: Decider, settings: Settings, *, early: bool) -> None:
        self.decider, self.settings, self.early = decider, settings, early
        self.fewest = 2 * settings.min_samples_leaf  # rows of a node that can be split
        self.deepest = settings.deepest or math.inf
        self.n_leaves = 1
        self.open: list[Node] = []  # a heap: leaves that have a split, the best one first
        if self._may_split(root) and root.sum_hessians >= decider.splitter.min_hessian_to_split:
            self._find_split(root)
            self._push(self.open, root)

    def wanted(self, ahead: float) -> list[Node]:
        """Return the nodes whose children's histograms are needed next, or likely to be.

        Args:
            ahead: The share of the splits still to come that is prepared for.
        """
        coming = self.settings.max_leaf_nodes - self.n_leaves - 1  # the last split's children are leaves
        if coming <= 0 or not self.open:
            return []
        if not ahead:
            return [self.open[0]]  # it is not opened, or it would have been split
        likely, found = self.open.copy(), []
        heapify(likely)
        for _ in range(max(1, round(coming * ahead))):
            if not likely:
                break
            node = heappop(likely)
            if not node.opened:
                found.append(node)
                continue
            for child in _both(node):
                self._push(likely, child)
        return found

    def learn(self, node: Node, known: Histograms) -> None:
        """Take the histograms of a wanted node's smaller child."""
        self.decider.share_out(node, known)
        node.opened = True
        if self.early:
            for child in _both(node):
                self._find_split(child)

    def advance(self) -> None:
        """Split leaves, the best one first, up to one whose children are not known yet."""
        while self.open and self.n_leaves < self.settings.max_leaf_nodes:
            is_last = self.n_leaves + 1 == self.settings.max_leaf_nodes
            if not is_last and not self.open[0].opened:
                return
            node = heappop(self.open)
            node.is_leaf = False
            self.n_leaves += 1
            if is_last:
                return
            for child in _both(node):
                if not self.early:
                    self._find_split(child)
                self._push(self.open, child)

    def _find_split(self, node: Node) -> None:
        """Look for a node's split, unless it stays a leaf."""
        if not self._may_split(node):
            return
        self.decider.split(node)
        if node.children:
            node.opened = not any(map(self._may_split, node.children))

    def _may_split(self, node: Node) -> bool:
        return node.n_samples >= self.fewest and node.depth < self.deepest

    @staticmethod
    def _push(heap: list[Node], node: Node) -> None:
        if node.children:
            heappush(heap, node)
