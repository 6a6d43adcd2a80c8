"""scikit-learn's own training of a network on one party's rows, seen after several numbers of epochs.

It is ``MLPClassifier.fit`` and ``MLPRegressor.fit`` with Adam and one hidden layer, step by step and to the last bit
(a test holds it), without the checks that take longer than the steps on a party's rows.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.neural_network._base import ACTIVATIONS
from sklearn.preprocessing import StandardScaler

from flora.models.mlp.perceptron import Floats, Layers
from flora.models.mlp.steps import Steps, drawn
from flora.models.rows import Rows
from flora.models.scored import accuracy

FEWEST_HELD = 2  # validation rows; scikit-learn wants as many


@dataclass(frozen=True)
class Target:
    """What a network is to say about rows, as numbers, and how its outputs are read."""

    y: Floats  # (n, outputs)
    output: str  # the last activation
    classes: NDArray[Any]  # that the rows have; none for a regression
    places: int = 0  # classes of the schema
    scaler: Any = None  # of a regression's target

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Return the target of some rows."""
        y, schema = rows.y, rows.schema
        if schema.task == "regression":
            scaler = StandardScaler().fit(y[:, None], sample_weight=rows.weights)
            return cls(scaler.transform(y[:, None]), "identity", np.empty(0), scaler=scaler)
        classes = np.unique(y)
        if len(classes) > 2:
            return cls((y[:, None] == classes).astype(np.float64), "softmax", classes, len(schema.classes))
        return cls((y == classes[-1])[:, None] * float(len(classes) > 1), "logistic", classes, len(schema.classes))

    def answers(self, outputs: Floats) -> NDArray[Any]:
        """Return the classes, or the numbers in their own unit, that activated outputs mean: (n, o) -> (n,)."""
        if self.scaler is not None:
            return np.asarray(self.scaler.inverse_transform(outputs)[:, 0])
        best = (outputs[:, 0] > 0.5).astype(np.intp) if outputs.shape[1] == 1 else np.argmax(outputs, axis=1)
        return np.asarray(self.classes[np.minimum(best, len(self.classes) - 1)])

    def fitness(self, outputs: Floats, y: Floats, weights: Floats | None) -> float:
        """Return the accuracy, or R2 of the scaled numbers; NaN where they are not finite."""
        if self.output == "identity":
            own = 1.0 if weights is None else weights[:, None]
            unexplained = (own * (y - outputs) ** 2).sum(axis=0)
            spread = (own * (y - np.average(y, axis=0, weights=weights)) ** 2).sum(axis=0)
            return float((1 - unexplained / spread)[0]) if spread[0] else float(not unexplained[0])
        if self.output == "softmax":
            return accuracy(np.argmax(outputs, axis=1), np.argmax(y, axis=1), weights)
        return accuracy(outputs[:, 0] > 0.5, y[:, 0] > 0.5, weights)


@dataclass(frozen=True)
class Network:
    """A trained network on dense inputs."""

    layers: Layers
    target: Target

    def predict(self, dense: Floats) -> NDArray[Any]:
        """Return places in the list of classes, or real numbers: (n, d) -> (n,)."""
        return self.target.answers(self._outputs(dense))

    def predict_proba(self, dense: Floats) -> Floats | None:
        """Return each class's probability, (n, d) -> (n, classes), or None for a regression."""
        if self.target.scaler is not None:
            return None
        outputs = self._outputs(dense)
        known = np.hstack([1 - outputs, outputs]) if outputs.shape[1] == 1 else outputs
        found = np.zeros((len(dense), self.target.places))
        found[:, self.target.classes] = known[:, : len(self.target.classes)]
        return found

    def files(self) -> dict[str, bytes]:
        """Return nothing: it is not kept."""
        return {}

    def _outputs(self, dense: Floats) -> Floats:
        outputs = self.layers(dense)
        ACTIVATIONS[self.target.output](outputs)
        return outputs


