"""The paper's tables as data: a table is a list of cells, and a cell is all that decides a row of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flora.errors import InputError
from flora.experiments.published import COMMUNICATION, COMPARISON, PARTIES, ROUNDS, TESTBED

TABLES = ("hgb", "svm", "mlp", "aggregate", "parties", "rounds", "communication", "testbed")
SEED = 5489  # the paper's, of its one split; ours count on from it


@dataclass(frozen=True)
class Protocol:
    """How thorough a run is. The paper's is the default; a quick one is marked as such wherever it shows."""

    trials: int = 100  # T, at each party
    folds: int = 10
    central: int = 600  # trials of the centralised search that "best" comes from
    random: int = 60  # random trainings on all rows, for the count of trainings that multi-shot search needs

    def __post_init__(self) -> None:
        least = {"trials": 1, "cv": 2, "central": 1, "random": 1}
        for (name, lowest), value in zip(
            least.items(), (self.trials, self.folds, self.central, self.random), strict=True
        ):
            if value < lowest:
                raise InputError(f"--{name} must be a whole number of at least {lowest}, got {value}")

    @property
    def local(self) -> str:
        """What it asks of the parties alone."""
        return f"T{self.trials}-k{self.folds}"

    @property
    def name(self) -> str:
        """The folder of its results."""
        return f"{self.local}-c{self.central}-r{self.random}"


QUICK = Protocol(trials=20, folds=3, central=60, random=30)


@dataclass(frozen=True)
class Cell:
    """One row of a table: everything that decides it, and nothing else."""

    family: str
    dataset: str
    parties: int = 3
    split: str = "iid"
    seed: int = SEED
    trials: int | None = None  # a smaller T than the protocol's
    send: int | None = None  # the paper's T'
    box: str = "published"  # what the parties search; the surface is minimised in the published box

    @property
    def searches(self) -> str:
        """The name of the parties' searches, which cells of different T and T' share."""
        deal = f"{self.family}-{self.dataset}-p{self.parties}-{self.split.replace(':', '')}-s{self.seed}"
        return deal if self.box == "published" else f"{deal}-{self.box}"

    @property
    def name(self) -> str:
        """The name of the cell's own result."""
        return self.searches + (f"-T{self.trials}" if self.trials else "") + (f"-send{self.send}" if self.send else "")


def cells_of(
    table: str, *, datasets: Sequence[str] = (), splits: int = 1, split: str = "iid", box: str = "published"
) -> list[Cell]:
    """Return the cells of a table, for each of ``splits`` ways to deal the rows out."""
    rows = _rows_of(table)
    chosen = choose(table, datasets, splits)
    return [
        replace(cell, split=split, seed=SEED + k, box=box)
        for cell in rows
        if cell.dataset in chosen
        for k in range(splits)
    ]


def datasets_of(table: str) -> list[str]:
    """Return the datasets that a table has, in its order."""
    return list(TESTBED) if table == "testbed" else list(dict.fromkeys(cell.dataset for cell in _rows_of(table)))


def choose(table: str, datasets: Sequence[str], splits: int) -> list[str]:
    """Return the datasets that are asked for, or all; raise where the table has not got them."""
    if splits < 1:
        raise InputError(f"splits must be a whole number of at least 1, got {splits}")
    for name in datasets:
        if name not in datasets_of(table):
            raise InputError(f"table {table}: has no dataset {name!r}, it has {sorted(datasets_of(table))}")
    return list(datasets or datasets_of(table))


def _rows_of(table: str) -> list[Cell]:
    if table == "parties":
        return [Cell("hgb", dataset, p) for dataset, p in PARTIES]
    if table == "rounds":
        return [Cell(family, dataset, trials=t) for family, dataset, t in ROUNDS]
    if table == "communication":
        return [Cell(family, dataset, send=t) for family, dataset, t in COMMUNICATION]
    families = COMPARISON if table == "aggregate" else (table,)
    return [Cell(family, dataset) for family in families for dataset in COMPARISON[family]]
