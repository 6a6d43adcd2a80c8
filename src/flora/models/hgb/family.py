"""The family ``hgb``: scikit-learn's histogram gradient boosting, trained as if all rows lay in one table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flora.core.collective import Alone, Collective, Followed
from flora.models.class_weights import BALANCE, class_weights
from flora.models.family import Held, Scores, Trained
from flora.models.hgb.bins import agree_on_bins
from flora.models.hgb.boosting import Boosting
from flora.models.hgb.model import BoostedTrees
from flora.models.hgb.path_scores import Fold
from flora.models.hgb.settings import Settings, default_of
from flora.models.hgb.tree_count import best_tree_count
from flora.models.rows import Rows, joined_weights
from flora.problem.family import OWN, PAPER
from flora.problem.parameters import Parameter
from flora.problem.schema import Schema, Task
from flora.problem.space import Config, Integer, Real, SearchSpace


@dataclass(frozen=True)
class GradientBoosting:
    """The family ``hgb``."""

    name: str = "hgb"
    tasks: frozenset[Task] = frozenset({"classification", "regression"})
    note: str = (
        "The parties sum the histograms of each leaf and grow the same trees, as if their rows lay in one table."
    )
    passes_through: frozenset[str] = frozenset({"max_iter"})
    grows: frozenset[str] = frozenset()

    def spaces(self, task: Task) -> Mapping[str, SearchSpace]:
        """Return the paper's space with scikit-learn's defaults, and before it the same with the weight of classes."""
        paper: tuple[Parameter, ...] = (
            Integer("max_iter", 10, 200),
            Real("learning_rate", 1e-3, 1.0, "log"),
            Integer("min_samples_leaf", 1, 40),
            Real("l2_regularization", 1e-4, 1.0, "log"),
        )
        own = (*paper, Real(BALANCE, 0.0, 1.0)) if task == "classification" else paper
        return {
            name: SearchSpace(found, self.defaults([parameter.name for parameter in found], task))
            for name, found in {OWN: own, PAPER: paper}.items()
        }

    def defaults(self, names: Sequence[str], task: Task) -> Config:  # noqa: ARG002  (the same for all tasks)
        """Return scikit-learn's defaults of the named HPs."""
        return {name: default_of(name) for name in names}

    def score(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Scores:
        """Fit on ``train`` alone, and score on ``test`` after each number of trees."""
        scores = list(self.scores_on_the_way(config, train, test, scoring, seed, path))
        found = {Settings.of(step).max_iter: score for step, score in scores}
        return [(step, found[Settings.of(step).max_iter]) for step in (config, *path)]

    def scores_on_the_way(
        self, config: Config, train: Rows, test: Rows, scoring: str, seed: int, path: Sequence[Config] = ()
    ) -> Iterator[tuple[Config, float]]:
        """Yield the scores after each number of trees, ascending; who has heard enough ends the fit."""
        steps = {Settings.of(step).max_iter: step for step in (*path, config)}
        settings = replace(Settings.of(config), max_iter=max(steps))
        fold = Fold.recalled(train, test, settings.max_bins)
        for stop, score in fold.scores(settings, list(steps), scoring, seed):
            yield steps[stop], score

    def rehearse(self, config: Config, rows: Rows, seed: int) -> None:
        """Do nothing: only sums leave a party."""

    def train(
        self, config: Config, rows: Rows, collective: Collective, seed: int, held: Held | None = None
    ) -> Trained[BoostedTrees]:
        """Train with all parties: agree on the bins by counts, then grow trees from summed histograms.

        With rows held out the model is cut after the number of trees that does best on them.
        """
        settings = Settings.of(config)
        bins = agree_on_bins(rows, settings.max_bins, collective)
        weights = class_weights(rows, settings.class_balance, collective)
        boosting = Boosting.begin(rows, bins, settings, collective, seed, weights)
        model = BoostedTrees(boosting.start, tuple(boosting.iterations()), rows.schema)
        if held is None:
            return Trained(model, config)
        count = best_tree_count(model, held, collective)
        return Trained(model.cut(count), {**config, "max_iter": count})

    def train_together(
        self,
        config: Config,
        parties: Sequence[Rows],
        seed: int,
        held: Sequence[Held] | None = None,
        told: Callable[[int, int], None] | None = None,
    ) -> Trained[BoostedTrees]:
        """Train on all parties' rows in this process: byte for byte what :meth:`train` gives parties apart.

        All that decides are sums, and they are exact in any order: so the rows may as well lie in one table.
        """
        all_held = Held(_together([one.rows for one in held]), held[0].scoring) if held else None
        alone = Followed(Alone(), told) if told else Alone()
        return self.train(config, _together(parties), alone, seed, all_held)

    def load(self, files: Mapping[str, bytes], schema: Schema) -> BoostedTrees:
        """Return the model that :meth:`BoostedTrees.files` wrote."""
        return BoostedTrees.from_files(files, schema)


def _together(parties: Sequence[Rows]) -> Rows:
    """Return all parties' rows in one table."""
    return Rows(
        np.concatenate([rows.X for rows in parties]),
        np.concatenate([rows.y for rows in parties]),
        parties[0].schema,
        joined_weights(parties),
    )