def fitted_networks(
    settings: Mapping[str, Any], dense: Floats, rows: Rows, seed: int, epochs: Sequence[int]
) -> Iterator[Network]:
    """Yield what ``fit`` makes with ``max_iter`` at each number of epochs.

    An epoch does not know how many will follow, so that one fit passes through the others, to the last bit.
    """
    target = Target.of(rows)
    descent = Descent(settings, dense, target, seed, rows.weights)
    seen = {}
    for count in range(1, max(epochs) + 1):
        going_on = descent.epoch()
        if count in epochs:
            seen[count] = descent.reached()
        if not going_on:
            break
    last = descent.reached()
    if not np.isfinite(last).all():
        raise ValueError("training ended with weights that are not finite")
    for count in epochs:
        yield Network(Layers(seen.get(count, last), descent.sizes, settings["activation"]), target)


class Descent:
    """A training under way.

    Args:
        settings: All HPs.
        dense: The inputs.
        target: What the network is to say.
        seed: Decides the first weights, the validation rows and the order of the others.
        weights: How much each row counts; None: all the same.
    """

    def __init__(
        self, settings: Mapping[str, Any], dense: Floats, target: Target, seed: int, weights: Floats | None = None
    ) -> None:
        self.settings, self.target = settings, target
        self.sizes = dense.shape[1], int(settings["hidden_layer_sizes"]), target.y.shape[1]
        self.rng = np.random.RandomState(seed)
        self.weights = drawn(self.sizes, settings["activation"], self.rng)
        kept, held = _held_out(target, settings["validation_fraction"], self.rng)
        self.X, self.y, self.held = dense[kept], target.y[kept], (dense[held], target.y[held])
        self.counts, self.held_counts = (None if weights is None else weights[rows] for rows in (kept, held))
        self.early = len(held) > 0
        self.order = np.arange(len(kept))
        self.steps = Steps(settings, self.sizes, target.output, self.weights)
        self.best, self.best_score, self.stale = self.weights.copy(), -math.inf, 0

    def epoch(self) -> bool:
        """Go once through all rows; return whether another epoch may help."""
        shuffled = np.arange(len(self.order))
        self.rng.shuffle(shuffled)
        self.order = self.order[shuffled]
        size, total = min(self.settings["batch_size"], len(self.order)), 0.0
        for first in range(0, len(self.order), size):
            batch = self.order[first : first + size]
            counts = None if self.counts is None else self.counts[batch]
            total += self._learn(self.X[batch], self.y[batch], counts) * len(batch)
        score = self._validated() if self.early else -total / len(self.order)
        self.stale = self.stale + 1 if score < self.best_score + self.settings["tol"] else 0
        if score > self.best_score:
            self.best_score = score
            self.best = self.weights.copy()
        return bool(self.stale <= self.settings["n_iter_no_change"])

    def reached(self) -> Floats:
        """Return a copy of the weights that ``fit`` would end with now."""
        return (self.best if self.early else self.weights).copy()

    def _learn(self, X: Floats, y: Floats, counts: Floats | None) -> float:
        """Take one step; return the batch's loss before it, where somebody wants to know."""
        hidden, outputs = self.steps.forward(X)
        loss = 0.0 if self.early else self.steps.loss(outputs, y, counts)
        error = outputs - y
        if counts is not None:
            error *= counts[:, None]
        self.steps.back(X, hidden, error, len(y) if counts is None else counts.sum())
        return loss

    def _validated(self) -> float:
        X, y = self.held
        return self.target.fitness(self.steps.forward(X)[1], y, self.held_counts)


def _held_out(target: Target, share: float, rng: np.random.RandomState) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to train on and those to validate on, which are none where they would be too few.

    With two classes scikit-learn stratifies its validation rows, for which each class needs two rows; and it refuses
    fewer than two validation rows. Such a party trains to the end of max_iter or of progress.
    """
    y, count = target.y, math.ceil(share * len(target.y))
    stratified = target.output == "logistic"
    if count < FEWEST_HELD or (len(target.classes) == 2 and min(y.sum(), len(y) - y.sum()) < 2):
        return np.arange(len(y)), np.arange(0)
    splitter = StratifiedShuffleSplit if stratified else ShuffleSplit
    places = splitter(test_size=count, train_size=len(y) - count, random_state=rng)
    kept, held = next(iter(places.split(y, y[:, 0].astype(np.int64) if stratified else None)))
    return kept, held
