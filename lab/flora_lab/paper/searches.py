"""The searches of the tables' cells, and the rows that they are made on.

The protocol is the authors' (as_published.py), however the rows are dealt out. In the testbed a share of the rows is
held out, and each party draws its own rows at random from the rest, as in the paper: two parties may draw the same row,
and on oil spill they must, for 3 x 200 rows are drawn from 562. Ours: the held-out rows are stratified (oil spill has
41 rows of class 1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flora.problem.plan import SearchPlan
from flora.problem.trials import PartyTrials
from flora.randomness import derived_seed, stream
from flora_lab.cells import Cell, Protocol
from flora_lab.datasets import TARGET, declared, load
from flora_lab.paper.as_published import SEED, SPLIT, AuthorsModel, FoldedRows, rows_of, shares
from flora_lab.paper.boxes import box_of
from flora_lab.paper.published import TESTBED
from flora_lab.pieces import POOLED, Bench, keep, search_work, searched

SCORING = "balanced_accuracy"


@dataclass(frozen=True)
class PaperSearch:
    """One search: a party's, or the centralised one."""

    cell: Cell
    party: str
    sampler: str = "tpe"

    @property
    def name(self) -> str:
        """Its name in the store."""
        if self.party == POOLED:
            return f"searches/{self.cell.family}-{self.cell.dataset}-{self.sampler}"
        return f"searches/{self.cell.searches}-{self.party}"

    def compute(self, bench: Bench) -> dict[str, Any]:
        """Return its trials, as they would leave a party."""
        model = AuthorsModel.of(self.cell.family)
        return searched(self.plan(bench.protocol), self.rows(bench), self.party, bench.storage(self.name), model)

    @property
    def size(self) -> int:
        """The number of rows, about."""
        rows = declared(self.cell.dataset).rows
        if self.party == POOLED:
            return rows
        return TESTBED[self.cell.dataset].rows if in_testbed(self.cell) else rows // self.cell.parties

    def work(self, bench: Bench) -> tuple[float, float]:
        """Return how much work it is, and which part of it is done."""
        return search_work(self.plan(bench.protocol).trials, self.size, bench.storage(self.name))

    def trials(self, bench: Bench) -> PartyTrials:
        """Return its trials; they are computed once."""
        return PartyTrials.from_document(keep(self, bench))

    def rows(self, bench: Bench) -> FoldedRows:
        """Return the rows that are searched on, with their folds."""
        whole = rows_of(load(self.cell.dataset, bench.data), TARGET, self.cell.family)
        if self.party != POOLED:
            whole = whole.take(tables_of(self.cell, bench.data)[self.party].index.to_numpy())
        return FoldedRows(whole.X, whole.y, whole.schema, parts=bench.protocol.folds)

    def plan(self, protocol: Protocol) -> SearchPlan:
        """Return what is searched."""
        pooled = {"tpe": protocol.central, "random": protocol.random} if self.party == POOLED else {}
        return plan_of(self.cell, protocol, pooled.get(self.sampler) or protocol.trials, self.sampler)


def home_of(cell: Cell) -> Cell:
    """Return the cell of the centralised searches, which are the same however the rows are dealt out."""
    return Cell(cell.family, cell.dataset, seed=SEED)


def searches_of(cells: Sequence[Cell], bench: Bench) -> list[PaperSearch]:
    """Return the searches that the cells need, each once, and the pooled ones first: they take longest."""
    shared = {replace(cell, trials=None, send=None) for cell in cells}
    pooled = {home_of(cell) for cell in shared if not in_testbed(cell)}
    found = [PaperSearch(cell, POOLED, sampler) for cell in _sorted(pooled) for sampler in ("tpe", "random")]
    return found + [PaperSearch(cell, party) for cell in _sorted(shared) for party in tables_of(cell, bench.data)]


def plan_of(cell: Cell, protocol: Protocol, trials: int, sampler: str = "tpe") -> SearchPlan:
    """Return a search in the cell's box, where a trial is one pair, as in the paper."""
    space, folds = box_of(cell.family, cell.box), protocol.folds
    plan = SearchPlan(cell.family, "classification", space, SCORING, trials, folds, sampler, seed=cell.seed)
    return replace(plan, paths=False)


def tables_of(cell: Cell, data: Path | None) -> Mapping[str, pd.DataFrame]:
    """Return each party's rows."""
    if in_testbed(cell):
        return drawn(cell, data)[1]
    return dealt(cell, data) if cell.split == SPLIT else cell.tables(data)


def dealt(cell: Cell, data: Path | None) -> Mapping[str, pd.DataFrame]:
    """Return each party's rows, dealt out as the authors did."""
    table, width = load(cell.dataset, data), len(str(cell.parties))
    places = shares(table[TARGET].to_numpy(), cell.parties, cell.seed)
    return {f"party-{k:0{width}d}": table.iloc[share] for k, share in enumerate(places, 1)}


def in_testbed(cell: Cell) -> bool:
    """Whether the cell's parties draw their rows, as in the testbed."""
    return cell.dataset in TESTBED and cell.split == TESTBED[cell.dataset].split


def drawn(cell: Cell, data: Path | None) -> tuple[pd.DataFrame, Mapping[str, pd.DataFrame]]:
    """Return the rows of a testbed that are held out, and each party's."""
    from sklearn.model_selection import train_test_split

    table, sizes = load(cell.dataset, data), TESTBED[cell.dataset]
    rest, held = train_test_split(
        table,
        test_size=sizes.held_out,
        stratify=table[TARGET],
        random_state=derived_seed(cell.seed, "testbed", "held out"),
    )
    names = [f"party-{k + 1}" for k in range(sizes.parties)]
    return held, {name: _drawn(rest, sizes.rows, stream(cell.seed, "testbed", name)) for name in names}


def _drawn(table: pd.DataFrame, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    return table.iloc[np.sort(rng.choice(len(table), rows, replace=False))]


def _sorted(cells: set[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: cell.name)
