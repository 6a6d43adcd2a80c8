"""The arguments of a table, and of who works on it: all that ``flora party`` shares with other commands."""

from typing import Any, get_args

from flora.party.tables.format import Dates, TableFormat

TABLE_KINDS = "CSV, CSV.gz, Parquet, Feather, Excel, or a database's address"


def add_drop(parser: Any) -> None:
    """Add the columns to leave out."""
    parser.add_argument(
        "--drop", action="append", default=[], metavar="COL", help="leave columns out: --drop A,B or --drop A B"
    )


def add_format(parser: Any, *, weight: bool = True) -> None:
    """Add how the table's file is written, and what is made of its columns."""
    form = parser.add_argument_group("how the table is written (found out from the file, and said)")
    form.add_argument(
        "--sep", default=TableFormat.sep, metavar="SIGN", help="between the cells of a CSV file: , ; | tab"
    )
    form.add_argument("--decimal", default=TableFormat.decimal, metavar="SIGN", help="the decimal sign: . or ,")
    form.add_argument("--encoding", default=TableFormat.encoding, metavar="NAME", help="as utf-8, cp1252, latin-1")
    form.add_argument(
        "--missing", action="append", default=[], metavar="TEXT", help="stands for a missing value; may be repeated"
    )
    form.add_argument(
        "--dates",
        choices=get_args(Dates),
        default=TableFormat.dates,
        help="parts: year, month, weekday and days since 1970; 1/2/2024 needs parts-dmy or parts-mdy (%(default)s)",
    )
    form.add_argument(
        "--auto", action="store_true", default=TableFormat.auto, help="leave out identifiers and free text, and say so"
    )
    if not weight:  # a model's own schema names it
        parser.set_defaults(weight=TableFormat.weight)
        return
    form.add_argument(
        "--weight",
        default=TableFormat.weight,
        metavar="COL",
        help="the column that says how much each row counts, in trainings and in scores; no feature (all the same)",
    )


def add_jobs(parser: Any, default: int = 1) -> None:
    """Add the number of processes."""
    parser.add_argument("--jobs", type=int, default=default, metavar="J", help="processes at work (%(default)s)")
