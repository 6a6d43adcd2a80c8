"""``flora paper``: options in, a table out."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import Console

from flora.core.files import write_whole
from flora.errors import InputError
from flora.outcome.console import show_aggregate, show_comparison, show_testbed, work_bar
from flora_lab.paper import testbed
from flora_lab.paper.aggregate import from_cells, from_published_cells
from flora_lab.paper.backends import backend
from flora_lab.paper.cells import QUICK, TABLES, Protocol, cells_of, datasets_of
from flora_lab.paper.compare import compare, compare_beds, to_csv
from flora_lab.paper.datasets import DATASETS, folder
from flora_lab.paper.page import page
from flora_lab.paper.pieces import Bench, Piece, missing, read_row, run, work_done
from flora_lab.paper.run import CellRow, searches_of

Document = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One table to be made: where, of which rows, and the searches that these need."""

    table: str
    bench: Bench
    rows: Sequence[Piece]
    searches: Callable[[], Sequence[Piece]]  # to list them, the datasets must be at hand


def paper(options: Namespace, messages: Console) -> Document:
    """Rerun a table of the paper, or all of them, and show it beside the paper's own."""
    for out in filter(None, (options.csv, options.markdown)):
        if not out.absolute().parent.is_dir():  # better said before the run than after it
            raise InputError(f"{out}: its folder is not there")
    if options.published:
        if options.table != "aggregate":
            raise InputError(f"--published goes with the table aggregate, got {options.table}")
        documents: list[Document] = [{"table": "aggregate", "rows": from_published_cells()}]
    else:
        jobs = [_job(table, datasets, options) for table, datasets in _asked(options)]
        with nullcontext() if options.stored else backend(options.backend):
            documents = [_rerun(job, options, messages) for job in jobs]
    if not options.json:
        for document in documents:
            _show(document, Console())
    if options.csv:
        write_whole(options.csv, to_csv(documents).encode())
    if options.markdown:
        write_whole(options.markdown, page(options.results, [document["table"] for document in documents]).encode())
    return {"tables": documents} if options.table == "all" else documents[0]


def _asked(options: Namespace) -> list[tuple[str, Sequence[str]]]:
    """Return the tables that are asked for with their datasets; of all, those that have something of what is asked."""
    if options.table != "all":
        return [(options.table, options.dataset)]
    for name in options.dataset:
        if not any(name in datasets_of(table) for table in TABLES):
            raise InputError(f"no table has the dataset {name!r}, there are {list(DATASETS)}")
    tables = [table for table in TABLES if table != "testbed" or options.split == "iid"]
    chosen = {table: [name for name in options.dataset if name in datasets_of(table)] for table in tables}
    return [(table, datasets) for table, datasets in chosen.items() if datasets or not options.dataset]


def _job(table: str, datasets: Sequence[str], options: Namespace) -> Job:
    protocol = _protocol(table, options)
    bench = Bench(options.results.absolute(), options.results.absolute() / ".work", folder(options.data), protocol)
    splits = options.splits if options.splits is not None else 2 if options.quick else 5
    if table == "testbed":
        if options.split != "iid":
            raise InputError(f"table testbed: its parties draw rows at random (iid), got --split {options.split}")
        beds = testbed.beds_of(datasets=datasets, splits=splits, box=options.box)
        return Job(table, bench, [testbed.BedRow(bed) for bed in beds], lambda: testbed.searches_of(beds))
    cells = cells_of(table, datasets=datasets, splits=splits, split=options.split, box=options.box)
    within = [cell for cell in cells if max(cell.trials or 1, cell.send or 1) <= protocol.trials]
    return Job(table, bench, [CellRow(cell) for cell in within], lambda: searches_of(within, bench))


def _protocol(table: str, options: Namespace) -> Protocol:
    given = {"trials": options.trials, "folds": options.cv, "central": options.central, "random": options.random}
    thorough = Protocol(trials=testbed.TRIALS) if table == "testbed" else Protocol()
    start = QUICK if options.quick else thorough
    return replace(start, **{name: value for name, value in given.items() if value is not None})


def _rerun(job: Job, options: Namespace, messages: Console) -> Document:
    if not options.stored:
        stages = [missing(pieces, job.bench) for pieces in (job.searches(), job.rows)]
        pieces = [piece for stage in stages for piece in stage]
        with work_bar(f"table {job.table}", lambda: work_done(pieces, job.bench), messages):
            for _ in run(stages, job.bench, options.jobs):
                pass
    absent = missing(job.rows, job.bench)
    rows = [read_row(row, job.bench) for row in job.rows if row not in absent]
    make = {"aggregate": from_cells, "testbed": compare_beds}.get(job.table, compare)
    protocol = job.bench.protocol
    return {
        "table": job.table,
        "protocol": protocol.local if job.table == "testbed" else protocol.name,
        "settings": asdict(protocol),
        "quick": options.quick,
        "rows": make(rows),
        "missing": [row.file(job.bench).stem for row in absent],
    }


def _show(document: Document, console: Console) -> None:
    if document["table"] == "aggregate":
        show_aggregate(document["rows"], console)
    elif document["rows"]:
        show = show_testbed if document["table"] == "testbed" else show_comparison
        show(document["rows"], document["protocol"], console)
    if document.get("missing"):
        where = f"table {document['table']} ({document['protocol']})"
        console.print(f"{where}: {len(document['missing'])} rows are not there yet", highlight=False)
