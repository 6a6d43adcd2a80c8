"""A network with one hidden layer, as a model: its weights, its inputs' encoding, its files."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from flora.errors import InputError
from flora.models.arrays import document_of, document_to_bytes, floats_of, floats_to_bytes
from flora.models.encoding import Encoding
from flora.problem.schema import Schema, Task

Floats = NDArray[np.float64]
Sizes = tuple[int, int, int]  # inputs, hidden units, outputs
MOST_HIDDEN = 10**6  # units of a stored network
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda x: x,
    "logistic": expit,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
}


@dataclass(frozen=True)
class Layers:
    """The weights of a network, which live in one vector so that they can be averaged."""

    weights: Floats
    sizes: Sizes
    activation: str

    @property
    def matrices(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Both layers' coefficients, then both layers' intercepts: (d, h), (h, o), (h,), (o,)."""
        d, h, o = self.sizes
        ends = np.cumsum([d * h, h * o, h])
        first, second, hidden, output = np.split(self.weights, ends)
        return first.reshape(d, h), second.reshape(h, o), hidden, output

    def __call__(self, dense: Floats) -> Floats:
        """Return the outputs before the last activation: (n, d) -> (n, o)."""
        first, second, hidden, output = self.matrices
        return ACTIVATIONS[self.activation](dense @ first + hidden) @ second + output


@dataclass(frozen=True)
class PerceptronModel:
    """A network, the encoding of its inputs and, for regression, the scale of its target."""

    encoding: Encoding
    layers: Layers
    task: Task
    center: float = 0.0
    scale: float = 1.0

    @classmethod
    def from_files(cls, files: Mapping[str, bytes], schema: Schema) -> Self:
        """Return the model that :meth:`files` wrote."""
        document = document_of(files, "model.json")
        encoding = Encoding.from_json(document.get("encoding"), schema)
        hidden, activation, center, scale = (document.get(k) for k in ("hidden", "activation", "center", "scale"))
        if (
            type(hidden) is not int
            or not 1 <= hidden <= MOST_HIDDEN
            or not isinstance(activation, str)
            or activation not in ACTIVATIONS
        ):
            raise InputError(f"model.json: no network has {hidden!r:.40} hidden units with {activation!r:.40}")
        if not isinstance(center, float) or not isinstance(scale, float) or not math.isfinite(center + scale):
            raise InputError(f"model.json: center and scale must be finite, got {center!r:.40} and {scale!r:.40}")
        sizes = (encoding.width, hidden, outputs_of(schema))
        weights = floats_of(files, "weights.npy", (length_of(sizes),))
        return cls(encoding, Layers(weights, sizes, activation), schema.task, center, scale)

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return places in the list of classes, or real numbers."""
        outputs = self.layers(self.encoding(X))
        return outputs[:, 0] * self.scale + self.center if self.task == "regression" else places_of(outputs)

    def predict_proba(self, X: Floats) -> Floats | None:
        """Return each class's probability."""
        if self.task == "regression":
            return None
        outputs = self.layers(self.encoding(X))
        if outputs.shape[1] == 1:
            return expit(outputs * [[-1, 1]])  # type: ignore[no-any-return]
        return softmax(outputs, axis=1)  # type: ignore[no-any-return]

    def files(self) -> Mapping[str, bytes]:
        """Return the model as named files without pickle."""
        document = {
            "activation": self.layers.activation,
            "center": self.center,
            "encoding": self.encoding.to_json(),
            "hidden": self.layers.sizes[1],
            "scale": self.scale,
        }
        return {"model.json": document_to_bytes(document), "weights.npy": floats_to_bytes(self.layers.weights)}


def places_of(outputs: Floats) -> NDArray[np.int64]:
    """Return the places of the likeliest classes: (n, o) -> (n,)."""
    best = outputs[:, 0] > 0 if outputs.shape[1] == 1 else np.argmax(outputs, axis=1)
    return best.astype(np.int64)


def outputs_of(schema: Schema) -> int:
    """Return the number of outputs: one for two classes and for a number."""
    return len(schema.classes) if len(schema.classes) > 2 else 1


def length_of(sizes: Sizes) -> int:
    """Return the number of weights."""
    return sum(sizes[1:]) + sizes[1] * (sizes[0] + sizes[2])
