"""Runs cells. Each search and each row is a file; a run computes what is not there, so it goes on where it stopped.

The protocol, where the paper is silent, is DESIGN's and ours: SVM and MLP see features scaled to [0, 1] before the
rows are dealt out, parties are the folds of a stratified K-fold, a loss is 1 minus the mean balanced accuracy over the
folds, and the federated training is emulated by a pooled one, scored on the folds of the centralised search.
"""

import json
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flora.confirm import confirm, measure
from flora.experiments.boxes import recommended, space_of
from flora.experiments.cells import SEED, Cell, Protocol
from flora.experiments.datasets import TARGET, load
from flora.experiments.machine import note_machine
from flora.experiments.published import SURFACES
from flora.experiments.statistics import relative_regret
from flora.models import family_of
from flora.plan import Sampler, SearchPlan
from flora.result import versions, write_whole
from flora.schema import Schema
from flora.search import search_locally
from flora.space import Config
from flora.split import split
from flora.table import Rows, describe, encode
from flora.trials import PartyTrials
from flora.verdict import gamma

SCORING = "balanced_accuracy"
POOLED = "all rows"


@dataclass(frozen=True)
class Bench:
    """Where results are kept, what they are computed from, and how thoroughly."""

    results: Path  # small files, one a search and one a row
    work: Path  # searches that are under way
    data: Path | None
    protocol: Protocol


class Piece(typing.Protocol):
    """A result that is computed once and kept as a file."""

    def file(self, bench: Bench) -> Path:
        """Return the file that keeps it."""
        ...

    def compute(self, bench: Bench) -> bytes:
        """Return what is to be kept."""
        ...


def keep(piece: Piece, bench: Bench) -> Path:
    """Return the file of a piece, which is computed if it is not there."""
    file = piece.file(bench)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, piece.compute(bench))
        note_machine(bench.results)
    return file


def run(stages: Sequence[Sequence[Piece]], bench: Bench, jobs: int) -> Iterator[None]:
    """Do what is missing, a stage after the other, with joblib's workers; yield after each piece."""
    from joblib import Parallel, delayed

    for pieces in stages:
        work = [delayed(_keep_alone)(piece, bench) for piece in missing(pieces, bench)]
        for _ in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
            yield


def _keep_alone(piece: Piece, bench: Bench) -> None:
    """Compute a piece in one worker: dask would send out each tree of a forest."""
    from joblib import parallel_config

    with parallel_config(backend="sequential"):
        keep(piece, bench)


def missing(pieces: Sequence[Piece], bench: Bench) -> list[Piece]:
    """Return the pieces that are not there yet."""
    return [piece for piece in pieces if not piece.file(bench).exists()]


def read_row(row: Piece, bench: Bench) -> dict[str, Any]:
    """Return a row of numbers, computed if it is not there; the first rows did not name their box."""
    return {"box": "published", **json.loads(keep(row, bench).read_bytes())}


def to_bytes(row: Mapping[str, Any]) -> bytes:
    """Return a row as it is kept."""
    return (json.dumps(row, indent=1, allow_nan=False) + "\n").encode()


def searched(plan: SearchPlan, rows: Rows, party: str, storage: Path) -> bytes:
    """Return the trials of a search, which goes on where a killed one stopped."""
    storage.parent.mkdir(parents=True, exist_ok=True)
    found = search_locally(rows, plan, family_of(plan.family), party=party, storage=storage)
    return found.to_json().encode()


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
        storage = bench.work / f"{bench.protocol.name}-{self.name}.db"
        return searched(self._plan(bench.protocol), self._rows(bench.data), self.party, storage)

    def trials(self, bench: Bench) -> PartyTrials:
        """Return its trials; they are computed once."""
        return PartyTrials.read(keep(self, bench))

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
