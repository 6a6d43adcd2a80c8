"""The searches and the rows of the tables' cells.

The protocol, where the paper is silent, is DESIGN's and ours: SVM and MLP see features scaled to [0, 1] before the
rows are dealt out, parties are the folds of a stratified K-fold, a loss is 1 minus the mean balanced accuracy over the
folds, and the federated training is emulated by a pooled one, scored on the folds of the centralised search.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flora.confirm import confirm, measure
from flora.experiments.boxes import recommended, space_of
from flora.experiments.cells import SEED, Cell, Protocol
from flora.experiments.datasets import DATASETS, TARGET, load
from flora.experiments.pieces import FIT, ROW, Bench, keep, search_work, searched, to_bytes
from flora.experiments.published import SURFACES
from flora.experiments.statistics import relative_regret
from flora.models import family_of
from flora.plan import Sampler, SearchPlan
from flora.result import versions
from flora.schema import Schema
from flora.space import Config
from flora.split import split
from flora.table import Rows, describe, encode
from flora.trials import PartyTrials
from flora.verdict import gamma

SCORING = "balanced_accuracy"
POOLED = "all rows"


@dataclass(frozen=True)
class Search:
    """One search: a party's, or the centralised one."""

    cell: Cell
    party: str
    sampler: Sampler = "tpe"

    @property
    def name(self) -> str:
        """The name of its file."""
        if self.party == POOLED:
            return f"{self.cell.family}-{self.cell.dataset}-{self.sampler}"
        return f"{self.cell.searches}-{self.party}"

    def file(self, bench: Bench) -> Path:
        """Return the file of its trials."""
        return bench.results / bench.protocol.name / "searches" / f"{self.name}.json"

    def compute(self, bench: Bench) -> bytes:
        """Return its trials, as they would leave a party."""
        return searched(self._plan(bench.protocol), self._rows(bench.data), self.party, self._storage(bench))

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is, and which part of it is done."""
        rows = DATASETS[self.cell.dataset].rows // (1 if self.party == POOLED else self.cell.parties)
        return search_work(self._plan(bench.protocol).trials, rows, self._storage(bench))

    def trials(self, bench: Bench) -> PartyTrials:
        """Return its trials; they are computed once."""
        return PartyTrials.read(keep(self, bench))

    def _storage(self, bench: Bench) -> Path:
        return bench.work / f"{bench.protocol.name}-{self.name}.db"

    def _rows(self, data: Path | None) -> Rows:
        whole = table_of(self.cell.dataset, data)
        schema = _schema(self.cell, data)
        if self.party == POOLED:
            return encode(whole, schema)
        return encode(split(whole, TARGET, self.cell.parties, self.cell.split, self.cell.seed)[self.party], schema)

    def _plan(self, protocol: Protocol) -> SearchPlan:
        trials = {"tpe": protocol.central, "random": protocol.random} if self.party == POOLED else {}
        return _plan(self.cell, protocol, trials.get(self.sampler, protocol.trials), self.sampler)


@dataclass(frozen=True)
class CellRow:
    """A cell's row of numbers, which follows from its searches."""

    cell: Cell

    def file(self, bench: Bench) -> Path:
        """Return the file of the row."""
        return bench.results / bench.protocol.name / "cells" / f"{self.cell.name}.json"

    def compute(self, bench: Bench) -> bytes:
        """Return the row."""
        return to_bytes(_row(self.cell, bench))

    def work(self, bench: Bench) -> tuple[float, float]:  # noqa: ARG002  (a row is as much work with any protocol)
        """Return how much work it is: configs on all rows. There are no parts of it."""
        return float(ROW * (DATASETS[self.cell.dataset].rows + FIT)), 0.0


def searches_of(cells: Sequence[Cell], bench: Bench) -> list[Search]:
    """Return the searches that the cells need, each once, and the pooled ones first: they take longest."""
    shared = {replace(cell, trials=None, send=None) for cell in cells}
    pooled = {Cell(cell.family, cell.dataset) for cell in shared}
    found = [Search(cell, POOLED, sampler) for cell in _sorted(pooled) for sampler in ("tpe", "random")]
    found += [Search(cell, party) for cell in _sorted(shared) for party in _parties(cell, bench.data)]
    return found


