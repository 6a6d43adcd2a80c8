"""The training: scikit-learn's histogram gradient boosting, on sums over all parties' rows.

Only ``local_rows.py`` looks at rows, and only at this process's own. All else follows from sums: the start, the units
of the gradients, the splits and the leaves' values. With the same bins the trees are those of scikit-learn on the
pooled rows.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from flora.core.collective import Collective, Floats, Integers, iteration_done
from flora.errors import DataError
from flora.models.hgb.bins import Bins
from flora.models.hgb.exact_sums import Histograms, Units
from flora.models.hgb.grower import Decider, GrowingTree, Node
from flora.models.hgb.local_rows import LocalRows, RowsOfTree, loss_of_schema
from flora.models.hgb.settings import Settings
from flora.models.hgb.trees import Tree
from flora.models.rows import Rows
from flora.models.sums import pooled_sum, pooled_sums
from flora.randomness import derived_seed

AHEAD = 0.75  # of the splits still to come, a round prepares so many: fewer exchanges, more bytes in each
MOST_WORDS = 2**22  # in one exchange: 32 MiB


@dataclass
class Totals:
    """What all parties' rows add up to."""

    rows: int
    weight: float
    squares: float = (
        0.0  # a regression's residuals', by weight: it follows from the leaves, so it need not be asked for
    )
    first_squares: float = 0.0

    def units(self, loss: Any, parties: int, *, classes: bool) -> Units:
        r"""Return the units for the next gradients.

        A class's gradient is at most its row's weight, its hessian a quarter of that. For a regression
        :math:`\sum |w r| \le \sqrt{\sum w \sum w r^2}`; twice that leaves room for rounding.
        """
        if classes:
            return Units.fitting(self.rows, self.weight, self.weight / 4, parties)
        spread = 2 * math.sqrt(self.weight) * math.sqrt(max(self.squares, 2.0**-40 * self.first_squares))
        return Units.fitting(self.rows, spread, None if loss.constant_hessian else self.weight, parties)

    def after(self, nodes: Sequence[Node]) -> float:
        r"""Return the residuals' squares after a tree: :math:`\sum w (r + v)^2` from each leaf's sums and value v."""
        leaves = [node for node in nodes if node.is_leaf]
        return self.squares + sum(
            2 * leaf.value * leaf.sum_gradients + leaf.value**2 * leaf.sum_hessians for leaf in leaves
        )


