"""``flora paper``: options in, a table out."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import Console

from flora.console import piece_bar, show_aggregate, show_comparison, show_testbed
from flora.errors import InputError
from flora.experiments import testbed
from flora.experiments.aggregate import from_cells, from_published_cells
from flora.experiments.cells import QUICK, Cell, Protocol, cells_of
from flora.experiments.compare import compare, compare_beds, to_csv
from flora.experiments.run import Bench, CellRow, Piece, missing, read_row, run, searches_of
from flora.result import write_whole

Document = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One table to be made: where, of which rows, and the searches that these need."""

    table: str
    bench: Bench
    rows: Sequence[Piece]
    searches: Callable[[], Sequence[Piece]]  # to list them, the datasets must be at hand


def paper(options: Namespace, messages: Console) -> Document:
    """Rerun a table of the paper, and show it beside the paper's own."""
    if options.published:
        if options.table != "aggregate":
            raise InputError(f"--published goes with the table aggregate, got {options.table}")
        document = {"table": "aggregate", "rows": from_published_cells()}
    else:
        document = _rerun(_job(options.table, options), options, messages)
    if not options.json:
        _show(document)
    if options.csv:
        write_whole(options.csv, to_csv([document]).encode())
    return document


def _job(table: str, options: Namespace) -> Job:
    protocol = _protocol(table, options)
    bench = Bench(options.results, options.results / ".work", options.data, protocol)
    if table == "testbed":
        if options.split != "iid":
            raise InputError(f"table testbed: its parties draw rows at random (iid), got --split {options.split}")
        beds = testbed.beds_of(datasets=options.dataset, splits=options.splits, box=options.box)
        return Job(table, bench, [testbed.BedRow(bed) for bed in beds], lambda: testbed.searches_of(beds))
    cells = _cells(table, protocol, options)
    return Job(table, bench, [CellRow(cell) for cell in cells], lambda: searches_of(cells, bench))


def _cells(table: str, protocol: Protocol, options: Namespace) -> list[Cell]:
    """Return a table's cells, but for those of more trials than the protocol has."""
    tables = ("hgb", "svm", "mlp") if table == "aggregate" else (table,)
    chosen = {"datasets": options.dataset, "splits": options.splits, "split": options.split, "box": options.box}
    cells = [cell for name in tables for cell in cells_of(name, **chosen)]
    return [cell for cell in cells if max(cell.trials or 1, cell.send or 1) <= protocol.trials]


def _protocol(table: str, options: Namespace) -> Protocol:
    given = {"trials": options.trials, "folds": options.cv, "central": options.central, "random": options.random}
    thorough = Protocol(trials=testbed.TRIALS) if table == "testbed" else Protocol()
    start = QUICK if options.quick else thorough
    return replace(start, **{name: value for name, value in given.items() if value is not None})


def _rerun(job: Job, options: Namespace, messages: Console) -> Document:
    stages = [job.searches(), job.rows]
    count = sum(len(missing(pieces, job.bench)) for pieces in stages)
    with piece_bar(count, f"table {job.table}", messages) as advance:
        for _ in run(stages, job.bench, options.jobs):
            advance()
    rows = [read_row(row, job.bench) for row in job.rows]
    make = {"aggregate": from_cells, "testbed": compare_beds}.get(job.table, compare)
    local = {"protocol": job.bench.protocol.local} if job.table == "testbed" else {"protocol": job.bench.protocol.name}
    return {
        "table": job.table,
        **local,
        "settings": asdict(job.bench.protocol),
        "quick": options.quick,
        "rows": make(rows),
    }


def _show(document: Document) -> None:
    console = Console()
    if document["table"] == "aggregate":
        show_aggregate(document["rows"], console)
    elif document["table"] == "testbed":
        show_testbed(document["rows"], document["protocol"], console)
    else:
        show_comparison(document["rows"], document["protocol"], console)
