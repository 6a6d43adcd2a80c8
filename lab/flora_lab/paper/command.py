"""``flora-lab paper``: reruns a table of the paper, or all of them, and shows it beside the paper's own."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from flora.cli.parsed import options_of
from flora.core.files import write_whole
from flora.errors import FloraError, InputError
from flora_lab.backends import BACKENDS, backend
from flora_lab.cells import Cell, Protocol
from flora_lab.datasets import used_for
from flora_lab.options import RunOptions, add_run, check_folder_of
from flora_lab.paper.again import computed_again, drawn_cells, show_compared
from flora_lab.paper.aggregate import aggregated
from flora_lab.paper.answer import answers_of
from flora_lab.paper.as_published import SPLIT
from flora_lab.paper.boxes import BOXES
from flora_lab.paper.compare import entries_of
from flora_lab.paper.contents import QUICK, TABLES, THOROUGH, THOROUGH_TESTBED, cells_of, datasets_of
from flora_lab.paper.cost import costs_of, show_costs
from flora_lab.paper.page import page
from flora_lab.paper.rows import TableRow
from flora_lab.paper.searches import searches_of
from flora_lab.paper.show import show
from flora_lab.paper.stored import EXPERIMENT
from flora_lab.pieces import Bench, compute_missing, missing
from flora_lab.tables import to_csv, wide_console

Document = dict[str, Any]


@dataclass(frozen=True)
class ProtocolOptions:
    """What is otherwise than in the usual protocol."""

    trials: int | None
    cv: int | None
    central: int | None
    random: int | None

    def changed(self, usual: Protocol) -> Protocol:
        """Return the protocol that is asked for."""
        given = {"trials": self.trials, "folds": self.cv, "central": self.central, "random": self.random}
        return replace(usual, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class PaperOptions:
    """What ``flora-lab paper`` was asked for."""

    table: str
    published: bool
    cost: bool
    again: int | None
    draw: int
    dataset: tuple[str, ...]
    splits: int | None
    split: str
    box: str
    quick: bool
    markdown: Path | None
    backend: str
    protocol: ProtocolOptions
    run: RunOptions

    def __post_init__(self) -> None:
        check_folder_of(self.markdown)
        if self.published and self.table != "aggregate":
            raise InputError(f"--published goes with the table aggregate, got {self.table}")


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("table", choices=(*TABLES, "all"), help="which table")
    parser.add_argument("--published", action="store_true", help="aggregate: from the paper's own cells")
    add_run(parser, "the folder of the datasets ($FLORA_DATA, or OpenML)")
    parser.add_argument("--splits", type=int, metavar="N", help="ways to deal the rows out (5, or 2 with --quick)")
    parser.add_argument(
        "--split",
        default=SPLIT,
        metavar="HOW",
        help="how rows are dealt out: as the authors did (%(default)s), iid, dirichlet:ALPHA or column:NAME",
    )
    parser.add_argument(
        "--box",
        choices=BOXES,
        default=Cell.box,
        help="what the parties search; recommended is always a config of the published one (%(default)s)",
    )
    parser.add_argument("--cost", action="store_true", help="time a few fits, say what all would take, compute nothing")
    parser.add_argument(
        "--again", type=int, metavar="N", help="compute N of the stored rows from nothing, and compare the bytes"
    )
    parser.add_argument("--draw", type=int, default=0, metavar="SEED", help="which rows --again draws (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="fewer folds and trials, marked as such")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a page of all that is stored of the table")
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        default=BACKENDS[0],
        help="where the processes are: here, or on the cluster of $DASK_SCHEDULER_ADDRESS (%(default)s)",
    )
    protocol = parser.add_argument_group("the protocol: less than the paper's costs less, and has results of its own")
    protocol.add_argument("--trials", type=int, metavar="T", help="trials at each party (100; testbed 500)")
    protocol.add_argument("--cv", type=int, metavar="K", help="folds (10)")
    protocol.add_argument("--central", type=int, metavar="N", help="trials of the centralised search (600)")
    protocol.add_argument("--random", type=int, metavar="N", help="random trainings that a config is counted in (60)")


def run(parsed: Namespace) -> Document:
    """Rerun a table of the paper, or all of them, and show it beside the paper's own."""
    options = options_of(PaperOptions, parsed)
    if options.cost:
        return _costs(options)
    if options.again is not None:
        return _again(options, options.again)
    if options.published:
        documents: list[Document] = [{"table": "aggregate", "rows": aggregated()}]
    else:
        tables = [_rerun(table, datasets, options) for table, datasets in _asked(options)]
        with nullcontext() if options.run.stored else backend(options.backend):
            documents = [make() for make in tables]
    if not options.run.json:
        for document in documents:
            show(document, wide_console())
    options.run.write_csv(to_csv([line for document in documents for line in _lines(document)]))
    if options.markdown:
        named = [document["table"] for document in documents]
        write_whole(options.markdown, page(options.run.results, named).encode())
    return {"tables": documents} if options.table == "all" else documents[0]


