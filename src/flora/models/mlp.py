"""Multi-layer perceptrons with one hidden layer.

A party searches with scikit-learn's own training. The parties train together by federated averaging: each round is
one local epoch, then the weights are averaged by rows, until the parties' validation rows see no gain.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from flora.collective import Alone, Collective
from flora.errors import InputError
from flora.models import Scores, Trained
from flora.models.arrays import document_of, document_to_bytes, floats_of, floats_to_bytes
from flora.models.encoding import Encoding, fit_encoding
from flora.randomness import derived_seed, stream
from flora.schema import Schema, Task
from flora.space import Config, Integer, Real, SearchSpace
from flora.table import Rows

Floats = NDArray[np.float64]
SETTINGS: dict[str, Any] = {  # the paper's three, then what it fixes; scikit-learn's defaults where it is silent
    "hidden_layer_sizes": 100,
    "alpha": 1e-4,
    "learning_rate_init": 1e-3,
    "activation": "relu",
    "batch_size": 200,
    "beta_1": 0.9,
    "beta_2": 0.999,
    "epsilon": 1e-8,
    "max_iter": 200,
    "n_iter_no_change": 10,
    "tol": 1e-4,
    "validation_fraction": 0.1,
}
FEWEST_HELD = 2  # validation rows of a party; scikit-learn wants as many, and the sum over one row is that row's
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
    sizes: tuple[int, int, int]  # inputs, hidden units, outputs
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

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return places in the list of classes, or real numbers."""
        outputs = self.layers(self.encoding(X))
        return outputs[:, 0] * self.scale + self.center if self.task == "regression" else _places(outputs)

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


