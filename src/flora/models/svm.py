"""Support vector machines with an RBF kernel.

A party searches with the exact kernel machine. The parties train together on random Fourier features of the same
kernel, where the squared-hinge problem is solved by Newton steps on summed gradients and Hessians: the solution is
that of pooled rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from flora.core.collective import Collective, Integers, iteration_done
from flora.errors import DataError, FloraError, InputError
from flora.models.arrays import document_of, document_to_bytes, floats_of, floats_to_bytes
from flora.models.class_weights import class_totals
from flora.models.encoding import Encoding, fit_encoding
from flora.models.family import Held, Scores, Trained
from flora.models.kernel_machine import answers
from flora.models.rows import Rows
from flora.models.scored import score_of
from flora.models.sums import added, fixed_point_sum, from_first
from flora.problem.family import OWN
from flora.problem.schema import Schema, Task
from flora.problem.space import Config, Real, SearchSpace
from flora.randomness import stream

Floats = NDArray[np.float64]
MOST_STEPS = 200  # Newton needs 5 to 30; more means that something is wrong
BLOCK = 10_000  # rows whose features are held at once when predicting
STEPS = 0.5 ** np.arange(30)  # of the line search, all tried in one exchange
LONGEST = math.sqrt(3)  # no row of features is longer: sum of 2 / D cos^2 <= 2, and the constant 1
ROOM = 4  # a bound of a sum is twice what it is in exact arithmetic, and a factor of 2 is in gradient and Hessian
ROUNDING = 1e-9  # a decision value is not moved by less on purpose: the line search would follow rounding errors
DEFAULT: Config = {"C": 1.0, "gamma": 0.1, "tol": 1e-3}


@dataclass(frozen=True)
class FourierFeatures:
    r"""Random features whose inner product is close to the kernel, and a constant 1 for the intercept.

    :math:`z(x) = \sqrt{2 / D} \cos(W x + b)` with :math:`W \sim N(0, 2 \gamma)` and :math:`b \sim U(0, 2 \pi)` gives
    :math:`z(x)^T z(x') \approx \exp(-\gamma |x - x'|^2)`.
    """

    directions: Floats  # W: (D, d)
    phases: Floats  # b: (D,)

    @classmethod
    def drawn(cls, shape: tuple[int, int], gamma: float, seed: int, collective: Collective) -> "FourierFeatures":
        """Return D features of an RBF kernel over d columns, the same at each party; ``shape`` is (D, d)."""
        rng = stream(seed, "svm", "features")
        directions = from_first(lambda: math.sqrt(2 * gamma) * rng.standard_normal(shape), shape, collective)
        return cls(directions, from_first(lambda: rng.uniform(0, 2 * math.pi, shape[0]), shape[:1], collective))

    def __call__(self, dense: Floats) -> Floats:
        """Return the features and the constant: (n, d) -> (n, D + 1)."""
        waves = np.cos(dense @ self.directions.T + self.phases)
        return np.hstack([math.sqrt(2 / len(self.phases)) * waves, np.ones((len(dense), 1))])


@dataclass(frozen=True)
class SupportVectorModel:
    """A linear machine over random Fourier features."""

    encoding: Encoding
    features: FourierFeatures
    weights: Floats  # (1, D + 1) for two classes, else one against the rest: (k, D + 1)
    classes: NDArray[np.int64]  # (k,): the places of the classes that some party has rows of

    def decision_function(self, X: Floats) -> Floats:
        """Return signed distances: (n, d) of ``Rows.X`` -> (n,) for two classes, else (n, k)."""
        starts = range(0, max(len(X), 1), BLOCK)
        blocks = [self.features(self.encoding(X[k : k + BLOCK])) @ self.weights.T for k in starts]
        scores = np.concatenate(blocks)
        return scores[:, 0] if len(self.weights) == 1 else scores

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return places in the list of classes."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.int64) if scores.ndim == 1 else np.argmax(scores, axis=1)
        places: NDArray[Any] = self.classes[best]
        return places

    def predict_proba(self, X: Floats) -> None:  # noqa: ARG002  (the family knows no probabilities)
        """Return None: distances are not probabilities."""
        return

    def files(self) -> Mapping[str, bytes]:
        """Return the model as named files without pickle."""
        return {
            "model.json": document_to_bytes({"classes": self.classes.tolist(), "encoding": self.encoding.to_json()}),
            "directions.npy": floats_to_bytes(self.features.directions),
            "phases.npy": floats_to_bytes(self.features.phases),
            "weights.npy": floats_to_bytes(self.weights),
        }


@dataclass(frozen=True)
class SupportVectors:
    """The family ``svm``."""

    # At SVC's best config, 1000 are within 0.4 points of their own best config (sonar, heart, oil spill).
    features: int = 1000
    name = "svm"
    tasks: frozenset[Task] = frozenset({"classification"})
    note = (
        "The parties add up gradients and Hessians of a linear machine over random Fourier features of the RBF kernel; "
        "the result is that of pooled rows."
    )
    passes_through: frozenset[str] = frozenset()
    grows: frozenset[str] = frozenset({"C"})

    def spaces(self, task: Task) -> Mapping[str, SearchSpace]:
        """Return the paper's space and single-shot baseline."""
        self._check_task(task)
        ranges = (Real("C", 0.01, 1000, "log"), Real("gamma", 1e-5, 10, "log"), Real("tol", 1e-5, 1e-1, "log"))
        return {OWN: SearchSpace(ranges, DEFAULT)}

    def defaults(self, names: Sequence[str], task: Task) -> Config:
        """Return the defaults of C, gamma and tol, as far as they are named."""
        self._check_task(task)
        _check_names(names)
        return {name: DEFAULT[name] for name in names}

    def score(
        self,
        config: Config,
        train: Rows,
        test: Rows,
        scoring: str,
        seed: int,  # noqa: ARG002
        path: Sequence[Config] = (),  # noqa: ARG002
    ) -> Scores:
        """Return the score of the exact kernel machine, which has no randomness."""
        _check_names(config)
        settings = {name: float(value) for name, value in {**DEFAULT, **config}.items()}
        said = answers(train, test, **settings)
        try:
            return [(config, score_of(said, test, scoring))]
        except AttributeError as error:
            raise InputError(f"scoring {scoring!r} needs probabilities, and svm gives none: {error}") from error

    def rehearse(self, config: Config, rows: Rows, seed: int) -> None:
        """Do nothing: only sums leave a party."""

    def train(
        self,
        config: Config,
        rows: Rows,
        collective: Collective,
        seed: int,
        held: Held | None = None,  # noqa: ARG002
    ) -> Trained[SupportVectorModel]:
        """Train one machine on all parties' rows."""
        _check_names(config)
        settings = {name: float(value) for name, value in {**DEFAULT, **config}.items()}
        counts = class_totals(rows, collective)
        classes = np.flatnonzero(counts)
        if len(classes) < 2:
            raise DataError(f"target {rows.schema.target!r}: need rows of at least 2 classes at the parties together")
        encoding = fit_encoding(rows, collective)
        features = FourierFeatures.drawn((self.features, encoding.width), settings["gamma"], seed, collective)
        Z = features(encoding(rows.X))
        costs = settings["C"] * counts.sum() / (len(classes) * np.where(counts > 0, counts, np.inf))
        problems = [_Problem(Z, *each) for each in _problems(rows, classes, costs, counts, settings["C"])]
        solutions = [_solve(problem, settings["tol"], collective) for problem in problems]
        return Trained(SupportVectorModel(encoding, features, np.stack(solutions), classes), config)

    def load(self, files: Mapping[str, bytes], schema: Schema) -> SupportVectorModel:
        """Return the model that :meth:`SupportVectorModel.files` wrote."""
        document = document_of(files, "model.json")
        encoding = Encoding.from_json(document.get("encoding"), schema)
        classes = document.get("classes")
        places = range(len(schema.classes))
        fit = isinstance(classes, list) and all(type(place) is int and place in places for place in classes)
        if not isinstance(classes, list) or not fit or len(set(classes)) < 2:
            raise InputError(
                f"model.json: classes must be at least 2 of the schema's {len(places)}, got {classes!r:.80}"
            )
        features = FourierFeatures(
            floats_of(files, "directions.npy", (self.features, encoding.width)),
            floats_of(files, "phases.npy", (self.features,)),
        )
        rows = 1 if len(classes) == 2 else len(classes)
        weights = floats_of(files, "weights.npy", (rows, self.features + 1))
        return SupportVectorModel(encoding, features, weights, np.array(classes, dtype=np.int64))

    def _check_task(self, task: Task) -> None:
        if task not in self.tasks:
            raise InputError(f"svm does classification, got the task {task!r}; use hgb or mlp")


