"""``flora-lab speed aggregate``: how long one surface of all parties and its minimum take, and how much memory.

The trials are made up, and read from a file for each party, as ``flora aggregate`` does with a folder of them. Each
number of parties has a process of its own, so that the peak of its memory is its own; the memory is that of the whole
process, trials included.
"""

import resource
import sys
import tempfile
import time
from argparse import Namespace
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from flora.aggregator.aggregation import aggregate
from flora.aggregator.surface import SurfaceChoice
from flora.cli.parsed import options_of
from flora.engines.files import read_files
from flora.problem.plan import at_least
from flora.problem.space import Integer, Real, SearchSpace
from flora.problem.trials import PartyTrials, Trial
from flora_lab.machine import about

PARTIES = (10, 100, 1_000, 10_000)
SPACE = SearchSpace(  # of the size of the paper's for gradient boosting
    (
        Integer("trees", 10, 200),
        Real("rate", 1e-3, 1.0, "log"),
        Integer("leaf", 1, 40),
        Real("penalty", 1e-4, 1.0, "log"),
    ),
    {"trees": 100, "rate": 0.1, "leaf": 20, "penalty": 1e-4},
)


@dataclass(frozen=True)
class AggregateSpeedOptions:
    """What ``flora-lab speed aggregate`` was asked for."""

    parties: tuple[int, ...]
    tried: int
    surface: str

    def __post_init__(self) -> None:
        at_least("tried", self.tried, 1)
        for count in self.parties:
            at_least("parties", count, 1)


@dataclass(frozen=True)
class AggregationCost:
    """What an aggregation took."""

    parties: int
    making: float  # the trials, each with its checks: the process's own seconds
    reading: float  # the same trials, from a file for each party: likewise
    seconds: float  # the aggregation, from the trials to the minimum
    own_seconds: float  # the same, without the time that other processes had
    gibibytes: float  # the process's most memory


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("--parties", type=int, nargs="+", default=PARTIES, metavar="P", help="(10 to 10,000)")
    parser.add_argument("--tried", type=int, default=100, metavar="T", help="trials of each party (%(default)s)")
    parser.add_argument("--surface", default="aplm", metavar="NAME", help="(%(default)s)")


def run(parsed: Namespace) -> None:
    """Measure, and print a line for each number of parties as soon as it is there."""
    options = options_of(AggregateSpeedOptions, parsed)
    sys.stdout.write(
        f"{about('numpy', 'scikit-learn')}; surface {options.surface}, {options.tried} trials a party\n"
        "| parties | making the trials: own s | reading their files: own s | aggregation: s | own s "
        "| most memory: GiB |\n|---|---|---|---|---|---|\n"
    )
    for count in options.parties:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            cost = alone.submit(cost_of, count, options.tried, options.surface).result()
        sys.stdout.write(
            f"| {cost.parties} | {cost.making:.1f} | {cost.reading:.1f} | {cost.seconds:.1f} "
            f"| {cost.own_seconds:.1f} | {cost.gibibytes:.2f} |\n"
        )
        sys.stdout.flush()


def cost_of(parties: int, tried: int, surface: str) -> AggregationCost:
    """Return what an aggregation of made-up trials takes in this process."""
    with tempfile.TemporaryDirectory() as place:
        making = written(parties, tried, Path(place))
        began = time.process_time()
        trials = read_files(sorted(Path(place).iterdir())).trials
        reading = time.process_time() - began
    began, own = time.perf_counter(), time.process_time()
    aggregate(trials, SurfaceChoice(surface), 0)
    seconds, own = time.perf_counter() - began, time.process_time() - own
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return AggregationCost(parties, making, reading, seconds, own, memory)


def written(parties: int, tried: int, place: Path) -> float:
    """Write each party's file, and return the process's own seconds that it took to make the trials."""
    making = 0.0
    for number in range(parties):
        began = time.process_time()
        trials = made_up_trials(number, tried)
        making += time.process_time() - began
        (place / f"{trials.party}.json").write_text(trials.to_json())
    return making


def made_up_trials(number: int, tried: int) -> PartyTrials:
    """Return the trials of one of many parties: a bowl with a middle of its own, and noise."""
    rng = np.random.default_rng(number)
    points = SPACE.sample(rng, tried)
    middle = 0.3 + 0.3 * rng.random(SPACE.width)
    losses = 0.1 + ((points - middle) ** 2).mean(axis=1) + 0.02 * rng.random(tried)
    trials = tuple(Trial(*pair, 0.01, 10, 100) for pair in zip(SPACE.decode(points), losses.tolist(), strict=True))
    return PartyTrials(f"party-{number:06}", 100 + number % 50, SPACE, "accuracy", trials)
