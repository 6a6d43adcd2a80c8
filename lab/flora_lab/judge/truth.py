"""The pooled truth: what configs are worth to a training on the rows of all parties.

The federated training is emulated by one on all rows. Every config is scored on the same folds, so that differences
between configs are far surer than losses. No search has seen these folds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from flora.aggregator.choose import same_config
from flora.core.collective import Alone
from flora.core.workers import one_by_one, one_thread
from flora.errors import FloraError
from flora.models.family import Held, ModelFamily
from flora.models.rows import Rows
from flora.party.local_search.folds import Fold, folds_of, try_configs
from flora.party.training import hold_out
from flora.problem.path import HELD, Path, family_path
from flora.problem.plan import SearchPlan
from flora.problem.space import Config
from flora.randomness import derived_seed, stream
from flora_lab.judge.record import FoldLosses, Truth
from flora_lab.pieces import POOLED

GRID = 12  # places on a path besides the stops of the search: a rule may recommend any number of trees


def measure_truths(
    rows: Rows,
    plan: SearchPlan,
    family: ModelFamily,
    *,
    trained: Sequence[Config],
    others: Sequence[Config],
    parties: int,
) -> tuple[Truth, ...]:
    """Return the truth of each config; those that differ only in their place on a path share one.

    Args:
        rows: Those of all parties.
        plan: What the parties searched, and how.
        family: The family of the configs.
        trained: What the product may train. Where there is a path, its training goes as far as that of so many parties
            does, and chooses its place.
        others: What is compared with it, at its own place on the path.
        parties: Their number.
    """
    pooled = _Pooled(rows, folds_of(rows, plan, POOLED, "truth"), plan, family)
    path = family_path(plan.space, family)
    if path is None:
        return tuple(Truth(config, (pooled.losses([config])[0],)) for config in _different([*trained, *others]))
    rests = _grouped(trained, path)
    return tuple(
        pooled.along(
            path, rest, wanted, path.furthest(parties) if any(same_config(rest, r) for r, _ in rests) else None
        )
        for rest, wanted in _grouped([*trained, *others], path)
    )


@dataclass(frozen=True)
class _Pooled:
    """Trainings on the rows of all parties."""

    rows: Rows
    folds: Sequence[Fold]
    plan: SearchPlan
    family: ModelFamily

    def along(self, path: Path, rest: Config, wanted: Sequence[int], last: int | None) -> Truth:
        """Return the truth along a path; without a ``last`` stop of a training nothing is chosen."""
        searched = path.stops[-1]
        chosen = self.chosen(path, {**rest, path.name: last}) if last else ()
        in_range = chosen if not last or last == searched else self.chosen(path, {**rest, path.name: searched})
        grid = np.geomspace(path.stops[0], searched, GRID).round().astype(int).tolist()
        stops = sorted({*chain(grid, path.stops, wanted, chosen, in_range)})
        losses = self.losses([{**rest, path.name: stops[-1]}, *({**rest, path.name: stop} for stop in stops)])[1:]
        return Truth(rest, tuple(losses), tuple(stops), chosen, in_range)

    def chosen(self, path: Path, config: Config) -> tuple[int, ...]:
        """Return the stop that a training chooses in each fold by held-out rows, as the product's first pass does."""
        return tuple(self._chosen(path, config, fold) for fold in range(len(self.folds)))

    def _chosen(self, path: Path, config: Config, fold: int) -> int:
        train, _ = self.folds[fold]
        kept, held = hold_out(self.rows.take(train), HELD, stream(self.plan.seed, POOLED, "held", fold))
        held_rows, seed = Held(held, self.plan.scoring), derived_seed(self.plan.seed, "train")
        with one_thread():
            return int(self.family.train(config, kept, Alone(), seed, held_rows).config[path.name])

    def losses(self, configs: Sequence[Config]) -> list[FoldLosses]:
        """Return the losses of the first config, then of those that its fit passes through."""
        outcome = try_configs(self.family, configs, self.rows, self.folds, self.plan, (POOLED, "truth"), one_by_one)
        if outcome.failure is not None:
            raise FloraError(f"{dict(outcome.config)} failed on all rows with {outcome.failure}")
        return [each.fold_losses for each in outcome.apart()]


def _different(configs: Sequence[Config]) -> list[Config]:
    """Return each config once."""
    different: list[Config] = []
    for config in configs:
        if not any(same_config(config, other) for other in different):
            different.append(config)
    return different


def _grouped(configs: Sequence[Config], path: Path) -> list[tuple[Config, list[int]]]:
    """Return the configs without their places on the path, each once, and the places that are wanted of it."""
    groups: list[tuple[Config, list[int]]] = []
    for config in configs:
        rest = {name: value for name, value in config.items() if name != path.name}
        stops = next((stops for other, stops in groups if same_config(other, rest)), None)
        if stops is None:
            groups.append((rest, stops := []))
        stops.append(int(config[path.name]))
    return groups
