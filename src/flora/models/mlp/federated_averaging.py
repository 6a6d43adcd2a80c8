"""Federated averaging: all parties train on from the same weights, then the weights are averaged by rows.

A process holds some of the learners and meets the others over a collective: one learner at each party in the one
training, and all learners, with nobody to meet, where a party emulates a federation on its own rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils import check_random_state

from flora.core.collective import Collective
from flora.errors import DataError
from flora.models.mlp.perceptron import Floats, Layers, length_of, outputs_of, places_of
from flora.models.sums import added, fixed_point_sum, pooled_sums
from flora.problem.schema import Schema, Task
from flora.randomness import derived_seed

AGGREGATOR: dict[str, Any] = {  # plain averaging after each epoch
    "local_epochs": 1,
    "server_learning_rate": 1.0,
}
NO_STEP = 1e-300  # a learning rate that moves no weight
GROWTH = 64  # a round's largest weight is hardly ever so many times the last one's


@dataclass(frozen=True)
class Part:
    """Some rows of a party, as its network sees them."""

    X: Floats  # dense inputs (n, d)
    y: NDArray[Any]  # places of classes or scaled numbers (n,)
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def weight(self) -> float:
        """What all rows weigh together."""
        return float(len(self.y) if self.weights is None else self.weights.sum())


@dataclass(frozen=True)
class Standing:
    """Where a training stands: its best weights by the parties' validation rows; without such rows, the last ones."""

    weights: Floats
    round: int = 0  # the one that made these weights, from 1
    score: float = -math.inf
    stale: int = 0  # rounds since the last gain

    def after(self, number: int, weights: Floats, score: float | None, tol: float) -> "Standing":
        """Return where the training stands after one more round; its score is None where nobody could tell it."""
        if score is None:
            return Standing(weights, number)
        stale = 0 if score >= self.score + tol else self.stale + 1
        if score > self.score:
            return Standing(weights, number, score, stale)
        return replace(self, stale=stale)


class Learner:
    """One party's network: weights come and go, Adam's state stays."""

    def __init__(self, place: int, settings: Mapping[str, Any], kept: Part, held: Part, schema: Schema) -> None:
        self.place, self.settings, self.kept, self.held = place, settings, kept, held
        self.sizes = (kept.X.shape[1], int(settings["hidden_layer_sizes"]), outputs_of(schema))
        self.classes = {"classes": np.arange(len(schema.classes))} if schema.classes else {}
        self.task = schema.task
        self.network = network_of(schema.task, settings)

    def layers(self, weights: Floats) -> Layers:
        """Return the network that has these weights."""
        return Layers(weights, self.sizes, self.settings["activation"])

    def drawn(self, seed: int) -> Floats:
        """Return the weights that ``seed`` draws: those of a network that cannot move, after one made-up row."""
        still = network_of(self.task, {**self.settings, "batch_size": 1, "learning_rate_init": NO_STEP})
        still.set_params(random_state=seed)
        X, y = np.zeros((1, self.sizes[0])), np.zeros(1, dtype=self.kept.y.dtype)
        return _weights(still.partial_fit(X, y, **self.classes))

    def trained(self, weights: Floats | None, seed: int) -> Floats:
        """Return the weights after the local epochs, times what the rows weigh: their number, if they are alike.

        Without weights, those that ``seed`` draws are the first.
        """
        if not len(self.kept):
            return np.zeros(length_of(self.sizes))
        self.network.set_params(random_state=check_random_state(seed))  # the epochs share it: each shuffles anew
        if weights is not None:
            matrices = [matrix.copy() for matrix in self.layers(weights).matrices]  # Adam writes into them
            self.network.coefs_, self.network.intercepts_ = matrices[:2], matrices[2:]
        for _ in range(self.settings["local_epochs"]):
            self.network.partial_fit(self.kept.X, self.kept.y, sample_weight=self.kept.weights, **self.classes)
        return self.kept.weight * _weights(self.network)

    def fitness(self, weights: Floats) -> Floats:
        """Return (the validation rows with the right class, or minus their summed squared error; what they weigh).

        The target has variance 1, so what the mean squared error leaves of 1 is R2: its differences are the same.
        """
        y, outputs = self.held.y, self.layers(weights)(self.held.X)
        fit = places_of(outputs) == y if y.dtype.kind == "i" else -((outputs[:, 0] - y) ** 2)
        total = np.sum(fit if self.held.weights is None else fit * self.held.weights)
        return np.array([total, self.held.weight], dtype=np.float64)


