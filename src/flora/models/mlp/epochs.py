"""scikit-learn's own training of a network on one party's rows, seen after several numbers of epochs."""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from flora.models.mlp.federated_averaging import network_of
from flora.models.mlp.perceptron import Floats
from flora.models.rows import Rows

FEWEST_HELD = 2  # validation rows; scikit-learn wants as many
Matrices = tuple[list[Floats], list[Floats]]  # coefficients, intercepts


def fitted_networks(
    settings: Mapping[str, Any], dense: Floats, rows: Rows, seed: int, epochs: Sequence[int]
) -> Iterator[Any]:
    """Yield what ``fit`` makes with ``max_iter`` at each number of epochs: one network, whose weights change.

    An epoch does not know how many will follow, so that one fit passes through the others, to the last bit.
    """
    seen: dict[int, Matrices] = {}
    watched = _watched({**settings, "max_iter": max(epochs)}, rows, seed, seen, epochs)
    scaled = rows.schema.task == "regression"
    network = TransformedTargetRegressor(watched, transformer=StandardScaler()) if scaled else watched
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is a choice, and the score tells its worth
        network.fit(dense, rows.y)
    inner = network.regressor_ if scaled else network
    last = inner.coefs_, inner.intercepts_
    for count in epochs:
        inner.coefs_, inner.intercepts_ = seen.get(count, last)
        yield network


def _watched(
    settings: Mapping[str, Any], rows: Rows, seed: int, seen: dict[int, Matrices], epochs: Sequence[int]
) -> Any:
    """Return scikit-learn's network for the rows, which notes its weights after each number of ``epochs``."""
    held = math.ceil(settings["validation_fraction"] * len(rows))
    _, counts = np.unique(rows.y, return_counts=True)
    # With two classes scikit-learn stratifies its validation rows, for which each class needs two rows; and it
    # refuses fewer than two validation rows. Such a party trains to the end of max_iter or of progress.
    early = held >= FEWEST_HELD and not (rows.schema.classes and len(counts) == 2 and counts.min() < 2)
    batch = min(settings["batch_size"], len(rows) - held if early else len(rows))
    plain = network_of(
        rows.schema.task, {**settings, "batch_size": batch, "early_stopping": early, "random_state": seed}
    )

    class Watched(type(plain)):  # type: ignore[misc]
        # scikit-learn has no callback: this is what it calls at the end of each epoch.
        def _update_no_improvement_count(self, early_stopping: bool, *validation: Any) -> None:
            super()._update_no_improvement_count(early_stopping, *validation)
            if self.n_iter_ in epochs:
                best = (self._best_coefs, self._best_intercepts)  # what early stopping would end with
                now = best if early_stopping else (self.coefs_, self.intercepts_)
                seen[self.n_iter_] = tuple([matrix.copy() for matrix in part] for part in now)  # type: ignore[assignment]

    return Watched(**plain.get_params())
