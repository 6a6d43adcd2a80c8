r"""The exact kernel machine that a party searches with: scikit-learn's ``SVC``, without what all configs share.

The rows' squared distances are computed once for each fold. A config's kernel is then
:math:`\exp(-\gamma |x - x'|^2)` of them, and LIBSVM is asked directly: ``SVC`` checks its input for longer than a
small machine takes to train. Large folds keep no distances: LIBSVM needs only some of their kernel.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC, _libsvm

from flora.models.encoded_fold import EncodedFold
from flora.models.recent import Recent, digest_of
from flora.models.rows import Rows

Floats = NDArray[np.float64]
MOST_ROWS = 1_500  # of a fold whose distances are kept: 18 MB
FOLDS = 12  # whose distances are kept
CACHE = 500  # MB for the kernel; LIBSVM takes what it needs of it


@dataclass(frozen=True)
class Answers:
    """What a machine says about the rows that it is scored on; it is asked about no others."""

    known: Floats  # (n,) for two classes, else (n, k)
    labels: NDArray[Any]

    def predict(self, X: Floats) -> NDArray[Any]:  # noqa: ARG002
        """Return places in the list of classes."""
        return self.labels

    def decision_function(self, X: Floats) -> Floats:  # noqa: ARG002
        """Return signed distances."""
        return self.known

    def predict_proba(self, X: Floats) -> None:  # noqa: ARG002
        """Return None: distances are not probabilities."""
        return

    def files(self) -> dict[str, bytes]:
        """Return nothing: it is not kept."""
        return {}


@dataclass(frozen=True, eq=False)
class Distances:
    """The squared distances of a fold's rows to those that are fitted."""

    train: Floats  # (n, n)
    test: Floats  # (m, n)

    @classmethod
    def of(cls, fold: EncodedFold) -> Self:
        """Return the distances of encoded rows."""
        return cls(_squared(fold.train, fold.train), _squared(fold.test, fold.train))

    @classmethod
    def recalled(cls, train: Rows, test: Rows) -> "Distances":
        """Return the distances, which are the same object if this process has had them lately."""
        return _recent.recall(digest_of(train, test), lambda: cls.of(EncodedFold.of(train, test)))


_recent: Recent[Distances] = Recent(FOLDS)


def answers(train: Rows, test: Rows, C: float, gamma: float, tol: float) -> Answers:
    """Fit ``SVC(kernel="rbf", class_weight="balanced")`` on ``train``, and return what it says about ``test``."""
    classes, places = np.unique(train.y, return_inverse=True)
    totals = np.bincount(places, train.weights)
    balanced = totals.sum() / (len(classes) * totals)
    if len(classes) != 2 or len(train) > MOST_ROWS:
        fold = EncodedFold.recalled(train, test)
        by_class = dict(zip(classes.tolist(), balanced.tolist(), strict=True))  # SVC's own would count rows
        machine = SVC(C=C, gamma=gamma, tol=tol, class_weight=by_class, cache_size=CACHE)
        machine.fit(fold.train, train.y, train.weights)
        return Answers(machine.decision_function(fold.test), machine.predict(fold.test))
    distances = Distances.recalled(train, test)
    signs = (train.y == classes[1]).astype(np.float64)
    _libsvm.set_verbosity_wrap(0)
    support, _, _, weights, intercept, *_ = _libsvm.fit(
        np.exp(-gamma * distances.train),
        signs,
        svm_type=0,
        kernel="precomputed",
        C=C,
        tol=tol,
        cache_size=CACHE,
        class_weight=balanced,
        **({} if train.weights is None else {"sample_weight": np.ascontiguousarray(train.weights)}),
    )
    # LIBSVM counts towards the first class.
    known = -(np.exp(-gamma * distances.test[:, support]) @ weights[0] + intercept[0])
    return Answers(known, classes[(known > 0).astype(np.intp)])


def _squared(rows: Floats, others: Floats) -> Floats:
    """Return squared distances: (m, d), (n, d) -> (m, n)."""
    found = np.sum(rows**2, axis=1)[:, None] + np.sum(others**2, axis=1) - 2 * rows @ others.T
    return np.asarray(np.maximum(found, 0))  # rounding may go below 0