def _asked(options: PaperOptions) -> list[tuple[str, Sequence[str]]]:
    """Return the tables that are asked for with their datasets; of all, those that have something of what is asked."""
    if options.table != "all":
        return [(options.table, options.dataset)]
    for name in options.dataset:
        if not any(name in datasets_of(table) for table in TABLES):
            raise InputError(f"no table has the dataset {name!r}, there are {used_for('report')}")
    tables = [table for table in TABLES if table != "testbed" or options.split == SPLIT]
    chosen = {table: [name for name in options.dataset if name in datasets_of(table)] for table in tables}
    return [(table, datasets) for table, datasets in chosen.items() if datasets or not options.dataset]


def _costs(options: PaperOptions) -> Document:
    """Say what the tables that are asked for take, by protocol; a search that several tables share counts once."""
    benches: dict[str, Bench] = {}
    cells: dict[str, dict[Cell, None]] = {}
    for table, datasets in _asked(options):
        bench, _, within = _work(table, datasets, options)
        benches[bench.protocol.name] = bench
        cells.setdefault(bench.protocol.name, {}).update(dict.fromkeys(within))
    found = {name: costs_of(list(each), benches[name]) for name, each in cells.items()}
    if not options.run.json:
        show_costs(found, wide_console())
    return {"costs": {name: [asdict(cost) for cost in each] for name, each in found.items()}}


def _again(options: PaperOptions, count: int) -> Document:
    """Compute some stored rows of a table from nothing."""
    if options.table == "all":
        raise InputError("--again is for one table, got all")
    bench, _, within = _work(options.table, options.dataset, options)
    chosen = drawn_cells(within, bench, count, options.draw)
    found = computed_again(chosen, bench, options.run.jobs)
    if not options.run.json:
        show_compared(found, Console())
    if any(each.differs_in for each in found):
        raise FloraError("what is stored is not what comes out here")
    return {"cells": [cell.name for cell in chosen], "same": [each.name for each in found]}


def _work(table: str, datasets: Sequence[str], options: PaperOptions) -> tuple[Bench, Protocol, list[Cell]]:
    """Return where a table's results are, its whole protocol, and its cells."""
    usual = replace(THOROUGH, trials=THOROUGH_TESTBED.trials) if table == "testbed" else THOROUGH
    settings = options.protocol.changed(QUICK if options.quick else usual)
    protocol = Protocol(settings.trials, settings.folds) if table == "testbed" else settings
    splits = options.splits if options.splits is not None else 2 if options.quick else 5
    cells = cells_of(table, datasets=datasets, splits=splits, split=options.split, box=options.box)
    within = [cell for cell in cells if max(cell.trials or 1, cell.send or 1) <= protocol.trials]
    return options.run.bench(EXPERIMENT, protocol), settings, within


def _rerun(table: str, datasets: Sequence[str], options: PaperOptions) -> Callable[[], Document]:
    """Return what makes a table; what is wrong with it is said before any table is made."""
    bench, settings, within = _work(table, datasets, options)
    rows = [TableRow(cell) for cell in within]
    answers = answers_of(within)

    def document() -> Document:
        if not options.run.stored:
            compute_missing(f"table {table}", [searches_of(within, bench), [*rows, *answers]], bench, options.run.jobs)
        absent, unanswered = missing(rows, bench), missing(answers, bench)
        said = {answer.cell: answer.read(bench) for answer in answers if answer not in unanswered}
        there = [{**row.read(bench), "answer": said.get(row.cell)} for row in rows if row not in absent]
        return {
            "table": table,
            "protocol": bench.protocol.name,
            "settings": settings.numbers,
            "quick": options.quick,
            "rows": (aggregated if table == "aggregate" else partial(entries_of, table))(there),
            "missing": [row.name.rpartition("/")[2] for row in absent],
        }

    return document


def _lines(document: Document) -> list[Document]:
    """Return a line of CSV for each entry."""
    head = {"table": document["table"], "protocol": document.get("protocol", "")}
    return [{**head, **entry} for entry in document["rows"]]
