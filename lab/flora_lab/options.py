"""The options that several of the laboratory's commands share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.cli.arguments import add_json
from flora.cli.parsed import check_jobs
from flora.cli.table_arguments import add_jobs
from flora.core.files import write_whole
from flora.errors import InputError
from flora_lab.cells import Protocol
from flora_lab.datasets import data_folder
from flora_lab.pieces import Bench

RESULTS = Path("results")


@dataclass(frozen=True)
class RunOptions:
    """From which data to which results, and what else comes of them."""

    data: Path | None
    results: Path
    stored: bool
    csv: Path | None
    jobs: int
    json: bool

    def __post_init__(self) -> None:
        check_jobs(self.jobs)
        check_folder_of(self.csv)

    def bench(self, experiment: str, protocol: Protocol) -> Bench:
        """Return where the results of a protocol are."""
        return Bench(self.results.absolute(), experiment, data_folder(self.data), protocol)

    def write_csv(self, text: str) -> None:
        """Write the table, if so wished."""
        if self.csv:
            write_whole(self.csv, text.encode())


def check_folder_of(file: Path | None) -> None:
    """Raise where a file could not be written: better said before a run than after it."""
    if file and not file.absolute().parent.is_dir():
        raise InputError(f"{file}: its folder is not there")


def add_results(parser: Any) -> None:
    """Add the folder of results."""
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="(%(default)s)")


def add_run(parser: Any, data: str) -> None:
    """Add what :class:`RunOptions` has; ``data`` says which folder is meant."""
    parser.add_argument("--data", type=Path, metavar="DIR", help=data)
    parser.add_argument("--dataset", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    add_results(parser)
    parser.add_argument("--stored", action="store_true", help="show what is stored already, and compute nothing")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table there too")
    add_jobs(parser)
    add_json(parser, "the table")