def _check_names(names: Sequence[str] | Mapping[str, Any]) -> None:
    unknown = sorted(set(names) - set(DEFAULT))
    if unknown:
        raise InputError(f"svm: in federated training only {', '.join(DEFAULT)} can be tuned, got {unknown[0]!r}")


def _problems(
    rows: Rows, classes: NDArray[np.int64], costs: Floats, counts: Integers | Floats, C: float
) -> list[tuple[Floats, Floats, float]]:
    """Return the (signs, costs, all parties' costs) of each two-class problem, with LinearSVC's balanced weights.

    A row's cost is its weight's; ``counts`` are what all parties' rows of each class weigh.
    """
    y, own = rows.y, 1.0 if rows.weights is None else rows.weights
    if len(classes) == 2:
        return [(np.where(y == classes[1], 1.0, -1.0), own * costs[y], float(costs @ counts))]
    # One against the rest: liblinear weighs the one class, and the rest has weight 1.
    return [
        (
            np.where(y == k, 1.0, -1.0),
            own * np.where(y == k, costs[k], C),
            float(costs[k] * counts[k] + C * (counts.sum() - counts[k])),
        )
        for k in classes
    ]


@dataclass(frozen=True)
class _Problem:
    """A two-class problem: this party's rows of it, and how large sums over all parties' rows can be."""

    Z: Floats  # (n, D + 1)
    signs: Floats  # (n,)
    costs: Floats  # (n,)
    all_costs: float  # of all parties' rows

    def gradient(self, gap: Floats, all_losses: float, collective: Collective) -> Floats:
        r"""Return the sum of the rows' parts of the gradient, but for its sign; ``gap`` is 0 outside the margin.

        No feature is above 1, and :math:`\sum c g \le \sqrt{\sum c \sum c g^2}`: the losses of all rows are known.
        """
        own = ROOM * math.sqrt(float(self.costs.sum()) * float(np.sum(self.costs * gap**2)))
        total = ROOM * math.sqrt(self.all_costs * max(all_losses, 2.0**-40 * self.all_costs))
        parts = self.Z.T @ (2 * self.costs * self.signs * gap)
        return fixed_point_sum(parts[None, :], own, total, collective)

    def hessian(self, inside: NDArray[np.bool_], collective: Collective) -> Floats:
        """Return the upper triangle of the sum of the Hessians of the rows inside the margin."""
        scaled = np.sqrt(2 * self.costs[inside])[:, None] * self.Z[inside]
        parts = (scaled.T @ scaled)[_upper(self.Z.shape[1])]
        return fixed_point_sum(parts[None, :], ROOM * float(self.costs.sum()), ROOM * self.all_costs, collective)