@dataclass(frozen=True)
class Learners:
    """The learners of this process, and what all parties' have."""

    own: Sequence[Learner]
    weight: float  # of the rows to train on, of all parties

    def averaged(self, weights: Floats, start: Floats | None, seeds: Sequence[int], collective: Collective) -> Floats:
        """Return the mean of all parties' weights, by what their rows weigh, after one more round from ``weights``."""
        shares = [learner.trained(start, seed) for learner, seed in zip(self.own, seeds, strict=True)]
        rates = [float(learner.settings["learning_rate_init"]) for learner in self.own]
        most = GROWTH * max(float(np.abs(weights).max()), *rates)  # where it is more, all hear of it
        own = sum(learner.kept.weight for learner in self.own)
        return fixed_point_sum(np.stack(shares), own * most, self.weight * most, collective) / self.weight

    def score(self, weights: Floats, collective: Collective) -> float | None:
        """Return the share of right answers, or minus the mean squared error, on all parties' validation rows."""
        fitness, count = pooled_sums(np.stack([learner.fitness(weights) for learner in self.own]), collective)
        return float(fitness / count) if count else None


def learners_of(
    settings: Mapping[str, Any], parts: Mapping[int, tuple[Part, Part]], schema: Schema, collective: Collective
) -> Learners:
    """Return a learner for the rows to train on and to validate on at each place among all parties.

    A pooled batch is shared out by rows, so that a local epoch has as many steps as an epoch on pooled rows: the
    learning rate, max_iter and the patience keep their meaning, however many the parties are.
    """
    rows = {place: len(kept) for place, (kept, _) in parts.items()}
    total = int(collective.add_integers(np.array([sum(rows.values())]))[0])
    if not total:
        raise DataError("a training needs at least one row, got none from any party")
    weight = float(total)
    if all(kept.weights is not None for kept, _ in parts.values()):
        weight = float(added(np.array([sum(kept.weight for kept, _ in parts.values())]), collective)[0])

    def shared(count: int) -> dict[str, Any]:
        batch = np.clip(np.round(settings["batch_size"] * count / total), 1, max(count, 1))
        return {**settings, "batch_size": int(batch)}

    return Learners([Learner(place, shared(rows[place]), *both, schema) for place, both in parts.items()], weight)


def average(
    learners: Learners, settings: Mapping[str, Any], collective: Collective, seed: int, rounds: Sequence[int]
) -> list[Standing]:
    """Return where the training stands after each number of ``rounds``, or where it ended before that.

    It ends when the parties' validation rows have seen no gain for a while.
    """
    first, rate = derived_seed(seed, "mlp", "first"), settings["server_learning_rate"]
    standing, reached = Standing(np.zeros(0)), {}
    weights = learners.own[0].drawn(first)
    for number in range(max(rounds)):
        # Every party draws the same first weights, then shuffles its rows in its own way.
        seeds = [derived_seed(seed, "mlp", learner.place, number) if number else first for learner in learners.own]
        mean = learners.averaged(weights, weights if number else None, seeds, collective)
        weights = mean if rate == 1 else weights + rate * (mean - weights)  # the sum would not be the mean to the bit
        standing = standing.after(number + 1, weights, learners.score(weights, collective), settings["tol"])
        if number + 1 in rounds:
            reached[number + 1] = standing
        if standing.stale > settings["n_iter_no_change"]:
            break
    return [reached.get(count, standing) for count in rounds]


def network_of(task: Task, settings: Mapping[str, Any]) -> Any:
    """Return scikit-learn's network, which knows nothing of an aggregator."""
    kind = MLPRegressor if task == "regression" else MLPClassifier
    return kind(**{name: value for name, value in settings.items() if name not in AGGREGATOR})


def _weights(network: Any) -> Floats:
    return np.concatenate([matrix.ravel() for matrix in (*network.coefs_, *network.intercepts_)])
