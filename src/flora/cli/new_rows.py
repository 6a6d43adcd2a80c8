"""The model of a run and new rows for it: what ``predict``, ``evaluate`` and ``tune --test`` begin with."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flora.cli.printing import note
from flora.errors import DataError
from flora.party.tables.format import TableFormat
from flora.program.result import model_file

if TYPE_CHECKING:
    import pandas as pd

    from flora.models.model_file import StoredModel

STDIN = "-"


def add_new_rows(parser: Any) -> None:
    """Add the model and its new rows."""
    parser.add_argument("run", type=Path, metavar="OUT", help="the folder of a run, or its model file")
    parser.add_argument("data", metavar="DATA", help="a table with the model's columns; - for standard input")
    parser.add_argument(
        "--trust", action="append", default=[], metavar="PACKAGE", help="a package other than sklearn of the model"
    )


def model_of(run: Path, trust: Sequence[str]) -> "StoredModel":
    """Return the federated model of a run's folder, or of a model's file."""
    from flora.models.model_file import read_model

    return read_model(model_file(run), allow=trust)


def new_rows(data: str, form: TableFormat, stored: "StoredModel") -> "pd.DataFrame":
    """Return a table as the model needs it, and say what in it is new to the model."""
    return fitted_rows(read_rows(data, form), form, stored)


def fitted_rows(table: "pd.DataFrame", form: TableFormat, stored: "StoredModel") -> "pd.DataFrame":
    """Return rows that were read as the model needs them, and say what in them is new to the model."""
    from flora.party.tables.dates import with_date_parts

    names = stored.schema.names
    table = with_date_parts(table, form.dates, keep=(*names, stored.schema.target), wanted=names)
    for words in stored.unseen(table):
        note(f"note: {words}; they count as missing")
    return table


def read_rows(data: str, form: TableFormat) -> "pd.DataFrame":
    """Return a table as it stands in a file, a database or standard input."""
    from flora.party.tables.file import read_table

    if data != STDIN:
        return read_table(data, form, note)
    with tempfile.TemporaryDirectory() as folder:  # a table's kind is found out from its first bytes
        path = Path(folder) / "standard input"
        path.write_bytes(sys.stdin.buffer.read())
        try:
            return read_table(path, form, note)
        except DataError as error:
            raise DataError(str(error).replace(str(path), path.name)) from error
