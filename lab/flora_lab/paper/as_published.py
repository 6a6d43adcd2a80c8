"""How the authors dealt rows out, scaled them, folded them and fitted their models, to the last digit.

It was found by reproducing their published baselines. Parties are the test folds of a stratified K-fold, party i has
test fold i. Scores are the mean balanced accuracy over the test folds of another. SVM and MLP see features scaled to
[0, 1] before the rows are dealt out, HGB raw ones. The models are scikit-learn's own, and all that is random in them
has the one seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from flora.models.estimator.family import AnyEstimator
from flora.models.family import Scores
from flora.models.mlp.epochs import fitted_networks
from flora.models.mlp.family import SETTINGS
from flora.models.rows import Rows, encode
from flora.models.scored import OF_LABELS
from flora.party.local_search.folds import Fold
from flora.party.tables.table import describe
from flora.problem.space import Config

SEED = 5489  # of the authors' one split, of their folds and of their models
SPLIT = "paper"  # the name of their way to deal rows out
Labels = NDArray[Any]


@dataclass(frozen=True)
class FoldedRows(Rows):
    """Rows with the authors' folds, which hang on nobody's name; other folds for another purpose than a search."""

    parts: int = 10

    def folds(self, seed: int, purpose: str) -> list[Fold]:
        """Return the folds: as many as the smallest class has rows, if these are fewer."""
        count = min(self.parts, *np.bincount(self.y))
        return list(_folds(count, SEED if purpose == "search" else seed).split(self.y, self.y))


def shares(labels: Labels, parties: int, seed: int) -> list[NDArray[np.intp]]:
    """Return the places of each party's rows; with another seed than the authors' they are dealt out in the same way.

    >>> [share.tolist() for share in shares(np.array([0, 0, 1, 1, 0, 1]), 3, SEED)]
    [[2, 4], [0, 3], [1, 5]]
    """
    return [test for _, test in _folds(parties, seed).split(labels, labels)]


def rows_of(table: pd.DataFrame, target: str, family: str) -> Rows:
    """Return a whole table's rows as a family sees them: trees and first weights hang on the order of the columns."""
    schema = describe(table, target)
    features = table.drop(columns=target).to_numpy(dtype=np.float64)
    seen = features if family == "hgb" else MinMaxScaler().fit_transform(features)
    return Rows(seen, encode(table, schema).y, schema)


def _folds(count: int, seed: int) -> StratifiedKFold:
    return StratifiedKFold(count, shuffle=True, random_state=seed)


def _svm(configs: Sequence[Config], train: Rows, test: Rows) -> list[Labels]:
    machine = SVC(class_weight="balanced", **configs[0]).fit(train.X, train.y)
    return [np.asarray(machine.predict(test.X))]


def _hgb(configs: Sequence[Config], train: Rows, test: Rows) -> list[Labels]:
    """Return what the trees say after each number of them: one fit passes through all, to the last bit."""
    counts = [int(config["max_iter"]) for config in configs]
    config = {**configs[0], "max_iter": max(counts)}
    trees = HistGradientBoostingClassifier(random_state=SEED, **config).fit(train.X, train.y)
    if len(counts) == 1:
        return [np.asarray(trees.predict(test.X))]
    staged = [np.asarray(labels) for labels in trees.staged_predict(test.X)]
    return [staged[min(count, len(staged)) - 1] for count in counts]  # it may have stopped early


def _mlp(configs: Sequence[Config], train: Rows, test: Rows) -> list[Labels]:
    """Return what ``MLPClassifier(early_stopping=True)`` says, to the last bit, in a third of its time."""
    settings = {**SETTINGS, **configs[0]}
    (network,) = fitted_networks(settings, train.X, train, SEED, [settings["max_iter"]])
    return [network.predict(test.X)]


ANSWERS: Mapping[str, tuple[type[Any], Callable[[Sequence[Config], Rows, Rows], list[Labels]]]] = {
    "hgb": (HistGradientBoostingClassifier, _hgb),
    "svm": (SVC, _svm),
    "mlp": (MLPClassifier, _mlp),
}


@dataclass(frozen=True)
class AuthorsModel(AnyEstimator):
    """A family as the authors had it: what it says of rows hangs on the config and the rows alone."""

    @classmethod
    def of(cls, family: str) -> "AuthorsModel":
        """Return the model of a family."""
        passed = frozenset({"max_iter"}) if family == "hgb" else frozenset[str]()
        return cls(family, ANSWERS[family][0], passed)

    def score(
        self,
        config: Config,
        train: Rows,
        test: Rows,
        scoring: str,
        seed: int,  # noqa: ARG002
        path: Sequence[Config] = (),
    ) -> Scores:
        """Fit on ``train``, score on ``test``; the authors' searches have no ``path``, FLoRA's own answer has."""
        steps = (config, *path)
        _, answer = ANSWERS[self.name]
        found = answer(steps, train, test)
        return [(step, OF_LABELS[scoring](test.y, labels, None)) for step, labels in zip(steps, found, strict=True)]
