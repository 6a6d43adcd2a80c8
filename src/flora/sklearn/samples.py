"""Rows as scikit-learn's users have them: any X that the estimator takes, with what goes along with each row."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import PredefinedSplit
from sklearn.utils import _safe_indexing

from flora.core.rules import shown
from flora.errors import DataError, InputError
from flora.models.rows import Rows, joined_weights
from flora.party.local_search.folds import Fold
from flora.problem.plan import at_least
from flora.problem.schema import Schema, Task

Indices = NDArray[np.intp]
Params = Mapping[str, Any]


@dataclass(frozen=True)
class Samples(Rows):
    """Some rows, with the parameters of ``fit`` and ``score`` that have an entry for each row."""

    X: Any
    y: NDArray[Any]
    schema: Schema
    weights: NDArray[np.float64] | None = None
    fit_params: Params = field(default_factory=dict)
    score_params: Params = field(default_factory=dict)

    def take(self, index: Indices) -> "Samples":
        """Return the samples at ``index``."""
        return Samples(
            _safe_indexing(self.X, index),
            _safe_indexing(self.y, index),
            self.schema,
            None if self.weights is None else self.weights[index],
            _taken(self.fit_params, index, len(self)),
            _taken(self.score_params, index, len(self)),
        )


@dataclass(frozen=True)
class DividedSamples(Samples):
    """The rows of a party whose user says how they are divided into folds."""

    splitter: Any = None

    def folds(self, seed: int, purpose: str) -> list[Fold]:
        """Return the splitter's folds; one with randomness gives others for each purpose, as fresh as FLoRA's own."""
        splitter = copy.deepcopy(self.splitter)
        if draws(splitter) and (splitter.random_state is None or purpose != "search"):
            splitter.random_state = seed
        found = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(self.X, self.y)]
        if len(found) < 2:
            raise DataError(f"cv must give at least 2 folds, {self.splitter!r:.80} gives {len(found)}")
        return found


@dataclass(frozen=True)
class GivenFolds:
    """Folds that the user has made of all rows, as one party sees them."""

    folds: tuple[Fold, ...]

    def of(self, members: Indices) -> Self:
        """Return the folds of the rows at ``members`` alone, by their places among these."""

        def own(index: Any) -> Indices:
            return np.flatnonzero(np.isin(members, index))

        kept = [(own(train), own(test)) for train, test in self.folds]
        return type(self)(tuple((train, test) for train, test in kept if len(train) and len(test)))

    def split(self, X: Any, y: Any = None) -> Iterable[Fold]:  # noqa: ARG002  (a splitter's signature)
        """Return the folds."""
        return self.folds


def draws(splitter: Any) -> bool:
    """Whether a splitter has randomness, so that there are other folds of the same kind."""
    return hasattr(splitter, "random_state") and bool(getattr(splitter, "shuffle", True))


def splitter_of(cv: Any) -> Any:
    """Return None for a number of folds, else a splitter: the user's own, or one that gives the user's folds."""
    if isinstance(cv, int | np.integer):
        at_least("cv", int(cv), 2)
        return None
    if isinstance(cv, PredefinedSplit):
        cv = cv.split()  # which goes by the places of all rows
    if hasattr(cv, "split") and not isinstance(cv, str):
        if _needs_groups(cv):
            raise InputError(
                f"cv: groups name the parties, so that {cv!r:.80} has none; give pairs of indices of all rows"
            )
        return cv
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        return GivenFolds(tuple((np.asarray(train), np.asarray(test)) for train, test in cv))
    raise InputError(f"cv must be a number of folds, a splitter or pairs of indices, got {cv!r:.80}")


def _needs_groups(splitter: Any) -> bool:
    routing = getattr(splitter, "get_metadata_routing", None)
    return routing is not None and bool(routing().split.requests.get("groups"))


@dataclass(frozen=True)
class InMemory:
    """Samples as a party's source of rows; columns are the estimator's business, so that nothing need be agreed on."""

    samples: Samples

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.samples)

    def described(self, task: Task | None, like: Schema | None) -> tuple[Schema, int, list[str]]:  # noqa: ARG002
        """Return the schema of the target alone."""
        return self.samples.schema, len(self.samples), []

    def local_rows(self, task: Task | None, like: Schema | None) -> Samples:  # noqa: ARG002
        """Return the samples."""
        return self.samples

    def rows(self, schema: Schema) -> Samples:  # noqa: ARG002
        """Return the samples."""
        return self.samples


def dealt(whole: Samples, names: Sequence[str], splitter: Any) -> dict[str, Samples]:
    """Return each party's samples; ``names`` has the party of each row."""
    each = np.asarray(names)
    found = {}
    for name in sorted(set(names)):
        members = np.flatnonzero(each == name)
        samples = whole.take(members)
        if splitter is not None:
            own = splitter.of(members) if isinstance(splitter, GivenFolds) else splitter
            samples = DividedSamples(**vars(samples), splitter=own)
        found[name] = samples
    return found


