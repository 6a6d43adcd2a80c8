"""``flora predict``: the federated model on new rows."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flora.cli.new_rows import add_new_rows, model_of, new_rows
from flora.cli.parsed import options_of
from flora.cli.plain import print_line
from flora.cli.table_arguments import add_format
from flora.core.files import write_whole
from flora.errors import DataError, InputError
from flora.party.tables.format import TableFormat

if TYPE_CHECKING:
    import pandas as pd

ONLY = ("classes", "probabilities")


@dataclass(frozen=True)
class PredictOptions:
    """What ``flora predict`` was asked for."""

    run: Path
    data: str
    id: tuple[str, ...]
    only: str | None
    format: TableFormat
    output: Path | None
    trust: tuple[str, ...]


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    add_new_rows(parser)
    parser.add_argument(
        "--id", action="append", default=[], metavar="COL", help="a column of DATA to go along; may be repeated"
    )
    parser.add_argument("--only", choices=ONLY, help="classes or probabilities alone (both, where there are any)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write CSV there (standard output)")
    add_format(parser, weight=False)


def run(parsed: Namespace) -> None:
    """Apply a federated model to new rows."""
    options = options_of(PredictOptions, parsed)
    stored = model_of(options.run, options.trust)
    table = new_rows(options.data, options.format, stored)
    predictions = _named(_chosen(stored.predict_table(table), options.only), table, options.id)
    text = predictions.to_csv(index=False)
    if options.output:
        write_whole(options.output, text.encode())
        print_line(f"Written: {options.output}, {len(predictions)} predictions of {stored.schema.target}")
    else:
        Console().out(text, end="", highlight=False)


def _chosen(predictions: "pd.DataFrame", only: str | None) -> "pd.DataFrame":
    """Return classes or probabilities alone, where that is asked for."""
    chances = [name for name in predictions.columns if name != "prediction"]
    if only == "probabilities" and not chances:
        raise InputError("--only probabilities: this model knows none; svm and regressions have no probabilities")
    return predictions[{"classes": ["prediction"], "probabilities": chances}.get(only or "", list(predictions.columns))]


def _named(predictions: "pd.DataFrame", table: "pd.DataFrame", names: Sequence[str]) -> "pd.DataFrame":
    """Return the predictions with columns of the table before them."""
    for place, name in enumerate(names):
        if name not in table.columns:
            raise DataError(f"--id {name}: no such column, columns are {', '.join(map(str, table.columns[:12]))}")
        if name in predictions.columns:
            raise DataError(f"--id {name}: the predictions have a column of that name")
        predictions.insert(place, name, table[name])
    return predictions
