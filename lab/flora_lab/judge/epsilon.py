"""``flora-lab private --epsilon``: what epsilon costs, beside votes of the parties on the cells of a grid.

Each draw of the noise recommends another config. So the truth is measured once, on a grid of C and gamma, and a
config's is interpolated between its neighbours on it. The third HP, tol, is left at its default there.

A vote is as DP-Hype has it (arXiv 2510.04902): each party names the cell that its own surface likes best, and the
noise is on the sum of the votes. The noise is ours, and so are epsilon, delta and who must be honest.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from rich.console import Console

from flora.aggregator.private import aggregate_noisy_sums
from flora.core.codec import read, to_document
from flora.core.collective import Floats
from flora.engines.threads import in_process
from flora.models import family_of
from flora.party.gate import Gate
from flora.party.party import Party
from flora.party.tables.table import Table
from flora.party.under_noise import as_floats, clipped, variance_of_share
from flora.problem.messages import Search, SearchReply
from flora.problem.plan import SearchPlan
from flora.problem.privacy import clip_of
from flora.problem.private_messages import SurveyReply
from flora.problem.space import Config
from flora.randomness import stream
from flora.surrogate.minimise import middle_of_lowest
from flora.surrogate.own_surface import own_surface, trees_for
from flora.surrogate.regressors import Regressor
from flora.surrogate.survey import surveyed, surveyed_once
from flora_lab.cells import Cell
from flora_lab.datasets import TARGET, declared
from flora_lab.judge.record import Truth
from flora_lab.judge.run import all_rows, request_for
from flora_lab.judge.truth import measure_truths
from flora_lab.pieces import FIT, Bench, keep
from flora_lab.statistics import quartiles, relative_regret
from flora_lab.tables import number, table_of_numbers

FAMILY = "svm"  # two HPs matter: a table of more would be too large to measure
FOLDS = 2  # of all rows
AXES = {"C": [10.0**k for k in range(-2, 4)], "gamma": [10.0 ** (k / 2) for k in range(-10, 3)]}
VOTES = {  # by name: the values of C and gamma that a vote is about
    "vote on 42 cells": (AXES["C"], AXES["gamma"][::2]),
    "vote on 12 cells": (AXES["C"][1::2], AXES["gamma"][1::3][:4]),
}
SURFACE = "surface"
DRAWS = 20  # of the noise, for each epsilon
Picked = Mapping[str, tuple[Config, ...]]  # by epsilon, 0 for none: what each draw of the noise recommends


@dataclass(frozen=True)
class TruthGrid:
    """The true losses of all configs of a grid, on the rows of all parties."""

    dataset: str

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"grid/{FAMILY}-{self.dataset}"

    def compute(self, bench: Bench) -> Any:
        """Return the truth of each config."""
        plan = replace(_plan(bench, seed=0), folds=FOLDS)
        configs = _cells(AXES["C"], AXES["gamma"], plan.space.default)
        rows, family = all_rows(self.dataset, bench), family_of(FAMILY)
        return to_document(_Truths(measure_truths(rows, plan, family, trained=configs, others=[], parties=1)))

    def work(self, bench: Bench) -> tuple[float, float]:  # noqa: ARG002
        """Return how much work it is: there are no parts of it."""
        return float(len(AXES["C"]) * len(AXES["gamma"]) * (declared(self.dataset).rows + FIT)), 0.0

    def losses(self, bench: Bench) -> Floats:
        """Return the mean loss of each config: (C, gamma); it is computed if it is not there."""
        truths = read(_Truths, keep(self, bench)).truths
        return np.reshape([np.mean(truth.losses[0]) for truth in truths], [len(axis) for axis in AXES.values()])


@dataclass(frozen=True)
class _Truths:
    truths: tuple[Truth, ...]


@dataclass(frozen=True)
class NoisyCell:
    """What the parties of a cell recommend under noise, each with a few trials of its own."""

    cell: Cell
    epsilons: tuple[float, ...]

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"epsilon/{self.cell.name}-e{'-'.join(f'{each:g}' for each in self.epsilons)}"

    def compute(self, bench: Bench) -> Any:
        """Return what each way to agree recommends, by epsilon."""
        plan = _plan(bench, self.cell.seed)
        surfaces = _surfaces(self.cell, plan, bench)
        found = {SURFACE: _by_epsilon(self.epsilons, _Surveys(surfaces, plan).pick)}
        for name, axes in VOTES.items():
            found[name] = _by_epsilon(self.epsilons, _Votes(surfaces, plan, _cells(*axes, plan.space.default)).pick)
        return to_document(_Found(found))

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is: the parties' fits. There are no parts of it."""
        return float(bench.protocol.trials * (declared(self.cell.dataset).rows + self.cell.parties * FIT)), 0.0

    def picked(self, bench: Bench) -> Mapping[str, Picked]:
        """Return what is stored, computed if it is not there."""
        return read(_Found, keep(self, bench)).found


