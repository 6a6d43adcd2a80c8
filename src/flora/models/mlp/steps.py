"""Adam's steps of a network with one hidden layer, as scikit-learn makes them, without its checks.

A party that trains with others sees a part of each pooled batch. It steps as far as the whole batch would: its penalty
is that part of the batch's, and so is the noise that Adam divides by. Only a step that is long already is not made
longer, for it would lead a party away from the others before they meet again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.neural_network._base import ACTIVATIONS, DERIVATIVES, LOSS_FUNCTIONS

from flora.models.mlp.perceptron import Floats, Layers, Sizes, length_of

LONG = 0.02  # a learning rate that is not made up any further for a party's noise
LOSSES = {"logistic": "binary_log_loss", "softmax": "log_loss", "identity": "squared_error"}


class Steps:
    """A network under way: all weights in one vector, and Adam's memory of them.

    Args:
        settings: All HPs.
        sizes: Of the layers.
        output: The last activation.
        weights: The first ones; they are moved in place.
        share: Of a pooled batch, what this party's rows are in one of its own.
    """

    def __init__(
        self, settings: Mapping[str, Any], sizes: Sizes, output: str, weights: Floats, share: float = 1.0
    ) -> None:
        self.activation, self.output, self.alpha = settings["activation"], output, share * settings["alpha"]
        self.weights, self.gradients = weights, np.empty_like(weights)
        self.matrices = Layers(self.weights, sizes, self.activation).matrices
        self.slopes = Layers(self.gradients, sizes, self.activation).matrices
        self.adam = Adam(settings, len(weights), share)

    def forward(self, X: Floats) -> tuple[Floats, Floats]:
        """Return the hidden units and the outputs, both activated: (n, d) -> (n, h), (n, o)."""
        first, second, before, last = self.matrices
        hidden = X @ first
        hidden += before
        ACTIVATIONS[self.activation](hidden)
        outputs = hidden @ second
        outputs += last
        ACTIVATIONS[self.output](outputs)
        return hidden, outputs

    def loss(self, outputs: Floats, y: Floats, counts: Floats | None) -> float:
        """Return the loss of a batch and the penalty, as scikit-learn adds them up."""
        squares = sum(np.dot(matrix.ravel(), matrix.ravel()) for matrix in self.matrices[:2])
        loss = LOSS_FUNCTIONS[LOSSES[self.output]](y, outputs, counts)
        return float(loss + (0.5 * self.alpha) * squares / (len(y) if counts is None else counts.sum()))

    def back(self, X: Floats, hidden: Floats, error: Floats, total: float) -> None:
        """Take a step down from a batch's errors (n, o), which count as much as ``total`` rows."""
        first, second, *_ = self.matrices
        deeper = error @ second.T
        if self.activation == "relu":
            deeper *= hidden > 0
        else:
            DERIVATIVES[self.activation](hidden, deeper)
        for k, (inputs, delta, matrix) in enumerate([(X, deeper, first), (hidden, error, second)]):
            np.matmul(inputs.T, delta, out=self.slopes[k])
            self.slopes[k][...] += self.alpha * matrix
            self.slopes[k][...] /= total
            np.divide(np.sum(delta, axis=0), total, out=self.slopes[k + 2])
        self.adam.move(self.weights, self.gradients)


@dataclass
class Adam:
    r"""Adam's steps, as scikit-learn makes them, or those of a pooled batch of which a party's is a ``share``.

    Adam divides by the root mean square of a batch's gradient, which is mostly noise. A share s of the batch has
    :math:`1 / s` times its variance: so s times the mean square is taken, unless that makes a long step longer.
    """

    settings: Mapping[str, Any]
    length: int
    share: float = 1.0
    steps: int = 0
    first: Floats = field(init=False)
    second: Floats = field(init=False)
    noise: float = field(init=False)  # the part of a party's that counts

    def __post_init__(self) -> None:
        self.first, self.second = np.zeros(self.length), np.zeros(self.length)
        self.noise = max(self.share, min(1.0, self.settings["learning_rate_init"] / LONG) ** 2)

    def move(self, weights: Floats, gradients: Floats) -> None:
        """Move the weights, in place."""
        beta_1, beta_2 = self.settings["beta_1"], self.settings["beta_2"]
        self.steps += 1
        self.first *= beta_1
        self.first += (1 - beta_1) * gradients
        self.second *= beta_2
        self.second += (1 - beta_2) * gradients**2
        rate = self.settings["learning_rate_init"] * np.sqrt(1 - beta_2**self.steps) / (1 - beta_1**self.steps)
        root = np.sqrt(self.second if self.noise == 1 else self.noise * self.second)
        root += self.settings["epsilon"]
        move = -rate * self.first
        move /= root
        weights += move


def drawn(sizes: Sizes, activation: str, rng: np.random.RandomState) -> Floats:
    """Return the first weights: each layer's coefficients and intercepts are drawn together."""
    found = np.empty(length_of(sizes))
    matrices = Layers(found, sizes, activation).matrices
    for k in range(2):
        bound = np.sqrt((2.0 if activation == "logistic" else 6.0) / (sizes[k] + sizes[k + 1]))
        matrices[k][...] = rng.uniform(-bound, bound, matrices[k].shape)
        matrices[k + 2][...] = rng.uniform(-bound, bound, sizes[k + 1])
    return found