def _solve(problem: _Problem, tol: float, collective: Collective) -> Floats:
    r"""Return the minimum of :math:`|w|^2 / 2 + \sum_i c_i \max(0, 1 - y_i w^T z_i)^2`, the sum over all rows.

    ``tol`` bounds errors of decision values, as in SVC: the last Newton direction can move none by more. All parties
    must decide alike, so what they decide by is summed by the collective, or by ``math.fsum``, which is exact.
    """
    Z, signs, costs = problem.Z, problem.signs, problem.costs
    w, loss = np.zeros(Z.shape[1]), problem.all_costs
    for _ in range(MOST_STEPS):
        gap = 1 - signs * (Z @ w)  # (n,): how far inside the margin a row is
        gradient = w - problem.gradient(np.maximum(0, gap), loss, collective)
        direction = _newton_direction(problem, gap > 0, gradient, collective)
        fall = signs * (Z @ direction)
        losses = added(np.array([_loss_change(gap, step * fall, costs) for step in STEPS]), collective)
        step = _step(losses, w, direction, _dot(gradient, direction))
        w, loss = w + step * direction, loss + float(losses[step == STEPS].sum())
        iteration_done(collective)
        if step == 0 or LONGEST * math.sqrt(_dot(direction, direction)) <= max(tol, ROUNDING):
            return w
    raise FloraError(f"svm: no solution after {MOST_STEPS} Newton steps")


def _newton_direction(problem: _Problem, inside: NDArray[np.bool_], gradient: Floats, collective: Collective) -> Floats:
    """Return minus the inverse Hessian times the gradient; the Hessian is of the rows inside the margin."""
    hessian = np.eye(len(gradient))
    hessian[_upper(len(gradient))] += problem.hessian(inside, collective)
    return from_first(lambda: -cho_solve(cho_factor(hessian), gradient), gradient.shape, collective)


def _upper(size: int) -> NDArray[np.bool_]:
    """Return where the upper triangle of a matrix is, with its diagonal."""
    return np.tri(size, dtype=bool).T


def _loss_change(gap: Floats, fall: Floats, costs: Floats) -> float:
    """Return by how much the loss changes when the gaps fall; a difference of squares, so that no digits cancel."""
    before, after = np.maximum(0, gap), np.maximum(0, gap - fall)
    return float(np.sum(costs * (after - before) * (after + before)))


def _step(losses: Floats, w: Floats, direction: Floats, slope: float) -> float:
    """Return the largest step that lowers the objective by enough, or 0 where only rounding is left."""
    linear, square = _dot(w, direction), _dot(direction, direction)
    for step, loss in zip(STEPS, losses, strict=True):
        if loss + step * linear + step * step * square / 2 < 1e-4 * step * slope:
            return float(step)
    return 0.0


def _dot(a: Floats, b: Floats) -> float:
    return math.fsum(a * b)