@dataclass(frozen=True)
class _Found:
    found: Mapping[str, Mapping[str, tuple[Config, ...]]]


@dataclass(frozen=True)
class _Surveys:
    """The private search of some surfaces."""

    surfaces: Sequence[Regressor]
    plan: SearchPlan

    def pick(self, epsilon: float | None, rng: np.random.Generator) -> Config:
        """Return the minimum of the mean surface."""
        space, seed, size = self.plan.space, self.plan.seed, len(self.surfaces)
        if epsilon is None:
            points, losses = surveyed(space, seed, lambda at: np.mean([own.mean(at) for own in self.surfaces], axis=0))
            return space.decode(middle_of_lowest(points, losses))[0]
        values = self._values - self._values.mean(axis=1, keepdims=True)
        means = _noisy_total(values, clip_of(values.shape[1]), epsilon, rng) / size
        reply, rows = SurveyReply("all", 0, size, tuple(means.tolist()), ()), {str(k): 1 for k in range(size)}
        return aggregate_noisy_sums(reply, rows, self.plan, epsilon).recommendation.config

    @cached_property
    def _values(self) -> Floats:
        points = surveyed_once(self.plan.space, self.plan.seed)
        return np.array([own.mean(points) for own in self.surfaces])


@dataclass(frozen=True)
class _Votes:
    """A vote on cells."""

    surfaces: Sequence[Regressor]
    plan: SearchPlan
    cells: Sequence[Config]

    def pick(self, epsilon: float | None, rng: np.random.Generator) -> Config:
        """Return the cell with the most votes."""
        votes = self._ballots.sum(axis=0) if epsilon is None else _noisy_total(self._ballots, 1.0, epsilon, rng)
        return self.cells[int(np.argmax(votes))]

    @cached_property
    def _ballots(self) -> Floats:
        points = self.plan.space.encode(self.cells)
        return np.eye(len(self.cells))[[int(np.argmin(own.mean(points))) for own in self.surfaces]]


def _noisy_total(rows: Floats, clip: float, epsilon: float, rng: np.random.Generator) -> Floats:
    """Return the sum of all parties' numbers, with all shares of the noise at once: each alone would take minutes."""
    words = np.sum([clipped(row, clip) for row in rows], axis=0)
    noise = math.sqrt(len(rows) * variance_of_share(epsilon, len(rows))) * rng.standard_normal(len(words))
    return as_floats(words + np.rint(noise).astype(np.int64), clip)


def _plan(bench: Bench, seed: int) -> SearchPlan:
    return request_for(FAMILY, bench.protocol, seed).plan("classification")


def _cells(costs: Sequence[float], gammas: Sequence[float], default: Config) -> list[Config]:
    return [{**default, "C": cost, "gamma": gamma} for cost, gamma in product(costs, gammas)]


