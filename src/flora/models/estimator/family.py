"""Any scikit-learn estimator, by its name. No averaging exists in general, so the parties' own models vote."""

import importlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from flora.core.collective import Alone, Collective
from flora.core.rules import one_line, shown
from flora.errors import DataError, InputError, SpaceError
from flora.models.arrays import document_of, document_to_bytes
from flora.models.encoded_fold import EncodedFold
from flora.models.encoding import Encoding, fit_encoding
from flora.models.estimator.row_guard import without_rows
from flora.models.estimator.stored import read_stored, store
from flora.models.family import Held, Scores, Trained
from flora.models.rows import Rows
from flora.models.scored import OF_LABELS, scorer_score
from flora.problem.schema import Schema, Task
from flora.problem.space import Config, SearchSpace
from flora.randomness import derived_seed

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AnyEstimator:
    """A scikit-learn classifier or regressor; ``AnyEstimator.named("package.module:Estimator")`` finds it."""

    name: str
    kind: type[Any]
    passes_through: frozenset[str] = frozenset()
    grows: frozenset[str] = frozenset()

    @classmethod
    def named(cls, name: str) -> Self:
        """Import the estimator's class. The name is the user's own: importing runs the module."""
        module, _, attribute = name.partition(":")
        if not module or not attribute.isidentifier():
            raise InputError(f"an estimator is named package.module:Estimator, got {name!r}")
        try:
            kind = getattr(importlib.import_module(module), attribute, None)
        except Exception as error:  # a module may fail in any way
            raise InputError(f"{name}: the module {module!r} cannot be imported ({error})") from error
        if kind is None:
            raise InputError(f"{name}: the module {module!r} has no {attribute!r}")
        if not isinstance(kind, type) or not all(hasattr(kind, m) for m in ("fit", "predict", "get_params")):
            raise InputError(f"{name}: an estimator is a class with fit, predict and get_params, got {kind!r:.80}")
        family = cls(name, kind)
        try:
            tasks = family.tasks
        except (TypeError, AttributeError) as error:
            raise InputError(f"{name}: must be constructible without arguments ({error!s:.120})") from error
        if not tasks:
            raise InputError(f"{name}: must be a classifier or a regressor, got neither")
        return family

    @property
    def tasks(self) -> frozenset[Task]:
        """The tasks that it can do."""
        from sklearn.base import is_classifier, is_regressor

        answers: dict[Task, bool] = {
            "classification": is_classifier(self.kind()),
            "regression": is_regressor(self.kind()),
        }
        return frozenset(task for task, able in answers.items() if able)

    @property
    def note(self) -> str:
        """How the parties train it together, in a sentence for the user."""
        return (
            f"Each party trains a {self.kind.__name__} on its own rows, and the federated model is the soft vote "
            "(for numbers, the mean) of these models, weighted by rows; it is not one model trained on all rows."
        )

    def spaces(self, task: Task) -> Mapping[str, SearchSpace]:  # noqa: ARG002  (no estimator brings a space)
        """Return none: a class does not say what of it may be tuned."""
        return {}

    def defaults(self, names: Sequence[str], task: Task) -> Config:  # noqa: ARG002
        """Return the constructor's values of the named HPs; one that is no value of a space, as None, is left out."""
        found = self._parameters(names)
        return {name: value for name, value in found.items() if isinstance(value, int | float | str)}

    def score(
        self,
        config: Config,
        train: Rows,
        test: Rows,
        scoring: str,
        seed: int,
        path: Sequence[Config] = (),  # noqa: ARG002
    ) -> Scores:
        """Fit on ``train``, score on ``test``. Warnings about this config's fit are not the user's fault."""
        from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

        fold = EncodedFold.recalled(train, test)
        dense, unseen = fold.train.copy(), fold.test.copy()  # an estimator may write into what it is given
        with warnings.catch_warnings():
            for category in (ConvergenceWarning, UndefinedMetricWarning):
                warnings.simplefilter("ignore", category)
            model = self._fitted(config, derived_seed(seed, "fit"), dense, train.y, train.weights)
            if scoring in OF_LABELS and train.schema.classes:
                return [(config, OF_LABELS[scoring](test.y, model.predict(unseen), test.weights))]
            return [(config, scorer_score(model, unseen, test, scoring))]

    def rehearse(self, config: Config, rows: Rows, seed: int) -> None:
        """Raise if the model keeps rows, or is none that can be stored."""
        self._own_model(config, rows, fit_encoding(rows, Alone()), derived_seed(seed, "fit"))

    def train(
        self,
        config: Config,
        rows: Rows,
        collective: Collective,
        seed: int,
        held: Held | None = None,  # noqa: ARG002
    ) -> "Trained[SoftVote]":
        """Train this party's own model and exchange it, and what its rows weigh, with the other parties.

        A party with one class only has no vote: it would always be the same.
        """
        encoding = fit_encoding(rows, collective)
        votes = not rows.schema.classes or len(np.unique(rows.y)) > 1
        data = self._own_model(config, rows, encoding, derived_seed(seed, "fit", collective.rank)) if votes else b""
        counts = collective.allgather(f"{rows.weight:.17g}".encode())
        given = [
            (_count_of(count), model) for count, model in zip(counts, collective.allgather(data), strict=True) if model
        ]
        if not given:
            raise DataError(f"{self.name}: each party has one class only, and none has a model to vote with")
        parties = {_file_name(k): model for k, (_, model) in enumerate(given)}
        documents = {"weights.json": {"rows": [count for count, _ in given]}, "encoding.json": encoding.to_json()}
        files = {**parties, **{name: document_to_bytes(document) for name, document in documents.items()}}
        return Trained(self.load(files, rows.schema), config)

    def load(self, files: Mapping[str, bytes], schema: Schema) -> "SoftVote":
        """Return the model that :meth:`SoftVote.files` wrote. What it holds must be what its name says."""
        encoding = Encoding.from_json(document_of(files, "encoding.json"), schema)
        counts = document_of(files, "weights.json").get("rows")
        if not isinstance(counts, list) or not counts or not all(map(_is_count, counts)):
            raise InputError(f"weights.json: rows must be a list of numbers above 0, got {counts!r:.80}")
        expected = {"weights.json", "encoding.json", *map(_file_name, range(len(counts)))}
        if set(files) != expected:
            odd = sorted(set(files) ^ expected)[0]
            raise InputError(
                f"a vote of {len(counts)} parties has a model of each, and {odd!r:.80} is too many or missing"
            )
        models = tuple(read_stored(_file_name(k), files[_file_name(k)], self.kind) for k in range(len(counts)))
        vote = SoftVote(models, tuple(counts), encoding, len(schema.classes), files)
        try:
            vote.predict(np.full((1, len(schema.columns)), np.nan))
        except Exception as error:  # an estimator's parts may be anything that its class never makes
            words = one_line(f"{type(error).__name__}: {error!s:.200}")
            raise InputError(f"the parties' models do not fit the schema ({words})") from error
        return vote

    def _own_model(self, config: Config, rows: Rows, encoding: Encoding, seed: int) -> bytes:
        def fit(X: Floats, y: NDArray[Any], weights: Floats | None) -> bytes:
            try:
                return store(self._fitted(config, seed, X, y, weights))
            except InputError:
                raise
            except (ValueError, TypeError) as error:  # one class only, too few rows; or what skops has no form for
                raise DataError(f"{self.name}: {len(y)} rows of this party give no model: {error}") from error

        return without_rows(self.name, fit, replace(rows, X=encoding(rows.X)), seed)

    def _fitted(self, config: Config, seed: int, X: Floats, y: NDArray[Any], weights: Floats | None) -> Any:
        from sklearn.utils.validation import has_fit_parameter

        model = self._configured(config, seed)
        if weights is None:
            return model.fit(X, y)
        if not has_fit_parameter(model, "sample_weight"):
            raise InputError(f"{self.name}: its fit takes no sample_weight, so rows cannot count by a --weight")
        return model.fit(X, y, sample_weight=weights)

    def _parameters(self, names: Sequence[str]) -> dict[str, Any]:
        known = self.kind().get_params()
        unknown = sorted(set(names) - set(known))
        if unknown:
            raise SpaceError(f"{unknown[0]}: is no parameter of {self.name}, which has {sorted(known)}")
        return {name: known[name] for name in names}

    def _configured(self, config: Config, seed: int) -> Any:
        from sklearn.base import clone

        self._parameters(list(config))
        model = clone(self.kind())  # the default of a part is one object, and all instances share it
        seeds = {name: seed for name in model.get_params() if name.split("__")[-1] == "random_state"}
        return model.set_params(**{**seeds, **config})


