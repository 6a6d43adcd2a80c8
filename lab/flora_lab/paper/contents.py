"""The paper's tables as data: each is a list of cells."""

from collections.abc import Sequence
from dataclasses import replace

from flora.errors import InputError
from flora.problem.plan import at_least
from flora_lab.cells import Cell, Protocol
from flora_lab.paper.as_published import SEED, SPLIT
from flora_lab.paper.published import COMMUNICATION, COMPARISON, PARTIES, ROUNDS, TESTBED

TABLES = ("hgb", "svm", "mlp", "aggregate", "parties", "rounds", "communication", "testbed")
THOROUGH = Protocol(trials=100, folds=10, central=600, random=60)  # the paper's
THOROUGH_TESTBED = Protocol(trials=500, folds=10)
QUICK = Protocol(trials=20, folds=3, central=60, random=30)


def cells_of(
    table: str, *, datasets: Sequence[str] = (), splits: int = 1, split: str = SPLIT, box: str = "published"
) -> list[Cell]:
    """Return the cells of a table, for each of ``splits`` ways to deal the rows out, of which the first has SEED."""
    at_least("splits", splits, 1)
    known = datasets_of(table)
    for name in datasets:
        if name not in known:
            raise InputError(f"table {table}: has no dataset {name!r}, it has {sorted(known)}")
    if table == "testbed" and split != SPLIT:
        raise InputError(f"table testbed: its parties draw rows at random, got --split {split}")
    return [
        replace(cell, split=cell.split if table == "testbed" else split, seed=SEED + k, box=box)
        for cell in _rows_of(table)
        if cell.dataset in (datasets or known)
        for k in range(splits)
    ]


def datasets_of(table: str) -> list[str]:
    """Return the datasets that a table has, in its order."""
    return list(dict.fromkeys(cell.dataset for cell in _rows_of(table)))


def _rows_of(table: str) -> list[Cell]:
    if table == "parties":
        return [Cell("hgb", dataset, p) for dataset, p in PARTIES]
    if table == "rounds":
        return [Cell(family, dataset, trials=t) for family, dataset, t in ROUNDS]
    if table == "communication":
        return [Cell(family, dataset, send=t) for family, dataset, t in COMMUNICATION]
    if table == "testbed":
        return [Cell("hgb", dataset, bed.parties, bed.split) for dataset, bed in TESTBED.items()]
    families = COMPARISON if table == "aggregate" else (table,)
    return [Cell(family, dataset) for family in families for dataset in COMPARISON[family]]
