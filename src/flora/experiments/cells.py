"""The paper's tables as data: a table is a list of cells, and a cell is all that decides a row of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flora.errors import InputError
from flora.experiments.published import COMMUNICATION, COMPARISON, PARTIES, ROUNDS

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
    if splits < 1:
        raise InputError(f"splits must be a whole number of at least 1, got {splits}")
    rows = [cell for name in ("hgb", "svm", "mlp") if table == name for cell in _comparison(name)]
    rows += [Cell("hgb", dataset, p) for dataset, p in PARTIES] if table == "parties" else []
    rows += [Cell(family, dataset, trials=t) for family, dataset, t in ROUNDS] if table == "rounds" else []
    rows += [Cell(family, dataset, send=t) for family, dataset, t in COMMUNICATION] if table == "communication" else []
    unknown = sorted(set(datasets) - {cell.dataset for cell in rows})
    if unknown:
        raise InputError(f"table {table}: has no dataset {unknown[0]!r}, it has {sorted({c.dataset for c in rows})}")
    kept = [cell for cell in rows if not datasets or cell.dataset in datasets]
    return [replace(cell, split=split, seed=SEED + k, box=box) for cell in kept for k in range(splits)]


def _comparison(family: str) -> list[Cell]:
    return [Cell(family, dataset) for dataset in COMPARISON[family]]
