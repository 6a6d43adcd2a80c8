"""Cells of the judge that are made up: what the parties say and what is true are functions of the config."""

from collections.abc import Callable, Sequence

from flora.aggregator.surface import SURFACES
from flora.models import family_of
from flora.problem.family import PAPER, space_of
from flora.problem.messages import Confirmation
from flora.problem.path import Path, family_path
from flora.problem.space import Config
from flora.problem.trials import Gain, PartyTrials, Trial
from flora_lab.cells import Cell
from flora_lab.judge.command import USUAL
from flora_lab.judge.record import Record, Truth

LossOf = Callable[[Config], float]
OTHER: dict[str, Config] = {
    "hgb": {"max_iter": 45, "learning_rate": 0.3, "min_samples_leaf": 5, "l2_regularization": 0.01},
    "svm": {"C": 10.0, "gamma": 1.0, "tol": 0.001},
}
BEST: dict[str, Config] = {
    "hgb": {"max_iter": 121, "learning_rate": 0.2, "min_samples_leaf": 9, "l2_regularization": 0.1},
    "svm": {"C": 100.0, "gamma": 1.0, "tol": 0.001},
}
FOLDS = (0.00, 0.01, -0.01, 0.02, -0.02)  # how hard each fold is: the same for all configs


def made_up_record(
    family: str,
    local: LossOf,
    truth: LossOf,
    *,
    parties: int = 3,
    rows: int = 100,
    chosen: Sequence[int] = (),
    predicted: Gain | None = None,
) -> Record:
    """Return a cell of the default, one other candidate and a best config."""
    space = space_of(family_of(family), "classification", PAPER)
    default, other, best = space.default, OTHER[family], BEST[family]
    names = [f"party-{k}" for k in range(1, parties + 1)]
    tried = tuple(Trial(config, local(config), 0.01, 5, rows) for config in (default, other))
    trials = tuple(
        PartyTrials(name, rows, space, "balanced_accuracy", tried, family=family, task="classification")
        for name in names
    )
    path = family_path(space, family_of(family))
    measured = [each for config in (default, other) for each in (path.configs(config) if path else [config])]
    said = tuple(
        Confirmation(Trial(config, local(config), 0.01, 5, rows), local(default) - local(config), 0.001)
        for config in measured
    )
    return Record(
        Cell(family, "pima", parties),
        USUAL,
        trials,
        dict.fromkeys(names, said),
        dict.fromkeys(SURFACES, other),
        predicted or Gain(0.1, 0.01),
        best,
        tuple(_truth(config, truth, path, chosen) for config in (default, other, best)),
        {"flora": "0"},
    )


def _truth(config: Config, truth: LossOf, path: Path | None, chosen: Sequence[int]) -> Truth:
    if path is None:
        return Truth(config, (tuple(truth(config) + fold for fold in FOLDS),))
    rest = {name: value for name, value in config.items() if name != path.name}
    stops = sorted({*path.stops, *chosen})
    losses = tuple(tuple(truth({**rest, path.name: stop}) + fold for fold in FOLDS) for stop in stops)
    return Truth(rest, losses, tuple(stops), tuple(chosen))
