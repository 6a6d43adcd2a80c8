"""What was typed, as records: a field for each option, and each default stated once, where the program has it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flora.aggregator.evidence import Objective
from flora.aggregator.surface import SurfaceChoice
from flora.cli.parsed import check_jobs
from flora.party.tables.format import Say, TableFormat
from flora.problem.family import PAPER
from flora.problem.schema import Schema, Task
from flora.problem.space_formats import read_space
from flora.program.request import Request

if TYPE_CHECKING:
    from flora.party.tables.table import Table

IID = "iid"  # how a table is split, unless a run says otherwise


@dataclass(frozen=True)
class TableOptions:
    """The columns of a party's table."""

    target: str | None
    drop: tuple[str, ...]
    schema: Path | None
    format: TableFormat = field(default_factory=TableFormat)

    def consortium_schema(self) -> Schema | None:
        """Return the schema that the consortium gives, if it does."""
        return Schema.read(self.schema) if self.schema else None

    def open(self, path: str, say: Say) -> "Table":
        """Return a party's table from its file."""
        from flora.party.tables.table import open_table

        return open_table(path, str(self.target), self.drop, self.format, like=self.consortium_schema(), say=say)


@dataclass(frozen=True)
class SearchOptions:
    """The local search: fields of a request, but for its schema."""

    family: str
    space: str | None
    aggregator_hps: bool
    trials: int
    seconds: float | None
    send: int | None
    folds: int
    task: Task | None
    scoring: str | None
    positive: str | None
    sampler: str
    race: bool
    seed: int

    def request(self, table: TableOptions, **more: Any) -> Request:
        """Return what these options ask for; ``more`` are the fields that they say nothing of."""
        asked = {**vars(self), "space": _space(self.space), "schema": table.consortium_schema()}
        return Request(**asked, **more)


@dataclass(frozen=True)
class SurfaceOptions:
    """The loss surface."""

    surface: str | None
    regressor: str
    alpha: float
    weights: str
    objective: Objective

    def choice(self) -> SurfaceChoice:
        """Return the surface that is asked for; the worst-off party has one of its own."""
        usual = "mplm" if self.objective == "worst" else SurfaceChoice.name
        return SurfaceChoice(self.surface or usual, self.regressor, self.alpha, self.weights)


@dataclass(frozen=True)
class WorkOptions:
    """How the work is done, and where its result goes."""

    out: Path
    jobs: int
    json: bool
    typed: str  # the command line, as it can be repeated

    def __post_init__(self) -> None:
        check_jobs(self.jobs)


def stem(path: str) -> str:
    """Return a party's name by its file's, or by its database's table.

    >>> stem("in/St. Thomas.csv"), stem("ward.1.csv.gz"), stem("ward.2.parquet"), stem(".csv")
    ('St. Thomas', 'ward.1', 'ward.2', '.csv')
    """
    if "://" in path:
        from flora.party.tables.database import name_of_database

        return name_of_database(path)
    return Path(Path(path).name.removesuffix(".gz")).stem or Path(path).name


def _space(given: str | None) -> Any:
    """Return a space of the user's own as JSON, or the name of one of the family's."""
    return given if given is None or given == PAPER else read_space(given)
