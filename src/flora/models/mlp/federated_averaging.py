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
from scipy.special import logsumexp

from flora.core.collective import Collective, iteration_done
from flora.errors import DataError
from flora.models.mlp.perceptron import Floats, Layers, length_of, outputs_of, places_of
from flora.models.mlp.steps import Steps, drawn
from flora.models.sums import added, fixed_point_sum, pooled_sums
from flora.problem.schema import Schema
from flora.randomness import derived_seed

AGGREGATOR: dict[str, Any] = {  # plain averaging after each epoch
    "local_epochs": 1,
    "server_learning_rate": 1.0,
}
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
class RoundScore:
    """What all parties' validation rows say about some weights; more is better."""

    fit: float = -math.inf  # the share of right answers, or minus the mean squared error
    likelihood: float = -math.inf  # the mean log-likelihood of the right answers, or the same as ``fit``


@dataclass(frozen=True)
class Standing:
    """Where a training stands: its best weights by the parties' validation rows; without such rows, the last ones."""

    weights: Floats
    round: int = 0  # the one that made these weights, from 1
    score: RoundScore = RoundScore()
    likelihood: float = -math.inf  # the highest so far, of any round
    stale: int = 0  # rounds since the last gain

    def after(self, number: int, weights: Floats, score: RoundScore | None, tol: float) -> "Standing":
        """Return where the training stands after one more round; its score is None where nobody could tell it.

        Either is a gain, of right answers or of their likelihood: where classes are of unlike size, a network has to
        learn for long before any more answers are right.
        """
        if score is None:
            return Standing(weights, number)
        gained = score.fit >= self.score.fit + tol or score.likelihood >= self.likelihood + tol
        stale, likelihood = 0 if gained else self.stale + 1, max(self.likelihood, score.likelihood)
        if (score.fit, score.likelihood) > (self.score.fit, self.score.likelihood):
            return Standing(weights, number, score, likelihood, stale)
        return replace(self, likelihood=likelihood, stale=stale)


class Learner:
    """One party's network: weights come and go, Adam's memory stays.

    Args:
        place: Among all parties.
        settings: All HPs; the batch is this party's.
        kept: The rows to train on.
        held: The rows to validate on.
        schema: Of the rows.
        share: Of a pooled batch, what this party's rows are in one of its own.
    """

    def __init__(
        self, place: int, settings: Mapping[str, Any], kept: Part, held: Part, schema: Schema, share: float
    ) -> None:
        self.place, self.settings, self.kept, self.held = place, settings, kept, held
        self.sizes = (kept.X.shape[1], int(settings["hidden_layer_sizes"]), outputs_of(schema))
        several = self.sizes[2] > 1
        self.wanted = (kept.y[:, None] == np.arange(self.sizes[2]) if several else kept.y[:, None]).astype(np.float64)
        output = "identity" if schema.task == "regression" else "softmax" if several else "logistic"
        self.steps = Steps(settings, self.sizes, output, np.zeros(length_of(self.sizes)), share)

    def layers(self, weights: Floats) -> Layers:
        """Return the network that has these weights."""
        return Layers(weights, self.sizes, self.settings["activation"])

    def drawn(self, seed: int) -> Floats:
        """Return the weights that ``seed`` draws."""
        return drawn(self.sizes, self.settings["activation"], np.random.RandomState(seed))

    def trained(self, weights: Floats, seed: int) -> Floats:
        """Return the weights after the local epochs, times what the rows weigh: their number, if they are alike."""
        if not len(self.kept):
            return np.zeros(length_of(self.sizes))
        self.steps.weights[...] = weights
        rng = np.random.RandomState(seed)
        for _ in range(self.settings["local_epochs"]):
            order = np.arange(len(self.kept))
            rng.shuffle(order)
            for first in range(0, len(order), self.settings["batch_size"]):
                self._learn(order[first : first + self.settings["batch_size"]])
        return self.kept.weight * self.steps.weights

    def score(self, weights: Floats) -> Floats:
        """Return what :class:`RoundScore` is made of, summed over the validation rows, and then what they weigh: (3,).

        The target has variance 1, so what the mean squared error leaves of 1 is R2: its differences are the same.
        """
        y, outputs = self.held.y, self.layers(weights)(self.held.X)
        if y.dtype.kind == "i":
            known = np.hstack([np.zeros_like(outputs), outputs]) if self.sizes[2] == 1 else outputs
            likelihood = known[np.arange(len(y)), y] - logsumexp(known, axis=1)
            fit = (places_of(outputs) == y).astype(np.float64)
        else:
            likelihood = fit = -((outputs[:, 0] - y) ** 2)
        each = np.stack([fit, likelihood, np.ones(len(y))], axis=1)
        return np.asarray((each if self.held.weights is None else each * self.held.weights[:, None]).sum(axis=0))

    def _learn(self, batch: NDArray[np.intp]) -> None:
        """Take a step on a batch. Its rows' weights are of an expected sum: a small batch may lack the heavy ones."""
        X, weights = self.kept.X[batch], self.kept.weights
        hidden, outputs = self.steps.forward(X)
        error = outputs - self.wanted[batch]
        if weights is not None:
            error *= weights[batch, None]
        self.steps.back(X, hidden, error, len(batch) * self.kept.weight / len(self.kept))