@dataclass(frozen=True)
class Perceptron:
    """The family ``mlp``."""

    name = "mlp"
    tasks: frozenset[Task] = frozenset({"classification", "regression"})
    note = (
        "Federated averaging: in each round every party trains one epoch, the weights are averaged by rows, and the "
        "parties' own validation rows say when to stop."
    )
    passes_through: frozenset[str] = frozenset()

    def space(self, task: Task) -> SearchSpace:  # noqa: ARG002  (the same for both)
        """Return the paper's space and single-shot baseline."""
        ranges = (
            Integer("hidden_layer_sizes", 50, 200),
            Real("alpha", 1e-5, 10, "log"),
            Real("learning_rate_init", 1e-5, 1e-1, "log"),
        )
        return SearchSpace(ranges, {parameter.name: SETTINGS[parameter.name] for parameter in ranges})

    def defaults(self, names: Sequence[str], task: Task) -> Config:  # noqa: ARG002  (the same for both)
        """Return the defaults of the named HPs."""
        settings = _settings({name: SETTINGS.get(name, "") for name in names})
        return {name: settings[name] for name in names}

    def score(
        self,
        config: Config,
        train: Rows,
        test: Rows,
        scoring: str,
        seed: int,
        path: Sequence[Config] = (),  # noqa: ARG002
    ) -> Scores:
        """Return the score of scikit-learn's own network."""
        encoding = fit_encoding(train, Alone())
        network = _pooled_network(_settings(config), train, derived_seed(seed, "mlp"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is a choice, and the score tells its worth
            network.fit(encoding(train.X), train.y)
        return [(config, float(get_scorer(scoring)(network, encoding(test.X), test.y)))]

    def rehearse(self, config: Config, rows: Rows, seed: int) -> None:
        """Do nothing: only sums leave a party."""

    def train(
        self,
        config: Config,
        rows: Rows,
        collective: Collective,
        seed: int,
        held: Rows | None = None,
    ) -> Trained[PerceptronModel]:
        """Train one network with all parties."""
        settings, schema = _settings(config), rows.schema
        encoding = fit_encoding(rows, collective)
        center, scale = _target_scale(rows, collective)
        kept, held = (
            (rows, held) if held is not None else _held_out(rows, settings["validation_fraction"], collective, seed)
        )
        batch = _share(settings["batch_size"], len(kept), collective)

        def scaled(part: Rows) -> tuple[Floats, NDArray[Any]]:
            return encoding(part.X), (part.y - center) / scale if schema.task == "regression" else part.y

        learner = _Learner({**settings, "batch_size": batch}, *scaled(kept), schema)
        weights = _average(learner, scaled(held), collective, seed)
        return Trained(PerceptronModel(encoding, learner.layers(weights), schema.task, center, scale), config)

    def load(self, files: Mapping[str, bytes], schema: Schema) -> PerceptronModel:
        """Return the model that :meth:`PerceptronModel.files` wrote."""
        document = document_of(files, "model.json")
        encoding = Encoding.from_json(document.get("encoding", {}))
        hidden, activation, center, scale = (document.get(k) for k in ("hidden", "activation", "center", "scale"))
        if (
            not isinstance(hidden, int)
            or hidden < 1
            or not isinstance(activation, str)
            or activation not in ACTIVATIONS
        ):
            raise InputError(f"model.json: no network has {hidden!r:.40} hidden units with {activation!r:.40}")
        if not isinstance(center, float) or not isinstance(scale, float) or not math.isfinite(center + scale):
            raise InputError(f"model.json: center and scale must be finite, got {center!r:.40} and {scale!r:.40}")
        sizes = (encoding.width, hidden, _outputs(schema))
        weights = floats_of(files, "weights.npy", (_length(sizes),))
        return PerceptronModel(encoding, Layers(weights, sizes, activation), schema.task, center, scale)


class _Learner:
    """One party's network: weights come and go, Adam's state stays."""

    def __init__(self, settings: Mapping[str, Any], X: Floats, y: NDArray[Any], schema: Schema) -> None:
        self.settings, self.X, self.y = settings, X, y
        self.sizes = (X.shape[1], int(settings["hidden_layer_sizes"]), _outputs(schema))
        self.classes = {"classes": np.arange(len(schema.classes))} if schema.classes else {}
        self.network = _network(schema.task, settings)

    def layers(self, weights: Floats) -> Layers:
        """Return the network that has these weights."""
        return Layers(weights, self.sizes, self.settings["activation"])

    def epoch(self, weights: Floats | None, seed: int) -> Floats:
        """Return the weights after one pass over the rows; without any, those that ``seed`` draws are the first."""
        if not len(self.y):
            return np.zeros(_length(self.sizes))
        self.network.set_params(random_state=seed)
        if weights is not None:
            matrices = [matrix.copy() for matrix in self.layers(weights).matrices]  # Adam writes into them
            self.network.coefs_, self.network.intercepts_ = matrices[:2], matrices[2:]
        self.network.partial_fit(self.X, self.y, **self.classes)
        return np.concatenate([matrix.ravel() for matrix in (*self.network.coefs_, *self.network.intercepts_)])


def _average(learner: _Learner, held: tuple[Floats, NDArray[Any]], collective: Collective, seed: int) -> Floats:
    """Return the best weights by the parties' validation rows; without such rows, the last ones."""
    settings, rows = learner.settings, len(learner.y)
    best, best_score, stale, weights = np.zeros(0), -math.inf, 0, None
    for number in range(settings["max_iter"]):
        # Every party draws the same first weights, then shuffles its rows in its own way.
        own = derived_seed(seed, "mlp", collective.rank, number) if number else derived_seed(seed, "mlp", "first")
        totals = collective.allreduce(np.append(rows * learner.epoch(weights, own), rows))
        weights = totals[:-1] / totals[-1]
        fitness, count = collective.allreduce(_fitness(learner.layers(weights), *held))
        if count == 0:
            best = weights
            continue
        score = float(fitness / count)
        stale = 0 if score >= best_score + settings["tol"] else stale + 1
        if score > best_score:
            best, best_score = weights, score
        if stale > settings["n_iter_no_change"]:
            break
    return best


def _fitness(layers: Layers, X: Floats, y: NDArray[Any]) -> Floats:
    """Return (the number of rows with the right class, or minus the summed squared error; the number of rows).

    The target has variance 1, so what the mean squared error leaves of 1 is R2: its differences are the same.
    """
    outputs = layers(X)
    hits = np.sum(_places(outputs) == y) if y.dtype.kind == "i" else -np.sum((outputs[:, 0] - y) ** 2)
    return np.array([hits, len(y)], dtype=np.float64)


def _places(outputs: Floats) -> NDArray[np.int64]:
    best = outputs[:, 0] > 0 if outputs.shape[1] == 1 else np.argmax(outputs, axis=1)
    return best.astype(np.int64)


def _held_out(rows: Rows, fraction: float, collective: Collective, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to validate on: none, where they would be too few."""
    held = round(len(rows) * fraction)
    order = stream(seed, "mlp", "validation", collective.rank).permutation(len(rows))
    first = held if held >= FEWEST_HELD else 0
    return rows.take(order[first:]), rows.take(order[:first])


def _share(batch: int, rows: int, collective: Collective) -> int:
    """Return this party's part of a pooled batch, by rows: a round has as many steps as an epoch on pooled rows.

    So the learning rate, max_iter and the patience keep their meaning, however many the parties are.
    """
    (total,) = collective.allreduce(np.array([rows], dtype=np.float64))
    return int(np.clip(np.round(batch * rows / total), 1, max(rows, 1)))


def _target_scale(rows: Rows, collective: Collective) -> tuple[float, float]:
    """Return the mean and the standard deviation of all parties' targets; (0, 1) for classes."""
    if rows.schema.task == "classification":
        return 0.0, 1.0
    total, count = collective.allreduce(np.array([np.sum(rows.y), len(rows)], dtype=np.float64))
    mean = float(total / count)
    (square,) = collective.allreduce(np.array([np.sum((rows.y - mean) ** 2)]))
    return mean, math.sqrt(square / count) or 1.0


def _pooled_network(settings: Mapping[str, Any], train: Rows, seed: int) -> Any:
    """Return scikit-learn's network for one party's rows."""
    held = math.ceil(settings["validation_fraction"] * len(train))
    _, counts = np.unique(train.y, return_counts=True)
    # With two classes scikit-learn stratifies its validation rows, for which each class needs two rows; and it
    # refuses fewer than two validation rows. Such a party trains to the end of max_iter or of progress.
    early = held >= FEWEST_HELD and not (train.schema.classes and len(counts) == 2 and counts.min() < 2)
    batch = min(settings["batch_size"], len(train) - held if early else len(train))
    changed = {"batch_size": batch, "early_stopping": early, "random_state": seed}
    network = _network(train.schema.task, {**settings, **changed})
    if train.schema.task == "regression":
        return TransformedTargetRegressor(network, transformer=StandardScaler())
    return network


def _network(task: Task, settings: Mapping[str, Any]) -> Any:
    return MLPRegressor(**settings) if task == "regression" else MLPClassifier(**settings)


def _outputs(schema: Schema) -> int:
    return len(schema.classes) if len(schema.classes) > 2 else 1  # one for two classes and for a number


def _length(sizes: tuple[int, int, int]) -> int:
    return sum(sizes[1:]) + sizes[1] * (sizes[0] + sizes[2])


def _settings(config: Config) -> dict[str, Any]:
    unknown = sorted(set(config) - set(SETTINGS))
    if unknown:
        raise InputError(f"mlp: in federated training only {', '.join(SETTINGS)} can be tuned, got {unknown[0]!r}")
    return {**SETTINGS, **config}
