"""``cv_results_``: what each fit came to, in the columns that scikit-learn's users know.

The rows are all parties' trials, party after party (``step`` is ``"search"``, ``party`` its name), and after them the
configs that all parties measured on fresh folds (``"confirm"``), the default first. A split of these is a fold of all
parties: the mean of the parties' N-th folds, by rows. Their ranks come before those of the trials, which one party's
rows decide.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flora.aggregator.aggregation import Aggregation
from flora.core.workers import Map, at_once
from flora.party.local_search.folds import FoldTask
from flora.problem.space import Config
from flora.problem.trials import loss_of
from flora.sklearn.family import FoldScores
from flora.sklearn.scorers import ONE

A = TypeVar("A")
B = TypeVar("B")
Floats = NDArray[np.float64]
EVERY_PARTY = "all parties"


@dataclass(frozen=True)
class Fits:
    """All folds of one config at one party; one that failed is a sentence."""

    config: Config
    folds: tuple[FoldScores | str, ...]

    def values(self, of: Callable[[FoldScores], float]) -> Floats:
        """Return a number for each fold, nan where it failed."""
        return np.array([np.nan if isinstance(fold, str) else of(fold) for fold in self.folds])


@dataclass
class Watched:
    """A party's map over its folds, which keeps what they come to."""

    spread: Map
    kept: list[Fits] = field(default_factory=list)

    @property
    def jobs(self) -> int:
        """How many items it works on at the same time."""
        return at_once(self.spread)

    def __call__(self, function: Callable[[A], B], items: Sequence[A]) -> list[B]:
        """Apply the function to each item; a failure that the user wants raised is raised here."""
        answers = self.spread(function, items)
        folds = tuple(answer for answer in answers if isinstance(answer, FoldScores | str))
        for fold in folds:
            if isinstance(fold, FoldScores) and fold.failure is not None and fold.score != fold.score:
                raise fold.failure
        if isinstance(items[0], FoldTask):
            self._keep(items[0].config, folds)
        return answers

    def _keep(self, config: Config, folds: tuple[FoldScores | str, ...]) -> None:
        """Keep the folds of one config together: a race asks for a few at a time."""
        if self.kept and self.kept[-1].config is config:
            folds = (*self.kept.pop().folds, *folds)
        self.kept.append(Fits(config, folds))


@dataclass(frozen=True)
class Row:
    """One row of the table: a config at one party, or at all of them."""

    step: str
    party: str
    params: Mapping[str, Any]
    parts: tuple[tuple[int, Fits], ...]  # each party's rows, and its folds
    predicted: float | None = None  # its score where nothing was measured

    def times(self, of: Callable[[FoldScores], float]) -> tuple[float, float]:
        """Return the mean and the standard deviation of a time over all folds."""
        values = np.concatenate([fits.values(of) for _, fits in self.parts] or [np.array([np.nan])])
        return _mean_and_std(values[~np.isnan(values)])

    def splits(self, of: Callable[[FoldScores], float], count: int) -> Floats:
        """Return the score of each split: the parties' means by rows, where several have measured."""
        values = np.full((len(self.parts), count), np.nan)
        for k, (_, fits) in enumerate(self.parts):
            values[k, : len(fits.folds)] = fits.values(of)
        weights = np.array([rows for rows, _ in self.parts]).reshape(-1, 1) * ~np.isnan(values)
        totals = weights.sum(axis=0)
        sums = np.nansum(values * weights, axis=0)
        return np.asarray(np.divide(sums, totals, out=np.full(count, np.nan), where=totals > 0))

    def mean(self, of: Callable[[FoldScores], float]) -> float:
        """Return the mean of the parties' means, by rows; nan where a fit has failed."""
        if not self.parts:
            return np.nan if self.predicted is None else self.predicted
        means = [float(np.mean(fits.values(of))) for _, fits in self.parts]
        return float(np.average(means, weights=[rows for rows, _ in self.parts]))


def table_of(rows: Sequence[Row], scoring: str) -> dict[str, Any]:
    """Return ``cv_results_``; ``scoring`` is what the search went by."""
    count = max((len(fits.folds) for row in rows for _, fits in row.parts), default=0)
    return {
        "step": np.array([row.step for row in rows]),
        "party": np.array([row.party for row in rows]),
        **_times("fit", [row.times(lambda fold: fold.fit_seconds) for row in rows]),
        **_times("score", [row.times(lambda fold: fold.score_seconds) for row in rows]),
        **{f"param_{name}": _masked([row.params[name] for row in rows]) for name in rows[0].params},
        "params": [dict(row.params) for row in rows],
        **_scores(rows, "test", count, scoring),
        **_scores(rows, "train", count, scoring),
    }


