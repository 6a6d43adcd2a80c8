"""``flora-lab speed trees``: trees, as all parties train them and as the search fits them, beside others' own.

Others are scikit-learn and LightGBM. Times are a process's own seconds on one core
(``time.process_time``), so that other work on the machine weighs less; what is compared is run in turn. LightGBM is
compared where it is installed.
"""

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold

from flora.cli.parsed import options_of
from flora.core.collective import Alone, Integers
from flora.core.workers import one_thread
from flora.models.hgb import boosting as boosting_module
from flora.models.hgb.bins import agree_on_bins
from flora.models.hgb.boosting import Boosting
from flora.models.hgb.family import GradientBoosting
from flora.models.hgb.settings import Settings
from flora.models.rows import Rows
from flora.problem.path import path_through
from flora.problem.plan import at_least
from flora.problem.schema import Column, Schema
from flora.problem.space import Config
from flora_lab.datasets import TARGET, data_folder, load
from flora_lab.machine import about
from flora_lab.statistics import spread_of

FAMILY = GradientBoosting()
DATASETS = ("eeg-eye-state", "electricity")
PARTIES = (3, 10, 20, 50)
ROWS, COLUMNS, TREES = 15_000, 30, 100
Seconds = NDArray[np.float64]
POOLED = "pooled scikit-learn"
ALL_LEAVES = 100.0  # times the splits still to come


@dataclass(frozen=True)
class SpeedOptions:
    """What ``flora-lab speed trees`` was asked for."""

    data: Path | None
    repeats: int
    configs: int

    def __post_init__(self) -> None:
        at_least("repeats", self.repeats, 1)
        at_least("configs", self.configs, 1)


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="the folder of the paper's datasets ($FLORA_DATA, or OpenML)"
    )
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="of each training (%(default)s)")
    parser.add_argument(
        "--configs", type=int, default=8, metavar="N", help="of the search, each on three folds (%(default)s)"
    )


def run(parsed: Namespace) -> None:
    """Measure, and print the tables."""
    options = options_of(SpeedOptions, parsed)
    with one_thread():
        lines = [about("numpy", "scikit-learn", "lightgbm"), *training_table(options.repeats)]
        for name in DATASETS:
            lines += search_table(name, data_folder(options.data), options.configs)
    sys.stdout.write("\n".join(lines) + "\n")


def training_table(repeats: int) -> list[str]:
    """Return the table of a training on made-up rows: pooled scikit-learn, and all parties' rows in one process."""
    rows = made_up_rows(ROWS, COLUMNS)
    times = training_times(rows, repeats)
    base = times[POOLED]
    (calls, megabytes), (fewest, _) = exchanges(rows), exchanges(rows, ALL_LEAVES)
    return [
        f"\nA training: {ROWS} x {COLUMNS} rows, {TREES} trees of 31 leaves",
        "| | seconds: median (least to most) | times pooled: median |",
        "|---|---|---|",
        *(f"| {name} | {spread_of(found)} | {np.median(found / base):.2f} |" for name, found in times.items()),
        f"Parties apart: {calls:.1f} exchanges a tree, {megabytes:.2f} MB a tree, party and way; "
        f"{fewest:.1f} exchanges if each asked for all leaves there are.",
    ]


def training_times(rows: Rows, repeats: int) -> dict[str, Seconds]:
    """Return the seconds of a training on pooled rows by scikit-learn, and by each number of parties in one process."""
    spread = {p: [rows.take(index) for index in np.array_split(np.arange(len(rows)), p)] for p in PARTIES}
    config = {"max_iter": TREES}
    tasks: dict[str, Callable[[], Any]] = {POOLED: lambda: _scikit_learn(rows, config)}
    for p in PARTIES:
        tasks[f"p = {p}, rows together"] = lambda p=p: FAMILY.train_together(config, spread[p], 0)  # type: ignore[misc]
    return in_turn(tasks, repeats)


def search_table(name: str, data: Path | None, configs: int) -> list[str]:
    """Return the table of fits over the whole path, on a third of a dataset, and how their losses agree."""
    rows, stops = a_third(name, data), _stops()
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(rows.X, rows.y))[:3]
    tried = list(random_configs(configs, seed=1))
    seconds: dict[str, list[float]] = {"hgb": [], "scikit-learn, no path": [], "LightGBM": []}
    losses: dict[str, list[list[float]]] = {"hgb": [], "LightGBM": []}
    for train, test in folds:
        for config in tried:
            one, other = rows.take(train), rows.take(test)
            for way, fit in _ways(stops).items():
                began = time.process_time()
                found = fit(one, other, config)
                seconds[way].append(time.process_time() - began)
                if found is not None:
                    losses[way].append(found)
    return [
        f"\nThe search: a third of {name}, {len(rows)} x {rows.X.shape[1]} rows, {len(tried)} configs on 3 of 10 "
        f"folds, one fit for {len(stops)} numbers of trees up to {stops[-1]}",
        *_search_lines({way: np.array(found) for way, found in seconds.items() if found}),
        *(_agreement(losses, len(folds)) if losses["LightGBM"] else []),
    ]


def _search_lines(seconds: dict[str, Seconds]) -> list[str]:
    base = seconds.get("LightGBM", seconds["hgb"])
    return [
        "| | seconds: median (least to most) | times LightGBM: median |",
        "|---|---|---|",
        *(f"| {way} | {spread_of(found)} | {np.median(found / base):.2f} |" for way, found in seconds.items()),
    ]


