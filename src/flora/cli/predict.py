"""``flora predict``: the federated model on new rows."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from flora.cli.arguments import add_format
from flora.cli.options import options_of
from flora.cli.printing import note, print_line
from flora.core.files import write_whole
from flora.party.table_format import TableFormat
from flora.program.result import MODEL


@dataclass(frozen=True)
class PredictOptions:
    """What ``flora predict`` was asked for."""

    run: Path
    data: str
    format: TableFormat
    output: Path | None
    trust: tuple[str, ...]


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("run", type=Path, metavar="OUT", help="the folder of a run, or its model file")
    parser.add_argument("data", metavar="DATA", help="a table with the model's columns")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write CSV there (standard output)")
    add_format(parser)
    parser.add_argument(
        "--trust", action="append", default=[], metavar="PACKAGE", help="a package other than sklearn of the model"
    )


def run(parsed: Namespace) -> None:
    """Apply a federated model to new rows."""
    from flora.models.model_file import read_model
    from flora.party.dates import with_date_parts
    from flora.party.table_file import read_table

    options = options_of(PredictOptions, parsed)
    path = options.run / MODEL if options.run.is_dir() else options.run
    stored = read_model(path, allow=options.trust)
    table = read_table(options.data, options.format, note)
    table = with_date_parts(table, options.format.dates, keep=stored.schema.names, wanted=stored.schema.names)
    predictions = stored.predict_table(table)
    text = predictions.to_csv(index=False)
    if options.output:
        write_whole(options.output, text.encode())
        print_line(f"Written: {options.output}, {len(predictions)} predictions of {stored.schema.target}")
    else:
        Console().out(text, end="", highlight=False)
