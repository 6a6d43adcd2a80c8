"""The pooled truth: what configs are worth to a training on the rows of all parties.

The federated training is emulated by one on all rows. Every config is scored on the same folds, so that differences
between configs are far surer than losses. No search has seen these folds.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from flora.benchmark.cells import Truth
from flora.choice import same_config
from flora.collective import Alone
from flora.errors import FloraError
from flora.models import Family, Held
from flora.party import hold_out
from flora.path import Path, path_of
from flora.plan import SearchPlan
from flora.randomness import derived_seed, stream
from flora.search import Fold, folds_of, try_configs
from flora.single_shot import HELD
from flora.space import Config
from flora.table import Rows
from flora.workers import one_by_one, one_thread

POOLED = "all rows"
GRID = 12  # places on a path besides the stops of the search: a rule may recommend any number of trees


def measure_truths(rows: Rows, plan: SearchPlan, family: Family, configs: Sequence[Config]) -> tuple[Truth, ...]:
    """Return the truth of each config; those that differ only in their place on a path share one."""
    folds = folds_of(rows, plan, POOLED, "truth")
    path = path_of(plan, family.passes_through)
    if path is None:
        different: list[Config] = []
        for config in configs:
            if not any(same_config(config, other) for other in different):
                different.append(config)
        return tuple(Truth(c, tuple(_fold_losses(rows, folds, plan, family, [c]))) for c in different)
    return tuple(_along_path(rows, folds, plan, family, rest, path, wanted) for rest, wanted in _grouped(configs, path))


def _along_path(
    rows: Rows,
    folds: Sequence[Fold],
    plan: SearchPlan,
    family: Family,
    rest: Config,
    path: Path,
    wanted: Sequence[int],
) -> Truth:
    top = path.at_top(rest)
    chosen = [_chosen(rows.take(train), plan, family, top, path, fold) for fold, (train, _) in enumerate(folds)]
    grid = np.geomspace(path.stops[0], path.stops[-1], GRID).round().astype(int).tolist()
    stops = sorted({*chain(grid, path.stops, wanted, chosen)})
    configs = [top, *({**rest, path.name: stop} for stop in stops)]
    losses = _fold_losses(rows, folds, plan, family, configs)[1:]
    return Truth(rest, tuple(losses), tuple(stops), tuple(chosen))


def _chosen(rows: Rows, plan: SearchPlan, family: Family, top: Config, path: Path, fold: int) -> int:
    """Return the stop that a training chooses by held-out rows, as the product's first pass does."""
    kept, held = hold_out(rows, HELD, stream(plan.seed, POOLED, "held", fold))
    with one_thread():
        trained = family.train(top, kept, Alone(), derived_seed(plan.seed, "train"), Held(held, plan.scoring))
    return int(trained.config[path.name])


def _fold_losses(
    rows: Rows, folds: Sequence[Fold], plan: SearchPlan, family: Family, configs: Sequence[Config]
) -> list[tuple[float, ...]]:
    """Return the losses of the first config, then of those that its fit passes through."""
    outcome = try_configs(family, configs, rows, folds, plan, (POOLED, "truth"), one_by_one)
    if outcome.failure is not None:
        raise FloraError(f"{dict(outcome.config)} failed on all rows with {outcome.failure}")
    return [each.fold_losses for each in outcome.apart()]


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