def _agreement(losses: dict[str, list[list[float]]], folds: int) -> list[str]:
    """Return how the losses of both models agree over configs and numbers of trees, means over the folds."""
    ours, theirs = (
        np.array(losses[way]).reshape(folds, -1, len(losses[way][0])).mean(axis=0).ravel()
        for way in ("hgb", "LightGBM")
    )
    apart, chosen_by_theirs = ours - theirs, ours[int(np.argmin(theirs))]
    return [
        f"Losses, hgb minus LightGBM: mean {np.mean(apart):+.4f}, standard deviation {np.std(apart):.4f}; "
        f"rank correlation {spearmanr(ours, theirs).statistic:.3f}; "
        f"hgb's loss at LightGBM's best {chosen_by_theirs:.4f}, at its own best {ours.min():.4f}."
    ]


Fit = Callable[[Rows, Rows, Config], list[float] | None]


def _ways(stops: Sequence[int]) -> dict[str, Fit]:
    """Return the fits to compare: each gives the losses after each number of trees, or None where it scores none."""

    def ours(train: Rows, test: Rows, config: Config) -> list[float]:
        path = [{**config, "max_iter": stop} for stop in stops]
        return [1 - score for _, score in FAMILY.score(path[-1], train, test, "balanced_accuracy", 0, path)[1:]]

    def plain(train: Rows, _test: Rows, config: Config) -> None:
        _scikit_learn(train, {**config, "max_iter": stops[-1]})

    def lightgbm(train: Rows, test: Rows, config: Config) -> list[float]:
        return _lightgbm(train, test, config, stops)

    ways: dict[str, Fit] = {"hgb": ours, "scikit-learn, no path": plain}
    try:
        version("lightgbm")
    except PackageNotFoundError:
        return ways
    return {**ways, "LightGBM": lightgbm}


def _lightgbm(train: Rows, test: Rows, config: Config, stops: Sequence[int]) -> list[float]:
    """Return LightGBM's losses after each number of trees, as the family ``hgb`` once got them."""
    import lightgbm

    params = {
        "objective": "binary",
        "learning_rate": config["learning_rate"],
        "min_data_in_leaf": config["min_samples_leaf"],
        "lambda_l2": config["l2_regularization"],
        "verbosity": -1,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "feature_pre_filter": False,
    }
    booster = lightgbm.Booster(params, lightgbm.Dataset(train.X, train.y, params=params))
    for _ in range(stops[-1]):
        if booster.update():
            break
    shares = [booster.predict(test.X, num_iteration=stop, num_threads=1) for stop in stops]
    return [1 - float(balanced_accuracy_score(test.y, share > 0.5)) for share in shares]


def _scikit_learn(rows: Rows, config: Config) -> Any:
    return HistGradientBoostingClassifier(early_stopping=False, **config).fit(rows.X, rows.y)


@dataclass
class Counted:
    """One of two parties, the other without rows, and what it sends."""

    rank: int = 0
    size: int = 2
    sent: list[int] = field(default_factory=list)

    def add_integers(self, values: Integers) -> Integers:
        """Return the party's own numbers."""
        self.sent.append(values.nbytes)
        return values.copy()


def exchanges(rows: Rows, ahead: float = boosting_module.AHEAD) -> tuple[float, float]:
    """Return the exchanges a tree of a training by parties that are apart, and its megabytes a party and way."""
    bins = agree_on_bins(rows, Settings().max_bins, Alone())
    line: Any = Counted()
    boosting = Boosting.begin(rows, bins, Settings(max_iter=TREES), line, 0)
    line.sent.clear()
    with patch.object(boosting_module, "AHEAD", ahead):
        list(boosting.iterations())
    return len(line.sent) / TREES, sum(line.sent) / TREES / 1e6


def in_turn(tasks: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Seconds]:
    """Return each task's seconds; the tasks take turns, after one round that does not count."""
    found: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(repeats + 1):
        for name, task in tasks.items():
            began = time.process_time()
            task()
            if turn:
                found[name].append(time.process_time() - began)
    return {name: np.array(seconds) for name, seconds in found.items()}


def made_up_rows(rows: int, columns: int, rng: np.random.Generator | None = None) -> Rows:
    """Return rows of two classes with sums, a product and noise in them."""
    rng = rng or np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = (X[:, :3].sum(axis=1) + X[:, 3] * X[:, 4] + rng.normal(size=rows) > 0).astype(np.int64)
    return Rows(X, y, _schema(columns))


def a_third(name: str, data: Path | None) -> Rows:
    """Return a third of a dataset's rows, as one of three parties would have them."""
    table = load(name, data).sample(frac=1 / 3, random_state=0)
    y = table.pop(TARGET).astype(int).to_numpy(dtype=np.int64)
    return Rows(table.to_numpy(dtype=np.float64), y, _schema(table.shape[1]))


def random_configs(count: int, seed: int) -> list[Config]:
    """Return configs of the paper's space, but for the number of trees."""
    rng = np.random.default_rng(seed)
    return [
        {
            "learning_rate": float(10 ** rng.uniform(-3, 0)),
            "min_samples_leaf": int(rng.integers(1, 41)),
            "l2_regularization": float(10 ** rng.uniform(-4, 0)),
        }
        for _ in range(count)
    ]


def _schema(columns: int) -> Schema:
    return Schema("t", "classification", tuple(Column(f"c{k:02}", "numeric") for k in range(columns)), (0, 1))


def _stops() -> tuple[int, ...]:
    space = next(iter(FAMILY.spaces("classification").values()))
    path = path_through(space, FAMILY.passes_through)
    assert path is not None  # noqa: S101  (the paper's space has it)
    return path.stops
