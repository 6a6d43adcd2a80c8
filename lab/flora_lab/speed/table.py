"""``flora-lab speed``: where users wait, beside what they would do instead, as one table.

Each line is a share of the plain way's seconds in the same run: a search beside Optuna and scikit-learn, a training by
many parties beside one on pooled rows. An aggregation and a start have nothing to be compared with. Seconds are a
process's own, on one core.
"""

import resource
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from flora.cli.parsed import options_of
from flora.core.workers import one_by_one, one_thread
from flora.problem.plan import at_least
from flora_lab.datasets import data_folder
from flora_lab.machine import about
from flora_lab.speed.aggregate import cost_of
from flora_lab.speed.search import CASES, SearchSpeedOptions, ours, plainly, usual_plan
from flora_lab.speed.trees import COLUMNS, POOLED, ROWS, a_third, made_up_rows, training_times
from flora_lab.statistics import spread_of
from flora_lab.tables import markdown

TRIALS, FOLDS = 20, 10  # of a search
GOALS = {"hgb": "1/8", "svm": "1/5", "mlp": "1/4"}
START = "from flora.cli.main import main; main(['aggregate', 'no-such-file.json'])"


@dataclass(frozen=True)
class SpeedTableOptions:
    """What ``flora-lab speed`` was asked for."""

    data: Path | None
    repeats: int
    parties: tuple[int, ...]
    tried: int
    family: tuple[str, ...]

    def __post_init__(self) -> None:
        at_least("repeats", self.repeats, 1)


def add_arguments(parser: Any) -> None:
    """Say nothing more: the options are those of the parts."""


def run(parsed: Namespace) -> None:
    """Measure, and print each line as soon as it is there."""
    options = options_of(SpeedTableOptions, parsed)
    heads = markdown(["what", "the plain way: s", "ours: s", "share", "goal"], [])
    sys.stdout.write(f"{about('numpy', 'scikit-learn', 'optuna')}\n{heads}\n")
    with one_thread():
        for line in lines_of(options):
            sys.stdout.write(f"| {line} |\n")
            sys.stdout.flush()


def lines_of(options: SpeedTableOptions) -> Iterator[str]:
    """Yield the lines; a spread is the median, and the least and the most."""
    for family in options.family or GOALS:
        yield _search(family, options)
    times = training_times(made_up_rows(ROWS, COLUMNS), options.repeats)
    for name, seconds in times.items():
        if name != POOLED:
            shares = seconds / times[POOLED]
            yield f"training, {name} | {spread_of(times[POOLED])} | {spread_of(seconds)} | {spread_of(shares)} | 2.5"
    for count in options.parties:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            cost = alone.submit(cost_of, count, options.tried, "aplm").result()
        memory = f"{cost.gibibytes:.2f} GiB"
        yield f"aggregation, p = {count}, {memory} | - | {cost.own_seconds:.1f} | - | 20 s, 2 GiB at 10,000"
        yield f"reading the files before it, p = {count} | - | {cost.reading:.1f} | - | 10 s at 10,000"
    starts = np.array([start_seconds() for _ in range(options.repeats)])
    yield f"the first line of `flora aggregate` | - | {spread_of(starts)} | - | 0.4 s"


def _search(family: str, options: SpeedTableOptions) -> str:
    rows = a_third(CASES[family], data_folder(options.data))
    asked = SearchSpeedOptions(None, (), TRIALS, FOLDS, options.repeats, 1)
    pairs = []
    for seed in range(options.repeats):
        plan = usual_plan(family, asked, seed)
        pairs.append((plainly(rows, plan, 1), ours(rows, replace(plan, race=True), one_by_one)))
    plain, raced = (np.array([pair[k].seconds for pair in pairs]) for k in range(2))
    losses = " and ".join(f"{np.mean([pair[k].loss for pair in pairs]):.4f}" for k in range(2))
    what = f"search, {family}, a third of {CASES[family]}, best losses {losses}"
    goal = GOALS.get(family, "1.1")
    return f"{what} | {spread_of(plain)} | {spread_of(raced)} | {spread_of(raced / plain)} | {goal}"


def start_seconds() -> float:
    """Return the seconds of a process that says what is wrong with its first file, and ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", START], check=False, capture_output=True)  # noqa: S603  (our own words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
