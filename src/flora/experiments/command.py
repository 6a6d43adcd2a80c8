"""``flora paper``: options in, a table out."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console

from flora.console import piece_bar, show_aggregate, show_comparison
from flora.errors import InputError
from flora.experiments.aggregate import from_cells, from_published_cells
from flora.experiments.cells import QUICK, Protocol, cells_of
from flora.experiments.compare import compare, to_csv
from flora.experiments.run import Bench, missing, row_of, run
from flora.result import write_whole

Document = dict[str, Any]


def paper(options: Namespace, messages: Console) -> Document:
    """Rerun a table of the paper, and show it beside the paper's own."""
    if options.published:
        if options.table != "aggregate":
            raise InputError(f"--published goes with the table aggregate, got {options.table}")
        return _aggregate_table(from_published_cells(), options)
    protocol = _protocol(options)
    bench = Bench(options.results, options.results / ".work", options.data, protocol)
    tables = ("hgb", "svm", "mlp") if options.table == "aggregate" else (options.table,)
    cells = [
        cell
        for table in tables
        for cell in cells_of(
            table, datasets=options.dataset, splits=options.splits, split=options.split, box=options.box
        )
        if max(cell.trials or 1, cell.send or 1) <= protocol.trials
    ]
    with piece_bar(len(missing(cells, bench)) + len(cells), f"table {options.table}", messages) as advance:
        for _ in run(cells, bench, options.jobs):
            advance()
    rows = [row_of(cell, bench) for cell in cells]
    if options.table == "aggregate":
        return _aggregate_table(from_cells(rows), options)
    entries = compare(rows)
    if options.csv:
        write_whole(options.csv, to_csv(entries).encode())
    if not options.json:
        show_comparison(entries, protocol.name, Console())
    return {"table": options.table, "protocol": asdict(protocol), "quick": options.quick, "rows": entries}


def _aggregate_table(rows: Sequence[Document], options: Namespace) -> Document:
    if not options.json:
        show_aggregate(rows, Console())
    return {"table": "aggregate", "rows": list(rows)}


def _protocol(options: Namespace) -> Protocol:
    given = {"trials": options.trials, "folds": options.cv, "central": options.central, "random": options.random}
    start = QUICK if options.quick else Protocol()
    return replace(start, **{name: value for name, value in given.items() if value is not None})