@dataclass(frozen=True)
class Learners:
    """The learners of this process, and what all parties' have."""

    own: Sequence[Learner]
    weight: float  # of the rows to train on, of all parties

    def averaged(self, weights: Floats, seeds: Sequence[int], collective: Collective) -> Floats:
        """Return the mean of all parties' weights, by what their rows weigh, after one more round from ``weights``."""
        shares = [learner.trained(weights, seed) for learner, seed in zip(self.own, seeds, strict=True)]
        rates = [float(learner.settings["learning_rate_init"]) for learner in self.own]
        most = GROWTH * max(float(np.abs(weights).max()), *rates)  # where it is more, all hear of it
        own = sum(learner.kept.weight for learner in self.own)
        return fixed_point_sum(np.stack(shares), own * most, self.weight * most, collective) / self.weight

    def score(self, weights: Floats, collective: Collective) -> RoundScore | None:
        """Return what all parties' validation rows say; None where there are none."""
        fit, likelihood, count = pooled_sums(np.stack([learner.score(weights) for learner in self.own]), collective)
        return RoundScore(float(fit / count), float(likelihood / count)) if count else None


def learners_of(
    settings: Mapping[str, Any], parts: Mapping[int, tuple[Part, Part]], schema: Schema, collective: Collective
) -> Learners:
    """Return a learner for the rows to train on and to validate on at each place among all parties.

    A pooled batch is shared out by rows, so that a local epoch has as many steps as an epoch on pooled rows, and each
    step is of that batch's length: the learning rate, alpha, max_iter and the patience keep their meaning, however
    many the parties are.
    """
    rows = {place: len(kept) for place, (kept, _) in parts.items()}
    total = int(collective.add_integers(np.array([sum(rows.values())]))[0])
    if not total:
        raise DataError("a training needs at least one row, got none from any party")
    weight = float(total)
    if all(kept.weights is not None for kept, _ in parts.values()):
        weight = float(added(np.array([sum(kept.weight for kept, _ in parts.values())]), collective)[0])
    pooled = min(settings["batch_size"], total)

    def learner(place: int, kept: Part, held: Part) -> Learner:
        batch = int(np.clip(np.round(pooled * rows[place] / total), 1, max(rows[place], 1)))
        return Learner(place, {**settings, "batch_size": batch}, kept, held, schema, batch / pooled)

    return Learners([learner(place, *both) for place, both in parts.items()], weight)


def average(
    learners: Learners, settings: Mapping[str, Any], collective: Collective, seed: int, rounds: Sequence[int]
) -> list[Standing]:
    """Return where the training stands after each number of ``rounds``, or where it ended before that.

    It ends when the parties' validation rows have seen no gain for a while.
    """
    rate, standing, reached = settings["server_learning_rate"], Standing(np.zeros(0)), {}
    weights = learners.own[0].drawn(derived_seed(seed, "mlp", "first"))  # every party draws the same
    for number in range(1, max(rounds) + 1):
        seeds = [derived_seed(seed, "mlp", learner.place, number) for learner in learners.own]
        mean = learners.averaged(weights, seeds, collective)
        weights = mean if rate == 1 else weights + rate * (mean - weights)  # the sum would not be the mean to the bit
        standing = standing.after(number, weights, learners.score(weights, collective), settings["tol"])
        iteration_done(collective, max(rounds))
        if number in rounds:
            reached[number] = standing
        if standing.stale > settings["n_iter_no_change"]:
            break
    return [reached.get(count, standing) for count in rounds]