def _scores(rows: Sequence[Row], which: str, count: int, scoring: str) -> dict[str, Any]:
    folds = [fold for row in rows for _, fits in row.parts for fold in fits.folds if isinstance(fold, FoldScores)]
    names = list(dict.fromkeys(name for fold in folds for name in getattr(fold, which)))
    found: dict[str, Any] = {}
    for name in names:

        def of(fold: FoldScores, name: str = name) -> float:
            return float(getattr(fold, which).get(name, np.nan))

        splits = np.array([row.splits(of, count) for row in rows])
        means = np.array([row.mean(of) if row.parts or name == scoring else np.nan for row in rows])
        found |= {f"split{k}_{which}_{name}": splits[:, k] for k in range(count)}
        found[f"mean_{which}_{name}"] = means
        found[f"std_{which}_{name}"] = np.array([_mean_and_std(line[~np.isnan(line)])[1] for line in splits])
        if which == "test":
            found[f"rank_test_{name}"] = _ranks(means, [row.step != "search" for row in rows])
    return found


def _ranks(means: Floats, by_all: Sequence[bool]) -> NDArray[np.int32]:
    """Return ranks from 1, equals alike: what all parties measured, then the trials; what failed is last."""
    from scipy.stats import rankdata

    last = np.isnan(means)
    order = np.where(last, 2, np.where(by_all, 0, 1))
    keys = [(int(group), 0.0 if failed else -mean) for group, failed, mean in zip(order, last, means, strict=True)]
    place = {key: k for k, key in enumerate(sorted(set(keys)))}
    return np.asarray(rankdata([place[key] for key in keys], method="min"), dtype=np.int32)


def _times(what: str, pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    means, spreads = np.array(pairs).T
    return {f"mean_{what}_time": means, f"std_{what}_time": spreads}


def _mean_and_std(values: Floats) -> tuple[float, float]:
    return (float(np.mean(values)), float(np.std(values))) if len(values) else (np.nan, np.nan)


def _masked(values: Sequence[Any]) -> Any:
    """Return a parameter's column as scikit-learn's: a masked array, of objects where values are of several kinds."""
    plain = len({type(value) for value in values}) == 1 and isinstance(values[0], bool | int | float | str)
    array = np.array(values) if plain else np.empty(len(values), dtype=object)
    if not plain:
        array[:] = values
    return np.ma.MaskedArray(array, mask=False)


def rows_of(
    found: Aggregation, kept: Mapping[str, Sequence[Fits]], params: Callable[[Config], dict[str, Any]]
) -> list[Row]:
    """Return the table's rows: a party's first fits are its search, and the rest the confirmation."""
    sizes = {party.party: party.rows or 0 for party in found.trials}
    counts = {party.party: len(party.trials) + len(party.failed) for party in found.trials}
    trials = [
        Row("search", party, params(fits.config), ((sizes[party], fits),))
        for party, count in counts.items()
        for fits in kept[party][:count]
    ]
    again = [[(sizes[party], fits) for fits in kept[party][count:]] for party, count in counts.items()]
    confirmed = [Row("confirm", EVERY_PARTY, params(each[0][1].config), each) for each in zip(*again, strict=True)]
    return [*trials, *(confirmed or _predicted(found, params))]


def _predicted(found: Aggregation, params: Callable[[Config], dict[str, Any]]) -> list[Row]:
    """Return the default and the recommendation as the surface predicts them: nobody has measured anything again."""
    configs = [dict(found.space.default), dict(found.recommendation.config)]
    scores = [loss_of(found.trials[0].scoring, float(loss)) for loss in found.surface(found.space.encode(configs))]
    return [
        Row("predict", EVERY_PARTY, params(config), (), score) for config, score in zip(configs, scores, strict=True)
    ]


def several(rows: Sequence[Row]) -> bool:
    """Whether the fits were scored in several ways, by name."""
    folds = [fold for row in rows for _, fits in row.parts for fold in fits.folds if isinstance(fold, FoldScores)]
    return any(set(fold.test) - {ONE} for fold in folds)


def failures(kept: Mapping[str, Sequence[Fits]]) -> list[str]:
    """Return a sentence for each fit that failed."""
    folds = [fold for fits in kept.values() for each in fits for fold in each.folds]
    return [
        fold if isinstance(fold, str) else f"{type(fold.failure).__name__}: {fold.failure}"
        for fold in folds
        if isinstance(fold, str) or fold.failure is not None
    ]