def together(parts: Sequence[Samples]) -> Samples:
    """Return the parties' samples one below the other."""
    sizes = [len(part) for part in parts]

    def joined(params: Sequence[Params]) -> Params:
        return {name: _joined([each[name] for each in params], sizes) for name in params[0]}

    return Samples(
        stacked([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        parts[0].schema,
        joined_weights(parts),
        joined([part.fit_params for part in parts]),
        joined([part.score_params for part in parts]),
    )


def _joined(values: Sequence[Any], sizes: Sequence[int]) -> Any:
    of_rows = all(_of_rows(value, size) for value, size in zip(values, sizes, strict=True))
    return np.concatenate([np.asarray(value) for value in values]) if of_rows else values[0]


def party_names(groups: Any) -> list[str]:
    """Return the name of each row's party."""
    import pandas as pd

    shape = getattr(groups, "shape", (len(groups),))
    if len(shape) > 1 and shape[1:] != (1,):
        raise DataError(f"groups: need one party for each row, got an array of shape {shape}")
    names = list(groups if len(shape) == 1 else np.asarray(groups, dtype=object).ravel())
    missing = [row for row, group in enumerate(names) if pd.isna(group)]
    if missing:
        raise DataError(f"groups: each row needs a party, row {missing[0]} has {names[missing[0]]!r}")
    return [str(group) for group in names]


def check_columns(tables: Mapping[str, Any]) -> None:
    """Raise unless all parties have the same columns: pandas would fill in those that one of them lacks."""
    first = next(iter(tables))
    for name, table in tables.items():
        if _columns(table) != _columns(tables[first]):
            rule = f"its columns must be those of party {first!r}, {shown(_columns(tables[first]))}"
            raise DataError(f"party {name!r}: {rule}, got {shown(_columns(table))}")


def _columns(table: Any) -> list[str] | int | None:
    """Return the columns' names in order of the alphabet, or their number."""
    names = getattr(table, "columns", None)
    if names is not None:
        return sorted(map(str, names))
    shape = table.shape if hasattr(table, "shape") else np.shape(table)
    return int(shape[1]) if len(shape) > 1 else None


def stacked(parts: Sequence[Any]) -> Any:
    """Return the parties' tables or arrays one below the other, in the kind that they are of."""
    from scipy import sparse

    if any(map(sparse.issparse, parts)):
        return sparse.vstack(parts, format="csr")
    if all(hasattr(part, "iloc") for part in parts):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    if all(type(part).__module__.startswith("polars.") for part in parts):
        import polars as pl

        return pl.concat(parts)
    return np.concatenate([np.asarray(part) for part in parts])


def _taken(params: Params, index: Indices, count: int) -> Params:
    """Return the parameters of the rows at ``index``; what has no entry for each row goes along as it is."""
    return {name: _safe_indexing(value, index) if _of_rows(value, count) else value for name, value in params.items()}


def _of_rows(value: Any, count: int) -> bool:
    if isinstance(value, str | bytes | Mapping):
        return False
    shape = getattr(value, "shape", None)
    return bool(shape[0] == count) if shape else hasattr(value, "__len__") and len(value) == count
