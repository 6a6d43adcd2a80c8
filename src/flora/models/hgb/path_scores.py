"""The local search's fits: one passes through all smaller numbers of trees, and is scored on its way.

A fit is the training itself, by a party alone: what is tuned is what is trained.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from flora.core.collective import Alone, Floats
from flora.models.class_weights import class_weights
from flora.models.hgb.bins import Bins, agree_on_bins
from flora.models.hgb.boosting import Boosting
from flora.models.hgb.model import answers, probabilities
from flora.models.hgb.settings import Settings
from flora.models.recent import Recent, digest_of
from flora.models.rows import Rows
from flora.models.scored import score_of
from flora.problem.schema import Schema


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to fit and rows to score, and both as bins: the same for every config with as many bins."""

    train: Rows
    test: Rows
    bins: Bins
    binned_test: NDArray[np.uint8]

    @classmethod
    def of(cls, train: Rows, test: Rows, most_bins: int) -> Self:
        """Return the fold on the bins of its rows to fit."""
        bins = agree_on_bins(train, most_bins, Alone())
        return cls(train, test, bins, np.ascontiguousarray(bins.number(test.X)))

    @classmethod
    def recalled(cls, train: Rows, test: Rows, most_bins: int) -> "Fold":
        """Return the fold, which is the same object if this process has had it lately: a search tries many configs."""
        return _recent.recall(digest_of(train, test, most_bins), lambda: cls.of(train, test, most_bins))

    def scores(self, settings: Settings, stops: Sequence[int], scoring: str, seed: int) -> Iterator[tuple[int, float]]:
        """Yield each number of trees in ``stops``, ascending, with its score; who has heard enough leaves the loop."""
        weights = class_weights(self.train, settings.class_balance, Alone())
        boosting = Boosting.begin(self.train, self.bins, settings, Alone(), seed, weights)
        scores = np.zeros((len(self.test), len(boosting.start)), order="F") + boosting.start
        for count, trees in enumerate(boosting.iterations(), start=1):
            for k, tree in enumerate(trees):
                scores[:, k] += tree.on_bins(self.binned_test, self.bins)
            if count in stops:
                yield count, score_of(_Reached(scores, self.train.schema), self.test, scoring)
            if count == max(stops):
                return


_recent: Recent[Fold] = Recent()


@dataclass(frozen=True)
class _Reached:
    """A model as far as it has got: it knows the scores of the rows that it will be asked for."""

    known: Floats
    schema: Schema

    def predict(self, X: Floats) -> NDArray[Any]:  # noqa: ARG002
        return answers(self.known, self.schema)

    def predict_proba(self, X: Floats) -> Floats | None:  # noqa: ARG002
        return probabilities(self.known, self.schema)

    def files(self) -> dict[str, bytes]:
        raise NotImplementedError