@dataclass
class Boosting:
    """A training in progress, in step with all parties."""

    settings: Settings
    bins: Bins
    loss: Any
    start: Floats  # (trees of an iteration,)
    rows: LocalRows
    totals: Totals
    collective: Collective
    decider: Decider
    classes: bool

    @classmethod
    def begin(
        cls,
        rows: Rows,
        bins: Bins,
        settings: Settings,
        collective: Collective,
        seed: int,
        weights: Floats | None = None,
    ) -> Self:
        """Agree on the start and on what all rows add up to.

        Args:
            rows: This process's; there may be none, as long as some party has some.
            bins: All parties'.
            settings: All parties'.
            collective: Joins this process to the others.
            seed: All parties'; it draws columns where ``max_features`` is below 1.
            weights: Each row's. All parties have them, or none has.
        """
        loss, classes = loss_of_schema(rows.schema, weighted=weights is not None), rows.schema.task == "classification"
        start, totals = _start(rows, weights, loss, collective)
        local = LocalRows(rows, weights, bins, loss, start)
        decider = Decider.of(bins, settings, loss.constant_hessian, column_stream(seed))
        return cls(settings, bins, loss, start, local, totals, collective, decider, classes)

    def iterations(self) -> Iterator[tuple[Tree, ...]]:
        """Yield the trees of each iteration, one for each class, or one where there are two classes or a number."""
        for done in range(self.settings.max_iter):
            trees = self._iteration()
            iteration_done(self.collective, self.settings.max_iter)
            yield trees
            if self.settings.max_features == 1 and all(len(tree.nodes) == 1 for tree in trees):
                yield from [trees] * (self.settings.max_iter - done - 1)  # nothing can be split now or later
                return

    def _iteration(self) -> tuple[Tree, ...]:
        units = self.totals.units(self.loss, self.collective.size, classes=self.classes)
        rows = self.rows.begin(units)
        roots = [Node(0, self.totals.rows, 0.0, 0.0) for _ in rows]
        for one, root in zip(rows, roots, strict=True):
            one.begin(root)
        for root, histograms in zip(roots, self._summed(list(zip(rows, roots, strict=True)), units), strict=True):
            first = histograms[0]
            root.histograms, root.sum_gradients = histograms, float(first["sum_gradients"].sum())
            root.sum_hessians = float(root.n_samples if units.hessian is None else first["sum_hessians"].sum())
        if self.settings.max_features == 1:
            self._grow(roots, rows, units)
        else:  # one tree after the other, so that columns are drawn in scikit-learn's order
            for one, root in zip(rows, roots, strict=True):
                self._grow([root], [one], units)
        return tuple(self._grown(root, one) for root, one in zip(roots, rows, strict=True))

    def _grow(self, roots: Sequence[Node], rows: Sequence[RowsOfTree], units: Units) -> None:
        """Grow trees side by side: one exchange serves all."""
        early = self.settings.max_features == 1
        trees = [GrowingTree(root, self.decider, self.settings, early=early) for root in roots]
        ahead = AHEAD if self.collective.size > 1 else 0.0  # alone, no exchange is saved by looking ahead
        while True:
            for tree in trees:
                tree.advance()
            wanted = [(tree, one, node) for tree, one in zip(trees, rows, strict=True) for node in tree.wanted(ahead)]
            if not wanted:
                return
            for _, one, node in wanted:
                one.part(node)
            found = self._summed([(one, node.by_size()[0]) for _, one, node in wanted], units)
            for (tree, _, node), histograms in zip(wanted, found, strict=True):
                tree.learn(node, histograms)

    def _grown(self, root: Node, rows: RowsOfTree) -> Tree:
        """Return a tree that has grown, with its leaves shrunk; take its values into the scores."""
        nodes = list(root.in_order())
        for node in nodes:
            if node.is_leaf:
                node.value *= self.settings.learning_rate
        self.totals.squares = self.totals.after(nodes)
        rows.end(nodes)
        return Tree.grown(nodes, self.bins)

    def _summed(self, asked: Sequence[tuple[RowsOfTree, Node]], units: Units) -> list[Histograms]:
        """Return all parties' histograms of nodes."""
        own = [rows.histograms(node) for rows, node in asked]
        if self.collective.size == 1:
            return own
        used, found = self.bins.used, list[Histograms]()
        at_once = max(1, MOST_WORDS // units.words_for(len(used)))
        for first in range(0, len(own), at_once):
            words = self.collective.add_integers(units.pack(own[first : first + at_once], used))
            found += units.unpack(words, used, self.bins.shape)
        return found


def column_stream(seed: int) -> np.random.Generator:
    """Return the generator with which scikit-learn draws columns, given :func:`random_state`."""
    legacy = np.random.RandomState(random_state(seed))
    _, drawn = (legacy.randint(np.iinfo(np.uint32).max, dtype="u8") for _ in range(2))
    return np.random.default_rng(drawn)


def random_state(seed: int) -> int:
    """Return the ``random_state`` of the same model in scikit-learn."""
    return derived_seed(seed, "hgb")


def _start(rows: Rows, weights: Floats | None, loss: Any, collective: Collective) -> tuple[Floats, Totals]:
    """Return the scores before the first tree, scikit-learn's own of all rows, and what all rows add up to."""
    count = int(collective.add_integers(np.array([len(rows)]))[0])
    if not count:
        raise DataError("a training needs at least one row, got none from any party")
    if rows.schema.task == "classification":
        of_classes = _class_weights(rows, weights, collective)
        _check_weight(of_classes.sum())
        start = loss.fit_intercept_only(np.arange(len(of_classes), dtype=np.float64), sample_weight=of_classes)
        return np.atleast_1d(start), Totals(count, float(of_classes.sum()))
    own = np.ones(len(rows)) if weights is None else weights
    weight, total = pooled_sums(np.column_stack([own, own * rows.y]), collective)
    _check_weight(weight)
    start = np.atleast_1d(loss.fit_intercept_only(np.array([total / weight])))
    with np.errstate(over="ignore"):  # what is infinite is refused
        own_squares = own * (rows.y - start) ** 2
    squares = pooled_sum(own_squares, collective)
    return start, Totals(count, float(weight), squares, squares)


def _check_weight(total: float) -> None:
    if not total > 0:
        raise DataError(f"the rows' weights must add up to more than 0, got {total}")


def _class_weights(rows: Rows, weights: Floats | None, collective: Collective) -> Floats:
    """Return the weight of each class over all parties' rows."""
    is_class: NDArray[np.bool_] = rows.y[:, None] == np.arange(len(rows.schema.classes))
    if weights is None:
        counts: Integers = collective.add_integers(is_class.sum(axis=0, dtype=np.int64))
        return counts.astype(np.float64)
    return pooled_sums(is_class * weights[:, None], collective)