def _surfaces(cell: Cell, plan: SearchPlan, bench: Bench) -> list[Regressor]:
    """Return each party's own surface, from a search of its own."""
    parties = [Party(name, Table(rows, TARGET)) for name, rows in cell.tables(bench.data).items()]
    replies = in_process([Gate(party) for party in parties])(Search(plan))
    trials = [reply.trials for reply in replies if isinstance(reply, SearchReply) and reply.trials]
    return [
        own_surface(
            each.party,
            plan.space.encode([trial.config for trial in each.trials]),
            np.array([trial.loss for trial in each.trials]),
            regressor="forest",
            seed=plan.seed,
            trees=trees_for(cell.parties),
        )
        for each in trials
    ]


def _by_epsilon(
    epsilons: Sequence[float], pick: Callable[[float | None, np.random.Generator], Config]
) -> Mapping[str, tuple[Config, ...]]:
    """Return what is recommended without noise, as 0, and in each draw of the noise of each epsilon."""
    found: dict[str, tuple[Config, ...]] = {"0": (pick(None, stream(0, "noise")),)}
    for epsilon in epsilons:
        name = f"{epsilon:g}"
        found[name] = tuple(pick(epsilon, stream(draw, "noise", name)) for draw in range(DRAWS))
    return found


@dataclass(frozen=True)
class PriceOfNoise:
    """The regret of one way to agree, with so many parties, over the draws of the noise in all cells."""

    rule: str
    parties: int
    epsilon: float  # 0: no noise
    cells: int
    median: float
    low: float  # quartile
    high: float
    worse: float  # the share of draws that recommend what is worse than the default


def prices(cells: Sequence[NoisyCell], bench: Bench) -> list[PriceOfNoise]:
    """Return a line for each rule, number of parties and epsilon."""
    tables = {name: TruthGrid(name).losses(bench) for name in {each.cell.dataset for each in cells}}
    regrets: dict[tuple[str, int, float], list[list[float]]] = {}
    for each in cells:
        default = _plan(bench, each.cell.seed).space.default
        for rule, by_epsilon in each.picked(bench).items():
            for epsilon, configs in by_epsilon.items():
                found = [_regret(tables[each.cell.dataset], config, default) for config in configs]
                regrets.setdefault((rule, each.cell.parties, float(epsilon)), []).append(found)
    return [_price(*key, found) for key, found in sorted(regrets.items(), key=lambda item: item[0])]


def _price(rule: str, parties: int, epsilon: float, regrets: Sequence[Sequence[float]]) -> PriceOfNoise:
    every = [regret for draws in regrets for regret in draws]
    low, middle, high = quartiles(every)
    return PriceOfNoise(rule, parties, epsilon, len(regrets), middle, low, high, float(np.mean(np.array(every) > 1)))


def _regret(table: Floats, config: Config, default: Config) -> float:
    """Return the regret of a config: 0 is the best of the table, 1 the default."""
    return relative_regret(-float(table.min()), -_loss_at(table, config), -_loss_at(table, default))


def _loss_at(table: Floats, config: Config) -> float:
    """Return a config's loss, interpolated on a log scale between its neighbours in the table."""
    weights = []
    for name, axis in AXES.items():
        place = float(np.interp(np.log(config[name]), np.log(axis), np.arange(len(axis))))
        weights.append(np.maximum(0.0, 1.0 - np.abs(np.arange(len(axis)) - place)))
    return float(weights[0] @ table @ weights[1])


def show_prices(lines: Sequence[PriceOfNoise], console: Console) -> None:
    """Print a line for each rule and number of parties, a column for each epsilon."""
    epsilons = sorted({line.epsilon for line in lines}, key=lambda epsilon: (epsilon == 0, epsilon))
    heads = ["no noise" if epsilon == 0 else f"{epsilon:g}" for epsilon in epsilons]
    table = table_of_numbers("Median regret by epsilon; in brackets the share of draws worse than the default", heads)
    for rule, parties in sorted({(line.rule, line.parties) for line in lines}):
        own = {line.epsilon: line for line in lines if (line.rule, line.parties) == (rule, parties)}
        shown = [f"{number(own[each].median, 2)} ({100 * own[each].worse:.0f} %)" for each in epsilons]
        table.add_row(f"{rule}, {parties} parties", *shown)
    console.print(table)