def _row(cell: Cell, bench: Bench) -> dict[str, Any]:
    home = Cell(cell.family, cell.dataset)
    central, chance = (Search(home, POOLED, sampler).trials(bench) for sampler in ("tpe", "random"))
    parties = [_cut(Search(cell, party).trials(bench), cell) for party in _parties(cell, bench.data)]
    whole = [Search(cell, party).trials(bench) for party in _parties(cell, bench.data)]
    default, best = 1 - central.trials[0].loss, 1 - central.best.loss
    fresh_default, fresh_best = _on_fresh_folds(home, central.best.config, bench)
    local = [1 - party.best.loss for party in whole]
    return {
        **asdict(cell),
        "protocol": asdict(bench.protocol),
        "baseline": default,
        "best": best,
        "fresh_baseline": fresh_default,
        "fresh_best": fresh_best,
        "worst_party": min(local),
        "best_party": max(local),
        "gamma": gamma(whole),
        "surfaces": {name: _recommended(name, parties, home, bench, (default, best), chance) for name in SURFACES},
        "versions": versions(),
    }


def _recommended(
    name: str, parties: Sequence[PartyTrials], home: Cell, bench: Bench, ends: tuple[float, float], chance: PartyTrials
) -> dict[str, Any]:
    """Return what a surface recommends, its pooled score and regret, and the random trainings that would match it."""
    config = recommended(parties, home.family, name, SEED)
    plan, rows = _plan(home, bench.protocol, 1), Search(home, POOLED)._rows(bench.data)
    [outcome] = measure(rows, plan, family_of(home.family), [config], party=POOLED, purpose="search")
    score = 1 - outcome.loss_and_error()[0]
    default, best = ends
    as_good = sum(1 - trial.loss >= score for trial in chance.trials)
    return {
        "config": dict(config),
        "score": score,
        "regret": relative_regret(best, score, default) if best > default else None,
        "trainings": (len(chance.trials) + 1) / (as_good + 1),  # the first of as_good among all, on average
    }


def _on_fresh_folds(home: Cell, best: Config, bench: Bench) -> tuple[float, float]:
    """Return the scores of the default and the centralised best on folds that the search has not seen."""
    plan, rows = _plan(home, bench.protocol, 1), Search(home, POOLED)._rows(bench.data)
    measured = confirm(rows, plan, family_of(home.family), [best], party=POOLED)
    return 1 - measured[0].trial.loss, 1 - measured[1].trial.loss


def _plan(cell: Cell, protocol: Protocol, trials: int, sampler: Sampler = "tpe") -> SearchPlan:
    space = space_of(cell.family, cell.box)
    plan = SearchPlan(cell.family, "classification", space, SCORING, trials, protocol.folds, sampler, seed=cell.seed)
    return replace(plan, paths=False)  # a trial is one pair, as in the paper


def _cut(trials: PartyTrials, cell: Cell) -> PartyTrials:
    first = replace(trials, trials=trials.trials[: cell.trials]) if cell.trials else trials
    return first.keep_best(cell.send) if cell.send else first


def _parties(cell: Cell, data: Path | None) -> list[str]:
    return list(split(table_of(cell.dataset, data), TARGET, cell.parties, cell.split, cell.seed))


@cache
def table_of(dataset: str, data: Path | None) -> pd.DataFrame:
    """Return a dataset, which is read once."""
    return load(dataset, data)


def _schema(cell: Cell, data: Path | None) -> Schema:
    """Return the columns; for svm and mlp with the whole table's ranges, which are then scaled to [0, 1]."""
    table = table_of(cell.dataset, data)
    schema = describe(table, TARGET)
    if cell.family == "hgb":
        return schema
    ends = {name: (float(np.min(table[name])), float(np.max(table[name]))) for name in schema.names}
    scaled = tuple(replace(c, low=ends[c.name][0], high=ends[c.name][1]) for c in schema.columns)
    return replace(schema, columns=scaled)


def _sorted(cells: set[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: cell.name)