@dataclass(frozen=True)
class SoftVote:
    """The parties' models, each with the weight of its rows."""

    models: tuple[Any, ...]
    rows: tuple[float, ...]
    encoding: Encoding
    classes: int  # 0: a regression
    stored: Mapping[str, bytes]

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return the class with the most votes, or the weighted mean: (n, d) of ``Rows.X`` -> (n,)."""
        if not self.classes:
            return self._mean(X, lambda model, dense: np.asarray(model.predict(dense)).reshape(len(X)))
        votes = self.predict_proba(X)
        if votes is None:
            votes = self._mean(X, lambda model, dense: np.eye(self.classes)[model.predict(dense).astype(np.intp)])
        return np.asarray(np.argmax(votes, axis=1))

    def predict_proba(self, X: Floats) -> Floats | None:
        """Return the weighted mean of the models' probabilities, (n, d) -> (n, classes), where they have any."""
        if not self.classes or not all(hasattr(model, "predict_proba") for model in self.models):
            return None
        return self._mean(X, self._probabilities)

    def files(self) -> Mapping[str, bytes]:
        """Return the weights, the encoding and each party's model."""
        return self.stored

    def _probabilities(self, model: Any, dense: Floats) -> Floats:
        aligned = np.zeros((len(dense), self.classes))
        aligned[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(dense)  # a party may lack a class
        return aligned

    def _mean(self, X: Floats, answer: Callable[[Any, Floats], Floats]) -> Floats:
        dense = self.encoding(X)
        answers = np.stack([answer(model, dense) for model in self.models])
        return np.asarray(np.tensordot(np.array(self.rows) / sum(self.rows), answers, axes=1))


def _count_of(sent: bytes) -> float:
    """Return the number of rows that a party states, or what they weigh."""
    try:
        found = int(sent) if sent.isdigit() and len(sent) <= 16 else float(sent[:32])
    except ValueError:
        found = 0
    if not _is_count(found):
        raise InputError(f"a party states its number of rows as {shown(bytes(sent))}")
    return found


def _is_count(value: Any) -> bool:
    return (type(value) is int and 0 < value < 2**53) or (type(value) is float and 0 < value < math.inf)


def _file_name(rank: int) -> str:
    return f"party-{rank:03d}.skops"
